"""A node as a fleet sees it: what it is made of, and its facts by sections, without what names it or changes by itself.

Facts of equal nodes are equal: sections are compared by their digests, and only those that differ are opened. What a fleet of
ten thousand costs is what differs in it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from advisor.language.units import binary, in_unit
from advisor.model.cpuset import CpuSet
from advisor.model.fact import TOLD_ELSEWHERE, Section, Told, comparable, declarations
from advisor.model.hardware.firmware import Bios
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.partitioning import infer_layout

PARTITIONING: Final = "numa.partitioning"
_APART: Final = tuple(section for section in TOLD_ELSEWHERE if section not in (Section.BIOS, Section.EVIDENCE))
"""Sections that say in many numbers what the layout says in a word."""
_ONE_IN: Final = 128
"""The digest of a part takes bytes by their first seven binary digits."""
OWN_NAME: Final = re.compile(
    r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|([0-9a-fA-F]{2}[:-]){5,}[0-9a-fA-F]{2}|(\d{1,3}\.){3}\d{1,3}"
)
"""A UUID, a MAC or a GUID, an address of the Internet, where a boot option holds one (root=UUID=..., BOOTIF=..., ip=...)."""


@dataclass(frozen=True)
class Fact:
    """A fact of a node: how it is compared, and how it is told."""

    key: object
    text: str
    size: int | None = None
    """Of an amount of bytes: nodes alike differ by what the firmware kept for itself."""
    inside: str | None = None
    """Of an element: the list that it is in; where the list is known without it, it is not there."""


@dataclass(frozen=True)
class Part:
    """Facts that are compared together, and their digest."""

    digest: bytes
    facts: Mapping[str, Fact]
    lists: frozenset[str] = frozenset()
    """The lists of this part of which every element is known."""


Modules = tuple[tuple[str, int], ...] | None
"""What there is of a class of modules, and how many; None where that is not known."""


@dataclass(frozen=True)
class Hardware:
    """What a node is made of: what never differs inside a kind, and the modules of which one may be missing."""

    base: tuple[str, ...]
    modules: tuple[tuple[str, Modules], ...]
    """Class -> what there is of it: processors, DIMMs, adapters, GPUs."""

    @property
    def text(self) -> str:
        """Return it in words."""
        return ", ".join(filter(None, (*self.base, *(modules_text(each) for _, each in self.modules if each))))


def modules_text(modules: Modules) -> str:
    """Return modules in words.

    >>> modules_text((("16 GiB DDR4", 16), ("32 GiB DDR4", 2))), modules_text(()), modules_text(None)
    ('16 x 16 GiB DDR4 + 2 x 32 GiB DDR4', 'none', 'not known')
    """
    if modules is None:
        return "not known"
    return " + ".join(f"{count} x {what}" for what, count in modules) or "none"


@dataclass(frozen=True)
class Folded:
    """A node without what names it."""

    hardware: Hardware
    parts: Mapping[str, Part]
    """Section -> its facts."""

    @property
    def facts(self) -> dict[str, Fact]:
        """Every fact by its name."""
        return {name: fact for part in self.parts.values() for name, fact in part.facts.items()}


def fold(machine: Machine) -> Folded:
    """Return a machine as a fleet sees it."""
    sections: dict[str, dict[str, Fact]] = {"layout": dict(_layout(machine))}
    lists: dict[str, set[str]] = {}
    for name, declared in declarations(type(machine)).items():
        if isinstance(getattr(machine, name), tuple) and declared.section not in (*_APART, Section.EVIDENCE):
            lists.setdefault(_name(declared.section), set()).add(name)
    for told in comparable(machine, but=_APART):
        section = sections.setdefault(_name(told.section), {})
        if told.name == "kernel.cmdline":
            section.update(_options(machine))
            continue
        if told.section is Section.BIOS:
            section.update(_attribute(told))
            continue
        section[told.name] = _fact(told)
        outer = told.name.partition(".")[0]
        if told.elements and outer in lists.get(_name(told.section), ()):
            section[told.elements[0]] = Fact("there", "there", inside=outer)
    if machine.bios is not None:
        sections.setdefault(_name(Section.BIOS), {}).update(_waiting(machine.bios))
    return Folded(
        hardware_of(machine),
        {name: Part(_digest(facts), facts, frozenset(lists.get(name, ()))) for name, facts in sections.items()},
    )


def _name(section: Section | None) -> str:
    return section.value if section else ""


def _digest(facts: Mapping[str, Fact]) -> bytes:
    told = repr([(name, fact.key) for name, fact in sorted(facts.items())])
    return blake2b(told.encode("utf-8", "backslashreplace"), digest_size=16).digest()


def _layout(machine: Machine) -> Iterator[tuple[str, Fact]]:
    """Yield what the firmware did, in the words of layouts; the topology itself is compared by nothing else."""
    layout, topology = infer_layout(machine), machine.topology
    told = {
        PARTITIONING: layout.cut.name,
        "cpu.numbering": f"{layout.numbering.name}, siblings {layout.numbering.siblings}",
        "cpu.smt": layout.smt.state,
        "numa.distances": layout.distances.name,
    }
    if topology is not None:
        told |= {
            "sockets": str(len(topology.packages)),
            "numa.nodes": str(len(topology.nodes)),
            "cores": str(len(topology.cores)),
            "cpus.offline": str(topology.missing),
            "l3.groups": str(len(topology.l3)),
        }
        yield from ((f"numa.memory.{node.os_index}", _amount(node.memory)) for node in topology.nodes if node.memory)
    yield from ((name, Fact(value, value or "none")) for name, value in told.items())


def _amount(size: int) -> Fact:
    return Fact(rounded(size), binary(size), size)


def rounded(size: int) -> int:
    """Return an amount of bytes by its first digits.

    >>> rounded(137438953472) == rounded(137433333333), rounded(0), rounded(-1)
    (True, 0, -1)
    """
    step = 1 << max(0, size.bit_length() - _ONE_IN.bit_length() + 1)
    return (size + step // 2) // step * step if size > 0 else size


def _options(machine: Machine) -> Iterator[tuple[str, Fact]]:
    """Yield the boot options by their names; what names the node in one is no difference."""
    found: dict[str, list[str]] = {}
    for name, value in (machine.kernel.cmdline if machine.kernel else None) or ():
        found.setdefault(name, []).append(OWN_NAME.sub("...", value or ""))
    yield from ((f"boot.{name}", Fact(" ".join(values), " ".join(values) or "given")) for name, values in found.items())


_ATTRIBUTES: Final = "bios.attributes."
_REGISTRY: Final = "bios.registry"


def _attribute(told: Told) -> Iterator[tuple[str, Fact]]:
    """Yield a BIOS attribute by its own name; the menu's words for its value, and what waits for a restart, stand elsewhere."""
    if told.name.startswith(_ATTRIBUTES):
        yield f"bios.{told.name.removeprefix(_ATTRIBUTES)}", _fact(told)
    elif told.name == _REGISTRY:
        yield told.name, _fact(told)


