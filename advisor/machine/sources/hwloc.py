"""The machine as hwloc sees it: `lstopo --of xml`, live or in a file (2.x and 3.x formats)."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar
from xml.etree.ElementTree import Element, ParseError

from advisor.errors import BadInput, BadValue, BadXml
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.hardware import (
    CoreKind,
    Cpu,
    Dimm,
    Firmware,
    Gpu,
    Hca,
    Link,
    Locality,
    Memory,
    MemoryTier,
    Nic,
    PciDevice,
    Port,
)
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Kernel, Limits, Machine, Source, merge
from advisor.machine.sources.cpu import Figures, arm_name, kinds_by_figures, ranked
from advisor.machine.sources.pci import AMD, COHERENT, GPU_MAKERS, kind_of, partition
from advisor.machine.sources.reader import (
    CAPTURE_HELP,
    MARK,
    FactSource,
    Reader,
    answer_view,
    invalid_names,
    own_words,
    part,
    shared_text,
)
from advisor.machine.sources.smbios import Board, clean, placed
from advisor.machine.topology import L3, Core, Die, Distances, NumaNode, Package, SharedL2, Topology
from advisor.machine.value import is_name, iso_date, number

MOST_OBJECTS = 200_000
MOST_TAGS = 600_000
MOST_ATTRIBUTES = 2_000_000
"""4,096 PUs with all their caches are 21,000 tags of 112,000 attributes; at these limits the tree takes 400 MiB."""
MOST_ENDLESS = 1000
MOST_MODULES = 1024
MOST_NODES = 1024
"""As in Linux, where CONFIG_NODES_SHIFT is 10 at most."""
DEEPEST = 64

_AGAIN = "write the XML again with lstopo"
_GIVE = "give an XML file written by lstopo --of xml"
_UNSAFE = "refused as unsafe"

Infos = dict[str, str]


@dataclass(frozen=True)
class Document:
    """An hwloc XML: its objects in document order, and each one's parent."""

    top: Element
    root: Element
    objects: tuple[Element, ...]
    parents: dict[int, Element]
    version: int

    def parent(self, element: Element) -> Element | None:
        """Return the object that holds the given one, or None for the machine."""
        return self.parents.get(id(element))

    def of_type(self, *types: str) -> tuple[Element, ...]:
        """Return the objects of the given types, in document order."""
        return tuple(element for element in self.objects if element.get("type") in types)

    def pci_parent(self, element: Element) -> Element | None:
        """Return the PCI device whose function an object is, None where it hangs off none."""
        parent = self.parent(element)
        return parent if parent is not None and parent.get("type") == "PCIDev" else None


def parse_document(data: bytes) -> Document:
    """Return the document, or raise BadXml with the reason it cannot be one."""
    top = _parse(data)
    if top.tag != "topology":
        raise BadXml(f"its first element is <{_word(top.tag)}>, not <topology>", cure=_GIVE)
    text = top.get("version", "1.0")
    major = number(text.split(".", maxsplit=1)[0])
    if major is None or major < 1:
        raise BadXml(f"version {_word(text)!r} is not a hwloc version", cure=_GIVE)
    if major == 1:
        raise BadXml("it is in the format of hwloc 1.x", cure="convert it: lstopo -i OLD.xml --of xml NEW.xml (hwloc 2.x)")
    if major > 3:
        raise BadXml(f"format {_word(text)} is newer than this program reads (2.x and 3.x)", cure="update advisor")
    version = major
    root = top.find("object")
    if root is None or root.get("type") != "Machine":
        raise BadXml("it contains no Machine object", cure=_GIVE)
    if root.get("cpuset") is None:
        raise BadXml("the Machine object has no cpuset", cure="write the XML again with lstopo 2.0 or newer")
    parents: dict[int, Element] = {}
    objects: list[Element] = []
    stack = [(root, 1)]
    while stack:
        element, depth = stack.pop()
        objects.append(element)
        if len(objects) > MOST_OBJECTS or depth > DEEPEST:
            raise BadXml("more objects or deeper nesting than any machine has", cure=_UNSAFE)
        for child in reversed(element.findall("object")):
            parents[id(child)] = element
            stack.append((child, depth + 1))
    return Document(top, root, tuple(objects), parents, version)


