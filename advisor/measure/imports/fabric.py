"""perftest of InfiniBand and RoCE, and the tests of NCCL and RCCL: messages between hosts and between GPUs."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from advisor.measure.imports.text import NUMBER, Format, Line, has, leading, value_after
from advisor.measure.measurement import ImportedFigure, ImportedRun, Statistic, Unit

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


def _perf_rows(lines: Sequence[Line]) -> Iterator[tuple[list[str], list[float]]]:
    """Yield each row with its columns: what stands behind those that are read, a remark or glued columns, does not count."""
    columns: list[str] = []
    for line in lines:
        head = _PERF_HEAD.search(line.text)
        columns = _PERF_COLUMN.findall(head["rest"]) if head else columns
        row = leading(line.text)
        wanted = max((at for at, name in enumerate(columns, 1) if _perf_column(name, columns, both=False)), default=0)
        if wanted and not head and len(row) >= wanted + 2:
            yield columns, row


_ROUNDED: Final = 0.01
"""By how much a bandwidth and what size and message rate give may differ, beside what the printed digits leave."""


def _unit_of(size: float, rate: float, value: float, label: float) -> float | None:
    """Return bytes of the unit of a bandwidth as its message rate has it: that of its label, or another; None of none.

    A server that was not asked for --report_gbits prints its client's Gb/s under MB/sec.
    """
    slack = _ROUNDED + 0.005 / value + 0.5 / rate
    return next((unit for unit in (label, *_PERF_UNITS.values()) if abs(value * unit / (size * rate) - 1) <= slack), None)


def _perf_figures(lines: Sequence[Line], *, both: bool) -> Iterator[ImportedFigure | str]:
    """Yield the figures of the rows below each header, and what is odd of a row."""
    for columns, row in _perf_rows(lines):
        told = dict(zip(columns, row[2:], strict=False))
        for name, value in told.items():
            kind = _perf_column(name, columns, both=both)
            if not kind or value <= 0:
                continue
            what, unit, scale, statistic = kind
            rate = told.get("MsgRate[Mpps]", 0.0) * 1e6
            true = _unit_of(row[0], rate, value, scale) if unit == "bytes/s" and rate > 0 and row[0] > 0 else scale
            if true is None:
                yield f"at {row[0]:g} bytes its bandwidth and its message rate contradict each other"
            elif true != scale:
                yield _RELABELLED
            yield ImportedFigure(
                what=what, unit=unit, value=value * (true or scale), statistic=statistic, scope="pair", size=int(row[0])
            )


_RELABELLED: Final = "its header names another unit than size and message rate give: these are believed"


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
    found = list(_perf_figures(lines, both=kind.startswith("Bidirectional")))
    figures, torn = _once(each for each in found if isinstance(each, ImportedFigure))
    odd = dict.fromkeys(each for each in found if isinstance(each, str))
    told: dict[str, str | int | float] = {"test": f"{verb} {kind}"} if title else {}
    told |= {name: value for name, pattern in _PERF_TELLS.items() if (value := value_after(lines, pattern))}
    full = kind == "Latency" and verb.startswith(("RDMA_Read", "Atomic"))
    why = None if figures else f"torn at line {lines[-1].number}: a header without a row"
    why = next((each for each in odd if each != _RELABELLED), why)
    if torn:
        why = "a size stands twice with other figures: the output of two runs is mixed"
    yield ImportedRun(
        format="perftest",
        tool=f"perftest, {verb} {kind}" if title else "perftest",
        line=lines[0].number,
        figures=tuple(figures),
        conditions=told,
        not_said=("version", *(() if title else ("which test",)), *(() if "device" in told else ("device",))),
        notes=(*(("its latency is the full round trip",) if full else ()), *((_RELABELLED,) if _RELABELLED in odd else ())),
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


_NCCL_HEAD: Final = re.compile(
    r"^\W*size\s+count(?:\s+\(elements\))?\s+type\s+(?:redop\s+)?(?:root\s+)?time\s+algbw\s+busbw\s+#?(?P<last>wrong|error)"
)
_NCCL_TITLE: Final = re.compile(r"^\W*nThread \d+ nGpus \d+ minBytes")
_NCCL_SLACK: Final = 0.05
"""By how much size over time and the bandwidth may differ, beside the two decimals that are printed."""


def _nccl_figures(rows: Sequence[re.Match[str]]) -> Iterator[ImportedFigure]:
    for row in rows:
        columns: tuple[tuple[str, Unit, float], ...] = (
            ("time", "seconds", float(row["time"]) * 1e-6),
            ("bus bandwidth", "bytes/s", float(row["bus"]) * 1e9),
        )
        for what, unit, value in columns:
            if value > 0 and int(row["size"]):
                size = int(row["size"])
                yield ImportedFigure(what=what, unit=unit, value=value, statistic="mean", scope="all GPUs", size=size)


def _nccl_refused(lines: Sequence[Line], rows: Sequence[re.Match[str]]) -> str | None:
    """Return why a table is not believed; where older releases count nothing, they print the largest difference."""
    counted = next((found["last"] for line in lines if (found := _NCCL_HEAD.match(line.text))), "wrong") == "wrong"
    for row in rows:
        if counted and any(row[each] != "N/A" and float(row[each]) > 0 for each in ("wrong", "wrong2")):
            return f"at {row['size']} bytes its results were wrong"
        said, time = float(row["alg"]), float(row["time"])
        rate = int(row["size"]) / time / 1e3 if time > 0 else 0.0
        if abs(said - rate) > 0.006 + _NCCL_SLACK * rate:
            return (
                f"at {row['size']} bytes size and time give {rate:.3g} GB/s, the row says {said:g}: not printed by this program"
            )
    bounds = has(lines, r"Out of bounds values\s*:\s*\d+ FAILED")
    if bounds:
        return f"line {bounds.number}: it failed its own check"
    if not rows:
        return f"torn at line {lines[-1].number}: no row"
    sizes = [row["size"] for row in rows if int(row["size"])]
    if len(set(sizes)) != len(sizes):
        return "a size stands twice: the output of two runs is mixed"
    return None if sizes else "it sent nothing: every row has 0 bytes"


def _nccl_tables(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines of each table: a header after a row begins another one."""
    tables: list[list[Line]] = [[]]
    rows = False
    for line in lines:
        if rows and _NCCL_HEAD.match(line.text):
            tables.append([])
            rows = False
        rows = rows or bool(_NCCL_ROW.match(line.text))
        tables[-1].append(line)
    return tables


