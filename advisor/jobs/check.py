"""The page of `advisor check job.sbatch`: what each line starts, what is wrong and the cure, in the order of the lines."""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from advisor.errors import AdvisorError, BadInput
from advisor.jobs.ask import Ask, ask, installed, observed_in
from advisor.jobs.bind_page import how_known, node_lines, rows_of_ranks
from advisor.jobs.line import parse, rewrite, started_by
from advisor.jobs.lint import lint
from advisor.jobs.placement import Lint, LintAnswer, LintRank, Placed, Slot
from advisor.jobs.request import ADVISE, release_of
from advisor.jobs.scripts.expansion import is_known, shown, words
from advisor.jobs.scripts.faults import Edit, Fault, Severity
from advisor.jobs.scripts.grammar import LARGEST, refused
from advisor.jobs.scripts.step_faults import RULES
from advisor.jobs.scripts.steps import Known, Scripted, Step, read, variants
from advisor.jobs.slurm import (
    ASSUMED,
    KEY,
    PARTITION,
    SITE,
    PartitionNodes,
    SlurmWords,
    partition_capture,
    partition_nodes,
    setup,
)
from advisor.machine.hosts.files import open_here
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.units import count, plain
from advisor.machine.value import Value, optional
from advisor.show.lines import Line, Page, wrapped

_ROUNDS = 12


def faults(script: Scripted, known: Known) -> list[Fault]:
    """Return every fault of a script, in the order of its lines; what a loop's turns say alike is said once."""
    found: dict[tuple[str, int], Fault] = {}
    for rule in RULES:
        for fault in rule(replace(script, known=known)):
            found.setdefault((fault.id, fault.line), fault)
    return sorted(found.values(), key=lambda fault: (fault.line, fault.id))


def mended(
    script: Scripted, found: list[Fault], known: Known, environment: Mapping[str, str] | None = None
) -> tuple[Scripted, list[Fault]]:
    """Return the corrected script of one and its faults, and the faults that stay for they have no one correction."""
    for _ in range(_ROUNDS):
        new = _applied(script.text, _apart([fault for fault in found if fault.edits]))
        if new == script.text:
            break
        script = read(new, environment)
        found = faults(script, known)
    return script, found


def _apart(found: list[Fault]) -> list[Edit]:
    """Return the edits of faults that do not touch each other's: of two that do, the next round sees to the second."""
    taken: list[Edit] = []
    for fault in found:
        if all(not _touch(edit, other) for edit in fault.edits for other in taken):
            taken += [edit for edit in fault.edits if edit not in taken]
    return taken


def _touch(one: Edit, other: Edit) -> bool:
    if one == other:
        return False
    return one.start <= other.end and other.start <= one.end


def _applied(text: str, edits: list[Edit]) -> str:
    data = text.encode(errors="surrogateescape")
    for edit in sorted(edits, key=lambda each: (each.start, each.end), reverse=True):
        data = data[: edit.start] + edit.new.encode(errors="surrogateescape") + data[edit.end :]
    return data.decode(errors="surrogateescape")


def patch(before: str, after: str, name: str) -> str:
    """Return the difference of two scripts as a patch."""
    lines = unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (corrected)", lineterm="")
    return "\n".join(lines) + ("\n" if before != after else "")


SEVERITIES = ("low", "medium", "high")

Count = Annotated[
    int | tuple[int, ...] | None, Field(description="a number; for a line in a loop, one per iteration; null if unknown")
]


