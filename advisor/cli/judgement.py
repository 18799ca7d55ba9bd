"""Strings the rooms of judgement together: sheets, rules and a machine become findings and settings."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.judge.case import case_of, with_standings
from advisor.judge.engine import judge, waive
from advisor.judge.evidence import Origins
from advisor.judge.measured.facts import with_measurements
from advisor.judge.rule import Words
from advisor.judge.rulebook import Rulebook, load_rules, rule_files
from advisor.judge.scope import scope_with
from advisor.judge.settings import setting_readers, settings_in_effect, settings_table
from advisor.know.platforms import match_platform
from advisor.know.settings import settings
from advisor.know.vendors import publications
from advisor.model.audit.findings import Audit
from advisor.model.audit.platform import Platform, Scope
from advisor.model.hardware.partitioning import infer_layout
from advisor.paths import rules as rules_folder

if TYPE_CHECKING:
    from advisor.model.audit.case import Case
    from advisor.model.audit.setting import Neutral
    from advisor.model.audit.vendor import Vendor
    from advisor.model.hardware.fault_counters import Watch
    from advisor.model.hardware.firmware import Bios
    from advisor.model.hardware.layout import Layout
    from advisor.model.hardware.machine import Machine
    from advisor.model.measurement import Measurements

SITE_FOLDERS = (Path("/etc/advisor/rules.d"), Path("~/.config/advisor/rules.d"))
"""Where a site keeps its own rules, thresholds and waivers."""

UNKNOWN_VENDOR = "generic"
"""The sheet with the usual words, for a maker that has none of its own."""


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
    """Return what the rules say of a machine and what was measured on it, with the steps that mend it in its vendor's words."""
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
    """Return the settings that the maker's own sheet has a place for on this generation of servers."""
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
