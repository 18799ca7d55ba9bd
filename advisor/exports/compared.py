"""Compares two things: machines, nodes of a fleet, measurements, figures of other programs; what they are decides how."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from advisor.advice.compare import what_it_brought
from advisor.advice.difference_page import (
    before_after_document,
    before_after_page,
    difference_document,
    difference_page,
)
from advisor.advice.imported import compare_measured
from advisor.advice.model.findings import Difference
from advisor.advice.whatif import diff, runs_in
from advisor.errors import BadInput, BadValue
from advisor.exports.single import measurements_inside
from advisor.fleet.audit import diff_nodes, file_of_node, is_fleet
from advisor.fleet.read import asked
from advisor.machine.hosts.source import MEASURED_ROOM, contents, is_tar, read_json
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import json_data
from advisor.measure.imported import Beside
from advisor.measure.measurement import BeforeAfter
from advisor.measure.page import compared_document, compared_page
from advisor.measure.platform import Scope
from advisor.measure.task import compare_runs, read_measurements
from advisor.show.lines import Page

MACHINE: Final = "a machine"
RUNS: Final = "measurements"
OUTPUT: Final = "another program's output"


@dataclass(frozen=True)
class Compared:
    """What differs: of machines their difference, of runs what changed, of programs their figures side by side."""

    names: tuple[str, str]
    difference: Difference | None = None
    runs: BeforeAfter | None = None
    figures: tuple[Beside, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor compare --json``."""
        if self.difference is not None:
            brought = [] if self.runs is None else [row.model_dump(mode="json") for row in self.runs.rows]
            return {**difference_document(self.difference), "brought": brought}
        return compared_document(self.figures, self.names) if self.runs is None else before_after_document(self.runs)

    def pages(self, width: int | None) -> list[Page]:
        """Return the page: what differs, then what was measured of both."""
        found = [] if self.difference is None else [difference_page(self.difference)]
        found += [] if self.runs is None else [before_after_page(self.runs, width)]
        return found or [compared_page(self.figures, (Path(self.names[0]).name, Path(self.names[1]).name), width)]


def kind_of(name: str) -> str:
    """Return what a file or folder is, by its content; '-' is this machine."""
    place = Path(name)
    if place.is_dir():
        if is_fleet(place):
            raise BadValue(f"{name} is a fleet", cure=f"name two of its nodes: advisor compare n1 n2 {name}")
        return MACHINE if (place / "sys").is_dir() or not any(place.glob("*.json")) else RUNS
    if name == "-" or not place.exists():
        return MACHINE
    data = json_data(name)
    if data is None:
        held = contents(name) or b""
        return MACHINE if is_tar(held) or held.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else OUTPUT
    try:
        found = read_json(data, "", room=MEASURED_ROOM)
    except BadInput:
        return MACHINE  # whose reader says what is wrong with it
    whole = isinstance(found, dict) and not isinstance(found.get("machine"), dict)
    measured = isinstance(found, dict) and ("conditions" in found or (whole and "measurements" in found))
    return RUNS if measured else MACHINE


def compare(
    one: str,
    other: str,
    places: Sequence[Path] = (),
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    source: str | None = None,
    placed: str | None = None,
    observer: Observer = SILENT,
) -> Compared:
    """Return what differs between two things; with ``places`` they are nodes of a fleet, '-' is this machine.

    Machines may have ``measurements``, the first those of ``one``; ``source`` and ``placed`` say where the output of other
    programs was measured.
    """
    if places:
        found = diff_nodes(places, one, other, scope, site=site, observer=observer)
        return Compared((one, other), found)
    kinds = kind_of(one), kind_of(other)
    if MACHINE in kinds and kinds != (MACHINE, MACHINE):
        problem = f"{one} is {kinds[0]}, {other} is {kinds[1]}"
        raise BadValue(problem, cure="name two machines, or two files of measurements or of other programs' output")
    if kinds == (MACHINE, MACHINE):
        _only_of_output(source, placed)
        a, b = (None if name == "-" else name for name in (one, other))
        found = diff(a, b, scope, site=site, observer=observer)
        return Compared((one, other), found, _brought(found, a, b, measurements))
    if measurements:
        raise BadValue("--measurements are of machines", cure="name the two files alone: advisor compare A B")
    if OUTPUT in kinds:
        return Compared((one, other), figures=compare_measured(Path(one), Path(other), source, placed, observer))
    _only_of_output(source, placed)
    return Compared((one, other), runs=compare_runs(runs_in(Path(one)), runs_in(Path(other))))


def compared_machines(one: str, other: str, places: Sequence[Path]) -> tuple[str | None, str | None]:
    """Return two machines as ``--from`` takes them, None for this one; refuse what a page cannot be about."""
    if places:
        named = asked(places)
        return str(file_of_node(named, one)), str(file_of_node(named, other))
    kinds = kind_of(one), kind_of(other)
    if kinds != (MACHINE, MACHINE):
        raise BadValue("such a page is about two machines, or two reports", cure="leave out --as, or -o FILE.html")
    a, b = (None if name == "-" else name for name in (one, other))
    return a, b


def _only_of_output(source: str | None, placed: str | None) -> None:
    name = "--from" if source is not None else "--placed" if placed is not None else None
    if name is not None:
        problem = f"{name} says where another program's output was measured"
        raise BadValue(problem, cure="name both machines: advisor compare A B")


def _brought(found: Difference, one: str | None, other: str | None, measurements: Sequence[Path]) -> BeforeAfter | None:
    """Return what was measured of both machines, in files or in their reports; None where one was not measured."""
    if len(measurements) not in (0, 2):
        raise BadValue("of two machines there are two measurements, or none", cure="give --measurements twice: A's, then B's")
    files = [[file] for file in measurements] or [list(measurements_inside(each)) for each in (one, other)]
    if not all(files):
        return None
    before, after = (read_measurements(each) for each in files)
    rows = what_it_brought(before, after)
    when = (before.conditions.started, after.conditions.started)
    return BeforeAfter(hosts=found.after, before=when[0], after=when[1], of="repeats", rows=rows) if rows else None
