"""Judges a machine, or hardware on order: sheets, rules and facts become findings and settings."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from advisor.judge.case import case_of, with_standings
from advisor.judge.engine import ask_of_any, finding, judge, waive
from advisor.judge.evidence import Origins
from advisor.judge.measured.facts import with_measurements
from advisor.judge.rule import Words
from advisor.judge.rulebook import Rulebook, load_rules, rule_files
from advisor.judge.scope import env_of, scope_with
from advisor.judge.settings import setting_readers, settings_in_effect, settings_table
from advisor.know.platforms import match_platform
from advisor.know.settings import settings
from advisor.know.vendors import publications
from advisor.model.audit.case import Case
from advisor.model.audit.findings import Audit
from advisor.model.audit.platform import Platform, Scope, best_cut
from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.operating_system import Environment
from advisor.model.hardware.partitioning import infer_layout
from advisor.paths import rules as rules_folder

if TYPE_CHECKING:
    from advisor.know.platforms import Model
    from advisor.model.audit.findings import Finding
    from advisor.model.audit.setting import Maker, Neutral
    from advisor.model.audit.vendor import Vendor
    from advisor.model.hardware.fault_counters import Watch
    from advisor.model.hardware.firmware import Bios
    from advisor.model.hardware.layout import Layout
    from advisor.model.hardware.machine import Machine
    from advisor.model.measurement import Measurements


SITE_FOLDERS = (Path("/etc/advisor/rules.d"), Path("~/.config/advisor/rules.d"))
"""Where a site keeps its own rules, thresholds and waivers."""

UNKNOWN_VENDOR = "generic"
"""The sheet with the usual words, for a vendor that has none of its own."""


@dataclass(frozen=True)
class Judgement:
    """A machine judged for a scope: the audit, and what it was made from."""

    machine: "Machine"
    layout: "Layout"
    platform: Platform | None
    vendor: "Vendor"
    case: "Case"
    book: Rulebook
    audit: Audit
    origins: Origins = field(repr=False)


@cache
def words() -> Words:
    """Return what rules are checked against."""
    return Words(scope_with(settings()), settings(), frozenset(publications()))


def site_files(named: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the rule files of this site, and those named on the command line."""
    found = [path for folder in SITE_FOLDERS for path in rule_files(Path(os.path.expanduser(folder)), must=False)]  # noqa: PTH111 - without a home the ~ stays
    return (*found, *(path for each in named for path in rule_files(each)))


def rulebook(site: Iterable[Path] = (), *, examples: bool = False) -> Rulebook:
    """Return the product's rules and a site's; the product's with their examples only where these are asked for."""
    theirs = site_files(site)
    if theirs:
        return load_rules(rule_files(rules_folder()), theirs, words(), examples=examples)
    return own_rules(examples=examples)


@cache
def own_rules(*, examples: bool = True) -> Rulebook:
    """Return the product's rules alone."""
    return load_rules(rule_files(rules_folder()), (), words(), examples=examples)


def judged(
    machine: "Machine",
    scope: Scope = "mpi",
    site: Iterable[Path] = (),
    bios: "Bios | None" = None,
    measurements: "Measurements | None" = None,
    *,
    watch: "Watch | None" = None,
) -> Judgement:
    """Return what the rules say of a machine and what was measured on it, with the steps that fix it in its vendor's words."""
    from advisor.know.fixes import with_fixes
    from advisor.know.vendors import match_vendor, sheet_for_machine, vendor_by_id

    layout = infer_layout(machine)
    platform = match_platform(machine)
    vendor = match_vendor(machine.firmware)
    case = case_of(machine, layout, platform, vendor.id if vendor else None, scope)
    case = with_measurements(case, measurements).model_copy(update={"bios_offers": _offers(vendor, platform), "watch": watch})
    applied, pending = _said(vendor, platform, bios or machine.bios)
    case = with_standings(case, settings_in_effect(case, settings(), setting_readers(settings()), applied, pending))
    looked, missed = (watch.sources, watch.gaps) if watch else ((), ())
    origins = Origins((*machine.sources, *looked), (*machine.gaps, *missed), case, settings())
    book = rulebook(site)
    kind = platform.id if platform else None
    words_of = sheet_for_machine(vendor or vendor_by_id(UNKNOWN_VENDOR), machine.cpu, kind, known_maker=vendor is not None)
    found = judge(case, book.rules, settings(), origins)
    found = waive(found, book.waivers, machine.name, date.today().isoformat())  # noqa: DTZ011 - a waiver ends on a local day
    present = {standing.name: standing.value for standing in case.standings or () if standing.value is not None}
    found = with_fixes(found, settings(), present, words_of, kind)
    audit = Audit(
        scope=scope,
        platform=platform.name if platform else None,
        platform_id=kind,
        vendor=vendor.id if vendor else None,
        findings=found,
        settings=settings_table(case.standings or (), found, settings()),
        unseen=machine.gaps,
    )
    return Judgement(machine, layout, platform, words_of, case, book, audit, origins)


def _offers(vendor: "Vendor | None", platform: Platform | None) -> tuple[str, ...] | None:
    """Return the settings that the vendor's own sheet has a place for on this generation of servers."""
    from advisor.know.attributes import entries_of

    if vendor is None or platform is None or vendor.id == UNKNOWN_VENDOR:
        return None
    return tuple(name for name in vendor.settings if entries_of(vendor, platform.id, name))


