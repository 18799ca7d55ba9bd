"""The JSON schemas of documents whose shape no single model has: audits, fleets, files of rules."""

from collections.abc import Collection
from typing import Any, Final

from advisor.advice.audit import AUDIT_SCHEMA
from advisor.advice.judge.rule import SITE
from advisor.advice.model.findings import Audit, Finding, Row, Totals
from advisor.advice.model.sheets import SiteFile
from advisor.fleet.fleet import Fleet
from advisor.fleet.page import SCHEMA
from advisor.machine.fault_counters import Watch
from advisor.machine.layout import Layout
from advisor.machine.machine import Gap
from advisor.machine.topology import Counts
from advisor.machine.value import Value

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


def fleet_schema() -> dict[str, Any]:
    """Return the JSON schema of ``advisor fleet audit --json``."""
    made = Fleet.model_json_schema(mode="serialization")
    made["properties"] = {"schema": {"const": SCHEMA}, **made["properties"]}
    return {"$schema": DIALECT, **made, "title": SCHEMA, "required": list(made["properties"])}


_SPOKEN: Final = {"type": ["string", "number", "boolean"]}
"""What an expression may be written as: a text, or a number or truth value as it is."""


def rule_schema(settings: Collection[str] = (), publications: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of a rule file, a list of rules or a site's mapping; with settings and publications, only those."""
    whole = SiteFile.model_json_schema(ref_template="#/$defs/{model}")
    parts: dict[str, Any] = whole.pop("$defs")
    rule = parts["RuleText"]["properties"]
    rule["let"]["additionalProperties"] = rule["set"]["additionalProperties"] = _SPOKEN
    for owner, name in (("RuleText", "only"), ("RuleText", "when"), ("CostText", "gain"), ("CostText", "measured")):
        parts[owner]["properties"][name] = {**_SPOKEN, "description": parts[owner]["properties"][name].get("description", name)}
    whole["properties"]["let"]["additionalProperties"]["additionalProperties"] = _SPOKEN
    if settings:
        rule["set"]["propertyNames"] = {"enum": sorted(settings)}
    if publications:
        parts["Publication"] = {"enum": sorted({*publications, SITE}), "title": "Publication"}
        cited = {"$ref": "#/$defs/Publication"}
        rule["refs"]["items"] = cited
        parts["Guide"]["properties"]["ref"] = parts["CostText"]["properties"]["ref"] = cited
    listed = {"type": "array", "items": {"$ref": "#/$defs/RuleText"}}
    mapping = {key: value for key, value in whole.items() if key not in ("title", "description")}
    title, about = "advisor rules", "Rules of advisor: a list of rules, or a site's rules, thresholds and waivers"
    return {"$schema": DIALECT, "title": title, "description": about, "anyOf": [listed, mapping], "$defs": parts}
