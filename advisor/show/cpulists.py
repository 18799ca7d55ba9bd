"""CPU numbers as a person reads them: ranges, arithmetic sequences, the threads of a core apart."""

from collections.abc import Iterable, Iterator, Sequence

from advisor.machine.cpuset import LIMIT, CpuSet, union

Run = tuple[int, int]

LANES = 16
"""No core has more hardware threads; a file that names one with a million must not take a million lists."""

FULL = 4
"""A sequence up to this long is written out: 0,16,32,48."""


def listed(cpus: CpuSet) -> str:
    """Return a set with its sequences shortened.

    >>> listed(CpuSet.parse("0-3,8")), listed(CpuSet.parse("0-56:1/8")), listed(CpuSet.parse("0-48:1/16"))
    ('0-3,8', '0,8,..,56', '0,16,32,48')
    """
    return ",".join(_sequence(runs) for runs in _sequences(list(cpus.ranges())))


def numbered(numbers: Iterable[int]) -> str:
    """Return any numbers in rising order: the kernel's ids of sockets, and the nodes a JSON names, know no limit.

    >>> numbered([3, 1, 2]), numbered([4294967295, -1])
    ('1-3', '-1,4294967295')
    """
    known = sorted(set(numbers))
    return listed(CpuSet(known)) if known and known[0] >= 0 and known[-1] < LIMIT else ",".join(map(str, known))


def threads(cores: Sequence[CpuSet]) -> str:
    """Return the CPUs of cores, second threads after a plus where they are numbered apart.

    >>> threads([CpuSet([0, 64]), CpuSet([1, 65])]), threads([CpuSet([0, 1]), CpuSet([2, 3])])
    ('0-1 +64-65', '0-3')
    """
    if all(_adjacent(core) for core in cores) or any(len(core) > LANES for core in cores):
        return listed(union(cores))
    lanes: dict[int, list[int]] = {}
    for core in cores:
        for lane, cpu in enumerate(core):
            lanes.setdefault(lane, []).append(cpu)
    return " +".join(listed(CpuSet(lane)) for lane in lanes.values())


def _adjacent(core: CpuSet) -> bool:
    return core.first is not None and core.last is not None and core.last - core.first + 1 == len(core)


def _sequences(runs: list[Run]) -> Iterator[list[Run]]:
    at = 0
    while at < len(runs):
        long = _length(runs, at)
        take = long if long > FULL else 1
        yield runs[at : at + take]
        at += take


def _length(runs: list[Run], at: int) -> int:
    """How many runs from here on have one length and one step."""
    end = at + 1
    while end < len(runs) and _step(runs, end) == _step(runs, at + 1):
        end += 1
    return end - at


def _step(runs: list[Run], at: int) -> tuple[int, int, int]:
    (first, last), (next_first, next_last) = runs[at - 1], runs[at]
    return next_first - first, last - first, next_last - next_first


def _sequence(runs: list[Run]) -> str:
    if len(runs) == 1:
        return _run(runs[0])
    return f"{_run(runs[0])},{_run(runs[1])},..,{_run(runs[-1])}"


def _run(run: Run) -> str:
    first, last = run
    return str(first) if first == last else f"{first}-{last}"
