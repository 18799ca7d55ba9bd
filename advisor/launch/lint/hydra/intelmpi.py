"""Where a line of Intel MPI puts its ranks: hosts by -ppn or a machine file, and there what its I_MPI_PIN variables make."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from advisor.launch.lint.hydra.bind_to import atoi, kin
from advisor.launch.lint.hydra.intelmpi_hosts import OFF, PLACES, each_host, hosts_of_ranks, listed
from advisor.launch.lint.hydra.processor_list import Given, Pins, Tree, first_of, laid_out, masks, processors, shares
from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.command_line import Words
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction

_ELSEWHERE = frozenset({"-configfile", "-hosts-group", "-nolocal", "-rankmap", "-cpu-bind", "-rmk", "-order-nodes", "-gtool"})


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of Intel MPI's; raise Refused or Unclear."""
    line = made.line
    _odd(line)
    programs = list(_programs(made))
    total = len(programs)
    where = list(hosts_of_ranks(made, total))
    counts = Counter(host for host, _ in where)
    pins: dict[int, Pins] = {}
    for (host, _), mine in zip(where, programs, strict=True):
        if pins.setdefault(host, mine) != mine:
            raise Unclear("the ranks of a host are in several segments with other variables")
    if len(set(counts.values())) > 1 and any("scatter" in " ".join(mine.values()).lower() for mine in pins.values()):
        raise Unclear("scatter on hosts with unlike numbers of ranks: their order was seen to differ")
    given = {host: pinned(pins[host], made.topology, count) for host, count in counts.items()}
    local: Counter[int] = Counter()
    found: list[LintRank] = []
    for rank, (host, name) in enumerate(where):
        found.append(LintRank(rank=rank, host=name, cpus=given[host][local[host]]))
        local[host] += 1
    return tuple(found)


def _odd(line: "Line") -> None:
    for said in line.options:
        if not said.known:
            raise Unclear(f"{said.written[0][:40]} of mpiexec.hydra is not known here")
        if said.name in _ELSEWHERE:
            raise Unclear(f"what {said.name} does to hosts or CPUs, is not worked out here")
    if line.release is not None and line.release < (2019, 0, 0):
        raise Unclear("Intel MPI before 2019 pinned in other ways")
    if not all(segment.command for segment in line.segments):
        raise Refused("no executable provided")


def _programs(made: "Prediction") -> Iterator[Pins]:
    """Yield the variables of each rank, segment by segment."""
    everywhere = dict(made.line.words.environment)
    for said in made.line.options:
        if said.name == "-genv":
            everywhere |= dict([_variable(said.values)])
    made_so_far = 0
    for segment in made.line.segments:
        own = dict(everywhere)
        own |= dict(_variable(said.values) for said in segment.options if said.name == "-env")
        counts = [atoi(said.values[-1]) for said in segment.options if said.name == "-n" and said.values]
        if not counts and len(made.line.segments) == 1:
            counts = [_unsaid(made)]
        if not counts or counts[-1] < 1 or len(set(counts)) > 1:
            raise Unclear("of which program without -n there are how many ranks, is not worked out here")
        made_so_far += counts[-1]
        if made_so_far > MOST_RANKS:
            raise Unclear(f"{made_so_far} ranks are more than the {MOST_RANKS} that are worked out one by one")
        for _ in range(counts[-1]):
            yield own


def _unsaid(made: "Prediction") -> int:
    """Return the ranks of a line without -n: one for each core of this host, or -ppn for each host that is listed."""
    line = made.line
    named = next((said for said in line.options if said.name in ("-f", "-hosts", "-host")), None)
    if named is None and made.topology.inside.pus == made.topology.pus:
        return len(made.topology.inside.cores)
    if named is None:
        raise Unclear("without -n Intel MPI starts as many ranks as it finds cores, and a job hides some of this machine's")
    each = each_host(line)
    if each is None or named.written[0].lstrip("-").partition("=")[0].lower() in ("machinefile", "machine"):
        raise Unclear("without -n Intel MPI starts as many ranks as the hosts have cores, or as a scheduler says")
    return each * len(listed(made, named.name, named.values[-1]))


def _variable(values: Sequence[str]) -> tuple[str, str]:
    name, _, value = values[0].partition("=")
    return name, values[1] if len(values) > 1 else value


_ON = frozenset({"1", "yes", "on", "enable"})
_READ = frozenset({"I_MPI_PIN", "I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN_CELL"})
_HARMLESS = re.compile(
    r"I_MPI_(PIN_MODE|PIN_RESPECT_(?:CPUSET|HCA)|DEBUG|FABRICS|OFI_|ADJUST_|SHM|ROOT|HYDRA_(BOOTSTRAP|DEBUG|IFACE)|TUNING|EXTRA|EAGER)"
)
_AUTO = frozenset({"", "auto", "cache"})
"""``cache`` is what it chooses itself (2021.18, observed)."""
_CACHES = ("cache1", "cache2", "cache3")
_APART = frozenset({"scatter", "spread"})
"""Orders that keep ranks apart."""


