"""HPL on one and more hosts, and messages between hosts, in tables with what they mean below them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.machine.units import binary, count, duration, flop_rate, plain, throughput
from advisor.measure.figures import Cell, amount, figure, number, part_name, percent, verdict_lines
from advisor.measure.measured_facts import UNPUBLISHED
from advisor.measure.measurement import NETWORK, Result, reported_or_zero, reported_text
from advisor.measure.tables import NEAR, Seen, among_published, beside_published, section
from advisor.show.lines import Line, Span, wrapped


def _text(result: Result, name: str) -> str:
    return plain(reported_text(result, name), 120)


# ---- HPL, on one and more hosts ----


def hpl_tables(seen: Seen) -> list[Line]:
    """Return the runs of HPL that are believed, those of a scaling table and the others, and how they stand to publications."""
    found = [each for each in seen.measurements.results if each.kernel == "hpl" and each.refused is None]
    scaled = [each for each in found if each.details.get("scaling") is True]
    lines = [*_runs([each for each in found if each not in scaled], seen), *_scaled(scaled, seen)]
    if not lines or seen.facts is None:
        return lines
    own, verdict = seen.facts.hpl, beside_published(seen.facts.published_hpl, flop_rate)
    if own and not verdict:
        said = flop_rate(own.rate)
        if own.of_load:
            said += f": {percent(own.of_load)} of the peak under load"
        elif own.of_base:
            said += f": {percent(own.of_base)} of the peak at base clock"
        verdict = [(said, ""), *among_published(seen, "hpl")]
    return lines + verdict_lines(verdict, seen.width)


def _runs(found: Sequence[Result], seen: Seen) -> list[Line]:
    """Return a row for each run; another program's output has neither threads nor peaks."""
    if not found:
        return []
    rows: list[list[Cell]] = []
    for each in found:
        threads = _whole(each, "threads")
        rows.append([_whole(each, "n"), _whole(each, "nb"), _grid(each), threads if threads != "0" else "-", *_rates(each)])
    ranks = _whole(found[-1], "ranks")
    about = ", ".join(filter(None, (*_program(found[-1]), f"{ranks} ranks" if ranks != "0" else "", _repeats(found[-1]))))
    head = ("N", "NB", "P x Q", "threads", "GFLOP/s", "spread", "of base-clock peak", "of peak under load", "of DGEMM")
    return [*section(seen, "HPL", about, head, rows, right="rrlrrrrrr", short=2, sparse=True), *_bounds(found[-1], seen.width)]


def _scaled(found: Sequence[Result], seen: Seen) -> list[Line]:
    """Return a row for each number of hosts, or part of one: against the first of them, core by core, and against the peaks."""
    if not found:
        return []
    first, last = found[0], found[-1]
    rows: list[list[Cell]] = []
    for each in found:
        cores, then = reported_or_zero(each, "cores"), reported_or_zero(first, "cores")
        against = percent(each.median / cores / (first.median / then)) if cores and then else "-"
        rate, spread, base, load, _ = _rates(each)
        rows.append([_on(each), _whole(each, "cores"), _whole(each, "n"), _grid(each), rate, spread, against, base, load])
    about = ", ".join(filter(None, (*_program(last), f"NB {_whole(last, 'nb')}", _repeats(last))))
    head = ("on", "cores", "N", "P x Q", "GFLOP/s", "spread", f"of {_on(first)}", "of base", "of load")
    return [*section(seen, "HPL scaling", about, head, rows, right="lrrlrrrrr", short=3), *_bounds(last, seen.width)]


def _on(result: Result) -> str:
    """Return what a run had: ``4 hosts``, ``NUMA node 0``, ``machine``."""
    hosts = int(reported_or_zero(result, "hosts"))
    if result.part == "machine" and (hosts > 1 or _text(result, "hosts_named")):
        return count(hosts, "host")
    return part_name(result.part, result.index)


def _whole(result: Result, name: str) -> str:
    return f"{reported_or_zero(result, name):.0f}"


def _grid(result: Result) -> str:
    return f"{_whole(result, 'p')} x {_whole(result, 'q')}"


def _program(result: Result) -> tuple[str, str]:
    """Return what solved the system, and with which BLAS."""
    return _text(result, "program"), " ".join(filter(None, (_text(result, "blas"), _text(result, "blas_core"))))


def _repeats(result: Result) -> str:
    return f"median of {len(result.values)} runs" if len(result.values) > 1 else "one run"


