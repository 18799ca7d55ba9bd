"""Reads what other benchmark programs printed: a module holds the formats of one kind. Pure: bytes in, runs out."""

import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Final

from advisor.errors import BadInput
from advisor.measure.imports.text import LARGEST, LONGEST, Format, Line, clean, cut, unlabelled, unpaged, unstamped
from advisor.measure.measurement import ImportedRun


@cache
def formats() -> tuple[Format, ...]:
    """Return every format of the folder's modules, in the order of their names."""
    modules = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return tuple(sorted((each for module in modules for each in getattr(module, "FORMATS", ())), key=lambda each: each.name))


_COMMAS: Final = re.compile(r"\s\d+,\d+(?=\s|$)")


def _read(format_: Format, lines: Sequence[Line]) -> tuple[ImportedRun, ...]:
    """Return the runs of some lines; what no program prints is refused, whatever a reader makes of it."""
    try:
        runs = tuple(format_.read(lines))
    except (ArithmeticError, LookupError, ValueError):
        why = "its rows hold what this program does not print"
        runs = (ImportedRun(format=format_.name, tool=format_.tool, line=lines[0].number, refused=why),)
    commas = next((line for line in lines if len(_COMMAS.findall(line.text[:LONGEST])) > 1), None)
    return tuple(_said(format_, run, commas) for run in runs)


def _said(format_: Format, run: ImportedRun, commas: Line | None) -> ImportedRun:
    """Return a run with all that its output does not say; one that is torn for commas in its numbers says so."""
    refused = run.refused
    if commas and refused and refused.startswith("torn"):
        refused = f"line {commas.number}: its numbers have commas, of decimals or of thousands: print it with LC_ALL=C"
    not_said = tuple(dict.fromkeys((*format_.not_said, *run.not_said)))
    return run.model_copy(update={"not_said": not_said, "refused": refused, **({"figures": ()} if refused else {})})


def _runs_of(texts: Iterable[Sequence[Line]]) -> tuple[ImportedRun, ...]:
    return tuple(run for lines in texts for format_, part in cut(lines, formats()) for run in _read(format_, part))


def _readings(lines: Sequence[Line]) -> Iterator[Iterable[Sequence[Line]]]:
    """Yield the ways in which a file may be read: as it is, and without what stands before each of its lines."""
    yield [lines]
    yield unlabelled(lines)
    for bare in (unstamped(lines), unpaged(lines)):
        if bare is not None:
            yield [bare]
            yield unlabelled(bare)


def _best(lines: Sequence[Line]) -> tuple[ImportedRun, ...]:
    """Return the runs of the first reading that has one to believe; of none, those of the first that has any."""
    first: tuple[ImportedRun, ...] = ()
    for texts in _readings(lines):
        runs = _runs_of(texts)
        if any(run.refused is None for run in runs):
            return runs
        first = first or runs
    return first


def read_runs(raw: bytes) -> tuple[ImportedRun, ...]:
    """Return every run that a file holds, in its order; refuse a file that is none of a known program."""
    if len(raw) > LARGEST:
        raise BadInput(f"larger than {LARGEST >> 20} MB, no benchmark prints that", cure="give the part with the results")
    lines = clean(raw)
    whole = next((each for each in formats() if each.is_whole and each.is_whole(lines)), None)
    found = (_read(whole, lines) if whole else ()) or _best(lines)
    if not found:
        names = ", ".join(each.name for each in formats())
        raise BadInput("not recognised as the output of a benchmark", cure=f"docs/import.md lists what is read: {names}")
    return found
