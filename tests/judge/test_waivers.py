import pytest

from advisor.advice.judge.engine import waive
from advisor.advice.model.sheets import Waiver
from tests.counting import calls
from tests.judge.made import found, rule

FOUND = found(rule(), kernel__thp="always")
PASSED = found(rule(), kernel__thp="never")
LAST = "2027-06-30"


def waiver(*hosts: str, name: str = "made-rule", reason: str = "interactive nodes") -> Waiver:
    """Return a waiver until the last day."""
    return Waiver(id=name, hosts=hosts or ("*",), reason=reason, until=LAST)


def test_a_waived_finding_keeps_its_claim_and_says_why() -> None:
    """The verdict is waived; reason and last day are told; all else stays."""
    (only,) = waive(FOUND, (waiver(),), "node1", LAST)
    assert only == FOUND[0].model_copy(update={"verdict": "waived", "waived": f"interactive nodes (until {LAST})"})


@pytest.mark.parametrize(("today", "verdict"), [("2027-06-29", "waived"), (LAST, "waived"), ("2027-07-01", "finding")])
def test_a_waiver_ends(today: str, verdict: str) -> None:
    """After its last day the finding counts again."""
    assert [f.verdict for f in waive(FOUND, (waiver(),), "node1", today)] == [verdict]


@pytest.mark.parametrize(
    ("pattern", "host", "holds"),
    [
        ("*", None, True), ("node1", None, False), ("**", None, False), ("login*", "login3", True), ("login*", "LOGIN3", True),
        ("login?", "login3", True), ("login?", "login31", False), ("*.hpc", "n1.hpc", True), ("n.1", "nx1", False),
        ("[ab]1", "a1", False), ("[ab]1", "[ab]1", True), ("n1|n2", "n1", False), ("*a*b", "xaxbxab", True), ("*", "", True),
        ("*a*b", "xaxbxa", False),
        ("?", "", False), ("a*", "ba", False), ("(a", "(a", True),
    ],
)  # fmt: skip
def test_hosts(pattern: str, host: str | None, holds: bool) -> None:
    """* and ? stand for letters, every other sign for itself; a machine without a name is meant by * alone."""
    assert [f.verdict == "waived" for f in waive(FOUND, (waiver(pattern),), host, LAST)] == [holds]


def test_other_rules_and_verdicts_stay() -> None:
    """A waiver lies on findings of its rule, and on nothing else."""
    assert waive(FOUND, (waiver(name="other-rule"),), "n", LAST) == FOUND
    assert waive(PASSED, (waiver(),), "n", LAST) == PASSED


def test_the_first_waiver_that_holds_gives_the_reason() -> None:
    """Of several the first that fits the host counts."""
    (only,) = waive(FOUND, (waiver("x*", reason="a"), waiver(reason="b"), waiver(reason="c")), "n1", LAST)
    assert only.waived == f"b (until {LAST})"


def test_a_hostile_pattern_ends() -> None:
    """Many stars against a long name that does not fit cost at most the one's length times the other's."""
    pattern, host = "*a" * 100 + "b", "a" * 400
    assert calls(lambda: waive(FOUND, (waiver(pattern),), host, LAST), most=8 * len(pattern) * len(host)) > len(host)
