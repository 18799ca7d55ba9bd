"""What rules want of each setting, looked up once for pages and files, and the fix in this machine's own words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from advisor.advice.know.attributes import locate, not_offered
from advisor.advice.know.settings import commands_of, keeper_of, undo_of
from advisor.advice.model.checklist import Other
from advisor.advice.model.findings import Finding, Fix, Row, Want
from advisor.advice.model.plan import Wanted, WantedSetting
from advisor.advice.model.rule import SEVERITIES
from advisor.advice.model.setting import Setting
from advisor.advice.model.vendor import Place, Vendor
from advisor.machine.hardware import Bios
from advisor.machine.units import binary

AskedValue = tuple[Finding, Want]

WEIGHT: Final = ("finding", "waived", "unknown", "pass")
OPEN: Final = ("finding", "waived")
"""Verdicts of what is not as wanted; what a site waives is shown, and never written."""


def asked_by_setting(asked: Iterable[Finding], decided: Mapping[str, str | None] | None = None) -> dict[str, list[AskedValue]]:
    """Return what is asked of each setting, the weightiest verdict first.

    ``decided`` has values that the model decides, and None for a setting whose value nothing decides.
    """
    known = decided or {}
    result: dict[str, list[AskedValue]] = {}
    for finding in asked:
        for want in finding.wants:
            value = known.get(want.setting) if want.value is None else want.value
            if want.setting in known and known[want.setting] is None:
                value = None
            result.setdefault(want.setting, []).append((finding, want.model_copy(update={"value": value})))
    return {name: sorted(pairs, key=_says_most) for name, pairs in result.items()}


def _says_most(asked: AskedValue) -> tuple[bool, int, int]:
    finding, want = asked
    return want.value is None, WEIGHT.index(finding.verdict), SEVERITIES.index(finding.severity)


def wanted_setting(setting: Setting, row: Row | None, pairs: list[AskedValue], places: "Places", *, text: str) -> WantedSetting:
    """Return what is wanted of a setting, and its place; ``text`` stands where no value is known."""
    finding, want = pairs[0]
    current, value = row.current if row else None, want.value
    verdicts = {found.verdict for found, _ in pairs}
    so = current is not None and {asked.value for _, asked in pairs} == {current}
    done = False if not verdicts.isdisjoint(OPEN) else True if so or verdicts == {"pass"} else None
    if done and current is not None and setting.takes(setting.neutral(current)) and current not in setting.only_read:
        value = current
    place = places.of(setting, value)
    weight = [(found, asked.value) for found, asked in pairs if found.verdict == "finding" and asked.value is not None]
    serious = [each for each in weight if each[0].severity != "info"] or weight  # what is taste yields to what is not
    others = [Other(id=found.id, wanted=wish, refs=found.refs) for found, wish in serious if wish is not None and wish != value]
    return WantedSetting(
        setting=setting.name,
        title=setting.heading,
        where=setting.where,
        value=value,
        text=value_with_unit(setting, value) or text or finding.want or "depends on the machine",
        now=current,
        stands=value_with_unit(setting, current),
        done=done,
        wanted=tuple(_wanted(found, asked) for found, asked in pairs),
        others=tuple(others) if not done else (),
        guides=tuple({(guide.says, guide.ref): guide for found, _ in pairs for guide in found.guides}.values()),
        place=place,
        kept=keeper_of(setting, setting.neutral(value), current) if value is not None else None,
        menu=f"{place.path} > {place.label}" if place and place.path else setting.menu[0] if setting.menu else setting.term,
        only_with=setting.only_with.get(value) if value is not None else None,
    )


@dataclass(frozen=True)
class Places:
    """Where a machine's BIOS has the settings: each is looked up once, and findings, checklist and plan carry what was found."""

    vendor: Vendor
    platform: str | None
    bios: Bios | None = None
    _found: dict[tuple[str, str | None], Place | None] = field(default_factory=dict, compare=False, repr=False)

    def of(self, setting: Setting, value: str | None) -> Place | None:
        """Return where a setting is found, of an unknown value its menu; None for the operating system's, and if not known."""
        if setting.set is not None or setting.where != "bios":
            return None
        if (setting.name, value) not in self._found:
            wanted = setting.neutral(next(iter(setting.values), "0") if value is None else value)
            self._found[setting.name, value] = locate(self.vendor, self.platform, setting, wanted, self.bios)
        return self._found[setting.name, value]


