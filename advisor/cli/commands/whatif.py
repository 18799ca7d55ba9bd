"""Predict what a BIOS setting changes, before the restart: nodes, CPU numbers, findings, and what stays unknown.

The machine is transformed as its firmware would: another number of NUMA nodes, SMT on or off, CPUs numbered in another
order. What cannot be known before the restart is listed and left open. -o writes the resulting machine as JSON, which
every other command reads with --from: 'advisor bind --from after.json' writes the rankfiles for after the restart.
the machine.

Group: Set it up
Example: advisor whatif --nps 4 --smt off
Example: advisor whatif --from node.tar.gz --nps 4 --enumeration linear -o after.json
Example: advisor bind --from after.json --ranks-per numa -- ./app
"""

from typing import Any

from advisor.cli import options as opt
from advisor.cli.output import Terminal, emit, emit_json
from advisor.errors import BadValue
from advisor.work.whatif import whatif


def run(
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
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Say what a BIOS setting would change."""
    told = {"nps": nps, "l3_as_node": l3_as_node, "interleave": interleave, "snc": snc, "cod": cod, "smt": smt}
    found = whatif(source, _text({**told, "enumeration": enumeration}), scope, site=rules or (), observer=Terminal())
    from advisor.render.difference import whatif_document, whatif_page

    if json or output is not None:
        emit_json(whatif_document(found), output)
    if not json:
        emit([whatif_page(found, str(output) if output else None)], None, color=not no_color, width=width)


def _text(told: dict[str, Any]) -> str:
    """Return the assumption as a text: nps=4,smt=off."""
    texts = [f"{name}={value}" for name, value in told.items() if value is not None]
    if not texts:
        raise BadValue(
            "no setting is given", cure="give --nps, --smt, --enumeration or another setting; see advisor whatif --help"
        )
    return ",".join(texts)
