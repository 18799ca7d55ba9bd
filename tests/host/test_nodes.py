"""The door to other nodes: names that are none are refused before anything runs, and what comes back is bounded."""

import os
import signal
import stat
import time
from pathlib import Path

import pytest

from advisor.errors import BadValue, CannotWork
from advisor.machine.hosts import nodes
from advisor.machine.hosts.errands import Ended, Errand, Reply, Way
from advisor.machine.hosts.live import interruptible
from advisor.machine.hosts.nodes import ask_nodes


def program(folder: Path, name: str, text: str) -> None:
    """Put a program in front of all others."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is first on PATH, with ClusterShell's configuration in it."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return tmp_path


def heard(names: list[str], way: Way, *, script: bytes = b"true\n", ends: bytes = b"") -> dict[str, Reply]:
    """Return the reply of each node."""
    found: dict[str, Reply] = {}
    ask_nodes(names, Errand(script, ends), way, lambda reply: found.update({reply.node: reply}))
    return found


@pytest.mark.parametrize(
    "name", ["-oProxyCommand=touch x", "a;b", "../x", "n1\nn2", "", "user@n1", "a b", "$(touch x)", "n1:22", "n1-", ".n1", "é"]
)
def test_a_name_that_is_none_is_refused(name: str, site: Path) -> None:
    """Nothing is run, not even for the good names beside it."""
    program(site, "ssh", f"touch {site}/run\n")
    with pytest.raises(BadValue, match="is not a plain host name"):
        heard(["n1", name], Way())
    assert not (site / "run").exists()


def test_ssh_gets_the_name_behind_all_options(site: Path) -> None:
    """No host key is accepted that ssh would not accept by itself, no password asked for, and the name is no option."""
    program(site, "ssh", f'printf "%s\\n" "$@" >{site}/words\n')
    heard(["n1"], Way())
    words = (site / "words").read_text().splitlines()
    assert words[-3:] == ["--", "n1", "exec /bin/sh -s"]
    assert "-oBatchMode=yes" in words
    assert [word for word in words if "StrictHostKeyChecking" in word] == []


def test_the_sites_own_options_come_first(site: Path) -> None:
    """What clush.conf says of ssh holds: ssh takes the first that it is given."""
    (site / "clush.conf").write_text("[Main]\nssh_user: admin\nssh_options: -F /site/ssh_config\nconnect_timeout: 3\n")
    program(site, "ssh", f'printf "%s\\n" "$@" >{site}/words\n')
    heard(["n1"], Way())
    words = (site / "words").read_text().splitlines()
    assert (words[:2], "admin" in words, "-oConnectTimeout=3" in words) == (["-F", "/site/ssh_config"], True, True)


def test_a_clush_conf_that_cannot_be_read_is_one_line(site: Path) -> None:
    """It says which file."""
    (site / "clush.conf").write_text("[Main]\nconnect_timeout: soon\n")
    with pytest.raises(CannotWork, match=r"clush\.conf"):
        heard(["n1"], Way())


def test_the_script_comes_on_standard_input(site: Path) -> None:
    """It is no argument, which everybody on this host could read."""
    program(site, "ssh", "exec /bin/sh -s\n")
    assert heard(["n1"], Way(), script=b"echo hello; echo oh >&2; exit 3\n") == {"n1": Reply("n1", b"hello\n", b"oh\n", 3)}


def test_bytes_come_back_as_they_are(site: Path) -> None:
    """Whatever is in them."""
    program(site, "ssh", "printf 'a\\0b\\r\\n\\377'\n")
    assert heard(["n1"], Way())["n1"].out == b"a\0b\r\n\xff"


def test_a_node_that_hangs_is_timed_out_alone(site: Path) -> None:
    """Each has its own time from when it is asked: one that waits for its turn loses nothing."""
    program(site, "ssh", 'case "$*" in *n1*) exec sleep 100 ;; *) sleep 0.4; echo here ;; esac\n')
    found = heard(["n1", "n2", "n3", "n4"], Way(fan_out=2, timeout=5))
    assert {name: (each.ended, each.out) for name, each in found.items()} == {
        "n1": (Ended.TIMED_OUT, b""),
        **dict.fromkeys(("n2", "n3", "n4"), (Ended.ITSELF, b"here\n")),
    }


def test_endless_output_is_cut_off(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without an end too; what the error output says is kept from its end."""
    monkeypatch.setattr(nodes, "LIMIT", 100_000)
    program(site, "ssh", 'case "$*" in *n1*) exec cat /dev/zero ;; *) seq 100000 >&2 ;; esac\n')
    found = heard(["n1", "n2"], Way(timeout=60))
    assert (found["n1"].ended, 100_000 < len(found["n1"].out) < 200_000) == (Ended.TOO_MUCH, True)
    assert (len(found["n2"].err) <= 1 << 14, found["n2"].err.endswith(b"\n100000\n")) == (True, True)


