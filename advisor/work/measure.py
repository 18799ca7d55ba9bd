"""Measures this machine: idle gate, plan, build, run, belief; and reads what was measured before."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from advisor import __version__
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.host.files import open_here
from advisor.host.live import LiveHost
from advisor.host.source import LARGEST_DOCUMENT, read_json
from advisor.know.platforms import match_platform
from advisor.measure import idle_check
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
from advisor.measure.ceilings import checked_results
from advisor.measure.headers import must_agree, read_kernels
from advisor.measure.idle_check import conditions, free_memory
from advisor.measure.kernel_tasks import Request
from advisor.measure.plan import Plan, plan
from advisor.measure.resources import Resources
from advisor.measure.run import Outcome, Programs, Progress, RunContext, merge_runs, run
from advisor.model.cpuset import bounded_sets
from advisor.model.hardware.machine import Machine
from advisor.model.measurement import (
    MEASUREMENTS_SCHEMA,
    Conditions,
    Measurements,
    Missing,
    Result,
    identity_of,
    machine_mismatch,
)
from advisor.paths import kernels

QUICK_SECONDS: Final = 55.0
"""The quick set ends by then, with the gate and the first build beside it."""


@dataclass(frozen=True)
class MeasureOptions:
    """How the user wants it done."""

    busy_ok: bool = False
    kernels: Path | None = None
    verbose: bool = False
    budget: float | None = None


@dataclass(frozen=True)
class Measured:
    """What was measured, and whether Ctrl-C ended it."""

    measurements: Measurements
    interrupted: bool


def planned(machine: Machine, wish: Request) -> Plan:
    """Return what would be measured on a machine, here or elsewhere."""
    return _with_work(plan(machine, wish), wish)


def _with_work(made: Plan, wish: Request) -> Plan:
    if not made.tasks:
        why = made.left_out[0].why if made.left_out else "one core alone has nothing to compare"
        raise CannotWork(f"there is nothing to measure for {wish.what} here: {why}")
    return made


def measure(machine: Machine, wish: Request, how: MeasureOptions) -> Measured:
    """Measure this machine."""
    host, ground = LiveHost(), Resources(machine, wish.cpus, smt=wish.smt)
    made = _with_work(plan(machine, wish, free_memory(host, machine)), wish)
    watch = BusyWatch(host, machine, ground)
    watch.must_be_idle(busy_ok=how.busy_ok)
    programs, compiler, flags = programs_for(host, machine, how)
    sheets = {kernel: read_kernels().sheet(kernel) for kernel in dict.fromkeys(task.kernel for task in made.tasks)}
    for kernel, sheet in sheets.items():
        must_agree(host, programs.program(kernel), sheet)
    begun, started = time.monotonic(), datetime.now().astimezone().isoformat(timespec="seconds")
    with show_progress(how.verbose) as report:
        outcome = run(made.tasks, RunContext(host, programs, report, watch.look, kernels=sheets, budget=how.budget))
    platform = match_platform(machine)
    version = compiler.version if compiler else None
    under = conditions(machine, started, watch.words(), seconds=time.monotonic() - begun, compiler=version, flags=flags)
    results = checked_results(outcome.results, ground, platform.flops_per_cycle if platform else None)
    measurements = gathered(machine, under, results, (*made.left_out, *outcome.missing))
    return Measured(_something(measurements, outcome), outcome.interrupted)


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


def _something(measurements: Measurements, outcome: Outcome) -> Measurements:
    if not measurements.results and not outcome.interrupted:
        why = measurements.missing[0].why if measurements.missing else "no kernel printed a result"
        raise CannotWork(f"nothing was measured: {why}")
    return measurements


def programs_for(host: LiveHost, machine: Machine, how: MeasureOptions) -> tuple[Programs, Compiler | None, str | None]:
    """Return where the kernels are: built elsewhere, or built here as they are needed."""
    if how.kernels is not None:
        return PrebuiltPrograms(how.kernels), None, None
    recipe = Recipe(kernels(), find_compiler(host, os.environ.get("CC")), flags_for(machine))
    folder = cache_folder(os.environ)
    return Builder(host, recipe, cpu_of(machine), folder, announce, open_only=True), recipe.compiler, " ".join(recipe.flags)


def announce(text: str) -> None:
    """Say on standard error what is being done."""
    sys.stderr.write(f"advisor: {text}\n")
    sys.stderr.flush()


class BusyWatch:
    """Looks at who else works, again and again."""

    def __init__(self, host: LiveHost, machine: Machine, ground: Resources) -> None:
        self._host, self._cpus = host, ground.inside.pus
        self._last = idle_check.load_snapshot(host, time.monotonic(), self._cpus)
        self._standing = idle_check.partial_job(machine, Resources(machine).usable)
        self._busy: idle_check.Busy = {}
        self._stolen = 0.0

    def must_be_idle(self, *, busy_ok: bool) -> None:
        """Refuse to measure a busy machine, unless that is wished."""
        before = self.before()
        if before and not busy_ok:
            raise CannotWork(f"this machine is not idle: {'; '.join(before)}; wait, or measure all the same with --busy-ok")

    def before(self) -> tuple[str, ...]:
        """Return what speaks against measuring now; takes a moment."""
        first = self._last
        time.sleep(idle_check.MOMENT)
        self.look()
        crowded = () if self._busy else idle_check.background_load(first, self._last)
        self._standing = (*self._standing, *crowded)
        return self.words()

    def look(self) -> None:
        """Note who worked since it last looked."""
        last, self._last = self._last, idle_check.load_snapshot(self._host, time.monotonic(), self._cpus)
        for who, used in idle_check.foreign_load(self._host, last, self._last, os.getpid()).items():
            self._busy[who] = max(used, self._busy.get(who, 0.0))
        self._stolen = max(self._stolen, idle_check.steal_share(last, self._last))

    def words(self) -> tuple[str, ...]:
        """Return all that spoke against measuring so far."""
        return (*self._standing, *idle_check.busiest_in_words(self._busy), *idle_check.steal_warning(self._stolen))


@contextmanager
def show_progress(verbose: bool) -> Iterator[Callable[[Progress], None]]:  # noqa: FBT001 - the one thing it is told
    """Show how far it is: a line of its own for each task, or on a terminal one line that changes."""
    terminal = sys.stderr.isatty() and not verbose

    def report(now: Progress) -> None:
        text = f"{now.number}/{now.of} {now.task.name}, about {max(1, round(now.left))} s left"
        if verbose:
            announce(text)
        elif terminal:
            sys.stderr.write(f"\r\x1b[Kadvisor: measuring {text[:100]}")
            sys.stderr.flush()

    try:
        yield report
    finally:
        if terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def read_measurements(files: Sequence[Path]) -> Measurements:
    """Return what was measured before, all files together; of a thing that two of them have, the later run's."""
    read = [_read(file) for file in files]
    for other, file in zip(read[1:], files[1:], strict=True):
        if other.machine != read[0].machine:
            raise BadInput("measured on another machine, or on one cut otherwise, than the file before", file=str(file))
    return merge_runs(read)


