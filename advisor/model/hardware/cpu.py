"""The processors: identity, clocks, power management, mitigations, and how each generation divides a socket.

The latter goes by family and model, and is only what the operating system cannot show.
"""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from advisor.model.cpuset import CpuSet
from advisor.model.fact import Hertz, Key, Microseconds, Number, Section, Watts
from advisor.model.value import Value


class IdleState(Value):
    """A C-state of the cpuidle driver."""

    name: Key[str] = Field(description="POLL, C1, C2, C6")
    latency: Microseconds | None = Field(default=None, description="microseconds to leave it")
    disabled: CpuSet | None = Field(description="CPUs on which it is switched off; None where the kernel does not say")


class PowerCap(Value):
    """What a package's power is held to."""

    name: Key[str] = Field(description="package-0")
    enabled: bool | None = Field(default=None, description="whether the limit holds")
    limit: Watts | None = Field(default=None, description="watts over the long term (PL1)")
    short: Watts | None = Field(default=None, description="watts over the short term (PL2)")
    nominal: Watts | None = Field(default=None, description="watts that the processor is made for (TDP)")


class CoreKind(Value):
    """Cores of one kind, on a machine that has several."""

    name: Key[str] = Field(description="P-core, E-core, Cortex-X925")
    cpus: CpuSet = Field(description="its CPUs")


class Cpu(Value):
    """What every CPU of the machine has in common; a tuple where they differ."""

    vendor: str | None = Field(default=None, description="AuthenticAMD, GenuineIntel, ARM implementer, ...")
    model_name: Annotated[str | None, Section.MACHINE] = Field(default=None, description="the marketing name")
    family: Number | None = Field(default=None, description="as CPUID reports it: 25")
    model: Number | None = Field(default=None, description="as CPUID reports it; of Arm the part number")
    stepping: Number | None = Field(default=None, description="as CPUID reports it")
    kinds: tuple[CoreKind, ...] | None = Field(
        default=None, description="the kinds of cores; None where all are alike or not reported"
    )
    flags: tuple[str, ...] | None = Field(default=None, description="sorted")
    microcode: Annotated[tuple[str, ...] | None, Section.MACHINE] = Field(
        default=None, description="revisions in use; several is a fault"
    )
    base_hz: Hertz | None = Field(default=None, description="the base clock")
    min_hz: Hertz | None = Field(default=None, description="the lowest clock")
    max_hz: Hertz | None = Field(default=None, description="the highest clock the driver allows now")
    limit_hz: Hertz | None = Field(
        default=None, description="the lowest scaling_max_freq of the CPUs: what software caps them at"
    )
    driver: str | None = Field(default=None, description="cpufreq driver: acpi-cpufreq, amd-pstate-epp, intel_pstate")
    pstate: str | None = Field(default=None, description="status of intel_pstate or amd_pstate: active, passive, guided, off")
    governors: tuple[str, ...] | None = Field(default=None, description="governors in use; several is a fault")
    epp: tuple[str, ...] | None = Field(default=None, description="energy performance preferences in use")
    epb: tuple[Number, ...] | None = Field(
        default=None, description="energy performance bias values in use: 0 performance, 15 power save"
    )
    boost: bool | None = Field(default=None, description="whether the kernel lets cores exceed the base clock")
    cppc_highest: Number | None = Field(default=None, description="highest performance that the firmware's CPPC table names")
    cppc_nominal: Number | None = Field(default=None, description="performance of the base clock in the same units")
    smt_control: str | None = Field(default=None, description="on, off, forceoff, notsupported, notimplemented")
    idle_driver: str | None = Field(default=None, description="cpuidle driver: intel_idle, acpi_idle")
    idle_states: tuple[IdleState, ...] | None = None
    wakeup_limits: tuple[Microseconds, ...] | None = Field(
        default=None,
        description="microseconds that waking may take on CPUs that PM QoS limits one by one; () where none is limited",
    )
    power_caps: tuple[PowerCap, ...] | None = Field(
        default=None, description="limits of the packages' power (RAPL); () where the kernel shows none"
    )
    vulnerabilities: dict[str, str] | None = Field(default=None, description="kernel's name of each and its mitigation")


def is_model(name: str, marketing: str | None) -> bool:
    """Return whether a processor, by its marketing name, is of a model: EPYC 7551 is not EPYC 7551P.

    >>> is_model("Gold 6148", "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"), is_model("EPYC 7551", "AMD EPYC 7551P")
    (True, False)
    """
    own = " ".join(re.sub(r"\((?:R|TM)\)", "", marketing or "").split())
    return re.search(rf"\b{re.escape(name)}(?!\w)", own) is not None


