"""The one verdict of an audit: green only where nothing adverse is known, the same words on every page."""

import pytest

from advisor.advice.audit_page.card import Head, head_of
from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import checklist_of
from advisor.advice.judgement import judged
from advisor.advice.model.findings import Audit
from advisor.exports.export import families
from advisor.exports.page import PageVerdict, verdict
from advisor.measure.measured_facts import Refused
from tests.exports import OPTIONS, machine
from tests.judge.test_place import GB, ROME, nodes
from tests.machines.read import machine as machine_of
from tests.render import audits

PASS, UNKNOWN = audits.finding("os-a", "low", "pass"), tuple(audits.finding(f"x-{at}", "low", "unknown") for at in range(9))
HARM, MINOR = audits.finding("os-b", "high", "finding"), audits.finding("os-c", "info", "finding")
ABOVE = Refused(name="triad of the machine", why="above the ceiling: 352 GB/s")


@pytest.mark.parametrize(
    ("update", "head"),
    [
        ({}, Head("nothing", False, "Nothing to fix")),
        ({"findings": (PASS, MINOR)}, Head("nothing", False, "Nothing to fix")),
        ({"findings": (PASS, HARM), "doubts": (HARM,)}, Head("fix", False, "Fix 1 thing")),
        ({"doubts": (HARM, HARM)}, Head("look", False, "Look at 2 things")),
        ({"results": 4, "rejected": (ABOVE,) * 4}, Head("rejected", False, "4 of 4 results are rejected")),
        ({"results": 1, "rejected": (ABOVE,)}, Head("rejected", False, "1 of 1 result is rejected")),
        ({"results": 4, "rejected": (ABOVE,) * 3}, Head("nothing", False, "Nothing to fix")),
        ({"findings": (PASS, *UNKNOWN)}, Head("little", True, "")),
        ({"findings": (PASS, *UNKNOWN), "doubts": (HARM,)}, Head("look", True, "Look at 1 thing")),
    ],
)
def test_the_worst_that_is_known_is_the_verdict(update: dict[str, object], head: Head) -> None:
    """Findings, then what would be one on an idle machine, then results of which none is believed."""
    assert head_of(Audit(scope="mpi", findings=(PASS,), settings=()).model_copy(update=update)) == head


def test_the_report_says_that_no_result_is_believed() -> None:
    """With the reason, and in no green."""
    audit = Audit(scope="mpi", findings=(PASS,), settings=(), results=1, rejected=(ABOVE,))
    assert verdict(audit) == PageVerdict(
        "little", "1 of 1 result is rejected", "triad of the machine: above the ceiling: 352 GB/s"
    )


def test_the_checklist_has_the_verdict_of_the_audit() -> None:
    """A node that is slow if the machine was idle, which nobody knows."""
    here = machine_of(ROME)
    found = judged(here, "mpi", (), measurements=nodes(here, 22 * GB, idle=None))
    says = head_of(found.audit).says
    assert (found.audit.doubts != (), says.upper() in checklist_of(found, BiosInput()).sheet.verdict) == (True, True)


def test_a_monitoring_system_gets_the_outcome() -> None:
    """One sample of all is 1: that of the audit."""
    subject = machine()
    assert subject.audit is not None
    (family,) = (each for each in families(subject, OPTIONS) if each.name.endswith("_outcome"))
    assert [dict(labels)["outcome"] for labels, value in family.samples if value] == [head_of(subject.audit).outcome]
