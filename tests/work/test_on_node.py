"""What a node's reply comes to, and what the script that is sent does in the shells that nodes have."""

import os
import shutil
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from advisor.fleet.capture import Captured
from advisor.fleet.fleet import Answer
from advisor.machine.hosts.errands import Ended, Outcome, Reply
from advisor.machine.hosts.nodes import brought, errand
from advisor.machine.hosts.source import open_host
from tests.host.shelf import shell_in

MARK = "advisor-0123456789abcdef"
FILE = bytes(range(256)) * 3
GOOD = f"{MARK} begin base64\n".encode() + b64encode(FILE) + f"\n{MARK} end 0 {len(FILE)}\n".encode()


def became(out: bytes = b"", err: str = "", status: int | None = 0, ended: Ended = Ended.ITSELF) -> Outcome:
    """Return what a reply comes to."""
    return brought(Reply("n1", out, err.encode(), status, ended), MARK).outcome


def test_the_file_comes_back() -> None:
    """Whatever a login prints before and after it."""
    found = brought(Reply("n1", b"Welcome!\n" + GOOD + b"bye\n", b"no space left on device\n", 0), MARK)
    assert (found.outcome, found.file) == (Outcome.ANSWERED, FILE)


def test_another_mark_is_nobodys_answer() -> None:
    """What was printed in an earlier run counts as junk."""
    assert became(GOOD.replace(b"0123", b"3210")) is Outcome.FAILED


def test_a_whole_answer_counts_though_ssh_did_not_end_in_time() -> None:
    """A login that keeps its output open does no harm."""
    assert became(GOOD, status=None, ended=Ended.TIMED_OUT) is Outcome.ANSWERED


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("ssh: connect to host n1 port 22: Connection timed out", Outcome.TIMED_OUT),
        ("ssh: connect to host n1 port 22: No route to host", Outcome.NO_ROUTE),
        ("ssh: Could not resolve hostname n1: Temporary failure in name resolution", Outcome.NO_ROUTE),
        ("ssh: connect to host n1 port 22: Network is unreachable", Outcome.NO_ROUTE),
        ("ssh: connect to host n1 port 22: Connection refused", Outcome.REFUSED),
        ("\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", Outcome.HOST_KEY),
        ("No ED25519 host key is known for n1 and you have requested strict checking.", Outcome.HOST_KEY),
        ("root@n1: Permission denied (publickey,password).", Outcome.PERMISSION),
        ("srun: error: Unable to allocate resources: Invalid node name specified", Outcome.NO_ROUTE),
        ("kex_exchange_identification: Connection closed by remote host", Outcome.FAILED),
        ("This account is currently not available.", Outcome.PERMISSION),
        ("", Outcome.KILLED),
    ],
)
def test_what_ssh_complains_of_has_its_name(said: str, outcome: Outcome) -> None:
    """As ssh and the C library write it."""
    assert became(err=f"Authorized users only.\n{said}\n", status=255) is (outcome if said else Outcome.FAILED)
    assert became(err=f"{said}\n" if said else "", status=255) is outcome
    assert became(out=f"{said}\n".encode(), status=255) is outcome


@pytest.mark.parametrize(
    ("out", "err", "outcome"),
    [
        (GOOD[:200], "", Outcome.TRUNCATED),
        (GOOD.replace(b" end 0 768", b" end 0 769"), "", Outcome.TRUNCATED),
        (GOOD.replace(b"AAECAw", b"AA!CAw"), "", Outcome.TRUNCATED),
        (f"{MARK} end 2 0\n".encode(), "mktemp: failed to create directory: No space left on device", Outcome.NO_SPACE),
        (f"{MARK} end 137 0\n".encode(), "", Outcome.KILLED),
        (f"{MARK} end 0 0\n".encode(), "", Outcome.FAILED),
        (f"{MARK} end x y\n".encode(), "", Outcome.FAILED),
        (b"\x1b[2Jjunk" * 1000, "", Outcome.FAILED),
    ],
)
def test_an_answer_that_is_not_whole_is_none(out: bytes, err: str, outcome: Outcome) -> None:
    """Nothing of it is kept."""
    found = brought(Reply("n1", out, err.encode(), 0), MARK)
    assert (found.outcome, found.file) == (outcome, b"")


