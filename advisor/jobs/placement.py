"""Which hosts get how many ranks of which plan, as launchers want to hear it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, StringConstraints, model_validator

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from advisor.machine.value import Value, optional

Strategy = Literal["compact", "spread-numa", "spread-l3", "hybrid", "hca-near", "balanced", "per-hca", "gpu-near"]
STRATEGIES: tuple[Strategy, ...] = (
    "compact",
    "spread-numa",
    "spread-l3",
    "hybrid",
    "hca-near",
    "balanced",
    "per-hca",
    "gpu-near",
)

Purpose = Literal["bandwidth", "latency", "throughput"]
"""What counts for a job whose strategy is not named: memory bandwidth, the latency of messages, many jobs on a node."""

Per = Literal["node", "socket", "numa", "l3", "core", "gpu"]
"""What ranks are counted in."""

HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,253}[A-Za-z0-9])?$")]
"""A host name that no launcher and no shell takes for anything else."""

DeviceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")]


CoreChoice = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,47}$")]
"""auto, fast, slow, any, or a kind of cores by its name: P-core, Cortex-X925."""


Mem = Literal["auto", "hbm", "dram"]
"""auto: HBM first where there is some, DRAM for what does not fit; hbm, dram: these alone."""

MemoryPolicy = Literal["prefer", "only"]
"""How strictly a rank's memory comes from its nodes: first from them, or from no others."""


class Slice(Value):
    """Part k of n of every node, for jobs that share it: 1/4 is the first quarter. Parts are disjoint and leave nothing."""

    part: int = Field(ge=1)
    """k, from 1"""
    of: int = Field(ge=1, le=1024)
    """n"""

    @model_validator(mode="after")
    def _inside(self) -> "Slice":
        if self.part > self.of:
            raise ValueError(f"part {self.part} of {self.of} does not exist")
        return self


class JobShape(Value):
    """The shape of a job; of ranks, ranks_per_node and per at most one is given, and where none is, as many ranks as fit."""

    ranks: int | None = optional(ge=1, le=1 << 24)
    """total number of ranks"""
    ranks_per_node: int | None = optional(ge=1, le=1 << 16)
    """ranks on each node"""
    per: Per | None = None
    """the part of a node that ranks are counted per"""
    per_count: int = optional(1, ge=1, le=1 << 12)
    """ranks per such part"""
    threads: int = optional(1, ge=1, le=1 << 12)
    """threads per rank: each gets a core, or a hardware thread if smt is use"""
    strategy: Strategy | Literal["auto"] = "auto"
    purpose: Purpose | None = None
    """the goal that auto places for"""
    gpus: int | None = optional(ge=1, le=1 << 16)
    """total number of GPUs, the first ones of each host; None: all"""
    near: DeviceName | None = None
    """HCA or GPU to place ranks near: mlx5_0, 0000:61:00.0, gpu0"""
    smt: Literal["skip", "use", "first"] = "skip"
    """whether second hardware threads run threads of their own; first: ranks never get them, as at sites with
    --threads-per-core=1"""
    core_kind: CoreChoice = "auto"
    """auto: the fastest cores first, then slower ones; any: all alike; otherwise only this kind"""
    mem: Mem | None = None
    """memory of ranks; null: from the nodes they run on, the default"""
    reserve: int = optional(0, ge=0, le=1 << 12)
    """cores per node left to the system: the first free ones"""
    reserve_per: Literal["socket", "numa", "l3"] | None = None
    """reserve that many per such part instead: some centres keep the first core of each L3 group"""
    slice: Slice | None = None
    hosts: tuple[HostName, ...] = ()
    """in the job's order; () for one node without a name"""

    @model_validator(mode="after")
    def _once(self) -> "JobShape":
        if sum(each is not None for each in (self.ranks, self.ranks_per_node, self.per)) > 1:
            raise ValueError("ranks, ranks_per_node and per are mutually exclusive")
        if (self.per == "gpu" or self.gpus) and self.strategy not in ("auto", "gpu-near"):
            raise ValueError(f"ranks per GPU need the strategy gpu-near, not {self.strategy}")
        if self.gpus and self.gpus % max(1, len(self.hosts)):
            raise ValueError(f"{self.gpus} GPUs cannot be spread evenly over {len(self.hosts)} hosts")
        if len(set(self.hosts)) != len(self.hosts):
            raise ValueError("a host occurs twice")
        return self


