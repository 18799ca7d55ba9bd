"""Captures many nodes: each is asked once, what it answered is kept, whoever did not is named and can be asked again."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from stat import S_ISGID
from tempfile import TemporaryDirectory
from typing import Any

from advisor.errors import AdvisorError, BadInput, BadValue, CannotWork, did_you_mean, one_line
from advisor.fleet.fleet import ANSWERS, CAPTURE_SUFFIX, KEPT, Answer, answers_in
from advisor.machine.hosts.errands import Outcome, Reply, Way, checked_names, folded, nodes_of_partition
from advisor.machine.hosts.files import Use, open_here, trusted, write_file
from advisor.machine.hosts.live import LiveHost
from advisor.machine.hosts.nodes import Brought, ask_nodes, brought, errand, new_mark
from advisor.machine.hosts.source import capture_from
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import capture_script
from advisor.machine.value import is_name

_LARGEST = 1 << 30
_AGE = re.compile(r"(\d{1,6})\s*(min|m|h|d|w)", re.ASCII)
_UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
FAILED = "failed"
"""Every outcome but an answer, for --again."""


def age(text: str) -> timedelta:
    """Return how old a text says: 30m, 12h, 1d, 2w."""
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise BadValue(f"{text[:40]!a} is not a valid age", cure="write, for example, 30m, 12h, 1d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


class AnswersFolder:
    """A fleet's folder: what it holds, and how an answer is put into it."""

    def __init__(self, folder: Path, *, must_exist: bool = False) -> None:
        self.folder, self.file = folder, folder / ANSWERS
        trusted(self.file, Use.NAMED)  # before any node is asked
        if must_exist and not self.file.is_file():
            raise BadInput(f"contains no {ANSWERS}: no fleet was captured there", file=str(folder), cure="name nodes with -w")
        self.last = answers_in(self._read()).last

    def _read(self) -> bytes:
        try:
            with open_here(self.file) as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(min(size, _LARGEST)) or b""  # room for all that is asked for is taken beforehand
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise BadInput((error.strerror or "cannot be read").lower(), file=str(self.file)) from error
        if size > _LARGEST:
            raise BadInput(f"larger than {_LARGEST >> 30} GiB", file=str(self.file), cure="name another folder with -o")
        return data

    def begin(self) -> None:
        """Make the folder ready to be written into: an unfinished line of a run that was killed gets its end."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":
                    os.write(handle, b"\n")
            finally:
                os.close(handle)
        except OSError as error:
            raise CannotWork(
                f"{self.file}: {(error.strerror or 'cannot be written').lower()}; name another folder with -o"
            ) from error

    def add(self, answer: Answer, archive: bytes | None = None) -> None:
        """Keep an answer: first its capture, whole and on disk, then the line that says so."""
        if archive is not None:
            write_file(self.folder / f"{answer.node}{CAPTURE_SUFFIX}", archive, private=True, durable=True)
        try:
            handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(handle, answer.line())  # one write: lines of two runs at once stay lines
            finally:
                os.close(handle)
        except OSError as error:
            raise CannotWork(
                f"{self.file}: {(error.strerror or 'cannot be written').lower()}; the captures so far are kept"
            ) from error
        self.last[answer.node] = answer

    def is_kept(self, node: str) -> bool:
        """Return whether a node's capture is there as its last answer says."""
        answer = self.last.get(node)
        if answer is None or answer.outcome not in KEPT or answer.archive is None or "/" in answer.archive:
            return False
        try:
            with open_here(self.folder / answer.archive) as file:
                return sha256(file.read() or b"").hexdigest() == answer.sha256
        except OSError:
            return False

    def named(self, nodes: Sequence[str] | None) -> tuple[str, ...]:
        """Return nodes whose names are checked; those whose capture is kept where none are named."""
        return checked_names(nodes if nodes is not None else tuple(node for node in self.last if self.is_kept(node)))

    def is_stale(self, node: str, oldest: timedelta | None) -> bool:
        """Return whether a node's answer is older than wished; one whose time cannot be read is."""
        if oldest is None:
            return False
        try:
            at = datetime.fromisoformat(self.last[node].at)
        except ValueError:
            return True
        return datetime.now(UTC) - at.astimezone(UTC) > oldest

    def to_ask(self, nodes: Sequence[str], fresh_after: timedelta | None, again: str | None) -> tuple[str, ...]:
        """Return which nodes are to be asked now: those that never answered, or too long ago, or those that are named again."""
        if again is not None:
            return tuple(node for node in nodes if node in self.last and is_one_of(self.last[node].outcome, again))
        return tuple(node for node in nodes if not self.is_kept(node) or self.is_stale(node, fresh_after))


def is_one_of(outcome: Outcome, wished: str) -> bool:
    """Return whether an outcome is the one that --again names: failed is each that left no capture."""
    return outcome not in KEPT if wished == FAILED else outcome == wished


