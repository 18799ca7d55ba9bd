"""Warnings about where ranks end up on this machine: shared cores, borders crossed, the wrong socket, too many threads."""

from collections import Counter
from collections.abc import Iterator, Sequence

from advisor.language.units import count as counted
from advisor.launch.lint.binders import binder_cpus
from advisor.launch.lint.openmpi.prrte import adapters
from advisor.launch.lint.outcome import Refused, Unclear, cpusets_of
from advisor.launch.lint.predict import Prediction, ranks_here
from advisor.launch.lint.rewrite import rebound, rewrite
from advisor.launch.lint.spelling import ADVISE, cores_of, defaults, jobs, refused, spread, warning
from advisor.launch.registry import of_lines
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.devices import fabric_of, is_on_fabric
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.placement import LintWarning


def binding(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the places of ranks; none of several programs whose ranks are not known."""
    if len(case.line.segments) > 1 and case.unclear:
        return
    short = list(_slots(case))
    yield from short or refused(case)
    yield from defaults(case)
    yield from _per_node(case)
    yield from _uneven(case)
    yield from _binders(case)
    bound = [cpus for cpus in case.here if cpus]
    if bound:
        yield from places(case, bound)
    yield from _threads(case, bound)
    yield from jobs(case, bound)


def unbound(case: Prediction) -> bool:
    """Whether the launcher binds no rank: it was set so, or never does of itself."""
    want = case.want
    return (
        want.bind == "none" or want.exports.get("I_MPI_PIN") == "0" or (not of_lines()[case.line.family].binds and not want.bind)
    )


def _per_node(case: Prediction) -> Iterator[LintWarning]:
    want, inside = case.want, case.topology.inside
    by_node = want.level in ("node", "slot") or (want.ppr is not None and want.ppr[1] == "node")
    if not (case.five and by_node and not want.bind and not want.pe) or len(inside.cpu_nodes) < 2:
        return
    why = "5.x maps by node and then binds each rank to the first NUMA node that has a core left (open-mpi/ompi#11726)."
    where = (
        f"socket 0 of {len(inside.packages)}" if len(inside.packages) > 1 else f"the first of {len(inside.cpu_nodes)} NUMA nodes"
    )
    written = want.map_text or "-N"
    yield warning(
        "per-node", f"ranks are bound to {where}", why, f"--map-by {written}", rebound(case.line, spread(case)), bad=True
    )


def _uneven(case: Prediction) -> Iterator[LintWarning]:
    want, known = case.want, logical_numbering(case.topology)
    kind = want.ppr[1] if want.ppr else want.level
    if not case.open_mpi or kind not in ("l3cache", "numa", "package") or not (want.pe or (want.ppr or (1, ""))[0] > 1):
        return
    sizes = sorted({len([core for core in known.cores if core <= part]) for part in cpusets_of(kind, case.topology, known)})
    if len(sizes) > 1:
        why = "Over parts of unequal size 4.1 crosses their borders, and 5.0 leaves small ones out; both silently."
        evidence = f"one {kind} has {' or '.join(map(str, sizes))} cores here"
        better = "a rankfile: advisor bind writes one"
        yield warning(
            "uneven-parts", f"--map-by {want.map_text} puts ranks elsewhere than it says", why, evidence, better, bad=True
        )


def _slots(case: Prediction) -> Iterator[LintWarning]:
    want = case.want
    if not case.open_mpi or not want.ranks or not want.hosts or want.oversubscribe or want.hostfile:
        return
    slots = sum(slots or 1 for _, slots in want.hosts)
    if any(name.startswith(("SLURM_", "PBS_")) for name in case.line.words.environment) or slots >= want.ranks or want.ppr:
        return
    each = -(-want.ranks // len(want.hosts))
    named = ",".join(f"{name}:{each}" for name, _ in want.hosts)
    better = rewrite(case.line, lambda said: ("--host", named) if said.name == "--host" else None)
    why = "A host in --host without :N is one slot; outside a scheduler's job more ranks are refused."
    yield warning(
        "slots-short",
        f"{want.ranks} ranks, and the hosts have {counted(slots, 'slot')}",
        why,
        f"--host with {len(want.hosts)} names",
        better,
    )


def _binders(case: Prediction) -> Iterator[LintWarning]:
    for binder in case.line.inner:
        try:
            own = binder_cpus(binder, None, case.topology)
        except Refused as refusal:
            yield warning("binder-beyond", str(refusal), "It refuses what is not there.", binder.written[:80])
            continue
        except Unclear:
            continue
        if own is not None and not unbound(case) and not case.refused:
            plain = (
                rebound(case.line, ("--bind-to", "none")) if case.open_mpi else f"no {binder.tool}, or no binding by the launcher"
            )
            why = (
                f"{binder.tool} runs after the launcher has bound the rank, and sets other CPUs: the launcher's binding is lost."
            )
            evidence = f"{binder.written[:60]} is CPUs {own}"
            yield warning(
                "binders-fight", f"every rank may run on all {counted(len(own), 'CPU')} of {binder.tool}", why, evidence, plain
            )
    for binder in case.line.words.around:
        if (binder.cpus or binder.nodes) and case.line.family != "numactl":
            why = "The launcher binds its ranks again, and its daemons on other hosts never see it."
            yield warning(
                "binder-outside", f"{binder.tool} around the launcher does not bind the ranks", why, binder.written[:80], ADVISE
            )


def _threads(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    threads = case.want.threads
    if not threads:
        return
    count, cores = ranks_here(case) or 1, len(case.topology.inside.cores)
    known = logical_numbering(case.topology)
    narrow = min((len(cores_of(cpus, known)) for cpus in bound), default=None)
    if narrow is not None and threads > narrow:
        why = "Threads take turns on the cores of their rank; OpenMP does not know better than OMP_NUM_THREADS."
        better = rebound(case.line, spread(case)) if case.open_mpi else f"{threads} cores for each rank"
        evidence = f"OMP_NUM_THREADS={threads}, and {counted(narrow, 'core')} for a rank"
        yield warning("too-many-threads", f"{threads} threads of a rank share {counted(narrow, 'core')}", why, evidence, better)
        return
    most = max(Counter(rank.host for rank in case.ranks or ()).values(), default=count)
    if most * threads > cores and case.ranks:
        none = "" if bound else ", none bound"
        evidence = f"{counted(most, 'rank')} of {threads} threads on a node{none}, and {cores} cores"
        why = "They take turns on the cores" + (" of the node, wherever the kernel puts them." if none else ".")
        yield warning("too-many-threads", "there are more threads than cores", why, evidence, ADVISE)


def places(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield the warnings about where the ranks of the first host are."""
    yield from _shared(case, bound)
    yield from _overlapping(bound)
    yield from _one_memory(case, bound)
    yield from _borders(case, bound)
    yield from _adapter(case, bound)


def _shared(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    known = logical_numbering(case.topology)
    most, times = Counter(bound).most_common(1)[0]
    if times > 1 and not case.line.inner:
        cores = len({known.core_of[cpu] for cpu in most if cpu in known.core_of})
        name = "same-core" if cores == 1 else "same-cpus"
        if name == "same-cpus" and times <= cores and case.want.level != "pe-list":
            return
        why = "Ranks with the same CPUs take turns on them, or are moved about between them."
        evidence = f"CPUs {most}: {counted(cores, 'core')} for {times} ranks"
        where = f"core {known.core_of.get(most.first or 0, 0)}" if cores == 1 else f"the same {cores} cores"
        yield warning(name, f"{times} ranks run on {where}", why, evidence, ADVISE)


def _overlapping(bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning where ranks share some CPUs, and have others for themselves."""
    holder: dict[int, int] = {}
    for rank, cpus in enumerate(bound[:4096]):
        other = next((holder[cpu] for cpu in cpus if cpu in holder and bound[holder[cpu]] != cpus), None)
        if other is not None:
            why = "On the cores that both have they take turns, and each is slower than the ranks that share none."
            evidence = f"rank {other} has CPUs {bound[other]}, rank {rank} has {cpus}"
            both = counted(len(bound[other] & cpus), "CPU")
            yield warning("overlapping", f"ranks {other} and {rank} of a node share {both}", why, evidence, ADVISE)
            return
        holder.update(dict.fromkeys((cpu for cpu in cpus if cpu not in holder), rank))


def _one_memory(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning where several ranks are all at one memory and the others of the machine stand idle.

    Of a list of cores, a rankfile or a numactl it is taken that this is meant; two ranks are too few to say.
    """
    nodes = case.topology.inside.cpu_nodes
    listed = case.want.level in ("pe-list", "rankfile", "dist") or (case.want.bind or "").startswith(("map_", "mask_", "user:"))
    home = next((node for node in nodes if union(bound) <= node.cpuset), None)
    if len(bound) < 3 or len(nodes) < 2 or home is None or listed or case.line.inner or case.want.exports.get("I_MPI_PIN_DOMAIN"):
        return
    why = "Their data comes from the memory that they are at: the channels of the others are not used."
    evidence = f"{counted(len(bound), 'rank')} have CPUs {union(bound)}; node {home.os_index} has {home.cpuset}"
    better = rebound(case.line, spread(case)) if case.open_mpi else ADVISE
    yield warning(
        "one-memory", f"all ranks of a node are at NUMA node {home.os_index}, one of {len(nodes)}", why, evidence, better
    )


def _borders(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning for each kind of border that ranks cross although they need not; each rank in its worst one."""
    known = logical_numbering(case.topology)
    kinds = (("package", "socket", "sockets"), ("numa", "NUMA node", "NUMA nodes"), ("l3cache", "L3 group", "L3 groups"))
    told: set[int] = set()
    for kind, one, many in kinds:
        parts = cpusets_of(kind, case.topology, known)
        crossing = [i for i, cpus in enumerate(bound[:4096]) if i not in told and _crosses(cpus, parts)]
        if not crossing:
            continue
        cpus = bound[crossing[0]]
        touched = [i for i, part in enumerate(parts) if part & cpus]
        if (
            len(cores_of(cpus, known)) > min(len(cores_of(part, known)) for part in parts)
            and union(parts[i] for i in touched) == cpus
        ):
            continue  # whole parts on purpose
        told.update(crossing)
        why = f"Threads of one rank then share data over the border of {many}, and its memory is on one side only."
        evidence = f"rank {crossing[0]} has CPUs {cpus}: {one}s {', '.join(map(str, touched[:8]))}"
        name = {"package": "across-socket", "numa": "across-numa", "l3cache": "across-l3"}[kind]
        yield warning(name, f"{counted(len(crossing), 'rank')} of a node lie across {many}", why, evidence, ADVISE)


def _crosses(cpus: CpuSet, parts: Sequence[CpuSet]) -> bool:
    return sum(1 for part in parts if part & cpus) > 1


def _adapter(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning where ranks of several hosts are far from the adapter; on one host no message goes through it."""
    if len({rank.host for rank in case.ranks or ()}) < 2:
        return
    hcas = {hca.name: hca for hca in case.machine.hcas or ()}
    fabric, places = fabric_of(tuple(hcas.values())), dict(adapters(case.machine))
    if case.want.adapter in places:
        places = {case.want.adapter or "": places[case.want.adapter or ""]}
    else:  # Ethernet beside a fabric is no adapter that ranks should be near to.
        places = {name: nodes for name, nodes in places.items() if is_on_fabric(hcas[name], fabric)}
    topology = case.topology.inside
    near = union(node.cpuset for node in topology.nodes if any(node.os_index in nodes for nodes in places.values()))
    sockets = union(package.cpuset for package in topology.packages if package.cpuset & near)
    if not near or not sockets or union(bound) & sockets or len(topology.packages) < 2:
        return
    name, nodes = next(iter(places.items()))
    why = "Their messages cross the link of the sockets to reach the adapter; osu_mbw_mr was seen at about half there."
    evidence = f"{name} is at NUMA node {','.join(map(str, nodes))}; the ranks have CPUs {union(bound)}"
    better = f"advisor bind --near {name}"
    yield warning("far-from-hca", f"all ranks of a node are on a socket without {name}", why, evidence, better)
