"""The kernels' contract: the arguments they take, and the lines they print, which are as untrusted as any file."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, PositiveFloat, ValidationError

from advisor.errors import BadInput, BadValue, did_you_mean, in_words
from advisor.machine.cpuset import LIMIT, CpuSet
from advisor.machine.value import Value
from advisor.measure.build import RANKS
from advisor.measure.measurement import Distance, KernelPart, KernelSheet, Part, Result, Task, Unit
from advisor.paths import kernels

PARTS: tuple[KernelPart, ...] = get_args(KernelPart)
_COLUMNS = ("variant", "unit", "arrays", "read", "written", "flops", "iteration")
_FIRST = re.compile(r"/\* ([a-z][a-z0-9_]*): (\S.*)")
_LARGEST = 1 << 20


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
            raise BadValue(f"unknown kernel {name[:40]}", cure=did_you_mean(name, self.sheets, "advisor measure --list"))
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
    lines = [line.removeprefix(" *").rstrip() for line in takewhile(lambda line: "*/" not in line, text.splitlines())]
    first, mpi = _FIRST.fullmatch(lines[0] if lines else ""), RANKS in text
    (of_arguments, arguments), (of_parts, parts) = _entries(lines, "arguments"), _entries(lines, "parts")
    head = next((at for at, line in enumerate(lines, 1) if tuple(line.split()) == _COLUMNS), len(lines))
    # Text has one blank before it, rows of the table more.
    listed = takewhile(re.compile(r"(?:  |\t| \t)\s*\S").match, lines[head:])
    rows = [[None if word == "-" else word for word in row.split(maxsplit=6)] for row in listed]
    needed = {
        f"/* {file.stem}: what it measures": first and first[1] == file.stem,
        "arguments: its own options, or none": arguments,
        f"parts: those of {', '.join(PARTS)} that it can run on": parts or mpi,
        f"a variant below the table header {' '.join(_COLUMNS)}": rows,
    }
    cure = "kernels/README.md shows a header comment"
    lacking = next((line for line, there in needed.items() if not there), None)
    if lacking or first is None:
        raise BadInput(f"no line '{lacking}'", file=str(file), place="line 1", cure=cure)
    told = {
        "name": first[1],
        "summary": first[2],
        "arguments": () if arguments == ["none"] else arguments,
        "parts": " ".join(parts).split(),
        "mpi": mpi,
        "variants": [dict(zip(("name", *_COLUMNS[1:]), row, strict=False)) for row in rows],
    }
    try:
        return KernelSheet.model_validate(told)
    except ValidationError as error:
        worst = error.errors()[0]
        of, number, *inner = (*worst["loc"], 0)
        at = {"arguments": of_arguments, "parts": of_parts}.get(str(of), head + 1 + int(number))
        named = f"{rows[int(number)][0]} {inner[0]}" if of == "variants" else of
        problem = f"{named}: {in_words(worst['msg'])}"
        raise BadInput(problem, file=str(file), place=f"line {at}", cure=cure) from error


def _entries(lines: Sequence[str], key: str) -> tuple[int, list[str]]:
    """Return the line of ``key: one, two``, and the entries, which may go on in indented lines."""
    at = next((at for at, line in enumerate(lines) if line.startswith(f" {key}:")), None)
    if at is None:
        return 1, []
    more = takewhile(lambda line: line.startswith("   ") and tuple(line.split()) != _COLUMNS, lines[at + 1 :])
    text = " ".join([lines[at].partition(":")[2], *more])
    return at + 1, [" ".join(entry.split()) for entry in text.split(",") if entry.strip()]


def patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of a list, ``load,triad-nt`` or ``all``; ``-nt`` stores past the cache, ``copy-memcpy`` is libc's."""
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    known = tuple(each.name for each in read_kernels().sheet("membw").variants)
    if names == ("all",):
        return known
    wrong = next((name for name in names if name not in known), None)
    if wrong is not None or not names:
        raise BadValue(
            f"unknown pattern {wrong[:40]}" if wrong else "--pattern is empty",
            cure=did_you_mean(wrong or "", known, f"available: {', '.join(known)}, all"),
        )
    return names


