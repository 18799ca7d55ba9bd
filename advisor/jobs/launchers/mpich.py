"""MPICH and its launcher Hydra: ``-bind-to user:`` lists, or a short form where a model of Hydra gives the same."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, Lines, RankVariables, option_table
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import (
    FEW,
    LONGEST,
    LintRank,
    LintWarning,
    Placement,
    Slot,
    counted,
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
from advisor.jobs.request import (
    MOST_RANKS,
    Line,
    Prediction,
    Refused,
    Request,
    Unclear,
    Words,
    hides_l3,
    hosts,
    number,
    seated,
    warning,
)
from advisor.jobs.scripts.expansion import words
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import logical_numbering, ordered
from advisor.machine.topology import Topology


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


def unbound_line(program: str, words: tuple[str, ...]) -> Callable[[int, Sequence[str]], tuple[str, ...]]:
    """Return what gives the words of a line of Hydra's whose ranks are not bound, up to its program."""

    def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
        each = -(-total // max(1, len(hosts)))
        named = ("-hosts", ",".join(hosts), "-ppn", str(each)) if hosts else ()
        return program, "-n", str(total), *named, *words

    return unbound


LINE = 16_000
"""Characters of a host file's line: Hydra 5.0.2 reads 16,384 at once, and takes the rest for another host (observed)."""


_CROSSES = "the cores, L3 groups or NUMA nodes differ: Hydra keeps counting across their boundaries"


_HOMELESS = Avoided(
    "-bind-to", "some ranks' CPUs are in no NUMA node: Hydra binds memory too, and ends the job ('hwloc_set_membind failed')"
)


_OTHERS = "no choice of X, k and Y places the ranks on these CPUs in this order"


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the mpiexec line: a short form where faithful, else a user: list, per host where hosts differ, else the wrapper."""
    list(runs(placement))
    refuse_colon(wish.command)
    if each_rank.wants_wrapper(placement, wish):
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
    argv = ("mpiexec", *hosts, "-n", str(placement.size), *variables, *words, *each_rank.command(wish, NAME))
    return Launch(NAME, wish.version, form, argv, environment, files, avoided, memory_notes(placement))


def _wrapped(placement: Placement, wish: LaunchRequest, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files = where(placement, wish)
    variables = passed(wish.environment, "-genv")
    argv = ("mpiexec", *hosts, "-n", str(placement.size), *variables, "-bind-to", "none", *wrapper.wrapped(wish.command))
    return Launch(NAME, wish.version, "wrapper", argv, {}, {**files, **wrapper.files(placement)}, avoided, wrapper.NOTES)


Bound = tuple[CpuSet | None, ...]
"""The CPUs of the local ranks; None: not bound."""


def _as_kernel(cpus: CpuSet, topology: Topology) -> CpuSet:
    """Return what the kernel makes of a binding; raise Refused where it or hwloc does not bind so."""
    inside = topology.inside
    if not cpus <= topology.pus | topology.missing or not cpus & inside.pus:
        raise Refused(f"hwloc_set_cpubind failed: CPUs {str(cpus)[:60] or 'none'} are not all on this machine")
    if topology.numa_known and not any(node.near & cpus for node in inside.nodes):
        raise Refused(f"hwloc_set_membind failed: CPUs {str(cpus)[:60]} are in no NUMA node")
    return cpus & inside.pus


def bound(bind: str | None, over: str | None, topology: Topology, count: int) -> Bound:
    """Return the CPUs of so many local ranks; raise Refused or Unclear."""
    if bind is None or bind == "none":
        return (None,) * count
    if bind.startswith("user:"):
        listed = _user(bind[5:], count)
        return (*(_as_kernel(cpus, topology) for cpus in listed[:count]), *(None,) * (count - len(listed)))
    if bind == "rr":
        return tuple(_as_kernel(CpuSet([rank % len(topology.inside.pus)]), topology) for rank in range(count))
    (things, together), (larger, number) = _request(topology, bind), _request(topology, over or bind)
    even = all(alike(found, topology) for found in (things, larger))
    if over in (None, bind) and together <= len(things) and (even or together == 1):
        starts = (rank % lcm(len(things), together) * together for rank in range(count))
        given = [union(things[(start + i) % len(things)] for i in range(together)) for start in starts]
    elif even and number == 1 and len(larger[0]) > len(things[0]) and together <= len(larger[0]) // len(things[0]):
        given = [cpus for cpus, _ in zip(hydra_bound(things, larger, together), range(count), strict=False)]
    else:
        raise Unclear(f"-bind-to {bind[:40]} over {(over or bind)[:40]} is not predicted")
    return tuple(_as_kernel(cpus, topology) for cpus in given)


def _user(text: str, count: int) -> list[CpuSet]:
    """Return the entries of a user: list: ``0-3``, ``0+2``."""
    entries = text.split(",")[:count]
    plain = re.compile(r"\d{1,7}(-\d{1,7})?(\+\d{1,7}(-\d{1,7})?)*", re.ASCII)
    if odd := next((entry for entry in entries if not plain.fullmatch(entry)), None):
        raise Unclear(f"how Hydra reads {odd[:40]!a} is not predicted")
    try:
        return [CpuSet.parse(entry.replace("+", ",")) for entry in entries]
    except BadValue as error:
        raise Unclear(f'the list after "user:" cannot be read: {error.problem}') from error


def _request(topology: Topology, text: str) -> tuple[tuple[CpuSet, ...], int]:
    """Return the objects, all alike, that one of both options names, and how many of them together."""
    match = re.fullmatch(r"([a-z0-9]+)(?::([1-9]\d{0,4}))?", text, re.ASCII)
    name = {"package": "socket", "numanode": "numa"}.get(match[1], match[1]) if match else ""
    found = objects(topology).get(name)
    if match is None or found is None or (not found and (name == "numa" or hides_l3(topology.inside))):
        raise Unclear(f"how Hydra reads {text[:40]!a} is not predicted")
    if name == "socket" and len(found) < len(topology.packages):
        raise Unclear("Hydra also counts a socket without usable CPUs if devices are attached to it")
    if not found:
        raise Refused(f"hardware object not found: no {name} on this machine")
    return found, int(match[2] or 1)


def claim(words: Words, tools: frozenset[str]) -> int:
    """Return how surely a line is MPICH's: by its program, by Hydra's words, by what is on the machine."""
    return 7 if words.launcher.endswith("mpich") else 5 if kin(words) else 2 if "mpich" in tools else 0


_FOREIGN = words(
    "-perhost -rr -nolocal -umask -s -tmpdir -path -wd -print-rank-map -timeout -silent-abort -prepend-timestamp -prot -grr"
)
"""Options of other Hydras that MPICH's mpiexec 4 and 5 end at: "unrecognized argument"."""


_ELSEWHERE = words(
    "-configfile -order-nodes -skip-launch-node -rmk -topolib -localhost -rankmap -membind -gpus-per-proc -gpu-subdevs-per-proc"
    " -hybrid-hosts"
)
"""Options that say of hosts, memory or devices what is not predicted."""


@dataclass(frozen=True)
class HostSlots:
    """A host of the line."""

    name: str | None
    slots: int | None = None
    """None if the line does not say."""
    binding: str | None = None


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of MPICH's; raise Refused or Unclear."""
    line = made.line
    _odd(line)
    each = {atoi(said.values[-1]) for said in line.options if said.name == "-ppn" and said.values} - {-1}
    nodes = host_slots(made)
    nodes = [replace(node, slots=max(each, default=1 if node.slots is None else node.slots)) for node in nodes]
    order = _order(line, nodes)
    variables, said = line.words.environment, {said.name: said.values[-1] for said in reversed(line.options) if said.values}
    if nodes[0].name is not None and "-bind-to" not in said and "HYDRA_BINDING" in variables:
        raise Unclear("HYDRA_BINDING may not reach the other hosts, depending on how daemons are started there")
    bind, over = said.get("-bind-to", variables.get("HYDRA_BINDING")), said.get("-map-by", variables.get("HYDRA_MAPPING"))
    counts = Counter(order)
    kinds = {(nodes[place].binding or bind, count): None for place, count in counts.items()}
    try:
        given = {kind: bound(kind[0], over, made.topology, kind[1]) for kind in kinds}
    except Refused as refusal:
        if line.release is None or line.release < (4, 0, 0):
            raise Unclear(f"MPICH 5.0.2 says: {refusal}; older versions did bind such ranks, but it is unknown how") from refusal
        raise
    mine = {place: given[nodes[place].binding or bind, count] for place, count in counts.items()}
    return seated(order, mine, lambda place: nodes[place].name)


def _odd(line: Line) -> None:
    """Refuse or leave alone what Hydra would end at, or what makes its hosts unknown."""
    young = line.release is None or line.release >= (4, 0, 0)
    for said in line.options:
        name = "-" + said.written[0].lstrip("-").partition("=")[0].lower()
        if not said.known or (name in _FOREIGN and young):
            raise Refused(f"unrecognized argument {said.written[0][:40]}")
        if said.name in _ELSEWHERE:
            raise Unclear(f"the effect of {said.name} is not predicted")
    said_once(line)
    unread = ("HYDRA_CONFIG_FILE", "HYDRA_RMK", "HYDRA_TOPOLIB", "HYDRA_MEMBIND")
    if odd := next((name for name in unread if name in line.words.environment), None):
        raise Unclear(f"{odd} is set: its effect is unknown")
    if line.release is not None and line.release < (3, 1, 0):
        raise Unclear("MPICH before 3.1 binds differently")


_HOST = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,254})(?::(\d{1,6}))?(?:\s+binding=(\S+))?", re.ASCII)


