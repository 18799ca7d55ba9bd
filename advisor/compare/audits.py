"""Compares two audited machines: settings, topology, devices, facts, findings gained and lost.

Parts are matched by name, so that order and an NPS change do not hide what is the same.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from advisor.compare.topology import renumbered, topology_changes
from advisor.language.sentences import written_value
from advisor.language.units import binary, bit_rate, clock, memory_clock
from advisor.model.audit.findings import Audit, Change, Difference, Finding, FindingChange, Row, cost_order
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Machine

_IDENTITY = ("name", "architecture", "firmware", "cpu.model_name", "cpu.microcode", "kernel.release", "kernel.os_name")
_DEVICES = ("hcas", "gpus", "nics", "pci")
_FACTS = ("cpu", "memory", "kernel", "limits", "environment", "tools", "slurm_nodes", "slurm_conf", "tiers", "dax")
_KEYS = ("name", "address", "locator", "source", "node", "number", "socket", "index")
"""By what parts of two lists are known to be the same part."""

_VOLATILE = (
    "schema_version", "sources", "gaps", "lid", "job", "hosts", "irqs", "cgroup", "affinity", "effective", "memory_nodes",
)  # fmt: skip
"""What differs between two looks at the same machine."""

_UNITS = (
    (("memory", "size", "min_free", "memlock", "stack", "page", "max_read_request", "cache"), lambda v: binary(int(v))),
    (("base_hz", "min_hz", "max_hz", "limit_hz"), clock),
    (("rate",), bit_rate),
    (("rated", "configured"), memory_clock),
)


def identity(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return in what the two are called or built differently."""
    return _changes(_chosen(a, _IDENTITY), _chosen(b, _IDENTITY))


def devices(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return what differs in adapters and accelerators, matched by name or address; a PCI device that is one of them once."""
    named = {hca.address for machine in (a, b) for hca in machine.hcas or ()}
    named |= {gpu.address for machine in (a, b) for gpu in machine.gpus or ()}
    hidden = {f"{section}.{address}" for section in ("pci", "nics") for address in named}
    hidden |= {f"nics.{nic.name}" for machine in (a, b) for nic in machine.nics or () if nic.address in named}
    every = _changes(_chosen(a, _DEVICES), _chosen(b, _DEVICES))
    return tuple(change for change in every if not _part(change.name, hidden) or _tells_link(change.name))


def _part(name: str, parts: set[str]) -> bool:
    return any(name.startswith(f"{part}.") for part in parts)


def _tells_link(name: str) -> bool:
    """Return whether a fact of a PCI device is one that the adapter on it does not repeat."""
    return name.rpartition(".")[0].rpartition(".")[2] in ("link", "card", "path")


def facts(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return every other fact that differs; one that only one side knows is no difference of the machines."""
    every = [change for change in _changes(_chosen(a, _FACTS), _chosen(b, _FACTS)) if change.name not in _IDENTITY]
    return tuple(change for change in every if change.before is not None and change.after is not None)


def _chosen(machine: Machine, names: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        value: Any = machine
        for part in name.split("."):
            value = getattr(value, part, None)
        found.update(_flat(name, value))
    return found


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every simple value under a dotted name; lists of things by their names: hcas.mlx5_0.firmware."""
    if value is None or name.rpartition(".")[2] in _VOLATILE:
        return
    if isinstance(value, BaseModel):
        for field in type(value).model_fields:
            yield from _flat(f"{name}.{field}", getattr(value, field))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for at, item in enumerate(value):
            yield from _flat(f"{name}.{_key(item, at)}", item)
    else:
        yield name, _written(name, value)


def _key(item: BaseModel, at: int) -> str:
    for key in _KEYS:
        value = getattr(item, key, None)
        if value is not None:
            return str(value)
    return str(at)


def _written(name: str, value: Any) -> str:
    last = name.rpartition(".")[2]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < 0:
            return "unlimited"
        for names, unit in _UNITS:
            if last in names:
                return str(unit(value))
    if last == "cmdline":
        return " ".join(key if word is None else f"{key}={word}" for key, word in value)
    return written_value(value) if not isinstance(value, CpuSet) else str(value)


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return what differs; of a part that one side lacks whole, the part alone."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    changes = [Change(name=name, title=_fact_title(name), before=before.get(name), after=after.get(name)) for name in names]
    return tuple(change for change in changes if not _of_absent_part(change, before, after))


_WORDS = {
    "locality.numa_nodes": "NUMA nodes",
    "locality.inferred": "place inferred",
    "locality.cpus": "nearest CPUs",
    "locality.one_of": "on one of them only",
    "ports.": "port ",
}


_HEAD = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[^.]+")
"""A PCI address, or any other name."""


def _fact_title(name: str) -> str:
    """Return a dotted name in words: mlx5_0 port 1 state."""
    section, _, rest = name.partition(".")
    text = rest if section in _DEVICES and rest else name
    for dotted, words in _WORDS.items():
        text = text.replace(dotted, words)
    head = _HEAD.match(text)
    if section not in _DEVICES or head is None:
        return text
    tail = text[head.end() :].replace(".", " ").replace("_", " ").strip()
    return f"{head[0]} {tail}".removesuffix(" name").strip()


def _of_absent_part(change: Change, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Return whether a fact belongs to a device that one side lacks, and is not the fact that names it."""
    lacking = after if change.after is None else before if change.before is None else None
    parts = change.name.split(".")
    if lacking is None or len(parts) < 3:
        return False
    part = ".".join(parts[:2])
    absent = not any(name.startswith(f"{part}.") for name in lacking)
    return absent and parts[-1] not in _KEYS


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
