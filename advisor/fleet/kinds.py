"""Folded nodes put together: kinds of hardware, who is wrong, who drifted, who is slow; the value of the screen."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate
from math import log10, sqrt
from statistics import median

from advisor.advice.model.sheets import SEVERITIES, Severity
from advisor.fleet.fleet import Drift, Fleet, Incident, Kind, Odd, Population, Same, Silent, Slow, Split, Wrong
from advisor.fleet.fold import MODULES, PARTITIONING, Fact, Folded, Hardware, Judged, Modules, Part, modules_text
from advisor.fleet.incidents import MINORITY, Told, importance, incidents, is_apart
from advisor.machine.hosts.errands import expanded, first_of, folded


@dataclass
class Group:
    """Nodes of one kind."""

    name: str
    hardware: Hardware
    nodes: list[str] = field(default_factory=list)
    lacking: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Class of modules and what some nodes have of it -> those nodes."""


def group(nodes: Mapping[str, Folded]) -> list[Group]:
    """Return the kinds of hardware, the largest first, and every node in one of them."""
    same: dict[Hardware, list[str]] = defaultdict(list)
    for name, node in nodes.items():
        same[node.hardware].append(name)
    ordered = sorted(same.items(), key=lambda item: (-_known(item[0]), -len(item[1]), item[0].text))
    ordered.sort(key=lambda item: -len(item[1]))
    found: list[Group] = []
    for hardware, names in ordered:
        _place(hardware, names, found)
    found.sort(key=lambda each: (-len(each.nodes), each.hardware.text))
    taken: set[str] = set()
    for each in found:
        each.name = next(name for size in (2, 4, 8) if (name := kind_name(each.hardware, size)) not in taken)
        taken.add(each.name)
    return found


def kind_name(hardware: Hardware, size: int = 2) -> str:
    """Return the name of a kind, which stays whatever other kinds there are: processor, sockets, memory, GPUs, and a short hash.

    >>> modules = (("sockets", (("AMD EPYC 7702 64-Core Processor", 2),)), ("DIMMs", (("16 GiB DDR4", 16),)), ("GPUs", ()))
    >>> kind_name(Hardware(("Dell Inc. C6525",), modules))
    'epyc7702-2s-256g-3686'
    """
    modules = dict(hardware.modules)
    chip, sockets = (modules.get("sockets") or (("processor", 0),))[0]
    memory = sum(count * int(what.split()[0]) for what, count in modules.get("DIMMs") or () if re.match(r"\d+ GiB", what))
    gpus = sum(count for _, count in modules.get("GPUs") or ())
    words = re.sub(r"\(?\b(R|TM|Intel|AMD|Xeon|CPU|Processor|\d+-Core)\b\)?|@.*", "", chip)
    parts = [re.sub(r"[^a-z0-9]", "", words.lower())[:16] or "processor", f"{sockets}s"]
    parts += [f"{memory}g"] * bool(memory) + [f"{gpus}gpu"] * bool(gpus)
    return "-".join((*parts, blake2b(hardware.text.encode("utf-8", "backslashreplace"), digest_size=size).hexdigest()))


def _known(hardware: Hardware) -> int:
    return sum(each is not None for _, each in hardware.modules)


def _place(hardware: Hardware, names: list[str], found: list[Group]) -> None:
    """Put nodes into the kind that they are of, else into one of their own."""
    for each in found:
        differing = _differing(hardware, each.hardware)
        if differing is None or (differing and len(names) * MINORITY > len(names) + len(each.nodes)):
            continue
        for name, modules in differing:
            each.lacking.setdefault((name, modules_text(modules)), []).extend(names)
        each.nodes.extend(names)
        return
    found.append(Group("", hardware, list(names)))


def _differing(few: Hardware, many: Hardware) -> list[tuple[str, Modules]] | None:
    """Return the classes of which one has less than the other; None where it is another kind of node altogether.

    What is not known of one of the two differs in nothing.
    """
    if few.base != many.base:
        return None
    found: list[tuple[str, Modules]] = []
    for (name, less), (_, more) in zip(few.modules, many.modules, strict=True):
        if less is None or more is None or less == more:
            continue
        other = sum(max(0, count - dict(more).get(what, 0)) for what, count in less)
        all_, own = (sum(count for _, count in modules) for modules in (more, less))
        if name == "sockets" or own > all_ or other * _OTHER > all_:
            return None
        found.append((name, less))
    return found


_OTHER = 4
"""Of a node's modules a quarter at most may be others (one DIMM of half the size): more is another kind of node."""
NOT_THERE = Fact("not there", "not there")
_ALIKE = 0.01
"""Amounts of bytes this near are the same: a kernel keeps another megabyte for itself at each start."""
_POPULATIONS = 4
"""More values than this, none of them that of most nodes, name the nodes rather than set them up."""


