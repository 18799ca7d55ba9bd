"""Acceptance contracts: what is refused, what each line comes to, and that the document alone gives the same verdicts."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from advisor.cli.main import status
from advisor.errors import AdvisorError
from advisor.exports.contract import EXAMPLE, Has, Term, accept, read_contract, verdict_of
from tests.browser import Look, invalid, needs_browser, open_page
from tests.reports import source_of

DOCS: Final = Path(__file__).parents[2] / "docs" / "contract.md"


Measured = tuple[str, tuple[Path, ...]]


@pytest.fixture(scope="module")
def rome(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Return two EPYC 7702 with NPS4, and what was measured on them."""
    return source_of("rome-nps4", tmp_path_factory.mktemp("rome"))


def written(folder: Path, *lines: str, head: str = "repeats: 3\n") -> Path:
    """Return the file of a contract with some lines."""
    file = folder / "tender.yaml"
    file.write_text(f"contract: 1\n{head}lines:\n" + "".join(f"  - {line}\n" for line in lines))
    return file


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["it feels fast"], "line 4: 'it feels fast' cannot be measured or read"),
        (["traid >= 290 GB/s"], "line 4: traid is not a measured figure; did you mean triad"),
        (["triad >= 290 ns"], "line 4: triad is measured in bytes/s, not 290 ns"),
        (["triad >= 90 %"], "line 4: 90 % of what?; write: triad >= 90 % of ceiling"),
        (["hpl >= 3 TFLOP/s on each core"], "line 4: hpl applies to whole nodes, not to one core"),
        (["triad >= 290 GB/s on 4 nodes"], "line 4: triad is for one node"),
        (
            ["osu_bw >= 24 GB/s on 2 nodes"],
            "line 4: osu_bw is measured between two nodes like this one; write: osu_bw >= 24 GB/s",
        ),
        (["triad >= 9 % of ceiling on each core"], "line 4: the ceiling for one core is unknown"),
        (["triad >= 290 GB/s, on Sundays"], "line 4: 'on Sundays' is not a condition"),
        (["no finding above lo"], "line 4: lo is not a severity"),
        (["triad >= 290 GB/s", "triad <= 200 GB/s"], "line 5: triad <= 200 GB/s contradicts line 4"),
        (["NPS4", "NPS2, SMT off"], "line 5: NPS2, SMT off contradicts line 4: NPS4"),
        (["numa.npx = 4"], "line 4: numa.npx is not a setting; did you mean numa.nps?"),
        (["numa.nps = 4", "numa.nps = 1"], "line 5: numa.nps = 1 contradicts line 4"),
        (["every DIMM at 3200", "every DIMM at 2933 MT/s"], "line 5: every DIMM at 2933 MT/s contradicts line 4"),
    ],
)
def test_a_line_that_nothing_can_show_is_refused_by_its_number(lines: list[str], problem: str, tmp_path: Path) -> None:
    """Before anything is read; one sentence that says what is wrong and what to write."""
    with pytest.raises(AdvisorError) as raised:
        read_contract(written(tmp_path, *lines))
    assert problem in str(raised.value)


def test_a_tender_may_say_it_in_its_own_words(tmp_path: Path) -> None:
    """At least and at most, all DIMMs, no finding of a severity: the same as the signs and words of the example."""
    plain = ("triad at least 290 GB/s", "latency at most 120 ns", "all DIMMs at 3200 MT/s", "no finding of high severity")
    signs = ("triad >= 290 GB/s", "latency <= 120 ns", "every DIMM at 3200", "no finding above medium")
    read = [[line._replace(text="") for line in read_contract(written(tmp_path, *lines)).lines] for lines in (plain, signs)]
    assert read[0] == read[1]


def test_lines_about_other_conditions_do_not_contradict(tmp_path: Path) -> None:
    """A floor with NPS4 and a limit with NPS1 may both hold."""
    lines = ("triad >= 290 GB/s, NPS4", "triad <= 200 GB/s, NPS1", "triad >= 10 GB/s on each core", "triad <= 900 GB/s")
    assert [each.text for each in read_contract(written(tmp_path, *lines)).lines] == list(lines)


