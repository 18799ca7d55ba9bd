"""Lines of qsub are explained; which cores -binding gives is not predicted."""

from advisor.jobs.lint import lint
from tests.fakenode.plans import machine_of


def test_a_line_is_explained() -> None:
    """The binding's two words are one option."""
    found = lint(["qsub -pe orte 64 -binding set explicit:0,0 job.sh"], machine_of("a-r7425-2x7601-dell"))
    assert [(each.text, each.says) for each in found.options] == [
        ("-pe orte 64", "takes 64 slots of the parallel environment orte"),
        ("-binding set explicit:0,0", "requests cores with set: a hint that has no effect if other jobs use them"),
    ]
    assert found.command == ("job.sh",)
    assert "rank placement by Grid Engine is not predicted" in found.binding
