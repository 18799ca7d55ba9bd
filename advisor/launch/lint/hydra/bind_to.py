"""What ``-bind-to`` and ``-map-by`` of MPICH's Hydra make of a node, rank by rank.

Written from what 5.0.2 was seen to do on simulated machines (tests/launch/lint/test_hydra.py), and from its topo_hwloc.c.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from advisor.errors import BadValue
from advisor.launch.lint.outcome import Refused, Unclear, hides_l3
from advisor.model.cpuset import LIMIT, CpuSet, union
from advisor.model.hardware.numbering import distance_groups, logical_numbering, ordered
from advisor.model.hardware.topology import Core, SharedL2, Topology

if TYPE_CHECKING:
    from advisor.launch.lint.command_line import Words

Bound = tuple[CpuSet | None, ...]
"""The CPUs of the local ranks; None: not bound."""

_LARGEST = 1 << 20
"""Counts from here on overflow the launcher's integers, or keep it busy for minutes."""

_DEVICES = re.compile(r"pci:|gpu|ib|hfi|hsn|eth|en")
_ICACHE = re.compile(r"l[123]icache")
_NOT_KEPT = re.compile(r"l[45][du]?cache")
_NAMES = {"socket": "package", "package": "package", "numa": "numa", "numanode": "numa", "die": "die", "machine": "machine"}
_NAMES |= {"core": "core", "hwthread": "hwthread"}
_NAMES |= {f"l{level}{kind}cache": f"l{level}cache" for level in (1, 2, 3) for kind in ("", "d", "u")}


def atoi(text: str) -> int:
    """Return the number that a text begins with, as C reads it: 0 where it begins with none."""
    match = re.match(r"\s*([+-]?\d{1,18})", text, re.ASCII)
    return int(match[1]) if match else 0


@dataclass(frozen=True)
class Node:
    """A node as Hydra's hwloc shows it: what a cgroup hides is gone."""

    topology: Topology

    @cached_property
    def pus(self) -> tuple[int, ...]:
        """The hardware threads in hwloc's order."""
        return tuple(cpu for cpu in logical_numbering(self.topology).pus if cpu in self.topology.inside.pus)

    @cached_property
    def _place(self) -> Mapping[int, int]:
        return {cpu: place for place, cpu in enumerate(self.pus)}

    def threads(self, cpus: CpuSet) -> list[int]:
        """Return the hardware threads of a set in hwloc's order."""
        return sorted(cpus, key=lambda cpu: self._place[cpu])

    @cached_property
    def parts(self) -> tuple[CpuSet, ...]:
        """The CPUs of everything in hwloc's tree, the smallest first."""
        inside = self.topology.inside
        groups = (inside.packages, inside.dies, inside.l3, inside.shared_l2, inside.cores)
        found = {part.cpuset for group in groups for part in group} | {node.near for node in inside.nodes}
        found |= {*distance_groups(inside), inside.pus, *(CpuSet([cpu]) for cpu in self.pus)}
        return tuple(sorted((part & inside.pus for part in found if part & inside.pus), key=len))

    def covering(self, cpus: CpuSet) -> CpuSet:
        """Return the CPUs of the smallest thing that holds some CPUs."""
        return next((part for part in self.parts if cpus <= part), self.topology.inside.pus)

    def objects(self, name: str) -> tuple[CpuSet, ...]:
        """Return the CPUs of all objects of a kind in hwloc's order; raise Refused or Unclear."""
        kind, inside = _NAMES.get(name), self.topology.inside
        if kind is None:
            raise Refused(f"unrecognized directive {name[:40]!a}")
        if kind == "machine":
            return (inside.pus,)
        if kind == "hwthread":
            return tuple(CpuSet([cpu]) for cpu in self.pus)
        found = [part.cpuset & inside.pus for part in self._kind(kind)] if kind != "numa" else self._nodes()
        if kind in ("package", "die") and len(found) < len(self.topology.packages if kind == "package" else self.topology.dies):
            raise Unclear(f"a {name} without CPUs that may be used is counted where devices hang on it")
        if not found:
            if kind == "l3cache" and hides_l3(inside):
                raise Unclear("whether the memory-side cache of this machine is shown as an L3 is not known")
            raise Refused(f"hardware object not found: this machine shows no {name}")
        if not all(found):
            raise Unclear(f"some {name} of this machine has no CPU that may be used")
        return tuple(dict.fromkeys(ordered(found, logical_numbering(self.topology))))

    def _kind(self, kind: str) -> Sequence:  # type: ignore[type-arg]  # parts with a cpuset, of any kind
        inside = self.topology.inside
        if kind in ("l1cache", "l2cache"):
            return self._private(kind)
        return {"package": inside.packages, "die": inside.dies, "core": inside.cores, "l3cache": inside.l3}[kind]

    def _private(self, kind: str) -> Sequence[SharedL2 | Core]:
        inside = self.topology.inside
        if kind == "l2cache" and union(part.cpuset for part in inside.shared_l2) == inside.pus:
            return inside.shared_l2
        if int(kind[1]) in inside.own_caches:
            return inside.cores
        raise Unclear(f"whether each core shows an {kind[:2].upper()} cache of its own, is not kept")

    def _nodes(self) -> list[CpuSet]:
        """Return the CPUs near each NUMA node, those with the same CPUs once."""
        inside = self.topology.inside
        near = list(dict.fromkeys(node.near & inside.pus for node in inside.nodes))
        if not self.topology.numa_known:
            return [inside.pus]
        if any(a & b for i, a in enumerate(near) for b in near[:i]):
            raise Unclear("some NUMA node lies around others, and the order that Hydra counts them in is not known")
        return near

    def check(self, cpus: CpuSet) -> CpuSet:
        """Return what the kernel makes of a binding; raise Refused where it or hwloc does not bind so."""
        inside = self.topology.inside
        if not cpus <= self.topology.pus | self.topology.missing or not cpus & inside.pus:
            raise Refused(f"hwloc_set_cpubind failed: CPUs {str(cpus)[:60] or 'none'} are not all on this machine")
        if self.topology.numa_known and not any(node.near & cpus for node in inside.nodes):
            raise Refused(f"hwloc_set_membind failed: CPUs {str(cpus)[:60]} are in no NUMA node")
        return cpus & inside.pus


