"""Measures this machine: idle gate, plan, build, run, belief; and reads what was measured before."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from advisor import __version__
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.files import open_given, open_here
from advisor.machine.hosts.live import LiveHost
from advisor.machine.hosts.source import LARGEST_DOCUMENT, MEASURED_ROOM, MOST_RESULTS, read_json
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine, validated
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
from advisor.measure.contract import read_kernels
from advisor.measure.imported import FASTEST, Placing, adapter_of, place_of, results_of_run
from advisor.measure.imports import LARGEST, read_runs
from advisor.measure.measurement import (
    MEASUREMENTS_SCHEMA,
    NETWORK,
    SIGNIFICANT,
    BeforeAfter,
    Conditions,
    Contrast,
    ImportedRun,
    Measurements,
    Missing,
    Purpose,
    Result,
    Side,
    Unit,
    identity_of,
    least_p,
    machine_mismatch,
    rank_sum_p,
    reported_text,
    significance,
)
from advisor.measure.plan import PLANS, Plan, Request, plan
from advisor.measure.platform import match_platform
from advisor.measure.resources import Resources, checked_results
from advisor.measure.run import BusyWatch, Programs, RunContext, conditions, free_memory, merge_runs, run, started_at
from advisor.paths import kernels
from advisor.show.commandline import word

QUICK_SECONDS = 55.0
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
        raise BadValue(f"--per applies to membw, not to {what[:40]}", cure=f"advisor measure membw --per {per}")
    if patterns is not None and what not in PLANS:
        raise BadValue(
            f"--pattern applies to membw, not to {what[:40]}", cure="leave it out: a kernel given by name runs all variants"
        )
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
        why = made.left_out[0].why if made.left_out else "only one core or NUMA node, so nothing to compare"
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


@dataclass(frozen=True)
class ImportedFile:
    """One file: its runs, or why it could not be read."""

    name: str
    runs: tuple[ImportedRun, ...] = ()
    error: str | None = None


def read_file(path: Path) -> ImportedFile:
    """Return the runs of a file, ``-`` is standard input; what cannot be read is said of it alone."""
    try:
        with open_given(path) as opened:
            return ImportedFile(str(path), read_runs(opened.read(LARGEST + 1) or b""))
    except OSError as error:
        return ImportedFile(str(path), error=(error.strerror or "cannot be read").lower())
    except BadInput as error:
        return ImportedFile(str(path), error=str(error))


def measurements_of(
    files: Iterable[ImportedFile], machine: Machine, placed: str | None = None
) -> tuple[Measurements | None, list[Missing]]:
    """Return what other programs measured on a machine, where they, or the user, say where each ran; and what has no place."""
    ground, platform = Resources(machine, smt=True), match_platform(machine)
    adapter = adapter_of(ground, placed)
    place = place_of(ground, placed) if placed is not None and adapter is None else None
    peak = platform.core_peak(machine.cpu.base_hz) if platform and machine.cpu else None
    most = platform.core_peak(FASTEST) if platform else None
    results: list[Result] = []
    missing: list[Missing] = []
    for name, each in ((file.name, each) for file in files for each in file.runs if each.refused is None):
        task = f"imported/{each.format}/{Path(name).name}:{each.line}"
        made, why = results_of_run(Placing(ground, task, peak, most, adapter), each, place)
        results += made
        missing += [Missing(task=task, why=why)] if why else []
    checked = checked_results(results, Resources(machine), platform)
    taken = dict.fromkeys(str(each.details["imported"]).partition(", ")[0] for each in checked)
    under = Conditions(started="", idle=None, imported=tuple(taken))
    return gathered(machine, under, checked, missing) if checked else None, missing


def read_measurements(files: Sequence[Path]) -> Measurements:
    """Return what was measured before, all files together; of a thing that two of them have, the later run's."""
    read = [_read(file) for file in files]
    for other, file in zip(read[1:], files[1:], strict=True):
        if other.machine != read[0].machine:
            raise BadInput("measured on a different machine or NUMA partitioning than the previous file", file=str(file))
    return merge_runs(read)


