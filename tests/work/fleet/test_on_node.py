"""What a node's reply comes to, and what the script that is sent does in the shells that nodes have."""

import os
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest

from advisor.host.errands import Ended, Reply
from advisor.model.fleet import Outcome
from advisor.work.fleet.on_node import brought, errand

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
        ("@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", Outcome.HOST_KEY),
        ("No ED25519 host key is known for n1 and you have requested strict checking.", Outcome.HOST_KEY),
        ("root@n1: Permission denied (publickey,password).", Outcome.PERMISSION),
        ("srun: error: Unable to allocate resources: Invalid node name specified", Outcome.NO_ROUTE),
        ("kex_exchange_identification: Connection closed by remote host", Outcome.FAILED),
        ("", Outcome.KILLED),
    ],
)
def test_what_ssh_complains_of_has_its_name(said: str, outcome: Outcome) -> None:
    """As ssh and the C library write it."""
    assert became(err=f"Authorized users only.\n{said}\n", status=255) is (outcome if said else Outcome.FAILED)
    assert became(err=f"{said}\n" if said else "", status=255) is outcome


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


SHELLS = [
    pytest.param(words, marks=pytest.mark.skipif(shutil.which(words[0]) is None, reason=f"no {words[0]} here"))
    for words in (["dash"], ["bash", "--posix"], ["busybox", "sh"])
]
LINGERS = "(sleep 300 & echo $! >$HERE/pid; wait) & wait\n"


def sent(shell: list[str], script: str, folder: Path, *, until: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Give a shell what goes to a node; its input ends once the answer is there, or a file is."""
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "HERE": str(folder)}
    (folder / "tmp").mkdir()
    feed = f"cat {folder / 'sent'}; for i in $(seq 300); do [ -s {until or folder / 'never'} ] && break; sleep 0.05; done"
    if until is None:
        feed = f"cat {folder / 'sent'}; sleep 0.5"
    (folder / "sent").write_bytes(errand(script, MARK).script)
    line = f"({feed}) | {' '.join(shell)} -s"
    return subprocess.run(["/bin/sh", "-c", line], env=environment, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_runs_in_every_shell_and_leaves_nothing(shell: list[str], tmp_path: Path) -> None:
    """Its file comes back, its own here-documents and temporary files with it."""
    done = sent(shell, "cat >$TMPDIR/x <<'EOT'\nit's $here\nEOT\ncat $TMPDIR/x $TMPDIR/x >\"$2\"\n", tmp_path)
    found = brought(Reply("n1", done.stdout, done.stderr, done.returncode), MARK)
    assert (found.outcome, found.file) == (Outcome.ANSWERED, b"it's $here\n" * 2), done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_ends_when_whoever_asked_has_gone(shell: list[str], tmp_path: Path) -> None:
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
