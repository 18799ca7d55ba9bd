"""Every mistake in our own sheets of platforms, vendors, settings and intents, with file, line and cure: python -m tests.sheets.

A platform that no generation of a vendor holds, a trait that no platform has, a processor of two platforms, a setting of which
a vendor's sheet says nothing: none of them breaks an audit, each makes it silently worse. The product does not look for them
at every start.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice, permutations
from math import log2
from pathlib import Path
from typing import Final, NamedTuple

from advisor.advice.expression import parse
from advisor.advice.expression_tree import TRUTH, Node, alike
from advisor.advice.judge.rule import scope_with, setting_kind
from advisor.advice.judge.rulebook import expressions
from advisor.advice.judgement import mistakes_between, own_rules
from advisor.advice.know.fixes import intents
from advisor.advice.know.vendors import (
    FALLBACK,
    generations_of,
    publications,
    settings,
    vendor_files,
    vendors,
)
from advisor.advice.model.sheets import Choice, Entry, Match, Setting, Vendor
from advisor.errors import AdvisorError, BadSheet, BadValue, did_you_mean
from advisor.machine.hardware import Cpu
from advisor.machine.jinja import about, template_files, template_text
from advisor.machine.partitioning import scheme_without_sheet
from advisor.machine.platform_traits import Scheme, TraitQuery, Traits, file_of, traits
from advisor.machine.value import Keys
from advisor.measure.platform import (
    WITHOUT_SHEET,
    Platform,
    PublishedFigure,
    Reference,
    for_model,
    platform_by_id,
    platforms,
    processor,
    published_files,
    read_published,
    socket_bandwidth,
)
from advisor.paths import rules
from advisor.sheets import Sheet, read_sheet

Wrong = tuple[Keys, str, str]
"""The place in a sheet, what is wrong there, and what to write."""


def _setting_itself(setting: Setting) -> Iterator[Wrong]:
    """Yield what is wrong in one setting, whatever else there is."""
    if setting.type == "choice" and len(setting.values) < 2:
        yield ("values",), "a choice needs two values or more", "write each with its meaning: {on: ..., off: ...}"
    if setting.type == "number" and (words := [value for value in setting.values if not value.lstrip("-").isdigit()]):
        yield ("values", words[0]), f"{words[0]} is not a number", "the values of a number are numbers; or type: choice"
    if setting.type != "number" and setting.unit:
        yield ("unit",), f"a {setting.type} has no unit", "take it out, or write type: number"
    if setting.where != "bios" and setting.menu:
        yield ("menu",), "only settings of the BIOS stand in its menus", "take it out, or write where: bios"
    writes = setting.set.writes if setting.set else {}
    named: tuple[tuple[Keys, Iterable[str]], ...] = (
        (("only_read",), setting.only_read),
        (("only_with",), setting.only_with),
        (("set", "writes"), writes),
    )
    for place, given in named:
        if unknown := next((value for value in given if value not in setting.values), None):
            cure = did_you_mean(unknown, setting.values, f"available: {', '.join(setting.values)}")
            yield (*place, unknown), f"{place[-1]}: {unknown[:60]} is not a value of this setting", cure
    yield from _written(setting, writes) if setting.set else ()
    scope = scope_with(None)
    for number, reading in enumerate(setting.read):
        try:
            _must_tell(setting, parse(reading.value, scope))
        except BadValue as error:
            yield ("read", number), f"{setting.name}: {error.problem}", error.cure or ""


_WAYS: Final = ("sysctl", "sysfs", "cmdline", "service", "limits", "command")
"""The places of which one at least takes a value."""


def _written(setting: Setting, writes: Mapping[str, str]) -> Iterator[Wrong]:
    """Yield what cannot be written, or not be told apart when it is read back."""
    ways = [name for name in _WAYS if getattr(setting.set, name)]
    if not ways:
        yield ("set",), "set names no place", f"write {', '.join(_WAYS)}; or set: null if only a person can"
    if setting.where == "boot" and "cmdline" not in ways:
        yield ("set",), "where: boot, and no boot option", "write cmdline: OPTION={value}, or where: os"
    if "sysctl" in ways and "sysfs" in ways:
        yield ("set",), "sysctl and sysfs are two places for one value", "keep one of them"
    silent = [value for value in setting.values if value not in (*writes, *setting.only_read)]
    if setting.type == "choice" and writes and silent:
        yield ("set", "writes"), f"writes does not say {silent[0]}", f'write {silent[0]}: "WHAT IS WRITTEN FOR IT"'
    texts = list(writes.values())
    if same := next((text for text in texts if texts.count(text) > 1), None):
        yield ("set", "writes"), f"two values are written as {same[:40]}", "each value has its own text"


def _must_tell(setting: Setting, node: Node) -> None:
    """Refuse a reading that can never yield a value of its setting; true and false are on and off."""
    kind = setting_kind(setting)
    switch = setting.type == "choice" and {"on", "off"} <= setting.values.keys() and node.kind == TRUTH
    if not switch and not alike(node.kind, kind):
        values = f"one of {', '.join(setting.values)}" if setting.type == "choice" else f"a {kind}"
        problem = f"{node.text[:60]} is a {node.kind}, and the setting is {values}"
        raise BadValue(problem, cure="write an expression that yields one")


def _entry_itself(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield what is wrong in one entry of a vendor, and what to write."""
    names = [name for name in (entry.attribute, entry.prefix, entry.numbered) if name]
    if len(names) > 1:
        yield "more than one name of an attribute", "keep one of attribute, prefix and numbered"
    if entry.numbered is not None and entry.numbered.count("{n}") != 1:
        yield "numbered has {n} once", "write it so"
    if not entry.values and not entry.passes:
        yield "no word for any value", "write values: {NEUTRAL: VENDOR'S}, or passes"
    if entry.seen and not names:
        yield "what is seen has an attribute", "name it"
    if wrong := [value for seen in entry.seen.values() if seen != "all" for value in seen if value not in entry.values]:
        yield f"seen: {wrong[0]} is not a value of this entry", f"available: {', '.join(entry.values)}"


