"""Who the processors are, which kinds of cores they have, how they are clocked and put to sleep, and what limits their power."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import CoreKind, Cpu, IdleState, PowerCap
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import Gap, Kernel, Machine
from advisor.machine.sources.reader import CAPTURE_HELP, NOT_IN_INPUT, NUMBERS, FactSource, Reader, arm_parts, files, set_in
from advisor.machine.value import number

_ARM = {
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
_PARTS = {
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


_CPUS = (
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
_GRACE_L3 = {96 << 20, 114 << 20}
"""Bytes: as Linux shows it of part of the chips, and as it is built (NVIDIA Grace performance tuning guide)."""


def with_processor_name(machine: Machine) -> Machine:
    """Return the machine with its Arm processor's own name, as SMBIOS says or maker and L3 tell; its registers name the core."""
    cpu = machine.cpu
    core = cpu.model_name if cpu else None
    if cpu is None or not any(core == known for known, _, _ in _CPUS):
        return machine
    sockets = machine.memory.processors or () if machine.memory else ()
    written = {
        each.model for each in sockets if each.populated and re.search(r"Grace|Graviton|Altra|Axion|A64FX", each.model or "")
    }
    maker = (machine.firmware.system_vendor if machine.firmware else None) or ""
    caches = {group.size for group in machine.topology.l3} if machine.topology else set()
    named = next((name for known, word, name in _CPUS if core == known and word.lower() in maker.lower()), None)
    if named is None and core == "Neoverse-V2" and caches & _GRACE_L3:
        named = "NVIDIA Grace"
    if named == "Ampere Altra" and not maker:
        named = None
    name = written.pop() if len(written) == 1 else named
    return machine.but(cpu=cpu.but(model_name=name)) if name else machine


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
_HEAD = 1 << 14
"""The first CPU's lines are within so many characters: a feature list is about two thousand."""


def collect_cpu(host: Host) -> Machine:
    """Return the identity that the CPUs share."""
    reader = Reader(host)
    told = dict(reader.view(CPUINFO, _identity))
    if not told:
        reader.text(CPUINFO, "cpu")
        return Machine(gaps=reader.gaps or (Gap(fact="cpu", why=f"{CPUINFO} is empty", help=CAPTURE_HELP),))
    reader.found("cpu", CPUINFO)
    facts = {fact: _shared(reader, told.get(fact, ()), fact) for fact in _KEYS if fact != "flags"}
    arm = arm_name(number(facts["vendor"]), number(facts["model"])) if "cpu part" in told["form"] else None
    cpu = Cpu(
        vendor=facts["vendor"],
        model_name=" ".join(facts["model_name"].split()) if facts["model_name"] else arm,
        **{fact: number(facts[fact]) for fact in ("family", "model", "stepping")},
        flags=told.get("flags"),
        microcode=_microcode(reader, told),
    )
    return reader.machine(cpu=cpu)


