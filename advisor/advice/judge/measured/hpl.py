"""Turns runs of HPL into its rate beside what bounds it: peaks, DGEMM, memory, cores. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from advisor.advice.judge.devices import is_fabric
from advisor.advice.judge.measured.published import beside, meets, phrases, strictest
from advisor.advice.model.case import Case
from advisor.measure.measured_facts import Clock, Compared, Linpack
from advisor.measure.measurement import Measurements, Result, reported_integer, reported_number, reported_text
from advisor.measure.measurement_statistics import spread_of
from advisor.measure.platform import Reference

_ALIKE: Final = 0.3
"""Of one host's share of memory: systems that take as long fill less of each host the more there are, a third at 27."""
_WIDEST: Final = ("avx512", "avx2", "avx", "sve", "neon", "sse2", "scalar")
_BETTER: Final = re.compile(r"\bOPENBLAS_CORETYPE=([A-Za-z0-9]{2,20})\b")


def linpack(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> tuple[Linpack, ...]:
    """Return every run that is believed, those of fewest hosts first; beside those of more, what one host gives."""
    found = [_run(each, case, clocks) for each in measurements.of("hpl", "flop/s")]
    ordered = sorted(found, key=lambda run: (run.part != "machine", run.hosts or 1, -run.rate))
    one = next((run for run in ordered if run.hosts == 1 and run.part == "machine"), None)
    return tuple(run if one is None else run.model_copy(update={"of_one": _against(run, one)}) for run in ordered)


def _against(run: Linpack, one: Linpack) -> float | None:
    """Return what each of several hosts gives as a share of one alone; None where each had a far smaller system to solve."""
    if run.part != "machine" or not run.hosts or run.hosts < 2 or run.threads != one.threads:
        return None
    alike = run.memory_share is not None and one.memory_share is not None and run.memory_share >= _ALIKE * one.memory_share
    return run.rate / run.hosts / one.rate if alike else None


def _run(run: Result, case: Case, clocks: Sequence[Clock]) -> Linpack:
    dgemm, load, p, q = (
        reported_number(run, "dgemm_all"),
        reported_number(run, "peak_load"),
        reported_integer(run, "p"),
        reported_integer(run, "q"),
    )
    doubt = reported_text(run, "blas_doubt")
    better = _BETTER.search(doubt)
    cores = _cores(run, case)
    base = reported_number(run, "peak_base") or _peak_base(cores.get("cores"), case)
    return Linpack(
        part=run.part,
        index=run.index,
        rate=run.median,
        spread=spread_of(run),
        repeats=len(run.values),
        n=reported_integer(run, "n"),
        nb=reported_integer(run, "nb"),
        grid=f"{p} x {q}" if p and q else None,
        program=reported_text(run, "program") or None,
        blas=reported_text(run, "blas") or None,
        blas_core=reported_text(run, "blas_core") or None,
        blas_doubt=doubt or None,
        blas_better=better[1] if better else None,
        peak_base=base,
        of_base=_of(run.median, base),
        peak_load=load,
        of_load=_of(run.median, load),
        dgemm=dgemm,
        of_dgemm=_of(run.median, dgemm),
        dgemm_of_load=_of(dgemm, load),
        memory_share=_memory(run, case),
        clock=min(clocks, key=_width, default=None),
        like=_like(_of(dgemm or run.median, load) or _of(run.median, base), case),
        **cores,
    )


def _of(part: float | None, total: float | None) -> float | None:
    return part / total if part and total else None


def _peak_base(cores: int | None, case: Case) -> float | None:
    """Return the peak of so many cores at their base clock: other programs' outputs do not have it."""
    peak = case.platform.core_peak(case.cpu.base_hz) if case.platform and case.cpu else None
    return cores * peak if cores and peak else None


_OLDER: Final = ((16, "AVX2"), (8, "AVX"), (4, "SSE2"))
"""Double-precision FLOP of an x86 core in a cycle, with instructions that older processors had: each half of the one before."""
_X86: Final = ("AuthenticAMD", "GenuineIntel", "HygonGenuine")
_MOST: Final = 1.2
"""A rate may be so much above a share of the peak at base clock: cores that use narrow instructions clock higher."""


def _like(share: float | None, case: Case) -> str | None:
    """Return the narrower instructions that give such a share of the peak at most; None where it is more than those give."""
    each = case.platform.flops_per_cycle if case.platform else None
    if not share or not each or not case.cpu or case.cpu.vendor not in _X86:
        return None
    return next((name for flops, name in reversed(_OLDER) if flops < each and share <= _MOST * flops / each), None)


def _width(clock: Clock) -> int:
    return _WIDEST.index(clock.isa) if clock.isa in _WIDEST else len(_WIDEST)


def _memory(run: Result, case: Case) -> float | None:
    """Return what the matrix takes of the memory of all hosts, which are taken to be alike."""
    memory, n, hosts = case.shape.memory if case.shape else None, reported_integer(run, "n"), reported_integer(run, "hosts")
    return 8 * n**2 / (memory * hosts) if memory and n and hosts else None


def _cores(run: Result, case: Case) -> dict[str, Any]:
    """Return on how many cores so many ranks and threads worked; its CPUs are those of the first host."""
    ranks, threads, hosts = reported_integer(run, "ranks"), reported_integer(run, "threads"), reported_integer(run, "hosts")
    told = {"ranks": ranks, "threads": threads, "hosts": hosts}
    cpus, every = set(run.cpus), case.topology.cores if case.topology else ()
    own = [core for core in every if any(cpu in core.cpuset for cpu in cpus)]
    if not own or not hosts:
        return told
    cores = len(own) * hosts
    return {
        **told,
        "cores": cores,
        "per_core": ranks * threads / cores if ranks and threads else None,
        "whole": len(own) == len(every),
    }


_TURBO: Final = "turbo on"
_NODES: Final = re.compile(r"(?:up to )?(\d+) nodes")
_WORDS: Final = (
    "virtual machine", r"virtual machine with \d+ cores", _NODES.pattern, "power determinism", _TURBO,
    r"NB? \d+", r"\d+ x \d+ ranks", r"\d+ threads a rank", "MKL_DEBUG_CPU_TYPE=5",
    r"(AMD BLIS|BLIS|OpenBLAS|MKL|cray-libsci|Intel HPL)( \d[\d.]*[ab]?)?",
)  # fmt: skip
"""Words of a condition that are met by themselves, or are looked at below: how HPL was run well can be done here too."""
_BASE: Final = "peak at base clock"
_LARGE: Final = 0.5
"""Of the memory: publications solve systems that fill most of it, and smaller ones are slower."""


def published_hpl(runs: Iterable[Linpack], case: Case) -> tuple[Compared, ...]:
    """Return what was published of HPL and DGEMM on such machines, beside what was measured here."""
    return strictest(found for run in runs if run.whole for found in _published(run, case))


def _published(run: Linpack, case: Case) -> Iterator[Compared]:
    for one in case.platform.references if case.platform else ():
        low, high = _rates(one, run)
        value = run.dgemm if one.benchmark == "dgemm" else run.rate
        large = one.benchmark == "dgemm" or (run.memory_share or 0) >= _LARGE
        if low is not None and value is not None and large and _fits(one, run, case) and meets(one, case, _WORDS):
            share = f"{round(100 * (one.value.low or 0), 1):g} % of {_BASE}" if one.kind == "share" else None
            name = f"{one.benchmark} of {'the machine' if one.of == 'node' else f'{run.hosts} hosts'}"
            yield beside(one, case, name, value, run.spread, share).model_copy(update={"low": low, "high": high})


def _rates(one: Reference, run: Linpack) -> tuple[float | None, float | None]:
    """Return what a publication promises these cores: its rate, or its share of their peak at base clock."""
    if one.benchmark not in ("hpl", "dgemm"):
        return None, None
    if one.kind in ("measured", "threshold") and one.of == "node":
        return one.value.low, one.value.high
    if one.kind == "share" and one.against == _BASE and run.peak_base:
        return _times(one.value.low, run.peak_base), _times(one.value.high, run.peak_base)
    return None, None


def _fits(one: Reference, run: Linpack, case: Case) -> bool:
    """Return whether as many hosts and cores worked, over such adapters, and boost was on where it was."""
    said = phrases(one.condition)
    on = _TURBO not in said or (case.cpu is not None and case.cpu.boost is True)
    alike = one.sockets in (None, case.shape.sockets if case.shape else None) and one.cores in (None, run.cores)
    fabric = one.fabric is None or any(is_fabric(one.fabric, each.name, case) for each in case.adapters or ())
    return on and alike and fabric and _as_many(one, said, run.hosts or 0)


def _as_many(one: Reference, said: Sequence[str], hosts: int) -> bool:
    """Return whether a publication is of one node, as here, or of at least as many nodes."""
    if one.of == "node":
        return hosts == 1
    most = next((int(found[1]) for phrase in said if (found := _NODES.fullmatch(phrase))), 0)
    return one.of == "cluster" and 1 < hosts <= most


def _times(share: float | None, peak: float) -> float | None:
    return None if share is None else share * peak
