"""Where a line of srun puts its ranks: which node each task goes to, and there by slurm.conf, by task_affinity or by a list."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from advisor.errors import BadValue
from advisor.launch.lint.outcome import Refused, Unclear
from advisor.launch.lint.slurm.step import StepRequest, options, step_request
from advisor.launch.lint.slurm.task_affinity import MOST_LINES, Setup, Shape, Step, available, masks, names_of, shape
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.predict import Prediction


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of srun's; raise Refused or Unclear."""
    line = made.line
    pus = made.topology.pus
    if made.topology.limited or made.topology.inside.pus != pus or len(pus) <= (pus.last or 0):
        raise Unclear("CPUs of this machine are hidden or off, and how Slurm numbers the others is not known")
    if len(line.segments) > 1:
        raise Unclear(f"one line starts {len(line.segments)} programs, and what each gets is known of Open MPI only")
    wish = step_request(made, options(line))
    if wish.overcommit and wish.step.exact:
        raise Unclear("which CPUs --overcommit gives a step of its own CPUs, is not worked out here")
    node = shape(made.topology)
    if node.threads > 1 and wish.each > 1 and (wish.step.per_core or 1) > 1:
        raise Unclear("--cpus-per-task beside several tasks of a core is not worked out here")
    if wish.by_core:
        wish = replace(wish, each=wish.each * node.threads, step=replace(wish.step, each=wish.each * node.threads))
    where = _places(made, wish)
    counts = Counter(where)
    possible = setups(made.files, made.machine, made.topology)
    local: dict[int, int] = {}
    given = {tasks: _given(made, wish, tasks, possible) for tasks in set(counts.values())}
    found: list[LintRank] = []
    for rank, place in enumerate(where):
        mine = local.get(place, 0)
        local[place] = mine + 1
        found.append(LintRank(rank=rank, host=wish.nodes[place], cpus=given[counts[place]][mine]))
    return tuple(found)


