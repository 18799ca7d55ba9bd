"""The screen of a thousand nodes fits 40 lines of 100 columns, and says first who answered."""

import json
import re

import pytest

from advisor.fleet.fleet import Drift, Fleet, Incident, Kind, Population, Same, Silent, Slow, Split, Wrong
from advisor.fleet.page import LINES, excluded_text, fleet_document, fleet_lines, fleet_report
from advisor.paths import template
from advisor.show.lines import text_of, width_of
from docs.schemas import fleet_schema


def large(sets: int = 30) -> Fleet:
    """Return a screen with more of everything than it has room for."""
    kinds = tuple(Kind(name=name, hardware=f"Dell {name}", nodes="n[0001-0250]", count=250) for name in "ABCD")
    node = [f"n{at:04}" for at in range(sets)]
    wrong = (Wrong(rule=f"rule-{at}", severity="high", kind="A", nodes=node[at], count=1, of=250) for at in range(sets))
    drift = (Drift(fact=f"fact{at}", kind="A", majority="a", value="b", nodes=node[at], count=1, of=250) for at in range(sets))
    sides = (Population(value="on", nodes="n[1-20]", count=20), Population(value="off", nodes="n[21-40]", count=20))
    actions = ("drain", "ticket", "ask", "watch", "ignore")
    incidents = (
        Incident(
            id=f"A/rule-{at}/", action=action, severity="high", kind="A", nodes=node[at], count=1, of=250, text=f"{action} {at}"
        )
        for action in actions
        for at in range(sets)
    )
    slow = (Slow(figure=f"f{at}", node=node[at], value=1e9, median=2e9, z=-9, kind="A", unit="bytes/s") for at in range(sets))
    return Fleet(
        asked=1000,
        answered=994,
        silent=tuple(Silent(node=f"n{at:04}", why="timed out" if at % 2 else "no route") for at in range(994, 1000)),
        kinds=kinds,
        wrong=tuple(wrong),
        drift=tuple(drift),
        split=tuple(Split(fact=f"s{at}", kind="C", populations=sides) for at in range(sets)),
        slow=tuple(slow),
        incidents=tuple(incidents),
        same=tuple(Same(kind=kind.name, same=412, facts=418) for kind in kinds),
        exclude="n[0001-0054]",
        begun="2026-01-31T06:10:00Z",
        ended="2026-01-31T06:12:00Z",
    )


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_screen_fits(width: int) -> None:
    """40 lines, none wider than the terminal, and no section is lost."""
    lines = fleet_lines(large(), width)
    heads = [label for line in lines if (label := text_of(line)[:7].strip()).isupper()]
    assert (len(lines) <= LINES, max(map(width_of, lines)) <= width) == (True, True)
    assert heads == ["KINDS", "DRAIN", "TICKET", "ASK", "WATCH", "INFO", "SAME", "EXCLUDE", "AS OF", "NEXT"]


def test_the_first_line_says_who_answered_and_who_did_not_and_why() -> None:
    """Node sets, folded by the reason."""
    first = text_of(fleet_lines(large(), 160)[0])
    assert first == "1000 nodes asked, 994 answered (n[0994,0996,0998] no route, n[0995,0997,0999] timed out)"


def test_verbose_leaves_nothing_out() -> None:
    """Every incident has its line."""
    text = "\n".join(text_of(line) for line in fleet_lines(large(), 100, verbose=True))
    assert [each.text for each in large().incidents if f" {each.text}" not in text] == []


def test_what_is_less_urgent_gives_way_first() -> None:
    """Of thirty of each there are more lines to drain than tickets, and more tickets than what may wait."""
    lines = [text_of(line) for line in fleet_lines(large(), 100)]
    shown = [sum(f" {action} " in line and "n0" in line for line in lines) for action in ("drain", "ticket", "watch")]
    assert (shown, shown[0] > shown[1] > shown[2] > 0) == (sorted(shown, reverse=True), True)


def test_verbose_shows_every_node() -> None:
    """A long set of nodes is not cut to make room for the fix."""
    nodes = ",".join(f"n{at}" for at in range(1, 99, 2))
    each = Incident(id="r", action="watch", severity="low", kind="A", nodes=nodes, count=49, of=99, text="r", fix="set it")
    fleet = Fleet(asked=99, answered=99, incidents=(each,))
    text = "".join(text_of(line).strip() for line in fleet_lines(fleet, 160, verbose=True))
    assert (nodes in text, "set it" in text) == (True, True)


def test_the_document_follows_its_schema() -> None:
    """What --json prints is what the published schema says."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(json.dumps(fleet_document(large()))), fleet_schema())


def test_names_from_outside_run_nothing_on_the_page() -> None:
    """A node's product and a reason may hold anything."""
    evil = '"><script>alert(1)</script>'
    fleet = large(2).model_copy(
        update={
            "kinds": (Kind(name="A", hardware=evil, nodes="n[1-2]", count=2),),
            "silent": (Silent(node="n3", why=evil),),
            "drift": (Drift(fact=evil, kind="A", majority=evil, value=evil, nodes="n1", count=1, of=2),),
        }
    )
    about = {"scope": "mpi", "version": "0", "made": "now"}
    page = fleet_report(fleet, template("report/fleet.html.j2"), template("report/style.css"), about)
    assert ("<script" in page, "&lt;script" in page) == (False, True)


def test_whom_the_exclude_list_leaves_out_is_counted_by_why() -> None:
    """Of three nodes two differ, and one did not answer; of none there is none."""
    fleet = Fleet(asked=9, answered=8, exclude="n[1-3]", silent=(Silent(node="n2", why="no route"),))
    said = [excluded_text(each) for each in (fleet, Fleet(asked=1, answered=1))]
    assert said == [
        "2 nodes with an incident that rules out jobs, 1 that did not answer",
        "0 nodes with an incident that rules out jobs, 0 that did not answer",
    ]


def test_a_page_has_a_row_for_each_set_that_drifted_and_the_other_facts_behind_it() -> None:
    """A card in another slot is one row, not twenty: who opens it finds every fact."""
    own = {"kind": "A", "majority": "1", "value": "0", "count": 1, "of": 40}
    drift = [Drift(fact=f"fact.{at}", nodes="n3" if at < 7 else "n4", **own) for at in range(8)]
    about = {"scope": "mpi", "version": "0", "made": "now"}
    fleet = Fleet(asked=40, answered=40, drift=tuple(drift))
    page = fleet_report(fleet, template("report/fleet.html.j2"), template("report/style.css"), about)
    heads = re.findall(r'<th scope="row">(fact\.\d)</th>', page)
    assert (heads, re.findall(r"<li>(fact\.\d) 0 \(1 elsewhere\)</li>", page)) == (
        ["fact.0", "fact.7"],
        [f"fact.{at}" for at in range(1, 7)],
    )
    assert "<summary>and 6 other facts</summary>" in page


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_an_incident_keeps_its_nodes_however_narrow(width: int) -> None:
    """The text gives way: who it is comes before it."""
    each = Incident(id="", action="ticket", severity="low", kind="A", nodes="n[00015,00171]", count=2, of=177, text="x" * 200)
    lines = [text_of(line) for line in fleet_lines(Fleet(asked=177, answered=177, incidents=(each,)), width)]
    (line,) = (line for line in lines if "TICKET" in line)
    assert ("n[00015,00171]  xxx" in line, len(line) <= width) == (True, True)
