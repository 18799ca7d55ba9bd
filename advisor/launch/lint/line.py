"""A launch line read by the tables: which launcher, which version, which options, which command."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from advisor.errors import BadInput, BadValue
from advisor.launch.launcher import Dialect
from advisor.launch.lint.command_line import Binder, Words, binders, started_by, take_apart
from advisor.launch.mpirun import MAIN, Release
from advisor.launch.registry import find, launchers, of_lines
from advisor.model.hardware.operating_system import Tool

_PAIRS = frozenset({"-genv", "-env"})


@dataclass(frozen=True)
class Said:
    """One option."""

    name: str
    """As the table calls it; "" of one that is not in it."""
    values: tuple[str, ...]
    written: tuple[str, ...]
    known: bool = True


@dataclass(frozen=True)
class Segment:
    """What starts one program: most lines have one, ``:`` starts another."""

    options: tuple[Said, ...]
    command: tuple[str, ...]

    def value(self, *names: str) -> str | None:
        """Return the last value given to an option; "" for one without a value."""
        found = [said for said in self.options if said.name in names]
        return (found[-1].values[-1] if found[-1].values else "") if found else None

    def has(self, *names: str) -> bool:
        """Whether an option is there."""
        return any(said.name in names for said in self.options)


@dataclass(frozen=True)
class Line:
    """A line as it was understood."""

    family: str
    version: str | None
    release: Release | None
    """The numbers of the version; None where it is not known."""
    known_from: str
    words: Words
    segments: tuple[Segment, ...]
    stray: tuple[str, ...] = ()
    """Values that a blank cut off their ``-x NAME=``."""
    inner: tuple[Binder, ...] = field(default=())
    """numactl and taskset between the launcher and the program."""
    verb: tuple[str, ...] = ()
    """What stands between the launcher's word and its options: run, of flux run."""

    @property
    def first(self) -> Segment:
        """The first segment, on which predictions are made."""
        return self.segments[0]

    @property
    def options(self) -> list[Said]:
        """The options of all segments."""
        return [said for segment in self.segments for said in segment.options]


def parse(arguments: Sequence[str], version: str | None = None, tools: Sequence[Tool] = ()) -> Line:
    """Return what a line says; raise BadInput where it starts no launcher or the version is none."""
    words = take_apart(arguments)
    family, shown, known_from = _launcher(words, version, tools)
    stray: list[str] = []
    verb = _verb(words, of_lines()[family])
    segments = [_segment(part, family, stray) for part in _segments(words.rest[len(verb) :], family)]
    release = release_of(shown)
    inner = tuple(binders(segments[0].command))
    return Line(family, shown, release, known_from, words, tuple(segments), tuple(stray), inner, verb)


def _verb(words: Words, spoken: Dialect) -> tuple[str, ...]:
    """Return the word between the launcher's and the options; raise BadInput of a line that lacks the one it needs."""
    if not spoken.verbs or (words.rest[:1] and words.rest[0] in spoken.verbs):
        return words.rest[: bool(spoken.verbs)]
    written = " ".join((words.launcher, *words.rest[:1]))[:60]
    raise BadInput(f"{written}: its lines are not read here", cure=f"it reads {words.launcher} {' or '.join(spoken.verbs)}")


def _segments(words: Sequence[str], family: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":" and parts[-1]:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts if len(parts) == 1 or parts[-1] or not of_lines()[family].parted else parts[:-1]


def _segment(words: Sequence[str], family: str, stray: list[str]) -> Segment:
    options: list[Said] = []
    spoken = of_lines()[family]
    table = spoken.options
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at] == "--":
            at += 1
            break
        name, value = _named(words[at], spoken)
        known = canonical(name, spoken)
        if known is None:
            options.append(Said("", (), (words[at],), known=False))
            at += 1
            continue
        given = () if value is None else (value,)
        count = max(0, table[known][0] - len(given))
        count -= known in _PAIRS and "=" in (*given, *words[at + 1 : at + 2], "")[0]  # -genv NAME=VALUE is as good as NAME VALUE
        values = (*given, *words[at + 1 : at + 1 + count])
        if len(values) < len(given) + count:
            raise BadInput(f"{words[at][:40]} is the last word", cure=f"it wants {count} more")
        end = at + 1 + count
        if known == "-x" and values[0].endswith("=") and _cut_off(words, end):
            stray.append(words[end])
            values, end = (values[0] + words[end],), end + 1
        options.append(Said(known, values, tuple(words[at:end])))
        at = end
    if spoken.settle:
        options, at = spoken.settle(options, words, at)
    return Segment(tuple(options), tuple(words[at:]))


