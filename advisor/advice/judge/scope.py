"""The names that expressions may use, and the values they stand for: in a Case, or as an example gives them. Pure."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from advisor.advice.language.expression import Name, Scope
from advisor.advice.language.kinds import (
    CPUS,
    MIXED,
    NOTHING,
    NUMBER,
    PAIRS,
    TABLE,
    TEXT,
    TRUTH,
    Kind,
    ListOf,
    Record,
    Text,
    kind_of,
)
from advisor.advice.language.tree import STEPS, UNITS, Env
from advisor.advice.model.case import Case
from advisor.advice.model.setting import Setting
from advisor.errors import BadValue, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import declarations

SETTING = "setting"
"""The name under which settings stand: ``setting.numa.nps``."""


@cache
def fact_kinds() -> dict[str, Kind]:
    """Return the kinds of all facts of a Case."""
    return {name: kind_of(field.annotation) for name, field in Case.model_fields.items()}


def facts_of_rules(settings: Mapping[str, Setting]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, kind, unit and meaning of every fact that a rule may use."""
    for name, kind in fact_kinds().items():
        yield from _rows(name, kind, Case, name)
    for name, setting in settings.items():
        yield f"{SETTING}.{name}", "number" if setting.type == "number" else "text", "", setting.title


def _rows(name: str, kind: Kind, model: type[BaseModel], field: str) -> Iterator[tuple[str, str, str, str]]:
    inner = kind.item if isinstance(kind, ListOf) else kind
    shown = f"{name}[]" if isinstance(kind, ListOf) else name
    text, unit = model.model_fields[field].description or "", declarations(model)[field].unit
    if isinstance(inner, Record) and inner.model is not None:
        yield (
            shown,
            "list" if isinstance(kind, ListOf) else "record",
            "",
            text or (inner.model.__doc__ or "").strip().splitlines()[0],
        )
        for part, part_kind in inner.facts().items():
            yield from _rows(f"{shown}.{part}", part_kind, inner.model, part)
        return
    options = f": {', '.join(inner.options)}" if isinstance(inner, Text) and inner.options else ""
    yield shown, f"{kind}{options}", unit.name if unit else "", text


def scope_with(settings: Mapping[str, Setting] | None) -> Scope:
    """Return the scope of all facts; with settings, those too."""
    names = {name: Name(kind, name) for name, kind in fact_kinds().items()}
    if settings is not None:
        names[SETTING] = Name(Record(name=SETTING, tree=_tree(settings)), SETTING)
    return names


def _tree(settings: Mapping[str, Setting]) -> dict[str, Kind]:
    """Return nested records by the dotted names of the settings."""
    tree: dict[str, Kind] = {}
    for name, setting in settings.items():
        place = tree
        path = name.split(".")
        for at, part in enumerate(path[:-1]):
            record = place.setdefault(part, Record(name=".".join([SETTING, *path[: at + 1]]), tree={}))
            place = record.tree if isinstance(record, Record) else {}
        place[path[-1]] = setting_kind(setting)
    return tree


def setting_kind(setting: Setting) -> Kind:
    """Return the kind of a setting's values."""
    if setting.type == "number":
        return NUMBER
    return Text(options=tuple(setting.values)) if setting.type == "choice" else TEXT


def env_of(case: Case, settings: Mapping[str, Setting] | None = None) -> Env:
    """Return the values that the names stand for."""
    env: Env = {name: getattr(case, name) for name in Case.model_fields}
    env["_steps"] = [STEPS]
    if settings is not None:
        env[SETTING] = _standing_tree(case, settings)
    return env


def _standing_tree(case: Case, settings: Mapping[str, Setting]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name in settings:
        place = tree
        for part in name.split(".")[:-1]:
            place = place.setdefault(part, {})
    for standing in case.standings or ():
        if standing.value is not None and standing.name in settings:
            *path, last = standing.name.split(".")
            place = tree
            for part in path:
                place = place[part]
            value = settings[standing.name].neutral(standing.value)
            if settings[standing.name].type != "number" or isinstance(value, int):  # "auto" of a number tells no number
                place[last] = value
    return tree


class BadExampleFact(BadValue):
    """A fact of an example that does not exist or is not of its kind."""

    def __init__(self, name: str, error: BadValue) -> None:
        self.name = name
        super().__init__(f"given: {error.problem}", cure=error.cure)


def example_facts(facts: Mapping[str, Any], scope: Scope) -> Env:
    """Return the values of facts by their dotted names."""
    env: Env = {"_steps": [STEPS]}
    for name, value in facts.items():
        try:
            _put(env, name, value, scope)
        except BadExampleFact:
            raise
        except BadValue as error:
            raise BadExampleFact(name, error) from error
    return env


def _put(env: Env, name: str, value: Any, scope: Scope) -> None:
    """Put one value where its dotted name leads."""
    first, *rest = path = name.split(".")
    if first not in scope:
        cure = did_you_mean(first, scope, "see advisor rules facts")
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
        match = re.fullmatch("(\\d{1,15}(?:\\.\\d{1,15})?) ?([A-Za-z]{1,4})", value, re.ASCII)
        if match is None or match[2] not in UNITS:
            raise BadValue(f"{name} must be a number, not {value[:60]!r}", cure=f"units are {', '.join(UNITS)}")
        return float(match[1]) * UNITS[match[2]]
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
