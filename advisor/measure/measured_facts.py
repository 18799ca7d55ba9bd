"""What rules may ask of measurements: one value for each part of the machine, beside what it is compared with."""

from typing import Any, Literal

from pydantic import Field

from advisor.machine.cpuset import CpuSet
from advisor.machine.value import Value, optional
from advisor.measure.platform import Metric

MEASURED = "measured"
"""The name under which measured facts stand, and the one fact that all of the quick set lack where nothing was measured."""

UNMEASURED = "nothing was measured"
"""Why they are not known then."""

UNPUBLISHED = "no published figure for this machine"
"""Said only where no figure at all is: one under other conditions is shown with what differs."""

MEASURE = "advisor measure --quick, about 40 s"
"""What would make them known."""


class Speed(Value):
    """How fast the cores of one part reach their own memory, all of them at work; medians of the repeats."""

    index: int = Field(description="number of the core, L3 group, NUMA node or socket; 0 of the machine")
    cpus: CpuSet = Field(description="CPUs whose threads worked")
    load: float | None = optional("bytes a second")
    copying: float | None = optional("bytes a second, of regular and streaming stores the better")
    triad: float | None = optional("bytes a second, of regular and streaming stores the better")
    regular: float | None = optional("triad through the cache, in bytes a second")
    streaming: float | None = optional("triad past the cache, in bytes a second")
    rate: float | None = optional("what parts are compared by: triad, or load where that was not measured")
    what: str | None = optional("which of the two it is")
    spread: float | None = optional("how far apart the repeats of rate lie, as a share; None of fewer than three repeats")
    siblings: float | None = optional(
        "median rate of those like it: the other sockets, nodes of its memory's kind, L3 groups of its node"
    )
    share: float | None = optional("rate as a share of that of its siblings")
    ceiling: float | None = optional("bytes a second that its DIMMs could carry")
    latency: float | None = optional("seconds of one load of its own memory; of NUMA nodes and the machine")
    latency_spread: float | None = optional("how far apart the repeats of latency lie, as a share")
    latency_siblings: float | None = optional("median latency of the other NUMA nodes of its kind")


class Way(Value):
    """Memory at one distance, against local memory; medians over all pairs of NUMA nodes."""

    distance: str = Field(description="same-socket or other-socket")
    bandwidth: float | None = optional("as a share of that of local memory")
    latency: float | None = optional("times that of local memory")
    spread: float | None = optional("how far apart the repeats of bandwidth lie, as a share")
    published: float | None = optional("the same share in a publication of this platform")
    ref: str | None = optional("that publication")


class Compared(Value):
    """A published result whose conditions this machine meets, and what was measured here."""

    name: str = Field(description="what was run, on which part: stream-triad of the machine")
    value: float = Field(description="measured here, bytes a second or seconds")
    spread: float | None = optional("how far apart its repeats lie, as a share")
    low: float | None = optional("the least that was published")
    high: float | None = optional("the most that was published")
    conditions: str = Field(description="what both have in common: EPYC 7702, 2 sockets, NPS4, 3200 MT/s")
    ref: str = Field(description="the publication")


class Publication(Value):
    """A published figure beside one of this machine: which of its conditions hold here."""

    processor: str = Field(description="of which processor: EPYC 7702")
    low: float = Field(description="the least of it, in base units")
    high: float = Field(description="the most of it")
    outcome: Literal["meets", "other", "unknown"] = Field(
        description="whether this machine meets its conditions; other: one differs; unknown: one is not known, or it states none"
    )
    stated: bool = Field(description="whether it states how its sockets were partitioned or what memory ran")
    conditions: tuple[str, ...] = optional("those that hold here too: NPS4, 128 threads", ())
    differs: tuple[str, ...] = optional("those that are different here: NPS1 (here NPS4)", ())
    unknown: tuple[str, ...] = optional("those of which nobody knows here: DDR4-3200", ())
    ref: str = Field(description="where it was published")


