"""Stages a plan through a BMC, takes it back by its record, says what waits, and restarts where it is ours: by docs/bios.md."""

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ValidationError

from advisor.advice.bios_files import bare_registry, text_of
from advisor.advice.model.plan import BiosPlan, BiosRecord, Owner, Target, edit_instruction, filled_lines, out_of_reach
from advisor.advice.plan.draft import FirmwareState, legal, named, refusals, settle
from advisor.bios.changes import restart, restart_kind, stage, start, withdraw
from advisor.bios.connection import seen_to_its_end
from advisor.bios.door import Door
from advisor.bios.drain import Scheduler, Slurm
from advisor.bios.plan import ground_of, load_plan, moves_of
from advisor.bios.reading import BiosReading, Job, job_at, now, open_jobs, reading_of
from advisor.errors import BadInput, BadValue, CannotWork
from advisor.machine.hardware import Scalar
from advisor.machine.hosts.base import Host, asks_the_network
from advisor.machine.hosts.files import Use, trusted, write_file
from advisor.machine.hosts.live import LiveHost, find
from advisor.machine.units import printable
from advisor.measure.platform import IntentName

if TYPE_CHECKING:
    from advisor.bios.session import Session


def save_record(place: Path, record: BiosRecord, *, new: bool = False) -> None:
    """Write a record to disk, readable for its owner alone; a new one never takes the place of another."""
    if new and str(place) == "-":
        raise BadValue("a record must be a file, but - means standard output", cure="name a file: --record before.json")
    trusted(place, Use.NAMED)
    there = place.exists() or place.is_symlink()
    if new and there and not _holds_nothing_more(place, record):
        raise BadInput("already exists and may be the undo record of another change", file=str(place), cure="name a new file")
    data = (json.dumps(record.model_dump(mode="json"), indent=1) + "\n").encode()
    write_file(place, data, private=True, durable=True, new=new and not there)


def _holds_nothing_more(place: Path, record: BiosRecord) -> bool:
    """Return whether a file is the record of the same server as it still is: staging was begun, and nothing came of it."""
    try:
        there = load_record(place)
    except BadInput:
        return False
    kept = {"applied", "owner", "asked"}
    return there.outcome == "begun" and there.model_dump(include=kept) == record.model_dump(include=kept)


def record_of(
    reading: BiosReading, ground: FirmwareState, asked: Mapping[str, Scalar], moves: Mapping[str, Scalar | None]
) -> BiosRecord:
    """Return all that a BIOS is now, what is asked of it, and what else may move with that."""
    return BiosRecord(
        format="advisor-bios-record/1",
        at=now(),
        bmc=reading.bmc,
        verified=reading.verified,
        owner=reading.owner,
        registry=reading.checked_by,
        applied=reading.bios.attributes,
        asked=dict(asked),
        moves=dict(moves),
        unlisted={
            name: was
            for name in (*asked, *moves)
            if (was := reading.bios.attributes.get(name)) is not None and _unlisted(ground, name, was)
        },
        vendor=ground.vendor.id,
        platform=ground.platform,
        by_hand=by_hand(reading, ground, (*asked, *moves)),
    )


def _unlisted(ground: FirmwareState, name: str, value: Scalar) -> bool:
    """Return whether a registry does not have a value, or the attribute."""
    known = ground.registry.attributes.get(name) if ground.registry else None
    return ground.registry is not None and (known is None or not known.takes(value))


def by_hand(reading: BiosReading, ground: FirmwareState, names: Iterable[str]) -> tuple[str, ...]:
    """Return how to go back without advisor: the PATCH by curl, and the vendor's own commands where its sheet has them."""
    before = {name: now for name in dict.fromkeys(names) if (now := reading.bios.attributes.get(name)) is not None}
    link = reading.raw.settings_link
    if not before or link is None:
        return ()
    body = shlex.quote(json.dumps({"Attributes": before, **reading.raw.apply_time}))
    base = reading.bmc if "://" in reading.bmc else f"https://{reading.bmc}"
    head = "-H 'Content-Type: application/json' -H 'If-Match: *'"
    return (
        "# With curl, which asks for the password; the change takes effect at the next restart:",
        f"curl --cacert CA.pem -u USER -X PATCH {head} -d {body} {shlex.quote(base + link)}",
        *_by_vendor(ground, before),
    )


