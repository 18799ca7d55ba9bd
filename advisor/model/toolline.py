"""Fills the command lines of a maker's tools: {attribute} {value} {group} {dotted} {pairs} {body} in their templates."""

import json
import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from advisor.model.vendor import VendorValue


class Target(NamedTuple):
    """One attribute to read or to write."""

    attribute: str
    value: VendorValue
    group: str | None = None
    label: str = ""
    menu: str = ""


def one_a_line(templates: Iterable[str]) -> bool:
    """Return whether a tool takes one attribute a line."""
    return any("{attribute}" in line or "{dotted}" in line for line in templates)


def filled(templates: Iterable[str], targets: tuple[Target, ...]) -> tuple[str, ...]:
    """Return command lines with everything filled in and quoted, one line for each attribute where the line names one."""
    lines: list[str] = []
    for template in templates:
        words = shlex.split(template)
        if one_a_line(words):
            lines += [shlex.join(_filled(word, target) for word in words) for target in targets]
        else:
            lines.append(shlex.join(part for word in words for part in _together(word, targets)))
    return tuple(lines)


def edited(template: str, target: Target) -> str:
    """Return what to change by hand in the file that a tool writes and reads."""
    words = {"{label}": target.label or target.attribute, "{value}": spoken(target.value), "{menu}": target.menu or "its menu"}
    return re.sub(r"\{[a-z]+\}", lambda found: words.get(found[0], found[0]), template)


def spoken(value: VendorValue) -> str:
    """Return a value as a command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled(word: str, target: Target) -> str:
    text = {"{group}": target.group or "", "{attribute}": target.attribute, "{dotted}": target.attribute.replace("_", ".", 1)}
    text["{value}"] = spoken(target.value)
    return re.sub(r"\{[a-z]+\}", lambda found: text.get(found[0], found[0]), word)


def _together(word: str, targets: tuple[Target, ...]) -> list[str]:
    if word == "{pairs}":
        return [f"{target.attribute}={spoken(target.value)}" for target in targets]
    if word == "{names}":
        return [target.attribute for target in targets]
    if word == "{body}":
        return [json.dumps({"Attributes": {target.attribute: target.value for target in targets}})]
    return [word]


def look_up_line(template: str, targets: tuple[Target, ...]) -> str:
    """Return one line that reads many: {keys} are GROUP.ATTRIBUTE, {names} attributes, {dotted} as OneCLI writes them."""
    words = {
        "{keys}": [f"{target.group}.{target.attribute}" if target.group else target.attribute for target in targets],
        "{names}": [target.attribute for target in targets],
        "{dotted}": [target.attribute.replace("_", ".", 1) for target in targets],
    }
    # At once: a mark that a name holds is no mark.
    return re.sub("|".join(map(re.escape, words)), lambda mark: shlex.join(dict.fromkeys(words[mark[0]])), template)
