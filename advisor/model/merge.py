"""Joins what several sources said of one machine: the first source that knows a fact wins."""

from functools import reduce
from typing import Any, TypeVar

from advisor.model.devices import Gpu, Hca, Link, Locality, Nic, PciDevice
from advisor.model.evidence import Gap, Source
from advisor.model.machine import Machine
from advisor.model.software import SlurmNode, Tool
from advisor.model.tiers import DaxDevice, MemoryTier
from advisor.model.topology import Topology
from advisor.model.value import Value

_KEY: dict[type[Value], str] = {
    PciDevice: "address",
    Hca: "name",
    Nic: "name",
    Gpu: "address",
    MemoryTier: "node",
    DaxDevice: "name",
    Tool: "name",
    SlurmNode: "source",
    Source: "fact",
}
"""By what two sources' records of the same thing are known to be the same."""

V = TypeVar("V", bound=Value)

_WHOLE = (Topology, Locality, Link)
"""Values that come from one source whole: halves of two topologies would be a machine that does not exist."""


def merge(parts: tuple[Machine, ...]) -> Machine:
    """Return the machine that the parts describe together; an earlier part's word counts more."""
    whole = reduce(_join, parts, Machine())
    return whole.model_copy(update={"gaps": tuple(gap for gap in whole.gaps if not known(whole, gap.fact))})


def known(machine: Machine, fact: str) -> bool:
    """Return whether a dotted fact (``memory.dimms``) of the machine is known."""
    value: Any = machine
    for name in fact.split("."):
        value = getattr(value, name, None)
        if value is None:
            return False
    return True


def _join(first: V, second: V) -> V:
    update = {
        name: _choose(getattr(first, name), getattr(second, name))
        for name in type(first).model_fields
        if getattr(second, name) is not None
    }
    return first.model_copy(update=update)


def _choose(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, Value) and not isinstance(first, _WHOLE) and type(first) is type(second):
        return _join(first, second)
    if isinstance(first, tuple) and isinstance(second, tuple):
        return _join_records(first, second)
    return first


def _join_records(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    sample: Any = next(iter(first or second), None)
    if isinstance(sample, Gap):
        return tuple(dict.fromkeys((*first, *second)))
    key = _KEY.get(type(sample)) if isinstance(sample, Value) else None
    if key is None:
        return first
    records = {getattr(record, key): record for record in first}
    for record in second:
        name = getattr(record, key)
        records[name] = _join(records[name], record) if name in records else record
    return tuple(records.values())
