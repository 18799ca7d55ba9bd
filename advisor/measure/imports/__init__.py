"""Reads what other benchmark programs printed: a module holds the formats of one kind. Pure: bytes in, runs out.

The text is cleaned of what terminals, launchers and schedulers put into it, and cut into runs. Rows are found by their shape,
never by counting lines below a header: launchers and libraries write between them.
"""

import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from importlib import import_module
from itertools import takewhile
from typing import NamedTuple

from advisor.errors import BadInput
from advisor.measure.measurement import ImportedFigure, ImportedRun, Scope, Statistic, Unit

LARGEST = 32 << 20
"""Bytes of a file: a verbose HPL of a large job has a few million."""
LONGEST = 4096
"""Characters of a line that are read, but for matrices."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ENDLESS = re.compile(r"\d{41,}")
"""No program prints such a number, and Python refuses to read it."""
_LABEL = re.compile(
    r"^\s*(?P<label>\[(?:[\w.\-]+@)?\d+(?:,\d+)?\](?:<std(?:out|err)>)?:?|(?!\d+:\d)[\w.\-/]{1,120}:|#?(?:> ?)*>(?=\s|$)) ?"
)
"""Of mpirun --tag-output and its successors, srun --label, clush, grep -H, and of quoted mail."""
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_STAMP = re.compile(
    rf"^\s*\[?(?:\d{{4}}-\d\d-\d\d[T ]|\w{{3}} +\d{{1,2}} )?{_CLOCK}"
    r"\]?:?(?: [\w.\-]+ [\w.\-/]+\[\d+\]:)?(?: |$)"
)
"""Of ts, logger, journalctl, kubectl logs --timestamps and of the logs of CI."""
_TAG = re.compile(r"</?(?:br|p|span|pre|code|div|tr|td|b|i|em|tt|a)\b[^<>]{0,200}/?>", re.IGNORECASE)
_FEWEST = 2
"""Lines with marks of a page: a bracket alone is none."""
_PAGE = re.compile(r"<br|</\w|&(?:nbsp|gt|lt);")


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
    not_said: tuple[str, ...] = ()
    """What its output never says: a run adds what its own does not."""
    is_whole: Callable[[Sequence[Line]], bool] | None = None
    """Whether a whole file is of this format."""


def clean(raw: bytes) -> list[Line]:
    r"""Return the lines of a file without colours, carriage returns and control characters.

    >>> clean(b"\x1b[1mTriad:\x1b[0m  1.0\r\n50 %\r100 %")
    [Line(number=1, text='Triad:  1.0'), Line(number=2, text='100 %')]
    """
    wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")  # what PowerShell's > writes
    text = raw.decode("utf-16" if wide else "utf-8-sig", errors="replace")
    lines = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        shown = _ESCAPES.sub("", line).rstrip("\r").rpartition("\r")[2]
        lines.append(Line(number, _ENDLESS.sub("...", _CONTROL.sub("", shown)).expandtabs().rstrip()))
    return lines


def unlabelled(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines of each label that lines begin with, without it: the lines of each host, rank or file.

    >>> [[line.text for line in each] for each in unlabelled([Line(1, "n1: a"), Line(2, "n2: b"), Line(3, "n1: c")])]
    [['a', 'c'], ['b']]
    """
    groups: dict[str, list[Line]] = {}
    for line in lines:
        found = _LABEL.match(line.text[:LONGEST])
        if found:
            groups.setdefault(found["label"].replace(" ", ""), []).append(Line(line.number, line.text[found.end() :]))
    return list(groups.values())


def unstamped(lines: Sequence[Line]) -> list[Line] | None:
    """Return lines without the time that half of them begin with; None where they do not.

    >>> unstamped([Line(1, "2026-11-23T04:00:00Z # Size"), Line(2, "[04:00:01] 8  1.5")])
    [Line(number=1, text='# Size'), Line(number=2, text='8  1.5')]
    """
    written = [line for line in lines if line.text.strip()]
    stamps = sum(bool(_STAMP.match(line.text[:LONGEST])) for line in written)
    return [Line(line.number, _STAMP.sub("", line.text, count=1)) for line in lines] if 0 < len(written) <= 2 * stamps else None


def unpaged(lines: Sequence[Line]) -> list[Line] | None:
    """Return the text of a page of the web, such as the archive of a mailing list; None where lines are none.

    >>> unpaged([Line(1, "<span>&gt; # Size</span><br>"), Line(2, "&nbsp;8<br>"), Line(3, "<br>")])
    [Line(number=1, text='> # Size'), Line(number=2, text=' 8'), Line(number=3, text='')]
    """
    if sum(bool(_PAGE.search(line.text[:LONGEST])) for line in lines) < _FEWEST:
        return None
    return [Line(line.number, unescape(_TAG.sub("", line.text)).replace("\xa0", " ")) for line in lines]


