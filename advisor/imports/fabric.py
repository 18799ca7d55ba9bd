"""perftest of InfiniBand and RoCE, and the tests of NCCL and RCCL: messages between hosts and between GPUs."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from advisor.imports.text import NUMBER, Format, Line, has, numbers, value_after
from advisor.model.imported import ImportedFigure, ImportedRun, Statistic
from advisor.model.measurement import Unit

_MIB: Final = float(1 << 20)
_PERF_TITLE: Final = re.compile(
    r"^\s*(?P<verb>RDMA_\w+|Send|Atomic\w*|Raw\w*)\s+(?P<kind>BW Post List|BW|Bidirectional BW|Latency)\s+Test"
)
_PERF_HEAD: Final = re.compile(r"#bytes\s+#iterations\s+(?P<rest>.+)")
_PERF_UNITS: Final = {"MB/sec": _MIB, "MiB/sec": _MIB, "Gb/sec": 1e9 / 8}
"""MB there is 2^20 bytes in every release; since 2024 the label says so (perftest 1d202bb)."""


_PERF_COLUMN: Final = re.compile(
    r"BW (?:peak|average)\[[^]]+\]|MsgRate\[Mpps\]|t_\w+\[usec\]|tps average|[\d.]+% percentile\[usec\]|CPU_Util\[%\]"
)


def _perf_column(name: str, every: Sequence[str], *, both: bool) -> tuple[str, Unit, float, Statistic] | None:
    """Return what a column is; of bandwidth the average is read, of latency the typical one, which is a median."""
    unit = re.fullmatch(r"BW average\[([^]]+)\]", name)
    if unit:
        return ("both ways" if both else "bandwidth", "bytes/s", _PERF_UNITS[unit[1]], "mean") if unit[1] in _PERF_UNITS else None
    if name == "MsgRate[Mpps]":
        return "message rate", "messages/s", 1e6, "mean"
    typical = "t_typical[usec]"
    if name == typical:
        return "latency", "seconds", 1e-6, "median"
    return ("latency", "seconds", 1e-6, "mean") if name == "t_avg[usec]" and typical not in every else None


def _perf_figures(lines: Sequence[Line], *, both: bool) -> Iterator[ImportedFigure]:
    """Yield the figures of the rows below each header."""
    columns: list[str] = []
    for line in lines:
        head = _PERF_HEAD.search(line.text)
        columns = _PERF_COLUMN.findall(head["rest"]) if head else columns
        row = numbers(line.text)
        if row is None or not columns or len(row) < len(columns) + 2:
            continue
        for name, value in zip(columns, row[2:], strict=False):
            kind = _perf_column(name, columns, both=both)
            if kind and value > 0:
                what, unit, scale, statistic = kind
                yield ImportedFigure(
                    what=what, unit=unit, value=value * scale, statistic=statistic, scope="pair", size=int(row[0])
                )


_SAME: Final = 0.05


def _once(figures: Iterable[ImportedFigure]) -> tuple[list[ImportedFigure], bool]:
    """Return figures, one of each size, and whether two of a size contradict: server and client print about the same."""
    first: dict[tuple[str, int | None], ImportedFigure] = {}
    torn = False
    for each in figures:
        known = first.setdefault((each.what, each.size), each)
        torn = torn or abs(each.value / known.value - 1) > _SAME
    return list(first.values()), torn


_PERF_TELLS: Final = {
    "device": r"\bDevice\s*:\s*(\S+)",
    "link": r"Link type\s*:\s*(\S+)",
    "mtu": r"\bMtu\s*:\s*(\d+)",
    "queue pairs": r"Number of qps\s*:\s*(\d+)",
}


def read_perftest(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one run of ib_write_bw, ib_send_lat and their kin; server and client on one terminal are one run."""
    title = next((each for line in lines if (each := _PERF_TITLE.match(line.text))), None)
    verb, kind = (title["verb"], title["kind"]) if title else ("", "")
    figures, torn = _once(_perf_figures(lines, both=kind.startswith("Bidirectional")))
    told: dict[str, str | int | float] = {"test": f"{verb} {kind}"}
    told |= {name: value for name, pattern in _PERF_TELLS.items() if (value := value_after(lines, pattern))}
    full = kind == "Latency" and verb.startswith(("RDMA_Read", "Atomic"))
    why = None if figures else f"torn at line {lines[-1].number}: a header without a row"
    if torn:
        why = "a size stands twice with other figures: the output of two runs is mixed"
    yield ImportedRun(
        format="perftest",
        tool=f"perftest, {verb} {kind}".rstrip(),
        line=lines[0].number,
        figures=tuple(figures),
        conditions=told,
        not_said=("hosts", "NUMA node", "version", *(() if "device" in told else ("device",))),
        notes=("its latency is the full round trip",) if full else (),
        refused=why,
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
    whole = isinstance(results, dict) and isinstance(info, dict)
    figures = tuple(_json_figures(results)) if isinstance(results, dict) and whole else ()
    told = (
        {str(key)[:40]: value if isinstance(value, int | float) else str(value)[:80] for key, value in (info or {}).items()}
        if whole
        else {}
    )
    yield ImportedRun(
        format="perftest-json",
        tool="perftest",
        line=1,
        figures=figures,
        conditions=told,
        not_said=("hosts", "NUMA node"),
        refused=None if figures else "it has no result" if whole else "torn: it is no whole JSON",
    )


def _json_figures(results: Mapping[str, object]) -> Iterator[ImportedFigure]:
    told = {name: float(value) for name, value in results.items() if isinstance(value, int | float) and value > 0}
    size = int(told["MsgSize"]) if "MsgSize" in told else None
    if "MsgRate" in told:
        rate = told["MsgRate"] * 1e6
        yield ImportedFigure(what="message rate", unit="messages/s", value=rate, statistic="mean", scope="pair", size=size)
        if size and "BW_average" in told:
            # The number has no unit: messages a second times their size tell which.
            scale = min(_PERF_UNITS.values(), key=lambda each: abs(told["BW_average"] * each / (rate * size) - 1))
            yield ImportedFigure(
                what="bandwidth", unit="bytes/s", value=told["BW_average"] * scale, statistic="mean", scope="pair", size=size
            )
    if "t_typical" in told:
        yield ImportedFigure(
            what="latency", unit="seconds", value=told["t_typical"] * 1e-6, statistic="median", scope="pair", size=size
        )


_NCCL_ROW: Final = re.compile(
    rf"^\s*(?P<size>\d+)\s+(?P<count>\d+)\s+(?P<type>[a-z]\w*)(?:\s+(?P<op>[a-z]\w*))?(?:\s+-?\d+)?\s+"
    rf"(?P<time>{NUMBER})\s+(?P<alg>{NUMBER})\s+(?P<bus>{NUMBER})\s+(?P<wrong>N/A|{NUMBER})\s+"
    rf"(?P<time2>{NUMBER})\s+(?P<alg2>{NUMBER})\s+(?P<bus2>{NUMBER})\s+(?P<wrong2>N/A|{NUMBER})"
)


def _nccl_figures(rows: Sequence[re.Match[str]]) -> Iterator[ImportedFigure]:
    for row in rows:
        columns: tuple[tuple[str, Unit, float], ...] = (
            ("time", "seconds", float(row["time"]) * 1e-6),
            ("bus bandwidth", "bytes/s", float(row["bus"]) * 1e9),
        )
        for what, unit, value in columns:
            if value > 0:
                size = int(row["size"])
                yield ImportedFigure(what=what, unit=unit, value=value, statistic="mean", scope="all GPUs", size=size)


def read_nccl(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield one run of nccl-tests or rccl-tests: the columns of out of place."""
    rows = [found for line in lines if (found := _NCCL_ROW.match(line.text))]
    wrong = next((row for row in rows for each in ("wrong", "wrong2") if row[each] != "N/A" and float(row[each]) > 0), None)
    bounds = has(lines, r"Out of bounds values\s*:\s*\d+ FAILED")
    test = value_after(lines, r"Collective test starting:\s*(\S+)")
    gpus = sum(bool(re.match(r"^\W*Rank\s+\d+\s.*\bdevice\s", line.text)) for line in lines)
    why = f"at {wrong['size']} bytes its results were wrong" if wrong else None
    why = why or (f"line {bounds.number}: it failed its own check" if bounds else None)
    yield ImportedRun(
        format="nccl",
        tool="nccl-tests, rccl-tests",
        version=value_after(lines, r"nccl-tests version ([\d.]+)"),
        line=lines[0].number,
        figures=() if why else tuple(_nccl_figures(rows)),
        conditions={**({"test": test} if test else {}), **({"GPUs": gpus} if gpus else {})},
        not_said=("binding",) if test else ("which collective", "binding"),
        notes=("its results were not checked",) if rows and all(row["wrong"] == "N/A" for row in rows) else (),
        refused=why or (None if rows else f"torn at line {lines[-1].number}: no row"),
    )


FORMATS: Final = (
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
        starts=re.compile(r"^\W*nThread \d+ nGpus \d+ minBytes|Collective test starting:|^\W*nccl-tests version"),
        begins=re.compile(r"^\W*nThread \d+ nGpus \d+ minBytes"),
        read=read_nccl,
        not_said=("which collective", "binding"),
    ),
)
