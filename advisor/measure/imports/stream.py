"""STREAM in C and Fortran, BabelStream, likwid-bench, numademo: bandwidth of memory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from advisor.measure.imports.text import NUMBER, Format, Line, has, value_after
from advisor.measure.measurement import ImportedFigure, ImportedRun, Scope, Statistic

_WHAT: Final = {
    "copy": "copy",
    "mul": "scale",
    "scale": "scale",
    "add": "add",
    "triad": "triad",
    "dot": "dot",
    "nstream": "nstream",
}
_ROW: Final = re.compile(rf"^\s*(Copy|Scale|Mul|Add|Triad|Dot|Nstream)\s*:?\s+({NUMBER}|\*+)((?:\s+{NUMBER})*)\s*$")
_MIB: Final = 1 << 20


def _figures(
    lines: Sequence[Line], scale: float, statistic: Statistic = "best", scope: Scope = "all threads"
) -> Iterator[ImportedFigure]:
    for line in lines:
        found = _ROW.match(line.text)
        if found and not found[2].startswith("*") and len(found[3].split()) >= 3:  # a row that was cut off has fewer
            rate = float(found[2]) * scale
            yield ImportedFigure(what=_WHAT[found[1].lower()], unit="bytes/s", value=rate, statistic=statistic, scope=scope)


def _whole(lines: Sequence[Line], wanted: Sequence[str], figures: Sequence[ImportedFigure]) -> str | None:
    """Return why a table is no whole one."""
    there = [figure.what for figure in figures]
    if len(set(there)) != len(there):
        return "a row stands twice: the output of two runs is mixed"
    missing = [each for each in wanted if each not in there]
    if missing:
        return f"torn at line {lines[-1].number}: {', '.join(missing)} missing or not whole"
    worst = next((each for each in figures if not 0 < each.value < 1e15), None)
    return f"{worst.what} of {worst.value:g} bytes/s is no bandwidth" if worst else None


def read_stream(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of STREAM; refused where it was cut off or failed its own validation."""
    counted, asked = (value_after(lines, rf"Number of Threads {word}\s*=?\s*(\d+)") for word in ("(?:counted|=)", "requested"))
    threads = counted or asked or ("1" if _built_without_openmp(lines) else None)
    figures = tuple(_figures(lines, 1e6, scope="one thread" if threads == "1" else "all threads"))
    failed = has(lines, r"Failed Validation")
    why = (
        f"line {failed.number}: it failed its own validation"
        if failed
        else _whole(lines, ("copy", "scale", "add", "triad"), figures)
    )
    if why is None and not has(lines, r"Solution Validates"):
        why = f"torn at line {lines[-1].number}: it does not say whether its results were right"
    told: dict[str, str | int | float] = {}
    elements = value_after(lines, r"Array size\s*=\s*(\d+)")
    if threads:
        told["threads"] = int(threads)
    if elements:
        told["bytes"] = int(elements) * int(value_after(lines, r"uses\s+(\d+) bytes per") or 8)
    yield ImportedRun(
        format="stream",
        tool="STREAM",
        version=value_after(lines, r"(?i)STREAM version \$Revision:\s*([\d.]+)"),
        line=lines[0].number,
        figures=figures,
        conditions=told,
        not_said=() if threads else ("threads",),
        notes=(
            "the best of its runs, without the read that a store through the cache makes first",
            *(
                ("built without OpenMP, for its header has no Number of Threads: one thread",)
                if not (counted or asked) and threads
                else ()
            ),
        ),
        refused=why,
    )


def _built_without_openmp(lines: Sequence[Line]) -> bool:
    """Return whether a whole header of STREAM in C names no threads, which it does with OpenMP; that over MPI names its ranks."""
    header = has(lines, r"Each kernel will be executed") and has(lines, r"clock granularity")
    return bool(header) and not has(lines, r"Number of Threads") and not has(lines, r"(?i)\bMPI\b|aggregate")


_BABEL_SCALES: Final = {
    "MBytes/sec": 1e6, "MiBytes/sec": float(_MIB), "MB/s": 1e6, "MiB/s": float(_MIB), "GB/s": 1e9, "GiB/s": float(1 << 30),
    "max_mbytes_per_sec": 1e6, "max_mibytes_per_sec": float(_MIB), "max_MB_per_sec": 1e6, "max_MiB_per_sec": float(_MIB),
    "max_GB_per_sec": 1e9, "max_GiB_per_sec": float(1 << 30),
}  # fmt: skip
"""What stands above its rates: in a table, and as CSV."""
_BABEL_ROW: Final = re.compile(
    rf"^(?P<what>Copy|Mul|Add|Triad|Dot|Nstream),(?P<times>\d+),(?P<elements>\d+),(?P<bytes>\d+),(?P<rate>{NUMBER})(?:,{NUMBER}){{3}}$"
)


def _babel_csv(lines: Sequence[Line], scale: float) -> tuple[list[ImportedFigure], int | None]:
    """Return the figures of --csv, and the bytes of an array."""
    rows = [found for line in lines if (found := _BABEL_ROW.match(line.text.replace(" ", "")))]
    figures = [
        ImportedFigure(
            what=_WHAT[row["what"].lower()],
            unit="bytes/s",
            value=float(row["rate"]) * scale,
            statistic="best",
            scope="all threads",
        )
        for row in rows
    ]
    return figures, int(rows[0]["elements"]) * int(rows[0]["bytes"]) if rows else None


