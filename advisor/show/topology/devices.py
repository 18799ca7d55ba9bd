"""Devices as they are drawn: each at its NUMA node, those alike together, with the state of their PCIe links."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from advisor.machine.devices import ETHERNET, INFINIBAND, NAMES, Gpu, Hca, Link, Locality, Nic, PciDevice, Port
from advisor.machine.machine import Machine
from advisor.machine.units import binary, bit_rate, count, generation, link, link_state, plain, slower
from advisor.show.topology.elements import Block, Box, Device, State

QUIET = ("nic", "nvme", "accelerator")
"""Kinds of which an unknown link is not worth a word."""


def link_words(kind: str, card: PciDevice | None) -> str:
    """Return a card's link: ``PCIe 4.0 x16``, ``PCIe 4.0 x8 of x16``, ``NVLink-C2C``; nothing of a device that has none."""
    if card is not None and card.joined:
        return card.joined
    if card is None or (kind in QUIET and not _known(card.link)):
        return ""
    return link(card.card) if _rests(kind, card) else link_state(card.link, card.card)


def held_back(kind: str, card: PciDevice | None) -> bool:
    """Return whether the way to a card is known to be narrower than the card."""
    if card is None or card.joined or _rests(kind, card):
        return False
    return card.bottleneck is not None or slower(card.link, card.card)


def hindrance(kind: str, card: PciDevice | None) -> str:
    """Return what narrows the way to a card: ``narrowed at 0000:40:01.1``; nothing where nothing does."""
    if card is None or card.joined:
        return ""
    if card.bottleneck is not None:
        more = "" if _same(card.path, card.link) else f" to {_short(card.path)}"
        return f"narrowed{more} at {card.bottleneck}"
    if _rests(kind, card):
        return f"at {generation(card.link.speed) if card.link else ''} now (idle?)"
    return "its slot allows more" if slower(card.link, card.card) and not slower(card.path, card.card) and card.path else ""


def _rests(kind: str, card: PciDevice) -> bool:
    """Return whether a GPU runs all its lanes at less than its speed: it does so to save power until it has work."""
    now, able = card.link, card.card
    if kind != "gpu" or now is None or able is None or not slower(now, able) or card.bottleneck is not None:
        return False
    return now.width is not None and now.width == able.width


def _known(now: Link | None) -> bool:
    return now is not None and any((now.speed, now.width, now.bandwidth))


def _same(path: Link | None, now: Link | None) -> bool:
    return path is None or (now is not None and (path.speed, path.width) == (now.speed, now.width))


def _short(path: Link | None) -> str:
    return link(path).removeprefix("PCIe ")


SHOWN = ("hca", "gpu", "accelerator", "nvme", "nic")
"""Kinds of PCI devices that are drawn, in this order."""

CONSOLES = (0x1A03, 0x102B, 0x1013, 0x1234, 0x1B36, 0x15AD)
"""Vendors of a server's console screen, real or virtual: ASPEED, Matrox, Cirrus, Bochs, Red Hat, VMware."""


_ROCE = ("mlx", "roce", "bnxt_re", "rxe")
"""What drivers of adapters call them whose Ethernet ports speak RoCE: others speak iWARP, usNIC or Amazon's own."""


@dataclass(frozen=True, slots=True)
class PlacedDevice:
    """A device and the NUMA nodes it is local to; none where that is not known."""

    nodes: tuple[int, ...]
    device: Device
    unplaced: str | None = None
    """Why its place is not known."""


def devices(machine: Machine) -> tuple[PlacedDevice, ...]:
    """Return what is plugged in and worth drawing: HCAs, GPUs, accelerators, NVMe and network interfaces."""
    pci = {device.address: device for device in machine.pci or ()}
    found = [
        *(_hca(hca, pci) for hca in machine.hcas or ()),
        *(_gpu(gpu, pci) for gpu in machine.gpus or ()),
        *_nics(machine, pci),
    ]
    named = {item.address for items in (machine.hcas, machine.gpus, machine.nics) for item in items or ()}
    named |= {gpu.card for gpu in machine.gpus or ()}
    found += [_bare(device) for device in pci.values() if device.address not in named and _worth(device)]
    return tuple(sorted(found, key=lambda placed: SHOWN.index(placed.device.kind)))


def _worth(device: PciDevice) -> bool:
    screen = device.class_code >> 8 == 0x0300 and device.vendor in CONSOLES
    return device.kind in SHOWN and not screen


def attach(blocks: tuple[Block, ...], placed: Iterable[PlacedDevice]) -> tuple[tuple[Block, ...], tuple[Device, ...]]:
    """Return the blocks with their devices, and the devices that belong to no one block."""
    by_box: dict[int, list[Device]] = {}
    by_block: dict[int, list[Device]] = {}
    loose: list[Device] = []
    for each in placed:
        box, block = _home(blocks, set(each.nodes))
        if box is not None:
            by_box.setdefault(id(box), []).append(each.device)
        elif block is not None:
            by_block.setdefault(id(block), []).append(each.device)
        else:
            loose.append(_explained(each))
    filled = tuple(
        replace(
            block,
            boxes=tuple(replace(box, devices=together(by_box.get(id(box), ()))) for box in block.boxes),
            devices=together(by_block.get(id(block), ())),
        )
        for block in blocks
    )
    return filled, together(loose)


