"""A finding on one page, and its rule: in Markdown for everybody, and on one machine with every value filled in."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

from advisor.advice.audit_page.card import (
    ROOM,
    Asker,
    CardStep,
    Shown,
    Source,
    back_lines,
    card_steps,
    changed,
    cost_label,
    cost_or_basis,
    cost_words,
    cure_words,
    evidence_words,
    grouped,
    lead,
    source,
    subjects,
    undo_words,
)
from advisor.advice.audit_page.machine import figures
from advisor.advice.model.findings import Answer, Audit, Cost, Explanation, Finding, Step
from advisor.advice.model.plan import Plan, Planned, planned_for
from advisor.advice.model.sheets import Publication, RuleText
from advisor.machine.jinja import REBOOTS, UNDO_REBOOTS, fill
from advisor.machine.units import count, plain
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.platform import Scope
from advisor.paths import template
from advisor.show.commandline import broken, folded
from advisor.show.lines import Line, Page, labelled, wrapped

_SEEN = 4
"""So many facts show what a verdict rests on; --trace has all."""
_SURE = {
    None: "", False: " (from the vendor's documents; not verified against a registry)", True: " (found in the vendor's registry)",
}  # fmt: skip
_WELL = ("pass", "not-applicable")
_VERDICTS = {
    "pass": ("PASS", "good", "not detected here: "), "not-applicable": ("NOT HERE", "dim", "does not apply: "),
    "unknown": ("NOT KNOWN", "unknown", "possibly: "), "error": ("BROKEN", "down", ""),
}  # fmt: skip

Row = tuple[str, str]
"""A label and what is said; a label that begins with $ is a command to copy."""


class Told(NamedTuple):
    """What a page is made of."""

    rule: RuleText
    verdicts: Sequence[Finding]
    explanation: Explanation
    audit: Audit
    plan: Plan
    publications: Mapping[str, Publication]
    measured: MeasuredFacts | None
    asker: Asker
    number: int | None = None
    """That of the finding in the audit; None if the rule found nothing."""
    benchmark: str | None = None
    """The command that shows what it costs."""
    shows: tuple[str, ...] = ()
    """Which of the machine's measured figures it shows."""

    def answer(self, head: Finding) -> Answer | None:
        """Return how the rule came to a verdict."""
        return next((each for each in self.explanation.answers if each.subject == head.subject), None)


def finding_page(told: Told, width: int | None = None) -> Page:
    """Return the page: findings in full, other verdicts in a few lines, then the way to every value."""
    return Page(lambda room: _lines(told, room), width)


def _lines(told: Told, width: int) -> list[Line]:
    result: list[Line] = []
    first: list[Row] = []
    for group in _groups(told):
        head = group[0]
        if result and head.verdict in _WELL:  # one line for subjects that are well beside others that are not
            names = [plain(each.subject or "?", 40) for each in group]
            more = f" and {len(names) - 6} more" if len(names) > 6 else ""
            result += labelled(_VERDICTS[head.verdict][0], [(f"{', '.join(names[:6])}{more}", "")], width, ROOM)
        elif first and head.verdict == "finding":  # of the same rule as the first: what it says otherwise
            claim = f"{plain(head.claim or head.title, 2000)}{subjects(group)}"
            rows = [row for row in _parts(told, head) if row not in first]
            result += [*labelled("ALSO", [(claim, "title")], width, ROOM), *_rows(rows, width)]
        else:
            first = list(_parts(told, head)) if head.verdict == "finding" else []
            result += [*([()] if result else []), *_verdict(told, group, width)]
    if any(each.verdict not in _WELL for each in told.verdicts):
        result += _sources([*told.rule.refs, *(guide.ref for guide in told.rule.guides)], told.publications, width)
    argv = ("advisor", "explain", str(told.number or told.rule.id), *told.asker.words, "--trace")
    lines = folded(argv, max(width - ROOM, ROOM))
    return [*result, *(((f"{'' if at else 'MORE':<{ROOM}}", "label"), (line, "title")) for at, line in enumerate(lines))]


def _groups(told: Told) -> Iterator[tuple[Finding, ...]]:
    """Yield verdicts that say the same of several subjects together, findings first."""
    yield from grouped(each for each in told.verdicts if each.verdict in ("finding", "waived"))
    others: dict[tuple[object, ...], list[Finding]] = {}
    for each in told.verdicts:
        if each.verdict not in ("finding", "waived"):
            others.setdefault((each.verdict, each.lacks, each.claim), []).append(each)
    yield from map(tuple, others.values())


