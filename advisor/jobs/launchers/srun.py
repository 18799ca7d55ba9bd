"""Slurm's srun: lists or masks of the kernel's CPU numbers by local task, or ``cores`` where that is the same."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import (
    Avoided,
    Dialect,
    JobScript,
    Launch,
    Launcher,
    LaunchRequest,
    Lines,
    RankVariables,
    option_table,
)
from advisor.jobs.launchers import wrapper
from advisor.jobs.launchers.mpich import alike, objects
from advisor.jobs.memory_binding import mem_bind
from advisor.jobs.placement import (
    LONGEST,
    LintRank,
    LintWarning,
    Placement,
    Slot,
    host_of_each_rank,
    kinds,
    memory_notes,
    names,
    only_slots,
    runs,
    version_of,
)
from advisor.jobs.request import (
    MOST_RANKS,
    Line,
    Prediction,
    Refused,
    Request,
    Unclear,
    hosts,
    number,
    ranks_here,
    seated,
    warning,
)
from advisor.jobs.scripts.expansion import words
from advisor.jobs.slurm import (
    MEM_BIND,
    Entity,
    Setup,
    Shape,
    Step,
    available,
    masks,
    names_of,
    natural,
    numbered_cpus,
    refuse_memory,
    setups,
    shape,
    slurm_memory,
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.units import count as count_of

SRUN, SRUN_ALIASES = option_table("""
    --ntasks -n 1 starts {0} ranks
    --nodes -N 1 on {0} nodes
    --cpus-per-task -c 1 gives each rank {0} CPUs (hardware threads if Slurm counts those as CPUs)
    --ntasks-per-node --tasks-per-node 1 starts {0} ranks on each node
    --ntasks-per-socket 1 starts at most {0} ranks on a socket
    --ntasks-per-core 1 starts at most {0} ranks on a core
    --nodelist -w 1 on the hosts {0}
    --exclude -x 1 on hosts other than {0}
    --distribution -m 1 distributes ranks over nodes and within each node as {0}
    --cpu-bind --cpu_bind 1 sets CPU binding to {0}
    --mem-bind --mem_bind 1 binds memory with policy {0}
    --hint 1 takes the hint {0}
    --threads-per-core 1 uses {0} hardware threads per core
    --extra-node-info -B 1 requests nodes with the layout {0}
    --sockets-per-node 1 requests {0} sockets per node
    --cores-per-socket 1 requests {0} cores per socket
    --exclusive 0 shares its CPUs with no other step
    --exact 0 uses only the CPUs it requests
    --overlap 0 shares its CPUs with other steps
    --overcommit -O 0 allows several ranks on a CPU
    --oversubscribe -s 0 shares nodes with other jobs
    --mpi 1 starts MPI with {0}
    --partition -p 1 in the partition {0}
    --account -A 1 charged to the account {0}
    --qos -q 1 with the quality of service {0}
    --reservation 1 in the reservation {0}
    --time -t 1 for at most {0}
    --job-name -J 1 named {0}
    --constraint -C 1 on nodes that match {0}
    --mem 1 with {0} of memory per node
    --mem-per-cpu 1 with {0} of memory per CPU
    --gres 1 with {0}
    --gpus -G 1 with {0} GPUs
    --gpus-per-node 1 GPUs per node: {0}
    --gpus-per-task 1 GPUs per rank: {0}
    --gpus-per-socket 1 GPUs per socket: {0}
    --cpus-per-gpu 1 requests {0} CPUs per GPU
    --ntasks-per-gpu 1 starts {0} ranks per GPU
    --gpu-bind 1 binds GPUs by {0}
    --export 1 passes the variables {0} on
    --chdir -D 1 starts in the folder {0}
    --output -o 1 writes output to {0}
    --error -e 1 writes errors to {0}
    --input -i 1 reads input from {0}
    --kill-on-bad-exit -K 0 ends when a rank fails
    --label -l 0 marks output with the rank
    --unbuffered -u 0 prints at once
    --verbose -v 0 prints more messages
    --quiet -Q 0 prints fewer messages
    --propagate 0 passes limits on
    --pty 0 gives rank 0 the terminal
    --multi-prog 0 takes programs from a file
    --relative -r 1 begins at node {0} of the job
    --network 1 uses the network {0}
    --jobid 1 inside the job {0}
    --wait 1 waits {0} seconds for the last rank
    --cpu-freq 1 sets the CPUs to the frequency {0}
    --mem-per-gpu 1 with {0} of memory per GPU
    --gpu-freq 1 sets the GPUs to the frequency {0}
    --accel-bind 1 binds ranks to devices by {0}
    --tres-per-task 1 with {0} for each rank
    --tres-bind 1 binds resources by {0}
    --het-group 1 in the components {0} of a heterogeneous job
    --pack-group 1 in the components {0} of a heterogeneous job
    --threads -T 1 starts with {0} threads
    --core-spec -S 1 leaves {0} cores to the system
    --mincpus 1 on nodes with at least {0} CPUs
    --gres-flags 1 assigns devices by {0}
    --signal 1 sends {0} before the end
    --container 1 in the container {0}
    --container-image 1 in the container {0}
    --container-mounts 1 with {0} in the container
    --container-name 1 in the container named {0}
    --container-workdir 1 starts in the container's folder {0}
    --environment --uenv 1 in the environment {0}
    --view 1 shows {0} of the environment
    --tmp 1 on nodes with {0} of local disk
    --licenses -L 1 with the licences {0}
    --clusters -M 1 on the clusters {0}
    --comment 1 with the comment {0}
    --dependency -d 1 after {0}
    --begin -b 1 not before {0}
    --deadline 1 before {0}
    --wckey 1 on the project {0}
    --acctg-freq 1 samples accounting data every {0}
    --open-mode 1 opens files to {0} them
    --epilog 1 runs {0} after
    --prolog 1 runs {0} before
    --task-epilog 1 runs {0} after each rank
    --task-prolog 1 runs {0} before each rank
    --slurmd-debug 1 makes daemons log more
    --uid 1 as the user {0}
    --gid 1 as the group {0}
    --switches 1 on nodes behind {0} switches
    --time-min 1 for at least {0}
    --bcast-exclude 1 copies all libraries except those in {0}
    --bcast 0 copies the program to the nodes
    --compress 0 compresses what is copied
    --cluster-constraint 1 on clusters that match {0}
    --priority 1 with the priority {0}
    --nodefile -F 1 on the hosts of the file {0}
    --immediate -I 0 fails if nothing is free immediately
    --hold -H 0 waits until it is released
    --no-kill -k 0 continues when a node fails
    --disable-status -X 0 shows no status on the first interrupt
    --no-allocate -Z 0 requests nothing from the controller
    --preserve-env -E 0 keeps the variables of nodes and ranks
    --interactive 0 starts the job's interactive step
    --contiguous 0 on adjacent nodes
    --spread-job 0 on as many nodes as it can
    --use-min-nodes 0 on as few nodes as it can
    --reboot 0 reboots the nodes first
    --nice 0 with lower priority
    --external-launcher 0 for another launcher's daemons
    --whole 0 takes all of each node of the job
    --help -h 0 prints its options
    --usage 0 prints its options
    --version -V 0 prints its version
    --test-only 0 starts nothing