def host_slots(made: Prediction) -> list[HostSlots]:
    """Return the hosts of a line in their order; one without a name where it has none."""
    options = [said for said in made.line.options if said.name in ("-f", "-hosts", "-host")]
    file = made.line.words.environment.get("HYDRA_HOST_FILE") if not options else None
    if len(options) > 1:
        raise Unclear("the line lists its hosts twice")
    file = options[0].values[-1] if options and options[0].name == "-f" else file
    if file is not None and file not in made.files:
        raise Unclear(f"the host file {file[:80]} was not read")
    if file is None and not options:
        return [HostSlots(None)]
    rows = made.files[file].splitlines() if file is not None else options[0].values[-1].split(",")
    plain = [row for each in rows[: MOST_RANKS + 1] if (row := each.strip()) and not row.startswith("#")]
    found = [match for row in plain if (match := _HOST.fullmatch(row))]
    if not found or len(found) < len(plain) or len({match[1] for match in found}) < len(found):
        raise Unclear("no host is named, one is repeated, or one is written in a form that is not predicted")
    return [HostSlots(match[1], int(match[2]) if match[2] else None, match[3]) for match in found]


def _order(line: Line, nodes: Sequence[HostSlots]) -> list[int]:
    """Return each rank's host by its position: slots of the hosts in turn, from the first again."""
    total = 0
    for segment in line.segments:
        number = atoi(segment.value("-n") or "0")
        total += number if number > 0 else sum(node.slots or 0 for node in nodes)
    if total > MOST_RANKS:
        raise Unclear(f"{total} ranks exceed the limit of {MOST_RANKS} for prediction")
    if any((node.slots or 0) <= 0 for node in nodes):
        raise Refused("a host has no slots, so mpiexec crashes")
    turn = [position for position, node in enumerate(nodes) for _ in range(min(node.slots or 0, total))]
    return [turn[rank % len(turn)] for rank in range(total)]