def _entries(vendor: Vendor) -> Iterator[tuple[Keys, Entry]]:
    """Yield every entry with its place in the sheet."""
    for name, entries in vendor.settings.items():
        yield from ((("settings", name, number), entry) for number, entry in enumerate(entries))


def _generations_named(vendor: Vendor) -> Iterator[tuple[Keys, str]]:
    """Yield every generation that is named, with its place in the sheet."""
    places: list[tuple[Keys, tuple[str, ...]]] = [(place, entry.platforms) for place, entry in _entries(vendor)]
    places += [(("absent", number), each.platforms) for number, each in enumerate(vendor.absent)]
    places += [(("locks", number), each.platforms) for number, each in enumerate(vendor.locks)]
    places += [(("one_time", number), each.platforms) for number, each in enumerate(vendor.one_time)]
    places += [(("evidence", name), each.platforms) for name, each in vendor.evidence.items()]
    yield from ((place, word) for place, words in places for word in words)


def vendor_itself(vendor: Vendor) -> Iterator[Wrong]:
    """Yield what is wrong in one vendor's sheet, and what the vocabulary and the publications do not have."""
    yield from _generations_missing(vendor)
    yield from _entries_themselves(vendor)
    yield from _not_in_the_vocabulary(vendor)
    for word, evidence in vendor.evidence.items():
        if evidence.source not in publications():
            cure = did_you_mean(evidence.source, publications(), "see rules/sources.yaml")
            yield ("evidence", word, "source"), f"{evidence.source[:60]} is not a publication", cure


def _generations_missing(vendor: Vendor) -> Iterator[Wrong]:
    """Yield generations that the sheet does not have."""
    for place, word in _generations_named(vendor):
        if word not in vendor.generations:
            cure = did_you_mean(word, vendor.generations, f"available: {', '.join(vendor.generations)}")
            yield (*place, "platforms"), f"{word[:60]} is none of this vendor's generations", cure


def _entries_themselves(vendor: Vendor) -> Iterator[Wrong]:
    """Yield what is wrong in entries, and evidence that they cannot have."""
    every = {platform for ids in vendor.generations.values() for platform in ids}
    for place, entry in _entries(vendor):
        for said, way in _entry_itself(entry):
            yield place, f"{place[1]}: {said}", way
        for seen in (*entry.seen, *(seen for need in entry.requires for seen in need.seen)):
            if seen not in vendor.evidence:
                cure = did_you_mean(seen, vendor.evidence, "list it under evidence")
                yield (*place, "seen", seen), f"{place[1]}: {seen} is not an evidence of this sheet", cure
                continue
            shown = vendor.evidence[seen].platforms  # of a generation that has no platform another error speaks
            there = all(vendor.generations.get(word) for word in shown)
            if there and not any(vendor.serves(entry.platforms, each) and vendor.serves(shown, each) for each in every):
                said = f"{place[1]}: {seen} is of none of the generations that this entry is for"
                yield (*place, "seen", seen), said, f"it is of {', '.join(shown)}"


def _not_in_the_vocabulary(vendor: Vendor) -> Iterator[Wrong]:
    """Yield settings of no BIOS, and values that a setting has not."""
    known = settings()
    named: list[tuple[Keys, str]] = [(("settings", name), name) for name in vendor.settings]
    for at, absent in enumerate(vendor.absent):
        named += [(("absent", at, "settings", number), name) for number, name in enumerate(absent.settings)]
    for place, name in named:
        if name not in known:
            yield place, f"{name[:60]} is not a setting", did_you_mean(name, known, "see rules/settings.yaml", cutoff=0.6)
        elif known[name].where != "bios":
            problem = f"{name} is not a setting of the BIOS: the operating system takes it, whoever built the server"
            yield place, problem, "take it out"
    for place, entry in _entries(vendor):
        setting = known.get(str(place[1]))
        words = [("values", word, word) for word in entry.values] + [("reads", key, str(to)) for key, to in entry.reads.items()]
        for key, inside, word in words if setting else ():
            if setting and not setting.takes(setting.neutral(word)):
                there = did_you_mean(word, setting.values, f"available: {', '.join(setting.values)}")
                yield (*place, key, inside), f"{word[:60]} is not a value of {setting.name}", there


