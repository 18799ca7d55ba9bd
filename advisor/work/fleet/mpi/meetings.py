"""What two nodes do when they meet: our own messages between them, or a command of the site's; and what its output says."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from advisor.errors import AdvisorError, BadInput, BadValue
from advisor.fleet.pairs import Pair
from advisor.host.errands import Way
from advisor.host.live import LiveHost
from advisor.imports import read_runs
from advisor.language.units import binary
from advisor.launch.launcher import Launch
from advisor.measure.mpi import LaunchOutput
from advisor.measure.network import KERNEL, NetworkRun, network_runs
from advisor.measure.network_results import RankPlan, read_network
from advisor.model.hardware.machine import Machine
from advisor.model.measurement import Result
from advisor.model.observed_binding import planned_ranks
from advisor.model.placement import Placement
from advisor.work import Observer
from advisor.work.fleet.mpi.launches import Start, chosen
from advisor.work.job.allocation import Allocated
from advisor.work.job.hosts import JobHosts, LauncherOptions
from advisor.work.job.mpi import mpi_program, prepared
from advisor.work.job.network import Experiment, NetworkOptions, adapters

_SMALL, _LARGE = 8, 1 << 20
SIZES: Final = f"{_SMALL},{_LARGE}"
"""What a message costs, and what the link carries."""
_JUDGED: Final = {("latency", _SMALL): "latency", ("mbw_mr", _LARGE): "bandwidth", ("bibw", _LARGE): "bandwidth both ways"}
_COMMAND_SECONDS: Final = 60.0
"""Within which a command of the site's own should end."""
Figures = Mapping[str, tuple[float, str]]
"""Value and unit, by what it is: bandwidth 1 MiB."""


class Meeting(Protocol):
    """How two nodes are measured."""

    @property
    def program(self) -> str | None:
        """What every node must see."""

    def start(self, pair: Pair, folder: Path) -> Start:
        """Return the line of a pair, its files written."""

    def figures(self, pair: Pair, said: LaunchOutput) -> Figures:
        """Return what a pair's line printed; raise AdvisorError, in one line, where that is nothing to go by."""


def name_of(pair: Pair) -> str:
    """Return a pair as its line is called."""
    return " ".join(pair)


class SiteCommand:
    """A command of the site's own, {a} and {b} in it the nodes: of OSU's and others' output the figures of one pair are taken."""

    program: str | None = None

    def __init__(self, text: str) -> None:
        try:
            self._words = shlex.split(text)
        except ValueError as error:
            raise BadValue(f"--pair-command: {str(error).lower()}", cure="quote it as a shell does") from error
        if not self._words or not all(any(name in word for word in self._words[1:]) for name in ("{a}", "{b}")):
            cure = "write {a} and {b} where the nodes go: 'mpirun -np 2 --host {a},{b} osu_bw'"
            raise BadValue("--pair-command does not name both nodes", cure=cure)

    def start(self, pair: Pair, folder: Path) -> Start:
        """Return the line of a pair: no shell reads it."""
        del folder
        a, b = pair
        argv = tuple(word.replace("{a}", a).replace("{b}", b) for word in self._words)
        return Start(name_of(pair), Launch("", None, "", argv), _COMMAND_SECONDS)

    def figures(self, pair: Pair, said: LaunchOutput) -> Figures:
        """Return what is known in its output: of a bandwidth that of the largest messages, else of the smallest."""
        del pair
        if said.why is not None:
            raise AdvisorError(said.why)
        sizes: dict[str, int] = {}
        found: dict[str, tuple[float, str]] = {}
        for each in (figure for run in read_runs(said.text) for figure in run.figures):
            size, unit = each.size or 0, str(each.unit)
            better = size > sizes.get(each.what, -1) if unit == "bytes/s" else size < sizes.get(each.what, 1 << 62)
            if better:
                sizes[each.what] = size
                found[each.what] = (each.value, unit)
        if not found:
            raise BadInput("it printed no figure that advisor reads", cure="docs/import.md lists what is read")
        return {f"{what} {binary(sizes[what])}" if sizes[what] else what: value for what, value in found.items()}


@dataclass(frozen=True)
class _Plan:
    """A pair's line before it is written."""

    made: Experiment
    leg: NetworkRun
    placement: Placement


class OwnMessages:
    """Our own kernel, one rank on each node, beside the adapter where that is known."""

    def __init__(
        self, machines: Mapping[str, Machine], launcher: LauncherOptions, way: Way, kernels: Path | None, observer: Observer
    ) -> None:
        self._machines, self._launcher = machines, launcher
        self._choice = chosen(launcher, way)
        self._legs: dict[tuple[int, int], tuple[NetworkRun, bool]] = {}
        first = self._plan((next(iter(machines)), list(machines)[-1]))
        argv = first.made.launch(first.leg, first.placement, KERNEL).argv
        self._built, _, _ = mpi_program(LiveHost(), first.made.machine, KERNEL, argv[0], folder=kernels, observer=observer)

    @property
    def program(self) -> str:
        """The kernel."""
        return self._built

    def _plan(self, pair: Pair) -> _Plan:
        machines = tuple(self._machines[node] for node in pair)
        job_hosts = JobHosts(Allocated(pair), machines, None)
        key = (id(machines[0]), id(machines[1]))
        if key not in self._legs:
            hcas, asked, _ = adapters(job_hosts, None)
            self._legs[key] = (network_runs(machines, hcas[:1])[0], asked)
        leg, asked = self._legs[key]
        made = Experiment(job_hosts, self._launcher, self._choice, NetworkOptions(sizes=SIZES), (leg,), (), asked)
        return _Plan(made, leg, made.placement(leg))

    def start(self, pair: Pair, folder: Path) -> Start:
        """Return the line of a pair."""
        plan = self._plan(pair)
        launch = plan.made.launch(plan.leg, plan.placement, self._built)
        command = [self._built, *plan.leg.arguments(plan.made.sizes, plan.made.repeats)]
        seconds = plan.made.task(plan.leg, plan.placement).seconds
        return Start(name_of(pair), prepared(launch, command, folder), seconds)

    def figures(self, pair: Pair, said: LaunchOutput) -> Figures:
        """Return latency and bandwidth, where the ranks were where they were to be."""
        plan = self._plan(pair)
        version = f" {self._choice.version}" if self._choice.version else ""
        launcher = f"{self._choice.launcher.NAME}{version}"
        seat = RankPlan(pair, planned_ranks(plan.placement), plan.made.machine, launcher, plan.made.asked)
        results = read_network(plan.leg, plan.made.task(plan.leg, plan.placement), seat, said.lines)
        found = dict(_named(each) for each in results if each.refused is None and _key(each) in _JUDGED)
        if not found:
            refused = next((each.refused for each in results if each.refused), None)
            raise AdvisorError(refused or said.why or "the ranks ended without a result")
        return found


def _key(result: Result) -> tuple[str, int]:
    return result.variant, result.bytes or 0


def _named(result: Result) -> tuple[str, tuple[float, str]]:
    return f"{_JUDGED[_key(result)]} {binary(_key(result)[1])}", (result.median, str(result.unit))