def _parse(data: bytes) -> Element:
    # Before they take many times the memory of the file: elements, attributes, and sets of a million CPUs in seven letters.
    if data.count(b"<") > MOST_TAGS or data.count(b"=") > MOST_ATTRIBUTES or data.count(b"f...f") > MOST_ENDLESS:
        raise BadXml("the XML has more elements than any real machine needs", cure=_UNSAFE)
    # Imported here: half the start-up time of a command that reads no XML.
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        element: Element = fromstring(data)
    except ParseError as error:
        line, column = error.position
        problem = f"not well-formed XML ({str(error).split(':')[0]})"
        raise BadXml(problem, place=f"line {line}, column {column}", cure=_AGAIN) from error
    except DefusedXmlException as error:
        raise BadXml("it declares entities, which no hwloc XML does", cure=_UNSAFE) from error
    except (ValueError, LookupError, RecursionError, MemoryError) as error:
        raise BadXml(f"unreadable XML ({type(error).__name__})", cure=_AGAIN) from error
    return element


def _infos(element: Element) -> Infos:
    """Return the name and value pairs that an object carries."""
    return {info.get("name", ""): info.get("value", "") for info in element.findall("info")}


def _set(element: Element | None, name: str = "cpuset") -> CpuSet | None:
    """Return a bitmap attribute of an object as a set, or None where it has none."""
    text = element.get(name) if element is not None else None
    if text is None or element is None:
        return None
    try:
        return CpuSet.from_mask(text)
    except BadValue as error:
        raise BadXml(f"{name}: {error.problem}", place=_place(element), cure=error.cure) from error


def _own(element: Element) -> CpuSet:
    return _set(element) or CpuSet()


def _whole_number(element: Element, name: str = "os_index") -> int | None:
    """Return a whole number attribute of an object, or None where it has none."""
    text = element.get(name)
    value = number(text)
    if text is not None and value is None:
        raise BadXml(
            f"{name}={_word(text)!r} is not a whole number", place=_place(element), cure="write the file again with lstopo"
        )
    return value


def _os_index(element: Element) -> int:
    """Return the kernel's number of a PU or a NUMA node, which has to have one."""
    index = _whole_number(element)
    if index is None or not 0 <= index < LIMIT:
        problem = "an object without os_index" if index is None else f"os_index {index} is out of range"
        raise BadXml(problem, place=_place(element), cure=_AGAIN)
    return index


def _place(element: Element) -> str:
    """Return words that find an object in its file."""
    named = [f"{key}={_word(element.get(key, ''))}" for key in ("os_index", "gp_index", "name") if element.get(key)]
    return " ".join([_word(element.get("type", "object")), *named])


def _word(text: str) -> str:
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return clean if len(clean) <= 40 else clean[:37] + "..."


_OSDEV = {2: {"2": "nic", "3": "hca"}, 3: {"16": "nic", "32": "hca", "48": "hca"}}
"""osdev_type is a number in 2.x files and a bit mask in 3.x ones (hwloc NEWS, 3.0)."""

_PORT_STATES = {1: "down", 2: "init", 3: "armed", 4: "active", 5: "active_defer"}
"""The numbers of ibv_port_state (rdma-core, verbs.h)."""

_PCI_TYPE = re.compile(r"([0-9a-fA-F]{4})(?:\s*\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\])?")
_BUSES = re.compile(r"([0-9a-fA-F]{4,8}):\[([0-9a-fA-F]{2})-", re.ASCII)
_RUNTIME = re.compile(r"(nvml|rsmi)(\d{1,4})", re.ASCII)
"""OS devices that stand for what a vendor's tool numbers: NVML's GPUs, ROCm SMI's GPUs or partitions of one."""
_IO = ("Bridge", "PCIDev", "OSDev", "Misc")


