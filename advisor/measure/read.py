"""Reads what a kernel prints, which is as untrusted as any file: one JSON object a line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, get_args

from advisor.errors import BadInput
from advisor.model.cpuset import LIMIT, CpuSet
from advisor.model.measurement import Result, Task, Unit

CONTRACT: Final = 1
_LONGEST: Final = 1 << 20
_MOST_VALUES: Final = 10_000
_UNITS: Final = get_args(Unit)
_OWN: Final = frozenset(
    {"contract", "kernel", "variant", "unit", "cpus", "values", "node", "bytes", "seconds", "pages", "page_kind", "isa"}
)
_MOST_DETAILS: Final = 40
_WORD: Final = 64


def results_of(task: Task, lines: Iterable[bytes]) -> tuple[Result, ...]:
    """Return the results in a kernel's lines; refuse all of them where one is none."""
    return tuple(_result(task, line) for line in lines if line.strip())


def _result(task: Task, line: bytes) -> Result:
    data = object_of(task, line)
    if data.get("contract") != CONTRACT:
        raise _bad(task, f"contract {str(data.get('contract'))[:20]}, this advisor reads {CONTRACT}")
    if data.get("kernel") != task.kernel:
        raise _bad(task, f"a result of {str(data.get('kernel'))[:40]}")
    cpus = _cpus(task, data.get("cpus"))
    unit = data.get("unit")
    if unit not in _UNITS:
        raise _bad(task, f"the unit {str(unit)[:20]}")
    variant = _word(task, "variant", data.get("variant"))
    alone = task.part not in ("core", "pair") and len(cpus) == 1 < len(task.cpus)
    return Result(
        task=task.name,
        kernel=task.kernel,
        purpose="clock" if unit == "hertz" else task.purpose,
        variant=variant,
        part="core" if alone else task.part,
        index=cpus[0] if alone else task.index,
        cpus=cpus,
        memory=task.memory,
        distance=task.distance,
        slit=task.slit,
        order=task.order,
        unit=unit,
        values=_values(task, data.get("values")),
        bytes=_whole(task, "bytes", data.get("bytes")),
        pages=_pages(task, data.get("pages")),
        page_kind=_maybe_word(task, "page_kind", data.get("page_kind")),
        isa=_maybe_word(task, "isa", data.get("isa")),
        details=dict(_details(data)),
    )


def object_of(task: Task, line: bytes) -> dict[str, Any]:
    """Return the object of a line; refuse what is none."""
    if len(line) > _LONGEST:
        raise _bad(task, f"a line of {len(line)} bytes")
    try:
        data: Any = json.loads(line, parse_constant=_no_number, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise _bad(task, f"what is no JSON: {line[:40]!a}") from error
    if not isinstance(data, dict):
        raise _bad(task, f"what is no object: {line[:40]!a}")
    return data


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _cpus(task: Task, data: Any) -> tuple[int, ...]:
    if not isinstance(data, list) or not data or not all(_is_cpu(each) for each in data):
        raise _bad(task, "no list of CPUs")
    cpus = tuple(data)
    if not set(cpus) <= set(task.cpus) or len(set(cpus)) != len(cpus):
        raise _bad(task, f"CPUs {CpuSet(cpus)}, where {CpuSet(task.cpus)} were asked for")
    return cpus


def _is_cpu(value: Any) -> bool:
    return type(value) is int and 0 <= value < LIMIT


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _values(task: Task, data: Any) -> tuple[float, ...]:
    sound = isinstance(data, list) and 0 < len(data) <= _MOST_VALUES and all(_is_number(each) and each > 0 for each in data)
    if not sound:
        raise _bad(task, "values that are not all numbers above 0")
    return tuple(float(each) for each in data)


def _whole(task: Task, name: str, data: Any) -> int | None:
    if data is not None and not (type(data) is int and data >= 0):
        raise _bad(task, f"{name} that is no whole number")
    return data


def _pages(task: Task, data: Any) -> dict[int, int] | None:
    """Return sampled pages by node; those that the kernel would not tell of are left out."""
    if data is None:
        return None
    if not isinstance(data, Mapping) or not all(type(count) is int and count >= 0 for count in data.values()):
        raise _bad(task, "pages that are no counts")
    known = {node: count for node, count in data.items() if node != "unknown"}
    if not all(node.isascii() and node.isdecimal() and len(node) < 8 for node in known):
        raise _bad(task, "pages of what is no node")
    return {int(node): count for node, count in known.items()}


def _maybe_word(task: Task, name: str, data: Any) -> str | None:
    return None if data is None else _word(task, name, data)


def _word(task: Task, name: str, data: Any) -> str:
    if not isinstance(data, str) or not 0 < len(data) <= _WORD or not (data.isascii() and data.isprintable()):
        raise _bad(task, f"a {name} that is no word")
    return data


def _details(data: Mapping[str, Any]) -> Iterator[tuple[str, float | int | str | bool]]:
    """Yield what else the kernel told; of a list of CPUs its text."""
    own = [(name, value) for name, value in data.items() if name not in _OWN and name.isidentifier() and len(name) <= _WORD]
    for name, value in own[:_MOST_DETAILS]:
        if isinstance(value, bool) or _is_number(value):
            yield name, value
        elif isinstance(value, str) and value.isprintable():
            yield name, value[:200]
        elif isinstance(value, list) and value and all(_is_cpu(each) for each in value):
            yield name, str(CpuSet(value))


def _bad(task: Task, what: str) -> BadInput:
    return BadInput(f"{task.kernel} printed {what}", cure="build the kernels again with advisor measure --build-only")
