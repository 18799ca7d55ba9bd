"""Memory and caches of one machine: STREAM, BabelStream, likwid-bench, numademo, Intel MLC, core-to-core-latency.

The groups that a matrix of times between CPUs shows by itself are found by average linkage, cut where the next merge is half as
far again as the last, and only where all groups are of one size. Tried on the published results of core-to-core-latency: no
wrong cut. What it cannot show are sockets of AMD processors: the shared line stays on the node that first touched it, so that
two cores of the other socket look as far apart as cores of two sockets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from advisor.measure.imports import NUMBER, Format, Line, figure, has, known, numbers, value_after, whole
from advisor.measure.measurement import ImportedFigure, ImportedRun, Scope

_WHAT = {
    "copy": "copy", "mul": "scale", "scale": "scale", "add": "add", "triad": "triad", "dot": "dot", "nstream": "nstream",
}  # fmt: skip
_ROW = re.compile(rf"^\s*(Copy|Scale|Mul|Add|Triad|Dot|Nstream)\s*:?\s+({NUMBER}|\*+)((?:\s+{NUMBER})*)\s*$")
_MIB = float(1 << 20)


def _rates(lines: Sequence[Line], scale: float, scope: Scope = "all threads") -> Iterator[ImportedFigure]:
    for line in lines:
        row = _ROW.match(line.text)
        if row and not row[2].startswith("*") and len(row[3].split()) >= 3:  # a row that was cut off has fewer
            yield figure(_WHAT[row[1].lower()], "bytes/s", float(row[2]) * scale, scope, "best")


def _doubt(lines: Sequence[Line], wanted: Sequence[str], figures: Sequence[ImportedFigure]) -> str | None:
    """Return why a table is no whole one."""
    there = [each.what for each in figures]
    if len(set(there)) != len(there):
        return "a row appears twice: the outputs of two runs are mixed"
    missing = [each for each in wanted if each not in there]
    if missing:
        return f"cut off at line {lines[-1].number}: {', '.join(missing)} missing or incomplete"
    worst = next((each for each in figures if not 0 < each.value < 1e15), None)
    return f"{worst.what} of {worst.value:g} bytes/s is not a plausible bandwidth" if worst else None


_BYTES = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
"""Numbers that each of STREAM's kernels moves for an element (stream.c)."""


def _at_odds(lines: Sequence[Line]) -> str | None:
    """Return which rate is not what its own least time gives: all rows move the same arrays, so that each can be worked out."""
    arrays: list[tuple[float, float, Line]] = []
    for line in lines:
        row = _ROW.match(line.text)
        times = row[3].split() if row else []
        if row and row[1] in _BYTES and len(times) == 3 and float(times[1]) > 0:
            least = float(times[1])
            rounding = 10.0 ** -len(times[1].partition(".")[2]) / least
            arrays.append((float(row[2]) * least / _BYTES[row[1]], 0.02 + rounding, line))
    middle = median(size for size, _, _ in arrays) if len(arrays) == len(_BYTES) else 0.0
    odd = next((line for size, room, line in arrays if middle and abs(size / middle - 1) > room), None)
    return f"line {odd.number}: the rate does not follow from its min time" if odd else None


