from typing import Any

from advisor.advice.audit_page.explain import rule_page
from advisor.advice.model.sheets import Publication, RuleText

GIVEN: dict[str, Any] = {
    "id": "x-y",
    "title": "A title",
    "severity": "low",
    "each": "node in nodes",
    "let": {"most": "2"},
    "only": "cpu.boost",
    "when": "node.memory < most",
    "say": "node {node.index} is small",
    "why": "It is so.",
    "cost": {"gain": "0.13", "of": "triad", "basis": "published", "ref": "paper"},
    "set": {"numa.nps": "4"},
    "check": "numactl -H",
    "spare": "When it is small.",
    "guides": [{"says": "make it large", "ref": "paper"}],
    "refs": ["paper", "other"],
    "tests": [
        {"given": {"cpu.boost": True}, "expect": "unknown"},
        {"given": {}, "expect": "finding", "say": "small", "scope": "hpl"},
    ],
}
PAPER = {"paper": Publication(title="On nodes", by="N. Body", year=2020, where="https://example.org/n")}


def headings(page: str) -> list[str]:
    """Return the second headings of a page."""
    return [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]


def test_headings_are_fixed() -> None:
    """A rule with everything has all headings in their order."""
    assert headings(rule_page(RuleText.model_validate(GIVEN), "x", "bios", PAPER)) == [
        "What it finds",
        "Why",
        "What it costs",
        "How to fix it",
        "How to check it",
        "How to undo it",
        "When to leave it",
        "What guides say",
        "Sources",
        "Expression",
        "Examples",
    ]


def test_what_a_rule_does_not_say_has_no_heading() -> None:
    """A rule without cost, guides and exceptions has no empty headings."""
    short = {**GIVEN, "cost": None, "guides": [], "spare": None}
    page = rule_page(RuleText.model_validate(short), "x", "bios")
    assert [name for name in ("What it costs", "What guides say", "When to leave it") if name in headings(page)] == []


def test_the_page_says_what_the_rule_says() -> None:
    """Claim, cost, setting, source with its link, expressions and examples stand there."""
    page = rule_page(RuleText.model_validate(GIVEN), "x", "bios", PAPER)
    wanted = (
        "For each `node in nodes`: `node {node.index} is small`",
        "13 % of triad, published in paper.",
        "Setting `numa.nps`: `4`.",
        "`paper`: [On nodes](https://example.org/n), N. Body, 2020",
        "when  node.memory < most",
        "- finding for hpl, which says 'small': `no fact given`",
        "- unknown: `cpu.boost = true`",
    )
    assert [words for words in wanted if words not in page] == []


def test_publications_are_named_by_id_where_they_are_not_given() -> None:
    """Without the list of publications their ids stand there."""
    assert "- `paper`\n- `other`" in rule_page(RuleText.model_validate(GIVEN), "x", "bios")
