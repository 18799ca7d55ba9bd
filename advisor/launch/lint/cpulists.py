"""Ranks of a list of cores: --cpu-set and --cpu-list of Open MPI 4, pe-list of 5."""

from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.launch.lint.openmpi import Ground, Host, Proc, Refused, Unclear, bounded, hosts_with_slots, told
from advisor.launch.lint.wanted import Wanted
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.topology import Topology
from advisor.model.launch_line import LintRank


def listed4(want: Wanted, ground: Ground) -> tuple[LintRank, ...]:
    """Return ranks that --cpu-set or --cpu-list binds: all to the whole list, or in the order of its CPUs' numbers."""
    if not want.cpus or want.oversubscribe or want.no_local:
        raise Unclear("a list of cores is worked out only where ranks have slots and the list is there")
    try:
        numbers = CpuSet.parse(want.cpus)
        cpus = ground.known.pus_cpus(numbers) if want.hwthreads else ground.known.cores_cpus(numbers)
    except BadValue as error:
        raise Refused(f"the list {want.cpus[:60]} cannot be used: {error.problem}") from error
    hosts = hosts_with_slots(want, len(ground.known.pus if want.hwthread_slots else ground.known.cores))
    total = bounded(want.ranks or sum(host.slots for host in hosts))
    single = list(cpus)
    rank = 0
    for host in hosts:
        for local in range(min(host.slots, total - rank)):
            if want.ordered and local >= len(single):
                raise Refused(f"the list has {len(single)} CPUs and more ranks are on a node; nothing starts")
            host.procs.append(Proc(cpus, 0, CpuSet([single[local]]) if want.ordered else cpus, rank))
            rank += 1
    if rank < total:
        raise Refused(f"{total} ranks, and there are {rank} slots; nothing starts")
    return told(hosts, total)


def listed5(want: Wanted, topology: Topology, hosts: Sequence[Host], *, expanded: bool) -> None:
    """Give hosts the ranks of a pe-list: each bound to all of it, or in its order one core each, anew on every host.

    ``expanded``: newer ones count what is in a range; 5.0 takes it for one entry.
    """
    if want.oversubscribe or want.overload or (want.pe or 1) > 1 or want.rank_by not in (None, "slot") or not want.cpus:
        raise Unclear("a list with other directives beside it is not worked out here")
    if want.bind not in (None, "core", "hwthread"):
        raise Refused(f"a pe-list needs --bind-to core or hwthread, and {want.bind} is asked for; nothing starts")
    ground = Ground(topology, threads=want.bind == "hwthread" or (want.hwthreads and want.bind is None))
    try:
        numbers = CpuSet.parse(want.cpus)
        whole = union(ground.units[number] for number in numbers)
    except (BadValue, IndexError) as error:
        raise Unclear(f"the list {want.cpus[:60]} names cores that are not there") from error
    if not want.ordered and not any(whole <= package for package in ground.parts("package")):
        raise Refused("the list lies across sockets, which 5.x refuses for ranks bound to all of it; nothing starts")
    if expanded and want.ordered and "-" in want.cpus:
        raise Unclear("ranges in an ordered list are not worked out here")
    entries = [str(number) for number in numbers] if expanded and not want.ordered else want.cpus.split(",")
    first = rank = sum(len(host.procs) for host in hosts)
    total = first + bounded(want.ranks or len(entries))
    for host in hosts:
        room = max(0, min(len(entries), host.free, ground.count(whole), total - rank))
        for entry in entries[:room]:
            cpus = ground.units[int(entry.partition("-")[0])] if want.ordered else whole
            host.procs.append(Proc(whole, 0, cpus, rank))
            rank += 1
    if rank < total:
        raise Refused(f"{total} ranks, and the list of {len(entries)} entries and the slots allow {rank}; nothing starts")
