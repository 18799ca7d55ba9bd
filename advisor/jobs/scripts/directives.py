"""What a job script asks its scheduler for, by directives: #SBATCH, #PBS, #BSUB, #$, #flux:, #PJM."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.jobs.scripts.expansion import Span, unknown, words

MARKS = {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB", "flux": "#flux:", "pjm": "#PJM", "sge": "#$"}
"""How directives begin; those of Grid Engine last, for their sign is short."""

SHORT = {
    "a": "array", "A": "account", "b": "begin", "c": "cpus-per-task", "d": "dependency", "D": "chdir", "e": "error",
    "C": "constraint",
    "F": "nodefile", "G": "gpus", "H": "hold", "i": "input", "J": "job-name", "k": "no-kill", "L": "licenses", "M": "clusters",
    "m": "distribution", "n": "ntasks", "N": "nodes", "o": "output", "O": "overcommit", "p": "partition", "q": "qos",
    "Q": "quiet",
    "s": "oversubscribe", "S": "core-spec", "t": "time", "v": "verbose", "W": "wait", "w": "nodelist", "x": "exclude",
    "B": "extra-node-info", "I": "immediate", "h": "help", "V": "version",
}  # fmt: skip
FLAGS = words(
    "hold no-kill overcommit oversubscribe quiet verbose wait no-requeue requeue parsable contiguous spread-job "
    "use-min-nodes reboot ignore-pbs help version usage test-only exclusive nice propagate get-user-env export-none "
    "no-bell share"
)
"""Options of sbatch that no word follows; a few may have a value behind a sign of equality."""
OF_SBATCH = (
    FLAGS
    | frozenset(SHORT.values())
    | words(
        "bb bbf burst-buffer cluster comment cpu-freq deadline delay-boot export export-file gid gres gres-flags mail-type "
        "mail-user mcs-label ntasks-per-node tasks-per-node priority power profile signal switches thread-spec time-min "
        "uid wckey wrap cluster-constraint mem mincpus reservation tmp mem-per-cpu mem-bind sockets-per-node "
        "cores-per-socket threads-per-core ntasks-per-core ntasks-per-socket ntasks-per-gpu cpus-per-gpu gpu-bind "
        "gpu-freq gpus-per-node gpus-per-socket gpus-per-task mem-per-gpu hint network acctg-freq container container-id "
        "prefer tres-per-task tres-bind threads segment stepmgr resv-ports open-mode kill-on-invalid-dep workdir extra "
        "exclusive oom-kill-step consolidate-segments spread-segments jobid"
    )
)
OF_SRUN = words(
    "cpu-bind mpi kill-on-bad-exit label unbuffered multi-prog exact overlap pty accel-bind bcast preserve-env epilog "
    "prolog task-prolog task-epilog slurmd-debug disable-status interactive relative compress external-launcher whole "
    "cpu_bind mem_bind"
)
"""Options of srun that sbatch refuses (22.05 says "unrecognized option"; the manuals of later ones lack them too)."""

_COUNTS = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus", "gpus-per-node", "gpus-per-task", "threads-per-core")


@dataclass(frozen=True)
class Directive:
    """One option of a directive's line."""

    name: str
    """In sbatch's long form; of other schedulers as it is written."""
    value: str
    span: Span
    """The whole line."""
    written: str
    """The words of it."""
    counts: bool = True
    """Whether the scheduler reads it: not behind the first command, nor where it is not at the line's begin."""


