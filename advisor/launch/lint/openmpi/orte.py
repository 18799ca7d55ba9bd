"""What Open MPI 4's mapper does with a line: which host and part each rank is assigned to, its number, its CPUs.

Facts of orte/mca/rmaps of 4.1 (round_robin, ppr, base), said again, and held against the real 4.1.4.
"""

from collections.abc import Sequence

from advisor.launch.lint.openmpi.listed import listed4
from advisor.launch.lint.openmpi.mapper import (
    Host,
    NodeParts,
    not_here,
    number4,
    ranks_in_order,
)
from advisor.launch.lint.openmpi.orte_job import Job
from advisor.launch.lint.outcome import OBJECTS, Refused, Unclear
from advisor.launch.lint.request import Request
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank


def ranks(programs: Sequence[Request], topology: Topology) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be, program after program; raise Refused or Unclear."""
    want = programs[0]
    ground = NodeParts(topology, threads=want.hwthreads or "hwthread" in (want.level, want.bind))
    if want.level == "pe-list":
        if len(programs) > 1:
            raise Unclear("a list of cores for several programs is not worked out here")
        return listed4(want, ground)
    not_here(want)
    whole = sum(program.ranks or 0 for program in programs)
    if len({program.hosts for program in programs}) > 1:
        return _apart(programs, ground, whole)
    job = Job(want, ground, whole)
    for program in programs:
        before = [len(host.procs) for host in job.hosts]
        first = sum(before)
        job.deal(program.ranks or job.total)
        fresh = {id(host): Host(host.name, host.slots, host.procs[count:]) for host, count in zip(job.hosts, before, strict=True)}
        number4(want, job.level, [fresh[id(host)] for host in job.mapped], ground, first)
    total = sum(len(host.procs) for host in job.hosts)
    if not total:
        raise Refused("no rank is mapped; nothing starts")
    if len(programs) > 1 and job.level in OBJECTS and (len(job.mapped) > 1 or "span" in want.modifiers):
        raise Unclear("where a second program goes on over parts of several hosts is not worked out here")
    job.bind()
    return ranks_in_order(job.hosts, total)


def _apart(programs: Sequence[Request], ground: NodeParts, whole: int) -> tuple[LintRank, ...]:
    """Return the ranks of programs that have hosts of their own: each is a job, and all together are few or many."""
    hosts: list[Host] = []
    first = 0
    for program in programs:
        job = Job(program, ground, whole)
        job.total = program.ranks or 0
        job.deal(job.total)
        number4(program, job.level, job.mapped, ground, first)
        job.bind()
        hosts += job.hosts
        first += job.total
    return ranks_in_order(hosts, first)
