"""Commands of a job: where its ranks go, what its script does, whether they are there, what is fastest."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from advisor.cli import job_options as job
from advisor.cli import options as opt
from advisor.cli.main import Command
from advisor.cli.options import BusyOk, Json, MeasurementsOption, NoColor, Version, Width, at_most_one, has_form, keep_apart
from advisor.cli.output import PLAIN, Form, Terminal, emit_text, say, show, show_job, show_lines
from advisor.errors import BadValue
from advisor.jobs.bind import bind as run_bind
from advisor.jobs.bind_page import lint_document, lint_page
from advisor.jobs.check import check as run_check
from advisor.jobs.check import check_page, document, script_text, starts_as_script, surroundings
from advisor.jobs.line import started_by
from advisor.jobs.lint import lint_line
from advisor.jobs.racing.lines import Asked
from advisor.jobs.racing.race import Limits, planned_race, tune_line
from advisor.jobs.racing.result import plan_page, race_chart, race_page
from advisor.jobs.slurm import needed_capture
from advisor.jobs.started.benchmark import benchmark_lines
from advisor.jobs.started.folder import write_job
from advisor.jobs.started.hosts import COUNTED, HostOptions, JobOptions, LauncherOptions, one_machine, per_part
from advisor.jobs.verdict import comparison_document, comparison_page, running_page, verdict_line
from advisor.jobs.verify import become, probe, program_line, prolog, running
from advisor.jobs.verify import verify as run_verify
from advisor.machine.hosts.files import write_file
from advisor.measure.charts import need_matplotlib

Words = Annotated[
    list[str] | None, Argument(metavar="-- LINE...", help="Your launch line, or a program with --ranks and --threads.")
]

Hosts = Annotated[
    str | None,
    Option(
        "--hosts", "-w", metavar="A,B,..", help="Hosts identical to this one; default: the hosts in the launch line or the job."
    ),
]

Split = Annotated[
    bool,
    Option(
        "--split",
        help="Also try other numbers of ranks and threads; use this option only if the program does the same work with each.",
    ),
]

SmtToo = Annotated[bool, Option("--smt", help="Also try second hardware threads.")]

Devices = Annotated[bool, Option("--devices", help="Also try ranks near each adapter and each GPU.")]

Hugepages = Annotated[bool, Option("--hugepages", help="Also try your line with hugepages for malloc (glibc 2.35).")]

With = Annotated[
    list[str] | None,
    Option(
        "--with",
        metavar="NAME=VALUE",
        help="Also try your line with this variable (UCX_TLS=rc,sm) or kernel setting (os.governor=powersave); may be repeated.",
    ),
]

MostLines = Annotated[int | None, Option("--lines", metavar="N", min=2, max=12, help="Race at most N lines, including yours.")]

MetricPattern = Annotated[
    str | None, Option("--metric", metavar="REGEX", help="Compare this number from the output instead of the wall time.")
]

MetricFile = Annotated[
    Path | None, Option("--metric-file", metavar="FILE", help="Read the number from this file, which every run writes.")
]

Better = Annotated[Literal["high", "low"] | None, Option("--better", help="Say whether a higher or a lower --metric is better.")]

For = Annotated[
    Literal["time", "energy", "edp"],
    Option("--for", help="Compare time, energy in joules, or their product; energy needs readable counters."),
]

Prepare = Annotated[
    str | None,
    Option(
        "--prepare", metavar="CMD", help="Run this command, untimed, before each run; for example, 'sleep 20' lets sockets cool."
    ),
]

Worth = Annotated[str, Option("--worth", metavar="PERCENT", help="Ignore gains below this percentage.")]

Minutes = Annotated[float | None, Option("--minutes", metavar="M", min=0.05, max=100_000, help="Stop after this many minutes.")]

MostRuns = Annotated[
    int | None,
    Option("--runs", metavar="N", min=2, max=100_000, help="Make at most N runs; 30 per line by default."),
]

RunTimeout = Annotated[
    float,
    Option(
        "--timeout",
        metavar="SECONDS",
        min=1,
        max=864_000,
        help="Stop a line's first run after this many seconds, and later runs sooner.",
    ),
]

Seed = Annotated[int | None, Option("--seed", metavar="N", min=0, help="Seed for the random order of the runs.")]

DryRun = Annotated[bool, Option("--dry-run", help="Print the lines and the number of runs they need; run nothing.")]

Folder = Annotated[
    Path | None,
    Option("--output", "-o", metavar="DIR", help="Keep the journal, scripts and result in this folder; default: tune-PROGRAM."),
]

RaceSvg = Annotated[Path | None, Option("--svg", metavar="FILE", help="Plot each line's interval (needs matplotlib).")]

Resume = Annotated[Path | None, Option("--resume", metavar="DIR", help="Continue the race in this folder.")]

EachRun = Annotated[bool, Option("--verbose", "-v", help="Print each run to standard error.")]


def _part(text: str) -> float:
    """Return a gain as a part of one.

    >>> _part("2"), _part("2 %"), _part("0.5%")
    (0.02, 0.02, 0.005)
    """
    match = re.fullmatch(r"\s*(\d{1,2}(?:\.\d{1,4})?)\s*%?\s*", text)
    if not match or not 0.1 <= float(match[1]) <= 50:
        raise BadValue(f"--worth {text[:40]} is not a valid gain", cure="give a percentage from 0.1 to 50, such as --worth 2")
    return round(float(match[1]) / 100, 6)


def bind(
    command: job.BindCommand = None,
    *,
    sources: job.BindSources = None,
    partition: job.Partition = None,
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
    gpus: job.Gpus = None,
    smt: job.Smt = None,
    core_kind: job.CoreKind = "auto",
    mem: job.Mem = "auto",
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
    """Write the launch line or rankfile that binds as planned.

    Prints the command to paste, the variables and files it needs, the reasons for the rank placement, and a diagram of the node
    with its ranks. The hosts come from --hosts, from --hostfile or from the Slurm or PBS job that this runs in; --nodes N plans
    for hosts not named yet; without any of these it plans for this machine alone. -o DIR writes a script, the files, job scripts
    for Slurm and PBS, and the plan for advisor verify. --benchmark prints the commands that measure the fabric or memory, one
    part at a time. Nothing is started.

    Group: Run
    First: --ranks --ranks-per --threads --from --hosts --nodes --launcher --near --output --line
    Example: advisor bind --ranks 64 --threads 2 -- ./app
    Example: advisor bind --from node.tar.gz --nodes 8 --ranks-per l3 --threads 4 -o job -- ./app input
    Example: advisor bind --hosts a,b --ranks-per-node 8 --near mlx5_0 --launcher openmpi --launcher-version 4.1.5 -- ./app
    Example: advisor bind --ranks-per gpu --reserve l3:1 --launcher srun -- ./app
    Example: advisor bind --learned tune-app -- ./app
    Example: advisor bind --benchmark mbw_mr --per numa --hosts a,b
    """
    keep_apart({"--partition": partition is not None}, {"--from": bool(sources)})
    sources = [needed_capture(partition)] if partition is not None else sources
    there = HostOptions(tuple(sources or ()), hosts, hostfile, nodes, tuple(assume or ()), tuple(measurements or ()), learned)
    shape = (ranks, ranks_per_node, per_part(ranks_per, COUNTED), threads, strategy, near, smt, reserve, part)
    wanted = JobOptions(*shape, purpose, core_kind, gpus, mem)
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
    (there, wanted, how), (name, per), (svg, page) = asked, benchmark, shown
    what = page.kind(json=form.json)
    if name is not None:
        return show_lines(benchmark_lines(there, wanted, how, (name, per), command=words, observer=Terminal()), form)
    if per is not None:
        raise BadValue("--per requires --benchmark", cure=f"did you mean --ranks-per {per}?")
    found = run_bind(words, wanted, there, how, observer=Terminal())
    job_shown = found.shown() if form.output is None else write_job(form.output, found)
    show_job(job_shown, form, svg, what)
    return 0


CheckedWords = Annotated[
    list[str] | None, Argument(metavar="FILE | -- LINE...", help="The job script, or the launch line.", show_default=False)
]
Fix = Annotated[bool, Option("--fix", help="Print the corrected script as a patch.")]
Corrected = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="Write the corrected script, or the report on a launch line, to this file."),
]
CheckFailOn = Annotated[
    Literal["high", "medium", "low", "never"],
    Option("--fail-on", help="Exit 1 if a script has any fault of this severity or above."),
]
NoAsk = Annotated[bool, Option("--no-ask", help="Simulate only; do not ask the installed launcher where ranks would go.")]
SeenRanks = Annotated[
    str | None,
    Option("--observed", metavar="FILE", help="Output of the advisor verify probe in this job; overrides the prediction."),
]
SlurmVersion = Annotated[str | None, Option("--slurm-version", metavar="V", help="Slurm's version: 23.02, 24.05.")]


def check(
    words: CheckedWords = None,
    *,
    sources: job.BindSources = None,
    assume: job.Assume = None,
    launcher_version: Version = None,
    slurm_conf: job.SlurmConf = None,
    slurm_version: SlurmVersion = None,
    observed: SeenRanks = None,
    no_ask: NoAsk = False,
    fix: Fix = False,
    fail_on: CheckFailOn = "never",
    json: Json = False,
    output: Corrected = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Check a job script or launch line: what it starts and its faults.

    Reads a whole job script (Slurm, PBS, LSF, Grid Engine, Flux) and prints what each launch line starts - ranks, threads, GPUs -
    and its faults, with line numbers and fixes. --fix prints the corrected script as a patch, -o writes it to a new file. With a
    capture of one of the job's nodes (--from) it also prints where the ranks run. With a launch line after -- instead of
    a file, it explains the line and rewrites it for other launchers. Runs nothing. Exit status 1 if a line has a problem, or if
    the script has a fault of at least the --fail-on severity.

    Group: Run
    Example: advisor check job.sbatch
    Example: advisor check --from node.tar.gz --fix job.sbatch
    Example: advisor check --fail-on high job.sbatch && sbatch job.sbatch
    Example: advisor check -- mpirun -np 8 --map-by numa ./app
    Example: advisor check --slurm-conf slurm.conf -- srun -n 8 -c 4 ./app
    """
    at_most_one({"--fix": fix, "--json": json})
    there, form = HostOptions(tuple(sources or ()), assume=tuple(assume or ())), Form(output, json, width, not no_color)
    given = [word for word in words or [] if word != "--"] if (words or [])[:1] == ["--"] else words or []
    if not given:
        raise BadValue(
            "no script or line given",
            cure="give a script: advisor check job.sbatch, or a line after --: advisor check -- mpirun -np 8 ./app",
        )
    line = shlex.join(given) if _is_line(given) else None
    if line is not None and not starts_as_script(given):
        return _line(there, given, (launcher_version, slurm_conf, slurm_version), (observed, not no_ask), form)
    terminal = Terminal()
    machine = one_machine(there, terminal) if there.sources or there.assume else None
    found = run_check(
        line or given[0],
        machine,
        slurm_conf=slurm_conf,
        slurm_version=slurm_version,
        version=launcher_version,
        text=line,
        environment=os.environ,
        asking=not no_ask,
        observed=observed,
        observer=terminal,
    )
    nothing = "no correction is known" if found.faults else "nothing to correct: no faults found"
    if output is not None:
        corrected = found.corrected or line or script_text(Path(given[0]))
        write_file(output, corrected.encode(errors="surrogateescape"))
        terminal.say(f"wrote {output}, {'corrected: --fix shows the changes' if found.corrected else nothing}")
    if fix:
        emit_text(found.patch, None)
        if not found.patch:
            terminal.say(nothing)
    else:
        show(
            replace(form, output=None),
            lambda: document(found),
            lambda: check_page(found, form.width, machine, saved=bool(output)),
        )
    return int(bool(found.faults) if line else found.reaches(fail_on))