@dataclass
class Value:
    """A value of a fact, and the nodes that have it."""

    fact: Fact
    nodes: list[str] = field(default_factory=list)


@dataclass
class Difference:
    """What differs inside a kind."""

    drift: list[Drift]
    split: list[Split]
    same: Same


def differences(kind: Group, nodes: Mapping[str, Folded]) -> Difference:
    """Return what differs inside a kind; sections that are equal everywhere are not opened."""
    found = Difference(_lacking(kind), [], Same(kind=kind.name, same=0, facts=0))
    same = facts = varied = 0
    for section in dict.fromkeys(name for node in kind.nodes for name in nodes[node].parts):
        groups: dict[bytes, list[str]] = defaultdict(list)
        parts: dict[bytes, Part] = {}
        for node in kind.nodes:
            part = nodes[node].parts.get(section)
            if part is not None:
                parts.setdefault(part.digest, part)
                groups[part.digest].append(node)
        every = set().union(*(part.facts for part in parts.values()))
        facts += len(every)
        differing = dict(_drifted(parts, groups)) if len(parts) > 1 else {}
        same += len(every) - len(differing)
        for name in sorted(differing, key=importance):
            varied += _said(name, kind, differing[name], found)
    found.same = Same(kind=kind.name, same=same, facts=facts, varied=varied)
    return found


def _lacking(kind: Group) -> list[Drift]:
    whole = dict(kind.hardware.modules)
    return [
        Drift(
            fact=f"hardware.{name}",
            kind=kind.name,
            majority=modules_text(whole[name]),
            nodes=folded(nodes),
            count=len(nodes),
            value=text,
            of=len(kind.nodes),
        )
        for (name, text), nodes in kind.lacking.items()
    ]


def _drifted(parts: Mapping[bytes, Part], groups: Mapping[bytes, list[str]]) -> Iterator[tuple[str, list[Value]]]:
    """Yield the facts of a section that have several values."""
    names = set().union(*(part.facts for part in parts.values()))
    for name in names:
        values: dict[object, Value] = {}
        inside = next((part.facts[name].inside for part in parts.values() if name in part.facts), None)
        for digest, part in parts.items():
            fact = part.facts.get(name) or (NOT_THERE if inside in part.lists else None)
            if fact is not None:
                values.setdefault(fact.key, Value(fact)).nodes.extend(groups[digest])
        ordered = _joined(sorted(values.values(), key=lambda value: (-len(value.nodes), value.fact.text)))
        if len(ordered) > 1:
            yield name, ordered


def _joined(values: list[Value]) -> list[Value]:
    """Return the values with amounts that are nearly the same as one."""
    kept: list[Value] = []
    for value in values:
        near = next((each for each in kept if alike(each.fact.size, value.fact.size)), None)
        if near is None:
            kept.append(value)
        else:
            near.nodes += value.nodes
    return sorted(kept, key=lambda value: -len(value.nodes))


def alike(one: int | None, other: int | None) -> bool:
    """Return whether two amounts of bytes are the same but for what a kernel keeps for itself."""
    return one is not None and other is not None and abs(one - other) <= _ALIKE * max(one, other)


def _said(name: str, kind: Group, values: Sequence[Value], found: Difference) -> bool:
    """Add a fact that differs to what is said of it; return whether it only names the nodes."""
    known = sum(len(value.nodes) for value in values)
    most, others = values[0], values[1:]
    if (known - len(most.nodes)) * MINORITY <= known:
        found.drift += [
            Drift(
                fact=name,
                kind=kind.name,
                majority=most.fact.text,
                nodes=folded(value.nodes),
                count=len(value.nodes),
                value=value.fact.text,
                of=known,
            )
            for value in others
        ]
        return False
    if name == MODULES or (len(values) > _POPULATIONS and len(most.nodes) * 2 < known):
        return True  # of two makers of DIMMs none is meant
    populations = (Population(value=each.fact.text, nodes=folded(each.nodes), count=len(each.nodes)) for each in values)
    found.split.append(Split(fact=name, kind=kind.name, populations=tuple(populations)))
    return False


LEAST = 8
"""Nodes without which nothing is usual: of fewer the spread is not known."""
FAR = 5.0
"""How many times the spread, of a node that was measured once. Of ten thousand normal values one lies as far in three hundred
fleets; at 3.5 five lie in each. A node a tenth slow among nodes that spread by 1.5 % is 6.7 spreads away, give or take one."""
_ODD = 4
"""A quarter of the nodes at most may be odd and not widen the spread of the rest."""
FINEST = 0.005
"""Of the median: values that are rounded may all be equal, and then every other is infinitely far."""
_PRACTICAL = {"bytes/s": 0.05, "flop/s": 0.03, "seconds": 0.10}
"""A distance from the median that matters, by the unit; what has none of its own is judged as a bandwidth."""


