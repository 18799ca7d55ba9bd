"""Plan the BIOS changes of one server: what findings want, as far as its own registry takes it. Changes nothing.

Each change stands with its reason, its present value and the values that are legal here; below it what changes along with
it, and what is left out and why. The YAML is to be read and edited; bios stage checks it again. --only keeps the changes
of some rules, settings or attributes, with what they need, and is how a change that guides differ about gets in. With --bmc
or -w the BIOS is read at once; of many BMCs each plan goes into a file of its own. Without --from it is planned for this
machine where the BIOS is this machine's, else for what the file says of its server. Without an attribute registry nothing is
planned by name, but what --unchecked names.

Group: Change the BIOS
Example: advisor bios plan --bios bios.json -o plan.yaml
Example: advisor bios plan -w 'bmc[001-400]' --from node.tar.gz -o plans/%h.yaml
Example: advisor bios plan --from node.tar.gz --bios bios.json --only numa.nps -o plan.yaml
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from advisor.advice.bios_files import BiosInput
from advisor.bios.door import Door
from advisor.bios.many import Kept
from advisor.bios.plan import PlannedBios, Planner, plan_bios
from advisor.cli import options as opt
from advisor.cli.bmc_options import Asked, Unchecked, answer, asks_bmcs
from advisor.cli.output import Terminal, emit_json, emit_text
from advisor.errors import BadValue
from advisor.machine.hosts.files import write_file
from advisor.machine.observer import SILENT, Observer

Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="ID", help="Only this rule, setting or attribute; may be repeated.")
]


@asks_bmcs
def run(
    *,
    asked: Asked,
    source: opt.From = None,
    bios: opt.Bios = None,
    scope: opt.ScopeOption = "mpi",
    only: Only = None,
    unchecked: Unchecked = None,
    rules: opt.Rules = None,
    measurements: opt.MeasurementsOption = None,
) -> int:
    """Plan the BIOS changes."""
    opt.at_most_one({"--bios": bool(bios), "--bmc and -w": bool(asked.doors)})

    def make(given: BiosInput | Sequence[Path], observer: Observer) -> PlannedBios:
        return plan_bios(
            given,
            source,
            scope,
            only=only or (),
            unchecked=unchecked or (),
            site=rules or (),
            measurements=measurements or (),
            observer=observer,
        )

    if asked.many and source is None:
        raise BadValue("several servers are planned from the capture of one of them", cure="give --from node.tar.gz")
    if asked.many:
        planner = Planner(partial(make, observer=SILENT))
        return _many(asked, planner.for_bmc)
    observer = Terminal()
    found = (
        Planner(partial(make, observer=observer)).for_bmc(asked.doors[0]) if asked.doors else make(bios or (), observer=observer)
    )
    _write(found, asked.form.output, json=asked.form.json)
    return 0


def _many(asked: Asked, plan: Callable[[Door], PlannedBios]) -> int:
    """Plan for each of many, into a file of its own."""
    place = asked.form.output
    if place is None:
        raise BadValue("several plans go into several files", cure="write -o plans/%h.yaml")

    def task(door: Door) -> Kept:
        file = asked.file(place, door)
        found = plan(door)
        write_file(file, found.text().encode())
        return Kept(found.word, file)

    return answer(replace(asked, form=replace(asked.form, output=None)), "plan", task, lambda *_, **__: "")


def _write(found: PlannedBios, output: Path | None, *, json: bool) -> None:
    if json:
        emit_json(found.document(), output)
        return
    emit_text(found.text(), output)
    if output is not None:
        Terminal().say(found.summary(output))
