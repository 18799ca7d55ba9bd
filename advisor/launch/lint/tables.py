"""The options of each launcher: a closed table. A word that is not in it is named and never guessed at."""

from collections.abc import Mapping
from typing import Literal

from advisor.launch.lint.option import Table
from advisor.launch.lint.options_hydra import HYDRA, HYDRA_ALIASES, MPIRUN_RSH, PALS, PALS_ALIASES
from advisor.launch.lint.options_openmpi import OPENMPI, OPENMPI_ALIASES
from advisor.launch.lint.options_slurm import SRUN, SRUN_ALIASES

Family = Literal["openmpi4", "openmpi5", "mpich", "intelmpi", "srun", "pals", "mvapich"]

TABLES: Mapping[Family, tuple[Table, Mapping[str, str]]] = {
    "openmpi4": (OPENMPI, OPENMPI_ALIASES),
    "openmpi5": (OPENMPI, OPENMPI_ALIASES),
    "mpich": (HYDRA, HYDRA_ALIASES),
    "intelmpi": (HYDRA, HYDRA_ALIASES),
    "srun": (SRUN, SRUN_ALIASES),
    "pals": (PALS, PALS_ALIASES),
    "mvapich": (MPIRUN_RSH, {"-n": "-np"}),
}


def canonical(name: str, family: Family) -> str | None:
    """Return an option's name as the table has it, None of one that is not in it."""
    table, aliases = TABLES[family]
    tries = [name]
    if family in ("mpich", "intelmpi"):
        tries = [name, f"-{name.lstrip('-').lower()}"]
    elif name.startswith("--"):
        tries.append(name[1:])
    elif len(name) > 2:
        tries.append(f"-{name}")
    if family in ("srun", "pals", "mvapich"):
        tries = [name]
    for each in tries:
        known = aliases.get(each, each)
        if known in table:
            return known
    return None
