"""Where a line of Intel MPI puts its ranks: hosts by -ppn or a machine file, and there what its I_MPI_PIN variables make."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from advisor.launch.lint.hydra.bind_to import atoi, kin
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
    where = list(_hosts(made, total))
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
        if not counts or counts[-1] < 1 or len(set(counts)) > 1:
            raise Unclear("without -n Intel MPI starts as many ranks as the hosts have cores, or as a scheduler says")
        made_so_far += counts[-1]
        if made_so_far > MOST_RANKS:
            raise Unclear(f"{made_so_far} ranks are more than the {MOST_RANKS} that are worked out one by one")
        for _ in range(counts[-1]):
            yield own


def _variable(values: Sequence[str]) -> tuple[str, str]:
    name, _, value = values[0].partition("=")
    return name, values[1] if len(values) > 1 else value


def _hosts(made: "Prediction", total: int) -> Iterator[tuple[int, str | None]]:
    """Yield the host of each rank: its position and its name."""
    line = made.line
    variables = line.words.environment
    fine = {"I_MPI_PERHOST"} | ({RESPECT} if variables.get(RESPECT) in OFF else set())
    if odd := next((name for name in PLACES - fine if name in variables), None):
        raise Unclear(f"{odd} changes which host a rank goes to")
    files = [said for said in line.options if said.name in ("-f", "-hosts", "-host")]
    each = _each(line)
    if not files:
        yield from ((0, None) for _ in range(total))
        return
    if len(files) > 1:
        raise Unclear("the line names its hosts twice")
    by_slots = files[0].written[0].lstrip("-").partition("=")[0].lower() in ("machinefile", "machine")
    slots = list(_named(made, files[0].name, files[0].values[-1], each, by_slots=by_slots))
    turn = [(position, name) for position, (name, count) in enumerate(slots) for _ in range(min(count, total))]
    for rank in range(total):
        yield turn[rank % len(turn)]


def _each(line: "Line") -> int | None:
    """Return the ranks of each host; None where the line does not say."""
    counts = [atoi(said.values[-1]) for said in line.options if said.name == "-ppn" and said.values]
    text = line.words.environment.get("I_MPI_PERHOST")
    if any(said.name == "-rr" for said in line.options):
        counts.append(1)
    if not counts and text is not None:
        counts.append(atoi(text))
    if any(count < 1 for count in counts) or len(set(counts)) > 1:
        raise Unclear("how many ranks a host gets, is said in a way that is not worked out here")
    return counts[0] if counts else None


def _named(made: "Prediction", option: str, text: str, each: int | None, *, by_slots: bool) -> Iterator[tuple[str, int]]:
    """Yield each host and how many ranks it takes at a time."""
    found: dict[str, int] = {}
    for word in _written(made, option, text):
        match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]{0,254})(?::(\d{1,6}))?", word, re.ASCII)
        if not match or match[1] in found:
            raise Unclear(f"the host {word[:40]!a} is written in a way that is not worked out here")
        found[match[1]] = int(match[2] or by_slots)
    if not found:
        raise Unclear("no host is named")
    if by_slots and max(found.values()) > 1 and any(said.name == "-rr" for said in made.line.options):
        raise Unclear("a machine file with slots beside -rr is not worked out here")
    if by_slots and all(found.values()):
        yield from found.items()  # whatever -ppn says (2021.18, observed)
        return
    if each is None:
        if len(found) > 1:
            raise Unclear("without -ppn a host gets as many ranks as the one that mpiexec.hydra is started on has cores")
        each = MOST_RANKS
    if by_slots:
        raise Unclear("a machine file with a host of no slots is not worked out here")
    yield from ((name, each) for name in found)


def _written(made: "Prediction", option: str, text: str) -> list[str]:
    """Return the hosts as a file or the option's own list has them."""
    if option != "-f":
        return [word for word in text.split(",")[:MOST_RANKS] if word]
    if text not in made.files:
        raise Unclear(f"the host file {text[:80]} was not read")
    return [row for line in made.files[text].splitlines()[:MOST_RANKS] if (row := line.partition("#")[0].strip())]


OFF = frozenset({"0", "no", "off", "disable"})
_ON = frozenset({"1", "yes", "on", "enable"})
_READ = frozenset({"I_MPI_PIN", "I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN_CELL"})
_HARMLESS = re.compile(r"I_MPI_(DEBUG|FABRICS|OFI_|ADJUST_|SHM|STATS|ROOT|HYDRA_(BOOTSTRAP|DEBUG|IFACE)|TUNING|EXTRA|EAGER)")
RESPECT = "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"
PLACES = frozenset({"I_MPI_PERHOST", RESPECT, "I_MPI_HYDRA_HOST_FILE"})
"""Variables that say which host a rank goes to."""
_AUTO = frozenset({"", "auto", "cache"})
"""``cache`` is what it chooses itself (2021.18, observed)."""
_CACHES = ("cache1", "cache2", "cache3")
_APART = frozenset({"scatter", "spread"})
"""Orders that keep ranks apart."""


def pinned(pins: Pins, topology: Topology, count: int) -> Given:
    """Return the CPUs of a host's ranks; raise Unclear where what Intel MPI makes of the variables was not seen."""
    odd = next((name for name in pins if name.startswith("I_MPI_") and name not in _READ | PLACES), None)
    if odd and not _HARMLESS.match(odd):
        raise Unclear(f"what {odd[:40]} does to pinning, is not worked out here")
    switch = pins.get("I_MPI_PIN", "1").lower()
    if switch in OFF:
        return (None,) * count
    if switch not in _ON:
        raise Unclear(f"I_MPI_PIN={switch[:20]} is not understood")
    if topology.limited:
        raise Unclear("a job hides part of this machine, and Intel MPI then pins in ways that are not worked out here")
    if "I_MPI_PIN_CELL" in pins and any(len(core) > 1 for core in logical_numbering(topology).cores):
        raise Unclear("what I_MPI_PIN_CELL does where cores have several threads, is not worked out here")
    domain, order = pins.get("I_MPI_PIN_DOMAIN", "").lower(), pins.get("I_MPI_PIN_ORDER", "bunch").lower()
    if "I_MPI_PIN_PROCESSOR_LIST" in pins and (given := _processors(pins, topology, count)) is not None:
        return given
    if domain.startswith("["):
        return masks(domain, topology, count)
    return _domains(Tree(topology), domain, order, count, pins)


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
    if order in _APART and count > 1:
        parts = [len(tree.level(kind)) for kind in ("cache3", "core")]
        return _ordered(tree.spread(count), order, whole=count in parts)
    if order not in ("bunch", "compact", "range", *_APART):
        raise Unclear(f"the order {order[:20]} of what Intel MPI chooses itself is not worked out here")
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
