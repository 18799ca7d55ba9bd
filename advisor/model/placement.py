"""Who sits where: an abstract plan, the same whatever launcher carries it out. CPU numbers are the kernel's."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import Field

from advisor.model.cpuset import CpuSet
from advisor.model.job import JobShape, Strategy
from advisor.model.topology import Topology
from advisor.model.value import Value


class Measured(Value):
    """What was measured on a machine that bears on placement; None where it was not."""

    one_core_per_l3: float | None = Field(
        default=None, gt=0, description="memory bandwidth with one core of each L3 group, as a share of that with all cores"
    )
    near_messages: float | None = Field(
        default=None, gt=0, description="message rate of the adapter's socket, as a share of the other socket's"
    )


class Slot(Value):
    """One rank's place on a node."""

    cpus: CpuSet = Field(description="its CPUs by the kernel's numbers; whole cores unless hardware threads are counted")
    cores: int = Field(description="cores that these are, or are of")
    nodes: tuple[int, ...] = Field(description="NUMA nodes of its CPUs")
    memory: tuple[int, ...] = Field(description="NUMA nodes its memory should come from")
    l3: tuple[int, ...] = Field(description="positions in NodePlan.topology of its CPUs' L3 groups; () where none are known")
    socket: int | None = Field(description="position of its package in NodePlan.topology; None where it spans several")
    hca: str | None = Field(default=None, description="the adapter it should use")
    distance: int | None = Field(
        default=None, description="SLIT distance from its farthest node to the adapter's; None where not known"
    )
    gpu: str | None = Field(default=None, description="address of the GPU it should use")


class NodePlan(Value):
    """The slots of one kind of node, in the order of local ranks."""

    topology: Topology = Field(
        description="what a launcher sees of the node (Topology.inside): turns CPU numbers into its logical ones"
    )
    slots: tuple[Slot, ...]


class HostPlan(Value):
    """One host: its plan, and how many of its slots are used, from the first: so far always all."""

    name: str | None = Field(description="None for the one node that has no name")
    plan: int = Field(description="position in Placement.plans")
    ranks: int


class RankPlace(NamedTuple):
    """One rank: its number, its host, its number among those of its host, and its place there."""

    rank: int
    host: str | None
    local: int
    slot: Slot


class Placement(Value):
    """The plan of a whole job: the first ranks are on the first host, the next on the second."""

    job: JobShape
    strategy: Strategy
    why: tuple[str, ...] = Field(description="why this strategy, most important first")
    runner_up: tuple[Strategy, str] | None = Field(
        default=None, description="the best one of those that place ranks elsewhere, and why it is not the first"
    )
    notes: tuple[str, ...] = Field(default=(), description="what to know: cores left idle, ranks that are not alike")
    plans: tuple[NodePlan, ...]
    hosts: tuple[HostPlan, ...]

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return sum(host.ranks for host in self.hosts)

    def ranks(self) -> Iterator[RankPlace]:
        """Yield every rank in order; a million are never held at once."""
        rank = 0
        for host in self.hosts:
            for local, slot in enumerate(self.plans[host.plan].slots[: host.ranks]):
                yield RankPlace(rank, host.name, local, slot)
                rank += 1
