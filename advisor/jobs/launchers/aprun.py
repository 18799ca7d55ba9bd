"""Cray's aprun (ALPS), gone with the XC systems: neighbouring CPUs by depth, one CPU each by a list. Not tried with a real one.

After what centres published of it: NERSC's page on Edison, OLCF's table of lines for Titan and Summit, Blue Waters' page; a list
with several CPUs for a rank binds its threads one by one and not the rank to all of them, so that such plans get the wrapper.
"""

import re

from advisor.errors import BadValue
from advisor.jobs.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, RankVariables, option_table
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import (
    LONGEST,
    Placement,
    assigned,
    devices_differ,
    filled,
    kinds,
    memory_notes,
    names,
    only_slots,
    runs,
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.topology import Topology

NAME = "aprun"


RANKS = RankVariables(rank=("ALPS_APP_PE",))


UNBOUND = ("-cc", "none")


UNTRIED = (
    "not tested in real runs: aprun is part of Cray XC systems, so this follows published examples; check it with advisor verify"
)


_HOSTS = "the hosts are those of the job's reservation, in ALPS order; -L selects others by number"


_FORMS = Avoided("-cc", "aprun binds a rank to one CPU or to adjacent CPUs (depth), but some hosts need another binding")


_LONG = Avoided("-cc", f"a list longer than {LONGEST} characters, the limit for one argument")


OPTIONS, _ALIASES = option_table("""
    -n --pes 1 starts {0} ranks
    -N --pes-per-node 1 starts {0} ranks on each node
    -d --depth 1 reserves {0} CPUs for each rank
    -S 1 starts {0} ranks on each NUMA node
    -sn 1 uses {0} NUMA nodes of each node
    -sl 1 uses the NUMA nodes {0}
    -ss 0 keeps memory on the NUMA node of the rank
    -j 1 uses {0} hardware threads of each core
    -r 1 leaves {0} cores of each node to the system
    -cc --cc 1 sets CPU binding to {0}
    -cp 1 binds by the file {0}
    -L 1 on the nodes {0}
    -F 1 sets node sharing: {0}
    -m 1 gives each rank {0} of memory
    -e --environment-override 1 sets {0} for all ranks
    -b 0 does not copy the program to the nodes
    -B 0 starts what the job requested
    -q 0 prints no messages of its own
    -T 0 keeps output in order
    -t 1 gives each rank {0} seconds of CPU time
    -a 1 on nodes of architecture {0}
    -D 1 prints startup details: {0}
    -p 1 in the protection domain {0}
    -R 1 continues with up to {0} fewer ranks
    -C 0 continues around failed nodes
""")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line: CPUs by depth or a list of one each where that is the plan, else the wrapper."""
    list(runs(placement))
    hosts, each = names(placement), filled(placement)
    if len(hosts) > 1 and (not each or placement.size % each):
        raise BadValue("aprun starts the same number of ranks on every host", cure="request the same number on every host")
    bind = None if wish.wrap or devices_differ(placement) else _binding(placement)
    listed = bind[-1] if bind else ""
    wrap = not bind or len(listed) > LONGEST
    avoided = () if not wrap or wish.wrap else (_LONG,) if bind else (_FORMS,)
    variables = assigned(wish.environment, "-e")
    size = ("-n", str(placement.size), "-N", str(each or placement.size), *_threads(placement))
    command = wrapper.wrapped(wish.command) if wrap else wish.command
    argv = ("aprun", *size, *variables, *(UNBOUND if wrap else bind or ()), *command)
    notes = (UNTRIED, _HOSTS, *(wrapper.NOTES if wrap else memory_notes(placement)))
    form = "wrapper" if wrap else "depth" if listed == "depth" else "list"
    return Launch(NAME, wish.version, form, argv, {}, wrapper.files(placement, RANKS) if wrap else {}, avoided, notes)


def _binding(placement: Placement) -> tuple[str, ...] | None:
    """Return the words that bind as planned: so many neighbouring CPUs each, or one each; None where neither does."""
    slots = only_slots(placement)
    if slots is None:
        return None
    sets, size = [slot.cpus for slot in slots], len(slots[0].cpus)
    if all(blocks(placement.plans[plan].topology, size, ranks) == sets[:ranks] for plan, ranks in kinds(placement).items()):
        return "-d", str(size), "-cc", "depth"
    return ("-cc", ",".join(map(str, sets))) if all(len(cpus) == 1 for cpus in sets) else None


def _threads(placement: Placement) -> tuple[str, ...]:
    """Return -j where the plan uses more than one hardware thread of a core: without it a job has the first of each."""
    most = 1
    for plan, ranks in kinds(placement).items():
        used = union(slot.cpus for slot in placement.plans[plan].slots[:ranks])
        cores = [core.cpuset for core in placement.plans[plan].topology.inside.cores if core.cpuset & used]
        most = max([most, *(len(core) for core in cores if (core & used) != CpuSet([core.first or 0]))])
    return ("-j", str(most)) if most > 1 else ()


def blocks(topology: Topology, size: int, ranks: int) -> list[CpuSet] | None:
    """Return so many neighbouring CPUs for each rank, of each core its first; None where a NUMA node is not filled by them."""
    cpus = sorted(core.cpuset.first or 0 for core in topology.inside.cores if core.cpuset)
    whole = [len([cpu for cpu in cpus if cpu in node.cpuset]) for node in topology.inside.cpu_nodes]
    if not size or size * ranks > len(cpus) or any(cores % size for cores in whole):
        return None
    return [CpuSet(cpus[at * size : (at + 1) * size]) for at in range(ranks)]


LAUNCHER = Launcher(
    name=NAME,
    title="aprun",
    order=70,
    launch=launch,
    aliases=("alps",),
    variables=("ALPS_",),
    ranks=RANKS,
    without_binding=UNBOUND,
    dialect=Dialect(
        programs=("aprun",),
        options=OPTIONS,
        aliases=_ALIASES,
        glued=re.compile(r"(-[nNdSjr])(=?)(\d.*)", re.DOTALL),
    ),
)
