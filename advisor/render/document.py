"""Fills a template: every value is quoted for what the template makes, and nothing in a value can break out of its place.

A template begins with a comment that says what it makes, which filter-less text is escaped how, and for whom it is:

    {#- a sysctl.d file | escape: none | vendors: dell -#}

Quoting is by filter: ``note`` (a comment), ``sh`` ``ini`` ``yaml`` ``code`` ``md`` (a value there), ``command`` (a line that
is quoted already). A template of a site is run in a sandbox.
"""

import json
import re
import shlex
from collections.abc import Mapping
from textwrap import wrap
from typing import NamedTuple

from advisor.errors import BadInput
from advisor.language.units import plain

_HEAD = re.compile(r"\{#-?\s*(?P<summary>[^|#]*?)\s*(?:\|(?P<rest>[^#]*?))?-?#\}")
_LONGEST = 4000
_LINE = 100_000
"""Letters of a shell line: cut anywhere, its quotes would be open; Linux takes 131,072 (MAX_ARG_STRLEN)."""
_COMMENT = 110
_MARKED = re.compile(r"([\\`*_{}\[\]<>#|~])")


class About(NamedTuple):
    """What the first line of a template says."""

    summary: str
    escape: str = "none"
    vendors: tuple[str, ...] = ()


def about(template: str) -> About:
    """Return what a template says of itself."""
    head = _HEAD.match(template)
    if head is None:
        return About("")
    words = dict(part.split(":", 1) for part in (head["rest"] or "").split("|") if ":" in part)
    said = {key.strip(): value.strip() for key, value in words.items()}
    return About(head["summary"], said.get("escape", "none"), tuple(said.get("vendors", "").split()))


def fill(template: str, values: Mapping[str, object], name: str = "template") -> str:
    """Return the text that a template makes of values; its mistakes are named with their line."""
    from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=about(template).escape == "html",
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(note=note, comment=comment, sh=sh, ini=ini, yaml=yaml, code=code, md=md, command=command)
    try:
        return environment.from_string(template).render(values)
    except TemplateSyntaxError as error:
        raise BadInput(
            error.message or "is no template", file=name, place=f"line {error.lineno}", cure="mend the template"
        ) from error
    except (TemplateError, TypeError, ArithmeticError, ValueError) as error:
        raise BadInput(str(error)[:200], file=name, cure="mend the template") from error


def note(value: object) -> str:
    """Return a text for a comment: one line, nothing in it that steers a terminal."""
    return plain(str(value), 500)


def comment(value: object, mark: str = "# ") -> str:
    """Return a text as comment lines, each behind the mark."""
    lines = wrap(plain(str(value), 1000), _COMMENT - len(mark), break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(f"{mark}{'  ' if at else ''}{line}" for at, line in enumerate(lines))


def command(value: object) -> str:
    """Return a shell line that is quoted already as one line; its blanks stay, for they may stand in a value."""
    text = str(value)
    return text if text.isprintable() and len(text) <= _LINE else plain(text, _LINE)


def sh(value: object) -> str:
    """Return a value as one word of a shell."""
    return shlex.quote(command(value))


def ini(value: object) -> str:
    """Return a value for a tuned profile or a .conf file: no comment begins in it, and tuned expands nothing in it."""
    return re.sub(r"[#;$\\]", "", _unexpanded(value))


def yaml(value: object) -> str:
    """Return a value as a quoted YAML text in which Ansible finds no expression."""
    return json.dumps(_unexpanded(value), ensure_ascii=False)


def _unexpanded(value: object) -> str:
    """Return a value as one line in which Ansible finds no expression."""
    text = plain(str(value), _LONGEST)
    for mark in ("{", "}", "%", "#"):
        text = text.replace("{" + mark, "{ " + mark).replace(mark + "}", mark + " }")
    return text


def md(value: object) -> str:
    """Return a text for Markdown with its marks taken as letters."""
    return _MARKED.sub(r"\\\1", command(value))


def code(value: object) -> str:
    """Return a text as code inside a line of Markdown."""
    text = command(value)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"
