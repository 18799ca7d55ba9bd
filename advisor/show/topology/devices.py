"""Devices as they are drawn: each at its NUMA node, those alike together, with the state of their PCIe links."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from advisor.machine.devices import ETHERNET, INFINIBAND, NAMES, Gpu, Hca, Locality, Nic, PciDevice, Port
from advisor.machine.machine import Machine
from advisor.machine.units import binary, bit_rate, count, generation, link, link_state, plain, slower
from advisor.show.topology.elements import Block, Box, Device, State

QUIET = ("nic", "nvme", "accelerator")
"""Kinds of which an unknown link is not worth a word."""

SHOWN = ("hca", "gpu", "accelerator", "nvme", "nic")
"""Kinds of PCI devices that are drawn, in this order."""

CONSOLES = (0x1A03, 0x102B, 0x1013, 0x1234, 0x1B36, 0x15AD)
"""Vendors of a server's console screen, real or virtual: ASPEED, Matrox, Cirrus, Bochs, Red Hat, VMware."""

_ROCE = ("mlx", "roce", "bnxt_re", "rxe")
"""What drivers of adapters call them whose Ethernet ports speak RoCE: others speak iWARP, usNIC or Amazon's own."""


def link_words(kind: str, card: PciDevice | None) -> str:
    """Return a card's link: ``PCIe 4.0 x16``, ``PCIe 4.0 x8 of x16``, ``NVLink-C2C``; nothing of a device that has none."""
    if card is not None and card.joined:
        return card.joined
    now = card.link if card else None
    known = now is not None and any((now.speed, now.width, now.bandwidth))
    if card is None or (kind in QUIET and not known):
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
    now, path = card.link, card.path
    if card.bottleneck is not None:
        same = path is None or (now is not None and (path.speed, path.width) == (now.speed, now.width))
        narrow = "" if same else f" to {link(path).removeprefix('PCIe ')}"
        return f"narrowed{narrow} at {card.bottleneck}"
    if _rests(kind, card):
        return f"at {generation(now.speed) if now else ''} now (idle?)"
    return "its slot allows more" if slower(now, card.card) and not slower(path, card.card) and path else ""


def _rests(kind: str, card: PciDevice) -> bool:
    """Return whether a GPU runs all its lanes at less than its speed: it does so to save power until it has work."""
    now, able = card.link, card.card
    if kind != "gpu" or now is None or able is None or not slower(now, able) or card.bottleneck is not None:
        return False
    return now.width is not None and now.width == able.width


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
    hcas, gpus, nics = machine.hcas or (), machine.gpus or (), machine.nics or ()
    adapters, ports = {hca.address for hca in hcas} - {None}, {port.netdev for hca in hcas for port in hca.ports or ()}
    found = [*(_hca(hca, pci) for hca in hcas), *(_gpu(gpu, pci) for gpu in gpus)]
    found += [_nic(nic, pci) for nic in nics if nic.address not in adapters and nic.name not in ports]  # not an HCA's own
    named = {*adapters, *(gpu.address for gpu in gpus), *(gpu.card for gpu in gpus), *(nic.address for nic in nics)}
    for device in pci.values():
        screen = device.class_code >> 8 == 0x0300 and device.vendor in CONSOLES
        if device.address not in named and device.kind in SHOWN and not screen:
            name = device.address.removeprefix("0000:")
            found.append(_placed((device.kind, name), (device.name or "",), "none", device.locality, device))
    return tuple(sorted(found, key=lambda placed: SHOWN.index(placed.device.kind)))


def attach(blocks: tuple[Block, ...], placed: Iterable[PlacedDevice]) -> tuple[tuple[Block, ...], tuple[Device, ...]]:
    """Return the blocks with their devices, and the devices that belong to no one block."""
    own: dict[int, list[Device]] = {}
    loose: list[Device] = []
    for each in placed:
        home = _home(blocks, set(each.nodes))
        if home is not None:
            own.setdefault(id(home), []).append(each.device)
        else:
            why = f": {each.unplaced}" if each.unplaced else ""
            place = f"local to nodes {', '.join(map(str, each.nodes))}" if each.nodes else f"NUMA node ?{why}"
            loose.append(replace(each.device, remarks=(*each.device.remarks, place)))
    filled = []
    for block in blocks:
        boxes = tuple(replace(box, devices=together(own.get(id(box), ()))) for box in block.boxes)
        filled.append(replace(block, boxes=boxes, devices=together(own.get(id(block), ()))))
    return tuple(filled), together(loose)