def read_babelstream(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of BabelStream: its table, or its CSV."""
    head = value_after(lines, r"^\s*Function\s+(\S+)") or value_after(lines, r"^function,num_times,n_elements,sizeof,(\w+)")
    listed, array = _babel_csv(lines, _BABEL_SCALES.get(head or "", 0.0))
    figures = (*_figures(lines, _BABEL_SCALES.get(head or "", 0.0)), *listed)
    failed = has(lines, r"(?i)validation failed|failed validation")
    why = f"line {failed.number}: it failed its own validation" if failed else None
    if why is None and head not in _BABEL_SCALES:
        why = f"its unit is not known: {(head or 'there is no header')[:20]}"
    implementation = value_after(lines, r"^\s*Implementation:\s*(.+)")
    told = {"implementation": implementation, "device": value_after(lines, r"^\s*Using \S+ device:?\s*(.+)")}
    wanted = ("nstream",) if [each.what for each in figures] == ["nstream"] else ("copy", "scale", "add", "triad")
    yield ImportedRun(
        format="babelstream",
        tool="BabelStream",
        version=value_after(lines, r"^\s*Version:\s*(\S+)"),
        line=lines[0].number,
        figures=figures,
        conditions={**{name: value for name, value in told.items() if value}, **({"bytes": array} if array else {})},
        not_said=("threads", *(() if implementation else ("CPU or GPU",))),
        notes=("the best of its runs, the first left out",),
        refused=why or _whole(lines, wanted, figures),
    )


_LIKWID_TESTS: Final[Mapping[str, str]] = {
    "load": "load", "copy": "copy", "stream": "triad", "triad": "long triad", "store": "store", "update": "update",
    "daxpy": "daxpy", "sum": "load", "clcopy": "copy", "clload": "load",
}  # fmt: skip
"""likwid's stream is what STREAM calls triad, and its triad is a = b + c * d (likwid's wiki, Likwid-Bench)."""


def read_likwid(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of likwid-bench: it says on which CPUs."""
    test = value_after(lines, r"^\s*Test:\s*(\S+)") or ""
    kind, _, how = test.partition("_")
    rate = value_after(lines, rf"^\s*MByte/s:\s+({NUMBER})\s*$")
    size = value_after(lines, r"^\s*Size \(Byte\):\s+(\d+)")
    what = _LIKWID_TESTS.get(kind, kind or "unknown") + ("-nt" if how.startswith("mem") or how.endswith("_mem") else "")
    found = float(rate) * 1e6 if rate else 0.0
    figures = (ImportedFigure(what=what, unit="bytes/s", value=found, scope="all threads", size=int(size) if size else None),)
    cpus = dict.fromkeys(int(each[1]) for line in lines if (each := re.search(r"running on (?:hwthread|core) (\d+)", line.text)))
    threads = value_after(lines, r"^\s*Using (\d+) threads")
    whole = len(cpus) == int(threads) if threads and cpus else True
    yield ImportedRun(
        format="likwid-bench",
        tool="likwid-bench",
        line=lines[0].number,
        figures=figures if rate and found > 0 else (),
        conditions={"test": test, **({"threads": int(threads)} if threads else {})},
        cpus=tuple(cpus) if whole else (),
        notes=("likwid-bench checks no result",),
        refused=None if rate and found > 0 else f"torn at line {lines[-1].number}: it prints no MByte/s",
    )


_NUMADEMO: Final = re.compile(
    rf"^(?P<where>.*?)\s*(?P<test>memset|memcpy|forward|backward|stream|STREAM \w+|random2?|ptrchase)\s*"
    rf"Avg ({NUMBER}|inf|nan) MB/s Max ({NUMBER}|inf|nan) MB/s Min ({NUMBER}|inf|nan) MB/s"
)


def read_numademo(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a run of numademo: of its tests the streams over the memory of one node are bandwidths."""
    figures, told, skipped = [], 0, 0
    cores: int | None = None
    for line in lines:
        on = re.search(r"(?i)running on node (\d+)", line.text)
        cores = int(on[1]) if on else cores
        found = _NUMADEMO.search(line.text)
        if not found:
            continue
        told += 1
        mean, node = found[3], re.search(r"on node (\d+)", found["where"])
        if mean in ("inf", "nan") or float(mean) <= 0:
            skipped += 1
            continue
        test = found["test"].lower().removeprefix("stream ")
        at = (cores, int(node[1])) if node and cores is not None else None
        figures.append(
            ImportedFigure(what=_WHAT.get(test, test), unit="bytes/s", value=float(mean) * 1e6, statistic="mean",
                           scope="one thread", at=at)
        )  # fmt: skip
    yield ImportedRun(
        format="numademo",
        tool="numademo",
        line=lines[0].number,
        figures=tuple(figures),
        notes=(*((f"{skipped} of {told} rows are inf or 0: too short to be timed",) if skipped else ()), "it checks no result"),
        refused=None if figures else "no row that can be read",
    )


FORMATS: Final = (
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
)
