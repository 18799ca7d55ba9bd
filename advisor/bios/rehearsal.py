"""Rehearses a rollout: every server is read, a twin made of it, and the whole rollout tried on the twins. Changes no server."""

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import Any

from advisor.bios.changes import resets
from advisor.bios.connection import Secret
from advisor.bios.door import Door
from advisor.bios.drain import Nobody
from advisor.bios.reading import BiosReading, reading_of
from advisor.bios.rollout import AT_ONCE, Rollout, Runner, begun
from advisor.bios.rollout_course import Policy
from advisor.bios.rollout_steps import Clock, Ground, Seen, Steps
from advisor.bios.twin import Model, Twin
from advisor.bios.twin_port import Ports
from advisor.bios.twin_source import made_of
from advisor.errors import AdvisorError, CannotWork
from advisor.machine.observer import SILENT, Observer


class TwinNodes:
    """The nodes of twins: they answer, and have nothing to be captured or measured."""

    def __init__(self, twins: Mapping[str, Twin]) -> None:
        self._twins = twins

    def seen(self, names: Sequence[str]) -> Mapping[str, Seen]:
        """Return which start of each twin runs."""
        return {name: Seen(f"start {self._twins[name].boots}", self._twins[name].identity.lower()) for name in names}

    def capture(self, names: Sequence[str], folder: Path) -> Mapping[str, Path]:
        """Return nothing."""
        del names, folder
        return {}

    def measure(self, names: Sequence[str], folder: Path) -> Mapping[str, str]:
        """Return that nothing is measured."""
        del folder
        return dict.fromkeys(names, "a twin has no system")


class Quick(Clock):
    """A clock that nobody waits for."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def now(self) -> float:
        """Return the seconds."""
        return self._seconds

    def pause(self, seconds: float, stop: Flag) -> None:
        """Let time go by at once."""
        del stop
        self._seconds += seconds


def twin_of_reading(reading: BiosReading, kinds: tuple[str, ...] | None, **more: Any) -> Twin:
    """Return the twin of what a BMC has, with what waits there."""
    raw, told = reading.raw, reading.raw.system
    bios = str(told["Bios"].get("@odata.id")).rstrip("/")
    system = str(told.get("@odata.id") or bios.rpartition("/")[0]).rstrip("/")
    paths = {
        "system": system,
        "bios": bios,
        "settings": (raw.settings_link or "").rstrip("/"),
        "manager": str(raw.manager.get("@odata.id") or "/redfish/v1/Managers/1").rstrip("/"),
        "registry": "/redfish/v1/Registries/Bios/Registry.json",
    }
    owner = reading.owner
    about = {
        "Manufacturer": owner.vendor or "",
        "Model": owner.model or "",
        "BiosVersion": owner.bios_version or "1",
        **({"HostName": owner.host_name} if owner.host_name else {}),
    }
    model = Model(paths, about, raw.applied, raw.registry or {}, raw.offered_times or None, kinds)
    known = {"identity": owner.uuid, "firmware": owner.bmc_version}
    twin = made_of(model, polls=1, session_limit=AT_ONCE, **{key: value for key, value in known.items() if value}, **more)
    twin.pending = dict(raw.waiting)
    return twin


def _read(door: Door, password: Secret) -> Twin | str:
    """Return the twin of a server, or why it cannot be read."""
    try:
        with door.open() as session:
            reading = reading_of(session)
            kinds: tuple[str, ...] | None = None
            with suppress(CannotWork):
                kinds = resets(session, reading.raw.system)[1] or None
        return twin_of_reading(reading, kinds, password=password)
    except AdvisorError as error:
        return str(error)


def rehearse(doors: Sequence[Door], plan: Path, policy: Policy, observer: Observer = SILENT) -> Rollout:
    """Return how a rollout ends on twins of the servers; those that cannot be read end by hand."""
    password = Secret(secrets.token_urlsafe(15))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip((door.name for door in doors), pool.map(lambda door: _read(door, password), doors), strict=True))
        observer.step("rehearsal", f"{len(found)} servers read")
    twins = {name: twin for name, twin in found.items() if isinstance(twin, Twin)}
    unread = {name: why for name, why in found.items() if isinstance(why, str)}
    policy = replace(policy, measure="none", at_a_time=AT_ONCE, max_failures=len(doors) + 1)
    with TemporaryDirectory(prefix="advisor-rehearsal-") as folder, Ports() as ports:
        there = {name: _door_to(ports.add(twin), name) for name, twin in twins.items()}
        every = [there.get(door.name, door) for door in doors]
        journal = begun(Path(folder) / "rollout", every, policy, {})
        for name, why in unread.items():
            journal.add(name, "unclear", why=f"it cannot be read: {why}")
        ground = Ground(journal.folder, there, plan, policy, Nobody(), TwinNodes(twins), observer, Quick(), captures=False)
        try:
            done = Runner(journal, Steps(ground), lambda _: True, observer).run()
        finally:
            journal.close()
    return replace(done, folder="(twins)", bmcs={door.name: door.bmc for door in doors})


def _door_to(twin: Twin, name: str) -> Door:
    return Door(twin.url, insecure=True, node=name, given=(twin.user, Secret("".join(twin.password))))
