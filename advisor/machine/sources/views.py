"""What sources take of files and answers whose lines mostly are another on each node, or change by themselves: Reader.view."""

import re
from collections import defaultdict
from itertools import count
from typing import Final

from advisor.machine.value import number, size

ArmParts = tuple[tuple[tuple[int | None, int | None], tuple[int, ...]], ...]
"""Implementer and part, and the CPUs of such cores, in the order of their first."""
_ARM_LINES = re.compile(r"^(processor|CPU implementer|CPU part)[ \t]*: *(\w{1,12})$", re.MULTILINE | re.ASCII)
_HEAD = 4096
"""The first CPU's vendor, family and model stand within so many characters."""


def memory_total(text: str) -> int | None:
    r"""Return the bytes of a meminfo.

    >>> memory_total("Node 0 MemTotal:       16 kB\nNode 0 MemFree:        8 kB")
    16384
    """
    match = re.search(r"MemTotal:\s*(\d{1,15}\s*kB)", text, re.ASCII)
    return size(match[1]) if match else None


def of_knights_landing(text: str) -> bool:
    """Return whether a cpuinfo is of Knights Landing or Mill."""
    model = re.search(r"^model\s*:\s*(\d{1,3})$", text[:_HEAD], re.ASCII | re.MULTILINE)
    return "GenuineIntel" in text[:_HEAD] and model is not None and int(model[1]) in (87, 133)


def of_family_15h(text: str) -> bool:
    """Return whether a cpuinfo is of AMD family 15h (Bulldozer to Excavator)."""
    family = re.search(r"^cpu family\s*:\s*(\d{1,3})$", text[:_HEAD], re.ASCII | re.MULTILINE)
    return "AuthenticAMD" in text[:_HEAD] and family is not None and int(family[1]) == 0x15


def arm_parts(text: str) -> ArmParts:
    r"""Return the CPUs of a cpuinfo of Arm by their part; () of any other.

    >>> arm_parts("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n")
    (((65, 3340), (0,)),)
    """
    if "CPU part" not in text:
        return ()
    cpus: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    cpu, implementer = None, None
    for key, value in _ARM_LINES.findall(text):
        if key == "processor":
            cpu, implementer = number(value), None
        elif key == "CPU implementer":
            implementer = number(value)
        elif cpu is not None and 0 <= cpu < 1 << 20:
            cpus[implementer, number(value)].append(cpu)
    return tuple((kind, tuple(numbers)) for kind, numbers in cpus.items())


_UNREAD: Final = rb"Address|NodeGUID|SysImageGUID|Port\d{1,3}GID\d{1,3}|SerialNumber|\w{0,20}(?:Serial|UUID|AssetTag)"
_OWN: Final = re.compile(
    rb'<info name="(HostName|Port\d{1,3}LID|' + _UNREAD + rb')" value="([ !#-%\'-;=?-~]{0,300})"/>'
    rb'|local_memory="([1-9]\d{0,17})"|<page_type [^<>]{0,100}/>'
)
"""What lstopo prints otherwise on each of equal nodes: of a part nothing is read, the rest is put in afterwards."""
MARK: Final = "advisor-own-"


def shared_text(data: bytes) -> bytes:
    """Return an XML as equal nodes have it: marks stand where each has words of its own, and amounts of memory are rounded."""
    number_of = count()

    def put(match: re.Match[bytes]) -> bytes:
        if match[3]:
            first = match[3][:2]
            return b'local_memory="%b" own="%b%d"' % (first.ljust(len(match[3]), b"0"), MARK.encode(), next(number_of))
        if match[1] is not None and _is_put_in(match[1]):
            return b'<info name="%b" value="%b%d"/>' % (match[1], MARK.encode(), next(number_of))
        return b""

    return _OWN.sub(put, data)


def own_words(data: bytes) -> tuple[str, ...]:
    """Return the words that marks stand for, by their numbers."""
    found = (match[3] or match[2] for match in _OWN.finditer(data) if match[3] or (match[1] and _is_put_in(match[1])))
    return tuple(word.decode("ascii") for word in found)


def _is_put_in(name: bytes) -> bool:
    return name == b"HostName" or name.endswith(b"LID")
