"""The page of an audit: one screen, or everything, with each fact of the machine and where it was read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from advisor.advice.audit_page.findings import Asker
from advisor.advice.audit_page.proven import proven
from advisor.advice.audit_page.screen import Shown, rules_line, screen
from advisor.advice.audit_page.summary import whole
from advisor.advice.audit_page.unseen import unknown_facts
from advisor.advice.audit_page.verdicts import all_settings, full_findings, other_verdicts
from advisor.advice.model.findings import Audit
from advisor.advice.model.rule import Publication
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Link
from advisor.machine.fact import Declared, Section, Unit, declarations, in_order, keys
from advisor.machine.layout import Layout
from advisor.machine.machine import Facts, Machine
from advisor.machine.units import in_unit, link, plain
from advisor.machine.value import Value
from advisor.measure.bounds import MemoryBounds
from advisor.show.commandline import folded, word
from advisor.show.lines import Line, Page, Span, labelled, with_units, wrapped
from advisor.show.topology.picture import picture

LABEL, ENTRIES = 22, 64
"""Columns of a fact's name; and so many entries of one list are shown."""

Row = tuple[str, str]
"""A label and what is said."""


def details(machine: Machine, width: int) -> list[Line]:
    """Return every section that is known; each fact, or else its section, with where it was read."""
    return [line for fact in facts_with_places(machine) for line in _shown(fact, width)]


