"""Who made the machine, its processors and memory modules: SMBIOS (DSP0134 3.7), or what of it needs no root (EDAC's modules)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from posixpath import dirname
from struct import unpack_from
from typing import NamedTuple

from advisor.errors import BadTable
from advisor.machine.hardware import Dimm, Firmware, Memory, Processor, SocketMemory
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import Gap, Machine
from advisor.machine.sources.reader import FactSource, Reader
from advisor.machine.value import MIB, iso_date, number

LARGEST = 4 << 20
"""Bytes; real tables have at most some ten thousand."""

_END_OF_TABLE = 127
_SYSTEM_MEMORY = 3
_CENTRAL_PROCESSOR = 3

# 7.18.2, and 3.9 for the last: the words are those that dmidecode prints.
_KINDS = {
    0x0F: "SDRAM",
    0x12: "DDR",
    0x13: "DDR2",
    0x14: "DDR2 FB-DIMM",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x1F: "Logical non-volatile device",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x24: "HBM3",
    0x25: "MRDIMM",
}

# 7.18.6: these keep their content without power and run at another speed than the DRAM beside them.
_PERSISTENT = {5: "NVDIMM-F", 6: "NVDIMM-P", 7: "Optane"}

_SAID_OF_NOTHING = (
    "|0|default string|empty|n/a|no dimm|none|not applicable|not available|not provided|not specified|oem|"
    "super server|system manufacturer|system product name|system version|to be filled by o.e.m|to be filled by oem|"
    "undefined|unknown"
)
_PLACEHOLDERS = frozenset(_SAID_OF_NOTHING.split("|"))
"""What boards say when their vendor said nothing."""


class Structure(NamedTuple):
    """One structure: its fixed part by offsets as in the specification, and its strings."""

    kind: int
    handle: int
    fixed: bytes
    strings: tuple[str, ...]

    def number(self, at: int, size: int) -> int | None:
        """Return the number at an offset, or None where the structure is of an older version and ends before."""
        part = self.fixed[at : at + size]
        return int.from_bytes(part, "little") if len(part) == size else None

    def text(self, at: int) -> str | None:
        """Return the string that the byte at an offset names, or None where it names none or says nothing."""
        number = self.number(at, 1)
        return clean(self.strings[number - 1]) if number and number <= len(self.strings) else None


def clean(text: str | None) -> str | None:
    """Return the text without white space around it; None for a placeholder such as ``To Be Filled By O.E.M.``."""
    word = "".join(c if c.isprintable() else "." for c in (text or "").strip().strip("\0").strip())
    return None if word.rstrip(".").lower() in _PLACEHOLDERS else word


def structures(data: bytes) -> tuple[Structure, ...]:
    """Return the structures up to the end-of-table marker, or raise where one contradicts itself or there is none (6.1)."""
    if len(data) > LARGEST:
        raise BadTable(f"{len(data)} bytes, more than any real table")
    found: list[Structure] = []
    at = 0
    while at < len(data) and any(data[at : at + 4]):  # four zeros are what fills the room behind some tables
        left = len(data) - at
        if left < 4:
            raise BadTable(f"structure at byte {at}: only {left} bytes are left")
        kind, length, handle = unpack_from("<BBH", data, at)
        if length < 4:
            raise BadTable(f"structure at byte {at} is {length} bytes long")
        if length > left:
            raise BadTable(f"structure at byte {at} is {length} bytes long, but {left} are left")
        if kind == _END_OF_TABLE:
            break
        end = data.find(b"\0\0", at + length)
        if end < 0:
            raise BadTable(f"structure at byte {at}: its strings are not terminated")
        strings = data[at + length : end].split(b"\0") if end > at + length else []
        texts = tuple(string.decode("utf-8", "replace") for string in strings)
        found.append(Structure(kind, handle, data[at : at + length], texts))
        at = end + 2
    if not found:
        raise BadTable("holds no structure")
    return tuple(found)


def version(entry_point: bytes) -> str | None:
    """Return the version that an entry point names (``3.3``), or None if it is none (5.2)."""
    at = {b"_SM3_": 7, b"_SM_": 6}.get(entry_point[:5] if entry_point[:4] == b"_SM3" else entry_point[:4])
    if at is None or len(entry_point) < at + 2:
        return None
    return f"{entry_point[at]}.{entry_point[at + 1]}"


def processors(found: tuple[Structure, ...]) -> tuple[Processor, ...]:
    """Return the sockets for central processors, in the order of the table (type 4)."""
    return tuple(_processor(s) for s in sockets(found))


def sockets(found: tuple[Structure, ...]) -> tuple[Structure, ...]:
    """Return the structures of the central processors (type 4)."""
    return tuple(s for s in found if s.kind == 4 and s.number(5, 1) == _CENTRAL_PROCESSOR)


def models(found: tuple[Structure, ...]) -> frozenset[tuple[int, int]]:
    """Return family and model of the populated x86 sockets, from CPUID's leaf 1 EAX (7.5.3.2)."""
    models = set()
    for signature in (s.number(8, 4) for s in sockets(found) if _populated(s)):
        if signature:
            family, model = signature >> 8 & 0xF, signature >> 4 & 0xF
            model |= signature >> 12 & 0xF0 if family in (6, 15) else 0
            models.add((family + (signature >> 20 & 0xFF if family == 15 else 0), model))
    return frozenset(models)