def test_a_reason_is_one_short_line_that_steers_no_terminal() -> None:
    """Names and banners of others may hold anything."""
    why = brought(Reply("n1", b"", b"\x1b[2Jpermission denied " + b"x" * 9000, 255), MARK).why or ""
    assert (len(why) <= 300, why.isprintable()) == (True, True)


SHELLS = ("dash", "bash as sh", "busybox", "mksh", "ksh93", "zsh as sh")
LINGERS = "(sleep 300 & echo $! >$HERE/pid; wait) & wait\n"


def sent(
    name: str, script: str, folder: Path, *, until: Path | None = None, login: str = "exec %s"
) -> subprocess.CompletedProcess[bytes]:
    """Give a shell what goes to a node, behind a login; its input ends once the answer is there, or a file is."""
    shell, _ = shell_in(name, folder)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "HERE": str(folder)}
    (folder / "tmp").mkdir()
    seen = f"[ -s {until} ]" if until else f"grep -q '{MARK} end' {folder}/out"
    feed = f"cat {folder}/sent; for i in $(seq 600); do {seen} && break; sleep 0.05; done"
    (folder / "sent").write_bytes(errand(script, MARK).script)
    (folder / "out").touch()
    line = f"({feed}) | ({login % ' '.join([*shell, '-s'])}) | tee {folder}/out"
    return subprocess.run(["/bin/sh", "-c", line], env=environment, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_runs_in_every_shell_and_leaves_nothing(shell: str, tmp_path: Path) -> None:
    """Its file comes back, its own here-documents and temporary files with it."""
    done = sent(shell, "cat >$TMPDIR/x <<'EOT'\nit's $here\nEOT\ncat $TMPDIR/x $TMPDIR/x >\"$2\"\n", tmp_path)
    found = brought(Reply("n1", done.stdout, done.stderr, done.returncode), MARK)
    assert (found.outcome, found.file) == (Outcome.ANSWERED, b"it's $here\n" * 2), done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_ends_when_whoever_asked_has_gone(shell: str, tmp_path: Path) -> None:
    """With all that it started; no file of it stays."""
    sent(shell, LINGERS, tmp_path, until=tmp_path / "pid")
    subprocess.run(
        ["/bin/sh", "-c", 'i=0; while [ "$(ls -A tmp)" ] && [ $((i += 1)) -lt 100 ]; do sleep 0.1; done'],
        cwd=tmp_path,
        check=True,
    )
    process = Path("/proc") / (tmp_path / "pid").read_text().strip() / "cmdline"
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not process.exists() or process.read_bytes() == b""  # a dead one that nobody has asked for yet has none


LOGINS = {
    "message of the day": "{ echo Welcome!; echo; exec %s; }",
    "no newline": "{ printf 'hello '; exec %s; }",
    "title of a terminal": r"{ printf '\033]0;n1\007'; exec %s; }",
    "colours": r"{ printf '\033[1;31mn1\033[0m\n'; exec %s; }",
    "carriage return": r"{ printf 'loading modules 100 %%\r'; exec %s; }",
    "lines of a terminal": r"%s | sed 's/$/\r/'",
    "printed at the end": "{ printf 'hello '; %s; printf bye; }",
    "complaints in the answer": "{ echo 'no permission denied here' >&2; exec %s; } 2>&1",
    "half a line just before the end": "{ (sleep 0.2; printf 'mail! ') & exec %s; }",
}
"""What a login does around what it starts."""
CHATTY = "echo 'capture.sh: copying 3 files' >&2; printf 'odd: ' >&2; echo noise; sleep 0.4; printf content >\"$2\"\n"


@pytest.mark.parametrize("login", LOGINS)
def test_a_login_that_prints_does_no_harm(login: str, tmp_path: Path) -> None:
    """Before, after and around the answer, with and without newlines."""
    done = sent("dash", CHATTY, tmp_path, login=LOGINS[login])
    found = brought(Reply("n1", done.stdout, done.stderr, done.returncode), MARK)
    assert (found.outcome, found.file) == (Outcome.ANSWERED, b"content"), done.stdout


@pytest.mark.parametrize("login", ["bash", "dash", "zsh", "fish", "tcsh", "mksh", "ksh93"])
def test_every_login_shell_starts_the_script(login: str, tmp_path: Path) -> None:
    """The line that sshd gives to it is the same in all of them."""
    if shutil.which(login) is None:
        pytest.skip(f"{login} is not installed")
    done = sent("dash", 'echo content >"$2"', tmp_path, login=f"{login} -c 'exec %s'")
    found = brought(Reply("n1", done.stdout, done.stderr, done.returncode), MARK)
    assert (found.outcome, found.file) == (Outcome.ANSWERED, b"content\n"), done


@pytest.mark.parametrize(
    ("out", "err", "status", "why"),
    [
        (b"", b"rbash: line 1: exec: restricted\n", 1, "rbash: line 1: exec: restricted (status 1)"),
        (b"", b"", 0, "it printed nothing (status 0)"),
        (b"", b"", 1, "it printed nothing (status 1)"),
        (b"git server\n", b"", 0, "git server (status 0)"),
        (b"", b"exec: Command not found.\n", 1, "exec: Command not found. (status 1)"),
    ],
)
def test_a_login_that_starts_no_script_says_where_to_look(out: bytes, err: bytes, status: int, why: str) -> None:
    """A restricted shell, an exit in a login file, a forced command: in their own words, with the same cure."""
    found = brought(Reply("n1", out, err, status), MARK)
    cure = "the login did not start sh -s; look for a restricted shell, a forced command or an exit in .bashrc"
    assert (found.outcome, found.why) == (Outcome.FAILED, f"{cure}: {why}")


@pytest.mark.parametrize("login", ["exit 0", "exit 1"])
def test_an_exit_in_bashrc_is_told(login: str, tmp_path: Path) -> None:
    """Where sshd starts bash it reads that file."""
    (tmp_path / ".bashrc").write_text(f"{login}\n")
    done = subprocess.run(
        ["bash", "-c", "exec /bin/sh -s"],
        input=errand("", MARK).script,
        env={"HOME": str(tmp_path), "SSH_CLIENT": "::1 1 22", "PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=60,
        check=False,
    )
    found = brought(Reply("n1", done.stdout, done.stderr, done.returncode), MARK)
    assert (found.outcome, (found.why or "").rpartition(": ")[2]) == (Outcome.FAILED, f"it printed nothing (status {login[-1]})")


@pytest.mark.parametrize(
    ("err", "status", "outcome", "why"),
    [
        ("cp: x: Permission denied\ncapture.sh: running lscpu\n", 2, Outcome.FAILED, "cp: x: Permission denied"),
        ("capture.sh: looking for files\n", 2, Outcome.FAILED, "the script ended with status 2 on the node and printed no error"),
        (
            "gzip: stdout: No space left on device\ncapture.sh: cannot write x; name another file with -o\n",
            2,
            Outcome.NO_SPACE,
            "gzip: stdout: No space left on device",
        ),
        ("", 143, Outcome.KILLED, "the script was killed by signal 15 on the node"),
    ],
)
def test_a_script_that_fails_is_no_fault_of_the_login(err: str, status: int, outcome: Outcome, why: str) -> None:
    """What cp was refused is not ssh's refusal."""
    found = brought(Reply("n1", f"\n{MARK} end {status} 0\n".encode(), err.encode(), 0), MARK)
    assert (found.outcome, found.why) == (outcome, why)


def test_the_command_that_shows_a_failure_runs(tmp_path: Path) -> None:
    """As it is printed: over ssh, which gives its words to a shell; its archive opens."""
    silent = [Answer(node="n1", at="2026-01-31T06:10:00Z", outcome=each) for each in (Outcome.FAILED, Outcome.HOST_KEY)]
    script, login = (each["by_hand"] for each in Captured("fleet", tuple(silent), 2).document()["silent"])
    assert (script, login) == ("advisor capture --script | ssh n1 /bin/sh -s -- -o - >n1.tar.gz", "ssh n1 true")
    over_srun = Captured("fleet", tuple(silent), 2, partition="main").document()["silent"][1]["by_hand"]
    assert over_srun == "srun --partition=main --nodelist=n1 true"
    for name, body in {"ssh": 'shift\nexec sh -c "$*"', "advisor": f'exec {sys.executable} -m advisor "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run(["/bin/sh", "-ec", f"{login}\n{script}"], cwd=tmp_path, env=environment, timeout=120, check=True)
    assert open_host(str(tmp_path / "n1.tar.gz")).read("/proc/meminfo").text