def part_named(word: str) -> Part:
    """Return the part that an option names; what the articles call a node is the whole machine."""
    called: Mapping[str, Part] = {"core": "core", "l3": "l3", "numa": "numa", "socket": "socket", "node": "machine"}
    return called[word]


def most_to_fewest_arrays(kernel: str, variants: Iterable[str]) -> float:
    """Return how many times the arrays of the variant with fewest of them the one with most has."""
    sheet, wanted = read_kernels().sheet(kernel), set(variants)
    arrays = [each.arrays for each in sheet.variants if each.name in wanted and each.arrays]
    return max(arrays) / min(arrays) if arrays else 1.0


_LONGEST = 1 << 20
_MOST_DETAILS = 40
_Word = Annotated[str, Field(pattern=r"^[ -~]{1,64}$")]
_Whole = Annotated[int, Field(ge=0)]


class _Printed(Value):
    """What a line of a kernel holds, beside details of its own."""

    model_config = ConfigDict(extra="ignore", strict=True)

    contract: Literal[1]
    kernel: str
    variant: _Word
    unit: Unit
    cpus: list[Annotated[int, Field(ge=0, lt=LIMIT)]] = Field(min_length=1)
    values: list[PositiveFloat] = Field(min_length=1, max_length=10_000)
    bytes: _Whole | None = None
    pages: dict[Annotated[str, Field(pattern=r"^([0-9]{1,7}|unknown)$")], _Whole] | None = None
    page_kind: _Word | None = None
    isa: _Word | None = None


_OWN = frozenset((*_Printed.model_fields, "node", "seconds"))


def results_of(task: Task, lines: Iterable[bytes], sheet: KernelSheet | None = None) -> tuple[Result, ...]:
    """Return the results in a kernel's lines; refuse all of them where one is none, or not what its header comment says."""
    results = []
    for line in (line for line in lines if line.strip()):
        results.append(_result(task, line))
        if sheet is not None:
            variant, unit = sheet.variant(results[-1].variant), results[-1].unit
            if variant is None:
                raise _bad(task, f"the variant {results[-1].variant[:40]}, which its header comment does not list")
            if variant.unit != unit:
                raise _bad(task, f"{variant.name[:40]} in {unit}, but its header comment says {variant.unit}")
    if sheet is not None and task.purpose == "kernel" and results:
        alike = [(each.variant, each.cpus, each.bytes, tuple(sorted(each.details.items()))) for each in results]
        if twice := next((key[0] for at, key in enumerate(alike) if key in alike[:at]), None):
            raise _bad(task, f"{twice} twice")
        if never := [name for name in task.variants if name not in {each.variant for each in results}]:
            raise _bad(task, f"no {' and no '.join(never)}, though listed in its header comment")
        asked = dict(zip(task.arguments, task.arguments[1:], strict=False)).get("--repeats", "0")
        wanted = int(asked) if asked.isdecimal() else 0
        if fewer := next((each for each in results if len(each.values) < wanted and not each.details.get("cut_short")), None):
            found = f"{len(fewer.values)} values of {fewer.variant}"
            raise _bad(task, f"{found}, although --repeats {wanted} was requested and nothing was cut short")
    return tuple(results)


