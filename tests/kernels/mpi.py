"""Builds the MPI kernels with each MPI that is here, and runs them on this machine."""

import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from advisor.measure.build import Blas, Compiler, mpi_recipe
from advisor.paths import kernels
from tests.fakenode.run import CACHE, openmpi4_program, openmpi5_program
from tests.kernels.plain import STRICT

LIMIT = 120
ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{tail}": "1" for name in ("OMPI", "PRTE") for tail in ("", "_CONFIRM")}
ENVIRONMENT = {**os.environ, **ROOT, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
MPIS = ("openmpi4", *(pytest.param(mpi, marks=pytest.mark.slow) for mpi in ("openmpi5", "mpich")))


def tools(mpi: str) -> tuple[str, list[str]] | None:
    """Return an MPI's compiler and how it starts ranks, more than there are CPUs; None where it is not here."""
    if mpi == "mpich":
        found, compiler = CACHE / "mpich" / "bin" / "mpiexec", CACHE / "mpich" / "bin" / "mpicc"
        return (str(compiler), [str(found)]) if found.exists() and compiler.exists() else None
    program = openmpi4_program() if mpi == "openmpi4" else openmpi5_program()
    if program is None:
        return None
    mpicc = shutil.which("mpicc.openmpi") or shutil.which("mpicc") if mpi == "openmpi4" else str(Path(program).with_name("mpicc"))
    more = ["--oversubscribe"] if mpi == "openmpi4" else ["--map-by", ":OVERSUBSCRIBE"]
    return (mpicc, [program, *more]) if mpicc and Path(mpicc).exists() else None


def blas() -> str | None:
    """Return the linker's flag of a BLAS that is here with what is needed to build against it."""
    for flag in ("-lopenblas", "-lblis", "-lblas"):
        with tempfile.TemporaryDirectory() as folder:
            ask = ["cc", "-x", "c", "-", "-o", f"{folder}/a", flag]
            source = "void dgemm_(void); int main(void) { dgemm_(); return 0; }"
            if subprocess.run(ask, input=source, text=True, capture_output=True, check=False).returncode == 0:
                return flag
    return None


@cache
def _workshop() -> Path:
    return Path(tempfile.mkdtemp(prefix="advisor-mpi-kernels-"))


@cache
def built(mpi: str, kernel: str, *flags: str) -> list[str]:
    """Return the start of the line that runs a kernel under an MPI; skips where one of them is not here."""
    found = tools(mpi)
    if found is None:
        pytest.skip(f"{mpi} is not installed, or has no compiler")
    library = blas() if kernel == "hpl" else ""
    if library is None:
        pytest.skip("no BLAS to link with (Debian: libopenblas-dev)")
    program = _workshop() / "-".join((mpi, kernel, *flags))
    made_of = mpi_recipe(kernels(), Compiler((found[0],), ""), (*STRICT, "-O2", *flags), Blas(tuple(library.split())))
    done = subprocess.run(made_of.argv(kernel, program), capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [*found[1], str(program)]


def run(mpi: str, kernel: str, ranks: int, *arguments: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a kernel on so many ranks of this machine."""
    line = built(mpi, kernel, *flags)
    argv = [*line[:-1], "-n", str(ranks), line[-1], *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT, check=False)


def results(mpi: str, kernel: str, ranks: int, *arguments: str) -> list[dict[str, Any]]:
    """Return what a kernel that ends well says."""
    done = run(mpi, kernel, ranks, *arguments)
    assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]
