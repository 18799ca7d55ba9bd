"""Reads one YAML sheet into one model: rules, platforms, vendors, settings. Names file and line of every mistake.

A sheet is data and nothing else: no tags, no anchors, no aliases, no keys twice, bounded in size and depth. Words are
read as YAML 1.2 reads them, so that ``on``, ``off``, ``yes`` and ``no`` stay words.
"""

import errno
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.events import AliasEvent, CollectionEndEvent, DocumentStartEvent, MappingStartEvent, NodeEvent, ScalarEvent

from advisor.errors import AdvisorError, BadInput, BadSheet, did_you_mean, plain_problem

_LARGEST = 1 << 20
_DEEPEST = 24
_LONGEST = 8000  # characters of one text in a sheet
_MOST = 100_000  # values and keys in a sheet

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml reads ten times faster than Python; PyYAML's wheels carry it."""

_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,3})?")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}

Place = tuple[str | int, ...]  # the keys and positions that lead to a value
M = TypeVar("M", bound=BaseModel)


class Sheet(NamedTuple):
    """A sheet's values, and the line of each."""

    file: str
    data: Any
    lines: dict[Place, int]

    def line(self, place: Iterable[str | int]) -> int:
        """Return the line of a value, or of the nearest one around it."""
        keys = tuple(place)
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 1)

    def wrong(self, place: Iterable[str | int], problem: str, cure: str | None = None) -> BadSheet:
        """Return the error that names a place in this sheet."""
        return BadSheet(problem, file=self.file, place=f"line {self.line(place)}", cure=cure)


def read_sheet(path: Path, without: str | None = None, only: Iterable[str] = ()) -> Sheet:
    """Return what a YAML file says; of one known to be right ``without`` what is under a key, or ``only`` some first keys.

    Empty lines stand in place of what is not asked for, and of all that is indented under it: it costs most.
    """
    data = _bytes(path)
    try:
        text = data.decode("utf-8")
        if without or only:
            first = rf"^(?!(?:{'|'.join(only)}):)[^ \t\n#-].*(?:\n(?:[ \t#-].*)?)*$"
            block = rf"^( *){without}: *\n(?:(?:\1(?: |- ).*| *)\n)*" if without else first
            text = re.sub(block, lambda found: "\n" * found[0].count("\n"), text, flags=re.MULTILINE)
        return parse_sheet(text, str(path))
    except UnicodeDecodeError as error:
        raise BadSheet("not UTF-8 text", file=str(path), place=f"byte {error.start}", cure="save it as UTF-8") from error


def _bytes(path: Path) -> bytes:
    """Return what a regular file holds; a device or a pipe is not even opened, and what turns into one does not block."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise BadSheet("not a readable file", file=str(path), cure="a regular file is expected")
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb") as file:
            data = file.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError as error:
        raise BadSheet((error.strerror or "cannot be read").lower(), file=str(path), cure=_CURES.get(error.errno or 0)) from error
    except ValueError as error:
        raise BadSheet("not a file name", file=ascii(str(path))[:80]) from error
    if len(data or b"") > _LARGEST:
        raise BadSheet("too large for a sheet", file=str(path), cure="at most 1 MiB")
    return data or b""


_CURES = {errno.EACCES: "make it readable for this user", errno.ENOENT: "check its name"}


def parse_sheet(text: str, file: str) -> Sheet:
    """Return what a YAML text says."""
    try:
        # PyYAML's own loop asks the parser twice for each event
        return _Builder(file).build(iter(_LOADER(text.removeprefix("\ufeff")).get_event, None))
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"line {mark.line + 1}" if mark else None
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
        cure = next((cure for words, cure in _MENDS if words in problem), "check indentation and quotes")
        raise BadSheet(f"not YAML: {problem}"[:200], file=file, place=place, cure=cure) from error


_MENDS = (
    ("mapping values are not allowed", "text that contains a colon followed by a space needs quotes"),
    ("tab character", "indent with spaces"),
    ("cannot start any token", "indent with spaces, and quote any text that begins with such a character"),
    ("expected a single document", "one file is one sheet, without --- inside"),
    ("special characters", "save it as plain text in UTF-8"),
)


class _Builder:
    """Makes values of events, each looked at before anything is made of it; remembers the line of every value."""

    def __init__(self, file: str) -> None:
        self.sheet = Sheet(file, None, {})
        self.values = 0

    def build(self, events: Iterator[Any]) -> Sheet:
        """Return the sheet that the events of one document tell."""
        self.events = events
        data: Any = {}
        documents = 0
        for event in events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self.wrong(event, "a second document begins", "one file is one sheet, without --- inside")
            elif isinstance(event, NodeEvent):
                data = self.value(event, ())
        return self.sheet._replace(data=data)

    def wrong(self, event: Any, problem: str, cure: str | None = None) -> BadSheet:
        """Return the error that names an event's line."""
        return BadSheet(problem, file=self.sheet.file, place=f"line {event.start_mark.line + 1}", cure=cure)

    def value(self, event: Any, place: Place) -> Any:
        """Return the value that begins with an event."""
        self.refuse(event, place)
        self.sheet.lines[place] = event.start_mark.line + 1
        if isinstance(event, ScalarEvent):
            return _scalar(event)
        return self.mapping(place) if isinstance(event, MappingStartEvent) else self.sequence(place)

    def refuse(self, event: Any, place: Place) -> None:
        """Refuse what is no plain value, or too much of it."""
        self.values += 1
        if isinstance(event, AliasEvent) or event.anchor is not None:
            raise self.wrong(event, "anchors and aliases are not allowed", "write the value in full")
        if event.tag is not None:
            raise self.wrong(event, f"tag {str(event.tag)[:40]} is not allowed", "write plain values")
        if isinstance(event, ScalarEvent) and len(event.value) > _LONGEST:
            raise self.wrong(event, f"a text of {len(event.value)} characters is too long", f"at most {_LONGEST}")
        if len(place) >= _DEEPEST:
            raise self.wrong(event, "nested too deeply", f"at most {_DEEPEST} levels")
        if self.values > _MOST:
            raise self.wrong(event, f"more than {_MOST} values", "split it into several files")

    def sequence(self, place: Place) -> list[Any]:
        """Return the items up to the end of a list."""
        result: list[Any] = []
        for event in self.events:
            if isinstance(event, CollectionEndEvent):
                break
            result.append(self.value(event, (*place, len(result))))
        return result

    def mapping(self, place: Place) -> dict[str, Any]:
        """Return the keys and values up to the end of a mapping."""
        result: dict[str, Any] = {}
        for event in self.events:
            if isinstance(event, CollectionEndEvent):
                break
            name = self.key(event, place)
            if name in result:
                raise self.wrong(event, f"key {name[:60]} occurs twice", "keep one of them")
            result[name] = self.value(next(self.events), (*place, name))
            self.sheet.lines[(*place, name)] = event.start_mark.line + 1
        return result

    def key(self, event: Any, place: Place) -> str:
        """Return the one word that a key is."""
        self.refuse(event, place)
        if not isinstance(event, ScalarEvent) or not event.value:
            raise self.wrong(event, "a key must be one word", "write key: value")
        return str(event.value)


