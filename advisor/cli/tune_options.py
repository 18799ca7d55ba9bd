"""The options of advisor tune."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from advisor.errors import BadValue

Words = Annotated[
    list[str] | None, typer.Argument(metavar="-- LINE...", help="Your command, or a program for --ranks and --threads.")
]
Hosts = Annotated[
    str | None, typer.Option("--hosts", metavar="A,B,..", help="Hosts like this one; otherwise the line's or the job's.")
]
Split = Annotated[
    bool,
    typer.Option(
        "--split", help="Try other numbers of ranks and threads too; only where the program does the same work with them."
    ),
]
SmtToo = Annotated[bool, typer.Option("--smt", help="Try second hardware threads too.")]
Devices = Annotated[bool, typer.Option("--devices", help="Try ranks near each adapter and each GPU too.")]
Hugepages = Annotated[bool, typer.Option("--hugepages", help="Try your line with hugepages for malloc too (glibc 2.35).")]
With = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="NAME=VALUE", help="Try your line with this variable too, as UCX_TLS=rc,sm; can be repeated."),
]
MostLines = Annotated[
    int | None, typer.Option("--lines", metavar="N", min=2, max=12, help="Race at most N lines, yours among them.")
]
MetricPattern = Annotated[
    str | None, typer.Option("--metric", metavar="REGEX", help="Compare this number of the output instead of wall time.")
]
MetricFile = Annotated[
    Path | None, typer.Option("--metric-file", metavar="FILE", help="Look for the number in this file, which each run writes.")
]
Better = Annotated[Literal["high", "low"] | None, typer.Option("--better", help="Whether more of --metric is better, or less.")]
Worth = Annotated[str, typer.Option("--worth", metavar="PERCENT", help="A gain below this is taken for none.")]
Minutes = Annotated[float | None, typer.Option("--minutes", metavar="M", min=0.05, max=100_000, help="End after this time.")]
MostRuns = Annotated[
    int | None,
    typer.Option("--runs", metavar="N", min=2, max=100_000, help="Make at most so many runs; 30 for each line by default."),
]
RunTimeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=1, max=864_000, help="End a first run after this time; later ones sooner."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Fix the random order of the runs.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the lines and how many runs they take; run nothing.")]
Folder = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Keep journal, scripts and result there: tune-PROGRAM by default."),
]
RaceSvg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw each line's interval (needs matplotlib).")]
Resume = Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Go on with the race of this folder.")]
EachRun = Annotated[bool, typer.Option("--verbose", "-v", help="Print each run on standard error.")]


def part(text: str) -> float:
    """Return a gain as a part of one.

    >>> part("2"), part("2 %"), part("0.5%")
    (0.02, 0.02, 0.005)
    """
    match = re.fullmatch(r"\s*(\d{1,2}(?:\.\d{1,4})?)\s*%?\s*", text)
    if not match or not 0.1 <= float(match[1]) <= 50:
        raise BadValue(f"--worth {text[:40]} is no gain", cure="write percent from 0.1 to 50, such as --worth 2")
    return round(float(match[1]) / 100, 6)
