"""The pages of measuring: what was measured, with its conditions; what will be; what kernels there are; what others printed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import RenderableType

from advisor.machine.machine import Machine
from advisor.machine.units import binary, count, duration, flop_rate, plain, throughput
from advisor.measure import tables
from advisor.measure.figures import (
    Cell,
    amount,
    caches,
    distance,
    figure,
    heading,
    number,
    part_name,
    percent,
    table,
    verdict_lines,
)
from advisor.measure.imported import Beside
from advisor.measure.imports.memory import Level
from advisor.measure.measured_facts import UNPUBLISHED, MeasuredFacts
from advisor.measure.measurement import (
    NETWORK,
    ImportedFigure,
    ImportedRun,
    KernelSheet,
    Measurements,
    Missing,
    Purpose,
    Result,
    Task,
    Unit,
    reported_or_zero,
    reported_text,
)
from advisor.measure.tables import NEAR, Seen, among_published, beside_published, section
from advisor.show.lines import Line, Page, Span, cut, numbered, width_of, wrapped

ANOTHER = "Published values are not looked up, because the file is from another machine; give that machine with --from."
_MOST_REFUSED, _MOST_TASKS = 12, 3
"""So many results and so many tasks of one reason are named; the file has all."""


def conditions(measurements: Measurements, width: int) -> list[Line]:
    """Return the machine, the time, whether it was idle, and how the kernels were built."""
    told, machine = measurements.conditions, measurements.machine
    parts = [plain(machine.cpu, 80) if machine.cpu else "processor not known"]
    parts += [count(machine.cpus, "CPU")] if machine.cpus else []
    parts += [count(len(machine.nodes), "NUMA node")] if machine.nodes else []
    lines = wrapped([(plain(machine.name or "Machine", 80), "title"), (f"  {', '.join(parts)}", "")], width)
    when = plain(told.when, 120)
    if not told.started:
        return lines + wrapped([(when, "")], width)
    lasted = f"{duration(told.seconds)}, " if told.seconds else ""
    took = f"measured {when}, {lasted}advisor {plain(measurements.advisor, 20)}"
    why = f": {'; '.join(plain(each) for each in told.busy)}" if told.busy else ""
    idle = {
        True: ("The machine was idle.", "good"),
        False: (f"! The machine was BUSY, so the results are unreliable{why}", "warn"),
        None: ("Whether the hosts were idle was not checked.", "unknown"),
    }[told.idle]
    kinds = sorted({plain(result.page_kind, 20) for result in measurements.results if result.page_kind})
    built = " ".join(plain(each) for each in (told.compiler, told.flags) if each) if told.compiler else "kernels built elsewhere"
    under = [
        built,
        f"governor {plain(told.governor, 80)}" if told.governor else "",
        f"transparent hugepages {plain(told.hugepages, 40)}" if told.hugepages else "",
        f"memory in {' and '.join(kinds)} pages" if kinds else "",
    ]
    return [
        *lines,
        *wrapped([(took, "")], width),
        *wrapped([idle], width),
        *wrapped([("; ".join(filter(None, under)), "dim")], width),
    ]


def rejected(measurements: Measurements, width: int) -> list[Line]:
    """Return what is rejected, with the reason."""
    found = [result for result in measurements.results if result.refused is not None]
    if not found:
        return []
    lines = heading("Rejected", f"{count(len(found), 'result')} not in any table above", width)
    for each in found[:_MOST_REFUSED]:
        cpus = f" {numbered(each.cpus)}" if each.part == "pair" else ""
        away = f", {distance(each.distance)}" if each.distance else ""
        what = f"{plain(each.kernel)} {plain(each.variant, 40)}, {part_name(each.part, each.index)}{cpus}{away}"
        spans = [
            ("x ", "warn"),
            (f"{what}: {amount(each.median, each.unit)}", "struck"),
            (f"  {plain(each.refused or '')}", "warn"),
        ]
        lines += wrapped(spans, width, indent=4)
    more = f"  and {count(len(found) - _MOST_REFUSED, 'result')} more: --json lists all"
    return lines + (wrapped([(more, "dim")], width) if len(found) > _MOST_REFUSED else [])


def missing(measurements: Measurements, width: int) -> list[Line]:
    """Return what could not be measured, by the reason."""
    if not measurements.missing:
        return []
    reasons: dict[str, list[Missing]] = defaultdict(list)
    for each in measurements.missing:
        reasons[each.why].append(each)
    lines = heading("Missing", count(len(measurements.missing), "task"), width)
    for why, tasks in reasons.items():
        names = ", ".join(plain(each.task, 80) for each in tasks[:_MOST_TASKS])
        names += f" and {len(tasks) - _MOST_TASKS} more" if len(tasks) > _MOST_TASKS else ""
        lines += wrapped([("? ", "unknown"), (f"{plain(why)}: ", ""), (names, "dim")], width, indent=4)
    return lines


def measured_page(
    measurements: Measurements,
    width: int | None = None,
    *,
    machine: Machine | None = None,
    facts: MeasuredFacts | None = None,
    intensity: float | None = None,
) -> RenderableType:
    """Return everything that was measured; the machine adds where its caches end and which cores share what.

    ``facts`` have what is published for such a machine; ``intensity`` is that of a code in the roofline.
    """

    def draw(room: int) -> list[Line]:
        lines = _tables(Seen(measurements, facts, room, caches(machine), machine, intensity))
        if lines and facts is None:
            lines += [(), *wrapped([(ANOTHER, "dim")], room)]
        nothing: list[Line] = [(), (("Nothing was measured.", "warn"),)]
        return [*conditions(measurements, room), *(lines or nothing), *rejected(measurements, room), *missing(measurements, room)]

    return Page(draw, width)


def measured_lines(
    measurements: Measurements, machine: Machine | None, width: int, facts: MeasuredFacts | None = None
) -> list[Line]:
    """Return the tables of what was measured, what is rejected and what is missing, without the conditions."""
    lines = _tables(Seen(measurements, facts, width, caches(machine), machine))
    return [*lines, *rejected(measurements, width), *missing(measurements, width)]


def _tables(seen: Seen) -> list[Line]:
    return [
        *tables.parts(seen),
        *tables.sparse(seen),
        *tables.patterns(seen),
        *tables.threads(seen),
        *tables.numa(seen, "bytes/s"),
        *tables.numa(seen, "seconds"),
        *tables.by_part(seen),
        *tables.by_working_set(seen),
        *tables.under_load(seen),
        *tables.cores(seen),
        *tables.flops(seen),
        *tables.clocks(seen),
        *tables.roofs(seen),
        *hpl_tables(seen),
        *messages(seen),
        *tables.own_kernels(seen),
    ]


_ADDED: tuple[Purpose, ...] = (*NETWORK, "hpl")


def hpl_and_network(measurements: Measurements, width: int, facts: MeasuredFacts | None = None) -> list[Line]:
    """Return those tables, and what of them is not believed or is missing; nothing where neither was measured.

    Why a task was to run is the second word of its name.
    """
    results = tuple(each for each in measurements.results if each.purpose in _ADDED)
    lacking = tuple(each for each in measurements.missing if each.task.partition("/")[2].partition("/")[0] in _ADDED)
    found = measurements.but(results=results, missing=lacking)
    seen = Seen(found, facts, width)
    return [*hpl_tables(seen), *messages(seen), *rejected(found, width), *missing(found, width)]


# ---- what kernels there are ----

KERNELS_SCHEMA = "advisor-kernels/1"
"""The number rises when a key changes meaning or goes."""
_COLUMNS = ("variant", "unit", "arrays", "read", "written", "flops", "iteration")


def kernels_page(kernels: Iterable[KernelSheet], wrong: Iterable[str] = (), width: int | None = None) -> RenderableType:
    """Return what every kernel can measure, and which header comments cannot be read."""
    sheets, problems = tuple(kernels), tuple(wrong)

    def draw(room: int) -> list[Line]:
        lines = [line for each in sheets for line in _kernel(each, room)]
        lines += [line for each in problems for line in wrapped([("! ", "warn"), (plain(each), "warn")], room, indent=2)]
        return lines[1:] if lines and not lines[0] else lines

    return Page(draw, width)


def kernels_document(kernels: Iterable[KernelSheet], wrong: Sequence[str]) -> dict[str, Any]:
    """Return the same as plain JSON values."""
    return {"schema": KERNELS_SCHEMA, "kernels": [each.model_dump(mode="json") for each in kernels], "wrong": [*wrong]}


def _kernel(sheet: KernelSheet, width: int) -> list[Line]:
    where = "between hosts or ranks, with MPI" if sheet.mpi else f"on {', '.join(part_name(part) for part in sheet.parts)}"
    rows: list[list[Cell]] = []
    for each in sheet.variants:
        amounts = ("-" if amount is None else str(amount) for amount in (each.arrays, each.read, each.written, each.flops))
        rows.append([plain(each.name, 40), plain(each.unit, 40), *amounts])
    lines = table(_COLUMNS[:-1], rows, width, "llrrrr")
    result = heading(sheet.name, f"{sheet.summary}, {where}", width)
    for line, words in zip(lines, (_COLUMNS[-1], *(each.iteration for each in sheet.variants)), strict=True):
        result += wrapped([*line, (f"  {plain(words, 400)}", "")], width, indent=min(width_of(line) + 2, max(4, width - 24)))
    return result


# ---- what will be measured, and what is being measured ----

ALIKE = 8
"""Up to so many tasks in a row that differ in their place only are listed each."""
_PATTERNS = 5
_WITHOUT_MEMORY: tuple[Purpose, ...] = ("map", "peak", "clock", "hpl", *NETWORK)
"""What is measured there has no memory to speak of, or each rank its own."""
_PURPOSES: dict[Purpose, str] = {
    "sparse": "1 per L3", "half": "half of each L3", "scaling": "threads", "ladder": "by size", "loaded": "under load",
    "map": "core to core", "peak": "peak", "clock": "clock", "roofline": "roofline", "network": "all cores",
    "network-few": "2 per node", "network-pair": "one pair",
}  # fmt: skip


def plan_page(tasks: Sequence[Task], kernels: Mapping[str, KernelSheet], width: int | None = None) -> RenderableType:
    """Return what will be measured, where, with what, and how long it takes: kernel by kernel."""
    by_kernel: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_kernel[task.kernel].append(task)

    def draw(room: int) -> list[Line]:
        if not tasks:
            return [(("Nothing to measure.", "warn"),)]
        lines = [line for kernel, some in by_kernel.items() for line in _tasks(some, kernels.get(kernel), room)]
        whole = f"{count(len(tasks), 'task')}, about {seconds(sum(task.seconds for task in tasks))}"
        return [*lines[1:], (), ((whole, "title"),)]

    return Page(draw, width)


def seconds(time: float) -> str:
    """Return how long something takes, as a person waits: ``4 s``, ``2 min 5 s``."""
    whole = round(time)
    if time < 9.95:
        return f"{time:.1f} s"
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"


def _tasks(tasks: Sequence[Task], sheet: KernelSheet | None, width: int) -> list[Line]:
    """Return what one kernel is to do, a row for each task, or for many that differ in their place only."""
    alone = len({task.variants for task in tasks}) == 1

    def patterns(task: Task, between: str) -> str:
        return between.join(plain(variant, 30) for variant in task.variants)

    def row(some: Sequence[Task]) -> tuple[str, ...]:
        first = some[0]
        cpus = numbered({cpu for task in some for cpu in task.cpus})
        wide = first.purpose in ("part", "matrix", "kernel") and len(first.cpus) > 1
        memory = ""
        if first.purpose not in _WITHOUT_MEMORY and (first.purpose, first.distance) != ("kernel", None):
            known = {task.memory for task in some if task.memory is not None}
            memory = f"node {numbered(known)}" if known else "first touch"
        away = distance(first.distance) if first.distance != "spread" else ""
        if first.purpose == "matrix" and first.slit is not None and first.distance != "local":
            away += f" ({first.slit})"  # the firmware's number distinguishes one hop from two
        return (
            part_name(first.part, first.index, len(some)),
            _PURPOSES.get(first.purpose) or (f"{first.groups} L3" if wide and first.groups else ""),
            cut(f"{len(first.cpus)} of {cpus}" if len(some) > 1 else cpus, width // 4),
            memory,
            away,
            "" if alone else patterns(first, ","),
            f"{sum(task.seconds for task in some):.1f}",
        )

    def alike(task: Task) -> tuple[object, ...]:
        where = (task.part, task.distance, task.slit, task.groups, len(task.cpus))
        return task.kernel, task.purpose, task.variants, *where, task.arguments

    shared = f", each with {patterns(tasks[0], ', ')}" if alone else ""
    told = f"{count(len(tasks), 'task')}, {seconds(sum(task.seconds for task in tasks))}{shared}"
    about = ", ".join(filter(None, (plain(sheet.summary) if sheet else "", told)))
    rows: list[tuple[str, ...]] = []
    for _, group in groupby(tasks, key=alike):
        some = list(group)
        rows += [row([task]) for task in some] if len(some) <= ALIKE else [row(some)]
    head = ("part", "", "CPUs", "memory", "distance", "patterns", "s")
    lines = table(head, rows, width, "llllllr", short=0 if alone else _PATTERNS, sparse=True)
    return [*heading(tasks[0].kernel, about, width), *lines]


_WHAT = {"membw": "memory bandwidth", "memlat": "memory latency", "peakflops": "floating point", "c2c": "core to core"}
_DOING: dict[Purpose, str] = {
    "ladder": "latency by working set", "loaded": "latency under load", "clock": "clock", "scaling": "thread scaling",
    "sparse": "memory bandwidth, one core of each L3 group", "half": "memory bandwidth, half the cores of each L3 group",
    "roofline": "roofline",
}  # fmt: skip


def in_words(task: Task) -> str:
    """Return what a task measures, as a person would say it: ``memory bandwidth of NUMA node 3, 16 cores``."""
    what = _DOING.get(task.purpose) or _WHAT.get(task.kernel) or plain(task.kernel, 40)
    if task.part == "pair" or task.purpose == "map":
        return f"{what}, {count(len(task.cpus), 'CPU')}"
    far = f", memory of the {distance(task.distance)}" if task.distance in ("same-socket", "other-socket") else ""
    where = "the machine" if task.part == "machine" else part_name(task.part, task.index)
    size = "" if task.part == "core" else f", {count(len(task.cpus), 'core')}"
    return f"{what} of {where}{size}{far}"


_OVERDUE = -2.0


def time_left(seconds: float) -> str:
    """Return how long the rest takes: ``about 40 s left``, ``about 3 min left``, ``nearly done``, ``longer than planned``."""
    if seconds < 1:
        return "nearly done" if seconds > _OVERDUE else "longer than planned"
    return f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left"


# ---- what other programs printed ----

_ROW = 6
"""Figures of a run that are shown; --json has all."""


def imported_page(
    runs: Iterable[tuple[str, ImportedRun]],
    levels: Mapping[str, Sequence[Level]],
    refused: Sequence[str],
    notes: Sequence[str],
    width: int | None,
) -> Page:
    """Return the page of some files: a few lines a run, what is not in the file, and what is refused."""
    every = [(name, run) for name, run in runs if run.refused is None]

    def draw(room: int) -> list[Line]:
        lines: list[Line] = []
        for name, run in every:
            version = f" {plain(run.version, 20)}" if run.version else ""
            lines += heading(f"{plain(run.tool, 80)}{version}", f"{plain(name, 120)}:{run.line}", room)
            figures = "; ".join(_figures(run.figures, levels.get(f"{name}:{run.line}", ())))
            lines += wrapped([("  ", ""), (figures, "")], room, indent=2)
            told = ", ".join(f"{plain(key, 20)} {plain(str(value), 60)}" for key, value in run.conditions.items())
            for label, words in (("with", told), ("not in the file", ", ".join(run.not_said)), ("note", "; ".join(run.notes))):
                if words:
                    lines += wrapped([(f"  {label}: ", "label"), (plain(words, 400), "dim")], room, indent=4)
        lines += heading("Refused", count(len(refused), "file or run", "files or runs"), room) if refused else []
        for why in refused:
            lines += wrapped([("x ", "warn"), (plain(why, 400), "")], room, indent=4)
        for note in notes:
            lines += wrapped([("Note: ", "label"), (plain(note, 400), "")], room, indent=6)
        return lines

    return Page(draw, width)


def _figures(figures: Sequence[ImportedFigure], levels: Sequence[Level]) -> Iterator[str]:
    """Yield a run's figures in words: one each, or of a table by size its ends, or of a matrix how far apart it is."""

    def span(values: Sequence[float], unit: Unit) -> str:
        return " to ".join(dict.fromkeys([amount(min(values), unit), amount(max(values), unit)]))

    if any(figure.scope == "CPU to CPU" for figure in figures):
        times = span([figure.value for figure in figures], "seconds")
        yield f"{count(len(figures), 'pair')} of CPUs, {times} per half round trip"
        for level in levels:
            inside = f"below {amount(level.seconds, 'seconds')} inside each"
            yield f"{len(level.groups)} groups of {len(level.groups[0])} CPUs, {inside}"
        if not levels:
            yield "no groups: no latency step of 50 % or more"
        return
    kinds: dict[tuple[str, Unit, bool], list[ImportedFigure]] = defaultdict(list)
    for read in figures:
        kinds[read.what, read.unit, read.at is not None].append(read)
    for (what, unit, between), own in list(kinds.items())[:_ROW]:
        if between:
            sides = {"own node": True, "other nodes": False}
            values = {
                name: [each.value for each in own if each.at and (each.at[0] == each.at[1]) == near]
                for name, near in sides.items()
            }
            yield f"{plain(what, 40)}: {', '.join(f'{name} {span(found, unit)}' for name, found in values.items() if found)}"
        else:  # the best of a table by size; of times that of the smallest message
            best = min(own, key=lambda each: each.size or 0) if unit == "seconds" else max(own, key=lambda each: each.value)
            size = f" at {binary(best.size)}" if best.size is not None and len(own) > 1 else ""
            made = best.scope if best.statistic == "one" else f"{best.statistic}, {best.scope}"
            yield f"{plain(what, 40)} {amount(best.value, unit)}{size} ({made})"


