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
    of_parts = any(run.results and not any(each.purpose in NETWORK for each in run.results) for run in (*before, *after))
    hosts, launcher = before[0].machine.name or "one machine", ""
    if of_parts:
        rows = tuple(_part_rows(before, after, starts=starts))
    else:
        first, second = ([_all_cores(run, which) for run in runs] for which, runs in (("before", before), ("after", after)))
        one = setup_of(first[0])
        for results in (*first, *second):
            must_be_alike(one, setup_of(results))
        hosts, launcher, rows = one.hosts, one.launcher, tuple(_message_rows(first, second, min(one.sizes), starts=starts))
    return BeforeAfter(
        hosts=hosts,
        launcher=launcher,
        before=min(before, key=started_at).conditions.started,
        after=min(after, key=started_at).conditions.started,
        of="starts" if starts else "repeats",
        rows=rows,
        warnings=tuple(_warnings(before, after, rows, starts=starts)),
    )


def _part_rows(before: Runs, after: Runs, *, starts: bool) -> Iterator[Contrast]:
    """Yield every figure of a part that all have: the same task, variant, CPUs and working set."""
    first, second = ([_by_thing(run) for run in runs] for runs in (before, after))
    common = [thing for thing in first[0] if all(thing in run for run in (*first, *second))]
    if not common:
        cure = "measure the same both times: advisor measure WHAT --save FILE, or advisor measure network"
        raise CannotWork(f"the runs have no believed figure in common; {cure}")
    for thing in common:
        one = first[0][thing]
        sides = [_values((run[thing] for run in runs), starts=starts) for runs in (first, second)]
        of = {"variant": one.variant, "part": one.part, "index": one.index, "distance": one.distance, "bytes": one.bytes}
        yield _contrast({"what": "part", "kernel": one.kernel, **of}, one.unit, *sides)


def _by_thing(run: Measurements) -> dict[tuple[object, ...], Result]:
    found = [each for purpose in _OF_PARTS for each in run.of(purpose) if all(0 < value < inf for value in each.values)]
    return {(each.task, each.variant, each.unit, each.isa, each.cpus, each.bytes): each for each in found}


def _values(results: Iterable[Result], size: int = 1, *, starts: bool) -> list[float]:
    """Return what runs gave of one thing: of several starts the median of each, else every repeat."""
    return [value / size for each in results for value in ([each.median] if starts else each.values)]


def _contrast(of: Mapping[str, Any], unit: Unit, *sides: Sequence[float]) -> Contrast:
    before, after = (Side(number=len(side), median=median(side), low=min(side), high=max(side)) for side in sides)
    p, ratio = rank_sum_p(*sides), after.median / before.median if before.median else 1.0
    says = significance(p, 1 / ratio if unit == "seconds" and ratio else ratio)
    return Contrast(**of, unit=unit, before=before, after=after, ratio=ratio, p=p, says=says)


def before_setup(before: Measurements) -> Setup:
    """Return with what the first run was measured, to be asked before the second is."""
    return setup_of(_all_cores(before, "before"))


def must_be_alike(one: Setup, two: Setup) -> None:
    """Refuse two runs that were measured with different things, and name the first of them."""

    def words(of: Setup, pairs: int | None) -> dict[str, str]:
        return {
            "between": of.hosts,
            "with": of.launcher,
            "through": ", ".join(hca or "what the MPI chose" for hca in of.hcas),
            "with messages of": f"{', '.join(map(str, of.sizes))} bytes",
            "with pairs of ranks:": str(pairs),
        }

    first, second = words(one, one.pairs), words(two, two.pairs or one.pairs)
    for how, said in first.items():
        if said != second[how]:
            raise BadValue(f"before was measured {how} {said[:80]}, after {how} {second[how][:80]}", cure=_CURE)


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
    """Return what all cores reached, of the whole machine, or of its only part; sizes and values such as can be measured."""
    every = measured.of("network", variant="mbw_mr")
    found = [each for each in every if 0 < (each.bytes or 0) < _LARGEST and all(0 < value < inf for value in each.values)]
    parts = {(each.part, each.index) for each in found}
    whole = [each for each in found if each.part == "machine"] or (found if len(parts) == 1 else [])
    if not whole:
        cure = "measure both with advisor measure network --hosts A,B --save FILE, without --per or with --per node"
        raise CannotWork(f"the run {which} has no believed messages of all cores; {cure}")
    return whole


def _pairs(result: Result) -> int:
    value = result.details.get("pairs", 0)
    return value if isinstance(value, int) else 0


_Found = Sequence[Sequence[Result]]
"""What all cores reached, run by run."""


def _message_rows(before: _Found, after: _Found, small: int, *, starts: bool) -> Iterator[Contrast]:
    """Yield each size through each adapter; the smallest as a message rate, which is what small messages are for."""

    def thing(result: Result) -> tuple[object, ...]:
        return reported_text(result, "hca"), result.bytes

    for one in before[0]:
        size = one.bytes or 0
        what, unit, each = ("message rate", "messages/s", size) if size == small else ("bandwidth", "bytes/s", 1)
        alike = ([result for run in runs for result in run if thing(result) == thing(one)] for runs in (before, after))
        sides = [_values(results, each, starts=starts) for results in alike]
        if all(sides):
            of = {"what": what, "hca": reported_text(one, "hca") or None, "bytes": size, "pairs": _pairs(one)}
            yield _contrast(of, unit, *sides)


def _warnings(before: Runs, after: Runs, rows: Iterable[Contrast], *, starts: bool) -> Iterator[str]:
    """Yield what speaks against believing a comparison: a busy machine, one start that differs from the next, too few of them."""
    if max(map(started_at, after)) < min(map(started_at, before)):
        yield "the runs named before began later than the others"
    for which, runs in (("before", before), ("after", after)):
        busy = "; ".join(dict.fromkeys(words for run in runs for words in run.conditions.busy))
        looks = {run.conditions.idle for run in runs}
        if False in looks:
            yield f"the machine was busy {which}{': ' if busy else ''}{busy}: the difference may be its neighbours'"
        elif None in looks:
            yield f"whether the hosts were idle was not checked {which}"
    if not starts:
        yield (
            "one start of a setting: its repeats are alike, and another start of the same can differ from all of them; "
            "save five of each setting into a folder, and compare the folders"
        )
    fewest = min(((row.before.number, row.after.number) for row in rows), default=(0, 0))
    if least_p(*fewest) > SIGNIFICANT:
        what = "starts" if starts else "repeats"
        yield f"{fewest[0]} and {fewest[1]} {what} cannot show a difference; 5 and 5 can"
