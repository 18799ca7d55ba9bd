"""Who sits where, as a table for people and as JSON for programs; a million ranks are never held at once."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from rich.cells import cell_len

from advisor.model.cpuset import CpuSet
from advisor.model.placement import HostPlan, Placement, RankPlace, Slot
from advisor.render.cpulists import listed
from advisor.render.lines import Line, cut

PLAN_SCHEMA: Final = "advisor-plan/1"

FIRST: Final = 16
"""So many ranks are listed, and the last."""

_RIGHT: Final = ("rank", "distance")
_LEAST: Final = 4


def table(placement: Placement, width: int, *, whole: bool = False) -> list[Line]:
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
    yield _row(last(placement))


def last(placement: Placement) -> RankPlace:
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


def rank_texts(placement: Placement, keys: Sequence[str] | None = None) -> Iterator[str]:
    """Yield each rank as a JSON object; each slot is put into words once, however many hosts have it."""
    tails = [[_tail(slot, keys) for slot in plan.slots] for plan in placement.plans]
    rank = 0
    for host in placement.hosts:
        name = json.dumps(host.name)
        for local, tail in enumerate(_used(tails, host)):
            yield f'{{"rank": {rank}, "host": {name}, "local": {local}, {tail}'
            rank += 1


def _used(tails: Sequence[Sequence[str]], host: HostPlan) -> Sequence[str]:
    return tails[host.plan][: host.ranks]


def _tail(slot: Slot, keys: Sequence[str] | None) -> str:
    values = rank_values(slot)
    return json.dumps({key: values[key] for key in keys or values})[1:]


def plan_lines(placement: Placement) -> Iterator[str]:
    """Yield the lines of the file that ``advisor verify`` compares with."""
    yield f'{{"schema": "{PLAN_SCHEMA}", "ranks": ['
    yield from _separated(rank_texts(placement, ("cpus", "numa_nodes", "memory", "hca", "gpu")))
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
