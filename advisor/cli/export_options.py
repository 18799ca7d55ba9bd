"""The options of ``advisor export``."""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import values
from advisor.cli.options import each_of
from advisor.measure.platform import Scope

Form = Annotated[
    str | None,
    typer.Argument(metavar="FORMAT", help="What to write; --list has them all.", autocompletion=values.exports),
]
List = Annotated[bool, typer.Option("--list", help="Print the formats, and what each was proven with.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE|DIR", help="A capture, hwloc XML, saved audit or Machine JSON, or a fleet's folder."),
]
ScopeOfExport = Annotated[
    Scope | None, typer.Option("--scope", help="The kind of work to audit for: mpi; of a saved audit its own.")
]
Prefix = Annotated[str, typer.Option("--prefix", metavar="NAME", help="What names in the other program begin with.")]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="WHAT", help="Add what a format leaves out; --list names it.", callback=each_of),
]
Into = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE|DIR", help="Write there instead of to the terminal; several files into DIR."),
]
Check = Annotated[str | None, typer.Option("--check", metavar="FILE", help="With slurm: compare this slurm.conf with the nodes.")]
CheckJson = Annotated[bool, typer.Option("--json", help="With --check: print JSON, with a schema version in it.")]
