"""Write the mpirun or srun command, or the rankfile, for a rank placement.

Prints the command to paste, the variables and files it needs, the reasons for the rank placement, and a drawing of the
node with its ranks. The hosts are those of --hosts, of --hostfile or of the Slurm or PBS job that this runs in; --nodes N
plans for hosts without names yet; without any of them it is this one machine. -o DIR writes a script, the files, job
scripts for Slurm and PBS, and the plan for advisor verify. --benchmark prints the commands that measure a fabric or a
memory part by part. Nothing is started.

Group: Run a job
Example: advisor bind --ranks 64 --threads 2 -- ./app
Example: advisor bind --from node.tar.gz --nodes 8 --ranks-per l3 --threads 4 -o job -- ./app input
Example: advisor bind --hosts a,b --ranks-per-node 8 --near mlx5_0 --launcher openmpi --launcher-version 4.1.5 -- ./app
Example: advisor bind --benchmark mbw_mr --per numa --hosts a,b
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from advisor.cli.options import Json, MeasurementsOption, NoColor, Version, Width
from advisor.model.placement import STRATEGIES

if TYPE_CHECKING:
    from advisor.render.binding.page import BoundJob
    from advisor.work.bind import JobOptions, LauncherOptions
    from advisor.work.job.hosts import HostOptions

_RANKS_PER = "--ranks-per"

Sources = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="FILE", help="Read another machine; NAME=FILE for one of several hosts, may be repeated."),
]
Hosts = Annotated[str | None, typer.Option("--hosts", metavar="A,B,..", help="The hosts in order: a,b or node[01-08].")]
Hostfile = Annotated[Path | None, typer.Option("--hostfile", metavar="FILE", help="A file of hosts, one per line.")]
Nodes = Annotated[int | None, typer.Option("--nodes", metavar="N", min=1, help="Number of hosts, whose names are not known yet.")]
Assume = Annotated[
    list[str] | None,
    typer.Option("--assume", metavar="SETTING=V", help="Plan for after a restart with nps=4, smt=off, ... (advisor whatif)."),
]
Ranks = Annotated[int | None, typer.Option("--ranks", metavar="R", min=1, help="Total number of ranks.")]
PerNode = Annotated[int | None, typer.Option("--ranks-per-node", metavar="R", min=1, help="Ranks on each host.")]
PerPart = Annotated[
    str | None,
    typer.Option(_RANKS_PER, metavar="PART [K]", help="K ranks (1 by default) in each numa, l3, socket, core or node."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="T", min=1, help="Threads per rank, each on a core of its own.")
]
Way = Annotated[str, typer.Option("--strategy", metavar="NAME", help=f"auto chooses and says why, or {', '.join(STRATEGIES)}.")]
Near = Annotated[str | None, typer.Option("--near", metavar="DEV", help="Place ranks near this adapter or GPU: mlx5_0, gpu0.")]
Smt = Annotated[Literal["skip", "use"], typer.Option("--smt", help="Whether second hardware threads run threads of their own.")]
Reserve = Annotated[int, typer.Option("--reserve", metavar="CORES", min=0, help="Cores of each node left to the system.")]
Slice = Annotated[str | None, typer.Option("--slice", metavar="K/N", help="Use part k of n of each node.")]
LauncherName = Annotated[
    str | None, typer.Option("--launcher", metavar="NAME", help="openmpi, mpich, intelmpi, mvapich, srun, wrapper.")
]
SlurmConf = Annotated[
    Path | None, typer.Option("--slurm-conf", metavar="FILE", help="With lint: a slurm.conf, for srun's defaults.")
]
Exact = Annotated[bool, typer.Option("--exact", help="List every rank's CPUs even where a short form is equivalent.")]
Wrap = Annotated[bool, typer.Option("--wrapper", help="Bind each rank with a small script instead of the launcher.")]
Report = Annotated[bool, typer.Option("--report", help="Let the launcher print the bindings it makes.")]
Benchmark = Annotated[
    Literal["mbw_mr", "latency", "bw", "bibw", "stream"] | None,
    typer.Option("--benchmark", help="Print the commands of a benchmark, part by part."),
]
Per = Annotated[
    Literal["numa", "socket", "node"] | None, typer.Option("--per", help="With --benchmark: a command for each of these.")
]
Folder = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write script, files and job scripts there.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the node with its ranks as SVG into FILE.")]
Explain = Annotated[bool, typer.Option("--explain", help="List every rank, every reason and every strategy.")]
Command = Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The program to start.", show_default=False)]


class CommandLine(TyperCommand):
    """Takes the number after ``--ranks-per PART`` to it, where there is one: an option cannot have one value or two."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        return super().parse_args(ctx, list(joined(args)))


