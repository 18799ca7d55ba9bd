"""Intel MPI: ``I_MPI_PIN_DOMAIN``, one mask of the kernel's CPU numbers a local rank, or a domain's name where faithful."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby, pairwise, zip_longest

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import Avoided, Launch, Launcher, LaunchRequest, Lines
from advisor.jobs.launchers import mpich, wrapper
from advisor.jobs.launchers.mpich import alike, atoi, kin, objects, said_once
from advisor.jobs.memory_binding import OF_MCDRAM, hbw_memory, hbw_policy
from advisor.jobs.placement import (
    FEW,
    LintRank,
    LintWarning,
    Placement,
    Run,
    Slot,
    counted,
    filled,
    kinds,
    memory_notes,
    names,
    passed,
    refuse_colon,
    runs,
)
from advisor.jobs.request import MOST_RANKS, Given, Line, Prediction, Refused, Unclear, Words, ranks_here, seated, warning
from advisor.jobs.scripts.expansion import words
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.layout import distance_groups, logical_numbering, ordered
from advisor.machine.topology import Topology

NAME = "intelmpi"


MASKS = 112
"""Masks that a list may hold: 2021.18 writes past an array from 115 on and dies ("stack smashing detected", observed)."""


Pins = Mapping[str, str]


UNBOUND = ("-genv", "I_MPI_PIN", "0")


SEGMENTS, LONG = 16, 60_000
"""Segments of a command line, and characters of its masks; more go into a file (-configfile)."""


DOMAINS = {"cache3": "l3cache", "numa": "numa", "socket": "socket", "core": "core"}
"""Names of I_MPI_PIN_DOMAIN that were observed to be what they say, and hydra.objects' names for them."""


Segments = list[tuple[int, dict[str, str]]]
"""How many ranks in a row, and the variables that pin them."""


_SIZES = Avoided(
    "I_MPI_PIN_DOMAIN=N:compact",
    "Intel MPI 2021.18 makes the domains larger than N when there are few ranks (4 ranks of 4 CPUs: 16 each)",
)


_ORDER = Avoided("I_MPI_PIN_ORDER=scatter|spread", "Intel MPI 2021.18 binds each rank to only one core of its domain")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the mpiexec.hydra line: a domain's name where faithful, else lists for each kind of host, else the wrapper."""
    grouped = list(runs(placement))
    refuse_colon(wish.command)
    if each_rank.wants_wrapper(placement, wish):
        return _wrapped(placement, wish, ())
    policy = hbw_policy(placement)
    if policy:
        made = _pinned(placement, replace(wish, environment={**wish.environment, "I_MPI_HBW_POLICY": policy}), grouped)
        return made if made.form == "wrapper" else replace(made, notes=(*made.notes, OF_MCDRAM), memory=True)
    return _pinned(placement, wish, grouped)


