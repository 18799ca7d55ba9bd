"""What `advisor rules check` finds in platform sheets that are each well formed: what contradicts another, or cannot be meant."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, permutations
from math import log2
from typing import Final

from advisor.advice.know.vendors import publications
from advisor.errors import BadSheet, did_you_mean
from advisor.machine.cpu import Cpu
from advisor.machine.partitioning import scheme_without_sheet
from advisor.machine.platform_traits import Scheme, file_of, traits
from advisor.machine.value import Keys
from advisor.measure.platform import Platform, Reference
from advisor.measure.platforms import platforms
from advisor.sheets import Sheet, read_sheet


def platform_mistakes() -> Iterator[BadSheet]:
    """Yield what is wrong in platform sheets, and between them."""
    sheets = {platform.id: read_sheet(file_of(platform.id)) for platform in platforms()}
    for platform in platforms():
        sheet = sheets[platform.id]
        yield from _recognised(platform, sheet)
        yield from _inherited_unseen(platform, sheet)
        yield from _uncited(platform, sheet)
        yield from _misnamed_cuts(platform, sheet)
        yield from _unlike_others(platform, sheet)
        yield from _implausible(platform, sheet)
        for number, variant in enumerate(platform.variants):
            if (variant.flops_per_cycle, variant.channels, variant.memory_speed) == (None, None, None):
                said = f"nothing differs in variant {variant.name}"
                yield sheet.wrong(("variants", number), said, "add flops_per_cycle, channels or memory_speed, or take it out")
    yield from _two_that_fit_one(sheets)
    yield from _processors_of_two(sheets)


_VENDORS: Final = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel", "HygonGenuine": "Hygon"}
"""What x86 processors call their vendor, and what everybody calls it."""
_NEWEST: Final = 3
"""Generations of a family that may lie between a platform and the next older one: more is a slip of the pen."""


def _recognised(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield a vendor's name that no processor has, and a scheme that is not the one of the same processors elsewhere."""
    match = platform.match
    if match.vendor not in _VENDORS and not re.fullmatch(r"0x[0-9a-f]{2}", match.vendor):
        cure = did_you_mean(match.vendor, _VENDORS, f"x86: {', '.join(_VENDORS)}; Arm: the implementer, 0x41")
        yield sheet.wrong(("match", "vendor"), f"no processor calls its vendor {match.vendor[:40]}", cure)
    if platform.vendor != _VENDORS.get(match.vendor, platform.vendor):
        said = f"vendor {platform.vendor[:40]}, and match is of {match.vendor}"
        yield sheet.wrong(("vendor",), said, f"write vendor: {_VENDORS[match.vendor]}")
    others = [each.generation for each in traits() if each.family == platform.family and each.id != platform.id]
    if others and platform.generation > max(others) + _NEWEST:
        said = f"generation {platform.generation} of {platform.family}, whose newest other one is {max(others)}"
        yield sheet.wrong(("generation",), said, "write which of its family it is: 6 for Xeon 6, 5 for EPYC 9005")
    if match.vendor in _VENDORS and match.family is None:
        said = f"processors of {match.vendor} have a family, and this fits none"
        yield sheet.wrong(("match",), said, "add family: NUMBER, as CPUID has it (/proc/cpuinfo, cpu family)")
    for model in match.models if match.family is not None else ():
        known = scheme_without_sheet(Cpu(vendor=match.vendor, family=match.family, model=model))
        if known not in (Scheme.UNKNOWN, Scheme[platform.scheme]):
            said = f"scheme {platform.scheme}, but family {match.family}, model {model} is known as {known.name}"
            yield sheet.wrong(("scheme",), said, "correct it, or take that line out of advisor/machine/partitioning.py")
            return


