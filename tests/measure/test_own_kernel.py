"""A kernel that has no plan of its own: run as it is, on the parts that its header comment names."""

import pytest

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from tests.measure.samples import ROME, planned


def test_one_part_of_each_kind_that_it_runs_on() -> None:
    """What has the same cores is measured once, as the larger part."""
    made = planned(ROME, "peakflops").tasks
    assert [task.part for task in made] == ["core", "l3", "numa", "socket", "machine"]
    assert {(task.kernel, task.purpose, task.variants[0]) for task in made} == {("peakflops", "kernel", "fma")}


def test_all_parts_of_one_kind() -> None:
    """With --per."""
    assert [task.index for task in planned(ROME, "peakflops", per="numa").tasks] == list(range(8))


def test_the_cpus_that_were_named_are_one_part() -> None:
    """Whatever parts its header comment names."""
    (made,) = planned(ROME, "memlat", cpus=CpuSet([3])).tasks
    assert (made.cpus, made.name.endswith("machine-cpus-3/chase+stride+lines+chase-loaded")) == ((3,), True)


def test_it_is_given_a_size_where_it_takes_one() -> None:
    """Larger than the caches; a kernel without arrays has no size, and no memory that could lie elsewhere."""
    (latency,) = planned(ROME, "memlat").tasks
    peak = planned(ROME, "peakflops").tasks[0]
    assert (latency.arguments[0], latency.distance) == ("--bytes", "local")
    assert ("--bytes" in peak.arguments, peak.distance) == (False, None)


@pytest.mark.parametrize(
    ("what", "per", "problem"),
    [
        ("memlat", "socket", "memlat does not run on a single socket; it runs on core"),
        ("mbw_mr", None, "mbw_mr runs under MPI; advisor measure network and advisor measure hpl start kernels like this one"),
        ("gups", None, "unknown measurement gups; available: membw, scaling, .*, memlat, peakflops"),
    ],
)
def test_what_cannot_be_measured_is_refused(what: str, per: str | None, problem: str) -> None:
    """One line that says what can."""
    with pytest.raises(BadValue, match=problem):
        planned(ROME, what, per=per)
