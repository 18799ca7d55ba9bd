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

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from advisor.cli.options import BusyOk, From, Json, NoColor, Output, Repeats, Save, Steps, Width

if TYPE_CHECKING:
    from advisor.measure.kernel_tasks import Request
    from advisor.model.hardware.machine import Machine
    from advisor.model.measurement import Measurements

Words = Annotated[list[str] | None, typer.Argument(metavar="[WHAT | show FILE]", help="membw, scaling, matrix, ladder, ...")]
Quick = Annotated[bool, typer.Option("--quick", help="The quick set, under a minute: the default.")]
Full = Annotated[bool, typer.Option("--full", help="Measure everything; many minutes, --dry-run says how many.")]
Per = Annotated[
    Literal["core", "l3", "numa", "socket", "node"] | None,
    typer.Option("--per", help="Measure all parts of this kind: membw, or a kernel by its name."),
]
Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="LIST", help="Of membw: load,triad-nt and so on, or all; --list names them."),
]
Cpus = Annotated[str | None, typer.Option("--cpus", metavar="LIST", help="Use these CPUs only: 0-15,32.")]
Node = Annotated[int | None, typer.Option("--node", metavar="N", min=0, help="Take all memory from this NUMA node.")]
Smt = Annotated[Literal["skip", "use"], typer.Option("--smt", help="Whether second hardware threads run threads of their own.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be measured and how long it takes; run nothing.")]
Saved = Annotated[
    list[Path] | None,
    typer.Option("--measurements", metavar="FILE", help="Show saved results of this machine; may be repeated."),
]
List = Annotated[bool, typer.Option("--list", help="Print what each kernel measures: variants, units, bytes, flops.")]
Before = Annotated[
    Path | None,
    typer.Option("--before", metavar="OLD", help="With show NEW: compare two runs; files, or folders of runs."),
]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the results as SVG into FILE.")]
Png = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Draw the results as PNG into FILE.")]
Chart = Annotated[
    str | None,
    typer.Option(
        "--chart", metavar="NAME", help="Which chart: scaling, bandwidth-matrix, latency-matrix, ladder, map, roofline, ..."
    ),
]
Intensity = Annotated[float | None, typer.Option("--intensity", metavar="X", help="Mark a code of X FLOP/byte in the roofline.")]
Kernels = Annotated[Path | None, typer.Option("--kernels", metavar="DIR", help="Use kernels built elsewhere.")]
BuildOnly = Annotated[bool, typer.Option("--build-only", help="Build all kernels into -o DIR and measure nothing.")]
March = Annotated[str | None, typer.Option("--march", metavar="X", help="With --build-only: for this processor, such as znver4.")]


@dataclass(frozen=True)
class Shown:
    """How the answer is given."""

    json: bool
    output: Path | None
    save: Path | None
    svg: Path | None
    png: Path | None
    chart: str | None
    intensity: float | None
    width: int | None
    color: bool


