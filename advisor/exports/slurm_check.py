"""Compares a site's slurm.conf with a machine, or with the nodes of a fleet's folder: what differs, and the line to write.

What slurmctld and slurmd do with a line that differs was seen on 22.05.8 with simulated nodes (tests/compare/slurm).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from advisor.advice.model.sheets import SEVERITIES, Severity
from advisor.errors import BadInput, BadValue
from advisor.exports.export import is_fleet, nodes_alike
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Gpu
from advisor.machine.hosts.files import open_here
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.slurm import (
    PARAMETERS,
    ConfLine,
    Definition,
    FoundNode,
    Said,
    SlurmConf,
    definition_of,
    found_by_slurmd,
    hostlist,
    local_cpus,
    names_of,
    near,
    read_slurm_conf,
    said_node,
    total_memory,
)
from advisor.machine.topology import Topology
from advisor.machine.units import count, plain

SCHEMA = "advisor-slurm-check/1"
_LARGEST = 16 << 20
"""Bytes of one file."""
_SHAPE = ("cpus", "procs", "boards", "socketsperboard", "sockets", "corespersocket", "threadspercore")
"""Keys that a line's shape is made of."""
_UNUSED = 0.05
"""Share of MemTotal that may be left to the system unnamed: AWS ParallelCluster leaves 5 % by default (SchedulableMemory)."""
_MUCH = 0.5
"""Share that is more than a low matter: a RealMemory= of NodeName=DEFAULT, or of nodes that have got more since."""


class Fix(NamedTuple):
    """What is to be written otherwise in a node's line; None of what stays."""

    cpus: int | None = None
    """With sockets, cores and threads as they are."""
    memory: int | None = None
    gres: str | None = None


class NodeDifference(NamedTuple):
    """A difference of one node."""

    id: str
    severity: Severity
    claim: str
    cost: str
    fix: Fix | str
    """What the node's line wants, or a line of another kind to write."""
    place: str


@dataclass(frozen=True)
class Compared:
    """A node's line and the node."""

    conf: SlurmConf
    line: ConfLine
    said: Said
    machine: Machine
    topology: Topology
    wanted: Definition
    found: FoundNode
    """With the sockets that SlurmdParameters chooses."""
    gres: tuple[ConfLine, ...]
    """The lines of gres.conf that are for the node."""
    sockets_known: bool
    """Whether what SlurmdParameters makes sockets of is known."""
    name: str

    @property
    def cores(self) -> int:
        """Cores that Slurm can describe."""
        return self.wanted.found.described // self.wanted.found.threads

    def differs(
        self,
        id: str,  # noqa: A002 - as rules say
        severity: Severity,
        claim: str,
        cost: str,
        fix: Fix | str | None = None,
        *,
        place: str | None = None,
    ) -> NodeDifference:
        """Return a difference of the node's line, or of another; its fix is the shape that slurmd finds, unless one is given."""
        fix = Fix(cpus=self.found.described) if fix is None else fix
        return NodeDifference(id, severity, claim, cost, fix, place or self.line.place)

    def corrected(self, names: str, fix: Fix) -> str:
        """Return the line as it should be, with all that it says beside; what NodeName=DEFAULT says stays there."""
        found = self.found
        new = {
            "cpus": f"CPUs={fix.cpus} Boards={found.boards} SocketsPerBoard={found.per_board} CoresPerSocket={found.cores} "
            f"ThreadsPerCore={found.threads}"
            if fix.cpus
            else "",
            "realmemory": f"RealMemory={fix.memory}" if fix.memory else "",
            "gres": f"Gres={fix.gres}" if fix.gres else "",
        }
        gone = {*(_SHAPE if fix.cpus else ()), *(key for key, text in new.items() if text)}
        own = [(key, f'"{value}"' if " " in value else value) for key, value in self.line.own if key.lower() not in gone]
        return " ".join([f"NodeName={names}", *filter(None, new.values()), *(f"{key}={value}" for key, value in own)])

    @property
    def shares_memory(self) -> bool:
        """Whether jobs are given memory at all (SelectTypeParameters=CR_Core_Memory)."""
        return any("memory" in word for word in self.conf.words("selecttypeparameters"))

    @property
    def gpu_lines(self) -> list[ConfLine]:
        """The lines of gres.conf for the node's GPUs; those for it alone go before those for all."""
        lines = [line for line in self.gres if line.said.get("name", "").lower() == "gpu"]
        return [line for line in lines if line.nodes is not None] or lines

    @property
    def autodetects(self) -> bool:
        """Whether Slurm finds the node's GPUs by a vendor's library."""
        words = [(line.nodes is not None, line.said["autodetect"].lower()) for line in self.gres if "autodetect" in line.said]
        own = [word for mine, word in words if mine]
        return any(word != "off" for word in own or [word for _, word in words])

    @property
    def gres_lines(self) -> str:
        """The lines of gres.conf to write."""
        if self.wanted.gpus:
            return "\n".join(gpu.line(self.line.nodes or self.name) for gpu in self.wanted.gpus)
        return (
            "in gres.conf: the lines that advisor export slurm writes there; or AutoDetect=nvml (rsmi, oneapi), with its library"
        )


