"""The quick set of measurements, as an audit takes them on an idle machine unless it is told not to."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from advisor.model.machine import Machine
    from advisor.model.measurement import Measurements


class Taken(NamedTuple):
    """What was measured, and the file that keeps it for the commands that follow; None where there is none."""

    measurements: "Measurements | None" = None
    file: Path | None = None


def measured_now(machine: "Machine") -> Taken:
    """Return what the quick set brings; nothing, with the reason on standard error, where it cannot be had now."""
    from advisor.cli.measuring import QUICK_SECONDS, How, announce, measure, planned
    from advisor.errors import AdvisorError
    from advisor.measure.wish import Wish

    try:
        seconds = planned(machine, Wish()).seconds
        announce(f"measuring for about {max(1, round(seconds))} s if the machine is idle; --no-measure leaves it out")
        done = measure(machine, Wish(), How(budget=QUICK_SECONDS))
    except AdvisorError as error:
        announce(f"not measured: {error}")
        return Taken()
    if done.interrupted:
        announce("measuring was stopped; what is done counts")
    return Taken(done.measurements, _kept(done.measurements))


def _kept(measurements: "Measurements") -> Path | None:
    """Keep measurements beside the built kernels, where explain and checklist can be pointed to them."""
    from advisor.cli.measuring import document
    from advisor.cli.pipeline import write_whole
    from advisor.errors import AdvisorError
    from advisor.measure.build import cache_folder

    file = cache_folder(os.environ).parent / "measured.json"
    try:
        write_whole(file, json.dumps(document(measurements)).encode())
    except AdvisorError:
        return None
    return file
