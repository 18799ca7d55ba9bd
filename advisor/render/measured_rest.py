"""Under which conditions was measured, what of it is not believed, and what is missing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from advisor.language.units import UNKNOWN, count, duration, plain
from advisor.model.measurement import Conditions, Identity, Measurements, Missing, Result
from advisor.render.cpulists import numbered
from advisor.render.lines import Line, wrapped
from advisor.render.measured_paint import heading, struck
from advisor.render.measured_words import amount, distance, part_name

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
        return wrapped([("Whether the hosts were idle was not looked at.", "unknown")], width)
    why = f": {'; '.join(plain(each) for each in told.busy)}" if told.busy else ""
    return wrapped([(f"! The machine was BUSY, the figures are disturbed{why}", "warn")], width)


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


def refused(measurements: Measurements, width: int) -> list[Line]:
    """Return what is not believed, struck, with the reason."""
    found = [result for result in measurements.results if result.refused is not None]
    if not found:
        return []
    lines = heading("Not believed", f"{count(len(found), 'result')}, in no table above", width)
    for result in found[:_MOST_REFUSED]:
        why = f"  {plain(result.refused or '')}"
        lines += wrapped([("x ", "warn"), struck(_result(result)), (why, "warn")], width, indent=4)
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