def _said(
    vendor: "Vendor | None", platform: Platform | None, bios: "Bios | None"
) -> tuple[dict[str, "Neutral"], dict[str, "Neutral"]]:
    """Return the settings as the BIOS says they are, and those that it will change at the next boot."""
    from advisor.know.attributes import neutral_values

    if vendor is None or bios is None:
        return {}, {}
    kind = platform.id if platform else None
    applied = neutral_values(vendor, kind, bios)
    coming = neutral_values(vendor, kind, bios, pending=True)
    return applied, {name: value for name, value in coming.items() if applied.get(name) != value}


_REAL: Final = Environment(virtual="none", container="none")
"""What is ordered is a real machine."""

_MAKERS: Final[dict[str, "Maker"]] = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}

_CUT_SETTING: Final = {"NPS": "numa.nps", "SNC": "cpu.snc", "COD": "cpu.snoop_mode", "DIES": "memory.interleave"}
"""Scheme of a platform -> the setting that cuts its sockets."""


_OF_MODULES: Final = frozenset({"memory.mirroring", "memory.speed", "memory.refresh_rate"})
"""Settings of memory in modules; soldered memory has none of them."""

_SPELLED: Final = {
    "NPS1": "1", "NPS2": "2", "NPS4": "4", "SNC2": "snc2", "SNC3": "snc3", "SNC4": "snc4", "COD": "cod",
    "channel-interleaving": "channel",
}  # fmt: skip
"""A NUMA partitioning -> the value of the setting that makes it."""


@dataclass(frozen=True)
class Order:
    """Hardware on order, judged: every rule that may apply asks for its state."""

    audit: Audit
    hints: dict[str, str]
    decided: dict[str, str | None]
    """Setting -> the value that the platform or the processor's model decides; None where neither does, whatever a rule asks."""


def maker_of(platform: "Platform | None") -> "Maker | None":
    """Return who makes a platform's processors, as settings name them."""
    return None if platform is None else _MAKERS.get(platform.match.vendor, "arm")


def judged_platform(
    platform: "Platform | None",
    vendor: "Vendor",
    scope: "Scope" = "mpi",
    site: Iterable[Path] = (),
    *,
    bios: "Bios | None" = None,
    model: "Model | None" = None,
) -> Order:
    """Return what the rules ask of a machine of which the processor generation and the vendor are known, and perhaps its BIOS."""
    case = _with_bios(_case(platform, vendor, scope), vendor, bios)
    env = env_of(case, settings())
    origins = Origins((), (), case, settings())
    asked = (finding(ask_of_any(rule, case, env), origins) for rule in rulebook(site).rules)
    found = tuple(each for each in asked if _of_order(each, platform))
    audit = Audit(
        scope=scope,
        platform=platform.name if platform else None,
        platform_id=platform.id if platform else None,
        vendor=vendor.id,
        findings=found,
        settings=settings_table(case.standings or (), found, settings()),
    )
    return Order(audit, _hints(platform, scope), _decided(platform, scope, model))


def _of_order(found: "Finding", platform: "Platform | None") -> bool:
    """Return whether a verdict is one for hardware that is not there: nothing was observed, and memory may be soldered on.

    What is worth knowing of a machine, and no setting, was seen on no machine here.
    """
    if not found.wants and found.severity == "info":
        return False
    soldered = platform is not None and platform.memory_kind is not None and not platform.memory_kind.startswith("DDR")
    slots = "DIMM" in f"{found.title} {found.want} {found.advice}" or (found.topic == "memory" and found.where == "hardware")
    of_modules = bool(found.wants) and all(want.setting in _OF_MODULES for want in found.wants)
    return not (soldered and (of_modules or (slots and not found.wants)))


def _decided(platform: "Platform | None", scope: "Scope", model: "Model | None") -> dict[str, str | None]:
    """Return the NUMA partitioning that platform or model decides, as its setting spells it; None where both leave that open.

    A rule asks for a NUMA partitioning of machines that offer it; for hardware on order its platform and model decide.
    """
    name = _CUT_SETTING.get(platform.scheme) if platform else None
    if platform is None or name is None:
        return {}
    cut = best_cut(platform, scope, model.dies if model else None, None, model.cores if model else None)
    return {name: _SPELLED.get(cut.name) if cut else None}


def _case(platform: "Platform | None", vendor: "Vendor", scope: "Scope") -> Case:
    if platform is None:
        return Case(scope=scope, vendor=vendor.id if vendor.match else None, environment=_REAL)
    arm = maker_of(platform) == "arm"
    only = platform.match.models[0] if len(platform.match.models) == 1 else None
    return Case(
        scope=scope,
        architecture="aarch64" if arm else "x86_64",
        cpu=Cpu(vendor=platform.match.vendor, family=platform.match.family, model=only),
        platform=platform,
        environment=_REAL,
        vendor=vendor.id if vendor.match else None,
    )


def _with_bios(case: Case, vendor: "Vendor", bios: "Bios | None") -> Case:
    """Return the case that knows what the BIOS says of itself."""
    if bios is None:
        return case
    from advisor.judge.case import with_standings
    from advisor.judge.settings import settings_in_effect
    from advisor.know.attributes import neutral_values

    applied = neutral_values(vendor, case.platform.id if case.platform else None, bios)
    return with_standings(case, settings_in_effect(case, settings(), (), applied, {}))


def _hints(platform: "Platform | None", scope: "Scope") -> dict[str, str]:
    """Return the NUMA partitioning that the platform's guides want, in words: which one a processor offers is not known yet."""
    if platform is None:
        return {}
    cut = next((advice.cut for advice in platform.best if scope in advice.scopes), None)
    name = _CUT_SETTING.get(platform.scheme)
    return {name: f"{cut}, or the highest below it that the setup menu offers"} if name and cut else {}