def _pinned(placement: Placement, wish: LaunchRequest, grouped: Sequence[Run]) -> Launch:
    domain = None if wish.exact else short_form(placement, wish)
    if domain:
        pins = {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": domain, "I_MPI_PIN_ORDER": "compact"}
        return _line(placement, wish, f"domain {domain}", [(placement.size, pins)], (_SIZES, _ORDER))
    why = "some parts of the nodes differ, or no domain matches the plan's CPUs and order"
    avoided = () if wish.exact else (Avoided("I_MPI_PIN_DOMAIN=numa|cache3|socket|core|omp", why), _SIZES)
    if any(run.ranks > MASKS and not _single(run.slots) for run in grouped):
        return _wrapped(
            placement, wish, (*avoided, Avoided("mask list", f"Intel MPI crashes with more than {MASKS} masks per host"))
        )
    lists = {run.kind: listed(run) for run in {run.kind: run for run in grouped}.values()}
    segments = _joined([(run.ranks * len(run.hosts), lists[run.kind], run.ranks) for run in grouped])
    form = "processor list" if any("I_MPI_PIN_PROCESSOR_LIST" in pins for _, pins in segments) else "domain masks"
    return _line(placement, wish, form, segments, avoided)


def _joined(parts: list[tuple[int, dict[str, str], int]]) -> Segments:
    """Return the segments, those in a row joined that have the same list for hosts with as many ranks."""
    grouped = groupby(parts, key=lambda part: part[1:])
    return [(sum(number for number, *_ in same), pins) for (pins, _), same in grouped]


def listed(run: Run) -> dict[str, str]:
    """Return the variables with exactly one entry a local rank: of more, Intel MPI silently makes something else."""
    if run.ranks > MASKS:
        return {"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": ",".join(str(slot.cpus) for slot in run.slots)}
    # The 0x is needed: without it the list is not understood, and silently not used.
    return {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": f"[{','.join(hex(slot.cpus.bits) for slot in run.slots)}]"}


def _single(slots: Sequence[Slot]) -> bool:
    """Whether each rank has one CPU and no two the same: a list of processors is read as a set otherwise."""
    cpus = [slot.cpus for slot in slots]
    return all(len(each) == 1 for each in cpus) and len(set(cpus)) == len(cpus)


def short_form(placement: Placement, wish: LaunchRequest) -> str | None:
    """Return the domain's name that is right on every kind of host, None where there is none."""
    good: set[str] | None = None
    for plan, ranks in kinds(placement).items():
        found = set(domains(placement.plans[plan].topology, placement.plans[plan].slots[:ranks], wish))
        good = found if good is None else good & found
    return min(good, key=[*DOMAINS, "omp"].index) if good else None


def domains(topology: Topology, slots: Sequence[Slot], wish: LaunchRequest) -> Iterator[str]:
    """Yield the domains whose first ones, in compact order, are those of the plan."""
    have = objects(topology)
    cpus = [slot.cpus for slot in slots]
    for name, kind in DOMAINS.items():
        if alike(have[kind], topology) and cpus == list(have[kind][: len(cpus)]):
            yield name
    threads = wish.environment.get("OMP_NUM_THREADS", "")
    if threads.isascii() and threads.isdigit() and all(alike(sets, topology) for sets in have.values() if sets):
        pus = packed(topology, int(threads))
        if cpus == pus[: len(cpus)]:
            yield "omp"


def packed(topology: Topology, size: int) -> list[CpuSet]:
    """Return so many neighbouring hardware threads, again and again."""
    pus = logical_numbering(topology).pus
    return [CpuSet(pus[i : i + size]) for i in range(0, len(pus) - size + 1, size)] if size else []


Where = tuple[tuple[str, ...], dict[str, Lines], dict[str, str]]


def where(placement: Placement, wish: LaunchRequest, *, listed: bool = False) -> Where:
    """Return the words, the file and the variables that name the hosts; ``listed``: one by one, in a file."""
    named, each = names(placement), filled(placement)
    if not named:
        return (), {}, {}
    # Under a scheduler Intel MPI counts its slots and neither -ppn nor a host file, unless told so.
    environment = {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"} if wish.scheduler else {}
    if each and not listed and (wish.scheduler or len(named) <= FEW):
        return (() if wish.scheduler else ("-hosts", ",".join(named))) + ("-ppn", str(each)), {}, environment
    return ("-machinefile", "hostfile"), {"hostfile": lambda: counted(placement)}, environment


def _line(placement: Placement, wish: LaunchRequest, form: str, segments: Segments, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish, listed=len(segments) > 1)
    environment |= {"I_MPI_DEBUG": "4"} if wish.report else {}
    everywhere, command = tuple(passed(wish.environment, "-genv")), each_rank.command(wish, NAME)
    if len(segments) == 1:
        pinning = tuple(passed(segments[0][1], "-genv"))
        argv = ("mpiexec.hydra", *hosts, *everywhere, *pinning, "-n", str(placement.size), *command)
        return Launch(NAME, wish.version, form, argv, environment, files, avoided, memory_notes(placement))
    if len(segments) > SEGMENTS or sum(len(value) for _, pins in segments for value in pins.values()) > LONG:
        return _configured(placement, wish, form, segments, avoided)
    words: list[str] = []
    for number, pins in segments:
        words += [":"] if words else []
        words += ["-n", str(number), *passed(pins, "-env"), *command]
    argv = ("mpiexec.hydra", *hosts, *everywhere, *words)
    return Launch(NAME, wish.version, f"{form} for each host", argv, environment, files, avoided, memory_notes(placement))


def _configured(
    placement: Placement,
    wish: LaunchRequest,
    form: str,
    segments: Segments,
    avoided: tuple[Avoided, ...],
) -> Launch:
    _, files, environment = where(placement, wish, listed=True)
    environment |= {"I_MPI_DEBUG": "4"} if wish.report else {}
    quoted = (*each_rank.command(wish, NAME), *wish.environment.values())
    if any(not re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII) for word in quoted):
        return _wrapped(
            placement, wish, (*avoided, Avoided("-configfile", "the command needs quoting, which Intel MPI does not document"))
        )

    def lines() -> Iterator[str]:
        first = "-machinefile hostfile "
        for number, pins in segments:
            words = ["-n", str(number), *passed(wish.environment, "-env"), *passed(pins, "-env"), *wish.command]
            yield first + " ".join(words)
            first = ""

    files["segments"] = lines
    argv = ("mpiexec.hydra", "-configfile", "segments")
    return Launch(NAME, wish.version, f"{form} in a file", argv, environment, files, avoided, memory_notes(placement))


def _wrapped(placement: Placement, wish: LaunchRequest, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish)
    variables = passed({**wish.environment, "I_MPI_PIN": "0"}, "-genv")
    argv = ("mpiexec.hydra", *hosts, *variables, "-n", str(placement.size), *wrapper.wrapped(wish.command))
    return Launch(NAME, wish.version, "wrapper", argv, environment, {**files, **wrapper.files(placement)}, avoided, wrapper.NOTES)


_LEVELS = ("socket", "numa", "cache3", "core", "pu")
"""What Intel MPI divides a machine by, the largest first."""

_APART = frozenset({"scatter", "spread"})
"""Orders that keep ranks apart."""


@dataclass(frozen=True)
class Tree:
    """A machine in the levels that Intel MPI goes by: sockets, NUMA nodes, L3 groups, cores, hardware threads."""

    topology: Topology
    clusters: bool = False
    """Whether hwloc may show clusters of cores: its Groups, which are not kept."""

    @cached_property
    def _levels(self) -> Mapping[str, tuple[CpuSet, ...]]:
        known, inside = logical_numbering(self.topology), self.topology.inside
        parts = {
            "socket": [part.cpuset for part in inside.packages],
            "numa": list(dict.fromkeys(node.near for node in inside.cpu_nodes)),
            "cache3": [part.cpuset for part in inside.l3],
        }
        found = {kind: ordered(sets, known) for kind, sets in parts.items()}
        return {**found, "core": known.cores, "pu": tuple(CpuSet([cpu]) for cpu in known.pus)}

    def level(self, kind: str) -> tuple[CpuSet, ...]:
        """Return the CPUs of everything of a kind, in hwloc's order; NUMA nodes of memory alone have those near them.

        Raise Unclear where these do not hold every CPU once.
        """
        found, inside = self._levels[kind], self.topology.inside
        if found and (union(found) != inside.pus or sum(map(len, found)) != len(inside.pus)):
            raise Unclear(f"the {kind} parts of this machine do not contain every CPU exactly once")
        if kind != "numa" or len(found) == len(inside.nodes):
            return found
        near = Counter(node.near for node in inside.nodes)
        if near.keys() - {*found}:
            raise Unclear("a memory-only NUMA node is near CPUs of several nodes, a case rarely observed")
        return tuple(cpus for node in found for cpus in (node,) * near[node])

    def readable(self, order: str) -> None:
        """Raise Unclear of machines on which Intel MPI was seen to fail, or to divide otherwise."""
        inside = self.topology.inside
        if not self.level("socket"):
            raise Unclear("too few runs were observed to predict how Intel MPI divides a machine without sockets")
        if inside.shared_l2:
            raise Unclear("how Intel MPI divides a machine whose cores share L2 caches is not predicted")
        if (self.topology.missing or inside.pus != self.topology.pus) and order != "compact":
            raise Unclear("how Intel MPI divides a machine with hidden or offline CPUs is not predicted")

    def enough(self, count: int) -> str:
        """Return the kind of the largest parts of which there are enough."""
        return next(kind for kind in _LEVELS if len(self.level(kind)) >= count)

    def split(self, count: int, *, flat: bool) -> list[CpuSet]:
        """Return the machine divided among some ranks, by the largest parts of which there are enough.

        Each socket has its share of the ranks, unless all is to be flat; of its parts the first ranks get one more.
        """
        sockets, kind = self.level("socket"), self.enough(count)
        if flat or count == 1:
            return self._part(self.topology.inside.pus, count, kind)
        if count < len(sockets):
            return [union(group) for group in _groups(sockets, count)]
        if count == len(self.level(kind)):
            return list(self.level(kind))
        small = count > len(self.level("numa"))
        dealt = self.homes(count, len(self.level(kind))) if small else _shared(sockets, count)
        return [mine for home, share in dealt for mine in self._part(home, share, kind)]

    def homes(self, count: int, parts: int) -> list[tuple[CpuSet, int]]:
        """Return the sockets with their shares of some ranks, or NUMA nodes with theirs.

        These where the ranks are a multiple of all nodes, or more than a socket's parts. A socket is taken to have the next nodes
        of all, as many as each has on average: with unlike numbers of nodes that are another's (2021.18, observed).
        """
        sockets, nodes = self.level("socket"), self.level("numa")
        each = len(nodes) // len(sockets)
        if not each or not (each == 1 or count % (each * len(sockets)) == 0 or count * len(sockets) > parts):
            return _shared(sockets, count)
        within = [nodes[position * each : (position + 1) * each] for position in range(len(sockets))]
        dealt = zip(within, _shares(count, len(sockets)), strict=True)
        return [pair for inside, share in dealt for pair in _shared(inside, share)]

    def _part(self, home: CpuSet, ranks: int, kind: str) -> list[CpuSet]:
        parts = [part for part in self.level(kind) if part <= home]
        if ranks <= 1 or len(parts) == ranks:
            return ([home] if ranks == 1 else parts)[:ranks]
        if len(parts) < ranks:
            raise Unclear("a socket has fewer parts than ranks, a case never observed with Intel MPI")
        return [union(group) for group in _groups(parts, ranks)]

    def spread(self, count: int) -> list[list[CpuSet]]:
        """Return the part of the machine of each rank, by sockets, as scatter and spread keep ranks apart.

        Level by level, rank i of k begins with the thing that has the hardware thread i * m // k of m.
        """
        if any(len({len(part) for part in self.level(kind)}) > 1 for kind in ("socket", "numa")):
            raise Unclear("the sockets or NUMA nodes of this machine differ, a case never observed with Intel MPI")
        known = {cpus for kind in _LEVELS for cpus in self.level(kind)} | {self.topology.inside.pus}
        if any(cpus not in known for cpus in distance_groups(self.topology.inside)):
            raise Unclear(
                "hwloc groups NUMA nodes here, and how Intel MPI separates ranks within groups has rarely been observed"
            )
        if self.clusters and max(len(self.level("numa")), len(self.level("cache3"))) < count < len(self.level("core")):
            raise Unclear("ranks are spread, and this input does not record whether hwloc shows clusters of cores here")
        sockets = self.level("socket")
        if count < len(sockets):
            return [[part] for part in self._apart(sockets, count, ("socket",))]
        return [self._apart([socket], ranks, _LEVELS[1:]) for socket, ranks in _dealt(sockets, count)]

    def _apart(self, home: Sequence[CpuSet], count: int, kinds: Sequence[str]) -> list[CpuSet]:
        """Return the parts of some neighbouring things that ranks kept apart have."""
        whole = union(home)
        if count == 1:
            return [whole]
        if not kinds:
            raise Unclear("several ranks share a core, which was never observed with Intel MPI")
        things = [thing for thing in dict.fromkeys(self.level(kinds[0])) if thing <= whole]
        if union(things) != whole:
            return self._apart(home, count, kinds[1:])
        edges = [*_begun(things, count), len(things)]
        if len(set(edges)) == len(edges):
            return [union(things[first:last]) for first, last in pairwise(edges)]
        return [part for thing, ranks in _dealt(things, count) for part in self._apart([thing], ranks, kinds[1:])]


def _begun(things: Sequence[CpuSet], count: int) -> list[int]:
    """Return the position of the thing that each rank begins with."""
    ends = list(accumulate(map(len, things)))
    return [bisect_right(ends, rank * ends[-1] // count) for rank in range(count)]


def _dealt(things: Sequence[CpuSet], count: int) -> list[tuple[CpuSet, int]]:
    """Return each thing that has ranks, and how many."""
    taken = Counter(_begun(things, count))
    return [(things[position], taken[position]) for position in sorted(taken)]


def _shares(total: int, count: int) -> list[int]:
    """Return a number divided evenly, the first shares larger."""
    return [total // count + (position < total % count) for position in range(count)]


def _shared(homes: Sequence[CpuSet], ranks: int) -> list[tuple[CpuSet, int]]:
    """Return parts of the machine with their shares of some ranks."""
    return list(zip(homes, _shares(ranks, len(homes)), strict=True))


def _groups(parts: Sequence[CpuSet], count: int) -> Iterator[Sequence[CpuSet]]:
    """Yield neighbouring parts together, in so many groups of which the first are larger."""
    at = 0
    for size in _shares(len(parts), count):
        yield parts[at : at + size]
        at += size


def _domains_of_ranks(tree: Tree, domain: str, order: str, count: int, threads: str) -> Given:
    """Return the domains of a node's ranks; ``threads`` is OMP_NUM_THREADS."""
    domain, colon, layout = domain.partition(":")
    if colon and (domain not in ("omp", "auto") or layout not in ("platform", "bunch", "compact", *_APART)):
        raise Unclear(f"I_MPI_PIN_DOMAIN={domain[:20]}:{layout[:20]} is not predicted")
    order = {"": order, "platform": "bunch"}.get(layout, layout)
    if order not in ("bunch", "range", "compact", *_APART):
        raise Unclear(f"I_MPI_PIN_ORDER={order[:20]} is not predicted")
    tree.readable(order)
    domain = threads if domain == "omp" else domain
    if domain in ("", "auto", "cache"):  # cache is what it chooses itself (2021.18, observed)
        return _chosen(tree, order, count)
    if domain == "node":
        return (tree.topology.inside.pus,) * count
    if re.fullmatch(r"[1-9]\d{0,4}", domain, re.ASCII):
        return _sized(tree, int(domain), order, count)
    kind = {"sock": "socket"}.get(domain, domain)
    if kind not in ("core", "socket", "numa", "cache3"):
        raise Unclear(f"I_MPI_PIN_DOMAIN={domain[:40]} is not predicted")
    # scatter and spread over NUMA nodes: so it was seen on every machine, a rank has a core of its own
    things = tree.level("core" if kind == "numa" and order in _APART else kind)
    if not things:
        raise Unclear(f"this machine shows no {domain}")
    if order in _APART and count <= len(things):
        found = [[next((thing for thing in things if thing <= part), CpuSet()) for part in parts] for parts in tree.spread(count)]
        if not all(map(all, found)):
            raise Unclear("with scatter or spread, ranks would get less than their domain; this was never observed")
        return _ordered(tree, found, order, count, whole=count == len(things))
    return _bunched(tree, things, order, count)


def _chosen(tree: Tree, order: str, count: int) -> Given:
    """Return what Intel MPI chooses itself."""
    most, cores = len(tree.topology.inside.pus), tree.level("core")
    if count > most:  # of all machines with several threads a core, whatever the order (2021.18, observed)
        return tuple(cores[rank % len(cores)] for rank in range(count))
    if order in _APART and 1 < count < most:
        kinds = ("cache3", "core") if count > len(tree.level("numa")) else ("core",)
        if whole := next((kind for kind in kinds if len(tree.level(kind)) == count), None):
            return tree.level(whole)
        return _ordered(tree, tree.spread(count), order, count)
    return tuple(tree.split(count, flat=order == "compact"))


def _sized(tree: Tree, size: int, order: str, count: int) -> Given:
    """Return domains of so many hardware threads."""
    everything, pus = tree.topology.inside.pus, [cpus.first or 0 for cpus in tree.level("pu")]
    if size > len(everything) or (size == len(everything) and (count > 1 or order not in ("bunch", "range"))):
        return (everything,) * count  # one rank of as many as there are has a socket: the homes of ranks say which (observed)
    blocks = [CpuSet(pus[at : at + size]) for at in range(0, len(pus) - size + 1, size)]
    if order in _APART and count <= len(blocks):
        found = [[CpuSet([pu for pu in pus if pu in part][:size]) for part in parts] for parts in tree.spread(count)]
        return _ordered(tree, found, order, count)
    if len(everything) % size and count > len(blocks):
        return tuple(_round(pus, size, count))
    return _bunched(tree, blocks, order, count, size=size)


def _round(pus: Sequence[int], size: int, count: int) -> Iterator[CpuSet]:
    """Yield so many neighbouring hardware threads for each rank, after the last the first again."""
    turn = [*pus] * (size // len(pus) + 2)
    for rank in range(count):
        yield CpuSet(turn[rank * size % len(pus) : rank * size % len(pus) + size])


def _ordered(tree: Tree, sockets: Sequence[Sequence[CpuSet]], order: str, count: int, *, whole: bool = False) -> Given:
    """Return what ranks have: socket by socket, or of each socket in turn unless every thing of the machine is taken."""
    if order == "spread" or whole:
        return tuple(mine for parts in sockets for mine in parts)
    number = len(tree.level("socket"))
    if 2 <= count % number <= number - 2:
        raise Refused("scatter crashes Intel MPI's proxy if this many ranks remain after an equal share for each socket")
    return tuple(mine for turn in zip_longest(*sockets) for mine in turn if mine is not None)


def _bunched(tree: Tree, things: Sequence[CpuSet], order: str, count: int, *, size: int = 0) -> Given:
    """Return the domains of the ranks: one after the other, or the ranks divided among the sockets and there close together."""
    if order == "compact" or count > len(things) or (count == len(things) and not size):
        return tuple(things[rank % len(things)] for rank in range(count))
    if order in _APART:
        why = "too few runs were observed to predict which part"
        raise Unclear(f"I_MPI_PIN_ORDER={order} binds each rank to only part of its domain; {why}")
    sockets, pus = tree.level("socket"), tree.level("pu")
    large = len(things) <= max(len(tree.level("numa")), len(sockets)) and not size
    dealt = _shared(sockets, count) if large else tree.homes(count, len(pus) if size else len(things))
    found: list[CpuSet] = []
    for home, mine in dealt:
        within = [pu.first or 0 for pu in pus if pu <= home]
        found += _round(within, size, mine) if size else [thing for thing in things if thing <= home][:mine]
    if len(found) < count:
        raise Unclear("domains span sockets or NUMA nodes, a case rarely observed with Intel MPI")
    return tuple(found)


def _processors(text: str, tree: Tree, count: int) -> Given:
    """Return the CPUs of each rank by a list: one each in its order where it has as many, else it is a set that is divided.

    Of the set each rank has what lies in the first of the largest things that are enough, of each core the first such CPU.
    """
    every = tree.topology.inside.pus
    if text.lower() != "allcores":
        if not re.fullmatch(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", text, re.ASCII):
            raise Unclear(f"I_MPI_PIN_PROCESSOR_LIST={text[:40]} is not predicted")
        spans = [(int(first), int(last or first)) for first, last in re.findall(r"(\d+)(?:-(\d+))?", text)]
        if any(last < first or last - first > LIMIT for first, last in spans) or len(spans) > LIMIT:
            raise Unclear(f"I_MPI_PIN_PROCESSOR_LIST={text[:40]} names too many CPUs, or none")
        numbers = [number for first, last in spans for number in range(first, last + 1)]
        if len(set(numbers)) < len(numbers) or not every >= CpuSet(numbers):
            raise Unclear("the list names a CPU twice, or one that this machine does not have")
        if len(numbers) == count:
            return tuple(CpuSet([number]) for number in numbers)
        every = CpuSet(numbers)
    tree.readable("bunch")
    first = CpuSet(min(core & every) for core in tree.level("core") if core & every)
    chains: dict[int, tuple[int, ...]] = dict.fromkeys(every, ())
    fall: list[CpuSet] = []
    for kind in _LEVELS:
        things = [thing for thing in tree.level(kind) if thing & every]
        chains |= {cpu: (*chains[cpu], (thing & every).first or 0) for thing in things for cpu in thing & every}
        found = [mine for thing in things if (mine := thing & (every if kind == "pu" else first))]
        found.sort(key=lambda part: chains[part.first or 0])  # as hwloc sorts what is left
        fall = found if kind == "core" else fall
        if len(found) >= count:
            return tuple(found[:count])
    return tuple(fall[rank % len(fall)] for rank in range(count))


def _masked(text: str, topology: Topology, count: int) -> Given | None:
    """Return the masks of I_MPI_PIN_DOMAIN; None where Intel MPI passes them over, silently: too many, too few, or without 0x."""
    if "]" in text[:-1] or not text.endswith("]") or not all(text[1:-1].split(",")):
        raise Unclear("the effect of such a list of masks is not predicted")
    entries = text[1:-1].split(",")
    if not len(entries) == count <= MASKS or not all(re.fullmatch(r"0x[0-9a-f]{1,4096}", entry, re.ASCII) for entry in entries):
        return None
    try:
        found = tuple(CpuSet.from_bits(int(entry, 16)) for entry in entries)
    except BadValue as error:
        raise Unclear(f"a mask is {error.problem}") from error
    if not all(cpus and cpus <= topology.pus for cpus in found):
        raise Unclear(f"the masks {text[:40]} name CPUs that this machine does not have")
    return found


_OFF = frozenset({"0", "no", "off", "disable"})

_RESPECT = "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"

_HARMLESS = re.compile(
    r"I_MPI_(PIN_MODE|PIN_RESPECT_(?:CPUSET|HCA)|DEBUG|FABRICS|OFI_|ADJUST_|SHM|ROOT|HYDRA_(BOOTSTRAP|DEBUG|IFACE)|TUNING|EXTRA|EAGER"
    r"|(?:FALLBACK|DEVICE|MALLOC|PMI_LIBRARY|JOB_TIMEOUT|SPIN_COUNT|WAIT_MODE|CBWR|LIBRARY_KIND|THREAD_SPLIT|HARD_FINALIZE"
    r"|DYNAMIC_CONNECTION|SCALABLE_OPTIMIZATION|MPIRUN_CLEANUP|COMPATIBILITY|REMOVED_VAR_WARNING|VAR_CHECK_SPELLING|TMPDIR"
    r"|SILENT_ABORT|PRINT_VERSION|HBW_POLICY|OUTPUT_CHUNK_SIZE|HYDRA_(?:BRANCH_COUNT|PMI_CONNECT|CLEANUP))$|(?:DAPL|TMI|OFA|RDMA|COLL|LUSTRE)_)"
)
"""Variables beside which ranks were bound as without them (2021.18, sixty of them on three machines)."""


def pinned(pins: Pins, tree: Tree, count: int) -> Given:
    """Return the CPUs of a host's ranks; raise Unclear where what Intel MPI makes of the variables was not seen."""
    words = {"I_MPI_PIN", "I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PERHOST", _RESPECT}
    own = (name for name in pins if name.startswith("I_MPI_") and name not in words)
    if odd := next((name for name in own if not _HARMLESS.match(name)), None):
        raise Unclear(f"the effect of {odd[:40]} on pinning is not predicted")
    if odd := next((name for name in words & pins.keys() if pins[name] != pins[name].lower() and pins[name][:1] != "["), None):
        raise Unclear(f"{odd}={pins[odd][:20]}: Intel MPI ignores words in capitals, but not consistently")
    switch, domain = pins.get("I_MPI_PIN", "1"), pins.get("I_MPI_PIN_DOMAIN", "").lower()
    if switch in _OFF:
        return (None,) * count
    if switch not in ("1", "yes", "on", "enable"):
        raise Unclear(f"I_MPI_PIN={switch[:20]} is not a known value")
    if "I_MPI_PIN_PROCESSOR_LIST" in pins:
        if "I_MPI_PIN_DOMAIN" in pins:
            raise Unclear("I_MPI_PIN_DOMAIN together with I_MPI_PIN_PROCESSOR_LIST is not predicted")
        return _processors(pins["I_MPI_PIN_PROCESSOR_LIST"], tree, count)
    if domain.startswith("["):
        if (given := _masked(domain, tree.topology, count)) is not None:
            return given
        domain = ""
    return _domains_of_ranks(tree, domain, pins.get("I_MPI_PIN_ORDER", "bunch"), count, pins.get("OMP_NUM_THREADS", ""))


def _each_host(line: Line) -> int | None:
    """Return the ranks of each host; None where the line does not say."""
    counts = {atoi(said.values[-1]) for said in line.options if said.name in ("-ppn", "-grr") and said.values}
    counts |= {1} if any(said.name == "-rr" for said in line.options) else set()
    text = line.words.environment.get("I_MPI_PERHOST")
    counts |= {atoi(text)} if not counts and text is not None else set()
    if len(counts) > 1 or any(count < 1 for count in counts):
        raise Unclear("the effect of these options on the number of ranks per host is not predicted")
    return next(iter(counts), None)


def _hosts_of_ranks(made: Prediction, total: int | None) -> tuple[list[str | None], int | None]:
    """Return the hosts in turn, each as often as it takes ranks at a time, and how many ranks there are without -n."""
    line, variables = made.line, made.line.words.environment
    if odd := next((name for name in ("I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE") if name in variables), None):
        raise Unclear(f"{odd} names the hosts, and too few runs with this variable were observed")
    if variables.get(_RESPECT, "0") not in _OFF:
        raise Unclear(f"{_RESPECT} changes which host a rank goes to")
    each, found = _each_host(line), mpich.host_slots(made)
    if found[0].name is None:
        return [None], each
    option = next(said.written[0] for said in line.options if said.name in ("-f", "-hosts", "-host"))
    if option.lstrip("-").partition("=")[0].lower() in ("machinefile", "machine"):
        if any(said.name == "-rr" for said in line.options) or any(host.slots == 0 for host in found):
            raise Unclear("a machine file with -rr, or one that gives a host no slots, is not predicted")
        if total is None:
            raise Unclear("without -n, Intel MPI starts as many ranks as the hosts have cores, or as the scheduler allocates")
        # whatever -ppn says (2021.18, observed)
        return [host.name for host in found for _ in range(min(host.slots or 1, total))], None
    if each is None and (len(found) > 1 or total is None):
        raise Unclear("without -ppn, a host gets as many ranks as the host running mpiexec.hydra has cores")
    return [host.name for host in found for _ in range(min(each or 1, MOST_RANKS))], (each or 0) * len(found)


_ELSEWHERE = words(
    "-configfile -hosts-group -nolocal -cpu-bind -rmk -gtool -localhost -umask -topolib -output-from -gpus-per-proc"
    " -gpu-subdevs-per-proc -memory-alloc-kinds -timeout -report-bindings -disable-hostname-propagation"
    " -enable-hostname-propagation -hybrid-hosts -pmi-port -order-nodes -skip-launch-node -rankmap"
)
"""Options that say of hosts or CPUs what is not predicted, or that other Hydras have."""


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of Intel MPI's; raise Refused or Unclear.

    A host has the variables of the program of its first rank, and, of pinning, all that other programs have beside (observed).
    """
    line = made.line
    _odd(line)
    everywhere = dict(line.words.environment)
    everywhere |= dict(_variable(said.values) for said in line.options if said.name == "-genv")
    programs: list[Pins] = []
    counts = [[atoi(said.values[-1]) for said in part.options if said.name == "-n" and said.values] for part in line.segments]
    if counts == [[]]:
        counts = [[_hosts_of_ranks(made, None)[1] or _cores(made.topology)]]
    for segment, said in zip(line.segments, counts, strict=True):
        if not said or said[-1] < 1 or len(set(said)) > 1:
            raise Unclear("the number of ranks of a program without -n is not predicted")
        if len(programs) + said[-1] > MOST_RANKS:
            raise Unclear(f"{len(programs) + said[-1]} ranks exceed the limit of {MOST_RANKS} for prediction")
        own = everywhere | dict(_variable(option.values) for option in segment.options if option.name == "-env")
        programs += [own] * said[-1]
    turn, _ = _hosts_of_ranks(made, len(programs))
    where = [turn[rank % len(turn)] for rank in range(len(programs))]
    sizes = Counter(where)
    if len(set(sizes.values())) > 1 and max(sizes.values()) > len(made.topology.pus):
        raise Unclear("a host has more ranks than CPUs, and more ranks than other hosts, a case rarely observed")
    others = {name: value for mine in reversed(programs) for name, value in mine.items() if name.startswith("I_MPI_")}
    pins = {host: {**others, **mine} for host, mine in reversed([*zip(where, programs, strict=True)])}
    tree = Tree(made.topology, clusters=made.machine.architecture != "x86_64" and made.machine.cpu is None)
    return seated(where, {host: pinned(pins[host], tree, count) for host, count in sizes.items()}, lambda host: host)


def _cores(topology: Topology) -> int:
    """Return how many cores Intel MPI counts: a core is known by its number in its package, so cores of one number are one."""
    inside = topology.inside
    found = {(inside.package_of(core.cpuset), core.os_index) for core in inside.cores}
    if inside.pus != CpuSet(range(len(inside.pus))) or any(core.os_index is None for core in inside.cores) or not found:
        raise Unclear("without -n, Intel MPI starts one rank for each core it finds, and how many it finds here is unknown")
    return len(found)


def _odd(line: Line) -> None:
    """Raise Refused of what Intel MPI ends at, Unclear of versions and options that were not seen."""
    if any(said.written[0].lstrip("-") == "V" for said in line.options):  # of MPICH it is -verbose
        raise Refused("it prints its version and exits")
    if line.release is not None and line.release < (2019, 0, 0):
        raise Unclear("Intel MPI before 2019 pinned differently")
    for said in line.options:
        if not said.known or said.name in _ELSEWHERE:
            raise Unclear(f"the effect of mpiexec.hydra's {said.written[0][:40]} on hosts or CPUs is not predicted")
    said_once(line)


def _variable(values: Sequence[str]) -> tuple[str, str]:
    name, _, value = values[0].partition("=")
    return name, values[1] if len(values) > 1 else value


def claim(words: Words, tools: frozenset[str]) -> int:
    """Return how surely a line is Intel MPI's: by its variables or program, by Hydra's words where it alone is there."""
    if "I_MPI_" in " ".join((*words.environment, *words.rest)) or words.launcher.endswith(("impi", "intel")):
        return 8
    if kin(words):
        return 6 if "intelmpi" in tools and "mpich" not in tools else 0
    return 3 if "intelmpi" in tools else 0


def intel_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the masks of Intel MPI."""
    for segment in case.line.segments:
        pins = dict(case.want.exports)
        own = {
            said.values[0]: said.values[1] for said in segment.options if said.name in ("-env", "-genv") and len(said.values) > 1
        }
        pins |= own
        domain, processors = pins.get("I_MPI_PIN_DOMAIN", ""), pins.get("I_MPI_PIN_PROCESSOR_LIST", "")
        count = ranks_here(case) if len(case.line.segments) == 1 else None
        if domain.startswith("["):
            yield from _masks(domain, count)
        elif re.fullmatch(r"[0-9][0-9,-]*", processors, re.ASCII):
            yield from _processor_lists(processors, count)


def _masks(domain: str, count: int | None) -> Iterator[LintWarning]:
    masks = domain.strip("[]").split(",")
    bare = next((mask for mask in masks if not mask.lower().startswith("0x")), None)
    if bare is not None:
        better = f"I_MPI_PIN_DOMAIN=[{','.join('0x' + mask.lower().removeprefix('0x') for mask in masks[:64])}]"
        why = "Without 0x the list is invalid: Intel MPI falls back to its own pinning and exits successfully."
        yield warning("mask-without-0x", "the masks are not used", why, f"{bare[:40]} in {domain[:60]}", better, bad=True)
    elif count and len(masks) != count:
        why = "If the numbers of masks and local ranks differ, Intel MPI falls back to its own pinning."
        yield warning(
            "mask-count", f"{len(masks)} masks for {count} ranks on a node", why, domain[:80], f"{count} masks", bad=True
        )
    if len(masks) > MASKS:
        yield warning(
            "too-many-masks",
            "Intel MPI crashes",
            "With 115 masks or more, Intel MPI 2021.18 writes past the end of an array.",
            f"{len(masks)} masks",
            "I_MPI_PIN_PROCESSOR_LIST",
        )


def _processor_lists(text: str, count: int | None) -> Iterator[LintWarning]:
    try:
        entries = len(text.split(",")) if "-" not in text else len(CpuSet.parse(text))
    except BadValue:
        return
    if count and (entries != count or "-" in text):
        why = (
            "Intel MPI keeps the order only with exactly one entry per local rank. Otherwise it treats the list as a set, and "
            "repeats a list that is too short."
        )
        yield warning(
            "list-count",
            f"{entries} CPUs are listed for {count} ranks on a node",
            why,
            f"I_MPI_PIN_PROCESSOR_LIST={text[:60]}",
            f"{count} single CPUs",
            bad=True,
        )


LAUNCHER = Launcher(
    name=NAME,
    title="Intel MPI",
    order=40,
    launch=launch,
    aliases=("impi", "intel", "intel-mpi"),
    tools=("intelmpi",),
    variables=("I_MPI_", "HYDRA_"),
    ranks=mpich.RANKS,
    without_binding=UNBOUND,
    dialect=replace(
        mpich.LINES,
        programs=("mpiexec.hydra", "mpiexec", "mpirun"),
        ranks=ranks,
        claim=claim,
        lists=intel_lists,
        memory=hbw_memory,
        aliases={**mpich.LINES.aliases, "-machine": "-f"},
        binds=True,
    ),
    unbound_line=mpich.unbound_line("mpiexec.hydra", UNBOUND),
)