def user_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about Hydra's lists."""
    bind, count = case.want.bind or "", len(case.here)
    open_ends = sum(cpus is None for cpus in case.here)
    if bind.startswith("user:") and open_ends and not case.line.inner:
        what, why = (
            f"{open_ends} of {count} ranks on a node are not bound",
            "Hydra silently leaves ranks without a list entry unbound.",
        )
        evidence = f"{count - open_ends} entries in {bind[:60]}"
        yield warning("user-list-short", what, why, evidence, f"{count} entries", bad=True)


HYDRA, HYDRA_ALIASES = option_table("""
    -n -np 1 starts {0} ranks
    -ppn -perhost 1 starts {0} ranks on each node
    -hosts -machine -hostlist -machines -machinelist 1 on the hosts {0}
    -host 1 on the host {0}
    -f -hostfile -machinefile 1 on the hosts of the file {0}
    -genv 2 sets {0} to {1} for all ranks
    -env 2 sets {0} to {1} for these ranks
    -genvall 0 passes all variables on
    -genvnone 0 passes no variables on
    -genvlist 1 passes the variables {0} on
    -envall 0 passes all variables on
    -envnone 0 passes no variables on
    -envlist 1 passes the variables {0} on
    -bind-to -binding 1 sets CPU binding to {0}
    -map-by 1 maps ranks by {0}
    -membind 1 binds memory with policy {0}
    -rankmap 1 maps ranks to nodes as {0}
    -wdir -wd 1 starts in the folder {0}
    -launcher -bootstrap 1 starts daemons by {0}
    -launcher-exec -bootstrap-exec 1 starts daemons with the program {0}
    -rmk 1 asks {0} for the hosts
    -iface 1 uses the network {0} to start
    -localhost 1 names this host {0}
    -configfile 1 reads the line from {0}
    -prepend-rank -l 0 marks output with the rank
    -print-rank-map 0 prints where each rank goes
    -print-all-exitcodes 0 prints every exit status
    -report-bindings 0 prints where each rank is bound
    -verbose -v -debug 0 prints more messages
    -info -version 0 prints its build information
    -outfile-pattern -outfile 1 writes output to {0}
    -errfile-pattern -errfile 1 writes errors to {0}
    -path 1 finds the program in {0}
    -tmpdir 1 keeps its files in {0}
    -usize 1 allows {0} ranks in all
    -s 1 gives the input to {0}
    -umask 1 sets the umask {0}
    -disable-auto-cleanup 0 continues when a rank dies
    -enable-auto-cleanup 0 ends when a rank dies
    -disable-hostname-propagation 0 lets ranks find out their host's name
    -enable-hostname-propagation 0 gives ranks their host's name
    -enable-x 0 passes X11 on
    -disable-x 0 passes no X11 on
    -topolib 1 reads the topology with {0}
    -demux 1 waits for output with {0}
    -nameserver 1 publishes names at {0}
    -hybrid-hosts 0 assumes no path is the same on different hosts
    -order-nodes 1 sorts the hosts by their slots, {0}
    -pmi-port 0 communicates with the ranks over a port
    -profile 0 profiles itself
    -prepend-pattern 1 marks output with {0}
    -output-from 1 shows only the output of rank {0}
    -skip-launch-node 0 starts no rank on this node
    -gpus-per-proc -g 1 shows each rank {0} GPUs
    -gpu-subdevs-per-proc 1 shows each rank {0} parts of GPUs
    -memory-alloc-kinds 1 asks for memory of the kinds {0}
    -rr 0 places ranks round-robin by node
    -nolocal 0 starts no rank on this node
    -timeout 1 ends after {0} seconds
    -prepend-timestamp 0 marks output with the time
    -silent-abort 0 does not report which rank died
    -prot 0 prints how hosts communicate
    -grr 1 starts {0} ranks on each node in turn
""")


