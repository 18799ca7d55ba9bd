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

    name: str = Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")
    """triad-nt"""
    unit: Unit
    arrays: int
    """number of arrays that it walks in memory; 0 if negligible"""
    read: int | None
    """bytes"""
    written: int | None
    """bytes, without the read before a store through the cache"""
    flops: int | None = None
    iteration: str = Field(pattern=r"^\s*[^\s,]")
    """one iteration: a = b + s*c"""

    @property
    def title(self) -> str:
        """What it is called in tables: the iteration up to a comma."""
        return self.iteration.partition(",")[0]


class KernelSheet(Value):
    """What the header comment of a kernel says."""

    name: KernelName
    summary: str
    """what it measures, in a few words"""
    arguments: tuple[Annotated[str, Field(pattern="^--")], ...] = ()
    """its own arguments: --bytes SIZE"""
    parts: tuple[KernelPart, ...] = ()
    """parts of a machine that it runs on; none for an MPI kernel"""
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


class Task(Value):
    """One thing to measure: where, with what, and expected duration. The same task has the same name in every run."""

    name: str
    """membw/part/numa/3/triad-nt: kernel, purpose, part, number, variant"""
    kernel: KernelName
    purpose: Purpose
    variants: tuple[str, ...]
    """variants of the kernel, several if one run can do several: load, triad-nt"""
    part: Part
    index: int | None = None
    """its core (number of its first CPU), L3 group (position), node (number) or socket (position); None for machine and pair"""
    cpus: tuple[int, ...]
    """one thread per CPU, in this order"""
    memory: int | None = None
    """NUMA node of the memory; None: each thread touches its own first"""
    distance: Distance | None = None
    slit: int | None = None
    """the firmware's distance from the cores to that node (10: local), which separates one hop from two"""
    order: Order | None = None
    """scaling curve: filled, or spread over the NUMA nodes"""
    groups: int | None = None
    """L3 groups of the CPUs; None if unknown"""
    arguments: tuple[str, ...] = ()
    """the kernel's other arguments"""
    seconds: float
    """expected duration"""

    @property
    def argv(self) -> tuple[str, ...]:
        """The kernel's arguments, all of them."""
        node = ("--node", str(self.memory)) if self.memory is not None else ()
        return ("--cpus", ",".join(map(str, self.cpus)), *node, *self.arguments)


class Result(Value):
    """What one kernel said of one thing."""

    task: str
    """name of the task"""
    kernel: KernelName
    purpose: Purpose
    variant: str
    """triad-nt, chase, avx512-fma, ..."""
    part: Part
    index: int | None = None
    cpus: tuple[int, ...]
    """CPUs that ran threads; both for a pair"""
    memory: int | None = None
    """NUMA node that the memory was bound to"""
    distance: Distance | None = None
    slit: int | None = None
    """the firmware's distance from the cores to that node (10: local), which separates one hop from two"""
    order: Order | None = None
    """scaling curve: filled, or spread over the NUMA nodes"""
    unit: Unit
    values: tuple[float, ...] = Field(min_length=1)
    """every repeat"""
    bytes: int | None = None
    """size of the working set"""
    pages: dict[int, int] | None = None
    """sampled pages by their actual NUMA node"""
    page_kind: str | None = None
    """normal or huge, requested and actual"""
    isa: str | None = None
    """instructions used"""
    details: dict[str, float | int | str | bool] = Field(default_factory=dict)
    """what else the kernel reported"""
    ceiling: float | None = None
    """hardware ceiling, in the same unit"""
    refused: str | None = None
    """why it is rejected: above the ceiling, pages elsewhere, ..."""

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
    why: str
    """killed after 30 s, not enough memory on node 3, stopped by Ctrl-C, ..."""


class Conditions(Value):
    """Under which it was measured."""

    started: str
    """local time with its offset, ISO 8601"""
    seconds: float = 0.0
    """total duration"""
    idle: bool | None
    """whether the machine was idle before and nobody else used it meanwhile; None if not checked (other hosts)"""
    busy: tuple[str, ...] = ()
    """evidence against it: load 3.2, user alice runs xhpl on 32 CPUs"""
    compiler: str | None = None
    """its version line; None if the kernels were built elsewhere"""
    flags: str | None = None
    governor: str | None = None
    """governors of the CPUs, joined by commas"""
    hugepages: str | None = None
    """transparent huge pages: always, madvise, never"""
    imported: tuple[str, ...] = ()
    """other programs whose figures are included: STREAM 5.10"""

    @property
    def when(self) -> str:
        """When it was measured, to the minute, and what was imported: 2026-11-21 14:05; imported from STREAM 5.10."""
        started = self.started[:16].replace("T", " ")
        imported = f"imported from {', '.join(self.imported)}" if self.imported else ""
        return "; ".join(part for part in (started, imported) if part)


