"""What Slurm is told of nodes: a site's slurm.conf and gres.conf, what slurmd finds, and the definition that a node wants.

Slurm numbers cores socket by socket (gres.conf calls that logical, slurmd's log abstract), not as the kernel numbers CPUs.
Written from what slurmd 22.05.8 prints on simulated nodes (tests/render/exports/slurmd.txt), and from its source, xcpuinfo.c.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import PurePath
from typing import Literal

from advisor.errors import BadInput, BadValue
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Gpu
from advisor.machine.hosts.errands import expanded, folded
from advisor.machine.layout import LogicalNumbering, distance_groups, logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.topology import L3, Core, Die, Package, Topology
from advisor.machine.value import MIB

COUNTS = ("cpus", "boards", "socketsperboard", "sockets", "corespersocket", "threadspercore", "realmemory")
"""Keys of a node's line that are numbers."""


@dataclass(frozen=True, eq=False)
class ConfLine:
    """A line NodeName= of slurm.conf, or a line of gres.conf."""

    place: str
    """The file and the line: slurm.conf line 12."""
    nodes: str | None
    """As they stand there: n[001-400]; None of a line of gres.conf for all nodes."""
    said: Mapping[str, str]
    """Key in small letters -> value; of slurm.conf with what NodeName=DEFAULT says."""
    own: tuple[tuple[str, str], ...] = ()
    """Keys and values of the line itself, as they are written there."""

    def number(self, key: str) -> int | None:
        """Return a value that is a whole number, with K for 1024 of them as slurmctld reads it; None where there is none."""
        text = self.said.get(key, "")
        digits = text.rstrip("kK")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 16 and len(text) - len(digits) < 2):
            return None
        return int(digits) << (10 if text != digits else 0)


@dataclass(frozen=True)
class Said:
    """The node that slurmctld makes of a line: as 22.05.8 was seen to."""

    cpus: int
    sockets: int
    """Of all boards."""
    cores: int
    threads: int
    reset: int | None = None
    """What CPUs= said, where slurmctld did not take it."""

    @property
    def product(self) -> int:
        """CPUs that sockets, cores and threads multiply to."""
        return self.sockets * self.cores * self.threads