class _Devices(NamedTuple):
    """The devices of a file, and the CPUs of the nodes that own some."""

    document: Document
    homes: Mapping[int, CpuSet]

    def facts(self) -> Machine:
        """Return what is known of devices: nothing without one I/O object; what no kernel calls a device is a gap."""
        document = self.document
        if not document.of_type("PCIDev", "Bridge"):
            return Machine()
        kinds = _OSDEV[document.version]
        named = [(e.get("name", ""), e, kinds.get(e.get("osdev_type", ""))) for e in document.of_type("OSDev")]
        hcas = [self.hca(name, element) for name, element, kind in named if kind == "hca" and is_name(name)]
        nics = [
            Nic(name=name, address=_bus_id(document.pci_parent(element)), locality=self.locality(element))
            for name, element, kind in named
            if kind == "nic" and is_name(name)
        ]
        served = {hca.address for hca in hcas}
        elements = document.of_type("PCIDev")
        pci = {device.address: device for e in elements if (device := self.pci(e, served))}
        strange = [name for name, _, kind in named if kind and not is_name(name)]
        strange += [address for e in elements if (address := e.get("pci_busid", "")) and not is_name(address)]
        return Machine(
            pci=tuple(pci.values()),
            hcas=tuple({hca.name: hca for hca in hcas}.values()),
            nics=tuple({nic.name: nic for nic in nics if nic.address}.values()),
            gpus=self.gpus({address: device for address, device in pci.items() if device.kind == "gpu"}),
            gaps=invalid_names("devices", strange),
        )

    def locality(self, element: Element) -> Locality:
        """Return the nodes with CPUs that a device is near; memory alone (HBM, a GPU's) is no place for a rank."""
        holder = self.document.parent(element)
        while holder is not None and holder.get("type") in _IO:
            holder = self.document.parent(holder)
        found = tuple((_set(holder, "nodeset") or CpuSet()) & CpuSet(self.homes))
        cpus = _set(holder)
        fine = cpus and cpus < union(self.homes[node] for node in found)
        return Locality(numa_nodes=found, cpus=cpus if fine else None)

    def hca(self, name: str, element: Element) -> Hca:
        """Return an adapter."""
        infos = _infos(element)
        found = sorted(int(match[1]) for info in infos if (match := re.fullmatch(r"Port(\d{1,3})State", info, re.ASCII)))
        ports = tuple(
            Port(number=n, state=_PORT_STATES.get(number(infos[f"Port{n}State"]) or 0), lid=number(infos.get(f"Port{n}LID")))
            for n in found
        )
        address = _bus_id(self.document.pci_parent(element))
        return Hca(name=name, address=address, locality=self.locality(element), ports=ports or None)

    def pci(self, element: Element, served: set[str | None]) -> PciDevice | None:
        """Return a PCI device, None of one that nobody tunes; ``served`` are the addresses of adapters."""
        address = _bus_id(element)
        match = _PCI_TYPE.match(element.get("pci_type", ""))
        if not match or not address:
            return None
        class_code, vendor, device = int(match[1], 16) << 8, int(match[2] or "0", 16), int(match[3] or "0", 16)
        kind, infos = kind_of(class_code, vendor, device, fabric=address in served), _infos(element)
        if kind in ("bridge", "other"):
            return None
        return PciDevice(
            address=address,
            kind=kind,
            class_code=class_code,
            vendor=vendor,
            device=device,
            name=" ".join(filter(None, (infos.get("PCIVendor"), infos.get("PCIDevice")))) or None,
            locality=self.locality(element),
            upstream=self.upstream(element),
            link=_link(element.get("pci_link_speed", "0")),
        )

    def upstream(self, element: Element) -> tuple[str, ...] | None:
        """Return what is above a function as sysfs would name it: the host bridge, then the bridges below it."""
        found: list[str] = []
        holder = self.document.parent(element)
        while holder is not None and holder.get("type") == "Bridge":
            buses = _BUSES.match(holder.get("bridge_pci", ""))
            name = _bus_id(holder) or (f"pci{buses[1]}:{buses[2]}" if buses else None)
            found += [name.lower()] if name else []
            holder = self.document.parent(holder)
        return tuple(reversed(found)) or None

    def gpus(self, cards: Mapping[str, PciDevice]) -> tuple[Gpu, ...]:
        """Return the GPUs as the runtime shows them, in its order where the file has it, else by address."""
        numbers = self.numbers(cards)
        elements = self.document.of_type("PCIDev")
        gpus = [gpu for e in elements if (card := cards.get(e.get("pci_busid", ""))) for gpu in _gpu(e, card, numbers)]
        known = all(gpu.index is not None for gpu in gpus)
        order = sorted(gpus, key=lambda gpu: (gpu.index or 0 if known else 0, gpu.address))
        return tuple({gpu.address: gpu for gpu in order}.values())

    def numbers(self, cards: Mapping[str, PciDevice]) -> dict[str, list[int]]:
        """Return the runtime's numbers of the GPUs of each card.

        Partitions have PCI addresses that no bus shows (ROCm/rocm_smi_lib issue 208), so older hwloc hangs all but a card's first
        somewhere else: where they divide evenly over AMD's cards, they are placed in order, as the driver numbers them.
        """
        found: dict[str, list[int]] = defaultdict(list)
        rsmi: set[int] = set()
        for element in self.document.of_type("OSDev"):
            match = _RUNTIME.fullmatch(element.get("name", ""))
            if not match:
                continue
            if match[1] == "rsmi":
                rsmi.add(int(match[2]))
            owner = self.document.pci_parent(element)
            if owner is not None and (address := owner.get("pci_busid", "")) in cards:
                found[address].append(int(match[2]))
        ours = sorted(address for address, card in cards.items() if card.vendor == AMD)
        each, over = divmod(len(rsmi), len(ours) or 1)
        if ours and each > 1 and not over and sum(len(found.get(address, ())) for address in ours) < len(rsmi):
            order = sorted(rsmi)
            found |= {address: order[i * each : (i + 1) * each] for i, address in enumerate(ours)}
        return {address: sorted(set(numbers)) for address, numbers in found.items()}


