"""Draws what left a fleet's baseline."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from advisor.language.units import count, plain, printable
from advisor.model.node_sets import folded
from advisor.render.lines import Line, Page, labelled, wrapped

_ROOM = 8


def check_page(told: dict[str, Any], width: int | None = None) -> Page:
    """Return what left the baseline, from the document of it."""
    return Page(lambda room: list(_lines(told, room)), width)


def _lines(told: dict[str, Any], width: int) -> Iterator[Line]:
    silent: dict[str, list[str]] = defaultdict(list)
    for each in told["silent"]:
        silent[plain(each["why"], 60)].append(each["node"])
    gone = "".join(f", {folded(nodes)} {why}" for why, nodes in silent.items())
    yield from wrapped([(f"{count(told['nodes'], 'node')} of the baseline answered{gone}", "title")], width)
    style = "warn" if told["left"] else "good"
    rows = [_row(each) for each in told["left"]] or ["nothing: every fact and finding is as it was"]
    yield from _rows("LEFT", style, rows, width)
    if told["new"]:
        yield from _rows("NEW", "label", [f"{told['new']}: not in the baseline"], width)
    yield from _rows("WHEN", "label", [f"between {told['since']} and {told['until']}"], width)


def _row(each: dict[str, Any]) -> str:
    if each["what"] == "finding":
        return f"{each['count']:>5}  new finding {each['after']}  {each['nodes']}"
    return f"{each['count']:>5}  {each['what']} {plain(each['before'], 60)} -> {plain(each['after'], 60)}  {each['nodes']}"


def _rows(label: str, style: str, texts: Iterable[str], width: int) -> Iterator[Line]:
    for at, text in enumerate(texts):
        (head, *rest) = labelled("" if at else label, [(printable(text), style)], width, _ROOM)
        yield head
        yield from rest
