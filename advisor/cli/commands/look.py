"""Commands that look at one machine as it is: topology, capture."""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import From, has_form
from advisor.cli.output import PLAIN, Form, Terminal, say, show
from advisor.errors import CannotWork, one_line
from advisor.machine.hosts.files import write_file
from advisor.machine.read import capture_script, captured
from advisor.show.commandline import word
from advisor.show.picture import picture
from advisor.show.svg import draw_svg
from advisor.show.terminal import draw
from advisor.show.terminal import topology as run_topology

Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write the picture as SVG to FILE.")]


Whole = Annotated[bool, typer.Option("--whole", help="Draw every socket, node and L3 group, identical ones too.")]


@has_form
def topology(
    *,
    source: From = None,
    whole: Whole = False,
    svg: Svg = None,
    form: Form = PLAIN,
) -> None:
    """Draw sockets, NUMA nodes, L3 groups, cores and adapters.

    Shows where every CPU number is, which memory and which adapter is near it, the NUMA partitioning of the sockets, and how
    sure that is. Equal sockets and nodes of a large machine are drawn once, unless --whole is given. Nothing is changed on
    the machine.

    Group: Look
    Example: advisor topology
    Example: advisor topology --from node.tar.gz --svg node.svg
    Example: lstopo --of xml other.xml && advisor topology --from other.xml --json
    """
    found = run_topology(source, Terminal())
    if svg is not None:
        write_file(svg, draw_svg(picture(*found), whole=whole).encode())

    if form.json or svg is None or form.output is not None:
        show(form, found.document, lambda: draw(*found, whole=whole))


Anonymise = Annotated[
    bool, typer.Option("--anonymise", "--anonymize", help="Remove everything that identifies a machine, a site or a person.")
]


def capture(
    source: From = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The archive to write, .tar.gz.")] = None,
    anonymise: Anonymise = False,
    script: Annotated[
        bool, typer.Option("--script", help="Print a POSIX shell script that takes a capture on another machine.")
    ] = False,
) -> None:
    """Store a machine in one file, to look at it anywhere with --from.

    Keeps the raw files and command outputs that advisor reads, uninterpreted: a later version sees more in the same file.
    Works without root, and lists what it could not read. On a node without Python run the script that --script prints: it
    needs only a POSIX shell.

    Group: For programs
    Example: sudo advisor capture -o node.tar.gz
    Example: advisor capture --anonymise -o report.tar.gz
    Example: advisor capture --script > capture.sh; scp capture.sh node: ; ssh node sh capture.sh
    Example: advisor capture --from node.tar.gz --anonymise -o report.tar.gz
    """
    if script:
        say(capture_script(), own=True)
        return
    if output is None:
        raise CannotWork("capture needs an output file; add -o node.tar.gz")
    observer = Terminal()
    data = captured(source, anonymise=anonymise, observer=observer)
    write_file(output, data, private=True)

    size = f"{len(data) // 1024} KiB"
    observer.say(one_line(f"wrote {output} ({size}); look at it with: advisor audit --from {word(str(output))}"))