def bound(bind: str | None, over: str | None, membind: str | None, topology: Topology, count: int) -> Bound:
    """Return the CPUs of so many local ranks; raise Refused or Unclear."""
    if bind is None or bind == "none":
        return (None,) * count
    node = Node(topology)
    if bind.startswith("user:"):
        listed = _user(bind[5:], count)
        return (*(node.check(cpus) for cpus in listed[:count]), *(None,) * (count - len(listed)))
    if bind == "rr":
        return tuple(node.check(CpuSet([rank % len(node.pus)])) for rank in range(count))
    made = list(_bitmaps(node, bind, over if over is not None else bind, count))
    if membind is not None and not membind.startswith(("firsttouch", "nexttouch", "bind:", "interleave:")):
        raise Refused(f"unrecognized membind policy {membind[:40]!a}")
    if membind is not None and not membind.startswith(("bind:", "interleave:")):
        raise Unclear(f"whether memory can be bound by {membind[:40]}, depends on the kernel")
    return tuple(node.check(made[rank % len(made)]) for rank in range(count))


def _user(text: str, count: int) -> list[CpuSet]:
    """Return the entries of a user: list: ``0-3``, ``0+2``, and ``1x3`` for three times the same."""
    found: list[CpuSet] = []
    for entry in text.split(",")[: count + 1]:
        cpus, times, number = entry.partition("x")
        copies = atoi(number) if times else 1
        if not 0 < copies < _LARGEST or "x" in number:
            raise Unclear(f"what Hydra makes of {entry[:40]!a} is not known")
        found += [_entry(cpus)] * min(copies, count)
    return found


def _entry(text: str) -> CpuSet:
    """Return the CPUs of one entry; what is no number ends it."""
    cpus: list[CpuSet] = []
    at = 0
    while match := re.compile(r"(\d+)(?:(-)(\d*))?(\+?)", re.ASCII).match(text, at):
        first, last = int(match[1][:9]), int((match[3] or "0")[:9]) if match[2] else int(match[1][:9])
        if match[2] and last < first:
            last = first
        if last >= LIMIT:
            raise Refused(f"hwloc_set_cpubind failed: there is no CPU {last}")
        try:
            cpus.append(CpuSet.span(first, last))
        except BadValue as error:
            raise Refused(f"hwloc_set_cpubind failed: {error.problem}") from error
        at = match.end()
    return union(cpus)


@dataclass(frozen=True)
class _Request:
    """One of both options: which objects, and how many of them together."""

    text: str
    objects: tuple[CpuSet, ...]
    count: int


def _request(node: Node, text: str) -> _Request:
    parts = [part for part in text.split(":") if part]
    if not parts:
        raise Refused("the empty word is not an object")
    if _DEVICES.match(text):
        raise Unclear(f"where the devices {text[:40]} are in hwloc's tree, is not kept")
    if _ICACHE.fullmatch(parts[0]):
        raise Refused(f"hardware object not found: Hydra's hwloc shows no {parts[0]}")
    if _NOT_KEPT.fullmatch(parts[0]):
        raise Unclear(f"whether this machine shows an {parts[0]}, is not kept")
    count = atoi(parts[1]) if len(parts) > 1 else 1
    objects = node.objects(parts[0])
    if count >= _LARGEST:
        raise Unclear(f"what Hydra makes of {count} objects together is not known")
    if count <= 0:
        raise Refused(f"{text[:40]} asks for {count} objects, and its proxy dies")
    return _Request(text, objects, count)


