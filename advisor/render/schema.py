"""The JSON documents of ``advisor topology``, ``advisor audit`` and ``advisor explain``, and the audit's JSON schema."""

from typing import Any, Final

from advisor.model.audit.findings import Audit, Explanation, Finding, Row
from advisor.model.hardware.devices import Gpu, Hca, Locality
from advisor.model.hardware.fault_counters import Watch
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Gap, Machine
from advisor.model.hardware.topology import Counts, Topology, counts
from advisor.model.value import Value
from advisor.render.audit.unseen import missing_facts

TOPOLOGY_SCHEMA: Final = "advisor-topology/1"
AUDIT_SCHEMA: Final = "advisor-audit/1"
EXPLAIN_SCHEMA: Final = "advisor-explain/1"
"""A number rises when a key changes meaning or goes."""


def topology_document(machine: Machine, layout: Layout) -> dict[str, Any]:
    """Return the document: plain JSON values, base units, the kernel's numbers."""
    whole = machine.topology
    inside = whole.inside if whole else None
    return {
        "schema": TOPOLOGY_SCHEMA,
        "name": machine.name,
        "counts": _counts(inside),
        "counts_whole": _counts(whole),
        **_layout(layout, whole),
        "hcas": None if machine.hcas is None else [_hca(hca) for hca in machine.hcas],
        "gpus": None if machine.gpus is None else [_gpu(gpu) for gpu in machine.gpus],
        **_parts(whole or Topology()),
        "gaps": [gap.model_dump(mode="json") for gap in machine.gaps],
        "machine": machine.model_dump(mode="json"),
    }


def audit_document(machine: Machine, layout: Layout, audit: Audit, watch: Watch | None = None) -> dict[str, Any]:
    """Return the document of ``advisor audit --json``: verdicts, settings, what could not be seen, and the whole machine.

    The counters of faults stand beside the machine, which holds nothing that changes by itself.
    """
    whole = machine.topology
    said = audit.model_dump(mode="json")
    return {
        "schema": AUDIT_SCHEMA,
        "name": machine.name,
        **{key: said[key] for key in ("scope", "platform", "platform_id", "vendor")},
        "findings": [each.model_dump(mode="json") for each in (*audit.found, *audit.others)],
        "settings": said["settings"],
        "unseen": [
            {
                "help": one.help,
                "facts": [{"why": why, "names": names} for why, names in one.facts.items()],
                "rules": list(one.rules),
            }
            for one in missing_facts(audit)
        ],
        "counts": _counts(whole.inside if whole else None),
        "counts_whole": _counts(whole),
        **_layout(layout, whole),
        "gaps": [gap.model_dump(mode="json") for gap in machine.gaps],
        "watch": None if watch is None else watch.model_dump(mode="json"),
        "machine": machine.model_dump(mode="json"),
    }


def explain_document(told: Explanation) -> dict[str, Any]:
    """Return the document of ``advisor explain --json``."""
    return {"schema": EXPLAIN_SCHEMA, **told.model_dump(mode="json")}


def _counts(topology: Topology | None) -> dict[str, int] | None:
    seen: Counts | None = counts(topology) if topology else None
    return seen.model_dump(mode="json") if seen else None


def _layout(layout: Layout, topology: Topology | None) -> dict[str, Any]:
    said = layout.model_dump(mode="json")
    table = topology.distances if topology else None
    rows = table.model_dump(mode="json") if table else {"nodes": None, "rows": None}
    return {**said, "distances": {**said["distances"], **rows}}


def _hca(hca: Hca) -> dict[str, Any]:
    keys = {"number", "state", "rate", "rate_name", "link_layer", "netdev"}
    ports = None if hca.ports is None else [port.model_dump(mode="json", include=keys) for port in hca.ports]
    return {"name": hca.name, **_place(hca.locality), "address": hca.address, "firmware": hca.firmware, "ports": ports}


def _gpu(gpu: Gpu) -> dict[str, Any]:
    keys = {"address", "card", "vendor", "model", "memory", "index", "driver_version"}
    return {**gpu.model_dump(mode="json", include=keys), **_place(gpu.locality)}


