"""SARIF 2.1.0: every verdict as a result whose kind carries it exactly, at a place of the machine; for readers of reports.

A machine has no source file: a result is at a logical location (node001/socket 0). GitHub's code scanning wants files, and
does not take it. OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0": level is none unless kind is fail.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from advisor.language.units import plain
from advisor.model.audit.findings import Finding
from advisor.render.audit.findings import fix_words
from advisor.render.export import ExportOptions, ExportSubject

NAME: Final = "sarif"
TITLE: Final = "SARIF 2.1.0: every verdict as a result, for viewers of reports; not for GitHub's code scanning"
ORDER: Final = 80
PROVEN: Final = "the OASIS schema of SARIF 2.1.0, by jsonschema"

_LEVELS: Final = {"high": "error", "medium": "warning", "low": "note", "info": "note"}
_KINDS: Final = {
    "finding": "fail",
    "waived": "fail",
    "pass": "pass",
    "unknown": "open",
    "error": "open",
    "not-applicable": "notApplicable",
}
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the one file."""
    machine, audit = subject.audited()
    rules: dict[str, Finding] = {}
    for each in audit.findings:
        rules.setdefault(each.id, each)
    numbers = {name: number for number, name in enumerate(rules)}
    name = machine.name or "machine"
    driver = {"name": "advisor", "version": plain(options.version, 40), "rules": [_rule(each) for each in rules.values()]}
    when = datetime.fromtimestamp(options.made, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "endTimeUtc": when}],
        "results": [_result(each, numbers[each.id], name) for each in audit.findings],
    }
    text = json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True)
    return {f"{options.prefix}.sarif": text + "\n"}


def _rule(each: Finding) -> dict[str, Any]:
    return {
        "id": each.id,
        "shortDescription": {"text": each.title},
        "help": {"text": each.why or each.title},
        "defaultConfiguration": {"level": _LEVELS[each.severity]},
        "properties": {"topic": each.topic, "severity": each.severity},
    }


def _result(each: Finding, number: int, name: str) -> dict[str, Any]:
    place = f"{name}/{each.subject}" if each.subject else name
    kind = _KINDS[each.verdict]
    found: dict[str, Any] = {
        "ruleId": each.id,
        "ruleIndex": number,
        "kind": kind,
        "level": _LEVELS[each.severity] if kind == "fail" else "none",
        "message": {"text": _message(each)},
        "locations": [{"logicalLocations": [{"name": each.subject or name, "fullyQualifiedName": place, "kind": "resource"}]}],
        "partialFingerprints": {"advisor/v1": f"{place}:{each.id}"},
    }
    if each.verdict == "waived":
        found["suppressions"] = [{"kind": "external", "status": "accepted", "justification": each.waived or "waived"}]
    return found


def _message(each: Finding) -> str:
    """Return what is so: of a finding with its fix, of what is not known what stands in the way."""
    said = each.claim or each.title
    if each.verdict == "finding":
        return f"{said}. Fix: {fix_words(each)}"
    if each.verdict == "unknown":
        return "not known: " + ("; ".join(dict.fromkeys(f"{lack.fact}: {lack.why}; {lack.help}" for lack in each.lacks)) or said)
    return f"could not be evaluated: {said}" if each.verdict == "error" else said
