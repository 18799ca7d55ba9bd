"""Write a report to attach to a ticket or a tender: one page, or two machines or two states side by side.

The page has the verdict and the fixes first, then the machine drawn with what is wrong marked on it, what was measured
beside what is published, settings, the plan in the vendor's commands, launch lines, what could not be seen, and every fact
with its source. It is one file without script that loads nothing, for screen, dark screen and paper. An idle machine is
measured first, in under a minute, as by audit; --no-measure, --full, --hpl and --network as there. --from, --bios and
--measurements take what was captured elsewhere. With BEFORE and AFTER, two captures or two reports written with --as json,
it says what changed, what that brought, and how sure that is; of --measurements the first is then of BEFORE, the second of
AFTER. --tuned shows what a race of advisor tune found. --only 1 is about one finding, for a ticket of its own; --as md is
for tickets, --as json for programs: diff, audit and report read it again.

Credentials are on no page; --for vendor withholds people, hosts and networks, --for public all that names the machine,
and the page says what.

Group: Look at a machine
Example: sudo advisor report -o node.html
Example: advisor report --from node.tar.gz --measurements full.json -o node.html
Example: advisor report --from node.tar.gz --only 1 --as md
Example: advisor report before.json after.json -o change.html
"""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from advisor.cli import options as opt
from advisor.cli.bmc_options import NO_BIOS, GivenBios, reads_bios
from advisor.cli.output import Terminal, emit_text

Two = Annotated[
    list[str] | None, typer.Argument(metavar="[BEFORE AFTER]", help="Two captures, or two reports as JSON; '-' is this machine.")
]


Tuned = Annotated[
    list[Path] | None, typer.Option("--tuned", metavar="DIR", help="Show the race of a folder of advisor tune; can be repeated.")
]


For = Annotated[
    Literal["internal", "vendor", "public"],
    typer.Option("--for", help="Withhold people, hosts and networks from a vendor; from the public all that names the machine."),
]


@reads_bios
def run(
    two: Two = None,
    *,
    source: opt.From = None,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: opt.MeasurementsOption = None,
    measure: opt.AuditMeasure = True,
    network: opt.AuditNetwork = None,
    hpl: opt.AuditHpl = False,
    full: opt.AuditFull = False,
    busy_ok: opt.BusyOk = False,
    tuned: Tuned = None,
    only: opt.Only = None,
    form: opt.ReportFormat = None,
    audience: For = "internal",
    output: opt.Output = None,
) -> int:
    """Write the report."""
    from advisor.exports.change import change_report, two_machines
    from advisor.exports.measuring_now import MeasureNow
    from advisor.exports.single import form_of, report

    names, kind, watcher = two_machines(two) if two else None, form_of(form, output), Terminal(details=sys.stderr.isatty())
    _apart(
        {"--network": network is not None, "--hpl": hpl, "--full": full, "--busy-ok": busy_ok},
        {"--from": source is not None, "--no-measure": not measure, "BEFORE and AFTER": bool(two)},
    )
    _apart({"--full": full}, {"--measurements": bool(measurements)})
    _apart({"--only": bool(only), "--tuned": bool(tuned)}, {"BEFORE and AFTER": bool(two)})
    _apart({"--only": bool(only)}, {"--as json": kind == "json"})
    _apart({"--for": audience != "internal"}, {"BEFORE and AFTER": bool(two)})
    files: dict[str, Any] = {"site": rules or (), "measurements": measurements or (), "observer": watcher}
    if names:
        _apart({"--from": source is not None, "--bios or --bmc": bios.there}, {"BEFORE and AFTER": True})
        return emit_text(change_report(*names, scope, **files).text(kind), output)
    asked = MeasureNow(not measurements, full, network, hpl, busy_ok) if measure and source is None else None
    given = bios.read(watcher, here=source is None)
    made = report(
        source, scope, bios=given, measure=asked, only=only or (), again=bios.words, tuned=tuned or (), audience=audience, **files
    )
    emit_text(made.text(kind), output)
    return 130 if made.audited.measured.interrupted else 0


def _apart(some: dict[str, bool], others: dict[str, bool]) -> None:
    """Refuse what does not go together."""
    for name, given in some.items():
        for other, is_other in others.items():
            opt.at_most_one({other: is_other, name: given})
