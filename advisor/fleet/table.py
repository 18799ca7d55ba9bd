"""A fleet as a table for analysts: a row for each node that answered, a column for each fact, figure and finding, as Parquet."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from advisor.errors import CannotWork
from advisor.fleet.audit import AuditedFleet
from advisor.machine.hosts.errands import expanded


@dataclass(frozen=True)
class Words:
    """A column of which many rows are the same: its values once, and for each row the number of its own, None where not known."""

    values: Sequence[str | int]
    rows: Sequence[int | None]


Column = Words | Sequence[float | None] | Sequence[bool]
"""Facts are words or amounts, figures are numbers in base units, findings are true where the node has them."""


def need_parquet() -> None:
    """Refuse in one line where nothing that writes Parquet is installed."""
    if not (find_spec("pyarrow") or find_spec("polars")):
        problem = "--as parquet needs pyarrow or polars, and neither is installed"
        raise CannotWork(f"{problem}; install one beside advisor: python -m pip install pyarrow")


def columns(found: AuditedFleet) -> dict[str, Column]:
    """Return the columns by their names, each as long as there are nodes that answered."""
    nodes = found.nodes.folded
    kinds = {node: kind.name for kind in found.fleet.kinds for node in expanded(kind.nodes)}
    hardware = {kind.name: kind.hardware for kind in found.fleet.kinds}
    made: dict[str, Column] = {
        "node": _words(nodes),
        "kind": _words([kinds[node] for node in nodes]),
        "hardware": _words([hardware[kinds[node]] for node in nodes]),
    }
    made |= dict(sorted(_facts(found)))
    for name in sorted({name for figures in found.nodes.measured.values() for name in figures}):
        own = [found.nodes.measured.get(node, {}).get(name) for node in nodes]
        unit = next(figure.unit for figure in own if figure is not None)
        made[f"measured.{name} [{unit}]"] = [None if figure is None else figure.value for figure in own]
    for rule in sorted({each.rule for each in found.fleet.wrong}):
        having = {node for each in found.fleet.wrong if each.rule == rule for node in expanded(each.nodes)}
        made[f"finding.{rule}"] = [node in having for node in nodes]
    return made


def _words(texts: Sequence[str] | Mapping[str, Any]) -> Words:
    values = dict.fromkeys(texts)
    numbers = {value: number for number, value in enumerate(values)}
    return Words(tuple(values), tuple(numbers[text] for text in texts))


@dataclass
class _Fact:
    """A column in the making."""

    numbers: dict[str | int, int] = field(default_factory=dict)
    of_part: dict[bytes, int] = field(default_factory=dict)


def _facts(found: AuditedFleet) -> Iterator[tuple[str, Words]]:
    """Yield a column for each fact; what equal nodes share is looked at once."""
    facts: dict[str, tuple[str, _Fact]] = {}
    seen: set[bytes] = set()
    for node in found.nodes.folded.values():
        for section, part in node.parts.items():
            if part.digest in seen:
                continue
            seen.add(part.digest)
            for name, fact in part.facts.items():
                column = facts.setdefault(name, (section, _Fact()))[1]
                value = fact.text if fact.size is None else fact.size
                column.of_part[part.digest] = column.numbers.setdefault(value, len(column.numbers))
    digests = {section: [_digest(node.parts, section) for node in found.nodes.folded.values()] for section, _ in facts.values()}
    for name, (section, column) in facts.items():
        values = tuple(column.numbers)
        if any(isinstance(value, int) for value in values) and any(isinstance(value, str) for value in values):
            values = tuple(map(str, values))
        yield name, Words(values, [column.of_part.get(digest) for digest in digests[section]])


def _digest(parts: Mapping[str, Any], section: str) -> bytes:
    part = parts.get(section)
    return part.digest if part is not None else b""


def parquet(made: Mapping[str, Column]) -> bytes:
    """Return a table as a Parquet file; by pyarrow, else by polars."""
    need_parquet()
    file = io.BytesIO()
    if find_spec("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        def arrow(column: Column) -> Any:
            if not isinstance(column, Words):
                return pa.array(column)
            return pa.DictionaryArray.from_arrays(pa.array(column.rows, pa.int32()), pa.array(column.values))

        pq.write_table(pa.table({name: arrow(column) for name, column in made.items()}), file, compression="zstd")
    else:
        import polars as pl

        pl.DataFrame({name: _plain(column) for name, column in made.items()}).write_parquet(file, compression="zstd")
    return file.getvalue()


def _plain(column: Column) -> Sequence[Any]:
    if not isinstance(column, Words):
        return column
    return [None if row is None else column.values[row] for row in column.rows]
