"""The JSON documents of ``advisor topology``, ``advisor audit`` and ``advisor explain``, and the audit's JSON schema."""

from typing import Any, Final

from advisor.advice.audit_page.outcome import missing_facts
from advisor.advice.model.findings import Audit, Explanation, Finding, Row, Totals, totals
from advisor.machine.fault_counters import Watch
from advisor.machine.layout import Layout
from advisor.machine.machine import Gap, Machine
from advisor.machine.topology import Counts
from advisor.machine.value import Value
from advisor.show.document import counts_document, layout_document

AUDIT_SCHEMA: Final = "advisor-audit/2"
AUDIT_SCHEMA_1: Final = "advisor-audit/1"
"""Its ``findings`` were all verdicts; it is still read back."""
EXPLAIN_SCHEMA: Final = "advisor-explain/1"
"""A number rises when a key changes meaning or goes."""


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
        "totals": totals(audit).model_dump(mode="json"),
        "findings": [each.model_dump(mode="json") for each in audit.found],
        "verdicts": [each.model_dump(mode="json") for each in (*audit.found, *audit.others)],
        "settings": said["settings"],
        "doubts": said["doubts"],
        "unseen": [
            {
                "help": one.help,
                "facts": [{"why": why, "names": names} for why, names in one.facts.items()],
                "rules": list(one.rules),
            }
            for one in missing_facts(audit)
        ],
        "counts": counts_document(whole.inside if whole else None),
        "counts_whole": counts_document(whole),
        **layout_document(layout, whole),
        "gaps": [gap.model_dump(mode="json") for gap in machine.gaps],
        "watch": None if watch is None else watch.model_dump(mode="json"),
        "machine": machine.model_dump(mode="json"),
    }


def explain_document(told: Explanation) -> dict[str, Any]:
    """Return the document of ``advisor explain --json``."""
    return {"schema": EXPLAIN_SCHEMA, **told.model_dump(mode="json")}


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def audit_schema() -> dict[str, Any]:
    """Return the JSON schema of ``advisor audit --json``; the machine in it has its own, beside this one."""
    defs: dict[str, Any] = {}
    audit, layout = _own(Audit, defs)["properties"], _own(Layout, defs)["properties"]
    gaps = {"type": "array", "items": _named(Gap, defs)}
    verdicts = {"type": "array", "items": _named(Finding, defs)}
    counts = {"anyOf": [_named(Counts, defs), {"type": "null"}]}
    properties = {
        "schema": {"const": AUDIT_SCHEMA},
        "name": {"type": ["string", "null"], "description": "host name"},
        **{key: audit[key] for key in ("scope", "platform", "platform_id", "vendor")},
        "totals": _named(Totals, defs),
        "findings": {**verdicts, "description": "what is wrong or worth considering, the costliest first"},
        "verdicts": {**verdicts, "description": "every verdict of every rule, findings first"},
        "settings": {"type": "array", "items": _named(Row, defs)},
        "doubts": audit["doubts"],
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
