"""What messages between two hosts give on a terminal: tables as in dell-naples-2018, with the adapter's place marked."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from advisor.machine.units import binary, plain
from advisor.measure import measurement
from advisor.measure.measurement import Measurements, Purpose, Result
from advisor.measure.pages.figures import Cell, amount, figure, heading, number, part_name, percent, table
from advisor.show.lines import Line, wrapped

_PURPOSES: Final[tuple[Purpose, ...]] = ("network", "network-few")
_LITTLE: Final = 0.02
"""Less cannot be distinguished from noise."""
_MICRO: Final = 1e-6
_AWAY: Final = {"local": "here", "same-socket": "same socket", "other-socket": "other socket"}
_LOSES: Final = 0.1

Found = dict[tuple[str, int], Result]
"""Results of one place by variant and size."""


def tables(measurements: Measurements, width: int) -> list[Line]:
    """Return for each adapter what pairs of ranks reach, place by place."""
    believed = [each for each in measurements.results if each.purpose in measurement.NETWORK and each.refused is None]
    lines: list[Line] = []
    for hca in dict.fromkeys(_text(each, "hca") for each in believed):
        own = [each for each in believed if _text(each, "hca") == hca]
        lines += _pairs([each for each in own if each.purpose == "network-pair"], width)
        lines += _parts([each for each in own if each.purpose in _PURPOSES], width)
    return lines


def _text(result: Result, name: str) -> str:
    return plain(measurement.reported_text(result, name), 80)


def _by_place(results: Iterable[Result]) -> list[Found]:
    places: dict[str, Found] = defaultdict(dict)
    for each in results:
        places[each.task][each.variant, each.bytes or 0] = each
    return list(places.values())


def _about(results: Sequence[Result]) -> str:
    first = results[0]
    hosts = _text(first, "hosts_named").split(",")
    inside = not measurement.reported_or_zero(first, "across")
    where = f"inside {hosts[0]}, shared memory" if inside else " and ".join(hosts)
    words = [where, _text(first, "launcher"), _adapter(first) or ("" if inside else "no adapter chosen"), _limit(results)]
    repeats = f"median of {len(first.values)} repeats"
    return ", ".join(word for word in (*words, repeats) if word)


def _adapter(result: Result) -> str:
    """Return the adapter, and what is known of the way there where nobody asked for it."""
    way = _text(result, "way")
    return _text(result, "hca") + (f" (the way there {way})" if way else "")


def _limit(results: Sequence[Result]) -> str:
    found = next((each for each in results if each.ceiling is not None), None)
    if found is None:
        return ""
    one_way = (found.ceiling or 0.0) / (2 if found.variant == "bibw" else 1)
    return f"line: {amount(one_way, 'bytes/s')} one way ({_text(found, 'line')})"


def _mark(result: Result) -> str:
    """Return where the adapter is as seen from a place."""
    hca = _text(result, "hca")
    where = _text(result, "hca_distance")
    return f"{hca} {_AWAY.get(where, '')}".strip() if hca and where else ""


# ---- one rank on each host ----


def _pairs(results: Sequence[Result], width: int) -> list[Line]:
    if not results:
        return []
    places = _by_place(results)
    small = min(each.bytes or 0 for each in results)
    head = ("part", "adapter", f"us, {_size(small)}", "GB/s one way", "both ways", "at", "of line", "spread")
    rows = [_pair(found, small) for found in places]
    return [*heading("Two ranks", _about(results), width), *_told(head, rows, width), *_compared(places, small, width)]


def _pair(found: Found, small: int) -> list[Cell]:
    latency, one, both = found.get(("latency", small)), _best(found, "mbw_mr"), _best(found, "bibw")
    some = next(iter(found.values()))
    return [
        part_name(some.part, some.index),
        _mark(some),
        f"{latency.median / _MICRO:.2f}" if latency else "",
        number(one.median, "bytes/s") if one else "",
        number(both.median, "bytes/s") if both else "",
        _size(one.bytes or 0) if one else "",
        _share(one),
        percent(max(each.spread for each in (latency, one, both) if each)),
    ]


def _compared(places: Sequence[Found], small: int, width: int) -> list[Line]:
    """Return what distance from the adapter costs two ranks."""
    known = {_text(next(iter(found.values())), "hca_distance"): found for found in places}
    near, far = known.pop("local", None), next((known[way] for way in ("other-socket", "same-socket") if way in known), None)
    if near is None or far is None:
        return []
    a, b = near.get(("latency", small)), far.get(("latency", small))
    if a is None or b is None:
        return []
    more = b.median / a.median - 1
    return wrapped([(f"Far from the adapter latency is {percent(more)} {'longer' if more >= 0 else 'shorter'}.", "")], width)


# ---- all cores of a part ----


def _parts(results: Sequence[Result], width: int) -> list[Line]:
    if not results:
        return []
    places = _by_place(results)
    small = min(each.bytes or 0 for each in results)
    near = _nearest(places)
    head = ("part", "adapter", "pairs", f"M msg/s, {_size(small)}", "GB/s", "at", "of line", "against near", "spread")
    rows = [_part(found, small, near) for found in places]
    return [*heading("Many pairs", _about(results), width), *_told(head, rows, width), *_summary(places, near, width)]


def _nearest(places: Sequence[Found]) -> float | None:
    """Return the bandwidth of the adapter's own NUMA node; of several the best."""
    found = [_best(place, "mbw_mr") for place in places if _is_node(place) and _near(place)]
    return max((each.median for each in found if each), default=None)


