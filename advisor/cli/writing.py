"""Writes a folder of files so that none is ever seen half written, and no file is held in memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from advisor.errors import BadValue, CannotWork
from advisor.host.files import PendingFile, begin_file

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
    made: list[PendingFile] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, file in files.items():
            made.append(begin_file(folder / name, program=file.program))
            _fill(made[-1].file, file.lines)
        for each in made:
            each.finish()
    except OSError as error:
        problem = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{folder}: {problem}; name another folder to write into") from error
    finally:
        for each in made:
            each.close()
    return tuple(str(folder / name) for name in files)


def _fill(file: BinaryIO, lines: Iterable[str]) -> None:
    each = iter(lines)
    while some := list(islice(each, _AT_ONCE)):
        file.write(("\n".join(some) + "\n").encode("utf-8", "surrogateescape"))
