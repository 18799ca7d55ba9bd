"""How a cluster's Slurm is set up, by its own words: slurm.conf, or what `scontrol show config` prints; else as most are."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from advisor.errors import BadInput, BadValue
from advisor.jobs.placement import LintWarning
from advisor.jobs.request import BoundMemory, Prediction, Refused, Unclear
from advisor.jobs.scripts.directives import gres
from advisor.jobs.scripts.expansion import words
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hosts.base import SLURM_CONFS, asks_the_network
from advisor.machine.hosts.files import open_here
from advisor.machine.hosts.live import LiveHost, find
from advisor.machine.layout import logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.sources.scheduler import parse_node
from advisor.machine.topology import Topology
from advisor.machine.units import count

KEY = "--slurm-conf"
"""The name of slurm.conf's text among the files of a line: no file that a line names begins so."""


MOST_LINES = 65_536
"""Lines of slurm.conf that are read, and names of nodes."""


Entity = Literal["threads", "cores", "sockets", "ldoms"]
"""What tasks are bound to."""


@dataclass(frozen=True)
class Shape:
    """A node as slurmd sees it: all sockets alike."""

    sockets: int
    cores: int
    """Cores of a socket."""
    threads: int
    cpus: tuple[int, ...]
    """The kernel's number of each CPU, in Slurm's order."""
    there: CpuSet
    """The CPUs that the kernel has."""
    domains: tuple[CpuSet, ...] = ()
    """The CPUs of each NUMA node, by its number."""

    @property
    def socket(self) -> int:
        """CPUs of a socket."""
        return self.cores * self.threads

    @property
    def count(self) -> int:
        """CPUs that Slurm gives to jobs."""
        return self.sockets * self.socket

    def real(self, numbers: Collection[int]) -> CpuSet:
        """Return the kernel's numbers of some CPUs, those that it lacks among them."""
        return CpuSet(self.cpus[number] for number in numbers)

    def bound(self, cpus: CpuSet) -> CpuSet:
        """Return those of some CPUs that the kernel has; it takes no mask in which there is none."""
        if not cpus & self.there:
            raise Refused(f"none of the CPUs {cpus} exist, and the task is not bound: nothing starts")
        return cpus & self.there

    def domain(self, number: int) -> CpuSet:
        """Return the CPUs of the NUMA node that Slurm takes for a number: it begins again after the last one."""
        return self.domains[number % len(self.domains)]

    def widened(self, cpus: CpuSet) -> CpuSet:
        """Return the CPUs of all NUMA nodes that some CPUs are in."""
        return union(domain for domain in self.domains if domain & cpus)


