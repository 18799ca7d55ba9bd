"""Where a line puts each rank of the first host and of the others, which are taken to be like this machine."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from advisor.errors import BadInput, BadValue
from advisor.launch.lint import hydra, intel, pals, slurm
from advisor.launch.lint.line import Line
from advisor.launch.lint.openmpi import Refused, Unclear, local, sets
from advisor.launch.lint.programs import together
from advisor.launch.lint.tables import Family
from advisor.launch.lint.versions import missing
from advisor.launch.lint.wanted import Wanted, hosts, wanted
from advisor.launch.lint.words import binders
from advisor.launch.rankfile import parse_rankfile
from advisor.model.cpuset import CpuSet, union
from advisor.model.lint import LintRank
from advisor.model.logical import numbering
from advisor.model.machine import Machine
from advisor.model.topology import Topology

MOST_RANKS = 65_536
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
    rankfile_fault: str | None = None

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
    want = wanted(line)
    named = hosts_of(want, files)
    made = Case(line, replace(want, hosts=named), machine, machine.topology or Topology(), files)
    try:
        if line.family in SIMULATED:
            return replace(made, ranks=_simulated(made))
        made = replace(made, want=together(line, made.want))
        return replace(made, ranks=_ranks(made))
    except Refused as refusal:
        return replace(made, refused=str(refusal))
    except Unclear as why:
        return replace(made, unclear=str(why))
    except BadInput as error:
        return replace(made, unclear=error.problem)


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


def seats(made: Case, total: int) -> list[tuple[str | None, int]]:
    """Return how many ranks each host gets."""
    want = made.want
    named: tuple[tuple[str | None, int | None], ...] = want.hosts or ((None, None),)
    if any(slots for _, slots in named):
        named = tuple((name, slots or 1) for name, slots in named)
    each = want.per_node
    if each is None and want.level == "ppr" and want.ppr and made.line.family.startswith("openmpi"):
        kind = want.ppr[1]
        found = 1 if kind == "node" else len(sets(kind, made.topology, numbering(made.topology)))
        each = want.ppr[0] * max(1, found)
    share = each or -(-total // len(named))
    result: list[tuple[str | None, int]] = []
    left = total
    for name, slots in named:
        count = min(left, slots or share)
        if count:
            result.append((name, count))
        left -= count
    if left:
        name, count = result[-1]
        result[-1] = (name, count + left)
    return result


def _total(made: Case) -> int:
    """Return the number of ranks; raise Unclear where the line does not say."""
    want = made.want
    if want.ranks:
        total = want.ranks
    elif want.per_node:
        total = want.per_node * max(1, len(want.hosts))
    elif made.line.family.startswith("openmpi") and want.level == "ppr" and want.ppr:
        if made.four:
            raise Refused("Open MPI 4 does not count ranks from ppr: without -np it asks for all slots; nothing starts")
        found = sets(want.ppr[1], made.topology, numbering(made.topology)) if want.ppr[1] != "node" else (None,)
        total = want.ppr[0] * len(found) * max(1, len(want.hosts))
    elif made.line.family.startswith("openmpi"):
        slots = [slots or 1 for _, slots in want.hosts]
        total = sum(slots) or len(numbering(made.topology).cores)
    else:
        total = 1
    if total > MOST_RANKS:
        raise Unclear(f"{total} ranks are more than the {MOST_RANKS} that are worked out one by one")
    return total


SIMULATED: Mapping[Family, Callable[[Case], tuple[LintRank, ...]]] = {
    "mpich": hydra.ranks,
    "intelmpi": intel.ranks,
    "srun": slurm.ranks,
    "pals": pals.ranks,
    "mvapich": pals.rsh,
}
"""Launchers of which a module of their own tells the ranks of all hosts."""


def _simulated(made: Case) -> tuple[LintRank, ...]:
    """Return the ranks as the launcher's own module has them, after a numactl or taskset of the command."""
    if not made.topology.inside.pus:
        raise Unclear("which CPUs the machine has, is not known")
    if len(made.line.segments) > 1 and any(list(binders(segment.command)) for segment in made.line.segments):
        raise Unclear("one line starts several programs, and numactl or taskset binds the ranks of some")
    found = SIMULATED[made.line.family](made)
    return tuple(rank.model_copy(update={"cpus": _inner(made, (rank.cpus,))[0]}) for rank in found) if made.line.inner else found