def _bus_id(element: Element | None) -> str | None:
    """Return the PCI address of an object; None where it has none, or no such."""
    address = element.get("pci_busid", "") if element is not None else ""
    return address if is_name(address) else None


def _link(text: str) -> Link | None:
    # lstopo writes gigabytes a second one way, as the link runs now, and 0 where the kernel did not say.
    try:
        speed = float(text)
    except ValueError:
        return None
    return Link(bandwidth=int(speed * 1e9)) if 0 < speed < 1e6 else None


def _gpu(element: Element, card: PciDevice, numbers: Mapping[str, Sequence[int]]) -> Iterator[Gpu]:
    """Yield a card as one GPU, or as the partitions that the runtime numbers; these have no function of their own."""
    infos = _infos(element)
    for child in element.findall("object"):
        infos |= _infos(child)
    model = infos.get("GPUModel") or infos.get("PCIDevice")
    gpu = Gpu(address=card.address, vendor=GPU_MAKERS.get(card.vendor), model=model, locality=card.locality)
    own = numbers.get(card.address, ())
    if len(own) < 2:
        yield gpu.but(index=own[0] if own else None)
        return
    for position, index in enumerate(own):
        yield gpu.but(address=partition(card.address, position), card=card.address, index=index)


_KINDS = {
    "DRAM": "dram",
    "HBM": "hbm",
    "MCDRAM": "hbm",
    "NVM": "nvdimm",
    "NVDIMM": "nvdimm",
    "GPUMemory": "gpu",
    "CXL-DRAM": "cxl",
    "CXL": "cxl",
    "SPM": "hbm",
}
"""hwloc's subtype (or MemoryTier) of a NUMA node, in our words."""

_SIDE = "MemorySideCache"
"""hwloc's subtype of an L3 that is a cache of the memory behind it."""

_ALIKE = 1.25
"""Two nodes of one cpuset within this ratio of size and bandwidth are banks of one memory, not DRAM beside something else."""

_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)


