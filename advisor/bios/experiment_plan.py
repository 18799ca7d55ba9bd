"""What an experiment is and what it proves: its plan, the order of its restarts, the statistics of its cells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import comb, log, prod
from pathlib import Path
from shlex import quote
from statistics import median
from typing import Annotated, Literal, NamedTuple

from pydantic import Discriminator, Field, RootModel, Tag, ValidationError, field_validator, model_validator

from advisor.advice.bios_files import text_of
from advisor.advice.know.vendors import publications, settings
from advisor.advice.model.sheets import Name, Neutral
from advisor.errors import BadInput, BadValue, did_you_mean, in_words
from advisor.jobs.racing.proof import Contrast, Stratum, contrast, order
from advisor.machine.hosts.errands import checked_names
from advisor.machine.hosts.files import Use
from advisor.machine.value import Value, optional, wrong_at
from advisor.measure.measurement import Purpose
from advisor.paths import rules
from advisor.sheets import Sheet, load_sheet, model_of, parse_sheet, read_sheet

MOST_STATES = 16
MOST_RESTARTS = 128
"""Of all states together on one node."""
ONE = "all"
"""The one placement of a plan that names none."""

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+/=-]{0,59}$", description="letters, digits, blanks and ._+/=-")]


class Reads(Value):
    """Which of the results that ``advisor measure ... --json`` prints is a program's figure."""

    purpose: Purpose
    """purpose of the run: part, network, hpl"""
    variant: str | None = None
    """triad: with regular or streaming stores, whichever is faster"""
    part: Literal["core", "l3", "numa", "socket", "machine", "pair"] | None = None
    adapter: Literal["near", "far"] | None = None
    """cores of the adapter's socket, or of another one"""


class Program(Value):
    """Something to measure in each state: a command line for the node's shell, and its figure."""

    name: Word
    run: str = Field(min_length=1, max_length=4000)
    """the command for the node's /bin/sh; {place} stands for the placement's words"""
    folder: str | None = optional(pattern=r"^/[^\x00-\x1f]*$")
    """absolute path of the folder to run it in"""
    metric: str | None = None
    """a regular expression; its group matches the figure"""
    reads: Reads | None = None
    """the figure comes from advisor measure ... --json"""
    better: Literal["high", "low"] = "low"
    """whether a higher or lower figure is better"""
    unit: str = Field(default="s", pattern=r"^[\w/%. -]{1,20}$")
    minutes: float = optional(10, gt=0, le=1440)
    """how long one run may take"""
    takes: float | None = optional(gt=0, le=1440)
    """expected minutes per run"""
    benchmark: str | None = None
    """the name of published results: stream-triad, hpl"""

    @field_validator("metric")
    @classmethod
    def _is_pattern(cls, text: str | None) -> str | None:
        try:
            found = re.compile(text) if text is not None else None
        except re.error as error:
            raise wrong_at((), f"{str(text)[:60]} is not a regular expression: {error}", r"such as 'GFLOPS: (\S+)'") from error
        if found is not None and found.groups > 1:
            raise wrong_at((), "the expression has several groups", "capture only the number; write other groups as (?:...)")
        return text

    @model_validator(mode="after")
    def _one_figure(self) -> "Program":
        if self.metric is not None and self.reads is not None:
            raise wrong_at(("metric",), "both metric and reads define the figure", "keep only one of them")
        if self.metric is None and self.reads is None and (self.better, self.unit) != ("low", "s"):
            raise wrong_at(("better",), "the figure is wall time in seconds; lower is better", "name another: metric:")
        return self


class State(Value):
    """One combination of settings, under which the server is restarted and measured."""

    name: Word
    set: dict[Name, Neutral]


class Published(Value):
    """What somebody has published of such an experiment."""

    text: str
    source: str
    """an id of sources.yaml"""


Measured = Annotated[
    Annotated[Program, Tag("program")] | Annotated[str, Tag("name")],
    Discriminator(lambda given: "name" if isinstance(given, str) else "program"),
]
"""A program, or the name of a ready one: what is a mapping is meant for a program, whatever is wrong with it."""


