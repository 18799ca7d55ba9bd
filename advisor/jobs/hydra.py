"""What MPICH and Intel MPI share: the options of Hydra's mpiexec, and the parts of a node by Hydra's names."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from advisor.jobs.launcher import option_table
from advisor.jobs.request import Line, Refused, Request, Words, hosts, number
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import logical_numbering, ordered
from advisor.machine.topology import Topology

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
    -bind-to -binding 1 binds each rank to {0}
    -map-by 1 places ranks round-robin by {0}
    -membind 1 binds memory by {0}
    -rankmap 1 puts ranks on nodes as {0}
    -wdir -wd 1 starts in the folder {0}
    -launcher -bootstrap 1 starts daemons by {0}
    -launcher-exec -bootstrap-exec 1 starts daemons with the program {0}
    -rmk 1 asks {0} for the hosts
    -iface 1 uses the network {0} to start
    -localhost 1 calls this host {0}
    -configfile 1 reads the line from {0}
    -prepend-rank -l 0 marks output with the rank
    -print-rank-map 0 prints where each rank goes
    -print-all-exitcodes 0 prints every exit status
    -report-bindings 0 prints where each rank is bound
    -verbose -v -debug 0 says more
    -info -version 0 prints what it was built with
    -outfile-pattern -outfile 1 writes output to {0}
    -errfile-pattern -errfile 1 writes errors to {0}
    -path 1 finds the program in {0}
    -tmpdir 1 keeps its files in {0}
    -usize 1 allows {0} ranks in all
    -s 1 gives the input to {0}
    -umask 1 sets the umask {0}
    -disable-auto-cleanup 0 goes on when a rank dies
    -enable-auto-cleanup 0 ends when a rank dies
    -disable-hostname-propagation 0 lets ranks find out their host's name
    -enable-hostname-propagation 0 gives ranks their host's name
    -enable-x 0 passes X11 on
    -disable-x 0 passes no X11 on
    -topolib 1 reads the topology with {0}
    -demux 1 waits for output by {0}
    -nameserver 1 publishes names at {0}
    -hybrid-hosts 0 takes no path of one host for that of another
    -order-nodes 1 sorts the hosts by their slots, {0}
    -pmi-port 0 talks to the ranks by a port
    -profile 0 measures itself
    -prepend-pattern 1 marks output with {0}
    -output-from 1 shows the output of rank {0} alone
    -skip-launch-node 0 starts no rank on this node
    -gpus-per-proc -g 1 shows each rank {0} GPUs
    -gpu-subdevs-per-proc 1 shows each rank {0} parts of GPUs
    -memory-alloc-kinds 1 asks for memory of the kinds {0}
    -rr 0 places ranks round-robin by node
    -nolocal 0 starts no rank on this node
    -timeout 1 ends after {0} seconds
    -prepend-timestamp 0 marks output with the time
    -silent-abort 0 does not say which rank died
    -prot 0 prints how hosts talk to each other
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


_OWN = frozenset({"-genv", "-ppn", "-perhost", "-hosts", "-genvall", "-env", "-f", "-launcher", "-bootstrap", "-rankmap"})


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


def once(line: Line, whole: Iterable[tuple[str, ...]], each: Iterable[tuple[str, ...]]) -> None:
    """Refuse a line that says one of some options twice, in the whole of it or in one of its programs; or asks for no ranks."""
    if any(said.name == "-info" for said in line.options):
        raise Refused("it prints what it was built with, and ends")
    programs = [[said.name for said in segment.options] for segment in line.segments]
    every = [name for names in programs for name in names]
    for scopes, groups in (([every], whole), (programs, each)):
        for group in groups:
            if any(sum(name in group for name in names) > 1 for names in scopes):
                raise Refused(f"duplicate setting: {group[0]}")


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