def compared_document(rows: Sequence[Beside], names: tuple[str, str]) -> dict[str, Any]:
    """Return the document of ``advisor compare --json`` of two programs' figures."""
    figures = [
        {"what": row.what, "unit": row.unit, "first": row.first, "second": row.second, "ratio": row.second / row.first}
        for row in rows
    ]
    return {"schema": "advisor-compare/1", "files": list(names), "figures": figures}


def compared_page(rows: Sequence[Beside], names: tuple[str, str], width: int | None) -> Page:
    """Return figures that two sides have, beside each other."""
    head = ("figure", plain(names[0], 30), plain(names[1], 30), "second / first")
    cells = [
        (row.what, amount(row.first, row.unit), amount(row.second, row.unit), f"{row.second / row.first:.2f}") for row in rows
    ]
    return Page(
        lambda room: [*heading("Side by side", count(len(rows), "figure"), room), *table(head, cells, room, "lrrr")], width
    )


def _text(result: Result, name: str) -> str:
    return plain(reported_text(result, name), 120)


# ---- HPL, on one and more hosts ----


def hpl_tables(seen: Seen) -> list[Line]:
    """Return the runs of HPL that are believed, those of a scaling table and the others, and how they stand to publications."""
    found = [each for each in seen.measurements.results if each.kernel == "hpl" and each.refused is None]
    scaled = [each for each in found if each.details.get("scaling") is True]
    lines = [*_runs([each for each in found if each not in scaled], seen), *_scaled(scaled, seen)]
    if not lines or seen.facts is None:
        return lines
    own, verdict = seen.facts.hpl, beside_published(seen.facts.published_hpl, flop_rate)
    if own and not verdict:
        said = flop_rate(own.rate)
        if own.of_load:
            said += f": {percent(own.of_load)} of the peak under load"
        elif own.of_base:
            said += f": {percent(own.of_base)} of the peak at base clock"
        verdict = [(said, ""), *among_published(seen, "hpl")]
    return lines + verdict_lines(verdict, seen.width)