class Slot(Value):
    """One rank's place on a node."""

    cpus: CpuSet
    """its CPUs, in the kernel's numbers; whole cores unless hardware threads are counted"""
    cores: int
    """the cores that these CPUs belong to"""
    nodes: tuple[int, ...]
    """NUMA nodes of its CPUs"""
    memory: tuple[int, ...]
    """NUMA nodes its memory should come from"""
    policy: MemoryPolicy | None = None
    """prefer: from these nodes first; only: from no others; null: from the node of first touch"""
    l3: tuple[int, ...]
    """positions in NodePlan.topology of its CPUs' L3 groups; () if none are known"""
    socket: int | None
    """position of its package in NodePlan.topology; None if it spans several"""
    hca: str | None = None
    """the adapter it should use"""
    distance: int | None = None
    """SLIT distance from its farthest node to the adapter's; None if unknown"""
    gpu: str | None = None
    """address of the GPU it should use"""


class NodePlan(Value):
    """The slots of one kind of node, in the order of local ranks."""

    topology: Topology
    """the launcher's view of the node (Topology.inside): maps CPU numbers to logical ones"""
    slots: tuple[Slot, ...]


class HostPlan(Value):
    """One host: its plan, and how many of its slots are used, from the first: so far always all."""

    name: str | None
    """None for a single node without a name"""
    plan: int
    """position in Placement.plans"""
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
    why: tuple[str, ...]
    """why this strategy, most important first"""
    runner_up: tuple[Strategy, str] | None = None
    """the best alternative that places ranks elsewhere, and why it is not the first choice"""
    notes: tuple[str, ...] = ()
    """notes: idle cores, ranks that differ"""
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


Placed = Literal["asked", "simulated", "observed", "not-told"]
"""How it is known where ranks go: by the launcher's own plan, by what is known of it here, by the ranks themselves."""


class LintOption(Value):
    """One option of the line, or a variable before it."""

    text: str
    """its words as written"""
    says: str
    """what it means, in one clause"""
    known: bool = True


class LintRank(Value):
    """Where one rank will be."""

    rank: int
    host: str | None
    """None if the line has no hosts"""
    cpus: CpuSet | None
    """the kernel's CPU numbers; None if the rank is not bound"""


class LintAnswer(Value):
    """One answer to where ranks go."""

    kind: Placed
    """asked of the launcher, simulated here, or observed by the ranks"""
    by: str = ""
    """the source: the launcher and its version, or the file the ranks wrote"""
    ranks: tuple[LintRank, ...] | None = None
    """None if refused or unknown"""
    refused: str | None = None
    """why nothing starts"""


class LintWarning(Value):
    """Something that will go wrong."""

    id: str
    what: str
    """what will happen"""
    why: str
    """why it happens, and what it costs"""
    evidence: str
    """the evidence in the line and on this machine"""
    better: str | None = None
    """the corrected line or words"""
    misbinds: bool = False
    """whether ranks end up elsewhere than the line itself says"""


class LintTranslation(Value):
    """The same for another launcher."""

    launcher: str
    line: str | None
    """None if unknown"""
    files: dict[str, tuple[str, ...]] = optional({})
    """files beside the line, and their lines"""
    lost: tuple[str, ...] = ()
    """what could not be translated"""


class Lint(Value):
    """A line read, explained and judged on one machine."""

    launcher: str
    """its name: openmpi4, mpich, srun"""
    version: str | None
    known_from: str
    """how the launcher and its version are known"""
    line: str
    options: tuple[LintOption, ...]
    command: tuple[str, ...]
    ranks: tuple[LintRank, ...] | None
    """None if not known exactly"""
    placed: Placed = "not-told"
    """how the placement, or the failure to start, is known"""
    answers: tuple[LintAnswer, ...] = ()
    """every answer; if they differ, none counts"""
    binding: str
    """what the line does, in words"""
    threads: int | None
    """threads per rank, if the line says"""
    assumed: tuple[str, ...] = ()
    """assumptions about the cluster"""
    warnings: tuple[LintWarning, ...]
    translations: tuple[LintTranslation, ...]


FEW = 8
"""Hosts that a command line names itself; more go into a file."""


LONGEST = 100_000
"""Characters of one argument: Linux refuses 131,072 (MAX_ARG_STRLEN)."""


