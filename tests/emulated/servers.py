"""The emulated servers, and where their CPUs are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

# What TCG lacks must be cleared by hand where x-force-features keeps TOPOEXT, without which AMD caches are not shared.
_EPYC = "x-force-features=on,-rdseed,-sha-ni,-fxsr-opt,-misalignsse,-3dnowprefetch,-osvw,-nrip-save,-xsavec"
_ROME = f"{_EPYC},-clwb,-wbnoinvd,-perfctr-core,-clzero,-xsaveerptr,-amd-stibp,-ibpb"


@dataclass(frozen=True)
class Server:
    """What a server is made of."""

    sockets: int
    groups: int
    """L3 groups of a socket, two to a die."""
    cores: int
    """Cores of an L3 group."""
    nodes: int
    """NUMA nodes of the whole server."""
    cpu: str
    """qemu's CPU model and flags."""
    model: str
    product: str
    board: str
    bios: str
    speed: int
    """Transfers a second of the memory, in millions."""
    nics: tuple[int, ...]
    """The node of each network adapter."""
    slots: int = 0
    """Core numbers that an L3 group's APIC IDs leave room for, where more than cores: Zen 1 keeps eight a CCX, and
    Linux reads its L3 groups off them."""
    threads: int = 1
    order: Literal["linear", "round-robin", "threads-last"] = "linear"
    """Round-robin deals the CPU numbers to the nodes; threads-last numbers second threads after all first ones."""
    distances: tuple[int, int, int, int] = (10, 12, 32, 32)
    """To itself, in the same socket, to the same place in the other socket, elsewhere in it."""
    mib: int = 256
    """Memory of a node."""
    hbm: int = 0
    """MiB of HBM beside each node, as one without CPUs: a Xeon Max in flat mode."""
    dimms: int = 16
    maker: str = "Dell Inc."

    @property
    def places(self) -> int:
        """Core numbers of an L3 group."""
        return self.slots or self.cores

    @property
    def amd(self) -> bool:
        """Whether AMD makes the CPU it shows."""
        return self.model.startswith("AMD")

    def distance(self, a: int, b: int) -> int:
        """Return the SLIT's value for two nodes."""
        own, inside, opposite, elsewhere = self.distances
        per = self.nodes // self.sockets
        if a == b:
            return own
        if a // per == b // per:
            return inside
        return opposite if a % per == b % per and per > 1 else elsewhere


_NPS4 = Server(
    sockets=2,
    groups=16,
    cores=4,
    nodes=8,
    cpu=f"EPYC-Rome,{_ROME}",
    model="AMD EPYC 7742 64-Core Processor",
    product="PowerEdge R7525",
    board="03WYW4",
    bios="2.6.6",
    speed=3200,
    nics=(6,),
)
_NAPLES = Server(
    sockets=2,
    groups=8,
    cores=4,
    slots=8,
    nodes=8,
    cpu=f"EPYC,{_EPYC}",
    model="AMD EPYC 7601 32-Core Processor",
    product="PowerEdge R7425",
    board="0KV6DM",
    bios="1.18.0",
    speed=2666,
    nics=(6,),
    order="round-robin",
    distances=(10, 16, 22, 28),
)
_INTEL = Server(
    sockets=2,
    groups=1,
    cores=16,
    threads=2,
    nodes=4,
    cpu="Icelake-Server",
    model="Intel(R) Xeon(R) Gold 6346 CPU @ 3.10GHz",
    product="PowerEdge R750",
    board="06V45N",
    bios="1.9.2",
    speed=3200,
    nics=(3,),
    order="threads-last",
    distances=(10, 11, 21, 21),
)


def _variants() -> Iterator[tuple[str, Server]]:
    """Yield what other BIOS settings make of these servers, by names that say so."""
    for nodes in (1, 4):  # NPS0 and NPS2; node interleaving is as NPS0
        yield f"rome-nps{nodes // 2}", replace(_NPS4, nodes=nodes, mib=512, nics=(nodes * 6 // 8,))
    for nodes in (1, 2, 4):  # 8 CPUs, each with an L3 cache of its own: for experiments
        yield f"small-nps{nodes}", replace(_NPS4, groups=4, cores=1, nodes=2 * nodes, nics=(nodes * 6 // 4,), dimms=4)
    yield "naples-interleaved", replace(_NAPLES, nodes=1, mib=1024, nics=(0,), order="linear", distances=(10, 10, 10, 10))
    for clusters, cut in ((1, ""), (2, "-snc2")):
        for threads, smt in ((1, "-nosmt"), (2, "")):
            yield f"intel{cut}{smt}", replace(_INTEL, nodes=2 * clusters, threads=threads, nics=(2 * clusters - 1,))


_MAX = replace(_INTEL, model="Intel(R) Xeon(R) CPU Max 9462", cores=4, threads=1, nodes=4, nics=(3,), order="linear", hbm=256)


_NAMED = {
    "naples": _NAPLES,  # 2 x EPYC 7601, SMT off; node 0 has CPUs 0, 8, 16, ...
    "rome-nps4": _NPS4,
    "rome-nps1": replace(_NPS4, nodes=2, nics=(1,)),
    "rome-l3numa": replace(_NPS4, nodes=32, mib=128, nics=(24,)),
    "intel-snc2": _INTEL,
    "small-hbm": _MAX,
}
_ALL = {**dict(_variants()), **_NAMED}
SERVERS = _ALL | {
    f"{name}-round-robin": replace(server, order="round-robin")
    for name, server in _ALL.items()
    if name.startswith(("rome", "intel")) and server.nodes > 1
}
"""Every server by its name. ``-round-robin`` is the same with the CPU numbers dealt to the nodes."""


class Cpu(NamedTuple):
    """A CPU: its APIC ID, its node, and its place."""

    apic: int
    node: int
    socket: int
    group: int
    core: int
    thread: int


def _bits(count: int) -> int:
    return (count - 1).bit_length()


def _unordered(server: Server) -> Iterator[Cpu]:
    per_socket, per_node = server.groups * server.cores, server.nodes // server.sockets
    for socket in range(server.sockets):
        for inside in range(per_socket):
            group, core = divmod(inside, server.cores)
            place = (((socket << _bits(server.groups)) + group) << _bits(server.places)) + core
            for thread in range(server.threads):
                apic = (place << _bits(server.threads)) + thread
                yield Cpu(apic, socket * per_node + inside * per_node // per_socket, socket, group, core, thread)


def cpus(server: Server) -> list[Cpu]:
    """Return the CPUs in the order of the operating system's numbers."""
    every = list(_unordered(server))
    if server.order == "round-robin":
        every = sorted(every, key=lambda cpu: cpu.thread)
        nodes = [[cpu for cpu in every if cpu.node == node] for node in range(server.nodes)]
        return [cpu for row in zip(*nodes, strict=True) for cpu in row]
    return sorted(every, key=lambda cpu: cpu.thread) if server.order == "threads-last" else every
