"""What is known of a processor generation and cannot be read from the machine: peak rates, valid cuts, published results.

The sheets, the one that fits a machine, that of a processor on order. Every figure names the publication it comes from. L3
groups, cores and adapters are never here: the machine shows them. Of a machine whose DIMMs nobody read arithmetic proves the most
that its memory carries, and the most channels in use: each bound holds whatever is plugged in.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError

from advisor.errors import BadSheet, BadValue, did_you_mean
from advisor.machine.fact import Bytes, made_from
from advisor.machine.fact import BytesPerSecond as Rate
from advisor.machine.hardware import Cpu, SocketMemory
from advisor.machine.hosts.files import at_home, trusted
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets
from advisor.machine.platform_traits import (
    Match,
    NamePattern,
    Traits,
    file_of,
    must_be_named,
    platform_files,
    traits,
    with_inherited,
)
from advisor.machine.topology import Topology
from advisor.machine.value import Amount, Value, meaning, measured_in, optional
from advisor.paths import rules
from advisor.sheets import model_of, read_sheet

Scope = Literal["mpi", "hpl", "latency", "throughput", "virtualisation"]
"""What a machine is to be good at; guides disagree because they mean different work."""

IntentName = Literal["mpi", "hpl", "latency", "throughput", "energy", "virtualisation"]
"""What a server is set for: a choice that settles what guides dispute (rules/intents.yaml)."""

Transfers = Annotated[float, measured_in("transfers/s")]
BytesPerSecond = Annotated[float, measured_in("bytes/s")]


_CUTS = (
    *("NPS0", "NPS1", "NPS2", "NPS4", "L3-as-NUMA", "none", "COD", "SNC2", "SNC3", "SNC4", "SNC6"),
    *("socket-interleaving", "die-interleaving", "channel-interleaving"),
)
"""What layouts are called by."""


def _is_cut(name: str) -> str:
    if name not in _CUTS:
        near = did_you_mean(name, _CUTS, f"available: {', '.join(_CUTS)}")
        raise ValueError(f"{name[:40]} is not a NUMA partitioning; {near}")
    return name


CutName = Annotated[str, AfterValidator(_is_cut)]


class CutOffer(Value):
    """A way of cutting the socket that the firmware of this platform offers."""

    name: CutName
    """advisor's name of the NUMA partitioning: NPS4, channel-interleaving, COD, SNC2, none"""
    nodes: int = Field(ge=1)
    """number of NUMA nodes it creates in each part named by `per`"""
    per: Literal["socket", "system", "l3"] = "socket"
    """the part of the machine that has this number of nodes"""
    called: str
    """the vendor's name of the setting"""
    offered: Literal["yes", "unknown"] = "yes"
    """unknown if no publication says which processors offer it"""
    dies_multiple_of: int | None = None
    """only if the number of compute dies per socket is a multiple of this"""
    sockets: int | None = None
    """only in machines with this many sockets"""
    min_cores: int | None = None
    """known to be offered with at least this many cores per socket; with fewer, not offered or not known"""
    only: NamePattern | None = None
    """only processors with this in their marketing name"""
    source: str
    """publication: its ID in rules/sources.yaml, or unverified"""
    note: str | None = None
    """further notes"""


class Advice(Value):
    """The NUMA partitioning that a guide recommends for some kinds of work."""

    scopes: tuple[Scope, ...] = Field(min_length=1)
    """workloads it applies to"""
    cut: str
    """the recommended NUMA partitioning; if not offered, the next lower one"""
    source: str
    """publication: its ID in rules/sources.yaml, or unverified"""
    note: str | None = None
    """reason for the recommendation, or its condition"""


Benchmark = Literal[
    "stream-triad", "stream-copy", "stream-add", "stream-scale", "stream", "load", "store", "copy", "triad", "latency-memory",
    "dgemm", "hpl", "hpcg", "peak", "wrf", "osu-latency", "osu-bw", "osu-bibw", "osu-mbw-mr", "message-rate", "rdma-latency",
    "rdma-bw", "mpi-sendrecv", "cross-section",
]  # fmt: skip


