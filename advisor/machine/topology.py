"""What is where: packages, dies, NUMA nodes, L3 groups, cores and PUs, by the kernel's own CPU numbers."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import Field, model_validator

from advisor.errors import BadValue
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.fact import Bytes, Number
from advisor.machine.value import Value, Whole


class Package(Value):
    """A socket, as the kernel reports it."""

    os_index: Number | None
    """the kernel's physical_package_id"""
    cpuset: CpuSet
    """its CPUs"""


class Die(Value):
    """A die of a package that has several."""

    os_index: Number | None
    """the kernel's die_id"""
    cpuset: CpuSet
    """its CPUs"""


class L3(Value):
    """CPUs that share one last level cache: a CCX on EPYC, a socket or a cluster on Xeon."""

    cpuset: CpuSet
    """the CPUs that share it"""
    size: Bytes | None
    """bytes"""


class SharedL2(Value):
    """CPUs that share a level 2 cache and are not just one core (Xeon E5345): hwloc, and so launchers, count in their order."""

    cpuset: CpuSet
    """the CPUs that share it"""


class NumaNode(Value):
    """A NUMA node: memory, and the CPUs closest to it."""

    os_index: Number = Field(ge=0, lt=LIMIT)
    """the kernel's node number"""
    cpuset: CpuSet
    """the node's own CPUs; empty for a memory-only node"""
    near: CpuSet
    """the CPUs closest to this memory; the same as cpuset if it has CPUs"""
    memory: Bytes | None
    """bytes; 0 if the node has no memory"""
    kind: str | None = None
    """dram, hbm, cxl, nvdimm or gpu, if the source says"""


class Core(Value):
    """A core and its hardware threads."""

    os_index: Number | None
    """the kernel's core_id, unique only within its package"""
    cpuset: CpuSet
    """its hardware threads"""


class Distances(Value):
    """The table of relative memory latencies the firmware gave (SLIT): 10 means local."""

    nodes: tuple[Number, ...]
    """node numbers, in the order of rows and columns"""
    rows: tuple[tuple[Number, ...], ...]
    """one row per node"""

    @model_validator(mode="after")
    def _is_square(self) -> "Distances":
        size = len(self.nodes)
        if len(self.rows) != size or any(len(row) != size for row in self.rows):
            raise ValueError(f"the distances of {size} nodes need {size} rows of {size}")
        return self

    def between(self, a: int, b: int) -> int | None:
        """Return the distance from node a to node b, or None if the table lacks one of them."""
        if a not in self.nodes or b not in self.nodes:
            return None
        return self.rows[self.nodes.index(a)][self.nodes.index(b)]


_HasCpus = Package | Die | NumaNode | L3 | SharedL2 | Core
_Part = TypeVar("_Part", Package, Die, L3, SharedL2, Core)