def _bitmaps(node: Node, bind: str, over: str, most: int) -> Iterator[CpuSet]:
    """Yield the bindings in the order in which local ranks get them, at most so many; after the last comes the first."""
    if _DEVICES.match(over) and not _DEVICES.match(bind):
        raise Refused(f"-bind-to {bind[:40]} does not support -map-by {over[:40]}, which is a device")
    things, homes = _request(node, bind), _request(node, over)
    total = len(node.pus)
    home_size = total // len(homes.objects) * homes.count
    size = total // len(things.objects) * things.count
    if home_size > total:
        raise Refused(f"mapping option {over[:40]} is larger than the whole node")
    if size == 0 or home_size == 0:
        raise Unclear(f"this machine has more {bind[:40]} than CPUs")
    domains = list(_domains(node, homes))
    small = size < home_size
    number = len(domains)
    if small:
        rounds = next(i for i in range(1, size + 1) if i * home_size % size == 0)
        number = rounds * home_size * len(domains) // size
    walk = _Walk(node, things, small=small)
    for i in range(min(number, most)):
        yield walk.take(domains[i % len(domains)], i // len(domains) * size if small else 0)


def _domains(node: Node, homes: _Request) -> Iterator[tuple[CpuSet, int]]:
    """Yield the CPUs of each map domain, and its first thread."""
    objects, count = homes.objects, homes.count
    rounds = next(i for i in range(1, count + 1) if i * len(objects) % count == 0)
    for i in range(rounds * len(objects) // count):
        members = [objects[(i * count + j) % len(objects)] for j in range(count)]
        yield union(members), node.threads(members[0])[0]


class _Walk:
    """The objects to bind to, taken one after the other."""

    def __init__(self, node: Node, things: _Request, *, small: bool) -> None:
        self._node, self._things, self._small = node, things, small
        self._first: dict[int, int] = {}
        for position, thing in enumerate(things.objects):
            for cpu in thing:
                self._first.setdefault(cpu, position)
        self._last: CpuSet | None = None
        self._threads: dict[CpuSet, tuple[list[int], dict[int, int]]] = {}
        self._inside: dict[CpuSet, list[int]] = {}

    def take(self, domain: tuple[CpuSet, int], passed: int) -> CpuSet:
        """Return the binding that starts so many threads after the domain's first one."""
        cpus, start = domain
        if passed:
            start = self._after(cpus, start, passed)
        at = self._first.get(start, 0)
        thing = self._things.objects[at] if start in self._first else self._last
        if thing is None:
            raise Refused(f"CPU {start} is in no {self._things.text[:40]}, and its proxy dies")
        objects, found = self._things.objects, thing
        for _ in range(min(self._things.count, len(objects))):
            found |= thing
            following = self._next(at, cpus) if self._small else (at + 1) % len(objects)
            if following is not None:
                at, thing = following, objects[following]
        self._last = thing
        return found

    def _after(self, domain: CpuSet, start: int, passed: int) -> int:
        """Return the thread of a domain so many after another one; after the last comes the first."""
        if domain not in self._threads:
            threads = self._node.threads(domain)
            self._threads[domain] = threads, {cpu: position for position, cpu in enumerate(threads)}
        threads, places = self._threads[domain]
        return threads[(places[start] + passed) % len(threads)]

    def _next(self, at: int, domain: CpuSet) -> int | None:
        """Return the next object that lies in what covers the domain, None where no other does."""
        if domain not in self._inside:
            cover = self._node.covering(domain)
            self._inside[domain] = [i for i, thing in enumerate(self._things.objects) if thing <= cover]
        return min((i for i in self._inside[domain] if i != at), key=lambda i: (i < at, i), default=None)


_COUNTED = re.compile(r"-bind-to \S*user:|-(?:bind-to|map-by) (?:core|hwthread|socket|numa|l[1-3]cache):\d", re.ASCII)
"""An object and a count: Hydra's alone."""
_OWN = frozenset({"-genv", "-ppn", "-perhost", "-hosts", "-genvall", "-env", "-f", "-launcher", "-bootstrap", "-rankmap"})


def kin(words: "Words") -> bool:
    """Whether a line has words that Hydra alone takes."""
    text = " ".join((*words.environment, *words.rest))
    return words.launcher.endswith("hydra") or bool(_OWN & set(words.rest)) or bool(_COUNTED.search(text))


def claim(words: "Words", tools: frozenset[str]) -> int:
    """Return how surely a line is MPICH's: by its program, by Hydra's words, by what is on the machine."""
    return 7 if words.launcher.endswith("mpich") else 5 if kin(words) else 2 if "mpich" in tools else 0
