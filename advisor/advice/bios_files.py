"""The BIOS that --bios gives: read with pending settings and a registry, and fitted to a machine."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from advisor.advice.know.vendors import match_vendor, vendors
from advisor.advice.model.plan import Owner
from advisor.advice.model.sheets import Vendor, is_named
from advisor.errors import BadInput
from advisor.machine.hardware import COVERS, Bios, Firmware, Registry
from advisor.machine.hosts.files import Use, open_here, open_trusted
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.platform_traits import Maker, traits
from advisor.machine.sources.redfish import (
    apply_times,
    bios_of,
    in_menu_words,
    is_registry,
    is_settings,
    registry_of,
    resource_of,
    system_of,
    with_other_names,
    with_pending,
)
from advisor.measure.platform import match_platform

_ENOUGH = 4
"""Attributes of another's sheet that tell whose a file is; a few names are everybody's."""

_TELLING = 2 * _ENOUGH
"""Attributes of a sheet that tell whose a file is where nothing else does; a Cisco UCS server has four of Supermicro's names."""

_MANY = 20
"""Attributes of a whole resource, and of a sheet that has more than a few names."""

_MAKERS: dict[Maker, str] = {"amd": "AMD", "intel": "Intel", "arm": "Arm"}
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


_MODEL = ("SystemModelName", "SystemModel", "ProductName")
"""Attributes in which a BIOS says what server it is of: Dell, others."""


def _other_model(bios: Bios | None, firmware: Firmware | None, model: str | None) -> Iterator[BiosMismatch]:
    """Yield that the attributes, or the BMC they came from, name another product than the machine's SMBIOS.

    A BMC may call a server otherwise than SMBIOS does (SYS-821GE-TNHR, Super Server): of two names of one family that is sure.
    """
    product = (firmware.product if firmware else None) or ""
    said = next((str(bios.attributes[name]) for name in _MODEL if bios.attributes.get(name)), "") if bios else ""
    own = bare_registry(product)
    for name, sure in ((said, True), (model or "", bool(_words(model or "") & _words(product)))):
        theirs = bare_registry(name)
        if own and theirs and own not in theirs and theirs not in own:
            yield BiosMismatch(f"the BIOS attributes are from a {name[:60]}, but this machine is a {product}", sure=sure)


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
            text = f"the BIOS attributes are from {likest.name}, but the vendor of this machine is unknown"
            yield BiosMismatch(f"{text}: advisor checklist --vendor {likest.id}", sure=False)
        return
    stems = _stems(vendor)
    own = _hits(stems, names)
    most, rival = scores(each for each in vendors().values() if each.id != vendor.id)
    if most >= _ENOUGH and own * 3 < most:
        yield BiosMismatch(f"the BIOS attributes are from {rival.name}, but the machine is from {vendor.name}", sure=True)
    elif not stems and len(names) >= _MANY:
        text = f"no BIOS attributes are known for {vendor.name} servers"
        yield BiosMismatch(f"{text}: cannot tell whether these {len(names)} are from such a server", sure=False)
    elif not own and len(names) >= _ENOUGH:
        sure = len(stems) >= _MANY and len(names) >= _MANY
        yield BiosMismatch(f"none of the {len(names)} BIOS attributes is a known {vendor.name} attribute", sure=sure)


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
            text = f"the BIOS attributes are from a server with {maker} processors, but this one has {mine} processors"
            yield BiosMismatch(text, sure=True)


def _other_registry(bios: Bios | None, registry: Registry | None, firmware: Firmware | None) -> Iterator[BiosMismatch]:
    """Yield that the ROM family or the registry given is another than the one that the attributes name."""
    said = bios.registry if bios else None
    rom = _ROM.search(said or "")
    version = (firmware.bios_version if firmware else None) or ""
    if rom and re.match(r"[A-Z]\d{2}\b", version) and not version.startswith(rom[1]):
        yield BiosMismatch(f"the BIOS attributes are from ROM family {rom[1]}, but the machine runs {version[:3]}", sure=True)
    if said is None or registry is None or registry.id is None or bare_registry(said) == bare_registry(registry.id):
        return
    known = {text for each in registry.attributes.values() for text in (each.name, each.shown)}
    if bios and len(known.intersection(bios.attributes)) >= COVERS * len(bios.attributes):
        return  # it is known by its content: Dell's three names of one registry differ in their version
    same = bare_registry(said.partition(".")[0]) == bare_registry(registry.id.partition(".")[0])
    yield BiosMismatch(f"the BIOS attributes name the registry {said}, but {registry.id} was given", sure=not same)


