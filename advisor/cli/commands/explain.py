"""Explain a finding on one page: what it means here, what it costs, how to fix, check and undo it, when to leave it.

RULE is the number that an audit gives a finding, or the id of a rule; give the audit's options too. The fix is in the
words of the server's vendor: line, menu, attribute, what moves along and what must restart. Of a verdict that is not known
it says first what would make it known. --trace shows every expression of the rule with its values, and where each was
read; --why-not only what decided where nothing was found.

Group: Explain
Example: advisor explain 1
Example: advisor explain numa-nps-below-best --from node.tar.gz --scope hpl
Example: advisor explain 1 --trace
Example: advisor explain numa-nps-below-best --why-not
"""

from typing import TYPE_CHECKING, Annotated

import typer

from advisor.advice.explain import Explained, explain_rule
from advisor.cli import values
from advisor.cli.bmc_options import NO_BIOS, GivenBios, reads_bios
from advisor.cli.options import From, Json, MeasurementsOption, NoColor, Output, Rules, ScopeOption, Width, same_view
from advisor.cli.output import Form, Terminal, show

if TYPE_CHECKING:
    from rich.console import RenderableType

Subject = Annotated[str | None, typer.Option("--subject", metavar="TEXT", help="Only the subject of this name: mlx5_0.")]
Trace = Annotated[bool, typer.Option("--trace", help="Show every expression with its values, and where each was read.")]
WhyNot = Annotated[bool, typer.Option("--why-not", help="Show only what decided where there is no finding.")]


@reads_bios
def run(
    rule: Annotated[
        str, typer.Argument(help="A finding's number in the audit, or the id of a rule.", autocompletion=values.findings)
    ],
    *,
    source: From = None,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: MeasurementsOption = None,
    subject: Subject = None,
    trace: Trace = False,
    why_not: WhyNot = False,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Say all of a finding on one page."""
    observer, files, site = Terminal(), measurements or (), rules or ()
    given = bios.read(observer, here=source is None)
    found = explain_rule(rule, source, scope, site=site, bios=given, measurements=files, subject=subject, observer=observer)
    form = Form(output, json, width, not no_color)
    again = (*same_view(source, scope, {"--rules": rules, "--measurements": measurements}), *bios.words)
    show(form, found.document, lambda: _page(found, again, width, trace=trace, why_not=why_not))


def _page(found: Explained, again: tuple[str, ...], width: int | None, *, trace: bool, why_not: bool) -> "RenderableType":
    from advisor.advice.audit_page.explain import finding_page
    from advisor.advice.rule_page import explain_page
    from advisor.jobs.started.hosts import asker

    if trace or why_not:
        return explain_page(found.explanation, why_not=why_not, width=width)
    return finding_page(found.told(asker(again, bios=found.audited.given.bios is not None)), width)