def _identity(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what the CPUs say of themselves, each fact with its distinct values; nothing of an empty file."""
    head = first_cpu(text)
    found = {fact: key for fact, keys in _KEYS.items() if (key := next((key for key in keys if head.get(key)), None))}
    told = {fact: tuple(sorted(_values(text, key))) for fact, key in found.items() if fact != "flags"}
    if "flags" in found:
        told["flags"] = tuple(sorted(set(head[found["flags"]].split())))
    told["microcode"] = tuple(sorted(_values(text, "microcode") - {""}))
    told["form"] = tuple(key for key in ("cpu part", "flags") if key in head)
    return tuple(told.items()) if text else ()


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


def _shared(reader: Reader, values: Sequence[str], fact: str) -> str | None:
    if len(values) > 1:
        reader.lacks(f"cpu.{fact}", f"{CPUINFO}: the CPUs differ: {', '.join(values[:4])}", "the machine has a mix of processors")
    return values[0] if len(values) == 1 else None


def _values(text: str, key: str) -> set[str]:
    """Return the distinct values of a key over all CPUs, without reading each CPU's lines on their own: 512 make a megabyte."""
    spelled = re.search(rf"^{re.escape(key)}[ \t]*:", text[:_HEAD], re.MULTILINE | re.IGNORECASE)
    literal = spelled[0] if spelled else key
    return {value.strip() for value in re.findall(rf"\n{re.escape(literal)}([^\n]*)", "\n" + text)}


def _microcode(reader: Reader, told: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    if told["microcode"]:
        reader.found("cpu.microcode", CPUINFO)
        return told["microcode"]
    if "flags" not in told["form"]:
        # Off x86 nothing is loaded into the CPUs, and asking hundreds of them in vain is not free.
        return None
    found = {version for path in expand(reader.host, _MICROCODE) if (version := reader.text(path))}
    if found:
        reader.found("cpu.microcode", _MICROCODE)
    return tuple(sorted(found)) or None


INTEL = {
    "/sys/devices/cpu_core/cpus": "P-core",
    "/sys/devices/cpu_atom/cpus": "E-core",
    "/sys/devices/cpu_lowpower/cpus": "low-power E-core",
}
"""The counters of each kind have a device, which lists its CPUs (Linux: arch/x86/events/intel/core.c)."""

_CPU = "/sys/devices/system/cpu"
CORE_KINDS_PATHS = (CPUINFO, *INTEL, f"{_CPU}/cpu*/cpu_capacity", f"{_CPU}/cpu*/cpufreq/cpuinfo_max_freq")
"""Before lstopo, which distinguishes kinds and has no names for those of Arm."""

APART = 1.25
"""Kinds are one where no figure of theirs differs by more: some cores of a kind clock a little higher than the others."""

Figures = tuple[str, tuple[int, ...]]
"""What a kind is called, and the figures that distinguish it from others."""


def collect_core_kinds(host: Host) -> Machine:
    """Return the kinds of cores where there are several; nothing is said of a machine whose cores are alike."""
    reader = Reader(host)
    listed = [(name, cpus) for path, name in INTEL.items() if (cpus := reader.cpus(path))]
    if len(listed) > 1:
        reader.found("cpu.kinds", next(iter(INTEL)))
        return Machine(cpu=Cpu(kinds=ranked(listed)), sources=reader.sources)
    # Of Arm by part; a part without a name by its number.
    parts = [
        (arm_name(maker, part) or f"part {part or 0:#x}", CpuSet(cpus)) for (maker, part), cpus in reader.view(CPUINFO, arm_parts)
    ]
    if not parts:
        return Machine()
    every = [cpu for _, cpus in parts for cpu in cpus]
    capacity = _figures_of(reader, "cpu_capacity", every)
    if len(parts) == 1:
        kinds = kinds_by_figures([((f"core of capacity {value}", (value,)), CpuSet([cpu])) for cpu, value in capacity.items()])
    else:
        kinds = _by_speed(parts, capacity, 1) or _by_speed(parts, _figures_of(reader, "cpufreq/cpuinfo_max_freq", every), APART)
        kinds = kinds or tuple(CoreKind(name=name, cpus=cpus) for name, cpus in parts)
    if len(kinds) < 2:
        return Machine()
    reader.found("cpu.kinds", CPUINFO if len(parts) > 1 else f"{_CPU}/cpu*/cpu_capacity")
    return Machine(cpu=Cpu(kinds=kinds), sources=reader.sources)


def _figures_of(reader: Reader, file: str, cpus: Sequence[int]) -> dict[int, int]:
    """Return the figure of each CPU; {} where the first has none."""
    if reader.number(f"{_CPU}/cpu{cpus[0]}/{file}") is None:
        return {}
    return {cpu: value for cpu in cpus if (value := reader.number(f"{_CPU}/cpu{cpu}/{file}"))}


def _by_speed(parts: Sequence[tuple[str, CpuSet]], figures: Mapping[int, int], apart: float) -> tuple[CoreKind, ...]:
    """Return the kinds, the fastest first; () where a figure lacks or is too near that of the next."""
    best = {name: max((figures.get(cpu, 0) for cpu in cpus), default=0) for name, cpus in parts}
    order = sorted(parts, key=lambda part: -best[part[0]])
    apart_enough = all(best[fast[0]] > apart * best[slow[0]] > 0 for fast, slow in pairwise(order))
    return ranked(order) if apart_enough else ()


def ranked(kinds: Sequence[tuple[str, CpuSet]]) -> tuple[CoreKind, ...]:
    """Return kinds that stand in the order of their speed, the fastest first."""
    return tuple(CoreKind(name=name, cpus=cpus, speed=len(kinds) - 1 - at) for at, (name, cpus) in enumerate(kinds))


def kinds_by_figures(sized: Sequence[tuple[Figures, CpuSet]]) -> tuple[CoreKind, ...]:
    """Return the kinds; of several figures all must differ, for a server's cores differ in one by a setting."""
    groups: list[tuple[Figures, CpuSet]] = []
    for (name, figures), cpus in sorted(sized, key=lambda kind: kind[0][1], reverse=True):
        (called, last), before = groups[-1] if groups else (("", ()), CpuSet())
        if groups and (len(last) != len(figures) or any(a <= APART * b for a, b in zip(last, figures, strict=True))):
            groups[-1] = (called, last), before | cpus
        else:
            groups.append(((name, figures), cpus))
    return ranked([(name, cpus) for (name, _), cpus in groups])


_ROOT = "/sys/class/powercap"
_ZONE = re.compile(r"intel-rapl:\d{1,4}", re.ASCII)
_MICRO = 1e-6
_MOST = 1e5
"""Watts; the registers' largest values mean no limit."""

POWERCAP_PATHS = (
    *files(f"{_ROOT}/intel-rapl:*", "name enabled"),
    *files(f"{_ROOT}/intel-rapl:*", "constraint_0_name constraint_0_power_limit_uw constraint_0_max_power_uw"),
    *files(f"{_ROOT}/intel-rapl:*", "constraint_1_name constraint_1_power_limit_uw"),
)


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
        enabled={"0": False, "1": True}.get(reader.text(f"{at}/enabled") or ""),
        limit=limit,
        short=_watts(reader, f"{at}/constraint_1_power_limit_uw") if short else None,
        nominal=_watts(reader, f"{at}/constraint_0_max_power_uw"),
    )


def _watts(reader: Reader, path: str) -> float | None:
    value = reader.number(path)
    watts = None if value is None else round(value * _MICRO, 3)
    return watts if watts and 0 < watts < _MOST else None


_KHZ, _MHZ = 1_000, 1_000_000
POWER_PATHS = (
    *files(f"{_CPU}/cpu*/cpufreq", "scaling_driver scaling_governor scaling_max_freq energy_performance_preference"),
    *files(f"{_CPU}/cpu*/cpufreq", "base_frequency cpuinfo_min_freq cpuinfo_max_freq boost"),
    *files(f"{_CPU}/cpu*/acpi_cppc", "nominal_freq highest_perf nominal_perf"),
    *files(f"{_CPU}/cpu*/power", "pm_qos_resume_latency_us energy_perf_bias"),
    *files(f"{_CPU}/cpu*/cpuidle/state*", "name latency disable default_status"),
    *files(_CPU, "online cpuidle/current_driver cpufreq/boost intel_pstate/no_turbo intel_pstate/status amd_pstate/status"),
    *files(_CPU, "smt/control vulnerabilities/*"),
    CPUINFO,
)


class _Cpus(NamedTuple):
    """The CPUs to ask, and the reader that asks them."""

    reader: Reader
    numbers: tuple[int, ...]

    def first(self, file: str, fact: str | None) -> str | None:
        """Return what the first CPU says; without the name of a fact it is no gap where it says nothing."""
        return self.reader.text(f"{_CPU}/cpu{self.numbers[0]}/{file}", fact) if self.numbers else None

    def each(self, file: str, fact: str | None) -> dict[int, str]:
        """Return what every CPU says; where the first has no such file the others are not asked."""
        told = self.first(file, fact)
        if told is None:
            return {}
        texts = {cpu: self.reader.host.read(f"{_CPU}/cpu{cpu}/{file}").text for cpu in self.numbers[1:]}
        return {self.numbers[0]: told} | {cpu: text.strip() for cpu, text in texts.items() if text}

    def words_of(self, file: str, fact: str) -> tuple[str, ...] | None:
        """Return the different words that the CPUs say, None where none says any."""
        return tuple(sorted(set(self.each(file, fact).values()))) or None

    def figures(self, file: str, fact: str | None = None) -> dict[int, int]:
        """Return the whole number that each CPU gives."""
        return {cpu: value for cpu, text in self.each(file, fact).items() if (value := number(text)) is not None}


def collect_power(host: Host) -> Machine:
    """Return how the CPUs are clocked and put to sleep."""
    reader = Reader(host)
    named = {int(name[3:]) for name in host.list(_CPU) if re.fullmatch(r"cpu[0-9]{1,6}", name)}
    online = set_in(reader.text(f"{_CPU}/online") or "")
    cpus = _Cpus(reader, tuple(sorted(cpu for cpu in named if not online or cpu in online)))
    lowest = number(cpus.first("cpufreq/cpuinfo_min_freq", "cpu.min_hz"))
    highest = cpus.figures("cpufreq/cpuinfo_max_freq", "cpu.max_hz").values()
    limits = cpus.figures("cpufreq/scaling_max_freq", "cpu.limit_hz").values()
    base, by_cpu = _base(cpus)
    facts = {
        "base_hz": base,
        "min_hz": lowest * _KHZ if lowest else None,
        "max_hz": max(highest) * _KHZ if highest else None,
        "boost_headroom": _headroom(cpus, by_cpu),
        "limit_hz": min(limits) * _KHZ if limits else None,
        **_policy(cpus),
        **_idle(cpus),
    }
    folder = f"{_CPU}/vulnerabilities"
    told = {name: text for name in reader.host.list(folder) if (text := reader.text(f"{folder}/{name}")) is not None}
    if told:
        reader.found("cpu.vulnerabilities", folder)
    else:
        reader.lacks("cpu.vulnerabilities", f"{folder}: not present", "kernel 4.15 or later reports them")
    cpu = Cpu(**facts, smt_control=reader.text(f"{_CPU}/smt/control", "cpu.smt_control"), vulnerabilities=told or None)
    if cpu == Cpu():
        # The section "cpu" is often known by another source, which would drop a gap of that name.
        return Machine(gaps=(Gap(fact="cpu.governors", why=f"{_CPU}: {NOT_IN_INPUT}", help=CAPTURE_HELP),))
    return reader.machine(cpu=cpu)


def clock_of_name(name: str) -> int | None:
    """Return the hertz that a model name ends in, or None.

    >>> clock_of_name("Intel(R) Xeon(R) CPU E5-2660 v3 @ 2.60GHz")
    2600000000
    """
    match = re.search(r"@ ?([0-9]{1,2})\.([0-9]{2})GHz", name)
    return (int(match[1]) * 100 + int(match[2])) * 10 * _MHZ if match else None


def _base(cpus: _Cpus) -> tuple[int | None, dict[int, int]]:
    """Return the base clock, and that of each CPU; of kinds of cores that differ in it there is none in common.

    intel_pstate reports it in kHz, the firmware's CPPC table in MHz, else the name may hold it.
    """
    reader = cpus.reader
    first = f"{_CPU}/cpu{cpus.numbers[0]}" if cpus.numbers else _CPU
    for file, unit in (("cpufreq/base_frequency", _KHZ), ("acpi_cppc/nominal_freq", _MHZ)):
        clocks = {cpu: clock * unit for cpu, clock in cpus.figures(file).items() if clock}
        # A hypervisor, and some firmware, answers 0.
        if len(set(clocks.values())) > 1:
            kinds = ", ".join(f"{clock / _MHZ:.0f} MHz" for clock in sorted(set(clocks.values())))
            reader.lacks("cpu.base_hz", f"cpu*/{file}: the cores have several base clocks ({kinds})", "see the data sheet")
            return None, clocks
        if clocks:
            reader.found("cpu.base_hz", f"{first}/{file}")
            return min(clocks.values()), clocks
    named = clock_of_name(reader.view(CPUINFO, model_name) or "")
    if named:
        reader.found("cpu.base_hz", f"model name in {CPUINFO}")
    else:
        reader.lacks("cpu.base_hz", f"{first}: neither cpufreq/base_frequency nor acpi_cppc/nominal_freq", "see the data sheet")
    return named, dict.fromkeys(cpus.numbers, named) if named else {}


def _headroom(cpus: _Cpus, base: Mapping[int, int]) -> float | None:
    """Return how far the highest clock of a core lies above its own base clock, of the core that has most of it."""
    tops = {cpu: clock * _KHZ for cpu, clock in cpus.figures("cpufreq/cpuinfo_max_freq").items() if clock}
    perf, nominal = cpus.figures("acpi_cppc/highest_perf"), cpus.figures("acpi_cppc/nominal_perf")
    gains = []
    for cpu, clock in base.items():
        most, plain = perf.get(cpu), nominal.get(cpu)
        by_table = clock * most / plain if most and plain else 0
        if cpu in tops or by_table:
            gains.append(max(tops.get(cpu, 0), by_table) / clock - 1)
    return round(max(gains), 4) if gains else None


def _policy(cpus: _Cpus) -> dict[str, object]:
    return {
        "governors": cpus.words_of("cpufreq/scaling_governor", "cpu.governors"),
        "epp": cpus.words_of("cpufreq/energy_performance_preference", "cpu.epp"),
        "epb": tuple(sorted(set(cpus.figures("power/energy_perf_bias", "cpu.epb").values()))) or None,
        "driver": cpus.first("cpufreq/scaling_driver", "cpu.driver"),
        "pstate": cpus.reader.first((f"{_CPU}/intel_pstate/status", f"{_CPU}/amd_pstate/status"), "cpu.pstate"),
        "boost": _boost(cpus),
        "cppc_highest": max(cpus.figures("acpi_cppc/highest_perf").values(), default=None),
        "cppc_nominal": max(cpus.figures("acpi_cppc/nominal_perf").values(), default=None),
    }


def _boost(cpus: _Cpus) -> bool | None:
    """Return whether boost is on; intel_pstate has a switch of its own, amd-pstate may have one for each CPU."""
    reader = cpus.reader
    for path, on in ((f"{_CPU}/intel_pstate/no_turbo", 0), (f"{_CPU}/cpufreq/boost", 1)):
        value = reader.number(path)
        if value in (0, 1):
            reader.found("cpu.boost", path)
            return value == on
    switches = cpus.figures("cpufreq/boost", "cpu.boost")
    return all(switches.values()) if switches else None


def _idle(cpus: _Cpus) -> dict[str, object]:
    reader = cpus.reader
    driver = reader.text(f"{_CPU}/cpuidle/current_driver", "cpu.idle_driver")
    folder = f"{_CPU}/cpu{cpus.numbers[0]}/cpuidle" if cpus.numbers else _CPU
    names = (name for name in reader.host.list(folder) if re.fullmatch(r"state[0-9]{1,3}", name))
    states = [state for name in sorted(names, key=lambda name: int(name[5:])) if (state := _state(cpus, folder, name))]
    if states:
        reader.found("cpu.idle_states", f"{folder}/state*")
    elif driver != "none":
        reader.lacks("cpu.idle_states", f"{folder}: not present", "this kernel or platform does not offer it")
    return {
        "idle_driver": driver,
        "idle_states": tuple(states) if states or driver == "none" else None,
        "wakeup_limits": _wakeup_limits(cpus),
    }


def _wakeup_limits(cpus: _Cpus) -> tuple[int, ...] | None:
    """Return the wake-up times that PM QoS allows: 0 means no limit there, "n/a" that none is bearable (sysfs-devices-power)."""
    told = set(cpus.each("power/pm_qos_resume_latency_us", None).values())
    if not told:
        return None
    cpus.reader.found("cpu.wakeup_limits", f"{_CPU}/cpu*/power/pm_qos_resume_latency_us")
    limits = {0 if text == "n/a" else number(text) for text in told if text != "0"}
    return tuple(sorted(limit for limit in limits if limit is not None))


_BEGINS = {"enabled": False, "disabled": True}
"""Documentation/ABI/testing/sysfs-devices-system-cpu: default_status, since Linux 5.6."""


def _state(cpus: _Cpus, folder: str, name: str) -> IdleState | None:
    called = cpus.reader.text(f"{folder}/{name}/name")
    if not called:
        return None
    switches = cpus.each(f"cpuidle/{name}/disable", "cpu.idle_states.disabled")
    return IdleState(
        name=called,
        latency=cpus.reader.number(f"{folder}/{name}/latency"),
        off_by_default=_BEGINS.get(cpus.reader.text(f"{folder}/{name}/default_status") or ""),
        disabled=CpuSet(cpu for cpu, text in switches.items() if text != "0") if switches else None,
    )


_ACTIVE = "/etc/tuned/active_profile"
_FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Where a profile may lie, the first that counts (tuned 2.23 moved its own below profiles/)."""
_PID = "/run/tuned/tuned.pid"
"""The daemon's: the device is let go when it ends, though the active profile stays named."""
TUNED_PATHS = (_ACTIVE, _PID, *(f"{folder}/*/tuned.conf" for folder in _FOLDERS))

_DEPTH = 8
"""Profiles that include each other; tuned's own go three deep."""
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


def collect_tuned(host: Host) -> Machine:
    """Return the latency that the active profile asks for."""
    reader = Reader(host)
    for path, kept in ((_ACTIVE, host.list("/etc")), (_PID, host.kind in ("live", "capture"))):
        if kept and host.read(path).why is Why.ABSENT:
            reader.found("kernel.tuned_latency", f"{path}: not present")
            return Machine(kernel=Kernel(tuned_latency="none"), sources=reader.sources)
    names = (reader.text(_ACTIVE) or "").split()
    told = [_latency(reader, name, _DEPTH) for name in names]
    if not told or None in told:
        return reader.machine()
    # Of several profiles the last one that speaks wins, as tuned merges them.
    latency = next((text for text in reversed(told) if text != "none"), "none")
    return reader.machine(kernel=Kernel(tuned_latency=latency))


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


SOURCES = (
    FactSource(
        "cpu",
        "Processor identity: /proc/cpuinfo in the formats of x86, Arm, POWER, RISC-V, LoongArch and s390.",
        collect_cpu,
        CPU_PATHS,
    ),
    FactSource(
        "core_kinds",
        "Machines with several kinds of cores: Intel's performance and efficient cores, different Arm parts.",
        collect_core_kinds,
        CORE_KINDS_PATHS,
        rank=5,
    ),
    FactSource(
        "powercap",
        "The power limits of a package (RAPL), as Linux shows them.",
        collect_powercap,
        POWERCAP_PATHS,
        public=(
            (f"{_ROOT}/*/name", r"(?:package|die)-\d+|dram|core|psys"),
            (f"{_ROOT}/*/constraint_*_name", "long_term|short_term"),
            (f"{_ROOT}/*/constraint_*_uw", NUMBERS),
        ),
    ),
    FactSource(
        "power",
        "Clocks, power management and mitigations: cpufreq, cpuidle, SMT, boost, vulnerabilities.",
        collect_power,
        POWER_PATHS,
    ),
    FactSource(
        "tuned",
        "The wake-up latency that the active tuned profile allows: tuned holds "
        "/dev/cpu_dma_latency open, so no other process can read the value back.",
        collect_tuned,
        TUNED_PATHS,
    ),
)
