"""Kernels under MPI: built with the compiler of the launcher's own MPI and a BLAS, started by the launcher, read line by line."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from advisor.errors import CannotWork
from advisor.machine.hosts.base import Ran, Why
from advisor.measure.build import COMMON, Compiler, Recipe, Starter

SHARED: Final = (COMMON, f"{COMMON}/mpi")
_BLAS: Final = (("-lopenblas",), ("-lblis",), ("-lblas",))
_PACKAGES: Final = ("openblas", "blis")
_CALLS: Final = "void dgemm_(void); void dtrsm_(void); int main(void) { dgemm_(); dtrsm_(); return 0; }\n"


@dataclass(frozen=True)
class Blas:
    """How a BLAS is linked."""

    flags: tuple[str, ...]


def find_mpicc(host: Starter, launcher: str | None, named: str | None) -> Compiler:
    """Return $MPICC, or the mpicc that lies beside the launcher, or that of PATH: ranks of another MPI would each be alone."""
    tried = list(dict.fromkeys(_candidates(launcher, named)))
    for command in tried:
        ran = host.run((command, "--version"), timeout=30)
        if ran.text is not None and ran.status == 0:
            return Compiler((command,), next(iter(ran.text.splitlines()), "")[:200])
    what = f"$MPICC is {tried[0]}, which does not run here" if named else f"there is no {' or '.join(tried)}"
    raise CannotWork(f"{what}; load the MPI's module or install its compiler, or name a folder with the program: --kernels DIR")


def _candidates(launcher: str | None, named: str | None) -> Iterator[str]:
    if named:
        yield named
        return
    if launcher and Path(launcher).name.partition(".")[0] != "srun":
        beside = Path(launcher).with_name("mpicc")
        if os.access(beside, os.X_OK):
            yield str(beside)
            return
    yield "mpicc"


def mpi_recipe(sources: Path, compiler: Compiler, flags: tuple[str, ...], blas: Blas | None = None) -> Recipe:
    """Return what a kernel of MPI is made of; -ldl is the C library's own since glibc 2.34."""
    libraries = (*blas.flags, "-ldl", "-lm") if blas else ("-lm",)
    return Recipe(sources, compiler, flags, SHARED, libraries)


def find_blas(host: Starter, compiler: Compiler, named: str | None) -> Blas:
    """Return the BLAS that was named, or that pkg-config knows, or the first that can be linked."""
    tried = [tuple(named.split())] if named else [*_packaged(host), *_BLAS]
    for flags in dict.fromkeys(tried):
        if flags and _links(host, compiler, flags):
            return Blas(flags)
    what = f"--blas {named[:60]}: nothing is linked with it that has dgemm" if named else "there is no BLAS to link with"
    raise CannotWork(f"{what}; install one (Debian: libopenblas-dev), or name it: --blas '-L/opt/blis/lib -lblis'")


def _packaged(host: Starter) -> Iterator[tuple[str, ...]]:
    for package in _PACKAGES:
        ran = host.run(("pkg-config", "--libs", package), timeout=10)
        if ran.text is not None and ran.status == 0:
            yield tuple(ran.text.split())


def _links(host: Starter, compiler: Compiler, flags: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory(prefix="advisor-blas-") as folder:
        source = Path(folder) / "calls.c"
        source.write_text(_CALLS, encoding="ascii")
        argv = (*compiler.command, "-o", f"{folder}/calls", str(source), *flags, "-lm")
        ran = host.launch(argv, lambda _: None, timeout=60)
    return ran.why is None and ran.status == 0


_LARGEST: Final = 64 << 20
_PATIENCE: Final = 8.0
_LEAST: Final = 90.0
"""Seconds; ssh waits a minute and more for a host that does not answer."""
_ADVISORY: Final = ("---", "===", "***")
_TELLING: Final = re.compile(
    r"ssh: |Could not resolve|No route to host|Connection (?:refused|timed out)|not find an executable"
    r"|unable to access or execute|No such file|error while loading|execvp|[Pp]ermission denied|as root|not enough slots",
)
_AS_ROOT: Final = "start it as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
_NO_PAIRS: Final = re.compile(r"\b1 ranks: pairs need")


class LaunchOutput(NamedTuple):
    """What a start printed, and in words why it ended badly; None where it did not."""

    text: bytes
    why: str | None

    @property
    def lines(self) -> list[bytes]:
        """The lines of our kernels."""
        return [line for line in self.text.splitlines() if line.lstrip().startswith(b"{")]


def launch_output(host: Starter, argv: Sequence[str], variables: Mapping[str, str], seconds: float) -> LaunchOutput:
    """Return what a start printed.

    A launcher that hangs when its ranks have ended (both Open MPI do, one time in hundreds) leaves whole lines behind.
    """
    heard: list[bytes] = []

    def hear(data: bytes) -> None:
        if sum(map(len, heard)) <= _LARGEST:
            heard.append(data)

    limit = limit_of(seconds)
    ran = host.launch(tuple(argv), hear, timeout=limit, variables=variables)
    return LaunchOutput(b"".join(heard), failed(argv[0], ran, limit))


def limit_of(seconds: float) -> float:
    """Return how long a start may take that should take so many seconds."""
    return max(_LEAST, _PATIENCE * seconds)


def failed(launcher: str, ran: Ran, limit: float) -> str | None:
    """Return in words why a start ended badly; None where it did not."""
    if ran.why is Why.ABSENT:
        return f"{launcher} is not here; load the MPI's module"
    if ran.why is Why.TIMEOUT:
        return f"{launcher} did not end within {limit:.0f} s and was ended{_said(ran.err)}"
    if ran.why is not None:
        return f"{launcher}: {ran.why.value}"
    return None if ran.status == 0 else f"{launcher} ended with status {ran.status}{_said(ran.err)}"


def _said(errors: bytes) -> str:
    """Return the line that says most: what ssh or the system said, else what the kernel said, else the last with words."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    words = [line for line in lines if any(letter.isalnum() for letter in line) and not line.startswith(_ADVISORY)]
    if any(_NO_PAIRS.search(line) for line in words):
        return ": every rank was started alone, by a launcher of another MPI than the one that the program was built with"
    words = [line for line in words if "warning:" not in line.lower()] or words  # Open MPI 5 on a busy machine: setpgid failed
    telling = next((line for line in words if _TELLING.search(line)), None)
    own = next((line for line in words if line.startswith(("mbw_mr:", "hpl:"))), None)
    found = own or telling or (words[-1] if words else None)
    cure = f"; {_AS_ROOT}" if found and "as root" in found else ""
    return f": {found[:240].rstrip('.')}{cure}" if found else " and said nothing"
