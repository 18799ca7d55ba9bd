"""The adapters and GPUs a job can use, and where they are."""

from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.model.cpuset import union
from advisor.model.devices import Gpu, Hca, Locality, Port
from advisor.place.ground import Device, Ground
from advisor.place.seats import Seat


def adapters(ground: Ground) -> tuple[Device, ...]:
    """Return the HCAs to use: those with an active port of the highest rate, or all where no port is active."""
    hcas = ground.machine.hcas or ()
    active = [hca for hca in hcas if _rate(hca) is not None]
    best = max((_rate(hca) or 0 for hca in active), default=0)
    return tuple(_device(ground, hca.name, hca.locality) for hca in (h for h in active if _rate(h) == best)) or tuple(
        _device(ground, hca.name, hca.locality) for hca in hcas
    )


def passed_over(ground: Ground) -> tuple[str, ...]:
    """Return the HCAs that are not used, as another is faster or has an active port."""
    used = {device.name for device in adapters(ground)}
    return tuple(hca.name for hca in ground.machine.hcas or () if hca.name not in used)


def gpus(ground: Ground) -> tuple[Device, ...]:
    """Return the GPUs, by their addresses."""
    return tuple(_device(ground, gpu.address, gpu.locality, gpu=True) for gpu in ground.machine.gpus or ())


def named(ground: Ground, name: str) -> Device:
    """Return the HCA or GPU of a name (mlx5_0), a PCI address, or a GPU's number (gpu0)."""
    for hca in ground.machine.hcas or ():
        if name in (hca.name, hca.address):
            return _device(ground, hca.name, hca.locality)
    for position, gpu in enumerate(ground.machine.gpus or ()):
        if name in (gpu.address, f"gpu{_number(gpu, position)}"):
            return _device(ground, gpu.address, gpu.locality, gpu=True)
    there = [h.name for h in ground.machine.hcas or ()] + [g.address for g in ground.machine.gpus or ()]
    known = ", ".join(there) or ("none" if ground.machine.hcas is not None else "no list of them in this input")
    raise BadValue(f"no adapter or GPU is called {name}", cure=f"there are: {known}")


def nearest(ground: Ground, seat: Seat, devices: Sequence[Device]) -> list[Device]:
    """Return the devices that are nearest to a seat: several where they are equally near."""
    steps = [ground.nearness(seat, device)[:2] for device in devices]
    return [device for device, step in zip(devices, steps, strict=True) if step == min(steps)]


def _number(gpu: Gpu, position: int) -> int:
    return position if gpu.index is None else gpu.index


def _device(ground: Ground, name: str, locality: Locality | None, *, gpu: bool = False) -> Device:
    nodes = locality.numa_nodes if locality else ()
    cpus = union(node.cpuset for node in ground.whole.nodes if node.os_index in nodes)
    sockets = tuple(i for i, socket in enumerate(ground.sockets) if socket & cpus)
    return Device(name, nodes, sockets, gpu, one_of=bool(locality and locality.one_of))


def _rate(hca: Hca) -> int | None:
    """Return the highest rate of an HCA's active ports; 0 where nothing is known of its ports, None where none is active."""
    if hca.ports is None:
        return 0
    rates = [port.rate or 0 for port in hca.ports if _active(port)]
    return max(rates, default=None)


def _active(port: Port) -> bool:
    return port.state in (None, "active")
