"""PCI devices, and what hangs off them: HCAs and network interfaces."""

import struct
from dataclasses import dataclass, replace

from tests.machines.spec import Device, Hca, Net, Spec
from tests.machines.tree import Link, Tree, listing, mask, texts

COUNTERS = (
    "symbol_error",
    "link_downed",
    "link_error_recovery",
    "port_rcv_errors",
    "port_xmit_discards",
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_wait",
)


@dataclass(frozen=True)
class Function:
    """One PCI function: an address and what its configuration space says."""

    address: str
    pci_class: int
    vendor: int
    device: int
    node: int
    subsystem: tuple[int, int] = (0, 0)
    buses: tuple[int, int, int] | None = None
    """Of a bridge: the bus it is on, the bus below it, and the last one below it."""
    speed: str = ""
    width: int = 0
    driver: str = ""


def files(spec: Spec) -> Tree:
    """Return /sys/devices/pci*, /sys/bus/pci, /sys/class/net and /sys/class/infiniband."""
    tree = texts("sys/devices/virtual/net/lo", {"address": "00:00:00:00:00:00", "type": 772, "mtu": 65536})
    tree |= texts("sys/devices/virtual/net/lo", {"operstate": "unknown"})
    tree["sys/class/net/lo"] = Link("sys/devices/virtual/net/lo")
    for node, bus in spec.buses.items():
        tree |= _below(spec, node, bus)
    return tree


def _below(spec: Spec, node: int, bus: int) -> Tree:
    root = f"sys/devices/pci0000:{bus:02x}"
    host = (0x1022, 0x1450) if spec.processor.amd else (0x8086, 0x2F00)
    port = (0x1022, 0x1453) if spec.processor.amd else (0x8086, 0x2F08)
    says = _told(spec, node)
    tree = _function(spec, root, Function(f"0000:{bus:02x}:00.0", 0x060000, *host, says))
    for slot, device in enumerate((device for device in spec.devices if device.node == node), 1):
        below = bus + slot if device.bus is None else device.bus
        bridge = Function(
            *(f"0000:{bus:02x}:{slot:02x}.1", 0x060400, *port, says),
            buses=(bus, below, below),
            speed=device.speed,
            width=device.width,
            driver="pcieport",
        )
        tree |= _function(spec, root, bridge) | _device(spec, f"{root}/{bridge.address}", below, device)
    return tree


def _told(spec: Spec, node: int) -> int:
    told = {device.says for device in spec.devices if device.node == node and device.says is not None}
    return told.pop() if told else node


def _device(spec: Spec, parent: str, bus: int, device: Device) -> Tree:
    tree: Tree = {}
    node = device.node if device.says is None else device.says
    first = Function(
        *(f"0000:{bus:02x}:00.0", device.pci_class, device.vendor, device.device, node, device.subsystem),
        speed=device.speed,
        width=device.width,
        driver=device.driver,
    )
    for number in range(device.functions):
        function = replace(first, address=f"0000:{bus:02x}:00.{number}")
        place = f"{parent}/{function.address}"
        tree |= _function(spec, parent, function)
        for hca in device.hcas[number : number + 1]:
            tree |= _hca(place, hca, spec.host)
        for net in device.nets[number : number + 1]:
            tree |= _net(place, net)
        for tile in range(device.tiles):
            tree |= texts(f"{place}/drm/card0/gt/gt{tile}", {"id": tile})
        if device.cxi and number == 0:
            tree |= texts(f"{place}/cxi/{device.cxi}", {"uevent": ""}) | {f"{place}/cxi/{device.cxi}/device": Link(place)}
            tree[f"sys/class/cxi/{device.cxi}"] = Link(f"{place}/cxi/{device.cxi}")
    return tree


def _function(spec: Spec, parent: str, function: Function) -> Tree:
    place = f"{parent}/{function.address}"
    near = spec.node_pus.get(function.node, []) if function.node >= 0 else list(spec.core_of)
    values: dict[str, object] = {
        "class": f"0x{function.pci_class:06x}",
        "vendor": f"0x{function.vendor:04x}",
        "device": f"0x{function.device:04x}",
        "subsystem_vendor": f"0x{function.subsystem[0]:04x}",
        "subsystem_device": f"0x{function.subsystem[1]:04x}",
        "revision": "0x00",
        "numa_node": function.node,
        "enable": 1,
        "local_cpus": mask(near, spec.possible),
        "local_cpulist": listing(near),
        "uevent": _uevent(function),
    }
    if function.speed:
        values |= {f"{which}_link_speed": function.speed for which in ("current", "max")}
        values |= {f"{which}_link_width": function.width for which in ("current", "max")}
    tree = texts(place, values) | {f"{place}/config": _config(function)}
    if function.driver:
        tree |= texts(f"sys/bus/pci/drivers/{function.driver}", {"uevent": ""})
        tree[f"{place}/driver"] = Link(f"sys/bus/pci/drivers/{function.driver}")
    return tree | {f"sys/bus/pci/devices/{function.address}": Link(place)}


def _uevent(function: Function) -> str:
    ids = f"PCI_CLASS={function.pci_class:X}\nPCI_ID={function.vendor:04X}:{function.device:04X}"
    driver = f"DRIVER={function.driver}\n" if function.driver else ""
    subsystem = "PCI_SUBSYS_ID={:04X}:{:04X}".format(*function.subsystem)
    return f"{driver}{ids}\n{subsystem}\nPCI_SLOT_NAME={function.address}"


def _config(function: Function) -> bytes:
    space = bytearray(64)
    struct.pack_into("<HHHHB", space, 0, function.vendor, function.device, 0x0147, 0x0010, 0)
    space[9:12] = function.pci_class.to_bytes(3, "little")
    if function.buses:
        space[0x0E] = 1
        space[0x18:0x1B] = bytes(function.buses)
    else:
        struct.pack_into("<HH", space, 0x2C, *function.subsystem)
    return bytes(space)


def _hca(parent: str, hca: Hca, host: str) -> Tree:
    place = f"{parent}/infiniband/{hca.name}"
    values = {"node_type": "1: CA", "fw_ver": hca.firmware, "hca_type": hca.kind, "hw_rev": 0, "board_id": hca.board}
    tree = texts(place, values | {"node_guid": hca.guid, "sys_image_guid": hca.guid, "node_desc": f"{host} {hca.name}"})
    port = {"state": hca.state, "phys_state": hca.physical, "rate": hca.rate, "link_layer": hca.layer}
    port |= {"lid": hca.lid, "lid_mask_count": "0", "sm_lid": "0x1", "sm_sl": "0", "cap_mask": "0x2659e848"}
    port |= {"gids/0": f"fe80:0000:0000:0000:{hca.guid}", "pkeys/0": "0xffff"}
    tree |= texts(f"{place}/ports/1", port) | texts(f"{place}/ports/1/counters", dict.fromkeys(COUNTERS, 0))
    return tree | {f"{place}/device": Link(parent), f"sys/class/infiniband/{hca.name}": Link(place)}


def _net(parent: str, net: Net) -> Tree:
    place = f"{parent}/net/{net.name}"
    values = {"address": net.mac, "type": net.kind, "mtu": net.mtu, "speed": net.mbit, "operstate": "up", "carrier": 1}
    tree = texts(place, values | {"dev_id": "0x0", "dev_port": 0, "ifindex": 2})
    return tree | {f"{place}/device": Link(parent), f"sys/class/net/{net.name}": Link(place)}
