"""Asks many BMCs at once: so many at a time, each for itself; what they say is folded, and who is left is named."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from advisor.advice.bios_files import text_of
from advisor.bios.connection import address_of, as_interrupt, hearing
from advisor.bios.door import Door, plain_name
from advisor.errors import AdvisorError, BadInput, BadValue, CannotWork, Interrupted
from advisor.jobs.started.hosts import fold_names, names_of
from advisor.machine.observer import SILENT, Observer

AT_ONCE = 32
_LARGEST = 1 << 20
_OWN_UUID = re.compile(r"(?<=,) but this server's is [0-9A-Fa-f-]{36}")


class Told(Protocol):
    """What was learnt of one BMC."""

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""

    @property
    def good(self) -> bool:
        """Return whether it is as it should be."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""


@dataclass(frozen=True)
class Outcome:
    """What became of one BMC: what it told, or why nothing was to be had."""

    bmc: str
    told: Told | None = None
    error: str | None = None
    node: str | None = None

    @property
    def name(self) -> str:
        """Return the name by which it was asked for."""
        return self.node or self.bmc

    @property
    def word(self) -> str:
        """Return it as it is folded: neither the BMC's own name nor its server's UUID is in it."""
        why = _OWN_UUID.sub(" it is a different server", (self.error or "").removeprefix(f"{self.bmc}: "))
        own = re.escape(plain_name(self.name))
        why = re.sub(rf"(?<=/){own}(?=[/.])|\b{own}(?=\.\w+:)", "%h", why)  # plans/node01.yaml: no such file
        return self.told.word if self.told else f"could not: {why}"


Folded = list[tuple[str, tuple[str, ...]]]
"""What was said, and by whom."""


def fold(told: Iterable[tuple[bool, str, str]]) -> Folded:
    """Return words with those whom they are of: what most say first; each says whether its words stand at the end."""
    groups: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for last, words, name in told:
        groups[last, words].append(name)
    ranked = sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1]), group[0][1]))
    return [(words, tuple(names)) for (_, words), names in ranked]


def folded_document(folded: Folded) -> list[dict[str, Any]]:
    """Return it for a document, the names as -w takes them."""
    return [{"is": words, "count": len(names), "bmcs": fold_names(names)} for words, names in folded]


@dataclass(frozen=True)
class Fleet:
    """What became of many."""

    doing: str
    outcomes: tuple[Outcome, ...]
    interrupted: bool = False

    @property
    def left(self) -> tuple[str, ...]:
        """Return those that nothing was to be had of: to go on with."""
        return tuple(each.name for each in self.outcomes if each.told is None)

    @property
    def status(self) -> int:
        """Return the exit status: 130 interrupted, 2 some could not, 1 some are not as they should be."""
        if self.interrupted:
            return 130
        return 2 if self.left else int(not all(each.told.good for each in self.outcomes if each.told))

    @property
    def folded(self) -> Folded:
        """Return what was said, and by whom: what most say first, what could not be asked last."""
        return fold((each.told is None, each.word, each.name) for each in self.outcomes)

    def summary(self) -> dict[str, Any]:
        """Return what was said, folded, without what each said in full."""
        told = {"doing": self.doing, "interrupted": self.interrupted}
        return {**told, "folded": folded_document(self.folded), "left": fold_names(self.left)}

    def document(self) -> dict[str, Any]:
        """Return the document of --json for several BMCs."""
        each = [
            {
                "bmc": one.bmc,
                **({"node": one.node} if one.node else {}),
                "is": one.word,
                "error": one.error,
                "document": one.told.document() if one.told else None,
            }
            for one in self.outcomes
        ]
        return {"schema": "advisor-bios-fleet/1", **self.summary(), "each": each}


@dataclass(frozen=True)
class Kept:
    """What one of many BMCs told, which went into a file."""

    word: str
    file: Path
    good: bool = True

    def document(self) -> dict[str, Any]:
        """Return where it is."""
        return {"file": str(self.file)}


def ask_all(doing: str, doors: Sequence[Door], task: Callable[[Door], Told], observer: Observer = SILENT) -> Fleet:
    """Return what each of many BMCs says, so many at a time; one that fails stops no other, an interrupt stops all."""
    stop, interrupted = Event(), False
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked: list[Future[Told]] = []
        try:
            with hearing(as_interrupt):
                asked.extend(pool.submit(task, replace(door, stop=stop)) for door in doors)
                for number, _ in enumerate(as_completed(asked), 1):
                    observer.step(f"bios {doing}", f"{number} of {len(doors)} BMCs")
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)  # each ends the request that it is in, and logs out
    found = tuple(_outcome(door, made) for door, made in zip_longest(doors, asked))
    return Fleet(doing, found, interrupted)


def _outcome(door: Door, made: Future[Told] | None) -> Outcome:
    told, error = None, None
    try:
        told, error = (made.result(), None) if made else (None, "not asked: interrupted")
    except (CancelledError, Interrupted):
        error = "not asked: interrupted"
    except AdvisorError as failed:
        error = str(failed)
    except Exception as failed:  # noqa: BLE001 - a mistake of ours with one BMC must not lose what is known of the others
        error = f"a bug in advisor: {type(failed).__name__}; please report it"
    return Outcome(door.bmc, told, error, door.node)