def together(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Return the devices, those that differ by name alone, or by the reason of a guess, as one."""
    alike: dict[Device, list[Device]] = {}
    for device in devices:
        key = replace(device, names=(), guessed=device.guessed and "~")
        alike.setdefault(key, []).append(device)
    return tuple(replace(same[0], names=tuple(name for device in same for name in device.names)) for same in alike.values())


def _home(blocks: tuple[Block, ...], nodes: set[int]) -> tuple[Box | None, Block | None]:
    for block in blocks:
        for box in block.boxes:
            if nodes and nodes <= set(box.nodes):
                return box, block
        if nodes and nodes <= {number for box in block.boxes for number in box.nodes}:
            return None, block
    return None, None


def _explained(placed: PlacedDevice) -> Device:
    if placed.nodes:
        place = f"local to nodes {', '.join(map(str, placed.nodes))}"
    else:
        place = f"NUMA node ?{f': {placed.unplaced}' if placed.unplaced else ''}"
    return replace(placed.device, remarks=(*placed.device.remarks, place))


def _placed(
    named: tuple[str, str], facts: Iterable[str], state: State, near: Locality | None, card: PciDevice | None
) -> PlacedDevice:
    kind, name = named
    virtual = bool(card and card.is_virtual_function)
    why = plain(near.inferred) if near and near.inferred else None
    nodes = near.numa_nodes if near else ()
    held = not virtual and held_back(kind, card)
    device = Device(
        kind=kind,
        names=(plain(name, 60),),
        facts=("virtual (SR-IOV)",) if virtual else tuple(plain(fact, 80) for fact in (*facts, *_functions(card)) if fact),
        state="none" if virtual else state,
        link="" if virtual else link_words(kind, card),
        slow=held,
        guessed=why if nodes else None,
        remarks=tuple(remark for remark in (() if virtual else (hindrance(kind, card),)) if remark),
    )
    return PlacedDevice(nodes, device, None if nodes else why)


def _functions(card: PciDevice | None) -> tuple[str, ...]:
    """Say how many virtual functions a card is split into."""
    number = card.virtual_functions if card else None
    return (count(number, "virtual function"),) if number else ()


def _hca(hca: Hca, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    card = pci.get(hca.address or "")
    locality = hca.locality or (card.locality if card else None)
    ports = hca.ports
    facts = ["ports ?"] if ports is None else _ports(hca, ports)
    return _placed(("hca", hca.name), facts, _hca_state(ports), locality, card)


def _ports(hca: Hca, ports: tuple[Port, ...]) -> list[str]:
    if len(ports) == 1:
        return [_port(hca, ports[0])]
    return [f"port {port.number}: {_port(hca, port)}" for port in ports] or ["no ports"]


def _port(hca: Hca, port: Port) -> str:
    """One port: ``100 Gb/s EDR active``; of one that is down the cable's state, for its rate means nothing."""
    layer = "" if port.link_layer in (None, INFINIBAND) else NAMES.get(port.link_layer, "")
    if port.link_layer == ETHERNET and hca.name.startswith(_ROCE):
        layer = "RoCE"
    if port.state == "down":
        known = port.physical if port.physical not in (None, "linkup") else ""
        return " ".join(word for word in (layer, "DOWN", f"({known})" if known else "") if word)
    rate = bit_rate(port.rate) if port.rate else "rate ?"
    name = (port.rate_name or "").split()[-1:] if port.rate else []
    return " ".join(word for word in (layer, rate, *name, port.state or "state ?") if word)


def _hca_state(ports: tuple[Port, ...] | None) -> State:
    states = {port.state for port in ports or ()}
    if "down" in states:
        return "down"
    return "unknown" if not states or None in states else "up"


def _gpu(gpu: Gpu, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    card = pci.get(gpu.card or gpu.address)
    name = str(gpu.index) if gpu.index is not None else gpu.address.removeprefix("0000:")
    known = gpu.model or gpu.vendor or (card.name if card else None) or ""
    memory = binary(gpu.memory) if gpu.memory else ""
    locality = gpu.locality or (card.locality if card else None)
    return _placed(("gpu", name), (known, memory), "none", locality, card)


def _nics(machine: Machine, pci: Mapping[str, PciDevice]) -> Iterator[PlacedDevice]:
    """Network interfaces that are not an HCA's own."""
    hcas = {hca.address for hca in machine.hcas or ()}
    ports = {port.netdev for hca in machine.hcas or () for port in hca.ports or ()}
    for nic in machine.nics or ():
        if nic.address not in hcas - {None} and nic.name not in ports:
            yield _nic(nic, pci.get(nic.address or ""))


def _nic(nic: Nic, card: PciDevice | None) -> PlacedDevice:
    states: dict[str | None, tuple[str, State]] = {"up": ("up", "up"), "down": ("DOWN", "down")}
    word, state = states.get(nic.state, (nic.state or ("state ?" if nic.speed else ""), "unknown" if nic.speed else "none"))
    locality = nic.locality or (card.locality if card else None)
    speed = bit_rate(nic.speed) if nic.speed else ""
    return _placed(("nic", nic.name), (f"{speed} {word}".strip(),), state, locality, card)


def _bare(device: PciDevice) -> PlacedDevice:
    name = device.address.removeprefix("0000:")
    return _placed((device.kind, name), (device.name or "",), "none", device.locality, device)
