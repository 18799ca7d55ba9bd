"""Plan the BIOS changes of one server: what findings want, as far as its own registry takes it. Changes nothing.

Each change stands with its reason, its present value and the values that are legal here; below it what changes along with
it, and what is left out and why. The YAML is to be read and edited; bios stage checks it again. --only keeps the changes
of some rules, settings or attributes, with what they need, and is how a change that guides differ about gets in.

Group: Change the BIOS
Example: advisor bios plan --bios bios.json -o plan.yaml
Example: advisor bios plan --from node.tar.gz --bios bios.json --only numa.nps -o plan.yaml
"""

from typing import Annotated

import typer

from advisor.cli import options as opt
from advisor.cli.output import Terminal, emit_json, say
from advisor.host.files import write_file

Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="ID", help="Only this rule, setting or attribute; may be repeated.")
]


def run(
    *,
    source: opt.From = None,
    bios: opt.Bios = None,
    scope: opt.ScopeOption = "mpi",
    only: Only = None,
    rules: opt.Rules = None,
    measurements: opt.MeasurementsOption = None,
    json: opt.Json = False,
    output: opt.Output = None,
) -> None:
    """Plan the BIOS changes."""
    from advisor.work.bmc.plan import plan_bios

    found = plan_bios(
        bios or (), source, scope, only=only or (), site=rules or (), measurements=measurements or (), observer=Terminal()
    )
    if json:
        emit_json(found.document(), output)
    elif output is None:
        say(found.text())
    else:
        write_file(output, found.text().encode())
        Terminal().say(found.summary(output))