def _by_vendor(ground: FirmwareState, before: Mapping[str, Scalar]) -> Iterator[str]:

    tools = ground.vendor.tools
    known = {each.attribute: each for many in ground.vendor.settings.values() for each in many if each.attribute}
    grouped = any("{group}" in line for line in tools.set)
    targets = tuple(
        Target(name, value, entry.group, entry.label, entry.menu)
        for name, value in before.items()
        if (entry := known.get(name)) is not None and (entry.group or not grouped)
    )
    if not targets:
        return
    yield f"# Or with {ground.vendor.name}'s tools, on the server itself:"
    yield from filled_lines((*tools.prepare, *tools.set), targets)
    yield from (f"# {edit_instruction(tools.edit, each)}" for each in targets if tools.edit)
    left = before.keys() - {each.attribute for each in targets}
    yield from (f"# not possible with these tools, because their name for it is unknown: {name}" for name in sorted(left))
    if tools.apply:
        yield "# This may restart the server at once; drain it first:"
        yield from filled_lines(tools.apply, targets)


def load_record(path: Path) -> BiosRecord:
    """Return a record; refuse what is none."""
    text = text_of(path, 4 << 20, "any record", absent="advisor bios stage writes it before its first change")
    try:
        return BiosRecord.model_validate_json(text)
    except ValidationError as error:
        cure = "give the file that advisor bios stage wrote"
        raise BadInput("not a record of advisor bios stage", file=str(path), cure=cure) from error


def record_name(bmc: str, doing: str) -> Path:
    """Return where a record goes that nobody named: into this folder, by BMC and time."""
    host = re.sub(r"[^A-Za-z0-9.]+", "-", bmc)
    return Path(f"bios-{doing}-{host}-{now().replace(':', '')}.json")


Values = Mapping[str, "Scalar"]


