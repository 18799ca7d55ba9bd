"""What is wrong in what launch lines start: ranks, threads, steps beside each other, lists of CPUs, GPUs. Each has its cure."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from advisor.jobs.scripts.agent_faults import OF_AGENTS, gpus_here
from advisor.jobs.scripts.expansion import is_known, shown, whole, words
from advisor.jobs.scripts.faults import (
    OF_HEADER,
    Edit,
    Fault,
    Rule,
    asking,
    cpus_listed,
    directive_as,
    inserted,
    is_free,
    over,
    program_of,
    removed,
    replaced,
    without_directive,
)
from advisor.jobs.scripts.options import Option
from advisor.jobs.scripts.steps import Scripted, Step, exports, program_threads

# counts

_SERIAL: Final = words("grompp pdb2gmx editconf solvate genion trjconv make_ndx genrestr energy")


_OPENFOAM: Final = words("blockMesh decomposePar reconstructPar reconstructParMesh surfaceFeatureExtract extrudeMesh")
"""Tools of OpenFOAM that are serial, or are without -parallel."""


def _is_serial(step: Step) -> bool:
    words = [word.text for word in step.program]
    program = words[0].rpartition("/")[2] if words else ""
    if program in _OPENFOAM:
        return "-parallel" not in words
    return bool(re.fullmatch(r"gmx\w*", program)) and len(words) > 1 and words[1] in _SERIAL


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
                "Each rank does the whole work.",
                f"{step.launcher} -n 1 ... {_tool(step)}",
                edits,
            )


def _idle(script: Scripted) -> Iterator[Fault]:
    """Yield jobs of many tasks whose lines start a few ranks."""
    job, steps = script.job, list(script.every_turn)
    if not script.is_slurm or not steps or job.total is None or any(step.ranks is None for step in steps):
        return
    if any(step.launch.background or step.launch.beside for step in steps) or (
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
        f"the job asks for {job.total} tasks, its lines start {ranks} ranks at most",
        f"{asked - most} of {asked} CPUs stay idle.",
        f"start $SLURM_NTASKS ranks, or ask for {wanted}",
        edits,
    )


def _idle_nodes(script: Scripted) -> Iterator[Fault]:
    """Yield jobs of many nodes whose lines fill fewer, by their own ranks of a node."""
    job, steps = script.job, list(script.every_turn)
    if not steps or (job.nodes or 1) < 2 or any(step.launch.beside or step.launch.background for step in steps):
        return
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
            f"{nodes} nodes are asked for, {used} of them {'is' if used == 1 else 'are'} used",
            f"{steps[0].ranks} ranks, {steps[0].per_node} on a node.",
            "srun --ntasks-per-node=1 torchrun --nnodes=$SLURM_NNODES ..., or ask for one node"
            if alone
            else "count the nodes: nodes=$(sort -u $PBS_NODEFILE | wc -l); or ask for fewer",
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
                f"{step.ranks} ranks start where {job.nodes} slots are"
                if step.ranks > job.nodes
                else f"{step.ranks} ranks start for {job.node_cpus * job.nodes} CPUs"
            )
            more = f", and a chunk has {job.node_cpus} CPUs" if step.ranks > job.nodes * job.node_cpus else ""
            yield Fault(
                "no-mpiprocs",
                chunk.span.line,
                "high",
                f"{chunk.value[:50]} has no mpiprocs: {meant}{more}",
                "Without mpiprocs the node file has one line for each chunk.",
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
                f"ncpus={job.node_cpus} is asked of a node, {step.per_node} ranks of {depth} use {wanted}",
                "A node with fewer CPUs than that never gets the job; the others stay idle.",
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


def _threads_fault(script: Scripted, step: Step, threads: int, cpus: int) -> Fault:
    job = script.job
    edits: tuple[Edit, ...] = ()
    own = program_threads(step)
    places = script.script.assigned.get("OMP_NUM_THREADS", [])
    enough = own and step.per_node and step.per_node * threads <= (job.per_node or 0) * (job.cpus or 1)
    if enough:
        fix = "the CPUs that the job has"
    elif all((each.ranks or 0) < (job.total or 0) for each in script.every_turn):  # more CPUs of all tasks would be asked for
        fix = "as many threads as CPUs"
    elif job.cpus is None or own:
        edits = asking(script, "cpus-per-task", threads)
        fix = f"#SBATCH --cpus-per-task={threads}"
    elif places:
        _, span, _ = places[-1]
        written = script.written(span)
        edits = (over(span, re.sub(r"(OMP_NUM_THREADS[= ])\S+", r"\1$SLURM_CPUS_PER_TASK", written, count=1)),)
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
        f"{'An option of the program' if own else 'OMP_NUM_THREADS'} says {threads}; "
        + (
            "neither the header nor the line has --cpus-per-task: ranks are not bound apart."
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
            edits: tuple[Edit, ...] = ()
            if places:
                _, span, _ = places[-1]
                written = script.written(span)
                edits = (over(span, re.sub(r"(OMP_NUM_THREADS[= ]).*", r"\g<1>1", written)),)
            yield Fault(
                "threads-squared",
                places[-1][1].line if places else step.line,
                "high",
                "each rank starts as many threads as there are ranks",
                f"OMP_NUM_THREADS and -n are both {shown(count)[:40]}.",
                "export OMP_NUM_THREADS=1",
                edits,
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
            few = (
                not step.first.has("-n")
                and script.job.scheduler == "none"
                and step.why.get("ranks", "").startswith("it has no -n")
            )
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
            which = "" if step.family else " if it is Open MPI"
            yield Fault(
                "one-core",
                step.line,
                "high" if step.family else "medium",
                f"each rank is bound to one core{which}: {count} share it",
                "Without --bind-to Open MPI binds one or two ranks to a core each (from 5.0 any number).",
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
            fix, edits = f"OMP_NUM_THREADS={max(1, job.node_cpus // step.per_node)}, or fewer ranks of a node; then {new}", ()
        level = (bind.value if bind else "core").partition(":")[0].lower()
        said = f"{bind.name} {bind.value}" if bind else "The binding policy of a variable"
        yield Fault(
            "one-core",
            step.line,
            "high" if threads > 2 else "medium",  # two may be meant for the hardware threads of a core
            f"each rank is bound to one {'core' if level == 'core' else 'hardware thread'}: {threads} threads share it",
            f"{said} gives a rank no more than that, whatever OMP_NUM_THREADS and the job's CPUs of a task are.",
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
                f"{step.ranks} ranks start where the job has {job.total} task{'s' * (job.total != 1)}",
                f"--cpus-per-task={job.cpus} asks for CPUs of one rank: mpirun has {job.total} slot{'s' * (job.total != 1)}"
                + (", and --oversubscribe hides it and binds nothing." if step.first.has("--oversubscribe") else "."),
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
                f"-ppn {each} wants more ranks of a node than --ntasks-per-node={job.per_node} gives",
                "Under Slurm Intel MPI places as the job does, unless I_MPI_JOB_RESPECT_PROCESS_PLACEMENT is off.",
                f"#SBATCH --ntasks-per-node={each}",
                edits,
            )
        nodes = whole((step.value("nodes") or "").partition("-")[0]) if step.launcher == "srun" else None
        if nodes and job.nodes and nodes > job.nodes:
            yield Fault(
                "nodes-beyond",
                step.line,
                "high",
                f"srun wants {nodes} nodes, the job has {job.nodes}",
                "srun ends with: Requested node configuration is not available.",
                f"#SBATCH --nodes={nodes}",
                asking(script, "nodes", nodes),
            )


_NEWEST_CORES: Final = 256
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
        if is_free(step) or re.search(r"socket|ldom", bind) or (not bind and (job.total_gpus or job.gpus_per_node)):
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
            else "all ranks pin their threads to the same first cores"
            if pinned
            else "each rank counts as one CPU"
        )
        yield Fault(
            "cpus-not-inherited",
            step.line,
            "medium",
            f"{when} does not read --cpus-per-task={job.cpus} of the header: {what}",
            "They read SRUN_CPUS_PER_TASK alone, unset here; older ones, and 23.11 and newer, read SLURM_CPUS_PER_TASK.",
            "srun -c $SLURM_CPUS_PER_TASK, which is right with every version",
            inserted(step, "-c $SLURM_CPUS_PER_TASK"),
        )


def _beside(script: Scripted) -> Iterator[tuple[Step, Step]]:
    """Yield the pairs of steps that run at the same time."""
    by_launch = {id(step.launch): step for step in script.every_turn}
    launches = script.script.launches
    for step in script.every_turn:
        for at in step.launch.beside:
            other = by_launch.get(id(launches[at])) if at < len(launches) else None
            if other is not None:
                yield other, step


def _same_cores(script: Scripted) -> Iterator[Fault]:
    """Yield steps beside each other with the same list of CPUs."""
    for one, other in _beside(script):
        first, second = cpus_listed(one), cpus_listed(other)
        if one.launch.when != other.launch.when or not first or not second or one.launch.span == other.launch.span:
            continue
        if set(first) & set(second):
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
                "A list names the node's CPUs, whoever else has them.",
                "other cores in one of the lists, or --exact without lists",
                edits,
            )


def _waiting(script: Scripted) -> Iterator[Fault]:
    """Yield steps that were meant to run beside each other, and wait for each other."""
    if script.known.slurm is not None and script.known.slurm < (20, 11):
        return
    nodes = [step.nodes or 0 for step in script.every_turn if step.launch.background or step.launch.beside]
    if all(nodes) and sum(nodes) <= (script.job.nodes or 0):  # each has nodes of its own
        return
    pairs = list(_beside(script))
    looped = [(step, step) for step in script.starting if step.launch.background and step.launch.repeated and not step.turns]
    done: set[int] = set()
    for one, other in [*pairs, *looped]:
        if one.launch.when != other.launch.when or _is_helper(other) or _is_helper(one):
            continue
        for step in (one, other):
            if step.launcher != "srun" or step.line in done or step.first.has("relative", "nodelist"):
                continue
            if (
                step.first.has("exact", "overlap", "exclusive", "cpus-per-task", "cpus-per-gpu", "overcommit")
                or "SLURM_OVERLAP" in step.launch.variables
                or "SLURM_EXACT" in step.launch.variables
            ):
                continue
            if step.launch.variables.get("SRUN_CPUS_PER_TASK") or other.launcher != "srun" or one.launcher != "srun":
                continue
            done.add(step.line)
            yield Fault(
                "steps-wait",
                step.line,
                "high",
                "the step takes all CPUs of its nodes: steps beside it wait until it has ended",
                "From Slurm 20.11 a step shares nothing with others, and has the whole node unless --exact.",
                "srun --exact; state --mem and GPUs per step",
                inserted(step, "--exact"),
            )


def _is_helper(step: Step) -> bool:
    return program_of(step) in ("hostname", "true", "sleep", "nvidia-cuda-mps-control")


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
        "The job ends with its script, and what still runs is killed: no wait stands behind them.",
        "wait, as a line of its own behind the last of them",
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
                    f"btl {value} takes shared memory away: ranks of a node talk by the network",
                    "A list of btl holds all that is used.",
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
                f"--cpu-bind={shown(bind)[:40]} does nothing here: TaskPlugin is {plugins}",
                "Only task/affinity binds ranks.",
                "TaskPlugin=task/affinity,task/cgroup in slurm.conf; until then bind in the program",
                removed(script, step, option) if option else (),
            )


# lists of CPUs, GPUs, workers


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
                why = f"The others are the first of each {stride} cores; where {kept} is kept for the system, so are they."
            elif len(missing) == 1:
                better = [missing[0] * stride + most if entry == odd else entry for entry in entries]
                first = missing[0] * stride
                why = f"The others leave {most} when divided by {stride}; cores {first} to {first + stride - 1} have no rank."
            else:
                continue
            new = f"map_cpu:{','.join(map(str, better))}"
            yield Fault(
                "list-odd-one",
                step.line,
                "medium",
                f"{odd} falls out of the pattern of the list",
                why,
                f"--cpu-bind={new}",
                _in_text(script, step, re.compile(r"map_cpu[:=]" + ",".join(map(str, entries))), new),
            )
            break


def _in_text(script: Scripted, step: Step, pattern: re.Pattern[str], new: str) -> tuple[Edit, ...]:
    """Return the edit of a list where the script has it: in the line itself or in a variable."""
    match = next(iter(pattern.finditer(script.text)), None)
    if match is None or step.launch.nested:
        return ()
    start = len(script.text[: match.start()].encode(errors="replace"))
    return (Edit(start, start + len(match[0].encode(errors="replace")), new),)


_SELECTS: Final = re.compile(r"(CUDA|ROCR|HIP)_VISIBLE_DEVICES=[\"']?(\S*(?:LOCALID|LOCAL_RANK|local_rank|localid)\S*)")


def _wrapped(script: Scripted, step: Step) -> str:
    """Return the text that runs for each rank before the program: of a file that the script wrote, of sh -c."""
    texts = [word.text for word in step.program if " " in word.text]
    for name, (text, _) in script.script.files.items():
        base = name.rpartition("/")[2]
        if any(word.text.rpartition("/")[2] == base for word in step.program[:3]):
            texts.append(text)
    return "\n".join(texts)


_NVIDIA: Final = re.compile(r"(?i)cuda|nvhpc|nvidia")
_AMD: Final = re.compile(r"(?i)gfx90a|rocm|ROCR_|\bHIP_|MIOPEN|partition/G")


def _gpu_order(script: Scripted) -> Iterator[Fault]:
    """Yield ranks in the order of cores and GPUs in their own: on nodes of MI250X they lie far apart."""
    job = script.job
    signs = (
        [module for module, _ in script.script.modules]
        + list(script.script.assigned)
        + [text for text, _ in script.script.files.values()]
    )
    signs += [text for values in script.script.assigned.values() for text, _, _ in values[:1]]
    if not script.is_slurm or not any(_AMD.search(sign) for sign in signs) or any(_NVIDIA.search(sign) for sign in signs):
        return
    for step in script.starting:
        gpus = job.gpus_of_a_node
        each = step.per_node
        if step.launcher != "srun" or not each or not gpus or each < 2 or each != gpus or gpus > 8:
            continue
        bind = step.value("gpu-bind") or job.value("gpu-bind") or ""
        if (
            is_free(step)
            or "closest" in bind
            or step.first.has("gpus-per-task")
            or job.gpus_per_task
            or "CPU_BIND" in " ".join(step.launch.variables)
        ):
            continue
        wrapped = _wrapped(script, step)
        if re.search(r"numactl|taskset|hwloc-bind|likwid-pin|_MAP\b|\[\\?\$", wrapped):
            continue
        threads = min(step.threads or 1, 7)
        order = _MI250X[:each]
        width = 7 if threads > 1 else 1
        masks = ",".join(f"{((1 << width) - 1) << (8 * group + 1):x}" for group in order)
        option = f"--cpu-bind=mask_cpu:{masks}"
        edits = removed(script, step, step.first.find("cpus-per-task"), step.first.find("distribution")) + inserted(step, option)
        if job.has("cpus-per-task"):
            edits += without_directive(script, job.find("cpus-per-task") or job.directives[0])
            if places := [span for text, span, _ in script.script.assigned.get("OMP_NUM_THREADS", ()) if whole(text) == job.cpus]:
                edits += (
                    (over(places[-1], f"OMP_NUM_THREADS={job.cpus}"),)
                    if script.text.encode()[places[-1].start : places[-1].start + 6] != b"export"
                    else (over(places[-1], f"export OMP_NUM_THREADS={job.cpus}"),)
                )
        how = "by their local rank" if _SELECTS.search(wrapped) else "as they are numbered"
        yield Fault(
            "gpu-order",
            step.line,
            "medium",
            f"ranks fill cores from the first and take GPUs {how}: on MI250X nodes GPU 0 is not beside core 0",
            "There GPUs 0 to 7 are beside the L3 groups 6, 7, 2, 3, 0, 1, 4, 5 (the guides of Frontier and LUMI-G).",
            option,
            edits,
        )


_MI250X: Final = (6, 7, 2, 3, 0, 1, 4, 5)
"""The L3 group beside each GPU of an EPYC 7A53 with four MI250X: OLCF's Frontier guide, LUMI's distribution-binding page."""


def _gpu_numbers(script: Scripted) -> Iterator[Fault]:
    """Yield numbers of GPUs that a step does not have."""
    for step in script.starting:
        here = gpus_here(script, step)
        visible = exports(step).get("CUDA_VISIBLE_DEVICES") or exports(step).get("ROCR_VISIBLE_DEVICES")
        if here and visible and re.fullmatch(r"\d+(,\d+)*", visible):
            beyond = [each for each in visible.split(",") if int(each) >= here]
            places = script.script.assigned.get("CUDA_VISIBLE_DEVICES") or script.script.assigned.get("ROCR_VISIBLE_DEVICES")
            if beyond and places and len(visible.split(",")) > 1:
                kept = ",".join(each for each in visible.split(",") if int(each) < here)
                span = places[-1][1]
                written = script.written(span)
                yield Fault(
                    "gpu-numbers",
                    span.line,
                    "medium",
                    f"GPU {beyond[0]} is not there: a node has {here} of them for this job",
                    "What stands behind the first number that is not there is ignored.",
                    f"CUDA_VISIBLE_DEVICES={kept}",
                    (over(span, written.replace(visible, kept)),),
                )


def _gpu_by_rank(script: Scripted) -> Iterator[Fault]:
    """Yield numbers of GPUs that ranks take by their local number, and GPUs that no rank takes so."""
    job = script.job
    for step in script.starting:
        here = gpus_here(script, step)
        wrapped = _wrapped(script, step)
        match = re.search(r"(?:CUDA|ROCR|HIP)_VISIBLE_DEVICES=\\?\$\(\(\s*(\d+)\s*-\s*\$?\{?SLURM_LOCALID", wrapped)
        if match and here and int(match[1]) >= here:
            edits = _in_text(
                script,
                step,
                re.compile(r"[ \t]*export \w+_VISIBLE_DEVICES=\\?\$\(\(\s*\d+\s*-\s*SLURM_LOCALID\s*\)\);[ \t]*\n?"),
                "",
            )
            yield Fault(
                "gpu-numbers",
                step.line,
                "medium",
                f"local rank 0 takes GPU {match[1]}, and the step has {here} of a node",
                "A step sees its own GPUs alone, numbered from 0; where devices are not confined it takes another job's.",
                "leave the variable to Slurm",
                edits,
            )
        one = not job.has("ntasks", "ntasks-per-node") and not step.first.has("ntasks", "ntasks-per-node")
        selects = bool(_SELECTS.search(wrapped.replace("\\", "")) or match)
        if selects and one and here and here > 1 and step.launcher == "srun":
            yield Fault(
                "gpus-idle",
                step.line,
                "high",
                f"a node has {here} GPUs for this job, and no number of tasks is asked for: its one rank takes one of them",
                "Each rank takes the GPU of its local number.",
                f"#SBATCH --ntasks-per-node={here}",
                asking(script, "ntasks-per-node", here),
            )


def _kokkos_gpus(script: Scripted) -> Iterator[Fault]:
    """Yield lAMMPS -k on g N with more GPUs than the job has."""
    here = script.job.gpus_of_a_node
    for step in script.starting:
        words = step.program
        for at in range(len(words) - 3):
            if words[at].text in ("-k", "-kokkos") and words[at + 1].text == "on" and words[at + 2].text in ("g", "gpus"):
                count = whole(words[at + 3].text)
                if count and here and count > here:
                    yield Fault(
                        "gpu-numbers",
                        step.line,
                        "high",
                        f"-k on g {count} wants {count} GPUs of a node, the job has {here}",
                        "Kokkos ends where a device is not there.",
                        f"-k on g {here}",
                        (over(words[at + 3].span, str(here)),) if words[at + 3].variable is None else (),
                    )


RULES: Final[tuple[Rule, ...]] = (
    *OF_HEADER,
    _serial, _idle, _idle_nodes, _mpiprocs, _depth, _too_many_threads, _squared, _one_core, _one_core_asked, _as_cpus,
    _beyond, _not_inherited, _same_cores, _waiting, _not_awaited, _transports, _bind_ignored, _odd_one,
    _gpu_order, _gpu_numbers, _gpu_by_rank, _kokkos_gpus,
    *OF_AGENTS,
)  # fmt: skip