class Reference(Value):
    """A published result, with the condition it holds under."""

    benchmark: Benchmark
    """the benchmark that was run"""
    of: Literal["core", "l3", "die", "numa-node", "socket", "node", "pair", "cluster"] = "node"
    """what the value applies to; pair: two nodes connected by the fabric"""
    kind: Literal["measured", "theoretical", "threshold", "vendor", "spread", "gain", "share"] = "measured"
    """threshold: below it an operator considers a node faulty; vendor: as specified; spread: between identical servers;
    gain: how much above `against`; share: how much of `against`"""
    value: Amount
    """in base units"""
    cpus: tuple[str, ...] = ()
    """processor models; () for all of the platform"""
    sockets: int | None = None
    """sockets of the machine or of the part measured"""
    cores: int | None = None
    """cores in use"""
    cut: str | None = None
    """NUMA partitioning during the run"""
    memory_speed: Transfers | None = None
    """transfers per second of the memory"""
    stores: Literal["regular", "streaming"] | None = None
    """whether stores read the line first; like STREAM, that traffic is not counted"""
    fabric: str | None = None
    """adapter and rate: ConnectX-5 EDR"""
    against: str | None = None
    """what a gain or a share refers to"""
    condition: str | None = None
    """all other conditions of the measurement"""
    source: str
    """publication: its ID in rules/sources.yaml, or unverified"""
    note: str | None = None
    """a reason to doubt this entry"""


class Variant(Value):
    """Processors of the platform, known by name, for which some figures differ."""

    name: NamePattern
    """text that their marketing names contain"""
    why: str
    """how they differ"""
    flops_per_cycle: float | None = None
    """double-precision FLOP per core and cycle"""
    channels: int | None = None
    """memory channels of a socket"""
    memory_speed: Transfers | None = None
    """transfers per second with one DIMM per channel"""
    source: str
    """publication: its ID in rules/sources.yaml, or unverified"""


_VARYING = ("flops_per_cycle", "channels", "memory_speed")


class Processor(Value):
    """One processor as its maker describes it."""

    cores: int | None = optional(ge=1, le=4096)
    """cores of a socket"""
    dies: int | None = optional(ge=1, le=256)
    """compute dies of a socket; None if unknown or irrelevant"""
    source: str
    """publication: its ID in rules/sources.yaml, or unverified"""


class Platform(Traits):
    """A processor generation."""

    launched: str | None = optional(pattern=r"\d{4}-\d{2}")
    """year and month: 2023-01"""
    flops_per_cycle: float | None = optional(ge=1, le=1024)
    """double-precision FLOP per core and cycle"""
    channels: int | None = optional(ge=1, le=64)
    """memory channels of a socket; None if models differ"""
    memory_kind: str | None = None
    """DDR4, DDR5, LPDDR5X, HBM3"""
    memory_speed: Transfers | None = None
    """transfers per second of the fastest model with one DIMM per channel"""
    memory_speed_2dpc: Transfers | None = None
    """transfers per second with two DIMMs per channel"""
    memory_speed_most: Transfers | None = None
    """transfers per second of the fastest memory that any board runs, if above memory_speed"""
    die_bandwidth: BytesPerSecond | None = None
    """most bytes per second that a compute die can read from the memory controllers, over all its links"""
    memory_speed_by_model: bool = False
    """whether slower models run their memory slower"""
    pcie: float | None = optional(ge=1, le=9)
    """generation of PCI Express"""
    sources: dict[str, str]
    """publication of each figure above, by its name: {channels: ID}"""
    cuts: tuple[CutOffer, ...]
    """NUMA partitionings that the firmware offers: [{name: NPS1, nodes: 1, called: NAME IN THE MENU, source: ID}]"""
    best: tuple[Advice, ...] = ()
    """NUMA partitionings that guides recommend; if two disagree, ours comes first"""
    variants: tuple[Variant, ...] = ()
    """models for which some figures differ"""
    references: tuple[Reference, ...] = ()
    """published results"""
    processors: dict[str, Processor] = optional({})
    """its processors, for --cpu: EPYC 7702"""
    notes: tuple[str, ...] = ()
    """further notes"""

    def core_peak(self, hertz: float | None) -> float | None:
        """Return double-precision FLOP/s of a core at a clock; None where either is not known."""
        return self.flops_per_cycle * hertz if self.flops_per_cycle and hertz else None