@dataclass
class Job:
    """What a script asks for."""

    scheduler: str = "none"
    directives: list[Directive] = field(default_factory=list)
    strays: list[tuple[str, Span]] = field(default_factory=list)
    """Words of directives that belong to no option."""
    others: list["Job"] = field(default_factory=list)
    """The parts of a heterogeneous job behind the first."""
    nodes: int | None = None
    tasks: int | None = None
    per_node: int | None = None
    """Ranks of a node: tasks of Slurm, mpiprocs or ppn of PBS."""
    cpus: int | None = None
    """CPUs of a task; ncpus of a chunk stand in node_cpus."""
    node_cpus: int | None = None
    """CPUs of a node that are asked for."""
    threads: int | None = None
    """What the scheduler itself sets OMP_NUM_THREADS to: ompthreads of PBS."""
    gpus: int | None = None
    gpus_per_node: int | None = None
    gpus_per_task: int | None = None
    exclusive: bool = False
    hint: str | None = None
    array: str | None = None
    threads_per_core: int | None = None
    mpiprocs_said: bool = False
    odd: list[tuple[Directive, str]] = field(default_factory=list)
    """Directives whose value is no number where one must be, with what is wrong."""

    def find(self, *names: str) -> Directive | None:
        """Return the last directive of some names: it is the one that counts."""
        return next((each for each in reversed(self.directives) if each.name in names and each.counts), None)

    def value(self, *names: str) -> str | None:
        """Return the value that counts."""
        found = self.find(*names)
        return found.value if found else None

    def has(self, *names: str) -> bool:
        """Whether a directive is there and counts."""
        return self.find(*names) is not None

    @property
    def total(self) -> int | None:
        """Ranks of the whole job."""
        if self.tasks is not None:
            return self.tasks
        return self.per_node * self.nodes if self.per_node and self.nodes else None

    @property
    def total_gpus(self) -> int | None:
        """GPUs of the whole job, None where none are asked for or their number is not known."""
        if self.gpus is not None:
            return self.gpus
        if self.gpus_per_node is not None and self.nodes is not None:
            return self.gpus_per_node * self.nodes
        return self.gpus_per_task * self.total if self.gpus_per_task and self.total else None

    @property
    def gpus_of_a_node(self) -> int | None:
        """GPUs of each node."""
        if self.gpus_per_node is not None:
            return self.gpus_per_node
        total = self.total_gpus
        return total // self.nodes if total is not None and self.nodes and total % self.nodes == 0 else None


def read(text: str) -> Job:
    """Return what the directives of a script ask for."""
    job = Job()
    rows = [(span, re.sub(r"^(\s*)#MSUB(?=\s)", r"\1#PBS", line)) for span, line in _rows(text)]  # Moab's are those of PBS
    job.scheduler = _scheduler(rows)
    mark = MARKS.get(job.scheduler)
    if mark is None:
        return job
    shebang = rows[0][1] if rows else ""
    blockwise = bool(re.match(r"\s+#!", shebang))
    begun = False
    for span, line in rows:
        stripped = line.strip()
        body = _behind(stripped, mark, job.scheduler)
        if body is None:
            begun = begun or bool(stripped and not stripped.startswith("#") and not _BLANK.fullmatch(stripped))
            continue
        indented = line[:1].isspace() and not blockwise
        counts = not (indented and job.scheduler == "slurm") and not (begun and job.scheduler in ("slurm", "pbs"))
        if job.scheduler == "slurm" and counts and body.partition(" ")[0] in ("hetjob", "packjob"):
            job.others.append(Job("slurm"))
            continue
        _take([job, *job.others][-1], body, span, counts=counts)
    for other in job.others:
        _slurm(other)
    job.array = job.value("array", "-J", "-t") if job.scheduler in ("slurm", "pbs", "sge") else None
    {"slurm": _slurm, "pbs": _pbs, "lsf": _lsf, "sge": _sge, "flux": _flux, "pjm": _pjm}[job.scheduler](job)
    each = _number(job, "ntasks-per-gpu") if job.scheduler == "slurm" and job.tasks is None and job.per_node is None else None
    if each and job.total_gpus:  # GPUs without a number of tasks determine it (sbatch(1))
        job.tasks = each * job.total_gpus
    return job


_BLANK = re.compile(r"@\w+@|<[\w ]+>|\{\{.*\}\}|\{%.*%\}|\.\.\.")
"""A line that a template leaves to be filled in."""


def _rows(text: str) -> Iterator[tuple[Span, str]]:
    at = 0
    for number, line in enumerate(text.split("\n"), 1):
        size = len(line.encode(errors="replace"))
        yield Span(at, at + size, number), line.rstrip("\r")
        at += size + 1


