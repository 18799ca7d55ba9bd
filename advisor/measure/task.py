"""Measures this machine: idle gate, plan, build, run, belief; and reads what was measured before."""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from advisor import __version__
from advisor.errors import BadInput, BadValue, CannotWork, in_words
from advisor.machine.cpuset import CpuSet, bounded_sets
from advisor.machine.hosts.files import open_here
from advisor.machine.hosts.live import LiveHost
from advisor.machine.hosts.source import LARGEST_DOCUMENT, MEASURED_ROOM, MOST_RESULTS, read_json
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.measure import contract
from advisor.measure.build import (
    Builder,
    Compiler,
    PrebuiltPrograms,
    Recipe,
    build,
    cache_folder,
    cpu_of,
    find_compiler,
    flags_for,
    kernel_names,
)
from advisor.measure.contract import must_agree, read_kernels
from advisor.measure.measurement import (
    MEASUREMENTS_SCHEMA,
    Conditions,
    Measurements,
    Missing,
    Result,
    identity_of,
    machine_mismatch,
)
from advisor.measure.plan import PLANS, Plan, Request, plan
from advisor.measure.platforms import match_platform
from advisor.measure.resources import Resources, checked_results
from advisor.measure.run import BusyWatch, Programs, RunContext, conditions, free_memory, merge_runs, run
from advisor.paths import kernels

QUICK_SECONDS: Final = 55.0
"""The quick set ends by then, with the gate and the first build beside it."""


@dataclass(frozen=True)
class MeasureOptions:
    """How the user wants it done."""

    busy_ok: bool = False
    """Measure a busy machine too; the results say so."""
    kernels: Path | None = None
    """A folder of kernels that were built elsewhere."""


@dataclass(frozen=True)
class Measured:
    """What was measured, whether Ctrl-C ended it, and the machine, None where it was another or as it is no longer."""

    measurements: Measurements
    interrupted: bool = False
    machine: Machine | None = None

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor measure --json``: measurements as they are kept."""
        found: dict[str, Any] = self.measurements.model_dump(mode="json")
        return found


def wished(
    what: str = "quick",
    *,
    per: str | None = None,
    patterns: str | None = None,
    cpus: str | None = None,
    node: int | None = None,
    repeats: int | None = None,
    smt: bool = False,
) -> Request:
    """Return a wish to measure: quick, full, membw, scaling, matrix, ladder, loaded, c2c, peak or roofline, on some CPUs only."""
    if per is not None and what in PLANS and what != "membw":
        raise BadValue(f"--per goes with membw, not with {what[:40]}", cure=f"advisor measure membw --per {per}")
    if patterns is not None and what not in PLANS:
        raise BadValue(f"--pattern goes with membw, not with {what[:40]}", cure="a kernel by its name measures all that it can")
    chosen = contract.patterns(patterns) if patterns is not None else None
    only = CpuSet.parse(cpus) if cpus is not None else None
    return Request(what, contract.part_named(per) if per else None, chosen, only, node, repeats, smt)


def measure_machine(
    wish: Request | str = "quick",
    how: MeasureOptions | None = None,
    *,
    machine: Machine | None = None,
    observer: Observer = SILENT,
) -> Measured:
    """Measure this machine, read first unless it is given: the quick set in under a minute, if nothing else is wished."""
    asked = wished(wish) if isinstance(wish, str) else wish
    return measure(machine or read_machine(None, observer), asked, how or MeasureOptions(), observer)


def planned(machine: Machine, wish: Request) -> Plan:
    """Return what would be measured on a machine, here or elsewhere."""
    return _with_work(plan(machine, wish), wish)


def _with_work(made: Plan, wish: Request) -> Plan:
    if not made.tasks:
        why = made.left_out[0].why if made.left_out else "one core or NUMA node alone has nothing to compare"
        raise CannotWork(f"there is nothing to measure for {wish.what} here: {why}")
    return made


def plan_document(made: Plan) -> dict[str, Any]:
    """Return the document of ``advisor measure --dry-run --json``."""
    return {
        "schema": "advisor-measure-plan/1",
        "seconds": round(made.seconds, 1),
        "tasks": [task.model_dump(mode="json") for task in made.tasks],
        "left_out": [each.model_dump(mode="json") for each in made.left_out],
    }


def measure(machine: Machine, wish: Request, how: MeasureOptions, observer: Observer = SILENT) -> Measured:
    """Measure this machine."""
    host, ground = LiveHost(), Resources(machine, wish.cpus, smt=wish.smt)
    made = _with_work(plan(machine, wish, free_memory(host, machine)), wish)
    watch = BusyWatch(host, machine, ground)
    watch.must_be_idle(busy_ok=how.busy_ok)
    programs, compiler, flags = programs_for(host, machine, how.kernels, observer)
    sheets = {kernel: read_kernels().sheet(kernel) for kernel in dict.fromkeys(task.kernel for task in made.tasks)}
    for kernel, sheet in sheets.items():
        must_agree(host, programs.program(kernel), sheet)
    begun, started = time.monotonic(), datetime.now().astimezone().isoformat(timespec="seconds")
    budget = QUICK_SECONDS if wish.what == "quick" else None
    try:
        outcome = run(made.tasks, RunContext(host, programs, observer.task, watch.look, kernels=sheets, budget=budget))
    finally:
        observer.end()
    platform = match_platform(machine)
    version = compiler.version if compiler else None
    under = conditions(machine, started, watch.words(), seconds=time.monotonic() - begun, compiler=version, flags=flags)
    results = checked_results(outcome.results, ground, platform)
    measurements = gathered(machine, under, results, (*made.left_out, *outcome.missing))
    if not measurements.results and not outcome.interrupted:
        why = measurements.missing[0].why if measurements.missing else "no kernel printed a result"
        raise CannotWork(f"nothing was measured: {why}")
    return Measured(measurements, outcome.interrupted, machine)


def gathered(machine: Machine, under: Conditions, results: Sequence[Result], missing: Sequence[Missing]) -> Measurements:
    """Return what was measured of a machine, with who it is, under which conditions, and what the kernels say of themselves."""
    sheets = read_kernels().sheets
    return Measurements(
        advisor=__version__,
        machine=identity_of(machine),
        conditions=under,
        kernels=tuple(sheets[name] for name in dict.fromkeys(each.kernel for each in results) if name in sheets),
        results=tuple(results),
        missing=tuple(missing),
    )


def programs_for(
    host: LiveHost, machine: Machine, elsewhere: Path | None, observer: Observer
) -> tuple[Programs, Compiler | None, str | None]:
    """Return where the kernels are: built elsewhere, or built here as they are needed."""
    if elsewhere is not None:
        return PrebuiltPrograms(elsewhere), None, None
    recipe = Recipe(kernels(), find_compiler(host, os.environ.get("CC")), flags_for(machine))
    folder = cache_folder(os.environ)
    return Builder(host, recipe, cpu_of(machine), folder, observer.say, open_only=True), recipe.compiler, " ".join(recipe.flags)


def read_measurements(files: Sequence[Path]) -> Measurements:
    """Return what was measured before, all files together; of a thing that two of them have, the later run's."""
    read = [_read(file) for file in files]
    for other, file in zip(read[1:], files[1:], strict=True):
        if other.machine != read[0].machine:
            raise BadInput("measured on another machine, or another NUMA partitioning, than the file before", file=str(file))
    return merge_runs(read)


