"""Nodes measured at once: kernels go out, results come back, and who is slow is named after a second run only."""

import gzip
import json
import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.fleet import measure
from advisor.fleet.capture import AnswersFolder, CaptureOptions, capture_fleet
from advisor.fleet.fleet import Answer
from advisor.fleet.measure import measure_fleet
from advisor.machine.hosts.errands import Outcome, Way
from advisor.measure.task import read_measurements
from tests.fleet.planted import noise, shape
from tests.nodes.sshd import Nodes, needs_sshd, sshd

pytestmark = needs_sshd

NAMES = tuple(f"n{number}" for number in range(1, 10))
KERNEL = f"""#!{sys.executable} -IS
# Prints what a kernel of its name would, as fast as its node is said to be.
import json, os, sys
from pathlib import Path
words, name = sys.argv[1:], Path(sys.argv[0]).name
if words == ["--list"]:
    sys.exit(0)
given = dict(zip(words[::2], words[1::2]))
here = Path(os.environ["ADVISOR_NODES"])
node = os.environ["ADVISOR_NODE"]
factor = json.loads((here / "factors").read_text()).get(node, [1.0])
count = len([line for line in (here / "asked").read_text().split() if line == node])
factor = factor[min(count, len(factor)) - 1] * (1 + int(node[1:]) % 5 / 1000)
units = dict(load="bytes/s", triad="bytes/s", fma="flop/s", clock="hertz", chase="seconds")
units |= {{"copy-nt": "bytes/s", "triad-nt": "bytes/s", "ping-pong": "seconds"}}
usual = {{"bytes/s": 5e9, "flop/s": 20e9, "hertz": 2.6e9, "seconds": 1e-7}}
variants = given.get("--pattern", given.get("--variants", dict(memlat="chase", c2c="ping-pong").get(name, ""))).split(",")
cpus = [int(cpu) for cpu in given["--cpus"].split(",")]
for variant in variants:
    value = usual[units[variant]] * (1 if units[variant] in ("hertz", "seconds") else factor)
    line = dict(contract=1, kernel=name, variant=variant, unit=units[variant], cpus=cpus, values=[value] * 3)
    print(json.dumps(line))
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a fleet whose kernels are small programs of this test."""
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path / "site"))
    monkeypatch.setattr(measure, "_programs", lambda _, names: dict.fromkeys(names, KERNEL.encode()))
    return tmp_path / "fleet"


def captured(folder: Path, names: Sequence[str]) -> None:
    """Put captures of nodes with the same hardware into a folder."""
    kept = AnswersFolder(folder)
    kept.begin()
    for number, name in enumerate(names):
        sort = shape("haswell")
        data = gzip.compress(sort.copy(noise(sort, name, random.Random(number))), 1)  # noqa: S311
        at, digest = datetime.now(UTC).isoformat(), sha256(data).hexdigest()
        kept.add(Answer(node=name, at=at, outcome=Outcome.ANSWERED, archive=f"{name}.tar.gz", sha256=digest), data)


def factors(nodes: Nodes, told: dict[str, list[float]]) -> None:
    """Say how fast nodes are in their first run, their second, ..., of the usual."""
    (nodes.folder / "factors").write_text(json.dumps(told))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "slow"), [([0.8], {"n3"}), pytest.param([0.8, 1.0], set[str](), marks=pytest.mark.slow)], ids=["slow", "slow once"]
)
def test_a_slow_node_is_named_after_two_runs_and_a_slow_run_alone_is_not(told: list[float], slow: set[str], fleet: Path) -> None:
    """It is measured again, alone; the second result is kept, and who is good then is not named."""
    captured(fleet, NAMES)
    with sshd(fleet.parent / "site", dict.fromkeys(NAMES, "real")) as nodes:
        factors(nodes, {"n3": told})
        done = measure_fleet(None, fleet, Way(timeout=120), busy_ok=True)
        assert (set(done.measured), dict(done.why_not), nodes.left_behind()) == (set(NAMES), {}, [])
        assert {name: nodes.asked().count(name) for name in ("n1", "n3")} == {"n1": 1, "n3": 2}
    assert (done.again, {each.node for each in done.slow}, done.status) == (("n3",), slow, len(slow))
    kept = read_measurements([fleet / "n3.measured.json"])
    triad = next(each for each in kept.results if each.variant == "triad" and each.part == "machine")
    assert triad.median == pytest.approx(5e9 * 1.003 * told[-1])


def test_a_node_that_is_not_captured_or_does_not_answer_has_its_reason(fleet: Path) -> None:
    """The others are measured; nobody is named among fewer than eight."""
    captured(fleet, NAMES[:3])
    with sshd(fleet.parent / "site", {"n1": "real", "n2": "refuses", "n3": "gone"}) as nodes:
        factors(nodes, {"n1": [0.5]})
        done = measure_fleet(["n1", "n2", "n3", "n99"], fleet, Way(timeout=120), busy_ok=True)
    assert (done.measured, done.slow, done.status) == (("n1",), (), 0)
    assert {node: why.partition(":")[0] for node, why in done.why_not.items()} == {
        "n2": "refused",
        "n3": "killed",
        "n99": "not captured; run advisor fleet capture -w n99 -o " + str(fleet) + " first",
    }


def test_only_a_folder_of_captures_can_be_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan of a node comes from its capture."""
    assert status(["fleet", "measure", "-w", "n1", "-o", str(tmp_path)]) == 2
    assert "no fleet was captured there" in capsys.readouterr().err


@pytest.mark.slow
def test_the_kernels_themselves_run_on_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captured over ssh, then measured with what is built here: on this machine, which may be busy; no figure is looked at."""
    monkeypatch.setenv("CLUSTERSHELL_CFGDIR", str(tmp_path / "site"))
    with sshd(tmp_path / "site", {"n1": "real"}) as nodes:
        capture_fleet(["n1"], tmp_path / "fleet", CaptureOptions(Way(timeout=300)))
        done = measure_fleet(["n1"], tmp_path / "fleet", Way(timeout=300), busy_ok=True)
        assert (done.measured, dict(done.why_not), nodes.left_behind()) == (("n1",), {}, [])
    kept = read_measurements([tmp_path / "fleet" / "n1.measured.json"])
    assert {each.kernel for each in kept.results} >= {"membw", "memlat", "peakflops"}
