"""Faults of GPUs: what ranks are told of theirs, by numbers, order and count."""

import re
from collections.abc import Iterator
from dataclasses import replace

from advisor.jobs.each_rank import LOCAL
from advisor.jobs.scripts.agent_faults import gpus_here
from advisor.jobs.scripts.expansion import Span, is_known, names_in, shown, unknown, whole
from advisor.jobs.scripts.faults import (
    Edit,
    Fault,
    Rule,
    asking,
    in_text,
    inserted,
    is_free,
    over,
    program_of,
    removed,
    without_directive,
)
from advisor.jobs.scripts.steps import Scripted, Step, exports

_SELECTS = re.compile(r"(CUDA|ROCR|HIP)_VISIBLE_DEVICES=[\"']?(\S*(?:LOCALID|LOCAL_RANK|local_rank|localid)\S*)")


def _wrapped(script: Scripted, step: Step) -> str:
    """Return the text that runs for each rank before the program: of a file that the script wrote, of sh -c."""
    texts = [word.text for word in step.program if " " in word.text]
    for name, (text, _) in script.script.files.items():
        base = name.rpartition("/")[2]
        if any(word.text.rpartition("/")[2] == base for word in step.program[:3]):
            texts.append(text)
    return "\n".join(texts)


_NVIDIA = re.compile(r"(?i)cuda|nvhpc|nvidia")
_AMD = re.compile(r"(?i)gfx90a|rocm|ROCR_|\bHIP_|MIOPEN|partition/G")


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
        how = "by their local rank" if _SELECTS.search(wrapped) else "in numerical order"
        yield Fault(
            "gpu-order",
            step.line,
            "medium",
            f"ranks fill cores in order from core 0 and take GPUs {how}: on MI250X nodes GPU 0 is not near core 0",
            "On these nodes, GPUs 0 to 7 are near L3 groups 6, 7, 2, 3, 0, 1, 4, 5 (Frontier and LUMI-G guides).",
            option,
            edits,
        )


_MI250X = (6, 7, 2, 3, 0, 1, 4, 5)
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
                    f"GPU {beyond[0]} does not exist: the job has {here} per node",
                    "Everything after the first non-existent number is ignored.",
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
            edits = in_text(
                script,
                step,
                re.compile(r"[ \t]*export \w+_VISIBLE_DEVICES=\\?\$\(\(\s*\d+\s*-\s*SLURM_LOCALID\s*\)\);[ \t]*\n?"),
                "",
            )
            yield Fault(
                "gpu-numbers",
                step.line,
                "medium",
                f"local rank 0 takes GPU {match[1]}, but the step has {here} per node",
                "A step sees only its own GPUs, numbered from 0; if devices are not constrained, it may take another job's GPUs.",
                "let Slurm set the variable",
                edits,
            )
        one = not job.has("ntasks", "ntasks-per-node") and not step.first.has("ntasks", "ntasks-per-node")
        selects = bool(_SELECTS.search(wrapped.replace("\\", "")) or match)
        if selects and one and here and here > 1 and step.launcher == "srun":
            yield Fault(
                "gpus-idle",
                step.line,
                "high",
                f"the job has {here} GPUs per node but does not set the number of tasks: its only rank uses one GPU",
                "Each rank takes the GPU whose number is its local rank.",
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
                        f"-k on g {count} needs {count} GPUs per node, but the job has {here}",
                        "Kokkos exits if a device does not exist.",
                        f"-k on g {here}",
                        (over(words[at + 3].span, str(here)),) if words[at + 3].variable is None else (),
                    )


# the number of a rank, where there is none yet

_DEVICES = r"(?:(?:CUDA|ROCR|HIP)_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|ZE_AFFINITY_MASK)"
_OF_RANK = re.compile(
    r"\b(SLURM_(LOCALID|PROCID|NODEID)|FLUX_TASK_(LOCAL_ID|RANK)|\w*LOCAL_?RANK(ID)?|(PMIX?|OMPI_COMM_WORLD)_RANK|PALS_RANKID)\b"
)
_STARTS_RANKS = ("srun", "mpirun", "mpiexec", "ibrun", "flux run")


def _rank_in(text: str) -> str:
    """Return the variable with the number of a rank that the batch shell expanded in a text, "" where there is none."""
    return next((match[0] for each in names_in(text) if (match := _OF_RANK.search(each))), "")


def _is_there(rank: str) -> str:
    return f"${rank} is {'0' if rank.startswith('SLURM_') else 'empty'}"


