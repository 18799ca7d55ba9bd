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
from advisor.cli.output import NO_DRAWING, Drawing, Form, Shown, Terminal, show, show_kernels, show_measured, show_saved
from advisor.errors import BadValue
from advisor.machine.read import read_machine
from advisor.measure.task import MeasureOptions, build_all, measure_machine, plan_document, planned, wished

if TYPE_CHECKING:
    from advisor.measure.plan import Plan, Request


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
    shown: Shown = (save, Form(output, json, width, not no_color), Drawing(svg, png, chart, intensity))
    if list_kernels or build_only or march is not None:
        return show_kernels(shown[1]) if list_kernels else _build(march, output, build_only=build_only)
    if before is not None or measurements or (words or [])[:1] == ["show"]:
        return show_saved(words or [], measurements or [], source, before, shown)
    what = job.what_to_measure(words or [], quick=quick, full=full)
    wish = wished(what, per=per, patterns=pattern, cpus=cpus, node=node, repeats=repeats, smt=smt == "use")
    return _measure(wish, MeasureOptions(busy_ok, kernels), source, shown, verbose=verbose, dry=dry_run)


def _build(march: str | None, output: Path | None, *, build_only: bool) -> int:
    build_all(march, job.folder_to_build(output, build_only=build_only), Terminal())
    return 0


def _plan(wish: "Request", source: str | None, form: Form) -> int:
    from advisor.measure.contract import read_kernels
    from advisor.measure.page import plan_page

    made = planned(read_machine(source, Terminal()), wish)
    left = (f"not: {each.task}: {each.why}" for each in made.left_out)
    show(form, lambda: plan_document(made), lambda: [plan_page(made.tasks, read_kernels().sheets, form.width), *left])
    return 0


def _check_drawing(drawing: Drawing, what: str, made: "Plan | None" = None) -> None:
    """Refuse before measuring a chart that it, or this machine, does not give, an intensity that is none, no matplotlib."""
    from advisor.measure.charts import must_be_drawable
    from advisor.measure.plan import CHARTS, SETS, charts_of_plan

    drawn = drawing.svg is not None or drawing.png is not None
    charts = CHARTS.get(what, ()) if made is None else charts_of_plan(made.tasks, what)
    must_be_drawable(drawing.chart, drawing.intensity, charts, drawn=drawn, several=what in SETS)


def _measure(wish: "Request", how: MeasureOptions, source: str | None, shown: Shown, *, verbose: bool, dry: bool) -> int:
    machine, (save, form, drawing) = None, shown
    if drawing != NO_DRAWING:
        _check_drawing(drawing, wish.what)
    if source is not None and not dry:
        raise BadValue("only this machine can be measured", cure="with --from give --dry-run, which prints the plan")
    if drawing != NO_DRAWING:
        machine = read_machine(source, Terminal())
        _check_drawing(drawing, wish.what, planned(machine, wish))
    if dry:
        return _plan(wish, source, form)
    done = measure_machine(wish, how, machine=machine, observer=Terminal(verbose=verbose))
    return show_measured(done, (), save, form, drawing=drawing._replace(what=wish.what))
