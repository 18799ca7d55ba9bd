"""What every host can be asked."""

from collections.abc import Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

from advisor.errors import BadCapture


class Why(StrEnum):
    """Why an answer has no content."""

    ABSENT = "not there"
    REFUSED = "permission denied"
    FAILED = "could not be read"
    TIMEOUT = "took too long"
    NOT_KEPT = "not in this input"


class Reading(NamedTuple):
    """What a file held, or why that is not known."""

    data: bytes = b""
    why: Why | None = None

    @property
    def text(self) -> str | None:
        """The content as text, or None if there is none to have."""
        return None if self.why else self.data.decode("utf-8", "replace")


class Ran(NamedTuple):
    """What a command printed and how it ended, or why it was not run."""

    out: bytes = b""
    err: bytes = b""
    status: int = 0
    why: Why | None = None
    path: str | None = None
    """Where the program was found."""

    @property
    def text(self) -> str | None:
        """What it printed if it ended well, else None."""
        return None if self.why or self.status else self.out.decode("utf-8", "replace")


class Host(Protocol):
    """A machine, or what is left of one in a file. Paths are absolute, as on that machine."""

    @property
    def name(self) -> str:
        """What to call it in a message: ``this machine``, ``node.tar.gz``."""
        ...

    @property
    def kind(self) -> str:
        """``live``, ``capture``, ``root`` or ``hwloc xml``."""
        ...

    def read(self, path: str) -> Reading:
        """Return what a file holds; symbolic links are followed inside the host."""
        ...

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; () if it is not there."""
        ...

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, or None if nothing is there."""
        ...

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed. It is never given to a shell."""
        ...

    def environment(self) -> dict[str, str]:
        """Return the variables that schedulers, MPI and OpenMP set; no others are looked at."""
        ...


ENVIRONMENT_PREFIXES = (
    "SLURM_",
    "PBS_",
    "FLUX_",
    "LSB_",
    "OMPI_",
    "PMIX_",
    "PMI_",
    "PRTE_",
    "I_MPI_",
    "HYDRA_",
    "MV2_",
    "UCX_",
    "OMP_",
    "HCOLL_",
)
"""The variables a host tells; anything else in the environment is nobody's business."""


_NAMES = 1_000_000
"""Names that one pattern may look at; the links of a hostile tree can multiply paths without end."""


def expand(host: Host, pattern: str) -> Iterator[str]:
    """Yield the paths that a pattern with ``*`` in its components names, in a stable order."""
    yield from _expand(host, "", [part for part in pattern.split("/") if part], iter(range(_NAMES)))


def _expand(host: Host, base: str, parts: list[str], budget: Iterator[int]) -> Iterator[str]:
    while parts and not any(c in parts[0] for c in "*?["):
        base, parts = f"{base}/{parts[0]}", parts[1:]
    if not parts:
        yield base
        return
    for name in host.list(base or "/"):
        if next(budget, None) is None:
            raise BadCapture(f"more than {_NAMES} names lie under {'/'.join(parts)}", file=host.name, place=base or "/")
        if fnmatchcase(name, parts[0]):
            yield from _expand(host, f"{base}/{name}", parts[1:], budget)
