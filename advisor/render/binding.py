"""What ``advisor bind`` says: the line to paste, why it is so, who sits where."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from advisor.model.hardware.machine import Machine
from advisor.model.placement import NodePlan, Placement
from advisor.render.commandline import exports, folded
from advisor.render.lines import Line, Span, labelled
from advisor.render.page import Page
from advisor.render.ranks import document_lines, table
from advisor.render.seating import seated, titled
from advisor.render.shapes import Picture
from advisor.render.svg import draw_svg
from advisor.render.terminal import lines as drawn_lines

SCHEMA: Final = "advisor-bind/1"

SHORT: Final = 16
"""Lines of a file that is shown whole."""

INLINE: Final = 256
"""Lines of a file that JSON holds whole."""

_ROOM: Final = 11
_KINDS: Final = 4
"""So many kinds of nodes are drawn."""

Lines = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class Told:
    """Everything there is to say of a job that is placed and launched."""

    placement: Placement
    machines: Sequence[Machine]
    """The machine of each plan."""
    argv: Sequence[str]
    variables: Mapping[str, str]
    files: Mapping[str, Lines]
    launcher: str
    version: str | None
    form: str
    chosen: str
    """Why this launcher."""
    strategies: Mapping[str, str]
    """What each strategy does, in a sentence."""
    notes: tuple[str, ...] = ()
    avoided: tuple[tuple[str, str], ...] = ()
    written: tuple[str, ...] = ()
    """The files that were written, where they were."""


def bind_page(told: Told, width: int | None = None, *, explain: bool = False) -> Page:
    """Return the page: the line first, then why, then who sits where; explain leaves nothing out."""
    return Page(lambda room: _lines(told, room, explain=explain), width)


def _lines(told: Told, width: int, *, explain: bool) -> list[Line]:
    result: list[Line] = [((each, ""),) for each in exports(told.variables)]
    result += [((each, "title"),) for each in folded(told.argv, width)]
    result += [(), *_reasons(told, width, explain=explain)]
    result += _files(told, width)
    for kind, plan, names in islice(_kinds(told.placement), None if explain else _KINDS):
        picture = seated(told.machines[kind], plan.slots, titled(names, len(plan.slots)))
        result += [(), *drawn_lines(picture, width, whole=True)]
    return [*result, (), *table(told.placement, width, whole=explain)]


def _kinds(placement: Placement) -> Iterator[tuple[int, NodePlan, list[str | None]]]:
    for position, plan in enumerate(placement.plans):
        yield position, plan, [host.name for host in placement.hosts if host.plan == position]


def _reasons(told: Told, width: int, *, explain: bool) -> Iterator[Line]:
    placement = told.placement
    version = told.version or "version not known (--launcher-version)"
    rows: list[tuple[str, list[Span]]] = [
        ("Launcher", [(f"{told.launcher}, {version}: {told.chosen}; form: {told.form}", "")]),
        ("Strategy", [(placement.strategy, "title"), (f": {_small(told.strategies[placement.strategy])}", "")]),
        *(("Why", [(why, "")]) for why in placement.why[: None if explain else 1]),
    ]
    if placement.runner_up:
        name, why = placement.runner_up
        rows.append(("Runner-up", [(f"{name}: {why}", "")]))
    rows += [("Note", [(note, "")]) for note in dict.fromkeys(told.notes)]
    rows += [("Avoided", [(f"{form}: {reason}", "")]) for form, reason in told.avoided]
    if explain:
        others = (each for each in told.strategies.items() if each[0] != placement.strategy)
        rows += [("Others", [(f"{name}: {_small(sentence)}", "")]) for name, sentence in others]
    before = ""
    for label, spans in rows:
        yield from labelled("" if label == before else label, spans, width, _ROOM)
        before = label


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _files(told: Told, width: int) -> Iterator[Line]:
    """Yield short files whole, ready to paste, and of the others that they are needed."""
    if told.written:
        for at, name in enumerate(told.written):
            yield from labelled("" if at else "Written", [(name, "")], width, _ROOM)
        return
    for name, lines in told.files.items():
        first = list(islice(lines(), SHORT + 1))
        if len(first) > SHORT:
            text = f"{name}: the line needs it, and it has more than {SHORT} lines; -o DIR writes it"
            yield from labelled("File", [(text, "")], width, _ROOM)
            continue
        yield ()
        yield ((f"cat > {name} <<'END'", ""),)
        yield from (((line, ""),) for line in first)
        yield (("END", ""),)


def bind_svg(told: Told) -> str:
    """Return the drawing of the first kind of node as SVG."""
    return draw_svg(bind_picture(told), whole=True)


def bind_picture(told: Told) -> Picture:
    """Return the picture of the first kind of node with its ranks."""
    kind, plan, names = next(_kinds(told.placement))
    title = titled(names, len(plan.slots)).partition(", each ")[0]  # large letters, and the legend says the rest
    return seated(told.machines[kind], plan.slots, title)


def bind_document(told: Told) -> Iterator[str]:
    """Yield the lines of the JSON document."""
    placement = told.placement
    runner_up = placement.runner_up and {"strategy": placement.runner_up[0], "why": placement.runner_up[1]}
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "command": list(told.argv),
        "env": dict(told.variables),
        "files": {name: _text(told, name, lines) for name, lines in told.files.items()},
        "launcher": told.launcher,
        "version": told.version,
        "form": told.form,
        "chosen": told.chosen,
        "strategy": placement.strategy,
        "why": list(placement.why),
        "runner_up": runner_up,
        "notes": list(dict.fromkeys(told.notes)),
        "avoided": [{"form": form, "reason": reason} for form, reason in told.avoided],
    }
    return document_lines(placement, values)


def _text(told: Told, name: str, lines: Lines) -> str | None:
    """Return a file's text where it is short, else its path where it was written."""
    first = list(islice(lines(), INLINE + 1))
    if len(first) <= INLINE:
        return "".join(f"{line}\n" for line in first)
    return next((each for each in told.written if each.rpartition("/")[2] == name), None)
