"""Commands that say what is wrong and what to do: audit, explain, checklist, rules."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from typer import Argument, Option

from advisor.advice.audit import Audited, explain_rule
from advisor.advice.audit import audit as run_audit
from advisor.advice.audit_page.card import Shown
from advisor.advice.audit_page.explain import explain_page, finding_page, rule_page, rules_page, source_page
from advisor.advice.audit_page.screen import PARTS, TOPICS, Lines, Step, audit_page, whole_audit_page
from advisor.advice.checklist import Ordered, TuningChecklist, formats_told, template_of
from advisor.advice.checklist import checklist as run_checklist
from advisor.advice.checklist_page import checklist_page, remarks
from advisor.advice.judge.rule import Rule
from advisor.advice.judgement import mistakes_between, must_be_known, rule_names, rulebook, rules_named, source_document, tried
from advisor.advice.know.vendors import publications
from advisor.cli import options as opt
from advisor.cli.bmc_options import NO_BIOS, GivenBios, reads_bios
from advisor.cli.main import commands
from advisor.cli.options import (
    From,
    Json,
    MeasurementsOption,
    NoColor,
    Rules,
    ScopeOption,
    Topic,
    Width,
    has_form,
    same_view,
)
from advisor.cli.output import PLAIN, Form, Terminal, emit, emit_json, emit_text, say, show
from advisor.errors import BadValue, must_be_one_of
from advisor.jobs.started.hosts import asker
from advisor.machine.hosts.files import believed_files
from advisor.machine.secrecy import without_secrets
from advisor.machine.units import count
from advisor.measure.page import hpl_and_network
from advisor.measure.platform import Scope


@reads_bios
@has_form
def audit(
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
    shown: opt.AuditShow = None,
    form: Form = PLAIN,
) -> int:
    """Find what is misconfigured, what it costs and how to fix it.

    Prints one screen: the machine, what to fix first and how, what to consider, measurements beside published figures, and what
    was not checked. An idle machine is measured first with small kernels, in under a minute, so that costs apply to this
    machine; --no-measure skips this, and a busy machine is not measured. --hpl adds Linpack, --network A,B messages between two
    hosts, --full everything: all of advisor measure, HPL in most of the memory, and messages if there is a second host.
    --measurements reads earlier measurements; --hpl and --network add to them. --verbose prints everything: commands,
    prerequisites, undo, guides, sources, and every fact with the file or command it was read from; --show memory prints only the
    part about memory, --show settings only the settings.

    Changes nothing on the machine; kernels and results are kept in ~/.cache/advisor. Run as root to see more. Exit status is 0
    even with findings, unless --fail-on names a severity: then findings of that severity or above make it 1. Ctrl-C during
    measurements keeps the finished part and exits with 130.

    Group: Look
    First: --from --scope --show --measurements --network --full --bmc --fail-on --verbose --json
    Example: sudo advisor audit
    Example: sudo advisor audit --scope hpl --verbose
    Example: advisor audit --from node.tar.gz --show memory
    Example: advisor audit --network node01,node02 --hpl
    Example: sudo advisor audit --measurements quick.json --measurements hpl.json
    Example: advisor audit --from node.tar.gz --bios bios.json --fail-on high
    """
    more = {"--network": network is not None, "--hpl": hpl, "--full": full, "--busy-ok": busy_ok}
    opt.keep_apart(more, {"--from": source is not None, "--no-measure": not measure})
    opt.at_most_one({"--measurements": bool(measurements), "--full": full})
    opt.at_most_one({"--show": bool(shown), "--json": form.json})
    _must_be_parts(shown or (), rules or ())
    now = None
    if measure and source is None:
        from advisor.exports.single import MeasureNow  # what starts HPL and launchers is loaded where it is measured

        now = MeasureNow(not measurements, full, network, hpl, busy_ok)
    observer = Terminal(details=sys.stderr.isatty())
    given, files, site = bios.read(observer, here=source is None), measurements or (), rules or ()
    found = run_audit(
        source, scope, site=site, bios=given, measurements=files, measure=now, topics=topic or (), observer=observer
    )
    again = (*opt.same_view(source, scope, {"--rules": rules, "--measurements": found.measured.files}), *bios.words)
    tables = full or hpl or network is not None
    show(form, found.document, lambda: _page(found, again, form.width, tables=tables, verbose=verbose, shown=shown or ()))
    return 130 if found.measured.interrupted else int(fail_on != "never" and found.reaches(fail_on))


def _must_be_parts(names: Sequence[str], site: Sequence[Path]) -> None:
    """Refuse what is neither a part of an audit nor a topic, before anything is read."""
    known = (*PARTS, *TOPICS, *(rule.topic for rule in rulebook(site).rules)) if names else ()
    for name in names:
        must_be_one_of("audit part", name, known, f"available: {', '.join(dict.fromkeys(known))}")


def _page(
    found: "Audited", again: tuple[str, ...], width: int | None, *, tables: bool, verbose: bool, shown: Sequence[str]
) -> "RenderableType":
    """Return the page, with the tables of HPL and of messages where they were asked for."""
    measured, layout, facts = found.measured.measurements, found.judgement.layout, found.judgement.case.measured
    who = asker(again, bios=found.given.bios is not None)
    added: Lines = (lambda room: hpl_and_network(measured, room, facts)) if tables and measured else (lambda _: [])
    screen = Shown(found.audit, found.machine, layout, facts, who, found.plan, found.judgement.case.bounds, found.numbers)
    if not verbose and not shown:
        return audit_page(screen, added=added, width=width)
    return whole_audit_page(
        screen,
        publications(),
        added=added,
        steps=_steps(found, again),
        believed=believed_files(),
        only=shown,
        topics={rule.id: rule.topic for rule in found.judgement.book.rules},
        width=width,
    )


def _steps(found: "Audited", again: tuple[str, ...]) -> "list[Step]":
    """Return the commands to go on with, of those that there are."""
    first = "the first finding: its reason, every value, and their sources"
    steps: list[Step | None] = [
        (("explain", "1", *again), first) if found.audit.found else None,
        (("checklist", *again), "a checklist of the steps, with this vendor's names for the settings"),
    ]
    return [(("advisor", *words), shows) for words, shows in filter(None, steps) if words[0] in commands()]


Subject = Annotated[str | None, Option("--subject", metavar="TEXT", help="Explain only this subject: mlx5_0.")]


Trace = Annotated[bool, Option("--trace", help="Show every expression with its values and their sources.")]


WhyNot = Annotated[bool, Option("--why-not", help="For a rule without a finding, show why there is none.")]


@reads_bios
@has_form
def explain(
    rule: Annotated[
        str, Argument(help="A finding's number in the audit, or the id of a rule or source.", autocompletion=opt.findings)
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
    form: Form = PLAIN,
) -> None:
    """Explain one finding: what it costs, how to fix, check and undo it.

    RULE is a finding's number in the audit, or a rule's id; repeat the audit's options. The fix uses the vendor's own names for
    the command, menu and attribute, and says what else changes and what must be restarted. If the verdict is unknown, the page
    starts with what would settle it. --trace shows every expression of the rule with its values and where each was read;
    --why-not shows only why there is no finding. RULE can also be the name of a source as printed on pages ([dell-rome-2019]):
    its title, its address and everything based on it are printed.

    Group: Look
    First: --from --scope --bios --bmc --measurements --subject --trace --why-not --json --output
    Example: advisor explain 1
    Example: advisor explain numa-nps-below-best --from node.tar.gz --scope hpl
    Example: advisor explain 1 --trace
    Example: advisor explain numa-nps-below-best --why-not
    """
    observer, files, site = Terminal(), measurements or (), rules or ()
    if rule in publications():
        about = source_document(rule, site)
        show(form, lambda: about, lambda: source_page(about, publications(), form.width))
        return
    given = bios.read(observer, here=source is None)
    found = explain_rule(rule, source, scope, site=site, bios=given, measurements=files, subject=subject, observer=observer)
    again = (*same_view(source, scope, {"--rules": rules, "--measurements": measurements}), *bios.words)

    def page() -> RenderableType:
        if trace or why_not:
            return explain_page(found.explanation, why_not=why_not, width=form.width)
        return finding_page(found.told(asker(again, bios=found.audited.given.bios is not None)), form.width)

    show(form, found.document, page)


@reads_bios
def checklist(
    fleet: opt.MayBeFleet = None,
    *,
    source: opt.From = None,
    platform: opt.OrderedPlatform = None,
    cpu: opt.OrderedCpu = None,
    vendor: opt.VendorName = None,
    scope: opt.ScopeOption = "mpi",
    purpose: opt.ForOption = None,
    rules: opt.Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: opt.MeasurementsOption = None,
    form: opt.Format = "txt",
    include: opt.Include = None,
    todo: opt.Todo = False,
    only: opt.Only = None,
    verbose: opt.ChecklistVerbose = False,
    json: Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Print the tuning checklist with this vendor's own setting names.

    Prints one line per step: what to do, numbered as in the audit; what is unknown, with the one command that reads it; what is
    already right, collapsed. -v adds why, how to check, the benchmark that proves it with its published value, undo and
    sources. --todo prints only what is known to be wrong, and --only 1 prints only finding 1. --platform or --cpu is for
    hardware on order: no machine is read, and the BIOS settings come first.

    --as writes a page (txt, md, html, json) or a file for your own tools: tuned, sysctl, kernel-cmdline and ansible, or racadm,
    ilorest, onecli, sum and redfish for the BIOS. Such files change only settings that are known to be wrong and on which the
    guides for the workload agree; --include unknown and --include contested add the others, marked. --for names the server's
    workload and decides where guides disagree, naming the guide for each setting. --as plan prints the underlying plan as JSON.
    Your own templates in /etc/advisor/templates/checklist or ~/.config/advisor/templates/checklist become formats, too. Changes
    nothing.

    With FLEET, a folder of captures, it prints one list per kind of hardware, with the nodes that need each step (txt, json).

    Group: Set up
    First: --from --cpu --vendor --for --bmc --as --todo --only --verbose --output
    Example: advisor checklist
    Example: advisor checklist --cpu "EPYC 7702" --vendor dell --as html -o rome.html
    Example: advisor checklist --from node.tar.gz --only 1 --as racadm -o bios.sh
    Example: advisor checklist fleet/
    """
    opt.at_most_one({"--json": json, f"--as {form}": form not in ("txt", "json")})
    form = "json" if json else form
    if form == "help":
        return say("".join(f"{name:<16} {what}\n" for name, what in formats_told().items()))
    if fleet:
        opt.must_be_fleet(fleet)
        others = {
            "--from": source,
            "--platform": platform,
            "--cpu": cpu,
            "--vendor": vendor,
            "--bios or --bmc": bios.there or None,
        }
        more = {"--measurements": measurements, "--include": include, "--todo": todo, "--only": only, "-v": verbose}
        for name in (name for name, given in {**others, **more}.items() if given):
            opt.at_most_one({"FLEET": True, name: True})
        return _fleet_checklist(fleet, scope, rules or (), form, Form(output, width=width, color=not no_color))
    template_of(form)  # a format that is none is refused before the machine is read
    order, observer = platform is not None or cpu is not None, Terminal()
    if order:
        _alone(source, measurements)
    found = run_checklist(
        Ordered(platform, cpu) if order else source,
        opt.scope_for(purpose, scope),
        intent=purpose,
        vendor=vendor,
        site=rules or (),
        bios=bios.read(observer, here=source is None and not order),
        measurements=measurements or (),
        include=include or (),
        only=only or (),
        observer=observer,
    )
    named = {"--from": source, "--platform": platform, "--cpu": cpu}
    found = replace(found, again=tuple(word for name, value in named.items() if value for word in (name, value)))
    return _show(found.todo() if todo else found, form, Form(output, width=width, color=not no_color), verbose=verbose)


