"""A job's plan, as bind writes it for verify and as it is read back: hostile until then."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from advisor.errors import AdvisorError, BadInput, BadValue, in_words
from advisor.jobs.observe import PlannedBinding, PlannedRank
from advisor.jobs.placement import MemoryPolicy, Placement, Slot
from advisor.jobs.started.hosts import MOST as MOST_HOSTS
from advisor.jobs.started.hosts import expand
from advisor.machine.cpuset import CpuSet, bounded_sets
from advisor.machine.hosts.files import open_here
from advisor.machine.hosts.source import LARGEST_DOCUMENT, read_json
from advisor.machine.topology import Topology
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
    policy: MemoryPolicy | None = Field(
        default=None, description="prefer: from these nodes first; only: from no others; null: as it is by default"
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
    own = {name: getattr(slot, name) for name in ("cpus", "memory", "policy", "hca", "gpu")}
    return PlannedSlot(numa_nodes=slot.nodes, **own)


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


FAMILY: Final = "advisor-plan/"
SPELT_OUT: Final = "advisor-plan/1"
MOST: Final = 1 << 20
"""Ranks of a plan: as many as reports are read of."""
_ROOM = 720 << 20
"""Bytes that the values of a plan may announce: those of 500,000 ranks spelt out, as many as a document may have."""
_PARTS = 100_000
"""Objects that are no ranks: those of a topology, and the slots of unlike nodes."""
_CURE = "write it with advisor bind -o DIR -- ./app"
_KEYS = ("rank", "host", "local", "cpus", "memory", "policy", "nodes")
_RANK: Final = TypeAdapter(PlannedRank)


def read_bytes(name: str, what: str) -> bytes:
    """Return what a file holds, or standard input for ``-``; never more than any plan has."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(LARGEST_DOCUMENT + 1)
        else:
            with open_here(name) as file:
                data = file.read(LARGEST_DOCUMENT + 1) or b""
    except OSError as error:
        cure = _CURE if what == "plan" else None
        raise BadInput((error.strerror or "cannot be read").lower(), file=name, cure=cure) from error
    if len(data) > LARGEST_DOCUMENT:
        raise BadInput(f"larger than any {what}", file=name, cure="refused as unsafe")
    return data


def plan_in(name: str) -> PlannedBinding:
    """Return the plan that a file holds: its ``ranks``, and its ``topology`` where it has one."""
    reader = _Ranks()
    try:
        with bounded_sets():
            return _plan(read_json(read_bytes(name, "plan"), _CURE, room=_ROOM, hook=reader.read))
    except BadInput as error:
        raise error.within(name) from error


