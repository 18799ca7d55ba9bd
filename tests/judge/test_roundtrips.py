"""Round trips between cores, and which caches they show."""

from advisor.advice.judge.case import Case, case_of
from advisor.advice.judge.measured import shared_caches
from advisor.machine.machine import Environment, Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import Caches
from advisor.measure.measurement import Measurements
from tests.judge.measuring import neighbours
from tests.measuring import one_result, one_run
from tests.model.shapes import shape

NEAR, FAR = 40e-9, 110e-9


def case(l3: int, *, virtual: str = "none") -> Case:
    """Return a socket of eight cores with so many L3 groups."""
    machine = Machine(topology=shape(1, 1, l3, 8), environment=Environment(virtual=virtual))
    return case_of(machine, infer_layout(machine), None)


def run(times: dict[tuple[int, int], float]) -> Measurements:
    """Return the measurements of some round trips, each repeated with a disturbed one."""
    made = tuple(
        one_result(kernel="c2c", purpose="map", variant="ping-pong", part="pair", cpus=pair, unit="seconds", values=repeats)
        for pair, repeats in ((pair, (time, time * 1.02, time * 6)) for pair, time in times.items())
    )
    return one_run(made)


def every(size: int, count: int = 8) -> dict[tuple[int, int], float]:
    """Return the times of all pairs of cores that share a cache by so many."""
    return {(a, b): NEAR if a // size == b // size else FAR for a in range(count) for b in range(a + 1, count)}


def found(times: dict[tuple[int, int], float], l3: int, *, virtual: str = "none") -> Caches:
    """Return what the times tell."""
    told = shared_caches(run(times), case(l3, virtual=virtual))
    assert told
    return told


def test_none_were_measured() -> None:
    """No round trips, no facts."""
    assert shared_caches(run({}), case(2)) is None


def test_the_firmware_is_confirmed() -> None:
    """Groups of four, as the firmware says."""
    told = found(every(4), 2)
    assert (told.agrees, [str(group) for group in told.groups or ()]) == (True, ["0-3", "4-7"])
    assert (told.near, told.far) == (NEAR, FAR)


def test_hidden_groups_are_found() -> None:
    """One L3 told, two there: as in a virtual machine."""
    told = found(every(4), 1, virtual="kvm")
    assert (told.agrees, told.example) == (False, "CPUs 0 and 4 are far apart, but the firmware reports them in the same group")
    assert [str(group) for group in told.groups or ()] == ["0-3", "4-7"]


def test_groups_that_are_one() -> None:
    """Two L3 told, cores of both as near as can be, and others farther."""
    told = found({**every(8, 8), **{(a, 8): FAR for a in range(8)}}, 4)
    assert told.agrees is None, "the firmware names no group of CPU 8"
    assert found({**every(4), (3, 4): NEAR}, 4).agrees is None, "no grouping fits the near pairs"
    assert (found(every(4), 4).agrees, found(every(4), 4).example) == (
        False, "CPUs 0 and 2 are near each other, but the firmware reports them in different groups",
    )  # fmt: skip


def test_threads_shown_as_cores_are_no_caches() -> None:
    """Pairs that are nearer than all others are threads of one core, where a hypervisor hides that."""
    assert found(every(2), 1, virtual="kvm").agrees is True
    assert found(every(2), 1).agrees is False


def test_some_pairs_are_enough_to_confirm() -> None:
    """Each core with the next: a core without a near partner is not taken for alone."""
    times = {pair: NEAR if pair[0] // 4 == pair[1] // 4 else FAR for pair in neighbours(8)}
    told = found(times, 2)
    assert (told.agrees, told.groups) == (True, None)


def test_times_that_run_together_tell_nothing() -> None:
    """Without a jump there is no near and far; with one group told nothing speaks against it."""
    times = {pair: NEAR * (1 + 0.05 * at) for at, pair in enumerate(neighbours(8))}
    assert (found(times, 2).agrees, found(times, 1).agrees) == (None, True)


def test_a_stray_pair_does_not_contradict() -> None:
    """One of very many pairs may be disturbed in all its repeats."""
    machine = Machine(topology=shape(2, 1, 4, 16), environment=Environment(virtual="none"))
    times = {**every(4, 32), (0, 1): FAR * 2}
    told = shared_caches(run(times), case_of(machine, infer_layout(machine), None))
    assert told
    assert told.agrees is True


def test_threads_of_a_core_are_the_core() -> None:
    """A round trip inside a core is none between cores, whatever the CPU's number."""
    machine = Machine(topology=shape(1, 1, 2, 8, threads=2), environment=Environment(virtual="none"))
    times = {(8 + a, b) if a == 0 else (a, b): time for (a, b), time in every(4).items()}
    told = shared_caches(run({**times, (0, 8): 9e-9}), case_of(machine, infer_layout(machine), None))
    assert told
    assert (told.agrees, told.near) == (True, NEAR)