def _home(blocks: tuple[Block, ...], nodes: set[int]) -> Box | Block | None:
    """Return what has all of some nodes, the smallest that does."""
    for block in blocks if nodes else ():
        for box in block.boxes:
            if nodes <= set(box.nodes):
                return box
        if nodes <= {number for box in block.boxes for number in box.nodes}:
            return block
    return None


def together(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Return the devices, those that differ by name alone, or by the reason of a guess, as one."""
    alike: dict[Device, list[Device]] = {}
    for device in devices:
        key = replace(device, names=(), guessed=device.guessed and "~")
        alike.setdefault(key, []).append(device)
    return tuple(replace(same[0], names=tuple(name for device in same for name in device.names)) for same in alike.values())


def _placed(
    named: tuple[str, str], facts: Iterable[str], state: State, own: Locality | None, card: PciDevice | None
) -> PlacedDevice:
    """Return a device where it says that it is, or else where its card does."""
    (kind, name), near = named, own or (card.locality if card else None)
    virtual, functions = bool(card and card.is_virtual_function), card.virtual_functions if card else None
    why = plain(near.inferred) if near and near.inferred else None
    nodes = near.numa_nodes if near else ()
    split = (count(functions, "virtual function"),) if functions else ()
    hindered = "" if virtual else hindrance(kind, card)
    device = Device(
        kind=kind,
        names=(plain(name, 60),),
        facts=("virtual (SR-IOV)",) if virtual else tuple(plain(fact, 80) for fact in (*facts, *split) if fact),
        state="none" if virtual else state,
        link="" if virtual else link_words(kind, card),
        slow=not virtual and held_back(kind, card),
        guessed=why if nodes else None,
        remarks=(hindered,) if hindered else (),
    )
    return PlacedDevice(nodes, device, None if nodes else why)


def _hca(hca: Hca, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    ports, states = hca.ports, {port.state for port in hca.ports or ()}
    state: State = "down" if "down" in states else "unknown" if not states or None in states else "up"
    facts = ["ports ?"] if ports is None else [f"port {port.number}: {_port(hca, port)}" for port in ports] or ["no ports"]
    facts = [_port(hca, ports[0])] if ports and len(ports) == 1 else facts
    return _placed(("hca", hca.name), facts, state, hca.locality, pci.get(hca.address or ""))


def _port(hca: Hca, port: Port) -> str:
    """One port: ``100 Gb/s EDR active``; of one that is down the cable's state, for its rate means nothing."""
    layer = "" if port.link_layer in (None, INFINIBAND) else NAMES.get(port.link_layer, "")
    if port.link_layer == ETHERNET and hca.name.startswith(_ROCE):
        layer = "RoCE"
    if port.state == "down":
        known = f"({port.physical})" if port.physical not in (None, "linkup", "") else ""
        return " ".join(filter(None, (layer, "DOWN", known)))
    name = (port.rate_name or "").split()[-1:] if port.rate else []
    return " ".join(filter(None, (layer, bit_rate(port.rate) if port.rate else "rate ?", *name, port.state or "state ?")))


def _gpu(gpu: Gpu, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    card = pci.get(gpu.card or gpu.address)
    name = str(gpu.index) if gpu.index is not None else gpu.address.removeprefix("0000:")
    known = gpu.model or gpu.vendor or (card.name if card else None) or ""
    return _placed(("gpu", name), (known, binary(gpu.memory) if gpu.memory else ""), "none", gpu.locality, card)


def _nic(nic: Nic, pci: Mapping[str, PciDevice]) -> PlacedDevice:
    states: dict[str | None, tuple[str, State]] = {"up": ("up", "up"), "down": ("DOWN", "down")}
    word, state = states.get(nic.state, (nic.state or ("state ?" if nic.speed else ""), "unknown" if nic.speed else "none"))
    speed = bit_rate(nic.speed) if nic.speed else ""
    return _placed(("nic", nic.name), (f"{speed} {word}".strip(),), state, nic.locality, pci.get(nic.address or ""))
