"""Draws a fleet: the screen, one node, what nodes answered, pairs of nodes, golden nodes, steps, and the page in HTML."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import inf
from typing import Any

from rich.cells import cell_len

from advisor.advice.model.sheets import SEVERITIES
from advisor.fleet.fleet import ACTIONS, ANSWERS, Drift, Fleet, Incident, Silent, Since, Slow, Split, Wrong
from advisor.fleet.incidents import against_peers, amount
from advisor.machine.hosts.errands import expanded, folded
from advisor.machine.jinja import fill
from advisor.machine.units import count, plain, printable
from advisor.show import commandline
from advisor.show.commandline import word
from advisor.show.lines import Line, Page, cut, labelled, wrapped

SCHEMA = "advisor-fleet-audit/2"
LINES = 40
"""Of the whole screen: a terminal that is not small."""
_ROOM = 8
_WIDE = 130
"""Columns from which a line has room for a fix that says anything."""
_LONGEST = 2000


def fleet_document(fleet: Fleet) -> dict[str, Any]:
    """Return the document of ``advisor fleet audit --json``: node sets folded as text."""
    return {"schema": SCHEMA, **fleet.model_dump(mode="json")}


def fleet_page(fleet: Fleet, places: Sequence[str] = (), *, verbose: bool = False, width: int | None = None) -> Page:
    """Return the screen; with ``verbose`` every line of it. ``places`` are the folders or captures that were audited."""
    return Page(lambda room: fleet_lines(fleet, room, places, verbose=verbose), width)


def fleet_lines(fleet: Fleet, width: int, places: Sequence[str] = (), *, verbose: bool = False) -> list[Line]:
    """Return the lines: no section is left out, and the longest give way."""
    fleet = _with_labels(fleet)
    head = [*wrapped([(answered_text(fleet), "title")], width, indent=2)]
    numbered = list(enumerate(fleet.incidents, 1))
    wide = width >= _WIDE or verbose
    sections = [_section("KINDS", "title", _kinds(fleet, width, verbose=verbose))]
    for action in ACTIONS[:-1]:
        own = [(number, each) for number, each in numbered if each.action == action]
        sections.append(_section(action.upper(), _STYLES[action], _incidents(own, fixes=wide, whole=verbose)))
    sections.append(_section("INFO", "dim", _notes([row for row in numbered if row[1].action == ACTIONS[-1]], whole=verbose)))
    foot, following = list(_foot(fleet, width, verbose=verbose)), list(_next(fleet, places, width))
    shown = sections if verbose else _trimmed(sections, LINES - len(head) - len(foot) - len(following) - 1)
    body = [((f"{label:<{_ROOM}}", style), (text, "")) for label, style, text in (row for rows in shown for row in rows)]
    if verbose:
        lines = [line for row in body for line in wrapped(list(row), width, indent=_ROOM)]
    else:
        lines = [(label, (cut(text, width - _ROOM), style)) for label, (text, style) in body]
    return [*head, *lines, *_cut(foot, width), *following]


_STYLES: Mapping[str, str] = {"drain": "high", "ticket": "medium", "ask": "warn", "watch": "label"}
Row = tuple[str, str, str]
"""Label, its style, the text."""


def _section(label: str, style: str, texts: Sequence[str]) -> list[Row]:
    return [(label if at == 0 else "", style, printable(text[:_LONGEST])) for at, text in enumerate(texts)]


def _cut(lines: Iterable[Line], width: int) -> list[Line]:
    return [(label, (cut(text, width - _ROOM), style)) for label, (text, style) in lines]


def _trimmed(sections: list[list[Row]], room: int) -> list[list[Row]]:
    """Return the sections in so many lines: what the longest lose is counted; what is less urgent gives way before the rest."""
    kept = [len(rows) for rows in sections]
    weights = [1, 1, 2, 2, 4, 4]
    while sum(kept) > room and max(kept) > 2:
        shrinks = max(range(len(kept)), key=lambda at: (kept[at] > 2, kept[at] * weights[at]))
        kept[shrinks] -= 1
    return [_first(rows, most) for rows, most in zip(sections, kept, strict=True)]


def _first(rows: list[Row], most: int) -> list[Row]:
    if len(rows) <= most:
        return rows
    return [*rows[: most - 1], ("", "dim", f"... and {len(rows) - most + 1} more: --verbose")]


def answered_text(fleet: Fleet) -> str:
    """Return who answered and who did not, and why."""
    whys = _by_reason((plain(each.why, 60), each.node) for each in fleet.silent)
    said = ", ".join(f"{_names(nodes)} {why}" for why, nodes in sorted(whys.items(), key=_most))
    return f"{count(fleet.asked, 'node')} asked, {fleet.answered} answered" + (f" ({said})" if said else "")


def _by_reason(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return whom each reason is of."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for why, name in pairs:
        reasons[why].append(name)
    return reasons


def _most(reason: tuple[str, list[str]]) -> int:
    return -len(reason[1])


def excluded_text(fleet: Fleet) -> str:
    """Return how many nodes are left out and why: those with an incident, and those that did not answer."""
    silent = {each.node for each in fleet.silent}
    odd = [node for node in expanded(fleet.exclude) if node not in silent] if fleet.exclude else []
    return f"{count(len(odd), 'node')} with an incident that rules out jobs, {len(silent)} that did not answer"


def _names(nodes: Sequence[str]) -> str:
    return folded(nodes) if len(nodes) < 100 else f"{len(nodes)} nodes"


def _with_labels(fleet: Fleet) -> Fleet:
    """Return a fleet whose lines call each kind by as much of its name as tells it from the others, all equally long."""
    names = [kind.name.split("-") for kind in fleet.kinds]
    labels = {"": ""}
    for own in names:
        sizes = range(1, len(own) + 1)
        size = next((at for at in sizes if sum(each[:at] == own[:at] for each in names) == 1), len(own))
        labels["-".join(own)] = "-".join(own[:size])
    wide = max(map(len, labels.values()))
    return fleet.but(same=tuple(each.but(kind=f"{labels.get(each.kind, each.kind):<{wide}}") for each in fleet.same))


_LEAST = 40
"""Columns for what a kind is made of."""


def _kinds(fleet: Fleet, width: int, *, verbose: bool) -> list[str]:
    """Return what each kind is made of, and its nodes at the end of the line where there is room."""
    wide = max((len(kind.name) for kind in fleet.kinds), default=0)
    room, nodes = width - _ROOM - 10 - wide, min(30, max((len(kind.nodes) for kind in fleet.kinds), default=0))
    beside = verbose or room - nodes >= _LEAST
    room = max(_LEAST, room - nodes * beside)
    named = [plain(short(kind.hardware) or "hardware not known", _LONGEST) for kind in fleet.kinds]
    return [
        f"{kind.name:<{max(2, wide)}} {kind.count:>5}  {cut(name, room):<{room}}  {kind.nodes if beside else ''}".rstrip()
        for kind, name in zip(fleet.kinds, named, strict=True)
    ]


def short(hardware: str) -> str:
    """Return what a kind is made of without words that distinguish nothing."""
    return re.sub(r" (?:\d+-Core )?Processor|\((?:R|TM)\)|,? Inc\.|(?<=[\w)]) CPU(?= @)| @ [\d.]+GHz", "", hardware)


def _incidents(rows: Sequence[tuple[int, Incident]], *, fixes: bool, whole: bool) -> list[str]:
    """Return a line for each incident: its number, its nodes, the cause, what comes of it, what it costs, and one fix for all."""
    nodes = min(22, max((len(each.nodes) for _, each in rows), default=0))
    texts = []
    for number, each in rows:
        names = each.nodes if whole else cut(each.nodes, nodes)
        share = (
            f"{each.count:>5}"
            if each.count * 2 < each.of or not each.of
            else f"{'all' if each.count == each.of else each.count:>5}"
        )
        fix = f"  {plain(each.fix)}" if fixes and each.fix else ""
        texts.append(f"{number:>3} {share}  {names:<{nodes}}  {plain(each.text, 160)}{consequences(each)}{fix}")
    return texts


def consequences(each: Incident) -> str:
    """Return how much comes of a cause, and what it costs where that is known and not all of a node.

    >>> consequences(Incident(id="", action="watch", severity="low", nodes="n1", count=1, text="", rules=("a", "b"), lost=12))
    ': 2 findings, 12 node-hours per day'
    """
    facts = count(len(each.facts), "fact") if len(each.facts) > 1 else ""
    found = count(len(each.rules), "finding") if len(each.rules) > 1 or (each.rules and each.facts) else ""
    lost = f"{each.lost:g} node-hours per day" if each.lost and each.action != "drain" else ""
    said = ", ".join(filter(None, (facts, found, lost)))
    return f": {said}" if said else ""


def _notes(rows: Sequence[tuple[int, Incident]], *, whole: bool) -> list[str]:
    """Return what is no fault: in one line, unless all of it is wanted."""
    if whole or not rows:
        return _incidents(rows, fixes=False, whole=whole)
    span = f"{rows[0][0]}-{rows[-1][0]}" if len(rows) > 1 else f"{rows[0][0]}"
    return [f"{span:>3}  informational, not faults: {', '.join(dict.fromkeys(plain(each.text, 60) for _, each in rows))}"]


def _share(few: int, of: int) -> str:
    return f"{'all' if few == of else few:>5} of {of:<5}"


def slow_lines(slow: Sequence[Slow]) -> list[str]:
    """Return a line for each figure of each kind, with its slow nodes."""
    figures: dict[tuple[str, str, str | None], list[Slow]] = defaultdict(list)
    for each in slow:
        figures[each.kind, each.figure, each.explained].append(each)
    return [_late(own) for own in figures.values()]


def _late(own: Sequence[Slow]) -> str:
    worst = own[0]
    why = f", explained by {worst.explained}" if worst.explained else ", in both measurements" if worst.again else ""
    head = f"{worst.kind:<2} {_share(len(own), worst.among)} {worst.figure} {against_peers(worst)}"
    return f"{head}  {_names([each.node for each in own])}{why}"


def _foot(fleet: Fleet, width: int, *, verbose: bool) -> Iterator[Line]:
    same = "   ".join(
        f"{each.kind} {each.same} of {each.facts} facts the same on all nodes"
        + (f", {each.varied} identify the node or its DIMMs" if each.varied else "")
        for each in fleet.same[: None if verbose else 3]
    )
    yield ((f"{'SAME':<{_ROOM}}", "good"), (same, ""))
    if fleet.exclude:
        said, few = f"srun --exclude {fleet.exclude}", count(len(expanded(fleet.exclude)), "node")
        fits = verbose or len(said) <= width - _ROOM
        yield (
            (f"{'EXCLUDE':<{_ROOM}}", "label"),
            (said if fits else f"{few} should get no jobs: --exclude FILE lists them for srun --exclude", ""),
        )
    if fleet.begun:
        until = "" if fleet.ended in (None, fleet.begun) else f" to {fleet.ended}"
        yield ((f"{'AS OF':<{_ROOM}}", "label"), (f"{fleet.begun}{until}", ""))


_FEW = 3


def _next(fleet: Fleet, places: Sequence[str], width: int) -> Iterator[Line]:
    """Yield the command that shows the first fault in full, whole and to be copied; of many captures in words."""
    if all(each.action == ACTIONS[-1] for each in fleet.incidents):
        return
    label = (f"{'NEXT':<{_ROOM}}", "label")
    if not 0 < len(places) <= _FEW:
        yield label, ("fleet show 1 with the same captures shows the first incident in full", "")
        return
    command = commandline.folded(("advisor", "fleet", "show", "1", *places), width - _ROOM)
    for at, line in enumerate(command):
        shows = ": the first incident in full" if len(command) == 1 else ""
        yield (
            label if at == 0 else (" " * _ROOM, ""),
            (line, ""),
            (shows if cell_len(line + shows) <= width - _ROOM else "", "dim"),
        )


_ANSWERS_ROOM = 13
_LONGEST_WHY = 4000
_MOST_ANSWERS = 8


def captured_page(told: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what became of a fleet, from the document of it."""
    return Page(lambda room: list(_answer_lines(told, room)), width)


