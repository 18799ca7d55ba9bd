"""What a report is made of: everything is a value that other rooms made; the page adds nothing but words and drawings."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from advisor.model.audit.findings import Audit
from advisor.model.audit.measured_facts import MeasuredFacts
from advisor.model.audit.plan import Plan
from advisor.model.audit.rule import Publication
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Machine
from advisor.model.measurement import Measurements
from advisor.render.audit.findings import Asker
from advisor.render.tune import RacePage

REPORT_SCHEMA: Final = "advisor-report/1"
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
    only: frozenset[str] = frozenset()
    """The rules whose findings the report is about; all where it is empty."""


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
