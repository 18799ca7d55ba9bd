"""What rules want of each setting, looked up once for pages and files, and the fix in this machine's own words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from advisor.advice.know.attributes import locate, not_offered
from advisor.advice.know.settings import commands_of, keeper_of, undo_of
from advisor.advice.model.checklist import Other
from advisor.advice.model.findings import Finding, Fix, Row, Want
from advisor.advice.model.plan import Wanted, WantedSetting
from advisor.advice.model.rule import SEVERITIES
from advisor.advice.model.setting import Neutral, Setting
from advisor.advice.model.vendor import Place, Vendor
from advisor.machine.firmware import Bios
from advisor.machine.units import binary

AskedValue = tuple[Finding, Want]

_WEIGHT = ("finding", "waived", "unknown", "pass")
OPEN = ("finding", "waived")
"""Verdicts of what is not as wanted; what a site waives is shown, and never written."""


def asked_by_setting(asked: Iterable[Finding], decided: Mapping[str, str | None] | None = None) -> dict[str, list[AskedValue]]:
    """Return what is asked of each setting, the weightiest verdict first.

    ``decided`` has values that the model decides, and None for a setting whose value nothing decides.
    """
    result: dict[str, list[AskedValue]] = {}
    for finding in asked:
        for want in finding.wants:
            open_here = decided is not None and want.setting in decided and decided[want.setting] is None
            value = None if open_here else want.value if want.value is not None else (decided or {}).get(want.setting)
            result.setdefault(want.setting, []).append((finding, want.model_copy(update={"value": value})))
    return {name: sorted(pairs, key=_says_most) for name, pairs in result.items()}


def _says_most(asked: AskedValue) -> tuple[bool, int, int]:
    finding, want = asked
    return want.value is None, _WEIGHT.index(finding.verdict), SEVERITIES.index(finding.severity)


def wanted_setting(
    setting: Setting,
    row: Row | None,
    pairs: list[AskedValue],
    places: "Places",
    *,
    text: str,
) -> WantedSetting:
    """Return what is wanted of a setting, and its place; ``text`` stands where no value is known."""
    finding, want = pairs[0]
    current = row.current if row else None
    done = _done([found.verdict for found, _ in pairs], so=current is not None and {want.value for _, want in pairs} == {current})
    if done and current is not None and may_stay(setting, current):
        want = want.model_copy(update={"value": current})
    place = places.of(setting, want.value)
    return WantedSetting(
        setting=setting.name,
        title=setting.heading,
        where=setting.where,
        value=want.value,
        text=value_with_unit(setting, want.value) or text or finding.want or "depends on the machine",
        now=current,
        stands=value_with_unit(setting, current),
        done=done,
        wanted=tuple(_wanted(found, asked) for found, asked in pairs),
        others=tuple(_contradictions(pairs, want)) if not done else (),
        guides=tuple({(guide.says, guide.ref): guide for found, _ in pairs for guide in found.guides}.values()),
        place=place,
        kept=keeper_of(setting, setting.neutral(want.value), current) if want.value is not None else None,
        menu=f"{place.path} > {place.label}" if place and place.path else setting.menu[0] if setting.menu else setting.term,
        only_with=setting.only_with.get(want.value) if want.value is not None else None,
    )


@dataclass(frozen=True)
class Places:
    """Where a machine's BIOS has the settings: each is looked up once, and findings, checklist and plan carry what was found."""

    vendor: Vendor
    platform: str | None
    bios: Bios | None = None
    _found: dict[tuple[str, str | None], Place | None] = field(default_factory=dict, compare=False, repr=False)

    def of(self, setting: Setting, value: str | None) -> Place | None:
        """Return where a setting is found; None for one of the operating system, and where nothing is known."""
        if setting.set is not None or setting.where != "bios":
            return None
        if (setting.name, value) not in self._found:
            wanted = any_value(setting) if value is None else setting.neutral(value)
            self._found[setting.name, value] = locate(self.vendor, self.platform, setting, wanted, self.bios)
        return self._found[setting.name, value]


def any_value(setting: Setting) -> Neutral:
    """Return some value, to find the menu of a setting whose wanted value is not known."""
    return setting.neutral(next(iter(setting.values), "0"))


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


def _contradictions(pairs: list[AskedValue], chosen: Want) -> Iterator[Other]:
    """Yield the values that findings of weight want instead of the one chosen; what is taste yields to what is not."""
    weight = [(found, want) for found, want in pairs if found.verdict == "finding" and want.value is not None]
    serious = [(found, want) for found, want in weight if found.severity != "info"] or weight
    for found, want in serious:
        if want.value is not None and want.value != chosen.value:
            yield Other(id=found.id, wanted=want.value, refs=found.refs)


def value_with_unit(setting: Setting, value: str | None) -> str | None:
    """Return a value with its unit: ``132 MiB`` for bytes."""
    if value is None or not setting.unit or not value.isdigit():
        return value
    return binary(int(value)) if setting.unit == "B" else f"{value} {setting.unit}"


def _done(verdicts: list[str], *, so: bool) -> bool | None:
    """Return whether all rules are content; where one cannot tell, whether the value is the wanted one."""
    if any(verdict in OPEN for verdict in verdicts):
        return False
    return True if so or all(verdict == "pass" for verdict in verdicts) else None


def may_stay(setting: Setting, current: str) -> bool:
    """Return whether a present value is one that could be written."""
    return setting.takes(setting.neutral(current)) and current not in setting.only_read


_OPEN = "the value for this machine"


def with_fixes(
    findings: tuple[Finding, ...], settings: Mapping[str, Setting], standing: Mapping[str, str], places: Places
) -> tuple[Finding, ...]:
    """Return the findings with the steps that fix them; ``standing`` holds the present values, for undoing."""
    return tuple(
        finding.model_copy(update={"fix": fixes(finding, settings, standing, places)})
        if finding.verdict == "finding"
        else finding
        for finding in findings
    )


def fixes(finding: Finding, settings: Mapping[str, Setting], standing: Mapping[str, str], places: Places) -> tuple[Fix, ...]:
    """Return the steps of one finding: its settings one after the other, or its own advice."""
    steps = tuple(fix_of(settings[want.setting], want, standing.get(want.setting), places) for want in finding.wants)
    if finding.advice:
        own = Fix(text=finding.advice, where=finding.where, check=finding.check, undo=finding.undo)
        return (*steps, own)
    return steps


def fix_of(setting: Setting, want: Want, current: str | None, places: Places) -> Fix:
    """Return how one setting gets its wanted value on this machine, and how it gets back."""
    if setting.set is not None or setting.where != "bios":
        return _of_system(setting, None if want.value is None else setting.neutral(want.value), current)
    place = places.of(setting, want.value)
    if place is None:
        return _nameless(setting, want, current, places.vendor, places.platform)
    former = None if current is None else place.spoken.get(current, current)
    return _of_place(setting, want, place, None if former is None else str(former))


def _nameless(setting: Setting, want: Want, current: str | None, vendor: Vendor, platform_id: str | None) -> Fix:
    # A setting of processors of several vendors has another name on each.
    menu = setting.menu[0] if setting.menu and len(setting.makers) == 1 else setting.heading
    absent = not_offered(vendor, platform_id, setting.name)
    usual = "the usual name in setup menus" if menu != setting.heading else "its name in this server's setup is not known"
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
        text=f"set {setting.term} to {_OPEN if value is None else value}",
        where=setting.where,
        commands=commands,
        reboot=setting.reboot,
        check=setting.show,
        undo=undo_of(setting, current, value),
    )


def _back(current: str | None) -> str | None:
    return f"set it back to {current}" if current is not None else None
