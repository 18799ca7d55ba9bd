"""The line for Open MPI 4: which form when, what is avoided and why, and that it reads back as the plan."""

import pytest
from hypothesis import given

from advisor.errors import BadValue
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import openmpi, wrapper
from advisor.jobs.placement import NodePlan, Placement, Slot
from advisor.machine.cpuset import CpuSet
from tests.jobs.plan import bindings, node, planned, slot, topologies
from tests.jobs.readers.openmpi4 import parse, split
from tests.jobs.strategies import placements
from tests.model.shapes import shape

ROME = shape(2, 4, 16, 64)
SMT = shape(1, 2, 2, 8, threads=2)
APP = ("./app", "-x", "1")
PER_L3 = planned((node(ROME, *(f"{i}-{i + 3}" for i in range(0, 128, 4))),), ("n1", 0, 32), ("n2", 0, 32))
ODD = planned((node(ROME, "5,9", "0-2"),), ("n1", 0, 2))


def line(
    placement: Placement, version: str | None = "4.1.4", *, exact: bool = False, report: bool = False, wrap: bool = False
) -> Launch:
    """Return the line for a version."""
    return openmpi.launch(
        placement, LaunchRequest(command=APP, version=version, exact=exact, report=report, wrap=wrap), five=False
    )


def without_last(made: Placement, ranks: int) -> Placement:
    """Return a placement whose last host has fewer ranks."""
    last = made.hosts[-1].model_copy(update={"ranks": ranks})
    return made.model_copy(update={"hosts": (*made.hosts[:-1], last)})


def test_one_rank_an_l3_is_said_in_two_options() -> None:
    """The plan that a short form makes is written so, with both options and the ranks of each host."""
    made = line(PER_L3)
    expected = "mpirun -np 64 --host n1:32,n2:32 --map-by ppr:1:l3cache:PE=4 --bind-to core ./app -x 1"
    assert " ".join(made.argv) == expected
    assert (made.form, made.files, made.avoided) == ("ppr:1:l3cache:PE=4", {}, ())


def test_cores_in_order_are_mapped_by_core() -> None:
    """One core after the other on the node at hand needs no host and no file."""
    made = line(planned((node(ROME, "0", "1", "2"),), (None, 0, 3)))
    assert " ".join(made.argv) == "mpirun -np 3 --map-by core --bind-to core ./app -x 1"


def test_a_last_host_may_hold_fewer() -> None:
    """Where ranks do not divide the last host is short, which ppr does too; a short first host is filled by parts in turn."""
    assert line(without_last(PER_L3, 5)).form == "ppr:1:l3cache:PE=4"
    first = PER_L3.model_copy(update={"hosts": tuple(reversed(without_last(PER_L3, 5).hosts))})
    assert " ".join(line(first).argv) == "mpirun -np 37 --host n2:5,n1:32 --map-by l3cache:PE=4 --bind-to core ./app -x 1"


def test_single_cores_in_the_order_of_their_numbers_are_a_list() -> None:
    """One line without a file, where each core has one CPU; a second thread would take a rank, another order is not kept."""
    made = line(planned((node(ROME, *map(str, range(1, 128))),), ("n1", 0, 127), ("n2", 0, 3)))
    words = "mpirun -np 130 --host n1:127,n2:3 --cpu-list 1-127 --bind-to cpu-list:ordered ./app -x 1"
    assert (" ".join(made.argv), made.files, made.form) == (words, {}, "cpu-list")
    other = planned((node(ROME, "7", "5"),), (None, 0, 2))
    threads = planned((node(SMT, "1,9", "3,11"),), (None, 0, 2))
    older = line(planned((node(ROME, "5", "7"),), (None, 0, 2)), "4.0.5")
    assert [line(each).form for each in (other, threads)] + [older.form] == ["rankfile"] * 3


def test_in_a_job_to_be_no_host_is_named() -> None:
    """Hosts whose names only stand for others are left to the scheduler, where each has as many ranks."""
    cores = planned((node(ROME, *map(str, range(64))),), ("NODE1", 0, 64), ("NODE2", 0, 64))
    wish = LaunchRequest(command=APP, version="4.1.4", unnamed=True)
    lines = [" ".join(openmpi.launch(each, wish, five=False).argv) for each in (cores, PER_L3, without_last(PER_L3, 5))]
    assert lines == [
        "mpirun -np 128 --map-by ppr:64:node --bind-to core ./app -x 1",
        "mpirun -np 64 --map-by ppr:1:l3cache:PE=4 --bind-to core ./app -x 1",
        "mpirun -np 37 --host n1:32,n2:5 --map-by ppr:1:l3cache:PE=4 --bind-to core ./app -x 1",
    ]
    note = "no hosts are named: in a job of 2 nodes with 64 or more slots each, Open MPI uses the job's hosts"
    assert note in openmpi.launch(cores, wish, five=False).notes


