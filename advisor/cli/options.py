"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FILE", help="Read another machine: a capture, hwloc XML, Machine JSON, or a /sys + /proc root."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, with a schema version in it (docs/json.md).")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to the terminal.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Print without colours, as NO_COLOR in the environment does.")]
Width = Annotated[
    int | None,
    typer.Option("--width", metavar="N", min=40, max=1000, help="Draw in N columns instead of the terminal's width."),
]
