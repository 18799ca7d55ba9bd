"""A launch line as values: its words and options, what it asks for, what it will do; and how a prediction ends otherwise."""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from advisor.errors import BadValue
from advisor.jobs.placement import LintRank, LintWarning
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import LogicalNumbering, ordered
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology

OBJECTS = ("hwthread", "core", "l3cache", "numa", "package")
"""What can be mapped by and bound to, the smallest thing first."""


MOST_RANKS = 65_536


MOST_HOSTS = 4096


MOST_STEPS = 10_000_000
"""Ranks times parts that are tried: more is left to words."""


class Refused(Exception):  # noqa: N818 - no error of ours: what the launcher would say
    """The launcher would start nothing; the text is why."""


class Unclear(Exception):  # noqa: N818 - no error either: what is left to words
    """What happens is not known exactly; the text is what can be said."""


def cpusets_of(kind: str, topology: Topology, known: LogicalNumbering) -> tuple[CpuSet, ...]:
    """Return the CPUs of everything of one kind, in hwloc's order."""
    inside = topology.inside
    if kind == "hwthread":
        return tuple(CpuSet([cpu]) for cpu in known.pus)
    if kind == "core":
        return known.cores
    if kind == "l3cache":
        return ordered((part.cpuset for part in inside.l3), known)
    if kind == "numa":
        return ordered((node.cpuset for node in inside.cpu_nodes), known)
    return ordered((part.cpuset for part in inside.packages), known)


def bounded(total: int, parts: int = 1) -> int:
    """Return a number of ranks that is worked out; raise Unclear for more."""
    if total > MOST_RANKS or total * parts > MOST_STEPS:
        raise Unclear(f"{total} ranks exceed the limit for prediction")
    return total


def hides_l3(inside: Topology) -> bool:
    """Whether launchers may see an L3 that is none: Xeon Phi's memory-side cache is shown so by hwloc 1 and 2.0."""
    return not inside.l3 and bool(inside.shared_l2) and len(inside.pus) >= 4 * len(inside.cores)


Release = tuple[int, int, int]


MAIN: Release = (999, 0, 0)
"""The development branch, which has no number."""


@dataclass(frozen=True)
class Binder:
    """A numactl or taskset around something."""

    tool: str
    written: str
    nodes: str | None = None
    cpus: str | None = None
    memory: str | None = None
    by: str = ""
    """The option that binds its memory: --membind, --preferred."""
    stray: str | None = None
    """An option of it that lacks its hyphens and is taken for the program."""
    everywhere: bool = False
    """Whether numactl takes CPUs beside those that it is started with: --all."""


@dataclass(frozen=True)
class BoundMemory:
    """What a line says of memory: how strictly, and the nodes of each local rank; None of a rank where that is not known."""

    strict: Literal["only", "prefer", "interleave"]
    nodes: tuple[CpuSet | None, ...]
    written: str


@dataclass(frozen=True)
class Words:
    """A line, taken apart as the shell would."""

    environment: dict[str, str] = field(default_factory=dict)
    around: tuple[Binder, ...] = ()
    launcher: str = ""
    rest: tuple[str, ...] = ()
    others: int = 0
    """Launchers in further commands of the same line."""
    odd: tuple[str, ...] = ()
    """Words with hyphens that are none."""
    path: str = ""
    """The launcher as the line has it, with its folder."""


@dataclass(frozen=True)
class Said:
    """One option."""

    name: str
    """As the table calls it; "" of one that is not in it."""
    values: tuple[str, ...]
    written: tuple[str, ...]
    known: bool = True


ASSUMED = "assumed because it is the newest; give --launcher-version"
"""Where a version is known from that nothing says."""


def version_source(known_from: str) -> str:
    """Return where a version is known from, in words.

    >>> version_source("this machine"), version_source(ASSUMED)
    ('known from this machine', 'assumed because it is the newest; give --launcher-version')
    """
    return known_from if known_from == ASSUMED else f"known from {known_from}"