class ExperimentPlan(Value):
    """A plan: which settings, which levels, what is measured, how often."""

    format: Literal["advisor-experiment/1"]
    title: str = Field(default="", max_length=120)
    needs: str = optional("", max_length=300)
    """the servers it is useful on, in one sentence"""
    factors: dict[Name, Annotated[tuple[Neutral, ...], Field(min_length=1, max_length=MOST_STATES)]] = optional({})
    """setting -> its levels; every combination is a state, and the others are compared with the first"""
    leave_out: tuple[dict[Name, Neutral], ...] = ()
    """combinations to leave out"""
    states: tuple[State, ...] = ()
    """instead of factors: the states one by one"""
    placement: dict[Word, str] = optional({})
    """name -> words for {place} in the programs: all run at each restart"""
    measure: tuple[Measured, ...] = Field(min_length=1, max_length=12)
    """programs, or names of built-in ones"""
    restarts: int = optional(4, ge=1, le=32)
    """restarts per state and node"""
    repeats: int = optional(3, ge=1, le=100)
    """counted runs of each program per restart, after one warm-up run"""
    order: Literal["random", "balanced"] = "random"
    """random: all restarts shuffled; balanced: every state once per block, blocks shuffled"""
    settle: float = optional(60, ge=0, le=7200)
    """seconds to wait after every restart"""
    restart_minutes: float = optional(15, gt=0, le=240)
    """expected duration of a restart"""
    worth: float = optional(2, ge=0.1, le=50)
    """percent: smaller differences are ignored"""
    published: tuple[Published, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> "ExperimentPlan":
        if bool(self.factors) == bool(self.states):
            raise wrong_at(("factors",), "a plan has either factors or states", "for example factors: {numa.nps: [1, 4]}")
        self._factors_are_right()
        found = self.every_state
        if len(found) < 2:
            raise wrong_at(("factors",), "there is only one state", "an experiment compares at least two states")
        if len(found) > MOST_STATES or len(found) * self.restarts > MOST_RESTARTS:
            many = f"{len(found)} states with {self.restarts} restarts each"
            raise wrong_at(("factors",), many, f"at most {MOST_STATES} states and {MOST_RESTARTS} restarts; leave some out")
        if any(each.set.keys() != found[0].set.keys() for each in found):
            raise wrong_at(("states",), "the states set different settings", "give every state a value for every setting")
        for what, names in (
            ("states", [each.name for each in found]),
            ("measure", [each if isinstance(each, str) else each.name for each in self.measure]),
        ):
            if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
                raise wrong_at((what,), f"{twice} appears twice", "give each its own name")
        return self

    def _factors_are_right(self) -> None:
        for at, each in enumerate(self.leave_out):
            if unknown := next((name for name in each if name not in self.factors), None):
                raise wrong_at(("leave_out", at, unknown), f"{unknown} is not a factor of this plan", "leave it out")
        for name, levels in self.factors.items():
            if len(set(levels)) < len(levels):
                raise wrong_at(("factors", name), "the same level appears twice", "leave one of them out")

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
    restarts: tuple[float, ...]
    """median of the runs per restart, in order"""
    median: float | None
    failed: int = 0
    """restarts without a figure"""
    ratio: float | None = None
    """ratio to the first state; above 1 means more of the unit"""
    low: float | None = None
    """end of the ratio's interval; null if there are too few restarts"""
    high: float | None = None
    p: float | None = None
    """exact two-sided p over restarts, times the number of comparisons"""
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
    restarts: int
    """planned restarts of each state, on all nodes together"""
    done: int
    """number of measured restarts"""
    planned: int
    comparisons: int
    least_p: float
    """the smallest p possible with that many restarts, times the number of comparisons"""
    worth: float
    """as a fraction"""
    complete: bool
    answer: str
    """a sentence"""
    winner: str | None
    """the state proven better than the first, in the first column"""
    published: tuple[Published, ...] = ()
    costs: tuple[Cost, ...] = ()
    notes: tuple[str, ...] = ()
    where: dict[str, str] = optional({})
    """node -> state of its settings: as before, kept, or not yet back"""


_LARGEST = 1 << 20
_PROGRAMS = "programs"
_FOLDER = "experiments"


class Programs(RootModel[dict[str, Program]]):
    """The programs that a plan may name."""


@cache
def ready_programs() -> Mapping[str, Program]:
    """Return the programs that a plan may name."""
    return load_sheet(rules() / _FOLDER / f"{_PROGRAMS}.yaml", Programs).root


def ready_plans() -> dict[str, Path]:
    """Return the ready plans by name."""
    return {path.stem: path for path in sorted((rules() / _FOLDER).glob("*.yaml")) if path.stem != _PROGRAMS}


def listed() -> dict[str, ExperimentPlan]:
    """Return the ready plans as they are."""
    return {name: _read(read_sheet(path)) for name, path in ready_plans().items()}


def list_document() -> dict[str, object]:
    """Return the document of ``advisor experiment --list --json``."""
    plans = {name: each.model_dump(mode="json", exclude_defaults=True) for name, each in listed().items()}
    programs = {name: each.run for name, each in ready_programs().items()}
    return {"schema": "advisor-experiment-list/1", "plans": plans, "programs": programs}


def experiment_plan(
    given: str,
    *,
    hold: Mapping[str, Neutral] | None = None,
    restarts: int | None = None,
    repeats: int | None = None,
    partner: str | None = None,
) -> ExperimentPlan:
    """Return the plan of a file, or a ready one by its name; a mistake is one line that names file and line.

    ``hold`` is what every state has besides, ``partner`` the other host of programs that send messages.
    """
    path = ready_plans().get(given)
    if path is not None:
        sheet = read_sheet(path)
    elif not given.endswith((".yaml", ".yml", ".json")) and not Path(given).exists():
        near = did_you_mean(given, ready_plans(), f"give a file, or one of {', '.join(ready_plans())}")
        raise BadValue(f"{given[:60]} is neither a built-in plan nor a file", cure=near)
    else:
        absent = "advisor experiment --list shows the built-in ones"
        sheet = parse_sheet(text_of(Path(given), _LARGEST, "a plan", absent=absent, use=Use.RUNS), given)
    plan = _read(sheet)
    changed: dict[str, object] = {"restarts": restarts or plan.restarts, "repeats": repeats or plan.repeats}
    for name, level in (hold or {}).items():
        if name not in settings() or not settings()[name].takes(level):
            raise BadValue(f"--hold {name[:60]}={level}: no setting has this value", cure=did_you_mean(name, settings(), None))
    if hold and plan.factors:
        changed["factors"] = {**plan.factors, **{name: (level,) for name, level in hold.items()}}
    elif hold:
        changed["states"] = tuple(each.but(set={**each.set, **hold}) for each in plan.states)
    changed["measure"] = tuple(_with_partner(each, partner) for each in plan.measure if isinstance(each, Program))
    try:
        plan = ExperimentPlan.model_validate({**plan.model_dump(), **changed})
    except ValidationError as error:
        raise BadValue(in_words(error.errors(include_url=False)[0]["msg"]), cure="use fewer restarts or fewer states") from error
    _go_together(plan, sheet)
    return plan


def _with_partner(program: Program, partner: str | None) -> Program:
    if "{partner}" not in program.run:
        return program
    if partner is None:
        raise BadValue(f"{program.name} sends messages to another host, but no host is given", cure="add --partner HOST")
    return program.but(run=program.run.replace("{partner}", quote(checked_names((partner,))[0])))


def _go_together(plan: ExperimentPlan, sheet: Sheet) -> None:
    """Refuse a level that does harm without another setting."""
    for state in plan.every_state:
        for name, level in state.set.items():
            beside = settings()[name].only_with.get(str(level))
            if beside is not None and beside not in state.set:
                text = f"{name}={level} needs {beside}, which the plan does not set"
                raise sheet.wrong(("factors", name), text, f"add it as a factor with one level, or --hold {beside}=VALUE")


def _read(sheet: Sheet) -> ExperimentPlan:
    if not isinstance(sheet.data, dict) or "format" not in sheet.data:
        raise BadInput(
            "not an experiment plan", file=sheet.file, place="line 1", cure="it must begin with format: advisor-experiment/1"
        )
    plan = model_of(sheet, ExperimentPlan)
    _settings_are_known(plan, sheet)
    for at, each in enumerate(plan.published):
        if each.source not in publications():
            cure = did_you_mean(each.source, publications(), "see rules/sources.yaml")
            raise sheet.wrong(("published", at, "source"), f"{each.source[:60]} is not a known publication", cure)
    filled = tuple(_program(each, sheet, at) for at, each in enumerate(plan.measure))
    _placements_are_used(plan, filled, sheet)
    return plan.but(measure=filled)


def _program(given: Program | str, sheet: Sheet, at: int) -> Program:
    if isinstance(given, Program):
        return given
    known = ready_programs()
    if given not in known:
        cure = did_you_mean(given, known, f"available: {', '.join(known)}; or define a program with name: and run:")
        raise sheet.wrong(("measure", at), f"{given[:60]} is not a built-in program", cure)
    return known[given]


def _placements_are_used(plan: ExperimentPlan, programs: tuple[Program, ...], sheet: Sheet) -> None:
    used = [(at, each.name) for at, each in enumerate(programs) if "{place}" in each.run]
    if plan.placement and not used:
        raise sheet.wrong(
            ("placement",), "no program has {place} in its command", "add it, for example 'run: numactl {place} ./app'"
        )
    if used and not plan.placement:
        at, name = used[0]
        cure = 'add placement: {near: "WORDS"}'
        raise sheet.wrong(("measure", at), f"{name} has {{place}}, but the plan has no placement", cure)


def _settings_are_known(plan: ExperimentPlan, sheet: Sheet) -> None:
    """Refuse what is no setting, a level that it does not have, and what an experiment can neither set nor put back."""
    known = settings()
    for at, state in enumerate(plan.every_state):
        for name, level in state.set.items():
            place = ("states", at, "set", name) if plan.states else ("factors", name)
            if name not in known:
                raise sheet.wrong(place, f"{name} is not a setting", did_you_mean(name, known, "see advisor rules settings"))
            if not known[name].takes(level):
                values = ", ".join(known[name].values) or f"a {known[name].type}"
                raise sheet.wrong(place, f"{name} has no level {str(level)[:40]}", f"available: {values}")
            means = known[name].set
            if known[name].where != "bios" and (known[name].kernel_file is None or (means and means.only_named)):
                text = f"{name} cannot be set or restored while the system runs"
                raise sheet.wrong(place, text, "use a BIOS setting, or one that sysctl or a /sys file applies at once")


def columns_of(plan: ExperimentPlan) -> tuple[tuple[Column, Program, str], ...]:
    """Return what is compared: every program, once for each placement that it takes."""
    found = []
    for each in plan.measure:
        assert isinstance(each, Program)  # noqa: S101 - experiment_plan fills them in
        places = plan.places if "{place}" in each.run else {"": ""}
        for name, words in places.items():
            title = f"{each.name} {name}".strip()
            found.append((Column(name=title, unit=each.unit, better=each.better), each, words))
    return tuple(found)


def verdict(found: Contrast, *, comparisons: int, alpha: float, worth: float, high: bool) -> Says:
    """Return what a comparison says; ``high`` where more of the figure is better."""
    if found.low is None or found.high is None:
        return "cannot tell"
    if found.p * comparisons <= alpha and found.ratio != 1:
        return "better" if (found.ratio > 1) is high else "worse"
    is_small = -log(1 + worth) < log(found.low) and log(found.high) < log(1 + worth)
    return "no difference" if is_small else "cannot tell"


ALPHA = 0.05
"""The error over all comparisons of an experiment."""
FEWEST = 4
"""Restarts of a state below which nothing is proven: 3 and 3 of two states have p = 0.1 at best."""
_MOST = 64

Order = Literal["random", "balanced"]


@dataclass(frozen=True)
class Unit:
    """One restart: where, the how-manieth there, in which state, and with which others it may be exchanged by chance."""

    node: int
    number: int
    state: int
    stratum: tuple[int, int]


def schedule(states: int, restarts: int, nodes: int, kind: Order, seed: int) -> tuple[tuple[Unit, ...], ...]:
    """Return each node's restarts in their order: all shuffled, or in shuffled blocks that have each state once.

    A node is a block of its own: every node sees every state equally often, so that nodes may differ.
    """
    return tuple(tuple(_of_node(node, states, restarts, kind, seed)) for node in range(nodes))


def _of_node(node: int, states: int, restarts: int, kind: Order, seed: int) -> list[Unit]:
    if kind == "random":
        cards = [card % states for card in order(range(states * restarts), seed, node)]
        return [Unit(node, number, state, (node, 0)) for number, state in enumerate(cards)]
    blocks = [(block, state) for block in range(restarts) for state in order(range(states), seed, node * restarts + block)]
    return [Unit(node, number, state, (node, block)) for number, (block, state) in enumerate(blocks)]


def least_p(restarts: int, nodes: int, kind: Order) -> float:
    """Return the smallest two-sided p that two states with so many restarts each can have.

    >>> least_p(4, 1, "random") == 2 / 70, least_p(4, 1, "balanced") == 2 / 16, least_p(2, 2, "random") == 2 / 36
    (True, True, True)
    """
    strata = [comb(2 * restarts, restarts)] * nodes if kind == "random" else [2] * (restarts * nodes)
    return min(1.0, 2 / prod(strata))


def can_prove(restarts: int, nodes: int, kind: Order, comparisons: int) -> bool:
    """Return whether any figures of so many restarts could prove a difference; fewer than four of a state never do."""
    return restarts * nodes >= FEWEST and least_p(restarts, nodes, kind) * comparisons <= ALPHA


def needed(nodes: int, kind: Order, comparisons: int) -> int:
    """Return how many restarts of each state on each node a proof takes at least.

    >>> needed(1, "random", 1), needed(1, "random", 2), needed(1, "balanced", 1), needed(2, "random", 1)
    (4, 5, 6, 3)
    """
    return next((each for each in range(1, _MOST) if can_prove(each, nodes, kind, comparisons)), _MOST)


def duration(nodes: Sequence[Sequence[Unit]], restart: float, measuring: float) -> float:
    """Return how many seconds an experiment takes: nodes restart at the same time and are measured one after the other."""
    longest = max((len(each) for each in nodes), default=0)
    return (longest + 1) * restart + sum(len(each) for each in nodes) * measuring  # one restart more: the way back


Figures = Mapping[tuple[int, int, str], Sequence[float]]
"""Node, number of the restart and column -> the figures of its runs; nothing of runs that failed."""


class Design(NamedTuple):
    """What was planned: the restarts in their order, and whether they can prove anything."""

    states: Sequence[str]
    columns: Sequence[Column]
    units: Sequence[Unit]
    restarts: int
    nodes: int
    kind: str
    worth: float

    @property
    def comparisons(self) -> int:
        """Return how many comparisons share the error: each state but the first, in each column."""
        return (len(self.states) - 1) * len(self.columns)

    @property
    def proves(self) -> bool:
        """Return whether it has restarts enough to prove anything."""
        return can_prove(self.restarts, self.nodes, "balanced" if self.kind == "balanced" else "random", self.comparisons)


def cells(design: Design, figures: Figures, *, complete: bool) -> tuple[Cell, ...]:
    """Return every state in every column; verdicts only of an experiment that ran to its end as it was planned."""
    return tuple(
        _cell(design, figures, state, column, complete=complete)
        for column in design.columns
        for state in range(len(design.states))
    )


def _cell(design: Design, figures: Figures, state: int, column: Column, *, complete: bool) -> Cell:
    measured = {key[:2] for key in figures}
    own = [unit for unit in design.units if unit.state == state and (unit.node, unit.number) in measured]
    values = [value for unit in own if (value := _restart(figures, unit, column)) is not None]
    found, says = None, "first"
    if state:
        found = contrast(_strata(design, figures, state, column), ALPHA / design.comparisons)
        first = [_restart(figures, unit, column) for unit in design.units if unit.state == 0]
        whole = complete and len(own) == len(values) and None not in first
        high = column.better == "high"
        says = "described"
        if found and whole and design.proves:
            says = verdict(found, comparisons=design.comparisons, alpha=ALPHA, worth=design.worth, high=high)
        found = found if says != "described" else found and found._replace(low=None, high=None)
    known: Says = says  # type: ignore[assignment] # one of its words
    return Cell(
        state=design.states[state],
        column=column.name,
        restarts=tuple(values),
        median=median(values) if values else None,
        failed=len(own) - len(values),
        ratio=found.ratio if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        p=min(1.0, found.p * design.comparisons) if found and known != "described" else None,
        says=known,
    )


def _restart(figures: Figures, unit: Unit, column: Column) -> float | None:
    """Return the one figure of a restart: the median of its runs, which are alike and no proof of anything."""
    found = figures.get((unit.node, unit.number, column.name)) or ()
    return median(found) if found else None


def _strata(design: Design, figures: Figures, state: int, column: Column) -> list[Stratum]:
    dealt: dict[tuple[int, int], tuple[list[float], list[float]]] = {}
    for unit in design.units:
        value = _restart(figures, unit, column)
        if unit.state in (0, state) and value is not None and value > 0:
            dealt.setdefault(unit.stratum, ([], []))[unit.state != 0].append(log(value))
    return list(dealt.values())


_BAD = ("worse",)


def winner(design: Design, found: Sequence[Cell]) -> str | None:
    """Return the state proven better than the first, in the first column, and proven worse in none; None without one."""
    first = design.columns[0].name
    high = design.columns[0].better == "high"
    worse = {each.state for each in found if each.says in _BAD}
    good = [each for each in found if each.column == first and each.says == "better" and each.state not in worse and each.ratio]
    return max(good, key=lambda each: (each.ratio or 1.0) if high else 1 / (each.ratio or 1.0)).state if good else None
