"""Draws what a capture of many nodes came to: first who answered and who did not, then each reason once, and how to go on."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from advisor.language.units import plain
from advisor.model.fleet import Fleet, Silent
from advisor.render.commandline import word
from advisor.render.fleet.screen import answered_text
from advisor.render.lines import Line, Page, labelled, wrapped

_ROOM: Final = 13
_LONGEST: Final = 4000
_MOST: Final = 8


def captured_page(told: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what became of a fleet, from the document of it."""
    return Page(lambda room: list(_lines(told, room)), width)


def _lines(told: Mapping[str, Any], width: int) -> Iterator[Line]:
    silent = [Silent(node=each["node"], why=each["is"]) for each in told["silent"]]
    left = [Silent(node=name, why="not asked: interrupted") for name in told["not_asked"]]
    fleet = Fleet(asked=told["asked"], answered=told["answered"], silent=(*silent, *left))
    yield from wrapped([(answered_text(fleet), "title")], width)
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in told["silent"]:
        reasons.setdefault((each["is"], each["why"] or "no reason reported"), []).append(each["node"])
    for (is_, why), nodes in list(reasons.items())[:_MOST]:
        yield from labelled(is_, [(f"{plain(nodes[0])}{_more(len(nodes) - 1)}: {plain(why, 400)}", "")], width, _ROOM)
    others = told["other_names"]
    if others:
        names = ", ".join(f"{plain(each['node'])} is {plain(each['seen_as'])}" for each in others[:_MOST])
        yield from labelled("Other names", [(names + _more(len(others) - _MOST), "medium")], width, _ROOM)
    folder = word(told["folder"])
    if told["answered"]:
        yield from labelled("Then", [(f"advisor fleet audit {folder}", "")], width, _ROOM)
    if silent:
        yield from labelled("Again", [(f"advisor fleet capture --again failed -o {folder}", "")], width, _ROOM)


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""