@dataclass(frozen=True)
class Segment:
    """What starts one program: most lines have one, ``:`` starts another."""

    options: tuple[Said, ...]
    command: tuple[str, ...]

    def value(self, *names: str) -> str | None:
        """Return the last value given to an option; "" for one without a value."""
        found = [said for said in self.options if said.name in names]
        return (found[-1].values[-1] if found[-1].values else "") if found else None

    def has(self, *names: str) -> bool:
        """Whether an option is there."""
        return any(said.name in names for said in self.options)


@dataclass(frozen=True)
class Line:
    """A line as it was understood."""

    family: str
    version: str | None
    release: Release | None
    """The numbers of the version; None if unknown."""
    known_from: str
    words: Words
    segments: tuple[Segment, ...]
    stray: tuple[str, ...] = ()
    """Values that a blank cut off their ``-x NAME=``."""
    inner: tuple[Binder, ...] = field(default=())
    """numactl and taskset between the launcher and the program."""
    verb: tuple[str, ...] = ()
    """What stands between the launcher's word and its options: run, of flux run."""

    @property
    def first(self) -> Segment:
        """The first segment, on which predictions are made."""
        return self.segments[0]

    @property
    def options(self) -> list[Said]:
        """The options of all segments."""
        return [said for segment in self.segments for said in segment.options]


