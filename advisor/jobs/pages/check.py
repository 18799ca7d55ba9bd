"""The page of `advisor check job.sbatch`: what each line starts, what is wrong and the cure, in the order of the lines."""

from advisor.jobs.check import Check, CheckedFault, CheckedStep
from advisor.jobs.pages.page import node_lines
from advisor.jobs.pages.ranks import rows_of_ranks
from advisor.jobs.placement import LintRank, Slot
from advisor.machine.machine import Machine
from advisor.machine.units import count, plain
from advisor.show.lines import Line, Page, wrapped

_MOST_DRAWN = 3
"""Drawings of a node on a page: of steps whose ranks lie otherwise."""


def check_page(found: Check, width: int | None = None, machine: Machine | None = None) -> Page:
    """Return the page of a script; with the node that it was placed on, drawn with the ranks of each step."""
    return Page(lambda room: _lines(found, room, machine), width)


def _lines(found: Check, width: int, machine: Machine | None) -> list[Line]:
    job = found.job
    asked = [count(job.nodes, "node") if job.nodes else "", count(job.tasks, "task") if job.tasks else ""]
    asked += [
        f"{count(job.cpus_per_task, 'CPU')} a task" if job.cpus_per_task else "",
        count(job.gpus, "GPU") if job.gpus else "",
    ]
    asked.append(f"each time of the array {plain(job.array, 60)}" if job.array else "")
    head = ", ".join(each for each in asked if each)
    title = f"{plain(found.file, 200)}: " + (f"{job.scheduler} job" if job.scheduler != "none" else "no scheduler's directives")
    result = wrapped([(title, "title"), (f", {head}" if head else "", "")], width)
    for each in found.assumed:
        result += wrapped([("  ", ""), (plain(each, 600), "dim")], width)
    result += [(), (("What it starts", "heading"),)]
    if not found.steps:
        result.append((("  nothing by a launcher: the script itself is the program", ""),))
    drawn: list[tuple[LintRank, ...]] = []
    for step in found.steps:
        result += _step(step, width)
        ranks = step.placement or ()
        here = tuple(rank for rank in ranks if rank.host == ranks[0].host)
        if machine and here and here not in drawn and all(rank.cpus for rank in here) and len(drawn) < _MOST_DRAWN:
            drawn.append(here)
            slots = [Slot(cpus=rank.cpus, cores=0, nodes=(), memory=(), l3=(), socket=None) for rank in here if rank.cpus]
            result += [(), *node_lines(machine, slots, f"line {step.line}: {count(len(here), 'rank')} of a node", width)]
    result += [(), (("Faults", "heading"),)]
    alike: dict[CheckedFault, list[int]] = {}
    for fault in found.faults:
        alike.setdefault(fault.model_copy(update={"line": 0, "corrected": False}), []).append(fault.line)
    for fault, numbers in alike.items():
        result += _fault(fault, list(dict.fromkeys(numbers)), width)
    if not found.faults:
        result.append((("  none known", "good"),))
    if found.corrected is not None:
        result += [(), *wrapped([("--fix shows the corrected script as a patch, -o FILE writes it", "dim")], width)]
    return result


def _number(value: int | tuple[int, ...] | None, one: str) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        listed = ", ".join(map(str, value[:8])) + (", ..." if len(value) > 8 else "")
        return f"{listed} {one}s in turn"
    return count(value, one)


def _step(step: CheckedStep, width: int) -> list[Line]:
    where = f" on {_number(step.nodes, 'node')}" if step.nodes else ""
    parts = [(_number(step.ranks, "rank") or "ranks not known") + where]
    if not step.nodes and step.ranks_per_node:
        parts.append(f"{_number(step.ranks_per_node, 'rank')} a node")
    if step.threads:
        parts.append(f"{_number(step.threads, 'thread')} each")
    if step.gpus:
        parts.append(_number(step.gpus, "GPU"))
    notes = [note for note, holds in (("each time of a loop", step.repeated), ("in the background", step.background)) if holds]
    notes += [f"if {plain(each, 60)}" for each in step.when[:2]]
    tail = f" ({'; '.join(notes)})" if notes else ""
    result = wrapped(
        [(f"  line {step.line}: ", "label"), (step.launcher, "title"), (f": {', '.join(parts)}{tail}", "")], width, indent=4
    )
    result += wrapped([("    ", ""), (plain(step.program, 200), "dim")], width, indent=6)
    for what, why in step.unknown.items():
        if why:
            result += wrapped([(f"    {what} not known: ", "unknown"), (plain(why, 200), "dim")], width, indent=6)
    if step.binding:
        result += wrapped(
            [("    ", ""), (plain(step.binding, 1000), "unknown" if step.placed == "not-told" else "")], width, indent=6
        )
    if step.placement:
        result += [((f"  {line[0][0]}", line[0][1]), *line[1:]) for line in rows_of_ranks(step.placement, width - 2)]
    return result


def _fault(fault: CheckedFault, numbers: list[int], width: int) -> list[Line]:
    where = f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
    result = wrapped(
        [(f"  {where}: ", "label"), (fault.id, fault.severity), (f" ({fault.severity}): {plain(fault.what, 600)}", "")],
        width,
        indent=4,
    )
    result += wrapped([("    why   ", "label"), (plain(fault.why, 600), "")], width, indent=10)
    result += wrapped([("    fix   ", "label"), (plain(fault.fix, 600), "title")], width, indent=10)
    return result
