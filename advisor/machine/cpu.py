"""The processors: identity, clocks, power management, mitigations."""

import re
from typing import Annotated

from pydantic import Field

from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import Hertz, Key, Microseconds, Number, Ratio, Section, Watts, optional
from advisor.machine.value import Value


class IdleState(Value):
    """A C-state of the cpuidle driver."""

    name: Key[str] = Field(description="POLL, C1, C2, C6")
    latency: Microseconds | None = optional("microseconds to leave it")
    off_by_default: bool | None = optional(
        "whether the kernel began with it switched off, as it does where the firmware's _CST lacks it"
    )
    disabled: CpuSet | None = Field(description="CPUs on which it is switched off; None where the kernel does not say")


class PowerCap(Value):
    """What a package's power is held to."""

    name: Key[str] = Field(description="package-0")
    enabled: bool | None = optional("whether the limit holds")
    limit: Watts | None = optional("watts over the long term (PL1)")
    short: Watts | None = optional("watts over the short term (PL2)")
    nominal: Watts | None = optional("watts that the processor is made for (TDP)")


class UncoreClock(Value):
    """Limits of the clock of L3 and memory controllers of a die (Intel)."""

    name: Key[str] = Field(description="package_00_die_00")
    began_min: Hertz | None = optional("the lowest clock that the driver found when it loaded")
    began_max: Hertz | None = optional("the highest")
    min: Hertz | None = optional("the lowest clock allowed now")
    max: Hertz | None = optional("the highest")


class CoreKind(Value):
    """Cores of one kind, on a machine that has several."""

    name: Key[str] = Field(description="P-core, E-core, Cortex-X925")
    cpus: CpuSet = Field(description="its CPUs")
    speed: Number | None = optional("its place among the kinds by speed, 0 the slowest; None where nothing ranks them")


class Cpu(Value):
    """What every CPU of the machine has in common; a tuple where they differ."""

    vendor: str | None = optional("AuthenticAMD, GenuineIntel, ARM implementer, ...")
    model_name: Annotated[str | None, Section.MACHINE] = optional("the marketing name")
    family: Number | None = optional("as CPUID reports it: 25")
    model: Number | None = optional("as CPUID reports it; of Arm the part number")
    stepping: Number | None = optional("as CPUID reports it")
    kinds: tuple[CoreKind, ...] | None = optional(
        "the kinds of cores, the fastest first where that is known; None where all are alike or not reported"
    )
    flags: tuple[str, ...] | None = optional("sorted")
    microcode: Annotated[tuple[str, ...] | None, Section.MACHINE] = optional("revisions in use; several is a fault")
    base_hz: Hertz | None = optional("the base clock")
    min_hz: Hertz | None = optional("the lowest clock")
    max_hz: Hertz | None = optional("the highest clock the driver allows now")
    boost_headroom: Ratio | None = optional("highest clock of a core above its own base clock, of the core that has most: 0.33")
    limit_hz: Hertz | None = optional("the lowest scaling_max_freq of the CPUs: what software caps them at")
    driver: str | None = optional("cpufreq driver: acpi-cpufreq, amd-pstate-epp, intel_pstate")
    pstate: str | None = optional("status of intel_pstate or amd_pstate: active, passive, guided, off")
    governors: tuple[str, ...] | None = optional("governors in use; several is a fault")
    epp: tuple[str, ...] | None = optional("energy performance preferences in use")
    epb: tuple[Number, ...] | None = optional("energy performance bias values in use: 0 performance, 15 power save")
    boost: bool | None = optional("whether the kernel lets cores exceed the base clock")
    cppc_highest: Number | None = optional("highest performance that the firmware's CPPC table names")
    cppc_nominal: Number | None = optional("performance of the base clock in the same units")
    smt_control: str | None = optional("on, off, forceoff, notsupported, notimplemented")
    idle_driver: str | None = optional("cpuidle driver: intel_idle, acpi_idle")
    idle_states: tuple[IdleState, ...] | None = None
    wakeup_limits: tuple[Microseconds, ...] | None = optional(
        "microseconds that waking may take on CPUs that PM QoS limits one by one; () where none is limited"
    )
    power_caps: tuple[PowerCap, ...] | None = optional("limits of the packages' power (RAPL); () where the kernel shows none")
    uncore: tuple[UncoreClock, ...] | None = optional("limits of the uncore's clock, die by die; None where no driver shows them")
    vulnerabilities: dict[str, str] | None = optional("kernel's name of each and its mitigation")


def is_model(name: str, marketing: str | None) -> bool:
    """Return whether a processor, by its marketing name, is of a model: EPYC 7551 is not EPYC 7551P.

    >>> is_model("Gold 6148", "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"), is_model("EPYC 7551", "AMD EPYC 7551P")
    (True, False)
    """
    own = " ".join(re.sub(r"\((?:R|TM)\)", "", marketing or "").split())
    return re.search(rf"\b{re.escape(name)}(?!\w)", own) is not None


def advertised_cores(cpu: Cpu | None) -> int | None:
    """Return the cores of a socket as its name gives them: 32 of ``AMD EPYC 7601 32-Core Processor``."""
    match = re.search(r"\b(\d{1,3})-Core\b", (cpu and cpu.model_name) or "", re.ASCII | re.IGNORECASE)
    return int(match[1]) if match else None
