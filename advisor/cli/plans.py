"""Plans as files: what `advisor bind` wrote, read back and believed in nothing."""

import json
import sys
from typing import Any

from pydantic import ValidationError

from advisor.errors import AdvisorError, BadInput
from advisor.host.files import open_here
from advisor.model.cpuset import CpuSet
from advisor.model.observation import Plan, Planned
from advisor.model.topology import Topology

SCHEMA = "advisor-plan/"
_LARGEST = 256 << 20
_RANKS = 1 << 20
_CURE = "write it with advisor bind -o DIR"
_KEYS = ("rank", "host", "local", "cpus", "memory", "nodes")


def read_bytes(name: str, what: str) -> bytes:
    """Return what a file holds, or standard input for ``-``; never more than any plan has."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with open_here(name) as file:
                data = file.read(_LARGEST + 1) or b""
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=name) from error
    if len(data) > _LARGEST:
        raise BadInput(f"larger than any {what}", file=name, cure="refused as unsafe")
    return data


def document(name: str) -> dict[str, Any]:
    """Return the JSON object that a file holds."""
    try:
        found: Any = json.loads(read_bytes(name, "plan"))
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else None
        raise BadInput("not well-formed JSON", file=name, place=where, cure=_CURE) from error
    if not isinstance(found, dict):
        raise BadInput("not a plan: no JSON object", file=name, cure=_CURE)
    return found


def plan_of(data: dict[str, Any], name: str) -> Plan:
    """Return the plan of a document: its ``ranks``, and its ``topology`` where it has one."""
    schema, ranks = data.get("schema"), data.get("ranks")
    if isinstance(schema, str) and schema.startswith(SCHEMA) and schema != f"{SCHEMA}1":
        raise BadInput(f"its schema is {schema[:40]}, this advisor reads {SCHEMA}1", file=name, cure="update advisor")
    if not isinstance(ranks, list) or not ranks:
        raise BadInput("not a plan: it has no list of ranks", file=name, cure=_CURE)
    if len(ranks) > _RANKS:
        raise BadInput(f"more than {_RANKS} ranks", file=name, cure="refused as unsafe")
    planned: dict[int, Planned] = {}
    for at, each in enumerate(ranks):
        place = _planned(each, f"ranks[{at}]", name)
        if planned.setdefault(place.rank, place) is not place:
            raise BadInput(f"rank {place.rank} stands twice", file=name, place=f"ranks[{at}]", cure=_CURE)
    return Plan(ranks=tuple(planned.values()), topology=_topology(data))


def _planned(each: object, place: str, name: str) -> Planned:
    if not isinstance(each, dict):
        raise BadInput("not a rank", file=name, place=place, cure=_CURE)
    taken = {key: each[key] for key in _KEYS if key in each}
    if "nodes" not in taken and isinstance(each.get("numa_nodes"), list):
        taken["nodes"] = each["numa_nodes"]
    try:
        if isinstance(taken.get("memory"), str):
            taken["memory"] = list(CpuSet.parse(taken["memory"]))
        return Planned.model_validate_json(json.dumps(taken))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join([place, *map(str, first["loc"])])[:120]
        raise BadInput(first["msg"][:120], file=name, place=at, cure=_CURE) from error
    except BadInput as error:
        raise BadInput(error.problem, file=name, place=place, cure=_CURE) from error


def _topology(data: dict[str, Any]) -> Topology | None:
    """Return the topology that a document has; one that cannot be read is only not used."""
    try:
        return Topology.model_validate_json(json.dumps(data["topology"])) if data.get("topology") else None
    except (ValidationError, AdvisorError):
        return None
