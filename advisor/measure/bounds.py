"""What arithmetic proves of a machine whose DIMMs nobody read: the most that its memory carries, the most channels in use.

Each bound holds whatever is plugged in: the processor's channels at the fastest memory that any board runs, the links between
its compute dies and the memory controllers, the smallest DIMM that is made. Pure.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import Field

from advisor.machine.fact import Bytes, BytesPerSecond, made_from
from advisor.machine.machine import Machine
from advisor.machine.memory import SocketMemory
from advisor.machine.partitioning import find_sockets
from advisor.machine.value import Value, optional
from advisor.measure.platform import Platform, dies

GIB: Final = 1 << 30
CHANNEL_BYTES: Final = 8
"""What a channel of DDR carries in one transfer: 64 data bits."""
SMALLEST_MODULE: Final[Mapping[str, int]] = {"DDR4": 4 * GIB, "DDR5": 16 * GIB}
"""The smallest registered DIMM that servers take: DDR5 begins at 16 GiB (xfusion-1288h-v7), DDR4 at 4 GiB."""
_HIDDEN: Final = 0.1
_HIDDEN_LEAST: Final = GIB
"""What firmware and kernel keep of the memory before they count it: a few per cent; a tenth, and a GiB at least, is never reached
by the kernel's own tables, crash kernels and firmware of a server."""
_MOST_CORES: Final = 288
"""Cores of the largest package that is sold: a socket of more is a guest's, over several of its host's."""
_MEASURED: Final = 1.1
"""Links of dies are published as measured, not as specified."""


class Bound(Value):
    """An upper end that holds whatever is plugged in, and what it is made of."""

    value: BytesPerSecond = Field(description="bytes a second at most")
    because: str = Field(description="8 channels of DDR4-3200 in each of 2 sockets")
    of_dies: bool = optional("whether the links of the compute dies are what bounds it", default=False)


class MemoryBounds(Value):
    """What the memory can be at most, whatever is plugged in: from its size and the processor's sheet."""

    bandwidth: BytesPerSecond | None = made_from("platform", "bytes a second that the memory of all sockets carries at most")
    because: str | None = made_from("platform", "what bounds it: 8 channels of DDR4-3200 in each of 2 sockets")
    channels: int | None = made_from("platform", "memory channels of all sockets")
    modules: int | None = made_from("topology", "DIMMs that so much memory is made of at most")
    modules_mirrored: int | None = made_from("topology", "the same where the firmware mirrors memory and shows half of it")
    module: Bytes | None = made_from("platform", "bytes of the smallest DIMM of its kind")
    die_limited: bool | None = made_from(
        "platform",
        "whether the links of its dies carry less than the channels; None where no publication of these links is known",
    )


def socket_bandwidth(platform: Platform, dies_of_socket: int | None, memory: SocketMemory | None = None) -> Bound | None:
    """Return what reaches the cores of a socket at most: the less of its channels and the links of its dies."""
    if platform.hbm_and_dimms or not (platform.memory_kind or "").startswith("DDR"):
        return None
    found = [bound for bound in (_of_channels(platform, memory), _of_dies(platform, dies_of_socket)) if bound is not None]
    return min(found, key=lambda bound: bound.value, default=None)


def _of_channels(platform: Platform, memory: SocketMemory | None) -> Bound | None:
    speed = (memory.configured if memory else None) or platform.memory_speed_most or platform.memory_speed
    channels = (memory.channels if memory else None) or platform.channels
    if not speed or not channels:
        return None
    return Bound(
        value=int(channels * speed * CHANNEL_BYTES), because=f"{channels} channels of {platform.memory_kind}-{speed / 1e6:.0f}"
    )


def _of_dies(platform: Platform, count: int | None) -> Bound | None:
    if not platform.die_bandwidth or not count:
        return None
    link = f"{platform.die_bandwidth / 1e9:.0f} GB/s"
    return Bound(
        value=int(_MEASURED * count * platform.die_bandwidth),
        because=f"the links of {count} dies (about {link} each)",
        of_dies=True,
    )