def test_any_other_plan_is_a_rankfile() -> None:
    """Cores that no short form gives are listed, logical and from rank 0."""
    made = line(ODD)
    assert " ".join(made.argv) == "mpirun -np 2 --host n1:2 --rankfile rankfile --bind-to core ./app -x 1"
    assert list(made.files["rankfile"]()) == ["rank 0=n1 slot=5,9", "rank 1=n1 slot=0-2"]


def test_the_exact_form_can_be_asked_for() -> None:
    """A plan that a short form makes is a rankfile too, where that is wanted."""
    assert line(PER_L3, exact=True).form == "rankfile"


def test_unlike_parts_get_no_short_form() -> None:
    """On a node whose L3 groups differ ppr goes astray without a word: it is avoided, and the reason says so."""
    cut = ROME.model_copy(update={"allowed": ROME.pus - CpuSet([3])})
    slots = ["0,1", "4,5", *(f"{i},{i + 1}" for i in range(8, 128, 4))]
    made = line(planned((node(cut, *slots),), ("n1", 0, 32)))
    assert made.form == "rankfile"
    assert made.avoided[0].form == "--map-by ppr:1:l3cache:PE=2"
    assert "different numbers of cores" in made.avoided[0].reason


@pytest.mark.parametrize(("version", "whole"), [("3.1.2", False), ("3.1.3", True), ("4.0.5", True), ("4.1.0", False)])
def test_pe_in_ppr_waits_for_4_1(version: str, whole: bool) -> None:
    """3.1.3 to 4.0 refuse the form: ranks that fill an L3 group are bound to that, others have the groups in turn."""
    pe = "--map-by ppr:1:l3cache:PE=4"
    made = line(PER_L3, version)
    assert " ".join(made.argv).count(pe) == (not whole)
    assert " ".join(made.argv).count("--map-by ppr:1:l3cache --bind-to l3cache") == whole
    assert [avoided.form for avoided in made.avoided] == [pe] * whole
    half = planned((node(ROME, *(f"{i}-{i + 1}" for i in range(0, 128, 4))),), ("n1", 0, 32))
    assert line(half, version).form == ("l3cache:PE=2" if whole else "ppr:1:l3cache:PE=2")


def test_rankfiles_of_4_0_0_are_left_to_the_wrapper() -> None:
    """Where rankfiles are broken the wrapper binds and Open MPI does not."""
    made = line(ODD, "4.0.0")
    assert " ".join(made.argv).startswith("mpirun -np 2 --host n1:2 --map-by slot:OVERSUBSCRIBE --bind-to none sh ")
    assert "past end of buffer" in made.avoided[0].reason


def test_a_list_that_overflows_is_left_to_the_wrapper() -> None:
    """Host name and slots together fill a buffer of 64 characters: 57 are safe, 58 are not."""
    slots = ",".join(map(str, range(0, 40, 2)))
    assert len(slots) == 54
    assert line(planned((node(ROME, slots),), ("n" * 3, 0, 1))).form == "rankfile"
    made = line(planned((node(ROME, slots),), ("n" * 4, 0, 1)))
    assert made.form == "wrapper"
    assert "58 characters" in made.avoided[0].reason


def test_single_threads_are_counted_as_threads() -> None:
    """A plan of hardware threads says so in both options."""
    made = line(planned((node(SMT, "0", "8", "1,9"),), (None, 0, 3)))
    assert "--use-hwthread-cpus --bind-to hwthread" in " ".join(made.argv)
    assert list(made.files["rankfile"]()) == [f"rank {i}=localhost slot={slot}" for i, slot in enumerate(("0", "1", "2-3"))]


