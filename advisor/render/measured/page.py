"""The page of measurements: conditions, tables, what is rejected or missing; and the table of what will be measured."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from rich.console import RenderableType

from advisor.language.units import UNKNOWN, count, duration, plain
from advisor.model.hardware.machine import Machine
from advisor.model.measurement import NETWORK, Conditions, Identity, KernelSheet, Measurements, Missing, Purpose, Result, Task
from advisor.render.cpulists import numbered
from advisor.render.lines import Line, cut, wrapped
from advisor.render.measured import bandwidth, flops, latency, network
from advisor.render.measured.figures import MeasuredPage, amount, distance, heading, part_name, rejected_span, table
from advisor.render.measured.series import caches, own_kernels

ALIKE = 8
"""Up to so many tasks in a row that differ in their place only are listed each."""

_PATTERNS: Final = 5
_WITHOUT_MEMORY: Final[tuple[Purpose, ...]] = ("map", "peak", "clock", "hpl", *NETWORK)
"""What is measured there has no memory to speak of, or each rank its own."""
_PURPOSES: dict[Purpose, str] = {
    "part": "",
    "sparse": "1 per L3",
    "half": "half of each L3",
    "scaling": "threads",
    "matrix": "",
    "ladder": "by size",
    "loaded": "under load",
    "map": "core to core",
    "peak": "peak",
    "clock": "clock",
    "roofline": "roofline",
    "network": "all cores",
    "network-few": "2 a node",
    "network-pair": "one pair",
    "hpl": "",
    "kernel": "",
}


def task_table(tasks: Sequence[Task], width: int, kernels: Mapping[str, KernelSheet]) -> list[Line]:
    """Return what will be measured, kernel by kernel, and how long it takes."""
    if not tasks:
        return [(("Nothing to measure.", "warn"),)]
    lines: list[Line] = []
    for kernel, some in groupby(tasks, key=lambda task: task.kernel):
        sheet = kernels.get(kernel)
        lines += _kernel(list(some), sheet.summary if sheet else "", width)
    return [*lines[1:], (), ((f"{count(len(tasks), 'task')}, about {seconds(sum(task.seconds for task in tasks))}", "title"),)]


def seconds(time: float) -> str:
    """Return how long something takes, as a person waits: ``4 s``, ``2 min 5 s``."""
    whole = round(time)
    if time < 9.95:
        return f"{time:.1f} s"
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"


def _kernel(tasks: Sequence[Task], summary: str, width: int) -> list[Line]:
    patterns = {task.variants for task in tasks}
    shared = f", each with {_patterns(tasks[0], ', ')}" if len(patterns) == 1 else ""
    told = f"{count(len(tasks), 'task')}, {seconds(sum(task.seconds for task in tasks))}{shared}"
    about = ", ".join(part for part in (plain(summary), told) if part)
    rows: list[tuple[str, ...]] = [("part", "", "CPUs", "memory", "distance", "patterns", "s")]
    for _, some in groupby(tasks, key=_alike):
        found = list(some)
        rows += [_row([task], width // 4) for task in found] if len(found) <= ALIKE else [_row(found, width // 4)]
    told_columns = [at for at in range(len(rows[0])) if any(row[at] for row in rows[1:]) and not (shared and at == _PATTERNS)]
    head, *body = [[row[at] for at in told_columns] for row in rows]
    right = "".join("r" if at == len(rows[0]) - 1 else "l" for at in told_columns)
    return [*heading(tasks[0].kernel, about, width), *table(head, body, width, right, short=0 if shared else len(head) - 2)]


def _alike(task: Task) -> tuple[object, ...]:
    return (
        task.kernel,
        task.purpose,
        task.variants,
        task.part,
        task.distance,
        task.slit,
        task.groups,
        len(task.cpus),
        task.arguments,
    )


def _row(tasks: Sequence[Task], room: int) -> tuple[str, ...]:
    first = tasks[0]
    cpus = numbered({cpu for task in tasks for cpu in task.cpus})
    return (
        part_name(first.part, first.index, len(tasks)),
        _PURPOSES.get(first.purpose, "") or _groups(first),
        cut(f"{len(first.cpus)} of {cpus}" if len(tasks) > 1 else cpus, room),
        _memory(tasks),
        _distance(first),
        _patterns(first, ","),
        f"{sum(task.seconds for task in tasks):.1f}",
    )


def _groups(task: Task) -> str:
    """Return over how many L3 groups the cores of a part lie: one CCX, or both of a die."""
    wide = task.purpose in ("part", "matrix", "kernel") and len(task.cpus) > 1
    return f"{task.groups} L3" if wide and task.groups else ""


def _distance(task: Task) -> str:
    """Return how far the memory is, with the firmware's number, which distinguishes one hop from two."""
    words = distance(task.distance) if task.distance != "spread" else ""
    far = task.purpose == "matrix" and task.slit is not None and task.distance != "local"
    return f"{words} ({task.slit})" if far else words