class Fact(NamedTuple):
    """One fact of the machine itself: its value, or all that is in it, and the files or commands it was read from."""

    name: str
    value: str
    places: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Label, text, and where that was read."""


def facts_with_places(machine: Machine) -> Iterator[Fact]:
    """Yield every fact that is known, but the topology, which is drawn."""
    places: dict[str, list[str]] = {}
    for source in machine.sources:
        places.setdefault(source.fact, []).append(plain(source.where))
    for name in in_order(Facts):
        value, declared = getattr(machine, name), declarations(Facts)[name]
        if value is None or declared.section == Section.TOPOLOGY:
            continue
        own = tuple(dict.fromkeys(places.get(name, ())))
        if not isinstance(value, (tuple, Value)):
            yield Fact(name, _text(value, declared.unit), own)
        else:
            yield Fact(
                name, "", own, tuple((label, text, _where(f"{name}.{label.strip()}", places)) for label, text in _rows(value))
            )


def _where(fact: str, places: Mapping[str, list[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place for told, own in places.items() if _tells(told, fact) for place in own))


def _shown(fact: Fact, width: int) -> list[Line]:
    """Return one fact with all that is in it."""
    head, read = (fact.name, "heading"), _read(fact.places)
    if fact.value:
        return [(), *wrapped([head, (f"  {fact.value}", ""), *read], width)]
    result: list[Line] = [(), *wrapped([head, *read], width)]
    room = min(2 * LABEL, max(LABEL, *(len(label) + 2 for label, _, _ in fact.rows), LABEL))
    for label, text, where in fact.rows:
        result += labelled(label, [(text, ""), *_read(where, gap="  " if text else "")], width, room)
    return result


def _tells(source: str, fact: str) -> bool:
    return source == fact or source.startswith(f"{fact}.")


def _read(where: Iterable[str], gap: str = "  ") -> list[Span]:
    places = tuple(dict.fromkeys(where))
    return [(f"{gap}[{', '.join(places)}]", "dim")] if places else []


def _rows(value: object) -> Iterator[Row]:
    """Yield names and texts of a section: field by field, or entry by entry of a list."""
    if isinstance(value, tuple):
        yield from _entries(value)
    elif isinstance(value, Value):
        for field in type(value).model_fields:
            yield from _field(field, getattr(value, field), declarations(type(value))[field])


def _entries(values: tuple[object, ...]) -> Iterator[Row]:
    """Yield a row for each entry of a list, labelled with what identifies it: its name, address or number."""
    for value in values[:ENTRIES]:
        if not isinstance(value, Value):
            yield "", _plain(value)
            continue
        first = next(iter((*keys(type(value)), *type(value).model_fields)))
        name = getattr(value, first)
        yield str(plain(name)) if isinstance(name, str) else f"{first} {name}", _entry(value, but=first)
    if len(values) > ENTRIES:
        yield "", f"and {len(values) - ENTRIES} more; --json has them all"
    if not values:
        yield "", "none"


def _field(field: str, value: object, declared: Declared) -> Iterator[Row]:
    if value is None:
        return
    if declared.per_cpu and isinstance(value, tuple) and value:
        yield field, f"{len(value)} entries; --json has them"
    elif isinstance(value, dict):
        yield field, ""
        yield from ((f"  {plain(str(key))}", plain(str(told))) for key, told in value.items())
    elif isinstance(value, tuple) and value and (isinstance(value[0], Value) or (declared.unit and isinstance(value[0], tuple))):
        yield field, ""
        yield from ((f"  {label}", text) for label, text in _entries(value))
    else:
        yield field, _text(value, declared.unit)


def _entry(value: Value, but: str = "") -> str:
    """Return one entry of a list in one line; what is not known of it, or is not so, is left out."""
    every = declarations(type(value)).items()
    fields = ((field, getattr(value, field), declared.unit) for field, declared in every if field != but)
    known = ((field, inner, unit) for field, inner, unit in fields if inner is not None and inner is not False)
    return ", ".join(f"{field} {_text(inner, unit)}" for field, inner, unit in known)


def _text(value: object, unit: Unit | None) -> str:
    if unit and isinstance(value, int | float):
        return in_unit(value, unit)
    if unit and isinstance(value, tuple) and all(isinstance(each, int | float) for each in value):
        return " ".join(in_unit(each, unit) for each in value) or "none"
    return _plain(value)


def _plain(value: object) -> str:
    """Return any value in words."""
    match value:
        case Link():
            words = link(value)
        case Value():
            words = f"({_entry(value)})"
        case bool():
            words = "yes" if value else "no"
        case CpuSet():
            words = str(value) or "none"
        case tuple():
            words = _joined(value)
        case _:
            words = plain(str(value), 400)
    return words


def _joined(values: tuple[object, ...]) -> str:
    """Return a list in one line: values apart, boot options as they were given, words with blanks."""
    if any(isinstance(value, Value) for value in values):
        return "; ".join(map(_plain, values))
    return " ".join(_option(value) if isinstance(value, tuple) else _plain(value) for value in values) or "none"


def _option(pair: tuple[object, ...]) -> str:
    if len(pair) == 2 and isinstance(pair[0], str):
        return plain(pair[0]) + ("" if pair[1] is None else f"={plain(str(pair[1]))}")
    return " ".join(map(str, pair))


Step = tuple[Sequence[str], str]
"""A command, and what it shows."""

Lines = Callable[[int], list[Line]]
"""What has so many columns."""


def audit_page(shown: Shown, *, added: Lines = lambda _: [], width: int | None = None) -> Page:
    """Return an audit on one screen: the machine, what to fix and how, what to consider, what was measured and what not seen.

    ``added`` is what was asked for beside it, such as tables of what was measured.
    """
    seen = picture(shown.machine, shown.layout)
    return Page(lambda room: [*screen(shown, seen, room), *added(room)], width)


def whole_audit_page(
    audit: Audit,
    machine: Machine,
    layout: Layout,
    publications: Mapping[str, Publication],
    *,
    added: Lines = lambda _: [],
    steps: Iterable[Step] = (),
    numbers: Mapping[str, int] | None = None,
    asker: Asker = Asker(),  # noqa: B008 - a frozen value
    believed: Sequence[str] = (),
    bounds: MemoryBounds | None = None,
    width: int | None = None,
) -> Page:
    """Return an audit with every verdict, setting and fact, each with where it was read and its source.

    ``believed`` are the files of the site that had a say, with owner and mode; ``bounds`` are proven of the memory.
    """
    seen = picture(machine, layout)

    def lines(room: int) -> list[Line]:
        return [
            *whole(machine, seen, room),
            *_proven(list(proven(machine, layout, bounds)), room),
            *full_findings(audit, room, publications, numbers),
            *all_settings(audit, room),
            *other_verdicts(audit, room),
            *details(machine, room),
            *unknown_facts(audit, room, asker),
            *rules_line(audit, room),
            *(labelled("site files", [("\n".join(believed), "")], room, LABEL) if believed else ()),
            *added(room),
            *_next(steps, room),
        ]

    return Page(lines, width)


def _proven(facts: Sequence[str], width: int) -> list[Line]:
    """Return what is proven of the machine, whatever could be read of it; nothing where nothing is."""
    lines = (line for fact in facts for line in wrapped([(f"  {with_units(fact)}", "")], width, indent=4))
    return [(), (("Proven, with or without root", "heading"),), *lines] if facts else []


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
