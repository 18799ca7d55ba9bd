"""Intel Memory Latency Checker: latency and bandwidth between NUMA nodes, and latency under load."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from advisor.measure.imports.text import Format, Line, has, numbers, value_after
from advisor.measure.measurement import ImportedFigure, ImportedRun, Scope, Unit

_TITLES: Final[tuple[tuple[str, str], ...]] = (
    (r"^\s*Measuring idle latencies", "latency"),
    (r"^\s*Measuring (?:Peak (?:Injection )?|Maximum )?Memory Bandwidths for the system", "peak"),
    (r"^\s*Measuring Memory Bandwidths between nodes", "bandwidth"),
    (r"^\s*Measuring Loaded Latencies", "loaded"),
    (r"^\s*Measuring cache-to-cache", "cache"),
)
_BANNER: Final = re.compile(r"Intel\(R\) Memory Latency Checker - v")
_MIXES: Final = {
    "ALL Reads": "load", "3:1 Reads-Writes": "3 reads to 1 write", "2:1 Reads-Writes": "2 reads to 1 write",
    "1:1 Reads-Writes": "copy-like", "Stream-triad like": "triad",
}  # fmt: skip
_MIX: Final = re.compile(r"^\s*([A-Za-z0-9:\- ]+?)\s*:\s*(\d+(?:\.\d+)?)\s*$")
_SUM: Final = 0.03
"""How far the diagonal of the bandwidth matrix may sum up beside ALL Reads: 0.6 % at most in the outputs that were read."""


def _parts(lines: Sequence[Line]) -> dict[str, list[Line]]:
    parts: dict[str, list[Line]] = {}
    now: list[Line] | None = None
    for line in lines:
        title = next((name for pattern, name in _TITLES if re.match(pattern, line.text)), None)
        if title or line.text.lstrip().startswith("Measuring "):
            now = parts.setdefault(title, []) if title else None
        elif now is not None:
            now.append(line)
    return parts


def _matrix(lines: Sequence[Line]) -> dict[tuple[int, int], float] | None:
    """Return a matrix by node of the cores and of the memory; None where it has no header, or is not whole."""
    nodes: list[int] = []
    found: dict[tuple[int, int], float] = {}
    for line in lines:
        head = re.match(r"^\s*Numa node\s+([\d\s]+)$", line.text)
        if head:
            nodes = [int(word) for word in head[1].split()]
            continue
        row = numbers(re.sub(r"(?<=\s)-(?=\s|$)", "nan", line.text)) if nodes else None
        if row is not None and len(row) == len(nodes) + 1:
            found |= {(int(row[0]), node): value for node, value in zip(nodes, row[1:], strict=True)}
    rows = {row for row, _ in found}
    return found if nodes and rows and len(found) == len(rows) * len(nodes) else None


def _figures(parts: dict[str, list[Line]]) -> Iterator[ImportedFigure]:
    wanted: tuple[tuple[str, str, Unit, float], ...] = (
        ("latency", "latency", "seconds", 1e-9),
        ("bandwidth", "load", "bytes/s", 1e6),
    )
    for name, what, unit, scale in wanted:
        for at, value in (_matrix(parts.get(name, ())) or {}).items():
            if value > 0:
                yield ImportedFigure(what=what, unit=unit, value=value * scale, scope="node to node", at=at)
    everything: Scope = "all threads"
    for line in parts.get("peak", ()):
        found = _MIX.match(line.text)
        if found and found[1] in _MIXES:
            yield ImportedFigure(what=_MIXES[found[1]], unit="bytes/s", value=float(found[2]) * 1e6, scope=everything)
    for line in parts.get("loaded", ()):
        row = numbers(line.text)
        if row is not None and len(row) == 3 and row[1] > 0:
            yield ImportedFigure(
                what=f"latency at {row[2] / 1e3:.1f} GB/s", unit="seconds", value=row[1] * 1e-9, scope=everything
            )


_ABOVE: Final = 1.1
"""By how much memory of another node may carry more than a node's own: above it the DIMMs differ, or the matrix is wrong."""


