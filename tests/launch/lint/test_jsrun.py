"""Lines of jsrun are told as ranks on Summit printed where they were, and left open where nothing was published."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.launch.launcher import LaunchRequest
from advisor.launch.launchers import jsrun
from advisor.launch.lint.line import parse
from advisor.launch.lint.lint import lint
from advisor.launch.lint.predict import Prediction, predict
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.devices import Gpu, Locality
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import Core, NumaNode, Package, Topology
from advisor.model.placement import Placement
from tests.examples import examples
from tests.launch.plan import bindings
from tests.launch.strategies import placements
from tests.model.shapes import machine


def power9(threads: int = 4) -> Machine:
    """Return a node of Summit: 22 cores a socket, of which the last is kept for the system, three GPUs beside each socket."""
    cores = [CpuSet(range(4 * core, 4 * core + threads)) for core in range(44)]
    halves = [union(cores[:22]), union(cores[22:])]
    every = union(cores)
    topology = Topology(
        packages=tuple(Package(os_index=8 * at, cpuset=half) for at, half in enumerate(halves)),
        nodes=tuple(NumaNode(os_index=8 * at, cpuset=half, near=half, memory=256 << 30) for at, half in enumerate(halves)),
        cores=tuple(Core(os_index=at, cpuset=core) for at, core in enumerate(cores)),
        pus=every,
        allowed=every - cores[21] - cores[43],
        allowed_nodes=CpuSet([0, 8]),
    )
    addresses = ("0004:04:00.0", "0004:05:00.0", "0004:06:00.0", "0035:03:00.0", "0035:04:00.0", "0035:05:00.0")
    gpus = tuple(Gpu(address=name, locality=Locality(numa_nodes=(8 * (at // 3),))) for at, name in enumerate(addresses))
    return Machine(topology=topology, gpus=gpus)


SUMMIT = power9()


def made(line: str, on: Machine = SUMMIT, **files: str) -> Prediction:
    """Return what a line does."""
    return predict(parse([line]), on, files)


def cores_of(done: Prediction) -> list[int | None]:
    """Return the first CPU of each rank, as OLCF's page prints it."""
    return [rank.cpus.first if rank.cpus else None for rank in done.ranks or ()]


# olcf/olcf-user-docs, systems/summit_user_guide.rst: RankCore of the first node, then of the second.
NODE = [0, 4, 8, 12, 16, 20, 88, 92, 96, 100, 104, 108]
THREADS = [0, 16, 32, 88, 104, 120]
PRINTED = [
    ("jsrun -n12 -a2 -g1 -c2 -dpacked ./a.out", NODE * 2),
    # printed with -l GPU-CPU: in capitals OLCF saw other cores later (its known issues), so that such a line is left open
    ("jsrun -n 4 -a 6 -c 6 -g 3 -d packed -l gpu-cpu ./a.out", NODE * 2),
    ("jsrun -n12 -a1 -c4 -g1 -b packed:4 -d packed ./a.out", THREADS * 2),
    # olcf-tutorials/jsrun_quick_start_guide: hardware threads 1, 29, 58, 89, 117, 145 were seen, each on the rank's first core
    ("jsrun -n6 -c7 -g1 -a1 ./hello_jsrun", [0, 28, 56, 88, 116, 144]),
    ("jsrun -n4 -c1 -a1 ./hello_jsrun", [0, 4, 8, 12]),
]


@pytest.mark.parametrize(("line", "cores"), PRINTED)
def test_what_ranks_printed_on_summit_is_told(line: str, cores: list[int]) -> None:
    """Resource sets go to the cores beside their GPUs, or one after the other, and fill a host before the next."""
    assert cores_of(made(line)) == cores


def test_ranks_are_dealt_to_hosts_by_the_sets_of_each() -> None:
    """Two sets a host, as that tutorial shows: ranks 2 and 3 are on the second."""
    done = made("jsrun -n4 -c1 -a1 -r2 ./hello_jsrun")
    assert [(rank.host, str(rank.cpus)) for rank in done.ranks or ()] == [
        (host, cpus) for host in ("node0", "node1") for cpus in ("0-3", "4-7")
    ]


def test_sets_that_fit_on_the_first_socket_are_told_where_more_would_reach_over_it() -> None:
    """Five of four cores fit on 21, and where the sixth goes is not documented."""
    lines = ("jsrun -n5 -a1 -c4 -b packed:4 ./a", "jsrun -n6 -a1 -c4 -b packed:4 ./a")
    assert [cores_of(made(line)) for line in lines] == [[0, 16, 32, 48, 64], []]


@pytest.mark.parametrize(("threads", "cpus"), [(1, "0"), (2, "0-1"), (4, "0-3")])
def test_a_core_has_the_hardware_threads_that_are_switched_on(threads: int, cpus: str) -> None:
    """smt1, smt2 and smt4 of the same page; more cores than there are cannot be bound."""
    assert [str(rank.cpus) for rank in made("jsrun -n1 -c1 -a1 -bpacked:4 ./a", power9(threads)).ranks or ()] == [cpus]


def test_both_tasks_of_a_set_with_one_core_are_on_it() -> None:
    """Without -c a set has one core, says that page."""
    assert [str(rank.cpus) for rank in made("jsrun -n1 -a2 -g1 ./a").ranks or ()] == ["0-3", "0-3"]