def _runs(found: Sequence[Result], seen: Seen) -> list[Line]:
    """Return a row for each run; another program's output has neither threads nor peaks."""
    if not found:
        return []
    rows: list[list[Cell]] = []
    for each in found:
        threads = _whole(each, "threads")
        rows.append([_whole(each, "n"), _whole(each, "nb"), _grid(each), threads if threads != "0" else "-", *_rates(each)])
    ranks = _whole(found[-1], "ranks")
    about = ", ".join(filter(None, (*_program(found[-1]), f"{ranks} ranks" if ranks != "0" else "", _repeats(found[-1]))))
    head = ("N", "NB", "P x Q", "threads", "GFLOP/s", "spread", "of base-clock peak", "of peak under load", "of DGEMM")
    return [*section(seen, "HPL", about, head, rows, right="rrlrrrrrr", short=2, sparse=True), *_bounds(found[-1], seen.width)]


def _scaled(found: Sequence[Result], seen: Seen) -> list[Line]:
    """Return a row for each number of hosts, or part of one: against the first of them, core by core, and against the peaks."""
    if not found:
        return []
    first, last = found[0], found[-1]
    rows: list[list[Cell]] = []
    for each in found:
        cores, then = reported_or_zero(each, "cores"), reported_or_zero(first, "cores")
        against = percent(each.median / cores / (first.median / then)) if cores and then else "-"
        rate, spread, base, load, _ = _rates(each)
        rows.append([_on(each), _whole(each, "cores"), _whole(each, "n"), _grid(each), rate, spread, against, base, load])
    about = ", ".join(filter(None, (*_program(last), f"NB {_whole(last, 'nb')}", _repeats(last))))
    head = ("on", "cores", "N", "P x Q", "GFLOP/s", "spread", f"of {_on(first)}", "of base", "of load")
    return [*section(seen, "HPL scaling", about, head, rows, right="lrrlrrrrr", short=3), *_bounds(last, seen.width)]


