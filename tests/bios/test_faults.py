"""500 faults at any request of any command, and full disks: nothing is lost or sent twice, and each is told in one line."""

import json
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.bios.admin import WISH, Admin, Said
from tests.bios.conftest import Imitated
from tests.bios.imitation import Bmc, Seen
from tests.bios.makers import MAKERS, Dell
from tests.bios.wire import AFTER, BEFORE, KINDS, Fault, Rack, Response
from tests.examples import a_third

COMMANDS = ("read", "stage", "restart", "undo", "status")
ANSWERED = tuple(kind for kind in KINDS if kind not in (*BEFORE, *AFTER, "slow"))
MANY, FEW = 25, 4
"""Faults of each command at each maker's BMC: 500 in all, and what CI has time for."""


@dataclass
class Case:
    """A command at a BMC, with one fault or none; what was before, and what came of it."""

    maker: str
    command: str
    bmc: Bmc
    admin: Admin
    before: dict[str, Any] = field(default_factory=dict)
    waited: dict[str, Any] = field(default_factory=dict)

    def prepared(self) -> "Case":
        """Bring the BMC where the command starts: an undo has a restart behind it that applied something."""
        for name in ("plan.yaml", "record.json", "read.zip", "undo.json"):
            (self.admin.folder / name).unlink(missing_ok=True)
        self.admin.wish(self.maker)
        if self.command == "undo":
            assert self.admin.stages(self.bmc, self.admin.folder / "plan.yaml").status == 0
            self.bmc.reset({"ResetType": "GracefulRestart"})
            for job in self.bmc.jobs:
                [self.bmc.task(job) for _ in range(self.bmc.polls)]
            self.bmc.starting, self.bmc.resets = 0, []
        self.before, self.waited = dict(self.bmc.applied), dict(self.bmc.pending)
        self.bmc.seen.clear()
        return self

    def types(self) -> Said:
        """Type the command."""
        folder = self.admin.folder
        words: dict[str, tuple[object, ...]] = {
            "read": ("bios", "read", "-o", folder / "read.zip"),
            "stage": ("bios", "stage", folder / "plan.yaml", "--yes", "--record", folder / "record.json"),
            "restart": ("bios", "restart", "--nothing-staged", "--drained", "--yes", "--no-slurm"),
            "undo": ("bios", "undo", folder / "record.json", "--yes", "--record", folder / "undo.json"),
            "status": ("bios", "status"),
        }
        return self.admin.types(*words[self.command], bmc=self.bmc)

    @property
    def record(self) -> Path:
        """Return where the command keeps what brings its write back."""
        return self.admin.folder / ("undo.json" if self.command == "undo" else "record.json")

    @property
    def name(self) -> str:
        """Return the attribute that is written."""
        return WISH[self.maker][0]

    @property
    def done(self) -> bool:
        """Return whether the command did all that it is for."""
        want, waits = self.bmc.stored(*WISH[self.maker]), self.bmc.pending.get(self.name)
        asked = [each.body for each in self.bmc.requests("POST", "Reset")]
        found: dict[str, bool] = {
            "read": (self.admin.folder / "read.zip").exists(),
            "stage": waits == want,
            "restart": asked == [{"ResetType": "GracefulRestart"}],
            "undo": waits not in (None, want),
            "status": True,
        }
        return found[self.command]


def broken_laws(case: Case, fault: Fault, said: Said) -> Iterator[str]:
    """Yield what of the laws did not hold."""
    bmc = case.bmc
    if said.status not in (0, 2) or "Traceback" in said.err:
        yield f"ended with {said.status}: {said.err[-300:]}"
    if said.status and (said.lines != 1 or bmc.url not in said.err or len(said.err) > 700):
        yield f"{said.lines} lines: {said.err[:300]}"
    if said.status == 0 and not case.done:
        yield "said that it was done, and it was not"
    wrote = bmc.pending != case.waited
    if wrote and said.status and ("nothing was written" in said.err or "nothing was staged" in said.err):
        yield f"said that nothing was written, and it was: {said.err}"
    yield from twice(bmc, fault)
    if [each for each in bmc.writes() if each.method == "PATCH"]:
        yield from lost(case)
    if bmc.applied != case.before and case.command != "restart":
        yield "changed what is applied"
    if bmc.tokens and "/Sessions" not in fault.path:
        yield "left a session open"


def twice(bmc: Bmc, fault: Fault) -> Iterator[str]:
    """Yield what was sent more often than it may be: a POST once, a PATCH again only where it surely did nothing."""
    posts = [each.path for each in bmc.seen if each.method == "POST"]
    if len(posts) != len(set(posts)):
        yield f"posted twice: {posts}"
    patches = [each for each in bmc.seen if each.method == "PATCH"]
    if any(each.fault is not None and each.fault not in ("busy", "letters") for each in patches[:-1]):
        yield f"sent a PATCH again after {[each.fault for each in patches]}"
    if len(patches) > 5:
        yield f"{len(patches)} PATCHes"


