"""MPICH and its launcher Hydra: ``-bind-to user:`` lists, or a short form where a model of Hydra gives the same."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from advisor.errors import BadValue
from advisor.jobs.hydra import HYDRA, HYDRA_ALIASES, OBJECTS, alike, any_hyphens, atoi, kin, objects, of_hydra, once
from advisor.jobs.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, Lines, RankVariables
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import LintRank, LintWarning, Placement, Slot
from advisor.jobs.ranks_per_host import (
    FEW,
    LONGEST,
    counted,
    devices_differ,
    filled,
    homeless,
    kinds,
    memory_notes,
    names,
    only_slots,
    passed,
    refuse_colon,
    runs,
)
from advisor.jobs.request import MOST_RANKS, Line, Prediction, Refused, Unclear, Words, hides_l3, warning
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.numbering import distance_groups, logical_numbering, ordered
from advisor.machine.topology import Core, SharedL2, Topology


def hydra_bound(things: Sequence[CpuSet], over: Sequence[CpuSet], count: int) -> Iterator[CpuSet]:
    """Yield what one rank after the other is bound to, without end: ``count`` things, spread over the larger ones in turn.

    Each larger one has its own cursor, and it turns over (``core:4`` of six gives 0-3 and then 4,5,0,1).
    """
    inside = [[thing for thing in things if thing <= large] for large in over]
    turn = 0
    while all(inside):
        for mine in inside:
            yield union(mine[(turn * count + i) % len(mine)] for i in range(count))
        turn += 1


def hydra_forms(topology: Topology, slots: Sequence[Slot]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of bind-to and map-by that put ranks on a node as planned, the shortest first."""
    have = objects(topology)
    good = {name: sets for name, sets in have.items() if alike(sets, topology)}
    for bind in OBJECTS:
        size = len(good[bind][0]) if bind in good else 0
        if not size or len(slots[0].cpus) % size:
            continue
        count = len(slots[0].cpus) // size
        for over in (name for name in OBJECTS if name in good and len(good[name][0]) > size):
            if _follows(hydra_bound(good[bind], good[over], count), slots):
                yield _named(bind, count), over
        chunks = [union(good[bind][i : i + count]) for i in range(0, len(good[bind]) - count + 1, count)]
        if len(chunks) >= len(slots) and _follows(iter(chunks), slots):
            yield _named(bind, count), _named(bind, count)