def _verdict(told: Told, group: tuple[Finding, ...], width: int) -> list[Line]:
    """Return a verdict in full, its number or its name before it."""
    head = group[0]
    if head.verdict in ("finding", "waived"):
        word = lead(told.number or 0, head) if head.verdict == "finding" else (f"{'WAIVED':<{ROOM}}", "dim")
        says, rows = f"{plain(head.claim or head.title, 2000)}{subjects(group)}", _parts(told, head)
    else:
        name, style, before = _VERDICTS[head.verdict]
        about = [each.subject for each in group if each.subject]
        of = f" ({', '.join(plain(each, 40) for each in about[:6])}{' and more' if len(about) > 6 else ''})" if about else ""
        word, says, rows = (f"{name:<{ROOM}}", style), f"{before}{plain(told.rule.title, 200)}{of}", _other(told, head)
    scope = "any work" if len(told.rule.scope) == len(get_args(Scope)) else ", ".join(told.rule.scope)
    spans = [word, (says, "title"), (f"  ({told.rule.id}, for {scope})", "dim")]
    return [*wrapped(spans, width, indent=ROOM), *_rows(rows, width)]


def _other(told: Told, head: Finding) -> Iterator[Row]:
    """Yield what is worth saying of a verdict that is no finding: what would reveal it first, or what decided."""
    rows = {row.name: row for row in told.audit.settings}
    wants = []
    for want in (want for want in head.wants if want.value):
        row = rows.get(want.setting)
        now = f"; currently {row.current}" if row and row.current is not None else ""
        wants.append(f"{row.heading if row else want.setting} {want.value}{now}")
    if head.verdict == "unknown":
        facts: dict[str, list[str]] = {}
        for lack in head.lacks:
            facts.setdefault(lack.help, []).append(f"{lack.fact}: {lack.why}")
        cures = (f"{cure_words(cure, told.asker)} ({'; '.join(dict.fromkeys(own))})" for cure, own in facts.items())
        yield from _first("TO KNOW", cures)
        yield from _first("WANTED", [*wants, *([head.want] if head.want else [])])
        yield "WHY", told.rule.why
    elif head.verdict == "error":
        yield "WHY", head.claim or ""
    else:
        claim = head.claim or ""
        seen = list(_seen(told, head, ("only",) if head.verdict == "not-applicable" else ("when",)))
        if claim and not (seen and claim.startswith("does not apply: ")):
            yield "WHY", claim
        yield from _first("SEEN", seen)
        if head.verdict == "pass":
            yield from _first("WANTED", wants)
            yield "CHECK", head.check or ""


def in_full(group: Sequence[Finding], shown: Shown, publications: Mapping[str, Publication], width: int) -> list[Line]:
    """Return a finding of a whole audit: every claim and all evidence, else the parts of its page."""
    head, name = group[0], group[0].verdict
    word = lead(shown.number(head.id), head) if name == "finding" else (f"{name.upper():<{ROOM}}", "dim")
    pairs = ((plain(each.claim or each.title, 2000), plain(each.subject or "", 80)) for each in group)
    first, *more = (claim if not subject or subject in claim else f"{subject}: {claim}" for claim, subject in pairs)
    seen = (evidence_words(one) for each in group for one in each.evidence)
    parts = _finding(shown, head, seen, () if name == "error" else [(cost_label(head).upper(), cost_or_basis(head))])
    result = wrapped([word, (first, "title"), (f"  ({head.id})", "dim")], width, indent=ROOM)
    result += _rows([*_first("ALSO", more), *parts], width)
    return [*result, *_sources(head.refs, publications, width)]


def _parts(told: Told, head: Finding) -> Iterator[Row]:
    """Yield the parts of a finding on its own page, with the few facts that decided."""
    return _finding(told, head, _seen(told, head, ("when", "let")), _first("COST", _costs(told, head)))


def _finding(shown: Told | Shown, head: Finding, seen: Iterable[str], costs: Iterable[Row]) -> Iterator[Row]:
    """Yield the parts of a finding, in the order in which they are asked for."""
    yield "WAIVED", head.waived or ""
    yield from _first("SEEN", seen)
    yield "WHY", head.why
    yield from costs
    planned = planned_for(shown.plan, head) if shown.plan else Planned()
    for at, step in enumerate(card_steps([head], planned, shown.plan)):
        yield from _step(shown, head, step, "AND" if at else "FIX")
    if not head.fix and head.verdict != "error":
        yield "FIX", head.advice or head.want or ("see the sources" if head.refs else "")
    yield "CHECK", shown.asker.filled(head.check or "")
    yield from (("$", step.check) for step in head.fix if step.check and step.check not in (head.check or ""))
    yield from _undo(head, planned)
    yield "LEAVE IT", head.spare or ""
    yield from _first("GUIDES", (f"{guide.ref}: {'DIFFERS: ' if guide.otherwise else ''}{guide.says}" for guide in head.guides))


