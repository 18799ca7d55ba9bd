"""Finds published results whose conditions a machine meets, and what was measured of the same, also between hosts. Pure."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

from advisor.advice.judge.case import Case
from advisor.machine.hardware import is_model
from advisor.machine.units import count, duration, flop_rate, memory_clock, plain, throughput
from advisor.measure.measured_facts import (
    UNPUBLISHED,
    Clock,
    Compared,
    Linpack,
    MeasuredAdapter,
    MeasuredFacts,
    Place,
    Publication,
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
from advisor.measure.platform import Metric, PublishedFigure, Reference

_VIRTUAL = "virtual machine"
_MET = (
    "all cores", "local memory", "both L3 groups of the die", "gcc -O2", "AVX-512", "1 GB", _VIRTUAL,
    r"virtual machine with \d+ of \d+ cores", r"virtual machine with \d+ cores",
)  # fmt: skip
"""Words of a condition that hold wherever advisor measures: all cores of the part, its own memory, arrays beyond the caches."""

_PATTERNS = {"stream-triad": "triad", "triad": "triad", "load": "load", "copy": "copying", "stream-copy": "copying"}
_PARTS = {"core": "a core", "l3": "an L3 group", "numa-node": "a NUMA node", "socket": "a socket", "node": "the machine"}
_MEASURED = ("measured", "threshold")
_SLACK = 0.02
"""2933 MT/s is 2934 in some tables: speeds that differ by less are the same."""

Parts = Mapping[str, Sequence[Speed]]
"""What was measured, by what a reference may be of."""


def share_of(part: float | None, total: float | None) -> float | None:
    """Return a figure as a share of another; None where either is not known."""
    return part / total if part is not None and total else None


def spread_of_all(spreads: Iterable[float | None]) -> float | None:
    """Return the median spread of several results; None where one has too few repeats to tell."""
    every = list(spreads)
    known = [spread for spread in every if spread is not None]
    return median_of(known) if len(known) == len(every) else None


def references(case: Case) -> tuple[Reference, ...]:
    """Return what was published of machines of this generation."""
    return case.platform.references if case.platform else ()


def published(parts: Parts, case: Case) -> tuple[Compared, ...]:
    """Return bandwidths that were published for such machines, beside what was measured here; the strictest of each source."""
    found, shares = list[Compared](), list[Compared]()
    for one in references(case):
        if one.kind in _MEASURED and one.benchmark in _PATTERNS and one.value.low is not None and meets(one, case):
            value, spread = _value(one, parts, case)
            if value is not None:
                every = found if one.of != "core" or one.cores in (None, 1) else shares
                every.append(_compared(one, case, f"{one.benchmark} of {_PARTS.get(one.of, one.of)}", value, spread))
    whole = {(each.ref, each.name.partition(" ")[0]) for each in found if each.name.endswith(_PARTS["node"])}
    found += [each for each in shares if (each.ref, each.name.partition(" ")[0]) not in whole]  # the same figure, divided
    return _strictest(found)


def published_latency(parts: Parts, case: Case) -> tuple[Compared, ...]:
    """Return latencies of memory that were published for such machines, beside what was measured here."""
    own = [*parts.get("numa-node", ()), *parts.get("node", ())]
    value = median_of(each.latency for each in own if each.latency is not None)
    spread = max((each.latency_spread for each in own if each.latency_spread is not None), default=None)
    if value is None:
        return ()
    fits = (one for one in references(case) if one.benchmark == "latency-memory" and one.kind in _MEASURED and meets(one, case))
    return tuple(_compared(one, case, "latency-memory", value, spread) for one in fits)


def _compared(one: Reference, case: Case, name: str, value: float, spread: float | None, *more: str | None) -> Compared:
    """Return a published result beside what was measured of the same, with what the machine and it have in common."""
    model = next((name for name in one.cpus if _is_model(name, case)), case.platform.name if case.platform else None)
    shared = (
        model,
        f"{one.sockets} sockets" if one.of == "node" and (one.sockets or 0) > 1 else None,
        one.cut,
        memory_clock(one.memory_speed) if one.memory_speed else None,
        "all channels filled" if _channels(case) else None,
        f"{one.stores} stores" if one.stores else None,
        _VIRTUAL if _VIRTUAL in (one.condition or "") else None,
        *more,
    )
    low, high, words = one.value.low, one.value.high, ", ".join(filter(None, shared))
    return Compared(name=name, value=value, spread=spread, low=low, high=high, conditions=words, ref=one.source)


def _strictest(found: Iterable[Compared]) -> tuple[Compared, ...]:
    """Return of several results for the same thing from one source the one that asks most."""
    best: dict[tuple[str, str], Compared] = {}
    for each in found:
        key = (each.name, each.ref)
        if key not in best or (each.low or 0) > (best[key].low or 0):
            best[key] = each
    return tuple(best.values())


def meets(one: Reference, case: Case, words: Collection[str] = _MET) -> bool:
    """Return whether the machine is known to meet every condition of a published result; of its words only those given."""
    cut, virtual = case.layout.cut if case.layout else None, case.environment.virtual if case.environment else None
    speeds = [socket.configured for socket in case.sockets or ()]
    wanted = one.memory_speed
    return (
        one.source != "unverified"
        and (not one.cpus or any(_is_model(name, case) for name in one.cpus))
        and (one.of != "node" or one.sockets in (None, case.shape.sockets if case.shape else 0))
        and (one.cut is None or (cut is not None and cut.name == one.cut and cut.confidence != "low"))
        and (wanted is None or (bool(speeds) and all(each is not None and _alike(each, wanted) for each in speeds)))
        and _channels(case) is not False
        and virtual is not None
        and (_VIRTUAL in (one.condition or "")) == (virtual != "none")
        and all(any(re.fullmatch(known, part) for known in words) for part in _phrases(one.condition))
    )


def _alike(speed: float, wanted: float) -> bool:
    return abs(speed - wanted) <= _SLACK * wanted


def _is_model(name: str, case: Case) -> bool:
    return is_model(name, case.cpu.model_name if case.cpu else None)


def _channels(case: Case) -> bool | None:
    """Return whether every channel holds a DIMM, which all publications take for granted; None where nobody knows."""
    known = [(socket.channels, socket.channels_offered) for socket in case.sockets or ()]
    if not known or any(None in pair for pair in known):
        return None
    return all(used == offered for used, offered in known)


def _phrases(condition: str | None) -> tuple[str, ...]:
    """Return what a condition says, point by point."""
    return tuple(part.strip() for part in re.split("[,;]", condition or "") if part.strip())


def _value(one: Reference, parts: Parts, case: Case) -> tuple[float | None, float | None]:
    """Return what was measured of the same: the median of all parts of the kind, if as many cores worked."""

    def rate(part: Speed) -> float | None:
        """Return the rate with the same kind of stores."""
        what = _PATTERNS[one.benchmark]
        if what == "triad" and one.stores is not None:
            return part.regular if one.stores == "regular" else part.streaming
        return {"triad": part.triad, "load": part.load, "copying": part.copying}[what]

    cores = case.shape.cores if case.shape else None
    if one.of == "core" and one.cores is not None and one.cores == cores != 1:
        whole = next(iter(parts.get("node", ())), None)
        value = rate(whole) if whole else None
        return (value / cores if value and cores else None), (whole.spread if whole else None)
    own = [each for each in parts.get(one.of, ()) if one.cores in (None, len(each.cpus))]
    return median_of(value for each in own if (value := rate(each)) is not None), spread_of_all(each.spread for each in own)


_OPEN_MPI = ("HPC-X", "Open MPI with UCX")
_CSTATES = "C-states on"
_DEEP = 2
"""Microseconds to leave an idle state: C1 takes less."""

_SMALL = r"(small message|[128] bytes?)"
_LARGE = r"([14] MB|one core)"
_BESIDE = r"rank on (NUMA node \d+ with the adapter|the adapter's NUMA node)"
_TO_PEER = r"NUMA node \d+ to its peer"
_ANYWHERE = (_VIRTUAL, "SR-IOV", *_OPEN_MPI, _CSTATES)
"""Words that are looked at apart."""


class _Kind(NamedTuple):
    """One thing that publications measure, the words that they say it with, and where it is found here."""

    benchmark: str
    about: str
    words: tuple[str, ...]
    place: str
    what: str = "bandwidth"
    spread: str = "spread"
    must: str = ""
    """What its condition says for sure."""


_NODE, _SOCKET, _FAR = "the adapter's node", "the adapter's socket", "the far socket"
_BANDWIDTHS = (
    _Kind("osu-bw", "one rank near the adapter", (_LARGE, _BESIDE), "one"),
    _Kind("mpi-sendrecv", "one rank near the adapter, one way", ("one way",), "one", must="one way"),
    _Kind("osu-bibw", "one rank near the adapter, both ways", (_LARGE, _BESIDE), "one", "both"),
    _Kind("osu-mbw-mr", "its NUMA node", (_TO_PEER, _NODE), "near", must=_NODE),
    _Kind("osu-mbw-mr", "other NUMA nodes of its socket", (_TO_PEER, _SOCKET), "same_socket", must=_SOCKET),
    _Kind("osu-mbw-mr", "nodes of the far socket", (_TO_PEER, _FAR), "other_socket", must=_FAR),
)
_LATENCIES = (
    _Kind("osu-latency", "one rank near the adapter", (_SMALL, _BESIDE), "one", "latency", "latency_spread"),
    _Kind("mpi-sendrecv", "one rank near the adapter", (_SMALL,), "one", "latency", "latency_spread", must="small message"),
)


def published_network(adapters: Sequence[MeasuredAdapter], case: Case) -> tuple[Compared, ...]:
    """Return bandwidths between hosts that were published for such machines; the strictest of each source."""
    return _strictest(each for each in _compared_messages(adapters, case, _BANDWIDTHS) if each.low is not None)


def published_network_latency(adapters: Sequence[MeasuredAdapter], case: Case) -> tuple[Compared, ...]:
    """Return latencies between hosts that were published for such machines."""
    return tuple(each for each in _compared_messages(adapters, case, _LATENCIES) if each.high is not None)


def _compared_messages(adapters: Sequence[MeasuredAdapter], case: Case, kinds: Sequence[_Kind]) -> Iterator[Compared]:
    for adapter in adapters:
        for one in references(case):
            for kind in kinds if one.of == "pair" and one.kind in _MEASURED else ():
                place = getattr(adapter, kind.place)
                value = getattr(place, kind.what) if place else None
                if value is not None and kind.benchmark == one.benchmark and _fits(one, kind, adapter, case):
                    name = f"{one.benchmark} through {adapter.name}, {kind.about}"
                    yield _compared(one, case, name, value, getattr(place, kind.spread), one.fabric)


def _fits(one: Reference, kind: _Kind, adapter: MeasuredAdapter, case: Case) -> bool:
    words, states = _phrases(one.condition), case.cpu.idle_states if case.cpu else None
    sleeps = any((each.latency or 0) > _DEEP and each.disabled is not None and not each.disabled for each in states or ())
    open_mpi = (adapter.launcher or "").startswith("openmpi")
    return (
        (not kind.must or kind.must in words)
        and (sleeps or _CSTATES not in words)  # idle cores are known to sleep in a state that is more than a halt
        and (open_mpi or not any(word in words for word in _OPEN_MPI))
        and meets(one, case, (*kind.words, *_ANYWHERE))
        and _is_fabric(one.fabric, adapter.name, case)
    )


_CARDS = {
    4099: "ConnectX-3", 4103: "ConnectX-3", 4115: "ConnectX-4", 4119: "ConnectX-5", 4121: "ConnectX-5", 4123: "ConnectX-6",
    4129: "ConnectX-7",
}  # fmt: skip
"""What the vendors' drivers call MT4119 and its like by (mlx4 and mlx5 of Linux): publications name cards by these words."""