def _answer_lines(told: Mapping[str, Any], width: int) -> Iterator[Line]:
    silent = [Silent(node=each["node"], why=each["is"]) for each in told["silent"]]
    left = [Silent(node=name, why="not asked: interrupted") for name in told["not_asked"]]
    fleet = Fleet(asked=told["asked"], answered=told["answered"], silent=(*silent, *left))
    yield from wrapped([(answered_text(fleet), "title")], width)
    reasons: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in told["silent"]:
        reasons.setdefault((each["is"], each["why"] or "no reason reported"), []).append(each)
    firsts = dict(reversed(reasons))  # of each outcome one, however many there are
    named = [*firsts.items(), *(each for each in reasons if each not in firsts.items())][: max(_MOST_ANSWERS, len(firsts))]
    for is_, why in (each for each in reasons if each in named):
        nodes = reasons[is_, why]
        yield from labelled(
            is_, [(f"{plain(nodes[0]['node'])}{_more(len(nodes) - 1)}: {plain(why, 400)}", "")], width, _ANSWERS_ROOM
        )
        yield from labelled("  by hand", [(plain(nodes[0]["by_hand"], 400), "")], width, _ANSWERS_ROOM)
    folder = word(told["folder"])
    more = [plain(each["node"]) for key, nodes in reasons.items() if key not in named for each in nodes]
    if more:
        text = f"{folded(more)}, for other reasons: {folder}/{ANSWERS} lists them"
        yield from labelled("not shown", [(text, "")], width, _ANSWERS_ROOM)
    others = told["other_names"]
    if others:
        names = ", ".join(f"{plain(each['node'])} is {plain(each['seen_as'])}" for each in others[:_MOST_ANSWERS])
        yield from labelled("Other names", [(names + _more(len(others) - _MOST_ANSWERS), "medium")], width, _ANSWERS_ROOM)
    if told["answered"]:
        yield from labelled("Next", [(f"advisor fleet audit {folder}", "")], width, _ANSWERS_ROOM)
    if silent:
        yield from labelled("Again", [(f"advisor fleet capture --again failed -o {folder}", "")], width, _ANSWERS_ROOM)


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def measured_page(told: Mapping[str, Any], slow: Sequence[Slow], width: int | None = None) -> Page:
    """Return who was measured and who is slow in two runs, from the document of it."""
    return Page(lambda room: list(_measured_lines(told, slow, room)), width)


