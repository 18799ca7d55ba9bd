"""A line with several programs: what is known of where their ranks go together.

Watched in 4.1.4 and 5.0.11 on simulated machines: dealt over cores or slots, or by default, the second program's ranks
follow those of the first. Over NUMA nodes, L3 groups and sockets, and with ppr, each program may begin anew.
"""

from dataclasses import replace

from advisor.launch.lint.line import Line
from advisor.launch.lint.mapby import number
from advisor.launch.lint.openmpi import Unclear
from advisor.launch.lint.rewrite import BINDING
from advisor.launch.lint.wanted import Wanted
from advisor.launch.lint.words import binders

_WHERE = BINDING | {"--host", "--hostfile"}


def together(line: Line, want: Wanted) -> Wanted:
    """Return what a line wants as if one program had all its ranks; raise Unclear where that is not known to be the same."""
    count = len(line.segments)
    if count == 1:
        return want
    ranks = [number(segment.value("-np")) for segment in line.segments] if line.family.startswith("openmpi") else [None]
    begin = f"one line starts {count} programs, and "
    if None in ranks:
        raise Unclear(f"{begin}what each gets is known of Open MPI only, where each has its -np")
    if any(said.name in _WHERE for segment in line.segments[1:] for said in segment.options):
        raise Unclear(f"{begin}another than the first says where its ranks go")
    if any(list(binders(segment.command)) for segment in line.segments):
        raise Unclear(f"{begin}numactl or taskset binds the ranks of some")
    if not _in_a_row(want):
        said = f"--map-by {want.map_text}" if want.map_text else "a binding without --map-by"
        raise Unclear(f"{begin}{said[:80]} may begin anew for each; --map-by core --bind-to core goes on")
    return replace(want, ranks=sum(each or 0 for each in ranks), threads=None)


def _in_a_row(want: Wanted) -> bool:
    """Whether ranks are dealt out as if all were of one program."""
    if want.rank_by or want.rankfile or (want.pe and want.level != "slot"):
        return False
    return want.level in ("slot", "core", "node") or (want.level is None and want.bind in (None, "none"))
