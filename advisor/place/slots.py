"""Turns the seats of a rank into what its launcher needs to know: CPUs, memory, adapter, GPU."""

from collections import Counter
from collections.abc import Mapping, Sequence

from advisor.model.cpuset import CpuSet
from advisor.model.placement import NodePlan, Slot, Strategy
from advisor.place.devices import adapters, beside, gpus, nearest
from advisor.place.fill import Field
from advisor.place.ground import Device, Ground
from advisor.place.seats import Chunk, Seat, cpus_of


def plan(field: Field, strategy: Strategy, chunks: Sequence[Chunk]) -> NodePlan:
    """Return the slots of a node, in the order of its ranks."""
    devices = {device.name: device for device in (*adapters(field.ground), *gpus(field.ground))}
    if field.near:
        devices[field.near.name] = field.near
    hcas = _adapters(field, strategy, chunks, devices)
    slots = tuple(_slot(field, chunk, hca, _gpu(chunk, devices)) for chunk, hca in zip(chunks, hcas, strict=True))
    return NodePlan(topology=field.ground.inside, slots=slots)


def _adapters(field: Field, strategy: Strategy, chunks: Sequence[Chunk], devices: Mapping[str, Device]) -> list[Device | None]:
    """Return each rank's adapter: the one it was seated for, else of the nearest that with the fewest ranks.

    Ranks with the least choice choose first, or those with more would take what is the only one for others.
    """
    wanted = field.near if field.near and not field.near.gpu and strategy != "per-hca" else None
    every = (wanted,) if wanted else adapters(field.ground)
    choices = [_choice(field.ground, chunk, devices.get(chunk.device or ""), every) for chunk in chunks]
    found: list[Device | None] = [None] * len(chunks)
    load: Counter[str] = Counter()
    for i in sorted(range(len(chunks)), key=lambda i: len(choices[i])):
        if choices[i]:
            chosen = min(choices[i], key=lambda device: load[device.name])
            found[i] = chosen
            load[chosen.name] += 1
    return found


def _choice(ground: Ground, chunk: Chunk, own: Device | None, every: Sequence[Device]) -> list[Device]:
    """Return the adapters that are as good as each other for a rank; of the nearest those beside its GPU."""
    if own and not own.gpu:
        return [own]
    if not every:
        return []
    near = nearest(ground, chunk.seats[0], every)
    return beside(own, near) if own else near


def _gpu(chunk: Chunk, devices: Mapping[str, Device]) -> str | None:
    device = devices.get(chunk.device or "")
    return device.name if device and device.gpu else None


def _slot(field: Field, chunk: Chunk, hca: Device | None, gpu: str | None) -> Slot:
    ground = field.ground
    cpus = _cpus(chunk, field)
    return Slot(
        cpus=cpus,
        cores=len({seat.core for seat in chunk.seats}),
        nodes=tuple(node.os_index for node in ground.inside.nodes_of(cpus)),
        memory=_memory(ground, chunk.seats),
        l3=tuple(i for i, group in enumerate(ground.inside.l3) if group.cpuset & cpus),
        socket=ground.inside.package_of(cpus),
        hca=hca.name if hca else None,
        distance=_distance(ground, chunk.seats, hca) if hca else None,
        gpu=gpu,
    )


def _cpus(chunk: Chunk, field: Field) -> CpuSet:
    """Return whole cores, or with SMT as many hardware threads as the rank has threads, core after core."""
    if field.job.smt == "skip":
        return cpus_of(chunk.seats)
    every = [cpu for seat in chunk.seats for cpu in seat.cpus]
    return CpuSet(every[: field.job.threads])


def _memory(ground: Ground, seats: Sequence[Seat]) -> tuple[int, ...]:
    """Return the nodes under the rank that have memory, or where none has the nearest that do."""
    homes = {seat.node: ground.memory_of(seat) for seat in seats}
    own = {number for at, nodes in homes.items() if at >= 0 for number in nodes if number in ground.domains[at].nodes}
    return tuple(sorted(own or {number for nodes in homes.values() for number in nodes}))


def _distance(ground: Ground, seats: Sequence[Seat], hca: Device) -> int | None:
    """Return the distance from the farthest of the rank's nodes."""
    found = {seat.node: ground.distance(seat, hca) for seat in seats}
    known = [distance for distance in found.values() if distance is not None]
    return max(known) if len(known) == len(found) else None
