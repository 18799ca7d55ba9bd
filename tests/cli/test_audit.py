import contextlib
import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from advisor.machine.read import read_machine
from tests.cli import said
from tests.examples import a_third
from tests.judge.measuring import World, measured
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]
NAME = "b-c6525-2x7702-nps1"

RULES = """
- id: site-small
  title: A small machine
  severity: medium
  when: shape.sockets < 3
  say: "{shape.sockets} sockets"
  why: It is a test.
  set: {numa.nps: 4}
  check: advisor topology
  refs: [site]
  tests: [{given: {shape.sockets: 2}, expect: finding}]
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive of a Rome server cut NPS1."""
    file = tmp_path_factory.mktemp("audit") / "node.tar.gz"
    write_archive(NAME, file)
    return file


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a site's rule file with one rule that finds something on every machine."""
    file = tmp_path / "site.yaml"
    file.write_text(RULES)
    return file


def document(arguments: list[str], capsys: Capture) -> dict[str, Any]:
    """Return the document of an audit."""
    return said.document(capsys, "audit", "--json", *arguments)


def test_one_screen(archive: Path, site: Path, capsys: Capture) -> None:
    """The audit names the machine, a finding with its step, and where to go next."""
    assert status(["audit", "--from", str(archive), "--rules", str(site), "--width", "100"]) == 0
    text = capsys.readouterr().out
    wanted = (
        "PowerEdge C6525",
        "NUMA nodes per socket",
        " 2 MEDIUM 2 sockets",
        "NumaNodesPerSocket",
        " with --scope mpi: ",
        "MORE      advisor checklist --only 1 --as racadm --from",
    )
    assert [word for word in wanted if word not in text] == []


def test_everything(archive: Path, site: Path, capsys: Capture) -> None:
    """--verbose adds reasons, steps with their way back, what passed, and every fact."""
    assert status(["audit", "-v", "--from", str(archive), "--rules", str(site)]) == 0
    text = capsys.readouterr().out
    assert [word for word in ("It is a test.", "UNDO ", "Passed", "bios_version", "numa.nps") if word not in text] == []


def test_findings_alone_are_no_failure(archive: Path, site: Path) -> None:
    """Without --fail-on an audit that found something ends with 0, with it with 1."""
    line = ["audit", "--from", str(archive), "--rules", str(site)]
    assert (status(line), status([*line, "--fail-on", "medium"])) == (0, 1)


def test_the_scope_is_what_is_judged_for(archive: Path, site: Path, capsys: Capture) -> None:
    """--scope is in the document and in the commands to go on with."""
    assert document(["--from", str(archive), "--scope", "hpl"], capsys)["scope"] == "hpl"
    status(["audit", "--from", str(archive), "--scope", "hpl", "--rules", str(site), "--width", "200"])
    assert re.search(r"advisor checklist --only \S+ --as racadm --from \S+ --scope hpl", capsys.readouterr().out)


def test_only_a_topic(archive: Path, site: Path, capsys: Capture) -> None:
    """--topic leaves the rules of that topic, and the settings they look at."""
    data = document(["--from", str(archive), "--rules", str(site), "--topic", "site"], capsys)
    assert ({each["id"] for each in data["verdicts"]}, [row["name"] for row in data["settings"]]) == (
        {"site-small"},
        ["numa.nps"],
    )


def test_a_topic_that_is_none(archive: Path, capsys: Capture) -> None:
    """A topic without rules is refused, the nearest named."""
    assert status(["audit", "--from", str(archive), "--topic", "numaa"]) == 2
    assert "did you mean numa?" in capsys.readouterr().err


def test_the_bios_tells_its_settings(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """--bios gives what only the BIOS knows; a second file what waits for the next boot."""
    now, then = tmp_path / "bios.json", tmp_path / "settings.json"
    now.write_text(json.dumps({"Attributes": {"NumaNodesPerSocket": "1", "LogicalProc": "Enabled"}}))
    then.write_text(json.dumps({"Attributes": {"NumaNodesPerSocket": "4"}}))
    data = document(["--from", str(archive), "--bios", str(now), "--bios", str(then)], capsys)
    row = next(row for row in data["settings"] if row["name"] == "numa.nps")
    assert (row["current"], row["bios"], row["pending"]) == ("1", "1", "4")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"Attributes": 3}', "\xff"])
def test_what_is_no_bios(text: str, archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """A file that is no Bios resource is named in one line."""
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="latin-1")
    assert status(["audit", "--from", str(archive), "--bios", str(file)]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), str(file) in error) == (1, True), error