def read_nccl(lines: Sequence[Line]) -> Iterator[ImportedRun]:
    """Yield the runs of nccl-tests or rccl-tests: the columns of out of place."""
    test = value_after(lines, r"Collective test starting:\s*(\S+)")
    gpus = sum(bool(re.match(r"^\W*Rank\s+\d+\s.*\bdevice\s", line.text)) for line in lines)
    for table in _nccl_tables(lines):
        rows = [found for line in table if (found := _NCCL_ROW.match(line.text))]
        why = _nccl_refused(table, rows)
        yield ImportedRun(
            format="nccl",
            tool="nccl-tests, rccl-tests",
            version=value_after(lines, r"nccl-tests version ([\d.]+)"),
            line=table[0].number,
            figures=() if why else tuple(_nccl_figures(rows)),
            conditions={**({"test": test} if test else {}), **({"GPUs": gpus} if gpus else {})},
            not_said=() if test else ("which collective",),
            notes=("its results were not checked",) if rows and all(row["wrong"] == "N/A" for row in rows) else (),
            refused=why,
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
        starts=re.compile(rf"{_NCCL_TITLE.pattern}|Collective test starting:|^\W*nccl-tests version|{_NCCL_HEAD.pattern}"),
        begins=_NCCL_TITLE,
        read=read_nccl,
        not_said=("binding",),
    ),
)
