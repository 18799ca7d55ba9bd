"""Reads slurm.conf and gres.conf as Slurm does: Include, lines that go on, comments, NodeName=DEFAULT, ranges of names."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from advisor.errors import BadInput, BadValue
from advisor.machine.node_sets import expanded
from advisor.machine.slurm import COUNTS, ConfLine, SlurmConf

Opened = Callable[[str], str]
"""Returns the text of a file; raises BadInput where it cannot."""

_PAIR: Final = re.compile(r"([A-Za-z0-9_.]+)\s*[-+*/]?=\s*(\"[^\"]*\"|\S+)")
_INCLUDE: Final = re.compile(r"\s*include\s+(\S+)\s*$", re.IGNORECASE)
_COUNT: Final = re.compile(r"\d{1,15}[kK]?", re.ASCII)
_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_SPAN: Final = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_STOPS: Final = "slurmctld stops at such a line too"
_MOST_LINES: Final = 100_000
_DEEPEST: Final = 8
_MOST_NODES: Final = 65_536
"""Names of one list: Slurm itself takes no more in a range (MAX_RANGE)."""


@dataclass
class _Reading:
    """What was read so far."""

    folder: PurePath
    opened: Opened
    lines: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def read_slurm_conf(file: str, opened: Opened) -> SlurmConf:
    """Return what a slurm.conf says with all that it includes, and the gres.conf in the same folder."""
    reading = _Reading(PurePath(file).parent, opened)
    nodes: list[ConfLine] = []
    default: dict[str, str] = {}
    for place, row in _rows(file, opened(file), reading):
        pairs = _pairs(place, row)
        keys = {key.lower(): value for key, value in pairs}
        if "nodename" not in keys:
            reading.settings |= keys
        elif keys["nodename"].upper() == "DEFAULT":
            default |= {key: value for key, value in keys.items() if key != "nodename"}
        else:
            own = tuple(pair for pair in pairs if pair[0].lower() != "nodename")
            nodes.append(ConfLine(place, keys["nodename"], {**default, **keys}, own))
            for key in (*COUNTS, "procs"):  # RealMemory=255G stops slurmctld, which knows K alone
                value = nodes[-1].said.get(key, "0")
                if not _COUNT.fullmatch(value):
                    raise BadInput(f"{key}={value[:40]!a} is no number", place=place, cure=_STOPS)
    return SlurmConf(file, reading.settings, tuple(nodes), _gres(reading), tuple(reading.unread))


def _gres(reading: _Reading) -> tuple[ConfLine, ...] | None:
    """Return the lines of gres.conf; None where there is none."""
    file = str(reading.folder / "gres.conf")
    try:
        text = reading.opened(file)
    except BadInput as error:
        if "no such file" not in str(error).lower():
            reading.unread.append(str(error))
        return None
    lines = []
    for place, row in _rows(file, text, reading):
        pairs = _pairs(place, row)
        keys = {key.lower(): value for key, value in pairs}
        lines.append(ConfLine(place, keys.get("nodename"), keys, tuple(pairs)))
    return tuple(lines)


def _pairs(place: str, row: str) -> list[tuple[str, str]]:
    """Return the keys and values of a line; refuse one that slurmctld would not parse."""
    rest = _PAIR.sub(" ", row).split()
    if rest:
        raise BadInput(f"{rest[0][:40]!a} is no KEY=value", place=place, cure=_STOPS)
    return [(key, value.strip('"')) for key, value in _PAIR.findall(row)]


def _rows(file: str, text: str, reading: _Reading, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file with their places, and those of files that it includes where it does."""
    for number, row in _joined(text):
        reading.lines += 1
        if reading.lines > _MOST_LINES:
            raise BadInput(f"more than {_MOST_LINES} lines with what it includes", file=file, cure="refused as unsafe")
        include = _INCLUDE.match(row)
        if include is None:
            yield f"{PurePath(file).name} line {number}", row
        elif depth >= _DEEPEST:
            raise BadInput(f"files include each other more than {_DEEPEST} deep", file=file, place=f"line {number}")
        else:
            name = include[1].strip('"').replace("%c", reading.settings.get("clustername", "%c"))
            path = str(reading.folder / name)
            try:
                included = reading.opened(path)
            except BadInput as error:
                reading.unread.append(str(error))
            else:
                yield from _rows(path, included, reading, depth + 1)


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, without comments, with what goes on after a backslash; each by its first number."""
    whole, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        row = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        first = first or number
        if row.endswith("\\"):
            whole += row[:-1]
            continue
        if (whole + row).strip():
            yield first, whole + row
        whole, first = "", 0
    if whole.strip():
        yield first, whole


def names_of(line: ConfLine) -> frozenset[str]:
    """Return the names of a line, those of its hosts where NodeHostName gives them; refuse a list that Slurm would not take."""
    text = line.said.get("nodehostname") or line.nodes or ""
    try:
        few = len(text) <= 1 << 20 and _most_names(text) <= _MOST_NODES
        names = frozenset(expanded(text)) if few else None
    except BadValue as error:
        raise BadInput(error.problem, place=line.place, cure=error.cure) from error
    if names is None:
        raise BadInput(f"{text[:60]!a} is more than {_MOST_NODES} nodes", place=line.place, cure="write them in several lines")
    return names


def _most_names(text: str) -> int:
    """Return how many names a list has at most, without making them.

    >>> _most_names("n[1-300,400-700],head"), _most_names("rack[1-4]n[01-16]"), _most_names("a-1-4")
    (602, 64, 1)
    """
    total, product, at = 0, 1, 0
    for match in _BRACKETS.finditer(text):
        between = len(re.findall(r"[,\s]", text[at : match.start()]))
        if between:
            total, product = total + product + between - 1, 1
        product *= sum(_length(part) for part in match[1].split(","))
        at = match.end()
    return total + product + len(re.findall(r"[,\s]", text[at:]))


def _length(part: str) -> int:
    """Return how many numbers a part of brackets has; refuse what Slurm does not read as one, such as 1-9_000."""
    span = _SPAN.fullmatch(part)
    if span is None:
        raise BadValue(f"[{part[:40]}] is no set of nodes", cure="write n[001-400], or n1,n2")
    return max(1, int(span[2] or span[1]) - int(span[1]) + 1)