def for_model(platform: Platform, name: str | None) -> Platform:
    """Return the platform with the figures and cuts of one processor model; what its unknown name decides is not known."""
    fits = [variant for variant in platform.variants if name and re.search(variant.name, name)]
    changes: dict[str, Any] = {}
    for field in _VARYING:
        told = [getattr(variant, field) for variant in (fits if name else platform.variants)]
        if values := [value for value in told if value is not None]:
            changes[field] = values[0] if name else None
    # An offer's condition on the name holds here, or cannot be known.
    settled = {"only": None} if name else {"only": None, "offered": "unknown"}
    fitting = (cut for cut in platform.cuts if not (cut.only and name and not re.search(cut.only, name)))
    cuts = tuple(cut.but(**settled) if cut.only else cut for cut in fitting)
    kept = {cut.name for cut in cuts}
    best = tuple(advice for advice in platform.best if advice.cut in kept)
    return platform.but(**changes, cuts=cuts, best=best)


def dies(platform: Platform, l3_per_socket: int | None) -> int | None:
    """Return the compute dies of a socket with so many L3 groups; None where they do not tell."""
    if not platform.l3_per_die or not l3_per_socket or l3_per_socket % platform.l3_per_die:
        return None
    return l3_per_socket // platform.l3_per_die


def offered(platform: Platform, dies: int | None, sockets: int | None, cores: int | None = None) -> tuple[CutOffer, ...]:
    """Return the cuts that the firmware certainly offers to a machine of so many sockets, with dies and cores in each."""
    return tuple(cut for cut in platform.cuts if _certain(cut, dies, sockets, cores))


def _certain(cut: CutOffer, dies: int | None, sockets: int | None, cores: int | None) -> bool:
    if cut.offered != "yes" or cut.only:
        return False
    if cut.dies_multiple_of and (not dies or dies % cut.dies_multiple_of):
        return False
    if cut.sockets is not None and sockets != cut.sockets:
        return False
    return cut.min_cores is None or (cores is not None and cores >= cut.min_cores)


def best_cut(
    platform: Platform, scope: Scope, dies: int | None, sockets: int | None, cores: int | None = None
) -> CutOffer | None:
    """Return the NUMA partitioning that the first guide for this work wants, or the nearest lower one that is certainly offered.

    None where no guide speaks, or where the machine did not show what decides the offer.
    """
    advice = next((advice for advice in platform.best if scope in advice.scopes), None)
    if advice is None:
        return None
    choice = offered(platform, dies, sockets, cores)
    wanted = next(cut for cut in platform.cuts if cut.name == advice.cut)
    if wanted in choice:
        return wanted
    lower = [cut for cut in platform.cuts if cut.per == wanted.per == "socket" and cut.nodes <= wanted.nodes]
    if any(_undecided(cut, dies, sockets, cores) for cut in lower):
        return None
    return max((cut for cut in lower if cut in choice), key=lambda cut: cut.nodes, default=None)


def _undecided(cut: CutOffer, dies: int | None, sockets: int | None, cores: int | None) -> bool:
    """Return whether a fact of the machine that decides the offer was not found."""
    needed = ((cut.dies_multiple_of, dies), (cut.sockets, sockets), (cut.min_cores, cores))
    return cut.offered == "yes" and any(condition is not None and fact is None for condition, fact in needed)


GIB = 1 << 30
CHANNEL_BYTES = 8
"""What a channel of DDR carries in one transfer: 64 data bits."""
SMALLEST_MODULE: Mapping[str, int] = {"DDR4": 4 * GIB, "DDR5": 16 * GIB}
"""The smallest registered DIMM that servers take: DDR5 begins at 16 GiB (xfusion-1288h-v7), DDR4 at 4 GiB."""
_HIDDEN = 0.1
_HIDDEN_LEAST = GIB
"""What firmware and kernel keep of the memory before they count it: a few per cent; a tenth, and a GiB at least, is never reached
by the kernel's own tables, crash kernels and firmware of a server."""
_MOST_CORES = 288
"""Cores of the largest package that is sold: a socket of more is a guest's, over several of its host's."""
_MEASURED = 1.1
"""Links of dies are published as measured, not as specified."""


class Bound(Value):
    """An upper end that holds whatever is plugged in, and what it is made of."""

    value: Rate
    """most bytes per second"""
    because: str
    """8 channels of DDR4-3200 in each of 2 sockets"""
    of_dies: bool = False
    """whether the compute dies' links limit it"""


