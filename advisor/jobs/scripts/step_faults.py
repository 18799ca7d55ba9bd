"""What is wrong in what launch lines start: ranks, threads, steps beside each other, lists of CPUs, GPUs. Each has its cure."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from advisor.jobs.scripts.agent_faults import OF_AGENTS
from advisor.jobs.scripts.expansion import is_known, shown, whole, words
from advisor.jobs.scripts.faults import (
    OF_HEADER,
    Edit,
    Fault,
    Rule,
    asking,
    cpus_listed,
    directive_as,
    in_text,
    inserted,
    is_free,
    program_of,
    removed,
    replaced,
    setting_to,
    without_directive,
)
from advisor.jobs.scripts.gpu_faults import OF_GPUS
from advisor.jobs.scripts.options import Option
from advisor.jobs.scripts.steps import NO_COUNT, Scripted, Step, exports, program_threads
from advisor.machine.units import count

# counts

_SERIAL = words("grompp pdb2gmx editconf solvate genion trjconv make_ndx genrestr energy")
_GROMACS_4 = _SERIAL - words("solvate energy") | words("genbox g_energy")
"""As programs of their own, with _d where they are in double precision."""


_OPENFOAM = words("blockMesh decomposePar reconstructPar reconstructParMesh surfaceFeatureExtract extrudeMesh")
"""Tools of OpenFOAM that are serial, or are without -parallel."""


def _is_serial(step: Step) -> bool:
    words = [word.text for word in step.program]
    program = words[0].rpartition("/")[2] if words else ""
    if program in _OPENFOAM:
        return "-parallel" not in words
    if re.fullmatch(r"gmx\w*", program):
        return len(words) > 1 and words[1] in _SERIAL
    return program.removesuffix("_d") in _GROMACS_4


def _tool(step: Step) -> str:
    return step.program[1].text if program_of(step).startswith("gmx") else program_of(step)


def _serial(script: Scripted) -> Iterator[Fault]:
    """Yield serial tools of GROMACS and OpenFOAM that are started as many ranks."""
    for step in script.starting:
        if _is_serial(step) and step.ranks is not None and step.ranks > 1:
            count = step.first.find("ntasks", "-n")
            name = "-np" if step.launcher == "mpirun" and step.family != "intelmpi" else "-n"
            edits = replaced(step, count, f"{name} 1") if count else inserted(step, "-n 1")
            edits += removed(script, step, step.first.find("--ppn"), step.first.find("--npernode"))
            yield Fault(
                "serial-program",
                step.line,
                "high",
                f"{_tool(step)} is serial: {step.ranks} copies of it write the same files",
                "Every rank does all the work.",
                f"{step.launcher} -n 1 ... {_tool(step)}",
                edits,
            )


def _spawns(step: Step) -> bool:
    """Whether one rank starts the others itself, as R's Rmpi and snow do, and mpi4py's pool."""
    pool = any(word.text == "mpi4py.futures" for word in step.program)
    return step.launcher in ("mpirun", "mpiexec") and step.ranks == 1 and (pool or program_of(step) in ("R", "Rscript"))


def _idle(script: Scripted) -> Iterator[Fault]:
    """Yield jobs of many tasks whose lines start a few ranks."""
    job, steps = script.job, list(script.every_turn)
    if not script.is_slurm or not steps or job.total is None or any(step.ranks is None for step in steps):
        return
    if any(step.launch.background or step.launch.beside or _spawns(step) for step in steps) or (
        all(_is_serial(step) for step in steps) and not steps[0].launch.repeated
    ):
        return
    most = max((step.ranks or 0) * max(step.threads or 1, program_threads(step) or 1) for step in steps)
    asked = job.total * (job.cpus or 1)
    ranks = max(step.ranks or 0 for step in steps)
    gpus = job.total_gpus or 0
    if asked < 8 or most * 4 > asked or gpus or ranks >= job.total:
        return
    part = job.total // (job.nodes or 1) or 1
    wanted = max(1, -(-most // (job.cpus or 1)))
    nodes = max(1, -(-wanted // part))
    edits = asking(script, "ntasks", wanted) if job.has("ntasks") else asking(script, "ntasks-per-node", -(-wanted // nodes))
    if job.has("nodes") and nodes != job.nodes:
        edits += asking(script, "nodes", nodes)
    yield Fault(
        "tasks-idle",
        steps[0].line,
        "high",
        f"the job requests {job.total} tasks, but its lines start at most {ranks} rank{'s' * (ranks != 1)}",
        f"{asked - most} of {asked} CPUs stay idle.",
        f"start $SLURM_NTASKS ranks, or request {wanted}",
        edits,
    )


def _idle_nodes(script: Scripted) -> Iterator[Fault]:
    """Yield jobs of many nodes whose lines fill fewer, by their own ranks of a node."""
    job, steps = script.job, list(script.every_turn)
    if not steps or (job.nodes or 1) < 2 or any(step.launch.beside or step.launch.background for step in steps):
        return
    if any(step.launch.repeated and not is_known(step.value("--hostfile", "--hosts", "--host") or "") for step in steps):
        return  # each turn has nodes of its own
    alone = all(step.launcher == "torchrun" and not step.first.has("--nnodes") for step in steps)
    said = all(step.launcher in ("mpirun", "mpiexec") and step.value("--ppn", "--npernode") for step in steps)
    if not (alone or said) or any(step.ranks is None or not step.per_node for step in steps):
        return
    used = max(-(-(step.ranks or 0) // (step.per_node or 1)) for step in steps)
    chunk = job.find("-l", "nodes")
    nodes = job.nodes or 1
    if used * 2 <= nodes:
        edits: tuple[Edit, ...] = ()
        select = next((each for each in job.directives if re.match(r"(select|nodes)=\d+", each.value)), None)
        if select and said:
            edits = directive_as(script, select, re.sub(r"(select|nodes)=\d+", rf"\g<1>={used}", select.written))
        elif chunk and chunk.name == "nodes" and said:
            edits = asking(script, "nodes", used)
        yield Fault(
            "nodes-idle",
            steps[0].line,
            "high",
            f"{nodes} nodes are requested, but only {used} {'is' if used == 1 else 'are'} used",
            f"{steps[0].ranks} ranks, {steps[0].per_node} per node.",
            "srun --ntasks-per-node=1 torchrun --nnodes=$SLURM_NNODES ..., or request one node"
            if alone
            else "count the nodes: nodes=$(sort -u $PBS_NODEFILE | wc -l); or request fewer nodes",
            edits,
        )


def _mpiprocs(script: Scripted) -> Iterator[Fault]:
    """Yield pBS chunks of many CPUs and one slot."""
    job = script.job
    chunk = next((each for each in job.directives if each.value.startswith("select=")), None)
    if chunk is None or job.mpiprocs_said or not job.node_cpus or job.node_cpus < 2 or not job.nodes or "+" in chunk.value:
        return
    for step in script.every_turn:
        if step.launcher not in ("mpirun", "mpiexec") or step.family == "pals" or step.ranks is None or step.value("--ppn"):
            continue
        by_file = "slots" in " ".join(script.script.used) or step.ranks == job.nodes
        if step.ranks > job.nodes or (
            by_file and not step.value("--ppn", "--npernode") and (step.threads or 1) < job.node_cpus and step.ranks == job.nodes
        ):
            each = -(-step.ranks // job.nodes) if step.ranks > job.nodes else job.node_cpus
            count, each = (job.nodes, each) if each <= job.node_cpus else (-(-step.ranks // job.node_cpus), job.node_cpus)
            new = re.sub(r"select=\d+:", f"select={count}:", chunk.written)
            new = re.sub(r"(ncpus=\d+)", rf"\1:mpiprocs={each}", new)
            meant = (
                f"{step.ranks} ranks start on {job.nodes} slot{'s' * (job.nodes != 1)}"
                if step.ranks > job.nodes
                else f"{step.ranks} ranks start on {job.node_cpus * job.nodes} CPUs"
            )
            more = f", and a chunk has {job.node_cpus} CPUs" if step.ranks > job.nodes * job.node_cpus else ""
            yield Fault(
                "no-mpiprocs",
                chunk.span.line,
                "high",
                f"{chunk.value[:50]} has no mpiprocs: {meant}{more}",
                "Without mpiprocs the node file has one line per chunk.",
                new[:100],
                directive_as(script, chunk, new),
            )
            return


def _depth(script: Scripted) -> Iterator[Fault]:
    """Yield pBS chunks whose CPUs are not those that the line counts."""
    job = script.job
    chunk = next((each for each in job.directives if each.value.startswith("select=")), None)
    for step in script.starting:
        if job.mpiprocs_said or job.gpus_per_node:
            continue
        depth = whole(step.value("--depth"))
        if (
            chunk
            and step.family == "pals"
            and depth
            and step.per_node
            and job.node_cpus
            and job.node_cpus > step.per_node * depth
        ):
            wanted = step.per_node * depth
            new = chunk.written.replace(f"ncpus={job.node_cpus}", f"ncpus={wanted}")
            yield Fault(
                "cpus-unlike",
                chunk.span.line,
                "medium",
                f"ncpus={job.node_cpus} is requested per node, but {step.per_node} ranks of {depth} CPUs use {wanted}",
                "Nodes with fewer CPUs never get the job; on other nodes the remaining CPUs stay idle.",
                new[:80],
                directive_as(script, chunk, new),
            )


def _too_many_threads(script: Scripted) -> Iterator[Fault]:
    """Yield ranks with more threads than CPUs."""
    job = script.job
    for step in script.every_turn:
        threads = step.threads
        if (
            threads is None
            or threads < 2
            or step.workers > 1
            or _is_serial(step)
            or not script.is_slurm
            or step.launcher not in ("srun", "mpirun", "mpiexec", "ibrun")
        ):
            continue
        own = program_threads(step)
        if not own and "OMP_NUM_THREADS" not in exports(step):
            continue
        if step.launcher == "ibrun" or (step.launcher == "srun" and is_free(step)) or step.first.has("overcommit"):
            continue
        tasks = job.per_node or (job.total if job.nodes == 1 else None)
        cpus = step.cpus or 1
        if step.launcher != "srun":
            cpus = job.cpus or 1
        if job.total is None or threads <= cpus or (step.launcher != "srun" and job.exclusive and job.cpus is None):
            continue
        here = step.per_node or (-(-step.ranks // job.nodes) if step.ranks and job.nodes else None)
        if step.launcher != "srun" and here and tasks and here * threads <= tasks * cpus:
            continue
        if here == 1 and job.cpus is None and (step.launcher == "srun" or (step.ranks or 0) > 2):
            continue
        if here is None and (job.total or 0) * cpus >= (step.ranks or 0) * threads:
            continue
        yield _threads_fault(script, step, threads, cpus)
        return


def _threads_of_workers(script: Scripted) -> Iterator[Fault]:
    """Yield workers of one agent a node whose threads are more than the CPUs that it asks for; without -c it may have all."""
    for step in script.every_turn:
        threads, cpus = step.threads or 1, step.cpus
        if step.workers < 2 or not cpus or step.launcher != "srun" or threads * step.workers <= cpus:
            continue
        if threads < 2 or step.per_node != step.workers or "OMP_NUM_THREADS" not in exports(step):
            continue
        each = max(1, cpus // min(step.workers, step.gpus_per_node or step.workers))  # more than GPUs are another fault
        span = next((span for text, span, _ in script.script.assigned.get("OMP_NUM_THREADS", []) if whole(text) == threads), None)
        yield Fault(
            "too-many-threads",
            step.line,
            "medium",
            f"{step.workers} workers with {threads} threads each share {count(cpus, 'CPU')}",
            f"OMP_NUM_THREADS applies to each worker that {step.agent} starts.",
            f"OMP_NUM_THREADS={each}",
            setting_to(script, span, "OMP_NUM_THREADS", str(each)) if span else (),
        )


def _threads_fault(script: Scripted, step: Step, threads: int, cpus: int) -> Fault:
    job = script.job
    edits: tuple[Edit, ...] = ()
    own = program_threads(step)
    places = script.script.assigned.get("OMP_NUM_THREADS", [])
    enough = own and step.per_node and step.per_node * threads <= (job.per_node or 0) * (job.cpus or 1)
    if enough:
        fix = "the job's CPUs"
    elif all((each.ranks or 0) < (job.total or 0) for each in script.every_turn):  # more CPUs of all tasks would be asked for
        fix = "as many threads as CPUs"
    elif job.cpus is None or own:
        edits = asking(script, "cpus-per-task", threads)
        fix = f"#SBATCH --cpus-per-task={threads}"
    elif places:
        edits = setting_to(script, places[-1][1], "OMP_NUM_THREADS", "$SLURM_CPUS_PER_TASK")
        fix = "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK"
    else:
        fix = "as many threads as CPUs"
    if step.launcher == "srun" and (job.cpus is None or own):
        fix += f", and srun -c {threads}"
        for each in script.starting:
            if each.launcher == "srun" and (each.threads or 0) == threads and ((each.ranks or 0) > 1 or enough):
                count = each.first.find("cpus-per-task")
                edits += replaced(each, count, f"-c {threads}") if count else inserted(each, f"-c {threads}")
    return Fault(
        "too-many-threads",
        step.line,
        "high",
        f"each rank has {threads} threads and {cpus} CPU{'s' * (cpus != 1)}",
        f"{'An option of the program' if own else 'OMP_NUM_THREADS'} asks for {threads}; "
        + (
            "neither the header nor the line has --cpus-per-task, so ranks are not bound separately."
            if job.cpus is None
            else f"--cpus-per-task is {job.cpus}."
        ),
        fix,
        edits,
    )


def _squared(script: Scripted) -> Iterator[Fault]:
    """Yield as many threads as ranks, by the same number that is not known."""
    for step in script.starting:
        count, threads = step.first.value("-n", "ntasks"), exports(step).get("OMP_NUM_THREADS")
        if count and threads and count == threads and not is_known(count):
            places = script.script.assigned.get("OMP_NUM_THREADS", [])
            yield Fault(
                "threads-squared",
                places[-1][1].line if places else step.line,
                "high",
                "every rank starts as many threads as there are ranks",
                f"OMP_NUM_THREADS and -n are both {shown(count)[:40]}.",
                "export OMP_NUM_THREADS=1",
                setting_to(script, places[-1][1], "OMP_NUM_THREADS", "1") if places else (),
            )


def _one_core(script: Scripted) -> Iterator[Fault]:
    """Yield one or two ranks of Open MPI with threads: each is bound to one core."""
    for step in script.every_turn:
        others = step.launcher not in ("mpirun", "mpiexec") or (step.family or "openmpi")[:7] != "openmpi"
        if others or _is_serial(step) or not step.program or _asks_for_one_core(step):
            continue
        if step.family == "openmpi5":
            few = True
        elif step.ranks is None:
            few = not step.first.has("-n") and script.job.scheduler == "none" and step.why.get("ranks") == NO_COUNT
        else:
            few = 0 < step.ranks <= 2
        if (
            not few
            or step.binding
            or step.first.open
            or len(step.segments) > 1
            or step.first.has("--oversubscribe", "--cpus-per-proc", "--cpus-per-rank")
        ):
            continue
        if any(word in ("numactl", "taskset", "likwid-pin", "omplace") for word in [w.text for w in step.program[:1]]):
            continue
        if any(word.text in ("+setcpuaffinity", "+pemap") for word in step.program):  # Charm++ binds its threads itself
            continue
        if any("binding_policy" in name or "mapping_policy" in name for name in step.launch.variables):
            continue
        threads = program_threads(step) or whole(exports(step).get("OMP_NUM_THREADS", "").partition(",")[0])
        said = "OMP_NUM_THREADS" in exports(step)
        hybrid = bool(re.search(r"(?i)hybrid|openmp|omp", program_of(step)))
        bare = (
            script.job.scheduler == "slurm"
            and not script.job.has("ntasks", "ntasks-per-node", "cpus-per-task")
            and (step.ranks or 0) <= (script.job.nodes or 0)
        )
        if (threads or 0) > 1 or (threads is None and not said and ((bare and step.family) or (hybrid and step.ranks is None))):
            count = f"{threads} threads" if threads else "all threads"
            which = "" if step.family else " under Open MPI"
            yield Fault(
                "one-core",
                step.line,
                "high" if step.family else "medium",
                f"each rank is bound to one core{which}: {count} share it",
                "Without --bind-to, Open MPI binds one or two ranks (from 5.0: any number) to one core each.",
                f"{step.launcher} --bind-to none, or --map-by slot:PE={threads or 'N'} --bind-to core",
                inserted(step, "--bind-to none"),
            )


def _asks_for_one_core(step: Step) -> bool:
    """Whether a line of Open MPI or MPICH, or a variable, binds each rank to one core in so many words."""
    first, variables = step.first, step.launch.variables
    bind, mapping = first.value("--bind-to"), first.value("--map-by") or ""
    if step.launcher not in ("mpirun", "mpiexec") or len(step.segments) > 1 or first.open or not is_known(mapping):
        return False
    if step.family == "mpich":
        return (bind or "").lower() in ("core", "core:1")
    if not (step.family or "openmpi").startswith("openmpi"):
        return False
    if bind is None and not (step.binding or first.has("--mca")):
        names = ("OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy")
        bind = next((variables[name] for name in names if name in variables), None)
    more = any("mapping_policy" in name or "rmaps" in name for name in (*variables, *(each.value for each in first.options)))
    lists = first.has("--rankfile", "-rf", "--cpu-set", "--cpu-list", "--cpus-per-proc", "--cpus-per-rank", "--use-hwthread-cpus")
    elsewhere = re.search(r"(?i)pe=|pe-list|rankfile|seq|dist|hwt", mapping)
    return bool(re.match(r"(?i)(core|hwthread)(:|$)", bind or "")) and not (more or lists or elsewhere)


def _one_core_asked(script: Scripted) -> Iterator[Fault]:
    """Yield ranks with threads that the line itself binds to one core each."""
    job = script.job
    for step in script.every_turn:
        threads = program_threads(step) or whole(exports(step).get("OMP_NUM_THREADS", "").partition(",")[0])
        if not threads or threads < 2 or _is_serial(step) or not step.program or not _asks_for_one_core(step):
            continue
        if program_of(step) in ("numactl", "taskset", "likwid-pin", "omplace", "hwloc-bind"):
            continue
        exported = next((text for text, _, _ in reversed(script.script.assigned.get("OMP_NUM_THREADS", []))), None)
        same = exported == step.launch.variables.get("OMP_NUM_THREADS") == str(threads)
        count = "$OMP_NUM_THREADS" if same else str(threads)
        bind, mapping = step.first.find("--bind-to"), step.first.find("--map-by")
        new = f"-bind-to core:{count}" if step.family == "mpich" else f"--map-by {_with_cores(mapping, count)} --bind-to core"
        edits = replaced(step, bind, new) if bind else inserted(step, new)
        if mapping and step.family != "mpich" and edits:
            gone = removed(script, step, mapping)
            edits = edits + gone if gone else ()
        fix = new
        if job.node_cpus and step.per_node and step.per_node * threads > job.node_cpus:
            fix, edits = f"OMP_NUM_THREADS={max(1, job.node_cpus // step.per_node)}, or fewer ranks per node; then {new}", ()
        level = (bind.value if bind else "core").partition(":")[0].lower()
        said = f"{bind.name} {bind.value}" if bind else "The binding policy set by a variable"
        yield Fault(
            "one-core",
            step.line,
            "high" if threads > 2 else "medium",  # two may be meant for the hardware threads per core
            f"each rank is bound to one {'core' if level == 'core' else 'hardware thread'}: {threads} threads share it",
            f"{said} sets this limit, regardless of OMP_NUM_THREADS and the CPUs per task.",
            fix,
            edits,
        )


def _with_cores(mapping: Option | None, count: str) -> str:
    """Return what --map-by says, with the cores of a rank."""
    text = mapping.value if mapping else ""
    kind = text.lower().partition(":")[0]
    if kind in ("", "core", "hwthread", "slot") or re.match(r"(?i)ppr:\d+:(core|hwthread)", text):
        return f"slot:PE={count}"
    return f"{text}{',' if text.count(':') > (2 if kind == 'ppr' else 0) else ':'}PE={count}"


_BINDERS = re.compile(
    r"\b(numactl|taskset|likwid-\w+|hwloc-bind|omplace|dplace|gmx\w*|mdrun\w*|\+setcpuaffinity|\+pemap)\b|\.(sh|bash|csh)\b"
)
"""What binds ranks or threads itself, and wrappers, which may."""


def _unbound(script: Scripted) -> Iterator[Fault]:
    """Yield several ranks of a node that the line leaves unbound, where nothing else binds them and no GPUs count."""
    for step in script.every_turn:
        given, first = exports(step), step.first
        words = [*step.launch.before, *(word.text for word in step.program)]
        off = (given.get("I_MPI_PIN") or given.get("MV2_ENABLE_AFFINITY") or "").lower() in ("0", "off", "no", "false", "disable")
        option = first.find("--bind-to", "--cpu-bind", "cpu-bind")
        if (
            not (off or (option and option.value.lower() == "none"))
            or (step.per_node or 1) < 2
            or not step.threads
            or step.gpus != 0
        ):
            continue
        places = any(name.startswith(("OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU")) for name in given)
        if places or step.agent or first.has("--oversubscribe", "overcommit") or not all(map(is_known, words[:1])):
            continue
        if _BINDERS.search("\n".join(words)):
            continue
        pinned = step.threads > 1 and given.get("OMP_PROC_BIND", "false").lower() not in ("false", "")
        new = _bound_apart(step, step.threads)
        edits: tuple[Edit, ...] = ()
        if option and new:
            edits = replaced(step, option, new) + (removed(script, step, first.find("--map-by")) if "--map-by" in new else ())
        yield Fault(
            "ranks-unbound",
            step.line,
            "high" if pinned else "low",
            f"{step.per_node} ranks per node are not bound"
            + (": OpenMP pins the threads of each to the same first cores" if pinned else ", and may move between NUMA nodes"),
            "OMP_PROC_BIND counts from the first CPU a rank may use, which is the same for all unbound ranks."
            if pinned
            else "Memory stays where it was first touched.",
            new or "I_MPI_PIN=1 and I_MPI_PIN_DOMAIN=omp",
            edits,
        )


def _bound_apart(step: Step, threads: int) -> str:
    """Return the options that bind each rank to cores of its own; "" where a variable does it."""
    if step.launcher == "srun":
        return "--cpu-bind=cores"
    if step.family == "pals":
        return "--cpu-bind depth" if step.first.has("--depth") else f"--cpu-bind depth --depth={threads}"
    if step.family in ("mpich", "hydra"):
        return f"-bind-to core:{threads}"
    if (step.family or "openmpi").startswith("openmpi"):
        return (
            f"--map-by {_with_cores(step.first.find('--map-by'), str(threads))} --bind-to core"
            if threads > 1
            else "--bind-to core"
        )
    return ""


def _as_cpus(script: Scripted) -> Iterator[Fault]:
    """Yield ranks that were asked for as CPUs of one task."""
    job = script.job
    for step in script.starting:
        if (
            step.launcher not in ("mpirun", "mpiexec")
            or job.total is None
            or not job.cpus
            or step.ranks is None
            or not script.is_slurm
        ):
            continue
        if step.ranks > job.total and step.ranks <= job.total * job.cpus and (step.family or "openmpi").startswith("openmpi"):
            count = step.first.find("-n")
            tasks = job.find("ntasks") or job.find("ntasks-per-node")
            cpus = job.find("cpus-per-task")
            edits: tuple[Edit, ...] = ()
            if count and tasks and cpus:
                left = job.total * job.cpus // step.ranks
                wanted = step.ranks if tasks.name == "ntasks" else step.ranks // (job.nodes or 1)
                edits = directive_as(script, tasks, f"--{tasks.name}={wanted}") + (
                    directive_as(script, cpus, f"--cpus-per-task={left}") if left > 1 else without_directive(script, cpus)
                )
                edits += replaced(step, count, "-np $SLURM_NTASKS") + removed(script, step, step.first.find("--oversubscribe"))
            yield Fault(
                "ranks-over-tasks",
                step.line,
                "high",
                f"{step.ranks} ranks start, but the job has {job.total} task{'s' * (job.total != 1)}",
                f"--cpus-per-task={job.cpus} requests CPUs for one rank: mpirun has {job.total} slot{'s' * (job.total != 1)}"
                + (", and --oversubscribe hides this and binds nothing." if step.first.has("--oversubscribe") else "."),
                f"#SBATCH --ntasks={step.ranks}",
                edits,
            )


def _beyond(script: Scripted) -> Iterator[Fault]:
    """Yield lines that want more than the job has."""
    job = script.job
    if not script.is_slurm:
        return
    for step in script.every_turn:
        each = whole(step.value("--ppn"))
        if (
            step.launcher in ("mpirun", "mpiexec")
            and each
            and job.value("ntasks-per-node")
            and job.per_node
            and each > job.per_node
        ):
            width = (job.cpus or 1) * job.per_node // each
            edits = asking(script, "ntasks-per-node", each)
            if job.cpus and width != job.cpus:
                edits += asking(script, "cpus-per-task", max(1, width))
            yield Fault(
                "ranks-over-tasks",
                step.line,
                "high",
                f"-ppn {each} requests more ranks per node than --ntasks-per-node={job.per_node} allows",
                "Under Slurm, Intel MPI follows the job's placement unless I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is off.",
                f"#SBATCH --ntasks-per-node={each}",
                edits,
            )
        nodes = whole((step.value("nodes") or "").partition("-")[0]) if step.launcher == "srun" else None
        if nodes and job.nodes and nodes > job.nodes:
            yield Fault(
                "nodes-beyond",
                step.line,
                "high",
                f"srun requests {nodes} nodes, but the job has {job.nodes}",
                "srun fails with: Requested node configuration is not available.",
                f"#SBATCH --nodes={nodes}",
                asking(script, "nodes", nodes),
            )


_NEWEST_CORES = 256
"""Cores of a node before the processors of late 2024, which no Slurm older than 23.11 runs."""


def _forgets(step: Step, script: Scripted) -> bool:
    """Whether srun may be one that forgets the header's CPUs of a task: 22.05 to 23.02, or not known."""
    if script.known.slurm is not None:
        return (22, 5) <= script.known.slurm < (23, 11)
    job = script.job
    return not ((job.hint or "") == "nomultithread" and (step.per_node or 0) * (step.cpus or 0) > _NEWEST_CORES)


