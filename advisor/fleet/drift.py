"""What differs inside a kind: a few nodes have drifted, two populations are asked about, what names nodes is counted."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from advisor.fleet.fold import Fact, Folded, Part, modules_text
from advisor.fleet.kinds import MINORITY, Group
from advisor.model.fleet import Drift, Population, Same, Split
from advisor.model.node_sets import folded

NOT_THERE: Final = Fact("not there", "not there")
_ALIKE: Final = 0.01
"""Amounts of bytes this near are the same: a kernel keeps another megabyte for itself at each start."""
_CAUSES: Final = ("numa.partitioning", "cpu.smt", "firmware.", "bios.", "kernel.", "hcas.", "gpus.", "memory.", "")
"""What a set of nodes is called by, the first where several facts differ."""
_POPULATIONS: Final = 4
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
        differing = dict(_differing(parts, groups)) if len(parts) > 1 else {}
        same += len(every) - len(differing)
        for name in sorted(differing, key=_importance):
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


def _importance(name: str) -> tuple[bool, int, str]:
    """Sort a cause before its consequences: where devices are near, and what is per NUMA node, follows the partitioning."""
    follows = "locality" in name or "hugepages" in name or name.endswith(".physical")
    return (follows, next(at for at, each in enumerate(_CAUSES) if name.startswith(each)), name)


def _differing(parts: Mapping[bytes, Part], groups: Mapping[bytes, list[str]]) -> Iterator[tuple[str, list[Value]]]:
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
    if len(values) > _POPULATIONS and len(most.nodes) * 2 < known:
        return True
    populations = (Population(value=each.fact.text, nodes=folded(each.nodes), count=len(each.nodes)) for each in values)
    found.split.append(Split(fact=name, kind=kind.name, populations=tuple(populations)))
    return False
