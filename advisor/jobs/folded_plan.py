"""A plan as bind writes it for verify: each kind of node once, hosts as sets of names, ranks as ranges. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import ConfigDict, Field

from advisor.jobs.placement import Placement, Slot
from advisor.machine.cpuset import CpuSet
from advisor.machine.value import Value

SCHEMA: Final = "advisor-plan/2"
"""The number rises when a key changes meaning or goes; advisor-plan/1 has every rank for itself."""


class PlannedSlot(Value):
    """One rank's place on a node of its kind."""

    model_config = ConfigDict(extra="ignore")

    cpus: CpuSet = Field(description="its CPUs by the kernel's numbers")
    numa_nodes: tuple[int, ...] | None = Field(default=None, description="NUMA nodes of its CPUs; null: the plan does not say")
    memory: tuple[int, ...] | None = Field(
        default=None, description="NUMA nodes its memory shall come from; null or empty: not planned"
    )
    hca: str | None = Field(default=None, description="the adapter it should use")
    gpu: str | None = Field(default=None, description="address of the GPU it should use")


class PlannedNode(Value):
    """One kind of node."""

    model_config = ConfigDict(extra="ignore")

    slots: tuple[PlannedSlot, ...] = Field(description="in the order of local ranks")


class PlannedHosts(Value):
    """Hosts of one kind, and their ranks: each host has as many, in its node's first slots, the first host the first of them."""

    model_config = ConfigDict(extra="ignore")

    names: tuple[str, ...] | None = Field(
        description="in the order of their ranks: names, or sets of them such as node[001-400]; null for one node without a name"
    )
    node: int = Field(ge=0, description="position in nodes")
    ranks: str = Field(
        description="in rising order, as the kernel writes lists: 0-1023,4096-5119, or 0-1023:1/8 for every eighth"
    )


class FoldedPlan(Value):
    """The plan of a job: every rank is in one entry of hosts, and an entry's ranks are as many as its hosts times their ranks."""

    model_config = ConfigDict(extra="ignore")

    schema_: Annotated[Literal["advisor-plan/2"], Field(alias="schema")] = SCHEMA
    nodes: tuple[PlannedNode, ...]
    hosts: tuple[PlannedHosts, ...]


class HostRanks(NamedTuple):
    """One host: its name, the position of its kind of node, its ranks in the order of local ranks."""

    name: str | None
    node: int
    ranks: range


def fold(placement: Placement, *, sets: bool = True) -> FoldedPlan:
    """Return a placement's plan; without ``sets`` each host has a text of its own, for what puts other names in their places."""
    kinds: dict[tuple[Slot, ...], int] = {}
    numbers = [kinds.setdefault(plan.slots, len(kinds)) for plan in placement.plans]
    nodes = tuple(PlannedNode(slots=tuple(map(_slot, slots))) for slots in kinds)
    return FoldedPlan(nodes=nodes, hosts=tuple(folded_hosts(_hosts(placement, numbers), sets=sets)))


def _slot(slot: Slot) -> PlannedSlot:
    return PlannedSlot(cpus=slot.cpus, numa_nodes=slot.nodes, memory=slot.memory, hca=slot.hca, gpu=slot.gpu)


def _hosts(placement: Placement, numbers: Sequence[int]) -> Iterator[HostRanks]:
    first = 0
    for host in placement.hosts:
        if host.ranks:
            yield HostRanks(host.name, numbers[host.plan], range(first, first + host.ranks))
        first += host.ranks


def folded_hosts(hosts: Iterable[HostRanks], *, sets: bool = True) -> Iterator[PlannedHosts]:
    """Yield hosts with as many ranks on the same kind of node together, in their order; hosts with every n-th rank each alone."""
    alike: dict[tuple[int, int, int], list[HostRanks]] = {}
    for host in hosts:
        run = alike.setdefault((host.node, len(host.ranks), host.ranks.step), [])
        if run and not _follows(run[-1], host):
            yield _entry(run, sets=sets)
            run.clear()
        run.append(host)
    yield from (_entry(run, sets=sets) for run in alike.values() if run)


def _follows(before: HostRanks, host: HostRanks) -> bool:
    """Return whether one entry can have both hosts: they have names, and their ranks follow each other."""
    return None not in (before.name, host.name) and host.ranks.step == 1 and before.ranks[-1] < host.ranks[0]


def _entry(hosts: list[HostRanks], *, sets: bool) -> PlannedHosts:
    names = [host.name for host in hosts if host.name is not None]
    texts = [",".join(folded_in_order(names))] if sets else names
    return PlannedHosts(names=tuple(texts) if names else None, node=hosts[0].node, ranks=",".join(_ranges(hosts)))


def _ranges(hosts: Iterable[HostRanks]) -> Iterator[str]:
    """Yield the ranges of the hosts' ranks, neighbours joined."""
    first = last = -2
    for ranks in (host.ranks for host in hosts):
        if ranks.step != 1:
            yield f"{ranks[0]}-{ranks[-1]}:1/{ranks.step}"
        elif ranks[0] == last + 1:
            last = ranks[-1]
        else:
            if last >= 0:
                yield _range(first, last)
            first, last = ranks[0], ranks[-1]
    if last >= 0:
        yield _range(first, last)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


_NUMBERED: Final = re.compile(r"(.*?)(\d{1,9})(\D*)", re.ASCII)


def folded_in_order(names: Iterable[str]) -> Iterator[str]:
    """Yield names in few texts, as Slurm writes them, in the same order.

    >>> list(folded_in_order(["n08", "n09", "n10", "n05", "head", "n11"]))
    ['n[08-10,05]', 'head', 'n11']
    """
    for key, group in groupby(map(_parts, names), key=lambda parts: parts[:3]):
        before, wide, after = key
        runs: list[list[int]] = []
        for *_, number in group:
            if runs and number == runs[-1][1] + 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        inside = ",".join(f"{a:0{wide}d}" if a == b else f"{a:0{wide}d}-{b:0{wide}d}" for a, b in runs)
        if not wide:
            yield from [before] * len(runs)
        else:
            yield f"{before}{inside}{after}" if inside.isdecimal() else f"{before}[{inside}]{after}"


def _parts(name: str) -> tuple[str, int, str, int]:
    """Return what is before the last number of a name, its digits, what is behind it, and the number."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], len(match[2]), match[3], int(match[2])) if match else (name, 0, "", 0)