def _not_inherited(script: Scripted) -> Iterator[Fault]:
    """Yield --cpus-per-task of the header, which srun of 22.05 to 23.02 does not read."""
    job = script.job
    if not script.is_slurm or not job.cpus or job.cpus < 2:
        return
    for step in script.starting:
        if step.launcher != "srun" or step.inherited is not None or not _forgets(step, script):
            continue
        if not step.per_node or step.per_node < 2 or (step.threads or 1) < 2 or "OMP_NUM_THREADS" not in exports(step):
            continue
        bind = step.binding
        if is_free(step) or re.search(r"socket|ldom", bind):
            continue
        if not bind and (job.total_gpus or job.gpus_per_node) and script.known.slurm is None:  # centres with GPUs run newer ones
            continue
        if program_of(step).endswith(".sh") or (whole(exports(step)["OMP_NUM_THREADS"]) or 0) < job.cpus:
            continue
        when = (
            "srun of Slurm 22.05 to 23.02"
            if script.known.slurm is None
            else f"srun {script.known.slurm[0]}.{script.known.slurm[1]:02}"
        )
        places = exports(step)
        pinned = "OMP_PROC_BIND" in places and places["OMP_PROC_BIND"].lower() not in ("false", "")
        what = (
            "each rank gets one core"
            if bind
            else "all ranks pin their threads to the same cores"
            if pinned
            else "each rank is allocated only one CPU"
        )
        yield Fault(
            "cpus-not-inherited",
            step.line,
            "medium",
            f"{when} does not read --cpus-per-task={job.cpus} in the header: {what}",
            "This Slurm version reads only SRUN_CPUS_PER_TASK, which is unset here; older versions, and 23.11 and newer, read "
            "SLURM_CPUS_PER_TASK.",
            "srun -c $SLURM_CPUS_PER_TASK, which is correct for every version",
            inserted(step, "-c $SLURM_CPUS_PER_TASK"),
        )


