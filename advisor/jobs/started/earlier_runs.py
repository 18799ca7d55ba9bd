"""Runs of messages that were saved before, with which a new one shall be compared."""

import os
from pathlib import Path

from advisor.advice.whatif import runs_in
from advisor.errors import BadValue
from advisor.jobs.started.network import Experiment
from advisor.measure.before_after import Setup, before_setup, must_be_alike, sizes_argument
from advisor.measure.measurement import Measurements
from advisor.measure.task import must_be_of_machine


def fitting_runs(place: Path, made: Experiment) -> list[Measurements]:
    """Return earlier runs; refuse them before anything is measured where the new one would be of other things."""
    before = runs_in(place)
    parts = {(leg.part, leg.index) for leg in made.legs if leg.purpose == "network"}
    if len(parts) != 1 and not any(part == "machine" for part, _ in parts):
        raise BadValue("--before compares what all cores send", cure="leave --per out, or take --per node")
    version = f" {made.choice.version}" if made.choice.version else ""
    after = Setup(
        hosts=",".join(made.job_hosts.hosts.names or (os.uname().nodename,)),
        launcher=f"{made.choice.launcher.name}{version}",
        hcas=tuple(dict.fromkeys(leg.hca or "" for leg in made.legs)),
        sizes=sizes_argument(made.sizes),
    )
    for run in before:
        must_be_of_machine(run, made.machine, str(place))
        must_be_alike(before_setup(run), after)
    return before
