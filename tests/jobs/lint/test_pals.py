"""PALS's mpiexec and MVAPICH2's mpirun_rsh are told apart from others, and told as far as their guides go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadInput, BadValue
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import pals
from advisor.jobs.line import parse
from advisor.jobs.lint import lint
from advisor.jobs.placement import NodePlan
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.examples import examples
from tests.jobs.place.samples import machine
from tests.jobs.plan import node as plan_of
from tests.jobs.plan import planned, slot
from tests.model.shapes import machine as machine_of
from tests.model.shapes import shape

ROME, NAPLES_SMT = "b-c6525-2x7702-nps4", "a-r7425-2x7601-dell-smt"


def made(line: str, name: str = ROME, **files: str) -> Prediction:
    """Return what a line does."""
    return predict(parse([line]), machine(name), files)


def where(done: Prediction) -> list[tuple[str | None, str]]:
    """Return the host and the CPUs of the ranks."""
    return [(rank.host, str(rank.cpus)) for rank in done.ranks or ()]


@pytest.mark.parametrize(
    ("line", "family"),
    [
        ("mpiexec --cpu-bind depth -n 144 -ppn 32 -d 4 ./a.out", "pals"),
        ("mpirun -n 2 --cpu-bind=list:1-51:53-103 --mem-bind=list:2:3 ./a", "pals"),
        ("PALS_CPU_BIND=none mpiexec -n 4 ./a", "pals"),
        ("mpiexec -n 4 -ppn 2 ./a", "mpich"),
        ("srun --cpu-bind=cores -n 4 ./a", "srun"),
        ("mpirun_rsh -np 2 n0 n1 MV2_CPU_MAPPING=0:1 ./a", "mvapich"),
    ],
)
def test_pals_and_mpirun_rsh_are_told_apart_from_other_launchers(line: str, family: str) -> None:
    """By options that no other mpiexec has, by its variables, by the first word."""
    assert parse([line]).family == family


def test_pals_depth_counts_cpus_by_the_kernels_numbers() -> None:
    """One after the other, and with core it counts cores with both threads."""
    assert where(made("mpiexec -n 2 -d 8 --cpu-bind depth ./a", NAPLES_SMT)) == [(None, "0-7"), (None, "8-15")]
    assert where(made("mpiexec -n 2 -d 2 --cpu-bind core ./a", NAPLES_SMT)) == [(None, "0-1,64-65"), (None, "2-3,66-67")]


def test_entries_of_pals_are_parted_by_colons() -> None:
    """A comma joins CPUs of one rank: one entry for many ranks is not guessed at."""
    assert where(made("mpiexec -n 2 --cpu-bind verbose,list:0-3:8,9 ./a")) == [(None, "0-3"), (None, "8-9")]
    assert made("mpiexec -n 2 --cpu-bind mask:0xf,0xf0 ./a").unclear
    assert "1 entry for 4 ranks" in str(made("mpiexec -n 4 --cpu-bind list:1,2,3,4 ./a").unclear)


def test_pals_fills_a_node_before_the_next() -> None:
    """-ppn ranks on each; without it the order is not documented."""
    line = "mpiexec -n 3 -ppn 2 --hosts a,b --cpu-bind list:0:1 ./a"
    assert where(made(line)) == [("a", "0"), ("a", "1"), ("b", "0")]
    assert made("mpiexec -n 3 --hosts a,b --cpu-bind list:0:1:2 ./a").unclear


@pytest.mark.parametrize(
    "options", ["", "--cpu-bind numa", "--cpu-bind socket", "--cpu-bind list:0-3:900", "--hostfile F --cpu-bind none"]
)
def test_what_pals_does_not_document_is_not_told(options: str) -> None:
    """Its own default, NUMA nodes, CPUs that are not there."""
    assert made(f"mpiexec -n 2 --no-transfer {options} ./a").unclear


OPEN = machine_of(shape(2, 1, 1, 52, threads=2))
KEPT = CpuSet([0, 52, 104, 156])
"""Cores 0 and 52 of Aurora are kept for the system since March 2025, and no job may run there."""
WHOLE = OPEN.topology or Topology()
AURORA = OPEN.model_copy(update={"topology": WHOLE.model_copy(update={"allowed": WHOLE.pus - KEPT})})
EIGHT = [f"{first}-{first + 7}" for first in (*range(1, 48, 8), *range(53, 100, 8))]

# argonne-lcf/user-guides, docs/aurora/running-jobs-aurora.md: what ranks of these lines printed (HWT), on the first node.
PRINTED = [
    ("mpiexec -n 8 -ppn 4 --depth 1 --cpu-bind=depth ./a", ["1", "2", "3", "4"]),
    ("mpiexec -n 8 -ppn 4 --cpu-bind=list:1:2:3:4 ./a", ["1", "2", "3", "4"]),
    ("mpiexec -n 4 -ppn 2 --depth=2 --cpu-bind=depth ./a", ["1-2", "3-4"]),
    ("mpiexec -n 4 -ppn 2 --cpu-bind=list:1,2:3,4 ./a", ["1-2", "3-4"]),
    ("mpiexec -n 4 -ppn 2 --cpu-bind=list:1:105 ./a", ["1", "105"]),
    (f"mpiexec -n 12 -ppn 12 --cpu-bind=list:{':'.join(EIGHT)} ./a", EIGHT),
    (
        "mpiexec -n 12 -ppn 12 --depth=8 --cpu-bind=depth ./a",
        [*EIGHT[:6], "49-51,53-57", "58-65", "66-73", "74-81", "82-89", "90-97"],
    ),
]


@pytest.mark.parametrize(("line", "cpus"), PRINTED)
def test_what_ranks_printed_on_aurora_is_told(line: str, cpus: list[str]) -> None:
    """Depth counts the CPUs that a job may use by their numbers, and rank 6 of the last line is on both sockets."""
    done = predict(parse([line]), AURORA, {})
    assert [str(rank.cpus) for rank in done.ranks or ()][: len(cpus)] == cpus


# The same guides, docs/running-jobs/example-job-scripts.md: a node of Polaris, 32 cores with two threads.
POLARIS = machine_of(shape(1, 4, 4, 32, threads=2))


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("mpiexec -n 16 --ppn 16 --depth=2 --cpu-bind depth --env OMP_NUM_THREADS=2 -env OMP_PLACES=threads ./a", "0-1"),
        ("mpiexec -n 4 --ppn 4 --depth=8 --cpu-bind depth ./a", "0-7"),
        ("mpiexec -n 4 --ppn 4 --depth=8 --cpu-bind core ./a", "0-7,32-39"),
        ("mpiexec -n 4 --ppn 4 --depth=1 --cpu-bind core ./a", "0,32"),
        ("mpiexec -n 8 --ppn 8 --cpu-bind list:24:25:26:27:28:29:30:31 ./a", "24"),
    ],
)
def test_where_rank_0_is_on_polaris_is_told(line: str, first: str) -> None:
    """Depth counts hardware threads, and cores beside core."""
    done = predict(parse([line]), POLARIS, {})
    assert str((done.ranks or ())[0].cpus) == first


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # the same repository, docs/aurora/node-performance-overview/src/run.sh
        ("mpirun -n 12 --cpu-bind list:1,2,3,4,5,6,52,53,54,55,56,57 -- ./gpu_tile_compact.sh ./pci", ["separator"]),
        ("mpiexec -n 4 -ppn 4 --cpu-bind list:1:2:3 ./a", ["short-list"]),
        ("mpiexec -n 2 --cpu-bind list:1:2 --gpu-bind=list:0:1 ./a", ["gpu-list"]),
        ("ZE_FLAT_DEVICE_HIERARCHY=FLAT mpiexec -n 2 --cpu-bind list:1:2 --gpu-bind=list:0.0:0.1 ./a", ["gpu-list"]),
        ("mpiexec -n 2 --cpu-bind list:1:2 --gpu-bind=list:0.0:0.1 ./a", []),
        ("mpiexec -n 12 -ppn 12 --depth=8 --cpu-bind=depth ./a", ["across-socket"]),
        ("mpirun -n 2 --cpu-bind=list:1-51:53-103 --mem-bind=list:2:3 ./a", []),
    ],
)
def test_what_goes_wrong_with_lines_of_pals_is_said(line: str, said: list[str]) -> None:
    """A comma for a colon, a short list, GPUs that it cannot read, a rank on two sockets."""
    assert [each.id for each in lint([line], AURORA).warnings] == said


def test_a_host_file_with_each_host_once_is_filled_in_its_order() -> None:
    """As ALCF's guides split PBS_NODEFILE; a host that appears twice is left open."""
    line = "mpiexec -n 3 -ppn 2 --hostfile hf --cpu-bind list:0:1 ./a"
    assert where(made(line, hf="b\na\n")) == [("b", "0"), ("b", "1"), ("a", "0")]
    assert made(line, hf="b\nb\na\n").unclear


