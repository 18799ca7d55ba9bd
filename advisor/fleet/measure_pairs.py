"""Measures pairs of nodes by MPI: who meets whom when, what is launched on both, which pairs and nodes are slow."""

import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf, sqrt
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from advisor.errors import AdvisorError, BadInput, BadValue
from advisor.fleet.capture import AnswersFolder
from advisor.fleet.fleet import PAIRS
from advisor.fleet.kinds import FAR, FINEST, practical, spread_of
from advisor.fleet.measure import Start, chosen, folder_of, gate, groups_of, start_all
from advisor.jobs.launcher import Launch
from advisor.jobs.placement import Placement
from advisor.jobs.results import read_network
from advisor.jobs.started.benchmark import Experiment, NetworkOptions, adapters, mpi_program, prepared, running_folder
from advisor.jobs.started.hosts import Allocated, JobHosts, LauncherOptions
from advisor.machine.hosts.errands import Way, folded
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.live import LiveHost
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.units import binary
from advisor.measure.build import LaunchOutput
from advisor.measure.imports import read_runs
from advisor.measure.measurement import Result
from advisor.measure.plan import MESSAGES, NetworkRun, network_runs

Pair = tuple[str, str]
"""Two nodes, as the schedule has them."""
MEETINGS = 4
"""Others that each node meets. With three, two bad links of one node look like a bad node."""
_LEAST = 3
"""Meetings of a node without which it is not judged."""
LEAST_PAIRS = 8
"""Pairs without which nothing is usual."""
_MEDIANS = 1.2533
"""The standard deviation of a median by that of a mean, of normal values: sqrt(pi / 2)."""


@dataclass(frozen=True)
class SlowNode:
    """A node that is slow with most of those whom it met."""

    node: str
    value: float
    median: float
    z: float
    met: int
    slow_with: int


@dataclass(frozen=True)
class SlowLink:
    """A pair that is slow, though both nodes do well with others."""

    pair: Pair
    value: float | None
    median: float
    z: float


@dataclass(frozen=True)
class Blame:
    """What a tournament tells: bad nodes, bad links, and nodes of whose pairs some are slow and some are not."""

    nodes: tuple[SlowNode, ...] = ()
    links: tuple[SlowLink, ...] = ()
    unclear: tuple[str, ...] = ()
    pairs: int = 0

    @property
    def good(self) -> bool:
        """Return whether nothing was found."""
        return not self.nodes and not self.links