def _processor(s: Structure) -> Processor:
    populated = _populated(s)
    megahertz = s.number(0x14, 2)
    return Processor(
        socket=s.text(4) or f"handle 0x{s.handle:04X}",
        populated=populated,
        model=s.text(0x10) if populated else None,
        cores=_count(s, 0x23, 0x2A),
        cores_enabled=_count(s, 0x24, 0x2C),
        threads=_count(s, 0x25, 0x2E),
        max_hz=megahertz * 10**6 if megahertz else None,
    )


def _populated(s: Structure) -> bool:
    return bool((s.number(0x18, 1) or 0) & 0x40)


def _count(s: Structure, narrow: int, wide: int) -> int | None:
    """Return a count of cores: a byte that says 0xFF sends to a word, 0 means not known (7.5.6)."""
    count = s.number(narrow, 1)
    if count == 0xFF:
        count = s.number(wide, 2)
        return None if count == 0xFFFF else count or None
    return count or None


def dimms(found: tuple[Structure, ...]) -> tuple[Dimm, ...]:
    """Return the slots for system memory, empty ones too (type 17); not those of flash or video memory."""
    uses = {s.handle: s.number(5, 1) for s in found if s.kind == 16}
    slots = (s for s in found if s.kind == 17 and uses.get(s.number(4, 2) or 0, _SYSTEM_MEMORY) == _SYSTEM_MEMORY)
    return tuple(_dimm(s) for s in slots)


def _dimm(s: Structure) -> Dimm:
    size, width = _size(s), s.number(0x0A, 2)
    slot = Dimm(locator=s.text(0x10) or f"handle 0x{s.handle:04X}", bank=s.text(0x11), size=size)
    if size == 0:
        return slot
    return slot.but(
        kind=_PERSISTENT.get(s.number(0x28, 1) or 0) or _KINDS.get(s.number(0x12, 1) or 0),
        rated=_speed(s, 0x15, 0x54),
        configured=_speed(s, 0x20, 0x58),
        width={0: None, 0xFFFF: None, 72: 64, 80: 64, 40: 32}.get(width or 0, width),
        ranks=(s.number(0x1B, 1) or 0) & 0x0F or None,
        maker=s.text(0x17),
        part=s.text(0x1A),
    )


def _size(s: Structure) -> int | None:
    """Return bytes: 0 for an empty slot, None for 0xFFFF; the top bit means KiB, 0x7FFF sends to MiB in 31 bits (7.18)."""
    size = s.number(0x0C, 2)
    if size is None or size == 0xFFFF:
        return None
    if size == 0x7FFF:
        extended = s.number(0x1C, 4)
        return None if extended is None else (extended & 0x7FFFFFFF) << 20
    return (size & 0x7FFF) << (10 if size & 0x8000 else 20)


