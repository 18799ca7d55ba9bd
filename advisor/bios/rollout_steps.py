"""The steps of a rollout, done: through the BMC, the scheduler and ssh; each says in events what came of it."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from threading import Event as Flag
from typing import Any, NamedTuple, Protocol

from advisor.advice.bios_files import text_of
from advisor.advice.model.plan import BiosRecord
from advisor.advice.whatif import before_after
from advisor.bios.changes import Unclear
from advisor.bios.door import Door
from advisor.bios.drain import Scheduler
from advisor.bios.prove import prove_bios
from advisor.bios.reading import BiosReading, Job, open_jobs, reading_of
from advisor.bios.rollout_course import Event, Node, Policy, Step
from advisor.bios.stage import ground_of_record, load_record, restart_server, save_record, stage_bios, to_be, undo_bios
from advisor.errors import AdvisorError, BadInput, CannotWork, Interrupted
from advisor.machine.observer import SILENT, Observer

GRACE = 300.0
"""Seconds in which a server that was asked to restart begins to, where it is not known whether it was asked."""
ARRIVES = 900.0
"""Seconds after its start in which a BMC may still apply what waits; some do minutes after the system is up."""
_LOOK = 10.0
FIGURES = ".figures.json"
MEASURED = ".measured.json"


class Seen(NamedTuple):
    """A node as it answers: which boot runs, and the server's UUID where its firmware tells."""

    boot: str | None = None
    uuid: str | None = None


class Nodes(Protocol):
    """The nodes themselves, asked many at once."""

    def seen(self, names: Sequence[str]) -> Mapping[str, Seen]:
        """Return how nodes answer."""

    def capture(self, names: Sequence[str], folder: Path) -> Mapping[str, Path]:
        """Capture nodes into a folder; return the files of those that answered."""

    def measure(self, names: Sequence[str], folder: Path) -> Mapping[str, str]:
        """Measure nodes into a folder that has their captures; return why some could not be."""


class Clock:
    """Seconds that only go forward, and waiting."""

    def now(self) -> float:
        """Return the seconds."""
        return time.monotonic()

    def pause(self, seconds: float, stop: Flag) -> None:
        """Wait, unless somebody interrupts."""
        stop.wait(seconds)


class Journal(Protocol):
    """Where intents are kept before they are carried out."""

    def add(self, name: str, event: str, **more: Any) -> None:
        """Keep an event; it is on disk when this returns."""


@dataclass(frozen=True)
class Ground:
    """What the steps of a rollout stand on."""

    folder: Path
    doors: Mapping[str, Door]
    plan: Path
    """A file for each node, with %h, or one for all."""
    policy: Policy
    scheduler: Scheduler
    nodes: Nodes
    observer: Observer = SILENT
    clock: Clock = field(default_factory=Clock)
    look: float = _LOOK
    captures: bool = True
    """False of twins, which have no system to be captured."""

    def record(self, name: str) -> Path:
        """Where the record of what a node was lies."""
        return self.folder / "records" / f"{name}.json"

    def undo(self, name: str) -> Path:
        """Where the record of taking it back lies."""
        return self.folder / "records" / f"undo-{name}.json"


def _is(event: str, why: object = "", **more: Any) -> list[Event]:
    return [{"event": event, **({"why": str(why)} if why else {}), **more}]


