"""The options of the commands that look at many nodes."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from advisor.cli import node_options as nodes
from advisor.cli.bmc_options import with_several
from advisor.cli.output import Terminal
from advisor.errors import BadValue
from advisor.fleet.capture import capture_now
from advisor.machine.hosts.errands import Way

Places = Annotated[
    list[Path],
    typer.Argument(metavar="DIR|FILE...", help="A folder of captures, or captures, hwloc XMLs, Machine JSONs."),
]
MayBePlaces = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[DIR|FILE...]", help="A folder of captures, or captures, hwloc XMLs, Machine JSONs; with -w the folder."
    ),
]
CaptureFirst = Annotated[
    str | None, typer.Option("-w", metavar="LIST", help="Capture these nodes into DIR first (fleet): n[001-400], @group.")
]
CaptureHosts = Annotated[Path | None, typer.Option("--hosts", metavar="FILE", help="As -w: the nodes, a line each.")]
CaptureSlurm = Annotated[
    str | None, typer.Option("--slurm", metavar="PARTITION", help="As -w: by a small job of Slurm for each; all, or those of -w.")
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


def _captured_first(
    *,
    places: MayBePlaces = None,
    where: CaptureFirst = None,
    hosts: CaptureHosts = None,
    slurm: CaptureSlurm = None,
    timeout: nodes.Timeout = 60.0,
    fan_out: nodes.FanOut = 64,
) -> list[Path]:
    """Return the places to look at; where nodes are named they are captured first, all of them again."""
    names = nodes.named(where, hosts)
    if names is None and slurm is None:
        if not places:
            raise BadValue("no fleet is named", cure="give a folder of captures, captures: *.tar.gz, or nodes with -w")
        return places
    if places and (len(places) > 1 or (places[0].exists() and not places[0].is_dir())):
        raise BadValue("nodes that are captured go into one folder", cure="give one DIR beside -w, or none: fleet")

    folder = places[0] if places else Path("fleet")
    capture_now(names, folder, Way(slurm, fan_out, timeout), Terminal())
    return [folder]


def captures_first(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that looks at a fleet -w and what goes with it; it takes the places to look at as ``places``."""
    return with_several(run, "places", _captured_first)
