"""Which nodes a fleet has: a folder of captures with its answers, or captures, XMLs and Machine JSONs from elsewhere."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from advisor.errors import BadInput, BadValue
from advisor.host.files import open_here
from advisor.model.fleet import (
    ANSWERS,
    BIOS_SUFFIX,
    CAPTURE_SUFFIX,
    KEPT,
    MEASURED_SUFFIX,
    PAIRS,
    Answer,
    Odd,
    Outcome,
    Silent,
    answers_in,
)

INDEX: Final = "fleet-index.zst"
_SUFFIXES: Final = (CAPTURE_SUFFIX, ".tgz", ".tar", ".tar.xz", ".tar.bz2", ".xml", ".json")
_OWN: Final = (ANSWERS, INDEX, PAIRS)
_BESIDE: Final = (MEASURED_SUFFIX, BIOS_SUFFIX)
"""What stands beside a node's capture, and is no node."""
_LARGEST: Final = 256 << 20
"""Bytes of answers.jsonl: a hundred thousand nodes, asked ten times."""


@dataclass(frozen=True)
class Entry:
    """A node, and the file that tells of it."""

    node: str
    file: Path
    answer: Answer | None = None
    measured: Path | None = None
    bios: Path | None = None


@dataclass(frozen=True)
class Asked:
    """Every node of a fleet: those that left a file, those that did not, and what is odd about the list itself."""

    entries: tuple[Entry, ...]
    silent: tuple[Silent, ...] = ()
    odd: tuple[Odd, ...] = ()
    folder: Path | None = None
    """Where the index may be kept; None of files that are named one by one."""


def asked(places: Sequence[Path]) -> Asked:
    """Return the nodes of a fleet's folder, or of files."""
    if not places:
        raise BadValue("no fleet is named", cure="give a folder of captures, or captures: *.tar.gz")
    if len(places) == 1 and places[0].is_dir():
        folder = places[0]
        return _answered(folder) if (folder / ANSWERS).is_file() else _found(_files(folder), folder)
    for place in places:
        if not place.exists():
            raise BadInput("no such file or directory", file=str(place), cure="give a folder of captures, or captures: *.tar.gz")
    named = (place for place in places if len(places) == 1 or not place.name.endswith(_BESIDE))
    return _found([file for place in named for file in (_files(place) if place.is_dir() else [place])], None)


def _files(folder: Path) -> list[Path]:
    try:
        names = sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIXES) and not path.name.startswith("."))
    except OSError as error:
        raise BadInput(
            (error.strerror or "cannot be read").lower(), file=str(folder), cure="give a folder of captures"
        ) from error
    found = [path for path in names if path.name not in _OWN and not path.name.endswith(_BESIDE)]
    if not found:
        raise BadInput("holds no capture", file=str(folder), cure="put a capture of each node there: n001.tar.gz")
    return found


def _found(files: Sequence[Path], folder: Path | None) -> Asked:
    """Return files as nodes; two of one name are told apart by their folders."""
    names: dict[str, Entry] = {}
    for file in files:
        name = base = node_name(file)
        number = 2
        while name in names:
            name, number = f"{base}.{number}", number + 1
        names[name] = Entry(name, file, None, *_beside(file.parent, base))
    return Asked(tuple(names.values()), folder=folder)


def node_name(file: Path) -> str:
    """Return what a node is called whose file has this name.

    >>> node_name(Path("a/n001.tar.gz")), node_name(Path("rome (2).xml"))
    ('n001', 'rome_2')
    """
    name = next((file.name.removesuffix(suffix) for suffix in _SUFFIXES if file.name.endswith(suffix)), file.name)
    return re.sub(r"[^A-Za-z0-9_.:+-]+", "_", name).strip("_.:+-") or "node"


def _beside(folder: Path, node: str) -> tuple[Path | None, ...]:
    """Return what was measured on a node, and its BIOS attributes, where they are there."""
    return tuple(file if (file := folder / f"{node}{suffix}").is_file() else None for suffix in _BESIDE)


def _answered(folder: Path) -> Asked:
    """Return the nodes that were asked; a capture of which no answer tells was put there by hand, and counts."""
    with open_here(folder / ANSWERS) as opened:
        size = os.fstat(opened.fileno()).st_size  # room is taken for all that is asked for
        told = answers_in(opened.read(min(size, _LARGEST)) or b"")
    entries: list[Entry] = []
    silent: list[Silent] = []
    for answer in told.last.values():
        file = folder / (answer.archive or f"{answer.node}{CAPTURE_SUFFIX}")
        if answer.outcome in KEPT and _is_inside(answer.archive):
            there = file.is_file()
            if there:
                entries.append(Entry(answer.node, file, answer, *_beside(folder, answer.node)))
            else:
                silent.append(Silent(node=answer.node, why="its capture is gone"))
        else:
            silent.append(Silent(node=answer.node, why=_why(answer)))
    named = {entry.file.name for entry in entries} | {f"{node}{CAPTURE_SUFFIX}" for node in told.last}
    more = [file for file in _more(folder) if file.name not in named]
    odd = [Odd(what="damaged answers", node="", why=f"{ANSWERS}: line {line} cannot be read") for line in told.damaged[:10]]
    return Asked((*entries, *_found(more, folder).entries), tuple(silent), tuple(odd), folder)


def _more(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.iterdir() if path.name.endswith(CAPTURE_SUFFIX) and not path.name.startswith("."))


def _is_inside(name: str | None) -> bool:
    return name is None or (Path(name).name == name and not name.startswith("."))


def _why(answer: Answer) -> str:
    """Return why a node did not answer: so few words that many fold into one."""
    return answer.outcome.value if answer.outcome is not Outcome.FAILED or not answer.why else f"failed: {answer.why[:80]}"


def files_of(entries: Iterable[Entry]) -> dict[str, Path]:
    """Return the file of each node."""
    return {entry.node: entry.file for entry in entries}
