"""What is told of Open MPI on one, two and three hosts is what 4.1.4 and 5.0.11 did there."""

import re

import pytest

from tests.jobs.lint.nodes import VERSIONS, Seen, is_plain, predicted, seen

ROWS = tuple(seen())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", sorted({row.machine for row in ROWS}))
def test_no_rank_is_told_where_open_mpi_did_not_put_it(name: str, version: str) -> None:
    """Hosts, CPUs and the order of ranks; and what did not start is told to be refused, or not told."""
    mine = [row for row in ROWS if (row.machine, row.version) == (name, version)]
    assert len(mine) > 30
    wrong = [(row.line, row.files, row.ranks, told) for row in mine if (told := predicted(row)) not in (row.ranks, "not told")]
    assert wrong == []


@pytest.mark.parametrize("version", VERSIONS)
def test_at_most_one_plain_line_in_ten_is_not_told(version: str) -> None:
    """On one host and on several; what of them is not told has parts of words, or a machine that shows no such cache."""
    for many in (False, True):
        mine = [row for row in ROWS if row.version == version and bool(row.hosts) == many and not row.files]
        plain = [row for row in mine if is_plain(row.line)]
        left = [row.line for row in plain if predicted(row) == "not told"]
        assert len(plain) > 100
        assert len(left) * 10 <= len(plain), left


def test_files_of_hosts_and_ranks_are_read_as_each_version_reads_them() -> None:
    """Rankfiles that list cores, and at most three in ten of the odd host files are left to words."""
    lists = re.compile(r"(rank\s+\d+\s*=\s*\w+\s+slots?\s*=\s*[\d,-]+\n?)+|[^=]*(slots=\d+[^=]*)*")
    mine = [row for row in ROWS if row.files and is_plain(row.line) and lists.fullmatch(row.files[0][1])]
    assert len(mine) > 100
    assert len([row for row in mine if predicted(row) == "not told"]) * 10 <= len(mine) * 3


def _told(version: str, line: str, name: str = "two") -> list[str] | str | None:
    return predicted(Seen(version, name, line, (), ""))


def test_open_mpi_4_fills_one_host_and_deals_over_its_numa_nodes() -> None:
    """More than two ranks, nothing said: by NUMA node and bound to it."""
    assert _told("4", "mpirun --host n1:4,n2:4 -np 6") == ["n1:0-3", "n1:4-7", "n1:8-11", "n1:12-15", "n2:0-3", "n2:4-7"]


def test_map_by_node_deals_ranks_to_hosts_in_turn() -> None:
    """And numbers them so."""
    assert _told("4", "mpirun --host n1:4,n2:4 -np 4 --map-by node --bind-to core") == ["n1:0", "n2:0", "n1:1", "n2:1"]
    assert _told("5", "mpirun --host n1:4,n2:4 -np 4 --bynode") == ["n1:0-3", "n2:0-3", "n1:0-3", "n2:0-3"]


def test_ranks_for_each_host_are_counted_where_the_line_has_no_np() -> None:
    """Of ppr:N:node and -N in both."""
    for version in VERSIONS:
        assert _told(version, "mpirun --host n1:8,n2:8 -N 2 --bind-to core") == ["n1:0", "n1:1", "n2:0", "n2:1"]


@pytest.mark.parametrize("version", VERSIONS)
def test_pe_with_another_binding_than_cores_is_refused(version: str) -> None:
    """4 lets none pass, 5 does not."""
    assert _told(version, "mpirun -np 2 --map-by socket:PE=2 --bind-to socket") is None
    assert (_told(version, "mpirun -np 2 --map-by socket:PE=2 --bind-to none") is None) == (version == "5")


def test_hardware_threads_are_what_pe_counts_where_the_line_says_so() -> None:
    """Each rank gets two hardware threads, of one core."""
    wanted = ["-:0,16", "-:1,17", "-:2,18", "-:3,19"]
    for version in VERSIONS:
        assert _told(version, "mpirun -np 4 --map-by core:PE=2 --use-hwthread-cpus", "smt") == wanted


def test_whether_mpirun_runs_on_a_named_host_is_not_known() -> None:
    """So what --nolocal leaves out is not told."""
    assert _told("4", "mpirun --host n1:4,n2:4 -np 4 --nolocal") == "not told"


def test_two_words_of_mapping_are_left_open() -> None:
    """-N beside --map-by: 4 deals in turns of so many for each host, 5 ends."""
    line = "mpirun --host n1:4,n2:4 --bind-to core --map-by core -N 4"
    assert [_told(version, line) for version in VERSIONS] == ["not told"] * 2


def test_a_file_of_hosts_that_a_parameter_names_leaves_a_line_open() -> None:
    """Only where the line names no hosts itself."""
    said = "mpirun -np 2 --bind-to core -mca orte_default_hostfile h"
    assert (_told("4", said), _told("4", f"{said} --host n2:2")) == ("not told", ["n2:0", "n2:1"])