class CheckedStep(Value):
    """One launch line of a script."""

    line: int
    launcher: str
    """the program: srun, mpirun, mpiexec, flux run, jsrun, torchrun, ..."""
    family: str | None
    """its launcher family, if known: openmpi4, intelmpi, mpich, pals"""
    program: str
    """what is started"""
    ranks: Count
    nodes: Count
    ranks_per_node: Count
    threads: Count
    gpus: Count
    gpus_per_node: Count
    placed: Placed
    """how the placement is known: asked of the launcher, simulated, observed; not-told if unknown"""
    placement: tuple[LintRank, ...] | None = None
    """where each rank goes, if known"""
    answers: tuple[LintAnswer, ...] = ()
    """every answer; if they differ, none counts"""
    binding: str = ""
    """the same in a sentence, or why it is unknown"""
    unknown: dict[str, str] = optional({})
    """what each unknown count depends on"""
    repeated: bool = False
    """whether it is in a loop"""
    background: bool = False
    """whether it runs in the background, in parallel with what follows"""
    when: tuple[str, ...] = ()
    """the conditions it is subject to"""
    corrected: str | None = None
    """what the corrected script starts here, if it differs"""

    @property
    def starts(self) -> str:
        """What it starts: 16 ranks on 2 nodes, 4 threads each."""
        where = f" on {_number(self.nodes, 'node')}" if self.nodes else ""
        parts = [(_number(self.ranks, "rank") or "unknown number of ranks") + where]
        if not self.nodes and self.ranks_per_node:
            parts.append(f"{_number(self.ranks_per_node, 'rank')} per node")
        if self.threads:
            threads, one = _number(self.threads, "thread"), self.ranks == 1
            parts.append(f"each with {threads}" if isinstance(self.threads, tuple) else threads if one else f"{threads} each")
        return ", ".join([*parts, *([_number(self.gpus, "GPU")] if self.gpus else [])])


class CheckedFault(Value):
    """Something that will go wrong."""

    line: int
    id: str
    severity: Severity
    what: str
    why: str
    fix: str
    """the correct text"""
    corrected: bool
    """whether the corrected script includes it"""


class CheckedJob(Value):
    """What the header asks for."""

    scheduler: str
    nodes: int | None
    tasks: int | None
    tasks_per_node: int | None
    cpus_per_task: int | None
    gpus: int | None
    partition: str | None = None
    array: str | None = None
    """the indexes of a job array, each of which runs the whole script"""


class Check(Value):
    """A script as it was read."""

    file: str
    assumed: tuple[str, ...]
    """what is assumed, and what the answer is based on"""
    job: CheckedJob
    steps: tuple[CheckedStep, ...]
    faults: tuple[CheckedFault, ...]
    corrected: str | None
    """the corrected script; null if nothing changes"""
    patch: str
    """the difference as a patch"""

    def reaches(self, severity: str) -> bool:
        """Whether a fault is as severe, or more."""
        at_least = SEVERITIES[SEVERITIES.index(severity) :] if severity in SEVERITIES else ()
        return any(fault.severity in at_least for fault in self.faults)


def check(
    file: Path | str,
    machine: Machine | str | None = None,
    *,
    slurm_conf: Path | None = None,
    slurm_version: str | None = None,
    version: str | None = None,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
    asking: bool = False,
    observed: str | None = None,
    observer: Observer = SILENT,
) -> Check:
    """Return what a job script starts and what is wrong in it; nothing of it is run.

    ``machine`` is one of the nodes it will run on, or what --from names; ``text`` is the script where the file is not to be read,
    ``environment`` what is set where it will be run, if it is no script for a scheduler but is run in a job. With ``asking`` the
    launcher that is installed here plans the lines that are its own; ``true`` stands for the program. ``observed`` is a job's
    output with what the probe printed in its only launch line.
    """
    text = script_text(Path(file)) if text is None else text
    read_one = read_machine(machine, observer) if isinstance(machine, str) else machine
    script = read(text, environment)
    slurm = setup(slurm_conf, live=read_one is None) if script.job.scheduler == "slurm" or slurm_conf else None
    known = Known(
        _release(slurm_version or (slurm.version if slurm else None)), slurm.plugins if slurm and slurm.source else None
    )
    node, source, there = _node(script, read_one)
    if broken := _broken(script):  # what stands behind it is never run, and nobody knows what it would be
        token = "unexpected token" in broken.what  # of what is open bash names a line far behind it
        end = broken.line if token else min(broken.line, script.script.broken or 1)
        script = replace(script, steps=tuple(step for step in script.steps if step.line < end))
    found = [each for each in faults(script, known) if not broken or each.line < end]
    better, left = mended(script, found, known, environment) if not broken else (script, found)
    found = [*found, *([broken] if broken else [])]
    steps, more = _steps(script, node, slurm, known, (version, ask if asking else None))
    again = _steps(better, None, slurm, known, (version, None))[0] if better is not script else []
    if len(again) == len(steps):
        steps = [
            old.but(corrected=now.starts) if old.starts != now.starts else old for old, now in zip(steps, again, strict=True)
        ]
    if observed is not None:
        steps = [_as_seen(steps, observed)]
    known_of = {(fault.line, fault.id) for fault in found}
    known_of |= {(line, "too-many-threads") for line, name in known_of if name == "one-core"}  # the same, seen without a machine
    found += [each for each in more if (each.line, each.id) not in known_of]
    found += _small(script, there)
    stay = {(fault.id, fault.what) for fault in left}
    return Check(
        file=str(file),
        assumed=tuple(_assumed(script, slurm, known, source, node)),
        job=_job(script),
        steps=tuple(steps),
        faults=tuple(
            _shown(fault, corrected=bool(fault.edits) and (fault.id, fault.what) not in stay)
            for fault in sorted(found, key=lambda each: (each.line, each.id))
        ),
        corrected=better.text if better is not script else None,
        patch=patch(text, better.text, Path(file).name or "script"),
    )


