"""What parameters and odd words do to Open MPI's lines, on a Rome (8 NUMA nodes of 16) and CoD, SNC-2, Naples: as observed."""

import re
from pathlib import Path

import pytest

from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from tests.jobs.place.samples import machine

ROWS = [row.split("\t") for row in (Path(__file__).parent / "openmpi_parameters.txt").read_text().splitlines()]
VERSIONS = {"4": "4.1.4", "5": "5.0.11"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"[^\w.,:=-]+", "_", f"{row[0]}-{row[1]}-{row[2]}{row[3]}")[:120])
def test_a_line_with_parameters_does_what_was_observed(row: list[str]) -> None:
    """The CPUs of every rank and its host, or FAIL where nothing started."""
    version, name, line, rankfile, seen = row
    here = machine(name)
    made = predict(parse([f"{line} ./a"], VERSIONS[version]), here, {"rf": rankfile.replace("|", "\n")} if rankfile else {})
    assert made.unclear is None
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
    assert (made.ranks, (made.unclear or "").endswith("is not worked out here")) == (None, True)


def test_4_takes_no_host_by_its_number_even_where_its_rank_is_not_started() -> None:
    """Rows of a rankfile beyond -np: their hosts are read and their slots are not; 5.x knows +n0."""
    rows = "rank 0=n1 slot=0\nrank 1={} slot={}\n"
    line = "mpirun -n 1 --host n1:2,n2:2 --rankfile rf ./a"
    words = [("4.1.4", "+n0", "1"), ("4.1.4", "n1", "999"), ("5.0.11", "+n0", "1")]
    made = [predict(parse([line], each), machine("b-c6525-2x7702-nps4"), {"rf": rows.format(*said)}) for each, *said in words]
    assert [len(each.ranks or ()) for each in made] == [0, 1, 1]
    odd = predict(parse([line], "5.0.11"), machine("b-c6525-2x7702-nps4"), {"rf": rows.format("n1", "1:64")})
    assert "5 may pass over" in str(odd.unclear)


NAPLES_SMT = "a-r7425-2x7601-dell-smt"


def _seen(version: str, line: str) -> list[str]:
    made = predict(parse([f"{line} ./a"], version), machine(NAPLES_SMT), {})
    return [str(rank.cpus) for rank in made.ranks or ()] or [made.unclear or "FAIL"]


@pytest.mark.parametrize("words", ["", "--map-by node", "--bind-to core", "--map-by core", "--cpu-set 0-5", "-N 2"])
def test_4s_parameter_of_hardware_threads_is_as_good_as_its_option(words: str) -> None:
    """Two ranks without other words go to the two threads of one core."""
    line = f"mpirun -np 2 {words}"
    said = _seen("4.1.4", f"OMPI_MCA_hwloc_base_use_hwthreads_as_cpus=1 {line}")
    assert said == _seen("4.1.4", f"{line} --use-hwthread-cpus")


@pytest.mark.parametrize(
    ("value", "taken"), [("1", True), ("-1", True), ("t", True), ("enabled", True), ("True", False), ("on", False)]
)
def test_what_4_takes_for_true_is_in_small_letters(value: str, taken: bool) -> None:
    """Numbers but 0 are true, and what it cannot read is passed over."""
    line = f"OMPI_MCA_hwloc_base_use_hwthreads_as_cpus={value} mpirun -np 2"
    assert _seen("4.1.4", line) == (["0", "64"] if taken else ["0,64", "16,80"])


def test_a_list_of_5_counts_cores_whatever_ranks_are_bound_to_unless_it_is_ordered() -> None:
    """--bind-to hwthread reads single threads of an ordered list alone; of the development branch it is left open."""
    line = "mpirun -np 1 --bind-to hwthread --map-by pe-list=1,2"
    assert _seen("5.0.11", line) == ["16,32,80,96"]
    assert _seen("5.0.11", f"{line}:ordered") == ["64"]
    assert "development branch" in _seen("main", line)[0]
