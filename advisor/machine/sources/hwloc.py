"""The machine as hwloc sees it: `lstopo --of xml`, live or in a file (2.x and 3.x formats)."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from xml.etree.ElementTree import Element, ParseError

from advisor.errors import BadInput, BadValue, BadXml
from advisor.machine.cpu import CoreKind, Cpu
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.devices import Gpu, Hca, Link, Locality, Nic, PciDevice, Port
from advisor.machine.firmware import Firmware
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Machine, Source
from advisor.machine.memory import Dimm, Memory, MemoryTier
from advisor.machine.operating_system import Kernel, Limits
from advisor.machine.sources.cpu import arm_name
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

__all__ = ["Document", "Element", "Infos", "children_infos", "cpuset", "os_index", "parse_document", "place", "whole_number"]

MOST_OBJECTS = 200_000
MOST_TAGS = 600_000
MOST_ATTRIBUTES = 2_000_000
"""4,096 PUs with all their caches are 21,000 tags of 112,000 attributes; at these limits the tree takes 400 MiB."""
MOST_ENDLESS = 1000
DEEPEST = 64

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


def parse_document(data: bytes, where: str) -> Document:
    """Return the document, or raise BadXml with the reason it cannot be one."""
    top = _parse(data, where)
    if top.tag != "topology":
        raise BadXml(
            f"its first element is <{_word(top.tag)}>, not <topology>", file=where, cure="give an XML written by lstopo --of xml"
        )
    version = _version(top, where)
    root = top.find("object")
    if root is None or root.get("type") != "Machine":
        raise BadXml("no Machine object in it", file=where, cure="give an XML written by lstopo --of xml")
    if root.get("cpuset") is None:
        raise BadXml("the Machine object has no cpuset", file=where, cure="write it again with lstopo 2.0 or newer")
    parents: dict[int, Element] = {}
    objects = tuple(_walk(root, parents, where))
    return Document(top, root, objects, parents, version)


def children_infos(element: Element) -> Infos:
    """Return the name and value pairs that an object carries."""
    return {info.get("name", ""): info.get("value", "") for info in element.findall("info")}


def cpuset(element: Element, name: str) -> CpuSet | None:
    """Return a bitmap attribute of an object as a set, or None where it has none."""
    text = element.get(name)
    if text is None:
        return None
    try:
        return CpuSet.from_mask(text)
    except BadValue as error:
        raise BadXml(f"{name}: {error.problem}", place=place(element), cure=error.cure) from error


def whole_number(element: Element, name: str) -> int | None:
    """Return a whole number attribute of an object, or None where it has none."""
    text = element.get(name)
    value = number(text)
    if text is not None and value is None:
        raise BadXml(
            f"{name}={_word(text)!r} is not a whole number", place=place(element), cure="write the file again with lstopo"
        )
    return value


def os_index(element: Element) -> int:
    """Return the kernel's number of a PU or a NUMA node, which has to have one."""
    index = whole_number(element, "os_index")
    if index is None or not 0 <= index < LIMIT:
        problem = "an object without os_index" if index is None else f"os_index {index} is out of range"
        raise BadXml(problem, place=place(element), cure="write it again with lstopo")
    return index


def place(element: Element) -> str:
    """Return words that find an object in its file."""
    named = [f"{key}={_word(element.get(key, ''))}" for key in ("os_index", "gp_index", "name") if element.get(key)]
    return " ".join([_word(element.get("type", "object")), *named])


def _parse(data: bytes, where: str) -> Element:
    # Before they take many times the memory of the file: elements, attributes, and sets of a million CPUs in seven letters.
    if data.count(b"<") > MOST_TAGS or data.count(b"=") > MOST_ATTRIBUTES or data.count(b"f...f") > MOST_ENDLESS:
        raise BadXml("more elements than any machine has", file=where, cure="refused as unsafe")
    # Imported here: half the start-up time of a command that reads no XML.
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        parsed: Any = fromstring(data)
    except ParseError as error:
        line, column = error.position
        raise BadXml(
            f"not well-formed XML ({str(error).split(':')[0]})",
            file=where,
            place=f"line {line}, column {column}",
            cure="write it again with lstopo",
        ) from error
    except DefusedXmlException as error:
        raise BadXml("it declares entities, which no hwloc XML does", file=where, cure="refused as unsafe") from error
    except (ValueError, LookupError, RecursionError, MemoryError) as error:
        raise BadXml(
            f"not XML that can be read ({type(error).__name__})", file=where, cure="write it again with lstopo"
        ) from error
    element: Element = parsed
    return element


