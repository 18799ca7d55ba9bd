"""Staging is killed at each step: the record is there, or nothing was written."""

import json
import os
import signal
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from advisor.bios.connection import Login, Secret, Trust, address_of
from advisor.bios.session import Session
from tests.bios.admin import WISH, Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, USER, Bmc
from tests.bios.wire import Request, Response

ROOT = Path(__file__).parents[2]
KILLED = -signal.SIGKILL
MAKER = "lenovo"


def staging(bmc: Bmc, admin: Admin, code: str = "") -> "subprocess.Popen[bytes]":
    """Start advisor bios stage as a process of its own, with some code before it."""
    words = ["bios", "stage", str(admin.wish(MAKER)), "--yes", "--record", "record.json", "--bmc", bmc.url, "--insecure"]
    whole = f"import os, sys\n{code}\nfrom advisor.cli.main import status\nsys.exit(status({words!r}))"
    variables = {**os.environ, "ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD, "PYTHONPATH": str(ROOT)}
    with (admin.folder / "complained").open("wb") as complained:
        return subprocess.Popen(
            [sys.executable, "-c", whole], cwd=admin.folder, env=variables, stdout=subprocess.DEVNULL, stderr=complained
        )


def kept(admin: Admin, bmc: Bmc, before: dict[str, Any]) -> tuple[bool, bool]:
    """Return whether something was written to the BMC, and whether a whole record of before is there."""
    try:
        record = json.loads((admin.folder / "record.json").read_text())
        whole = record["applied"][WISH[MAKER][0]] == before[WISH[MAKER][0]] and record["owner"]["uuid"] == bmc.identity
    except FileNotFoundError:
        whole = False
    return bmc.writes() != [], whole


def killed_at(bmc: Bmc, admin: Admin, number: int, *, after: bool, by: int = signal.SIGKILL) -> int:
    """Stop a staging when its request of a number comes in, or when that has been carried out; return how it ended."""
    process: list[subprocess.Popen[bytes]] = []
    real, count = bmc.answer, 0

    def answer(request: Request) -> Response:
        nonlocal count
        count += 1
        if count == number and not after:
            process[0].send_signal(by)
        found = real(request)
        if count == number and after:
            process[0].send_signal(by)
        return found

    bmc.answer = answer  # type: ignore[method-assign]
    process.append(staging(bmc, admin))
    return process[0].wait(60)


def numbers(requests: range) -> list[Any]:
    """Return the requests to stop at: in the fast suite the first, the last and those around the PATCH."""
    quick = {requests[0], 10, 11, requests[-1]}
    return [pytest.param(number, marks=[] if number in quick else [pytest.mark.slow]) for number in requests]


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", numbers(range(1, 17)))
def test_killed_at_a_request(number: int, after: bool, imitated: Imitated, admin: Admin) -> None:
    """Before or after the BMC carries it out: what is written has its record on disk."""
    bmc = imitated(MAKER)
    before = dict(bmc.applied)
    ended = killed_at(bmc, admin, number, after=after)
    written, saved = kept(admin, bmc, before)
    assert ended in (KILLED, 0)
    assert saved or not written


def test_the_requests_above_reach_beyond_the_write(imitated: Imitated, admin: Admin) -> None:
    """The PATCH is among the requests at which it is killed, and so is the end."""
    bmc = imitated(MAKER)
    assert staging(bmc, admin).wait(60) == 0
    patch = next(each.number for each in bmc.seen if each.method == "PATCH") + 1
    assert (1 < patch < 15, len(bmc.seen) <= 16) == (True, True)


STEP = """
real, count = os.{name}, 0
def step(*given, **named):
    global count
    count += 1
    if count == {number} and not {after}:
        os.kill(os.getpid(), 9)
    found = real(*given, **named)
    if count == {number} and {after}:
        os.kill(os.getpid(), 9)
    return found
os.{name} = step
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("name", "number"), [("fsync", 1), ("fsync", 2), ("fsync", 3), ("fsync", 4), ("link", 1), ("unlink", 1), ("replace", 1)]
)
def test_killed_while_the_record_is_kept(name: str, number: int, after: bool, imitated: Imitated, admin: Admin) -> None:
    """Between the bytes, the sync and the name: half a record is never there, nor a write without one."""
    bmc = imitated(MAKER)
    before = dict(bmc.applied)
    ended = staging(bmc, admin, STEP.format(name=name, number=number, after=after)).wait(60)
    written, saved = kept(admin, bmc, before)
    assert (ended, saved or not written) == (KILLED, True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [10, 11, 12])
def test_what_was_killed_is_gone_on_with_or_taken_back(number: int, imitated: Imitated, admin: Admin) -> None:
    """The same command again says what is; where something was written the record takes it back."""
    bmc = imitated(MAKER)
    before = dict(bmc.applied)
    killed_at(bmc, admin, number, after=True)
    del bmc.answer
    again = admin.stages(bmc, admin.wish(MAKER))
    assert (again.status, list(bmc.pending)) == (0, [WISH[MAKER][0]]), again.err
    undone = admin.types("bios", "undo", admin.folder / "record.json", "--yes", "--record", admin.folder / "u.json", bmc=bmc)
    assert (undone.status, bmc.pending, bmc.applied) == (0, {}, before)


@pytest.mark.slow
@pytest.mark.parametrize("number", numbers(range(2, 16)))
def test_interrupted_at_a_request(number: int, imitated: Imitated, admin: Admin) -> None:
    """Ctrl-C at any request: the session is closed, and a write has its record, which says whether it was seen to its end."""
    bmc = imitated(MAKER)
    before = dict(bmc.applied)
    ended = killed_at(bmc, admin, number, after=True, by=signal.SIGINT)
    written, saved = kept(admin, bmc, before)
    assert (ended, bmc.opened, bmc.closed, saved or not written) == (130, 1, 1, True)
    if written:
        assert (admin.record()["outcome"], list(bmc.pending)) == ("staged", [WISH[MAKER][0]])


class _Dropped:
    """A thing whose end calls back, as that of an import's lock does: Python drops what is raised there, and goes on."""


def test_a_ctrl_c_that_python_drops_is_not_lost(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request is not made, the session is closed, and the handler that was there before is there again."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    bmc, before = imitated(MAKER), signal.getsignal(signal.SIGINT)
    address = address_of(bmc.url, insecure=True)

    def read() -> None:
        with Session(address, Login(USER, Secret(PASSWORD)), Trust(insecure=True)) as session:
            thing = _Dropped()
            end = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
            del thing
            assert end() is None
            session.get("/redfish/v1/")

    with pytest.raises(KeyboardInterrupt):
        read()
    assert (bmc.opened, bmc.closed, signal.getsignal(signal.SIGINT)) == (1, 1, before)
