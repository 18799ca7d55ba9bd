"""The race that a folder keeps, gone over again from its journal: nothing is run."""

import re
import shlex
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from advisor.errors import BadInput
from advisor.jobs.pages.tune import RacePage
from advisor.jobs.racing.budget import Limits
from advisor.jobs.racing.journal import read_journal
from advisor.jobs.racing.line import RaceField, RaceLine
from advisor.jobs.racing.race import Raced, Runner
from advisor.jobs.racing.result import tuned
from advisor.jobs.racing.runs import Metric
from advisor.jobs.started.allocation import Allocated
from advisor.jobs.started.hosts import JobHosts
from advisor.jobs.tune.candidates import Candidate
from advisor.jobs.tune.race import Race
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT
from advisor.measure.measurement import Identity, machine_mismatch

_ENDLESS: Final = 1 << 40
"""Runs that a race which is gone over may take: it ends where its journal does."""


def kept_race(folder: Path, machine: Machine | None = None) -> RacePage:
    """Return what a race showed that a folder keeps; where it was not run on this machine, a note says so."""
    raced = replayed(folder)
    page = tuned(raced, folder).page
    try:
        where = Identity.model_validate(raced.journal.head.get("machine"))
    except ValidationError as error:
        raise BadInput("the head of the race is damaged", file=str(folder), cure="give the folder of a race") from error
    other = machine_mismatch(where, machine) if machine else None
    return replace(page, notes=(f"not of this machine: it was {other}", *page.notes)) if other else page


def replayed(folder: Path) -> Raced:
    """Return the race that a folder keeps, as far as it went; nothing is run."""
    journal = read_journal(folder)
    try:
        head = journal.head
        lines = tuple(_kept_line(str(each["name"]), str(each["line"])) for each in head["candidates"])
        metric = _kept_metric(head["asked"])
        raced = Raced(
            RaceField(lines, JobHosts(Allocated(), (Machine(),))), Race(len(lines), float(head["worth"])), journal, metric,
            Limits(runs=_ENDLESS, seed=int(head["seed"])),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadInput("the head of the race is damaged", file=str(folder), cure="give the folder of a race") from error
    with suppress(_EndOfJournalError):
        _Replay(raced, Machine(), SILENT).run()
    busy = journal.runs[-1].busy if journal.runs else ()
    raced.notes += [f"others worked on the machine: {words}" for words in busy]
    return raced


def _kept_metric(asked: dict[str, Any]) -> Metric:
    is_figure = asked.get("metric") or asked.get("metric_file")
    return Metric(re.compile("") if is_figure else None, None, asked.get("better") == "high")


def _kept_line(name: str, text: str) -> RaceLine:
    """Return a line as the journal has it: in one text."""
    words = shlex.split(text)
    variables = dict(each.split("=", 1) for each in takewhile(re.compile(r"[A-Za-z_]\w*=").match, words))
    return RaceLine(name, (), tuple(words[len(variables) :]), variables, Candidate(name, None, None))


class _EndOfJournalError(Exception):
    """There is no such run."""


class _Replay(Runner):
    """Goes over the runs that were made, and ends where they do."""

    def _must_run(self) -> None:
        raise _EndOfJournalError