def adapters(machine: Machine) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name of each HCA and its NUMA nodes."""
    for hca in machine.hcas or ():
        if hca.locality and hca.locality.numa_nodes:
            yield hca.name, hca.locality.numa_nodes


def release_of(version: str | None) -> Release | None:
    """Return the numbers of a version, None where it has none."""
    if version in ("main", "master"):
        return MAIN
    match = re.match(r"v?(\d{1,4})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?", version or "", re.ASCII)
    return (int(match[1]), int(match[2] or 0), int(match[3] or 0)) if match else None


_OF_OPEN_MPI = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", re.ASCII)


def open_mpi_release(version: str) -> Release:
    """Return the numbers of a version of Open MPI: 5.0.6, 4.1.4rc1, main; raise BadValue of what is none."""
    if version in ("main", "master"):
        return MAIN
    match = _OF_OPEN_MPI.match(version)
    if not match:
        raise BadValue(f"{version[:40]!r} is not a version of Open MPI", cure="give, for example, 4.1.4, 5.0.6 or main")
    return int(match[1]), int(match[2]), int(match[3] or 0)


def of_prrte(number: str) -> str:
    """Return the Open MPI that does as a PRRTE of this number: 3.0 is that of 5.0, 3.0.7 that of 5.0.6; 4.0 came after."""
    own = open_mpi_release(f"{number}.0" if number.isdigit() else number)
    return "main" if own >= (3, 1, 0) else "5.0.6" if own >= (3, 0, 7) else "5.0.5"


_MOST_COUNTED = 1 << 24


def number(text: str | None) -> int | None:
    """Return a count that a line gives; None of anything else."""
    match = re.fullmatch(r"\d{1,8}", text or "", re.ASCII)
    return int(text or "0") if match and 0 < int(text or "0") <= _MOST_COUNTED else None


def counted(text: str | None) -> int | None:
    """Return a number of ranks; one that is too great to be worked out stays a great one, and 0 is as if it were not said."""
    digits = text is not None and text.isascii() and text.isdigit() and text.strip("0")
    return (number(text) or _MOST_COUNTED) if digits else None


@dataclass(frozen=True)
class Request:
    """What the first segment of a line asks for."""

    ranks: int | None = None
    per_node: int | None = None
    hosts: tuple[tuple[str, int | None], ...] = ()
    hostfile: str | None = None
    from_file: bool = False
    """Whether the hosts are those of the host file: one without slots has as many as cores there, one in --host has one."""
    level: str | None = None
    """What ranks are spread over: slot, core, numa, l3cache, package, node, ppr, pe-list, rankfile."""
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    """The list of a pe-list or a cpu-list."""
    ordered: bool = False
    modifiers: frozenset[str] = frozenset()
    map_text: str | None = None
    bind: str | None = None
    overload: bool = False
    rank_by: str | None = None
    rankfile: str | None = None
    hwthreads: bool = False
    hwthread_slots: bool = False
    """Whether hardware threads are slots too, and not only what ranks are bound to."""
    oversubscribe: bool = False
    odd: str | None = None
    """What of the words is not predicted."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    """Variables that the ranks get."""
    threads: int | None = None
    adapter: str | None = None
    """The HCA that the line names."""


def hosts(text: str) -> tuple[tuple[str, int | None], ...]:
    """Return the names of a list of hosts with their slots; a name given twice has the sum, one with ``*`` 0: all its cores."""
    found: dict[str, int | None] = {}
    for word in text.split(",")[:65536]:
        name, colon, slots = word.strip().partition(":")
        if not name:
            continue
        if colon:
            count = 0 if slots in ("*", "auto") else number(slots)
            before = found.get(name)
            found[name] = count + before if count and before else count
        else:
            found[name] = (found[name] or 1) + 1 if name in found else None
    return tuple(found.items())


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


def ranks_here(made: Prediction) -> int | None:
    """Return how many ranks the first host gets, where that is known."""
    if made.ranks:
        return len(made.here)
    want = made.want
    if want.ranks is None:
        return want.per_node
    return want.per_node or -(-want.ranks // max(1, len(want.hosts)))


ADVISE = "advisor bind writes a line for this machine"


def warning(name: str, what: str, why: str, evidence: str, better: str | None = None, *, bad: bool = False) -> LintWarning:
    """Return a warning."""
    return LintWarning(id=name, what=what, why=why, evidence=evidence, better=better, misbinds=bad)


_MOST_ENTRIES = 8192
"""Entries that are counted: Linux has no more CPUs."""


@dataclass(frozen=True)
class Signs:
    """How a launcher reads a list."""

    parts: str
    """What parts the ranks: a semicolon of Flux, a colon of PALS."""
    name: str
    short: str
    """What becomes of ranks that a short list has no entry for."""


def list_warnings(kind: str, listed: str, each: int, signs: Signs) -> Iterator[LintWarning]:
    """Yield a warning about a list that parts its ranks by commas, or that has fewer entries than a node has ranks."""
    words = [word for word in listed.split(signs.parts, _MOST_ENTRIES) if word]
    if len(words) == 1 and each > 1 and "," in listed and not listed.startswith("0x"):
        why = f"A comma joins CPUs of one rank; a {signs.name} separates ranks."
        better = f"{kind}:{listed.replace(',', signs.parts)[:200]}"
        what = f"CPUs {listed[:60]} are a single entry for {each} ranks per node"
        yield warning("separator", what, why, f"{kind}:{listed[:60]}", better, bad=True)
    elif words and len(words) < each:
        what = f"{each} ranks on a node, but {len(words)} entr{'ies' if len(words) > 1 else 'y'} in {kind}"
        yield warning("short-list", what, signs.short, f"{kind}:{listed[:100]}", f"{each} entries", bad=True)


Given = tuple[CpuSet | None, ...]

Place = TypeVar("Place", bound=Hashable)


def seated(places: Sequence[Place], given: Mapping[Place, Given], name: Callable[[Place], str | None]) -> tuple[LintRank, ...]:
    """Return the ranks by their places, their hosts: each has what its host gives the next one."""
    local = {place: iter(cpus) for place, cpus in given.items()}
    return tuple(LintRank(rank=rank, host=name(place), cpus=next(local[place])) for rank, place in enumerate(places))


def known_words(line: Line, whose: str) -> None:
    """Raise Unclear or Refused of a line with words that are not known, several programs, or none."""
    if odd := next((said for said in line.options if not said.known), None):
        raise Unclear(f"{whose}'s option {odd.written[0][:40]} is unknown here")
    if len(line.segments) > 1:
        raise Unclear("the line starts several programs; advisor predicts this only for other launchers")
    if not line.first.command:
        raise Refused("no program is named")


def number_of_option(line: Line, option: str) -> int | None:
    """Return the number of an option; None where it is not there."""
    text = line.first.value(option)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,7}", text, re.ASCII) or not 0 < int(text) <= MOST_RANKS:
        raise Unclear(f"{option} {text[:40]} is not a usable number of ranks or CPUs")
    return int(text)