def joined(words: Sequence[str]) -> Iterator[str]:
    """Yield the arguments with ``--ranks-per l3 2`` as ``--ranks-per l3:2``; only a number is taken, never the command.

    >>> list(joined(["--ranks-per", "l3", "2", "--", "app", "--ranks-per", "l3", "2"]))
    ['--ranks-per', 'l3:2', '--', 'app', '--ranks-per', 'l3', '2']
    """
    end = words.index("--") if "--" in words else len(words)
    at = 0
    while at < end:
        option, equals, _ = words[at].partition("=")
        part = at + (not equals)
        if option == _RANKS_PER and part + 1 < end and words[part + 1].isascii() and words[part + 1].isdecimal():
            yield from words[at:part]
            yield f"{words[part]}:{words[part + 1]}"
            at = part + 2
        else:
            yield words[at]
            at += 1
    yield from words[end:]


@dataclass(frozen=True)
class Shown:
    """How the answer is given."""

    folder: Path | None
    svg: Path | None
    explain: bool
    json: bool
    width: int | None
    color: bool
    slurm_conf: Path | None = None


def run(
    command: Command = None,
    *,
    sources: Sources = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    nodes: Nodes = None,
    assume: Assume = None,
    measurements: MeasurementsOption = None,
    ranks: Ranks = None,
    ranks_per_node: PerNode = None,
    ranks_per: PerPart = None,
    threads: Threads = None,
    strategy: Way = "auto",
    near: Near = None,
    smt: Smt = "skip",
    reserve: Reserve = 0,
    part: Slice = None,
    launcher: LauncherName = None,
    launcher_version: Version = None,
    slurm_conf: SlurmConf = None,
    exact: Exact = False,
    wrapper: Wrap = False,
    report: Report = False,
    benchmark: Benchmark = None,
    per: Per = None,
    output: Folder = None,
    svg: Svg = None,
    explain: Explain = False,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Place a job."""
    from advisor.work import bind as work

    there = work.HostOptions(tuple(sources or ()), hosts, hostfile, nodes, tuple(assume or ()), tuple(measurements or ()))
    wanted = work.JobOptions(ranks, ranks_per_node, work.per_part(ranks_per), threads, strategy, near, smt, reserve, part)
    how = (work.LauncherOptions(launcher, launcher_version, exact, wrapper, report), benchmark, per)
    return _do(there, wanted, how, Shown(output, svg, explain, json, width, not no_color, slurm_conf), command or [])


def _do(
    there: "HostOptions",
    wanted: "JobOptions",
    how: tuple["LauncherOptions", str | None, str | None],
    shown: Shown,
    command: list[str],
) -> int:
    carrier, benchmark, per = how
    if command[:1] == ["lint"] and benchmark is None:
        return _lint(there, carrier.version, shown, command[1:])
    if benchmark is not None:
        return _benchmark(there, wanted, carrier, shown, benchmark=(benchmark, per), command=command)
    if per is not None:
        from advisor.errors import BadValue

        raise BadValue("--per goes with --benchmark", cure=f"did you mean --ranks-per {per}?")
    from advisor.work.bind import bind

    made = bind(there, wanted, carrier, command, os.environ)
    told = made.told()
    if shown.folder is not None:
        from advisor.work.job.folder import write_job

        told = write_job(shown.folder, made, told, command)
    _show(told, shown)
    return 0


def _show(told: "BoundJob", shown: Shown) -> None:
    from advisor.render.binding.page import bind_document, bind_page, bind_svg
    from advisor.work.machine import emit, say, write_whole

    if shown.svg is not None:
        write_whole(shown.svg, bind_svg(told).encode())
    if shown.json:
        for line in bind_document(told):
            say(line + "\n")
    else:
        emit([bind_page(told, shown.width, explain=shown.explain)], None, color=shown.color, width=shown.width)


def _lint(there: "HostOptions", version: str | None, shown: Shown, arguments: list[str]) -> int:
    """Say what an existing line does; a program of that name is started as ./lint."""
    from advisor.cli.bind_lint import run_lint
    from advisor.work.job.hosts import hosts_of_job

    machine = hosts_of_job(replace(there, hosts=None, hostfile=None, nodes=1), (), {}).machines[0]
    look = partial(run_lint, width=shown.width, color=shown.color, json=shown.json, live=not there.sources)
    return look(arguments, machine, version=version, slurm_conf=shown.slurm_conf)


def _benchmark(
    there: "HostOptions",
    wanted: "JobOptions",
    carrier: "LauncherOptions",
    shown: Shown,
    *,
    benchmark: tuple[str, str | None],
    command: list[str],
) -> int:
    from advisor.cli.answers import Form, show_lines
    from advisor.work.job.benchmark import benchmark_lines

    made, notes = benchmark_lines(there, wanted, carrier, benchmark, command=command, environment=os.environ)
    return show_lines(made, notes, Form(shown.folder, shown.json, shown.width, shown.color))
