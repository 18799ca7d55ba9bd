"""Warnings about the places of ranks on a node: shared and overlapping cores, one memory for all, borders, the far adapter."""

from collections import Counter
from collections.abc import Iterator, Sequence

from advisor.language.units import count as counted
from advisor.launch.lint.openmpi.mapper import cpusets_of
from advisor.launch.lint.openmpi.prrte import adapters
from advisor.launch.lint.predict import Prediction, ranks_here
from advisor.launch.lint.rewrite import rebound
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.devices import fabric_of, is_on_fabric
from advisor.model.hardware.numbering import LogicalNumbering, logical_numbering
from advisor.model.launch_line import LintWarning

ADVISE = "advisor bind writes a line for this machine"


def places(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield the warnings about where the ranks of the first host are."""
    yield from _shared(case, bound)
    yield from _overlapping(bound)
    yield from _one_memory(case, bound)
    yield from _borders(case, bound)
    yield from _adapter(case, bound)


def spread(case: Prediction) -> tuple[str, ...]:
    """Return binding options for this launcher that name everything, for the ranks of a node."""
    count, title = ranks_here(case) or 1, case.line.family
    parts = [len(case.topology.inside.l3), len(case.topology.inside.cpu_nodes), len(case.topology.inside.packages)]
    kind, number = next(
        ((kind, n) for kind, n in zip(("l3cache", "numa", "package"), parts, strict=True) if n and count % n == 0), ("core", 0)
    )
    name = "socket" if kind == "package" and title != "openmpi5" else kind
    if title in ("mpich", "intelmpi"):
        return ("-bind-to", "core", "-map-by", name)
    if number == 0 or len(case.line.segments) > 1:  # ppr counts each program's ranks again
        return ("--map-by", "core", "--bind-to", "core")
    width = case.want.threads or 1
    pe = f":PE={width}" if width > 1 else ""
    return ("--map-by", f"ppr:{count // number}:{name}{pe}", "--bind-to", "core")


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
    better = rebound(case.line, spread(case)) if case.four or case.five else ADVISE
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


def cores_of(cpus: CpuSet, known: LogicalNumbering) -> set[int]:
    """Return the logical numbers of the cores of some CPUs."""
    return {known.core_of[cpu] for cpu in cpus if cpu in known.core_of}


def warning(name: str, what: str, why: str, evidence: str, better: str | None = None, *, bad: bool = False) -> LintWarning:
    """Return a warning."""
    return LintWarning(id=name, what=what, why=why, evidence=evidence, better=better, misbinds=bad)