def read_stream(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of STREAM; refused where it was cut off or failed its own validation."""
    counted, asked = (value_after(lines, rf"Number of Threads {word}\s*=?\s*(\d+)") for word in ("(?:counted|=)", "requested"))
    # A whole header of STREAM in C names its threads where it has OpenMP; that of STREAM over MPI names its ranks.
    header = has(lines, r"Each kernel will be executed") and has(lines, r"clock granularity")
    alone = bool(header) and not has(lines, r"Number of Threads") and not has(lines, r"(?i)\bMPI\b|aggregate")
    ranks, of_each = (
        whole(value_after(lines, told)) for told in (r"across (\d+) MPI ranks", r"Threads requested for each MPI rank = (\d+)")
    )
    threads = ranks * (of_each or 1) if ranks else whole(counted or asked) or (1 if alone else None)
    figures = tuple(_rates(lines, 1e6, scope="one thread" if threads == 1 else "all threads"))
    failed = has(lines, r"Failed Validation")
    why = f"line {failed.number}: the benchmark's own validation failed" if failed else None
    why = why or _doubt(lines, ("copy", "scale", "add", "triad"), figures) or _at_odds(lines)
    if why is None and not has(lines, r"Solution Validates"):
        why = f"cut off at line {lines[-1].number}: the line that says whether the results were correct is missing"
    elements = whole(value_after(lines, r"Array size\s*=\s*(\d+)"))
    size = elements * int(value_after(lines, r"uses\s+(\d+) bytes per") or 8) if elements else None
    openmp = "its header has no Number of Threads, so it was built without OpenMP: one thread"
    yield ImportedRun(
        format="stream",
        tool="STREAM",
        version=value_after(lines, r"(?i)STREAM version \$Revision:\s*([\d.]+)"),
        line=lines[0].number,
        figures=figures,
        conditions=known({"threads": threads, "bytes": size}),
        not_said=() if threads else ("threads",),
        notes=(
            "the best of the runs; the read that precedes a cached store is not counted",
            *([openmp] if alone else []),
        ),
        refused=why,
    )


_BABEL_SCALES = {
    "MBytes/sec": 1e6, "MiBytes/sec": _MIB, "MB/s": 1e6, "MiB/s": _MIB, "GB/s": 1e9, "GiB/s": float(1 << 30),
    "max_mbytes_per_sec": 1e6, "max_mibytes_per_sec": _MIB, "max_MB_per_sec": 1e6, "max_MiB_per_sec": _MIB,
    "max_GB_per_sec": 1e9, "max_GiB_per_sec": float(1 << 30),
}  # fmt: skip
"""What stands above its rates: in a table, and as CSV."""
_BABEL_ROW = re.compile(
    rf"^(?P<what>Copy|Mul|Add|Triad|Dot|Nstream),(?P<times>\d+),(?P<elements>\d+),(?P<bytes>\d+),(?P<rate>{NUMBER})(?:,{NUMBER}){{3}}$"
)


def read_babelstream(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of BabelStream: its table, or its CSV."""
    head = value_after(lines, r"^\s*Function\s+(\S+)") or value_after(lines, r"^function,num_times,n_elements,sizeof,(\w+)")
    scale = _BABEL_SCALES.get(head or "", 0.0)
    rows = [row for line in lines if (row := _BABEL_ROW.match(line.text.replace(" ", "")))]
    listed = [figure(_WHAT[row["what"].lower()], "bytes/s", float(row["rate"]) * scale, "all threads", "best") for row in rows]
    figures = (*_rates(lines, scale), *listed)
    failed = has(lines, r"(?i)validation failed|failed validation")
    why = f"line {failed.number}: the benchmark's own validation failed" if failed else None
    if why is None and head not in _BABEL_SCALES:
        why = f"its unit is unknown: {(head or 'there is no header')[:20]}"
    implementation = value_after(lines, r"^\s*Implementation:\s*(.+)")
    wanted = ("nstream",) if [each.what for each in figures] == ["nstream"] else ("copy", "scale", "add", "triad")
    yield ImportedRun(
        format="babelstream",
        tool="BabelStream",
        version=value_after(lines, r"^\s*Version:\s*(\S+)"),
        line=lines[0].number,
        figures=figures,
        conditions=known(
            {
                "implementation": implementation,
                "device": value_after(lines, r"^\s*Using \S+ device:?\s*(.+)"),
                "bytes": int(rows[0]["elements"]) * int(rows[0]["bytes"]) if rows else None,
            }
        ),
        not_said=("threads", *(() if implementation else ("CPU or GPU",))),
        notes=("the best of the runs, excluding the first",),
        refused=why or _doubt(lines, wanted, figures),
    )


_LIKWID_TESTS: Mapping[str, str] = {
    "load": "load", "copy": "copy", "stream": "triad", "triad": "long triad", "store": "store", "update": "update",
    "daxpy": "daxpy", "sum": "load", "clcopy": "copy", "clload": "load",
}  # fmt: skip
"""likwid's stream is what STREAM calls triad, and its triad is a = b + c * d (likwid's wiki, Likwid-Bench)."""


def read_likwid(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of likwid-bench: it says on which CPUs."""
    test = value_after(lines, r"^\s*Test:\s*(\S+)") or ""
    kind, _, how = test.partition("_")
    rate = float(value_after(lines, rf"^\s*MByte/s:\s+({NUMBER})\s*$") or 0.0) * 1e6
    size = whole(value_after(lines, r"^\s*Size \(Byte\):\s+(\d+)"))
    what = _LIKWID_TESTS.get(kind, kind or "unknown") + ("-nt" if how.startswith("mem") or how.endswith("_mem") else "")
    cpus = dict.fromkeys(int(each[1]) for line in lines if (each := re.search(r"running on (?:hwthread|core) (\d+)", line.text)))
    threads = whole(value_after(lines, r"^\s*Using (\d+) threads"))
    yield ImportedRun(
        format="likwid-bench",
        tool="likwid-bench",
        line=lines[0].number,
        figures=(figure(what, "bytes/s", rate, "all threads", size=size),) if rate > 0 else (),
        conditions={"test": test, **known({"threads": threads})},
        cpus=tuple(cpus) if threads in (None, len(cpus)) else (),
        notes=("likwid-bench does not check its result",),
        refused=None if rate > 0 else f"cut off at line {lines[-1].number}: no MByte/s line",
    )


_NUMADEMO = re.compile(
    rf"^(?P<where>.*?)\s*(?P<test>memset|memcpy|forward|backward|stream|STREAM \w+|random2?|ptrchase)\s*"
    rf"Avg ({NUMBER}|inf|nan) MB/s Max ({NUMBER}|inf|nan) MB/s Min ({NUMBER}|inf|nan) MB/s"
)


def read_numademo(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of numademo: of its tests the streams over the memory of one node are bandwidths."""
    figures: list[ImportedFigure] = []
    cores: int | None = None
    rows = 0
    for line in lines:
        on = re.search(r"(?i)running on node (\d+)", line.text)
        cores = int(on[1]) if on else cores
        row = _NUMADEMO.search(line.text)
        rows += bool(row)
        if row and row[3] not in ("inf", "nan") and float(row[3]) > 0:
            node, test = re.search(r"on node (\d+)", row["where"]), row["test"].lower().removeprefix("stream ")
            at = (cores, int(node[1])) if node and cores is not None else None
            figures.append(figure(_WHAT.get(test, test), "bytes/s", float(row[3]) * 1e6, "one thread", "mean", at=at))
    skipped = f"inf or 0 in {rows - len(figures)} of {rows} rows: too short to be timed"
    yield ImportedRun(
        format="numademo",
        tool="numademo",
        line=lines[0].number,
        figures=tuple(figures),
        notes=(*([skipped] if rows > len(figures) else []), "the program does not check its results"),
        refused=None if figures else "no readable row",
    )


_TITLES: tuple[tuple[str, str], ...] = (
    (r"^\s*Measuring idle latencies", "latency"),
    (r"^\s*Measuring (?:Peak (?:Injection )?|Maximum )?Memory Bandwidths for the system", "peak"),
    (r"^\s*Measuring Memory Bandwidths between nodes", "bandwidth"),
    (r"^\s*Measuring Loaded Latencies", "loaded"),
    (r"^\s*Measuring cache-to-cache", "cache"),
)
_MLC = re.compile(r"Intel\(R\) Memory Latency Checker - v")
_MIXES = {
    "ALL Reads": "load", "Stream-triad like": "triad", "3:1 Reads-Writes": "3 reads to 1 write",
    "2:1 Reads-Writes": "2 reads to 1 write", "1:1 Reads-Writes": "copy-like",
}  # fmt: skip
"""In the order in which they are shown: those that are compared with a ceiling first."""
_MIX = re.compile(r"^\s*([A-Za-z0-9:\- ]+?)\s*:\s*(\d+(?:\.\d+)?)\s*$")
_SUM = 0.03
"""How far the diagonal of the bandwidth matrix may sum up beside ALL Reads: 0.6 % at most in the outputs that were read."""


def _sections(lines: Sequence[Line]) -> dict[str, list[Line]]:
    sections: dict[str, list[Line]] = {}
    now: list[Line] | None = None
    for line in lines:
        title = next((name for pattern, name in _TITLES if re.match(pattern, line.text)), None)
        if title or line.text.lstrip().startswith("Measuring "):
            now = sections.setdefault(title, []) if title else None
        elif now is not None:
            now.append(line)
    return sections


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


def _mlc_figures(sections: Mapping[str, Sequence[Line]]) -> Iterator[ImportedFigure]:
    for at, value in (_matrix(sections.get("latency", ())) or {}).items():
        if value > 0:
            yield figure("latency", "seconds", value * 1e-9, "node to node", at=at)
    for at, value in (_matrix(sections.get("bandwidth", ())) or {}).items():
        if value > 0:
            yield figure("load", "bytes/s", value * 1e6, "node to node", at=at)
    mixes = {mix[1]: float(mix[2]) * 1e6 for line in sections.get("peak", ()) if (mix := _MIX.match(line.text))}
    for name, what in _MIXES.items():
        if name in mixes:
            yield figure(what, "bytes/s", mixes[name], "all threads")
    for line in sections.get("loaded", ()):
        row = numbers(line.text)
        if row is not None and len(row) == 3 and row[1] > 0:
            yield figure(f"latency at {row[2] / 1e3:.1f} GB/s", "seconds", row[1] * 1e-9, "all threads")


_ABOVE = 1.1
"""By how much memory of another node may carry more than a node's own: above it the DIMMs differ, or the matrix is wrong."""


def _mlc_notes(lines: Sequence[Line], figures: Sequence[ImportedFigure]) -> Iterator[str]:
    """Yield what is odd and can still be so: a node without cores, DIMMs that differ, a buffer that was chosen."""
    rates, times = ({each.at: each.value for each in figures if each.unit == unit and each.at} for unit in ("bytes/s", "seconds"))
    own = {at[0]: rate for at, rate in rates.items() if at[0] == at[1]}
    reads = next((each.value for each in figures if each.what == "load" and each.scope == "all threads"), 0.0)
    if has(lines, r"Unable to modify prefetchers|for random access"):
        yield "random-access latencies: not comparable with a sequential walk"
    if own and reads and abs(sum(own.values()) / reads - 1) > _SUM:
        yield f"its NUMA nodes add up to {sum(own.values()) / reads:.2f} times the total: a different load, or parts of two files"
    places = {each.at for each in figures if each.at}
    rows = {row for row, _ in places}
    without = sorted({memory for _, memory in places} - rows)
    if without:
        yield f"no row for node {', '.join(map(str, without))}: no cores there, or the matrix was cut off"
    more = [at for at, rate in rates.items() if at[1] in rows and at[0] != at[1] and rate > _ABOVE * own.get(at[0], rate)]
    if more:
        yield f"node {more[0][0]} reads faster from node {more[0][1]} than from itself: unequal DIMMs, or not a real matrix"
    options = value_after(lines, r"^\s*Command line parameters:\s*(\S.*)")
    if re.search(r"(?:^|\s)-b\s*\d", options or "") or (reads and not has(lines, _MLC.pattern)):
        yield "its buffer size was set, or its first lines are missing; with a small buffer, it measures a cache, not memory"
    nearer = [at for at, time in times.items() if at[0] != at[1] and time < times.get((at[0], at[0]), 0.0) * 0.95]
    if nearer:
        yield f"node {nearer[0][0]} reaches memory of node {nearer[0][1]} faster than its own memory: {_CONTRADICTS}"


_CONTRADICTS = "the matrix contradicts itself"


def read_mlc(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one run of MLC."""
    sections = _sections(lines)
    figures = tuple(_mlc_figures(sections))
    notes = tuple(_mlc_notes(lines, figures))
    why = next((note for note in notes if _CONTRADICTS in note), None)
    idle = value_after(lines, r"^Each iteration took .*\(\s*(\d+(?:\.\d+)?)\s*ns\)")
    if idle and not figures:
        figures = (figure("latency", "seconds", float(idle) * 1e-9, "one thread"),)
    for name in ("latency", "bandwidth"):
        part = sections.get(name)
        if part is not None and _matrix(part) is None and not has(part, r"N/A"):
            why = why or f"cut off at line {lines[-1].number}: the {name} matrix is incomplete"
    yield ImportedRun(
        format="mlc",
        tool="Intel Memory Latency Checker",
        version=value_after(lines, r"Memory Latency Checker - v(\S+)"),
        line=lines[0].number,
        figures=figures,
        conditions=known({"NUMA nodes": len({each.at[0] for each in figures if each.at})}),
        notes=tuple(note for note in notes if _CONTRADICTS not in note),
        refused=why or (None if figures else f"cut off at line {lines[-1].number}: contains neither a matrix nor a bandwidth"),
    )


_GAP = 1.5
_FEWEST = 4
"""Two numbers and a comma are many things."""
_MOST = 1024
"""CPUs of a matrix: the largest published has 256."""
_CELLS = re.compile(r"[\d.,eE+\- ]*")
_COLUMNS = re.compile(r"\s*\d{1,4}(?:\s+\d{1,4})+\s*")
_HALF_ROW = re.compile(r"\s*\d{1,4}(?:\s+\d{1,6}(?:\.\d{1,3})?(?:\s*±\s*\d{1,6}(?:\.\d{1,3})?)?)*\s*")

Times = Mapping[tuple[int, int], float]
"""Seconds by two positions, the smaller first."""


class Level(NamedTuple):
    """A cut: CPUs that are nearer to each other than to any other group's."""

    seconds: float
    """Between what is near and what is far."""
    ratio: float
    """How much farther the nearest two groups are."""
    groups: tuple[tuple[int, ...], ...]


def levels(times: Times, count: int) -> list[Level]:
    """Return the levels of a matrix, the nearest first.

    >>> four = {(0, 1): 1.0, (2, 3): 1.0, (0, 2): 4.0, (0, 3): 4.0, (1, 2): 4.0, (1, 3): 4.0}
    >>> [level.groups for level in levels(four, 4)]
    [((0, 1), (2, 3))]
    """
    steps = list(_merges(times, count))
    found = []
    for (near, _), (far, parts) in pairwise(steps):
        if near > 0 and far >= _GAP * near and len({len(part) for part in parts}) == 1:
            found.append(Level((near * far) ** 0.5, far / near, tuple(sorted(parts))))
    return found


def _merges(times: Times, count: int) -> Iterator[tuple[float, list[tuple[int, ...]]]]:
    """Yield each merge of average linkage: how far apart the two groups are, and the groups before it."""
    parts: dict[int, tuple[int, ...]] = {each: (each,) for each in range(count)}

    def nearest_to(own: int) -> tuple[float, int]:
        return min(((apart[own][each], each) for each in parts if each != own), default=(float("inf"), own))

    apart = [[times.get((min(one, other), max(one, other)), float("inf")) for other in range(count)] for one in range(count)]
    nearest = {one: nearest_to(one) for one in parts}
    while len(parts) > 1:
        one = min(parts, key=lambda each: nearest[each][0])
        away, other = nearest[one]
        yield away, list(parts.values())
        first, second = sorted((one, other))
        many, few = len(parts[first]), len(parts[second])
        parts[first] = tuple(sorted(parts[first] + parts.pop(second)))
        for each in parts:
            if each != first:
                apart[first][each] = apart[each][first] = (many * apart[first][each] + few * apart[second][each]) / (many + few)
        nearest.pop(second)
        for each in parts:
            if each == first or nearest[each][1] in (first, second):
                nearest[each] = nearest_to(each)
            elif apart[each][first] < nearest[each][0]:
                nearest[each] = (apart[each][first], first)


def is_matrix(lines: Sequence[Line]) -> bool:
    """Return whether a file holds rows of numbers and commas, and nothing else."""
    written = [line.text for line in lines if line.text.strip()]
    return any("," in text for text in written) and all(_CELLS.fullmatch(text) for text in written)


def read_matrix(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a matrix of which every pair is there at least once; positions are not CPU numbers where --cores was given."""
    rows = [line.text.split(",") for line in lines if line.text.strip()]
    note = "its columns are positions, which are CPU numbers only if all CPUs were measured"
    yield _run_of_pairs(lines[0].number, rows, max((len(rows), *map(len, rows)), default=0), note)


def read_table(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield the table that is printed without --csv: half of a matrix below a line of CPU numbers, rounded to 1 ns."""
    first, *others = lines
    head = next((line.text.split() for line in others if _COLUMNS.fullmatch(line.text)), [])
    rows = (re.sub(r"\s*±\s*[\d.]+", "", line.text).split() for line in others if _HALF_ROW.fullmatch(line.text))
    cells = {row[0]: row[1:] for row in rows if row != head}
    run = _run_of_pairs(first.number, [cells.get(cpu, []) for cpu in head], len(head), "rounded to 1 ns; --csv prints decimals")
    other = None if first.text.strip().startswith("1)") else "different transfer from ours; only benchmark 1 (CAS) is comparable"
    yield run.but(refused=other or run.refused)


def _run_of_pairs(line: int, rows: Sequence[Sequence[str]], count: int, note: str) -> ImportedRun:
    times: dict[tuple[int, int], list[float]] = {}
    for one, row in enumerate(rows):
        for other, word in enumerate(row):
            if one != other and re.fullmatch(NUMBER, word.strip()) and float(word) > 0:
                times.setdefault((min(one, other), max(one, other)), []).append(float(word) * 1e-9)
    why, pairs = None, count * (count - 1) // 2
    if not _FEWEST <= count <= _MOST:
        why = f"{count} CPUs do not form a matrix" if count < _FEWEST else f"{count} CPUs exceed the limit of {_MOST}"
    elif len(times) != pairs:
        why = f"cut off: {len(times)} of {pairs} pairs of {count} CPUs"
    return ImportedRun(
        format="core-to-core",
        tool="core-to-core-latency",
        line=line,
        figures=tuple(
            figure("round trip, half", "seconds", median(values), "CPU to CPU", "mean", at=at)
            for at, values in sorted(times.items())
        ),
        conditions={"CPUs": count},
        notes=(note,),
        refused=why,
    )


def times_of(run: ImportedRun) -> dict[tuple[int, int], float]:
    """Return the times of a matrix by position."""
    return {figure.at: figure.value for figure in run.figures if figure.scope == "CPU to CPU" and figure.at}


FORMATS = (
    Format(
        name="stream",
        tool="STREAM (C, Fortran)",
        seen="5.10 (C), 5.6 (Fortran)",
        starts=re.compile(r"(?i)^\W*STREAM version \$Revision|^\s*Function\s+(?:Best Rate MB/s|Rate \(MB/s\))"),
        begins=re.compile(r"(?i)^\W*STREAM version \$Revision"),
        read=read_stream,
        not_said=("host", "binding"),
    ),
    Format(
        name="babelstream",
        tool="BabelStream (table, CSV)",
        seen="GPU-STREAM 1.0, BabelStream 3.2 to 6.0",
        starts=re.compile(
            r"^\s*(?:BabelStream|GPU-STREAM)\s*$|^\s*Implementation:\s|^function,num_times,n_elements,"
            r"|^\s*Function\s+(?:Mi?Bytes/sec|[MG]i?B/s)\s+Min \(sec\)"
        ),
        begins=re.compile(r"^\s*(?:BabelStream|GPU-STREAM)\s*$|^function,num_times,n_elements,"),
        read=read_babelstream,
        not_said=("host", "binding"),
    ),
    Format(
        name="likwid-bench",
        tool="likwid-bench",
        seen="4.3 to 5.4",
        starts=re.compile(r"^\s*LIKWID MICRO BENCHMARK"),
        read=read_likwid,
        not_said=("host", "version"),
    ),
    Format(
        name="numademo",
        tool="numademo",
        seen="numactl 2.0.14 to 2.0.19",
        starts=_NUMADEMO,
        begins=re.compile(r"^\s*\d+ nodes available"),
        read=read_numademo,
        not_said=("host", "version"),
    ),
    Format(
        name="mlc",
        tool="Intel Memory Latency Checker",
        seen="3.1a to 3.11",
        starts=re.compile(
            rf"{_MLC.pattern}|^\s*Measuring .*(?:Memory Bandwidths (?:for the|between nodes)|Loaded Latencies for the) "
        ),
        begins=_MLC,
        read=read_mlc,
        not_said=("host",),
    ),
    Format(
        name="core-to-core table",
        tool="core-to-core-latency",
        seen="1.0 to 1.2",
        starts=re.compile(r"^\s*[123]\) (?:CAS|Single-writer single-reader) latency on |^\s*3\) (?:Message passing|One writer)"),
        read=read_table,
        not_said=("host",),
    ),
    Format(
        name="core-to-core",
        tool="core-to-core-latency --csv",
        seen="1.0 to 1.2",
        starts=None,
        is_whole=is_matrix,
        read=read_matrix,
        not_said=("host", "CPU numbers"),
    ),
)