def must_be_of_machine(measurements: Measurements, machine: Machine, name: str) -> Measurements:
    """Return measurements; refuse those of another machine."""
    wrong = machine_mismatch(measurements.machine, machine)
    if wrong is not None:
        raise BadInput(wrong, file=name, cure="show them with advisor measure show FILE, or measure again")
    return measurements


def measurements_from(files: Sequence[Path] | None, machine: Machine) -> Measurements | None:
    """Return the measurements of files together; those of another machine, or of this one cut in another way, are refused."""
    return must_be_of_machine(read_measurements(files), machine, str(files[0])) if files else None


def saved_measurements(
    files: Sequence[Path], source: str | None = None, *, must_fit: bool = False, observer: Observer = SILENT
) -> Measured:
    """Return saved measurements, with the machine where they are of this one or the source's; else refuse, or leave it out."""
    found, machine = read_measurements(files), read_machine(source, observer)
    if must_fit:
        must_be_of_machine(found, machine, str(files[0]))
    return Measured(found, machine=machine if machine_mismatch(found.machine, machine) is None else None)


def _read(file: Path) -> Measurements:
    cure = "write it with advisor measure --save FILE"
    try:
        with open_here(file) as opened:
            raw = opened.read(LARGEST_DOCUMENT + 1) or b""
        data = read_json(raw, cure, room=MEASURED_ROOM)
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(file), cure=cure) from error
    except BadInput as error:
        raise error.within(str(file)) from error
    if isinstance(data, dict) and isinstance(data.get("measurements"), dict):
        data = data["measurements"]
    results = data.get("results", []) if isinstance(data, dict) else None
    if not isinstance(data, dict) or "conditions" not in data or not isinstance(results, list) or len(results) > MOST_RESULTS:
        raise BadInput("no Measurements, or too many", file=str(file), cure=cure)
    if data.get("schema_version") != MEASUREMENTS_SCHEMA:
        problem = f"its schema_version is {str(data.get('schema_version'))[:20]}, this advisor reads {MEASUREMENTS_SCHEMA}"
        raise BadInput(problem, file=str(file), cure="update advisor, or measure again")
    try:
        with bounded_sets():
            return Measurements.model_validate_json(json.dumps(data))
    except BadInput as error:
        raise error.within(str(file)) from error
    except ValidationError as error:
        worst = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place, problem = ".".join(map(str, worst["loc"]))[:120] or None, f"no Measurements: {in_words(worst['msg'])[:120]}"
        raise BadInput(problem, file=str(file), place=place, cure=cure) from error


def build_all(march: str | None, folder: Path, observer: Observer = SILENT) -> None:
    """Build every kernel that needs no MPI into a folder, for this processor or another of this architecture."""
    host, sources = LiveHost(), kernels()
    flags = flags_for(Machine(architecture=os.uname().machine), march)
    recipe = Recipe(sources, find_compiler(host, os.environ.get("CC")), flags)
    names = kernel_names(sources)
    if not names:
        raise CannotWork(f"{sources}: there are no kernels; this copy is incomplete, install advisor again")
    for name in names:
        observer.say(f"building {name} for {march or 'this processor'} into {folder}")
        build(host, recipe, name, folder / name)
