"""Fills templates: the files of a checklist or a job, the capture script, the probe. Every value is quoted for what is made.

A template begins with a comment that says what it makes, which filter-less text is escaped how, and for whom it is:

    {#- a sysctl.d file | escape: none | vendors: dell -#}

Quoting is by filter: ``note`` (a comment), ``sh`` ``ini`` ``yaml`` ``code`` ``md`` (a value there), ``command`` (a
line that is quoted already). A template of a site is run in a sandbox.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from shlex import quote
from textwrap import wrap
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.machine.hosts.base import SLURM_CONFS
from advisor.machine.hosts.files import LIMIT, at_home, open_trusted, trusted
from advisor.machine.registers import registers
from advisor.machine.secrecy import BOOT_OPTIONS, KEPT_VARIABLES, NEVER_VARIABLES, PLACED_VARIABLES, SLURM_KEYS, WITHHELD
from advisor.machine.units import plain
from advisor.paths import templates

if TYPE_CHECKING:
    from jinja2 import Template

RULES = (Path("/etc/advisor/rules.d"), Path("~/.config/advisor/rules.d"))
"""Where a site keeps its own rules, thresholds and waivers."""
TEMPLATES = (Path("~/.config/advisor/templates"), Path("/etc/advisor/templates"))
"""Where a site keeps templates of its own; the nearer wins."""
_LARGEST = 1 << 20


def template_files(kind: str) -> dict[str, Path]:
    """Return the templates of a folder by name; a site's own come before ours."""
    found = {path.name.removesuffix(".j2"): path for path in sorted((templates() / kind).glob("*.j2"))}
    for folder in reversed(TEMPLATES):
        for path in sorted((at_home(folder) / kind).glob("*.j2")):
            trusted(path)
            found[path.name.removesuffix(".j2")] = path
    return found


def template_text(path: Path) -> str:
    """Return a template's text; refuse what is none."""
    own = path.is_relative_to(templates())
    try:
        with path.open("rb") if own else open_trusted(path) as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise BadValue(f"{path} is too large for a template")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotWork(f"{path}: cannot be read as a template; {error}") from error


REBOOTS = "Then, once after all changes, on a drained node (this restarts it):"
"""What stands above the lines that make staged BIOS changes take effect, wherever they may be copied."""
UNDO_REBOOTS = "Like the change itself, this takes effect at the next reboot; delete a job that is still pending first."
_HEAD = re.compile(r"\{#-?\s*(?P<summary>[^|#]*?)\s*(?:\|(?P<rest>[^#]*?))?-?#\}")
_CURE = "see docs/adding.md for what a template may use"
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
    wrong: str | None = None
    """What of it is not understood: a word misspelt would silently mean nothing."""


_MARKUP = re.compile(r"^\s*<(?:\?xml|!doctype|html)\b", re.MULTILINE | re.IGNORECASE)


def about(template: str) -> About:
    """Return what a template says of itself."""
    head = _HEAD.match(template)
    if head is None:
        return About("")
    words = (part.partition(":") for part in (head["rest"] or "").split("|") if part.strip())
    said = {key.strip(): value.strip() for key, _, value in words}
    odd = next((f"unknown key {key[:40]!a}: use escape or vendors" for key in said if key not in ("escape", "vendors")), None)
    if said.get("escape", "none") not in ("none", "html"):
        odd = f"escape is {said['escape'][:40]!a}, not none or html"
    if said.get("escape", "none") == "none" and _MARKUP.search(template):
        odd = 'it inserts values into HTML or XML: add "| escape: html" to its first line'
    return About(head["summary"], said.get("escape", "none"), tuple(said.get("vendors", "").replace(",", " ").split()), odd)


def fill(template: str, values: Mapping[str, object], name: str = "template") -> str:
    """Return the text that a template makes of values; its mistakes are named with their line."""
    from jinja2 import TemplateError, TemplateSyntaxError

    try:
        return _compiled(template).render(values)
    except TemplateSyntaxError as error:
        raise BadInput(
            (error.message or "is not a template").rstrip("."), file=name, place=f"line {error.lineno}", cure=_CURE
        ) from error
    except (TemplateError, TypeError, ArithmeticError, ValueError) as error:
        raise BadInput(str(error)[:200].rstrip("."), file=name, place=_line(error.__traceback__), cure=_CURE) from error


@lru_cache(maxsize=64)
def _compiled(template: str) -> "Template":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=about(template).escape == "html",
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(note=note, comment=comment, sh=sh, ini=ini, yaml=yaml, code=code, md=md, command=command)
    environment.globals["reboots"] = REBOOTS
    environment.globals["undo_reboots"] = UNDO_REBOOTS
    return environment.from_string(template)


def _line(trace: TracebackType | None) -> str | None:
    """Return the line of the template at which a traceback last was."""
    found = None
    while trace is not None:
        found = f"line {trace.tb_lineno}" if trace.tb_frame.f_code.co_filename == "<template>" else found
        trace = trace.tb_next
    return found


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


CGROUP = "{cgroup}"
_END = "END-OF-PATTERNS"
_CREDENTIALS = ("password", "passwd", "passphrase", "secret", "token", "jwt", "credential", "api_key", "apikey", "psk", "cookie")


def _any_case(word: str) -> str:
    """Return a pattern of sed and grep for a word in any letters: not every one has a flag for it."""
    return "".join(f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else letter for letter in word)


