"""Say what is wrong with the machine, what it costs, how to fix it, and how that is known.

Prints the machine in three lines, its settings beside those wanted for the work, the findings by what they cost, and
what could not be seen. --verbose prints everything: commands, prerequisites, the way back, guides, sources, and every
fact with the file or command that told it. Reads the machine and changes nothing on it; root sees more. Ends with
status 0 whatever it finds, unless --fail-on says from which severity on findings make it 1.

Group: Look at a machine
Example: sudo advisor audit
Example: sudo advisor audit --scope hpl --verbose
Example: advisor audit --from node.tar.gz --bios bios.json --fail-on high
"""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from advisor.cli.options import Bios, From, Json, NoColor, Output, Rules, ScopeOption, Topic, Width
from advisor.cli.pipeline import emit, emit_json, load

if TYPE_CHECKING:
    from advisor.cli.judgement import Judgement
    from advisor.model.audit import Audit

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print every verdict, setting and fact, with its sources.")]
Limit = Literal["high", "medium", "low", "info", "never"]
FailOn = Annotated[Limit, typer.Option("--fail-on", help="End with status 1 where a finding is as severe as this, or worse.")]


def run(
    *,
    source: From = None,
    scope: ScopeOption = "mpi",
    topic: Topic = None,
    rules: Rules = None,
    bios: Bios = None,
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
    result = judged(load(source), scope, rules or (), given)
    audit = _of_topics(result, topic) if topic else result.audit
    machine, layout = result.machine, result.layout
    if json:
        from advisor.render.data import audit_document

        emit_json(audit_document(machine, layout, audit), output)
    else:
        from advisor.render.audit import audit_page, whole_audit_page

        again = _again(source, scope)
        steps = _steps(audit, again)
        if verbose:
            from advisor.know.publications import publications

            page = whole_audit_page(audit, machine, layout, publications(), steps=steps, width=width)
        else:
            page = audit_page(audit, machine, layout, steps=steps, width=width)
        emit([page], output, color=not no_color, width=width)
    return _status(audit, fail_on)


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


def _again(source: str | None, scope: str) -> str:
    """Return the options that make the next command look at the same machine for the same work."""
    import shlex

    words = f" --from {shlex.quote(source)}" if source is not None else ""
    return words + (f" --scope {scope}" if scope != "mpi" else "")


def _steps(audit: "Audit", again: str) -> list[tuple[str, str]]:
    """Return the commands to go on with, of those that there are."""
    from advisor.cli.folder import commands

    first = next(iter(audit.found), None)
    source = again.partition(" --scope")[0]
    steps = [
        ("explain", f"explain {first.id}{again}", "why: every value, and where it was read") if first else None,
        ("checklist", f"checklist{again}", "the steps in this vendor's words, to tick off"),
        ("topology", f"topology{source}", "a drawing of the machine"),
        ("audit", f"audit -v{again}", "everything: commands, way back, sources, facts"),
    ]
    return [(f"advisor {words}", shows) for name, words, shows in filter(None, steps) if name in commands()]
