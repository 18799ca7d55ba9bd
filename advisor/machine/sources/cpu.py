"""Who the processors are, which kinds of cores they have, and what limits the power of their packages (RAPL)."""

import re
from typing import Final

from advisor.machine.cpu import CoreKind, Cpu, PowerCap
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, expand
from advisor.machine.machine import Gap, Machine
from advisor.machine.sources.reader import CAPTURE_HELP, NUMBERS, FactSource, Reader
from advisor.machine.sources.views import arm_parts
from advisor.machine.value import number

_ARM: Final = {
    0xD03: "Cortex-A53",
    0xD04: "Cortex-A35",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse-N1",
    0xD0D: "Cortex-A77",
    0xD40: "Neoverse-V1",
    0xD41: "Cortex-A78",
    0xD44: "Cortex-X1",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD48: "Cortex-X2",
    0xD49: "Neoverse-N2",
    0xD4A: "Neoverse-E1",
    0xD4B: "Cortex-A78C",
    0xD4D: "Cortex-A715",
    0xD4E: "Cortex-X3",
    0xD4F: "Neoverse-V2",
    0xD80: "Cortex-A520",
    0xD81: "Cortex-A720",
    0xD82: "Cortex-X4",
    0xD83: "Neoverse-V3AE",
    0xD84: "Neoverse-V3",
    0xD85: "Cortex-X925",
    0xD87: "Cortex-A725",
    0xD8E: "Neoverse-N3",
}
_PARTS: Final = {
    0x41: _ARM,
    0x42: {0x516: "ThunderX2"},
    0x43: {0x0A1: "ThunderX", 0x0AF: "ThunderX2"},
    0x46: {0x001: "A64FX", 0x003: "MONAKA"},
    0x48: {0xD01: "TaiShan-v110", 0xD02: "TaiShan-v120"},
    0x4E: {0x003: "Denver 2", 0x004: "Carmel", 0x010: "Olympus"},
    0x50: {0x000: "X-Gene"},
    0x51: {0x001: "Oryon", 0xC00: "Falkor"},
    0x70: {0x660: "FTC660", 0x661: "FTC661", 0x662: "FTC662", 0x663: "FTC663", 0x664: "FTC664", 0x862: "FTC862"},
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1a", 0xAC5: "Ampere-1b"},
}


def arm_name(implementer: int | None, part: int | None) -> str | None:
    """Return the name of a core, None of one that is not in the tables.

    >>> arm_name(0x41, 0xD4F), arm_name(0x41, 0xFFF)
    ('Neoverse-V2', None)
    """
    return _PARTS.get(implementer or 0, {}).get(part if part is not None else -1)


_SYSTEMS: Final = (
    ("Neoverse-V2", "NVIDIA", "NVIDIA Grace"),
    ("Neoverse-V2", "Amazon", "AWS Graviton4"),
    ("Neoverse-V2", "Google", "Google Axion"),
    ("Neoverse-V1", "Amazon", "AWS Graviton3"),
    ("Neoverse-N1", "Amazon", "AWS Graviton2"),
    ("Neoverse-N1", "", "Ampere Altra"),
    ("A64FX", "", "Fujitsu A64FX"),
)
"""Cores of Arm, words of who made the system, and the processor that such systems have. Of other makers' Neoverse-V2 the size of
the L3 tells a Grace (rules/platforms/grace.yaml)."""
_GRACE_L3: Final = {96 << 20, 114 << 20}
"""Bytes: as Linux shows it of part of the chips, and as it is built (NVIDIA Grace performance tuning guide)."""


