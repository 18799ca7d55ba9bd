"""The folder of a fleet as it grows: which nodes were asked, what each answered, and where its capture lies."""

import os
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from advisor.errors import BadInput, BadValue, CannotWork, did_you_mean
from advisor.host.files import open_here, write_file
from advisor.model.fleet import ANSWERS, CAPTURE_SUFFIX, KEPT, Answer, Outcome, answers_in

_LARGEST: Final = 1 << 30
_AGE: Final = re.compile(r"(\d{1,6})\s*(min|m|h|d|w)", re.ASCII)
_UNITS: Final = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
FAILED: Final = "failed"
"""Every outcome but an answer, for --again."""


def age(text: str) -> timedelta:
    """Return how old a text says: 30m, 12h, 1d, 2w."""
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise BadValue(f"{text[:40]!a} is not an age", cure="write such as 30m, 12h, 1d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


class AnswersFolder:
    """A fleet's folder: what it holds, and how an answer is put into it."""

    def __init__(self, folder: Path, *, must_exist: bool = False) -> None:
        self.folder, self.file = folder, folder / ANSWERS
        if must_exist and not self.file.is_file():
            raise BadInput(f"has no {ANSWERS}: no fleet was captured there", file=str(folder), cure="name nodes with -w")
        self.last = answers_in(self._read()).last

    def _read(self) -> bytes:
        try:
            with open_here(self.file) as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(min(size, _LARGEST)) or b""  # room for all that is asked for is taken beforehand
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise BadInput((error.strerror or "cannot be read").lower(), file=str(self.file)) from error
        if size > _LARGEST:
            raise BadInput(f"is larger than {_LARGEST >> 30} GiB", file=str(self.file), cure="name another folder with -o")
        return data

    def begin(self) -> None:
        """Make the folder ready to be written into: an unfinished line of a run that was killed gets its end."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":
                    os.write(handle, b"\n")
            finally:
                os.close(handle)
        except OSError as error:
            raise CannotWork(
                f"{self.file}: {(error.strerror or 'cannot be written').lower()}; name another folder with -o"
            ) from error

    def add(self, answer: Answer, archive: bytes | None = None) -> None:
        """Keep an answer: first its capture, whole and on disk, then the line that says so."""
        if archive is not None:
            write_file(self.folder / f"{answer.node}{CAPTURE_SUFFIX}", archive, private=True, durable=True)
        try:
            handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(handle, answer.line())  # one write: lines of two runs at once stay lines
            finally:
                os.close(handle)
        except OSError as error:
            raise CannotWork(
                f"{self.file}: {(error.strerror or 'cannot be written').lower()}; the captures so far are kept"
            ) from error
        self.last[answer.node] = answer

    def is_kept(self, node: str) -> bool:
        """Return whether a node's capture is there as its last answer says."""
        answer = self.last.get(node)
        if answer is None or answer.outcome not in KEPT or answer.archive is None or "/" in answer.archive:
            return False
        try:
            with open_here(self.folder / answer.archive) as file:
                return sha256(file.read() or b"").hexdigest() == answer.sha256
        except OSError:
            return False

    def is_stale(self, node: str, oldest: timedelta | None) -> bool:
        """Return whether a node's answer is older than wished; one whose time cannot be read is."""
        if oldest is None:
            return False
        try:
            at = datetime.fromisoformat(self.last[node].at)
        except ValueError:
            return True
        return datetime.now(UTC) - at.astimezone(UTC) > oldest

    def to_ask(self, nodes: Sequence[str], fresh_after: timedelta | None, again: str | None) -> tuple[str, ...]:
        """Return which nodes are to be asked now: those that never answered, or too long ago, or those that are named again."""
        if again is not None:
            return tuple(node for node in nodes if node in self.last and is_one_of(self.last[node].outcome, again))
        return tuple(node for node in nodes if not self.is_kept(node) or self.is_stale(node, fresh_after))


def is_one_of(outcome: Outcome, wished: str) -> bool:
    """Return whether an outcome is the one that --again names: failed is each that left no capture."""
    return outcome not in KEPT if wished == FAILED else outcome == wished


def checked_again(again: str | None) -> str | None:
    """Return the outcome that --again names; refuse a word that is none."""
    words = [str(each) for each in Outcome]
    if again is not None and again not in words:
        cure = did_you_mean(again, words, f"there are {', '.join(words)}")
        raise BadValue(f"--again {again[:40]!a} is no outcome", cure=cure)
    return again


def grouped(answers: Iterable[Answer]) -> dict[Outcome, list[str]]:
    """Return the nodes of each outcome, the most frequent first."""
    found: dict[Outcome, list[str]] = {}
    for each in answers:
        found.setdefault(each.outcome, []).append(each.node)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))