class MemoryBounds(Value):
    """What the memory can be at most, whatever is plugged in: from its size and the processor's sheet."""

    bandwidth: Rate | None = made_from("platform")
    """most bytes per second from the memory of all sockets"""
    because: str | None = made_from("platform")
    """what limits it: 8 channels of DDR4-3200 in each of 2 sockets"""
    channels: int | None = made_from("platform")
    """memory channels of all sockets"""
    modules: int | None = made_from("topology")
    """largest number of DIMMs that can make up this much memory"""
    modules_mirrored: int | None = made_from("topology")
    """largest number of DIMMs if the firmware mirrors memory and shows half of it"""
    module: Bytes | None = made_from("platform")
    """bytes of the smallest DIMM of its kind"""
    die_limited: bool | None = made_from("platform")
    """whether its dies' links carry less than the channels; None if no publication covers these links"""


def socket_bandwidth(platform: Platform, dies_of_socket: int | None, memory: SocketMemory | None = None) -> Bound | None:
    """Return what reaches the cores of a socket at most: the less of its channels and the links of its dies."""
    if platform.hbm_and_dimms or not (platform.memory_kind or "").startswith("DDR"):
        return None
    found = [bound for bound in (_of_channels(platform, memory), _of_dies(platform, dies_of_socket)) if bound is not None]
    return min(found, key=lambda bound: bound.value, default=None)


def _of_channels(platform: Platform, memory: SocketMemory | None) -> Bound | None:
    speed = (memory.configured if memory else None) or platform.memory_speed_most or platform.memory_speed
    channels = (memory.channels if memory else None) or platform.channels
    if not speed or not channels:
        return None
    return Bound(
        value=int(channels * speed * CHANNEL_BYTES), because=f"{channels} channels of {platform.memory_kind}-{speed / 1e6:.0f}"
    )


def _of_dies(platform: Platform, count: int | None) -> Bound | None:
    if not platform.die_bandwidth or not count:
        return None
    link = f"{platform.die_bandwidth / 1e9:.0f} GB/s"
    return Bound(
        value=int(_MEASURED * count * platform.die_bandwidth),
        because=f"the links of {count} dies (about {link} each)",
        of_dies=True,
    )


