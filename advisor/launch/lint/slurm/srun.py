"""Where a line of srun puts its ranks: which node each task goes to, and there by slurm.conf, by task_affinity or by a list."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from advisor.errors import BadValue
from advisor.launch.lint.outcome import Refused, Unclear
from advisor.launch.lint.slurm.bind_options import ENTITIES, mem_bind
from advisor.launch.lint.slurm.gpus import gpus_of_a_node
from advisor.launch.lint.slurm.node import Setup, Shape, setups, shape
from advisor.launch.lint.slurm.step import StepRequest, options, step_request
from advisor.launch.lint.slurm.task_affinity import Step, available, masks
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.machine import Machine
from advisor.model.placement import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.predict import Prediction


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of srun's; raise Refused or Unclear."""
    line = made.line
    if len(line.segments) > 1:
        raise Unclear(f"one line starts {len(line.segments)} programs, and what each gets is known of Open MPI only")
    said = options(line)
    wish = step_request(made, said)
    if wish.overcommit and wish.step.exact:
        raise Unclear("which CPUs --overcommit gives a step of its own CPUs, is not worked out here")
    node = shape(made.topology, made.machine, made.files)
    if node.threads > 1 and wish.each > 1 and (wish.step.per_core or 1) > 1:
        raise Unclear("--cpus-per-task beside several tasks of a core is not worked out here")
    if wish.by_core and wish.step.inner == "fcyclic" and node.threads > 1:
        raise Unclear("a --hint that counts cores beside fcyclic is not worked out here")
    if wish.by_core:
        wish = replace(wish, each=wish.each * node.threads, step=replace(wish.step, each=wish.each * node.threads))
    where = _places(node, wish)
    counts = Counter(where)
    if wish.gpus and (most := gpus_of_a_node(said, min(len(wish.nodes), wish.total), max(counts.values()))) > (
        len(made.machine.gpus or ()) or 4
    ):
        raise Unclear(f"whether a node has the {most} GPUs that the line asks of it, is not known")
    possible: Sequence[Setup] | None = setups(made.files, made.machine, node)
    local: dict[int, int] = {}
    if possible is None:
        possible = _any(made.machine, node) if wish.bind else None
    if "--mem-bind" in said and possible != ():
        known = made.topology.nodes if made.topology.numa_known else ()
        mem_bind(said["--mem-bind"], max(counts.values()), 1 + max((each.os_index for each in known), default=-1))
    given = {tasks: _given(node, wish, tasks, possible) for tasks in set(counts.values())}
    found: list[LintRank] = []
    for rank, place in enumerate(where):
        mine = local.get(place, 0)
        local[place] = mine + 1
        found.append(LintRank(rank=rank, host=wish.nodes[place], cpus=given[counts[place]][mine]))
    return tuple(found)


def _places(node: Shape, wish: StepRequest) -> list[int]:
    """Return the node of each task, by its position."""
    count, total = len(wish.nodes), wish.total
    if wish.listed:
        places = {name: position for position, name in enumerate(wish.nodes)}
        return [places[name] for name in wish.listed]
    width = node.sockets * node.cores * min(wish.step.used or node.threads, node.threads)
    wide = max(1, width // wish.each)
    # --ntasks-per-node counts where it fits --ntasks, and else srun passes over it in a job that has its nodes (22.05, observed)
    room = [wish.per_node if wish.per_node and total == wish.per_node * count else wide] * count
    if (wish.step.used or 1) > node.threads and wish.overcommit:
        raise Unclear("what --overcommit makes of more threads than cores have, was not seen often")
    if (wish.step.used or 1) > node.threads:
        raise Refused(f"--threads-per-core={wish.step.used}, and cores here have {node.threads}; nothing starts")
    if total > sum(room) and not wish.overcommit and total * wish.each <= width * count:  # srun counts all nodes' CPUs together
        raise Unclear("tasks that have room on all nodes together and not on each are not worked out here")
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


def _given(node: Shape, wish: StepRequest, tasks: int, possible: Sequence[Setup] | None) -> Given:
    """Return the CPUs of the tasks of a node; raise Unclear where it depends on how Slurm is set up."""
    step = replace(wish.step, tasks=tasks)
    if possible == ():
        return (None,) * tasks
    if possible is None:
        raise Unclear("what srun binds to by itself, stands in slurm.conf; give it with --slurm-conf")
    found: set[Given | str] = set()
    for setup in possible:
        try:
            found.add(_bound(wish, step, node, setup))
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


def _any(machine: Machine, node: Shape) -> list[Setup]:
    """Return how Slurm may be set up: whether it counts a node's cores or threads, the controller says where it was asked."""
    known = {each.cpus for each in machine.slurm_nodes or () if each.source.startswith("scontrol") and each.cpus}
    counted = {node.count: False, node.sockets * node.cores: True}.get(known.pop()) if len(known) == 1 else None
    return [setup for setup in _ANY if counted in (None, setup.single)]


def _bound(wish: StepRequest, step: Step, node: Shape, setup: Setup) -> Given:
    """Return the CPUs of the tasks of a node in one set-up; raise Refused where the kernel has none of a task's."""
    given = _asked(wish, step, node, replace(setup, single=setup.single and node.threads > 1))
    return tuple(cpus if cpus is None else node.bound(cpus) for cpus in given)


def _asked(wish: StepRequest, step: Step, node: Shape, setup: Setup) -> Given:
    """Return the CPUs that Slurm asks the kernel for, of each task; None where it asks for none."""
    whole = len(available(step, node, setup)) == node.count
    if wish.gpus and step.exact and not whole:
        raise Unclear("which cores a step gets beside its GPUs, stands in gres.conf (Cores, AutoDetect)")
    if wish.bind.endswith(("ldoms", "ldom")) and not node.domains:
        raise Unclear("which CPUs Slurm's library of NUMA nodes finds in each, is not known of this machine")
    if wish.bind in ENTITIES:
        return masks(replace(step, bind=ENTITIES[wish.bind]), node, setup)
    free = node.real(available(step, node, setup))
    if wish.bind == "none":
        return ((None if whole else free),) * step.tasks
    if wish.bind in ("map_cpu", "mask_cpu"):
        return _listed(wish, free, step.tasks)
    if not whole:
        raise Refused(f"the whole node must be given for --cpu-bind={wish.bind}: unable to satisfy cpu bind request")
    return _by_number(node, wish, step.tasks)


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


def _by_number(node: Shape, wish: StepRequest, tasks: int) -> Given:
    """Return the CPUs where tasks are bound by their number, or to NUMA nodes by number or by a list."""
    if wish.bind == "rank":
        return tuple(CpuSet([task % (node.count * node.threads)]) for task in range(tasks))
    if wish.bind == "rank_ldom":
        return tuple(node.domain(task) for task in range(tasks))
    if not wish.entries:
        raise Refused(f"--cpu-bind={wish.bind} without a list")
    numbers = [_entry(wish.bind, entry) for entry in wish.entries]
    return tuple(union(node.domain(number) for number in numbers[task % len(numbers)]) for task in range(tasks))
