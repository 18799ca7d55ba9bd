"""Options of adapters' firmware."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Hca
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.sources.network import (
    MLXCONFIG,
    MLXCONFIG_PATHS,
    MSTCONFIG,
    LocalAdapter,
    QueriedDevice,
    collect_mlxconfig,
    devices,
    matched,
)
from tests.collect.device_host import CONNECTX, Server, uncovered

BY_ADDRESS = """
Device #1:
----------

Device type:    ConnectX6
Name:           MCX653105A-HDA_Ax
Description:    ConnectX-6 VPI adapter card
Device:         0000:61:00.0

Configurations:                              Next Boot
        MEMIC_BAR_SIZE                      0
        SRIOV_EN                            False(0)
        PCI_WR_ORDERING                     per_mkey(0)
        CQE_COMPRESSION                     BALANCED(0)
*       ADVANCED_PCI_SETTINGS               False(0)            True(1)
        HOST_CHAINING_DESCRIPTORS           Array[0..7]
"""
BY_MST = """
Device #1:
----------
Device type:    ConnectX5
PCI device:     /dev/mst/mt4119_pciconf0
Configurations:                              Next Boot
        PCI_WR_ORDERING                     {0}
Device #2:
----------
Device type:    ConnectX5
PCI device:     /dev/mst/mt4119_pciconf1
Configurations:                              Next Boot
        PCI_WR_ORDERING                     {1}
"""


def server(**runs: Ran) -> Server:
    """Return a server with one adapter of two ports, each a function."""
    made = Server("0-7")
    for function in (0, 1):
        place = made.plug(f"pci0000:60/0000:61:00.{function}", CONNECTX)
        made.hca(f"mlx5_{function}", place, {1: {"state": "4: ACTIVE"}}, hca_type="MT4123\n")
    made.runs |= runs
    return made


def test_options_are_the_next_boots_in_words_and_one_firmware_serves_both_ports() -> None:
    """per_mkey(0) is per_mkey; what the card's first function says holds for the second."""
    found = collect_mlxconfig(server(mstconfig=Ran(out=BY_ADDRESS.encode())).host)
    options = {"SRIOV_EN": "False", "PCI_WR_ORDERING": "per_mkey", "CQE_COMPRESSION": "BALANCED", "ADVANCED_PCI_SETTINGS": "True"}
    assert found.hcas == (Hca(name="mlx5_0", firmware_options=options), Hca(name="mlx5_1", firmware_options=options))
    assert [source.where for source in found.sources] == ["mstconfig query"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [(("per_mkey(0)", "per_mkey(0)"), {"a": {"PCI_WR_ORDERING": "per_mkey"}}), (("per_mkey(0)", "force_relax(1)"), {})],
)
def test_a_name_of_mst_tells_the_kind_and_counts_only_where_all_of_it_agree(
    values: tuple[str, str], expected: dict[str, dict[str, str]]
) -> None:
    """Which of two equal cards is pciconf0 is not told."""
    told = tuple(devices(BY_MST.format(*values).splitlines()))
    assert len(told) == 2
    assert matched([LocalAdapter("a", "0000:61:00.0", "MT4119"), LocalAdapter("b", "0000:62:00.0", "MT4123")], told) == expected


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ({}, "neither mstconfig nor mlxconfig is installed"),
        (
            {"mstconfig": Ran(why=Why.TIMEOUT), "mlxconfig": Ran(why=Why.TIMEOUT)},
            "mstconfig, mlxconfig: they did not finish in time",
        ),
        (
            {"mlxconfig": Ran(err=b"-E- Failed to open the device\n", status=3)},
            "mstconfig, mlxconfig: -E- Failed to open the device",
        ),
    ],
)
def test_without_the_tool_or_root_it_is_unknown_and_says_why(runs: dict[str, Ran], why: str) -> None:
    """No option is guessed."""
    found = collect_mlxconfig(server(**runs).host)
    assert (found.hcas, [(gap.fact, gap.why) for gap in found.gaps]) == (None, [("hcas.firmware_options", why)])


def test_a_machine_without_such_adapters_asks_nobody() -> None:
    """No adapter, no gap."""
    assert collect_mlxconfig(Server("0-7").host).gaps == ()


@given(st.text())
def test_no_output_makes_the_reader_fail(text: str) -> None:
    """Whatever is printed."""
    assert all(isinstance(each, QueriedDevice) for each in devices(text.splitlines()))
    assert collect_mlxconfig(server(mstconfig=Ran(out=text.encode())).host).hcas is None


def test_a_capture_keeps_what_is_read() -> None:
    """Every file asked for is among the patterns."""
    host = server(mlxconfig=Ran(out=BY_ADDRESS.encode())).host
    assert collect_mlxconfig(host).hcas is not None
    assert uncovered(host, MLXCONFIG_PATHS) == []
    assert (MSTCONFIG[1], MLXCONFIG[1]) == ("query", "query")