def with_processor_name(machine: Machine) -> Machine:
    """Return the machine with its Arm processor's own name, as SMBIOS says or maker and L3 tell; its registers name the core."""
    cpu = machine.cpu
    core = cpu.model_name if cpu else None
    if cpu is None or not any(core == known for known, _, _ in _SYSTEMS):
        return machine
    sockets = machine.memory.processors or () if machine.memory else ()
    written = {
        each.model for each in sockets if each.populated and re.search(r"Grace|Graviton|Altra|Axion|A64FX", each.model or "")
    }
    maker = (machine.firmware.system_vendor if machine.firmware else None) or ""
    caches = {group.size for group in machine.topology.l3} if machine.topology else set()
    named = next((name for known, word, name in _SYSTEMS if core == known and word.lower() in maker.lower()), None)
    if named is None and core == "Neoverse-V2" and caches & _GRACE_L3:
        named = "NVIDIA Grace"
    if named == "Ampere Altra" and not maker:
        named = None
    name = written.pop() if len(written) == 1 else named
    return machine.model_copy(update={"cpu": cpu.model_copy(update={"model_name": name})}) if name else machine


CPUINFO = "/proc/cpuinfo"
_MICROCODE = "/sys/devices/system/cpu/cpu*/microcode/version"
CPU_PATHS = (CPUINFO, _MICROCODE)

# The kernel's show_cpuinfo of each architecture spells the same thing its own way; the first spelling that is there counts.
_KEYS = {
    "vendor": ("vendor_id", "cpu implementer", "vendor", "mvendorid"),
    "model_name": ("model name", "uarch", "cpu"),
    "family": ("cpu family",),
    "model": ("cpu part", "model"),
    "stepping": ("stepping",),
    "flags": ("flags", "features"),
}
_NUMBERS = ("family", "model", "stepping")
_HEAD = 1 << 14
"""The first CPU's lines are within so many characters: a feature list is about two thousand."""


def collect_cpu(host: Host) -> Machine:
    """Return the identity that the CPUs share."""
    reader = Reader(host)
    text = reader.text(CPUINFO, "cpu")
    if not text:
        return Machine(gaps=reader.gaps or (Gap(fact="cpu", why=f"{CPUINFO} is empty", help=CAPTURE_HELP),))
    facts = {fact: _shared(reader, text, fact) for fact in _KEYS if fact != "flags"}
    arm = arm_name(number(facts["vendor"]), number(facts["model"])) if "cpu part" in first_cpu(text) else None
    cpu = Cpu(
        vendor=facts["vendor"],
        model_name=" ".join(facts["model_name"].split()) if facts["model_name"] else arm,
        **{fact: number(facts[fact]) for fact in _NUMBERS},
        flags=_flags(text),
        microcode=_microcode(reader, text),
    )
    return Machine(cpu=cpu, sources=reader.sources, gaps=reader.gaps)


def first_cpu(text: str) -> dict[str, str]:
    r"""Return the lines ``key : value`` of the first CPU and of a header before it, keys in lower case.

    >>> first_cpu("system type : x\n\nprocessor : 0\nCPU part : 0xd0c\n\nprocessor : 1\nCPU part : 0xd05\n")["cpu part"]
    '0xd0c'
    """
    found: dict[str, str] = {}
    for line in text[:_HEAD].splitlines():
        key, colon, value = line.partition(":")
        name = key.strip().lower()
        if name == "processor" and name in found:
            break
        if colon:
            found.setdefault(name, value.strip())
    return found


def model_name(text: str) -> str | None:
    """Return what x86 calls the first CPU."""
    return first_cpu(text).get("model name")


def _shared(reader: Reader, text: str, fact: str) -> str | None:
    head = first_cpu(text)
    key = next((key for key in _KEYS[fact] if head.get(key)), None)
    if key is None:
        return None
    values = sorted(_values(text, key))
    if len(values) > 1:
        reader.lacks(f"cpu.{fact}", f"{CPUINFO}: the CPUs differ: {', '.join(values[:4])}", "the machine mixes processors")
        return None
    return head[key]


def _values(text: str, key: str) -> set[str]:
    """Return the distinct values of a key over all CPUs, without reading each CPU's lines on their own: 512 make a megabyte."""
    spelled = re.search(rf"^{re.escape(key)}[ \t]*:", text[:_HEAD], re.MULTILINE | re.IGNORECASE)
    literal = spelled[0] if spelled else key
    return {value.strip() for value in re.findall(rf"\n{re.escape(literal)}([^\n]*)", "\n" + text)}


