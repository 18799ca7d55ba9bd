"""A file of JSON lines, each on disk before what follows is done, so that whoever is interrupted goes on after any end."""

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from advisor.errors import BadInput, CannotWork
from advisor.machine.hosts.trust import Use, open_trusted, trusted
from advisor.machine.secrecy import screened

FILE: Final = "journal.jsonl"
_LARGEST: Final = 64 << 20

Line = dict[str, Any]


@dataclass
class JournalFile:
    """The file, while it is written to."""

    path: Path
    _file: BinaryIO | None

    def write(self, line: Line) -> None:
        """Write a line, without credentials; it is on disk when this returns."""
        if self._file is None:
            return
        try:
            self._file.write((json.dumps(screened(line)) + "\n").encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise CannotWork(f"{self.path}: {_why(error)}; make room, and resume") from error

    def cut_after(self, size: int) -> None:
        """Go on after so many bytes."""
        if self._file is not None:
            self._file.truncate(size)
            self._file.seek(size)

    def lock(self) -> None:
        """Keep others from writing to it until it is closed."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True)
class Kind:
    """Of what a journal is one, in the words of its messages."""

    what: str
    """a race, an experiment."""
    schema: str
    cure: str
    other: str
    """How another folder is named: another folder with -o."""
    alone: bool = False
    """Whether one at a time works on it: a lock is held while it is written to."""

    def begin(self, folder: Path, head: Line, *, mode: int = 0o777) -> tuple[JournalFile, Line]:
        """Return a new journal with its first line; refuse a folder that holds one already."""
        path = folder / FILE
        trusted(path, Use.RUNS)
        if path.exists():
            raise CannotWork(f"{folder} holds {self.what}; go on with it by --resume {folder}, or name {self.other}")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=mode)
            file = self._open(path, "xb")
        except OSError as error:
            raise CannotWork(f"{folder}: {_why(error)}; name {self.other}") from error
        first = screened({"schema": self.schema, **head})
        file.write(first)
        return file, first

    def read(self, folder: Path, use: Use = Use.NAMED) -> tuple[list[Line], int]:
        """Return the whole lines, the first of which is the head, and how many bytes they have; one cut off is not among them."""
        path = folder / FILE
        try:
            with open_trusted(path, use) as file:
                data = file.read(_LARGEST + 1) or b""
        except OSError as error:
            raise BadInput(f"there is no {self._word} here: {_why(error, '')}", file=str(path), cure=self.cure) from error
        if len(data) > _LARGEST:
            raise BadInput(f"larger than any {self._word}", file=str(path), cure="refused as unsafe")
        size = data.rfind(b"\n") + 1
        lines = list(self._lines(data[:size], str(path)))
        if not lines or lines[0].get("schema") != self.schema:
            raise BadInput(f"is not the journal of {self.what}", file=str(path), place="line 1", cure=self.cure)
        return lines, size

    def go_on(self, folder: Path, size: int, *, cure: str = "") -> JournalFile:
        """Return a journal to be gone on with after so many bytes."""
        path = folder / FILE
        try:
            file = self._open(path, "r+b")
            file.cut_after(size)
        except OSError as error:
            raise CannotWork(f"{path}: {_why(error)}{cure}") from error
        return file

    def _open(self, path: Path, mode: str) -> JournalFile:
        file = JournalFile(path, cast("BinaryIO", path.open(mode)))
        try:
            if self.alone:
                file.lock()
        except BlockingIOError as error:
            file.close()
            raise CannotWork(f"{path.parent}: somebody works on it now; end that one first") from error
        return file

    @property
    def _word(self) -> str:
        return self.what.split()[-1]

    def _lines(self, data: bytes, name: str) -> Iterator[Line]:
        for number, line in enumerate(data.splitlines(), 1):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput("is not JSON", file=name, place=f"line {number}", cure=self.cure) from error
            if not isinstance(found, dict):
                raise BadInput("is not an object", file=name, place=f"line {number}", cure=self.cure)
            yield screened(found)


def _why(error: OSError, otherwise: str = "cannot be written") -> str:
    return (error.strerror or otherwise).lower()
