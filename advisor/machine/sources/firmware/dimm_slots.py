"""From the names of memory slots to processor and channel, and what the slots of each processor add up to."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from advisor.machine.machine import Gap
from advisor.machine.memory import Dimm, Processor, SocketMemory


class Name(NamedTuple):
    """What the firmware calls a slot."""

    locator: str
    bank: str | None = None


class Place(NamedTuple):
    """Where a slot is; None where its name does not tell."""

    socket: int | None = None
    channel: int | None = None


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
_WAYS: Final = (
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
_DELL: Final = _way(r"(?:DIMM[_ ])?(?P<letter>[A-H])(?P<row>\d{1,2})")

# Numbered through all processors, those of a channel side by side.
_LENOVO: Final = _way(r"DIMM (?P<through>\d{1,3})")

_Key = tuple[int, int]


class _Found(NamedTuple):
    """What one name says, before the others are looked at."""

    way: int = -1
    socket: int | None = None
    channel: _Key | None = None
    row: int | None = None
    pair: int | None = None


def places(names: Sequence[Name], board: Board) -> tuple[Place, ...]:
    """Return where each slot is, in the order of the names.

    The names are read together: whether processors count from 0 or 1, or letters run on from one processor to the next,
    no single name says. So every slot has to be given, empty ones too; channels are numbered by their order in the names.
    """
    found = [_read(name, board, len(names)) for name in names]
    sockets = _sockets(found, board)
    slots = Counter(sockets)
    keys = [None if s is None else _key(f, slots[s], board) for f, s in zip(found, sockets, strict=True)]
    pairs = Counter(zip(sockets, keys, strict=True))
    crowded = {socket for (socket, key), count in pairs.items() if key is not None and count > MOST_PER_CHANNEL}
    order = {socket: sorted({k for s, k in pairs if s == socket and k is not None}) for socket in slots}
    return tuple(
        Place(socket, None if key is None or socket in crowded else order[socket].index(key))
        for socket, key in zip(sockets, keys, strict=True)
    )


def _read(name: Name, board: Board, slots: int) -> _Found:
    text = f"{name.locator}\n{name.bank or ''}"
    for way, pattern in enumerate((*_own_ways(board), *_WAYS)):
        if match := pattern.fullmatch(text):
            part = {key: _digit(value) for key, value in match.groupdict().items() if value is not None}
            if "through" in part:
                return _numbered_through(way, part["through"], slots, board)
            channel = (part.get("node", 0), part["channel"]) if "channel" in part else None
            socket = part.get("letter", part.get("socket"))
            return _Found(way, socket, channel, part.get("row"), part.get("pair"))
    return _Found()


def _own_ways(board: Board) -> tuple[re.Pattern[str], ...]:
    maker = (board.maker or "").lower()
    return tuple(way for word, way in (("dell", _DELL), ("lenovo", _LENOVO)) if word in maker)


def _digit(text: str) -> int:
    return int(text) if text.isdigit() else ord(text.upper()) - ord("A")


def _numbered_through(way: int, number: int, slots: int, board: Board) -> _Found:
    if not board.sockets or slots % board.sockets or not 0 < number <= slots:
        return _Found()
    socket, place = divmod(number - 1, slots // board.sockets)
    return _Found(way, socket, pair=place + 1)


def _sockets(found: Sequence[_Found], board: Board) -> list[int | None]:
    """Return each slot's processor from 0; all None if the names tell of more processors than there are."""
    if board.sockets == 1:
        return [0] * len(found)
    first = {way: _first(f.socket for f in found if f.way == way) for way in {f.way for f in found}}
    numbers = [None if f.socket is None else f.socket - first[f.way] for f in found]
    if board.sockets and any(number is not None and number >= board.sockets for number in numbers):
        return [None] * len(found)
    return numbers