def run(
    words: Words = None,
    *,
    quick: Quick = False,
    full: Full = False,
    per: Per = None,
    pattern: Pattern = None,
    cpus: Cpus = None,
    node: Node = None,
    smt: Smt = "skip",
    repeats: Repeats = None,
    busy_ok: BusyOk = False,
    dry_run: DryRun = False,
    save: Save = None,
    measurements: Saved = None,
    before: Before = None,
    svg: Svg = None,
    png: Png = None,
    chart: Chart = None,
    intensity: Intensity = None,
    kernels: Kernels = None,
    build_only: BuildOnly = False,
    march: March = None,
    list_kernels: List = False,
    verbose: Steps = False,
    source: From = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Measure this machine."""
    shown = Shown(json, output, save, svg, png, chart, intensity, width, not no_color)
    if list_kernels or build_only or march is not None:
        return _list(shown) if list_kernels else _build(march, output, build_only=build_only)
    if before is not None or measurements or (words and words[0] == "show"):
        return _show_saved(words or [], measurements or [], source, before, shown)
    what = _what(words or [], quick=quick, full=full)
    wish = _wish(what, per, pattern, cpus, node=node, repeats=repeats, smt=smt == "use")
    return _plan(wish, source, shown) if dry_run else _measure(wish, (busy_ok, kernels, verbose), source, shown)


def _what(words: list[str], *, quick: bool, full: bool) -> str:
    from advisor.errors import BadValue
    from advisor.work.measure import must_be_alone

    if len(words) > 1:
        raise BadValue(f"{words[1][:40]} is one word too many", cure="measure one thing at a time, or --full for everything")
    must_be_alone({"--quick": quick, "--full": full, "".join(words)[:40]: bool(words)})
    if words and words[0] in ("network", "hpl"):
        problem = f"measure {words[0]} is a command with options of its own"
        raise BadValue(problem, cure=f"write them behind it: advisor measure {words[0]} --help")
    return words[0] if words else "full" if full else "quick"


def _wish(
    what: str, per: str | None, pattern: str | None, cpus: str | None, *, node: int | None, repeats: int | None, smt: bool
) -> "Request":
    from advisor.errors import BadValue
    from advisor.measure.contract import part_named, patterns
    from advisor.measure.kernel_tasks import Request
    from advisor.measure.plan import PLANS
    from advisor.model.cpuset import CpuSet

    if per is not None and what in PLANS and what != "membw":
        raise BadValue(f"--per goes with membw, not with {what[:40]}", cure=f"advisor measure membw --per {per}")
    if pattern is not None and what not in PLANS:
        raise BadValue(f"--pattern goes with membw, not with {what[:40]}", cure="a kernel by its name measures all that it can")
    chosen = patterns(pattern) if pattern is not None else None
    only = CpuSet.parse(cpus) if cpus is not None else None
    return Request(what, part_named(per) if per else None, chosen, only, node, repeats, smt)


def _list(shown: Shown) -> int:
    """Print every kernel; the status is 2 where a header comment leaves something out."""
    from advisor.measure.headers import read_kernels
    from advisor.render.measured.kernels import kernels_document, kernels_page
    from advisor.work.machine import emit, emit_json

    found = read_kernels()
    wrong = [str(error) for error in found.wrong.values()]
    if shown.json:
        emit_json(kernels_document(found.sheets.values(), wrong), shown.output)
    else:
        page = kernels_page(found.sheets.values(), wrong, shown.width)
        emit([page], shown.output, color=shown.color, width=shown.width)
    return 2 if wrong else 0


def _build(march: str | None, folder: Path | None, *, build_only: bool) -> int:
    from advisor.errors import BadValue
    from advisor.work.measure import build_all

    if not build_only:
        raise BadValue("--march goes with --build-only", cure="kernels that are used here are built for this processor")
    if folder is None:
        raise BadValue("--build-only builds into a folder", cure="name it with -o DIR")
    build_all(march, folder)
    return 0


def _plan(wish: "Request", source: str | None, shown: Shown) -> int:
    from advisor.measure.headers import read_kernels
    from advisor.render.measured.page import plan_page
    from advisor.work.machine import emit, emit_json, load
    from advisor.work.measure import planned

    made = planned(load(source), wish)
    if shown.json:
        document = {
            "schema": "advisor-measure-plan/1",
            "seconds": round(made.seconds, 1),
            "tasks": [task.model_dump(mode="json") for task in made.tasks],
            "left_out": [each.model_dump(mode="json") for each in made.left_out],
        }
        emit_json(document, shown.output)
    else:
        tasks_by_kernel = sorted(
            made.tasks, key=lambda task: list(dict.fromkeys(t.kernel for t in made.tasks)).index(task.kernel)
        )
        page = [
            plan_page(tasks_by_kernel, read_kernels().sheets, shown.width),
            *(f"not: {each.task}: {each.why}" for each in made.left_out),
        ]
        emit(page, shown.output, color=shown.color, width=shown.width)
    return 0


def _measure(wish: "Request", how: tuple[bool, Path | None, bool], source: str | None, shown: Shown) -> int:
    from advisor.errors import BadValue
    from advisor.measure.plan import CHARTS
    from advisor.work.machine import load
    from advisor.work.measure import QUICK_SECONDS, MeasureOptions, measure

    if source is not None:
        raise BadValue("only this machine can be measured", cure="with --from give --dry-run, which prints the plan")
    if (shown.svg or shown.png) and shown.chart is None:
        shown = replace(shown, chart=CHARTS.get(wish.what))
    machine = load(None)
    found = measure(machine, wish, MeasureOptions(*how, budget=QUICK_SECONDS if wish.what == "quick" else None))
    _show(found.measurements, machine, shown)
    return 130 if found.interrupted else 0


def _compare(before: Path, words: list[str], files: list[Path], shown: Shown) -> int:
    from advisor.cli.answers import Form
    from advisor.cli.before import compare_saved
    from advisor.errors import BadValue

    if len(words) != 2 or words[0] != "show" or files or shown.save or shown.svg or shown.png:
        cure = "write advisor measure show --before OLD NEW, or advisor measure network --before OLD"
        raise BadValue("--before compares two files or folders of runs, and draws or keeps nothing", cure=cure)
    return compare_saved(before, Path(words[1]), Form(shown.output, shown.json, shown.width, shown.color))


def _show_saved(words: list[str], files: list[Path], source: str | None, before: Path | None, shown: Shown) -> int:
    if before is not None:
        return _compare(before, words, files, shown)
    from advisor.errors import BadValue
    from advisor.model.measurement import machine_mismatch
    from advisor.work.machine import load
    from advisor.work.measure import must_be_of_machine, read_measurements

    if words and (words[0] != "show" or len(words) < 2 or files):
        raise BadValue("what was saved is shown by show FILE or by --measurements FILE", cure="give one of the two")
    found = read_measurements(files or [Path(word) for word in words[1:]])
    machine = load(source)
    if files or source is not None:
        must_be_of_machine(found, machine, str((files or words[1:])[0]))
    _show(found, machine if machine_mismatch(found.machine, machine) is None else None, shown)
    return 0


def _show(found: "Measurements", machine: "Machine | None", shown: Shown) -> None:
    from advisor.render.measured.page import measured_page
    from advisor.work.machine import emit, emit_json
    from advisor.work.measure import document

    if shown.save is not None:
        emit_json(document(found), shown.save)
    if shown.json:
        emit_json(document(found), shown.output)
    else:
        emit([measured_page(found, shown.width, machine=machine)], shown.output, color=shown.color, width=shown.width)
    _draw(found, machine, shown)


def _draw(found: "Measurements", machine: "Machine | None", shown: Shown) -> None:
    from advisor.errors import BadValue
    from advisor.measure.plan import CHARTS
    from advisor.render.charts.chart import KINDS, chart, charts_of
    from advisor.work.machine import write_whole

    files = [(file, form) for file, form in ((shown.svg, "svg"), (shown.png, "png")) if file is not None]
    if not files:
        return
    there = charts_of(found)
    name = CHARTS.get(shown.chart or "", shown.chart) or (there[0] if len(there) == 1 else None)
    if name is None:
        raise BadValue(f"there are {len(there)} charts to draw", cure=f"choose with --chart: {', '.join(there or KINDS)}")
    for file, form in files:
        write_whole(file, chart(found, name, form, shown.intensity, machine=machine))
