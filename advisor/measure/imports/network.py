"""Messages between hosts, ranks and GPUs: OSU and Intel MPI Benchmarks, perftest of InfiniBand and RoCE, NCCL and RCCL."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from advisor.measure.imports import NUMBER, Format, Known, Line, figure, has, known, leading, numbers, value_after, whole
from advisor.measure.measurement import ImportedFigure, ImportedRun, Scope, Statistic, Unit

_MIB = float(1 << 20)
_TWICE = "a size appears twice"


def _twice(figures: Sequence[ImportedFigure]) -> bool:
    """Return whether a thing of one size stands in a table more than once."""
    return len({(each.what, each.size) for each in figures}) != len(figures)


# ---- OSU ----

_OSU = re.compile(
    r"^\W*OSU (?:One Sided )?(?P<kind>MPI\S*|NCCL|RCCL|UPC\+*|OpenSHMEM) (?P<name>.+?) Test"
    r"(?: (?:v|\(Version )(?P<version>[\d.]+\w*)\)?)?\s*$"
)
_OSU_COLUMNS: tuple[tuple[str, str, Unit, float], ...] = (
    (r"Messages/s", "message rate", "messages/s", 1.0),
    (r"MB/s|Bandwidth \(MB/s\)", "bandwidth", "bytes/s", 1e6),
    (r"(?:Avg )?Latency ?\(us\)", "latency", "seconds", 1e-6),
)
_OSU_WORDS = r"(?:Avg |Min |Max )?Latency ?\(us\)|MB/s|Messages/s|Iterations|Validation|P\d+ Tail Lat\S*|Bandwidth \(MB/s\)"
_OSU_SCOPES: tuple[tuple[str, str, Scope], ...] = (
    ("Bi-Directional", "both ways", "pair"),
    ("Multiple", "bandwidth", "all pairs"),
    ("Multi", "", "each process"),
    ("Latency$|Bandwidth$", "", "pair"),
    ("", "", "all ranks"),
)
"""How a test begins, what its bandwidth is called where not by its column or the test's name, and of what it is."""


def _osu_figures(lines: Sequence[Line], called: str, name: str, scope: Scope) -> Iterator[ImportedFigure | None]:
    """Yield the figures of the rows, and None first where there is a header; a barrier has no size before them."""
    sized = value_after(lines, r"^\W*Size\s+(.+)$")
    head = re.findall(_OSU_WORDS, sized or value_after(lines, r"^\W*((?:Avg )?Latency ?\(us\).*)$") or "")
    columns = [
        (at, *column)
        for at, word in enumerate(head, 1 if sized else 0)
        for column in _OSU_COLUMNS
        if re.fullmatch(column[0], word)
    ]
    yield from [None] if columns else []
    for line in lines if columns else ():
        words = line.text.split()
        if len(words) <= max(at for at, *_ in columns) or (sized and not words[0].isdigit()):
            continue
        if all(re.fullmatch(NUMBER, words[at]) for at in (0, *(at for at, *_ in columns))):
            for at, _, what, unit, scale in columns:
                kind = (called or what) if what == "bandwidth" else name.lower() if scope == "all ranks" else what
                if (value := float(words[at]) * scale) > 0:
                    yield figure(kind, unit, value, scope, "mean", size=int(words[0]) if sized else None)


