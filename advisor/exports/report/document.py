"""The JSON document of a report: that of the audit, with what was measured, the plan and the launch lines."""

from typing import Any, Final

from advisor.exports.report.content import REPORT_SCHEMA, ReportContent, withheld_facts
from advisor.measure.measurement import Measurements

_PAIRS: Final = 12_000
"""So many round trips between cores, of 155 cores, fit into a document that --from reads; all of 384 do not."""


def _measurements(measured: Measurements) -> Measurements:
    """Return what is measured, without round trips where they are too many: the file of measurements has those."""
    kept = tuple(each for each in measured.results if each.purpose != "map")
    return measured if len(measured.results) - len(kept) <= _PAIRS else measured.model_copy(update={"results": kept})


def report_document(audit: dict[str, Any], content: ReportContent) -> dict[str, Any]:
    """Return the document; a report reads it again, with its measurements."""
    measured = content.measurements
    return {
        **audit,
        "schema": REPORT_SCHEMA,
        "advisor": content.version,
        "made": content.made,
        "for": content.audience,
        "withheld": withheld_facts(content),
        "measurements": None if measured is None else _measurements(measured).model_dump(mode="json"),
        "measured": None if content.measured is None else content.measured.model_dump(mode="json"),
        "plan": content.plan.model_dump(mode="json"),
        "launch": [{**line._asdict(), "notes": list(line.notes)} for line in content.launches],
        **({"races": [page.result.model_dump(mode="json", by_alias=True) for page in content.races]} if content.races else {}),
    }
