"""Rankfiles in the dialect that Open MPI 4 and 5 both read: ``rank 7=node03 slot=4-7,12``, from rank 0, in order.

Both versions mistake other things for this, silently: socket:core pairs, ``p`` for physical, ranges that run
backwards, ranks given twice. So nothing else is written, and nothing else is read back.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from advisor.errors import BadValue
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import LogicalNumbering, logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import NodePlan, Placement

Count = Literal["core", "thread", "os core", "os"]
"""What a rankfile's numbers are.

Logical cores, logical hardware threads, or the kernel's CPU numbers: of each core its first CPU, which stands for the
whole core, or of just these CPUs.
"""

LOCAL = "localhost"
"""What the one host without a name is called."""

_LINE = re.compile(r"rank\s+(\d{1,9})\s*=\s*([A-Za-z0-9][A-Za-z0-9._-]{0,254})\s+slot\s*=\s*([0-9,-]{1,4096})", re.ASCII)
_COMMENT = re.compile(r"(#|//).*")


@dataclass(frozen=True)
class Seat:
    """Where a rankfile puts a rank."""

    host: str
    cpus: CpuSet


def slot_text(cpus: CpuSet, known: LogicalNumbering, count: Count) -> str:
    """Return a rank's slot list."""
    if count == "os":
        return str(cpus)
    if count == "os core":
        return str(CpuSet(known.cores[number].first or 0 for number in known.core_numbers(cpus)))
    return str(known.core_numbers(cpus) if count == "core" else known.pu_numbers(cpus))


def rankfile(placement: Placement, count: Count = "core") -> Callable[[], Iterator[str]]:
    """Return what yields a placement's rankfile line by line, without line ends; nothing is kept but one node's slots."""
    texts = [_texts(plan, count) for plan in placement.plans]

    def lines() -> Iterator[str]:
        rank = 0
        for host in placement.hosts:
            name = host.name or LOCAL
            for text in texts[host.plan][: host.ranks]:
                yield f"rank {rank}={name} slot={text}"
                rank += 1

    return lines


def longest(placement: Placement, count: Count, *, with_host: bool) -> int:
    """Return the length of the longest slot list, or of host name and slot list together."""
    lengths = [[len(text) for text in _texts(plan, count)] for plan in placement.plans]
    most = 0
    for host in placement.hosts:
        name = len(host.name or LOCAL) if with_host else 0
        most = max(most, name + max(lengths[host.plan][: host.ranks], default=0))
    return most


def _texts(plan: NodePlan, count: Count) -> list[str]:
    known = logical_numbering(plan.topology)
    return [slot_text(slot.cpus, known, count) for slot in plan.slots]


def parse_rankfile(lines: Iterable[str], topologies: Mapping[str, Topology], count: Count = "core") -> dict[int, Seat]:
    """Return where each rank sits, in the kernel's CPU numbers; raise BadValue at what either version would get wrong."""
    known = {host: logical_numbering(topology) for host, topology in topologies.items()}
    seats: dict[int, Seat] = {}
    seen: dict[tuple[str, str], Seat] = {}
    for position, line in enumerate(lines, 1):
        text = _COMMENT.sub("", line).strip()
        if not text:
            continue
        try:
            host, slots = _entry(text, len(seats), known)
            if (host, slots) not in seen:
                seen[host, slots] = Seat(host, _cpus(slots, known[host], count))
        except BadValue as error:
            raise BadValue(error.problem, place=f"line {position}", cure=error.cure) from error
        seats[len(seats)] = seen[host, slots]
    return seats


def _entry(text: str, rank: int, known: Mapping[str, LogicalNumbering]) -> tuple[str, str]:
    match = _LINE.fullmatch(text)
    if not match:
        raise BadValue(f"{text[:60]!r} is not a rank", cure="expected such as: rank 0=node01 slot=0-3")
    if int(match[1]) != rank:
        raise BadValue(f"rank {match[1]} where rank {rank} was expected", cure="write ranks in order, each once")
    if match[2] not in known:
        raise BadValue(f"nothing is known of host {match[2]}")
    return match[2], match[3]


def _cpus(slots: str, known: LogicalNumbering, count: Count) -> CpuSet:
    numbers = CpuSet.parse(slots)
    if count == "core":
        return known.cores_cpus(numbers)
    if count == "thread":
        return known.pus_cpus(numbers)
    cores = known.cores_cpus(known.core_numbers(numbers))  # refuses CPUs that are not there
    return cores if count == "os core" else numbers