class Scheme(StrEnum):
    """A way of cutting a socket into NUMA nodes."""

    DIES = "dies of one package, interleaved or not (EPYC 7001)"
    NPS = "NUMA nodes per socket (EPYC 7002 and later)"
    COD = "cluster on die (Haswell and Broadwell)"
    SNC = "sub-NUMA clusters (Skylake and later)"
    KNL = "cluster and memory modes (Knights Landing)"
    FIXED = "none: the package's dies are its nodes (Opteron, A64FX)"
    WHOLE = "none: one node a socket"
    UNKNOWN = "not known to advisor"


_INTEL_6 = {
    **dict.fromkeys((63, 79, 86), Scheme.COD),
    # Skylake to Cooper Lake, Ice Lake, Sapphire and Emerald Rapids, Granite Rapids, Sierra and Clearwater Forest.
    **dict.fromkeys((85, 106, 108, 143, 207, 173, 174, 175, 221), Scheme.SNC),
    **dict.fromkeys((87, 133), Scheme.KNL),
    # Nehalem to Ivy Bridge servers had one node a socket whatever the BIOS did.
    **dict.fromkeys((26, 30, 37, 44, 46, 47, 45, 62), Scheme.WHOLE),
}
"""Family 6 by model, decimal (Intel SDM volume 4, table 2-1; Linux arch/x86/include/asm/intel-family.h)."""

_AMD_NPS = {23: (range(48, 64),), 25: (range(32), range(48, 64), range(144, 176)), 26: (range(32), range(80, 96))}
"""Server models by family: Rome; Milan, Genoa, Trento, MI300A, Bergamo; Turin, Venice (Linux arch/x86/kernel/cpu/amd.c)."""

_TWO_L3_A_DIE = {23: range(48, 64), 25: range(160, 176)}
"""Rome; Bergamo and Siena. Other dies have one L3 group since Milan."""

_A64FX = ("0x46", 1)
"""Its four core memory groups are nodes, whatever the firmware is set to (implementer Fujitsu, part 1)."""

_NAMES = (
    (r"EPYC [37]\w\w1", Scheme.DIES),
    (r"Hygon", Scheme.DIES),
    (r"EPYC (7\w\w[23]|[89]\w\w[45])", Scheme.NPS),
    (r"Opteron\b", Scheme.FIXED),
    (r"Xeon Phi.* 72\d\d", Scheme.KNL),
    (r"Xeon.* E[57]-\d{4}\w? v[34]\b", Scheme.COD),
    (r"Xeon.* (E[57]- ?\d{4}|[ELWX](55|56|65|75)\d\d\b)", Scheme.WHOLE),
    (r"Xeon.* (Platinum|Gold|Silver|Bronze|Max|6\d{3}[EP]) ", Scheme.SNC),
)
"""Marketing names, for files that give no family and model (hwloc before 1.11)."""


def scheme(cpu: Cpu | None) -> Scheme:
    """Return how the processor can be cut; UNKNOWN where its identity is not known."""
    if cpu is None:
        return Scheme.UNKNOWN
    if (cpu.vendor, cpu.model) == _A64FX:
        return Scheme.FIXED
    if cpu.vendor is None or cpu.family is None or cpu.model is None:
        return _by_name(cpu.model_name)
    if cpu.vendor == "GenuineIntel":
        return _INTEL_6.get(cpu.model, Scheme.UNKNOWN) if cpu.family == 6 else Scheme.UNKNOWN
    if cpu.vendor == "HygonGenuine":
        return Scheme.DIES
    return _amd(cpu.family, cpu.model) if cpu.vendor == "AuthenticAMD" else Scheme.UNKNOWN


def known_by_name_only(cpu: Cpu | None) -> bool:
    """Return whether the scheme rests on a marketing name."""
    return cpu is not None and cpu.model is None and scheme(cpu) is not Scheme.UNKNOWN


def two_l3_a_die(cpu: Cpu | None) -> bool:
    """Return whether each die of an EPYC has two L3 groups."""
    if cpu is None or cpu.vendor != "AuthenticAMD" or cpu.family is None or cpu.model is None:
        return False
    return cpu.model in _TWO_L3_A_DIE.get(cpu.family, ())


def advertised_cores(cpu: Cpu | None) -> int | None:
    """Return the cores of a socket as its name gives them: 32 of ``AMD EPYC 7601 32-Core Processor``."""
    match = re.search(r"\b(\d{1,3})-Core\b", (cpu and cpu.model_name) or "", re.ASCII | re.IGNORECASE)
    return int(match[1]) if match else None


def _by_name(name: str | None) -> Scheme:
    plain = re.sub(r"\([^)]*\)", "", name or "")
    return next((found for pattern, found in _NAMES if re.search(pattern, plain, re.ASCII)), Scheme.UNKNOWN)


def _amd(family: int, model: int) -> Scheme:
    if family in (15, 16, 21):
        return Scheme.FIXED
    if family == 23 and model < 16:
        return Scheme.DIES
    if any(model in models for models in _AMD_NPS.get(family, ())):
        return Scheme.NPS
    return Scheme.UNKNOWN
