"""Whether BIOS attributes can be a machine's at all: its vendor's, its processor vendor's, its generation's, its registry's."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from advisor.advice.know.vendors import vendors
from advisor.advice.model.vendor import Vendor, is_named
from advisor.machine.hardware import COVERS, Bios, Firmware, Registry
from advisor.machine.platform_traits import Maker, traits

_ENOUGH = 4
"""Attributes of another's sheet that tell whose a file is; a few names are everybody's."""

_TELLING = 2 * _ENOUGH
"""Attributes of a sheet that tell whose a file is where nothing else does; a Cisco UCS server has four of Supermicro's names."""

_MANY = 20
"""Attributes of a whole resource, and of a sheet that has more than a few names."""

_MAKERS: Final[dict[Maker, str]] = {"amd": "AMD", "intel": "Intel", "arm": "Arm"}
_ROM = re.compile(r"BiosAttributeRegistry([A-Z]\d{2})\.")


class BiosMismatch(NamedTuple):
    """What does not fit."""

    text: str
    sure: bool


def bios_mismatch(
    bios: Bios | None,
    registry: Registry | None,
    vendor: Vendor | None,
    platform: str | None,
    firmware: Firmware | None,
    *,
    model: str | None = None,
) -> BiosMismatch | None:
    """Return why BIOS attributes, or a registry, cannot belong to a machine, or may not; None where nothing speaks against it."""
    names = tuple(bios.attributes if bios else registry.attributes if registry else ())
    if not names:
        return None
    found = (
        *_other_model(bios, firmware, model),
        *_other_maker(names, vendor),
        *_other_cpu(names, vendor, platform),
        *_other_registry(bios, registry, firmware),
    )
    return min(found, key=lambda each: not each.sure, default=None) or next(_other_generation(names, vendor, platform), None)


_MODEL: Final = ("SystemModelName", "SystemModel", "ProductName")
"""Attributes in which a BIOS says what server it is of: Dell, others."""


def _other_model(bios: Bios | None, firmware: Firmware | None, model: str | None) -> Iterator[BiosMismatch]:
    """Yield that the attributes, or the BMC they came from, name another product than the machine's SMBIOS.

    A BMC may call a server otherwise than SMBIOS does (SYS-821GE-TNHR, Super Server): of two names of one family that is sure.
    """
    product = (firmware.product if firmware else None) or ""
    said = next((str(bios.attributes[name]) for name in _MODEL if bios.attributes.get(name)), "") if bios else ""
    own = _plain(product)
    for name, sure in ((said, True), (model or "", bool(_words(model or "") & _words(product)))):
        theirs = _plain(name)
        if own and theirs and own not in theirs and theirs not in own:
            yield BiosMismatch(f"the BIOS attributes are of a {name[:60]}, and this machine is a {product}", sure=sure)


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", name.lower()))


def _stems(vendor: Vendor, platforms: Iterable[str] | None = None) -> set[str]:
    """Return the attributes that a sheet has for some platforms, or for all."""
    ids = None if platforms is None else tuple(platforms)
    entries = (
        entry
        for group in vendor.settings.values()
        for entry in group
        if ids is None or any(vendor.serves(entry.platforms, each) for each in ids)
    )
    return {stem for entry in entries if (stem := entry.attribute or entry.prefix)}


def _hits(stems: Iterable[str], names: tuple[str, ...]) -> int:
    return sum(any(is_named(stem, name) for name in names) for stem in stems)


def _other_maker(names: tuple[str, ...], vendor: Vendor | None) -> Iterator[BiosMismatch]:
    """Yield that the attributes are another vendor's: many of that sheet, hardly any of this one."""

    def scores(others: Iterable[Vendor]) -> tuple[int, Vendor]:
        return max(((_hits(_stems(each), names), each) for each in others), key=lambda scored: scored[0])

    if vendor is None or not vendor.match:
        most, likest = scores(vendors().values())
        if most >= _TELLING:
            text = f"the BIOS attributes are {likest.name}'s, and who made this machine is not known"
            yield BiosMismatch(f"{text}: advisor checklist --vendor {likest.id}", sure=False)
        return
    stems = _stems(vendor)
    own = _hits(stems, names)
    most, rival = scores(each for each in vendors().values() if each.id != vendor.id)
    if most >= _ENOUGH and own * 3 < most:
        yield BiosMismatch(f"the BIOS attributes are {rival.name}'s, and the machine is {vendor.name}'s", sure=True)
    elif not stems and len(names) >= _MANY:
        text = f"no BIOS attribute of {vendor.name}'s servers is known here"
        yield BiosMismatch(f"{text}: whether these {len(names)} are such a server's is not known", sure=False)
    elif not own and len(names) >= _ENOUGH:
        sure = len(stems) >= _MANY and len(names) >= _MANY
        yield BiosMismatch(f"none of the {len(names)} BIOS attributes is one that {vendor.name} is known to have", sure=sure)


def _other_cpu(names: tuple[str, ...], vendor: Vendor | None, platform: str | None) -> Iterator[BiosMismatch]:
    """Yield that the attributes are of a server with another vendor's processors."""
    makers = {each.id: _MAKERS[each.maker] for each in traits()}
    mine = makers.get(platform or "")
    if vendor is None or mine is None:
        return
    named = set(makers.values())
    by_maker = {maker: _stems(vendor, [each for each, own in makers.items() if own == maker]) for maker in named}
    for maker, stems in by_maker.items():
        own, theirs = _hits(by_maker[mine] - stems, names), _hits(stems - by_maker[mine], names)
        if maker != mine and theirs >= _ENOUGH and own * 3 < theirs:
            text = f"the BIOS attributes are of a server with {maker} processors, and this one has {mine}'s"
            yield BiosMismatch(text, sure=True)


def _other_registry(bios: Bios | None, registry: Registry | None, firmware: Firmware | None) -> Iterator[BiosMismatch]:
    """Yield that the ROM family or the registry given is another than the one that the attributes name."""
    said = bios.registry if bios else None
    rom = _ROM.search(said or "")
    version = (firmware.bios_version if firmware else None) or ""
    if rom and re.match(r"[A-Z]\d{2}\b", version) and not version.startswith(rom[1]):
        yield BiosMismatch(f"the BIOS attributes are of ROM family {rom[1]}, and the machine runs {version[:3]}", sure=True)
    if said is None or registry is None or registry.id is None or _plain(said) == _plain(registry.id):
        return
    known = {text for each in registry.attributes.values() for text in (each.name, each.shown)}
    if bios and len(known.intersection(bios.attributes)) >= COVERS * len(bios.attributes):
        return  # it is known by its content: Dell's three names of one registry differ in their version
    same = _plain(said.partition(".")[0]) == _plain(registry.id.partition(".")[0])
    yield BiosMismatch(f"the BIOS attributes name the registry {said}, and {registry.id} was given", sure=not same)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]|(?<=\.)v", "", name.lower())


def _other_generation(names: tuple[str, ...], vendor: Vendor | None, platform: str | None) -> Iterator[BiosMismatch]:
    """Yield that another generation of this vendor has more of the attributes."""
    if vendor is None or platform is None or not vendor.match:
        return
    own = _hits(_stems(vendor, (platform,)), names)
    for word, ids in vendor.generations.items():
        if platform not in ids and ids and _hits(_stems(vendor, ids), names) >= own + _ENOUGH:
            text = f"the BIOS attributes are rather those of {vendor.name} {word} than of a server with {platform}"
            yield BiosMismatch(text, sure=False)
            return
