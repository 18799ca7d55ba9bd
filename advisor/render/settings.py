"""The table of settings: what each stands at, what is wanted for the work, how sure that is and how it is known."""

from collections.abc import Mapping
from itertools import groupby

from advisor.language.units import count, plain
from advisor.model.audit.findings import Audit, Row
from advisor.model.audit.rule import WHERES
from advisor.render.lines import Line, cut, labelled, wrapped

ROWS = 9
"""So many settings stand on one screen where fewer than that differ."""

MOST = 14
"""So many stand there even where more differ."""

_SIGN = {
    "differs": ("!", "warn"),
    "pending": ("*", "warn"),
    "met": ("=", "good"),
    "unknown": ("?", "unknown"),
    "taste": ("~", "dim"),
    "open": ("~", "dim"),
    "free": (" ", ""),
}


def state(row: Row, found: Mapping[str, bool]) -> str:
    """Return how a setting stands to what is wanted of it; ``found`` says by rule whether what it found does harm.

    A matter of taste differs without harm; it is open where a rule wants something else and found nothing.
    """
    if row.pending is not None and row.pending != row.current:
        return "pending"
    if row.met is not None:
        harms = [found[rule] for rule in row.rules if rule in found]
        return "met" if row.met else "differs" if any(harms) else "taste" if harms else "open"
    return "unknown" if row.current is None else "free"


def settings(audit: Audit, width: int) -> list[Line]:
    """Return the table for one screen: what differs, then what is as wanted; all else is counted."""
    if not audit.settings:
        return []
    states = _states(audit)
    of = {name: [row for row in audit.settings if states[row.name] == name] for name in _SIGN}
    differing = [*of["differs"], *of["pending"], *of["taste"]]
    # What the system itself could tell comes with a command; what only the BIOS knows is one line below.
    asked = [row for row in of["unknown"] if row.where != "bios"]
    shown = [*differing, *of["met"], *asked][: max(ROWS, min(MOST, len(differing)))]
    hidden = [row for row in audit.settings if row not in shown]
    return [(), *_rows(audit.scope, shown, states, width), *_hidden(hidden, states, width)]


def _states(audit: Audit) -> dict[str, str]:
    told = (finding for finding in audit.findings if finding.verdict in ("finding", "waived"))
    found = {finding.id: finding.severity != "info" for finding in told}
    return {row.name: state(row, found) for row in audit.settings}


def _rows(scope: str, rows: list[Row], states: Mapping[str, str], width: int) -> list[Line]:
    title = min(max([len(row.title) for row in rows] or [0]) + 1, width * 2 // 5)
    room = min(max([len(row.current or "?") for row in rows] + [7]), 16)
    wish = min(max([len(_wanted(row)) for row in rows] + [len(scope) + 4]), 16)
    rooms = (room, wish, max(width - title - room - wish - 5, 0))
    head = _cells(("now", f"for {scope}", "how sure, and how it is known"), rooms)
    result: list[Line] = [(("Settings", "heading"), (" " * (title - 6), ""), *head)]
    for row in rows:
        sign, style = _SIGN[states[row.name]]
        words = _cells((plain(row.current or "?", 80), _wanted(row), _known(row)), rooms)
        current = (words[0][0], style if style == "warn" else "")
        result.append(((f"{sign} ", style), (f"{cut(row.title, title - 1):<{title}}", ""), current, *words[1:]))
    return result


def _cells(words: tuple[str, str, str], rooms: tuple[int, int, int]) -> Line:
    (current, wanted, known), (room, wish, rest) = words, rooms
    return (f"{cut(current, room):<{room}} ", ""), (f"{cut(wanted, wish):<{wish}} ", "title"), (cut(known, rest), "dim")


def _wanted(row: Row) -> str:
    return plain(row.wanted, 80) if row.wanted is not None else "?" if row.rules else "-"


def _known(row: Row) -> str:
    """Return how sure the value is and how it is known."""
    if row.pending is not None and row.pending != row.current:
        return f"the next boot brings {plain(str(row.pending), 80)}"
    if row.current is None:
        return "not known"
    return f"{row.confidence or '?'}: {plain(row.how or 'not told')}"


def _hidden(rows: list[Row], states: Mapping[str, str], width: int) -> list[Line]:
    """Return what the table leaves out: one line of counts, and one of what only the BIOS knows."""
    firmware = [row for row in rows if row.where == "bios" and states[row.name] == "unknown"]
    names = {
        "differs": "differing",
        "taste": "differing without harm",
        "met": "as wanted",
        "open": "that differ without a finding",
        "free": "that no rule asks about",
        "unknown": "not known",
    }
    others = [states[row.name] for row in rows if row not in firmware]
    said = [f"{others.count(name)} {word}" for name, word in names.items() if name in others]
    result = wrapped([(f"  and {', '.join(said)}: -v", "dim")], width) if said else []
    if firmware:
        result += wrapped(
            [("? ", "unknown"), (f"{count(len(firmware), 'BIOS setting')} that Linux does not show: --bios FILE reads them", "")],
            width,
        )
    return result


def all_settings(audit: Audit, width: int) -> list[Line]:
    """Return every setting with all that is known of it, by where it is set."""
    states = _states(audit)
    result: list[Line] = [
        (),
        (
            ("Settings", "heading"),
            (f"  for {audit.scope}: ! differs, * changes at the next boot, = as wanted, ~ differs without harm known", "dim"),
        ),
    ]
    for where, rows in groupby(sorted(audit.settings, key=lambda row: WHERES.index(row.where)), key=lambda row: row.where):
        result += [((where, "label"),), *(line for row in rows for line in _whole(row, states[row.name], width))]
    return result


def _whole(row: Row, standing: str, width: int) -> list[Line]:
    sign, style = _SIGN[standing]
    told = (
        (f"is {plain(row.current)} ({row.confidence}: {plain(row.how or '')})" if row.current is not None else "is not known"),
        f"wanted {_wanted(row)}" if row.rules else "",
        f"the BIOS says {plain(row.bios)}" if row.bios is not None else "",
        f"the next boot brings {plain(row.pending)}" if row.pending is not None else "",
        f"asked by {', '.join(row.rules)}" if row.rules else "",
    )
    name = labelled(
        f"{sign} {row.name}", [(row.title, "title"), (": ", ""), ("; ".join(part for part in told if part), "")], width, 30
    )
    return [((name[0][0][0], style or "label"), *name[0][1:]), *name[1:]] if name else []
