"""The screen of a slurm.conf that was compared: what differs first, what it costs, one line to write for each line."""

from advisor.exports.slurm_check import CheckedConf, SlurmDifference
from tests.conftest import Golden


def difference(id: str, severity: str, write: str, nodes: tuple[str, ...] = ("n1", "n2")) -> SlurmDifference:  # noqa: A002
    """Return a difference."""
    return SlurmDifference(id, severity, "slurm.conf line 3", nodes, "it makes 64 CPUs", "half of them", write)  # type: ignore[arg-type]


def test_the_page_of_differences(golden: Golden) -> None:
    """Two of one line share its line to write; what was not read is said at the end."""
    found = (
        difference("scheduler-cpus-too-many", "high", "NodeName=n[1-2] CPUs=32"),
        difference("slurm-memory-unused", "low", "NodeName=n[1-2] CPUs=32"),
        difference("slurm-gres-cores-far", "medium", "Name=gpu Cores=0\nName=gpu Cores=1", ("n2",)),
    )
    golden(
        "slurm-check",
        CheckedConf("/etc/slurm/slurm.conf", found, 4, ("/x: permission denied",), ("n4: its topology",)).page(),
    )


def test_the_page_without_a_difference() -> None:
    """One line."""
    assert CheckedConf("slurm.conf", (), 1).page() == "slurm.conf: no costly differences on 1 node\n"


def test_what_a_file_says_cannot_steer_a_terminal() -> None:
    """Names and values of a slurm.conf are from outside."""
    found = difference("slurm-memory-unused", "low", "NodeName=n Feature=\x1b[2J\x07\x9b")
    assert [letter for letter in CheckedConf("\x1b]0;x", (found,), 1).page() if not letter.isprintable() and letter != "\n"] == []


def test_the_exit_status_goes_by_the_worst() -> None:
    """A limit is reached by what is as severe, or worse."""
    found = CheckedConf("slurm.conf", (difference("slurm-gres-types", "medium", "x"),), 1)
    assert [found.reaches(limit) for limit in ("high", "medium", "low", "info")] == [False, True, True, True]
