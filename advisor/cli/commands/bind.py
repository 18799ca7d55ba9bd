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

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from advisor.cli import job_options as job
from advisor.cli.options import Json, MeasurementsOption, NoColor, Version, Width
from advisor.cli.output import Form, Terminal, emit, say, show, show_lines
from advisor.errors import BadValue

if TYPE_CHECKING:
    from advisor.render.binding.page import BoundJob
    from advisor.work.job.hosts import HostOptions


class CommandLine(TyperCommand):
    """Takes the number after ``--ranks-per PART`` to it, where there is one: an option cannot have one value or two."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        return super().parse_args(ctx, list(job.joined(args)))


def run(
    command: job.BindCommand = None,
    *,
    sources: job.BindSources = None,
    hosts: job.BindHosts = None,
    hostfile: job.Hostfile = None,
    nodes: job.Nodes = None,
    assume: job.Assume = None,
    measurements: MeasurementsOption = None,
    ranks: job.Ranks = None,
    ranks_per_node: job.PerNode = None,
    ranks_per: job.PerPart = None,
    threads: job.Threads = None,
    strategy: job.Way = "auto",
    near: job.Near = None,
    smt: job.Smt = "skip",
    reserve: job.Reserve = 0,
    part: job.Slice = None,
    launcher: job.LauncherName = None,
    launcher_version: Version = None,
    slurm_conf: job.SlurmConf = None,
    exact: job.Exact = False,
    wrapper: job.Wrap = False,
    report: job.Report = False,
    benchmark: job.Benchmark = None,
    per: job.BindPer = None,
    output: job.BindFolder = None,
    svg: job.BindSvg = None,
    explain: job.BindExplain = False,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Place a job."""
    from advisor.work.job.hosts import HostOptions, JobOptions, LauncherOptions, per_part

    there = HostOptions(tuple(sources or ()), hosts, hostfile, nodes, tuple(assume or ()), tuple(measurements or ()))
    wanted = JobOptions(ranks, ranks_per_node, per_part(ranks_per), threads, strategy, near, smt, reserve, part)
    how, words = LauncherOptions(launcher, launcher_version, exact, wrapper, report), command or []
    form = Form(output, json, width, not no_color)
    if words[:1] == ["lint"] and benchmark is None:
        return _lint(there, words[1:], launcher_version, slurm_conf, form)
    if benchmark is not None:
        from advisor.work.job.benchmark import benchmark_lines

        return show_lines(benchmark_lines(there, wanted, how, (benchmark, per), command=words, observer=Terminal()), form)
    if per is not None:
        raise BadValue("--per goes with --benchmark", cure=f"did you mean --ranks-per {per}?")
    from advisor.work.bind import bind
    from advisor.work.job.folder import write_job

    found = bind(words, wanted, there, how, observer=Terminal())
    _show(found.shown() if output is None else write_job(output, found), form, svg, explain=explain)
    return 0


def _lint(there: "HostOptions", words: list[str], version: str | None, slurm_conf: Path | None, form: Form) -> int:
    """Say what an existing line does; a program of that name is started as ./lint. Return 1 where something goes wrong."""
    from advisor.render.binding.ranks import lint_document, lint_page
    from advisor.work.bind import lint_line
    from advisor.work.job.hosts import one_machine

    line, machine = words[1:] if words[:1] == ["--"] else words, one_machine(there, Terminal())
    found = lint_line(line, machine, version=version, slurm_conf=slurm_conf, live=not there.sources)
    show(replace(form, output=None), lambda: lint_document(found), lambda: lint_page(found, form.width))
    return 1 if found.warnings else 0


def _show(job: "BoundJob", form: Form, svg: Path | None, *, explain: bool) -> None:
    """Print the page; as JSON line by line, for there may be half a million ranks."""
    from advisor.host.files import write_file
    from advisor.render.binding.page import bind_document, bind_page, bind_svg

    if svg is not None:
        write_file(svg, bind_svg(job).encode())
    if form.json:
        for line in bind_document(job):
            say(line + "\n")
    else:
        emit([bind_page(job, form.width, explain=explain)], None, color=form.color, width=form.width)
