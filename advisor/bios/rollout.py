"""Rolls a BIOS plan out, on twins too: each step of each node is in a journal before it is done, so that a kill loses none.

What comes next is arithmetic on events (rollout_course.py); what is done, and by which door, is rollout_steps.py.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from threading import Lock
from typing import Any, NoReturn

from pydantic import TypeAdapter

import advisor
from advisor.bios.changes import resets
from advisor.bios.connection import Secret, hearing
from advisor.bios.door import Door
from advisor.bios.drain import Nobody, checked_name
from advisor.bios.many import AT_ONCE, Folded, fold, folded_document
from advisor.bios.reading import BiosReading, reading_of
from advisor.bios.rollout_course import EVENTS, STEPS, Event, Node, Now, Policy, Step, may_begin, must_stop, to_take_back
from advisor.bios.rollout_steps import Clock, Ground, Seen, Steps
from advisor.bios.twin import Model, Twin
from advisor.bios.twin_port import Ports
from advisor.bios.twin_source import made_of, shown_of
from advisor.errors import AdvisorError, BadInput, CannotWork, Interrupted
from advisor.jobs.started.hosts import fold_names
from advisor.machine.hosts.files import FILE, JournalFile, Kind, Use
from advisor.machine.observer import SILENT, Observer

_KIND = Kind(
    "a rollout",
    "advisor-rollout-journal/1",
    cure="name the folder of a rollout; if it is damaged, advisor bios undo can still use records/NODE.json",
    other="another --folder",
    alone=True,
)
_POLICY = TypeAdapter(Policy)
_SERVERS = TypeAdapter(tuple[dict[str, str], ...])
ENDS = ("done", "proven", "as before", "by hand", "under way")
_OF_ALL = ("approved", "stopped", "resumed")


@dataclass
class Journal:
    """What was done so far, and the file that keeps it."""

    folder: Path
    head: Event
    now: Now
    file: JournalFile | None = None
    """None of one that is only looked at."""
    _turn: Lock = field(default_factory=Lock)

    def node(self, name: str) -> Node:
        """Return where a node is."""
        return next(node for node in self.now.nodes if node.name == name)

    def add(self, name: str, event: str, **more: Any) -> None:
        """Keep an event of a node, or with an empty name one of all; it is on disk when this returns."""
        line = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "node": name, "event": event, **more}
        with self._turn:
            if self.file is not None:
                self.file.write(line)
            self.take(line)

    def take(self, line: Event) -> None:
        """Take an event into account."""
        name, event, now = line["node"], line["event"], self.now
        if name:
            self.now = replace(now, nodes=tuple(node.take(line) if node.name == name else node for node in now.nodes))
        elif event == "approved":
            self.now = replace(now, approved=True)
        elif event == "stopped":
            self.now = replace(now, stopped=line["why"])
        else:
            self.now = replace(now, stopped="", forgiven=now.failures + now.forgiven)

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()


def begun(folder: Path, doors: Sequence[Door], policy: Policy, scheduler: Mapping[str, Any]) -> Journal:
    """Return the journal of a new rollout; refuse a folder that holds one already."""
    head = {
        "advisor": advisor.__version__,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "nodes": [{"node": door.name, "bmc": door.bmc} for door in doors],
        "policy": asdict(policy),
        "scheduler": dict(scheduler),
    }
    file, first = _KIND.begin(folder, head, mode=0o700)
    return Journal(folder, first, _fresh(first), file)


def resumed(folder: Path) -> Journal:
    """Return the journal of a rollout, to be gone on with by nobody else at the same time; a line cut off is dropped."""
    journal, size = _read(folder, Use.RUNS)
    journal.file = _KIND.go_on(folder, size)
    return journal


def read_journal(folder: Path, use: Use = Use.NAMED) -> Journal:
    """Return the journal of a rollout, to be looked at."""
    return _read(folder, use)[0]


def _fresh(head: Event) -> Now:
    return Now(tuple(Node(each["node"]) for each in _SERVERS.validate_python(head["nodes"])))


def _read(folder: Path, use: Use) -> tuple[Journal, int]:
    lines, size = _KIND.read(folder, use)
    try:
        journal = Journal(folder, lines[0], _fresh(lines[0]))
        _POLICY.validate_python(lines[0]["policy"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput("the first record of the rollout is damaged", file=str(folder / FILE), place="line 1") from error
    names = {node.name for node in journal.now.nodes}
    for number, line in enumerate(lines[1:], 2):
        try:
            if line["event"] not in (EVENTS if line["node"] in names else _OF_ALL) or (
                line["node"] and line["node"] not in names
            ):
                raise KeyError  # noqa: TRY301 - as a field that is missing
            journal.take(line)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            place = f"line {number}"
            raise BadInput("not an event of a rollout", file=str(folder / FILE), place=place, cure=_KIND.cure) from error
    return journal, size


def policy_of(journal: Journal) -> Policy:
    """Return how a rollout goes on."""
    return _POLICY.validate_python(journal.head["policy"])


def doors_of(folder: Path, base: Door) -> tuple[Door, ...]:
    """Return the doors to the BMCs of a rollout."""
    journal = read_journal(folder, Use.RUNS)  # it says whom a password is sent to
    for node in journal.now.nodes:
        checked_name(node.name)
    return tuple(replace(base, bmc=each["bmc"], node=each["node"]) for each in journal.head["nodes"])


@dataclass(frozen=True)
class Rollout:
    """A rollout as it is: where each node is, and whether it was interrupted."""

    folder: str
    now: Now
    bmcs: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False
    asks: bool = False
    """Whether it waits for somebody to look at the first node."""

    @property
    def status(self) -> int:
        """Return the exit status: 130 interrupted, 2 stopped or by hand, 1 some as before, 0 all in effect."""
        if self.interrupted:
            return 130
        ends = {node.end for node in self.now.nodes}
        if self.now.stopped or "by hand" in ends:
            return 2
        return int(not ends <= {"done", "proven"})

    @property
    def gains(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return what was measured before and after, node by node."""
        return tuple((node.name, node.gain) for node in self.now.nodes if node.gain)

    @property
    def folded(self) -> Folded:
        """Return where the nodes are, those that most are in first, those by hand last."""
        nodes = self.now.nodes
        return fold((node.end == "by hand", node.word.replace(node.name, "%h"), node.name) for node in nodes)

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios rollout --json``."""
        now = self.now
        return {
            "schema": "advisor-bios-rollout/1",
            "folder": self.folder,
            "stopped": now.stopped or None,
            "interrupted": self.interrupted,
            "waits_for_approval": self.asks,
            "ends": {end: sum(node.ended == end for node in now.nodes) for end in ENDS},
            "folded": folded_document(self.folded),
            "left": fold_names([node.name for node in now.nodes if node.end in (None, "by hand")]),
            "gains": [{"node": name, "measured": list(lines)} for name, lines in self.gains],
            "nodes": [
                {
                    "node": node.name,
                    "bmc": self.bmcs.get(node.name),
                    "end": node.end,
                    "restarted": node.restarted,
                    "is": node.word,
                }
                for node in now.nodes
            ],
        }


def rollout_of(journal: Journal, *, interrupted: bool = False, asks: bool = False) -> Rollout:
    """Return a rollout as its journal has it."""
    bmcs = {each["node"]: each["bmc"] for each in journal.head["nodes"]}
    return Rollout(str(journal.folder), journal.now, bmcs, interrupted, asks)


def rollout_status(folder: Path) -> Rollout:
    """Return how a rollout is. Looks at its journal alone."""
    return rollout_of(read_journal(folder))


Approve = Callable[[Rollout], bool | None]
"""Shows what the first node gained, and returns whether somebody said yes; None where nobody can be asked."""


class Runner:
    """Takes every node through its steps, so many at a time; the steps of several nodes are done beside each other."""

    def __init__(self, journal: Journal, steps: Steps, approve: Approve, observer: Observer = SILENT) -> None:
        self._journal, self._steps, self._approve, self._observer = journal, steps, approve, observer
        self._policy = policy_of(journal)
        self._since: dict[tuple[str, Step], float] = {}

    def run(self, *, abort: bool = False) -> Rollout:
        """Go on until every node is through, or somebody has to look; Ctrl-C leaves it where it is, to be resumed."""
        try:
            with hearing(self._interrupted):
                if self._journal.now.stopped and not abort:
                    self._journal.add("", "resumed")
                if abort and not self._journal.now.stopped:
                    self._journal.add("", "stopped", why="it was aborted")
                while self._goes_on():
                    pass
        except KeyboardInterrupt:
            return rollout_of(self._journal, interrupted=True)
        finally:
            self._observer.end()
        return rollout_of(self._journal, asks=self._journal.now.waits_for_a_yes)

    def _interrupted(self, *_: object) -> NoReturn:
        self._steps.stop.set()  # what is under way ends at its next request
        raise KeyboardInterrupt

    def _goes_on(self) -> bool:
        """Do one round: decide, then every step that is due; return whether anything is left to do."""
        self._decide()
        due: dict[Step, list[Node]] = {}
        for node in self._journal.now.running:
            due.setdefault(node.next, []).append(node)  # type: ignore[arg-type] # running: it has a next one
        if not due:
            return self._approved()
        self._say()
        moved = False
        for step in STEPS:
            moved = (bool(due.get(step)) and self._do(step, due[step])) or moved
        if not moved:
            self._steps.pause()
        return True

    def _decide(self) -> None:
        journal, policy = self._journal, self._policy
        if not journal.now.stopped and (why := must_stop(journal.now, policy)):
            journal.add("", "stopped", why=why)
        if journal.now.stopped:
            for name in to_take_back(journal.now):
                journal.add(name, "back", why=f"undone, because the rollout stopped: {journal.now.stopped}")
            return
        first = {"first": not journal.now.proven, "all": True, "none": False}
        for name in may_begin(journal.now, policy):
            journal.add(name, "begin", measures=first[policy.measure])

    def _approved(self) -> bool:
        """Return whether others are begun, once the first node is through."""
        if not self._journal.now.waits_for_a_yes or not self._approve(rollout_of(self._journal)):
            return False
        self._journal.add("", "approved")
        return True

    def _do(self, step: Step, nodes: Sequence[Node]) -> bool:
        """Do a step on each of some nodes beside each other; return whether any of them has moved on."""
        moved = False
        now = self._steps.now()
        for node in nodes:
            self._since.setdefault((node.name, step), now)
        together = self._steps.together(step, nodes)  # what is asked of all nodes at once
        with ThreadPoolExecutor(min(AT_ONCE, len(nodes))) as pool:
            waited = [now - self._since[node.name, step] for node in nodes]
            asked = zip(nodes, waited, strict=True)
            jobs = [pool.submit(self._steps.do, step, node, self._journal, since, together) for node, since in asked]
            for node, job in zip(nodes, jobs, strict=True):
                for event in _outcome(job.result, node):
                    self._journal.add(node.name, **event)
                    self._since.pop((node.name, step), None)
                    moved = True
        return moved

    def _say(self) -> None:
        nodes = self._journal.now.nodes
        counted = Counter(node.word.partition(": ")[2] if node.next else node.end or "left" for node in nodes)
        self._observer.step("rollout", ", ".join(f"{count} {word}" for word, count in counted.items()))


def _outcome(result: Callable[[], Sequence[Event]], node: Node) -> Iterator[Event]:
    """Yield what came of a step; a mistake of ours with one node must not lose the others."""
    try:
        yield from result()
    except Interrupted:
        raise KeyboardInterrupt from None
    except AdvisorError as error:
        yield {"event": "unclear", "why": str(error)}
    except Exception as error:  # noqa: BLE001 - see above
        yield {"event": "unclear", "why": f"a bug in advisor, at {node.name}: {type(error).__name__}: {error}; please report it"}


def must_have_nodes(doors: Sequence[Door]) -> None:
    """Refuse servers whose node is not named: a scheduler and ssh know it by that."""
    if not doors:
        raise CannotWork("no server given; give --bmc HOST --node NAME, or -w LIST --bmc-name 'bmc-%h', or --hostfile FILE")
    if nameless := next((door for door in doors if door.node is None), None):
        raise CannotWork(f"{nameless.bmc}: its node is unknown; name nodes: -w LIST --bmc-name 'bmc-%h', or --node NAME")
    for door in doors:
        checked_name(door.name)


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
        return dict.fromkeys(names, "a twin runs no operating system")


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
    about, known = shown_of(reading.owner)
    model = Model(paths, about, raw.applied, raw.registry or {}, raw.offered_times or None, kinds)
    twin = made_of(model, polls=1, session_limit=AT_ONCE, **known, **more)
    twin.pending = dict(raw.waiting)
    return twin


def _twin_of(door: Door, password: Secret) -> Twin | str:
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
        found = dict(zip((door.name for door in doors), pool.map(lambda door: _twin_of(door, password), doors), strict=True))
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
