"""An experiment with settings: the plan that somebody writes, the order of its restarts, and what it showed."""

import re
from itertools import product
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from advisor.model.audit.setting import Name, Neutral
from advisor.model.measurement import Purpose
from advisor.model.value import Value, wrong_at

PLAN_FORMAT: Final = "advisor-experiment/1"
MOST_STATES: Final = 16
MOST_RESTARTS: Final = 128
"""Of all states together on one node."""
ONE: Final = "all"
"""The one placement of a plan that names none."""

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+/=-]{0,59}$", description="letters, digits, blanks and ._+/=-")]


class Reads(Value):
    """Which of the results that ``advisor measure ... --json`` prints is a program's figure."""

    purpose: Purpose = Field(description="part, network, hpl: why it was run")
    variant: str | None = Field(default=None, description="triad: with regular or streaming stores, whichever is faster")
    part: Literal["core", "l3", "numa", "socket", "machine", "pair"] | None = None
    adapter: Literal["near", "far"] | None = Field(default=None, description="cores of the adapter's socket, or of another one")


class Program(Value):
    """Something to measure in each state: a command line for the node's shell, and its figure."""

    name: Word
    run: str = Field(
        min_length=1, max_length=4000, description="the command as the node's /bin/sh reads it; {place} is the placement's words"
    )
    folder: str | None = Field(default=None, pattern=r"^/[^\x00-\x1f]*$", description="where it is run, an absolute path")
    metric: str | None = Field(default=None, description="a regular expression: the figure is the number in its group")
    reads: Reads | None = Field(default=None, description="the figure is a result of advisor measure ... --json")
    better: Literal["high", "low"] = Field(default="low", description="whether more of the figure is better, or less")
    unit: str = Field(default="s", pattern=r"^[\w/%. -]{1,20}$")
    minutes: float = Field(default=10, gt=0, le=1440, description="how long one run may take")
    takes: float | None = Field(default=None, gt=0, le=1440, description="minutes that one run is expected to take")
    benchmark: str | None = Field(default=None, description="what published results of it are called: stream-triad, hpl")

    @field_validator("metric")
    @classmethod
    def _is_pattern(cls, text: str | None) -> str | None:
        try:
            found = re.compile(text) if text is not None else None
        except re.error as error:
            raise wrong_at((), f"{str(text)[:60]} is not a regular expression: {error}", r"such as 'GFLOPS: (\S+)'") from error
        if found is not None and found.groups > 1:
            raise wrong_at((), "it has several groups", "put only the number in brackets, others as (?:...)")
        return text

    @model_validator(mode="after")
    def _one_figure(self) -> "Program":
        if self.metric is not None and self.reads is not None:
            raise wrong_at(("metric",), "metric and reads both name a figure", "keep one of the two")
        if self.metric is None and self.reads is None and (self.better, self.unit) != ("low", "s"):
            raise wrong_at(("better",), "the figure is wall time, in seconds, of which less is better", "name another: metric:")
        return self


class State(Value):
    """One combination of settings, under which the server is restarted and measured."""

    name: Word
    set: dict[Name, Neutral]


class Published(Value):
    """What somebody has published of such an experiment."""

    text: str
    source: str = Field(description="an id of sources.yaml")


Measured = Annotated[
    Annotated[Program, Tag("program")] | Annotated[str, Tag("name")],
    Discriminator(lambda given: "name" if isinstance(given, str) else "program"),
]
"""A program, or the name of a ready one: what is a mapping is meant for a program, whatever is wrong with it."""