def _is_line(words: list[str]) -> bool:
    """Whether words are a line and not the name of a script; refuse several scripts."""
    starts = bool(started_by(words[0].rpartition("/")[2]))
    if len(words) > 1 and not starts and Path(words[0]).is_file():
        raise BadValue(f"{words[1]} is an extra word", cure="check one script at a time; put a launch line after --")
    return len(words) > 1 or starts or (" " in words[0] and not Path(words[0]).exists())


def _line(
    there: HostOptions,
    words: list[str],
    how: tuple[str | None, Path | None, str | None],
    answers: tuple[str | None, bool],
    form: Form,
) -> int:
    """Say what an existing line does; return 1 where something goes wrong."""
    (version, slurm_conf, slurm_version), (observed, asking) = how, answers
    terminal = Terminal()
    machine = one_machine(there, terminal)
    if (
        slurm_version
        and not version
        and "srun" in started_by(next((word for word in words if "=" not in word), "").rpartition("/")[2])
    ):
        version = f"srun {slurm_version}"
    inside = surroundings(words, os.environ) if not there.sources else words
    found = lint_line(
        inside,
        machine,
        version=version,
        slurm_conf=slurm_conf,
        live=not there.sources,
        asking=asking,
        observed=observed,
        observer=terminal,
    )
    show(form, lambda: lint_document(found), lambda: lint_page(found, form.width))
    return 1 if found.warnings else 0


