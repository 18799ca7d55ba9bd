"""HPL of every maker, its HPL.dat, Intel's shared-memory LINPACK, the summary of HPCC, and HPCG."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from advisor.measure.imports import NUMBER, Format, Known, Line, figure, has, known, value_after, whole
from advisor.measure.measurement import HPL_CHECK, HPL_ROW, ImportedRun, Scope, Unit

_STAMP = re.compile(r"^\s*HPL_pdgesv\(\) (?P<which>start|end) time\s+(?P<when>\w{3} \w{3} +\d+ [\d:]{8} \d{4})")
_AGREE = 0.005
"""Of what N and the time give: what the rounding of both leaves, above the 0.1 % of real rows."""
_SLACK = 3.0
"""Seconds by which stamps in whole seconds, and the check before the second, may differ from the time."""


def order_rate(n: int, seconds: float) -> float:
    """Return FLOP/s of a system of an order solved in a time, as HPL counts: 2/3 N^3 + 3/2 N^2."""
    return (2 / 3 * n**3 + 3 / 2 * n**2) / seconds if seconds > 0 else 0.0


def _stamps(block: Sequence[Line]) -> dict[str, float]:
    """Return the stamps of C's ctime at start and end, as seconds since some day; none where one is not there."""
    marks = [match for line in block if (match := _STAMP.match(line.text))]
    try:
        times = {each["which"]: datetime.strptime(each["when"], "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC) for each in marks}
    except ValueError:
        return {}
    return {which: time.timestamp() for which, time in times.items()} if len(marks) == len(times) == 2 else {}


def _disbelieved(row: re.Match[str], residuals: Sequence[re.Match[str]], block: Sequence[Line]) -> str | None:
    """Return why a row is not believed."""
    seconds, n, rate = float(row["seconds"]), int(row["n"]), row["gflops"]
    failed = next((each for each in residuals if each["verdict"] == "FAILED"), None)
    if failed is not None:
        return f"its residual {failed['value'][:20]} FAILED the check"
    if not rate[-1].isdigit():
        return "its rate is not a number"
    if seconds <= 0:
        return f"N={n} ran for less than 0.01 s: too short to time"
    counted, digits = order_rate(n, seconds), 0.5 * 10.0 ** -len(row["seconds"].partition(".")[2].lower().partition("e")[0])
    if abs(float(rate) * 1e9 / counted - 1) > _AGREE + digits / seconds:
        return f"N and the time imply {counted / 1e9:.4g} GFLOP/s, but the row says {rate}: not HPL's original output"
    stamps = _stamps(block)
    passed = stamps["end"] - stamps["start"] if stamps else seconds
    if abs(passed - seconds) > _SLACK + 0.05 * seconds:
        return f"it reports {seconds:g} s, but {passed:g} s passed between its start and end: its timer is wrong"
    return None


_BANNER = re.compile(r"^\W*(?:HPL-NVIDIA|HPLinpack) v?\d")
_MAKERS = (
    (r"HPL-NVIDIA|Prog=\s*[\d.]+%.*iGF=", "NVIDIA HPL"),
    (r"rocHPL|Final Score:", "rocHPL"),
    (r"HybBcast|Zen-?HPL|AMD ZEN-?HPL", "AMD Zen HPL"),
    (r"Column=\d+\s+Fraction=.*Mflops=", "Intel HPL"),
)


def read_hpl(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield each row of HPL with the check that follows it; a file without a row is torn."""
    rows = [(at, row) for at, line in enumerate(lines) if (row := HPL_ROW.match(line.text))]
    maker = next((name for mark, name in _MAKERS if has(lines, mark)), "HPL")
    version = value_after(lines, r"HPL-NVIDIA v?([\d.]+)") or value_after(lines, r"HPLinpack ([\d.]+)")
    shared = ImportedRun(format="hpl", tool=maker, version=version, line=lines[0].number)
    banner = bool(has(lines, r"HPLinpack"))
    if not rows and banner:
        skipped = has(lines, r"\b[1-9]\d* tests skipped because of illegal input values|Need at least \d+ processes")
        torn = f"cut off at line {lines[-1].number}: no row with a time and a rate"
        yield shared.but(refused="nothing ran: P x Q exceeds the number of ranks" if skipped else torn)
    unfinished = banner and not has(lines, r"^End of Tests")
    ends = [*(at for at, _ in rows[1:]), len(lines)]
    for (at, row), end in zip(rows, ends, strict=False):
        block = lines[at:end]
        residuals = [match for line in block if (match := HPL_CHECK.match(line.text))]
        why = _disbelieved(row, residuals, block)
        if why is None and unfinished and not residuals:
            why = f"cut off at line {block[-1].number}: its residual is missing"
        told = {name: int(row[name.lower()]) for name in ("N", "NB", "P", "Q")}
        rate = None if why else figure("hpl", "flop/s", float(row["gflops"]) * 1e9, "all ranks")
        yield shared.but(
            line=lines[at].number,
            figures=(rate,) if rate else (),
            conditions={**told, "seconds": float(row["seconds"]), "T/V": row["tv"]},
            notes=() if residuals else ("no residual was checked: the answer may be wrong",),
            refused=why,
        )


_LINPACK_ROW = re.compile(
    rf"^\s*(?P<n>\d+)\s+(?P<lda>\d+)\s+(?P<align>\d+)\s+(?P<seconds>{NUMBER})\s+(?P<gflops>{NUMBER})\s+{NUMBER}\s+{NUMBER}\s+(?P<check>\w+)"
)


def read_linpack(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield each row of Intel's LINPACK for one node."""
    threads = whole(value_after(lines, r"Number of threads:\s*(\d+)"))
    for line in lines:
        row = _LINPACK_ROW.match(line.text)
        if row is None:
            continue
        n, seconds, rate = int(row["n"]), float(row["seconds"]), float(row["gflops"])
        counted = order_rate(n, seconds) / 1e9
        why = None if row["check"] == "pass" else f"its own check reports {row['check'][:20]}"
        if why is None and seconds > 0 and abs(rate / counted - 1) > 0.02:
            why = f"N and the time imply {counted:.4g} GFLOP/s, but the row says {row['gflops']}"
        yield ImportedRun(
            format="linpack",
            tool="Intel LINPACK (one node)",
            version=value_after(lines, r"Intel\(R\).*LINPACK.*?(\d{4}[\d.]*)"),
            line=line.number,
            figures=(figure("linpack", "flop/s", rate * 1e9, "all threads"),),
            conditions={"N": n, "seconds": seconds, **known({"threads": threads})},
            notes=("not HPL: the program has its own blocking and no process grid",),
            refused=why,
        )


_KEY = re.compile(r"^\s*(?P<key>[A-Za-z][\w]*)=(?P<value>\S*)\s*$")
_HPCC: dict[str, tuple[str, Unit, float, Scope]] = {
    "HPL_Tflops": ("hpl", "flop/s", 1e12, "all ranks"),
    "StarDGEMM_Gflops": ("dgemm", "flop/s", 1e9, "each process"),
    "SingleDGEMM_Gflops": ("dgemm", "flop/s", 1e9, "one process"),
    **{f"StarSTREAM_{name}": (name.lower(), "bytes/s", 1e9, "each process") for name in ("Copy", "Scale", "Add", "Triad")},
    **{f"SingleSTREAM_{name}": (name.lower(), "bytes/s", 1e9, "one process") for name in ("Copy", "Scale", "Add", "Triad")},
    "MPIRandomAccess_GUPs": ("random access", "updates/s", 1e9, "all ranks"),
    "StarRandomAccess_GUPs": ("random access", "updates/s", 1e9, "each process"),
    "PTRANS_GBs": ("transpose", "bytes/s", 1e9, "all ranks"),
    "MPIFFT_Gflops": ("fft", "flop/s", 1e9, "all ranks"),
    "MaxPingPongLatency_usec": ("largest latency", "seconds", 1e-6, "pair"),
    "RandomlyOrderedRingLatency_usec": ("ring latency", "seconds", 1e-6, "each process"),
    "RandomlyOrderedRingBandwidth_GBytes": ("ring bandwidth", "bytes/s", 1e9, "each process"),
}
"""Keys of src/io.c: STREAM there is GB/s of each process, whatever labels public parsers give it."""


_HPCC_NAMES = {
    "HPL_N": "N", "HPL_NB": "NB", "HPL_nprow": "P", "HPL_npcol": "Q", "CommWorldProcs": "ranks", "STREAM_Threads": "threads",
}  # fmt: skip


def read_hpcc(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield a summary of HPCC."""
    told = {match["key"]: match["value"] for line in lines if (match := _KEY.match(line.text))}
    why = None if has(lines, r"End of Summary section") else f"cut off at line {lines[-1].number}: the summary has no end"
    if why is None and told.get("Success") != "1":
        why = f"it reports Success={told.get('Success', '')[:10] or 'nothing'}: a part failed"
    figures = [
        figure(what, unit, float(told[key]) * scale, scope)
        for key, (what, unit, scale, scope) in _HPCC.items()
        if re.fullmatch(NUMBER, told.get(key, "")) and float(told[key]) > 0
    ]
    yield ImportedRun(
        format="hpcc",
        tool="HPC Challenge",
        version=".".join(told[each] for each in ("VersionMajor", "VersionMinor", "VersionMicro") if each in told) or None,
        line=lines[0].number,
        figures=tuple(figures),
        conditions={name: int(told[key]) for key, name in _HPCC_NAMES.items() if told.get(key, "").isdigit()},
        refused=why,
    )


_HPCG_REPORT = re.compile(r"^\W*(?:version=)?HPCG-Benchmark(?:\b|_)")
_HPCG_RATING = rf"HPCG result is VALID with a GFLOP/s rating of\s*[:=]\s*({NUMBER})"
_HPCG_TELLS = {
    "ranks": r"Distributed Processes\s*[:=]\s*(\d+)",
    "threads per rank": r"Threads per processes\s*[:=]\s*(\d+)",
    "equations": r"Number of Equations\s*[:=]\s*(\d+)",
}


def read_hpcg(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield each report of HPCG: of 3.0 (``name: value``) and of 3.1 (``part::name=value``), NVIDIA's below its log."""
    begins: list[int] = []
    rated = 0
    for at, line in enumerate(lines):
        if _HPCG_REPORT.match(line.text):
            begins.append(at)
            rated = 0
        elif "HPCG result is" in line.text:
            if rated or not begins:  # of several files grep leaves a line or two of each
                begins.append(rated)
            rated = at + 1
    begins = begins or [0]
    maker = "NVIDIA HPCG" if has(lines, r"\bHPCG-NVIDIA\b") else "HPCG"
    for at, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        report = lines[at:end]
        rating, seconds = (float(value_after(report, pattern) or 0) for pattern in (_HPCG_RATING, _HPCG_SECONDS))
        failed = has(report, r"HPCG result is\W*INVALID")
        why = f"line {failed.number}: it reports its result as INVALID" if failed else None
        short = has(report, r"execution time \(sec\) must be at least|QuickPath option")
        yield ImportedRun(
            format="hpcg",
            tool=maker,
            version=value_after(report, r"(?i)^\W*(?:HPCG-Benchmark )?version\s*[:=]\s*(?:HPCG-Benchmark_)?([\d.]+)"),
            line=report[0].number,
            figures=(figure("hpcg", "flop/s", rating * 1e9, "all ranks"),) if rating > 0 else (),
            conditions=known(
                {**{name: whole(value_after(report, pattern)) for name, pattern in _HPCG_TELLS.items()}, "seconds": seconds}
            ),
            notes=(
                *(["shorter than the 1800 s of an official run"] if short else []),
                *(["built from the reference code, which its report calls suboptimal"] if has(report, r"suboptimal") else []),
            ),
            refused=why or (None if rating > 0 else f"cut off at line {report[-1].number}: it has no rating"),
        )


_HPCG_SECONDS = rf"Results are valid but execution time \(sec\) is\s*[:=]\s*({NUMBER})"
_COUNTED = (("N", 4), ("NB", 6))
"""What HPL.dat lists, and the line, from 0, whose first word says how many of the next line's numbers count."""


def read_input(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield what an HPL.dat asks for: its lines count by their position, not by their comments."""
    told: Known = {}
    texts = [line.text.split() for line in lines]
    for name, at in (*_COUNTED, ("P", 9), ("Q", 9)):
        count = texts[at][0] if len(texts) > at and texts[at] else ""
        row = texts[at + (2 if name == "Q" else 1)] if len(texts) > at + 2 else []
        if count.isdigit() and all(word.isdigit() for word in row[: int(count)]) and row:
            told[name] = ",".join(row[: int(count)])
    why = None if {"N", "NB", "P", "Q"} <= told.keys() else f"cut off at line {lines[-1].number}: N, NB, P or Q is missing"
    yield ImportedRun(
        format="hpl-input",
        tool="HPL.dat",
        line=lines[0].number,
        conditions=told,
        notes=("an input file, so it has no figures",),
        refused=why,
    )


FORMATS = (
    Format(
        name="hpl-input",
        tool="HPL.dat",
        seen="HPL 2.0 to 2.3",
        starts=re.compile(r"^HPLinpack benchmark input file"),
        read=read_input,
    ),
    Format(
        name="hpl",
        tool="HPL (netlib, Intel, AMD, NVIDIA, rocHPL)",
        seen="netlib 2.0 to 2.3, Intel 2.1 and 2.3, AMD Zen HPL, NVIDIA 1.0 to 24.x, rocHPL 2.2",
        starts=re.compile(rf"{_BANNER.pattern}|{HPL_ROW.pattern}"),
        begins=_BANNER,
        read=read_hpl,
        not_said=("host", "BLAS and its kernel", "threads", "binding"),
    ),
    Format(
        name="linpack",
        tool="Intel LINPACK for one node",
        seen="2018 to 2023",
        starts=re.compile(r"^\s*Size\s+LDA\s+Align\.\s+Time\(s\)\s+GFlops|Intel\(R\) .*LINPACK data"),
        begins=re.compile(r"Intel\(R\) .*LINPACK data"),
        read=read_linpack,
        not_said=("host", "binding"),
    ),
    Format(
        name="hpcc",
        tool="HPC Challenge",
        seen="1.4 to 1.5",
        starts=re.compile(r"^\s*Begin of Summary section\."),
        read=read_hpcc,
        not_said=("host", "BLAS and its kernel", "binding"),
    ),
    Format(
        name="hpcg",
        tool="HPCG (reference, NVIDIA)",
        seen="3.0 and 3.1, NVIDIA 25.4",
        starts=re.compile(rf"{_HPCG_REPORT.pattern}|^\W*HPCG-NVIDIA\b|HPCG result is|Machine Summary::Distributed Processes"),
        begins=re.compile(r"^\W*HPCG-NVIDIA\b"),
        read=read_hpcg,
        not_said=("hosts", "binding"),
    ),
)
