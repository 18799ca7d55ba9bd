"""Measures many nodes at once: kernels built here, sent with the plan, run behind each node's own idle gate.

The plan of a node is made from its capture, so that it fits the node: its NUMA nodes, its caches, its free memory. Whoever is
slow beside the others is measured a second time before anybody is named: slow is who is so in both runs.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from advisor.errors import AdvisorError, CannotWork
from advisor.fleet.audit import audit_fleet
from advisor.fleet.capture import AnswersFolder
from advisor.fleet.fleet import BEFORE_SUFFIX, MEASURED_SUFFIX, Slow
from advisor.jobs.on_node import brought, errand, measure_script, new_mark
from advisor.machine.hosts.errands import Reply, Way, checked_names
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.live import LiveHost
from advisor.machine.hosts.nodes import ask_nodes
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import open_machine, read_machine
from advisor.measure.build import Recipe, build, find_compiler, flags_for
from advisor.measure.contract import read_kernels
from advisor.measure.measurement import Measurements, Task
from advisor.measure.plan import Request, plan
from advisor.measure.platforms import match_platform
from advisor.measure.resources import Resources, checked_results
from advisor.measure.run import conditions, free_memory, recorded, results_on_node, template_values
from advisor.measure.task import gathered
from advisor.paths import kernels, template

_PORTABLE: Final = {"x86_64": "x86-64", "aarch64": "armv8-a"}
"""What every server of an architecture runs; the kernels choose the widest instructions themselves when they start."""
_STATIC: Final = ("-static", "-s")
"""Whatever C library a node has, and however old."""
NO_SECOND: Final = "it was slow, and gave no result when it was measured again"
_BESIDE: Final = 120.0
"""Seconds beside the plan's own: to connect, to send the kernels, for the idle gate."""


@dataclass(frozen=True)
class Beside:
    """One figure of the nodes of a kind, beside each other."""

    kind: str
    figure: str
    unit: str
    values: Mapping[str, float]
    about: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        about = {"kind": self.kind, "figure": self.figure, "unit": self.unit, "about": self.about}
        return {**about, "median": median(self.values.values()), "values": dict(self.values)}


@dataclass(frozen=True)
class MeasuredFleet:
    """Who was measured, why others were not, and who is slow in two runs."""

    folder: str
    asked: tuple[str, ...]
    measured: tuple[str, ...]
    why_not: Mapping[str, str]
    again: tuple[str, ...] = ()
    slow: tuple[Slow, ...] = ()
    interrupted: bool = False
    figures: tuple[Beside, ...] = ()

    @property
    def status(self) -> int:
        """Return the exit status: 130 interrupted, 2 where nobody was measured, 1 where some are slow."""
        return 130 if self.interrupted else 2 if not self.measured else int(bool(self.slow))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet measure --json``."""
        return {
            "schema": "advisor-fleet-measure/1",
            "folder": self.folder,
            "asked": len(self.asked),
            "measured": len(self.measured),
            "interrupted": self.interrupted,
            "not_measured": [{"node": node, "why": why} for node, why in self.why_not.items()],
            "measured_again": list(self.again),
            "slow": [each.model_dump(mode="json") for each in self.slow],
            **({"figures": [each.document() for each in self.figures]} if self.figures else {}),
        }


@dataclass(frozen=True)
class _Node:
    """What is known of a node before it is measured."""

    machine: Machine
    tasks: tuple[Task, ...]
    seconds: float


@dataclass
class _Run:
    """One round: what is asked of whom, and what came."""

    folder: Path
    nodes: Mapping[str, _Node]
    observer: Observer
    measured: dict[str, Measurements] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)

    def take(self, reply: Reply, mark: str, started: str) -> None:
        """Keep what one node answered."""
        told, node = brought(reply, mark), self.nodes[reply.node]
        found = recorded(told.file)
        if not told.file:
            self.why_not[reply.node] = f"{told.outcome}: {told.why}" if told.why else str(told.outcome)
        elif found.looks and not found.runs:
            self.why_not[reply.node] = f"not idle: {'; '.join(found.busy)}"
        else:
            sheets = read_kernels().sheets
            outcome = results_on_node(node.tasks, found, sheets)
            platform = match_platform(node.machine)
            results = checked_results(outcome.results, Resources(node.machine), platform)
            if not results:
                self.why_not[reply.node] = outcome.missing[0].why if outcome.missing else "no kernel printed a result"
                return
            under = conditions(node.machine, started, found.busy)
            self.measured[reply.node] = gathered(node.machine, under, results, outcome.missing)
            self.observer.step("measuring", f"{len(self.measured)} of {len(self.nodes)} nodes")


def measure_fleet(
    nodes: Sequence[str] | None, folder: Path, way: Way | None = None, *, busy_ok: bool = False, observer: Observer = SILENT
) -> MeasuredFleet:
    """Measure the quick set on the nodes of a fleet's folder, all at once; those that are slow a second time."""
    kept = AnswersFolder(folder, must_exist=True)
    names = checked_names(nodes if nodes is not None else tuple(node for node in kept.last if kept.is_kept(node)))
    ready, why_not = _ready(names, kept)
    first, interrupted = _round(folder, ready, way or Way(), busy_ok=busy_ok, observer=observer)
    why_not |= first.why_not
    for node, found in first.measured.items():
        (folder / f"{node}{BEFORE_SUFFIX}").unlink(missing_ok=True)
        _keep(folder, node, found)
    odd = audit_fleet([folder]).suspects if first.measured and not interrupted else ()
    suspects = tuple(dict.fromkeys(each.node for each in odd if each.node in first.measured))
    if suspects:
        observer.say(f"{len(suspects)} of {len(first.measured)} nodes may be slow beside the others: they are measured again")
        again = {node: ready[node] for node in suspects}
        second, interrupted = _round(folder, again, way or Way(), busy_ok=busy_ok, observer=observer)
        for node, found in second.measured.items():
            _keep(folder, node, first.measured[node], BEFORE_SUFFIX)
            _keep(folder, node, found)
        why_not |= {node: f"{NO_SECOND}: {why}" for node, why in second.why_not.items()}
    slow = tuple(each for each in audit_fleet([folder]).fleet.slow if each.node in suspects) if suspects else ()
    sure = tuple(each for each in slow if each.node in second.measured) if suspects else ()
    return MeasuredFleet(str(folder), names, tuple(first.measured), why_not, suspects, sure, interrupted)


