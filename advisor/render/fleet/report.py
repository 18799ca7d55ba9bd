"""A fleet as one page for a browser: the matrix of kinds and findings, what drifted, split and is slow, and every node."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from advisor.language.units import count, plain
from advisor.model.audit.rule import SEVERITIES
from advisor.model.fleet import Drift, Fleet, Wrong
from advisor.model.node_sets import expanded, folded
from advisor.render.fleet.screen import amount, short
from advisor.render.jinja import fill


def fleet_report(fleet: Fleet, template: str, style: str, about: Mapping[str, str]) -> str:
    """Return the page."""
    return fill(template, {**about, **_values(fleet), "style": style}, "fleet.html.j2")


def _values(fleet: Fleet) -> dict[str, Any]:
    numbered = [{"number": number, **each.model_dump()} for number, each in enumerate(fleet.wrong, 1)]
    rows = _nodes(fleet)
    return {
        "head": f"{count(fleet.asked, 'node')} asked, {fleet.answered} answered",
        "silent": _silent(fleet),
        "asof": " to ".join(dict.fromkeys(filter(None, (fleet.begun, fleet.ended)))),
        "verdict": _verdict(fleet),
        "kinds": [
            {**kind.model_dump(), "hardware": plain(short(kind.hardware), 300), "rows": rows[kind.name]} for kind in fleet.kinds
        ],
        "matrix": _matrix(fleet),
        "wrong": numbered,
        "tables": [table for table in _tables(fleet) if table["rows"]],
    }


def _silent(fleet: Fleet) -> list[dict[str, str]]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for each in fleet.silent:
        reasons[plain(each.why)].append(each.node)
    return [{"why": why, "nodes": folded(nodes)} for why, nodes in reasons.items()]


def _verdict(fleet: Fleet) -> dict[str, str]:
    """Return what the page says first, in a word for its colour, and in words."""
    bad = {node for each in fleet.wrong if each.severity == "high" for node in expanded(each.nodes)}
    odd = {node for each in fleet.drift for node in expanded(each.nodes)} | {each.node for each in fleet.slow}
    facts = f"{count(len(odd), 'node')} differ from their kind or are slow, {len(fleet.silent)} did not answer"
    if bad:
        return {"kind": "bad", "head": f"{count(len(bad), 'node')} with a finding of severity high", "says": facts}
    return {"kind": "little" if odd or fleet.silent else "good", "head": "No finding of severity high", "says": facts}


def _matrix(fleet: Fleet) -> list[dict[str, Any]]:
    """Return a row for each rule, with a cell for each kind."""
    cells: dict[str, dict[str, tuple[int, Wrong]]] = defaultdict(dict)
    for number, each in enumerate(fleet.wrong, 1):
        cells[each.rule][each.kind] = (number, each)
    rows = []
    for rule, own in cells.items():
        first = next(iter(own.values()))[1]
        row = [own.get(kind.name) for kind in fleet.kinds]
        told = [cell and {"number": cell[0], "count": f"{cell[1].count}"} for cell in row]
        rows.append({"rule": rule, "severity": first.severity, "cells": told})
    return sorted(rows, key=lambda row: SEVERITIES.index(row["severity"]))


def _tables(fleet: Fleet) -> list[dict[str, Any]]:
    """Return what drifted, split, is slow and odd, as tables."""
    split = [(each.fact, each.kind, one.value, str(one.count), one.nodes) for each in fleet.split for one in each.populations]
    slow = [
        (each.node, each.kind, each.figure, amount(each.value, each.unit), amount(each.median, each.unit), f"{each.z:g}",
         each.explained or "") for each in fleet.slow
    ]  # fmt: skip
    odd = [(each.node or "-", each.what, each.why) for each in fleet.odd]
    return [
        _drift(fleet.drift),
        _table("split", "Split", "Two populations: only their owner knows which is meant.", split,
               ("fact", "kind", "value", "how many", "nodes")),
        _table("slow", "Slow", "Far below the nodes of its kind by their own spread, and by so much that it matters.", slow,
               ("node", "kind", "figure", "value", "median", "z", "explained by")),
        _table("odd", "Odd answers", "Used all the same.", odd, ("node", "what", "why")),
    ]  # fmt: skip


def _table(name: str, title: str, says: str, rows: Sequence[tuple[str, ...]], columns: tuple[str, ...]) -> dict[str, Any]:
    told = [{"cells": tuple(map(plain, row)), "more": ()} for row in rows]
    return {"id": name, "title": title, "says": says, "columns": columns, "rows": told}


def _drift(drift: Sequence[Drift]) -> dict[str, Any]:
    """Return a row for each set of nodes: the fact that likely causes the others, and these behind it."""
    sets: dict[tuple[str, str], list[Drift]] = defaultdict(list)
    for each in drift:
        sets[each.kind, each.nodes].append(each)
    first = [own[0] for own in sets.values()]
    rows = [(each.fact, each.kind, each.value, each.majority, f"{each.count} of {each.of}", each.nodes) for each in first]
    columns = ("fact", "kind", "value", "the rest has", "how many", "nodes")
    table = _table("drift", "Drift", "At most a tenth of a kind has another value than the rest.", rows, columns)
    for row, own in zip(table["rows"], sets.values(), strict=True):
        row["more"] = [f"{each.fact} {plain(each.value, 60)} ({plain(each.majority, 60)} elsewhere)" for each in own[1:]]
    return table


def _nodes(fleet: Fleet) -> dict[str, list[dict[str, Any]]]:
    """Return a row for each node of each kind: its findings, and in what it differs from its kind; odd ones first."""
    wrong: dict[str, list[int]] = defaultdict(list)
    odd: dict[str, list[str]] = defaultdict(list)
    for number, finding in enumerate(fleet.wrong, 1):
        _note(wrong, finding.nodes, number)
    for each in fleet.drift:
        _note(odd, each.nodes, f"{each.fact} {plain(each.value, 40)}")
    for late in fleet.slow:
        odd[late.node].append(f"slow: {late.figure}")
    rows = {}
    for kind in fleet.kinds:
        own = [{"node": node, "wrong": wrong[node], "odd": _few(odd[node])} for node in expanded(kind.nodes)]
        rows[kind.name] = sorted(own, key=lambda row: not row["odd"])
    return rows


def _note(noted: dict[str, list[Any]], nodes: str, what: Any) -> None:
    for node in expanded(nodes):
        noted[node].append(what)


def _few(texts: Iterable[str]) -> str:
    every = list(texts)
    return ", ".join(every[:4]) + (f", and {len(every) - 4} more" if len(every) > 4 else "")
