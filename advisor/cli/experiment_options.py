"""The options of advisor experiment."""

from pathlib import Path
from typing import Annotated

import typer

from advisor.advice.model.setting import Neutral
from advisor.errors import BadValue

PlanName = Annotated[str | None, typer.Argument(metavar="PLAN", help="A plan's file, or the name of a ready one (--list).")]
ListPlans = Annotated[bool, typer.Option("--list", help="Print the ready plans and programs.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Look and say what would be done, how long, what it can show; change nothing.")
]
NodeName = Annotated[
    str | None,
    typer.Option("--node", metavar="NAME", help="The server's name for ssh and Slurm, with --bmc; else -w or --hosts."),
]
NoSlurm = Annotated[bool, typer.Option("--no-slurm", help="The servers are in no Slurm cluster: do not ask for their state.")]
Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Keep journal, records and captures there: experiment-PLAN by default."),
]
Resume = Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Go on with the experiment of this folder.")]
KeepWinner = Annotated[
    bool, typer.Option("--keep-winner", help="Stay in the state that is proven better than the first, if there is one.")
]
Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", help="Draw states by programs, with intervals (needs matplotlib).")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Fix the random order of the restarts.")]
Restarts = Annotated[int | None, typer.Option("--restarts", metavar="N", min=1, max=32, help="Restart each state N times.")]
Repeats = Annotated[
    int | None, typer.Option("--repeats", metavar="N", min=1, max=100, help="Run each program N times at a restart.")
]
Partner = Annotated[str | None, typer.Option("--partner", metavar="HOST", help="The other host of programs that send messages.")]
Hold = Annotated[
    list[str] | None, typer.Option("--hold", metavar="SETTING=VALUE", help="Have this in every state; may be repeated.")
]
FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an experiment.")]


def alone(plan: str | None, folder: Path | None) -> None:
    """Refuse --resume with what its folder says itself."""
    if plan or folder:
        raise BadValue("--resume goes on with what its folder says", cure="leave the plan and --folder out")


def held(words: list[str] | None) -> dict[str, Neutral]:
    """Return settings and values.

    >>> held(["io.preferred_bus=97", "cpu.smt=off"])
    {'io.preferred_bus': 97, 'cpu.smt': 'off'}
    """
    found: dict[str, Neutral] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise BadValue(f"--hold {word[:60]} names no setting and value", cure="such as --hold io.preferred_bus=97")
        found[name.strip()] = int(value) if value.strip().isdigit() else value.strip()
    return found
