"""Stages a plan through a BMC, takes it back, and says what waits: by the laws of docs/bios.md. Never restarts anything."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from advisor.errors import BadInput, CannotWork
from advisor.work.bmc.door import Door
from advisor.work.bmc.plan import ground_of, load_plan, moves_of
from advisor.work.bmc.read import BiosReading, reading_of
from advisor.work.bmc.record import record_name, record_of, save_record

if TYPE_CHECKING:
    from advisor.bmc.changes import Job
    from advisor.bmc.session import Session
    from advisor.model.audit.bios_change import BiosPlan, BiosRecord, Owner
    from advisor.model.hardware.firmware import Scalar
    from advisor.plan.draft import FirmwareState

Values = Mapping[str, "Scalar"]


@dataclass(frozen=True)
class Staging:
    """What is about to be staged, or was."""

    bmc: str
    owner: "Owner"
    doing: Literal["stage", "undo"]
    asked: "Mapping[str, tuple[Scalar | None, Scalar]]"
    """Attribute -> what it is, what it shall be."""
    moves: "Mapping[str, tuple[Scalar | None, Scalar | None]]"
    record: str
    verified: str
    left: Mapping[str, str]
    """What is not written, with the reason."""
    state: Literal["preview", "staged", "nothing to do"] = "preview"
    waiting: Mapping[str, Any] | None = None
    job: str | None = None
    answered: bool = True
    registry: str | None = None
    """By which registry values and side effects were checked; None where the BMC gives none."""

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        rows = (f"{name}: {now} -> {then}" for name, (now, then) in self.asked.items())
        waits = "" if self.answered else ", though no whole answer came"
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


_WORDS: Final = {"preview": "to be staged", "staged": "staged", "nothing to do": "nothing to do"}

Confirm = Callable[[Staging], bool | None]
"""Shows what is about to be staged, and returns whether somebody said yes; None where it is to be known, and not yet done."""


def stage_bios(plan: Path, door: Door, record: Path | None, confirm: Confirm) -> Staging:
    """Stage a plan for the next restart; the record that undoes it is on disk before the first write."""
    wanted = load_plan(plan)
    with door.open() as session:
        reading = reading_of(session)
        ground = ground_of(wanted, reading)
        _same_server(wanted, reading, str(plan))
        _all_legal(wanted, ground, str(plan))
        values = {each.attribute: _own_kind(ground.spelled(each.attribute, each.value), each.value) for each in wanted.changes}
        moves = moves_of(values, ground)
        nothing_foreign(reading, {name: {value} for name, value in {**_then(moves), **values}.items()}, ground)
        todo = _differing(values, reading, ground)
        place = record or record_name(session.address.name, "stage")
        staging = Staging(
            reading.bmc,
            reading.owner,
            "stage",
            from_to(values, reading),
            moves,
            str(place),
            reading.verified,
            {},
            registry=checked_by(reading),
        )
        if not todo:
            return replace(staging, state="nothing to do", waiting=reading.waiting)
        return staged(session, reading, staging, place, values, ground=ground, confirm=confirm)


def staged(
    session: "Session",
    reading: BiosReading,
    staging: Staging,
    place: Path,
    values: "Mapping[str, Scalar]",
    *,
    ground: "FirmwareState",
    confirm: Confirm,
) -> Staging:
    """Ask, save what is, write, and look again."""
    from advisor.bmc.changes import stage
    from advisor.bmc.process import seen_to_its_end

    if reading.raw.settings_link is None:
        session.fail("its Bios names no settings object: nothing can be staged here; use the vendor's own tool")
    if (said := confirm(staging)) is None:
        return staging
    if not said:
        raise CannotWork(f"{reading.bmc}: nothing was staged, for nobody said yes")
    begun = record_of(reading, ground, values, _then(staging.moves))
    save_record(place, begun, new=True)
    with seen_to_its_end(session.stop):
        accepted = stage(session, reading.raw, values, ground.same, _by_name(values, ground))
        _say_it_is_staged(place, begun, accepted.job)
    waiting = {name: value for name, value in accepted.waiting.items() if name not in reading.hidden}
    return replace(staging, state="staged", waiting=waiting, job=accepted.job, answered=accepted.answered)


def _say_it_is_staged(place: Path, begun: "BiosRecord", job: str | None) -> None:
    try:
        save_record(place, begun.model_copy(update={"outcome": "staged", "job": job}))
    except CannotWork as error:
        told = "it is staged, and the record brings it back, but does not say yet that it is staged"
        raise CannotWork(f"{begun.bmc}: {told}: {error}") from error


def _by_name(values: "Mapping[str, Scalar]", ground: "FirmwareState") -> "dict[str, Scalar | None]":
    """Return the values that a registry calls otherwise than the menu does."""
    from advisor.plan.registry import named

    names = {name: named(ground.registry, name, value) for name, value in values.items()} if ground.registry else {}
    return {name: value for name, value in names.items() if value != values[name]}


def _then(moves: "Mapping[str, tuple[Scalar | None, Scalar | None]]") -> "dict[str, Scalar | None]":
    return {name: then for name, (_, then) in moves.items()}


def _own_kind(spelled: Any, value: Any) -> Any:
    return value if spelled is None else spelled


def checked_by(reading: BiosReading) -> str | None:
    """Return the registry by which values are checked; None where there is none."""
    return (reading.registry.id or reading.bios.registry or "its own") if reading.registry is not None else None


def from_to(values: "Mapping[str, Scalar]", reading: BiosReading) -> "dict[str, tuple[Scalar | None, Scalar]]":
    """Return attribute -> what it is, what it shall be."""
    return {name: (reading.bios.attributes.get(name), value) for name, value in values.items()}


def _differing(values: "Mapping[str, Scalar]", reading: BiosReading, ground: "FirmwareState") -> bool:
    """Return whether anything is to be written: what waits counts as it will be."""
    to_be = {**reading.raw.applied, **reading.raw.waiting}
    return any(not ground.same(name, to_be.get(name), value) for name, value in values.items())


def _same_server(plan: "BiosPlan", reading: BiosReading, file: str) -> None:
    same_owner(plan.owner, reading.owner, file, "the plan")
    if plan.registry and reading.bios.registry and _plain(plan.registry) != _plain(reading.bios.registry):
        cure = "make the plan again from this BIOS"
        raise BadInput(f"the plan is for registry {plan.registry}, and here it is {reading.bios.registry}", file=file, cure=cure)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]|(?<=\.)v", "", name.lower())


def same_owner(then: "Owner", here: "Owner", file: str, what: str) -> None:
    """Refuse another server, or another firmware: the same names may mean something else there."""
    for name, one, other in (
        ("UUID", then.uuid, here.uuid),
        ("model", then.model, here.model),
        ("BIOS version", then.bios_version, here.bios_version),
    ):
        if one is not None and one.lower() != (other or "").lower():
            raise BadInput(
                f"{what} is of {name} {one}, and here it is {other or 'not reported'}", file=file, cure="nothing was written"
            )


def shown(name: str, value: Any) -> str:
    """Return an attribute with its value; of one that may be a secret, its name alone."""
    from advisor.model.audit.bios_change import out_of_reach

    return name if out_of_reach(name) else f"{name}={value}"


def _all_legal(plan: "BiosPlan", ground: "FirmwareState", file: str) -> None:
    from advisor.plan.legal import refusals

    if not plan.changes:
        raise BadInput("nothing is to be changed in it", file=file)
    if bad := refusals(plan.values, ground):
        name, why = next(iter(bad.items()))
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise BadInput(f"{shown(name, plan.values[name])}: {why}{more}", file=file)


def nothing_foreign(reading: BiosReading, ours: "Mapping[str, set[Any]]", ground: "FirmwareState") -> None:
    """Refuse where something waits that is not ours: it would take effect together with this."""
    waits = reading.changes
    foreign = [name for name, value in waits.items() if not any(ground.same(name, value, mine) for mine in ours.get(name, ()))]
    if foreign:
        shown = ", ".join(f"{name}={reading.waiting[name]}" for name in foreign[:5])
        more = f" and {len(foreign) - 5} more" if len(foreign) > 5 else ""
        raise CannotWork(
            f"{reading.bmc}: somebody else's changes wait for the next restart: {shown}{more}; apply or clear them first, "
            "with whoever staged them"
        )


@dataclass(frozen=True)
class BiosStatus:
    """What a BMC says of changes that wait."""

    reading: BiosReading
    jobs: "tuple[Job, ...]"
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
    from advisor.bmc.changes import open_jobs

    with door.open() as session:
        reading = reading_of(session)
        power = reading.raw.system.get("PowerState")
        return BiosStatus(reading, tuple(open_jobs(session)), session.clean(power) if isinstance(power, str) else None)
