"""Takes a checklist apart for other tools: what the BIOS is told, and where the operating system keeps the rest."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from advisor.know.places import entries_of, locate
from advisor.know.settings import tuned_lines, written
from advisor.model.bios import Bios
from advisor.model.checklist import NOTE_FIRST, Checklist, Item
from advisor.model.exports import Keeper, Kept, Staging, System, Write
from advisor.model.setting import Means, Neutral, Setting
from advisor.model.vendor import Place, Vendor

_PROFILE = "os.tuned"
"""The setting that names a tuned profile; a profile of ours builds on it."""

_SYSTEM = ("boot", "os", "fabric", "scheduler", "mpi", "job")


class _Located(NamedTuple):
    """An item, and where its value goes."""

    item: Item
    place: Place


def staging(checklist: Checklist, settings: Mapping[str, Setting], vendor: Vendor, bios: Bios | None = None) -> Staging:
    """Return all BIOS changes that are not so already, each attribute once, those that others depend on first."""
    by_hand: list[str] = []
    open_ones: list[_Located] = []
    done: list[_Located] = []
    for item in checklist.items:
        if item.fix.where != "bios" or item.done:
            done += _located(item, settings, vendor, checklist.platform_id, bios) if item.setting and item.done else []
            continue
        found = list(_located(item, settings, vendor, checklist.platform_id, bios))
        open_ones += found
        by_hand += [_by_hand(item)] if not found and (item.setting or item.done is False) else []
    opened = {(name, value) for each in open_ones for name, value, _ in each.place.prerequisites}
    again = [each for each in done if opened & {(name, value) for name, value, _ in each.place.prerequisites}]
    writes, clashes = _settled(open_ones, again, vendor)
    clashes += [
        f"{write.attribute}: {write.value} is written, {item.id} is content with {place.vendor_value}"
        for item, place in done
        if (write := writes.get(place.attribute or "")) and write.value != place.vendor_value
    ]
    redfish = vendor.redfish
    return Staging(
        prepare=vendor.tools.prepare if writes else (),
        writes=tuple(writes.values()),
        apply=vendor.tools.apply if writes else (),
        show=tuple(dict.fromkeys(line for each in (*open_ones, *again) for line in each.place.show)),
        by_hand=tuple(by_hand),
        clashes=tuple(clashes),
        path=redfish.settings if redfish else None,
        beside=redfish.apply if redfish else {},
        headers=redfish.headers if redfish else {},
        reset=redfish.reset if redfish else None,
        reset_type=redfish.reset_type if redfish else None,
    )


def _located(
    item: Item, settings: Mapping[str, Setting], vendor: Vendor, platform: str | None, bios: Bios | None
) -> Iterator[_Located]:
    """Yield the place of an item's value where the name of the attribute is sure enough to be written by a file."""
    setting = settings.get(item.setting or "")
    if setting is None or setting.where != "bios" or item.fix.value is None:
        return
    place = locate(vendor, platform, setting, setting.neutral(item.fix.value), bios)
    if place is None or place.attribute is None or place.vendor_value is None:
        return
    entries = entries_of(vendor, platform, setting.name)
    beginning = any(entry.prefix == place.attribute for entry in entries) and not (bios and place.attribute in bios.attributes)
    certain = platform is not None or len({(entry.attribute, entry.prefix) for entry in entries}) == 1
    if not beginning and certain:
        yield _Located(item, place)


def _by_hand(item: Item) -> str:
    if item.setting is None:
        return f"{item.title}: {item.fix.text} ({item.id})"
    where = item.fix.menu or item.title
    if item.fix.value is None:
        return f"{item.title}: {item.wanted}; {where} ({item.id})"
    if item.fix.attribute and item.fix.attribute_value is not None:
        why = f"the attribute's name is not certain here ({item.fix.attribute}...): give the BIOS attributes with --bios"
        return f"{where}: {item.fix.attribute_value}; {why} ({item.id})"
    return f"{where}: {item.fix.value}; the name or word of this is not known for {item.title} ({item.id})"


def _settled(open_ones: list[_Located], again: list[_Located], vendor: Vendor) -> tuple[dict[str, Write], list[str]]:
    """Return one write for each attribute: what others depend on first, and it wins where a line wants another value."""
    writes: dict[str, Write] = {}
    clashes: list[str] = []
    for item, place in open_ones:
        commands = _commands(place, vendor)
        for name, value, why in place.prerequisites:
            write = Write(attribute=name, value=value, command=commands.get(name), about=(f"needed first: {why}",))
            _add(writes, clashes, write, item)
    for item, place in (*open_ones, *again):
        if place.attribute is not None and place.vendor_value is not None:
            doubt = "" if place.verified else "name not verified against a registry"
            command = _commands(place, vendor).get(place.attribute)
            write = Write(attribute=place.attribute, value=place.vendor_value, command=command, about=_about(item, doubt))
            _add(writes, clashes, write, item)
    return writes, clashes