def _on(result: Result) -> str:
    """Return what a run had: ``4 hosts``, ``NUMA node 0``, ``machine``."""
    hosts = int(reported_or_zero(result, "hosts"))
    if result.part == "machine" and (hosts > 1 or _text(result, "hosts_named")):
        return count(hosts, "host")
    return part_name(result.part, result.index)


def _whole(result: Result, name: str) -> str:
    return f"{reported_or_zero(result, name):.0f}"


def _grid(result: Result) -> str:
    return f"{_whole(result, 'p')} x {_whole(result, 'q')}"


def _program(result: Result) -> tuple[str, str]:
    """Return what solved the system, and with which BLAS."""
    return _text(result, "program"), " ".join(filter(None, (_text(result, "blas"), _text(result, "blas_core"))))


def _repeats(result: Result) -> str:
    return f"median of {len(result.values)} runs" if len(result.values) > 1 else "one run"


def _rates(result: Result) -> list[Cell]:
    """Return a run's rate, its spread, and its shares of the peak at base clock, of the peak under load and of DGEMM."""
    peaks = [reported_or_zero(result, name) for name in ("peak_base", "peak_load", "dgemm_all")]
    shares = [percent(result.median / peak) if peak else "-" for peak in peaks]
    return [(number(result.median, "flop/s"), "title"), percent(result.spread) if len(result.values) > 1 else "", *shares]


