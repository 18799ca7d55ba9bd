"""Eight servers with BMCs of their own: captured over ssh, audited, frozen; one gets another BIOS setting, and is named."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bios.admin import Admin
from tests.bios.conftest import admin, rack  # noqa: F401 - fixtures
from tests.bios.wire import Rack
from tests.emulated.bmc_server import Emulated
from tests.emulated.guests import LIMIT, lacking, lacking_link

pytestmark = [pytest.mark.emulated, pytest.mark.slow]
SERVERS = int(os.environ.get("ADVISOR_EMULATED_FLEET", "8"))
"""Fewer take less: two need 3 GiB and ten minutes."""
CHANGED = min(5, SERVERS)
CAPTURE = '"$PYTHON" -m advisor fleet capture {words} --timeout 900 --fan-out 4 -o /run/vm/fleet --json >/run/vm/captured.json'
"""On the first of them: the others are on a link that this computer is not on."""


@pytest.fixture
def servers(rack: Rack, tmp_path: Path) -> Iterator[list[Emulated]]:  # noqa: F811
    """Return servers that are up, on one link, each with its BMC."""
    if reason := lacking() or lacking_link():
        pytest.skip(reason)
    if os.environ.get("ADVISOR_EMULATED") != "all":
        pytest.skip("eight servers need 12 GiB and up to half an hour: ADVISOR_EMULATED=all")
    link = 9000 + os.getpid() % 1000
    found = [
        rack.add(Emulated(board="small", folder=tmp_path / f"n{number}", seat=(number, link))) for number in range(1, SERVERS + 1)
    ]
    try:
        for bmc in found:
            bmc.guest.start(bmc.chosen(bmc.applied))
            bmc.guest.wait()
        yield found
    finally:
        for bmc in found:
            bmc.switch_off()


def captured(servers: list[Emulated], words: str) -> dict[str, Any]:
    """Capture from the first server; return what came of it."""
    servers[0].guest.run(CAPTURE.format(words=words), 1800)
    told: dict[str, Any] = json.loads((servers[0].guest.folder / "captured.json").read_text())
    return told


def test_a_fleet_is_captured_audited_frozen_and_the_one_that_left_is_named(servers: list[Emulated], admin: Admin) -> None:  # noqa: F811
    """Over its BMC and by a restart one server gets two NUMA nodes a socket; the golden file names it, and the fact."""
    folder, good = servers[0].guest.folder / "fleet", admin.folder / "golden.yaml"
    first = captured(servers, f"-w 'n[1-{SERVERS}]'")
    assert ((first["asked"], first["answered"]), first["other_names"]) == ((SERVERS, SERVERS), []), first
    audited = admin.types("fleet", "audit", folder, "--json").document
    assert ([each["nodes"] for each in audited["kinds"]], audited["drift"], audited["split"]) == ([f"n[1-{SERVERS}]"], [], [])
    assert admin.types("fleet", "golden", "save", folder, "-o", good).status == 0
    same = admin.types("fleet", "audit", folder, "--golden", good, "--json")
    assert same.document["drift"] == [], same.out
    bmc = servers[CHANGED - 1]
    staged = admin.stages(bmc, admin.plan({"NumaNodesPerSocket": "2"}))
    assert (staged.status, admin.restarts(bmc).status) == (0, 0), staged.err
    end = time.monotonic() + LIMIT
    while not bmc.ready:
        assert time.monotonic() < end, "it did not come up"
        time.sleep(0.5)
    assert (bmc.guest.server, bmc.applied["NumaNodesPerSocket"]) == ("small-nps2", "2")
    assert captured(servers, f"-w n{CHANGED} --fresh-after 0m")["asked_now"] == 1
    check = admin.types("fleet", "audit", folder, "--golden", good, "--json")
    page = admin.types("fleet", "audit", folder, "--golden", good, "--width", "120")
    left = check.document["drift"]
    assert {each["nodes"] for each in left} == {f"n{CHANGED}"}, check.out
    assert ([each for each in left if "numa" in json.dumps(each)] != [], f"n{CHANGED}" in page.out) == (True, True)
