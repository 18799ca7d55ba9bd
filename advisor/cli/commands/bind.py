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
from typing import TYPE_CHECKING

from advisor.cli import job_options as job
from advisor.cli.job_options import CommandLine as CommandLine  # noqa: PLC0414 - how this command reads its arguments
from advisor.cli.options import Json, MeasurementsOption, NoColor, Version, Width
from advisor.cli.output import Form, Terminal, show, show_job, show_lines
from advisor.errors import BadValue

if TYPE_CHECKING:
    from advisor.work.job.hosts import HostOptions, JobOptions, LauncherOptions


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
    how, form = LauncherOptions(launcher, launcher_version, exact, wrapper, report), Form(output, json, width, not no_color)
    return _bind(command or [], (there, wanted, how), (benchmark, per), form, (svg, slurm_conf), explain=explain)


def _bind(
    words: list[str],
    asked: "tuple[HostOptions, JobOptions, LauncherOptions]",
    benchmark: tuple[str | None, str | None],
    form: Form,
    files: tuple[Path | None, Path | None],
    *,
    explain: bool,
) -> int:
    """Place the job, print the lines of a benchmark, or say what an existing line does; a program of that name is ./lint."""
    from advisor.work.bind import bind
    from advisor.work.job.benchmark import benchmark_lines
    from advisor.work.job.folder import write_job

    (there, wanted, how), (name, per), (svg, slurm_conf) = asked, benchmark, files
    if words[:1] == ["lint"] and name is None:
        return _lint(there, words[1:], how.version, slurm_conf, form)
    if name is not None:
        return show_lines(benchmark_lines(there, wanted, how, (name, per), command=words, observer=Terminal()), form)
    if per is not None:
        raise BadValue("--per goes with --benchmark", cure=f"did you mean --ranks-per {per}?")
    found = bind(words, wanted, there, how, observer=Terminal())
    show_job(found.shown() if form.output is None else write_job(form.output, found), form, svg, explain=explain)
    return 0


def _lint(there: "HostOptions", words: list[str], version: str | None, slurm_conf: Path | None, form: Form) -> int:
    """Say what an existing line does; return 1 where something goes wrong."""
    from advisor.render.binding.ranks import lint_document, lint_page
    from advisor.work.bind import lint_line
    from advisor.work.job.hosts import one_machine

    line, machine = words[1:] if words[:1] == ["--"] else words, one_machine(there, Terminal())
    found = lint_line(line, machine, version=version, slurm_conf=slurm_conf, live=not there.sources)
    show(replace(form, output=None), lambda: lint_document(found), lambda: lint_page(found, form.width))
    return 1 if found.warnings else 0