def _bounds(result: Result, width: int) -> list[Line]:
    """Return what bounds a run, and a doubt about its BLAS."""
    base, load, dgemm = (reported_or_zero(result, name) for name in ("peak_base", "peak_load", "dgemm_all"))
    parts = [
        f"base clock times the FLOP/cycle of all cores: {amount(base, 'flop/s')}"
        if base
        else "the peak at base clock is unknown",
        f"FMA on all cores under load: {amount(load, 'flop/s')}" if load else "no peak under load was measured",
        *([f"DGEMM on all ranks at once: {amount(dgemm, 'flop/s')}"] if dgemm else []),
    ]
    doubt = _text(result, "blas_doubt")
    return [*wrapped([("; ".join(parts), "dim")], width), *(wrapped([(f"! {doubt}", "warn")], width) if doubt else [])]


# ---- messages ----

_LITTLE = 0.02
"""Less cannot be distinguished from noise."""
_AWAY = {"local": "here", "same-socket": "same socket", "other-socket": "other socket"}
_LOSES = 0.1


@dataclass(frozen=True)
class _Site:
    """What ranks of one place reached, by variant and size."""

    results: Mapping[tuple[str, int], Result]

    @property
    def first(self) -> Result:
        """One of the results, for what they have in common."""
        return next(iter(self.results.values()))

    @property
    def away(self) -> str:
        """How far the adapter is, as seen from there."""
        return _text(self.first, "hca_distance")

    @property
    def mark(self) -> str:
        """The adapter, and that in words."""
        hca = _text(self.first, "hca")
        return f"{hca} {_AWAY.get(self.away, '')}".strip() if hca and self.away else ""

    @property
    def is_node(self) -> bool:
        """Whether these are all cores of a NUMA node."""
        return self.first.part == "numa" and self.first.purpose == "network"

    def best(self, variant: str) -> Result | None:
        """Return the size that is fastest."""
        return max((each for (name, _), each in self.results.items() if name == variant), key=lambda r: r.median, default=None)

    def fastest(self, variant: str) -> list[Cell]:
        """Return the cells of that: how fast, at which size, as a share of the line."""
        best = self.best(variant)
        if best is None:
            return ["", "", ""]
        share = percent(best.median / best.ceiling) if best.ceiling else ""
        return [number(best.median, "bytes/s"), _size(best.bytes or 0), share]


