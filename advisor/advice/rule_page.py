"""A rule as a page: in Markdown for everybody, and on one machine with every value filled in and where it was read."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from advisor.advice.model.findings import Answer, Explanation, Step
from advisor.advice.model.rule import ExampleText, Publication, RuleText
from advisor.machine.units import count, plain
from advisor.show.lines import Line, Page, wrapped

LABEL = 7
"""Columns of the name of a part."""

_STYLE = {"finding": "high", "pass": "good", "unknown": "unknown", "error": "down"}
_MEANS = {
    "each": "checked for each",
    "let": "values named by the rule",
    "only": "it applies only where this is true",
    "when": "it is a finding where this is true",
    "set": "recommended value",
    "gain": "possible gain",
}


def explain_page(told: Explanation, *, why_not: bool = False, width: int | None = None) -> Page:
    """Return the explanation; with why_not, only what made verdicts other than a finding."""
    return Page(lambda room: _lines(told, room, why_not=why_not), width)


def _lines(told: Explanation, width: int, *, why_not: bool) -> list[Line]:
    facts = f"{told.severity}; for {', '.join(told.scope)}; {plain(told.file)} line {told.line}"
    result = [*wrapped([(told.id, "title"), (f": {plain(told.title)}", "")], width), *wrapped([(facts, "dim")], width)]
    # One answer stands for all that have the same verdict for the same want; the others stand beside it by name.
    alike: dict[tuple[str, ...], list[Answer]] = {}
    for each in told.answers:
        if not why_not or each.verdict != "finding":
            alike.setdefault((each.verdict, *(lack.fact for lack in each.lacks)), []).append(each)
    for first, *others in alike.values():
        result += [(), *_verdict(first, others, width, said=not why_not)]
        result += _why_not(first, width) if why_not else _whole(first, width)
        if first.lacks:
            result.append(((f"  {'lacks':<{LABEL}}", "label"), (count(len(first.lacks), "fact"), "dim")))
        head = " " * (2 + LABEL)
        for lack in first.lacks:
            spans = [(head, ""), (f"{plain(lack.fact, 80)}: {plain(lack.why)} ", ""), ("-> ", "dim"), (plain(lack.help), "title")]
            result += wrapped(spans, width, indent=len(head) + 2)
    if why_not and not alike:
        result += [(), (("Nothing to explain: the rule finds something for every subject.", ""),)]
    return result


def _verdict(first: Answer, alike: Sequence[Answer], width: int, *, said: bool) -> list[Line]:
    about = f"{plain(first.subject, 80)}: " if first.subject else ""
    words = f"  {plain(first.said, 2000)}" if first.said and (said or not first.parts) else ""
    result = wrapped([(about, "title"), (first.verdict.upper(), _STYLE.get(first.verdict, "dim")), (words, "")], width)
    names = [plain(each.subject or "?", 60) for each in alike]
    if names:
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        others = f"  the same verdict for {', '.join(names[:6])}{more}; --subject NAME shows one of them"
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
            result += _step(step, f"{part.name}: {step.text}" if named else step.text, width, bold=step.decides)
    return result


def _step(step: Step, text: str, width: int, *, bold: bool) -> list[Line]:
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
    means = {"only": "does not apply, because", "when": "no finding, because", "each": "nothing to ask of, because"}
    because = means.get(part.key, "because") if answer.verdict != "unknown" else "is not known, because"
    result = wrapped([("  ", ""), (because, "label"), (f" {plain(whole.text, 700)} = {plain(whole.value)}", "")], width, indent=4)
    inner = [step for step in part.steps[1:] if step.decides]
    for step in inner or part.steps[:1]:
        result += _step(step, step.text, width, bold=True)
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
    known = publications or {}
    head = f"# {text.id}\n\n{text.title}.\n\n"
    about = "| severity | topic | where it is fixed | matters for |\n|---|---|---|---|\n"
    about += f"| {text.severity} | {topic} | {where} | {', '.join(text.scope)} |\n"
    return head + about + "".join(f"\n## {title}\n\n{body.rstrip()}\n" for title, body in _sections(text, known))


def _sections(text: RuleText, known: Mapping[str, Publication]) -> Iterator[tuple[str, str]]:
    each = f"For each {_code(text.each)}: " if text.each else ""
    yield "What it finds", f"{each}{_code(text.say)}"
    yield "Why", text.why
    if cost := text.cost:
        part = f"{_part(cost.gain)} of" if cost.gain else "Part of"
        here = f" Where it was measured: {_part(cost.measured)} of {cost.measured_of or cost.of}." if cost.measured else ""
        yield "What it costs", f"{part} {cost.of}, {cost.basis}{f' in {cost.ref}' if cost.ref else ''}.{here}"
    steps = [f"Setting {_code(name)}: {_code(value)}." for name, value in text.set.items()]
    steps += [f"Wanted: {text.want}."] if text.want else []
    steps += [_code(text.fix) if "\n" not in text.fix else text.fix] if text.fix else []
    yield "How to fix it", _list(steps)
    yield "How to check it", _code(text.check)
    if text.undo or text.set:
        yield "How to undo it", text.undo or "Set it back to what it was; the audit names that value."
    if text.spare:
        yield "When to leave it", text.spare
    if text.guides:
        yield "What guides say", _list(f"{guide.says} ({_cited(guide.ref, known)})" for guide in text.guides)
    yield "Sources", _list(_source(ref, known) for ref in text.refs)
    rows = (
        ("each  ", text.each),
        *((f"let   {name} = ", value) for name, value in text.let.items()),
        ("only  ", text.only),
        ("when  ", text.when),
        ("gain  ", cost and cost.gain),
        ("measured  ", cost and cost.measured),
    )
    body = "\n".join(f"{label}{row}".replace("\n", " ") for label, row in rows if row)
    yield "Expression", f"```text\n{body}\n```"
    yield "Examples", "\n".join(_example(example) for example in text.tests)


def _part(gain: str) -> str:
    try:
        return f"{100 * float(gain):.3g} %"
    except ValueError:
        return _code(gain)


def _example(example: ExampleText) -> str:
    given = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in example.given.items())
    scope = f" for {example.scope}" if example.scope else ""
    words = f", which says {example.say!r}" if example.say else ""
    return f"- {example.expect}{scope}{words}: {_code(given or 'no fact given')}"


def _source(ref: str, known: Mapping[str, Publication]) -> str:
    one = known.get(ref)
    if one is None:
        return f"`{ref}`"
    title = f"[{one.title}]({one.where})" if one.where.startswith(("http://", "https://")) else f"{one.title}, {one.where}"
    return f"`{ref}`: {title}, {one.by}{f', {one.year}' if one.year else ''}"


def _cited(ref: str, known: Mapping[str, Publication]) -> str:
    one = known.get(ref)
    return f"`{ref}`" if one is None else f"{one.title}, {one.by}"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _code(text: str) -> str:
    """Return a text as code; one with a backtick inside keeps it."""
    fence = "``" if "`" in text else "`"
    gap = " " if "`" in text else ""
    return f"{fence}{gap}{' '.join(text.split())}{gap}{fence}"
