"""A finding on one page: what it means here, what it costs, how to fix, check and undo it, and its sources."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from advisor.advice.audit_page.findings import ROOM, Asker, Group, cost_words, grouped, lead, subjects
from advisor.advice.audit_page.steps import Row, fix_steps, undo_steps
from advisor.advice.audit_page.summary import figures
from advisor.advice.audit_page.unseen import cure_words
from advisor.advice.checklist_page.details import broken
from advisor.advice.model.findings import Answer, Audit, Cost, Explanation, Finding, Step
from advisor.advice.model.plan import Plan
from advisor.advice.model.planned import planned_for
from advisor.advice.model.rule import Publication, RuleText
from advisor.machine.units import plain
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.platform import Scope
from advisor.show.commandline import folded
from advisor.show.lines import Line, Page, labelled, wrapped

SEEN = 4
"""So many facts show what a verdict rests on; --trace has all."""


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
    """That of the finding in the audit; None where the rule found nothing."""
    benchmark: str | None = None
    """The command that shows what it costs."""
    shows: tuple[str, ...] = ()
    """Which of the machine's measured figures it shows."""


def finding_page(told: Told, width: int | None = None) -> Page:
    """Return the page: findings in full, other verdicts in a few lines, then the way to every value."""
    return Page(lambda room: _lines(told, room), width)


def _lines(told: Told, width: int) -> list[Line]:
    result: list[Line] = []
    said: list[Row] = []
    for group in _groups(told):
        brief = bool(result) and group.head.verdict in ("pass", "not-applicable")
        if brief:
            result += _brief(group, width)
        elif said and group.head.verdict == "finding":
            result += _also(told, group, said, width)
        else:
            said = list(_parts(told, group.head)) if group.head.verdict == "finding" else []
            result += [*([()] if result else []), *_verdict(told, group, width)]
    refs = dict.fromkeys([*told.rule.refs, *(guide.ref for guide in told.rule.guides)])
    if any(each.verdict not in ("pass", "not-applicable") for each in told.verdicts):
        for at, ref in enumerate(refs):
            result += _source("SOURCES" if at == 0 else "", ref, told.publications.get(ref), width)
    return [*result, *_more(told, width)]


def _groups(told: Told) -> Iterator[Group]:
    """Yield verdicts that say the same of several subjects together, findings first."""
    yield from grouped(each for each in told.verdicts if each.verdict in ("finding", "waived"))
    others: dict[tuple[object, ...], list[Finding]] = {}
    for each in told.verdicts:
        if each.verdict not in ("finding", "waived"):
            others.setdefault((each.verdict, each.lacks, each.claim), []).append(each)
    yield from (Group(own[0], tuple(own[1:])) for own in others.values())


def _verdict(told: Told, group: Group, width: int) -> list[Line]:
    head = group.head
    if head.verdict in ("finding", "waived"):
        return _finding(told, group, width)
    words = {"pass": "PASS", "not-applicable": "NOT HERE", "unknown": "NOT KNOWN", "error": "BROKEN"}
    style = {"pass": "good", "unknown": "unknown", "error": "down"}.get(head.verdict, "dim")
    about = [name for name in (each.subject for each in group.members) if name]
    of = f" of {', '.join(plain(name, 40) for name in about[:6])}{' and more' if len(about) > 6 else ''}" if about else ""
    said = f"{_is(head)}{plain(told.rule.title, 200)}{of}"
    return [*_opening((f"{words[head.verdict]:<{ROOM}}", style), said, told, width), *_rows(_other(told, head), width)]


def _also(told: Told, group: Group, said: Sequence[Row], width: int) -> list[Line]:
    """Return a finding of the same rule below the first: what it says otherwise."""
    claim = f"{plain(group.head.claim or group.head.title, 2000)}{subjects(group.members)}"
    rows = [row for row in _parts(told, group.head) if row not in said]
    return [*labelled("ALSO", [(claim, "title")], width, ROOM), *_rows(rows, width)]


def _brief(group: Group, width: int) -> list[Line]:
    """Return one line for subjects that are well beside others that are not."""
    names = [plain(each.subject or "?", 40) for each in group.members]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    word = "PASS" if group.head.verdict == "pass" else "NOT HERE"
    return labelled(word, [(f"{', '.join(names[:6])}{more}", "")], width, ROOM)


def _is(head: Finding) -> str:
    return {"pass": "not so here: ", "not-applicable": "does not apply: ", "unknown": "perhaps: "}.get(head.verdict, "")


def _opening(word: tuple[str, str], said: str, told: Told, width: int) -> list[Line]:
    scope = "any work" if len(told.rule.scope) == len(get_args(Scope)) else ", ".join(told.rule.scope)
    about = f"  ({told.rule.id}, for {scope})"
    return wrapped([word, (said, "title"), (about, "dim")], width, indent=ROOM)


def _other(told: Told, head: Finding) -> Iterator[Row]:
    """Yield what is worth saying of a verdict that is no finding: what would make it known first, or what decided."""
    if head.verdict == "unknown":
        yield from _first("TO KNOW", _cures(head, told.asker))
        wants = [_wanted(told, want.setting, want.value) for want in head.wants if want.value]
        yield from _first("WANTED", [*wants, *([head.want] if head.want else [])])
        yield "WHY", told.rule.why
        return
    if head.verdict == "error":
        yield "WHY", head.claim or ""
        return
    claim = head.claim or ""
    seen = list(_seen(told, head, ("only",) if head.verdict == "not-applicable" else ("when",)))
    if claim and not (seen and claim.startswith("does not apply: ")):
        yield "WHY", claim
    yield from _first("SEEN", seen)
    if head.verdict == "pass":
        yield from _first("WANTED", [_wanted(told, want.setting, want.value) for want in head.wants if want.value])
        yield "CHECK", head.check or ""


