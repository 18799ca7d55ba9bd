"""The adapters and GPUs a job can use, and where they are."""

from collections.abc import Iterator, Sequence

from advisor.errors import BadValue
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.devices import NAMES, Gpu, Hca, Locality, fabric_of, is_active, is_on_fabric, other_layers, ports_of
from advisor.place.ground import Device, Ground
from advisor.place.seats import Seat


def adapters(ground: Ground) -> tuple[Device, ...]:
    """Return the HCAs to use, all of one link layer: with an active port of the highest rate, or all where none is active."""
    fabric = fabric_of(ground.machine.hcas or ())
    hcas = [hca for hca in ground.machine.hcas or () if is_on_fabric(hca, fabric)]
    rates = {hca.name: _rate(hca, fabric) for hca in hcas}
    best = max((rate for rate in rates.values() if rate is not None), default=None)
    return tuple(_adapter(ground, hca) for hca in hcas if rates[hca.name] == best)


def passed_over(ground: Ground) -> Iterator[tuple[str, str]]:
    """Yield the HCAs that are not used, each with the reason."""
    hcas = ground.machine.hcas or ()
    fabric, used = fabric_of(hcas), {device.name for device in adapters(ground)}
    for hca in hcas:
        if hca.name in used:
            continue
        layers = other_layers(hca, fabric)
        if layers and fabric:
            words = ", ".join(NAMES.get(layer, layer) for layer in layers)
            yield hca.name, f"{words}, and a plan keeps to one network: {NAMES.get(fabric, fabric)}"
        elif not is_on_fabric(hca, fabric):
            yield hca.name, f"its network is not known, and the plan keeps to {NAMES.get(fabric or '', 'another')}"
        else:
            yield hca.name, "no active port, or a slower one"


def gpus(ground: Ground) -> tuple[Device, ...]:
    """Return the GPUs, or the partitions of GPUs, in the order of the runtime where it is known, else of their addresses."""
    return tuple(_gpu(ground, gpu) for gpu in ground.machine.gpus or ())


def accelerators(ground: Ground) -> tuple[str, ...]:
    """Return the processing accelerators (PCI class 12) that are no GPUs: no plan deals them."""
    known = {gpu.address for gpu in ground.machine.gpus or ()} | {gpu.card for gpu in ground.machine.gpus or ()}
    every = ground.machine.pci or ()
    return tuple(d.address for d in every if d.class_code >> 16 == 0x12 and not d.is_virtual_function and d.address not in known)


def named(ground: Ground, name: str) -> Device:
    """Return the HCA or GPU of a name (mlx5_0), a PCI address, an HCA's interface (hsn0), or a GPU's number (gpu0)."""
    hcas = ground.machine.hcas or ()
    for hca in hcas:
        if name in (hca.name, hca.address):
            return _adapter(ground, hca)
    for hca in hcas:
        if any(name == port.netdev for port in hca.ports or ()):
            return _adapter(ground, hca)
    for position, gpu in enumerate(ground.machine.gpus or ()):
        if name in (gpu.address, f"gpu{_number(gpu, position)}"):
            return _gpu(ground, gpu)
    there = [h.name for h in hcas] + [g.address for g in ground.machine.gpus or ()]
    known = ", ".join(there) or ("none" if ground.machine.hcas is not None else "no list of them in this input")
    raise BadValue(f"no adapter or GPU is called {name}", cure=f"there are: {known}")


def nearest(ground: Ground, seat: Seat, devices: Sequence[Device]) -> list[Device]:
    """Return the devices that are nearest to a seat: several where they are equally near."""
    steps = [ground.nearness(seat, device)[:2] for device in devices]
    return [device for device, step in zip(devices, steps, strict=True) if step == min(steps)]


def beside(gpu: Device, devices: Sequence[Device]) -> list[Device]:
    """Return those of some adapters that share most of a GPU's way to the processor, or are in its NUMA node, or all."""
    shared = [_shared(gpu, device) for device in devices]
    most = max(shared, default=0)
    if most:
        return [device for device, count in zip(devices, shared, strict=True) if count == most]
    return [device for device in devices if set(device.nodes) & set(gpu.nodes)] or list(devices)


def _shared(one: Device, other: Device) -> int:
    """Return how many host bridges and bridges two devices share, from the processor down."""
    count = 0
    for a, b in zip(one.upstream, other.upstream, strict=False):
        if a != b:
            break
        count += 1
    return count


def _number(gpu: Gpu, position: int) -> int:
    return position if gpu.index is None else gpu.index


def _adapter(ground: Ground, hca: Hca) -> Device:
    return _device(ground, hca.name, hca.locality, hca.address)


def _gpu(ground: Ground, gpu: Gpu) -> Device:
    return _device(ground, gpu.address, gpu.locality, gpu.card or gpu.address, gpu=True)


def _device(ground: Ground, name: str, locality: Locality | None, address: str | None, *, gpu: bool = False) -> Device:
    nodes = locality.numa_nodes if locality else ()
    cpus = union(node.cpuset for node in ground.whole.nodes if node.os_index in nodes)
    sockets = tuple(i for i, socket in enumerate(ground.sockets) if socket & cpus)
    card = next((device for device in ground.machine.pci or () if device.address == address), None) if address else None
    return Device(
        name,
        nodes,
        sockets,
        gpu,
        one_of=bool(locality and locality.one_of),
        cpus=(locality.cpus if locality else None) or CpuSet(),
        upstream=(card.upstream if card else None) or (),
    )


def _rate(hca: Hca, fabric: str | None) -> int | None:
    """Return the highest rate of an HCA's active ports; 0 where nothing is known of its ports, None where none is active."""
    ports = ports_of(hca, fabric)
    if ports is None:
        return 0
    return max((port.rate or 0 for port in ports if is_active(port)), default=None)
