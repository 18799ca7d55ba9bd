"""This machine: commands end, outputs are bounded, nothing reads from the terminal."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from advisor.machine.hosts import base, files, live
from advisor.machine.hosts.base import Ran, Reading, Why
from advisor.machine.hosts.live import LiveHost
from tests.host.shelf import is_root


@pytest.fixture
def host() -> LiveHost:
    """Return this machine."""
    return LiveHost()


def test_reads_this_machine(host: LiveHost, tmp_path: Path) -> None:
    """Files, folders and links are those of the machine."""
    (tmp_path / "b").write_text("1\n")
    (tmp_path / "a").symlink_to("b")
    assert Reading(b"1\n") == host.read(f"{tmp_path}/a")
    assert host.list(str(tmp_path)) == ("a", "b")
    assert str(tmp_path.resolve() / "b") == host.real(f"{tmp_path}/a")
    assert (host.kind, host.name) == ("live", "this machine")


def test_absence_is_an_answer(host: LiveHost, tmp_path: Path) -> None:
    """What is not there, cannot be there, or is no file, says so."""
    (tmp_path / "file").write_text("")
    assert host.read(f"{tmp_path}/none").why == Why.ABSENT
    assert host.read(f"{tmp_path}/file/below").why == Why.ABSENT
    assert host.read("/nul\0byte").why == Why.ABSENT
    assert host.read(str(tmp_path)).why == Why.FAILED
    assert (host.real(f"{tmp_path}/none"), host.real("/nul\0byte")) == (None, None)
    assert (host.list(f"{tmp_path}/none"), host.list("/nul\0byte")) == ((), ())


def test_pipes_and_devices_do_not_make_it_wait(host: LiveHost, tmp_path: Path) -> None:
    """A pipe that nobody writes to and a device without end are no files to read."""
    os.mkfifo(tmp_path / "pipe")
    assert [host.read(f"{tmp_path}/pipe").why, host.read("/dev/zero").why] == [Why.FAILED, Why.FAILED]


@pytest.mark.skipif(is_root(), reason="root may read everything")
def test_closed_file_is_refused(host: LiveHost, tmp_path: Path) -> None:
    """A file without permission says so."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0)
    assert host.read(f"{tmp_path}/file").why == Why.REFUSED