def _inherited_unseen(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield what a new generation takes from its elder without a word, in one line: all of it is what a generation changes."""
    elder = next((each for each in platforms() if each.id == platform.inherits), None)
    if elder is None or (elder.family, elder.generation) == (platform.family, platform.generation):
        return
    silent = [name for name in _CHANGING if name not in sheet.data and getattr(elder, name) is not None]
    if silent:
        are, those = ("is", "that") if len(silent) == 1 else ("are", "those")
        said = f"{', '.join(silent)} {are} not said, and {those} of {elder.id} {are} of another generation"
        null = "" if silent == ["architecture"] else "; null where it is not known"
        yield sheet.wrong(("inherits",), said, f"write {those}, also where it is the same{null}")


_CHANGING: Final = (
    "architecture", "socket", "flops_per_cycle", "channels", "memory_kind", "memory_speed", "memory_speed_2dpc",
    "memory_speed_most", "die_bandwidth", "pcie",
)  # fmt: skip
"""What a new generation changes: rules and ceilings go by it."""


def _uncited(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield publications that are not listed; what is inherited is its elder's to answer for."""
    bracketed = re.compile(r"\(([a-z0-9]+(?:-[a-z0-9]+)+)\)")
    noted: list[tuple[Keys, str]] = [
        (("notes", number), word) for number, note in enumerate(platform.notes) for word in bracketed.findall(note)
    ]
    for place, source in (*platform.citations(), *noted):
        if source not in publications() and place[0] in sheet.data:
            cure = did_you_mean(source, publications(), "add it to rules/sources.yaml, or write unverified")
            yield sheet.wrong(place, f"{source[:60]} is no publication", cure)


_CUTS: Final = {
    "DIES": r"(socket|die|channel)-interleaving",
    "NPS": r"NPS[0124]|L3-as-NUMA",
    "COD": r"none|COD",
    "SNC": r"none|SNC[2346]",
}
"""What layouts call the partitionings of a scheme; of all others, none."""


def _misnamed_cuts(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield partitionings that no layout is called by, and numbers in their names that are not theirs."""
    allowed, own = _CUTS.get(platform.scheme, "none"), "cuts" in sheet.data
    for number, cut in enumerate(platform.cuts if own else ()):
        place: Keys = ("cuts", number)
        if cut.name in [each.name for each in platform.cuts[:number]]:
            yield sheet.wrong((*place, "name"), f"{cut.name} stands in cuts twice", "keep one of them")
        elif not re.fullmatch(allowed, cut.name):
            words = allowed.replace("|", ", ")
            yield sheet.wrong(
                (*place, "name"), f"{cut.name[:40]} is no partitioning of scheme {platform.scheme}", f"it has {words}"
            )
        elif cut.per == "socket" and cut.name[-1].isdigit() and cut.name[3:] != str(cut.nodes):
            yield sheet.wrong((*place, "nodes"), f"{cut.name} gives {cut.nodes} NUMA nodes", f"write nodes: {cut.name[3:]}")
    names = {cut.name for cut in platform.cuts}
    for number, each in enumerate(platform.references):
        if each.cut and each.cut not in names:
            cure = did_you_mean(each.cut, names, f"there are {', '.join(sorted(names))}")
            yield sheet.wrong(("references", number, "cut"), f"{each.cut[:40]} is not in cuts", cure)


_UNITS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("dgemm", "hpl", "hpcg", "peak"), ("flop/s",)),
    **dict.fromkeys(("latency-memory", "osu-latency", "rdma-latency", "wrf"), ("seconds",)),
    "message-rate": ("messages/s",),
    "osu-mbw-mr": ("bytes/s", "messages/s"),
    "mpi-sendrecv": ("bytes/s", "seconds"),
}
"""What a benchmark counts where that is not bytes/s."""


def _units_of(reference: Reference) -> tuple[str, ...]:
    """Return the units that a published result may have: what is a part of another is a ratio."""
    if reference.kind in ("gain", "share", "spread"):
        return ("ratio",)
    return _UNITS.get(reference.benchmark, ("bytes/s",))


_PLAUSIBLE: Final = {
    "bytes/s": (1e9, 1e14, "GB/s"),
    "flop/s": (1e11, 1e15, "GFLOP/s"),
    "seconds": (50e-9, 10e-6, "ns or us"),
    "messages/s": (1e6, 1e10, "Mmsg/s"),
    "transfers/s": (1e9, 20e9, "MT/s"),
    "ratio": (0.01, 1.1, "%"),
}
"""Between what a figure of its unit lies, and how it is usually written: a slipped prefix is out by a thousand."""


def _unlike_others(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield a name that is another platform's, a family of another maker, and figures that no core and no memory has."""
    others = [each for each in platforms() if each.id != platform.id]
    if twin := next((each.id for each in others if each.name == platform.name), None):
        yield sheet.wrong(("name",), f"{twin} has the name {platform.name} too", "write the name that its vendor gives this one")
    makers = {each.vendor for each in others if each.family == platform.family}
    if makers and platform.vendor not in makers:
        said = f"family {platform.family} is of {', '.join(sorted(makers))}, and match is of {platform.vendor}"
        yield sheet.wrong(("family",), said, "write the product line of its own vendor")
    flops = platform.flops_per_cycle
    if "flops_per_cycle" in sheet.data and flops and log2(flops) % 1:
        said = f"a core with {flops:g} double-precision FLOP in a cycle is not known"
        yield sheet.wrong(("flops_per_cycle",), said, "write lanes times units times 2: 16, 32")
    if "memory_kind" in sheet.data and not re.match(r"[A-Z]{2,}", platform.memory_kind or "DDR"):
        said = f"memory_kind {platform.memory_kind} is not written as elsewhere"
        yield sheet.wrong(("memory_kind",), said, "write it in capitals: DDR5, LPDDR5X, HBM3")


def _implausible(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield figures that no processor has, and results above what the memory channels carry."""
    figures: list[tuple[Keys, str, float | None]] = [
        ((name,), "transfers/s", getattr(platform, name)) for name in ("memory_speed", "memory_speed_2dpc") if name in sheet.data
    ]
    for number, each in enumerate(platform.references):
        place: Keys = ("references", number)
        if each.value.unit not in (units := _units_of(each)):
            said = f"{each.benchmark} counts {each.value.unit}"
            yield sheet.wrong(
                (*place, "value"), said, f"{' or '.join(units)} are expected here, usually in {_PLAUSIBLE[units[0]][2]}"
            )
            continue
        figures += [((*place, "value"), each.value.unit, end) for end in dict.fromkeys((each.value.low, each.value.high))]
        figures.append(((*place, "memory_speed"), "transfers/s", each.memory_speed))
        speed, most = each.memory_speed or platform.memory_speed, each.value.high or 0
        carried = (platform.channels or 0) * (speed or 0) * _BYTES * (each.sockets or 1)
        if carried and each.value.unit == "bytes/s" and each.of in ("node", "socket") and most > carried:
            said = f"{most / 1e9:.0f} GB/s is more than {platform.channels} channels carry ({carried / 1e9:.0f} GB/s)"
            yield sheet.wrong((*place, "value"), said, "correct sockets, memory_speed or the value")
    for place, unit, figure in figures:
        low, high, usual = _PLAUSIBLE.get(unit, (0, float("inf"), unit))
        if figure is not None and not low <= figure <= high:
            yield sheet.wrong(place, f"{figure:g} {unit} cannot be meant for {place[-1]}", f"it is usually written in {usual}")


_BYTES: Final = 8
"""What a channel of DDR carries in one transfer."""


def _two_that_fit_one(sheets: Mapping[str, Sheet]) -> Iterator[BadSheet]:
    """Yield platforms that are recognised by the same processors, neither of which refines the other."""
    for one, other in combinations(traits(), 2):
        first, second = one.match, other.match
        shared = sorted(set(first.models) & set(second.models))
        apart = first.steppings and second.steppings and not set(first.steppings) & set(second.steppings)
        same = (first.vendor, first.family) == (second.vendor, second.family) and shared and not apart
        if same and (one.scheme, one.l3_per_die) != (other.scheme, other.l3_per_die):
            said = f"{one.id} and {other.id} are the same processors, and differ in scheme or l3_per_die"
            yield sheets[other.id].wrong(("match",), said, "a layout is read by them: write the same in both")
        if same and first.refines == second.refines:
            said = f"{one.id} and {other.id} both fit {first.vendor}, family {first.family}, model {shared[0]}"
            cure = "give match other models or steppings, or a refinement: l3, hbm or name"
            yield sheets[other.id].wrong(("match",), said, cure)


def _processors_of_two(sheets: Mapping[str, Sheet]) -> Iterator[BadSheet]:
    """Yield processors that two sheets list, or that do not bear the names of their platform."""
    seen: dict[str, str] = {}
    for platform in platforms():
        sheet = sheets[platform.id]
        for name in platform.processors:
            place = ("processors", name)
            if not _named(platform, name):
                yield sheet.wrong(place, f"{name} is no name of series {platform.series}", "widen series, or correct the name")
            elif name in seen:
                yield sheet.wrong(place, f"{name} stands in the sheet of {seen[name]} too", "keep one of them")
            else:
                seen[name] = platform.id
    for one, other in permutations(platforms(), 2):
        sheet = sheets[one.id]
        taken = next((name for name in other.processors if _named(one, name)), None)
        if taken and taken not in one.processors and other.id != one.inherits and one.id != other.inherits:
            yield sheet.wrong(("series",), f"{taken} of {other.id} is a name of this series too", "narrow series")
        for number, each in enumerate(one.references):
            strange = next((name for name in each.cpus if not _named(one, name) and _named(other, name)), None)
            if strange:
                yield sheet.wrong(("references", number, "cpus"), f"{strange} is of {other.id}", "put it into that sheet")


def _named(platform: Platform, name: str) -> bool:
    """Return whether a processor bears a name of the platform's series."""
    return re.fullmatch(platform.series, name, re.IGNORECASE) is not None
