"""Base units in, words out: the only place that spells GiB, GHz or Gb/s. Inside, everything is bytes, hertz and seconds."""

from collections.abc import Callable, Mapping
from typing import Any

from advisor.machine.fact import Unit
from advisor.machine.hardware import Link

UNKNOWN = "?"

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("", "k", "M", "G", "T", "P")
_GENERATIONS = {2.5e9: "1.0", 5e9: "2.0", 8e9: "3.0", 16e9: "4.0", 32e9: "5.0", 64e9: "6.0", 128e9: "7.0"}
"""PCI Express by the transfers a second of a lane."""


def binary(size: int | None) -> str:
    """Return bytes as memory and caches are sold: ``16 GiB``."""
    return _scaled(size, 1024, _BINARY)


def decimal(size: int | None) -> str:
    """Return bytes as disks are sold: ``32 GB``."""
    return _decimal(size, "B")


def clock(hertz: float | None) -> str:
    """Return a frequency: ``2.25 GHz``."""
    return _decimal(hertz, "Hz")


def throughput(rate: float | None) -> str:
    """Return bytes a second: ``204.8 GB/s``."""
    return _decimal(rate, "B/s")


def bit_rate(rate: float | None) -> str:
    """Return bits a second: ``100 Gb/s``."""
    return _decimal(rate, "b/s")


def flop_rate(rate: float | None) -> str:
    """Return floating-point operations a second as publications quote them: ``1133 GFLOP/s``."""
    return UNKNOWN if rate is None else f"{_figure(rate / 1e9)} GFLOP/s"


def message_rate(rate: float | None) -> str:
    """Return messages/s: ``150 Mmsg/s``."""
    return _decimal(rate, "msg/s")


def memory_clock(transfers: float | None) -> str:
    """Return transfers a second the way DIMMs are labelled: ``3200 MT/s``."""
    return UNKNOWN if transfers is None else f"{_figure(transfers / 1e6)} MT/s"


def lane_speed(transfers: float | None) -> str:
    """Return the transfers a second of a PCIe lane: ``16 GT/s``."""
    return _decimal(transfers, "T/s")


def duration(seconds: float | None) -> str:
    """Return a short time: ``95 ns``."""
    if seconds is None:
        return UNKNOWN
    for step, name in ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")):
        if seconds < step * 999.5:
            return f"{_figure(seconds / step)} {name}"
    return f"{_figure(seconds)} s"


def link(link: Link | None) -> str:
    """Return a PCIe link: ``PCIe 4.0 x16``; its bandwidth where only that is known."""
    if link is None or (link.speed is None and link.width is None):
        return f"PCIe {throughput(link.bandwidth if link and link.bandwidth else None)}"
    return f"PCIe {generation(link.speed)} x{UNKNOWN if link.width is None else link.width}"


def generation(transfers: float | None) -> str:
    """Return the generation of PCIe that has these transfers a second of a lane: ``4.0``; the speed where none has."""
    return UNKNOWN if transfers is None else _GENERATIONS.get(transfers, lane_speed(transfers))


def link_state(now: Link | None, card: Link | None) -> str:
    """Return a link as it runs and, where that is less, the fastest link that the card supports: ``PCIe 4.0 x8 of x16``."""
    if now is None or card is None or not slower(now, card):
        return link(now)
    faster = "" if generation(now.speed) == generation(card.speed) else f"{generation(card.speed)} "
    return f"{link(now)} of {faster}x{UNKNOWN if card.width is None else card.width}"


def slower(now: Link | None, card: Link | None) -> bool:
    """Return whether a link is known to run below the fastest link that the card supports."""
    if now is None or card is None:
        return False
    pairs = ((now.speed, card.speed), (now.width, card.width))
    return any(a is not None and b is not None and a < b for a, b in pairs)


_WRITTEN: Mapping[str, Callable[[Any], str]] = {
    "count": str,
    "number": str,
    "bytes": binary,
    "bytes of a packet": "{} B".format,
    "bytes/s": throughput,
    "bits/s": bit_rate,
    "hertz": clock,
    "transfers/s": memory_clock,
    "transfers/s of a lane": lane_speed,
    "seconds": duration,
    "microseconds": "{} us".format,
    "watts": "{:g} W".format,
    "degrees Celsius": "{:g} °C".format,
    "PCI ID": "{:#06x}".format,
    "PCI class": "{:#08x}".format,
    "address": "{:#08x}".format,
}
"""How facts are written whose unit has a sign of its own or is scaled."""


def in_unit(value: float, unit: Unit) -> str:
    """Return a number as its declared unit is written: ``16 GiB``; by the unit's own name where nothing else is said."""
    if unit.unlimited and value < 0:
        return "unlimited"
    write = _WRITTEN.get(unit.name)
    return f"{value:g} {unit.name}" if write is None else write(value)


def count(number: int, what: str, many: str | None = None) -> str:
    """Return a number of things: ``1 core``, ``2 cores``."""
    return f"{number} {what if number == 1 else many or what + 's'}"


def span(sizes: tuple[int | None, ...]) -> str:
    """Return sizes that are nearly the same: ``16 GiB``, ``31.3-31.5 GiB``, or ``?`` where one is not known."""
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return UNKNOWN
    low, high = binary(min(known)), binary(max(known))
    if low == high:
        return low
    return f"{low.split()[0]}-{high}" if low.split()[1] == high.split()[1] else f"{low} - {high}"


def plain(text: str, limit: int = 200) -> str:
    """Return a text from outside without what could steer a terminal, cut to a limit."""
    clean = printable(" ".join(text[: 2 * limit].split()))
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def printable(text: str) -> str:
    """Return a text with a question mark for each letter that could steer a terminal."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def _decimal(value: float | None, unit: str) -> str:
    return _scaled(value, 1000, tuple(f"{prefix}{unit}" for prefix in _DECIMAL))


def _scaled(value: float | None, step: int, names: tuple[str, ...]) -> str:
    if value is None:
        return UNKNOWN
    number, at = float(value), 0
    while at + 1 < len(names) and round(abs(number), 1) >= step:
        number, at = number / step, at + 1
    return f"{_figure(number)} {names[at]}"


def _figure(value: float) -> str:
    text = f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}"
    return text.rstrip("0").rstrip(".")