def _sites(results: Iterable[Result]) -> list[_Site]:
    places: dict[str, dict[tuple[str, int], Result]] = defaultdict(dict)
    for each in results:
        places[each.task][each.variant, each.bytes or 0] = each
    return [_Site(found) for found in places.values()]


def messages(seen: Seen) -> list[Line]:
    """Return for each adapter what pairs of ranks reach, place by place, beside publications and the adapter's line."""
    believed = [each for each in seen.measurements.results if each.purpose in NETWORK and each.refused is None]
    lines: list[Line] = []
    for hca in dict.fromkeys(_text(each, "hca") for each in believed):
        own = [each for each in believed if _text(each, "hca") == hca]
        lines += _two_ranks([each for each in own if each.purpose == "network-pair"], seen)
        lines += _many_pairs([each for each in own if each.purpose in ("network", "network-few")], seen)
    if not lines or seen.facts is None:
        return lines
    verdict: list[Span] = []
    for each in seen.facts.adapters:
        if each.bandwidth and not each.share:
            said = f"{plain(each.name, 40)} {throughput(each.bandwidth)} one way; its line rate is unknown"
            verdict.append((said, "unknown"))
        elif each.bandwidth and each.share:
            of = f"{percent(each.share)} of {plain(each.limit or 'its line', 60)}"
            said = f"{plain(each.name, 40)} {throughput(each.bandwidth)} one way: {of}"
            verdict.append((said, "good" if each.share >= NEAR else "warn"))
    told = beside_published(seen.facts.published_network, throughput)
    told += beside_published(seen.facts.published_network_latency, duration, less=True)
    return lines + verdict_lines([*verdict, *(told or [(UNPUBLISHED, "")])], seen.width)


