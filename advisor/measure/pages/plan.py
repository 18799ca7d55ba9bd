"""What will be measured and what is being measured: kernel by kernel as a table, and one task in words."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from rich.console import RenderableType

from advisor.machine.units import count, plain
from advisor.measure.measurement import NETWORK, KernelSheet, Purpose, Task
from advisor.measure.pages.series import MeasuredPage, distance, heading, part_name, table
from advisor.show.cpulists import numbered
from advisor.show.lines import Line, cut

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


def plan_page(tasks: Sequence[Task], kernels: Mapping[str, KernelSheet], width: int | None = None) -> RenderableType:
    """Return what will be measured, where, with what, and how long it takes: kernel by kernel."""
    order = list(dict.fromkeys(task.kernel for task in tasks))
    ordered = sorted(tasks, key=lambda task: order.index(task.kernel))
    return MeasuredPage(lambda room: task_table(ordered, room, kernels), width)


_WHAT: Final = {"membw": "memory bandwidth", "memlat": "memory latency", "peakflops": "floating point", "c2c": "core to core"}
_DOING: Final[dict[Purpose, str]] = {
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


_OVERDUE: Final = -2.0


def time_left(seconds: float) -> str:
    """Return how long the rest takes: ``about 40 s left``, ``about 3 min left``, ``nearly done``, ``longer than planned``."""
    if seconds < 1:
        return "nearly done" if seconds > _OVERDUE else "longer than planned"
    return f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left"
