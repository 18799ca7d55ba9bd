"""Find what is misconfigured or broken, what it costs, how to fix it, and how that is known.

Prints the machine in three lines, its settings beside the recommended ones, the findings by their cost, and what could
not be seen. An idle machine is measured first with small kernels, in under a minute, so that costs are its own;
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

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from advisor.cli.options import (
    Bios,
    BusyOk,
    From,
    Json,
    MeasurementsOption,
    NoColor,
    Output,
    Rules,
    ScopeOption,
    Topic,
    Width,
)
from advisor.work.machine import emit, emit_json, load

if TYPE_CHECKING:
    from rich.console import RenderableType

    from advisor.model.audit.findings import Audit
    from advisor.model.hardware.machine import Machine
    from advisor.render.audit.page import Lines, Step
    from advisor.work.audit import ExtraMeasuring, Measuring
    from advisor.work.judgement import Judgement

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every verdict, setting and fact, with its sources.")]
Measure = Annotated[
    bool,
    typer.Option("--measure/--no-measure", help="Measure an idle machine first, in under a minute; not with --from."),
]
Network = Annotated[
    str | None, typer.Option("--network", metavar="A,B", help="Measure messages between these two hosts too; takes minutes.")
]
Hpl = Annotated[bool, typer.Option("--hpl", help="Measure HPL on this machine too, about a minute more.")]
Full = Annotated[
    bool, typer.Option("--full", help="Measure everything; takes many minutes, announced first; HPL in most of the free memory.")
]
Limit = Literal["high", "medium", "low", "info", "never"]
FailOn = Annotated[Limit, typer.Option("--fail-on", help="Exit with status 1 where a finding is as severe as this, or worse.")]


def run(
    *,
    source: From = None,
    scope: ScopeOption = "mpi",
    topic: Topic = None,
    rules: Rules = None,
    bios: Bios = None,
    measurements: MeasurementsOption = None,
    measure: Measure = True,
    network: Network = None,
    hpl: Hpl = False,
    full: Full = False,
    busy_ok: BusyOk = False,
    fail_on: FailOn = "never",
    verbose: Verbose = False,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Say what is wrong with the machine."""
    from advisor.work.audit import ExtraMeasuring
    from advisor.work.checklist import bios_of
    from advisor.work.judgement import judged
    from advisor.work.machine import CounterWatch

    asked = ExtraMeasuring(not measurements, full, network, hpl, busy_ok)
    _together(asked, {"--from": source is not None, "--no-measure": not measure})
    watching, read = CounterWatch(source), load(source)
    given = bios_of(bios or (), read)
    measured = _measured(measurements or [], read, asked, now=measure and source is None)
    result = judged(read, scope, rules or (), given, measured.measurements, watch=watching.ended())
    audit = _of_topics(result, topic) if topic else result.audit
    if json:
        emit_json(_document(result, audit), output)
    else:
        more = _added(asked, measured)
        page = _page(result, audit, more, _again(source, scope, measured.files), verbose=verbose, width=width)
        emit([page], output, color=not no_color, width=width)
    return 130 if measured.interrupted else _status(audit, fail_on)


def _document(result: "Judgement", audit: "Audit") -> dict[str, Any]:
    from advisor.render.schema import audit_document

    return audit_document(result.machine, result.layout, audit, result.case.watch)


def _together(asked: "ExtraMeasuring", others: dict[str, bool]) -> None:
    """Refuse to measure more where nothing is measured at all, and everything where files have it already."""
    from advisor.work.measure import must_be_alone

    more = {"--network": asked.network is not None, "--hpl": asked.hpl, "--full": asked.full, "--busy-ok": asked.busy_ok}
    for name, is_given in more.items():
        for other, is_other in others.items():
            must_be_alone({other: is_other, name: is_given})
    must_be_alone({"--measurements": not asked.own, "--full": asked.full})


def _measured(files: list[Path], machine: "Machine", asked: "ExtraMeasuring", *, now: bool) -> "Measuring":
    """Return the measurements of files and what is measured now, and where they are kept."""
    from advisor.work.audit import Measuring, measured_now
    from advisor.work.bios import measurements_from

    given = Measuring(measurements_from(files, machine), tuple(files))
    if not now or (files and asked.network is None and not asked.hpl):
        return given
    found = measured_now(machine, asked, given.measurements)
    return found if found.files else found._replace(files=given.files)


def _added(asked: "ExtraMeasuring", measured: "Measuring") -> "Lines":
    """Return the tables of HPL and of messages, where they were asked for."""
    found = measured.measurements
    if found is None or not (asked.full or asked.hpl or asked.network):
        return lambda _: []
    from advisor.render.measured.page import hpl_and_network

    return lambda width: hpl_and_network(found, width)


def _page(
    result: "Judgement",
    audit: "Audit",
    added: "Lines",
    again: tuple[str, ...],
    *,
    verbose: bool,
    width: int | None,
) -> "RenderableType":
    from advisor.render.audit.findings import Asker
    from advisor.render.audit.page import audit_page, whole_audit_page
    from advisor.render.audit.screen import Shown

    machine, layout = result.machine, result.layout
    if verbose:
        from advisor.know.vendors import publications

        steps = _steps(audit, again)
        return whole_audit_page(audit, machine, layout, publications(), added=added, steps=steps, width=width)
    files = tuple(file for option, file in pairwise(again) if option == "--measurements")
    asker = Asker(again, "--from" not in again, files)
    return audit_page(Shown(audit, machine, layout, result.case.measured, asker), added=added, width=width)


def _of_topics(result: "Judgement", topics: list[str]) -> "Audit":
    """Return the audit with the rules of some topics only, and the settings that those look at."""
    from advisor.judge.settings import settings_table
    from advisor.know.settings import settings
    from advisor.work.bios import must_be_one_of

    known = [rule.topic for rule in result.book.rules]
    for topic in topics:
        must_be_one_of("topic", topic, known, f"there are {', '.join(dict.fromkeys(known))}")
    kept = tuple(finding for finding in result.audit.findings if finding.topic in topics)
    rows = tuple(row for row in settings_table(result.case.standings or (), kept, settings()) if row.rules)
    return result.audit.model_copy(update={"findings": kept, "settings": rows})


def _status(audit: "Audit", limit: Limit) -> int:
    from advisor.model.audit.rule import SEVERITIES

    if limit == "never":
        return 0
    worst = SEVERITIES[: SEVERITIES.index(limit) + 1]
    return int(any(finding.severity in worst for finding in audit.found))


def _again(source: str | None, scope: str, measurements: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the options with which another command looks at the same machine for the same work."""
    machine = () if source is None else ("--from", source)
    files = (word for file in measurements for word in ("--measurements", str(file)))
    return (*machine, *(("--scope", scope) if scope != "mpi" else ()), *files)


def _steps(audit: "Audit", again: tuple[str, ...]) -> "list[Step]":
    """Return the commands to go on with, of those that there are."""
    from advisor.cli.folder import commands

    steps: list[Step | None] = [
        (("explain", "1", *again), "the first finding: why, every value, and where it was read") if audit.found else None,
        (("checklist", *again), "the steps with this vendor's names, to tick off"),
    ]
    return [(("advisor", *words), shows) for words, shows in filter(None, steps) if words[0] in commands()]
