"""From the names of memory slots to processor and channel.

SMBIOS has no field for either; every board maker has a way of naming. A name that fits no known way says nothing: a wrong
count of channels would be worse than none.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple


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
    """Return what tells the channels of a processor with so many slots apart, in their order."""
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
