"""Say what is wrong with the machine, what it costs, how to fix it, and how that is known.

Prints the machine in three lines, its settings beside those wanted for the work, the findings by what they cost, and
what could not be seen. An idle machine is measured first with small kernels, under a minute, so that costs are its own;
--no-measure leaves that out, and a busy machine is left alone. --verbose prints everything: commands, prerequisites,
the way back, guides, sources, and every fact with the file or command that told it. Changes nothing on the machine; what
it builds and measures is kept in ~/.cache/advisor. Root sees more. Ends with status 0 whatever it finds, unless --fail-on
says from which severity on findings make it 1.

Group: Look at a machine
Example: sudo advisor audit
Example: sudo advisor audit --scope hpl --verbose
Example: sudo advisor audit --measurements measured.json
Example: advisor audit --from node.tar.gz --bios bios.json --fail-on high
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from advisor.cli.options import Bios, From, Json, MeasurementsOption, NoColor, Output, Rules, ScopeOption, Topic, Width
from advisor.cli.pipeline import emit, emit_json, load

if TYPE_CHECKING:
    from rich.console import RenderableType

    from advisor.cli.judgement import Judgement
    from advisor.cli.quick import Taken
    from advisor.model.audit import Audit
    from advisor.model.machine import Machine

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every verdict, setting and fact, with its sources.")]
Measure = Annotated[
    bool,
    typer.Option("--measure/--no-measure", help="Whether an idle machine is measured first, under a minute; not with --from."),
]
Limit = Literal["high", "medium", "low", "info", "never"]
FailOn = Annotated[Limit, typer.Option("--fail-on", help="End with status 1 where a finding is as severe as this, or worse.")]


def run(
    *,
    source: From = None,
    scope: ScopeOption = "mpi",
    topic: Topic = None,
    rules: Rules = None,
    bios: Bios = None,
    measurements: MeasurementsOption = None,
    measure: Measure = True,
    fail_on: FailOn = "never",
    verbose: Verbose = False,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Say what is wrong with the machine."""
    from advisor.cli.inputs import bios_from
    from advisor.cli.judgement import judged

    given = bios_from(bios or ())
    read = load(source)
    measured = _measured(measurements, read, now=measure and source is None)
    result = judged(read, scope, rules or (), given, measured.measurements)
    audit = _of_topics(result, topic) if topic else result.audit
    if json:
        from advisor.render.data import audit_document

        emit_json(audit_document(result.machine, result.layout, audit), output)
    else:
        steps = _steps(audit, _again(source, scope, measured.file))
        emit([_page(result, audit, steps, verbose=verbose, width=width)], output, color=not no_color, width=width)
    return _status(audit, fail_on)


def _measured(file: Path | None, machine: "Machine", *, now: bool) -> "Taken":
    """Return the measurements of a file, or what the quick set brings now, and where they are kept."""
    from advisor.cli.inputs import measurements_from
    from advisor.cli.quick import Taken, measured_now

    if file is None and now:
        return measured_now(machine)
    return Taken(measurements_from(file, machine), file)


def _page(
    result: "Judgement", audit: "Audit", steps: list[tuple[str, str]], *, verbose: bool, width: int | None
) -> "RenderableType":
    from advisor.render.audit import audit_page, whole_audit_page

    if verbose:
        from advisor.know.publications import publications

        return whole_audit_page(audit, result.machine, result.layout, publications(), steps=steps, width=width)
    return audit_page(audit, result.machine, result.layout, steps=steps, width=width)


def _of_topics(result: "Judgement", topics: list[str]) -> "Audit":
    """Return the audit with the rules of some topics only, and the settings that those look at."""
    from advisor.cli.inputs import must_be_one_of
    from advisor.judge.table import table
    from advisor.know.settings import settings

    known = [rule.topic for rule in result.book.rules]
    for topic in topics:
        must_be_one_of("topic", topic, known, f"there are {', '.join(dict.fromkeys(known))}")
    kept = tuple(finding for finding in result.audit.findings if finding.topic in topics)
    rows = tuple(row for row in table(result.case.standings or (), kept, settings()) if row.rules)
    return result.audit.model_copy(update={"findings": kept, "settings": rows})


def _status(audit: "Audit", limit: Limit) -> int:
    from advisor.model.rule import SEVERITIES

    if limit == "never":
        return 0
    worst = SEVERITIES[: SEVERITIES.index(limit) + 1]
    return int(any(finding.severity in worst for finding in audit.found))


def _again(source: str | None, scope: str, measurements: Path | None) -> str:
    """Return the options that make the next command look at the same machine for the same work."""
    import shlex

    words = f" --from {shlex.quote(source)}" if source is not None else ""
    words += f" --scope {scope}" if scope != "mpi" else ""
    return words + (f" --measurements {shlex.quote(str(measurements))}" if measurements is not None else "")


def _steps(audit: "Audit", again: str) -> list[tuple[str, str]]:
    """Return the commands to go on with, of those that there are."""
    from advisor.cli.folder import commands

    first = next(iter(audit.found), None)
    source = again.partition(" --scope")[0].partition(" --measurements")[0]
    steps = [
        ("explain", f"explain {first.id}{again}", "why: every value, and where it was read") if first else None,
        ("checklist", f"checklist{again}", "the steps in this vendor's words, to tick off"),
        ("topology", f"topology{source}", "a drawing of the machine"),
        ("audit", f"audit -v{again}", "everything: commands, way back, sources, facts"),
    ]
    return [(f"advisor {words}", shows) for name, words, shows in filter(None, steps) if name in commands()]
