"""What a race of launch lines found: its document, its page, and what advisor bind takes from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from advisor.errors import BadInput, in_words
from advisor.jobs.placement import JobShape
from advisor.jobs.racing.energy import Goal
from advisor.jobs.started.hosts import JobOptions, read_bytes
from advisor.machine.hosts.files import Use, trusted
from advisor.machine.machine import Machine
from advisor.machine.units import count, plain
from advisor.machine.value import Value
from advisor.measure.charts import COLOURS, FAINT, INK, Form, need_matplotlib, settings, sheet, write_head, written
from advisor.measure.measurement import Identity, machine_mismatch
from advisor.show.commandline import folded
from advisor.show.lines import Line, Page, Span, cut, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SCHEMA: Final = "advisor-tune/1"
LEARNED_SCHEMA: Final = "advisor-learned/1"


class RacedLine(Value):
    """One candidate of a race."""

    name: str
    line: str
    """the command, quoted for a shell"""
    median: float | None
    """median of its figures: seconds, or what --metric read; null without a valid run"""
    low: float | None
    """lower end of the median's interval, by the paired test; null if there are too few runs"""
    high: float | None
    """upper end of the interval"""
    runs: int
    """valid runs, without the warm-up"""
    dropped_after: int | None
    """blocks after which it was dropped; null if it ran to the end"""
    seconds: float | None = None
    """median time of a run, where its energy is known"""
    joules: float | None = None
    """median energy of a run, of this node or of its processors; a note says which"""


class RaceResult(Value):
    """The result of a race, as it is printed with --json."""

    schema_: Annotated[Literal["advisor-tune/1"], Field(alias="schema")] = SCHEMA
    candidates: tuple[RacedLine, ...]
    winner: str | None
    """the line proven faster than the baseline; null if none is"""
    baseline: str
    """the line that all are compared with: the user's own, or the launcher's default"""
    worth: float
    """gains below this fraction are ignored"""
    runs: int
    """all runs, including the warm-up"""
    seconds: float
    goal: Goal = "time"
    """what is compared: time (or what --metric read), energy, or edp, joules times seconds"""


class Learned(Value):
    """What a race found for one program on one kind of machine."""

    schema_: Annotated[Literal["advisor-learned/1"], Field(alias="schema")] = LEARNED_SCHEMA
    program: str
    """the name of the program's file"""
    machine: Identity
    job: JobShape | None = None
    """how it was placed; None if the user's own line won, with another variable"""
    setting: Annotated[str, Field(pattern=r"^[A-Za-z_]\w{0,63}=[^\x00-\x1f\x7f]{0,200}$")] | None = None
    """the variable that made it faster: NAME=VALUE"""
    name: str
    faster: float
    """by at least this fraction of the baseline's time; the lower end, as winners tend to be overestimated"""
    baseline: str
    runs: int
    date: str
    conditions: tuple[str, ...] = ()
    """what to know about the machine when it ran"""
    goal: Goal = "time"
    """what it took less of"""


LEARNED = "learned.json"
_WORDS: dict[Goal, tuple[str, str, str]] = {
    "time": ("time", "is faster than", "Fastest"),
    "energy": ("energy", "takes less energy than", "Least energy"),
    "edp": ("energy x time", "has a lower energy-delay product than", "Lowest"),
}
"""What is compared, what the winner does, what the best so far is."""