def must_be_of_machine(measurements: Measurements, machine: Machine, name: str) -> Measurements:
    """Return measurements; refuse those of another machine."""
    wrong = machine_mismatch(measurements.machine, machine)
    if wrong is not None:
        raise BadInput(wrong, file=name, cure="show them with advisor measure show FILE, or measure again")
    return measurements


def is_ours(file: Path) -> bool:
    """Return whether a file begins as our results do, and not as another program's output."""
    try:
        with open_here(file) as opened:
            begins = (opened.read(4096) or b"").lstrip()
    except OSError as error:
        cure = "write it with advisor measure --save FILE"
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(file), cure=cure) from error
    return begins.startswith(b"{") and b'"test_info"' not in begins  # as perftest's JSON


def measurements_from(files: Sequence[Path] | None, machine: Machine, observer: Observer = SILENT) -> Measurements | None:
    """Return what files have of a machine, all together: our results, or another program's output that says where it ran.

    Those of another machine, or of this one partitioned in another way, are refused; of a file with several runs those that
    cannot be used are told.
    """
    own = [file for file in files or () if is_ours(file)]
    found = [must_be_of_machine(read_measurements(own), machine, str(own[0]))] if own else []
    for file in (each for each in files or () if each not in own):
        read = read_file(file)
        kept, missing = measurements_of([read], machine)
        whys = [read.error, *(each.refused for each in read.runs), *(each.why for each in missing)]
        if kept is None:
            why = "; ".join(dict.fromkeys(filter(None, whys))) or "it contains no figures"
            imports = f"advisor measure import {word(str(file))} --from CAPTURE --placed PART --save FILE"
            cure = None if read.error or any(each.refused for each in read.runs) else f"import it with {imports}"
            raise BadInput(why[:300].removeprefix(f"{file}: "), file=str(file), cure=cure)
        for why in dict.fromkeys(filter(None, whys)):
            observer.say(f"{file}: one run was skipped: {why[:200]}")
        found.append(kept)
    return merge_runs(found) if found else None


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
        raise BadInput("contains no measurements, or too many", file=str(file), cure=cure)
    if data.get("schema_version") != MEASUREMENTS_SCHEMA:
        problem = f"its schema_version is {str(data.get('schema_version'))[:20]}, but this advisor reads {MEASUREMENTS_SCHEMA}"
        raise BadInput(problem, file=str(file), cure="update advisor, or measure again")
    return validated(Measurements, data, str(file), BadInput("no Measurements", cure=cure))


def build_all(march: str | None, folder: Path, observer: Observer = SILENT) -> None:
    """Build every kernel that needs no MPI into a folder, for this processor or another of this architecture."""
    host, sources = LiveHost(), kernels()
    flags = flags_for(Machine(architecture=os.uname().machine), march)
    recipe = Recipe(sources, find_compiler(host, os.environ.get("CC")), flags)
    names = kernel_names(sources)
    if not names:
        raise CannotWork(f"{sources}: no kernels; this copy is incomplete: reinstall advisor")
    for name in names:
        observer.say(f"building {name} for {march or 'this processor'} into {folder}")
        build(host, recipe, name, folder / name)


_LARGEST = 1 << 40
_CURE = "compare two runs of the same hosts, launcher and sizes"


@dataclass(frozen=True)
class Setup:
    """With what messages were measured; two runs are compared only where it is the same."""

    hosts: str
    launcher: str
    hcas: tuple[str, ...]
    sizes: tuple[int, ...]
    pairs: int | None = None
    """How many pairs all cores are; None before it ran."""


Runs = Sequence[Measurements]
"""One or several starts of the same experiment, under one setting."""


_OF_PARTS: tuple[Purpose, ...] = ("part", "sparse", "half", "matrix", "peak", "clock", "roofline", "kernel")
"""What one machine gives as one figure; the points of curves and maps are too many to stand in a table."""