_LINE_RATES = {"FDR": 56e9, "EDR": 100e9, "HDR100": 100e9, "HDR": 200e9, "NDR200": 200e9, "NDR": 400e9}
_RATE_SLACK = 0.05
"""FDR is 56 Gbit/s in sysfs, and 54.5 of data."""


def _is_fabric(fabric: str | None, name: str, case: Case) -> bool:
    """Return whether an adapter and its port are known to be what a publication names: ``ConnectX-5 EDR``."""
    adapter = next((each for each in case.adapters or () if each.name == name), None)
    if adapter is None or fabric is None:
        return False
    words = fabric.partition(",")[0].split()
    card = next((word for word in words if word.startswith("ConnectX")), None)
    number = re.fullmatch(r"MT(\d{4,5})", adapter.kind or "")
    ports = [port for port in adapter.ports or () if port.state == "active"]
    rate = next((_LINE_RATES[word] for word in words if word in _LINE_RATES), 100e9 if words[-2:] == ["100", "Gb/s"] else None)
    return (
        card in (None, _CARDS.get(int(number[1])) if number else None)
        and len(ports) == 1
        and None not in (rate, ports[0].rate)
        and ports[0].link_layer == "infiniband"
        and abs((ports[0].rate or 0) - (rate or 0)) <= _RATE_SLACK * (rate or 0)
    )


