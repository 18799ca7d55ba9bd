"""Runs of messages between hosts on a terminal and as JSON: before a change, after it, and what that shows."""

from typing import Any, Final

from advisor.language.units import binary, count, plain
from advisor.model.measurement_statistics import NEGLIGIBLE, SIGNIFICANT, BeforeAfter, Contrast, Side
from advisor.render.lines import Line, wrapped
from advisor.render.measured_paint import Cell, Chart, heading, table
from advisor.render.measured_words import SCALES, amount, number, percent

SCHEMA: Final = "advisor-before-after/1"
"""The number rises when a key changes meaning or goes."""
_WIDE: Final = 120
"""Columns from which the least and the most stand beside their median."""
_STYLES: Final = {"faster": "good", "slower": "warn", "no difference shown": "dim"}


def before_document(found: BeforeAfter) -> dict[str, Any]:
    """Return a comparison as plain JSON values."""
    return {"schema": SCHEMA, **found.model_dump(mode="json")}


def before_page(found: BeforeAfter, width: int | None = None) -> Chart:
    """Return a comparison as a page."""
    return Chart(lambda room: lines(found, room), width)


def lines(found: BeforeAfter, width: int) -> list[Line]:
    """Return the table, the message rate in a sentence, what the figures mean, and what speaks against them."""
    when = f"before {_time(found.before)}, after {_time(found.after)}"
    about = ", ".join((plain(found.hosts.replace(",", " and "), 120), plain(found.launcher, 60), when))
    head = ("adapter", "all cores", "n", "before", "after", "ratio", "p", "after is")
    rows = [_row(each, wide=width >= _WIDE) for each in found.rows]
    kept = [at for at in range(len(head)) if at > 0 or any(each.hca for each in found.rows)]
    shown = [[row[at] for at in kept] for row in rows]
    result = heading("Before and after", about, width)
    result += table([head[at] for at in kept], shown, width, "".join("llrrrrrl"[at] for at in kept))
    for each in found.rows:
        if each.what == "message rate":
            result += wrapped([(_sentence(each, found.of), _STYLES[each.says])], width)
    result += wrapped([(_N[found.of] + _MEANS, "dim")], width)
    for warning in found.warnings:
        result += wrapped([(f"! {plain(warning, 400)}", "warn")], width)
    return result


_N: Final = {"starts": "n: starts of each setting, by their medians. ", "repeats": "n: repeats of each. "}
_MEANS: Final = (
    "p: how often chance alone sets them as far apart (Mann-Whitney, two-sided). Faster or slower is said where p is at "
    f"most {SIGNIFICANT:g} and the medians differ by {percent(NEGLIGIBLE)} or more."
)


def _time(started: str) -> str:
    return plain(started[:16].replace("T", " "), 20)


def _row(each: Contrast, *, wide: bool) -> list[Cell]:
    numbers = (each.before.number, each.after.number)
    return [
        plain(each.hca or "", 40),
        f"{SCALES[each.unit][1]}, {binary(each.bytes)}",
        f"{numbers[0]}" if numbers[0] == numbers[1] else f"{numbers[0]} / {numbers[1]}",
        _side(each.before, each, wide=wide),
        _side(each.after, each, wide=wide),
        f"{each.ratio:.3f}",
        probability(each.p),
        (each.says, _STYLES[each.says]),
    ]


def _side(side: Side, of: Contrast, *, wide: bool) -> str:
    """Return the median, and with room enough the least and the most."""
    middle = number(side.median, of.unit)
    return f"{middle} ({number(side.low, of.unit)}-{number(side.high, of.unit)})" if wide else middle


def _sentence(each: Contrast, of: str) -> str:
    where = f"Through {plain(each.hca, 40)} " if each.hca else ""
    what = f"{where}{'the' if where else 'The'} message rate of {count(each.pairs, 'pair')} of ranks"
    both = f"{amount(each.before.median, each.unit)} before, {amount(each.after.median, each.unit)} after"
    chance = f"p {probability(each.p)}, {each.before.number} and {each.after.number} {of}"
    if each.says == "no difference shown":
        return f"{what}: no difference shown ({both}; {chance})."
    return f"{what} is {percent(abs(each.ratio - 1))} {'higher' if each.ratio > 1 else 'lower'} ({both}; {chance})."


def probability(p: float) -> str:
    """Return a p: ``0.34``, ``0.00004``; what is next to nothing as less than that.

    >>> probability(0.3401), probability(4.1e-5), probability(1e-9)
    ('0.34', '0.00004', '< 0.00001')
    """
    if p < 1e-5:
        return "< 0.00001"
    return f"{p:.2g}" if p >= 0.001 else f"{p:.5f}"
