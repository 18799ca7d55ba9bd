"""What was measured: results with their repeats and conditions, and what the kernels say of themselves."""

from collections.abc import Iterator
from math import inf
from statistics import median
from typing import Annotated, Final, Literal

from pydantic import Field

from advisor.machine.machine import Machine
from advisor.machine.value import Value

NAME: Final = r"^[a-z][a-z0-9_]{0,30}$"
UNIT: Final = r"^(seconds|hertz|[a-z][a-z-]{0,30}/s)$"
"""Seconds are better when fewer, hertz are a clock, and something a second is better when more."""

KernelName = Annotated[str, Field(pattern=NAME)]
"""Of a file in kernels/: membw, memlat, gups."""
Unit = Annotated[str, Field(pattern=UNIT)]
KernelPart = Literal["core", "l3", "numa", "socket", "machine"]
"""A part of one machine, on which a kernel can run."""


class Variant(Value):
    """One thing that a kernel can measure, and what one iteration of it costs; None where arguments decide."""

    name: str = Field(description="triad-nt")
    unit: Unit
    arrays: int = Field(description="that it walks in memory; 0 where it has none to speak of")
    read: int | None = Field(description="bytes")
    written: int | None = Field(description="bytes, without the read that a store through the cache makes first")
    flops: int | None = None
    iteration: str = Field(description="what one iteration does: a = b + s*c")

    @property
    def title(self) -> str:
        """What it is called in tables: the iteration up to a comma."""
        return self.iteration.partition(",")[0]


class KernelSheet(Value):
    """What the header comment of a kernel says."""

    name: KernelName
    summary: str = Field(description="what it measures, in a few words")
    arguments: tuple[str, ...] = Field(default=(), description="those that are its own: --bytes SIZE")
    parts: tuple[KernelPart, ...] = Field(default=(), description="on which parts of a machine it runs; none of a kernel of MPI")
    mpi: bool = False
    variants: tuple[Variant, ...]

    def variant(self, name: str) -> Variant | None:
        """Return what it says of a variant."""
        return next((each for each in self.variants if each.name == name), None)

    def takes(self, argument: str) -> bool:
        """Return whether it has an argument, such as ``--bytes``."""
        return any(each.split()[0] == argument for each in self.arguments)


MEASUREMENTS_SCHEMA: Final = 1
"""Raised when a field changes meaning or goes; a reader refuses a newer one."""

Part = Literal["core", "l3", "numa", "socket", "machine", "pair"]
"""What a value belongs to. ``machine`` is what the articles call a node; ``pair`` is two CPUs."""

Purpose = Literal[
    "part", "sparse", "half", "scaling", "matrix", "ladder", "loaded", "map", "peak", "clock", "roofline",
    "network", "network-few", "network-pair", "hpl", "kernel",
]  # fmt: skip
"""Why it was run.

part: all cores of one part, local memory; sparse: one core of each L3 group of a part; half: half of those of each;
scaling: the first so many cores;
matrix: cores of one NUMA node, memory of another; ladder: latency by size; loaded: latency while others stream;
map: round trips between CPUs; peak, clock: floating point; roofline: ceilings that hold back a code;
network: messages between all cores of a part of two hosts; network-few: between two cores of each of its NUMA nodes;
network-pair: between one core of each host; hpl: a system of equations solved;
kernel: a kernel run as it is, on one part, for its own sake.
"""

NETWORK: Final[tuple[Purpose, ...]] = ("network", "network-few", "network-pair")
"""Messages between hosts."""

Distance = Literal["local", "same-socket", "other-socket", "spread"]
"""From the cores to their memory; spread: first touch over several nodes."""

Order = Literal["filled", "dealt"]
"""How threads of a scaling curve take their places: one NUMA node after the other, or one to each in turn."""

_SLIT: Final = "the firmware's distance from the cores to that node (10: local): distinguishes one hop from two"


