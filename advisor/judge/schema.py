"""The JSON Schema of a rule file, for editors that complete and check while a rule is written. Pure."""

from collections.abc import Collection
from typing import Any, Final

from advisor.judge.rule import SITE
from advisor.model.rule import SiteFile

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
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
