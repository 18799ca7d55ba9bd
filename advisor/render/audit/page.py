"""The page of an audit: one screen, or everything, with each fact of the machine and where it was read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from advisor.language.units import binary, bit_rate, clock, duration, link, memory_clock, plain, throughput
from advisor.model.audit.findings import Audit
from advisor.model.audit.rule import Publication
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.devices import Link
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Machine
from advisor.model.value import Value
from advisor.render.audit.findings import unknown_facts
from advisor.render.audit.screen import Shown, rules_line, screen
from advisor.render.audit.summary import whole
from advisor.render.audit.verdicts import all_settings, full_findings, other_verdicts
from advisor.render.commandline import folded, word
from advisor.render.lines import Line, Page, Span, labelled, wrapped
from advisor.render.topology.picture import picture

SECTIONS = (
    *("firmware", "bios", "cpu", "memory", "tiers", "dax", "acpi", "pci", "hcas", "nics", "gpus"),
    *("kernel", "iommu", "limits", "environment", "tools", "slurm_nodes", "slurm_conf", "allocation"),
)
"""Sections in the order in which they are shown; the topology is drawn by another command."""

UNITS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("base_hz", "min_hz", "max_hz", "limit_hz"), clock),
    **dict.fromkeys(
        ("Dimm.size", "SocketMemory.size", "SratMemory.size", "DaxDevice.size", "memory", "page", "min_free", "cache"), binary
    ),
    **dict.fromkeys(("rated", "configured"), memory_clock),
    **dict.fromkeys(("bandwidth", "read_bandwidth", "write_bandwidth"), throughput),
    **dict.fromkeys(("read_latency", "write_latency"), duration),
    **dict.fromkeys(("rate", "Nic.speed"), bit_rate),
    **dict.fromkeys(("memlock", "stack"), lambda value: "unlimited" if value < 0 else binary(value)),
    **dict.fromkeys(("PciDevice.vendor", "PciDevice.device"), "{:#06x}".format),
    **dict.fromkeys(("class_code", "base"), "{:#08x}".format),
    **dict.fromkeys(("PowerCap.limit", "short", "nominal", "power_limit", "power_default"), "{:g} W".format),
    "IdleState.latency": lambda value: f"{value} us",
    "max_read_request": lambda value: f"{value} B",
}
"""How a number is written, by its field's name, or by that of its value and field where the name alone may mean two."""

COUNTED = ("madt", "srat_cpus")
"""Lists with an entry for each CPU: their length says enough."""

LABEL, ENTRIES = 22, 64
"""Columns of a fact's name; and so many entries of one list are shown."""

Row = tuple[str, str]
"""A label and what is said."""


def details(machine: Machine, width: int) -> list[Line]:
    """Return every section that is known; each fact, or else its section, with where it was read."""
    places: dict[str, list[str]] = {}
    for source in machine.sources:
        places.setdefault(source.fact, []).append(plain(source.where))
    known = [(name, value) for name in SECTIONS if (value := getattr(machine, name)) is not None]
    return [line for name, value in known for line in _section(name, value, places, width)]


def _section(name: str, value: object, places: Mapping[str, list[str]], width: int) -> list[Line]:
    head = [(name, "heading"), *_read(places.get(name, ()))]
    result: list[Line] = [(), *wrapped(head, width)]
    rows = list(_rows(value))
    room = min(2 * LABEL, max(LABEL, *(len(label) + 2 for label, _ in rows), LABEL))
    for label, text in rows:
        where = [place for fact, own in places.items() if _tells(fact, f"{name}.{label.strip()}") for place in own]
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
            yield from _field(value, field, getattr(value, field))


def _entries(values: tuple[object, ...]) -> Iterator[Row]:
    """Yield a row for each entry of a list, labelled with what comes first in it: its name, address or number."""
    for value in values[:ENTRIES]:
        if not isinstance(value, Value):
            yield "", _plain(value)
            continue
        first = next(iter(type(value).model_fields))
        name = getattr(value, first)
        yield str(plain(name)) if isinstance(name, str) else f"{first} {name}", _entry(value, but=first)
    if len(values) > ENTRIES:
        yield "", f"and {len(values) - ENTRIES} more; --json has them all"
    if not values:
        yield "", "none"


def _field(owner: Value, field: str, value: object) -> Iterator[Row]:
    if value is None:
        return
    if field in COUNTED and isinstance(value, tuple) and value:
        yield field, f"{len(value)} entries; --json has them"
    elif isinstance(value, dict):
        yield field, ""
        yield from ((f"  {plain(str(key))}", plain(str(told))) for key, told in value.items())
    elif isinstance(value, tuple) and value and (isinstance(value[0], Value) or field == "slit"):
        yield field, ""
        yield from ((f"  {label}", text) for label, text in _entries(value))
    else:
        yield field, _text(owner, field, value)


def _entry(value: Value, but: str = "") -> str:
    """Return one entry of a list in one line; what is not known of it, or is not so, is left out."""
    fields = ((field, getattr(value, field)) for field in type(value).model_fields if field != but)
    known = ((field, inner) for field, inner in fields if inner is not None and inner is not False)
    return ", ".join(f"{field} {_text(value, field, inner)}" for field, inner in known)


def _text(owner: Value, field: str, value: object) -> str:
    unit = UNITS.get(f"{type(owner).__name__}.{field}") or UNITS.get(field)
    if unit and isinstance(value, int | float | str) and not isinstance(value, bool):
        return unit(value)
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
            *unknown_facts(audit, room),
            *rules_line(audit, room),
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