def _cures(head: Finding, asker: Asker) -> Iterator[str]:
    """Yield what would make a verdict known, each way once, with the facts that it shows and why they are not known."""
    found: dict[str, list[str]] = {}
    for lack in head.lacks:
        found.setdefault(lack.help, []).append(f"{lack.fact}: {lack.why}")
    yield from (f"{cure_words(cure, asker)} ({'; '.join(dict.fromkeys(facts))})" for cure, facts in found.items())


def _wanted(told: Told, setting: str, value: str | None) -> str:
    row = next((row for row in told.audit.settings if row.name == setting), None)
    if row is None:
        return f"{setting} {value}"
    return f"{row.heading} {value}" + (f"; it is {row.current}" if row.current is not None else "")


def _finding(told: Told, group: Group, width: int) -> list[Line]:
    head = group.head
    word = lead(told.number or 0, head) if head.verdict == "finding" else (f"{'WAIVED':<{ROOM}}", "dim")
    said = f"{plain(head.claim or head.title, 2000)}{subjects(group.members)}"
    return [*_opening(word, said, told, width), *_rows(_parts(told, head), width)]


def _parts(told: Told, head: Finding) -> Iterator[Row]:
    """Yield the parts of the page of a finding, in the order in which they are asked for."""
    if head.waived:
        yield "WAIVED", head.waived
    yield from _first("SEEN", _seen(told, head, ("when", "let")))
    yield "WHY", head.why
    yield from _first("COST", _costs(told, head))
    planned = planned_for(told.plan, head)
    yield from fix_steps(head, planned, told.audit, told.plan, told.asker)
    yield "CHECK", told.asker.filled(head.check or "")
    yield from (("$", step.check) for step in head.fix if step.check and step.check not in (head.check or ""))
    yield from undo_steps(head, planned)
    yield "LEAVE IT", head.spare or ""
    yield from _first("GUIDES", (f"{guide.ref}: {'OTHERWISE: ' if guide.otherwise else ''}{guide.says}" for guide in head.guides))


def _first(label: str, texts: Iterable[str]) -> Iterator[Row]:
    """Yield texts below one another, the first with the label."""
    yield from ((label if at == 0 else "", text) for at, text in enumerate(dict.fromkeys(texts)))


def _costs(told: Told, head: Finding) -> Iterator[str]:
    """Yield what it costs and how that is known: measured here, published for which processor, or by what it can be measured."""
    cost, rule = head.cost, told.rule.cost
    if cost is not None:
        yield cost_words(cost)
    if cost is not None and cost.basis == "measured" and rule is not None and rule.ref:
        gain = _published_gain(told, head)
        yield cost_words(Cost(gain=gain, of=rule.of, basis=rule.basis, ref=rule.ref))
    here = [text for name, text in (figures(told.measured) if told.measured else {}).items() if name in told.shows]
    yield from (f"this machine: {text}" for text in here)
    if told.benchmark and not here and (cost is None or cost.basis != "measured"):
        known = "not measured on this machine" if cost is not None else "no figure is known"
        yield f"{known}; before and after: {told.asker.filled(told.benchmark)}"


def _published_gain(told: Told, head: Finding) -> float | None:
    answer = _answer(told, head)
    parts = [part for part in answer.parts if part.key == "gain" and part.name is None] if answer else []
    try:
        return float(parts[0].steps[0].value) if parts else None
    except ValueError:
        return None


def _answer(told: Told, head: Finding) -> Answer | None:
    return next((each for each in told.explanation.answers if each.subject == head.subject), None)


def _seen(told: Told, head: Finding, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the few facts that a verdict rests on, with where each was read."""
    answer = _answer(told, head)
    steps = [step for key in keys for part in (answer.parts if answer else ()) if part.key == key for step in part.steps]
    found: dict[str, Step] = {}
    for step in steps:
        if step.where and step.decides and step.value not in ("...", "unknown"):
            found.setdefault(step.text, step)
    for step in list(found.values())[:SEEN]:
        yield f"{step.text} = {step.value} ({step.where})"


def _source(label: str, ref: str, known: Publication | None, width: int) -> list[Line]:
    """Return a publication; an address stands alone on its line, unbroken, to be clicked or copied."""
    if known is None:
        return labelled(label, [(ref, "")], width, ROOM)
    year = f", {known.year}" if known.year else ""
    words = labelled(label, [(ref, "title"), (f": {plain(known.title)} ({plain(known.by)}{year})", "")], width, ROOM)
    if not known.where.startswith(("https://", "http://")):
        return [*words, *labelled("", [(plain(known.where, 400), "dim")], width, ROOM)]
    room = ROOM if len(known.where) <= width - ROOM else 2
    return [*words, ((" " * room, ""), (plain(known.where, 400), "dim"))]


def _rows(rows: Iterable[Row], width: int) -> list[Line]:
    result: list[Line] = []
    for label, text in rows:
        if not text:
            continue
        if label.startswith("$"):
            parts = enumerate(broken(text, width - ROOM))
            result += [((f"{label[1:] if at == 0 else '':<{ROOM}}", "label"), (part, "title")) for at, part in parts]
        else:
            result += labelled(label, [(plain(text, 2000), "dim" if label == "   note" else "")], width, ROOM)
    return result


def _more(told: Told, width: int) -> list[Line]:
    """Return the command that shows every value."""
    argv = ("advisor", "explain", str(told.number or told.rule.id), *told.asker.words, "--trace")
    lines = folded(argv, max(width - ROOM, ROOM))
    label = f"{'MORE':<{ROOM}}"
    return [((label if at == 0 else " " * ROOM, "label"), (line, "title")) for at, line in enumerate(lines)]
