"""Builds a kernel that runs under MPI with the compiler of the launcher's own MPI, and finds a BLAS to link with it."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from advisor.errors import CannotWork
from advisor.measure.build import Compiler, Recipe, Starter

SHARED: Final = ("ranks.c", "kernel.c")
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