def said_node(line: ConfLine) -> Said:
    """Return the node of a line: Sockets are those of all boards, whatever the manual says; CPUs that no product gives go."""
    numbers = {key: line.number(key) for key in COUNTS}
    cpus = numbers["cpus"] if numbers["cpus"] is not None else line.number("procs")
    boards, cores, threads = (numbers[key] or 1 for key in ("boards", "corespersocket", "threadspercore"))
    inferred = max(1, (cpus or 1) // (cores * threads))
    sockets = (numbers["socketsperboard"] or 0) * boards or numbers["sockets"] or inferred
    made = Said(cpus or 0, sockets, cores, threads)
    if cpus is None:
        return replace(made, cpus=made.product)
    return made if cpus in (sockets, sockets * cores, made.product) else replace(made, cpus=made.product, reset=cpus)


@dataclass(frozen=True)
class SlurmConf:
    """A site's slurm.conf with all that it includes, and gres.conf beside it."""

    file: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Key in small letters -> value; the last counts, as slurmctld says."""
    nodes: tuple[ConfLine, ...] = ()
    gres: tuple[ConfLine, ...] | None = None
    """None if there is no gres.conf."""
    unread: tuple[str, ...] = ()
    """Included files that could not be read, and why."""

    def words(self, key: str) -> frozenset[str]:
        """Return the words of a setting, in small letters."""
        return frozenset(word.strip() for word in self.settings.get(key, "").lower().split(",") if word.strip())


SocketsAre = Literal["sockets", "l3", "numa"]
"""What slurmd takes for a socket: SlurmdParameters=l3cache_as_socket or numa_node_as_socket make it another."""

PARAMETERS: dict[str, SocketsAre] = {"l3cache_as_socket": "l3", "numa_node_as_socket": "numa"}
"""The words of SlurmdParameters."""


@dataclass(frozen=True)
class FoundNode:
    """What ``slurmd -C`` prints of a node."""

    cpus: int
    boards: int
    sockets: int
    """Of all boards."""
    cores: int
    """Of a socket, rounded down where sockets differ."""
    threads: int
    order: tuple[CpuSet, ...]
    """The CPUs of each core by Slurm's number."""
    alike: bool
    """Whether sockets have as many cores as each other, and cores as many threads."""

    @property
    def per_board(self) -> int:
        """Sockets of a board."""
        return self.sockets // self.boards

    @property
    def described(self) -> int:
        """CPUs that a definition of these numbers has."""
        return self.boards * self.per_board * self.cores * self.threads

    @property
    def even(self) -> bool:
        """Whether the numbers describe every CPU."""
        return 0 < self.cpus == self.described

    def numbers(self, cpus: CpuSet) -> CpuSet:
        """Return Slurm's numbers of the cores that some CPUs are on."""
        return CpuSet(number for number, core in enumerate(self.order) if core & cpus)

    def whole_sockets(self, cores: CpuSet) -> bool:
        """Return whether some cores, by Slurm's numbers, are whole sockets."""
        firsts = range(0, self.sockets * self.cores, max(1, self.cores))
        sockets = (CpuSet(range(first, first + self.cores)) for first in firsts)
        return union(socket for socket in sockets if socket & cores) == cores


def found_by_slurmd(topology: Topology, sockets_are: SocketsAre = "sockets") -> FoundNode | None:
    """Return what slurmd finds on a machine, that which a cgroup hides too; None where no such sockets are known."""
    nodes = CpuSet(node.os_index for node in topology.nodes)
    whole = topology.but(allowed=topology.pus, allowed_nodes=nodes, shared_l2=())
    known = logical_numbering(whole)
    cores = frozenset(core.cpuset for core in whole.cores if core.cpuset)
    parts = _sockets(whole, sockets_are)
    if parts is None:
        return None
    sockets = _in_order([part for part in parts if any(core <= part for core in cores)], known)
    inside = [[core for core in known.cores if core in cores and core <= part] for part in sockets or (whole.pus,)]
    count, total = len(sockets) or len(parts) or 1, max(1, len(cores))
    return FoundNode(
        cpus=len(whole.pus),
        boards=_boards(whole),
        sockets=count,
        cores=total // count,
        threads=len(whole.pus) // total,
        order=tuple(core for socket in inside for core in socket),
        alike=len({len(socket) for socket in inside}) == 1 == len({len(core) for core in cores}),
    )


def _sockets(topology: Topology, sockets_are: SocketsAre) -> Sequence[CpuSet] | None:
    if sockets_are == "sockets":
        return [package.cpuset for package in topology.packages]
    if sockets_are == "l3":
        return [cache.cpuset for cache in topology.l3] or None
    near = {node.near for node in topology.nodes}
    if len(topology.nodes) == 1 and near == {topology.pus}:  # it hangs off the machine, however many sockets that has
        return [topology.pus]
    if union(near) != topology.pus or not all(node.cpuset for node in topology.nodes):
        return None
    packages, dies = {part.cpuset for part in topology.packages}, {part.cpuset for part in topology.dies}
    caches, groups = {part.cpuset for part in topology.l3}, set(groups_of_nodes(topology))
    kind = next((kind for kind in (packages, dies, caches, groups) if kind & near), None)
    return tuple(near) if kind == near else None


def groups_of_nodes(topology: Topology) -> frozenset[CpuSet]:
    """Return the CPUs of the groups that hwloc's tree has for NUMA nodes that are no socket, die, L3 or core."""
    named = set(_named(topology))
    near = [node.near for node in topology.nodes if node.near]
    return frozenset(part for part in (*near, *distance_groups(topology)) if part not in named and part != topology.pus)


def _named(topology: Topology) -> list[CpuSet]:
    """Return the CPUs of every socket, die, L3 and core."""
    parts: Sequence[Package | Die | L3 | Core] = (*topology.packages, *topology.dies, *topology.l3, *topology.cores)
    return [part.cpuset for part in parts]


def _in_order(parts: Sequence[CpuSet], known: LogicalNumbering) -> Sequence[CpuSet]:
    return sorted(parts, key=lambda part: min((known.pu_of[cpu] for cpu in part if cpu in known.pu_of), default=0))


def _boards(topology: Topology) -> int:
    """Return how many groups of sockets hwloc's tree begins with: NUMA nodes of several sockets, or nodes close to each other."""
    every, groups = topology.pus, groups_of_nodes(topology)
    named = _named(topology)
    beside = [part for part in (*groups, *named) if every and every.first in part]
    if not groups or every in named or not beside or max(beside, key=len) not in groups:
        return 1
    return sum(not any(group != other and group <= other for other in groups) for group in groups)


MARGIN = 1024
"""MiB below MemTotal from 64 GiB on: kdump, once it is switched on, takes 512 there (on ARM 576 or 676), a new kernel some more.

Red Hat Enterprise Linux 10, Supported kdump configurations and targets: minimum amount of reserved memory; below 64 GB it is 256.
"""
_LARGE = 64 << 10
"""MiB."""
_ALIKE = 64
"""Captures of nodes alike have the same MemTotal within a 64th."""


@dataclass(frozen=True)
class Gres:
    """GPUs of one model near the same cores."""

    type: str | None
    """a100: a word of the name that Slurm's AutoDetect would find; None if the model is not known."""
    files: tuple[str, ...]
    cores: CpuSet | None
    """By Slurm's numbers; None for all of them, or where it is not known."""

    def line(self, nodes: str) -> str:
        """Return its line of gres.conf."""
        words = [f"NodeName={nodes}", "Name=gpu", f"Type={self.type}" if self.type else "", f"File={_files(self.files)}"]
        return " ".join(filter(None, [*words, f"Cores={self.cores}" if self.cores else ""]))


@dataclass(frozen=True)
class Definition:
    """What slurm.conf and gres.conf want of a node, or of nodes alike."""

    found: FoundNode
    total: int | None = None
    """MiB of MemTotal, as slurmd -C prints it; of several nodes the least that is sure."""
    memory: int | None = None
    """MiB for RealMemory."""
    gpus: tuple[Gres, ...] = ()
    architecture: str | None = None
    not_known: tuple[str, ...] = ()
    other: "tuple[str, Definition] | None" = field(default=None, compare=False)
    """The word of SlurmdParameters that makes sockets of what GPUs are near to, and the definition with it."""

    @property
    def usable(self) -> bool:
        """Whether Slurm can describe the node at all: hwloc's tree may lack sockets or cores."""
        return self.found.described > 0

    @property
    def gres(self) -> str:
        """Return the value of Gres; empty where there is none to write."""
        counts: dict[str | None, int] = {}
        for each in self.gpus:
            counts[each.type] = counts.get(each.type, 0) + len(each.files)
        return ",".join(f"gpu:{kind}:{count}" if kind else f"gpu:{count}" for kind, count in counts.items())

    def line(self, nodes: str) -> str:
        """Return the line of slurm.conf."""
        found = self.found
        words = [
            f"NodeName={nodes} CPUs={found.described} Boards={found.boards} SocketsPerBoard={found.per_board}",
            f"CoresPerSocket={found.cores} ThreadsPerCore={found.threads}",
            f"RealMemory={self.memory}" if self.memory else "",
            f"Gres={self.gres}" if self.gpus else "",
        ]
        return " ".join(filter(None, words))


def definition_of(machine: Machine, *, several: bool = False) -> Definition | None:
    """Return what a machine wants; None without its topology. ``several``: it stands for nodes alike, whose memory varies."""
    topology = machine.topology
    found = found_by_slurmd(topology) if topology else None
    if topology is None or found is None:
        return None
    total = total_memory(topology)
    least = total and (total - total // _ALIKE if several else total)
    made = Definition(found, least, least and less_margin(least), architecture=machine.architecture)
    made = _with_gpus(made, machine.gpus, topology)
    hidden = (f"CPUs {topology.missing}: offline, or hidden from this source; slurmd counts only online CPUs",)
    return replace(
        made,
        other=_other(made, machine.gpus or (), topology),
        not_known=(*(hidden if topology.missing else ()), *made.not_known),
    )


def less_margin(total: int) -> int:
    """Return the RealMemory for a MemTotal, in MiB.

    >>> less_margin(262144), less_margin(24105), less_margin(600)
    (261120, 23593, 300)
    """
    return max(total // 2, total - (MARGIN if total >= _LARGE else MARGIN // 2))


def total_memory(topology: Topology) -> int | None:
    """Return MemTotal in MiB, as slurmd rounds it; None where a NUMA node's is not known."""
    sizes = [node.memory for node in topology.nodes]
    known = [size for size in sizes if size is not None]
    return sum(known) // MIB or None if len(known) == len(sizes) else None


def _with_gpus(made: Definition, gpus: Sequence[Gpu] | None, topology: Topology) -> Definition:
    """Return a definition with its GPUs, where the device file of each is known: without File= Slurm drains the node."""
    if gpus is None:
        return replace(made, not_known=("Gres: GPUs unknown because this source shows no PCI devices",))
    if any(gpu.instances for gpu in gpus):
        return replace(
            made, not_known=("Gres: GPUs are split into MIG instances; list them with AutoDetect=nvml or MultipleFiles=",)
        )
    if any(gpu.file is None for gpu in gpus):
        return replace(made, not_known=tuple(_unnamed(made, gpus, topology)))
    typed = all(type_of(gpu) for gpu in gpus)
    rows = [(type_of(gpu) if typed else None, near(gpu, made.found, topology), gpu.file or "") for gpu in gpus]
    grouped = groupby(rows, key=lambda row: (row[0], str(row[1] or "")))
    lines = [list(group) for _, group in grouped]
    unplaced = [gpu.address for gpu in gpus if local_cpus(gpu, topology) is None]
    why = (f"Cores: unknown for {', '.join(unplaced)}: nothing shows the nearest NUMA node",) if unplaced else ()
    return replace(
        made, gpus=tuple(Gres(group[0][0], tuple(row[2] for row in group), group[0][1]) for group in lines), not_known=why
    )


def _unnamed(made: Definition, gpus: Sequence[Gpu], topology: Topology) -> Iterator[str]:
    yield (
        f"Gres: this source does not show the device files of the {len(gpus)} GPUs, and a gpu without File= drains the node; "
        "run the export on the node itself, or write AutoDetect=nvml (rsmi, oneapi) where slurmd has the library"
    )
    for kind, cores, where in sorted((type_of(gpu) or "GPU", near(gpu, made.found, topology), gpu.address) for gpu in gpus):
        if cores:
            yield f"  {kind} {where}: Cores={cores}"


def near(gpu: Gpu, found: FoundNode, topology: Topology) -> CpuSet | None:
    """Return Slurm's numbers of the cores near a GPU; None where that is not known, or all are."""
    cpus = local_cpus(gpu, topology)
    if cpus is None or not found.order or not found.even:
        return None
    cores = found.numbers(cpus)
    return cores if cores and len(cores) < len(found.order) else None


def local_cpus(gpu: Gpu, topology: Topology) -> CpuSet | None:
    """Return the CPUs near a GPU, by the kernel's numbers."""
    place = gpu.locality
    if place is None or place.one_of:
        return None
    if place.cpus:
        return place.cpus
    return union(node.near for node in topology.nodes if node.os_index in place.numa_nodes) or None


def type_of(gpu: Gpu) -> str | None:
    """Return a word of a GPU's name for Type=, such as a100, in small letters: part of what AutoDetect calls it.

    >>> [type_of(Gpu(address="0", model=name)) for name in ("NVIDIA A100-SXM4-40GB", "GV100GL [Tesla V100 PCIe 16GB]", None)]
    ['a100', 'v100', None]
    """
    name = (gpu.model or "").lower()
    name = re.sub(r".*\[(.*)\].*", r"\1", name)
    word = re.search(r"(?<![a-z0-9])((?:mi|gh|gb|max )?[a-z]{0,2}\d{2,4}[a-z]?)(?![a-z0-9])", name)
    if word and not word[1][0].isdigit():
        return word[1].replace(" ", "_")
    return re.sub(r"[^a-z0-9_.-]+", "_", name).strip("_") or None


def _other(made: Definition, gpus: Iterable[Gpu], topology: Topology) -> tuple[str, Definition] | None:
    """Return what to make sockets of where GPUs are near to parts of one: NUMA nodes, else L3 groups.

    Not beside x86: slurmd 22.05.8 was seen to stop where hwloc's tree has groups of clusters too.
    """
    cores = [cores for gpu in gpus if (cores := near(gpu, made.found, topology))]
    if not cores or all(map(made.found.whole_sockets, cores)) or made.architecture != "x86_64":
        return None
    for word, kind in sorted(PARAMETERS.items(), reverse=True):
        found = found_by_slurmd(topology, kind)
        fits = found and found.even and found.alike and found.sockets > made.found.sockets and found.order == made.found.order
        if found and fits and all(map(found.whole_sockets, cores)):
            return word, replace(made, found=found)
    return None


def hostlist(names: Iterable[str]) -> str:
    """Return names as slurm.conf takes them: short, folded; one by one where brackets would not stand at the end.

    >>> hostlist(["n2.x.org", "n1"]), hostlist(["n1-ib", "n2-ib"])
    ('n[1-2]', 'n1-ib,n2-ib')
    """
    short = sorted({name.partition(".")[0] for name in names})
    text = folded(short)
    inside = any(part and not part.startswith(",") for part in text.split("]")[1:])
    return ",".join(short) if inside else text


def _files(files: Sequence[str]) -> str:
    """Return device files as gres.conf has them.

    >>> _files(["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia3"]), _files(["/dev/a0", "/dev/b0"])
    ('/dev/nvidia[0-1,3]', '/dev/a0,/dev/b0')
    """
    parts = [re.fullmatch(r"(.*?)(\d{1,5})", file) for file in files]
    stems = {part[1] for part in parts if part}
    if len(files) == 1 or len(stems) != 1 or None in parts:
        return ",".join(files)
    return f"{stems.pop()}[{CpuSet(int(part[2]) for part in parts if part)}]"


Opened = Callable[[str], str]
"""Returns the text of a file; raises BadInput where it cannot."""

_PAIR = re.compile(r"([A-Za-z0-9_.]+)\s*[-+*/]?=\s*(\"[^\"]*\"|\S+)")
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*$", re.IGNORECASE)
_COUNT = re.compile(r"\d{1,15}[kK]?", re.ASCII)
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_SPAN = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_STOPS = "correct the line: slurmctld refuses it too"
_MOST_LINES = 100_000
_DEEPEST = 8
_MOST_NODES = 65_536
"""Names of one list: Slurm itself takes no more in a range (MAX_RANGE)."""


@dataclass
class _Reading:
    """What was read so far."""

    folder: PurePath
    opened: Opened
    lines: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def read_slurm_conf(file: str, opened: Opened) -> SlurmConf:
    """Return what a slurm.conf says with all that it includes, and the gres.conf in the same folder."""
    reading = _Reading(PurePath(file).parent, opened)
    nodes: list[ConfLine] = []
    default: dict[str, str] = {}
    for place, row in _rows(file, opened(file), reading):
        pairs = _pairs(place, row)
        keys = {key.lower(): value for key, value in pairs}
        if "nodename" not in keys:
            reading.settings |= keys
        elif keys["nodename"].upper() == "DEFAULT":
            default |= {key: value for key, value in keys.items() if key != "nodename"}
        else:
            own = tuple(pair for pair in pairs if pair[0].lower() != "nodename")
            nodes.append(ConfLine(place, keys["nodename"], {**default, **keys}, own))
            for key in (*COUNTS, "procs"):  # RealMemory=255G stops slurmctld, which knows K alone
                value = nodes[-1].said.get(key, "0")
                if not _COUNT.fullmatch(value):
                    raise BadInput(f"{key}={value[:40]!a} is not a number", place=place, cure=_STOPS)
    return SlurmConf(file, reading.settings, tuple(nodes), _gres(reading), tuple(reading.unread))


def _gres(reading: _Reading) -> tuple[ConfLine, ...] | None:
    """Return the lines of gres.conf; None where there is none."""
    file = str(reading.folder / "gres.conf")
    try:
        text = reading.opened(file)
    except BadInput as error:
        if "no such file" not in str(error).lower():
            reading.unread.append(str(error))
        return None
    lines = []
    for place, row in _rows(file, text, reading):
        pairs = _pairs(place, row)
        keys = {key.lower(): value for key, value in pairs}
        lines.append(ConfLine(place, keys.get("nodename"), keys, tuple(pairs)))
    return tuple(lines)


def _pairs(place: str, row: str) -> list[tuple[str, str]]:
    """Return the keys and values of a line; refuse one that slurmctld would not parse."""
    rest = _PAIR.sub(" ", row).split()
    if rest:
        raise BadInput(f"{rest[0][:40]!a} is not KEY=value", place=place, cure=_STOPS)
    return [(key, value.strip('"')) for key, value in _PAIR.findall(row)]


def _rows(file: str, text: str, reading: _Reading, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file with their places, and those of files that it includes where it does."""
    for number, row in _joined(text):
        reading.lines += 1
        if reading.lines > _MOST_LINES:
            raise BadInput(f"more than {_MOST_LINES} lines, counting included files", file=file, cure="refused as unsafe")
        include = _INCLUDE.match(row)
        if include is None:
            yield f"{PurePath(file).name} line {number}", row
        elif depth >= _DEEPEST:
            raise BadInput(f"include lines are nested more than {_DEEPEST} deep", file=file, place=f"line {number}")
        else:
            name = include[1].strip('"').replace("%c", reading.settings.get("clustername", "%c"))
            path = str(reading.folder / name)
            try:
                included = reading.opened(path)
            except BadInput as error:
                reading.unread.append(str(error))
            else:
                yield from _rows(path, included, reading, depth + 1)


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that say something, without comments, with what goes on after a backslash; each by its first number."""
    whole, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        row = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        first = first or number
        if row.endswith("\\"):
            whole += row[:-1]
            continue
        if (whole + row).strip():
            yield first, whole + row
        whole, first = "", 0
    if whole.strip():
        yield first, whole


def names_of(line: ConfLine) -> frozenset[str]:
    """Return the names of a line, those of its hosts where NodeHostName gives them; refuse a list that Slurm would not take."""
    text = line.said.get("nodehostname") or line.nodes or ""
    try:
        few = len(text) <= 1 << 20 and _most_names(text) <= _MOST_NODES
        names = frozenset(expanded(text)) if few else None
    except BadValue as error:
        raise BadInput(error.problem, place=line.place, cure=error.cure) from error
    if names is None:
        raise BadInput(f"{text[:60]!a} has more than {_MOST_NODES} nodes", place=line.place, cure="split them into several lines")
    return names


def _most_names(text: str) -> int:
    """Return how many names a list has at most, without making them.

    >>> _most_names("n[1-300,400-700],head"), _most_names("rack[1-4]n[01-16]"), _most_names("a-1-4")
    (602, 64, 1)
    """
    total, product, at = 0, 1, 0
    for match in _BRACKETS.finditer(text):
        between = len(re.findall(r"[,\s]", text[at : match.start()]))
        if between:
            total, product = total + product + between - 1, 1
        product *= sum(_length(part) for part in match[1].split(","))
        at = match.end()
    return total + product + len(re.findall(r"[,\s]", text[at:]))


def _length(part: str) -> int:
    """Return how many numbers a part of brackets has; refuse what Slurm does not read as one, such as 1-9_000."""
    span = _SPAN.fullmatch(part)
    if span is None:
        raise BadValue(f"[{part[:40]}] is not a set of nodes", cure="write n[001-400], or n1,n2")
    return max(1, int(span[2] or span[1]) - int(span[1]) + 1)