def _rates(result: Result) -> list[Cell]:
    """Return a run's rate, its spread, and its shares of the peak at base clock, of the peak under load and of DGEMM."""
    peaks = [reported_or_zero(result, name) for name in ("peak_base", "peak_load", "dgemm_all")]
    shares = [percent(result.median / peak) if peak else "-" for peak in peaks]
    return [(number(result.median, "flop/s"), "title"), percent(result.spread) if len(result.values) > 1 else "", *shares]


def _bounds(result: Result, width: int) -> list[Line]:
    """Return what bounds a run, and a doubt about its BLAS."""
    base, load, dgemm = (reported_or_zero(result, name) for name in ("peak_base", "peak_load", "dgemm_all"))
    parts = [
        f"base clock times the FLOP/cycle of all cores: {amount(base, 'flop/s')}" if base else "no peak at base clock is known",
        f"FMA on all cores under load: {amount(load, 'flop/s')}" if load else "no peak under load was measured",
        *([f"DGEMM on all ranks at once: {amount(dgemm, 'flop/s')}"] if dgemm else []),
    ]
    doubt = _text(result, "blas_doubt")
    return [*wrapped([("; ".join(parts), "dim")], width), *(wrapped([(f"! {doubt}", "warn")], width) if doubt else [])]


# ---- messages ----

_LITTLE: Final = 0.02
"""Less cannot be distinguished from noise."""
_AWAY: Final = {"local": "here", "same-socket": "same socket", "other-socket": "other socket"}
_LOSES: Final = 0.1


@dataclass(frozen=True)
class _Site:
    """What ranks of one place reached, by variant and size."""

    results: Mapping[tuple[str, int], Result]

    @property
    def first(self) -> Result:
        """One of the results, for what they have in common."""
        return next(iter(self.results.values()))

    @property
    def away(self) -> str:
        """How far the adapter is, as seen from there."""
        return _text(self.first, "hca_distance")

    @property
    def mark(self) -> str:
        """The adapter, and that in words."""
        hca = _text(self.first, "hca")
        return f"{hca} {_AWAY.get(self.away, '')}".strip() if hca and self.away else ""

    @property
    def is_node(self) -> bool:
        """Whether these are all cores of a NUMA node."""
        return self.first.part == "numa" and self.first.purpose == "network"

    def best(self, variant: str) -> Result | None:
        """Return the size that is fastest."""
        return max((each for (name, _), each in self.results.items() if name == variant), key=lambda r: r.median, default=None)

    def fastest(self, variant: str) -> list[Cell]:
        """Return the cells of that: how fast, at which size, as a share of the line."""
        best = self.best(variant)
        if best is None:
            return ["", "", ""]
        share = percent(best.median / best.ceiling) if best.ceiling else ""
        return [number(best.median, "bytes/s"), _size(best.bytes or 0), share]


def _sites(results: Iterable[Result]) -> list[_Site]:
    places: dict[str, dict[tuple[str, int], Result]] = defaultdict(dict)
    for each in results:
        places[each.task][each.variant, each.bytes or 0] = each
    return [_Site(found) for found in places.values()]


def messages(seen: Seen) -> list[Line]:
    """Return for each adapter what pairs of ranks reach, place by place, beside publications and the adapter's line."""
    believed = [each for each in seen.measurements.results if each.purpose in NETWORK and each.refused is None]
    lines: list[Line] = []
    for hca in dict.fromkeys(_text(each, "hca") for each in believed):
        own = [each for each in believed if _text(each, "hca") == hca]
        lines += _two_ranks([each for each in own if each.purpose == "network-pair"], seen)
        lines += _many_pairs([each for each in own if each.purpose in ("network", "network-few")], seen)
    if not lines or seen.facts is None:
        return lines
    verdict: list[Span] = []
    for each in seen.facts.adapters:
        if each.bandwidth and not each.share:
            said = f"{plain(each.name, 40)} {throughput(each.bandwidth)} one way; the rate of its line is not known"
            verdict.append((said, "unknown"))
        elif each.bandwidth and each.share:
            of = f"{percent(each.share)} of {plain(each.limit or 'its line', 60)}"
            said = f"{plain(each.name, 40)} {throughput(each.bandwidth)} one way: {of}"
            verdict.append((said, "good" if each.share >= NEAR else "warn"))
    told = beside_published(seen.facts.published_network, throughput)
    told += beside_published(seen.facts.published_network_latency, duration, less=True)
    return lines + verdict_lines([*verdict, *(told or [(UNPUBLISHED, "")])], seen.width)


