"""Finds published results whose conditions a machine meets, and what was measured of the same, also between hosts. Pure."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from advisor.advice.judge.devices import is_fabric
from advisor.advice.model.case import Case
from advisor.machine.cpu import is_model
from advisor.machine.units import duration, flop_rate, memory_clock, plain, throughput
from advisor.measure.measured_facts import (
    UNPUBLISHED,
    Clock,
    Compared,
    Exchange,
    Linpack,
    MeasuredAdapter,
    MeasuredFacts,
    Metric,
    Place,
    Publication,
    PublishedFigure,
    Reach,
    Speed,
)
from advisor.measure.measurement import (
    Measurements,
    Result,
    median_of,
    reported_integer,
    reported_number,
    reported_text,
    spread_of,
)
from advisor.measure.platform import Reference

_VIRTUAL: Final = "virtual machine"
_UNVERIFIED: Final = "unverified"

_MET: Final = (
    "all cores", "local memory", "both L3 groups of the die", "gcc -O2", "AVX-512", "1 GB", _VIRTUAL,
    r"virtual machine with \d+ of \d+ cores", r"virtual machine with \d+ cores",
)  # fmt: skip
"""Words of a condition that hold wherever advisor measures: all cores of the part, its own memory, arrays beyond the caches."""

_PATTERNS: Final = {"stream-triad": "triad", "triad": "triad", "load": "load", "copy": "copying", "stream-copy": "copying"}

_PARTS: Final = {"core": "a core", "l3": "an L3 group", "numa-node": "a NUMA node", "socket": "a socket", "node": "the machine"}

Parts = dict[str, tuple[Speed, ...]]
"""What was measured, by what a reference may be of."""

_SLACK: Final = 0.02
"""2933 MT/s is 2934 in some tables: speeds that differ by less are the same."""


def published(parts: Parts, case: Case) -> tuple[Compared, ...]:
    """Return bandwidths that were published for such machines, beside what was measured here; the strictest of each source."""
    found = (_compared(one, parts, case) for one in _fitting(case) if one.benchmark in _PATTERNS)
    return strictest(each for each in found if each is not None)


def published_latency(parts: Parts, case: Case) -> tuple[Compared, ...]:
    """Return latencies of memory that were published for such machines, beside what was measured here."""
    own = [*parts.get("numa-node", ()), *parts.get("node", ())]
    value = median_of(each.latency for each in own if each.latency is not None)
    spread = max((each.latency_spread for each in own if each.latency_spread is not None), default=None)
    if value is None:
        return ()
    kind = "latency-memory"
    return tuple(beside(one, case, kind, value, spread) for one in _fitting(case) if one.benchmark == kind)


def beside(one: Reference, case: Case, name: str, value: float, spread: float | None, *more: str | None) -> Compared:
    """Return a published result beside what was measured of the same; more in words is what both have in common too."""
    said = (*conditions(one, case), *more)
    return Compared(
        name=name,
        value=value,
        spread=spread,
        low=one.value.low,
        high=one.value.high,
        conditions=", ".join(each for each in said if each),
        ref=one.source,
    )


def strictest(found: Iterable[Compared]) -> tuple[Compared, ...]:
    """Return of several results for the same thing from one source the one that asks most."""
    best: dict[tuple[str, str], Compared] = {}
    for each in found:
        key = (each.name, each.ref)
        if key not in best or (each.low or 0) > (best[key].low or 0):
            best[key] = each
    return tuple(best.values())


def _fitting(case: Case) -> Iterator[Reference]:
    """Yield the published results of the platform, each condition of which this machine is known to meet."""
    for one in case.platform.references if case.platform else ():
        if one.kind in ("measured", "threshold") and meets(one, case):
            yield one


def meets(one: Reference, case: Case, words: Collection[str] = _MET) -> bool:
    """Return whether the machine is known to meet every condition of a published result; of its words only those given."""
    return (
        one.source != _UNVERIFIED
        and (not one.cpus or any(_is_model(name, case) for name in one.cpus))
        and (one.of != "node" or one.sockets in (None, case.shape.sockets if case.shape else 0))
        and (one.cut is None or _is_cut(one.cut, case))
        and (one.memory_speed is None or _runs_at(one.memory_speed, case))
        and _channels(case) is not False
        and _met(one.condition, case, words)
    )


def _is_model(name: str, case: Case) -> bool:
    return is_model(name, case.cpu.model_name if case.cpu else None)


def _is_cut(name: str, case: Case) -> bool:
    cut = case.layout.cut if case.layout else None
    return cut is not None and cut.name == name and cut.confidence != "low"


def _runs_at(speed: float, case: Case) -> bool:
    own = [socket.configured for socket in case.sockets or ()]
    return bool(own) and all(each is not None and abs(each - speed) <= _SLACK * speed for each in own)


def _channels(case: Case) -> bool | None:
    """Return whether every channel holds a DIMM, which all publications take for granted; None where nobody knows."""
    known = [(socket.channels, socket.channels_offered) for socket in case.sockets or ()]
    if not known or any(used is None or offered is None for used, offered in known):
        return None
    return all(used == offered for used, offered in known)


def _met(condition: str | None, case: Case, words: Collection[str]) -> bool:
    """Return whether all that a condition says in words is so here; words that are not known are taken for not met."""
    said = condition or ""
    virtual = case.environment.virtual if case.environment else None
    if virtual is None or (_VIRTUAL in said) != (virtual != "none"):
        return False
    return all(any(re.fullmatch(known, part) for known in words) for part in phrases(said))


def phrases(condition: str | None) -> tuple[str, ...]:
    """Return what a condition says, point by point."""
    return tuple(part.strip() for part in re.split("[,;]", condition or "") if part.strip())


def _compared(one: Reference, parts: Parts, case: Case) -> Compared | None:
    value, spread = _value(one, parts, case)
    if value is None or one.value.low is None:
        return None
    return beside(one, case, f"{one.benchmark} of {_PARTS.get(one.of, one.of)}", value, spread)


def _value(one: Reference, parts: Parts, case: Case) -> tuple[float | None, float | None]:
    """Return what was measured of the same: the median of all parts of the kind, if as many cores worked."""
    cores = case.shape.cores if case.shape else None
    if one.of == "core" and one.cores is not None and one.cores == cores != 1:
        whole = parts.get("node", ())
        value = _rate(one, whole[0]) if whole else None
        return (value / cores if value and cores else None), (whole[0].spread if whole else None)
    own = [each for each in parts.get(one.of, ()) if one.cores in (None, len(each.cpus))]
    spreads = [each.spread for each in own]
    known = [spread for spread in spreads if spread is not None]
    values = [value for each in own if (value := _rate(one, each)) is not None]
    return median_of(values), median_of(known) if len(known) == len(spreads) else None


def _rate(one: Reference, part: Speed) -> float | None:
    """Return the rate with the same kind of stores."""
    what = _PATTERNS[one.benchmark]
    if what == "triad" and one.stores is not None:
        return part.regular if one.stores == "regular" else part.streaming
    rate: float | None = getattr(part, what)
    return rate


def conditions(one: Reference, case: Case) -> Sequence[str]:
    """Return in words what the machine and the publication have in common."""
    model = next((name for name in one.cpus if _is_model(name, case)), case.platform.name if case.platform else None)
    said = [model, f"{one.sockets} sockets" if one.of == "node" and (one.sockets or 0) > 1 else None, one.cut]
    said += [memory_clock(one.memory_speed) if one.memory_speed else None, "all channels filled" if _channels(case) else None]
    said += [f"{one.stores} stores" if one.stores else None, _VIRTUAL if _VIRTUAL in (one.condition or "") else None]
    return [each for each in said if each]


_OPEN_MPI: Final = ("HPC-X", "Open MPI with UCX")
_CSTATES: Final = "C-states on"
_DEEP: Final = 2
"""Microseconds to leave an idle state: C1 takes less."""

_SMALL: Final = r"(small message|[128] bytes?)"
_LARGE: Final = r"([14] MB|one core)"
_BESIDE: Final = r"rank on (NUMA node \d+ with the adapter|the adapter's NUMA node)"
_ANYWHERE: Final = ("virtual machine", "SR-IOV", *_OPEN_MPI, _CSTATES)
"""Words that are looked at apart."""

_Value = tuple[float | None, float | None]
"""What was measured, and its spread."""
_Take = Callable[[MeasuredAdapter], _Value]


def published_network(adapters: Sequence[MeasuredAdapter], case: Case) -> tuple[Compared, ...]:
    """Return bandwidths between hosts that were published for such machines; the strictest of each source."""
    found = _compared_messages(adapters, case, _BANDWIDTHS)
    return strictest(each for each in found if each.low is not None)


def published_network_latency(adapters: Sequence[MeasuredAdapter], case: Case) -> tuple[Compared, ...]:
    """Return latencies between hosts that were published for such machines."""
    return tuple(each for each in _compared_messages(adapters, case, _LATENCIES) if each.high is not None)


def _compared_messages(adapters: Sequence[MeasuredAdapter], case: Case, kinds: Sequence["_Kind"]) -> Iterator[Compared]:
    for adapter in adapters:
        for one in case.platform.references if case.platform else ():
            for kind in kinds:
                value, spread = kind.take(adapter)
                if value is not None and kind.is_of(one) and _fits(one, kind, adapter, case):
                    name = f"{one.benchmark} through {adapter.name}, {kind.about}"
                    yield beside(one, case, name, value, spread, one.fabric)


@dataclass(frozen=True)
class _Kind:
    """One thing that publications measure, the words that they say it with, and where it is found here."""

    benchmark: str
    about: str
    words: tuple[str, ...]
    take: _Take
    must: str = ""
    """What its condition says for sure."""

    def is_of(self, one: Reference) -> bool:
        """Return whether a reference is of this, and says what it must."""
        named = not self.must or self.must in phrases(one.condition)
        return (one.benchmark, one.of, named) == (self.benchmark, "pair", True) and one.kind in ("measured", "threshold")


def _fits(one: Reference, kind: _Kind, adapter: MeasuredAdapter, case: Case) -> bool:
    said = phrases(one.condition)
    if _CSTATES in said and not _sleeps(case):
        return False
    if any(word in said for word in _OPEN_MPI) and not (adapter.launcher or "").startswith("openmpi"):
        return False
    return meets(one, case, (*kind.words, *_ANYWHERE)) and is_fabric(one.fabric, adapter.name, case)


def _sleeps(case: Case) -> bool:
    """Return whether idle cores are known to sleep in a state that is more than a halt."""
    states = case.cpu.idle_states if case.cpu else None
    return any((state.latency or 0) > _DEEP and state.disabled is not None and not state.disabled for state in states or ())


def _of(part: Exchange | Reach | None, what: str, spread: str = "spread") -> _Value:
    return (getattr(part, what), getattr(part, spread)) if part else (None, None)


_TO_PEER: Final = r"NUMA node \d+ to its peer"
_BANDWIDTHS: Final = (
    _Kind("osu-bw", "one rank beside it", (_LARGE, _BESIDE), lambda one: _of(one.one, "bandwidth")),
    _Kind("mpi-sendrecv", "one rank beside it, one way", ("one way",), lambda one: _of(one.one, "bandwidth"), must="one way"),
    _Kind("osu-bibw", "one rank beside it, both ways", (_LARGE, _BESIDE), lambda one: _of(one.one, "both")),
    _Kind(
        "osu-mbw-mr", "its NUMA node", (_TO_PEER, "the adapter's node"), lambda one: _of(one.near, "bandwidth"),
        must="the adapter's node",
    ),
    _Kind(
        "osu-mbw-mr", "other nodes of its socket", (_TO_PEER, "the adapter's socket"),
        lambda one: _of(one.same_socket, "bandwidth"), must="the adapter's socket",
    ),
    _Kind(
        "osu-mbw-mr", "nodes of the far socket", (_TO_PEER, "the far socket"), lambda one: _of(one.other_socket, "bandwidth"),
        must="the far socket",
    ),
)  # fmt: skip
_LATENCIES: Final = (
    _Kind("osu-latency", "one rank beside it", (_SMALL, _BESIDE), lambda one: _of(one.one, "latency", "latency_spread")),
    _Kind(
        "mpi-sendrecv", "one rank beside it", (_SMALL,), lambda one: _of(one.one, "latency", "latency_spread"),
        must="small message",
    ),
)  # fmt: skip


_ALIKE: Final = 0.3
"""Of one host's share of memory: systems that take as long fill less of each host the more there are, a third at 27."""
_WIDEST: Final = ("avx512", "avx2", "avx", "sve", "neon", "sse2", "scalar")
_BETTER: Final = re.compile(r"\bOPENBLAS_CORETYPE=([A-Za-z0-9]{2,20})\b")


