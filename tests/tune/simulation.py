"""Races whose right answer is known: programs whose time follows from where their ranks are, and the noise of real machines.

The programs are models, not measurements: each time is a formula of what the ranks of a placement share. EVERY CONSTANT IS
INVENTED; what is tested is whether a race finds the best of whatever landscape such a formula makes.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, product
from math import log
from pathlib import Path
from random import Random
from typing import Final

from advisor.errors import AdvisorError
from advisor.jobs.placement import JobShape, NodePlan, Slot
from advisor.jobs.racing import proof as module
from advisor.jobs.racing.lines import placements
from advisor.jobs.racing.proof import Race, Verdict
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine

CORPUS: Final = Path(os.environ.get("ADVISOR_CORPUS") or Path(__file__).parents[3] / "shared" / "machines") / "xml"
"""Published machines, which are not always there."""
BLOCKS: Final = 30
"""The fixed plan that races are held against: so many runs of every candidate."""


def bandwidth(plan: NodePlan, slots: Sequence[Slot]) -> float:
    """Return the time of ranks that stream: the slowest waits for its NUMA node's memory or its L3 group."""
    nodes: Counter[int] = Counter()
    groups: Counter[int] = Counter()
    for slot in slots:
        nodes.update(dict.fromkeys(slot.memory, slot.cores / max(1, len(slot.memory))))
        groups.update(dict.fromkeys(slot.l3, slot.cores / max(1, len(slot.l3))))
    room = 0.25 * len(plan.topology.cores) / max(1, len(plan.topology.cpu_nodes))
    cache_room = 0.5 * len(plan.topology.cores) / max(1, len(plan.topology.l3))
    waits = [nodes[node] / room for slot in slots for node in slot.memory]
    waits += [groups[group] / cache_room for slot in slots for group in slot.l3]
    return max(1.0, *waits) * (1.1 if any(len(slot.nodes) > 1 for slot in slots) else 1.0)


def _share(plan: NodePlan, slots: Sequence[Slot]) -> float:
    """Return how much of an L3 group a core in use has, on average."""
    groups: Counter[int] = Counter()
    for slot in slots:
        groups.update(dict.fromkeys(slot.l3, slot.cores / max(1, len(slot.l3))))
    full = len(plan.topology.cores) / max(1, len(plan.topology.l3))
    return full / max(1.0, sum(each * each for each in groups.values()) / max(1.0, sum(groups.values()))) if groups else 1.0


def latency(plan: NodePlan, slots: Sequence[Slot]) -> float:
    """Return the time of ranks that follow pointers: what their share of the L3 does not hold is in memory, near or far."""
    held = min(0.8, 0.2 * _share(plan, slots))
    far = sum(len(slot.nodes) > 1 for slot in slots) / len(slots)
    return (15 * held + 95 * (1 - held) * (1 + 0.4 * far)) / 95


def communication(plan: NodePlan, slots: Sequence[Slot]) -> float:
    """Return the time of ranks that send: over the adapter by its distance, to the next rank by what lies between."""
    away = [0.35 * (slot.distance - 10) / 22 for slot in slots if slot.distance is not None]
    steps = [_step(one, other) for one, other in pairwise(slots)] or [1.0]
    del plan
    return 0.6 * (1 + sum(away) / max(1, len(away))) + 0.4 * sum(steps) / len(steps)


def _step(one: Slot, other: Slot) -> float:
    if set(one.l3) & set(other.l3):
        return 1.0
    if set(one.nodes) & set(other.nodes):
        return 1.2
    return 1.35 if one.socket == other.socket else 1.7


def cached(plan: NodePlan, slots: Sequence[Slot]) -> float:
    """Return the time of ranks whose working set nearly fits into the L3."""
    return 1 + 0.5 / _share(plan, slots)


def mixed(plan: NodePlan, slots: Sequence[Slot]) -> float:
    """Return the time of a program of several phases."""
    return (
        0.3 * bandwidth(plan, slots) + 0.3 * latency(plan, slots) + 0.25 * communication(plan, slots) + 0.15 * cached(plan, slots)
    )


def equal(plan: NodePlan, slots: Sequence[Slot]) -> float:
    """Return the time of a program that does not care where it runs."""
    del plan, slots
    return 1.0


PROGRAMS: Final[dict[str, Callable[[NodePlan, Sequence[Slot]], float]]] = {
    "bandwidth": bandwidth,
    "latency": latency,
    "communication": communication,
    "cache": cached,
    "mixed": mixed,
    "equal": equal,
}


@cache
def published(most: int = 60) -> tuple[Machine, ...]:
    """Return published machines with several NUMA nodes and enough cores to choose among."""
    found: list[Machine] = []
    for path in sorted(CORPUS.glob("*.xml")):
        try:
            machine = read_machine(str(path))
        except AdvisorError:
            continue
        inside = machine.topology.inside if machine.topology else None
        if inside and len(inside.cpu_nodes) > 1 and len(inside.cores) >= 16 and len(landscape(machine, "equal")) > 2:
            found.append(machine)
    return tuple(found[:most])


_SEATS: dict[int, tuple[tuple[NodePlan, tuple[Slot, ...]], ...]] = {}