def any_hyphens(name: str) -> tuple[str, ...]:
    """Return the names of an option of Hydra: with any number of hyphens, in capitals or not."""
    return name, f"-{name.lstrip('-').lower()}"


def atoi(text: str) -> int:
    """Return the number that a text begins with, as C reads it: 0 where it begins with none."""
    match = re.match(r"\s*([+-]?\d{1,18})", text, re.ASCII)
    return int(match[1]) if match else 0


_COUNTED = re.compile(r"-bind-to \S*user:|-(?:bind-to|map-by) (?:core|hwthread|socket|numa|l[1-3]cache):\d", re.ASCII)
"""An object and a count: Hydra's alone."""


_OWN = words("-genv -ppn -perhost -hosts -genvall -env -f -launcher -bootstrap -rankmap")


def kin(words: Words) -> bool:
    """Whether a line has words that Hydra alone takes."""
    text = " ".join((*words.environment, *words.rest))
    return words.launcher.endswith("hydra") or bool(_OWN & set(words.rest)) or bool(_COUNTED.search(text))


OBJECTS = ("hwthread", "core", "l3cache", "numa", "socket")
"""Hydra's names, the smallest thing first."""


def objects(topology: Topology) -> dict[str, tuple[CpuSet, ...]]:
    """Return the CPUs of everything that ranks can be bound to or spread over, by Hydra's names and in hwloc's order."""
    known, inside = logical_numbering(topology), topology.inside
    # Where some nodes have memory alone, Hydra 5.0.2 counts these too, and its proxy dies of -map-by numa now and then.
    alone = any(not node.cpuset for node in inside.nodes)
    parts = {
        "l3cache": [l3.cpuset for l3 in inside.l3],
        "numa": [] if alone else [node.cpuset for node in inside.nodes],
        "socket": [package.cpuset for package in inside.packages],
    }
    found = {name: ordered(sets, known) for name, sets in parts.items()}
    cores = known.cores if inside.cores else ()  # where none are shown, those that launchers count are not ours
    return {"hwthread": tuple(CpuSet([cpu]) for cpu in known.pus), "core": cores, **found}


