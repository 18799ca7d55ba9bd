"""Commands that measure, and take the figures of other programs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument

from advisor.advice.imported import Imported, import_files, must_have_results
from advisor.advice.publish import publish
from advisor.cli import job_options as job
from advisor.cli import options as opt
from advisor.cli.options import (
    BusyOk,
    From,
    Json,
    NoColor,
    PageOrLines,
    Repeats,
    Save,
    Steps,
    Version,
    Width,
    at_most_one,
    has_form,
)
from advisor.cli.output import (
    NO_DRAWING,
    PLAIN,
    Drawing,
    Form,
    Shown,
    Terminal,
    emit_json,
    show,
    show_kernels,
    show_lines,
    show_measured,
    show_saved,
)
from advisor.errors import AdvisorError, BadValue
from advisor.jobs.started.benchmark import Experiment, NetworkOptions, experiment, fitting_runs, network_lines
from advisor.jobs.started.benchmark import measure as measure_messages
from advisor.jobs.started.hosts import HostOptions, LauncherOptions, per_part
from advisor.jobs.started.hpl import HplOptions, hpl_job, hpl_lines, scaling_runs
from advisor.jobs.started.hpl import measure as measure_orders
from advisor.machine.read import read_machine
from advisor.measure.charts import must_be_drawable
from advisor.measure.contract import read_kernels
from advisor.measure.page import imported_page, measured_page, plan_page
from advisor.measure.plan import CHARTS, SETS, Plan, Request, charts_of_plan
from advisor.measure.task import (
    MeasureOptions,
    build_all,
    compare_runs,
    is_ours,
    measure_machine,
    plan_document,
    planned,
    saved_measurements,
    wished,
)

OtherOutputs = Annotated[list[Path], Argument(metavar="FILE...", help="Output of other benchmark programs; - is standard input.")]


@has_form
def measure(
    words: job.MeasureWords = None,
    *,
    quick: job.MeasureQuick = False,
    full: job.MeasureFull = False,
    per: job.MeasurePer = None,
    pattern: job.Pattern = None,
    cpus: job.Cpus = None,
    node: job.Node = None,
    smt: job.MeasureSmt = "skip",
    repeats: Repeats = None,
    busy_ok: BusyOk = False,
    dry_run: job.MeasureDryRun = False,
    save: Save = None,
    measurements: job.Saved = None,
    svg: job.MeasureSvg = None,
    png: job.MeasurePng = None,
    chart: job.Chart = None,
    intensity: job.Intensity = None,
    kernels: job.MeasureKernels = None,
    build_only: job.BuildOnly = False,
    march: job.March = None,
    list_kernels: job.List = False,
    verbose: Steps = False,
    source: From = None,
    form: Form = PLAIN,
) -> int:
    """Measure memory bandwidth, memory latency and peak FLOP/s.

    Without WHAT it measures the quick set: what an audit needs, in under a minute; --full measures everything. WHAT is one of
    membw (bandwidth of one part of every kind, or with --per of all parts of one kind), scaling (from one thread to all), matrix
    (cores of each NUMA node against memory of each), ladder (latency by size), loaded (latency while others stream), c2c (round
    trips between cores), peak, roofline, a kernel by its name (--list shows all of them), or show FILE for saved results; advisor
    compare OLD NEW compares two runs. publish FILE adds this machine's saved figures to the site's published ones
    (/etc/advisor/published.csv, ~/.config/advisor/published.csv, or -o FILE); machines measured later are compared with them. The
    kernels are built with this machine's compiler when first used. A busy machine is refused unless --busy-ok is given. Every
    result is a median with its spread; a result above what the DIMMs or the clock allow is rejected. Ctrl-C keeps the
    finished part.

    Group: Measure
    First: --full --per --cpus --dry-run --save --from --svg --list --busy-ok --json
    Example: advisor measure
    Example: advisor measure membw --per numa --save node.json
    Example: advisor measure membw --per numa --dry-run --from node.tar.gz
    Example: advisor measure publish node.json -o published.csv
    Example: advisor measure roofline --png roofline.png --intensity 0.25
    Example: advisor measure --build-only --march znver4 -o kernels
    """
    shown: Shown = (save, form, Drawing(svg, png, chart, intensity))
    if list_kernels or build_only or march is not None:
        return show_kernels(shown[1]) if list_kernels else _build(march, form.output, build_only=build_only)
    if words and words[0] == "publish":
        return _publish(words[1:], source, shown[1])
    if measurements or (words or [])[:1] == ["show"]:
        others = [] if measurements else [Path(each) for each in (words or [])[1:]]
        if others and not any(map(is_ours, others)):
            found = import_files(others, source, None, Terminal())
            if any(file.runs for file in found.files):
                return _show_imported(found, save, form)
        return show_saved(words or [], measurements or [], source, shown)
    what = job.what_to_measure(words or [], quick=quick, full=full)
    wish = wished(what, per=per, patterns=pattern, cpus=cpus, node=node, repeats=repeats, smt=smt == "use")
    return _measure(wish, MeasureOptions(busy_ok, kernels), source, shown, verbose=verbose, dry=dry_run)


def _publish(names: list[str], source: str | None, form: Form) -> int:
    if len(names) != 1:
        raise BadValue(
            "measure publish takes one file", cure="give a file that measure --save wrote: advisor measure publish FILE"
        )
    done = saved_measurements([Path(names[0])], source, must_fit=True, observer=Terminal())
    added = publish(done, form.output)
    show(replace(form, output=None), lambda: {"file": str(added.file), "rows": added.rows}, lambda: [added.page()])
    return 0


def _build(march: str | None, output: Path | None, *, build_only: bool) -> int:
    build_all(march, job.folder_to_build(output, build_only=build_only), Terminal())
    return 0


def _check_drawing(drawing: Drawing, what: str, made: "Plan | None" = None) -> None:
    """Refuse before measuring a chart that it, or this machine, does not give, an intensity that is none, no matplotlib."""
    drawn = drawing.svg is not None or drawing.png is not None
    charts = CHARTS.get(what, ()) if made is None else charts_of_plan(made.tasks, what)
    must_be_drawable(drawing.chart, drawing.intensity, charts, drawn=drawn, several=what in SETS)


def _measure(wish: "Request", how: MeasureOptions, source: str | None, shown: Shown, *, verbose: bool, dry: bool) -> int:
    machine, (save, form, drawing) = None, shown
    if drawing != NO_DRAWING:
        _check_drawing(drawing, wish.what)
    if source is not None and not dry:
        raise BadValue("only the local machine can be measured", cure="with --from give --dry-run, which prints the plan")
    if drawing != NO_DRAWING:
        machine = read_machine(source, Terminal())
        _check_drawing(drawing, wish.what, planned(machine, wish))
    if dry:
        made = planned(read_machine(source, Terminal()), wish)
        left = (f"not measured: {each.task}: {each.why}" for each in made.left_out)
        show(form, lambda: plan_document(made), lambda: [plan_page(made.tasks, read_kernels().sheets, form.width), *left])
        return 0
    done = measure_machine(wish, how, machine=machine, observer=Terminal(verbose=verbose))
    return show_measured(done, (), save, form, drawing=drawing._replace(what=wish.what))


def measure_hpl(
    *,
    hosts: job.HplHosts = None,
    launcher: job.MpiLauncher = None,
    launcher_version: Version = None,
    xhpl: job.Xhpl = None,
    quick: job.HplQuick = False,
    full: job.HplFull = False,
    n: job.Order = None,
    nb: job.Block = None,
    ranks_per: job.HplPerPart = None,
    scaling: job.Scaling = False,
    blas: job.BlasFlag = None,
    kernels: job.HplKernels = None,
    busy_ok: BusyOk = False,
    dry_run: job.HplDryRun = False,
    save: Save = None,
    verbose: Steps = False,
    json: Json = False,
    output: PageOrLines = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure HPL (Linpack) and compare it with the peak at base clock and under load.

    Without --xhpl it runs the project's own HPL, built with the mpicc beside the launcher and the first BLAS found:
    pkg-config openblas or blis, -lopenblas, -lblis, -lblas, or --blas. --xhpl PATH runs another HPL; advisor writes its HPL.dat.
    NB is the fastest value found in a short search. N is chosen for a run of about a minute in all, or with --full to fill 85 %
    of the free memory. P x Q is as square as possible. Ranks are placed as advisor bind does, and our own HPL reports where they
    really ran.
    The page names the kernel that OpenBLAS chose, and warns if it does not use the widest instructions of this processor.
    --scaling makes the table of articles [002] and [003]: 1, 2, 4, .. and all hosts, or on one host a NUMA node, a socket and the
    whole host, with the same share of the matrix per core; --n is N of the first step.

    Group: Measure
    First: --hosts --full --launcher --xhpl --n --nb --ranks-per --scaling --dry-run --save
    Example: advisor measure hpl
    Example: advisor measure hpl --full --ranks-per numa --save hpl.json
    Example: advisor measure hpl --xhpl /opt/amd-hpl/xhpl --n 86400 --nb 232
    Example: advisor measure hpl --hosts node[01-16] --scaling --save scaling.json
    """
    at_most_one({"--quick": quick, "--full": full, "--n": n is not None})
    at_most_one({"--xhpl": xhpl is not None, "--blas": blas is not None, "--kernels": kernels is not None})
    ask = HplOptions(xhpl, full, n, nb, per_part(ranks_per), blas, kernels, busy_ok, scaling)
    form, observer = Form(output, json, width, not no_color), Terminal(verbose=verbose)
    made = hpl_job(HostOptions(hosts=hosts), LauncherOptions(launcher, launcher_version), ask, observer=observer)
    runs = scaling_runs(made)
    if dry_run:
        return show_lines(hpl_lines(runs, observer), form)
    return show_measured(measure_orders(made, runs, observer), made.notes, save, form)