def _measured_lines(told: Mapping[str, Any], slow: Sequence[Slow], width: int) -> Iterator[Line]:
    yield from wrapped([(f"{count(told['asked'], 'node')} asked, {told['measured']} measured", "title")], width)
    for each in told.get("figures", ()):
        yield from labelled(each["figure"], [(_beside(each), "")], width, _ANSWERS_ROOM)
    yield from not_measured_lines(told["not_measured"], width)
    again = told["measured_again"]
    if again:
        named = {each.node for each in slow} | {each["node"] for each in told["not_measured"]}
        fine = [node for node in again if node not in named]
        said = f"{plain(folded(again), _LONGEST_WHY)}" + (
            f"; not slow when remeasured: {plain(folded(fine), _LONGEST_WHY)}" if fine else ""
        )
        yield from labelled("Again", [(said, "")], width, _ANSWERS_ROOM)
    for text in slow_lines(slow):
        yield from labelled("SLOW", [(plain(text, _LONGEST_WHY), "warn")], width, _ANSWERS_ROOM)
    if told["measured"]:
        yield from labelled("Next", [(f"advisor fleet audit {word(told['folder'])}", "")], width, _ANSWERS_ROOM)


def _beside(each: Mapping[str, Any]) -> str:
    """Return what is usual of a figure, and the nodes at both ends."""
    low, high = (choose(each["values"].items(), key=lambda item: item[1]) for choose in (min, max))
    ends = " to ".join(f"{amount(value, each['unit'])} ({plain(node)})" for node, value in (low, high))
    usual = amount(each["median"], each["unit"])
    return f"{each['kind']:<2} {count(len(each['values']), 'node')}, {usual} usually, {ends}; {each['about']}"