class Task(Value):
    """One thing to measure: where, with what, and how long it should take. The same task has the same name in every run."""

    name: str = Field(description="membw/part/numa/3/triad-nt: kernel, purpose, part, number, variant")
    kernel: KernelName
    purpose: Purpose
    variants: tuple[str, ...] = Field(description="what of the kernel, several where one start can do several: load, triad-nt")
    part: Part
    index: int | None = Field(
        default=None,
        description="which core (number of its first CPU), L3 group (position), node (number), socket (position); "
        "None of machine and pair",
    )
    cpus: tuple[int, ...] = Field(description="one thread on each, in this order")
    memory: int | None = Field(default=None, description="NUMA node of the memory; None: each thread touches its own first")
    distance: Distance | None = None
    slit: int | None = Field(default=None, description=_SLIT)
    order: Order | None = Field(default=None, description="of a scaling curve: filled, or spread over the NUMA nodes")
    groups: int | None = Field(default=None, description="L3 groups that the CPUs are in; None where they are not known")
    arguments: tuple[str, ...] = Field(default=(), description="the kernel's other arguments, as given to it")
    seconds: float = Field(description="how long it should take")

    @property
    def argv(self) -> tuple[str, ...]:
        """The kernel's arguments, all of them."""
        node = ("--node", str(self.memory)) if self.memory is not None else ()
        return ("--cpus", ",".join(map(str, self.cpus)), *node, *self.arguments)


class Result(Value):
    """What one kernel said of one thing."""

    task: str = Field(description="name of the task")
    kernel: KernelName
    purpose: Purpose
    variant: str = Field(description="triad-nt, chase, avx512-fma, ...")
    part: Part
    index: int | None = None
    cpus: tuple[int, ...] = Field(description="CPUs whose threads worked; of a pair both")
    memory: int | None = Field(default=None, description="NUMA node that the memory was bound to")
    distance: Distance | None = None
    slit: int | None = Field(default=None, description=_SLIT)
    order: Order | None = Field(default=None, description="of a scaling curve: filled, or spread over the NUMA nodes")
    unit: Unit
    values: tuple[float, ...] = Field(description="every repeat", min_length=1)
    bytes: int | None = Field(default=None, description="size of the working set")
    pages: dict[int, int] | None = Field(default=None, description="sampled pages by the NUMA node that they really lay on")
    page_kind: str | None = Field(default=None, description="normal or huge, as asked and as got")
    isa: str | None = Field(default=None, description="instructions used")
    details: dict[str, float | int | str | bool] = Field(default_factory=dict, description="what else the kernel reported")
    ceiling: float | None = Field(default=None, description="what the hardware cannot exceed, in the same unit")
    refused: str | None = Field(default=None, description="why it is not believed: above the ceiling, pages elsewhere, ...")

    @property
    def median(self) -> float:
        """The middle of the repeats."""
        return median(self.values)

    @property
    def best(self) -> float:
        """The repeat that disturbances held back least: the shortest time, or the highest rate."""
        return min(self.values) if self.unit == "seconds" else max(self.values)

    @property
    def spread(self) -> float:
        """How far apart the middle half of the repeats lies, as a share of the median."""
        ordered = sorted(self.values)
        quarter = len(ordered) // 4
        middle = ordered[quarter : len(ordered) - quarter]
        return (middle[-1] - middle[0]) / self.median if self.median else inf


class Missing(Value):
    """A task without a result."""

    task: str
    why: str = Field(description="killed after 30 s, not enough memory on node 3, stopped by Ctrl-C, ...")


class Conditions(Value):
    """Under which it was measured."""

    started: str = Field(description="local time with its offset, ISO 8601")
    seconds: float = Field(default=0.0, description="how long all of it took")
    idle: bool | None = Field(
        description="whether the machine was idle before, and nobody else worked meanwhile; None where nobody looked: other hosts"
    )
    busy: tuple[str, ...] = Field(default=(), description="what spoke against it: load 3.2, user alice runs xhpl on 32 CPUs")
    compiler: str | None = Field(default=None, description="its version line; None where the kernels were built elsewhere")
    flags: str | None = None
    governor: str | None = Field(default=None, description="of the CPUs; all that there are, joined by a comma")
    hugepages: str | None = Field(default=None, description="transparent huge pages: always, madvise, never")
    imported: tuple[str, ...] = Field(default=(), description="other programs whose printed figures are among these: STREAM 5.10")

    @property
    def when(self) -> str:
        """When it was measured, to the minute, and what was imported: 2026-11-21 14:05; imported from STREAM 5.10."""
        started = self.started[:16].replace("T", " ")
        imported = f"imported from {', '.join(self.imported)}" if self.imported else ""
        return "; ".join(part for part in (started, imported) if part)


