"""Slurm's srun: lists or masks of the kernel's CPU numbers by local task, or ``cores`` where that is the same."""

import re
from collections.abc import Iterator, Sequence

from advisor.launch.launcher import Avoided, Dialect, JobScript, Launch, LaunchRequest, Lines, RankVariables, VersionQuery, late
from advisor.launch.launchers import wrapper
from advisor.launch.launchers.mpich import alike, objects
from advisor.launch.lint.option_tables import SRUN, SRUN_ALIASES
from advisor.launch.ranks_per_host import LONGEST, devices_differ, kinds, memory_notes, names, only_slots, runs, version_of
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import Placement, Slot

NAME = "srun"
ALIASES = ("slurm",)
TITLE = "srun"
ORDER = 20
# slurm 23.11.4;   Debian's package: slurm-wlm 22.05.8
VERSIONS = (VersionQuery("slurm", (("srun", "--version"), ("slurmd", "-V")), r"^slurm(?:-wlm)? ([0-9][^\s]*)"),)
VARIABLES = ("SLURM_",)
RANKS = RankVariables(rank=("SLURM_PROCID",), inherited=True)
UNBOUND = ("--cpu-bind=none",)
JOB = JobScript(
    ("slurm",),
    {"slurm": ("# srun takes it for --cpus-per-task, and would refuse the plan's CPUs.", "unset SLURM_CPUS_PER_TASK")},
)
LINES = Dialect(
    programs=("srun",),
    options=SRUN,
    aliases=SRUN_ALIASES,
    ranks=late("slurm.srun:ranks"),
    request=late("request:of_srun"),
    lists=late("cpu_lists:srun_lists"),
    glued=re.compile(r"(-[nNcwxmBpAqtJCGDoeiK])(=?)([^-=].*)", re.DOTALL),
    parted=False,
)


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    return "srun", "--nodes", str(max(1, len(hosts))), "--ntasks", str(total), *UNBOUND


Said = tuple[tuple[Avoided, ...], tuple[str, ...]]
"""Forms not used, and notes."""