def _patterns(task: Task, between: str) -> str:
    return between.join(plain(variant, 30) for variant in task.variants)


def _memory(tasks: Sequence[Task]) -> str:
    if tasks[0].purpose in _WITHOUT_MEMORY or (tasks[0].purpose == "kernel" and tasks[0].distance is None):
        return ""
    known = {task.memory for task in tasks if task.memory is not None}
    return f"node {numbered(known)}" if known else "first touch"


_MOST_REFUSED, _MOST_TASKS = 12, 3
"""So many results and so many tasks of one reason are named; the file has all."""


def conditions(measurements: Measurements, width: int) -> list[Line]:
    """Return the machine, the time, whether it was idle, and how the kernels were built."""
    told, kinds = measurements.conditions, {result.page_kind for result in measurements.results if result.page_kind}
    when = plain(told.started[:16].replace("T", " "), 20)
    took = f"measured {when}, {duration(told.seconds)}, advisor {plain(measurements.advisor, 20)}"
    lines = wrapped(
        [(plain(measurements.machine.name or "Machine", 80), "title"), (f"  {_machine(measurements.machine)}", "")], width
    )
    lines += wrapped([(took, "")], width)
    lines += _idle(told, width)
    return lines + wrapped([(_built(told, kinds), "dim")], width)


def _machine(machine: Identity) -> str:
    parts = [plain(machine.cpu, 80) if machine.cpu else "processor not known"]
    parts += [count(machine.cpus, "CPU")] if machine.cpus else []
    parts += [count(len(machine.nodes), "NUMA node")] if machine.nodes else []
    return ", ".join(parts)


def _idle(told: Conditions, width: int) -> list[Line]:
    if told.idle:
        return wrapped([("The machine was idle.", "good")], width)
    if told.idle is None:
        return wrapped([("Whether the hosts were idle was not checked.", "unknown")], width)
    why = f": {'; '.join(plain(each) for each in told.busy)}" if told.busy else ""
    return wrapped([(f"! The machine was BUSY, the results are disturbed{why}", "warn")], width)


def _built(told: Conditions, kinds: Iterable[str]) -> str:
    built = " ".join(plain(each) for each in (told.compiler, told.flags) if each) if told.compiler else "kernels built elsewhere"
    got = " and ".join(sorted(plain(kind, 20) for kind in kinds))
    parts = [
        built,
        f"governor {plain(told.governor, 80) if told.governor else UNKNOWN}",
        f"transparent hugepages {plain(told.hugepages, 40) if told.hugepages else UNKNOWN}",
        f"memory came in {got} pages" if got else "",
    ]
    return "; ".join(part for part in parts if part)


def rejected(measurements: Measurements, width: int) -> list[Line]:
    """Return what is rejected, with the reason."""
    found = [result for result in measurements.results if result.refused is not None]
    if not found:
        return []
    lines = heading("Not believed", f"{count(len(found), 'result')}, in no table above", width)
    for result in found[:_MOST_REFUSED]:
        why = f"  {plain(result.refused or '')}"
        lines += wrapped([("x ", "warn"), rejected_span(_result(result)), (why, "warn")], width, indent=4)
    return lines + _more(len(found) - _MOST_REFUSED, "result", width)


def _result(result: Result) -> str:
    away = distance(result.distance)
    where = part_name(result.part, result.index)
    cpus = f" {numbered(result.cpus)}" if result.part == "pair" else ""
    what = f"{plain(result.kernel)} {plain(result.variant, 40)}, {where}{cpus}{', ' if away else ''}{away}"
    return f"{what}: {amount(result.median, result.unit)}"


