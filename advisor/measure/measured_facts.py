"""What rules may ask of measurements: one value for each part of the machine, beside what it is compared with."""

from typing import Any, Literal

from advisor.machine.cpuset import CpuSet
from advisor.machine.value import Value
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

    index: int
    """number of the core, L3 group, NUMA node or socket; 0 for the machine"""
    cpus: CpuSet
    """CPUs that ran threads"""
    load: float | None = None
    """bytes per second"""
    copying: float | None = None
    """bytes per second, the better of regular and streaming stores"""
    triad: float | None = None
    """bytes per second, the better of regular and streaming stores"""
    regular: float | None = None
    """triad through the cache, in bytes per second"""
    streaming: float | None = None
    """triad with stores that bypass the cache, in bytes per second"""
    rate: float | None = None
    """the figure used to compare parts: triad, or load if triad was not measured"""
    what: str | None = None
    """the name of the figure in rate: triad or load"""
    spread: float | None = None
    """spread of the repeats of rate, as a fraction; None for fewer than three repeats"""
    siblings: float | None = None
    """median rate of its peers: the other sockets, nodes with the same kind of memory, L3 groups of its node"""
    share: float | None = None
    """rate as a fraction of its peers' rate"""
    ceiling: float | None = None
    """bytes per second that its DIMMs could deliver"""
    latency: float | None = None
    """seconds per load from its own memory; for NUMA nodes and the machine"""
    latency_spread: float | None = None
    """spread of latency's repeats, as a fraction"""
    latency_siblings: float | None = None
    """median latency of the other NUMA nodes of its kind"""


class Way(Value):
    """Memory at one distance, against local memory; medians over all pairs of NUMA nodes."""

    distance: str
    """same-socket or other-socket"""
    bandwidth: float | None = None
    """bandwidth as a fraction of that of local memory"""
    latency: float | None = None
    """as a multiple of local memory's"""
    spread: float | None = None
    """spread of bandwidth's repeats, as a fraction"""
    published: float | None = None
    """bandwidth fraction published for this platform"""
    ref: str | None = None
    """that publication"""


class Compared(Value):
    """A published result whose conditions this machine meets, and what was measured here."""

    name: str
    """benchmark and part: stream-triad of the machine"""
    value: float
    """measured here, bytes per second or seconds"""
    spread: float | None = None
    """spread of its repeats, as a fraction"""
    low: float | None = None
    """the lowest published value"""
    high: float | None = None
    """the highest published value"""
    conditions: str
    """what both have in common: EPYC 7702, 2 sockets, NPS4, 3200 MT/s"""
    ref: str
    """the publication"""


class Publication(Value):
    """A published figure beside one of this machine: which of its conditions hold here."""

    processor: str
    """its processor: EPYC 7702"""
    low: float
    """the lowest value that it gives, in base units"""
    high: float
    """the highest value that it gives, in base units"""
    outcome: Literal["meets", "other", "unknown"]
    """whether this machine meets its conditions; other: one differs; unknown: one is unknown, or none is stated"""
    stated: bool
    """whether it states the NUMA partitioning or the memory configuration"""
    conditions: tuple[str, ...] = ()
    """conditions that also hold here: NPS4, 128 threads"""
    differs: tuple[str, ...] = ()
    """conditions that differ here: NPS1 (here NPS4)"""
    unknown: tuple[str, ...] = ()
    """conditions unknown here: DDR4-3200"""
    ref: str
    """where it was published"""