def _ranks(made: Case) -> tuple[LintRank, ...]:
    for word in missing(made.line, made.want):
        raise Refused(f"it does not know {word.word[:80]}")
    if made.want.rankfile or made.want.level == "rankfile":
        return tuple(_from_file(made))
    total = _total(made)
    shared: dict[int, Local] = {}
    found: list[LintRank] = []
    for host, count in seats(made, total):
        if made.five and made.want.level == "ppr" and made.want.ppr and count % made.want.ppr[0]:
            raise Refused(f"{count} ranks are no multiple of {made.want.map_text}: 5.0 starts none, and ends as if all were well")
        if count not in shared:
            shared[count] = _inner(made, _local(made, count))
        for cpus in shared[count]:
            found.append(LintRank(rank=len(found), host=host, cpus=cpus))
    return tuple(found)


def _local(made: Case, count: int) -> Local:
    if count > 4 * len(made.topology.inside.pus) and made.want.bind != "none":
        raise Unclear(f"{count} ranks on a node of {len(made.topology.inside.pus)} CPUs")
    if made.want.level == "dist" and made.four:
        return _near(made, count)
    return local(made.want, count, made.topology, five=made.five)


def _near(made: Case, count: int) -> Local:
    """Return the cores of the adapter's NUMA node, in order: what ``dist`` gives."""
    places = dict(adapters(made.machine))
    if made.want.device not in places or made.want.bind != "core":
        raise Unclear(f"dist deals ranks by distance to {made.want.device or 'a device that is not named'}")
    if len(places[made.want.device or ""]) > 1:
        raise Unclear(f"on which NUMA node {made.want.device} is, is not known")
    own = union(node.cpuset for node in made.topology.inside.cpu_nodes if node.os_index in places[made.want.device or ""])
    cores = [core for core in numbering(made.topology).cores if core <= own]
    if count > len(cores):
        raise Unclear(f"{count} ranks are more than the {len(cores)} cores of the adapter's node; the others follow by distance")
    return tuple(cores[:count])


def adapters(machine: Machine) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name of each HCA and its NUMA nodes."""
    for hca in machine.hcas or ():
        if hca.locality and hca.locality.numa_nodes:
            yield hca.name, hca.locality.numa_nodes


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


_HOST = re.compile(r"rank\s+\d+\s*=\s*([A-Za-z0-9][A-Za-z0-9._-]{0,254})\s+slot", re.ASCII)


def _from_file(made: Case) -> Iterator[LintRank]:
    """Yield the ranks of a rankfile, as far as both versions read it alike."""
    text = made.files.get(made.want.rankfile or "")
    if text is None:
        raise Unclear(f"the ranks are where the rankfile {(made.want.rankfile or '')[:80]} has them, and it was not read")
    rows = text.splitlines()
    if len(rows) > MOST_RANKS:
        raise Unclear(f"the rankfile has more than the {MOST_RANKS} lines that are worked out one by one")
    physical = made.four and made.want.parameters.get("rmaps_rank_file_physical") == "1"
    threads = made.want.hwthreads
    count = ("os" if threads else "os core") if physical else "thread" if threads else "core"
    known = {match[1]: made.topology for row in rows if (match := _HOST.search(row))}
    found = parse_rankfile(rows, known, count)  # type: ignore[arg-type]  # one of the four words above
    only = len({seat.host for seat in found.values()}) == 1
    for rank, seat in found.items():
        if made.want.ranks is None or rank < made.want.ranks:
            host = None if only and seat.host == "localhost" else seat.host
            cpus = (_inner(made, (seat.cpus,)))[0]
            yield LintRank(rank=rank, host=host, cpus=cpus)


def ranks_here(made: Case) -> int | None:
    """Return how many ranks the first host gets, where that is known."""
    if made.ranks:
        return len(made.here)
    want = made.want
    if want.ranks is None:
        return want.per_node
    return want.per_node or -(-want.ranks // max(1, len(want.hosts)))
