"""Fills every value into a rule's expressions, says where each was read, and which parts decided. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pydantic import BaseModel

from advisor.advice.judge.engine import Asked, Origins, evaluated, lacks, name_of_item
from advisor.advice.judge.rule import Rule
from advisor.advice.language.kinds import Trouble, Unknown
from advisor.advice.language.sentences import written_value
from advisor.advice.language.tree import STEPS, Choose, Constant, Env, Fact, Gather, Logic, Loop, Node
from advisor.advice.model.findings import Answer, Explanation, Part, Step
from advisor.measure.platform import Scope

_KEPT: Final = 80
"""Letters that a node keeps of its text (advisor.advice.language.expression)."""

ITEMS: Final = 6
"""So many items of one list are shown, those that decide first."""


def explain(rule: Rule, asked: Iterable[Asked], origins: Origins, scope: Scope) -> Explanation:
    """Return the rule with every verdict and what each of its expressions came to."""
    return Explanation(
        **{name: getattr(rule.text, name) for name in ("id", "title", "severity", "scope")},
        **{name: getattr(rule, name) for name in ("topic", "file", "line")},
        asked=scope,
        answers=tuple(answer(each, origins) for each in asked),
    )


def answer(asked: Asked, origins: Origins) -> Answer:
    """Return one verdict with its expressions; none where the rule does not matter for the work at all."""
    env = {**asked.env, "_steps": [STEPS]}
    parts = _parts(asked.rule, env, origins) if env.get("scope") in asked.rule.text.scope else ()
    return Answer(subject=asked.subject, verdict=asked.verdict, said=asked.said, parts=tuple(parts), lacks=lacks(asked, origins))


def _parts(rule: Rule, env: Env, origins: Origins) -> Iterator[Part]:
    """Yield the rule's expressions, each with its parts; the whole as the rule has it, unless a site overrides it."""
    text = rule.text
    if rule.each and rule.each.name not in env:  # there was no item to ask of
        rows: list[tuple[Any, str | None, Node | None, str | None]] = [("each", rule.each.name, rule.each.over, None)]
    else:
        rows = [
            *(("let", name, node, text.let[name]) for name, node in rule.let),
            ("only", None, rule.only, text.only),
            ("when", None, rule.when, text.when),
            *(("set", name, node, None) for name, node in rule.wants),
            ("gain", None, rule.gain, None),
            ("gain", "measured", rule.measured, None),
        ]
    for key, name, node, written in rows:
        if node is not None:
            steps: dict[tuple[int, str, str], Step] = {}
            for step in _walk(node, env, origins, 0, decides=True):
                whole = written if step.depth == 0 and (written or "").startswith(node.text) else None
                shown = step.model_copy(update={"text": " ".join(whole.split())}) if whole else step
                steps.setdefault((shown.depth, shown.text, shown.value), shown)
            yield Part(key=key, name=name, steps=tuple(steps.values()))


def _walk(node: Node, env: Env, origins: Origins, depth: int, *, decides: bool) -> Iterator[Step]:
    """Yield an expression and its parts; a literal adds nothing beside its own text."""
    text = f"{node.text}…" if len(node.text) >= _KEPT else node.text  # the language kept only its beginning
    try:
        value = node.value({**env, "_steps": [STEPS]})
    except Trouble as trouble:
        yield Step(depth=depth, text=text, value=f"error: {trouble}", decides=decides)
        return
    where = origins.where(node.fact) if isinstance(node, Fact) else None
    yield Step(depth=depth, text=text, value=_in_words(value), where=where, decides=decides)
    if isinstance(node, Gather) and isinstance(node.operands[0], Loop):
        yield from _items(node.operands[0], value, env, origins, depth + 1, decides=decides)
    elif isinstance(node, Loop):
        yield from _items(node, None, env, origins, depth + 1, decides=decides)
    else:
        deciding = _deciding(node, value, env)
        for part in node.operands:
            if not isinstance(part, Constant):
                yield from _walk(part, env, origins, depth + 1, decides=decides and part in deciding)


def _deciding(node: Node, value: Any, env: Env) -> tuple[Node, ...]:
    """Return the operands because of which an expression came out so: of ``and`` that is false, what is false."""
    if isinstance(node, Logic):
        return tuple(operand for operand in node.operands if _alike(evaluated(operand, env), value))
    if isinstance(node, Choose):
        condition, then, otherwise = node.operands
        chosen = evaluated(condition, env)
        return (condition,) if isinstance(chosen, Unknown) else (condition, then if chosen else otherwise)
    if isinstance(value, Unknown):
        return tuple(part for part in node.operands if isinstance(evaluated(part, env), Unknown))
    return node.operands


def _alike(one: Any, other: Any) -> bool:
    """Return whether two truth values are the same; unknown is like unknown."""
    if isinstance(one, Unknown) or isinstance(other, Unknown):
        return isinstance(one, Unknown) and isinstance(other, Unknown)
    return bool(one) == bool(other)


def _items(loop: Loop, value: Any, env: Env, origins: Origins, depth: int, *, decides: bool) -> Iterator[Step]:
    """Yield what a comprehension's expressions came to for each item, those that decide first."""
    things = evaluated(loop.operands[0], env)
    if isinstance(things, Unknown):
        yield from _walk(loop.operands[0], env, origins, depth, decides=decides)
        return
    rows = []
    for at, thing in enumerate(things):
        inner = {**env, loop.name: thing}
        known = thing is not None and not isinstance(thing, Unknown)
        name = name_of_item(thing, loop.name, always=True) if known else None
        rows.append((not _tips(loop, value, inner), name or f"{loop.name} {at}", inner))
    rows.sort(key=lambda row: row[0])
    for idle, name, inner in rows[:ITEMS]:
        tips = decides and not idle
        kept = evaluated(loop.condition, inner) if loop.condition else True
        came_to = kept if isinstance(kept, Unknown) else evaluated(loop.element, inner)
        yield Step(depth=depth, text=name, value="left out" if kept is False else _in_words(came_to), decides=tips)
        shown = (loop.condition,) if kept is not True and loop.condition else (loop.condition, loop.element)
        for each in shown:
            if each is not None and not isinstance(each, Constant):
                yield from _walk(each, inner, origins, depth + 1, decides=tips)
    if len(rows) > ITEMS:
        yield Step(depth=depth, text=f"and {len(rows) - ITEMS} more", value="...", decides=False)


def _tips(loop: Loop, value: Any, inner: Env) -> bool:
    """Return whether one item is a reason for what the list came to: of ``any`` that is true, an item that is."""
    try:
        kept = loop.condition.value(inner) if loop.condition else True
        if isinstance(kept, Unknown) or not kept:
            return isinstance(value, Unknown) and isinstance(kept, Unknown)
        item = loop.element.value(inner)
    except Trouble:
        return True
    return not isinstance(value, (bool, Unknown)) or _alike(item, value)


def _in_words(value: Any) -> str:
    """Return a value in words; of records, how many there are."""
    if isinstance(value, Unknown):
        return "unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, BaseModel):
        return "..."
    if isinstance(value, (tuple, list)) and any(isinstance(each, (BaseModel, tuple)) for each in value):
        return f"a list of {len(value)}"
    return written_value(value)