def _fleet_checklist(places: Sequence[Path], scope: Scope, site: Sequence[Path], name: str, form: Form) -> None:
    """Print one list for each kind of a fleet's hardware."""
    from advisor.fleet.page import checklist_page as fleet_checklist_page  # an audit, of this module too, needs no fleet
    from advisor.fleet.plan import fleet_checklist

    must_be_one_of("fleet checklist format", name, ("txt", "json"), "available: txt, json")
    told = fleet_checklist(places, scope, site=site, observer=Terminal()).document()
    show(replace(form, json=name == "json"), lambda: told, lambda: fleet_checklist_page(told, form.width))


def _alone(source: str | None, measurements: list[Path] | None) -> None:
    """Refuse what is of a machine beside hardware that is none yet."""
    others = {
        "--from names a machine": source is not None,
        "--measurements applies only to an existing machine": bool(measurements),
    }
    for what in (words for words, is_given in others.items() if is_given):
        raise BadValue(f"--platform is for hardware on order, but {what}", cure="give one of the two")


def _show(found: TuningChecklist, name: str, form: Form, *, verbose: bool) -> None:
    """Print the list, the plan, or a file for a tool with what its format cannot say in it."""
    if template_of(name) is not None:  # a site's own may be called as one that is built in
        emit_text(found.text(name), form.output)
        for line in remarks(name, found.plan, found.vendor, form.output):
            Terminal().say(line)
    elif name == "txt":
        page = checklist_page(found.sheet, form.width, verbose=verbose, formats=found.scripts)
        emit([page], form.output, color=form.color, width=form.width)
    else:
        emit_json(found.document() if name == "json" else found.plan_document(), form.output)


