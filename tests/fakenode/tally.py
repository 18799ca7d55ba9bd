"""What was launched and what came of it, one line of JSON a launch, for docs/binding-matrix.md.

Written where the variable ADVISOR_BINDING_TALLY names a folder; each process has a file of its own in it.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from advisor.jobs.launcher import Launch
from advisor.jobs.placement import Placement
from tests.fakenode.compare import differences
from tests.fakenode.lab import workshop
from tests.fakenode.run import LaunchFailedError, Observed

VARIABLE = "ADVISOR_BINDING_TALLY"


def tallied(
    machine: str, launch: Launch, placement: Placement, observe: Callable[[], Mapping[int, Observed]], **facts: Any
) -> list[str]:
    """Return how the ranks of a launch differ from their plan, and note how many; a launch that failed has them all wrong."""
    facts |= {"key": _key(launch, placement), "form": launch.form, "ranks": placement.size}
    try:
        wrong = differences(placement, observe())
    except LaunchFailedError:
        note(machine, launch.launcher, **facts, wrong=placement.size)
        raise
    note(machine, launch.launcher, **facts, wrong=len(wrong))
    return wrong


def note(machine: str, launcher: str, **facts: Any) -> None:
    """Write one line, where lines are wanted; of several runs of a test the last one counts."""
    folder = os.environ.get(VARIABLE)
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        facts |= {"test": os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0], "when": time.time()}
        with (Path(folder) / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps({"machine": machine, "launcher": launcher, **facts}) + "\n")


def _key(launch: Launch, placement: Placement) -> str:
    """Return what tells two launches apart: the words, and where the ranks are to be."""
    words = [word.replace(str(workshop()), "") for word in launch.argv]
    places = [(each.host, str(each.slot.cpus)) for each in placement.ranks()]
    return hashlib.sha1(repr((words, places)).encode(), usedforsecurity=False).hexdigest()[:16]
