"""Where a line puts each rank of the first host and of the others, which are taken to be like this machine."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from advisor.errors import BadInput, BadValue
from advisor.launch.lint import hydra, intel, orte, pals, prrte, rankfiles, slurm
from advisor.launch.lint.bydevice import adapters, homes_of_devices
from advisor.launch.lint.hostfiles import hosts_of_file, in_sequence, readable
from advisor.launch.lint.line import Line
from advisor.launch.lint.mapby import newer
from advisor.launch.lint.openmpi import Refused, Unclear
from advisor.launch.lint.programs import programs, together
from advisor.launch.lint.tables import Family
from advisor.launch.lint.versions import missing
from advisor.launch.lint.wanted import Wanted, hosts, wanted
from advisor.launch.lint.words import binders
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.launch_line import LintRank

__all__ = ["Case", "Local", "Texts", "adapters", "binder_cpus", "case", "ranks_here"]

Texts = Mapping[str, str]
"""The texts of files that the line names, by those names."""

Local = tuple[CpuSet | None, ...]


@dataclass(frozen=True)
class Case:
    """A line, what it wants, the machine, and what it will do there: all that a warning may need."""

    line: Line
    want: Wanted
    machine: Machine
    topology: Topology
    files: Texts = field(default_factory=dict)
    ranks: tuple[LintRank, ...] | None = None
    refused: str | None = None
    unclear: str | None = None

    @property
    def here(self) -> Local:
        """The CPUs of the ranks of the first host; () where that is not known."""
        if not self.ranks:
            return ()
        first = self.ranks[0].host
        return tuple(rank.cpus for rank in self.ranks if rank.host == first)

    @property
    def five(self) -> bool:
        """Whether it is Open MPI 5."""
        return self.line.family == "openmpi5"

    @property
    def four(self) -> bool:
        """Whether it is Open MPI 4."""
        return self.line.family == "openmpi4"


def case(line: Line, machine: Machine, files: Texts) -> Case:
    """Return a line with what it does on a machine."""
    made = Case(line, wanted(line), machine, machine.topology or Topology(), files)
    try:
        made = replace(made, want=_with_hosts(made))
        if made.four or made.five:
            made = replace(made, want=together(line, made.want))
        return replace(made, ranks=_ranks(made))
    except Refused as refusal:
        return replace(made, refused=str(refusal))
    except Unclear as why:
        return replace(made, unclear=str(why))
    except BadInput as error:
        return replace(made, unclear=error.problem)


def _with_hosts(made: Case) -> Wanted:
    """Return what a line wants with the hosts of its host file."""
    want = made.want
    if made.four or made.five:
        if not want.hosts and want.hostfile in made.files:
            named = hosts_of_file(made.files[want.hostfile or ""], crowded=want.oversubscribe)
            return replace(want, hosts=named, from_file=True)
        return want
    return replace(want, hosts=hosts_of(want, made.files))


def hosts_of(want: Wanted, files: Texts) -> tuple[tuple[str, int | None], ...]:
    """Return the hosts of the line, or of its host file."""
    arbitrary = (want.level or "").startswith("arbitrary")
    if (want.hosts and not arbitrary) or not want.hostfile or want.hostfile not in files:
        return want.hosts
    if arbitrary:
        each = Counter(word for word in files[want.hostfile].split()[:65536])
        return tuple(each.items())
    found: list[str] = []
    for row in files[want.hostfile].splitlines()[:65536]:
        words = row.partition("#")[0].split()
        if not words:
            continue
        slots = next((word[6:] for word in words[1:] if word.startswith("slots=")), None)
        found.append(f"{words[0]}:{slots}" if slots else words[0])
    return hosts(",".join(found))


def _open_mpi(made: Case) -> tuple[LintRank, ...]:
    """Return what Open MPI's own mapper does with all hosts."""
    want = made.want
    readable(made.line)
    if want.rankfile or want.level == "rankfile":
        text = made.files.get(want.rankfile or "")
        if text is None:
            raise Unclear(f"the ranks are where the rankfile {(want.rankfile or '')[:80]} has them, and it was not read")
        return rankfiles.ranks(want, made.topology, text, five=made.five)
    if want.level == "seq":
        return in_sequence(want, made.topology, made.files.get(want.hostfile or ""), five=made.five)
    if want.hostfile and want.hostfile not in made.files:
        raise Unclear(f"the hosts stand in the file {want.hostfile[:80]}, and it was not read")
    if want.level == "dist" and made.four:
        count = want.ranks or len(logical_numbering(made.topology).cores)
        if len(want.hosts) > 1:
            raise Unclear("dist on several hosts is not worked out here")
        host = want.hosts[0][0] if want.hosts else None
        return tuple(LintRank(rank=rank, host=host, cpus=cpus) for rank, cpus in enumerate(_near(made, count)))
    parts = programs(made.line, want)
    for part in parts:
        if part.fault:
            raise Refused(f"{part.fault}; nothing starts")
    if made.four:
        return orte.ranks(parts, made.topology)
    devices = homes_of_devices(want, made.machine, made.topology) if want.device and newer(made.line) else ()
    return prrte.ranks(parts, made.topology, newer=newer(made.line), devices=devices)