@dataclass(frozen=True)
class Staging:
    """What is about to be staged, or was."""

    bmc: str
    owner: Owner
    doing: Literal["stage", "undo"]
    asked: Mapping[str, tuple[Scalar | None, Scalar]]
    """Attribute -> what it is, what it shall be."""
    moves: Mapping[str, tuple[Scalar | None, Scalar | None]]
    record: str
    verified: str
    left: Mapping[str, str]
    """What is not written, with the reason."""
    state: Literal["preview", "staged", "applied", "withdrawn", "nothing to do"] = "preview"
    waiting: Mapping[str, Any] | None = None
    job: str | None = None
    answered: bool = True
    registry: str | None = None
    """By which registry values and side effects were checked; None if the BMC gives none."""
    intent: IntentName | None = None
    """What the plan was for."""

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        rows = (f"{name}: {now} -> {then}" for name, (now, then) in self.asked.items())
        waits = "" if self.answered else ", although no complete answer arrived"
        return f"{_WORDS[self.state]}{waits}" + (f": {'; '.join(rows)}" if self.state != "nothing to do" else "")

    good = True

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios stage --json`` and of undo."""
        return {
            "schema": "advisor-bios-staged/1",
            "bmc": self.bmc,
            "owner": self.owner.model_dump(mode="json"),
            "doing": self.doing,
            "state": self.state,
            "asked": {name: {"now": before, "then": then} for name, (before, then) in self.asked.items()},
            "moves": {name: {"now": before, "then": then} for name, (before, then) in self.moves.items()},
            "left": dict(self.left),
            "waiting": dict(self.waiting or {}),
            "job": self.job,
            "record": self.record,
            "verified": self.verified,
            "registry": self.registry,
        }


_WORDS = {
    "preview": "to be staged",
    "staged": "staged",
    "applied": "applied at once",
    "withdrawn": "reverted before it started",
    "nothing to do": "nothing to do",
}

Confirm = Callable[[Staging], bool | None]
"""Shows what is about to be staged, and returns whether somebody said yes; None where it is to be known, and not yet done."""


def stage_bios(plan: Path, door: Door, record: Path | None, confirm: Confirm, unchecked: Collection[str] = ()) -> Staging:
    """Stage a plan for the next restart; the record that undoes it is on disk before the first write.

    ``unchecked`` names what may be staged though this BMC has no attribute registry to check it by.
    """
    wanted = load_plan(plan)
    with _nothing_written(door), door.open() as session:
        reading = reading_of(session)
        ground = ground_of(wanted, reading)
        _same_server(wanted, reading, str(plan))
        _all_legal(wanted, ground, reading, str(plan))
        _all_checked(reading, wanted.values, unchecked, str(plan))
        values = {each.attribute: _own_kind(ground.spelled(each.attribute, each.value), each.value) for each in wanted.changes}
        moves = moves_of(values, ground)
        nothing_foreign(reading, {name: {value} for name, value in {**_then(moves), **values}.items()}, ground)
        place = record or record_name(session.address.name, "stage")
        staging = replace(_staging("stage", reading, values, place), moves=moves, intent=wanted.intent)
        if all(ground.same(name, to_be(reading, name), value) for name, value in values.items()):
            return replace(staging, state="nothing to do", waiting=reading.waiting)
        if reading.locked and reading.locked.known:
            session.fail(f"nothing is staged: {reading.locked.text}")
        return _staged(session, reading, staging, values, ground=ground, confirm=confirm)


def _staging(doing: Literal["stage", "undo"], reading: BiosReading, values: Mapping[str, Scalar], place: Path) -> Staging:
    asked = {name: (reading.bios.attributes.get(name), value) for name, value in values.items()}
    known = reading.checked_by
    return Staging(reading.bmc, reading.owner, doing, asked, {}, str(place), reading.verified, {}, registry=known)


@contextmanager
def _nothing_written(door: Door) -> Iterator[None]:
    """Say of an interrupt that nothing was written, unless it says itself what was."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or f"{door.bmc}: interrupted, and nothing was written") from None


def _staged(
    session: "Session",
    reading: BiosReading,
    staging: Staging,
    values: Mapping[str, Scalar],
    *,
    ground: FirmwareState,
    confirm: Confirm,
) -> Staging:
    """Ask, save what is, write, and look again."""
    if reading.raw.settings_link is None:
        session.fail("its Bios has no settings object, so nothing can be staged; use the vendor's own tool")
    if (said := confirm(staging)) is None:
        return staging
    if not said:
        raise CannotWork(f"{reading.bmc}: nothing was staged: not confirmed")
    begun, place, accepted = record_of(reading, ground, values, _then(staging.moves)), Path(staging.record), None
    begun = begun.but(intent=staging.intent)
    save_record(place, begun, new=True)
    try:
        with seen_to_its_end(session.stop):
            accepted = stage(session, reading.raw, values, ground.same, _by_name(values, ground))
            _say_it_is_staged(place, begun, accepted.job)
    except KeyboardInterrupt:
        if session.committed:
            done = (
                "after it was staged"
                if accepted
                else "while it was written; use advisor bios status to check whether it is staged"
            )
            raise KeyboardInterrupt(f"{reading.bmc}: interrupted {done}; advisor bios undo {place} reverts it") from None
        raise
    state: Final = "staged" if set(values) - set(accepted.applied) else "applied"
    waiting = {name: value for name, value in accepted.waiting.items() if name not in reading.hidden}
    return replace(staging, state=state, waiting=waiting, job=accepted.job, answered=accepted.answered)


def _say_it_is_staged(place: Path, begun: BiosRecord, job: str | None) -> None:
    try:
        save_record(place, begun.but(outcome="staged", job=job))
    except CannotWork as error:
        told = "the change is staged and the record can undo it, but the record could not be marked as staged"
        raise CannotWork(f"{begun.bmc}: {told}: {error}") from error


