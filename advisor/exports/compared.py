"""Compares two things: machines, nodes of a fleet, measurements, figures of other programs; what they are decides how."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from advisor.advice.audit_page.card import tally
from advisor.advice.compare import (
    before_after_document,
    before_after_page,
    difference,
    difference_document,
    difference_page,
    what_it_brought,
)
from advisor.advice.imported import compare_measured
from advisor.advice.model.findings import Change, Difference, FindingChange
from advisor.advice.whatif import diff, runs_in
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.exports.page import SCOPES, PageVerdict, ReportContent, embedded, marked, styles, verdict
from advisor.exports.single import Report, measurements_inside, report
from advisor.fleet.audit import diff_nodes, file_of_node, is_fleet
from advisor.fleet.read import asked
from advisor.machine.hosts.source import MEASURED_ROOM, contents, is_tar, read_json
from advisor.machine.jinja import fill
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import json_data
from advisor.machine.units import binary, count, plain
from advisor.measure.charts import change_chart
from advisor.measure.figures import amount, distance, part_name
from advisor.measure.imported import Beside
from advisor.measure.measurement import SIGNIFICANT, BeforeAfter, Contrast, least_p
from advisor.measure.page import compared_document, compared_page
from advisor.measure.platform import Scope
from advisor.measure.task import compare_runs, read_measurements
from advisor.paths import template
from advisor.show.commandline import word
from advisor.show.lines import Page
from advisor.show.picture import picture
from advisor.show.svg import draw_svg

MACHINE = "a machine"
RUNS = "measurements"
OUTPUT = "another program's output"


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
        raise BadValue("--measurements applies only to machines", cure="name only the two files: advisor compare A B")
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
        raise BadValue("this page compares two machines, or two reports", cure="leave out --as, or -o FILE.html")
    a, b = (None if name == "-" else name for name in (one, other))
    return a, b


def _only_of_output(source: str | None, placed: str | None) -> None:
    name = "--from" if source is not None else "--placed" if placed is not None else None
    if name is not None:
        problem = f"{name} applies only to another program's output"
        raise BadValue(problem, cure="name both machines: advisor compare A B")


def _brought(found: Difference, one: str | None, other: str | None, measurements: Sequence[Path]) -> BeforeAfter | None:
    """Return what was measured of both machines, in files or in their reports; None where one was not measured."""
    if len(measurements) not in (0, 2):
        raise BadValue("two machines need two measurements, or none", cure="give --measurements twice: A's, then B's")
    files = [[file] for file in measurements] or [list(measurements_inside(each)) for each in (one, other)]
    if not all(files):
        return None
    before, after = (read_measurements(each) for each in files)
    rows = what_it_brought(before, after)
    when = (before.conditions.started, after.conditions.started)
    return BeforeAfter(hosts=found.after, before=when[0], after=when[1], of="repeats", rows=rows) if rows else None


_SHOWN = 12
"""So many figures are in the table where none is of the whole machine."""
_THERE = {"not-applicable": "does not apply", "unknown": "not known", "error": "broken", "waived": "waived"}
_KINDS = {"faster": "up", "slower": "down"}


@dataclass(frozen=True)
class ChangeContent:
    """One machine before and after a change, or two machines."""

    names: tuple[str, str]
    reports: tuple[ReportContent, ReportContent]
    difference: Difference
    brought: tuple[Contrast, ...]


@dataclass(frozen=True)
class ChangeReport:
    """Two reports side by side."""

    reports: tuple[Report, Report]
    content: ChangeContent

    def html(self) -> str:
        """Return one page: no script, no request, light, dark and for printing."""
        return fill(template("report/change.html.j2"), {**values(self.content), **styles()}, "change.html.j2")

    def markdown(self) -> str:
        """Return what changed for a ticket."""
        return fill(template("report/change.md.j2"), values(self.content, drawn=False), "change.md.j2")


def change_report(
    before: str | None,
    after: str | None,
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    observer: Observer = SILENT,
) -> ChangeReport:
    """Return what changed between two states of a machine, or two machines, and what that brought; None is this machine.

    Of ``measurements`` the first is of the one before, the second of the one after; a report's JSON holds its own.
    """
    if len(measurements) not in (0, 2):
        raise BadValue("two machines need two measurements, or none", cure="give --measurements for both, BEFORE first")
    files: list[tuple[Path, ...]] = [(file,) for file in measurements] or [(), ()]
    one, other = (
        report(each, scope, site=site, measurements=file, observer=observer)
        for each, file in zip((before, after), files, strict=True)
    )
    a, b = one.content, other.content
    names = (before or "this machine", after or "this machine")
    differs = difference(names, (a.machine, b.machine), (a.layout, b.layout), (a.audit, b.audit))
    brought = what_it_brought(a.measurements, b.measurements) if a.measurements and b.measurements else ()
    return ChangeReport((one, other), ChangeContent(names, (a, b), differs, brought))


class BroughtRow(NamedTuple):
    """One figure before and after."""

    name: str
    before: str
    after: str
    change: str
    p: str
    says: str
    kind: str
    """up, down, or empty if no difference is shown."""


def values(content: ChangeContent, *, drawn: bool = True) -> dict[str, Any]:
    """Return what the templates may use."""
    differs, both, brought = content.difference, content.reports, content.brought
    rows = [_row(row) for row in brought]
    whole = [row for row in brought if row.part == "machine"]  # they come first
    shown = len(whole) or _SHOWN
    kinds = {
        "Settings": differs.settings, "Topology": differs.topology, "Adapters and accelerators": differs.devices,
        "Hardware and firmware": differs.identity,
    }  # fmt: skip
    sources = [(each.asker.source or ("-",))[-1] for each in both]
    files = ("--measurements", "quick1.json", "--measurements", "quick2.json", "-o", "change.html")
    return {
        "names": [plain(name, 120) for name in content.names],
        "titles": [picture(each.machine, each.layout).title for each in both],
        "made": both[1].made,
        "scope": SCOPES.get(both[1].audit.scope, both[1].audit.scope),
        "version": plain(both[1].version, 40),
        "verdict": _verdict(content),
        "left": verdict(both[1].audit),
        "lost": [finding_line(each, "after") for each in differs.lost],
        "gained": [finding_line(each, "before") for each in differs.gained],
        "renumbered": count(differs.renumbered, "CPU number") if differs.renumbered else "",
        "changed": [(title, _rows(changes)) for title, changes in kinds.items() if changes],
        "facts": _rows(differs.facts),
        "brought": rows[:shown],
        "rest": rows[shown:],
        "why_none": _why_none(content),
        "again": " ".join(map(word, ("advisor", "compare", *sources, *files))),
        "warnings": list(_warnings(content)),
        "drawings": [_drawing(each, f"m{at}") for at, each in enumerate(both)] if drawn else [],
        "chart": _chart(content, (whole or brought)[:_SHOWN]) if drawn and brought else "",
        "tallies": [", ".join(tally(each.audit)) for each in both],
        "conditions": [_conditions(each) for each in both],
    }


def _verdict(content: ChangeContent) -> PageVerdict:
    differs = content.difference
    harmful = {each.id for each in differs.gained if each.severity != "info"}
    shown = [row for row in content.brought if row.part == "machine" and row.says != "no difference shown"]
    triad = [row for row in shown if (row.variant or "").startswith("triad")]
    best = max(triad, key=lambda row: row.after.median, default=shown[0] if shown else None)  # the figure that says most
    parts = (
        f"{count(len({each.id for each in differs.lost}), 'finding')} gone" if differs.lost else "",
        count(len(harmful), "new finding") if harmful else "",
        f"{figure_name(best)} {_percent(best)} (p = {best.p:.2g})" if best else "",
    )
    if differs.same and not content.brought:
        return PageVerdict("little", "Nothing differs", "no difference in the facts that could be read on both sides")
    worse = bool(harmful) or (best is not None and best.says == "slower")
    says = "; ".join(filter(None, parts)) or "no finding appeared or disappeared, and no measured difference was proven"
    return PageVerdict("bad" if worse else "good", "What changed", says)


def finding_line(change: FindingChange, there: str) -> str:
    """Return a finding that only one side has, in a line."""
    now = f" ({there}: {_THERE[change.now]})" if change.now in _THERE else ""
    return f"{change.severity.upper()} {change.id}: {plain(change.claim or '', 300)}{now}"


def _rows(changes: Sequence[Change]) -> list[tuple[str, ...]]:
    return [(plain(each.title, 120), *(plain(side, 160) for side in each.sides())) for each in changes]


def figure_name(row: Contrast) -> str:
    """Return what a figure is of, in words."""
    size = f", {binary(row.bytes)}" if row.hca and row.bytes else ""
    through = f" through {plain(row.hca, 40)}" if row.hca else ""
    where = part_name(row.part, row.index) if row.part else ""
    away = f", {distance(row.distance)}" if row.distance in ("same-socket", "other-socket") else ""
    what = " ".join(dict.fromkeys(plain(word, 40) for word in (row.kernel, row.variant) if word))
    return f"{what}, {where}{through}{size}{away}"


def _percent(row: Contrast) -> str:
    return f"{100 * (row.ratio - 1):+.1f} %"


def _row(row: Contrast) -> BroughtRow:
    before, after = amount(row.before.median, row.unit), amount(row.after.median, row.unit)
    return BroughtRow(figure_name(row), before, after, _percent(row), f"{row.p:.2g}", row.says, _KINDS.get(row.says, ""))


def _why_none(content: ChangeContent) -> str:
    """Return why nothing measured is compared; empty where something is."""
    sides = zip(content.names, content.reports, strict=True)
    missing = " and ".join(plain(name, 80) for name, each in sides if each.measurements is None)
    why = f"none were given for {missing}" if missing else "the two machines have no comparable figures in common"
    return "" if content.brought else f"No measurements compared: {why}"


def _warnings(content: ChangeContent) -> Iterator[str]:
    for name, each in zip(content.names, content.reports, strict=True):
        under = each.measurements.conditions if each.measurements else None
        if under is not None and under.idle is False:
            yield f"the machine was busy when {plain(name, 80)} was measured: {'; '.join(plain(one) for one in under.busy)}"
    few = [row for row in content.brought if least_p(row.before.number, row.after.number) > SIGNIFICANT]
    if few:
        names = ", ".join(figure_name(row) for row in few[:3]) + (" and others" if len(few) > 3 else "")
        sides = f"{few[0].before.number} and {few[0].after.number}"
        yield f"{sides} repeats are too few to show a difference; 5 on each side are enough: {names}"


def _conditions(content: ReportContent) -> str:
    if content.measurements is None:
        return "not measured"
    under = content.measurements.conditions
    idle = {True: "idle", False: "busy", None: "unknown whether idle"}[under.idle]
    when, built = plain(under.when, 120), plain(under.compiler or "kernels built elsewhere", 80)
    return f"measured {when}, {idle}, {built}" if under.started else when


def _drawing(content: ReportContent, name: str) -> str:
    seen = marked(picture(content.machine, content.layout), content.machine, content.audit, content.measured)
    return embedded(draw_svg(seen, head=False), name, f"Drawing of {seen.title}", f"{seen.processors}; {seen.counts}")


def _chart(content: ChangeContent, rows: Sequence[Contrast]) -> str:
    """Return what the change brought as a drawing; empty where nothing can draw."""
    try:
        drawn = change_chart(rows, [figure_name(row) for row in rows], "After, against before", "svg").decode()
    except CannotWork:
        return ""
    about = "; ".join(f"{figure_name(row)} {_percent(row)}" for row in rows)
    return embedded(drawn, "brought-chart", f"Effect of the change: {content.names[0]}, {content.names[1]}", about)