def _matrix_notes(figures: Sequence[ImportedFigure]) -> Iterator[str]:
    """Yield what is odd of a matrix and can still be so: a node without cores, DIMMs that differ."""
    rates = {each.at: each.value for each in figures if each.unit == "bytes/s" and each.at}
    rows = {at[0] for each in figures if (at := each.at)}
    without = sorted({at[1] for each in figures if (at := each.at)} - rows)
    if without:
        yield f"no row for node {', '.join(map(str, without))}: memory without cores, or the matrix was cut off"
    more = [
        at for at, rate in rates.items() if at[1] in rows and at[0] != at[1] and rate > _ABOVE * rates.get((at[0], at[0]), rate)
    ]
    if more:
        yield f"node {more[0][0]} reads faster from node {more[0][1]} than from its own: other DIMMs there, or no real matrix"


def _notes(lines: Sequence[Line], figures: Sequence[ImportedFigure]) -> Iterator[str]:
    if has(lines, r"Unable to modify prefetchers|for random access"):
        yield "latencies of random access: not comparable with a sequential walk"
    diagonal = sum(each.value for each in figures if each.unit == "bytes/s" and each.at and each.at[0] == each.at[1])
    reads = next((each.value for each in figures if each.what == "load" and each.scope == "all threads"), 0.0)
    if diagonal and reads and abs(diagonal / reads - 1) > _SUM:
        yield f"its nodes sum up to {diagonal / reads:.2f} of all together: another load, or parts of two files"
    yield from _matrix_notes(figures)
    options = value_after(lines, r"^\s*Command line parameters:\s*(\S.*)")
    if re.search(r"(?:^|\s)-b\s*\d", options or "") or (reads and not has(lines, _BANNER.pattern)):
        yield "its buffer was chosen, or its first lines are missing: a small one measures a cache"
    latencies = {each.at: each.value for each in figures if each.what == "latency" and each.at}
    nearer = [at for at, value in latencies.items() if at[0] != at[1] and value < latencies.get((at[0], at[0]), 0.0) * 0.95]
    if nearer:
        yield f"memory of node {nearer[0][1]} is nearer to node {nearer[0][0]} than its own: the matrix contradicts itself"


def read_mlc(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one run of MLC."""
    parts = _parts(lines)
    figures = tuple(_figures(parts))
    torn = [
        name
        for name in ("latency", "bandwidth")
        if name in parts and _matrix(parts[name]) is None and not has(parts[name], r"N/A")
    ]
    notes = tuple(_notes(lines, figures))
    contradiction = next((note for note in notes if "contradicts" in note), None)
    idle = value_after(lines, r"^Each iteration took .*\(\s*(\d+(?:\.\d+)?)\s*ns\)")
    if idle and not figures:
        figures = (ImportedFigure(what="latency", unit="seconds", value=float(idle) * 1e-9, scope="one thread"),)
    why = contradiction or (f"torn at line {lines[-1].number}: the {torn[0]} matrix is not whole" if torn else None)
    yield ImportedRun(
        format="mlc",
        tool="Intel Memory Latency Checker",
        version=value_after(lines, r"Memory Latency Checker - v(\S+)"),
        line=lines[0].number,
        figures=figures if why is None else (),
        conditions={"NUMA nodes": found} if (found := len({each.at[0] for each in figures if each.at})) else {},
        notes=tuple(note for note in notes if note is not contradiction),
        refused=why or (None if figures else f"torn at line {lines[-1].number}: no matrix and no bandwidth"),
    )


FORMATS: Final = (
    Format(
        name="mlc",
        tool="Intel Memory Latency Checker",
        seen="3.1a to 3.11",
        starts=re.compile(
            rf"{_BANNER.pattern}|^\s*Measuring .*(?:Memory Bandwidths (?:for the|between nodes)|Loaded Latencies for the) "
        ),
        begins=_BANNER,
        read=read_mlc,
        not_said=("host",),
    ),
)