def _topology(document: Document) -> Topology:
    """Return the topology of the whole machine, as far as the file shows it."""
    root = document.root
    pus = CpuSet(_os_index(pu) for pu in document.of_type("PU"))
    if not pus:
        raise BadXml("it contains no PU", cure="write the XML again with lstopo, without --filter")
    nodes = _nodes(document)
    numbers = CpuSet(node.os_index for node in nodes)
    packages = _sorted([Package(os_index=_whole_number(e), cpuset=_own(e)) for e in document.of_type("Package")])
    dies = _sorted([Die(os_index=_whole_number(e), cpuset=_own(e)) for e in document.of_type("Die")])
    cores = _sorted([Core(os_index=_whole_number(e), cpuset=_own(e)) for e in document.of_type("Core")])
    sockets, own = {package.cpuset for package in packages}, {core.cpuset for core in cores}
    # Files of hwloc 1.x and those converted show MCDRAM before a memory as an L3.
    l3 = [element for element in document.of_type("L3Cache") if element.get("subtype") != _SIDE]
    shared = [SharedL2(cpuset=_own(element)) for element in document.of_type("L2Cache")]
    caches = {level: sorted(str(_own(element)) for element in document.of_type(f"L{level}Cache")) for level in (1, 2)}
    wanted = sorted(str(core.cpuset) for core in cores)
    allowed, allowed_nodes = _set(root, "allowed_cpuset"), _set(root, "allowed_nodeset")
    return Topology(
        packages=packages,
        dies=tuple(die for die in dies if die.cpuset not in sockets),
        nodes=nodes,
        l3=_sorted([L3(cpuset=_own(element), size=_whole_number(element, "cache_size")) for element in l3]),
        shared_l2=_sorted([cache for cache in shared if len(cache.cpuset) > 1 and cache.cpuset not in own]),
        cores=cores,
        own_caches=tuple(level for level, sets in caches.items() if cores and sets == wanted),
        pus=pus,
        missing=(_set(root, "complete_cpuset") or pus) - pus,
        missing_nodes=(_set(root, "complete_nodeset") or numbers) - numbers,
        allowed=pus if allowed is None else allowed & pus,
        allowed_nodes=numbers if allowed_nodes is None else allowed_nodes & numbers,
        distances=_distances(document, numbers),
        numa_known=not (len(nodes) == 1 and not nodes[0].memory),
    )


def _sorted(things: Sequence[_Part]) -> tuple[_Part, ...]:
    return tuple(sorted(things, key=lambda thing: thing.cpuset.first if thing.cpuset.first is not None else LIMIT))


# hwloc keeps bandwidth in MiB/s and latency in ns; the best initiator's value is what the node offers (hwloc/memattrs.h).
_ATTRIBUTES: Mapping[str, tuple[str, float, Any]] = {
    "Bandwidth": ("read_bandwidth", 1 << 20, max),
    "Latency": ("read_latency", 1e-9, min),
    "ReadBandwidth": ("read_bandwidth", 1 << 20, max),
    "WriteBandwidth": ("write_bandwidth", 1 << 20, max),
    "ReadLatency": ("read_latency", 1e-9, min),
    "WriteLatency": ("write_latency", 1e-9, min),
}


def _memory_tiers(document: Document) -> tuple[MemoryTier, ...] | None:
    """Return each node's best bandwidth and latency where the file has memory attributes (HMAT), else None."""
    by_gp = {element.get("gp_index"): _os_index(element) for element in document.of_type("NUMANode")}
    facts: dict[int, dict[str, Any]] = defaultdict(dict)
    for attribute in document.top.findall("memattr"):
        name, scale, better = _ATTRIBUTES.get(attribute.get("name", ""), ("", 0, None))
        for value in attribute.findall("memattr_value") if name else ():
            node, amount = by_gp.get(value.get("target_obj_gp_index")), number(value.get("value"))
            if node is not None and amount is not None:
                facts[node][name] = better(facts[node].get(name, amount * scale), amount * scale)
    for element in document.of_type("NUMANode"):
        # A memory-side cache (Xeon Max and Knights Landing in cache mode) is the parent of the memory behind it.
        parent = document.parent(element)
        if parent is not None and parent.get("type") == "MemCache" and (size := _whole_number(parent, "cache_size")):
            facts[_os_index(element)]["cache"] = size
    for element in document.of_type("L3Cache"):
        if element.get("subtype") == _SIDE and (size := _whole_number(element, "cache_size")):
            for node in (_set(element, "nodeset") or CpuSet()) & CpuSet(by_gp.values()):
                facts[node].setdefault("cache", size)
    return tuple(MemoryTier(node=node, **facts[node]) for node in sorted(facts)) or None