def _network(name: str, results: Sequence[Result], head: Sequence[str], rows: Sequence[Sequence[Cell]], seen: Seen) -> list[Line]:
    """Return a table of messages: between which hosts, with what, through which adapter, whose line carries how much."""
    first = results[0]
    hosts = _text(first, "hosts_named").split(",")
    inside = not reported_or_zero(first, "across")
    way = _text(first, "way")
    adapter = _text(first, "hca") + (f" (path {way})" if way else "")
    limit = ""
    if bound := next((each for each in results if each.ceiling is not None), None):
        one_way = (bound.ceiling or 0.0) / (2 if bound.variant == "bibw" else 1)
        limit = f"line: {amount(one_way, 'bytes/s')} one way ({_text(bound, 'line')})"
    about = [
        f"inside {hosts[0] or 'this machine'}, shared memory" if inside else " and ".join(filter(None, hosts)) or "two hosts",
        _text(first, "launcher"),
        adapter or ("" if inside else "no adapter chosen"),
        limit,
        f"median of {len(first.values)} repeats" if len(first.values) > 1 else "one run",
    ]
    right = "".join("l" if each in ("part", "adapter") else "r" for each in head)
    return section(seen, name, ", ".join(filter(None, about)), head, rows, right=right, sparse=True)


def _size(size: int) -> str:
    return binary(size) if size >= 1024 else f"{size} B"


