"""Lines of aprun: depth or a list of single CPUs where that is the plan, else the wrapper; others' as centres published them."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.errors import BadInput, BadValue
from advisor.launch.launcher import Launch, LaunchRequest
from advisor.launch.launchers import aprun
from advisor.launch.lint.line import parse
from advisor.launch.lint.lint import lint
from advisor.launch.lint.predict import Prediction, predict
from advisor.model.placement import Placement
from tests.examples import examples
from tests.launch.plan import bindings, node, planned
from tests.launch.strategies import placements
from tests.model.shapes import machine, shape

EDISON = machine(shape(2, 1, 1, 12, threads=2))
"""NERSC's Edison: two sockets of 12 cores with two hardware threads."""
INTERLAGOS = machine(shape(2, 2, 2, 16))
"""Blue Waters: two sockets of 16 integer cores, two NUMA nodes each."""
WHOLE = shape(2, 2, 2, 16)


def made(line: str, on: object = EDISON) -> Prediction:
    """Return what a line does."""
    return predict(parse([line]), on, {})  # type: ignore[arg-type]


def written(*cpus: str, wrap: bool = False) -> Launch:
    """Return the line of a plan on one node."""
    return aprun.launch(planned((node(WHOLE, *cpus),), (None, 0, len(cpus))), LaunchRequest(("./app",), wrap=wrap))


@pytest.mark.parametrize(
    ("cpus", "line"),
    [
        (("0-3", "4-7"), "aprun -n 2 -N 2 -d 4 -cc depth ./app"),
        (("0", "1", "2"), "aprun -n 3 -N 3 -d 1 -cc depth ./app"),
        (("0", "8", "16"), "aprun -n 3 -N 3 -cc 0,8,16 ./app"),
        (("0-3", "8-11"), "aprun -n 2 -N 2 -cc none sh bind-wrapper.sh ./app"),
        (("0-2", "3-5"), "aprun -n 2 -N 2 -cc none sh bind-wrapper.sh ./app"),
    ],
)
def test_a_plan_is_depth_a_list_of_one_each_or_the_wrapper(cpus: tuple[str, ...], line: str) -> None:
    """Three CPUs do not fill a NUMA node of eight, and a list with several CPUs binds threads and not ranks."""
    assert " ".join(written(*cpus).argv) == line


def test_second_hardware_threads_are_asked_for() -> None:
    """Without -j a job has the first of each core."""
    plan = planned((node(shape(2, 1, 1, 12, threads=2), "0", "24"),), (None, 0, 2))
    assert " ".join(aprun.launch(plan, LaunchRequest(("./app",))).argv) == "aprun -n 2 -N 2 -j 2 -cc 0,24 ./app"


def test_hosts_have_as_many_ranks_each_and_the_wrapper_knows_its_rank() -> None:
    """ALPS_APP_PE; the place on the host comes from the table."""
    plan = planned((node(WHOLE, "0", "1"),), ("nid00001", 0, 2), ("nid00002", 0, 1))
    with pytest.raises(BadValue, match="as many ranks on every host"):
        aprun.launch(plan, LaunchRequest(("./app",)))
    assert "${ALPS_APP_PE:-" in "\n".join(written("0", wrap=True).files["bind-wrapper.sh"]())


# NERSC, Edison's page on aprun; Blue Waters' page: -n 8 -d 2 puts ranks on 0, 2, ..., 14.
def test_nodes_are_filled_by_cores_without_n() -> None:
    """384 ranks are 24 on each of 16 nodes, one core each."""
    ranks = made("aprun -n 384 ./a.out").ranks or ()
    assert [len({rank.host for rank in ranks}), [str(rank.cpus) for rank in ranks[:24]]] == [16, [str(cpu) for cpu in range(24)]]


def test_depth_keeps_ranks_apart() -> None:
    """Two CPUs each: 0, 2, ..., 14 are their first."""
    ranks = made("aprun -n 8 -d 2 -cc depth ./a.out", INTERLAGOS).ranks or ()
    assert [str(rank.cpus) for rank in ranks] == [f"{cpu}-{cpu + 1}" for cpu in range(0, 16, 2)]


@pytest.mark.parametrize(
    "options", ["-d 2", "-S 4", "-j 2", "-cc numa_node", "-cc 0,1:2,3", "-cc 0", "-cc 0-3", "-r 1 -cc depth", "-d 5 -cc depth"]
)
def test_what_is_not_documented_well_enough_is_not_told(options: str) -> None:
    """Threads that are bound one by one, NUMA nodes by number, hardware threads, short lists."""
    assert made(f"aprun -n 4 {options} ./a.out").unclear


def test_more_ranks_than_cores_of_a_node_are_refused() -> None:
    """-N times -d above the cores."""
    assert made("aprun -n 24 -N 24 -d 2 ./a.out").refused


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("aprun -n 2 -N 2 -d 4 -cc 0-7 ./a", ["separator"]),
        ("aprun -n 2 -N 2 -d 4 -cc depth -e OMP_NUM_THREADS=4 ./a", []),
        ("aprun -n 4 -cc 0,6,12,18 ./a", []),
        ("aprun -n 6 -d 4 -cc depth -e OMP_NUM_THREADS=8 ./a", ["too-many-threads"]),
    ],
)
def test_what_goes_wrong_with_lines_of_aprun_is_said(line: str, said: list[str]) -> None:
    """A list without colons goes to the ranks one by one."""
    assert [each.id for each in lint([line], EDISON).warnings] == said


@examples(60)
@given(placements())
def test_every_written_line_is_told_and_is_the_plan(placement: Placement) -> None:
    """Depth and lists; hosts have the names of ALPS."""
    assume(len({plan.topology for plan in placement.plans}) == 1 and len({host.ranks for host in placement.hosts}) == 1)
    line = aprun.launch(placement, LaunchRequest(("./app",)))
    assume(line.form != "wrapper")
    done = made(" ".join(line.argv), machine(placement.plans[0].topology))
    assert (done.refused, done.unclear) == (None, None)
    assert [rank.cpus for rank in done.ranks or ()] == [cpus for _, cpus in bindings(placement).values()]


@examples(60)
@given(
    st.lists(
        st.sampled_from(
            [
                "-n",
                "-N",
                "-d",
                "-S",
                "-j",
                "-cc",
                "depth",
                "none",
                "cpu",
                "0",
                "1,2",
                "1:2",
                "4",
                "-n4",
                "-e",
                "A=1",
                ":",
                "./a",
                "x",
            ]
        ),
        max_size=8,
    )
)
def test_any_words_have_an_answer(words: list[str]) -> None:
    """The whole page, not the prediction alone."""
    try:
        told = lint(["aprun", *words, "./a"], EDISON)
    except BadInput:
        return
    assert told.binding