def _waiting(bios: Bios | None) -> Iterator[tuple[str, Fact]]:
    """Yield what the BIOS will set at the next restart, where that was read."""
    if bios is not None and bios.pending is not None:
        text = ", ".join(f"{name}={value}" for name, value in sorted(bios.changed().items()))
        yield "bios.pending", Fact(text, text or "nothing")


def _fact(told: Told) -> Fact:
    value, unit = told.value, told.declared.unit
    if isinstance(value, bool):
        return Fact(value, "yes" if value else "no")
    if isinstance(value, (int, float)):
        text = in_unit(value, unit) if unit else f"{value:g}"
        if unit and unit.name == "bytes" and isinstance(value, int):
            return Fact(rounded(value), text, value)
        return Fact(value, text)
    if isinstance(value, CpuSet):
        return Fact(str(value), str(value) or "none")
    if isinstance(value, (tuple, list)):
        texts = tuple(str(each) for each in value)
        return Fact(texts, ", ".join(texts) or "none")
    return Fact(str(value), str(value))


def hardware_of(machine: Machine) -> Hardware:
    """Return what a machine is made of: neither BIOS version, nor microcode, nor kernel, nor setting."""
    firmware, cpu, memory = machine.firmware, machine.cpu, machine.memory
    processors = [each for each in (memory.processors if memory else None) or () if each.populated]
    model = (cpu.model_name if cpu else None) or next((each.model for each in processors if each.model), None)
    sold = " ".join(filter(None, (firmware.system_vendor, firmware.product))) if firmware else ""
    if model is None and machine.topology is not None:  # nothing names it: what it looks like has to do
        sold = ", ".join(filter(None, (sold, f"{len(machine.topology.cores)} cores, {len(machine.topology.pus)} CPUs")))
    sockets = len(processors) or (len(machine.topology.packages) if machine.topology else 0)
    dimms = memory.dimms if memory else None
    own = None if dimms is None else [" ".join((binary(each.size), each.kind or "DIMM")) for each in dimms if each.size]
    hcas = None if machine.hcas is None else [" ".join(filter(None, (each.kind, "adapter"))) for each in machine.hcas]
    gpus = (
        None
        if machine.gpus is None
        else [each.model or f"{each.vendor or ''} GPU".strip() for each in machine.gpus if not each.card]
    )
    modules = {"sockets": [" ".join((model or machine.architecture or "processor").split())] * sockets}
    return Hardware(
        (sold,), tuple((name, _counted(each)) for name, each in (*modules.items(), *zip(CLASSES, (own, hcas, gpus), strict=True)))
    )


CLASSES: Final = ("DIMMs", "adapters", "GPUs")


def _counted(names: Sequence[str] | None) -> Modules:
    return None if names is None else tuple(sorted(Counter(names).items()))
