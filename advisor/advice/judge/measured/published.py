"""Finds published results whose conditions a machine meets, and what was measured of the same, also between hosts. Pure."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.advice.judge.devices import is_fabric
from advisor.advice.model.case import Case
from advisor.machine.cpu import is_model
from advisor.machine.units import memory_clock
from advisor.measure.measured_facts import Compared, Exchange, MeasuredAdapter, Reach, Speed
from advisor.measure.measurement_statistics import median_of
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