def alike(sets: Sequence[CpuSet], topology: Topology) -> bool:
    """Whether some parts hold as many CPUs each and no CPU twice, and together the whole of what may be used."""
    return bool(sets) and len({len(each) for each in sets}) == 1 and sum(map(len, sets)) == len(topology.inside.pus)


def _alike(name: str) -> str:
    """Return what options have in common of which a line takes one: -enable-x and -disable-x, -genvall and -genvlist."""
    name = re.sub(r"^-(?:en|dis)able|(?<=env)(?:all|none|list)$|(?<=^-prepend).*", "*", name)
    return "-ppn" if name in ("-rr", "-grr") else name


def said_once(line: Line) -> None:
    """Refuse a line that asks for no ranks, and leave open one that says a thing twice, in a program or in the whole of it."""
    if any(said.name == "-info" for said in line.options):
        raise Refused("it prints its build information and exits")
    if not all(segment.command for segment in line.segments):
        raise Refused("no executable provided")
    programs = [[_alike(said.name) for said in segment.options] for segment in line.segments]
    for every in (*programs, [name for mine in programs for name in mine if name not in ("-n", "-wdir", "-env*")]):
        if twice := next((name for name, times in Counter(every).items() if times > 1 and name not in ("-genv", "-env")), None):
            raise Unclear(f"how Hydra reads {twice} is not predicted if it is repeated or combined with its opposite")


def of_hydra(line: Line, told: Request) -> Request:
    """Return what a line of Hydra asks for, beside its variables."""
    segment, variables = line.first, line.words.environment
    bind = segment.value("-bind-to") or variables.get("HYDRA_BINDING")
    over = segment.value("-map-by") or variables.get("HYDRA_MAPPING")
    listed = segment.value("-hosts", "-host")
    return replace(
        told,
        ranks=number(segment.value("-n", "-np")),
        per_node=number(segment.value("-ppn")) or (1 if segment.has("-rr") else None),
        hosts=hosts(listed or ""),
        hostfile=segment.value("-f", "-hostfile") or (None if listed else line.words.environment.get("HYDRA_HOST_FILE")),
        level=over,
        map_text=over,
        bind=bind,
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
    unbound_line=unbound_line("mpiexec", UNBOUND),
)