_ENDS = re.compile(r"exit\b|exec\s+[\w./$\"']")
_OF_BASH = re.compile(r"(?!#!)|#!.*(?:/|\benv\s+)(?:ba)?sh\b")


def _broken(script: Scripted) -> Fault | None:
    """Return where bash would stop reading a script that the grammar does not know whole."""
    found = refused(script.text) if script.script.broken is not None and _OF_BASH.match(script.text) else None
    if found is None:
        return None
    lines = script.text.splitlines()
    line = min(found[0], len(lines))
    if any(_ENDS.match(each) for each in lines[: line - 1]):  # nobody reads what stands behind
        return None
    what = f"bash cannot read the script from here: {plain(found[1], 120)}"
    why = "The shell runs the commands above, then stops with this error."
    fix = "correct the syntax there" if "unexpected token" in what else "close what is open: a quote, a bracket, if or do"
    return Fault("syntax-error", line, "high", what, why, fix)


def starts_as_script(words: Sequence[str]) -> bool:
    """Whether a line is read as one of a script: torchrun's and its like, which no launcher of ranks starts."""
    program = next((word for word in words if not re.match(r"\w+=", word)), "").rpartition("/")[2]
    return not started_by(program) and bool(read(shlex.join(words)).steps)


def script_text(file: Path) -> str:
    """Return a script's text; refuse what is none."""
    try:
        with open_here(file) as opened:
            data = opened.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise BadInput(
            "script not found or not readable",
            file=str(file),
            cure="give a script, as in advisor check job.sbatch, or a line: advisor check -- srun -n 8 ./app",
        ) from error
    if len(data) > LARGEST:
        raise BadInput(f"more than {LARGEST >> 20} MiB", file=str(file), cure="refused as unsafe")
    if b"\0" in data:
        raise BadInput(
            "not a script",
            file=str(file),
            cure="give a job script, or put a line after --: advisor check -- srun -n 8 ./app",
        )
    return data.decode(errors="surrogateescape").replace("\r\n", "\n")


def _release(text: str | None) -> tuple[int, int] | None:
    release = release_of((text or "").removeprefix("slurm").strip(" -_")) if text else None
    if text and release is None:
        raise BadInput(f"{text[:40]!a} is not a version of Slurm", cure="give, for example, 23.02 or 24.05.3")
    return release[:2] if release else None


def _job(script: Scripted) -> CheckedJob:
    job = script.job
    return CheckedJob(
        scheduler=job.scheduler, nodes=job.nodes, tasks=job.total, tasks_per_node=job.per_node, cpus_per_task=job.cpus,
        gpus=job.total_gpus, partition=_partition(script), array=script.job.array,
    )  # fmt: skip


