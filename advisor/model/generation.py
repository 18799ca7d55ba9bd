"""How each processor generation divides a socket, by family and model: only what the operating system cannot show."""

from enum import StrEnum

from advisor.model.cpu import Cpu


class Scheme(StrEnum):
    """A way of cutting a socket into NUMA nodes."""

    DIES = "dies of one package, interleaved or not (EPYC 7001)"
    NPS = "NUMA nodes per socket (EPYC 7002 and later)"
    COD = "cluster on die (Haswell and Broadwell)"
    SNC = "sub-NUMA clusters (Skylake and later)"
    KNL = "cluster and memory modes (Knights Landing)"
    FIXED = "none: the package's dies are its nodes (Opteron)"
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

_AMD_NPS = {23: (range(48, 64),), 25: (range(32), range(48, 64), range(144, 176)), 26: (range(32),)}
"""Server models by family: Rome; Milan, Genoa, Trento, MI300A, Bergamo; Turin (Linux arch/x86/kernel/cpu/amd.c)."""


def scheme(cpu: Cpu | None) -> Scheme:
    """Return how the processor can be cut; UNKNOWN where its identity is not known."""
    if cpu is None or cpu.vendor is None or cpu.family is None or cpu.model is None:
        return Scheme.UNKNOWN
    if cpu.vendor == "GenuineIntel":
        return _INTEL_6.get(cpu.model, Scheme.UNKNOWN) if cpu.family == 6 else Scheme.UNKNOWN
    if cpu.vendor == "HygonGenuine":
        return Scheme.DIES
    return _amd(cpu.family, cpu.model) if cpu.vendor == "AuthenticAMD" else Scheme.UNKNOWN


def _amd(family: int, model: int) -> Scheme:
    if family in (15, 16, 21):
        return Scheme.FIXED
    if family == 23 and model < 16:
        return Scheme.DIES
    if any(model in models for models in _AMD_NPS.get(family, ())):
        return Scheme.NPS
    return Scheme.UNKNOWN
