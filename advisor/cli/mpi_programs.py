"""Gives the program of a kernel that runs under MPI: built with the launcher's own MPI and kept, or from a folder."""

import os
from pathlib import Path
from typing import Final

from advisor.cli.measuring import announce
from advisor.errors import CannotWork
from advisor.host.live import LiveHost, find
from advisor.measure.build import Builder, Compiler, PrebuiltPrograms, cache_folder, cpu_of, flags_for
from advisor.measure.mpi import find_blas, find_mpicc, mpi_recipe
from advisor.model.hardware.machine import Machine
from advisor.paths import kernels

_PORTABLE: Final = ("-std=c11", "-O2", "-pthread", "-fdiagnostics-color=never")


def mpi_program(
    host: LiveHost, machine: Machine, kernel: str, launcher: str, *, folder: Path | None, blas: str | None = None
) -> tuple[str, Compiler | None, str | None]:
    """Return a kernel's program, and the compiler and flags where it was built here.

    ``launcher`` is the first word of its line; ``blas`` is what to link, '' for what is found, None where none is needed.
    What sends messages only is built for every processor of the architecture: the other host may have another.
    """
    if folder is not None:
        return PrebuiltPrograms(folder.absolute()).program(kernel), None, None
    compiler = find_mpicc(host, find(launcher), os.environ.get("MPICC"))
    library = find_blas(host, compiler, blas or None) if blas is not None else None
    recipe = mpi_recipe(kernels(), compiler, flags_for(machine) if library else _PORTABLE, library)
    cpu = cpu_of(machine) if library else os.uname().machine
    program = Builder(host, recipe, cpu, cache_folder(os.environ), announce).program(kernel)
    return program, compiler, " ".join((*recipe.flags, *recipe.libraries))


def program_or_name(
    host: LiveHost, machine: Machine, kernel: str, launcher: str, *, folder: Path | None, blas: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """Return a kernel as lines that are only printed name it: as it is kept here, else its plain name with a note why."""
    try:
        return mpi_program(host, machine, kernel, launcher, folder=folder, blas=blas)[0], ()
    except CannotWork as error:
        if folder is not None:
            raise
        return kernel, (f"{kernel} stands for the program, which is not built: {error}",)