class Identity(Value):
    """Which machine, cut in which way, it was measured on: results of another are refused."""

    name: str | None = None
    """host name"""
    cpu: str | None = None
    """marketing name of the processor"""
    cpus: int | None = None
    """CPUs online"""
    nodes: tuple[str, ...] = ()
    """CPU list of each NUMA node, in order"""


class Measurements(Value):
    """Everything that one run of advisor measure brought."""

    schema_version: Literal[1] = MEASUREMENTS_SCHEMA
    advisor: str
    """version that measured"""
    machine: Identity
    conditions: Conditions
    kernels: tuple[KernelSheet, ...] = ()
    """the kernels' own descriptions"""
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
            return f"measured on {theirs}, but this is {ours}"
    for many, few, what in ((measured.cpus, own.cpus, "CPUs"), (len(measured.nodes), len(own.nodes), "NUMA nodes")):
        if many and few and many != few:
            return f"measured with {many} {what}, but the machine now has {few}"
    if measured.nodes and own.nodes and measured.nodes != own.nodes:
        return "measured when the NUMA nodes had different CPUs"
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

    one_core_per_l3: float | None = optional(gt=0)
    """memory bandwidth with one core per L3 group, as a fraction of that with all cores"""
    near_messages: float | None = optional(gt=0)
    """message rate of the adapter's socket, as a fraction of the other socket's"""


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

    number: int
    """number of runs or repeats"""
    median: float
    """median in the row's unit"""
    low: float
    """the smallest of them"""
    high: float
    """the largest of them"""


class Contrast(Value):
    """One thing that was measured under both settings."""

    hca: str | None = None
    """the adapter; None if the MPI chose"""
    what: Literal["message rate", "bandwidth", "part"]
    """the first two are for messages; part: of one machine"""
    kernel: str | None = None
    """for a part: the kernel that measured it"""
    variant: str | None = None
    """for a part: the kernel's variant"""
    part: Part | None = None
    index: int | None = None
    distance: Distance | None = None
    """for a part: distance to its memory"""
    bytes: int | None = None
    """size of a message, or of the working set"""
    pairs: int = 0
    """pairs of ranks that sent simultaneously"""
    unit: Unit
    before: Side
    after: Side
    ratio: float
    """median after divided by median before"""
    p: float
    """two-sided Mann-Whitney rank-sum test over all runs or repeats"""
    says: Outcome = Field(
        description=f"faster or slower if p is at most {SIGNIFICANT} and the medians differ by {NEGLIGIBLE} or more"
    )


class BeforeAfter(Value):
    """The same experiment under two settings, compared."""

    hosts: str
    """the hosts: a,b; for one machine its name"""
    launcher: str = ""
    """empty for one machine"""
    before: str
    """when its first run started"""
    after: str
    """when its first run started"""
    of: Literal["starts", "repeats"]
    """what was compared: medians of several runs of each setting, or the repeats of one run"""
    rows: tuple[Contrast, ...]
    warnings: tuple[str, ...] = ()
    """reasons to doubt it"""


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

    what: str
    """triad, latency, bandwidth, both ways, message rate, hpl, ..."""
    unit: Unit
    value: float
    statistic: Statistic = "one"
    scope: Scope
    size: int | None = None
    """bytes of a message or of the working set"""
    at: tuple[int, int] | None = None
    """NUMA node of the cores and of the memory; for CPU to CPU the two positions"""


class ImportedRun(Value):
    """One run of one program."""

    format: str
    """the reader: hpl, osu, stream, ..."""
    tool: str
    """OSU Micro-Benchmarks, MPI Latency Test"""
    version: str | None = None
    """as the program reports it; None if it does not"""
    line: int
    """the line of the file where it begins"""
    figures: tuple[ImportedFigure, ...] = ()
    conditions: dict[str, str | int | float] = Field(default_factory=dict)
    """conditions stated in the file: threads, N, device"""
    cpus: tuple[int, ...] = ()
    """hosts it ran on, if the file says"""
    not_said: tuple[str, ...] = ()
    """what a verdict needs but the file lacks: host, binding"""
    notes: tuple[str, ...] = ()
    """remarks: no residual was checked"""
    refused: str | None = None
    """why it is rejected as a whole"""

    @property
    def title(self) -> str:
        """The program, with its version where it says one: STREAM 5.10."""
        return f"{self.tool} {self.version}" if self.version else self.tool
