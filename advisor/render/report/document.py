"""The JSON document of a report: that of the audit, with what was measured, the plan and the launch lines."""

from typing import Any

from advisor.render.report.content import REPORT_SCHEMA, ReportContent


def report_document(audit: dict[str, Any], content: ReportContent) -> dict[str, Any]:
    """Return the document; a report reads it again, with its measurements."""
    measured = content.measurements
    return {
        **audit,
        "schema": REPORT_SCHEMA,
        "advisor": content.version,
        "made": content.made,
        "measurements": None if measured is None else measured.model_dump(mode="json"),
        "measured": None if content.measured is None else content.measured.model_dump(mode="json"),
        "plan": content.plan.model_dump(mode="json"),
        "launch": [{**line._asdict(), "notes": list(line.notes)} for line in content.launches],
    }