def _version(top: Element, where: str) -> int:
    text = top.get("version", "1.0")
    major = number(text.split(".")[0])
    if major is None or major < 1:
        raise BadXml(f"version {_word(text)!r} is not a hwloc version", file=where, cure="give an XML written by lstopo --of xml")
    if major == 1:
        raise BadXml(
            "it is in the format of hwloc 1.x", file=where, cure="convert it: lstopo -i OLD.xml --of xml NEW.xml (hwloc 2.x)"
        )
    if major > 3:
        raise BadXml(f"format {_word(text)} is newer than this program reads (2.x and 3.x)", file=where, cure="update advisor")
    return major


def _walk(root: Element, parents: dict[int, Element], where: str) -> Iterator[Element]:
    stack = [(root, 1)]
    seen = 0
    while stack:
        element, depth = stack.pop()
        seen += 1
        if seen > MOST_OBJECTS or depth > DEEPEST:
            raise BadXml("more objects or deeper nesting than any machine has", file=where, cure="refused as unsafe")
        yield element
        children = element.findall("object")
        for child in reversed(children):
            parents[id(child)] = element
            stack.append((child, depth + 1))


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


@dataclass(frozen=True)
class Found:
    """The devices of a file; None where the file was written without I/O."""

    pci: tuple[PciDevice, ...] | None
    hcas: tuple[Hca, ...] | None
    nics: tuple[Nic, ...] | None
    gpus: tuple[Gpu, ...] | None
    strange: tuple[str, ...] = ()
    """What the file calls devices, and no kernel does: they are left out."""


def devices(document: Document, nodes: Sequence[NumaNode]) -> Found:
    """Return the devices of the file, near those of the nodes that own CPUs. Without one I/O object nothing is known of them."""
    if not document.of_type("PCIDev", "Bridge"):
        return Found(None, None, None, None)
    homes = {node.os_index: node.cpuset for node in nodes if node.cpuset}
    named = [(element.get("name", ""), element, _osdev_kind(document, element)) for element in document.of_type("OSDev")]
    osdevs = tuple((element, kind) for name, element, kind in named if is_name(name))
    hcas = tuple(_hca(document, homes, e) for e, kind in osdevs if kind == "hca")
    nics = tuple(_nic(document, homes, e) for e, kind in osdevs if kind == "nic")
    served = {hca.address for hca in hcas}
    pci = tuple(device for e in document.of_type("PCIDev") if (device := _pci(document, homes, e, served)))
    return Found(
        pci=tuple({device.address: device for device in pci}.values()),
        hcas=tuple({hca.name: hca for hca in hcas}.values()),
        nics=tuple({nic.name: nic for nic in nics if nic.address}.values()),
        gpus=_gpus(document, {device.address: device for device in pci if device.kind == "gpu"}),
        strange=tuple(name for name, _, kind in named if kind and not is_name(name)) + _strange_addresses(document),
    )


def _strange_addresses(document: Document) -> tuple[str, ...]:
    addresses = (element.get("pci_busid", "") for element in document.of_type("PCIDev"))
    return tuple(address for address in addresses if address and not is_name(address))


def _bus_id(element: Element | None) -> str | None:
    """Return the PCI address of an object; None where it has none, or no such."""
    address = element.get("pci_busid", "") if element is not None else ""
    return address if is_name(address) else None


def _osdev_kind(document: Document, element: Element) -> str | None:
    return _OSDEV[document.version].get(element.get("osdev_type", ""))


def _pci_parent(document: Document, element: Element) -> Element | None:
    parent = document.parent(element)
    return parent if parent is not None and parent.get("type") == "PCIDev" else None


