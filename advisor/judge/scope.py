"""The names that expressions may use, and the values they stand for in a Case. Pure."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from advisor.language.expression import Name, Scope
from advisor.language.kinds import NUMBER, TEXT, Kind, Record, Text, kind_of
from advisor.language.nodes import STEPS, Env
from advisor.model.case import Case
from advisor.model.setting import Setting

SETTING = "setting"
"""The name under which settings stand: ``setting.numa.nps``."""


@cache
def fact_kinds() -> dict[str, Kind]:
    """Return the kinds of all facts of a Case."""
    return {name: kind_of(field.annotation) for name, field in Case.model_fields.items()}


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
