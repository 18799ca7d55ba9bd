"""Measure bandwidth, latency and floating point of each core, CCX, NUMA node and socket.

Without WHAT the quick set: what an audit needs, in under a minute; --full is everything. WHAT is one of membw (bandwidth
of one part of every kind, or with --per of all parts of one kind), scaling (from one thread to all), matrix (cores of
each NUMA node against memory of each), ladder (latency by size), loaded (latency while others stream), c2c (round trips
between cores), peak, roofline, a kernel by its name (--list shows all of them), or show FILE for saved results; show
--before OLD NEW compares two runs. The kernels are built with this machine's compiler when first used. A busy machine is
refused unless --busy-ok. Every result is a median with its spread; a result above the ceiling of DIMMs and clock is
rejected. Ctrl-C keeps the finished part.

Group: Look at a machine
Example: advisor measure
Example: advisor measure membw --per numa --save node.json
Example: advisor measure membw --per numa --dry-run --from node.tar.gz
Example: advisor measure roofline --png roofline.png --intensity 0.25
Example: advisor measure --build-only --march znver4 -o kernels
"""

from pathlib import Path
from typing import TYPE_CHECKING

from advisor.cli import job_options as job
from advisor.cli.options import BusyOk, From, Json, NoColor, Output, Repeats, Save, Steps, Width
from advisor.cli.output import Drawing, Form, Terminal, show, show_kernels, show_measured
from advisor.errors import BadValue

if TYPE_CHECKING:
    from advisor.measure.kernel_tasks import Request
    from advisor.work.measure import Measured


def run(
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
    before: job.Before = None,
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
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure this machine."""
    from advisor.work.measure import MeasureOptions, build_all, measure_machine, wished

    form, drawing = Form(output, json, width, not no_color), Drawing(svg, png, chart, intensity)
    observer = Terminal(verbose=verbose)
    if list_kernels:
        return show_kernels(form)
    if build_only or march is not None:
        build_all(march, job.folder_to_build(output, build_only=build_only), observer)
        return 0
    if before is not None:
        return _compare(before, words or [], form, alone=not (measurements or save or svg or png))
    if measurements or (words and words[0] == "show"):
        saved = _saved(words or [], measurements or [], source, observer)
        return show_measured(saved, (), save, form, drawing=drawing)
    what = job.what_to_measure(words or [], quick=quick, full=full)
    wish = wished(what, per=per, patterns=pattern, cpus=cpus, node=node, repeats=repeats, smt=smt == "use")
    if dry_run:
        return _plan(wish, source, form, observer)
    if source is not None:
        raise BadValue("only this machine can be measured", cure="with --from give --dry-run, which prints the plan")
    done = measure_machine(wish, MeasureOptions(busy_ok, kernels), observer=observer)
    return show_measured(done, (), save, form, drawing=drawing._replace(what=what))


def _plan(wish: "Request", source: str | None, form: Form, observer: Terminal) -> int:
    from advisor.measure.headers import read_kernels
    from advisor.render.measured.page import plan_page
    from advisor.work.machine import read_machine
    from advisor.work.measure import plan_document, planned

    made = planned(read_machine(source, observer), wish)
    left = (f"not: {each.task}: {each.why}" for each in made.left_out)
    show(form, lambda: plan_document(made), lambda: [plan_page(made.tasks, read_kernels().sheets, form.width), *left])
    return 0


def _compare(before: Path, words: list[str], form: Form, *, alone: bool) -> int:
    from advisor.render.difference import before_after_document, before_after_page
    from advisor.work.whatif import before_after

    if len(words) != 2 or words[0] != "show" or not alone:
        cure = "write advisor measure show --before OLD NEW, or advisor measure network --before OLD"
        raise BadValue("--before compares two files or folders of runs, and draws or keeps nothing", cure=cure)
    found = before_after(before, Path(words[1]))
    show(form, lambda: before_after_document(found), lambda: before_after_page(found, form.width))
    return 0


def _saved(words: list[str], files: list[Path], source: str | None, observer: Terminal) -> "Measured":
    from advisor.work.measure import saved_measurements

    if words and (words[0] != "show" or len(words) < 2 or files):
        raise BadValue("what was saved is shown by show FILE or by --measurements FILE", cure="give one of the two")
    named = files or [Path(word) for word in words[1:]]
    return saved_measurements(named, source, must_fit=bool(files) or source is not None, observer=observer)
