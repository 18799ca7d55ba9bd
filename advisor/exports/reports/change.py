"""Puts two reports side by side: what changed, and what it brought."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.errors import BadValue
from advisor.exports.reports.single import Report, ReportForm, report
from advisor.machine.observer import SILENT, Observer
from advisor.paths import template

if TYPE_CHECKING:
    from advisor.exports.report.change import ChangeContent
    from advisor.measure.platform import Scope


@dataclass(frozen=True)
class ChangeReport:
    """Two reports side by side."""

    reports: tuple[Report, Report]
    content: "ChangeContent"

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor report BEFORE AFTER --as json``."""
        from advisor.exports.report.change import change_document

        return change_document(self.content)

    def html(self) -> str:
        """Return one page: no script, no request, light, dark and for printing."""
        from advisor.exports.report.change import html_change

        return html_change(self.content, template("report/change.html.j2"), template("report/style.css"))

    def markdown(self) -> str:
        """Return what changed for a ticket."""
        from advisor.exports.report.change import markdown_change

        return markdown_change(self.content, template("report/change.md.j2"))

    def text(self, form: ReportForm) -> str:
        """Return what changed in a form."""
        if form == "json":
            return json.dumps(self.document(), indent=1, ensure_ascii=True) + "\n"
        return self.html() if form == "html" else self.markdown()


def two_machines(words: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the two machines that are compared; '-' is this one."""
    if len(words) == 1 and Path(words[0]).exists():
        raise BadValue(
            f"{words[0]} is one machine",
            cure=f"write advisor report --from {shlex.quote(words[0])} -o node.html, or name two: BEFORE AFTER",
        )
    if len(words) == 1 and not {".", "/"} & set(words[0]):
        name = words[0][:60]
        raise BadValue(f"{name} is no capture", cure=f"a finding is chosen with --only {name}, a machine with --from")
    if len(words) != 2:
        raise BadValue("a change has two sides", cure="give two captures, BEFORE and AFTER; one machine alone is named by --from")
    one, other = (None if word == "-" else word for word in words)
    return one, other


def change_report(
    before: str | None,
    after: str | None,
    scope: "Scope" = "mpi",
    *,
    site: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    observer: Observer = SILENT,
) -> ChangeReport:
    """Return what changed between two states of a machine, or two machines, and what that brought; None is this machine.

    Of ``measurements`` the first is of the one before, the second of the one after; a report's JSON holds its own.
    """
    from advisor.advice.compare.audits import difference
    from advisor.advice.compare.measured import what_it_brought
    from advisor.exports.report.change import ChangeContent

    if len(measurements) not in (0, 2):
        raise BadValue("of two machines there are two measurements, or none", cure="give --measurements twice: BEFORE's, AFTER's")
    files: list[tuple[Path, ...]] = [(file,) for file in measurements] or [(), ()]
    one, other = (
        report(each, scope, site=site, measurements=file, observer=observer)
        for each, file in zip((before, after), files, strict=True)
    )
    a, b = one.audited, other.audited
    names = (before or "this machine", after or "this machine")
    layouts = (a.judgement.layout, b.judgement.layout)
    differs = difference(names, (a.machine, b.machine), layouts, (a.audit, b.audit))
    runs = (one.content.measurements, other.content.measurements)
    brought = what_it_brought(runs[0], runs[1]) if runs[0] and runs[1] else ()
    return ChangeReport((one, other), ChangeContent(names, (one.content, other.content), differs, brought))