def _scheduler(rows: Sequence[tuple[Span, str]]) -> str:
    counts = dict.fromkeys(MARKS, 0)
    for _, line in rows:
        for name, mark in MARKS.items():
            if _behind(line.strip(), mark, name) is not None:
                counts[name] += 1
                break
    most = max(counts, key=lambda name: counts[name])
    return most if counts[most] else "none"


def _behind(line: str, mark: str, scheduler: str) -> str | None:
    """Return what follows a directive's sign; None of a line that is none."""
    if scheduler == "flux":
        match = re.match(r"#\s*flux:\s*(.*)", line, re.IGNORECASE)
        return match[1] if match else None
    if scheduler == "sge":
        match = re.match(r"#\$\s+(-.*)", line)
        return match[1] if match else None
    if not line.startswith(mark) or not line[len(mark) : len(mark) + 1].isspace():
        return None
    return line[len(mark) :].strip()


def _take(job: Job, body: str, span: Span, *, counts: bool) -> None:
    """Add the options of one line."""
    words = _split(body, job.scheduler)
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word == "-":
            if not re.fullmatch(r"\(\d+\)!?", word) and counts:
                job.strays.append((word, span))
            continue
        if job.scheduler == "slurm":
            name, value, used = _of_sbatch(word, words[at:])
        else:
            name, value, used = _of_others(word, words[at:], job.scheduler)
        job.directives.append(Directive(name, value, span, " ".join([word, *words[at : at + used]]), counts=counts))
        at += used


