"""Reads the plan of a job, as bind writes it or with every rank spelt out: hostile until it is read."""

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from advisor.errors import AdvisorError, BadInput, BadValue, in_words
from advisor.jobs import folded_plan
from advisor.jobs.folded_plan import FoldedPlan, PlannedHosts, PlannedNode
from advisor.jobs.observed_binding import PlannedBinding, PlannedRank
from advisor.jobs.started.hosts import MOST as MOST_HOSTS
from advisor.jobs.started.hosts import expand
from advisor.machine.cpuset import CpuSet, bounded_sets
from advisor.machine.hosts.files import open_here
from advisor.machine.hosts.source import LARGEST_DOCUMENT, read_json
from advisor.machine.topology import Topology

FAMILY: Final = "advisor-plan/"
SPELT_OUT: Final = "advisor-plan/1"
MOST: Final = 1 << 20
"""Ranks of a plan: as many as reports are read of."""
_ROOM = 720 << 20
"""Bytes that the values of a plan may announce: those of 500,000 ranks spelt out, as many as a document may have."""
_PARTS = 100_000
"""Objects that are no ranks: those of a topology, and the slots of unlike nodes."""
_CURE = "write it with advisor bind -o DIR -- ./app"
_KEYS = ("rank", "host", "local", "cpus", "memory", "nodes")
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
    if schema == folded_plan.SCHEMA:
        return PlannedBinding(ranks=tuple(unfolded(_folded(data))), topology=_topology(data))
    if isinstance(schema, str) and schema.startswith(FAMILY) and schema != SPELT_OUT:
        problem = f"its schema is {schema[:40]}, this advisor reads {SPELT_OUT} and {folded_plan.SCHEMA}"
        raise BadInput(problem, cure="update advisor")
    return PlannedBinding(ranks=_spelt_out(data.get("ranks")), topology=_topology(data))


def _folded(data: dict[str, Any]) -> FoldedPlan:
    try:
        return FoldedPlan.model_validate_json(json.dumps({key: data[key] for key in ("schema", "nodes", "hosts") if key in data}))
    except ValidationError as error:
        raise _first_of(error, "") from error
    except TypeError as error:  # a rank of the other form, which is a value already
        raise BadInput(f"ranks one by one are no part of {folded_plan.SCHEMA}", cure=_CURE) from error


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
    places = [(local, slot.cpus, slot.memory or None, slot.numa_nodes) for local, slot in enumerate(slots[:each])]
    at = iter(numbers)
    for host in names:
        for local, cpus, memory, own in places:
            yield PlannedRank(rank=next(at), host=host, local=local, cpus=cpus, memory=memory, nodes=own)


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