def test_four_bios_files(archive: Path, capsys: Capture) -> None:
    """A fourth --bios is refused: there are the resource, its settings and its registry."""
    assert status(["audit", "--from", str(archive), *["--bios", str(archive)] * 4]) == 2
    assert "is given 4 times" in capsys.readouterr().err


def test_the_document_is_an_input(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """The JSON of one audit is the input of the next, with the same answer."""
    first = document(["--from", str(archive)], capsys)
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(first))
    assert document(["--from", str(file)], capsys) == first


@pytest.fixture(scope="module")
def measurements(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return measurements of that server, one NUMA node of which is slow."""
    file = tmp_path_factory.mktemp("measured") / "measured.json"
    world = World(node=150e9, core=12e9, nodes={1: 0.7})
    file.write_text(measured(read_machine(str(archive)), world).model_dump_json())
    return file


def test_measurements_are_judged_too(archive: Path, measurements: Path, capsys: Capture) -> None:
    """--measurements brings findings with a cost measured here, and goes on in the commands to go on with."""
    line = ["audit", "--from", str(archive), "--measurements", str(measurements), "--width", "250"]
    assert status(line) == 0
    text = capsys.readouterr().out
    wanted = ("NUMA node 1 reaches", "(measured-node-slow)", "30 % of the bandwidth of that node's ranks, measured",
              "measured 2026-11-21 12:00", f"--measurements {measurements}")  # fmt: skip
    assert [word for word in wanted if word not in text] == []
    assert ("measure --quick" in text, status([*line, "--fail-on", "high"])) == (False, 1)


@pytest.mark.parametrize("folder", [".", "a-folder-with-a-long-name-that-fills-most-of-a-line/and-one-more"])
def test_three_faults_and_a_file_of_measurements_are_one_screen(
    folder: str, archive: Path, measurements: Path, tmp_path: Path, capsys: Capture
) -> None:
    """The first fix in full, the others in a line, what was measured, and the next command with its files: 24 lines."""
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(tmp_path):
        files = [shutil.copy(each, Path(folder) / each.name) for each in (archive, measurements)]
        assert status(["audit", "--from", str(files[0]), "--measurements", str(files[1]), "--width", "80"]) == 0
    text = capsys.readouterr().out
    wanted = ("FIX 3 THINGS", "\n 1 HIGH ", "\n   fix ", "\n 2 HIGH ", "\n 3 MEDIUM ", "\nMEASURED ", "\nMORE ")
    assert ([word for word in wanted if word not in text], len(text.splitlines()) <= 24) == ([], True), text


def test_without_measurements_one_line_says_so(archive: Path, capsys: Capture) -> None:
    """All rules that wait for them are one line."""
    assert status(["audit", "--from", str(archive), "--width", "120"]) == 0
    assert capsys.readouterr().out.count("advisor measure --quick") == 1


@pytest.mark.parametrize("arguments", [["audit"], ["explain", "measured-node-slow"], ["checklist"]])
def test_measurements_of_another_machine(arguments: list[str], measurements: Path, tmp_path: Path, capsys: Capture) -> None:
    """Another cut of the same machine is refused in one line, by every command that judges."""
    other = tmp_path / "other.tar.gz"
    write_archive("b-c6525-2x7702-nps4", other)
    assert status([*arguments, "--from", str(other), "--measurements", str(measurements)]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), "measured with 2 NUMA nodes, but the machine now has 8" in error) == (1, True), error


def test_explain_and_checklist_take_measurements(archive: Path, measurements: Path, capsys: Capture) -> None:
    """The values behind a measured rule, and the line of the checklist."""
    options = ["--from", str(archive), "--measurements", str(measurements)]
    assert status(["explain", "measured-node-slow", *options]) == 0
    assert "measured 2026-11-21 12:00 (advisor measure)" in capsys.readouterr().out
    assert status(["checklist", "--todo", *options]) == 0
    text = capsys.readouterr().out
    assert ("NUMA node 1 reaches 105 GB/s triad, the others 150 GB/s" in text, "Nothing was measured" in text) == (True, False)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": 9, "conditions": {}}', "\xff"])
def test_what_are_no_measurements(text: str, archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """A file that holds no measurements is named in one line."""
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="latin-1")
    assert status(["audit", "--from", str(archive), "--measurements", str(file)]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), str(file) in error) == (1, True), error


def test_a_run_of_a_log_that_cannot_be_used_is_told(tmp_path: Path, capsys: Capture) -> None:
    """The good run counts; that the other failed its own check is no secret."""
    failed = (Path(__file__).parents[1] / "imports" / "outputs" / "stream-failed.txt").read_text().replace("= 64", "= 128")
    good = re.sub(r"Failed Validation.*", "Solution Validates: avg error less than 1.0e-13 on all three arrays", failed)
    (tmp_path / "stream.log").write_text(good + failed)
    file = write_archive("b-c6525-2x7702-nps4", tmp_path / "node.tar.gz")
    assert status(["audit", "--from", str(file), "--measurements", str(tmp_path / "stream.log")]) in (0, 1)
    out, error = capsys.readouterr()
    assert ("triad 263" in out, "stream.log: one run was skipped: " in error, error.count("\n")) == (True, True, 1), error


def test_in_the_locale_c(archive: Path) -> None:
    """In the locale C the audit is ASCII."""
    line = [sys.executable, "-m", "advisor", "audit", "--from", str(archive)]
    assert subprocess.run(line, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, capture_output=True, check=True).stdout.isascii()


_WRITES = re.compile(
    r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|\b(rename|renameat2?|unlink|unlinkat|mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat"
    r"|truncate|ftruncate|chmod|fchmod|fchmodat|chown|fchown|fchownat|mknod|mknodat|setxattr|utimensat|mount|umount2|reboot"
    r"|sethostname|init_module|finit_module|delete_module|sched_setscheduler|setpriority)\("
)
_HARMLESS = re.compile(r'"/dev/(null|tty)"|= -1 |SIG')


READS_ONLY = [
    ["audit", "--no-measure"],
    ["audit", "--no-measure", "-v"],
    ["audit", "--no-measure", "--json"],
    ["explain", "numa-nps-below-best"],
]


@pytest.mark.parametrize("arguments", a_third(READS_ONLY))
def test_nothing_is_written(arguments: list[str], tmp_path: Path) -> None:
    """Under a tracer an audit of this machine, with its rules, opens no file for writing and changes nothing."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed (Debian: strace)")
    log, line = tmp_path / "log", [sys.executable, "-B", "-m", "advisor", *arguments]
    traced = [strace, "-f", "-qq", "-e", "trace=file,desc,process", "-o", str(log)]
    done = subprocess.run([*traced, *line], capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("this machine does not let a process be traced")
    assert done.returncode == 0, done.stderr
    lines = log.read_text(errors="replace").splitlines()
    assert len(lines) > 100
    assert [each for each in lines if _WRITES.search(each) and not _HARMLESS.search(each)] == []


def test_the_output_is_all_that_is_written(archive: Path, tmp_path: Path) -> None:
    """-o writes the one file that it names."""
    assert status(["audit", "--from", str(archive), "-o", str(tmp_path / "x.txt")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def spent() -> float:
    """Return the seconds that the processes this one started have computed: a busy machine does not lengthen them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
def test_it_is_quick(tmp_path: Path) -> None:
    """The audit of a machine with 256 CPUs takes less than two seconds of computing."""
    file = tmp_path / "node.tar.gz"
    write_archive("b-c6525-2x7702-nps4-smt", file)
    times = []
    for _ in range(3):
        begun = spent()
        subprocess.run([sys.executable, "-m", "advisor", "audit", "--from", str(file)], capture_output=True, check=True)
        times.append(spent() - begun)
    assert min(times) < 2


def test_what_racadm_stages_must_be_committed_too(tmp_path: Path, capsys: Capture) -> None:
    """A restart alone changes nothing of it: the screen says so, and where the line stands that restarts at once."""
    node = write_archive("b-c6525-2x7702-nps1", tmp_path / "node.tar.gz")
    shown = said.printed(capsys, "audit", "--from", node, "--width", "200")
    assert "then   racadm jobqueue create BIOS.Setup.1-1 -r pwrcycle" in shown


def test_one_part_of_the_whole_audit_is_shown(tmp_path: Path, capsys: Capture) -> None:
    """--show memory has what is about memory and nothing else; a part has its own heading; another word is refused first."""
    node = write_archive("b-c6525-2x7702-nps1", tmp_path / "node.tar.gz")
    memory = said.printed(capsys, "audit", "--from", node, "--show", "memory", "--width", "120")
    assert [word in memory for word in ("memory.speed", "memory-below-rated", "dimms", "cpu-smt", "os.thp")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    settings = said.printed(capsys, "audit", "--from", node, "--show", "settings,passed", "--width", "120")
    assert [word in settings for word in ("Settings  for mpi", "Passed ", "Not known", "Findings")] == [True, True, False, False]
    refusal = said.refused(capsys, "audit", "--from", node, "--show", "memry")
    assert refusal == "advisor: there is no audit part memry; did you mean memory?\n"
