"""Draw the machine: sockets, NUMA nodes, L3 groups, cores, adapters, and what the BIOS did.

Shows where every CPU number is, which memory and which adapter is near it, how the BIOS has cut the sockets into
NUMA nodes, and how sure that is. Nothing is changed on the machine.

Group: Look at a machine
Example: advisor topology
Example: advisor topology --from node.tar.gz --svg node.svg
Example: lstopo --of xml other.xml && advisor topology --from other.xml --json
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import From, Json, NoColor, Output
from advisor.cli.pipeline import emit, emit_json, load, write_whole
from advisor.model.cut import infer_layout


def run(
    source: From = None,
    json: Json = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the same picture as SVG into FILE.")] = None,
    output: Output = None,
    no_color: NoColor = False,
) -> None:
    """Draw the machine."""
    machine = load(source)
    layout = infer_layout(machine)
    if svg is not None:
        from advisor.render.picture import picture
        from advisor.render.svg import draw_svg

        write_whole(svg, draw_svg(picture(machine, layout)).encode())
    if json:
        from advisor.render.data import document

        emit_json(document(machine, layout), output)
    elif svg is None or output is not None:
        from advisor.render.terminal import draw

        emit([draw(machine, layout)], output, color=not no_color)
