"""Plans BIOS changes for one machine: the Plan, resolved against its own registry; and reads a plan that somebody edited."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from advisor.advice.bios_files import BiosInput, firmware_from, text_of
from advisor.advice.checklist import TuningChecklist, checklist
from advisor.advice.know.fixes import intents
from advisor.advice.know.vendors import FALLBACK, match_vendor, vendor_by_id, vendors
from advisor.advice.model.plan import BiosPlan, Change, NotWritten, Owner, Plan, PlannedChange
from advisor.advice.model.sheets import VendorValue
from advisor.advice.plan.draft import FirmwareState, legal, moved, refusals
from advisor.bios.door import Door
from advisor.bios.page import plan_text
from advisor.bios.reading import BiosReading, bios_input
from advisor.errors import AdvisorError, BadInput, BadSheet, BadValue, must_be_one_of
from advisor.machine.hardware import Bios, Cpu, Firmware, Memory, Processor, Registry, Scalar
from advisor.machine.hosts.live import LiveHost
from advisor.machine.machine import Environment, Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.measure.platform import IntentName, Scope, platform_on_order
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
    locked: str | None = None
    """Why most attributes could not be written when the BIOS was read."""
    offer: tuple[IntentName, int, int] | None = None
    """An intent that was not asked for, and how many it would settle of what is left to the reader."""

    @property
    def disputed(self) -> frozenset[str]:
        """Return the settings that are known to differ, and nobody but the reader can say whether that is wrong."""
        left = (*self.behind.contested, *(each for each in self.behind.look_up if each.now is not None))
        return frozenset(each.setting for each in left if each.setting)

    @property
    def admitted(self) -> tuple[Change, ...]:
        """Return the changes that only what the server is set for asks for."""
        return tuple(each for each in self.changes if any(want.chosen for want in each.wanted))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is to be known before any change."""
        offer: list[str] = []
        if self.offer:
            offer = [f"--for {self.offer[0]} decides {self.offer[1]} of the {self.offer[2]} settings left to you"]
        return (*((self.locked,) if self.locked else ()), *self.behind.notes, *offer)

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        rows = "; ".join(f"{each.attribute}: {each.now} -> {each.value}" for each in self.plan.changes)
        return (f"planned: {rows}" if rows else "nothing to change") + (f"; {self.locked}" if self.locked else "")

    good = True

    def text(self) -> str:
        """Return the plan as YAML with comments, to be read and edited."""
        more: dict[str, Any] = {"left": self.left, "notes": self.notes, "admitted": self.admitted}
        return plan_text(self.plan, self.changes, self.moves, self.legal, **more)

    def summary(self, file: Path) -> str:
        """Return what was written, in one line."""
        many, left, work = len(self.changes), len(self.left), f"for {self.plan.intent}, " if self.plan.intent else ""
        also = len(self.moves)
        along = f"{many} change{'s' * (many != 1)}, {also} dependent change{'s' * (also != 1)}"
        return f"{file}: {work}{along}; {left} left out, each with a reason"

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios plan --json``."""
        return {
            "schema": "advisor-bios-plan/1",
            "plan": self.plan.model_dump(mode="json"),
            "moves": {name: {"now": now, "then": then} for name, (now, then) in self.moves.items()},
            "changes": [change.model_dump(mode="json") for change in self.changes],
            "left": [{"list": name, **each.model_dump(mode="json")} for name, each in self.left],
            "notes": list(self.notes),
            "intent": self.plan.intent,
            "admitted": [each.attribute for each in self.admitted],
        }


def plan_bios(
    bios: Sequence[Path] | BiosInput,
    source: str | None = None,
    scope: Scope = "mpi",
    *,
    intent: IntentName | None = None,
    only: Sequence[str] = (),
    unchecked: Sequence[str] = (),
    site: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    observer: Observer = SILENT,
) -> PlannedBios:
    """Return what to stage on a machine: what findings want, as far as its BIOS and its registry take it.

    ``intent`` is what the server is set for, which settles what guides differ about. ``only`` keeps what some rules, settings or
    attributes want; what guides differ about is in a plan by one of the two. ``unchecked`` names attributes that may be planned
    though no attribute registry checks them.
    """
    given = firmware_from(bios)
    if given.bios is None:
        cure = "give --bios FILE; write it with advisor bios read --bmc HOST -o FILE"
        raise BadValue("no BIOS data to plan from", cure=cure)
    machine = source if source is not None else _machine_of(given, observer)
    more: dict[str, Any] = {"site": site, "bios": given, "measurements": measurements, "only": only, "unchecked": unchecked}
    more["include"] = ("contested",) if only else ()
    found = checklist(machine, scope, **more, intent=intent, observer=observer)
    planned = _planned(found, given, given.bios, only, unchecked)
    if intent is not None or not planned.disputed:
        return planned
    other = next(name for name, each in intents().items() if each.scope == scope)
    settled = _planned(checklist(machine, scope, **more, intent=other), given, given.bios, only, unchecked)
    return replace(planned, offer=(other, len(planned.disputed - settled.disputed), len(planned.disputed)))


_MOST_OF_A_CORE = 2
"""Hardware threads of an x86 core, where SMT is on."""


def _machine_of(given: BiosInput, observer: Observer) -> Machine:
    """Return the machine of a BIOS where none is named: this one where it is its own, else what the BMC said of its server."""
    owner, here = given.owner, LiveHost()
    if owner is None or not (owner.uuid or owner.model):
        cure = "give --from CAPTURE of that server, or write the file with advisor bios read --bmc HOST"
        raise BadValue("the file does not say which server this BIOS belongs to", cure=cure)
    uuid, product = (here.read(f"/sys/class/dmi/id/{name}").text or "" for name in ("product_uuid", "product_name"))
    if uuid.strip() and owner.uuid:
        own = owner.uuid.lower() in _both_orders(uuid.strip().lower())
    else:
        own = bool(owner.model) and owner.model == product.strip()
    if own:
        return read_machine(None, observer)
    observer.say(
        f"planned for {owner.model or owner.uuid}, according to its BMC: without --from CAPTURE the system's own view is unknown"
    )
    cpu, threads = None, owner.threads
    with suppress(BadValue):
        platform, model = platform_on_order(None, owner.processor or "")
        match = platform.match
        if threads is None and owner.sockets is not None and model is not None and model.cores is not None:
            threads = owner.sockets * model.cores * _MOST_OF_A_CORE
        stepping = match.steppings[0] if match.steppings else None
        cpu = Cpu(vendor=match.vendor, family=match.family, model=match.models[0], stepping=stepping, model_name=owner.processor)
    firmware = Firmware(system_vendor=owner.vendor, product=owner.model, bios_version=owner.bios_version)
    environment = Environment(virtual="none", container="none")
    many = owner.sockets or 1
    each = [Processor(socket=f"CPU{at + 1}", populated=True, threads=threads // many if threads else None) for at in range(many)]
    memory = Memory(processors=tuple(each)) if owner.sockets or threads else None
    return Machine(name=owner.host_name, firmware=firmware, cpu=cpu, memory=memory, environment=environment)


def _both_orders(uuid: str) -> tuple[str, str]:
    """Return a UUID in both orders of its first bytes: SMBIOS before 2.6 has them the other way round."""
    parts = uuid.split("-")
    turned = ["".join(re.findall("..", part)[::-1]) for part in parts[:3]]
    return uuid, "-".join((*turned, *parts[3:]))


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
        return replace(found, plan=found.plan.but(owner=owner))


def _planned(found: TuningChecklist, given: BiosInput, bios: Bios, only: Sequence[str], unchecked: Sequence[str]) -> PlannedBios:
    """Return what of a checklist's plan is legal here, what it brings along, and what is left."""
    ground = FirmwareState(found.vendor, found.checklist.platform_id, bios, given.registry)
    for name in unchecked:
        must_be_one_of("attribute", name, bios.attributes, "see advisor bios read")
    checked = [each for each in found.plan.writes if given.registry is not None or each.attribute in unchecked]
    changes, refused = _legal(tuple(checked), ground)
    reason = f"it cannot be checked: {given.without or 'no attribute registry is given'}; --unchecked NAME plans it anyway"
    blind = (("not checked", _unwritten(each, reason)) for each in found.plan.writes if each not in checked)
    plan = BiosPlan(
        format="advisor-bios-plan/1",
        machine=found.checklist.machine or "this machine",
        owner=given.owner or Owner(),
        registry=(given.registry.id if given.registry else None) or bios.registry,
        vendor=found.vendor.id,
        platform=found.checklist.platform_id,
        intent=found.plan.intent,
        changes=tuple(PlannedChange(attribute=each.attribute, value=each.value, now=each.now) for each in changes),
    )
    left = (*blind, *refused, *_left(found.plan, only))
    known = ground.registry.attributes if ground.registry else {}
    takes = {each.attribute: legal(known[each.attribute]) for each in changes if each.attribute in known}
    moves = moves_of(plan.values, ground) if given.registry else _told(changes, ground)
    return PlannedBios(plan, found.plan, changes, moves, takes, left, given.locked)


