"""The launchers there are, the modules of the folder ``launchers``; which one a name or a machine means."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final, Literal

from advisor.errors import BadValue, did_you_mean
from advisor.jobs import launchers as folder
from advisor.jobs.launcher import Dialect, Launcher
from advisor.jobs.ranks_per_host import version_of
from advisor.machine.operating_system import Tool
from advisor.machine.sources.scheduler import VERSIONS

OTHERS: Final = ("ibrun", "ccc_mprun", "yod", "poe")
"""Programs of launchers whose lines are neither written nor read here: they are refused by name."""
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
    """Return the launchers by name, in their order."""
    modules = [import_module(f"{folder.__name__}.{info.name}") for info in iter_modules(folder.__path__)]
    every: list[Launcher] = [module.LAUNCHER for module in modules]
    return {launcher.name: launcher for launcher in sorted(every, key=lambda launcher: launcher.order)}


@cache
def of_lines() -> Mapping[str, Dialect]:
    """Return how the lines of each launcher are read, of those that have lines of their own."""
    return {name: launcher.dialect for name, launcher in launchers().items() if launcher.dialect}


def title_of(name: str) -> str:
    """Return what a launcher is called on a page."""
    return launchers()[name].title if name in launchers() else name


def names(*, starting: bool = False) -> tuple[str, ...]:
    """Return what can be asked for, those of a family by its one name; ``starting``: only what starts ranks itself."""
    some = (each for each in launchers().values() if each.without_binding or not starting)
    return tuple(dict.fromkeys(re.sub(r"\d+$", "", each.name) for each in some))


def is_foreign(variable: str, launcher: Launcher | None = None) -> bool:
    """Whether a variable is set for a launcher, and not for this one."""
    own = launcher.variables if launcher else ()
    return not variable.startswith(own) and any(variable.startswith(each.variables) for each in launchers().values())


def rank_variables(kind: Literal["rank", "size", "local"]) -> tuple[str, ...]:
    """Return the variables by which ranks are told; those that are inherited come last."""
    told = sorted((each.ranks for each in launchers().values() if each.ranks), key=lambda each: each.inherited)
    return tuple(dict.fromkeys(name for each in told for name in getattr(each, kind)))


def find(name: str, version: str | None = None) -> Launcher:
    """Return the launcher of a name or an alias; of those of a family, openmpi4 and openmpi5, the one for the version."""
    wanted = name.lower()
    family = _family(wanted)
    if wanted not in launchers() and family and (version is not None or not _aliased(wanted)):
        numbers = version_of(version)
        fitting = [number for number in family if not numbers or number <= numbers[0]]
        return family[max(fitting) if fitting else min(family)]
    found = launchers().get(wanted) or _aliased(wanted)
    if found is None:
        every = [*launchers(), *{re.sub(r"\d+$", "", each) for each in launchers()}]
        every += [alias for each in launchers().values() for alias in each.aliases]
        cure = did_you_mean(wanted, every, f"there are {', '.join(launchers())}")
        raise BadValue(f"there is no launcher {name[:40]}", cure=cure)
    return found


def _aliased(name: str) -> Launcher | None:
    return next((each for each in launchers().values() if name in each.aliases), None)


def _family(name: str) -> dict[int, Launcher]:
    """Return the launchers that are this name and a number, by the number."""
    matches = ((re.fullmatch(rf"{re.escape(name)}(\d+)", each), launcher) for each, launcher in launchers().items())
    return {int(match[1]): launcher for match, launcher in matches if match}


def choose(
    tools: Iterable[Tool] | None, name: str | None = None, version: str | None = None, scheduler: str | None = None
) -> Choice:
    """Return the launcher of a name, else the one found on the machine, else Open MPI."""
    there = [(tool, launcher) for tool in tools or () if (launcher := _of_tool(tool))]
    if name is not None:
        return _named(name, version, there)
    mpi = [pair for pair in there if not pair[1].job.schedulers]
    for tool, launcher in (*mpi, *there):
        if version is not None:
            return Choice(find(tool.name, version), version, f"{tool.name} is on this machine, the version was given")
        if not launcher.job.schedulers:
            return Choice(launcher, _version(tool), f"{_said(tool)} is on this machine")
        here = scheduler in launcher.job.schedulers
        job = f"{_job(scheduler)}, and no mpirun is on this machine" if here else "of launchers it alone is here"
        return Choice(launcher, tool.version, f"{_said(tool)}: {job}")
    looked = "no launcher is on this machine" if tools is not None else "no launcher is known here"
    if own := next((each for each in launchers().values() if scheduler in (each.job.schedulers or ())), None):
        return Choice(own, version, f"{_job(scheduler)}, and {looked}")
    given = ", the version was given" if version else ""
    return Choice(find(_SUPPOSED, version), version, f"Open MPI assumed (--launcher), {looked}{given}")


def _job(scheduler: str | None) -> str:
    return f"this is a {(scheduler or '').capitalize()} job"


def _version(tool: Tool) -> str | None:
    """Return the launcher's version: PRRTE's own number is not that of the Open MPI it belongs to."""
    own = next((query.own for query in VERSIONS if query.tool == tool.name), True)
    return tool.version if own else None


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
