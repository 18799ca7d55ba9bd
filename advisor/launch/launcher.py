"""What every launcher gives, and the launchers there are: the modules of this folder that have a NAME."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final, Protocol, cast

from advisor.errors import BadValue, did_you_mean
from advisor.launch.ranks_per_host import version_of
from advisor.model.hardware.operating_system import Tool
from advisor.model.placement import Placement

Lines = Callable[[], Iterator[str]]
"""A file's lines, made when they are written: a rankfile of a million ranks is never held in memory."""


@dataclass(frozen=True)
class LaunchRequest:
    """What is to be started, and with what."""

    command: tuple[str, ...]
    version: str | None = None
    """The launcher's version, 5.0.6; None where it is not known: then the form that all versions understand."""
    exact: bool = False
    """Whether the exact form (rankfile, masks) is wanted even where a short one is faithful."""
    report: bool = False
    """Whether the launcher shall print the bindings it makes."""
    scheduler: str | None = None
    """slurm, pbs: the hosts come from it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the job needs beside those of the launcher: OMP_NUM_THREADS, UCX_NET_DEVICES."""
    wrap: bool = False
    """Whether the portable wrapper does the binding and the launcher none."""


@dataclass(frozen=True)
class Avoided:
    """A form that was not used."""

    form: str
    reason: str


@dataclass(frozen=True)
class Launch:
    """How a placement is carried out by one launcher."""

    launcher: str
    version: str | None
    form: str
    """The form used, in a few words: ppr, rankfile, cpu-bind masks."""
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set before the line; those that ranks need are also passed on by options where the launcher wants it."""
    files: Mapping[str, Lines] = field(default_factory=dict)
    """Names of files beside the line, such as rankfile, and their lines, without line ends."""
    avoided: tuple[Avoided, ...] = ()
    notes: tuple[str, ...] = ()


class Launcher(Protocol):
    """A launcher's module has these two names."""

    NAME: str
    ALIASES: tuple[str, ...]

    def launch(self, placement: Placement, wish: LaunchRequest) -> Launch:
        """Return how this launcher carries the placement out; raise BadValue in one line where it cannot."""


_SUPPOSED: Final = "openmpi"
"""What most clusters have."""


@dataclass(frozen=True)
class Choice:
    """A launcher, its version where it is known, and why it was taken."""

    launcher: Launcher
    version: str | None
    why: str


@cache
def launchers() -> Mapping[str, Launcher]:
    """Return the launchers by name."""
    modules = [
        import_module(f"{__package__}.{info.name}") for info in iter_modules([str(Path(__file__).parent)]) if not info.ispkg
    ]
    found = [cast(Launcher, module) for module in modules if hasattr(module, "NAME") and hasattr(module, "launch")]
    return {launcher.NAME: launcher for launcher in found}


def find(name: str, version: str | None = None) -> Launcher:
    """Return the launcher of a name or an alias; of those of a family, openmpi4 and openmpi5, the one for the version."""
    wanted = name.lower()
    family = _family(wanted)
    if wanted not in launchers() and family and (version is not None or not _aliased(wanted)):
        return _of_version(family, version)
    found = launchers().get(wanted) or _aliased(wanted)
    if found is None:
        every = [*launchers(), *{re.sub(r"\d+$", "", each) for each in launchers()}]
        every += [alias for each in launchers().values() for alias in each.ALIASES]
        cure = did_you_mean(wanted, every, f"there are {', '.join(launchers())}")
        raise BadValue(f"there is no launcher {name[:40]}", cure=cure)
    return found


def _aliased(name: str) -> Launcher | None:
    return next((each for each in launchers().values() if name in each.ALIASES), None)


def _family(name: str) -> dict[int, Launcher]:
    """Return the launchers that are this name and a number, by the number."""
    matches = ((re.fullmatch(rf"{re.escape(name)}(\d+)", each), launcher) for each, launcher in launchers().items())
    return {int(match[1]): launcher for match, launcher in matches if match}


def _of_version(family: Mapping[int, Launcher], version: str | None) -> Launcher:
    """Return the youngest that is no younger than the version; the oldest for older ones, the youngest where none is known."""
    numbers = version_of(version)
    fitting = [number for number in family if not numbers or number <= numbers[0]]
    return family[max(fitting) if fitting else min(family)]


def choose(
    tools: Iterable[Tool] | None, name: str | None = None, version: str | None = None, scheduler: str | None = None
) -> Choice:
    """Return the launcher of a name, else the one found on the machine, else Open MPI."""
    there = [(tool, launcher) for tool in tools or () if (launcher := _of_tool(tool))]
    if name is not None:
        return _named(name, version, there)
    mpi = [pair for pair in there if pair[0].name != "slurm"]
    for tool, launcher in (*mpi, *there):
        if version is not None:
            return Choice(find(tool.name, version), version, f"{tool.name} is on this machine, the version was given")
        if tool.name != "slurm":
            return Choice(launcher, _version(tool), f"{_said(tool)} is on this machine")
        job = "this is a Slurm job, and no mpirun is on this machine" if scheduler == "slurm" else "of launchers it alone is here"
        return Choice(launcher, tool.version, f"{_said(tool)}: {job}")
    looked = "no launcher is on this machine" if tools is not None else "which launcher the machine has, is not known"
    if scheduler == "slurm":
        return Choice(find("srun"), version, f"this is a Slurm job, and {looked}")
    given = ", the version was given" if version else ""
    return Choice(find(_SUPPOSED, version), version, f"{looked}: Open MPI is supposed{given}")


def _version(tool: Tool) -> str | None:
    """Return the launcher's version: PRRTE's own number is not that of the Open MPI it belongs to."""
    return None if tool.name == "prrte" else tool.version


def _said(tool: Tool) -> str:
    return f"{tool.name} {tool.version or '(version not known)'}"


def _of_tool(tool: Tool) -> Launcher | None:
    try:
        return find(tool.name, _version(tool))
    except BadValue:
        return None


def _named(name: str, version: str | None, there: Iterable[tuple[Tool, Launcher]]) -> Choice:
    if version is not None:
        return Choice(find(name, version), version, "it was asked for")
    plain = find(name)
    same = _family(name.lower()).values() if name.lower() not in launchers() else (plain,)
    for tool, launcher in there:
        if launcher is plain or launcher in same:
            return Choice(launcher, _version(tool), f"it was asked for; {_said(tool)} is on this machine")
    return Choice(plain, None, "it was asked for")
