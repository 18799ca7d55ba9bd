"""MPICH and Intel MPI for ``observe``: both are Hydra, started through agent.sh in place of ssh."""

import os

from tests.fakenode.lab import AGENT
from tests.fakenode.run import CACHE, PROGRAMS, STARTERS, Start


def _program(folder: str, name: str) -> str | None:
    found = CACHE / folder / "bin" / name
    return str(found) if found.exists() else None


def mpich_program() -> str | None:
    """Return MPICH's mpiexec: of the virtual environment mpich, made with `pip install mpich`."""
    return _program("mpich", "mpiexec")


def intelmpi_program() -> str | None:
    """Return Intel MPI's mpiexec.hydra: of the virtual environment impi, made with `pip install impi-rt`."""
    return _program("impi", "mpiexec.hydra")


def _mpich(argv: list[str], *, remote: bool) -> Start:
    agent = ["-launcher", "ssh", "-launcher-exec", str(AGENT)] if remote else []
    return Start([str(mpich_program()), *agent, *argv[1:]], {})


def _intelmpi(argv: list[str], *, remote: bool) -> Start:
    agent = ["-bootstrap", "ssh", "-bootstrap-exec", str(AGENT)] if remote else []
    root = CACHE / "impi"
    libraries = {"LD_LIBRARY_PATH": str(root / "lib"), "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
    return Start([str(intelmpi_program()), *agent, *argv[1:]], {"I_MPI_ROOT": str(root), **libraries})


STARTERS |= {"mpich": _mpich, "intelmpi": _intelmpi}
PROGRAMS |= {"mpich": mpich_program, "intelmpi": intelmpi_program}