def doors_to(base: Door, where: str | None, hosts: Path | None, pattern: str | None = None) -> tuple[Door, ...]:
    """Return a door for each BMC of a list (bmc[001-400], @group) or of a file; who logs in is asked for once.

    With a pattern (``bmc-%h``) nodes are named and their BMCs follow from it. A line of the file may have both: ``node01
    bmc17``; of such a file, a list names the nodes that are meant.
    """
    if base.pin:
        raise BadValue("--pin works for one BMC only", cure="pin each with advisor bios status --bmc HOST --pin, or give --ca")
    if pattern is not None and "%h" not in pattern:
        raise BadValue(
            f"--bmc-name {pattern[:60]} names one BMC for all nodes", cure="write %h where the node's name goes: bmc-%h"
        )
    named = _of_file(hosts) if hosts is not None else dict.fromkeys(_listed(where or "", "BMC"))
    if hosts is not None and where is not None:
        names = _listed(where, "node")
        if unknown := next((name for name in names if name not in named), None):
            raise BadInput(f"does not list {unknown}", file=str(hosts), cure="with --hostfile, -w selects lines from the file")
        named = {name: named[name] for name in names}
    pairs = {
        name: (bmc, name) if bmc else (pattern.replace("%h", name), name) if pattern else (name, None)
        for name, bmc in named.items()
    }
    once = {_place(bmc, insecure=base.insecure): (bmc, node) for bmc, node in reversed(pairs.values())}
    found = tuple(reversed(once.values()))
    files: dict[str, str] = {}
    for name in (node or bmc for bmc, node in found):
        if files.setdefault(plain_name(name), name) != name:
            raise BadValue(
                f"{files[plain_name(name)]} and {name} would use the same file names", cure="run a separate command for each"
            )
    login = base.login(f"{len(found)} BMCs" if len(found) > 1 else found[0][0])
    known = replace(base, user=None, password_fd=None, login_file=None, given=(login.user, login.password))
    return tuple(replace(known, bmc=bmc, node=node) for bmc, node in found)


def _listed(where: str, what: str) -> Sequence[str]:
    """Return the names of a list, or those of the captures in a folder (fleet/)."""
    if "/" not in where or not Path(where).is_dir():
        return names_of(where, what)
    captures = sorted(Path(where).glob("*.tar.gz"))
    if not captures:
        raise BadInput("contains no captures", file=where, cure="advisor fleet capture -o DIR writes one per node")
    return names_of(",".join(path.name.removesuffix(".tar.gz") for path in captures), what)


def _place(bmc: str, *, insecure: bool) -> object:
    """Return where a BMC is, by which one that is named twice is asked once; a name that is none stands for itself."""
    try:
        scheme, host, port = address_of(bmc, insecure=insecure)
    except BadValue:
        return bmc
    return scheme, host.lower(), port


def _of_file(path: Path) -> dict[str, str | None]:
    """Return what a file names: BMCs, or nodes each with its BMC (``node[01-16] bmc[01-16]``)."""
    found: dict[str, str | None] = {}
    lines = text_of(path, _LARGEST, "any list of BMCs", absent="write one BMC per line").splitlines()
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        try:
            found |= _of_line(text, found) if text else {}
        except BadValue as error:
            raise BadInput(error.problem, file=str(path), place=f"line {number}", cure=error.cure) from error
    if not found:
        raise BadInput("lists no BMCs", file=str(path), cure="write one per line, or a node and its BMC: node01 bmc01")
    return found


def _of_line(text: str, before: dict[str, str | None]) -> dict[str, str | None]:
    words = text.split()
    if len(words) > 2:
        raise BadValue(f"{len(words)} words on one line", cure="give a BMC, or a node and its BMC: node01 bmc01")
    nodes, *more = [names_of(word, "BMC") for word in words]
    bmcs: Sequence[str | None] = more[0] if more else [None] * len(nodes)
    if len(nodes) != len(bmcs):
        raise BadValue(f"{len(nodes)} nodes but {len(bmcs)} BMCs", cure="write one BMC per node")
    if other := next((node for node, bmc in zip(nodes, bmcs, strict=True) if before.get(node, bmc) != bmc), None):
        raise BadValue(f"{other} is listed above with a different BMC", cure="remove one of the two")
    return dict(zip(nodes, bmcs, strict=True))


def for_bmc(path: Path, door: Door, *, many: bool) -> Path:
    """Return the file of one BMC: %h stands for its name, and must where there are several."""
    if "%h" not in str(path):
        if many:
            raise BadValue(f"several BMCs cannot share one file, {path}", cure="write %h where the BMC's name goes: DIR/%h.json")
        return path
    found = door.of(path)
    try:
        found.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWork(f"{found.parent}: {(error.strerror or 'cannot be made').lower()}") from None
    return found
