"""Plans as files: what `advisor bind` wrote, read back and believed in nothing."""

import json
import sys
from typing import Any

from pydantic import ValidationError

from advisor.errors import AdvisorError, BadInput
from advisor.host.files import open_here
from advisor.host.source import LARGEST_DOCUMENT, read_json
from advisor.model.cpuset import CpuSet, bounded_sets
from advisor.model.hardware.topology import Topology
from advisor.model.observed_binding import PlannedBinding, PlannedRank

SCHEMA = "advisor-plan/"
_ROOM = 800 << 20
"""Bytes that the values of a plan may announce: about 500,000 ranks, as the largest systems have, which take half of it."""
_PARTS = 100_000
"""Objects that are no ranks: those of a topology."""
_CURE = "write it with advisor bind -o DIR"
_KEYS = ("rank", "host", "local", "cpus", "memory", "nodes")


def read_bytes(name: str, what: str) -> bytes:
    """Return what a file holds, or standard input for ``-``; never more than any plan has."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(LARGEST_DOCUMENT + 1)
        else:
            with open_here(name) as file:
                data = file.read(LARGEST_DOCUMENT + 1) or b""
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=name) from error
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
    schema, ranks = data.get("schema"), data.get("ranks")
    if isinstance(schema, str) and schema.startswith(SCHEMA) and schema != f"{SCHEMA}1":
        raise BadInput(f"its schema is {schema[:40]}, this advisor reads {SCHEMA}1", cure="update advisor")
    if not isinstance(ranks, list) or not ranks:
        raise BadInput("not a plan: it has no list of ranks", cure=_CURE)
    planned: dict[int, PlannedRank] = {}
    for at, each in enumerate(ranks):
        place = each if isinstance(each, PlannedRank) else _planned(each, f"ranks[{at}]")
        if planned.setdefault(place.rank, place) is not place:
            raise BadInput(f"rank {place.rank} stands twice", place=f"ranks[{at}]", cure=_CURE)
    return PlannedBinding(ranks=tuple(planned.values()), topology=_topology(data))


def _planned(each: object, place: str) -> PlannedRank:
    if not isinstance(each, dict):
        raise BadInput("not a rank", place=place, cure=_CURE)
    taken = {key: each[key] for key in _KEYS if key in each}
    if "nodes" not in taken and isinstance(each.get("numa_nodes"), list):
        taken["nodes"] = each["numa_nodes"]
    try:
        if isinstance(taken.get("memory"), str):
            taken["memory"] = list(_nodes(taken["memory"]))
        return PlannedRank.model_validate_json(json.dumps(taken))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join([place, *map(str, first["loc"])])[:120]
        raise BadInput(first["msg"][:120], place=at, cure=_CURE) from error
    except BadInput as error:
        raise BadInput(error.problem, place=place, cure=_CURE) from error


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