class Topology(Whole):
    """The whole machine; ``inside`` is the part that a cgroup leaves to this process."""

    packages: tuple[Package, ...] = ()
    dies: tuple[Die, ...] = ()
    """only if a package has several dies"""
    nodes: tuple[NumaNode, ...] = ()
    l3: tuple[L3, ...] = ()
    shared_l2: tuple[SharedL2, ...] = ()
    """only the L2 caches that serve several cores, or just part of one core"""
    cores: tuple[Core, ...] = ()
    own_caches: tuple[Number, ...] = ()
    """cache levels (1, 2) that are known to be private to each core"""
    pus: CpuSet = CpuSet()
    """CPUs online"""
    missing: CpuSet = CpuSet()
    """CPUs that exist but are offline or hidden from the source"""
    missing_nodes: CpuSet = CpuSet()
    """NUMA nodes that exist but are hidden from the source"""
    allowed: CpuSet = CpuSet()
    """CPUs that the cgroup of the process allows"""
    allowed_nodes: CpuSet = CpuSet()
    """NUMA nodes that the cgroup of the process allows"""
    distances: Distances | None = None
    numa_known: bool = True
    """false when the source has no NUMA information and one node represents all"""

    @model_validator(mode="after")
    def _is_plausible(self) -> "Topology":
        """Refuse parts that name the same CPUs again and again: a hostile file would take memory and time without end."""
        most: tuple[tuple[Sequence[_HasCpus], int], ...] = (
            (self.packages, 1024),
            (self.dies, 4096),
            (self.nodes, 1024),
            (self.l3, 16384),
            (self.shared_l2, LIMIT),
            (self.cores, LIMIT),
        )
        for parts, limit in most:
            if len(parts) > limit:
                kind = type(parts[0]).__name__
                raise BadValue(f"{len(parts)} parts of kind {kind}, more than any machine has", cure="refused as unsafe")
            named = 0
            for part in parts:
                named += len(part.cpuset)
                if named > 4 * LIMIT:
                    raise BadValue(f"the topology's parts name more than {4 * LIMIT} CPUs in total", cure="refused as unsafe")
        return self

    @property
    def cpu_nodes(self) -> tuple[NumaNode, ...]:
        """The NUMA nodes that have CPUs."""
        return tuple(node for node in self.nodes if node.cpuset)

    @property
    def limited(self) -> bool:
        """Whether a cgroup hides part of the machine from this process."""
        return not (self.pus <= self.allowed and CpuSet(n.os_index for n in self.nodes) <= self.allowed_nodes)

    @property
    def inside(self) -> "Topology":
        """What the process may use, as hwloc shows it by default: other CPUs and nodes are gone."""
        return self if not self.limited else self._restricted()

    def _restricted(self) -> "Topology":
        hosts = [node.cpuset for node in self.cpu_nodes if node.os_index in self.allowed_nodes]
        nodes = tuple(
            node.but(cpuset=node.cpuset & self.allowed, near=node.near & self.allowed)
            for node in self.nodes
            if node.os_index in self.allowed_nodes
        )
        return self.but(
            packages=_within(self.packages, self.allowed, hosts),
            dies=_within(self.dies, self.allowed, hosts),
            l3=_within(self.l3, self.allowed, hosts),
            shared_l2=_within(self.shared_l2, self.allowed, []),
            cores=_within(self.cores, self.allowed, []),
            nodes=nodes,
            pus=self.pus & self.allowed,
        )

    def nodes_of(self, cpus: CpuSet) -> tuple[NumaNode, ...]:
        """Return the nodes whose own CPUs overlap the given ones."""
        return tuple(node for node in self.nodes if node.cpuset & cpus)

    def nodes_near(self, cpus: CpuSet) -> tuple[int, ...]:
        """Return the numbers of the CPU nodes that lie inside the given CPUs, or that hold them all."""
        inside = tuple(n.os_index for n in self.cpu_nodes if n.cpuset <= cpus)
        return inside or tuple(n.os_index for n in self.cpu_nodes if cpus and cpus <= n.cpuset)

    def package_of(self, cpus: CpuSet) -> int | None:
        """Return the position of the package that holds all the given CPUs, or None if none does."""
        return next((i for i, package in enumerate(self.packages) if cpus and cpus <= package.cpuset), None)


def _within(things: tuple[_Part, ...], cpus: CpuSet, hosts: list[CpuSet]) -> tuple[_Part, ...]:
    """Return the things with the given CPUs left in them; one without any stays if it holds a node of allowed memory."""
    return tuple(
        thing.but(cpuset=thing.cpuset & cpus)
        for thing in things
        if thing.cpuset & cpus or not thing.cpuset or any(node <= thing.cpuset for node in hosts)
    )


class Counts(Value):
    """How many of each."""

    packages: int
    numa_nodes: int
    l3: int
    cores: int
    pus: int


def counts(topology: Topology) -> Counts:
    """Return how many packages, NUMA nodes, L3 groups, cores and PUs a topology shows."""
    return Counts(
        packages=len(topology.packages),
        numa_nodes=len(topology.nodes),
        l3=len(topology.l3),
        cores=len(topology.cores),
        pus=len(topology.pus),
    )


def covered(topology: Topology) -> CpuSet:
    """Return the CPUs that some NUMA node owns."""
    return union(node.cpuset for node in topology.nodes)
