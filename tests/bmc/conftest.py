"""Imitated BMCs for the tests of the room that talks to real ones."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bmc.admin import Admin
from tests.bmc.imitation import PASSWORD, Bmc
from tests.bmc.makers import MAKERS
from tests.bmc.wire import Certificate, Rack

Imitated = Callable[..., Bmc]


@pytest.fixture
def rack() -> Iterator[Rack]:
    """Return where BMCs are put on ports; all are taken back at the end."""
    with Rack() as made:
        yield made


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Return a certificate of 127.0.0.1 that signs itself."""
    return Certificate.made(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def imitated(rack: Rack, request: pytest.FixtureRequest) -> Imitated:
    """Return what starts a BMC of a maker: ``imitated("dell", tls=True, lies={"drops"}, faults=[...])``."""

    def start(maker: str = "lenovo", *, tls: bool = False, **habits: Any) -> Bmc:
        shown = request.getfixturevalue("certificate") if tls else None
        return rack.add(MAKERS[maker](**habits), shown)

    return start


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Admin]:
    """Return who types commands; at the end the password is in no file, output or environment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = Admin(tmp_path, monkeypatch, capsys)
    yield made
    hidden = PASSWORD.encode()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "login"]
    assert [path.name for path in files if hidden in path.read_bytes()] == []
    assert [text for text in made.said if PASSWORD in text] == []
    assert [name for name, value in os.environ.items() if PASSWORD in value] == []
