"""Two runs of messages between hosts, compared. EVERY VALUE IS INVENTED."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from advisor.jobs.started.benchmark import Experiment
from advisor.machine.observer import Observer
from advisor.measure.measurement import Measurements, identity_of
from advisor.measure.task import Measured
from tests.cli.said import refused
from tests.machines.catalogue import write_archive
from tests.measure.test_contrast import result, run

Capture = pytest.CaptureFixture[str]
LAUNCHER = ("--launcher", "openmpi4", "--launcher-version", "4.1.4")


@pytest.fixture
def hosts(tmp_path: Path) -> list[str]:
    """Return the options of two hosts such as [000] had, away from this machine."""
    archive = str(write_archive("a-r7425-2x7601-dell", tmp_path / "node.tar.gz"))
    return ["--from", archive, "--hosts", "n1,n2", *LAUNCHER]


def saved(file: Path, *rates: tuple[int, float], **more: Any) -> str:
    """Save a run of some sizes, and return its file."""
    file.write_text(run(*(result(size, rate) for size, rate in rates), **more).model_dump_json())
    return str(file)


def test_two_files_are_compared(tmp_path: Path, capsys: Capture) -> None:
    """Compare prints what changed, as a page and as JSON."""
    old, new = saved(tmp_path / "old.json", (8, 1e7)), saved(tmp_path / "new.json", (8, 1.5e7), day=21)
    assert status(["compare", old, new, "--width", "100"]) == 0
    page = capsys.readouterr().out
    assert ("is 50 % higher" in page, "GB/s one way" in page) == (True, False)
    assert status(["compare", old, new, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["says"], row["before"]["number"], row["p"] < 0.001) == ("faster", 9, True)


def test_a_folder_of_captures_is_a_fleet(tmp_path: Path, capsys: Capture) -> None:
    """Two of its nodes can be compared, not the folder with a machine."""
    write_archive("a-r7425-2x7601-dell", tmp_path / "n1.tar.gz")
    assert "name two of its nodes: advisor compare n1 n2" in refused(capsys, "compare", tmp_path, "-")


def test_folders_are_compared_start_by_start(tmp_path: Path, capsys: Capture) -> None:
    """Each file of a folder is a start of one setting; a folder without files is refused."""
    for setting, rate in (("off", 1e7), ("on", 1.5e7), ("none", 0.0)):
        (tmp_path / setting).mkdir()
        for at in range(5 if rate else 0):
            saved(tmp_path / setting / f"{at}.json", (8, rate + 1e5 * at))
    folders = [str(tmp_path / setting) for setting in ("off", "on", "none")]
    assert status(["compare", *folders[:2], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["of"], found["rows"][0]["after"]["number"], found["rows"][0]["says"]) == ("starts", 5, "faster")
    assert "is measurements" in refused(capsys, "compare", *folders[1:])


def test_files_that_do_not_fit_are_refused(tmp_path: Path, capsys: Capture) -> None:
    """Runs of other sizes, or a comparison with nothing, are refused in one line."""
    old, new = saved(tmp_path / "old.json", (8, 1e7)), saved(tmp_path / "new.json", (64, 1e7))
    assert "messages of 8 bytes, but the later run with messages of 64 bytes" in refused(capsys, "compare", old, new)
    assert "--fail-on applies only to comparisons of machines" in refused(capsys, "compare", old, old, "--fail-on", "high")


def test_a_run_is_compared_with_an_earlier_one(
    hosts: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With network, --before prints what was measured and what changed; JSON has both, and is an input again."""
    earlier: list[Measurements] = []

    def measure(made: Experiment, _: Observer) -> Measured:
        now = run(result(8, 1.3e7), day=21).model_copy(update={"machine": identity_of(made.machine)})
        earlier.append(now)
        return Measured(now, machine=made.machine)

    monkeypatch.setattr("advisor.cli.commands.measure.measure_messages", measure)
    line = ["measure", "network", *hosts, "--sizes", "8"]
    assert status([*line, "--json", "--save", str(tmp_path / "old.json")]) == 0
    capsys.readouterr()
    slower = run(result(8, 1e7)).model_copy(update={"machine": earlier[0].machine})
    (tmp_path / "old.json").write_text(slower.model_dump_json())
    assert status([*line, "--before", str(tmp_path / "old.json"), "--width", "100"]) == 0
    page = capsys.readouterr().out
    assert ("Many pairs" in page, "is 30 % higher" in page) == (True, True)
    assert status([*line, "--before", str(tmp_path / "old.json"), "--json", "-o", str(tmp_path / "new.json")]) == 0
    document = json.loads((tmp_path / "new.json").read_text())
    assert (document["schema"], document["rows"][0]["says"]) == ("advisor-before-after/1", "faster")
    assert status(["measure", "show", str(tmp_path / "new.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document["measurements"]


UNLIKE = {
    "sizes": (
        ["--sizes", "64"],
        "the earlier run was measured with messages of 8 bytes, but the later run with messages of 64 bytes",
    ),
    "launcher": (["--sizes", "8", "--launcher", "mpich"], "with openmpi4 4.1.4, but the later run with mpich"),
    "cores": (["--sizes", "8", "--per", "numa"], "--before compares only runs that use all cores; omit --per"),
    "hosts": (["--sizes", "8", "--hosts", "n1,n3"], "between n1,n2, but the later run between n1,n3"),
    "nothing run": (["--dry-run"], "--dry-run and --before cannot be combined"),
}


@pytest.mark.parametrize("case", UNLIKE)
def test_what_would_not_fit_is_refused_before_it_runs(
    case: str, hosts: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier run of other things is told in one line, and nothing is measured."""
    monkeypatch.setattr("advisor.cli.commands.measure.measure_messages", lambda *_: pytest.fail("it was measured"))
    more, why = UNLIKE[case]
    old = saved(tmp_path / "old.json", (8, 1e7), name="r7425")
    kept = [word for at, word in enumerate(hosts) if not {word, hosts[at - 1]} & {*more[::2]}]
    assert why in refused(capsys, "measure", "network", *kept, "--before", old, *more)


def test_what_cannot_be_compared_is_shown_all_the_same(
    hosts: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that Ctrl-C cut short is printed; one line says that it is not compared, and the status is that of Ctrl-C."""
    old = saved(tmp_path / "old.json", (8, 1e7), name="r7425")
    cut = run(name="r7425").model_copy(update={"results": ()})
    monkeypatch.setattr("advisor.cli.commands.measure.measure_messages", lambda *_: Measured(cut, interrupted=True))
    assert status(["measure", "network", *hosts, "--sizes", "8", "--before", old]) == 130
    said = capsys.readouterr()
    assert ("Nothing was measured" in said.out, "not compared: the run after has no valid" in said.err) == (True, True)