@pytest.mark.parametrize(
    "line",
    [
        "jsrun -p 4 ./a",
        "jsrun -n4 ./a",
        "jsrun -n4 -a1 -c1 -K2 -r4 ./a",
        "jsrun -n2 -a2 -c4 -d cyclic ./a",
        "jsrun -n2 -a2 -c4 -b none ./a",
        "jsrun -n2 -a4 -c4 -b packed:2 ./a",
        "jsrun -n11 -a1 -c4 -r11 ./a",
        "jsrun -n2 -a1 -c4 -g4 ./a",
        "jsrun -n2 -a1 -c4 -U file ./a",
        "jsrun -n4 -a6 -c6 -g3 -l GPU-CPU ./a",
        "jsrun -n4 -a1 -c1 -l cpu-cpu ./a",
        "jsrun --erf_input file ./a",
    ],
)
def test_what_was_not_published_is_not_told(line: str) -> None:
    """Tasks without sets, sets over two sockets, unbound tasks in a part of the node, GPUs of two sockets, files not read."""
    assert made(line).unclear


# olcf-tutorials/ERF-CPU-Indexing: SMT4: n and n + 4 on socket 1; SMT1: 4n and 4n + 4; SMT2, even: 2n and 2n + 4.
@pytest.mark.parametrize(
    ("threads", "index", "cpu", "told"),
    [
        (4, "physical", "88-91", "88-91"),
        (4, "logical", "84-87", "88-91"),
        (4, "logical", "80-83", "80-83"),
        (1, "logical", "20", "80"),
        (1, "logical", "21", "88"),
        (2, "logical", "40", "80"),
        (2, "logical", "42", "88"),
        (2, "physical", "88-89", "88-89"),
    ],
)
def test_logical_numbers_of_a_file_pass_over_the_cores_of_the_system(threads: int, index: str, cpu: str, told: str) -> None:
    """And over hardware threads that are switched off."""
    erf = f"cpu_index_using: {index}\noverlapping-rs: warn\nrank: 0: {{ host: 1; cpu: {{{cpu}}} ; mem: * }} : app 0\n"
    done = made("jsrun --erf_input erf ./a", power9(threads), erf=erf)
    assert [(rank.host, str(rank.cpus)) for rank in done.ranks or ()] == [("node1", told)]


def test_a_file_that_does_not_say_how_it_counts_is_counted_logically() -> None:
    """OLCF's known issue: CPUs 88-91 of such a file became 92-95, one core up on the second socket."""
    done = made("jsrun --erf_input erf ./a", erf="rank: 0: { host: 1; cpu: {0-3} }\nrank: 1: { host: 1; cpu: {88-91} }\n")
    assert [str(rank.cpus) for rank in done.ranks or ()] == ["0-3", "92-95"]


@pytest.mark.parametrize(
    "row",
    [
        "2 : {host: * ; cpu: {0-3},{88-91}}",
        "rank: 0,1: { host: 1; cpu: {0-3},{4-7} }",
        "rank: 1: { host: 1; cpu: {0-3} }",
        "rank: 0: { host: 1; cpu: {168-171} }",
        "rank: 0: { host: *; cpu: {0} }",
        "",
    ],
)
def test_a_file_of_another_form_is_left_open(row: str) -> None:
    """Counts instead of ranks, several ranks in a set, a rank missing, CPUs that are not there."""
    assert made("jsrun --erf_input erf ./a", erf=f"cpu_index_using: logical\n{row}\n").unclear


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("jsrun -n2 -a2 -c8 ./a", ["packed-one", "one-memory"]),
        ("jsrun -n2 -a1 -c4 -g1 -l GPU-CPU -b packed:4 ./a", ["latency-capitals"]),
        ("jsrun -n2 -a2 -U file ./a", ["rs-file"]),
        ("jsrun -n6 -a1 -c7 -g1 -b packed:7 ./a", []),
        ("jsrun -n6 -a1 -c7 -g1 -E OMP_NUM_THREADS=8 -b packed:7 ./a", ["too-many-threads"]),
    ],
)
def test_what_jsrun_does_otherwise_than_it_sounds_is_said(line: str, said: list[str]) -> None:
    """One core a task without -b, capitals, -a beside -U, threads."""
    assert [each.id for each in lint([line], SUMMIT).warnings] == said


@examples(80)
@given(placements(), st.booleans())
def test_every_written_line_is_told_and_is_the_plan(placement: Placement, exact: bool) -> None:
    """Resource sets, and files with hosts by name; of sets the names of hosts are LSF's."""
    assume(len({plan.topology for plan in placement.plans}) == 1)
    line = jsrun.launch(placement, LaunchRequest(("./app",), exact=exact))
    files = {file: "".join(f"{row}\n" for row in rows()) for file, rows in line.files.items()}
    done = predict(parse([*line.argv]), machine(placement.plans[0].topology), files)
    assert (done.refused, done.unclear) == (None, None)
    assert [rank.cpus for rank in done.ranks or ()] == [cpus for _, cpus in bindings(placement).values()]
    if line.form != "packed" and placement.hosts[0].name:
        assert [rank.host for rank in done.ranks or ()] == [host for host, _ in bindings(placement).values()]


SAID = "-n -r -a -c -g -b -d -l -p -U --erf_input erf 1 2 4 ALL_CPUS packed:2 rs none -n2 -bpacked:1 -E A=1 : ./a"
WORDS = st.sampled_from(SAID.split(" "))
KNOWN = ["cpu_index_using: physical", "rank: 0: { host: 1; cpu: {0} }", "app 0: ./a", "# x"]
ROWS = st.one_of(st.sampled_from(KNOWN), st.text(max_size=30))


@examples(80)
@given(st.lists(WORDS, max_size=8), st.lists(ROWS, max_size=4))
def test_any_words_have_an_answer(words: list[str], rows: list[str]) -> None:
    """The whole page, not the prediction alone."""
    try:
        told = lint(["jsrun", *words, "./a"], SUMMIT, files={"erf": "\n".join(rows)})
    except BadInput:
        return
    assert told.binding
