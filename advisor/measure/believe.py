"""What is not believed of a result: pages elsewhere than asked, more than the hardware can give."""

from collections.abc import Iterable
from typing import Final

from advisor.measure.ceilings import with_ceiling
from advisor.measure.ground import Ground
from advisor.measure.sizes import of_node
from advisor.model.cpuset import CpuSet
from advisor.model.measurement import Result

_ASTRAY: Final = 0.01
"""Of a result's pages; a handful may lie elsewhere, such as those of the heap."""


def believed(results: Iterable[Result], ground: Ground, flops_per_cycle: float | None = None) -> tuple[Result, ...]:
    """Return results with their ceilings; those that are not believed say why."""
    found = tuple(results)
    clocks = {result.cpus: result.best for result in found if result.unit == "hertz"}
    clocks |= {r.cpus: clock for r in found if r.kernel == "peakflops" and (clock := _clock(r)) is not None}
    return tuple(with_ceiling(_placed(result, ground), ground, flops_per_cycle, clocks) for result in found)


def _clock(result: Result) -> float | None:
    clock = result.details.get("clock")
    return float(clock) if isinstance(clock, int | float) and not isinstance(clock, bool) and clock > 0 else None


def _placed(result: Result, ground: Ground) -> Result:
    """Return a result, refused where its pages lay on other nodes than they were to."""
    wanted = CpuSet([result.memory]) if result.memory is not None else _own(result, ground)
    pages = result.pages
    if not pages or not wanted or result.refused:
        return result
    elsewhere = {node: count for node, count in pages.items() if node not in wanted}
    astray = sum(elsewhere.values()) / max(1, sum(pages.values()))
    if astray <= _ASTRAY:
        return result
    why = f"{astray:.0%} of its pages lay on node {CpuSet(elsewhere)}, not on {wanted}"
    return result.model_copy(update={"refused": why})


def _own(result: Result, ground: Ground) -> CpuSet:
    """Return the nodes of first touch; none for what has no memory to speak of, such as a line between two cores."""
    return of_node(ground, result.cpus) if result.distance is not None else CpuSet()
