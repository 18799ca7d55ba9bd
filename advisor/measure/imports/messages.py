"""OSU Micro-Benchmarks and Intel MPI Benchmarks: messages between ranks."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from advisor.measure.imports.text import NUMBER, Format, Line, has, numbers, value_after
from advisor.measure.measurement import ImportedFigure, ImportedRun, Scope, Unit

_NUMBER: Final = re.compile(NUMBER)
_OSU: Final = re.compile(
    r"^\W*OSU (?P<kind>MPI\S*|NCCL|RCCL|UPC\+*|OpenSHMEM) (?P<name>.+?) Test(?: v(?P<version>[\d.]+\w*))?\s*$"
)
_COLUMNS: Final[tuple[tuple[str, str, Unit, float], ...]] = (
    (r"Messages/s", "message rate", "messages/s", 1.0),
    (r"MB/s", "bandwidth", "bytes/s", 1e6),
    (r"(?:Avg )?Latency ?\(us\)", "latency", "seconds", 1e-6),
)


def _osu_scope(name: str) -> tuple[str, Scope]:
    """Return what a test's bandwidth is called, and of what it is."""
    if name.startswith("Bi-Directional"):
        return "both ways", "pair"
    if name.startswith("Multiple"):
        return "bandwidth", "all pairs"
    if name.startswith("Multi"):
        return "", "each process"
    return "", "pair" if name in ("Latency", "Bandwidth", "Multi-threaded Latency") else "all ranks"


_OSU_WORDS: Final = (
    r"(?:Avg |Min |Max )?Latency ?\(us\)|MB/s|Messages/s|Iterations|Validation|P\d+ Tail Lat\S*|Bandwidth \(MB/s\)"
)


def _osu_head(lines: Sequence[Line]) -> list[tuple[int, str, Unit, float]]:
    """Return each column that is read: its place, what it is, its unit and scale; a barrier has no size before them."""
    sized = value_after(lines, r"^\W*Size\s+(.+)$")
    head = sized or value_after(lines, r"^\W*((?:Avg )?Latency ?\(us\).*)$") or ""
    found = []
    for at, word in enumerate(re.findall(_OSU_WORDS, head), 1 if sized else 0):
        for pattern, what, unit, scale in _COLUMNS:
            if re.fullmatch(pattern, word) or (what == "bandwidth" and word == "Bandwidth (MB/s)"):
                found.append((at, what, unit, scale))
    return found


def _osu_row(line: Line, columns: Sequence[int]) -> Iterator[tuple[int | None, list[float]]]:
    """Yield the size and the wanted columns of a row, if it is one; a validation stands in words."""
    words = line.text.split()
    if columns and len(words) > max(columns) and all(_NUMBER.fullmatch(words[at]) for at in (0, *columns)):
        if 0 in columns:
            yield None, [float(words[at]) for at in columns]
        elif words[0].isdigit():
            yield int(words[0]), [float(words[at]) for at in columns]


