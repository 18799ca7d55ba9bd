"""Store a machine in one file, to look at it anywhere else with --from.

Keeps the raw files and the output of the commands that advisor reads, uninterpreted, so that a later version sees more in
the same file. Works without root, and lists what it was not allowed to read. On a node without Python, run the script
that --script prints: it needs a POSIX shell and nothing else.

Group: Capture
Example: sudo advisor capture -o node.tar.gz
Example: advisor capture --anonymise -o report.tar.gz
Example: advisor capture --script > capture.sh; scp capture.sh node: ; ssh node sh capture.sh
Example: advisor capture --from node.tar.gz --anonymise -o report.tar.gz
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli.options import From
from advisor.cli.output import Terminal, say
from advisor.errors import CannotWork, one_line
from advisor.machine.hosts.files import write_file
from advisor.machine.read import capture_script, captured

Anonymise = Annotated[
    bool, typer.Option("--anonymise", "--anonymize", help="Remove whatever identifies a machine, a site or a person.")
]


def run(
    source: From = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The archive to write, .tar.gz.")] = None,
    anonymise: Anonymise = False,
    script: Annotated[bool, typer.Option("--script", help="Print a POSIX shell script that takes a capture elsewhere.")] = False,
) -> None:
    """Store a machine in one file."""
    if script:
        say(capture_script(), own=True)
        return
    if output is None:
        raise CannotWork("capture needs a file to write; say -o node.tar.gz")
    observer = Terminal()
    data = captured(source, anonymise=anonymise, observer=observer)
    write_file(output, data, private=True)
    from advisor.show.commandline import word

    size = f"{len(data) // 1024} KiB"
    observer.say(one_line(f"wrote {output} ({size}); look at it with: advisor audit --from {word(str(output))}"))
