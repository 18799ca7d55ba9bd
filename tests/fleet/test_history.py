"""Ten days of a fleet: what appeared, went, healed and flaps is named, each with the days between which it did."""

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from advisor.cli.main import status
from advisor.errors import AdvisorError
from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import Fleet, Incident, Kind, Silent
from advisor.fleet.history import HISTORY, SUFFIX, arguments, day_named, keep, since, snapshots
from advisor.machine.hosts.errands import expanded
from tests.fleet.test_golden import balancing, fleet

FIRST = datetime(2026, 2, 2, 6, 10, tzinfo=UTC)
COURSES = {
    "n01": ("appeared", "....######"),
    "n02": ("went", "#####....."),
    "n03": ("flaps", "..#..#..#."),
    "n04": ("healed", "...##....."),
    "n05": ("", "##########"),
    "n06": ("appeared", "...?######"),
    "n07": ("", "###??#####"),
    "n08": ("flaps", "##..######"),
}
"""Of each node what became of it, and whether it had its incident each day; ? where it did not answer."""


DOWN = "A/port-down/mlx5_0"


def at(day: int) -> str:
    """Return a day's snapshot."""
    return (FIRST + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Day:
    """An audited fleet of one day, as far as a snapshot asks."""

    def __init__(self, day: int) -> None:
        marks = {node: course[day] for node, (_, course) in COURSES.items()}
        incidents = [
            Incident(
                id="A/port-down/mlx5_0", action="drain", severity="high", kind="A", nodes=node, count=1, of=9, text="port down"
            )
            for node, mark in marks.items()
            if mark == "#"
        ]
        silent = [node for node, mark in marks.items() if mark == "?"]
        incidents += [
            Incident(id="/silent/timed out", action="drain", severity="high", nodes=node, count=1, text="no answer")
            for node in silent
        ]
        here = ",".join(node for node in marks if node not in silent)
        self.fleet = Fleet(
            asked=len(marks),
            answered=len(marks) - len(silent),
            silent=tuple(Silent(node=node, why="timed out") for node in silent),
            kinds=(Kind(name="A", hardware="", nodes=here, count=len(marks) - len(silent)),),
            incidents=tuple(incidents),
            ended=at(day),
        )


def days(folder: Path, wanted: Sequence[int] = range(10), oldest: timedelta = timedelta(weeks=52)) -> Path:
    """Keep the snapshots of some days."""
    for day in wanted:
        keep(Day(day), folder, FIRST, oldest)  # type: ignore[arg-type]
    return folder


def test_each_course_is_named_for_what_it_was(tmp_path: Path) -> None:
    """Appearing, healing, flapping and lasting ones; a day without an answer is no change."""
    found = since(days(tmp_path), FIRST)
    told = {node: each.what for each in found.changes if each.id.startswith("A/") for node in expanded(each.nodes)}
    assert told == {node: what for node, (what, _) in COURSES.items() if what}
    (appeared,) = (each for each in found.changes if "n01" in expanded(each.nodes))
    assert (appeared.first, appeared.last, appeared.after, appeared.until) == (at(4), at(9), at(3), at(4))
    (flaps,) = (each for each in found.changes if each.nodes == "n03")
    assert (flaps.changes, flaps.first, flaps.last) == (6, at(2), at(8))


def test_a_later_day_is_compared_with_its_own_snapshot(tmp_path: Path) -> None:
    """Since the sixth day one heals, of what flapped before."""
    found = since(days(tmp_path), FIRST + timedelta(days=6, hours=1))
    assert [(each.what, each.nodes) for each in found.changes] == [("healed", "n03")]


def test_old_snapshots_go(tmp_path: Path) -> None:
    """A week of them stays; a file that is none is left alone."""
    (tmp_path / HISTORY).mkdir()
    (tmp_path / HISTORY / f"mine{SUFFIX}").write_bytes(b"")
    days(tmp_path, oldest=timedelta(days=3))
    assert ([file.name[:10] for file in snapshots(tmp_path)], (tmp_path / HISTORY / f"mine{SUFFIX}").exists()) == (
        [at(day)[:10] for day in (6, 7, 8, 9)],
        True,
    )


def test_duckdb_says_the_same(tmp_path: Path) -> None:
    """What the last day has and the first has not, by a query of its own on the same files."""
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    days(tmp_path)
    first, last = (f"{tmp_path / HISTORY}/{file.name}" for file in (snapshots(tmp_path)[0], snapshots(tmp_path)[-1]))
    read = "SELECT node, unnest(incidents).id AS id FROM '{}'"
    rows = {
        (one, other): set(duckdb.sql(f"{read.format(one)} EXCEPT {read.format(other)}").fetchall())
        for one, other in ((last, first), (first, last))
    }
    found = since(tmp_path, FIRST)
    ours = {
        what: {(node, each.id) for each in found.changes if each.what == what for node in expanded(each.nodes)}
        for what in ("appeared", "went")
    }
    assert (ours["appeared"], ours["went"]) == (rows[last, first], rows[first, last])


@pytest.mark.parametrize(
    ("wanted", "when", "said"),
    [((), FIRST, "contains 0 snapshots"), ((1, 2), FIRST + timedelta(days=9), "no snapshot is newer")],
    ids=["none", "none since"],
)
def test_where_nothing_can_be_compared_it_says_so(tmp_path: Path, wanted: Sequence[int], when: datetime, said: str) -> None:
    """In one line."""
    with pytest.raises(AdvisorError, match=said):
        since(days(tmp_path, wanted), when)


@pytest.mark.parametrize("data", [b"junk", b"\x1f\x8b\x08\x00junk", None], ids=["junk", "half", "line"])
def test_a_damaged_snapshot_is_named(tmp_path: Path, data: bytes | None) -> None:
    """With its file, and without a traceback."""
    days(tmp_path)
    snapshots(tmp_path)[3].write_bytes(gzip.compress(b"{}\n") if data is None else data)
    with pytest.raises(AdvisorError, match=r"2026-02-05T061000Z\.jsonl\.gz"):
        since(tmp_path, FIRST)


def test_a_word_that_is_no_day_is_refused() -> None:
    """And a snapshot's name is one."""
    with pytest.raises(AdvisorError, match="is not a day"):
        day_named("someday", FIRST)
    assert day_named(f"fleet/history/2026-02-05T061000Z{SUFFIX}", FIRST) == FIRST + timedelta(days=3)


def test_a_command_gets_each_new_incident_as_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Once: the second audit knows it. What a shell would run stays a text."""
    note, log = tmp_path / "note", tmp_path / "log"
    note.write_text(f'#!/bin/sh\nfor word; do printf "%s|" "$word" >>{log}; done\necho >>{log}\n')
    note.chmod(0o755)
    folder = fleet(tmp_path / "now", (3,), balancing(0))
    for _ in range(2):
        assert status(["fleet", "audit", str(folder), "--keep", "4w", "--on-new", str(note), "-o", "/dev/null"]) == 0
    capsys.readouterr()
    (line,) = log.read_text().splitlines()
    action, severity, id_, nodes, text, _ = line.split("|")
    assert (action, severity, nodes, text) == ("watch", "low", "n03", "kernel.numa_balancing 0, 1 elsewhere")
    evil = Incident(id="x", action="watch", severity="low", nodes="n1", count=1, text="$(reboot) `x`\n; y")
    assert arguments(("cmd",), evil)[-1] == "$(reboot) `x`\\n; y"
    assert (id_.endswith("/kernel.numa_balancing/kernel.numa_balancing"), audit_fleet([folder]).fleet.asked) == (True, 11)


def test_the_command_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a page, and as a document."""
    days(tmp_path)
    assert status(["fleet", "since", "2026-02-02T12:00", str(tmp_path), "--width", "120"]) == 0
    page = capsys.readouterr().out
    assert status(["fleet", "since", "2026-02-02T12:00", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert ("FLAPS" in page, "HEALED" in page, told["schema"], told["snapshots"]) == (True, True, "advisor-fleet-since/1", 10)
