"""A second look: captures keep counters twice, whoever takes them, and give both back."""

import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.machine.anonymise import AnonymousHost
from advisor.machine.hosts.base import ENVIRONMENT_PREFIXES, Host, Reading, SecondLook, expand, second_look
from advisor.machine.hosts.capture import CaptureHost, record
from advisor.machine.hosts.source import open_host
from advisor.machine.jinja import capture_script
from advisor.paths import template
from tests.host.shelf import PATTERNS, lay
from tests.host.test_capture import Machine, opened
from tests.host.test_script import SHELLS, Shell, run, shell

__all__ = ["shell"]  # a fixture of the script's tests

COUNTER = "/sys/class/infiniband/*/ports/*/counters/symbol_error"
AT = "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error"
TREE = {
    "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": b"4\n",
    "sys/class/net/lo/mtu": b"65536\n",
    "proc/meminfo": b"MemTotal: 16 kB\n",
}


class Rising(Machine):
    """A machine whose counter is one higher at every look."""

    looks = 0

    def read(self, path: str) -> Reading:
        """Return the file, the counter higher than before."""
        if path == AT:
            self.looks += 1
            return Reading(b"%d\n" % self.looks)
        return super().read(path)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test wait for a second."""
    monkeypatch.setattr("advisor.machine.hosts.base.SECONDS_BETWEEN_LOOKS", 0.0)


def recorded(host: Host) -> CaptureHost:
    """Return a capture of a host with its counters looked at twice."""
    return opened(record(host, ("/proc/meminfo",), (), {}, twice=(COUNTER,)))


@pytest.mark.usefixtures("at_once")
def test_a_capture_keeps_two_looks_at_the_counters_of_a_live_machine() -> None:
    """The first lies with the other files, the second apart, with the seconds between them."""
    host = recorded(Rising(dict(TREE)))
    second = second_look(host)
    assert second is not None
    assert (host.read(AT).text, second.host.read(AT).text) == ("1\n", "2\n")
    assert second.seconds >= 0
    assert list(expand(second.host, COUNTER)) == [AT]


@pytest.mark.usefixtures("at_once")
def test_a_capture_of_a_capture_keeps_both_looks_and_so_does_an_anonymous_one() -> None:
    """Recording again looks at nothing anew."""
    first = recorded(Rising(dict(TREE)))
    for host in (first, AnonymousHost(first)):
        again = recorded(host)
        second = second_look(again)
        assert second is not None
        assert (again.read(AT).text, second.host.read(AT).text) == ("1\n", "2\n")


def test_a_machine_that_counts_nothing_is_not_waited_for() -> None:
    """No counter, no second look."""
    assert second_look(recorded(Rising({"proc/meminfo": b"x"}))) is None


def test_a_capture_from_before_has_one_look() -> None:
    """What was looked at once stays so: no second look is made up from the first."""
    old = opened(record(Rising(dict(TREE)), ("/proc/meminfo", COUNTER), (), {}))
    assert second_look(old) is None
    assert second_look(recorded(old)) is None


@pytest.mark.parametrize("text", ["", "-1", "1e9", "abc", "12345678", "1\n2"])
def test_seconds_that_are_none_are_no_second_look(text: str, tmp_path: Path) -> None:
    """A hostile capture gets no second look by a word."""
    folder = tmp_path / "advisor-capture"
    (folder / "again").mkdir(parents=True)
    (folder / "format").write_text("advisor-capture 1\n")
    (folder / "again/seconds").write_text(text)
    assert second_look(open_host(str(folder))) is None


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_the_script_looks_twice_too(shell: Shell, tmp_path: Path) -> None:
    """Both looks are there, at least a second apart, under plain names."""
    root = lay(tmp_path / "root")
    counters = root / "sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0/infiniband/mlx5_0/ports/1/counters"
    counters.mkdir()
    (counters / "symbol_error").write_text("4\n")
    file = tmp_path / "capture.sh"
    text = capture_script(template("capture.sh.j2"), (*PATTERNS, COUNTER), (), "1.0", ENVIRONMENT_PREFIXES, twice=(COUNTER,))
    file.write_text(text)
    done = run(shell, file, "--root", str(root))
    assert done.returncode == 0
    host = open_host(str(tmp_path / "node.tar.gz"))
    second = second_look(host)
    assert isinstance(second, SecondLook)
    assert (host.read(AT).text, second.host.read(AT).text) == ("4\n", "4\n")
    assert second.seconds >= 1.0


def test_shellcheck_finds_nothing_in_the_second_look(tmp_path: Path) -> None:
    """The script with its counters is as clean as without."""
    file = tmp_path / "capture.sh"
    file.write_text(capture_script(template("capture.sh.j2"), PATTERNS, (), "1.0", ENVIRONMENT_PREFIXES, twice=(COUNTER,)))
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", "-s", "sh", "-e", "SC2016", str(file)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
