"""IOMMU and ACS as the running kernel shows them."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hosts.base import Why
from advisor.machine.machine import Iommu
from advisor.machine.sources import pci as spec
from advisor.machine.sources.pci import downstream, redirects
from tests.collect.device_host import Server, uncovered

ROOT = "pci0000:60/0000:60:01.1"
UP = f"{ROOT}/0000:61:00.0"
DOWN = (f"{UP}/0000:62:00.0", f"{UP}/0000:62:01.0")
BRIDGE = {"class": "0x060400"}
GPU = {"class": "0x030200"}
ROOT_PORT, UPSTREAM, DOWNSTREAM = 4, 5, 6


def port(kind: int, acs: int | None = None) -> bytes:
    """Return the registers of a port: its type in the PCIe capability, and an ACS control register behind another capability."""
    space = bytearray(4096)
    space[0x06], space[0x0E], space[0x34], space[0x40] = 0x10, 0x01, 0x40, 0x10
    struct.pack_into("<H", space, 0x42, kind << 4 | 2)
    struct.pack_into("<I", space, 0x100, 0x0001 | 1 << 16 | (0x148 if acs is not None else 0) << 20)
    if acs is not None:
        struct.pack_into("<I", space, 0x148, 0x000D | 1 << 16)
        struct.pack_into("<H", space, 0x14E, acs)
    return bytes(space)


def switched(*acs: int | None) -> Server:
    """Return a server with a switch whose ports have these ACS control registers."""
    server = Server("0-7")
    server.plug(ROOT, BRIDGE, {"config": port(ROOT_PORT, 0x1D)})
    server.plug(UP, BRIDGE, {"config": port(UPSTREAM)})
    for place, control in zip(DOWN, acs, strict=True):
        server.plug(place, BRIDGE, {"config": port(DOWNSTREAM, control)})
        server.plug(f"{place}/0000:{63 + DOWN.index(place)}:00.0", GPU, {"config": b"\0" * 64})
    return server


def test_units_and_types_are_told_by_the_kernel() -> None:
    """The IOMMUs at work and the default domains of the groups; who is not root learns both."""
    server = Server("0-7")
    server.files |= {
        "/sys/class/iommu/ivhd0/uevent": "",
        "/sys/class/iommu/ivhd1/uevent": "",
        "/sys/kernel/iommu_groups/0/type": "identity\n",
        "/sys/kernel/iommu_groups/7/type": "DMA-FQ\n",
        "/sys/kernel/iommu_groups/8/type": "identity\n",
    }
    host = server.host
    assert spec.collect_iommu(host).iommu == Iommu(units=("ivhd0", "ivhd1"), types=("DMA-FQ", "identity"))
    assert uncovered(host, spec.IOMMU_PATHS) == []


def test_a_kernel_without_iommu_units_has_none_at_work() -> None:
    """An empty class is an answer; a class that nobody kept is not."""
    server = Server("0-7")
    server.links["/sys/class/iommu"] = "/sys/devices/virtual/iommu"
    server.files["/sys/devices/virtual"] = Why.FAILED
    server.files["/sys/devices/virtual/iommu"] = Why.FAILED
    told = spec.collect_iommu(server.host).iommu
    assert told == Iommu(units=())
    assert spec.collect_iommu(Server("0-7", kind="capture").host).iommu is None


@pytest.mark.parametrize(
    ("acs", "expected"),
    [
        ((0x1D, 0x1D), ("0000:62:00.0", "0000:62:01.0")),
        ((0x04, 0x00), ("0000:62:00.0",)),
        ((0x08, 0x11), ("0000:62:00.0",)),
        ((0x00, 0x41), ()),
        ((None, None), ()),
    ],
)
def test_switch_ports_that_redirect_are_named(acs: tuple[int | None, int | None], expected: tuple[str, ...]) -> None:
    """Request or completion redirect of a port below a switch counts; the root port's own does not, nor other bits of ACS."""
    told = spec.collect_iommu(switched(*acs).host).iommu
    assert told is not None
    assert told.redirecting == expected


def test_registers_kept_from_this_user_leave_acs_unknown() -> None:
    """The kernel gives 64 bytes to users who are not root: that is no answer, and the gap says so."""
    server = switched(0x1D, 0x1D)
    server.files[f"/sys/devices/{DOWN[0]}/config"] = port(DOWNSTREAM, 0x1D)[:64]
    machine = spec.collect_iommu(server.host)
    assert machine.iommu is None
    assert [(gap.fact, "permission denied" in gap.why) for gap in machine.gaps if "redirecting" in gap.fact] == [
        ("iommu.redirecting", True)
    ]


@given(st.binary(max_size=600))
def test_any_bytes_are_read_without_an_error(config: bytes) -> None:
    """Lists that run in circles or out of the bytes end."""
    assert (downstream(config) in (True, False, None), redirects(config) in (True, False)) == (True, True)


@given(st.lists(st.tuples(st.sampled_from(range(0x100, 0x1000, 4)), st.integers(0, 0xFFFFFFFF)), max_size=20))
def test_any_list_of_extended_capabilities_ends(words: list[tuple[int, int]]) -> None:
    """Each capability is visited once."""
    space = bytearray(port(DOWNSTREAM))
    for offset, word in words:
        struct.pack_into("<I", space, offset, word)
    assert redirects(bytes(space)) in (True, False)
