"""The parameters of a line of Open MPI: where they are said, which of them a version reads, what is true."""

import re
from collections.abc import Iterator, Mapping

from advisor.launch.lint.line import Line

_TRUE = re.compile(r"t|true|y|yes|enabled|[-+]?0*[1-9]\d{0,8}", re.ASCII)
"""What Open MPI 4.1.4 was seen to take for true; it passes over True and on."""


def parameters(line: Line) -> Iterator[tuple[str, str, str]]:
    """Yield the parameters of an Open MPI line: their name, their value, and how they were written."""
    for name, value in line.words.environment.items():
        for prefix in ("OMPI_MCA_", "PRTE_MCA_"):
            if name.startswith(prefix):
                yield name.removeprefix(prefix), value, f"{name}={value}"
    for said in line.options:
        if said.name in ("--mca", "--gmca", "--omca", "--prtemca") and len(said.values) == 2:
            yield said.values[0], said.values[1], " ".join(said.written)


def heeded(line: Line) -> dict[str, str]:
    """Return the parameters that this version's launcher reads."""
    five = line.family == "openmpi5"
    found: dict[str, str] = {}
    for name, value, written in parameters(line):
        own = written.startswith(("PRTE_MCA_", "--prtemca", "-prtemca"))
        given = five and written.startswith(("--mca", "-mca")) and name.startswith(("rmaps_", "hwloc_"))
        if own == five or given:  # 5 hands on what --mca says of PRRTE's own parts (5.0.11, observed)
            found[name] = value
    return found


def true(values: Mapping[str, str], parameter: str) -> bool:
    """Whether a parameter of 4 is set."""
    return _TRUE.fullmatch(values.get(parameter, "")) is not None
