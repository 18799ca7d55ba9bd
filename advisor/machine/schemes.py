"""How each processor's sockets are divided into NUMA nodes: by its platform's sheet, else by what is known of those without one.

It goes by family and model, and is only what the operating system cannot show.
"""

import re
from typing import Final

from advisor.machine.cpu import Cpu
from advisor.machine.platform_traits import Scheme, Traits, traits

_AMD_WITHOUT_SHEET: Final = (
    # Opteron.
    ((15, 16, 21), range(256), Scheme.FIXED),
    # The desktop and embedded parts of Zen and Zen+.
    ((23,), range(16), Scheme.DIES),
    # Trento, and models that their generation leaves free.
    ((25,), (*range(8, 16), *range(48, 64)), Scheme.NPS),
    ((26,), (*range(8, 16), *range(80, 96)), Scheme.NPS),
)
"""Families and models (Linux arch/x86/kernel/cpu/amd.c)."""

_INTEL_WITHOUT_SHEET: Final = {
    86: Scheme.COD,  # Broadwell-DE
    **dict.fromkeys((108, 174, 221), Scheme.SNC),  # Ice Lake-D, Granite Rapids-D, Clearwater Forest
    **dict.fromkeys((87, 133), Scheme.KNL),
    # Nehalem to Ivy Bridge servers had one node a socket whatever the BIOS did.
    **dict.fromkeys((26, 30, 37, 44, 46, 47, 45, 62), Scheme.WHOLE),
}
"""Family 6 by model, decimal (Intel SDM volume 4, table 2-1; Linux arch/x86/include/asm/intel-family.h)."""

_E_CORES_WITHOUT_SHEET: Final = (221,)
"""Clearwater Forest: its cores have one thread."""

_A64FX: Final = ("0x46", 1)
"""Its four core memory groups are nodes, whatever the firmware is set to (implementer Fujitsu, part 1)."""

_NAMES_WITHOUT_SHEET: Final = (
    (r"EPYC [37]\w\w1", Scheme.DIES),
    (r"Hygon", Scheme.DIES),
    (r"EPYC (7\w\w[23]|[89]\w\w[45])", Scheme.NPS),  # with those made for one customer: EPYC 9B14
    (r"Opteron\b", Scheme.FIXED),
    (r"Xeon Phi.* 72\d\d", Scheme.KNL),
    (r"Xeon.* E[57]-\d{4}\w? v[34]\b", Scheme.COD),
    (r"Xeon.* (E[57]- ?\d{4}|[ELWX](55|56|65|75)\d\d\b)", Scheme.WHOLE),
    (r"Xeon.* (Platinum|Gold|Silver|Bronze|Max|6\d{3}[EP]) ", Scheme.SNC),
)
"""Marketing names, for files that give no family and model (hwloc before 1.11)."""


def sheet_of(cpu: Cpu | None) -> Traits | None:
    """Return the traits of a platform with such processors, by family and model; what refines it has the same silicon."""
    if cpu is None or cpu.family is None or cpu.model is None:
        return None
    same = [
        each
        for each in traits()
        if (each.match.vendor, each.match.family) == (cpu.vendor, cpu.family) and cpu.model in each.match.models
    ]
    return max(same, key=lambda each: (cpu.stepping in each.match.steppings, not each.match.refines), default=None)


def scheme(cpu: Cpu | None) -> Scheme:
    """Return how the processor can be cut; UNKNOWN where its identity is not known."""
    sheet = sheet_of(cpu)
    return Scheme[sheet.scheme] if sheet else scheme_without_sheet(cpu)


def scheme_without_sheet(cpu: Cpu | None) -> Scheme:
    """Return how a processor can be cut of which there is no platform's sheet."""
    if cpu is None:
        return Scheme.UNKNOWN
    if (cpu.vendor, cpu.model) == _A64FX:
        return Scheme.FIXED
    if cpu.vendor is None or cpu.family is None or cpu.model is None:
        return _by_name(cpu.model_name)
    if cpu.vendor == "GenuineIntel":
        return _INTEL_WITHOUT_SHEET.get(cpu.model, Scheme.UNKNOWN) if cpu.family == 6 else Scheme.UNKNOWN
    if cpu.vendor == "HygonGenuine":
        return Scheme.DIES
    return _amd(cpu.family, cpu.model) if cpu.vendor == "AuthenticAMD" else Scheme.UNKNOWN


def _amd(family: int, model: int) -> Scheme:
    fits = (kind for families, models, kind in _AMD_WITHOUT_SHEET if family in families and model in models)
    return next(fits, Scheme.UNKNOWN)


def _by_name(name: str | None) -> Scheme:
    plain = re.sub(r"\([^)]*\)|\bCPU\b(?! Max)", "", name or "")
    bare = " ".join(plain.split())
    named = (each for each in traits() if each.match.family is not None and re.search(rf"\b(?:{each.series})(?!\w)", bare))
    if sheet := next(named, None):
        return Scheme[sheet.scheme]
    return next((found for pattern, found in _NAMES_WITHOUT_SHEET if re.search(pattern, plain, re.ASCII)), Scheme.UNKNOWN)


def known_by_name_only(cpu: Cpu | None) -> bool:
    """Return whether the scheme rests on a marketing name."""
    return cpu is not None and cpu.model is None and scheme(cpu) is not Scheme.UNKNOWN


def two_l3_a_die(cpu: Cpu | None) -> bool:
    """Return whether each die of the processor has two L3 groups."""
    sheet = sheet_of(cpu)
    return sheet is not None and sheet.l3_per_die == _TWO


def has_smt(cpu: Cpu | None) -> bool:
    """Return whether the processor is known to have two threads per core, and a switch for the second."""
    if cpu is None or cpu.vendor not in ("AuthenticAMD", "GenuineIntel", "HygonGenuine"):
        return False
    sheet = sheet_of(cpu)
    one = sheet.core_type == "efficient" if sheet else cpu.vendor == "GenuineIntel" and cpu.model in _E_CORES_WITHOUT_SHEET
    return not one and scheme(cpu) is not Scheme.KNL


_TWO: Final = 2
