"""What was measured: results with their repeats and conditions, and what the kernels say of themselves."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import comb, erfc, inf, sqrt
from statistics import median
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field

from advisor.machine.machine import Machine
from advisor.machine.value import Value, optional

NAME = r"^[a-z][a-z0-9_]{0,30}$"
UNIT = r"^(seconds|hertz|[a-z][a-z-]{0,30}/s)$"
"""Seconds are better when fewer, hertz are a clock, and something a second is better when more."""

KernelName = Annotated[str, Field(pattern=NAME)]
"""Of a file in kernels/: membw, memlat, gups."""
Unit = Annotated[str, Field(pattern=UNIT)]
KernelPart = Literal["core", "l3", "numa", "socket", "machine"]
"""A part of one machine, on which a kernel can run."""


class Variant(Value):
    """One thing that a kernel can measure, and what one iteration of it costs; None where arguments decide."""

    name: str = Field(description="triad-nt", pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")
    unit: Unit
    arrays: int = Field(description="that it walks in memory; 0 where it has none to speak of")
    read: int | None = Field(description="bytes")
    written: int | None = Field(description="bytes, without the read that a store through the cache makes first")
    flops: int | None = None
    iteration: str = Field(description="what one iteration does: a = b + s*c", pattern=r"^\s*[^\s,]")

    @property
    def title(self) -> str:
        """What it is called in tables: the iteration up to a comma."""
        return self.iteration.partition(",")[0]


class KernelSheet(Value):
    """What the header comment of a kernel says."""

    name: KernelName
    summary: str = Field(description="what it measures, in a few words")
    arguments: tuple[Annotated[str, Field(pattern="^--")], ...] = optional("those that are its own: --bytes SIZE", ())
    parts: tuple[KernelPart, ...] = optional("on which parts of a machine it runs; none of a kernel of MPI", ())
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

NETWORK: tuple[Purpose, ...] = ("network", "network-few", "network-pair")
"""Messages between hosts."""

Distance = Literal["local", "same-socket", "other-socket", "spread"]
"""From the cores to their memory; spread: first touch over several nodes."""

Order = Literal["filled", "dealt"]
"""How threads of a scaling curve take their places: one NUMA node after the other, or one to each in turn."""

_SLIT = "the firmware's distance from the cores to that node (10: local): distinguishes one hop from two"


class Task(Value):
    """One thing to measure: where, with what, and how long it should take. The same task has the same name in every run."""

    name: str = Field(description="membw/part/numa/3/triad-nt: kernel, purpose, part, number, variant")
    kernel: KernelName
    purpose: Purpose
    variants: tuple[str, ...] = Field(description="what of the kernel, several where one start can do several: load, triad-nt")
    part: Part
    index: int | None = optional(
        "which core (number of its first CPU), L3 group (position), node (number), socket (position); None of machine and pair"
    )
    cpus: tuple[int, ...] = Field(description="one thread on each, in this order")
    memory: int | None = optional("NUMA node of the memory; None: each thread touches its own first")
    distance: Distance | None = None
    slit: int | None = optional(_SLIT)
    order: Order | None = optional("of a scaling curve: filled, or spread over the NUMA nodes")
    groups: int | None = optional("L3 groups that the CPUs are in; None where they are not known")
    arguments: tuple[str, ...] = optional("the kernel's other arguments, as given to it", ())
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
    memory: int | None = optional("NUMA node that the memory was bound to")
    distance: Distance | None = None
    slit: int | None = optional(_SLIT)
    order: Order | None = optional("of a scaling curve: filled, or spread over the NUMA nodes")
    unit: Unit
    values: tuple[float, ...] = Field(description="every repeat", min_length=1)
    bytes: int | None = optional("size of the working set")
    pages: dict[int, int] | None = optional("sampled pages by the NUMA node that they really lay on")
    page_kind: str | None = optional("normal or huge, as asked and as got")
    isa: str | None = optional("instructions used")
    details: dict[str, float | int | str | bool] = Field(default_factory=dict, description="what else the kernel reported")
    ceiling: float | None = optional("what the hardware cannot exceed, in the same unit")
    refused: str | None = optional("why it is not believed: above the ceiling, pages elsewhere, ...")

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
    seconds: float = optional("how long all of it took", 0.0)
    idle: bool | None = Field(
        description="whether the machine was idle before, and nobody else worked meanwhile; None where nobody looked: other hosts"
    )
    busy: tuple[str, ...] = optional("what spoke against it: load 3.2, user alice runs xhpl on 32 CPUs", ())
    compiler: str | None = optional("its version line; None where the kernels were built elsewhere")
    flags: str | None = None
    governor: str | None = optional("of the CPUs; all that there are, joined by a comma")
    hugepages: str | None = optional("transparent huge pages: always, madvise, never")
    imported: tuple[str, ...] = optional("other programs whose printed figures are among these: STREAM 5.10", ())

    @property
    def when(self) -> str:
        """When it was measured, to the minute, and what was imported: 2026-11-21 14:05; imported from STREAM 5.10."""
        started = self.started[:16].replace("T", " ")
        imported = f"imported from {', '.join(self.imported)}" if self.imported else ""
        return "; ".join(part for part in (started, imported) if part)


class Identity(Value):
    """Which machine, cut in which way, it was measured on: results of another are refused."""

    name: str | None = optional("host name")
    cpu: str | None = optional("marketing name of the processor")
    cpus: int | None = optional("CPUs online")
    nodes: tuple[str, ...] = optional("CPU list of each NUMA node, in order", ())


class Measurements(Value):
    """Everything that one run of advisor measure brought."""

    schema_version: Literal[1] = MEASUREMENTS_SCHEMA
    advisor: str = Field(description="version that measured")
    machine: Identity
    conditions: Conditions
    kernels: tuple[KernelSheet, ...] = optional("what the kernels that measured say of themselves", ())
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


FEWEST = 3
"""Repeats that a spread needs."""


def spread_of(*results: Result) -> float | None:
    """Return the widest spread of some results; None where one has too few repeats to tell."""
    return None if any(len(each.values) < FEWEST for each in results) else max((each.spread for each in results), default=None)


def fastest(results: Iterable[Result], what: str) -> Result | None:
    """Return the best result of a pattern, whether its stores are regular or streaming (``triad``, ``triad-nt``)."""
    own = [each for each in results if each.variant in (what, f"{what}-nt")]
    return max(own, key=lambda each: each.median, default=None)


class Gain(NamedTuple):
    """One result as a share of another, and how far apart the repeats of either lie."""

    ratio: float
    spread: float | None


def one_core_per_l3(measurements: Measurements, groups: int | None = None) -> Gain | None:
    """Return triad with one core of each L3 group against all cores of the machine, which has so many groups."""
    sparse = list(measurements.of("sparse", part="machine"))
    fewest = groups or min((len(each.cpus) for each in sparse), default=0)
    few = fastest((each for each in sparse if len(each.cpus) == fewest), "triad")
    every = fastest(measurements.of("part", "bytes/s", part="machine"), "triad")
    if few is None or every is None or every.median <= 0:
        return None
    return Gain(few.median / every.median, spread_of(few, every))


class MeasuredForPlacement(Value):
    """What was measured on a machine that bears on placement; None where it was not."""

    one_core_per_l3: float | None = optional(
        "memory bandwidth with one core of each L3 group, as a share of that with all cores", gt=0
    )
    near_messages: float | None = optional("message rate of the adapter's socket, as a share of the other socket's", gt=0)


def measured_for_placement(measurements: Measurements, groups: int | None = None) -> MeasuredForPlacement:
    """Return what was measured that decides where ranks should sit, on a machine of so many L3 groups."""
    sparse = one_core_per_l3(measurements, groups)
    near, far = _messages(measurements, ("local", "same-socket")), _messages(measurements, ("other-socket",))
    return MeasuredForPlacement(
        one_core_per_l3=sparse.ratio if sparse and sparse.ratio > 0 else None,
        near_messages=near / far if near and far else None,
    )


def _messages(measurements: Measurements, distances: tuple[str, ...]) -> float | None:
    """Return the best message rate of all cores of parts at some distances from the adapter that their messages took."""
    own = (each for each in measurements.of("network") if not each.details.get("way"))
    return max((rate for each in own if each.details.get("hca_distance") in distances and (rate := _rate(each))), default=None)


def _rate(result: Result) -> float | None:
    """Return messages/s: the result's own unit, or what the kernel reported beside its bandwidth."""
    rate = result.median if result.unit == "messages/s" else reported_number(result, "messages")
    return rate if rate is not None and rate > 0 else None