def test_the_example_is_a_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What --example prints is read again, and has a line of each form."""
    assert status(["report", "--contract", "--example"]) == 0
    (tmp_path / "tender.yaml").write_text(capsys.readouterr().out)
    assert len(read_contract(tmp_path / "tender.yaml").lines) == EXAMPLE.count("\n  - ")


LINES: Final = {
    "triad >= 280 GB/s on one node, NPS4": "passed",
    "triad >= 290 GB/s on one node, NPS4": "failed",
    "triad >= 280 GB/s on one node, NPS1": "not shown",
    "triad >= 280 GB/s on one node, 50 repeats": "not shown",
    "triad >= 70 % of ceiling on each socket": "passed",
    "triad >= 71 % of ceiling on each socket": "failed",
    "triad >= 30 GB/s on each NUMA node": "passed",
    "triad >= 37 GB/s on each NUMA node": "failed",
    "latency <= 120 ns on each NUMA node": "passed",
    "latency <= 10 ns on each NUMA node": "failed",
    "hpl >= 3.1 TFLOP/s": "passed",
    "hpl >= 31 TFLOP/s": "failed",
    "hpl >= 10 TFLOP/s on 4 nodes": "not shown",
    "hpl >= 70 % of peak": "passed",
    "osu_bw >= 12 GB/s": "passed",
    "osu_bw >= 24 GB/s": "failed",
    "every DIMM at 3200": "passed",
    "every DIMM at 2933 MT/s": "failed",
    "no finding above low": "not shown",
    "no memory-below-rated": "passed",
    "identical over the fleet within 3 %": "not shown",
    "NPS 4, SMT off": "passed",
    "numa.nps = 1": "failed",
    "cpu.smt = off": "passed",
    "power.boost = on": "not shown",
}


def test_each_line_comes_to_what_was_measured_under_its_conditions(rome: Measured, tmp_path: Path) -> None:
    """Two EPYC 7702 with NPS4: 288 GB/s, 100 ns, 4.15 TFLOP/s, 12.3 GB/s between hosts."""
    source, measured = rome
    contract = [line for line in LINES if line != "every DIMM at 2933 MT/s"]
    found = accept(written(tmp_path, *contract), (source,), measurements=measured).lines
    other = accept(written(tmp_path, "every DIMM at 2933 MT/s"), (source,), measurements=measured).lines
    assert {each.text: each.verdict for each in (*found, *other)} == LINES


def test_of_findings_a_contract_may_count_only_checks_that_were_answered(rome: Measured, tmp_path: Path) -> None:
    """checks: known passes what checks: all leaves not shown."""
    source, measured = rome
    file = written(tmp_path, "no finding above low", head="checks: known\n")
    assert accept(file, (source,), measurements=measured).verdict == "passed"


def test_nothing_measured_names_the_command_that_shows_it(rome: Measured, tmp_path: Path) -> None:
    """Each kind of line its own."""
    source, _ = rome
    lines = ("triad >= 1 GB/s", "hpl >= 1 GFLOP/s", "osu_bw >= 1 GB/s")
    found = accept(written(tmp_path, *lines), (source,)).lines
    assert [(each.verdict, each.evidence, each.show) for each in found] == [
        ("not shown", "triad: not measured", "advisor measure --quick"),
        ("not shown", "hpl: not measured", "advisor measure hpl"),
        ("not shown", "osu_bw: not measured", "advisor measure network --hosts A,B"),
    ]


@pytest.mark.slow
def test_two_states_show_each_line_before_and_after(tmp_path: Path) -> None:
    """NPS1 fails what NPS4 passes; the second state decides."""
    (one, first), (two, second) = source_of("rome-nps1", tmp_path), source_of("rome-nps4", tmp_path)
    found = accept(written(tmp_path, "triad >= 250 GB/s"), (one, two), measurements=(*first, *second))
    assert [(each.before, each.verdict) for each in found.lines] == [("failed", "passed")]


def checked_again(document: Path) -> list[str]:
    """Return what the program of docs/contract.md prints of a document."""
    program = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert program
    done = subprocess.run([sys.executable, "-I", "-c", program[1], document], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_document_alone_gives_every_verdict_again(rome: Measured, tmp_path: Path) -> None:
    """By the program in the manual, which imports nothing of ours."""
    source, measured = rome
    contract = [line for line in LINES if line != "every DIMM at 2933 MT/s"]
    found = accept(written(tmp_path, *contract), (source,), measurements=measured)
    (tmp_path / "accepted.json").write_text(found.text("json"))
    assert checked_again(tmp_path / "accepted.json") == [f"{at} {LINES[line]} agrees" for at, line in enumerate(contract, 4)]


def test_junit_fails_what_failed_and_skips_what_is_not_shown(rome: Measured, tmp_path: Path) -> None:
    """One case a line."""
    source, measured = rome
    text = accept(written(tmp_path, *list(LINES)[:3]), (source,), measurements=measured).text("junit")
    assert [text.count(word) for word in ("<testcase", "<failure", "<skipped", 'failures="1"')] == [3, 1, 1, 1]


def test_the_command_writes_what_the_name_asks_and_fails_unless_all_passed(rome: Measured, tmp_path: Path) -> None:
    """The exit status is 1 where a line failed or is not shown."""
    source, measured = rome
    words = ["report", "--from", source, "--measurements", str(measured[0]), "-o", str(tmp_path / "accepted.xml")]
    good = status([*words, "--contract", str(written(tmp_path, "triad >= 280 GB/s"))])
    bad = status([*words, "--contract", str(written(tmp_path, "triad >= 380 GB/s"))])
    assert (good, bad, "<failure" in (tmp_path / "accepted.xml").read_text()) == (0, 1, True)


def fleet_of(folder: Path, names: dict[str, str]) -> Path:
    """Return a fleet's folder with a capture of a made machine for each name."""
    fleet = folder / "fleet"
    fleet.mkdir()
    for node, machine in names.items():
        source, measured = source_of(machine, folder)
        (fleet / f"{node}.tar.gz").write_bytes(Path(source).read_bytes())
        for file in measured:
            (fleet / f"{node}.measured.json").write_bytes(file.read_bytes())
    return fleet


