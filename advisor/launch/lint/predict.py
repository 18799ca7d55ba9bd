"""Where a line of one program or several puts each rank: of the first host, and of the others, taken to be like this machine."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from advisor.errors import BadInput
from advisor.launch.lint.binders import binder_cpus
from advisor.launch.lint.command_line import binders, binds_itself
from advisor.launch.lint.line import Line, Segment
from advisor.launch.lint.openmpi import listed, orte, prrte
from advisor.launch.lint.openmpi.host_file import hosts_of_file
from advisor.launch.lint.openmpi.listed import in_sequence, readable
from advisor.launch.lint.openmpi.map_by import newer, number
from advisor.launch.lint.openmpi.parameters import unclear_parameters
from advisor.launch.lint.openmpi.prrte import adapters, homes_of_devices
from advisor.launch.lint.outcome import Refused, Unclear
from advisor.launch.lint.request import Request, hosts, request_of
from advisor.launch.lint.rewrite import BINDING, apart, missing
from advisor.launch.registry import launchers, of_lines
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank

_HOSTS = frozenset({"--host", "--hostfile"})
_OWN = frozenset({"--map-by", "--rank-by", "--bind-to"})
_OLD = frozenset(
    {"--tag-output", "--timestamp-output", "--merge-stderr-to-stdout", "--report-bindings", "--display-map", "--cpus-per-proc"}
    | {"--display-allocation", "--oversubscribe", "--nooversubscribe", "--use-hwthread-cpus", "--cpus-per-rank"}
)
"""Old words that 5.0.11 turns into new ones: behind --npernode beside a --map-by it then passes over that they contradict."""


def _says(segment: Segment) -> bool:
    return any(said.name in _OWN for said in segment.options)


def together(line: Line, want: Request) -> Request:
    """Return what a line wants with the ranks of all its programs; raise Refused or Unclear where that is not known."""
    count = len(line.segments)
    if count == 1:
        return want
    ranks = [number(segment.value("-np")) for segment in line.segments] if line.family.startswith("openmpi") else [None]
    begin = f"one line starts {count} programs, and "
    if None in ranks:
        raise Unclear(f"{begin}what each gets is known of Open MPI only, where each has its -np")
    if not _apart(line) and any(said.name in _HOSTS for segment in line.segments[1:] for said in segment.options):
        raise Unclear(f"{begin}another than the first says where its ranks go")
    if any(list(binders(segment.command)) for segment in line.segments):
        raise Unclear(f"{begin}numactl or taskset binds the ranks of some")
    if not newer(line):
        _said_twice(line, begin)
    if want.rankfile:
        raise Unclear(f"{begin}a rankfile for several is not worked out here")
    everywhere = tuple(host for segment in line.segments for host in hosts(segment.value("--host") or ""))
    return replace(want, ranks=sum(each or 0 for each in ranks), threads=None, hosts=everywhere if _apart(line) else want.hosts)


def _apart(line: Line) -> bool:
    """Whether every program has hosts of its own, by --host alone."""
    named = [{name for name, _ in hosts(segment.value("--host") or "")} for segment in line.segments]
    files = any(segment.has("--hostfile") for segment in line.segments)
    return all(named) and not files and not newer(line) and sum(map(len, named)) == len(set().union(*named))


def _said_twice(line: Line, begin: str) -> None:
    for name in ("--rank-by", "--bind-to"):
        if line.family == "openmpi5" and line.release and sum(segment.has(name) for segment in line.segments) > 1:
            raise Refused(f"5.0 takes {name} once in a line, and it is there for several programs; nothing starts")
    first = {(said.name, said.values) for said in line.first.options if said.name in _OWN}
    later = [said for segment in line.segments[1:] for said in segment.options if said.name in BINDING]
    if line.family == "openmpi4" and all((said.name, said.values) in first for said in later):
        return  # the same words again change nothing (4.1.4, observed)
    if later:
        raise Unclear(f"{begin}another than the first says where its ranks go")


def programs(line: Line, want: Request) -> tuple[Request, ...]:
    """Return what each program of a line wants; ``want`` is that of all, with the hosts."""
    if len(line.segments) == 1:
        return (want,)
    found = []
    for segment in line.segments:
        own = request_of(replace(line, segments=(segment,))) if newer(line) else want
        if newer(line) and not _says(segment):
            own = want
        mine = hosts(segment.value("--host") or "") if _apart(line) else want.hosts
        found.append(replace(own, ranks=number(segment.value("-np")), hosts=mine, from_file=want.from_file))
    if any(each.oversubscribe for each in found) and any(each.no_oversubscribe for each in found):
        raise Refused("one program allows more ranks than slots and another forbids them; nothing starts")
    if any(each.oversubscribe for each in found):
        found = [replace(each, oversubscribe=True) for each in found]
    return tuple(found)


Texts = Mapping[str, str]
"""The texts of files that the line names, by those names."""

Local = tuple[CpuSet | None, ...]


@dataclass(frozen=True)
class Prediction:
    """A line, recommended value, the machine, and what it will do there: all that a warning may need."""

    line: Line
    want: Request
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
    def open_mpi(self) -> bool:
        """Whether it is an Open MPI, whose options say where ranks go and can be written anew."""
        return self.four or self.five

    @property
    def five(self) -> bool:
        """Whether it is Open MPI 5."""
        return self.line.family == "openmpi5"

    @property
    def four(self) -> bool:
        """Whether it is Open MPI 4."""
        return self.line.family == "openmpi4"


def predict(line: Line, machine: Machine, files: Texts) -> Prediction:
    """Return a line with what it does on a machine."""
    made = Prediction(line, request_of(line), machine, machine.topology or Topology(), files)
    try:
        made = replace(made, want=_with_hosts(made))
        if made.open_mpi:
            made = replace(made, want=together(line, made.want))
        return replace(made, ranks=_ranks(made))
    except Refused as refusal:
        return replace(made, refused=str(refusal))
    except Unclear as why:
        return replace(made, unclear=str(why))
    except BadInput as error:
        return replace(made, unclear=error.problem)


def _with_hosts(made: Prediction) -> Request:
    """Return what a line wants with the hosts of its host file."""
    want = made.want
    if made.open_mpi:
        if not want.hosts and want.hostfile in made.files:
            named = hosts_of_file(made.files[want.hostfile or ""], crowded=want.oversubscribe and made.five)
            return replace(want, hosts=named, from_file=True)
        return want
    return replace(want, hosts=hosts_of(want, made.files))


def hosts_of(want: Request, files: Texts) -> tuple[tuple[str, int | None], ...]:
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


def _understood(made: Prediction) -> None:
    """Raise Refused or Unclear where this version does not know a word, or finds two that contradict each other."""
    for word in missing(made.line, made.want):
        if made.line.known_from.startswith("nothing"):
            raise Unclear(f"Open MPI 5 does not know {word.word[:80]}, and which launcher is meant is not known")
        raise Refused(f"it does not know {word.word[:80]}")
    joined = (said for said in made.line.options if said.known and "=" in said.written[0] and apart(said))
    if said := next(joined, None):
        raise Unclear(f"5.0.11 refuses {said.written[0][:60]}, and whether this release takes it was not seen")
    old = made.five and (made.want.fault or "").startswith("both ") and any(said.name in _OLD for said in made.line.options)
    if old:
        raise Unclear(f"{made.want.fault}: 5.0.11 passes over that where another old word is behind it")
    if made.want.fault:
        raise Refused(f"{made.want.fault}; nothing starts")


def open_mpi_ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return what Open MPI's own mapper does with all hosts."""
    want = made.want
    _understood(made)
    readable(made.line)
    unclear_parameters(want, made.line, five=made.five)
    if want.rankfile or want.level == "rankfile":
        return _by_rankfile(made)
    if want.level == "seq":
        return in_sequence(want, made.topology, made.files.get(want.hostfile or ""), five=made.five)
    if want.hostfile and want.hostfile not in made.files:
        raise Unclear(f"the hosts stand in the file {want.hostfile[:80]}, and it was not read")
    if want.level == "dist" and made.four:
        return _by_distance(made)
    parts = programs(made.line, want)
    for part in parts:
        if part.fault:
            raise Refused(f"{part.fault}; nothing starts")
    if made.four:
        return orte.ranks(parts, made.topology)
    devices = homes_of_devices(want, made.machine, made.topology) if want.device and newer(made.line) else ()
    return prrte.ranks(parts, made.topology, newer=newer(made.line), devices=devices)