def linpack(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> tuple[Linpack, ...]:
    """Return every run that is believed, those of fewest hosts first; beside those of more, what one host gives."""
    found = [_run(each, case, clocks) for each in measurements.of("hpl", "flop/s")]
    ordered = sorted(found, key=lambda run: (run.part != "machine", run.hosts or 1, -run.rate))
    one = next((run for run in ordered if run.hosts == 1 and run.part == "machine"), None)
    return tuple(run if one is None else run.model_copy(update={"of_one": _against(run, one)}) for run in ordered)


def _against(run: Linpack, one: Linpack) -> float | None:
    """Return what each of several hosts gives as a share of one alone; None where each had a far smaller system to solve."""
    if run.part != "machine" or not run.hosts or run.hosts < 2 or run.threads != one.threads:
        return None
    alike = run.memory_share is not None and one.memory_share is not None and run.memory_share >= _ALIKE * one.memory_share
    return run.rate / run.hosts / one.rate if alike else None


def _run(run: Result, case: Case, clocks: Sequence[Clock]) -> Linpack:
    dgemm, load, p, q = (
        reported_number(run, "dgemm_all"),
        reported_number(run, "peak_load"),
        reported_integer(run, "p"),
        reported_integer(run, "q"),
    )
    doubt = reported_text(run, "blas_doubt")
    better = _BETTER.search(doubt)
    cores = _cores(run, case)
    base = reported_number(run, "peak_base") or _peak_base(cores.get("cores"), case)
    return Linpack(
        part=run.part,
        index=run.index,
        rate=run.median,
        spread=spread_of(run),
        repeats=len(run.values),
        n=reported_integer(run, "n"),
        nb=reported_integer(run, "nb"),
        grid=f"{p} x {q}" if p and q else None,
        program=reported_text(run, "program") or None,
        blas=reported_text(run, "blas") or None,
        blas_core=reported_text(run, "blas_core") or None,
        blas_doubt=doubt or None,
        blas_better=better[1] if better else None,
        peak_base=base,
        of_base=_hpl_of(run.median, base),
        peak_load=load,
        of_load=_hpl_of(run.median, load),
        dgemm=dgemm,
        of_dgemm=_hpl_of(run.median, dgemm),
        dgemm_of_load=_hpl_of(dgemm, load),
        memory_share=_memory(run, case),
        clock=min(clocks, key=_width, default=None),
        like=_like(_hpl_of(dgemm or run.median, load) or _hpl_of(run.median, base), case),
        **cores,
    )


def _hpl_of(part: float | None, total: float | None) -> float | None:
    return part / total if part and total else None


def _peak_base(cores: int | None, case: Case) -> float | None:
    """Return the peak of so many cores at their base clock: other programs' outputs do not have it."""
    peak = case.platform.core_peak(case.cpu.base_hz) if case.platform and case.cpu else None
    return cores * peak if cores and peak else None


_OLDER: Final = ((16, "AVX2"), (8, "AVX"), (4, "SSE2"))
"""Double-precision FLOP of an x86 core in a cycle, with instructions that older processors had: each half of the one before."""
_X86: Final = ("AuthenticAMD", "GenuineIntel", "HygonGenuine")
_MOST: Final = 1.2
"""A rate may be so much above a share of the peak at base clock: cores that use narrow instructions clock higher."""


def _like(share: float | None, case: Case) -> str | None:
    """Return the narrower instructions that give such a share of the peak at most; None where it is more than those give."""
    each = case.platform.flops_per_cycle if case.platform else None
    if not share or not each or not case.cpu or case.cpu.vendor not in _X86:
        return None
    return next((name for flops, name in reversed(_OLDER) if flops < each and share <= _MOST * flops / each), None)


def _width(clock: Clock) -> int:
    return _WIDEST.index(clock.isa) if clock.isa in _WIDEST else len(_WIDEST)


def _memory(run: Result, case: Case) -> float | None:
    """Return what the matrix takes of the memory of all hosts, which are taken to be alike."""
    memory, n, hosts = case.shape.memory if case.shape else None, reported_integer(run, "n"), reported_integer(run, "hosts")
    return 8 * n**2 / (memory * hosts) if memory and n and hosts else None


def _cores(run: Result, case: Case) -> dict[str, Any]:
    """Return on how many cores so many ranks and threads worked; its CPUs are those of the first host."""
    ranks, threads, hosts = reported_integer(run, "ranks"), reported_integer(run, "threads"), reported_integer(run, "hosts")
    told = {"ranks": ranks, "threads": threads, "hosts": hosts}
    cpus, every = set(run.cpus), case.topology.cores if case.topology else ()
    own = [core for core in every if any(cpu in core.cpuset for cpu in cpus)]
    if not own or not hosts:
        return told
    cores = len(own) * hosts
    return {
        **told,
        "cores": cores,
        "per_core": ranks * threads / cores if ranks and threads else None,
        "whole": len(own) == len(every),
    }


_TURBO: Final = "turbo on"
_NODES: Final = re.compile(r"(?:up to )?(\d+) nodes")
_WORDS: Final = (
    "virtual machine", r"virtual machine with \d+ cores", _NODES.pattern, "power determinism", _TURBO,
    r"NB? \d+", r"\d+ x \d+ ranks", r"\d+ threads a rank", "MKL_DEBUG_CPU_TYPE=5",
    r"(AMD BLIS|BLIS|OpenBLAS|MKL|cray-libsci|Intel HPL)( \d[\d.]*[ab]?)?",
)  # fmt: skip
"""Words of a condition that are met by themselves, or are looked at below: how HPL was run well can be done here too."""
_BASE: Final = "peak at base clock"
_HPL_LARGE: Final = 0.5
"""Of the memory: publications solve systems that fill most of it, and smaller ones are slower."""


def published_hpl(runs: Iterable[Linpack], case: Case) -> tuple[Compared, ...]:
    """Return what was published of HPL and DGEMM on such machines, beside what was measured here."""
    return strictest(found for run in runs if run.whole for found in _published(run, case))


def _published(run: Linpack, case: Case) -> Iterator[Compared]:
    for one in case.platform.references if case.platform else ():
        low, high = _rates(one, run)
        value = run.dgemm if one.benchmark == "dgemm" else run.rate
        large = one.benchmark == "dgemm" or (run.memory_share or 0) >= _HPL_LARGE
        if low is not None and value is not None and large and _hpl_fits(one, run, case) and meets(one, case, _WORDS):
            share = f"{round(100 * (one.value.low or 0), 1):g} % of {_BASE}" if one.kind == "share" else None
            name = f"{one.benchmark} of {'the machine' if one.of == 'node' else f'{run.hosts} hosts'}"
            yield beside(one, case, name, value, run.spread, share).model_copy(update={"low": low, "high": high})


def _rates(one: Reference, run: Linpack) -> tuple[float | None, float | None]:
    """Return what a publication promises these cores: its rate, or its share of their peak at base clock."""
    if one.benchmark not in ("hpl", "dgemm"):
        return None, None
    if one.kind in ("measured", "threshold") and one.of == "node":
        return one.value.low, one.value.high
    if one.kind == "share" and one.against == _BASE and run.peak_base:
        return _times(one.value.low, run.peak_base), _times(one.value.high, run.peak_base)
    return None, None


def _hpl_fits(one: Reference, run: Linpack, case: Case) -> bool:
    """Return whether as many hosts and cores worked, over such adapters, and boost was on where it was."""
    said = phrases(one.condition)
    on = _TURBO not in said or (case.cpu is not None and case.cpu.boost is True)
    alike = one.sockets in (None, case.shape.sockets if case.shape else None) and one.cores in (None, run.cores)
    fabric = one.fabric is None or any(is_fabric(one.fabric, each.name, case) for each in case.adapters or ())
    return on and alike and fabric and _as_many(one, said, run.hosts or 0)


def _as_many(one: Reference, said: Sequence[str], hosts: int) -> bool:
    """Return whether a publication is of one node, as here, or of at least as many nodes."""
    if one.of == "node":
        return hosts == 1
    most = next((int(found[1]) for phrase in said if (found := _NODES.fullmatch(phrase))), 0)
    return one.of == "cluster" and 1 < hosts <= most


def _times(share: float | None, peak: float) -> float | None:
    return None if share is None else share * peak


_PLACE_LARGE: Final = 0.9
"""Of the published N: a smaller system of equations is slower by itself."""
_FILLED: Final = 0.5
"""Of the memory: a system that fills so much is a large one, whatever was published."""


class Figure(NamedTuple):
    """One figure of this machine, and how it was measured."""

    name: str
    metric: Metric
    value: float
    sockets: int
    threads: int
    stores: str | None = None
    program: str | None = None
    problem: int | None = None
    grid: str | None = None
    filled: bool = False
    """Whether a system of equations fills much of the memory."""


def places(facts: MeasuredFacts, measurements: Measurements, case: Case, figures: Sequence[PublishedFigure]) -> tuple[Place, ...]:
    """Return where each figure of the whole machine stands."""
    return tuple(_place(each, facts, case, figures) for each in _figures(facts, measurements, case))


def _figures(facts: MeasuredFacts, measurements: Measurements, case: Case) -> Iterator[Figure]:
    """Yield the machine's own figures; of a machine of one socket that socket is the machine."""
    sockets, whole = case.shape.sockets if case.shape else None, facts.machine
    program = next((name for name in ("STREAM", "BabelStream", "likwid-bench", "MLC") if _is_of(name, measurements)), None)
    if whole is not None and sockets:
        rates: tuple[tuple[Metric, float | None], ...] = (("triad", whole.triad), ("copy", whole.copying), ("load", whole.load))
        for metric, value in rates:
            if value is not None:
                stores = _stores(whole) if metric == "triad" and program is None else None
                yield Figure(f"{metric} of the machine", metric, value, sockets, len(whole.cpus), stores, program)
        if whole.latency is not None:
            yield Figure("latency of local memory", "latency", whole.latency, sockets, 1)
    run = facts.hpl
    if run is not None and run.whole and run.hosts == 1 and run.part == "machine" and sockets:
        yield _of_hpl(run, sockets)


def _is_of(name: str, measurements: Measurements) -> bool:
    return any(words.startswith(name) for words in measurements.conditions.imported or ())


def _stores(whole: Speed) -> str | None:
    """Return which stores gave the better triad."""
    return None if whole.triad is None else "streaming" if whole.streaming == whole.triad else "regular"


def _of_hpl(run: Linpack, sockets: int) -> Figure:
    grid = run.grid.replace(" ", "") if run.grid else None
    filled = (run.memory_share or 0) >= _FILLED
    return Figure(
        "HPL of the machine", "hpl", run.rate, sockets, (run.ranks or 0) * (run.threads or 1), None, "HPL", run.n, grid, filled
    )


def _place(own: Figure, facts: MeasuredFacts, case: Case, figures: Sequence[PublishedFigure]) -> Place:
    found, kin = _alike(own, case, figures)
    beside = tuple(_beside(own, one, case) for one in found)
    compared = () if kin and not _same_dies(found, case) else beside
    stated = [one for one in compared if one.stated and one.outcome != "other" and not kin]
    ceiling, because = _ceiling(own, facts, case)
    place = Place(
        name=own.name,
        metric=own.metric,
        value=own.value,
        ceiling=ceiling,
        because=because,
        processor=f"{own.sockets} x {_model(found, case)}" if found else None,
        published=beside,
        kin=kin,
        count=len(compared),
        low=min((one.low for one in compared), default=None),
        high=max((one.high for one in compared), default=None),
        stated_low=min((one.low for one in stated), default=None),
        judged=facts.idle is True and any(one.outcome == "meets" for one in compared),
        doubts=_doubts(own, ceiling, facts, case),
    )
    return place.model_copy(update={"says": _says(place), "of_ceiling": _of_ceiling(place)})


def _alike(own: Figure, case: Case, figures: Sequence[PublishedFigure]) -> tuple[tuple[PublishedFigure, ...], bool]:
    """Return what was published of the same for this processor, or else for others of its generation; and whether for others."""
    virtual = case.environment.virtual if case.environment else None
    cloud = "metal" if virtual in (None, "none") else "virtual"
    same = [
        one for one in figures if (one.metric, one.sockets, one.cloud) == (own.metric, own.sockets, cloud) and one.of == "node"
    ]
    if cloud == "virtual":  # a part of the host: only the size tells which
        same = [one for one in same if one.threads == own.threads]
    if own.metric == "hpl":
        same = [one for one in same if own.filled or (one.problem and (own.problem or 0) >= _PLACE_LARGE * one.problem)]
    mine = tuple(one for one in same if _is_mine(one, case))
    if mine or case.platform is None:
        return mine, False
    return tuple(one for one in same if one.channels in (None, case.platform.channels)), True


def _is_mine(one: PublishedFigure, case: Case) -> bool:
    return is_model(one.processor.removeprefix("Xeon "), case.cpu.model_name if case.cpu else None)


def _same_dies(found: Iterable[PublishedFigure], case: Case) -> bool:
    """Return whether all publications are of models that reach memory through as many dies as this one."""
    platform = case.platform
    own = {socket.dies for socket in case.sockets or ()}
    known = platform.processors if platform else {}
    theirs = {known[one.processor].dies if one.processor in known else None for one in found}
    return len(own | theirs) == 1 and None not in own


_FEW: Final = 3


def _model(found: Sequence[PublishedFigure], case: Case) -> str:
    names = tuple(dict.fromkeys(one.processor for one in found))
    return " or ".join(names) if len(names) <= _FEW or case.platform is None else case.platform.name


class _Condition(NamedTuple):
    """One condition of a publication: in words, what is so here, and whether that is the same; None where it is not known."""

    words: str
    here: str
    met: bool | None


def _beside(own: Figure, one: PublishedFigure, case: Case) -> Publication:
    all_of = [*_conditions_of(own, one, case)]
    differs = tuple(f"{each.words} (here {each.here})" for each in all_of if each.met is False)
    unknown = (*(each.words for each in all_of if each.met is None), *one.others)
    low, high = one.value.low or one.value.high or 0.0, one.value.high or one.value.low or 0.0
    return Publication(
        processor=one.processor,
        low=low,
        high=high,
        outcome="other" if differs else "unknown" if unknown or not one.stated else "meets",
        stated=one.stated,
        conditions=tuple(each.words for each in all_of if each.met),
        differs=differs,
        unknown=unknown,
        ref=one.source,
    )


def _conditions_of(own: Figure, one: PublishedFigure, case: Case) -> Iterator[_Condition]:
    """Yield what a publication states, beside what is so here."""
    cut = case.layout.cut if case.layout else None
    sure = cut.name if cut and cut.confidence != "low" and cut.name != "unknown" else None
    if one.numa:
        yield _Condition(
            "no sub-NUMA clustering" if one.numa == "none" else one.numa, str(sure), None if sure is None else sure == one.numa
        )
    if one.smt:
        state = case.layout.smt.state if case.layout else None
        yield _Condition(f"SMT {one.smt}", f"SMT {state}", state == one.smt if state in ("on", "off") else None)
    if one.memory_speed:
        yield _of_speed(one, case)
    if one.channels:
        filled = {socket.channels for socket in case.sockets or ()}
        yield _Condition(
            f"{one.channels} channels filled", f"{filled}", None if None in filled or not filled else filled == {one.channels}
        )
    if one.threads and own.threads and own.metric != "latency":
        yield _Condition(f"{one.threads} threads", f"{own.threads}", one.threads == own.threads)
    if one.stores:
        yield _Condition(f"{one.stores} stores", str(own.stores), None if own.stores is None else own.stores == one.stores)
    if one.problem:
        yield _Condition(f"N {one.problem}", f"N {own.problem}", (own.problem or 0) >= _PLACE_LARGE * one.problem)
    if one.grid and own.grid:
        yield _Condition(f"grid {one.grid}", own.grid, one.grid == own.grid)
    if one.program and own.program:
        yield _Condition(one.program, own.program, one.program == own.program)


def _of_speed(one: PublishedFigure, case: Case) -> _Condition:
    wanted = one.memory_speed or 0.0
    own = [socket.configured for socket in case.sockets or ()]
    known = [speed for speed in own if speed is not None]
    met = all(abs(speed - wanted) <= _SLACK * wanted for speed in known) if known and len(known) == len(own) else None
    return _Condition(f"{wanted / 1e6:.0f} MT/s", f"{min(known) / 1e6:.0f} MT/s" if known else "?", met)


_SPOKEN: Final = {"latency": duration, "hpl": flop_rate}


def _says(place: Place) -> str:
    """Return where a figure stands among the published ones, in words: its share of them, and under which conditions they are."""
    write = _SPOKEN.get(place.metric, throughput)
    return f"{write(place.value)}: {_among(place, write)}"


def _of_ceiling(place: Place) -> str:
    """Return which share of its ceiling a figure is, in words; empty where none is known."""
    if not place.ceiling:
        return ""
    return f"{100 * place.value / place.ceiling:.0f} % of the {throughput(place.ceiling)} that {place.because} carry at most"


def _among(place: Place, write: Callable[[float], str]) -> str:
    """Return how a figure stands to what was published for this processor; where that is nothing, for its kin."""
    every = place.published
    if not every:
        return UNPUBLISHED
    low, high = min(one.low for one in every), max(one.high for one in every)
    span = write(low) if write(low) == write(high) else f"{_number(write(low), write(high))} to {write(high)}"
    sources = tuple(dict.fromkeys(_cited(one.ref) for one in every))
    model = f"{place.processor} (none for this model)" if place.kin else place.processor
    of = f"{span} published for {model} [{sources[0] if len(every) == 1 else f'{len(every)} figures'}]"
    if place.low is None or place.high is None:
        return of
    if round(place.value / place.low, 2) < 1:
        lowest = "lowest of the " if low != high and len(every) > 1 else ""
        return f"{100 * place.value / place.low:.0f} % of the {lowest}{of}, {_terms(every)}"
    if round(place.value / place.high, 2) > 1:
        return f"{100 * place.value / place.high:.0f} % of the {of}, {_terms(every)}"
    return f"{'as the' if low == high else 'within the'} {of}, {_terms(every)}"


def _cited(ref: str) -> str:
    """Return a source in a word: its id, the repository of a file, the host of a page."""
    host = re.fullmatch(r"https?://([^/]+).*", ref)
    return plain(host[1] if host else ref.partition(":")[0], 80)


def _number(words: str, other: str) -> str:
    """Return a value without its unit where the other end of the range has the same one."""
    number, _, unit = words.partition(" ")
    return number if other.endswith(f" {unit}") else words


def _terms(every: Sequence[Publication]) -> str:
    """Return under which conditions the figures were published: those of one in full, of several how many hold here."""
    if len(every) > 1:
        met, other = (sum(1 for one in every if one.outcome == outcome) for outcome in ("meets", "other"))
        rest = len(every) - met - other
        counts = (
            (met, "under conditions met here"),
            (other, "under other conditions"),
            (rest, "under conditions not stated or not known here"),
        )
        return ", ".join(f"{number} {words}" for number, words in counts if number)
    (one,) = every
    parts = (
        ", ".join(one.conditions),
        ", ".join(one.differs),
        f"not known here: {', '.join(one.unknown)}" if one.unknown else "",
    )
    return "; ".join(part for part in parts if part) or "conditions not stated"


def _ceiling(own: Figure, facts: MeasuredFacts, case: Case) -> tuple[float | None, str | None]:
    """Return what the memory of all sockets carries at most, and why: by its DIMMs where these are known, else by arithmetic."""
    if own.metric not in ("triad", "copy", "load"):
        return None, None
    if facts.machine and facts.machine.ceiling:
        return facts.machine.ceiling, "its DIMMs"
    return (case.bounds.bandwidth, case.bounds.because) if case.bounds else (None, None)


_TOLERANCE: Final = 1.02


def _doubts(own: Figure, ceiling: float | None, facts: MeasuredFacts, case: Case) -> str:
    """Return what may be behind a low figure and cannot be excluded: placement that arithmetic allows, and other work."""
    said = []
    shape = case.shape
    if ceiling and own.metric != "latency" and shape and shape.cpu_nodes and shape.sockets:
        node, socket = ceiling / shape.cpu_nodes, ceiling / shape.sockets
        if shape.cpu_nodes > shape.sockets and own.value <= _TOLERANCE * node:
            said.append(f"all memory on one NUMA node, which carries {throughput(node)} (first touch by one thread)")
        elif shape.sockets > 1 and own.value <= _TOLERANCE * socket:
            said.append(f"memory or threads on one socket, which carries {throughput(socket)}")
    if any(socket.configured is None for socket in case.sockets or ()):
        said.append("slow or missing DIMMs, which nobody read")
    if facts.idle is not True:
        said.append("other work meanwhile")
    return ", ".join(said)