def checked_again(again: str | None) -> str | None:
    """Return the outcome that --again names; refuse a word that is none."""
    words = [str(each) for each in Outcome]
    if again is not None and again not in words:
        cure = did_you_mean(again, words, f"available: {', '.join(words)}")
        raise BadValue(f"--again {again[:40]!a} is not a capture outcome", cure=cure)
    return again


def grouped(answers: Iterable[Answer]) -> dict[Outcome, list[str]]:
    """Return the nodes of each outcome, the most frequent first."""
    found: dict[Outcome, list[str]] = {}
    for each in answers:
        found.setdefault(each.outcome, []).append(each.node)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


_HOSTNAME = "/proc/sys/kernel/hostname"
_UNREACHED = (Outcome.NO_ROUTE, Outcome.REFUSED, Outcome.HOST_KEY, Outcome.PERMISSION)


@dataclass(frozen=True)
class CaptureOptions:
    """How a fleet is captured."""

    way: Way = field(default_factory=Way)
    fresh_after: timedelta | None = None
    """Captures that are older are taken again."""
    again: str | None = None
    """Only nodes whose last outcome was this; failed is each that left no capture."""


@dataclass(frozen=True)
class Captured:
    """What became of a fleet: the last answer of each node, how many were asked now, and who was not."""

    folder: str
    answers: tuple[Answer, ...]
    asked_now: int
    not_asked: tuple[str, ...] = ()
    interrupted: bool = False
    partition: str | None = None
    """Where jobs of Slurm asked them, and not ssh."""

    @property
    def answered(self) -> tuple[Answer, ...]:
        """Return the answers that left a capture."""
        return tuple(each for each in self.answers if each.outcome in KEPT)

    @property
    def silent(self) -> tuple[Answer, ...]:
        """Return those that left none."""
        return tuple(each for each in self.answers if each.outcome not in KEPT)

    def status(self, *, fail_on_missing: bool) -> int:
        """Return the exit status: 130 interrupted, 2 where no node answered, 1 where some did not and that counts."""
        if self.interrupted:
            return 130
        if self.answers and not self.answered:
            return 2
        return int(fail_on_missing and bool(self.silent))

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet capture --json``."""
        outcomes = grouped(self.answers).items()
        return {
            "schema": "advisor-fleet-capture/1",
            "folder": self.folder,
            "asked": len(self.answers) + len(self.not_asked),
            "asked_now": self.asked_now,
            "answered": len(self.answered),
            "interrupted": self.interrupted,
            "not_asked": list(self.not_asked),
            "outcomes": [{"is": str(is_), "count": len(names), "nodes": folded(names)} for is_, names in outcomes],
            "silent": [
                {"node": each.node, "is": str(each.outcome), "why": each.why, "by_hand": _by_hand(each, self.partition)}
                for each in self.silent
            ],
            "other_names": [
                {"node": each.node, "seen_as": each.seen_as}
                for each in self.answered
                if each.seen_as is not None and _short(each.seen_as) != _short(each.node)
            ],
        }


def _by_hand(answer: Answer, partition: str | None) -> str:
    """Return the command that shows what went wrong with one node: the login alone where that failed, else the script."""
    reach = f"ssh {answer.node}" if partition is None else f"srun --partition={partition} --nodelist={answer.node}"
    if answer.outcome in _UNREACHED:
        return f"{reach} true"
    return f"advisor capture --script | {reach} /bin/sh -s -- -o - >{answer.node}{CAPTURE_SUFFIX}"


def capture_fleet(
    nodes: Sequence[str] | None, folder: Path, how: CaptureOptions | None = None, observer: Observer = SILENT
) -> Captured:
    """Capture many nodes into a folder, those first that it does not have; without names all of the partition, or --again's."""
    how = how or CaptureOptions()
    kept = AnswersFolder(folder, must_exist=nodes is None and how.way.partition is None)
    names = _names(nodes, kept, how)
    asked = kept.to_ask(names, how.fresh_after, checked_again(how.again))
    kept.begin()
    taker = _Taker(kept, frozenset(_short(name) for name in names), len(asked), observer)
    mark = new_mark()
    interrupted = False
    try:
        if asked:
            sent = errand(capture_script(), mark)
            ask_nodes(asked, sent, how.way, lambda reply: taker.take(reply, brought(reply, mark)))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        observer.end()
    answers = tuple(kept.last[name] for name in names if name in kept.last)
    left = tuple(name for name in asked if name not in taker.heard)
    unasked = tuple(name for name in left if name not in kept.last)
    return Captured(str(folder), answers, len(taker.heard), unasked, interrupted, how.way.partition)