class _Ranks:
    """Turns each rank of a document into its value as soon as it is read: half a million are never held as texts."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._count = self._others = 0

    def read(self, each: dict[str, Any]) -> Any:
        """Return a rank, or any other object as it is."""
        if "rank" not in each or "cpus" not in each:
            self._others += 1
            if self._others > _PARTS:
                raise BadInput(f"more than {_PARTS} objects that are no ranks", cure="refused as unsafe")
            return each
        place = f"ranks[{self._count}]"
        self._count += 1
        if isinstance(each.get("host"), str):
            each["host"] = self._words.setdefault(each["host"], each["host"])
        return _planned(each, place)


def _plan(data: Any) -> PlannedBinding:
    if not isinstance(data, dict):
        raise BadInput("not a plan: no JSON object", cure=_CURE)
    schema = data.get("schema")
    if schema == SCHEMA:
        return PlannedBinding(ranks=tuple(unfolded(_folded(data))), topology=_topology(data))
    if isinstance(schema, str) and schema.startswith(FAMILY) and schema != SPELT_OUT:
        problem = f"its schema is {schema[:40]}, this advisor reads {SPELT_OUT} and {SCHEMA}"
        raise BadInput(problem, cure="update advisor")
    return PlannedBinding(ranks=_spelt_out(data.get("ranks")), topology=_topology(data))


def _folded(data: dict[str, Any]) -> FoldedPlan:
    try:
        return FoldedPlan.model_validate_json(json.dumps({key: data[key] for key in ("schema", "nodes", "hosts") if key in data}))
    except ValidationError as error:
        raise _first_of(error, "") from error
    except TypeError as error:  # a rank of the other form, which is a value already
        raise BadInput(f"ranks one by one are no part of {SCHEMA}", cure=_CURE) from error


def unfolded(plan: FoldedPlan) -> list[PlannedRank]:
    """Return each rank of a plan, in order."""
    found: dict[int, PlannedRank] = {}
    for at, entry in enumerate(plan.hosts):
        try:
            for rank in _ranks_of(entry, plan.nodes, MOST - len(found)):
                _once(found, rank)
        except BadInput as error:
            raise BadInput(error.problem, place=f"hosts[{at}]", cure=_CURE) from error
    if not found:
        raise BadInput("not a plan: it has no ranks", cure=_CURE)
    return [found[rank] for rank in sorted(found)]


def _once(found: dict[int, PlannedRank], rank: PlannedRank) -> None:
    if found.setdefault(rank.rank, rank) is not rank:
        raise BadValue(f"rank {rank.rank} occurs twice")


def _ranks_of(entry: PlannedHosts, nodes: tuple[PlannedNode, ...], most: int) -> Iterator[PlannedRank]:
    """Yield the ranks of an entry, of no more hosts than ranks and no more ranks than there is room for."""
    if entry.node >= len(nodes):
        raise BadValue(f"there is no node {entry.node}")
    numbers, names, slots = _numbers(entry.ranks), _names(entry.names), nodes[entry.node].slots
    each, rest = divmod(len(numbers), len(names))
    if rest or not 0 < each <= len(slots):
        raise BadValue(f"it has {len(numbers)} ranks for {len(names)} hosts with {len(slots)} slots each")
    if len(numbers) > most:
        raise BadValue(f"more than {MOST} ranks")
    places = [(local, slot.cpus, slot.memory or None, slot.policy, slot.numa_nodes) for local, slot in enumerate(slots[:each])]
    at = iter(numbers)
    for host in names:
        for local, cpus, memory, policy, own in places:
            yield PlannedRank(rank=next(at), host=host, local=local, cpus=cpus, memory=memory, policy=policy, nodes=own)


def _numbers(text: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except BadValue as error:
        raise BadValue(f"{text[:40]!a} is not a list of ranks below {MOST}") from error


def _names(texts: tuple[str, ...] | None) -> list[str | None]:
    """Return the hosts that some texts name: one without a name where there are none."""
    if texts is None:
        return [None]
    names: list[str | None] = []
    for text in texts:
        names += expand(text)
        if len(names) > MOST_HOSTS:
            raise BadValue(f"more than {MOST_HOSTS} hosts")
    if not names:
        raise BadValue("it names no host")
    return names


def _spelt_out(ranks: Any) -> tuple[PlannedRank, ...]:
    if not isinstance(ranks, list) or not ranks:
        raise BadInput("not a plan: it has no list of ranks", cure=_CURE)
    planned: dict[int, PlannedRank] = {}
    for at, each in enumerate(ranks):
        place = f"ranks[{at}]"
        try:
            _once(planned, each if isinstance(each, PlannedRank) else _planned(each, place))
        except BadValue as error:
            raise BadInput(error.problem, place=place, cure=_CURE) from error
    return tuple(planned.values())


def _planned(each: object, place: str) -> PlannedRank:
    if not isinstance(each, dict):
        raise BadInput("not a rank", place=place, cure=_CURE)
    taken = {key: each[key] for key in _KEYS if key in each}
    if "nodes" not in taken and isinstance(each.get("numa_nodes"), list):
        taken["nodes"] = each["numa_nodes"]
    try:
        if isinstance(taken.get("memory"), str):
            taken["memory"] = list(_nodes(taken["memory"]))
        return _RANK.validate_json(json.dumps(taken))
    except ValidationError as error:
        raise _first_of(error, place) from error
    except BadInput as error:
        raise BadInput(error.problem, place=place, cure=_CURE) from error


def _first_of(error: ValidationError, place: str) -> BadInput:
    """Return the first mistake of several, with its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    keys = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"])
    return BadInput(in_words(first["msg"])[:120], place=f"{place}{keys}".removeprefix(".")[:120], cure=_CURE)


def _nodes(text: str) -> CpuSet:
    """Return the NUMA nodes of a list; Linux knows 1,024 of them."""
    found = CpuSet.parse(text)
    if len(found) > _NODES:
        raise BadInput(f"{len(found)} NUMA nodes, more than the {_NODES} that Linux knows", cure=_CURE)
    return found


_NODES = 1024


def _topology(data: dict[str, Any]) -> Topology | None:
    """Return the topology that a document has; one that cannot be read is only not used."""
    try:
        return Topology.model_validate_json(json.dumps(data["topology"])) if data.get("topology") else None
    except (ValidationError, AdvisorError, TypeError):
        return None