class Identity(Value):
    """Which machine, cut in which way, it was measured on: results of another are refused."""

    name: str | None = Field(default=None, description="host name")
    cpu: str | None = Field(default=None, description="marketing name of the processor")
    cpus: int | None = Field(default=None, description="CPUs online")
    nodes: tuple[str, ...] = Field(default=(), description="CPU list of each NUMA node, in order")


class Measurements(Value):
    """Everything that one run of advisor measure brought."""

    schema_version: Literal[1] = MEASUREMENTS_SCHEMA
    advisor: str = Field(description="version that measured")
    machine: Identity
    conditions: Conditions
    kernels: tuple[KernelSheet, ...] = Field(default=(), description="what the kernels that measured say of themselves")
    results: tuple[Result, ...] = ()
    missing: tuple[Missing, ...] = ()

    def sheet(self, kernel: str) -> KernelSheet | None:
        """Return what a kernel says of itself; None where the file does not hold it."""
        return next((each for each in self.kernels if each.name == kernel), None)

    def of(
        self,
        purpose: Purpose,
        unit: Unit | None = None,
        variant: str | None = None,
        part: Part | None = None,
        index: int | None = None,
    ) -> Iterator[Result]:
        """Yield the believed results that fit, in the order in which they were measured.

        What a part gave is a bandwidth or a latency: the unit tells them apart.
        """
        for result in self.results:
            if (
                result.purpose == purpose
                and result.refused is None
                and unit in (None, result.unit)
                and variant in (None, result.variant)
                and part in (None, result.part)
                and index in (None, result.index)
            ):
                yield result


def reported_text(result: Result, name: str) -> str:
    """Return a word; empty where it is none."""
    value = result.details.get(name, "")
    return value if isinstance(value, str) else ""


def reported_number(result: Result, name: str) -> float | None:
    """Return a number above 0; None where it is none."""
    value = result.details.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def reported_or_zero(result: Result, name: str) -> float:
    """Return a number above 0, to be shown or counted with; 0 where it is none."""
    return reported_number(result, name) or 0.0


def reported_integer(result: Result, name: str) -> int | None:
    """Return a whole number above 0; None where it is none."""
    found = reported_number(result, name)
    return int(found) if found is not None and found == int(found) else None


def identity_of(machine: Machine) -> Identity:
    """Return what distinguishes a machine, as it is partitioned now, from others."""
    topology = machine.topology
    return Identity(
        name=machine.name,
        cpu=machine.cpu.model_name if machine.cpu else None,
        cpus=len(topology.pus) if topology else None,
        nodes=tuple(str(node.cpuset) for node in topology.nodes) if topology else (),
    )


def machine_mismatch(measured: Identity, machine: Machine) -> str | None:
    """Return in what the machine that was measured differs from another, in words; None where it is the same."""
    own = identity_of(machine)
    for theirs, ours in ((measured.name, own.name), (measured.cpu, own.cpu)):
        if theirs and ours and theirs != ours:
            return f"measured on {theirs}, and this is {ours}"
    for many, few, what in ((measured.cpus, own.cpus, "CPUs"), (len(measured.nodes), len(own.nodes), "NUMA nodes")):
        if many and few and many != few:
            return f"measured with {many} {what}, and the machine has {few} now"
    if measured.nodes and own.nodes and measured.nodes != own.nodes:
        return "measured with other CPUs in the NUMA nodes than the machine has now"
    return None
