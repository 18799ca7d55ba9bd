"""Write a report to attach to a ticket or a tender: one page, or two machines or two states side by side.

The page has the verdict and the fixes first, then the machine drawn with what is wrong marked on it, what was measured
beside what is published, settings, the plan in the vendor's commands, launch lines, what could not be seen, and every fact
with its source. It is one file without script that loads nothing, for screen, dark screen and paper. An idle machine is
measured first, in under a minute, as by audit; --no-measure, --full, --hpl and --network as there. --from, --bios and
--measurements take what was captured elsewhere. With BEFORE and AFTER, two captures or two reports written with --as json,
it says what changed, what that brought, and how sure that is; of --measurements the first is then of BEFORE, the second of
AFTER. --as md is for tickets, --as json for programs: diff, audit and report read it again.

Group: Look at a machine
Example: sudo advisor report -o node.html
Example: advisor report --from node.tar.gz --measurements full.json -o node.html
Example: advisor report --from node.tar.gz --as md
Example: advisor report before.json after.json -o change.html
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli import options as opt
from advisor.cli.output import Terminal, say
from advisor.errors import BadValue, must_be_one_of
from advisor.host.files import write_file

if TYPE_CHECKING:
    from advisor.work.report.single import ReportForm

Two = Annotated[
    list[str] | None, typer.Argument(metavar="[BEFORE AFTER]", help="Two captures, or two reports as JSON; '-' is this machine.")
]
ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


def run(
    two: Two = None,
    *,
    source: opt.From = None,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    bios: opt.Bios = None,
    measurements: opt.MeasurementsOption = None,
    measure: opt.AuditMeasure = True,
    network: opt.AuditNetwork = None,
    hpl: opt.AuditHpl = False,
    full: opt.AuditFull = False,
    busy_ok: opt.BusyOk = False,
    form: opt.ReportFormat = None,
    output: opt.Output = None,
) -> int:
    """Write the report."""
    from advisor.work.audit import MeasureNow
    from advisor.work.report.change import change_report
    from advisor.work.report.single import report

    names = _both(two) if two else None
    kind, watcher = _kind(form, output), Terminal(details=sys.stderr.isatty())
    more = {"--network": network is not None, "--hpl": hpl, "--full": full, "--busy-ok": busy_ok}
    still = {"--from": source is not None, "--no-measure": not measure, "BEFORE and AFTER": bool(two)}
    _apart(more, still)
    _apart({"--full": full}, {"--measurements": bool(measurements)})
    if names:
        _apart({"--from": source is not None, "--bios": bool(bios)}, {"BEFORE and AFTER": True})
        changed = change_report(*names, scope, site=rules or (), measurements=measurements or (), observer=watcher)
        _put(changed.text(kind), output)
        return 0
    asked = MeasureNow(not measurements, full, network, hpl, busy_ok) if measure and source is None else None
    files = {"site": rules or (), "bios": bios or (), "measurements": measurements or ()}
    made = report(source, scope, **files, measure=asked, observer=watcher)
    _put(made.text(kind), output)
    return 130 if made.audited.measured.interrupted else 0


def _apart(some: dict[str, bool], others: dict[str, bool]) -> None:
    """Refuse what does not go together."""
    for name, given in some.items():
        for other, is_other in others.items():
            opt.at_most_one({other: is_other, name: given})


def _both(words: list[str]) -> tuple[str | None, str | None]:
    """Return the two machines that are compared; '-' is this one."""
    if len(words) != 2:
        raise BadValue("a change has two sides", cure="give two captures, BEFORE and AFTER; one machine alone is named by --from")
    one, other = (None if word == "-" else word for word in words)
    return one, other


def _kind(form: str | None, output: Path | None) -> "ReportForm":
    """Return the format: as asked, else as the file's name ends; a page for a browser is not for a terminal."""
    ending = ENDINGS.get(output.suffix.lower()) if output is not None else None
    name = form or ending
    if name is None and output is not None:
        raise BadValue(f"{output} ends as no report does", cure="take .html, .md or .json, or say which with --as")
    if name is None:
        raise BadValue("a report is a file", cure="name it with -o node.html; --as md prints one for a ticket")
    found: ReportForm = "html" if name == "html" else "md" if name == "md" else "json"
    must_be_one_of("format of reports:", name, ("html", "md", "json"), "there are html, md, json")
    return found


def _put(text: str, output: Path | None) -> None:
    if output is None:
        say(text)
    else:
        write_file(output, text.encode())
