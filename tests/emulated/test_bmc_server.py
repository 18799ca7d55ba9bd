"""A server whose BIOS really changes it: what its settings describe is what boots."""

import json
import os
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.bios.test_imitation import ask, pend, restart
from tests.bios.wire import Rack
from tests.emulated.bmc_server import BOARDS, Emulated
from tests.emulated.guests import lacking
from tests.emulated.servers import SERVERS

pytestmark = [pytest.mark.emulated, pytest.mark.slow]

TOPOLOGY = '"$PYTHON" -m advisor topology --json'
BOOTS: list[tuple[str, dict[str, str], tuple[int, int], tuple[str, int], str, str]] = [
    ("naples", {"NodeInterleave": "Enabled"}, (1, 64), ("", 0), "linear", "off"),
    ("rome", {"NumaNodesPerSocket": "2"}, (4, 128), ("NPS2", 2), "linear", "off"),
    ("rome", {"NumaNodesPerSocket": "4"}, (8, 128), ("NPS4", 4), "linear", "off"),
    ("rome", {"CcxAsNumaDomain": "Enabled"}, (32, 128), ("L3-as-NUMA", 16), "linear", "off"),
    ("rome", {"MadtCoreEnumeration": "RoundRobin"}, (2, 128), ("NPS1", 1), "round-robin", "off"),
    ("intel", {"SubNumaCluster": "2-Way", "LogicalProc": "Disabled"}, (4, 32), ("SNC2", 2), "round-robin", "off"),
    ("intel", {"MadtCoreEnumeration": "Linear"}, (2, 64), ("", 1), "linear", "on"),
]
"""A board, what is written to its BIOS, and the nodes and CPUs, the cut, the numbering and the SMT that its guest then has."""
ALWAYS = ("naples",)


@pytest.fixture
def rack() -> Iterator[Rack]:
    """Return where the BMCs are reached."""
    with Rack() as made:
        yield made


def emulable(board: str) -> None:
    """Skip where servers cannot be emulated, or this one is not asked for."""
    if reason := lacking():
        pytest.skip(reason)
    if board not in ALWAYS and os.environ.get("ADVISOR_EMULATED") != "all":
        pytest.skip(f"{board} is booted with ADVISOR_EMULATED=all")


def seen(bmc: Emulated) -> dict[str, Any]:
    """Return the topology as the product has it on the guest."""
    said: dict[str, Any] = json.loads(bmc.guest.run(TOPOLOGY))
    return said


@pytest.mark.parametrize(("board", "settings", "sizes", "cut", "numbering", "smt"), BOOTS)
def test_a_restart_boots_what_the_settings_describe(
    *, board: str, settings: dict[str, str], sizes: tuple[int, int], cut: tuple[str, int], numbering: str, smt: str, rack: Rack
) -> None:
    """What was written is pending until the restart; then the guest is another server, and its operating system says so."""
    emulable(board)
    bmc = rack.add(Emulated(board=board))
    try:
        bmc.switch_on()
        before = bmc.guest.server
        written = pend(bmc, **settings)
        asked = restart(bmc)
        while ask(bmc, "GET", bmc.machine.paths["system"]).body["BootProgress"]["LastState"] != "OSRunning":
            pass
        ended = ask(bmc, "GET", written.headers["location"]).body["TaskState"]
        topology = seen(bmc)
    finally:
        bmc.switch_off()
    assert (written.status, asked.status, ended, before != bmc.chosen(bmc.applied)) == (202, 204, "Completed", True)
    counts = topology["counts"]
    assert ((counts["numa_nodes"], counts["pus"]), topology["numbering"]["name"]) == (sizes, numbering)
    assert topology["smt"]["state"] == smt
    if cut[0]:
        assert (topology["cut"]["name"], topology["cut"]["nodes_per_socket"]) == cut


def test_every_setting_has_a_server() -> None:
    """Each combination of the settings that decide is one of the emulated servers."""
    both, orders = ("Enabled", "Disabled"), ("RoundRobin", "Linear")
    every: dict[str, dict[str, tuple[str, ...]]] = {
        "rome": {
            "NumaNodesPerSocket": ("0", "1", "2", "4"),
            "CcxAsNumaDomain": both,
            "NodeInterleave": both,
            "MadtCoreEnumeration": orders,
        },
        "intel": {"SubNumaCluster": ("2-Way", "Disabled"), "LogicalProc": both, "MadtCoreEnumeration": orders},
        "naples": {"NodeInterleave": both},
    }
    chosen = {
        BOARDS[board][1](dict(zip(names, values, strict=True)))
        for board, names in every.items()
        for values in product(*names.values())
    }
    assert chosen - set(SERVERS) == set()
