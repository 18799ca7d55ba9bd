"""What an audit says of itself."""

import pytest

from advisor.advice.audit import Audited, Measuring
from advisor.advice.judgement import judged
from advisor.advice.model.findings import Audit
from advisor.advice.model.sheets import Severity
from advisor.machine.machine import Machine
from tests.render import audits


@pytest.mark.parametrize(("limit", "expected"), [("high", False), ("medium", True), ("low", True), ("info", True)])
def test_fail_on(limit: Severity, expected: bool) -> None:
    """A finding reaches a severity where it is as severe or worse; waived and unknown ones do not count."""
    found = (audits.finding("x", "medium"), audits.finding("y", "high", "waived"), audits.finding("z", "high", "unknown"))
    audit = Audit(scope="mpi", findings=found, settings=())
    assert Audited(judged(Machine()), audit, Measuring()).reaches(limit) == expected
