"""Tunes a line: the race that was asked for or that a folder keeps, what it showed, the line to paste, what bind may learn."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import exp
from pathlib import Path
from statistics import median
from typing import Any, Final

from pydantic import ValidationError

from advisor.errors import BadInput, BadValue
from advisor.jobs.learned import LEARNED
from advisor.jobs.pages.tune import PlannedRace, RacePage, RaceRow
from advisor.jobs.race_result import Learned, RacedLine, RaceResult
from advisor.jobs.racing.lines import Asked, RaceLine, lines_of, what_ranks_get, why_different
from advisor.jobs.racing.proof import median_interval, two_speeds
from advisor.jobs.racing.race import BLOCKS, Limits, Raced, damaged, race_lines, replayed
from advisor.jobs.racing.runs import metric_of, read_journal
from advisor.jobs.started.folder import checked
from advisor.machine.hosts.files import begin_file
from advisor.machine.hosts.trust import Use, trusted
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.secrecy import WITHHELD, screened
from advisor.measure.measurement import Identity, identity_of, machine_mismatch

_AT_BEST: Final = 10
"""Blocks in which a clear winner among a dozen lines is proven, the warm-up counted."""


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
    winner = None if verdict.winner is None else lines[verdict.winner]
    place = folder / winner.name.replace(" ", "-") if winner else folder
    pasted = f"{place}/launch.sh starts it; {place} has job scripts, {folder}/{LEARNED} is for advisor bind --learned"
    page = RacePage(
        rows=sorted(rows, key=lambda row: row.relative[1] if row.relative else 1e9),
        answer=verdict.answer,
        leader=lines[verdict.leader].name,
        noise=verdict.noise,
        blocks=len(raced.race.blocks),
        blocks_needed=verdict.blocks_needed,
        cost=sum(median(raced.journal.times(at) or [0.0]) for at in range(len(lines)) if at not in raced.dropped),
        open=[lines[at].name for at in verdict.open],
        result=RaceResult(
            candidates=tuple(row.raced for row in rows),
            winner=winner.name if winner else None,
            baseline=lines[0].name,
            worth=raced.race.worth,
            runs=len(raced.journal.runs),
            seconds=round(raced.journal.seconds, 3),
        ),
        unit="s" if raced.metric.is_time else "",
        ended=raced.ended,
        folder=str(folder),
        argv=(*winner.argv, *winner.program) if winner else (),
        variables=dict(winner.variables) if winner else None,
        files=(pasted,) if winner and winner.binding else (),
        why=_why(winner, lines) if winner else (),
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
    row = RacedLine(
        name=line.name,
        line=line.text,
        median=middle,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        runs=len(figures),
        dropped_after=raced.race.left_out.get(at),
    )
    return RaceRow(row, relative, exact, two_speeds(figures), raced.dropped.get(at))


def _why(winner: RaceLine, lines: tuple[RaceLine, ...]) -> tuple[str, ...]:
    """Return what distinguishes the winner's placement, where that of the first line is known or a plain one stands for it."""
    mine = winner.placement
    same = next((line.placement for line in lines[1:] if line.expected == lines[0].expected), None)
    if mine is None:
        return ()
    if same is None:
        return tuple(f"{key}: {text}" for key, text in what_ranks_get(mine).items())
    return why_different(mine, same)


def learned(raced: Raced) -> Learned | None:
    """Return what advisor bind may offer for this program and kind of machine; None where nothing was proven."""
    winner, lines = raced.verdict.winner, raced.entries.lines
    bounds = None if winner is None else raced.race.interval(winner)
    if winner is None or bounds is None or (job := lines[winner].job) is None:
        return None
    return Learned(
        program=Path(lines[winner].program[0]).name,
        machine=identity_of(raced.entries.job_hosts.machines[0]),
        job=job,
        name=lines[winner].name,
        faster=round(max(0.0, 1 - exp(bounds[2])), 4),
        baseline=lines[0].text,
        runs=len(raced.figures(winner)),
        date=datetime.now(UTC).date().isoformat(),
        conditions=tuple(dict.fromkeys(raced.notes)),
    )


def kept_race(folder: Path, machine: Machine | None = None) -> RacePage:
    """Return what a race showed that a folder keeps; where it was not run on this machine, a note says so."""
    raced = replayed(folder)
    page = tuned(raced, folder).page
    try:
        where = Identity.model_validate(raced.journal.head.get("machine"))
    except ValidationError as error:
        raise damaged(folder) from error
    other = machine_mismatch(where, machine) if machine else None
    return replace(page, notes=(f"not of this machine: it was {other}", *page.notes)) if other else page


def planned_race(asked: Asked, limits: Limits, observer: Observer = SILENT) -> PlannedRace:
    """Return what would race, and how many runs that takes; nothing is run."""
    metric_of(asked.metric, Path(asked.metric_file) if asked.metric_file else None, asked.better)
    entries = lines_of(asked, observer)
    rows = [
        (
            line.name,
            line.text,
            "; ".join(f"{key}: {text}" for key, text in what_ranks_get(line.placement).items())
            if line.placement
            else "as the launcher places it",
        )
        for line in entries.lines
    ]
    most = limits.runs or BLOCKS * len(rows)
    return PlannedRace(rows, min(most, _AT_BEST * len(rows)), most + len(rows), entries.notes)


def tune_line(
    asked: Asked | None,
    limits: Limits | None = None,
    folder: Path | None = None,
    *,
    resume: bool = False,
    observer: Observer = SILENT,
) -> Tuned:
    """Return what a race of the lines of a job showed; with ``resume`` the folder's race is gone on with.

    The folder keeps the journal, the lines' files, and what advisor bind may learn from it.
    """
    limits = limits or Limits()
    if resume:
        asked, limits = _again(folder or Path(), limits)
    if asked is None:
        raise BadValue("no line to tune", cure="put it last, after --: advisor tune -- mpirun -n 16 ./app")
    if folder is None:  # the last word of a command that is a program's name
        names = [Path(word).name for word in asked.command if not word.startswith("-") and "=" not in word]
        word = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in (names or ["line"])[-1])
        folder = Path(f"tune-{word[:40]}")
    place = checked(folder)
    trusted(place, Use.RUNS)  # before anything is started
    metric = metric_of(asked.metric, Path(asked.metric_file) if asked.metric_file else None, asked.better)
    entries = lines_of(asked, observer)
    raced = race_lines(entries, metric, limits, place, asked=asked.document(), resume=resume, observer=observer)
    if (proven := learned(raced)) is not None:
        file = begin_file(place / LEARNED)
        file.file.write((json.dumps(screened(proven.model_dump(mode="json", by_alias=True)), indent=1) + "\n").encode())
        file.finish()
    return tuned(raced, place)


def _again(folder: Path, limits: Limits) -> tuple[Asked, Limits]:
    """Return what the race of a folder was asked."""
    head = read_journal(folder, Use.RUNS).head
    try:
        words = head["asked"]
        if WITHHELD in str(words["command"]) + str(words.get("settings")):
            cure = "begin a race with another -o DIR; credentials are best passed in the environment or a file"
            raise BadInput("its line has a credential, which no journal keeps", file=str(folder), cure=cure)
        asked = Asked(**{**words, "command": tuple(words["command"]), "settings": tuple(words.get("settings") or ())})
        return asked, replace(limits, worth=float(head["worth"]), seed=int(head["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            "the first record of the race is damaged", file=str(folder), cure="begin a race with another -o DIR"
        ) from error