def shortest(found: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the pair of the largest thing to bind to, spread over itself where that does; None of none.

    Where several places to map by do the same, it is the largest: the same line whatever order they are found in.
    """
    return min(found, key=_rank, default=None)


def _rank(pair: tuple[str, str]) -> tuple[bool, bool, int, int]:
    bind, over = pair
    return ":" in bind, bind != over, -OBJECTS.index(bind.split(":")[0]), -OBJECTS.index(over.split(":")[0])


def _follows(given: Iterator[CpuSet], slots: Sequence[Slot]) -> bool:
    return all(next(given, None) == slot.cpus for slot in slots)


def _named(thing: str, count: int) -> str:
    return thing if count == 1 else f"{thing}:{count}"


NAME = "mpich"


RANKS = RankVariables(rank=("PMI_RANK",), size=("PMI_SIZE",), local=("MPI_LOCALRANKID", "PMI_LOCAL_RANK"))


UNBOUND = ("-bind-to", "none")


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    each = -(-total // max(1, len(hosts)))
    named = ("-hosts", ",".join(hosts), "-ppn", str(each)) if hosts else ()
    return "mpiexec", "-n", str(total), *named, *UNBOUND


LINE = 16_000
"""Characters of a host file's line: Hydra 5.0.2 reads 16,384 at once, and takes the rest for another host (observed)."""


_CROSSES = "the cores, L3 groups or NUMA nodes are not all alike: Hydra counts on and crosses them"


_HOMELESS = Avoided(
    "-bind-to", "some ranks' CPUs are in no NUMA node: Hydra binds memory too, and ends the job ('hwloc_set_membind failed')"
)


_OTHERS = "no -bind-to X:k -map-by Y puts the ranks in this order on these CPUs"


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the mpiexec line: a short form where faithful, else a user: list, per host where hosts differ, else the wrapper."""
    list(runs(placement))
    refuse_colon(wish.command)
    if wish.wrap or devices_differ(placement):
        return _wrapped(placement, wish, ())
    if homeless(placement):
        return _wrapped(placement, wish, (_HOMELESS,))
    short, avoided = (None, ()) if wish.exact else short_form(placement)
    if short:
        words = ("-bind-to", short[0], *(("-map-by", short[1]) if short[0] != short[1] else ()))
        return _line(placement, wish, f"{short[0]} by {short[1]}", words, avoided)
    slots = only_slots(placement)
    if slots is not None:
        listed = f"user:{entries(slots)}"
        if len(listed) <= LONGEST:
            return _line(placement, wish, "user list", ("-bind-to", listed), avoided)
    elif all(len(line) <= LINE for line in _sample(placement)):
        return _line(placement, wish, "user list for each host", (), avoided, lines=lambda: host_lines(placement))
    return _wrapped(
        placement, wish, (*avoided, Avoided("user:", f"a line is longer than the {LINE} characters that Hydra reads"))
    )


def short_form(placement: Placement) -> tuple[tuple[str, str] | None, tuple[Avoided, ...]]:
    """Return bind-to and map-by that are right on every kind of host, and why others were not used."""
    common: set[tuple[str, str]] | None = None
    even = True
    for plan, ranks in kinds(placement).items():
        topology = placement.plans[plan].topology
        even = even and all(alike(sets, topology) for sets in objects(topology).values() if sets)
        found = set(hydra_forms(topology, placement.plans[plan].slots[:ranks]))
        common = found if common is None else common & found
    best = shortest(common or ())
    why = Avoided("-bind-to X:k -map-by Y", _OTHERS if even else _CROSSES)
    return best, () if best else (why,)


def entries(slots: Iterable[Slot]) -> str:
    """Return the list for user: one entry a local rank, in their order.

    It has exactly as many as a host has ranks: Hydra silently leaves ranks without an entry unbound.
    """
    return ",".join(str(slot.cpus).replace(",", "+") for slot in slots)


def host_lines(placement: Placement) -> Iterator[str]:
    """Yield a host file's lines with the binding of each host."""
    listed: dict[tuple[int, int], str] = {}
    for run in runs(placement):
        if run.kind not in listed:
            listed[run.kind] = entries(run.slots)
        for host in run.hosts:
            yield f"{host.name}:{run.ranks} binding=user:{listed[run.kind]}"


def _sample(placement: Placement) -> Iterator[str]:
    """Yield the longest line that each kind of host can have."""
    for plan, ranks in kinds(placement).items():
        yield f"{'n' * 255}:{ranks} binding=user:{entries(placement.plans[plan].slots[:ranks])}"


def where(placement: Placement, wish: LaunchRequest) -> tuple[tuple[str, ...], dict[str, Lines]]:
    """Return the words and the file that name the hosts: none inside a job that has them, a file for many."""
    named, each = names(placement), filled(placement)
    if not named:
        return (), {}
    if wish.scheduler and each:
        return ("-ppn", str(each)), {}
    if len(named) <= FEW:
        return ("-hosts", ",".join(counted(placement))), {}
    return ("-f", "hostfile"), {"hostfile": lambda: counted(placement)}


def _line(
    placement: Placement,
    wish: LaunchRequest,
    form: str,
    words: Sequence[str],
    avoided: tuple[Avoided, ...],
    *,
    lines: Lines | None = None,
) -> Launch:
    hosts, files = (("-f", "hostfile"), {"hostfile": lines}) if lines else where(placement, wish)
    environment = {"HYDRA_TOPO_DEBUG": "1"} if wish.report else {}
    variables = passed(wish.environment, "-genv")
    argv = ("mpiexec", *hosts, "-n", str(placement.size), *variables, *words, *wish.command)
    return Launch(NAME, wish.version, form, argv, environment, files, avoided, memory_notes(placement))


def _wrapped(placement: Placement, wish: LaunchRequest, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files = where(placement, wish)
    variables = passed(wish.environment, "-genv")
    argv = ("mpiexec", *hosts, "-n", str(placement.size), *variables, "-bind-to", "none", *wrapper.wrapped(wish.command))
    return Launch(NAME, wish.version, "wrapper", argv, {}, {**files, **wrapper.files(placement)}, avoided, wrapper.NOTES)


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


def claim(words: Words, tools: frozenset[str]) -> int:
    """Return how surely a line is MPICH's: by its program, by Hydra's words, by what is on the machine."""
    return 7 if words.launcher.endswith("mpich") else 5 if kin(words) else 2 if "mpich" in tools else 0


_FOREIGN = frozenset(
    {"-perhost", "-rr", "-nolocal", "-umask", "-s", "-tmpdir", "-path", "-wd", "-print-rank-map", "-timeout"}
    | {"-silent-abort", "-prepend-timestamp", "-prot", "-grr"}
)
"""Options of other Hydras that MPICH's mpiexec 4 and 5 end at: "unrecognized argument"."""


_ONCE = (
    *(("-bind-to",), ("-map-by",), ("-membind",), ("-launcher",), ("-usize",), ("-iface",), ("-demux",), ("-nameserver",)),
    *(("-prepend-rank", "-prepend-pattern"), ("-outfile-pattern",), ("-errfile-pattern",), ("-memory-alloc-kinds",)),
    *(("-genvall", "-genvnone", "-genvlist"), ("-pmi-port",)),
)
"""Options of which a line takes one: "duplicate setting" (5.0.2, observed)."""


_ONCE_EACH = (("-wdir",), ("-envall", "-envnone", "-envlist"))
"""Options of which each program of a line takes one."""


_EITHER = tuple((f"-enable-{name}", f"-disable-{name}") for name in ("x", "auto-cleanup", "hostname-propagation"))
"""Options that may be said again, but not beside the other."""


_UNREAD = ("HYDRA_CONFIG_FILE", "HYDRA_RMK", "HYDRA_TOPOLIB")


_ELSEWHERE = {
    "-configfile": "the options stand in a file that is not read",
    "-order-nodes": "the hosts are sorted by their slots",
    "-skip-launch-node": "which host the line is started on, is not known",
    "-rmk": "the hosts come from a resource manager",
    "-topolib": "another topology library is asked for",
    "-pmi_args": "mpiexec is started by a rank",
    "-localhost": "what this host is called, changes what is started on it",
    "-gpus-per-proc": "nothing starts on hosts without such GPUs",
    "-gpu-subdevs-per-proc": "nothing starts on hosts without such GPUs",
    "-hybrid-hosts": "where the daemon lies on each host, is not known",
}


@dataclass(frozen=True)
class HostSlots:
    """A host of the line: the same name twice, not in a row, is two of them."""

    name: str | None
    slots: int
    binding: str | None = None


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of MPICH's; raise Refused or Unclear."""
    line = made.line
    _odd(line)
    nodes = host_slots(made)
    each = _number(line, "-ppn")
    if each is not None and each != -1:
        nodes = [replace(node, slots=each) for node in nodes]
    total = _total(line, nodes)
    order = _order(line, nodes, total)
    variables = line.words.environment
    bind, over, membind = (_said(line, option) for option in ("-bind-to", "-map-by", "-membind"))
    if nodes[0].name is not None and bind is None and "HYDRA_BINDING" in variables:
        raise Unclear("whether HYDRA_BINDING reaches the other hosts, depends on how daemons are started there")
    bind = bind if bind is not None else variables.get("HYDRA_BINDING")
    over = over if over is not None else variables.get("HYDRA_MAPPING")
    membind = membind if membind is not None else variables.get("HYDRA_MEMBIND")
    counts = Counter(order)
    cache: dict[tuple[str | None, int], Bound] = {}
    local = [0] * len(nodes)
    found: list[LintRank] = []
    for rank, position in enumerate(order):
        node = nodes[position]
        key = (node.binding or bind, counts[position])
        if key not in cache:
            cache[key] = _bound(made, key[0], over, membind, counts[position])
        found.append(LintRank(rank=rank, host=node.name, cpus=cache[key][local[position]]))
        local[position] += 1
    return tuple(found)


def _bound(made: Prediction, bind: str | None, over: str | None, membind: str | None, count: int) -> Bound:
    """Return what ranks of a host are bound to; what 5.0.2 refuses, ones before 4.0 bound in a way of their own."""
    try:
        return bound(bind, over, membind, made.topology, count)
    except Refused as refusal:
        if made.line.release is None or made.line.release < (4, 0, 0):
            raise Unclear(f"MPICH 5.0.2 says: {refusal}; older ones bound ranks there, and how is not known") from refusal
        raise


def _odd(line: Line) -> None:
    """Refuse or leave alone what Hydra would end at, or what makes its hosts unknown."""
    young = line.release is None or line.release >= (4, 0, 0)
    for said in line.options:
        name = "-" + said.written[0].lstrip("-").partition("=")[0].lower()
        if not said.known or (name in _FOREIGN and young):
            raise Refused(f"unrecognized argument {said.written[0][:40]}")
        if said.name in _ELSEWHERE:
            raise Unclear(f"{_ELSEWHERE[said.name]} ({said.name})")
    if not all(segment.command for segment in line.segments):
        raise Refused("no executable provided")
    once(line, _ONCE, _ONCE_EACH)
    names = {said.name for said in line.options}
    if both := next((pair for pair in _EITHER if names.issuperset(pair)), None):
        raise Refused(f"duplicate setting: {both[0]}")
    if unread := next((name for name in _UNREAD if name in line.words.environment), None):
        raise Unclear(f"{unread} is set: what it brings is not known")
    if line.release is not None and line.release < (3, 1, 0):
        raise Unclear("MPICH before 3.1 bound in another way")


def _said(line: Line, option: str) -> str | None:
    return next((said.values[-1] for said in line.options if said.name == option and said.values), None)


def _number(line: Line, option: str) -> int | None:
    """Return the number that an option gives; raise Refused where it is given twice and differs."""
    found = {atoi(said.values[-1]) for said in line.options if said.name == option and said.values}
    if len(found - {-1}) > 1:
        raise Refused(f"duplicate setting: {option.lstrip('-')}")
    return next(iter(found - {-1}), None)


def host_slots(made: Prediction) -> list[HostSlots]:
    """Return the hosts of a line in their order; one without a name where it has none."""
    options = [said for said in made.line.options if said.name in ("-f", "-hosts", "-host")]
    if len(options) > 1:
        raise Refused("duplicate host file or host list setting")
    file = made.line.words.environment.get("HYDRA_HOST_FILE") if not options else None
    if options and options[0].name == "-f":
        file = options[0].values[-1]
    if file is not None:
        if file not in made.files:
            raise Unclear(f"the host file {file[:80]} was not read")
        return list(_merged(_rows(made.files[file])))
    if not options:
        return [HostSlots(None, 1)]
    words = [word for word in options[0].values[-1].split(",") if word][: MOST_RANKS + 1]
    if not words:
        raise Refused("the list of hosts is empty")
    return list(_merged(HostSlots(*_host_and_slots(word)) for word in words))


def _host_and_slots(word: str) -> tuple[str, int]:
    parts = [part for part in word.split(":") if part]
    if not parts:
        raise Refused(f"{word[:40]!a} has no host")
    return parts[0], max(0, atoi(parts[1])) if len(parts) > 1 else 1


def _rows(text: str) -> Iterator[HostSlots]:
    """Yield the hosts of a host file: ``name:slots binding=... user=...``; lines that begin with # are comments."""
    rows = [row.strip() for row in text.splitlines()[: MOST_RANKS + 1]]
    for row in rows:
        if not row or row.startswith("#"):
            continue
        name, *tokens = row.split()
        settings = dict(token.partition("=")[::2] for token in tokens)
        if other := next((token for token in settings if token not in ("binding", "user")), None):
            raise Refused(f"token {other[:40]} of the host file is not supported")
        if len(settings) < len(tokens):
            raise Refused("duplicate local binding setting")
        yield HostSlots(*_host_and_slots(name), settings.get("binding"))


def _merged(hosts: Iterator[HostSlots]) -> Iterator[HostSlots]:
    """Yield the hosts, those of one name in a row as one."""
    last: HostSlots | None = None
    for host in hosts:
        if last and last.name == host.name:
            if host.binding and last.binding:
                raise Refused("duplicate local binding setting")
            last = replace(last, slots=last.slots + host.slots, binding=last.binding or host.binding)
            continue
        if last:
            yield last
        last = host
    if last is None:
        raise Unclear("the host file has no host")
    yield last


def _total(line: Line, nodes: Sequence[HostSlots]) -> int:
    total = 0
    for segment in line.segments:
        numbers = {atoi(said.values[-1]) for said in segment.options if said.name == "-n" and said.values}
        if len(numbers - {-1}) > 1:
            raise Refused("duplicate setting: n")
        number = max(numbers, default=0)
        total += number if number > 0 else sum(node.slots for node in nodes)
    if total > MOST_RANKS:
        raise Unclear(f"{total} ranks are more than the {MOST_RANKS} that are worked out one by one")
    if any(node.slots <= 0 for node in nodes):
        raise Refused("a host has no slot, and mpiexec dies")
    return total


def _order(line: Line, nodes: Sequence[HostSlots], total: int) -> list[int]:
    """Return each rank's host by its position: slots of the hosts in turn, from the first again, or a -rankmap."""
    text = _said(line, "-rankmap")
    turn = list(_rankmap(text, len(nodes))) if text is not None else list(_slots(nodes, total))
    if not turn:
        raise Unclear("a -rankmap without a host")
    return [turn[rank % len(turn)] for rank in range(total)]


def _slots(nodes: Sequence[HostSlots], total: int) -> Iterator[int]:
    for position, node in enumerate(nodes):
        for _ in range(min(node.slots, total)):
            yield position


_BLOCK = re.compile(r"\((\d{1,6}),(\d{1,6}),(\d{1,6})\)|(\d{1,6})", re.ASCII)


def _rankmap(text: str, count: int) -> Iterator[int]:
    """Yield the positions of a -rankmap: ``0,1,1,0`` or blocks of first host, hosts, ranks of each."""
    body = re.fullmatch(r"\(vector,(.*)\)", text)
    words = body[1] if body else text
    if not re.fullmatch(rf"(?:{_BLOCK.pattern})(?:,(?:{_BLOCK.pattern}))*", words, re.ASCII):
        raise Unclear(f"-rankmap {text[:60]} is not understood")
    made = 0
    for match in _BLOCK.finditer(words):
        first, hosts, each = (int(match[i]) for i in (1, 2, 3)) if match[1] else (int(match[4]), 1, 1)
        if first + hosts > count:
            raise Unclear(f"-rankmap names host {first + hosts - 1}, and there are {count}")
        for host in range(first, first + hosts):
            for _ in range(min(each, MOST_RANKS)):
                made += 1
                if made > MOST_RANKS:
                    return
                yield host


def user_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about Hydra's lists."""
    bind = case.want.bind or ""
    count = len(case.here)
    open_ends = sum(cpus is None for cpus in case.here)
    if bind.startswith("user:") and open_ends and not case.line.inner:
        why = "Hydra leaves ranks without an entry unbound, silently."
        yield warning(
            "user-list-short",
            f"{open_ends} of {count} ranks on a node are not bound",
            why,
            f"{count - open_ends} entries in {bind[:60]}",
            f"{count} entries",
            bad=True,
        )


LINES = Dialect(
    programs=("mpiexec", "mpirun"),
    options=HYDRA,
    aliases=HYDRA_ALIASES,
    ranks=ranks,
    request=of_hydra,
    claim=claim,
    lists=user_lists,
    spellings=any_hyphens,
    equals=True,
    binds=False,
)


LAUNCHER = Launcher(
    name=NAME,
    title="MPICH",
    order=30,
    launch=launch,
    aliases=("hydra", "mpiexec.hydra"),
    tools=("mpich",),
    variables=("HYDRA_",),
    ranks=RANKS,
    without_binding=UNBOUND,
    dialect=LINES,
    unbound_line=unbound,
)