def _two_ranks(results: Sequence[Result], seen: Seen) -> list[Line]:
    """Return what one rank on each host reaches, and what distance from the adapter costs."""
    if not results:
        return []
    sites, small = _sites(results), min(each.bytes or 0 for each in results)
    rows: list[list[Cell]] = []
    for site in sites:
        latency, one, both = site.results.get(("latency", small)), site.best("mbw_mr"), site.best("bibw")
        rate, at, share = site.fastest("mbw_mr")
        rows.append(
            [
                part_name(site.first.part, site.first.index),
                site.mark,
                f"{latency.median * 1e6:.2f}" if latency else "",
                rate,
                site.fastest("bibw")[0],
                at,
                share,
                percent(max(each.spread for each in (latency, one, both) if each)),
            ]
        )
    head = ("part", "adapter", f"us, {_size(small)}", "GB/s one way", "both ways", "at", "of line", "spread")
    lines = _network("Two ranks", results, head, rows, seen)
    known = {site.away: site.results.get(("latency", small)) for site in sites}
    near, far = known.get("local"), known.get("other-socket") or known.get("same-socket")
    if near is None or far is None:
        return lines
    more = far.median / near.median - 1
    words = f"Far from the adapter, latency is {percent(more)} {'higher' if more >= 0 else 'lower'}."
    return lines + wrapped([(words, "")], seen.width)


def _many_pairs(results: Sequence[Result], seen: Seen) -> list[Line]:
    """Return what all cores of parts reach, and what the place of the ranks costs: the median of the other socket's nodes."""
    if not results:
        return []
    sites, small = _sites(results), min(each.bytes or 0 for each in results)
    rates: dict[str, list[float]] = defaultdict(list)
    for site in sites:
        if site.is_node and (best := site.best("mbw_mr")):
            rates[site.away].append(best.median)
    near, far = max(rates["local"], default=None), sorted(rates["other-socket"])
    rows: list[list[Cell]] = []
    for site in sites:
        best, rate, home = site.best("mbw_mr"), site.results.get(("mbw_mr", small)), site.is_node and site.away == "local"
        name = part_name(site.first.part, site.first.index)
        loss = best.median / near - 1 if best and near and site.is_node and not home else None
        rows.append(
            [
                (name if site.first.purpose == "network" else f"{name}, 2 per node", "title" if home else ""),
                (site.mark, "good" if site.mark.endswith("here") else "dim"),
                _whole(site.first, "pairs"),
                figure(reported_or_zero(rate, "messages") / 1e6) if rate else "",
                *site.fastest("mbw_mr"),
                "" if loss is None else (f"{100 * loss:+.0f} %", "warn" if loss < -_LOSES else ""),
                percent(best.spread) if best else "",
            ]
        )
    head = ("part", "adapter", "pairs", f"M msg/s, {_size(small)}", "GB/s", "at", "of line", "against near", "spread")
    lines = _network("Many pairs", results, head, rows, seen)
    if near is None or not far:
        return lines
    middle = far[len(far) // 2]
    loss = 1 - middle / near
    if abs(loss) < _LITTLE:
        return lines + wrapped([("Messages are as fast on the other socket as near the adapter.", "good")], seen.width)
    words = f"On the other socket, {percent(abs(loss))} of the bandwidth is {'lost' if loss > 0 else 'gained'}"
    return lines + wrapped([(f"{words}: {number(middle, 'bytes/s')} of {amount(near, 'bytes/s')}.", "")], seen.width)
