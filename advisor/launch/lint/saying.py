"""What a line does, in words for people."""

from collections import Counter
from collections.abc import Sequence

from advisor.launch.hosts import FEW
from advisor.launch.lint.openmpi import sets
from advisor.launch.lint.predict import Case
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.launch_line import LintRank


def in_words(made: Case) -> str:
    """Return what the line does, in a sentence."""
    if made.refused:
        return f"The launcher refuses: {made.refused}."
    if made.ranks is None:
        return f"Not told rank by rank: {made.unclear}."
    total, nodes = len(made.ranks), len({rank.host for rank in made.ranks})
    start = f"{total} rank{'s' * (total != 1)}" + (f" on {nodes} hosts" if nodes > 1 else "")
    everywhere = [rank.cpus for rank in made.ranks if rank.cpus is not None]
    if not everywhere:
        return f"{start}, none bound: the kernel moves them over all {len(made.topology.inside.cores)} cores."
    things = ", ".join(dict.fromkeys(_kind(cpus, made.topology) for cpus in list(dict.fromkeys(everywhere))[:256]))
    many = "each" if len(everywhere) == total else f"{total - len(everywhere)} not bound, {len(everywhere)}"
    first = [rank for rank in made.ranks if rank.host == made.ranks[0].host and rank.cpus is not None]
    return f"{start}, {many} bound to {things}{_shared(first, made.topology, several=nodes > 1)}."


def _kind(cpus: CpuSet, topology: Topology) -> str:
    known = logical_numbering(topology)
    for name, word in (("core", "one core"), ("l3cache", "one L3 group"), ("numa", "one NUMA node"), ("package", "one socket")):
        if cpus in sets(name, topology, known):
            return word
    if len(cpus) == 1:
        return "one hardware thread"
    number_of = len(known.core_numbers(cpus)) if all(cpu in known.core_of for cpu in cpus) else len(cpus)
    return f"{number_of} cores"


def _shared(first: Sequence[LintRank], topology: Topology, *, several: bool) -> str:
    """Return which ranks of the first host share what, where some do."""
    bound = [rank.cpus for rank in first if rank.cpus is not None]
    if not bound:
        return ""
    if len(set(bound)) == len(bound):
        names = "; ".join(f"{rank.rank}: {rank.cpus}" for rank in first[:FEW])
        own = "; on the first host" if several else " of its own"
        return f"{own} (rank: CPUs {names}{'; ...' if len(bound) > FEW else ''})"
    most, times = Counter(bound).most_common(1)[0]
    known = logical_numbering(topology)
    cores = len(known.core_numbers(most)) if all(cpu in known.core_of for cpu in most) else len(most)
    nodes = ",".join(map(str, topology.nodes_near(most)))
    place = f" of NUMA node {nodes}" if nodes else ""
    return f": {times} ranks{' of the first host' * several} share the {cores} core{'s' * (cores != 1)}{place} (CPUs {most})"
