"""Hydra's bindings: the maps that MPICH keeps for its own tests, made anew under 5.0.2, and what its proxy dies of."""

from itertools import cycle, islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.jobs.launchers.mpich import atoi, bound
from advisor.jobs.line import parse
from advisor.jobs.lint import lint
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction, Refused, Unclear
from tests.jobs.lint import shapes
from tests.jobs.place.samples import machine

ROME = "b-c6525-2x7702-nps4"
MAPS = [row.split("\t") for row in (Path(__file__).parent / "hydra_maps.txt").read_text().splitlines()]
"""Machine, options, ranks, and the CPUs of each until they begin again; FAIL where nothing started."""


def made(line: str, name: str = ROME, files: dict[str, str] | None = None) -> Prediction:
    """Return what a line of MPICH's does."""
    where = shapes.machine(name) if name in shapes.SHAPES else machine(name)
    return predict(parse([line], "mpich-5.0.2"), where, files or {})


def cpus(done: Prediction) -> list[str]:
    """Return the CPUs of the ranks as text, of those that are not bound all."""
    return [str(rank.cpus or done.topology.inside.pus) for rank in done.ranks or ()]


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_no_object_is_told_to_be_bound_otherwise_than_hydra_does(name: str) -> None:
    """On the four topologies of MPICH's own tests, each binding over each mapping; odd ones are left open."""
    wrong = []
    for where, options, count, seen in MAPS:
        if where == name:
            done = made(f"mpiexec -n {count} {options} ./a", name)
            wanted = [] if seen == "FAIL" else list(islice(cycle(seen.split()), int(count)))
            if not done.unclear and (bool(done.refused) != (seen == "FAIL") or cpus(done) != wanted):
                wrong.append((options, seen, cpus(done), done.refused, done.unclear))
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "options", "bits"),
    [
        # From pmodels/mpich, test/mpi/impls/hydra/binding_reference/proc_binding.txt: one character a CPU.
        ("topo4", "-bind-to core", "10000000 00100000 00001000 00000010 01000000"),
    ],
)
def test_mpichs_own_maps_are_met(name: str, options: str, bits: str) -> None:
    """Maps copied by hand from MPICH's tests, not made by the launcher that is here."""
    wanted = [{i for i, bit in enumerate(word) if bit == "1"} for word in bits.split()]
    done = made(f"mpiexec -n {len(wanted)} {options} ./a", name)
    assert [set(rank.cpus or ()) for rank in done.ranks or ()] == wanted


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("-bind-to l3cache", "hardware object not found: no l3cache on this machine"),
        ("-silent-abort", "unrecognized argument -silent-abort"),
        ("-perhost 2", "unrecognized argument -perhost"),
        ("-bind-to user:0,99", "hwloc_set_cpubind failed"),
    ],
)
def test_what_hydra_ends_at_is_said(options: str, why: str) -> None:
    """An object that the machine lacks, a count of none: Hydra ends, and so does the prediction."""
    assert why in str(made(f"mpiexec -n 2 {options} ./a", "topo4").refused)


@pytest.mark.parametrize(
    "options", ["-bind-to board", "-bind-to core:0", "-bind-to core -bind-to numa", "-genvall -genvnone", "-enable-x -disable-x"]
)
def test_odd_words_and_what_is_said_twice_are_left_open(options: str) -> None:
    """Hydra ends at most of them."""
    assert "is not predicted" in str(made(f"mpiexec -n 2 {options} ./a", "topo4").unclear)


def test_a_socket_that_a_job_does_not_have_is_not_counted_by_guess() -> None:
    """Hydra's hwloc keeps it where devices hang on it, and a Machine does not tell on what they hang."""
    assert "if devices are attached to it" in str(
        made("mpiexec -n 4 -bind-to core -map-by socket:2 ./a", "job-cuts-l3-v2").unclear
    )


def test_a_host_file_that_was_not_read_is_named() -> None:
    """Nothing is told of its hosts, and nothing supposed."""
    assert made("mpiexec -f hosts -n 4 ./a").unclear == "the host file hosts was not read"


def test_hydras_variables_are_heeded_where_they_surely_arrive() -> None:
    """On this host; what remote daemons get of the environment depends on ssh."""
    assert cpus(made("HYDRA_BINDING=numa mpiexec -n 2 ./a")) == ["0-15", "16-31"]
    assert "HYDRA_BINDING may not reach" in str(made("HYDRA_BINDING=numa mpiexec -hosts n1,n2 -n 2 ./a").unclear)


def test_the_wrappers_binding_wins_over_hydras() -> None:
    """A taskset of the command runs after the launcher has bound the rank."""
    assert cpus(made("mpiexec -n 2 -bind-to numa taskset -c 5 ./a")) == ["5", "5"]


WORDS = st.one_of(
    st.sampled_from(
        ["hwthread", "core", "socket", "numa", "l3cache", "l2cache", "l1cache", "machine", "die", "board", "rr", "none"]
    ),
    st.from_regex(r"user:[0-9x+,-]{0,12}", fullmatch=True),
    st.text(max_size=8),
)
COUNTS = st.one_of(
    st.just(""), st.integers(-3, 300).map(lambda n: f":{n}"), st.text("0123456789:x", max_size=12).map(lambda t: f":{t}")
)


@given(WORDS, COUNTS, st.none() | WORDS, COUNTS, st.sampled_from(["uneven-l3", "job-cuts-l3-v2", "virtual", "knights-landing"]))
def test_any_words_are_told_refused_or_left_open(bind: str, times: str, over: str | None, number: str, name: str) -> None:
    """No other end, and never a CPU that the job does not have."""
    topology = machine(name).topology
    assert topology is not None
    try:
        found = bound(bind + times, over and over + number, topology, 7)
    except (Refused, Unclear):
        return
    assert len(found) == 7
    assert all(given is None or (given and given <= topology.inside.pus) for given in found)


def test_a_user_list_with_repeats_is_long_enough() -> None:
    """``0x3`` is three entries: no warning that ranks are not bound."""
    told = lint(["mpiexec -n 3 -bind-to user:0x3 ./a"], machine(ROME), version="mpich-5.0.2")
    assert [each.id for each in told.warnings if each.id == "user-list-short"] == []


def test_a_number_is_read_as_c_reads_it() -> None:
    """Up to the first letter; none is 0."""
    assert [atoi(text) for text in ("4", " 4x", "-2", "x", "", "+3")] == [4, 4, -2, 0, 0, 3]


@pytest.mark.parametrize("options", ["-bind-to core -map-by socket"])
def test_what_older_ones_bound_and_5_0_2_refuses_is_not_told_of_an_unknown_version(options: str) -> None:
    """Boards, and sockets that the machine does not show: MPICH's own older maps have them bound."""
    bare = shapes.machine("topo1")
    for version in ("mpich", "mpich-3.2"):
        assert predict(parse([f"mpiexec -n 16 {options} ./a"], version), bare, {}).unclear is not None
    assert predict(parse([f"mpiexec -n 16 {options} ./a"], "mpich-5.0.2"), bare, {}).refused is not None
