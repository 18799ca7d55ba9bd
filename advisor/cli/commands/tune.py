"""Find by experiment which placement makes your program fastest, and prove it.

Races your own launch command against the same job placed otherwise: blocks in random order, lines left out as soon as they
are proven not to be better, an end as soon as the answer is known. The answer is one of three: a line is faster than yours,
no line is by more than --worth, or the noise hides it still, and how many runs that would take. The first run
of each line is not counted; in it every rank is asked where it runs. Every run is on disk before the next one starts:
Ctrl-C loses nothing, --resume goes on. Without a launcher in LINE the job is that of --ranks and --threads. docs/tune.md says
how to read the answer.

Group: Run a job
Example: advisor tune -- mpirun -n 64 ./app input
Example: advisor tune --minutes 30 --worth 1 --metric 'GFLOPS: ([0-9.]+)' --better high -- mpirun -n 64 ./app
Example: advisor tune --ranks 16 --threads 4 --split --dry-run -- ./app
Example: advisor tune --with OMP_PROC_BIND=spread --with UCX_TLS=rc,sm --devices -- mpirun -n 64 ./app
Example: advisor tune --resume tune-app
"""

from typing import Any

from advisor.cli import job_options as job
from advisor.cli import tune_options as opt
from advisor.cli.options import BusyOk, Json, NoColor, Version, Width
from advisor.cli.output import Form, Terminal, show
from advisor.errors import BadValue
from advisor.machine.hosts.files import write_file
from advisor.measure.charts import need_matplotlib

_INTERRUPTED = 130


def run(
    words: opt.Words = None,
    *,
    ranks: job.Ranks = None,
    threads: job.Threads = None,
    hosts: opt.Hosts = None,
    near: job.Near = None,
    smt: opt.SmtToo = False,
    split: opt.Split = False,
    devices: opt.Devices = False,
    hugepages: opt.Hugepages = False,
    settings: opt.With = None,
    lines: opt.MostLines = None,
    launcher: job.LauncherName = None,
    launcher_version: Version = None,
    metric: opt.MetricPattern = None,
    metric_file: opt.MetricFile = None,
    better: opt.Better = None,
    worth: opt.Worth = "2",
    minutes: opt.Minutes = None,
    runs: opt.MostRuns = None,
    timeout: opt.RunTimeout = 3600,
    seed: opt.Seed = None,
    busy_ok: BusyOk = False,
    dry_run: opt.DryRun = False,
    resume: opt.Resume = None,
    output: opt.Folder = None,
    svg: opt.RaceSvg = None,
    verbose: opt.EachRun = False,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Race the placements of a job."""
    if resume and (words or output):
        raise BadValue("--resume goes on with what its folder says", cure="leave the line and -o out")
    file, way = str(metric_file.absolute()) if metric_file else None, _plan if dry_run else _race
    how = (ranks, threads, hosts, near, smt, split, lines, launcher, launcher_version, metric, file, better, devices, hugepages)
    limits, form = (opt.part(worth), minutes, runs, timeout, busy_ok, seed), Form(None, json, width, not no_color)
    return way((tuple(words or ()), *how, tuple(settings or ())), limits, form, Terminal(verbose=verbose), (resume, output, svg))


def _plan(asked: tuple[Any, ...], limits: tuple[Any, ...], form: Form, observer: Terminal, _: object) -> int:
    from advisor.jobs.pages.tune import plan_page
    from advisor.jobs.racing.lines import Asked
    from advisor.jobs.racing.race import Limits
    from advisor.jobs.racing.task import planned_race

    planned = planned_race(Asked(*asked), Limits(*limits), observer)
    show(form, planned.document, lambda: plan_page(planned, form.width))
    return 0


def _race(asked: tuple[Any, ...], limits: tuple[Any, ...], form: Form, observer: Terminal, files: tuple[Any, Any, Any]) -> int:
    from advisor.jobs.pages.races import race_chart
    from advisor.jobs.pages.tune import race_page
    from advisor.jobs.racing.lines import Asked
    from advisor.jobs.racing.race import Limits
    from advisor.jobs.racing.task import tune_line

    resume, output, svg = files
    if svg:  # not after an hour of runs
        need_matplotlib()
    done = tune_line(Asked(*asked), Limits(*limits), resume or output, resume=resume is not None, observer=observer)
    show(form, done.document, lambda: race_page(done.page, form.width))
    if svg:
        write_file(svg, race_chart(done.page))
    if done.interrupted:
        observer.say(f"go on with advisor tune --resume {done.page.folder}")
    return _INTERRUPTED if done.interrupted else 0
