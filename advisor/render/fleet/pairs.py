"""Draws what pairs of nodes gave: who and what is bad first, then the figures of all, then who could not be measured."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import inf
from typing import Any, Final

from advisor.language.units import count, plain
from advisor.render.fleet.answers import not_measured_lines
from advisor.render.fleet.screen import amount
from advisor.render.lines import Line, Page, labelled, wrapped

_Bad = tuple[Mapping[str, Any], Mapping[str, Any], str]
"""A figure, what is bad in it, and with whom."""
_ROOM: Final = 13
_MOST: Final = 12
"""Lines of one sort; the rest is counted."""


def pairs_page(told: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what a fleet's pairs gave, from the document of it."""
    return Page(lambda room: list(_lines(told, room)), width)


def _lines(told: Mapping[str, Any], width: int) -> Iterator[Line]:
    pairs = sum(group["pairs"] for group in told["groups"])
    stopped = ", interrupted: nobody is named" if told["interrupted"] else ""
    again = sum(len(group["measured_again"]) for group in told["groups"])
    twice = f", {again} more to be sure" if again else ""
    head = f"{count(told['asked'], 'node')} asked, {told['measured']} measured in {count(pairs, 'pair')}{twice}{stopped}"
    yield from wrapped([(head, "title")], width)
    several = len(told["groups"]) > 1
    for group in told["groups"]:
        kind = f"{group['kind']}  " if several else ""
        yield from _bad(group, kind, width)
        for each in group["figures"]:
            span = f"{amount(each['least'], each['unit'])} to {amount(each['most'], each['unit'])}"
            text = f"{kind}{plain(each['figure'])}: {amount(each['median'], each['unit'])} usually, {span}"
            yield from labelled("Pairs", [(text, "")], width, _ROOM)
        if not told["interrupted"] and not group["judged"]:
            few = "too few pairs to know what is usual: 8 are needed" if group["pairs"] < 8 else "too few pairs gave a result"
            yield from labelled("Not judged", [(f"{kind}{few}", "medium")], width, _ROOM)
        yield from _no_result(group["no_result"], kind, width)
    yield from not_measured_lines(told["not_measured"], width)
    links = [each["pair"] for group in told["groups"] for figure in group["figures"] for each in figure["bad_links"]]
    if links:
        yield from labelled("Then", [(f"advisor measure network --hosts {','.join(links[0])}", "")], width, _ROOM)


def _bad(group: Mapping[str, Any], kind: str, width: int) -> Iterator[Line]:
    """Yield bad nodes, bad links, and nodes of which it is not known."""
    nodes: dict[str, list[_Bad]] = {}
    links: dict[str, list[_Bad]] = {}
    for each in group["figures"]:
        for bad in each["bad_nodes"]:
            nodes.setdefault(bad["node"], []).append((each, bad, f" with {bad['slow_with']} of {bad['met']} others"))
        for bad in each["bad_links"]:
            links.setdefault(" - ".join(bad["pair"]), []).append((each, bad, ""))
    ends = sorted({node for each in group["figures"] for node in each["unclear"]})
    for label, found, what in (("BAD NODE", nodes, "nodes"), ("BAD LINK", links, "links")):
        for name, own in list(found.items())[:_MOST]:
            yield from labelled(label, [(f"{kind}{plain(name)}: {_told(own)}", "warn")], width, _ROOM)
        if len(found) > _MOST:
            yield from labelled("", [(f"and {len(found) - _MOST} more bad {what}: --json", "warn")], width, _ROOM)
    if ends:
        text = f"{kind}{', '.join(map(plain, ends[:_MOST]))}: some links are bad, others are not; the node or the fabric"
        yield from labelled("Not clear", [(text, "medium")], width, _ROOM)


def _told(own: Sequence[_Bad]) -> str:
    """Return the worst of the figures that are bad beside the usual one, and the names of the others."""
    figure, bad, whom = min(own, key=lambda each: -inf if each[1]["value"] is None else each[1]["z"])
    if bad["value"] is None:
        return f"no result{whom}"
    value, usual = (amount(each, figure["unit"]) for each in (bad["value"], bad["median"]))
    others = [each["figure"] for each, *_ in own if each is not figure]
    also = f"; also {plain(', '.join(others))}" if others else ""
    return f"{plain(figure['figure'])} {value}{whom}, median {usual} (z {bad['z']:g}){also}"


def _no_result(found: Sequence[Mapping[str, Any]], kind: str, width: int) -> Iterator[Line]:
    """Yield why pairs gave nothing, each reason once."""
    reasons: dict[str, list[str]] = {}
    for each in found:
        why = reduce(lambda text, node: text.replace(node, "NODE"), each["pair"], each["why"])
        reasons.setdefault(why, []).append(" - ".join(each["pair"]))
    for why, pairs in sorted(reasons.items(), key=lambda item: -len(item[1]))[:3]:
        more = f" and {len(pairs) - 2} more" if len(pairs) > 2 else ""
        yield from labelled("No result", [(f"{kind}{plain(', '.join(pairs[:2]))}{more}: {plain(why, 300)}", "")], width, _ROOM)
