"""What will be measured, as a table: alike tasks as one row where they are many."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from advisor.language.units import count, plain
from advisor.model.measurement import Purpose, Task
from advisor.render.cpulists import numbered
from advisor.render.lines import Line, cut
from advisor.render.measured_paint import heading, table
from advisor.render.measured_words import distance, part_name

ALIKE = 8
"""Up to so many tasks in a row that differ in their place only are listed each."""

_ABOUT = {
    "membw": "memory bandwidth",
    "memlat": "memory latency",
    "c2c": "round trips between cores",
    "peakflops": "floating point",
    "mbw_mr": "message rate",
    "hpl": "Linpack",
}
_PATTERNS: Final = 5
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
}


def plan(tasks: Sequence[Task], width: int) -> list[Line]:
    """Return what will be measured, kernel by kernel, and how long it takes."""
    if not tasks:
        return [(("Nothing to measure.", "warn"),)]
    lines: list[Line] = []
    for _, some in groupby(tasks, key=lambda task: task.kernel):
        lines += _kernel(list(some), width)
    return [*lines[1:], (), ((f"{count(len(tasks), 'task')}, about {seconds(sum(task.seconds for task in tasks))}", "title"),)]


def seconds(time: float) -> str:
    """Return how long something takes, as a person waits: ``4 s``, ``2 min 5 s``."""
    whole = round(time)
    if time < 9.95:
        return f"{time:.1f} s"
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"


def _kernel(tasks: Sequence[Task], width: int) -> list[Line]:
    patterns = {task.variants for task in tasks}
    shared = f", each with {_patterns(tasks[0], ', ')}" if len(patterns) == 1 else ""
    told = f"{count(len(tasks), 'task')}, {seconds(sum(task.seconds for task in tasks))}{shared}"
    about = ", ".join(part for part in (_ABOUT.get(tasks[0].kernel, ""), told) if part)
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
    wide = task.kernel == "membw" and task.part in ("l3", "numa", "socket", "machine")
    return f"{task.groups} L3" if wide and task.groups else ""


def _distance(task: Task) -> str:
    """Return how far the memory is, with the firmware's number, which tells one hop from two."""
    words = distance(task.distance) if task.distance != "spread" else ""
    far = task.purpose == "matrix" and task.slit is not None and task.distance != "local"
    return f"{words} ({task.slit})" if far else words


def _patterns(task: Task, between: str) -> str:
    return between.join(plain(variant, 30) for variant in task.variants)


def _memory(tasks: Sequence[Task]) -> str:
    if tasks[0].kernel not in ("membw", "memlat"):
        return ""
    known = {task.memory for task in tasks if task.memory is not None}
    return f"node {numbered(known)}" if known else "first touch"
