"""Judges hardware that is not there yet: of its kind everything is known that the sheets say, of the machine nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from advisor.judge.engine import Asked, ask, finding
from advisor.judge.evidence import Origins
from advisor.judge.rule import Rule
from advisor.judge.scope import env_of
from advisor.judge.settings import settings_table
from advisor.know.settings import settings
from advisor.language.logic import Unknown
from advisor.model.audit.case import Case
from advisor.model.audit.findings import Audit
from advisor.model.audit.platform import best_cut
from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.operating_system import Environment

if TYPE_CHECKING:
    from advisor.know.platforms import Model
    from advisor.language.tree import Env
    from advisor.model.audit.findings import Finding
    from advisor.model.audit.platform import Platform, Scope
    from advisor.model.audit.setting import Maker
    from advisor.model.audit.vendor import Vendor
    from advisor.model.hardware.firmware import Bios

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
"""A cut -> the value of the setting that makes it."""


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
    """Return what the rules ask of a machine of which the processor generation and the maker are known, and perhaps its BIOS."""
    from advisor.cli.judgement import rulebook

    case = _with_bios(_case(platform, vendor, scope), vendor, bios)
    env = env_of(case, settings())
    origins = Origins((), (), case, settings())
    asked = (finding(each, origins) for rule in rulebook(site).rules for each in _asked(rule, case, env))
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
    """Return the cut that the platform or its model decides, as its setting spells it; None where both leave that open.

    A rule asks for a cut of machines that offer it; whether hardware on order does, only its platform and model can tell.
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


def _asked(rule: Rule, case: Case, env: "Env") -> Iterator[Asked]:
    """Yield the verdict of a rule; one that runs over a list is asked once, of an item of which nothing is known."""
    if rule.each is not None:
        env = {**env, rule.each.name: Unknown(frozenset({rule.each.fact}))}
        rule = replace(rule, each=None, subject=None)
    yield from ask(rule, case, env)


def _hints(platform: "Platform | None", scope: "Scope") -> dict[str, str]:
    """Return the cut that the platform's guides want for this work, in words: which one a processor offers is not known yet."""
    if platform is None:
        return {}
    cut = next((advice.cut for advice in platform.best if scope in advice.scopes), None)
    name = _CUT_SETTING.get(platform.scheme)
    return {name: f"{cut}, or the highest below it that the setup menu offers"} if name and cut else {}
