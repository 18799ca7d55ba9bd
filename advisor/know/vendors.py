"""The vendors' sheets of rules/vendors, the publications they cite, and which sheet, and words of it, a machine goes by."""

import re
from functools import cache
from pathlib import Path

from advisor.errors import BadSheet, BadValue, did_you_mean
from advisor.know.platforms import traits
from advisor.know.settings import settings
from advisor.model.audit.platform_traits import TraitQuery, maker_of
from advisor.model.audit.rule import Publication, Publications
from advisor.model.audit.setting import Maker
from advisor.model.audit.vendor import Entry, Generations, Match, Vendor
from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.firmware import Firmware
from advisor.model.value import Value
from advisor.paths import rules
from advisor.sheets import Sheet, load_sheet, model_of, read_sheet


@cache
def publications() -> dict[str, Publication]:
    """Return every publication by the id under which it is cited."""
    return load_sheet(rules() / "sources.yaml", Publications).root


FALLBACK = "generic"
"""The sheet for a vendor that has none."""


def _files() -> dict[str, Path]:
    """Return the file of each vendor, in the order of the ids."""
    return {path.stem: path for path in sorted((rules() / "vendors").glob("*.yaml"))}


def vendors() -> dict[str, Vendor]:
    """Return every vendor's sheet under its id, in the order of the ids."""
    return {name: vendor_at(path) for name, path in _files().items()}


@cache
def vendor_at(path: Path) -> Vendor:
    """Return the vendor's sheet that a file holds, its generations as the platforms that have their traits."""
    sheet = read_sheet(path)
    if isinstance(sheet.data, dict) and "generations" in sheet.data:
        named = {word: _having(queries) for word, queries in generations_of(sheet).items()}
        sheet = sheet._replace(data={**sheet.data, "generations": named})
    vendor = model_of(sheet, Vendor)
    if vendor.id != path.stem:
        raise BadSheet(f"id {vendor.id} stands in a file of another name", file=str(path), cure=f"call it {vendor.id}.yaml")
    _check(str(path), vendor)
    return vendor


def generations_of(sheet: Sheet) -> dict[str, tuple[TraitQuery, ...]]:
    """Return a sheet's generations as it writes them."""
    return model_of(sheet._replace(data={"generations": sheet.data["generations"]}), Generations).generations


def _having(queries: tuple[TraitQuery, ...]) -> list[str]:
    return [each.id for each in traits() if any(query.fits(each) for query in queries)]


def vendor_file(name: str) -> Path:
    """Return the file of a vendor that there is."""
    return _files()[name]


def _check(file: str, sheet: Vendor) -> None:
    """Refuse a sheet that names settings or values that the vocabulary does not have."""
    known = settings()
    names = [*sheet.settings, *(name for absent in sheet.absent for name in absent.settings)]
    for name in names:
        if name not in known:
            raise BadSheet(f"{name} is not a setting", file=file, cure=did_you_mean(name, known, None, cutoff=0.6))
    if wrong := [evidence.source for evidence in sheet.evidence.values() if evidence.source not in publications()]:
        raise BadSheet(
            f"{wrong[0]} is not a publication", file=file, cure=did_you_mean(wrong[0], publications(), "see sources.yaml")
        )
    for name, entries in sheet.settings.items():
        words = [*(word for entry in entries for word in entry.values)]
        words += [str(word) for entry in entries for word in entry.reads.values()]
        if wrong := [word for word in words if not known[name].takes(known[name].neutral(word))]:
            raise BadSheet(f"{wrong[0]} is not a value of {name}", file=file, cure=f"there are {', '.join(known[name].values)}")


def vendor_by_id(name: str) -> Vendor:
    """Return the sheet of an id; the error names the nearest right one."""
    known = _files()
    if name in known:
        return vendor_at(known[name])
    cure = did_you_mean(name.lower(), known, f"there are {', '.join(known)}")
    raise BadValue(f"{name[:60]} is not a vendor", cure=cure)


def match_vendor(firmware: Firmware | None) -> Vendor | None:
    """Return the sheet of a machine's vendor, the generic one for a vendor without a sheet, None where it is not known."""
    if firmware is None:
        return None
    scores = [(max((_score(rule, firmware) for rule in each.match), default=0), each.id) for each in recognition()]
    best, name = max(scores, key=lambda scored: scored[0], default=(0, FALLBACK))
    if best:
        return vendor_by_id(name)
    return vendor_by_id(FALLBACK) if firmware.system_vendor or firmware.board_vendor else None


class Recognised(Value):
    """How a maker's servers are recognised: the head of its sheet."""

    id: str
    match: tuple[Match, ...] = ()


def recognition() -> tuple[Recognised, ...]:
    """Return how each maker is recognised; of a sheet no more is read than that, for all but one are of no use then."""
    return tuple(recognised_by(path) for name, path in _files().items() if name != FALLBACK)


@cache
def recognised_by(path: Path) -> Recognised:
    """Return how the servers of a sheet are recognised, wherever in it that stands."""
    return model_of(read_sheet(path, only=Recognised.model_fields), Recognised)


def _score(rule: Match, firmware: Firmware) -> int:
    """Return how closely a rule fits: a product says more than a system's vendor, that more than a board's; 0 not at all."""
    tests = (
        (4, rule.product, any(_plain(word) in _plain(firmware.product) for word in rule.product or ())),
        (2, rule.system_vendor, _begins(firmware.system_vendor, rule.system_vendor)),
        (1, rule.board_vendor, _begins(firmware.board_vendor, rule.board_vendor)),
    )
    asked = [(weight, holds) for weight, words, holds in tests if words is not None]
    return sum(weight for weight, _ in asked) if all(holds for _, holds in asked) else 0


def _begins(name: str | None, words: tuple[str, ...] | None) -> bool:
    return name is not None and (name.strip() + " ").lower().startswith(tuple(word.lower() for word in words or ()))


def _plain(name: str | None) -> str:
    """Return a product's name without marks: HPE_CRAY_EX235A and HPE Cray EX235a are one."""
    return re.sub(r"[^a-z0-9]+", " ", (name or "").lower())


def sheet_for_machine(sheet: Vendor, cpu: Cpu | None, platform_id: str | None, *, known_maker: bool) -> Vendor:
    """Return a sheet without the words that cannot be this machine's.

    Where the processor's generation is not known its vendor still is: an AMD CBS menu is no answer for a Xeon or an Arm
    server, and the usual words of a sheet it falls back to are guesses then. ``known_maker`` says that a vendor was named,
    and has no sheet of its own if the sheet serves unknown vendors: its key at start is not Del or F2 because others' is.
    """
    if not sheet.match and known_maker:
        sheet = sheet.model_copy(update={"setup": ""})
    if platform_id is not None:
        return sheet
    maker = maker_of(cpu.vendor) if cpu and cpu.vendor else None
    kept = {name: tuple(each for each in entries if _serves(sheet, each, maker)) for name, entries in sheet.settings.items()}
    return sheet.model_copy(update={"settings": {name: entries for name, entries in kept.items() if entries}, "falls_back": None})


def _serves(sheet: Vendor, entry: Entry, maker: Maker | None) -> bool:
    """Return whether an entry is of some generation whose processors this maker builds."""
    return any(each.maker == maker and sheet.serves(entry.platforms, each.id) for each in traits())