def read_osu(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one test of OSU's."""
    title = next((found for line in lines if (found := _OSU.match(line.text))), None)
    name, kind = (title["name"], title["kind"]) if title else ("", "MPI")
    called, scope = _osu_scope(name)
    columns = _osu_head(lines)
    figures = [
        ImportedFigure(
            what=(called or what) if what == "bandwidth" else name.lower() if scope == "all ranks" else what,
            unit=unit,
            value=value * scale,
            statistic="mean",
            scope=scope,
            size=size,
        )
        for line in lines
        for size, values in _osu_row(line, [at for at, *_ in columns])
        for (_, what, unit, scale), value in zip(columns, values, strict=True)
        if value > 0
    ]
    pairs = value_after(lines, r"pairs:\s*(\d+)")
    device = has(lines, r"on DEVICE|on GPU")
    verb = f"{kind} {name}" if kind.startswith("MPI_") else name
    told: dict[str, str | int | float] = {"test": verb, **({"pairs": int(pairs)} if pairs else {})}
    if device or not re.fullmatch(r"MPI(?:_\w+)?|OpenSHMEM|UPC\+*", kind):
        told["memory"] = f"{kind.removeprefix('MPI').strip('-') or 'GPU'}{' (device)' if device else ''}"
    yield ImportedRun(
        format="osu",
        tool=f"OSU Micro-Benchmarks, {kind} {name}",
        version=title["version"] if title else None,
        line=lines[0].number,
        figures=tuple(figures),
        conditions=told,
        not_said=() if pairs or scope == "pair" else ("ranks",),
        refused=_osu_refused(lines, figures, columns),
    )


def _osu_refused(lines: Sequence[Line], figures: Sequence[ImportedFigure], columns: Sequence[object]) -> str | None:
    failed = has(lines, r"\bFail\b|DATA VALIDATION ERROR")
    if failed:
        return f"line {failed.number}: its data were wrong (validation failed)"
    if not columns:
        return "torn: there is no header that says what its columns are"
    if not figures:
        return "torn: a header without a row, or two programs' output mixed"
    sizes = [(figure.what, figure.size) for figure in figures]
    return "a size stands twice: the output of two programs is mixed" if len(set(sizes)) != len(sizes) else None


_IMB_HEAD: Final = re.compile(r"^\W*#?\s*Benchmarking\s+(?P<name>\S+)")
_IMB_TIMES: Final = ("t[usec]", "t_avg[usec]", "t_max[usec]", "t_min[usec]")
_IMB_MOVES: Final = {"Sendrecv": 2.0, "Exchange": 4.0, "PingPing": 1.0, "PingPong": 1.0, "PingPongSpecificSource": 1.0}
"""Messages that a process sends and receives at once, which the program counts (IMB's user guide)."""
_IMB_PAIRS: Final = ("Uniband", "Biband")
_MIB: Final = float(1 << 20)

Row = Mapping[str, float]


def _imb_rows(lines: Sequence[Line]) -> list[Row]:
    """Return the rows below the header, by its columns; the check's own column is sometimes left out."""
    head = (value_after(lines, r"^\s*(#(?:bytes|repetitions)\s.*)$") or "").split()
    found = [row for line in lines if (row := numbers(line.text)) is not None and len(row) in (len(head), len(head) - 1)]
    return [dict(zip(head, row, strict=False)) for row in found if len(row) == len(head) or head[-1:] == ["defects"]]


def _imb_mega(rows: Sequence[Row], factor: float) -> float:
    """Return what this release calls a megabyte: 2^20 before 2018, 10^6 since; size and time of its largest row tell."""
    timed = [
        (row, took)
        for row in rows
        if row.get("Mbytes/sec", 0.0) > 1 and (took := row.get("t[usec]", row.get("t_max[usec]", 0.0)))
    ]
    if not timed:
        return 1e6
    row, took = timed[-1]
    rate = factor * row.get("#bytes", 0.0) / (took * 1e-6)
    return min((1e6, _MIB), key=lambda mega: abs(rate / mega / row["Mbytes/sec"] - 1))


def _imb_pairs(name: str, rows: Sequence[Row], ranks: int) -> int:
    """Return how many pairs a rate is the sum of: with messages a second beside it, it is one of all pairs (IMB-P2P)."""
    summed = name in _IMB_PAIRS or (name in _IMB_MOVES and rows and "Msg/sec" in rows[0])
    return max(ranks // 2, 1) if summed else 1


def _imb_figures(name: str, rows: Sequence[Row], mega: float, pairs: int) -> Iterator[ImportedFigure]:
    summed = name in _IMB_PAIRS or pairs > 1
    scope: Scope = "all pairs" if summed else "pair" if name in _IMB_MOVES else "all ranks"
    called = "latency" if name.startswith("PingP") else name.lower()
    rate = "both ways" if name in ("Biband", "Exchange", "Sendrecv") else "bandwidth"
    for row in rows:
        time = next((row[each] for each in _IMB_TIMES if each in row), 0.0)
        columns: tuple[tuple[str, Unit, float], ...] = (
            (called, "seconds", time * 1e-6),
            (rate, "bytes/s", row.get("Mbytes/sec", 0.0) * mega),
            ("message rate", "messages/s", row.get("Msg/sec", 0.0)),
        )
        for what, unit, value in columns:
            if value > 0:
                size = int(row["#bytes"]) if "#bytes" in row else None
                of: Scope = "pair" if what == "latency" else scope
                yield ImportedFigure(what=what, unit=unit, value=value, statistic="mean", scope=of, size=size)


def read_imb(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one benchmark of Intel's, with one number of processes."""
    name = value_after(lines, _IMB_HEAD.pattern) or ""
    rows = _imb_rows(lines)
    ranks = value_after(lines, r"#processes = (\d+)")
    pairs = _imb_pairs(name, rows, int(ranks or 2))
    mega = _imb_mega(rows, _IMB_MOVES.get(name, 1.0) * pairs)
    ended = has(lines, r"out-of-mem|int-overflow|time-out")
    wrong = next((row for row in rows if row.get("defects", 0.0) > 0), None)
    why = f"at {wrong['#bytes']:g} bytes its data were wrong" if wrong else None
    if not rows:
        why = f"line {ended.number}: it ended early" if ended else "torn: a header without a row"
    figures = tuple(_imb_figures(name, rows, mega, pairs))
    keys = [(figure.what, figure.size) for figure in figures]
    if why is None and len(set(keys)) != len(keys):
        why = "a size stands twice: two modes or two runs in one table"
    if why is None and not figures:
        why = "none of its columns is read: of overlap and of files only t[usec] and its like are"
    yield ImportedRun(
        format="imb",
        tool=f"Intel MPI Benchmarks, {name}",
        version=value_after(lines, r"Intel\(R\) MPI Benchmarks ([\w. ]+?)(?:,|$)"),
        line=lines[0].number,
        figures=() if why else figures,
        conditions={"test": name, **({"ranks": int(ranks)} if ranks else {}), **({"pairs": pairs} if pairs > 1 else {})},
        notes=("here a megabyte is 2^20 bytes, as size and time tell",) if mega == _MIB else (),
        refused=why,
    )


FORMATS: Final = (
    Format(
        name="osu",
        tool="OSU Micro-Benchmarks (pt2pt, collective; CPU, CUDA, ROCm)",
        seen="5.3 to 7.5",
        starts=_OSU,
        read=read_osu,
        not_said=("hosts", "binding", "MPI"),
    ),
    Format(
        name="imb",
        tool="Intel MPI Benchmarks",
        seen="3.2, 4.1, 2017 to 2021.7",
        starts=_IMB_HEAD,
        read=read_imb,
        not_said=("hosts", "binding"),
    ),
)
