"""Arithmetic on measurements."""

import pytest

from advisor.measure.measurement import (
    Distance,
    MeasuredForPlacement,
    Measurements,
    Purpose,
    Result,
    Task,
    Variant,
    fastest,
    measured_for_placement,
    one_core_per_l3,
    spread_of,
)
from tests.measuring import one_result, one_run


def result(variant: str, *values: float, cpus: int = 8, purpose: Purpose = "part") -> Result:
    """Return a bandwidth of the whole machine."""
    return one_result(purpose=purpose, variant=variant, cpus=tuple(range(cpus)), values=values)


def messages(distance: Distance, value: float, way: str = "") -> Result:
    """Return a message rate of cores at a distance from the adapter, beside its bandwidth, as mbw_mr is read."""
    told = {"kernel": "mbw_mr", "details": {"messages": value, "hca_distance": distance, "way": way}}
    return result("mbw_mr", value * 8, purpose="network").model_copy(update=told)


def run(*results: Result) -> Measurements:
    """Return measurements."""
    return one_run(results)


def test_the_better_stores() -> None:
    """Of triad and triad-nt the one with the higher median; nothing of another pattern."""
    found = fastest([result("triad", 1, 9, 2), result("triad-nt", 3, 3, 3), result("load", 8)], "triad")
    assert found
    assert found.variant == "triad-nt"
    assert fastest([result("load", 8)], "triad") is None


def test_the_widest_spread() -> None:
    """The spread of several results is that of the most restless; of too few repeats none."""
    assert spread_of(result("a", 10, 10, 10), result("b", 8, 10, 12)) == pytest.approx(0.4)
    assert spread_of(result("a", 10, 10, 10), result("b", 10, 10)) is None


def test_one_core_of_each_group() -> None:
    """Not two of each: the run with as many CPUs as there are groups, or the fewest where nobody knows how many."""
    two, four = (result("triad-nt", *[gain] * 3, cpus=cpus, purpose="sparse") for cpus, gain in ((2, 12.0), (4, 11.0)))
    whole = run(four, two, result("triad-nt", 10, 10, 10))
    assert [one_core_per_l3(whole, groups) for groups in (2, None, 4, 3)] == [(1.2, 0.0), (1.2, 0.0), (1.1, 0.0), None]


def test_what_bears_on_placement() -> None:
    """The ratio of bandwidths, and of message rates near and far from the adapter."""
    whole = run(
        result("triad-nt", 11, cpus=2, purpose="sparse"),
        result("triad-nt", 10),
        messages("local", 12e6),
        messages("other-socket", 6e6),
    )
    assert measured_for_placement(whole, 2) == MeasuredForPlacement(one_core_per_l3=1.1, near_messages=2.0)


def test_nothing_that_bears_on_placement() -> None:
    """None where it was not measured."""
    assert measured_for_placement(run()) == MeasuredForPlacement()


def test_messages_that_took_another_way_tell_nothing_of_an_adapter() -> None:
    """Where the MPI chose the way, near and far from the adapter say nothing."""
    way = "chosen by the MPI library"
    whole = run(messages("local", 12e6, way), messages("other-socket", 6e6, way))
    assert measured_for_placement(whole, 2).near_messages is None


def test_the_best_repeat_is_the_shortest_time_or_the_highest_rate() -> None:
    """Disturbances only hold back."""
    rate = result("triad-nt", 10, 12, 11)
    assert (rate.best, rate.model_copy(update={"unit": "seconds"}).best) == (12, 10)


def test_a_variant_is_called_by_its_iteration_up_to_a_comma() -> None:
    """What comes after the comma is for the one who reads the kernel."""
    said = Variant(name="x", unit="bytes/s", arrays=1, read=8, written=0, iteration="sum, past the cache")
    assert said.title == "sum"


@pytest.mark.parametrize(("memory", "node"), [(None, ()), (0, ("--node", "0")), (3, ("--node", "3"))])
def test_memory_is_bound_where_a_node_is_named(memory: int | None, node: tuple[str, ...]) -> None:
    """NUMA node 0 is one too; without a node each thread touches its own part first."""
    task = Task(
        name="t", kernel="membw", variants=("triad",), purpose="part", part="core", index=0, cpus=(1, 2), memory=memory,
        arguments=("--x",), seconds=1,
    )  # fmt: skip
    assert task.argv == ("--cpus", "1,2", *node, "--x")
