"""Measures messages between pairs of nodes, half of the nodes with the other half, so that a bad link and a bad node show.

Every pair has a launcher's line of its own, started here: one that hangs or fails holds up no other, and it is known which
pair that was. Suspects meet once more before they are named: a bad node others than before, a bad link the same two.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from advisor.errors import AdvisorError
from advisor.fleet.pairs import LEAST_PAIRS, MEETINGS, Blame, Pair, SlowLink, SlowNode, again, blame, confirmed, tournament
from advisor.host.errands import Way
from advisor.host.files import write_file
from advisor.host.node_lists import checked_names
from advisor.measure.mpi import LaunchOutput
from advisor.model.fleet import PAIRS
from advisor.model.node_sets import folded
from advisor.work import SILENT, Observer
from advisor.work.fleet.answers import AnswersFolder
from advisor.work.fleet.mpi.launches import folder_of, gate, groups_of, start_all
from advisor.work.fleet.mpi.meetings import Meeting, OwnMessages, SiteCommand, name_of
from advisor.work.job.hosts import LauncherOptions
from advisor.work.job.mpi import running_folder


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
    value = None if each.z == float("-inf") else each.value
    return {
        "node": each.node,
        "value": value,
        "median": each.median,
        "z": None if value is None else each.z,
        "met": each.met,
        "slow_with": each.slow_with,
    }


def _link(each: SlowLink) -> dict[str, Any]:
    return {
        "pair": list(each.pair),
        "value": each.value,
        "median": each.median,
        "z": None if each.value is None else each.z,
    }


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
    names = checked_names(nodes if nodes is not None else tuple(node for node in kept.last if kept.is_kept(node)))
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
            why_not |= dict.fromkeys(group.machines, "no other node is of its kind: it has nobody to meet")
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
        where.observer.say(f"{len(pairs)} pairs meet again: {', '.join(' - '.join(pair) for pair in pairs[:4])}")
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