def _nodes(document: Document) -> tuple[NumaNode, ...]:
    """Return the nodes by number. Each CPU is a node's own only once: other memory near it is memory alone."""
    elements = document.of_type("NUMANode")
    if len(elements) > MOST_NODES:
        raise BadXml(f"{len(elements)} NUMA nodes, more than the {MOST_NODES} that Linux supports", cure=_UNSAFE)
    shared = any(_is_coherent(element.get("pci_type", "")) for element in document.of_type("PCIDev"))
    sized = any(element.get("local_memory") for element in elements)
    nodes: list[NumaNode] = []
    for element in sorted(elements, key=_os_index):
        memory, near = _whole_number(element, "local_memory"), _own(element)
        kind = "gpu" if shared and any(node.near == near for node in nodes) else _KINDS.get(element.get("subtype", ""))
        # lstopo leaves the attribute out when it is 0, and also when nothing is known: other nodes' sizes tell which.
        size = 0 if memory is None and sized else memory
        nodes.append(NumaNode(os_index=_os_index(element), cpuset=near, near=near, memory=size, kind=kind))
    if len({node.os_index for node in nodes}) < len(nodes):
        raise BadXml("two NUMA nodes with the same number", cure=_AGAIN)
    owners: list[NumaNode] = []
    speed = {tier.node: tier.read_bandwidth or 0 for tier in _memory_tiers(document) or ()}
    # Who is asked first whether CPUs are its own: DRAM, the node of fewer CPUs, the lower number.
    for node in sorted(nodes, key=lambda node: (node.kind not in (None, "dram"), len(node.near), node.os_index)):
        if not node.near <= union(owner.near for owner in owners) or any(_alike(owner, node, speed) for owner in owners):
            owners.append(node)
    own = {node.os_index for node in owners}
    return tuple(node if node.os_index in own else node.but(cpuset=CpuSet()) for node in nodes)


def _is_coherent(pci_type: str) -> bool:
    """Return whether a PCI device is a GPU whose memory the kernel shows as NUMA nodes, beside those of a Grace."""
    match = re.fullmatch(r"03\d\d \[10de:([0-9a-f]{4})\].*", pci_type, re.ASCII | re.IGNORECASE)
    return match is not None and int(match[1], 16) in COHERENT


def _alike(one: NumaNode, other: NumaNode, speed: Mapping[int, float]) -> bool:
    if (one.near, one.kind) != (other.near, other.kind) or not one.memory or not other.memory:
        return False
    slow, fast = sorted(speed.get(node.os_index, 0) for node in (one, other))
    if slow and fast > _ALIKE * slow:  # HBM of the size of the DRAM
        return False
    return max(one.memory, other.memory) <= _ALIKE * min(one.memory, other.memory)


def _distances(document: Document, numbers: CpuSet) -> Distances | None:
    wanted = {"type": "NUMANode", "name": "NUMALatency", "indexing": "os"}
    tables = document.top.findall("distances2")
    table = next((table for table in tables if {"name": "NUMALatency", **table.attrib}.items() >= wanted.items()), None)
    if table is None:
        return None
    indexes, values = _values(table, "indexes"), _values(table, "u64values")
    n = len(indexes)
    if len(values) != n**2 or n > MOST_NODES:
        raise BadXml(f"distances for {n} nodes, but {len(values)} values", cure=_AGAIN)
    if not CpuSet(indexes) <= numbers:
        raise BadXml("distances name a NUMA node that does not exist", cure=_AGAIN)
    return Distances(nodes=indexes, rows=tuple(values[i * n : (i + 1) * n] for i in range(n)))


def _values(table: Element, tag: str) -> tuple[int, ...]:
    numbers = [number(word) for part in table.findall(tag) for word in (part.text or "").split()]
    good = tuple(value for value in numbers if value is not None and 0 <= value < 1 << 32)
    if len(good) < len(numbers):
        raise BadXml(f"<{tag}> of the distances contains a word that is not a number", cure=_AGAIN)
    return good


_CORE_TYPES = {"IntelCore": "P-core", "IntelAtom": "E-core"}


def _core_kinds(document: Document) -> tuple[CoreKind, ...] | None:
    """Return the kinds of cores, the fastest first; None where the file does not tell several apart."""
    named: dict[str, CpuSet] = defaultdict(CpuSet)
    sized: list[tuple[Figures, CpuSet]] = []
    for element in document.top.findall("cpukind"):
        infos, cpus = _infos(element), _own(element)
        name, figures = _CORE_TYPES.get(infos.get("CoreType", "")), _figures(infos)
        if name:
            named[name] |= cpus
        elif figures:
            sized.append((figures, cpus))
    kinds = ranked([(name, named[name]) for name in _CORE_TYPES.values() if name in named]) or kinds_by_figures(sized)
    return kinds if len(kinds) > 1 else None


def _figures(infos: Infos) -> Figures | None:
    """Return the kernel's capacity of a kind, or its clocks: highest and nominal."""
    capacity = number(infos.get("LinuxCapacity"))
    if capacity and capacity > 0:
        return f"core of capacity {capacity}", (capacity,)
    most, base = number(infos.get("FrequencyMaxMHz")), number(infos.get("FrequencyBaseMHz"))
    if not most or not base or min(most, base) <= 0:
        return None
    return f"core of up to {most / 1000:.1f} GHz", (most, base)


