"""Host files as Open MPI reads them: ``n1 slots=4``, ``n1`` for all its cores, ``n1`` three times for three slots."""

import re
from collections import Counter

from advisor.launch.lint.line import Line
from advisor.launch.lint.openmpi import Refused, Unclear
from advisor.launch.lint.wanted import Wanted
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.launch_line import LintRank

Hosts = tuple[tuple[str, int | None], ...]
MOST_ROWS = 65_536
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)
_COUNT = re.compile(r"[1-9][0-9]{0,6}|\*|auto", re.ASCII)
_ELSEWHERE = ("--app", "--dvm", "--dvm-uri", "--tune", "-am", "--default-hostfile")
_SLOTS = re.compile(r"(slots|max_slots|max-slots)\s*=\s*(\d{1,6})", re.ASCII)


def readable(line: Line) -> None:
    """Raise Unclear where words of a line say of hosts or of mapping what is not read here."""
    odd = next((said for said in line.options if not said.known), None)
    if odd:
        raise Unclear(f"{odd.written[0][:60]} is no option that is known here")
    for word in (line.first.value("--host") or "").split(","):
        name, colon, count = word.strip().partition(":")
        if word and (not _NAME.fullmatch(name) or (colon and not _COUNT.fullmatch(count))):
            raise Unclear(f"the host {word[:60]} is not worked out here")
    five = ("--rtos", "--runtime-options", "--display-topo") if line.family == "openmpi5" else ()
    harmless = (("donotlaunch",), ("show-progress",), ("error-nonzero-status",))
    asked = (each for each in line.options if each.name in (*_ELSEWHERE, *five))
    said = next((each for each in asked if each.values not in harmless), None)
    said = said or next((each for each in line.options if each.name.endswith("mca") and each.values[0].startswith("ras")), None)
    if said:
        raise Unclear(f"what {' '.join(said.written)[:80]} adds to the line is not read here")
    if any("_MCA_ras" in name for name in line.words.environment):
        raise Unclear("a parameter says where the hosts come from, and that is not read here")


def hosts_of_file(text: str, *, crowded: bool) -> Hosts:
    """Return the hosts of a file with their slots, None for as many as cores; raise Refused or Unclear.

    ``crowded``: more ranks than slots are allowed; then a max_slots= would count.
    """
    found: dict[str, int | None] = {}
    bare: Counter[str] = Counter()
    for number, row in enumerate(rows(text), 1):
        name, rest = row
        if ":" in name:
            raise Refused(f"row {number} of the host file: {name[:60]} is no name to it; nothing starts")
        if not _NAME.fullmatch(name):
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


def in_sequence(want: Wanted, topology: Topology, text: str | None, *, five: bool) -> tuple[LintRank, ...]:
    """Return ranks that go to the hosts of a file row by row: 5 binds them to the cores of each host in order."""
    if not five or text is None or want.bind != "core" or want.hwthreads or want.pe or want.oversubscribe or want.rank_by:
        raise Unclear("--map-by seq is worked out for 5.x with --bind-to core and a host file alone")
    names = [name for name, _ in rows(text)]
    total = want.ranks or len(names)
    if total > len(names):
        raise Refused(f"{total} ranks and {len(names)} rows of the host file; nothing starts")
    cores = logical_numbering(topology).cores
    before: Counter[str] = Counter()
    found: list[LintRank] = []
    for rank, name in enumerate(names[:total]):
        if before[name] >= len(cores):
            raise Unclear(f"more ranks than cores on {name}")
        found.append(LintRank(rank=rank, host=name, cpus=cores[before[name]]))
        before[name] += 1
    return tuple(found)