_VARYING: Final = ("flops_per_cycle", "channels", "memory_speed")
_FIGURES = (
    *_VARYING, "launched", "socket", "memory_kind", "memory_speed_2dpc", "memory_speed_most", "die_bandwidth", "pcie",
    "l3_per_die",
)  # fmt: skip


def _platform_itself(platform: Platform) -> Iterator[Wrong]:
    """Yield a figure without a source, advice of a partitioning that is not offered, and what its traits demand besides."""
    given = {name for name in _FIGURES if getattr(platform, name) is not None}
    given |= {name for variant in platform.variants for name in _VARYING if getattr(variant, name) is not None}
    if unsaid := sorted(given - platform.sources.keys()):
        yield (unsaid[0],), f"{unsaid[0]} has no source", f"write {unsaid[0]}: ID, its publication, under sources"
    if idle := sorted(platform.sources.keys() - given):
        cure = did_you_mean(idle[0], given, f"available: {', '.join(sorted(given))}") or "take it out"
        yield ("sources", idle[0]), f"sources names {idle[0]}, of which this sheet has no figure", cure
    names = {cut.name for cut in platform.cuts}
    for number, advice in enumerate(platform.best):
        if advice.cut not in names:
            cure = did_you_mean(advice.cut, names, f"available: {', '.join(sorted(names))}") or "correct it"
            yield ("best", number, "cut"), f"best names the partitioning {advice.cut[:40]}, which cuts does not list", cure
    yield from (((key,), said, cure) for key, said, cure in _lacking(platform))


def _citations(platform: Platform) -> Iterator[tuple[Keys, str]]:
    """Yield every publication that a platform names, with the place in its sheet."""
    yield from ((("sources", name), source) for name, source in platform.sources.items())
    for key in ("cuts", "best", "variants", "references"):
        yield from (((key, number, "source"), part.source) for number, part in enumerate(getattr(platform, key)))
    yield from ((("processors", name, "source"), each.source) for name, each in platform.processors.items())


_SAID_OF: dict[str, tuple[str, ...] | None] = {
    **dict.fromkeys(("flops_per_cycle", "memory_kind", "memory_speed", "pcie")),
    "best": ("DIES", "NPS", "COD", "SNC"),
}
"""What every sheet says, or that it is not known, and of which schemes: without it audits and checklists are silently worse."""

_CUTS_OF = {"NPS": ("NPS1",), "SNC": ("none",), "COD": ("none", "COD"), "WHOLE": ("none",)}
"""The cuts that every firmware of a scheme offers."""


def _lacking(platform: Platform) -> Iterator[tuple[str, str, str]]:
    """Yield what a platform's traits demand and its sheet does not say: the key, what is wrong, and what to write."""
    for key, of in _SAID_OF.items():
        if key not in platform.model_fields_set and (of is None or platform.scheme in of):
            empty = "[]" if key == "best" else "null"
            yield "id", f"{key} is not said", f"write it with its publication, or {key}: {empty} where nobody has published it"
    names = {cut.name for cut in platform.cuts}
    for cut in _CUTS_OF.get(platform.scheme, ()):
        if cut not in names:
            said = f"scheme {platform.scheme} names the partitioning {cut}, and cuts does not list it"
            yield (
                "cuts",
                said,
                f"add {{name: {cut}, nodes: {2 if cut == 'COD' else 1}, called: NAME IN THE SETUP MENU, source: ID}}",
            )
    if platform.scheme in ("NPS", "DIES") and platform.l3_per_die is None:
        said = f"scheme {platform.scheme} is offered by dies, and nothing says how many L3 groups a die has"
        yield "scheme", said, "add l3_per_die: 1, and its publication under sources"
    dimms = (platform.memory_kind or "").startswith("DDR")
    if dimms and platform.channels is None and not any(variant.channels for variant in platform.variants):
        yield (
            "memory_kind",
            f"{platform.memory_kind} stands in channels, and none are given",
            "add channels, or variants with theirs",
        )
    if platform.hbm_and_dimms and not (platform.match.hbm or platform.match.name):
        said = "hbm_and_dimms, but match does not tell it from processors without HBM"
        yield "match", said, "add hbm: true or name: to match"


