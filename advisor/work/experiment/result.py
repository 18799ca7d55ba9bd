"""What an experiment would do, and what it showed so far: values for pages and documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from advisor.model.experiment import Cell, Cost, ExperimentPlan, ExperimentResult, Published
from advisor.model.hardware.machine import Machine
from advisor.render.experiment import answer_sentence
from advisor.tune.compare_states import Design, Figures, cells, winner
from advisor.tune.experiment import Unit, can_prove, duration, least_p, needed, schedule
from advisor.work.experiment.journal import Journal
from advisor.work.experiment.plan import columns_of
from advisor.work.judgement import judged

FORESEEN: Final = "advisor-experiment-plan/1"
_RUN: Final = 60.0
"""Seconds that a run is taken for where the plan does not say."""


@dataclass(frozen=True)
class Foreseen:
    """What an experiment would do."""

    plan: ExperimentPlan
    nodes: Sequence[tuple[str, Mapping[str, str], Mapping[str, Any], str]]
    """Name, what stands there now, what changes along, what the scheduler says."""
    restarts: int
    """Of all servers together, the way back among them."""
    seconds: float
    proves: bool
    least: float
    needed: int
    comparisons: int

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor experiment --dry-run --json``."""
        return {
            "schema": FORESEEN,
            "title": self.plan.title,
            "states": [each.model_dump(mode="json") for each in self.plan.every_state],
            "columns": [each.model_dump(mode="json") for each, _, _ in columns_of(self.plan)],
            "commands": [
                {"column": each.name, "run": program.run.replace("{place}", words)}
                for each, program, words in columns_of(self.plan)
            ],
            "nodes": [
                {"node": name, "now": dict(now), "moves": dict(moves), "scheduler": said} for name, now, moves, said in self.nodes
            ],
            "restarts": self.restarts,
            "seconds": round(self.seconds),
            "comparisons": self.comparisons,
            "proves": self.proves,
            "least_p": self.least,
            "restarts_needed": self.needed,
        }


def foreseen(plan: ExperimentPlan, nodes: Sequence[tuple[str, Mapping[str, str], Mapping[str, Any], str]]) -> Foreseen:
    """Return what a plan would do on some servers, or on one that nobody named yet."""
    many, states, columns = max(1, len(nodes)), len(plan.every_state), columns_of(plan)
    order = schedule(states, plan.restarts, many, plan.order, 0)
    runs = sum((program.takes * 60 if program.takes else _RUN) for _, program, _ in columns) * (plan.repeats + 1)
    comparisons = (states - 1) * len(columns)
    return Foreseen(
        plan,
        nodes,
        sum(len(each) + 1 for each in order),
        duration(order, plan.restart_minutes * 60, plan.settle + runs),
        can_prove(plan.restarts, many, plan.order, comparisons),
        min(1.0, least_p(plan.restarts, many, plan.order) * comparisons),
        needed(many, plan.order, comparisons),
        comparisons,
    )


def figures_of(journal: Journal) -> Figures:
    """Return the figures that count: of restarts that were measured to their end, without the first run."""
    found: dict[tuple[int, int, str], list[float]] = {}
    for number, each in enumerate(journal.head["nodes"]):
        at = journal.of(each["node"])
        for (unit, column, run), figure in sorted(at.runs.items()):
            if unit in at.done and run:
                found.setdefault((number, unit, column), []).extend([figure] if figure is not None else [])
    return found


class Beside(NamedTuple):
    """What stands beside the figures: what others published, what the findings of the server wanted."""

    published: Sequence[Published] = ()
    advice: "Sequence[tuple[str, str, str]]" = ()


def result_of(plan: ExperimentPlan, journal: Journal, order: Sequence[Sequence[Unit]], beside: Beside) -> ExperimentResult:
    """Return what an experiment showed."""
    columns = tuple(column for column, _, _ in columns_of(plan))
    states, nodes = plan.every_state, [str(each["node"]) for each in journal.head["nodes"]]
    units = [unit for each in order for unit in each]
    names = [state.name for state in states]
    design = Design(names, columns, units, plan.restarts, len(nodes), plan.order, plan.worth / 100)
    done = sum(len(journal.of(node).done) for node in nodes)
    complete = done == len(units)
    found = cells(design, figures_of(journal), complete=complete)
    best = winner(design, found)
    result = ExperimentResult(
        title=plan.title,
        nodes=tuple(nodes),
        states=states,
        columns=columns,
        cells=found,
        restarts=plan.restarts * len(nodes),
        done=done,
        planned=len(units),
        comparisons=design.comparisons,
        least_p=min(1.0, least_p(plan.restarts, len(nodes), plan.order) * design.comparisons),
        worth=plan.worth / 100,
        complete=complete,
        answer="",
        winner=best,
        published=tuple(beside.published),
        costs=costs_of(plan, found, beside.advice),
        notes=tuple(_notes(journal, nodes, units, names)),
        where={node: _where(journal, node) for node in nodes},
    )
    return result.model_copy(update={"answer": answer_sentence(result)})


def _where(journal: Journal, node: str) -> str:
    at = journal.of(node)
    if at.home is not None:
        return at.home
    return "not yet back" if at.touched or at.kernel or at.restart else "untouched"


_EVENTS: Final = {"void": "a restart was measured again", "busy": "the server was not idle, its figures may be low"}


def _notes(journal: Journal, nodes: Sequence[str], units: Sequence[Unit], names: Sequence[str]) -> "list[str]":
    found = list[str]()
    for number, node in enumerate(nodes):
        at = journal.of(node)
        state_of = {unit.number: names[unit.state] for unit in units if unit.node == number}
        beside: dict[tuple[str, str], int] = {}
        for unit, values in at.beside.items():
            for name, value in values.items():
                beside[state_of.get(unit, "?"), f"{name}={value}"] = (
                    beside.get((state_of.get(unit, "?"), f"{name}={value}"), 0) + 1
                )
        found += [
            f"{node}: in {state} also {what}, which is no factor ({count} restarts)" for (state, what), count in beside.items()
        ]
        found += [f"{node}: {at.failed}"] if at.failed else []
        found += [
            f"{node}: {column} gave no figure: {why}" for column, why in {key[1]: why for key, why in at.why.items()}.items()
        ]
        found += [
            f"{node}: {_EVENTS[each['event']]}: {each['why']}"
            for each in journal.events
            if each["node"] == node and each["event"] in _EVENTS
        ]
    return found


Advice = Sequence[tuple[str, str, str]]
"""Rule, setting and value that the findings of a server wanted before."""


def advice_of(machine: Machine) -> Advice:
    """Return what the findings of a server want to be set."""
    audit = judged(machine).audit
    return [(each.id, want.setting, want.value) for each in audit.found for want in each.wants if want.value is not None]


def costs_of(plan: ExperimentPlan, found: Sequence[Cell], advice: Advice) -> tuple[Cost, ...]:
    """Return what findings' advice brought here: of states that differ from the first in that one setting alone."""
    first = plan.every_state[0].set
    changed = {
        each.name: {name: str(value) for name, value in each.set.items() if value != first[name]} for each in plan.every_state
    }
    return tuple(
        Cost(
            rule=rule,
            setting=setting,
            value=value,
            state=cell.state,
            column=cell.column,
            ratio=cell.ratio,
            proven=cell.says in ("better", "worse", "no difference"),
        )
        for rule, setting, value in dict.fromkeys(advice)
        for cell in found
        if changed[cell.state] == {setting: value} and cell.ratio is not None
    )