@has_form
def measure_import(
    files: OtherOutputs,
    *,
    source: opt.MeasuredMachine = None,
    placed: opt.Placed = None,
    save: opt.Save = None,
    form: Form = PLAIN,
) -> int:
    """Read figures that other benchmark programs printed.

    Reads HPL, HPCC and HPCG, OSU, Intel MPI Benchmarks, STREAM, BabelStream, Intel MLC, likwid-bench, numademo, perftest,
    nccl-tests and core-to-core-latency, recognised by content; docs/import.md lists versions and pitfalls. A file that was cut
    off, that failed its own check, or whose figures contradict each other is rejected, with the reason in one line. With --from
    they become measurements of that machine, which --save keeps for advisor audit and report; if a file does not say which
    part it measured, add --placed. Exit status 1 if something is refused, 2 if nothing could be read.

    Group: Measure
    Example: advisor measure import HPL.out stream.log
    Example: advisor measure import stream.log --from node.tar.gz --placed "numa 1" --save stream.json
    Example: advisor audit --from node.tar.gz --measurements stream.json
    """
    return _show_imported(import_files(files, source, placed, Terminal()), save, form)


def _show_imported(found: Imported, save: Path | None, form: Form) -> int:
    if save is not None:
        emit_json(must_have_results(found).model_dump(mode="json"), save)
    runs = [(file.name, each) for file in found.files for each in file.runs]
    pages = [imported_page(runs, found.levels, found.refused, found.notes, form.width)]
    kept = found.measurements
    measured = [measured_page(kept, form.width, machine=found.machine, facts=found.facts)] if kept else []
    show(form, found.document, lambda: [*pages, *measured])
    return found.status


