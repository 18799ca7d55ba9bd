"""Finds what was published of messages between hosts like these, beside what was measured here. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.judge.published import beside, meets, phrases, strictest
from advisor.model.case import Adapter, Case
from advisor.model.devices import Port
from advisor.model.measured import Compared, Exchange, MeasuredAdapter, Reach
from advisor.model.platform import Reference

_CARDS: Final = {
    4099: "ConnectX-3", 4103: "ConnectX-3", 4115: "ConnectX-4", 4119: "ConnectX-5", 4121: "ConnectX-5", 4123: "ConnectX-6",
    4129: "ConnectX-7",
}  # fmt: skip
"""What the makers' drivers call MT4119 and its like by (mlx4 and mlx5 of Linux): publications name cards by these words."""

_RATES: Final = {"FDR": 56e9, "EDR": 100e9, "HDR100": 100e9, "HDR": 200e9, "NDR200": 200e9, "NDR": 400e9}
_SLACK: Final = 0.05
"""FDR is 56 Gbit/s in sysfs, and 54.5 of data."""

_OPEN_MPI: Final = ("HPC-X", "Open MPI with UCX")
_CSTATES: Final = "C-states on"
_DEEP: Final = 2
"""Microseconds to leave an idle state: C1 takes less."""

_SMALL: Final = r"(small message|[128] bytes?)"
_LARGE: Final = r"([14] MB|one core)"
_BESIDE: Final = r"rank on (NUMA node \d+ with the adapter|the adapter's NUMA node)"
_ANYWHERE: Final = ("virtual machine", "SR-IOV", *_OPEN_MPI, _CSTATES)
"""Words that are looked at apart."""

_Value = tuple[float | None, float | None]
"""What was measured, and its spread."""
_Take = Callable[[MeasuredAdapter], _Value]


def published_network(adapters: Sequence[MeasuredAdapter], case: Case) -> tuple[Compared, ...]:
    """Return bandwidths between hosts that were published for such machines; the strictest of each source."""
    found = _compared(adapters, case, _BANDWIDTHS)
    return strictest(each for each in found if each.low is not None)


def published_network_latency(adapters: Sequence[MeasuredAdapter], case: Case) -> tuple[Compared, ...]:
    """Return latencies between hosts that were published for such machines."""
    return tuple(each for each in _compared(adapters, case, _LATENCIES) if each.high is not None)


def _compared(adapters: Sequence[MeasuredAdapter], case: Case, kinds: Sequence["_Kind"]) -> Iterator[Compared]:
    for adapter in adapters:
        for one in case.platform.references if case.platform else ():
            for kind in kinds:
                value, spread = kind.take(adapter)
                if value is not None and kind.is_of(one) and _fits(one, kind, adapter, case):
                    name = f"{one.benchmark} through {adapter.name}, {kind.about}"
                    yield beside(one, case, name, value, spread, one.fabric)


@dataclass(frozen=True)
class _Kind:
    """One thing that publications measure, the words that they say it with, and where it is found here."""

    benchmark: str
    about: str
    words: tuple[str, ...]
    take: _Take
    must: str = ""
    """What its condition says for sure."""

    def is_of(self, one: Reference) -> bool:
        """Return whether a reference is of this, and says what it must."""
        named = not self.must or self.must in phrases(one.condition)
        return (one.benchmark, one.of, named) == (self.benchmark, "pair", True) and one.kind in ("measured", "threshold")


def _fits(one: Reference, kind: _Kind, adapter: MeasuredAdapter, case: Case) -> bool:
    said = phrases(one.condition)
    if _CSTATES in said and not _sleeps(case):
        return False
    if any(word in said for word in _OPEN_MPI) and not (adapter.launcher or "").startswith("openmpi"):
        return False
    return meets(one, case, (*kind.words, *_ANYWHERE)) and is_fabric(one.fabric, adapter.name, case)


def _sleeps(case: Case) -> bool:
    """Return whether idle cores are known to sleep in a state that is more than a halt."""
    states = case.cpu.idle_states if case.cpu else None
    return any((state.latency or 0) > _DEEP and state.disabled is not None and not state.disabled for state in states or ())


def is_fabric(fabric: str | None, name: str, case: Case) -> bool:
    """Return whether an adapter and its port are known to be what a publication names: ``ConnectX-5 EDR``."""
    adapter = next((each for each in case.adapters or () if each.name == name), None)
    if adapter is None or fabric is None:
        return False
    words = fabric.partition(",")[0].split()
    card = next((word for word in words if word.startswith("ConnectX")), None)
    ports = [port for port in adapter.ports or () if port.state == "active"]
    return card in (None, _card(adapter)) and len(ports) == 1 and _runs(ports[0], words)


def _card(adapter: Adapter) -> str | None:
    number = re.fullmatch(r"MT(\d{4,5})", adapter.kind or "")
    return _CARDS.get(int(number[1])) if number else None


def _runs(port: Port, words: Sequence[str]) -> bool:
    rate = next((_RATES[word] for word in words if word in _RATES), 100e9 if words[-2:] == ["100", "Gb/s"] else None)
    on_it = port.link_layer == "infiniband" or bool(port.lid)
    return rate is not None and port.rate is not None and on_it and abs(port.rate - rate) <= _SLACK * rate


def _of(part: Exchange | Reach | None, what: str, spread: str = "spread") -> _Value:
    return (getattr(part, what), getattr(part, spread)) if part else (None, None)


_TO_PEER: Final = r"NUMA node \d+ to its peer"
_BANDWIDTHS: Final = (
    _Kind("osu-bw", "one rank beside it", (_LARGE, _BESIDE), lambda one: _of(one.one, "bandwidth")),
    _Kind("mpi-sendrecv", "one rank beside it, one way", ("one way",), lambda one: _of(one.one, "bandwidth"), must="one way"),
    _Kind("osu-bibw", "one rank beside it, both ways", (_LARGE, _BESIDE), lambda one: _of(one.one, "both")),
    _Kind(
        "osu-mbw-mr", "its NUMA node", (_TO_PEER, "the adapter's node"), lambda one: _of(one.near, "bandwidth"),
        must="the adapter's node",
    ),
    _Kind(
        "osu-mbw-mr", "other nodes of its socket", (_TO_PEER, "the adapter's socket"),
        lambda one: _of(one.same_socket, "bandwidth"), must="the adapter's socket",
    ),
    _Kind(
        "osu-mbw-mr", "nodes of the far socket", (_TO_PEER, "the far socket"), lambda one: _of(one.other_socket, "bandwidth"),
        must="the far socket",
    ),
)  # fmt: skip
_LATENCIES: Final = (
    _Kind("osu-latency", "one rank beside it", (_SMALL, _BESIDE), lambda one: _of(one.one, "latency", "latency_spread")),
    _Kind(
        "mpi-sendrecv", "one rank beside it", (_SMALL,), lambda one: _of(one.one, "latency", "latency_spread"),
        must="small message",
    ),
)  # fmt: skip
