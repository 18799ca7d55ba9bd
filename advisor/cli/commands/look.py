"""Commands that look at one machine as it is: topology, capture."""

from pathlib import Path
from typing import Annotated

from typer import Option

from advisor.cli.options import From, at_most_one, has_form
from advisor.cli.output import PLAIN, Form, Terminal, say, show
from advisor.errors import CannotWork, one_line
from advisor.fleet.capture import push
from advisor.machine.hosts.files import write_file
from advisor.machine.read import capture_script, captured
from advisor.show.commandline import word
from advisor.show.picture import picture
from advisor.show.svg import draw_svg
from advisor.show.terminal import draw
from advisor.show.terminal import topology as run_topology

Svg = Annotated[Path | None, Option("--svg", metavar="FILE", help="Write the picture as SVG to FILE.")]


Whole = Annotated[bool, Option("--whole", help="Draw every socket, node and L3 group, identical ones too.")]


@has_form
def topology(
    *,
    source: From = None,
    whole: Whole = False,
    svg: Svg = None,
    form: Form = PLAIN,
) -> None:
    """Draw sockets, NUMA nodes, L3 groups, cores and adapters.

    Shows where each CPU is (by number), the memory and adapters near it, the NUMA partitioning of the sockets, and how certain
    the partitioning is. Identical sockets and nodes of a large machine are drawn once, unless --whole is given. Changes nothing
    on the machine.

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
    bool, Option("--anonymise", "--anonymize", help="Remove everything that identifies a machine, a site or a person.")
]


def capture(
    source: From = None,
    output: Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="The archive to write, .tar.gz.")] = None,
    anonymise: Anonymise = False,
    into: Annotated[
        str | None,
        Option("--push", metavar="DIR|HOST:DIR", help="Store it as NODE.tar.gz in a fleet folder; HOST:DIR uses rsync."),
    ] = None,
    script: Annotated[
        bool, Option("--script", help="Print a POSIX shell script that takes a capture on another machine.")
    ] = False,
) -> None:
    """Store a machine in one file, to look at it anywhere with --from.

    Keeps the raw files and command outputs that advisor reads, uninterpreted, so a later version can find more in them.
    Works without root, and lists what it could not read. On a node without Python, run the script that --script prints;
    it needs only a POSIX shell.

    Group: For programs
    Example: sudo advisor capture -o node.tar.gz
    Example: advisor capture --anonymise -o report.tar.gz
    Example: advisor capture --script > capture.sh; scp capture.sh node: ; ssh node sh capture.sh
    Example: advisor capture --push admin:/var/lib/advisor/fleet
    Example: advisor capture --from node.tar.gz --anonymise -o report.tar.gz
    """
    if script:
        say(capture_script(), own=True)
        return
    at_most_one({"-o": output is not None, "--push": into is not None})
    at_most_one({"--anonymise": anonymise, "--push": into is not None})
    observer = Terminal()
    data = captured(source, anonymise=anonymise, observer=observer) if output or into else b""
    size = f"{len(data) // 1024} KiB"
    if into is not None:
        observer.say(one_line(f"wrote {push(data, into)} ({size})"))
    elif output is None:
        raise CannotWork("capture needs an output file; add -o node.tar.gz")
    else:
        write_file(output, data, private=True)
        observer.say(one_line(f"wrote {output} ({size}); look at it with: advisor audit --from {word(str(output))}"))
