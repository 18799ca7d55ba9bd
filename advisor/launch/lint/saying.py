"""What a line does, in words for people."""

from collections import Counter
from collections.abc import Sequence

from advisor.launch.hosts import FEW
from advisor.launch.lint.openmpi import sets
from advisor.launch.lint.predict import Case
from advisor.model.cpuset import CpuSet
from advisor.model.logical import numbering
from advisor.model.topology import Topology


def in_words(made: Case) -> str:
    """Return what the line does, in a sentence."""
    if made.refused:
        return f"The launcher refuses: {made.refused}."
    if made.ranks is None:
        return f"Not told rank by rank: {made.unclear}."
    here = made.here
    total, nodes = len(made.ranks), len({rank.host for rank in made.ranks})
    start = f"{total} rank{'s' * (total != 1)}" + (f" on {nodes} hosts" if nodes > 1 else "")
    if not here or all(cpus is None for cpus in here):
        return f"{start}, none bound: the kernel moves them over all {len(made.topology.inside.cores)} cores."
    bound = [cpus for cpus in here if cpus is not None]
    things = ", ".join(dict.fromkeys(_kind(cpus, made.topology) for cpus in bound[:256]))
    distinct = list(dict.fromkeys(bound))
    where = _shared(bound, distinct, made.topology)
    return f"{start}, each bound to {things}{where}."


def _kind(cpus: CpuSet, topology: Topology) -> str:
    known = numbering(topology)
    for name, word in (("core", "one core"), ("l3cache", "one L3 group"), ("numa", "one NUMA node"), ("package", "one socket")):
        if cpus in sets(name, topology, known):
            return word
    if len(cpus) == 1:
        return "one hardware thread"
    number_of = len(known.core_numbers(cpus)) if all(cpu in known.core_of for cpu in cpus) else len(cpus)
    return f"{number_of} cores"


def _shared(bound: Sequence[CpuSet], distinct: Sequence[CpuSet], topology: Topology) -> str:
    """Return which ranks share what, where some do."""
    if len(distinct) == len(bound) or not bound:
        names = "; ".join(f"{i}: {cpus}" for i, cpus in enumerate(bound[:FEW]))
        return f" of its own (rank: CPUs {names}{'; ...' if len(bound) > FEW else ''})"
    most, times = Counter(bound).most_common(1)[0]
    known = numbering(topology)
    cores = len(known.core_numbers(most)) if all(cpu in known.core_of for cpu in most) else len(most)
    nodes = ",".join(map(str, topology.nodes_near(most)))
    place = f" of NUMA node {nodes}" if nodes else ""
    return f": {times} ranks share the {cores} core{'s' * (cores != 1)}{place} (CPUs {most})"