_ALIKE = 0.3
"""Of one host's share of memory: systems that take as long fill less of each host the more there are, a third at 27."""
_WIDEST = ("avx512", "avx2", "avx", "sve", "neon", "sse2", "scalar")
_BETTER = re.compile(r"\bOPENBLAS_CORETYPE=([A-Za-z0-9]{2,20})\b")
_OLDER = ((4, "SSE2"), (8, "AVX"), (16, "AVX2"))
"""Double-precision FLOP of an x86 core in a cycle, with instructions that older processors had: each half of the next."""
_X86 = ("AuthenticAMD", "GenuineIntel", "HygonGenuine")
_MOST = 1.2
"""A rate may be so much above a share of the peak at base clock: cores that use narrow instructions clock higher."""


def linpack(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> tuple[Linpack, ...]:
    """Return every run that is believed, those of fewest hosts first; beside those of more, what one host gives."""
    found = [_run(each, case, clocks) for each in measurements.of("hpl", "flop/s")]
    ordered = sorted(found, key=lambda run: (run.part != "machine", run.hosts or 1, -run.rate))
    one = next((run for run in ordered if run.hosts == 1 and run.part == "machine"), None)
    return tuple(run if one is None else run.but(of_one=_against(run, one)) for run in ordered)


def _against(run: Linpack, one: Linpack) -> float | None:
    """Return what each of several hosts gives as a share of one alone; None where each had a far smaller system to solve."""
    if run.part != "machine" or not run.hosts or run.hosts < 2 or run.threads != one.threads:
        return None
    alike = run.memory_share is not None and one.memory_share is not None and run.memory_share >= _ALIKE * one.memory_share
    return run.rate / run.hosts / one.rate if alike else None


def _run(run: Result, case: Case, clocks: Sequence[Clock]) -> Linpack:
    n, p, q, ranks, threads, hosts = (reported_integer(run, name) for name in ("n", "p", "q", "ranks", "threads", "hosts"))
    dgemm, load = reported_number(run, "dgemm_all"), reported_number(run, "peak_load")
    words = {name: reported_text(run, name) or None for name in ("program", "blas", "blas_core", "blas_doubt")}
    better = _BETTER.search(words["blas_doubt"] or "")
    here = cores_at_work(run, case)  # its CPUs are those of the first host
    cores = here * hosts if here and hosts else None
    base = reported_number(run, "peak_base") or _peak_base(cores, case)
    memory = case.shape.memory if case.shape else None
    return Linpack(
        part=run.part,
        index=run.index,
        rate=run.median,
        spread=spread_of(run),
        repeats=len(run.values),
        n=n,
        nb=reported_integer(run, "nb"),
        grid=f"{p} x {q}" if p and q else None,
        ranks=ranks,
        threads=threads,
        hosts=hosts,
        cores=cores,
        per_core=ranks * threads / cores if ranks and threads and cores else None,
        whole=here == len(case.topology.cores) if cores and case.topology else None,
        blas_better=better[1] if better else None,
        peak_base=base,
        of_base=share_of(run.median, base),
        peak_load=load,
        of_load=share_of(run.median, load),
        dgemm=dgemm,
        of_dgemm=share_of(run.median, dgemm),
        dgemm_of_load=share_of(dgemm, load),
        memory_share=8 * n**2 / (memory * hosts) if memory and n and hosts else None,  # of hosts that are taken to be alike
        clock=min(clocks, key=lambda each: (*_WIDEST, each.isa).index(each.isa), default=None),
        like=_like(share_of(dgemm or run.median, load) or share_of(run.median, base), case),
        **words,
    )


def cores_at_work(result: Result, case: Case) -> int:
    """Return on how many cores of this machine a result's threads worked; 0 where that is not known."""
    cpus, cores = set(result.cpus), case.topology.cores if case.topology else ()
    return sum(any(cpu in core.cpuset for cpu in cpus) for core in cores)


def _peak_base(cores: int | None, case: Case) -> float | None:
    """Return the peak of so many cores at their base clock: other programs' outputs do not have it."""
    peak = case.platform.core_peak(case.cpu.base_hz) if case.platform and case.cpu else None
    return cores * peak if cores and peak else None


def _like(share: float | None, case: Case) -> str | None:
    """Return the narrower instructions that give such a share of the peak at most; None where it is more than those give."""
    cycle = case.platform.flops_per_cycle if case.platform else None
    if not share or not cycle or not case.cpu or case.cpu.vendor not in _X86:
        return None
    return next((name for flops, name in _OLDER if flops < cycle and share <= _MOST * flops / cycle), None)


_TURBO = "turbo on"
_NODES = re.compile(r"(?:up to )?(\d+) nodes")
_WORDS = (
    _VIRTUAL, r"virtual machine with \d+ cores", _NODES.pattern, "power determinism", _TURBO,
    r"NB? \d+", r"\d+ x \d+ ranks", r"\d+ threads a rank", "MKL_DEBUG_CPU_TYPE=5",
    r"(AMD BLIS|BLIS|OpenBLAS|MKL|cray-libsci|Intel HPL)( \d[\d.]*[ab]?)?",
)  # fmt: skip
"""Words of a condition that are met by themselves, or are looked at below: how HPL was run well can be done here too."""
_BASE = "peak at base clock"
_HPL_LARGE = 0.5
"""Of the memory: publications solve systems that fill most of it, and smaller ones are slower."""


def published_hpl(runs: Iterable[Linpack], case: Case) -> tuple[Compared, ...]:
    """Return what was published of HPL and DGEMM on such machines, beside what was measured here."""
    return _strictest(found for run in runs if run.whole for found in _published(run, case))


def _published(run: Linpack, case: Case) -> Iterator[Compared]:
    for one in references(case):
        low, high = _rates(one, run)
        value = run.dgemm if one.benchmark == "dgemm" else run.rate
        large = one.benchmark == "dgemm" or (run.memory_share or 0) >= _HPL_LARGE
        if low is not None and value is not None and large and _hpl_fits(one, run, case) and meets(one, case, _WORDS):
            share = f"{round(100 * (one.value.low or 0), 1):g} % of {_BASE}" if one.kind == "share" else None
            name = f"{one.benchmark} of {'the machine' if one.of == 'node' else f'{run.hosts} hosts'}"
            yield _compared(one, case, name, value, run.spread, share).but(low=low, high=high)


def _rates(one: Reference, run: Linpack) -> tuple[float | None, float | None]:
    """Return what a publication promises these cores: its rate, or its share of their peak at base clock."""
    low, high = one.value.low, one.value.high
    if one.benchmark in ("hpl", "dgemm"):
        if one.kind in _MEASURED and one.of == "node":
            return low, high
        if one.kind == "share" and one.against == _BASE and run.peak_base:
            return None if low is None else low * run.peak_base, None if high is None else high * run.peak_base
    return None, None


def _hpl_fits(one: Reference, run: Linpack, case: Case) -> bool:
    """Return whether as many hosts and cores worked, over such adapters, and boost was on where it was."""
    words, hosts = _phrases(one.condition), run.hosts or 0
    most = next((int(found[1]) for phrase in words if (found := _NODES.fullmatch(phrase))), 0)
    return (
        (_TURBO not in words or (case.cpu is not None and case.cpu.boost is True))
        and one.sockets in (None, case.shape.sockets if case.shape else None)
        and one.cores in (None, run.cores)
        and (one.fabric is None or any(_is_fabric(one.fabric, each.name, case) for each in case.adapters or ()))
        and (hosts == 1 if one.of == "node" else one.of == "cluster" and 1 < hosts <= most)
    )


_PLACE_LARGE = 0.9
"""Of the published N: a smaller system of equations is slower by itself."""
_FILLED = 0.5
"""Of the memory: a system that fills so much is a large one, whatever was published."""
_FEW = 3
_NOISE = 0.1
"""Spread of repeats above which rules/measured.yaml leaves a figure unknown."""
_PROGRAMS = ("STREAM", "BabelStream", "likwid-bench", "MLC")


@dataclass(frozen=True)
class Figure:
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
    spread: float | None = None
    """Of its repeats, as a share; None of a single one."""


def places(facts: MeasuredFacts, measurements: Measurements, case: Case, figures: Sequence[PublishedFigure]) -> tuple[Place, ...]:
    """Return where each figure of the whole machine stands."""
    return tuple(_place(each, facts, case, figures) for each in machine_figures(facts, measurements, case))


def machine_figures(facts: MeasuredFacts, measurements: Measurements, case: Case) -> Iterator[Figure]:
    """Yield the machine's own figures; of a machine of one socket that socket is the machine."""
    sockets, whole, run = case.shape.sockets if case.shape else None, facts.machine, facts.hpl
    imported = measurements.conditions.imported or ()
    program = next((name for name in _PROGRAMS if any(words.startswith(name) for words in imported)), None)
    if whole is not None and sockets:
        rates: tuple[tuple[Metric, float | None], ...] = (("triad", whole.triad), ("copy", whole.copying), ("load", whole.load))
        for metric, value in rates:
            if value is not None:
                better = "streaming" if whole.streaming == whole.triad else "regular"
                stores = better if metric == "triad" and program is None else None
                yield Figure(
                    f"{metric} of the machine", metric, value, sockets, len(whole.cpus), stores, program, spread=whole.spread
                )
        if whole.latency is not None:
            yield Figure("latency of local memory", "latency", whole.latency, sockets, 1)
    if run is not None and run.whole and run.hosts == 1 and run.part == "machine" and sockets:
        how: dict[str, Any] = {
            "problem": run.n,
            "grid": run.grid and run.grid.replace(" ", ""),
            "filled": (run.memory_share or 0) >= _FILLED,
            "spread": run.spread,
        }
        threads = (run.ranks or 0) * (run.threads or 1)
        yield Figure("HPL of the machine", "hpl", run.rate, sockets, threads, program="HPL", **how)


def _place(own: Figure, facts: MeasuredFacts, case: Case, figures: Sequence[PublishedFigure]) -> Place:
    found, kin = _published_figures(own, case, figures)
    beside = tuple(_publication(own, one, case) for one in found)
    compared = () if kin and not _same_dies(found, case) else beside
    stated = [one for one in compared if one.stated and one.outcome != "other" and not kin]
    names = tuple(dict.fromkeys(one.processor for one in found))
    model = " or ".join(names) if len(names) <= _FEW or case.platform is None else case.platform.name
    model = found[0].neighbour or model if found else model
    ceiling, because = None, None
    if own.metric in ("triad", "copy", "load"):  # by its DIMMs where these are known, else by arithmetic
        if facts.machine and facts.machine.ceiling:
            ceiling, because = facts.machine.ceiling, "its DIMMs"
        elif case.bounds:
            ceiling, because = case.bounds.bandwidth, case.bounds.because
    place = Place(
        name=own.name,
        metric=own.metric,
        value=own.value,
        ceiling=ceiling,
        because=because,
        processor=f"{own.sockets} x {model}" if found else None,
        published=beside,
        kin=kin,
        count=len(compared),
        low=min((one.low for one in compared), default=None),
        high=max((one.high for one in compared), default=None),
        median=median_of((one.low + one.high) / 2 for one in beside),
        stated_low=min((one.low for one in stated), default=None),
        judged=_can_judge(own, facts) and any(one.outcome == "meets" for one in compared),
        doubts=_doubts(own, ceiling, facts, case),
    )
    write = _SPOKEN.get(own.metric, throughput)
    words = {"says": f"{write(own.value)}: {_among(place, write)}"}
    if ceiling:
        words["of_ceiling"] = f"{100 * own.value / ceiling:.0f} % of the {throughput(ceiling)} that {because} can carry"
    return place.but(**words)


def _can_judge(own: Figure, facts: MeasuredFacts) -> bool:
    """Return whether rules on single publications answer at all: idle, with steady repeats (HPL: one will do)."""
    spread = 0.0 if own.spread is None and own.metric == "hpl" else own.spread
    return facts.idle is True and spread is not None and spread <= _NOISE


def _published_figures(own: Figure, case: Case, figures: Sequence[PublishedFigure]) -> tuple[tuple[PublishedFigure, ...], bool]:
    """Return what was published of the same for this processor, or else for others of its generation; and whether for others."""
    virtual = case.environment.virtual if case.environment else None
    cloud = "metal" if virtual in (None, "none") else "virtual"
    alike = ("node", own.metric, own.sockets)
    same = [
        one
        for one in figures
        if (one.of, one.metric, one.sockets) == alike
        and one.cloud in (None, cloud)
        and (cloud == "metal" or one.threads == own.threads)  # of a part of the host only the size tells which
        and (own.metric != "hpl" or own.filled or (one.problem and (own.problem or 0) >= _PLACE_LARGE * one.problem))
    ]
    mine = tuple(one for one in same if _is_model(one.processor.removeprefix("Xeon "), case))
    if mine or case.platform is None:
        return mine, False
    return tuple(one for one in same if one.channels in (None, case.platform.channels)), True


def _same_dies(found: Iterable[PublishedFigure], case: Case) -> bool:
    """Return whether all publications are of models that reach memory through as many dies as this one."""
    own = {socket.dies for socket in case.sockets or ()}
    known = case.platform.processors if case.platform else {}
    theirs = {known[one.processor].dies if one.processor in known else None for one in found}
    return len(own | theirs) == 1 and None not in own


_CLOUD = "bare metal or virtual machine not stated"


def _publication(own: Figure, one: PublishedFigure, case: Case) -> Publication:
    """Return a published figure, with each of its conditions: in words, what is so here, and whether that is the same."""
    conditions = [each for stated, *each in _conditions(own, one, case) if stated]
    differs = tuple(f"{words} (here {here})" for words, here, met in conditions if met is False)
    unknown = (*(words for words, _, met in conditions if met is None), *([] if one.cloud else [_CLOUD]), *one.others)
    low, high = one.value.low or one.value.high or 0.0, one.value.high or one.value.low or 0.0
    return Publication(
        processor=one.processor,
        low=low,
        high=high,
        outcome="other" if differs else "unknown" if unknown or not one.stated else "meets",
        stated=one.stated,
        conditions=tuple(words for words, _, met in conditions if met),
        differs=differs,
        unknown=unknown,
        ref=one.source,
    )


def _conditions(own: Figure, one: PublishedFigure, case: Case) -> tuple[tuple[object, str, object, bool | None], ...]:
    """Return whether a condition is stated, its words, what is so here, and whether that is the same; None where unknown."""
    sure = sure_partitioning(case)
    smt = case.layout.smt.state if case.layout else None
    filled, speeds = {socket.channels for socket in case.sockets or ()}, [socket.configured for socket in case.sockets or ()]
    known, wanted = [speed for speed in speeds if speed is not None], one.memory_speed or 0.0
    at_speed = all(_alike(speed, wanted) for speed in known) if known and len(known) == len(speeds) else None
    here = f"{min(known) / 1e6:.0f} MT/s" if known else "?"
    clustering = "no sub-NUMA clustering" if one.numa == "none" else str(one.numa)
    threads = one.threads and own.threads and own.metric != "latency"
    large = (own.problem or 0) >= _PLACE_LARGE * (one.problem or 0)
    channels = None if None in filled or not filled else filled == {one.channels}
    return (
        (one.numa, clustering, sure, None if sure is None else sure == one.numa),
        (one.smt, f"SMT {one.smt}", f"SMT {smt}", smt == one.smt if smt in ("on", "off") else None),
        (one.memory_speed, f"{wanted / 1e6:.0f} MT/s", here, at_speed),
        (one.channels, f"{one.channels} channels filled", filled, channels),
        (threads, f"{one.threads} threads", own.threads, one.threads == own.threads),
        (one.stores, f"{one.stores} stores", own.stores, None if own.stores is None else own.stores == one.stores),
        (one.problem, f"N {one.problem}", f"N {own.problem}", large),
        (one.grid and own.grid, f"grid {one.grid}", own.grid, one.grid == own.grid),
        (one.program and own.program, str(one.program), own.program, one.program == own.program),
    )


def sure_partitioning(case: Case) -> str | None:
    """Return how the sockets are partitioned, in a word; None where that is not sure."""
    cut = case.layout.cut if case.layout else None
    return cut.name if cut and cut.confidence != "low" and cut.name != "unknown" else None


_SPOKEN = {"latency": duration, "hpl": flop_rate}


def _among(place: Place, write: Callable[[float], str]) -> str:
    """Return how a figure stands to what was published for this processor; where that is nothing, for its kin."""
    every = place.published
    if not every:
        return UNPUBLISHED
    low, high = min(one.low for one in every), max(one.high for one in every)
    least, most = write(low), write(high)
    number, _, unit = least.partition(" ")  # of a range the unit stands once
    span = least if least == most else f"{number if most.endswith(f' {unit}') else least} to {most}"
    ref = every[0].ref
    host = re.fullmatch(r"https?://([^/]+).*", ref)  # a source in a word: its id, the repository of a file, the host of a page
    source = plain(host[1] if host else ref.partition(":")[0], 80)
    source = source if len(every) == 1 else f"{len(every)} figures, median {write(place.median or low)}"
    of = f"{span} published for {place.processor}{' (none for this model)' if place.kin else ''} [{source}]"
    if place.low is None or place.high is None:  # of models that are not comparable: where it lies among them, and no share
        all_of = "the" if low == high else "all of the"
        where = f"below {all_of}" if place.value < low else f"above {all_of}" if place.value > high else "within the"
        return f"{where} {of}"
    if round(place.value / place.low, 2) < 1:
        lowest = "lowest of the " if low != high and len(every) > 1 else ""
        return f"{100 * place.value / place.low:.0f} % of the {lowest}{of}, {_terms(place, write)}"
    if round(place.value / place.high, 2) > 1:
        return f"{100 * place.value / place.high:.0f} % of the {of}, {_terms(place, write)}"
    return f"{'as the' if low == high else 'within the'} {of}, {_terms(place, write)}"


def _terms(place: Place, write: Callable[[float], str]) -> str:
    """Return under which conditions the figures were published: those of one in full, of several how many hold here.

    Of several it says those of the nearest that states any, too: a low figure may have been measured in the same way.
    """
    every = place.published
    if len(every) > 1:
        outcomes = [one.outcome for one in every]
        counts = (
            (outcomes.count("meets"), "under matching conditions"),
            (outcomes.count("other"), "under other conditions"),
            (outcomes.count("unknown"), "under conditions not stated or not known here"),
        )
        terms = ", ".join(f"{number} {words}" for number, words in counts if number)
        stating = [one for one in every if one.conditions or one.differs]
        if not stating:
            return terms
        nearest = min(stating, key=lambda one: abs(log(place.value / ((one.low + one.high) / 2))))
        like = write((nearest.low + nearest.high) / 2)
        return f"{terms}; closest: {like} with {', '.join((*nearest.conditions, *nearest.differs))}"
    (one,) = every
    unknown = f"unverified: {', '.join(one.unknown)}" if one.unknown else ""
    parts = (", ".join(one.conditions), ", ".join(one.differs), unknown)
    return "; ".join(filter(None, parts)) or "conditions not stated"


_TOLERANCE = 1.02


def _doubts(own: Figure, ceiling: float | None, facts: MeasuredFacts, case: Case) -> str:
    """Return what may be behind a low figure: what is known to be missing first, then what arithmetic cannot exclude."""
    doubts = [*_lacking(own, case)]
    shape = case.shape
    if ceiling and own.metric != "latency" and shape and shape.cpu_nodes and shape.sockets:
        node, socket = ceiling / shape.cpu_nodes, ceiling / shape.sockets
        if shape.cpu_nodes > shape.sockets and own.value <= _TOLERANCE * node:
            doubts.append(f"all memory on one NUMA node, which delivers at most {throughput(node)} (first touch by one thread)")
        elif shape.sockets > 1 and own.value <= _TOLERANCE * socket:
            doubts.append(f"memory or threads on one socket, which delivers at most {throughput(socket)}")
    if any(socket.configured is None for socket in case.sockets or ()):
        doubts.append("slow or missing DIMMs (not read)")
    if facts.idle is not True:
        doubts.append("other work running at the same time")
    return ", ".join(doubts) or "a DIMM that dropped off its channel or runs hot, or firmware settings"


def _lacking(own: Figure, case: Case) -> Iterator[str]:
    """Yield what this machine or this run is known to lack of what makes such figures high."""
    cores = case.shape.cores if case.shape else None
    if cores and own.metric != "latency" and own.threads < cores:
        yield f"{count(own.threads, 'thread')} on {cores} cores"
    if own.metric == "hpl":
        return
    if any(socket.channels is not None and socket.channels < (socket.channels_offered or 0) for socket in case.sockets or ()):
        yield "memory channels without a DIMM"
    slow = [each for each in case.sockets or () if each.configured and each.rated and each.configured < (1 - _SLACK) * each.rated]
    if slow:
        yield f"memory at {memory_clock(slow[0].configured)}, rated {memory_clock(slow[0].rated)}"
    governors = set(case.cpu.governors or () if case.cpu else ()) - {"performance", "schedutil"}
    if governors:
        yield f"governor {', '.join(sorted(governors))}"
