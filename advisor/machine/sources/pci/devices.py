"""PCI devices worth a sysadmin's look (network, GPU, NVMe, accelerator), and what IOMMU and ACS do to their traffic."""

from advisor.machine.devices import PciDevice
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import Machine
from advisor.machine.operating_system import Iommu
from advisor.machine.sources.pci.bus import DEVICES, LOCALITY_PATHS, Bus, unseen
from advisor.machine.sources.pci.spec import DeviceControl, address_of, device_control, downstream, hidden, kind_of, redirects
from advisor.machine.sources.reader import FactSource, Reader
from advisor.machine.value import is_name

_INFINIBAND = "/sys/class/infiniband"

PCI_PATHS = (
    *LOCALITY_PATHS,
    f"{DEVICES}/*/class",
    f"{DEVICES}/*/vendor",
    f"{DEVICES}/*/device",
    f"{DEVICES}/*/current_link_speed",
    f"{DEVICES}/*/current_link_width",
    f"{DEVICES}/*/max_link_speed",
    f"{DEVICES}/*/max_link_width",
    f"{DEVICES}/*/sriov_numvfs",
    f"{DEVICES}/*/sriov_totalvfs",
    f"{DEVICES}/*/driver@",
    f"{DEVICES}/*/uevent",
    f"{DEVICES}/*/physfn@",
    f"{DEVICES}/*/config",
    f"{_INFINIBAND}/*@",
    f"{_INFINIBAND}/*/device@",
)


def collect_pci(host: Host) -> Machine:
    """Return the PCI devices; None where the host shows no PCI bus."""
    reader = Reader(host)
    bus = Bus(reader)
    if bus.addresses is None:
        unseen(reader, "pci", DEVICES)
        return Machine(sources=reader.sources, gaps=reader.gaps)
    reader.found("pci", DEVICES)
    fabric = fabric_devices(host)
    devices = tuple(device for address in bus.addresses if (device := _device(reader, bus, address, fabric)))
    _note_unplaced(reader, devices)
    _note_unlinked(reader, devices)
    return Machine(pci=devices, sources=reader.sources, gaps=reader.gaps)


def fabric_devices(host: Host) -> frozenset[str]:
    """Return the PCI addresses that an RDMA driver serves."""
    places = (host.real(f"{_INFINIBAND}/{name}/device") or host.real(f"{_INFINIBAND}/{name}") for name in host.list(_INFINIBAND))
    return frozenset(address for place in places if place and (address := address_of(place)))


def _device(reader: Reader, bus: Bus, address: str, fabric: frozenset[str]) -> PciDevice | None:
    """Return a device, or None of one that nobody tunes."""
    class_code, vendor, device = (bus.number(address, name) for name in ("class", "vendor", "device"))
    if class_code is None or vendor is None or device is None:
        return None
    kind = kind_of(class_code, vendor, device, fabric=address.lower() in fabric)
    if kind in ("bridge", "other"):
        return None
    path, bottleneck = bus.narrowest(address)
    virtual = reader.host.real(f"{DEVICES}/{address}/physfn") is not None
    control = None if virtual else _control(reader, address)
    return PciDevice(
        address=address,
        kind=kind,
        class_code=class_code,
        vendor=vendor,
        device=device,
        driver=_driver(reader, bus, address),
        locality=bus.locality(address),
        upstream=bus.upstream(address),
        link=bus.link(address, "current"),
        card=bus.link(address, "max"),
        path=path,
        bottleneck=bottleneck,
        max_read_request=control.max_read_request if control else None,
        relaxed_ordering=control.relaxed_ordering if control else None,
        aspm=control.aspm if control else None,
        ten_bit_tags=control.ten_bit_tags if control else None,
        virtual_functions=bus.number(address, "sriov_numvfs"),
        max_virtual_functions=bus.number(address, "sriov_totalvfs"),
        is_virtual_function=virtual,
    )


def _driver(reader: Reader, bus: Bus, address: str) -> str | None:
    """Return the driver that holds a function: what its link points to, or what its uevent file names."""
    place = reader.host.real(f"{DEVICES}/{address}/driver")
    lines = (bus.text(address, "uevent") or "").splitlines() if not place else [f"DRIVER={place.rpartition('/')[2]}"]
    told = next((line.removeprefix("DRIVER=") for line in lines if line.startswith("DRIVER=")), "")
    return told if is_name(told) else None