def _split(body: str, scheduler: str) -> list[str]:
    """Return the words of a directive; # behind a blank begins a comment, of sbatch each # that is not quoted (sbatch/opt.c)."""
    try:
        body = re.sub(r"\{\{.*?\}\}", lambda match: match[0].replace(" ", ""), body)  # a template's expression is a word
        lexer = shlex.shlex(body, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, "#" if scheduler == "slurm" else ""
        words: list[str] = []
        for word in lexer:
            if word.startswith("#"):
                break
            words.append(word)
    except ValueError:
        return body.split()
    return words


def _of_sbatch(word: str, behind: Sequence[str]) -> tuple[str, str, int]:
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if equals:
            return long_name(name), value, 0
        known = long_name(name)
        if known in FLAGS or name in OF_SRUN - {"cpu-bind", "mpi"} or not behind or behind[0].startswith("-"):
            return known, "", 0
        return known, behind[0], 1
    name = SHORT.get(word[1:2], word[1:2])
    if len(word) > 2:
        return name, word[2:].removeprefix("="), 0
    return (name, "", 0) if name in FLAGS or not behind else (name, behind[0], 1)


def long_name(name: str) -> str:
    """Return an option's whole name: getopt takes the begin of one that is no other's, and --tasks is --tasks-per-node's."""
    name = "ntasks-per-node" if name == "tasks-per-node" else name
    if name in OF_SBATCH or name in OF_SRUN:
        return name
    fitting = sorted({each for each in OF_SBATCH if each.startswith(name)}) if len(name) > 2 else []
    return "ntasks-per-node" if fitting == ["tasks-per-node"] else fitting[0] if len(fitting) == 1 else name


def _of_others(word: str, behind: Sequence[str], scheduler: str) -> tuple[str, str, int]:
    name, equals, value = word.partition("=")
    if word.startswith("--"):
        if equals:
            return name, value, 0
        flag = scheduler == "flux" and name in ("--exclusive", "--unbuffered", "--verbose", "--quiet", "--wait")
        return (name, "", 0) if flag or not behind or behind[0].startswith("-") else (name, behind[0], 1)
    if scheduler in ("pbs", "flux") and len(word) > 2:
        return word[:2], word[2:], 0
    if scheduler == "sge" and word == "-pe" and len(behind) > 1:
        return word, " ".join(behind[:2]), 2
    return (word, behind[0], 1) if behind and not behind[0].startswith("-") else (word, "", 0)


def _number(job: Job, *names: str) -> int | None:
    """Return the number of a directive; of a range its begin; keep what is none."""
    found = job.find(*names)
    if found is None:
        return None
    match = re.fullmatch(r"(\d{1,8})(?:-\d{1,8})?[kKmM]?", found.value, re.ASCII)
    if match:
        return int(match[1])
    if "$" in found.value:
        job.odd.append((found, f"{found.value} is not expanded: no shell reads directives"))
    elif not re.fullmatch(r"[<{\[].*[>}\]]|.*<.*>.*|[@%_!]+\w+[@%_!]*", found.value):
        job.odd.append((found, f"{found.value or 'nothing'} is not a number"))
    return None


def _gpus(text: str | None) -> int | None:
    """Return a number of GPUs: 4, a100:4, gpu:4, gpu:a100:4; a name alone is one."""
    if not text:
        return None
    total = 0
    for part in text.split(","):
        words = part.partition("(")[0].split(":")
        if re.fullmatch(r"\d{1,6}", words[-1], re.ASCII):
            total += int(words[-1])
        elif re.fullmatch(r"[\w.-]+", words[-1]):
            total += 1
        else:
            return None
    return total


def gres(text: str | None) -> int | None:
    """Return the GPUs that --gres asks of a node; None where it names none."""
    parts = [part for part in (text or "").split(",") if re.match(r"(gres[:/])?(gpu|dcu|mig|npu|shard|vgpu)\b", part)]
    return _gpus(",".join(parts)) if parts else None


def gpu_count(text: str | None) -> int | None:
    """Return the GPUs that --gpus and its like ask for."""
    return _gpus(text)


def _slurm(job: Job) -> None:
    job.nodes = _number(job, "nodes")
    job.tasks = _number(job, "ntasks")
    job.per_node = _number(job, "ntasks-per-node")
    job.cpus = _number(job, "cpus-per-task")
    job.threads_per_core = _number(job, "threads-per-core")
    job.gpus = _gpus(job.value("gpus"))
    job.gpus_per_node = _gpus(job.value("gpus-per-node"))
    if job.gpus_per_node is None:
        job.gpus_per_node = gres(job.value("gres"))
    job.gpus_per_task = _gpus(job.value("gpus-per-task"))
    job.exclusive = job.has("exclusive")
    job.hint = job.value("hint")
    if job.nodes is None and job.tasks == 1:
        job.nodes = 1
    if job.nodes is None and job.tasks and job.per_node and not job.has("nodes"):
        job.nodes = -(-job.tasks // job.per_node)
    if job.per_node is None and job.tasks and job.nodes == 1:
        job.per_node = job.tasks


def _pbs(job: Job) -> None:
    for directive in job.directives:
        if directive.name == "-l" and directive.counts:
            _resources(job, directive)


def _resources(job: Job, directive: Directive) -> None:  # noqa: C901, PLR0912 - a case a kind of resource
    text = directive.value
    if match := re.search(r"(?:^|,)\s*(select|nodes)=(.+?)(?=,\s*\w+=|$)", text):
        chunks = [chunk.split(":") for chunk in match[2].split("+")]
        counts = [_count(chunk[0]) for chunk in chunks]
        if None in counts:
            if "$" in chunks[0][0]:
                job.odd.append((directive, f"{chunks[0][0]} is not expanded: no shell reads directives"))
            elif not re.search(r"[<{]", text) and re.match(r"[A-Z]+$", chunks[0][0]):
                job.odd.append((directive, f"{chunks[0][0]} is not a number"))
        keys = [dict(part.partition("=")[::2] for part in chunk[1:]) for chunk in chunks]
        if None not in counts:
            job.nodes = sum(count or 0 for count in counts)
        own = keys[0]
        cpus, ranks = _count(own.get("ncpus")), _count(own.get("mpiprocs"))
        if match[1] == "nodes":
            cpus = ranks = _count((own.get("ppn") or "").partition(",")[0]) or 1
            job.mpiprocs_said = True
        elif ranks is not None:
            job.mpiprocs_said = True
        job.node_cpus = cpus
        job.per_node = ranks if ranks is not None else 1 if match[1] == "select" else None
        if None not in counts and len(chunks) > 1:
            sums = [
                (_count(each.get("mpiprocs") or each.get("ppn")) or 1) * (count or 1)
                for each, count in zip(keys, counts, strict=True)
            ]
            job.tasks = sum(sums)
        job.threads = _count(own.get("ompthreads"))
        job.gpus_per_node = _count(own.get("ngpus") or own.get("gpus"))
    for part in text.split(",") if not (match and match[1] == "select") else ():
        name, _, value = part.partition("=")
        if name == "ncpus":
            job.tasks = _count(value)
        elif name == "ngpus":
            job.gpus = _count(value)
        elif name == "mppwidth":
            job.tasks = _count(value)
    if re.search(r"place=.*excl", text):
        job.exclusive = True


def _count(text: str | None) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,7}", text or "", re.ASCII) and text else None


def _lsf(job: Job) -> None:
    nodes = job.value("-nnodes")
    job.nodes = _count(nodes)
    tasks = job.value("-n")
    job.tasks = _count((tasks or "").partition(",")[0])
    tile = next(
        (match for each in job.directives if each.name == "-R" and (match := re.search(r"ptile\s*=\s*'?(\d+)", each.value))), None
    )
    if tile:
        job.per_node = int(tile[1])
        if job.tasks and job.nodes is None:
            job.nodes = -(-job.tasks // job.per_node)
    if match := re.search(r"num=(\d+)(/task)?", job.value("-gpu") or ""):
        job.gpus_per_node, job.gpus_per_task = (None, int(match[1])) if match[2] else (int(match[1]), None)
    job.exclusive = job.has("-x")


def _sge(job: Job) -> None:
    words = (job.value("-pe") or "").split()
    job.tasks = _count(words[1]) if len(words) > 1 else None
    if job.tasks is None and not words:
        job.tasks, job.nodes = 1, 1


def _flux(job: Job) -> None:
    job.nodes = _count(job.value("-N", "--nodes"))
    job.tasks = _count(job.value("-n", "--ntasks"))
    job.per_node = _count(job.value("--tasks-per-node"))
    job.cpus = _count(job.value("-c", "--cores-per-task"))
    job.gpus_per_task = _count(job.value("-g", "--gpus-per-task"))
    job.gpus_per_node = _count(job.value("--gpus-per-node"))
    job.exclusive = job.has("-x", "--exclusive")


def _pjm(job: Job) -> None:
    for each in job.directives:
        for part in each.value.split(","):
            name, _, value = part.partition("=")
            first = re.match(r"(\d+)(?:x(\d+))?(?:x(\d+))?", value)
            if not first:
                continue
            number = int(first[1]) * int(first[2] or 1) * int(first[3] or 1)
            if each.name in ("-L", "--rsc-list") and name in ("node", "vnode"):
                job.nodes = number
            elif each.name == "--mpi" and name == "max-proc-per-node":
                job.per_node = number
            elif each.name == "--mpi" and name == "proc":
                job.tasks = number


def of_environment(variables: Mapping[str, str]) -> Job:
    """Return the job that a shell runs in, by the variables that its scheduler set."""
    job = Job()
    if "SLURM_JOB_ID" in variables or "SLURM_JOBID" in variables:
        job.scheduler = "slurm"
        job.nodes = _count(variables.get("SLURM_JOB_NUM_NODES") or variables.get("SLURM_NNODES"))
        job.tasks, job.cpus = _count(variables.get("SLURM_NTASKS")), _count(variables.get("SLURM_CPUS_PER_TASK"))
        job.per_node = _count(variables.get("SLURM_NTASKS_PER_NODE"))
    elif "PBS_JOBID" in variables:
        job.scheduler, job.mpiprocs_said = "pbs", "PBS_NP" in variables
        job.tasks, job.nodes = _count(variables.get("PBS_NP")), _count(variables.get("PBS_NUM_NODES"))
    elif "LSB_JOBID" in variables:
        job.scheduler, job.tasks = "lsf", _count(variables.get("LSB_DJOB_NUMPROC"))
    return job


def variables(job: Job) -> dict[str, str]:
    """Return the variables that the scheduler sets, as far as they are known."""
    found = dict({"slurm": _of_slurm, "pbs": _of_pbs}.get(job.scheduler, _of_rest)(job))
    for each in job.directives:
        if each.counts and each.name in ("-v", "export", "-env"):  # what a job's environment gets besides
            found.update(re.findall(r"(\w+)=([^,]*)", each.value))
    return {name: value for name, value in found.items() if value}


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _of_slurm(job: Job) -> Mapping[str, str]:
    nodes, tasks = _text(job.nodes), _text(job.total)
    per_node = job.per_node if job.value("ntasks-per-node") else None
    named = job.value("gpus-per-node")
    each = job.total // job.nodes if job.total and job.nodes and job.total % job.nodes == 0 else None
    found = {
        "SLURM_NNODES": nodes, "SLURM_JOB_NUM_NODES": nodes, "SLURM_CPUS_PER_TASK": _text(job.cpus),
        "SLURM_NTASKS": tasks, "SLURM_NPROCS": tasks, "SLURM_NTASKS_PER_NODE": _text(per_node),
        "SLURM_GPUS": _text(job.gpus), "SLURM_GPUS_PER_NODE": named or "", "SLURM_GPUS_PER_TASK": _text(job.gpus_per_task),
        "SLURM_HINT": job.hint or "", "SLURM_THREADS_PER_CORE": _text(job.threads_per_core),
        "SLURM_DISTRIBUTION": job.value("distribution") or "", "SLURM_GPU_BIND": job.value("gpu-bind") or "",
        "SLURM_TASKS_PER_NODE": (f"{each}(x{job.nodes})" if (job.nodes or 1) > 1 else str(each)) if each else "",
    }  # fmt: skip
    known = {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_SUBMIT_DIR", "SLURM_CPUS_ON_NODE"}
    return {**found, **{name: unknown(name) for name in sorted(known)}}


def _of_pbs(job: Job) -> Mapping[str, str]:
    total = job.total
    found = {
        "PBS_NP": _text(total if job.mpiprocs_said or job.tasks else None),
        "PBS_NUM_PPN": _text(job.per_node if job.mpiprocs_said else None),
        "PBS_NUM_NODES": _text(job.nodes), "OMP_NUM_THREADS": _text(job.threads), "NCPUS": _text(job.node_cpus),
        "PBS_NCPUS": _text(job.tasks if job.node_cpus is None else (job.node_cpus or 0) * (job.nodes or 0) or None),
        "PBS_NODEFILE": unknown("PBS_NODEFILE"), "PBS_O_WORKDIR": unknown("PBS_O_WORKDIR"), "PBS_JOBID": unknown("PBS_JOBID"),
    }  # fmt: skip
    return found  # noqa: RET504 - a table of its own


def _of_rest(job: Job) -> Mapping[str, str]:
    if job.scheduler == "sge":
        return {"NSLOTS": _text(job.tasks), "NHOSTS": _text(job.nodes), "PE_HOSTFILE": unknown("PE_HOSTFILE")}
    if job.scheduler == "lsf":
        return {"LSB_DJOB_NUMPROC": _text(job.tasks), "LSB_DJOB_HOSTFILE": unknown("LSB_DJOB_HOSTFILE")}
    if job.scheduler == "pjm":
        return {"PJM_MPI_PROC": _text(job.total), "PJM_NODE": _text(job.nodes)}
    return {}


def sizes(job: Job) -> dict[str, int | None]:
    """Return what the job's node file and its like say: nodes, slots (its lines), slots of a node."""
    slots = job.total
    return {"nodes": job.nodes, "slots": slots, "per_node": job.per_node}