def _known(pins: Pins) -> None:
    """Raise Unclear where a variable may bear on pinning in a way that was not seen."""
    own = (name for name in pins if name.startswith("I_MPI_") and name not in _READ | PLACES)
    if odd := next((name for name in own if not _HARMLESS.match(name)), None):
        raise Unclear(f"what {odd[:40]} does to pinning, is not worked out here")


def pinned(pins: Pins, topology: Topology, count: int) -> Given:
    """Return the CPUs of a host's ranks; raise Unclear where what Intel MPI makes of the variables was not seen."""
    _known(pins)
    switch = pins.get("I_MPI_PIN", "1").lower()
    if switch in OFF:
        return (None,) * count
    if switch not in _ON:
        raise Unclear(f"I_MPI_PIN={switch[:20]} is not understood")
    if topology.limited or topology.inside.pus != topology.pus or len(topology.pus) <= (topology.pus.last or 0):
        raise Unclear("CPUs of this machine are hidden or off, and Intel MPI then pins in ways that are not worked out here")
    cell, cores = pins.get("I_MPI_PIN_CELL", "").lower(), logical_numbering(topology).cores
    smt = any(len(core) > 1 for core in cores)
    if cell and smt and (cell not in ("unit", "core") or count > len(cores)):
        raise Unclear(f"what I_MPI_PIN_CELL={cell[:20]} does where cores have several threads, is not worked out here")
    domain, order = pins.get("I_MPI_PIN_DOMAIN", "").lower(), pins.get("I_MPI_PIN_ORDER", "bunch").lower()
    if "I_MPI_PIN_PROCESSOR_LIST" in pins and (given := _processors(pins, topology, count)) is not None:
        return given
    if domain.startswith("["):
        if (given := masks(domain, topology, count)) is not None:
            return given
        if "I_MPI_PIN_ORDER" in pins:
            raise Unclear("masks that Intel MPI passes over, beside an order: what it then does was not seen")
        domain = ""
    if cell == "core" and smt:
        return _by_cores(Tree(topology), domain, order, count, pins)
    return _domains(Tree(topology), domain, order, count, pins)


def _by_cores(tree: Tree, domain: str, order: str, count: int, pins: Pins) -> Given:
    """Return the domains where a cell is a core: of each core its first thread, and a size counts cores (2021.18, observed)."""
    domain, order = laid_out(domain, order)
    if domain == "omp":
        domain = pins.get("OMP_NUM_THREADS", "")
    if domain in _CACHES:
        raise Unclear("caches beside I_MPI_PIN_CELL=core are not worked out here")
    cores = tree.level("core")
    wide = str(int(domain) * len(cores[0])) if re.fullmatch(r"[1-9]\d{0,3}", domain, re.ASCII) else domain
    first = CpuSet(core.first or 0 for core in cores)
    return tuple(cpus and cpus & first for cpus in _domains(tree, wide, order, count, pins))


def _processors(pins: Pins, topology: Topology, count: int) -> Given | None:
    """Return what a processor list gives, whatever I_MPI_PIN_ORDER is; None where it is passed over."""
    if "I_MPI_PIN_DOMAIN" in pins:
        raise Unclear(
            "I_MPI_PIN_PROCESSOR_LIST beside I_MPI_PIN_DOMAIN: the domain divides the list, and how is not worked out here"
        )
    return processors(pins["I_MPI_PIN_PROCESSOR_LIST"], Tree(topology), count)


