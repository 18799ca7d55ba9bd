"""Print the machine, the settings inferred from it, and what could not be seen.

Reads the machine and changes nothing on it. Run as root it sees the DIMMs and the firmware's tables too; without
root it names what it could not read. With --verbose it prints every fact, and the file or command that told it.

Group: Look at a machine
Example: advisor audit
Example: sudo advisor audit --verbose
Example: advisor audit --from node.tar.gz --json
"""

from typing import Annotated

import typer

from advisor.cli.options import From, Json, NoColor, Output, Width
from advisor.cli.pipeline import emit, emit_json, load
from advisor.model.cut import infer_layout

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every fact too, each section with its sources.")]


def run(
    *,
    source: From = None,
    verbose: Verbose = False,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Print what is known of the machine."""
    machine = load(source)
    layout = infer_layout(machine)
    if json:
        from advisor.render.data import audit_document

        emit_json(audit_document(machine, layout), output)
    else:
        from advisor.render.summary import summary

        emit([summary(machine, layout, verbose=verbose)], output, color=not no_color, width=width)