def _scalar(event: Any) -> Any:
    text = str(event.value)
    if event.style:  # quoted or folded: a text whatever it looks like
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _HEX.fullmatch(text):
        return int(text, 16)
    return float(text) if _FLOAT.fullmatch(text) and math.isfinite(float(text)) else text


def load_sheet(path: Path, model: type[M]) -> M:
    """Return the model that a file holds."""
    return model_of(read_sheet(path), model)


def model_of(sheet: Sheet, model: type[M], place: Place = ()) -> M:
    """Return the model that the value at a place of a sheet holds; the error names its line and the nearest right word."""
    data = sheet.data
    for key in place:
        data = data[key]
    try:
        return model.model_validate(data, context={"written": True})  # by hand: what has a unit is written with it
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=True)
        # A mistyped key is missing as well; what is there says more than what is not.
        first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
        raise _explained(sheet, model, (*place, *first["loc"]), first) from error
    except BadInput as error:
        raise BadSheet(error.problem, file=sheet.file, place=f"line {sheet.line(place)}", cure=error.cure) from error


def _explained(sheet: Sheet, model: type[BaseModel], place: Place, first: Any) -> AdvisorError:
    place, inside, context = place[:-1] if place[-1:] == ("[key]",) else place, first["loc"], first.get("ctx", {})
    name = next((str(key)[:60] for key in reversed(place) if isinstance(key, str)), "sheet")
    if place and isinstance(place[-1], int):
        name = f"{name}, entry {place[-1] + 1}"
    owner, word = (_model_at(model, inside[:-1]), str(inside[-1])) if inside else (BaseModel, "")
    fields = owner.model_json_schema(by_alias=False)["properties"] if word in owner.model_fields else {}
    wanted = fields.get(word, {}).get("description")  # what it is for, in the model's own words
    if first["type"] == "missing":
        return sheet.wrong(place, f"{name} is missing", wanted or f"write {name}: ")
    if first["type"] == "extra_forbidden":
        known = _fields(_model_at(model, first["loc"][:-1]))
        there = f"available: {', '.join(sorted(known))[:300]}"
        cure = did_you_mean(name, known, None, cutoff=0.6) or did_you_mean(name, _every(model), there, cutoff=0.8)
        return sheet.wrong(place, f"{name} is not a key of this sheet", cure)
    said = str(first.get("input"))[:60]
    if first["type"] in ("literal_error", "enum"):
        expected = [word.strip("' ") for word in re.split(r",| or ", str(context.get("expected", "")))]
        return sheet.wrong(place, f"{name}: {said} is not one of {', '.join(expected)}", did_you_mean(said, expected, None))
    if first["type"] == "string_pattern_mismatch":
        return sheet.wrong(place, f"{name}: {said} is not in the required form", wanted or f"it matches {context['pattern']}")
    if first["type"] == "wrong_at":
        return sheet.wrong((*place, *context["place"]), context["problem"], context["cure"])
    problem = plain_problem(first["type"], first.get("input"), context, first["msg"])
    wanted = wanted or (None if place else f"its keys are {', '.join(_fields(model)[:8])}")
    return sheet.wrong(place, f"{name}: {problem}", None if "; " in problem else wanted)


def _model_at(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """Return the model at a place inside another, as far as the place leads through named fields."""
    for key in place:
        field = model.model_fields.get(str(key))
        inner = _models(field.annotation) if field else _models(getattr(model.model_fields.get("root"), "annotation", None))
        model = inner[0] if inner else BaseModel if field else model
    return model


@cache
def _fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of a model's fields as a sheet writes them."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


@cache
def _every(model: type[BaseModel]) -> tuple[str, ...]:
    """Return every field name of a model and of the models inside it: what stands in the wrong place may belong there."""
    todo, done = [model], dict[type[BaseModel], None]()
    while todo:
        current = todo.pop()
        if current not in done:
            done[current] = None
            todo += [inner for field in current.model_fields.values() for inner in _models(field.annotation)]
    return tuple(dict.fromkeys(name for each in done for name in _fields(each)))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models(part)]