@has_form
def verify(
    words: opt.VerifyWords = None,
    *,
    plan: opt.PlanFile = None,
    then: opt.Then = False,
    observed: opt.Observed = None,
    pid: opt.Pids = None,
    job: opt.ProgramName = None,
    print_probe: opt.PrintProbe = False,
    print_prolog: opt.PrintProlog = False,
    timeout: opt.Timeout = 60,
    source: opt.From = None,
    form: Form = PLAIN,
) -> int:
    """Prove where ranks run, from what each rank reports.

    Runs the launch command of a plan with a probe instead of the application. DIR is what 'advisor bind -o DIR -- ./app' wrote.
    With --plan you give your own command, with {} in place of the application if it is unclear where its options end. --observed
    runs nothing: it reads what the probe (--print-probe) printed inside a job. The probe is one shell script; it needs no
    compiler, no MPI and no file on the other nodes. --then starts the application only if every rank is proven to run as planned.
    --pid and --job check an application that runs on this node, with or without a plan. Exit status 1 if something differs from
    the plan, or, without a plan, if there is a warning.

    Group: Run
    Example: advisor verify DIR
    Example: advisor verify --then DIR
    Example: advisor verify --plan plan.json -- mpirun -n 16 --map-by ppr:1:l3cache {}
    Example: advisor verify --print-probe > probe.sh; srun sh probe.sh > lines; advisor verify --plan plan.json --observed lines
    Example: advisor verify --job xhpl
    """
    given, observer = words or [], Terminal()
    if print_probe or print_prolog:
        say(prolog() if print_prolog else probe(), own=True)
        return 0
    if pid or job is not None:
        if given:
            raise BadValue(f"--pid and --job cannot be combined with {given[0][:40]}", cure="give a plan with --plan")
        here = running(pid or (), job, plan=plan, observer=observer)
        show(form, here.document, lambda: running_page(*here, form.width))
        return int(not here.good)
    folder = given[0] if plan is None and len(given) == 1 else None
    keep_apart({"--then": then}, {"--observed": observed is not None, "--json": form.json, "--output": form.output is not None})
    whole = program_line(folder, given) if then else None
    found = run_verify(folder, plan=plan, line=given, observed=observed, source=source, timeout=timeout, observer=observer)
    if whole and found.equal:
        observer.say(verdict_line(found))
        become(whole)
    show(form, lambda: comparison_document(found), lambda: comparison_page(found, form.width))
    return int(not found.equal)