def _locality(document: Document, homes: Mapping[int, CpuSet], element: Element) -> Locality:
    """Return the nodes with CPUs that a device is near; memory alone (HBM, a GPU's) is no place for a rank."""
    holder = document.parent(element)
    while holder is not None and holder.get("type") in _IO:
        holder = document.parent(holder)
    near = cpuset(holder, "nodeset") if holder is not None else None
    found = tuple(near & CpuSet(homes)) if near else ()
    cpus = cpuset(holder, "cpuset") if holder is not None else None
    fine = cpus and cpus < union(homes[node] for node in found)
    return Locality(numa_nodes=found, cpus=cpus if fine else None)


def _pci(document: Document, homes: Mapping[int, CpuSet], element: Element, served: Collection[str | None]) -> PciDevice | None:
    address = _bus_id(element)
    match = _PCI_TYPE.match(element.get("pci_type", ""))
    if not match or not address:
        return None
    class_code, vendor, device = int(match[1], 16) << 8, int(match[2] or "0", 16), int(match[3] or "0", 16)
    kind, infos = kind_of(class_code, vendor, device, fabric=address in served), children_infos(element)
    if kind in ("bridge", "other"):
        return None
    name = " ".join(word for word in (infos.get("PCIVendor"), infos.get("PCIDevice")) if word)
    return PciDevice(
        address=address,
        kind=kind,
        class_code=class_code,
        vendor=vendor,
        device=device,
        name=name or None,
        locality=_locality(document, homes, element),
        upstream=_upstream(document, element),
        link=_link(element),
    )


def _upstream(document: Document, element: Element) -> tuple[str, ...] | None:
    """Return what is above a function as sysfs would name it: the host bridge, then the bridges below it."""
    found: list[str] = []
    holder = document.parent(element)
    while holder is not None and holder.get("type") == "Bridge":
        buses = _BUSES.match(holder.get("bridge_pci", ""))
        name = _bus_id(holder) or (f"pci{buses[1]}:{buses[2]}" if buses else None)
        found += [name.lower()] if name else []
        holder = document.parent(holder)
    return tuple(reversed(found)) or None


def _link(element: Element) -> Link | None:
    # lstopo writes gigabytes a second one way, as the link runs now, and 0 where the kernel did not say.
    try:
        speed = float(element.get("pci_link_speed", "0"))
    except ValueError:
        return None
    return Link(bandwidth=int(speed * 1e9)) if 0 < speed < 1e6 else None


def _hca(document: Document, homes: Mapping[int, CpuSet], element: Element) -> Hca:
    owner, infos = _pci_parent(document, element), children_infos(element)
    return Hca(
        name=element.get("name", ""),
        address=_bus_id(owner),
        locality=_locality(document, homes, element),
        ports=_ports(infos),
    )


def _ports(infos: Infos) -> tuple[Port, ...] | None:
    found = sorted(int(match[1]) for name in infos if (match := re.fullmatch(r"Port(\d{1,3})State", name, re.ASCII)))
    ports = tuple(
        Port(number=n, state=_PORT_STATES.get(number(infos[f"Port{n}State"]) or 0), lid=number(infos.get(f"Port{n}LID")))
        for n in found
    )
    return ports or None


def _nic(document: Document, homes: Mapping[int, CpuSet], element: Element) -> Nic:
    address = _bus_id(_pci_parent(document, element))
    return Nic(name=element.get("name", ""), address=address, locality=_locality(document, homes, element))


def _gpus(document: Document, cards: Mapping[str, PciDevice]) -> tuple[Gpu, ...]:
    """Return the GPUs as the runtime shows them, in its order where the file has it, else by address."""
    numbers = _numbers(document, cards)
    gpus = [
        gpu for e in document.of_type("PCIDev") if (card := cards.get(e.get("pci_busid", ""))) for gpu in _gpu(e, card, numbers)
    ]
    known = all(gpu.index is not None for gpu in gpus)
    order = sorted(gpus, key=lambda gpu: (gpu.index or 0 if known else 0, gpu.address))
    return tuple({gpu.address: gpu for gpu in order}.values())


