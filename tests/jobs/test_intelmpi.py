"""Intel MPI's lines: exactly one mask for each local rank, or a domain that is the same; never what it pins by itself."""

import pytest
from hypothesis import given

from advisor.errors import BadValue
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import intelmpi
from advisor.jobs.placement import Placement
from tests.jobs.plan import bindings, node, planned, topologies
from tests.jobs.readers.intelmpi import parse, pinned
from tests.jobs.strategies import placements
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)
BIG = shape(2, 4, 16, 128)
APP = LaunchRequest(("./app",))
EXACT = LaunchRequest(("./app",), exact=True)


@given(placements())
def test_a_line_read_back_is_the_plan(placement: Placement) -> None:
    """Plan to command and files, and back, in both forms, with threads and with the wrapper."""
    for wish in (LaunchRequest(("./app",), environment={"OMP_NUM_THREADS": "2"}), EXACT, LaunchRequest(("./app",), wrap=True)):
        made = intelmpi.launch(placement, wish)
        assert parse(made.argv, made.files, topologies(placement)) == bindings(placement)


def test_one_rank_an_l3_group_is_a_domain() -> None:
    """In compact order: the default order deals them to the sockets."""
    made = intelmpi.launch(planned((node(ROME, *(f"{i}-{i + 3}" for i in range(0, 64, 4))),), ("n1", 0, 16)), APP)
    assert made.form == "domain cache3"
    assert made.argv[-8:] == ("I_MPI_PIN_DOMAIN", "cache3", "-genv", "I_MPI_PIN_ORDER", "compact", "-n", "16", "./app")


def test_packed_threads_are_the_omp_domain() -> None:
    """Where OMP_NUM_THREADS is the size of a rank's part."""
    plan = planned((node(ROME, "0-1", "2-3", "4-5"),), (None, 0, 3))
    assert intelmpi.launch(plan, LaunchRequest(("./app",), environment={"OMP_NUM_THREADS": "2"})).form == "domain omp"
    assert intelmpi.launch(plan, APP).form == "domain masks"


def test_masks_have_the_0x_without_which_they_are_not_read() -> None:
    """And there is one for each local rank."""
    made = intelmpi.launch(planned((node(ROME, "0,2", "4-7"),), (None, 0, 2)), EXACT)
    assert "[0x5,0xf0]" in made.argv
    with pytest.raises(BadValue, match="silently"):
        pinned({"I_MPI_PIN_DOMAIN": "[5,f0]"}, ROME, 2)
    with pytest.raises(BadValue, match="silently"):
        pinned({"I_MPI_PIN_DOMAIN": "[0x5,0xf0]"}, ROME, 1)


def test_a_last_host_with_fewer_ranks_has_its_own_masks() -> None:
    """More masks than ranks would be pinned another way without a word."""
    made = intelmpi.launch(planned((node(ROME, "0-3", "4-7"),), ("n1", 0, 2), ("n2", 0, 2), ("n3", 0, 1)), EXACT)
    words = " ".join(made.argv)
    assert "-machinefile hostfile" in words
    assert words.endswith("I_MPI_PIN_DOMAIN [0xf,0xf0] ./app : -n 1 -env I_MPI_PIN 1 -env I_MPI_PIN_DOMAIN [0xf] ./app")
    assert list(made.files["hostfile"]()) == ["n1:2", "n2:2", "n3:1"]


def test_more_masks_than_it_survives_are_processors_or_the_wrapper() -> None:
    """2021.18 dies of 115 masks for one host."""
    ones = intelmpi.launch(planned((node(BIG, *map(str, range(255, -1, -2))),), (None, 0, 128)), EXACT)
    assert ones.form == "processor list"
    twos = intelmpi.launch(planned((node(BIG, *(f"{i}-{i + 1}" for i in range(0, 256, 2))),), (None, 0, 128)), EXACT)
    assert twos.form == "wrapper"
    assert twos.argv[1:4] == ("-genv", "I_MPI_PIN", "0")
    assert "crashes" in twos.avoided[-1].reason


def test_very_many_kinds_of_hosts_go_into_a_file() -> None:
    """One line of it for each."""
    plans = tuple(node(ROME, f"{i}") for i in range(20))
    placement = planned(plans, *((f"n{i}", i, 1) for i in range(20)))
    made = intelmpi.launch(placement, EXACT)
    assert made.argv == ("mpiexec.hydra", "-configfile", "segments")
    assert parse(made.argv, made.files, topologies(placement)) == bindings(placement)
    spaced = intelmpi.launch(placement, LaunchRequest(("./app", "a b"), exact=True))
    assert spaced.form == "wrapper"


def test_under_a_scheduler_the_ranks_of_a_host_are_said_and_meant() -> None:
    """Intel MPI ignores -ppn there unless told otherwise."""
    plan = planned((node(ROME, "0-3", "4-7"),), ("n1", 0, 2), ("n2", 0, 2))
    made = intelmpi.launch(plan, LaunchRequest(("./app",), scheduler="slurm", report=True))
    assert made.argv[1:3] == ("-ppn", "2")
    assert made.environment == {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0", "I_MPI_DEBUG": "4"}


@pytest.mark.parametrize(("ranks", "form"), [(intelmpi.MASKS, "domain masks"), (intelmpi.MASKS + 1, "wrapper")])
def test_more_masks_than_it_takes_are_left_to_the_wrapper(ranks: int, form: str) -> None:
    """As many as it takes are written, one more are not."""
    wide = shape(1, 1, 1, 240)
    made = intelmpi.launch(planned((node(wide, *(f"{i},{i + 120}" for i in range(ranks))),), (None, 0, ranks)), EXACT)
    assert made.form == form
