"""From hwloc's I/O objects to devices and where they are."""

import re
from dataclasses import dataclass

from advisor.collect.hwloc_objects import Document, Element, Infos, children_infos, cpuset
from advisor.model.devices import Gpu, Hca, Link, Locality, Nic, PciDevice, Port
from advisor.model.units import number

_OSDEV = {
    2: {"2": "nic", "3": "hca", "1": "gpu", "5": "gpu"},
    3: {"16": "nic", "32": "hca", "48": "hca", "4": "gpu", "8": "gpu", "12": "gpu"},
}
"""osdev_type is a number in 2.x files and a bit mask in 3.x ones (hwloc NEWS, 3.0)."""

_PORT_STATES = {1: "down", 2: "init", 3: "armed", 4: "active", 5: "active_defer"}
"""The numbers of ibv_port_state (rdma-core, verbs.h)."""

_PCI_TYPE = re.compile(r"([0-9a-fA-F]{4})(?:\s*\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\])?")
_GPU_VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel"}
_IO = ("Bridge", "PCIDev", "OSDev", "Misc")


@dataclass(frozen=True)
class Found:
    """The devices of a file; None where the file was written without I/O."""

    pci: tuple[PciDevice, ...] | None
    hcas: tuple[Hca, ...] | None
    nics: tuple[Nic, ...] | None
    gpus: tuple[Gpu, ...] | None


def devices(document: Document) -> Found:
    """Return the devices of the file. Without one I/O object in it nothing is known of them."""
    if not document.of_type("PCIDev", "Bridge"):
        return Found(None, None, None, None)
    osdevs = tuple((element, _osdev_kind(document, element)) for element in document.of_type("OSDev"))
    kinds: dict[str, str] = {}
    for element, kind in osdevs:
        owner = _pci_parent(document, element)
        if owner is not None and kind in ("hca", "gpu"):
            kinds[owner.get("pci_busid", "")] = kind
    pci = tuple(device for element in document.of_type("PCIDev") if (device := _pci(document, element, kinds)))
    return Found(
        pci=tuple({device.address: device for device in pci}.values()),
        hcas=tuple({hca.name: hca for hca in (_hca(document, e) for e, kind in osdevs if kind == "hca")}.values()),
        nics=tuple({nic.name: nic for nic in (_nic(document, e) for e, kind in osdevs if kind == "nic") if nic.address}.values()),
        gpus=tuple({gpu.address: gpu for gpu in (_gpu(document, e) for e in document.of_type("PCIDev")) if gpu}.values()),
    )


def _osdev_kind(document: Document, element: Element) -> str | None:
    return _OSDEV[document.version].get(element.get("osdev_type", ""))


def _pci_parent(document: Document, element: Element) -> Element | None:
    parent = document.parent(element)
    return parent if parent is not None and parent.get("type") == "PCIDev" else None


def _locality(document: Document, element: Element) -> Locality:
    holder = document.parent(element)
    while holder is not None and holder.get("type") in _IO:
        holder = document.parent(holder)
    near = cpuset(holder, "nodeset") if holder is not None else None
    return Locality(numa_nodes=tuple(near & document.cpu_nodes) if near else ())


def _pci(document: Document, element: Element, kinds: dict[str, str]) -> PciDevice | None:
    address = element.get("pci_busid", "")
    match = _PCI_TYPE.match(element.get("pci_type", ""))
    if not match or not address:
        return None
    class_code, infos = int(match[1], 16) << 8, children_infos(element)
    kind = kinds.get(address) or _class_kind(class_code)
    if kind is None:
        return None
    name = " ".join(word for word in (infos.get("PCIVendor"), infos.get("PCIDevice")) if word)
    return PciDevice(
        address=address,
        kind=kind,
        class_code=class_code,
        vendor=int(match[2] or "0", 16),
        device=int(match[3] or "0", 16),
        name=name or None,
        locality=_locality(document, element),
        link=_link(element),
    )


def _class_kind(class_code: int) -> str | None:
    """Return what a PCI class (PCI Code and ID Assignment) is to us, or None of what nobody binds to."""
    if class_code >> 8 == 0x0207:
        return "hca"
    words = {0x02: "nic", 0x03: "gpu", 0x12: "accelerator"}
    if class_code >> 8 in (0x0108, 0x0B40):
        return "nvme" if class_code >> 8 == 0x0108 else "accelerator"
    return words.get(class_code >> 16)


def _link(element: Element) -> Link | None:
    # lstopo writes gigabytes a second one way, as the link runs now, and 0 where the kernel did not say.
    try:
        speed = float(element.get("pci_link_speed", "0"))
    except ValueError:
        return None
    return Link(bandwidth=int(speed * 1e9)) if 0 < speed < 1e6 else None


def _hca(document: Document, element: Element) -> Hca:
    owner, infos = _pci_parent(document, element), children_infos(element)
    return Hca(
        name=element.get("name", ""),
        address=owner.get("pci_busid") if owner is not None else None,
        locality=_locality(document, element),
        ports=_ports(infos),
    )


def _ports(infos: Infos) -> tuple[Port, ...] | None:
    found = sorted(int(match[1]) for name in infos if (match := re.fullmatch(r"Port(\d{1,3})State", name, re.ASCII)))
    ports = tuple(
        Port(number=n, state=_PORT_STATES.get(number(infos[f"Port{n}State"]) or 0), lid=number(infos.get(f"Port{n}LID")))
        for n in found
    )
    return ports or None


def _nic(document: Document, element: Element) -> Nic:
    owner = _pci_parent(document, element)
    address = owner.get("pci_busid") if owner is not None else None
    return Nic(name=element.get("name", ""), address=address, locality=_locality(document, element))


def _gpu(document: Document, element: Element) -> Gpu | None:
    """Return the GPU a PCI device is. A management controller's VGA (Matrox, Aspeed) is none."""
    match = _PCI_TYPE.match(element.get("pci_type", ""))
    vendor = _GPU_VENDORS.get(int(match[2] or "0", 16)) if match else None
    if not match or vendor is None or int(match[1], 16) >> 8 != 0x03:
        return None
    infos = children_infos(element)
    for child in element.findall("object"):
        infos = {**infos, **children_infos(child)}
    return Gpu(
        address=element.get("pci_busid", ""),
        vendor=vendor,
        model=infos.get("GPUModel") or infos.get("PCIDevice"),
        locality=_locality(document, element),
    )