def _partition(script: Scripted) -> str | None:
    return script.job.value("partition", "-q", "-p", "--queue") or None


# the machine


def _node(script: Scripted, machine: Machine | None) -> tuple[Machine | None, str, PartitionNodes]:
    """Return a node of the job, where it is known from, and what it has where only numbers are known."""
    if machine is not None:
        return machine, machine.name or "the machine given with --from", PartitionNodes()
    partition = _partition(script)
    if partition and PARTITION.fullmatch(partition):
        if capture := partition_capture(partition):
            return read_machine(capture), capture, PartitionNodes()
        there = partition_nodes(partition) if script.job.scheduler == "slurm" else PartitionNodes()
        if any(there):
            return None, f"scontrol: nodes of the partition {partition} have {there.said}", there
    return None, "", PartitionNodes()


def _small(script: Scripted, there: PartitionNodes) -> list[Fault]:
    """Return the faults of lines that want more cores or GPUs of a node than its partition's nodes have."""
    found: list[Fault] = []
    for step in script.steps:
        cores, gpus = (step.per_node or 0) * (step.threads or 1), step.gpus_per_node or 0
        what, why = f"{step.per_node} ranks of {step.threads or 1} need", "Threads share cores, or the job never starts."
        for said, wanted, word, has, hurts in (
            (what, cores, "cores", there.cores, why),
            ("the line needs", gpus, "GPUs", there.gpus, "The job never starts."),
        ):
            if has is not None and wanted > has:
                what = f"{said} {wanted} {word} per node, but the partition's nodes have {has}"
                cure = "request fewer ranks per node, or more nodes"
                found.append(Fault("node-too-small", step.line, "high", what, hurts, cure))
    return found


_BLANKS = 6
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w -]{0,60}>")


def _placeholders(script: Scripted) -> Iterator[str]:
    """Yield what a template leaves to be filled in: in the header, and in launch lines, where the shell takes it for files."""
    headers = (directive.span.line for job in (script.job, *script.job.others) for directive in job.directives)
    read = {*headers, *(step.line for step in script.steps)}
    for number, line in enumerate(script.text.splitlines(), 1):
        if number in read:
            yield from (f"{found[0]} (line {number})" for found in _PLACEHOLDER.finditer(re.sub(r"(?<=\S)\s+#.*", "", line)))


def _assumed(script: Scripted, slurm: SlurmWords | None, known: Known, source: str, node: Machine | None) -> list[str]:
    """Return what the answer rests on, for the first lines of a page."""
    blanks = list(dict.fromkeys(_placeholders(script)))
    more = f" and {len(blanks) - _BLANKS} more" if len(blanks) > _BLANKS else ""
    said = [f"placeholders not filled in: {', '.join(blanks[:_BLANKS])}{more}"] if blanks else []
    if node is None:
        told = f"{source}; " if source else ""
        how = "captured on a compute node with advisor capture -o node.tar.gz"
        site = f"a site stores one for all users as {SITE}/PARTITION.tar.gz"
        said.append(f"{told}no node to place ranks on: give --from node.tar.gz, {how}; {site}")
    else:
        said.append(f"placed on {source}, assuming exclusive nodes")
    if script.job.scheduler == "slurm" and slurm is not None:
        said.append(f"Slurm configuration from {slurm.source}" if slurm.source else ASSUMED)
        if known.slurm is None:
            said.append("Slurm version unknown: 22.05-23.02 are checked too; --slurm-version 24.05 omits their faults")
    return said


# steps


