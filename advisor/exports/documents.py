"""A task's value as the document that its command prints with --json (docs/json.md)."""

from typing import Any, Protocol, runtime_checkable

from advisor.advice.audit import explain_document
from advisor.advice.difference_page import WhatIf, before_after_document, difference_document, whatif_document
from advisor.advice.model.findings import Difference, Explanation
from advisor.jobs.bind_page import lint_document
from advisor.jobs.observed_binding import Comparison
from advisor.jobs.placement import Lint
from advisor.jobs.verify_page import comparison_document
from advisor.machine.value import Value
from advisor.measure.measurement import BeforeAfter


@runtime_checkable
class _Documented(Protocol):
    def document(self) -> dict[str, Any]: ...


def document(value: object) -> dict[str, Any]:
    """Return a task's value as plain JSON values: the document that the command prints with --json (docs/json.md)."""
    match value:
        case _Documented():
            return value.document()
        case Difference():
            return difference_document(value)
        case Explanation():
            return explain_document(value)
        case Lint():
            return lint_document(value)
        case Comparison():
            return comparison_document(value)
        case WhatIf():
            return whatif_document(value)
        case BeforeAfter():
            return before_after_document(value)
        case Value():
            return value.model_dump(mode="json")
        case _:
            raise TypeError(f"{type(value).__name__} is no value of a task")
