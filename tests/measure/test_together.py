"""Several runs of one machine as one. EVERY VALUE IS INVENTED."""

from typing import Any

from advisor.measure.measurement import Measurements, Missing, Result
from advisor.measure.run import merge_runs
from tests.measuring import one_result, one_run


def result(task: str, value: float, **more: Any) -> Result:
    """Return one value."""
    return one_result(task=task, values=(value,), **more)


def run(*results: Result, started: str = "2026-11-20T12:00:00+00:00", lacks: tuple[str, ...] = (), **under: Any) -> Measurements:
    """Return a run."""
    missing = (Missing(task=task, why="stopped by Ctrl-C") for task in lacks)
    return one_run(results, missing=missing, **{"started": started, "seconds": 2.0, **under})


LATER = "2026-11-20T14:30:00+02:00"


def values(found: Measurements) -> list[tuple[str, float]]:
    """Return tasks and their values."""
    return [(each.task, each.median) for each in found.results]


def test_one_run_is_itself() -> None:
    """A single run is not changed, whatever it has and lacks."""
    one = run(result("a", 1.0), lacks=("a", "b"))
    assert merge_runs([one]) == one


def test_the_later_run_counts_where_both_have_a_thing() -> None:
    """The order is that of time, in every time zone, not that in which they are given; other things of both stay."""
    early, late = run(result("a", 1.0), result("b", 2.0)), run(result("a", 3.0), started=LATER)
    assert values(merge_runs([late, early])) == values(merge_runs([early, late])) == [("b", 2.0), ("a", 3.0)]


def test_other_variants_sizes_and_hosts_are_other_things() -> None:
    """One task has several variants and sizes, and messages of other hosts are others."""
    early = run(result("a", 1.0), result("a", 2.0, bytes=8), result("a", 3.0, details={"hosts_named": "n1,n2"}))
    late = run(result("a", 4.0, variant="triad"), result("a", 5.0, details={"hosts_named": "n1,n3"}), started=LATER)
    assert [value for _, value in values(merge_runs([early, late]))] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_what_one_run_lacks_another_may_have() -> None:
    """What is missing in one and measured in the other is not missing; what both lack is named once."""
    found = merge_runs([run(result("a", 1.0), lacks=("b", "c")), run(result("b", 2.0), lacks=("c",), started=LATER)])
    assert [each.task for each in found.missing] == ["c"]


def test_one_busy_run_makes_all_of_it_busy() -> None:
    """Conditions hold for all: busy where one was, with who it was; seconds add up; a run nobody watched does not count."""
    busy = run(
        idle=False, busy=("user bob runs x on 2.0 CPUs",), started=LATER, governor="powersave,performance", compiler="gcc 12"
    )
    found = merge_runs([run(governor="performance", compiler="gcc 12"), busy]).conditions
    assert (found.idle, found.busy, found.seconds) == (False, ("user bob runs x on 2.0 CPUs",), 4.0)
    assert (found.governor, found.compiler, found.started) == ("performance,powersave", "gcc 12", "2026-11-20T12:00:00+00:00")
    assert [merge_runs([run(idle=a), run(idle=b)]).conditions.idle for a, b in ((True, None), (None, None))] == [True, None]


def test_what_is_no_time_comes_first() -> None:
    """A start that cannot be read is taken for the earliest."""
    assert values(merge_runs([run(result("a", 1.0)), run(result("a", 2.0), started="yesterday")])) == [("a", 1.0)]
