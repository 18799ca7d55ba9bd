"""From what hwloc files say beside the topology: kinds of cores, memory modules."""

from collections import defaultdict
from typing import Final

from advisor.collect.dimm_slots import Board
from advisor.collect.hwloc_objects import Document, Infos, children_infos, cpuset
from advisor.collect.smbios import clean
from advisor.collect.socket_memory import placed
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.cpu import CoreKind
from advisor.model.hardware.memory import Dimm, Memory
from advisor.model.quantity import number

_CORE_TYPES: Final = {"IntelCore": "P-core", "IntelAtom": "E-core"}
_APART: Final = 1.25
"""Kinds are one where no figure of theirs differs by more: some cores of a kind clock a little higher than the others."""
MOST_MODULES: Final = 1024

_Figures = tuple[str, tuple[int, ...]]
"""What a kind is called, and the figures that tell it from others."""


def core_kinds(document: Document) -> tuple[CoreKind, ...] | None:
    """Return the kinds of cores, the fastest first; None where the file does not tell several apart."""
    named: dict[str, CpuSet] = defaultdict(CpuSet)
    sized: list[tuple[_Figures, CpuSet]] = []
    for element in document.top.findall("cpukind"):
        infos, cpus = children_infos(element), cpuset(element, "cpuset") or CpuSet()
        name, figures = _CORE_TYPES.get(infos.get("CoreType", "")), _figures(infos)
        if name:
            named[name] |= cpus
        elif figures:
            sized.append((figures, cpus))
    kinds = [CoreKind(name=name, cpus=named[name]) for name in _CORE_TYPES.values() if name in named] or _by_figures(sized)
    return tuple(kinds) if len(kinds) > 1 else None


def _figures(infos: Infos) -> _Figures | None:
    """Return the kernel's capacity of a kind, or its clocks: highest and nominal."""
    capacity = number(infos.get("LinuxCapacity"))
    if capacity and capacity > 0:
        return f"core of capacity {capacity}", (capacity,)
    most, base = number(infos.get("FrequencyMaxMHz")), number(infos.get("FrequencyBaseMHz"))
    if not most or not base or min(most, base) <= 0:
        return None
    return f"core of up to {most / 1000:.1f} GHz", (most, base)


def _by_figures(sized: list[tuple[_Figures, CpuSet]]) -> list[CoreKind]:
    groups: list[tuple[_Figures, CpuSet]] = []
    for figures, cpus in sorted(sized, key=lambda each: each[0][1], reverse=True):
        if groups and _alike(groups[-1][0][1], figures[1]):
            groups[-1] = groups[-1][0], groups[-1][1] | cpus
        else:
            groups.append((figures, cpus))
    return [CoreKind(name=figures[0], cpus=cpus) for figures, cpus in groups]


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether kinds are one: of several figures all must differ, a server's cores differ in one by a setting."""
    return len(one) != len(other) or any(a <= _APART * b for a, b in zip(one, other, strict=True))


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