def _wanted(finding: Finding, want: Want) -> Wanted:
    dissent = finding.severity == "low" and any(guide.otherwise for guide in finding.guides)
    return Wanted(
        id=finding.id,
        verdict=finding.verdict,
        severity=finding.severity,
        gain=gain_text(finding),
        contested=finding.severity == "info" or dissent,
        value=want.value,
        claim=(finding.claim or finding.title) if finding.verdict in OPEN else None,
    )


def gain_text(finding: Finding) -> str | None:
    """Return what a finding costs in words, with its source."""
    cost = finding.cost
    if cost is None:
        return None
    part = f"{100 * cost.gain:.0f} % of {cost.of}" if cost.gain is not None else cost.of
    return f"{part}, {cost.basis}{f' [{cost.ref}]' if cost.ref else ''}"


def value_with_unit(setting: Setting, value: str | None) -> str | None:
    """Return a value with its unit: ``132 MiB`` for bytes."""
    if value is None or not setting.unit or not value.isdigit():
        return value
    return binary(int(value)) if setting.unit == "B" else f"{value} {setting.unit}"


def with_fixes(
    findings: tuple[Finding, ...], settings: Mapping[str, Setting], standing: Mapping[str, str], places: Places
) -> tuple[Finding, ...]:
    """Return the findings with the steps that fix them; ``standing`` holds the present values, for undoing."""
    return tuple(
        each.model_copy(update={"fix": fixes(each, settings, standing, places)}) if each.verdict == "finding" else each
        for each in findings
    )


def fixes(finding: Finding, settings: Mapping[str, Setting], standing: Mapping[str, str], places: Places) -> tuple[Fix, ...]:
    """Return the steps of one finding: its settings one after the other, and its own advice."""
    steps = [fix_of(settings[want.setting], want, standing.get(want.setting), places) for want in finding.wants]
    if finding.advice:
        steps.append(Fix(text=finding.advice, where=finding.where, check=finding.check, undo=finding.undo))
    return tuple(steps)


_OPEN: Final = "the value for this machine"


def fix_of(setting: Setting, want: Want, current: str | None, places: Places) -> Fix:
    """Return how one setting gets its wanted value on this machine, and how it gets back."""
    value = want.value
    step: dict[str, Any] = {"setting": setting.name, "value": value, "where": setting.where, "reboot": setting.reboot}
    if setting.set is not None or setting.where != "bios":  # the operating system's: at once, and so that it lasts
        neutral = None if value is None else setting.neutral(value)
        return Fix(
            **step,
            text=f"set {setting.term} to {_OPEN if value is None else value}",
            commands=commands_of(setting, neutral) if neutral is not None else (),
            check=setting.show,
            undo=undo_of(setting, current, neutral),
        )
    place, vendor = places.of(setting, value), places.vendor
    if place is None:
        # A setting of processors of several vendors has another name on each.
        menu = setting.menu[0] if setting.menu and len(setting.makers) == 1 else setting.heading
        absent = not_offered(vendor, places.platform, setting.name)
        usual = "the usual name in setup menus" if menu != setting.heading else "its name in this server's setup is not known"
        note = f"{vendor.name}: {absent.reason}" if absent else usual
        text = f"BIOS: set {menu} to {value or _OPEN}"
        return Fix(**step, text=text, menu=menu, check=setting.show, undo=_back(current), notes=(note,))
    menu = f"{place.menu} > {place.label}"
    named = value is not None and place.attribute and place.vendor_value is not None
    shown = _OPEN if value is None else value if place.vendor_value is None else place.vendor_value
    if value is not None:
        step |= {
            "attribute_value": place.vendor_value,
            "commands": place.commands,
            "apply": place.apply,
            "before": tuple(f"{name} = {needed}: {why}" for name, needed, why in place.prerequisites),
            "verified": place.verified,
        }
    return Fix(
        **step,
        text=f"BIOS: {menu}: {shown}" + (f" ({place.attribute}={place.vendor_value})" if named else ""),
        menu=menu,
        attribute=place.attribute,
        notes=place.notes,
        check=place.show[-1] if place.show else setting.show,
        undo=_back(None if current is None else place.spoken.get(current, current)),
    )


def _back(former: object) -> str | None:
    return f"set it back to {former}" if former is not None else None
