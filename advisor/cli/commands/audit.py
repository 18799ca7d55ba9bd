"""Find what is misconfigured or broken, what it costs, how to fix it, and how that is known.

Prints one screen: the machine, what to fix first and how, what to consider, what was measured beside what is published,
and what was not seen. An idle machine is measured first with small kernels, in under a minute, so that costs are its own;
--no-measure skips that, and a busy machine is not measured. --hpl adds Linpack, --network A,B messages between two hosts,
--full everything: all of advisor measure, HPL in most of the memory, and messages where a second host is named or the job
has one. --measurements reads earlier measurements, and --hpl and --network add to them. --verbose prints everything:
commands, prerequisites, undo, guides, sources, and every fact with the file or command it was read from. Changes nothing
on the machine; what it builds and measures is kept in ~/.cache/advisor. Root sees more. Exit status is 0 whatever it
finds, unless --fail-on names the severity from which findings make it 1; Ctrl-C while it measures keeps the finished part
and ends with 130.

Group: Look at a machine
Example: sudo advisor audit
Example: sudo advisor audit --scope hpl --verbose
Example: advisor audit --network node01,node02 --hpl
Example: sudo advisor audit --measurements quick.json --measurements hpl.json
Example: advisor audit --from node.tar.gz --bios bios.json --fail-on high
"""

import sys
from typing import TYPE_CHECKING, Any

from advisor.cli import options as opt
from advisor.cli.bmc_options import NO_BIOS, GivenBios, reads_bios

if TYPE_CHECKING:
    from rich.console import RenderableType

    from advisor.advice.audit import Audited
    from advisor.advice.audit_page.screen import Lines
    from advisor.advice.audit_page.whole import Step


@reads_bios
def run(
    *,
    source: opt.From = None,
    scope: opt.ScopeOption = "mpi",
    topic: opt.Topic = None,
    rules: opt.Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: opt.MeasurementsOption = None,
    measure: opt.AuditMeasure = True,
    network: opt.AuditNetwork = None,
    hpl: opt.AuditHpl = False,
    full: opt.AuditFull = False,
    busy_ok: opt.BusyOk = False,
    fail_on: opt.AuditFailOn = "never",
    verbose: opt.AuditVerbose = False,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Say what is wrong with the machine."""
    from advisor.advice.audit import audit
    from advisor.cli.output import Form, Terminal, show

    more = {"--network": network is not None, "--hpl": hpl, "--full": full, "--busy-ok": busy_ok}
    _together(more, {"--from": source is not None, "--no-measure": not measure})
    opt.at_most_one({"--measurements": bool(measurements), "--full": full})
    now = None
    if measure and source is None:
        from advisor.exports.measuring_now import MeasureNow

        now = MeasureNow(not measurements, full, network, hpl, busy_ok)
    observer = Terminal(details=sys.stderr.isatty())
    given, files, site = bios.read(observer, here=source is None), measurements or (), rules or ()
    found = audit(source, scope, site=site, bios=given, measurements=files, measure=now, topics=topic or (), observer=observer)
    again = (*opt.same_view(source, scope, {"--rules": rules, "--measurements": found.measured.files}), *bios.words)
    tables, form = full or hpl or network is not None, Form(output, json, width, not no_color)
    show(form, found.document, lambda: _page(found, again, width, tables=tables, verbose=verbose))
    return 130 if found.measured.interrupted else int(fail_on != "never" and found.reaches(fail_on))


def _together(more: dict[str, bool], others: dict[str, bool]) -> None:
    """Refuse to measure more where nothing is measured at all."""
    for name, is_given in more.items():
        for other, is_other in others.items():
            opt.at_most_one({other: is_other, name: is_given})


def _page(found: "Audited", again: tuple[str, ...], width: int | None, *, tables: bool, verbose: bool) -> "RenderableType":
    """Return the page, with the tables of HPL and of messages where they were asked for."""
    from advisor.advice.audit_page.screen import Shown, audit_page
    from advisor.advice.audit_page.whole import whole_audit_page
    from advisor.advice.know.vendors import publications
    from advisor.jobs.started.hosts import asker
    from advisor.machine.hosts.trust import believed_files
    from advisor.measure.page import hpl_and_network

    measured, layout, facts = found.measured.measurements, found.judgement.layout, found.judgement.case.measured
    who = asker(again, bios=found.given.bios is not None)
    added: Lines = (lambda room: hpl_and_network(measured, room, facts)) if tables and measured else (lambda _: [])
    if verbose:
        steps = _steps(found, again)
        parts: dict[str, Any] = {
            "added": added,
            "steps": steps,
            "numbers": found.numbers,
            "asker": who,
            "bounds": found.judgement.case.bounds,
        }
        believed = believed_files()
        return whole_audit_page(found.audit, found.machine, layout, publications(), **parts, believed=believed, width=width)
    shown = Shown(found.audit, found.machine, layout, facts, who, found.plan, found.judgement.case.bounds, found.numbers)
    return audit_page(shown, added=added, width=width)


def _steps(found: "Audited", again: tuple[str, ...]) -> "list[Step]":
    """Return the commands to go on with, of those that there are."""
    from advisor.cli.main import commands

    first = "the first finding: why, every value, and where it was read"
    steps: list[Step | None] = [
        (("explain", "1", *again), first) if found.audit.found else None,
        (("checklist", *again), "the steps with this vendor's names, to tick off"),
    ]
    return [(("advisor", *words), shows) for words, shows in filter(None, steps) if words[0] in commands()]