class Steps:
    """Does the steps."""

    def __init__(self, ground: Ground) -> None:
        self._ground, self.stop = ground, Flag()
        self._asked: dict[str, str] = {}
        (ground.folder / "records").mkdir(parents=True, exist_ok=True, mode=0o700)

    def now(self) -> float:
        """Return a clock's seconds."""
        return self._ground.clock.now()

    def pause(self) -> None:
        """Wait until it is worth looking again."""
        self._ground.clock.pause(self._ground.look, self.stop)

    def _door(self, name: str) -> Door:
        return replace(self._ground.doors[name], stop=self.stop)

    def together(self, step: Step, nodes: Sequence[Node]) -> Mapping[str, Any]:
        """Return what is asked of several nodes at once: their boots, or their captures."""
        names, ground = [node.name for node in nodes], self._ground
        if step in ("stage", "restart", "find out", "wait until up"):
            return ground.nodes.seen(names)
        if step == "measure":
            return self._measured([node.name for node in nodes if node.measures and not node.gain], "after")
        if step == "prove":
            return self._captured(names, "after") if ground.captures else {}
        if step != "look before":
            return {}
        there = self._captured(names, "before").keys() if ground.captures else set(names)
        return self._measured([node.name for node in nodes if node.measures and node.name in there], "before")

    def _captured(self, names: Sequence[str], when: str) -> Mapping[str, Path]:
        try:
            return self._ground.nodes.capture(names, self._ground.folder / when)
        except AdvisorError as error:
            self._ground.observer.say(f"not captured: {error}")
            return {}

    def _measured(self, names: Sequence[str], when: str) -> Mapping[str, str]:
        """Measure nodes; return why some could not be: that stops nothing."""
        if not names:
            return {}
        try:
            return self._ground.nodes.measure(names, self._ground.folder / when)
        except AdvisorError as error:
            return dict.fromkeys(names, str(error))

    def do(self, step: Step, node: Node, journal: Journal, waited: float, beside: Mapping[str, Any]) -> list[Event]:
        """Do a step of one node; return what came of it, nothing where it is to be done again a little later."""
        done: Mapping[Step, Callable[[], list[Event]]] = {
            "stage": lambda: self._stage(node, journal, beside.get(node.name) or Seen()),
            "drain": lambda: self._drain(node),
            "wait until free": lambda: self._free(node, waited),
            "look before": lambda: _is("before", notes=[f"not measured before: {why}" for why in [beside.get(node.name)] if why]),
            "restart": lambda: self._restart(node, journal, beside.get(node.name) or Seen()),
            "find out": lambda: self._find_out(node, waited, beside.get(node.name) or Seen()),
            "wait until up": lambda: self._up(node, waited, beside.get(node.name) or Seen()),
            "prove": lambda: self._prove(node, waited, beside.get(node.name)),
            "measure": lambda: _is("measured", gain=self._gain(node, beside.get(node.name))),
            "undo": lambda: self._undo(node, journal),
            "compare": lambda: self._compare(node, waited),
            "release": lambda: self._release(node, journal),
        }
        return done[step]()

    # what is written

    def _stage(self, node: Node, journal: Journal, here: Seen) -> list[Event]:
        name, ground = node.name, self._ground
        if here.boot is None:
            return _is("refused", "no answer over ssh")
        if node.phase != "staging":
            journal.add(name, "stage")

        def same_server(about: Any) -> bool:
            own = (about.owner.uuid or "").lower()
            if here.uuid and own and here.uuid != own:
                raise CannotWork(
                    f"it is not the server managed by {about.bmc}: its UUID is {here.uuid}, but the BMC reports {own}"
                )
            return True

        why = ""
        try:
            found = stage_bios(self._plan(name), self._door(name), ground.record(name), same_server, ground.policy.unchecked)
            if found.state in ("staged", "applied"):
                return _is(found.state)
        except Interrupted:
            raise
        except AdvisorError as error:
            why = self._short(name, error)
            if not ground.record(name).exists():
                return _is("refused", why)
        return self._staged_or_not(name, why)

    def _plan(self, name: str) -> Path:
        return self._ground.doors[name].of(self._ground.plan)

    def _short(self, name: str, error: object) -> str:
        return str(error).removeprefix(f"{self._ground.doors[name].bmc}: ")

    def _looked(self, name: str) -> tuple[BiosReading, list[Job]]:
        with self._door(name).open() as session:
            return reading_of(session), open_jobs(session)

    def _staged_or_not(self, name: str, why: str) -> list[Event]:
        """Return what is so on the BMC, where staging did not say: killed before, no whole answer, or nothing was to be done."""
        place = self._ground.record(name)
        try:
            reading, jobs = self._looked(name)
        except Interrupted:
            raise
        except AdvisorError as error:
            return _is("unclear", f"it is unknown whether the change is staged: {why or self._short(name, error)}")
        if not place.exists():
            foreign = "these values are already pending, but advisor has no record of who staged them"
            return _is("refused", foreign) if reading.changes else _is("in effect", "already in effect")
        record = load_record(place)
        if _waits(record, reading):
            if record.outcome == "begun":
                if len(jobs) > 1:
                    return _is("unclear", "several BIOS jobs are pending, and it is unknown which one advisor staged")
                job = jobs[0].link if jobs else None
                save_record(place, record.but(outcome="staged", job=job))
            return _is("staged")
        if not _differing(record.asked, reading, record):
            return _is("applied")
        return _is("refused", why or "the staged change is no longer pending: someone removed it")

    def _undo(self, node: Node, journal: Journal) -> list[Event]:
        name, ground = node.name, self._ground
        if not ground.record(name).exists():
            return _is("undone", waits=False)
        journal.add(name, "undo")
        try:
            undo_bios(ground.record(name), self._door(name), ground.undo(name), lambda _: True, ground.policy.unchecked)
            reading, _ = self._looked(name)
        except Interrupted:
            raise
        except AdvisorError as error:
            try:
                reading, _ = self._looked(name)
            except AdvisorError:
                return _is("lost", f"the change could not be reverted: {self._short(name, error)}")
            if not (ground.undo(name).exists() and _waits(load_record(ground.undo(name)), reading)):
                return _is("lost", f"the change could not be reverted: {self._short(name, error)}")
        record = load_record(ground.record(name))
        waits = bool(reading.changes)
        if not waits and (left := _differing({each: record.applied.get(each) for each in record.asked}, reading, record)):
            return _is("lost", f"not as before: {left[0]}")
        if waits and not node.restarted:
            return _is("lost", "the staged change is still pending and would take effect at the next restart")
        return _is("undone", waits=waits)

    # drain and restart

    def _drain(self, node: Node) -> list[Event]:
        try:
            said = self._ground.scheduler.state(node.name)
        except AdvisorError as error:
            return _is("back", error)
        return _is("drain", before=said.out and not said.ours)

    def _free(self, node: Node, waited: float) -> list[Event]:
        scheduler, hours = self._ground.scheduler, self._ground.policy.drain_hours
        try:
            said = scheduler.state(node.name)
            if said.free:
                return _is("free", said=said.words)
            if not said.out:
                scheduler.drain(node.name)
        except AdvisorError as error:
            return _is("back", error)
        return (
            _is("back", f"it still runs jobs {hours:g} hours after being drained: {said.words}") if waited > hours * 3600 else []
        )

    def _restart(self, node: Node, journal: Journal, here: Seen) -> list[Event]:
        if here.boot is None:
            return _is("not asked", "no answer over ssh, so it was not restarted")
        journal.add(node.name, "asking", boot=here.boot)
        return self._ask(node)

    def _ask(self, node: Node, *, is_ours: bool = False) -> list[Event]:
        name, ground = node.name, self._ground
        record = ground.undo(name) if node.back else ground.record(name)
        more: dict[str, Any] = {"node": name, "scheduler": ground.scheduler, "is_ours": is_ours}
        try:
            restart_server(self._door(name), lambda _: True, record=record, asked=self._asked, **more)
        except Interrupted:
            raise
        except Unclear as error:
            ground.observer.detail(str(error))
        except AdvisorError as error:
            return _is("not asked", self._short(name, error))
        return _is("asked")

    def _find_out(self, node: Node, waited: float, here: Seen) -> list[Event]:
        """Return whether a restart was asked for, of a node at which we were killed while we asked."""
        if here.boot != node.boot:
            return _is("up", boot=here.boot) if here.boot else _is("asked")
        reading, _ = self._looked(node.name)
        record = load_record(self._ground.undo(node.name) if node.back else self._ground.record(node.name))
        if reading.raw.system.get("PowerState") == "Off":
            return self._ask(node, is_ours=True)
        if not _waits(record, reading):
            return _is("asked")
        return _is("ask again") if waited >= GRACE else []

    def _up(self, node: Node, waited: float, here: Seen) -> list[Event]:
        if here.boot is not None and here.boot != node.boot:
            return _is("up", boot=here.boot)
        minutes = self._ground.policy.restart_minutes
        if waited < minutes * 60:
            return []
        how = "does not answer" if here.boot is None else "has not restarted"
        return _is("lost", f"it still {how} {minutes:g} minutes after the restart was requested")

    # what is so then

    def _prove(self, node: Node, waited: float, capture: Path | None) -> list[Event]:
        name, ground = node.name, self._ground
        try:
            proof = prove_bios(
                self._plan(name), self._door(name), str(capture) if capture else None, record=ground.record(name), wait=ARRIVES
            )
        except Interrupted:
            raise
        except AdvisorError as error:
            return [] if waited < ARRIVES else _is("wrong", self._short(name, error), undo=False)
        if proof.good:
            return _is("proven", by=proof.word)
        against = [line for each in proof.witnesses if each.says == "does not hold" for line in each.lines]
        if waited < ARRIVES and any("waits for the next restart" in line for line in against):
            return []
        return _is("wrong", f"{proof.word}: {'; '.join(against[:3])}", undo=ground.policy.undo_on_failure)

    def _gain(self, node: Node, why: str | None) -> list[str]:
        """Return what was measured before and after, in lines; why it was not."""
        if not node.measures or node.gain:
            return []
        before, after = (self._ground.folder / when for when in ("before", "after"))
        try:
            if (before / f"{node.name}{FIGURES}").exists() and (after / f"{node.name}{FIGURES}").exists():
                return [figures_line(before / f"{node.name}{FIGURES}", after / f"{node.name}{FIGURES}")]
            if why:
                return [f"not measured after: {why}"]
            if not (before / f"{node.name}{MEASURED}").exists():
                return []
            found = before_after(before / f"{node.name}{MEASURED}", after / f"{node.name}{MEASURED}")
        except AdvisorError as error:
            return [f"not compared: {error}"]
        return [f"{row.kernel or row.what}: {row.says}, {row.ratio - 1:+.1%} (p {row.p:.2g})" for row in found.rows]

    def _compare(self, node: Node, waited: float) -> list[Event]:
        record = load_record(self._ground.record(node.name))
        try:
            reading, jobs = self._looked(node.name)
        except Interrupted:
            raise
        except AdvisorError as error:
            return [] if waited < ARRIVES else _is("lost", self._short(node.name, error))
        home = {name: record.applied.get(name) for name in (*record.asked, *record.moves)}
        left = _differing(home, reading, record)
        if (reading.changes or any(not job.ended for job in jobs)) and waited < ARRIVES:
            return []
        return _is("lost", f"not as before: {'; '.join(left[:3])}") if left else _is("as it was")

    def _release(self, node: Node, journal: Journal) -> list[Event]:
        if node.drained != "ours":
            return _is("released", note="it was already drained, and stays drained" if node.drained else "")
        journal.add(node.name, "return")
        try:
            self._ground.scheduler.resume(node.name)
        except AdvisorError as error:
            return _is("released", f"still drained: {error}")
        return _is("released")