def _network(name: str, results: Sequence[Result], head: Sequence[str], rows: Sequence[Sequence[Cell]], seen: Seen) -> list[Line]:
    """Return a table of messages: between which hosts, with what, through which adapter, whose line carries how much."""
    first = results[0]
    hosts = _text(first, "hosts_named").split(",")
    inside = not reported_or_zero(first, "across")
    way = _text(first, "way")
    adapter = _text(first, "hca") + (f" (the way there {way})" if way else "")
    limit = ""
    if bound := next((each for each in results if each.ceiling is not None), None):
        one_way = (bound.ceiling or 0.0) / (2 if bound.variant == "bibw" else 1)
        limit = f"line: {amount(one_way, 'bytes/s')} one way ({_text(bound, 'line')})"
    about = [
        f"inside {hosts[0]}, shared memory" if inside else " and ".join(hosts),
        _text(first, "launcher"),
        adapter or ("" if inside else "no adapter chosen"),
        limit,
        f"median of {len(first.values)} repeats",
    ]
    right = "".join("l" if each in ("part", "adapter") else "r" for each in head)
    return section(seen, name, ", ".join(filter(None, about)), head, rows, right=right, sparse=True)


def _size(size: int) -> str:
    return binary(size) if size >= 1024 else f"{size} B"


def _two_ranks(results: Sequence[Result], seen: Seen) -> list[Line]:
    """Return what one rank on each host reaches, and what distance from the adapter costs."""
    if not results:
        return []
    sites, small = _sites(results), min(each.bytes or 0 for each in results)
    rows: list[list[Cell]] = []
    for site in sites:
        latency, one, both = site.results.get(("latency", small)), site.best("mbw_mr"), site.best("bibw")
        rate, at, share = site.fastest("mbw_mr")
        rows.append(
            [
                part_name(site.first.part, site.first.index),
                site.mark,
                f"{latency.median * 1e6:.2f}" if latency else "",
                rate,
                site.fastest("bibw")[0],
                at,
                share,
                percent(max(each.spread for each in (latency, one, both) if each)),
            ]
        )
    head = ("part", "adapter", f"us, {_size(small)}", "GB/s one way", "both ways", "at", "of line", "spread")
    lines = _network("Two ranks", results, head, rows, seen)
    known = {site.away: site.results.get(("latency", small)) for site in sites}
    near, far = known.get("local"), known.get("other-socket") or known.get("same-socket")
    if near is None or far is None:
        return lines
    more = far.median / near.median - 1
    words = f"Far from the adapter latency is {percent(more)} {'longer' if more >= 0 else 'shorter'}."
    return lines + wrapped([(words, "")], seen.width)


def _many_pairs(results: Sequence[Result], seen: Seen) -> list[Line]:
    """Return what all cores of parts reach, and what the place of the ranks costs: the median of the other socket's nodes."""
    if not results:
        return []
    sites, small = _sites(results), min(each.bytes or 0 for each in results)
    rates: dict[str, list[float]] = defaultdict(list)
    for site in sites:
        if site.is_node and (best := site.best("mbw_mr")):
            rates[site.away].append(best.median)
    near, far = max(rates["local"], default=None), sorted(rates["other-socket"])
    rows: list[list[Cell]] = []
    for site in sites:
        best, rate, home = site.best("mbw_mr"), site.results.get(("mbw_mr", small)), site.is_node and site.away == "local"
        name = part_name(site.first.part, site.first.index)
        loss = best.median / near - 1 if best and near and site.is_node and not home else None
        rows.append(
            [
                (name if site.first.purpose == "network" else f"{name}, 2 a node", "title" if home else ""),
                (site.mark, "good" if site.mark.endswith("here") else "dim"),
                _whole(site.first, "pairs"),
                figure(reported_or_zero(rate, "messages") / 1e6) if rate else "",
                *site.fastest("mbw_mr"),
                "" if loss is None else (f"{100 * loss:+.0f} %", "warn" if loss < -_LOSES else ""),
                percent(best.spread) if best else "",
            ]
        )
    head = ("part", "adapter", "pairs", f"M msg/s, {_size(small)}", "GB/s", "at", "of line", "against near", "spread")
    lines = _network("Many pairs", results, head, rows, seen)
    if near is None or not far:
        return lines
    middle = far[len(far) // 2]
    loss = 1 - middle / near
    if abs(loss) < _LITTLE:
        return lines + wrapped([("On the other socket messages are as fast as beside the adapter.", "good")], seen.width)
    words = f"On the other socket {percent(abs(loss))} of the bandwidth is {'lost' if loss > 0 else 'gained'}"
    return lines + wrapped([(f"{words}: {number(middle, 'bytes/s')} of {amount(near, 'bytes/s')}.", "")], seen.width)
