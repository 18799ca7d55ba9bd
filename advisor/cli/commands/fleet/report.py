"""Write one page about a fleet: a matrix of kinds and findings, what drifted, split and is slow, and every node.

One file without script that loads nothing, for light and dark screens. With --as parquet it is a table for analysts instead: a
row for each node that answered, a column for each fact, figure and finding, and no serial number, MAC or other name of a node.

Group: Many servers
Example: advisor fleet report fleet/ -o fleet.html
Example: advisor fleet report fleet/ --as parquet -o fleet.parquet
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from advisor.cli import fleet_options as fleet_opt
from advisor.cli import options as opt
from advisor.cli.output import Terminal
from advisor.fleet.audit import audit_fleet
from advisor.fleet.table import columns, need_parquet, parquet
from advisor.machine.hosts.files import write_file

Page = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there, not to fleet.html.")]
Form = Annotated[Literal["html", "parquet"], typer.Option("--as", help="A page, or a table (needs pyarrow or polars).")]


def run(
    places: fleet_opt.Places,
    *,
    form: Form = "html",
    output: Page = None,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
) -> int:
    """Write the page."""
    if form == "parquet":
        need_parquet()
    observer, file = Terminal(), output or Path(f"fleet.{form}")
    found = audit_fleet(places, scope, site=rules or (), observer=observer)
    written = found.html(scope).encode() if form == "html" else parquet(columns(found))
    write_file(file, written)
    observer.say(f"wrote {file} ({len(written) >> 10} KiB)")
    return 0
