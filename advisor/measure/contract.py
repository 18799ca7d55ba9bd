"""The kernels' contract: the arguments they take, and the lines they print, which are as untrusted as any file."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final

from advisor.errors import BadInput, BadValue, did_you_mean
from advisor.machine.cpuset import LIMIT, CpuSet
from advisor.measure.headers import read_kernels
from advisor.measure.measurement import UNIT, Distance, KernelSheet, Part, Result, Task


def pattern_names() -> tuple[str, ...]:
    """Return what membw can do; ``-nt`` stores past the cache, ``copy-memcpy`` is the C library's."""
    return tuple(each.name for each in read_kernels().sheet("membw").variants)


def patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of a list: ``load,triad-nt``, or ``all``."""
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    known = pattern_names()
    if names == ("all",):
        return known
    wrong = next((name for name in names if name not in known), None)
    if wrong is not None or not names:
        raise BadValue(
            f"there is no pattern {wrong[:40]}" if wrong else "--pattern names nothing",
            cure=did_you_mean(wrong or "", known, f"there are {', '.join(known)}, and all of them"),
        )
    return names


_CALLED: Final[Mapping[str, Part]] = {"core": "core", "l3": "l3", "numa": "numa", "socket": "socket", "node": "machine"}
"""What the articles call a node is the whole machine."""


def part_named(word: str) -> Part:
    """Return the part that an option names."""
    return _CALLED[word]


def most_to_fewest_arrays(kernel: str, variants: Iterable[str]) -> float:
    """Return how many times the arrays of the variant with fewest of them the one with most has."""
    sheet, wanted = read_kernels().sheet(kernel), set(variants)
    arrays = [each.arrays for each in sheet.variants if each.name in wanted and each.arrays]
    return max(arrays) / min(arrays) if arrays else 1.0


def membw_arguments(variants: Iterable[str], size: int, repeats: int, each: float, trial: float) -> tuple[str, ...]:
    """Return membw's arguments: patterns, bytes of all arrays together, seconds of a repeat and of a trial."""
    times = ("--seconds", f"{each:g}", "--trial-seconds", f"{trial:g}")
    return ("--pattern", ",".join(variants), "--bytes", str(size), *times, "--repeats", str(repeats))


def chase_arguments(size: int, repeats: int) -> tuple[str, ...]:
    """Return memlat's arguments for one size; on huge pages, or address translation would be paid for too."""
    return ("--bytes", str(size), "--pages", "huge", "--repeats", str(repeats))


def ladder_arguments(size: int, repeats: int, seconds: float) -> tuple[str, ...]:
    """Return memlat's arguments for all sizes up to one."""
    return ("--sizes", "ladder", "--bytes", str(size), "--seconds", f"{seconds:g}", "--repeats", str(repeats))


def loaded_arguments(size: int, others: Iterable[int], each: int, repeats: int) -> tuple[str, ...]:
    """Return memlat's arguments for a chase while other CPUs stream at rising rates, each through so many bytes."""
    load = ("--load-cpus", ",".join(map(str, others)), "--load-rate", "steps", "--load-bytes", str(each))
    return ("--bytes", str(size), *load, "--repeats", str(repeats))


def pairs_arguments(chosen: Iterable[tuple[int, int]], rounds: int, repeats: int) -> tuple[str, ...]:
    """Return c2c's arguments for some pairs of CPUs."""
    return ("--pairs", ",".join(f"{a}-{b}" for a, b in chosen), "--rounds", str(rounds), "--repeats", str(repeats))


def all_pairs_arguments(repeats: int) -> tuple[str, ...]:
    """Return c2c's arguments for every pair of its CPUs; it shares 20 s out among them."""
    return ("--pairs", "all", "--repeats", str(repeats))


def peak_arguments(variants: Iterable[str], repeats: int) -> tuple[str, ...]:
    """Return peakflops' arguments."""
    return ("--variants", ",".join(variants), "--repeats", str(repeats))


CONTRACT: Final = 1
_LONGEST: Final = 1 << 20
_MOST_VALUES: Final = 10_000
_OWN: Final = frozenset(
    {"contract", "kernel", "variant", "unit", "cpus", "values", "node", "bytes", "seconds", "pages", "page_kind", "isa"}
)
_MOST_DETAILS: Final = 40
_WORD: Final = 64


def results_of(task: Task, lines: Iterable[bytes], sheet: KernelSheet | None = None) -> tuple[Result, ...]:
    """Return the results in a kernel's lines; refuse all of them where one is none, or not what its header comment says."""
    results = tuple(_as_declared(task, _result(task, line), sheet) for line in lines if line.strip())
    if sheet is not None and task.purpose == "kernel" and results:
        _refuse_parts(task, results)
    return results


def _refuse_parts(task: Task, results: tuple[Result, ...]) -> None:
    """Refuse a kernel without a plan of its own that leaves out, or says twice, what it was asked for."""
    alike = [(each.variant, each.cpus, each.bytes, tuple(sorted(each.details.items()))) for each in results]
    twice = next((key[0] for at, key in enumerate(alike) if key in alike[:at]), None)
    if twice is not None:
        raise _bad(task, f"{twice} twice")
    never = [name for name in task.variants if name not in {each.variant for each in results}]
    if never:
        raise _bad(task, f"no {' and no '.join(never)}, which its header comment names")
    wanted = _repeats(task)
    fewer = next((each for each in results if len(each.values) < wanted and not each.details.get("cut_short")), None)
    if fewer is not None:
        raise _bad(
            task,
            f"{len(fewer.values)} values of {fewer.variant}, where --repeats {wanted} was asked for and nothing was cut short",
        )


