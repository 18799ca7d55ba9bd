import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from advisor.cli.main import status
from tests.fakenode import hydra
from tests.fakenode.run import PROGRAMS

Capture = pytest.CaptureFixture[str]
PLAN = {
    "schema": "advisor-plan/1",
    "ranks": [
        {"rank": 0, "host": None, "local": 0, "cpus": "0", "memory": [0]},
        {"rank": 1, "host": None, "local": 1, "cpus": "1", "memory": [0]},
    ],
}
LINE = "ADVISOR-RANK rank={} size=2 local={} host=n1 pid=1 cpus={} mems=0 policy=default last=0 ucx=- omp=- gpu=-\n"
FAKE = """#!/bin/sh
# A launcher of two ranks: each sees the CPUs that taskset gave this script.
while [ "$1" != -- ]; do shift; done
shift
PMI_RANK=0 PMI_SIZE=2 "$@" &
PMI_RANK=1 PMI_SIZE=2 "$@" &
wait
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """Return a plan of two ranks on CPUs 0 and 1."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(PLAN))
    return str(file)


@pytest.fixture
def fake(tmp_path: Path) -> str:
    """Return a launcher that binds nothing."""
    file = tmp_path / "fakerun"
    file.write_text(FAKE)
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def mpirun(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return Open MPI 4's mpirun, allowed to run here; skip where it is not installed or there are not two CPUs."""
    program = shutil.which("mpirun")
    if program is None or b"(Open MPI) 4." not in subprocess.run([program, "--version"], capture_output=True, check=False).stdout:
        pytest.skip("Open MPI 4 is not installed")
    if {0, 1} - os.sched_getaffinity(0):
        pytest.skip("CPUs 0 and 1 are not both this process's")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    return program


def test_a_real_launch_is_as_planned(mpirun: str, plan: str, capsys: Capture) -> None:
    """Open MPI 4 binds two ranks to their cores, and says so without being asked: tagged lines are read."""
    assert status(["verify", "--plan", plan, "--", mpirun, "-np", "2", "--tag-output", "--bind-to", "core", "./app", "x"]) == 0
    assert capsys.readouterr().out.startswith("as planned: all 2 ranks")


def test_a_real_launch_that_binds_otherwise_is_told(mpirun: str, plan: str, capsys: Capture) -> None:
    """Unbound ranks, a rank too few, and ranks together on one core are told apart, with status 1."""
    assert status(["verify", "--json", "--plan", plan, "--", mpirun, "-np", "2", "--bind-to", "none", "{}"]) == 1
    loose = json.loads(capsys.readouterr().out)
    assert status(["verify", "--json", "--plan", plan, "--", mpirun, "-np", "1", "--bind-to", "core", "{}"]) == 1
    few = json.loads(capsys.readouterr().out)
    line = [mpirun, "-np", "2", "--bind-to", "none", "taskset", "-c", "0", "{}"]
    assert status(["verify", "--json", "--plan", plan, "--", *line]) == 1
    piled = json.loads(capsys.readouterr().out)
    causes = [[(cause["id"], cause["ranks"]) for cause in each["causes"]] for each in (loose, few, piled)]
    wide = "unbound" if len(os.sched_getaffinity(0)) == os.cpu_count() else causes[0][0][0]
    assert causes == [[(wide, "0-1")], [("missing", "1")], [("stacked", "1")]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ["--host", "localhost:1", "-np", "2", "{}"],
            (
                "the launcher has fewer slots than the 2 requested; run this inside the job, or give each host its slots: "
                "--host NAME:RANKS, or NAME slots=RANKS in the hostfile"
            ),
        ),
        (
            ["--host", "NODE1:2", "-np", "2", "{}"],
            (
                "NODE1 is a placeholder for a host whose name was unknown; plan again with --hosts, or inside the job:"
                " advisor bind --hosts a,b -o DIR -- ./app"
            ),
        ),
        (
            ["--host", "no-such-host:2", "-np", "2", "{}"],
            "host no-such-host is unknown here; check the names with getent hosts no-such-host, and plan again with --hosts",
        ),
        (
            ["-np", "1", "./nosuch", "{}"],
            (
                "./nosuch cannot be started on a host; give a path that is the same on every host, "
                "or load the program's module on each host"
            ),
        ),
    ],
)
def test_a_real_launcher_that_starts_nothing_says_why(
    line: list[str], message: str, mpirun: str, plan: str, capsys: Capture
) -> None:
    """Slots, hosts that only stand for hosts, hosts that nobody knows, a missing program: one line with the cure."""
    if "such-host" in message or "NODE1" in message:
        shutil.which("ssh") or pytest.skip("ssh is not installed")
    assert status(["verify", "--plan", plan, "--timeout", "60", "--", mpirun, *line]) == 2
    assert capsys.readouterr().err == f"advisor: no rank has reported; {message}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_a_launcher_that_refuses_root_is_named(mpirun: str, plan: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Open MPI starts nothing as root unless it is told twice: the line says both."""
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.delenv(name)
    assert status(["verify", "--plan", plan, "--", mpirun, "-np", "2", "{}"]) == 2
    why = "mpirun refuses to start as root; run it as another user, or in a container set OMPI_ALLOW_RUN_AS_ROOT=1 and"
    assert capsys.readouterr().err == f"advisor: no rank has reported; {why} OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"


