"""Ranks in tables and JSON: where each is placed, and what a launch line that was given does with them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from rich.cells import cell_len

from advisor.jobs.folded_plan import FoldedPlan
from advisor.jobs.placement import HostPlan, Lint, LintRank, LintTranslation, LintWarning, Placement, RankPlace, Slot
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
    rows = list(_rows(placement, whole=whole))
    heads = [head for head in rows[0] if any(row.get(head) for row in rows)]
    sizes = {head: max(cell_len(head), *(cell_len(row.get(head, "")) for row in rows)) for head in heads}
    for head in ("CPUs", "L3", "host", "NUMA"):
        over = sum(sizes.values()) + 2 * (len(heads) - 1) - width
        if over > 0 and head in sizes:
            sizes[head] = max(_LEAST, sizes[head] - over)
    result: list[Line] = [(("  ".join(_cell(head, head, sizes) for head in heads).rstrip(), "label"),)]
    for row in rows:
        text = "  ".join(_cell(head, row.get(head, ""), sizes) for head in heads).rstrip()
        result.append(((text, "dim" if row["rank"] == "..." else ""),))
    return result


def _cell(head: str, text: str, sizes: dict[str, int]) -> str:
    shown = cut(text, sizes[head])
    blanks = " " * (sizes[head] - cell_len(shown))
    return blanks + shown if head in _RIGHT else shown + blanks


def _rows(placement: Placement, *, whole: bool) -> Iterator[dict[str, str]]:
    size = placement.size
    if whole or size <= FIRST + 2:
        yield from map(_row, placement.ranks())
        return
    yield from map(_row, islice(placement.ranks(), FIRST))
    yield {"rank": "..."}
    yield _row(last_rank(placement))


def last_rank(placement: Placement) -> RankPlace:
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


def rank_values(slot: Slot) -> dict[str, Any]:
    """Return what JSON says of a rank's place."""
    return {
        "cpus": str(slot.cpus),
        "numa_nodes": list(slot.nodes),
        "memory": list(slot.memory),
        "l3": list(slot.l3),
        "hca": slot.hca,
        "gpu": slot.gpu,
        "distance": slot.distance,
    }


def rank_texts(placement: Placement) -> Iterator[str]:
    """Yield each rank as a JSON object; each slot is put into words once, however many hosts have it."""
    tails = [[json.dumps(rank_values(slot))[1:] for slot in plan.slots] for plan in placement.plans]
    rank = 0
    for host in placement.hosts:
        name = json.dumps(host.name)
        for local, tail in enumerate(_used(tails, host)):
            yield f'{{"rank": {rank}, "host": {name}, "local": {local}, {tail}'
            rank += 1


def _used(tails: Sequence[Sequence[str]], host: HostPlan) -> Sequence[str]:
    return tails[host.plan][: host.ranks]


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
    result = [*wrapped(head, width), *_copied(told.line)]
    result += [(), (("Options", "heading"),)]
    result += [line for each in told.options for line in _option(each.text, each.says, width, known=each.known)]
    if told.command:
        result += _option(plain(" ".join(told.command), 200), "is started", width)
    result += [(), (("Rank placement here", "heading"),), *wrapped([("  ", ""), (plain(told.binding, 2000), "")], width)]
    result += _ranks(told.ranks or (), width)
    result += [(), (("Problems", "heading"),)]
    result += [line for each in told.warnings for line in _warning(each, width)]
    result += [] if told.warnings else _no_warning(told, width)
    result += [(), (("The same for other launchers", "heading"),)]
    return result + _translations(told.translations, width)


def _copied(text: str) -> list[Line]:
    """Return a command on one line, however wide: it is there to be copied."""
    return [(("  ", ""), (plain(text, 200_000), ""))]


def _option(text: str, says: str, width: int, *, known: bool = True) -> list[Line]:
    shown = cut(plain(text, 400), max(20, width // 2))
    return wrapped([(f"  {shown}", "label" if known else "unknown"), (f"  {plain(says, 400)}", "")], width, indent=6)


def _ranks(ranks: tuple[LintRank, ...], width: int) -> list[Line]:
    result: list[Line] = []
    for first, last, host, cpus in _runs_of_ranks(ranks)[:_MOST_RANKS]:
        number = str(first) if first == last else f"{first}-{last}"
        where = f" on {plain(host)}" if host else ""
        bound = f"CPUs {cpus}" if cpus else "not bound"
        result += wrapped([(f"  rank {number}{where}: ", "label"), (bound, "")], width, indent=6)
    more = len(_runs_of_ranks(ranks)) - _MOST_RANKS
    return [*result, ((f"  and {count(more, 'row')} more; --json has all", "dim"),)] if more > 0 else result


def _runs_of_ranks(ranks: tuple[LintRank, ...]) -> list[tuple[int, int, str | None, CpuSet | None]]:
    """Return the ranks in a row with the same CPUs together."""
    rows: list[tuple[int, int, str | None, CpuSet | None]] = []
    for each in ranks:
        if rows and rows[-1][2:] == (each.host, each.cpus) and rows[-1][1] + 1 == each.rank:
            rows[-1] = (rows[-1][0], each.rank, each.host, each.cpus)
        else:
            rows.append((each.rank, each.rank, each.host, each.cpus))
    return rows


def _warning(told: LintWarning, width: int) -> list[Line]:
    result = wrapped([("  ", ""), (told.id, "warn title"), (f": {plain(told.what, 600)}", "")], width, indent=4)
    result += wrapped([("    why   ", "label"), (plain(told.why, 600), "")], width, indent=10)
    result += wrapped([("    here  ", "label"), (plain(told.evidence, 600), "dim")], width, indent=10)
    if told.better:
        result += [(("    better ", "label"), (plain(told.better, 200_000), "title"))]
    return result


def _no_warning(told: Lint, width: int) -> list[Line]:
    if told.ranks:
        return [(("  nothing that is known", "good"),)]
    text = "not predicted: the ranks' placement is not known, and the options alone show no fault"
    return wrapped([("  ", ""), (text, "unknown")], width)


def _translations(told: Sequence[LintTranslation], width: int) -> list[Line]:
    """Return every translation; where none can be said for one and the same reason, that reason once."""
    if len(told) > 1 and len({each.lost for each in told}) == 1 and not any(each.line for each in told):
        names = ", ".join(title_of(each.launcher) for each in told)
        result = wrapped([("  ", ""), (names, "title"), (": not known", "unknown")], width, indent=4)
        return result + [line for lost in told[0].lost for line in _lost(lost, width)]
    return [line for each in told for line in _translation(each, width)]


def _lost(text: str, width: int) -> list[Line]:
    return wrapped([("    lost  ", "label"), (plain(text, 400), "dim")], width, indent=10)


def _translation(told: LintTranslation, width: int) -> list[Line]:
    result: list[Line] = [(("  ", ""), (title_of(told.launcher), "title"))]
    result += [(("    ", ""), (plain(told.line, 200_000), ""))] if told.line else [(("    not known", "unknown"),)]
    for name, lines in told.files.items():
        result.append(((f"    {plain(name)}:", "label"),))
        result += [(("      ", ""), (plain(line, 400), "dim")) for line in lines[:_MOST_LINES]]
        if len(lines) > _MOST_LINES:
            result.append(((f"      and {count(len(lines) - _MOST_LINES, 'line')} more; --json has all", "dim"),))
    return result + [line for lost in told.lost for line in _lost(lost, width)]