def _steps(
    script: Scripted, node: Machine | None, slurm: SlurmWords | None, known: Known, how: tuple[str | None, Ask | None]
) -> tuple[list[CheckedStep], list[Fault]]:
    steps: list[CheckedStep] = []
    more: list[Fault] = []
    for step in script.steps:
        answer: Lint | None = None
        why = ""
        if node is not None and not step.nothing:
            answer, why = _predicted(step, node, slurm, known, how)
        if answer is not None:
            more += [
                Fault(
                    each.id,
                    step.line,
                    "high" if each.misbinds else "low",
                    each.what,
                    each.why,
                    _of_all_nodes(step, answer, each.better) if each.better else "advisor bind writes a line for this node",
                )
                for each in answer.warnings
            ]
        ranks = answer.ranks if answer else None
        told = {"ranks": step.ranks, "nodes": step.nodes, "per node": step.per_node, "threads": step.threads, "GPUs": step.gpus}
        steps.append(
            CheckedStep(
                line=step.line,
                launcher=step.launcher,
                family=answer.launcher if answer else step.family,
                program=_program(step),
                ranks_per_node=_values(step, "per_node"),
                **{name: _values(step, name) for name in ("ranks", "nodes", "threads", "gpus", "gpus_per_node")},
                placed=answer.placed if answer else "not-told",
                placement=ranks,
                answers=answer.answers if answer else (),
                binding=answer.binding if answer else f"not known: {why}" if why else "",
                unknown={what: why for what, why in step.why.items() if told.get(what) is None},
                repeated=step.launch.repeated,
                background=step.launch.background,
                when=step.launch.when,
            )
        )
    return steps, more


def _as_seen(steps: Sequence[CheckedStep], file: str) -> CheckedStep:
    """Return the only step with what its ranks saw themselves."""
    if len(steps) != 1:
        raise BadInput(
            f"it has {len(steps)} launch lines", cure="--observed needs one launch line, or a script that contains only one"
        )
    seen = observed_in(file)
    ranks = seen.ranks or ()
    cpus = Counter((rank.host, cpu) for rank in ranks for cpu in rank.cpus or ())
    shared = sum(1 for rank in ranks if any(cpus[rank.host, cpu] > 1 for cpu in rank.cpus or ()))
    sizes = sorted({len(rank.cpus or ()) for rank in ranks})
    wanted = f" of {steps[0].ranks}" if steps[0].ranks not in (None, len(ranks)) else ""
    hosts = count(len({rank.host for rank in ranks}), "host")
    words = f"{len(ranks)}{wanted} ranks on {hosts} ran on {' or '.join(map(str, sizes))} CPU{'s' * (sizes != [1])} each, "
    words += f"{shared} of them on another rank's CPUs" if shared else "none on another rank's CPUs"
    return steps[0].but(placed="observed", placement=ranks, answers=(seen,), binding=words)


def _program(step: Step) -> str:
    if step.nothing:
        return "nothing: it only prints information"
    texts = (" ".join(shown(" ".join(word.text for word in part.program[:3])).split()) for part in step.segments)
    return " : ".join(text if len(text) <= 72 else f"{text[:72]}..." for text in texts)


def _values(step: Step, name: str) -> int | tuple[int, ...] | None:
    found = variants(step, name)
    return tuple(found) if isinstance(found, list) else found


_FOR_LINES = re.compile(
    r"(OMP|KMP|I_MPI|OMPI_MCA|PRTE_MCA|MV2|HYDRA|MPICH|PALS|UCX_NET|CUDA_VISIBLE|ROCR_VISIBLE)(_\w+)?|SLURM_CPU_BIND|SLURM_MEM_BIND|SRUN_\w+"
)
_OF_SLURM = words(
    "SLURM_NTASKS SLURM_JOB_NUM_NODES SLURM_NTASKS_PER_NODE SLURM_CPUS_PER_TASK SLURM_HINT "
    "SLURM_DISTRIBUTION SLURM_THREADS_PER_CORE SLURM_EXACT SLURM_OVERCOMMIT"
)


