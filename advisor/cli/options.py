"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from advisor.model.audit.platform import Scope

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
    typer.Option("--width", metavar="N", min=40, max=1000, help="Print in N columns instead of the terminal's width."),
]
Rules = Annotated[
    list[Path] | None, typer.Option("--rules", metavar="FILE", help="Add a site's rule file or folder; may be repeated.")
]
Topic = Annotated[list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only rules of this topic; may be repeated.")]
ScopeOption = Annotated[
    Scope, typer.Option("--scope", help="The kind of work to tune for; guides disagree because they mean different work.")
]
MeasurementsOption = Annotated[
    list[Path] | None,
    typer.Option("--measurements", metavar="FILE", help="Use these results of advisor measure; may be repeated."),
]
Version = Annotated[str | None, typer.Option("--launcher-version", metavar="V", help="The launcher's version: 4.1.5.")]
MpiLauncher = Annotated[str | None, typer.Option("--launcher", metavar="NAME", help="openmpi, mpich, intelmpi, mvapich, srun.")]
Repeats = Annotated[
    int | None, typer.Option("--repeats", metavar="N", min=1, max=1000, help="Number of repeats of each measurement.")
]
BusyOk = Annotated[bool, typer.Option("--busy-ok", help="Measure a busy machine too; the results say so.")]
Save = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Save the measurements there, as JSON.")]
PageOrLines = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="PATH", help="Write there: a page, or with --dry-run a folder of commands."),
]
Steps = Annotated[bool, typer.Option("--verbose", "-v", help="Print each command that is run on standard error.")]
Bios = Annotated[
    list[Path] | None,
    typer.Option(
        "--bios",
        metavar="FILE",
        help="A saved Redfish Bios resource; a second FILE is its pending Settings, another its attribute registry.",
    ),
]
