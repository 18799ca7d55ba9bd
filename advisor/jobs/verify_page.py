"""Where ranks are against where they should be: one verdict, what most likely happened, and the ranks that differ."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from advisor.jobs.observe import (
    VERDICTS,
    Caution,
    Comparison,
    Observation,
    PlannedRank,
    Process,
    RankVerdict,
    RunningProcesses,
)
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from advisor.machine.units import UNKNOWN, count, plain
from advisor.show.lines import Line, Page, cut, listed, numbered, wrapped

SCHEMA: Final = "advisor-verify/1"
_ROWS = 64
"""Rows of a table on a terminal; --json has all."""
_WIDEST = 28
_STYLES = {"exact": "good", "memory": "warn", "wider": "warn", "narrower": "warn"}


def verdict_line(comparison: Comparison) -> str:
    """Return the verdict in one line."""
    if comparison.equal:
        return f"as planned: {_all(comparison.planned)} exactly where the plan has {_it(comparison.planned)}"
    kinds = Counter(row.verdict for row in comparison.differ)
    parts = [f"{kinds[verdict]} {verdict}" for verdict in VERDICTS if kinds[verdict]]
    parts += [f"{len(comparison.extra)} not in the plan"] if comparison.extra else []
    return f"differs from the plan: {len(comparison.differ)} of {count(comparison.planned, 'rank')} ({', '.join(parts)})"


def _all(ranks: int) -> str:
    return "the one rank is" if ranks == 1 else f"all {ranks} ranks are"


def _it(ranks: int) -> str:
    return "it" if ranks == 1 else "them"


def ranks_of(ranks: CpuSet) -> str:
    """Return ranks in words: ``ranks 0-7,12``."""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {listed(ranks)}"


def comparison_page(comparison: Comparison, width: int | None = None) -> Page:
    """Return a comparison as a page."""
    return Page(lambda room: _comparison(comparison, room), width)


def _comparison(comparison: Comparison, width: int) -> list[Line]:
    style = "good" if comparison.equal else "high"
    lines = wrapped([(verdict_line(comparison), style)], width)
    for cause in comparison.causes:
        lines += wrapped([("-> ", "warn"), (f"{ranks_of(cause.ranks)}: ", "title"), (plain(cause.say, 400), "")], width, indent=3)
    for note in comparison.notes:
        lines += wrapped([("!  ", "warn"), (plain(note, 400), "")], width, indent=3)
    if comparison.differ:
        rows = [_row(row) for row in comparison.differ[:_ROWS]]
        lines += [(), *_table(("rank", "verdict", "planned", "observed"), rows, width)]
    return lines + _more(len(comparison.differ))


def _more(rows: int) -> list[Line]:
    return [((f"... and {rows - _ROWS} more; --json has all", "dim"),)] if rows > _ROWS else []


def _row(row: RankVerdict) -> tuple[str, ...]:
    word = f"{row.verdict}, shared" if row.shares and row.verdict not in ("overlapping", "exact") else row.verdict
    return str(row.rank), word, _planned(row), _seen(row)


def _planned(row: RankVerdict) -> str:
    place = row.planned
    return _place(place.host if _tells_host(row) else None, place.cpus, _memory(place) if row.verdict == "memory" else None)


def _memory(place: PlannedRank) -> str:
    return f"memory of node {numbered(place.memory or ())}"


def _seen(row: RankVerdict) -> str:
    if row.seen is None:
        return "nothing"
    return _place(
        row.seen.host if _tells_host(row) else None, row.seen.cpus, _policy(row.seen) if row.verdict == "memory" else None
    )


def _tells_host(row: RankVerdict) -> bool:
    return row.planned.host is not None


def _policy(seen: Observation) -> str:
    if seen.policy and ":" in seen.policy:
        return f"memory {seen.policy}"
    return f"memory local, of nodes {seen.mems}" if seen.mems is not None else "memory local"


def _place(host: str | None, cpus: CpuSet, memory: str | None) -> str:
    words = [plain(host, 64)] if host else []
    return " ".join([*words, cut(listed(cpus), _WIDEST), *([memory] if memory else [])])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """Return columns as wide as their longest cell; the last one is cut at the width."""
    wide = [max(len(row[at]) for row in (head, *rows)) + 2 for at in range(len(head))]
    lines: list[Line] = []
    for number, row in enumerate((head, *rows)):
        cells = [f"{cell:<{wide[at]}}" for at, cell in enumerate(row)]
        style = "label" if number == 0 else _STYLES.get(row[1].partition(",")[0], "")
        lines.append(((cut("".join(cells).rstrip(), width), style),))
    return lines


def running_page(
    looked: RunningProcesses,
    cautions: Sequence[Caution],
    topology: Topology,
    comparison: Comparison | None = None,
    width: int | None = None,
) -> Page:
    """Return running processes, and what is to be said against where they run, as a page."""
    return Page(lambda room: _running(looked, cautions, topology, comparison, room), width)


def _running(
    looked: RunningProcesses, cautions: Sequence[Caution], topology: Topology, comparison: Comparison | None, width: int
) -> list[Line]:
    many = count(len(looked.processes), "process", "processes")
    lines = [*_comparison(comparison, width), ()] if comparison else []
    said = f"{count(len(cautions), 'warning')} about {many}" if cautions else f"no problem with the CPUs where {many} may run"
    lines += wrapped([(said, "warn" if cautions else "good")], width)
    for caution in cautions[:_ROWS]:
        lines += wrapped([("!  ", "warn"), (plain(caution.say, 400), "")], width, indent=3)
    lines += _more(len(cautions))
    for line in looked.unread:
        lines += wrapped([("?  ", "unknown"), (plain(line, 400), "")], width, indent=3)
    head = ("process", "name", "rank", "threads", "CPUs", "NUMA nodes", "L3 groups", "adapter")
    rows = [_process(process, topology) for process in looked.processes[:_ROWS]]
    return [*lines, (), *_table(head, rows, width), *_more(len(looked.processes))]


def _process(process: Process, topology: Topology) -> tuple[str, ...]:
    ran = sum(thread.running for thread in process.threads)
    return (
        str(process.pid),
        plain(process.name, 20),
        "-" if process.rank is None and process.told else UNKNOWN if process.rank is None else str(process.rank),
        f"{len(process.threads)}, {ran} running",
        cut(listed(process.cpus), _WIDEST),
        numbered(_nodes(process, topology)) or UNKNOWN,
        numbered(_l3(process, topology)) or UNKNOWN,
        plain(process.ucx, 24) if process.ucx else "-",
    )


def _nodes(process: Process, topology: Topology) -> list[int]:
    return [node.os_index for node in topology.nodes_of(process.cpus)]


def _l3(process: Process, topology: Topology) -> list[int]:
    return [at for at, l3 in enumerate(topology.l3) if l3.cpuset & process.cpus]


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return the document of ``advisor verify --json``."""
    kinds = Counter(row.verdict for row in comparison.differ)
    exact = comparison.planned - len(comparison.differ)
    said = comparison.model_dump(mode="json")
    return {
        "schema": SCHEMA,
        "equal": comparison.equal,
        "verdict": verdict_line(comparison),
        "planned": comparison.planned,
        "seen": comparison.seen,
        "counts": {verdict: kinds[verdict] for verdict in VERDICTS if verdict != "exact"} | {"exact": exact},
        **{key: said[key] for key in ("differ", "extra", "causes", "notes")},
    }


def running_document(
    looked: RunningProcesses, cautions: Sequence[Caution], topology: Topology, comparison: Comparison | None
) -> dict[str, Any]:
    """Return the document of ``advisor verify --pid --json``."""
    return {
        "schema": SCHEMA,
        "host": looked.host,
        "processes": [
            {**process.model_dump(mode="json"), "numa_nodes": _nodes(process, topology), "l3": _l3(process, topology)}
            for process in looked.processes
        ],
        "warnings": [caution.model_dump(mode="json") for caution in cautions],
        "unread": list(looked.unread),
        "comparison": comparison_document(comparison) if comparison else None,
    }
