import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.sources.pci import DeviceControl, capability, device_control, hidden


def config(*capabilities: tuple[int, int, int], control: int = 0, at: int = 0x60, header: int = 0) -> bytes:
    """Return 256 bytes with capabilities (offset, id, next), and a device control register for the PCIe one."""
    space = bytearray(256)
    space[0x06] = 0x10
    space[0x0E] = header
    space[0x34] = capabilities[0][0] if capabilities else 0
    for offset, kind, following in capabilities:
        space[offset], space[offset + 1] = kind, following
    struct.pack_into("<H", space, at + 8, control)
    return bytes(space)


CHAIN = ((0x40, 0x01, 0x50), (0x50, 0x11, 0x60), (0x60, 0x10, 0x00))


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (0x2910, DeviceControl(512, relaxed_ordering=True)),
        (0x5910, DeviceControl(4096, relaxed_ordering=True)),
        (0x0000, DeviceControl(128, relaxed_ordering=False)),
        (0x7000, DeviceControl(None, relaxed_ordering=False)),
    ],
)
def test_device_control(control: int, expected: DeviceControl) -> None:
    """Bits 14 to 12 are the read request, of which codes 6 and 7 mean nothing, and bit 4 is relaxed ordering."""
    assert device_control(config(*CHAIN, control=control)) == expected


def test_multifunction_header() -> None:
    """The bit that says several functions is no part of the header's type."""
    assert device_control(config(*CHAIN, control=0x2910, header=0x80)) == DeviceControl(512, relaxed_ordering=True)


def test_unknown_header() -> None:
    """Where a header of an unknown type has its pointer is not known."""
    assert capability(config(*CHAIN, header=3), 0x10) is None


def test_no_list() -> None:
    """A device whose status register denies a list has no capabilities."""
    space = bytearray(config(*CHAIN))
    space[0x06] = 0
    assert capability(bytes(space), 0x10) is None


def test_circle() -> None:
    """A list that comes back to where it was ends."""
    assert capability(config((0x40, 0x01, 0x50), (0x50, 0x11, 0x40)), 0x10) is None


def test_cut_short() -> None:
    """A capability that the bytes end in gives nothing."""
    assert device_control(config(*CHAIN)[:0x66]) is None


def test_pointer_into_header() -> None:
    """A pointer into the standard header is not followed."""
    assert capability(config((0x40, 0x01, 0x20)), 0x10) is None


@pytest.mark.parametrize(("length", "expected"), [(0, True), (64, True), (256, False), (4096, False)])
def test_hidden(length: int, expected: bool) -> None:
    """The kernel shows 64 bytes to users who are not root."""
    assert hidden(bytes(length)) == expected


@given(st.binary(max_size=300), st.integers(0, 255))
def test_any_bytes(space: bytes, wanted: int) -> None:
    """No bytes make the walk fail or run for ever, and what it finds lies inside them."""
    offset = capability(space, wanted)
    device_control(space)
    assert offset is None or (space[offset] == wanted and offset >= 0x40)


@given(st.lists(st.integers(0, 255), min_size=256, max_size=256))
def test_any_list(body: list[int]) -> None:
    """The same with a list announced, so that the walk always begins."""
    space = bytearray(body)
    space[0x06], space[0x0E] = space[0x06] | 0x10, space[0x0E] & 1
    offset = capability(bytes(space), 0x10)
    assert offset is None or space[offset] == 0x10


@pytest.mark.parametrize(
    ("offered", "control", "tags", "second", "expected"),
    [
        (3 << 10, 2, 1 << 17, 1 << 12, (True, True)),
        (3 << 10, 0, 1 << 17, 0, (False, False)),
        (0, 2, 0, 1 << 12, (None, None)),
    ],
)
def test_link_power_management_and_ten_bit_tags_are_known_of_what_could(
    offered: int, control: int, tags: int, second: int, expected: tuple[bool | None, bool | None]
) -> None:
    """A device that offers neither says nothing of the BIOS: its bits are zero whatever is set."""
    space = bytearray(config(*CHAIN))
    for offset, form, value in ((0x0C, "<I", offered), (0x10, "<H", control), (0x24, "<I", tags), (0x28, "<H", second)):
        struct.pack_into(form, space, 0x60 + offset, value)
    found = device_control(bytes(space))
    assert found is not None
    assert (found.aspm, found.ten_bit_tags) == expected