def compare_runs(before: Runs, after: Runs) -> BeforeAfter:
    """Return what changed between two settings, each measured once or several times; refuse runs of different things.

    Runs of messages are compared by these, all others by every figure that both have of a part.
    """
    if any(run.machine != before[0].machine for run in (*before, *after)):
        raise BadValue("the runs are from different machines, or from one whose NUMA partitioning changed", cure=_CURE)
    starts = len(before) > 1 < len(after)
    of_parts = any(run.results and not any(each.purpose in NETWORK for each in run.results) for run in (*before, *after))
    hosts, launcher = before[0].machine.name or "one machine", ""
    if of_parts:
        rows = tuple(_part_rows(before, after, starts=starts))
    else:
        first, second = ([_all_cores(run, which) for run in runs] for which, runs in (("before", before), ("after", after)))
        one = setup_of(first[0])
        for results in (*first, *second):
            must_be_alike(one, setup_of(results))
        hosts, launcher, rows = one.hosts, one.launcher, tuple(_message_rows(first, second, min(one.sizes), starts=starts))
    return BeforeAfter(
        hosts=hosts,
        launcher=launcher,
        before=min(before, key=started_at).conditions.started,
        after=min(after, key=started_at).conditions.started,
        of="starts" if starts else "repeats",
        rows=rows,
        warnings=tuple(_warnings(before, after, rows, starts=starts)),
    )


def _part_rows(before: Runs, after: Runs, *, starts: bool) -> Iterator[Contrast]:
    """Yield every figure of a part that all have: the same task, variant, CPUs and working set."""
    first, second = ([_by_thing(run) for run in runs] for runs in (before, after))
    common = [thing for thing in first[0] if all(thing in run for run in (*first, *second))]
    if not common:
        cure = "measure the same thing both times: advisor measure WHAT --save FILE, or advisor measure network"
        raise CannotWork(f"the runs have no valid figure in common; {cure}")
    for thing in common:
        one = first[0][thing]
        sides = [_values((run[thing] for run in runs), starts=starts) for runs in (first, second)]
        of = {"variant": one.variant, "part": one.part, "index": one.index, "distance": one.distance, "bytes": one.bytes}
        yield _contrast({"what": "part", "kernel": one.kernel, **of}, one.unit, *sides)


def _by_thing(run: Measurements) -> dict[tuple[object, ...], Result]:
    found = [each for purpose in _OF_PARTS for each in run.of(purpose) if all(0 < value < inf for value in each.values)]
    return {(each.task, each.variant, each.unit, each.isa, each.cpus, each.bytes): each for each in found}


def _values(results: Iterable[Result], size: int = 1, *, starts: bool) -> list[float]:
    """Return what runs gave of one thing: of several starts the median of each, else every repeat."""
    return [value / size for each in results for value in ([each.median] if starts else each.values)]


def _contrast(of: Mapping[str, Any], unit: Unit, *sides: Sequence[float]) -> Contrast:
    before, after = (Side(number=len(side), median=median(side), low=min(side), high=max(side)) for side in sides)
    p, ratio = rank_sum_p(*sides), after.median / before.median if before.median else 1.0
    says = significance(p, 1 / ratio if unit == "seconds" and ratio else ratio)
    return Contrast(**of, unit=unit, before=before, after=after, ratio=ratio, p=p, says=says)


def before_setup(before: Measurements) -> Setup:
    """Return with what the first run was measured, to be asked before the second is."""
    return setup_of(_all_cores(before, "before"))


def must_be_alike(one: Setup, two: Setup) -> None:
    """Refuse two runs that were measured with different things, and name the first of them."""

    def words(of: Setup, pairs: int | None) -> dict[str, str]:
        return {
            "between": of.hosts,
            "with": of.launcher,
            "through": ", ".join(hca or "an adapter chosen by the MPI" for hca in of.hcas),
            "with messages of": f"{', '.join(map(str, of.sizes))} bytes",
            "with pairs of ranks:": str(pairs),
        }

    first, second = words(one, one.pairs), words(two, two.pairs or one.pairs)
    for how, said in first.items():
        if said != second[how]:
            raise BadValue(
                f"the earlier run was measured {how} {said[:80]}, but the later run {how} {second[how][:80]}", cure=_CURE
            )


