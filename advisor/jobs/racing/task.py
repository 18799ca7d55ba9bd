"""Tunes a line: what it was asked, from the command line or from a journal, the race, its result."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from advisor.errors import BadInput, BadValue
from advisor.jobs.learned import LEARNED
from advisor.jobs.pages.tune import PlannedRace
from advisor.jobs.racing.budget import BLOCKS, Limits
from advisor.jobs.racing.journal import read_journal
from advisor.jobs.racing.line import Options, RaceField, lines_of
from advisor.jobs.racing.race import race_lines
from advisor.jobs.racing.result import Tuned, learned, tuned
from advisor.jobs.racing.runs import metric_of
from advisor.jobs.started.folder import checked
from advisor.jobs.started.hosts import HostOptions, JobOptions, LauncherOptions
from advisor.jobs.tune.candidates import what_ranks_get
from advisor.machine.hosts.files import begin_file
from advisor.machine.hosts.trust import Use, trusted
from advisor.machine.observer import SILENT, Observer
from advisor.machine.secrecy import WITHHELD, screened

_AT_BEST: Final = 10
"""Blocks in which a clear winner among a dozen lines is proven, the warm-up counted."""


@dataclass(frozen=True)
class Asked:
    """What is to be tuned, in words that a journal can hold."""

    command: tuple[str, ...]
    ranks: int | None = None
    threads: int | None = None
    hosts: str | None = None
    near: str | None = None
    smt: bool = False
    split: bool = False
    lines: int | None = None
    launcher: str | None = None
    version: str | None = None
    metric: str | None = None
    metric_file: str | None = None
    better: str | None = None
    devices: bool = False
    hugepages: bool = False
    settings: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "command": list(self.command), "settings": list(self.settings)}


def field_of(asked: Asked, observer: Observer = SILENT) -> RaceField:
    """Return the lines that race."""
    options = Options(
        JobOptions(ranks=asked.ranks, threads=asked.threads, near=asked.near),
        HostOptions(hosts=asked.hosts),
        LauncherOptions(asked.launcher, asked.version),
        asked.split,
        asked.smt,
        asked.devices,
        asked.hugepages,
        asked.settings,
        asked.lines,
    )
    return lines_of(asked.command, options, observer)


def planned_race(asked: Asked, limits: Limits, observer: Observer = SILENT) -> PlannedRace:
    """Return what would race, and how many runs that takes; nothing is run."""
    metric_of(asked.metric, Path(asked.metric_file) if asked.metric_file else None, asked.better)
    found = field_of(asked, observer)
    many = len(found.lines)
    rows = []
    for line in found.lines:
        placed = line.candidate.placement
        gets = (
            "; ".join(f"{key}: {text}" for key, text in what_ranks_get(placed).items()) if placed else "as the launcher places it"
        )
        rows.append((line.name, line.text, gets))
    most = limits.runs or BLOCKS * many
    return PlannedRace(rows, min(most, _AT_BEST * many), most + many, found.notes)


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
    place = checked(folder or Path(f"tune-{_name(asked.command)}"))
    trusted(place, Use.RUNS)  # before anything is started
    metric = metric_of(asked.metric, Path(asked.metric_file) if asked.metric_file else None, asked.better)
    found = field_of(asked, observer)
    raced = race_lines(found, metric, limits, place, asked=asked.document(), resume=resume, observer=observer)
    if (proven := learned(raced)) is not None:
        file = begin_file(place / LEARNED)
        file.file.write((json.dumps(screened(proven.model_dump(mode="json", by_alias=True)), indent=1) + "\n").encode())
        file.finish()
    return tuned(raced, place)


def _name(command: Sequence[str]) -> str:
    """Return a word for a folder: the last one of a command that is a program's name."""
    names = [Path(word).name for word in command if not word.startswith("-") and "=" not in word]
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in (names or ["line"])[-1])[:40]


def _again(folder: Path, limits: Limits) -> tuple[Asked, Limits]:
    """Return what the race of a folder was asked."""
    head = read_journal(folder, Use.RUNS).head
    try:
        found = head["asked"]
        if WITHHELD in str(found["command"]) + str(found.get("settings")):
            cure = "begin a race with another -o DIR; credentials are best passed in the environment or a file"
            raise BadInput("its line has a credential, which no journal keeps", file=str(folder), cure=cure)
        asked = Asked(**{**found, "command": tuple(found["command"]), "settings": tuple(found.get("settings") or ())})
        return asked, Limits(float(head["worth"]), limits.minutes, limits.runs, limits.timeout, limits.busy_ok, int(head["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput("the head of the race is damaged", file=str(folder), cure="begin a race with another -o DIR") from error
