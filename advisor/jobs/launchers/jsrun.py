"""IBM's jsrun, in jobs of LSF: an explicit resource file. Not tried.

After OLCF's guide to Summit and what ranks printed there (olcf/olcf-user-docs, systems/summit_user_guide.rst), its tutorial on
the CPUs of such files (olcf-tutorials/ERF-CPU-Indexing), IBM's page on their format, and files that others write; its options
also after Spindle's table of them (hpc/Spindle).
"""

import re
from collections.abc import Iterator, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Dialect, JobScript, Launch, Launcher, LaunchRequest, Lines, RankVariables, option_table
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import Placement, assigned, devices_differ, kinds, memory_notes, names, runs
from advisor.machine.cpuset import union

NAME = "jsrun"


RANKS = RankVariables(rank=("JSM_NAMESPACE_RANK",), size=("JSM_NAMESPACE_SIZE",), local=("JSM_NAMESPACE_LOCAL_RANK",))


UNBOUND = ("-c", "ALL_CPUS", "-b", "none")


FILE = "erf"


UNTRIED = "not tested in real runs: jsrun is part of IBM LSF, so this follows published examples; check it with advisor verify"


_NODE = "the job needs whole nodes with the same hardware threads enabled as here (bsub -nnodes, -alloc_flags smt4)"


_ORDER = "ranks follow LSF's order of the job's hosts"


OPTIONS, _ALIASES = option_table("""
    --nrs -n 1 creates {0} resource sets
    --rs_per_host -r 1 puts {0} resource sets on each host
    --tasks_per_rs -a 1 tasks per resource set: {0}
    --cpu_per_rs -c 1 cores per resource set: {0}
    --gpu_per_rs -g 1 GPUs per resource set: {0}
    --memory_per_rs -m 1 gives each resource set {0} MB of memory
    --np -p 1 starts {0} tasks
    --bind -b 1 binds each task to {0} of its resource set
    --launch_distribution -d 1 starts tasks on resource sets {0}
    --latency_priority -l 1 keeps {0} close together
    --erf_input 1 puts ranks where the file {0} says
    --erf_output 1 writes the rank placement to {0}
    --use_resources -U 1 creates the resource sets defined in the file {0}
    --rs_per_socket -K 1 puts {0} resource sets on each socket
    --env -E 1 sets {0} for all ranks
    --env_eval -F 1 sets {0}, evaluated for each rank
    --env_no_propagate -D 1 does not pass on {0}
    --smpiargs -M 1 passes {0} to Spectrum MPI
    --stdio_stdout -o 1 writes output to {0}
    --stdio_stderr -k 1 writes errors to {0}
    --stdio_input -t 1 reads {0}
    --stdio_mode -e 1 gathers output {0}
    --stdin_rank -I 1 gives rank {0} the input
    --chdir -h 1 starts in the folder {0}
    --immediate -i 0 does not wait for the job to end
    --exit_on_error -X 1 ends all tasks when one fails: {0}
    --progress -Z 1 writes startup progress to {0}
    --print_placement 1 prints the rank placement: {0}
    --use_spindle -L 1 loads libraries through Spindle: {0}
    --pre_post_exec -P 1 runs {0} before and after
    --exclude_hosts -x 1 excludes the hosts {0}
""")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line: an explicit resource file, or the wrapper."""
    list(runs(placement))
    variables = assigned(wish.environment, "-E")
    if wish.wrap or devices_differ(placement):
        return _wrapped(placement, wish, variables)
    argv = ("jsrun", "--erf_input", FILE, *variables, *wish.command)
    files: dict[str, Lines] = {FILE: lambda: erf(placement)}
    return Launch(NAME, wish.version, "explicit resource file", argv, {}, files, (), (UNTRIED, _NODE, *memory_notes(placement)))


def _wrapped(placement: Placement, wish: LaunchRequest, variables: Sequence[str]) -> Launch:
    """Return the line of the wrapper: one resource set a host, with everything that the host has."""
    if len({host.ranks for host in placement.hosts if host.ranks}) > 1:
        raise BadValue(
            "jsrun starts the same number of ranks in every resource set",
            cure="request the same number of ranks on each host",
        )
    hosts = max(1, len(names(placement)))
    gpus = ("-g", "ALL_GPUS") if any(slot.gpu for plan in placement.plans for slot in plan.slots) else ()
    sets = ("-n", str(hosts), "-r", "1", "-a", str(placement.size // hosts), *gpus, *UNBOUND, "-d", "packed")
    argv = ("jsrun", *sets, *variables, *wrapper.wrapped(wish.command))
    notes = (UNTRIED, _NODE, *_order(placement), *wrapper.NOTES)
    return Launch(NAME, wish.version, "wrapper", argv, {}, wrapper.files(placement, RANKS), (), notes)


def _order(placement: Placement) -> tuple[str, ...]:
    return (_ORDER,) if len(names(placement)) > 1 else ()


def erf(placement: Placement) -> Iterator[str]:
    """Yield the lines of an explicit resource file: each rank a resource set of its own, CPUs by the kernel's numbers."""
    each = [slot.cpus for plan, ranks in kinds(placement).items() for slot in placement.plans[plan].slots[:ranks]]
    yield "cpu_index_using: physical"
    yield f"overlapping-rs: {'warn' if len(union(each)) == sum(map(len, each)) and len(kinds(placement)) == 1 else 'allow'}"
    yield "launch_distribution: packed"
    rank = 0
    for number, host in enumerate((host for host in placement.hosts if host.ranks), 1):
        where = f"hostname: {host.name}" if host.name else f"host: {number}"
        for slot in placement.plans[host.plan].slots[: host.ranks]:
            yield f"rank: {rank}: {{ {where}; cpu: {{{slot.cpus}}} ; mem: * }}"
            rank += 1


LAUNCHER = Launcher(
    name=NAME,
    title="jsrun",
    order=55,
    launch=launch,
    aliases=("jsm",),
    variables=("JSM_",),
    ranks=RANKS,
    without_binding=UNBOUND,
    job=JobScript(("lsf",)),
    dialect=Dialect(
        programs=("jsrun",),
        options=OPTIONS,
        aliases=_ALIASES,
        glued=re.compile(r"(-[nracgmpbdlUEMokehXKFDtIZLPx])(=?)(.+)", re.DOTALL),
    ),
)
