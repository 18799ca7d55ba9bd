"""Explain the verdict of a rule: every expression with its values, and where each was read.

RULE is the number that an audit gives a finding, or the id of a rule. Each part of an expression is shown with its value;
the part that decided is highlighted, the rest is dim. For an unknown verdict it lists the missing facts and how to get
them. --why-not shows only what decided where nothing was found: why the rule passed, does not apply, or is unknown.

Group: Explain
Example: advisor explain 1
Example: advisor explain numa-nps-below-best --from node.tar.gz --scope hpl
Example: advisor explain numa-nps-below-best --why-not
"""

from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.options import Bios, From, Json, MeasurementsOption, NoColor, Output, Rules, ScopeOption, Width
from advisor.errors import BadValue
from advisor.work.machine import emit, emit_json, load

if TYPE_CHECKING:
    from advisor.model.audit.findings import Audit, Explanation
    from advisor.work.judgement import Judgement

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
    from advisor.work.bios import measurements_from, must_be_one_of
    from advisor.work.checklist import bios_of
    from advisor.work.judgement import judged, rulebook
    from advisor.work.machine import CounterWatch

    if not rule.isdecimal():
        must_be_one_of("rule", rule, (each.id for each in rulebook(rules or ()).rules), "see advisor rules list")
    watching, machine = CounterWatch(source), load(source)
    given = bios_of(bios or (), machine)
    result = judged(machine, scope, rules or (), given, measurements_from(measurements, machine), watch=watching.ended())
    told = _explained(result, _numbered(result.audit, rule) if rule.isdecimal() else rule, subject)
    if json:
        from advisor.render.schema import explain_document

        emit_json(explain_document(told), output)
    else:
        from advisor.render.rule import explain_page

        emit([explain_page(told, why_not=why_not, width=width)], output, color=not no_color, width=width)


def _numbered(audit: "Audit", number: str) -> str:
    """Return the rule of a finding by the number that the audit gives it."""
    found = audit.by_rule
    if not 0 < int(number[:6]) <= len(found):
        what = f"this audit has findings 1 to {len(found)}" if found else "this audit has no finding"
        raise BadValue(f"no finding {number[:20]}: {what}", cure="advisor audit numbers them; a rule's id works too")
    return found[int(number) - 1][0].id


def _explained(result: "Judgement", name: str, subject: str | None) -> "Explanation":
    """Return the explanation of a rule, of one subject where one is named."""
    from advisor.judge.engine import ask
    from advisor.judge.explain import explain
    from advisor.judge.scope import env_of
    from advisor.know.settings import settings
    from advisor.work.bios import must_be_one_of

    rule = next(each for each in result.book.rules if each.id == name)
    asked = tuple(ask(rule, result.case, env_of(result.case, settings())))
    if subject is not None:
        names = [each.subject for each in asked if each.subject]
        must_be_one_of(
            "subject", subject, names, f"there are {', '.join(names)[:200]}" if names else "this rule asks of one only"
        )
        asked = tuple(each for each in asked if each.subject == subject)
    return explain(rule, asked, result.origins, result.case.scope)