def lost(case: Case) -> Iterator[str]:
    """Yield what is missing of the record once something was written."""
    try:
        record = json.loads(case.record.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        yield f"wrote without a whole record: {error}"
        return
    if record["applied"] != {name: value for name, value in case.before.items() if name in record["applied"]}:
        yield "the record has other values than were applied"
    if case.name not in record["applied"] or case.name not in record["asked"]:
        yield "the record lacks what was asked"


def taken_back(case: Case) -> Iterator[str]:
    """Yield why what waits is not taken back by the record; a Dell's job keeps what waits until the restart."""
    if case.command != "stage" or not case.bmc.pending or isinstance(case.bmc, Dell):
        return
    case.bmc.faults.clear()
    said = case.admin.types("bios", "undo", case.record, "--yes", "--record", case.admin.folder / "undo.json", bmc=case.bmc)
    if said.status or case.bmc.pending:
        yield f"undo ended with {said.status} and {case.bmc.pending}: {said.err}"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.bios.session.Session.pause", lambda *_: None)


def struck(clean: list[Seen], chance: random.Random, elsewhere: str) -> tuple[str, Fault]:
    """Return a request of a command's, and a fault that strikes it alone."""
    place = chance.randrange(len(clean))
    hit = clean[place]
    earlier = sum(each.method == hit.method and hit.path in each.path for each in clean[:place])
    kind = chance.choice((*BEFORE, *AFTER) if chance.random() < 0.5 else ANSWERED)
    value = elsewhere if kind in ("redirect", "link") else "7" if kind == "busy" else ""
    effect = hit.method in ("PATCH", "POST") and chance.random() < 0.5 and kind not in ("busy", "letters")
    return f"{kind}{' after its effect' if effect else ''} at {hit.method} {hit.path} ({place + 1} of {len(clean)})", Fault(
        kind, hit.method, hit.path, skip=earlier, effect=effect, value=value
    )


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.matrix])])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("maker", a_third(MAKERS))
def test_a_fault_loses_nothing_and_sends_nothing_twice(maker: str, command: str, count: int, rack: Rack, admin: Admin) -> None:
    """Wherever a connection is cut, and whatever is answered instead: the laws of staging hold."""
    thief = rack.add(MAKERS[maker]())
    clean = Case(maker, command, rack.add(MAKERS[maker]()), admin).prepared()
    said = clean.types()
    assert (said.status, clean.done) == (0, True), said.err
    chance = random.Random(f"{maker} {command}")  # noqa: S311 - the same faults every time
    found = {}
    for _ in range(count):
        case = Case(maker, command, rack.add(MAKERS[maker]()), admin).prepared()
        told, fault = struck(clean.bmc.seen, chance, f"{thief.url}/redfish/v1/")
        case.bmc.faults.append(fault)
        said = case.types()
        if fault.times:
            found[told] = ["the fault struck nothing"]
        elif broken := [*broken_laws(case, fault, said), *taken_back(case)]:
            found[told] = broken
    assert (found, thief.seen) == ({}, [])


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Return a file system that holds 64 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("only root can mount a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> None:
    """Leave no byte free."""
    with (place / "filler").open("wb", buffering=0) as file:
        for size in (4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


@pytest.mark.parametrize("maker", MAKERS)
def test_without_room_for_the_record_nothing_is_written(maker: str, imitated: Imitated, admin: Admin, small: Path) -> None:
    """The disk is full before the first write: one line names the file, and the BMC sees no write."""
    bmc = imitated(maker)
    fill(small)
    said = admin.types("bios", "stage", admin.wish(maker), "--yes", "--record", small / "record.json", bmc=bmc)
    assert (said.status, said.lines, bmc.writes(), bmc.pending, bmc.tokens) == (2, 1, [], {}, {})
    assert str(small / "record.json") in said.err
    assert "no space left" in said.err
    assert sorted(each.name for each in small.iterdir()) == ["filler"]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_disk_that_fills_up_after_the_write_keeps_the_record(maker: str, imitated: Imitated, admin: Admin, small: Path) -> None:
    """The way back stays whole; that the change waits all the same is said in one line."""
    bmc, place = imitated(maker), small / "record.json"
    before, patch = dict(bmc.applied), bmc.patch

    def filling(path: str, body: Any, headers: dict[str, str]) -> Response:
        fill(small)
        return patch(path, body, headers)

    bmc.patch = filling  # type: ignore[method-assign]
    said = admin.types("bios", "stage", admin.wish(maker), "--yes", "--record", place, bmc=bmc)
    assert (said.lines, len(bmc.writes()), list(bmc.pending), bmc.tokens) == (1, 1, [WISH[maker][0]], {})
    record = json.loads(place.read_text(encoding="utf-8"))
    assert (list(record["asked"]), record["applied"][WISH[maker][0]]) == ([WISH[maker][0]], before[WISH[maker][0]])
    assert "staged" in said.err, said.err
