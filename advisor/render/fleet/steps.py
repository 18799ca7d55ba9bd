"""Draws the checklists of a fleet: for each kind the steps, each with the nodes that need it."""

from collections.abc import Iterator
from typing import Any

from advisor.language.units import plain, printable
from advisor.render.lines import Line, Page, wrapped


def checklist_page(told: dict[str, Any], width: int | None = None) -> Page:
    """Return one list for each kind, from the document of them."""
    return Page(lambda room: [line for kind in told["kinds"] for line in _kind(kind, room)], width)


def _kind(kind: dict[str, Any], width: int) -> Iterator[Line]:
    yield from wrapped([(f"Kind {kind['name']}: {plain(kind['hardware'], 300)}", "heading")], width)
    for step in kind["steps"]:
        share = f"{'all' if step['count'] == step['of'] else step['count']} of {step['of']}"
        change = f"{step['term']}: {step['now'] or 'not known'} -> {step['wanted']}" if step["term"] else ""
        what = change or step["claim"] or step["title"]
        yield from wrapped([("[ ] ", ""), (printable(what), "title"), (f"   {share}: {step['nodes']}", "")], width, indent=4)
        for text in step["steps"]:
            yield from wrapped([(f"      {printable(text)}", "dim")], width, indent=6)
    if not kind["steps"]:
        yield (("    nothing is to be done", "good"),)
    yield ()
