"""The line for Open MPI 5: which form when, what is avoided and why, and that it reads back as the plan."""

import pytest
from hypothesis import given

from advisor.errors import BadValue
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import openmpi
from advisor.jobs.placement import Placement
from tests.jobs.plan import bindings, node, planned, topologies
from tests.jobs.readers.openmpi4 import parse
from tests.jobs.strategies import placements
from tests.model.shapes import shape

ROME = shape(2, 4, 16, 64)
SMT = shape(1, 2, 2, 8, threads=2)
PER_SOCKET = planned((node(ROME, *(f"{i}-{i + 7}" for i in (0, 8, 64, 72))),), ("n1", 0, 4), ("n2", 0, 4))
ODD = planned((node(ROME, "5,9", "0-2"),), ("n1", 0, 2))
THREADS = planned((node(SMT, "0", "8", "1,9"),), (None, 0, 3))


def line(
    placement: Placement, version: str | None = "5.0.11", *, exact: bool = False, report: bool = False, wrap: bool = False
) -> Launch:
    """Return the line for a version."""
    return openmpi.launch(
        placement, LaunchRequest(command=("./app",), version=version, exact=exact, report=report, wrap=wrap), five=True
    )


def text(made: Launch) -> str:
    """Return a line as one text."""
    return " ".join(made.argv)


def test_a_socket_is_a_package() -> None:
    """5.x renamed the socket."""
    placement = planned((node(ROME, *(f"{i}-{i + 31}" for i in (0, 32, 64, 96))),), ("n1", 0, 4), ("n2", 0, 4))
    assert text(line(placement)) == "mpirun -np 8 --host n1:4,n2:4 --map-by ppr:2:package:PE=32 --bind-to core ./app"


def test_few_single_cores_are_listed_in_the_line() -> None:
    """Cores in any order need no file: each stands for itself, for ranges are not understood here."""
    placement = planned((node(ROME, "7", "0", "1"),), ("n1", 0, 3), ("n2", 0, 2))
    assert text(line(placement)) == "mpirun -np 5 --host n1:3,n2:2 --map-by pe-list=7,0,1:ordered --bind-to core ./app"


def test_cores_in_no_socket_are_not_listed() -> None:
    """5.0 refuses such a list: 'bound to CPUs in more than one package'."""
    bare = ROME.model_copy(update={"packages": ROME.packages[:1]})
    for shown in (bare, ROME.model_copy(update={"packages": ()})):
        assert line(planned((node(shown, "5", "3"),), (None, 0, 2))).form == "rankfile"


def test_many_single_cores_are_a_rankfile() -> None:
    """A list of more than 32 cores is nothing to read in a line."""
    cores = [str(i) for i in reversed(range(33))]
    assert line(planned((node(ROME, *cores[1:]),), ("n1", 0, 32))).form == "pe-list"
    assert line(planned((node(ROME, *cores),), ("n1", 0, 33))).form == "rankfile"


def test_a_rankfile_is_a_way_to_map() -> None:
    """--rankfile is deprecated in 5.x and -rf is gone."""
    made = line(ODD)
    assert text(made) == "mpirun -np 2 --host n1:2 --map-by rankfile:file=rankfile --bind-to core ./app"
    assert list(made.files["rankfile"]()) == ["rank 0=n1 slot=5,9", "rank 1=n1 slot=0-2"]


def test_the_development_branch_spells_without_hyphens() -> None:
    """PRRTE's main has --mapby and --bindto."""
    assert "--mapby rankfile:file=rankfile --bindto core" in text(line(ODD, "main"))


def test_a_part_that_is_not_full_gets_no_ppr() -> None:
    """5.0 starts no rank there, and ends with status 0."""
    last = PER_SOCKET.hosts[-1].model_copy(update={"ranks": 3})
    placement = PER_SOCKET.model_copy(update={"hosts": (*PER_SOCKET.hosts[:-1], last)})
    made = line(placement)
    assert made.form == "rankfile"
    assert "not full" not in "".join(avoided.reason for avoided in line(PER_SOCKET).avoided)


