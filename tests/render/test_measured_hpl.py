"""What is shown of HPL. EVERY VALUE IS INVENTED but those of article [000]: 1133 GFLOP/s of a peak of 1126."""

from typing import Any

from advisor.measure.measurement import Result
from advisor.measure.page import hpl_tables
from advisor.measure.tables import Seen
from tests.measuring import one_result, one_run

DETAILS = {
    "n": 86400,
    "nb": 192,
    "p": 8,
    "q": 8,
    "ranks": 64,
    "threads": 1,
    "blas": "OpenBLAS",
    "blas_core": "Zen",
    "program": "hpl",
}


def run(**fields: Any) -> Result:
    """Return one run."""
    details = {**DETAILS, **fields.pop("details", {})}
    found: dict[str, Any] = {"task": "hpl/hpl/machine/lu", "kernel": "hpl", "purpose": "hpl", "variant": "lu", "unit": "flop/s"}
    return one_result(**(found | {"values": (1133e9,), "details": details} | fields))


def shown(*runs: Result, width: int = 120) -> list[str]:
    """Return the sections of some runs as plain lines."""
    return [" ".join("".join(words for words, _ in line).split()) for line in hpl_tables(Seen(one_run(runs), None, width))]


def text(**fields: Any) -> list[str]:
    """Return the section of one run as plain lines."""
    return shown(run(**fields))


def test_it_stands_against_both_peaks() -> None:
    """The article's 100.6 % of base clock is explained by the peak under load beside it."""
    lines = text(details={"peak_base": 1126.4e9, "peak_load": 1380e9, "dgemm_all": 1240e9})
    assert lines[3] == "86400 192 8 x 8 1 1130 101 % 82 % 91 %"
    assert lines[1] == "HPL hpl, OpenBLAS Zen, 64 ranks, one run"


def test_peaks_that_are_not_known_say_so() -> None:
    """Nothing is divided by what nobody knows."""
    assert text()[3:] == ["86400 192 8 x 8 1 1130", "the peak at base clock is unknown; no peak under load was measured"]


def test_a_wrong_kernel_is_named() -> None:
    """What speaks against the BLAS stands below, with what to try."""
    assert (
        text(details={"blas_doubt": "OpenBLAS took this processor for Prescott"})[-1]
        == "! OpenBLAS took this processor for Prescott"
    )


def test_what_is_refused_is_in_no_table() -> None:
    """A failed residual is no rate."""
    assert text(refused="its residual test failed") == []


def step(hosts: int, rate: float, **fields: Any) -> Result:
    """Return a row of a scaling table, of hosts with 32 cores whose peak is 1 TFLOP/s each."""
    names = ",".join(f"n{number}" for number in range(hosts))
    details = {"scaling": True, "hosts": hosts, "cores": 32 * hosts, "hosts_named": names, "peak_base": hosts * 1e12}
    return run(values=(rate,), details={**details, **fields.pop("details", {})}, **fields)


def test_a_scaling_table_compares_with_one_host_and_with_the_peak() -> None:
    """As in article [003]: from 102 % of the peak on one host to 97 % on four, which is 95 % of the first host's."""
    lines = shown(step(1, 1.02e12), step(2, 1.98e12), step(4, 3.88e12), width=80)
    assert lines[1:6] == [
        "HPL scaling hpl, OpenBLAS Zen, NB 192, one run",
        "on cores N P x Q GFLOP/s spread of 1 host of base of load",
        "1 host 32 86400 8 x 8 1020 100 % 102 % -",
        "2 hosts 64 86400 8 x 8 1980 97 % 99 % -",
        "4 hosts 128 86400 8 x 8 3880 95 % 97 % -",
    ]


def test_parts_of_one_host_are_named() -> None:
    """A NUMA node, a socket and all of a host; core by core against the first."""
    parts = [("numa", 0, 8, 1.1e11), ("socket", 0, 32, 4e11), ("machine", None, 64, 7.04e11)]
    rows = [
        run(part=part, index=index, values=(rate,), details={"scaling": True, "hosts": 1, "cores": cores})
        for part, index, cores, rate in parts
    ]
    lines = shown(*rows)
    assert [line.partition(" 86400")[0] for line in lines[3:6]] == ["NUMA node 0 8", "socket 0 32", "machine 64"]
    assert [line.split(" % ")[0].split()[-1] for line in lines[3:6]] == ["100", "91", "80"]


def test_a_table_and_a_single_run_stand_apart() -> None:
    """Runs that were measured alone keep their own table; what is refused is in neither."""
    lines = shown(run(), step(1, 1e12), step(2, 2e12, refused="rank 3 was on n9, but the plan has n1"))
    assert [line.split()[:2] for line in lines if line.startswith("HPL")] == [["HPL", "hpl,"], ["HPL", "scaling"]]
    assert [line for line in lines if line.startswith("2 hosts")] == []