def differences(node: Compared) -> Iterator[NodeDifference]:
    """Yield what differs of the CPUs, at most one difference of the shape, of the memory, and of the GPUs."""
    if {"sockets", "socketsperboard"} <= {key.lower() for key, _ in node.line.own}:
        cost = "slurmctld logs this as invalid each time it starts, and uses SocketsPerBoard"
        yield node.differs("slurm-sockets-twice", "low", "it has both Sockets and SocketsPerBoard", cost)
    yield from list(_shapes(node))[:1]
    yield from _memory(node)
    if node.machine.gpus is not None:
        yield from _gpus(node, node.machine.gpus)


def _shapes(node: Compared) -> Iterator[NodeDifference]:
    """Yield what is wrong with CPUs, sockets, cores and threads, the worst first: the others follow from it."""
    said, real = node.said, node.wanted.found
    if said.cpus > real.cpus:
        why = (
            f" (CPUs={said.reset} matches no product of its sockets, cores and threads, so Slurm resets it)"
            if said.reset is not None
            else ""
        )
        claim = f"it defines {said.cpus} CPUs{why}, but the node has {real.cpus}"
        overrides = "config_overrides" in node.conf.words("slurmdparameters")
        drained = "slurmctld drains the node: Low socket*core*thread count, Low CPUs"
        cost = "jobs are given CPUs that do not exist (config_overrides)" if overrides else drained
        yield node.differs("scheduler-cpus-too-many", "high", claim, cost)
    if said.cores == 1 and said.sockets > max(1, real.sockets) and node.found.cores > 1:
        # aws-parallelcluster issue 6449: NAS multi-zone benchmarks on a node of 96 cores
        claim = f"it defines {said.sockets} sockets of 1 core, but the node has {real.sockets} of {real.cores}"
        cost = (
            "Slurm knows neither sockets nor cores: hybrid programs lost about 40 % of their performance on 96 cores "
            "(aws-parallelcluster 6449)"
        )
        yield node.differs("scheduler-sockets-of-one-core", "high", claim, cost)
    if said.threads < real.threads and said.product > 1:
        used = min(node.cores, -(-said.cpus // real.threads))
        half = f"; a job on all its CPUs runs on {used} of {node.cores} cores" if used < node.cores else ""
        claim = f"ThreadsPerCore={said.threads}, but the node has {real.threads} threads per core"
        cost = f"two tasks share a core while another is idle{half} (seen on Slurm 22.05.8)"
        fix = Fix(cpus=node.cores) if said.cpus <= node.cores else None
        yield node.differs("scheduler-threads-as-cores", "high", claim, cost, fix)
    elif said.threads > real.threads:
        claim = f"ThreadsPerCore={said.threads}, but the node has {real.threads}"
        cost = f"tasks are bound to {said.threads} cores instead of one, and share them with others (seen on Slurm 22.05.8)"
        yield node.differs("slurm-threads-not-there", "high", claim, cost)
    idle = node.cores - min(said.cpus, said.sockets * said.cores)
    if idle > 0:
        claim = f"it defines {node.cores - idle} cores, but the node has {node.cores}"
        yield node.differs("scheduler-cpus-too-few", "medium", claim, f"{idle} cores ({idle / node.cores:.0%}) get no jobs")
    yield from _sockets(node)


def _sockets(node: Compared) -> Iterator[NodeDifference]:
    """Yield sockets of another size than those of the slurmd that reads the same slurm.conf."""
    said, found = node.said, node.found
    if not node.sockets_known or (said.sockets, said.cores) == (found.sockets, found.cores) or not found.even:
        return
    made = ((word, found_by_slurmd(node.topology, kind)) for word, kind in PARAMETERS.items())
    fits = next((word for word, each in made if each and each.sockets == said.sockets), None)
    known = fits is None or fits in node.conf.words("slurmdparameters")
    hint = "" if known else f"; or set SlurmdParameters={fits}, with which slurmd reports these sockets"
    claim = f"it defines {said.sockets} sockets of {said.cores} cores, but slurmd finds {found.sockets} with {found.cores} each"
    cost = (
        f"slurmctld allocates cores by sockets that slurmd does not use for binding: a task may span two of these sockets{hint}"
    )
    fix = Fix(cpus=said.cpus) if said.cpus in (node.cores, found.described) and said.cpus else None
    yield node.differs("scheduler-sockets-differ", "low", claim, cost, fix)


def _memory(node: Compared) -> Iterator[NodeDifference]:
    total, fix, shares = total_memory(node.topology), Fix(memory=node.wanted.memory), node.shares_memory
    if total is None or fix.memory is None:
        return
    said = node.line.number("realmemory")
    claim = f"RealMemory={said}, but the node has {total} MiB"
    if said is None or said <= 1:
        claim = f"no RealMemory, which means 1 MiB; the node has {total}"
        cost = "jobs that request memory never start on this node" if shares else "Slurm checks --mem against 1 MiB"
        yield node.differs("slurm-memory-not-said", "high" if shares else "low", claim, cost, fix)
    elif said > total:
        yield node.differs("scheduler-memory-too-high", "high", claim, "slurmctld drains the node: Low RealMemory", fix)
    elif total - said > (_UNUSED if shares else _MUCH) * total:
        share = f"{total - said} MiB ({(total - said) / total:.0%})"
        unused = f"{share} are not available to jobs; MemSpecLimit= keeps memory for the system"
        cost = unused if shares else f"Slurm checks --mem against {said} MiB"
        severity: Severity = "medium" if shares and total - said > _MUCH * total else "low"
        yield node.differs("slurm-memory-unused", severity, claim, cost, fix)


def _gpus(node: Compared, gpus: tuple[Gpu, ...]) -> Iterator[NodeDifference]:
    """Yield what differs of the GPUs; nothing where Gres may count parts of NVIDIA's cards (MIG)."""
    said, lines = counted(node.line.said.get("gres", "")), node.gpu_lines
    total = sum(said.values())
    if total > len(gpus) and any(gpu.vendor == "nvidia" for gpu in gpus):
        named = re.search(r"\d+g\.\d+gb", node.line.said.get("gres", "").lower())
        several = node.autodetects or any("multiplefiles" in line.said for line in lines)
        if named or several or any(gpu.instances for gpu in gpus):
            return
    yield from list(_counts(node, gpus, total))[:1] or list(_usable(node, gpus, said))[:1]
    yield from _cores(node, gpus)
    wanted = [cores for gpu in gpus if (cores := near(gpu, node.wanted.found, node.topology))]
    placed = node.autodetects or any("cores" in line.said or "cpus" in line.said for line in lines)
    if total and len(node.topology.cpu_nodes) > 1 and lines and wanted and not placed:
        claim, cost = "gres.conf has neither AutoDetect nor Cores", "a job that requests a GPU gets cores on any NUMA node"
        yield node.differs("scheduler-gpus-not-placed", "low", claim, cost, node.gres_lines, place=lines[0].place)


def counted(gres: str) -> dict[str, int]:
    """Return how many GPUs of each type a value of Gres names.

    >>> counted("gpu:a100:2,gpu:v100:1,bandwidth:lustre:no_consume:4G"), counted("gpu"), counted("gpu:4")
    ({'a100': 2, 'v100': 1}, {'': 1}, {'': 4})
    """
    found: dict[str, int] = {}
    for entry in gres.lower().split(","):
        name, *rest = [word for word in entry.strip().split(":") if word != "no_consume"]
        if name == "gpu":
            number = int(rest[-1]) if rest and rest[-1].isascii() and rest[-1].isdecimal() and len(rest[-1]) < 6 else 1
            kind = next((word for word in rest if not word.isdecimal()), "")
            found[kind] = found.get(kind, 0) + number
    return found


def _counts(node: Compared, gpus: tuple[Gpu, ...], said: int) -> Iterator[NodeDifference]:
    have, fix = len(gpus), Fix(gres=node.wanted.gres or f"gpu:{len(gpus)}")
    jobs_want = sum(gpu.vendor != "intel" for gpu in gpus)  # Intel's may be the processor's own, for a screen
    claim, types = f"Gres has {said} GPUs, but the node has {have}", node.conf.words("grestypes")
    if said > have:
        cost = f"slurmctld drains the node: gres/gpu count reported lower than configured ({have} < {said})"
        yield node.differs("slurm-gpus-too-many", "high", claim, cost, fix if have else "the line without Gres=gpu")
    elif said < jobs_want:
        before = "" if "gpu" in types else "; GresTypes=gpu is needed too"
        if not node.autodetects and sum(len(files_of(line)) for line in node.gpu_lines) < have:
            before = "; write gres.conf first (AutoDetect, or advisor export slurm on the node), otherwise Slurm drains it"
        yield node.differs("slurm-gpus-too-few", "medium", claim, f"{jobs_want - said} of {have} GPUs get no jobs{before}", fix)
    elif said and "gpu" not in types:
        cost = "slurmctld ignores the node's Gres (Invalid GRES configured): no job gets a GPU"
        line = f"GresTypes={','.join(sorted({*types, 'gpu'}))}"
        yield node.differs("slurm-gres-types", "high", "GresTypes does not name gpu", cost, line)


def _usable(node: Compared, gpus: tuple[Gpu, ...], said: dict[str, int]) -> Iterator[NodeDifference]:
    """Yield a gres.conf that gives slurmd fewer GPUs than the line has: seen on slurmctld to drain the node."""
    lines = node.gpu_lines
    if not said or not gpus or node.autodetects:
        return
    files = dict.fromkeys(said, 0)
    for line in lines:
        kind = line.said.get("type", "").lower()
        if kind in files or "" in files:
            files[kind if kind in files else ""] += len(files_of(line))
    for short in (kind for kind, wanted in said.items() if files[kind] < wanted):
        word = f"gpu:{short}" if short else "gpu"
        why = "there is no gres.conf" if node.conf.gres is None else f"gres.conf has {files[short]} with File="
        claim = f"Gres has {said[short]} {word}, but {why} and no AutoDetect"
        cost = f"slurmctld drains the node: gres/gpu count reported lower than configured ({files[short]} < {said[short]})"
        place = lines[0].place if lines else None
        yield node.differs("slurm-gres-without-file", "high", claim, cost, node.gres_lines, place=place)


def _cores(node: Compared, gpus: tuple[Gpu, ...]) -> Iterator[NodeDifference]:
    """Yield Cores= that are not there, or far from the GPU, which a line's files name."""
    by_file = {gpu.file: gpu for gpu in gpus if gpu.file}
    for line in node.gpu_lines if node.wanted.found.even else ():
        text = line.said.get("cores") or line.said.get("cpus")
        try:
            said = CpuSet.parse(text) if text else None
        except BadValue:
            continue
        if said is None:
            continue
        if said and (said.last or 0) >= node.cores:
            claim = f"Cores={said}, but the last core is {node.cores - 1}: Slurm numbers cores, not hardware threads"
            cost = "Slurm refuses them (Invalid GRES data), and a job gets arbitrary cores with its GPU"
            yield node.differs("slurm-gres-cores-not-there", "medium", claim, cost, node.gres_lines, place=line.place)
            continue
        mine = (_far(node, said, by_file[file]) for file in files_of(line) if file in by_file)
        if claim := next(filter(None, mine), ""):
            cost = "a job gets its GPU with cores of another NUMA node, so copies cross between sockets or dies"
            yield node.differs("slurm-gres-cores-far", "medium", claim, cost, node.gres_lines, place=line.place)


def _far(node: Compared, said: CpuSet, gpu: Gpu) -> str:
    """Return how cores are far from a GPU; empty where they are near, or nobody knows."""
    wanted, cpus = near(gpu, node.wanted.found, node.topology), local_cpus(gpu, node.topology)
    if wanted is None or cpus is None:
        return ""
    kernels = said <= cpus and not said <= wanted
    why = "; these are the kernel's CPU numbers, but Slurm needs its own" if kernels else ""
    return "" if said & wanted and not kernels else f"Cores={said} for {gpu.file}, which is near {wanted}{why}"


def files_of(line: ConfLine) -> list[str]:
    """Return the device files of a line.

    >>> files_of(ConfLine("", None, {"file": "/dev/nvidia[0-1,3],/dev/x"}))
    ['/dev/nvidia0', '/dev/nvidia1', '/dev/nvidia3', '/dev/x']
    """
    text = line.said.get("file") or line.said.get("multiplefiles") or ""
    found: list[str] = []
    for stem, inside in re.findall(r"([^,\[]+)(?:\[([0-9,-]*)\])?", text)[:1024]:
        try:
            found += [f"{stem}{number}" for number in CpuSet.parse(inside)] if inside else [stem]
        except BadValue:
            found.append(f"{stem}[{inside}]")
    return found[:1024]


Alike = tuple[tuple[str, ...], Machine]
"""Nodes whose facts are the same, and the machine of the first."""
Names = Mapping[ConfLine, frozenset[str]]
"""The names of each line of slurm.conf, and of those of gres.conf that have some."""


@dataclass(frozen=True)
class SlurmDifference:
    """One difference, of nodes that have it in common."""

    id: str
    severity: Severity
    place: str
    """slurm.conf line 12."""
    nodes: tuple[str, ...]
    claim: str
    cost: str
    write: str
    """The line that ends it."""


@dataclass(frozen=True)
class CheckedConf:
    """A slurm.conf against nodes."""

    file: str
    differences: tuple[SlurmDifference, ...]
    nodes: int
    """That were compared."""
    unread: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()

    def reaches(self, severity: Severity) -> bool:
        """Return whether a difference is as severe as this, or worse."""
        return any(SEVERITIES.index(each.severity) <= SEVERITIES.index(severity) for each in self.differences)

    def document(self) -> dict[str, Any]:
        """Return a check as JSON; the nodes of a difference as Slurm writes them."""
        rows = [{**asdict(each), "nodes": hostlist(each.nodes)} for each in self.differences]
        return {"schema": SCHEMA, **asdict(self), "differences": rows}

    def page(self) -> str:
        """Return the screen: what differs, what it costs, the line to write, the worst first."""
        return "".join(f"{line}\n" for line in _lines(self))


def check_slurm(file: str, source: str | None = None, observer: Observer = SILENT) -> CheckedConf:
    """Return what a slurm.conf, with the gres.conf beside it, says otherwise than a machine or the nodes of a fleet are."""
    conf = read_slurm_conf(file, text_of)
    if not conf.nodes:
        missing = f"; {conf.unread[0]}" if conf.unread else ""
        raise BadInput(f"defines no nodes{missing}", file=file, cure="give the slurm.conf that has NodeName lines")
    names = {line: names_of(line) for line in (*conf.nodes, *(line for line in conf.gres or () if line.nodes))}
    if source is not None and is_fleet(Path(source)):
        return checked(conf, names, nodes_alike(Path(source), observer))
    machine = read_machine(source, observer)
    if not machine.name and len(conf.nodes) > 1:
        problem = f"this source has no host name, and {conf.file} has {len(conf.nodes)} NodeName lines"
        raise BadValue(problem, cure="give a capture of the node: it contains the node's name")
    return checked(conf, names, [((machine.name or min(names_of(conf.nodes[0])),), machine)])


def text_of(path: str) -> str:
    """Return a file's text, whatever its comments are written in; raise BadInput where it cannot be read."""
    try:
        with open_here(path) as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or "cannot be read").lower()
        raise BadInput(why, file=path, cure="give the path of slurm.conf") from error
    if len(data) > _LARGEST:
        raise BadInput("too large for a slurm.conf", file=path)
    return data.decode("utf-8", "replace")


class _Group(NamedTuple):
    """Nodes of one line that differ from it alike; none of them may differ at all."""

    node: Compared
    found: tuple[NodeDifference, ...]
    members: list[str]


def checked(conf: SlurmConf, names: Names, nodes: Sequence[Alike]) -> CheckedConf:
    """Return what differs between a slurm.conf and nodes."""
    found = [*_lost(conf, names, nodes)]
    renamed = [line for line in conf.nodes if "nodehostname" in line.said]
    for line in (line for line in conf.nodes if line not in renamed):
        groups = _groups(conf, names, line, nodes)
        for node, rows, members in groups:
            alone = line.nodes if len(groups) == 1 and line.nodes else hostlist(members)
            fixes = [each.fix for each in rows if isinstance(each.fix, Fix)]
            fix = Fix(*(next(filter(None, values), None) for values in zip(*fixes, strict=True)))
            for each in rows:  # each with the whole line as it should be
                write = each.fix if isinstance(each.fix, str) else node.corrected(alone, fix)
                row = SlurmDifference(each.id, each.severity, each.place, tuple(members), each.claim, each.cost, write)
                found.append(row)
    found.sort(key=lambda each: (SEVERITIES.index(each.severity), each.place, each.write, each.id))
    shown = [(members[0], machine.topology) for members, machine in nodes]
    unknown = (
        *(f"{name}: its topology" for name, topology in shown if topology is None),
        *(f"{name}: its memory" for name, topology in shown if topology and total_memory(topology) is None),
        *(f"{line.place}: NodeHostName is set, so these nodes are not compared" for line in renamed),
    )
    return CheckedConf(conf.file, tuple(found), sum(len(members) for members, _ in nodes), conf.unread, unknown)


def _groups(conf: SlurmConf, names: Names, line: ConfLine, nodes: Sequence[Alike]) -> Sequence[_Group]:
    """Return the nodes of a line by what differs of them."""
    groups: dict[tuple[tuple[str, str, str], ...], _Group] = {}
    for members, machine in nodes:
        mine = [name for name in members if is_named(name, names[line])]
        node = _compared(conf, names, line, mine[0], machine) if mine else None
        if node is not None:
            found = tuple(differences(node))
            key = tuple((each.id, each.place, each.claim) for each in found)
            groups.setdefault(key, _Group(node, found, [])).members.extend(mine)
    return tuple(groups.values())


def is_named(name: str, names: frozenset[str]) -> bool:
    """Return whether a node is among the names of a line, by its whole or its short name."""
    return name in names or name.partition(".")[0] in names


def _compared(conf: SlurmConf, names: Names, line: ConfLine, name: str, machine: Machine) -> Compared | None:
    """Return a node beside its line; None where Slurm could not describe it, or nothing shows its topology."""
    wanted, topology = definition_of(machine), machine.topology
    if topology is None or wanted is None or not wanted.usable:
        return None
    parameters = conf.words("slurmdparameters") | {word.strip().lower() for word in line.said.get("parameters", "").split(",")}
    chosen = [word for word in PARAMETERS if word in parameters]
    found = found_by_slurmd(topology, PARAMETERS[chosen[0]]) if chosen else wanted.found
    gres = tuple(each for each in conf.gres or () if each.nodes is None or is_named(name, names[each]))
    known = found is not None
    return Compared(conf, line, said_node(line), machine, topology, wanted, found or wanted.found, gres, known, name)


def _lost(conf: SlurmConf, names: Names, nodes: Sequence[Alike]) -> Iterator[SlurmDifference]:
    """Yield nodes that two lines name, and those that none does, by the line they want.

    Nothing is said of the latter where a file that may have their line was not read.
    """
    every = [name for members, _ in nodes for name in members]
    seen = {name: [line for line in conf.nodes if is_named(name, names[line])] for name in every}
    twice = tuple(name for name, lines in seen.items() if len(lines) > 1)
    if twice:
        places = list(dict.fromkeys(line.place for line in seen[twice[0]]))
        claim, cost = "two lines define the same node", "slurmctld will not restart: Duplicated NodeHostName"
        write = f"remove it from {seen[twice[0]][-1].place}"
        yield SlurmDifference("slurm-node-twice", "high", " and ".join(places), twice, claim, cost, write)
    for members, machine in nodes if not conf.unread else ():
        mine = tuple(name for name in members if not seen[name])
        wanted = definition_of(machine, several=len(members) > 1)
        if mine and wanted:
            write = wanted.line(hostlist(mine)) if wanted.usable else "what slurmd -C prints there"
            claim, cost = "not defined by any NodeName line", "no job ever runs there"
            yield SlurmDifference("slurm-node-not-defined", "medium", conf.file, mine, claim, cost, write)


def _lines(found: CheckedConf) -> Iterator[str]:
    nodes, number = count(found.nodes, "node"), len(found.differences)
    counts = [(word, sum(each.severity == word for each in found.differences)) for word in ("high", "medium", "low")]
    worst = ", ".join(f"{many} {word}" for word, many in counts if many)
    says = f"{count(number, 'difference')} on {nodes}: {worst}" if number else f"no costly differences on {nodes}"
    yield plain(f"{found.file}: {says}", 400)
    for (_, write), group in groupby(found.differences, key=lambda each: (each.place, each.write)):
        yield ""
        for each in group:
            yield f"{each.severity:<7} {plain(each.place, 200)}, {plain(hostlist(each.nodes), 200)}: {plain(each.claim, 300)}"
            yield f"  costs:  {plain(each.cost, 300)}"
            yield f"  id:     {each.id}"
        yield from (f"  {'write:' if at == 0 else '':<8}{plain(line, 4000)}" for at, line in enumerate(write.split("\n")))
    unread = (f"not read, so not checked: {plain(each, 300)}" for each in found.unread)
    notes = [*unread, *(f"not known: {plain(each, 300)}" for each in found.not_known)]
    yield from ("", *notes) if notes else ()