class Place(Value):
    """Where a figure of this machine stands: below its ceiling, and among what others published."""

    name: str = Field(description="triad of the machine")
    metric: Metric
    value: float = Field(description="in base units")
    ceiling: float | None = optional("what the memory carries at most, as its DIMMs or arithmetic say")
    because: str | None = optional("what the ceiling is made of: 8 channels of DDR4-3200 in each of 2 sockets")
    processor: str | None = optional("2 x EPYC 7702, of which the publications are")
    published: tuple[Publication, ...] = optional("of this processor, or of its nearest kin", ())
    kin: bool = optional("whether they are of other models of this generation", default=False)
    count: int = optional("how many can be compared: of as many sockets, on the hardware itself or not, as here", 0)
    low: float | None = optional("the least of those; None where none can be compared")
    high: float | None = optional("the most of them")
    median: float | None = optional("the middle of all that are published here, whether they can be compared or not")
    stated_low: float | None = optional("the least of those that state their conditions, none of which is known to differ here")
    judged: bool = optional(
        "whether one whose conditions are all met judges it, as it was measured idle with steady repeats", default=False
    )
    doubts: str = optional("what cannot be excluded, in words", default="")
    says: str = optional("where it stands, in words: 40 GB/s: 15 % of the 270 to 300 GB/s published for ...", default="")
    of_ceiling: str = optional("its share of the ceiling in words; empty where that is not known", default="")

    @property
    def beside(self) -> str:
        """What stands beside the figure, in words: where it is among the published ones, then its share of the ceiling."""
        among = self.says.partition(": ")[2]
        return "; ".join(filter(None, (among if self.published or not self.of_ceiling else "", self.of_ceiling)))


class Caches(Value):
    """Which cores share a cache, as round trips of a cache line between them show it."""

    groups: tuple[CpuSet, ...] | None = optional("cores that are near each other; None where not all were paired")
    agrees: bool | None = optional("whether the firmware's L3 groups are those; None where round trips do not tell near from far")
    near: float | None = optional("seconds: median round trip inside a group")
    far: float | None = optional("seconds: median round trip between groups")
    example: str | None = optional("a pair that contradicts the firmware, in words")


class Clock(Value):
    """The clock of the cores while all of them compute."""

    isa: str = Field(description="scalar, sse4, avx2, avx512, neon, sve, ...")
    hertz: float = Field(description="achieved")
    spread: float | None = optional("how far apart the repeats lie, as a share")
    nominal: float | None = optional("base clock of the processor")
    share: float | None = optional("achieved clock as a share of the base clock")


class Flops(Value):
    """Double-precision floating point of all cores together."""

    rate: float = Field(description="operations a second")
    isa: str = Field(description="instructions used")
    cores: int = Field(description="cores that worked")
    spread: float | None = optional("how far apart the repeats lie, as a share")
    clock: float | None = optional("hertz achieved, or the base clock where none was measured")
    peak: float | None = optional("operations a second that these cores could do at that clock")
    share: float | None = optional("rate as a share of the peak")


class Reach(Value):
    """What ranks of one place reach through an adapter to those of another host; medians over places of the same kind."""

    bandwidth: float | None = optional("bytes a second one way, at the size that is fastest")
    spread: float | None = optional("how far apart the repeats of bandwidth lie, as a share")
    messages: float | None = optional("messages/s at the smallest size")
    messages_spread: float | None = optional("how far apart their repeats lie, as a share")
    pairs: int | None = optional("pairs of ranks that sent")


class Exchange(Value):
    """What one rank on each host reaches through an adapter."""

    latency: float | None = optional("seconds: half a ping-pong, at the smallest size")
    latency_spread: float | None = optional("how far apart its repeats lie, as a share")
    bandwidth: float | None = optional("bytes a second one way, at the size that is fastest")
    both: float | None = optional("bytes a second both ways at once")
    spread: float | None = optional("how far apart the repeats of bandwidth lie, as a share")


