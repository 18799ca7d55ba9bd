"""A launcher that is asked for its plan: what it is given, what of its answer is believed, and which answer counts."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tests.fakenode.hydra  # noqa: F401 - adds MPICH to PROGRAMS
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.ask import ask, installed, observed_in, settled
from advisor.jobs.bind import bind
from advisor.jobs.bind_page import lint_page
from advisor.jobs.check import check
from advisor.jobs.line import parse, which_of
from advisor.jobs.lint import lint, lint_line
from advisor.jobs.placement import LintAnswer, LintRank
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from tests.fakenode.run import PROGRAMS
from tests.model.shapes import machine, shape
from tests.printing import printed

NODE = machine(shape(2, 2, 4, 8))
VERSIONS = {"5": "5.0.11", "4": "4.1.4"}
MAPS = {
    "5": "Data for node: here\\n  Data for proc: [prterun-here-1@1,0]\\n  Binding: package[0][core:L0]\\n"
    "  Data for proc: [prterun-here-1@1,1]\\n  Binding: package[0][core:L4-5]\\n",
    "4": " Data for node: here\\n Process OMPI jobid: [1,1] App: 0 Process rank: 0 Bound: socket 0[core 0[hwt 0]]:[B/.][./.]\\n"
    " Process OMPI jobid: [1,1] App: 0 Process rank: 1 Bound: socket 0[core 4[hwt 0]], socket 0[core 5[hwt 0]]:[./B][./.]\\n",
}
"""A plan of two ranks, as each version prints it."""


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Let every test look for its own launcher."""
    installed.cache_clear()
    yield
    installed.cache_clear()


