"""Draw the topology: sockets, NUMA nodes, L3 groups, cores, adapters, and NUMA partitioning by the BIOS.

Shows where every CPU number is, which memory and which adapter is near it, the NUMA partitioning of the sockets, and how
sure that is. Equal sockets and nodes of a large machine are drawn once, unless --whole is given. Nothing is changed on
the machine.

Group: Look at a machine
Example: advisor topology
Example: advisor topology --from node.tar.gz --svg node.svg
Example: lstopo --of xml other.xml && advisor topology --from other.xml --json
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import From, Json, NoColor, Output, Width
from advisor.model.hardware.partitioning import infer_layout
from advisor.work.machine import emit, emit_json, load, write_whole

Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the same picture as SVG into FILE.")]
Whole = Annotated[bool, typer.Option("--whole", help="Draw every socket, node and L3 group, equal ones too.")]


def run(
    *,
    source: From = None,
    whole: Whole = False,
    svg: Svg = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Draw the machine."""
    machine = load(source)
    layout = infer_layout(machine)
    if svg is not None:
        from advisor.render.topology.picture import picture
        from advisor.render.topology.svg import draw_svg

        write_whole(svg, draw_svg(picture(machine, layout), whole=whole).encode())
    if json:
        from advisor.render.schema import topology_document

        emit_json(topology_document(machine, layout), output)
    elif svg is None or output is not None:
        from advisor.render.topology.terminal import draw

        emit([draw(machine, layout, whole=whole)], output, color=not no_color, width=width)