def _by_name(values: Mapping[str, Scalar], ground: FirmwareState) -> dict[str, Scalar | None]:
    """Return the values that a registry calls otherwise than the menu does."""
    names = {name: named(ground.registry, name, value) for name, value in values.items()} if ground.registry else {}
    return {name: value for name, value in names.items() if value != values[name]}


def _then(moves: Mapping[str, tuple[Scalar | None, Scalar | None]]) -> dict[str, Scalar | None]:
    return {name: then for name, (_, then) in moves.items()}


def _own_kind(spelled: Any, value: Any) -> Any:
    return value if spelled is None else spelled


def to_be(reading: BiosReading, name: str) -> Any:
    """Return what an attribute will be after the next restart."""
    return {**reading.raw.applied, **reading.raw.waiting}.get(name)


def _all_checked(reading: BiosReading, names: Iterable[str], unchecked: Collection[str], file: str) -> None:
    """Refuse what nobody could check, for this BMC has no attribute registry, unless each is named."""
    if reading.registry is None and (blind := [name for name in names if name not in unchecked]):
        cure = f"{' '.join(f'--unchecked {name}' for name in blind[:5])} stages it anyway"
        raise BadInput(f"{reading.bmc} cannot check {', '.join(blind[:5])}: {reading.without}", file=file, cure=cure)


def _same_server(plan: BiosPlan, reading: BiosReading, file: str) -> None:
    same_owner(plan.owner, reading.owner, file, "the plan")
    _same_registry("plan", plan.registry, reading, file, "make the plan again from this BIOS")


def _same_registry(what: str, name: str | None, reading: BiosReading, file: str, cure: str) -> None:
    """Refuse what was checked by another attribute registry than the one that is here."""
    here = [each for each in (reading.checked_by, reading.bios.registry) if each]
    if name and here and bare_registry(name) not in map(bare_registry, here):
        raise BadInput(f"the {what} is for registry {name}, but this server has {here[0]}", file=file, cure=cure)


def same_owner(then: Owner, here: Owner, file: str, what: str) -> None:
    """Refuse another server, or another firmware: the same names may mean something else there."""
    for name, one, other in (
        ("UUID", then.uuid, here.uuid),
        ("model", then.model, here.model),
        ("BIOS version", then.bios_version, here.bios_version),
    ):
        if one is not None and one.lower() != (other or "").lower():
            raise BadInput(
                f"{what} is for {name} {one}, but this server's is {other or 'not reported'}",
                file=file,
                cure="nothing was written",
            )


def shown(name: str, value: Any) -> str:
    """Return an attribute with its value; of one that may be a secret, its name alone."""
    return name if out_of_reach(name) else f"{name}={value}"


def _all_legal(plan: BiosPlan, ground: FirmwareState, reading: BiosReading, file: str) -> None:
    """Refuse what may not be written; without a registry with why there is none: it may have been a fault of the moment."""
    if not plan.changes:
        raise BadInput("it contains no changes", file=file)
    if bad := refusals(plan.values, ground):
        name, why = next(iter(bad.items()))
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        blind = f" ({reading.bmc}: {reading.without})" if reading.without else ""
        raise BadInput(f"{shown(name, plan.values[name])}: {why}{more}{blind}", file=file)


def nothing_foreign(reading: BiosReading, ours: Mapping[str, set[Any]], ground: FirmwareState) -> None:
    """Refuse where something waits that is not ours: it would take effect together with this."""
    waits = reading.changes
    foreign = [name for name, value in waits.items() if not any(ground.same(name, value, mine) for mine in ours.get(name, ()))]
    if foreign:
        shown = ", ".join(f"{name}={reading.waiting[name]}" for name in foreign[:5])
        more = f" and {len(foreign) - 5} more" if len(foreign) > 5 else ""
        raise CannotWork(
            f"{reading.bmc}: someone else's changes are pending for the next restart: {shown}{more}; apply or clear them "
            f"first, in agreement with whoever staged them"
        )