def _beside(script: Scripted, counts: Callable[[Step], object]) -> Iterator[tuple[Step, Step]]:
    """Yield the pairs of steps that run at the same time, under the same conditions; of steps that count alone.

    A farm has a thousand lines and half a million pairs: what is asked of a step is asked once.
    """
    by_launch = {id(step.launch): step for step in script.every_turn if counts(step)}
    here = {at: by_launch[id(launch)] for at, launch in enumerate(script.script.launches) if id(launch) in by_launch}
    for step in here.values():
        when = step.launch.when
        yield from ((here[at], step) for at in step.launch.beside if at in here and here[at].launch.when == when)


def _same_cores(script: Scripted) -> Iterator[Fault]:
    """Yield steps beside each other with the same list of CPUs."""
    listed = {id(step): cpus_listed(step) for step in script.every_turn}
    done: set[int] = set()
    for one, other in _beside(script, lambda step: listed[id(step)]):
        first, second = listed[id(one)], listed[id(other)]
        if id(other) in done or one.launch.span == other.launch.span:
            continue
        if set(first) & set(second):
            done.add(id(other))
            option = other.first.find("cpu-bind", "--cpu-bind")
            moved = [str(int(each) + 1) for each in second] if all(each.isdigit() for each in second) else []
            edits: tuple[Edit, ...] = ()
            if option and moved and not set(moved) & (set(first) | set(second)):
                edits = replaced(other, option, f"--cpu-bind=map_cpu:{','.join(moved)}")
            yield Fault(
                "same-cores",
                other.line,
                "high",
                f"it binds to the same cores as line {one.line}, which runs at the same time",
                "A list names the node's CPUs regardless of other jobs or steps on them.",
                "list other cores in one of the lines, or use --exact without lists",
                edits,
            )


