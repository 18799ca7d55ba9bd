"""Ranks in tables and JSON: where each is placed, and what a launch line that was given does with them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count as count_from
from itertools import islice
from typing import Any, Final

from rich.cells import cell_len

from advisor.jobs.folded_plan import FoldedPlan
from advisor.jobs.placement import Lint, LintRank, LintTranslation, LintWarning, Placement, RankPlace, Slot
from advisor.jobs.registry import title_of
from advisor.machine.cpuset import CpuSet
from advisor.machine.units import count, plain
from advisor.show.cpulists import listed
from advisor.show.lines import Line, Page, cut, wrapped

FIRST: Final = 8
"""So many ranks are listed, and the last."""

_RIGHT: Final = ("rank", "distance")
_LEAST: Final = 4


def rank_table(placement: Placement, width: int, *, whole: bool = False) -> list[Line]:
    """Return the ranks in lines, those in the middle left out unless all are wanted."""
    if whole or placement.size <= FIRST + 2:
        rows = list(map(_row, placement.ranks()))
    else:
        rows = [*map(_row, islice(placement.ranks(), FIRST)), {"rank": "..."}, _row(_last_rank(placement))]
    sizes = {
        head: max(cell_len(row.get(head, "")) for row in ({head: head}, *rows))
        for head in rows[0]
        if any(r.get(head) for r in rows)
    }
    for head in ("CPUs", "L3", "host", "NUMA"):
        over = sum(sizes.values()) + 2 * (len(sizes) - 1) - width
        if over > 0 and head in sizes:
            sizes[head] = max(_LEAST, sizes[head] - over)

    def line(row: Mapping[str, str], style: str) -> Line:
        cells = []
        for head, size in sizes.items():
            shown = cut(row.get(head, ""), size)
            blanks = " " * (size - cell_len(shown))
            cells.append(blanks + shown if head in _RIGHT else shown + blanks)
        return (("  ".join(cells).rstrip(), style),)

    return [line({head: head for head in sizes}, "label"), *(line(row, "dim" if row["rank"] == "..." else "") for row in rows)]


def _last_rank(placement: Placement) -> RankPlace:
    """Return the last rank."""
    host = next(host for host in reversed(placement.hosts) if host.ranks)
    return RankPlace(placement.size - 1, host.name, host.ranks - 1, placement.plans[host.plan].slots[host.ranks - 1])


def _row(place: RankPlace) -> dict[str, str]:
    slot = place.slot
    return {
        "rank": str(place.rank),
        "host": place.host or "",
        "CPUs": _listed(slot.cpus),
        "NUMA": listed(CpuSet(slot.nodes)) or "-",
        "memory": "" if slot.memory == slot.nodes else listed(CpuSet(slot.memory)) or "-",
        "L3": listed(CpuSet(slot.l3)) or "-",
        "HCA": slot.hca or "",
        "distance": "" if slot.hca is None else "?" if slot.distance is None else str(slot.distance),
        "GPU": slot.gpu or "",
    }


@cache
def _listed(cpus: CpuSet) -> str:
    return listed(cpus)


def rank_texts(placement: Placement) -> Iterator[str]:
    """Yield each rank as a JSON object; each slot is put into words once, however many hosts have it."""
    tails = [[json.dumps(_values(slot))[1:] for slot in plan.slots] for plan in placement.plans]
    numbers = count_from()
    for host in placement.hosts:
        name = json.dumps(host.name)
        for local, tail in enumerate(tails[host.plan][: host.ranks]):
            yield f'{{"rank": {next(numbers)}, "host": {name}, "local": {local}, {tail}'


def _values(slot: Slot) -> dict[str, Any]:
    return {
        "cpus": str(slot.cpus),
        "numa_nodes": slot.nodes,
        **{name: getattr(slot, name) for name in ("memory", "l3", "hca", "gpu", "distance")},
    }


def plan_lines(plan: FoldedPlan) -> Iterator[str]:
    """Yield the lines of the file that ``advisor verify`` compares with: one for each slot and each text of names."""
    yield f'{{"schema": "{plan.schema_}", "nodes": ['
    for at, node in enumerate(plan.nodes):
        yield '{"slots": ['
        yield from _separated(slot.model_dump_json() for slot in node.slots)
        yield "]}," if at + 1 < len(plan.nodes) else "]}"
    yield '], "hosts": ['
    for at, entry in enumerate(plan.hosts):
        yield f'{{"node": {entry.node}, "ranks": "{entry.ranks}", "names": {"null" if entry.names is None else "["}'
        yield from _separated(map(json.dumps, entry.names or ()))
        yield ("]}" if entry.names is not None else "}") + ("," if at + 1 < len(plan.hosts) else "")
    yield "]}"


def document_lines(placement: Placement, values: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a document: the ranks, then the values."""
    head, *rest = values.items()
    yield f'{{"{head[0]}": {json.dumps(head[1])}, "ranks": ['
    yield from _separated(rank_texts(placement))
    yield f"],\n{json.dumps(dict(rest), indent=1)[2:]}"


