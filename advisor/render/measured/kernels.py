"""Kernels in tables: what each can measure, and what one that has no table of its own gave."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import RenderableType

from advisor.language.units import plain
from advisor.model.kernels import KernelSheet
from advisor.model.measurement import Measurements, Result
from advisor.render.lines import Line, wrapped
from advisor.render.measured.figures import Bar, Cell, MeasuredPage, amount, distance, heading, how, part_name, percent, table
from advisor.render.measured.series import sound, title

KERNELS_SCHEMA: Final = "advisor-kernels/1"
"""The number rises when a key changes meaning or goes."""
_COLUMNS: Final = ("variant", "unit", "arrays", "read", "written", "flops", "iteration")


def own_kernels(measurements: Measurements, width: int) -> list[Line]:
    """Return, kernel by kernel, what was measured for its own sake."""
    found = list(sound(measurements, "kernel"))
    lines: list[Line] = []
    for kernel in dict.fromkeys(each.kernel for each in found):
        own = [each for each in found if each.kernel == kernel]
        sheet = measurements.sheet(kernel)
        about = ", ".join(word for word in (plain(sheet.summary) if sheet else "", how(own)) if word)
        rows = [_row(measurements, each, own) for each in own]
        head = ("part", "cores", "memory", "measures", "median", "", "spread")
        lines += [*heading(plain(kernel), about, width), *table(head, rows, width, "lrllrlr", short=3)]
    return lines


def _row(measurements: Measurements, result: Result, own: Sequence[Result]) -> list[Cell]:
    alike = [each.median for each in own if (each.variant, each.unit) == (result.variant, result.unit)]
    value: Cell = (amount(result.median, result.unit), "title")
    return [
        part_name(result.part, result.index),
        str(len(result.cpus)),
        distance(result.distance),
        title(measurements, result.kernel, result.variant),
        value,
        Bar(result.median / max(alike)),
        percent(result.spread),
    ]


def kernels_page(kernels: Iterable[KernelSheet], wrong: Iterable[str] = (), width: int | None = None) -> RenderableType:
    """Return what every kernel can measure, and which header comments cannot be read."""
    sheets, problems = tuple(kernels), tuple(wrong)
    return MeasuredPage(lambda room: _list(sheets, problems, room), width)


def kernels_document(kernels: Iterable[KernelSheet], wrong: Sequence[str]) -> dict[str, Any]:
    """Return the same as plain JSON values."""
    return {"schema": KERNELS_SCHEMA, "kernels": [each.model_dump(mode="json") for each in kernels], "wrong": [*wrong]}


def _list(kernels: Sequence[KernelSheet], wrong: Sequence[str], width: int) -> list[Line]:
    lines = [line for each in kernels for line in _kernel(each, width)]
    lines += [line for each in wrong for line in wrapped([("! ", "warn"), (plain(each), "warn")], width, indent=2)]
    return lines[1:] if lines and not lines[0] else lines


def _kernel(sheet: KernelSheet, width: int) -> list[Line]:
    where = "between hosts or ranks, by MPI" if sheet.mpi else f"on {', '.join(part_name(part) for part in sheet.parts)}"
    rows: list[list[Cell]] = [
        [
            plain(each.name, 40),
            plain(each.unit, 40),
            *map(_amount, (each.arrays, each.read, each.written, each.flops)),
            each.iteration,
        ]
        for each in sheet.variants
    ]
    return [*heading(sheet.name, f"{sheet.summary}, {where}", width), *table(_COLUMNS, rows, width, "llrrrrl", short=6)]


def _amount(number: int | None) -> str:
    return "-" if number is None else str(number)
