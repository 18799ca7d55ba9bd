"""One module a task: strings the rooms together, takes typed values, returns one, prints nothing. The Python API (docs/api.md).

What is worth knowing while a task works goes to an Observer, which is silent unless the caller gives another.
"""

from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

if TYPE_CHECKING:
    from advisor.measure.run import Progress


class Observer(Protocol):
    """Hears what a task does while it works."""

    def say(self, text: str) -> None:
        """Hear one line that its user should read: what will be measured, what could not be."""

    def detail(self, text: str) -> None:
        """Hear one line for those who want to follow every single run."""

    def step(self, what: str, name: str) -> None:
        """Hear which step of a longer reading has begun; many a second."""

    def task(self, now: "Progress") -> None:
        """Hear which task of a measurement has begun, and how long the rest takes."""

    def end(self) -> None:
        """Hear that these steps or tasks are over."""


class Silent:
    """Hears everything and says nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def detail(self, text: str) -> None:
        """Say nothing."""

    def step(self, what: str, name: str) -> None:
        """Say nothing."""

    def task(self, now: "Progress") -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


SILENT: Final[Observer] = Silent()


@runtime_checkable
class _Documented(Protocol):
    def document(self) -> dict[str, Any]: ...


def document(value: object) -> dict[str, Any]:
    """Return a task's value as plain JSON values: the document that the command prints with --json (docs/json.md)."""
    from advisor.model.audit.findings import Difference, Explanation
    from advisor.model.measurement_statistics import BeforeAfter
    from advisor.model.observed_binding import Comparison
    from advisor.model.placement import Lint
    from advisor.model.value import Value
    from advisor.render.binding.ranks import lint_document
    from advisor.render.binding.verify import comparison_document
    from advisor.render.difference import WhatIf, before_after_document, difference_document, whatif_document
    from advisor.render.schema import explain_document

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
