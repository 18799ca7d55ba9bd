"""Clocks, power management and mitigations: cpufreq, cpuidle, SMT, boost, vulnerabilities, tuned's latency."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from advisor.errors import BadInput
from advisor.machine.cpu import Cpu, IdleState
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, Why
from advisor.machine.machine import Gap, Machine
from advisor.machine.operating_system import Kernel
from advisor.machine.sources.cpu import CPUINFO, model_name
from advisor.machine.sources.reader import CAPTURE_HELP, NOT_IN_INPUT, FactSource, Reader
from advisor.machine.value import number

_CPU = "/sys/devices/system/cpu"
_KHZ, _MHZ = 1_000, 1_000_000
POWER_PATHS = (
    f"{_CPU}/online",
    f"{_CPU}/cpu*/cpufreq/scaling_driver",
    f"{_CPU}/cpu*/cpufreq/scaling_governor",
    f"{_CPU}/cpu*/cpufreq/scaling_max_freq",
    f"{_CPU}/cpu*/cpufreq/energy_performance_preference",
    f"{_CPU}/cpu*/cpufreq/base_frequency",
    f"{_CPU}/cpu*/cpufreq/cpuinfo_min_freq",
    f"{_CPU}/cpu*/cpufreq/cpuinfo_max_freq",
    f"{_CPU}/cpu*/cpufreq/boost",
    f"{_CPU}/cpu*/acpi_cppc/nominal_freq",
    f"{_CPU}/cpu*/acpi_cppc/highest_perf",
    f"{_CPU}/cpu*/acpi_cppc/nominal_perf",
    f"{_CPU}/cpu*/power/pm_qos_resume_latency_us",
    f"{_CPU}/cpu*/power/energy_perf_bias",
    f"{_CPU}/cpu*/cpuidle/state*/name",
    f"{_CPU}/cpu*/cpuidle/state*/latency",
    f"{_CPU}/cpu*/cpuidle/state*/disable",
    f"{_CPU}/cpu*/cpuidle/state*/default_status",
    f"{_CPU}/cpuidle/current_driver",
    f"{_CPU}/cpufreq/boost",
    f"{_CPU}/intel_pstate/no_turbo",
    f"{_CPU}/intel_pstate/status",
    f"{_CPU}/amd_pstate/status",
    f"{_CPU}/smt/control",
    f"{_CPU}/vulnerabilities/*",
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

    def numbers_of(self, file: str, fact: str | None) -> list[int]:
        """Return the whole numbers that the CPUs give."""
        return [value for text in set(self.each(file, fact).values()) if (value := number(text)) is not None]


def collect_power(host: Host) -> Machine:
    """Return how the CPUs are clocked and put to sleep."""
    reader = Reader(host)
    cpus = _Cpus(reader, _online(reader))
    cpu = Cpu(**_clocks(cpus), **_policy(cpus), **_idle(cpus), **_protection(reader))
    if cpu == Cpu():
        # The section "cpu" is often known by another source, which would drop a gap of that name.
        return Machine(gaps=(Gap(fact="cpu.governors", why=f"{_CPU}: {NOT_IN_INPUT}", help=CAPTURE_HELP),))
    return Machine(cpu=cpu, sources=reader.sources, gaps=reader.gaps)


def clock_of_name(name: str) -> int | None:
    """Return the hertz that a model name ends in, or None.

    >>> clock_of_name("Intel(R) Xeon(R) CPU E5-2660 v3 @ 2.60GHz")
    2600000000
    """
    match = re.search(r"@ ?([0-9]{1,2})\.([0-9]{2})GHz", name)
    return (int(match[1]) * 100 + int(match[2])) * 10 * _MHZ if match else None


def _online(reader: Reader) -> tuple[int, ...]:
    named = {int(name[3:]) for name in reader.host.list(_CPU) if re.fullmatch(r"cpu[0-9]{1,6}", name)}
    try:
        online = CpuSet.parse(reader.text(f"{_CPU}/online") or "")
    except BadInput:
        online = CpuSet()
    return tuple(sorted(cpu for cpu in named if cpu in online or not online))


def _clocks(cpus: _Cpus) -> dict[str, float | None]:
    lowest = number(cpus.first("cpufreq/cpuinfo_min_freq", "cpu.min_hz"))
    highest = cpus.numbers_of("cpufreq/cpuinfo_max_freq", "cpu.max_hz")
    limits = cpus.numbers_of("cpufreq/scaling_max_freq", "cpu.limit_hz")
    base, by_cpu = _base(cpus)
    return {
        "base_hz": base,
        "min_hz": lowest * _KHZ if lowest else None,
        "max_hz": max(highest) * _KHZ if highest else None,
        "boost_headroom": _headroom(cpus, by_cpu),
        "limit_hz": min(limits) * _KHZ if limits else None,
    }


def _base(cpus: _Cpus) -> tuple[int | None, dict[int, int]]:
    """Return the base clock, and that of each CPU; of kinds of cores that differ in it there is none in common.

    intel_pstate reports it in kHz, the firmware's CPPC table in MHz, else the name may hold it.
    """
    reader = cpus.reader
    first = f"{_CPU}/cpu{cpus.numbers[0]}" if cpus.numbers else _CPU
    for file, unit in (("cpufreq/base_frequency", _KHZ), ("acpi_cppc/nominal_freq", _MHZ)):
        clocks = {cpu: clock * unit for cpu, text in cpus.each(file, None).items() if (clock := number(text))}
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
    tops = {cpu: clock * _KHZ for cpu, text in cpus.each("cpufreq/cpuinfo_max_freq", None).items() if (clock := number(text))}
    perf, nominal = (cpus.each(f"acpi_cppc/{name}_perf", None) for name in ("highest", "nominal"))
    gains = []
    for cpu, clock in base.items():
        levels = number(perf.get(cpu)), number(nominal.get(cpu))
        by_table = clock * levels[0] / levels[1] if levels[0] and levels[1] else 0
        if cpu in tops or by_table:
            gains.append(max(tops.get(cpu, 0), by_table) / clock - 1)
    return round(max(gains), 4) if gains else None


def _policy(cpus: _Cpus) -> dict[str, object]:
    governors = set(cpus.each("cpufreq/scaling_governor", "cpu.governors").values())
    preferences = set(cpus.each("cpufreq/energy_performance_preference", "cpu.epp").values())
    biases = cpus.numbers_of("power/energy_perf_bias", "cpu.epb")
    return {
        "driver": cpus.first("cpufreq/scaling_driver", "cpu.driver"),
        "pstate": cpus.reader.first((f"{_CPU}/intel_pstate/status", f"{_CPU}/amd_pstate/status"), "cpu.pstate"),
        "governors": tuple(sorted(governors)) or None,
        "epp": tuple(sorted(preferences)) or None,
        "epb": tuple(sorted(biases)) or None,
        "boost": _boost(cpus),
        "cppc_highest": max(cpus.numbers_of("acpi_cppc/highest_perf", None), default=None),
        "cppc_nominal": max(cpus.numbers_of("acpi_cppc/nominal_perf", None), default=None),
    }


def _boost(cpus: _Cpus) -> bool | None:
    """Return whether boost is on; intel_pstate has a switch of its own, amd-pstate may have one for each CPU."""
    reader = cpus.reader
    for path, on in ((f"{_CPU}/intel_pstate/no_turbo", 0), (f"{_CPU}/cpufreq/boost", 1)):
        value = reader.number(path)
        if value in (0, 1):
            reader.found("cpu.boost", path)
            return value == on
    switches = cpus.numbers_of("cpufreq/boost", "cpu.boost")
    return all(switches) if switches else None


def _idle(cpus: _Cpus) -> dict[str, object]:
    reader = cpus.reader
    driver = reader.text(f"{_CPU}/cpuidle/current_driver", "cpu.idle_driver")
    folder = f"{_CPU}/cpu{cpus.numbers[0]}/cpuidle" if cpus.numbers else _CPU
    names = (name for name in reader.host.list(folder) if re.fullmatch(r"state[0-9]{1,3}", name))
    states = [state for name in sorted(names, key=lambda name: int(name[5:])) if (state := _state(cpus, folder, name))]
    if states:
        reader.found("cpu.idle_states", f"{folder}/state*")
    elif driver != "none":
        reader.lacks("cpu.idle_states", f"{folder}: not there", "this kernel or platform does not offer it")
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


def _protection(reader: Reader) -> dict[str, object]:
    folder = f"{_CPU}/vulnerabilities"
    told = {name: text for name in reader.host.list(folder) if (text := reader.text(f"{folder}/{name}")) is not None}
    if told:
        reader.found("cpu.vulnerabilities", folder)
    else:
        reader.lacks("cpu.vulnerabilities", f"{folder}: not there", "kernels since 4.15 have it")
    return {"smt_control": reader.text(f"{_CPU}/smt/control", "cpu.smt_control"), "vulnerabilities": told or None}


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


SOURCES = (
    FactSource(
        "power",
        20,
        "Clocks, power management and mitigations: cpufreq, cpuidle, SMT, boost, vulnerabilities.",
        POWER_PATHS,
        (),
        collect_power,
    ),
    FactSource(
        "tuned",
        20,
        (
            "How long waking may take by the active tuned profile: it holds "
            "/dev/cpu_dma_latency open, which nobody else can read back."
        ),
        TUNED_PATHS,
        (),
        collect_tuned,
    ),
)
