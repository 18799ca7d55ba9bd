"""Plans BIOS changes for one machine: the Plan, resolved against its own registry; and reads a plan that somebody edited."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from advisor.advice.bios_files import BiosInput, firmware_from, text_of
from advisor.advice.checklist import TuningChecklist, checklist
from advisor.advice.know.vendors import FALLBACK, match_vendor, vendor_by_id, vendors
from advisor.advice.model.bios_change import BiosPlan, Owner, PlannedChange
from advisor.advice.model.plan import Change, NotWritten, Plan
from advisor.advice.model.vendor import VendorValue
from advisor.advice.plan.draft import FirmwareState
from advisor.advice.plan.legal import legal, refusals
from advisor.advice.plan.registry import moved
from advisor.bios.door import Door
from advisor.bios.page import plan_text
from advisor.bios.reading import BiosReading, bios_input
from advisor.errors import BadInput, BadSheet, BadValue
from advisor.machine.firmware import Bios, Firmware, Registry, Scalar
from advisor.machine.observer import SILENT, Observer
from advisor.measure.platform import Scope
from advisor.sheets import Sheet, model_of, parse_sheet


@dataclass(frozen=True)
class PlannedBios:
    """What to stage, what it brings along, and what is left, with the reasons."""

    plan: BiosPlan
    behind: Plan
    changes: tuple[Change, ...]
    moves: Mapping[str, tuple[Scalar | None, Scalar | None]]
    """What changes along: attribute -> now, then."""
    legal: Mapping[str, str]
    left: tuple[tuple[str, NotWritten], ...]

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        rows = "; ".join(f"{each.attribute}: {each.now} -> {each.value}" for each in self.plan.changes)
        return f"planned: {rows}" if rows else "nothing to change"

    good = True

    def text(self) -> str:
        """Return the plan as YAML with comments, to be read and edited."""
        return plan_text(self.plan, self.changes, self.moves, self.legal, left=self.left, notes=self.behind.notes)

    def summary(self, file: Path) -> str:
        """Return what was written, in one line."""
        many, left = len(self.changes), len(self.left)
        return (
            f"{file}: {many} change{'s' * (many != 1)}, {len(self.moves)} along with them; {left} left out, each with its reason"
        )

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios plan --json``."""
        return {
            "schema": "advisor-bios-plan/1",
            "plan": self.plan.model_dump(mode="json"),
            "moves": {name: {"now": now, "then": then} for name, (now, then) in self.moves.items()},
            "changes": [change.model_dump(mode="json") for change in self.changes],
            "left": [{"list": name, **each.model_dump(mode="json")} for name, each in self.left],
            "notes": list(self.behind.notes),
        }


def plan_bios(
    bios: Sequence[Path] | BiosInput,
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    only: Sequence[str] = (),
    site: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    observer: Observer = SILENT,
) -> PlannedBios:
    """Return what to stage on a machine: what findings want, as far as its BIOS and its registry take it.

    ``only`` keeps what some rules, settings or attributes want; what guides differ about is in a plan only so.
    """
    given = firmware_from(bios)
    if given.bios is None:
        raise BadValue("no BIOS to plan for", cure="give --bios FILE, which advisor bios read --bmc HOST -o FILE writes")
    include, files = (("contested",) if only else ()), measurements
    found = checklist(source, scope, site=site, bios=given, measurements=files, include=include, only=only, observer=observer)
    return _planned(found, given, given.bios, only)


_MOST_KINDS = 64


