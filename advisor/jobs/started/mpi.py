"""The program of a kernel that runs under MPI, and a launcher's line for it on this machine: placed, written, started."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from advisor.errors import CannotWork
from advisor.jobs.bind import launch_or_wrap
from advisor.jobs.environment import without_adapters, without_gpus
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.place import place
from advisor.jobs.placement import Placement
from advisor.jobs.registry import Choice, choose
from advisor.jobs.started.folder import File, located, write_folder
from advisor.jobs.started.hosts import Allocated, JobHosts, JobOptions, LauncherOptions, shape
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.live import LiveHost, find
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.measure.build import (
    Builder,
    Compiler,
    LaunchOutput,
    PrebuiltPrograms,
    cache_folder,
    cpu_of,
    find_blas,
    find_mpicc,
    flags_for,
    launch_output,
    mpi_recipe,
)
from advisor.paths import kernels

_PORTABLE: Final = ("-std=c11", "-O2", "-pthread", "-fdiagnostics-color=never")


def chosen_for(job_hosts: JobHosts, options: LauncherOptions) -> tuple[Choice, str]:
    """Return the launcher of a job's hosts, and a note on it."""
    choice = choose(job_hosts.machines[0].tools, options.launcher, options.version, job_hosts.hosts.scheduler)
    return choice, f"launcher: {choice.launcher.name}, {choice.version or 'version not known'}: {choice.why}"


def placed_ranks(options: JobOptions, job_hosts: JobHosts, allowed: CpuSet | None) -> Placement:
    """Return where the ranks of a kernel are, which uses no devices of its own."""
    return without_adapters(without_gpus(place(shape(options, job_hosts, []), job_hosts.machines, allowed=allowed)))


def launch_of(
    choice: Choice, placement: Placement, hosts: Allocated, command: tuple[str, ...], environment: Mapping[str, str], **more: Any
) -> Launch:
    """Return the line of a command; ``more`` is what else the launcher is asked for."""
    scheduler = hosts.scheduler_of(choice.launcher.name)
    wish = LaunchRequest(command, choice.version, **{"scheduler": scheduler, "environment": environment, **more})
    return launch_or_wrap(choice, placement, wish)[0]


def mpi_program(
    host: LiveHost,
    machine: Machine,
    kernel: str,
    launcher: str,
    *,
    folder: Path | None,
    blas: str | None = None,
    portable: bool = False,
    observer: Observer = SILENT,
) -> tuple[str, Compiler | None, str | None]:
    """Return a kernel's program, and the compiler and flags where it was built here.

    ``launcher`` is the first word of its line; ``blas`` is what to link, '' for what is found, None where none is needed.
    What sends messages only is built for every processor of the architecture, and the rest where it is to be ``portable``: the
    other host may have another.
    """
    if folder is not None:
        return PrebuiltPrograms(folder.absolute()).program(kernel), None, None
    compiler = find_mpicc(host, find(launcher), os.environ.get("MPICC"))
    library = find_blas(host, compiler, blas or None) if blas is not None else None
    native = library is not None and not portable
    recipe = mpi_recipe(kernels(), compiler, flags_for(machine) if native else _PORTABLE, library)
    cpu = cpu_of(machine) if native else os.uname().machine
    program = Builder(host, recipe, cpu, cache_folder(os.environ), observer.say).program(kernel)
    return program, compiler, " ".join((*recipe.flags, *recipe.libraries))


def program_or_name(
    machine: Machine, kernel: str, launcher: str, *, folder: Path | None, blas: str | None = None, observer: Observer = SILENT
) -> tuple[str, tuple[str, ...]]:
    """Return a kernel as lines that are only printed name it: as it is kept here, else its plain name with a note why."""
    try:
        return mpi_program(LiveHost(), machine, kernel, launcher, folder=folder, blas=blas, observer=observer)[0], ()
    except CannotWork as error:
        if folder is not None:
            raise
        return kernel, (f"{kernel} stands for the program, which is not built: {error}",)


@contextmanager
def running_folder(prefix: str) -> Iterator[Path]:
    """Make a folder for rankfiles; it lies in the home, which the other host sees, too, where a rank must read it."""
    parent = cache_folder(os.environ).parent
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name:
            yield Path(name)
    except OSError as error:
        why = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{parent}: {why}; set XDG_CACHE_HOME to another folder") from error


def prepared(launch: Launch, command: Sequence[str], folder: Path, more: Mapping[str, File] | None = None) -> Launch:
    """Return a line as it can be started: its files, and more, are written into a folder, and it names them there."""
    files = {name: File(lines(), program=True) for name, lines in launch.files.items()} | dict(more or {})
    if files:
        write_folder(folder, files)
    return located(launch, str(folder), list(command))


def heard_from(
    host: LiveHost,
    launch: Launch,
    command: Sequence[str],
    folder: Path,
    *,
    seconds: float,
    more: Mapping[str, File] | None = None,
) -> LaunchOutput:
    """Start a line with its files, and more, in a folder; return what its ranks printed."""
    put = prepared(launch, command, folder, more)
    return launch_output(host, put.argv, put.environment, seconds)
