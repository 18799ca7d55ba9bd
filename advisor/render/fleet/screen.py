"""Draws a fleet on one screen: who answered, what is wrong, drifted, split and slow, each with a set of nodes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from advisor.language.units import count, duration, flop_rate, plain, printable, throughput
from advisor.model.fleet import Drift, Fleet, Silent, Slow, Split, Wrong
from advisor.model.node_sets import expanded, folded
from advisor.render.lines import Line, Page, cut, wrapped
from advisor.render.schema import DIALECT

SCHEMA: Final = "advisor-fleet-audit/1"
LINES: Final = 40
"""Of the whole screen: a terminal that is not small."""
_ROOM: Final = 8
_WIDE: Final = 130
"""Columns from which a line has room for a fix that says anything."""
_LONGEST: Final = 2000
_NODES: Final = 24
"""Letters of a set of nodes that a line keeps, whatever else is cut."""


def fleet_document(fleet: Fleet) -> dict[str, Any]:
    """Return the document of ``advisor fleet audit --json``: node sets folded as text."""
    return {"schema": SCHEMA, **fleet.model_dump(mode="json")}


def fleet_schema() -> dict[str, Any]:
    """Return the JSON schema of ``advisor fleet audit --json``."""
    made = Fleet.model_json_schema(mode="serialization")
    made["properties"] = {"schema": {"const": SCHEMA}, **made["properties"]}
    return {"$schema": DIALECT, **made, "title": SCHEMA, "required": list(made["properties"])}


def fleet_page(fleet: Fleet, *, verbose: bool = False, width: int | None = None) -> Page:
    """Return the screen; with ``verbose`` every line of it."""
    return Page(lambda room: fleet_lines(fleet, room, verbose=verbose), width)


def fleet_lines(fleet: Fleet, width: int, *, verbose: bool = False) -> list[Line]:
    """Return the lines: no section is left out, and the longest give way."""
    head = [*wrapped([(answered_text(fleet), "title")], width, indent=2)]
    sections = [
        _section("KINDS", "title", _kinds(fleet, width)),
        _section("WRONG", "high", _wrong(fleet.wrong, fixes=width >= _WIDE, whole=verbose)),
        _section("DRIFT", "warn", _drift(fleet.drift, _LONGEST if verbose else width - _ROOM)),
        _section("SPLIT", "warn", [_split(each) for each in fleet.split]),
        _section("SLOW", "warn", slow_lines(fleet.slow)),
        _section("ODD", "dim", [f"{each.what}: {plain(each.node)} {plain(each.why)}".strip() for each in fleet.odd]),
    ]
    foot = list(_foot(fleet, width, verbose=verbose))
    shown = sections if verbose else _trimmed(sections, LINES - len(head) - len(foot) - 1)
    body = [((f"{label:<{_ROOM}}", style), (text, "")) for label, style, text in (row for rows in shown for row in rows)]
    if verbose:
        return [*head, *(line for row in body for line in wrapped(list(row), width, indent=_ROOM)), *_cut(foot, width)]
    return [*head, *((label, (cut(text, width - _ROOM), style)) for label, (text, style) in body), *_cut(foot, width)]


Row = tuple[str, str, str]
"""Label, its style, the text."""


def _section(label: str, style: str, texts: Sequence[str]) -> list[Row]:
    return [(label if at == 0 else "", style, printable(text[:_LONGEST])) for at, text in enumerate(texts)]


def _cut(lines: Iterable[Line], width: int) -> list[Line]:
    return [(label, (cut(text, width - _ROOM), style)) for label, (text, style) in lines]


def _trimmed(sections: list[list[Row]], room: int) -> list[list[Row]]:
    """Return the sections in so many lines: what the longest lose is counted."""
    kept = [len(rows) for rows in sections]
    while sum(kept) > room and max(kept) > 2:
        kept[kept.index(max(kept))] -= 1
    return [_first(rows, most) for rows, most in zip(sections, kept, strict=True)]


def _first(rows: list[Row], most: int) -> list[Row]:
    if len(rows) <= most:
        return rows
    return [*rows[: most - 1], ("", "dim", f"... and {len(rows) - most + 1} more: --verbose")]


def answered_text(fleet: Fleet) -> str:
    """Return who answered and who did not, and why."""
    by_reason = defaultdict[str, list[str]](list)
    for each in fleet.silent:
        by_reason[plain(each.why, 60)].append(each.node)
    whys = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    said = ", ".join(f"{_names(nodes)} {why}" for why, nodes in whys)
    return f"{count(fleet.asked, 'node')} asked, {fleet.answered} answered" + (f" ({said})" if said else "")


def excluded_text(fleet: Fleet) -> str:
    """Return how many nodes are left out and why: those that differ or are slow, and those that did not answer."""
    silent = {each.node for each in fleet.silent}
    odd = [node for node in expanded(fleet.exclude) if node not in silent] if fleet.exclude else []
    return f"{count(len(odd), 'node')} that differ from their kind or are slow, {len(silent)} that did not answer"


def _names(nodes: Sequence[str]) -> str:
    return folded(nodes) if len(nodes) < 100 else f"{len(nodes)} nodes"


def _kinds(fleet: Fleet, width: int) -> list[str]:
    """Return what each kind is made of, and its nodes at the end of the line, as far as there is room."""
    room = max(40, width - _ROOM - 12 - min(30, max((len(kind.nodes) for kind in fleet.kinds), default=0)))
    named = [plain(short(kind.hardware) or "hardware not known", _LONGEST) for kind in fleet.kinds]
    return [
        f"{kind.name:<2} {kind.count:>5}  {cut(name, room):<{room}}  {kind.nodes}"
        for kind, name in zip(fleet.kinds, named, strict=True)
    ]


def short(hardware: str) -> str:
    """Return what a kind is made of without words that distinguish nothing."""
    return re.sub(r" (?:\d+-Core )?Processor|\((?:R|TM)\)|,? Inc\.|(?<=[\w)]) CPU(?= @)| @ [\d.]+GHz", "", hardware)


def _wrong(wrong: Sequence[Wrong], *, fixes: bool, whole: bool) -> list[str]:
    """Return a line for each finding of each kind: its number, how many, how bad, which rule, which nodes, one fix for all."""
    rule, nodes = (_widest((getattr(each, name) for each in wrong), most) for name, most in (("rule", 34), ("nodes", 22)))
    return [
        f"{number:>2} {each.kind:<2} {_share(each.count, each.of)} {each.severity:<6} {each.rule:<{rule}}  "
        + (each.nodes if whole or not fixes else f"{cut(each.nodes, nodes):<{nodes}}")
        + (f"  {plain(each.fix)}" if whole or fixes else "")
        for number, each in enumerate(wrong, 1)
    ]


def _share(few: int, of: int) -> str:
    return f"{'all' if few == of else few:>5} of {of:<5}"


def _widest(texts: Iterable[str], most: int) -> int:
    return min(most, max(map(len, texts), default=0))


def _drift(drift: Sequence[Drift], room: int) -> list[str]:
    """Return a text for each set of nodes: what they differ in first, and how much else; the nodes are at the end of each."""
    sets: dict[tuple[str, str], list[Drift]] = defaultdict(list)
    for each in drift:
        sets[each.kind, each.nodes].append(each)
    texts = []
    for (kind, nodes), own in sets.items():
        first = own[0]
        more = f" and {count(len(own) - 1, 'other fact')}" if len(own) > 1 else ""
        told = f"{first.fact} {plain(first.value, 40)} ({first.of - first.count} have {plain(first.majority, 40)})"
        share = f"{kind:<2} {_share(first.count, first.of)} "
        if room - len(share) - len(more) < 2 * _NODES:
            more = ""
        names = cut(nodes, max(_NODES, room - len(share) - len(told) - len(more) - 2))
        texts.append(f"{share}{cut(told, room - len(share) - len(more) - len(names) - 2)}{more}  {names}")
    return texts


def _split(each: Split) -> str:
    told = ", ".join(f"{one.count} {plain(one.value, 30)} {one.nodes}" for one in each.populations[:4])
    return f"{each.kind:<2} {each.fact}: {told}: which is meant?"


def slow_lines(slow: Sequence[Slow]) -> list[str]:
    """Return a line for each figure of each kind, with its slow nodes."""
    figures: dict[tuple[str, str, str | None], list[Slow]] = defaultdict(list)
    for each in slow:
        figures[each.kind, each.figure, each.explained].append(each)
    return [_late(own) for own in figures.values()]


def _late(own: Sequence[Slow]) -> str:
    worst = own[0]
    why = f", explained by {worst.explained}" if worst.explained else ", in both measurements" if worst.again else ""
    told = f"{amount(worst.value, worst.unit)}, median {amount(worst.median, worst.unit)} (z {worst.z:g})"
    return f"{worst.kind:<2} {_share(len(own), worst.among)} {worst.figure} {told}  {_names([each.node for each in own])}{why}"


def amount(value: float, unit: str) -> str:
    """Return a figure in its unit."""
    write = {"bytes/s": throughput, "flop/s": flop_rate, "seconds": duration}.get(unit)
    return write(value) if write else f"{value:.4g} {unit}"


def _foot(fleet: Fleet, width: int, *, verbose: bool) -> Iterator[Line]:
    same = "   ".join(
        f"{each.kind} {each.same} of {each.facts} facts the same on all"
        + (f", {each.varied} name the node" if each.varied else "")
        for each in fleet.same[: None if verbose else 3]
    )
    yield ((f"{'SAME':<{_ROOM}}", "good"), (same, ""))
    if fleet.exclude:
        said, few = f"srun --exclude {fleet.exclude}", count(len(expanded(fleet.exclude)), "node")
        fits = verbose or len(said) <= width - _ROOM
        yield (
            (f"{'EXCLUDE':<{_ROOM}}", "label"),
            (said if fits else f"{few}: --exclude FILE writes them for srun --exclude", ""),
        )
    if fleet.begun:
        until = "" if fleet.ended in (None, fleet.begun) else f" to {fleet.ended}"
        yield ((f"{'AS OF':<{_ROOM}}", "label"), (f"{fleet.begun}{until}", ""))
    if fleet.wrong:
        yield (
            (f"{'NEXT':<{_ROOM}}", "label"),
            ("advisor fleet show 1 DIR: the first in full, with every node", ""),
        )


def silent_text(silent: Sequence[Silent]) -> str:
    """Return those who did not answer, folded by why."""
    return answered_text(Fleet(asked=len(silent), answered=0, silent=tuple(silent)))