def _control(reader: Reader, address: str) -> DeviceControl | None:
    """Return a card's own device control register; a virtual function's is empty, for it obeys the physical one's.

    (PCI Express Base 6.0, section 7.5.3.4: RsvdP in virtual functions.)
    """
    path = f"{DEVICES}/{address}/config"
    reading = reader.host.read(path)
    if reading.why or hidden(reading.data):
        # Every function has one: where it is absent, nobody kept it.
        why = Why.NOT_KEPT if reading.why is Why.ABSENT else reading.why or Why.REFUSED
        reader.missed("pci.max_read_request", path, why)
        reader.missed("pci.relaxed_ordering", path, why)
        return None
    return device_control(reading.data)


def _note_unplaced(reader: Reader, devices: tuple[PciDevice, ...]) -> None:
    lost = [device for device in devices if device.locality and not device.locality.numa_nodes]
    if lost:
        others = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        reader.lacks(
            "pci.locality",
            f"{lost[0].address}{others}: {lost[0].locality.inferred if lost[0].locality else ''}",
            "update the BIOS: its ACPI tables give the root bridge no NUMA node (_PXM)",
        )


def _note_unlinked(reader: Reader, devices: tuple[PciDevice, ...]) -> None:
    if devices and not any(device.link or device.card for device in devices):
        path = f"{DEVICES}/{devices[0].address}/max_link_speed"
        reader.missed("pci.link", path, reader.host.read(path).why or Why.FAILED)


def gpus_on(bus: Bus) -> tuple[tuple[str, int], ...]:
    """Return the address and the vendor of every GPU."""
    found = []
    for address in bus.addresses or ():
        code, vendor, device = (bus.number(address, name) or 0 for name in ("class", "vendor", "device"))
        if kind_of(code, vendor, device, fabric=False) == "gpu":
            found.append((address, vendor))
    return tuple(found)


_UNITS = "/sys/class/iommu"
_TYPES = "/sys/kernel/iommu_groups/*/type"
IOMMU_PATHS = (f"{_UNITS}@", f"{_UNITS}/*@", _TYPES, f"{DEVICES}/*@", f"{DEVICES}/*/class", f"{DEVICES}/*/config")

_PCI_BRIDGE = 0x0604
"""Class of a PCI-to-PCI bridge (PCI Code and ID Assignment Specification 1.15)."""


def collect_iommu(host: Host) -> Machine:
    """Return what the kernel shows of IOMMU and ACS."""
    reader = Reader(host)
    iommu = Iommu(units=_units(reader), types=_types(reader), redirecting=_redirecting(reader))
    return Machine(iommu=None if iommu == Iommu() else iommu, sources=reader.sources, gaps=reader.gaps)


def _units(reader: Reader) -> tuple[str, ...] | None:
    """Return the IOMMUs; the class is there on every kernel that knows one, with or without any in it."""
    if reader.host.real(_UNITS) is None:
        reader.missed("iommu.units", _UNITS, reader.host.read(f"{_UNITS}/dmar0").why or Why.FAILED)
        return None
    reader.found("iommu.units", _UNITS)
    return reader.host.list(_UNITS)


def _types(reader: Reader) -> tuple[str, ...] | None:
    told = {text for path in expand(reader.host, _TYPES) if (text := reader.text(path))}
    if told:
        reader.found("iommu.types", _TYPES)
    return tuple(sorted(told)) or None


def _redirecting(reader: Reader) -> tuple[str, ...] | None:
    """Return the switches' ports that redirect; None where one of them keeps its registers from this user."""
    bus = Bus(reader)
    bridges = [address for address in bus.addresses or () if (bus.number(address, "class") or 0) >> 8 == _PCI_BRIDGE]
    if bus.addresses is None or not bridges:
        return None
    ports = []
    for address in bridges:
        path = f"{DEVICES}/{address}/config"
        reading = reader.host.read(path)
        if reading.why or hidden(reading.data):
            why = Why.NOT_KEPT if reading.why is Why.ABSENT else reading.why or Why.REFUSED
            reader.missed("iommu.redirecting", path, why)
            return None
        if downstream(reading.data) and redirects(reading.data):
            ports.append(address)
    reader.found("iommu.redirecting", f"{DEVICES}/*/config")
    return tuple(ports)


SOURCES = (
    FactSource(
        "pci",
        20,
        "PCI devices worth a sysadmin's look: network cards, GPUs, NVMe disks, accelerators.",
        PCI_PATHS,
        (),
        collect_pci,
    ),
    FactSource(
        "iommu",
        20,
        "Whether the IOMMU translates, and whether PCIe switches let devices talk to each other, as it is now.",
        IOMMU_PATHS,
        (),
        collect_iommu,
    ),
)
