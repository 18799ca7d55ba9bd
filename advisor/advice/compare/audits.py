"""Compares two audited machines: settings, topology, devices, facts, findings gained and lost.

Parts are matched by name, so that order and an NPS change do not hide what is the same.
"""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple, Self

from advisor.advice.compare.topology import renumbered, topology_changes
from advisor.advice.language.sentences import written_value
from advisor.advice.model.findings import Audit, Change, Difference, Finding, FindingChange, Row, cost_order
from advisor.machine.fact import HARDWARE, TOLD_ELSEWHERE, Section, Told, comparable
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import in_unit

Known = Mapping[str, Told]
"""The facts of a machine by their names."""


def identity(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return in what the two are made differently."""
    return _changes(_known(a, HARDWARE), _known(b, HARDWARE))


def devices(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return what differs in adapters and accelerators, matched by name or address; a PCI device that is one of them once."""
    named = {hca.address for machine in (a, b) for hca in machine.hcas or ()}
    named |= {gpu.address for machine in (a, b) for gpu in machine.gpus or ()}
    hidden = {f"{section}.{address}" for section in ("pci", "nics") for address in named}
    hidden |= {f"nics.{nic.name}" for machine in (a, b) for nic in machine.nics or () if nic.address in named}
    every = _changes(_known(a, (Section.DEVICES,)), _known(b, (Section.DEVICES,)))
    return tuple(change for change in every if not _part(change.name, hidden) or _tells_link(change.name))


def _part(name: str, parts: set[str]) -> bool:
    return any(name.startswith(f"{part}.") for part in parts)


def _tells_link(name: str) -> bool:
    """Return whether a fact of a PCI device is one that the adapter on it does not repeat."""
    return name.rpartition(".")[0].rpartition(".")[2] in ("link", "card", "path")


def facts(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return every other fact that differs; one that only one side knows is no difference of the machines."""
    others = tuple(each for each in Section if each not in (*HARDWARE, Section.DEVICES, *TOLD_ELSEWHERE))
    every = _changes(_known(a, others), _known(b, others))
    return tuple(change for change in every if None not in (change.before, change.after))


def _known(machine: Machine, sections: Collection[Section]) -> Known:
    return {fact.name: fact for fact in comparable(machine, but=tuple(TOLD_ELSEWHERE)) if fact.section in sections}


def _written(fact: Told | None) -> str | None:
    """Return a fact in words; None where it is not known."""
    if fact is None:
        return None
    value, unit = fact.value, fact.declared.unit
    if unit is not None:
        return ", ".join(in_unit(each, unit) for each in (value if isinstance(value, tuple) else (value,))) or "none"
    if isinstance(value, tuple) and value and all(isinstance(each, tuple) for each in value):  # boot options, as they were typed
        return " ".join(map(written_value, ((each,) for each in value)))
    return written_value(value)


def _changes(before: Known, after: Known) -> tuple[Change, ...]:
    """Return what differs; of an element of a list that one side lacks whole, what names it alone."""
    sides = _Parts.of(before), _Parts.of(after)
    result = []
    for name, fact in {**before, **after}.items():
        mine, other = _written(before.get(name)), _written(after.get(name))
        lone = next((element for element in fact.elements if any(element not in side.elements for side in sides)), None)
        told = lone is None or (fact.declared.key and lone == fact.elements[-1])
        emptied = fact.value == () and all(name in side.lists for side in sides)  # its elements say so
        if mine != other and told and not emptied:
            absent = (mine is None or other is None) and sides[mine is not None].lacks(fact)
            result.append(Change(name=name, title=_fact_title(fact), before=mine, after=other, absent=absent))
    return tuple(result)


class _Parts(NamedTuple):
    """The elements of lists and tables that one side has, and the lists and tables that were read there."""

    elements: frozenset[str]
    lists: frozenset[str]

    @classmethod
    def of(cls, known: Known) -> Self:
        """Return those of a machine's facts."""
        inside = [pair for fact in known.values() for pair in fact.inside]
        empty = (name for name, fact in known.items() if fact.value == ())
        return cls(frozenset(element for _, element in inside), frozenset((*(name for name, _ in inside), *empty)))

    def lacks(self, fact: Told) -> bool:
        """Return whether what a fact belongs to is known not to be there: its list was read, and has no such element."""
        return next((name in self.lists for name, element in fact.inside if element not in self.elements), False)


_WORDS = {
    "locality.numa_nodes": "NUMA nodes",
    "locality.inferred": "place inferred",
    "locality.cpus": "nearest CPUs",
    "locality.one_of": "on one of them only",
    "ports.": "port ",
}


_HEAD = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[^.]+")
"""A PCI address, or any other name."""


def _fact_title(fact: Told) -> str:
    """Return a dotted name in words: mlx5_0 port 1 state; what names an element of a list is called as the element is."""
    name = fact.elements[-1] if fact.declared.key else fact.name
    if fact.section != Section.DEVICES:
        return _in_words(name)
    text = _in_words(name.partition(".")[2] or name)
    head = _HEAD.match(text)
    tail = text[head.end() :].replace(".", " ").replace("_", " ").strip() if head else ""
    return f"{head[0] if head else text} {tail}".strip()


def _in_words(text: str) -> str:
    for dotted, words in _WORDS.items():
        text = text.replace(dotted, words)
    return text


def difference(
    names: tuple[str, str], machines: tuple[Machine, Machine], layouts: tuple[Layout, Layout], audits: tuple[Audit, Audit]
) -> Difference:
    """Return everything in which two audited machines differ."""
    a, b = machines
    return Difference(
        before=names[0],
        after=names[1],
        identity=identity(a, b),
        settings=_settings(audits[0], audits[1]),
        topology=topology_changes(a.topology, b.topology, *layouts),
        renumbered=renumbered(a.topology, b.topology),
        devices=devices(a, b),
        facts=facts(a, b),
        gained=_only_first(audits[1], audits[0]),
        lost=_only_first(audits[0], audits[1]),
    )


def _settings(a: Audit, b: Audit) -> tuple[Change, ...]:
    before, after = ({row.name: row for row in audit.settings} for audit in (a, b))
    names = dict.fromkeys((*before, *after))
    return tuple(
        Change(name=name, title=_title(before, after, name), before=_current(before, name), after=_current(after, name))
        for name in names
        if _current(before, name) != _current(after, name)
    )


def _title(before: dict[str, Row], after: dict[str, Row], name: str) -> str:
    return (before.get(name) or after[name]).heading


def _current(rows: dict[str, Row], name: str) -> str | None:
    return rows[name].current if name in rows else None


def _only_first(one: Audit, other: Audit) -> tuple[FindingChange, ...]:
    """Return the findings of one audit that the other has not, with what it says instead."""
    elsewhere = {_who(f): f.verdict for f in other.findings}
    missing = [f for f in sorted(one.findings, key=cost_order) if f.verdict == "finding" and elsewhere.get(_who(f)) != "finding"]
    rules = {f.id: f.verdict for f in other.findings}
    return tuple(
        FindingChange(
            id=f.id,
            subject=f.subject,
            severity=f.severity,
            claim=f.claim,
            now=elsewhere.get(_who(f)) or rules.get(f.id) or "no such rule",
        )
        for f in missing
    )


def _who(finding: Finding) -> tuple[str, str | None]:
    return finding.id, finding.subject