def bare_registry(name: str) -> str:
    """Return a registry's name without case, signs and the v of a version: as two names of one are the same."""
    return re.sub(r"[^a-z0-9]|(?<=\.)v", "", name.lower())


def _other_generation(names: tuple[str, ...], vendor: Vendor | None, platform: str | None) -> Iterator[BiosMismatch]:
    """Yield that another generation of this vendor has more of the attributes."""
    if vendor is None or platform is None or not vendor.match:
        return
    own = _hits(_stems(vendor, (platform,)), names)
    for word, ids in vendor.generations.items():
        if platform not in ids and ids and _hits(_stems(vendor, ids), names) >= own + _ENOUGH:
            text = f"the BIOS attributes look more like those of {vendor.name} {word} than of a server with {platform}"
            yield BiosMismatch(text, sure=False)
            return


_LARGEST = 4 << 20
_MOST_BIOS = 3
"""A resource, its settings and its registry."""


class BiosInput(NamedTuple):
    """What --bios gives: the BIOS as it is, the registry that explains it, and when it takes changes."""

    bios: Bios | None = None
    registry: Registry | None = None
    apply_times: frozenset[str] | None = None
    """The apply times that a PATCH may name; None if the resource was not given whole."""
    owner: Owner | None = None
    """Whose BIOS it is, where a BMC said so."""
    without: str | None = None
    """Why a BMC's attributes have no registry."""
    locked: str | None = None
    """Why most attributes could not be written when it was read."""


def firmware_from(files: Iterable[Path] | BiosInput) -> BiosInput:
    """Return what --bios gives: the present attributes, those that wait for the next boot, and an attribute registry."""
    if isinstance(files, BiosInput):
        return files

    paths = tuple(files)
    if len(paths) > _MOST_BIOS:
        raise _too_many(paths)
    read = {path: resource_of(_text(path), str(path)) for path in paths}
    whole = [path for path, each in read.items() if str(each.get("schema", "")).startswith(_OF_BMC)]
    if whole:
        if len(paths) > 1:
            raise BadInput("already contains Bios, Settings and registry", file=str(whole[0]), cure="give it alone")
        return of_bmc(read[whole[0]], str(whole[0]))
    registries = [registry_of(each, str(path)) for path, each in read.items() if is_registry(each)]
    found = _present_first({path: each for path, each in read.items() if not is_registry(each)})
    if len(found) > 2 or len(registries) > 1 or len(read) < len(paths):
        raise _too_many(paths)
    told = [bios_of(each, str(path)) for path, each in found]
    if told and not told[0].attributes:
        cure = "boot the server once so that its BIOS reports them, and save GET .../Bios again"
        raise BadInput("contains no readable BIOS attributes", file=str(found[0][0]), cure=cure)
    if told and not registries and in_menu_words(told[0]):
        cure = "add the attribute registry with another --bios, or write both with advisor bios read --bmc HOST -o FILE"
        why = "its attributes have the names used in the menus; the tools' names for them are unknown"
        raise BadInput(why, file=str(found[0][0]), cure=cure)
    bios = with_pending(told[0], told[1]) if len(told) == 2 else told[0] if told else None
    registry = registries[0] if registries else None
    return BiosInput(
        with_other_names(bios, registry) if bios and registry else bios, registry, apply_times(found[0][1]) if found else None
    )


_OF_BMC = "advisor-bios/"


def of_bmc(document: dict[str, Any], file: str) -> BiosInput:
    """Return what a file of ``advisor bios read`` holds."""
    present, waiting, registry = (document.get(name) for name in ("bios", "settings", "registry"))
    if not isinstance(present, dict) or document.get("schema") != f"{_OF_BMC}1":
        raise BadInput(
            "not a file from advisor bios read", file=file, cure="create it again: advisor bios read --bmc HOST -o FILE"
        )
    bios = bios_of(present, file)
    pending = bios_of(waiting, file).attributes if isinstance(waiting, dict) else {}
    bios = bios.but(pending=dict(pending))
    known = registry_of(registry, file) if isinstance(registry, dict) and is_registry(registry) else None
    try:
        owner = Owner.model_validate(document.get("owner") or {})
    except ValueError as error:
        raise BadInput("key owner: not written by advisor bios read", file=file, cure="run advisor bios read again") from error
    without, locked = (str(document[name])[:500] if document.get(name) else None for name in ("without", "locked"))
    return BiosInput(with_other_names(bios, known) if known else bios, known, apply_times(present), owner, without, locked)


