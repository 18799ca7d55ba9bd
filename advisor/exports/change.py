"""Two reports side by side: what changed, what it brought and how sure that is, and what is left to fix."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from advisor.advice.audit_page.card import tally
from advisor.advice.compare import difference, what_it_brought
from advisor.advice.model.findings import Change, Difference, FindingChange
from advisor.errors import BadValue, CannotWork
from advisor.exports.exhibits import dark_rules, embedded
from advisor.exports.figures import SCOPES, Verdict, verdict
from advisor.exports.marks import marked
from advisor.exports.page import ReportContent
from advisor.exports.single import Report, report
from advisor.machine.jinja import fill
from advisor.machine.observer import SILENT, Observer
from advisor.machine.units import binary, count, plain
from advisor.measure.charts import change_chart
from advisor.measure.figures import amount, distance, part_name
from advisor.measure.measurement import SIGNIFICANT, Contrast, least_p
from advisor.measure.platform import Scope
from advisor.paths import template
from advisor.show.commandline import word
from advisor.show.picture import picture
from advisor.show.svg import draw_svg

_SHOWN: Final = 12
"""So many figures are in the table where none is of the whole machine."""
_THERE: Final = {"not-applicable": "does not apply", "unknown": "not known", "error": "broken", "waived": "waived"}
_KINDS: Final = {"faster": "up", "slower": "down"}


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
        drawn = {"style": template("report/style.css"), "dark": dark_rules()}
        return fill(template("report/change.html.j2"), {**values(self.content), **drawn}, "change.html.j2")

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
        raise BadValue("of two machines there are two measurements, or none", cure="give --measurements twice: BEFORE's, AFTER's")
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
    """up, down, or empty where no difference is shown."""


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
        "lost": [_finding(each, "after") for each in differs.lost],
        "gained": [_finding(each, "before") for each in differs.gained],
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


def _verdict(content: ChangeContent) -> Verdict:
    differs = content.difference
    harmful = {each.id for each in differs.gained if each.severity != "info"}
    shown = [row for row in content.brought if row.part == "machine" and row.says != "no difference shown"]
    triad = [row for row in shown if (row.variant or "").startswith("triad")]
    best = max(triad, key=lambda row: row.after.median, default=shown[0] if shown else None)  # the figure that says most
    parts = (
        f"{count(len({each.id for each in differs.lost}), 'finding')} gone" if differs.lost else "",
        count(len(harmful), "new finding") if harmful else "",
        f"{_name(best)} {_percent(best)} (p = {best.p:.2g})" if best else "",
    )
    if differs.same and not content.brought:
        return Verdict("little", "Nothing differs", "in what could be read on both")
    worse = bool(harmful) or (best is not None and best.says == "slower")
    says = "; ".join(filter(None, parts)) or "no finding appeared or disappeared, and no measured difference was proven"
    return Verdict("bad" if worse else "good", "What changed", says)


def _finding(change: FindingChange, there: str) -> str:
    now = f" ({there}: {_THERE[change.now]})" if change.now in _THERE else ""
    return f"{change.severity.upper()} {change.id}: {plain(change.claim or '', 300)}{now}"


def _rows(changes: Sequence[Change]) -> list[tuple[str, ...]]:
    return [(plain(each.title, 120), *(plain(side, 160) for side in each.sides())) for each in changes]


def _name(row: Contrast) -> str:
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
    return BroughtRow(_name(row), before, after, _percent(row), f"{row.p:.2g}", row.says, _KINDS.get(row.says, ""))


def _why_none(content: ChangeContent) -> str:
    """Return why nothing measured is compared; empty where something is."""
    sides = zip(content.names, content.reports, strict=True)
    missing = " and ".join(plain(name, 80) for name, each in sides if each.measurements is None)
    why = f"there are no measurements of {missing}" if missing else "the two have no figure in common that means the same"
    return "" if content.brought else f"No measurements compared: {why}"


def _warnings(content: ChangeContent) -> Iterator[str]:
    for name, each in zip(content.names, content.reports, strict=True):
        under = each.measurements.conditions if each.measurements else None
        if under is not None and under.idle is False:
            yield f"the machine was busy when {plain(name, 80)} was measured: {'; '.join(plain(one) for one in under.busy)}"
    few = [row for row in content.brought if least_p(row.before.number, row.after.number) > SIGNIFICANT]
    if few:
        names = ", ".join(_name(row) for row in few[:3]) + (" and others" if len(few) > 3 else "")
        yield f"{few[0].before.number} and {few[0].after.number} repeats cannot show a difference, 5 and 5 can: {names}"


def _conditions(content: ReportContent) -> str:
    if content.measurements is None:
        return "not measured"
    under = content.measurements.conditions
    idle = {True: "idle", False: "busy", None: "not known whether idle"}[under.idle]
    when, built = plain(under.when, 120), plain(under.compiler or "kernels built elsewhere", 80)
    return f"measured {when}, {idle}, {built}" if under.started else when


def _drawing(content: ReportContent, name: str) -> str:
    seen = marked(picture(content.machine, content.layout), content.machine, content.audit, content.measured)
    return embedded(draw_svg(seen, head=False), name, f"Drawing of {seen.title}", f"{seen.processors}; {seen.counts}")


def _chart(content: ChangeContent, rows: Sequence[Contrast]) -> str:
    """Return what the change brought as a drawing; empty where nothing can draw."""
    try:
        drawn = change_chart(rows, [_name(row) for row in rows], "After, against before", "svg").decode()
    except CannotWork:
        return ""
    about = "; ".join(f"{_name(row)} {_percent(row)}" for row in rows)
    return embedded(drawn, "brought-chart", f"What the change brought: {content.names[0]}, {content.names[1]}", about)