def _predicted(
    step: Step, node: Machine, slurm: SlurmWords | None, known: Known, how: tuple[str | None, Ask | None]
) -> tuple[Lint | None, str]:
    """Return what a line does on a node, or why that is not known."""
    version, asked = how
    words = [word.text for word in step.launch.words]
    odd = next((text for text in words if not is_known(text)), None)
    ends = len(words) - len(step.program)
    if any(not is_known(text) for text in words[:ends]) or (len(step.segments) > 1 and odd):
        return None, f"it depends on {shown(odd or '')[:60]}"
    words = [shown(text) for text in (*words, *(() if step.program else ("./program",)))]  # of a script that is not read
    words[0] = step.launcher.split(" ")[0]
    if _reads_one_node(step):
        if not step.per_node or len(step.segments) > 1:
            return None, "which ranks each node gets"
        words = _of_one_node(step, words)
    names: Collection[str] = _OF_SLURM if step.launcher == "srun" else ()
    variables = {
        name: text
        for name, text in step.launch.variables.items()
        if is_known(text) and (_FOR_LINES.fullmatch(name) or name in names)
    }
    if step.launcher == "srun" and step.inherited and "SLURM_CPUS_PER_TASK" in variables:
        variables.pop("SLURM_CPUS_PER_TASK")
    if "SLURM_NTASKS" in variables and step.first.has("nodes", "ntasks-per-node") and not step.first.has("ntasks") and step.ranks:
        variables["SLURM_NTASKS"] = str(step.ranks)
    given = version or (
        f"{step.family}" if step.family in ("openmpi4", "openmpi5", "intelmpi", "mpich", "pals", "mvapich") else None
    )
    if step.launcher == "srun":
        given = f"srun {known.slurm[0]}.{known.slurm[1]:02}" if known.slurm else None
    files = {KEY: slurm.text} if slurm else {}
    try:
        line = [*(f"{name}={text}" for name, text in variables.items()), *words]
        return lint(line, node, version=given, files=files, ask=asked if _is_here(step) else None), ""
    except AdvisorError as error:
        return None, getattr(error, "problem", str(error))


def _is_here(step: Step) -> bool:
    """Whether a line starts the launcher that is installed where the script is checked: it names no other, and loads none."""
    here = installed(step.launcher)
    own = step.loaded is None or (here is not None and here.version == step.loaded)
    return own and step.launch.words[0].text == step.launcher


def _reads_one_node(step: Step) -> bool:
    """Whether a line is worked out for the ranks of one node, for its launcher gets the nodes elsewhere."""
    alike = ("openmpi", "openmpi4", "openmpi5", "intelmpi", "intelmpi?", "hydra", "mpich", "mpt", None)
    return step.family in alike and (step.nodes or 1) > 1


def _of_all_nodes(step: Step, answer: Lint, better: str) -> str:
    """Return a better line, which was made for the ranks of one node, with those of the whole step and with its hosts."""
    words = shlex.split(better) if _reads_one_node(step) and step.launcher in better.split(" ") else []
    if not words:
        return better
    kept: list[str] = []
    for option in step.first.options:
        if option.name in _OF_NODES and (option.name.startswith("--host") or "ppr:" not in better):
            kept += [shown(option.word.text), *([shown(option.value_word.text)] if option.value_word else [])]
    try:
        line = parse(words, answer.launcher)
    except AdvisorError:
        return ADVISE
    ranks = str(step.ranks) if step.ranks else shown(step.first.value("-n") or "")
    count = {name: (name, ranks) if ranks else () for name in ("-n", "-np")}
    return rewrite(line, lambda said: count.get(said.name), add=kept)


_OF_NODES = ("--hostfile", "--host", "--hosts", "--ppn", "--npernode", "-N")
"""Options that say which nodes a line has, or how many ranks of each."""


def _of_one_node(step: Step, words: Sequence[str]) -> list[str]:
    """Return a line with the ranks of one node alone, and without its hosts."""
    first = step.first
    drop: set[int] = set()
    out = list(words)
    for option in first.options:
        at = next((at for at, word in enumerate(step.launch.words) if word is option.word), None)
        if at is None:
            continue
        if option.name == "-n":
            out[at + 1 if option.value_word else at] = str(step.per_node) if option.value_word else f"-n{step.per_node}"
        elif option.name in _OF_NODES:
            drop |= {at, at + 1} if option.value_word else {at}
    if not first.has("-n"):
        out[0] = f"{out[0]} -n {step.per_node}"
    return [part for at, word in enumerate(out) if at not in drop for part in (word.split(" ") if at == 0 else [word])]