def _gpu(element: Element, card: PciDevice, numbers: Mapping[str, Sequence[int]]) -> Iterator[Gpu]:
    """Yield a card as one GPU, or as the partitions that the runtime numbers; these have no function of their own."""
    infos = children_infos(element)
    for child in element.findall("object"):
        infos = {**infos, **children_infos(child)}
    gpu = Gpu(
        address=card.address,
        vendor=GPU_MAKERS.get(card.vendor),
        model=infos.get("GPUModel") or infos.get("PCIDevice"),
        locality=card.locality,
    )
    own = numbers.get(card.address, ())
    if len(own) < 2:
        yield gpu.model_copy(update={"index": own[0] if own else None})
        return
    for position, index in enumerate(own):
        yield gpu.model_copy(update={"address": partition(card.address, position), "card": card.address, "index": index})


def _numbers(document: Document, cards: Mapping[str, PciDevice]) -> dict[str, list[int]]:
    """Return the runtime's numbers of the GPUs of each card.

    Partitions have PCI addresses that no bus shows (ROCm/rocm_smi_lib issue 208), so older hwloc hangs all but a card's first
    somewhere else: where they divide evenly over AMD's cards, they are placed in order, as the driver numbers them.
    """
    found: dict[str, list[int]] = {}
    rsmi: set[int] = set()
    for element in document.of_type("OSDev"):
        match = _RUNTIME.fullmatch(element.get("name", ""))
        owner = _pci_parent(document, element)
        if not match:
            continue
        if match[1] == "rsmi":
            rsmi.add(int(match[2]))
        if owner is not None and owner.get("pci_busid") in cards:
            found.setdefault(owner.get("pci_busid", ""), []).append(int(match[2]))
    ours = [address for address, card in cards.items() if card.vendor == AMD]
    each, over = divmod(len(rsmi), len(ours) or 1)
    if ours and each > 1 and not over and sum(len(found.get(address, ())) for address in ours) < len(rsmi):
        order = sorted(rsmi)
        found |= {address: order[i * each : (i + 1) * each] for i, address in enumerate(sorted(ours))}
    return {address: sorted(set(numbers)) for address, numbers in found.items()}


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
"""Two nodes of one cpuset within this ratio of size are two banks of the same memory, not DRAM beside something else."""

MOST_NODES = 1024
"""As in Linux, where CONFIG_NODES_SHIFT is 10 at most."""

_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)


def topology(document: Document) -> Topology:
    """Return the topology of the whole machine, as far as the file shows it."""
    root = document.root
    pus = CpuSet(os_index(pu) for pu in document.of_type("PU"))
    if not pus:
        raise BadXml("no PU in it", cure="write it again with lstopo, without --filter")
    nodes = _nodes(document)
    numbers = CpuSet(node.os_index for node in nodes)
    packages = tuple(Package(os_index=whole_number(e, "os_index"), cpuset=_own(e)) for e in document.of_type("Package"))
    cores = _sorted(tuple(Core(os_index=whole_number(e, "os_index"), cpuset=_own(e)) for e in document.of_type("Core")))
    return Topology(
        packages=_sorted(packages),
        dies=_dies(document, packages),
        nodes=nodes,
        l3=_sorted(tuple(L3(cpuset=_own(e), size=whole_number(e, "cache_size")) for e in _processor_l3(document))),
        shared_l2=_shared_l2(document, cores),
        cores=cores,
        own_caches=_own_caches(document, cores),
        pus=pus,
        missing=(cpuset(root, "complete_cpuset") or pus) - pus,
        missing_nodes=(cpuset(root, "complete_nodeset") or numbers) - numbers,
        allowed=_or_all(cpuset(root, "allowed_cpuset"), pus),
        allowed_nodes=_or_all(cpuset(root, "allowed_nodeset"), numbers),
        distances=_distances(document, numbers),
        numa_known=not (len(nodes) == 1 and not nodes[0].memory),
    )


