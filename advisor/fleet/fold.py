"""A Machine as a fleet sees it: its facts in words, without what names the node; what it is made of; the digest of a verdict."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from advisor.advice.model.sheets import Severity
from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import TOLD_ELSEWHERE, Section, Told, comparable, declarations
from advisor.machine.hardware import Bios, Dimm, Hca, Irq, Locality
from advisor.machine.machine import Machine, SlurmNode
from advisor.machine.partitioning import infer_layout
from advisor.machine.topology import Topology
from advisor.machine.units import binary, in_unit

PARTITIONING = "numa.partitioning"
_APART = tuple(section for section in TOLD_ELSEWHERE if section not in (Section.BIOS, Section.EVIDENCE))
"""Sections that say in many numbers what the layout says in a word."""
_ONE_IN = 128
"""The digest of a part takes bytes by their first seven binary digits."""
_HEX = "[0-9a-fA-F]"
_NAMING = "|".join((
    rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}",
    rf"(?<![0-9a-zA-Z])(?:{_HEX}{{2}}[:-]){{5,}}{_HEX}{{2}}",
    rf"enx{_HEX}{{12}}",
))  # fmt: skip
"""A UUID, a MAC or a GUID, an interface that is called by its MAC."""
_MAY_NAME = re.compile(rf"-{_HEX}{{4}}-{_HEX}{{4}}-|(?:[:-]{_HEX}{{2}}){{4}}|enx")
"""Without this there is none of them: seen at once, where to look for them takes milliseconds."""
OWN_NAME = re.compile(rf"{_NAMING}|(\d{{1,3}}\.){{3}}\d{{1,3}}")
"""What names a node where a boot option holds it (root=UUID=..., BOOTIF=..., ip=...): elsewhere four numbers are a version."""
_NAMING_ATTRIBUTE = re.compile(
    r"serial|service.?tag|asset|uuid|guid|mac.?addr|ww[np]n|ip(v[46])?.?addr|host.?name|iqn|initiator.?name", re.IGNORECASE
)
"""BIOS attributes that hold what names the node."""


def masked(text: str, host: str | None) -> str:
    """Return a text without what names a node: its host name, whole and short, as a word of its own; UUIDs, MACs, GUIDs.

    >>> masked("/nodes/cn01/root cn010 0c:42:a1:00:00:01 20.31.1014", "cn01.site")
    '/nodes/.../root cn010 ... 20.31.1014'
    """
    if _MAY_NAME.search(text):
        text = re.sub(_NAMING, "...", text)
    for name in (host, host.partition(".")[0]) if host else ():
        if name in text and not name.isdigit():
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", "...", text)
    return text


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


MODULES = "memory.dimms.parts"
"""The fact that says whose DIMMs a node has; its section, too."""


def fold(machine: Machine) -> Folded:
    """Return a machine as a fleet sees it."""
    sections: dict[str, dict[str, Fact]] = {"layout": dict(_layout(machine))}
    lists: dict[str, set[str]] = {}
    host, placed = machine.name, _places(machine)
    for name, declared in declarations(type(machine)).items():
        if isinstance(getattr(machine, name), tuple) and declared.section not in (*_APART, Section.EVIDENCE):
            lists.setdefault(_name(declared.section), set()).add(name)
    for told in comparable(machine, but=_APART):
        if _OF_MODULE.fullmatch(told.name) or told.declared.key or _ADDRESS.search(told.name):
            continue
        section = sections.setdefault(_name(told.section), {})
        if told.name == "kernel.cmdline":
            section.update(_options(machine))
            lists.setdefault(_name(told.section), set()).add(BOOT)
            continue
        if told.section is Section.BIOS:
            section.update(_attribute(told, host))
            continue
        element = told.elements[0] if told.elements else ""
        own = placed.get(element, element)
        name, outer = masked(own + told.name.removeprefix(element), host), told.name.partition(".")[0]
        section[name] = _fact(told, host)
        if element and outer in lists.get(_name(told.section), ()):
            section[masked(own, host)] = Fact("there", "there", inside=outer)
    if machine.bios is not None:
        sections.setdefault(_name(Section.BIOS), {}).update(_waiting(machine.bios))
    parts = {name: Part(_digest(facts), facts, frozenset(lists.get(name, ()))) for name, facts in sections.items()}
    return with_modules(Folded(hardware_of(machine), parts), modules_sold(machine))


_ADDRESS = re.compile(r"\.(address|upstream|bottleneck)$")
"""A card that was added moves the addresses of those behind it: where a device is, its locality says."""


def _places(machine: Machine) -> dict[str, str]:
    """Return what devices that are known by their addresses are called: by what they are, and their NUMA node.

    >>> cards = tuple(Gpu(address=f"0000:{bus}:00.0", locality=Locality(numa_nodes=(1,))) for bus in ("21", "41"))
    >>> _places(Machine(gpus=cards))
    {'gpus.0000:21:00.0': 'gpus.node1', 'gpus.0000:41:00.0': 'gpus.node1.1'}
    """
    devices: list[tuple[str, str, Locality | None]] = [
        *((f"pci.{each.address}", f"pci.{each.kind}.", each.locality) for each in machine.pci or ()),
        *((f"gpus.{each.address}", "gpus.", each.locality) for each in machine.gpus or ()),
    ]
    seen, named = Counter[str](), {}
    for element, prefix, locality in sorted(devices, key=itemgetter(0)):
        place = f"{prefix}node{','.join(map(str, locality.numa_nodes))}" if locality and locality.numa_nodes else f"{prefix}card"
        named[element] = f"{place}.{seen[place]}" if seen[place] else place
        seen[place] += 1
    return named


_OF_MODULE = re.compile(r"memory\.dimms\..*\.(maker|part)")


def modules_sold(machine: Machine) -> str | None:
    """Return whose DIMMs a machine has: equal nodes have those that were sold when they, or a part of them, were bought."""
    dimms = (machine.memory.dimms if machine.memory else None) or ()
    sold = Counter(" ".join(filter(None, (each.maker, each.part))) for each in dimms if each.size and (each.maker or each.part))
    return " + ".join(f"{count} x {what}" for what, count in sorted(sold.items(), key=lambda item: (-item[1], item[0]))) or None


def with_modules(node: Folded, sold: str | None) -> Folded:
    """Return a node with what ``modules_sold`` says of it."""
    if sold is None:
        return node
    return Folded(node.hardware, {**node.parts, MODULES: _part_of_modules(sold)})


@lru_cache(maxsize=1 << 16)
def _part_of_modules(sold: str) -> Part:
    facts = {MODULES: Fact(sold, sold)}
    return Part(_digest(facts), facts)


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
        if not _ONLY_NAMES.fullmatch(masked(OWN_NAME.sub("...", name), machine.name)):
            found.setdefault(name, []).append(masked(OWN_NAME.sub("...", value or ""), machine.name))
    for name, values in found.items():
        text = " ".join(values)
        yield f"{BOOT}.{name}", Fact(text, text or "given", inside=BOOT)


BOOT = "boot"
"""What boot options are facts of: one that a node does not have is not there."""
_ONLY_NAMES = re.compile(rf"\.\.\.|{_HEX}{{12}}|{_HEX}{{32}}")
"""A word that is nothing but the node's name, address or hardware address."""


