"""Writes a folder of files so that none is ever seen half written, and no file is held in memory."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from advisor.errors import BadValue, CannotWork

_AT_ONCE = 1 << 14
"""Lines that are written together."""


@dataclass(frozen=True)
class File:
    """The lines of a file, without line ends, and whether it is a program."""

    lines: Iterable[str]
    program: bool = False


def checked(folder: Path) -> Path:
    """Return the whole path of a folder to write into; refuse one that launchers would misread."""
    place = folder.absolute()
    if any(letter in str(place) for letter in ":,") or not str(place).isprintable():
        problem = f"{place}: mpirun takes : and , in a file's name for its own"
        raise BadValue(problem, cure="name another folder")
    return place


def write_folder(folder: Path, files: Mapping[str, File]) -> tuple[str, ...]:
    """Write files into a folder, which is made where it is not there; return their paths."""
    umask = os.umask(0)
    os.umask(umask)
    made: list[tuple[Path, Path]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, file in files.items():
            made.append((_temporary(folder), folder / name))
            _fill(made[-1][0], file.lines)
            made[-1][0].chmod((0o777 if file.program else 0o666) & ~umask)
        while made:
            made[0][0].replace(made[0][1])
            made.pop(0)
    except OSError as error:
        problem = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{folder}: {problem}; name another folder to write into") from error
    finally:
        for left, _ in made:
            left.unlink(missing_ok=True)
    return tuple(str(folder / name) for name in files)


def _temporary(folder: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=folder, prefix=".advisor.")
    os.close(handle)
    return Path(name)


def _fill(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        each = iter(lines)
        while some := list(islice(each, _AT_ONCE)):
            file.write("\n".join(some) + "\n")
