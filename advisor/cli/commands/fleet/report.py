"""Write one page about a fleet: a matrix of kinds and findings, what drifted, split and is slow, and every node.

One file without script that loads nothing, for light and dark screens.

Group: Many servers
Example: advisor fleet report fleet/ -o fleet.html
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import fleet_options as fleet_opt
from advisor.cli import options as opt
from advisor.cli.output import Terminal
from advisor.host.files import write_file

Page = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the page there.")]


def run(
    places: fleet_opt.Places,
    *,
    output: Page = Path("fleet.html"),
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
) -> int:
    """Write the page."""
    from advisor.work.fleet.audit import audit_fleet

    observer = Terminal()
    found = audit_fleet(places, scope, site=rules or (), observer=observer)
    page = found.html(scope)
    write_file(output, page.encode())
    observer.say(f"wrote {output} ({len(page) >> 10} KiB)")
    return 0
