"""Flux's run: a list of CPUs for each local task, or an even division of whole nodes, where all hosts are alike.

After flux-core's manual, its tests and its source (flux-framework/flux-core), and dry runs of 0.88.0.
"""

import re
from collections.abc import Iterator, Sequence

from advisor.errors import BadValue
from advisor.launch.launcher import (
    Avoided,
    Dialect,
    JobScript,
    Launch,
    LaunchRequest,
    Lines,
    Options,
    RankVariables,
    VersionQuery,
    late,
)
from advisor.launch.launchers import wrapper
from advisor.launch.ranks_per_host import LONGEST, devices_differ, kinds, memory_notes, names, only_slots, runs, version_of
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.placement import Placement, Slot

NAME = "flux"
TITLE = "Flux"
ALIASES = ("flux-core", "flux-run")
ORDER = 35
# libflux-core:\t\t0.50.0
VERSIONS = (VersionQuery("flux", (("flux", "version"),), r"^libflux-core:[ \t]*([0-9][^\s]*)"),)
VARIABLES = ("FLUX_",)
RANKS = RankVariables(rank=("FLUX_TASK_RANK",), size=("FLUX_JOB_SIZE",), local=("FLUX_TASK_LOCAL_ID",))
UNBOUND = ("-o", "cpu-affinity=off")
JOB = JobScript(("flux",))

MAP_SINCE = (0, 46)
"""cpu-affinity=map: (NEWS.md of flux-core); older ones bind every task to all cores of the job, silently."""
PER_TASK_SINCE = (0, 43)
"""per-task counts hardware threads rightly (NEWS.md, flux-core#4537)."""
VERBOSE_SINCE = (0, 80)
"""cpu-affinity=verbose and dry-run (NEWS.md)."""
HOSTFILE_SINCE = (0, 61)
"""--taskmap=hostfile:FILE (NEWS.md, flux-core#5844)."""

_DIFFER = Avoided("cpu-affinity=map", "the list is the same on every host, and these differ")
_LONG = Avoided("cpu-affinity=map", f"longer than the {LONGEST} characters of an argument")
_OLD = Avoided("cpu-affinity=map", "flux-core has it since 0.46; older ones take it for nothing, silently")
_MPIBIND = "where the plugin mpibind is loaded, as at LLNL, add -o mpibind=off: it sets other CPUs"
_ORDER = "ranks follow Flux's own order of the nodes (flux resource list): --taskmap=hostfile is of flux-core 0.61 and later"
_SILENT = "cpu-affinity=verbose, which prints the CPUs of each task, is of flux-core 0.80 and later: not asked for"

