"""What HPL reached on a terminal, alone and on more and more hosts, against two peaks, and what speaks against the BLAS."""

from collections.abc import Sequence

from advisor.language.units import count, plain
from advisor.model import measurement
from advisor.model.measurement import Measurements, Result
from advisor.render.lines import Line, wrapped
from advisor.render.measured_paint import Cell, heading, table
from advisor.render.measured_words import amount, number, part_name, percent


def efficiency(measurements: Measurements, width: int) -> list[Line]:
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
    lines = [*heading("HPL", _about(found[-1]), width), *table(head, rows, width, "rrlrrrrrr", short=2)]
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
    words = (*_program(result), f"{measurement.reported_or_zero(result, 'ranks'):.0f} ranks", _repeats(result))
    return ", ".join(word for word in words if word)


def _program(result: Result) -> tuple[str, str]:
    """Return what solved the system, and with which BLAS."""
    return _text(result, "program"), " ".join(word for word in (_text(result, "blas"), _text(result, "blas_core")) if word)


def _repeats(result: Result) -> str:
    return f"median of {len(result.values)} runs" if len(result.values) > 1 else "one run"


def _row(result: Result) -> list[Cell]:
    whole = {name: f"{measurement.reported_or_zero(result, name):.0f}" for name in ("n", "nb", "p", "q", "threads")}
    return [whole["n"], whole["nb"], f"{whole['p']} x {whole['q']}", whole["threads"], *_rates(result)]


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
        f"base clock times the flop a cycle of all cores: {amount(base, 'flop/s')}" if base else "no peak at base clock is known",
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
