"""Reads what each kernel says of itself in its header comment (kernels/README.md) and with --list; names what is missing."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import ValidationError

from advisor.errors import BadInput, BadValue, CannotWork, did_you_mean
from advisor.measure.build import RANKS, Starter
from advisor.measure.measurement import UNIT, KernelPart, KernelSheet, Variant
from advisor.paths import kernels

PARTS: Final[tuple[KernelPart, ...]] = get_args(KernelPart)
_COLUMNS: Final = ("variant", "unit", "arrays", "read", "written", "flops", "iteration")
_AMOUNTS: Final = ("arrays", "read", "written", "flops")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII | re.IGNORECASE)
_AMOUNT: Final = re.compile(r"\d{1,9}|-", re.ASCII)
_FIRST: Final = re.compile(r"/\* ([a-z][a-z0-9_]*): (\S.*)")
_LARGEST: Final = 1 << 20


@dataclass(frozen=True)
class Kernels:
    """The kernels of a folder by name, and what is wrong with the headers of others."""

    sheets: dict[str, KernelSheet]
    wrong: dict[str, BadInput]

    def sheet(self, name: str) -> KernelSheet:
        """Return what a kernel says of itself; refuse one whose header is wrong, and one that is not there."""
        if name in self.wrong:
            raise self.wrong[name]
        if name not in self.sheets:
            raise BadValue(f"there is no kernel {name[:40]}", cure=did_you_mean(name, self.sheets, "advisor measure --list"))
        return self.sheets[name]


@lru_cache(maxsize=4)
def read_kernels(folder: Path | None = None) -> Kernels:
    """Return what the kernels of a folder say of themselves; of advisor's own where none is named."""
    sheets: dict[str, KernelSheet] = {}
    wrong: dict[str, BadInput] = {}
    for file in sorted((folder or kernels()).glob("*.c")):
        try:
            sheets[file.stem] = read_header(file)
        except BadInput as error:
            wrong[file.stem] = error
    return Kernels(sheets, wrong)