@dataclass(frozen=True)
class BiosStatus:
    """What a BMC says of changes that wait."""

    reading: BiosReading
    jobs: tuple[Job, ...]
    power: str | None

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        rows = (f"{name} = {value}" for name, value in self.reading.waiting.items())
        return f"waits: {'; '.join(rows)}" if self.reading.waiting else "nothing waits"

    good = True

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios status --json``."""
        return {
            "schema": "advisor-bios-status/1",
            "bmc": self.reading.bmc,
            "owner": self.reading.owner.model_dump(mode="json"),
            "power": self.power,
            "waiting": self.reading.waiting,
            "now": {name: self.reading.bios.attributes.get(name) for name in self.reading.waiting},
            "jobs": [{"link": job.link, "state": job.state} for job in self.jobs],
            "verified": self.reading.verified,
        }


def bios_status(door: Door) -> BiosStatus:
    """Return what waits for the next restart, and the BMC's jobs for it. Changes nothing."""
    with door.open() as session:
        reading = reading_of(session)
        power = reading.raw.system.get("PowerState")
        return BiosStatus(reading, tuple(open_jobs(session)), session.clean(power) if isinstance(power, str) else None)


def undo_bios(record: Path, door: Door, kept: Path | None, confirm: Confirm, unchecked: Collection[str] = ()) -> Staging:
    """Stage the values that a record saved, of what was asked and of what moved along; after comparing whose they are."""
    saved = load_record(record)
    with _nothing_written(door), door.open() as session:
        reading = reading_of(session)
        ground = ground_of_record(saved, reading)
        same_owner(saved.owner, reading.owner, str(record), "the record")
        _same_registry("record", saved.registry, reading, str(record), "set the values by hand: --print shows them")
        nothing_foreign(reading, ours_of(saved, ground), ground)
        values, left = _back(saved, reading, ground)
        _all_checked(reading, values, unchecked, str(record))
        place = kept or record_name(session.address.name, "undo")
        staging = replace(_staging("undo", reading, values, place), left=left, intent=saved.intent)
        if not values:
            return replace(staging, state="nothing to do", waiting=reading.waiting)
        if saved.job and (job := job_at(session, saved.job)) is not None and job.state in _NOT_BEGUN:
            if (said := confirm(staging)) is None:
                return staging
            if not said:
                raise CannotWork(f"{reading.bmc}: nothing was staged: not confirmed")
            reading = _withdrawn(session, saved.job)
            values, left = _back(saved, reading, ground_of_record(saved, reading))
            if not values:
                return replace(staging, state="withdrawn", waiting=reading.waiting)
            staging = replace(_staging("undo", reading, values, place), left=left, intent=saved.intent)
            confirm = _yes
        return _staged(session, reading, staging, values, ground=ground, confirm=confirm)


def _yes(_: Staging) -> bool:
    return True


_NOT_BEGUN = ("New", "Pending", "Starting", "Scheduled")
"""States of a job, by Redfish's Task and Dell's JobState, that holds what waits and does nothing yet."""


def _withdrawn(session: "Session", job: str) -> BiosReading:
    """Delete our own job, which has not begun, and return what there is then."""
    with seen_to_its_end(session.stop):
        session.committed = True
        withdraw(session, job)
        reading = reading_of(session)
    session.committed = False
    return reading


def without_advisor(record: Path) -> str:
    """Return how to go back to what a record saved, by hand."""
    lines = load_record(record).by_hand
    if not lines:
        raise CannotWork(f"{record}: this BIOS can only be changed in its setup menus; the record has every previous value")
    return "".join(f"{printable(line)}\n" for line in lines)


def ground_of_record(record: BiosRecord, reading: BiosReading) -> FirmwareState:
    """Return what is known of the firmware that a record is of."""
    plan = BiosPlan(format="advisor-bios-plan/1", vendor=record.vendor, platform=record.platform)
    return ground_of(plan, reading)


def ours_of(record: BiosRecord, ground: FirmwareState) -> dict[str, set[Scalar | None]]:
    """Return what may wait of this change: what was asked, what moved along, whichever way where that was not known, and back."""
    ours = {name: {value, record.applied.get(name)} for name, value in {**record.moves, **record.asked}.items()}
    if ground.registry is not None and None in record.moves.values():
        for name, either in settle(ground.registry, record.applied, record.asked).contradicted.items():
            ours.setdefault(name, {record.applied.get(name)}).update(either)
    return ours


