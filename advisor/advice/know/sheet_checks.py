"""What `advisor rules check` finds between sheets that are each right by themselves: every mistake with file, line and cure.

A platform that no generation of a vendor holds, a trait that no platform has, a processor of two platforms, a setting of which
a vendor's sheet says nothing: none of them breaks an audit, each makes it silently worse.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from advisor.advice.know.platform_checks import platform_mistakes
from advisor.advice.know.setting_checks import setting_mistakes
from advisor.advice.know.settings import settings
from advisor.advice.know.vendors import FALLBACK, generations_of, same_servers, vendor_file, vendors
from advisor.advice.model.vendor import Entry, Vendor
from advisor.errors import BadSheet, did_you_mean
from advisor.machine.platform_traits import Scheme, TraitQuery, Traits, file_of, traits
from advisor.machine.value import Keys
from advisor.measure.platforms import published_mistakes
from advisor.paths import rules
from advisor.sheets import Sheet, read_sheet

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


def mistakes(expressions: Iterable[Expression] = ()) -> Iterator[BadSheet]:
    """Yield every mistake between the sheets, and those of rules that ask for what no platform is."""
    yield from _misplaced_files()
    of_platforms = [*platform_mistakes(), *_misspelt_families()]
    yield from of_platforms
    if not of_platforms:
        yield from published_mistakes()
    of_settings = [*setting_mistakes()]
    yield from of_settings
    wrong = {Path(each.file or "").stem for each in of_platforms}
    for vendor in vendors().values():
        sheet = read_sheet(vendor_file(vendor.id))
        yield from _not_recognised(vendor, sheet)
        idle = [*_fits_none(vendor, sheet)]
        yield from idle or _not_held(vendor, sheet, [each for each in traits() if each.id not in wrong])
        yield from _evidence_without_end(vendor, sheet)
        yield from _not_said_once(vendor, sheet)
        yield from _not_filled_in(vendor, sheet)
        if not of_settings:
            yield from _settings_not_said(vendor, sheet)
    yield from _asked_in_vain(expressions)


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
                said = f"a server that this recognises is recognised by {vendor_file(other.id).name} as well"
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
            yield sheet.wrong(place, "no trait is named, so every platform fits", "write {family: NAME, generation: NUMBER}")
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
                    cure = did_you_mean(word, _FILLED, f"there are {', '.join(_FILLED)}")
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
                    cure = did_you_mean(word, known[name], f"there are {', '.join(sorted(known[name]))}")
                    what = f"no platform has {name.partition('.')[2]}" if "." in name else "there is no sheet of a vendor"
                    yield BadSheet(f"{rule}: {what} {word}", file=file, place=f"line {line}", cure=cure)
