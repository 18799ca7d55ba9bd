"""A fleet as a table: a row for each node, a column for each fact, figure and finding."""

import io
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.fleet import audit as table
from advisor.fleet.audit import AuditedFleet, Words, audit_fleet, columns, parquet
from tests.fleet.planted import Planted, plant


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Return a fleet."""
    return plant(tmp_path_factory.mktemp("fleet"), 6, nodes=24)


@pytest.fixture(scope="module")
def found(made: Planted) -> AuditedFleet:
    """Return its audit."""
    return audit_fleet([made.folder])


def value(found: AuditedFleet, column: str, node: str) -> object:
    """Return what a column has for a node."""
    made, at = columns(found)[column], list(found.nodes.folded).index(node)
    if not isinstance(made, Words):
        return made[at]
    row = made.rows[at]
    return None if row is None else made.values[row]


def test_every_column_has_a_value_for_every_node_that_answered(found: AuditedFleet) -> None:
    """Each node stands in one row, whatever is known of it."""
    lengths = {len(each.rows) if isinstance(each, Words) else len(each) for each in columns(found).values()}
    assert lengths == {found.fleet.answered}


def test_a_node_that_drifted_has_another_value_in_its_row(made: Planted, found: AuditedFleet) -> None:
    """Firmware, settings and findings stand under their names; figures in base units."""
    (old, *_), usual = made.plants["firmware"], made.kinds["haswell"][0]
    (down, *_) = made.plants["port"]
    assert value(found, "firmware.bios_version", old) == "2.14.9"
    assert value(found, "hcas.mlx5_0.ports.1.state", down) == "down"
    assert value(found, "finding.fabric-port-down", down) is True
    assert value(found, "kind", usual) == found.fleet.kinds[0].name
    assert isinstance(value(found, "measured.membw triad-nt machine [bytes/s]", usual), float)


def test_what_names_a_node_is_in_no_column_but_its_name(found: AuditedFleet) -> None:
    """Serial numbers, GUIDs and MACs are never compared, and are not exported."""
    words = {word for name in columns(found) for word in re.split(r"[._ ]", name)}
    assert words & {"serial", "guid", "lid", "mac", "uuid", "gid"} == set()


@pytest.mark.skipif(not find_spec("pyarrow"), reason="pyarrow is not installed")
def test_the_parquet_file_holds_the_table(found: AuditedFleet) -> None:
    """What pyarrow reads back is what was written."""
    import pyarrow.parquet as pq

    read = pq.read_table(io.BytesIO(parquet(columns(found)))).to_pydict()
    assert {name: values[3] for name, values in read.items()} == {
        name: value(found, name, list(found.nodes.folded)[3]) for name in columns(found)
    }


@pytest.mark.skipif(not find_spec("polars"), reason="polars is not installed")
def test_polars_writes_it_where_pyarrow_is_not_there(found: AuditedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two is enough."""
    import polars as pl

    monkeypatch.setattr(table, "find_spec", lambda name: None if name == "pyarrow" else find_spec(name))
    read = pl.read_parquet(io.BytesIO(parquet(columns(found))))
    assert (read.height, read.columns) == (found.fleet.answered, list(columns(found)))


def test_without_either_one_line_says_how_to_get_it(
    made: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is read before that is known."""
    monkeypatch.setattr(table, "find_spec", lambda _: None)
    assert status(["report", str(made.folder), "--as", "parquet", "-o", str(tmp_path / "fleet.parquet")]) == 2
    assert capsys.readouterr().err == (
        "advisor: --as parquet needs pyarrow or polars, and neither is installed; install one next to advisor: "
        "python -m pip install pyarrow\n"
    )
