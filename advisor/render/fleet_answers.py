"""Draws who answered: the first line of every page about many nodes, and what a capture of them came to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor.language.units import plain
from advisor.render.commandline import word
from advisor.render.lines import Line, Page, labelled, wrapped

_ROOM = 13
_LONGEST = 4000


def who_answered(asked: int, answered: int, silent: Sequence[tuple[str, str]]) -> str:
    """Return the line that is first: how many answered, and who did not, with the reason.

    >>> who_answered(1000, 997, [("timed out", "n[0013,0113]"), ("no route", "n0066")])
    '1000 nodes asked, 997 answered (n[0013,0113] timed out, n0066 no route)'
    """
    missing = ", ".join(f"{nodes} {why}" for why, nodes in silent)
    return f"{asked} node{'s' * (asked != 1)} asked, {answered} answered" + (f" ({missing})" if missing else "")


def captured_page(told: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what became of a fleet, from the document of it."""
    return Page(lambda room: list(_lines(told, room)), width)


def _lines(told: Mapping[str, Any], width: int) -> Iterator[Line]:
    good = ("answered", "wrong name")
    silent = [(each["is"], each["nodes"]) for each in told["outcomes"] if each["is"] not in good]
    if told["not_asked"]:
        silent.append(("not asked: interrupted", told["not_asked"]))
    yield from wrapped([(plain(who_answered(told["asked"], told["answered"], silent), _LONGEST), "title")], width)
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in told["silent"]:
        reasons.setdefault((each["is"], each["why"] or "no reason reported"), []).append(each["node"])
    for (is_, why), nodes in list(reasons.items())[:8]:
        more = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
        yield from labelled(is_, [(plain(f"{nodes[0]}{more}: {why}", 400), "")], width, _ROOM)
    if told["other_names"]:
        names = ", ".join(f"{each['node']} is {each['seen_as']}" for each in told["other_names"][:8])
        more = f" and {len(told['other_names']) - 8} more" if len(told["other_names"]) > 8 else ""
        yield from labelled("Other names", [(plain(names + more, _LONGEST), "medium")], width, _ROOM)
    folder = word(told["folder"])
    if silent:
        yield from labelled("Again", [(f"advisor fleet capture --again failed -o {folder}", "")], width, _ROOM)