def test_file_beyond_the_limit_fails(host: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large is not read by half."""
    monkeypatch.setattr(files, "LIMIT", 1 << 20)
    (tmp_path / "file").write_bytes(bytes((1 << 20) + 1))
    assert host.read(f"{tmp_path}/file").why == Why.FAILED
    (tmp_path / "file").write_bytes(bytes(1 << 20))
    assert None is host.read(f"{tmp_path}/file").why


def test_command_answers(host: LiveHost) -> None:
    """Both outputs, the status and the program's place come back, in the C locale, with nothing to read."""
    ran = host.run(("sh", "-c", 'echo "$LC_ALL [$(cat)]"; echo e >&2; exit 3'))
    assert (ran.out, ran.err, ran.status, ran.why, ran.path) == (b"C []\n", b"e\n", 3, None, shutil.which("sh"))


def test_missing_command_is_absent(host: LiveHost) -> None:
    """A program that is not there is an answer."""
    assert host.run(("no-such-program-here", "-x")).why == Why.ABSENT


def test_no_shell_and_no_relative_program(host: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments stay arguments, and a folder such as ``.`` on PATH is not searched."""
    assert host.run(("echo", "$HOME;ls *")).out == b"$HOME;ls *\n"
    (tmp_path / "trap").write_text("#!/bin/sh\necho caught\n")
    (tmp_path / "trap").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    assert host.run(("trap",)).why == Why.ABSENT


def test_broken_program_fails(host: LiveHost, tmp_path: Path) -> None:
    """A program without its interpreter, and an argument that no program can have, are answers."""
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    assert host.run((str(tmp_path / "broken"),)).why == Why.FAILED
    assert host.run(("echo", "nul\0byte")).why == Why.FAILED


def test_time_limit_ends_the_whole_group(host: LiveHost, tmp_path: Path) -> None:
    """A command that takes too long is ended together with what it started."""
    note = tmp_path / "pid"
    start = time.monotonic()
    ran = host.run(("sh", "-c", f"sleep 60 & echo $! > {note}; wait"), timeout=0.5)
    assert ran.why == Why.TIMEOUT
    assert time.monotonic() - start < 50
    child = Path(f"/proc/{note.read_text().strip()}/stat")
    deadline = time.monotonic() + 30
    while child.exists() and child.read_text().split()[2] not in "ZX" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not child.exists() or child.read_text().split()[2] in "ZX"


def test_child_that_keeps_the_output_open_ends_in_time(host: LiveHost) -> None:
    """A daemon that holds the pipe cannot make the tool wait."""
    start = time.monotonic()
    assert host.run(("setsid", "sh", "-c", "sleep 20 & exit 0"), timeout=0.5).why == Why.TIMEOUT
    assert time.monotonic() - start < 15


def test_output_is_bounded(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that prints without end is ended."""
    monkeypatch.setattr(live, "LIMIT", 1 << 20)
    assert host.run(("yes",), timeout=10).why == Why.FAILED


def test_prefetch_runs_all_at_once(host: LiveHost, tmp_path: Path) -> None:
    """Commands started ahead run side by side and once, each until all have begun; a later run gets their answer."""
    wait = f"until [ -e {tmp_path}/0 -a -e {tmp_path}/1 -a -e {tmp_path}/2 -a -e {tmp_path}/3 ]; do sleep 0.1; done"
    slow = [("sh", "-c", f"echo {n} >> {tmp_path}/{n}; {wait}; echo {n}") for n in range(4)]
    host.prefetch(slow)
    assert [host.run(argv).out for argv in slow] == [b"0\n", b"1\n", b"2\n", b"3\n"]
    assert host.run(slow[3]).out == b"3\n"
    assert (tmp_path / "3").read_text() == "3\n"


def test_a_thread_without_memory_is_done_without(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a thread has no room for is run when it is asked for, and the thread prints nothing of it."""
    printed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", printed.append)
    run, alone = host._run, threading.main_thread()

    def scarce(argv: tuple[str, ...], timeout: float) -> Ran:
        if threading.current_thread() is not alone:
            raise MemoryError
        return run(argv, timeout)

    monkeypatch.setattr(host, "_run", scarce)
    host.prefetch([("echo", "here")])
    assert (host.run(("echo", "here")).out, printed) == (b"here\n", [])


def test_without_room_for_a_thread_commands_run_when_asked_for(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of processes or of the address space refuses the thread itself."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    host.prefetch([("echo", "here")])
    assert host.run(("echo", "here")).out == b"here\n"


def test_close_ends_what_nobody_waits_for(host: LiveHost) -> None:
    """Commands started ahead do not outlive the tool."""
    host.prefetch([("sleep", "60")], timeout=60)
    while not host._running:
        time.sleep(0.01)
    host.close()
    assert host.run(("sleep", "60")).status == -9


def test_environment_is_only_the_schedulers(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable but those of schedulers, MPI and OpenMP is told."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("AWS_SECRET", "x")
    assert host.environment()["SLURM_JOB_ID"] == "7"
    assert "AWS_SECRET" not in host.environment()


def launched(host: LiveHost, *argv: str, timeout: float = 30, **variables: str) -> tuple[Ran, bytes]:
    """Return how the user's own line ended, and what it printed."""
    pieces: list[bytes] = []
    ran = host.launch(argv, pieces.append, timeout=timeout, variables=variables)
    return ran, b"".join(pieces)


def test_a_launched_line_runs_in_the_users_environment(host: LiveHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its output is heard as it comes, the end of its complaints is kept, and variables are those of the user and the plan."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    ran, out = launched(
        host, "sh", "-c", 'echo "$LC_ALL $OMP_PLACES"; yes | head -c 99998 >&2; echo end >&2; exit 3', OMP_PLACES="x"
    )
    assert (out, ran.status, ran.why, ran.err[-6:], len(ran.err)) == (b"C.UTF-8 x\n", 3, None, b"y\nend\n", 1 << 16)
    assert launched(host, "no-such-launcher")[0].why == Why.ABSENT


def test_a_launcher_may_end_its_ranks_before_it_is_killed(host: LiveHost, tmp_path: Path) -> None:
    """When time is up it is asked to end first; what it printed till then was heard, and nothing of it is left."""
    script = f"trap 'echo ended > {tmp_path}/note; exit' TERM; sleep 60 & echo $! > {tmp_path}/pid; echo one; wait"
    ran, out = launched(host, "sh", "-c", script, timeout=1)
    assert (ran.why, out, (tmp_path / "note").read_text()) == (Why.TIMEOUT, b"one\n", "ended\n")
    assert gone(tmp_path / "pid")


def test_what_a_launcher_leaves_behind_is_ended(host: LiveHost, tmp_path: Path) -> None:
    """A rank in a group of its own that outlives the launcher is neither waited for nor left."""
    start = time.monotonic()
    ran, _ = launched(host, "bash", "-c", f"set -m; sleep 60 & echo $! > {tmp_path}/pid; exit 0")
    assert (ran.status, ran.why, time.monotonic() - start < 50) == (0, None, True)
    assert gone(tmp_path / "pid")


def gone(note: Path) -> bool:
    """Return whether the process whose number a file holds ends soon."""
    stat = Path(f"/proc/{note.read_text().strip()}/stat")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def fake(folder: Path, name: str, body: str) -> None:
    """Put a program into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", ["scontrol", "srun"])
def test_slurm_is_not_asked_without_a_slurm_conf(
    host: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It would ask the site's name server for a controller; with one, wherever it lies, it is asked."""
    fake(tmp_path / "slurm/bin", name, "echo asked")
    monkeypatch.setenv("PATH", f"{tmp_path}/slurm/bin:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setattr(base, "SLURM_CONF", (f"{tmp_path}/none",))
    said = []
    for conf in (None, tmp_path / "slurm/etc/slurm.conf", tmp_path / "elsewhere.conf"):
        if conf:
            conf.parent.mkdir(exist_ok=True)
            conf.write_text("")
        said.append(host.run((name, "show")))
        monkeypatch.setenv("SLURM_CONF", f"{tmp_path}/elsewhere.conf")
    monkeypatch.setenv("SLURM_CONF", f"{tmp_path}/gone.conf")
    said.append(host.run((name, "show")))
    assert [(ran.text, ran.why) for ran in said] == [
        (None, Why.ABSENT),
        (None, Why.ABSENT),
        ("asked\n", None),
        (None, Why.ABSENT),
    ]
    monkeypatch.delenv("SLURM_CONF")
    assert host.run((name, "show")).text == "asked\n"


def test_no_display_is_asked(host: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do its names reach a command; what the user chose of hwloc's components stays."""
    fake(tmp_path, "tells", "env | grep -E '^(DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|HWLOC_COMPONENTS|LC_ALL)=' | sort")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"):
        monkeypatch.setenv(name, "far.away:0")
    monkeypatch.delenv("HWLOC_COMPONENTS", raising=False)
    assert host.run(("tells",)).text == "HWLOC_COMPONENTS=-gl\nLC_ALL=C\n"
    monkeypatch.setenv("HWLOC_COMPONENTS", "-x86")
    assert host.run(("tells",)).text == "HWLOC_COMPONENTS=-gl,-x86\nLC_ALL=C\n"


@pytest.mark.slow
def test_nothing_is_sent_into_the_network(tmp_path: Path) -> None:
    """Of all that a capture starts, no call goes to an address of IPv4 or IPv6."""
    seen = tmp_path / "seen"
    traced = ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(seen)]
    if not shutil.which("strace") or subprocess.run([*traced, "true"], check=False, capture_output=True).returncode:
        pytest.skip("strace cannot be used here")
    variables = os.environ | {"DISPLAY": "192.0.2.1:0"}
    capture = [sys.executable, "-m", "advisor", "capture", "-o", str(tmp_path / "node.tar.gz")]
    subprocess.run([*traced, *capture], check=True, capture_output=True, env=variables)
    assert [line for line in seen.read_text(errors="replace").splitlines() if "AF_INET" in line] == []
