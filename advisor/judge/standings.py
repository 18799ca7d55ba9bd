"""What every setting stands at: as the operating system shows it, as the BIOS says, and which of the two is believed. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from advisor.errors import BadSheet, BadValue
from advisor.judge.scope import env_of, scope_with
from advisor.language.expression import parse
from advisor.language.nodes import Env, Node
from advisor.language.values import Trouble, Unknown
from advisor.model.case import Case, Standing
from advisor.model.setting import Neutral, Setting

BIOS = "the BIOS attributes given"


class Reader(NamedTuple):
    """One checked way to read a setting from the operating system."""

    setting: str
    node: Node
    sure: str
    how: str


def readers(settings: Mapping[str, Setting]) -> tuple[Reader, ...]:
    """Return the checked expressions of all settings."""
    scope = scope_with(None)
    result = []
    for name, setting in settings.items():
        for reading in setting.read:
            try:
                node = parse(reading.value, scope)
            except BadValue as error:
                raise BadSheet(f"{name}: {error.problem}", file="rules/settings.yaml", cure=error.cure) from error
            result.append(Reader(name, node, reading.sure, reading.how))
    return tuple(result)


def standings(
    case: Case,
    settings: Mapping[str, Setting],
    ways: Iterable[Reader],
    applied: Mapping[str, Neutral],
    pending: Mapping[str, Neutral],
) -> tuple[Standing, ...]:
    """Return what each setting of which anything is known stands at."""
    env = env_of(case)
    seen: dict[str, tuple[str, Reader]] = {}
    for way in ways:
        if way.setting not in seen:
            value = _value(way, env)
            if value is not None:
                seen[way.setting] = (value, way)
    known = [name for name in settings if name in seen or name in applied or name in pending]
    return tuple(_standing(settings[name], seen.get(name), applied.get(name), pending.get(name)) for name in known)


def _value(way: Reader, env: Env) -> str | None:
    try:
        value = way.node.value(env)
    except Trouble:
        return None
    if isinstance(value, Unknown):
        return None
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _standing(setting: Setting, seen: tuple[str, Reader] | None, applied: Neutral | None, pending: Neutral | None) -> Standing:
    """Return a standing: what the system shows is in effect, what the BIOS says is believed where the system shows nothing."""
    value, sure, how = (seen[0], seen[1].sure, seen[1].how) if seen else (None, None, None)
    if value is None and applied is not None:
        value, sure, how = str(applied), "high", BIOS
    return Standing(
        name=setting.name,
        title=setting.title,
        value=value,
        sure=sure,
        how=how,
        seen=seen[0] if seen else None,
        applied=None if applied is None else str(applied),
        pending=None if pending is None else str(pending),
    )
