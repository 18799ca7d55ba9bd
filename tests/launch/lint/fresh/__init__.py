"""Launch lines as job scripts and centres' guides have them, made at random: ``lines("openmpi4", "a seed", topology, 10)``.

Options are combined as users combine them, with what does not bear on placement among them (UCX, verbosity, output), and with
their mistakes: too many ranks, words of another version, lists that overlap. Another seed makes other lines.
"""

from collections.abc import Callable, Sequence
from functools import partial

from advisor.model.hardware.topology import Topology
from tests.launch.lint.fresh.hydra import Hydra
from tests.launch.lint.fresh.maker import Written
from tests.launch.lint.fresh.openmpi import OpenMpi
from tests.launch.lint.fresh.srun import Srun


def lines(launcher: str, seed: str, topology: Topology, count: int) -> Sequence[Written]:
    """Return so many lines of a launcher for a machine."""
    begin = f"{launcher} {seed}"
    makers: dict[str, Callable[[], Written]] = {
        "openmpi4": partial(OpenMpi(begin, topology).open_mpi, five=False),
        "openmpi5": partial(OpenMpi(begin, topology).open_mpi, five=True),
        "mpich": Hydra(begin, topology).mpich,
        "intelmpi": Hydra(begin, topology).intel_mpi,
        "srun": Srun(begin, topology).srun,
    }
    return [makers[launcher]() for _ in range(count)]
