"""Faults of torchrun and its like, which start the workers of a node themselves and meet their own kind on other nodes."""

from collections.abc import Iterator

from advisor.jobs.scripts.expansion import whole
from advisor.jobs.scripts.faults import Edit, Fault, Rule, asking, directive_as, inserted, over, replaced, setting_to
from advisor.jobs.scripts.options import walked
from advisor.jobs.scripts.steps import COUNTS_OF_AGENTS, Scripted, Step, lists_of
from advisor.machine.units import count


def gpus_here(script: Scripted, step: Step) -> int | None:
    """Return the GPUs that a step has of each node."""
    return step.gpus_per_node if step.gpus_per_node is not None else script.job.gpus_of_a_node


def _torchrun(script: Scripted) -> Iterator[Fault]:
    """Yield torchrun for several nodes that nothing starts on each of them."""
    for step in script.starting:
        nodes = whole(step.value("--nnodes"))
        if step.launcher == "torchrun" and nodes and nodes > 1 and (script.job.nodes or nodes) > 1 and script.is_slurm:
            word = step.launch.words[0]
            head = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
            edits = (
                ()
                if step.launch.nested or step.launch.before
                else (
                    Edit(word.span.start, word.span.start, "srun --ntasks-per-node=1 "),
                    Edit(word.span.end, word.span.end, f" --rdzv_backend=c10d --rdzv_endpoint={head}:29500"),
                )
            )
            yield Fault(
                "torchrun-alone",
                step.line,
                "high",
                f"torchrun runs only on the first of {nodes} nodes and waits for the others",
                "The script itself runs on one node; torchrun starts nothing on the others.",
                "srun --ntasks-per-node=1 torchrun --rdzv_backend=c10d --rdzv_endpoint=HEAD:29500",
                edits,
            )


_MEETS = ("--nnodes", "--rdzv", "--node_rank", "--node-rank", "--master", "--standalone")
"""Options of torchrun by which its agents find each other, or say that they shall not."""


def _lone_agents(script: Scripted) -> Iterator[Fault]:
    """Yield torchrun started once on each of several nodes, without what joins the agents: each node trains by itself."""
    for step in script.starting:
        words = step.program
        names = [each.text.rpartition("/")[2] for each in words]
        at = next((at for at, name in enumerate(names) if name in ("torchrun", "torch.distributed.run")), None)
        if at is None or step.per_node != step.workers or (step.nodes or 1) < 2 or not script.is_slurm:
            continue
        word, lists = words[at], lists_of(walked(words[at + 1 :], "torchrun", None))
        if any(each.text.startswith(_MEETS) for each in words) or "PET_NNODES" in step.launch.variables or lists:
            continue
        head = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
        added = f" --nnodes=$SLURM_NNODES --rdzv_backend=c10d --rdzv_endpoint={head}:29500"
        yield Fault(
            "torchrun-alone",
            step.line,
            "high",
            f"torchrun has no --nnodes: {step.nodes} separate runs of one node each",
            "Its default is one node; agents join only through --nnodes and a rendezvous.",
            "torchrun --nnodes=$SLURM_NNODES --rdzv_backend=c10d --rdzv_endpoint=HEAD:29500",
            () if step.launch.nested or word.variable is not None else (Edit(word.span.end, word.span.end, added),),
        )


def _agents(script: Scripted) -> Iterator[Fault]:
    """Yield torchrun and its like, that start a worker for each GPU themselves, started many times on a node."""
    job = script.job
    for step in script.starting:
        if not step.agent or not step.per_node:
            continue
        gpus = gpus_here(script, step)
        shared = not (step.first.has("gpus-per-task", "gpu-bind") or job.has("gpus-per-task", "gpu-bind"))
        every = step.agent_count in ("gpu", "auto") and shared
        each = step.per_node // step.workers
        workers = (gpus or 0) if every else step.workers
        if each < 2 or workers < 2 or not (each * workers > gpus if gpus else each == workers):
            continue
        where = f"{each * workers} on {f'{gpus} GPUs' if gpus else 'each node'}"
        cpus = (step.cpus or 1) * each
        yield Fault(
            "agents-many",
            step.line,
            "high",
            f"{step.launcher} starts {step.agent} {each} times on a node, each with {workers} workers: {where}",
            f"{step.agent} starts the workers of a node itself; {each} of them compete for the same GPUs and port "
            "(Address already in use).",
            f"srun --ntasks-per-node=1 {step.agent} ..., and #SBATCH --ntasks-per-node=1 --cpus-per-task={cpus}"
            if step.launcher == "srun"
            else f"one {step.agent} per node: {step.launcher} with one rank per node",
            _one_agent(script, step, each, gpus),
        )


