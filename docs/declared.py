"""What the declaration of a fact lacks: asked when the reference is written, and by the tests."""

import inspect
import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from advisor.machine.fact import TOLD_ELSEWHERE, Section, declarations, inside_of, keys
from advisor.machine.machine import Facts, Machine
from advisor.machine.value import meaning

_NAMING = re.compile(r"(^|_)(serial|uuid|guid|mac|wwn|hostname)(_number)?$")  # fields that name one machine or part


def undeclared_facts(model: type[Facts] = Machine) -> Iterator[str]:
    """Yield a line for each fact of a Machine whose declaration lacks something, or that stands where rules do not see it."""
    for name, declared in declarations(model).items():
        if name not in Facts.model_fields and declared.section != Section.EVIDENCE:
            yield f"{declared_at(model, name)}: {name}: a field of Machine alone, which rules do not know; move it into Facts"
    for name, field in Facts.model_fields.items():
        if field.is_required():
            yield f"{declared_at(Facts, name)}: {name}: no default; write = None: every fact may be not known"
    yield from undeclared(model)


def undeclared(model: type[BaseModel], name: str = "", section: Section | None = None) -> Iterator[str]:
    """Yield a line for each fact of a model whose declaration lacks something: file and line, the fact, and what to write."""
    for field, info in model.model_fields.items():
        declared, dotted = declarations(model)[field], f"{name}{field}"
        place = declared_at(model, field)
        own = declared.section or section
        inner, many = inside_of(info.annotation)
        record = isinstance(inner, type) and issubclass(inner, BaseModel)
        if own is None:
            cure = "annotate it with one of advisor/machine/fact.py: Section.MEMORY, Section.SYSTEM"
            yield f"{place}: {dotted}: no section; {cure}"
        if not (meaning(model, field) or (record and inner.__doc__)):
            yield f"{place}: {dotted}: no description; say what it means in a text below it"
        if _NAMING.search(field) and not declared.identity:
            yield f"{place}: {dotted}: names one machine; annotate it with Identity[...], else anonymised captures keep it"
        if record:
            if many and own not in (*TOLD_ELSEWHERE, None) and declared.comparable and not keys(inner):
                yield f"{place}: {dotted}: nothing identifies an element of the list; annotate the field that does with Key[...]"
            yield from undeclared(inner, f"{dotted}{'[]' if many else ''}.", own or Section.EVIDENCE)
        elif declared.unit is None and _is_number(info.annotation):
            yield f"{place}: {dotted}: a number without a unit; use a type of advisor/machine/fact.py: Bytes, Count, Number"


def declared_at(model: type[BaseModel], field: str) -> str:
    """Return the file and line of a field, as an error names them."""
    owner = next(each for each in model.__mro__ if field in vars(each).get("__annotations__", {}))
    lines, first = inspect.getsourcelines(owner)
    number = next((at for at, line in enumerate(lines) if re.match(rf"\s+{field}\s*:", line)), 0)
    return f"{owner.__module__.replace('.', '/')}.py: line {first + number}"


def _is_number(annotation: Any) -> bool:
    """Return whether a type holds numbers and nothing else."""
    if annotation in (int, float):
        return True
    parts = [part for part in get_args(annotation) if part not in (type(None), ...)]
    parts = parts[:1] if get_origin(annotation) is Annotated else parts[1:] if get_origin(annotation) is dict else parts
    return bool(parts) and all(map(_is_number, parts))
