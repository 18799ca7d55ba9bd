"""Draws one line of a fleet's screen in full, or everything that the screen says of one node."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from advisor.language.units import count, plain, printable
from advisor.model.fleet import Drift, Fleet, Slow, Split, Wrong
from advisor.model.node_sets import expanded
from advisor.render.commandline import word
from advisor.render.fleet.screen import amount, short
from advisor.render.lines import Line, Page, labelled, wrapped

_ROOM = 10


_FACTS: Final = 3
"""Facts in which a node differs that are shown: the first is most likely the cause of the others."""


def wrong_page(each: Wrong, source: Sequence[str], width: int | None = None) -> Page:
    """Return a finding with all its nodes, and where the reasons are; ``source`` is how commands name the first of them."""

    def lines(room: int) -> list[Line]:
        head = f"{each.rule}: {plain(each.title)}"
        return [
            *wrapped([(head, "title"), (f"  ({each.severity})", each.severity)], room),
            *_row("Nodes", f"{each.count} of {each.of} of kind {each.kind}: {each.nodes}", room),
            *_row("So is", each.claim, room),
            *_row("Fix", each.fix, room),
            *_row("Reasons", _command("advisor", "explain", each.rule, *source), room),
        ]

    return Page(lines, width)


def node_page(told: dict[str, Any], source: Sequence[str], usual: Sequence[str] = (), width: int | None = None) -> Page:
    """Return what sets a node apart, then what it has in common with most of its kind, from the document of it.

    ``source`` is how commands name its capture; ``usual`` the command that compares it with a node of which nothing is odd.
    """
    own = [each for each in told["wrong"] if each["count"] * 2 <= each["of"]]
    common = [each for each in told["wrong"] if each not in own]
    drift = [f"{each['fact']} {each['value']} ({each['majority']} elsewhere)" for each in told["drift"]]
    if len(drift) > _FACTS + 1:
        drift = [*drift[:_FACTS], f"and {len(drift) - _FACTS} other facts"]
    apart = own or any(told[name] for name in ("drift", "split", "slow", "odd"))

    def lines(room: int) -> list[Line]:
        return [
            *wrapped(
                [(f"{plain(told['node'])}, kind {told['kind']}: {plain(short(told['hardware']))}", "title")], room, indent=2
            ),
            *(() if apart else [(("Nothing sets it apart from its kind.", "good"),)]),
            *_rows("Wrong", (f"{each['severity']} {each['rule']}: {each['claim']}" for each in own), room),
            *_rows("Drift", drift, room),
            *_rows("Split", (f"{each['fact']} {each['value']}" for each in told["split"]), room),
            *_rows("Slow", (_slow(each) for each in told["slow"]), room),
            *_rows("Odd", (f"{each['what']}: {each['why']}" for each in told["odd"]), room),
            *_row("As most", ", ".join(f"{each['severity']} {each['rule']}" for each in common), room),
            *_row("Compare", _command(*usual) if apart and usual else "", room),
            *_row("In full", _command("advisor", "audit", *source), room),
        ]

    return Page(lines, width)


def _command(*words: str) -> str:
    return " ".join(map(word, words))


def node_document(fleet: Fleet, node: str) -> dict[str, Any]:
    """Return what the screen says of a node, as plain values."""
    kind = next((each for each in fleet.kinds if node in expanded(each.nodes)), None)
    return {
        "schema": "advisor-fleet-show/1",
        "node": node,
        "kind": kind.name if kind else None,
        "hardware": kind.hardware if kind else "",
        "wrong": [
            _of(each, "rule", "severity", "title", "claim", "fix", "count", "of")
            for each in fleet.wrong
            if node in expanded(each.nodes)
        ],
        "drift": [_of(each, "fact", "value", "majority") for each in fleet.drift if node in expanded(each.nodes)],
        "split": list(_populations(fleet.split, node)),
        "slow": [each.model_dump(mode="json") for each in fleet.slow if each.node == node],
        "odd": [_of(each, "what", "why") for each in fleet.odd if each.node == node],
    }


def wrong_document(each: Wrong) -> dict[str, Any]:
    """Return a finding with all its nodes."""
    return {"schema": "advisor-fleet-show/1", **each.model_dump(mode="json")}


def _of(each: Wrong | Drift | Any, *names: str) -> dict[str, Any]:
    return {name: getattr(each, name) for name in names}


def _populations(split: Iterable[Split], node: str) -> Iterator[dict[str, Any]]:
    for each in split:
        for one in each.populations:
            if node in expanded(one.nodes):
                yield {"fact": each.fact, "value": one.value, "count": one.count}


def _slow(each: dict[str, Any]) -> str:
    why = f", explained by {each['explained']}" if each["explained"] else ""
    told = Slow.model_validate(each)
    usual = f"median of {count(told.among, 'node')} {amount(told.median, told.unit)}"
    return f"{told.figure} {amount(told.value, told.unit)}, {usual} (z {told.z:g}){why}"


def _row(label: str, text: str, width: int) -> list[Line]:
    return labelled(label, [(printable(" ".join(text.split())), "")], width, _ROOM) if text else []


def _rows(label: str, texts: Iterable[str], width: int) -> list[Line]:
    return [
        line for at, text in enumerate(texts) for line in labelled("" if at else label, [(printable(text), "")], width, _ROOM)
    ]