def read_header(file: Path) -> KernelSheet:
    """Return what a kernel's header comment says; refuse one that leaves something out."""
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(_LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot be read: {error}", file=str(file)) from error
    return _Header(file, text).sheet()


def _is_row(line: str) -> bool:
    """Whether a line belongs to the table: text has one blank before it, rows more."""
    return bool(re.match(r"(?:  |\t| \t)\s*\S", line))


class _Header:
    """The lines of a header comment, and the place of each mistake in them."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.mpi = file, RANKS in text
        comment = takewhile(lambda line: "*/" not in line, text.splitlines())
        self.lines = [line.removeprefix(" *").rstrip() for line in comment]

    def sheet(self) -> KernelSheet:
        """Return all that the comment says."""
        name, summary = self._first()
        arguments, parts = self._arguments(), self._parts()
        variants = tuple(self._variants())
        return KernelSheet(name=name, summary=summary, arguments=arguments, parts=parts, mpi=self.mpi, variants=variants)

    def _first(self) -> tuple[str, str]:
        match = _FIRST.fullmatch(self.lines[0]) if self.lines else None
        if match is None or match[1] != self.file.stem:
            raise self._wrong(1, f"the first line is not '/* {self.file.stem}: what it measures'")
        return match[1], match[2]

    def _list(self, key: str) -> tuple[str, ...]:
        """Return the entries of ``key: one, two``, which may go on in indented lines."""
        at = self._line_of(key)
        if at is None:
            return ()
        more = takewhile(lambda line: line.startswith("   ") and tuple(line.split()) != _COLUMNS, self.lines[at + 1 :])
        text = " ".join([self.lines[at].partition(":")[2], *more])
        return tuple(" ".join(entry.split()) for entry in text.split(",") if entry.strip())

    def _arguments(self) -> tuple[str, ...]:
        at, found = self._line_of("arguments"), self._list("arguments")
        if not found:
            raise self._wrong((at or 0) + 1, "no line 'arguments: ', those of its own, or 'arguments: none'")
        wrong = next((each for each in found if found != ("none",) and not each.startswith("--")), None)
        if wrong is not None:
            raise self._wrong((at or 0) + 1, f"arguments: {wrong[:40]} does not begin with --")
        return () if found == ("none",) else found

    def _parts(self) -> tuple[KernelPart, ...]:
        found = " ".join(self._list("parts")).split()
        at = (self._line_of("parts") or 0) + 1
        wrong = next((part for part in found if part not in PARTS), None)
        if wrong is not None:
            raise self._wrong(at, f"parts: {wrong[:40]} is none of {', '.join(PARTS)}")
        if len(found) != len(set(found)):
            raise self._wrong(at, f"parts: {next(part for part in found if found.count(part) > 1)} stands twice")
        if not found and not self.mpi:
            raise self._wrong(at, f"no line 'parts: ', on which of {', '.join(PARTS)} it can run")
        return tuple(part for part in PARTS if part in found)

    def _line_of(self, key: str) -> int | None:
        return next((at for at, line in enumerate(self.lines) if line.startswith(f" {key}:")), None)

    def _variants(self) -> Iterator[Variant]:
        head = next((at for at, line in enumerate(self.lines) if tuple(line.split()) == _COLUMNS), None)
        if head is None:
            raise self._wrong(1, f"no table of what it can measure, with the columns '{' '.join(_COLUMNS)}'")
        rows = list(takewhile(_is_row, self.lines[head + 1 :]))
        if not rows:
            raise self._wrong(head + 1, "no variant stands in the table below this line")
        seen: set[str] = set()
        for at, row in enumerate(rows, head + 2):
            variant = self._variant(at, row.split(maxsplit=len(_COLUMNS) - 1))
            if variant.name in seen:
                raise self._wrong(at, f"{variant.name} stands twice in the table")
            seen.add(variant.name)
            yield variant

    def _variant(self, at: int, words: Sequence[str]) -> Variant:
        name = words[0]
        if not _NAME.fullmatch(name):
            raise self._wrong(at, f"{name[:40]!a} is no name of a variant: letters, digits, - and _ such as triad-nt")
        if len(words) < 2 or re.fullmatch(UNIT, words[1]) is None:
            lacks = "has no unit" if len(words) < 2 or words[1].isdecimal() else f"has the unit {words[1][:20]}"
            raise self._wrong(at, f"{name[:40]} {lacks}: it is seconds, hertz, or something a second such as bytes/s")
        amounts = dict(zip(_AMOUNTS, words[2:6], strict=False))
        many = len(list(takewhile(_AMOUNT.fullmatch, amounts.values())))
        if many < len(_AMOUNTS):
            said = f", then {words[2 + many][:20]!a}" if len(words) > 2 + many else ""
            raise self._wrong(at, f"{name[:40]} has {many} of the numbers {', '.join(_AMOUNTS)}{said}: a number or - for each")
        if amounts["arrays"] == "-":
            raise self._wrong(at, f"{name[:40]} has no number of arrays: 0 where it has none to speak of")
        if len(words) < len(_COLUMNS) or not words[6].partition(",")[0].strip():
            raise self._wrong(at, f"{name[:40]} has no iteration, which up to a comma is its title in tables")
        costs = {key: None if word == "-" else int(word) for key, word in amounts.items()}
        try:
            return Variant.model_validate({"name": name, "unit": words[1], "iteration": words[6], **costs})
        except ValidationError as error:
            raise self._wrong(at, f"{name[:40]} cannot be read") from error

    def _wrong(self, line: int, problem: str) -> BadInput:
        return BadInput(problem, file=str(self.file), place=f"line {line}", cure="kernels/README.md shows a header comment")


# ---- what the built program says of itself ----

_PATIENCE: Final = 20.0
_BUILD: Final = "build the kernels again with advisor measure --build-only"


def must_agree(host: Starter, program: str, sheet: KernelSheet) -> None:
    """Refuse a program that lists other variants, units, costs or arguments than its header comment says."""
    heard: list[bytes] = []
    ran = host.launch((program, "--list"), heard.append, timeout=_PATIENCE)
    if ran.why is not None or ran.status != 0:
        raise CannotWork(f"kernel {sheet.name}: --list does not work; {_BUILD}")
    wrong = disagreement(sheet, listed(sheet.name, b"".join(heard)))
    if wrong is not None:
        raise BadInput(f"kernel {sheet.name}: {wrong}", cure=f"make both the same, or {_BUILD}")


def listed(name: str, data: bytes) -> KernelSheet:
    """Return what a program printed for ``--list``, which is as untrusted as any file."""
    try:
        document: Any = json.loads(data[:_LARGEST])
        return KernelSheet.model_validate({key: document[key] for key in ("summary", "arguments", "variants")} | {"name": name})
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        raise BadInput(f"kernel {name}: --list prints what is not a list of it", cure=_BUILD) from error


def disagreement(header: KernelSheet, listing: KernelSheet) -> str | None:
    """Return in words the first thing in which a header comment and a ``--list`` differ; None where they say the same."""
    if header.summary != listing.summary:
        return f"its header comment calls it {header.summary[:60]!r}, its --list {listing.summary[:60]!r}"
    for what, here, there in (
        ("argument", header.arguments, listing.arguments),
        ("variant", tuple(v.name for v in header.variants), tuple(v.name for v in listing.variants)),
    ):
        for names, other, place in ((here, there, "--list"), (there, here, "header comment")):
            missing = next((each for each in names if each not in other), None)
            if missing is not None:
                return f"its {place} lacks the {what} {missing[:60]}"
    pairs = ((each, listing.variant(each.name)) for each in header.variants)
    return next((_difference(one, two) for one, two in pairs if two is not None and one != two), None)


def _difference(header: Variant, listing: Variant) -> str:
    told, said = header.model_dump(), listing.model_dump()
    key = next(key for key in told if told[key] != said[key])
    return f"{key} of {header.name} is {_word(told[key])} in its header comment and {_word(said[key])} in its --list"


def _word(value: object) -> str:
    return "-" if value is None else str(value)[:60]