def platform_mistakes() -> Iterator[BadSheet]:
    """Yield what is wrong in platform sheets, and between them."""
    sheets = {platform.id: read_sheet(file_of(platform.id)) for platform in platforms()}
    alone = [sheets[platform.id].wrong(*each) for platform in platforms() for each in islice(_platform_itself(platform), 1)]
    yield from alone
    for platform in () if alone else platforms():
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
    if not alone:
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
        null = "" if silent == ["architecture"] else "; null if unknown"
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
    for place, source in (*_citations(platform), *noted):
        if source not in publications() and place[0] in sheet.data:
            cure = did_you_mean(source, publications(), "add it to rules/sources.yaml, or write unverified")
            yield sheet.wrong(place, f"{source[:60]} is not a known publication", cure)


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
                (*place, "name"), f"{cut.name[:40]} is not a partitioning of scheme {platform.scheme}", f"it has {words}"
            )
        elif cut.per == "socket" and cut.name[-1].isdigit() and cut.name[3:] != str(cut.nodes):
            yield sheet.wrong((*place, "nodes"), f"{cut.name} gives {cut.nodes} NUMA nodes", f"write nodes: {cut.name[3:]}")
    names = {cut.name for cut in platform.cuts}
    for number, each in enumerate(platform.references):
        if each.cut and each.cut not in names:
            cure = did_you_mean(each.cut, names, f"available: {', '.join(sorted(names))}")
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
                yield sheet.wrong(place, f"{name} is not a name of series {platform.series}", "widen series, or correct the name")
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


_SAID: Final = (
    ("menu", ("bios",), "its usual names in setup menus, most common first"),
    ("show", ("boot", "os", "fabric", "scheduler"), "the command that shows the current value on Linux"),
    ("set", ("boot", "os", "fabric", "scheduler"), "how the operating system sets it; null if nothing but a person can"),
    ("read", ("boot", "os", "fabric", "scheduler"), "how facts show it; [] where none does: rules on it stay unknown then"),
)
"""What a setting of some places says of itself, or that there is nothing to say."""


def setting_mistakes() -> Iterator[BadSheet]:
    """Yield settings that leave out what the product needs, cite nothing or no publication, or read words they do not have."""
    known, sheet = publications(), read_sheet(rules() / "settings.yaml")
    for name, each in settings().items():
        for key, places, means in _SAID:
            if each.where in places and key not in each.model_fields_set:
                yield sheet.wrong((name,), f"{name} does not say {key}", f"write {key}: {means}")
        for number, reading in enumerate(each.read):
            for word in _yielded(reading.value):
                if not each.takes(word):
                    there = f"available: {', '.join(each.values)}" if each.values else f"a {each.type} is expected"
                    cure = did_you_mean(str(word), each.values, there)
                    yield sheet.wrong((name, "read", number), f"{name} reads {word}, which is no value of it", cure)
        yield from _placed(name, each, sheet)
        if not each.sources:
            yield sheet.wrong((name,), f"{name} has no sources", "write: sources: [ID], of rules/sources.yaml")
        for number, source in enumerate(each.sources):
            if source not in known:
                cure = did_you_mean(source, known, "rules/sources.yaml has them")
                yield sheet.wrong((name, "sources", number), f"{name} cites {source}, which rules/sources.yaml has not", cure)