def not_measured_lines(told: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    """Yield why nodes were not measured, each reason once."""
    reasons = _by_reason((each["why"].replace(f"-w {each['node']} ", "-w NODES "), each["node"]) for each in told)
    for why, nodes in sorted(reasons.items(), key=_most)[:_MOST_ANSWERS]:
        names = plain(folded(nodes), _LONGEST_WHY)
        said = plain(why, 400).replace("-w NODES ", f"-w {word(names)} ")
        yield from labelled("Not measured", [(f"{names}: {said}", "")], width, _ANSWERS_ROOM)


_NODE_ROOM = 10


_FACTS = 3
"""Facts in which a node differs that are shown: the first is most likely the cause of the others."""


def wrong_page(each: Wrong, source: Sequence[str], width: int | None = None) -> Page:
    """Return a finding with all its nodes, and where the reasons are; ``source`` is how commands name the first of them."""

    def lines(room: int) -> list[Line]:
        head = f"{each.rule}: {plain(each.title)}"
        return [
            *wrapped([(head, "title"), (f"  ({each.severity})", each.severity)], room),
            *_node_row("Nodes", f"{each.count} of {each.of} of kind {each.kind}: {each.nodes}", room),
            *_node_row("Observed", each.claim, room),
            *_node_row("Fix", each.fix, room),
            *_node_row("Reasons", _command("advisor", "explain", each.rule, *source), room),
        ]

    return Page(lines, width)


def incident_page(each: Incident, claims: Sequence[str], source: Sequence[str], width: int | None = None) -> Page:
    """Return an incident with all its nodes, facts and findings; ``claims`` are what is observed on the first of them."""

    def lines(room: int) -> list[Line]:
        of = f" of {each.of}" if each.of else ""
        kind = f" of kind {each.kind}" if each.kind else ""
        lost = f"{each.lost:g} node-hours per day" if each.lost else ""
        return [
            *wrapped([(plain(each.text), "title"), (f"  ({each.action}, {each.severity})", each.severity)], room),
            *_node_row("Nodes", f"{each.count}{of}{kind}: {each.nodes}" if each.nodes else "", room),
            *_node_rows("Facts", map(plain, each.facts), room),
            *_node_rows("Observed", map(plain, claims), room),
            *_node_row("Costs", lost, room),
            *_node_row("Fix", plain(each.fix), room),
            *_node_rows("Reasons", (_command("advisor", "explain", rule, *source) for rule in each.rules if source), room),
            *_node_row("Id", plain(each.id), room),
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
            *(() if apart else [(("No difference from other nodes of its kind.", "good"),)]),
            *_node_rows(
                "Incident", (f"{each['number']} {each['action']}: {plain(each['text'])}" for each in told["incidents"]), room
            ),
            *_node_rows("Found", (f"{each['severity']} {each['rule']}: {each['claim']}" for each in own), room),
            *_node_rows("Drift", drift, room),
            *_node_rows("Split", (f"{each['fact']} {each['value']}" for each in told["split"]), room),
            *_node_rows("Slow", (_slow(each) for each in told["slow"]), room),
            *_node_rows("Odd", (f"{each['what']}: {each['why']}" for each in told["odd"]), room),
            *_node_row("Common", ", ".join(f"{each['severity']} {each['rule']}" for each in common), room),
            *_node_row("Compare", _command(*usual) if apart and usual else "", room),
            *_node_row("In full", _command("advisor", "audit", *source), room),
        ]

    return Page(lines, width)


def _command(*words: str) -> str:
    return " ".join(map(word, words))


def node_document(fleet: Fleet, node: str) -> dict[str, Any]:
    """Return what the screen says of a node, as plain values."""
    kind = next((each for each in fleet.kinds if node in expanded(each.nodes)), None)
    return {
        "schema": "advisor-fleet-show/2",
        "node": node,
        "kind": kind.name if kind else None,
        "hardware": kind.hardware if kind else "",
        "wrong": [
            _of(each, "rule", "severity", "title", "claim", "fix", "count", "of")
            for each in fleet.wrong
            if node in expanded(each.nodes)
        ],
        "incidents": [
            {"number": number, **_of(each, "id", "action", "severity", "text")}
            for number, each in enumerate(fleet.incidents, 1)
            if each.action != ACTIONS[-1] and each.nodes and (each.count * 2 <= each.of or not each.of)
            if node in expanded(each.nodes)
        ],
        "drift": [_of(each, "fact", "value", "majority") for each in fleet.drift if node in expanded(each.nodes)],
        "split": list(_populations(fleet.split, node)),
        "slow": [each.model_dump(mode="json") for each in fleet.slow if each.node == node],
        "odd": [_of(each, "what", "why") for each in fleet.odd if each.node == node],
    }


def wrong_document(each: Wrong | Incident) -> dict[str, Any]:
    """Return a finding with all its nodes."""
    return {"schema": "advisor-fleet-show/2", **each.model_dump(mode="json")}


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
    return f"{told.figure} {against_peers(told)}, of {count(told.among, 'node')}{why}"


def _node_row(label: str, text: str, width: int) -> list[Line]:
    return labelled(label, [(printable(" ".join(text.split())), "")], width, _NODE_ROOM) if text else []


def _node_rows(label: str, texts: Iterable[str], width: int) -> list[Line]:
    return [
        line
        for at, text in enumerate(texts)
        for line in labelled("" if at else label, [(printable(text), "")], width, _NODE_ROOM)
    ]


def golden_page(told: Sequence[Mapping[str, str]], width: int | None = None) -> Page:
    """Return what differs between two golden files."""

    def lines(room: int) -> list[Line]:
        rows = (f"{each['what']}: {plain(each['before'], 200)} -> {plain(each['after'], 200)}" for each in told)
        kinds = _by_reason(zip((each["kind"] for each in told), rows, strict=True))
        if not kinds:
            return [(("nothing differs", "good"),)]
        return [
            line
            for kind, own in kinds.items()
            for line in (*wrapped([(kind or "Waivers", "heading")], room), *(one for row in own for one in _row_in(row, room)))
        ]

    return Page(lines, width)


def _row_in(text: str, width: int) -> list[Line]:
    return [*wrapped([(f"  {printable(text)}", "")], width, indent=4)]


def since_page(found: Since, width: int | None = None) -> Page:
    """Return what became of a fleet since a day: appeared, flapping, healed, gone."""
    styles = {"appeared": "high", "flaps": "warn", "healed": "dim", "went": "good"}

    def lines(room: int) -> list[Line]:
        head = f"{found.since} to {found.until}: {count(found.snapshots, 'snapshot')}"
        made = list(wrapped([(head, "title")], room))
        for what, style in styles.items():
            for at, each in enumerate(each for each in found.changes if each.what == what):
                times = f", {each.changes} times" if each.what == "flaps" else ""
                seen = (
                    f"first {each.first}, last {each.last}"
                    if each.what != "appeared"
                    else f"between {each.after} and {each.until}"
                )
                said = f"{each.count:>5}  {each.nodes}  {plain(each.text, 160)} ({each.action}{times}; {seen})"
                made += labelled(what.upper() if at == 0 else "", [(printable(said), style)], room, _SINCE_ROOM)
        return made if found.changes else [*made, (("nothing changed", "good"),)]

    return Page(lines, width)


_SINCE_ROOM = 10
_Bad = tuple[Mapping[str, Any], Mapping[str, Any], str]
"""A figure, what is bad in it, and with whom."""
_PAIRS_ROOM = 13
_MOST_PAIRS = 12
"""Lines of one sort; the rest is counted."""


def pairs_page(told: Mapping[str, Any], width: int | None = None) -> Page:
    """Return what a fleet's pairs gave, from the document of it."""
    return Page(lambda room: list(_pairs_lines(told, room)), width)


def _pairs_lines(told: Mapping[str, Any], width: int) -> Iterator[Line]:
    pairs = sum(group["pairs"] for group in told["groups"])
    stopped = ", interrupted: no node singled out" if told["interrupted"] else ""
    again = sum(len(group["measured_again"]) for group in told["groups"])
    twice = f", {again} more to confirm" if again else ""
    head = f"{count(told['asked'], 'node')} asked, {told['measured']} measured in {count(pairs, 'pair')}{twice}{stopped}"
    yield from wrapped([(head, "title")], width)
    several = len(told["groups"]) > 1
    for group in told["groups"]:
        kind = f"{group['kind']}  " if several else ""
        yield from _bad(group, kind, width)
        for each in group["figures"]:
            span = f"{amount(each['least'], each['unit'])} to {amount(each['most'], each['unit'])}"
            text = f"{kind}{plain(each['figure'])}: {amount(each['median'], each['unit'])} usually, {span}"
            yield from labelled("Pairs", [(text, "")], width, _PAIRS_ROOM)
        if not told["interrupted"] and not group["judged"]:
            few = "too few pairs for a baseline: 8 needed" if group["pairs"] < 8 else "too few pairs produced a result"
            yield from labelled("Not judged", [(f"{kind}{few}", "medium")], width, _PAIRS_ROOM)
        yield from _no_result(group["no_result"], kind, width)
    yield from not_measured_lines(told["not_measured"], width)
    links = [each["pair"] for group in told["groups"] for figure in group["figures"] for each in figure["bad_links"]]
    if links:
        yield from labelled("Next", [(f"advisor measure network --hosts {','.join(links[0])}", "")], width, _PAIRS_ROOM)


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
        for name, own in list(found.items())[:_MOST_PAIRS]:
            yield from labelled(label, [(f"{kind}{plain(name)}: {_told(own)}", "warn")], width, _PAIRS_ROOM)
        if len(found) > _MOST_PAIRS:
            yield from labelled("", [(f"and {len(found) - _MOST_PAIRS} more bad {what}: --json", "warn")], width, _PAIRS_ROOM)
    if ends:
        names = ", ".join(map(plain, ends[:_MOST_PAIRS]))
        text = f"{kind}{names}: some links are bad, others are not; the cause may be the node or the fabric"
        yield from labelled("Not clear", [(text, "medium")], width, _PAIRS_ROOM)


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
    whys = (reduce(lambda text, node: text.replace(node, "NODE"), each["pair"], each["why"]) for each in found)
    reasons = _by_reason((why, " - ".join(each["pair"])) for why, each in zip(whys, found, strict=True))
    for why, pairs in sorted(reasons.items(), key=_most)[:3]:
        more = f" and {len(pairs) - 2} more" if len(pairs) > 2 else ""
        text = f"{kind}{plain(', '.join(pairs[:2]))}{more}: {plain(why, 300)}"
        yield from labelled("No result", [(text, "")], width, _PAIRS_ROOM)


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
        yield (("    nothing to do", "good"),)
    yield ()


def fleet_report(fleet: Fleet, template: str, style: str, about: Mapping[str, str]) -> str:
    """Return the page."""
    return fill(template, {**about, **_values(fleet), "style": style}, "fleet.html.j2")


def _values(fleet: Fleet) -> dict[str, Any]:
    numbered = [{"number": number, **each.model_dump()} for number, each in enumerate(fleet.wrong, 1)]
    rows, silent = _nodes(fleet), _by_reason((plain(each.why), each.node) for each in fleet.silent)
    return {
        "head": f"{count(fleet.asked, 'node')} asked, {fleet.answered} answered",
        "silent": [{"why": why, "nodes": folded(nodes)} for why, nodes in silent.items()],
        "asof": " to ".join(dict.fromkeys(filter(None, (fleet.begun, fleet.ended)))),
        "verdict": _verdict(fleet),
        "kinds": [
            {**kind.model_dump(), "hardware": plain(short(kind.hardware), 300), "rows": rows[kind.name]} for kind in fleet.kinds
        ],
        "matrix": _matrix(fleet),
        "incidents": [
            {"number": number, **each.model_dump(), "text": plain(each.text) + consequences(each)}
            for number, each in enumerate(fleet.incidents, 1)
            if each.action != ACTIONS[-1]
        ],
        "wrong": numbered,
        "tables": [table for table in _tables(fleet) if table["rows"]],
    }


def _verdict(fleet: Fleet) -> dict[str, str]:
    """Return what the page says first, in a word for its colour, and in words."""
    bad = {node for each in fleet.wrong if each.severity == "high" for node in expanded(each.nodes)}
    odd = {node for each in fleet.drift for node in expanded(each.nodes)} | {each.node for each in fleet.slow}
    split = (
        f"{count(len(fleet.split), 'fact')} {'differs' if len(fleet.split) == 1 else 'differ'} between nodes of the same kind"
        if fleet.split
        else ""
    )
    differ = f"nodes that differ from their kind or are slow: {len(odd)}" if odd or not split else ""
    facts = ", ".join(filter(None, (differ, split, f"{count(len(fleet.silent), 'node')} did not answer")))
    if bad:
        return {"kind": "bad", "head": f"{count(len(bad), 'node')} with a finding of severity high", "says": facts}
    kind = "little" if odd or fleet.split or fleet.silent else "good"
    return {"kind": kind, "head": "No finding of severity high", "says": facts}


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
        _drift_rows(fleet.drift),
        _table("split", "Split", "Two groups with different values: only the nodes' owner knows which one is intended.", split,
               ("fact", "kind", "value", "how many", "nodes")),
        _table("slow", "Slow", "Below the other nodes of its kind by more than their spread, and by enough to matter.", slow,
               ("node", "kind", "figure", "value", "median", "z", "explained by")),
        _table("odd", "Odd answers", "Used anyway.", odd, ("node", "what", "why")),
    ]  # fmt: skip


