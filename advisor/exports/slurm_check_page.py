"""The screen of ``advisor export slurm --check``: what differs, what it costs, the line to write."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any, Final

from advisor.exports.slurm_difference import CheckedConf, SlurmDifference
from advisor.machine.slurm_definition import hostlist
from advisor.machine.units import plain

SCHEMA: Final = "advisor-slurm-check/1"


def check_document(found: CheckedConf) -> dict[str, Any]:
    """Return a check as JSON; the nodes of a difference as Slurm writes them."""
    differences = [{**asdict(each), "nodes": hostlist(each.nodes)} for each in found.differences]
    return {"schema": SCHEMA, **asdict(found), "differences": differences}


def check_page(found: CheckedConf) -> str:
    """Return the lines of a check, the worst first."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: CheckedConf) -> Iterator[str]:
    yield plain(_head(found), 400)
    for (_, write), group in groupby(found.differences, key=lambda each: (each.place, each.write)):
        rows = list(group)
        yield ""
        for each in rows:
            yield from _difference(each)
        first, *rest = write.split("\n")
        yield f"  write:  {plain(first, 4000)}"
        yield from (f"          {plain(line, 4000)}" for line in rest)
    unread = (f"not read, and nothing is said of what stands there: {plain(each, 300)}" for each in found.unread)
    notes = [*unread, *(f"not known: {plain(each, 300)}" for each in found.not_known)]
    yield from ("", *notes) if notes else ()


def _head(found: CheckedConf) -> str:
    nodes = f"{found.nodes} node{'' if found.nodes == 1 else 's'}"
    if not found.differences:
        return f"{found.file}: nothing differs that costs, on {nodes}"
    count = len(found.differences)
    counts = [(word, sum(each.severity == word for each in found.differences)) for word in ("high", "medium", "low")]
    worst = ", ".join(f"{number} {word}" for word, number in counts if number)
    return f"{found.file}: {count} difference{'' if count == 1 else 's'} on {nodes}: {worst}"


def _difference(each: SlurmDifference) -> Iterator[str]:
    yield f"{each.severity:<7} {plain(each.place, 200)}, {plain(hostlist(each.nodes), 200)}: {plain(each.claim, 300)}"
    yield f"  costs:  {plain(each.cost, 300)}"
    yield f"  id:     {each.id}"
