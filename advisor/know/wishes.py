"""What the rules want of each setting, and where this machine keeps it: looked up here, once, for pages and files alike."""

from collections.abc import Iterable, Iterator, Mapping

from advisor.know.keeps import kept_of
from advisor.know.places import locate
from advisor.model.amounts import binary
from advisor.model.audit import Row
from advisor.model.bios import Bios
from advisor.model.checklist import Other
from advisor.model.finding import Finding, Want
from advisor.model.plan import Wanted, Wish
from advisor.model.rule import SEVERITIES
from advisor.model.setting import Neutral, Setting
from advisor.model.vendor import Place, Vendor

Asked = tuple[Finding, Want]

_WEIGHT = ("finding", "waived", "unknown", "pass")
OPEN = ("finding", "waived")
"""Verdicts of what is not as wanted; what a site waives is told, and never written."""


def by_setting(asked: Iterable[Finding], decided: Mapping[str, str | None] | None = None) -> dict[str, list[Asked]]:
    """Return what is asked of each setting, the weightiest verdict first.

    ``decided`` has values that the model decides, and None for a setting whose value nothing decides.
    """
    result: dict[str, list[Asked]] = {}
    for finding in asked:
        for want in finding.wants:
            open_here = decided is not None and want.setting in decided and decided[want.setting] is None
            value = None if open_here else want.value if want.value is not None else (decided or {}).get(want.setting)
            result.setdefault(want.setting, []).append((finding, want.model_copy(update={"value": value})))
    return {name: sorted(pairs, key=_says_most) for name, pairs in result.items()}


def _says_most(asked: Asked) -> tuple[bool, int, int]:
    finding, want = asked
    return want.value is None, _WEIGHT.index(finding.verdict), SEVERITIES.index(finding.severity)


def wish_of(
    setting: Setting, row: Row | None, pairs: list[Asked], vendor: Vendor, platform: str | None, *, bios: Bios | None, text: str
) -> Wish:
    """Return what is wanted of a setting, and its place; ``text`` stands where no value is known."""
    finding, want = pairs[0]
    current = row.current if row else None
    done = _done([found.verdict for found, _ in pairs], so=current is not None and {want.value for _, want in pairs} == {current})
    if done and current is not None and may_stay(setting, current):
        want = want.model_copy(update={"value": current})
    place = place_of(setting, want.value, vendor, platform, bios)
    return Wish(
        setting=setting.name,
        title=setting.title,
        where=setting.where,
        value=want.value,
        text=amount(setting, want.value) or text or finding.want or "depends on the machine",
        now=current,
        stands=amount(setting, current),
        done=done,
        wanted=tuple(_wanted(found, asked) for found, asked in pairs),
        others=tuple(_contradictions(pairs, want)) if not done else (),
        guides=tuple({(guide.says, guide.ref): guide for found, _ in pairs for guide in found.guides}.values()),
        place=place,
        kept=kept_of(setting, setting.neutral(want.value), current) if want.value is not None else None,
        menu=f"{place.path} > {place.label}" if place and place.path else setting.menu[0] if setting.menu else setting.title,
        only_with=setting.only_with.get(want.value) if want.value is not None else None,
    )


def place_of(setting: Setting, value: str | None, vendor: Vendor, platform: str | None, bios: Bios | None) -> Place | None:
    """Return where a setting of the BIOS is found; None for one of the operating system, and where nothing is known."""
    if setting.set is not None or setting.where != "bios":
        return None
    return locate(vendor, platform, setting, some(setting) if value is None else setting.neutral(value), bios)


def some(setting: Setting) -> Neutral:
    """Return some value, to find the menu of a setting whose wanted value is not known."""
    return setting.neutral(next(iter(setting.values), "0"))


def _wanted(finding: Finding, want: Want) -> Wanted:
    dissent = finding.severity == "low" and any(guide.otherwise for guide in finding.guides)
    return Wanted(
        id=finding.id,
        verdict=finding.verdict,
        severity=finding.severity,
        gain=worth(finding),
        contested=finding.severity == "info" or dissent,
        value=want.value,
    )


def worth(finding: Finding) -> str | None:
    """Return what a finding costs in words, with its source."""
    cost = finding.cost
    if cost is None:
        return None
    part = f"{100 * cost.gain:.0f} % of {cost.of}" if cost.gain is not None else cost.of
    return f"{part}, {cost.basis}{f' [{cost.ref}]' if cost.ref else ''}"


def _contradictions(pairs: list[Asked], chosen: Want) -> Iterator[Other]:
    """Yield the values that findings of weight want instead of the one chosen; what is taste yields to what is not."""
    weight = [(found, want) for found, want in pairs if found.verdict == "finding" and want.value is not None]
    serious = [(found, want) for found, want in weight if found.severity != "info"] or weight
    for found, want in serious:
        if want.value is not None and want.value != chosen.value:
            yield Other(id=found.id, wanted=want.value, refs=found.refs)


def amount(setting: Setting, value: str | None) -> str | None:
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