def tournament(nodes: Sequence[str], meetings: int = MEETINGS) -> tuple[tuple[Pair, ...], ...]:
    """Return rounds of pairs that have no node in common: in each round every node meets another, and nobody twice.

    The circle method: one stays, the others go round. Of its n-1 rounds those are taken that lie evenly, so that a node meets
    near and far ones. Of an odd number one rests in each round, another each time.

    >>> tournament(["a", "b", "c", "d"], 3)
    ((('a', 'd'), ('b', 'c')), (('a', 'b'), ('c', 'd')), (('a', 'c'), ('d', 'b')))
    """
    players: list[str | None] = list(dict.fromkeys(nodes))
    if len(players) < 2:
        raise BadValue("pairs need at least two nodes", cure="name more with -w")
    if len(players) % 2:
        players.append(None)
    (first, *rest), half = players, len(players) // 2
    turns = range(len(rest)) if meetings >= len(rest) else [at * len(rest) // meetings for at in range(meetings)]
    found = []
    for turn in turns:
        ring = [first, *rest[turn:], *rest[:turn]]
        facing = zip(ring[:half], reversed(ring[half:]), strict=True)
        found.append(tuple((one, other) for one, other in facing if one is not None and other is not None))
    return tuple(found)


def blame(values: Mapping[Pair, float | None], unit: str = "bytes/s") -> Blame:
    """Return who is to blame for slow pairs; None is a pair of which no result came, as slow as can be.

    ``unit`` says whether more is better: of seconds less is.
    """
    told = [value for value in values.values() if value is not None]
    if len(values) < LEAST_PAIRS or len(told) * 2 < len(values):
        return Blame(pairs=len(values))
    judge = _Judge(values, unit, median(told), max(spread_of(told), FINEST * abs(median(told))))
    bad = judge.bad_nodes()
    guilty = {each.node for each in bad}
    links = tuple(judge.slow_links(guilty))
    ends = [node for link in links for node in link.pair]
    unclear = sorted({node for node in ends if ends.count(node) > 1})
    return Blame(bad, links, tuple(unclear), len(values))


class _Judge:
    def __init__(self, values: Mapping[Pair, float | None], unit: str, middle: float, scale: float) -> None:
        self._values, self._middle, self._scale = values, middle, scale
        self._worse = 1 if unit == "seconds" else -1
        self._practical = practical(unit, middle)

    def _away(self, value: float | None) -> float:
        """Return how far a value is on the bad side of the median."""
        return inf if value is None else (value - self._middle) * self._worse

    def _is_slow(self, away: float, scale: float) -> bool:
        return away > FAR * scale and away > self._practical

    def bad_nodes(self) -> tuple[SlowNode, ...]:
        """Return the nodes that are slow with most; the worst is taken first, and its pairs then speak against nobody else."""
        left, found = dict(self._values), list[SlowNode]()
        while True:
            worst = max(self._suspects(left), key=lambda each: -each.z, default=None)
            if worst is None:
                return tuple(found)
            found.append(worst)
            left = {pair: value for pair, value in left.items() if worst.node not in pair}

    def _suspects(self, left: Mapping[Pair, float | None]) -> list[SlowNode]:
        met: dict[str, list[float]] = defaultdict(list)
        for pair, value in left.items():
            for node in pair:
                met[node].append(self._away(value))
        found: list[SlowNode] = []
        for node, away in met.items():
            # The better one of the two in the middle: where half of its pairs are good the node is.
            typical = sorted(away)[(len(away) - 1) // 2]
            scale = self._scale * _MEDIANS / sqrt(len(away))
            if len(away) >= _LEAST and self._is_slow(typical, scale):
                slow = sum(self._is_slow(each, self._scale) for each in away)
                value = self._middle + self._worse * typical if typical < inf else 0.0
                found.append(SlowNode(node, value, self._middle, _z(typical, scale), len(away), slow))
        return found

    def slow_links(self, guilty: Iterable[str]) -> list[SlowLink]:
        """Return the slow pairs that no bad node accounts for, the worst first."""
        bad = frozenset(guilty)
        found = [
            SlowLink(pair, value, self._middle, _z(self._away(value), self._scale))
            for pair, value in self._values.items()
            if not bad.intersection(pair) and self._is_slow(self._away(value), self._scale)
        ]
        return sorted(found, key=lambda each: each.z)


def _z(away: float, scale: float) -> float:
    return -inf if away == inf else round(-away / scale, 1)


def again(found: Blame, nodes: Sequence[str], met: Iterable[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """Return the rounds in which suspects are measured again before they are named.

    A link once more as it was; a bad node with good ones that it has not met, so that their links are not blamed on it.
    """
    known = {frozenset(pair) for pair in met}
    guilty = {each.node for each in found.nodes} | {node for link in found.links for node in link.pair}
    good = [node for node in nodes if node not in guilty]
    wanted: list[Pair] = [link.pair for link in found.links]
    for at, each in enumerate(found.nodes):
        fresh = [other for other in good[at:] + good[:at] if frozenset((each.node, other)) not in known]
        wanted += [(each.node, other) for other in fresh[:_LEAST]]
    rounds: list[list[Pair]] = []
    for pair in wanted:
        free = next((row for row in rounds if not any(set(pair) & set(other) for other in row)), None)
        if free is None:
            rounds.append([pair])
        else:
            free.append(pair)
    return tuple(tuple(row) for row in rounds)


def confirmed(found: Blame, second: Mapping[Pair, float | None], unit: str = "bytes/s") -> Blame:
    """Return what of the suspects was slow the second time too; the median is that of the first."""
    worse = 1 if unit == "seconds" else -1

    def slow(value: float | None, middle: float) -> bool:
        return value is None or (value - middle) * worse > practical(unit, middle)

    nodes = []
    for each in found.nodes:
        pairs = [value for pair, value in second.items() if each.node in pair]
        if pairs and sum(slow(value, each.median) for value in pairs) * 2 > len(pairs):
            nodes.append(each)
    links = [link for link in found.links if link.pair in second and slow(second[link.pair], link.median)]
    ends = [node for link in links for node in link.pair]
    return Blame(tuple(nodes), tuple(links), tuple(each for each in found.unclear if ends.count(each) > 1), found.pairs)


_SMALL, _LARGE = 8, 1 << 20
SIZES = f"{_SMALL},{_LARGE}"
"""What a message costs, and what the link carries."""
_JUDGED = {("latency", _SMALL): "latency", ("mbw_mr", _LARGE): "bandwidth", ("bibw", _LARGE): "bidirectional bandwidth"}
_COMMAND_SECONDS = 60.0
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
            raise BadValue(f"--pair-command: {str(error).lower()}", cure="quote the command as for a shell") from error
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
            raise BadInput("it printed no figure that advisor can read", cure="docs/import.md lists the supported output")
        return {f"{what} {binary(sizes[what])}" if sizes[what] else what: value for what, value in found.items()}


class OwnMessages:
    """Our own kernel, one rank on each node, beside the adapter where that is known."""

    def __init__(
        self, machines: Mapping[str, Machine], launcher: LauncherOptions, way: Way, kernels: Path | None, observer: Observer
    ) -> None:
        self._machines, self._launcher = machines, launcher
        self._choice = chosen(launcher, way)
        self._legs: dict[tuple[int, int], tuple[NetworkRun, bool]] = {}
        made, leg, placement = self._plan((next(iter(machines)), list(machines)[-1]))
        argv = made.launch(leg, placement, MESSAGES).argv
        self._built, _, _ = mpi_program(LiveHost(), made.machine, MESSAGES, argv[0], folder=kernels, observer=observer)

    @property
    def program(self) -> str:
        """The kernel."""
        return self._built

    def _plan(self, pair: Pair) -> tuple[Experiment, NetworkRun, Placement]:
        """Return a pair's line before it is written."""
        machines = tuple(self._machines[node] for node in pair)
        job_hosts = JobHosts(Allocated(pair), machines, None)
        key = (id(machines[0]), id(machines[1]))
        if key not in self._legs:
            hcas, asked, _ = adapters(job_hosts, None)
            self._legs[key] = (network_runs(machines, hcas[:1])[0], asked)
        leg, asked = self._legs[key]
        made = Experiment(job_hosts, self._launcher, self._choice, NetworkOptions(sizes=SIZES), (leg,), (), asked)
        return made, leg, made.placement(leg)

    def start(self, pair: Pair, folder: Path) -> Start:
        """Return the line of a pair."""
        made, leg, placement = self._plan(pair)
        launch = prepared(made.launch(leg, placement, self._built), made.command(leg, self._built), folder)
        return Start(name_of(pair), launch, made.task(leg, placement).seconds)

    def figures(self, pair: Pair, said: LaunchOutput) -> Figures:
        """Return latency and bandwidth, where the ranks were where they were to be."""
        made, leg, placement = self._plan(pair)
        results = read_network(leg, made.task(leg, placement), made.rank_plan(placement), said.lines)
        found = dict(_named(each) for each in results if each.refused is None and _key(each) in _JUDGED)
        if not found:
            refused = next((each.refused for each in results if each.refused), None)
            raise AdvisorError(refused or said.why or "the ranks exited without a result")
        return found


def _key(result: Result) -> tuple[str, int]:
    return result.variant, result.bytes or 0


def _named(result: Result) -> tuple[str, tuple[float, str]]:
    return f"{_JUDGED[_key(result)]} {binary(_key(result)[1])}", (result.median, str(result.unit))


@dataclass(frozen=True)
class PairsOptions:
    """What is measured between two nodes, and how many others each meets."""

    meetings: int = MEETINGS
    launcher: LauncherOptions = field(default_factory=LauncherOptions)
    kernels: Path | None = None
    command: str | None = None
    """The site's own, instead of our messages."""
    busy_ok: bool = False


@dataclass
class Played:
    """The tournament of one kind: what each pair gave, and who is to blame."""

    kind: str
    nodes: tuple[str, ...]
    pairs: tuple[Pair, ...] = ()
    rounds: int = 0
    values: dict[str, dict[Pair, float]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    whys: dict[Pair, str] = field(default_factory=dict)
    again: tuple[Pair, ...] = ()
    blamed: Mapping[str, Blame] = field(default_factory=dict)

    @property
    def judged(self) -> bool:
        """Return whether there were enough pairs, and of enough of them a result."""
        return any(len(self.pairs) >= LEAST_PAIRS and len(own) * 2 >= len(self.pairs) for own in self.values.values())

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "kind": self.kind,
            "nodes": folded(self.nodes),
            "rounds": self.rounds,
            "pairs": len(self.pairs),
            "judged": self.judged,
            "measured_again": [list(pair) for pair in self.again],
            "figures": [self._figure(name) for name in self.values],
            "no_result": [{"pair": list(pair), "why": why} for pair, why in self.whys.items()],
            "values": [
                {"pair": list(pair), **{name: own[pair] for name, own in self.values.items() if pair in own}}
                for pair in self.pairs
            ],
        }

    def _figure(self, name: str) -> dict[str, Any]:
        own, found = self.values[name], self.blamed.get(name, Blame())
        return {
            "figure": name,
            "unit": self.units[name],
            "pairs": len(own),
            "median": median(own.values()),
            "least": min(own.values()),
            "most": max(own.values()),
            "bad_nodes": [_node(each) for each in found.nodes],
            "bad_links": [_link(each) for each in found.links],
            "unclear": list(found.unclear),
        }


def _node(each: SlowNode) -> dict[str, Any]:
    return {**asdict(each), **({"value": None, "z": None} if each.z == -inf else {})}


def _link(each: SlowLink) -> dict[str, Any]:
    return {**asdict(each), "pair": list(each.pair), "z": None if each.value is None else each.z}


@dataclass(frozen=True)
class MeasuredPairs:
    """What a fleet's pairs gave."""

    folder: str
    asked: tuple[str, ...]
    groups: tuple[Played, ...]
    why_not: Mapping[str, str]
    meetings: int
    interrupted: bool = False

    @property
    def status(self) -> int:
        """Return the exit status: 130 interrupted, 2 where no pair gave a result, 1 where a node or a link is bad."""
        if self.interrupted:
            return 130
        if not any(group.values for group in self.groups):
            return 2
        return int(any(not found.good for group in self.groups for found in group.blamed.values()))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet measure --pairs --json``."""
        return {
            "schema": "advisor-fleet-pairs/1",
            "folder": self.folder,
            "asked": len(self.asked),
            "measured": len(self.asked) - len(self.why_not),
            "meetings": self.meetings,
            "interrupted": self.interrupted,
            "not_measured": [{"node": node, "why": why} for node, why in self.why_not.items()],
            "groups": [group.document() for group in self.groups],
        }


def measure_pairs(
    nodes: Sequence[str] | None,
    folder: Path,
    way: Way | None = None,
    options: PairsOptions | None = None,
    observer: Observer = SILENT,
) -> MeasuredPairs:
    """Let each node exchange messages with some others of its kind, all at once; say which nodes and which links are bad."""
    way, options = way or Way(), options or PairsOptions()
    kept = AnswersFolder(folder, must_exist=options.command is None or nodes is None)
    names = kept.named(nodes)
    played: list[Played] = []
    why_not: dict[str, str] = {}
    interrupted = False
    try:
        for kind, own, meeting in _kinds(names, kept, way, options, why_not, observer=observer):
            idle, others = gate(own, way, meeting.program, busy_ok=options.busy_ok, observer=observer)
            why_not |= others
            if len(idle) < 2:
                why_not |= dict.fromkeys(idle, "no other node of its kind can be measured now")
                continue
            played.append(Played(kind, idle))
            _play(played[-1], _Field(meeting, way, observer), options.meetings)
    except KeyboardInterrupt:
        interrupted = True
    found = MeasuredPairs(str(folder), names, tuple(played), why_not, options.meetings, interrupted)
    if played and folder.is_dir():
        write_file(folder / PAIRS, json.dumps(found.document(), indent=1).encode() + b"\n")
    return found


def _kinds(
    names: tuple[str, ...], kept: AnswersFolder, way: Way, options: PairsOptions, why_not: dict[str, str], *, observer: Observer
) -> Iterator[tuple[str, tuple[str, ...], Meeting]]:
    """Yield nodes that can be compared, kind by kind, and how they meet; all at once by a command of the site's own."""
    if options.command is not None:
        yield "", names, SiteCommand(options.command)
        return
    groups, others = groups_of(names, kept)
    why_not |= others
    for group in groups:
        if len(group.machines) < 2:
            why_not |= dict.fromkeys(group.machines, "no other node of its kind to pair with")
        else:
            meeting = OwnMessages(group.machines, options.launcher, way, options.kernels, observer)
            yield group.kind.name, tuple(group.machines), meeting


@dataclass(frozen=True)
class _Field:
    """Where pairs meet."""

    meeting: Meeting
    way: Way
    observer: Observer

    def round(self, pairs: Sequence[Pair], played: Played, values: dict[str, dict[Pair, float]], about: str) -> None:
        """Let pairs that share no node meet, all at the same time."""
        by_name = {name_of(pair): pair for pair in pairs}
        done: list[str] = []

        def take(name: str, said: LaunchOutput) -> None:
            pair = by_name[name]
            done.append(name)
            try:
                for what, (value, unit) in self.meeting.figures(pair, said).items():
                    values.setdefault(what, {})[pair] = value
                    played.units[what] = unit
            except AdvisorError as error:
                played.whys[pair] = str(error)
            self.observer.step("measuring", f"{about}: {len(done)} of {len(pairs)} pairs")

        try:
            with running_folder("pairs-") as folder:
                starts = [self.meeting.start(pair, folder_of(folder, at)) for at, pair in enumerate(pairs)]
                start_all(starts, self.way, take)
        finally:
            self.observer.end()


def _play(played: Played, where: _Field, meetings: int) -> None:
    """Run the rounds, judge, and let the suspects meet once more."""
    rounds = tournament(played.nodes, meetings)
    for at, pairs in enumerate(rounds, 1):
        where.round(pairs, played, played.values, f"round {at} of {len(rounds)}")
        played.pairs, played.rounds = (*played.pairs, *pairs), at
    first = {name: blame(_all(own, played.pairs), played.units[name]) for name, own in played.values.items()}
    suspects = again(_together(first.values()), played.nodes, played.pairs)
    second: dict[str, dict[Pair, float]] = {}
    for pairs in suspects:
        where.observer.say(f"{len(pairs)} pairs are measured again: {', '.join(' - '.join(pair) for pair in pairs[:4])}")
        where.round(pairs, played, second, "again")
        played.again = (*played.again, *pairs)
    played.blamed = {
        name: confirmed(found, _all(second.get(name, {}), played.again), played.units[name]) for name, found in first.items()
    }


def _all(values: Mapping[Pair, float], pairs: Iterable[Pair]) -> dict[Pair, float | None]:
    """Return the value of each pair; None of one that gave none."""
    return {pair: values.get(pair) for pair in pairs}


def _together(found: Iterable[Blame]) -> Blame:
    """Return all suspects, of whatever figure, each once."""
    nodes: dict[str, SlowNode] = {}
    links: dict[Pair, SlowLink] = {}
    for each in found:
        nodes |= {node.node: node for node in each.nodes}
        links |= {link.pair: link for link in each.links}
    return Blame(tuple(nodes.values()), tuple(links.values()))
