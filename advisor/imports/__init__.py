"""Reads what other benchmark programs printed: a module holds the formats of one kind. Pure: bytes in, runs out."""

import pkgutil
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module

from advisor.errors import BadInput
from advisor.imports.text import LARGEST, Format, Line, clean, cut, unlabelled
from advisor.model.imported import ImportedRun


@cache
def formats() -> tuple[Format, ...]:
    """Return every format of the folder's modules, in the order of their names."""
    modules = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return tuple(sorted((each for module in modules for each in getattr(module, "FORMATS", ())), key=lambda each: each.name))


def _read(format_: Format, lines: Sequence[Line]) -> tuple[ImportedRun, ...]:
    """Return the runs of some lines; what no program prints is refused, whatever a reader makes of it."""
    try:
        return tuple(format_.read(lines))
    except (ArithmeticError, LookupError, ValueError):
        why = "its rows hold what this program does not print"
        return (ImportedRun(format=format_.name, tool=format_.tool, line=lines[0].number, refused=why),)


def _runs_of(texts: Iterable[Sequence[Line]]) -> tuple[ImportedRun, ...]:
    return tuple(run for lines in texts for format_, part in cut(lines, formats()) for run in _read(format_, part))


def read_runs(raw: bytes) -> tuple[ImportedRun, ...]:
    """Return every run that a file holds, in its order; refuse a file that is none of a known program."""
    if len(raw) > LARGEST:
        raise BadInput(f"larger than {LARGEST >> 20} MB, no benchmark prints that", cure="give the part with the results")
    lines = clean(raw)
    whole = next((each for each in formats() if each.is_whole and each.is_whole(lines)), None)
    found = (_read(whole, lines) if whole else ()) or _runs_of([lines]) or _runs_of(unlabelled(lines))
    if not found:
        names = ", ".join(each.name for each in formats())
        raise BadInput("not recognised as the output of a benchmark", cure=f"docs/import.md lists what is read: {names}")
    return tuple(run.model_copy(update={"figures": ()}) if run.refused else run for run in found)
