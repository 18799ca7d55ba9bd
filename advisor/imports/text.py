"""The text of a benchmark's output, cleaned of what terminals, launchers and schedulers put into it, and cut into runs.

Rows are found by their shape, never by counting lines below a header: launchers and libraries write between them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from advisor.model.imported import ImportedRun

LARGEST: Final = 32 << 20
"""Bytes of a file: a verbose HPL of a large job has a few million."""
_LONGEST: Final = 4096
"""Characters of a line that are read, but for matrices."""
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ENDLESS: Final = re.compile(r"\d{41,}")
"""No program prints such a number, and Python refuses to read it."""
_LABEL: Final = re.compile(r"^\s*(?P<label>\[\d+(?:,\d+)?\](?:<std(?:out|err)>)?:?|[\w.\-/]{1,120}:(?!\d*:)|>) ?")
"""Of mpirun --tag-output, srun --label, clush, grep -H and of quoted mail."""
_MOSTLY: Final = 0.9


class Line(NamedTuple):
    """One line, with its number in the file."""

    number: int
    text: str


@dataclass(frozen=True)
class Format:
    """One program's output: how it is recognised, and what is read from it."""

    name: str
    tool: str
    seen: str
    """Versions whose output, or whose printing code, the reader was written against."""
    starts: re.Pattern[str] | None
    """A line that only this program prints: what follows is its. None of a format that is known by the whole file."""
    read: Callable[[Sequence[Line]], Iterable[ImportedRun]]
    begins: re.Pattern[str] | None = None
    """A line at which a new run begins; where None, each that starts one."""
    not_said: tuple[str, ...] = field(default=())
    """What its output never says."""
    is_whole: Callable[[Sequence[Line]], bool] | None = None
    """Whether a whole file is of this format."""


def clean(raw: bytes) -> list[Line]:
    r"""Return the lines of a file without colours, carriage returns and control characters.

    >>> clean(b"\x1b[1mTriad:\x1b[0m  1.0\r\n50 %\r100 %")
    [Line(number=1, text='Triad:  1.0'), Line(number=2, text='100 %')]
    """
    wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")  # what PowerShell's > writes
    text = raw.decode("utf-16" if wide else "utf-8", errors="replace")
    lines = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        shown = _ESCAPES.sub("", line).rstrip("\r").rpartition("\r")[2]
        lines.append(Line(number, _ENDLESS.sub("...", _CONTROL.sub("", shown)).expandtabs().rstrip()))
    return lines


def unlabelled(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines of each label that nearly all lines begin with, without it: the lines of each host, rank or file.

    >>> [[line.text for line in each] for each in unlabelled([Line(1, "n1: a"), Line(2, "n2: b"), Line(3, "n1: c")])]
    [['a', 'c'], ['b']]
    """
    written = [line for line in lines if line.text.strip()]
    labelled = [(found, line) for line in written if (found := _LABEL.match(line.text))]
    if not written or len(labelled) < _MOSTLY * len(written):
        return []
    groups: dict[str, list[Line]] = {}
    for found, line in labelled:
        groups.setdefault(found["label"], []).append(Line(line.number, line.text[found.end() :]))
    return list(groups.values())


_HEADER: Final = 2
"""Lines of a run after which another line that could begin one does: some programs announce themselves twice."""


def cut(lines: Sequence[Line], formats: Sequence[Format]) -> Iterator[tuple[Format, list[Line]]]:
    """Yield each run's lines with the format that they are of; what stands before the first is nobody's."""
    now: tuple[Format, list[Line]] | None = None
    for line in lines:
        short = line.text[:_LONGEST]
        found = next((each for each in formats if each.starts and each.starts.search(short)), None)
        begins = (found.begins or found.starts) if found else None
        again = begins is not None and now is not None and len(now[1]) > _HEADER and begins.search(short)
        if found is not None and (now is None or found is not now[0] or again):
            if now is not None:
                yield now
            now = (found, [])
        if now is not None:
            now[1].append(line)
    if now is not None:
        yield now


NUMBER: Final = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?"
_WHOLE_NUMBER: Final = re.compile(NUMBER)


def numbers(text: str) -> list[float] | None:
    """Return the numbers of a line that holds nothing else; None of any other.

    >>> numbers("  8  1.50 2e3"), numbers("8 Pass"), numbers("")
    ([8.0, 1.5, 2000.0], None, None)
    """
    words = text.split()
    return [float(word) for word in words] if words and all(_WHOLE_NUMBER.fullmatch(word) for word in words) else None


def value_after(lines: Iterable[Line], pattern: str) -> str | None:
    """Return what the first group of a pattern holds in the first line that has it."""
    wanted = re.compile(pattern)
    return next((found[1].strip() for line in lines if (found := wanted.search(line.text[:_LONGEST]))), None)


def has(lines: Iterable[Line], pattern: str) -> Line | None:
    """Return the first line that has a pattern."""
    wanted = re.compile(pattern)
    return next((line for line in lines if wanted.search(line.text[:_LONGEST])), None)
