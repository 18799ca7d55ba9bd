"""Floating point in tables: peak FLOP/s by instruction set and clock, and what HPL reached on one and more hosts."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from advisor.machine.units import count, plain
from advisor.measure import measurement
from advisor.measure.measurement import Measurements, Part, Result
from advisor.measure.pages.series import (
    Bar,
    Cell,
    amount,
    figure,
    heading,
    how,
    isa,
    number,
    part_name,
    percent,
    sound,
    table,
    title,
)
from advisor.show.lines import Line, wrapped

_WIDTHS = ("avx512", "sve", "avx2", "avx", "neon", "sse2", "scalar")


@dataclass(frozen=True, slots=True)
class Peak:
    """One kind of instruction on so many cores of alike parts."""

    operation: str
    width: str
    part: Part
    cores: int
    results: tuple[Result, ...]

    @property
    def value(self) -> float:
        """What a part of this kind reaches."""
        return median(result.median for result in self.results)

    @property
    def clock(self) -> float | None:
        """The clock meanwhile, where the kernel reported it."""
        clocks = [result.details.get("clock") for result in self.results]
        known = [float(clock) for clock in clocks if isinstance(clock, int | float) and isfinite(clock) and clock > 0]
        return median(known) if known else None


def kind(result: Result) -> tuple[str, str]:
    """Return the operation and the width of the instructions: ``fma`` and ``avx512``."""
    width, _, operation = result.variant.rpartition("-")
    return operation, width or result.isa or ""


def peaks(results: Iterable[Result], operations: Sequence[str] = ()) -> list[Peak]:
    """Return results by kind of instruction and by cores, the widest first; of one width in the order of ``operations``."""
    groups: dict[tuple[str, str, Part, int], list[Result]] = defaultdict(list)
    for result in results:
        groups[*kind(result), result.part, len(result.cpus)].append(result)
    order = [*operations, *(operation for operation, *_ in groups if operation not in operations)]
    found = sorted(groups.items(), key=lambda item: order.index(item[0][0]))
    return sorted((Peak(*key, tuple(each)) for key, each in found), key=_order)


def _order(peak: Peak) -> tuple[int, int]:
    return -peak.cores, _WIDTHS.index(peak.width) if peak.width in _WIDTHS else len(_WIDTHS)


def flops(measurements: Measurements, width: int) -> list[Line]:
    """Return floating-point rates with bars, the clock and the operations a cycle."""
    found = list(sound(measurements, "peak", "roofline", unit="flop/s"))
    if not found:
        return []
    sheet = measurements.sheet(found[0].kernel)
    rows = peaks(found, [each.name for each in sheet.variants] if sheet else ())
    most = max(row.value for row in rows)
    head = ("double precision", "width", "cores", "GFLOP/s", "", "spread", "GHz", "flop/cycle")
    body = [_flops(row, most, title(measurements, row.results[0].kernel, row.operation)) for row in rows]
    about = f"{how(found)}; FLOP/cycle are per core"
    return [*heading("Floating point", about, width), *table(head, body, width, "llrrlrrr")]


def _flops(row: Peak, most: float, name: str) -> list[Cell]:
    clock = row.clock
    cycle = "-" if clock is None else figure(row.value / row.cores / clock)
    spread = percent(max(result.spread for result in row.results))
    value: Cell = (number(row.value, "flop/s"), "title")
    cores = f"{len(row.results)}x {row.cores}" if len(row.results) > 1 else str(row.cores)
    return [
        name,
        isa(row.width),
        cores,
        value,
        Bar(row.value / most),
        spread,
        "-" if clock is None else number(clock, "hertz"),
        cycle,
    ]


def clocks(measurements: Measurements, width: int) -> list[Line]:
    """Return the clocks that were measured for themselves."""
    found = list(sound(measurements, "clock"))
    if not found:
        return []
    groups: dict[tuple[Part, int, str], list[Result]] = defaultdict(list)
    for result in found:
        groups[result.part, len(result.cpus), _busy(measurements, result)].append(result)
    rows = [_clock(name, results) for (_, _, name), results in sorted(groups.items(), key=lambda item: item[0][1:])]
    repeats = how([result.model_copy(update={"isa": None}) for result in found])
    lines = heading("Clock", repeats, width)
    return lines + table(("part", "cores", "busy with", "GHz", "lowest to highest"), rows, width, "lrlrl")


def _busy(measurements: Measurements, result: Result) -> str:
    """Return what the cores did while their clock was taken."""
    operation, width = kind(result)
    load = measurement.reported_text(result, "load") or operation
    return ", ".join(part for part in (isa(width), "" if load == "clock" else title(measurements, result.kernel, load)) if part)


def _clock(name: str, results: Sequence[Result]) -> list[Cell]:
    first = results[0]
    places = {result.index for result in results}
    part = part_name(first.part, first.index if len(places) == 1 else None, len(places))
    ordered = sorted(result.median for result in results)
    far = f"{number(ordered[0], 'hertz')} to {number(ordered[-1], 'hertz')}" if len(ordered) > 1 else ""
    value: Cell = (number(median(ordered), "hertz"), "title")
    return [part, str(len(first.cpus)), name, value, (far, "dim")]


def hpl_tables(measurements: Measurements, width: int) -> list[Line]:
    """Return the runs of HPL that are believed: those of a scaling table, and the others."""
    found = [each for each in measurements.results if each.kernel == "hpl" and each.refused is None]
    scaling = [each for each in found if each.details.get("scaling") is True]
    alone = [each for each in found if each not in scaling]
    return [*_runs(alone, width), *_scaling(scaling, width)]


def _runs(found: Sequence[Result], width: int) -> list[Line]:
    if not found:
        return []
    head = ("N", "NB", "P x Q", "threads", "GFLOP/s", "spread", "of base-clock peak", "of peak under load", "of DGEMM")
    rows = [_row(each) for each in found]
    # Another program's output has neither threads nor peaks.
    shown = [at for at in range(len(head)) if any(row[at] not in ("", "-") for row in rows)]
    cells = [[row[at] for at in shown] for row in rows]
    aligned = "".join("rrlrrrrrr"[at] for at in shown)
    lines = [*heading("HPL", _about(found[-1]), width), *table([head[at] for at in shown], cells, width, aligned, short=2)]
    return [*lines, *_peaks(found[-1], width), *_doubt(found[-1], width)]


# ---- from one host to many, as in articles [002] and [003] ----


def _scaling(found: Sequence[Result], width: int) -> list[Line]:
    """Return a row for each number of hosts, or part of one: against the first of them, core by core, and against the peaks."""
    if not found:
        return []
    first, last = found[0], found[-1]
    head = ("on", "cores", "N", "P x Q", "GFLOP/s", "spread", f"of {_on(first)}", "of base", "of load")
    rows = [[_on(each), *_sizes(each), *_rates(each)[:2], _against(each, first), *_rates(each)[2:4]] for each in found]
    about = ", ".join(
        word for word in (*_program(last), f"NB {measurement.reported_or_zero(last, 'nb'):.0f}", _repeats(last)) if word
    )
    lines = [*heading("HPL scaling", about, width), *table(head, rows, width, "lrrlrrrrr", short=3)]
    return [*lines, *_peaks(last, width), *_doubt(last, width)]


def _on(result: Result) -> str:
    """Return what a run had: ``4 hosts``, ``NUMA node 0``, ``machine``."""
    hosts = int(measurement.reported_or_zero(result, "hosts"))
    if result.part == "machine" and (hosts > 1 or _text(result, "hosts_named")):
        return count(hosts, "host")
    return part_name(result.part, result.index)


def _sizes(result: Result) -> list[Cell]:
    whole = {name: f"{measurement.reported_or_zero(result, name):.0f}" for name in ("cores", "n", "p", "q")}
    return [whole["cores"], whole["n"], f"{whole['p']} x {whole['q']}"]


def _against(result: Result, first: Result) -> str:
    """Return how much of the first run's rate is left to each core."""
    cores, then = measurement.reported_or_zero(result, "cores"), measurement.reported_or_zero(first, "cores")
    return percent(result.median / cores / (first.median / then)) if cores and then else "-"


