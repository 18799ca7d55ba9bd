"""The shell script that takes a capture on a machine without Python."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from shlex import quote

from advisor.errors import BadInput
from advisor.host.files import LIMIT
from advisor.host.offline import SLURM_CONF
from advisor.host.secrets import BOOT_OPTIONS, GONE, KEPT_VARIABLES, NEVER_VARIABLES, PLACED_VARIABLES, SLURM_KEYS

CGROUP = "{cgroup}"
_END = "END-OF-PATTERNS"
_CREDENTIALS = ("password", "passwd", "passphrase", "secret", "token", "jwt", "credential", "api_key", "apikey", "psk", "cookie")


def _any_case(word: str) -> str:
    """Return a pattern of sed and grep for a word in any letters: not every one has a flag for it."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word)


_WORDS = "|".join(_any_case(word) for word in _CREDENTIALS)
_HINT = f"{_WORDS}|{_any_case('authorization')}|{_any_case('bearer')}|eyJ|://[^ /]*@|MUNGE:|PRIVATE KEY"
_SED = "\n".join(
    (
        "/-----BEGIN [A-Z ]*PRIVATE KEY/,/-----END [A-Z ]*PRIVATE KEY/d",
        rf"s#eyJ[A-Za-z0-9_-]{{5,}}\.[A-Za-z0-9_.-]+#{GONE}#g",
        rf"s#([A-Za-z][A-Za-z0-9+.-]*://)[^ /@\"']*@#\1{GONE}@#g",
        rf"s#({_any_case('authorization')}[\"']?[ ]*[=:]).*#\1 {GONE}#g",
        rf"s#({_any_case('bearer')} +)[A-Za-z0-9._+/=-]+#\1{GONE}#g",
        rf"s#MUNGE:[A-Za-z0-9+/=_]+#{GONE}#g",
        rf"s#(({_WORDS})[A-Za-z0-9_]*[\"']?[ ]*[=:][ ]*)(\"[^\"]*\"?|'[^']*'?|[^ ,;&<>]+)#\1{GONE}#g",
    )
)
"""What the script drops of texts: advisor/host/secrets.py in the words of sed."""
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
            raise BadInput("is no pattern of paths", place=ascii(pattern), cure="it begins with / and is one line")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - a shell script, quoted by shlex
    own = tuple(pattern for pattern in asked if CGROUP in pattern)
    return environment.from_string(template).render(
        version=_plain(version),
        patterns=[pattern for pattern in asked if CGROUP not in pattern],
        own=[quote(head) + '"$cgroup"' + quote(tail) for head, _, tail in (pattern.partition(CGROUP) for pattern in own)],
        looks=[_look(folder, names) for folder, names in _by_folder(p for p in asked if CGROUP not in p).items()],
        own_looks=[_own_look(folder, names) for folder, names in _by_folder(own).items()],
        commands=[" ".join(quote(word) for word in argv) for argv in dict.fromkeys(commands)],
        twice=[quote(pattern) for pattern in dict.fromkeys(twice)],
        prefixes="|".join(f"{_plain(prefix)}*" for prefix in prefixes) or "''",
        end=_END,
        **_tables(),
    )


def _tables() -> dict[str, object]:
    """Return what the script may keep and must drop, from the tables that Python keeps to."""
    return {
        "most": LIMIT,
        "boot_options": _case(BOOT_OPTIONS),
        "placed": _case(PLACED_VARIABLES),
        "never": _case(NEVER_VARIABLES),
        "variables": _case(KEPT_VARIABLES),
        "slurm_conf": SLURM_CONF,
        "slurm_keys": "|".join(SLURM_KEYS),
        "hint": _HINT,
        "secrets": _SED,
    }


def _by_folder(patterns: Iterable[str]) -> dict[str, list[str]]:
    """Return the patterns' last components by the folder they are looked for in, so that each folder is visited once."""
    found: dict[str, list[str]] = {}
    for pattern in patterns:
        folder, _, name = pattern.rpartition("/")
        found.setdefault(folder, []).append(name)
    return found


def _look(folder: str, names: Iterable[str]) -> str:
    return " ".join(quote(word) for word in (folder or "/", *names))


def _own_look(folder: str, names: Iterable[str]) -> str:
    head, _, tail = folder.partition(CGROUP)
    return " ".join([quote(head) + '"$cgroup"' + quote(tail), *(quote(name) for name in names)])


def _case(patterns: tuple[str, ...]) -> str:
    """Return the patterns for a shell's case, without those that others of them cover."""
    wide = [pattern for pattern in patterns if "*" in pattern]
    needed = (each for each in patterns if not any(each != other and fnmatchcase(each, other) for other in wide))
    return "|".join(dict.fromkeys(needed))


def _plain(word: str) -> str:
    """Return a version or a prefix with nothing in it that a shell would read."""
    return re.sub(r"[^\w.+-]", "_", word)
