"""Print the machine, the settings inferred from it, and what could not be seen.

Reads the machine and changes nothing on it. Run as root it sees the DIMMs and the firmware's tables too; without
root it names what it could not read.

Group: Look at a machine
Example: advisor audit
Example: sudo advisor audit
Example: advisor audit --from node.tar.gz --json
"""

from advisor.cli.options import From, Json, NoColor, Output
from advisor.cli.pipeline import emit, emit_json, load
from advisor.model.cut import infer_layout


def run(source: From = None, json: Json = False, output: Output = None, no_color: NoColor = False) -> None:
    """Print what is known of the machine."""
    machine = load(source)
    layout = infer_layout(machine)
    if json:
        from advisor.render.data import audit_document

        emit_json(audit_document(machine, layout), output)
    else:
        from advisor.render.summary import summary

        emit([summary(machine, layout)], output, color=not no_color)