def _table(name: str, title: str, says: str, rows: Sequence[tuple[str, ...]], columns: tuple[str, ...]) -> dict[str, Any]:
    told = [{"cells": tuple(map(plain, row)), "more": ()} for row in rows]
    return {"id": name, "title": title, "says": says, "columns": columns, "rows": told}


def _drift_rows(drift: Sequence[Drift]) -> dict[str, Any]:
    """Return a row for each set of nodes: the fact that likely causes the others, and these behind it."""
    sets = _by_nodes(drift)
    first = [own[0] for own in sets]
    rows = [(each.fact, each.kind, each.value, each.majority, f"{each.count} of {each.of}", each.nodes) for each in first]
    columns = ("fact", "kind", "value", "all others", "how many", "nodes")
    table = _table("drift", "Drift", "Facts in which at most a tenth of the nodes of a kind differ from the rest.", rows, columns)
    for row, own in zip(table["rows"], sets, strict=True):
        row["more"] = [f"{each.fact} {plain(each.value, 60)} ({plain(each.majority, 60)} elsewhere)" for each in own[1:]]
    return table


def _by_nodes(drift: Sequence[Drift]) -> list[list[Drift]]:
    """Return what the same nodes of a kind differ in, together."""
    sets: dict[tuple[str, str], list[Drift]] = defaultdict(list)
    for each in drift:
        sets[each.kind, each.nodes].append(each)
    return [*sets.values()]


def _nodes(fleet: Fleet) -> dict[str, list[dict[str, Any]]]:
    """Return a row for each node of each kind: its findings, and in what it differs from its kind; odd ones first."""
    wrong: dict[str, list[int]] = defaultdict(list)
    odd: dict[str, list[str]] = defaultdict(list)
    for number, finding in enumerate(fleet.wrong, 1):
        for node in expanded(finding.nodes):
            wrong[node].append(number)
    for each in fleet.drift:
        for node in expanded(each.nodes):
            odd[node].append(f"{each.fact} {plain(each.value, 40)}")
    for late in fleet.slow:
        odd[late.node].append(f"slow: {late.figure}")

    def few(texts: list[str]) -> str:
        return ", ".join(texts[:4]) + (f", and {len(texts) - 4} more" if len(texts) > 4 else "")

    rows = {}
    for kind in fleet.kinds:
        own = [{"node": node, "wrong": wrong[node], "odd": few(odd[node])} for node in expanded(kind.nodes)]
        rows[kind.name] = sorted(own, key=lambda row: not row["odd"])
    return rows
