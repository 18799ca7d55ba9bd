"""Programs under MPI on the nodes of a fleet: what each node is, which can take part, and launchers' lines, many at a time."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from advisor.errors import AdvisorError
from advisor.fleet.audit import audit_fleet
from advisor.fleet.capture import AnswersFolder
from advisor.fleet.kinds import Group, group
from advisor.jobs.launcher import Launch
from advisor.jobs.on_node import brought, errand, measure_script, new_mark
from advisor.jobs.registry import Choice, choose
from advisor.jobs.started.hosts import LauncherOptions
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.hosts.errands import Ended, Line, Reply, Way
from advisor.machine.hosts.nodes import ask_nodes, start_lines
from advisor.machine.machine import Machine
from advisor.machine.node_sets import folded
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.measure.build import LaunchOutput, failed, limit_of
from advisor.measure.resources import Resources
from advisor.measure.run import recorded, template_values
from advisor.paths import template

LACKS: Final = "on this node"
"""What the script says of a program that is not there, or is another one."""
_LOOK: Final = 90.0
"""Seconds for the idle gate of a node: to connect, to look for a second."""
Heard = Callable[[str, LaunchOutput], None]
"""Takes what a line printed, by the line's name."""


@dataclass(frozen=True)
class Alike:
    """Nodes of one kind of hardware, cut alike into NUMA nodes: only these are compared."""

    kind: Group
    machines: Mapping[str, Machine]


@dataclass(frozen=True)
class Start:
    """A launcher's line that is ready to be started, and how long it should take."""

    name: str
    launch: Launch
    seconds: float


def groups_of(names: Sequence[str], kept: AnswersFolder) -> tuple[list[Alike], dict[str, str]]:
    """Return the nodes kind by kind, each with its machine, of which equal nodes share one; and why others are left out."""
    found = audit_fleet([kept.folder])
    why_not: dict[str, str] = {}
    shared: dict[str, Machine] = {}
    groups: list[Alike] = []
    wanted = dict.fromkeys(names)
    for kind in group(found.nodes.folded):
        machines: dict[str, Machine] = {}
        for name in kind.nodes:
            if name not in wanted or not kept.is_kept(name):
                continue
            digest = found.read.records[name].digest or name
            try:
                if digest not in shared:
                    shared[digest] = _must_fit(read_machine(str(kept.folder / (kept.last[name].archive or ""))))
                machines[name] = shared[digest]
            except AdvisorError as error:
                why_not[name] = str(error)
        groups.append(Alike(kind, _cut_alike(machines, why_not)))
    known = {name for each in groups for name in each.machines} | set(why_not)
    for name in names:
        if name not in known:
            why_not[name] = f"was not captured; run advisor fleet capture -w {name} -o {kept.folder} first"
    return [each for each in groups if each.machines], why_not


def _must_fit(machine: Machine) -> Machine:
    """Return a machine; refuse one for which programs built here are none."""
    here = os.uname().machine
    if machine.architecture not in (None, here):
        raise AdvisorError(f"its architecture is {machine.architecture}, and kernels are built here for {here}")
    return machine


def _cut_alike(machines: Mapping[str, Machine], why_not: dict[str, str]) -> dict[str, Machine]:
    """Return the nodes that are cut into NUMA nodes as most are: figures of others would differ for that alone."""
    cuts = {id(machine): _cut(machine) for machine in machines.values()}
    most = Counter(cuts[id(machine)] for machine in machines.values()).most_common(1)
    usual = most[0][0] if most else None
    for name, machine in machines.items():
        if cuts[id(machine)] != usual:
            why_not[name] = "it has other NUMA nodes or CPUs than most of its kind; see advisor fleet audit"
    return {name: machine for name, machine in machines.items() if cuts[id(machine)] == usual}


def _cut(machine: Machine) -> str:
    ground = Resources(machine)
    return f"{[(node.os_index, str(node.cpuset)) for node in ground.homes]} {ground.inside.pus}"


def chosen(options: LauncherOptions, way: Way) -> Choice:
    """Return the launcher that is here; srun where nodes are reached through Slurm."""
    named = options.launcher or ("srun" if way.partition is not None else None)
    tools = None if named and options.version else read_machine(None).tools
    return choose(tools, named, options.version, None)


def gate(
    names: Sequence[str],
    way: Way,
    program: str | None = None,
    *,
    ours: bool = True,
    busy_ok: bool = False,
    observer: Observer = SILENT,
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the nodes that are idle and see a program, and why others can take no part.

    One that is ``ours`` has to be the same there as here; one of the site's may be built for the nodes.
    """
    idle: list[str] = []
    why_not: dict[str, str] = {}
    values = template_values((), {}, busy_ok=busy_ok, sees=program or "/bin/sh", holds=_here(program) if ours else None)
    mark = new_mark()

    def take(reply: Reply) -> None:
        told = brought(reply, mark)
        busy = recorded(told.file).busy
        if not told.file:
            why_not[reply.node] = f"{told.outcome}: {told.why}" if told.why else str(told.outcome)
        elif busy and not busy_ok:
            why_not[reply.node] = f"not idle: {'; '.join(busy)}"
        else:
            idle.append(reply.node)
        observer.step("looking", f"{len(idle) + len(why_not)} of {len(names)} nodes")

    try:
        script = measure_script(template("measure_on_node.sh.j2"), values)
        ask_nodes(names, errand(script, mark), replace(way, timeout=max(way.timeout, _LOOK)), take)
    finally:
        observer.end()
    lacking = [node for node, why in why_not.items() if LACKS in why]
    if lacking:
        cure = "copy it to the same path on each, or into a folder that all nodes see and give that with --kernels"
        observer.say(f"{folded(lacking)} cannot take part without {program}: {cure}")
    return tuple(name for name in names if name in idle), why_not


def _here(program: str | None) -> bytes | None:
    """Return a program as it is on this host; None of a site's own that is on the nodes alone."""
    try:
        return None if program is None else Path(program).read_bytes()
    except OSError:
        return None


def start_all(starts: Sequence[Start], way: Way, heard: Heard) -> None:
    """Start lines, as many at a time as the way has; ``heard`` gets what each printed. Ctrl-C ends them all, and is raised."""
    limit = max([way.timeout, *(limit_of(start.seconds) for start in starts)])
    by_name = {start.name: start for start in starts}

    def take(reply: Reply) -> None:
        launcher = by_name[reply.node].launch.argv[0]
        why = {Ended.TIMED_OUT: Why.TIMEOUT, Ended.TOO_MUCH: Why.FAILED}.get(reply.ended)
        ran = Ran(err=reply.err, status=-15 if reply.status is None else reply.status, why=why)
        heard(reply.node, LaunchOutput(reply.out, failed(launcher, ran, limit)))

    lines = [_line(start, way) for start in starts]
    start_lines(lines, take, at_once=way.fan_out, timeout=limit)


def _line(start: Start, way: Way) -> Line:
    """Return a line; srun outside a job gets a small one of its own in the partition."""
    argv, launch = start.launch.argv, start.launch
    if way.partition is not None and argv[0] == way.name and "SLURM_JOB_ID" not in os.environ:
        minutes = int(limit_of(start.seconds) / 60) + 1
        argv = (argv[0], f"--partition={way.partition}", "--exclusive", "--nice", f"--time={minutes}", *argv[1:])
    return Line(start.name, argv, launch.environment)


def folder_of(whole: Path, number: int) -> Path:
    """Return the folder of one line's files."""
    return whole / str(number)
