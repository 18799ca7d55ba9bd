"""Compare two machines, or one machine before and after a change.

A and B are captures, hwloc XML, Machine JSON or the output of 'advisor audit --json'; '-' is this machine. Parts are
matched by name, so that a changed NPS shows as one change of NUMA partitioning and not as a hundred moved nodes. What
only one side could read is no difference. Exit status 1 where B has findings that A has not, at or above --fail-on.

Group: Compare
Example: advisor diff before.tar.gz after.tar.gz
Example: advisor diff golden-node.tar.gz - --json
"""

from typing import Annotated, Any

import typer

from advisor.cli.options import Json, NoColor, Output, Rules, ScopeOption, Width
from advisor.model.audit.findings import Difference
from advisor.model.audit.platform import Scope
from advisor.model.audit.rule import SEVERITIES, Severity
from advisor.work.machine import emit, emit_json, load

One = Annotated[str, typer.Argument(metavar="A", help="The machine before; '-' is this one.")]
Other = Annotated[str, typer.Argument(metavar="B", help="The machine after; '-' is this one.")]
FailOn = Annotated[
    Severity | None,
    typer.Option("--fail-on", metavar="SEVERITY", help="Exit 1 where B gained a finding of this severity or worse."),
]


def run(
    one: One,
    other: Other,
    *,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    fail_on: FailOn = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Compare two machines."""
    found = _compared(one, other, scope, rules or [])
    if json:
        emit_json({"schema": "advisor-diff/1", **found.model_dump(mode="json")}, output)
    else:
        from advisor.render.difference import difference_page

        emit([difference_page(found)], output, color=not no_color, width=width)
    worst = SEVERITIES.index(fail_on) if fail_on else -1
    return int(any(SEVERITIES.index(_severity(each.severity)) <= worst for each in found.gained))


def _severity(word: str) -> Severity:
    return next(severity for severity in SEVERITIES if severity == word)


def _compared(one: str, other: str, scope: Scope, rules: list[Any]) -> Difference:
    from advisor.compare.audits import difference
    from advisor.work.judgement import judged

    a, b = (judged(load(None if each == "-" else each), scope, rules) for each in (one, other))
    names = tuple("this machine" if each == "-" else each for each in (one, other))
    return difference((names[0], names[1]), (a.machine, b.machine), (a.layout, b.layout), (a.audit, b.audit))