def _waiting(script: Scripted) -> Iterator[Fault]:
    """Yield steps that were meant to run beside each other, and wait for each other."""
    if script.known.slurm is not None and script.known.slurm < (20, 11):
        return
    nodes = [step.nodes or 0 for step in script.every_turn if step.launch.background or step.launch.beside]
    if all(nodes) and sum(nodes) <= (script.job.nodes or 0):  # each has nodes of its own
        return
    meeting = {id(step): step for pair in _beside(script, _is_srun) for step in pair}
    looped = [step for step in script.starting if step.launch.background and step.launch.repeated and not step.turns]
    meeting |= {id(step): step for step in looped if _is_srun(step)}
    for step in {each.line: each for each in reversed(meeting.values()) if _takes_all(each)}.values():
        yield Fault(
            "steps-wait",
            step.line,
            "high",
            "the step takes all CPUs of its nodes, so other steps wait until it ends",
            "Since Slurm 20.11 a step gets the whole node and shares nothing with other steps unless --exact is given.",
            "srun --exact; give --mem and GPUs per step",
            inserted(step, "--exact"),
        )


def _takes_all(step: Step) -> bool:
    """Whether nothing says that a step leaves CPUs of its nodes to others."""
    some = ("relative", "nodelist", "exact", "overlap", "exclusive", "cpus-per-task", "cpus-per-gpu", "overcommit")
    return not (step.first.has(*some) or {"SLURM_OVERLAP", "SLURM_EXACT", "SRUN_CPUS_PER_TASK"} & set(step.launch.variables))


