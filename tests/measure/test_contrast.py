"""Messages of all cores before and after a change. EVERY VALUE IS INVENTED."""

from math import inf, nan
from typing import Any

import pytest

from advisor.errors import AdvisorError
from advisor.measure.measurement import Identity, Measurements, Result, significance
from advisor.measure.task import before_setup, compare_runs, sizes_argument
from tests.measuring import one_result, one_run

ONE_START = (
    "only one run per setting: its repeats are alike, but another run can differ from all of them; save five runs of each "
    "setting in a folder and compare the folders"
)
NINE = tuple(0.98 + 0.005 * at for at in range(9))
"""Repeats around 1."""


def result(size: int, rate: float, repeats: tuple[float, ...] = NINE, **told: Any) -> Result:
    """Return what all cores sent in messages of one size: ``rate`` messages a second."""
    details = {"hca": "mlx5_0", "hosts_named": "n1,n2", "launcher": "openmpi4 4.1.4", "across": 8, "pairs": 64, **told}
    known: dict[str, Any] = {"task": "mbw_mr/network/mlx5_0/machine", "kernel": "mbw_mr", "purpose": "network"}
    values = tuple(rate * size * each for each in repeats)
    return one_result(variant="mbw_mr", bytes=size, values=values, details=details, **known)


def run(*results: Result, idle: bool | None = True, busy: tuple[str, ...] = (), day: int = 20, name: str = "n1") -> Measurements:
    """Return a run of some day in November."""
    return one_run(results, Identity(name=name), started=f"2026-11-{day}T12:00:00+00:00", idle=idle, busy=busy)


def small(rate: float, **more: Any) -> Result:
    """Return the smallest messages."""
    return result(8, rate, **more)


@pytest.mark.parametrize(("rate", "says"), [(14e6, "faster"), (8e6, "slower"), (10.02e6, "no difference shown")])
def test_it_says_faster_slower_or_nothing(rate: float, says: str) -> None:
    """The message rate of all cores is compared repeat by repeat: medians, ratio, p, and the word."""
    found = compare_runs([run(small(10e6), result(65536, 1e5))], [run(small(rate), result(65536, 1e5), day=21)])
    first, second = found.rows
    assert (first.what, first.unit, first.before.number, first.says) == ("message rate", "messages/s", 9, says)
    assert [first.before.median, first.after.median] == pytest.approx([10e6, rate])
    assert (second.what, second.unit, second.p, second.says) == ("bandwidth", "bytes/s", 1.0, "no difference shown")
    assert (found.hosts, found.launcher, found.of, len(found.warnings)) == ("n1,n2", "openmpi4 4.1.4", "repeats", 1)


def test_a_sure_trifle_is_no_difference() -> None:
    """A part below two in a hundred is no difference however sure, and a large one that chance explains is none either."""
    assert [significance(1e-6, 1.019), significance(0.011, 1.5), significance(0.01, 1.02), significance(0.01, 0.9)] == [
        "no difference shown",
        "no difference shown",
        "faster",
        "slower",
    ]


