"""Compare two machines, or one machine before and after a change.

A and B are captures, hwloc XML, Machine JSON or the output of 'advisor audit --json'; '-' is this machine. Parts are
matched by name, so that a changed NPS shows as one change of NUMA partitioning and not as a hundred moved nodes. What
only one side could read is no difference. Exit status 1 where B has findings that A has not, at or above --fail-on.

Group: Compare
Example: advisor diff before.tar.gz after.tar.gz
Example: advisor diff golden-node.tar.gz - --json
"""

from typing import Annotated

import typer

from advisor.advice.model.rule import SEVERITIES, Severity
from advisor.advice.whatif import diff
from advisor.cli.options import Json, NoColor, Output, Rules, ScopeOption, Width
from advisor.cli.output import Form, Terminal, show

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
    a, b = (None if each == "-" else each for each in (one, other))
    found = diff(a, b, scope, site=rules or (), observer=Terminal())
    from advisor.advice.difference_page import difference_document, difference_page

    form = Form(output, json, width, not no_color)
    show(form, lambda: difference_document(found), lambda: difference_page(found))
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on else ()
    return int(any(each.severity in worst for each in found.gained))
