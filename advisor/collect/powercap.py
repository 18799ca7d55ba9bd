"""What holds a package's power back: the limits of RAPL as Linux shows them."""

import re

from advisor.collect.reader import Reader
from advisor.host.base import Host, Why
from advisor.model.hardware.cpu import Cpu, PowerCap
from advisor.model.hardware.machine import Machine

_ROOT = "/sys/class/powercap"
_ZONE = re.compile(r"intel-rapl:\d{1,4}", re.ASCII)
_FILES = (
    "name",
    "enabled",
    "constraint_0_name",
    "constraint_0_power_limit_uw",
    "constraint_0_max_power_uw",
    "constraint_1_name",
    "constraint_1_power_limit_uw",
)
_MICRO = 1e-6
_MOST = 1e5
"""Watts; the registers' largest values mean no limit."""

PATHS = tuple(f"{_ROOT}/intel-rapl:*/{name}" for name in _FILES)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20


def collect(host: Host) -> Machine:
    """Return the limits of the packages; () where the kernel shows zones without limits (AMD) or none."""
    reader = Reader(host)
    zones = [name for name in host.list(_ROOT) if _ZONE.fullmatch(name)]
    why = host.read(f"{_ROOT}/intel-rapl:0/constraint_0_power_limit_uw").why
    if not zones and why is not Why.ABSENT:
        reader.missed("cpu.power_caps", _ROOT, why or Why.NOT_KEPT)
        return Machine(gaps=reader.gaps)
    reader.found("cpu.power_caps", _ROOT)
    caps = (_cap(reader, f"{_ROOT}/{zone}") for zone in sorted(zones, key=lambda zone: (len(zone), zone)))
    return Machine(cpu=Cpu(power_caps=tuple(cap for cap in caps if cap)), sources=reader.sources)


def _cap(reader: Reader, at: str) -> PowerCap | None:
    """Return a package's limits; None of a zone that is no package or has none.

    The kernel's word for the nominal power of the long term is max_power: the register's Thermal Spec Power
    (drivers/powercap/intel_rapl_common.c).
    """
    name = reader.text(f"{at}/name") or ""
    if not name.startswith("package") or reader.text(f"{at}/constraint_0_name") != "long_term":
        return None
    limit = _watts(reader, f"{at}/constraint_0_power_limit_uw")
    if limit is None:
        return None
    short = reader.text(f"{at}/constraint_1_name") == "short_term"
    return PowerCap(
        name=name[:40],
        enabled={0: False, 1: True}.get(-1 if (value := reader.number(f"{at}/enabled")) is None else value),
        limit=limit,
        short=_watts(reader, f"{at}/constraint_1_power_limit_uw") if short else None,
        nominal=_watts(reader, f"{at}/constraint_0_max_power_uw"),
    )


def _watts(reader: Reader, path: str) -> float | None:
    value = reader.number(path)
    watts = None if value is None else round(value * _MICRO, 3)
    return watts if watts and 0 < watts < _MOST else None
