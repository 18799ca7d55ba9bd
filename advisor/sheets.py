"""Reads one YAML sheet into one model: rules, platforms, vendors, settings. Names file and line of every mistake.

A sheet is data and nothing else: no tags, no anchors, no aliases, no keys twice, bounded in size and depth. Words are
read as YAML 1.2 reads them, so that ``on``, ``off``, ``yes`` and ``no`` stay words.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.events import AliasEvent, CollectionStartEvent, ScalarEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from advisor.errors import AdvisorError, BadInput, BadSheet

_LARGEST: Final = 1 << 20
_DEEPEST: Final = 24
_LONGEST: Final = 8000
"""Characters of one text in a sheet."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml reads ten times faster than Python; PyYAML's wheels carry it."""

_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,3})?")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value."""

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


def read_sheet(path: Path) -> Sheet:
    """Return what a YAML file says."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= _LARGEST and path.is_file() else b""
    except OSError as error:
        raise BadSheet((error.strerror or "cannot be read").lower(), file=str(path)) from error
    if size > _LARGEST or not path.is_file():
        raise BadSheet("no sheet: a file of at most 1 MiB is expected", file=str(path))
    try:
        return parse_sheet(data.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise BadSheet("not text in UTF-8", file=str(path), place=f"byte {error.start}") from error


def parse_sheet(text: str, file: str) -> Sheet:
    """Return what a YAML text says."""
    try:
        _refuse_unsafe(text, file)
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"line {mark.line + 1}" if mark else None
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BadSheet(f"not YAML: {problem}"[:200], file=file, place=place, cure="check indentation and quotes") from error
    sheet = Sheet(file, None, {})
    data = {} if node is None else _value(node, (), sheet)
    return sheet._replace(data=data)


def _refuse_unsafe(text: str, file: str) -> None:
    """Refuse anchors, tags and depth before any value is made of them."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        place = f"line {event.start_mark.line + 1}"
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
            raise BadSheet("anchors and aliases are not allowed", file=file, place=place, cure="write the value out")
        if getattr(event, "tag", None) is not None:
            raise BadSheet(f"tag {str(event.tag)[:40]} is not allowed", file=file, place=place, cure="write plain values")
        if isinstance(event, ScalarEvent) and len(event.value) > _LONGEST:
            raise BadSheet(f"a text of {len(event.value)} letters", file=file, place=place, cure=f"at most {_LONGEST}")
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise BadSheet("nested too deeply", file=file, place=place, cure=f"at most {_DEEPEST} levels")
        elif type(event).__name__.endswith("EndEvent") and "Document" not in type(event).__name__:
            depth -= 1


def _value(node: Node, place: Place, sheet: Sheet) -> Any:
    sheet.lines[place] = node.start_mark.line + 1
    if isinstance(node, ScalarNode):
        return _scalar(node)
    if isinstance(node, SequenceNode):
        return [_value(item, (*place, at), sheet) for at, item in enumerate(node.value)]
    if not isinstance(node, MappingNode):
        raise sheet.wrong(place, f"a {node.id} is not allowed")
    result: dict[str, Any] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, ScalarNode) else None
        if name is None or name in result:
            sheet.lines[place] = key.start_mark.line + 1
            raise sheet.wrong(place, f"key {name[:60]} stands twice" if name else "a key must be one word")
        result[name] = _value(value, (*place, name), sheet)
        sheet.lines[(*place, name)] = key.start_mark.line + 1
    return result


def _scalar(node: ScalarNode) -> Any:
    text = str(node.value)
    if node.style:  # quoted or folded: a text whatever it looks like
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _HEX.fullmatch(text):
        return int(text, 16)
    return float(text) if _FLOAT.fullmatch(text) else text


def load_sheet(path: Path, model: type[M]) -> M:
    """Return the model that a file holds."""
    return model_of(read_sheet(path), model)


def model_of(sheet: Sheet, model: type[M], place: Place = ()) -> M:
    """Return the model that the value at a place of a sheet holds; the error names its line and the nearest right word."""
    data = sheet.data
    for key in place:
        data = data[key]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=True)[0]
        raise _explained(sheet, model, (*place, *first["loc"]), first) from error
    except BadInput as error:
        raise BadSheet(error.problem, file=sheet.file, place=f"line {sheet.line(place)}", cure=error.cure) from error


def _explained(sheet: Sheet, model: type[BaseModel], place: Place, first: Any) -> AdvisorError:
    name = str(place[-1])[:60] if place else "sheet"
    line = sheet.line(place)
    cure = None
    problem = f"{name}: {first['msg'][:200]}"
    if first["type"] == "missing":
        problem = f"{name} is missing"
    elif first["type"] == "extra_forbidden":
        known = _fields(model)
        near = get_close_matches(name, known, n=1, cutoff=0.6)
        problem = f"{name} is no word of this sheet"
        cure = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))[:300]}"
    elif first["type"] in ("literal_error", "enum"):
        expected = [word.strip("' ") for word in re.split(r",| or ", str(first.get("ctx", {}).get("expected", "")))]
        near = get_close_matches(str(first.get("input", "")), expected, n=1, cutoff=0.5)
        problem = f"{name}: {str(first.get('input'))[:60]} is not one of {', '.join(expected)}"
        cure = f"did you mean {near[0]}?" if near else None
    return BadSheet(problem, file=sheet.file, place=f"line {line}", cure=cure)


@cache
def _fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return every field name of a model and of the models inside it: what a mistyped key may have meant."""
    seen: dict[str, None] = {}
    todo, done = [model], set()
    while todo:
        current = todo.pop()
        if current in done:
            continue
        done.add(current)
        for name, field in current.model_fields.items():
            seen[field.alias or name] = None
            todo += _models(field.annotation)
    return tuple(seen)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models(part)]