def _keep(folder: Path, node: str, found: Measurements, suffix: str = MEASURED_SUFFIX) -> None:
    write_file(folder / f"{node}{suffix}", found.model_dump_json(indent=1).encode() + b"\n", durable=True)


def _ready(names: Sequence[str], kept: AnswersFolder) -> tuple[dict[str, _Node], dict[str, str]]:
    """Return what each node is to do, from its capture; and why others do nothing."""
    ready: dict[str, _Node] = {}
    why_not: dict[str, str] = {}
    for name in names:
        answer = kept.last.get(name)
        if answer is None or not kept.is_kept(name):
            why_not[name] = f"was not captured; run advisor fleet capture -w {name} -o {kept.folder} first"
            continue
        file = str(kept.folder / (answer.archive or ""))
        try:
            machine = read_machine(file)
            made = plan(machine, Request("quick"), free_memory(open_machine(file), machine))
        except AdvisorError as error:
            why_not[name] = str(error)
            continue
        if made.tasks:
            ready[name] = _Node(machine, made.tasks, made.seconds)
        else:
            why_not[name] = "its capture does not say enough to plan a measurement"
    return ready, why_not


def _round(folder: Path, nodes: Mapping[str, _Node], way: Way, *, busy_ok: bool, observer: Observer) -> tuple[_Run, bool]:
    """Measure some nodes at once, those with the same plan by one script; return what came, and whether Ctrl-C ended it."""
    done = _Run(folder, nodes, observer)
    plans: dict[tuple[str | None, tuple[Task, ...]], list[str]] = {}
    for name, node in nodes.items():
        plans.setdefault((node.machine.architecture, node.tasks), []).append(name)
    try:
        for (architecture, tasks), names in plans.items():
            programs = _programs(architecture, {task.kernel for task in tasks})
            if isinstance(programs, str):
                done.why_not |= dict.fromkeys(names, programs)
                continue
            script = measure_script(template("measure_on_node.sh.j2"), template_values(tasks, programs, busy_ok=busy_ok))
            mark, started = new_mark(), datetime.now(UTC).astimezone().isoformat(timespec="seconds")
            longest = replace(way, timeout=max(way.timeout, _BESIDE + 4 * sum(task.seconds for task in tasks)), exclusive=True)
            ask_nodes(names, errand(script, mark), longest, lambda reply: done.take(reply, mark, started))  # noqa: B023 - called within
    except KeyboardInterrupt:
        return done, True
    finally:
        observer.end()
    return done, False


def _programs(architecture: str | None, names: set[str]) -> dict[str, bytes] | str:
    """Return kernels that run on every node of this host's architecture; in words why there are none for another."""
    host = LiveHost()
    here = _architecture()
    if architecture != here:
        return f"its architecture is {architecture or 'not known'}, and kernels are built here for {here}"
    compiler = find_compiler(host, None)
    flags = flags_for(Machine(architecture=here), _PORTABLE[here])
    with TemporaryDirectory(prefix="advisor-kernels-") as made:
        for more in (_STATIC, ()):  # a host without a static C library builds for nodes with the same one
            try:
                for name in names:
                    build(host, Recipe(kernels(), compiler, (*flags, *more)), name, Path(made) / name)
                return {name: (Path(made) / name).read_bytes() for name in names}
            except CannotWork as error:
                why = str(error)
    raise CannotWork(why)


def _architecture() -> str:
    """Return the architecture of this host, of those that servers have."""
    here = os.uname().machine
    if here not in _PORTABLE:
        raise CannotWork(f"kernels are not built on {here}; measure from a host that is {' or '.join(_PORTABLE)}")
    return here
