"""Measurements as a page: the conditions, the tables, what is not believed; and what will be measured."""

from collections.abc import Mapping, Sequence

from rich.console import RenderableType

from advisor.model.hardware.machine import Machine
from advisor.model.measurement import Measurements, Task
from advisor.render import (
    measured_bandwidth,
    measured_hpl,
    measured_latency,
    measured_matrix,
    measured_network,
    measured_peak,
    measured_rest,
)
from advisor.render.lines import Line
from advisor.render.measured_data import caches
from advisor.render.measured_paint import Chart
from advisor.render.measured_plan import plan


def measured_page(
    measurements: Measurements,
    width: int | None = None,
    *,
    machine: Machine | None = None,
    levels: Mapping[str, int] | None = None,
) -> RenderableType:
    """Return everything that was measured; the machine adds where its caches end and which cores share what.

    ``levels`` are the bytes of caches by name, where the caller knows more of them than the machine tells.
    """
    known = {**caches(machine), **(levels or {})}
    return Chart(lambda room: _lines(measurements, machine, known, room), width)


def _lines(measurements: Measurements, machine: Machine | None, levels: Mapping[str, int], width: int) -> list[Line]:
    tables = [
        *measured_bandwidth.parts(measurements, width),
        *measured_bandwidth.sparse(measurements, width),
        *measured_bandwidth.patterns(measurements, width),
        *measured_bandwidth.threads(measurements, width),
        *measured_matrix.numa(measurements, width),
        *measured_latency.near(measurements, width),
        *measured_latency.steps(measurements, levels, width),
        *measured_latency.under_load(measurements, width),
        *measured_matrix.cores(measurements, machine, width),
        *measured_peak.flops(measurements, width),
        *measured_peak.clocks(measurements, width),
        *measured_hpl.efficiency(measurements, width),
        *measured_network.tables(measurements, width),
    ]
    nothing: list[Line] = [(), (("Nothing was measured.", "warn"),)]
    return [
        *measured_rest.conditions(measurements, width),
        *(tables or nothing),
        *measured_rest.refused(measurements, width),
        *measured_rest.missing(measurements, width),
    ]


def plan_page(tasks: Sequence[Task], width: int | None = None) -> RenderableType:
    """Return what will be measured, where, with what, and how long it takes."""
    return Chart(lambda room: plan(tasks, room), width)