def _cut_off(words: Sequence[str], at: int) -> bool:
    """Whether the word after ``NAME=`` is its value: another option comes after it."""
    return at + 1 < len(words) and not words[at].startswith("-") and words[at + 1].startswith("-")


def release_of(version: str | None) -> Release | None:
    """Return the numbers of a version, None where it has none."""
    if version in ("main", "master"):
        return MAIN
    match = re.match(r"v?(\d{1,4})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?", version or "", re.ASCII)
    return (int(match[1]), int(match[2] or 0), int(match[3] or 0)) if match else None


def canonical(name: str, spoken: Dialect) -> str | None:
    """Return an option's name as the launcher's table has it, None of one that is not in it."""
    known = (spoken.aliases.get(each, each) for each in spoken.spellings(name))
    return next((each for each in known if each in spoken.options), None)


def _named(word: str, spoken: Dialect) -> tuple[str, str | None]:
    """Return an option's name, and its value where both are one word."""
    if spoken.glued and (match := spoken.glued.fullmatch(word)) and not word.startswith("--"):
        return match[1], match[3]
    name, equals, value = word.partition("=")
    return (name, value) if equals and (word.startswith("--") or spoken.equals) else (word, None)


def _launcher(words: Words, version: str | None, tools: Sequence[Tool]) -> tuple[str, str | None, str]:
    """Return the launcher, its version and how they are known: what was said, the machine, the line's own words."""
    named, number = _said(version)
    owners = started_by(words.launcher)
    if named and named not in owners:
        raise BadInput(f"{words.launcher} is not started by {(version or '')[:40]!a}", cure="name the launcher of the line")
    words = replace(words, rest=_before_program(words.rest, owners))
    have = frozenset(tool.name for tool in tools)
    name = named or max(owners, key=lambda each: of_lines()[each].claim(words, have))
    if which := of_lines()[name].which:
        return which(words, number, named, tools)
    if number:
        return name, number, "--launcher-version"
    own = {query.tool for query in launchers()[name].VERSIONS}
    tool = next((tool for tool in tools if tool.name in own), None)
    return name, tool.version if tool else None, "this machine" if tool and tool.version else f"the word {words.launcher}"


def _said(version: str | None) -> tuple[str | None, str | None]:
    """Return the launcher and the number that --launcher-version names."""
    if not version:
        return None, None
    every = {name for each in launchers().values() if each.LINES for name in (each.NAME, *each.ALIASES)}
    known = sorted((name for name in every if re.fullmatch(r"[a-z]+\d?", name, re.ASCII)), key=lambda name: (-len(name), name))
    match = re.fullmatch(
        rf"(?:({'|'.join(known)})[ @:=-]*)?(?:v?(\d{{1,4}}(?:\.\d{{1,3}})?(?:\.\d{{1,3}})?\S{{0,20}})|(main|master))?",
        version.strip().lower(),
        re.ASCII,
    )
    if not match:
        raise BadInput(
            f"{version[:40]!a} is not a version of a launcher",
            cure=f"expected such as 5.0.6 or mpich-4.2; known: {', '.join(sorted(known))}",
        )
    number = match[3] or match[2]
    queries = (query for each in launchers().values() for query in each.VERSIONS)
    means = next((query.means for query in queries if query.tool == match[1] and query.means), None)
    try:
        number = means(number) if means and number else number
    except BadValue as error:
        raise BadInput(f"{version[:40]!a} is not a version of a launcher", cure=error.cure) from error
    return (find(match[1]).NAME if match[1] else None), number


def _before_program(words: Sequence[str], owners: Sequence[str]) -> tuple[str, ...]:
    """Return the options before the program: what stands behind it is the program's own, and shows no launcher."""
    spoken = [of_lines()[name] for name in owners]
    at = int(any(each.verbs and words[:1] and words[0] in each.verbs for each in spoken))
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, equals, _ = words[at].partition("=")
        wants = next((each.options[known][0] for each in spoken if (known := canonical(name, each))), None)
        at += 1
        for _ in range(0 if equals else 1 if wants is None else wants):
            at += at < len(words) and (wants is not None or not words[at].startswith("-"))
    return tuple(words[:at])