def _flags(text: str) -> tuple[str, ...] | None:
    head = first_cpu(text)
    words = next((head[key] for key in _KEYS["flags"] if head.get(key)), None)
    return tuple(sorted(set(words.split()))) if words is not None else None


def _microcode(reader: Reader, text: str) -> tuple[str, ...] | None:
    revisions = _values(text, "microcode") - {""}
    if revisions:
        reader.found("cpu.microcode", CPUINFO)
        return tuple(sorted(revisions))
    if "flags" not in first_cpu(text):
        # Off x86 nothing is loaded into the CPUs, and asking hundreds of them in vain is not free.
        return None
    found = {version for path in expand(reader.host, _MICROCODE) if (version := reader.text(path))}
    if found:
        reader.found("cpu.microcode", _MICROCODE)
    return tuple(sorted(found)) or None


_CPUINFO = "/proc/cpuinfo"
INTEL: Final = {
    "/sys/devices/cpu_core/cpus": "P-core",
    "/sys/devices/cpu_atom/cpus": "E-core",
    "/sys/devices/cpu_lowpower/cpus": "low-power E-core",
}
"""The counters of each kind have a device, which lists its CPUs (Linux: arch/x86/events/intel/core.c)."""

CORE_KINDS_PATHS = (_CPUINFO, *INTEL)
"""Before lstopo, which distinguishes kinds and has no names for those of Arm."""


def collect_core_kinds(host: Host) -> Machine:
    """Return the kinds of cores where there are several; nothing is said of a machine whose cores are alike."""
    reader = Reader(host)
    kinds = _intel(reader) or _arm(reader)
    if len(kinds) < 2:
        return Machine()
    reader.found("cpu.kinds", _CPUINFO if reader.view(_CPUINFO, arm_parts) else next(iter(INTEL)))
    return Machine(cpu=Cpu(kinds=kinds), sources=reader.sources)


def _intel(reader: Reader) -> tuple[CoreKind, ...]:
    found = ((name, reader.cpus(path)) for path, name in INTEL.items())
    return tuple(CoreKind(name=name, cpus=cpus) for name, cpus in found if cpus)


def _arm(reader: Reader) -> tuple[CoreKind, ...]:
    """Return the CPUs by part, in the order of their first; a part without a name by its number."""
    return tuple(
        CoreKind(name=arm_name(maker, part) or f"part {part or 0:#x}", cpus=CpuSet(numbers))
        for (maker, part), numbers in reader.view(_CPUINFO, arm_parts)
    )


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

POWERCAP_PATHS = tuple(f"{_ROOT}/intel-rapl:*/{name}" for name in _FILES)


def collect_powercap(host: Host) -> Machine:
    """Return the limits of the packages; () where the kernel shows zones without limits (AMD) or none."""
    reader = Reader(host)
    zones = reader.matching("cpu.power_caps", _ROOT, _ZONE, "intel-rapl:0/constraint_0_power_limit_uw")
    if zones is None:
        return Machine(gaps=reader.gaps)
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


SOURCES = (
    FactSource(
        "cpu",
        20,
        "Who the processors are: /proc/cpuinfo in the forms of x86, Arm, POWER, RISC-V, LoongArch and s390.",
        CPU_PATHS,
        (),
        collect_cpu,
    ),
    FactSource(
        "core_kinds",
        5,
        "Machines whose cores are not all alike: Intel's performance and efficient cores, Arm's of several parts.",
        CORE_KINDS_PATHS,
        (),
        collect_core_kinds,
    ),
    FactSource(
        "powercap",
        20,
        "What holds a package's power back: the limits of RAPL as Linux shows them.",
        POWERCAP_PATHS,
        (),
        collect_powercap,
        (
            (f"{_ROOT}/*/name", r"(?:package|die)-\d+|dram|core|psys"),
            (f"{_ROOT}/*/constraint_*_name", "long_term|short_term"),
            (f"{_ROOT}/*/constraint_*_uw", NUMBERS),
        ),
    ),
)
