"""The golden node of each kind: what its nodes have to be, in a file that people review; waivers, tolerances, owners.

It is written from a node of which nothing is odd, and holds the facts that most of the kind have. Beside it lies that node's
machine, without its name, from which slurm.conf, gres.conf and NHC's checks are made.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field

from advisor.errors import BadInput, CannotWork
from advisor.fleet.audit import AuditedFleet, file_of_node
from advisor.fleet.fleet import Drift, Kind, Odd, Silent
from advisor.fleet.incidents import ELEMENT
from advisor.fleet.kinds import Group, Nodes, alike, deviants
from advisor.machine.fact import without_identities
from advisor.machine.hosts.errands import expanded, folded
from advisor.machine.hosts.files import Use, open_trusted
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from advisor.machine.value import Value, optional
from advisor.sheets import model_of, parse_sheet

SCHEMA = "advisor-fleet-golden/1"
_CURE = "write it with advisor fleet golden save"
_LARGEST = 8 << 20
_ALMOST = 0.01
"""Amounts this near are the same, unless the file says otherwise."""
_SHARE = re.compile(r"(\d{1,3}(?:\.\d+)?) ?%", re.ASCII)
_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?)(?: ?([A-Za-z/]+))?", re.ASCII)
_SET = re.compile(r"\{([^{}]*)\}")

Text = Annotated[
    str, BeforeValidator(lambda value: "" if value is None else str(value).lower() if isinstance(value, bool) else str(value))
]


class Waiver(Value):
    """What is let pass on some nodes for some time."""

    what: str = Field(min_length=1, max_length=200)
    """a rule or a fact; * matches any characters"""
    nodes: str = Field(max_length=100_000)
    """folded"""
    reason: str = Field(min_length=3, max_length=1000)
    until: date
    """its last day: 2027-03-31"""
    owner: str = Field(default="", max_length=200)

    def holds(self, what: str, node: str, today: date) -> bool:
        """Return whether it lets something pass on a node today."""
        return today <= self.until and fnmatchcase(what, self.what) and node in expanded(self.nodes)


class GoldenKind(Value):
    """What the nodes of a kind have to be."""

    hardware: str = ""
    owner: str = optional("", max_length=200)
    """who is responsible for it"""
    nodes: str = Field(max_length=1_000_000)
    """the nodes that must exist, folded"""
    machine: str | None = None
    """the golden node's machine file, next to this one"""
    accepted: tuple[str, ...] = ()
    """rules whose findings are accepted"""
    undecided: tuple[str, ...] = ()
    """facts that split the kind: move the intended one to facts"""
    facts: dict[str, Text]


class Golden(Value):
    """The golden nodes of a fleet."""

    format: str
    at: str = ""
    tolerances: dict[str, str] = Field(default_factory=dict)
    """fact (* matches any characters) -> 1%"""
    waivers: tuple[Waiver, ...] = ()
    kinds: dict[str, GoldenKind]


def golden_in(file: Path) -> Golden:
    """Return what a file holds; a mistake is named with its line."""
    try:
        with open_trusted(file, Use.NAMED) as opened:
            data = opened.read(_LARGEST + 1) or b""
        if len(data) > _LARGEST:
            raise BadInput("too large for a golden file", file=str(file), cure="at most 8 MiB; write one file per cluster")
        found = model_of(parse_sheet(data.decode(), str(file)), Golden)
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(file), cure=_CURE) from error
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8 text", file=str(file), cure=_CURE) from error
    if found.format != SCHEMA:
        raise BadInput(f"its format is {found.format[:40]!a}, but this advisor reads {SCHEMA}", file=str(file), cure=_CURE)
    for pattern, share in found.tolerances.items():
        if not _SHARE.fullmatch(share):
            raise BadInput(
                f"tolerance {share[:20]!a} for {pattern[:60]} is not a percentage", file=str(file), cure="write 1% or 0.5%"
            )
    return found


def is_golden(file: Path) -> bool:
    """Return whether a file begins as one of golden nodes does."""
    if file.suffix not in (".yaml", ".yml") or not file.is_file():
        return False
    try:
        with open_trusted(file, Use.NAMED) as opened:
            return b"advisor-fleet-golden/" in (opened.read(1000) or b"")
    except OSError:
        return False


def golden_of(found: AuditedFleet) -> tuple[Golden, dict[str, Machine]]:
    """Return what a fleet is, kind by kind, and the machine of each golden node by its file; refuse where all nodes are odd."""
    odd = deviants(found.fleet)
    kinds, machines = {}, {}
    for kind in found.fleet.kinds:
        names = expanded(kind.nodes)
        node = next((name for name in names if name not in odd), None)
        if node is None:
            continue
        file = f"golden.{kind.name}.json"
        machines[file] = _unnamed(read_machine(str(file_of_node(found.asked, node))))
        split = {each.fact for each in found.fleet.split if each.kind == kind.name}
        kept = {name: text for name, text in _usual(found.nodes, names, node) if name not in split}
        kinds[kind.name] = GoldenKind(
            hardware=kind.hardware,
            nodes=kind.nodes,
            machine=file,
            accepted=tuple(
                sorted(
                    each.rule
                    for each in found.fleet.wrong
                    if each.kind == kind.name and each.count == each.of and each.severity in ("low", "info")
                )
            ),
            undecided=tuple(sorted(split)),
            facts=kept,
        )
    if not kinds:
        raise CannotWork("every node has an incident; fix one node of each kind and capture it again")
    made = Golden(format=SCHEMA, at=found.fleet.ended or "", tolerances={"numa.memory.*": "1%"}, kinds=kinds)
    return made, machines


