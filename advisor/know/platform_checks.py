"""What `advisor rules check` finds in platform sheets that are each well formed: what contradicts another, or cannot be meant."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from advisor.errors import BadSheet, did_you_mean
from advisor.know.platforms import platforms
from advisor.know.vendors import publications
from advisor.model.audit.platform import Platform
from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.platform_traits import Scheme, file_of, traits
from advisor.model.hardware.schemes import scheme_without_sheet
from advisor.model.value import Keys
from advisor.sheets import Sheet, read_sheet


def platform_mistakes() -> Iterator[BadSheet]:
    """Yield what is wrong in platform sheets, and between them."""
    for platform in platforms():
        sheet = read_sheet(file_of(platform.id))
        yield from _recognised(platform, sheet)
        yield from _inherited_unseen(platform, sheet)
        yield from _uncited(platform, sheet)
        yield from _misnamed_cuts(platform, sheet)
        yield from _implausible(platform, sheet)
    yield from _two_that_fit_one()
    yield from _processors_of_two()


_VENDORS: Final = ("AuthenticAMD", "GenuineIntel", "HygonGenuine")


def _recognised(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield a vendor's name that no processor has, and a scheme that is not the one of the same processors elsewhere."""
    match = platform.match
    if match.vendor not in _VENDORS and not re.fullmatch(r"0x[0-9a-f]{2}", match.vendor):
        cure = did_you_mean(match.vendor, _VENDORS, f"x86: {', '.join(_VENDORS)}; Arm: the implementer, 0x41")
        yield sheet.wrong(("match", "vendor"), f"no processor calls its vendor {match.vendor[:40]}", cure)
    if match.vendor in _VENDORS and match.family is None:
        said = f"processors of {match.vendor} have a family, and this fits none"
        yield sheet.wrong(("match",), said, "add family: NUMBER, as CPUID has it (/proc/cpuinfo, cpu family)")
    for model in match.models if match.family is not None else ():
        known = scheme_without_sheet(Cpu(vendor=match.vendor, family=match.family, model=model))
        if known not in (Scheme.UNKNOWN, Scheme[platform.scheme]):
            said = f"scheme {platform.scheme}, but family {match.family}, model {model} is known as {known.name}"
            yield sheet.wrong(("scheme",), said, "correct it, or take that line out of advisor/model/hardware/schemes.py")
            return


def _inherited_unseen(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield traits that a new generation takes from its elder without a word: they are what a generation changes."""
    elder = next((each for each in traits() if each.id == platform.inherits), None)
    if elder is None or (elder.family, elder.generation) == (platform.family, platform.generation):
        return
    for name, cure in (("architecture", ""), ("socket", "; null where it is not known")):
        if name not in sheet.data:
            said = f"{name} is not said, and that of {elder.id}, {getattr(elder, name)}, is of another generation"
            yield sheet.wrong(("inherits",), said, f"write {name}, also where it is the same{cure}")


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
        if not re.fullmatch(allowed, cut.name):
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


_PLAUSIBLE: Final = {
    "bytes/s": (1e9, 1e14, "GB/s"),
    "flop/s": (1e11, 1e15, "GFLOP/s"),
    "seconds": (50e-9, 10e-6, "ns or us"),
    "messages/s": (1e6, 1e10, "Mmsg/s"),
    "transfers/s": (1e9, 20e9, "MT/s"),
    "ratio": (0.01, 1.1, "%"),
}
"""Between what a figure of its unit lies, and how it is usually written: a slipped prefix is out by a thousand."""


def _implausible(platform: Platform, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield figures that no processor has, and results above what the memory channels carry."""
    figures: list[tuple[Keys, str, float | None]] = [
        ((name,), "transfers/s", getattr(platform, name)) for name in ("memory_speed", "memory_speed_2dpc") if name in sheet.data
    ]
    for number, each in enumerate(platform.references):
        place: Keys = ("references", number)
        figures += [((*place, "value"), each.value.unit, end) for end in (each.value.low, each.value.high)]
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


def _two_that_fit_one() -> Iterator[BadSheet]:
    """Yield platforms that are recognised by the same processors, neither of which refines the other."""
    for one, other in combinations(traits(), 2):
        first, second = one.match, other.match
        shared = sorted(set(first.models) & set(second.models))
        apart = first.steppings and second.steppings and not set(first.steppings) & set(second.steppings)
        same = (first.vendor, first.family) == (second.vendor, second.family) and shared and not apart
        if same and (one.scheme, one.l3_per_die) != (other.scheme, other.l3_per_die):
            said = f"{one.id} and {other.id} are the same processors, and differ in scheme or l3_per_die"
            yield read_sheet(file_of(other.id)).wrong(("match",), said, "a layout is read by them: write the same in both")
        if same and first.refines == second.refines:
            said = f"{one.id} and {other.id} both fit {first.vendor}, family {first.family}, model {shared[0]}"
            cure = "give match other models or steppings, or a refinement: l3, hbm or name"
            yield read_sheet(file_of(other.id)).wrong(("match",), said, cure)


def _processors_of_two() -> Iterator[BadSheet]:
    """Yield processors that two sheets list, or that do not bear the names of their platform."""
    seen: dict[str, str] = {}
    for platform in platforms():
        sheet = read_sheet(file_of(platform.id))
        for name in platform.processors:
            place = ("processors", name)
            if name in seen:
                yield sheet.wrong(place, f"{name} stands in the sheet of {seen[name]} too", "keep one of them")
            elif not re.fullmatch(platform.series, name, re.IGNORECASE):
                yield sheet.wrong(place, f"{name} is no name of series {platform.series}", "widen series, or correct the name")
            seen[name] = platform.id