_INTERRUPTED = 130


def tune(
    words: Words = None,
    *,
    ranks: job.Ranks = None,
    threads: job.Threads = None,
    hosts: Hosts = None,
    near: job.Near = None,
    smt: SmtToo = False,
    split: Split = False,
    devices: Devices = False,
    hugepages: Hugepages = False,
    settings: With = None,
    lines: MostLines = None,
    launcher: job.LauncherName = None,
    launcher_version: Version = None,
    metric: MetricPattern = None,
    metric_file: MetricFile = None,
    better: Better = None,
    goal: For = "time",
    prepare: Prepare = None,
    worth: Worth = "2",
    minutes: Minutes = None,
    runs: MostRuns = None,
    timeout: RunTimeout = 3600,
    seed: Seed = None,
    busy_ok: BusyOk = False,
    dry_run: DryRun = False,
    resume: Resume = None,
    output: Folder = None,
    svg: RaceSvg = None,
    verbose: EachRun = False,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Find the placement that makes your program fastest, with proof.

    Runs your launch command and the same job in other placements, in blocks, each in random order. Lines proven not to be
    better are dropped. The race ends when one line is faster than yours, no line is faster by more than --worth, or noise
    still hides the answer; then it reports how many more runs are needed. The first run of each line is not
    counted: its ranks report where they run. Every run is saved before the next one starts: Ctrl-C loses nothing, and
    --resume continues. If LINE has no launcher, --ranks and --threads describe the job. docs/tune.md explains the answer.

    Group: Run
    First: --ranks --threads --with --launcher --metric --better --minutes --worth --dry-run --resume
    Example: advisor tune -- mpirun -n 64 ./app input
    Example: advisor tune --minutes 30 --worth 1 --metric 'GFLOPS: ([0-9.]+)' --better high -- mpirun -n 64 ./app
    Example: advisor tune --ranks 16 --threads 4 --split --dry-run -- ./app
    Example: advisor tune --with OMP_PROC_BIND=spread --with UCX_TLS=rc,sm --devices -- mpirun -n 64 ./app
    Example: advisor tune --for energy --with os.governor=powersave -- mpirun -n 64 ./app input
    Example: advisor tune --resume tune-app
    """
    if resume and (words or output):
        raise BadValue("--resume takes its settings from the folder", cure="omit the launch line and -o")
    file, way = str(metric_file.absolute()) if metric_file else None, _plan if dry_run else _race
    how = (ranks, threads, hosts, near, smt, split, lines, launcher, launcher_version, metric, file, better, devices, hugepages)
    limits, form = (_part(worth), minutes, runs, timeout, busy_ok, seed), Form(None, json, width, not no_color)
    return way(
        (tuple(words or ()), *how, tuple(settings or ()), goal, prepare),
        limits,
        form,
        Terminal(verbose=verbose),
        (resume, output, svg),
    )


def _plan(asked: tuple[Any, ...], limits: tuple[Any, ...], form: Form, observer: Terminal, _: object) -> int:

    planned = planned_race(Asked(*asked), Limits(*limits), observer)
    show(form, planned.document, lambda: plan_page(planned, form.width))
    return 0


def _race(asked: tuple[Any, ...], limits: tuple[Any, ...], form: Form, observer: Terminal, files: tuple[Any, Any, Any]) -> int:

    resume, output, svg = files
    if svg:  # not after an hour of runs
        need_matplotlib()
    done = tune_line(Asked(*asked), Limits(*limits), resume or output, resume=resume is not None, observer=observer)
    show(form, done.document, lambda: race_page(done.page, form.width))
    if svg:
        write_file(svg, race_chart(done.page))
    if done.interrupted:
        observer.say(f"continue with advisor tune --resume {done.page.folder}")
    return _INTERRUPTED if done.interrupted else 0


def _joined(words: Sequence[str]) -> Iterator[str]:
    """Yield the arguments with ``--ranks-per l3 2`` as ``--ranks-per l3:2``; only a number is taken, never the command.

    >>> list(_joined(["--ranks-per", "l3", "2", "--", "app", "--ranks-per", "l3", "2"]))
    ['--ranks-per', 'l3:2', '--', 'app', '--ranks-per', 'l3', '2']
    """
    end = words.index("--") if "--" in words else len(words)
    at = 0
    while at < end:
        option, equals, _ = words[at].partition("=")
        part = at + (not equals)
        if option == job.RANKS_PER and part + 1 < end and words[part + 1].isascii() and words[part + 1].isdecimal():
            yield from words[at:part]
            yield f"{words[part]}:{words[part + 1]}"
            at = part + 2
        else:
            yield words[at]
            at += 1
    yield from words[end:]


class CommandLine(Command):
    """Takes the number after ``--ranks-per PART`` to it, where there is one: an option cannot have one value or two."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        return super().parse_args(ctx, list(_joined(args)))