def shape(topology: Topology) -> Shape:
    """Return the node of a topology; raise Unclear where how Slurm describes it is not known."""
    if topology.limited:
        raise Unclear("the current job hides part of this machine, so Slurm's view of the machine is unknown")
    # slurmd keeps no level 2 in hwloc's tree
    known = logical_numbering(topology.but(shared_l2=()))
    sockets, threads = len(topology.packages), len(known.cores[0])
    sizes = {len(package.cpuset) for package in topology.packages}
    if not sockets or len(sizes) != 1 or len(known.cores) % sockets or any(len(core) != threads for core in known.cores):
        raise Unclear("the sockets or cores of this machine differ, and slurm.conf's description of the node is unknown")
    whole = union(p.cpuset for p in topology.packages) == topology.pus and (
        not topology.cores or union(known.cores) == topology.pus
    )
    if not whole or topology.pus != CpuSet(range(len(topology.pus))):
        raise Unclear(
            "some CPUs of this machine are offline, or in no core or socket, and Slurm's numbering of the others is unknown"
        )
    cpus = tuple(cpu for core in known.cores for cpu in sorted(core)) if topology.cores else tuple(topology.pus)
    nodes = sorted(topology.nodes, key=lambda node: node.os_index)
    there = topology.numa_known and [node.os_index for node in nodes] == list(range(len(nodes)))
    domains = tuple(node.cpuset for node in nodes)
    shown = there and union(domains) == topology.pus  # what belongs to none is node 0's, and behind a gap Slurm sees no node
    return Shape(sockets, len(known.cores) // sockets, threads, cpus, topology.pus, domains if shown else ())


@dataclass(frozen=True)
class Setup:
    """What slurm.conf says of binding."""

    blocks: bool = False
    """CR_CORE_DEFAULT_DIST_BLOCK: sockets are filled one after the other unless said otherwise."""
    automatic: Entity | None = None
    """What TaskPluginParam binds to where tasks and CPUs do not fit each other."""
    single: bool = False
    """Whether a node has as many CPUs as cores, although cores have several threads."""


def setups(files: Mapping[str, str], machine: Machine, node: Shape) -> tuple[Setup, ...] | None:
    """Return how Slurm is set up: None where no slurm.conf was read, () where its tasks are not bound at all."""
    if any(each.core_spec or each.cpu_spec for each in machine.slurm_nodes or ()):
        raise Unclear("Slurm reserves cores of this node for the system; the cores of a step are not predicted")
    if KEY not in files:
        return None
    if any(re.match(r"include\s", row.strip(), re.IGNORECASE) for row in _rows(files[KEY])):
        raise Unclear("slurm.conf includes other files, which were not read")
    said, nodes = read(files[KEY])
    # slurm.conf(5) of Slurm 22.05: the default value is task/none.
    plugins = {word.strip() for word in said.get("taskplugin", "task/none").lower().split(",")}
    if not plugins & {"task/affinity", "affinity"}:
        if plugins & {"task/cgroup", "cgroup"}:
            raise Unclear("TaskPlugin has only task/cgroup: which CPUs its cpuset will contain is not predicted")
        return ()
    if (selects := said.get("selecttype", "").lower()) and not selects.endswith(("cons_tres", "cons_res")):
        raise Unclear(f"SelectType={selects[:40]} allocates CPUs in a way that is not predicted")
    if any(word in said.get("slurmdparameters", "").lower() for word in ("l3cache_as_socket", "numa_node_as_socket")):
        raise Unclear("SlurmdParameters turns L3 groups or NUMA nodes into sockets")
    select = {word.strip() for word in said.get("selecttypeparameters", "").lower().split(",")}
    if any(word.startswith("cr_cpu") for word in select):
        raise Unclear("SelectTypeParameters counts CPUs, not cores")
    automatic, single = _automatic(said.get("taskpluginparam", "").lower()), _single(nodes, machine, node)
    return (Setup("cr_core_default_dist_block" in select, automatic, single),)


_AUTOMATIC: dict[str, Entity] = {"threads": "threads", "cores": "cores", "sockets": "sockets"}


def _automatic(text: str) -> Entity | None:
    """Return what TaskPluginParam lets tasks be bound to: autobind=cores; none where it says nothing."""
    match = re.search(r"autobind=(threads|cores|sockets)", text)
    if any(word in text.split(",") for word in ("none", "cores", "sockets", "threads", "cpusets", "sched")):
        raise Unclear("TaskPluginParam selects a kind of binding used before Slurm 20.11, which is not predicted")
    return _AUTOMATIC[match[1]] if match else None


Counts = tuple[int | None, int | None, int | None, int | None]
"""CPUs, sockets, cores of a socket and threads of a core of a node, None where slurm.conf does not say."""


def described(nodes: Sequence[Mapping[str, str]], machine: Machine) -> Counts | None:
    """Return what slurm.conf says of a machine's node, None where it has no nodes; raise Unclear where it is not sure which."""
    mine = [node for node in nodes if machine.name and machine.name.partition(".")[0] in names_of(node["nodename"])]
    keys = ("cpus", "sockets", "corespersocket", "threadspercore")
    shapes = {tuple(node.get(key) for key in keys) for node in mine or nodes}
    if any(node.get(key, "0") != "0" for node in mine or nodes for key in ("corespeccount", "cpuspeclist")):
        raise Unclear("Slurm reserves cores of this node for the system; the cores of a step are not predicted")
    if len(shapes) > 1:
        raise Unclear("slurm.conf defines several kinds of nodes, but none with this machine's name")
    if not shapes:
        return None
    cpus, sockets, cores, threads = (
        int(word) if word and re.fullmatch(r"\d{1,7}", word, re.ASCII) else None for word in shapes.pop()
    )
    return cpus, sockets, cores, threads


def _single(nodes: Sequence[Mapping[str, str]], machine: Machine, node: Shape) -> bool:
    """Return whether the node has as many CPUs as cores; raise Unclear where slurm.conf describes another node."""
    cpus, sockets, cores, threads = described(nodes, machine) or (None,) * 4
    if (sockets and sockets != node.sockets) or (sockets and cores and cores != node.cores):
        raise Unclear("slurm.conf's sockets or cores for this node are wrong")
    if threads and threads != node.threads:
        raise Unclear("slurm.conf has the wrong number of threads per core for this node")
    return cpus == node.sockets * node.cores


def read(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Return the settings of a slurm.conf and its nodes, names in small letters; NodeName=DEFAULT holds for all after it."""
    said: dict[str, str] = {}
    nodes: list[dict[str, str]] = []
    default: dict[str, str] = {}
    for row in _rows(text):
        pairs = {key.lower(): value for key, value in re.findall(r"([A-Za-z]+)=(\"[^\"]*\"|\S+)", row)}
        if "nodename" in pairs:
            boards = (pairs.get("socketsperboard", ""), pairs.get("boards", "1"))
            if all(re.fullmatch(r"\d{1,4}", word, re.ASCII) for word in boards):
                pairs["sockets"] = str(int(boards[0]) * int(boards[1]))
            if pairs["nodename"].upper() == "DEFAULT":
                default = pairs
            else:
                nodes.append({**default, **pairs})
        elif "include" not in row.lower()[:8]:
            said |= pairs
    return said, nodes


def _rows(text: str) -> Iterator[str]:
    """Yield the lines without comments, those that end with a backslash joined to the next."""
    whole = ""
    for line in text.splitlines()[:MOST_LINES]:
        row = line.partition("#")[0].rstrip()
        whole += row.removesuffix("\\")
        if row.endswith("\\"):
            whole += " "
            continue
        yield whole
        whole = ""
    yield whole


def names_of(text: str) -> set[str]:
    """Return the names of a list such as ``node[01-04],login``, as far as they are few."""
    found: set[str] = set()
    for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\][^,\[\]]*)?", text)[:1024]:
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not match:
            found.add(part)
            continue
        for span in match[2].split(","):
            first, _, last = span.partition("-")
            both = all(re.fullmatch(r"\d{1,8}", word, re.ASCII) for word in (first, last or first))
            if both and int(last or first) - int(first) < MOST_LINES and len(found) < MOST_LINES:
                numbers = range(int(first), int(last or first) + 1)
                found |= {f"{match[1]}{number:0{len(first)}d}{match[3]}" for number in numbers}
    return found


@dataclass(frozen=True)
class Step:
    """What a step asks for on one node."""

    tasks: int
    each: int = 1
    """CPUs of a task."""
    inner: str | None = None
    """How tasks are spread over the sockets: block, cyclic, fcyclic, plane; None: as Slurm was set up."""
    exact: bool = False
    bind: Entity | None = None
    per_core: int | None = None
    """Tasks of a core at most."""
    per_socket: int | None = None
    used: int | None = None
    """Threads of a core that are used."""


def masks(step: Step, node: Shape, setup: Setup) -> tuple[CpuSet, ...]:
    """Return the CPUs of each task, in their order on the node, those that the kernel lacks among them."""
    free = available(step, node, setup)
    bind = step.bind or _fitting(step, node, setup, free)
    if bind is None:
        return (node.real(free),) * step.tasks
    block = step.inner in ("block", "plane") or (step.inner is None and setup.blocks)
    try:
        given = [_wide(mine, node, bind, free) for mine in (_block if block else _cyclic)(step, node, setup, free, bind)]
    except _TooFewError:
        given = [free] * step.tasks
    every = tuple(node.real(mine) for mine in given)
    return tuple(node.widened(cpus) for cpus in every) if bind == "ldoms" else every


def available(step: Step, node: Shape, setup: Setup) -> set[int]:
    """Return the CPUs of the step: all of the node, or exactly the cores that its tasks need."""
    if not step.exact:
        return set(range(node.count))
    if step.tasks == node.sockets * node.cores and step.each <= node.threads:
        return set(range(node.count))
    width = 1 if setup.single else min(step.used or node.threads, node.threads)
    if step.per_core in (None, 1) and step.each > width:
        cores = step.tasks * -(-step.each // width)
    else:
        cores = -(-step.tasks * step.each // width)
    if cores > node.sockets * node.cores:
        raise Refused(f"the tasks need {cores} cores per node, but a node has {node.sockets * node.cores}; nothing starts")
    order = _picked(step, node, cores // step.tasks)
    picked = {core for core, _ in zip(order, range(cores), strict=False)}
    return {core * node.threads + thread for core in picked for thread in range(node.threads)}


def _picked(step: Step, node: Shape, group: int) -> Iterator[int]:
    """Yield the cores in the order in which slurmctld takes them; a group of 0 fills one socket after the other."""
    if step.inner == "block" or (group == 0 and step.inner != "fcyclic"):
        yield from range(node.sockets * node.cores)
    elif step.inner == "fcyclic":
        yield from (socket * node.cores + core for core in range(node.cores) for socket in range(node.sockets))
    else:
        yield from _grouped(node, group)


def _grouped(node: Shape, group: int) -> Iterator[int]:
    """Yield the cores of a task from one socket, those of the next task from the next."""
    following = [0] * node.sockets
    taken = 0
    while any(core < node.cores for core in following):
        for socket in range(node.sockets):
            while following[socket] < node.cores:
                yield socket * node.cores + following[socket]
                following[socket] += 1
                taken += 1
                if taken == group:
                    taken = 0
                    break


def _fitting(step: Step, node: Shape, setup: Setup, free: set[int]) -> Entity | None:
    """Return what tasks are bound to where the line does not say: what there is exactly one of for each of their CPUs."""
    wanted = step.tasks * step.each
    sizes: tuple[tuple[Entity, int], ...] = (("sockets", node.socket), ("cores", node.threads), ("threads", 1))
    for entity, size in sizes:
        whole = [start for start in range(0, node.count, size) if set(range(start, start + size)) <= free]
        part = any(0 < len(free & set(range(start, start + size))) < size for start in range(0, node.count, size))
        if wanted == len(whole) and not part:
            return entity
    return setup.automatic


class _TooFewError(Exception):
    """Fewer CPUs than tasks: all get the CPUs of the step."""


class _Count:
    """How many tasks and threads are on each core and socket so far."""

    def __init__(self, step: Step, node: Shape, setup: Setup, free: set[int]) -> None:
        self.step, self.node = step, node
        self.used = step.used or (1 if setup.single else None)
        if len(free) < step.tasks or (self.used and len(free) < step.each * (node.threads // self.used)):
            raise _TooFewError
        self.each = step.each if len(free) >= step.tasks * step.each else len(free) // step.tasks
        self.clear()

    def clear(self) -> None:
        """Begin again: CPUs are given a second time."""
        self.tasks: dict[int, int] = {}
        self.threads: dict[int, int] = {}
        self.sockets: dict[int, int] = {}

    def full(self, cpu: int, *, sockets: bool) -> bool:
        """Whether no more may be taken of a CPU's core or socket."""
        core, socket, step = cpu // self.node.threads, cpu // self.node.socket, self.step
        if step.per_core and self.tasks.get(core, 0) >= step.per_core:
            return True
        if sockets and step.per_socket and self.sockets.get(socket, 0) >= step.per_socket:
            return True
        return bool(self.used and self.threads.get(core, 0) >= self.used)

    def take(self, cpu: int) -> None:
        """Count a thread."""
        core = cpu // self.node.threads
        self.threads[core] = self.threads.get(core, 0) + 1

    def done(self, cpu: int) -> None:
        """Count a task whose last CPU this is."""
        core, socket = cpu // self.node.threads, cpu // self.node.socket
        self.tasks[core] = self.tasks.get(core, 0) + 1
        self.sockets[socket] = self.sockets.get(socket, 0) + 1

    def skipped(self, bind: Entity) -> int:
        """Return the threads that are left out after a task, so that the next one begins on another core."""
        if bind != "cores" and self.step.per_core != 1:
            return 0
        threads = self.node.threads
        return threads - self.each if self.each < threads else self.each % threads


def _block(step: Step, node: Shape, setup: Setup, free: set[int], bind: Entity) -> Iterator[set[int]]:
    count = _Count(step, node, setup, free)
    mine: set[int] = set()
    made = taken = 0
    while made < step.tasks:
        before = made
        if made:
            count.clear()
        at = 0
        while at < len(node.cpus) and made < step.tasks:
            cpu, at = at, at + 1
            if cpu not in free or count.full(cpu, sockets=True):
                continue
            mine.add(cpu)
            count.take(cpu)
            taken += 1
            if taken < count.each:
                continue
            count.done(cpu)
            at += count.skipped(bind)
            yield mine
            mine, taken, made = set(), 0, made + 1
        if made == before:
            raise _TooFewError


def _cyclic(step: Step, node: Shape, setup: Setup, free: set[int], bind: Entity) -> Iterator[set[int]]:
    count, socket = _Count(step, node, setup, free), 0
    following = [0] * node.sockets
    mine: set[int] = set()
    made = taken = 0
    while made < step.tasks:
        before = made
        for _ in range(len(node.cpus)):
            first = socket
            while following[socket] >= node.socket:
                socket = (socket + 1) % node.sockets
                if socket == first:
                    count.clear()
                    following = [0] * node.sockets
            cpu = (following[socket] + socket * node.socket) % len(node.cpus)
            following[socket] += 1
            if cpu not in free or count.full(cpu, sockets=False):
                continue
            mine.add(cpu)
            switched = step.inner == "fcyclic"
            socket = (socket + 1) % node.sockets if switched else socket
            count.take(cpu)
            taken += 1
            if taken < count.each:
                continue
            count.done(cpu)
            following[socket] += count.skipped(bind)
            socket = socket if switched else (socket + 1) % node.sockets
            yield mine
            mine, taken, made = set(), 0, made + 1
            if made >= step.tasks:
                return
        if made == before:
            raise _TooFewError


def _wide(mine: set[int], node: Shape, bind: Entity, free: set[int]) -> set[int]:
    """Return the free CPUs of all cores or sockets that a task has a CPU of."""
    size = {"threads": 1, "ldoms": 1, "cores": node.threads, "sockets": max(1, len(node.cpus) // node.sockets)}[bind]
    starts = {cpu // size * size for cpu in mine}
    return {cpu for start in starts for cpu in range(start, start + size) if cpu in free}


USUAL = "TaskPlugin=task/affinity,task/cgroup\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
"""What the tool kits that build clusters write, and the manuals of centres tell (SchedMD/slurm-gcp, NVIDIA/deepops, OpenHPC)."""

ASSUMED = (
    "Slurm's usual configuration is assumed (task/affinity, cons_tres, CR_Core_Memory): task/none would bind no ranks, "
    "CR_CPU would count threads; --slurm-conf FILE reads slurm.conf or the output of scontrol show config"
)
_KEYS = words(
    "clustername taskplugin taskpluginparam selecttype selecttypeparameters slurmctldhost controlmachine nodename "
    "partitionname authtype proctracktype schedulertype slurmdspooldir statesavelocation slurmctldport slurmuser "
    "include gresypes grestypes slurm_version"
)
_LARGEST = 16 << 20
_PATIENCE = 3.0


@dataclass(frozen=True)
class SlurmWords:
    """A set-up as text, in the form of slurm.conf."""

    text: str
    source: str
    """Where it was read; "" of one that is assumed."""
    version: str | None = None
    """Slurm's, where scontrol names it."""

    @property
    def plugins(self) -> tuple[str, ...]:
        """What TaskPlugin names: () where nothing binds; slurm.conf(5): none by default."""
        said, _ = read(self.text)
        named = (word.strip().lower().removeprefix("task/") for word in said.get("taskplugin", "none").split(","))
        return tuple(word for word in named if word and word != "none")


def parsed(text: str, source: str) -> SlurmWords:
    """Return the set-up that a text says; refuse one without any word of Slurm's."""
    rows: list[str] = []
    version: str | None = None
    shown = bool(re.search(r"^Configuration data as of ", text, re.MULTILINE)) or not re.search(r"^\s*\w+=\S", text, re.MULTILINE)
    for line in text.splitlines():
        match = re.match(r"([A-Za-z_]\w*)\s+=\s+(.*)$", line) if shown else None
        if match:
            value = "" if match[2].startswith("(null") else match[2].strip()
            if match[1].upper() == "SLURM_VERSION":
                version = value
            elif value and not re.search(r"\s", value):
                rows.append(f"{match[1]}={value}")
        elif not shown:
            rows.append(line)
    found = "\n".join(rows) + "\n"
    said, nodes = read(found)
    if not (nodes or version or _KEYS & set(said) or re.search(r"(?im)^\s*(include\s|partitionname=)", found)):
        raise BadInput(
            "it contains no Slurm settings",
            file=source,
            cure="give slurm.conf, or a file with the output of scontrol show config",
        )
    return SlurmWords(found, source, version)


def of_file(file: Path) -> SlurmWords:
    """Return the set-up of a file."""
    try:
        with open_here(file) as opened:
            data = opened.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise BadInput(
            "the file does not exist or cannot be read", file=str(file), cure="give the cluster's slurm.conf"
        ) from error
    if len(data) > _LARGEST:
        raise BadInput(f"more than {_LARGEST >> 20} MiB", file=str(file), cure="refused as unsafe")
    return parsed(data.decode(errors="replace"), str(file))


def of_this_host() -> SlurmWords | None:
    """Return what scontrol says here, else slurm.conf where it lies; None where Slurm is not there."""
    program = find("scontrol")
    if program is not None and not asks_the_network("scontrol", program):
        printed = LiveHost().run(("scontrol", "show", "config"), _PATIENCE).text
        if printed and "SLURM_VERSION" in printed:
            return parsed(printed, "scontrol show config")
    own = next((Path(place) for place in SLURM_CONFS if Path(place).is_file()), None)
    return of_file(own) if own else None


def setup(file: Path | None, *, live: bool) -> SlurmWords:
    """Return the set-up that --slurm-conf names, else this host's where it counts, else the usual one."""
    if file is not None:
        return of_file(file)
    return (of_this_host() if live else None) or SlurmWords(USUAL, "")


def bind_ignored(wish: str, slurm: SlurmWords) -> LintWarning:
    """Return the warning that a wished binding is not carried out."""
    plugins = ",".join(f"task/{each}" for each in slurm.plugins) or "task/none"
    return LintWarning(
        id="bind-ignored",
        what=f"{wish[:60]} does nothing here: no rank is bound",
        why=f"TaskPlugin is {plugins}, and only task/affinity binds ranks.",
        evidence=slurm.source,
        better="TaskPlugin=task/affinity,task/cgroup in slurm.conf",
        misbinds=True,
    )


MEM_BIND = re.compile(
    r"((q|quiet|v|verbose|p|prefer)(,|$)){0,2}(none|no|n|local|map_mem:[\dxa-f,*]+|mask_mem:[\dxa-f,*]+)?", re.IGNORECASE
)
"""What --mem-bind may say without changing which CPUs ranks get (observed)."""
_MEMORY = re.compile(r"(?:(prefer|p),)?(map_mem|mask_mem):([\dxa-f,*]{1,8192})", re.ASCII | re.IGNORECASE)


def memory_listed(text: str, ranks: int) -> BoundMemory | None:
    """Return what --mem-bind gives each of some ranks by a list, None without one: too short a list starts again.

    >>> memory_listed("prefer,map_mem:8,9", 3).nodes
    (CpuSet('8'), CpuSet('9'), CpuSet('8'))
    """
    match = _MEMORY.search(text)
    if match is None:
        return None
    entries: list[CpuSet] = []
    for word in match[3].split(",")[:8192]:
        value, _, times = word.partition("*")
        try:
            one = CpuSet([int(value, 0)]) if match[2].lower() == "map_mem" else CpuSet.from_mask(value)
        except (ValueError, BadInput):
            return None
        entries += [one] * min(int(times or 1) if times.isdecimal() or not times else 1, ranks)
    nodes = tuple(entries[at % len(entries)] for at in range(ranks))
    return BoundMemory("prefer" if match[1] else "only", nodes, f"--mem-bind={text}"[:80])


def slurm_memory(case: Prediction, ranks: int) -> BoundMemory | None:
    """Return where a line of srun's takes the memory of local ranks from by a list."""
    return memory_listed(case.line.first.value("--mem-bind") or case.line.words.environment.get("SLURM_MEM_BIND", ""), ranks)


def refuse_memory(text: str, ranks: int, topology: Topology) -> None:
    """Raise Refused where a list of --mem-bind gives one of some ranks nodes that are not there."""
    listed = memory_listed(text, ranks)
    beyond = (
        union(nodes for nodes in listed.nodes if nodes) - CpuSet(node.os_index for node in topology.nodes) if listed else CpuSet()
    )
    if beyond:
        raise Refused(f"srun fails: --mem-bind names NUMA nodes {beyond}, which do not exist")


def natural(name: str) -> list[tuple[int, str]]:
    """Return what Slurm sorts host names by: their numbers as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def numbered_cpus(topology: Topology, *, in_job: bool) -> int:
    """Return how many CPUs Slurm knows of a node; in a job of its own, numbers not seen are those of other jobs."""
    if not in_job:
        return len(topology.pus)
    last = topology.pus.last or 0
    return last + 1 - len([cpu for cpu in topology.missing if cpu <= last])


SITE = Path("/etc/advisor/nodes")
"""Where a site may lay a capture of a node of each partition: PARTITION.tar.gz."""
PARTITION = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)


class PartitionNodes(NamedTuple):
    """What each node of a partition has, as the scheduler says it; None where it does not, or nodes differ."""

    cores: int | None = None
    gpus: int | None = None

    @property
    def said(self) -> str:
        """The same in words."""
        return " and ".join(count(number, word) for number, word in zip(self, ("core", "GPU"), strict=True) if number)


def partition_nodes(partition: str) -> PartitionNodes:
    """Return what a partition's nodes have as Slurm says it, where scontrol answers here."""
    program = find("scontrol")
    if program is None or asks_the_network("scontrol", program):
        return PartitionNodes()
    text = LiveHost().run(("scontrol", "--oneliner", "show", "node"), _PATIENCE).text or ""
    cores: set[int] = set()
    gpus: set[int] = set()
    for line in text.splitlines():
        words = dict(re.findall(r"(?:^|\s)(Partitions|Gres)=(\S*)", line))
        node = parse_node(line, "scontrol show node") if partition in words.get("Partitions", "").split(",") else None
        if node and node.sockets and node.cores_per_socket:
            cores.add(node.sockets * node.cores_per_socket)
            gpus.add(gres(words.get("Gres")) or 0)
    return PartitionNodes(*(each.pop() if len(each) == 1 else None for each in (cores, gpus)))


def partition_capture(partition: str) -> str | None:
    """Return the capture of a partition's node that the site keeps."""
    capture = SITE / f"{partition}.tar.gz"
    return str(capture) if PARTITION.fullmatch(partition) and capture.is_file() else None


def needed_capture(partition: str) -> str:
    """Return the same, and refuse a partition without: counts place no rank."""
    if not PARTITION.fullmatch(partition):
        raise BadValue(f"{partition[:40]!a} is not a partition name")
    if capture := partition_capture(partition):
        return capture
    there = partition_nodes(partition)
    known = f"; Slurm reports {there.said} per node, not how they are numbered" if any(there) else ""
    raise BadValue(
        f"{SITE}/{partition}.tar.gz does not exist{known}",
        cure=f"capture a node: srun -p {partition} -N 1 -n 1 advisor capture -o {partition}.tar.gz; "
        f"then --from {partition}.tar.gz",
    )
