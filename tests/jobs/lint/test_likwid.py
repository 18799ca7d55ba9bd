"""What likwid's expressions mean: as likwid-pin 5.2.2 answered on machines that are not there; asked again where it is."""

import pytest

from advisor.jobs.launchers.likwid import cpus_of
from advisor.jobs.line import parse
from advisor.jobs.lint import lint
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction, Refused, Unclear
from advisor.machine.topology import Topology
from tests.fakenode import likwid
from tests.jobs.place.samples import machine

EPYC, NAPLES = "epyc-nps4-smt-linear", "a-r7425-2x7601-dell"
SEEN: dict[tuple[str, str], str | None] = {
    (EPYC, "0-3"): "0,1,2,3",
    (EPYC, "3-0"): "3,2,1,0",
    (EPYC, "0,32,1"): "0,32,1",
    (EPYC, "900"): None,
    (EPYC, "M9:0"): None,
    (EPYC, "0,"): None,
    (EPYC, "0x3"): None,
}
"""Machine and expression: the CPUs that it listed, None where it refused."""
UNTOLD = (
    *("E:N:4:1:2", "E:S1:4:2:4", "M:scatter:6"),
    "S1:0-3",
    "S0:90",
    "C3:0-9",
    "E:N:400",
    "S:balanced:4",
    "S:cbalanced:4",
    "D0:0",
    "M9:0@1",
    "0x3",
)
"""What lint leaves open, or what likwid refuses: nothing is guessed."""


def topology(name: str) -> Topology:
    """Return a machine's topology."""
    found = machine(name).topology
    assert found is not None
    return found


def ours(name: str, expression: str) -> str | None:
    """Return the CPUs that lint works out; None where it says that likwid refuses, or leaves it open."""
    try:
        return ",".join(map(str, cpus_of(expression, topology(name))))
    except (Refused, Unclear):
        return None


@pytest.mark.parametrize(("name", "expression"), SEEN)
def test_expressions_are_worked_out_as_likwid_listed_them(name: str, expression: str) -> None:
    """Bare numbers are the kernel's."""
    assert ours(name, expression) == SEEN[name, expression]


@pytest.mark.parametrize("expression", UNTOLD)
def test_what_is_not_worked_out_is_left_open(expression: str) -> None:
    """Domains, and ways to spread."""
    assert ours(EPYC, expression) is None


@pytest.mark.slow
@pytest.mark.skipif(not likwid.available(), reason="likwid is not installed")
def test_likwid_lists_what_it_listed() -> None:
    """The recorded answers are those of the program that is here."""
    asked = {key: likwid.listed(topology(key[0]), key[1]) for key in SEEN}
    assert {key: found and ",".join(map(str, found)) for key, found in asked.items()} == SEEN


def made(line: str, name: str = EPYC, **files: str) -> Prediction:
    """Return what a line does."""
    return predict(parse([line]), machine(name), files)


def where(done: Prediction) -> list[tuple[str | None, str]]:
    """Return the host and the CPUs of the ranks."""
    return [(rank.host, str(rank.cpus)) for rank in done.ranks or ()]


def test_ranks_have_the_lists_of_the_line_in_order() -> None:
    """Parted by an underscore; fewer ranks than lists take the first ones (seen: [[0,1], [2,3], [16,48], [20,21]])."""
    line = "likwid-mpirun -np {} -mpi openmpi -pin 0-1_2-3_16,48_20-21 ./a"
    expected: list[tuple[str | None, str]] = [(None, "0-1"), (None, "2-3"), (None, "16,48"), (None, "20-21")]
    assert where(made(line.format(4))) == expected
    assert where(made(line.format(1))) == expected[:1]
    assert where(made("likwid-mpirun -pin 0_1 ./a")) == [(None, "0"), (None, "1")]


def test_ranks_fill_whole_hosts_of_the_file() -> None:
    """As many hosts as the ranks fill, and no part of one: five ranks of two a host are four."""
    hosts = "n1 slots=64\nn2 slots=64\nn3 slots=64\n"
    found = where(made("likwid-mpirun -np 5 -mpi openmpi -hostfile hosts -pin 0_1 ./a", hosts=hosts))
    assert found == [("n1", "0"), ("n1", "1"), ("n2", "0"), ("n2", "1")]


def test_ranks_that_are_left_out_are_warned_of() -> None:
    """Seen: "Only 2 processes out of 4 can be assigned, running with 2 processes"; as many entries as ranks are as asked."""
    line = "likwid-mpirun -np 4 -mpi openmpi -pin 0-1_2-3{} ./a"
    short = lint([line.format("")], machine(EPYC)).warnings
    assert [(each.id, each.what) for each in short] == [("ranks-left-out", "only 2 of 4 ranks are started")]
    assert [each.id for each in lint([line.format("_8-9_16-17")], machine(EPYC)).warnings] == []


def test_a_process_of_likwid_pin_has_its_list() -> None:
    """It is no launcher of several, and its threads take the list in order."""
    assert where(made("likwid-pin -q -c 0-3 ./a")) == [(None, "0-3")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("likwid-mpirun -np 4 ./a", "without -pin"),
        ("likwid-mpirun -np 2 -pin S:balanced:4_0 ./a", "is not predicted"),
        ("likwid-mpirun -np 2 -hostfile gone -pin 0_1 ./a", "was not read"),
        ("likwid-mpirun -np 2 --strange -pin 0_1 ./a", "likwid's option --strange is unknown here"),
    ],
)
def test_what_is_not_known_of_a_line_is_said(line: str, why: str) -> None:
    """And no rank is placed."""
    done = made(line)
    assert (done.ranks, why in str(done.unclear)) == (None, True)


def test_a_cpu_that_is_not_there_starts_nothing() -> None:
    """It ends in its own language, with an error of Lua's."""
    assert made("likwid-mpirun -np 2 -pin 0_900 ./a").refused == "900 names CPUs that this machine does not have"


def test_in_a_part_of_a_node_numbers_are_positions_there() -> None:
    """Seen with CPUs 8-15,40-47 alone: -c 8 was CPU 40; it is left open."""
    seen = topology(EPYC)
    narrow = machine(EPYC).model_copy(update={"topology": seen.model_copy(update={"allowed": seen.packages[0].cpuset})})
    assert "counts CPUs from the first CPU of that part" in str(predict(parse(["likwid-pin -c 0 ./a"]), narrow, {}).unclear)
