"""Where ranks were meant to sit, what each of them saw, and in what the two differ. CPU numbers are the kernel's."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from advisor.jobs.placement import Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from advisor.machine.value import Value

GPU_VARIABLES: Final = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRank:
    """Where one rank shall sit. No Value, as Observation: a job has a hundred thousand of them."""

    rank: Annotated[int, Field(ge=0, lt=1 << 24)]
    host: Annotated[str, Field(max_length=255)] | None = None
    """None where the plan has one node without a name."""
    local: int | None = None
    """Its number among the ranks of its host."""
    cpus: CpuSet
    memory: tuple[int, ...] | None = None
    """NUMA nodes its memory shall come from; None: not planned."""
    nodes: tuple[int, ...] | None = None
    """NUMA nodes of its CPUs; None: the plan does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one rank says of itself."""

    rank: int | None
    """None where no launcher gave it one."""
    size: int | None = None
    """Ranks in all, by the launcher's variable."""
    local: int | None = None
    host: str
    pid: int | None = None
    cpus: CpuSet
    """The CPUs it may run on."""
    mems: CpuSet | None = None
    """The NUMA nodes that its cgroup lets it use."""
    policy: str | None = None
    """Its memory policy, as /proc/self/numa_maps has it: default, bind:0-1."""
    last: int | None = None
    """The CPU it ran on."""
    ucx: str | None = None
    """UCX_NET_DEVICES."""
    omp: str | None = None
    """OMP_PLACES."""
    gpu: str | None = None
    """The GPUs that it is shown."""


class GatheredReports(Value):
    """What was found in the output of a launcher."""

    ranks: tuple[Observation, ...] = Field(default=(), description="one for each rank, in order")
    alone: int = Field(default=0, description="lines of processes that no launcher gave a rank")
    repeated: tuple[int, ...] = Field(default=(), description="ranks that two processes say they are")
    damaged: int = Field(default=0, description="lines that were begun and cannot be read")


Verdict = Literal["exact", "memory", "wider", "narrower", "overlapping", "elsewhere", "wrong host", "missing"]
VERDICTS: Final[tuple[Verdict, ...]] = (
    "missing", "wrong host", "overlapping", "elsewhere", "wider", "narrower", "memory", "exact",
)  # fmt: skip
"""The worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankVerdict:
    """One rank: planned against seen."""

    rank: int
    verdict: Verdict
    planned: PlannedRank
    seen: Observation | None
    """None where it is missing."""
    shares: bool = False
    """Whether another rank may run on one of its cores, unlike in the plan."""


class Cause(Value):
    """What most likely happened to some ranks."""

    id: str
    say: str
    ranks: CpuSet = Field(description="the ranks it explains")


class Comparison(Value):
    """Everything in which ranks are not where the plan has them."""

    planned: int = Field(description="ranks of the plan")
    seen: int = Field(description="ranks that reported, of the plan's")
    differ: tuple[RankVerdict, ...] = Field(default=(), description="every rank that is not exactly where it should be")
    extra: tuple[int, ...] = Field(default=(), description="ranks that reported and are not in the plan")
    causes: tuple[Cause, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="what else is to know; nothing that makes a difference")

    @property
    def equal(self) -> bool:
        """Whether every rank is exactly where the plan has it, and there is no other."""
        return not self.differ and not self.extra


class Thread(Value):
    """One thread of a running process."""

    id: int
    cpus: CpuSet
    last: int | None = Field(default=None, description="the CPU it ran on last")
    running: bool = Field(default=False, description="whether it ran, or wanted to, when it was looked at")


class Process(Value):
    """One process of a running application."""

    pid: int
    name: str
    cpus: CpuSet = Field(description="the CPUs that any of its threads may run on")
    threads: tuple[Thread, ...]
    mems: CpuSet | None = None
    rank: int | None = Field(default=None, description="by the launcher's variables; None without one, or where not readable")
    local: int | None = None
    size: int | None = None
    ucx: str | None = None
    omp: str | None = None
    gpu: str | None = None
    told: bool = Field(default=True, description="whether its variables could be read")


class RunningProcesses(Value):
    """The processes that were looked at, and what of them could not be read."""

    host: str | None = None
    processes: tuple[Process, ...] = ()
    unread: tuple[str, ...] = Field(default=(), description="one line each")


class Caution(Value):
    """Something about running processes that costs them performance."""

    id: str
    say: str
    pids: tuple[int, ...]


class PlannedBinding(Value):
    """A plan as it is read from a file."""

    ranks: tuple[PlannedRank, ...]
    topology: Topology | None = Field(default=None, description="of the nodes, where the file has it and all are alike")


def planned_ranks(placement: Placement) -> tuple[PlannedRank, ...]:
    """Return where each rank of a placement shall sit."""
    return tuple(
        PlannedRank(rank=rank, host=host, local=local, cpus=slot.cpus, memory=slot.memory or None, nodes=slot.nodes)
        for rank, host, local, slot in placement.ranks()
    )


def same_host(one: str | None, other: str | None) -> bool:
    """Return whether two names mean one host: a short name is that of any domain.

    >>> same_host("n1", "n1.cluster"), same_host("n1.a", "n1.b"), same_host("N1", "n1"), same_host(None, "n1")
    (True, False, True, True)
    """
    if one is None or other is None or one == other:
        return True
    a, b = one.casefold().rstrip("."), other.casefold().rstrip(".")
    return a == b or (a.partition(".")[0] == b.partition(".")[0] and ("." not in a or "." not in b))