def read_learned(file: Path) -> Learned:
    """Return what a race found: of a file, or of a race's folder."""
    name = str(file / LEARNED if file.is_dir() else file)
    trusted(name, Use.NAMED)
    try:
        return Learned.model_validate_json(read_bytes(name, "result of advisor tune"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or None
        raise BadInput(
            in_words(first["msg"])[:120], file=name, place=place, cure="give the learned.json from advisor tune"
        ) from error


def with_learned(file: Path, command: Sequence[str], job: JobOptions, machine: Machine) -> tuple[JobOptions, Sequence[str], str]:
    """Return a job placed as a race found best for this program on this kind of machine, its command, and a note on it.

    What the user asks for himself stays as it is; of another program or kind of machine nothing is taken.
    """
    found = read_learned(file)
    program = Path(command[0]).name if command else ""
    about = f"advisor tune found {plain(found.name, 60)} on {plain(found.date, 20)}"
    other = machine_mismatch(found.machine.but(name=None), machine)
    if program != found.program:
        apart = f"for the program {plain(found.program, 60)}, not for {plain(program, 60)}"
        return job, command, f"not used: {about}, but it is {apart}"
    if other is not None:
        return job, command, f"not used: {about}; the race was {other}"
    wanted = found.job
    with_setting = ("env", found.setting, *command) if found.setting else command
    why = f"{found.runs} runs, at least {100 * found.faster:.2g} % less {_WORDS[found.goal][0]} than {plain(found.baseline, 120)}"
    under = f"; then: {'; '.join(plain(each, 100) for each in found.conditions[:2])}" if found.conditions else ""
    if wanted is None:
        return job, with_setting, f"{about}: {why}{under}"
    if job.strategy != "auto" or job.purpose or job.near:
        return job, command, f"not used: {about}, but the options given already place the ranks"
    taken = JobOptions(
        ranks=job.ranks or (None if job.ranks_per_node or job.ranks_per else wanted.ranks),
        ranks_per_node=job.ranks_per_node,
        ranks_per=job.ranks_per,
        threads=job.threads or wanted.threads,
        strategy=wanted.strategy,
        near=wanted.near,
        smt=wanted.smt,
        reserve=job.reserve,
        part=job.part,
        gpus=job.gpus,
        core_kind=job.core_kind,
        mem=job.mem,
    )
    return taken, with_setting, f"{about}: {why}{under}"


PLAN_SCHEMA = "advisor-tune-plan/1"
_DRAWN = 17
"""Columns of the drawing."""
_NAME = 28
_MANY = 1000
"""Blocks of which nobody wants to know the number."""


@dataclass(frozen=True)
class RaceRow:
    """One line of the table."""

    raced: RacedLine
    relative: tuple[float, float, float] | None
    """Its time relative to the baseline's: least, middle, most."""
    exact: bool = True
    """Whether that is by the exact test."""
    speeds: tuple[float, float] | None = None
    why: str | None = None
    """Why it was left out, of one that did not run as planned."""


@dataclass(frozen=True)
class RacePage:
    """Everything there is to say of a race."""

    rows: Sequence[RaceRow]
    """The fastest first."""
    answer: str
    leader: str
    noise: float
    blocks: int
    blocks_needed: int | None
    cost: float
    """Seconds of a block of all lines."""
    open: Sequence[str]
    """Lines that may still be more than the worth faster than the leader."""
    result: RaceResult
    unit: str
    ended: str
    folder: str
    argv: Sequence[str] = ()
    """The winner's words."""
    variables: dict[str, str] | None = None
    commands: Sequence[str] = ()
    """What sets the winner's kernel setting."""
    files: Sequence[str] = ()
    why: Sequence[str] = ()
    notes: Sequence[str] = ()


def percent(part: float) -> str:
    """Return a part in percent, with two digits that count.

    >>> percent(0.02), percent(0.0153), percent(0.5)
    ('2 %', '1.5 %', '50 %')
    """
    return f"{100 * part:.2g} %" if part < 1 else f"{100 * part:.0f} %"


def in_time(seconds: float) -> str:
    """Return a time in the unit that a person would use.

    >>> in_time(40), in_time(700), in_time(9000)
    ('40 s', '12 min', '2.5 h')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def verdict_sentence(page: RacePage) -> str:
    """Return what the race has shown, in one or two sentences."""
    result, base = page.result, page.result.baseline
    _, beats, best = _WORDS[result.goal]
    who = "yours" if base == "yours" else f"the launcher's {base}"
    if result.winner is not None:
        row = next(each for each in page.rows if each.raced.name == result.winner)
        _, middle, high = row.relative or (1.0, 1.0, 1.0)
        shown = "" if high <= 1 / (1 + result.worth) else f"; a gain of {percent(result.worth)} is not proven"
        rivals = [name for name in page.open if name not in (result.winner, base)]
        others = f". Possibly as fast, within {percent(result.worth)}: {', '.join(rivals[:4])}" if rivals else ""
        gain = f"{percent(1 - middle)} less, at least {percent(max(0.0, 1 - high))}"
        return f"{result.winner} {beats} {who}: {gain}{shown}{others}"
    if page.answer == "no difference":
        return f"No difference above {percent(result.worth)}: no line {beats} {who} by more than that"
    blocks = f"about {page.blocks_needed}" if (page.blocks_needed or 0) <= _MANY else f"more than {_MANY}"
    needed = f"it takes {blocks} blocks, but {page.blocks} were run" if page.blocks_needed else "there are too few runs"
    more = (page.blocks_needed or page.blocks) - page.blocks
    time = f" (about {in_time(more * page.cost)} more)" if page.cost and 0 < more <= _MANY else ""
    begin = f"Cannot tell yet: one run differs from the next by {percent(page.noise)}"
    return f"{begin}, and {needed}{time}. {best} so far: {page.leader}"


def race_page(page: RacePage, width: int | None = None) -> Page:
    """Return a race as a page."""
    return Page(lambda room: list(_lines(page, room)), width)


def _lines(page: RacePage, width: int) -> Iterator[Line]:
    style = "good" if page.result.winner or page.answer == "no difference" else "warn"
    yield from wrapped([(verdict_sentence(page), style)], width)
    if page.result.winner:
        yield ()
        yield from (((each, "title"),) for each in page.commands)
        yield from (((f"export {name}={value}", ""),) for name, value in sorted((page.variables or {}).items()))
        yield from (((each, "title"),) for each in folded(page.argv, width))
        if page.commands:
            yield (("# the first command needs root and lasts until the next reboot", "dim"),)
        for file in page.files:
            yield ((f"# {file}", "dim"),)
    yield ()
    yield from race_table(page, width)


def race_table(page: RacePage, width: int) -> Iterator[Line]:
    """Yield every line of a race with its interval, why it may be so, and what is to be known of it."""
    yield from _table(page, width)
    yield from _front(page, width)
    for text in page.why:
        yield from wrapped([("Possible reason: ", "label"), (plain(text, 200), "")], width)
    for text in _remarks(page):
        yield from wrapped([("Note: ", "label"), (plain(text, 400), "")], width)


def _remarks(page: RacePage) -> Iterator[str]:
    runs = f"{count(page.result.runs, 'run')} in {count(page.blocks, 'block')}, {in_time(page.result.seconds)}"
    yield f"{runs}{'; ' + page.ended if page.ended else ''}; journal in {page.folder}"
    if any(not row.exact for row in page.rows):
        yield "~ marks intervals of lines with too few blocks for the exact test; they assume the same noise for all lines"
    for row in page.rows:
        if row.why:
            yield f"{row.raced.name} was left out: {row.why}"
        if row.speeds:
            both = f"{row.speeds[0]:.4g} and {row.speeds[1]:.4g}{_unit(page)}"
            yield f"{row.raced.name} has two speeds, {both}: its median is only one of them"
    yield from page.notes


def _unit(page: RacePage) -> str:
    return f" {page.unit}" if page.unit else ""


def _table(page: RacePage, width: int) -> Iterator[Line]:
    bounds = [each for row in page.rows if row.relative for each in (row.relative[0], row.relative[2])]
    low, high = min([0.98, *bounds]), min(2.0, max([1.02, *bounds]))
    names = min(_NAME, max(len(row.raced.name) for row in page.rows))
    head = f"{'line':<{names}}  {'median':<9} {'relative':<23} {'runs':>4}  {low:.2f}{high:>{_DRAWN - 4}.2f}"
    yield ((cut(head, width), "label"),)
    for row in page.rows:
        style = "good" if row.raced.name == page.result.winner else ""
        yield ((cut(f"{cut(row.raced.name, names):<{names}}  {_row(row, page, low, high)}", width), style),)


def _front(page: RacePage, width: int) -> Iterator[Line]:
    """Yield what each line takes in seconds and in joules, where that was counted, and which no other undercuts in both."""
    rows = [(row.raced.name, row.raced.seconds, row.raced.joules) for row in page.rows]
    known = [(name, seconds, joules) for name, seconds, joules in rows if seconds is not None and joules is not None]
    names = min(_NAME, max((len(name) for name, *_ in known), default=0))
    if known:
        yield ()
        text = f"{'to solution':<{names}}  {'seconds':>9} {'joules':>9} {'watts':>7}  front: no line has lower medians in both"
        yield ((cut(text, width), "label"),)
    for name, seconds, joules in sorted(known, key=lambda each: each[1]):
        front = not any(a <= seconds and b <= joules and (a, b) != (seconds, joules) for _, a, b in known)
        text = f"{cut(name, names):<{names}}  {seconds:>9.4g} {joules:>9.4g} {joules / seconds:>7.3g}  {'front' if front else ''}"
        yield ((cut(text.rstrip(), width), ""),)


def _row(row: RaceRow, page: RacePage, low: float, high: float) -> str:
    raced = row.raced
    median = "-" if raced.median is None else f"{raced.median:.4g}{_unit(page)}"
    drawn, said = "", "-"
    if row.relative:
        ends = row.relative
        is_base = raced.name == page.result.baseline
        said = "1" if is_base else f"{ends[1]:.3f} ({ends[0]:.3f} to {ends[2]:.3f}){'' if row.exact else '~'}"
        drawn = interval_drawn(ends[1], (ends[0], ends[2]), (low, high), _DRAWN)
    return f"{median:<9} {said:<23} {raced.runs:>4}  {drawn}".rstrip()


def interval_drawn(middle: float | None, ends: tuple[float, float] | None, scale: tuple[float, float], room: int) -> str:
    """Return an interval as a line with its middle, a bare middle where there is none; the mark is the baseline, at 1."""
    cells, (low, high) = [" "] * room, scale

    def at(value: float) -> int:
        return max(0, min(room - 1, round((value - low) / (high - low) * (room - 1))))

    cells[at(1.0)] = "|"
    for cell in range(at(ends[0]), at(ends[1]) + 1) if ends else ():
        cells[cell] = "-"
    if middle is not None:
        cells[at(middle)] = "o"
    return "".join(cells)


@dataclass(frozen=True)
class PlannedRace:
    """What --dry-run prints."""

    lines: Sequence[tuple[str, str, str]]
    """Name, the line as it is pasted, what its ranks get."""
    least: int
    most: int
    notes: Sequence[str]

    def document(self) -> dict[str, Any]:
        """Return the document of --dry-run --json."""
        candidates = [{"name": name, "line": line, "ranks_get": gets} for name, line, gets in self.lines]
        return {
            "schema": PLAN_SCHEMA,
            "candidates": candidates,
            "least_runs": self.least,
            "most_runs": self.most,
            "notes": list(self.notes),
        }


def plan_page(planned: PlannedRace, width: int | None = None) -> Page:
    """Return what would race as a page."""
    return Page(lambda room: list(_plan_lines(planned, room)), width)


def _plan_lines(planned: PlannedRace, width: int) -> Iterator[Line]:
    minute = f"{in_time(60 * planned.least)} to {in_time(60 * planned.most)}"
    lines = f"{count(len(planned.lines), 'line')}, {planned.least} to {planned.most} runs"
    text = f"{lines}: {minute} if a run takes a minute; nothing was run"
    yield from wrapped([(text, "title")], width)
    for name, line, gets in planned.lines:
        yield ()
        label: Span = (f"{name}: ", "label")
        yield from wrapped([label, (gets, "dim")], width)
        yield ((f"  {line}", ""),)
    for note in planned.notes:
        yield from wrapped([("Note: ", "label"), (note, "")], width)


def race_chart(page: RacePage, form: Form = "svg") -> bytes:
    """Return the chart of a race as a file: the fastest line above, a grey band within which a difference is worth nothing."""
    need_matplotlib()
    rows = [row for row in page.rows if row.relative]
    with settings():
        high = 1.7 + 0.42 * max(1, len(rows))
        whole = sheet((10.0, high))
        axes = whole.add_axes((0.28, 0.55 / high, 0.48, (high - 1.5) / high))
        worth = page.result.worth
        relative_axes(axes, [plain(row.raced.name, 36) for row in rows], worth)
        for at, row in enumerate(rows):
            _interval(axes, at, row, page)
        axes.set_xlabel(f"{_WORDS[page.result.goal][0]} relative to {plain(page.result.baseline, 40)}", loc="left")
        band = f"grey: within {percent(worth)}"
        dashed = "dashed: assumes the same noise for all lines" if any(not row.exact for row in rows) else ""
        runs = f"{count(page.result.runs, 'run')} in {count(page.blocks, 'block')}, {in_time(page.result.seconds)}"
        write_head(whole, "Race between launch lines", (verdict_sentence(page), runs, band, dashed))
        return written(whole, form)


def _interval(axes: "Axes", at: int, row: RaceRow, page: RacePage) -> None:
    low, middle, high = row.relative or (1.0, 1.0, 1.0)
    won, base = row.raced.name == page.result.winner, row.raced.name == page.result.baseline
    colour = COLOURS[2] if won else FAINT if base else COLOURS[0]
    said = f"{'1' if base else f'{middle:.3f} ({low:.3f} to {high:.3f})'}, {count(row.raced.runs, 'run')}"
    style: Any = "-" if row.exact else (0, (3, 2))
    interval_row(axes, at, (low, middle, high), colour, said, marker="D" if won else "o", style=style)


def relative_axes(axes: "Axes", names: Sequence[str], worth: float) -> None:
    """Prepare a panel with a row a name, and a grey band around 1 within which a difference is worth nothing."""
    axes.axvspan(1 / (1 + worth), 1 + worth, color="#eef1f4")
    axes.axvline(1.0, color=FAINT, linewidth=1.0)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x")


def interval_row(
    axes: "Axes",
    at: int,
    ends: tuple[float | None, float | None, float | None],
    colour: str,
    said: str,
    *,
    marker: str = "D",
    style: Any = "-",
) -> None:
    """Draw an interval with its middle, where they are known, and what is said of it beside."""
    low, middle, high = ends
    if low is not None and high is not None:
        axes.plot([low, high], [at, at], color=colour, linewidth=2.2, linestyle=style)
    if middle is not None:
        axes.plot([middle], [at], color=colour, marker=marker, markersize=6, linestyle="none")
    axes.annotate(said, (1.02, at), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=INK)
