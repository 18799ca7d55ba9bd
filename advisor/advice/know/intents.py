"""The intents of rules/intents.yaml, and what one of them asks of a server beside its rules."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from advisor.advice.know.fixes import AskedValue, Places, entries_of
from advisor.advice.know.vendors import settings
from advisor.advice.model.findings import Finding, Row, Want
from advisor.advice.model.intent import TOPIC, Choice, Intent, Intents
from advisor.advice.model.sheets import Setting, Verdict
from advisor.measure.platform import IntentName, Platform
from advisor.paths import rules
from advisor.sheets import load_sheet


@cache
def intents() -> Mapping[IntentName, Intent]:
    """Return every intent by its name."""
    return load_sheet(rules() / "intents.yaml", Intents).root


@dataclass(frozen=True)
class Asking:
    """An intent, and the rules beside which it asks: those that set a setting are asked first whether it applies here."""

    name: IntentName
    intent: Intent
    setters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Setting -> the rules that set it for this work."""

    def heard(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return the verdicts without those of rules that the intent sets aside."""
        return tuple(each for each in findings if each.id not in self.intent.sets_aside)

    def choice(self, setting: str, platform: Platform | None, vendor: str) -> Choice | None:
        """Return what the guides want of a setting on such a server; None where none speaks of it."""
        fitting = (
            each
            for each in self.intent.settings.get(setting, ())
            if (not each.vendors or vendor in each.vendors)
            and (not each.platforms or (platform is not None and any(query.fits(platform) for query in each.platforms)))
        )
        return next(fitting, None)


@dataclass(frozen=True)
class Ground:
    """What an intent is asked of: the verdicts, what settings are set to, whose server it is."""

    findings: tuple[Finding, ...]
    rows: Mapping[str, Row]
    places: Places
    platform: Platform | None
    decided: Mapping[str, str | None]


def asked_for(asking: Asking, ground: Ground) -> Iterator[Finding]:
    """Yield what an intent asks for: a finding where the setting differs, a pass where it is so, else unknown."""
    for name in asking.intent.settings:
        setting, vendor = settings()[name], ground.places.vendor.id
        choice = asking.choice(name, ground.platform, vendor)
        here = ground.platform is None or not setting.makers or ground.platform.maker in setting.makers
        named = entries_of(ground.places.vendor, ground.places.platform, name)
        if choice is None or not here or not named or not _applies(asking, name, ground):
            continue
        value = choice.value or _by_rules(name, ground)
        if value is None:
            continue
        verdict = _verdict(setting, value, ground)
        if verdict == "finding" and choice.value is None and _content(name, value, ground):
            continue
        guides = "; ".join(f"{guide.says} [{guide.ref}]" for guide in choice.guides)
        yield Finding(
            id=f"for-{asking.name}",
            title=f"{setting.term} is to be {value} for {asking.name}",
            topic=TOPIC,
            verdict=verdict,
            severity="low",
            scope=(asking.intent.scope,),
            where="bios",
            claim=f"--for {asking.name}: {guides}" if verdict == "finding" else None,
            why=setting.values.get(value, ""),
            wants=(Want(setting=name, value=value),),
            check=setting.show,
            guides=choice.guides,
            refs=tuple(dict.fromkeys(guide.ref for guide in choice.guides)),
        )


def settled(asked: Mapping[str, list[AskedValue]]) -> dict[str, list[AskedValue]]:
    """Return what is asked of each setting, without what is a matter of choice where an intent has chosen otherwise."""
    result = {}
    for name, pairs in asked.items():
        chosen = {want.value for finding, want in pairs if finding.topic == TOPIC}
        kept = [(finding, want) for finding, want in pairs if want.value in chosen or finding.severity != "info"]
        result[name] = kept if chosen else pairs
    return result


def _applies(asking: Asking, name: str, ground: Ground) -> bool:
    """Return whether no rule on a setting, or not every one of them, says that it does not apply here."""
    verdicts = {each.verdict for each in ground.findings if each.id in asking.setters.get(name, frozenset())}
    return verdicts != {"not-applicable"}


def _by_rules(name: str, ground: Ground) -> str | None:
    """Return the value that the rules want of a setting; what they leave open the processor's model may decide."""
    wants = (want for each in ground.findings for want in each.wants if want.setting == name)
    values = {want.value or ground.decided.get(name) for want in wants} - {None}
    return values.pop() if len(values) == 1 else None


def _verdict(setting: Setting, value: str, ground: Ground) -> Verdict:
    """Return whether a setting has a value: as it is known to be set, else by the BIOS's own word for it."""
    row = ground.rows.get(setting.name)
    if row is not None and row.current is not None:
        return "pass" if row.current == value else "finding"
    place, bios = ground.places.of(setting, value), ground.places.bios
    there = bios is not None and place is not None and place.exact and place.attribute in bios.attributes
    return "finding" if there and place is not None and place.vendor_value is not None else "unknown"


def _content(name: str, value: str, ground: Ground) -> bool:
    """Return whether rules of weight are content with a setting as it is, though they want this value elsewhere."""
    asked = [each for each in ground.findings if any(want.setting == name and want.value == value for want in each.wants)]
    return any(each.verdict == "pass" and each.severity != "info" for each in asked) and all(
        each.verdict not in ("finding", "unknown") for each in asked
    )