def _repeats(task: Task) -> int:
    asked = dict(zip(task.arguments, task.arguments[1:], strict=False)).get("--repeats", "0")
    return int(asked) if asked.isdecimal() else 0


def _as_declared(task: Task, result: Result, sheet: KernelSheet | None) -> Result:
    variant = sheet.variant(result.variant) if sheet else None
    if sheet is not None and variant is None:
        raise _bad(task, f"the variant {result.variant[:40]}, which its header comment does not name")
    if variant is not None and variant.unit != result.unit:
        raise _bad(task, f"{result.variant[:40]} in {result.unit}, its header comment says {variant.unit}")
    return result


def _result(task: Task, line: bytes) -> Result:
    data = object_of(task, line)
    if data.get("contract") != CONTRACT:
        raise _bad(task, f"contract {str(data.get('contract'))[:20]}, this advisor reads {CONTRACT}")
    if data.get("kernel") != task.kernel:
        raise _bad(task, f"a result of {str(data.get('kernel'))[:40]}")
    cpus = _cpus(task, data.get("cpus"))
    unit = data.get("unit")
    if not isinstance(unit, str) or re.fullmatch(UNIT, unit) is None:
        raise _bad(task, f"the unit {str(unit)[:20]}")
    variant = _word(task, "variant", data.get("variant"))
    alone = task.part not in ("core", "pair") and len(cpus) == 1 < len(task.cpus)
    return Result(
        task=task.name,
        kernel=task.kernel,
        purpose="clock" if unit == "hertz" and task.purpose != "kernel" else task.purpose,
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
        raise _bad(task, f"what is not an object: {line[:40]!a}")
    return data


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


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
        raise _bad(task, f"{name} that is not a whole number")
    return data


def _pages(task: Task, data: Any) -> dict[int, int] | None:
    """Return sampled pages by node; those that the kernel would not tell of are left out."""
    if data is None:
        return None
    if not isinstance(data, Mapping) or not all(type(count) is int and count >= 0 for count in data.values()):
        raise _bad(task, "pages that are no counts")
    known = {node: count for node, count in data.items() if node != "unknown"}
    if not all(node.isascii() and node.isdecimal() and len(node) < 8 for node in known):
        raise _bad(task, "pages of what is not a node")
    return {int(node): count for node, count in known.items()}


def _maybe_word(task: Task, name: str, data: Any) -> str | None:
    return None if data is None else _word(task, name, data)


def _word(task: Task, name: str, data: Any) -> str:
    if not isinstance(data, str) or not 0 < len(data) <= _WORD or not (data.isascii() and data.isprintable()):
        raise _bad(task, f"a {name} that is not a word")
    return data


def _details(data: Mapping[str, Any]) -> Iterator[tuple[str, float | int | str | bool]]:
    """Yield what else the kernel reported; of a list of CPUs its text."""
    own = [(name, value) for name, value in data.items() if name not in _OWN and name.isidentifier() and len(name) <= _WORD]
    for name, value in own[:_MOST_DETAILS]:
        if isinstance(value, bool) or _is_number(value):
            yield name, value
        elif isinstance(value, str) and value.isprintable():
            yield name, value[:200]
        elif isinstance(value, list) and value and all(_is_cpu(each) for each in value):
            yield name, str(CpuSet(value))


def _bad(task: Task, what: str) -> BadInput:
    cure = f"kernels/README.md says what kernels/{task.kernel}.c prints; one built before is built again by --build-only"
    return BadInput(f"{task.kernel} printed {what}", cure=cure)


_SHAPE: Final = re.compile(r"[0-9]{1,3}-(?:near|far)-[a-z0-9]{1,6}-[0-9]{1,7}(?:-[a-z0-9]{1,7})?")
Kind = tuple[str, Part, int, Distance | None]
"""Pattern, kind of part, threads, distance to memory: what tasks have in common that a shape is good for."""
Shapes = dict[Kind, str]


def shape_kind(variant: str, task: Task | Result) -> Kind:
    """Return what must be alike for a shape to be taken over."""
    return variant, task.part, len(task.cpus), task.distance


def argv_with_shapes(task: Task, known: Shapes) -> tuple[str, ...]:
    """Return a task's arguments, with the shapes that are known."""
    if task.kernel != "membw":
        return task.argv
    plain = ",".join(task.variants)
    shaped = ",".join(_shaped(variant, known.get(shape_kind(variant, task))) for variant in task.variants)
    return tuple(shaped if word == plain else word for word in task.argv)


def _shaped(variant: str, shape: str | None) -> str:
    return variant if shape is None else f"{variant}:{shape}"


def learn_shapes(known: Shapes, results: Iterable[Result]) -> None:
    """Keep the shapes of results; the first of a kind stands."""
    for result in results:
        shape = result.details.get("shape")
        if result.kernel == "membw" and isinstance(shape, str) and _SHAPE.fullmatch(shape):
            known.setdefault(shape_kind(result.variant, result), shape)
