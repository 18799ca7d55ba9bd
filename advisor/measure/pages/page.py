"""The page of measurements: conditions, tables with their verdicts, what is rejected or missing."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.console import RenderableType

from advisor.machine.machine import Machine
from advisor.machine.units import count, duration, plain
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.measurement import NETWORK, Conditions, Identity, Measurements, Missing, Purpose, Result
from advisor.measure.pages import bandwidth, flops, latency, network, roofline, verdicts
from advisor.measure.pages.figures import MeasuredPage, amount, distance, heading, part_name, rejected_span
from advisor.measure.pages.series import caches, own_kernels
from advisor.show.cpulists import numbered
from advisor.show.lines import Line, wrapped

_MOST_REFUSED, _MOST_TASKS = 12, 3
"""So many results and so many tasks of one reason are named; the file has all."""


def conditions(measurements: Measurements, width: int) -> list[Line]:
    """Return the machine, the time, whether it was idle, and how the kernels were built."""
    told, kinds = measurements.conditions, {result.page_kind for result in measurements.results if result.page_kind}
    when = plain(told.when, 120)
    took = f"measured {when}, {duration(told.seconds)}, advisor {plain(measurements.advisor, 20)}" if told.started else when
    lines = wrapped(
        [(plain(measurements.machine.name or "Machine", 80), "title"), (f"  {_machine(measurements.machine)}", "")], width
    )
    lines += wrapped([(took, "")], width)
    if not told.started:
        return lines
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
        f"governor {plain(told.governor, 80)}" if told.governor else "",
        f"transparent hugepages {plain(told.hugepages, 40)}" if told.hugepages else "",
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
    facts: MeasuredFacts | None = None,
    intensity: float | None = None,
) -> RenderableType:
    """Return everything that was measured; the machine adds where its caches end and which cores share what.

    ``levels`` are the bytes of caches by name, where the caller knows more of them than the machine tells; ``facts`` have
    what is published for such a machine; ``intensity`` is that of a code in the roofline.
    """
    seen = verdicts.Seen(measurements, facts, {**caches(machine), **(levels or {})})
    return MeasuredPage(lambda room: _lines(seen, machine, intensity, room), width)


def _lines(seen: verdicts.Seen, machine: Machine | None, intensity: float | None, width: int) -> list[Line]:
    measurements, tables = seen.measurements, _tables(seen, machine, intensity, width)
    nothing: list[Line] = [(), (("Nothing was measured.", "warn"),)]
    if tables and seen.facts is None:
        tables += [(), *wrapped([(verdicts.ANOTHER, "dim")], width)]
    return [*conditions(measurements, width), *(tables or nothing), *rejected(measurements, width), *missing(measurements, width)]


def measured_lines(
    measurements: Measurements, machine: Machine | None, width: int, facts: MeasuredFacts | None = None
) -> list[Line]:
    """Return the tables of what was measured, what is rejected and what is missing, without the conditions."""
    seen = verdicts.Seen(measurements, facts, caches(machine))
    return [*_tables(seen, machine, None, width), *rejected(measurements, width), *missing(measurements, width)]


def _tables(seen: verdicts.Seen, machine: Machine | None, intensity: float | None, width: int) -> list[Line]:
    measurements = seen.measurements
    return [
        *verdicts.all_of(
            (
                (bandwidth.parts(measurements, width), verdicts.parts),
                (bandwidth.sparse(measurements, width), verdicts.sparse),
                (bandwidth.patterns(measurements, width), verdicts.patterns),
                (bandwidth.threads(measurements, width), verdicts.threads),
                (latency.numa(measurements, "bytes/s", width), verdicts.nodes),
                (latency.numa(measurements, "seconds", width), verdicts.node_latency),
                (latency.by_part(measurements, width), verdicts.latency),
                (latency.by_working_set(measurements, seen.levels, width), verdicts.working_set),
                (latency.under_load(measurements, width), verdicts.load),
                (latency.cores(measurements, machine, width), verdicts.cores),
                (flops.flops(measurements, width), verdicts.flops),
                (flops.clocks(measurements, width), verdicts.clocks),
            ),
            seen,
            width,
        ),
        *roofline.roofs(measurements, intensity, width),
        *_added(seen, width),
        *verdicts.judged(own_kernels(measurements, width), verdicts.own_kernels, seen, width),
    ]


def _added(seen: verdicts.Seen, width: int) -> list[Line]:
    """Return the tables of HPL and of messages between hosts."""
    found = seen.measurements
    both = ((flops.hpl_tables(found, width), verdicts.hpl), (network.tables(found, width), verdicts.messages))
    return verdicts.all_of(both, seen, width)


_ADDED: Final[tuple[Purpose, ...]] = (*NETWORK, "hpl")


def hpl_and_network(measurements: Measurements, width: int, facts: MeasuredFacts | None = None) -> list[Line]:
    """Return those tables, and what of them is not believed or is missing; nothing where neither was measured."""
    found = measurements.model_copy(
        update={
            "results": tuple(each for each in measurements.results if each.purpose in _ADDED),
            "missing": tuple(each for each in measurements.missing if _purpose(each) in _ADDED),
        }
    )
    return [*_added(verdicts.Seen(found, facts, {}), width), *rejected(found, width), *missing(found, width)]


def _purpose(missing: Missing) -> str:
    """Return why a task was to run: the second word of its name."""
    return [*missing.task.split("/"), ""][1]
