"""Warnings about where ranks end up on this machine: shared cores, borders crossed, the wrong socket, too many threads."""

from collections import Counter
from collections.abc import Iterator, Sequence

from advisor.language.units import count as counted
from advisor.launch.lint.openmpi.mapper import cpusets_of
from advisor.launch.lint.placement import ADVISE, cores_of, places, spread, warning
from advisor.launch.lint.predict import Prediction, binder_cpus, ranks_here
from advisor.launch.lint.rewrite import rebound, rewrite
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.launch_line import TITLES, LintWarning


def binding(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the places of ranks; none of several programs whose ranks are not known."""
    if len(case.line.segments) > 1 and case.unclear:
        return
    short = list(_slots(case))
    yield from short or _refused(case)
    yield from _defaults(case)
    yield from _per_node(case)
    yield from _uneven(case)
    yield from _binders(case)
    bound = [cpus for cpus in case.here if cpus]
    if bound:
        yield from places(case, bound)
    yield from _threads(case, bound)
    yield from _jobs(case, bound)


def given(case: Prediction) -> bool:
    """Whether the line says anything of binding."""
    want = case.want
    pins = any(name.startswith("I_MPI_PIN") for name in want.exports)
    return bool(want.bind or want.level or want.pe or want.rankfile or want.cpus or pins)


def unbound(case: Prediction) -> bool:
    """Whether the launcher binds no rank: it was set so, or never does of itself."""
    want = case.want
    return want.bind == "none" or want.exports.get("I_MPI_PIN") == "0" or (case.line.family == "mpich" and not want.bind)


def _refused(case: Prediction) -> Iterator[LintWarning]:
    if case.refused and not case.refused.startswith("it does not know"):
        name = "ppr-in-part" if "no multiple" in case.refused else "refused"
        yield warning(
            name, f"{TITLES[case.line.family]} starts nothing", f"It says: {case.refused}.", _line_words(case), ADVISE, bad=True
        )


def _line_words(case: Prediction) -> str:
    want = case.want
    return f"{want.ranks or 'all'} ranks, --map-by {want.map_text or 'not given'}, --bind-to {want.bind or 'not given'}"[:160]


def _defaults(case: Prediction) -> Iterator[LintWarning]:
    want, inside = case.want, case.topology.inside
    if not (case.four or case.five) or (want.bind or want.pe or want.rankfile or want.cpus or want.oversubscribe):
        return
    count = ranks_here(case) or 0
    better = rebound(case.line, spread(case))
    nodes, cores = len(inside.cpu_nodes), len(inside.cores)
    ppr_or_slot = want.level in (None, "ppr", "slot", "node")
    if case.four and ppr_or_slot and (want.ranks or 3) > 2:
        each = cores // max(1, nodes)
        why = "Without --bind-to, 4.x binds more than 2 ranks to NUMA nodes; NPS or SNC in the BIOS changes what that is."
        evidence = f"{counted(nodes, 'NUMA node')} here, {each} cores each"
        yield warning(
            "nps-default", f"each rank is bound to a NUMA node of {each} cores, which changes with NPS", why, evidence, better
        )
    elif want.level is None:
        why = "The version decides then: up to 2 ranks get a core each, more get a NUMA node each in 4.x and a core in 5.x."
        evidence = f"{counted(count, 'rank')} on a node, {cores} cores and {counted(nodes, 'NUMA node')} here"
        yield warning(
            "default-binding", "the binding is the launcher's default: one core a rank, the first ones", why, evidence, better
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
    if (
        not (case.four or case.five)
        or kind not in ("l3cache", "numa", "package")
        or not (want.pe or (want.ppr or (1, ""))[0] > 1)
    ):
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
    if not (case.four or case.five) or not want.ranks or not want.hosts or want.oversubscribe or want.hostfile:
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
    inside = case.topology.inside
    for binder in case.line.inner:
        own = binder_cpus(binder.nodes, binder.cpus, case.topology)
        if own is None and (binder.nodes or binder.cpus):
            what = f"{binder.tool} ends with an error: {(binder.nodes or binder.cpus or '')[:40]} is not on this machine"
            numbers = ", ".join(str(node.os_index) for node in inside.cpu_nodes[:16])
            yield warning("binder-beyond", what, "It refuses what is not there.", f"NUMA nodes here: {numbers}")
        elif own is not None and not unbound(case):
            plain = (
                rebound(case.line, ("--bind-to", "none"))
                if case.four or case.five
                else f"no {binder.tool}, or no binding by the launcher"
            )
            why = (
                f"{binder.tool} runs after the launcher has bound the rank, and sets other CPUs: the launcher's binding is lost."
            )
            evidence = f"{binder.written[:60]} is CPUs {own}"
            yield warning(
                "binders-fight", f"every rank may run on all {counted(len(own), 'CPU')} of {binder.tool}", why, evidence, plain
            )
    for binder in case.line.words.around:
        if binder.cpus or binder.nodes:
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
        better = rebound(case.line, spread(case)) if case.four or case.five else f"{threads} cores for each rank"
        evidence = f"OMP_NUM_THREADS={threads}, and {counted(narrow, 'core')} for a rank"
        yield warning("too-many-threads", f"{threads} threads of a rank share {counted(narrow, 'core')}", why, evidence, better)
        return
    most = max(Counter(rank.host for rank in case.ranks or ()).values(), default=count)
    if most * threads > cores and case.ranks:
        none = "" if bound else ", none bound"
        evidence = f"{counted(most, 'rank')} of {threads} threads on a node{none}, and {cores} cores"
        why = "They take turns on the cores" + (" of the node, wherever the kernel puts them." if none else ".")
        yield warning("too-many-threads", "there are more threads than cores", why, evidence, ADVISE)


def _jobs(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning that a second such job lands on the same cores."""
    cores = len(case.topology.inside.cores)
    default = not given(case) and (case.four or case.five)
    others = case.line.words.others
    known = logical_numbering(case.topology)
    used = len(cores_of(union(bound), known))
    if not bound or not (others or (default and used * 2 <= cores and len(case.here) <= 2)):
        return
    why = "Each mpirun counts cores from the first one and knows nothing of the others."
    evidence = f"CPUs {union(bound)}, {used} of {cores} cores" + (f"; {others + 1} launchers in the line" if others else "")
    better = "advisor bind --slice 1/2 and 2/2, or --bind-to none"
    yield warning("same-cores-again", "further jobs on the node run on the same cores", why, evidence, better)
