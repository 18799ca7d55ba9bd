"""Energy of a run: what this node's own counters rose by meanwhile. Nothing is kept open, nothing is changed."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf, isfinite
from threading import Event
from time import monotonic
from typing import Literal, NamedTuple, TypeVar

from advisor.errors import CannotWork
from advisor.machine.hosts.base import Host
from advisor.machine.hosts.live import begun

Goal = Literal["time", "energy", "edp"]
"""What shall be little: seconds, joules, or their product (the energy-delay product)."""
_T = TypeVar("_T")
_ZONES = "/sys/class/powercap"
_ZONE = re.compile(r"intel-rapl(?::\d{1,4}){1,2}", re.ASCII)
"""Of Intel and, by the same driver, of AMD (Linux, drivers/powercap/intel_rapl_common.c)."""
_CHIPS = "/sys/class/hwmon"
_NODE = "/sys/cray/pm_counters/energy"
"""Joules of a whole Cray EX node, GPUs included, and when: "4242 J 1700000000 us" (docs-csm, User Access to Power Data)."""
_MICRO = 1e-6
_PERIOD = 1.0
"""Seconds between two looks: no counter turns over twice within one, and power changes little."""


class Counter(NamedTuple):
    """A file with energy that only grows, or with power."""

    path: str
    turns: float | None
    """After so much it begins anew at zero; infinite where it never does, None where it shows power."""
    unit: float = _MICRO
    """Joules, or watts, of one that it shows."""
    of: str = "processors"


def _rapl(host: Host) -> Iterator[Counter]:
    """Yield the packages and their DRAM; cores are part of a package, and psys is all of them again."""
    for zone in filter(_ZONE.fullmatch, host.list(_ZONES)):
        if re.match(r"package-|dram", host.read(f"{_ZONES}/{zone}/name").text or ""):
            turns = (host.read(f"{_ZONES}/{zone}/max_energy_range_uj").text or "").strip()
            yield Counter(f"{_ZONES}/{zone}/energy_uj", float(turns) if turns.isdecimal() and int(turns) else inf)


def _hwmon(host: Host) -> Iterator[Counter]:
    """Yield the sockets of AMD's drivers: amd_energy counts, amd_hsmp_hwmon shows power (Linux, x86/amd/hsmp).

    What the BMC measures of the whole machine is a mean over its own interval (Linux, hwmon/acpi_power_meter).
    """
    for chip in host.list(_CHIPS):
        folder = f"{_CHIPS}/{chip}"
        name = (host.read(f"{folder}/name").text or "").strip()
        if name == "amd_energy":
            labels = (each for each in host.list(folder) if re.fullmatch(r"energy\d{1,4}_label", each, re.ASCII))
            sockets = (each for each in labels if (host.read(f"{folder}/{each}").text or "").startswith("Esocket"))
            yield from (Counter(f"{folder}/{each.replace('label', 'input')}", inf) for each in sockets)
        elif name == "amd_hsmp_hwmon":
            yield Counter(f"{folder}/power1_input", None)
        elif name == "power_meter":
            yield Counter(f"{folder}/power1_average", None, of="whole node")


def counters(host: Host) -> tuple[Counter, ...]:
    """Return what counts the energy of this node, all by one driver, or of its processors; refuse where nothing can be read."""
    node = (Counter(_NODE, inf, 1.0, "whole node"),) if host.read(_NODE).text else ()
    of_chips = tuple(_hwmon(host))
    kinds = (
        node,
        tuple(_rapl(host)),
        tuple(each for each in of_chips if each.turns),
        tuple(each for each in of_chips if not each.turns and each.of == "processors"),
        tuple(each for each in of_chips if each.of == "whole node"),
    )
    shut = []
    for kind in filter(None, kinds):
        if None not in (values := read_counters(host, kind)):
            return kind
        shut += [each.path for each, value in zip(kind, values, strict=True) if value is None]
    if shut:
        files, why = " ".join(shut), host.read(shut[0]).why or "no number"
        cure = f"run as root, or let a group read it: sudo chgrp GROUP {files} && sudo chmod g+r {files}"
        raise CannotWork(f"energy cannot be read: {shut[0]}: {why}; {cure}")
    where = f"no {_NODE}, no package in {_ZONES}, no amd_energy, amd_hsmp_hwmon or power_meter in {_CHIPS}"
    cure = "load the driver with sudo modprobe intel_rapl_msr (Intel and AMD); a virtual machine has no counter"
    raise CannotWork(f"energy cannot be read: {where}; {cure}")


def read_counters(host: Host, kind: Sequence[Counter]) -> list[float | None]:
    """Return what each shows now; None of one that cannot be read."""
    texts = [(host.read(each.path).text or "").partition(" J ")[0].strip() for each in kind]
    return [float(text) if text.isdecimal() else None for text in texts]


class EnergyMeter:
    """Follows the counters while something runs."""

    def __init__(self, host: Host) -> None:
        self._host, self._counters = host, counters(host)
        self.counts = f"joules cover the {self._counters[0].of}: {' '.join(each.path for each in self._counters)}"

    def measure(self, work: Callable[[], _T]) -> tuple[_T, float | None]:
        """Return what some work returns, and the joules that were used meanwhile; None where a counter fell silent."""
        over = Event()
        try:
            follower = begun(partial(self._follow, over, read_counters(self._host, self._counters), monotonic()))
        except RuntimeError as error:
            raise CannotWork(f"energy cannot be measured: {error}; raise ulimit -v and -u") from error
        try:
            done = work()
        finally:
            over.set()
        return done, follower.result()

    def _follow(self, over: Event, before: list[float | None], begun_at: float) -> float | None:
        joules, ended = 0.0, False
        while not ended:
            ended = over.wait(_PERIOD)
            now, at = read_counters(self._host, self._counters), monotonic()
            for counter, one, other in zip(self._counters, before, now, strict=True):
                if one is None or other is None:
                    joules = inf
                elif counter.turns is None:
                    joules += counter.unit * (one + other) / 2 * (at - begun_at)
                else:
                    joules += counter.unit * ((other - one) % counter.turns)
            before, begun_at = now, at
        return joules if isfinite(joules) else None
