"""A line with several programs: their ranks follow each other, each program's after those of the one before.

Watched in 4.1.4 and 5.0.11 on simulated machines: what the first program says of mapping holds for all, and what others say
is passed over or refused. PRRTE's development branch lets each program say its own.
"""

from dataclasses import replace

from advisor.launch.lint.line import Line, Segment
from advisor.launch.lint.mapby import newer, number
from advisor.launch.lint.openmpi import Refused, Unclear
from advisor.launch.lint.rewrite import BINDING
from advisor.launch.lint.wanted import Wanted, wanted
from advisor.launch.lint.words import binders

_HOSTS = frozenset({"--host", "--hostfile"})
_OWN = frozenset({"--map-by", "--rank-by", "--bind-to"})


def _says(segment: Segment) -> bool:
    return any(said.name in _OWN for said in segment.options)


def together(line: Line, want: Wanted) -> Wanted:
    """Return what a line wants with the ranks of all its programs; raise Refused or Unclear where that is not known."""
    count = len(line.segments)
    if count == 1:
        return want
    ranks = [number(segment.value("-np")) for segment in line.segments] if line.family.startswith("openmpi") else [None]
    begin = f"one line starts {count} programs, and "
    if None in ranks:
        raise Unclear(f"{begin}what each gets is known of Open MPI only, where each has its -np")
    if any(said.name in _HOSTS for segment in line.segments[1:] for said in segment.options):
        raise Unclear(f"{begin}another than the first says where its ranks go")
    if any(list(binders(segment.command)) for segment in line.segments):
        raise Unclear(f"{begin}numactl or taskset binds the ranks of some")
    if not newer(line):
        _said_twice(line, begin)
    if want.rankfile:
        raise Unclear(f"{begin}a rankfile for several is not worked out here")
    return replace(want, ranks=sum(each or 0 for each in ranks), threads=None)


def _said_twice(line: Line, begin: str) -> None:
    for name in ("--rank-by", "--bind-to"):
        if line.family == "openmpi5" and line.release and sum(segment.has(name) for segment in line.segments) > 1:
            raise Refused(f"5.0 takes {name} once in a line, and it is there for several programs; nothing starts")
    if any(said.name in BINDING for segment in line.segments[1:] for said in segment.options):
        raise Unclear(f"{begin}another than the first says where its ranks go")


def programs(line: Line, want: Wanted) -> tuple[Wanted, ...]:
    """Return what each program of a line wants; ``want`` is that of all, with the hosts."""
    if len(line.segments) == 1:
        return (want,)
    found = []
    for segment in line.segments:
        own = wanted(replace(line, segments=(segment,))) if newer(line) else want
        if newer(line) and not _says(segment):
            own = want
        found.append(replace(own, ranks=number(segment.value("-np")), hosts=want.hosts, from_file=want.from_file))
    if any(each.oversubscribe for each in found) and any(each.no_oversubscribe for each in found):
        raise Refused("one program allows more ranks than slots and another forbids them; nothing starts")
    if any(each.oversubscribe for each in found):
        found = [replace(each, oversubscribe=True) for each in found]
    return tuple(found)