def sizes_argument(listed: str) -> tuple[int, ...]:
    """Return the sizes of messages that the kernel is asked for.

    >>> sizes_told("8,65536"), sizes_told("1:8")
    ((8, 65536), (1, 2, 4, 8))
    """
    low, colon, high = listed.partition(":")
    if not colon:
        return tuple(sorted({int(word) for word in listed.split(",")}))
    return tuple(int(low) << at for at in range((int(high) // int(low)).bit_length()))


def setup_of(results: Sequence[Result]) -> Setup:
    """Return with what some results were measured."""
    return Setup(
        reported_text(results[0], "hosts_named"),
        reported_text(results[0], "launcher"),
        tuple(dict.fromkeys(reported_text(each, "hca") for each in results)),
        tuple(sorted({each.bytes or 0 for each in results})),
        _pairs(results[0]),
    )


def _all_cores(measured: Measurements, which: str) -> list[Result]:
    """Return what all cores reached, of the whole machine, or of its only part; sizes and values such as can be measured."""
    every = measured.of("network", variant="mbw_mr")
    found = [each for each in every if 0 < (each.bytes or 0) < _LARGEST and all(0 < value < inf for value in each.values)]
    parts = {(each.part, each.index) for each in found}
    whole = [each for each in found if each.part == "machine"] or (found if len(parts) == 1 else [])
    if not whole:
        cure = "measure both with advisor measure network --hosts A,B --save FILE, without --per or with --per node"
        raise CannotWork(f"the run {which} has no valid all-core message results; {cure}")
    return whole


def _pairs(result: Result) -> int:
    value = result.details.get("pairs", 0)
    return value if isinstance(value, int) else 0


_Found = Sequence[Sequence[Result]]
"""What all cores reached, run by run."""


def _message_rows(before: _Found, after: _Found, small: int, *, starts: bool) -> Iterator[Contrast]:
    """Yield each size through each adapter; the smallest as a message rate, which is what small messages are for."""

    def thing(result: Result) -> tuple[object, ...]:
        return reported_text(result, "hca"), result.bytes

    for one in before[0]:
        size = one.bytes or 0
        what, unit, each = ("message rate", "messages/s", size) if size == small else ("bandwidth", "bytes/s", 1)
        alike = ([result for run in runs for result in run if thing(result) == thing(one)] for runs in (before, after))
        sides = [_values(results, each, starts=starts) for results in alike]
        if all(sides):
            of = {"what": what, "hca": reported_text(one, "hca") or None, "bytes": size, "pairs": _pairs(one)}
            yield _contrast(of, unit, *sides)


def _warnings(before: Runs, after: Runs, rows: Iterable[Contrast], *, starts: bool) -> Iterator[str]:
    """Yield what speaks against believing a comparison: a busy machine, one start that differs from the next, too few of them."""
    if max(map(started_at, after)) < min(map(started_at, before)):
        yield "the runs given as 'before' started later than the others"
    for which, runs in (("before", before), ("after", after)):
        busy = "; ".join(dict.fromkeys(words for run in runs for words in run.conditions.busy))
        looks = {run.conditions.idle for run in runs}
        if False in looks:
            yield f"the machine was busy {which}{': ' if busy else ''}{busy}: the difference may come from other work"
        elif None in looks:
            yield f"the hosts were not checked for other load {which}"
    if not starts:
        yield (
            "only one run per setting: its repeats are alike, but another run can differ from all of them; save five runs "
            "of each setting in a folder and compare the folders"
        )
    fewest = min(((row.before.number, row.after.number) for row in rows), default=(0, 0))
    if least_p(*fewest) > SIGNIFICANT:
        what = "starts" if starts else "repeats"
        yield f"{fewest[0]} and {fewest[1]} {what} are too few to show a difference; 5 on each side are enough"
