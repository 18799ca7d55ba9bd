"""The options of the commands that look at many nodes."""

from pathlib import Path
from typing import Annotated

import typer

Places = Annotated[
    list[Path],
    typer.Argument(metavar="DIR|FILE...", help="A folder of captures, or captures, hwloc XMLs, Machine JSONs."),
]
FailOnMissing = Annotated[bool, typer.Option("--fail-on-missing", help="Exit with status 1 where a node did not answer.")]
Exclude = Annotated[
    Path | None,
    typer.Option("--exclude", metavar="FILE", help="Write there the odd and silent nodes, as srun --exclude takes them."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every line, unshortened.")]
What = Annotated[str, typer.Argument(metavar="WHAT", help="A finding's number on the screen, its rule, or a node.")]
OneNode = Annotated[str, typer.Argument(metavar="A", help="The first node.")]
OtherNode = Annotated[str, typer.Argument(metavar="B", help="The second node.")]