SIMULATED: Mapping[Family, Callable[[Case], tuple[LintRank, ...]]] = {
    "openmpi4": _open_mpi,
    "openmpi5": _open_mpi,
    "mpich": hydra.ranks,
    "intelmpi": intel.ranks,
    "srun": slurm.ranks,
    "pals": pals.ranks,
    "mvapich": pals.rsh,
}
"""Launchers, and what tells the ranks of all hosts of each."""


def _ranks(made: Case) -> tuple[LintRank, ...]:
    """Return the ranks as the launcher's own module has them, after a numactl or taskset of the command."""
    if made.four or made.five:
        for word in missing(made.line, made.want):
            if made.line.known_from.startswith("nothing"):
                raise Unclear(f"Open MPI 5 does not know {word.word[:80]}, and which launcher is meant is not known")
            raise Refused(f"it does not know {word.word[:80]}")
        if made.want.fault:
            raise Refused(f"{made.want.fault}; nothing starts")
    elif not made.topology.inside.pus:
        raise Unclear("which CPUs the machine has, is not known")
    elif len(made.line.segments) > 1 and any(list(binders(segment.command)) for segment in made.line.segments):
        raise Unclear("one line starts several programs, and numactl or taskset binds the ranks of some")
    found = SIMULATED[made.line.family](made)
    if not made.line.inner:
        return found
    return tuple(rank.model_copy(update={"cpus": _inner(made, (rank.cpus,))[0]}) for rank in found)


def _near(made: Case, count: int) -> Local:
    """Return the cores of the adapter's NUMA node, in order: what ``dist`` gives."""
    places = dict(adapters(made.machine))
    if made.want.device not in places or made.want.bind != "core":
        raise Unclear(f"dist deals ranks by distance to {made.want.device or 'a device that is not named'}")
    if len(places[made.want.device or ""]) > 1:
        raise Unclear(f"on which NUMA node {made.want.device} is, is not known")
    own = union(node.cpuset for node in made.topology.inside.cpu_nodes if node.os_index in places[made.want.device or ""])
    cores = [core for core in logical_numbering(made.topology).cores if core <= own]
    if count > len(cores):
        raise Unclear(f"{count} ranks are more than the {len(cores)} cores of the adapter's node; the others follow by distance")
    return tuple(cores[:count])


def _inner(made: Case, given: Local) -> Local:
    """Return the CPUs after a numactl or taskset of the command: it replaces what the launcher bound."""
    for binder in made.line.inner:
        own = binder_cpus(binder.nodes, binder.cpus, made.topology)
        if own is not None:
            given = (own,) * len(given)
    return given


def binder_cpus(nodes: str | None, cpus: str | None, topology: Topology) -> CpuSet | None:
    """Return the CPUs that numactl or taskset gives a program; None where it gives none, or they cannot be told."""
    inside = topology.inside
    try:
        if nodes is not None:
            wanted_nodes = {node.os_index for node in inside.nodes} if nodes == "all" else set(CpuSet.parse(nodes))
            return union(node.cpuset for node in inside.nodes if node.os_index in wanted_nodes) or None
        return (CpuSet.parse(cpus) & inside.pus or None) if cpus is not None else None
    except BadValue:
        return None


def ranks_here(made: Case) -> int | None:
    """Return how many ranks the first host gets, where that is known."""
    if made.ranks:
        return len(made.here)
    want = made.want
    if want.ranks is None:
        return want.per_node
    return want.per_node or -(-want.ranks // max(1, len(want.hosts)))
