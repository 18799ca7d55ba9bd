"""What is known of a processor generation and cannot be read from the machine: peak rates, valid cuts, published results.

Every figure names the publication it comes from. L3 groups, cores and adapters are never here: the machine shows them. Of a
machine whose DIMMs nobody read arithmetic proves the most that its memory carries, and the most channels in use: each bound holds
whatever is plugged in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from advisor.errors import did_you_mean
from advisor.machine.fact import Bytes, made_from
from advisor.machine.fact import BytesPerSecond as Rate
from advisor.machine.hardware import SocketMemory
from advisor.machine.machine import Machine
from advisor.machine.partitioning import find_sockets
from advisor.machine.platform_traits import NamePattern, Traits
from advisor.machine.value import Amount, Keys, Value, measured_in, optional, wrong_at

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
        near = did_you_mean(name, _CUTS, f"there are {', '.join(_CUTS)}")
        raise ValueError(f"{name[:40]} is no NUMA partitioning; {near}")
    return name


CutName = Annotated[str, AfterValidator(_is_cut)]


class CutOffer(Value):
    """A way of cutting the socket that the firmware of this platform offers."""

    name: CutName = Field(description="as advisor names the NUMA partitioning: NPS4, channel-interleaving, COD, SNC2, none")
    nodes: int = Field(description="how many NUMA nodes it gives, in each of what `per` says", ge=1)
    per: Literal["socket", "system", "l3"] = optional("what the nodes are counted in", "socket")
    called: str = Field(description="the setting in the vendor's words")
    offered: Literal["yes", "unknown"] = optional("unknown where nobody has published which processors offer it", "yes")
    dies_multiple_of: int | None = optional("only where the compute dies of a socket are a multiple of this")
    sockets: int | None = optional("only in a machine of so many sockets")
    min_cores: int | None = optional("certain from so many cores a socket on; below it is not offered, or not known to be")
    only: NamePattern | None = optional("only processors with this in their marketing name")
    source: str = Field(description="publication: its ID in rules/sources.yaml, or unverified")
    note: str | None = optional("what else to know")


class Advice(Value):
    """The NUMA partitioning that a guide recommends for some kinds of work."""

    scopes: tuple[Scope, ...] = Field(description="for which work", min_length=1)
    cut: str = Field(description="the NUMA partitioning it recommends; where it is not offered, the next lower one")
    source: str = Field(description="publication: its ID in rules/sources.yaml, or unverified")
    note: str | None = optional("its reason or its condition")


Benchmark = Literal[
    "stream-triad", "stream-copy", "stream-add", "stream-scale", "stream", "load", "store", "copy", "triad", "latency-memory",
    "dgemm", "hpl", "hpcg", "peak", "wrf", "osu-latency", "osu-bw", "osu-bibw", "osu-mbw-mr", "message-rate", "rdma-latency",
    "rdma-bw", "mpi-sendrecv", "cross-section",
]  # fmt: skip


class Reference(Value):
    """A published result, with the condition it holds under."""

    benchmark: Benchmark = Field(description="what was run")
    of: Literal["core", "l3", "die", "numa-node", "socket", "node", "pair", "cluster"] = optional(
        "what the value belongs to; pair: two nodes over the fabric", "node"
    )
    kind: Literal["measured", "theoretical", "threshold", "vendor", "spread", "gain", "share"] = optional(
        "threshold: below it an operator calls a node sick; vendor: as sold; spread: between identical servers; "
        "gain: how much above what `against` names; share: how much of it",
        "measured",
    )
    value: Amount = Field(description="in base units")
    cpus: tuple[str, ...] = optional("processor models; () for all of the platform", ())
    sockets: int | None = optional("sockets of the machine or of the part measured")
    cores: int | None = optional("cores that worked")
    cut: str | None = optional("cut of the sockets while it ran")
    memory_speed: Transfers | None = optional("transfers a second that the memory ran at")
    stores: Literal["regular", "streaming"] | None = optional(
        "whether stores read the line first; their traffic is not counted, as STREAM does not"
    )
    fabric: str | None = optional("adapter and rate: ConnectX-5 EDR")
    against: str | None = optional("what a gain or a share is of")
    condition: str | None = optional("everything else that matters")
    source: str = Field(description="publication: its ID in rules/sources.yaml, or unverified")
    note: str | None = optional("a doubt about it")


class Variant(Value):
    """Processors of the platform, known by name, for which some figures differ."""

    name: NamePattern = Field(description="their marketing names have this in it")
    why: str = Field(description="what is different about them")
    flops_per_cycle: float | None = optional("double-precision FLOP of a core in a cycle")
    channels: int | None = optional("memory channels of a socket")
    memory_speed: Transfers | None = optional("transfers a second with one DIMM a channel")
    source: str = Field(description="publication: its ID in rules/sources.yaml, or unverified")


_VARYING = ("flops_per_cycle", "channels", "memory_speed")
_FIGURES = (
    *_VARYING, "launched", "socket", "memory_kind", "memory_speed_2dpc", "memory_speed_most", "die_bandwidth", "pcie",
    "l3_per_die",
)  # fmt: skip


class Processor(Value):
    """One processor as its maker describes it."""

    cores: int | None = Field(default=None, ge=1, le=4096, description="cores of a socket")
    dies: int | None = Field(
        default=None, ge=1, le=256, description="compute dies of a socket; None where that is not known or does not count"
    )
    source: str = Field(description="publication: its ID in rules/sources.yaml, or unverified")


class Platform(Traits):
    """A processor generation."""

    launched: str | None = Field(default=None, pattern=r"\d{4}-\d{2}", description="year and month: 2023-01")
    flops_per_cycle: float | None = Field(default=None, ge=1, le=1024, description="double-precision FLOP of a core in a cycle")
    channels: int | None = Field(default=None, ge=1, le=64, description="memory channels of a socket; None where models differ")
    memory_kind: str | None = optional("DDR4, DDR5, LPDDR5X, HBM3")
    memory_speed: Transfers | None = optional("transfers a second with one DIMM a channel, of the fastest model")
    memory_speed_2dpc: Transfers | None = optional("transfers a second with two DIMMs a channel")
    memory_speed_most: Transfers | None = optional(
        "transfers a second of the fastest memory that any board runs, where that is above memory_speed"
    )
    die_bandwidth: BytesPerSecond | None = optional(
        "bytes a second that a compute die reads from the memory controllers at most, over all its links"
    )
    memory_speed_by_model: bool = optional("whether slower models run their memory slower", default=False)
    pcie: float | None = Field(default=None, ge=1, le=9, description="generation of PCI Express")
    sources: dict[str, str] = Field(description="publication of each figure above, by its name: {channels: ID}")
    cuts: tuple[CutOffer, ...] = Field(
        description="NUMA partitionings that the firmware offers: [{name: NPS1, nodes: 1, called: NAME IN THE MENU, source: ID}]"
    )
    best: tuple[Advice, ...] = optional("cuts that guides want; where two disagree, ours comes first", ())
    variants: tuple[Variant, ...] = optional("models for which some figures differ", ())
    references: tuple[Reference, ...] = optional("published results", ())
    processors: dict[str, Processor] = optional("processors of it, for --cpu: EPYC 7702", {})
    notes: tuple[str, ...] = optional("what else to know", ())

    @model_validator(mode="after")
    def _is_sound(self) -> "Platform":
        """Refuse a figure without a source, and advice of a NUMA partitioning that is not offered."""
        given = {name for name in _FIGURES if getattr(self, name) is not None}
        given |= {name for variant in self.variants for name in _VARYING if getattr(variant, name) is not None}
        if lacking := sorted(given - self.sources.keys()):
            raise wrong_at(
                (lacking[0],), f"{lacking[0]} has no source", f"write {lacking[0]}: ID, its publication, under sources"
            )
        if idle := sorted(self.sources.keys() - given):
            raise wrong_at(
                ("sources", idle[0]),
                f"sources names {idle[0]}, of which this sheet has no figure",
                did_you_mean(idle[0], given, f"there are {', '.join(sorted(given))}") or "take it out",
            )
        names = {cut.name for cut in self.cuts}
        for number, advice in enumerate(self.best):
            if advice.cut not in names:
                cure = did_you_mean(advice.cut, names, f"there are {', '.join(sorted(names))}") or "correct it"
                raise wrong_at(
                    ("best", number, "cut"), f"best names the partitioning {advice.cut[:40]}, which cuts does not list", cure
                )
        return self

    def core_peak(self, hertz: float | None) -> float | None:
        """Return double-precision FLOP/s of a core at a clock; None where either is not known."""
        return self.flops_per_cycle * hertz if self.flops_per_cycle and hertz else None

    def citations(self) -> Iterator[tuple[Keys, str]]:
        """Yield every publication it names, with the place in its sheet."""
        yield from ((("sources", name), source) for name, source in self.sources.items())
        for key in ("cuts", "best", "variants", "references"):
            yield from (((key, number, "source"), part.source) for number, part in enumerate(getattr(self, key)))
        yield from ((("processors", name, "source"), each.source) for name, each in self.processors.items())

    @property
    def cited(self) -> tuple[str, ...]:
        """Every publication it names."""
        return tuple(source for _, source in self.citations())


_SAID: dict[str, tuple[str, ...] | None] = {
    **dict.fromkeys(("flops_per_cycle", "memory_kind", "memory_speed", "pcie")),
    "best": ("DIES", "NPS", "COD", "SNC"),
}
"""What every sheet says, or that it is not known, and of which schemes: without it audits and checklists are silently worse."""

_CUTS_OF = {"NPS": ("NPS1",), "SNC": ("none",), "COD": ("none", "COD"), "WHOLE": ("none",)}
"""The cuts that every firmware of a scheme offers."""


def lacking(platform: Platform) -> Iterator[tuple[str, str, str]]:
    """Yield what a platform's traits demand and its sheet does not say: the key, what is wrong, and what to write."""
    for key, of in _SAID.items():
        if key not in platform.model_fields_set and (of is None or platform.scheme in of):
            empty = "[]" if key == "best" else "null"
            yield "id", f"{key} is not said", f"write it with its publication, or {key}: {empty} where nobody has published it"
    names = {cut.name for cut in platform.cuts}
    for cut in _CUTS_OF.get(platform.scheme, ()):
        if cut not in names:
            said = f"scheme {platform.scheme} names the partitioning {cut}, and cuts does not list it"
            yield (
                "cuts",
                said,
                f"add {{name: {cut}, nodes: {2 if cut == 'COD' else 1}, called: NAME IN THE SETUP MENU, source: ID}}",
            )
    if platform.scheme in ("NPS", "DIES") and platform.l3_per_die is None:
        said = f"scheme {platform.scheme} is offered by dies, and nothing says how many L3 groups a die has"
        yield "scheme", said, "add l3_per_die: 1, and its publication under sources"
    dimms = (platform.memory_kind or "").startswith("DDR")
    if dimms and platform.channels is None and not any(variant.channels for variant in platform.variants):
        yield (
            "memory_kind",
            f"{platform.memory_kind} stands in channels, and none are given",
            "add channels, or variants with theirs",
        )
    if platform.hbm_and_dimms and not (platform.match.hbm or platform.match.name):
        said = "hbm_and_dimms, but match does not tell it from processors without HBM"
        yield "match", said, "add hbm: true or name: to match"


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

    value: Rate = Field(description="bytes a second at most")
    because: str = Field(description="8 channels of DDR4-3200 in each of 2 sockets")
    of_dies: bool = optional("whether the links of the compute dies are what bounds it", default=False)


class MemoryBounds(Value):
    """What the memory can be at most, whatever is plugged in: from its size and the processor's sheet."""

    bandwidth: Rate | None = made_from("platform", "bytes a second that the memory of all sockets carries at most")
    because: str | None = made_from("platform", "what bounds it: 8 channels of DDR4-3200 in each of 2 sockets")
    channels: int | None = made_from("platform", "memory channels of all sockets")
    modules: int | None = made_from("topology", "DIMMs that so much memory is made of at most")
    modules_mirrored: int | None = made_from("topology", "the same where the firmware mirrors memory and shows half of it")
    module: Bytes | None = made_from("platform", "bytes of the smallest DIMM of its kind")
    die_limited: bool | None = made_from(
        "platform",
        "whether the links of its dies carry less than the channels; None where no publication of these links is known",
    )


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
    """Return what each socket's memory carries at most; none where the sockets or what bounds one of them are not known."""
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
