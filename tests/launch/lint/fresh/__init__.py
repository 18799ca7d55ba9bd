"""Launch lines as job scripts and centres' guides have them, made at random: ``lines("openmpi4", "a seed", topology, 10)``.

Options are combined as users combine them, with what does not bear on placement among them (UCX, verbosity, output), and with
their mistakes: too many ranks, words of another version, lists that overlap. Another seed makes other lines.
"""

from collections.abc import Callable, Sequence
from functools import partial

from advisor.model.hardware.topology import Topology
from tests.launch.lint.fresh.hydra import Hydra
from tests.launch.lint.fresh.maker import Maker, Written
from tests.launch.lint.fresh.odd import with_odd_words
from tests.launch.lint.fresh.openmpi import OpenMpi
from tests.launch.lint.fresh.srun import Srun


def lines(launcher: str, seed: str, topology: Topology, count: int, odd: float = 0) -> Sequence[Written]:
    """Return so many lines of a launcher for a machine; ``odd``: the share of them that has an odd word too."""
    begin = f"{launcher} {seed}"
    open_mpi, hydra, srun = OpenMpi(begin, topology), Hydra(begin, topology), Srun(begin, topology)
    makers: dict[str, tuple[Maker, Callable[[], Written]]] = {
        "openmpi4": (open_mpi, partial(open_mpi.open_mpi, five=False)),
        "openmpi5": (open_mpi, partial(open_mpi.open_mpi, five=True)),
        "mpich": (hydra, hydra.mpich),
        "intelmpi": (hydra, hydra.intel_mpi),
        "srun": (srun, srun.srun),
    }
    maker, written = makers[launcher]
    made = (written() for _ in range(count))
    return [with_odd_words(maker, launcher, each) if odd and maker.maybe(odd) else each for each in made]
