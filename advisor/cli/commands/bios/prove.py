"""Prove that a plan of BIOS changes is in effect, by three witnesses. Changes nothing.

The BMC: every attribute is applied, nothing waits, its job has ended well, and it is the same server. The operating
system, from a capture of the machine after its restart (--from): NUMA nodes per socket, SMT, the order of the CPUs. What
was measured, from runs before and after (--before, --after), with an exact p. Exit status 1 where a witness speaks against
the plan.

Group: Change the BIOS
Example: advisor bios prove plan.yaml --bmc bmc01 --from after.tar.gz
Example: advisor bios prove plan.yaml --bmc bmc01 --record before.json --wait 1200
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.bios.page import proof_page
from advisor.bios.prove import prove_bios
from advisor.cli import options as opt
from advisor.cli.bmc_options import Asked, PlanArgument, answer, asks_bmcs
from advisor.cli.output import Terminal
from advisor.errors import BadValue
from advisor.machine.observer import SILENT

Runs = Annotated[Path | None, typer.Option("--before", metavar="FILE", help="Measurements from before the change.")]
Later = Annotated[Path | None, typer.Option("--after", metavar="FILE", help="The same measurements after it.")]
Record = Annotated[Path | None, typer.Option("--record", metavar="FILE", help="What bios stage saved: its job is followed.")]
Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, max=7200, help="Wait so long for the BMC's job to end.")]


@asks_bmcs
def run(
    plan: PlanArgument,
    *,
    asked: Asked,
    source: opt.From = None,
    before: Runs = None,
    after: Later = None,
    record: Record = None,
    wait: Wait = 0,
) -> int:
    """Ask the witnesses."""
    if (before is None) != (after is None):
        raise BadValue("--before and --after go together", cure="give the runs before the change and those after it")
    observer = SILENT if asked.many else Terminal()
    return answer(
        asked,
        "prove",
        lambda door: prove_bios(
            door.of(plan),
            door,
            source and str(door.of(Path(source))),
            measured=(door.of(before), door.of(after)) if before is not None and after is not None else None,
            record=record and door.of(record),
            wait=wait,
            observer=observer,
        ),
        lambda found, width, **_: proof_page(found.document(), width),
    )
