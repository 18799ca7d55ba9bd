"""Which benchmark proves a step of the checklist, and what was published of it for the platform."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from advisor.advice.model.findings import Finding
from advisor.advice.model.plan import Expected, Proof
from advisor.machine.hardware import is_model
from advisor.machine.units import count, duration, flop_rate, memory_clock, message_rate, throughput
from advisor.machine.value import Amount, Unit
from advisor.measure.measured_facts import UNMEASURED
from advisor.measure.platform import Platform, Reference
from advisor.paths import rules
from advisor.sheets import read_sheet


@dataclass(frozen=True)
class Known:
    """What is known of the machine that the published results are for; None where it is hardware on order."""

    cpu: str | None = None
    sockets: int | None = None
    virtual: bool = False


class Bench(NamedTuple):
    """A command, what it shows, and which published results it can be held against, in order."""

    command: str
    shows: str
    wanted: tuple[tuple[str, str], ...] = ()
    """Benchmark and kind of the references."""
    first: str = ""
    """What comes first of several: what all cores reach, what a NUMA node does."""


_TRIAD = (("stream-triad", "measured"), ("stream-triad", "threshold"), ("triad", "measured"))
_FAR = (("stream-triad", "share"), ("latency-memory", "measured"))
_RATES = tuple(
    (name, kind)
    for name in ("osu-mbw-mr", "message-rate", "osu-bw", "osu-bibw", "rdma-bw", "mpi-sendrecv")
    for kind in ("measured", "vendor")
)
_DELAYS = (("osu-latency", "measured"), ("osu-latency", "gain"), ("rdma-latency", "measured"))
_HPL = (("hpl", "measured"), ("hpl", "share"), ("hpl", "spread"), ("dgemm", "measured"))

BENCHES = {
    "cut": Bench("advisor measure membw", "bandwidth of the machine and of each NUMA node", (("stream-triad", "gain"), *_TRIAD)),
    "bandwidth": Bench("advisor measure membw", "bandwidth of the machine and of each NUMA node", _TRIAD),
    "distance": Bench("advisor measure matrix", "bandwidth and latency between all pairs of NUMA nodes", _FAR, "numa-node"),
    "compute": Bench("advisor measure peak", "floating-point rate and clock of all cores", (("peak", "theoretical"),)),
    "caches": Bench("advisor measure c2c", "which cores really share an L3 cache"),
    "hpl": Bench("advisor measure hpl", "Linpack compared with the peak", _HPL),
    "messages": Bench("advisor measure network --hosts A,B", "messages near the adapter and far from it", (*_RATES, *_DELAYS)),
    "latency": Bench("advisor measure network --hosts A,B", "latency of messages", (*_DELAYS, *_RATES)),
    "preferred": Bench(
        "advisor measure network --hosts A,B --before OLD.json", "message rate of all cores, before and after", _RATES, "all"
    ),
    "quick": Bench("advisor measure", "bandwidth, latency and peak"),
    "placement": Bench("advisor verify", "where the ranks of a job really run"),
}


@cache
def of_rules() -> Mapping[str, str | None]:
    """Return which benchmark shows what rules ask for, by what their ids begin with; None where none does."""
    return dict(read_sheet(rules() / "benchmarks.yaml").data)


_OF_PLACES = {"fabric": "messages", "scheduler": "placement", "mpi": "placement", "job": "placement"}
"""A site's rule is not among them: of it, what is set in some places decides."""


def bench_of(names: Iterable[str], setting: str | None, where: str) -> str | None:
    """Return the benchmark that shows what rules ask for, the first that says so; None where none does."""
    for name in (*names, re.sub("[._]", "-", setting or "")):
        words = name.split("-")
        starts = ("-".join(words[:many]) for many in range(len(words), 0, -1))
        known = next((start for start in starts if start in of_rules()), None)
        if known is not None:
            return of_rules()[known]
    return _OF_PLACES.get(where)


def proofs(names: Iterable[str], platform: Platform | None, known: Known) -> tuple[Proof, ...]:
    """Return benchmarks with what was published of them for a platform."""
    wanted = dict.fromkeys(names)
    return tuple(
        Proof(id=name, command=of.command, shows=of.shows, figures=bool(of.wanted), expected=expected(of, platform, known))
        for name, of in BENCHES.items()
        if name in wanted
    )


_MOST = 6
_PARTS = ("node", "socket", "numa-node", "die", "l3", "core", "pair", "cluster")


def expected(bench: Bench, platform: Platform | None, known: Known) -> tuple[Expected, ...]:
    """Return what was published of a benchmark, of each thing the result whose conditions are the likest, the best of those."""
    best: dict[tuple[object, ...], Reference] = {}
    cuts = {cut.name for cut in platform.cuts} if platform else set()
    for one in platform.references if platform else ():
        others = one.of == "node" and None not in (one.sockets, known.sockets) and one.sockets != known.sockets
        published = one.source != "unverified" and one.value.low is not None
        prove = one.kind != "gain" or one.of == "pair" or one.against in cuts  # gains over older processors prove no step
        if (one.benchmark, one.kind) in bench.wanted and published and prove and not others:
            condition = one.condition if one.kind in ("share", "spread") else None
            thing = (one.benchmark, one.kind, one.of, one.against, condition, _side(one))
            if thing not in best or _rank(one, known) < _rank(best[thing], known):
                best[thing] = one

    def order(one: Reference) -> tuple[int, bool, int, str]:
        side, place = _side(one), bench.wanted.index((one.benchmark, one.kind))
        return place, bench.first not in (side, one.of), _PARTS.index(one.of), side

    return tuple(_told(one) for one in sorted(best.values(), key=order)[:_MOST])


