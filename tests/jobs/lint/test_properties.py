"""Any words are read or refused; the project's own lines are read as what they were made from."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.jobs.launcher import Launch, LaunchRequest, launchers, of_lines
from advisor.jobs.lint import lint
from advisor.jobs.placement import Lint, Placement
from tests.examples import examples
from tests.jobs.plan import bindings
from tests.jobs.strategies import placements
from tests.model.shapes import machine, shape

LAUNCHERS = ("openmpi4", "openmpi5", "srun", "mpich", "intelmpi")
VERSIONS = {
    "openmpi4": "4.1.4",
    "openmpi5": "5.0.11",
    "srun": "slurm-24.05",
    "mpich": "mpich-5.0.2",
    "intelmpi": "intelmpi-2021.18",
}
NODE = machine(shape(2, 2, 4, 8, threads=2))
OPTIONS = sorted({name for spoken in of_lines().values() for name in (*spoken.options, *spoken.aliases)})
PIECES = [
    *("mpirun", "srun", "mpiexec", "mpiexec.hydra", "prterun", "env", "numactl", "taskset", "-c", "0x3", ":", "&", "--", "-"),
    *(
        "ppr:2:numa",
        "ppr:0:l3cache:PE=0",
        "ppr:x:y",
        "pe-list=3,1:ordered",
        "rankfile:file=",
        "dist:span",
        "core:overload-allowed",
    ),
    *(
        "map_cpu:0,1*3",
        "mask_cpu:0x0",
        "mask_cpu:zz",
        "map_ldom:9",
        "cores",
        "block:block",
        "user:0-3,+",
        "[0x1,f]",
        "numa:PE=999",
    ),
    *(
        "OMP_NUM_THREADS=4",
        "I_MPI_PIN_DOMAIN=[f]",
        "I_MPI_PIN_DOMAIN=omp",
        "OMPI_MCA_rmaps_base_mapping_policy=numa",
        "4",
        "999999999",
    ),
    *(
        "--map-by",
        "--bind-to",
        "-np",
        "--cpu-bind=map_cpu:",
        "-genv",
        "I_MPI_PIN_PROCESSOR_LIST",
        "0-3,1",
        "\u2013rf",
        "--host",
        "a:4,b",
        "n1:2,n2:*,n1",
        "--hostfile",
        "hf",
        "-rf",
        "rankfile:file=rf",
        "--cpu-set",
        "-N",
        "0",
        "node:PE=2",
        "numa:SPAN,OVERSUBSCRIBE",
        ":NOLOCAL",
        "ppr:2:socket",
        "device=gpu:shared",
        "socket:fill",
        "span",
        "--oversubscribe",
        "--use-hwthread-cpus",
    ),
]
WORDS = st.one_of(st.sampled_from(PIECES), st.sampled_from(OPTIONS), st.text(max_size=12))


def answer(words: list[str], version: str | None = None) -> Lint | BadInput:
    """Return what is said of a line, or the refusal."""
    try:
        return lint(words, NODE, version=version)
    except BadInput as error:
        return error


@examples(400)
@given(
    st.sampled_from(["mpirun", "srun", "mpiexec.hydra", "prterun", "mpiexec"]),
    st.lists(WORDS, max_size=12),
    st.sampled_from([None, *VERSIONS.values()]),
)
def test_any_words_are_read_or_refused_in_one_line(launcher: str, words: list[str], version: str | None) -> None:
    """Nothing but BadInput comes out, and what is said is JSON and steers no terminal."""
    told = answer([launcher, *words], version)
    assert "\n" not in str(told) if isinstance(told, BadInput) else json.dumps(told.model_dump(mode="json"))


ROWS = "rank 0=n1 slot=0|rank 1=n2 slot=1:0-1;0:2|rank 1=n1 slot=s0|n1 slots=4|n2|n1|n1:4|# none|rank 0=+n0 slot=*"
ROW = st.one_of(st.sampled_from(ROWS.split("|")), st.text(max_size=30))
OPEN = "-np --map-by --bind-to --rank-by --host --hostfile -rf --cpu-set -N --npersocket :"
VALUES = (
    "0 1 3 9 40 99999999 n1:2,n2:3 n1,n2,n1 n1:* hf rf 0-3 4,1,2 core numa socket slot node none hwthread l3cache:PE=2 numa:span "
    "ppr:2:node ppr:1:l3cache:PE=3 package :OVERSUBSCRIBE pe-list=1,0:ordered rankfile:file=rf seq dist core:overload-allowed "
    "socket:fill span fill ./a"
)
ALONE = "--oversubscribe --use-hwthread-cpus --bynode --pernode --nolocal ./a"
PAIRS = st.tuples(st.sampled_from(OPEN.split()), st.sampled_from(VALUES.split())).map(list)
FLAGS = st.sampled_from(ALONE.split()).map(lambda word: [word])


@examples(400)
@given(
    st.sampled_from(["4.1.4", "5.0.11", "main", None]),
    st.lists(st.one_of(PAIRS, FLAGS), max_size=7),
    st.lists(ROW, max_size=6).map("\n".join),
)
def test_any_open_mpi_line_is_told_or_refused_or_left(version: str | None, words: list[list[str]], text: str) -> None:
    """Every rank has one number and CPUs of the machine, and no other exception than BadInput comes out."""
    line = ["mpirun", *(word for group in words for word in group), "./a"]
    try:
        told = lint(line, NODE, version=version, files={"hf": text, "rf": text})
    except BadInput:
        return
    assert NODE.topology is not None
    assert [rank.rank for rank in told.ranks or ()] == list(range(len(told.ranks or ())))
    assert all(rank.cpus is None or (rank.cpus and rank.cpus <= NODE.topology.pus) for rank in told.ranks or ())
    assert "\n" not in told.binding


@given(st.lists(WORDS, max_size=10))
def test_lines_need_not_begin_with_a_launcher(words: list[str]) -> None:
    """Whatever comes first, the answer is a line or BadInput."""
    told = answer(words)
    assert "\n" not in str(told) if isinstance(told, BadInput) else told.line


@pytest.mark.parametrize("words", [["mpirun", "x" * 300_000], ["mpirun"] * 5000, [], ["ls"], ["mpirun -np '4"]])
def test_what_is_too_long_or_no_line_is_refused(words: list[str]) -> None:
    """Bounds on letters and words, and one line of complaint."""
    with pytest.raises(BadInput):
        lint(words, NODE)


def read_back(made: Launch, placement: Placement, name: str) -> Lint:
    """Return what lint says of a line that this project wrote."""
    texts = {file: "".join(f"{line}\n" for line in lines()) for file, lines in made.files.items()}
    before = [f"{key}={value}" for key, value in made.environment.items()]
    return lint([*before, *made.argv], machine(placement.plans[0].topology), version=VERSIONS[name], files=texts)


@pytest.mark.parametrize("name", LAUNCHERS)
@examples(60)
@given(placements())
def test_own_lines_are_read_as_the_plan(name: str, placement: Placement) -> None:
    """No warning that ranks are elsewhere than the line says; where ranks are told, they are those of the plan."""
    assume(len({plan.topology for plan in placement.plans}) == 1)
    version = VERSIONS[name].rpartition("-")[2]
    made = launchers()[name].launch(placement, LaunchRequest(("./app",), version=version))
    told = read_back(made, placement, name)
    assert [each.id for each in told.warnings if each.misbinds] == []
    assert [said.text for said in told.options if not said.known] == []
    if told.ranks is not None and made.form != "wrapper":
        assert {rank.rank: (rank.host, rank.cpus) for rank in told.ranks} == bindings(placement)
