"""Predict what a BIOS setting changes, before the restart: nodes, CPU numbers, findings, and what stays unknown.

WISH is a setting, nps=4 or nps=4,smt=off, as the options are; or the number that an audit gives a finding, or a rule, whose
wish it is then. The machine is transformed as its firmware would: another number of NUMA nodes, SMT on or off, CPUs numbered
in another order. What cannot be known before the restart is listed and left open. -o writes the resulting machine as JSON,
which every other command reads with --from: 'advisor bind --from after.json -- ./app' writes the rankfiles for after the restart.

Group: Set it up
Example: advisor whatif nps=4
Example: advisor whatif 1
Example: advisor whatif --nps 4 --smt off
Example: advisor whatif --from node.tar.gz --nps 4 --enumeration linear -o after.json
Example: advisor bind --from after.json --ranks-per numa -- ./app
"""

from typing import Annotated, Any

import typer

from advisor.advice.whatif import whatif
from advisor.cli import options as opt
from advisor.cli.output import Terminal, emit, emit_json
from advisor.errors import BadValue


def run(
    wishes: Annotated[list[str] | None, typer.Argument(metavar="[WISH]...", help="nps=4,smt=off, or a finding's number.")] = None,
    *,
    nps: opt.Nps = None,
    l3_as_node: opt.L3 = None,
    interleave: opt.Interleave = None,
    snc: opt.Snc = None,
    cod: opt.Cod = None,
    smt: opt.Smt = None,
    enumeration: opt.Enumeration = None,
    source: opt.From = None,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    bios: opt.Bios = None,
    measurements: opt.MeasurementsOption = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Say what a BIOS setting would change."""
    told = {"nps": nps, "l3_as_node": l3_as_node, "interleave": interleave, "snc": snc, "cod": cod, "smt": smt}
    text = _text(wishes or [], {**told, "enumeration": enumeration})
    files = {"site": rules or (), "bios": bios or (), "measurements": measurements or ()}
    found = whatif(source, text, scope, **files, observer=Terminal())
    from advisor.advice.difference_page import whatif_document, whatif_page

    if json or output is not None:
        emit_json(whatif_document(found), output)
    if not json:
        emit([whatif_page(found, str(output) if output else None)], None, color=not no_color, width=width)


def _text(wishes: list[str], told: dict[str, Any]) -> str:
    """Return the assumption as a text: nps=4,smt=off."""
    texts = [*wishes, *(f"{name}={value}" for name, value in told.items() if value is not None)]
    if not texts:
        raise BadValue("no setting is given", cure="write advisor whatif nps=4, or another setting; see advisor whatif --help")
    return ",".join(texts)
