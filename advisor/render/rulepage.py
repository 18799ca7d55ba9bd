"""The page of one rule, made from the rule: the same headings for every rule, in Markdown."""

import json
from collections.abc import Iterable, Iterator, Mapping

from advisor.model.audit.rule import ExampleText, Publication, RuleText


def rule_page(text: RuleText, topic: str, where: str, publications: Mapping[str, Publication] | None = None) -> str:
    """Return the page of a rule; publications by title where they are given, by id otherwise."""
    known = publications or {}
    head = f"# {text.id}\n\n{text.title}.\n\n"
    about = "| severity | topic | where it is mended | matters for |\n|---|---|---|---|\n"
    about += f"| {text.severity} | {topic} | {where} | {', '.join(text.scope)} |\n"
    return head + about + "".join(f"\n## {title}\n\n{body.rstrip()}\n" for title, body in _sections(text, known))


def _sections(text: RuleText, known: Mapping[str, Publication]) -> Iterator[tuple[str, str]]:
    yield "What it finds", _finds(text)
    yield "Why", text.why
    if text.cost:
        yield "What it costs", _cost(text)
    yield "How to fix it", _fix(text)
    yield "How to check it", _code(text.check)
    if text.undo or text.set:
        yield "How to go back", text.undo or "Set it back to what it was; the audit names that value."
    if text.spare:
        yield "When to leave it", text.spare
    if text.guides:
        yield "What guides say", _list(f"{guide.says} ({_cited(guide.ref, known)})" for guide in text.guides)
    yield "Sources", _list(_source(ref, known) for ref in text.refs)
    yield "Expression", _expression(text)
    yield "Examples", "\n".join(_example(example) for example in text.tests)


def _finds(text: RuleText) -> str:
    each = f"For each {_code(text.each)}: " if text.each else ""
    return f"{each}{_code(text.say)}"


def _cost(text: RuleText) -> str:
    cost = text.cost
    if cost is None:
        return ""
    part = f"{_part(cost.gain)} of" if cost.gain else "Part of"
    here = f" Where it was measured: {_part(cost.measured)} of {cost.measured_of or cost.of}." if cost.measured else ""
    return f"{part} {cost.of}, {cost.basis}{f' in {cost.ref}' if cost.ref else ''}.{here}"


def _part(gain: str) -> str:
    try:
        return f"{100 * float(gain):.3g} %"
    except ValueError:
        return _code(gain)


def _fix(text: RuleText) -> str:
    steps = [f"Setting {_code(name)}: {_code(value)}." for name, value in text.set.items()]
    if text.want:
        steps.append(f"Wanted: {text.want}.")
    if text.fix:
        steps.append(_code(text.fix) if "\n" not in text.fix else text.fix)
    return _list(steps)


def _expression(text: RuleText) -> str:
    rows = [f"each  {text.each}"] if text.each else []
    rows += [f"let   {name} = {value}" for name, value in text.let.items()]
    rows += [f"only  {text.only}"] if text.only else []
    rows += [f"when  {text.when}"]
    rows += [f"gain  {text.cost.gain}"] if text.cost and text.cost.gain else []
    rows += [f"measured  {text.cost.measured}"] if text.cost and text.cost.measured else []
    body = "\n".join(row.replace("\n", " ") for row in rows)
    return f"```text\n{body}\n```"


def _example(example: ExampleText) -> str:
    given = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in example.given.items())
    scope = f" for {example.scope}" if example.scope else ""
    said = f", which says {example.say!r}" if example.say else ""
    return f"- {example.expect}{scope}{said}: {_code(given or 'no fact given')}"


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
