"""Compares messages between hosts with those of an earlier run: after a BIOS setting such as Preferred IO was changed."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.cli.answers import Form, show_measured
from advisor.errors import AdvisorError, BadInput, BadValue
from advisor.measure.before_after import Setup, before_setup, compare_runs, must_be_alike, sizes_argument
from advisor.render.difference import before_after_document, before_after_page
from advisor.work.machine import emit, emit_json
from advisor.work.measure import Measured, announce, must_be_of_machine, read_measurements

if TYPE_CHECKING:
    from advisor.model.measurement import Measurements
    from advisor.work.network import Experiment


def compare_saved(before: Path, after: Path, form: Form) -> int:
    """Print what changed between runs that were saved; return the exit status."""
    found = compare_runs(runs(before), runs(after))
    if form.json:
        emit_json(before_after_document(found), form.output)
    else:
        emit([before_after_page(found, form.width)], form.output, color=form.color, width=form.width)
    return 0


def runs(place: Path) -> list["Measurements"]:
    """Return the run of a file, or those of all files .json in a folder: several starts of one setting."""
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files:
        raise BadInput("no file .json is in it", file=str(place), cure="save runs there: --save FOLDER/1.json")
    return [read_measurements([file]) for file in files]


def fitting(place: Path, made: "Experiment") -> list["Measurements"]:
    """Return earlier runs; refuse them before anything is measured where the new one would be of other things."""
    before = runs(place)
    parts = {(leg.part, leg.index) for leg in made.legs if leg.purpose == "network"}
    if len(parts) != 1 and not any(part == "machine" for part, _ in parts):
        raise BadValue("--before compares what all cores send", cure="leave --per out, or take --per node")
    version = f" {made.choice.version}" if made.choice.version else ""
    after = Setup(
        hosts=",".join(made.crew.hosts.names or (os.uname().nodename,)),
        launcher=f"{made.choice.launcher.NAME}{version}",
        hcas=tuple(dict.fromkeys(leg.hca or "" for leg in made.legs)),
        sizes=sizes_argument(made.sizes),
    )
    for run in before:
        must_be_of_machine(run, made.machine, str(place))
        must_be_alike(before_setup(run), after)
    return before


def show_compared(before: list["Measurements"], done: Measured, made: "Experiment", save: Path | None, form: Form) -> int:
    """Print what was measured and what changed since; return the exit status, 2 where the two cannot be compared."""
    try:
        found = compare_runs(before, [done.measurements])
    except AdvisorError as error:
        status = show_measured(done, made.machine, made.notes, save, form)
        announce(f"not compared: {error}")
        return status or 2
    return show_measured(done, made.machine, made.notes, save, form, compared=found)