def _unnamed(machine: Machine) -> Machine:
    return without_identities(machine).but(name=None)


def _usual(nodes: Nodes, names: Sequence[str], golden: str) -> Iterator[tuple[str, str]]:
    """Yield the facts of the golden node that more than half of its kind have."""
    for section, part in nodes.folded[golden].parts.items():
        counted: dict[bytes, int] = defaultdict(int)
        others = {}
        for name in names:
            other = nodes.folded[name].parts.get(section)
            if other is not None:
                counted[other.digest] += 1
                others[other.digest] = other
        for name, fact in part.facts.items():
            same = sum(
                counted[digest]
                for digest, other in others.items()
                if name in other.facts and (other.facts[name].key == fact.key or alike(other.facts[name].size, fact.size))
            )
            if same * 2 > len(names):
                yield name, fact.text


def golden_text(golden: Golden) -> str:
    """Return the file, as people review it: facts of several elements with the same value in one line."""
    told: dict[str, Any] = golden.model_dump(mode="json", exclude_defaults=True)
    told["kinds"] = {
        name: {**{key: value for key, value in kind.items() if key != "facts"}, "owner": "", "facts": _together(kind["facts"])}
        for name, kind in told["kinds"].items()
    }
    told["waivers"] = []
    order = ("format", "at", "tolerances", "waivers", "kinds")
    head = (
        "# The expected state of each kind of node; remove what does not matter. Check: advisor fleet audit --golden FILE DIR\n"
        "# waivers: [{what: os-thp-never, nodes: 'n[1-4]', reason: why, until: 2027-03-31, owner: who}]\n"
    )
    return head + yaml.safe_dump({key: told[key] for key in order if key in told}, sort_keys=False, width=120)


def _together(facts: Mapping[str, str]) -> dict[str, str]:
    """Return facts with the elements of equal values in one: memory.dimms.{A[1-8]}.size.

    >>> _together({"memory.dimms.A1.size": "16 GiB", "memory.dimms.A2.size": "16 GiB", "cores": "8"})
    {'memory.dimms.{A[1-2]}.size': '16 GiB', 'cores': '8'}
    """
    same: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, text in facts.items():
        match = ELEMENT.fullmatch(name)
        before, element, after = match.groups() if match and re.fullmatch(r"\w+", match[2]) else (name, "", "")
        same[before, after, text].append(element)
    return {
        f"{before}{'{' + folded(elements) + '}' if len(elements) > 1 else elements[0]}{after}": text
        for (before, after, text), elements in same.items()
    }


def facts_of(kind: GoldenKind) -> Iterator[tuple[str, str]]:
    """Yield the facts of a kind, each element by itself."""
    for name, text in kind.facts.items():
        found = _SET.search(name)
        for element in expanded(found[1]) if found else ("",):
            yield (_SET.sub(lambda _, one=element: one, name, count=1), text)  # type: ignore[misc] # mypy cannot infer a lambda with a default


def held(golden: Golden, nodes: Nodes, kinds: Sequence[Group], today: date) -> tuple[Nodes, list[Drift]]:
    """Return nodes without the findings that are accepted or waived, and in what they differ from the golden ones."""
    drift: list[Drift] = []
    for kind in kinds:
        meant = golden.kinds.get(kind.name)
        if meant is None:
            told = f"one of {', '.join(golden.kinds)}"
            drift.append(
                Drift(fact="hardware.kind", kind=kind.name, majority=told[:200], nodes=folded(kind.nodes), count=len(kind.nodes),
                      value=kind.hardware.text[:200], of=len(kind.nodes))
            )  # fmt: skip
        else:
            drift += _left(golden, meant, kind, nodes, today)
    named = {name: node for node, kind in ((each.nodes, each) for each in golden.kinds.values()) for name in expanded(node)}
    known = {*nodes.folded, *(each.node for each in nodes.silent)}
    gone = tuple(
        Silent(node=name, why="not contacted, although listed in the golden file") for name in named if name not in known
    )
    ended = tuple(
        Odd(what="waiver", node=each.nodes, why=f"{each.what} ended on {each.until}: {each.reason}"[:300])
        for each in golden.waivers
        if today > each.until
    )
    kind_of = {node: kind.name for kind in kinds for node in kind.nodes}
    judged = {
        node: tuple(each for each in own if not _let_pass(golden, kind_of.get(node, ""), each.rule, node, today))
        for node, own in nodes.judged.items()
    }
    return replace(nodes, judged=judged, silent=(*nodes.silent, *gone), odd=(*nodes.odd, *ended)), drift


