"""Joins adapters and accelerators with their PCI devices. Pure."""

import re
from collections.abc import Sequence
from typing import Any, Final

from advisor.advice.model.case import Accelerator, Adapter, Case
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.devices import Hca, Irq, Locality, PciDevice, Port, bus_of
from advisor.machine.machine import Machine

_CARDS: Final = {
    4099: "ConnectX-3", 4103: "ConnectX-3", 4115: "ConnectX-4", 4119: "ConnectX-5", 4121: "ConnectX-5", 4123: "ConnectX-6",
    4129: "ConnectX-7",
}  # fmt: skip
"""What the vendors' drivers call MT4119 and its like by (mlx4 and mlx5 of Linux): publications name cards by these words."""

_RATES: Final = {"FDR": 56e9, "EDR": 100e9, "HDR100": 100e9, "HDR": 200e9, "NDR200": 200e9, "NDR": 400e9}
_RATE_SLACK: Final = 0.05
"""FDR is 56 Gbit/s in sysfs, and 54.5 of data."""


def adapters(machine: Machine, sockets: tuple[CpuSet, ...] | None) -> tuple[Adapter, ...] | None:
    """Return the HCAs with their PCI devices; None where HCAs were not looked for."""
    if machine.hcas is None:
        return None
    return tuple(_adapter(machine, hca, sockets) for hca in machine.hcas)


def accelerators(machine: Machine, sockets: tuple[CpuSet, ...] | None) -> tuple[Accelerator, ...] | None:
    """Return GPUs and other accelerators with their PCI devices; None where no GPU is known and GPUs were not looked for."""
    others = tuple(
        Accelerator(**_device(machine, card.address, card.address, card.locality, sockets), vendor="other")
        for card in machine.pci or ()
        if card.kind == "accelerator"
    )
    if machine.gpus is None:
        return others or None
    return others + tuple(
        Accelerator(
            **_device(machine, gpu.address, gpu.card or gpu.address, gpu.locality, sockets),
            vendor=gpu.vendor,
            memory=gpu.memory,
            driver_version=gpu.driver_version,
        )
        for gpu in machine.gpus
    )


def _adapter(machine: Machine, hca: Hca, sockets: tuple[CpuSet, ...] | None) -> Adapter:
    rates = [port.rate if port.state else None for port in hca.ports or () if port.state in ("active", None)]
    facts = _device(machine, hca.name, hca.address, hca.locality, sockets)
    local = _cpus(machine, facts["nodes"] or ())
    known = hca.irqs is not None and bool(local)
    return Adapter(
        **facts,
        kind=hca.kind,
        firmware=hca.firmware,
        board_id=hca.board_id,
        board=hca.board,
        firmware_options=hca.firmware_options,
        ports=hca.ports,
        rate=None if hca.ports is None or None in rates else sum(rate for rate in rates if rate),
        irqs=None if hca.irqs is None else len(hca.irqs),
        irqs_far=sum(_far(irq, local) for irq in hca.irqs or ()) if known else None,
    )


def _far(irq: Irq, local: CpuSet) -> bool:
    """Return whether an interrupt goes only to CPUs away from its device."""
    cpus = irq.effective or irq.cpus
    return bool(cpus) and not cpus & local


def _device(
    machine: Machine, name: str, address: str | None, locality: Locality | None, sockets: tuple[CpuSet, ...] | None
) -> dict[str, Any]:
    pci = next((device for device in machine.pci or () if device.address == address), None) if address else None
    place = locality or (pci.locality if pci else None)
    nodes = place.numa_nodes if place else None
    sockets_of = _sockets_of(_cpus(machine, nodes or ()), sockets) if nodes and sockets else None
    if place and place.one_of:
        place = nodes = None
    return {
        "name": name,
        "address": address,
        "bus": bus_of(address),
        "slot": address.rpartition(".")[0] or None if address else None,
        "nodes": nodes,
        "inferred": place.inferred if place else None,
        "placed": None if place is None else place.inferred is None,
        "sockets": sockets_of,
        **_pci(pci),
    }


def _pci(pci: PciDevice | None) -> dict[str, Any]:
    if pci is None:
        return {}
    return {
        "device_id": (pci.vendor << 16) + pci.device,
        "model": pci.name,
        "virtual": pci.is_virtual_function,
        **{
            name: getattr(pci, name)
            for name in ("driver", "link", "card", "path", "bottleneck", "max_read_request", "relaxed_ordering")
        },
    }


def _cpus(machine: Machine, nodes: tuple[int, ...]) -> CpuSet:
    wanted = set(nodes)
    every = machine.topology.nodes if machine.topology else ()
    return union(node.cpuset for node in every if node.os_index in wanted)


def _sockets_of(cpus: CpuSet, sockets: tuple[CpuSet, ...]) -> tuple[int, ...]:
    return tuple(index for index, own in enumerate(sockets) if own & cpus)


def is_fabric(fabric: str | None, name: str, case: Case) -> bool:
    """Return whether an adapter and its port are known to be what a publication names: ``ConnectX-5 EDR``."""
    adapter = next((each for each in case.adapters or () if each.name == name), None)
    if adapter is None or fabric is None:
        return False
    words = fabric.partition(",")[0].split()
    card = next((word for word in words if word.startswith("ConnectX")), None)
    ports = [port for port in adapter.ports or () if port.state == "active"]
    return card in (None, _card(adapter)) and len(ports) == 1 and _runs(ports[0], words)


def _card(adapter: Adapter) -> str | None:
    number = re.fullmatch(r"MT(\d{4,5})", adapter.kind or "")
    return _CARDS.get(int(number[1])) if number else None


def _runs(port: Port, words: Sequence[str]) -> bool:
    rate = next((_RATES[word] for word in words if word in _RATES), 100e9 if words[-2:] == ["100", "Gb/s"] else None)
    on_it = port.link_layer == "infiniband"
    return rate is not None and port.rate is not None and on_it and abs(port.rate - rate) <= _RATE_SLACK * rate
