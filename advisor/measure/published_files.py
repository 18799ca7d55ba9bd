"""Published figures (rules/published/*.csv): a row a figure, its conditions in closed words, its source beside it."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from advisor.errors import BadSheet, BadValue, did_you_mean
from advisor.measure.bounds import socket_bandwidth
from advisor.measure.platform import Platform, for_model
from advisor.measure.platforms import platform_by_id, processor
from advisor.measure.published import PublishedFigure, of_references
from advisor.paths import rules

WITHOUT_SHEET: Final = "arm"
"""The file of processors whose generation has no sheet."""
_LARGEST: Final = 1 << 20
_FIELDS: Final = tuple(name for name in PublishedFigure.model_fields if name != "others")


def published_files() -> tuple[Path, ...]:
    """Return the files of published figures, by name: a platform's each."""
    return tuple(sorted((rules() / "published").glob("*.csv")))


@cache
def read_published(path: Path) -> tuple[tuple[int, PublishedFigure], ...]:
    """Return the figures of a file, each with its line; refuse what is no figure."""
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadSheet("cannot be read", file=str(path), cure="a text file in UTF-8 is expected") from error
    lines = csv.DictReader(text.splitlines(), strict=True)
    if tuple(lines.fieldnames or ()) != _FIELDS:
        strange = next((name for name in lines.fieldnames or () if name not in _FIELDS), "")
        cure = f"the first line is {','.join(_FIELDS)}"
        raise BadSheet(f"{strange[:40] or 'a column'} is no column, or one is missing", file=str(path), place="line 1", cure=cure)
    return tuple((lines.line_num, _figure(row, path, lines.line_num)) for row in lines)


def _figure(row: dict[str, str], path: Path, line: int) -> PublishedFigure:
    try:
        return PublishedFigure.model_validate({name: value for name, value in row.items() if value})
    except (ValidationError, BadValue) as error:
        first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else {"loc": ("row",), "msg": str(error)}
        name = str(first["loc"][0]) if first["loc"] else "row"
        field = PublishedFigure.model_fields.get(name)
        cure = field.description if field else f"there are {len(_FIELDS)} columns"
        raise BadSheet(f"{name}: {str(first['msg'])[:160]}", file=str(path), place=f"line {line}", cure=cure) from error


def published_figures(platform: Platform | None) -> tuple[PublishedFigure, ...]:
    """Return what was published for the processors of a platform, in its sheet and in its rows."""
    path = rules() / "published" / f"{platform.id if platform else WITHOUT_SHEET}.csv"
    rows = tuple(figure for _, figure in read_published(path)) if path.is_file() else ()
    return (*of_references(platform), *rows)


def published_mistakes() -> Iterator[BadSheet]:
    """Yield rows that no machine can meet, or that are above what the memory of their processor carries."""
    for path in published_files():
        try:
            rows = read_published(path)
        except BadSheet as error:
            yield error
            continue
        platform = None if path.stem == WITHOUT_SHEET else platform_by_id(path.stem)
        for line, figure in rows:
            said = _mistake(figure, platform)
            if said:
                yield BadSheet(said[0], file=str(path), place=f"line {line}", cure=said[1])


_UNITS: Final = {"latency": "seconds", "hpl": "flop/s"}


def _mistake(figure: PublishedFigure, platform: Platform | None) -> tuple[str, str] | None:
    """Return what is wrong with a row, and what to do; None where nothing is."""
    unit = _UNITS.get(figure.metric, "bytes/s")
    if figure.value.unit != unit:
        return f"{figure.metric} counts {figure.value.unit}", f"{unit} are expected"
    if platform is None:
        return None
    if not re.fullmatch(platform.series, figure.processor, re.IGNORECASE):
        return f"{figure.processor} is no name of {platform.name}", "put it into the file of its own platform"
    cuts = {cut.name for cut in platform.cuts}
    if figure.numa and figure.numa not in cuts:
        return f"no {platform.name} is ever partitioned {figure.numa}", did_you_mean(
            figure.numa, cuts, f"there are {', '.join(cuts)}"
        ) or ""
    own = processor(figure.processor)
    if figure.threads and own.cores and figure.threads > 2 * own.cores * figure.sockets:
        return f"{figure.threads} threads on {figure.sockets} x {own.cores} cores", "correct threads or sockets"
    fitted = for_model(platform, figure.processor)
    fastest = max(fitted.memory_speed_most or 0, fitted.memory_speed or 0)
    if figure.memory_speed and fastest and figure.memory_speed > fastest:
        return f"{figure.memory} is faster than {platform.name} runs its memory", "correct memory"
    if figure.channels and fitted.channels and figure.channels > fitted.channels:
        return f"{figure.channels} channels, and a socket has {fitted.channels}", "correct channels"
    bound = socket_bandwidth(fitted, own.dies)
    if unit == "bytes/s" and bound and (figure.value.high or 0) > bound.value * figure.sockets:
        most = bound.value * figure.sockets / 1e9
        return (
            f"{(figure.value.high or 0) / 1e9:.0f} GB/s is above the {most:.0f} GB/s of {bound.because}",
            "correct value or sockets",
        )
    return None
