"""What monitoring is given: few families, each sample once, figures of whole parts alone."""

from dataclasses import replace

import pytest

from advisor.exports.export import HPL, LATENCY, TRIAD, Figure, best_results, families
from tests import exports
from tests.measuring import one_result, one_run

RESULTS = one_run(
    [
        one_result(part="numa", index=1, variant="triad", values=(40e9, 50e9, 60e9), distance="local"),
        one_result(part="numa", index=1, variant="triad-nt", values=(70e9,), distance="local"),
        one_result(part="numa", index=1, variant="triad", values=(90e9,), distance="other-socket"),
        one_result(part="core", index=1, variant="triad", values=(9e9,), distance="local"),
        one_result(part="machine", variant="triad", values=(900e9,), refused="above the ceiling"),
        one_result(part="numa", index=0, variant="chase", unit="seconds", values=(9e-8,), distance="local", kernel="memlat"),
        one_result(part="numa", index=0, variant="chase", unit="seconds", values=(8e-8,), distance="local", kernel="memlat"),
        one_result(part="machine", variant="hpl", purpose="hpl", unit="flop/s", values=(3e12,), kernel="hpl"),
    ]
)


@pytest.mark.parametrize(
    ("figure", "wanted"),
    [(TRIAD, {("numa", 1): 70e9}), (LATENCY, {("numa", 0): 8e-8}), (HPL, {("machine", 0): 3e12})],
)
def test_the_best_of_a_part_counts(figure: Figure, wanted: dict[tuple[str, int], float]) -> None:
    """The most of a bandwidth, the least of a latency; of its own memory, believed, and of no single core."""
    assert {part: each.median for part, each in best_results(RESULTS, figure).items()} == wanted


def test_a_family_without_samples_is_left_out() -> None:
    """Nothing measured, nothing said of it."""
    names = [each.name for each in families(replace(exports.machine(), measurements=None), exports.OPTIONS)]
    assert [name for name in names if "memory" in name or "hpl" in name] == []


def test_two_values_of_one_fact_are_one_sample() -> None:
    """Two nodes drifted to two values: the fact has two nodes."""
    drift = next(each for each in families(exports.fleet(), exports.OPTIONS) if each.name.endswith("drift_nodes"))
    assert drift.samples == (((("fact", "kernel.thp"), ("kind", "A")), 2.0),)