def _back(record: BiosRecord, reading: BiosReading, ground: FirmwareState) -> tuple[dict[str, Scalar], dict[str, str]]:
    """Return what is to be written so that what was asked, and what moved along, is as it was; and what cannot be, and why."""
    values, left = dict[str, "Scalar"](), dict[str, str]()
    for name in record.asked:
        saved = record.applied.get(name)
        if saved is None:
            left[name] = "its previous value is not in the record"
        elif why := _cannot(name, saved, record, reading, ground):
            left[name] = why
        elif _differs(reading, ground, name, saved):
            values[name] = saved
    also = {name: record.applied.get(name) for name in record.moves if name not in record.asked}
    moved = {name: was for name, was in also.items() if was is not None and not _cannot(name, was, record, reading, ground)}
    return _with_moved(values, moved, left, reading, ground)


def _cannot(name: str, saved: Scalar, record: BiosRecord, reading: BiosReading, ground: FirmwareState) -> str | None:
    """Return why an attribute cannot go back, whatever a record says that somebody may have edited; None where it can."""
    known = ground.registry.attributes.get(name) if ground.registry else None
    if what := out_of_reach(name, known.shown if known else None):
        return f"{what}: advisor never changes this"
    if name not in reading.raw.applied:
        return "this BIOS has no such attribute"
    now = reading.raw.applied[name]
    if now is not None and type(now) is not type(saved):
        return f"{saved} has a different type from its current value, {now}"
    if _unlisted(ground, name, saved) and record.unlisted.get(name) != saved and not ground.same(name, now, saved):
        return f"{saved} is not a value its registry lists: {legal(known) if known else 'the registry lacks the attribute'}"
    return None


def _differs(reading: BiosReading, ground: FirmwareState, name: str, saved: Scalar) -> bool:
    """Return whether an attribute will be another than it was after the next restart."""
    return not ground.same(name, to_be(reading, name), saved)


def _with_moved(
    values: dict[str, Scalar],
    moved: dict[str, Scalar],
    left: dict[str, str],
    reading: BiosReading,
    ground: FirmwareState,
) -> tuple[dict[str, Scalar], dict[str, str]]:
    """Return the values with those that moved along and do not go back by themselves; what the registry holds is left."""
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
            left[name] = f"the attribute registry makes it {flag}: its value is now {now}, but was {moved[name]}"


