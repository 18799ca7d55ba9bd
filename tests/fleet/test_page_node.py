"""A node of a fleet, or a line of its screen, on a page: what sets a node apart comes first."""

from typing import Any

from advisor.fleet.fleet import Drift, Fleet, Incident, Kind, Wrong
from advisor.fleet.page import incident_page, node_document, node_page, wrong_page
from tests.printing import printed

NODES = "n[01-40]"


def wrong(rule: str, nodes: str, count: int, severity: Any = "low") -> Wrong:
    """Return a finding of some of forty nodes."""
    return Wrong(rule=rule, severity=severity, kind="A", nodes=nodes, count=count, of=40, title=f"{rule}!", claim=f"{rule} is so")


FLEET = Fleet(
    asked=40,
    answered=40,
    kinds=(Kind(name="A", hardware="Dell Inc. C6525, 2 x AMD EPYC 7702 64-Core Processor", nodes=NODES, count=40),),
    wrong=(wrong("port-down", "n07", 1, "high"), wrong("swappiness", NODES, 40)),
    drift=tuple(
        Drift(fact=f"fact.{at}", kind="A", majority="1", value="0", nodes=nodes, count=1, of=40)
        for nodes, facts in (("n07", range(2)), ("n09", range(9)))
        for at in facts
    ),
)
INCIDENTS = (
    Incident(id="A/port-down/1", action="drain", severity="high", kind="A", nodes="n07", count=1, of=40, text="port 1 down"),
)
SOURCE = ("--from", "f/n07.tar.gz", "--bios", "f/n07.bios.json")


def page(node: str, *usual: str) -> list[str]:
    """Return the lines of a node's page."""
    return printed(
        node_page(node_document(FLEET.model_copy(update={"incidents": INCIDENTS}), node), SOURCE, usual, 100)
    ).splitlines()


def test_what_a_node_has_alone_comes_before_what_most_of_its_kind_have() -> None:
    """The finding of its own in words, the others by their rules in one line; then the commands that go on."""
    assert page("n07", "advisor", "compare", "n01", "n07", "f") == [
        "n07, kind A: Dell C6525, 2 x AMD EPYC 7702",
        "Incident  1 drain: port 1 down",
        "Found     high port-down: port-down is so",
        "Drift     fact.0 0 (1 elsewhere)",
        "          fact.1 0 (1 elsewhere)",
        "Common    low swappiness",
        "Compare   advisor compare n01 n07 f",
        "In full   advisor audit --from f/n07.tar.gz --bios f/n07.bios.json",
    ]


def test_of_many_facts_the_first_are_shown_and_the_others_counted() -> None:
    """A card in another slot is another in twenty facts: the first causes the others."""
    assert [line.split() for line in page("n09") if "fact" in line][-2:] == [
        ["fact.2", "0", "(1", "elsewhere)"],
        ["and", "6", "other", "facts"],
    ]


def test_a_node_like_its_kind_has_that_said() -> None:
    """One line, and nothing to compare it with."""
    assert page("n01", "advisor", "compare", "n02", "n01", "f")[1:3] == [
        "No difference from other nodes of its kind.",
        "Common    low swappiness",
    ]


def test_a_finding_names_all_its_nodes_and_where_its_reasons_are() -> None:
    """With the first node's capture, and the BIOS beside it."""
    text = printed(wrong_page(FLEET.wrong[1], SOURCE, 100))
    assert ("40 of 40 of kind A: n[01-40]" in text, f"explain swappiness {' '.join(SOURCE)}" in text) == (True, True)


def test_an_incident_has_its_nodes_facts_findings_and_id() -> None:
    """Everything behind one line of the screen."""
    each = INCIDENTS[0].model_copy(update={"facts": ("a 1, 0 elsewhere", "b there"), "rules": ("port-down",), "lost": 24.0})
    assert printed(incident_page(each, ("port-down: it is",), ("--from", "f"), 100)).splitlines() == [
        "port 1 down  (drain, high)",
        "Nodes     1 of 40 of kind A: n07",
        "Facts     a 1, 0 elsewhere",
        "          b there",
        "Observed  port-down: it is",
        "Costs     24 node-hours per day",
        "Reasons   advisor explain port-down --from f",
        "Id        A/port-down/1",
    ]
