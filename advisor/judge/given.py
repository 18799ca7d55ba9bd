"""Reads the facts of an example: each must exist and be of its kind; all others are not known. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from advisor.errors import BadValue, did_you_mean
from advisor.language.expression import Scope
from advisor.language.kinds import CPUS, MIXED, NOTHING, NUMBER, PAIRS, TABLE, TRUTH, Kind, ListOf, Record, Text
from advisor.language.nodes import STEPS, Env
from advisor.language.verbs import UNITS
from advisor.model.cpuset import CpuSet


class Misgiven(BadValue):
    """A fact of an example that does not exist or is not of its kind."""

    def __init__(self, name: str, error: BadValue) -> None:
        self.name = name
        super().__init__(f"given: {error.problem}", cure=error.cure)


def given(facts: Mapping[str, Any], scope: Scope) -> Env:
    """Return the values of facts by their dotted names."""
    env: Env = {"_steps": [STEPS]}
    for name, value in facts.items():
        try:
            _put(env, name, value, scope)
        except Misgiven:
            raise
        except BadValue as error:
            raise Misgiven(name, error) from error
    return env


def _put(env: Env, name: str, value: Any, scope: Scope) -> None:
    """Put one value where its dotted name leads."""
    first, *rest = path = name.split(".")
    if first not in scope:
        cure = did_you_mean(first, scope, "see docs/reference/rule-facts.md")
        raise BadValue(f"there is no fact {name[:80]}", cure=cure)
    kind, place = scope[first].kind, env
    for part, inner in zip(path, rest, strict=False):
        if not isinstance(kind, Record):
            raise BadValue(f"{name[:80]}: a {kind} has no fact {inner[:60]}", cure="give the whole list")
        kind = kind.fact(inner)
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise BadValue(f"{name[:80]} is inside of what is given already", cure="give it in one place")
    if path[-1] in place:
        raise BadValue(f"{name[:80]} is given twice", cure="give it in one place")
    place[path[-1]] = _typed(value, kind, name)


def _typed(value: Any, kind: Kind, name: str) -> Any:
    """Return a value of a sheet as the kind wants it."""
    if value is None or kind in (NOTHING, MIXED):
        return value
    if isinstance(kind, Record) and isinstance(value, dict):
        return {key: _typed(inner, kind.fact(key), f"{name}.{key}") for key, inner in value.items()}
    if isinstance(kind, ListOf) and isinstance(value, list):
        return tuple(_typed(each, kind.item, name) for each in value)
    if isinstance(kind, Text) and isinstance(value, str):
        if kind.options and value not in kind.options:
            raise BadValue(f"{name} is never {value[:60]!r}", cure=f"it is one of {', '.join(kind.options)}"[:200])
        return value
    if kind == TABLE and isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        return value
    return _plain(value, kind, name)


def _plain(value: Any, kind: Kind, name: str) -> Any:
    """Return a truth value, a number, a set of CPUs or boot options."""
    truth = isinstance(value, bool)
    if truth == (kind == TRUTH) and kind in (TRUTH, NUMBER) and isinstance(value, (int, float)):
        return value
    if kind == NUMBER and isinstance(value, str):
        return _quantity(value, name)
    if kind == CPUS and isinstance(value, (str, int)) and not truth:
        return CpuSet.parse(str(value))
    if kind == PAIRS and isinstance(value, str):
        return tuple((key, rest if sign else None) for key, sign, rest in (word.partition("=") for word in value.split()))
    raise BadValue(f"{name} must be a {kind}, not {str(value)[:60]!r}", cure=_WRITTEN.get(kind))


_WRITTEN: dict[Kind, str] = {
    CPUS: "write 0-3,8",
    PAIRS: 'write the line: "iommu=pt quiet"',
    TABLE: "write {name: text}",
    TRUTH: "write true or false",
}


def _quantity(text: str, name: str) -> float:
    """Return a number with a unit: ``32 GiB``."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?) ?([A-Za-z]{1,4})", text, re.ASCII)
    if match is None or match[2] not in UNITS:
        raise BadValue(f"{name} must be a number, not {text[:60]!r}", cure=f"units are {', '.join(UNITS)}")
    return float(match[1]) * UNITS[match[2]]
