"""Imitated BMCs for the tests of the room that talks to real ones."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.bios.admin import Admin
from tests.bios.imitation import PASSWORD, Bmc
from tests.bios.makers import MAKERS
from tests.bios.wire import Certificate, Rack

Imitated = Callable[..., Bmc]


@pytest.fixture
def rack() -> Iterator[Rack]:
    """Return where BMCs are put on ports; all are taken back at the end."""
    with Rack() as made:
        yield made


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Return a certificate of 127.0.0.1 that signs itself."""
    made = Certificate.made(tmp_path_factory.mktemp("certificate"))
    assert made is not None, "openssl is not here"
    return made


@pytest.fixture
def imitated(rack: Rack, request: pytest.FixtureRequest) -> Imitated:
    """Return what starts a BMC of a maker: ``imitated("dell", tls=True, lies={"drops"}, faults=[...])``."""

    def start(maker: str = "lenovo", *, tls: bool = False, **habits: Any) -> Bmc:
        shown = request.getfixturevalue("certificate") if tls else None
        return rack.add(MAKERS[maker](**habits), shown)

    return start


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Admin]:
    """Return who types commands in a folder of their own; the password is in nothing that they were told."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = Admin(tmp_path, monkeypatch, capsys)
    yield made
    assert [text for text in made.said if PASSWORD in text] == []
    assert [name for name, value in os.environ.items() if PASSWORD in value] == []


class _Started:
    """The processes that advisor starts: what they are given, as Python's audit hook tells it."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.heard = False

    def __call__(self, event: str, details: tuple[Any, ...]) -> None:
        """Take down words and environment of what the product starts; what a test starts itself is its own."""
        if not self.heard or event != "subprocess.Popen":
            return
        here: FrameType | None = sys._getframe()
        while here is not None and not here.f_code.co_filename.endswith("advisor/machine/hosts/live.py"):
            here = here.f_back
        if here is not None:
            _, words, _, environment = details
            self.given.append(f"{words} {dict(os.environ) if environment is None else environment}")


_STARTED = _Started()
sys.addaudithook(_STARTED)


class _Kept(logging.Handler):
    """Keeps every line of every log."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(f"{record.getMessage()} {record.exc_text or ''}")


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path) -> Iterator[None]:
    """After every test of the room the password is in no file, argument, environment, log or process that was started."""
    kept, loggers = _Kept(), [logging.getLogger(name) for name in ("", "redfish", "urllib3", "requests")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.addHandler(kept)
        each.setLevel(logging.DEBUG)
    _STARTED.given, _STARTED.heard = [], True
    yield
    _STARTED.heard = False
    for each, level in zip(loggers, levels, strict=True):
        each.removeHandler(kept)
        each.setLevel(level)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "login"]
    assert [path.name for path in files if PASSWORD.encode() in path.read_bytes()] == []
    assert [line for line in kept.lines if PASSWORD in line] == []
    assert [text for text in _STARTED.given if PASSWORD in text] == []
    assert [word for word in sys.argv if PASSWORD in word] == []
    assert PASSWORD.encode() not in Path("/proc/self/cmdline").read_bytes()
