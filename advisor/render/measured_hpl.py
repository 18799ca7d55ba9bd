"""What HPL reached on a terminal, against two peaks, and what speaks against the BLAS."""

from advisor.model.amounts import plain
from advisor.model.measurement import Measurements, Result
from advisor.render.lines import Line, wrapped
from advisor.render.measured_paint import Cell, heading, table
from advisor.render.measured_words import amount, number, percent


def efficiency(measurements: Measurements, width: int) -> list[Line]:
    """Return the runs of HPL that are believed."""
    found = [each for each in measurements.results if each.kernel == "hpl" and each.refused is None]
    if not found:
        return []
    head = ("N", "NB", "P x Q", "threads", "GFLOP/s", "spread", "of base-clock peak", "of peak under load", "of DGEMM")
    rows = [_row(each) for each in found]
    lines = [*heading("HPL", _about(found[-1]), width), *table(head, rows, width, "rrlrrrrrr", short=2)]
    return [*lines, *_peaks(found[-1], width), *_doubt(found[-1], width)]


def _about(result: Result) -> str:
    words = [_text(result, "program"), " ".join(each for each in (_text(result, "blas"), _text(result, "blas_core")) if each)]
    ranks = f"{_figure(result, 'ranks'):.0f} ranks"
    repeats = len(result.values)
    return ", ".join(each for each in (*words, ranks, f"median of {repeats} runs" if repeats > 1 else "one run") if each)


def _row(result: Result) -> list[Cell]:
    whole = {name: f"{_figure(result, name):.0f}" for name in ("n", "nb", "p", "q", "threads")}
    shares = [_share(result, name) for name in ("peak_base", "peak_load", "dgemm_all")]
    rate: Cell = (number(result.median, "flop/s"), "title")
    spread = percent(result.spread) if len(result.values) > 1 else ""
    return [whole["n"], whole["nb"], f"{whole['p']} x {whole['q']}", whole["threads"], rate, spread, *shares]


def _share(result: Result, name: str) -> str:
    peak = _figure(result, name)
    return percent(result.median / peak) if peak else "-"


def _peaks(result: Result, width: int) -> list[Line]:
    base, load = _figure(result, "peak_base"), _figure(result, "peak_load")
    parts = [
        f"base clock times the flop a cycle of all cores: {amount(base, 'flop/s')}" if base else "no peak at base clock is known",
        f"FMA on all cores under load: {amount(load, 'flop/s')}" if load else "no peak under load was measured",
    ]
    dgemm = _figure(result, "dgemm_all")
    parts += [f"DGEMM on all ranks at once: {amount(dgemm, 'flop/s')}"] if dgemm else []
    return wrapped([("; ".join(parts), "dim")], width)


def _doubt(result: Result, width: int) -> list[Line]:
    doubt = _text(result, "blas_doubt")
    return wrapped([(f"! {doubt}", "warn")], width) if doubt else []


def _text(result: Result, name: str) -> str:
    value = result.details.get(name, "")
    return plain(value, 120) if isinstance(value, str) else ""


def _figure(result: Result, name: str) -> float:
    value = result.details.get(name, 0)
    return float(value) if isinstance(value, int | float) else 0.0
