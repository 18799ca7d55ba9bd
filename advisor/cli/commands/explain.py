"""Explain the verdict of a rule: every expression with its values, and where each was read.

RULE is the number that an audit gives a finding, or the id of a rule. Each part of an expression is shown with its value;
the part that decided is highlighted, the rest is dim. For an unknown verdict it lists the missing facts and how to get
them. --why-not shows only what decided where nothing was found: why the rule passed, does not apply, or is unknown.

Group: Explain
Example: advisor explain 1
Example: advisor explain numa-nps-below-best --from node.tar.gz --scope hpl
Example: advisor explain numa-nps-below-best --why-not
"""

from typing import Annotated

import typer

from advisor.cli.options import Bios, From, Json, MeasurementsOption, NoColor, Output, Rules, ScopeOption, Width
from advisor.cli.output import Form, Terminal, show
from advisor.work.audit import explain

Subject = Annotated[str | None, typer.Option("--subject", metavar="TEXT", help="Only the subject of this name: mlx5_0.")]
WhyNot = Annotated[bool, typer.Option("--why-not", help="Show only what decided where there is no finding.")]


def run(
    rule: Annotated[str, typer.Argument(help="A finding's number in the audit, or the id of a rule.")],
    *,
    source: From = None,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    bios: Bios = None,
    measurements: MeasurementsOption = None,
    subject: Subject = None,
    why_not: WhyNot = False,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> None:
    """Show how a rule came to its verdict."""
    found = explain(
        rule,
        source,
        scope,
        site=rules or (),
        bios=bios or (),
        measurements=measurements or (),
        subject=subject,
        observer=Terminal(),
    )
    from advisor.render.rule import explain_page
    from advisor.render.schema import explain_document

    form = Form(output, json, width, not no_color)
    show(form, lambda: explain_document(found), lambda: explain_page(found, why_not=why_not, width=width))
