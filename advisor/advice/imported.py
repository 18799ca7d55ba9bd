"""Takes the figures that other benchmark programs printed: reads files, says where each ran, and makes Measurements of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advisor.advice.whatif import measured_on
from advisor.errors import BadInput, BadValue
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.measure.imported import Beside
from advisor.measure.imports.memory import Level, levels, times_of
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.measurement import Measurements, Unit
from advisor.measure.task import ImportedFile, is_ours, measurements_of, read_file, read_measurements


@dataclass(frozen=True)
class Imported:
    """What files hold, and what of it became Measurements of a machine."""

    files: tuple[ImportedFile, ...]
    machine: Machine | None = None
    measurements: Measurements | None = None
    notes: tuple[str, ...] = ()
    levels: dict[str, tuple[Level, ...]] = field(default_factory=dict)

    @property
    def facts(self) -> MeasuredFacts | None:
        """Return what the measurements say of the machine, beside what is published for such machines."""
        return measured_on(self.machine, self.measurements) if self.machine and self.measurements else None

    @property
    def refused(self) -> tuple[str, ...]:
        """Return, a line each, the files and runs that are not believed."""
        files = [f"{file.name}: {file.error}" for file in self.files if file.error]
        runs = [f"{file.name}:{run.line}: {run.tool}: {run.refused}" for file in self.files for run in file.runs if run.refused]
        return (*files, *runs)

    @property
    def status(self) -> int:
        """Return the exit status: 2 where nothing could be read, 1 where something is refused."""
        good = any(run.refused is None for file in self.files for run in file.runs)
        return 2 if not good else 1 if self.refused else 0

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor measure import --json``."""
        return {
            "schema": "advisor-import/1",
            "files": [
                {"file": file.name, "error": file.error, "runs": [run.model_dump(mode="json") for run in file.runs]}
                for file in self.files
            ],
            "groups": {name: [level._asdict() for level in found] for name, found in self.levels.items()},
            "notes": list(self.notes),
            "measurements": self.measurements.model_dump(mode="json") if self.measurements else None,
        }


def import_files(
    files: Sequence[Path], source: str | None = None, placed: str | None = None, observer: Observer = SILENT
) -> Imported:
    """Read files; with a machine they become its Measurements, as far as the files, or the user, say where each ran."""
    read = tuple(read_file(path) for path in files)
    found = {
        f"{file.name}:{run.line}": tuple(levels(times_of(run), int(run.conditions["CPUs"])))
        for file in read
        for run in file.runs
        if run.refused is None and run.format == "core-to-core"
    }
    if source is None:
        if placed is not None:
            raise BadValue("--placed needs a machine", cure="give --from CAPTURE, or --from - for this machine")
        return Imported(read, levels=found)
    machine = read_machine(None if source == "-" else source, observer)
    kept, missing = measurements_of(read, machine, placed)
    beside = tuple(note for key, cuts in found.items() for note in contradictions(machine, key, cuts))
    return Imported(read, machine, kept, (*(f"{each.task.split('/', 2)[2]}: {each.why}" for each in missing), *beside), found)


def contradictions(machine: Machine, name: str, cuts: Sequence[Level]) -> Iterator[str]:
    """Yield in what a matrix of times between CPUs contradicts the topology that the machine reports."""
    topology = machine.topology
    if topology is None or not cuts:
        return
    cpus = sorted(topology.pus)
    if sum(map(len, cuts[0].groups)) != len(cpus):
        return
    inside = topology.inside
    known = [{frozenset(part.cpuset) for part in parts} for parts in (topology.l3, inside.cpu_nodes, topology.packages)]
    known.append({frozenset(core.cpuset) for core in inside.cores if len(core.cpuset) > 1})
    for level in cuts:
        groups = {frozenset(cpus[at] for at in group) for group in level.groups}
        if groups not in known:
            found = f"{len(groups)} groups of {len(level.groups[0])} CPUs ({level.ratio:.1f} times the latency between groups)"
            yield (
                f"{name}: its latencies show {found}, which this machine does not report: "
                "they are from another machine, or part of this one is hidden"
            )


def must_have_results(found: Imported) -> Measurements:
    """Return the measurements; refuse, with the reason, where nothing became one."""
    if found.measurements is None:
        why = "; ".join((*found.refused, *found.notes)) or "no machine given"
        raise BadValue(
            f"there is nothing to save: {why[:300]}", cure="specify the machine with --from and the part with --placed"
        )
    return found.measurements


def compare_measured(
    first: Path, second: Path, source: str | None = None, placed: str | None = None, observer: Observer = SILENT
) -> tuple[Beside, ...]:
    """Return the figures that two files have of the same part of a machine: our results, or another program's output."""
    one, other = (_side(each, source, placed, observer) for each in (first, second))
    wrong = [name for name in ("cpu", "cpus", "nodes") if getattr(one.machine, name) != getattr(other.machine, name)]
    if wrong:
        raise BadInput("not the same machine or NUMA partitioning as the first file", file=str(second))
    before, after = _best(one), _best(other)
    rows = tuple(Beside(words, unit, before[words, unit], after[words, unit]) for words, unit in before if (words, unit) in after)
    if not rows:
        raise BadInput(
            f"{second} has no figure for the same part and kind", file=str(first), cure="see advisor measure show FILE"
        )
    return rows


def _side(path: Path, source: str | None, placed: str | None, observer: Observer) -> Measurements:
    if is_ours(path):
        return read_measurements([path])
    found = import_files([path], source, placed, observer)
    if found.measurements is None:
        why = "; ".join((*found.refused, *found.notes)) or "name its machine with --from"
        raise BadInput(f"it contains no measurements of a machine: {why[:300]}", file=str(path))
    return found.measurements


def _best(measurements: Measurements) -> dict[tuple[str, Unit], float]:
    """Return the best believed figure of each kind and part: stores of either kind are one."""
    found: dict[tuple[str, Unit], float] = {}
    for each in measurements.results:
        if each.refused is None and each.purpose in ("part", "matrix", "hpl", "network", "network-pair"):
            kind = {"lu": "HPL", "xhpl": "HPL", "chase": "latency"}.get(each.variant, each.variant.removesuffix("-nt"))
            where = each.part if each.index is None else f"{each.part} {each.index}"
            memory = f", memory of node {each.memory}" if each.memory is not None and each.part == "numa" else ""
            size = f", {each.bytes} bytes" if each.bytes and each.purpose.startswith("network") else ""
            key = (f"{kind}, {where}{memory}{size}", each.unit)
            better = min if each.unit == "seconds" else max
            found[key] = better(found.get(key, each.median), each.median)
    return found