def _modules(document: Document) -> Memory | None:
    """Return the memory modules that the file lists: those present, by name, without speeds; None where it lists none."""
    found = [element for element in document.of_type("Misc") if element.get("subtype") == "MemoryModule"][:MOST_MODULES]
    infos = [{name: clean(value) for name, value in _infos(element).items()} for element in found]
    dimms = [
        Dimm(locator=locator, bank=each.get("BankLocation"), size=None, maker=each.get("Vendor"), part=each.get("PartNumber"))
        for each in infos
        if (locator := each.get("DeviceLocation"))
    ]
    return Memory(dimms=placed(dimms, Board())) if dimms else None


# --disallowed shows the part of the machine that a cgroup hides; hwloc 2.0 does not know the option.
LSTOPO = ("lstopo-no-graphics", "--disallowed", "--of", "xml", "-")
LSTOPO_PLAIN = ("lstopo-no-graphics", "--of", "xml", "-")


def collect(host: Host) -> Machine:
    """Return what lstopo says of the host, or the gap it leaves."""
    argv: tuple[str, ...] = LSTOPO
    answer = host.run(argv)
    if not answer.text and answer.why is None:
        argv, answer = LSTOPO_PLAIN, host.run(LSTOPO_PLAIN)
    if not answer.text:
        reader = Reader(host)
        reader.lacks("hwloc", *_absence(answer))
        return Machine(gaps=reader.gaps)
    if host.kind == "hwloc xml":
        return machine_from_xml(answer.out, host.name)
    try:
        return _named(part(host, _SHARED[argv]), own_words(answer.out), "lstopo")
    except BadInput:  # its place has to be that in the file
        return machine_from_xml(answer.out, "lstopo", "lstopo", alone=False)


def machine_from_xml(data: bytes, file: str, where: str = "hwloc XML", *, alone: bool = True) -> Machine:
    """Return the Machine that an hwloc XML describes: ``file`` is named in errors, ``where`` is the source of every fact.

    What firmware's own tables say better, the memory modules, is told only where the file is ``alone``.
    """
    return _named(_shape(data, file, alone=alone), (), where)


class Shape(NamedTuple):
    """What equal nodes share of an XML, and where their own words belong."""

    facts: Machine
    host: str
    lids: Mapping[tuple[str, int], str]
    memories: Mapping[int, str]


def _shared(argv: tuple[str, ...], host: Host) -> Shape:
    """Return what lstopo says of a host and of its like."""
    return _shape(answer_view(host, argv, shared_text), "lstopo", alone=False)


_SHARED: dict[tuple[str, ...], partial[Shape]] = {argv: partial(_shared, argv) for argv in (LSTOPO, LSTOPO_PLAIN)}


def _shape(data: bytes, file: str, *, alone: bool) -> Shape:
    """Return what an XML says but for the name of the host."""
    try:
        document = parse_document(data)
        infos = {**_infos(document.top), **_infos(document.root)}
        shown = _topology(document)
        facts = Machine(
            architecture=infos.get("Architecture"),
            topology=shown,
            tiers=_memory_tiers(document),
            cpu=_cpu(document),
            memory=_modules(document) if alone else None,
            firmware=_firmware(infos),
            kernel=Kernel(release=infos.get("OSRelease"), version=infos.get("OSVersion")) if "OSRelease" in infos else None,
            limits=Limits(cgroup=infos.get("LinuxCgroup")) if "LinuxCgroup" in infos else None,
        )
        devices = _Devices(document, {node.os_index: node.cpuset for node in shown.nodes if node.cpuset})
        facts = merge((facts, devices.facts()))
        named = {element.get("name", ""): _infos(element) for element in document.of_type("OSDev")}
        memories = {_os_index(element): element.get("own", "") for element in document.of_type("NUMANode")}
    except BadInput as error:
        raise error.within(file) from error
    ports = [(hca.name, port.number) for hca in facts.hcas or () for port in hca.ports or ()]
    lids = {(name, port): named.get(name, {}).get(f"Port{port}LID", "") for name, port in ports}
    return Shape(facts, infos.get("HostName", ""), lids, memories)