def _one_agent(script: Scripted, step: Step, each: int, gpus: int | None) -> tuple[Edit, ...]:
    """Return the edits that start one agent on a node, with the CPUs and GPUs of all that were started before."""
    job, first, cpus = script.job, step.first, (step.cpus or 1) * each
    by_gpu = ("ntasks-per-gpu", "tres-per-task")
    alone = step.launcher == "srun" and script.is_slurm and not step.launch.nested and not first.open
    if not (alone and job.nodes) or first.has(*by_gpu) or job.has(*by_gpu):
        return ()
    wanted = {"ntasks-per-node": "1"}
    others = any(other is not step and not other.agent for other in script.starting)
    edits: tuple[Edit, ...] = ()
    if others or first.has("ntasks", "ntasks-per-node"):
        wanted["ntasks"] = str(step.nodes) if first.has("nodes") and step.nodes else "$SLURM_NNODES"
        wanted["cpus-per-task"] = str(cpus)
    else:
        edits = _header_of_one_agent(script, job.nodes, cpus, gpus)
        wanted["cpus-per-task"] = (
            str(cpus) if first.has("cpus-per-task") else "$SLURM_CPUS_PER_TASK"
        )  # not every srun inherits it
    for name, value in wanted.items():
        if there := first.find(name):
            edits += replaced(step, there, f"--{name}={value}")
    if gpus and (there := first.find("gpus-per-task")):
        edits += replaced(step, there, f"--gpus-per-node={gpus}")
    new = " ".join(f"--{name}={value}" for name, value in wanted.items() if not first.has(name))
    return (*edits, *inserted(step, new)) if new else edits


def _header_of_one_agent(script: Scripted, nodes: int, cpus: int, gpus: int | None) -> tuple[Edit, ...]:
    """Return the edits of a header for one task of a node, which has the CPUs and GPUs of all that there were."""
    job = script.job
    edits = asking(script, "ntasks", nodes) if job.has("ntasks") else ()
    edits += asking(script, "ntasks-per-node", 1) if job.has("ntasks-per-node") or not edits else ()
    edits += asking(script, "cpus-per-task", cpus)
    if gpus and (directive := job.find("gpus-per-task")):
        edits += directive_as(script, directive, f"--gpus-per-node={gpus}")
    for text, span, _ in script.script.assigned.get("OMP_NUM_THREADS", []):
        written = script.written(span)
        if whole(text) == job.cpus and "SLURM_CPUS_PER_TASK" in written:  # threads of a worker stay as many
            edits += setting_to(script, span, "OMP_NUM_THREADS", text)
    return edits


def _workers_without_gpu(script: Scripted) -> Iterator[Fault]:
    """Yield torchrun and its like with more workers on a node than the step has GPUs there."""
    for step in script.starting:
        own = step.launcher.split(" ")[0] in COUNTS_OF_AGENTS  # started by the script itself, on the first node
        workers = step.per_node if own else step.workers
        gpus = script.job.gpus_of_a_node if own else gpus_here(script, step)
        if not (gpus and workers and workers > gpus) or not (own or (step.agent and step.per_node == workers)) or step.gpus == 0:
            continue
        yield Fault(
            "gpu-numbers",
            step.line,
            "high",
            f"{workers} workers per node, but {count(gpus, 'GPU')}",
            "Each worker takes the GPU with its own local number; those without one fail (invalid device ordinal).",
            f"one worker per GPU: {gpus}",
            _as_many_workers(step, gpus),
        )


def _as_many_workers(step: Step, gpus: int) -> tuple[Edit, ...]:
    """Return the edit that starts as many workers on a node; none where accelerate counts those of all nodes."""
    agent = (step.agent or step.launcher).split(" ")[0]
    names = [word.text.rpartition("/")[2] for word in step.program]
    first = names.index(agent) + 1 if step.agent and agent in names else len(names)
    segment = walked(step.program[first + (agent == "accelerate") :], agent, None) if step.agent else step.first
    there = segment.find(COUNTS_OF_AGENTS[agent])
    if there is None or there.word.variable is not None or segment.has("--num_machines") or step.launch.nested:
        return ()
    if there.value_word is None:
        return (over(there.word.span, f"{there.word.text.partition('=')[0]}={gpus}"),)
    return (over(there.value_word.span, str(gpus)),) if there.value_word.variable is None else ()


OF_AGENTS: tuple[Rule, ...] = (_torchrun, _lone_agents, _agents, _workers_without_gpu)