def most_modules(memory: int, kind: str | None) -> int | None:
    """Return of how many DIMMs so much memory can be made at most; None for a kind whose smallest is not known.

    >>> most_modules(126 * GIB, "DDR5"), most_modules(252 * GIB, "DDR4"), most_modules(8 * GIB, "HBM3")
    (8, 69, None)
    """
    smallest = SMALLEST_MODULE.get(kind or "")
    return int((memory + max(_HIDDEN * memory, _HIDDEN_LEAST)) // smallest) if smallest else None


def bounds_of_sockets(machine: Machine, platform: Platform | None) -> tuple[Bound, ...]:
    """Return what each socket's memory carries at most; none where the sockets or what bounds one of them are not known."""
    topology = machine.topology
    virtual = machine.environment is not None and machine.environment.virtual not in (None, "none")
    # Guests may show fewer sockets than they run on; HBM, CXL, a GPU's memory, nodes without CPUs come on top of the channels.
    plain = topology is not None and all(
        node.kind in (None, "dram") and (node.cpuset or not node.memory or node.kind) for node in topology.nodes
    )
    if platform is None or topology is None or not topology.pus or virtual or not plain:
        return ()
    sockets = find_sockets(machine, topology)[0]
    known = {each.socket: each for each in machine.memory.sockets or ()} if machine.memory else {}
    matched = known if len(known) == len(sockets) else {}
    groups = [sum(1 for l3 in topology.l3 if l3.cpuset and l3.cpuset <= cpus) for cpus in sockets]
    if any(len([core for core in topology.cores if core.cpuset <= cpus]) > _MOST_CORES for cpus in sockets):
        return ()
    found = [socket_bandwidth(platform, dies(platform, groups[at]), matched.get(at)) for at in range(len(sockets))]
    bounds = tuple(bound for bound in found if bound is not None)
    return bounds if len(bounds) == len(sockets) else ()


def memory_bounds(machine: Machine, platform: Platform | None) -> MemoryBounds:
    """Return what bounds the memory of a machine; each unknown where nothing proves it."""
    sockets = bounds_of_sockets(machine, platform)
    if not sockets or platform is None or machine.topology is None:
        return MemoryBounds()
    whole = together(sockets)
    memories = [node.memory for node in machine.topology.nodes]
    total = sum(memory for memory in memories if memory) if None not in memories and _sees_all(machine) else None
    modules = most_modules(total, platform.memory_kind) if total else None
    return MemoryBounds(
        bandwidth=whole.value,
        because=whole.because,
        channels=platform.channels * len(sockets) if platform.channels else None,
        modules=modules,
        modules_mirrored=most_modules(2 * total, platform.memory_kind) if total else None,
        module=SMALLEST_MODULE.get(platform.memory_kind or ""),
        die_limited=whole.of_dies if platform.die_bandwidth else None,
    )


def _sees_all(machine: Machine) -> bool:
    """Return whether the kernel and this process are shown all of the memory."""
    words = machine.kernel.cmdline if machine.kernel else None
    cut = any(name in ("mem", "memmap") for name, _ in words or ())
    return not cut and machine.topology is not None and not machine.topology.limited


def together(bounds: Iterable[Bound]) -> Bound:
    """Return the bound of several sockets: their sum, said once where they are alike."""
    known = tuple(bounds)
    kinds = tuple(dict.fromkeys(bound.because for bound in known))
    alike = f"{kinds[0]} in each of {len(known)} sockets" if len(known) > 1 else kinds[0]
    return Bound(
        value=sum(bound.value for bound in known),
        because=alike if len(kinds) == 1 else " and ".join(kinds),
        of_dies=any(bound.of_dies for bound in known),
    )


def of_nodes(machine: Machine, platform: Platform | None, nodes: Iterable[int]) -> Bound | None:
    """Return what the memory of some NUMA nodes carries at most: that of every socket that one of them is in."""
    topology, bounds = machine.topology, bounds_of_sockets(machine, platform)
    if topology is None or not bounds:
        return None
    wanted = set(nodes)
    near = [node.cpuset or node.near for node in topology.nodes if node.os_index in wanted]
    sockets = find_sockets(machine, topology)[0]
    reached = [bounds[at] for at, cpus in enumerate(sockets) if any(cpus & each for each in near)]
    return together(reached) if reached and all(near) else None
