"""How the commands that measure under MPI answer: with the lines they would run, or with what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor.model.hardware.machine import Machine
    from advisor.model.measurement_statistics import BeforeAfter
    from advisor.render.commandline import BenchmarkStep
    from advisor.work.measure import Measured


@dataclass(frozen=True)
class Form:
    """Where an answer goes and what it looks like."""

    output: Path | None
    json: bool
    width: int | None
    color: bool


def show_lines(found: "list[BenchmarkStep]", notes: tuple[str, ...], form: Form) -> int:
    """Print the lines, or write them with their files into the folder that is named; return the exit status."""
    from advisor.render.commandline import benchmark_document, benchmark_page
    from advisor.work.job.folder import write_benchmark
    from advisor.work.machine import emit, emit_json

    if form.output is not None:
        found, written = write_benchmark(form.output, found)
        notes = (*notes, f"written: {', '.join(written)}")
    if form.json:
        emit_json(benchmark_document(found, notes), None)
    else:
        emit([benchmark_page(found, notes, form.width)], None, color=form.color, width=form.width)
    return 0


def show_measured(
    done: "Measured",
    machine: "Machine",
    notes: Sequence[str],
    save: Path | None,
    form: Form,
    *,
    compared: "BeforeAfter | None" = None,
) -> int:
    """Print what was measured, and what that is beside an earlier run; keep it where that is wished; return the exit status."""
    from advisor.render.difference import before_after_document, before_after_page
    from advisor.render.measured.page import measured_page
    from advisor.work.machine import emit, emit_json
    from advisor.work.measure import document

    if save is not None:
        emit_json(document(done.measurements), save)
    if form.json:
        told = document(done.measurements)
        emit_json({**before_after_document(compared), "measurements": told} if compared else told, form.output)
    else:
        page = measured_page(done.measurements, form.width, machine=machine)
        beside = [before_after_page(compared, form.width)] if compared else []
        emit([page, *beside, *(f"Note: {note}" for note in notes)], form.output, color=form.color, width=form.width)
    return 130 if done.interrupted else 0