def _first(label: str, texts: Iterable[str]) -> Iterator[Row]:
    """Yield texts below one another, the first with the label."""
    yield from ((label if at == 0 else "", text) for at, text in enumerate(dict.fromkeys(texts)))


def _costs(told: Told, head: Finding) -> Iterator[str]:
    """Yield what it costs and how that is known: measured here, published for which processor, or by what it can be measured."""
    cost, rule = head.cost, told.rule.cost
    measured = cost is not None and cost.basis == "measured"
    if cost is not None:
        yield cost_words(cost)
    if measured and rule is not None and rule.ref:
        answer = told.answer(head)
        gains = [part.steps[0].value for part in (answer.parts if answer else ()) if part.key == "gain" and part.name is None]
        try:
            gain = float(gains[0]) if gains else None
        except ValueError:
            gain = None
        yield cost_words(Cost(gain=gain, of=rule.of, basis=rule.basis, ref=rule.ref))
    here = [text for name, text in (figures(told.measured) if told.measured else {}).items() if name in told.shows]
    yield from (f"this machine: {text}" for text in here)
    if told.benchmark and not here and not measured:
        known = "not measured on this machine" if cost is not None else "no figure is known"
        yield f"{known}; measure before and after: {told.asker.filled(told.benchmark)}"


def _seen(told: Told, head: Finding, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the few facts that a verdict rests on, with where each was read."""
    answer = told.answer(head)
    steps = [step for key in keys for part in (answer.parts if answer else ()) if part.key == key for step in part.steps]
    facts: dict[str, Step] = {}
    for step in steps:
        if step.where and step.decides and step.value not in ("...", "unknown"):
            facts.setdefault(step.text, step)
    yield from (f"{step.text} = {step.value} ({step.where})" for step in list(facts.values())[:_SEEN])


def _step(shown: Told | Shown, head: Finding, step: CardStep, label: str) -> Iterator[Row]:
    """Yield a step: what is set, by which line, where in the menus, what it needs and what moves with it."""
    fix, asker = step.fix, shown.asker
    change = changed(shown.audit, [want for want in head.wants if want.setting == fix.setting], explained=True)
    effect = f"; takes effect after a {step.restart}" if step.restart else ""
    yield label, f"{change or fix.text.removeprefix('BIOS: ')}{effect}"
    yield from (("   first", f"{each.attribute}={each.value}: {'; '.join(each.why)}") for each in step.before)
    yield from (("$" if at else "$   run", line) for at, line in enumerate(step.lines))
    if step.lines and step.change is None and not (asker.live and asker.root):
        yield "   note", "run it as root"
    if step.lines and step.change is not None and fix.apply:
        yield "   then", REBOOTS.removeprefix("Then, ")
        yield from (("$", line) for line in fix.apply)
    if fix.menu and change:
        yield "   menu", f"{fix.menu}: {fix.value if fix.attribute_value is None else fix.attribute_value}"
    if fix.attribute and fix.attribute_value is not None:
        yield "   name", f"{fix.attribute}={fix.attribute_value}{_SURE[fix.verified]}"
    if step.change is not None and step.change.moves:
        yield "   moves", f"with it: {', '.join(step.change.moves)}"
    yield from (("   note", note) for note in fix.notes)
    if step.left:
        yield "   script", f"no script sets this: {step.left}{_adds(step.left)}"


def _adds(reason: str) -> str:
    """Return how files for tools are made to hold it all the same; empty where nothing makes them."""
    if reason.endswith("its current value is unknown"):
        return " (advisor checklist --include unknown adds it, marked)"
    contested = reason.startswith(("guides differ", "a guide recommends", "worth considering"))
    return " (advisor checklist --include contested adds it, marked)" if contested else ""


def _undo(head: Finding, planned: Planned) -> Iterator[Row]:
    """Yield how to go back: the lines of the plan or of the system's settings, else in words."""
    system = (step.undo for step in head.fix if step.undo and step.commands and step.where != "bios")
    lines = back_lines(planned) or tuple(system if head.undo is None else ())
    yield from (("$" if at else "$UNDO", line) for at, line in enumerate(lines))
    if lines and any(step.apply for step in head.fix):
        yield "   then", UNDO_REBOOTS
    if not lines:
        yield "UNDO", undo_words(head)


def _sources(refs: Iterable[str], publications: Mapping[str, Publication], width: int) -> Iterator[Line]:
    """Yield publications, each once."""
    for at, ref in enumerate(dict.fromkeys(refs)):
        yield from _source("" if at else "SOURCES", source(ref, publications), width)


def _source(label: str, known: Source, width: int) -> list[Line]:
    """Return a publication; an address stands alone on its line, unbroken, to be clicked or copied."""
    if not known.title:
        return labelled(label, [(known.ref, "")], width, ROOM)
    year = f", {known.year}" if known.year else ""
    words = labelled(label, [(known.ref, "title"), (f": {known.title} ({known.by}{year})", "")], width, ROOM)
    if not known.where.startswith(("https://", "http://")):
        return [*words, *labelled("", [(known.where, "dim")], width, ROOM)]
    return [*words, ((" " * (ROOM if len(known.where) <= width - ROOM else 2), ""), (known.where, "dim"))]


def _rows(rows: Iterable[Row], width: int) -> list[Line]:
    result: list[Line] = []
    for label, text in rows:
        if label.startswith("$"):
            parts = enumerate(broken(text, width - ROOM))
            result += [((f"{'' if at else label[1:]:<{ROOM}}", "label"), (part, "title")) for at, part in parts]
        elif text:
            result += labelled(label, [(plain(text, 2000), "dim" if label == "   note" else "")], width, ROOM)
    return result


def source_page(told: Mapping[str, Any], publications: Mapping[str, Publication], width: int | None = None) -> Page:
    """Return a source's page: title and address, then what rests on it."""
    rules = [f"{name}: {title}" for name, title in told["rules"].items()]
    parts = {"RULES": rules, "CHOICES": told["choices"], "NAMES": told["names"]}
    rows = [(label if not at else "", text) for label, texts in parts.items() for at, text in enumerate(texts)]
    return Page(lambda room: [*_source("SOURCE", source(told["id"], publications), room), *_rows(rows, room)], width)


LABEL = 7
"""Columns of the name of a part."""

_STYLE = {"finding": "high", "pass": "good", "unknown": "unknown", "error": "down"}
_MEANS = {
    "each": "checked for each",
    "let": "values named by the rule",
    "only": "it applies only if this is true",
    "when": "it is a finding if this is true",
    "set": "recommended value",
    "gain": "possible gain",
}


def explain_page(told: Explanation, *, why_not: bool = False, width: int | None = None) -> Page:
    """Return the explanation; with why_not, only what made verdicts other than a finding."""
    return Page(lambda room: _rule_lines(told, room, why_not=why_not), width)


def _rule_lines(told: Explanation, width: int, *, why_not: bool) -> list[Line]:
    facts = f"{told.severity} at most; for {', '.join(told.scope)}; {plain(told.file)} line {told.line}"
    result = [*wrapped([(told.id, "title"), (f": {plain(told.title)}", "")], width), *wrapped([(facts, "dim")], width)]
    # One answer stands for all that have same verdict for the same want; the others stand beside it by name.
    alike: dict[tuple[str, ...], list[Answer]] = {}
    for each in told.answers:
        if not why_not or each.verdict != "finding":
            alike.setdefault((each.verdict, *(lack.fact for lack in each.lacks)), []).append(each)
    for first, *others in alike.values():
        result += [(), *_rule_verdict(first, others, width, said=not why_not)]
        result += _why_not(first, width) if why_not else _whole(first, width)
        if first.lacks:
            result.append(((f"  {'lacks':<{LABEL}}", "label"), (count(len(first.lacks), "fact"), "dim")))
        head = " " * (2 + LABEL)
        for lack in first.lacks:
            spans = [(head, ""), (f"{plain(lack.fact, 80)}: {plain(lack.why)} ", ""), ("-> ", "dim"), (plain(lack.help), "title")]
            result += wrapped(spans, width, indent=len(head) + 2)
    if why_not and not alike:
        result += [(), (("Nothing to explain: the rule has a finding for every subject.", ""),)]
    return result


def _rule_verdict(first: Answer, alike: Sequence[Answer], width: int, *, said: bool) -> list[Line]:
    about = f"{plain(first.subject, 80)}: " if first.subject else ""
    words = f"  {plain(first.said, 2000)}" if first.said and (said or not first.parts) else ""
    result = wrapped([(about, "title"), (first.verdict.upper(), _STYLE.get(first.verdict, "dim")), (words, "")], width)
    names = [plain(each.subject or "?", 60) for each in alike]
    if names:
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        others = f"  same verdict for {', '.join(names[:6])}{more}; --subject NAME shows one of them"
        result += wrapped([(others, "dim")], width)
    return result


def _whole(answer: Answer, width: int) -> list[Line]:
    shown: set[str] = set()
    result: list[Line] = []
    for part in answer.parts:
        if part.key not in shown:
            result.append(((f"  {part.key:<{LABEL}}", "label"), (_MEANS[part.key], "dim")))
        shown.add(part.key)
        for step in part.steps:  # the whole of a named value comes with its name
            named = step.depth == 0 and part.name is not None and part.key != "each"
            result += _rule_step(step, f"{part.name}: {step.text}" if named else step.text, width, bold=step.decides)
    return result


def _rule_step(step: Step, text: str, width: int, *, bold: bool) -> list[Line]:
    indent = " " * (2 + LABEL + 2 * min(step.depth, 10))
    spans = [(indent, ""), (plain(text, 700), "" if bold else "dim")]
    if step.value != step.text:
        style = "unknown" if step.value == "unknown" else "title"
        spans += [(" = ", "dim"), (plain(step.value, 400), style if bold else "dim")]
    spans += [(f" [{plain(step.where)}]", "dim")] if step.where else []
    return wrapped(spans, width, indent=len(indent) + 2)


def _why_not(answer: Answer, width: int) -> list[Line]:
    """Return only what decided: of the expression that settled the verdict, the parts without which it were otherwise.

    The part that settled it is ``only`` where that is not true, else ``when``.
    """
    parts = {part.key: part for part in answer.parts}
    only = parts.get("only")
    part = only if only and only.steps[0].value != "true" else parts.get("when") or parts.get("each")
    if part is None:
        return []
    whole = part.steps[0]
    means = {"only": "does not apply, because", "when": "no finding, because", "each": "has nothing to check here, because"}
    because = means.get(part.key, "because") if answer.verdict != "unknown" else "is unknown, because"
    result = wrapped([("  ", ""), (because, "label"), (f" {plain(whole.text, 700)} = {plain(whole.value)}", "")], width, indent=4)
    inner = [step for step in part.steps[1:] if step.decides]
    for step in inner or part.steps[:1]:
        result += _rule_step(step, step.text, width, bold=True)
    return result


ID, SEVERITY, TOPIC = 44, 8, 12
"""Columns of a list of rules, where it has room for them."""

WIDE = 100
"""So many columns hold a rule with its title on one line."""


def rules_page(rules: Sequence[tuple[RuleText, str]], width: int | None = None) -> Page:
    """Return rules with their topics, one a line, or on a narrow page with the title below."""
    return Page(lambda room: [line for text, topic in rules for line in _listed(text, topic, room)], width)


def _listed(text: RuleText, topic: str, width: int) -> list[Line]:
    if width >= WIDE:
        name, weight = (f"{text.id:<{ID}} ", "title"), (f"{text.severity:<{SEVERITY}}", text.severity)
        return wrapped([name, weight, (f"{topic:<{TOPIC}} {plain(text.title)}", "")], width, indent=ID + SEVERITY + TOPIC + 2)
    short = wrapped([(f"{text.id} ", "title"), (f"({text.severity}, {topic})", "dim")], width, indent=4)
    return [*short, *wrapped([("    ", ""), (plain(text.title), "")], width, indent=4)]


def rule_page(text: RuleText, topic: str, where: str, publications: Mapping[str, Publication] | None = None) -> str:
    """Return the page of a rule; publications by title where they are given, by id otherwise."""
    given = {
        "rule": text,
        "topic": topic,
        "where": where,
        "known": publications or {},
        "part": _part,
        "code": _code,
        "json": partial(json.dumps, ensure_ascii=False),
    }
    return fill(template("rule.md.j2"), given, "rule.md.j2")


def _part(gain: str) -> str:
    """Return a gain as a share where it is a number, else as the expression that yields it."""
    try:
        return f"{100 * float(gain):.3g} %"
    except ValueError:
        return _code(gain)


def _code(text: str) -> str:
    """Return a text as code; one with a backtick inside keeps it."""
    fence, gap = ("``", " ") if "`" in text else ("`", "")
    return f"{fence}{gap}{' '.join(text.split())}{gap}{fence}"