_ATTRIBUTES = "bios.attributes."
_REGISTRY = "bios.registry"


def _attribute(told: Told, host: str | None) -> Iterator[tuple[str, Fact]]:
    """Yield a BIOS attribute by its own name; the menu's words for its value, and what waits for a restart, stand elsewhere."""
    if told.name.startswith(_ATTRIBUTES):
        name = told.name.removeprefix(_ATTRIBUTES)
        yield f"bios.{name}", Fact("...", "its own") if _NAMING_ATTRIBUTE.search(name) else _fact(told, host)
    elif told.name == _REGISTRY:
        yield told.name, _fact(told, host)


def _waiting(bios: Bios | None) -> Iterator[tuple[str, Fact]]:
    """Yield what the BIOS will set at the next restart, where that was read."""
    if bios is not None and bios.pending is not None:
        text = ", ".join(f"{name}={value}" for name, value in sorted(bios.changed().items()))
        yield "bios.pending", Fact(text, text or "nothing")


def _fact(told: Told, host: str | None) -> Fact:
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
        texts = tuple(masked(str(each), host) for each in value)
        return Fact(texts, ", ".join(texts) or "none")
    text = masked(str(value), host)
    return Fact(text, text)


def hardware_of(machine: Machine) -> Hardware:
    """Return what a machine is made of: neither BIOS version, nor microcode, nor kernel, nor setting."""
    firmware, cpu, memory = machine.firmware, machine.cpu, machine.memory
    processors = [each for each in (memory.processors if memory else None) or () if each.populated]
    model = (cpu.model_name if cpu else None) or next((each.model for each in processors if each.model), None)
    sold = firmware.sold if firmware else ""
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


CLASSES = ("DIMMs", "adapters", "GPUs")


def _counted(names: Sequence[str] | None) -> Modules:
    return None if names is None else tuple(sorted(Counter(names).items()))


