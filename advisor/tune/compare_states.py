"""What the restarts of an experiment show: each state beside the first, in each program, by what chance alone could do."""

from collections.abc import Mapping, Sequence
from math import log
from statistics import median
from typing import Final, NamedTuple

from advisor.model.experiment import Cell, Column, Says
from advisor.tune.experiment import ALPHA, Unit, can_prove
from advisor.tune.permutation import Contrast, Stratum, contrast, verdict

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
        whole = complete and len(own) == len(values) and not _lacks(design, figures, 0, column)
        says = _says(design, found, column) if found and whole else "described"
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


def _says(design: Design, found: Contrast, column: Column) -> Says:
    if not design.proves:
        return "described"
    return verdict(found, comparisons=design.comparisons, alpha=ALPHA, worth=design.worth, high=column.better == "high")


def _lacks(design: Design, figures: Figures, state: int, column: Column) -> bool:
    return any(_restart(figures, unit, column) is None for unit in design.units if unit.state == state)


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


_BAD: Final = ("worse",)


def winner(design: Design, found: Sequence[Cell]) -> str | None:
    """Return the state that is proven better than the first in the first column, and proven worse in none; None without one."""
    first = design.columns[0].name
    high = design.columns[0].better == "high"
    worse = {each.state for each in found if each.says in _BAD}
    good = [each for each in found if each.column == first and each.says == "better" and each.state not in worse and each.ratio]
    return max(good, key=lambda each: (each.ratio or 1.0) if high else 1 / (each.ratio or 1.0)).state if good else None
