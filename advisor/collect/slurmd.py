"""What slurmd may lock, stack and open. Its jobs get no more, whatever limits.d says: PAM is not asked for them."""

import re

from advisor.collect.process import UNLIMITED
from advisor.collect.reader import Reader
from advisor.collect.slurm import SLURM, printed
from advisor.host.base import Host
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.operating_system import Limits
from advisor.model.quantity import number

_SHOW = (
    "systemctl",
    "show",
    "slurmd.service",
    "--property=LoadState,MainPID,LimitMEMLOCK,LimitSTACK,LimitNOFILE",
)
PATHS: tuple[str, ...] = ()
COMMANDS = (_SHOW, SLURM)
RANK = 20

_KINDS = {
    "memlock": ("slurmd_memlock", "Max locked memory", "LimitMEMLOCK"),
    "stack": ("slurmd_stack", "Max stack size", "LimitSTACK"),
    "nofile": ("slurmd_files", "Max open files", "LimitNOFILE"),
}
"""Slurm's word for a limit -> the fact, the line of /proc/PID/limits, the property of the unit."""


def collect(host: Host) -> Machine:
    """Return the limits of slurmd, from its process where it can be read, else from its unit."""
    reader = Reader(host)
    shown = host.run(_SHOW)
    told = dict(line.partition("=")[::2] for line in (shown.text or "").splitlines())
    values: dict[str, object] = {}
    if told.get("LoadState") == "loaded":
        values = _of_process(reader, told.get("MainPID", "")) or _of_unit(reader, told)
    carried = carries(printed(host.run(SLURM)))
    if carried is not None:
        reader.found("limits.slurm_carries", "slurm.conf")
        values["slurm_carries"] = carried
    return Machine(limits=Limits(**values) if values else None, sources=reader.sources, gaps=reader.gaps)


def _of_process(reader: Reader, pid: str) -> dict[str, object]:
    if not re.fullmatch(r"[1-9][0-9]{0,9}", pid):
        return {}
    path = f"/proc/{pid}/limits"
    text = reader.text(path)
    found = {fact: limit for fact, line, _ in _KINDS.values() if (limit := hard_limit(text, line)) is not None}
    for fact in found:
        reader.found(f"limits.{fact}", "/proc/PID/limits of slurmd")
    return dict(found)


def _of_unit(reader: Reader, told: dict[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for fact, _, key in _KINDS.values():
        limit = UNLIMITED if told.get(key) == "infinity" else number(told.get(key))
        if limit is not None:
            reader.found(f"limits.{fact}", f"systemctl show slurmd.service, {key}")
            found[fact] = limit
    return found


def hard_limit(text: str | None, name: str) -> int | None:
    """Return the hard limit of a line of /proc/PID/limits, -1 for unlimited, or None.

    >>> hard_limit("Max open files            1024                 131072               files", "Max open files")
    131072
    """
    match = re.search(rf"^{re.escape(name)}\s+\S+\s+(unlimited|[0-9]{{1,20}})\b", text or "", re.MULTILINE)
    if not match:
        return None
    return UNLIMITED if match[1] == "unlimited" else int(match[1])


def carries(conf: str | None) -> tuple[str, ...] | None:
    r"""Return which limits of the submitting shell Slurm gives a job; all where slurm.conf does not say (slurm.conf(5)).

    >>> carries("PropagateResourceLimitsExcept=MEMLOCK\n"), carries("propagateresourcelimits=NONE")
    (('stack', 'nofile'), ())
    """
    if conf is None:
        return None
    lines = re.findall(r"^\s*PropagateResourceLimits(Except)?\s*=\s*([\w,]+)", conf, re.MULTILINE | re.IGNORECASE)
    for excluded, value in reversed(lines):
        words = {word.upper() for word in value.split(",")}
        every, none = "ALL" in words, "NONE" in words
        named = {kind for kind in _KINDS if kind.upper() in words}
        kept = set(_KINDS) if every else set() if none else named
        return tuple(kind for kind in _KINDS if (kind in kept) != bool(excluded))
    return tuple(_KINDS)
