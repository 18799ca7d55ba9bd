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

from advisor.cli import bmc_options as bmc_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show
from advisor.errors import BadValue

Runs = Annotated[Path | None, typer.Option("--before", metavar="FILE", help="Measurements from before the change.")]
Later = Annotated[Path | None, typer.Option("--after", metavar="FILE", help="The same measurements after it.")]
Record = Annotated[Path | None, typer.Option("--record", metavar="FILE", help="What bios stage saved: its job is followed.")]
Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, max=7200, help="Wait so long for the BMC's job to end.")]


def run(
    plan: bmc_opt.PlanArgument,
    *,
    bmc: bmc_opt.Host,
    source: opt.From = None,
    before: Runs = None,
    after: Later = None,
    record: Record = None,
    wait: Wait = 0,
    user: bmc_opt.User = None,
    password_fd: bmc_opt.PasswordFd = None,
    login_file: bmc_opt.LoginFile = None,
    ca: bmc_opt.Ca = None,
    pin: bmc_opt.Pin = False,
    insecure: bmc_opt.Insecure = False,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Ask the witnesses."""
    from advisor.render.bios import proof_page
    from advisor.work.bmc.prove import prove_bios

    if (before is None) != (after is None):
        raise BadValue("--before and --after go together", cure="give the runs before the change and those after it")
    way = bmc_opt.door(bmc, user, password_fd, login_file, ca, pin=pin, insecure=insecure)
    runs = (before, after) if before is not None and after is not None else None
    found = prove_bios(plan, way, source, measured=runs, record=record, wait=wait, observer=Terminal())
    show(Form(output, json, width, not no_color), found.document, lambda: proof_page(found.document(), width))
    return int(not found.good)
