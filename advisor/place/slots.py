"""Turns the seats of a rank into what its launcher needs to know: CPUs, memory, adapter, GPU."""

from collections.abc import Sequence

from advisor.model.cpuset import CpuSet
from advisor.model.job import Strategy
from advisor.model.placement import NodePlan, Slot
from advisor.place.devices import adapters, gpus, nearest
from advisor.place.fill import Field
from advisor.place.ground import Device, Ground
from advisor.place.seats import Chunk, Seat, cpus_of


def plan(field: Field, strategy: Strategy, chunks: Sequence[Chunk]) -> NodePlan:
    """Return the slots of a node, in the order of its ranks."""
    devices = {device.name: device for device in (*adapters(field.ground), *gpus(field.ground))}
    if field.near:
        devices[field.near.name] = field.near
    turns = _Turns(field, strategy)
    slots = tuple(_slot(field, chunk, turns.adapter(chunk, devices), _gpu(chunk, devices)) for chunk in chunks)
    return NodePlan(topology=field.ground.inside, slots=slots)


class _Turns:
    """Gives each rank its adapter, equally near ones by turns."""

    def __init__(self, field: Field, strategy: Strategy) -> None:
        self._ground = field.ground
        self._all = adapters(field.ground)
        wanted = field.near if field.near and not field.near.gpu and strategy != "per-hca" else None
        self._only = (wanted,) if wanted else self._all
        self._given: dict[tuple[str, ...], int] = {}

    def adapter(self, chunk: Chunk, devices: dict[str, Device]) -> Device | None:
        """Return the adapter that a rank was seated for, or the nearest to it."""
        own = devices.get(chunk.device or "")
        if own and not own.gpu:
            return own
        if not self._only:
            return None
        near = nearest(self._ground, chunk.seats[0], self._only)
        key = tuple(device.name for device in near)
        turn = self._given.get(key, 0)
        self._given[key] = turn + 1
        return near[turn % len(near)]


def _gpu(chunk: Chunk, devices: dict[str, Device]) -> str | None:
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
