"""Turns measurements of a machine into the facts that rules may ask for. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from advisor.advice.judge.measured.bandwidth import interleaving, remote_memory, speeds
from advisor.advice.judge.measured.core_to_core import shared_caches
from advisor.advice.judge.measured.hpl import linpack, published_hpl
from advisor.advice.judge.measured.network import adapter_ways, adapters
from advisor.advice.judge.measured.place import places
from advisor.advice.judge.measured.published import (
    Parts,
    published,
    published_latency,
    published_network,
    published_network_latency,
)
from advisor.advice.model.case import Case
from advisor.measure.measured_facts import Clock, Flops, MeasuredFacts, Refused, Speed
from advisor.measure.measurement import Measurements, Result
from advisor.measure.measurement_statistics import FEWEST, one_core_per_l3, spread_of
from advisor.measure.published import PublishedFigure


def with_measurements(case: Case, measurements: Measurements | None, figures: Sequence[PublishedFigure] = ()) -> Case:
    """Return the case that also knows what was measured on its machine, and how that stands among published figures."""
    return case if measurements is None else case.model_copy(update={"measured": measured_facts(measurements, case, figures)})


def measured_facts(measurements: Measurements, case: Case, figures: Sequence[PublishedFigure] = ()) -> MeasuredFacts:
    """Return the facts; None for each thing that was not measured, or not believed."""
    worst, clocks = _worst(measurements.results), _clocks(measurements, case)
    facts = MeasuredFacts(
        when=measurements.conditions.when,
        idle=measurements.conditions.idle,
        busy=measurements.conditions.busy,
        results=len(measurements.results),
        worst_spread=worst.spread if worst else None,
        worst=worst.task if worst else None,
        caches=shared_caches(measurements, case),
        clocks=clocks or None,
        flops=_flops(measurements, case, clocks),
        refused=tuple(Refused(name=_name(each), why=each.refused) for each in measurements.results if each.refused is not None),
        missing=tuple(each.task for each in measurements.missing),
        **_parts(measurements, case),
        **_ratios(measurements, case),
        **_of_mpi(measurements, case, clocks),
    )
    return facts.model_copy(update={"places": places(facts, measurements, case, figures)})


def _of_mpi(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> dict[str, Any]:
    """Return what ranks of MPI gave: messages between hosts, and HPL."""
    through, runs = adapters(measurements, case), linpack(measurements, case, clocks)
    return {
        "adapters": through,
        "adapter_ways": adapter_ways(measurements, case),
        "hpl": runs[0] if runs else None,
        "hpl_runs": runs,
        "published_network": published_network(through, case),
        "published_network_latency": published_network_latency(through, case),
        "published_hpl": published_hpl(runs, case),
    }


def _parts(measurements: Measurements, case: Case) -> dict[str, Any]:
    """Return what each part gave, and what was published of the same."""
    cores, groups, nodes, sockets = (speeds(measurements, part, case) for part in ("core", "l3", "numa", "socket"))
    whole = speeds(measurements, "machine", case)
    parts: Parts = {
        "core": cores or (),
        "l3": groups or (),
        "numa-node": nodes or (),
        "socket": sockets or (),
        "node": whole or (),
    }
    return {
        "cores": cores,
        "groups": groups,
        "nodes": nodes,
        "sockets": sockets,
        "machine": _whole(whole, nodes),
        "published": published(parts, case),
        "published_latency": published_latency(parts, case),
    }


def _ratios(measurements: Measurements, case: Case) -> dict[str, Any]:
    """Return what one placement gives against another."""
    sparse, remote = one_core_per_l3(measurements, case.shape.l3 if case.shape else None), remote_memory(measurements, case)
    inner = interleaving(remote or (), case)
    return {
        "one_core_per_l3": sparse.ratio if sparse else None,
        "one_core_spread": sparse.spread if sparse else None,
        "remote": remote,
        "nps_gain": inner.ratio - 1 if inner else None,
        "nps_spread": inner.spread if inner else None,
    }


def _name(result: Result) -> str:
    return result.task if result.task.endswith(result.variant) else f"{result.task} {result.variant}"


def _worst(results: Iterable[Result]) -> Result | None:
    believed = [each for each in results if each.refused is None and len(each.values) >= FEWEST]
    return max(believed, key=lambda each: each.spread, default=None)


def _whole(whole: Sequence[Speed] | None, nodes: Sequence[Speed] | None) -> Speed | None:
    """Return the machine; the nearest of its memories gives its latency where that was measured node by node."""
    if not whole:
        return None
    latencies = [each.latency for each in nodes or () if each.latency is not None]
    return whole[0].model_copy(update={"latency": min(latencies)}) if latencies and whole[0].latency is None else whole[0]


def _isa(result: Result) -> str:
    """Return the instructions of a floating-point result; of the clock's those of the load it was measured under."""
    told = result.details.get("load")
    words = re.split(r"[^a-z0-9]+", f"{result.variant} {told if isinstance(told, str) else ''}".lower())
    known = (each for each in _WIDTHS if each in words)
    return next(known, result.isa or "scalar")


_WIDTHS = ("scalar", "avx512", "avx2", "avx", "sse2", "sve", "neon")


def _hertz(result: Result) -> float | None:
    if result.unit == "hertz":
        return result.median
    told = result.details.get("clock")  # of the same run as the rate
    return float(told) if isinstance(told, (int, float)) and not isinstance(told, bool) and told > 0 else None


def _clocks(measurements: Measurements, case: Case) -> tuple[Clock, ...]:
    """Return the clock by instructions, each of the result with most cores at work."""
    base = case.cpu.base_hz if case.cpu else None
    found: dict[str, Result] = {}
    for each in (*measurements.of("clock"), *measurements.of("peak")):
        isa = _isa(each)
        if _hertz(each) and (isa not in found or len(each.cpus) > len(found[isa].cpus)):
            found[isa] = each
    clocks = []
    for isa, result in found.items():
        hertz = _hertz(result) or 0.0
        share = hertz / base if base else None
        clocks.append(Clock(isa=isa, hertz=hertz, spread=spread_of(result), nominal=base, share=share))
    return tuple(clocks)


def _flops(measurements: Measurements, case: Case, clocks: Sequence[Clock]) -> Flops | None:
    """Return the best rate of the most cores, beside the peak of those cores at the clock they ran at."""
    rates = [each for each in measurements.of("peak", "flop/s") if each.variant.endswith("fma")]
    best = max(rates, key=lambda each: (len(each.cpus), each.median), default=None)
    if best is None:
        return None
    achieved = next((clock.hertz for clock in clocks if clock.isa == _isa(best)), None)
    clock = _hertz(best) or achieved or (case.cpu.base_hz if case.cpu else None)
    each_cycle = case.platform.flops_per_cycle if case.platform else None
    cores = _cores(best, case)
    peak = cores * each_cycle * clock if each_cycle and clock else None
    share = best.median / peak if peak else None
    return Flops(rate=best.median, isa=_isa(best), cores=cores, spread=spread_of(best), clock=clock, peak=peak, share=share)


def _cores(result: Result, case: Case) -> int:
    """Return on how many cores a result's threads worked."""
    cpus = set(result.cpus)
    cores = [core for core in (case.topology.cores if case.topology else ()) if any(cpu in core.cpuset for cpu in cpus)]
    return len(cores) or len(cpus)