def _result(task: Task, line: bytes) -> Result:
    data = object_of(task, line)
    try:
        told = _Printed.model_validate(data)
    except ValidationError as error:
        worst = error.errors(include_url=False, include_input=False)[0]
        raise _bad(task, f"{worst['loc'][0]} that {in_words(worst['msg'])[:100]}") from error
    if told.kernel != task.kernel:
        raise _bad(task, f"a result of {told.kernel[:40]!a}")
    cpus, asked = tuple(told.cpus), set(task.cpus)
    if not asked.issuperset(cpus) or len(set(cpus)) != len(cpus):
        raise _bad(task, f"CPUs {CpuSet(cpus)}, although {CpuSet(asked)} were requested")
    alone = task.part not in ("core", "pair") and len(cpus) == 1 < len(task.cpus)
    pages = {int(node): count for node, count in (told.pages or {}).items() if node != "unknown"}
    return Result(
        task=task.name,
        kernel=task.kernel,
        purpose="clock" if told.unit == "hertz" and task.purpose != "kernel" else task.purpose,
        variant=told.variant,
        part="core" if alone else task.part,
        index=cpus[0] if alone else task.index,
        cpus=cpus,
        memory=task.memory,
        distance=task.distance,
        slit=task.slit,
        order=task.order,
        unit=told.unit,
        values=tuple(told.values),
        bytes=told.bytes,
        pages=None if told.pages is None else pages,
        page_kind=told.page_kind,
        isa=told.isa,
        details=dict(_details(data)),
    )


def object_of(task: Task, line: bytes) -> dict[str, Any]:
    """Return the object of a line; refuse what is none."""
    if len(line) > _LONGEST:
        raise _bad(task, f"a line of {len(line)} bytes is too long")
    try:
        data: Any = json.loads(line, parse_constant=_no_number, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise _bad(task, f"something that is not JSON: {line[:40]!a}") from error
    if not isinstance(data, dict):
        raise _bad(task, f"JSON that is not an object: {line[:40]!a}")
    return data


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _details(data: Mapping[str, Any]) -> Iterator[tuple[str, float | int | str | bool]]:
    """Yield what else the kernel reported; of a list of CPUs its text."""
    own = [(name, value) for name, value in data.items() if name not in _OWN and name.isidentifier() and len(name) <= 64]
    for name, value in own[:_MOST_DETAILS]:
        if isinstance(value, bool) or (isinstance(value, int | float) and isfinite(value)):
            yield name, value
        elif isinstance(value, str) and value.isprintable():
            yield name, value[:200]
        elif isinstance(value, list) and value and all(type(each) is int and 0 <= each < LIMIT for each in value):
            yield name, str(CpuSet(value))


def _bad(task: Task, what: str) -> BadInput:
    cure = f"kernels/README.md says what kernels/{task.kernel}.c prints; rebuild an older kernel with --build-only"
    return BadInput(f"{task.kernel} printed {what}", cure=cure)


_SHAPE = re.compile(r"[0-9]{1,3}-(?:near|far)-[a-z0-9]{1,6}-[0-9]{1,7}(?:-[a-z0-9]{1,7})?")
Kind = tuple[str, Part, int, Distance | None]
"""Pattern, kind of part, threads, distance to memory: what tasks have in common that a shape is good for."""
Shapes = dict[Kind, str]


def shape_kind(variant: str, part: Part, cpus: Collection[int], distance: Distance | None) -> Kind:
    """Return what must be alike for a shape to be taken over."""
    return variant, part, len(cpus), distance


def argv_with_shapes(task: Task, known: Shapes) -> tuple[str, ...]:
    """Return a task's arguments, with the shapes that are known."""
    if task.kernel != "membw":
        return task.argv
    shapes = {each: known.get(shape_kind(each, task.part, task.cpus, task.distance)) for each in task.variants}
    shaped = ",".join(f"{variant}:{shape}" if shape else variant for variant, shape in shapes.items())
    return tuple(shaped if word == ",".join(task.variants) else word for word in task.argv)


def learn_shapes(known: Shapes, results: Iterable[Result]) -> None:
    """Keep the shapes of results; the first of a kind stands."""
    for each in results:
        shape = each.details.get("shape")
        if each.kernel == "membw" and isinstance(shape, str) and _SHAPE.fullmatch(shape):
            known.setdefault(shape_kind(each.variant, each.part, each.cpus, each.distance), shape)