def _speed(s: Structure, narrow: int, wide: int) -> int | None:
    """Return transfers a second. Before 3.1 the word was said to be MHz, but the number was the same (7.18.4)."""
    speed = s.number(narrow, 2)
    if speed == 0xFFFF:
        speed = (s.number(wide, 4) or 0) & 0x7FFFFFFF
    return speed * 10**6 if speed else None


_HOST_INTERFACE, _NETWORK, _REDFISH_OVER_IP = 42, 0x40, 4
_IPV4, _IPV6 = 1, 2


def redfish_addresses(found: Iterable[Structure]) -> tuple[str, ...]:
    """Return where the node's own BMC serves Redfish, HOST:PORT: the host interfaces of type 42 (DSP0134 7.43, DSP0270 8.1)."""
    records = (each for structure in found if structure.kind == _HOST_INTERFACE for each in _protocols(structure.fixed))
    return tuple(address for kind, data in records if kind == _REDFISH_OVER_IP and (address := _address(data)))


def _protocols(fixed: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the protocol records of a network host interface: each its type, and its data."""
    if len(fixed) < 6 or fixed[4] != _NETWORK:
        return
    at = 6 + fixed[5]
    count, at = (fixed[at] if at < len(fixed) else 0), at + 1
    for _ in range(count):
        if at + 2 > len(fixed) or at + 2 + fixed[at + 1] > len(fixed):
            return
        yield fixed[at], fixed[at + 2 : at + 2 + fixed[at + 1]]
        at += 2 + fixed[at + 1]


def _address(data: bytes) -> str | None:
    """Return the service's address of a record of Redfish over IP."""
    if len(data) < 86 or data[51] not in (_IPV4, _IPV6):
        return None
    address = IPv4Address(data[52:56]) if data[51] == _IPV4 else IPv6Address(data[52:68])
    port = int.from_bytes(data[84:86], "little") or 443
    if address.is_unspecified:
        return None
    host = f"[{address}]" if data[51] == _IPV6 else str(address)
    return host if port == 443 else f"{host}:{port}"


class Board(NamedTuple):
    """What has to be known besides the names."""

    maker: str | None = None
    sockets: int | None = None
    """Processor sockets of the board."""
    channels: tuple[int, ...] = ()
    """Memory channels that the processors may have, see ``channels_of``."""


MOST_PER_CHANNEL = 3
"""Modules that fit on a channel of any server: three with DDR3 and early DDR4, two since."""


def _way(locator: str, bank: str = ".*") -> re.Pattern[str]:
    return re.compile(rf"(?:{locator})\n(?:{bank})", re.IGNORECASE | re.ASCII)


# The first that fits counts. A name may tell `socket`, `channel` with or without its `node` (memory controller), or `pair`:
# slots numbered so that those of a channel are side by side. Each has an example in the tests, with where it was seen.
_WAYS = (
    _way(r"P(?P<socket>\d)[-_ ]?DIMM[-_]?(?P<channel>[A-Z])\d?"),
    _way(r"CPU(?P<socket>\d)_C(?P<channel>\d{1,3})D\d"),
    _way(r"CPU(?P<socket>\d)[_ ](?:MC(?P<node>\d{1,3})_)?(?:DIMM[_ ]?)?(?P<channel>[A-Z])\d?"),
    _way(r"CPU(?P<socket>\d) CH(?:annel)?(?P<channel>\d{1,3})[ /]D(?:IMM)?\d"),
    _way(r"DIMM_P(?P<socket>\d)_(?P<channel>[A-Z])\d"),
    _way(r"CPU_SrcID#(?P<socket>\d{1,3})_(?:MC|Ha)#(?P<node>\d{1,3})_Chan#(?P<channel>\d{1,3})_DIMM#\d{1,3}"),
    _way(r"PROC (?P<socket>\d) DIMM (?P<pair>\d{1,2})"),
    _way(".*", r"P(?P<socket>\d{1,3})_Node(?P<node>\d{1,3})_Channel(?P<channel>\d{1,3})_Dimm\d{1,3}"),
    _way(".*", r"_Node(?P<socket>\d{1,3})_Channel(?P<channel>\d{1,3})_Dimm\d{1,3}"),
    _way(".*", r"(?:NODE|SOCKET) (?P<socket>\d{1,3}) CHANNEL (?P<channel>\d{1,3}) (?:DIMM|SLOT) \d{1,3}"),
    _way(".*", r"P(?P<socket>\d{1,3}) CHANNEL (?P<channel>[A-Z])"),
    _way(r"DIMM_?(?P<channel>[A-Z])\d", r"NODE ?(?P<socket>\d{1,3})"),
    _way(r"Node(?P<socket>\d{1,3})_Dimm\d{1,3}"),
    _way(r"DIMM_?(?P<channel>[A-Z])\d?"),
    _way(r"Controller(?P<node>\d{1,3})-Channel(?P<channel>[A-Z])-DIMM\d"),
)

# The letter is the processor, and the first row of slots has one of each channel: A1 and A9 share a channel of eight.
_DELL = _way(r"(?:DIMM[_ ])?(?P<letter>[A-H])(?P<row>\d{1,2})")

# Numbered through all processors, those of a channel side by side.
_LENOVO = _way(r"DIMM (?P<through>\d{1,3})")

_Key = tuple[int, int]


class _Found(NamedTuple):
    """What one name says, before the others are looked at."""

    way: int = -1
    socket: int | None = None
    channel: _Key | None = None
    row: int | None = None
    pair: int | None = None


def placed(dimms: Sequence[Dimm], board: Board) -> tuple[Dimm, ...]:
    """Return the slots with the processor and channel that their names tell, in their order.

    The names are read together: whether processors count from 0 or 1, or letters run on from one processor to the next,
    no single name says. So every slot has to be given, empty ones too; channels are numbered by their order in the names.
    """
    found = [_read(dimm, board, len(dimms)) for dimm in dimms]
    sockets = _sockets(found, board)
    slots = Counter(sockets)
    keys = [None if s is None else _key(f, slots[s], board) for f, s in zip(found, sockets, strict=True)]
    pairs = Counter(zip(sockets, keys, strict=True))
    crowded = {socket for (socket, key), count in pairs.items() if key is not None and count > MOST_PER_CHANNEL}
    order = {socket: sorted({k for s, k in pairs if s == socket and k is not None}) for socket in slots}
    return tuple(
        dimm.but(socket=socket, channel=None if key is None or socket in crowded else order[socket].index(key))
        for dimm, socket, key in zip(dimms, sockets, keys, strict=True)
    )


def _read(name: Dimm, board: Board, slots: int) -> _Found:
    text = f"{name.locator}\n{name.bank or ''}"
    maker = (board.maker or "").lower()
    own = (way for word, way in (("dell", _DELL), ("lenovo", _LENOVO)) if word in maker)
    for way, pattern in enumerate((*own, *_WAYS)):
        if match := pattern.fullmatch(text):
            part = {
                key: int(value) if value.isdigit() else ord(value.upper()) - ord("A")
                for key, value in match.groupdict().items()
                if value is not None
            }
            if "through" in part:
                number = part["through"]
                if not board.sockets or slots % board.sockets or not 0 < number <= slots:
                    return _Found()
                socket, place = divmod(number - 1, slots // board.sockets)
                return _Found(way, socket, pair=place + 1)
            channel = (part.get("node", 0), part["channel"]) if "channel" in part else None
            return _Found(way, part.get("letter", part.get("socket")), channel, part.get("row"), part.get("pair"))
    return _Found()


def _sockets(found: Sequence[_Found], board: Board) -> list[int | None]:
    """Return each slot's processor from 0; all None if the names tell of more processors than there are."""
    if board.sockets == 1:
        return [0] * len(found)
    known = {way: {f.socket for f in found if f.way == way} for way in {f.way for f in found}}
    # The number of the first processor is 0, or 1 where none has 0.
    numbers = [None if f.socket is None else f.socket - (0 not in known[f.way]) for f in found]
    if board.sockets and any(number is not None and number >= board.sockets for number in numbers):
        return [None] * len(found)
    return numbers


def _key(found: _Found, slots: int, board: Board) -> _Key | None:
    """Return what distinguishes the channels of a processor with so many slots, in their order."""
    if found.channel:
        return found.channel
    fit = [c for c in board.channels if slots % c == 0 and 1 <= slots // c <= MOST_PER_CHANNEL]
    if len(fit) != 1:
        return None
    if found.row:
        return (0, (found.row - 1) % fit[0])
    return (0, (found.pair - 1) // (slots // fit[0])) if found.pair else None


# Family and model (first, last) of CPUID leaf 1, and the memory channels of the socket that such a processor fits. Where a
# model number is used for two sockets, the count of slots decides. Intel: intel/PerfSpect internal/cpus/cpus.go, and the
# data sheets for Nehalem to Ivy Bridge; AMD: the processor programming references' UMC counts.
_CHANNELS = (
    (6, 26, 26, (3,)),  # Nehalem-EP
    (6, 44, 44, (3,)),  # Westmere-EP
    (6, 45, 45, (4,)),  # Sandy Bridge-EP
    (6, 62, 62, (4,)),  # Ivy Bridge-EP
    (6, 63, 63, (4,)),  # Haswell-EP
    (6, 79, 79, (4,)),  # Broadwell-EP
    (6, 85, 85, (6,)),  # Skylake, Cascade Lake, Cooper Lake
    (6, 106, 106, (8,)),  # Ice Lake
    (6, 143, 143, (8,)),  # Sapphire Rapids
    (6, 207, 207, (8,)),  # Emerald Rapids
    (6, 173, 173, (8, 12)),  # Granite Rapids-SP and -AP
    (6, 175, 175, (8, 12)),  # Sierra Forest
    (0x17, 0x01, 0x01, (8,)),  # Naples
    (0x17, 0x31, 0x31, (8,)),  # Rome
    (0x19, 0x01, 0x01, (8,)),  # Milan
    (0x19, 0x30, 0x30, (8,)),  # Trento
    (0x19, 0x10, 0x1F, (12,)),  # Genoa
    (0x19, 0xA0, 0xAF, (6, 12)),  # Siena (SP6) and Bergamo (SP5)
    (0x1A, 0x00, 0x1F, (12,)),  # Turin and Turin Dense
)


def channels_of(models: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the channel counts that processors of these families and models may have; () where that is not known."""
    known = {
        next((counts for f, first, last, counts in _CHANNELS if f == family and first <= model <= last), ())
        for family, model in models
    }
    return known.pop() if len(known) == 1 else ()


NAMES_HELP = "report it with the output of advisor capture, so that this vendor's slot names can be supported"
SPEED_HELP = "update the firmware, or read the speed in the BIOS setup"


def summed(dimms: Sequence[Dimm], processors: Sequence[Processor]) -> tuple[SocketMemory, ...] | None:
    """Return what each processor's slots add up to, or None if a slot's processor is not known.

    A socket without processor and modules is left out: that its channels are empty is no fault.
    """
    numbers = {dimm.socket for dimm in dimms}
    if not dimms or None in numbers:
        return None
    sums = [_sum(n, [dimm for dimm in dimms if dimm.socket == n]) for n in sorted(n for n in numbers if n is not None)]
    return tuple(s for s in sums if s.dimms or s.socket >= len(processors) or processors[s.socket].populated)


def _sum(socket: int, slots: Sequence[Dimm]) -> SocketMemory:
    modules = [slot for slot in slots if slot.size != 0 and is_dram(slot)]
    used, sizes = {module.channel for module in modules}, [module.size for module in modules]
    channels = None if None in used else len(used)
    speeds = [module.configured for module in modules if module.configured]
    configured = min(speeds) if speeds and len(speeds) == len(modules) else None
    widths = {module.width for module in modules}
    width = widths.pop() if len(widths) == 1 else None
    if width != 64 and any((module.kind or "").startswith("DDR") for module in modules):
        width = None  # a DDR module has the 64 data bits of JEDEC's
    return SocketMemory(
        socket=socket,
        dimms=len(modules),
        slots=len(slots),
        channels=channels,
        size=None if None in sizes else sum(size for size in sizes if size),
        configured=configured,
        bandwidth=channels * width // 8 * configured if channels and width and configured else None,
    )


def is_dram(dimm: Dimm) -> bool:
    """Return whether a module is DRAM on a channel: not persistent memory, nor HBM inside the processor's package."""
    kind = dimm.kind or ""
    return not kind.startswith(("HBM", "Logical", "Optane", "NVDIMM"))


def missing_sums(dimms: Sequence[Dimm], sockets: Sequence[SocketMemory] | None) -> Iterator[Gap]:
    """Yield why the sums, or parts of them, are not known."""
    if sockets is None:
        why = f"{_names(dimms)} do not show which processor they belong to" if dimms else "SMBIOS lists no memory slots"
        yield Gap(fact="memory.sockets", why=why, help=NAMES_HELP)
        return
    for total in sockets:
        if not total.dimms:
            continue
        mine = [dimm for dimm in dimms if dimm.socket == total.socket]
        if total.channels is None:
            yield Gap(
                fact="memory.sockets.channels", why=f"{_names(mine)} do not show which channel they belong to", help=NAMES_HELP
            )
        if total.configured is None:
            why = f"SMBIOS does not give a configured speed for every module of processor {total.socket}"
            yield Gap(fact="memory.sockets.configured", why=why, help=SPEED_HELP)
        if total.bandwidth is None:
            why = f"channels, data width or configured speed of processor {total.socket} is unknown"
            yield Gap(fact="memory.sockets.bandwidth", why=why, help=NAMES_HELP if total.channels is None else SPEED_HELP)


def _names(dimms: Sequence[Dimm]) -> str:
    sample = dimms[0]
    return f"the names of the memory slots ({sample.locator}{', ' + sample.bank if sample.bank else ''}, ...)"


LABELS = "/sys/devices/system/edac/mc/mc*/dimm*/dimm_label"
FIELDS = ("dimm_label", "dimm_location", "dimm_mem_type", "size")

_KIND = re.compile(r"(Low-Power-)?((?:LP)?DDR\d?|HBM\d?)", re.ASCII)


def edac_dimms(host: Host) -> tuple[Dimm, ...] | None:
    """Return the modules, or None where there is no EDAC or it lists ranks instead.

    The drivers that count chip-select rows (``csrow 0 channel 1``: amd64_edac) list each rank of a module by itself.
    """
    found = []
    for folder in (dirname(path) for path in expand(host, LABELS)):
        label, location, kind, size = ((host.read(f"{folder}/{field}").text or "").strip() for field in FIELDS)
        megabytes = number(size)
        if "csrow" in location or megabytes is None or not 0 < megabytes < 1 << 30:
            return None
        match = _KIND.search(kind)
        word = f"{'LP' if match[1] else ''}{match[2]}" if match else None
        found.append(Dimm(locator=clean(label) or folder.rpartition("/")[2], size=megabytes * MIB, kind=word))
    return tuple(found) or None


TABLE = "/sys/firmware/dmi/tables/DMI"
ENTRY_POINT = "/sys/firmware/dmi/tables/smbios_entry_point"
CPUINFO = "/proc/cpuinfo"
ID = "/sys/class/dmi/id"

_IDS = {
    "system_vendor": ("sys_vendor", 1, 4),
    "product": ("product_name", 1, 5),
    "product_version": ("product_version", 1, 6),
    "board_vendor": ("board_vendor", 2, 4),
    "board": ("board_name", 2, 5),
    "bios_vendor": ("bios_vendor", 0, 4),
    "bios_version": ("bios_version", 0, 5),
    "bios_date": ("bios_date", 0, 8),
}
"""For each fact of the firmware: the kernel's file, and the type and offset of the structure it comes from."""

PATHS = (
    TABLE,
    ENTRY_POINT,
    CPUINFO,
    *(f"{ID}/{file}" for file, _, _ in _IDS.values()),
    *(LABELS.replace("dimm_label", field) for field in FIELDS),
)

UPDATE_HELP = "update the firmware; if that does not help, report it with the output of advisor capture"


def collect(host: Host) -> Machine:
    """Return the firmware's names, the processors and the memory modules."""
    reader = Reader(host)
    found, why, cure = _structures(reader)
    firmware = _firmware(reader, found or ())
    memory = _edac(reader, why, cure) if found is None else _memory(reader, found, firmware)
    return reader.machine(firmware=firmware, memory=memory)


def _structures(reader: Reader) -> tuple[tuple[Structure, ...] | None, str, str]:
    """Return the structures, or None with the reason and the cure."""
    reading = reader.host.read(TABLE)
    if reading.why:
        told = Reader(reader.host)
        told.missed("memory", TABLE, reading.why)
        return None, told.gaps[0].why, told.gaps[0].help
    try:
        return structures(reading.data), "", ""
    except BadTable as error:
        return None, str(error.within(TABLE)), UPDATE_HELP


def _firmware(reader: Reader, found: tuple[Structure, ...]) -> Firmware | None:
    """Return the names, as the kernel's files give them or else the structures themselves."""
    first = {s.kind: s for s in reversed(found)}
    facts: dict[str, str | None] = {}
    for fact, (file, kind, at) in _IDS.items():
        text = clean(reader.text(f"{ID}/{file}"))
        if text is not None:
            reader.found(f"firmware.{fact}", f"{ID}/{file}")
        elif kind in first and (text := first[kind].text(at)) is not None:
            reader.found(f"firmware.{fact}", TABLE)
        facts[fact] = text
    facts["bios_date"] = iso_date(facts["bios_date"])
    entry_point = reader.host.read(ENTRY_POINT)
    facts["smbios"] = None if entry_point.why else version(entry_point.data)
    if not any(facts.values()):
        reader.missed("firmware", ID, reader.host.read(f"{ID}/sys_vendor").why or Why.ABSENT)
        return None
    return Firmware(**facts)


def _memory(reader: Reader, found: tuple[Structure, ...], firmware: Firmware | None) -> Memory:
    packages = processors(found)
    maker = firmware.system_vendor if firmware else None
    board = Board(maker=maker, sockets=len(packages) or None, channels=channels_of(models(found) or _kernels_model(reader)))
    slots = placed(dimms(found), board)
    sums = summed(slots, packages)
    for gap in missing_sums(slots, sums):
        reader.lacks(gap.fact, gap.why, gap.help)
    for fact in ("dimms", "processors", *(("sockets",) if sums else ())):
        reader.found(f"memory.{fact}", TABLE)
    return Memory(dimms=slots, sockets=sums, processors=packages)


def _kernels_model(reader: Reader) -> frozenset[tuple[int, int]]:
    """Return family and model as the kernel reports them, for firmware that leaves them out."""
    text = reader.text(CPUINFO) or ""
    family, model = (re.search(rf"^{name}\s*:\s*(\d{{1,5}})$", text, re.MULTILINE) for name in ("cpu family", "model"))
    return frozenset([(int(family[1]), int(model[1]))] if family and model else [])


def _edac(reader: Reader, why: str, cure: str) -> Memory | None:
    modules = edac_dimms(reader.host)
    if modules is None:
        reader.lacks("memory", why, cure)
        return None
    for fact in ("memory.sockets", "memory.processors"):
        reader.lacks(fact, why, cure)
    reader.found("memory.dimms", LABELS)
    return Memory(dimms=placed(modules, Board()))


SOURCES = (
    FactSource(
        "dmi",
        "The machine's vendor, processors and memory modules: SMBIOS, or the part of it that can be read without root.",
        collect,
        PATHS,
        rank=30,
    ),
)