@pytest.mark.parametrize("launcher", ["openmpi5", "mpich", "intelmpi"])
def test_other_launchers_name_the_host_that_is_none(
    launcher: str, plan: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Open MPI 5, MPICH and Intel MPI, each in its own words, fail for the same host; what is said of it names that host."""
    assert hydra  # its import makes MPICH and Intel MPI known
    program = PROGRAMS[launcher]()
    if not program or not shutil.which("ssh"):
        pytest.skip(f"{launcher} or ssh is not installed")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    hosts = ["--host", "no-such-host:2"] if launcher == "openmpi5" else ["-hosts", "no-such-host"]
    assert status(["verify", "--plan", plan, "--", program, *hosts, "-n", "2", "{}"]) == 2
    cause = "Intel MPI cannot start on no-such-host;" if launcher == "intelmpi" else "host no-such-host is unknown here;"
    assert f"advisor: no rank has reported; {cause}" in capsys.readouterr().err


def test_what_bind_writes_is_proven(mpirun: str, tmp_path: Path, capsys: Capture) -> None:
    """The folder of advisor bind is all that is needed, for the short form, the rankfile and the wrapper."""
    for form in ([], ["--exact"], ["--wrapper"]):
        folder = str(tmp_path / f"job{len(form)}{''.join(form)}")
        launcher = ["--launcher", "openmpi", "--launcher-version", "4.1.4"]
        assert status(["bind", "--ranks", "2", *launcher, *form, "-o", folder, "--", "./app", "a b"]) == 0
        capsys.readouterr()
        assert status(["verify", folder]) == 0, capsys.readouterr()


def test_then_the_program_is_started(mpirun: str, plan: str) -> None:
    """--then starts the application in the place of the command, with its output and status, only where ranks are as planned."""
    start = [sys.executable, "-m", "advisor", "verify", "--then", "--plan", plan, "--", mpirun, "-np", "2"]
    good, wrong = (
        subprocess.run([*start, "--bind-to", way, "sh", "-c", "echo it ran; exit 3"], capture_output=True, text=True, check=False)
        for way in ("core", "none")
    )
    assert (good.returncode, good.stdout) == (3, "it ran\nit ran\n")
    assert good.stderr.startswith("advisor: as planned: all 2 ranks are exactly where the plan has them\n")
    assert (wrong.returncode, "it ran" in wrong.stdout) == (1, False)
    assert wrong.stdout.startswith("rank 0 runs on CPUs ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "mpirun", "-np", "2", "{}"], "--then must start the program, but the line has {} in its place"),
        (["--json", "--", "mpirun", "-np", "2", "./app"], "--json and --then cannot be combined"),
        (["--observed", "lines"], "--observed and --then cannot be combined"),
    ],
)
def test_then_needs_a_program(arguments: list[str], message: str, plan: str, capsys: Capture) -> None:
    """A line without its program, and what runs nothing or prints a document, are refused before anything starts."""
    assert status(["verify", "--then", "--plan", plan, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_captured_lines_are_compared(plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """--observed reads what a job printed, from a file or standard input, and runs nothing."""
    lines = tmp_path / "lines"
    lines.write_text("hello\n0: " + LINE.format(0, 0, "0") + "1: " + LINE.format(1, 1, "1"))
    assert status(["verify", "--plan", plan, "--observed", str(lines)]) == 0
    lines.write_text(LINE.format(0, 0, "1") + LINE.format(1, 1, "0"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.read_bytes())))
    assert status(["verify", "--plan", plan, "--observed", "-"]) == 1
    assert "-> ranks 0-1: the CPUs used are as planned" in capsys.readouterr().out


def test_the_probe_is_printed(capsys: Capture) -> None:
    """--print-probe gives the script for a job script."""
    assert status(["verify", "--print-probe"]) == 0
    assert capsys.readouterr().out.startswith("#!/bin/sh\n")


def test_any_launcher_will_do(fake: str, plan: str, capsys: Capture) -> None:
    """A launcher that nobody knows is run where {} says where the command stands."""
    assert status(["verify", "--plan", plan, "--", fake, "--", "taskset", "-c", "0", "{}"]) == 1
    assert "1     overlapping  1        0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "no-such-run", "{}"], "no-such-run was not found; load the module"),
        (["--", "sh", "-c", "echo one >&2; echo --- >&2; exit 7", "{}"], "the launcher exited with status 7: one"),
        (
            ["--timeout", "1", "--", "sh", "-c", "sleep 9", "{}"],
            ("the launcher was stopped after 1 s (--timeout), without a message"),
        ),
        (["--", "myrun", "-n", "2", "./app"], "'myrun' is not a launcher; write {} in place of the command"),
        (["--", "mpirun", "-n", "2"], "the launch line does not show where its command starts"),
        ([], "no launch line"),
        (["--observed", "/no/such"], "/no/such: no such file or directory"),
        (["--observed", "/dev/null"], "/dev/null: contains no probe output"),
    ],
)
def test_what_cannot_be_run_is_one_line(arguments: list[str], message: str, plan: str, capsys: Capture) -> None:
    """A launcher that is missing, fails, hangs or says nothing ends with status 2 and one line that shows its own last one."""
    assert status(["verify", "--plan", plan, *arguments]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), message in error) == (1, True), error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1, column 2: not well-formed JSON"),
        ("[]", "not a plan: not a JSON object"),
        ("{}", "it contains no list of ranks"),
        ('{"schema": "advisor-plan/9", "ranks": [{}]}', "this advisor reads advisor-plan/1"),
        ('{"ranks": [7]}', "ranks[0]: not a rank"),
        ('{"ranks": [{"rank": 0}]}', "ranks[0].cpus: is missing"),
        ('{"ranks": [{"rank": 0, "cpus": "3-1"}]}', "ranks[0].cpus: "),
        ('{"ranks": [{"rank": 0, "cpus": "0", "memory": "x"}]}', "ranks[0]: 'x' in 'x' is not a CPU or a range"),
        ('{"ranks": [{"rank": 0, "cpus": "0"}, {"rank": 0, "cpus": "1"}]}', "rank 0 occurs twice"),
        ("[" * 100_000, "lists nested too deeply"),
    ],
)
def test_a_broken_plan_is_one_line(text: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    """A file that is no plan is refused with its name and the place in it."""
    (tmp_path / "plan.json").write_text(text)
    assert status(["verify", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), error.startswith(f"advisor: {tmp_path}/plan.json: "), message in error) == (1, True, True), error


def test_running_processes_are_looked_at(capsys: Capture) -> None:
    """--pid and --job find a process of this machine; bound inside a node there is nothing to say, unbound there may be."""
    with subprocess.Popen(["taskset", "-c", str(min(os.sched_getaffinity(0))), "sleep", "61"]) as process:
        try:
            time.sleep(0.3)
            assert status(["verify", "--json", "--pid", f"{process.pid},4194305"]) == 0
            found = json.loads(capsys.readouterr().out)
            assert status(["verify", "--json", "--job", "sleep"]) in (0, 1)
            named = json.loads(capsys.readouterr().out)
        finally:
            process.kill()
    assert [each["name"] for each in found["processes"]] == ["sleep"]
    assert found["unread"] == ["process 4194305 is not visible or has ended"]
    assert process.pid in [each["pid"] for each in named["processes"]]


def test_running_ranks_are_compared_with_a_plan(plan: str, capsys: Capture) -> None:
    """With a plan, a running rank that is where it should be is exact, and one that does not run is missing."""
    with subprocess.Popen(["taskset", "-c", "0", "sleep", "62"], env={**os.environ, "PMI_RANK": "0"}) as process:
        try:
            time.sleep(0.3)
            assert status(["verify", "--plan", plan, "--pid", str(process.pid)]) == 1
        finally:
            process.kill()
    assert "differs from the plan: 1 of 2 ranks (1 missing)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pid", "x"], "--pid 'x' is not a process"),
        (["--pid", "4194305"], "process 4194305 is not visible"),
        (["--job", "no-such-program"], "no process named 'no-such-program' is running here"),
        (["--job", "sleep", "words"], "--pid and --job cannot be combined with words"),
        ([], "verify needs a plan"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], message: str, capsys: Capture) -> None:
    """What is not there is named, with status 2."""
    assert status(["verify", *arguments]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), message in error) == (1, True), error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_nothing_is_left(number: int, plan: str, tmp_path: Path) -> None:
    """Ctrl-C, and a scheduler's signal, end the launcher with all that it started, and say so."""
    note = tmp_path / "pid"
    line = ["sh", "-c", f"sleep 63 & echo $! > {note}.new; mv {note}.new {note}; wait", "{}"]
    command = [sys.executable, "-m", "advisor", "verify", "--plan", plan, "--", *line]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not note.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error.splitlines()[0]) == (
        130,
        "advisor: the launcher and the processes it started here were stopped",
    )
    stat = Path(f"/proc/{note.read_text().strip()}/stat")
    deadline = time.monotonic() + 30
    while stat.exists() and stat.read_text().split()[2] not in "ZX" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not stat.exists() or stat.read_text().split()[2] in "ZX"
