"""What is told of Open MPI on one, two and three hosts is what 4.1.4 and 5.0.11 did there."""

import pytest

from tests.jobs.lint.nodes import VERSIONS, Seen, predicted, seen

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
def test_at_most_one_line_in_ten_is_not_told(version: str) -> None:
    """On one host and on several."""
    for many in (False, True):
        mine = [row for row in ROWS if row.version == version and bool(row.hosts) == many and not row.files]
        left = [row.line for row in mine if predicted(row) == "not told"]
        assert len(left) * 10 <= len(mine), left


def test_files_of_hosts_and_ranks_are_read_as_each_version_reads_them() -> None:
    """At most three in ten of the odd ones among them are left to words."""
    mine = [row for row in ROWS if row.files]
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
    """So what --nolocal leaves out is not told; alone it leaves nothing."""
    assert _told("4", "mpirun --host n1:4,n2:4 -np 4 --nolocal") == "not told"
    assert _told("4", "mpirun -np 4 --nolocal") is None


def test_open_mpi_4_starts_nothing_where_so_many_for_each_host_beside_map_by_do_not_fill_its_slots() -> None:
    """It starts as many ranks as there are slots, in turns of -N for each host, and the last turn is too many."""
    line = "mpirun --host n1:4,n2:4 --bind-to core --map-by"
    refused = [_told("4", f"{line} {said}") for said in ("core -N 3", "slot -N 2", "core -N 3 -np 8")]
    assert refused == [None] * 3
    assert _told("4", f"{line} core -N 4") == ["n1:0", "n1:1", "n1:2", "n1:3", "n2:0", "n2:1", "n2:2", "n2:3"]


def test_a_file_of_hosts_that_a_parameter_names_leaves_a_line_open() -> None:
    """Only where the line names no hosts itself."""
    said = "mpirun -np 2 --bind-to core -mca orte_default_hostfile h"
    assert (_told("4", said), _told("4", f"{said} --host n2:2")) == ("not told", ["n2:0", "n2:1"])
