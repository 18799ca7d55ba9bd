"""From what hwloc files say beside the topology: kinds of cores, memory modules."""

from collections import defaultdict
from typing import Final

from advisor.collect.dimm_slots import Board
from advisor.collect.hwloc_objects import Document, children_infos, cpuset
from advisor.collect.smbios import clean
from advisor.collect.socket_memory import placed
from advisor.model.cpu import CoreKind
from advisor.model.cpuset import CpuSet
from advisor.model.memory import Dimm, Memory
from advisor.model.units import number

_CORE_TYPES: Final = {"IntelCore": "P-core", "IntelAtom": "E-core"}
_APART: Final = 1.25
"""Kinds whose capacities are within this ratio are one: some cores of a kind clock a little higher than the others."""
MOST_MODULES: Final = 1024


def core_kinds(document: Document) -> tuple[CoreKind, ...] | None:
    """Return the kinds of cores, the fastest first; None where the file does not tell several apart."""
    named: dict[str, CpuSet] = defaultdict(CpuSet)
    sized: list[tuple[int, CpuSet]] = []
    for element in document.top.findall("cpukind"):
        infos, cpus = children_infos(element), cpuset(element, "cpuset") or CpuSet()
        name, capacity = _CORE_TYPES.get(infos.get("CoreType", "")), number(infos.get("LinuxCapacity"))
        if name:
            named[name] |= cpus
        elif capacity and capacity > 0:
            sized.append((capacity, cpus))
    kinds = [CoreKind(name=name, cpus=named[name]) for name in _CORE_TYPES.values() if name in named] or _by_capacity(sized)
    return tuple(kinds) if len(kinds) > 1 else None


def _by_capacity(sized: list[tuple[int, CpuSet]]) -> list[CoreKind]:
    groups: list[tuple[int, CpuSet]] = []
    for capacity, cpus in sorted(sized, key=lambda each: -each[0]):
        if groups and groups[-1][0] <= _APART * capacity:
            groups[-1] = groups[-1][0], groups[-1][1] | cpus
        else:
            groups.append((capacity, cpus))
    return [CoreKind(name=f"core of capacity {capacity}", cpus=cpus) for capacity, cpus in groups]


def modules(document: Document) -> Memory | None:
    """Return the memory modules that the file lists: those present, by name, without speeds; None where it lists none."""
    found = [element for element in document.of_type("Misc") if element.get("subtype") == "MemoryModule"][:MOST_MODULES]
    dimms = []
    for element in found:
        infos = {name: clean(value) for name, value in children_infos(element).items()}
        locator = infos.get("DeviceLocation")
        if locator:
            maker, part = infos.get("Vendor"), infos.get("PartNumber")
            dimms.append(Dimm(locator=locator, bank=infos.get("BankLocation"), size=None, maker=maker, part=part))
    return Memory(dimms=placed(dimms, Board())) if dimms else None