def _present_first(read: dict[Path, dict[str, Any]]) -> list[tuple[Path, dict[str, Any]]]:
    """Return the current values before those that wait; the latter alone are refused, for no undo is in them."""
    found = sorted(read.items(), key=lambda each: is_settings(each[1]))
    if found and is_settings(found[0][1]):
        cure = "give the response of GET .../Bios first, then this file"
        raise BadInput("values pending for the next restart, not the current ones", file=str(found[0][0]), cure=cure)
    if len(found) == 2:
        _must_be_one_servers(found[0][1], found[1][1], str(found[1][0]))
    return found


def _must_be_one_servers(now: dict[str, Any], later: dict[str, Any], file: str) -> None:
    """Refuse a second resource that is not what waits on the server of the first: of what it is, its address tells."""
    cure = "give the Bios and Settings resources of one server"
    if later.get("@odata.id") and not is_settings(later):
        what = "has current values, but another file has them too: the files are from different servers or times"
        raise BadInput(what, file=file, cure=cure)
    registries = [each.get("AttributeRegistry") for each in (now, later)]
    for mine, theirs in ([system_of(each) for each in (now, later)], registries):
        if mine and theirs and mine != theirs:
            raise BadInput(f"the pending values are from {theirs}, but the current values are from {mine}", file=file, cure=cure)


def _too_many(paths: Sequence[Path]) -> BadInput:
    cure = "give the Bios resource, then its Settings, and its attribute registry"
    return BadInput(f"--bios is given {len(paths)} times", cure=cure)


def _text(path: Path) -> str:
    writes = "write it with advisor bios read --bmc HOST -o FILE"
    return text_of(path, _LARGEST, "any Bios resource", writes, absent=writes, use=None)


def text_of(
    path: Path, largest: int, what: str, cure: str | None = None, *, absent: str | None = None, use: Use | None = Use.NAMED
) -> str:
    """Return the text of a file that is believed; refuse one too large to be what it should be.

    ``absent`` says how one comes to be. Without a ``use`` it is what some machine says: hostile until it is parsed.
    """
    try:
        with open_here(path) if use is None else open_trusted(path, use) as file:
            data = file.read(largest + 1)  # a device has no end, and no size
        if len(data) > largest:
            raise BadInput(f"larger than {what}", file=str(path), cure=cure)
        return str(data, "utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8 text", file=str(path), cure=cure) from error
    except OSError as error:
        is_absent = isinstance(error, FileNotFoundError)
        raise BadInput(
            (error.strerror or "cannot be read").lower(), file=str(path), cure=absent if is_absent else cure
        ) from error


def must_fit(given: BiosInput, vendor: Vendor | None, platform: str | None, firmware: Firmware | None = None) -> str | None:
    """Refuse BIOS attributes that cannot be this machine's; return one line where they may not be."""
    model = given.owner.model if given.owner else None
    found = bios_mismatch(given.bios, given.registry, vendor, platform, firmware, model=model)
    if found is None:
        return None
    if found.sure:
        raise BadInput(
            found.text,
            cure="give this machine's --bios, or name the vendor with --vendor",
        )
    return found.text


def bios_for(files: Iterable[Path] | BiosInput, machine: Machine, observer: Observer = SILENT) -> BiosInput:
    """Return what --bios gives for a machine; refuse a BIOS that cannot be this machine's, say what may not be."""
    given = firmware_from(files)
    platform = match_platform(machine)
    line = must_fit(given, match_vendor(machine.firmware), platform.id if platform else None, machine.firmware)
    if line:
        observer.say(line)
    return given


def with_apply_time(vendor: Vendor, given: BiosInput) -> Vendor:
    """Return the vendor's sheet without an apply time that this machine's BIOS does not offer: its controller would refuse it."""
    redfish, offered = vendor.redfish, given.apply_times
    asked = redfish.apply.get("@Redfish.SettingsApplyTime") if redfish else None
    if redfish is None or offered is None or not isinstance(asked, dict) or asked.get("ApplyTime") in offered:
        return vendor
    kept = {name: value for name, value in redfish.apply.items() if name != "@Redfish.SettingsApplyTime"}
    left = f"ApplyTime {asked.get('ApplyTime')} is left out: this BIOS does not support it; create its apply job by hand"
    return vendor.but(redfish=redfish.but(apply=kept, notes=(left, *redfish.notes)))
