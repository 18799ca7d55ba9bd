"""Draws a rollout: where all nodes are, once each, what was gained, and what to type next."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from advisor.bios.page import folded_lines
from advisor.machine.units import plain
from advisor.show.lines import Line, Page, labelled, wrapped

_ROOM: Final = 14
HEADS: Final = {
    "done": "in effect and back in service",
    "proven": "in effect, not back in service",
    "as before": "as before",
    "by hand": "to be looked at by hand",
    "under way": "under way",
}


def rollout_page(told: Mapping[str, Any], width: int | None = None, *, rehearsal: bool = False) -> Page:
    """Return where a rollout is, from the document of it."""
    return Page(lambda room: list(_lines(told, room, rehearsal=rehearsal)), width)


def _lines(told: Mapping[str, Any], width: int, *, rehearsal: bool) -> Iterator[Line]:
    counts = ", ".join(f"{count} {HEADS[end]}" for end, count in told["ends"].items() if count)
    wrong = told["stopped"] or told["ends"]["by hand"]
    head = f"Rehearsal on twins: {counts}. No server was changed." if rehearsal else f"Rollout: {counts}."
    yield from wrapped([(head, "high" if wrong else "good")], width)
    if told["stopped"]:
        yield from labelled("Stopped", [(plain(told["stopped"], 400), "high")], width, _ROOM)
    yield from folded_lines({"folded": told["folded"], "left": ""}, width)
    for each in told["gains"]:
        for line in each["measured"]:
            yield from labelled("Measured", [(f"{each['node']}: {plain(line, 300)}", "")], width, _ROOM)
    if rehearsal:
        return
    folder = told["folder"]
    if told.get("report"):
        yield from labelled("Report", [(f"{told['report']}, and report.md for a ticket", "")], width, _ROOM)
    proven = next((each["node"] for each in told["nodes"] if each["restarted"] and each["end"] in ("done", "proven")), None)
    if proven is not None:
        pair = f"{folder}/before/{proven}.tar.gz {folder}/after/{proven}.tar.gz"
        yield from labelled("Compare", [(f"advisor compare {pair} -o {proven}.html", "")], width, _ROOM)
    for each in [each for each in told["nodes"] if each["end"] == "by hand"][:3]:
        yield from labelled("Look", [(f"advisor bios status --bmc {each['bmc']}", "")], width, _ROOM)
        yield from labelled(
            "Take back", [(f"advisor bios undo {folder}/records/{each['node']}.json --bmc {each['bmc']}", "")], width, _ROOM
        )
    if told["waits_for_approval"] or told["interrupted"] or told["stopped"] or told["ends"]["under way"]:
        yield from labelled("Go on", [(f"advisor bios rollout --resume {folder}", "")], width, _ROOM)
