from itertools import groupby

import pytest

from advisor.errors import BadValue, CannotWork
from advisor.machine.cpuset import CpuSet
from advisor.measure.plan import CHARTS, PLANS, Plan, Request, charts_of_plan, plan
from tests.conftest import Golden
from tests.jobs.place.samples import machine
from tests.machines.catalogue import MACHINES
from tests.measure.samples import NAPLES, ROME, planned


def rows(made: Plan) -> str:
    """Return a plan as text, a row for each task."""
    text = [
        f"{task.name:60} {len(task.cpus):3} of {CpuSet(task.cpus)!s:24.24} {task.distance or '-':12} {task.slit or '-':>3}"
        for task in made.tasks
    ]
    return "\n".join(row.rstrip() for row in text) + "\n"


@pytest.mark.parametrize(("name", "per"), [(NAPLES, "numa"), (ROME, "numa"), (ROME, "socket"), ("virtual", "l3")])
def test_the_tables_of_the_articles_are_the_plan(name: str, per: str, golden: Golden) -> None:
    """Core, one CCX, both, socket, machine, one core a CCX, half; local, same socket, other socket by one hop and two."""
    golden(f"membw-{name}-{per}.txt", rows(planned(name, "membw", per=per)))


@pytest.mark.parametrize("what", [name for name in PLANS if name != "full"])
def test_each_thing_to_measure_has_its_plan(what: str, golden: Golden) -> None:
    """On two sockets of Naples."""
    golden(f"{what}-{NAPLES}.txt", rows(planned(NAPLES, what)))


@pytest.mark.parametrize("name", [NAPLES, ROME, "b-c6525-2x7702-l3numa", "b-c6525-2x7702-nps4-smt", "d-delftblue-2x6448y"])
def test_the_quick_set_takes_less_than_a_minute(name: str) -> None:
    """With the gate and a build beside it, on two sockets of up to 64 cores."""
    assert planned(name).seconds < 50


ODD = [name for name in MACHINES if not name.startswith(("epyc-", "a-", "b-", "c-"))]
"""Memory without cores, cores without memory, jobs, virtual machines, faked and hidden nodes."""


@pytest.mark.parametrize("name", ODD)
def test_every_machine_has_a_plan_whose_tasks_fit_it(name: str) -> None:
    """Threads on CPUs that may be used, each once; memory on nodes that have some; names that tell tasks apart."""
    made, inside = planned(name), machine(name).topology
    assert inside is not None
    memories = {node.os_index for node in inside.inside.nodes if node.memory}
    twice = [task.name for task in made.tasks if len(set(task.cpus)) != len(task.cpus)]
    lost = [task.name for task in made.tasks if not CpuSet(task.cpus) <= inside.inside.pus]
    astray = [task.name for task in made.tasks if task.memory is not None and task.memory not in memories]
    assert (twice, lost, astray, len({task.name for task in made.tasks})) == ([], [], [], len(made.tasks))


def test_a_task_is_named_alike_in_every_plan() -> None:
    """What the quick set and membw --per both measure has one name, so that runs can be compared."""
    quick = {task.name for task in planned(NAPLES).tasks}
    assert "membw/part/machine/load+copy-nt+triad+triad-nt" in quick & {task.name for task in planned(NAPLES, "membw").tasks}


def test_siblings_are_measured_alike() -> None:
    """All NUMA nodes have the same size, patterns and repeats."""
    nodes = [task for task in planned(ROME, "membw", per="numa").tasks if (task.purpose, task.part) == ("part", "numa")]
    assert (len(nodes), len(list(groupby(nodes, key=lambda task: task.arguments)))) == (8, 1)


def test_the_whole_machine_is_measured_first() -> None:
    """Ctrl-C after a few seconds leaves what tells most."""
    assert [task.part for task in planned(ROME).tasks][:3] == ["machine", "socket", "socket"]


def test_parts_with_the_same_cores_are_measured_once() -> None:
    """With one NUMA node a socket the socket stands for it."""
    parts = [task.name for task in planned("b-c6525-2x7702-nps1").tasks if task.name.startswith("membw/part/numa")]
    assert parts == []


def test_curves_go_from_one_thread_to_all_in_both_orders() -> None:
    """Filled goes node by node, dealt gives each node a thread in turn; both end with all cores."""
    tasks = planned(NAPLES, "scaling").tasks
    ends = {order: [len(task.cpus) for task in tasks if task.order == order] for order in ("filled", "dealt")}
    assert ends["filled"] == ends["dealt"] == [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64]
    two = next(task for task in tasks if task.order == "dealt" and len(task.cpus) == 2)
    assert two.cpus == (0, 2)


def test_what_is_asked_for_is_planned() -> None:
    """Patterns, repeats, CPUs and the memory's node go into the kernel's arguments."""
    (task,) = planned(ROME, "membw", cpus=CpuSet.parse("0-3"), memory=4, patterns=("copy",), repeats=7).tasks
    assert (task.cpus, task.memory, task.distance, task.variants) == ((0, 1, 2, 3), 4, "other-socket", ("copy",))
    assert task.argv[:4] == ("--cpus", "0,1,2,3", "--node", "4")
    assert task.arguments[-2:] == ("--repeats", "7")


def test_no_room_is_said() -> None:
    """A node with little free memory is left out, with both figures."""
    made = plan(machine(NAPLES), Request("matrix"), dict.fromkeys(range(8), 100 << 20))
    assert made.tasks == ()
    assert made.left_out[0].why == "256 MiB is needed on node 0, but only 50 MiB may be used"


def test_wrong_wishes_are_one_line() -> None:
    """What cannot be measured, memory that is not there and CPUs that may not be used are refused with what there is."""
    with pytest.raises(BadValue, match="did you mean membw"):
        planned(ROME, "menbw")
    with pytest.raises(BadValue, match="--node 9: no such NUMA node; available: 0-7"):
        planned(ROME, "membw", memory=9)
    with pytest.raises(BadValue, match="CPUs 200 may not be used"):
        planned(ROME, "membw", cpus=CpuSet.parse("0,200"))
    with pytest.raises(CannotWork, match="none of these"):
        planned(ROME, "membw", cpus=CpuSet.parse("200"))


def test_a_chart_that_needs_several_nodes_is_not_promised_on_one() -> None:
    """Of the quick set one NUMA node gives no matrix, and two nodes give every chart: known from the plan, before measuring."""
    one, many = (charts_of_plan(planned(name).tasks, "quick") for name in ("numa-off", NAPLES))
    assert (one, many) == (("parts", "map", "roofline"), CHARTS["quick"])


@pytest.mark.parametrize("what", CHARTS)
def test_two_nodes_give_every_chart_of_a_thing(what: str) -> None:
    """What the table of charts promises is planned where there is something to compare."""
    assert charts_of_plan(planned(NAPLES, what).tasks, what) == CHARTS[what]


def test_a_matrix_of_one_node_is_refused() -> None:
    """It would be one number; in the whole set it stays, the only latency of that node."""
    assert [task for task in planned("numa-off", "full").tasks if task.purpose == "matrix"] != []
    assert planned("numa-off", "matrix").tasks == ()
