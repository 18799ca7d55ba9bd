"""From hwloc's I/O objects to devices and where they are."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from advisor.errors import BadValue, BadXml
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.devices import Gpu, Hca, Link, Locality, Nic, PciDevice, Port
from advisor.machine.sources.pci.spec import AMD, GPU_MAKERS, kind_of, partition
from advisor.machine.topology import NumaNode
from advisor.machine.value import is_name, number

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
    for part, index in enumerate(own):
        yield gpu.model_copy(update={"address": partition(card.address, part), "card": card.address, "index": index})


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