def memory_tiers(document: Document) -> tuple[MemoryTier, ...] | None:
    """Return each node's best bandwidth and latency where the file has memory attributes (HMAT), else None."""
    by_gp = {element.get("gp_index"): os_index(element) for element in document.of_type("NUMANode")}
    facts: dict[int, dict[str, float]] = {}
    for attr in document.top.findall("memattr"):
        field = _ATTRIBUTES.get(attr.get("name", ""))
        for value in attr.findall("memattr_value") if field else ():
            node, amount = by_gp.get(value.get("target_obj_gp_index")), number(value.get("value"))
            if field and node is not None and amount is not None:
                name, scale, better = field
                known = facts.setdefault(node, {})
                known[name] = better(known.get(name, amount * scale), amount * scale)
    for element in document.of_type("NUMANode"):
        # A memory-side cache (Xeon Max and Knights Landing in cache mode) is the parent of the memory behind it.
        parent = document.parent(element)
        cache = whole_number(parent, "cache_size") if parent is not None and parent.get("type") == "MemCache" else None
        if cache:
            facts.setdefault(os_index(element), {})["cache"] = cache
    for element in document.of_type("L3Cache"):
        size = whole_number(element, "cache_size") if element.get("subtype") == _SIDE else None
        if size:
            for node in (cpuset(element, "nodeset") or CpuSet()) & CpuSet(by_gp.values()):
                facts.setdefault(node, {}).setdefault("cache", size)
    return tuple(_tier(node, facts[node]) for node in sorted(facts)) or None


# hwloc keeps bandwidth in MiB/s and latency in ns; the best initiator's value is what the node offers (hwloc/memattrs.h).
_MIB, _NS = float(1 << 20), 1e-9
_ATTRIBUTES = {
    "ReadBandwidth": ("read_bandwidth", _MIB, max),
    "WriteBandwidth": ("write_bandwidth", _MIB, max),
    "ReadLatency": ("read_latency", _NS, min),
    "WriteLatency": ("write_latency", _NS, min),
}


def _tier(node: int, facts: dict[str, float]) -> MemoryTier:
    return MemoryTier(
        node=node,
        read_bandwidth=int(facts["read_bandwidth"]) if "read_bandwidth" in facts else None,
        write_bandwidth=int(facts["write_bandwidth"]) if "write_bandwidth" in facts else None,
        read_latency=facts.get("read_latency"),
        write_latency=facts.get("write_latency"),
        cache=int(facts["cache"]) if "cache" in facts else None,
    )


def _nodes(document: Document) -> tuple[NumaNode, ...]:
    """Return the nodes by number. Each CPU is a node's own only once: other memory near it is memory alone."""
    nodes: list[NumaNode] = []
    elements = document.of_type("NUMANode")
    shared = any(_is_coherent(element) for element in document.of_type("PCIDev"))
    if len(elements) > MOST_NODES:
        raise BadXml(f"{len(elements)} NUMA nodes, more than the {MOST_NODES} that Linux knows", cure="refused as unsafe")
    for element in sorted(elements, key=os_index):
        memory, kind = whole_number(element, "local_memory"), _KINDS.get(element.get("subtype", ""))
        near, size = _own(element), _memory(document, memory)
        if shared and any(node.near == near for node in nodes):
            kind = "gpu"
        nodes.append(NumaNode(os_index=os_index(element), cpuset=near, near=near, memory=size, kind=kind))
    if len({node.os_index for node in nodes}) < len(nodes):
        raise BadXml("two NUMA nodes of one number", cure="write it again with lstopo")
    owners: list[NumaNode] = []
    for node in sorted(nodes, key=_claim):
        if not node.near <= union(owner.near for owner in owners) or any(_alike(owner, node) for owner in owners):
            owners.append(node)
    own = {node.os_index for node in owners}
    nodes = [node if node.os_index in own else node.model_copy(update={"cpuset": CpuSet()}) for node in nodes]
    return tuple(sorted(nodes, key=lambda node: node.os_index))


def _is_coherent(element: Element) -> bool:
    """Return whether a PCI device is a GPU whose memory the kernel shows as NUMA nodes, beside those of a Grace."""
    match = re.fullmatch(r"03\d\d \[10de:([0-9a-f]{4})\].*", element.get("pci_type", ""), re.ASCII | re.IGNORECASE)
    return match is not None and int(match[1], 16) in COHERENT