""")


NAME = "srun"


UNBOUND = ("--cpu-bind=none",)


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    return "srun", "--nodes", str(max(1, len(hosts))), "--ntasks", str(total), *UNBOUND


Said = tuple[tuple[Avoided, ...], tuple[str, ...]]
"""Forms not used, and notes."""


_DIFFER = Avoided("--cpu-bind=map_cpu|mask_cpu", "one list applies to every node, but these hosts differ")


_EXACT = Avoided(
    "--cpus-per-task with a list", "it implies --exact: the step gets only its first CPUs, and a list with other CPUs is refused"
)


_WHOLE = "the job needs whole nodes (salloc or sbatch --exclusive): Slurm refuses to bind to CPUs outside the allocation"


_SHARED = "if other steps of the job run at the same time, add --overlap"


_INHERITED = "unset SLURM_CPUS_PER_TASK before the line: srun reads it as --cpus-per-task and would refuse the list"


_MEMORY = "memory is allocated on the NUMA node that first touches it; --mem-bind=local enforces this"


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the srun line: cores in blocks where faithful, else a list, else the wrapper where hosts differ."""
    list(runs(placement))
    if each_rank.wants_wrapper(placement, wish):
        return _wrapped(placement, wish, ())
    if unnamed := _unnamed(placement, wish):
        return _wrapped(placement, wish, (unnamed,))
    slots = only_slots(placement)
    size = _blocks(placement) if _even(placement, wish) else None  # arbitrary takes no second level
    if size and not wish.exact:
        words = (f"--cpus-per-task={size}", f"--cpu-bind={_verbose(wish)}cores")
        sizes = {len(logical_numbering(placement.plans[plan].topology).cores[0]) for plan in kinds(placement)}
        threads = " or ".join(count_of(each, "thread") for each in sorted(sizes))
        note = f"--cpus-per-task counts hardware threads: slurm.conf must list {threads} per core"
        return _line(placement, wish, "cores in blocks", words, ((), (_WHOLE, note)), inner="block")
    avoided = (
        () if wish.exact else (Avoided("--cpu-bind=cores", "the plan does not fill the cores in order, or the cores differ"),)
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
            return Avoided("--cpu-bind", "some cores have more hardware threads than others, but Slurm treats all alike")
        sockets = union(package.cpuset for package in node.topology.inside.packages)
        if sockets and not union(cores) <= sockets:
            return Avoided("--cpu-bind", "some cores belong to no socket, and Slurm counts only cores in sockets")
        count = numbered_cpus(node.topology, in_job=wish.scheduler == "slurm")
        last = max(slot.cpus.last or 0 for slot in node.slots)
        if last >= count:
            return Avoided(
                "--cpu-bind", f"CPU numbers go up to {last}, but Slurm accepts only numbers below {count}, the CPU count"
            )
    return None


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
    return (
        (*size, "--distribution", "arbitrary"),
        {"hostfile": lambda: host_of_each_rank(placement)},
        {"SLURM_HOSTFILE": "hostfile"},
    )


def _even(placement: Placement, wish: LaunchRequest) -> int | None:
    """Return the ranks of each host where Slurm's own order and division of them are the plan's; None elsewhere."""
    named, counts = names(placement), {host.ranks for host in placement.hosts if host.ranks}
    if len(counts) > 1:  # of 18 tasks, at most 16 on a node, srun 22.05 makes 11 and 7
        return None
    if named and wish.scheduler != "slurm" and (list(named) != sorted(named, key=natural) or len(",".join(named)) > LONGEST):
        return None
    return counts.pop()


def _line(placement: Placement, wish: LaunchRequest, form: str, words: Sequence[str], said: Said, *, inner: str = "") -> Launch:
    hosts, files, environment = where(placement, wish, inner)
    avoided, notes = said
    memory = mem_bind(placement)
    argv = ("srun", *hosts, *words, *memory, *_gpus(wish), *each_rank.command(wish, NAME))
    settings = {**wish.environment, **environment}
    kept = tuple(note for note in notes if not (memory and note == _MEMORY))
    told = (*kept, *memory_notes(placement))
    return Launch(NAME, wish.version, form, argv, settings, files, avoided, told, memory=bool(memory))


def _gpus(wish: LaunchRequest) -> tuple[str, ...]:
    """Return the words that give a step all GPUs of its nodes and leave the choice to its ranks.

    Bound to its GPU by Slurm, a rank is in a cgroup from which others' memory cannot be reached (LUMI's and NERSC's guides).
    """
    old = (0,) < version_of(wish.version) < (19, 5)
    return (f"--gpus-per-node={wish.gpus}", "--gpu-bind=none") if wish.gpus and not old else ()


def _wrapped(placement: Placement, wish: LaunchRequest, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish)
    argv = ("srun", *hosts, "--cpu-bind=none", *_gpus(wish), *wrapper.wrapped(wish.command))
    settings = {**wish.environment, **environment}
    notes = (_WHOLE, *wrapper.NOTES)
    return Launch(NAME, wish.version, "wrapper", argv, settings, {**files, **wrapper.files(placement)}, avoided, notes)


_ENTITIES: Mapping[str, Entity | None] = {
    "": None,
    "threads": "threads",
    "cores": "cores",
    "sockets": "sockets",
    "ldoms": "ldoms",
    "thread": "threads",
    "core": "cores",
    "socket": "sockets",
    "ldom": "ldoms",
}

_SPELT = {"no": "none", "mapcpu": "map_cpu", "maskcpu": "mask_cpu", "mapldom": "map_ldom", "maskldom": "mask_ldom"}

_LISTS = frozenset({"map_cpu", "mask_cpu", "map_ldom", "mask_ldom"})

_VARIABLES = {
    "SLURM_NTASKS": "--ntasks",
    "SLURM_NPROCS": "--ntasks",
    "SLURM_NNODES": "--nodes",
    "SLURM_JOB_NUM_NODES": "--nodes",
    "SRUN_CPUS_PER_TASK": "--cpus-per-task",
    "SLURM_CPU_BIND": "--cpu-bind",
    "SLURM_MEM_BIND": "--mem-bind",
    "SLURM_DISTRIBUTION": "--distribution",
    "SLURM_HINT": "--hint",
    "SLURM_THREADS_PER_CORE": "--threads-per-core",
    "SLURM_NTASKS_PER_NODE": "--ntasks-per-node",
    "SLURM_EXACT": "--exact",
    "SLURM_OVERCOMMIT": "--overcommit",
}
"""The variables that srun reads where its line does not say; the first of two wins."""

_HARMLESS = words(
    "SLURM_ACCOUNT SLURM_DEBUG SLURM_EXPORT_ENV SLURM_JOB_NAME SLURM_KILL_BAD_EXIT SLURM_LABELIO SLURM_MPI_TYPE SLURM_OVERLAP"
    " SLURM_PARTITION SLURM_QOS SLURM_STDERRMODE SLURM_STDINMODE SLURM_STDOUTMODE SLURM_SUBMIT_DIR SLURM_TIMELIMIT"
    " SLURM_UNBUFFEREDIO SLURM_WAIT SLURM_WCKEY"
)
"""Variables of srun(1) that change no placement; others than these leave a line open."""

_UNREAD = words(
    "--multi-prog --jobid --relative --exclude --gpus-per-socket --ntasks-per-gpu --cpus-per-gpu --extra-node-info"
    " --sockets-per-node --cores-per-socket --mem-per-cpu --mem-per-gpu --accel-bind --tres-per-task --tres-bind --het-group"
    " --pack-group"
    " --core-spec --mincpus --gres-flags --nodefile --use-min-nodes --spread-job --contiguous --switches --clusters --whole"
    " --help --usage --version --test-only --hold --external-launcher --interactive --no-allocate --container --container-image"
)
"""Options that change which CPUs or nodes a step gets, in ways that are not predicted."""


@dataclass(frozen=True)
class StepRequest:
    """What a line of srun asks for."""

    total: int
    nodes: tuple[str | None, ...]
    per_node: int | None
    outer: str
    bind: str
    entries: tuple[str, ...]
    step: Step
    """What each node is asked for, the number of its tasks not yet."""
    overcommit: bool
    listed: tuple[str, ...] = ()
    """The host of each rank, where a file has them."""
    gpus: bool = False
    """Whether GPUs are asked for: gres.conf may then say which cores a step gets."""


def _options(line: Line) -> dict[str, str]:
    """Return the options that count: those of the environment that the line does not have, and the last of its own."""
    found: dict[str, str] = {}
    for said in line.first.options:
        if not said.known or said.name in _UNREAD or (said.name == "--exclusive" and said.values):
            raise Unclear(f"the CPUs given by srun's {' '.join(said.written)[:60]} are not predicted")
        found[said.name] = said.values[-1] if said.values else ""
    environment = line.words.environment
    known = {*_VARIABLES, *_HARMLESS, "SLURM_CPUS_PER_TASK", "SLURM_HOSTFILE"}
    if odd := next((name for name in environment if re.match(r"S(LURM|RUN)_", name) and name not in known), None):
        raise Unclear(f"the effect of {odd[:40]} is not predicted")
    if "--hint" in found and "SLURM_CPU_BIND" in environment and "--cpu-bind" not in found:
        raise Unclear("the combination of --hint and SLURM_CPU_BIND is not predicted")
    found = {option: environment[name] for name, option in reversed(_VARIABLES.items()) if name in environment} | found
    if "SLURM_CPUS_PER_TASK" in environment and "--cpus-per-task" not in found:  # 22.05 to 23.02 have SRUN_CPUS_PER_TASK alone
        if line.release is None:
            raise Unclear("whether srun reads SLURM_CPUS_PER_TASK depends on its version: 22.05 to 23.02 do not")
        if not (22, 5) <= line.release < (23, 11):
            found["--cpus-per-task"] = environment["SLURM_CPUS_PER_TASK"]
    _together(line, found)
    return found


def _together(line: Line, found: Mapping[str, str]) -> None:
    """Raise Refused of options that srun 22.05 does not take together, Unclear of memory that is bound in an odd way."""
    if not line.first.command:
        raise Refused("no command given to execute")
    beside_pty = tuple(("--pty", option) for option in ("--output", "--error", "--input"))
    for pair in (("--quiet", "--verbose"), ("--exclusive", "--overlap"), *beside_pty):
        if found.keys() >= {*pair}:
            raise Refused(f"srun takes only one of {' and '.join(pair)}; nothing starts")
    if not MEM_BIND.fullmatch(found.get("--mem-bind", "")):
        raise Unclear(f"--mem-bind={found['--mem-bind'][:40]} is not predicted")


def _number(said: Mapping[str, str], option: str) -> int | None:
    """Return the number of an option, None where it is not said."""
    text = said.get(option)
    if text is not None and (not re.fullmatch(r"\d{1,8}", text, re.ASCII) or not int(text)):
        raise Unclear(f"{option} {text[:40]} is not a number")
    return int(text) if text else None


def step_request(made: Prediction, said: Mapping[str, str]) -> StepRequest:
    """Return what some options ask for; raise Refused or Unclear."""
    release = made.line.release or (22, 5, 0)
    outer, inner = _distribution(said.get("--distribution", ""))
    listed = _arbitrary(made) if outer == "arbitrary" else ()
    nodes = tuple(dict.fromkeys(listed)) if listed else _nodes_of_step(said)
    per_node, each = _number(said, "--ntasks-per-node"), _number(said, "--cpus-per-task")
    total = _number(said, "--ntasks") or len(listed)
    if not total and "--gpus" in said and "--gpus-per-task" in said:
        raise Unclear("the number of tasks that --gpus and --gpus-per-task imply depends on whether srun runs in a job")
    if not total and each and not per_node:
        raise Unclear("srun -c without -n starts as many tasks as its job has CPUs for, and that number is unknown")
    total = total or (per_node or 1) * len(nodes)
    if total > MOST_RANKS:
        raise Unclear(f"{total} ranks exceed the limit of {MOST_RANKS} for rank-by-rank prediction")
    if listed and len(listed) != total:
        raise Unclear(f"SLURM_HOSTFILE has {len(listed)} hosts for {total} ranks")
    if each and release < (21, 8) and "--exact" not in said:
        raise Unclear("before Slurm 21.08, --cpus-per-task allocated a different part of the node")
    bind, entries = _cpu_bind(said.get("--cpu-bind", ""))
    exact = "--exact" in said or "--exclusive" in said or (each is not None and release >= (22, 5))
    per_core, per_socket = _number(said, "--ntasks-per-core"), _number(said, "--ntasks-per-socket")
    used = _number(said, "--threads-per-core")
    step = Step(1, each or 1, inner, exact, per_core=per_core, per_socket=per_socket, used=used)
    bind, step = _hinted(said, bind, step)
    if outer == "default":
        outer = "cyclic" if total <= len(nodes) else "block"
    return StepRequest(total, nodes, per_node, outer, bind, entries, step, "--overcommit" in said, listed)


def _cpu_bind(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what --cpu-bind says: "", none, rank, an entity, or the name of a list and its entries."""
    plain = re.sub(r"(?:(?:^|,)(?:q|quiet|v|verbose))+(?=,|$)", "", text.lower()).lstrip(",")
    name, *rest = re.split("([:=])", plain, maxsplit=1)
    sign, listed = rest or ("", "")
    name = _SPELT.get(name, name)
    if name == "one_thread" or "," in name or re.search(r"[g-wyz]", listed):
        raise Unclear(f"--cpu-bind={text[:40]} is not predicted")
    if not (name in _LISTS or (not sign and (name in _ENTITIES or name in ("none", "rank", "rank_ldom")))):
        raise Refused(f"unrecognized --cpu-bind argument {text[:40]!a}")
    entries: list[str] = []
    for word in filter(None, listed.split(",")):
        entry, star, times = word.partition("*")
        if star and not re.fullmatch(r"\d{1,6}", times, re.ASCII):
            raise Refused(f"{word[:40]!a} is not a valid list entry")
        entries += [entry] * min(int(times) if star else 1, MOST_RANKS - len(entries))
    return name, tuple(entries)


def _hinted(said: Mapping[str, str], bind: str, step: Step) -> tuple[str, Step]:
    """Return the binding and the step as --hint changes them: it counts only where nothing else is said of threads."""
    if bind or step.used:
        return bind or "threads", step
    if step.per_core or "--hint" not in said:
        return "cores" if step.per_core else "sockets" if step.per_socket else "", step
    hint = said["--hint"].lower()
    if hint not in ("nomultithread", "multithread"):
        raise Unclear(f"--hint={hint[:40]} is not predicted")
    return "threads", replace(step, used=1) if hint == "nomultithread" else step


def _arbitrary(made: Prediction) -> tuple[str, ...]:
    """Return the host of each rank, as the file of SLURM_HOSTFILE has them."""
    file = made.line.words.environment.get("SLURM_HOSTFILE")
    if file is None or file not in made.files:
        raise Unclear("the SLURM_HOSTFILE file assigns ranks to hosts, but was not read")
    words = tuple(word for word in re.split(r"[\s,]+", made.files[file]) if word)
    if not words or len(words) > MOST_RANKS or any(re.search(r"[\[\]*#]", word) for word in words):
        raise Unclear("the SLURM_HOSTFILE file cannot be interpreted")
    return words


def _nodes_of_step(said: Mapping[str, str]) -> tuple[str | None, ...]:
    names, count = _names_listed(said.get("--nodelist", "")), said.get("--nodes", "")
    match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", count, re.ASCII)
    if count and (not match or not int(match[1]) or (match[2] and match[2] != match[1])):
        raise Unclear(f"Slurm chooses the number of nodes for --nodes {count[:20]}")
    number = int(match[1]) if match else max(1, len(names))
    if names and number != len(names):
        raise Unclear(f"--nodes {number}, but the node list has {len(names)}: Slurm chooses the nodes")
    if names:
        return tuple(sorted(names, key=natural))
    return (None,) if number == 1 else tuple(f"node{i}" for i in range(number))


def _names_listed(text: str) -> tuple[str, ...]:
    """Return the names of a list such as n[1-3,7],login; raise Unclear for a file and for what is no such list."""
    if "[" not in text and "/" not in text:
        return tuple(dict.fromkeys(name for name in text.split(",") if name))
    part = r"[^,\[\]/]+(\[\d{1,8}(-\d{1,8})?(,\d{1,8}(-\d{1,8})?)*\])?"
    names = names_of(text) if len(text) <= MOST_RANKS and re.fullmatch(rf"{part}(,{part})*", text, re.ASCII) else ()
    if not names or len(names) > MOST_RANKS:
        raise Unclear("the list of nodes is empty, invalid, or too long to expand")
    return tuple(names)


def _distribution(text: str) -> tuple[str, str | None]:
    """Return how tasks go over nodes, and over sockets."""
    outer, *rest = text.lower().split(":")
    # a * that is written is cyclic, whatever CR_CORE_DEFAULT_DIST_BLOCK says (22.05, observed)
    inner = rest[0].replace("*", "cyclic") if rest else None
    outer = {"": "default", "*": "default"}.get(outer, outer)
    # how cores are placed, the third, changes nothing in 22.05, as was seen of tasks bound to threads and to cores
    if "," in text or outer.startswith(("plane", "pack", "nopack")) or not {*rest[1:]} <= {"*", "block", "cyclic", "fcyclic"}:
        raise Unclear(f"the distribution {text[:40]!a} is not predicted")
    if outer not in ("default", "block", "cyclic", "arbitrary") or inner not in (None, "block", "cyclic", "fcyclic"):
        raise Refused(f"invalid distribution {text[:40]!a}")
    return outer, inner


def _asks_for_gpus(said: Mapping[str, str], nodes: int, tasks: int, there: int) -> bool:
    """Return whether a line asks for GPUs; raise Unclear where a node may not have them: they change no CPUs of a whole node."""
    wanted = 0
    for option in ("--gpus", "--gpus-per-node", "--gpus-per-task", "--gres"):
        text = said.get(option, "0").removeprefix("gpu:")
        text = {"none": "0", "gpu": "1"}.get(text, text) if option == "--gres" else said.get(option, "0")
        if not re.fullmatch(r"\d{1,5}", text, re.ASCII):
            raise Unclear(f"it is unknown whether nodes have the GPUs requested by {option} {text[:40]}")
        wanted = max(wanted, int(text) * (tasks if option == "--gpus-per-task" else 1))
    if wanted and ("--gpus" in said and nodes > 1):
        raise Unclear("the distribution of --gpus over nodes is not predicted")
    if wanted > there:
        raise Unclear(f"it is unknown whether a node has the {wanted} GPUs the line requests")
    return wanted > 0


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of srun's; raise Refused or Unclear."""
    line = made.line
    if len(line.segments) > 1:
        raise Unclear(f"one line starts {len(line.segments)} programs, and what each gets is known only for Open MPI")
    said = _options(line)
    wish, node = step_request(made, said), shape(made.topology)
    if wish.overcommit and wish.step.exact:
        raise Unclear("with --overcommit, the CPUs of a step that requests its own CPUs are not predicted")
    if node.threads > 1 and wish.step.each > 1 and (wish.step.per_core or 1) > 1:
        raise Unclear("--cpus-per-task with several tasks per core is not predicted")
    where = _places(node, wish)
    counts = Counter(where)
    refuse_memory(said.get("--mem-bind", ""), max(counts.values()), made.topology)
    gpus = _asks_for_gpus(said, min(len(wish.nodes), wish.total), max(counts.values()), len(made.machine.gpus or ()) or 4)
    wish = replace(wish, gpus=gpus)
    possible: Sequence[Setup] | None = setups(made.files, made.machine, node)
    if possible is None:
        possible = _any(made.machine, node) if wish.bind else None
    given = {tasks: _given(node, wish, tasks, possible) for tasks in set(counts.values())}
    return seated(where, {place: given[count] for place, count in counts.items()}, wish.nodes.__getitem__)


def _places(node: Shape, wish: StepRequest) -> list[int]:
    """Return the node of each task, by its position."""
    count, total, used = len(wish.nodes), wish.total, wish.step.used or 1
    if wish.listed:
        places = {name: position for position, name in enumerate(wish.nodes)}
        return [places[name] for name in wish.listed]
    width = node.sockets * node.cores * min(wish.step.used or node.threads, node.threads)
    # --ntasks-per-node counts where it fits --ntasks, and else srun passes over it in a job that has its nodes (22.05, observed)
    each = wish.per_node if wish.per_node and total == wish.per_node * count else max(1, width // wish.step.each)
    if used > node.threads and wish.overcommit:
        raise Unclear("too few runs were observed with --overcommit and more threads per core than the cores have")
    if used > node.threads:
        raise Refused(f"--threads-per-core={used}, but cores here have {node.threads}; nothing starts")
    if total > each * count and not wish.overcommit:
        if total * wish.step.each <= width * count:  # srun counts all nodes' CPUs together
            raise Unclear("tasks fit on the nodes in total, but not on each node: placement not predicted")
        raise Refused("more processors requested than permitted; nothing starts")
    turns = [rank % count for rank in range(total)]
    return turns if wish.outer == "cyclic" else sorted(turns)


Given = tuple[CpuSet | None, ...]


def _given(node: Shape, wish: StepRequest, tasks: int, possible: Sequence[Setup] | None) -> Given:
    """Return the CPUs of the tasks of a node; raise Unclear where it depends on how Slurm is set up."""
    step = replace(wish.step, tasks=tasks)
    if possible == ():
        return (None,) * tasks
    if possible is None:
        raise Unclear("srun's default binding is set in slurm.conf; give that file with --slurm-conf")
    found: set[Given | str] = set()
    for setup in possible:
        try:
            given = _asked(wish, step, node, replace(setup, single=setup.single and node.threads > 1))
            found.add(tuple(cpus if cpus is None else node.bound(cpus) for cpus in given))
        except Refused as refusal:
            found.add(str(refusal))
    if len(found) > 1:
        raise Unclear("it depends on slurm.conf (SelectTypeParameters, CPUs of the nodes); give that file with --slurm-conf")
    result = next(iter(found))
    if isinstance(result, str):
        raise Refused(result)
    return result


_ANY = (Setup(), Setup(blocks=True), Setup(single=True), Setup(blocks=True, single=True))
"""How Slurm may be set up where nothing says."""


def _any(machine: Machine, node: Shape) -> list[Setup]:
    """Return how Slurm may be set up: whether it counts a node's cores or threads, the controller says where it was asked."""
    known = {each.cpus for each in machine.slurm_nodes or () if each.source.startswith("scontrol") and each.cpus}
    counted = {node.count: False, node.sockets * node.cores: True}.get(known.pop()) if len(known) == 1 else None
    return [setup for setup in _ANY if counted in (None, setup.single)]


def _asked(wish: StepRequest, step: Step, node: Shape, setup: Setup) -> Given:
    """Return the CPUs that Slurm asks the kernel for, of each task; None where it asks for none."""
    whole = len(available(step, node, setup)) == node.count
    if wish.gpus and step.exact and not whole:
        raise Unclear("gres.conf (Cores, AutoDetect) decides which cores a step gets near its GPUs")
    if wish.bind.endswith(("ldoms", "ldom")) and not node.domains:
        raise Unclear("it is unknown which CPUs Slurm's NUMA library assigns to each node of this machine")
    if wish.bind in _ENTITIES:
        return masks(replace(step, bind=_ENTITIES[wish.bind]), node, setup)
    free = node.real(available(step, node, setup))
    if wish.bind == "none":
        return ((None if whole else free),) * step.tasks
    if wish.bind in ("map_cpu", "mask_cpu"):
        return _by_list(wish, free, step.tasks)
    if not whole:
        raise Refused(f"--cpu-bind={wish.bind} needs the whole node: unable to satisfy cpu bind request")
    return _by_number(node, wish, step.tasks)


def _by_list(wish: StepRequest, free: CpuSet, tasks: int) -> Given:
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


def of_srun(line: Line, told: Request) -> Request:
    """Return what a line of srun asks for, beside its variables."""
    segment = line.first
    nodes = number((segment.value("--nodes") or "").partition("-")[0])
    each = number(segment.value("--ntasks-per-node"))
    ranks = number(segment.value("--ntasks")) or (each * (nodes or 1) if each else None)
    named = hosts(segment.value("--nodelist") or "") if "[" not in (segment.value("--nodelist") or "") else ()
    bind = segment.value("--cpu-bind")
    return replace(
        told,
        ranks=ranks,
        per_node=each or (-(-ranks // nodes) if ranks and nodes else None),
        hostfile=line.words.environment.get("SLURM_HOSTFILE"),
        hosts=named or tuple((f"node{i}", None) for i in range(min(nodes or 0, 65536)) if (nodes or 0) > 1),
        level=segment.value("--distribution"),
        pe=number(segment.value("--cpus-per-task")),
        bind=",".join(word for word in bind.split(",") if word not in ("verbose", "v", "quiet", "q")) if bind else None,
    )


def srun_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about lists of srun."""
    bind, count, line = case.want.bind or "", ranks_here(case) or 1, case.line
    kind, _, text = bind.partition(":")
    entries = [entry for word in text.split(",") for entry in _entries_of(word)] if text else []
    if kind in ("map_cpu", "mask_cpu", "map_ldom", "mask_ldom") and entries and len(entries) < count:
        why = "srun starts again from the first entry, so ranks share their CPUs."
        yield warning(
            "short-list",
            f"{count} ranks on a node, {count_of(len(entries), 'entry', 'entries')} in {kind}",
            why,
            bind[:100],
            f"{count} entries",
            bad=True,
        )
    if kind == "mask_cpu" and any(re.fullmatch(r"(0x)?0+", entry) for entry in entries):
        why = "A mask without CPUs silently leaves the rank unbound."
        yield warning(
            "empty-mask", "ranks with the mask 0x0 are not bound", why, bind[:100], "a mask with at least one CPU", bad=True
        )
    inherited = "SLURM_CPUS_PER_TASK" in line.words.environment or (case.want.threads or 1) > 1
    young = line.release is None or (22, 5) <= line.release[:2] < (23, 11)
    if inherited and young and not case.want.pe and kind not in ("map_cpu", "mask_cpu", "map_ldom", "none"):
        threads = case.want.threads or line.words.environment.get("SLURM_CPUS_PER_TASK", "N")
        why = "srun 22.05 to 23.02 does not take --cpus-per-task from sbatch: each rank gets one CPU, which its threads share."
        version = f"Slurm {line.version}" if line.version else "the version of Slurm is unknown"
        yield warning(
            "cpus-not-inherited",
            f"the {threads} threads of a rank may share one CPU",
            why,
            version,
            f"--cpus-per-task={line.words.environment.get('SLURM_CPUS_PER_TASK', threads)}",  # of workers, those of all
            bad=True,
        )


def _entries_of(word: str) -> list[str]:
    entry, star, times = word.partition("*")
    return [entry] * min(int(times), 65536) if star and re.fullmatch(r"\d{1,5}", times, re.ASCII) else [word]


LAUNCHER = Launcher(
    name=NAME,
    title="srun",
    order=20,
    launch=launch,
    aliases=("slurm",),
    # slurm 23.11.4;   Debian's package: slurm-wlm 22.05.8
    tools=("slurm",),
    variables=("SLURM_",),
    ranks=RankVariables(rank=("SLURM_PROCID",), inherited=True),
    without_binding=UNBOUND,
    job=JobScript(
        ("slurm",),
        {"slurm": ("# srun reads it as --cpus-per-task and would refuse the plan's CPUs.", "unset SLURM_CPUS_PER_TASK")},
    ),
    dialect=Dialect(
        programs=("srun",),
        options=SRUN,
        aliases=SRUN_ALIASES,
        ranks=ranks,
        request=of_srun,
        lists=srun_lists,
        memory=slurm_memory,
        glued=re.compile(r"(-[nNcwxmBpAqtJCGDoeiKrWTSLMdbF])(=?)([^-=].*)", re.DOTALL),
        parted=False,
    ),
    unbound_line=unbound,
)
