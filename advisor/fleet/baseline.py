"""The baseline of a fleet: what good nodes are, frozen into a file, and what has left it since."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from advisor.errors import BadInput
from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import Silent
from advisor.fleet.fold import Fact, Folded, Judged
from advisor.fleet.kinds import Nodes, alike
from advisor.machine.hosts.errands import expanded, folded
from advisor.machine.hosts.source import read_json
from advisor.machine.hosts.trust import Use, open_trusted
from advisor.machine.observer import SILENT, Observer
from advisor.machine.value import Value
from advisor.measure.platform import Scope

SCHEMA: Final = "advisor-fleet-baseline/1"
ABSENT: Final = "not known"


class KeptFact(Value):
    """A fact as it was."""

    text: str
    size: int | None = None


class Sort(Value):
    """What equal nodes were: their hardware, their facts by section, their findings."""

    hardware: str
    parts: dict[str, str] = Field(description="section -> the digest of its facts")
    rules: tuple[str, ...] = ()
    nodes: str = Field(description="folded")


class Baseline(Value):
    """A fleet as it was when it was good."""

    format: str = SCHEMA
    at: str = Field(description="when the last of its nodes was captured, or when it was saved")
    parts: dict[str, dict[str, KeptFact]] = Field(description="digest -> facts")
    sorts: tuple[Sort, ...]


class Left(Value):
    """What is otherwise than in the baseline, and on which nodes."""

    what: str = Field(description="a fact, or 'finding', 'hardware', 'node'")
    before: str
    after: str
    nodes: str = Field(description="folded")
    count: int


class Checked(Value):
    """A fleet held against its baseline."""

    since: str = Field(description="when the baseline was: what left it did so later")
    until: str = Field(description="when it was looked at: what left it did so before")
    nodes: int = Field(description="nodes that are in both")
    left: tuple[Left, ...] = ()
    silent: tuple[Silent, ...] = Field(default=(), description="nodes of the baseline that did not answer")
    new: str = Field(default="", description="nodes that the baseline does not have, folded")


def freeze(nodes: Nodes, at: str) -> Baseline:
    """Return what a fleet is now."""
    sorts: dict[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]], list[str]] = defaultdict(list)
    parts: dict[str, dict[str, KeptFact]] = {}
    for name, node in nodes.folded.items():
        own = {section: part.digest.hex() for section, part in node.parts.items()}
        for section, part in node.parts.items():
            if own[section] not in parts:
                parts[own[section]] = {fact: KeptFact(text=each.text, size=each.size) for fact, each in part.facts.items()}
        rules = tuple(sorted({each.rule for each in nodes.judged.get(name, ())}))
        sorts[node.hardware.text, tuple(own.items()), rules].append(name)
    kept = tuple(
        Sort(hardware=hardware, parts=dict(own), rules=rules, nodes=folded(names))
        for (hardware, own, rules), names in sorts.items()
    )
    return Baseline(at=nodes.ended or at, parts=parts, sorts=kept)


def check(baseline: Baseline, nodes: Nodes, now: str) -> Checked:
    """Return what left the baseline."""
    sorts = {name: sort for sort in baseline.sorts for name in expanded(sort.nodes)}
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    known: dict[bytes, list[tuple[str, str, str]]] = {}
    for name, node in nodes.folded.items():
        sort = sorts.get(name)
        if sort is None:
            continue
        mark = _mark(sort, node, nodes.judged.get(name, ()))
        if mark not in known:
            known[mark] = list(_differing(baseline, sort, node, nodes.judged.get(name, ())))
        for each in known[mark]:
            found[each].append(name)
    left = [
        Left(what=what, before=before, after=after, nodes=folded(names), count=len(names))
        for (what, before, after), names in found.items()
    ]
    silent = {each.node: each.why for each in nodes.silent}
    gone = [name for name in sorts if name not in nodes.folded]
    return Checked(
        since=baseline.at,
        until=nodes.ended or now,
        nodes=len(sorts) - len(gone),
        left=tuple(sorted(left, key=lambda each: (each.what not in ("finding", "hardware"), -each.count, each.what))),
        silent=tuple(Silent(node=name, why=silent.get(name, "not asked")) for name in gone),
        new=folded(name for name in nodes.folded if name not in sorts),
    )


def _mark(sort: Sort, node: Folded, judged: Sequence[Judged]) -> bytes:
    """Return what the comparison of a node hangs on: equal nodes are compared once."""
    told = (
        id(sort),
        node.hardware.text,
        [(name, part.digest) for name, part in node.parts.items()],
        [each.rule for each in judged],
    )
    return blake2b(repr(told).encode("utf-8", "backslashreplace"), digest_size=16).digest()


def _differing(baseline: Baseline, sort: Sort, node: Folded, judged: Sequence[Judged]) -> Iterator[tuple[str, str, str]]:
    """Yield what is otherwise: what it is, how it was, how it is now."""
    if node.hardware.text != sort.hardware:
        yield "hardware", sort.hardware, node.hardware.text
    for rule in sorted({each.rule for each in judged} - {*sort.rules}):
        yield "finding", "not found", rule
    for section, digest in sort.parts.items():
        part = node.parts.get(section)
        if part is not None and part.digest.hex() != digest:
            yield from _facts(baseline.parts.get(digest, {}), part.facts)


def _facts(before: Mapping[str, KeptFact], after: Mapping[str, Fact]) -> Iterator[tuple[str, str, str]]:
    """Yield the facts that differ; amounts that are nearly the same are the same, and what nobody could read is no change."""
    for name in sorted({*before} | {*after}):
        was, now = before.get(name), after.get(name)
        if was is not None and now is not None:
            if was.text != now.text and not alike(was.size, now.size):
                yield name, was.text, now.text
        elif now is not None and now.inside:
            yield name, "not there", "there"
        elif was is not None and was.text == "there":
            yield name, "there", "not there"


_CURE = "write it with advisor fleet baseline save"
_LARGEST = 64 << 20


@dataclass(frozen=True)
class CheckedFleet:
    """A fleet held against its baseline."""

    checked: Checked

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor fleet baseline check --json``."""
        return {"schema": "advisor-fleet-check/1", **self.checked.model_dump(mode="json")}


def saved_baseline(
    places: Sequence[Path], scope: Scope = "mpi", *, site: Sequence[Path] = (), observer: Observer = SILENT
) -> Baseline:
    """Return what a fleet is now."""
    return freeze(audit_fleet(places, scope, site=site, observer=observer).nodes, _now())


def checked_fleet(
    baseline: Path, places: Sequence[Path], scope: Scope = "mpi", *, site: Sequence[Path] = (), observer: Observer = SILENT
) -> CheckedFleet:
    """Return what left a baseline."""
    kept = baseline_in(baseline)
    return CheckedFleet(check(kept, audit_fleet(places, scope, site=site, observer=observer).nodes, _now()))


def baseline_in(file: Path) -> Baseline:
    """Return the baseline that a file holds."""
    try:
        with open_trusted(file, Use.NAMED) as opened:
            size = os.fstat(opened.fileno()).st_size  # room is taken for all that is asked for
            data = read_json(opened.read(min(size, _LARGEST) + 1) or b"", _CURE, room=1 << 30)
        found = Baseline.model_validate(data)
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(file), cure=_CURE) from error
    except BadInput as error:
        raise error.within(str(file)) from error
    except ValidationError as error:
        raise BadInput("is not a baseline of a fleet", file=str(file), cure=_CURE) from error
    if found.format != SCHEMA:
        raise BadInput(f"its format is {found.format[:40]!a}, this advisor reads {SCHEMA}", file=str(file), cure=_CURE)
    return found


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