def _expanded_early(script: Scripted) -> Iterator[Fault]:
    """Yield the number of a rank that the batch shell expands for a program: every rank gets the same."""
    for step in script.starting:
        count = step.ranks if step.ranks is not None else max(step.per_node or 1, step.nodes or 1)
        if step.launcher not in _STARTS_RANKS or count // step.workers < 2:
            continue
        early = f"The batch shell expands it before {step.launcher} starts"
        for name in ("RANK", "LOCAL_RANK") if program_of(step).startswith("python") and not step.agent else ():
            if rank := _rank_in(exports(step).get(name, "")):
                places = script.script.assigned.get(name, [])
                yield Fault(
                    "expanded-early",
                    places[-1][1].line if places else step.line,
                    "medium",
                    f"{name}=${rank}: {_is_there(rank)} for every rank of {step.launcher}",
                    f"{early}; if a program reads {name}, every one of its processes acts as the first rank.",
                    f"{step.launcher} bash -c '{name}=${rank} exec \"$@\"' - {program_of(step)} ...",
                )
        for word in step.program:
            rank, written, text = _rank_in(word.text), script.written(word.span), shown(word.text)
            if not rank or (step.agent and re.search("c10d|etcd", " ".join(each.text for each in step.program))):
                continue  # agents that meet agree on their numbers
            ours = '"' in written and " " in word.text and not step.launch.nested
            new = re.sub(rf"(?<!\\)\$(?=\{{?{rank}\b)", r"\\$", written)
            at = text.find(rank)
            yield Fault(
                "expanded-early",
                word.span.line,
                "high",
                f"{_is_there(rank)} for every rank of {step.launcher}",
                f"{early}: {text[max(0, at - 32) : at + 32]}",
                f"\\${rank}, or single quotes" if ours else f"{step.launcher} bash -c '{program_of(step)} ... ${rank} ...'",
                (over(word.span, new),) if ours and new != written else (),
            )


def _gpu_for_all(script: Scripted) -> Iterator[Fault]:
    """Yield a GPU that the batch shell chooses for all ranks: by the number of a rank, which it does not have, or fixed."""
    found: dict[int, Fault] = {}
    for step in script.starting:
        for name, text in _of_batch_shell(script, step):
            rank = _rank_in(text)
            places = [span for value, span, _ in script.script.assigned.get(name, []) if value == text]
            line, own = places[-1].line if places else step.line, _of_each_rank(script, step, name, text)
            edits = _by_each_rank(script, step, own, places[-1] if places else None)
            if line in found:
                found[line] = replace(found[line], edits=tuple(dict.fromkeys(found[line].edits + edits)))
                continue
            why = (
                f"The batch shell expands the value once, where {_is_there(rank)}"
                if rank
                else "All ranks on a node get the same value"
            )
            slurms = "; where Slurm sets the variable for the step, each rank sees all GPUs of the step."
            found[line] = Fault(
                "gpu-for-all",
                line,
                "medium" if step.launcher == "srun" else "high",
                f"{name}={shown(text)} does not give each rank its own GPU",
                why + (slurms if step.launcher == "srun" else "."),
                f"{step.launcher} ... {own} {program_of(step)}"
                if own
                else "a wrapper script that sets this variable from the local rank",
                edits,
            )
    yield from found.values()


def _by_each_rank(script: Scripted, step: Step, own: str | None, exported: Span | None) -> tuple[Edit, ...]:
    """Return the edits by which each rank sets a variable, and the batch shell no more."""
    start = step.program[0].span
    if (
        own is None
        or len(step.segments) > 1
        or step.launch.nested
        or any(word.span == start and word is not step.program[0] for word in step.launch.words)
    ):
        return ()
    data = script.text.encode(errors="replace")
    edits = (Edit(start.start, start.start, f"{own} "),)
    if exported is None:
        return edits
    begin = data.rfind(b"\n", 0, exported.start) + 1
    whole_line = data[begin : exported.start].strip() in (b"", b"export") and data[exported.end : exported.end + 1] == b"\n"
    return (Edit(begin, exported.end + 1, ""), *edits) if whole_line else edits


def _of_batch_shell(script: Scripted, step: Step) -> Iterator[tuple[str, str]]:
    """Yield the variables that choose GPUs with a value that the batch shell gave all ranks of a step, and nothing sets later."""
    program, wrapped = program_of(step), _wrapped(script, step)
    by_slurm = (
        step.first.has("gpus-per-task", "gpu-bind", "ntasks-per-gpu") or script.job.gpus_per_task or script.job.value("gpu-bind")
    )
    if step.launcher not in _STARTS_RANKS or step.agent or by_slurm or not is_known(program) or 1 in (step.per_node, step.ranks):
        return
    if re.search(rf"{_DEVICES}=(?!\ue000)", wrapped) or (
        not wrapped and re.search(r"\.(sh|bash|pl|py)$|^(sh|bash|env)$", program)
    ):
        return  # a wrapper, which may set it
    several = (gpus_here(script, step) or 0) > 1 < (step.per_node or 1) and not (step.turns or step.launch.background)
    for name, text in exports(step).items():
        if re.fullmatch(_DEVICES, name) and (_rank_in(text) or (several and whole(text) is not None)):
            yield name, text


def _of_each_rank(script: Scripted, step: Step, name: str, text: str) -> str | None:
    """Return the shell that gives each rank the GPU of its local number; None where the launcher's name of that is not known."""
    family = step.family or ""
    local = LOCAL.get({"openmpi": "openmpi4", "hydra": "mpich"}.get(family, family))
    here = gpus_here(script, step)
    if local is None:
        return None
    number = f"${local}"
    if here and (step.per_node or 0) > here:
        number = f"$(({local} % {here}))"
    elif (rank := _rank_in(text)) and (written := names_in(text)[0]) != rank:
        number = f"$(({written.replace(rank, local)}))"
        if set(re.findall(r"[A-Za-z_]\w*", written)) != {rank} or text != unknown(written):
            return None
    return f"bash -c '{name}={number} exec \"$@\"' -"


OF_GPUS: tuple[Rule, ...] = (_expanded_early, _gpu_for_all, _gpu_order, _gpu_numbers, _gpu_by_rank, _kokkos_gpus)
