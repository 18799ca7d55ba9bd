"""Draws what a capture of many nodes came to: first who answered and who did not, then each reason once, and how to go on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from advisor.language.units import count, plain
from advisor.model.fleet import Fleet, Silent, Slow
from advisor.model.node_sets import folded
from advisor.render.commandline import word
from advisor.render.fleet.screen import amount, answered_text, slow_lines
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


def measured_page(told: Mapping[str, Any], slow: Sequence[Slow], width: int | None = None) -> Page:
    """Return who was measured and who is slow in two runs, from the document of it."""
    return Page(lambda room: list(_measured_lines(told, slow, room)), width)


def _measured_lines(told: Mapping[str, Any], slow: Sequence[Slow], width: int) -> Iterator[Line]:
    yield from wrapped([(f"{count(told['asked'], 'node')} asked, {told['measured']} measured", "title")], width)
    for each in told.get("figures", ()):
        yield from labelled(each["figure"], [(_beside(each), "")], width, _ROOM)
    yield from not_measured_lines(told["not_measured"], width)
    again = told["measured_again"]
    if again:
        named = {each.node for each in slow} | {each["node"] for each in told["not_measured"]}
        fine = [node for node in again if node not in named]
        said = f"{plain(folded(again), _LONGEST)}" + (f"; not slow then: {plain(folded(fine), _LONGEST)}" if fine else "")
        yield from labelled("Again", [(said, "")], width, _ROOM)
    for text in slow_lines(slow):
        yield from labelled("SLOW", [(plain(text, _LONGEST), "warn")], width, _ROOM)
    if told["measured"]:
        yield from labelled("Then", [(f"advisor fleet audit {word(told['folder'])}", "")], width, _ROOM)


def _beside(each: Mapping[str, Any]) -> str:
    """Return what is usual of a figure, and the nodes at both ends."""
    low, high = (choose(each["values"].items(), key=lambda item: item[1]) for choose in (min, max))
    ends = " to ".join(f"{amount(value, each['unit'])} ({plain(node)})" for node, value in (low, high))
    usual = amount(each["median"], each["unit"])
    return f"{each['kind']:<2} {count(len(each['values']), 'node')}, {usual} usually, {ends}; {each['about']}"


def not_measured_lines(told: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    """Yield why nodes were not measured, each reason once."""
    reasons: dict[str, list[str]] = {}
    for each in told:
        reasons.setdefault(each["why"].replace(f"-w {each['node']} ", "-w NODES "), []).append(each["node"])
    for why, nodes in sorted(reasons.items(), key=lambda item: -len(item[1]))[:_MOST]:
        names = plain(folded(nodes), _LONGEST)
        said = plain(why, 400).replace("-w NODES ", f"-w {word(names)} ")
        yield from labelled("Not measured", [(f"{names}: {said}", "")], width, _ROOM)
