"""What a setting would change, what stays unknown, and how to go on: as a page, and as a JSON document."""

from typing import Any, Final

from pydantic import Field

from advisor.language.units import plain
from advisor.model.audit.findings import Difference
from advisor.model.hardware.layout import Assumption
from advisor.model.hardware.machine import Gap, Machine
from advisor.model.value import Value
from advisor.render.commandline import word
from advisor.render.difference import difference_page
from advisor.render.lines import Line, wrapped
from advisor.render.page import Page

WHATIF_SCHEMA: Final = "advisor-whatif/1"
"""The number rises when a key changes meaning or goes."""


class WhatIf(Value):
    """An assumption and what follows from it."""

    assumption: Assumption
    source: str | None = Field(description="what --from named; None for this machine")
    difference: Difference
    before: tuple[Gap, ...] = Field(description="what was not known before")
    machine: Machine = Field(description="the machine to be")

    @property
    def unknown(self) -> tuple[Gap, ...]:
        """What the assumption leaves open, or rests on."""
        return tuple(gap for gap in self.machine.gaps if gap not in self.before)

    @property
    def told(self) -> Difference:
        """The difference without what is not known after the change: that is no difference of the machines."""
        return self.difference.model_copy(update={"devices": tuple(c for c in self.difference.devices if c.after is not None)})


def whatif_document(found: WhatIf) -> dict[str, Any]:
    """Return the document of ``advisor whatif --json``; its ``machine`` is what other commands read with --from."""
    return {
        "schema": WHATIF_SCHEMA,
        "assumption": found.assumption.model_dump(mode="json", exclude_none=True),
        "text": found.assumption.text,
        "difference": found.told.model_dump(mode="json"),
        "unknown": [gap.model_dump(mode="json") for gap in found.unknown],
        "machine": found.machine.model_dump(mode="json"),
    }


def whatif_page(found: WhatIf, written: str | None = None, width: int | None = None) -> Page:
    """Return what would change, as a page; ``written`` names the file that holds the machine to be."""
    return Page(lambda room: _lines(found, written, room), width)


def _lines(found: WhatIf, written: str | None, width: int) -> list[Line]:
    if found.told.same and not found.unknown:
        title = f"{plain(found.difference.before)} -> {plain(found.difference.after)}"
        return [((title, "title"),), (("The machine is set so already: nothing would change.", ""),)]
    lines = difference_page(found.told).lines(width)
    if found.unknown:
        lines += [(), (("Assumed or not known before the restart", "heading"),)]
        for gap in found.unknown:
            why = plain(gap.why.removeprefix("assumed, not read: "), _LONGEST)
            lines += wrapped([("? ", "unknown"), (f"{gap.fact}: ", "label"), (why, "")], width)
    return [*lines, (), (("How to go on", "heading"),), *_next(found, written, width)]


_LONGEST = 600


def _next(found: WhatIf, written: str | None, width: int) -> list[Line]:
    file = word(written) if written else "after.json"
    steps: list[tuple[str, str]] = []
    if written is None:
        source = f" --from {word(found.source)}" if found.source else ""
        steps.append((f"advisor whatif{source} {_options(found.assumption)} -o after.json", "keeps the machine to be"))
    steps.append((f"advisor bind --from {file} ... -- ./app", "command and rankfile for after the restart"))
    steps.append((f"advisor diff {file} -", "after the restart: whether it came so"))
    # A command stays on one line, however long: it is there to be copied.
    return [line for command, why in steps for line in (((command, ""),), *wrapped([(f"    {why}", "dim")], width, indent=4))]


def _options(assumption: Assumption) -> str:
    return " ".join(f"--{word.replace('=', ' ', 1)}" for word in assumption.text.split(","))
