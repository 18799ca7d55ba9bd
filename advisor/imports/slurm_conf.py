"""Reads slurm.conf and gres.conf as Slurm does: Include, lines that go on, comments, NodeName=DEFAULT, ranges of names."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from advisor.errors import BadInput
from advisor.model.node_sets import expanded
from advisor.model.slurm_conf import ConfLine, SlurmConf

Opened = Callable[[str], str]
"""Returns the text of a file; raises BadInput where it cannot."""

_PAIR: Final = re.compile(r"([A-Za-z_]+)\s*[-+*/]?=\s*(\"[^\"]*\"|\S+)")
_INCLUDE: Final = re.compile(r"\s*include\s+(\S+)\s*$", re.IGNORECASE)
_SPAN: Final = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_MOST_LINES: Final = 100_000
_DEEPEST: Final = 8
_MOST_NODES: Final = 65_536
"""Names of one list: Slurm itself takes no more (MAX_RANGE)."""


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
        raise BadInput(f"{rest[0][:40]!a} is no KEY=value", place=place, cure="slurmctld stops at such a line too")
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
            yield from _included(include[1].strip('"'), reading, depth)


def _included(name: str, reading: _Reading, depth: int) -> Iterator[tuple[str, str]]:
    path = str(reading.folder / name.replace("%c", reading.settings.get("clustername", "%c")))
    try:
        text = reading.opened(path)
    except BadInput as error:
        reading.unread.append(str(error))
        return
    yield from _rows(path, text, reading, depth + 1)


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
    """Return the names of a line; refuse a list that Slurm would not take either."""
    text, count = line.nodes or "", 1
    for first, last in _SPAN.findall(text):
        count *= max(1, int(last) - int(first) + 1)
    if count > _MOST_NODES or len(text) > 1 << 20:
        raise BadInput(
            f"{text[:60]!a} is more than {_MOST_NODES} nodes", place=line.place, cure="Slurm takes no more in one list"
        )
    try:
        return frozenset(expanded(text))
    except BadInput as error:
        raise BadInput(error.problem, place=line.place, cure=error.cure) from error