def most_modules(memory: int, kind: str | None) -> int | None:
    """Return of how many DIMMs so much memory can be made at most; None for a kind whose smallest is not known.

    >>> most_modules(126 * GIB, "DDR5"), most_modules(252 * GIB, "DDR4"), most_modules(8 * GIB, "HBM3")
    (8, 69, None)
    """
    smallest = SMALLEST_MODULE.get(kind or "")
    return int((memory + max(_HIDDEN * memory, _HIDDEN_LEAST)) // smallest) if smallest else None


def bounds_of_sockets(machine: Machine, platform: Platform | None) -> tuple[Bound, ...]:
    """Return what each socket's memory bandwidth is at most; none where the sockets or what bounds one of them are not known."""
    topology = machine.topology
    virtual = machine.environment is not None and machine.environment.virtual not in (None, "none")
    # Guests may show fewer sockets than they run on; HBM, CXL, a GPU's memory, nodes without CPUs come on top of the channels.
    plain = topology is not None and all(
        node.kind in (None, "dram") and (node.cpuset or not node.memory or node.kind) for node in topology.nodes
    )
    if platform is None or topology is None or not topology.pus or virtual or not plain:
        return ()
    sockets = find_sockets(machine, topology)[0]
    known = {each.socket: each for each in machine.memory.sockets or ()} if machine.memory else {}
    matched = known if len(known) == len(sockets) else {}
    groups = [sum(1 for l3 in topology.l3 if l3.cpuset and l3.cpuset <= cpus) for cpus in sockets]
    if any(len([core for core in topology.cores if core.cpuset <= cpus]) > _MOST_CORES for cpus in sockets):
        return ()
    found = [socket_bandwidth(platform, dies(platform, groups[at]), matched.get(at)) for at in range(len(sockets))]
    bounds = tuple(bound for bound in found if bound is not None)
    return bounds if len(bounds) == len(sockets) else ()


def memory_bounds(machine: Machine, platform: Platform | None) -> MemoryBounds:
    """Return what bounds the memory of a machine; each unknown where nothing proves it."""
    sockets = bounds_of_sockets(machine, platform)
    if not sockets or platform is None or machine.topology is None:
        return MemoryBounds()
    whole = together(sockets)
    memories = [node.memory for node in machine.topology.nodes]
    words = machine.kernel.cmdline if machine.kernel else None
    # The kernel and this process are shown all of the memory.
    whole_memory = not any(name in ("mem", "memmap") for name, _ in words or ()) and not machine.topology.limited
    total = sum(memory for memory in memories if memory) if None not in memories and whole_memory else None
    modules = most_modules(total, platform.memory_kind) if total else None
    return MemoryBounds(
        bandwidth=whole.value,
        because=whole.because,
        channels=platform.channels * len(sockets) if platform.channels else None,
        modules=modules,
        modules_mirrored=most_modules(2 * total, platform.memory_kind) if total else None,
        module=SMALLEST_MODULE.get(platform.memory_kind or ""),
        die_limited=whole.of_dies if platform.die_bandwidth else None,
    )


def together(bounds: Iterable[Bound]) -> Bound:
    """Return the bound of several sockets: their sum, said once where they are alike."""
    known = tuple(bounds)
    kinds = tuple(dict.fromkeys(bound.because for bound in known))
    alike = f"{kinds[0]} in each of {len(known)} sockets" if len(known) > 1 else kinds[0]
    return Bound(
        value=sum(bound.value for bound in known),
        because=alike if len(kinds) == 1 else " and ".join(kinds),
        of_dies=any(bound.of_dies for bound in known),
    )


def of_nodes(machine: Machine, platform: Platform | None, nodes: Iterable[int]) -> Bound | None:
    """Return what the memory of some NUMA nodes carries at most: that of every socket that one of them is in."""
    topology, bounds = machine.topology, bounds_of_sockets(machine, platform)
    if topology is None or not bounds:
        return None
    wanted = set(nodes)
    near = [node.cpuset or node.near for node in topology.nodes if node.os_index in wanted]
    sockets = find_sockets(machine, topology)[0]
    reached = [bounds[at] for at, cpus in enumerate(sockets) if any(cpus & each for each in near)]
    return together(reached) if reached and all(near) else None


Metric = Literal["triad", "copy", "load", "latency", "hpl"]
Program = Literal["STREAM", "BabelStream", "likwid-bench", "MLC", "HPL"]
"""Programs whose output is read (advisor/measure/imports): another one could never be met."""


class PublishedFigure(Value):
    """One published figure; a condition that its source does not state is None."""

    processor: str = Field(min_length=3)
    """the model: EPYC 7742"""
    of: Literal["node", "socket"]
    """whether it is for a machine with that many sockets, or for one socket of any machine"""
    sockets: int = Field(ge=1, le=16)
    """number of sockets of the figure"""
    metric: Metric
    """triad, copy, load: bandwidth; latency of local memory; hpl: rate"""
    value: Amount
    """229.3 GB/s, or a range 270..300 GB/s"""
    threads: int | None = optional(ge=1, le=4096)
    """threads or ranks that ran"""
    numa: CutName | None = None
    """NUMA partitioning: NPS4, SNC2, COD, none"""
    smt: Literal["on", "off"] | None = None
    """whether SMT was on"""
    channels: int | None = optional(ge=1, le=64)
    """populated memory channels per socket"""
    memory: str | None = optional(pattern=r"[A-Z0-9]+-\d{3,5}")
    """kind and transfers per second, in millions: DDR4-3200"""
    stores: Literal["regular", "streaming"] | None = None
    """whether stores read the line first"""
    program: Program | None = None
    """the program, if advisor can read its output"""
    cloud: Literal["metal", "virtual"] | None = None
    """whether it ran on bare metal or in a virtual machine"""
    problem: int | None = optional(ge=1)
    """N of HPL"""
    grid: str | None = optional(pattern=r"\d+x\d+")
    """P x Q of HPL: 8x16"""
    kind: Literal["measured", "reference"]
    """reference: what a site expects of its nodes, with a tolerance"""
    year: int | None = optional(ge=2005, le=2100)
    """when it was published"""
    grade: Literal["vendor", "paper", "centre", "user"]
    """who published it"""
    source: str = Field(min_length=3)
    """where: a repository's file, a page, or an id of rules/sources.yaml"""
    others: tuple[str, ...] = ()
    """conditions in words that no fact can meet: only in sheets"""
    neighbour: str | None = None
    """the other generation it comes from, and how it is scaled: EPYC 9004 (Genoa)"""

    @property
    def memory_speed(self) -> float | None:
        """Transfers a second; None where they are not stated."""
        return float(self.memory.partition("-")[2]) * 1e6 if self.memory else None

    @property
    def stated(self) -> bool:
        """Whether it states how the sockets were partitioned, or what memory ran: else no verdict stands on it."""
        return self.numa is not None or self.memory is not None


_METRICS: dict[str, Metric] = {
    "stream-triad": "triad", "stream-copy": "copy", "copy": "copy", "load": "load", "latency-memory": "latency", "hpl": "hpl",
}  # fmt: skip
_VIRTUAL = "virtual machine"
_USUAL = ("all cores", "local memory", "AVX-512", "1 GB", "gcc -O2")
"""Words of a sheet's condition that hold wherever bandwidth is measured."""
_CHOSEN = r"NB \d+"
"""What whoever runs HPL tries out: the best for each library."""


def of_references(platform: Platform | None) -> Iterator[PublishedFigure]:
    """Yield the published figures of a platform's sheet that are of whole machines or sockets."""
    for one in platform.references if platform else ():
        metric = _METRICS.get(one.benchmark)
        if metric and one.kind == "measured" and one.of in ("node", "socket") and one.source != "unverified" and one.value.low:
            for name in one.cpus:
                yield _of_reference(one, metric, name, platform.memory_kind if platform else None)


def _of_reference(one: Reference, metric: Metric, name: str, kind: str | None) -> PublishedFigure:
    words = [part.strip() for part in re.split("[,;]", one.condition or "") if part.strip()]
    found: dict[str, Any] = {}
    others = []
    for word in words:
        if problem := re.fullmatch(r"N (\d+)", word):
            found["problem"] = int(problem[1])
        elif grid := re.fullmatch(r"(\d+) x (\d+) ranks", word):
            found["grid"] = f"{grid[1]}x{grid[2]}"
        elif word not in _USUAL and _VIRTUAL not in word and not re.fullmatch(_CHOSEN, word):
            others.append(word)
    return PublishedFigure(
        processor=name,
        of="node" if one.of == "node" else "socket",
        sockets=one.sockets or 1,
        metric=metric,
        value=one.value,
        threads=one.cores,
        numa=one.cut,
        memory=f"{kind}-{one.memory_speed / 1e6:.0f}" if one.memory_speed and kind else None,
        stores=one.stores,
        cloud="virtual" if _VIRTUAL in (one.condition or "") else "metal",
        kind="measured",
        grade="paper",
        source=one.source,
        others=tuple(others),
        **found,
    )


@cache
def platform_sheet(name: str) -> Platform:
    """Return the whole sheet of a platform that there is."""
    path = file_of(name)
    sheet = with_inherited(read_sheet(path))
    platform = model_of(sheet, Platform)
    must_be_named(platform, sheet)
    return platform


@cache
def platforms() -> tuple[Platform, ...]:
    """Return every platform sheet, by file name."""
    return tuple(platform_sheet(name) for name in platform_files())


def match_platform(machine: Machine) -> Platform | None:
    """Return what is known of the machine's processor generation, with its model's own figures; None where it is not known."""
    cpu = machine.cpu
    if cpu is None:
        return None
    fitting = [each for each in traits() if fits(each.match, cpu, machine.topology)]
    best = max(fitting, key=lambda each: each.match.refines, default=None)
    return for_model(platform_sheet(best.id), cpu.model_name) if best else None


def fits(match: Match, cpu: Cpu, topology: Topology | None) -> bool:
    """Return whether a sheet's description fits a processor in its machine."""
    name = cpu.model_name or ""
    if (cpu.vendor, cpu.family if match.family is not None else None) != (match.vendor, match.family):
        return False
    if cpu.model not in match.models or (match.steppings and cpu.stepping not in match.steppings):
        return False
    if match.never and re.search(match.never, name):
        return False
    return not match.refines or _refined(match, name, topology or Topology())


def _refined(match: Match, name: str, topology: Topology) -> bool:
    largest = max((group.size or 0 for group in topology.l3), default=0)
    return bool(
        (match.l3 and largest >= match.l3)
        or (match.hbm and any(node.kind == "hbm" for node in topology.nodes))
        or (match.name and re.search(match.name, name))
    )


def platform_by_id(name: str) -> Platform:
    """Return the platform of a name such as ``rome`` or ``sapphire-rapids``."""
    wanted = "-".join(name.lower().split()).replace("_", "-")
    known = tuple(platform_files())
    if wanted in known:
        return platform_sheet(wanted)
    if re.search(r"\d{3}", name):
        raise BadValue(f"{name[:40]!r} is not a processor generation", cure=f"give a processor with --cpu {name[:40]!r}")
    raise BadValue(f"unknown platform {name[:40]!r}", cure=did_you_mean(wanted, known, f"available: {', '.join(known)}"))


class Ordered(Value):
    """A processor on order."""

    name: str
    platform: str
    cores: int | None = None
    dies: int | None = None


def processor(name: str) -> Ordered:
    """Return what is known of a processor, by ``EPYC 7702`` or its marketing name; the error names the nearest."""
    plain = plain_processor(name)
    known = {plain_processor(each).lower(): (each, sheet) for sheet in platforms() for each in sheet.processors}
    if plain.lower() in known:
        own, sheet = known[plain.lower()]
        return Ordered(name=own, platform=sheet.id, cores=sheet.processors[own].cores, dies=sheet.processors[own].dies)
    digits = re.sub(_LETTERS, lambda found: found[0].lower().translate(_DIGITS), plain)
    if digits != plain:
        raise BadValue(f"{name[:60]} has letters instead of digits", cure=f"did you mean {digits[:60]}?")
    fitting = {each.id: each for each in traits() if re.fullmatch(each.series, plain, re.IGNORECASE)}
    elders = {each.inherits for each in fitting.values()}
    for each in fitting:
        if each not in elders:  # what inherits from another says more of its own processors
            return Ordered(name=plain, platform=each)
    names = [each for sheet in platforms() for each in sheet.processors]
    cure = did_you_mean(plain, _near(plain, names), "give its generation with --platform")
    raise BadValue(f"{name[:60]} is not a known processor", cure=cure)


_LETTERS = re.compile(r"(?<=\d)(?:[oil]+(?=\d)|o+\b)", re.IGNORECASE)
"""Letters that are mistyped digits; no vendor has one of them inside a model's number (6240L has one behind it)."""
_DIGITS = str.maketrans("oil", "011")


def _near(plain: str, names: list[str]) -> list[str]:
    """Return the models that a misspelt name may mean: those of a number as long that begins alike."""
    number = re.search(r"\d{3,}", plain)
    return [each for each in names if number and re.search(rf"\b{number[0][0]}\w{{{len(number[0]) - 1}}}", each)]


def plain_processor(name: str) -> str:
    """Return a model's name without marks, vendors and what follows the number: EPYC 7702."""
    words = re.sub(r"\((?:R|TM)\)|®|™", "", name)
    words = re.sub(r"@.*|\b\d+-Core\b.*|\bProcessor\b|\bCPU\b(?! Max)", " ", words, flags=re.IGNORECASE)
    words = re.sub(r"^\s*(AMD|Intel)\b", "", " ".join(words.split()), flags=re.IGNORECASE)
    found = re.sub(r"^(Bronze|Silver|Gold|Platinum|Max|E5-)", r"Xeon \1", " ".join(words.split()))
    found = re.sub(r"^Xeon 6 (?=\d{4})", "Xeon ", found, flags=re.IGNORECASE)
    return f"EPYC {found}" if re.fullmatch(r"[79]\w\d\d[PFX]?", found) else found


def platform_on_order(platform: str | None, cpu: str | None) -> tuple[Platform, Ordered | None]:
    """Return the platform of hardware on order, and its model where that was named; the two must not contradict."""
    if cpu is None:
        return platform_by_id(platform or ""), None
    model = processor(cpu)
    named = platform_by_id(platform) if platform is not None else None
    if named is not None and named.id != model.platform:
        raise BadValue(f"{model.name} is {model.platform}, but --platform says {named.id}", cure="give one of the two")
    return for_model(platform_by_id(model.platform), model.name), model


WITHOUT_SHEET = "arm"
"""The file of processors whose generation has no sheet."""
_LARGEST = 1 << 20
COLUMNS = tuple(name for name in PublishedFigure.model_fields if name not in ("others", "neighbour"))
"""Of a file of published figures, in their order."""
SITE_FIGURES = (Path("/etc/advisor/published.csv"), Path("~/.config/advisor/published.csv"))
"""Where a site keeps figures of its own machines: advisor measure publish adds to them."""


def published_files() -> tuple[Path, ...]:
    """Return the files of published figures, by name: a platform's each."""
    return tuple(sorted((rules() / "published").glob("*.csv")))


@cache
def read_published(path: Path) -> tuple[tuple[int, PublishedFigure], ...]:
    """Return the figures of a file, each with its line; refuse what is no figure."""
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSheet("cannot be read", file=str(path), cure="expected a UTF-8 text file") from error
    lines = csv.DictReader(text.splitlines(), strict=True)
    if tuple(lines.fieldnames or ()) != COLUMNS:
        strange = next((name for name in lines.fieldnames or () if name not in COLUMNS), "")
        cure = f"the first line must be {','.join(COLUMNS)}"
        raise BadSheet(
            f"{strange[:40] or 'a column'} is not a column, or a column is missing", file=str(path), place="line 1", cure=cure
        )
    return tuple((lines.line_num, _figure(row, path, lines.line_num)) for row in lines)


def _figure(row: dict[str, str], path: Path, line: int) -> PublishedFigure:
    try:
        return PublishedFigure.model_validate({name: value for name, value in row.items() if value})
    except (ValidationError, BadValue) as error:
        first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else {"loc": ("row",), "msg": str(error)}
        name = str(first["loc"][0]) if first["loc"] else "row"
        cure = meaning(PublishedFigure, name) if name in COLUMNS else f"there are {len(COLUMNS)} columns"
        raise BadSheet(f"{name}: {str(first['msg'])[:160]}", file=str(path), place=f"line {line}", cure=cure) from error


def published_figures(platform: Platform | None) -> tuple[PublishedFigure, ...]:
    """Return what was published for the processors of a platform, in its sheet and in its rows.

    A bandwidth that nobody has published of whole machines with them is that of neighbours: of the same socket, kind of memory
    and nearest generation, scaled by channels and memory speed. It says so, and what it is of is a condition that is never met.
    """
    own = (*of_references(platform), *_rows(platform.id if platform else WITHOUT_SHEET), *_of_site(platform))
    known = {one.metric for one in own if (one.of, one.cloud) == ("node", "metal")}
    lacking = {"triad", "copy", "load"} - known
    return (*own, *(one for one in (_of_neighbours(platform) if platform and lacking else ()) if one.metric in lacking))


def _rows(name: str) -> Iterator[PublishedFigure]:
    path = rules() / "published" / f"{name}.csv"
    yield from (figure for _, figure in (read_published(path) if path.is_file() else ()))


def _of_site(platform: Platform | None) -> Iterator[PublishedFigure]:
    """Yield the figures that this site has added for processors of a platform."""
    for path in filter(Path.is_file, map(at_home, SITE_FIGURES)):
        trusted(path)
        for _, figure in read_published(path):
            if platform is None or re.fullmatch(platform.series, figure.processor, re.IGNORECASE):
                yield figure


def _of_neighbours(platform: Platform) -> Iterator[PublishedFigure]:
    """Yield figures of whole machines from the nearest generation that has some, one away at most."""
    near = [each for each in traits() if each.socket == platform.socket and each.id != platform.id and not each.hbm_and_dimms]
    if platform.socket is None or platform.hbm_and_dimms or not platform.channels or not platform.memory_speed:
        return
    for away in (0, 1):
        found = False
        for each in near:
            other = platform_sheet(each.id) if abs(each.generation - platform.generation) == away else None
            if not other or other.memory_kind != platform.memory_kind or not other.channels or not other.memory_speed:
                continue
            factor = platform.channels * platform.memory_speed / (other.channels * other.memory_speed)
            for one in (*of_references(other), *_rows(other.id)):
                if (one.of, one.cloud, one.value.unit) == ("node", "metal", "bytes/s"):
                    found = True
                    yield _scaled(one, other, platform, factor)
        if found:
            return


def _scaled(one: PublishedFigure, other: Platform, platform: Platform, factor: float) -> PublishedFigure:
    if factor == 1:
        return one.but(neighbour=other.name, others=(*one.others, f"of {other.name}"))
    to = f"scaled to {platform.channels} channels of {platform.memory_kind}-{(platform.memory_speed or 0) / 1e6:.0f}"
    ends = {end: value and value * factor for end, value in (("low", one.value.low), ("high", one.value.high))}
    name = f"{other.name}, {to}"
    value = one.value.but(**ends)
    return one.but(value=value, memory=None, channels=None, neighbour=name, others=(*one.others, f"of {name}"))