def _is_srun(step: Step) -> bool:
    """Whether srun starts something that takes time."""
    return step.launcher == "srun" and program_of(step) not in ("hostname", "true", "sleep", "nvidia-cuda-mps-control")


def _not_awaited(script: Scripted) -> Iterator[Fault]:
    """Yield steps in the background that still run when the script ends."""
    if script.script.abandoned is None or not any(each.counts for each in script.job.directives):
        return
    at, end = script.script.abandoned
    line, data = script.script.launches[at].line, script.text.encode(errors="replace")
    place = data.find(b"\n", end - 1) if end > 0 else -1
    edits = (Edit(place, place, "\nwait"),) if place >= 0 else (Edit(len(data), len(data), "\nwait\n"),) if end > 0 else ()
    yield Fault(
        "steps-not-awaited",
        line,
        "high",
        "the script ends while its steps run in the background",
        "The job ends with its script, which does not wait for these steps: those still running are killed.",
        "add wait on its own line, after the last of these steps",
        edits,
    )


def _transports(script: Scripted) -> Iterator[Fault]:
    """Yield open MPI's lists of transports without shared memory."""
    for step in script.starting:
        for option in step.first.options:
            name, _, value = option.value.partition("=")
            if (
                (
                    option.name == "--mca"
                    and name == "btl"
                    and (step.per_node or step.ranks or 2) > 1
                    and not value.startswith("^")
                )
                and not set(value.split(",")) & {"vader", "sm", "smcuda"}
                and not program_of(step).endswith("_perf")  # of nccl-tests: NCCL carries the data
                and "self" in value
            ):
                edits = replaced(step, option, "--mca btl ^openib")
                if option.value_word is not None:
                    start = option.word.span.start
                    end = _after(step, option)
                    edits = (Edit(start, end, "--mca btl ^openib"),)
                bind = step.first.find("--bind-to")
                if bind and bind.value.endswith(":overload-allowed"):
                    edits += replaced(step, bind, f"--bind-to {bind.value.partition(':')[0]}")
                yield Fault(
                    "no-shared-memory",
                    step.line,
                    "medium",
                    f"btl {value} disables shared memory: ranks of a node communicate over the network",
                    "A btl list must name every transport to be used.",
                    "--mca btl ^openib, or none",
                    edits,
                )