def leading(text: str) -> list[float]:
    """Return the numbers with which a line begins, up to what is none: a remark, or two columns run together.

    >>> leading(" 2  1000  1.47  1.5 <- good"), leading("two 2")
    ([2.0, 1000.0, 1.47, 1.5], [])
    """
    words = takewhile(_WHOLE_NUMBER.fullmatch, text.split())
    return [float(word) for word in words]


_HEADER = 2
"""Lines of a run after which another line that could begin one does: some programs announce themselves twice."""


def cut(lines: Sequence[Line], formats: Sequence[Format]) -> Iterator[tuple[Format, list[Line]]]:
    """Yield each run's lines with the format that they are of; what stands before the first is nobody's."""
    now: tuple[Format, list[Line]] | None = None
    for line in lines:
        short = line.text[:LONGEST]
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


NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?"
_WHOLE_NUMBER = re.compile(NUMBER)


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
    return next((found[1].strip() for line in lines if (found := wanted.search(line.text[:LONGEST]))), None)


def has(lines: Iterable[Line], pattern: str) -> Line | None:
    """Return the first line that has a pattern."""
    wanted = re.compile(pattern)
    return next((line for line in lines if wanted.search(line.text[:LONGEST])), None)


Place = tuple[int, int] | None
"""NUMA node of the cores and of the memory; for CPU to CPU the two positions."""


def figure(
    what: str, unit: Unit, value: float, scope: Scope, statistic: Statistic = "one", *, size: int | None = None, at: Place = None
) -> ImportedFigure:
    """Return one number of a table."""
    return ImportedFigure(what=what, unit=unit, value=value, scope=scope, statistic=statistic, size=size, at=at)


Known = dict[str, str | int | float]


def known(told: Mapping[str, str | int | float | None]) -> Known:
    """Return those conditions that a file says."""
    return {name: value for name, value in told.items() if value}


def whole(text: str | None) -> int | None:
    """Return a count that a file says; None where it does not."""
    return int(text) if text else None


@cache
def formats() -> tuple[Format, ...]:
    """Return every format of the folder's modules, in the order of their names."""
    modules = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return tuple(sorted((each for module in modules for each in getattr(module, "FORMATS", ())), key=lambda each: each.name))


_COMMAS = re.compile(r"\s\d+,\d+(?=\s|$)")


def _read(format_: Format, lines: Sequence[Line]) -> tuple[ImportedRun, ...]:
    """Return the runs of some lines with all that they do not say; what no program prints is refused, whatever is made of it."""
    try:
        runs = tuple(format_.read(lines))
    except (ArithmeticError, LookupError, ValueError):
        why = f"its rows contain something that {format_.tool} does not print"
        runs = (ImportedRun(format=format_.name, tool=format_.tool, line=lines[0].number, refused=why),)
    commas = next((line for line in lines if len(_COMMAS.findall(line.text[:LONGEST])) > 1), None)
    finished = []
    for run in runs:
        changes: dict[str, object] = {"not_said": tuple(dict.fromkeys((*format_.not_said, *run.not_said)))}
        if run.refused:
            changes["figures"] = ()
            if commas and run.refused.startswith("cut off"):
                why = f"line {commas.number}: its numbers contain commas (decimal or thousands): rerun with LC_ALL=C"
                changes["refused"] = why
        finished.append(run.but(**changes))
    return tuple(finished)


def read_runs(raw: bytes) -> tuple[ImportedRun, ...]:
    """Return every run that a file holds, in its order; refuse a file that is none of a known program.

    A file is read as it is, and without what stands before each of its lines: the first reading with a run to believe counts,
    and where none has one the first with any.
    """
    if len(raw) > LARGEST:
        raise BadInput(f"larger than {LARGEST >> 20} MB, more than any benchmark prints", cure="keep only its results")
    lines = clean(raw)
    for each in formats():
        if each.is_whole and each.is_whole(lines):
            return _read(each, lines)
    first: tuple[ImportedRun, ...] = ()
    readings: tuple[Callable[[list[Line]], list[Line] | None], ...] = (list, unstamped, unpaged)
    for reading in readings:
        bare = reading(lines)
        for texts in ([bare], unlabelled(bare)) if bare is not None else ():
            runs = tuple(run for text in texts for format_, part in cut(text, formats()) for run in _read(format_, part))
            if any(run.refused is None for run in runs):
                return runs
            first = first or runs
    if not first:
        names = ", ".join(each.name for each in formats())
        raise BadInput("not recognised as benchmark output", cure=f"docs/import.md lists the known formats: {names}")
    return first