def digest_of(machine: Machine, *, modules: bool = False) -> str:
    """Return the digest of what may change a verdict; ``modules``: whose DIMMs they are, too."""
    bare = essence(machine, modules=modules)
    text = bare.but(topology=None).model_dump_json()
    topology = bare.topology.model_dump_json() if bare.topology else ""
    return blake2b((masked(text, machine.name) + topology).encode(), digest_size=16).hexdigest()


def essence(machine: Machine, *, modules: bool = False) -> Machine:
    """Return a machine without what differs between equal nodes; it is no machine to be judged, only to be compared."""
    topology, kernel, memory, bios = machine.topology, machine.kernel, machine.memory, machine.bios
    update: dict[str, Any] = {"name": None, "allocation": None, "sources": (), "gaps": ()}
    if topology is not None:
        nodes = (node.but(memory=rounded(node.memory)) if node.memory else node for node in topology.nodes)
        update["topology"] = topology.but(nodes=tuple(nodes))
    if kernel is not None and kernel.cmdline is not None:
        options = ((name, value and OWN_NAME.sub("...", value)) for name, value in kernel.cmdline)
        update["kernel"] = kernel.but(cmdline=tuple(sorted(options, key=itemgetter(0))))
    if memory is not None and memory.dimms is not None and not modules:
        update["memory"] = memory.but(dimms=_without_makers(memory.dimms))
    if bios is not None and bios.attributes:
        own = {name: "..." for name in bios.attributes if _NAMING_ATTRIBUTE.search(name)}
        update["bios"] = bios.but(attributes={**bios.attributes, **own})
    if machine.limits is not None:
        update["limits"] = machine.limits.but(cgroup=None)
    if machine.hcas is not None:
        update["hcas"] = tuple(_adapter(hca, topology) for hca in machine.hcas)
    if machine.slurm_nodes is not None:
        update["slurm_nodes"] = tuple(_definition(each, topology) for each in machine.slurm_nodes)
    return machine.but(**update)


_NO_DRAM = ("HBM", "Logical", "Optane", "NVDIMM")
"""Kinds of modules that are no DIMMs of DRAM; rules look at these apart (advice/judge/case.py)."""


def socket_parts(dimms: Sequence[Dimm]) -> dict[int | None, tuple[str | None, ...]]:
    """Return the different part numbers of each socket's DIMMs, in their order."""
    parts: dict[int | None, dict[str | None, None]] = defaultdict(dict)
    for dimm in dimms:
        if dimm.size != 0 and not (dimm.kind or "").startswith(_NO_DRAM):
            parts[dimm.socket][dimm.part] = None
    return {socket: tuple(own) for socket, own in parts.items()}


def _without_makers(dimms: Sequence[Dimm]) -> tuple[Dimm, ...]:
    """Return DIMMs without makers, and of their parts how many different ones each socket has."""
    many, seen, bare = {socket: len(own) for socket, own in socket_parts(dimms).items()}, Counter[int | None](), []
    for dimm in dimms:
        part = dimm.part and str(min(seen[dimm.socket], many.get(dimm.socket, 1) - 1))
        if dimm.size != 0 and not (dimm.kind or "").startswith(_NO_DRAM):
            seen[dimm.socket] += 1
        else:
            part = dimm.part and "..."
        bare.append(dimm.but(maker=None, part=part))
    return tuple(bare)


def _adapter(hca: Hca, topology: Topology | None) -> Hca:
    """Return an adapter with as many interrupts, of which as many are far; their numbers, and what a daemon chose, change."""
    near = set(hca.locality.numa_nodes if hca.locality else ())
    local = CpuSet(cpu for node in topology.nodes if node.os_index in near for cpu in node.cpuset) if topology else CpuSet()
    far = sorted(0 if not (cpus := irq.effective or irq.cpus) else 1 if cpus & local else 2 for irq in hca.irqs or ())
    irqs = tuple(Irq(number=number, cpus=CpuSet([kind])) for number, kind in enumerate(far))
    ports = hca.ports and tuple(port.but(lid=port.lid and 1) for port in hca.ports)
    return hca.but(ports=ports, irqs=hca.irqs and irqs)


def _definition(defined: SlurmNode, topology: Topology | None) -> SlurmNode:
    if defined.memory is None or topology is None:
        return defined
    more = defined.memory > sum(node.memory or 0 for node in topology.nodes)
    return defined.but(memory=2 * rounded(defined.memory) + more)


@dataclass(frozen=True)
class Judged:
    """A finding of a node."""

    rule: str
    severity: Severity
    title: str
    claim: str
    fix: str
    topic: str = ""
    subject: str | None = None
    bound: float | None = None
    """The part of a node's work that is surely lost; None if there is no number."""
    facts: tuple[str, ...] = ()
    """The facts that it rests on."""
