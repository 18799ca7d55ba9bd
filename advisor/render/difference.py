"""Two machines side by side: only what differs, hardware first, advice last."""

from collections.abc import Iterable

from advisor.language.units import count, plain
from advisor.model.audit.findings import Change, Difference, FindingChange
from advisor.render.lines import Line, wrapped
from advisor.render.page import Page

_NOTHING = "not there"
_LONGEST = 60


def difference_page(difference: Difference, width: int | None = None) -> Page:
    """Return what differs, as a page."""
    return Page(lambda room: _lines(difference, room), width)


def _lines(difference: Difference, width: int) -> list[Line]:
    lines: list[Line] = [((f"{plain(difference.before)} -> {plain(difference.after)}", "title"),)]
    if difference.same:
        return [*lines, (("Nothing differs that could be read on both.", ""),)]
    lines += _section("Hardware and firmware", difference.identity, width)
    lines += _section("Topology", difference.topology, width)
    if difference.renumbered:
        words = f"{count(difference.renumbered, 'CPU number')} now mean another core: bindings by number must be written anew"
        lines += wrapped([("! ", "warn"), (words, "")], width)
    lines += _section("Settings", difference.settings, width)
    lines += _section("Adapters and accelerators", difference.devices, width)
    lines += _section("Other facts", difference.facts, width)
    lines += _findings("Findings gained", "+", "down", difference.gained, width)
    lines += _findings("Findings lost", "-", "dim", difference.lost, width)
    return lines


def _section(heading: str, changes: tuple[Change, ...], width: int) -> list[Line]:
    if not changes:
        return []
    room = min(40, max(len(change.title) for change in changes)) + 2
    lines: list[Line] = [(), ((heading, "heading"),)]
    for change in changes:
        label = plain(change.title, 60)
        sides = [(_side(change.before), "dim"), (" -> ", "dim"), (_side(change.after), "")]
        spans = [(f"{label:<{room - 1}} ", "label"), *sides]
        lines += wrapped(spans, width, indent=room)
    return lines


def _side(text: str | None) -> str:
    return _NOTHING if text is None else plain(text, _LONGEST)


def _findings(heading: str, sign: str, style: str, changes: Iterable[FindingChange], width: int) -> list[Line]:
    lines: list[Line] = []
    for change in changes:
        claim = plain(change.claim or "")
        now = "" if change.now in ("pass", "finding") else f" (there: {change.now})"
        lines += wrapped(
            [(f"{sign} {change.severity:6} ", style), (f"{change.id}: ", "title"), (claim + now, "")], width, indent=9
        )
    return [(), ((heading, "heading"),), *lines] if lines else []
