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
from advisor.cli.output import Form, Terminal, show
from advisor.machine.hosts.files import write_file
from advisor.show.topology.document import topology

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
    found = topology(source, Terminal())
    if svg is not None:
        from advisor.show.topology.picture import picture
        from advisor.show.topology.svg import draw_svg

        write_file(svg, draw_svg(picture(*found), whole=whole).encode())
    from advisor.show.topology.terminal import draw

    if json or svg is None or output is not None:
        show(Form(output, json, width, not no_color), found.document, lambda: draw(*found, whole=whole))
