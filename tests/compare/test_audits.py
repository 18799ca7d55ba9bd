from advisor.advice.compare import difference
from advisor.advice.model.findings import Audit, Difference, Finding, Row
from advisor.advice.model.sheets import Severity, Verdict
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout


def finding(name: str, verdict: Verdict = "finding", severity: Severity = "high", subject: str | None = None) -> Finding:
    """Return a verdict."""
    return Finding(
        id=name, title=name, topic="t", verdict=verdict, severity=severity, scope=("mpi",), where="bios", subject=subject,
        claim=f"{name} is so",
    )  # fmt: skip


def audit(*findings: Finding, **settings: str) -> Audit:
    """Return an audit of findings and settings."""
    rows = tuple(
        Row(name=name.replace("_", "."), term=name, title=name, where="bios", current=value) for name, value in settings.items()
    )
    return Audit(scope="mpi", findings=findings, settings=rows)


def compared(a: Audit, b: Audit) -> Difference:
    """Return the difference of two audits of one empty machine."""
    layout = infer_layout(Machine())
    return difference(("a", "b"), (Machine(), Machine()), (layout, layout), (a, b))


def test_two_equal_audits_are_the_same() -> None:
    """Nothing differs."""
    assert compared(audit(finding("x"), numa_nps="1"), audit(finding("x"), numa_nps="1")).same is True


def test_a_changed_setting_shows_both_values() -> None:
    """Settings are compared in neutral words; one that only one side tells has nothing on the other."""
    changes = compared(audit(numa_nps="1", cpu_smt="on"), audit(numa_nps="4")).settings
    assert [(c.name, c.before, c.after) for c in changes] == [("numa.nps", "1", "4"), ("cpu.smt", "on", None)]


def test_findings_gained_and_lost_say_what_the_other_side_says() -> None:
    """A finding that became a pass is lost; one that became unknown is lost too, and says so."""
    found = compared(
        audit(finding("x"), finding("y", subject="mlx5_0"), finding("z", "pass")),
        audit(finding("x", "pass"), finding("y", "unknown", subject="mlx5_0"), finding("z", severity="low")),
    )
    assert [(each.id, each.now) for each in found.lost] == [("x", "pass"), ("y", "unknown")]
    assert [(each.id, each.severity, each.now) for each in found.gained] == [("z", "low", "pass")]
    assert found.same is False


def test_findings_are_told_apart_by_what_they_are_about() -> None:
    """A second adapter with the same fault is a finding gained."""
    found = compared(audit(finding("x", subject="mlx5_0")), audit(finding("x", subject="mlx5_0"), finding("x", subject="mlx5_1")))
    assert [(each.id, each.subject) for each in found.gained] == [("x", "mlx5_1")]
