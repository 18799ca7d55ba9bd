"""What a race showed, as a value: the rows of its table, the verdict in words, the line to paste, what bind may learn."""

from dataclasses import dataclass
from datetime import UTC, datetime
from math import exp
from pathlib import Path
from statistics import median
from typing import Any

from advisor.jobs.learned import LEARNED
from advisor.jobs.pages.tune import RacePage, RaceRow
from advisor.jobs.race_result import Learned, RacedLine, RaceResult
from advisor.jobs.racing.line import RaceLine
from advisor.jobs.racing.race import Raced
from advisor.jobs.tune.candidates import what_ranks_get, why_different
from advisor.jobs.tune.interval import median_interval, two_speeds
from advisor.measure.measurement import identity_of


@dataclass(frozen=True)
class Tuned:
    """The result of ``advisor tune``."""

    page: RacePage
    interrupted: bool = False

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor tune --json``."""
        return self.page.result.model_dump(mode="json", by_alias=True)


def tuned(raced: Raced, folder: Path) -> Tuned:
    """Return what a race showed."""
    verdict, lines = raced.verdict, raced.entries.lines
    rows = [_row(raced, at) for at in range(len(lines))]
    result = RaceResult(
        candidates=tuple(row.raced for row in rows),
        winner=None if verdict.winner is None else lines[verdict.winner].name,
        baseline=lines[0].name,
        worth=raced.race.worth,
        runs=len(raced.journal.runs),
        seconds=round(raced.journal.seconds, 3),
    )
    winner = None if verdict.winner is None else lines[verdict.winner]
    place = folder / winner.name.replace(" ", "-") if winner else folder
    page = RacePage(
        rows=sorted(rows, key=lambda row: row.relative[1] if row.relative else 1e9),
        answer=verdict.answer,
        leader=lines[verdict.leader].name,
        noise=verdict.noise,
        blocks=len(raced.race.blocks),
        blocks_needed=verdict.blocks_needed,
        cost=sum(median(raced.journal.times(at) or [0.0]) for at in range(len(lines)) if at not in raced.dropped),
        open=[lines[at].name for at in verdict.open],
        result=result,
        unit="s" if raced.metric.is_time else "",
        ended=raced.ended,
        folder=str(folder),
        argv=(*winner.argv, *winner.program) if winner else (),
        variables=dict(winner.variables) if winner else None,
        files=(f"{place}/launch.sh starts it; {place} has job scripts, {folder}/{LEARNED} is for advisor bind --learned",)
        if winner and winner.binding
        else (),
        why=() if winner is None else _why(winner, lines),
        notes=tuple(dict.fromkeys(raced.notes)),
    )
    return Tuned(page, raced.interrupted)


def _row(raced: Raced, at: int) -> RaceRow:
    figures, base = raced.figures(at), raced.figures(0)
    line = raced.entries.lines[at]
    relative, exact, ends = None, True, None
    if at == 0 and figures:
        relative, ends = (1.0, 1.0, 1.0), median_interval(figures) or (min(figures), max(figures))
    elif (bounds := raced.race.interval(at)) is not None and base:
        low, mid, high = (exp(each) for each in bounds[:3])
        relative, exact = (low, mid, high), bounds[3]
        part = (1 / high, 1 / low) if raced.metric.high else (low, high)
        ends = (median(base) * part[0], median(base) * part[1])
    middle = median(figures) if figures else None
    if middle is not None and ends is not None:
        ends = min(ends[0], middle), max(ends[1], middle)
    told = RacedLine(
        name=line.name,
        line=line.text,
        median=middle,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        runs=len(figures),
        dropped_after=raced.race.left_out.get(at),
    )
    return RaceRow(told, relative, exact, two_speeds(figures), raced.dropped.get(at))


def _why(winner: RaceLine, lines: tuple[RaceLine, ...]) -> tuple[str, ...]:
    """Return what distinguishes the winner's placement, where that of the first line is known or a plain one stands for it."""
    mine = winner.candidate.placement
    same = next((line.candidate.placement for line in lines[1:] if line.expected == lines[0].expected), None)
    if mine is None:
        return ()
    if same is None:
        return tuple(f"{key}: {text}" for key, text in what_ranks_get(mine).items())
    return why_different(mine, same)


def learned(raced: Raced) -> Learned | None:
    """Return what advisor bind may offer for this program and kind of machine; None where nothing was proven."""
    verdict = raced.verdict
    if verdict.winner is None:
        return None
    line, bounds = raced.entries.lines[verdict.winner], raced.race.interval(verdict.winner)
    if line.candidate.job is None or bounds is None:
        return None
    machine = raced.entries.job_hosts.machines[0]
    return Learned(
        program=Path(line.program[0]).name,
        machine=identity_of(machine),
        job=line.candidate.job,
        name=line.name,
        faster=round(max(0.0, 1 - exp(bounds[2])), 4),
        baseline=raced.entries.lines[0].text,
        runs=len(raced.figures(verdict.winner)),
        date=datetime.now(UTC).date().isoformat(),
        conditions=tuple(dict.fromkeys(raced.notes)),
    )