_DIFFER = Avoided("--cpu-bind=map_cpu|mask_cpu", "a list is the same on every node, and these hosts differ")
_EXACT = Avoided("--cpus-per-task with a list", "it implies --exact: the step has the first CPUs only, and others are refused")
_WHOLE = "the job must have whole nodes (salloc or sbatch --exclusive): Slurm refuses to bind to CPUs that it did not give"
_SHARED = "where other steps of the job run at the same time, add --overlap"
_INHERITED = "unset SLURM_CPUS_PER_TASK before the line: srun takes it for --cpus-per-task, and the list would be refused"
_MEMORY = "memory is taken where it is first touched; --mem-bind=local makes that strict"


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the srun line: cores in blocks where faithful, else a list, else the wrapper where hosts differ."""
    list(runs(placement))
    if wish.wrap or devices_differ(placement):
        return _wrapped(placement, wish, ())
    if unnamed := _unnamed(placement, wish):
        return _wrapped(placement, wish, (unnamed,))
    slots = only_slots(placement)
    size = _blocks(placement) if _even(placement, wish) else None  # arbitrary takes no second level
    if size and not wish.exact:
        words = (f"--cpus-per-task={size}", f"--cpu-bind={_verbose(wish)}cores")
        note = f"--cpus-per-task counts hardware threads: slurm.conf must have the {_threads(placement)} of a core"
        return _line(placement, wish, "cores in blocks", words, ((), (_WHOLE, note)), inner="block")
    avoided = (
        () if wish.exact else (Avoided("--cpu-bind=cores", "the plan does not fill the cores in order, or they are not alike"),)
    )
    if slots is None:
        return _wrapped(placement, wish, (*avoided, _DIFFER))
    nodes = None if wish.exact else _nodes(placement)
    bind = f"map_ldom:{nodes}" if nodes else listed(slots)
    if len(bind) > LONGEST:
        return _wrapped(placement, wish, (*avoided, Avoided("--cpu-bind=mask_cpu", f"longer than {LONGEST} characters")))
    inherited = () if (22, 5) <= version_of(wish.version)[:2] < (23, 11) else (_INHERITED,)
    notes = (_WHOLE, _SHARED, *inherited, _MEMORY)
    return _line(placement, wish, bind.partition(":")[0], (f"--cpu-bind={_verbose(wish)}{bind}",), ((*avoided, _EXACT), notes))


def _unnamed(placement: Placement, wish: LaunchRequest) -> Avoided | None:
    """Return why Slurm cannot bind to the CPUs of some node by their numbers; None where it can.

    slurmd maps the CPUs from 0 to their count, with as many threads for each core (xcpuinfo_hwloc_topo_get); observed.
    """
    for plan in kinds(placement):
        node = placement.plans[plan]
        cores = logical_numbering(node.topology).cores
        if len({len(core) for core in cores}) > 1:
            return Avoided("--cpu-bind", "some cores have more hardware threads than others, and Slurm counts all alike")
        sockets = union(package.cpuset for package in node.topology.inside.packages)
        if sockets and not union(cores) <= sockets:
            return Avoided("--cpu-bind", "some cores are shown in no socket, and Slurm counts those of sockets only")
        count = _counted(node.topology, wish)
        last = max(slot.cpus.last or 0 for slot in node.slots)
        if last >= count:
            return Avoided(
                "--cpu-bind", f"CPU numbers go up to {last}, and Slurm refuses those from the count of CPUs, {count}, on"
            )
    return None


def _counted(topology: Topology, wish: LaunchRequest) -> int:
    """Return how many CPUs Slurm knows of a node; in a job of its own, numbers not seen are those of other jobs."""
    if wish.scheduler != "slurm":
        return len(topology.pus)
    last = topology.pus.last or 0
    return last + 1 - len([cpu for cpu in topology.missing if cpu <= last])


def listed(slots: Sequence[Slot]) -> str:
    """Return map_cpu or mask_cpu with one entry for each local task: a short list starts again from its first entry."""
    if all(len(slot.cpus) == 1 for slot in slots):
        return f"map_cpu:{','.join(str(slot.cpus) for slot in slots)}"
    return f"mask_cpu:{','.join(hex(slot.cpus.bits) for slot in slots)}"


def _verbose(wish: LaunchRequest) -> str:
    return "verbose," if wish.report else ""


def _blocks(placement: Placement) -> int | None:
    """Return the CPUs of each rank where every host's ranks fill its cores in order; None where they do not."""
    found: set[int] = set()
    for plan, ranks in kinds(placement).items():
        node = placement.plans[plan]
        slots = [slot.cpus for slot in node.slots[:ranks]]
        cores, sockets = objects(node.topology)["core"], objects(node.topology)["socket"]
        size = len(slots[0]) // len(cores[0]) if cores else 0
        if node.topology.limited or not size or not (alike(cores, node.topology) and alike(sockets, node.topology)):
            return None
        if (len(cores) // len(sockets)) % size or slots != chunks(cores, size)[: len(slots)]:
            return None
        found.add(len(slots[0]))
    return found.pop() if len(found) == 1 else None


def chunks(cores: Sequence[CpuSet], size: int) -> list[CpuSet]:
    """Return so many neighbouring cores, again and again."""
    return [union(cores[i : i + size]) for i in range(0, len(cores) - size + 1, size)]


def _threads(placement: Placement) -> str:
    threads = {len(logical_numbering(placement.plans[plan].topology).cores[0]) for plan in kinds(placement)}
    return " or ".join(f"{count} thread{'s' * (count > 1)}" for count in sorted(threads))


def _nodes(placement: Placement) -> str | None:
    """Return the NUMA nodes of the local ranks where each has all CPUs of one, on every host; None otherwise."""
    found: set[str] = set()
    for plan, ranks in kinds(placement).items():
        node = placement.plans[plan]
        by_cpus = {each.cpuset: each.os_index for each in node.topology.inside.cpu_nodes}
        numbers = [by_cpus.get(slot.cpus) for slot in node.slots[:ranks]]
        found.add("" if None in numbers or node.topology.limited else ",".join(map(str, numbers)))
    return max(found, key=len) if all(text and max(found, key=len).startswith(text) for text in found) else None


Where = tuple[tuple[str, ...], dict[str, Lines], dict[str, str]]


def where(placement: Placement, wish: LaunchRequest, inner: str = "") -> Where:
    """Return the words, the file and the variables that give each host its ranks in the plan's order."""
    named, each = names(placement), _even(placement, wish)
    tail = f":{inner}" if inner else ""
    size = ("--nodes", str(max(1, len(named))), "--ntasks", str(placement.size))
    if not named:
        return (*size, *(("--distribution", f"block{tail}") if inner else ())), {}, {}
    if each:
        hosts = () if wish.scheduler == "slurm" else ("--nodelist", ",".join(named))
        return (*size, "--ntasks-per-node", str(each), "--distribution", f"block{tail}", *hosts), {}, {}
    return (*size, "--distribution", "arbitrary"), {"hostfile": lambda: _each(placement)}, {"SLURM_HOSTFILE": "hostfile"}


def _even(placement: Placement, wish: LaunchRequest) -> int | None:
    """Return the ranks of each host where Slurm's own order and division of them are the plan's; None elsewhere."""
    named, counts = names(placement), {host.ranks for host in placement.hosts if host.ranks}
    if len(counts) > 1:  # of 18 tasks, at most 16 on a node, srun 22.05 makes 11 and 7
        return None
    if named and wish.scheduler != "slurm" and (list(named) != sorted(named, key=natural) or len(",".join(named)) > LONGEST):
        return None
    return counts.pop()


def natural(name: str) -> list[tuple[int, str]]:
    """Return what Slurm sorts host names by: their numbers as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _each(placement: Placement) -> Iterator[str]:
    """Yield a host's name for each of its ranks, as SLURM_HOSTFILE wants them."""
    for host in placement.hosts:
        for _ in range(host.ranks):
            yield str(host.name)


def _line(placement: Placement, wish: LaunchRequest, form: str, words: Sequence[str], said: Said, *, inner: str = "") -> Launch:
    hosts, files, environment = where(placement, wish, inner)
    avoided, notes = said
    argv = ("srun", *hosts, *words, *wish.command)
    settings = {**wish.environment, **environment}
    return Launch(NAME, wish.version, form, argv, settings, files, avoided, (*notes, *memory_notes(placement)))


def _wrapped(placement: Placement, wish: LaunchRequest, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish)
    argv = ("srun", *hosts, "--cpu-bind=none", *wrapper.wrapped(wish.command))
    settings = {**wish.environment, **environment}
    notes = (_WHOLE, *wrapper.NOTES)
    return Launch(NAME, wish.version, "wrapper", argv, settings, {**files, **wrapper.files(placement)}, avoided, notes)