def must_be_of_machine(measurements: Measurements, machine: Machine, name: str) -> Measurements:
    """Return measurements; refuse those of another machine."""
    wrong = machine_mismatch(measurements.machine, machine)
    if wrong is not None:
        raise BadInput(wrong, file=name, cure="show them with advisor measure show FILE, or measure again")
    return measurements


def _read(file: Path) -> Measurements:
    cure = "write it with advisor measure --save FILE"
    try:
        with open_here(file) as opened:
            raw = opened.read(LARGEST_DOCUMENT + 1) or b""
        data = read_json(raw, cure)
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(file), cure=cure) from error
    except BadInput as error:
        raise error.within(str(file)) from error
    if isinstance(data, dict) and isinstance(data.get("measurements"), dict):
        data = data["measurements"]
    if not isinstance(data, dict) or "conditions" not in data:
        raise BadInput("no Measurements", file=str(file), cure=cure)
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
        place = ".".join(str(part) for part in worst["loc"])[:120]
        raise BadInput(f"no Measurements: {worst['msg'][:120]}", file=str(file), place=place or None, cure=cure) from error


def document(measurements: Measurements) -> dict[str, Any]:
    """Return measurements as they are written."""
    found: dict[str, Any] = measurements.model_dump(mode="json")
    return found


def must_be_alone(given: dict[str, bool]) -> None:
    """Refuse options that do not go together."""
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise BadValue(f"{names[0]} and {names[1]} do not go together", cure="give one of the two")


def build_all(march: str | None, folder: Path) -> None:
    """Build every kernel that needs no MPI into a folder, for this processor or another of this architecture."""
    host, sources = LiveHost(), kernels()
    recipe = Recipe(
        sources, find_compiler(host, os.environ.get("CC")), flags_for(Machine(architecture=os.uname().machine), march)
    )
    names = kernel_names(sources)
    if not names:
        raise CannotWork(f"{sources}: there are no kernels; install advisor again, this copy is not whole")
    for name in names:
        sys.stderr.write(f"advisor: building {name} for {march or 'this processor'} into {folder}\n")
        build(host, recipe, name, folder / name)
