"""Draws an experiment: what it would do, what it showed, as pages and as a chart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from advisor.bios.experiment_plan import Cell, Column, ExperimentPlan, ExperimentResult
from advisor.jobs.racing.result import in_time, interval_drawn, interval_row, percent, relative_axes
from advisor.machine.units import count, flop_rate, plain, throughput
from advisor.measure.charts import COLOURS, FAINT, Form, need_matplotlib, settings, sheet, write_head, written
from advisor.show.lines import Line, Page, Span, cut, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_DRAWN = 21
_LEAST = 9
_STATE = 30
SPOKEN = {"bytes/s": throughput, "flop/s": flop_rate}
"""Units of our own kernels, in those that a person reads."""
_STYLES = {"better": "good", "worse": "bad"}


def answer_sentence(result: ExperimentResult) -> str:
    """Return what the experiment showed in a sentence that somebody understands who has never read a p."""
    if not result.done:
        return "Nothing has been measured yet"
    if not result.complete:
        return f"{result.done} of {count(result.planned, 'restart')} were measured: preliminary figures, no verdict until the end"
    first = result.states[0].name
    proven = [each for each in result.cells if each.says in ("better", "worse")]
    if proven:
        return "; ".join(_gain(each, result, first) for each in sorted(proven, key=lambda each: each.p or 1.0)[:4])
    if any(each.says == "described" for each in result.cells):
        best = _best(result)
        seen = f"; {_described(best, result)}" if best else ""
        return f"Described, not proven: {count(result.restarts, 'restart')} per state cannot prove anything{seen}"
    if all(each.says in ("no difference", "first") for each in result.cells):
        return f"No difference above {percent(result.worth)} from {first}: leave it as it is"
    best = _best(result)
    return f"Cannot tell: restarts in one state vary as much as different states{f'; {_described(best, result)}' if best else ''}"


def _gain(cell: Cell, result: ExperimentResult, first: str) -> str:
    ends = sorted(abs(1 - each) for each in (cell.low, cell.high) if each is not None)
    span = f" (from {100 * ends[0]:.3g} to {100 * ends[1]:.3g} %)" if ends[1:] else ""
    return f"{cell.state} is {cell.says} than {first}: {_much(cell, result)}{span}, proven (p = {cell.p:.2g})"


def _much(cell: Cell, result: ExperimentResult) -> str:
    ratio, unit = cell.ratio or 1.0, next(each.unit for each in result.columns if each.name == cell.column)
    return f"{percent(abs(1 - ratio))} {'more' if ratio > 1 else 'less'} {'time' if unit == 's' else unit} in {cell.column}"


def _best(result: ExperimentResult) -> Cell | None:
    known = [each for each in result.cells if each.ratio is not None and each.column == result.columns[0].name]
    high = result.columns[0].better == "high"
    return max(known, key=lambda each: (each.ratio or 1) if high else 1 / (each.ratio or 1), default=None)


def _described(cell: Cell, result: ExperimentResult) -> str:
    return f"observed: {cell.state} has {_much(cell, result)} than {result.states[0].name}"


def result_page(result: ExperimentResult, folder: str, width: int | None = None) -> Page:
    """Return what an experiment showed as a page."""
    return Page(lambda room: list(_lines(result, folder, room)), width)


def _lines(result: ExperimentResult, folder: str, width: int) -> Iterator[Line]:
    yield from wrapped([(result.answer, "good" if result.winner else "warn")], width)
    left = [f"{node}: {how}" for node, how in result.where.items() if how != "as before"]
    if left:
        yield from wrapped(
            [("The settings of ", "label"), ("; ".join(left), "bad" if any("not yet" in each for each in left) else "")], width
        )
    for column in result.columns:
        yield ()
        yield from _table(result, column, width)
    yield ()
    for cost in result.costs:
        says = "proven" if cost.proven else "not proven"
        text = f"{cost.rule} recommends {cost.setting}={cost.value}: measured here, {cost.column} times {cost.ratio:.3f} ({says})"
        yield from wrapped([("Finding: ", "label"), (plain(text, 300), "")], width)
    for each in result.published:
        yield from wrapped([("Published: ", "label"), (f"{plain(each.text, 300)} ({each.source})", "dim")], width)
    for text in _remarks(result, folder):
        yield from wrapped([("Note: ", "label"), (plain(text, 400), "")], width)


def _remarks(result: ExperimentResult, folder: str) -> Iterator[str]:
    many = count(result.comparisons, "comparison")
    least = f"the smallest possible p for {many} is {result.least_p:.2g}"
    yield f"{count(result.restarts, 'restart')} per state; {least}; stored in {folder}"
    if any(each.says == "described" for each in result.cells):
        yield "without an interval, the relative figure is the median over all pairs of restarts and may be due to chance"
    for each in result.cells:
        if each.failed:
            yield f"{each.state}: {each.column} produced no figure in {count(each.failed, 'restart')}"
    yield from result.notes


def _table(result: ExperimentResult, column: Column, width: int) -> Iterator[Line]:
    cells = [each for each in result.cells if each.column == column.name]
    names = min(_STATE, max(5, *(len(each.state) for each in cells)))
    medians = [spoken_median(each, column.unit) for each in cells]
    wide = max(6, *map(len, medians))
    better = "higher is better" if column.better == "high" else "lower is better"
    yield from wrapped([(f"{cut(column.name, 40)}, {column.unit}, {better}", "title")], width)
    firsts = (f"{cut(each.state, names):<{names}}  {said:<{wide}}" for each, said in zip(cells, medians, strict=True))
    rows = [f"{first}  {_row(each)}" for first, each in zip(firsts, cells, strict=True)]
    used = max(len(row) for row in rows) + 2
    room = min(_DRAWN, width - used) if width - used >= _LEAST else 0
    low, high = _ends(cells)
    scale = f"{low:.2f}{high:>{(room or _DRAWN) - 4}.2f}"
    head = f"{'state':<{names}}  {'median':<{wide}}  {'relative':<22} {'p':<6}"
    yield ((cut(f"{head:<{used}}{scale if room else ''}".rstrip(), width), "label"),)
    for each, row in zip(cells, rows, strict=True):
        drawn = _drawn(each, low, high, room) if room else ""
        yield ((cut(f"{row:<{used}}{drawn}".rstrip(), width), _STYLES.get(each.says, "")),)
    if not room and width > names + _DRAWN:
        yield ((f"{'':<{names}}  {scale}", "label"),)
        yield from (((f"{cut(each.state, names):<{names}}  {_drawn(each, low, high, _DRAWN)}".rstrip(), ""),) for each in cells)


def _ends(cells: Sequence[Cell]) -> tuple[float, float]:
    """Return the scale of a figure: the first state is always on it, what is far off is not."""
    ends = [end for each in cells for end in (each.low, each.ratio, each.high) if end is not None]
    return max(0.0, min([0.98, *ends])), min(3.0, max([1.02, *ends]))


def spoken_median(cell: Cell, unit: str) -> str:
    """Return the figure of a state as a person reads it."""
    return "-" if cell.median is None else SPOKEN.get(unit, "{:.4g}".format)(cell.median)


def _row(cell: Cell) -> str:
    if cell.says == "first":
        return "1"
    ends = f" ({cell.low:.3f} to {cell.high:.3f})" if cell.low is not None and cell.high is not None else ""
    said = "-" if cell.ratio is None else f"{cell.ratio:.3f}{ends}"
    return f"{said:<22} {f'{cell.p:.2g}' if cell.p is not None else '':<6} {cell.says}"


def _drawn(cell: Cell, low: float, high: float, room: int) -> str:
    ends = (cell.low, cell.high) if cell.low is not None and cell.high is not None else None
    return interval_drawn(cell.ratio, ends, (low, high), room)


def plan_page(document: Mapping[str, Any], plan: ExperimentPlan, width: int | None = None) -> Page:
    """Return what an experiment would do as a page."""
    return Page(lambda room: list(_plan_lines(document, plan, room)), width)


def _plan_lines(document: Mapping[str, Any], plan: ExperimentPlan, width: int) -> Iterator[Line]:
    states, nodes = document["states"], document["nodes"]
    on = f" on {len(nodes)} servers" if len(nodes) > 1 else ""
    many = f"{document['restarts']} restarts (the last one restores), about {in_time(document['seconds'])}"
    text = f"{len(states)} states, {count(plan.restarts, 'restart')} each{on}: {many}"
    yield from wrapped([(text, "title")], width)
    yield from wrapped([_can_show(document)], width)
    yield ()
    for number, each in enumerate(states):
        sets = ", ".join(f"{name}={value}" for name, value in each["set"].items())
        yield from wrapped(
            [
                (f"{each['name']}: ", "label"),
                (sets, ""),
                ("  (baseline for the other states)" if not number else "", "dim"),
            ],
            width,
        )
    for each in document["commands"]:
        yield from wrapped([(f"{each['column']}: ", "label"), (plain(each["run"], 300), "dim")], width)
    for each in nodes:
        now = ", ".join(f"{name}={value}" for name, value in each["now"].items())
        yield from wrapped(
            [(f"{plain(each['node'], 60)}: ", "label"), (f"now {plain(now, 300)}; {plain(each['scheduler'], 120)}", "")], width
        )
        if each["moves"]:
            along = ", ".join(f"{name}={value}" for name, value in each["moves"].items())
            yield from wrapped([("  changes along: ", "label"), (plain(along, 300), "warn")], width)
    for one in plan.published:
        yield from wrapped([("Published: ", "label"), (f"{plain(one.text, 300)} ({one.source})", "dim")], width)
    if plan.needs:
        yield from wrapped([("Needs: ", "label"), (plain(plan.needs, 300), "")], width)
    yield from wrapped([("Restores every setting at the end, even after an error; nothing has been done yet", "dim")], width)


def _can_show(document: Mapping[str, Any]) -> Span:
    many = count(document["comparisons"], "comparison")
    if document["proves"]:
        return (f"It can prove differences: the smallest possible p over {many} is {document['least_p']:.2g}", "good")
    least, needed = document["least_p"], document["restarts_needed"]
    takes = f"a proof needs {count(needed, 'restart')} per state"
    text = f"It can describe differences but not prove them: the smallest possible p over {many} is {least:.2g}; {takes}"
    return (f"{text} on each server" if len(document["nodes"]) > 1 else text, "warn")


def list_page(plans: Sequence[tuple[str, ExperimentPlan]], programs: Mapping[str, str], width: int | None = None) -> Page:
    """Return the ready plans and programs as a page."""
    return Page(lambda room: list(_list_lines(plans, programs, room)), width)


def _list_lines(plans: Sequence[tuple[str, ExperimentPlan]], programs: Mapping[str, str], width: int) -> Iterator[Line]:
    for name, plan in plans:
        many = f"{len(plan.every_state)} states, {count(plan.restarts, 'restart')} per state"
        yield from wrapped([(f"{name}: ", "title"), (f"{plan.title}; {many}", "")], width)
        yield from wrapped([("  needs ", "dim"), (plan.needs, "dim")], width, indent=4)
    yield ()
    for name, run in programs.items():
        yield from wrapped([(f"{name}: ", "label"), (run, "dim")], width)


_ROW, _GAP, _HEAD, _FOOT = 0.36, 0.75, 0.95, 0.25
"""Inches: of a state, between two programs, above and below all."""


def experiment_chart(result: ExperimentResult, form: Form = "svg") -> bytes:
    """Return the chart of an experiment as a file: a panel a program, a grey band within which a difference is worth nothing."""
    need_matplotlib()
    panel = _ROW * len(result.states)
    high = _HEAD + _FOOT + len(result.columns) * (panel + _GAP)
    with settings():
        whole = sheet((10.0, high))
        for at, column in enumerate(result.columns):
            bottom = high - _HEAD - (at + 1) * (panel + _GAP) + _GAP / 2
            _panel(whole.add_axes((0.24, bottom / high, 0.5, panel / high)), result, column)
        runs = f"{count(result.restarts, 'restart')} per state on {count(len(result.nodes), 'server')}"
        band = f"dots: restarts; line: interval over all comparisons; grey: within {percent(result.worth)}"
        write_head(whole, plain(result.title, 80) or "Experiment", (plain(result.answer, 160), runs, band))
        return written(whole, form)


def _panel(axes: "Axes", result: ExperimentResult, column: Column) -> None:
    cells = {each.state: each for each in result.cells if each.column == column.name}
    names = [each.name for each in result.states]
    relative_axes(axes, [plain(name, 34) for name in names], result.worth)
    first = cells[names[0]].median if names[0] in cells else None
    for at, name in enumerate(names):
        if name in cells:
            _state(axes, at, cells[name], column, first)
    better = "higher is better" if column.better == "high" else "lower is better"
    axes.set_title(f"{plain(column.name, 40)}, relative to {plain(names[0], 40)}: {better}", loc="left", fontsize=10)


def _state(axes: "Axes", at: int, cell: Cell, column: Column, first: float | None) -> None:
    colour = {"better": COLOURS[2], "worse": COLOURS[1], "first": FAINT}.get(cell.says, COLOURS[0])
    if first:
        dots = [each / first for each in cell.restarts]
        axes.plot(dots, [at] * len(dots), color=colour, marker="o", markersize=3.5, linestyle="none", alpha=0.45)
    said = "1" if cell.says == "first" else "no figure" if cell.ratio is None else f"{cell.ratio:.3f} {cell.says}"
    unit = "" if cell.median is None or column.unit in SPOKEN else f" {column.unit}"
    words = f"{spoken_median(cell, column.unit)}{unit}, {said}"
    interval_row(axes, at, (cell.low, cell.ratio, cell.high), colour, words)
