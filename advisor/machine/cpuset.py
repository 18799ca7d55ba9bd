"""Sets of CPUs (or of NUMA nodes): one canonical text, set algebra, hostile input refused."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from advisor.errors import BadValue

LIMIT = 1 << 20
"""Numbers from here on are refused; Linux stops far earlier (kernel_max is 8191 on the largest builds)."""

# The kernel's list format, with its stride form: 0-3,8,16-31:2/4 (Documentation/admin-guide/kernel-parameters).
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7})/(\d{1,7}))?)?", re.ASCII)
_LONGEST = 1 << 22
"""Characters of a list or mask; one of every other number below LIMIT has 3.6 million."""
_HEX = re.compile(r"(?:0x)?[0-9a-f]{1,8}", re.ASCII | re.IGNORECASE)


ROOM = 64 << 20
"""Bytes that the sets of one document may take; those of 4,096 CPUs in 64 NUMA nodes take 3 MiB."""
_EACH, _SHORT = 128, 64
"""Bytes of a set beside its bits; characters of a text that is kept, so that a set named again takes no memory again."""


class TooManySets(BadValue):
    """The sets of a document would fill the memory: nothing more of it is read."""


class _Room:
    """What is left of the memory for the sets of a document, and those that were read already."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.known: dict[str, CpuSet] = {}

    def take(self, text: str, bits: int) -> None:
        """Take what a new set needs; raise TooManySets where it is not there."""
        self.left -= bits.bit_length() // 8 + _EACH
        if self.left < 0:
            raise TooManySets(f"the CPU sets up to {_short(text)} would fill the memory", cure="refused as unsafe")


_room: ContextVar[_Room | None] = ContextVar("_room", default=None)


@contextmanager
def bounded_sets() -> Iterator[None]:
    """Bound the memory of all sets that are read inside: seven letters may name a million CPUs, again and again."""
    token = _room.set(_Room(ROOM))
    try:
        yield
    finally:
        _room.reset(token)


class CpuSet:
    """An immutable set of CPU numbers.

    >>> str(CpuSet.parse("8,0-3") | CpuSet([4]))
    '0-4,8'
    >>> 2 in CpuSet.parse("0-3"), len(CpuSet.parse("0-3,8"))
    (True, 5)
    """

    __slots__ = ("_bits",)

    def __init__(self, cpus: Iterable[int] = ()) -> None:
        runs = [(cpu, cpu) for cpu in cpus]
        for cpu, _ in runs:
            if not 0 <= cpu < LIMIT:
                raise BadValue(f"CPU number {cpu} is out of range", cure=f"numbers go from 0 to {LIMIT - 1}")
        self._bits = _bits_of(runs)

    @classmethod
    def from_bits(cls, bits: int) -> "CpuSet":
        """Return the set whose members are the one bits of a number."""
        if bits < 0 or bits.bit_length() > LIMIT:
            raise BadValue("CPU mask is out of range", cure=f"numbers go from 0 to {LIMIT - 1}")
        new = cls.__new__(cls)
        new._bits = bits
        return new

    @classmethod
    def span(cls, first: int, last: int) -> "CpuSet":
        """Return the CPUs from first to last, both included."""
        return cls.from_bits(((1 << (last - first + 1)) - 1) << first) if last >= first else cls()

    @classmethod
    def parse(cls, text: str) -> "CpuSet":
        """Return the set that a kernel list such as ``0-3,8`` names; the empty text is the empty set."""
        return cls._read(text, _list_bits)

    @classmethod
    def from_mask(cls, text: str) -> "CpuSet":
        """Return the set of a mask as the kernel (``ff,0000000f``) or hwloc (``0xff,,0xf``) writes it.

        hwloc writes a set without end as ``0xf...f,...``: it is cut at LIMIT.
        """
        return cls._read(text, _mask_bits)

    @classmethod
    def _read(cls, text: str, bits_of: Callable[[str], int]) -> "CpuSet":
        """Return the set of a text, the same one for the same text inside of ``bounded_sets``."""
        if len(text) > _LONGEST:
            raise BadValue(f"{_short(text)} is {len(text)} characters long", cure=f"numbers go from 0 to {LIMIT - 1}")
        if (room := _room.get()) is None:
            return cls.from_bits(bits_of(text))
        key = f"{bits_of.__name__} {text}"
        known = room.known.get(key)
        if known is None:
            known = cls.from_bits(bits_of(text))
            room.take(text, known._bits)
            if len(text) <= _SHORT:
                room.known[key] = known
        return known

    @property
    def bits(self) -> int:
        """The set as a number, one bit a member."""
        return self._bits

    @property
    def first(self) -> int | None:
        """The smallest member, or None of the empty set."""
        return (self._bits & -self._bits).bit_length() - 1 if self._bits else None

    @property
    def last(self) -> int | None:
        """The largest member, or None of the empty set."""
        return self._bits.bit_length() - 1 if self._bits else None

    def mask(self) -> str:
        """Return the set as hexadecimal words, the kernel's way: ``000000ff,0000000f``."""
        words = max(1, (self._bits.bit_length() + 31) // 32)
        return ",".join(f"{(self._bits >> (32 * i)) & 0xFFFFFFFF:08x}" for i in reversed(range(words)))

    def __str__(self) -> str:
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self.ranges())

    def __repr__(self) -> str:
        return f"CpuSet({str(self)!r})"

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last number of each run, in rising order."""
        if self._bits.bit_count() > 64:
            yield from self._long_ranges()
            return
        bits, base = self._bits, 0
        while bits:
            skip = (bits & -bits).bit_length() - 1
            bits >>= skip
            run = (~bits & (bits + 1)).bit_length() - 1
            yield base + skip, base + skip + run - 1
            bits >>= run
            base += skip + run

    def _long_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the runs by the digits, lowest first: shifting once a run takes quadratic time for 0,2,4,..."""
        digits = f"0{self._bits:b}"[::-1]
        first = digits.find("1")
        while first >= 0:
            end = digits.find("0", first)
            yield first, end - 1
            first = digits.find("1", end)

    def __iter__(self) -> Iterator[int]:
        for first, last in self.ranges():
            yield from range(first, last + 1)

    def __len__(self) -> int:
        return self._bits.bit_count()

    def __bool__(self) -> bool:
        return self._bits != 0

    def __contains__(self, cpu: object) -> bool:
        return isinstance(cpu, int) and cpu >= 0 and bool(self._bits >> cpu & 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CpuSet) and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)

    def __and__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.from_bits(self._bits & other._bits)

    def __or__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.from_bits(self._bits | other._bits)

    def __xor__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.from_bits(self._bits ^ other._bits)

    def __sub__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.from_bits(self._bits & ~other._bits)

    def __le__(self, other: "CpuSet") -> bool:
        return not self._bits & ~other._bits

    def __lt__(self, other: "CpuSet") -> bool:
        return self._bits != other._bits and self <= other

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        del source, handler
        from_text = core_schema.no_info_after_validator_function(_from_json, core_schema.str_schema(max_length=1 << 22))
        return core_schema.json_or_python_schema(
            json_schema=from_text,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), from_text]),
            serialization=core_schema.to_string_ser_schema(),
        )


