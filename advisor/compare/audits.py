"""Compares two audits: settings, topology, devices, facts, findings gained and lost."""

from advisor.compare.machines import devices, facts, identity
from advisor.compare.topology import renumbered, topology_changes
from advisor.model.audit.findings import Audit, Change, Difference, Finding, FindingChange, Row, cost_order
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Machine


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
    return (before.get(name) or after[name]).title


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