@dataclass(frozen=True)
class Figure:
    """One number that was measured on a node."""

    name: str
    unit: str
    value: float
    spread: float = 0.0
    """Of its repeats, as a share: what the instrument cannot tell apart."""
    before: float | None = None
    """What the node had when it was measured before, and seemed slow."""


Figures = Mapping[str, Figure]
"""Name -> figure, of one node."""


def near(nodes: int) -> float:
    """Return how many times the spread a node has to be away in each of two measurements, beside so many others.

    >>> [round(near(nodes), 1) for nodes in (8, 80, 800, 8000, 80000)]
    [3.5, 4.0, 4.5, 5.0, 5.0]
    """
    return min(FAR, 3.5 + log10(nodes / LEAST) / 2)


def slow(kind: Group, measured: Mapping[str, Figures], settings: Mapping[str, str], *, first: bool = False) -> Iterator[Slow]:
    """Yield each figure of a node that is far worse than those of its kind; the worst first.

    ``settings`` are the nodes' settings that decide how fast they are, in words: a node is compared with those that are set up
    as it is. Where these are too few it is compared with all of its kind, and its settings may explain it. A node that was
    measured again has to be far in both measurements, and need not be as far. ``first`` yields what is worth measuring again:
    chance alone may still have made it.
    """
    figures: dict[str, dict[str, Figure]] = defaultdict(dict)
    for node in kind.nodes:
        for name, figure in measured.get(node, {}).items():
            figures[name][node] = figure
    found = [each for own in figures.values() for each in _of_one(kind.name, own, settings, first=first)]
    yield from sorted(found, key=lambda each: each.z)


def _of_one(kind: str, figures: Mapping[str, Figure], settings: Mapping[str, str], *, first: bool) -> Iterator[Slow]:
    """Yield who is slow in one figure."""
    alike: dict[str, list[str]] = defaultdict(list)
    for node in figures:
        alike[settings.get(node, "")].append(node)
    for setting, nodes in alike.items():
        if len(nodes) >= LEAST:
            yield from _far(kind, {node: figures[node] for node in nodes}, nodes, first=first)
        elif len(figures) >= LEAST and len(alike) > 1:
            others = {node: figure for node, figure in figures.items() if settings.get(node, "") != setting}
            for each in _far(kind, {**others, **{node: figures[node] for node in nodes}}, nodes, first=first):
                yield each.but(explained=setting)


def _far(kind: str, figures: Mapping[str, Figure], asked: Sequence[str], *, first: bool) -> Iterator[Slow]:
    if len(figures) < LEAST:
        return
    values = [figure.value for figure in figures.values()]
    middle, sample = median(values), next(iter(figures.values()))
    least = max(FINEST, median(each.spread for each in figures.values())) * abs(middle)
    scales = {times: max(spread_of(values, times), least) for times in (FAR, near(len(values)))}
    worse = 1 if sample.unit == "seconds" else -1
    for node in asked:
        figure = figures[node]
        looks = [figure.value] if figure.before is None else [figure.value, figure.before]
        times = near(len(values)) if first or len(looks) > 1 else FAR
        away, scale = [(look - middle) * worse for look in looks], scales[times]
        if scale > 0 and min(away) > max(times * scale, practical(sample.unit, middle)):
            yield Slow(
                figure=figure.name,
                node=node,
                value=figure.value,
                median=middle,
                z=round(-away[0] / scale, 1),
                kind=kind,
                unit=figure.unit,
                among=len(figures),
                again=len(looks) > 1,
            )


def practical(unit: str, middle: float) -> float:
    """Return how far from a median a figure of some unit has to be for it to matter."""
    return _PRACTICAL.get(unit, _PRACTICAL["bytes/s"]) * abs(middle)


def spread_of(values: Sequence[float], far: float = FAR) -> float:
    """Return the usual distance from the median, one that odd values do not move while they are a quarter at most.

    The values that are far from the rest are left out: as many as there are of which the nearest is beyond ``far`` times the
    spread of those nearer (Rosner, Percentage points for a generalized ESD many-outlier procedure, Technometrics 25, 1983;
    about the median, with a fixed distance in place of a level). Where nothing is odd that is the standard deviation, which
    knows more of a few values than the median of their distances does.

    >>> [round(spread_of([10, 10.1, 9.9, 10.2, 9.8, 10, 10.1, odd]), 2) for odd in (5, 9.9)]
    [0.14, 0.13]
    """
    middle = median(values)
    away = sorted(abs(value - middle) for value in values)
    squares = [0.0, *accumulate(each * each for each in away)]
    scales = [sqrt(squares[kept] / max(1, kept - 1)) for kept in range(len(away) + 1)]
    fewest = len(away) - len(away) // _ODD
    odd = (kept for kept in range(fewest, len(away)) if away[kept] > far * scales[kept])
    return scales[next(odd, len(away))]