class MeasuredAdapter(Value):
    """Messages between hosts through one adapter."""

    name: str = Field(description="mlx5_0")
    hosts: tuple[str, ...] = optional("between which it was measured", ())
    launcher: str | None = optional("which MPI, with its version: openmpi4 4.1.4")
    line: float | None = optional("bytes a second one way that its port or PCIe path carries at most")
    limit: str | None = optional("what says so: 100 Gbit/s (4X EDR)")
    of_path: bool | None = optional("whether that is the PCIe path, which loses a part to its packets")
    bandwidth: float | None = optional("the most bytes a second one way of any ranks beside it")
    spread: float | None = optional("how far apart its repeats lie, as a share")
    share: float | None = optional("that bandwidth as a share of the line")
    messages: float | None = optional("the most messages/s of any ranks, wherever they are")
    messages_spread: float | None = optional("how far apart their repeats lie, as a share")
    messages_pairs: int | None = optional("pairs of ranks that sent those")
    near: Reach | None = optional("all cores of its own NUMA node")
    same_socket: Reach | None = optional("all cores of a NUMA node, of the other nodes of its socket")
    other_socket: Reach | None = optional("all cores of a NUMA node of another socket")
    socket: Reach | None = optional("all cores of its socket")
    far_socket: Reach | None = optional("all cores of another socket")
    everyone: Reach | None = optional("all cores of the machine")
    one: Exchange | None = optional("one rank on each host, beside it")
    one_far: Exchange | None = optional("one rank on each host, as far from it as can be")
    gap: float | None = optional("what the other socket loses of the bandwidth beside it, as a share")
    others: float | None = optional("median bandwidth through it between other hosts")
    of_others: float | None = optional("bandwidth as a share of that between other hosts")


class AdapterWay(Value):
    """Ranks at one distance from an adapter, against those of its own NUMA node; medians over NUMA nodes."""

    adapter: str = Field(description="mlx5_0")
    hosts: tuple[str, ...] = optional("between which it was measured", ())
    distance: str = Field(description="same-socket or other-socket")
    near: float = Field(description="bytes a second of all cores of the adapter's NUMA node")
    far: float = Field(description="bytes a second of all cores of a NUMA node at that distance")
    bandwidth: float = Field(description="far as a share of near")
    spread: float | None = optional("how far apart the repeats of bandwidth lie, as a share")
    latency: float | None = optional("times that of one rank beside it")
    published: float | None = optional("the same share of bandwidth in a publication of this platform")
    ref: str | None = optional("that publication")


class Linpack(Value):
    """HPL, beside what bounds it."""

    part: str = optional("what worked: machine, of all hosts, or numa, socket, l3 of this one", "machine")
    index: int | None = optional("which of those; None of the machine")
    rate: float = Field(description="operations a second; median of the repeats")
    spread: float | None = optional("how far apart the repeats lie, as a share; None of fewer than three")
    repeats: int = Field(description="how often it ran")
    n: int | None = optional("equations")
    nb: int | None = optional("columns of a block")
    grid: str | None = optional("P x Q: 8 x 8")
    ranks: int | None = optional("MPI ranks")
    threads: int | None = optional("threads of each")
    hosts: int | None = optional("hosts that worked; None where that is not known")
    cores: int | None = optional("cores that worked, of all hosts")
    per_core: float | None = optional("threads of all ranks for each core that worked")
    whole: bool | None = optional("whether every core of the hosts worked")
    program: str | None = optional("hpl: our own; xhpl: another build")
    blas: str | None = optional("OpenBLAS, BLIS, MKL, unknown")
    blas_core: str | None = optional("the processor that OpenBLAS took this one for")
    blas_doubt: str | None = optional("what speaks against that, in words; None where nothing does")
    blas_better: str | None = optional("what OPENBLAS_CORETYPE should be, where it should not stay")
    peak_base: float | None = optional("operations a second of those cores at their base clock")
    of_base: float | None = optional("rate as a share of that peak")
    peak_load: float | None = optional("operations a second of multiply-adds on all cores, as measured")
    of_load: float | None = optional("rate as a share of that peak")
    dgemm: float | None = optional("operations a second of DGEMM of all ranks at once")
    of_dgemm: float | None = optional("rate as a share of DGEMM")
    dgemm_of_load: float | None = optional("DGEMM as a share of the peak under load")
    of_one: float | None = optional("rate of each of several hosts as a share of that of one alone")
    memory_share: float | None = optional("what the matrix takes of the hosts' memory, as a share")
    clock: Clock | None = optional("the clock of the widest instructions while all cores compute")
    like: str | None = optional("narrower instructions that give as much at best: AVX2, AVX, SSE2")


