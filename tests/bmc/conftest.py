"""Imitated BMCs for the tests of the room that talks to real ones."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.bmc.imitation import Bmc
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