def launcher(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str = MAPS["5"], version: str = "5.0.11") -> Path:
    """Put a program that stands for mpirun first in PATH: it keeps its words, its variables and its files, and prints a plan."""
    program = folder / "bin" / "mpirun"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'mpirun (Open MPI) {version}'; exit; }}\n"
        f"printf '%s\\n' \"$@\" > {folder}/words; env > {folder}/variables; cp -r \"$TMPDIR\" {folder}/kept; printf -- '{says}'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def made(line: str, version: str = "5.0.11", node: Machine = NODE, **files: str) -> Prediction:
    """Return what is simulated of a line."""
    return predict(parse([line], version), node, files)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plan_is_read_by_hwlocs_numbers_of_cores(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 on the first core, rank 1 on the fifth and the sixth."""
    launcher(tmp_path, monkeypatch, MAPS[version], VERSIONS[version])
    answer = ask(made("mpirun -np 2 --bind-to core ./a", VERSIONS[version]))
    assert answer is not None
    assert [str(rank.cpus) for rank in answer.ranks or ()] == ["0", "4-5"]
    assert answer.by == f"{tmp_path}/bin/mpirun, Open MPI {VERSIONS[version]}"


def test_a_launcher_gets_the_words_of_placement_and_neither_the_program_nor_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a line with a program, its variables, a folder and an output; a job's variables stay here, too."""
    launcher(tmp_path, monkeypatch)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("A_TOKEN", "never")
    ask(made("PRTE_MCA_rmaps_default_mapping_policy=numa mpirun -np 2 -x KEY=v --wdir /x --output tag --bind-to core ./app in"))
    words = (tmp_path / "words").read_text().split()
    names = {line.partition("=")[0] for line in (tmp_path / "variables").read_text().splitlines()}
    assert words == ["--rtos", "donotlaunch", "--display", "map", "-np", "2", "--bind-to", "core", "/bin/true"]
    assert names & {"SLURM_JOB_ID", "A_TOKEN", "KEY"} == set()
    assert {"HWLOC_XMLFILE", "TMPDIR", "PRTE_MCA_rmaps_default_mapping_policy"} <= names


def test_files_of_a_line_are_copied_into_a_folder_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher reads the host file that was read here, and nothing is left of the folder."""
    launcher(tmp_path, monkeypatch)
    ask(made("mpirun --hostfile hf -np 2 --map-by node ./a", hf="n1 slots=8\nn2 slots=8\n"))
    folder = next(
        line.partition("=")[2] for line in (tmp_path / "variables").read_text().splitlines() if line.startswith("TMPDIR=")
    )
    assert f"--hostfile {folder}/hosts" in (tmp_path / "words").read_text().replace("\n", " ")
    assert (tmp_path / "kept" / "hosts").read_text() == "n1 slots=8\nn2 slots=8\n"
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    "line",
    [
        "mpirun --tune f -np 2 ./a",
        "mpirun --app f -np 2 ./a",
        "mpirun --dvm-uri file:/x -np 2 ./a",
        "mpirun --mca mca_component_path /tmp/x -np 2 ./a",
        "mpirun --prtemca plm_ssh_agent /tmp/x -np 2 ./a",
        "mpirun --launch-agent /tmp/x -np 2 ./a",
        "PRTE_MCA_hwloc_use_topo_file=/tmp/x mpirun -np 2 ./a",
        "mpirun --not-known -np 2 ./a",
        "mpirun -np 100000 ./a",
        "mpirun -np 2 likwid-pin -c 0-3 ./a",
        "/opt/other/bin/mpirun -np 2 ./a",
        "mpirun --hostfile missing -np 2 ./a",
        "mpirun -np 2 --map-by hwthread --bind-to core:overload-allowed ./a",
        "mpirun -np 3 --map-by pe-list=3,1,2:ordered --bind-to hwthread ./a",
    ],
)
def test_a_line_that_may_do_more_than_place_ranks_is_not_asked_about(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names files, programs or daemons, has words not known here, is for another launcher, or plans other than it starts."""
    launcher(tmp_path, monkeypatch)
    assert ask(made(line)) is None
    assert not (tmp_path / "words").exists()


@pytest.mark.parametrize("version", ["5.0.3", "4.1.4"])
def test_a_line_for_another_version_is_not_asked_about(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the version of the line says where its ranks go."""
    launcher(tmp_path, monkeypatch)
    assert ask(made("mpirun -np 2 --bind-to core ./a", version)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must not start what others may write")
def test_root_asks_no_launcher_that_others_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mpirun in a folder that everybody may write is not started, not even for its version."""
    program = launcher(tmp_path, monkeypatch)
    program.parent.chmod(0o777)
    if found := shutil.which("mpirun", path="/usr/bin:/bin"):
        assert installed("mpirun") is None or installed("mpirun").path == found  # type: ignore[union-attr]
    assert not (tmp_path / "words").exists()


def test_what_is_no_plan_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that the machine does not have, ranks that are missing, an empty output."""
    for at, says in enumerate((MAPS["5"].replace("L4-5", "L99"), MAPS["5"].replace("@1,0", "@1,7"), "")):
        (tmp_path / str(at)).mkdir()
        installed.cache_clear()
        launcher(tmp_path / str(at), monkeypatch, says)
        assert ask(made("mpirun -np 2 --bind-to core ./a")) is None


def test_what_the_launcher_complains_is_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the frame around it."""
    launcher(tmp_path, monkeypatch, "-------\\nThere are not enough slots.\\n-------\\n")
    answer = ask(made("mpirun -np 64 --bind-to core ./a"))
    assert answer is not None
    assert (answer.ranks, answer.refused) == (None, "There are not enough slots.")


def ranks(*cpus: str, host: str | None = None) -> tuple[LintRank, ...]:
    """Return ranks on some CPUs."""
    return tuple(LintRank(rank=at, host=host, cpus=CpuSet.parse(text)) for at, text in enumerate(cpus))


def answered(kind: str, *cpus: str) -> LintAnswer:
    """Return an answer."""
    return LintAnswer.model_validate({"kind": kind, "by": "it", "ranks": ranks(*cpus)})


def test_answers_that_agree_are_the_launchers() -> None:
    """Asked, and simulated alike."""
    done, placed, answers = settled(made("mpirun -np 2 --bind-to core ./a"), lambda _: answered("asked", "0", "1"))
    assert (placed, [each.kind for each in answers], done.ranks) == ("asked", ["simulated", "asked"], ranks("0", "1"))


def test_answers_that_differ_are_not_told_and_both_shown() -> None:
    """Neither is believed; the page has both."""
    told = lint(["mpirun -np 2 --bind-to core ./a"], NODE, version="5.0.11", ask=lambda _: answered("asked", "0", "8"))
    page = printed(lint_page(told))
    assert (told.placed, told.ranks, len(told.answers)) == ("not-told", None, 2)
    assert "Simulated: CPUs 0 | 1 for ranks 0 to 1; asked: CPUs 0 | 8" in " ".join(page.split())


def test_what_ranks_saw_settles_it() -> None:
    """It counts before what is asked and what is simulated."""
    seen = answered("observed", "0", "9")
    told = lint(
        ["mpirun -np 2 --bind-to core ./a"], NODE, version="5.0.11", ask=lambda _: answered("asked", "0", "8"), observed=seen
    )
    assert (told.placed, told.ranks) == ("observed", ranks("0", "9"))


def test_what_is_not_simulated_is_the_launchers_answer() -> None:
    """Two programs with words of mapping: only Open MPI knows."""
    line = "mpirun -np 1 --map-by numa --bind-to core ./a : -np 1 ./b"
    assert [settled(made(line), each)[1] for each in (None, lambda _: answered("asked", "0", "4"))] == ["not-told", "asked"]


def test_lines_of_the_probe_are_what_ranks_saw(tmp_path: Path) -> None:
    """The output of one run, of every rank."""
    row = "ADVISOR-RANK rank={0} size=2 local={0} host=n1 pid=1 cpus={0} mems=0 policy=default last=0 ucx=- omp=- gpu=-\n"
    file = tmp_path / "lines"
    file.write_text(row.format(0) + row.format(1))
    assert observed_in(str(file)) == LintAnswer(kind="observed", by=str(file), ranks=ranks("0", "1", host="n1"))
    file.write_text(row.format(1))
    with pytest.raises(CannotWork, match="some ranks are missing"):
        observed_in(str(file))


def test_the_installed_launcher_beats_the_words_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-ppn looks like MPICH's, and the mpirun that is here is Open MPI's, which does not know it."""
    launcher(tmp_path, monkeypatch)
    told = lint_line(["mpirun -np 2 -ppn 2 ./a"], NODE, live=True)
    assert (told.launcher, told.version, told.ranks) == ("openmpi5", "5.0.11", None)
    assert "this version does not recognize -ppn" in told.binding
    other = NODE.model_copy(update={"tools": ()})
    assert lint_line(["mpirun -np 2 -ppn 2 ./a"], other).launcher == "mpich"


def test_a_number_alone_does_not_say_whose_version_it_is() -> None:
    """4.1.4 is a version of Open MPI and of MPICH; a word of the line settles it."""
    with pytest.raises(BadInput, match="--launcher-version openmpi-4"):
        which_of(["mpirun -np 2 ./a"], "4.1.4")
    for line, version in (
        ("mpirun -np 2 --map-by core ./a", "4.1.4"),
        ("mpirun -np 2 ./a", "mpich-4.1.4"),
        ("srun ./a", "23.02"),
    ):
        which_of([line], version)


@pytest.mark.parametrize(("words", "better"), [("--bind-to core:", "--bind-to core"), ("--bind-to numa:", "--bind-to numa")])
def test_a_binding_that_ends_in_a_colon_ends_open_mpi_5(words: str, better: str) -> None:
    """5.0.11 dies of it without a word (observed); 4 takes it."""
    told = lint([f"mpirun -np 2 {words} ./a"], NODE, version="5.0.11")
    assert [(each.id, each.better) for each in told.warnings] == [("dies-of-colon", f"mpirun -np 2 {better} ./a")]
    assert lint([f"mpirun -np 2 {words} ./a"], NODE, version="4.1.4").ranks is not None


def test_a_script_asks_only_the_launcher_that_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where it loads another, or names one by its path."""
    launcher(tmp_path, monkeypatch)
    line = "mpirun -np 2 --map-by core --bind-to core ./a\n"
    texts = (line, f"module load openmpi/5.0.11\n{line}", f"module load openmpi/5.0.3\n{line}", f"module load openmpi\n{line}")
    found = [
        check("job.sh", NODE, text=f"#!/bin/sh\n{text}", asking=True).steps[0].answers for text in (*texts, f"/opt/bin/{line}")
    ]
    assert [[each.kind for each in answers] for answers in found] == [
        ["simulated", "asked"], ["simulated", "asked"], ["simulated"], ["simulated"], ["simulated"],
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "line", "wanted"),
    [
        ("openmpi4", "mpirun -np 4 --map-by socket:PE=2 ./a", ["0-1", "8-9", "2-3", "10-11"]),
        ("openmpi5", "mpirun -np 4 --map-by package:PE=2 ./a", ["0-1", "2-3", "8-9", "10-11"]),
        ("openmpi5", "mpirun -np 2 --map-by package:PE=2 ./a : -np 2 ./b", ["0-1", "8-9", "2-3", "10-11"]),
        ("mpich", "mpiexec -n 3 -bind-to core:2 -map-by socket ./a", ["0-1", "8-9", "2-3"]),
    ],
)
def test_the_real_launchers_answer(name: str, line: str, wanted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is not here; a later program gets cores that the first has left."""
    program = PROGRAMS[name]()
    if program is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("PATH", f"{Path(program).parent}:/usr/bin:/bin")
    here = installed(line.split(maxsplit=1)[0])
    assert here is not None
    answer = ask(made(line, f"{here.family}-{here.version}"))
    assert answer is not None
    assert [str(rank.cpus) for rank in answer.ranks or ()] == wanted


def test_a_command_with_a_colon_is_not_bound() -> None:
    """It would start another program, with ranks that nobody placed."""
    with pytest.raises(BadValue, match="starts another program"):
        bind(["./a", ":", "-n", "32", "./b"])