def _told(changes: tuple[Change, ...], ground: FirmwareState) -> dict[str, tuple[Scalar | None, Scalar | None]]:
    """Return what the vendor's sheet says that changes along, where no registry says it: attribute -> now, then."""
    own = {each.attribute for each in changes}
    told = {name: to for each in changes for name, to in ground.told_by_sheet(each.attribute, each.value).items()}
    return {name: (ground.now(name), to) for name, to in told.items() if name not in own}


def _unwritten(change: Change, reason: str) -> NotWritten:
    rules = tuple(wish.id for wish in change.wanted)
    return NotWritten(title=change.title, wanted=f"{change.attribute}={change.value}", reason=reason, rules=rules)


def ground_of(plan: BiosPlan, reading: BiosReading) -> FirmwareState:
    """Return what is known of the firmware that a plan is for; whose words it has, a plan says, or else who made the server."""
    owner = reading.owner
    made = match_vendor(Firmware(system_vendor=owner.vendor, product=owner.model)) if plan.vendor not in vendors() else None
    vendor = made or vendor_by_id(plan.vendor if plan.vendor in vendors() else FALLBACK)
    return FirmwareState(vendor, plan.platform, reading.bios, reading.registry)


def _legal(changes: tuple[Change, ...], ground: FirmwareState) -> tuple[tuple[Change, ...], tuple[tuple[str, NotWritten], ...]]:
    """Return the changes that stand together, and the others with the reason."""
    left: list[tuple[str, NotWritten]] = []
    while bad := refusals({each.attribute: each.value for each in changes}, ground):
        left += [("refused", _unwritten(each, bad[each.attribute])) for each in changes if each.attribute in bad]
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


