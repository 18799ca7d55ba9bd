import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.errors import BadInput
from advisor.measure.contract import read_kernels
from advisor.measure.task import read_measurements
from tests.cli.said import refused
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]
LISTED = '[ "$1" = --list ] && exec cat "$0.list"\n'
FAKE = (
    f"#!/bin/sh\n{LISTED}"
    """# A kernel that says what it was asked for: values that agree, pages on node 0.
name=${0##*/}; variants=chase; unit=seconds; values='[1e-7, 1e-7, 1e-7]'
while [ $# -gt 0 ]; do
  case $1 in --cpus) cpus=$2;; --pattern|--variants) variants=$2; unit=bytes/s; values='[1e10, 1e10, 1e10]';; esac
  shift
done
[ "$name" = peakflops ] && unit=flop/s
[ "$name" = c2c ] && variants=ping-pong
for each in $(echo "$variants" | tr , ' '); do
  [ "$each" = clock ] && unit=hertz
  printf '{"contract": 1, "kernel": "%s", "variant": "%s", "unit": "%s", "cpus": [%s], "values": %s}\\n' \\
    "$name" "${each%%:*}" "$unit" "$cpus" "$values"
done
"""
)


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """Return a folder of kernels that measure nothing."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("membw", "memlat", "c2c", "peakflops"):
        (folder / name).write_text(FAKE)
        (folder / name).chmod(0o755)
        (folder / f"{name}.list").write_text(read_kernels().sheet(name).model_dump_json())
    return folder


@pytest.fixture
def rome(tmp_path: Path) -> str:
    """Return a capture of two sockets of Rome in NPS4."""
    return str(write_archive("b-c6525-2x7702-nps4", tmp_path / "rome.tar.gz"))


def test_a_plan_for_another_machine_is_printed(rome: str, capsys: Capture) -> None:
    """The rows of the articles' tables, and how long it takes; nothing is run."""
    assert status(["measure", "membw", "--per", "numa", "--dry-run", "--from", rome, "--width", "120"]) == 0
    said = capsys.readouterr().out
    wanted = ("core 0", "L3 group 0", "NUMA node 7", "socket 0", "machine", "1 per L3", "same socket", "other socket")
    assert [words for words in wanted if words not in said] == []


def test_the_plan_as_json_says_what_is_run(rome: str, capsys: Capture) -> None:
    """Each task has its name, its CPUs and the kernel's arguments; the seconds add up."""
    assert status(["measure", "--dry-run", "--json", "--from", rome]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["schema"], plan["tasks"][0]["part"], plan["left_out"]) == ("advisor-measure-plan/1", "machine", [])
    assert plan["seconds"] == pytest.approx(sum(task["seconds"] for task in plan["tasks"]), abs=0.1)


def test_what_was_measured_is_shown_saved_and_shown_again(kernels: Path, tmp_path: Path, capsys: Capture) -> None:
    """The JSON, the file and what is read back from it are the same."""
    file = tmp_path / "m.json"
    line = ["measure", "membw", "--cpus", "0", "--busy-ok", "--kernels", str(kernels), "--save", str(file), "--json"]
    assert status(line) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(file.read_text()) == read_measurements([file]).model_dump(mode="json")
    assert (printed["results"][0]["variant"], printed["results"][0]["values"]) == ("load", [1e10, 1e10, 1e10])
    assert status(["measure", "show", str(file), "--width", "100"]) == 0
    assert "triad" in capsys.readouterr().out
    assert status(["measure", "--measurements", str(file), "--width", "100"]) == 0


def test_measurements_of_another_machine_are_refused(kernels: Path, tmp_path: Path, rome: str, capsys: Capture) -> None:
    """One line says in what they differ."""
    file = tmp_path / "m.json"
    assert status(["measure", "membw", "--cpus", "0", "--busy-ok", "--kernels", str(kernels), "--save", str(file)]) == 0
    capsys.readouterr()
    assert "measured " in refused(capsys, "measure", "--measurements", str(file), "--from", rome)


def test_a_kernel_that_is_wrong_gives_no_figure(kernels: Path, capsys: Capture) -> None:
    """Its one line is passed on; nothing was measured, so the status is 2."""
    (kernels / "membw").write_text(f"#!/bin/sh\n{LISTED}echo 'membw: the sum is wrong' >&2\nexit 1\n")
    said = refused(capsys, "measure", "membw", "--cpus", "0", "--busy-ok", "--kernels", str(kernels))
    assert said == "advisor: nothing was measured: its result was wrong: membw: the sum is wrong\n"


def test_ctrl_c_shows_what_is_done(kernels: Path, tmp_path: Path) -> None:
    """The first task is kept and saved, the second is missing, the status is 130 and no kernel is left."""
    file, mark = tmp_path / "m.json", tmp_path / "begun"
    (kernels / "memlat").write_text(f"#!/bin/sh\n{LISTED}touch {mark}\nexec sleep 60\n")
    line = [
        sys.executable,
        "-m",
        "advisor",
        "measure",
        "--cpus",
        "0",
        "--busy-ok",
        "--kernels",
        str(kernels),
        "--save",
        str(file),
    ]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if mark.exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    kept = read_measurements([file])
    assert (kept.results[0].kernel, {each.why for each in kept.missing}) == ("membw", {"stopped by Ctrl-C"})


def test_wrong_lines_are_told_in_one_line(rome: str, tmp_path: Path, capsys: Capture) -> None:
    """Each says what is wrong and what to do."""
    wrong = {
        ("menbw", "--dry-run"): "did you mean membw?",
        ("membw", "c2c"): "is an extra word",
        ("scaling", "--per", "numa"): "--per applies to membw",
        ("membw", "--pattern", "traid"): "did you mean triad?",
        ("--quick", "--full"): "--quick and --full cannot be combined",
        ("--from", rome): "only the local machine can be measured",
        ("--build-only",): "name it with -o DIR",
        ("--march", "znver4"): "--march requires --build-only",
        ("show",): "show FILE",
        ("show", str(tmp_path / "none")): "no such file",
        ("membw", "--cpus", "x", "--dry-run"): "is not a CPU or a range",
    }
    assert [words for words, said in wrong.items() if said not in refused(capsys, "measure", *words)] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"conditions": {}}',
        '{"conditions": {}, "schema_version": 9}',
        '{"conditions": 1, "schema_version": 1}',
    ],
)
def test_damaged_measurements_are_refused(text: str, tmp_path: Path) -> None:
    """Nothing else than one line comes of any file."""
    file = tmp_path / "m.json"
    file.write_text(text)
    with pytest.raises(BadInput, match=r"m\.json"):
        read_measurements([file])
