"""The options of the commands that take figures of other programs."""

from pathlib import Path
from typing import Annotated

import typer

OtherOutputs = Annotated[list[Path], typer.Argument(metavar="FILE...", help="What other benchmark programs printed.")]
MeasuredMachine = Annotated[
    str | None,
    typer.Option(
        "--from",
        "--machine",
        metavar="FILE",
        help="The machine that was measured: a capture, hwloc XML, Machine JSON; - is this one.",
    ),
]
Placed = Annotated[
    str | None,
    typer.Option("--placed", metavar="PART", help="Where it ran: machine, socket 0, numa 6, l3 2, core 5, cpus 0-15."),
]