def test_hosts_that_differ_get_the_kernels_numbers() -> None:
    """4.x looks logical numbers up on the first host that answers: unlike hosts are written in CPU numbers."""
    other = shape(1, 2, 2, 8, threads=2, number=lambda i, total: i % 4 * 2 + i // 4 if total else 0)
    made = line(planned((node(SMT, "1,9"), node(other, "2,10")), ("n1", 0, 1), ("n2", 1, 1)))
    assert "--mca rmaps_rank_file_physical 1 --bind-to core" in " ".join(made.argv)
    assert list(made.files["rankfile"]()) == ["rank 0=n1 slot=1", "rank 1=n2 slot=2"]


def test_many_hosts_go_into_a_file() -> None:
    """Up to 64 hosts stand in the line, more in a hostfile with their slots."""
    hosts = [(f"n{i}", 0, 2) for i in range(65)]
    few, many = (planned((node(ROME, "0", "1"),), *hosts[:count]) for count in (64, 65))
    assert "--host" in line(few).argv
    assert "--hostfile" in line(many).argv
    assert list(line(many).files["hostfile"]())[:2] == ["n0 slots=2", "n1 slots=2"]


def test_ranks_with_different_adapters_need_the_wrapper() -> None:
    """No option of mpirun gives ranks of one host different variables."""
    made = line(planned((node(ROME, "0", "64", hca=("mlx5_0", "mlx5_1")),), ("n1", 0, 2)))
    assert made.form == "wrapper"
    assert "different adapters" in made.avoided[0].reason
    assert " ".join(made.argv).endswith("--bind-to none --mca pml ucx sh bind-wrapper.sh ./app -x 1")
    assert made.notes == wrapper.NOTES


def test_the_wrapper_alone_asks_for_no_ucx() -> None:
    """It gives no rank an adapter where the plan has none."""
    assert "ucx" not in line(PER_L3, wrap=True).argv


def test_memory_of_another_node_is_noted() -> None:
    """The line binds CPUs and cannot give it."""
    far = NodePlan(topology=ROME, slots=(slot(ROME, "0-3", memory=(3,)),))
    assert "the wrapper binds it" in line(planned((far,), (None, 0, 1))).notes[0]


def test_cpus_in_no_numa_node_are_noted() -> None:
    """They are bound, and mpirun says of memory that it is not."""
    half = ROME.model_copy(update={"nodes": ROME.nodes[:4]})
    assert "failed to bind memory" in line(planned((node(half, "127"),), (None, 0, 1))).notes[0]
    assert line(planned((node(half, "0"),), (None, 0, 1))).notes == ()


def test_a_machine_without_cores_needs_the_wrapper() -> None:
    """Old kernels show hardware threads only: 'All nodes which are allocated for this job are already filled'."""
    made = line(planned((node(ROME.model_copy(update={"cores": ()}), "0", "1"),), (None, 0, 2)))
    assert (made.form, "shows no cores" in made.avoided[0].reason) == ("wrapper", True)


def test_what_is_never_written() -> None:
    """Forms that bind by node alone, or by default, do not occur: mapping and binding are always said."""
    for placement in (PER_L3, ODD):
        words = line(placement).argv
        assert not {"-N", "--npernode", "-npernode"} & set(words)
        assert "--bind-to" in words
        assert {"--map-by", "--rankfile"} & set(words)


@pytest.mark.parametrize("version", ["5.0.6", "main", "newest"])
def test_versions_of_another_series_are_refused(version: str) -> None:
    """A line for Open MPI 4 is not offered to Open MPI 5, nor to what is no version."""
    with pytest.raises(BadValue, match=r"openmpi5|not a version"):
        line(ODD, version)


def test_an_unknown_version_is_noted() -> None:
    """Without a version the line is for 4.1, and says so."""
    assert line(ODD, None).notes == ("version unknown: written for Open MPI 4.1",)


def test_bindings_are_reported_on_wish() -> None:
    """The report is one option."""
    assert "--report-bindings" in line(ODD, report=True).argv


@pytest.mark.parametrize("version", ["3.1.6", "4.0.0", "4.1.4"])
@given(placements())
def test_every_line_reads_back_as_the_plan(version: str, placement: Placement) -> None:
    """Plan to command and files to plan is the identity, in every form."""
    for exact, wrap in ((False, False), (True, False), (False, True)):
        made = line(placement, version, exact=exact, wrap=wrap)
        assert parse(made.argv, made.files, topologies(placement)) == bindings(placement)


def test_options_not_ours_are_refused() -> None:
    """Reading back is for the lines written here."""
    with pytest.raises(BadValue, match="-N is not an option"):
        split(("mpirun", "-N", "4", "./app"))


def test_a_slot_is_what_it_was() -> None:
    """Making a line changes no plan."""
    before = ODD.model_dump_json()
    line(ODD)
    assert ODD.model_dump_json() == before
    assert isinstance(ODD.plans[0].slots[0], Slot)