def _places(made: "Prediction", wish: StepRequest) -> list[int]:
    """Return the node of each task, by its position."""
    count, total = len(wish.nodes), wish.total
    if wish.listed:
        places = {name: position for position, name in enumerate(wish.nodes)}
        return [places[name] for name in wish.listed]
    node = shape(made.topology)
    width = len(node.cpus) // node.threads * min(wish.step.used or node.threads, node.threads)
    wide = max(1, width // wish.each)
    # --ntasks-per-node counts where it fits --ntasks, and else srun passes over it in a job that has its nodes (22.05, observed)
    room = [wish.per_node if wish.per_node and total == wish.per_node * count else wide] * count
    if (wish.step.used or 1) > node.threads:
        raise Refused(f"--threads-per-core={wish.step.used}, and cores here have {node.threads}; nothing starts")
    if total > sum(room) and not wish.overcommit:
        raise Refused("more processors requested than permitted; nothing starts")
    if wish.outer == "cyclic":
        return list(_cycled(room, total))
    if wish.outer == "plane":
        planes = list(_planes(wish.plane, count, total))
        if max(Counter(planes).values(), default=0) > wide and count > 1:
            raise Unclear("a node gets more planes than it has room for")
        return planes
    counts = _filled(room, total) if wish.pack else _counted(room, total)
    return [position for position, tasks in enumerate(counts) for _ in range(tasks)]


def _cycled(room: Sequence[int], total: int) -> Iterator[int]:
    turn = given = 0
    while given < total:
        over = all(turn >= most for most in room)
        for position, most in enumerate(room):
            if given < total and (over or turn < most):
                given += 1
                yield position
        turn += 1


def _counted(room: Sequence[int], total: int) -> list[int]:
    counts = [0] * len(room)
    for position in _cycled(room, total):
        counts[position] += 1
    return counts


def _filled(room: Sequence[int], total: int) -> list[int]:
    """Return the tasks of each node, the first ones full; a task is left for each node after it."""
    counts, left = [], total
    for position, most in enumerate(room):
        counts.append(max(min(1, left), min(most, left - (len(room) - 1 - position))))
        left -= counts[-1]
    counts[-1] += left
    return counts


def _planes(size: int, count: int, total: int) -> Iterator[int]:
    """Yield the nodes by planes of so many tasks; the first round leaves a task for each node after it."""
    if not size:
        raise Refused("a plane of 0 tasks")
    left, turn = total, 0
    while left > 0:
        position = turn % count
        tasks = min(size, left if turn >= count else max(1, left - (count - 1 - position)))
        yield from (position for _ in range(tasks))
        left, turn = left - tasks, turn + 1


Given = tuple[CpuSet | None, ...]


def _given(made: "Prediction", wish: StepRequest, tasks: int, possible: Sequence[Setup] | None) -> Given:
    """Return the CPUs of the tasks of a node; raise Unclear where it depends on how Slurm is set up."""
    node = shape(made.topology)
    step = replace(wish.step, tasks=tasks)
    if possible == ():
        return (None,) * tasks
    if possible is None and not wish.bind:
        raise Unclear("what srun binds to by itself, stands in slurm.conf; give it with --slurm-conf")
    found: set[Given | str] = set()
    for setup in possible or _any(made.machine, made.topology):
        try:
            found.add(_bound(made, wish, step, node, setup))
        except Refused as refusal:
            found.add(str(refusal))
    if len(found) > 1:
        raise Unclear("it depends on slurm.conf (SelectTypeParameters, CPUs of the nodes); give it with --slurm-conf")
    given = next(iter(found))
    if isinstance(given, str):
        raise Refused(given)
    return given


_ANY = (Setup(), Setup(blocks=True), Setup(single=True), Setup(blocks=True, single=True))
"""How Slurm may be set up where nothing says."""


def _any(machine: Machine, topology: Topology) -> list[Setup]:
    """Return how Slurm may be set up: whether it counts a node's cores or threads, the controller says where it was asked."""
    known = {node.cpus for node in machine.slurm_nodes or () if node.source.startswith("scontrol") and node.cpus}
    cores = len(topology.inside.cores)
    counted = {len(topology.inside.pus): False, cores: True}.get(known.pop()) if len(known) == 1 else None
    return [setup for setup in _ANY if counted in (None, setup.single)]


def _bound(made: "Prediction", wish: StepRequest, step: Step, node: Shape, setup: Setup) -> Given:
    if node.threads == 1:
        setup = replace(setup, single=False)
    if wish.gpus and step.exact and len(available(step, node, setup)) < len(node.cpus):
        raise Unclear("which cores a step gets beside its GPUs, stands in gres.conf (Cores, AutoDetect)")
    if wish.bind == "ldoms":
        raise Unclear("--cpu-bind=ldoms widens what is placed by cores or sockets, and which, is left to Slurm")
    if wish.bind in ("", "threads", "cores", "sockets"):
        return masks(replace(step, bind=wish.bind or None), node, setup)
    free = node.real(available(step, node, setup))
    whole = free == made.topology.pus
    if wish.bind == "none":
        return ((None if whole else free),) * step.tasks
    if wish.bind in ("map_cpu", "mask_cpu"):
        return _listed(wish, free, step.tasks)
    if not whole:
        raise Refused(f"the whole node must be given for --cpu-bind={wish.bind}: unable to satisfy cpu bind request")
    return _by_number(made, wish, step.tasks)


def _listed(wish: StepRequest, free: CpuSet, tasks: int) -> Given:
    """Return the CPUs of a list, of a short one from its beginning again; refuse CPUs that the step does not have."""
    if not wish.entries:
        raise Refused(f"--cpu-bind={wish.bind} without a list")
    sets = [_entry(wish.bind, entry) for entry in wish.entries]
    if not all(cpus <= free for cpus in sets):
        raise Refused(f"CPU binding outside of job step allocation, allocated CPUs are: {free}")
    return tuple(sets[task % len(sets)] or None for task in range(tasks))


def _entry(kind: str, entry: str) -> CpuSet:
    pattern = r"\d{1,7}" if kind.startswith("map") else r"(0x)?[0-9a-f]{1,4096}"
    if not re.fullmatch(pattern, entry, re.ASCII | re.IGNORECASE):
        raise Refused(f"{entry[:40]!a} is not an entry of {kind}")
    try:
        return CpuSet([int(entry)]) if kind.startswith("map") else CpuSet.from_bits(int(entry, 16))
    except BadValue as error:
        raise Refused(f"{entry[:40]!a}: {error.problem}") from error


def _by_number(made: "Prediction", wish: StepRequest, tasks: int) -> Given:
    """Return the CPUs where tasks are bound by their number, or to NUMA nodes."""
    topology = made.topology
    if wish.bind == "rank":
        cpus = sorted(topology.pus)
        return tuple(CpuSet([cpus[task % len(cpus)]]) for task in range(tasks))
    raise Unclear(f"which CPUs --cpu-bind={wish.bind} gives, is what Slurm's library of NUMA nodes says on the node itself")


KEY = "--slurm-conf"
"""The name of slurm.conf's text among the files of a line: no file that a line names begins so."""


def setups(files: Mapping[str, str], machine: Machine, topology: Topology) -> tuple[Setup, ...] | None:
    """Return how Slurm is set up: None where no slurm.conf was read, () where its tasks are not bound at all."""
    if KEY not in files:
        return None
    if any(re.match(r"include\s", row.strip(), re.IGNORECASE) for row in _rows(files[KEY])):
        raise Unclear("slurm.conf includes other files, which were not read")
    said, nodes = read(files[KEY])
    # slurm.conf(5) of Slurm 22.05: the default value is task/none.
    plugins = {word.strip() for word in said.get("taskplugin", "task/none").lower().split(",")}
    if not plugins & {"task/affinity", "affinity"}:
        if plugins & {"task/cgroup", "cgroup"}:
            raise Unclear("TaskPlugin has task/cgroup alone: which CPUs its cpuset holds, is not worked out here")
        return ()
    if (selects := said.get("selecttype", "").lower()) and not selects.endswith(("cons_tres", "cons_res")):
        raise Unclear(f"SelectType={selects[:40]} gives CPUs in a way that is not worked out here")
    if any(word in said.get("slurmdparameters", "").lower() for word in ("l3cache_as_socket", "numa_node_as_socket")):
        raise Unclear("SlurmdParameters makes sockets of L3 groups or NUMA nodes")
    select = {word.strip() for word in said.get("selecttypeparameters", "").lower().split(",")}
    if any(word.startswith("cr_cpu") for word in select):
        raise Unclear("SelectTypeParameters counts CPUs and not cores")
    automatic, single = _automatic(said.get("taskpluginparam", "").lower()), _single(nodes, machine, topology)
    return (Setup("cr_core_default_dist_block" in select, automatic, single),)


def _automatic(text: str) -> str | None:
    """Return what TaskPluginParam lets tasks be bound to: autobind=cores; none where it says nothing."""
    match = re.search(r"autobind=(threads|cores|sockets)", text)
    if any(word in text.split(",") for word in ("none", "cores", "sockets", "threads", "cpusets", "sched")):
        raise Unclear("TaskPluginParam binds in a way of Slurm before 20.11, which is not worked out here")
    return match[1] if match else None


def _single(nodes: list[dict[str, str]], machine: Machine, topology: Topology) -> bool:
    """Return whether the node has as many CPUs as cores; raise Unclear where slurm.conf describes another node."""
    mine = [node for node in nodes if machine.name and machine.name.partition(".")[0] in names_of(node["nodename"])]
    shapes = {tuple(node.get(key) for key in ("cpus", "threadspercore", "sockets", "corespersocket")) for node in mine or nodes}
    if not shapes:
        return False
    if len(shapes) > 1:
        raise Unclear("slurm.conf has nodes of several shapes, and none of this machine's name")
    cpus, threads, sockets, cores = (
        int(word) if word and re.fullmatch(r"\d{1,7}", word, re.ASCII) else None for word in shapes.pop()
    )
    inside = len(topology.cores) or len(topology.pus)
    if (sockets and sockets != len(topology.packages)) or (sockets and cores and sockets * cores != inside):
        raise Unclear("slurm.conf describes this node with other sockets or cores than it has")
    if threads and threads * inside != len(topology.pus):
        raise Unclear("slurm.conf describes this node with other threads than it has")
    return cpus == inside


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
