"""What launchers print when they start nothing, as seen from the real ones, and what is said of it."""

import pytest

from advisor.jobs.launcher import FAILURES, why_failed

OPENMPI_5 = "A daemon failed to report back after being spawned. This could\nbe due to several factors"
SAID = (
    ("mpirun has detected an attempt to run as root.", "mpirun refuses to start as root; run it as another user"),
    ("prterun has detected an attempt to run as root.", "prterun refuses to start as root"),
    (
        "There are not enough slots available in the system to satisfy the 64\nslots that were requested",
        "the launcher has fewer slots than the 64 requested; run this inside the job",
    ),
    (
        f"ssh: Could not resolve hostname NODE1: Name or service not known\n{OPENMPI_5}",
        "NODE1 is a placeholder for a host whose name was unknown; plan again with --hosts",
    ),
    (
        "[mpiexec@vm] Error: Unable to run bstrap_proxy on NODE2 (pid 2702, exit code 65280)",
        "NODE2 is a placeholder for a host whose name was unknown",
    ),
    (f"ssh: Could not resolve hostname n7: Name or service not known\n{OPENMPI_5}", "host n7 is unknown here; check the names"),
    ("ssh: connect to host n7 port 22: Connection refused", "ssh cannot reach a host (n7: Connection refused); ssh must work"),
    (
        "me@n7: Permission denied (publickey,password).",
        "ssh cannot reach a host (me@n7: Permission denied (publickey,password).",
    ),
    ("Host key verification failed.", "ssh cannot reach a host (Host key verification failed)"),
    ("Error: Unable to run bstrap_proxy on n7 (pid 1, exit code 65280)", "Intel MPI cannot start on n7; check that the host"),
    ("srun: fatal: Could not establish a configuration source", "srun cannot reach a Slurm controller from here; run this on"),
    (
        "srun: error: Unable to create step for job 7: More processors requested than permitted",
        "the Slurm job has fewer CPUs or nodes than the plan; request whole nodes",
    ),
    ("x: error while loading shared libraries: libmpi.so.40: cannot open", "libmpi.so.40 was not found; load the module"),
    (
        "sh: 0: cannot open bind-wrapper.sh: No such file",
        "bind-wrapper.sh is not at the path given in the launch line; advisor bind -o DIR",
    ),
    ("Executable: ./nothere\nNode: vm", "./nothere cannot be started on a host; give a path that is the same on every host"),
    ("execvp error on file ./nothere (No such file or directory)", "./nothere cannot be started on a host"),
    ("Your job has requested more processes than the ppr for\nthis topology can support", "ranks are counted per part"),
    (
        "ORTE was unable to reliably start one or more daemons.",
        "Open MPI cannot start daemons on the other hosts; check that ssh",
    ),
)


@pytest.mark.parametrize(("complaint", "expected"), SAID)
def test_a_complaint_is_a_cause_and_a_cure(complaint: str, expected: str) -> None:
    """What a launcher says on many lines is one line: what is wrong, and what to do."""
    said = why_failed(complaint) or ""
    assert (said.startswith(expected), "\n" in said, "{0}" in said, "; " in said) == (True, False, False, True)


def test_a_placeholder_is_known_by_the_line() -> None:
    """Ssh writes names small: node1 is a placeholder where the line says NODE1, and else a host."""
    complaint = "ssh: Could not resolve hostname node1: Name or service not known"
    said = [why_failed(complaint, line) or "" for line in ("mpirun --host NODE1:2 ./a", "mpirun --host node1:2 ./a")]
    assert [each.partition(" ")[0] for each in said] == ["NODE1", "host"]


def test_every_cause_has_been_seen() -> None:
    """No cause is in the table without a complaint in this one."""
    seen = {why_failed(complaint) for complaint, _ in SAID}
    assert [each.says for each in FAILURES if not any(each.cure.split("{0}")[0] in str(said) for said in seen)] == []


def test_an_unknown_complaint_has_no_cause() -> None:
    """Unsure is better than wrong: the launcher's own last line is shown then."""
    assert why_failed("something else went wrong") is None
