"""What is wrong with lists of CPUs, with GPUs and with workers for them in what launch lines start. Each fault has its cure."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from advisor.jobs.scripts.expansion import whole
from advisor.jobs.scripts.fault import (
    Edit,
    Fault,
    Known,
    Rule,
    asking,
    cpus_listed,
    directive_as,
    inserted,
    is_free,
    is_slurm,
    removed,
    replaced,
    starting,
    without_directive,
)
from advisor.jobs.scripts.steps import Scripted, Step, exports

# counts

_SERIAL: Final = {"grompp", "pdb2gmx", "editconf", "solvate", "genion", "trjconv", "make_ndx", "genrestr", "energy"}


def _odd_one(script: Scripted, known: Known) -> Iterator[Fault]:
    """Yield a list of CPUs in which one entry falls out of the pattern of all others."""
    del known
    for step in starting(script):
        entries = [int(each) for each in cpus_listed(step) if each.isdigit()]
        if len(entries) < 5 or len(set(entries)) != len(entries):
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


def _gpu_order(script: Scripted, known: Known) -> Iterator[Fault]:
    """Yield ranks in the order of cores and GPUs in their own: on nodes of MI250X they lie far apart."""
    del known
    job = script.job
    signs = (
        [module for module, _ in script.script.modules]
        + list(script.script.assigned)
        + [text for text, _ in script.script.files.values()]
    )
    signs += [text for values in script.script.assigned.values() for text, _, _ in values[:1]]
    if not is_slurm(script) or not any(_AMD.search(sign) for sign in signs) or any(_NVIDIA.search(sign) for sign in signs):
        return
    for step in starting(script):
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
                    (Edit(places[-1].start, places[-1].end, f"OMP_NUM_THREADS={job.cpus}"),)
                    if script.text.encode()[places[-1].start : places[-1].start + 6] != b"export"
                    else (Edit(places[-1].start, places[-1].end, f"export OMP_NUM_THREADS={job.cpus}"),)
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


def _gpus_here(script: Scripted, step: Step) -> int | None:
    """Return the GPUs that a step has of each node."""
    return step.gpus_per_node if step.gpus_per_node is not None else script.job.gpus_of_a_node


def _gpu_numbers(script: Scripted, known: Known) -> Iterator[Fault]:
    """Yield numbers of GPUs that a step does not have."""
    del known
    for step in starting(script):
        here = _gpus_here(script, step)
        visible = exports(step).get("CUDA_VISIBLE_DEVICES") or exports(step).get("ROCR_VISIBLE_DEVICES")
        if here and visible and re.fullmatch(r"\d+(,\d+)*", visible):
            beyond = [each for each in visible.split(",") if int(each) >= here]
            places = script.script.assigned.get("CUDA_VISIBLE_DEVICES") or script.script.assigned.get("ROCR_VISIBLE_DEVICES")
            if beyond and places and len(visible.split(",")) > 1:
                kept = ",".join(each for each in visible.split(",") if int(each) < here)
                span = places[-1][1]
                written = script.text.encode(errors="replace")[span.start : span.end].decode(errors="replace")
                yield Fault(
                    "gpu-numbers",
                    span.line,
                    "medium",
                    f"GPU {beyond[0]} is not there: a node has {here} of them for this job",
                    "What stands behind the first number that is not there is ignored.",
                    f"CUDA_VISIBLE_DEVICES={kept}",
                    (Edit(span.start, span.end, written.replace(visible, kept)),),
                )


def _gpu_by_rank(script: Scripted, known: Known) -> Iterator[Fault]:
    """Yield numbers of GPUs that ranks take by their local number, and GPUs that no rank takes so."""
    del known
    job = script.job
    for step in starting(script):
        here = _gpus_here(script, step)
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


def _kokkos_gpus(script: Scripted, known: Known) -> Iterator[Fault]:
    """Yield lAMMPS -k on g N with more GPUs than the job has."""
    del known
    here = script.job.gpus_of_a_node
    for step in starting(script):
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
                        (Edit(words[at + 3].span.start, words[at + 3].span.end, str(here)),)
                        if words[at + 3].variable is None
                        else (),
                    )


def _agents(script: Scripted, known: Known) -> Iterator[Fault]:
    """Yield torchrun and its like, that start a worker for each GPU themselves, started many times on a node."""
    del known
    job = script.job
    for step in starting(script):
        if not step.agent or not step.per_node:
            continue
        gpus = _gpus_here(script, step)
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
            f"{step.launcher} starts {each} times {step.agent} on a node, each with {workers} workers: {where}",
            f"{step.agent} starts the workers of a node itself; {each} of them want the same GPUs and the same port.",
            f"srun --ntasks-per-node=1 {step.agent} ..., and #SBATCH --ntasks-per-node=1 --cpus-per-task={cpus}"
            if step.launcher == "srun"
            else f"one {step.agent} a node: {step.launcher} with one rank of a node",
            _one_agent(script, step, each, gpus),
        )


def _one_agent(script: Scripted, step: Step, each: int, gpus: int | None) -> tuple[Edit, ...]:
    """Return the edits that start one agent on a node, with the CPUs and GPUs of all that were started before."""
    job, first, cpus = script.job, step.first, (step.cpus or 1) * each
    by_gpu = ("ntasks-per-gpu", "tres-per-task")
    alone = step.launcher == "srun" and is_slurm(script) and not step.launch.nested and not first.open
    if not (alone and job.nodes) or first.has(*by_gpu) or job.has(*by_gpu):
        return ()
    wanted = {"ntasks-per-node": "1"}
    others = any(other is not step and not other.agent for other in starting(script))
    edits: tuple[Edit, ...] = ()
    if others or first.has("ntasks", "ntasks-per-node"):
        wanted["ntasks"] = str(step.nodes) if first.has("nodes") and step.nodes else "$SLURM_NNODES"
        wanted["cpus-per-task"] = str(cpus)
    else:
        edits = _header_of_one_agent(script, job.nodes, cpus, gpus)
        wanted |= {"cpus-per-task": str(cpus)} if first.has("cpus-per-task") else {}
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
        written = script.text.encode(errors="replace")[span.start : span.end].decode(errors="replace")
        if whole(text) == job.cpus and "SLURM_CPUS_PER_TASK" in written:  # threads of a worker stay as many
            edits += (Edit(span.start, span.end, re.sub(r"(OMP_NUM_THREADS[= ])\S+", rf"\g<1>{text}", written, count=1)),)
    return edits


RULES: Final[tuple[Rule, ...]] = (_odd_one, _gpu_order, _gpu_numbers, _gpu_by_rank, _kokkos_gpus, _agents)