@pytest.mark.slow
def test_every_node_of_a_fleet_must_pass(tmp_path: Path) -> None:
    """The node that fails is named; nodes cut in another way are not alike."""
    fleet = fleet_of(tmp_path, {"n1": "rome-nps4", "n2": "rome-nps1"})
    lines = ("triad >= 250 GB/s", "latency <= 200 ns on each NUMA node", "identical over the fleet within 3 %")
    found = accept(written(tmp_path, *lines), (str(fleet),)).lines
    assert [each.verdict for each in found] == ["failed", "passed", "failed"]


@pytest.mark.slow
def test_a_vendor_gets_every_verdict_and_no_name(tmp_path: Path) -> None:
    """Nodes and files are numbered in the order of both lists, in every format; the verdicts stay what they were."""
    fleet = fleet_of(tmp_path, {"nodeone": "rome-nps4", "nodetwo": "rome-nps1"})
    contract = written(tmp_path, "triad >= 250 GB/s", "every DIMM at 2933", "identical over the fleet within 3 %")
    own, told = (accept(contract, (str(fleet),), audience=audience) for audience in ("internal", "vendor"))
    texts = [told.text(form) for form in ("html", "md", "json", "junit")]
    assert [each.verdict for each in told.lines] == [each.verdict for each in own.lines]
    assert [(own.machines[0] in text, "node 2" in text) for text in texts] == [(False, True)] * 4
    assert told.machines == ("node 1", "node 2")
    assert [name for name, _ in told.inputs] == ["input 1", "input 2", "input 3", "input 4"]


STREAM = (
    "STREAM version $Revision: 5.10 $\nArray size = 800000000 (elements)\nNumber of Threads counted = 128\n"
    "Copy: 237301.2 0.0541 0.0539 0.0543\nScale: 237301.2 0.0541 0.0539 0.0543\n"
    "Add: 237301.2 0.0811 0.0809 0.0813\nTriad: 237301.2 0.0811 0.0809 0.0813\n"
    "Solution Validates\n"
)


def test_a_stream_file_counts_where_the_contract_allows_it(rome: Measured, tmp_path: Path) -> None:
    """Otherwise its line is open, and says what would have to be allowed; with its place among what others published."""
    file = tmp_path / "stream.txt"
    file.write_text(STREAM)
    strict, lenient = (
        accept(written(tmp_path, "triad >= 290 GB/s", head=head), (rome[0],), measurements=(file,)).lines[0]
        for head in ("repeats: 3\n", "repeats: 1\nidle: any\n")
    )
    assert (strict.verdict, lenient.verdict) == ("not shown", "failed")
    assert strict.evidence.endswith("output of another program counts only in a contract with repeats: 1, idle: any")
    assert "of the 270 to 300 GB/s published for 2 x EPYC 7702" in lenient.evidence
    assert "STREAM 5.10 reports the best of its runs" in lenient.evidence
    more = accept(written(tmp_path, "triad >= 290 GB/s, 5 repeats", head="repeats: 1\n"), (rome[0],), measurements=(file,)).lines[
        0
    ]
    assert "counts only" not in more.evidence


def test_a_term_with_an_unknown_value_never_passes() -> None:
    """Unknown beside right is unknown; unknown beside wrong is wrong; without any value nothing is shown."""

    def came_to(*values: float | None, condition: bool = False) -> str:
        has = tuple(Has(where="x", value=value) for value in values)
        return verdict_of([Term(what="x", op=">=", wants=1.0, has=has, condition=condition)])

    assert [came_to(1, 2), came_to(1, None), came_to(0, None), came_to()] == ["passed", "not shown", "failed", "not shown"]
    assert came_to(0, condition=True) == "not shown"


@needs_browser
@pytest.mark.slow
def test_the_page_is_sound_in_a_browser(rome: Measured, tmp_path: Path) -> None:
    """No violation, no request, nothing wider than its window, light, dark and narrow."""
    source, measured = rome
    contract = [line for line in LINES if line != "every DIMM at 2933 MT/s"]
    page = tmp_path / "accepted.html"
    page.write_text(accept(written(tmp_path, *contract), (source,), measurements=measured).text("html"))
    looks: list[dict[str, Any]] = open_page(page, [Look(axe=True), Look("dark", axe=True), Look(width=320)])
    wide = [look["scroll_width"] for look in looks if look["scroll_width"] > look["width"]]
    assert ([look.get("violations") for look in looks[:2]], wide, [look["requests"] for look in looks], invalid(page)) == (
        [[], []], [], [[], [], []], [],
    )  # fmt: skip
