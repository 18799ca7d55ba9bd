"""Sentences with expressions in braces: ``node {node.index} has {node.memory:size}``."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from advisor.advice.language.expression import Scope, parse
from advisor.advice.language.kinds import NUMBER, Kind, ListOf, Record, Unknown, alike
from advisor.advice.language.tree import Env, Node
from advisor.errors import BadValue, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.machine.units import binary, bit_rate, clock, duration, lane_speed, memory_clock, plain, throughput

FORMATS: Mapping[str, Callable[[float], str]] = {
    "size": lambda value: binary(int(value)),
    "rate": throughput,
    "bits": bit_rate,
    "clock": clock,
    "memory": memory_clock,
    "lane": lane_speed,
    "time": duration,
    "percent": lambda value: f"{100 * value:.0f} %",
    "hex": lambda value: f"{int(value):#x}",
}
"""How a number is written: ``{adapter.path.bandwidth:rate}``."""

LISTED = "list"
"""How values stand in a command: with commas and no blanks, ``--membind={spare:list}``."""

_PART = re.compile(r"\{([^{}]*)\}")
_LONGEST = 2000


@dataclass(frozen=True)
class Sentence:
    """A text with expressions in it."""

    text: str
    parts: tuple[str | tuple[Node, str], ...]

    def nodes(self) -> tuple[Node, ...]:
        """Return the expressions in it."""
        return tuple(part[0] for part in self.parts if not isinstance(part, str))

    def fill(self, env: Env) -> str:
        """Return the sentence with every value in its place; a question mark for what is not known."""
        return "".join(part if isinstance(part, str) else written_value(part[0].value(env), part[1]) for part in self.parts)

    def command(self, env: Env) -> str:
        """Return the same as it is copied into a shell: a name that came from outside is one word there, and says nothing."""
        filled, quoted = [], ""
        for part in self.parts:
            if isinstance(part, str):
                quoted = _quoted_after(part, quoted)
                filled.append(part)
            else:
                filled.append(written_value(part[0].value(env), part[1], name=_between_quotes if quoted else as_word))
        return "".join(filled)


def read_sentence(text: str, scope: Scope) -> Sentence:
    """Return a checked sentence; refuse with BadValue what its braces hold wrongly."""
    if len(text) > _LONGEST:
        raise BadValue(f"a text of {len(text)} letters", cure=f"at most {_LONGEST}")
    parts: list[str | tuple[Node, str]] = []
    end = 0
    for match in _PART.finditer(text):
        parts.append(_plain(text[end : match.start()]))
        parts.append(_filled(match[1], scope))
        end = match.end()
    parts.append(_plain(text[end:]))
    return Sentence(text, tuple(part for part in parts if part))


def _plain(text: str) -> str:
    if "{" in text or "}" in text:
        raise BadValue(f"a brace without its other: {text.strip()[:60]}", cure="expressions stand in {braces}, not nested")
    return text


def _filled(inside: str, scope: Scope) -> tuple[Node, str]:
    text, colon, how = inside.rpartition(":")
    if not colon or '"' in how or "'" in how:  # the colon of a text, such as a PCI address
        text, how = inside, ""
    text, how = text.strip(), how.strip()
    node = parse(text, scope)
    known = (*FORMATS, LISTED)
    if how and how not in known:
        cure = did_you_mean(how, known, f"there are {', '.join(known)}", cutoff=0.4)
        raise BadValue(f"{{{inside}}}: there is no format {how}", cure=cure)
    if how == LISTED and not isinstance(node.kind, ListOf):
        raise BadValue(f"{{{inside}}}: {node.text} is a {node.kind}, {how} needs a list")
    if how in FORMATS and not alike(_inner(node.kind), NUMBER):
        raise BadValue(f"{{{inside}}}: {node.text} is a {node.kind}, {how} needs a number")
    if isinstance(_inner(node.kind), Record):
        first = next(iter(_facts(node.kind)), "")
        raise BadValue(f"{{{inside}}}: name a fact of {node.text}", cure=f"such as {node.text}.{first}")
    return node, how


def _inner(kind: Kind) -> Kind:
    return kind.item if isinstance(kind, ListOf) else kind


def _facts(kind: Kind) -> Mapping[str, Kind]:
    inner = _inner(kind)
    return inner.facts() if isinstance(inner, Record) else {}


_HARMLESS = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_.,:/@%+=-]*")
_NAMELESS = "NAME"
"""What stands where a name could not: to be filled in by whoever copies the line."""
_LONGEST_NAME = 80


def as_word(text: str) -> str:
    """Return a name as one word of a shell that is no option.

    >>> as_word("mlx5_0"), as_word("mlx5_0;touch x"), as_word("-rf")
    ('mlx5_0', "'mlx5_0;touch x'", 'NAME')
    """
    if text.startswith("-"):
        return _NAMELESS
    text = plain(text, _LONGEST_NAME)
    return text if _HARMLESS.fullmatch(text) else shlex.quote(text)


def _between_quotes(text: str) -> str:
    return text if _HARMLESS.fullmatch(text) else _NAMELESS


def _quoted_after(text: str, quoted: str) -> str:
    """Return the quote that is open behind a text, given the one that was open before."""
    for letter in text:
        if letter in "'\"":
            quoted = "" if letter == quoted else quoted or letter
    return quoted


def written_value(value: Any, how: str = "", *, name: Callable[[str], str] = plain) -> str:
    """Return a value as a sentence shows it: numbers without needless digits, lists with commas; ``name`` writes the texts."""
    if isinstance(value, Unknown):
        return "?"
    if isinstance(value, (tuple, list)):
        between, inner = (",", "") if how == LISTED else (", ", how)
        if (
            how == ""
            and len(value) > _RUN
            and all(type(each) is int for each in value)
            and (all((one + 1 == other for one, other in pairwise(value))))
        ):
            return f"{value[0]}-{value[-1]}"
        return between.join(_option(each, name) or written_value(each, inner, name=name) for each in value) or "none"
    if how:
        return FORMATS[how](value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, CpuSet):
        return str(value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name(str(key))}: {written_value(each, name=name)}" for key, each in value.items()) or "none"
    return name(str(value)) if value != "" else "''"


_RUN: Final = 3


def _option(value: Any, name: Callable[[str], str]) -> str | None:
    """Return a boot option as it stands on the line; None of what is none."""
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)):
        return None
    return name(value[0] if value[1] is None else f"{value[0]}={value[1]}")