def landscape(machine: Machine, program: str) -> tuple[float, ...]:
    """Return the logarithm of each candidate's true time on a machine, that of the plainest placement first."""
    if id(machine) not in _SEATS:
        assert machine.topology is not None
        cores = len(machine.topology.inside.cores)
        found, _ = placements(JobShape(ranks=max(2, cores // 4), threads=2), (machine,))
        found.sort(key=lambda each: not each.name.startswith("compact"))
        plans = [each.placement.plans[0] for each in found if each.placement]
        _SEATS[id(machine)] = tuple((plan, plan.slots) for plan in plans)
    return tuple(log(PROGRAMS[program](plan, slots)) for plan, slots in _SEATS[id(machine)])


NOISES: Final = (
    "normal",
    "heavy tails",
    "drift",
    "autocorrelated",
    "neighbour",
    "unequal spreads",
    "two speeds",
    "regular",
    "all",
    "skewed",
    "outliers",
    "coarse clock",
    "unequal outliers",
    "carry-over",
)


@dataclass
class Bench:
    """A machine on which candidates take their true time and what the noise adds, run after run."""

    truth: Sequence[float]
    sigma: float
    noise: str
    dice: Random
    runs: int = 0
    _slow: float = 0.0
    _spell: int = 0
    _burst: float = 0.0
    _carried: float = 0.0
    _traits: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count, uniform = len(self.truth), self.dice.uniform
        self._traits = {
            "spread": [uniform(1, 3) if self.noise in ("unequal spreads", "all") else 1.0 for _ in range(count)],
            "drift": [uniform(-0.06, 0.06) / (BLOCKS * count) if self.noise in ("drift", "all") else 0.0],
            "modes": [float(at == self._moody(count)) for at in range(count)],
            "outliers": [{"outliers": 0.1, "unequal outliers": uniform(0, 0.3)}.get(self.noise, 0.0) for _ in range(count)],
            "carries": [uniform(0, 2 * self.sigma) if self.noise == "carry-over" else 0.0 for _ in range(count)],
        }

    def _moody(self, count: int) -> int:
        return self.dice.randrange(count) if self.noise == "two speeds" else -1

    def run(self, candidate: int) -> float:
        """Return the logarithm of the time of one more run."""
        dice, kind, sigma = self.dice, self.noise, self.sigma * self._traits["spread"][candidate]
        self.runs += 1
        plain = dice.gauss(0, 1)
        if kind in ("heavy tails", "all"):  # Student's t of three degrees, as wide as the normal in its middle
            plain = dice.gauss(0, 1) / (sum(dice.gauss(0, 1) ** 2 for _ in range(3)) / 3) ** 0.5
        if kind == "skewed":  # never much faster, now and then much slower
            plain = dice.expovariate(1) - log(2)
        found = self.truth[candidate] + sigma * plain + self._traits["drift"][0] * self.runs
        if kind in ("autocorrelated", "all"):
            self._slow = 0.95 * self._slow + self.sigma * 0.31 * dice.gauss(0, 1)
            found += self._slow
        if kind in ("neighbour", "all"):
            found += self._neighbour()
        if kind == "regular" and self.runs % len(self.truth) < 2:  # a daemon that wakes as often as a block takes
            found += 2 * self.sigma
        if self._traits["modes"][candidate]:
            found += 0.05 if dice.random() < 0.5 else -0.05
        if dice.random() < self._traits["outliers"][candidate]:
            found += dice.uniform(0.1, 0.5)
        found += self._carried  # a hot line slows the one after it
        self._carried = self._traits["carries"][candidate]
        return round(found / self.sigma) * self.sigma if kind == "coarse clock" else found

    def _neighbour(self) -> float:
        """Return what a neighbour takes: spells of three runs on average, three in a hundred runs."""
        if self._spell:
            self._spell -= 1
        elif self.dice.random() < 0.01:
            self._spell, self._burst = 1 + int(self.dice.expovariate(0.4)), log(self.dice.uniform(1.2, 1.5))
        return self._burst if self._spell else 0.0


def raced(bench: Bench, seed: int, race: Race | None = None) -> Verdict:
    """Return the verdict of a race that may take the runs of the fixed plan."""
    race, room = race or Race(len(bench.truth)), BLOCKS * len(bench.truth)
    while not race.over and bench.runs + len(race.active) <= room and not race.is_futile(room - bench.runs):
        race.add({each: bench.run(each) for each in module.order(race.active, seed, len(race.blocks))})
    return race.verdict()


def chosen(verdict: Verdict) -> int:
    """Return the line that somebody would take: the winner, their own where nothing is faster, else the fastest so far."""
    if verdict.winner is not None:
        return verdict.winner
    return 0 if verdict.answer == "no difference" else verdict.leader


SIGMAS: Final = (0.01, 0.025, 0.05, 0.1)
"""How much one run differs from the next."""


def cells() -> Iterator[tuple[str, str, float]]:
    """Yield what is simulated: each program under each noise of each width."""
    yield from product(sorted(PROGRAMS, key=lambda name: name != "equal"), NOISES, SIGMAS)