def _add(writes: dict[str, Write], clashes: list[str], write: Write, item: Item) -> None:
    there = writes.setdefault(write.attribute, write)
    if type(there.value) is not type(write.value) or there.value != write.value:
        words = f"{write.attribute}: {there.value} is written, {item.id} wants {write.value}"
        clashes += [] if words in clashes else [words]
    elif there is not write:
        about = tuple(dict.fromkeys((*there.about, *write.about)))
        writes[write.attribute] = there.model_copy(update={"about": about})


def _commands(place: Place, vendor: Vendor) -> dict[str, str]:
    """Return the line for each attribute, of a tool that takes one attribute a line."""
    if not any("{attribute}" in line or "{dotted}" in line for line in vendor.tools.set):
        return {}
    names = [*(name for name, _, _ in place.prerequisites), place.attribute or ""]
    lines = place.commands[len(vendor.tools.prepare) :]
    return dict(zip(names, lines, strict=True)) if len(names) == len(lines) else {}


def _about(item: Item, doubt: str = "") -> tuple[str, ...]:
    """Return the comment lines of an item: what it was, who asks, how it goes back, where guides differ."""
    was = "so already, kept" if item.done else f"was {item.now}" if item.now is not None else "present value not known"
    first = f"{item.title}: {item.wanted} ({was}; {', '.join(item.rules or (item.id,))})"
    lines = [first, *([doubt] if doubt else [])]
    lines += [f"CONFLICT: {other.id} wants {other.wanted}: decide" for other in item.others]
    if item.severity == "info" or len(item.guides) > 1:
        said = "; ".join(f"{guide.says} [{guide.ref}]" for guide in item.guides)
        lines.append(f"guides differ: {said}" if said else "a matter of taste, or of the work")
    lines += (
        [f"undo: {item.undo}"] if item.fix.where == "bios" and item.undo and item.undo != NOTE_FIRST and not item.done else []
    )
    return tuple(lines)


def system(checklist: Checklist, settings: Mapping[str, Setting]) -> System:
    """Return all that the operating system shall hold, done or not, and what no file of settings can say."""
    kept: list[Kept] = []
    by_hand: list[str] = []
    profile = None
    for item in checklist.items:
        setting = settings.get(item.setting or "")
        means = setting.set if setting else None
        if setting and means and item.fix.value is not None:
            value = setting.neutral(item.fix.value)
            if setting.name == _PROFILE:
                profile = str(value)
            elif value not in setting.only_read and (entry := _kept(setting, means, value, item)):
                kept.append(entry)
        elif item.fix.where in _SYSTEM and item.done is False:
            by_hand.append(f"{item.title}: {item.fix.text} ({item.id})")
    return System(kept=tuple(kept), profile=profile, by_hand=tuple(by_hand))


def _kept(setting: Setting, means: Means, value: Neutral, item: Item) -> Kept | None:
    text = written(setting, value)
    ways: tuple[tuple[Keeper, str | None], ...] = (
        ("sysctl", means.sysctl),
        ("limits", means.limits),
        ("service", means.service),
        ("sysfs", means.sysfs),
        ("cmdline", means.cmdline),
        ("command", means.command),
    )
    keeper, key = next(((keeper, key) for keeper, key in ways if key), (None, None))
    if keeper is None or key is None:
        return None
    section, line = tuned_lines(setting, value) or (None, None)
    return Kept(
        keeper=keeper,
        key=key.replace("{value}", text) if keeper in ("cmdline", "command") else key,
        value=("off" if value == "off" else "on") if keeper == "service" else text,
        option=_option(means, text),
        gone=_gone(setting, means, text),
        section=section.strip("[]") if section else None,
        line=line,
        done=item.done,
        about=_about(item),
    )


def _option(means: Means, text: str) -> str:
    return (means.cmdline or "").replace("{value}", text).strip()


def _gone(setting: Setting, means: Means, text: str) -> tuple[str, ...]:
    """Return the options of the setting's other values."""
    if setting.type != "choice" or not means.cmdline:
        return ()
    mine = _option(means, text).split()
    words = (word for other in means.writes.values() for word in _option(means, other).split())
    return tuple(dict.fromkeys(word for word in words if word not in mine))