def _by_rankfile(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks that a rankfile places."""
    want = made.want
    text = made.files.get(want.rankfile or "")
    if text is None:
        raise Unclear(f"the ranks are where the rankfile {(want.rankfile or '')[:80]} has them, and it was not read")
    if made.five and "hwloc_default_cpu_list" in want.parameters:
        raise Unclear("a rankfile beside hwloc_default_cpu_list is not worked out here")
    return listed.ranks_of_rankfile(want, made.topology, text, five=made.five)


def _by_distance(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks that Open MPI 4 maps by their distance to an adapter."""
    want = made.want
    if len(want.hosts) > 1:
        raise Unclear("dist on several hosts is not worked out here")
    host, count = want.hosts[0][0] if want.hosts else None, want.ranks or len(logical_numbering(made.topology).cores)
    return tuple(LintRank(rank=rank, host=host, cpus=cpus) for rank, cpus in enumerate(_near(made, count)))


def _ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks as the launcher's own module has them, after a numactl or taskset of the command."""
    ranks = of_lines()[made.line.family].ranks
    if ranks is None:
        raise Unclear(f"where {launchers()[made.line.family].TITLE} puts ranks, is not worked out here")
    if not made.open_mpi and not made.topology.inside.pus:
        raise Unclear("which CPUs the machine has, is not known")
    if not made.open_mpi and len(made.line.segments) > 1 and any(list(binders(part.command)) for part in made.line.segments):
        raise Unclear("one line starts several programs, and numactl or taskset binds the ranks of some")
    if other := next(filter(None, (binds_itself(part.command) for part in made.line.segments)), None):
        raise Unclear(f"which CPUs {other} in the command gives each rank, is not worked out here")
    found = ranks(made)
    if not made.line.inner:
        return found
    return tuple(rank.model_copy(update={"cpus": _inner(made, rank.cpus)}) for rank in found)


def _near(made: Prediction, count: int) -> Local:
    """Return the cores of the adapter's NUMA node, in order: what ``dist`` gives."""
    places = dict(adapters(made.machine))
    if made.want.device not in places or made.want.bind != "core":
        raise Unclear(f"dist places ranks by distance to {made.want.device or 'a device that is not named'}")
    if len(places[made.want.device or ""]) > 1:
        raise Unclear(f"on which NUMA node {made.want.device} is, is not known")
    own = union(node.cpuset for node in made.topology.inside.cpu_nodes if node.os_index in places[made.want.device or ""])
    cores = [core for core in logical_numbering(made.topology).cores if core <= own]
    if count > len(cores):
        raise Unclear(f"{count} ranks are more than the {len(cores)} cores of the adapter's node; the others follow by distance")
    return tuple(cores[:count])


def _inner(made: Prediction, given: CpuSet | None) -> CpuSet | None:
    """Return the CPUs of a rank after the numactl and taskset of the command."""
    for binder in made.line.inner:
        own = binder_cpus(binder, given, made.topology)
        given = given if own is None else own
    return given


def ranks_here(made: Prediction) -> int | None:
    """Return how many ranks the first host gets, where that is known."""
    if made.ranks:
        return len(made.here)
    want = made.want
    if want.ranks is None:
        return want.per_node
    return want.per_node or -(-want.ranks // max(1, len(want.hosts)))