def _placed(name: str, setting: Setting, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield a name or a term that misleads, a companion that there is none of, and no word on why nothing shows it."""
    if setting.where == "bios" and bool(setting.read) == bool(setting.hidden):
        said = "is read, and says why it is hidden" if setting.read else "is not read, and does not say why"
        cure = "take hidden out" if setting.read else "write read, or hidden: why nothing in a running system shows it"
        yield sheet.wrong((name,), f"{name} {said}", cure)
    others = {other: each for other, each in settings().items() if other != name}
    group = name.partition(".")[0]
    groups = {other.partition(".")[0] for other in others}
    like = [each.where == "bios" for other, each in others.items() if other.startswith(f"{group}.")]
    near = None if like else did_you_mean(group, groups, None, cutoff=0.7)
    if near:
        yield sheet.wrong((name,), f"no other setting is called {group}.*", near)
    elif like and (setting.where == "bios") not in like:
        said = f"where: {setting.where}, but {group}.* are settings of {'the BIOS' if like[0] else 'the operating system'}"
        yield sheet.wrong((name, "where"), said, "correct it, or give the setting the name of another group")
    before = {other: each for other, each in others.items() if sheet.line((other,)) < sheet.line((name,))}
    if same := next((other for other, each in before.items() if each.term.lower() == setting.term.lower()), None):
        yield sheet.wrong((name, "term"), f"{same} has the term {setting.term} too", "each setting has its own")
    if "name" in sheet.data[name]:
        yield sheet.wrong((name, "name"), "a setting is called by its key", "take name out")
    for value, other in setting.only_with.items():
        if other not in others:
            cure = did_you_mean(other, others, "rules/settings.yaml has them")
            yield sheet.wrong((name, "only_with", value), f"{other[:60]} is not a setting", cure)


def _yielded(expression: str) -> tuple[str | int, ...]:
    """Return the words that a reading yields, as far as it writes them out; what is no expression is said elsewhere."""
    try:
        todo = [ast.parse(expression, mode="eval").body]
    except SyntaxError:
        return ()
    found: list[str | int] = []
    for tree in todo:
        if isinstance(tree, ast.IfExp):
            todo += [tree.body, tree.orelse]
        elif isinstance(tree, ast.Constant) and isinstance(tree.value, str | int):
            found.append(tree.value)
    return tuple(found)


_ASKED: Final = ("family", "socket", "core_type", "scheme", "vendor", "architecture")
"""Traits of which a rule may ask for a word."""

_COMPARED = re.compile(rf"(?<![\w.])(platform\.(?:{'|'.join(_ASKED)})|vendor) (?:==|!=|in|not in) (\"[^\"]*\"|\[[^\]]*\])")


class Expression(NamedTuple):
    """An expression of a rule, and where the rule stands."""

    file: str
    line: int
    rule: str
    text: str


def _misplaced_files() -> Iterator[BadSheet]:
    """Yield files of the rules that nothing reads, for their names are not those of sheets."""
    for file in sorted(rules().rglob("*")):
        known = ".csv" if file.parent.name == "published" else ".yaml"
        if file.is_file() and file.suffix != known and file.name != "README.md":
            yield BadSheet("no sheet is called so, and nothing reads it", file=str(file), cure=f"call it {file.stem}{known}")


def mistakes() -> Iterator[BadSheet]:
    """Yield every mistake in the sheets and between them; what is wrong by itself is mended before it is compared."""
    yield from _misplaced_files()
    of_platforms = [*platform_mistakes(), *_misspelt_families()]
    yield from of_platforms
    if not of_platforms:
        yield from published_mistakes()
    vocabulary = read_sheet(rules() / "settings.yaml")
    alone = [
        vocabulary.wrong((name, *place), said, cure)
        for name, setting in settings().items()
        for place, said, cure in islice(_setting_itself(setting), 1)
    ]
    of_settings = alone or [*setting_mistakes()]
    yield from of_settings
    if alone:
        return
    yield from intent_mistakes()
    wrong = {Path(each.file or "").stem for each in of_platforms}
    for name, vendor in vendors().items():
        sheet = read_sheet(vendor_files()[name])
        if vendor.id != name:
            yield sheet.wrong(("id",), f"id {vendor.id} stands in a file of another name", f"write id: {name}")
            continue
        itself = [sheet.wrong(*each) for each in vendor_itself(vendor)]
        yield from itself
        if itself:
            continue
        yield from _not_recognised(vendor, sheet)
        idle = [*_fits_none(vendor, sheet)]
        yield from idle or _not_held(vendor, sheet, [each for each in traits() if each.id not in wrong])
        yield from _evidence_without_end(vendor, sheet)
        yield from _not_said_once(vendor, sheet)
        yield from _not_filled_in(vendor, sheet)
        if not of_settings:
            yield from _settings_not_said(vendor, sheet)
    yield from _formats_for_nobody()


def _not_recognised(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield sheets whose servers nothing recognises, or another sheet does as well, and those that fall back on none."""
    if vendor.id == FALLBACK:
        return
    if not any(rule.model_fields_set for rule in vendor.match):
        cure = "write match: [{system_vendor: [NAME IN SMBIOS]}] (dmidecode -s system-manufacturer)"
        yield sheet.wrong(("id",), f"{vendor.name} has no match, so none of its servers is recognised", cure)
    for other in vendors().values():
        for number, one in enumerate(vendor.match if vendor.id < other.id else ()):
            if any(same_servers(one, two) for two in other.match):
                said = f"a server that this recognises is recognised by {vendor_files()[other.id].name} as well"
                yield sheet.wrong(("match", number), said, "narrow one of the two: a product goes before a vendor's name")
    if not vendor.setup:
        yield sheet.wrong(("id",), f"{vendor.name} does not say how its setup is reached", "write setup: KEY at boot")
    others = [name for name in vendors() if name != vendor.id]
    if vendor.falls_back not in (None, *others):
        cure = did_you_mean(vendor.falls_back or "", others, f"write {FALLBACK}", cutoff=0.7)
        yield sheet.wrong(("falls_back",), f"there is no other sheet of {vendor.falls_back}", cure)


def _not_held(vendor: Vendor, sheet: Sheet, platforms: Iterable[Traits]) -> Iterator[BadSheet]:
    """Yield platforms that a vendor neither builds servers with nor is said not to; those of one query in one line."""
    missing: dict[str, list[Traits]] = {}
    twice: dict[str, list[str]] = {}
    for platform in platforms:
        held = [word for word, ids in vendor.generations.items() if platform.id in ids]
        left = any(query.fits(platform) for query in vendor.not_covered)
        if not held and not left:
            missing.setdefault(_query_for(platform), []).append(platform)
        elif held and left:
            twice.setdefault(held[0], []).append(platform.id)
    for query, found in missing.items():
        said = f"no generation of {vendor.name} holds {', '.join(each.id for each in found)} ({found[0].told})"
        yield sheet.wrong(("generations",), said, f"write {query} at one of its generations, or in not_covered")
    for word, ids in twice.items():
        said = f"{word} and not_covered both hold {', '.join(ids)}"
        yield sheet.wrong(("generations", word), said, "narrow one of the two")


def _query_for(platform: Traits) -> str:
    return f"{{family: {platform.family}, generation: {platform.generation}}}"


def _misspelt_families() -> Iterator[BadSheet]:
    """Yield platforms of a family that nothing else is of, which some vendors lack, and which is nearly another's name."""
    for platform in traits():
        others = {each.family for each in traits() if each.id != platform.id}
        near = None if platform.family in others else did_you_mean(platform.family, others, None, cutoff=0.7)
        lacking = [vendor.id for vendor in vendors().values() if not _speaks_of(vendor, platform)] if near else []
        if near and lacking:
            said = f"{', '.join(lacking)} of rules/vendors hold no family {platform.family}"
            cure = f"{near} Else write {_query_for(platform)} into generations or not_covered of each"
            yield read_sheet(file_of(platform.id)).wrong(("family",), said, cure)


def _speaks_of(vendor: Vendor, platform: Traits) -> bool:
    held = any(platform.id in ids for ids in vendor.generations.values())
    return held or any(query.fits(platform) for query in vendor.not_covered)


def _fits_none(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield traits that no platform has."""
    asked = [(("generations", word), query) for word, queries in generations_of(sheet).items() for query in queries]
    for place, query in (*asked, *((("not_covered",), query) for query in vendor.not_covered)):
        if not query.model_fields_set:
            yield sheet.wrong(
                place, "no trait is given, so every platform would match", "write {family: NAME, generation: NUMBER}"
            )
        elif not any(query.fits(platform) for platform in traits()):
            yield sheet.wrong(place, f"no platform has the traits {_told(query)}", _nearest(query))


def _told(query: TraitQuery) -> str:
    first, last = query.generation or (None, None)
    ends = f"{first}" if first == last else f"{first}..{last or ''}"
    traits_asked = query.model_dump(exclude_defaults=True) | ({"generation": ends} if query.generation else {})
    return ", ".join(f"{name} {value}" for name, value in traits_asked.items())


def _nearest(query: TraitQuery) -> str | None:
    families = {platform.family for platform in traits()}
    if query.family is not None and query.family not in families:
        return did_you_mean(query.family, families, f"available: {', '.join(sorted(families))}")
    return "compare with the sheets of rules/platforms"


def _evidence_without_end(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield evidence of a generation that later platforms join by themselves: what was seen of one was not seen of them."""
    written = generations_of(sheet)
    for name, evidence in vendor.evidence.items():
        for word in evidence.platforms:
            if not all(query.bounded or query.family in _ENDED for query in written[word]):
                said = f"{name} is of {word}, which later platforms join"
                yield sheet.wrong(("evidence", name), said, "name a generation that ends: generation: 6, or 4..5")


_ENDED: Final = ("xeon-e5",)
"""Product lines that have no successor of the same name."""


def _settings_not_said(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield the settings of the BIOS of which a vendor's sheet says nothing, in one line to take them from."""
    said = {*vendor.settings, *(name for absent in vendor.absent for name in absent.settings)}
    unsaid = [name for name, setting in settings().items() if setting.where == "bios" and name not in said]
    if unsaid:
        its, it = ("its", "it") if len(unsaid) == 1 else ("their", "them")
        cure = f"add {its} place under settings, or list {it} under absent with offered: no or unknown, and why"
        yield sheet.wrong(("settings",), f"{vendor.name} says nothing of {', '.join(unsaid)}", cure)


def _not_said_once(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield settings of which a sheet says two things, and two values with one word."""
    for name, entries in vendor.settings.items():
        place: Keys = ("settings", name)
        if any(name in absent.settings and not absent.platforms for absent in vendor.absent) and not entries[0].platforms:
            yield sheet.wrong(place, f"{name} stands under absent too", "keep one of them, or give each its platforms")
        for number, entry in enumerate(entries):
            twin = next((each for each in entries[:number] if _same_place(vendor, each, entry)), None)
            if twin:
                yield sheet.wrong(
                    (*place, number), f"{name} has an entry for such servers above", "narrow platforms, or join the two"
                )
            words = [(type(word), word) for word in entry.values.values()]
            if same := next((word for _, word in words if words.count((type(word), word)) > 1), None):
                yield sheet.wrong((*place, number, "values"), f"two values are both called {same}", "each value has its own word")
            makers = settings()[name].makers
            served = [each.maker for each in traits() if vendor.serves(entry.platforms, each.id)]
            if makers and served and not set(makers) & set(served):
                said = f"{name} is of {', '.join(makers)}, and these platforms are of {', '.join(sorted(set(served)))}"
                yield sheet.wrong((*place, number), said, "correct platforms")


def _same_place(vendor: Vendor, one: Entry, other: Entry) -> bool:
    """Return whether two entries are for some platform both, and name the same attribute or none."""
    names = [(each.attribute, each.prefix, each.numbered) for each in (one, other)]
    both = any(vendor.serves(one.platforms, each.id) and vendor.serves(other.platforms, each.id) for each in traits())
    return both and names[0] == names[1]


_FILLED: Final = ["attribute", "value", "group", "dotted", "label", "menu", "pairs", "body", "keys", "names"]
"""What the lines of a vendor's tools may have in braces."""


def _not_filled_in(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield words in braces that nothing fills in: they would be typed as they stand."""
    for key in type(vendor.tools).model_fields if "tools" in sheet.data else ():
        lines = getattr(vendor.tools, key)
        for line in ((lines,) if isinstance(lines, str) else lines or ()) if key != "notes" else ():
            for word in re.findall(r"\{(\w+)\}", line):
                if word not in _FILLED:
                    cure = did_you_mean(word, _FILLED, f"available: {', '.join(_FILLED)}")
                    yield sheet.wrong(("tools", key), f"nothing is filled in for {{{word}}}", cure)


def _asked_in_vain(expressions: Iterable[Expression]) -> Iterator[BadSheet]:
    """Yield rules that ask for a platform by its id, or for a word that is no platform's trait."""
    known = {f"platform.{name}": {str(getattr(each, name)) for each in traits()} for name in _ASKED}
    known |= {"platform.scheme": set(Scheme.__members__), "vendor": set(vendors())}
    for file, line, rule, text in expressions:
        if re.search(r"\bplatform\.id\b", text):
            cure = "ask for traits, which later platforms have too: platform.family, platform.generation, platform.socket"
            yield BadSheet(f"{rule} asks for platform.id", file=file, place=f"line {line}", cure=cure)
        for name, words in _COMPARED.findall(text):
            for word in re.findall(r'"([^"]*)"', words):
                if word not in known[name]:
                    cure = did_you_mean(word, known[name], f"available: {', '.join(sorted(known[name]))}")
                    what = f"no platform has {name.partition('.')[2]}" if "." in name else "there is no sheet of a vendor"
                    yield BadSheet(f"{rule}: {what} {word}", file=file, place=f"line {line}", cure=cure)


def same_servers(one: Match, other: Match) -> bool:
    """Return whether two rules recognise some server equally well: each asks for the same fields, and for words that can be one.

    >>> same_servers(Match(system_vendor=("Acme",)), Match(system_vendor=("ACME Corp",)))
    True
    >>> same_servers(Match(system_vendor=("Acme",)), Match(system_vendor=("Acme",), product=("Anvil",)))
    False
    """
    pairs = [(getattr(one, name), getattr(other, name), name == "product") for name in Match.model_fields]
    if any((first is None) != (second is None) for first, second, _ in pairs):
        return False
    return all(any(_alike(a, b, part=part) for a in first for b in second) for first, second, part in pairs if first is not None)


def _alike(one: str, other: str, *, part: bool) -> bool:
    """Return whether two words can be of one name: a vendor's begins with them, a product's may have them anywhere."""
    short, long = sorted((_plain(one), _plain(other)), key=len)
    return short in long if part else long.startswith(short)


def _plain(name: str) -> str:
    """Return a product's name without marks: HPE_CRAY_EX235A and HPE Cray EX235a are one."""
    return re.sub(r"[^a-z0-9]+", " ", name.lower())


def intent_mistakes() -> Iterator[BadSheet]:
    """Yield intents that name a setting, a value, a publication or a vendor that there is not."""
    sheet = read_sheet(rules() / "intents.yaml")
    for intent, whole in intents().items():
        for name, choices in whole.settings.items():
            place: Keys = (intent, "settings", name)
            known = settings().get(name)
            if known is None or known.where != "bios":
                yield sheet.wrong(place, f"{name} is not a setting of the BIOS", "see rules/settings.yaml")
                continue
            for at, choice in enumerate(choices):
                yield from (sheet.wrong((*place, at), wrong, cure) for wrong, cure in _of_choice(choice, known))


def _of_choice(choice: Choice, setting: Setting) -> Iterator[tuple[str, str]]:
    """Yield what a choice names that there is not, each with what there is."""
    if choice.value is not None and not setting.takes(setting.neutral(choice.value)):
        near = did_you_mean(choice.value, setting.values, f"available: {', '.join(setting.values)}")
        yield f"{choice.value[:60]} is not a value of {setting.name}", near
    for guide in choice.guides:
        if guide.ref not in publications():
            yield f"{guide.ref[:60]} is not a known publication", "add it to rules/sources.yaml"
    for vendor in choice.vendors:
        if vendor not in vendor_files():
            yield f"{vendor[:60]} is not a vendor", f"available: {', '.join(vendor_files())}"


def published_mistakes() -> Iterator[BadSheet]:
    """Yield rows that no machine can meet, or that are above what the memory of their processor carries."""
    for path in published_files():
        try:
            rows = read_published(path)
        except BadSheet as error:
            yield error
            continue
        platform = None if path.stem == WITHOUT_SHEET else platform_by_id(path.stem)
        for line, figure in rows:
            said = _of_row(figure, platform)
            if said:
                yield BadSheet(said[0], file=str(path), place=f"line {line}", cure=said[1])


_UNIT_OF: Final = {"latency": "seconds", "hpl": "flop/s"}


def _of_row(figure: PublishedFigure, platform: Platform | None) -> tuple[str, str] | None:
    """Return what is wrong with a row, and what to do; None where nothing is."""
    unit = _UNIT_OF.get(figure.metric, "bytes/s")
    if figure.value.unit != unit:
        return f"{figure.metric} counts {figure.value.unit}", f"{unit} are expected"
    if platform is None:
        return None
    if not re.fullmatch(platform.series, figure.processor, re.IGNORECASE):
        return f"{figure.processor} is not a name of {platform.name}", "put it into the file of its own platform"
    cuts = {cut.name for cut in platform.cuts}
    if figure.numa and figure.numa not in cuts:
        return f"no {platform.name} is ever partitioned {figure.numa}", did_you_mean(
            figure.numa, cuts, f"available: {', '.join(cuts)}"
        ) or ""
    own = processor(figure.processor)
    if figure.threads and own.cores and figure.threads > 2 * own.cores * figure.sockets:
        return f"{figure.threads} threads on {figure.sockets} x {own.cores} cores", "correct threads or sockets"
    fitted = for_model(platform, figure.processor)
    fastest = max(fitted.memory_speed_most or 0, fitted.memory_speed or 0)
    if figure.memory_speed and fastest and figure.memory_speed > fastest:
        return f"{figure.memory} is faster than {platform.name} runs its memory", "correct memory"
    if figure.channels and fitted.channels and figure.channels > fitted.channels:
        return f"{figure.channels} channels, and a socket has {fitted.channels}", "correct channels"
    bound = socket_bandwidth(fitted, own.dies)
    if unit == "bytes/s" and bound and (figure.value.high or 0) > bound.value * figure.sockets:
        most = bound.value * figure.sockets / 1e9
        return (
            f"{(figure.value.high or 0) / 1e9:.0f} GB/s is above the {most:.0f} GB/s of {bound.because}",
            "correct value or sockets",
        )
    return None


def _formats_for_nobody() -> Iterator[BadSheet]:
    """Yield formats of the checklist that are for a vendor of whom there is no sheet."""
    for path in template_files("checklist").values():
        for word in about(template_text(path)).vendors:
            if word not in vendors():
                cure = did_you_mean(word, vendors(), f"available: {', '.join(vendors())}")
                yield BadSheet(f"there is no sheet of a vendor {word[:40]}", file=str(path), place="line 1", cure=cure)


class SheetsChecked(NamedTuple):
    """How many sheets there are, how many names of BIOS attributes are in them, and how many of those were seen in firmware."""

    vendors: int
    platforms: int
    names: int
    seen: int


def rule_mistakes() -> Iterator[BadSheet]:
    """Yield what is wrong in our rules, and in those that ask for what no platform is."""
    own = own_rules(examples=True).rules
    yield from _asked_in_vain(Expression(rule.file, rule.line, rule.id, text) for rule in own for text in expressions(rule))
    yield from mistakes_between(own)


def main() -> int:
    """Print every mistake, a line each, or what the sheets rest on; return 2 where there is one."""
    try:
        found: list[AdvisorError] = [*mistakes(), *rule_mistakes()]
    except AdvisorError as error:
        found = [error]
    if found:
        sys.stderr.write("".join(f"{each}\n" for each in found))
        return 2
    makers = vendors().values()
    entries = [(maker, entry) for maker in makers for entries in maker.settings.values() for entry in entries]
    named = [(maker, entry) for maker, entry in entries if entry.attribute or entry.prefix or entry.numbered]
    shown = sum(any(maker.evidence[name].proves for name in entry.seen) for maker, entry in named)
    sys.stdout.write(
        f"{len(makers)} files of vendors and {len(platforms())} of platforms: of {len(named)} names, {shown} were seen in "
        "firmware of the vendor, and are called verified for its generations\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