def _place(locality: Locality | None) -> dict[str, Any]:
    """Return where a device is; null where that is not known, and then why not."""
    if locality is None:
        return {"numa_nodes": None, "inferred": None}
    known = () if locality.one_of else locality.numa_nodes
    return {"numa_nodes": list(known) or None, "inferred": locality.inferred}


def _parts(topology: Topology) -> dict[str, Any]:
    """Every part of the whole topology with its CPUs, and what of it may be used."""
    return {
        "nodes": [
            {
                "os_index": node.os_index,
                "cpus": str(node.cpuset),
                "near": str(node.near),
                "memory": node.memory,
                "kind": node.kind,
                "package": topology.package_of(node.near),
            }
            for node in topology.nodes
        ],
        "packages": [{"os_index": package.os_index, "cpus": str(package.cpuset)} for package in topology.packages],
        "l3": [{"size": cache.size, "cpus": str(cache.cpuset)} for cache in topology.l3],
        "cores": [{"os_index": core.os_index, "cpus": str(core.cpuset)} for core in topology.cores],
        "allowed": {
            "cpus": str(topology.allowed & topology.pus),
            "nodes": str(topology.allowed_nodes),
            "limited": topology.limited,
        },
        "missing": {"cpus": str(topology.missing), "nodes": str(topology.missing_nodes)},
    }


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def audit_schema() -> dict[str, Any]:
    """Return the JSON schema of ``advisor audit --json``; the machine in it has its own, beside this one."""
    defs: dict[str, Any] = {}
    audit, layout = _own(Audit, defs)["properties"], _own(Layout, defs)["properties"]
    gaps = {"type": "array", "items": _named(Gap, defs)}
    counts = {"anyOf": [_named(Counts, defs), {"type": "null"}]}
    properties = {
        "schema": {"const": AUDIT_SCHEMA},
        "name": {"type": ["string", "null"], "description": "host name"},
        **{key: audit[key] for key in ("scope", "platform", "platform_id", "vendor")},
        "findings": {"type": "array", "items": _named(Finding, defs), "description": "every verdict, costly findings first"},
        "settings": {"type": "array", "items": _named(Row, defs)},
        "unseen": {"type": "array", "items": _UNSEEN, "description": "by what would help; most rules waiting first"},
        "counts": counts,
        "counts_whole": counts,
        **{key: layout[key] for key in layout if key != "distances"},
        "distances": {"type": "object", "properties": _distances(defs)},
        "gaps": gaps,
        "watch": {"anyOf": [_named(Watch, defs), {"type": "null"}], "description": "fault counters, read twice"},
        "machine": {"$ref": "machine.schema.json"},
    }
    return {
        "$schema": DIALECT,
        "title": AUDIT_SCHEMA,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "$defs": dict(sorted(defs.items())),
    }


_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_UNSEEN: Final = {
    "type": "object",
    "properties": {
        "help": {"type": "string", "description": "what would make the facts known"},
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"why": {"type": "string"}, "names": _TEXTS},
                "required": ["why", "names"],
            },
        },
        "rules": {**_TEXTS, "description": "the rules that wait for them"},
    },
    "required": ["help", "facts", "rules"],
}


def _distances(defs: dict[str, Any]) -> dict[str, Any]:
    whole = {"type": ["array", "null"], "items": {"type": "integer"}}
    table = {"nodes": whole, "rows": {"type": ["array", "null"], "items": {"type": "array", "items": {"type": "integer"}}}}
    return {**defs["DistanceTable"]["properties"], **table}


def _own(model: type[Value], defs: dict[str, Any]) -> dict[str, Any]:
    """Return a model's schema; what it is made of goes to the definitions."""
    schema = model.model_json_schema(mode="serialization")
    defs.update(schema.pop("$defs", {}))
    return schema


def _named(model: type[Value], defs: dict[str, Any]) -> dict[str, str]:
    defs[model.__name__] = _own(model, defs)
    return {"$ref": f"#/$defs/{model.__name__}"}