class Place(Value):
    """Where a figure of this machine stands: below its ceiling, and among what others published."""

    name: str
    """triad of the machine"""
    metric: Metric
    value: float
    """in base units"""
    ceiling: float | None = None
    """the highest possible value, from the DIMMs or by calculation"""
    because: str | None = None
    """basis of the ceiling: 8 channels of DDR4-3200 in each of 2 sockets"""
    processor: str | None = None
    """the processors in the publications: 2 x EPYC 7702"""
    published: tuple[Publication, ...] = ()
    """published values of this processor or its nearest relatives"""
    kin: bool = False
    """whether the published values are from other models of this generation"""
    count: int = 0
    """number of comparable values: the same number of sockets, and bare metal or virtual as here"""
    low: float | None = None
    """the lowest comparable value; None if there is none"""
    high: float | None = None
    """the highest comparable value"""
    median: float | None = None
    """the median of all published values, comparable or not"""
    stated_low: float | None = None
    """the lowest value with stated conditions, none of which is known to differ here"""
    judged: bool = False
    """whether a value with all conditions met may be used to judge it: measured on an idle machine, with steady repeats"""
    doubts: str = ""
    """what cannot be ruled out, in words"""
    says: str = ""
    """how it compares, in words: 40 GB/s: 15 % of the 270 to 300 GB/s published for ..."""
    of_ceiling: str = ""
    """its fraction of the ceiling in words; empty if unknown"""

    @property
    def beside(self) -> str:
        """What stands beside the figure, in words: where it is among the published ones, then its share of the ceiling."""
        among = self.says.partition(": ")[2]
        return "; ".join(filter(None, (among if self.published or not self.of_ceiling else "", self.of_ceiling)))


class Caches(Value):
    """Which cores share a cache, as shown by round trips of a cache line between them."""

    groups: tuple[CpuSet, ...] | None = None
    """cores near each other; None if not all pairs were measured"""
    agrees: bool | None = None
    """whether the measured groups match the firmware's L3 groups; None if round trips do not separate near from far"""
    near: float | None = None
    """seconds: median round trip inside a group"""
    far: float | None = None
    """seconds: median round trip between groups"""
    example: str | None = None
    """a pair that contradicts the firmware, in words"""


class Clock(Value):
    """The clock of the cores while all of them compute."""

    isa: str
    """scalar, sse4, avx2, avx512, neon, sve, ..."""
    hertz: float
    """achieved"""
    spread: float | None = None
    """spread of the repeats, as a fraction"""
    nominal: float | None = None
    """base clock of the processor"""
    share: float | None = None
    """achieved clock as a fraction of the base clock"""


class Flops(Value):
    """Double-precision floating point of all cores together."""

    rate: float
    """operations per second"""
    isa: str
    """instructions used"""
    cores: int
    """cores in use"""
    spread: float | None = None
    """spread of the repeats, as a fraction"""
    clock: float | None = None
    """hertz achieved, or the base clock if none was measured"""
    peak: float | None = None
    """operations per second that these cores could do at that clock"""
    share: float | None = None
    """rate as a fraction of the peak"""


class Reach(Value):
    """What ranks of one place reach through an adapter to those of another host; medians over places of the same kind."""

    bandwidth: float | None = None
    """one-way bytes per second at the fastest message size"""
    spread: float | None = None
    """spread of bandwidth's repeats, as a fraction"""
    messages: float | None = None
    """messages/s at the smallest size"""
    messages_spread: float | None = None
    """spread of their repeats, as a fraction"""
    pairs: int | None = None
    """pairs of ranks that exchanged messages"""


class Exchange(Value):
    """What one rank on each host reaches through an adapter."""

    latency: float | None = None
    """seconds: half a ping-pong, at the smallest size"""
    latency_spread: float | None = None
    """spread of its repeats, as a fraction"""
    bandwidth: float | None = None
    """one-way bytes per second at the fastest message size"""
    both: float | None = None
    """bytes per second both ways at once"""
    spread: float | None = None
    """spread of bandwidth's repeats, as a fraction"""


