"""The hosts of a file and their slots, as Open MPI 4 and 5 read them."""

import re
from collections import Counter
from collections.abc import Mapping

from advisor.launch.lint.outcome import Refused, Unclear
from advisor.launch.lint.request import Request

Hosts = tuple[tuple[str, int | None], ...]
MOST_ROWS = 65_536
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)
_SLOTS = re.compile(r"(slots|max_slots|max-slots)\s*=\s*(\d{1,6})", re.ASCII)


def hosts_of_file(text: str, *, crowded: bool) -> Hosts:
    """Return the hosts of a file with their slots, None for as many as cores; raise Refused or Unclear.

    ``crowded``: 5 is to allow more ranks than slots; then a max_slots= would count, as it does not in 4 (4.1.4, observed).
    """
    found: dict[str, int | None] = {}
    bare: Counter[str] = Counter()
    for number, row in enumerate(rows(text), 1):
        name, rest = row
        if ":" in name:
            raise Refused(f"row {number} of the host file: {name[:60]} is not a name to it; nothing starts")
        if not NAME.fullmatch(name):
            raise Unclear(f"row {number} of the host file: {name[:60]!r} is not worked out here")
        said = {match[1][:3]: int(match[2]) for match in _SLOTS.finditer(rest)}
        if _SLOTS.sub("", rest).strip() or 0 in said.values():
            raise Unclear(f"row {number} of the host file: {rest[:60]!r} is not worked out here")
        if crowded and "max" in said:
            raise Unclear("how many ranks a max_slots= allows is not worked out here")
        slots = said.get("slo", said.get("max"))
        if slots is not None and found.get(name) is not None:
            raise Refused(f"the host file gives {name[:60]} slots= twice; nothing starts")
        if name in found and (slots is None) != (found[name] is None):
            raise Unclear(f"the host file has {name[:60]} with slots= and without")
        bare[name] += slots is None
        found[name] = slots
    return tuple((name, bare[name] if bare[name] > 1 else slots) for name, slots in found.items())


def rows(text: str) -> list[tuple[str, str]]:
    """Return the name and the rest of every row that has any; raise Unclear for too many."""
    lines = text.splitlines()
    if len(lines) > MOST_ROWS:
        raise Unclear(f"the host file has more than the {MOST_ROWS} rows that are read")
    plain = (" ".join(line.partition("#")[0].split()).partition(" ") for line in lines)
    return [(name, rest) for name, _, rest in plain if name]


def must_have_slots(want: Request, ranks: Mapping[str | None, int]) -> None:
    """Raise Refused or Unclear where a rankfile puts more ranks on a host than the line gives it slots (5.0.11, observed)."""
    for name, slots in want.hosts:
        room = (None if want.from_file else 1) if slots is None else slots
        if not room or ranks.get(name, 0) <= room:
            continue
        if want.oversubscribe or want.oversubscribe_option:
            raise Unclear("how 5.x binds where a rankfile has more ranks on a host than slots, is not worked out here")
        raise Refused(f"the rankfile has {ranks[name]} ranks on {name}, more than its slots ({room}); nothing starts")