class Refused(Value):
    """A result that is not believed."""

    name: str = Field(description="the task and what of it")
    why: str = Field(description="above the ceiling, pages on another node, ...")


class MeasuredFacts(Value):
    """What was measured on this machine."""

    when: str = Field(description="local time: 2026-11-21 14:05")
    idle: bool | None = Field(description="whether nobody else worked before and meanwhile; None where nobody looked")
    busy: tuple[str, ...] = optional("who or what did", ())
    results: int = Field(description="how many results there are")
    worst_spread: float | None = optional("the widest spread of any believed result, as a share")
    worst: str | None = optional("the task that has it")
    cores: tuple[Speed, ...] | None = optional("each core alone")
    groups: tuple[Speed, ...] | None = optional("each L3 group alone")
    nodes: tuple[Speed, ...] | None = optional("each NUMA node alone")
    sockets: tuple[Speed, ...] | None = optional("each socket alone")
    machine: Speed | None = optional("the whole machine at once")
    one_core_per_l3: float | None = optional("triad with one core of each L3 group, as a share of that with all cores")
    one_core_spread: float | None = optional("how far apart the repeats of either lie, as a share")
    remote: tuple[Way, ...] | None = optional("memory of other NUMA nodes")
    nps_gain: float | None = optional(
        "what local memory gives above memory interleaved over the nodes of a socket, as a share: estimated from "
        "the bandwidth between its nodes"
    )
    nps_spread: float | None = optional("how far apart the repeats behind nps_gain lie, as a share")
    caches: Caches | None = None
    clocks: tuple[Clock, ...] | None = optional("by instructions")
    flops: Flops | None = None
    places: tuple[Place, ...] = optional("where the machine's figures stand among what others published", ())
    published: tuple[Compared, ...] = optional("bandwidths published for machines like this one", ())
    published_latency: tuple[Compared, ...] = optional("latencies published for machines like this one", ())
    adapters: tuple[MeasuredAdapter, ...] = optional("adapters that messages went through to other hosts", ())
    adapter_ways: tuple[AdapterWay, ...] = optional("ranks far from an adapter, against those beside it", ())
    hpl: Linpack | None = optional("HPL on all cores of this machine; of several hosts where it ran on no fewer")
    hpl_runs: tuple[Linpack, ...] = optional("every run of HPL that is believed: parts, and more hosts", ())
    published_network: tuple[Compared, ...] = optional("bandwidths between such machines, published", ())
    published_network_latency: tuple[Compared, ...] = optional("latencies between such machines, published", ())
    published_hpl: tuple[Compared, ...] = optional(
        "rates of HPL published for such machines; shares of a peak as rates of this machine", ()
    )
    refused: tuple[Refused, ...] = optional("results that are not believed", ())
    missing: tuple[str, ...] = optional("tasks without a result", ())

    def place_of(self, metric: str, value: float) -> Place | None:
        """Return where a figure of the machine stands; None where nothing is known of that."""
        return next((place for place in self.places if (place.metric, place.value) == (metric, value)), None)

    def as_if_idle(self) -> "MeasuredFacts":
        """Return these facts as they would be of an idle machine with steady repeats, where nobody knows either."""
        return self.model_validate({**_steady(self.model_dump()), "idle": True})


def _steady(value: Any) -> Any:
    """Return a value in which every spread that is not known is none."""
    if isinstance(value, dict):
        return {key: 0.0 if each is None and key.endswith("spread") else _steady(each) for key, each in value.items()}
    return tuple(map(_steady, value)) if isinstance(value, tuple) else value
