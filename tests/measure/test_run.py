from itertools import count

from advisor.machine.hosts.base import Ran, Why
from advisor.machine.observer import Progress
from advisor.measure.measurement import Task
from advisor.measure.run import LATE, STOPPED, Outcome, RunContext, run
from tests.measure.samples import Stage, line, task

CALM, WILD = line(values=[1e10, 1.0e10, 1.01e10]), line(values=[1e10, 2e10, 3e10])


class Everywhere:
    """Kernels that are in one folder."""

    def program(self, name: str) -> str:
        """Return the path of a kernel's program."""
        return f"/k/{name}"


def ran(stage: Stage, *tasks: Task, budget: float | None = None, tick: float = 0.0) -> tuple[Outcome, list[Progress]]:
    """Run tasks on a stage whose clock goes on by a tick at each look."""
    told: list[Progress] = []
    clock = count()
    around = RunContext(stage, Everywhere(), told.append, lambda: None, clock=lambda: next(clock) * tick, budget=budget)
    return run(tasks or (task(),), around), told


def lacking(turn: bytes | Ran) -> str:
    """Return why a task has no result when its kernel does that."""
    outcome, _ = ran(Stage(turn))
    assert outcome.results == []
    return outcome.missing[0].why


def test_a_kernel_is_started_with_the_tasks_arguments() -> None:
    """CPUs, node, then its own; its time limit is far above the estimate."""
    stage = Stage(CALM)
    outcome, _ = ran(stage)
    assert stage.argv == [("/k/membw", "--cpus", "0,1", "--node", "0", "--pattern", "load", "--bytes", "1048576")]
    assert (stage.limits, [result.median for result in outcome.results]) == ([30.0], [1e10])


def test_what_spreads_is_repeated_up_to_three_times() -> None:
    """All repeats of all rounds are kept; a calm task is run once."""
    calm, wild = Stage(CALM), Stage(WILD)
    (once,), (thrice,) = ran(calm)[0].results, ran(wild)[0].results
    assert (len(calm.argv), len(wild.argv), len(once.values), len(thrice.values)) == (1, 3, 3, 9)
    assert thrice.details["rounds_run"] == 3


def test_a_round_that_fails_does_not_cost_those_before() -> None:
    """What the first round brought stays."""
    outcome, _ = ran(Stage(WILD, Ran(status=1)))
    assert (len(outcome.results), outcome.missing) == (1, [])


def test_each_way_to_fail_is_said() -> None:
    """A wrong sum, a machine that cannot, a hang, a signal, silence and nonsense have a line each."""
    assert lacking(Ran(status=1, err=b"membw: the sum is 3, not 4\n")) == "its result was wrong: membw: the sum is 3, not 4"
    assert lacking(Ran(status=3, err=b"membw: no node 9\n")) == "not possible on this machine: membw: no node 9"
    assert lacking(Ran(why=Why.TIMEOUT)) == "membw hung and was killed after 30 s"
    assert lacking(Ran(status=-11)) == "membw was killed by signal 11"
    assert lacking(Ran(why=Why.REFUSED)) == "membw: permission denied"
    assert lacking(b"\n") == "membw ended without a result"
    assert lacking(b"hello\n").startswith("membw printed something that is not JSON: b'hello'")


def test_one_failure_does_not_stop_the_rest() -> None:
    """The next task is run."""
    outcome, told = ran(Stage(Ran(status=1), CALM), task(name="a"), task(name="b"))
    assert ([result.task for result in outcome.results], [each.task for each in outcome.missing]) == (["b"], ["a"])
    assert [(each.number, each.of) for each in told] == [(1, 2), (2, 2)]


def test_ctrl_c_keeps_what_is_done() -> None:
    """The task that ran and those after it are missing, and say why."""
    outcome, _ = ran(Stage(CALM, KeyboardInterrupt()), task(name="a"), task(name="b"), task(name="c"))
    assert (outcome.interrupted, [result.task for result in outcome.results]) == (True, ["a"])
    assert [(each.task, each.why) for each in outcome.missing] == [("b", STOPPED), ("c", STOPPED)]


def test_a_set_with_a_limit_ends_in_time() -> None:
    """Nothing is begun after it; nothing is repeated that would push the rest out."""
    wild = Stage(WILD)
    outcome, _ = ran(wild, task(name="a"), task(name="b"), budget=5.0, tick=3.0)
    assert (len(wild.argv), [each.why for each in outcome.missing]) == (1, [LATE])


def test_time_left_follows_the_pace() -> None:
    """A machine slower than planned makes the rest longer."""
    _, told = ran(Stage(CALM), task(name="a", seconds=10), task(name="b", seconds=10), tick=20.0)
    assert (told[0].left, told[1].left > 20) == (20, True)


def test_siblings_are_walked_in_the_shape_that_the_first_one_found() -> None:
    """The second NUMA node needs no trials; another number of threads does, and nonsense is not passed on."""
    first, second, wider = task(name="a"), task(name="b", index=1, cpus=(2, 3)), task(name="c", cpus=(0, 1, 2))
    stage = Stage(line(shape="4-near-l1-256"), line(cpus=[2, 3]), line(cpus=[0, 1, 2], shape="$(rm)"))
    ran(stage, first, second, wider, wider)
    shapes = [argv[argv.index("--pattern") + 1] for argv in stage.argv]
    assert shapes == ["load", "load:4-near-l1-256", "load", "load"]
