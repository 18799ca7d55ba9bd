"""Slots put in their places and added up by processor."""

from collections.abc import Iterable, Iterator, Sequence

from advisor.collect.dimm_slots import Board, Name, places
from advisor.model.hardware.machine import Gap
from advisor.model.hardware.memory import Dimm, Processor, SocketMemory

NAMES_HELP = "report it with the output of advisor capture: slot names of one more maker can then be read"
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
    channels = _channels(modules)
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


def _channels(modules: Sequence[Dimm]) -> int | None:
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


def unknown(dimms: Sequence[Dimm], sockets: Sequence[SocketMemory] | None) -> Iterator[Gap]:
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
