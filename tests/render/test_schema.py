import json
from typing import Any

from advisor.advice.audit import audit_document
from advisor.advice.model.findings import Finding, Row
from docs.schemas import audit_schema
from tests.render import audits, made


def document() -> dict[str, Any]:
    """Return the document of an audit with everything in it."""
    found: dict[str, Any] = json.loads(json.dumps(audit_document(made.rome(), made.layout(), audits.audit())))
    return found


KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def mismatches(value: Any, schema: dict[str, Any], defs: dict[str, Any], place: str = "") -> list[str]:
    """Return where a value is not as a schema says: types, keys, choices; a schema of another file is not looked into."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return mismatches(value, defs[name], defs, place) if name in defs else []
    if "anyOf" in schema:
        tried = [mismatches(value, each, defs, place) for each in schema["anyOf"]]
        return [] if [] in tried else tried[0]
    named = schema.get("type", [])
    names = [named] if isinstance(named, str) else named
    if names and not any(isinstance(value, KINDS[name]) for name in names):
        return [f"{place}: {value!r} is not a {names}"]
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        return [f"{place}: {value!r}"]
    if isinstance(value, list):
        return [
            line for at, each in enumerate(value) for line in mismatches(each, schema.get("items", {}), defs, f"{place}[{at}]")
        ]
    if not isinstance(value, dict):
        return []
    own = schema.get("properties", {})
    wrong = [f"{place}.{key} lacks" for key in schema.get("required", []) if key not in value]
    wrong += [f"{place}.{key} is not described" for key in value if own and key not in own]
    return wrong + [line for key, each in value.items() for line in mismatches(each, own.get(key, {}), defs, f"{place}.{key}")]


def test_the_document_is_as_its_schema_says() -> None:
    """Every key of an audit's document is in the published schema, of its type, and none that it requires lacks."""
    schema = audit_schema()
    assert mismatches(document(), schema, schema["$defs"]) == []


def test_a_wrong_document_is_noticed() -> None:
    """The schema refuses a verdict that there is not, a text for a number, and a missing key."""
    schema, data = audit_schema(), document()
    data["findings"][0]["verdict"] = "bad"
    data["counts"]["cores"] = "many"
    del data["scope"]
    assert len(mismatches(data, schema, schema["$defs"])) == 3


def test_every_reference_of_the_schema_is_there() -> None:
    """What the schema refers to is in it, but for the machine, which has its own."""
    schema = audit_schema()
    text = json.dumps(schema)
    names = {part.partition('"')[0] for part in text.split("#/$defs/")[1:]}
    assert names <= set(schema["$defs"])


def test_findings_are_findings_alone() -> None:
    """Nothing that passed, or is not known, is counted as a fault by ``.findings[]``."""
    data = document()
    assert {each["verdict"] for each in data["findings"]} == {"finding"}
    assert data["findings"] == [each for each in data["verdicts"] if each["verdict"] == "finding"]


def test_findings_and_settings_read_back() -> None:
    """Findings and settings of the document are again what they were, the costly findings first."""
    audit, data = audits.audit(), document()
    assert tuple(Finding.model_validate_json(json.dumps(each)) for each in data["verdicts"]) == (*audit.found, *audit.others)
    assert tuple(Row.model_validate_json(json.dumps(each)) for each in data["settings"]) == audit.settings


def test_unseen_names_the_rules_that_wait() -> None:
    """What could not be seen stands by what would help, with the facts and the rules that wait for them."""
    first = document()["unseen"][0]
    assert (first["help"], first["rules"]) == (audits.ROOT_HELP, ["memory-dimm-missing"])
    assert first["facts"] == [{"why": "permission denied", "names": ["memory.dimms"]}]
