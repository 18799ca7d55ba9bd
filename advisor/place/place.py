"""Places the ranks of a job: how many on each host, and who sits where on each kind of host."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.errors import BadValue
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.placement import HostPlan, JobShape, Measured, Placement, Strategy
from advisor.place.auto import LOSES, candidates
from advisor.place.crew import Crew, crew
from advisor.place.notes import notes
from advisor.place.seats import Chunk, cpus_of
from advisor.place.slots import plan

Seating = dict[tuple[int, int], list[Chunk]]
"""The ranks of a node by its kind and their number."""


def place(
    job: JobShape, machines: Sequence[Machine], measured: Measured | None = None, *, allowed: CpuSet | None = None
) -> Placement:
    """Return where every rank sits; the machines are one for each host, or one for all of them.

    ``allowed`` are the CPUs that a process may use where that is less than its cgroup allows (``limits.affinity``).
    """
    hosts = crew(job, machines, allowed)
    if job.strategy == "auto":
        return _placement(hosts, *_chosen(hosts, measured))
    return _placement(hosts, _tried(hosts, job.strategy, (f"{job.strategy} was asked for",)), None)


@dataclass(frozen=True)
class _Trial:
    """A strategy that fits: the ranks of each host, and their seats on each kind of host."""

    strategy: Strategy
    why: tuple[str, ...]
    shares: tuple[int, ...]
    seating: Seating

    def places(self) -> dict[tuple[int, int], list[CpuSet]]:
        """Return the CPUs of every rank."""
        return {pair: [cpus_of(chunk.seats) for chunk in chunks] for pair, chunks in self.seating.items()}


def _tried(hosts: Crew, strategy: Strategy, why: tuple[str, ...]) -> _Trial:
    shares = hosts.shares(strategy)
    pairs = dict.fromkeys(pair for pair in zip(hosts.kinds, shares, strict=True) if pair[1])
    seating = {(kind, ranks): hosts.fields[kind].fill(strategy, ranks) for kind, ranks in pairs}
    return _Trial(strategy, why, tuple(shares), seating)


def _chosen(hosts: Crew, measured: Measured | None) -> tuple[_Trial, tuple[Strategy, str] | None]:
    """Return the first candidate that fits; the runner-up is the next that seats somebody elsewhere."""
    best: _Trial | None = None
    failed: list[str] = []
    fault: BadValue | None = None
    for strategy, reason in candidates(hosts.fields[0], hosts.local(), len(hosts.kinds), measured):
        try:
            trial = _tried(hosts, strategy, (reason, *failed))
        except BadValue as error:
            fault = error
            failed.append(f"not {strategy}: {error.problem}")
            continue
        if best is None:
            best = trial
        elif trial.places() != best.places():
            return best, (strategy, LOSES[strategy])
    if best is None:
        raise fault or BadValue("no strategy fits this job")
    return best, None


def _placement(hosts: Crew, trial: _Trial, runner_up: tuple[Strategy, str] | None) -> Placement:
    plans = {pair: plan(hosts.fields[pair[0]], trial.strategy, chunks) for pair, chunks in trial.seating.items()}
    position = {pair: i for i, pair in enumerate(plans)}
    placed = zip(hosts.names, zip(hosts.kinds, trial.shares, strict=True), strict=True)
    return Placement(
        job=hosts.job,
        strategy=trial.strategy,
        why=trial.why,
        runner_up=runner_up,
        notes=notes(hosts, trial.strategy, trial.shares, plans),
        plans=tuple(plans.values()),
        hosts=tuple(HostPlan(name=name, plan=position[pair], ranks=pair[1]) for name, pair in placed if pair[1]),
    )
