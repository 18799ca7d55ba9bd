"""What `advisor rules check` finds between sheets that are each right by themselves: every mistake with file, line and cure.

A platform that no generation of a vendor holds, a trait that no platform has, a processor of two platforms, a setting of which
a vendor's sheet says nothing: none of them breaks an audit, each makes it silently worse.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final, NamedTuple

from advisor.errors import BadSheet, did_you_mean
from advisor.know.platforms import file_of, platforms, traits
from advisor.know.settings import settings
from advisor.know.vendors import generations_of, publications, vendor_file, vendors
from advisor.model.audit.platform import Platform
from advisor.model.audit.platform_traits import TraitQuery, Traits
from advisor.model.audit.vendor import Vendor
from advisor.model.hardware.cpu import Cpu, Scheme, scheme
from advisor.paths import rules
from advisor.sheets import Sheet, read_sheet

_ASKED: Final = ("family", "socket", "core_type", "scheme", "vendor", "architecture")
"""Traits of which a rule may ask for a word."""

_COMPARED = re.compile(rf"platform\.({'|'.join(_ASKED)}) (?:==|!=|in|not in) (\"[^\"]*\"|\[[^\]]*\])")


class Expression(NamedTuple):
    """An expression of a rule, and where the rule stands."""

    file: str
    line: int
    rule: str
    text: str


def _settings_without_source() -> Iterator[BadSheet]:
    """Yield settings that cite nothing, or what is no publication of rules/sources.yaml."""
    known, file = publications(), str(rules() / "settings.yaml")
    for name, each in settings().items():
        if not each.sources:
            yield BadSheet(f"{name} has no sources", file=file, cure="write: sources: [ID], of rules/sources.yaml")
        for source in each.sources:
            if source not in known:
                cure = did_you_mean(source, known, "rules/sources.yaml has them")
                yield BadSheet(f"{name} cites {source}, which rules/sources.yaml has not", file=file, cure=cure)


def mistakes(expressions: Iterable[Expression] = ()) -> Iterator[BadSheet]:
    """Yield every mistake between the sheets, and those of rules that ask for what no platform is."""
    for platform in platforms():
        yield from _of_platform(platform)
    yield from _two_that_fit_one()
    yield from _processors_of_two()
    yield from _settings_without_source()
    for vendor in vendors().values():
        sheet = read_sheet(vendor_file(vendor.id))
        yield from _not_held(vendor, sheet)
        yield from _fits_none(vendor, sheet)
        yield from _evidence_without_end(vendor, sheet)
        yield from _settings_not_said(vendor, sheet)
    yield from _asked_in_vain(expressions)


def _of_platform(platform: Platform) -> Iterator[BadSheet]:
    """Yield where a platform's scheme is not the one that layouts are read by, and publications that are not listed."""
    sheet, match = read_sheet(file_of(platform.id)), platform.match
    cpu = Cpu(vendor=match.vendor, family=match.family, model=match.models[0])
    known = scheme(cpu).name
    if match.family is not None and known != platform.scheme:
        said = f"scheme {platform.scheme}, but processors of family {match.family}, model {match.models[0]} are read as {known}"
        yield sheet.wrong(("scheme",), said, "correct one of the two: the other stands in advisor/model/hardware/cpu.py")
    for source in dict.fromkeys(platform.cited):
        if source not in publications():
            cure = did_you_mean(source, publications(), "add it to rules/sources.yaml, or write unverified")
            yield sheet.wrong(("sources",), f"{source} is no publication", cure)


def _two_that_fit_one() -> Iterator[BadSheet]:
    """Yield platforms that are recognised by the same processors, neither of which refines the other."""
    for one, other in combinations(traits(), 2):
        first, second = one.match, other.match
        shared = sorted(set(first.models) & set(second.models))
        apart = first.steppings and second.steppings and not set(first.steppings) & set(second.steppings)
        same = (first.vendor, first.family) == (second.vendor, second.family) and shared and not apart
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


def _not_held(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield platforms that a vendor neither builds servers with nor is said not to."""
    for platform in traits():
        held = [word for word, ids in vendor.generations.items() if platform.id in ids]
        left = any(query.fits(platform) for query in vendor.not_covered)
        if not held and not left:
            cure = f"write {_query_for(platform)} at one of its generations, or in not_covered"
            yield sheet.wrong(("generations",), f"no generation of {vendor.name} holds {platform.id} ({platform.told})", cure)
        elif held and left:
            said = f"{platform.id} is in {held[0]} and in not_covered"
            yield sheet.wrong(("not_covered",), said, "narrow one of the two")


def _query_for(platform: Traits) -> str:
    return f"{{family: {platform.family}, generation: {platform.generation}}}"


def _fits_none(vendor: Vendor, sheet: Sheet) -> Iterator[BadSheet]:
    """Yield traits that no platform has."""
    asked = [(("generations", word), query) for word, queries in generations_of(sheet).items() for query in queries]
    for place, query in (*asked, *((("not_covered",), query) for query in vendor.not_covered)):
        if not any(query.fits(platform) for platform in traits()):
            yield sheet.wrong(place, f"no platform has the traits {_told(query)}", _nearest(query))


def _told(query: TraitQuery) -> str:
    first, last = query.generation or (None, None)
    ends = f"{first}" if first == last else f"{first}..{last or ''}"
    traits_asked = query.model_dump(exclude_defaults=True) | ({"generation": ends} if query.generation else {})
    return ", ".join(f"{name} {value}" for name, value in traits_asked.items())


def _nearest(query: TraitQuery) -> str | None:
    families = {platform.family for platform in traits()}
    if query.family is not None and query.family not in families:
        return did_you_mean(query.family, families, f"there are {', '.join(sorted(families))}")
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
    """Yield settings of the BIOS of which a vendor's sheet says nothing."""
    said = {*vendor.settings, *(name for absent in vendor.absent for name in absent.settings)}
    for name, setting in settings().items():
        if setting.where == "bios" and name not in said:
            cure = "add its place under settings, or list it under absent with offered: no or unknown, and why"
            yield sheet.wrong(("settings",), f"{vendor.name} says nothing of {name}", cure)


def _asked_in_vain(expressions: Iterable[Expression]) -> Iterator[BadSheet]:
    """Yield rules that ask for a platform by its id, or for a word that is no platform's trait."""
    known = {name: {str(getattr(each, name)) for each in traits()} for name in _ASKED} | {"scheme": set(Scheme.__members__)}
    for file, line, rule, text in expressions:
        if re.search(r"\bplatform\.id\b", text):
            cure = "ask for traits, which later platforms have too: platform.family, platform.generation, platform.socket"
            yield BadSheet(f"{rule} asks for platform.id", file=file, place=f"line {line}", cure=cure)
        for name, words in _COMPARED.findall(text):
            for word in re.findall(r'"([^"]*)"', words):
                if word not in known[name]:
                    cure = did_you_mean(word, known[name], f"there are {', '.join(sorted(known[name]))}")
                    yield BadSheet(f"{rule}: no platform has {name} {word}", file=file, place=f"line {line}", cure=cure)
