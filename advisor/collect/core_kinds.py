"""Machines whose cores are not all alike: Intel's performance and efficient cores, Arm's of several parts."""

import re
from collections import defaultdict
from typing import Final

from advisor.collect.arm_parts import arm_name
from advisor.collect.reader import Reader
from advisor.host.base import Host
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.cpu import CoreKind, Cpu
from advisor.model.hardware.machine import Machine
from advisor.model.quantity import number

CPUINFO = "/proc/cpuinfo"
INTEL: Final = {
    "/sys/devices/cpu_core/cpus": "P-core",
    "/sys/devices/cpu_atom/cpus": "E-core",
    "/sys/devices/cpu_lowpower/cpus": "low-power E-core",
}
"""The counters of each kind have a device, which lists its CPUs (Linux: arch/x86/events/intel/core.c)."""

PATHS = (CPUINFO, *INTEL)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 5
"""Before lstopo, which tells kinds apart and has no names for those of Arm."""

_ARM = re.compile(r"^(processor|CPU implementer|CPU part)[ \t]*: *(\w{1,12})$", re.MULTILINE | re.ASCII)


def collect(host: Host) -> Machine:
    """Return the kinds of cores where there are several; nothing is said of a machine whose cores are alike."""
    reader = Reader(host)
    kinds = _intel(reader) or _arm(reader)
    if len(kinds) < 2:
        return Machine()
    reader.found("cpu.kinds", CPUINFO if "CPU part" in (reader.text(CPUINFO) or "") else next(iter(INTEL)))
    return Machine(cpu=Cpu(kinds=kinds), sources=reader.sources)


def _intel(reader: Reader) -> tuple[CoreKind, ...]:
    found = ((name, reader.cpus(path)) for path, name in INTEL.items())
    return tuple(CoreKind(name=name, cpus=cpus) for name, cpus in found if cpus)


def _arm(reader: Reader) -> tuple[CoreKind, ...]:
    """Return the CPUs by part, in the order of their first; a part without a name by its number."""
    cpus: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    cpu, implementer = None, None
    for key, value in _ARM.findall(reader.text(CPUINFO) or ""):
        if key == "processor":
            cpu, implementer = number(value), None
        elif key == "CPU implementer":
            implementer = number(value)
        elif cpu is not None and 0 <= cpu < 1 << 20:
            cpus[implementer, number(value)].append(cpu)
    return tuple(
        CoreKind(name=arm_name(maker, part) or f"part {part or 0:#x}", cpus=CpuSet(numbers))
        for (maker, part), numbers in cpus.items()
    )