# ---- cells ----


def _about(result: Result) -> str:
    ranks = measurement.reported_or_zero(result, "ranks")
    words = (*_program(result), f"{ranks:.0f} ranks" if ranks else "", _repeats(result))
    return ", ".join(word for word in words if word)


def _program(result: Result) -> tuple[str, str]:
    """Return what solved the system, and with which BLAS."""
    return _text(result, "program"), " ".join(word for word in (_text(result, "blas"), _text(result, "blas_core")) if word)


def _repeats(result: Result) -> str:
    return f"median of {len(result.values)} runs" if len(result.values) > 1 else "one run"


def _row(result: Result) -> list[Cell]:
    whole = {name: f"{measurement.reported_or_zero(result, name):.0f}" for name in ("n", "nb", "p", "q", "threads")}
    threads = whole["threads"] if whole["threads"] != "0" else "-"
    return [whole["n"], whole["nb"], f"{whole['p']} x {whole['q']}", threads, *_rates(result)]


def _rates(result: Result) -> list[Cell]:
    shares = [_share(result, name) for name in ("peak_base", "peak_load", "dgemm_all")]
    rate: Cell = (number(result.median, "flop/s"), "title")
    return [rate, percent(result.spread) if len(result.values) > 1 else "", *shares]


def _share(result: Result, name: str) -> str:
    peak = measurement.reported_or_zero(result, name)
    return percent(result.median / peak) if peak else "-"


def _peaks(result: Result, width: int) -> list[Line]:
    base, load = measurement.reported_or_zero(result, "peak_base"), measurement.reported_or_zero(result, "peak_load")
    parts = [
        f"base clock times the FLOP/cycle of all cores: {amount(base, 'flop/s')}" if base else "no peak at base clock is known",
        f"FMA on all cores under load: {amount(load, 'flop/s')}" if load else "no peak under load was measured",
    ]
    dgemm = measurement.reported_or_zero(result, "dgemm_all")
    parts += [f"DGEMM on all ranks at once: {amount(dgemm, 'flop/s')}"] if dgemm else []
    return wrapped([("; ".join(parts), "dim")], width)


def _doubt(result: Result, width: int) -> list[Line]:
    doubt = _text(result, "blas_doubt")
    return wrapped([(f"! {doubt}", "warn")], width) if doubt else []


def _text(result: Result, name: str) -> str:
    return plain(measurement.reported_text(result, name), 120)
