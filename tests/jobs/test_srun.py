"""srun's lines: cores in blocks, lists by local task, the wrapper where hosts differ; each means the plan it was made from."""

import pytest
from hypothesis import given

from advisor.errors import BadValue
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import srun
from advisor.jobs.placement import Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Core
from tests.jobs.plan import bindings, node, planned, topologies
from tests.jobs.readers.srun import bound, parse
from tests.jobs.strategies import placements
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)
SMT = shape(2, 2, 4, 8, threads=2)
GAP = shape(2, 1, 1, 8, number=lambda position, _: position + 16 * (position // 8))
MIXED = shape(1, 1, 1, 4).model_copy(
    update={"cores": tuple(Core(os_index=i, cpuset=CpuSet.parse(cpus)) for i, cpus in enumerate(("0-1", "2", "3")))}
)
APP = LaunchRequest(("./app",))
EXACT = LaunchRequest(("./app",), exact=True)


@given(placements())
def test_a_line_read_back_is_the_plan(placement: Placement) -> None:
    """Plan to command, files and variables, and back; with the hosts of the job and with hosts that are named."""
    for wish in (APP, EXACT, LaunchRequest(("./app",), wrap=True), LaunchRequest(("./app",), scheduler="slurm", report=True)):
        made = srun.launch(placement, wish)
        assert parse(made.argv, made.environment, made.files, topologies(placement)) == bindings(placement)


def test_cores_in_order_are_blocks() -> None:
    """--cpus-per-task is on the line: srun 22.05 to 23.02 does not take it from sbatch."""
    made = srun.launch(planned((node(SMT, "0-1,16-17", "2-3,18-19"),), ("n1", 0, 2), ("n2", 0, 2)), APP)
    assert made.form == "cores in blocks"
    assert made.argv[5:] == (
        *("--ntasks-per-node", "2", "--distribution", "block:block", "--nodelist", "n1,n2"),
        *("--cpus-per-task=4", "--cpu-bind=cores", "./app"),
    )


def test_one_cpu_a_rank_is_a_map() -> None:
    """By local task, and without --cpus-per-task, which would take the CPUs away."""
    made = srun.launch(planned((node(ROME, "5", "63"),), (None, 0, 2)), APP)
    assert made.argv == ("srun", "--nodes", "1", "--ntasks", "2", "--cpu-bind=map_cpu:5,63", "./app")
    assert any("--exact" in avoided.reason for avoided in made.avoided)
    assert any("SLURM_CPUS_PER_TASK" in note for note in made.notes)
    within = srun.launch(planned((node(ROME, "5"),), (None, 0, 1)), LaunchRequest(("./app",), version="22.05.8"))
    assert not any("SLURM_CPUS_PER_TASK" in note for note in within.notes)


def test_several_cpus_a_rank_are_masks() -> None:
    """Second threads are in them where the plan has them."""
    made = srun.launch(planned((node(SMT, "3,19", "0,2"),), (None, 0, 2)), LaunchRequest(("./app",), report=True))
    assert made.argv[-2] == "--cpu-bind=verbose,mask_cpu:0x80008,0x5"


def test_whole_numa_nodes_are_ldoms() -> None:
    """The exact form says it with masks."""
    plan = planned((node(ROME, "8-15", "0-7"),), (None, 0, 2))
    assert srun.launch(plan, APP).argv[-2] == "--cpu-bind=map_ldom:1,0"
    assert srun.launch(plan, EXACT).argv[-2] == "--cpu-bind=mask_cpu:0xff00,0xff"


def test_hosts_that_differ_get_the_wrapper() -> None:
    """A list is the same on every node."""
    made = srun.launch(planned((node(ROME, "5"), node(ROME, "6")), ("n1", 0, 1), ("n2", 1, 1)), EXACT)
    assert made.form == "wrapper"
    assert "--cpu-bind=none" in made.argv
    assert "one list applies to every node" in made.avoided[0].reason


def test_cpu_numbers_with_gaps_need_the_wrapper() -> None:
    """Slurm counts the CPUs and refuses larger numbers; in a job of its own the others are those of other jobs."""
    gap = planned((node(GAP, "0-7", "24-31"),), (None, 0, 2))
    made = srun.launch(gap, APP)
    assert (made.form, [avoided.reason for avoided in made.avoided]) == (
        "wrapper",
        ["CPU numbers go up to 31, but Slurm accepts only numbers below 16, the CPU count"],
    )
    assert srun.launch(gap, LaunchRequest(("./app",), scheduler="slurm", exact=True)).form == "mask_cpu"
    off = planned((node(GAP.model_copy(update={"missing": CpuSet.parse("8-23")}), "0-7", "24-31"),), (None, 0, 2))
    assert srun.launch(off, LaunchRequest(("./app",), scheduler="slurm")).form == "wrapper"


def test_cores_of_different_numbers_of_threads_need_the_wrapper() -> None:
    """Slurm has one number of threads for all cores of a node."""
    made = srun.launch(planned((node(MIXED, "0-1"),), (None, 0, 1)), EXACT)
    assert made.form == "wrapper"
    assert "more hardware threads than others" in made.avoided[0].reason


def test_cores_in_no_socket_need_the_wrapper() -> None:
    """As a published machine has them: of its four sockets three are shown."""
    bare = ROME.model_copy(update={"packages": ROME.packages[:1]})
    made = srun.launch(planned((node(bare, "5"),), (None, 0, 1)), APP)
    assert (made.form, "belong to no socket" in made.avoided[0].reason) == ("wrapper", True)


def test_an_order_that_is_not_slurms_is_a_file() -> None:
    """One line a rank; srun reads it where SLURM_HOSTFILE says."""
    made = srun.launch(planned((node(ROME, "5", "7"),), ("n10", 0, 2), ("n9", 0, 2)), APP)
    assert made.environment == {"SLURM_HOSTFILE": "hostfile"}
    assert made.argv[5:7] == ("--distribution", "arbitrary")
    assert list(made.files["hostfile"]()) == ["n10", "n10", "n9", "n9"]


def test_a_last_node_with_fewer_tasks_is_a_file() -> None:
    """Srun 22.05 makes 11 and 7 of 16 and 2."""
    made = srun.launch(planned((node(ROME, "5", "7"),), ("n1", 0, 2), ("n2", 0, 1)), LaunchRequest(("./app",), scheduler="slurm"))
    assert list(made.files["hostfile"]()) == ["n1", "n1", "n2"]
    with pytest.raises(BadValue, match="is left to Slurm"):
        parse(("srun", "--ntasks", "3", "--ntasks-per-node", "2", "--cpu-bind=map_cpu:1,2", "./app"), {}, {}, {"n1": ROME})


def test_what_depends_on_slurms_configuration_is_not_guessed() -> None:
    """Without a list nobody can say where ranks are."""
    with pytest.raises(BadValue, match="how Slurm is set up"):
        parse(("srun", "--ntasks", "1", "./app"), {}, {}, {None: ROME})
    assert bound({"--cpu-bind": "mask_cpu:0x0"}, ROME, 0) is None
    assert str(bound({"--cpu-bind": "map_cpu:3,4"}, ROME, 2)) == "3"