OTHERS = {
    "another machine": (run(small(1e7), name="n3"), "from different machines"),
    "other hosts": (
        run(small(1e7, hosts_named="n1,n3")),
        "the earlier run was measured between n1,n2, but the later run between n1,n3",
    ),
    "another launcher": (run(small(1e7, launcher="mpich 4.0.2")), "with openmpi4 4.1.4, but the later run with mpich 4.0.2"),
    "another adapter": (run(small(1e7, hca="mlx5_1")), "through mlx5_0, but the later run through mlx5_1"),
    "other sizes": (run(small(1e7), result(64, 1e7)), "messages of 8 bytes, but the later run with messages of 8, 64 bytes"),
    "other cores": (run(small(1e7, pairs=32)), "pairs of ranks: 64, but the later run with pairs of ranks: 32"),
    "no messages": (run(), "the run after has no valid all-core message results"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_runs_of_different_things_are_refused(case: str) -> None:
    """Each is refused in one line that says in what the two differ."""
    other, why = OTHERS[case]
    with pytest.raises(AdvisorError, match=why):
        compare_runs([run(small(1e7))], [other])
    with pytest.raises(AdvisorError):
        compare_runs([run(small(1e7)), other], [run(small(1e7))])


def test_what_speaks_against_it_is_said() -> None:
    """A busy machine, one nobody looked at, too few repeats and runs given the wrong way round are warnings."""
    few = small(1e7, repeats=(1.0, 1.01, 0.99))
    busy = run(few, idle=False, busy=("user alice runs xhpl on 32.0 CPUs",), day=22)
    assert compare_runs([busy], [run(few, idle=None, day=21)]).warnings == (
        "the runs given as 'before' started later than the others",
        "the machine was busy before: user alice runs xhpl on 32.0 CPUs: the difference may come from other work",
        "the hosts were not checked for other load after",
        ONE_START,
        "3 and 3 repeats are too few to show a difference; 5 on each side are enough",
    )


def starts(*rates: float, day: int = 20) -> list[Measurements]:
    """Return a run of each rate."""
    return [run(small(rate), day=day) for rate in rates]


def test_starts_are_compared_where_there_are_several() -> None:
    """Of several starts of each setting each counts once, by its median: starts apart, each with like repeats, show nothing."""
    found = compare_runs(starts(1e7, 1.6e7, 1.6e7, 1e7, 1.6e7), starts(1.6e7, 1e7, 1e7, 1.6e7, 1e7, day=21))
    assert (found.of, found.rows[0].before.number, found.rows[0].says) == ("starts", 5, "no difference shown")
    assert (found.rows[0].p > 0.5, found.warnings) == (True, ())
    sure = compare_runs(starts(1e7, 1.1e7, 1.2e7, 1.05e7, 1.15e7), starts(1.3e7, 1.4e7, 1.5e7, 1.35e7, 1.45e7, day=21))
    assert (sure.rows[0].says, round(sure.rows[0].p, 9)) == ("faster", round(2 / 252, 9))


def test_few_starts_cannot_show_anything() -> None:
    """Four starts of each are too few, and several against one are compared repeat by repeat, with a warning."""
    assert compare_runs(starts(1, 2, 3, 4), starts(5, 6, 7, 8)).warnings == (
        "4 and 4 starts are too few to show a difference; 5 on each side are enough",
    )
    mixed = compare_runs(starts(1e7, 1e7, 1e7), starts(1e7))
    assert (mixed.of, mixed.rows[0].before.number, mixed.warnings) == ("repeats", 27, (ONE_START,))


def test_all_cores_are_the_only_part_of_a_small_machine() -> None:
    """Where one NUMA node is the whole machine its line is compared; of several nodes none stands for all."""
    node = small(1e7).model_copy(update={"part": "numa", "index": 0})
    assert before_setup(run(node)).pairs == 64
    with pytest.raises(AdvisorError, match="no valid all-core message results"):
        before_setup(run(node, node.model_copy(update={"index": 1})))


@pytest.mark.parametrize(("size", "values"), [(0, NINE), (10**400, NINE), (8, (inf,)), (8, (nan,)), (8, (-1.0,))])
def test_a_file_that_cannot_be_true_is_no_run(size: int, values: tuple[float, ...]) -> None:
    """Sizes and values that nobody can measure are left out, whatever a file says."""
    wrong = small(1e7).model_copy(update={"bytes": size, "values": values})
    with pytest.raises(AdvisorError, match="no valid all-core message results"):
        compare_runs([run(wrong)], [run(wrong)])


def test_sizes_as_the_kernel_is_asked() -> None:
    """Sizes are a list, or doublings up to the last that fits."""
    assert (sizes_argument("65536,8"), sizes_argument("1:9")) == ((8, 65536), (1, 2, 4, 8))


def part(values: tuple[float, ...] = NINE, **more: Any) -> Result:
    """Return what a kernel of one's own gave on all cores."""
    known: dict[str, Any] = {"task": "gups/kernel/machine/update", "kernel": "gups", "purpose": "kernel", "variant": "update"}
    known |= {"cpus": (0, 1), "unit": "updates/s", "bytes": 1 << 28, "values": values}
    return one_result(**(known | more))


def times(rate: float) -> tuple[float, ...]:
    """Return repeats around a value."""
    return tuple(rate * each for each in NINE)


@pytest.mark.parametrize(
    ("unit", "after", "says"),
    [
        ("updates/s", 1.4, "faster"),
        ("seconds", 1.4, "slower"),
        ("seconds", 0.6, "faster"),
        ("updates/s", 1.0, "no difference shown"),
    ],
)
def test_parts_of_one_machine_are_compared_figure_by_figure(unit: str, after: float, says: str) -> None:
    """Whatever kernel measured them: of seconds fewer are faster."""
    (row,) = compare_runs([run(part(unit=unit))], [run(part(times(after), unit=unit), day=21)]).rows
    assert (row.kernel, row.variant, row.part, row.unit, row.says) == ("gups", "update", "machine", unit, says)
    assert row.ratio == pytest.approx(after)


def test_several_starts_are_compared_by_their_medians() -> None:
    """As with messages."""
    found = compare_runs([run(part(times(rate))) for rate in (1.0, 1.1)], [run(part(times(rate))) for rate in (2.0, 2.1)])
    assert (found.of, found.rows[0].before.number, found.hosts, found.launcher) == ("starts", 2, "n1", "")


def test_only_the_same_thing_is_compared() -> None:
    """The same task, variant, CPUs and working set; what is not believed is none."""
    others = (part(cpus=(0,)), part(bytes=1 << 29), part(variant="other"), part(refused="pages elsewhere"))
    with pytest.raises(AdvisorError, match="the runs have no valid figure in common"):
        compare_runs([run(part())], [run(*others)])
