"""Two reports side by side: what changed, what it brought and how sure that is, and what is left to fix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from advisor.advice.audit_page.unseen import tally
from advisor.advice.model.findings import Change, Difference, FindingChange
from advisor.errors import CannotWork
from advisor.exports.report.content import ReportContent
from advisor.exports.report.drawings import dark_rules, embedded
from advisor.exports.report.findings import SCOPES, Verdict, verdict
from advisor.exports.report.machine import marked
from advisor.machine.jinja import fill
from advisor.machine.units import binary, count, plain
from advisor.measure.charts import change_chart
from advisor.measure.figures import amount, distance, part_name
from advisor.measure.measurement import SIGNIFICANT, Contrast, least_p
from advisor.show.commandline import word
from advisor.show.topology.picture import picture
from advisor.show.topology.svg import draw_svg

CHANGE_SCHEMA: Final = "advisor-report-change/1"
"""The number rises when a key changes meaning or goes."""


@dataclass(frozen=True)
class ChangeContent:
    """One machine before and after a change, or two machines."""

    names: tuple[str, str]
    reports: tuple[ReportContent, ReportContent]
    difference: Difference
    brought: tuple[Contrast, ...]


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


class ChangedRow(NamedTuple):
    """One thing that differs."""

    title: str
    before: str
    after: str


class Pair(NamedTuple):
    """The same drawing of both."""

    title: str
    before: str
    after: str


def html_change(content: ChangeContent, template: str, style: str) -> str:
    """Return the page of a change."""
    return fill(template, {**values(content), "style": style, "dark": dark_rules()}, "change.html.j2")


def markdown_change(content: ChangeContent, template: str) -> str:
    """Return a change for a ticket."""
    return fill(template, values(content, drawn=False), "change.md.j2")


def change_document(content: ChangeContent) -> dict[str, Any]:
    """Return the document of ``advisor report BEFORE AFTER --as json``."""
    return {
        "schema": CHANGE_SCHEMA,
        "before": content.names[0],
        "after": content.names[1],
        "difference": content.difference.model_dump(mode="json"),
        "brought": [row.model_dump(mode="json") for row in content.brought],
    }


_SHOWN: Final = 12
"""So many figures are in the table where none is of the whole machine."""


def values(content: ChangeContent, *, drawn: bool = True) -> dict[str, Any]:
    """Return what the templates may use."""
    told, both = content.difference, content.reports
    rows = [_row(row) for row in content.brought]
    whole = [row for row in content.brought if row.part == "machine"]  # they come first
    return {
        "names": [plain(name, 120) for name in content.names],
        "titles": [picture(each.machine, each.layout).title for each in both],
        "made": both[1].made,
        "scope": SCOPES.get(both[1].audit.scope, both[1].audit.scope),
        "version": plain(both[1].version, 40),
        "verdict": _verdict(content),
        "left": verdict(both[1].audit),
        "lost": [_finding(each, "after") for each in told.lost],
        "gained": [_finding(each, "before") for each in told.gained],
        "renumbered": count(told.renumbered, "CPU number") if told.renumbered else "",
        "changed": [(title, rows) for title, rows in _changes(told) if rows],
        "facts": _rows(told.facts),
        "brought": rows[: len(whole)] if whole else rows[:_SHOWN],
        "rest": rows[len(whole) or _SHOWN :],
        "why_none": _why_none(content),
        "again": _measured_again(content),
        "warnings": _warnings(content),
        "drawings": _drawings(content) if drawn else [],
        "chart": _chart(content, (whole or content.brought)[:_SHOWN]) if drawn else "",
        "tallies": [", ".join(tally(each.audit)) for each in both],
        "conditions": [_conditions(each) for each in both],
    }


def _verdict(content: ChangeContent) -> Verdict:
    told = content.difference
    parts = [f"{count(len({each.id for each in told.lost}), 'finding')} gone" if told.lost else ""]
    harmful = {each.id for each in told.gained if each.severity != "info"}
    parts += [count(len(harmful), "new finding") if harmful else ""]
    best = _telling(content.brought)
    parts += [f"{_name(best)} {100 * (best.ratio - 1):+.1f} % (p = {best.p:.2g})" if best else ""]
    said = "; ".join(part for part in parts if part) or "no finding came or went, and no measured difference is shown"
    if told.same and not content.brought:
        return Verdict("little", "Nothing differs", "in what could be read on both")
    worse = bool(harmful) or (best is not None and best.says == "slower")
    return Verdict("bad" if worse else "good", "What changed", said)


def _telling(brought: Sequence[Contrast]) -> Contrast | None:
    """Return the figure of the whole machine that says most: its best triad, else another that differs."""
    shown = [row for row in brought if row.part == "machine" and row.says != "no difference shown"]
    triad = [row for row in shown if (row.variant or "").startswith("triad")]
    return max(triad, key=lambda row: row.after.median, default=shown[0] if shown else None)


_THERE: Final = {"not-applicable": "does not apply", "unknown": "not known", "error": "broken", "waived": "waived"}


def _finding(change: FindingChange, there: str) -> str:
    now = f" ({there}: {_THERE[change.now]})" if change.now in _THERE else ""
    return f"{change.severity.upper()} {change.id}: {plain(change.claim or '', 300)}{now}"


def _changes(told: Difference) -> Iterable[tuple[str, list[ChangedRow]]]:
    return (
        ("Settings", _rows(told.settings)),
        ("Topology", _rows(told.topology)),
        ("Adapters and accelerators", _rows(told.devices)),
        ("Hardware and firmware", _rows(told.identity)),
    )


def _rows(changes: Sequence[Change]) -> list[ChangedRow]:
    return [ChangedRow(plain(each.title, 120), *(plain(side, 160) for side in each.sides())) for each in changes]


def _name(row: Contrast) -> str:
    size = f", {binary(row.bytes)}" if row.hca and row.bytes else ""
    through = f" through {plain(row.hca, 40)}" if row.hca else ""
    where = part_name(row.part, row.index) if row.part else ""
    away = f", {distance(row.distance)}" if row.distance in ("same-socket", "other-socket") else ""
    what = " ".join(dict.fromkeys(plain(word, 40) for word in (row.kernel, row.variant) if word))
    return f"{what}, {where}{through}{size}{away}"


_KINDS: Final = {"faster": "up", "slower": "down"}


def _row(row: Contrast) -> BroughtRow:
    return BroughtRow(
        name=_name(row),
        before=amount(row.before.median, row.unit),
        after=amount(row.after.median, row.unit),
        change=f"{100 * (row.ratio - 1):+.1f} %",
        p=f"{row.p:.2g}",
        says=row.says,
        kind=_KINDS.get(row.says, ""),
    )


def _measured_again(content: ChangeContent) -> str:
    """Return the line that makes this page with what was measured before and after."""
    sources = [(each.asker.source or ("-",))[-1] for each in content.reports]
    files = ("--measurements", "quick1.json", "--measurements", "quick2.json", "-o", "change.html")
    return " ".join(map(word, ("advisor", "report", *sources, *files)))


def _why_none(content: ChangeContent) -> str:
    """Return why nothing measured is compared; empty where something is."""
    if content.brought:
        return ""
    missing = [name for name, each in zip(content.names, content.reports, strict=True) if each.measurements is None]
    if missing:
        return f"Nothing measured is compared: there are no measurements of {' and '.join(plain(name, 80) for name in missing)}"
    return "Nothing measured is compared: the two have no figure in common that means the same"


def _warnings(content: ChangeContent) -> list[str]:
    said = []
    for name, each in zip(content.names, content.reports, strict=True):
        under = each.measurements.conditions if each.measurements else None
        if under is not None and under.idle is False:
            said.append(
                f"the machine was busy when {plain(name, 80)} was measured: {'; '.join(plain(one) for one in under.busy)}"
            )
    few = [row for row in content.brought if least_p(row.before.number, row.after.number) > SIGNIFICANT]
    if few:
        told = ", ".join(_name(row) for row in few[:3]) + (" and others" if len(few) > 3 else "")
        said.append(f"{few[0].before.number} and {few[0].after.number} repeats cannot show a difference, 5 and 5 can: {told}")
    return said


def _conditions(content: ReportContent) -> str:
    measured = content.measurements
    if measured is None:
        return "not measured"
    idle = {True: "idle", False: "busy", None: "not known whether idle"}[measured.conditions.idle]
    built = plain(measured.conditions.compiler or "kernels built elsewhere", 80)
    when = plain(measured.conditions.when, 120)
    return f"measured {when}, {idle}, {built}" if measured.conditions.started else when


def _drawings(content: ChangeContent) -> list[Pair]:
    return [Pair("The machine", *(_machine(each, f"m{at}") for at, each in enumerate(content.reports)))]


def _machine(content: ReportContent, name: str) -> str:
    seen = marked(picture(content.machine, content.layout), content.machine, content.audit, content.measured)
    return embedded(draw_svg(seen, head=False), name, f"Drawing of {seen.title}", f"{seen.processors}; {seen.counts}")


def _chart(content: ChangeContent, rows: Sequence[Contrast]) -> str:
    """Return what the change brought as a drawing; empty where nothing is compared, or nothing can draw."""
    try:
        drawn = change_chart(rows, [_name(row) for row in rows], "After, against before", "svg").decode() if rows else ""
    except CannotWork:
        return ""
    about = "; ".join(f"{_name(row)} {100 * (row.ratio - 1):+.1f} %" for row in rows)
    return (
        embedded(drawn, "brought-chart", f"What the change brought: {content.names[0]}, {content.names[1]}", about)
        if drawn
        else ""
    )