def planned_for_before(file: Path) -> IntentName | None:
    """Return what the plan in a file is for, which the one that takes its place is for too; None where it is no such plan."""
    with suppress(AdvisorError):
        return load_plan(file).intent
    return None


_LARGEST = 1 << 20
MOST_CHANGES = 500


def _plain_values(sheet: Sheet, path: Path) -> None:
    """Refuse what is no value of an attribute, and more changes than a BIOS has, in the words of a plan."""
    found = sheet.data.get("changes") if isinstance(sheet.data, dict) else None
    changes = found if isinstance(found, list) else []
    if len(changes) > MOST_CHANGES:
        raise BadSheet(f"{len(changes)} changes", file=str(path), cure=f"a plan has at most {MOST_CHANGES}")
    for at, each in enumerate(changes):
        if isinstance(each, dict) and "value" in each and not isinstance(each["value"], bool | int | str):
            line = sheet.line(("changes", at, "value"))
            cure = "write quoted text, a whole number, or true or false"
            raise BadSheet("not a valid attribute value", file=str(path), place=f"line {line}", cure=cure)


def load_plan(path: Path) -> BiosPlan:
    """Return a plan that may have been edited; each mistake is one line that names file and line."""
    text = text_of(path, _LARGEST, "a plan", absent="advisor bios plan --bmc HOST -o FILE writes one")
    sheet = parse_sheet(text, str(path))
    if not isinstance(sheet.data, dict) or sheet.data.get("format") != "advisor-bios-plan/1":
        raise BadInput("not a plan of BIOS changes", file=str(path), cure="advisor bios plan writes one")
    _plain_values(sheet, path)
    plan = model_of(sheet, BiosPlan)
    names = [each.attribute for each in plan.changes]
    twice = next((at for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        line = sheet.line(("changes", twice, "attribute"))
        raise BadSheet(f"{names[twice]} appears twice", file=str(path), place=f"line {line}", cure="remove one of the two")
    return plan