WORDS = st.one_of(
    st.sampled_from(
        ["-n", "-np", "-d", "-ppn", "--cpu-bind", "--hosts", "-hostfile", "2", "3", "list:0:1", "depth", "core", "n0", ":"]
    ),
    st.sampled_from(["MV2_CPU_MAPPING=0:1", "--depth=4", "--cpu-bind=mask:0x3,0xc", "a,b", "PALS_PPN=2"]),
    st.text(alphabet="-=:,0123456789abn", min_size=1, max_size=8),
)


@examples(60)
@given(st.sampled_from(["mpiexec --no-transfer", "mpirun_rsh"]), st.lists(WORDS, max_size=8))
def test_any_words_have_an_answer(launcher: str, words: list[str]) -> None:
    """The whole page, not the prediction alone."""
    try:
        told = lint([*launcher.split(), *words, "./a"], machine(NAPLES_SMT))
    except BadInput:
        return
    assert told.binding


def written(*hosts: tuple[str | None, int, int], wrap: bool = False) -> Launch:
    """Return the line of a plan of two ranks on a node."""
    node = machine(ROME).topology
    assert node is not None
    return pals.launch(planned((plan_of(node, "0-3", "64-67"),), *hosts), LaunchRequest(("./a",), wrap=wrap))


def test_a_plan_is_a_list_for_each_local_rank_of_pals() -> None:
    """As many ranks on each host, named where there are names; what it reads back is the plan."""
    made_so = written(("n1", 0, 2), ("n2", 0, 2))
    assert " ".join(made_so.argv) == "mpiexec -n 4 -ppn 2 --hosts n1,n2 --cpu-bind list:0-3:64-67 ./a"
    assert where(made(" ".join(made_so.argv))) == [(host, cpus) for host in ("n1", "n2") for cpus in ("0-3", "64-67")]


