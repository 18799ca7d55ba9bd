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

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from advisor import __version__
from advisor.cli.options import From
from advisor.collect.sources import commands, counters, identities_of, paths, public
from advisor.errors import CannotWork, one_line
from advisor.host.base import ENVIRONMENT_PREFIXES
from advisor.work.machine import open_machine, progress, say, write_whole

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
        from advisor.paths import template
        from advisor.render.jinja import capture_script

        say(capture_script(template("capture.sh.j2"), paths(), commands(), __version__, ENVIRONMENT_PREFIXES, twice=counters()))
    elif output is None:
        raise CannotWork("capture needs a file to write; say -o node.tar.gz")
    else:
        _store(source, output, anonymise=anonymise)


def _store(source: str | None, output: Path, *, anonymise: bool) -> None:
    from advisor.host.privacy.anonymise import AnonymousHost
    from advisor.host.privacy.secrets import RedactedHost
    from advisor.host.record import record
    from advisor.render.commandline import word

    host = open_machine(source)
    about = {
        "advisor": __version__,
        "made": "python",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "uid": str(os.getuid()),
        "anonymised": "yes" if anonymise else "no",
    }
    with progress("capturing") as step:
        identities = identities_of(host) if anonymise else ()
        kept = AnonymousHost(host, identities=identities, public=public()) if anonymise else RedactedHost(host)
        data = record(kept, paths(), commands(), about, lambda done, of: step(f"{100 * done // of} %"), twice=counters())
    write_whole(output, data, private=True)
    size = f"{len(data) // 1024} KiB"
    sys.stderr.write(
        one_line(f"advisor: wrote {output} ({size}); look at it with: advisor audit --from {word(str(output))}") + "\n"
    )