def measure_network(
    *,
    hosts: job.NetworkHosts = None,
    sources: job.NetworkSources = None,
    launcher: job.MpiLauncher = None,
    launcher_version: Version = None,
    per: job.NetworkPer = None,
    hca: job.Adapter = None,
    sizes: job.Sizes = None,
    repeats: Repeats = None,
    kernels: job.NetworkKernels = None,
    busy_ok: BusyOk = False,
    before: job.NetworkBefore = None,
    dry_run: job.NetworkDryRun = False,
    save: Save = None,
    verbose: Steps = False,
    json: Json = False,
    output: PageOrLines = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure message rates and latency between two hosts, near the adapter and far from it.

    Measures what distance from the adapter costs: bandwidth and message rate of every NUMA node, every socket and all cores, and
    the share of line rate. advisor bind writes the commands, and every rank reports where it ran: results from misplaced ranks
    are rejected. The kernel is built with the mpicc beside the launcher, in a folder that both hosts must see: your home, or
    --kernels DIR. In a Slurm job, the job's hosts are used. Both hosts are assumed to be like this one, unless --from describes
    them. With one host or none, the pairs run inside one host. --dry-run prints every command, ready to paste into a job; -o DIR
    writes them to DIR. --before OLD compares the messages of all cores with an earlier run: save a run, change the BIOS
    (Preferred IO), restart, and measure again. Runs of the same setting vary, too: save five of each with --per node into
    folders, and compare them with advisor compare off on.

    Group: Measure
    First: --hosts --from --launcher --per --hca --sizes --before --dry-run --save --json
    Example: advisor measure network --hosts node01,node02
    Example: advisor measure network --hosts node01,node02 --hca mlx5_0 --per numa --save network.json
    Example: advisor measure network --hosts node01,node02 --before network.json --save after.json
    Example: advisor measure network --hosts a,b --from node.tar.gz --launcher openmpi --launcher-version 4.1.5 --dry-run
    """
    at_most_one({"--dry-run": dry_run, "--before": before is not None})
    ask = NetworkOptions("machine" if per == "node" else per, hca, sizes, repeats, kernels, busy_ok)
    there, how = HostOptions(tuple(sources or ()), hosts), LauncherOptions(launcher, launcher_version)
    form, observer = Form(output, json, width, not no_color), Terminal(verbose=verbose)
    made = experiment(there, how, ask, dry=dry_run, observer=observer)
    if dry_run:
        return show_lines(network_lines(made, folder_given=output is not None, observer=observer), form)
    if before is not None:
        return _compared(before, made, save, form, observer)
    return show_measured(measure_messages(made, observer), made.notes, save, form)


def _compared(before: Path, made: "Experiment", save: Path | None, form: Form, observer: Terminal) -> int:
    """Measure, and print what has changed; earlier runs that do not fit are refused first."""
    earlier = fitting_runs(before, made)
    done = measure_messages(made, observer)
    try:
        found = compare_runs(earlier, [done.measurements])
    except AdvisorError as error:
        status = show_measured(done, made.notes, save, form)
        observer.say(f"not compared: {error}")
        return status or 2
    return show_measured(done, made.notes, save, form, compared=found)