def _first(numbers: Iterable[int | None]) -> int:
    """Return the number of the first processor: 0, or 1 where none has 0."""
    return 0 if 0 in numbers else 1


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
_CHANNELS: Final = (
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
    known = {_channels(family, model) for family, model in models}
    return known.pop() if len(known) == 1 else ()


def _channels(family: int, model: int) -> tuple[int, ...]:
    return next((counts for f, first, last, counts in _CHANNELS if f == family and first <= model <= last), ())


NAMES_HELP = "report it with the output of advisor capture: slot names of one more vendor can then be read"
SPEED_HELP = "update the firmware, or read the speed in its setup"


def placed(dimms: Sequence[Dimm], board: Board) -> tuple[Dimm, ...]:
    """Return the slots with the processor and channel that their names tell."""
    found = places([Name(dimm.locator, dimm.bank) for dimm in dimms], board)
    return tuple(
        dimm.model_copy(update={"socket": place.socket, "channel": place.channel})
        for dimm, place in zip(dimms, found, strict=True)
    )


def summed(dimms: Sequence[Dimm], processors: Sequence[Processor]) -> tuple[SocketMemory, ...] | None:
    """Return what each processor's slots add up to, or None if a slot's processor is not known.

    A socket without processor and modules is left out: that its channels are empty is no fault.
    """
    numbers = {dimm.socket for dimm in dimms}
    if not dimms or None in numbers:
        return None
    sums = (_sum(n, [d for d in dimms if d.socket == n]) for n in sorted(n for n in numbers if n is not None))
    return tuple(s for s in sums if s.dimms or s.socket >= len(processors) or processors[s.socket].populated)


def _sum(socket: int, slots: Sequence[Dimm]) -> SocketMemory:
    modules = [slot for slot in slots if slot.size != 0 and is_dram(slot)]
    channels = _channels_used(modules)
    configured = _slowest(modules)
    width = _data_width(modules)
    return SocketMemory(
        socket=socket,
        dimms=len(modules),
        slots=len(slots),
        channels=channels,
        size=_total(module.size for module in modules),
        configured=configured,
        bandwidth=channels * width // 8 * configured if channels and width and configured else None,
    )


def is_dram(dimm: Dimm) -> bool:
    """Return whether a module is DRAM on a channel: not persistent memory, nor HBM inside the processor's package."""
    kind = dimm.kind or ""
    return not kind.startswith(("HBM", "Logical", "Optane", "NVDIMM"))


def _channels_used(modules: Sequence[Dimm]) -> int | None:
    channels = {module.channel for module in modules}
    return None if None in channels else len(channels)


def _slowest(modules: Sequence[Dimm]) -> int | None:
    speeds = [module.configured for module in modules if module.configured]
    return min(speeds) if speeds and len(speeds) == len(modules) else None


def _data_width(modules: Sequence[Dimm]) -> int | None:
    """Return the data bits that all modules have; None where they differ, or a DDR module has not the 64 of JEDEC's."""
    widths = {module.width for module in modules}
    width = widths.pop() if len(widths) == 1 else None
    return None if width != 64 and any((m.kind or "").startswith("DDR") for m in modules) else width


def _total(sizes: Iterable[int | None]) -> int | None:
    known = list(sizes)
    return None if None in known else sum(size for size in known if size)


def missing_sums(dimms: Sequence[Dimm], sockets: Sequence[SocketMemory] | None) -> Iterator[Gap]:
    """Yield why the sums, or parts of them, are not known."""
    if sockets is None:
        why = f"{_names(dimms)} do not tell the processor" if dimms else "SMBIOS lists no memory slots"
        yield Gap(fact="memory.sockets", why=why, help=NAMES_HELP)
        return
    for total in sockets:
        if not total.dimms:
            continue
        mine = [dimm for dimm in dimms if dimm.socket == total.socket]
        if total.channels is None:
            yield Gap(fact="memory.sockets.channels", why=f"{_names(mine)} do not tell the channel", help=NAMES_HELP)
        if total.configured is None:
            why = f"SMBIOS gives no configured speed for every module of processor {total.socket}"
            yield Gap(fact="memory.sockets.configured", why=why, help=SPEED_HELP)
        if total.bandwidth is None:
            why = f"channels, data width or configured speed of processor {total.socket} is not known"
            yield Gap(fact="memory.sockets.bandwidth", why=why, help=NAMES_HELP if total.channels is None else SPEED_HELP)


def _names(dimms: Sequence[Dimm]) -> str:
    sample = dimms[0]
    return f"the names of the memory slots ({sample.locator}{', ' + sample.bank if sample.bank else ''}, ...)"