def _claim(node: NumaNode) -> tuple[bool, int, int]:
    """Return who is asked first whether CPUs are its own: DRAM, the node of fewer CPUs, the lower number."""
    return (node.kind not in (None, "dram"), len(node.near), node.os_index)


def _alike(owner: NumaNode, node: NumaNode) -> bool:
    return owner.near == node.near and _same_memory(owner, node.memory, node.kind)


def _memory(document: Document, memory: int | None) -> int | None:
    # lstopo leaves the attribute out when it is 0, and also when nothing is known: other nodes' sizes tell which.
    if memory is None and any(element.get("local_memory") for element in document.of_type("NUMANode")):
        return 0
    return memory


def _same_memory(node: NumaNode, memory: int | None, kind: str | None) -> bool:
    if node.kind != kind or not node.memory or not memory:
        return False
    return max(node.memory, memory) <= _ALIKE * min(node.memory, memory)


def _processor_l3(document: Document) -> tuple[Element, ...]:
    """Return the L3 caches of processors: files of hwloc 1.x and those converted show MCDRAM before a memory as one."""
    return tuple(element for element in document.of_type("L3Cache") if element.get("subtype") != _SIDE)


def _dies(document: Document, packages: tuple[Package, ...]) -> tuple[Die, ...]:
    sockets = {package.cpuset for package in packages}
    dies = tuple(Die(os_index=whole_number(e, "os_index"), cpuset=_own(e)) for e in document.of_type("Die"))
    return _sorted(tuple(die for die in dies if die.cpuset not in sockets))


def _shared_l2(document: Document, cores: tuple[Core, ...]) -> tuple[SharedL2, ...]:
    """Return the level 2 caches that are not just one core's."""
    own = {core.cpuset for core in cores}
    found = tuple(SharedL2(cpuset=_own(element)) for element in document.of_type("L2Cache"))
    return _sorted(tuple(cache for cache in found if len(cache.cpuset) > 1 and cache.cpuset not in own))


def _own_caches(document: Document, cores: tuple[Core, ...]) -> tuple[int, ...]:
    """Return the levels of cache of which each core has just one, and shares it with no other."""
    wanted = sorted(str(core.cpuset) for core in cores)
    found = {level: sorted(str(_own(element)) for element in document.of_type(f"L{level}Cache")) for level in (1, 2)}
    return tuple(level for level, sets in found.items() if cores and sets == wanted)


def _distances(document: Document, numbers: CpuSet) -> Distances | None:
    for table in document.top.findall("distances2"):
        if (
            table.get("type") == "NUMANode"
            and table.get("name", "NUMALatency") == "NUMALatency"
            and table.get("indexing") == "os"
        ):
            indexes = _values(table, "indexes")
            values = _values(table, "u64values")
            if len(values) != len(indexes) ** 2 or len(indexes) > MOST_NODES:
                raise BadXml(f"distances of {len(indexes)} nodes with {len(values)} values", cure="write it again with lstopo")
            if not CpuSet(indexes) <= numbers:
                raise BadXml("distances name a NUMA node that is not there", cure="write it again with lstopo")
            n = len(indexes)
            return Distances(nodes=indexes, rows=tuple(values[i * n : (i + 1) * n] for i in range(n)))
    return None


def _values(table: Element, tag: str) -> tuple[int, ...]:
    numbers = tuple(number(word) for part in table.findall(tag) for word in (part.text or "").split())
    good = tuple(value for value in numbers if value is not None and 0 <= value < 1 << 32)
    if len(good) < len(numbers):
        raise BadXml(f"<{tag}> of the distances holds a word that is not a number", cure="write it again with lstopo")
    return good


def _own(element: Element) -> CpuSet:
    return cpuset(element, "cpuset") or CpuSet()


def _or_all(given: CpuSet | None, everything: CpuSet) -> CpuSet:
    return everything if given is None else given & everything