def _domains(tree: Tree, domain: str, order: str, count: int, pins: Pins) -> Given:
    """Return the domains of a node's ranks."""
    domain, order = laid_out(domain, order)
    if domain == "omp":
        domain = pins.get("OMP_NUM_THREADS", "")
    caches = ("cache3",) if domain == "cache3" else tree.below_nodes(count) if domain in _AUTO else ()
    tree.even(("socket", "numa", *caches, "core"))
    if domain in _AUTO:
        return _chosen(tree, order, count)
    if domain == "node":
        return (tree.topology.inside.pus,) * count
    if re.fullmatch(r"[1-9]\d{0,4}", domain, re.ASCII):
        size, everything = int(domain), tree.topology.inside.pus
        if size > len(everything):
            raise Unclear(f"domains of {size} CPUs on {len(everything)}")
        blocks, pus = _blocks(tree, size, everything), [cpus.first or 0 for cpus in tree.level("pu")]
        if order in _APART and count <= len(blocks):
            found = [[first_of(part, pus, size) for part in parts] for parts in tree.spread(count)]
            return _ordered(found, order, whole=False)
        if len(everything) % size and count > len(blocks):
            turn = pus * (size // len(everything) + 2)
            starts = [rank * size % len(everything) for rank in range(count)]
            return tuple(CpuSet(turn[start : start + size]) for start in starts)
        return _bunched(tree, blocks, order, count, size=size)
    return _whole_things(tree, domain, order, count)


def _chosen(tree: Tree, order: str, count: int) -> Given:
    """Return what Intel MPI chooses itself."""
    if order in _APART and count > 1 and (tree.topology.inside.l3 or not tree.topology.inside.shared_l2):
        parts = [len(tree.level(kind)) for kind in (*tree.below_nodes(count), "core")]
        return _ordered(tree.spread(count), order, whole=count in parts)
    if order not in ("bunch", "compact", "range", *_APART):
        raise Unclear(f"the order {order[:20]} of what Intel MPI chooses itself is not worked out here")
    if count > 1 and not tree.topology.inside.l3 and tree.topology.inside.shared_l2:
        raise Unclear("how Intel MPI divides a machine without L3, whose cores share an L2, was seen to differ")
    tree.nodes()  # raises Unclear of memory alone, which is counted here
    most = len(tree.topology.inside.pus)
    return tuple((tree.split(min(count, most), flat=order == "compact") * (count // most + 1))[:count])


def _whole_things(tree: Tree, domain: str, order: str, count: int) -> Given:
    """Return the domains where each is a socket, a NUMA node, a cache or a core."""
    if domain not in ("core", "socket", "sock", "numa", *_CACHES):
        raise Unclear(f"what I_MPI_PIN_DOMAIN={domain[:40]} is, was not seen")
    if domain in ("cache1", "cache2") and (tree.topology.inside.shared_l2 or not tree.topology.inside.l3):
        raise Unclear(f"which cores of this machine share a {domain}, is not known")
    kind = {"sock": "socket", "cache1": "core", "cache2": "core"}.get(domain, domain)
    order = "compact" if domain == "cache1" else order  # whatever order is asked for (2021.18, observed)
    cores = kind == "numa" and order in _APART  # so it was seen on every machine: a rank has a core of its own
    things = tree.level("core") if cores else tree.nodes() if kind == "numa" else tree.level(kind)
    if not things:
        raise Unclear(f"this machine shows no {domain}")
    if order in _APART and count <= len(things):
        found = [[_inside(part, things) for part in parts] for parts in tree.spread(count)]
        return _ordered(found, order, whole=count == len(things))
    return _bunched(tree, things, order, count, cache=domain in _CACHES)


def _inside(part: CpuSet, things: Sequence[CpuSet]) -> CpuSet:
    """Return the first whole thing of a part."""
    found = next((thing for thing in things if thing <= part), None)
    if found is None:
        raise Unclear("ranks kept apart have less than their domain, and what Intel MPI does then was not seen")
    return found


def _ordered(sockets: Sequence[Sequence[CpuSet]], order: str, *, whole: bool) -> Given:
    """Return what ranks have: socket by socket, or of each socket in turn unless every thing of the machine is taken."""
    if order == "spread" or whole:
        return tuple(mine for parts in sockets for mine in parts)
    return tuple(mine for turn in zip_longest(*sockets) for mine in turn if mine is not None)


def _blocks(tree: Tree, size: int, home: CpuSet) -> list[CpuSet]:
    """Return so many neighbouring hardware threads of a part of the machine, again and again."""
    pus = [cpus.first or 0 for cpus in tree.level("pu") if cpus <= home]
    return [CpuSet(pus[at : at + size]) for at in range(0, len(pus) - size + 1, size)]


def _bunched(tree: Tree, things: Sequence[CpuSet], order: str, count: int, *, cache: bool = False, size: int = 0) -> Given:
    """Return the domains of the ranks: one after the other, or the ranks divided among the sockets and there close together."""
    if order == "compact" or count > len(things):
        return tuple(things[rank % len(things)] for rank in range(count))
    if order not in ("bunch", "range"):
        raise Unclear(f"I_MPI_PIN_ORDER={order[:20]} binds each rank to a part of its domain only, and which was not seen often")
    nodes, sockets = tree.nodes(), tree.level("socket")
    spread = count % len(nodes) == 0 or (cache and len(things) // count == 1)
    found: list[CpuSet] = []
    for socket, share in zip(sockets, shares(count, len(sockets)), strict=True):
        homes = [node for node in nodes if node <= socket] if spread else [socket]
        for home, mine in zip(homes, shares(share, len(homes)), strict=True):
            inside = _blocks(tree, size, home) if size else [thing for thing in things if thing <= home]
            found += inside[:mine]
    if len(found) < count:
        raise Unclear("domains lie across sockets or NUMA nodes, and what Intel MPI does then was not seen often")
    return tuple(found)


def claim(words: "Words", tools: frozenset[str]) -> int:
    """Return how surely a line is Intel MPI's: by its variables or program, by Hydra's words where it alone is there."""
    if "I_MPI_" in " ".join((*words.environment, *words.rest)) or words.launcher.endswith(("impi", "intel")):
        return 8
    if kin(words):
        return 6 if "intelmpi" in tools and "mpich" not in tools else 0
    return 3 if "intelmpi" in tools else 0