def _separated(texts: Iterable[str]) -> Iterator[str]:
    held: str | None = None
    for text in texts:
        if held is not None:
            yield f"{held},"
        held = text
    if held is not None:
        yield held


LINT_SCHEMA: Final = "advisor-lint/1"
"""The number rises when a key changes meaning or goes."""

_MOST_RANKS = 32
_MOST_LINES = 12


def lint_document(told: Lint) -> dict[str, Any]:
    """Return the document of ``advisor check --json``."""
    return {"schema": LINT_SCHEMA, **told.model_dump(mode="json")}


def lint_page(told: Lint, width: int | None = None) -> Page:
    """Return a line's explanation."""
    return Page(lambda room: _lint_lines(told, room), width)


def _lint_lines(told: Lint, width: int) -> list[Line]:
    version = f" ({plain(told.version)})" if told.version else ""
    head = [(title_of(told.launcher), "title"), (f"{version}, known from {plain(told.known_from)}", "dim")]
    result = wrapped(head, width)
    result += [line for each in told.assumed for line in wrapped([("  ", ""), (each, "dim")], width)]
    # The command stands on one line, however wide: it is there to be copied.
    result += [(("  ", ""), (plain(told.line, 200_000), "")), (), (("Options", "heading"),)]
    options = [(each.text, each.says, each.known) for each in told.options]
    if told.command:
        options.append((plain(" ".join(told.command), 200), "is started", True))
    for text, says, known in options:
        shown = cut(plain(text, 400), max(20, width // 2))
        result += wrapped([(f"  {shown}", "label" if known else "unknown"), (f"  {plain(says, 400)}", "")], width, indent=6)
    result += [(), (("Rank placement here", "heading"),), *wrapped([("  ", ""), (plain(told.binding, 2000), "")], width)]
    result += rows_of_ranks(told.ranks or (), width)
    result += [(), (("Problems", "heading"),)]
    result += [line for each in told.warnings for line in _warning(each, width)]
    if not told.warnings and told.ranks:
        result.append((("  no known problems", "good"),))
    elif not told.warnings:
        text = "not predicted: the ranks' placement is not known, and the options alone show no fault"
        result += wrapped([("  ", ""), (text, "unknown")], width)
    result += [(), (("The same for other launchers", "heading"),)]
    return result + _translations(told.translations, width)


def rows_of_ranks(ranks: tuple[LintRank, ...], width: int) -> list[Line]:
    """Return the CPUs of ranks, those in a row with the same ones together."""
    rows: list[tuple[int, int, str | None, CpuSet | None]] = []
    for each in ranks:
        first = each.rank
        if rows and rows[-1][2:] == (each.host, each.cpus) and rows[-1][1] + 1 == each.rank:
            first = rows.pop()[0]
        rows.append((first, each.rank, each.host, each.cpus))
    result: list[Line] = []
    for first, last, host, cpus in rows[:_MOST_RANKS]:
        number = str(first) if first == last else f"{first}-{last}"
        where = f" on {plain(host)}" if host else ""
        bound = f"CPUs {cpus}" if cpus else "not bound"
        result += wrapped([(f"  rank {number}{where}: ", "label"), (bound, "")], width, indent=6)
    more = len(rows) - _MOST_RANKS
    return [*result, ((f"  and {count(more, 'row')} more; --json has all", "dim"),)] if more > 0 else result


def _warning(told: LintWarning, width: int) -> list[Line]:
    result = wrapped([("  ", ""), (told.id, "warn title"), (f": {plain(told.what, 600)}", "")], width, indent=4)
    for label, text, style in (("    why   ", told.why, ""), ("    here  ", told.evidence, "dim")):
        result += wrapped([(label, "label"), (plain(text, 600), style)], width, indent=10)
    if told.better:
        result += [(("    better ", "label"), (plain(told.better, 200_000), "title"))]
    return result


def _translations(told: Sequence[LintTranslation], width: int) -> list[Line]:
    """Return every translation; where none can be said for one and the same reason, that reason once."""
    result: list[Line] = []
    if len(told) > 1 and len({each.lost for each in told}) == 1 and not any(each.line for each in told):
        names = ", ".join(title_of(each.launcher) for each in told)
        result = wrapped([("  ", ""), (names, "title"), (": not known", "unknown")], width, indent=4)
        return result + _lost(told[0], width)
    for each in told:
        result += [(("  ", ""), (title_of(each.launcher), "title"))]
        result += [(("    ", ""), (plain(each.line, 200_000), ""))] if each.line else [(("    not known", "unknown"),)]
        for name, lines in each.files.items():
            result.append(((f"    {plain(name)}:", "label"),))
            result += [(("      ", ""), (plain(line, 400), "dim")) for line in lines[:_MOST_LINES]]
            if len(lines) > _MOST_LINES:
                result.append(((f"      and {count(len(lines) - _MOST_LINES, 'line')} more; --json has all", "dim"),))
        result += _lost(each, width)
    return result


def _lost(told: LintTranslation, width: int) -> list[Line]:
    words = ([("    lost  ", "label"), (plain(text, 400), "dim")] for text in told.lost)
    return [line for spans in words for line in wrapped(spans, width, indent=10)]
