"""What parameters and odd words do to Open MPI's lines, on a Rome (8 NUMA nodes of 16) and CoD, SNC-2, Naples: as observed."""

import re
from pathlib import Path

import pytest

from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from tests.jobs.place.samples import machine

ROWS = [row.split("\t") for row in (Path(__file__).parent / "openmpi_parameters.txt").read_text().splitlines()]
VERSIONS = {"4": "4.1.4", "5": "5.0.11"}


_READ = re.compile(
    r"OMPI_MCA_(rmaps_base_mapping|hwloc_base_binding)_policy=\w+ mpirun( --host \S+)?( -np \d+)?( --bind-to \w+)?"
)
"""Lines that are predicted: such a parameter of 4 is as good as its option, where that is not there."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"[^\w.,:=-]+", "_", f"{row[0]}-{row[1]}-{row[2]}{row[3]}")[:120])
def test_a_line_with_parameters_does_what_was_observed(row: list[str]) -> None:
    """The CPUs of every rank and its host, or FAIL where nothing started; parameters that are not read leave a line open."""
    version, name, line, rankfile, seen = row
    here = machine(name)
    made = predict(parse([f"{line} ./a"], VERSIONS[version]), here, {"rf": rankfile.replace("|", "\n")} if rankfile else {})
    if made.unclear:
        assert not _READ.fullmatch(line)
        return
    everything = here.topology.pus if here.topology else None
    told = "FAIL" if made.ranks is None else " ".join(f"{rank.host or ''}:{rank.cpus or everything}" for rank in made.ranks)
    assert told == seen


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("4", "mpirun --mca hwloc_base_use_hwthreads_as_cpus 1 --mca rmaps_base_mapping_policy ppr:4:socket:pe=4 -np 5"),
        ("5", "mpirun --prtemca rmaps_default_mapping_policy numa:PE=32 -np 4 --map-by package"),
        ("5", "mpirun --prtemca rmaps_default_mapping_policy ppr:4:node:PE=2 -np 4"),
        ("5", "mpirun --prtemca rmaps_base_cpus_per_rank 20 --prtemca hwloc_default_binding_policy none -np 6"),
        ("5", "mpirun --prtemca rmaps_default_mapping_policy L3 --prtemca rmaps_base_cpus_per_rank 8 -np 4 --bind-to l2cache"),
    ],
)
def test_a_default_width_beside_what_changes_it_is_not_worked_out(version: str, line: str) -> None:
    """4.1.4's PE= parameter counted hardware threads, that of 5.0.11 held beside --map-by, a width did not: none is guessed."""
    made = predict(parse([f"{line} ./a"], VERSIONS[version]), machine("d-delftblue-2x6248r-snc2"), {})
    assert (made.ranks, (made.unclear or "").endswith("is not predicted")) == (None, True)


def test_rows_of_a_rankfile_beyond_the_ranks_that_are_started_are_left_open() -> None:
    """4 reads their hosts and not their slots, and takes no +n0 outside of a scheduler's job; 5 may pass over faults."""
    rows = "rank 0=n1 slot=0\nrank 1={} slot={}\n"
    line = "mpirun -n 1 --host n1:2,n2:2 --rankfile rf ./a"
    for version, *said in (("4.1.4", "+n0", "1"), ("4.1.4", "n1", "999"), ("5.0.11", "+n0", "1"), ("5.0.11", "n1", "1:64")):
        assert predict(parse([line], version), machine("b-c6525-2x7702-nps4"), {"rf": rows.format(*said)}).unclear


NAPLES_SMT = "a-r7425-2x7601-dell-smt"


def _seen(version: str, line: str) -> list[str]:
    made = predict(parse([f"{line} ./a"], version), machine(NAPLES_SMT), {})
    return [str(rank.cpus) for rank in made.ranks or ()] or [made.unclear or "FAIL"]


def test_a_list_of_5_counts_cores_whatever_ranks_are_bound_to_unless_it_is_ordered() -> None:
    """--bind-to hwthread reads single threads of an ordered list alone; of the development branch it is left open."""
    line = "mpirun -np 1 --bind-to hwthread --map-by pe-list=1,2"
    assert _seen("5.0.11", line) == ["16,32,80,96"]
    assert _seen("5.0.11", f"{line}:ordered") == ["64"]
    assert "development branch" in _seen("main", line)[0]
