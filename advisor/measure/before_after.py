"""Compares two runs, before a change and after it: messages of all cores, or what the parts of one machine gave. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any, Final

from advisor.errors import BadValue, CannotWork
from advisor.measure.measurement import (
    NETWORK,
    SIGNIFICANT,
    BeforeAfter,
    Contrast,
    Measurements,
    Purpose,
    Result,
    Side,
    Unit,
    least_p,
    rank_sum_p,
    reported_text,
    significance,
)
from advisor.measure.run import started_at

_LARGEST: Final = 1 << 40
_CURE: Final = "compare two runs of the same hosts, launcher and sizes"


@dataclass(frozen=True)
class Setup:
    """With what messages were measured; two runs are compared only where it is the same."""

    hosts: str
    launcher: str
    hcas: tuple[str, ...]
    sizes: tuple[int, ...]
    pairs: int | None = None
    """How many pairs all cores are; None before it ran."""


Runs = Sequence[Measurements]
"""One or several starts of the same experiment, under one setting."""


_OF_PARTS: Final[tuple[Purpose, ...]] = ("part", "sparse", "half", "matrix", "peak", "clock", "roofline", "kernel")
"""What one machine gives as one figure; the points of curves and maps are too many to stand in a table."""


def compare_runs(before: Runs, after: Runs) -> BeforeAfter:
    """Return what changed between two settings, each measured once or several times; refuse runs of different things.

    Runs of messages are compared by these, all others by every figure that both have of a part.
    """
    if any(run.machine != before[0].machine for run in (*before, *after)):
        raise BadValue("the runs are of different machines, or of one whose NUMA partitioning has changed", cure=_CURE)
    starts = len(before) > 1 < len(after)
    if any(_of_one_machine(run) for run in (*before, *after)):
        hosts, launcher, rows = before[0].machine.name or "one machine", "", tuple(_part_rows(before, after, starts=starts))
    else:
        hosts, launcher, rows = _message_rows(before, after, starts=starts)
    return BeforeAfter(
        hosts=hosts,
        launcher=launcher,
        before=min(before, key=started_at).conditions.started,
        after=min(after, key=started_at).conditions.started,
        of="starts" if starts else "repeats",
        rows=rows,
        warnings=(*_warnings(before, after), *_too_few(rows, starts=starts)),
    )


def _of_one_machine(run: Measurements) -> bool:
    return bool(run.results) and not any(each.purpose in NETWORK for each in run.results)


def _message_rows(before: Runs, after: Runs, *, starts: bool) -> tuple[str, str, tuple[Contrast, ...]]:
    """Return between which hosts, with which launcher, and what changed; refuse runs of different hosts or sizes."""
    first, second = ([_all_cores(run, which) for run in runs] for which, runs in (("before", before), ("after", after)))
    one = setup_of(first[0])
    for results in (*first, *second):
        must_be_alike(one, setup_of(results))
    return one.hosts, one.launcher, tuple(_rows(first, second, min(one.sizes), starts=starts))


def _part_rows(before: Runs, after: Runs, *, starts: bool) -> Iterator[Contrast]:
    """Yield every figure of a part that all have: the same task, variant, CPUs and working set."""
    first, second = ([_by_thing(run) for run in runs] for runs in (before, after))
    common = [thing for thing in first[0] if all(thing in run for run in (*first, *second))]
    if not common:
        cure = "measure the same both times: advisor measure WHAT --save FILE, or advisor measure network"
        raise CannotWork(f"the runs have no believed figure in common; {cure}")
    for thing in common:
        one = first[0][thing]
        sides = [
            [value for run in runs for value in ([run[thing].median] if starts else run[thing].values)]
            for runs in (first, second)
        ]
        of = {"variant": one.variant, "part": one.part, "index": one.index, "distance": one.distance, "bytes": one.bytes}
        yield _contrast({"what": "part", "kernel": one.kernel, **of}, one.unit, *sides)


def _by_thing(run: Measurements) -> dict[tuple[object, ...], Result]:
    found = [each for purpose in _OF_PARTS for each in run.of(purpose) if all(0 < value < inf for value in each.values)]
    return {(each.task, each.variant, each.unit, each.isa, each.cpus, each.bytes): each for each in found}


def _contrast(of: Mapping[str, Any], unit: Unit, first: Sequence[float], second: Sequence[float]) -> Contrast:
    p, ratio = rank_sum_p(first, second), median(second) / median(first) if median(first) else 1.0
    says = significance(p, 1 / ratio if unit == "seconds" and ratio else ratio)
    return Contrast(**of, unit=unit, before=_side(first), after=_side(second), ratio=ratio, p=p, says=says)


def before_setup(before: Measurements) -> Setup:
    """Return with what the first run was measured, to be asked before the second is."""
    return setup_of(_all_cores(before, "before"))


def must_be_alike(one: Setup, two: Setup) -> None:
    """Refuse two runs that were measured with different things, and name the first of them."""
    told = (
        ("between", one.hosts, two.hosts),
        ("with", one.launcher, two.launcher),
        ("through", _either(one.hcas), _either(two.hcas)),
        ("with messages of", _bytes(one.sizes), _bytes(two.sizes)),
        ("with pairs of ranks:", str(one.pairs), str(two.pairs or one.pairs)),
    )
    for how, first, second in told:
        if first != second:
            raise BadValue(f"before was measured {how} {first[:80]}, after {how} {second[:80]}", cure=_CURE)


def _either(hcas: Iterable[str]) -> str:
    return ", ".join(hca or "what the MPI chose" for hca in hcas)


def _bytes(sizes: Iterable[int]) -> str:
    return f"{', '.join(map(str, sizes))} bytes"


def sizes_argument(listed: str) -> tuple[int, ...]:
    """Return the sizes of messages that the kernel is asked for.

    >>> sizes_told("8,65536"), sizes_told("1:8")
    ((8, 65536), (1, 2, 4, 8))
    """
    low, colon, high = listed.partition(":")
    if not colon:
        return tuple(sorted({int(word) for word in listed.split(",")}))
    return tuple(int(low) << at for at in range((int(high) // int(low)).bit_length()))


def setup_of(results: Sequence[Result]) -> Setup:
    """Return with what some results were measured."""
    return Setup(
        reported_text(results[0], "hosts_named"),
        reported_text(results[0], "launcher"),
        tuple(dict.fromkeys(reported_text(each, "hca") for each in results)),
        tuple(sorted({each.bytes or 0 for each in results})),
        _pairs(results[0]),
    )


def _all_cores(measured: Measurements, which: str) -> list[Result]:
    """Return what all cores reached: of the whole machine, or of its only part."""
    found = [each for each in measured.of("network", variant="mbw_mr") if _is_sound(each)]
    parts = {(each.part, each.index) for each in found}
    whole = [each for each in found if each.part == "machine"] or (found if len(parts) == 1 else [])
    if not whole:
        cure = "measure both with advisor measure network --hosts A,B --save FILE, without --per or with --per node"
        raise CannotWork(f"the run {which} has no believed messages of all cores; {cure}")
    return whole


def _is_sound(result: Result) -> bool:
    """Return whether a size and values from a file are such as can be measured."""
    return 0 < (result.bytes or 0) < _LARGEST and all(0 < value < inf for value in result.values)


def _pairs(result: Result) -> int:
    value = result.details.get("pairs", 0)
    return value if isinstance(value, int) else 0


_Found = Sequence[Sequence[Result]]
"""What all cores reached, run by run."""


def _rows(before: _Found, after: _Found, small: int, *, starts: bool) -> Iterator[Contrast]:
    """Yield each size through each adapter; the smallest as a message rate, which is what small messages are for."""
    for one in before[0]:
        size = one.bytes or 0
        rate = size == small
        first, second = (_values(runs, one, size if rate else 1, starts=starts) for runs in (before, after))
        if first and second:
            of = {"hca": reported_text(one, "hca") or None, "bytes": size, "pairs": _pairs(one)}
            what, unit = ("message rate", "messages/s") if rate else ("bandwidth", "bytes/s")
            yield _contrast({"what": what, **of}, unit, first, second)


def _values(runs: _Found, like: Result, size: int, *, starts: bool) -> list[float]:
    """Return what runs gave of one thing: of several starts the median of each, else every repeat."""
    key = reported_text(like, "hca"), like.bytes
    found = [each for run in runs for each in run if (reported_text(each, "hca"), each.bytes) == key]
    values = [each.median for each in found] if starts else [value for each in found for value in each.values]
    return [value / size for value in values]


def _side(values: Sequence[float]) -> Side:
    return Side(number=len(values), median=median(values), low=min(values), high=max(values))


def _warnings(before: Runs, after: Runs) -> Iterator[str]:
    """Yield what speaks against believing a comparison."""
    if max(map(started_at, after)) < min(map(started_at, before)):
        yield "the runs named before began later than the others"
    for which, runs in (("before", before), ("after", after)):
        busy = tuple(dict.fromkeys(words for run in runs for words in run.conditions.busy))
        looks = {run.conditions.idle for run in runs}
        if False in looks:
            yield f"the machine was busy {which}{': ' if busy else ''}{'; '.join(busy)}: the difference may be its neighbours'"
        elif None in looks:
            yield f"whether the hosts were idle was not checked {which}"


def _too_few(rows: Iterable[Contrast], *, starts: bool) -> Iterator[str]:
    """Yield that starts were not compared, which differ more than repeats, or that there are too few to show anything."""
    if not starts:
        yield (
            "one start of a setting: its repeats are alike, and another start of the same can differ from all of them; "
            "save five of each setting into a folder, and compare the folders"
        )
    fewest = min(((row.before.number, row.after.number) for row in rows), default=(0, 0))
    if least_p(*fewest) > SIGNIFICANT:
        what = "starts" if starts else "repeats"
        yield f"{fewest[0]} and {fewest[1]} {what} cannot show a difference; 5 and 5 can"