class Action(StrEnum):
    """What to do with the rules."""

    LIST = "list"
    SHOW = "show"
    TEST = "test"
    CHECK = "check"
    FACTS = "facts"
    SETTINGS = "settings"


@reads_bios
def rules(
    action: Annotated[Action, Argument(help="list, show, test, check, facts or settings.")] = Action.LIST,
    names: Annotated[
        list[str] | None,
        Argument(help="Rule ids, topics, or finding numbers.", autocompletion=opt.rules_and_topics),
    ] = None,
    *,
    source: From = None,
    scope: ScopeOption = "mpi",
    rules: Rules = None,
    bios: GivenBios = NO_BIOS,
    measurements: MeasurementsOption = None,
    topic: Topic = None,
    json: Json = False,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """List, show, test and check rules, both built-in and your site's.

    ACTION is list, show, test, check, facts or settings. NAMES are rule ids, topics, or finding numbers from an audit
    with the same options. 'check' lists every error in the rules with file and line; 'test' also runs the examples beside
    each rule.

    Group: For programs
    First: --topic --from --scope --rules --json
    Example: advisor rules list --topic numa
    Example: advisor rules show numa-nps-below-best
    Example: advisor rules show 1 --from node.tar.gz
    Example: advisor rules test --rules my-rules.yaml
    Example: advisor rules facts numa
    """
    if action in (Action.FACTS, Action.SETTINGS):
        return _names_of(action, names or [], json=json)
    if rules:
        must_be_known(rules, ())
    named = [*(names or []), *(topic or [])]
    if not any(name.isdecimal() for name in named) and (source is not None or bios.there or measurements):
        raise BadValue("a finding's number needs --from", cure="write advisor rules show 1 --from FILE")
    files: dict[str, Any] = {"site": rules or (), "measurements": measurements or ()}

    def numbers() -> dict[str, int]:
        """Return the number that the audit of a machine gives each rule that found something."""
        observer = Terminal()
        given = bios.read(observer, here=source is None)
        return run_audit(source, scope, bios=given, **files, observer=observer).numbers

    chosen = rules_named(rules or (), named, numbers)
    if action in (Action.TEST, Action.CHECK):
        return _test(chosen) if action is Action.TEST else _check(chosen)
    if json:
        own = ("topic", "where", "file", "line")
        rows = [{**rule.text.model_dump(mode="json"), **{name: getattr(rule, name) for name in own}} for rule in chosen]
        emit_json({"schema": "advisor-rules/1", "rules": rows}, None)
    elif action is Action.SHOW:
        say("\n\n".join(rule_page(rule.text, rule.topic, rule.where) for rule in chosen) + "\n")
    else:
        emit([rules_page([(rule.text, rule.topic) for rule in chosen], width)], None, color=not no_color, width=width)
    return 0


def _names_of(action: Action, words: "Sequence[str]", *, json: bool) -> int:
    """Print name, kind and meaning of the facts or settings whose names contain one of the words; all without words."""
    rows = rule_names(action.value, words)
    if json:
        emit_json({"schema": "advisor-rules/1", action.value: rows}, None)
    else:
        say("".join("{name}  ({kind}{comma}{unit})  {about}\n".format(comma=", " * bool(row["unit"]), **row) for row in rows))
    return 0


def _check(chosen: "Sequence[Rule]") -> int:
    if wrong := mistakes_between(chosen):
        typer.echo(without_secrets("\n".join(f"advisor: {line}" for line in wrong)), err=True)
        return 2
    files = len({rule.file for rule in chosen})
    say(f"{len(chosen)} rules in {files} files: every fact, setting and publication that they name is known\n")
    return 0


def _test(rules: "Iterable[Rule]") -> int:
    """Print what the examples show; return 1 where one went wrong, or a verdict has none."""
    trials = tried(rules)
    for rule, _, lacking in trials:
        if lacking:
            say(f"{rule.file}: line {rule.line}: {rule.id} has no example for {', '.join(lacking)}\n")
    for trial in trials:
        for each in trial.wrong:
            say(f"{trial.rule.file}: line {trial.rule.line}: {each.rule}: example {each.number}: {each.problem}\n")
    number, wrong = sum(len(trial.examples) for trial in trials), sum(len(trial.wrong) for trial in trials)
    say(f"{number - wrong} of {number} examples of {count(len(trials), 'rule')} as expected\n")
    return 1 if any(trial.wrong or trial.lacking for trial in trials) else 0
