"""What to do, in this machine's own words: a setting and a value become menu, attribute and commands."""

from collections.abc import Mapping

from advisor.know.keeps import commands_of, undo_of
from advisor.know.places import not_offered
from advisor.know.wishes import place_of
from advisor.model.bios import Bios
from advisor.model.finding import Finding, Fix, Want
from advisor.model.setting import Neutral, Setting
from advisor.model.vendor import Place, Vendor

_OPEN = "the value for this machine"


def with_fixes(
    findings: tuple[Finding, ...],
    settings: Mapping[str, Setting],
    standing: Mapping[str, str],
    vendor: Vendor,
    platform_id: str | None,
    *,
    bios: Bios | None = None,
) -> tuple[Finding, ...]:
    """Return the findings with the steps that mend them; ``standing`` holds the present values, for the way back."""
    return tuple(
        finding.model_copy(update={"fix": fixes(finding, settings, standing, vendor, platform_id, bios=bios)})
        if finding.verdict == "finding"
        else finding
        for finding in findings
    )


def fixes(
    finding: Finding,
    settings: Mapping[str, Setting],
    standing: Mapping[str, str],
    vendor: Vendor,
    platform_id: str | None,
    *,
    bios: Bios | None = None,
) -> tuple[Fix, ...]:
    """Return the steps of one finding: its settings one after the other, or its own advice."""
    steps = tuple(
        fix_of(settings[want.setting], want, standing.get(want.setting), vendor, platform_id, bios=bios) for want in finding.wants
    )
    if finding.advice:
        own = Fix(text=finding.advice, where=finding.where, check=finding.check, undo=finding.undo)
        return (*steps, own)
    return steps


def fix_of(
    setting: Setting, want: Want, current: str | None, vendor: Vendor, platform_id: str | None, *, bios: Bios | None = None
) -> Fix:
    """Return how one setting gets its wanted value on this vendor's server, and how it gets back."""
    return fix_at(setting, want, current, vendor, platform_id, place=place_of(setting, want.value, vendor, platform_id, bios))


def fix_at(
    setting: Setting, want: Want, current: str | None, vendor: Vendor, platform_id: str | None, *, place: Place | None
) -> Fix:
    """Return the step at a place that was looked up before; None for the operating system, and where nothing is known."""
    if setting.set is not None or setting.where != "bios":
        return _of_system(setting, None if want.value is None else setting.neutral(want.value), current)
    if place is None:
        return _nameless(setting, want, current, vendor, platform_id)
    former = None if current is None else place.spoken.get(current, current)
    return _of_place(setting, want, place, None if former is None else str(former))


def _nameless(setting: Setting, want: Want, current: str | None, vendor: Vendor, platform_id: str | None) -> Fix:
    # A setting of processors of several makers has another name on each.
    menu = setting.menu[0] if setting.menu and len(setting.makers) == 1 else setting.title
    absent = not_offered(vendor, platform_id, setting.name)
    usual = "the usual name in setup menus" if menu != setting.title else "its name in this server's setup is not known here"
    note = f"{vendor.name}: {absent.reason}" if absent else usual
    return Fix(
        setting=setting.name,
        value=want.value,
        text=f"BIOS: set {menu} to {want.value or _OPEN}",
        where=setting.where,
        menu=menu,
        reboot=setting.reboot,
        check=setting.show,
        undo=_back(current),
        notes=(note,),
    )


def _of_place(setting: Setting, want: Want, place: Place, former: str | None) -> Fix:
    told = want.value is not None
    shown = _OPEN if not told else want.value if place.vendor_value is None else place.vendor_value
    named = told and place.attribute and place.vendor_value is not None
    before = tuple(f"{name} = {value}: {why}" for name, value, why in place.prerequisites)
    return Fix(
        setting=setting.name,
        value=want.value,
        text=f"BIOS: {place.menu} > {place.label}: {shown}" + (f" ({place.attribute}={place.vendor_value})" if named else ""),
        where=setting.where,
        menu=f"{place.menu} > {place.label}",
        attribute=place.attribute,
        attribute_value=place.vendor_value if told else None,
        commands=place.commands if told else (),
        apply=place.apply if told else (),
        before=before if told else (),
        notes=place.notes,
        reboot=setting.reboot,
        check=place.show[-1] if place.show else setting.show,
        undo=_back(former),
        verified=place.verified if told else None,
    )


def _of_system(setting: Setting, value: Neutral | None, current: str | None) -> Fix:
    """Return how the operating system takes a setting: at once, and so that it lasts."""
    commands = commands_of(setting, value) if value is not None else ()
    return Fix(
        setting=setting.name,
        value=None if value is None else str(value),
        text=f"set {setting.title} to {_OPEN if value is None else value}",
        where=setting.where,
        commands=commands,
        reboot=setting.reboot,
        check=setting.show,
        undo=undo_of(setting, current, value),
    )


def _back(current: str | None) -> str | None:
    return f"set it back to {current}" if current is not None else None