def _shown(fault: Fault, *, corrected: bool) -> CheckedFault:
    return CheckedFault(
        line=fault.line, id=fault.id, severity=fault.severity, what=fault.what, why=fault.why, fix=fault.fix, corrected=corrected
    )


def surroundings(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return a line with the variables of the job or shell that it is started in before it, where it does not set them itself."""
    launcher = next((word.rpartition("/")[2] for word in words if "=" not in word), "")
    names: Collection[str] = _OF_SLURM if launcher == "srun" else ()
    own = {word.partition("=")[0] for word in words if re.match(r"\w+=", word)}
    taken = {
        name: text for name, text in environment.items() if (_FOR_LINES.fullmatch(name) or name in names) and name not in own
    }
    if "SLURM_CPUS_PER_TASK" in taken and "SRUN_CPUS_PER_TASK" in taken:
        taken.pop("SLURM_CPUS_PER_TASK")
    return [*(f"{name}={text}" for name, text in sorted(taken.items())), *words]


def document(found: Check) -> dict[str, Any]:
    """Return the document of ``advisor check job.sbatch --json``."""
    return {"schema": "advisor-check/1", **found.model_dump(mode="json")}


_MOST_DRAWN = 3
"""Drawings of a node on a page: of steps whose ranks lie otherwise."""


def check_page(found: Check, width: int | None = None, machine: Machine | None = None, *, saved: bool = False) -> Page:
    """Return the page of a script; with the node that it was placed on, drawn with the ranks of each step."""
    return Page(lambda room: _lines(found, room, machine, saved=saved), width)


def _lines(found: Check, width: int, machine: Machine | None, *, saved: bool) -> list[Line]:
    """Return the verdict, what is wrong where, each fault, what each line starts, and what all this rests on."""
    alike: dict[CheckedFault, list[int]] = {}
    for fault in found.faults:
        alike.setdefault(fault.but(line=0, corrected=False), []).append(fault.line)
    result = wrapped(
        [(f"{plain(found.file, 200)}: ", "title"), *_verdict(alike, placed=machine is not None), (_head(found.job), "")], width
    )
    if alike:
        named = [f"{_places(numbers)} {fault.id}" for fault, numbers in alike.items()]
        more = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        result += [*wrapped([("; ".join(named[:_MOST_NAMED]) + more, "")], width), (), (("Faults", "heading"),)]
    for fault, numbers in alike.items():
        result += _fault(fault, _places(numbers), width)
    if found.corrected is not None and not saved:
        result += wrapped([("--fix shows the corrected script as a patch; -o FILE saves the script", "dim")], width)
    result += [(), (("What it starts", "heading"),)]
    if not found.steps:
        broken = any(fault.id == "syntax-error" for fault in found.faults)
        where = f", on the first of {found.job.nodes} nodes" if (found.job.nodes or 1) > 1 else ""
        asked = f"; {found.job.tasks} tasks are requested" if (found.job.tasks or 1) > 1 else ""
        none = "nothing that can be read" if broken else f"no launch line found: the commands run once{where}{asked}"
        result += wrapped([(f"  {none}", "")], width, indent=2)
    drawn: list[tuple[LintRank, ...]] = []
    for at, step in enumerate(found.steps):
        if at == _MOST_SHOWN:
            more = count(len(found.steps) - at, "more launch line")
            result += wrapped([(f"  {more}; --json lists every one", "")], width, indent=2)
            break
        result += _step(step, width)
        ranks = step.placement or ()
        here = tuple(rank for rank in ranks if rank.host == ranks[0].host)
        if machine and here and here not in drawn and all(rank.cpus for rank in here) and len(drawn) < _MOST_DRAWN:
            drawn.append(here)
            slots = [Slot(cpus=rank.cpus, cores=0, nodes=(), memory=(), l3=(), socket=None) for rank in here if rank.cpus]
            result += [(), *node_lines(machine, slots, f"line {step.line}: {count(len(here), 'rank')} per node", width)]
    result += [(), (("What this is based on", "heading"),)]
    for each in found.assumed:
        result += wrapped([("  ", ""), (plain(each, 600), "dim")], width, indent=2)
    return result


_MOST_LINES = 12
"""Lines of one fault that are named."""
_MOST_SHOWN = 60
"""Launch lines that a page shows: a farm has a thousand alike."""
_MOST_NAMED = 6
"""Faults that the second line of a page names."""


def _verdict(alike: Mapping[CheckedFault, Sequence[int]], *, placed: bool) -> list[tuple[str, str]]:
    """Return how many faults there are, and how many of them will surely hurt."""
    unplaced = "" if placed else ", placement not checked"
    if not alike:
        return [("no faults found", "good"), (unplaced, "")]
    high = sum(fault.severity == "high" for fault in alike)
    share = f"{high} of them high" if high < len(alike) else "both high" if high == 2 else "all high"
    worst = max((fault.severity for fault in alike), key=SEVERITIES.index)
    return [
        (
            count(len(alike), "fault") + (f", {share}" if high and len(alike) > 1 else f" ({worst})"),
            worst,
        ),
        (unplaced, ""),
    ]


def _head(job: CheckedJob) -> str:
    asked = [
        f"{job.scheduler} job" if job.scheduler != "none" else "no scheduler directives",
        count(job.nodes, "node") if job.nodes else "",
        count(job.tasks, "task") if job.tasks else "",
        f"{count(job.cpus_per_task, 'CPU')} per task" if job.cpus_per_task else "",
        count(job.gpus, "GPU") if job.gpus else "",
        f"for each index of the array {plain(job.array, 60)}" if job.array else "",
    ]
    return f"; {', '.join(each for each in asked if each)}"


def _places(numbers: Sequence[int]) -> str:
    numbers = list(dict.fromkeys(numbers))
    more = f" and {len(numbers) - _MOST_LINES} more" if len(numbers) > _MOST_LINES else ""
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_MOST_LINES]))}{more}"


def _number(value: int | tuple[int, ...] | None, one: str) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        listed = ", ".join(map(str, value[:8])) + (", ..." if len(value) > 8 else "")
        return f"{listed} {one}s in turn"
    return count(value, one)


def _step(step: CheckedStep, width: int) -> list[Line]:
    notes = [
        note for note, holds in (("in each iteration of a loop", step.repeated), ("in the background", step.background)) if holds
    ]
    notes += [f"if {plain(each, 60)}" for each in step.when[:2]]
    tail = f" ({'; '.join(notes)})" if notes else ""
    result = wrapped(
        [(f"  line {step.line}: ", "label"), (step.launcher, "title"), (f": {step.starts}{tail}", "")], width, indent=4
    )
    if step.corrected:
        result += wrapped([("    corrected: ", "label"), (step.corrected, "")], width, indent=6)
    result += wrapped([("    ", ""), (plain(step.program, 200), "dim")], width, indent=6)
    for what, why in step.unknown.items():
        if why:
            name = "ranks per node" if what == "per node" else what
            result += wrapped([(f"    {name} not known: ", "unknown"), (plain(why, 200), "dim")], width, indent=6)
    if step.binding:
        result += wrapped(
            [("    ", ""), (plain(step.binding, 1000), "unknown" if step.placed == "not-told" else "")], width, indent=6
        )
    if step.answers:
        result += wrapped([("    ", ""), (how_known(step.placed, step.answers), "dim")], width, indent=6)
    if step.placement:
        result += [((f"  {line[0][0]}", line[0][1]), *line[1:]) for line in rows_of_ranks(step.placement, width - 2)]
    return result


def _fault(fault: CheckedFault, where: str, width: int) -> list[Line]:
    result = wrapped(
        [(f"  {where}: ", "label"), (fault.id, fault.severity), (f" ({fault.severity}): {plain(fault.what, 600)}", "")],
        width,
        indent=4,
    )
    result += wrapped([("    why   ", "label"), (plain(fault.why, 600), "")], width, indent=10)
    return result + wrapped([("    fix   ", "label"), (plain(fault.fix, 600), "title")], width, indent=10)
