"""What a report is made of: everything is a value that other rooms made; the page adds nothing but words and drawings."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from advisor.advice.audit_page.findings import Asker
from advisor.advice.model.findings import Audit
from advisor.advice.model.plan import Plan
from advisor.advice.model.rule import Publication
from advisor.jobs.pages.tune import RacePage
from advisor.machine.fact import withheld
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import count
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.measurement import Measurements

REPORT_SCHEMA: Final = "advisor-report/2"
"""The number rises when a key changes meaning or goes."""


class LaunchLine(NamedTuple):
    """The command that starts a job of a usual shape on this machine."""

    shape: str
    """One rank per NUMA node, 16 threads each."""
    command: str
    """Ready to be pasted; variables that it needs stand before it."""
    launcher: str
    notes: tuple[str, ...] = ()


class Script(NamedTuple):
    """The plan as the lines of one tool."""

    tool: str
    text: str


@dataclass(frozen=True)
class ReportContent:
    """One machine, audited, with what was measured and what is to be done."""

    machine: Machine
    layout: Layout
    audit: Audit
    measured: MeasuredFacts | None
    measurements: Measurements | None
    plan: Plan
    vendor: str
    scripts: tuple[Script, ...]
    launches: tuple[LaunchLine, ...]
    publications: Mapping[str, Publication]
    asker: Asker
    version: str
    made: str
    """When: 2026-11-22 14:05."""
    races: tuple[RacePage, ...] = ()
    """What advisor tune found."""
    audience: str = "internal"
    """For whom it is: internal, vendor, public."""
    only: frozenset[str] = frozenset()
    """The rules whose findings the report is about; all where it is empty."""


_FOR: Final = {
    "internal": "For this site: credentials are withheld",
    "vendor": "For a vendor: credentials and the names of people, hosts and networks are withheld",
    "public": "For the public: credentials and all that names this machine are withheld",
}


def withheld_facts(content: ReportContent) -> dict[str, int]:
    """Return of which facts how many values are withheld."""
    counted = Counter(withheld(content.machine))
    if content.measurements is not None:
        counted.update(f"measurements.{name}" for name in withheld(content.measurements))
    return dict(sorted(counted.items()))


def withheld_line(content: ReportContent) -> str:
    """Return the line that says for whom the page is, and what is not on it."""
    facts = withheld_facts(content)
    many = sum(facts.values())
    named = ", ".join(f"{name} ({number})" for name, number in facts.items())
    return (
        f"{_FOR[content.audience]}: {count(many, 'value')}, in {named}." if many else f"{_FOR[content.audience]}: none was found."
    )


def plan_lines(plan: Plan, found: Collection[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield what the plan leaves to a person, with the reason, list by list; nothing of an empty one.

    ``found`` are the rules that found something: what only others ask for is not known to be wrong.
    """
    wanted = [line for line in plan.by_hand if not frozenset(line.rules).isdisjoint(found)]
    lists = (
        ("In the setup menus, by hand", wanted),
        ("Guides differ about these", plan.contested),
        ("Look up first: the present value is not known", plan.look_up),
        ("Look at these in the setup menus: how they stand is not known", [line for line in plan.by_hand if line not in wanted]),
        ("Left out: contradicts something else", plan.refused),
    )
    yield from ((heading, own) for heading, own in lists if own)
