"""Reads what a rule wants a setting to be, and says it in neutral words. Pure."""

import re
from collections.abc import Iterator, Mapping

from advisor.errors import BadValue, did_you_mean
from advisor.judge.scope import setting_kind
from advisor.language.expression import Scope, parse
from advisor.language.kinds import Text, alike
from advisor.language.nodes import Choose, Constant, Env, Node
from advisor.language.say import written
from advisor.language.values import Trouble, Unknown, lacking
from advisor.model.finding import Want
from advisor.model.setting import Setting


def wanted(name: str, value: str, scope: Scope, settings: Mapping[str, Setting]) -> Node:
    """Return the wanted value: one of the setting's words, or an expression that yields one."""
    if name not in settings:
        cure = did_you_mean(name, settings, "see docs/reference/settings.md")
        raise BadValue(f"there is no setting {name}", cure=cure)
    setting = settings[name]
    if value in setting.values:
        return Constant(value, setting_kind(setting), setting.neutral(value))
    try:
        node = parse(value, scope)
    except BadValue as error:
        if re.fullmatch(r"[\w-]+", value, re.ASCII) and setting.values:
            raise _never(setting, name, value) from error
        raise
    kind = setting_kind(setting)
    if not alike(node.kind, kind):
        raise BadValue(f"{name} takes a {kind}, {node.text} is a {node.kind}")
    for word in _words(node):
        if setting.values and word not in setting.values:
            raise _never(setting, name, word)
    return node


def _words(node: Node) -> Iterator[str]:
    """Yield the values that an expression names outright."""
    if isinstance(node, Choose):
        yield from _words(node.then)
        yield from _words(node.otherwise)
    elif isinstance(node, Constant) and not isinstance(node.constant, Unknown):
        yield neutral(node.constant)
    elif isinstance(node.kind, Text):
        yield from node.kind.options


def _never(setting: Setting, name: str, value: str) -> BadValue:
    cure = did_you_mean(value, setting.values, f"it takes {', '.join(setting.values)}", cutoff=0.4)
    return BadValue(f"{name} is never {value}", cure=cure)


def neutral(value: object) -> str:
    """Return a value as settings spell it: whole numbers without a point, every digit of it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return str(int(value)) if value == value // 1 else repr(value)
    return written(value)


def wants(nodes: tuple[tuple[str, Node], ...], env: Env) -> tuple[Want, ...]:
    """Return what settings should be; None where that depends on what is not known."""
    result = []
    for name, node in nodes:
        try:
            value = node.value(env)
        except Trouble:
            value = Unknown()
        result.append(Want(setting=name, value=neutral(value) if lacking(value) is None else None))
    return tuple(result)