@dataclass(frozen=True)
class Restart:
    """A restart that is about to be asked for, or was."""

    reading: BiosReading
    slurm: str
    """What the scheduler says of the node, in words."""
    kind: str = "GracefulRestart"
    state: Literal["preview", "asked"] = "preview"

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        return "restart requested once" if self.state == "asked" else "to be restarted"

    good = True

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios restart --json``."""
        owner = self.reading.owner.model_dump(mode="json")
        told = {"state": self.state, "kind": self.kind, "waiting": self.reading.waiting, "scheduler": self.slurm}
        return {"schema": "advisor-bios-restart/1", "bmc": self.reading.bmc, "owner": owner, **told}


def restart_server(
    door: Door,
    confirm: Callable[[Restart], bool | None],
    *,
    record: BiosRecord | Path | None = None,
    exactly: bool = True,
    node: str | None = None,
    no_slurm: bool = False,
    drained: bool = False,
    asked: dict[str, str] | None = None,
    scheduler: Scheduler | None = None,
    is_ours: bool = False,
) -> Restart:
    """Ask a BMC once for a graceful restart of a node that runs nothing, and on which this record's change waits, and no other.

    Without a record nothing may wait; not ``exactly``, the record's change may wait in part or be taken back. ``asked``
    remembers, over several calls, which servers were asked for one: two names may be those of one BMC. One that is off is
    started where it ``is_ours``: we asked it to shut down.
    """
    host = LiveHost()
    saved = load_record(record) if isinstance(record, Path) else record
    with door.open() as session:
        reading = reading_of(session)
        _ours_waits(session, saved, reading, exactly=exactly)
        power = reading.raw.system.get("PowerState")
        if power not in ("On", None) and not is_ours:
            session.fail(f"the server is off ({session.clean(str(power))}): the pending change takes effect when it is started")
        name = node or door.node or (reading.owner.host_name or "").partition(".")[0] or None
        how = partial(_drained, host, name, reading.bmc, no_slurm=no_slurm, drained=drained, scheduler=scheduler)
        kind = restart_kind(session, reading.raw.system) if power in ("On", None) else "On"
        about = Restart(reading, how(), kind)
        if (said := confirm(about)) is None:
            return about
        if not said:
            raise CannotWork(f"{reading.bmc}: nothing was restarted: not confirmed")
        how()  # a job may have begun while somebody thought
        first = (asked if asked is not None else {}).setdefault((reading.owner.uuid or door.bmc).lower(), door.bmc)
        if first != door.bmc:
            raise CannotWork(f"{reading.bmc}: this is the same server as {first}; a server is restarted only once")
        (restart if power in ("On", None) else start)(session, reading.raw.system)
        return replace(about, state="asked")


def _ours_waits(session: "Session", record: BiosRecord | None, reading: BiosReading, *, exactly: bool) -> None:
    """Refuse a restart that would carry out a stranger's change, or not this record's."""
    if record is None:
        if reading.waiting:
            waits = ", ".join(f"{name}={value}" for name, value in list(reading.waiting.items())[:5])
            session.fail(f"not restarted, because {waits} is pending: use --record to give the record of whoever staged it")
        return
    ground = ground_of_record(record, reading)
    same_owner(record.owner, reading.owner, reading.bmc, "the record")
    nothing_foreign(reading, ours_of(record, ground), ground)
    if not exactly:
        return
    missing = [name for name, value in record.asked.items() if not ground.same(name, to_be(reading, name), value)]
    if missing or not reading.changes:
        what = f"{', '.join(missing[:5])} in the record is not pending" if reading.changes else "nothing in the record is pending"
        session.fail(f"not restarted, because {what}: the change is already in effect or was undone")
    mine = (record.job or "").rpartition("/")[2]
    jobs = {job.link.rpartition("/")[2]: job for job in open_jobs(session)}
    if other := next((job for name, job in jobs.items() if name != mine), None):
        session.fail(f"not restarted, because another BIOS job is pending: {other.link} ({other.state})")
    if record.job and mine not in jobs and ((job := job_at(session, record.job)) is None or job.ended):
        session.fail(
            f"not restarted: the record's job is {job.state if job else 'gone'}, so the pending change would not be applied"
        )


def _drained(host: Host, name: str | None, bmc: str, *, no_slurm: bool, drained: bool, scheduler: Scheduler | None) -> str:
    """Return what the scheduler says of a node that may be restarted; refuse any other."""
    program = None if no_slurm else find("scontrol")
    if scheduler is None and (program is None or asks_the_network("scontrol", program)):  # command and configuration
        if not drained:
            why = "--no-slurm says that the server is not in a Slurm cluster" if no_slurm else "no Slurm on this host"
            raise CannotWork(f"{bmc}: cannot tell whether its server runs jobs ({why}); give --drained if it runs none")
        return "drained, according to --drained"
    if name is None:
        raise CannotWork(f"{bmc}: its Slurm node is unknown; give --node NAME, or --no-slurm if it has none")
    asked = scheduler or Slurm(host)
    try:
        said = asked.state(name)
    except CannotWork as error:
        raise CannotWork(f"{bmc}: {error}") from error
    if not said.free:
        cure = f"scontrol update nodename={name} state=drain reason=bios, and wait until it is IDLE+DRAIN"
        more = f"; {cure}" if asked.name == "Slurm" else ""
        raise CannotWork(f"{bmc}: {name} is not drained: {asked.name} reports {said.words}{more}")
    return f"{name} is drained: {asked.name} reports {said.words}"