def test_the_wrapper_switches_pals_own_binding_off() -> None:
    """And it finds its rank in PALS's variables."""
    line = written((None, 0, 2), wrap=True)
    script = "\n".join(line.files["bind-wrapper.sh"]())
    assert line.argv == ("mpiexec", "-n", "2", "--cpu-bind", "none", "sh", "bind-wrapper.sh", "./a")
    assert ["${PALS_RANKID:-" in script, "${PALS_LOCAL_RANKID:-" in script] == [True, True]


def test_memory_of_other_nodes_than_the_ranks_own_is_asked_for_by_number() -> None:
    """As on Aurora, whose HBM is nodes 2 and 3."""
    topology = shape(2, 2, 2, 8)
    places = tuple(slot(topology, cpus, memory=(node,)) for cpus, node in (("0-3", 2), ("8-11", 3)))
    plan = planned((NodePlan(topology=topology, slots=places),), (None, 0, 2))
    argv = pals.launch(plan, LaunchRequest(("./app",))).argv
    assert " ".join(argv) == "mpiexec -n 2 --cpu-bind list:0-3:8-11 --mem-bind list:2:3 ./app"


def test_hosts_that_are_too_many_for_an_argument_stand_in_a_file() -> None:
    """Linux refuses an argument of 131,072 characters."""
    names = [f"x{at:05}c{'0' * 60}" for at in range(1600)]
    line = written(*((name, 0, 2) for name in names))
    assert (line.argv[3:7], list(line.files["hostfile"]())) == (("-ppn", "2", "--hostfile", "hostfile"), names)


def test_hosts_with_different_numbers_of_ranks_are_refused() -> None:
    """PALS has one number for all."""
    with pytest.raises(BadValue, match="the same number of ranks on every host"):
        written(("n1", 0, 2), ("n2", 0, 1), ("n3", 0, 2))