OPTIONS: Options = {
    "-n": (1, "starts {0} tasks"),
    "-N": (1, "on {0} nodes"),
    "-c": (1, "allots {0} cores for each task, which all tasks of a node share without cpu-affinity"),
    "-g": (1, "allots {0} GPUs for each task, which all tasks of a node see without gpu-affinity"),
    "--exclusive": (0, "takes whole nodes"),
    "--cores": (1, "allots {0} cores in all"),
    "--tasks-per-node": (1, "starts {0} tasks on each node"),
    "--tasks-per-core": (1, "starts {0} tasks on each core"),
    "--gpus-per-node": (1, "allots {0} GPUs on each node"),
    "-o": (1, "sets the option {0} of the job's shell"),
    "--taskmap": (1, "gives tasks to nodes by {0}"),
    "--requires": (1, "on nodes that fit {0}"),
    "--env": (1, "sets or passes on {0} for all tasks"),
    "--env-remove": (1, "takes the variables {0} away"),
    "--env-file": (1, "sets the variables of the file {0}"),
    "-q": (1, "in the queue {0}"),
    "-B": (1, "charges {0}"),
    "-t": (1, "for {0} at most"),
    "--urgency": (1, "with the urgency {0}"),
    "--job-name": (1, "calls the job {0}"),
    "-S": (1, "sets the job's attribute {0}"),
    "--add-file": (1, "brings the file {0} along"),
    "--dependency": (1, "after {0}"),
    "--begin-time": (1, "not before {0}"),
    "--rlimit": (1, "passes on the limit {0}"),
    "--input": (1, "reads {0}"),
    "--output": (1, "writes output to {0}"),
    "--error": (1, "writes errors to {0}"),
    "-u": (0, "does not buffer output"),
    "-l": (0, "marks output with the rank"),
    "--cwd": (1, "starts in the folder {0}"),
    "--flags": (1, "submits with the flags {0}"),
    "--signal": (1, "sends {0} before the time is up"),
    "--dry-run": (0, "starts nothing and prints the job"),
    "--quiet": (0, "prints no number of the job"),
    "-v": (0, "says more"),
    "-vv": (0, "says more"),
    "-vvv": (0, "says more"),
    "--wait-event": (1, "waits for {0}"),
    "--wait": (0, "waits until the job has ended"),
    "--watch": (0, "shows the job's output"),
}
_ALIASES = {
    "--ntasks": "-n",
    "--nodes": "-N",
    "--cores-per-task": "-c",
    "--gpus-per-task": "-g",
    "-x": "--exclusive",
    "--setopt": "-o",
    "--setattr": "-S",
    "--queue": "-q",
    "--bank": "-B",
    "--time-limit": "-t",
    "--unbuffered": "-u",
    "--label-io": "-l",
    "--verbose": "-v",
}


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line: tasks divided evenly or a list where hosts are alike, else the wrapper."""
    list(runs(placement))
    slots, version = only_slots(placement), version_of(wish.version)
    affinity = _even(placement, wish) or f"map:{listed(slots or ())}"
    old = bool(version) and version < MAP_SINCE
    avoided = (_OLD,) if old else (_DIFFER,) if slots is None else (_LONG,) if len(affinity) > LONGEST else ()
    if avoided or wish.wrap or devices_differ(placement):
        return _line(placement, wish, "off", avoided)
    speaks = version >= VERBOSE_SINCE
    return _line(placement, wish, f"{'verbose,' if wish.report and speaks else ''}{affinity}", ())


def listed(slots: Sequence[Slot]) -> str:
    """Return the list, one part a local task: ``0-3;4-7``."""
    return ";".join(str(slot.cpus) for slot in slots)


def _even(placement: Placement, wish: LaunchRequest) -> str | None:
    """Return per-task where that divides the cores of every host as planned; None where it does not."""
    version = version_of(wish.version)
    if wish.exact or (version and version < PER_TASK_SINCE):
        return None
    for plan, ranks in kinds(placement).items():
        node = placement.plans[plan]
        slots = [slot.cpus for slot in node.slots[:ranks]]
        if node.topology.limited or ranks < 2 or divided(logical_numbering(node.topology).cores, ranks) != slots:
            return None
    return "per-task"


def divided(cores: Sequence[CpuSet], tasks: int) -> list[CpuSet]:
    """Return what hwloc_distrib makes of cores for so many tasks: it goes by their hardware threads, rounded up."""
    total, seen, parts = sum(map(len, cores)), 0, list[CpuSet]()
    for core in cores:
        chunk = -(-(seen + len(core)) * tasks // total) - -(-seen * tasks // total)
        seen += len(core)
        if chunk:
            parts += [core] * chunk
        else:
            parts[-1] |= core
    return parts


def _line(placement: Placement, wish: LaunchRequest, affinity: str, avoided: tuple[Avoided, ...]) -> Launch:
    """Return the line with what cpu-affinity is to be; off: the wrapper binds."""
    wrap = affinity == "off"
    ordered = not version_of(wish.version) or version_of(wish.version) >= HOSTFILE_SINCE
    where, files = _where(placement, ordered=ordered, own=wish.scheduler == "flux")
    variables = [word for name, value in wish.environment.items() for word in ("--env", f"{name}={value}")]
    command = wrapper.wrapped(wish.command) if wrap else wish.command
    # The wrapper names each rank's GPU: Flux's own variable would hide it, -1 where its scheduler allots no GPUs.
    gpus = wrap and any(slot.gpu for plan in placement.plans for slot in plan.slots)
    free = ("-o", "gpu-affinity=off") if gpus else ()
    argv = ("flux", "run", *where, "-x", *variables, *free, "-o", f"cpu-affinity={affinity}", *command)
    silent = (_SILENT,) if wish.report and not wrap and not affinity.startswith("verbose") else ()
    turned = (_ORDER,) if len(names(placement)) > 1 and not ordered else ()
    notes = (_MPIBIND, *turned, *silent, *(wrapper.NOTES if wrap else memory_notes(placement)))
    form = "wrapper" if wrap else "per-task" if affinity.endswith("per-task") else "map"
    made = wrapper.files(placement, RANKS) if wrap else {}
    return Launch(NAME, wish.version, form, argv, {}, {**files, **made}, avoided, notes)


def _where(placement: Placement, *, ordered: bool, own: bool) -> tuple[tuple[str, ...], dict[str, Lines]]:
    """Return the words and the file that give each host its ranks in the plan's order: Flux has an order of its own."""
    hosts = names(placement)
    counts = {host.ranks for host in placement.hosts if host.ranks}
    if len(counts) > 1:
        raise BadValue("Flux starts as many ranks on every host", cure="ask for the same number on each")
    size = ("-N", str(max(1, len(hosts))), "-n", str(placement.size))
    if not hosts or own:  # in a job of its own the hosts are those of the job, in their order
        return size, {}
    required = f"hosts:{','.join(hosts)}"
    named = ("--requires", required) if len(required) <= LONGEST else ()
    if len(hosts) == 1 or not ordered:
        return (*size, *named), {}
    return (*size, *named, "--taskmap", "hostfile:hostfile"), {"hostfile": lambda: _each(placement)}


def _each(placement: Placement) -> Iterator[str]:
    """Yield a host's name for each of its ranks."""
    for host in placement.hosts:
        for _ in range(host.ranks):
            yield str(host.name)


def unbound(total: int, hosts: Sequence[str]) -> None:
    """Return None: of a line for another launcher bind lint shows those of MPI and Slurm; advisor bind writes this one."""


LINES = Dialect(
    programs=("flux",),
    options=OPTIONS,
    aliases=_ALIASES,
    verbs=("run", "submit"),
    ranks=late("flux:ranks"),
    request=late("flux:request"),
    lists=late("flux:warnings"),
    glued=re.compile(r"(-[nNcgoqtSB])(=?)(.+)", re.DOTALL),
)
