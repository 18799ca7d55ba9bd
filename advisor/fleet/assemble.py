"""Puts a fleet's screen together: kinds, who is wrong, who drifted, who is slow, and what is the same."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.fleet.drift import differences
from advisor.fleet.fold import PARTITIONING, Folded
from advisor.fleet.kinds import MINORITY, Group, group
from advisor.fleet.slow import Figures, slow, suspects
from advisor.model.audit.rule import SEVERITIES, Severity
from advisor.model.fleet import Drift, Fleet, Kind, Odd, Silent, Slow, Wrong
from advisor.model.node_sets import expanded, first_of, folded


@dataclass(frozen=True)
class Judged:
    """A finding of a node, as a fleet tells it."""

    rule: str
    severity: Severity
    title: str
    claim: str
    fix: str


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


def assemble(nodes: Nodes) -> Fleet:
    """Return the fleet on one screen."""
    kinds = group(nodes.folded)
    made = [differences(kind, nodes.folded) for kind in kinds]
    drift = sorted((each for one in made for each in one.drift), key=lambda each: (each.kind, -each.count))
    settings = {name: _setting(node) for name, node in nodes.folded.items()}
    wrong = tuple(sorted(_wrong(kinds, nodes.judged), key=lambda each: (SEVERITIES.index(each.severity), -each.count, each.rule)))
    late = tuple(each for kind in kinds for each in slow(kind, nodes.measured, settings))
    return Fleet(
        asked=len(nodes.folded) + len(nodes.silent),
        answered=len(nodes.folded),
        silent=nodes.silent,
        kinds=tuple(
            Kind(name=kind.name, hardware=kind.hardware.text, nodes=folded(kind.nodes), count=len(kind.nodes)) for kind in kinds
        ),
        wrong=wrong,
        drift=tuple(drift),
        split=tuple(each for one in made for each in one.split),
        slow=late,
        same=tuple(one.same for one in made),
        odd=nodes.odd,
        begun=nodes.begun,
        ended=nodes.ended,
        exclude=folded({*_odd_ones(wrong, drift, late), *(each.node for each in nodes.silent)}),
    )


def suspected(nodes: Nodes) -> tuple[Slow, ...]:
    """Return who is worth measuring again: more than are slow."""
    settings = {name: _setting(node) for name, node in nodes.folded.items()}
    return tuple(each for kind in group(nodes.folded) for each in suspects(kind, nodes.measured, settings))


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
            )


def _odd_ones(wrong: Iterable[Wrong], drift: Iterable[Drift], late: Iterable[Slow]) -> Iterator[str]:
    """Yield the nodes that differ from the rest of their kind; what all have in common is no reason to leave them out."""
    for finding in wrong:
        if finding.count * MINORITY <= finding.of and finding.severity != "info":
            yield from expanded(finding.nodes)
    for each in drift:
        yield from expanded(each.nodes)
    yield from (each.node for each in late)
