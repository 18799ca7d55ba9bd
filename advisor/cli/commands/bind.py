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
Example: advisor bind --learned tune-app -- ./app
Example: advisor bind --benchmark mbw_mr --per numa --hosts a,b
"""

from pathlib import Path

from advisor.cli import job_options as job
from advisor.cli.job_options import CommandLine as CommandLine  # noqa: PLC0414 - how this command reads its arguments
from advisor.cli.options import Json, MeasurementsOption, NoColor, Version, Width
from advisor.cli.output import Form, Terminal, show_job, show_lines
from advisor.errors import BadValue
from advisor.jobs.started.hosts import HostOptions, JobOptions, LauncherOptions, per_part


def run(  # noqa: D103 - the page of this command is the docstring of the module
    command: job.BindCommand = None,
    *,
    sources: job.BindSources = None,
    hosts: job.BindHosts = None,
    hostfile: job.Hostfile = None,
    nodes: job.Nodes = None,
    assume: job.Assume = None,
    measurements: MeasurementsOption = None,
    learned: job.LearnedFile = None,
    ranks: job.Ranks = None,
    ranks_per_node: job.PerNode = None,
    ranks_per: job.PerPart = None,
    threads: job.Threads = None,
    strategy: job.Way = "auto",
    purpose: job.For = None,
    near: job.Near = None,
    smt: job.Smt = "skip",
    reserve: job.Reserve = "0",
    part: job.Slice = None,
    launcher: job.LauncherName = None,
    launcher_version: Version = None,
    exact: job.Exact = False,
    wrapper: job.Wrap = False,
    report: job.Report = False,
    benchmark: job.Benchmark = None,
    per: job.BindPer = None,
    output: job.BindFolder = None,
    svg: job.BindSvg = None,
    explain: job.BindExplain = False,
    line: job.BindLine = False,
    quiet: job.BindQuiet = False,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    there = HostOptions(tuple(sources or ()), hosts, hostfile, nodes, tuple(assume or ()), tuple(measurements or ()), learned)
    wanted = JobOptions(ranks, ranks_per_node, per_part(ranks_per), threads, strategy, near, smt, reserve, part, purpose)
    how, form = LauncherOptions(launcher, launcher_version, exact, wrapper, report), Form(output, json, width, not no_color)
    return _bind(command or [], (there, wanted, how), (benchmark, per), form, (svg, job.JobPage(line, quiet, explain)))


def _bind(
    words: list[str],
    asked: tuple[HostOptions, JobOptions, LauncherOptions],
    benchmark: tuple[str | None, str | None],
    form: Form,
    shown: tuple[Path | None, job.JobPage],
) -> int:
    """Place the job, or print the lines of a benchmark."""
    from advisor.jobs.bind import bind
    from advisor.jobs.started.benchmark import benchmark_lines
    from advisor.jobs.started.folder import write_job

    (there, wanted, how), (name, per), (svg, page) = asked, benchmark, shown
    what = page.kind(json=form.json)
    if name is not None:
        return show_lines(benchmark_lines(there, wanted, how, (name, per), command=words, observer=Terminal()), form)
    if per is not None:
        raise BadValue("--per goes with --benchmark", cure=f"did you mean --ranks-per {per}?")
    found = bind(words, wanted, there, how, observer=Terminal())
    job_shown = found.shown() if form.output is None else write_job(form.output, found)
    show_job(job_shown, form, svg, what)
    return 0