class MeasuredAdapter(Value):
    """Messages between hosts through one adapter."""

    name: str
    """mlx5_0"""
    hosts: tuple[str, ...] = ()
    """the hosts between which it was measured"""
    launcher: str | None = None
    """the MPI with its version: openmpi4 4.1.4"""
    line: float | None = None
    """the most bytes per second that its port or PCIe path can carry in one direction"""
    limit: str | None = None
    """the basis: 100 Gbit/s (4X EDR)"""
    of_path: bool | None = None
    """whether the PCIe path is the limit; packet headers take part of its bandwidth"""
    bandwidth: float | None = None
    """highest one-way bandwidth of any ranks near it, in bytes per second"""
    spread: float | None = None
    """spread of its repeats, as a fraction"""
    share: float | None = None
    """the highest bandwidth as a fraction of the line rate"""
    messages: float | None = None
    """highest message rate measured, with ranks near the adapter or far from it, in messages/s"""
    messages_spread: float | None = None
    """spread of their repeats, as a fraction"""
    messages_pairs: int | None = None
    """pairs of ranks that sent these messages"""
    near: Reach | None = None
    """all cores of its own NUMA node"""
    same_socket: Reach | None = None
    """all cores of another NUMA node of its socket"""
    other_socket: Reach | None = None
    """all cores of a NUMA node of another socket"""
    socket: Reach | None = None
    """all cores of the adapter's socket"""
    far_socket: Reach | None = None
    """all cores of another socket"""
    everyone: Reach | None = None
    """all cores of the machine"""
    one: Exchange | None = None
    """one rank per host, near the adapter"""
    one_far: Exchange | None = None
    """one rank per host, as far from the adapter as possible"""
    gap: float | None = None
    """the fraction of near bandwidth that the other socket loses"""
    others: float | None = None
    """median bandwidth through this adapter between other hosts"""
    of_others: float | None = None
    """bandwidth as a fraction of that between other hosts"""


class AdapterWay(Value):
    """Ranks at one distance from an adapter, against those of its own NUMA node; medians over NUMA nodes."""

    adapter: str
    """mlx5_0"""
    hosts: tuple[str, ...] = ()
    """the hosts between which it was measured"""
    distance: str
    """same-socket or other-socket"""
    near: float
    """bytes per second of all cores of the adapter's NUMA node"""
    far: float
    """bytes per second of all cores of a NUMA node at that distance"""
    bandwidth: float
    """far divided by near"""
    spread: float | None = None
    """spread of bandwidth's repeats, as a fraction"""
    latency: float | None = None
    """latency as a multiple of that of one rank near the adapter"""
    published: float | None = None
    """bandwidth far from the adapter as a fraction of near, in a publication about this platform"""
    ref: str | None = None
    """that publication"""


class Linpack(Value):
    """HPL, beside what bounds it."""

    part: str = "machine"
    """the part that ran: machine (all hosts), or numa, socket, l3 of this one"""
    index: int | None = None
    """the number of the part; None for the machine"""
    rate: float
    """operations per second; median of the repeats"""
    spread: float | None = None
    """spread of the repeats, as a fraction; None for fewer than three"""
    repeats: int
    """number of runs"""
    n: int | None = None
    """equations"""
    nb: int | None = None
    """columns of a block"""
    grid: str | None = None
    """P x Q: 8 x 8"""
    ranks: int | None = None
    """MPI ranks"""
    threads: int | None = None
    """threads per rank"""
    hosts: int | None = None
    """hosts that took part; None if unknown"""
    cores: int | None = None
    """cores that took part, on all hosts"""
    per_core: float | None = None
    """threads of all ranks, divided by the cores that took part"""
    whole: bool | None = None
    """whether every core of the hosts took part"""
    program: str | None = None
    """hpl: our own; xhpl: another build"""
    blas: str | None = None
    """OpenBLAS, BLIS, MKL, unknown"""
    blas_core: str | None = None
    """the processor that OpenBLAS detected"""
    blas_doubt: str | None = None
    """what contradicts that detection, in words; None if nothing does"""
    blas_better: str | None = None
    """the better OPENBLAS_CORETYPE, if the current one is wrong"""
    peak_base: float | None = None
    """operations per second of those cores at their base clock"""
    of_base: float | None = None
    """rate as a fraction of that peak"""
    peak_load: float | None = None
    """measured operations per second of multiply-adds on all cores"""
    of_load: float | None = None
    """rate as a fraction of that peak"""
    dgemm: float | None = None
    """operations per second of DGEMM on all ranks at once"""
    of_dgemm: float | None = None
    """rate as a fraction of DGEMM"""
    dgemm_of_load: float | None = None
    """DGEMM as a fraction of the peak under load"""
    of_one: float | None = None
    """rate per host on several hosts, as a fraction of the rate on one host"""
    memory_share: float | None = None
    """fraction of the hosts' memory that the matrix takes"""
    clock: Clock | None = None
    """the clock of the widest instructions while all cores compute"""
    like: str | None = None
    """narrower instructions that could give the same rate at best: AVX2, AVX, SSE2"""