def read_osu(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one test of OSU's."""
    title = next((match for line in lines if (match := _OSU.match(line.text))), None)
    name, kind = (title["name"], title["kind"]) if title else ("", "MPI")
    called, scope = next((called, scope) for begins, called, scope in _OSU_SCOPES if re.match(f"(?i){begins}", name))
    read = list(_osu_figures(lines, called, name, scope))
    figures = [each for each in read if each is not None]
    pairs, device = whole(value_after(lines, r"pairs:\s*(\d+)")), has(lines, r"on DEVICE|on GPU")
    told: Known = {"test": f"{kind} {name}" if kind.startswith("MPI_") else name, **known({"pairs": pairs})}
    if device or not re.fullmatch(r"MPI(?:_\w+)?|OpenSHMEM|UPC\+*", kind):
        told["memory"] = f"{kind.removeprefix('MPI').strip('-') or 'GPU'}{' (device)' if device else ''}"
    failed, why = has(lines, r"\bFail\b|DATA VALIDATION ERROR"), None
    if failed:
        why = f"line {failed.number}: wrong data (validation failed)"
    elif not read:
        why = "cut off: no header names its columns"
    elif not figures:
        why = "cut off: a header without rows, or two programs' output mixed"
    elif _twice(figures):
        why = f"{_TWICE}: the output of two programs is mixed"
    yield ImportedRun(
        format="osu",
        tool=f"OSU Micro-Benchmarks, {kind} {name}",
        version=title["version"] if title else None,
        line=lines[0].number,
        figures=tuple(figures),
        conditions=told,
        not_said=() if pairs or scope == "pair" else ("ranks",),
        refused=why,
    )


# ---- Intel MPI Benchmarks ----

_IMB_HEAD = re.compile(r"^(?:\W*[^\w#])?#?\s*Benchmarking\s+(?P<name>[A-Z][\w-]*)\s*$")
_IMB_BANNER = re.compile(r"Intel ?\(R\) MPI Benchmarks (?P<version>[\w. ]+?)\s*(?:,|$)")
_IMB_TIMES = ("t[usec]", "t_avg[usec]", "t_max[usec]", "t_min[usec]")
_IMB_MOVES = {"Sendrecv": 2.0, "Exchange": 4.0, "PingPing": 1.0, "PingPong": 1.0, "PingPongSpecificSource": 1.0}
"""Messages that a process sends and receives at once, which the program counts (IMB's user guide)."""
_IMB_PAIRS = ("Uniband", "Biband")

Row = Mapping[str, float]


def _imb_mega(rows: Sequence[Row], factor: float) -> float:
    """Return what this release calls a megabyte: 2^20 before 2018, 10^6 since; size and time of its largest row tell."""
    for row in reversed(rows):
        took = row.get("t[usec]", row.get("t_max[usec]", 0.0))
        if row.get("Mbytes/sec", 0.0) > 1 and took:
            rate = factor * row.get("#bytes", 0.0) / (took * 1e-6)
            return min((1e6, _MIB), key=lambda mega: abs(rate / mega / row["Mbytes/sec"] - 1))
    return 1e6


def _imb_figures(name: str, rows: Sequence[Row], mega: float, pairs: int) -> Iterator[ImportedFigure]:
    scope: Scope = "all pairs" if name in _IMB_PAIRS or pairs > 1 else "pair" if name in _IMB_MOVES else "all ranks"
    called = "latency" if name.startswith("PingP") else name.lower()
    way = "both ways" if name in ("Biband", "Exchange", "Sendrecv") else "bandwidth"
    for row in rows:
        time = next((row[each] for each in _IMB_TIMES if each in row), 0.0) * 1e-6
        size = int(row["#bytes"]) if "#bytes" in row else None
        if time > 0:
            yield figure(called, "seconds", time, "pair" if called == "latency" else scope, "mean", size=size)
        if (rate := row.get("Mbytes/sec", 0.0) * mega) > 0:
            yield figure(way, "bytes/s", rate, scope, "mean", size=size)
        if (messages := row.get("Msg/sec", 0.0)) > 0:
            yield figure("message rate", "messages/s", messages, scope, "mean", size=size)


def read_imb(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield each benchmark of Intel's, with one number of processes; its version stands once, above all of them."""
    heads = [at for at, line in enumerate(lines) if _IMB_HEAD.match(line.text)] or [0]
    version = value_after(lines, _IMB_BANNER.pattern)
    for at, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        yield _imb_run(lines[at:end], version)


def _imb_run(lines: Sequence[Line], version: str | None) -> ImportedRun:
    """Return one benchmark; the check's own column is sometimes left out of rows."""
    name = value_after(lines, _IMB_HEAD.pattern) or ""
    head = (value_after(lines, r"^\s*(#(?:bytes|repetitions)\s.*)$") or "").split()
    lengths = (len(head), len(head) - 1) if head[-1:] == ["defects"] else (len(head),)
    rows = [dict(zip(head, row, strict=False)) for line in lines if (row := numbers(line.text)) and len(row) in lengths]
    ranks = whole(value_after(lines, r"#processes = (\d+)"))
    # With messages a second beside it, a rate is one of all pairs (IMB-P2P).
    summed = name in _IMB_PAIRS or (name in _IMB_MOVES and rows and "Msg/sec" in rows[0])
    pairs = max((ranks or 2) // 2, 1) if summed else 1
    mega = _imb_mega(rows, _IMB_MOVES.get(name, 1.0) * pairs)
    figures = tuple(_imb_figures(name, rows, mega, pairs))
    ended = has(lines, r"out-of-mem|int-overflow|time-out")
    wrong, why = next((row for row in rows if row.get("defects", 0.0) > 0), None), None
    if not rows:
        why = f"line {ended.number}: the run ended early" if ended else "cut off: a header without rows"
    elif wrong:
        why = f"wrong data at {wrong['#bytes']:g} bytes"
    elif _twice(figures):
        why = f"{_TWICE}: two modes or two runs in one table"
    elif not figures:
        why = "none of its columns can be read: for overlap and file benchmarks, only t[usec] and similar are supported"
    return ImportedRun(
        format="imb",
        tool=f"Intel MPI Benchmarks, {name}",
        version=version,
        line=lines[0].number,
        figures=figures,
        conditions={"test": name, **known({"ranks": ranks, "pairs": pairs if pairs > 1 else None})},
        notes=("this output counts 2^20 bytes as a megabyte, as its sizes and times show",) if mega == _MIB else (),
        refused=why,
    )


# ---- perftest ----

_PERF_TITLE = re.compile(
    r"^\s*(?P<verb>RDMA_\w+|Send|Atomic(?: \w+)?|Raw\w*)\s+(?P<kind>BW Post List|BW|Bidirectional BW|Latency)\s+Test"
)
_PERF_HEAD = re.compile(r"#bytes\s+#iterations\s+(?P<rest>.+)")
_PERF_UNITS = {"MB/sec": _MIB, "MiB/sec": _MIB, "Gb/sec": 1e9 / 8}
"""MB there is 2^20 bytes in every release; since 2024 the label says so (perftest 1d202bb)."""
_PERF_COLUMN = re.compile(
    r"BW (?:peak|average)\[[^]]+\]|MsgRate\[Mpps\]|t_\w+\[usec\]|tps average|[\d.]+% percentile\[usec\]|CPU_Util\[%\]"
)


def _perf_column(name: str, every: Sequence[str], *, both: bool) -> tuple[str, Unit, float, Statistic] | None:
    """Return what a column is; of bandwidth the average is read, of latency the typical one, which is a median."""
    unit = re.fullmatch(r"BW average\[([^]]+)\]", name)
    if unit:
        return ("both ways" if both else "bandwidth", "bytes/s", _PERF_UNITS[unit[1]], "mean") if unit[1] in _PERF_UNITS else None
    if name == "MsgRate[Mpps]":
        return "message rate", "messages/s", 1e6, "mean"
    if name == "t_typical[usec]":
        return "latency", "seconds", 1e-6, "median"
    return ("latency", "seconds", 1e-6, "mean") if name == "t_avg[usec]" and "t_typical[usec]" not in every else None


_ROUNDED = 0.01
"""By how much a bandwidth and what size and message rate give may differ, beside what the printed digits leave."""
_RELABELLED = "its header's unit does not match size and message rate; advisor uses the unit that they imply"
_SAME = 0.05


def _perf_figures(lines: Sequence[Line], *, both: bool) -> Iterator[ImportedFigure | str]:
    """Yield the figures of the rows below each header, and what is odd of a row; what stands behind those read does not count."""
    columns: list[str] = []
    for line in lines:
        head = _PERF_HEAD.search(line.text)
        columns = _PERF_COLUMN.findall(head["rest"]) if head else columns
        kinds = {name: kind for name in columns if (kind := _perf_column(name, columns, both=both))}
        row = leading(line.text)
        if head or not kinds or len(row) < max(map(columns.index, kinds)) + 3:
            if not head and kinds and len(row) > 1 and numbers(line.text):
                yield f"cut off at line {line.number}: its row is incomplete"
            continue
        told, size = dict(zip(columns, row[2:], strict=False)), row[0]
        rate = told.get("MsgRate[Mpps]", 0.0) * 1e6
        for name, (what, unit, scale, statistic) in kinds.items():
            value, true = told[name], scale
            if value > 0 and unit == "bytes/s" and rate > 0 and size > 0:
                # A server that was not asked for --report_gbits prints its client's Gb/s under MB/sec.
                slack = _ROUNDED + 0.005 / value + 0.5 / rate
                fits = [each for each in (scale, *_PERF_UNITS.values()) if abs(value * each / (size * rate) - 1) <= slack]
                true = fits[0] if fits else scale
                if not fits:
                    yield f"at {size:g} bytes its bandwidth and its message rate contradict each other"
                elif true != scale:
                    yield _RELABELLED
            if value > 0:
                yield figure(what, unit, value * true, "pair", statistic, size=int(size))


_PERF_TELLS = {
    "device": r"\bDevice\s*:\s*(\S+)",
    "link": r"Link type\s*:\s*(\S+)",
    "mtu": r"\bMtu\s*:\s*(\d+)",
    "queue pairs": r"Number of qps\s*:\s*(\d+)",
}


def read_perftest(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one run of ib_write_bw, ib_send_lat and their kin; server and client on one terminal are one run."""
    title = next((match for line in lines if (match := _PERF_TITLE.match(line.text))), None)
    verb, kind = (title["verb"], title["kind"]) if title else ("", "")
    read = list(_perf_figures(lines, both=kind.startswith("Bidirectional")))
    odd = dict.fromkeys(each for each in read if isinstance(each, str))
    first: dict[tuple[str, int | None], ImportedFigure] = {}
    torn = False
    for each in read:  # server and client print about the same
        if isinstance(each, ImportedFigure):
            torn |= abs(each.value / first.setdefault((each.what, each.size), each).value - 1) > _SAME
    test = known({"test": f"{verb} {kind}" if title else None})
    told = test | known({name: value_after(lines, pattern) for name, pattern in _PERF_TELLS.items()})
    full = kind == "Latency" and verb.startswith(("RDMA_Read", "Atomic"))
    why = None if first else f"cut off at line {lines[-1].number}: a header without rows"
    why = next((each for each in odd if each != _RELABELLED), why)
    last = max((at for at, line in enumerate(lines) if len(leading(line.text)) > 2), default=0)
    left_open = len({size for _, size in first}) > 1 and not has(lines[last:], r"-{20,}")  # a row of one size is all there is
    yield ImportedRun(
        format="perftest",
        tool=f"perftest, {verb} {kind}" if title else "perftest",
        line=lines[0].number,
        figures=tuple(first.values()),
        conditions=told,
        not_said=("version", *(() if title else ("which test",)), *(() if "device" in told else ("device",))),
        notes=(
            *(("its latency is the full round trip",) if full else ()),
            *((_RELABELLED,) if _RELABELLED in odd else ()),
            *(("its table has no closing line: sizes may be missing",) if left_open else ()),
        ),
        refused=f"{_TWICE} with different figures: the output of two runs is mixed together" if torn else why,
    )


def is_perftest_json(lines: Sequence[Line]) -> bool:
    """Return whether a file is what perftest writes with --out_json."""
    return next((line.text for line in lines if line.text.strip()), "").startswith("{") and bool(has(lines, r'"test_info"\s*:'))


def read_perftest_json(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield the run that perftest wrote with --out_json."""
    text = "\n".join(line.text for line in lines)
    try:
        data = json.loads(re.sub(r"(?m)^(\s*)sl(\s*:)", r'\1"sl"\2', text))  # with QoS it writes this key bare
    except (ValueError, RecursionError):
        data = None
    results, info = (data.get(name) if isinstance(data, dict) else None for name in ("results", "test_info"))
    figures: tuple[ImportedFigure, ...] = ()
    told: Known = {}
    if isinstance(results, dict) and isinstance(info, dict):
        figures = tuple(_json_figures(results))
        told = {str(key)[:40]: value if isinstance(value, int | float) else str(value)[:80] for key, value in info.items()}
        why = None if figures else "it has no result"
    else:
        why = "cut off: its JSON is incomplete"
    yield ImportedRun(format="perftest-json", tool="perftest", line=1, figures=figures, conditions=told, refused=why)


def _json_figures(results: Mapping[str, object]) -> Iterator[ImportedFigure]:
    told = {name: float(value) for name, value in results.items() if isinstance(value, int | float) and value > 0}
    size = int(told["MsgSize"]) if "MsgSize" in told else None
    if "MsgRate" in told:
        rate = told["MsgRate"] * 1e6
        yield figure("message rate", "messages/s", rate, "pair", "mean", size=size)
        if size and "BW_average" in told:
            # The number has no unit: messages a second times their size tell which.
            scale = min(_PERF_UNITS.values(), key=lambda each: abs(told["BW_average"] * each / (rate * size) - 1))
            yield figure("bandwidth", "bytes/s", told["BW_average"] * scale, "pair", "mean", size=size)
    if "t_typical" in told:
        yield figure("latency", "seconds", told["t_typical"] * 1e-6, "pair", "median", size=size)


# ---- NCCL and RCCL ----

_NCCL_ROW = re.compile(
    rf"^\s*(?P<size>\d+)\s+(?P<count>\d+)\s+(?P<type>[a-z]\w*)(?:\s+(?P<op>[a-z]\w*))?(?:\s+-?\d+)?\s+"
    rf"(?P<time>{NUMBER})\s+(?P<alg>{NUMBER})\s+(?P<bus>{NUMBER})\s+(?P<wrong>N/A|{NUMBER})\s+"
    rf"(?P<time2>{NUMBER})\s+(?P<alg2>{NUMBER})\s+(?P<bus2>{NUMBER})\s+(?P<wrong2>N/A|{NUMBER})"
)
_NCCL_HEAD = re.compile(
    r"^\W*size\s+count(?:\s+\(elements\))?\s+type\s+(?:redop\s+)?(?:root\s+)?time\s+algbw\s+busbw\s+#?(?P<last>wrong|error)"
)
_NCCL_TITLE = re.compile(r"^\W*nThread \d+ nGpus \d+ minBytes")
_NCCL_ABOVE = r"^\W*(?:nccl|rccl)-tests version|Collective test starting:"
"""Of newer releases, in the two lines above the title."""
_NCCL_SLACK = 0.05
"""By how much size over time and the bandwidth may differ, beside the two decimals that are printed."""


def _nccl_refused(lines: Sequence[Line], rows: Sequence[re.Match[str]]) -> str | None:
    """Return why a table is not believed; where older releases count nothing, they print the largest difference."""
    counted = next((found["last"] for line in lines if (found := _NCCL_HEAD.match(line.text))), "wrong") == "wrong"
    for row in rows:
        if counted and any(row[each] != "N/A" and float(row[each]) > 0 for each in ("wrong", "wrong2")):
            return f"wrong results at {row['size']} bytes"
        said, time = float(row["alg"]), float(row["time"])
        rate = int(row["size"]) / time / 1e3 if time > 0 else 0.0
        if abs(said - rate) > 0.006 + _NCCL_SLACK * rate:
            return (
                f"at {row['size']} bytes, size and time give {rate:.3g} GB/s, but the row says {said:g}: not printed by this "
                f"program"
            )
    bounds = has(lines, r"Out of bounds values\s*:\s*\d+ FAILED")
    if bounds:
        return f"line {bounds.number}: the benchmark's own check failed"
    if not rows:
        return f"cut off at line {lines[-1].number}: no results"
    sizes = [row["size"] for row in rows if int(row["size"])]
    if len(set(sizes)) != len(sizes):
        return f"{_TWICE}: the output of two runs is mixed together"
    return None if sizes else "it sent nothing: every row has 0 bytes"


def read_nccl(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield the runs of nccl-tests or rccl-tests: the columns of out of place; a header after a row begins another table."""
    test = value_after(lines, r"Collective test starting:\s*(\S+)")
    gpus = sum(bool(re.match(r"^\W*Rank\s+\d+\s.*\bdevice\s", line.text)) for line in lines)
    # Where no rank is listed, as many as its header asks of one process.
    told = prod(int(value_after(lines, rf"\b{name} (\d+)") or 1) for name in ("nThread", "nGpus"))
    tables: list[list[Line]] = [[]]
    for line in lines:
        if _NCCL_HEAD.match(line.text) and any(_NCCL_ROW.match(each.text) for each in tables[-1]):
            tables.append([])
        tables[-1].append(line)
    for table in tables:
        rows = [row for line in table if (row := _NCCL_ROW.match(line.text))]
        figures = [
            figure(what, unit, float(row[column]) * scale, "all GPUs", "mean", size=int(row["size"]))
            for row in rows
            for what, unit, column, scale in _NCCL_COLUMNS
            if float(row[column]) > 0 and int(row["size"])
        ]
        yield ImportedRun(
            format="nccl",
            tool="nccl-tests, rccl-tests",
            version=value_after(lines, r"nccl-tests version ([\d.]+)"),
            line=table[0].number,
            figures=tuple(figures),
            conditions=known({"test": test, "GPUs": gpus or (told if told > 1 else None)}),
            not_said=() if test else ("which collective",),
            notes=("its results were not checked",) if rows and all(row["wrong"] == "N/A" for row in rows) else (),
            refused=_nccl_refused(table, rows),
        )


_NCCL_COLUMNS: tuple[tuple[str, Unit, str, float], ...] = (
    ("time", "seconds", "time", 1e-6),
    ("bus bandwidth", "bytes/s", "bus", 1e9),
)

FORMATS = (
    Format(
        name="osu",
        tool="OSU Micro-Benchmarks (pt2pt, collective; CPU, CUDA, ROCm)",
        seen="2.1 to 7.5",
        starts=_OSU,
        read=read_osu,
        not_said=("hosts", "binding", "MPI"),
    ),
    Format(
        name="imb",
        tool="Intel MPI Benchmarks",
        seen="3.2, 4.1, 2017 to 2021.7",
        starts=re.compile(rf"{_IMB_BANNER.pattern}|{_IMB_HEAD.pattern}".replace("?P<name>", "").replace("?P<version>", "")),
        begins=_IMB_BANNER,
        read=read_imb,
        not_said=("hosts", "binding"),
    ),
    Format(
        name="perftest",
        tool="perftest (ib_write_bw, ib_send_lat, ...; text and JSON)",
        seen="5.6 to 6.23, 24.x",
        starts=re.compile(rf"{_PERF_TITLE.pattern}|#bytes\s+#iterations\s+(?:BW peak|t_min)"),
        begins=_PERF_TITLE,
        read=read_perftest,
        not_said=("hosts", "NUMA node"),
    ),
    Format(
        name="perftest-json",
        tool="perftest --out_json",
        seen="4.5 to 6.23",
        starts=None,
        is_whole=is_perftest_json,
        read=read_perftest_json,
        not_said=("hosts", "NUMA node"),
    ),
    Format(
        name="nccl",
        tool="nccl-tests and rccl-tests",
        seen="2.10 to 2.17",
        starts=re.compile(rf"{_NCCL_TITLE.pattern}|{_NCCL_ABOVE}|{_NCCL_HEAD.pattern}"),
        begins=re.compile(rf"{_NCCL_TITLE.pattern}|{_NCCL_ABOVE}"),
        read=read_nccl,
        not_said=("binding",),
    ),
)