def union(sets: Iterable[CpuSet]) -> CpuSet:
    """Return everything that is in any of the sets."""
    bits = 0
    for each in sets:
        bits |= each.bits
    return CpuSet.from_bits(bits)


def _from_json(text: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except TooManySets:
        raise  # pydantic would gather one error for each of them
    except BadValue as error:
        raise ValueError(str(error)) from error


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _list_bits(text: str) -> int:
    budget = iter(range(LIMIT))
    parts = text.strip().split(",") if text.strip() else ()
    return _bits_of([run for part in parts for run in _runs(part.strip(), text, budget)])


def _mask_bits(text: str) -> int:
    words = text.strip().lower().split(",")
    endless = words[0] in ("0xf...f", "f...f")
    if endless:
        words = words[1:]
    if len(words) > LIMIT // 32:
        raise BadValue(f"CPU mask of {len(words)} words is too long", cure=f"numbers go from 0 to {LIMIT - 1}")
    if not all(_HEX.fullmatch(word) for word in words if word):
        raise BadValue(f"{_short(text)} is not a CPU mask", cure="expected hexadecimal words such as 0xff,0x0000000f")
    bits = int("".join(word.removeprefix("0x").zfill(8) for word in words) or "0", 16)
    return bits | (((1 << LIMIT) - 1) >> (32 * len(words)) << (32 * len(words)) if endless else 0)


def _bits_of(runs: list[tuple[int, int]]) -> int:
    """Return the number whose one bits are the members of some runs, in time that grows with them and not with their square."""
    if len(runs) < 16:
        bits = 0
        for first, last in runs:
            bits |= ((1 << (last - first + 1)) - 1) << first
        return bits
    digits, end = [], 0
    for first, last in sorted(runs):
        start = max(first, end)
        if last >= start:
            digits += ["0" * (start - end), "1" * (last - start + 1)]
            end = last + 1
    return int("".join(digits)[::-1] or "0", 2)


def _runs(part: str, text: str, budget: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs that a part of a list names; a stride's groups take from the budget."""
    match = _RANGE.fullmatch(part)
    if not match:
        raise BadValue(f"{_short(part)} in {_short(text)} is not a CPU or a range", cure="expected a list such as 0-3,8")
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    if last < first:
        raise BadValue(f"range {part} in {_short(text)} runs backwards", cure=f"write {last}-{first}")
    if last >= LIMIT:
        raise BadValue(f"CPU number {last} is out of range", cure=f"numbers go from 0 to {LIMIT - 1}")
    if match[3] is None:
        yield first, last
        return
    used, group = int(match[3]), int(match[4])
    if not 0 < used <= group:
        problem = f"stride {part} in {_short(text)} takes {used} numbers out of every {group}"
        raise BadValue(problem, cure="expected first-last:used/group")
    for start in range(first, last + 1, group):
        if next(budget, None) is None:
            raise BadValue(f"the strides in {_short(text)} give more than {LIMIT} runs", cure="expected a list such as 0-3,8")
        yield start, min(start + used - 1, last)