_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class Run:
    """Hosts in a row with the same plan and the same number of ranks."""

    plan: NodePlan
    ranks: int
    """Ranks of each host."""
    hosts: tuple[HostPlan, ...]

    @property
    def kind(self) -> tuple[int, int]:
        """The position of the plan, and how many of its slots are used: what two runs alike have in common."""
        return self.hosts[0].plan, self.ranks

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots in use on each of the hosts."""
        return self.plan.slots[: self.ranks]


def runs(placement: Placement) -> Iterator[Run]:
    """Yield the hosts with ranks in order, those alike and in a row together; refuse a plan that cannot be launched."""
    used = [host for host in placement.hosts if host.ranks]
    if not used:
        raise BadValue("the plan has no ranks", cure="request at least one")
    if len(used) > 1 and any(host.name is None for host in used):
        raise BadValue("the plan has several hosts, but not all have names", cure="name the hosts")
    for host in used:
        _named(host)
    for (plan, ranks), hosts in groupby(used, key=lambda host: (host.plan, host.ranks)):
        if ranks > len(placement.plans[plan].slots):
            raise BadValue(f"a host has {ranks} ranks, but its plan has only {len(placement.plans[plan].slots)} places")
        yield Run(placement.plans[plan], ranks, tuple(hosts))


def kinds(placement: Placement) -> dict[int, int]:
    """Return the plans in use and the most ranks that a host has of each."""
    most: dict[int, int] = {}
    for host in placement.hosts:
        if host.ranks:
            most[host.plan] = max(most.get(host.plan, 0), host.ranks)
    return most


def refuse_colon(command: Sequence[str]) -> None:
    """Refuse a command with a word that Hydra takes for the end of it."""
    if ":" in command:
        raise BadValue("for Hydra ':' ends the command", cure="put the command into a script")


def only_slots(placement: Placement) -> tuple[Slot, ...] | None:
    """Return the slots that every host has from the first on; None where hosts have different ones."""
    shapes = sorted({placement.plans[plan].slots[:ranks] for plan, ranks in kinds(placement).items()}, key=len)
    cpus = [[slot.cpus for slot in shape] for shape in shapes]
    return shapes[-1] if all(shape == cpus[-1][: len(shape)] for shape in cpus) else None


def filled(placement: Placement) -> int | None:
    """Return the ranks of each host where every host has as many, the last perhaps fewer; None otherwise."""
    counts = [host.ranks for host in placement.hosts if host.ranks]
    return counts[0] if len(set(counts[:-1])) <= 1 and counts[-1] <= counts[0] else None


def _named(host: HostPlan) -> str:
    """Return a host's name for a line or a file; what cannot be one is refused, whatever launcher writes it."""
    if host.name is not None and not _NAME.fullmatch(host.name):
        raise BadValue(f"{host.name!a} is not a host name")
    return str(host.name)


def names(placement: Placement) -> tuple[str, ...]:
    """Return the names of the hosts with ranks, in order; () for the one without a name."""
    return tuple(_named(host) for host in placement.hosts if host.ranks and host.name is not None)


def host_of_each_rank(placement: Placement) -> Iterator[str]:
    """Yield a host's name for each of its ranks."""
    for host in placement.hosts:
        for _ in range(host.ranks):
            yield str(host.name)


def counted(placement: Placement) -> Iterator[str]:
    """Yield a host file's lines as Hydra, Intel MPI and mpirun_rsh read them: ``n1:16``."""
    for host in placement.hosts:
        if host.ranks:
            yield f"{_named(host)}:{host.ranks}"


def passed(environment: Mapping[str, str], option: str) -> Iterator[str]:
    """Yield the words that pass variables on: ``-genv NAME VALUE``."""
    for name, value in environment.items():
        yield from (option, name, value)


def assigned(environment: Mapping[str, str], option: str) -> list[str]:
    """Return the words that set variables: ``--env NAME=VALUE``."""
    return [word for name, value in environment.items() for word in (option, f"{name}={value}")]


def memory_notes(placement: Placement) -> tuple[str, ...]:
    """Return a note where ranks want memory that is not that of their own nodes: binding CPUs does not give it."""
    for plan, ranks in kinds(placement).items():
        own = (slot for slot in placement.plans[plan].slots[:ranks] if not slot.policy)
        if any(slot.memory and set(slot.memory) != set(slot.nodes) for slot in own):
            return ("some ranks need memory from other NUMA nodes: the wrapper binds it, but CPU binding alone does not",)
    return ()


def homeless(placement: Placement) -> bool:
    """Whether some rank's CPUs are in no NUMA node that is shown: no memory can be bound beside them."""
    slots = ((placement.plans[plan], ranks) for plan, ranks in kinds(placement).items())
    return any(not node.topology.nodes_of(slot.cpus) for node, ranks in slots for slot in node.slots[:ranks])


def devices_differ(placement: Placement) -> bool:
    """Whether ranks shall use different adapters or GPUs: only something that each rank runs can tell them."""
    slots = [slot for plan, ranks in kinds(placement).items() for slot in placement.plans[plan].slots[:ranks]]
    return len({slot.hca for slot in slots}) > 1 or len({slot.gpu for slot in slots}) > 1


def version_of(text: str | None) -> tuple[int, ...]:
    """Return the numbers that a version begins with; () where it is not known.

    >>> version_of("22.05.8"), version_of("5.0.2rc1"), version_of(None)
    ((22, 5, 8), (5, 0), ())
    """
    numbers: list[int] = []
    for part in (text or "").split("."):
        if not (part.isascii() and part.isdigit()):
            break
        numbers.append(int(part))
    return tuple(numbers)