class Refused(Value):
    """A result that is not believed."""

    name: str
    """the task and the part of the machine"""
    why: str
    """above the ceiling, pages on another node, ..."""


class MeasuredFacts(Value):
    """What was measured on this machine."""

    when: str
    """local time: 2026-11-21 14:05"""
    idle: bool | None
    """whether nobody else used the machine before and during it; None if not checked"""
    busy: tuple[str, ...] = ()
    """who or what used the machine"""
    results: int
    """number of results"""
    worst_spread: float | None = None
    """the widest spread of any accepted result, as a fraction"""
    worst: str | None = None
    """the task with the widest spread"""
    cores: tuple[Speed, ...] | None = None
    """each core alone"""
    groups: tuple[Speed, ...] | None = None
    """each L3 group alone"""
    nodes: tuple[Speed, ...] | None = None
    """each NUMA node alone"""
    sockets: tuple[Speed, ...] | None = None
    """each socket alone"""
    machine: Speed | None = None
    """the whole machine at once"""
    one_core_per_l3: float | None = None
    """triad with one core per L3 group, as a fraction of that with all cores"""
    one_core_spread: float | None = None
    """spread of the repeats of these two triads, as a fraction"""
    remote: tuple[Way, ...] | None = None
    """memory of other NUMA nodes"""
    nps_gain: float | None = None
    """gain of local memory over memory interleaved across the nodes of a socket, as a fraction, estimated from the
    bandwidth between its nodes"""
    nps_spread: float | None = None
    """spread of the repeats behind nps_gain, as a fraction"""
    caches: Caches | None = None
    clocks: tuple[Clock, ...] | None = None
    """by instructions"""
    flops: Flops | None = None
    places: tuple[Place, ...] = ()
    """how the machine's figures compare with published ones"""
    published: tuple[Compared, ...] = ()
    """bandwidths published for machines like this one"""
    published_latency: tuple[Compared, ...] = ()
    """latencies published for machines like this one"""
    adapters: tuple[MeasuredAdapter, ...] = ()
    """adapters that carried messages to other hosts"""
    adapter_ways: tuple[AdapterWay, ...] = ()
    """ranks far from an adapter, compared with those near it"""
    hpl: Linpack | None = None
    """HPL on all cores of this machine; if there is no such run, on the fewest hosts"""
    hpl_runs: tuple[Linpack, ...] = ()
    """all accepted HPL runs, including those on parts of the machine and on several hosts"""
    published_network: tuple[Compared, ...] = ()
    """published bandwidths between machines of this kind"""
    published_network_latency: tuple[Compared, ...] = ()
    """published latencies between machines of this kind"""
    published_hpl: tuple[Compared, ...] = ()
    """HPL rates published for such machines; fractions of a peak converted to rates of this machine"""
    refused: tuple[Refused, ...] = ()
    """rejected results"""
    missing: tuple[str, ...] = ()
    """tasks without a result"""

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