def _sorted(things: tuple[_Part, ...]) -> tuple[_Part, ...]:
    return tuple(sorted(things, key=lambda thing: thing.cpuset.first if thing.cpuset.first is not None else LIMIT))


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
        if groups and _lstopo_alike(groups[-1][0][1], figures[1]):
            groups[-1] = groups[-1][0], groups[-1][1] | cpus
        else:
            groups.append((figures, cpus))
    return [CoreKind(name=figures[0], cpus=cpus) for figures, cpus in groups]


def _lstopo_alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
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


# --disallowed shows the part of the machine that a cgroup hides; hwloc 2.0 does not know the option.
LSTOPO = ("lstopo-no-graphics", "--disallowed", "--of", "xml", "-")
LSTOPO_PLAIN = ("lstopo-no-graphics", "--of", "xml", "-")

PATHS: tuple[str, ...] = ()
COMMANDS = (LSTOPO, LSTOPO_PLAIN)


def collect(host: Host) -> Machine:
    """Return what lstopo says of the host, or the gap it leaves."""
    reader = Reader(host)
    answer, shared = host.run(LSTOPO), _of_all
    if not answer.text and answer.why is None:
        answer, shared = host.run(LSTOPO_PLAIN), _of_allowed
    if not answer.text:
        _note_absence(reader, answer)
        return Machine(gaps=reader.gaps)
    if host.kind == "hwloc xml":
        return machine_from_xml(answer.out, host.name)
    try:
        return _named(part(host, shared), own_words(answer.out), "lstopo")
    except BadInput:  # its place has to be that in the file
        return machine_from_xml(answer.out, "lstopo", "lstopo", alone=False)


def machine_from_xml(data: bytes, file: str, where: str = "hwloc XML", *, alone: bool = True) -> Machine:
    """Return the Machine that an hwloc XML describes: ``file`` is named in errors, ``where`` is the source of every fact.

    What firmware's own tables say better, the memory modules, is told only where the file is ``alone``.
    """
    return _named(_shape(data, file, alone=alone), (), where)


@dataclass(frozen=True)
class Shape:
    """What equal nodes share of an XML, and where their own words belong."""

    facts: Machine
    host: str
    lids: Mapping[tuple[str, int], str]
    memories: Mapping[int, str]


def _of_all(host: Host) -> Shape:
    """Return what lstopo says of a host and of its like."""
    return _shape(answer_view(host, LSTOPO, shared_text), "lstopo", alone=False)


def _of_allowed(host: Host) -> Shape:
    """Return the same of an lstopo that does not show what a cgroup hides."""
    return _shape(answer_view(host, LSTOPO_PLAIN, shared_text), "lstopo", alone=False)


def _shape(data: bytes, file: str, *, alone: bool) -> Shape:
    """Return what an XML says but for the name of the host."""
    document = parse_document(data, file)
    try:
        root = document.root
        infos = {**children_infos(document.top), **children_infos(root)}
        shown = topology(document)
        found = devices(document, shown.nodes)
        facts = Machine(
            architecture=infos.get("Architecture"),
            topology=shown,
            tiers=memory_tiers(document),
            cpu=_cpu(document),
            memory=modules(document) if alone else None,
            firmware=_firmware(infos),
            kernel=Kernel(release=infos.get("OSRelease"), version=infos.get("OSVersion")) if "OSRelease" in infos else None,
            limits=Limits(cgroup=infos.get("LinuxCgroup")) if "LinuxCgroup" in infos else None,
            pci=found.pci,
            hcas=found.hcas,
            nics=found.nics,
            gpus=found.gpus,
            gaps=invalid_names("devices", found.strange),
        )
        named = {element.get("name", ""): children_infos(element) for element in document.of_type("OSDev")}
        memories = {os_index(element): element.get("own", "") for element in document.of_type("NUMANode")}
    except BadInput as error:
        raise error.within(file) from error
    lids = {
        (hca.name, port.number): named.get(hca.name, {}).get(f"Port{port.number}LID", "")
        for hca in found.hcas or ()
        for port in hca.ports or ()
    }
    return Shape(facts, infos.get("HostName", ""), lids, memories)


