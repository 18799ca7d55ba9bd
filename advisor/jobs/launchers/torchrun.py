"""PyTorch's torchrun: a worker for each GPU of a host, bound by --numa-binding where a mode of it is the plan, else by numactl.

After docs.pytorch.org/docs/stable/elastic/numa.html and torch/numa/binding.py: worker i uses GPU i. What a mode gives is worked
out here from the same rules, not asked of PyTorch.
"""

from collections.abc import Iterator, Sequence

from advisor.errors import BadValue
from advisor.jobs.each_rank import listed
from advisor.jobs.launcher import Avoided, Launch, Launcher, LaunchRequest
from advisor.jobs.placement import LONGEST, Placement, filled, names, only_slots, runs, version_of
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.topology import Topology

NAME = "torchrun"


SINCE = (2, 9)
"""PyTorch's first release with --numa-binding."""


_OLD = Avoided("--numa-binding", "PyTorch has it since 2.9")


_UNPLACED = Avoided("--numa-binding", "the kernel reports no NUMA node of some GPU, and torchrun takes node 0 then")


_OTHER = Avoided("--numa-binding", "no mode of it (exclusive, core-complex, node, socket) gives these CPUs")


_SPREAD = "torchrun starts the workers of one host: without Slurm start the line after srun on each host, the first named in it"


_PORT = 29500
"""The port of the rendezvous where nobody names one (torch/distributed/run.py)."""


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line: by a mode where it is the plan on every host, else each worker behind numactl."""
    list(runs(placement))
    slots, each, hosts = only_slots(placement), filled(placement), names(placement)
    if slots is None or not each or placement.size != each * max(1, len(hosts)):
        raise BadValue("torchrun starts as many workers, in the same places, on every host", cure="give hosts that are alike")
    visible = next((values for name, values in wish.each.items() if name.endswith(("_DEVICES", "_MASK"))), None)
    if visible and "UCX_NET_DEVICES" not in wish.each and list(visible) != [str(rank) for rank in range(each)]:
        raise BadValue("worker i of torchrun uses GPU i: one rank for each GPU", cure="--ranks-per gpu")
    cpus = [slot.cpus for slot in slots]
    mode, avoided = _mode(placement, wish, cpus)
    options = ("--standalone",) if not hosts or len(hosts) == 1 else (
        f"--nnodes={len(hosts)}", "--rdzv-backend=c10d", f"--rdzv-endpoint={hosts[0]}:{_PORT}",
    )  # fmt: skip
    many = str(len(hosts))
    agents = (
        ("srun", "--nodes", many, "--ntasks", many, "--ntasks-per-node", "1", "--cpu-bind=none", *_gpus(wish))
        if len(hosts) > 1
        else ()
    )
    argv: tuple[str, ...] = (*agents, NAME, *options, f"--nproc-per-node={each}")
    if mode:
        argv += (f"--numa-binding={mode}", *_script(wish.command))
    else:
        gaps = any((plan.topology.pus.last or 0) >= len(plan.topology.pus) for plan in placement.plans)
        argv += ("--no-python", *listed(_program(wish.command), [str(each) for each in cpus], "LOCAL_RANK", taskset=gaps))
    if max(map(len, argv)) > LONGEST:
        raise BadValue("the list of the workers' CPUs is longer than an argument may be", cure="ask for fewer ranks on a host")
    notes = (_SPREAD,) if len(hosts) > 1 else ()
    return Launch(NAME, wish.version, mode or "numactl", argv, dict(wish.environment), {}, avoided, notes)


def _gpus(wish: LaunchRequest) -> tuple[str, ...]:
    return (f"--gpus-per-node={wish.gpus}",) if wish.gpus else ()


def _script(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command as torchrun takes it: a script of Python's by its name, any other program after --no-python."""
    first = command[0].rpartition("/")[2]
    if first.startswith("python") and len(command) > 1 and (command[1] == "-m" or not command[1].startswith("-")):
        return tuple(command[1:])
    return tuple(command) if first.endswith(".py") else ("--no-python", *command)


def _program(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command as it is started itself: a script of Python's with its interpreter."""
    return ("python", *command) if command[0].endswith(".py") else tuple(command)


def _mode(placement: Placement, wish: LaunchRequest, cpus: Sequence[CpuSet]) -> tuple[str | None, tuple[Avoided, ...]]:
    """Return the mode that gives these CPUs on every host; None, and why not, where there is none."""
    if () < version_of(wish.version)[:2] < SINCE:
        return None, (_OLD,)
    nodes = wish.gpu_nodes
    if len(nodes) < len(cpus) or None in nodes:
        return None, (_UNPLACED,) if wish.gpus else ()
    homes = [node for node in nodes[: len(cpus)] if node is not None]
    for name in ("exclusive", "core-complex", "node", "socket"):
        if all(bound(name, plan.topology, homes) == list(cpus) for plan in placement.plans):
            return name, ()
    return None, (_OTHER,)


def bound(mode: str, topology: Topology, homes: Sequence[int]) -> list[CpuSet]:
    """Return what a mode gives each worker; ``homes`` are the NUMA nodes of the GPUs, in their order."""
    inside = topology.inside
    nodes = {node.os_index: node.cpuset & inside.pus for node in inside.cpu_nodes}
    if not all(nodes.get(home) for home in homes):
        return []
    if mode == "node":
        return [nodes[home] for home in homes]
    if mode == "socket":
        sockets = [package.cpuset & inside.pus for package in inside.packages]
        return [union(socket for socket in sockets if socket & nodes[home]) for home in homes]
    shares = {home: (_cores if mode == "exclusive" else _caches)(inside, nodes[home], homes.count(home)) for home in {*homes}}
    taken = {home: iter(share) for home, share in shares.items()}
    return [next(taken[home], CpuSet()) for home in homes]


def _cores(inside: Topology, home: CpuSet, workers: int) -> Iterator[CpuSet]:
    """Yield the cores of a node in as many parts; of what is left over the first ones have one more."""
    cores = sorted((core.cpuset & home for core in inside.cores if core.cpuset & home), key=lambda cpus: cpus.first or 0)
    size, more = divmod(len(cores), workers)
    at = 0
    for worker in range(workers):
        end = at + size + (worker < more)
        yield union(cores[at:end])
        at = end


def _caches(inside: Topology, home: CpuSet, workers: int) -> Iterator[CpuSet]:
    """Yield L3 groups of a node, those with more CPUs first; again from the first where they are fewer than workers."""
    groups = [group.cpuset & home for group in inside.l3 if group.cpuset & home]
    groups.sort(key=lambda cpus: (-len(cpus), cpus.first or 0))
    for worker in range(workers if groups else 0):
        yield groups[worker % len(groups)]


LAUNCHER = Launcher(
    name=NAME,
    title="torchrun",
    order=85,
    launch=launch,
    aliases=("torch", "pytorch"),
)