def _after(step: Step, option: Option) -> int:
    """Return where the two words behind --mca end."""
    words = list(step.launch.words)
    at = next(at for at, word in enumerate(words) if word is option.word)
    return words[min(at + 2, len(words) - 1)].span.end


def _bind_ignored(script: Scripted) -> Iterator[Fault]:
    """Yield a binding that Slurm's set-up does not carry out."""
    if script.known.plugins is None or any(each.endswith("affinity") for each in script.known.plugins):
        return
    for step in script.starting:
        bind = step.binding
        if step.launcher == "srun" and bind and "none" not in bind and bind not in ("v", "verbose", "q", "quiet"):
            plugins = ",".join(script.known.plugins) or "task/none"
            option = step.first.find("cpu-bind")
            yield Fault(
                "bind-ignored",
                step.line,
                "high",
                f"--cpu-bind={shown(bind)[:40]} has no effect here: TaskPlugin is {plugins}",
                "Only task/affinity binds ranks.",
                "set TaskPlugin=task/affinity,task/cgroup in slurm.conf; until then, bind in the program",
                removed(script, step, option) if option else (),
            )


# lists of CPUs


def _odd_one(script: Scripted) -> Iterator[Fault]:
    """Yield a list of CPUs in which one entry falls out of the pattern of all others."""
    for step in script.starting:
        entries = [int(each) for each in cpus_listed(step) if each.isdigit()]
        if len(entries) < 6 or len(set(entries)) != len(entries):
            continue
        for stride in (16, 8, 4):
            rest = Counter(entry % stride for entry in entries)
            (most, times), *others = rest.most_common()
            if times != len(entries) - 1 or len(others) != 1:
                continue
            odd = next(entry for entry in entries if entry % stride != most)
            groups = [entry // stride for entry in entries]
            missing = sorted(set(range(max(groups) + 1)) - {entry // stride for entry in entries if entry != odd})
            if odd // stride in missing and most == 0:
                better = [group * stride + odd % stride for group in groups]
                kept = odd - odd % stride
                why = (
                    f"The other entries are the first of every {stride} cores; if core {kept} is reserved for the system, "
                    f"they are too."
                )
            elif len(missing) == 1:
                better = [missing[0] * stride + most if entry == odd else entry for entry in entries]
                first = missing[0] * stride
                why = (
                    f"The other entries leave a remainder of {most} when divided by {stride}; "
                    f"cores {first} to {first + stride - 1} have no rank."
                )
            else:
                continue
            new = f"map_cpu:{','.join(map(str, better))}"
            yield Fault(
                "list-odd-one",
                step.line,
                "medium",
                f"CPU {odd} does not fit the pattern of the list",
                why,
                f"--cpu-bind={new}",
                in_text(script, step, re.compile(r"map_cpu[:=]" + ",".join(map(str, entries))), new),
            )
            break


_COMMANDS = re.compile(
    r"(?:(?:\S*/)?(?:ba|da|z|c|tc)?sh|(?:\S*/)?(?:python|perl|Rscript|julia|java|sleep|echo)[\d.]*|\./\S+(?= -)) ", re.ASCII
)


def _one_word(script: Scripted) -> Iterator[Fault]:
    """Yield a command with its arguments in quotes, for which a launcher looks as the name of one program."""
    for step in script.starting:
        word = step.program[0] if step.program else None
        if (
            word is None
            or not word.quoted
            or step.first.has("multi-prog")
            or step.launcher not in ("srun", "mpirun", "mpiexec")
            or not is_known(word.text)
        ):
            continue
        if not (_COMMANDS.match(word.text) or re.search(r"\w; ?\w| && | \|\|? ", word.text)):
            continue
        start, whole_word = word.span.start, word.variable is None and not step.launch.nested
        yield Fault(
            "one-word",
            step.line,
            "high",
            f"{step.launcher} looks for one program named {shown(word.text)[:60]!r}",
            "In quotes the command and its arguments are one word, and no file has that name.",
            f"{step.launcher} ... bash -c '...', or no quotes",
            (Edit(start, start, "bash -c "),) if whole_word else (),
        )


RULES: tuple[Rule, ...] = (
    *OF_HEADER,
    _serial, _idle, _idle_nodes, _mpiprocs, _depth, _too_many_threads, _threads_of_workers, _squared, _one_core,
    _one_core_asked, _unbound, _as_cpus, _one_word, _beyond, _not_inherited, _same_cores, _waiting, _not_awaited,
    _transports, _bind_ignored, _odd_one,
    *OF_GPUS,
    *OF_AGENTS,
)  # fmt: skip
