"""The schema of the audit's JSON document, made from the models that it is made of."""

from typing import Any, Final

from advisor.model.audit.findings import Audit, Finding, Row
from advisor.model.hardware.fault_counters import Watch
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Gap
from advisor.model.hardware.topology import Counts
from advisor.model.value import Value
from advisor.render.data import AUDIT_SCHEMA

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
        "watch": {"anyOf": [_named(Watch, defs), {"type": "null"}], "description": "counters of faults, looked at twice"},
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