def capture_now(nodes: Sequence[str] | None, folder: Path, way: Way, observer: Observer = SILENT) -> None:
    """Capture nodes anew, whatever of them is there; say who is silent. Raise CannotWork where nobody answered."""
    done = capture_fleet(nodes, folder, CaptureOptions(way, timedelta(0)), observer)
    if done.interrupted:
        raise KeyboardInterrupt
    if not done.answered:
        whys = ", ".join(f"{len(names)} {outcome}" for outcome, names in grouped(done.silent).items())
        raise CannotWork(f"no node answered: {whys or 'none was asked'}; retry: advisor fleet capture --again failed -o {folder}")
    observer.say(f"{len(done.answered)} of {len(done.answers)} nodes captured into {folder}")


def _names(nodes: Sequence[str] | None, kept: AnswersFolder, how: CaptureOptions) -> tuple[str, ...]:
    if nodes is not None:
        return checked_names(nodes)
    if how.way.partition is not None:
        return checked_names(nodes_of_partition(how.way.partition))
    if how.again is None:
        raise CannotWork("no nodes given; give -w LIST, --hostfile FILE, --slurm PARTITION, or --again failed")
    checked_again(how.again)
    return tuple(name for name, answer in kept.last.items() if is_one_of(answer.outcome, how.again))


class _Taker:
    """Takes what comes back: checked, then kept."""

    def __init__(self, kept: AnswersFolder, asked: frozenset[str], of: int, observer: Observer) -> None:
        self._kept, self._asked, self._of, self._observer = kept, asked, of, observer
        self.heard: set[str] = set()

    def take(self, reply: Reply, told: Brought) -> None:
        """Keep what one node answered."""
        seen, outcome, why = None, told.outcome, told.why
        if outcome is Outcome.ANSWERED:
            seen, outcome, why = self._checked(reply.node, told.file)
        whole = outcome in KEPT
        answer = Answer(
            node=reply.node,
            at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            outcome=outcome,
            why=why,
            archive=f"{reply.node}{CAPTURE_SUFFIX}" if whole else None,
            sha256=sha256(told.file).hexdigest() if whole else None,
            seen_as=seen,
        )
        self._kept.add(answer, told.file if whole else None)
        self.heard.add(reply.node)
        self._observer.step("capturing", f"{len(self.heard)} of {self._of} nodes")

    def _checked(self, node: str, data: bytes) -> tuple[str | None, Outcome, str | None]:
        """Return the name that a capture has itself, and what that makes of the answer: it must open as a capture."""
        try:
            host = capture_from(data, node)
        except AdvisorError as error:
            return None, Outcome.TRUNCATED, str(error)[:300]
        if host is None:
            return None, Outcome.FAILED, "the returned file is not a capture"
        told = (host.read(_HOSTNAME).text or "").strip()
        seen = told if is_name(told) else None
        if seen is not None and _short(seen) != _short(node) and _short(seen) in self._asked:
            return seen, Outcome.WRONG_NAME, f"reports the name {seen}, which belongs to another of these nodes"
        return seen, Outcome.ANSWERED, None


_REMOTE = re.compile(r"(?:\w[\w.-]*@)?(?:\w[\w.-]*|\[[0-9a-fA-F:.]+\]):", re.ASCII)
"""How a place of rsync begins: HOST:, USER@HOST:, rsync:. A folder with a colon in its name is ./NAME."""
_PATIENCE = 600.0
"""Seconds for rsync to bring a capture, of a megabyte at most, to where it belongs."""


def push(data: bytes, target: str) -> str:
    """Put a capture into a fleet's folder, here or where rsync reaches it, under the name of its node; return where it is.

    Whoever reads the folder meanwhile sees the capture before or this one: both ways write a hidden file, and rename it.
    """
    host = capture_from(data, "this capture")
    name = (host.read(_HOSTNAME).text or "").strip() if host else ""
    if not is_name(name):
        raise CannotWork(f"{name[:40]!a} cannot be used as a file name; set another host name with hostnamectl, or use -o")
    file = f"{name}{CAPTURE_SUFFIX}"
    if not _REMOTE.match(target):
        folder = Path(target)
        if not folder.is_dir():
            raise CannotWork(f"{target}: no such folder; mount or create it, or give HOST:DIR for rsync")
        write_file(folder / file, data, private=not folder.stat().st_mode & S_ISGID, durable=True)
        return str(folder / file)
    with TemporaryDirectory(prefix="advisor-push-") as own:
        write_file(Path(own) / file, data, private=True)
        argv = ("rsync", "--times", "--ignore-times", "--", f"{own}/{file}", f"{target.rstrip('/')}/")
        ran = LiveHost().launch(argv, lambda _: None, timeout=_PATIENCE)
    if ran.why or ran.status:
        said = (ran.err.decode("utf-8", "replace").strip().splitlines() or [str(ran.why or f"status {ran.status}")])[0]
        raise CannotWork(one_line(f"rsync to {target}: {said[:300]}; try rsync by hand, or give a folder"))
    return f"{target.rstrip('/')}/{file}"


def _short(name: str) -> str:
    """Return a name without its domain, in one case: n1.site.org is n1; an address is itself."""
    return name.lower() if name.replace(".", "").isdigit() else name.partition(".")[0].lower()