def test_the_input_is_closed_once_the_answer_has_its_end(site: Path) -> None:
    """A login shell that waits for the end of its input ends then; before that it is open, by which a node knows of us."""
    program(site, "ssh", "echo all the END; cat >/dev/null; echo later\n")
    assert heard(["n1"], Way(timeout=60), ends=b"the END")["n1"].out == b"all the END\nlater\n"


def test_an_interrupt_ends_all_that_is_under_way(site: Path) -> None:
    """What is asked is never heard of, and asking again works."""
    program(site, "ssh", 'case "$*" in *n1*) echo first ;; *) exec sleep 100 ;; esac\n')

    def stop(reply: Reply) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_nodes(["n1", "n2", "n3"], Errand(b""), Way(timeout=60), stop)
    assert heard(["n1"], Way(timeout=60))["n1"].out == b"first\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_fork_that_a_signal_meets_before_its_program_ends_there(number: signal.Signals) -> None:
    """ClusterShell forks in Python: a child that got our exception would go on as a second advisor, with the same files."""
    with interruptible():
        child = os.fork()
        if child == 0:
            try:
                os.kill(os.getpid(), number)
                time.sleep(60)
            finally:
                os._exit(1)
        _, state = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(state) == 128 + number


def test_no_ssh_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In one line, before anything is done."""
    monkeypatch.setattr(nodes, "find", {}.get)
    with pytest.raises(CannotWork, match="ssh was not found on this host"):
        heard(["n1"], Way())


def test_srun_starts_a_small_job_for_each_node(site: Path) -> None:
    """Its own partition, one task, kind to others; inside a job it is a step of that."""
    program(site, "srun", f'printf "%s\\n" "$@" >"{site}/words"\n')
    heard(["n1"], Way(partition="main", timeout=90))
    words = (site / "words").read_text().splitlines()
    wanted = {"--partition=main", "--nodelist=n1", "--ntasks=1", "--time=3", "--nice", "--quit-on-interrupt"}
    assert (wanted - set(words), words[-2:]) == (set(), ["/bin/sh", "-s"])


def test_what_the_caller_wants_of_other_jobs_does_not_change_an_answer(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SLURM_LABELIO would put the number of the task before each line, SLURM_STDOUTMODE send it to a file."""
    program(site, "srun", 'printf "%s\\n" "${SLURM_LABELIO-none} ${SLURM_STDOUTMODE-none} ${SLURM_ACCOUNT-none}"\n')
    for name, value in (("SLURM_LABELIO", "1"), ("SLURM_STDOUTMODE", "out-%j"), ("SLURM_ACCOUNT", "hpc")):
        monkeypatch.setenv(name, value)
    assert [reply.out for reply in heard(["n1"], Way(partition="main")).values()] == [b"none none hpc\n"]


def test_a_partition_that_is_none_is_refused(site: Path) -> None:
    """It is a word of srun's."""
    program(site, "srun", f"touch {site}/run\n")
    with pytest.raises(BadValue, match="is not a partition name"):
        heard(["n1"], Way(partition="a b;c"))