class ExperimentPlan(Value):
    """A plan: which settings, which levels, what is measured, how often."""

    format: Literal["advisor-experiment/1"]
    title: str = Field(default="", max_length=120)
    needs: str = Field(default="", max_length=300, description="on which servers it makes sense, in a sentence")
    factors: dict[Name, Annotated[tuple[Neutral, ...], Field(min_length=1, max_length=MOST_STATES)]] = Field(
        default={}, description="setting -> its levels; every combination is a state, the first is what others are held against"
    )
    leave_out: tuple[dict[Name, Neutral], ...] = Field(default=(), description="combinations that are no states")
    states: tuple[State, ...] = Field(default=(), description="in place of factors: the states one by one")
    placement: dict[Word, str] = Field(
        default={}, description="name -> words for {place} of the programs: all run at each restart"
    )
    measure: tuple[Measured, ...] = Field(min_length=1, max_length=12, description="programs, or names of ready ones")
    restarts: int = Field(default=4, ge=1, le=32, description="of each state on each node")
    repeats: int = Field(default=3, ge=1, le=100, description="runs of each program at a restart, after one that does not count")
    order: Literal["random", "balanced"] = Field(
        default="random", description="random: all restarts shuffled; balanced: each state once in a block, blocks shuffled"
    )
    settle: float = Field(default=60, ge=0, le=7200, description="seconds to wait after a restart, the same for all")
    restart_minutes: float = Field(default=15, gt=0, le=240, description="how long a restart is expected to take")
    worth: float = Field(default=2, ge=0.1, le=50, description="percent: a smaller difference is none")
    published: tuple[Published, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> "ExperimentPlan":
        if bool(self.factors) == bool(self.states):
            raise wrong_at(("factors",), "a plan has either factors or states", "such as factors: {numa.nps: [1, 4]}")
        self._factors_are_right()
        found = self.every_state
        if len(found) < 2:
            raise wrong_at(("factors",), "there is only one state", "an experiment compares two or more")
        if len(found) > MOST_STATES or len(found) * self.restarts > MOST_RESTARTS:
            many = f"{len(found)} states with {self.restarts} restarts each"
            raise wrong_at(("factors",), many, f"at most {MOST_STATES} states and {MOST_RESTARTS} restarts; leave some out")
        if any(each.set.keys() != found[0].set.keys() for each in found):
            raise wrong_at(("states",), "the states do not set the same settings", "name every setting in each of them")
        for what, names in (("states", [each.name for each in found]), ("measure", [_name(each) for each in self.measure])):
            if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
                raise wrong_at((what,), f"{twice} stands there twice", "give each a name of its own")
        return self

    def _factors_are_right(self) -> None:
        for at, each in enumerate(self.leave_out):
            if unknown := next((name for name in each if name not in self.factors), None):
                raise wrong_at(("leave_out", at, unknown), f"{unknown} is no factor of this plan", "leave it out")
        for name, levels in self.factors.items():
            if len(set(levels)) < len(levels):
                raise wrong_at(("factors", name), "the same level stands there twice", "leave one of them out")

    @property
    def every_state(self) -> tuple[State, ...]:
        """Return the states in their order; the first is what the others are held against."""
        if self.states:
            return self.states
        rows = (dict(zip(self.factors, levels, strict=True)) for levels in product(*self.factors.values()))
        kept = [row for row in rows if not any(each.items() <= row.items() for each in self.leave_out)]
        varied = [name for name, levels in self.factors.items() if len(levels) > 1]
        return tuple(
            State(name=" ".join(f"{name.rpartition('.')[2]}={row[name]}" for name in varied)[:60] or "one", set=row)
            for row in kept
        )

    @property
    def places(self) -> dict[str, str]:
        """Return the placements by name, with their words; one without words where the plan has none."""
        return self.placement or {ONE: ""}


def _name(program: Program | str) -> str:
    return program if isinstance(program, str) else program.name


Says = Literal["better", "worse", "no difference", "cannot tell", "described", "first"]


class Column(Value):
    """One program under one placement: what is compared between states."""

    name: str
    unit: str
    better: Literal["high", "low"]


class Cell(Value):
    """One state in one column: its restarts, and how it compares with the first state."""

    state: str
    column: str
    restarts: tuple[float, ...] = Field(description="the median of each restart's runs, in the order of the restarts")
    median: float | None
    failed: int = Field(default=0, description="restarts at which it gave no figure")
    ratio: float | None = Field(default=None, description="relative to the first state; above 1 is more of the unit")
    low: float | None = Field(default=None, description="of the interval of the ratio; null where restarts are too few for one")
    high: float | None = None
    p: float | None = Field(default=None, description="exact, two-sided, over restarts; times the number of comparisons")
    says: Says


class Cost(Value):
    """What a finding's advice brought on this server: its cost, measured here."""

    rule: str
    setting: str
    value: str
    state: str
    column: str
    ratio: float
    proven: bool


class ExperimentResult(Value):
    """What an experiment showed."""

    schema_: Literal["advisor-experiment-result/1"] = Field(default="advisor-experiment-result/1", alias="schema")
    title: str
    nodes: tuple[str, ...]
    states: tuple[State, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]
    restarts: int = Field(description="of each state, on all nodes together, that were planned")
    done: int = Field(description="restarts that were measured")
    planned: int
    comparisons: int
    least_p: float = Field(description="the smallest p that so many restarts can have, times the number of comparisons")
    worth: float = Field(description="as a part of one")
    complete: bool
    answer: str = Field(description="a sentence")
    winner: str | None = Field(description="the state that is proven better than the first in the first column")
    published: tuple[Published, ...] = ()
    costs: tuple[Cost, ...] = ()
    notes: tuple[str, ...] = ()
    where: dict[str, str] = Field(default={}, description="node -> how its settings are now: as before, kept, or not yet back")