def _named(shape: Shape, words: tuple[str, ...], where: str) -> Machine:
    """Return the machine with a node's own words in their places."""
    own = {f"{MARK}{at}": word for at, word in enumerate(words)}
    host, facts = own.get(shape.host, shape.host), shape.facts
    update: dict[str, Any] = {"name": host if is_name(host) else None}
    if host not in ("", "(none)"):
        update["gaps"] = (*facts.gaps, *invalid_names("host", [host]))
    if own and facts.topology is not None:
        memories = {node: int(own[mark]) for node, mark in shape.memories.items() if mark in own}
        nodes = tuple(node.but(memory=memories.get(node.os_index, node.memory)) for node in facts.topology.nodes)
        update["topology"] = facts.topology.but(nodes=nodes)
        lids = {place: number(own[mark]) for place, mark in shape.lids.items() if mark in own}
        update["hcas"] = facts.hcas and tuple(_with_lids(hca, lids) for hca in facts.hcas)
    facts = facts.but(**update)
    known = [name for name in Machine.model_fields if name not in ("schema_version", "sources", "gaps")]
    sources = tuple(Source(fact=name, where=where) for name in known if getattr(facts, name) is not None)
    return facts.but(sources=sources)


def _with_lids(hca: Hca, lids: Mapping[tuple[str, int], int | None]) -> Hca:
    ports = hca.ports and tuple(port.but(lid=lids.get((hca.name, port.number), port.lid)) for port in hca.ports)
    return hca.but(ports=ports)


def _absence(answer: Ran) -> tuple[str, str]:
    """Return why lstopo said nothing, and what would help."""
    if answer.why is Why.NOT_KEPT:
        return "no lstopo output in this input", CAPTURE_HELP
    if answer.why is Why.ABSENT:
        return "lstopo is not installed; the topology is read from /sys alone", "install hwloc"
    reason = answer.why or f"status {answer.status}"
    return f"lstopo did not answer ({reason}); the topology is read from /sys alone", "run lstopo by hand to see the error"


def _cpu(document: Document) -> Cpu | None:
    """Return the kinds of cores and who the processor is, from the first that says it: a package, the machine, in 3.x the top."""
    carriers = [e for e in (*document.objects, document.top) if e.get("type", "Machine") in ("Package", "Machine")]
    infos = next((infos for e in carriers if {"CPUModel", "CPUVendor", "CPUImplementer"} & (infos := _infos(e)).keys()), None)
    kinds = _core_kinds(document)
    if infos is None:
        return Cpu(kinds=kinds) if kinds else None
    vendor = infos.get("CPUVendor") or infos.get("CPUImplementer")
    arm = arm_name(number(infos.get("CPUImplementer")), number(infos.get("CPUPart")))
    cpu = Cpu(
        vendor=vendor,
        model_name=" ".join(infos["CPUModel"].split()) if "CPUModel" in infos else arm,
        family=number(infos.get("CPUFamilyNumber")),
        model=number(infos.get("CPUModelNumber") or infos.get("CPUPart")),
        stepping=number(infos.get("CPUStepping")),
        kinds=kinds,
    )
    # hwloc gives the part of the first core alone: it is no name of a processor that has others.
    several_arm = kinds and (vendor or "").startswith("0x")
    return cpu.but(model_name=None, model=None) if several_arm else cpu


_FIRMWARE = {
    "system_vendor": "DMISysVendor",
    "product": "DMIProductName",
    "product_version": "DMIProductVersion",
    "board_vendor": "DMIBoardVendor",
    "board": "DMIBoardName",
    "bios_vendor": "DMIBIOSVendor",
    "bios_version": "DMIBIOSVersion",
    "cluster_mode": "ClusterMode",
    "memory_mode": "MemoryMode",
}


def _firmware(infos: Infos) -> Firmware | None:
    facts = {field: clean(infos[info]) for field, info in _FIRMWARE.items() if info in infos}
    return Firmware(**facts, bios_date=iso_date(infos.get("DMIBIOSDate"))) if facts else None


SOURCES = (
    FactSource(
        "hwloc",
        "The machine as hwloc sees it: `lstopo --of xml`, live or in a file (2.x and 3.x formats).",
        collect,
        commands=(LSTOPO, LSTOPO_PLAIN),
        rank=10,
    ),
)
