"""Puts the changed machine together, and writes down what in it was assumed and what is not known."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from advisor.change.around import Change, around, gap
from advisor.change.distances import usual
from advisor.change.seats import Seats
from advisor.change.target import Target
from advisor.model.hardware.cpu import Scheme
from advisor.model.hardware.firmware import Bios
from advisor.model.hardware.machine import Gap, Machine, Source
from advisor.model.hardware.topology import Topology

Note = tuple[str, str]
"""A fact, and what was assumed of it."""


def notes_of(machine: Machine, seats: Seats, target: Target, after: Topology) -> Iterator[Note]:
    """Yield what was assumed of a new cut."""
    if target.doubt:
        yield "topology.nodes", target.doubt
    if len(after.cpu_nodes) > len(seats.nodes) or target.l3_as_node:
        yield "topology.nodes", _MADE.get(target.scheme, _CLUSTERS)
        if any(node.memory is None for node in after.cpu_nodes):
            yield "topology.nodes.memory", "channels are empty or a size is not told, so the share of each node is not known"
        else:
            yield "topology.nodes.memory", "the memory is split evenly"
    if after.distances is None and len(after.nodes) > 1:
        yield "topology.distances", "the firmware's distances of the new nodes are not known"
    elif len(after.nodes) > 1:
        seen = usual(target, machine.cpu.model if machine.cpu else None).seen
        alone = "" if len(after.cpu_nodes) == len(after.nodes) else "; those of memory without CPUs are not known"
        yield "topology.distances", f"those shown now where they are of the same kind, else {seen}{alone}"


_EPYC = "each node is a run of L3 groups in the order of the core numbers, as NPS4 is on real EPYC 7002"
_CLUSTERS = "each cluster is a run of cores in the order of their numbers; on some dies the clusters take turns"
_MADE = {Scheme.NPS: _EPYC, Scheme.DIES: "each node is a die: two L3 groups in the order of the core numbers"}


def assembled(machine: Machine, change: Change, notes: Iterable[Note], text: str, attributes: frozenset[str] | None) -> Machine:
    """Return the machine after the change; sources and gaps say what was not read."""
    updates: dict[str, Any] = {"topology": change.after}
    gaps = [gap(fact, why) for fact, why in notes]
    for field, value, told in around(machine, change):
        updates[field] = value
        gaps += told
    if machine.bios is not None:
        updates["bios"] = _bios(machine.bios, attributes)
        gaps.append(gap("bios", "the attributes that hold these settings are left out"))
    changed = {fact: value for field in updates for fact, value in _differing(field, getattr(machine, field), updates[field])}
    updates["sources"] = tuple(_sources(machine.sources, changed, f"assumed: {text}"))
    updates["gaps"] = (*_still(machine.gaps, gaps), *gaps)
    return machine.model_copy(update=updates)


def _bios(bios: Bios, attributes: frozenset[str] | None) -> Bios | None:
    if attributes is None:
        return None
    left = {name: value for name, value in bios.attributes.items() if name not in attributes}
    waits = bios.pending and {name: value for name, value in bios.pending.items() if name not in attributes}
    return bios.model_copy(update={"attributes": left, "pending": waits})


def _differing(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any]]:
    """Yield the facts that differ: a section that went, or its fields; lists of devices by what changed in any of them."""
    if old == new:
        return
    if isinstance(old, BaseModel) and isinstance(new, BaseModel) and name != "topology":
        for field in type(old).model_fields:
            if getattr(old, field) != getattr(new, field):
                yield f"{name}.{field}", getattr(new, field)
    elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        for a, b in zip(old, new, strict=True):
            yield from _differing(name, a, b)
    else:
        yield name, new


def _sources(sources: tuple[Source, ...], changed: dict[str, Any], told: str) -> Iterator[Source]:
    """Yield where every fact comes from now: the input, or the assumption."""
    for source in sources:
        if not any(source.fact == fact or source.fact.startswith(f"{fact}.") for fact in changed):
            yield source
    for fact, value in changed.items():
        if value is not None or fact.startswith(("hcas", "nics", "gpus", "pci")):
            yield Source(fact=fact, where=told)


def _still(gaps: tuple[Gap, ...], new: list[Gap]) -> Iterator[Gap]:
    """Yield the gaps that were there before and are not told anew."""
    facts = {each.fact for each in new}
    return (each for each in gaps if each.fact not in facts)