def _named(shape: Shape, words: tuple[str, ...], where: str) -> Machine:
    """Return the machine with a node's own words in their places."""
    own = {f"{MARK}{at}": word for at, word in enumerate(words)}
    host = own.get(shape.host, shape.host)
    facts = shape.facts.model_copy(
        update={
            "name": host if is_name(host) else None,
            "gaps": (*shape.facts.gaps, *(invalid_names("host", [host]) if host not in ("", "(none)") else ())),
        }
    )
    if own and facts.topology is not None:
        memories = {node: int(own[mark]) for node, mark in shape.memories.items() if mark in own}
        nodes = tuple(
            node.model_copy(update={"memory": memories.get(node.os_index, node.memory)}) for node in facts.topology.nodes
        )
        facts = facts.model_copy(
            update={
                "topology": facts.topology.model_copy(update={"nodes": nodes}),
                "hcas": facts.hcas and tuple(_with_lids(hca, shape.lids, own) for hca in facts.hcas),
            }
        )
    return facts.model_copy(update={"sources": _sources(facts, where)})


def _with_lids(hca: Hca, lids: Mapping[tuple[str, int], str], own: Mapping[str, str]) -> Hca:
    ports = hca.ports and tuple(
        port if (lid := own.get(lids.get((hca.name, port.number), ""))) is None else port.model_copy(update={"lid": number(lid)})
        for port in hca.ports
    )
    return hca.model_copy(update={"ports": ports})


def _note_absence(reader: Reader, answer: Ran) -> None:
    if answer.why is Why.NOT_KEPT:
        reader.lacks("hwloc", "no lstopo output in this input", CAPTURE_HELP)
    elif answer.why is Why.ABSENT:
        reader.lacks("hwloc", "lstopo is not installed; the topology is read from /sys alone", "install hwloc")
    else:
        reason = answer.why or f"status {answer.status}"
        reader.lacks("hwloc", f"lstopo did not answer ({reason}); the topology is read from /sys alone", "run lstopo by hand")


def _cpu(document: Document) -> Cpu | None:
    """Return the processor's identity and, where cores differ, their kinds."""
    found, kinds = _processor((*document.objects, document.top)), core_kinds(document)
    if not kinds:
        return found
    # hwloc gives the part of the first core alone: it is no name of a processor that has others.
    arm = found is not None and (found.vendor or "").startswith("0x")
    return (found or Cpu()).model_copy(update={"kinds": kinds, **({"model_name": None, "model": None} if arm else {})})


def _processor(objects: tuple[Element, ...]) -> Cpu | None:
    """Return the processor's identity from the first that carries it: a package, the machine, in 3.x the topology."""
    for element in objects:
        if element.get("type", "Machine") not in ("Package", "Machine"):
            continue
        infos = children_infos(element)
        if "CPUModel" in infos or "CPUVendor" in infos or "CPUImplementer" in infos:
            return _identity(infos)
    return None


def _identity(infos: Infos) -> Cpu:
    arm = arm_name(number(infos.get("CPUImplementer")), number(infos.get("CPUPart")))
    return Cpu(
        vendor=infos.get("CPUVendor") or infos.get("CPUImplementer"),
        model_name=" ".join(infos["CPUModel"].split()) if "CPUModel" in infos else arm,
        family=number(infos.get("CPUFamilyNumber")),
        model=number(infos.get("CPUModelNumber") or infos.get("CPUPart")),
        stepping=number(infos.get("CPUStepping")),
    )


def _firmware(infos: Infos) -> Firmware | None:
    words = {
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
    facts = {field: clean(infos[info]) for field, info in words.items() if info in infos}
    if not facts:
        return None
    return Firmware(**facts, bios_date=iso_date(infos.get("DMIBIOSDate")))


def _sources(facts: Machine, where: str) -> tuple[Source, ...]:
    plain = ("schema_version", "sources", "gaps")
    return tuple(
        Source(fact=name, where=where) for name in Machine.model_fields if name not in plain and getattr(facts, name) is not None
    )


SOURCES = (
    FactSource(
        "hwloc",
        10,
        "The machine as hwloc sees it: `lstopo --of xml`, live or in a file (2.x and 3.x formats).",
        PATHS,
        COMMANDS,
        collect,
    ),
)
