"""MPICH and its launcher Hydra: ``-bind-to user:`` lists, or a short form where a model of Hydra gives the same."""

from collections.abc import Iterable, Iterator, Sequence

from advisor.launch.launcher import Avoided, Dialect, JobScript, Launch, LaunchRequest, Lines, RankVariables, VersionQuery, late
from advisor.launch.launchers import wrapper
from advisor.launch.lint.option_tables import HYDRA, HYDRA_ALIASES
from advisor.launch.ranks_per_host import (
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
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering, ordered
from advisor.model.hardware.topology import Topology
from advisor.model.placement import Placement, Slot

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
ALIASES = ("hydra", "mpiexec.hydra")
TITLE = "MPICH"
ORDER = 30
VERSIONS = (
    # HYDRA build details:\n    Version:                                 5.0.2;   MPICH Version:      5.0.2   (mpichversion)
    VersionQuery(
        "mpich",
        (("mpiexec", "--version"), ("mpiexec.hydra", "--version"), ("mpichversion",)),
        r"^(?:HYDRA build details:\s+Version|MPICH Version):[ \t]+([0-9][^\s]*)",
    ),
)
VARIABLES = ("HYDRA_",)
RANKS = RankVariables(rank=("PMI_RANK",), size=("PMI_SIZE",), local=("MPI_LOCALRANKID", "PMI_LOCAL_RANK"))

UNBOUND = ("-bind-to", "none")
JOB = JobScript()
LINES = Dialect(
    programs=("mpiexec", "mpirun"),
    options=HYDRA,
    aliases=HYDRA_ALIASES,
    ranks=late("hydra.mpich:ranks"),
    request=late("request:of_hydra"),
    claim=late("hydra.bind_to:claim"),
    lists=late("cpu_lists:user_lists"),
    spellings=late("option_tables:any_hyphens"),
    equals=True,
    binds=False,
)


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
