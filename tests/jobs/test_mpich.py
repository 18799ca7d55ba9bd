"""MPICH's lines: short where that is the same, lists elsewhere; each means the plan it was made from."""

from itertools import permutations

import pytest
from hypothesis import given

from advisor.errors import BadValue
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import mpich
from advisor.jobs.placement import Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import NumaNode
from tests.jobs.plan import bindings, node, planned, topologies
from tests.jobs.readers.mpich import parse
from tests.jobs.strategies import placements
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)
APP = LaunchRequest(("./app", "--size", "3"))
EXACT = LaunchRequest(("./app",), exact=True)


@given(placements())
def test_a_line_read_back_is_the_plan(placement: Placement) -> None:
    """Plan to command and files, and back, in both forms and with the wrapper."""
    for wish in (APP, EXACT, LaunchRequest(("./app",), wrap=True)):
        made = mpich.launch(placement, wish)
        assert parse(made.argv, made.files, topologies(placement)) == bindings(placement)


def test_one_rank_an_l3_group_has_the_short_form() -> None:
    """Hydra binds to the groups in hwloc's order."""
    plan = planned((node(ROME, *(f"{i}-{i + 3}" for i in range(0, 64, 4))),), ("n1", 0, 16), ("n2", 0, 16))
    made = mpich.launch(plan, APP)
    assert made.argv == ("mpiexec", "-hosts", "n1:16,n2:16", "-n", "32", "-bind-to", "l3cache", "./app", "--size", "3")
    assert made.avoided == ()


def test_the_same_line_comes_out_whatever_order_the_forms_are_found_in() -> None:
    """Of several places to map by that do the same, the largest is taken: a set's order differs from run to run."""
    forms = [("core", "l3cache"), ("core", "socket"), ("core", "numa"), ("hwthread", "socket")]
    assert {mpich.shortest(order) for order in permutations(forms)} == {("core", "socket")}


def test_cpus_in_no_numa_node_need_the_wrapper() -> None:
    """As on a published Threadripper, half of whose dies have no memory: Hydra dies where it cannot bind memory."""
    half = ROME.model_copy(update={"nodes": ROME.nodes[:4]})
    made = mpich.launch(planned((node(half, "0", "63"),), (None, 0, 2)), EXACT)
    assert (made.form, "hwloc_set_membind failed" in made.avoided[0].reason) == ("wrapper", True)
    assert mpich.launch(planned((node(half, "0", "31"),), (None, 0, 2)), EXACT).form == "user list"


def test_nodes_are_not_counted_where_some_have_memory_alone() -> None:
    """As on Xeon Phi with flat HBM: the proxy of 5.0.2 dies of -map-by numa there."""
    memory = NumaNode(os_index=8, cpuset=CpuSet(), near=ROME.nodes[0].cpuset, memory=1 << 34, kind="hbm")
    flat = ROME.model_copy(update={"nodes": (*ROME.nodes, memory), "allowed_nodes": CpuSet(range(9))})
    assert mpich.launch(planned((node(flat, "0-2", "8-10", "16-18"),), (None, 0, 3)), APP).form == "user list"


def test_hardware_threads_without_cores_are_no_cores() -> None:
    """As old kernels show them: Hydra knows no core there."""
    bare = ROME.model_copy(update={"cores": ()})
    assert mpich.launch(planned((node(bare, "0", "1"),), (None, 0, 2)), APP).form == "hwthread by hwthread"


def test_four_cores_in_each_numa_node_have_the_short_form() -> None:
    """Dealt over the nodes in turn."""
    made = mpich.launch(planned((node(ROME, "0-2", "8-10", "16-18"),), (None, 0, 3)), APP)
    assert made.argv[:7] == ("mpiexec", "-n", "3", "-bind-to", "core:3", "-map-by", "numa")


def test_the_list_has_an_entry_for_each_local_rank() -> None:
    """Ranges stay, commas become plus signs, and numbers are the kernel's."""
    made = mpich.launch(planned((node(ROME, "0-2,8", "5"),), (None, 0, 2)), APP)
    assert made.argv[3:5] == ("-bind-to", "user:0-2+8,5")
    assert made.avoided[0].form == "-bind-to X:k -map-by Y"


def test_hosts_that_differ_have_lists_of_their_own() -> None:
    """In the host file: Hydra refuses -host twice."""
    made = mpich.launch(planned((node(ROME, "0-3", "4-7"), node(ROME, "0,2")), ("n1", 0, 2), ("n2", 1, 1)), EXACT)
    assert made.argv == ("mpiexec", "-f", "hostfile", "-n", "3", "./app")
    assert list(made.files["hostfile"]()) == ["n1:2 binding=user:0-3,4-7", "n2:1 binding=user:0+2"]


@pytest.mark.slow
def test_a_line_too_long_for_hydras_buffer_is_not_written() -> None:
    """Then the wrapper binds."""
    wide = shape(1, 1, 1, 2000)
    odd = node(wide, ",".join(str(cpu) for cpu in range(0, 1000, 2)), *(str(cpu) for cpu in range(1, 2000, 2) if cpu % 4 == 1))
    many = node(wide, *(",".join(str(cpu) for cpu in range(i, 2000, 40)) for i in range(40)), *(["1,3,5,7,9"] * 1500))
    made = mpich.launch(planned((odd, many), ("n1", 0, 100), ("n2", 1, 1540)), EXACT)
    assert made.form == "wrapper"
    assert "16000" in made.avoided[-1].reason
    assert parse(made.argv, made.files, {"n1": wide, "n2": wide})[0][1] == odd.slots[0].cpus


def test_inside_a_job_the_scheduler_has_the_hosts() -> None:
    """Only how many ranks a host has is said."""
    made = mpich.launch(
        planned((node(ROME, "0-3", "4-7"),), ("n1", 0, 2), ("n2", 0, 1)), LaunchRequest(("./app",), scheduler="slurm")
    )
    assert made.argv[:5] == ("mpiexec", "-ppn", "2", "-n", "3")


def test_ranks_with_adapters_of_their_own_get_the_wrapper() -> None:
    """No option of Hydra's gives each rank a variable of its own."""
    plan = planned((node(ROME, "0-3", "32-35", hca=("mlx5_0", "mlx5_1")),), (None, 0, 2))
    made = mpich.launch(plan, APP)
    assert made.argv[:7] == ("mpiexec", "-n", "2", "-bind-to", "none", "sh", "bind-wrapper.sh")


def test_a_colon_and_a_strange_host_are_refused() -> None:
    """Neither reaches a command line."""
    with pytest.raises(BadValue, match="':' ends the command"):
        mpich.launch(planned((node(ROME, "0"),), (None, 0, 1)), LaunchRequest(("./app", ":", "x")))
    with pytest.raises(BadValue, match="not a host name"):
        mpich.launch(planned((node(ROME, "0"),), ("-oProxyCommand=x", 0, 1)), APP)


def test_a_short_user_list_leaves_ranks_unbound() -> None:
    """The reader knows it too."""
    assert parse(("mpiexec", "-n", "2", "-bind-to", "user:0", "./app"), {}, {None: ROME})[1] == (None, None)
