"""What other people's programs printed, as it stands in public: read right, or refused clearly, whatever stands around it.

published/ holds the layout and the figures of outputs in public repositories, pages and archives, made smaller; what is in each
was taken from its text by eye and stands in expected.yaml.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor.errors import BadInput
from advisor.measure.imports import read_runs
from advisor.measure.measurement import ImportedRun

FOLDER = Path(__file__).parent / "published"
EXPECTED: dict[str, Any] = yaml.safe_load((FOLDER / "expected.yaml").read_text())
UNITS = {
    "MB/s": 1e6, "GB/s": 1e9, "MiB/s": 2**20, "Gb/s": 1e9 / 8, "us": 1e-6, "ns": 1e-9, "GFLOP/s": 1e9, "M/s": 1e6, "GUP/s": 1e9,
}  # fmt: skip
WHOLE = [name for name, known in EXPECTED.items() if all("refused" not in run for run in known.get("runs", [{"refused": ""}]))]


def shown(run: ImportedRun) -> dict[str, Any]:
    """Return a run as the list of expectations has it."""
    if run.refused:
        return {"refused": run.refused}
    twice = {what for what, count in Counter((each.what, each.size, each.at) for each in run.figures).items() if count > 1}
    found = {}
    for each in run.figures:
        place = f" {each.at[0]}-{each.at[1]}" if each.at else "" if each.size is None else f" {each.size}"
        scope = f" {each.scope}" if (each.what, each.size, each.at) in twice or each.scope.endswith(" process") else ""
        scope = "" if each.what.startswith("ring") else scope
        found[f"{each.what}{place}{scope}"] = each.value
    return found


def wanted(run: dict[str, str]) -> dict[str, Any]:
    """Return an expected run in base units."""
    if "refused" in run:
        return run
    parts = {name: text.split() for name, text in run.items()}
    return {name: pytest.approx(float(value) * UNITS[unit], rel=1e-9) for name, (value, unit) in parts.items()}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_public_output_is_read_right_or_refused_clearly(name: str) -> None:
    """Every figure of every run, no other, and the reason where a run is refused."""
    known = EXPECTED[name]
    raw = (FOLDER / name).read_bytes()
    if "error" in known:
        with pytest.raises(BadInput, match=known["error"]):
            read_runs(raw)
        return
    runs = read_runs(raw)
    assert [shown(run) for run in runs] == [wanted(run) for run in known["runs"]]
    assert [known["note"] not in run.notes for run in runs] == [False] * len(runs) if "note" in known else True


def test_there_are_forty_public_outputs_and_more() -> None:
    """And each is described."""
    assert len(EXPECTED) >= 40
    assert {path.name for path in FOLDER.iterdir()} - {"expected.yaml"} == set(EXPECTED)


def each_line(before: str) -> Callable[[str], str]:
    """Return what puts a text before each line."""
    return lambda text: "".join(f"{before}{line}\n" for line in text.splitlines())


AROUND: dict[str, Callable[[str], str]] = {
    "mpirun --tag-output": each_line("[1,0]<stdout>:"),
    "prterun --output tag": each_line("[prterun-n01-4711@1,0]<stdout>: "),
    "mpiexec -prepend-rank": each_line("[0] "),
    "srun --label": each_line("0: "),
    "clush": each_line("n01: "),
    "grep -H": each_line("results/job-1.out:"),
    "ts": each_line("Nov 23 03:38:17 "),
    "kubectl logs --timestamps": each_line("2026-11-23T03:38:17.123456789Z "),
    "tee with a clock": each_line("[2026-11-23 03:38:17] "),
    "journalctl": each_line("Nov 23 03:38:17 n01 slurmstepd[4711]: "),
    "a label behind a stamp": each_line("2026-11-23T03:38:17Z n01: "),
    "quoted mail": each_line("> "),
    "quoted twice": each_line(">> "),
    "a page": lambda text: "".join(f'<span class="q">&gt; {line}</span><br>\n' for line in text.splitlines()),
    "Windows": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    "colours": lambda text: "".join(f"\x1b[1;32m{line}\x1b[0m\n" for line in text.splitlines()),
    "two ranks at once": lambda text: "".join(f"0: {line}\n1: NCCL INFO {at}\n" for at, line in enumerate(text.splitlines())),
    "a batch job": lambda text: f"Loading gcc/13\n  Loading requirement: zlib\n{text}\nslurmstepd: error: *** CANCELLED ***\n",
}
PAGES = ("a page", "quoted mail", "quoted twice")
QUOTED = ("nccl-quoted.txt", "perftest-commented.md", "imb-barrier-mail.txt", "imb-barrier-twice.html", "imb-pingpong-mail.html")
"""Have something of their own before each line; two ranks at once, where a line of one stands between those of the other."""
TAGGED = ("nccl-tagged.txt", "nccl-two-t4-tagged.txt", "hpcc-16-ranks.txt")


@pytest.mark.parametrize("how", AROUND)
def test_an_output_is_the_same_whatever_stands_before_its_lines(how: str) -> None:
    """Launchers, schedulers, loggers, mail and terminals."""
    different = []
    for name in WHOLE:
        if name in (*QUOTED, *TAGGED) or (how == "a page" and name.endswith(".md")):
            continue
        text = (FOLDER / name).read_text()
        if [run.figures for run in read_runs(AROUND[how](text).encode())] != [run.figures for run in read_runs(text.encode())]:
            different.append(name)
    assert different == []


@pytest.mark.parametrize("name", ["stream-in-notes.txt", "mlc-3.11b-tabs.md", "imb-2021.txt", "babelstream-one-thread.txt"])
def test_numbers_with_commas_are_refused_as_such(name: str) -> None:
    """12,345 is twelve or twelve thousand: the line is named, and what to do."""
    text = (FOLDER / name).read_text().replace(".", ",")
    (run,) = read_runs(text.replace("BabelStream 5,0", "BabelStream").encode())
    assert (run.figures, (run.refused or "").partition(": ")[2]) == (
        (),
        "its numbers contain commas (decimal or thousands): rerun with LC_ALL=C",
    )


def test_several_programs_in_one_file_are_each_read() -> None:
    """A job's output of four programs."""
    names = ("stream-in-notes.txt", "hpl-zen3-build.md", "osu-put.txt", "perftest-server-label.txt")
    text = "\n".join((FOLDER / name).read_text() for name in names)
    assert [run.format for run in read_runs(text.encode()) if run.refused is None] == ["stream", "hpl", "osu", "perftest"]
