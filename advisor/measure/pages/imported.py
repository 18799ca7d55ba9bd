"""Draws what other benchmark programs printed: a few lines a run, what is not in the file, and what is refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from advisor.machine.units import binary, count, plain
from advisor.measure.measurement import ImportedFigure, ImportedRun, Unit
from advisor.measure.pages.series import amount, heading, table
from advisor.show.lines import Line, Page, wrapped

_ROW: Final = 6
"""Figures of a run that are shown; --json has all."""


class Level(Protocol):
    """CPUs that are nearer to each other than to any other group's."""

    @property
    def seconds(self) -> float:
        """Return what lies between near and far."""

    @property
    def ratio(self) -> float:
        """Return how much farther the nearest two groups are."""

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the groups."""


def imported_lines(
    runs: Iterable[tuple[str, ImportedRun]], levels: Mapping[str, Sequence[Level]], refused: Sequence[str], width: int
) -> list[Line]:
    """Return the lines of some runs, each with its file, and of what is refused."""
    lines: list[Line] = []
    for name, run in runs:
        if run.refused is None:
            lines += _run(name, run, levels.get(f"{name}:{run.line}", ()), width)
    if refused:
        lines += heading("Refused", count(len(refused), "file or run", "files or runs"), width)
        for why in refused:
            lines += wrapped([("x ", "warn"), (plain(why, 400), "")], width, indent=4)
    return lines


def imported_page(
    runs: Iterable[tuple[str, ImportedRun]],
    levels: Mapping[str, Sequence[Level]],
    refused: Sequence[str],
    notes: Sequence[str],
    width: int | None,
) -> Page:
    """Return the page of some files."""
    every = list(runs)

    def draw(room: int) -> list[Line]:
        lines = imported_lines(every, levels, refused, room)
        for note in notes:
            lines += wrapped([("Note: ", "label"), (plain(note, 400), "")], room, indent=6)
        return lines

    return Page(draw, width)


def _run(name: str, run: ImportedRun, levels: Sequence[Level], width: int) -> list[Line]:
    told = ", ".join(f"{plain(key, 20)} {plain(str(value), 60)}" for key, value in run.conditions.items())
    title = f"{plain(run.tool, 80)}{f' {plain(run.version, 20)}' if run.version else ''}"
    lines = heading(title, f"{plain(name, 120)}:{run.line}", width)
    lines += wrapped([("  ", ""), ("; ".join(_figures(run.figures, levels)), "")], width, indent=2)
    for label, words in (("with", told), ("not in the file", ", ".join(run.not_said)), ("note", "; ".join(run.notes))):
        if words:
            lines += wrapped([(f"  {label}: ", "label"), (plain(words, 400), "dim")], width, indent=4)
    return lines


def _figures(figures: Sequence[ImportedFigure], levels: Sequence[Level]) -> Iterator[str]:
    """Yield a run's figures in words: one each, or of a table by size its ends, or of a matrix how far apart it is."""
    if any(figure.scope == "CPU to CPU" for figure in figures):
        yield from _levels(figures, levels)
        return
    kinds = dict.fromkeys((figure.what, figure.unit, figure.at is not None) for figure in figures)
    if len(kinds) > _ROW:
        kinds = dict.fromkeys(list(kinds)[:_ROW])
    for what, unit, between in kinds:
        own = [figure for figure in figures if (figure.what, figure.unit, figure.at is not None) == (what, unit, between)]
        yield _between(what, unit, own) if between else _ends(what, unit, own)


def _ends(what: str, unit: Unit, own: Sequence[ImportedFigure]) -> str:
    """Return the best of a table by size; of times that of the smallest message."""
    best = min(own, key=lambda each: each.size or 0) if unit == "seconds" else max(own, key=lambda each: each.value)
    size = f" at {binary(best.size)}" if best.size is not None and len(own) > 1 else ""
    return f"{plain(what, 40)} {amount(best.value, unit)}{size} ({_how(best)})"


def _how(figure: ImportedFigure) -> str:
    """Return what the program made of its repeats, and of what the figure is."""
    return figure.scope if figure.statistic == "one" else f"{figure.statistic}, {figure.scope}"


def _between(what: str, unit: Unit, own: Sequence[ImportedFigure]) -> str:
    near = sorted(each.value for each in own if each.at and each.at[0] == each.at[1])
    far = sorted(each.value for each in own if each.at and each.at[0] != each.at[1])
    parts = [f"{name} {_span(values, unit)}" for name, values in (("own node", near), ("other nodes", far)) if values]
    return f"{plain(what, 40)}: {', '.join(parts)}"


def _span(values: Sequence[float], unit: Unit) -> str:
    low, high = amount(values[0], unit), amount(values[-1], unit)
    return low if low == high else f"{low} to {high}"


def _levels(figures: Sequence[ImportedFigure], levels: Sequence[Level]) -> Iterator[str]:
    times = sorted(figure.value for figure in figures)
    yield f"{count(len(figures), 'pair')} of CPUs, {_span(times, 'seconds')} half a round trip"
    for level in levels:
        size = len(level.groups[0])
        yield f"{len(level.groups)} groups of {size} CPUs, below {amount(level.seconds, 'seconds')} inside of each"
    if not levels:
        yield "no groups: no step of half as far again"


class Beside(Protocol):
    """One figure that two sides have."""

    @property
    def what(self) -> str:
        """Return what it is of."""

    @property
    def unit(self) -> Unit:
        """Return its unit."""

    @property
    def first(self) -> float:
        """Return the first side's."""

    @property
    def second(self) -> float:
        """Return the second side's."""


def compared_document(rows: Sequence[Beside], names: tuple[str, str]) -> dict[str, Any]:
    """Return the document of ``advisor measure compare --json``."""
    figures = [
        {"what": row.what, "unit": row.unit, "first": row.first, "second": row.second, "ratio": row.second / row.first}
        for row in rows
    ]
    return {"schema": "advisor-measure-compare/1", "files": list(names), "figures": figures}


def compared_page(rows: Sequence[Beside], names: tuple[str, str], width: int | None) -> Page:
    """Return figures that two sides have, beside each other."""
    head = ("figure", plain(names[0], 30), plain(names[1], 30), "second / first")
    cells = [
        (row.what, amount(row.first, row.unit), amount(row.second, row.unit), f"{row.second / row.first:.2f}") for row in rows
    ]
    return Page(
        lambda room: [*heading("Beside each other", count(len(rows), "figure"), room), *table(head, cells, room, "lrrr")], width
    )