def _let_pass(golden: Golden, kind: str, what: str, node: str, today: date) -> bool:
    own = golden.kinds.get(kind)
    return (own is not None and what in own.accepted) or any(each.holds(what, node, today) for each in golden.waivers)


def _left(golden: Golden, meant: GoldenKind, kind: Group, nodes: Nodes, today: date) -> Iterator[Drift]:
    """Yield in what nodes of a kind differ from the golden one; equal parts are looked at once."""
    wanted = dict(facts_of(meant))
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    seen: dict[object, list[tuple[str, str]]] = {}
    for node in kind.nodes:
        parts = nodes.folded[node].parts
        mark = tuple(part.digest for part in parts.values())
        if mark not in seen:
            facts, lists = nodes.folded[node].facts, frozenset().union(*(part.lists for part in parts.values()))
            seen[mark] = [
                (name, now)
                for name, text in wanted.items()
                if (now := _now(name, text, facts, lists)) is not None and not _near(golden, name, now, text)
            ]
            seen[mark] += [(name, "there") for name, fact in facts.items() if fact.key == "there" and name not in wanted]
        for name, now in seen[mark]:
            if not _let_pass(golden, "", name, node, today):
                found[name, now].append(node)
    for (name, text), modules in kind.lacking.items():
        own = [node for node in modules if not _let_pass(golden, "", f"hardware.{name}", node, today)]
        found[f"hardware.{name}", text] += own
    for (name, now), names in found.items():
        if names:
            yield Drift(
                fact=name, kind=kind.name, majority=wanted.get(name, "not there" if now == "there" else meant.hardware[:200]),
                nodes=folded(names), count=len(names), value=now, of=len(kind.nodes),
            )  # fmt: skip


def _now(name: str, text: str, facts: Mapping[str, Any], lists: frozenset[str]) -> str | None:
    """Return what a fact is now; None where nobody could read it."""
    fact = facts.get(name)
    if fact is not None:
        return str(fact.text)
    return (
        "not there"
        if (text == "there" and name.partition(".")[0] in lists) or (name.startswith("boot.") and "boot" in lists)
        else None
    )


def _near(golden: Golden, name: str, now: str, text: str) -> bool:
    """Return whether a fact is as it has to be, amounts within what the file allows."""
    if now == text:
        return True
    one, other = _AMOUNT.fullmatch(now), _AMOUNT.fullmatch(text)
    if not (one and other and one[2] == other[2]):
        return False
    share = next((share for pattern, share in golden.tolerances.items() if fnmatchcase(name, pattern)), "")
    part = _SHARE.fullmatch(share)
    allowed = float(part[1]) / 100 if part else _ALMOST if name.startswith("numa.memory.") else 0.0
    return abs(float(one[1]) - float(other[1])) <= allowed * abs(float(other[1]))


def golden_kinds(golden: Golden, file: Path) -> tuple[tuple[Kind, ...], dict[str, Machine]]:
    """Return the kinds of a golden file, and the machine of each that lies beside it."""
    kinds = tuple(
        Kind(name=name, hardware=kind.hardware, nodes=kind.nodes, count=len(expanded(kind.nodes)))
        for name, kind in golden.kinds.items()
    )
    machines = {}
    for name, kind in golden.kinds.items():
        if kind.machine is None or Path(kind.machine).name != kind.machine:
            raise BadInput(f"kind {name} has no machine file", file=str(file), cure="save it again: advisor fleet golden save")
        machines[name] = read_machine(str(file.parent / kind.machine))
    return kinds, machines


def golden_changes(one: Golden, other: Golden) -> Iterator[dict[str, str]]:
    """Yield what differs between two golden files: kinds, facts, accepted rules, waivers."""
    for name in sorted({*one.kinds, *other.kinds}):
        before, after = (dict(facts_of(each.kinds[name])) if name in each.kinds else None for each in (one, other))
        if before is None or after is None:
            yield {
                "kind": name,
                "what": "kind",
                "before": "there" if before else "not there",
                "after": "there" if after else "not there",
            }
            continue
        a, b = one.kinds[name], other.kinds[name]
        before |= {f"accepted {rule}": "yes" for rule in a.accepted} | {"owner": a.owner, "nodes": a.nodes}
        after |= {f"accepted {rule}": "yes" for rule in b.accepted} | {"owner": b.owner, "nodes": b.nodes}
        for what in sorted({*before, *after}):
            was, now = before.get(what, "not there"), after.get(what, "not there")
            if was != now:
                yield {"kind": name, "what": what, "before": was, "after": now}
    told = [
        {f"waiver {each.what} {each.nodes}": f"until {each.until}: {each.reason}" for each in g.waivers} for g in (one, other)
    ]
    for what in sorted({*told[0], *told[1]}):
        if told[0].get(what) != told[1].get(what):
            yield {"kind": "", "what": what, "before": told[0].get(what, "not there"), "after": told[1].get(what, "not there")}