_WORDS = "|".join(_any_case(word) for word in _CREDENTIALS)
_HINT = f"{_WORDS}|{_any_case('authorization')}|{_any_case('bearer')}|eyJ|://[^ /]*@|MUNGE:|PRIVATE KEY"
_SED = "\n".join(
    (
        "/-----BEGIN [A-Z ]*PRIVATE KEY/,/-----END [A-Z ]*PRIVATE KEY/d",
        rf"s#eyJ[A-Za-z0-9_-]{{5,}}\.[A-Za-z0-9_.-]+#{WITHHELD}#g",
        rf"s#([A-Za-z][A-Za-z0-9+.-]*://)[^ /@\"']*@#\1{WITHHELD}@#g",
        rf"s#({_any_case('authorization')}[\"']?[ ]*[=:]).*#\1 {WITHHELD}#g",
        rf"s#({_any_case('bearer')} +)[A-Za-z0-9._+/=-]+#\1{WITHHELD}#g",
        rf"s#MUNGE:[A-Za-z0-9+/=_]+#{WITHHELD}#g",
        rf"s#(({_WORDS})[A-Za-z0-9_]*[\"']?[ ]*[=:][ ]*)(\"[^\"]*\"?|'[^']*'?|[^ ,;&<>]+)#\1{WITHHELD}#g",
    )
)
"""What the script drops of texts: advisor/machine/secrecy.py in the words of sed."""
_PATTERN = re.compile(r"/[^\n]+")


def capture_script(
    template: str,
    patterns: Iterable[str],
    commands: Iterable[tuple[str, ...]],
    version: str,
    prefixes: Iterable[str],
    *,
    twice: Iterable[str] = (),
) -> str:
    """Return the script: ``patterns`` and ``commands`` as the collectors have them, ``prefixes`` of variables to keep.

    What the patterns ``twice`` match is looked at again in the end.
    """
    from jinja2 import Environment, StrictUndefined

    asked = tuple(dict.fromkeys(patterns))
    for pattern in asked:
        if not _PATTERN.fullmatch(pattern):
            raise BadInput("not a path pattern", place=ascii(pattern), cure="it must begin with / and be one line")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - a shell script, quoted by shlex
    own = tuple(pattern for pattern in asked if CGROUP in pattern)
    return environment.from_string(template).render(
        version=_plain(version),
        patterns=[pattern for pattern in asked if CGROUP not in pattern],
        own=[_word(pattern) for pattern in own],
        looks=[_look(folder, names) for folder, names in _by_folder(p for p in asked if CGROUP not in p).items()],
        own_looks=[_look(folder, names) for folder, names in _by_folder(own).items()],
        commands=[" ".join(quote(word) for word in argv) for argv in dict.fromkeys(commands)],
        twice=[quote(pattern) for pattern in dict.fromkeys(twice)],
        prefixes="|".join(f"{_plain(prefix)}*" for prefix in prefixes) or "''",
        end=_END,
        registers=_registers(),
        **_tables(),
    )


def _registers() -> list[dict[str, str]]:
    """Return the registers that the script reads, by processors that have the same: patterns of vendor/family/model."""
    found: dict[tuple[str, int, int], dict[str, dict[str, None]]] = {}
    for each in registers():
        for family, models in each.models.items():
            for model in models:
                mine = found.setdefault((each.vendor, family, model), {"core": {}, "package": {}})
                mine[each.per][f"{each.msr:#x}"] = None
    alike: dict[tuple[str, str], list[str]] = {}
    for (vendor, family, model), mine in found.items():
        key = " ".join(mine["core"]), " ".join(mine["package"])
        alike.setdefault(key, []).append(f"{_plain(vendor)}/{family}/{model}")
    return [{"processors": " | ".join(who), "core": core, "package": package} for (core, package), who in alike.items()]


def _tables() -> dict[str, object]:
    """Return what the script may keep and must drop, from the tables that Python keeps to."""
    return {
        "most": LIMIT,
        "boot_options": _case(BOOT_OPTIONS),
        "placed": _case(PLACED_VARIABLES),
        "never": _case(tuple(map(_any_case, NEVER_VARIABLES))),
        "variables": _case(KEPT_VARIABLES),
        "slurm_conf": SLURM_CONFS,
        "slurm_keys": "|".join(SLURM_KEYS),
        "credentials": "|".join(f"*{_any_case(word)}*" for word in _CREDENTIALS),
        "hint": _HINT,
        "secrets": _SED,
        "withheld": WITHHELD,
    }


def _by_folder(patterns: Iterable[str]) -> dict[str, list[str]]:
    """Return the patterns' last components by the folder they are looked for in, so that each folder is visited once."""
    found: dict[str, list[str]] = {}
    for pattern in patterns:
        folder, _, name = pattern.rpartition("/")
        found.setdefault(folder, []).append(name)
    return found


def _look(folder: str, names: Iterable[str]) -> str:
    return " ".join(_word(text) for text in (folder or "/", *names))


def _word(text: str) -> str:
    """Return a text as one word of the script, with the cgroup that is looked at in its place."""
    return '"$cgroup"'.join(quote(part) for part in text.split(CGROUP))


def _case(patterns: tuple[str, ...]) -> str:
    """Return the patterns for a shell's case, without those that others of them cover."""
    wide = [pattern for pattern in patterns if "*" in pattern]
    needed = (each for each in patterns if not any(each != other and fnmatchcase(each, other) for other in wide))
    return "|".join(dict.fromkeys(needed))


def _plain(word: str) -> str:
    """Return a version or a prefix with nothing in it that a shell would read."""
    return re.sub(r"[^\w.+-]", "_", word)
