"""The page of an audit: one screen, or everything."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.cells import cell_len

from advisor.model.audit.findings import Audit
from advisor.model.audit.rule import Publication
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Machine
from advisor.render.commandline import folded, word
from advisor.render.details import details
from advisor.render.findings import findings, tally
from advisor.render.full import full_findings, other_verdicts
from advisor.render.lines import Line
from advisor.render.page import Page
from advisor.render.picture import picture
from advisor.render.settings import all_settings, settings
from advisor.render.summary import opening, whole
from advisor.render.unseen import unseen

Step = tuple[Sequence[str], str]
"""A command, and what it shows."""

Lines = Callable[[int], list[Line]]
"""What has so many columns."""


def audit_page(
    audit: Audit,
    machine: Machine,
    layout: Layout,
    *,
    added: Lines = lambda _: [],
    steps: Iterable[Step] = (),
    width: int | None = None,
) -> Page:
    """Return an audit on one screen: the machine, its settings, the findings, what could not be seen, where to go next.

    ``added`` is what was asked for beside it, such as tables of what was measured.
    """
    seen = picture(machine, layout)

    def lines(room: int) -> list[Line]:
        return [
            *opening(machine, layout, seen, room),
            *settings(audit, room),
            *findings(audit, room),
            *tally(audit, room),
            *unseen(audit, room),
            *added(room),
            *_next(steps, room),
        ]

    return Page(lines, width)


def whole_audit_page(
    audit: Audit,
    machine: Machine,
    layout: Layout,
    publications: Mapping[str, Publication],
    *,
    added: Lines = lambda _: [],
    steps: Iterable[Step] = (),
    width: int | None = None,
) -> Page:
    """Return an audit with every verdict, setting and fact, each with where it was read and who says so."""
    seen = picture(machine, layout)

    def lines(room: int) -> list[Line]:
        return [
            *whole(machine, seen, room),
            *all_settings(audit, room),
            *full_findings(audit, room, publications),
            *other_verdicts(audit, room),
            *details(machine, room),
            *unseen(audit, room, verbose=True),
            *tally(audit, room),
            *added(room),
            *_next(steps, room),
        ]

    return Page(lines, width)


def _next(steps: Iterable[Step], width: int) -> list[Line]:
    """Return the commands to go on with; what they show stands beside them where there is room.

    Where a command is wider than the page its lines end in backslashes: copied, they are one line of a shell.
    """
    named = [(argv, " ".join(map(word, argv)), shows) for argv, shows in steps]
    room = max((cell_len(command) for _, command, _ in named), default=0)
    result: list[Line] = []
    for at, (argv, command, shows) in enumerate(named):
        label = ("Next  " if at == 0 else " " * 6, "label")
        fits = 6 + room + 2 + cell_len(shows) <= width
        beside = (f"{'':{room - cell_len(command)}}  {shows}", "dim") if fits else ("", "")
        lines = [command] if fits else folded(argv, width - 6)
        result += [(label if not line else (" " * 6, ""), (text, "title"), beside) for line, text in enumerate(lines)]
    return [(), *result] if result else []
