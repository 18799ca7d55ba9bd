"""Predict what a BIOS setting changes, before the restart: nodes, CPU numbers, findings, and what stays unknown.

The machine is transformed as its firmware would: another number of NUMA nodes, SMT on or off, CPUs numbered in another
order. What cannot be known before the restart is listed and left open. -o writes the resulting machine as JSON, which
every other command reads with --from: 'advisor bind --from after.json' writes the rankfiles for after the restart.
Nothing is changed on the machine.

Group: Set it up
Example: advisor whatif --nps 4 --smt off
Example: advisor whatif --from node.tar.gz --nps 4 --enumeration linear -o after.json
Example: advisor bind --from after.json --ranks-per numa -- ./app
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advisor.cli.options import From, Json, NoColor, Output, Rules, ScopeOption, Width
from advisor.errors import BadValue
from advisor.work.machine import emit, emit_json, load

if TYPE_CHECKING:
    from advisor.model.hardware.layout import Assumption
    from advisor.model.hardware.machine import Machine
    from advisor.render.difference import WhatIf


class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


class Order(StrEnum):
    """How the firmware lists the cores."""

    LINEAR = "linear"
    ROUND_ROBIN = "round-robin"


class Interleaving(StrEnum):
    """How EPYC 7001 interleaves memory."""

    CHANNEL = "channel"
    DIE = "die"
    SOCKET = "socket"


Nps = Annotated[
    int | None, typer.Option("--nps", metavar="N", min=0, max=4, help="NUMA nodes per socket of EPYC 7002 and later: 1, 2, 4, 0.")
]
L3 = Annotated[Switch | None, typer.Option("--l3-as-node", help="Each L3 group as a NUMA node (EPYC 7002 and later).")]
Interleave = Annotated[Interleaving | None, typer.Option("--interleave", help="Memory interleaving of EPYC 7001.")]
Snc = Annotated[str | None, typer.Option("--snc", metavar="N|off", help="Sub-NUMA clustering (SNC) of a Xeon: 2, 3, 4, off.")]
Cod = Annotated[Switch | None, typer.Option("--cod", help="Cluster on die (COD) of Haswell and Broadwell.")]
Smt = Annotated[Switch | None, typer.Option("--smt", help="Hardware threads (SMT) of the cores.")]
Enumeration = Annotated[
    Order | None, typer.Option("--enumeration", help="Order of the CPU numbers, as the firmware lists the cores.")
]


def run(
    *,
    nps: Nps = None,
    l3_as_node: L3 = None,
    interleave: Interleave = None,
    snc: Snc = None,
    cod: Cod = None,
    smt: Smt = None,
    enumeration: Enumeration = None,
    source: From = None,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Say what a BIOS setting would change."""
    told = {"nps": nps, "l3_as_node": l3_as_node, "interleave": interleave, "snc": snc, "cod": cod, "smt": smt}
    wish = _wish({**told, "enumeration": enumeration})
    machine = load(source)
    found = _whatif(machine, wish, source, scope, rules or [])
    if json or output is not None:
        from advisor.render.difference import whatif_document

        emit_json(whatif_document(found), output)
    if not json:
        from advisor.render.difference import whatif_page

        emit([whatif_page(found, str(output) if output else None)], None, color=not no_color, width=width)


def _wish(told: dict[str, Any]) -> "Assumption":
    from advisor.model.hardware.layout import parse_assumption

    texts = [f"{name}={value}" for name, value in told.items() if value is not None]
    if not texts:
        raise BadValue(
            "no setting is given", cure="give --nps, --smt, --enumeration or another setting; see advisor whatif --help"
        )
    return parse_assumption(texts)


def _whatif(machine: "Machine", wish: "Assumption", source: str | None, scope: Any, rules: list[Any]) -> "WhatIf":
    from advisor.compare.audits import difference
    from advisor.render.difference import WhatIf
    from advisor.work.judgement import judged
    from advisor.work.whatif import changed

    after = changed(machine, wish)
    a, b = (judged(each, scope, rules) for each in (machine, after))
    names = (source or "this machine", f"assumed: {wish.text}")
    found = difference(names, (machine, after), (a.layout, b.layout), (a.audit, b.audit))
    return WhatIf(assumption=wish, source=source, difference=found, before=machine.gaps, machine=after)
