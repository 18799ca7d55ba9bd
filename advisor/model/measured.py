"""What rules may ask of measurements: one value for each part of the machine, beside what it is compared with."""

from typing import Final

from pydantic import Field

from advisor.model.cpuset import CpuSet
from advisor.model.value import Value

MEASURED: Final = "measured"
"""The name under which measured facts stand, and the one fact that all of them lack where nothing was measured."""

MEASURE: Final = "advisor measure --quick, about 40 s"
"""What would make them known."""


class Speed(Value):
    """How fast the cores of one part reach their own memory, all of them at work; medians of the repeats."""

    index: int = Field(description="number of the core, L3 group, NUMA node or socket; 0 of the machine")
    cpus: CpuSet = Field(description="CPUs whose threads worked")
    load: float | None = Field(default=None, description="bytes a second")
    copying: float | None = Field(default=None, description="bytes a second, of regular and streaming stores the better")
    triad: float | None = Field(default=None, description="bytes a second, of regular and streaming stores the better")
    regular: float | None = Field(default=None, description="triad through the cache, in bytes a second")
    streaming: float | None = Field(default=None, description="triad past the cache, in bytes a second")
    rate: float | None = Field(default=None, description="what parts are compared by: triad, or load where that was not measured")
    what: str | None = Field(default=None, description="which of the two it is")
    spread: float | None = Field(
        default=None, description="how far apart the repeats of rate lie, as a share; None of fewer than three repeats"
    )
    siblings: float | None = Field(
        default=None,
        description="median rate of those like it: the other sockets, nodes of its memory's kind, L3 groups of its node",
    )
    share: float | None = Field(default=None, description="rate as a share of that of its siblings")
    ceiling: float | None = Field(default=None, description="bytes a second that its DIMMs could carry")
    latency: float | None = Field(
        default=None, description="seconds of one load of its own memory; of NUMA nodes and the machine"
    )
    latency_spread: float | None = Field(default=None, description="how far apart the repeats of latency lie, as a share")
    latency_siblings: float | None = Field(default=None, description="median latency of the other NUMA nodes of its kind")


class Way(Value):
    """Memory at one distance, against local memory; medians over all pairs of NUMA nodes."""

    distance: str = Field(description="same-socket or other-socket")
    bandwidth: float | None = Field(default=None, description="as a share of that of local memory")
    latency: float | None = Field(default=None, description="times that of local memory")
    spread: float | None = Field(default=None, description="how far apart the repeats of bandwidth lie, as a share")
    published: float | None = Field(default=None, description="the same share in a publication of this platform")
    ref: str | None = Field(default=None, description="that publication")


class Compared(Value):
    """A published result whose conditions this machine meets, and what was measured here."""

    name: str = Field(description="what was run, on which part: stream-triad of the machine")
    value: float = Field(description="measured here, bytes a second or seconds")
    spread: float | None = Field(default=None, description="how far apart its repeats lie, as a share")
    low: float | None = Field(default=None, description="the least that was published")
    high: float | None = Field(default=None, description="the most that was published")
    conditions: str = Field(description="what both have in common: EPYC 7702, 2 sockets, NPS4, 3200 MT/s")
    ref: str = Field(description="the publication")


class Caches(Value):
    """Which cores share a cache, as round trips of a cache line between them show it."""

    groups: tuple[CpuSet, ...] | None = Field(
        default=None, description="cores that are near each other; None where not all were paired"
    )
    agrees: bool | None = Field(
        default=None, description="whether the firmware's L3 groups are those; None where round trips do not tell near from far"
    )
    near: float | None = Field(default=None, description="seconds: median round trip inside a group")
    far: float | None = Field(default=None, description="seconds: median round trip between groups")
    example: str | None = Field(default=None, description="a pair that contradicts the firmware, in words")


class Clock(Value):
    """The clock of the cores while all of them compute."""

    isa: str = Field(description="scalar, avx2, avx512, neon, sve, ...")
    hertz: float = Field(description="achieved")
    spread: float | None = Field(default=None, description="how far apart the repeats lie, as a share")
    nominal: float | None = Field(default=None, description="base clock of the processor")
    share: float | None = Field(default=None, description="achieved clock as a share of the base clock")


class Flops(Value):
    """Double-precision floating point of all cores together."""

    rate: float = Field(description="operations a second")
    isa: str = Field(description="instructions used")
    cores: int = Field(description="cores that worked")
    spread: float | None = Field(default=None, description="how far apart the repeats lie, as a share")
    clock: float | None = Field(default=None, description="hertz achieved, or the base clock where none was measured")
    peak: float | None = Field(default=None, description="operations a second that these cores could do at that clock")
    share: float | None = Field(default=None, description="rate as a share of the peak")


class Refused(Value):
    """A result that is not believed."""

    name: str = Field(description="the task and what of it")
    why: str = Field(description="above the ceiling, pages on another node, ...")


class MeasuredFacts(Value):
    """What was measured on this machine."""

    when: str = Field(description="local time: 2026-11-21 14:05")
    idle: bool | None = Field(description="whether nobody else worked before and meanwhile; None where nobody looked")
    busy: tuple[str, ...] = Field(default=(), description="who or what did")
    results: int = Field(description="how many results there are")
    worst_spread: float | None = Field(default=None, description="the widest spread of any believed result, as a share")
    worst: str | None = Field(default=None, description="the task that has it")
    cores: tuple[Speed, ...] | None = Field(default=None, description="each core alone")
    groups: tuple[Speed, ...] | None = Field(default=None, description="each L3 group alone")
    nodes: tuple[Speed, ...] | None = Field(default=None, description="each NUMA node alone")
    sockets: tuple[Speed, ...] | None = Field(default=None, description="each socket alone")
    machine: Speed | None = Field(default=None, description="the whole machine at once")
    one_core_per_l3: float | None = Field(
        default=None, description="triad with one core of each L3 group, as a share of that with all cores"
    )
    one_core_spread: float | None = Field(default=None, description="how far apart the repeats of either lie, as a share")
    remote: tuple[Way, ...] | None = Field(default=None, description="memory of other NUMA nodes")
    nps_gain: float | None = Field(
        default=None,
        description="what local memory gives above memory interleaved over the nodes of a socket, as a share: estimated from "
        "the bandwidth between its nodes",
    )
    nps_spread: float | None = Field(default=None, description="how far apart the repeats behind nps_gain lie, as a share")
    caches: Caches | None = None
    clocks: tuple[Clock, ...] | None = Field(default=None, description="by instructions")
    flops: Flops | None = None
    published: tuple[Compared, ...] = Field(default=(), description="bandwidths published for machines like this one")
    published_latency: tuple[Compared, ...] = Field(default=(), description="latencies published for machines like this one")
    refused: tuple[Refused, ...] = Field(default=(), description="results that are not believed")
    missing: tuple[str, ...] = Field(default=(), description="tasks without a result")