@dataclass(frozen=True)
class Planner:
    """Plans for many BMCs: servers whose BIOS is equal get one plan, each with its own owner."""

    plan: Callable[[BiosInput], PlannedBios]
    made: list[tuple[str, Registry | None, PlannedBios]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def for_bmc(self, door: Door) -> PlannedBios:
        """Return the plan for the server behind one BMC."""
        given = bios_input(door)
        owner, bios = given.owner or Owner(), given.bios
        alike = {**owner.model_dump(), "uuid": None, "host_name": None}
        key = json.dumps([alike, bios.model_dump(mode="json") if bios else None], sort_keys=True)
        with self.lock:
            known = (plan for one, registry, plan in self.made if one == key and registry == given.registry)
            found = next(known, None) or self.plan(given)
            self.made[:] = [*(each for each in self.made if each[2] is not found), (key, given.registry, found)][-_MOST_KINDS:]
        return replace(found, plan=found.plan.model_copy(update={"owner": owner}))


def _planned(found: TuningChecklist, given: BiosInput, bios: Bios, only: Sequence[str]) -> PlannedBios:
    """Return what of a checklist's plan is legal here, what it brings along, and what is left."""
    ground = _ground(bios, given.registry, found.vendor, found.checklist.platform_id)
    changes, refused = _legal(found.plan.writes, ground)
    plan = BiosPlan(
        format="advisor-bios-plan/1",
        machine=found.checklist.machine or "this machine",
        owner=given.owner or Owner(),
        registry=(given.registry.id if given.registry else None) or bios.registry,
        vendor=found.vendor.id,
        platform=found.checklist.platform_id,
        changes=tuple(PlannedChange(attribute=each.attribute, value=each.value, now=each.now) for each in changes),
    )
    left = (*refused, *_left(found.plan, only))
    known = ground.registry.attributes if ground.registry else {}
    takes = {each.attribute: legal(known[each.attribute]) for each in changes if each.attribute in known}
    return PlannedBios(plan, found.plan, changes, moves_of(plan.values, ground), takes, left)


def _ground(bios: Any, registry: Any, vendor: Any, platform: str | None) -> FirmwareState:

    return FirmwareState(vendor, platform, bios, registry)


def ground_of(plan: BiosPlan, reading: BiosReading) -> FirmwareState:
    """Return what is known of the firmware that a plan is for; whose words it has, a plan says, or else who made the server."""
    owner = reading.owner
    made = match_vendor(Firmware(system_vendor=owner.vendor, product=owner.model)) if plan.vendor not in vendors() else None
    vendor = made or vendor_by_id(plan.vendor if plan.vendor in vendors() else FALLBACK)
    return _ground(reading.bios, reading.registry, vendor, plan.platform)


def _legal(changes: tuple[Change, ...], ground: FirmwareState) -> tuple[tuple[Change, ...], tuple[tuple[str, NotWritten], ...]]:
    """Return the changes that stand together, and the others with the reason."""
    left: list[tuple[str, NotWritten]] = []
    while bad := refusals({each.attribute: each.value for each in changes}, ground):
        for each in (each for each in changes if each.attribute in bad):
            wanted = f"{each.attribute}={each.value}"
            rules = tuple(wish.id for wish in each.wanted)
            left.append(("refused", NotWritten(title=each.title, wanted=wanted, reason=bad[each.attribute], rules=rules)))
        changes = tuple(each for each in changes if each.attribute not in bad)
        there = {each.attribute for each in changes}
        changes = tuple(each for each in changes if there.issuperset(each.first))
    return changes, tuple(left)


def _left(plan: Plan, only: Sequence[str]) -> tuple[tuple[str, NotWritten], ...]:
    lists = {
        "refused": plan.refused,
        "guides differ": plan.contested,
        "look up first": plan.look_up,
        "not on this machine": plan.absent,
        "by hand": plan.by_hand,
    }
    return tuple(
        (name, each)
        for name, many in lists.items()
        for each in many
        if not only or {*each.rules, each.setting, each.attribute} & {*only}
    )


def moves_of(wanted: Mapping[str, VendorValue], ground: FirmwareState) -> dict[str, tuple[Scalar | None, Scalar | None]]:
    """Return what changes along with some writes, by the registry: attribute -> now, then."""
    if ground.registry is None:
        return {}
    along = moved(ground.registry, ground.present, wanted)
    return {name: (ground.now(name), value) for name, value in along.items() if name in ground.present}


_LARGEST = 1 << 20
MOST_CHANGES = 500


def _plain_values(sheet: Sheet, path: Path) -> None:
    """Refuse what is no value of an attribute, and more changes than a BIOS has, in the words of a plan."""
    found = sheet.data.get("changes") if isinstance(sheet.data, dict) else None
    changes = found if isinstance(found, list) else []
    if len(changes) > MOST_CHANGES:
        raise BadSheet(f"{len(changes)} changes", file=str(path), cure=f"at most {MOST_CHANGES} are one plan")
    for at, each in enumerate(changes):
        if isinstance(each, dict) and "value" in each and not isinstance(each["value"], bool | int | str):
            line = sheet.line(("changes", at, "value"))
            cure = "write a text in quotes, a whole number, or true or false"
            raise BadSheet("value is not one that an attribute has", file=str(path), place=f"line {line}", cure=cure)


def load_plan(path: Path) -> BiosPlan:
    """Return a plan that may have been edited; each mistake is one line that names file and line."""
    text = text_of(path, _LARGEST, "a plan", absent="advisor bios plan --bmc HOST -o FILE writes one")
    sheet = parse_sheet(text, str(path))
    if not isinstance(sheet.data, dict) or sheet.data.get("format") != "advisor-bios-plan/1":
        raise BadInput("no plan of BIOS changes", file=str(path), cure="advisor bios plan writes one")
    _plain_values(sheet, path)
    plan = model_of(sheet, BiosPlan)
    names = [each.attribute for each in plan.changes]
    twice = next((at for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        line = sheet.line(("changes", twice, "attribute"))
        raise BadSheet(
            f"{names[twice]} stands in it twice", file=str(path), place=f"line {line}", cure="leave one of the two out"
        )
    return plan