def missing(measurements: Measurements, width: int) -> list[Line]:
    """Return what could not be measured, by the reason."""
    if not measurements.missing:
        return []
    reasons: dict[str, list[Missing]] = defaultdict(list)
    for each in measurements.missing:
        reasons[each.why].append(each)
    lines = heading("Missing", count(len(measurements.missing), "task"), width)
    for why, tasks in reasons.items():
        lines += wrapped([("? ", "unknown"), (f"{plain(why)}: ", ""), (_named(tasks), "dim")], width, indent=4)
    return lines


def _named(tasks: Sequence[Missing]) -> str:
    names = ", ".join(plain(each.task, 80) for each in tasks[:_MOST_TASKS])
    return names + (f" and {len(tasks) - _MOST_TASKS} more" if len(tasks) > _MOST_TASKS else "")


def _more(number: int, what: str, width: int) -> list[Line]:
    return wrapped([(f"  and {count(number, what)} more: --json has all", "dim")], width) if number > 0 else []


def measured_page(
    measurements: Measurements,
    width: int | None = None,
    *,
    machine: Machine | None = None,
    levels: Mapping[str, int] | None = None,
) -> RenderableType:
    """Return everything that was measured; the machine adds where its caches end and which cores share what.

    ``levels`` are the bytes of caches by name, where the caller knows more of them than the machine tells.
    """
    known = {**caches(machine), **(levels or {})}
    return MeasuredPage(lambda room: _lines(measurements, machine, known, room), width)


def _lines(measurements: Measurements, machine: Machine | None, levels: Mapping[str, int], width: int) -> list[Line]:
    tables = _tables(measurements, machine, levels, width)
    nothing: list[Line] = [(), (("Nothing was measured.", "warn"),)]
    return [*conditions(measurements, width), *(tables or nothing), *rejected(measurements, width), *missing(measurements, width)]


def measured_lines(measurements: Measurements, machine: Machine | None, width: int) -> list[Line]:
    """Return the tables of what was measured, what is rejected and what is missing, without the conditions."""
    tables = _tables(measurements, machine, caches(machine), width)
    return [*tables, *rejected(measurements, width), *missing(measurements, width)]


def _tables(measurements: Measurements, machine: Machine | None, levels: Mapping[str, int], width: int) -> list[Line]:
    return [
        *bandwidth.parts(measurements, width),
        *bandwidth.sparse(measurements, width),
        *bandwidth.patterns(measurements, width),
        *bandwidth.threads(measurements, width),
        *latency.numa(measurements, width),
        *latency.by_part(measurements, width),
        *latency.by_working_set(measurements, levels, width),
        *latency.under_load(measurements, width),
        *latency.cores(measurements, machine, width),
        *flops.flops(measurements, width),
        *flops.clocks(measurements, width),
        *flops.hpl_tables(measurements, width),
        *network.tables(measurements, width),
        *own_kernels(measurements, width),
    ]


def plan_page(tasks: Sequence[Task], kernels: Mapping[str, KernelSheet], width: int | None = None) -> RenderableType:
    """Return what will be measured, where, with what, and how long it takes: kernel by kernel."""
    order = list(dict.fromkeys(task.kernel for task in tasks))
    ordered = sorted(tasks, key=lambda task: order.index(task.kernel))
    return MeasuredPage(lambda room: task_table(ordered, room, kernels), width)


_ADDED: Final[tuple[Purpose, ...]] = (*NETWORK, "hpl")


def hpl_and_network(measurements: Measurements, width: int) -> list[Line]:
    """Return those tables, and what of them is not believed or is missing; nothing where neither was measured."""
    found = measurements.model_copy(
        update={
            "results": tuple(each for each in measurements.results if each.purpose in _ADDED),
            "missing": tuple(each for each in measurements.missing if _purpose(each) in _ADDED),
        }
    )
    return [
        *flops.hpl_tables(found, width),
        *network.tables(found, width),
        *rejected(found, width),
        *missing(found, width),
    ]


def _purpose(missing: Missing) -> str:
    """Return why a task was to run: the second word of its name."""
    return [*missing.task.split("/"), ""][1]