@pytest.mark.parametrize(
    ("version", "form"), [("5.0.0", "wrapper"), ("5.0.5", "wrapper"), ("5.0.6", "rankfile"), (None, "wrapper")]
)
def test_threads_wait_for_5_0_6(version: str | None, form: str) -> None:
    """Until 5.0.5 a rankfile's threads are taken for cores: the wrapper binds there, and where the version is not known."""
    made = line(THREADS, version)
    assert made.form == form
    if form == "rankfile":
        assert "--map-by rankfile:file=rankfile:hwtcpus --bind-to hwthread" in text(made)
    else:
        assert "12967" in made.avoided[0].reason


def test_hosts_that_differ_are_said_to() -> None:
    """Without --hetero-nodes 5.x looks numbers up on the first host; a rankfile's stay logical."""
    other = shape(1, 2, 2, 8, threads=2, number=lambda i, total: i % 4 * 2 + i // 4 if total else 0)
    made = line(planned((node(SMT, "1,9"), node(other, "2,10")), ("n1", 0, 1), ("n2", 1, 1)))
    assert made.argv[1] == "--hetero-nodes"
    assert list(made.files["rankfile"]()) == ["rank 0=n1 slot=1", "rank 1=n2 slot=1"]


def test_a_short_form_may_fit_hosts_that_differ() -> None:
    """Each node computes for itself, so one option can be right on all."""
    other = shape(1, 2, 2, 8)
    made = line(planned((node(SMT, "0,8", "1,9"), node(other, "0", "1")), ("n1", 0, 2), ("n2", 1, 2)))
    assert text(made) == "mpirun --hetero-nodes -np 4 --host n1:2,n2:2 --map-by core --bind-to core ./app"


def test_a_long_list_is_left_to_the_wrapper() -> None:
    """5.x reads 63 characters of a list and drops the rest, silently; the host's name does not count."""
    slots = ",".join(map(str, range(0, 48, 2)))
    fits = ",".join(map(str, range(0, 46, 2)))
    assert (len(fits), len(slots)) == (63, 66)
    assert line(planned((node(ROME, fits),), ("n" * 60, 0, 1))).form == "rankfile"
    made = line(planned((node(ROME, slots),), ("n1", 0, 1)))
    assert made.form == "wrapper"
    assert "silently" in made.avoided[0].reason


def test_ranks_that_share_cores_say_so() -> None:
    """5.x refuses cores that are taken unless told."""
    made = line(planned((node(ROME, "0-3", "2-5"),), ("n1", 0, 2)))
    assert "--bind-to core:overload-allowed" in text(made)


def test_dist_is_gone() -> None:
    """The cores at an adapter are listed."""
    plan = node(ROME, "96", hca=("mlx5_0",))
    near = plan.model_copy(update={"slots": tuple(slot.model_copy(update={"distance": 10}) for slot in plan.slots)})
    assert "dist" not in text(line(planned((near,), ("a", 0, 1), ("b", 0, 1))))


def test_bindings_are_displayed_on_wish() -> None:
    """The report has a new name."""
    assert "--display bind" in text(line(ODD, report=True))


@pytest.mark.parametrize("version", ["4.1.4", "x"])
def test_versions_of_another_series_are_refused(version: str) -> None:
    """A line for Open MPI 5 is not offered to Open MPI 4, nor to what is no version."""
    with pytest.raises(BadValue, match=r"openmpi4|not a version"):
        line(ODD, version)


@pytest.mark.parametrize("version", ["5.0.0", "5.0.11", "main"])
@given(placements())
def test_every_line_reads_back_as_the_plan(version: str, placement: Placement) -> None:
    """Plan to command and files to plan is the identity, in every form."""
    for exact, wrap in ((False, False), (True, False), (False, True)):
        made = line(placement, version, exact=exact, wrap=wrap)
        assert parse(made.argv, made.files, topologies(placement)) == bindings(placement)