def _is_node(found: Found) -> bool:
    some = next(iter(found.values()))
    return some.part == "numa" and some.purpose == "network"


def _near(found: Found) -> bool:
    return _text(next(iter(found.values())), "hca_distance") == "local"


def _part(found: Found, small: int, near: float | None) -> list[Cell]:
    some, best, rate = next(iter(found.values())), _best(found, "mbw_mr"), found.get(("mbw_mr", small))
    name = part_name(some.part, some.index)
    few = ", 2 a node" if some.purpose == "network-few" else ""
    loss = best.median / near - 1 if best and near else None
    lost = _is_node(found) and loss is not None and not _near(found)
    mark = _mark(some)
    return [
        (f"{name}{few}", "title" if _is_node(found) and _near(found) else ""),
        (mark, "good" if mark.endswith("here") else "dim"),
        f"{measurement.reported_or_zero(some, 'pairs'):.0f}",
        figure(measurement.reported_or_zero(rate, "messages") / 1e6) if rate else "",
        number(best.median, "bytes/s") if best else "",
        _size(best.bytes or 0) if best else "",
        _share(best),
        (f"{100 * loss:+.0f} %", "warn" if loss < -_LOSES else "") if lost and loss is not None else "",
        percent(best.spread) if best else "",
    ]


def _summary(places: Sequence[Found], near: float | None, width: int) -> list[Line]:
    """Return what the place of the ranks costs, as the median of the nodes of the other socket."""
    far = [_best(found, "mbw_mr") for found in places if _is_node(found) and _distance(found) == "other-socket"]
    rates = sorted(each.median for each in far if each)
    if near is None or not rates:
        return []
    loss = 1 - rates[len(rates) // 2] / near
    if abs(loss) < _LITTLE:
        return wrapped([("On the other socket messages are as fast as beside the adapter.", "good")], width)
    words = f"On the other socket {percent(abs(loss))} of the bandwidth is {'lost' if loss > 0 else 'gained'}"
    return wrapped([(f"{words}: {number(rates[len(rates) // 2], 'bytes/s')} of {amount(near, 'bytes/s')}.", "")], width)


def _distance(found: Found) -> str:
    return _text(next(iter(found.values())), "hca_distance")


# ---- cells ----


def _best(found: Mapping[tuple[str, int], Result], variant: str) -> Result | None:
    some = [each for (name, _), each in found.items() if name == variant]
    return max(some, key=lambda each: each.median, default=None)


def _share(result: Result | None) -> str:
    return percent(result.median / result.ceiling) if result and result.ceiling else ""


def _size(size: int) -> str:
    return binary(size) if size >= 1024 else f"{size} B"


def _told(head: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    """Return a table without the columns in which nothing stands."""
    kept = [at for at in range(len(head)) if any(_words(row[at]) for row in rows)]
    right = "".join("l" if head[at] in ("part", "adapter") else "r" for at in kept)
    return table([head[at] for at in kept], [[row[at] for at in kept] for row in rows], width, right)


def _words(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0] if isinstance(cell, tuple) else "bar"
