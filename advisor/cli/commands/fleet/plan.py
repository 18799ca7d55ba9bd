"""Plan the BIOS changes of a fleet: one plan for each kind of hardware. Changes nothing.

A kind's plan is that of its most usual node, as advisor bios plan makes it: from the BIOS attributes beside its capture
(NODE.bios.json, which advisor bios read -w NODES -o DIR/%h.bios.json writes), or from the first --bios that can be of its kind.
bios stage checks each server again before it writes.

Group: Many servers
Example: advisor fleet plan -w 'n[001-400]' fleet/
Example: advisor fleet plan fleet/ --bios bios.json -o plans/%k.yaml
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import fleet_options as fleet_opt
from advisor.cli import options as opt
from advisor.cli.output import Terminal, emit_json, say
from advisor.errors import CannotWork
from advisor.fleet.plan import fleet_plan
from advisor.machine.hosts.files import write_file

Files = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write each kind's plan there; %k is the kind: A, B, ...")
]


@fleet_opt.captures_first
def run(
    *,
    places: list[Path],
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    bios: opt.Bios = None,
    json: opt.Json = False,
    output: Files = None,
) -> int:
    """Plan for each kind."""
    observer = Terminal()
    found = fleet_plan(places, bios or (), scope, site=rules or (), observer=observer)
    if json:
        emit_json(found.document(), output)
        return 0
    for kind in found.kinds:
        if kind.name in found.without:
            observer.say(f"kind {kind.name}: {found.without[kind.name]}")
            continue
        planned = found.plans[kind.name]
        if output is None:
            say(f"# kind {kind.name}, {kind.count} nodes: {kind.nodes}\n{planned.text()}")
        else:
            file = Path(str(output).replace("%k", kind.name))
            write_file(file, planned.text().encode())
            observer.say(f"kind {kind.name}, {kind.count} nodes: {planned.summary(file)}")
    if not found.plans:
        raise CannotWork("no kind has a BIOS to plan for")
    return 0
