"""What an audit comes to: the one verdict that the first line of every page and export shows. Pure."""

from typing import Final, Literal, NamedTuple

from advisor.advice.model.findings import Audit
from advisor.advice.model.totals import totals
from advisor.machine.units import count

Outcome = Literal["fix", "look", "rejected", "little", "nothing"]
"""Findings, doubts, no result that is believed, few answers, or nothing of all that."""

LITTLE: Final = 1 / 4
"""Where fewer of the rules that apply have an answer, a page says first that little is known."""


class Head(NamedTuple):
    """The verdict of an audit: green only where the outcome is ``nothing``."""

    outcome: Outcome
    little: bool
    """Whether few of the rules that apply have an answer, whatever the outcome."""
    says: str
    """Fix 3 things; empty where no more is known than that it is little."""


def head_of(audit: Audit) -> Head:
    """Return what an audit comes to, the worst that is known first."""
    numbers = totals(audit)
    little = not numbers.answered or numbers.answered < LITTLE * (numbers.answered + numbers.unknown)
    if numbers.fix:
        return Head("fix", little, f"Fix {count(numbers.fix, 'thing')}")
    if audit.doubts:
        return Head("look", little, f"Look at {count(len(audit.doubts), 'thing')}")
    if audit.results and len(audit.rejected) == audit.results:
        verb = "is" if audit.results == 1 else "are"
        return Head("rejected", little, f"{audit.results} of {count(audit.results, 'result')} {verb} rejected")
    return Head("little", little, "") if little else Head("nothing", little, "Nothing to fix")
