"""PCI configuration space: the list of capabilities, and what the PCIe one says of reads and of ordering."""

import struct
from typing import NamedTuple

# Offsets and bits: PCI Local Bus 3.0 section 6.1, PCI Express Base 6.0 section 7.5.3.4; Linux names them in pci_regs.h.
_STATUS, _HEADER_TYPE = 0x06, 0x0E
_HAS_LIST = 1 << 4
_POINTER = {0: 0x34, 1: 0x34, 2: 0x14}
_PCI_EXPRESS = 0x10
_DEVICE_CONTROL = 0x08
_EXPRESS_FLAGS, _DOWNSTREAM = 0x02, 6
_FIRST_EXTENDED, _ACS, _ACS_CONTROL = 0x100, 0x0D, 0x06
_REDIRECT = 1 << 2 | 1 << 3
"""P2P request and completion redirect (PCI Express Base 6.0, section 7.7.11)."""
_FIRST = 0x40
"""Capabilities lie behind the standard header, in the part that the kernel shows to root alone."""


class DeviceControl(NamedTuple):
    """What the PCIe device control register asks of a card."""

    max_read_request: int | None
    """Bytes; None of a reserved code."""
    relaxed_ordering: bool


def hidden(config: bytes) -> bool:
    """Return whether the capabilities lie beyond the bytes at hand: the kernel gives 64 to users who are not root."""
    return len(config) <= _FIRST


def device_control(config: bytes) -> DeviceControl | None:
    """Return the device control register, or None where there is no PCIe capability in the bytes at hand."""
    offset = capability(config, _PCI_EXPRESS)
    register = None if offset is None else _word(config, offset + _DEVICE_CONTROL)
    if register is None:
        return None
    code = register >> 12 & 7
    return DeviceControl(128 << code if code <= 5 else None, bool(register & 1 << 4))


def downstream(config: bytes) -> bool | None:
    """Return whether this is a PCIe switch's port towards devices; None where the bytes at hand do not tell."""
    offset = capability(config, _PCI_EXPRESS)
    flags = None if offset is None else _word(config, offset + _EXPRESS_FLAGS)
    return None if flags is None else flags >> 4 & 0xF == _DOWNSTREAM


def redirects(config: bytes) -> bool:
    """Return whether a port's ACS sends requests or completions between devices up to the root."""
    offset = _extended(config, _ACS)
    control = None if offset is None else _word(config, offset + _ACS_CONTROL)
    return bool(control and control & _REDIRECT)


def _extended(config: bytes, wanted: int) -> int | None:
    """Return the offset of an extended capability; the list is as little trusted as the other."""
    pointer = _FIRST_EXTENDED
    seen: set[int] = set()
    while pointer >= _FIRST_EXTENDED and pointer not in seen:
        seen.add(pointer)
        name, rest = _word(config, pointer), _word(config, pointer + 2)
        if name is None or rest is None or name in (0, 0xFFFF):
            return None
        if name == wanted:
            return pointer
        pointer = rest >> 4 & 0xFFC
    return None


def capability(config: bytes, wanted: int) -> int | None:
    """Return the offset of a capability; a list that runs in circles or out of the bytes ends where it does."""
    pointer = _head(config)
    seen: set[int] = set()
    while pointer is not None and pointer >= _FIRST and pointer not in seen:
        seen.add(pointer)
        entry = _word(config, pointer)
        if entry is None:
            return None
        if entry & 0xFF == wanted:
            return pointer
        pointer = entry >> 8 & 0xFC
    return None


def _head(config: bytes) -> int | None:
    status = _word(config, _STATUS)
    if status is None or not status & _HAS_LIST or len(config) < _FIRST:
        return None
    place = _POINTER.get(config[_HEADER_TYPE] & 0x7F)
    return None if place is None else config[place] & 0xFC


def _word(config: bytes, offset: int) -> int | None:
    if offset + 2 > len(config):
        return None
    return int(struct.unpack_from("<H", config, offset)[0])