@dataclass(frozen=True)
class Nodes:
    """What is known of the nodes of a fleet: equal nodes share their values."""

    folded: Mapping[str, Folded]
    judged: Mapping[str, tuple[Judged, ...]]
    measured: Mapping[str, Figures] = field(default_factory=dict)
    silent: tuple[Silent, ...] = ()
    odd: tuple[Odd, ...] = ()
    begun: str | None = None
    ended: str | None = None


Holding = Callable[[Nodes, Sequence[Group]], tuple[Nodes, list[Drift]]]
"""What holds nodes to something other than the rest of their kind: what is left to be judged, and in what they differ."""


def assemble(nodes: Nodes, exclude_from: Severity = "high", holding: Holding | None = None) -> Fleet:
    """Return the fleet on one screen; jobs are kept from nodes with an incident of this severity or worse."""
    kinds = group(nodes.folded)
    made = [differences(kind, nodes.folded) for kind in kinds]
    drift = [each for one in made for each in one.drift]
    if holding is not None:
        nodes, drift = holding(nodes, kinds)
    drift = sorted(drift, key=lambda each: (each.kind, -each.count))
    settings = {name: _setting(node) for name, node in nodes.folded.items()}
    wrong = tuple(sorted(_wrong(kinds, nodes.judged), key=lambda each: (SEVERITIES.index(each.severity), -each.count, each.rule)))
    late = tuple(each for kind in kinds for each in slow(kind, nodes.measured, settings))
    split = tuple(each for one in made for each in one.split) if holding is None else ()
    found = incidents(Told(wrong, nodes.judged, drift, split, late, nodes.silent, nodes.odd))
    return Fleet(
        asked=len(nodes.folded) + len(nodes.silent),
        answered=len(nodes.folded),
        silent=nodes.silent,
        kinds=tuple(
            Kind(name=kind.name, hardware=kind.hardware.text, nodes=folded(kind.nodes), count=len(kind.nodes)) for kind in kinds
        ),
        wrong=wrong,
        drift=tuple(drift),
        split=split,
        slow=late,
        same=tuple(one.same for one in made),
        odd=nodes.odd,
        begun=nodes.begun,
        ended=nodes.ended,
        incidents=found,
        exclude=kept_from(found, exclude_from),
    )


def suspected(nodes: Nodes) -> tuple[Slow, ...]:
    """Return who is worth measuring again: more than are slow."""
    settings = {name: _setting(node) for name, node in nodes.folded.items()}
    return tuple(each for kind in group(nodes.folded) for each in slow(kind, nodes.measured, settings, first=True))


def _setting(node: Folded) -> str:
    """Return the settings in words that decide how fast a node is; a slow node that is set up otherwise is explained by them."""
    facts = node.facts
    names = (PARTITIONING, "cpu.smt", "cpu.governors", "kernel.thp")
    return ", ".join(f"{name} {facts[name].text}" for name in names if name in facts)


def _wrong(kinds: Sequence[Group], judged: Mapping[str, tuple[Judged, ...]]) -> Iterator[Wrong]:
    """Yield each rule that found something, with its nodes of each kind."""
    for kind in kinds:
        found: dict[str, list[str]] = defaultdict(list)
        for node in kind.nodes:
            for each in judged.get(node, ()):
                if not found[each.rule] or found[each.rule][-1] != node:
                    found[each.rule].append(node)
        for rule, names in found.items():
            nodes = folded(names)
            told = next(each for node in (first_of(nodes), *names) for each in judged.get(node, ()) if each.rule == rule)
            yield Wrong(
                rule=rule,
                severity=told.severity,
                kind=kind.name,
                nodes=nodes,
                count=len(names),
                title=told.title,
                claim=told.claim,
                fix=told.fix,
                of=len(kind.nodes),
                bound=told.bound,
            )


def kept_from(found: Sequence[Incident], least: Severity) -> str:
    """Return the nodes that should get no jobs: those with an incident so severe that is not one of their whole kind, folded."""
    worst = SEVERITIES[: SEVERITIES.index(least) + 1]
    kept = {
        node
        for each in found
        if each.severity in worst and (each.action == "drain" or each.count * MINORITY <= each.of) and each.nodes
        for node in expanded(each.nodes)
    }
    return folded(kept)


def deviants(fleet: Fleet) -> frozenset[str]:
    """Return the nodes that are not as most of their kind: none of them says what a kind is."""
    sets = [
        *(each.nodes for each in fleet.drift),
        *(each.nodes for each in fleet.wrong if is_apart(each)),
        *(side.nodes for each in fleet.split for side in each.populations[1:]),
    ]
    named = {*(each.node for each in fleet.slow), *(each.node for each in fleet.odd if each.node)}
    return frozenset(named.union(*map(expanded, sets)))