def median_of(values: Iterable[float]) -> float | None:
    """Return the median; None of nothing."""
    known = list(values)
    return median(known) if known else None


EXACT = 40
"""Values of both samples together up to which every way of dealing them out is counted."""
_LITTLE = 1e-9


def rank_sum_p(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how often chance alone, dealing out the same values, sets ranks as far apart as these: two-sided, ties shared.

    1 where a sample is empty. Above EXACT values the normal curve stands in, corrected for ties and for whole ranks.
    """
    if not one or not other:
        return 1.0
    ranks = doubled_ranks([*one, *other])
    found = sum(ranks[: len(one)])
    return _exact(ranks, len(one), found) if len(ranks) <= EXACT else _normal(ranks, len(one), found)


def least_p(one: int, other: int) -> float:
    """Return the smallest p that samples of such sizes can have at all: that of two that do not overlap."""
    return min(1.0, 2 / comb(one + other, one)) if one and other else 1.0


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, which is whole where equal values share theirs.

    >>> doubled_ranks([5.0, 1.0, 5.0])
    [5, 2, 5]
    """
    below = dict[float, int]()
    seen = 0
    for value, many in sorted(Counter(values).items()):
        below[value] = 2 * seen + many + 1
        seen += many
    return [below[value] for value in values]


def _exact(ranks: Sequence[int], size: int, found: int) -> float:
    """Return the share of all choices of so many ranks whose sum is as far from the middle as the one found."""
    sums: list[Counter[int]] = [Counter({0: 1}), *(Counter() for _ in range(size))]
    for rank in ranks:
        for chosen in range(size, 0, -1):
            for total, ways in sums[chosen - 1].items():
                sums[chosen][total + rank] += ways
    middle = size * sum(ranks)  # times the number of ranks, to stay whole
    away = abs(found * len(ranks) - middle)
    far = sum(ways for total, ways in sums[size].items() if abs(total * len(ranks) - middle) >= away)
    return far / comb(len(ranks), size)


def _normal(ranks: Sequence[int], size: int, found: int) -> float:
    """Return the same from the normal curve."""
    number, rest = len(ranks), len(ranks) - size
    mean = sum(ranks) / number
    spread = sum((rank - mean) ** 2 for rank in ranks) / (number - 1)
    deviation = sqrt(spread * size * rest / number)
    if deviation < _LITTLE:
        return 1.0
    away = max(0.0, abs(found - size * mean) - 1)  # ranks are doubled: half a rank is one
    return erfc(away / deviation / sqrt(2))


SIGNIFICANT = 0.01
"""A p above it shows nothing: of some sizes and adapters at once, one in a hundred is seldom met by chance."""
NEGLIGIBLE = 0.02
"""A smaller part is no difference, however sure: two runs with nothing changed lie as far apart."""

Outcome = Literal["faster", "slower", "no difference shown"]


def significance(p: float, ratio: float) -> Outcome:
    """Return in words what a p and a ratio of medians show."""
    if p > SIGNIFICANT or abs(ratio - 1) < NEGLIGIBLE:
        return "no difference shown"
    return "faster" if ratio > 1 else "slower"


class Side(Value):
    """One of the two settings, of one thing."""

    number: int = Field(description="of starts or repeats")
    median: float = Field(description="in the unit of the row")
    low: float = Field(description="the least of them")
    high: float = Field(description="the most of them")


class Contrast(Value):
    """One thing that was measured under both settings."""

    hca: str | None = optional("the adapter; None where the MPI chose")
    what: Literal["message rate", "bandwidth", "part"] = Field(description="of messages the first two; part: of one machine")
    kernel: str | None = optional("of a part: what measured it")
    variant: str | None = optional("of a part")
    part: Part | None = None
    index: int | None = None
    distance: Distance | None = optional("of a part: to its memory")
    bytes: int | None = optional("size of a message, or of the working set")
    pairs: int = optional("pairs of ranks that sent at once", 0)
    unit: Unit
    before: Side
    after: Side
    ratio: float = Field(description="median after through median before")
    p: float = Field(description="two-sided, rank-sum test of Mann and Whitney over all starts or repeats")
    says: Outcome = Field(
        description=f"faster or slower where p is at most {SIGNIFICANT} and the medians differ by {NEGLIGIBLE} or more"
    )


class BeforeAfter(Value):
    """The same experiment under two settings, compared."""

    hosts: str = Field(description="between which hosts: a,b; of one machine its name")
    launcher: str = optional("empty of one machine", "")
    before: str = Field(description="when the first run of it began")
    after: str = Field(description="when the first run of it began")
    of: Literal["starts", "repeats"] = Field(
        description="what was compared: medians of several starts of each setting, or the repeats of one start"
    )
    rows: tuple[Contrast, ...]
    warnings: tuple[str, ...] = optional("what speaks against believing it", ())


HPL_ROW = re.compile(
    r"^\s*(?P<tv>W[RC]\w*)\s+(?P<n>\d+)\s+(?P<nb>\d+)\s+(?P<p>\d+)\s+(?P<q>\d+)\s+(?P<seconds>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?)\s+"
    r"(?P<gflops>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?|-?(?:nan|inf))(?:\s+\(?\s*[\d.eE+]+\)?)?\s*$",
    re.MULTILINE,
)
"""A row of any HPL: T/V, N, NB, P, Q, seconds, GFLOP/s, and of NVIDIA's the rate of each GPU."""
HPL_CHECK = re.compile(r"^\s*\|\|Ax-b\|\|.*=\s*(?P<value>\S+?)\s*\.+\s*(?P<verdict>PASSED|FAILED)", re.MULTILINE)
"""The line below a row: the residual of its answer, and whether that is small enough."""

Statistic = Literal["one", "best", "mean", "median", "sum"]
"""What the program made of its repeats: the figure of one run, the best, the mean or the median of several."""
Scope = Literal[
    "all threads", "one thread", "each process", "one process", "pair", "all pairs", "all ranks", "all GPUs", "node to node",
    "CPU to CPU",
]  # fmt: skip
"""What a figure is of."""


class ImportedFigure(Value):
    """One number of a table."""

    what: str = Field(description="triad, latency, bandwidth, both ways, message rate, hpl, ...")
    unit: Unit
    value: float
    statistic: Statistic = "one"
    scope: Scope
    size: int | None = optional("bytes of a message or of the working set")
    at: tuple[int, int] | None = optional("NUMA node of the cores and of the memory; of CPU to CPU the two positions")


class ImportedRun(Value):
    """One run of one program."""

    format: str = Field(description="the reader: hpl, osu, stream, ...")
    tool: str = Field(description="OSU Micro-Benchmarks, MPI Latency Test")
    version: str | None = optional("as the program says it; None where it does not")
    line: int = Field(description="at which it begins in its file")
    figures: tuple[ImportedFigure, ...] = ()
    conditions: dict[str, str | int | float] = Field(default_factory=dict, description="what the file says: threads, N, device")
    cpus: tuple[int, ...] = optional("on which it ran, where the file says so", ())
    not_said: tuple[str, ...] = optional("what a verdict needs and the file does not say: host, binding", ())
    notes: tuple[str, ...] = optional("what to keep in mind: no residual was checked", ())
    refused: str | None = optional("why none of it is believed")

    @property
    def title(self) -> str:
        """The program, with its version where it says one: STREAM 5.10."""
        return f"{self.tool} {self.version}" if self.version else self.tool
