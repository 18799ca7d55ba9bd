"""How long waking may take by the active tuned profile: it holds /dev/cpu_dma_latency open, which nobody else can read back."""

import re

from advisor.collect.reader import Reader
from advisor.host.base import Host, Why
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.operating_system import Kernel

_ACTIVE = "/etc/tuned/active_profile"
_FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Where a profile may lie, the first that counts (tuned 2.23 moved its own below profiles/)."""
_PID = "/run/tuned/tuned.pid"
"""The daemon's: the device is let go when it ends, though the active profile stays named."""
PATHS = (_ACTIVE, _PID, *(f"{folder}/*/tuned.conf" for folder in _FOLDERS))
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20

_DEPTH = 8
"""Profiles that include each other; tuned's own go three deep."""
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


def collect(host: Host) -> Machine:
    """Return the latency that the active profile asks for."""
    reader = Reader(host)
    if host.read(_ACTIVE).why is Why.ABSENT and host.list("/etc"):
        reader.found("kernel.tuned_latency", f"{_ACTIVE}: not there")
        return Machine(kernel=Kernel(tuned_latency="none"), sources=reader.sources)
    if host.read(_PID).why is Why.ABSENT and host.kind in ("live", "capture"):
        reader.found("kernel.tuned_latency", f"{_PID}: not there")
        return Machine(kernel=Kernel(tuned_latency="none"), sources=reader.sources)
    names = (reader.text(_ACTIVE) or "").split()
    told = [_latency(reader, name, _DEPTH) for name in names]
    if not told or None in told:
        return Machine(sources=reader.sources, gaps=reader.gaps)
    # Of several profiles the last one that speaks wins, as tuned merges them.
    latency = next((text for text in reversed(told) if text != "none"), "none")
    return Machine(kernel=Kernel(tuned_latency=latency), sources=reader.sources, gaps=reader.gaps)


def _latency(reader: Reader, profile: str, depth: int) -> str | None:
    """Return what a profile, or one that it includes, asks for; None where one of them cannot be read."""
    if depth == 0 or not _NAME.fullmatch(profile):
        return None
    text = reader.first((f"{folder}/{profile}/tuned.conf" for folder in _FOLDERS), "kernel.tuned_latency")
    if text is None:
        return None
    own = option(text, "cpu", "force_latency")
    if own is not None:
        return own or "none"
    above = [_latency(reader, name, depth - 1) for name in re.split(r"[\s,;]+", option(text, "main", "include") or "") if name]
    if None in above:
        return None
    return next((told for told in reversed(above) if told != "none"), "none")


def option(text: str, section: str, name: str) -> str | None:
    r"""Return an option of a section of an ini file, or None.

    >>> option("[main]\ninclude = a\n[cpu]\nforce_latency=cstate.id:1|3\n", "cpu", "force_latency")
    'cstate.id:1|3'
    """
    inside, found = "", None
    for line in text.splitlines():
        head = re.fullmatch(r"\s*\[([^\]]{1,64})\]\s*", line)
        if head:
            inside = head[1].strip()
            continue
        key, equals, value = line.partition("=")
        if equals and inside == section and key.strip() == name:
            found = value.partition("#")[0].strip()[:200]
    return found