def _waits(record: BiosRecord, reading: BiosReading) -> bool:
    """Return whether what a record asked for waits, whole."""
    ground = ground_of_record(record, reading)
    return bool(reading.changes) and all(ground.same(name, to_be(reading, name), value) for name, value in record.asked.items())


def _differing(wanted: Mapping[str, Any], reading: BiosReading, record: BiosRecord) -> list[str]:
    """Return which attributes are applied otherwise, in words."""
    ground, applied = ground_of_record(record, reading), reading.raw.applied
    return [
        f"{name} is {applied.get(name)}, but was {value}"
        for name, value in wanted.items()
        if value is not None and not ground.same(name, applied.get(name), value)
    ]


def figures_line(before: Path, after: Path) -> str:
    """Return what a program gave before and after, in one line."""
    one, other = (read_figures(place) for place in (before, after))
    was, now = median(one["figures"]), median(other["figures"])
    share = f", {now / was - 1:+.1%}" if was > 0 else ""
    return f"{one['name']}: {was:.4g} -> {now:.4g} {one['unit']}{share} (median of {len(other['figures'])}, one restart)"


def read_figures(place: Path) -> dict[str, Any]:
    """Return what a program gave: its name, its unit, its figures."""
    try:
        found: dict[str, Any] = json.loads(text_of(place, 1 << 20, "any figures"))
        [float(each) for each in found["figures"]]
        return {"name": str(found["name"])[:60], "unit": str(found["unit"])[:30], "figures": found["figures"] or [0.0]}
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput("contains no figures", file=str(place)) from error
