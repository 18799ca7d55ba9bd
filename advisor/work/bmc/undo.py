"""Takes a change back: what was asked and what moved along, as a record has it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.errors import CannotWork
from advisor.language.units import printable
from advisor.work.bmc.door import Door
from advisor.work.bmc.plan import ground_of
from advisor.work.bmc.read import BiosReading, reading_of
from advisor.work.bmc.record import load_record, record_name
from advisor.work.bmc.stage import Confirm, Staging, checked_by, from_to, nothing_foreign, same_owner, staged

if TYPE_CHECKING:
    from advisor.model.audit.bios_change import BiosRecord
    from advisor.model.hardware.firmware import Scalar
    from advisor.plan.draft import FirmwareState


def undo_bios(record: Path, door: Door, kept: Path | None, confirm: Confirm) -> Staging:
    """Stage the values that a record saved, of what was asked and of what moved along; after comparing whose they are."""
    saved = load_record(record)
    with door.open() as session:
        reading = reading_of(session)
        ground = _ground_of_record(saved, reading)
        same_owner(saved.owner, reading.owner, str(record), "the record")
        nothing_foreign(reading, _ours(saved, ground), ground)
        values, left = _back(saved, reading, ground)
        place = kept or record_name(session.address.name, "undo")
        staging = Staging(reading.bmc, reading.owner, "undo", from_to(values, reading), {}, str(place), reading.verified, left)
        staging = replace(staging, registry=checked_by(reading))
        if not values:
            return replace(staging, state="nothing to do", waiting=reading.waiting)
        return staged(session, reading, staging, place, values, ground=ground, confirm=confirm)


def without_advisor(record: Path) -> str:
    """Return how to go back to what a record saved, by hand."""
    lines = load_record(record).by_hand
    if not lines:
        raise CannotWork(
            f"{record}: of this BIOS no other way than its setup menus is known; the record has every value as it was"
        )
    return "".join(f"{printable(line)}\n" for line in lines)


def _ground_of_record(record: "BiosRecord", reading: BiosReading) -> "FirmwareState":
    from advisor.model.audit.bios_change import BiosPlan

    plan = BiosPlan(format="advisor-bios-plan/1", vendor=record.vendor, platform=record.platform)
    return ground_of(plan, reading)


def _ours(record: "BiosRecord", ground: "FirmwareState") -> "dict[str, set[Scalar | None]]":
    """Return what may wait of this change: what was asked, what moved along, whichever way where that was not known, and back."""
    from advisor.plan.registry import settle

    ours = {name: {value, record.applied.get(name)} for name, value in {**record.moves, **record.asked}.items()}
    if ground.registry is not None and None in record.moves.values():
        for name, either in settle(ground.registry, record.applied, record.asked).contradicted.items():
            ours.setdefault(name, {record.applied.get(name)}).update(either)
    return ours


def _back(record: "BiosRecord", reading: BiosReading, ground: "FirmwareState") -> "tuple[dict[str, Scalar], dict[str, str]]":
    """Return what is to be written so that what was asked, and what moved along, is as it was; and what cannot be, and why."""
    values, left = dict[str, "Scalar"](), dict[str, str]()
    for name in record.asked:
        saved = record.applied.get(name)
        if saved is None:
            left[name] = "what it was is not in the record"
        elif why := _cannot(name, saved, reading, ground):
            left[name] = why
        elif _differs(reading, ground, name, saved):
            values[name] = saved
    also = (name for name in record.moves if name not in record.asked)
    moved = {
        name: was for name in also if (was := record.applied.get(name)) is not None and not _cannot(name, was, reading, ground)
    }
    return _with_moved(values, moved, left, reading, ground)


def _cannot(name: str, saved: "Scalar", reading: BiosReading, ground: "FirmwareState") -> str | None:
    """Return why an attribute cannot go back, whatever a record says that somebody may have edited; None where it can."""
    from advisor.model.audit.bios_change import out_of_reach

    known = ground.registry.attributes.get(name) if ground.registry else None
    if what := out_of_reach(name, known.shown if known else None):
        return f"{what}: out of reach of any record"
    if name not in reading.raw.applied:
        return "this BIOS does not have it"
    now = reading.raw.applied[name]
    if now is not None and type(now) is not type(saved):
        return f"{saved} is of another kind than its present value, {now}"
    return None


def _differs(reading: BiosReading, ground: "FirmwareState", name: str, saved: "Scalar") -> bool:
    """Return whether an attribute will be another than it was after the next restart."""
    to_be = {**reading.raw.applied, **reading.raw.waiting}
    return not ground.same(name, to_be.get(name), saved)


def _with_moved(
    values: "dict[str, Scalar]",
    moved: "dict[str, Scalar]",
    left: dict[str, str],
    reading: BiosReading,
    ground: "FirmwareState",
) -> "tuple[dict[str, Scalar], dict[str, str]]":
    """Return the values with those that moved along and do not go back by themselves; what the registry holds is left."""
    from advisor.plan.registry import settle

    if ground.registry is None:
        return {**values, **{name: to for name, to in moved.items() if _differs(reading, ground, name, to)}}, left
    by_itself = settle(ground.registry, ground.present, values).values
    for name, to in moved.items():
        stays = not ground.same(name, by_itself.get(name), to)
        if _differs(reading, ground, name, to) and (stays or name in reading.raw.waiting):
            values[name] = to
    while True:
        after = settle(ground.registry, ground.present, values)
        held = {name: flags[0] for name in values if name in moved and (flags := after.refuses(name))}
        if not held:
            return values, left
        for name, flag in held.items():
            del values[name]
            now = reading.bios.attributes.get(name)
            left[name] = f"the attribute registry makes it {flag}: it is {now}, and was {moved[name]}"