def _side(one: Reference) -> str:
    """Return of messages whether they are sent far from the adapter, or by all cores."""
    said = (one.condition or "") if one.of == "pair" else ""
    return "far" if "far" in said.split() else "all" if said == "all cores" else ""


def _rank(one: Reference, known: Known) -> tuple[int, bool, bool, float]:
    """Return how unlike the conditions are, then how far from the best the value is."""
    said = one.condition or ""
    model = 1 if not one.cpus else 0 if known.cpu is None or any(is_model(name, known.cpu) for name in one.cpus) else 2
    special = one.of != "pair" and said not in ("", "all cores") and "virtual machine" not in said
    value = one.value.low or 0.0
    return model, ("virtual machine" in said) != known.virtual, special, value if one.value.unit == "seconds" else -value


_NAMES = {
    "stream-triad": "STREAM triad", "triad": "triad", "latency-memory": "memory latency", "hpl": "HPL", "dgemm": "DGEMM",
    "peak": "computed floating-point peak", "osu-latency": "MPI latency", "osu-bw": "unidirectional bandwidth of one pair",
    "osu-bibw": "bidirectional bandwidth of one pair", "osu-mbw-mr": "many pairs",
    "message-rate": "message rate from its data sheet",
    "rdma-latency": "RDMA latency", "rdma-bw": "RDMA bandwidth", "mpi-sendrecv": "sendrecv",
}  # fmt: skip
_WHOLE = {
    "node": "of the machine", "socket": "of a socket", "numa-node": "of a NUMA node", "die": "of a die",
    "l3": "of an L3 group", "core": "of a core", "pair": "between two hosts", "cluster": "of a cluster",
}  # fmt: skip


def _told(one: Reference) -> Expected:
    """Return a result in words: ``270 to 300 GB/s``, ``13 % above NPS1``, and its conditions."""
    value = _amount(one.value)
    if one.kind == "gain":
        value += f" {'below' if one.benchmark.endswith('latency') else 'above'} {one.against or 'before'}"
    elif one.kind == "share":
        value += f" of {one.against or 'the whole'}"
    elif one.kind == "spread":
        value += " between identical servers"
    conditions = (
        ", ".join(one.cpus),
        f"{one.sockets} sockets" if one.of == "node" and (one.sockets or 0) > 1 else None,
        f"{one.cores} core{'s' if one.cores > 1 else ''}" if one.cores else None,
        one.cut if one.cut != "none" else None,
        memory_clock(one.memory_speed) if one.memory_speed else None,
        f"{one.stores} stores" if one.stores else None,
        one.fabric,
        one.condition,
    )
    what = f"{_NAMES[one.benchmark]} {_WHOLE[one.of]}"
    return Expected(what=what, value=value, conditions="; ".join(filter(None, conditions)) or None, ref=one.source)


_SPOKEN: dict[Unit, Callable[[float], str]] = {
    "bytes/s": throughput,
    "flop/s": flop_rate,
    "messages/s": message_rate,
    "seconds": duration,
    "ratio": lambda share: f"{round(100 * share, 1):g} %",
}


def _amount(value: Amount) -> str:
    spoken = _SPOKEN.get(value.unit, str)
    low, high = (spoken(end) if end is not None else None for end in (value.low, value.high))
    if low is None or high is None:
        return f"at least {low}" if low else f"at most {high}"
    if low == high:
        return low
    same = low.split()[-1] == high.split()[-1]
    return f"{low.split()[0] if same else low} to {high}"


def unmeasured(finding: Finding) -> bool:
    """Return whether a verdict waits for measurements: no box to tick, one note for all of them."""
    return finding.verdict == "unknown" and any(lack.why == UNMEASURED for lack in finding.lacks)


def unwatched(finding: Finding) -> bool:
    """Return whether a verdict waits for counters of faults: an audit looks at them, and nobody can tick them off."""
    return finding.verdict == "unknown" and any(lack.fact.partition(".")[0] == "watch" for lack in finding.lacks)


def to_measure(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield one note: how many rules wait for which measurement, that for which most wait first."""
    waiting: dict[str, set[str]] = defaultdict(set)
    for finding in filter(unmeasured, findings):
        waiting[next(lack.help for lack in finding.lacks if lack.why == UNMEASURED)].add(finding.id)
    ways = sorted(waiting, key=lambda way: -len(waiting[way]))
    if ways:
        told = "; ".join(f"{count(len(waiting[way]), 'rule needs', 'rules need')} {way}" for way in ways)
        yield f"Nothing was measured: {told}."
