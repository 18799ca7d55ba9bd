"""What each launch line of a script starts: ranks, nodes, threads, GPUs, as its words, its variables and its job say."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from advisor.jobs.launcher import OTHERS
from advisor.jobs.line import started_by
from advisor.jobs.scripts import directives
from advisor.jobs.scripts.directives import Job
from advisor.jobs.scripts.expansion import Launch, Script, Span, Word, is_known, names_in, shown, unknown_name, whole, words
from advisor.jobs.scripts.options import Segment, parts, walked
from advisor.jobs.scripts.shell import Follower, as_shell

_OWN = (
    *OTHERS, "charmrun", "torchrun", "mpirun.lsf", "lrun", "mpprun", "deepspeed", "accelerate", "horovodrun", "gerun", "srun"
)  # fmt: skip
_NAMED = re.compile(
    r"(?i)^(mpi_?(exec|run)|.*_?srun|.*_?mpirun|.*_?mpiexec|(mpi_?)?launch(er)?|run_?mpi|jsrun|aprun|mpi_?launcher)(_?(cmd|command|bin))?$"
)

ASKS = words("--version -V -version --help -h -help --usage -info --info")
"""Options with which a launcher only says something of itself."""


def is_launcher(program: str) -> bool:
    """Whether a program starts ranks; a variable that is named so is taken for one."""
    if not is_known(program):
        names = names_in(program)
        return len(names) == 1 and len(program) == len(names[0]) + 2 and bool(_NAMED.match(names[0]))
    if program in _OWN or re.match(r"(mpirun|mpiexec)[._-]\w", program):
        return True
    return program not in ("numactl", "taskset", "qsub", "likwid-pin") and bool(started_by(program))


NO_COUNT = "no -n given, and the number of slots is unknown"
"""Why the ranks of a line are not known that counts on its hosts."""


@dataclass
class Step:
    """What one launch line starts, each time."""

    launch: Launch
    launcher: str
    """The program as it is called: srun, mpirun, flux run."""
    family: str | None
    """Whose it is: openmpi4, intelmpi, mpich, srun; None if nothing says it."""
    segments: list[Segment]
    loaded: str | None = None
    """The version of the MPI that the script loads or puts in its path, "" where it does not say it; None if it loads none."""
    ranks: int | None = None
    nodes: int | None = None
    per_node: int | None = None
    threads: int | None = None
    cpus: int | None = None
    """CPUs of a rank, as they are asked for."""
    gpus: int | None = None
    gpus_per_node: int | None = None
    workers: int = 1
    """Processes that each rank starts, of torchrun."""
    agent: str = ""
    """What starts them: torchrun, accelerate launch, deepspeed."""
    agent_count: str | None = None
    """How many it starts, as its option says it: 8, gpu."""
    inherited: bool | None = None
    """Whether the launcher gets the job's CPUs of a task: None if the version decides."""
    why: dict[str, str] = field(default_factory=dict)
    """Of what is not known, what it depends on."""
    nothing: bool = False
    """Whether it starts nothing: it asks for a version."""
    turns: list["Step"] = field(default_factory=list)
    """The same line, each other time that it runs."""

    @property
    def first(self) -> Segment:
        """The options that stand first."""
        return self.segments[0]

    @property
    def program(self) -> list[Word]:
        """The program and its arguments."""
        return self.first.program

    def value(self, *names: str) -> str | None:
        """Return the last value of an option."""
        return self.first.value(*names)

    def number(self, what: str, *names: str) -> int | None:
        """Return the number that an option gives; keep what it depends on."""
        return _known(self, what, self.first.value(*names))

    @property
    def binding(self) -> str:
        """Return how CPUs are bound as the line or a variable says, "" where nothing says it."""
        if self.launcher == "srun":
            return self.value("cpu-bind") or self.launch.variables.get("SLURM_CPU_BIND", "")
        return (
            self.value("--bind-to", "--cpu-bind", "--map-by", "--rankfile", "-rf", "--cpu-set", "--cpu-list", "-cc", "-b") or ""
        )

    @property
    def line(self) -> int:
        """The line of the script."""
        return self.launch.line


@dataclass(frozen=True)
class Known:
    """What is known beside the script."""

    slurm: tuple[int, int] | None = None
    """Slurm's version."""
    plugins: tuple[str, ...] | None = None
    """What TaskPlugin names; None if no configuration was read."""


@dataclass(frozen=True)
class Scripted:
    """A whole script: what it asks for, what it does, what its launch lines start."""

    text: str
    job: Job
    script: Script
    steps: tuple[Step, ...]
    known: Known = Known()

    @property
    def is_slurm(self) -> bool:
        """Whether sbatch reads the script."""
        return self.job.scheduler == "slurm"

    @property
    def starting(self) -> list[Step]:
        """The steps that start something; of a heterogeneous job none is judged."""
        return [step for step in self.steps if not step.nothing and not self.job.others]

    @property
    def every_turn(self) -> list[Step]:
        """Every step, each turn of a loop as one."""
        return [turn for step in self.starting for turn in (step, *step.turns)]

    def written(self, span: Span) -> str:
        """Return what stands at a place of the script."""
        return self.text.encode(errors="replace")[span.start : span.end].decode(errors="replace")


def read(text: str, environment: Mapping[str, str] | None = None) -> Scripted:
    """Return what a script asks for and starts; ``environment``: what is set where it is run, if it is run there."""
    job = directives.read(text)
    if job.scheduler == "none" and environment:
        job = directives.of_environment(environment)
    variables = {**(environment or {}), **directives.variables(job)}
    script = Follower(text, variables, directives.sizes(job), is_launcher).follow()
    jobs = [(launch, job) for launch in script.launches] + list(_written(script, variables))
    jobs = jobs or [(launch, job) for launch in _hidden(script)]
    steps = [step_of(launch, its, script) for launch, its in jobs if not _is_helper(launch)]
    return Scripted(text, job, script, tuple(_folded(steps)))


def _written(script: Script, variables: Mapping[str, str]) -> Iterator[tuple[Launch, Job]]:
    """Yield the launches of job scripts that a script writes and hands to a scheduler, each with its job."""
    for name, (body, line) in list(script.files.items()):
        if not (name in script.submitted or re.search(r"^#(SBATCH|PBS|BSUB)\s", body, re.MULTILINE)):
            continue
        job = directives.read(body)
        outer = {key: shells for key, values in script.assigned.items() for shells in [values[-1][0]] if is_known(shells)}
        choices = {key: list(dict.fromkeys(text for text, _, _ in values)) for key, values in script.assigned.items()}
        inner = Follower(
            body, {**variables, **outer, **directives.variables(job)}, directives.sizes(job), is_launcher, line=line - 1, depth=1
        )
        for key, texts in choices.items():
            if key in inner.variables and len(texts) > 1:
                inner.variables[key].text, inner.variables[key].others = f"\ue000{key}\ue001", tuple(texts)
        yield from ((replace(each, nested=True), job) for each in inner.follow().launches)


def _hidden(script: Script) -> Iterator[Launch]:
    """Yield the launch of a variable that holds a launcher and is handed to a script that is not read."""
    for name, values in script.assigned.items():
        value, span, exported = values[-1]
        held = value.split()
        shared = exported or any(not name.endswith((".bashrc", ".profile")) for name, _ in script.sourced)
        if shared and name not in script.used and held and is_launcher(held[0].rpartition("/")[2]) and script.sourced:
            texts = tuple(Word(each, span, literal=False, variable=name) for each in held)
            yield Launch(texts, span, script.exported, {}, nested=True)


_HELPERS = words("hostname echo scontrol nproc cat printenv env date uname whoami pwd lscpu ls awk ip getent nvidia-smi")


def _is_helper(launch: Launch) -> bool:
    """Whether a launch only asks a node for something that a variable holds: x=$(srun hostname)."""
    if not launch.substituted:
        return False
    return any(word.text.rpartition("/")[2] in _HELPERS for word in launch.words[1:]) or any(
        w.text in ASKS for w in launch.words[1:2]
    )


def _folded(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps, those of one line together: its other turns are kept beside the first."""
    by_place: dict[tuple[int, int, str], Step] = {}
    for step in steps:
        key = (step.launch.span.start, step.launch.words[0].span.start, step.launcher)
        if key in by_place:
            by_place[key].turns.append(step)
        else:
            by_place[key] = step
    yield from sorted(by_place.values(), key=lambda step: (step.line, step.launch.span.start))


def step_of(launch: Launch, job: Job, script: Script) -> Step:
    """Return what one launch starts."""
    program = launch.words[0].text.rpartition("/")[2]
    launcher = _plain(program)
    words = list(launch.words[1:])
    verb = ""
    if launcher in ("flux", "accelerate"):
        verb = words[0].text if words else ""
        words = words[1:]
        launcher = f"{launcher} {verb}"
    family = _family(launcher, launch, script)
    segments = [walked(part, launcher, family) for part in parts(words)] or [Segment()]
    if job.others and launcher == "srun":
        mine = {name: text for name, text in launch.variables.items() if name not in directives.variables(job)}
        job = _of_groups(job, segments)
        launch = replace(launch, variables={**mine, **directives.variables(job)})
    step = Step(launch, launcher, family, segments, _loaded(launch, script)[1])
    if words and words[0].text in ASKS:
        step.ranks, step.nothing, step.threads, step.gpus, step.nodes = 0, True, None, 0, 1
        return step
    step.inherited = True
    _COUNTERS.get(launcher.split(" ")[0], _of_mpirun)(step, job)
    if step.ranks == 1 or (step.ranks or 0) < (step.nodes or 0):
        step.nodes = min(step.nodes or 1, step.ranks or step.nodes or 1)
    if step.nodes == 1 and step.per_node is None and launcher != "jsrun":
        step.per_node = step.ranks
    _threads(step, job)
    _gpus(step, job, script)
    _gpus_of_a_node(step, job)
    _agents(step, job)
    return step


def _of_groups(job: Job, segments: Sequence[Segment]) -> Job:
    """Return the parts of a heterogeneous job that a line is for, together: the first, unless it says which."""
    every = [job, *job.others]
    said = [re.findall(r"\d+", each.value("het-group", "pack-group") or "0") for each in segments]
    groups = [every[int(number)] for numbers in said for number in numbers if int(number) < len(every)]
    if len(groups) < 2:
        return groups[0] if groups else job
    tasks, nodes, gpus = ([getattr(each, name) for each in groups] for name in ("total", "nodes", "total_gpus"))
    return Job(
        "slurm", tasks=None if None in tasks else sum(tasks), nodes=None if None in nodes else sum(nodes),
        gpus=sum(each or 0 for each in gpus) or None, cpus=groups[0].cpus if len({each.cpus for each in groups}) == 1 else None,
    )  # fmt: skip


def _plain(program: str) -> str:
    """Return a launcher's usual name: mpirun of mpirun.actual, of $MPIRUN."""
    if names := names_in(program):
        low = names[0].lower().replace("_", "")
        return next((each for each in ("jsrun", "srun", "mpiexec", "aprun") if each in low), "mpirun")
    if re.match(r"(mpirun|mpiexec)[._-]", program) and program != "mpirun_rsh":
        return program[:6] if program.startswith("mpirun") else program[:7]
    return program


# whose launcher it is

_MODULES = (
    ("intelmpi", r"(^|[/_-])(intel[-_]?mpi|impi|intel-oneapi-mpi|oneapi[-/]mpi|iimpi|iompi0)([/_-]|$)"),
    ("mvapich", r"mvapich"),
    ("mpt", r"(^|/)(hpe-)?mpt([/_-]|$)|mpt/\d"),
    ("pals", r"cray-pals|(^|/)pals"),
    ("openmpi", r"open-?mpi|(^|[/_-])ompi|hpc-?x|(^|/)(foss|gompi|iomkl|gmpolf|spectrum-mpi|gomkl)([/_-]|$)"),
    ("mpich", r"(^|[/_-])(cray-)?mpich"),
)
_OF_OPEN_MPI = words(
    "--map-by -x --mca -mca --npernode -npernode --oversubscribe -oversubscribe -rf --rankfile --report-bindings -report-bindings"
)
_VERSIONS = re.compile(r"(?:open-?mpi|ompi|mpich|impi|intel-?mpi)\w*[/_-]v?(\d+(?:\.\d+){0,3})", re.IGNORECASE)


def _family(launcher: str, launch: Launch, script: Script) -> str | None:
    """Return whose launcher a line's is: its own options say it, then what was loaded, then variables."""
    if launcher not in ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "mpirun.lsf"):
        return launcher.split(" ", maxsplit=1)[0]
    texts = [word.text for word in launch.words[1:]]
    names = {text.partition("=")[0] for text in texts}
    found, version = _loaded(launch, script)
    if names & {"--cpu-bind", "-cpu-bind", "--depth", "--gpu-bind", "--mem-bind"} or (
        "-d" in names and names & {"-ppn", "--ppn"}
    ):
        return "pals"
    if names & _OF_OPEN_MPI and not names & {"-ppn", "--ppn", "-envall", "--envall"}:
        return f"openmpi{_major(version) if found == 'openmpi' else ''}"
    if found:
        return f"openmpi{_major(version)}" if found == "openmpi" else found
    if names & {"-genv", "-perhost", "-genvall", "-genvlist"} or any(name.startswith("I_MPI_") for name in launch.variables):
        return "intelmpi"
    if any(name.startswith(("OMPI_MCA_", "PRTE_MCA_")) for name in launch.variables):
        return "openmpi"
    if names & {"-ppn", "--ppn", "-hosts"}:
        return "hydra"
    if any(
        "mpivars.sh" in path or "/impi" in path or "oneapi" in path or "compilervars.sh" in path for path, _ in script.sourced
    ):
        return "intelmpi"
    if any(re.fullmatch(r"intel(/[\d.]+[ab]?)?|toolchain/intel.*", module) for module, _ in script.modules):
        return "intelmpi?"
    return None


def _loaded(launch: Launch, script: Script) -> tuple[str | None, str | None]:
    """Return whose MPI a script loads, puts in its path or starts by its path, and the version; "" where it is not said."""
    loaded = [module for module, _ in script.modules] + [path for path, _ in script.sourced] + [launch.words[0].text]
    loaded += [
        text for name in ("PATH", "LD_LIBRARY_PATH", "MPI_HOME", "OPAL_PREFIX") for text, _, _ in script.assigned.get(name, ())
    ]
    found = next(
        (name for text in reversed(loaded) for name, pattern in _MODULES if re.search(pattern, shown(text), re.IGNORECASE)), None
    )
    version = next((match[1] for text in reversed(loaded) if (match := _VERSIONS.search(shown(text)))), None)
    return found, version or ("" if script.modules or script.sourced or "PATH" in script.assigned else None)


def _major(version: str | None) -> str:
    return {"1": "4", "2": "4", "3": "4", "4": "4", "5": "5"}.get((version or "").partition(".")[0], "")


# counts


def _known(step: Step, what: str, text: str | None) -> int | None:
    """Return the number of a text; keep what it depends on."""
    if text is None or text == "":
        return None
    value = whole(text)
    if value is None:
        step.why[what] = f"depends on {shown(text)[:80]}"
    return value


def _of_srun(step: Step, job: Job) -> None:  # noqa: C901, PLR0912 - a case an option that counts
    first, variables = step.first, step.launch.variables
    step.inherited = None
    if len(step.segments) > 1:
        parts = [_known(step, "ranks", each.value("ntasks")) for each in step.segments]
        step.ranks = sum(part or 0 for part in parts) if None not in parts else job.tasks if first.has("het-group") else None
        step.nodes, step.why["CPUs"] = job.nodes, "they differ between the parts of the line"
        return
    has_nodes, has_tasks = first.has("nodes"), first.has("ntasks")
    step.nodes = (
        _known(step, "nodes", re.sub(r"-\d+$", "", first.value("nodes") or ""))
        if has_nodes
        else _known(step, "nodes", variables.get("SLURM_JOB_NUM_NODES"))
    )
    in_job = job.scheduler == "slurm" or "SLURM_NTASKS" in variables or "SLURM_JOB_NUM_NODES" in variables
    if not has_nodes and not first.has("nodelist") and step.nodes is None and not in_job:
        step.nodes = None
    step.per_node = step.number("per node", "ntasks-per-node")
    if has_tasks:
        step.ranks = step.number("ranks", "ntasks")
        if step.per_node is None and step.ranks and job.per_node and step.nodes == job.nodes and step.ranks == job.total:
            step.per_node = job.per_node
    elif step.per_node is not None and (first.has("ntasks-per-node")) and "SLURM_NTASKS" not in variables:
        step.ranks = step.per_node * step.nodes if step.nodes else None
    elif first.has("ntasks-per-gpu") and (gpus := _gpus_of_line(step, job)):
        each = step.number("ranks", "ntasks-per-gpu")
        step.ranks = each * gpus if each else None
    elif "SLURM_NTASKS" in variables:
        step.ranks = _known(step, "ranks", variables["SLURM_NTASKS"])
        step.per_node = step.per_node or (job.per_node if not has_nodes or step.nodes == job.nodes else None)
        if has_nodes and first.has("ntasks-per-node") and step.nodes and step.per_node:
            step.ranks = min(step.ranks or 1 << 30, step.nodes * step.per_node) if step.ranks else step.ranks
    elif job.per_node is not None and job.value("ntasks-per-node"):
        step.per_node = job.per_node
        step.ranks = step.per_node * step.nodes if step.nodes else None
        if step.ranks is None:
            step.why.setdefault("ranks", "the number of nodes is unknown")
    elif first.open:
        step.why["ranks"] = f"depends on {shown(first.open[0].text)}"
    elif step.nodes is not None and job.tasks is None and not (first.has("cpus-per-task") or job.cpus):
        step.ranks, step.per_node = step.nodes, 1
    else:
        step.why.setdefault("ranks", "neither the line nor the header has --ntasks" if job.tasks is None else "")
    if first.open and not has_tasks:
        step.ranks, step.why["ranks"] = None, f"depends on {shown(first.open[0].text)}"
    if step.ranks and step.nodes and step.ranks < step.nodes and not has_nodes:
        step.nodes = step.ranks
    if step.per_node is None and step.ranks and step.nodes and step.ranks % step.nodes == 0:
        step.per_node = step.ranks // step.nodes
    own = first.value("cpus-per-task") or variables.get("SRUN_CPUS_PER_TASK")
    step.cpus = (
        _known(step, "CPUs", own)
        if own
        else job.cpus
        if job.cpus is not None
        else _known(step, "CPUs", variables.get("SLURM_CPUS_PER_TASK"))
    )
    by_gpu = _cpus_by_gpu(step, job) if step.cpus is None and not own else None
    step.inherited = True if own or by_gpu else None if step.cpus is not None else True
    step.cpus = step.cpus or by_gpu


def _said_gpus(step: Step) -> int | None:
    """Return the GPUs of an srun line in all, as its own options say them."""
    if text := step.value("gpus"):
        return directives.gpu_count(text)
    text = step.value("gpus-per-node")
    each = directives.gpu_count(text) if text else directives.gres(step.value("gres"))
    return each * step.nodes if each is not None and step.nodes else None


def _gpus_of_line(step: Step, job: Job) -> int | None:
    """Return the GPUs of an srun line in all: its own, or those of the job."""
    if step.first.has("gpus", "gpus-per-node") or directives.gres(step.value("gres")):
        return _said_gpus(step)
    return directives.gpu_count(step.launch.variables.get("SLURM_GPUS")) or job.total_gpus


def _cpus_by_gpu(step: Step, job: Job) -> int | None:
    """Return the CPUs of a rank where they are counted by its GPUs, and these are its own (srun(1), --cpus-per-gpu)."""
    each = whole(step.value("cpus-per-gpu") or job.value("cpus-per-gpu") or "")
    gpus = directives.gpu_count(step.value("gpus-per-task")) or job.gpus_per_task
    ranks = whole(step.value("ntasks-per-gpu") or job.value("ntasks-per-gpu") or "")
    if each and gpus:
        return each * gpus
    return each // ranks if each and ranks and each % ranks == 0 else None


def _of_mpirun(step: Step, job: Job) -> None:
    counts: list[int | None] = []
    for segment in step.segments:
        text = segment.value("-n")
        own = _known(step, "ranks", text)
        if text is None and segment.open and len(step.segments) == 1:
            step.why["ranks"] = f"depends on {shown(segment.open[0].text)}"
            counts.append(None)
            continue
        counts.append(own if text is not None else _without_count(step, segment, job))
    step.ranks = sum(each or 0 for each in counts) if None not in counts else None
    step.nodes = job.nodes
    first = step.first
    ppr = re.match(r"(?i)ppr:(\d+):(node|socket|numa|l3cache|package)", first.value("--map-by") or "")
    each = first.value("--ppn", "--npernode", "-N")
    if first.has("--pernode"):
        each = "1"
    step.per_node = _known(step, "per node", each) if each else int(ppr[1]) if ppr and ppr[2].lower() == "node" else None
    if step.per_node and step.ranks:
        step.per_node = min(step.per_node, step.ranks)
        used = -(-step.ranks // step.per_node)
        step.nodes = (
            min(used, step.nodes)
            if step.nodes
            else None
            if job.scheduler != "none" and job.nodes is None and step.family != "pals"
            else used
        )
    elif step.ranks and 1 < step.ranks < (step.nodes or 0) and job.scheduler != "pjm":  # the slots of a node come first
        step.nodes = -(-step.ranks // job.per_node) if job.per_node else None
    hosts = first.value("--host", "--hosts")
    if job.scheduler == "none" and hosts and is_known(hosts):
        step.nodes = len({host.partition(":")[0] for host in hosts.split(",")})
    if step.per_node is None and step.ranks and step.nodes == 1:
        step.per_node = step.ranks
    if step.per_node is None and step.ranks is not None and step.ranks == job.total:
        step.per_node = job.per_node
    depth = step.number("CPUs", "--depth")
    step.cpus = depth or (job.cpus if step.ranks is None or job.total is None or step.ranks <= job.total else None)
    pe = re.search(r"(?i)[:,]pe=([^:,]+)", first.value("--map-by") or "")
    if pe:
        step.cpus = whole(pe[1])


def _without_count(step: Step, segment: Segment, job: Job) -> int | None:
    """Return the ranks of a line that has no count: the slots of its job, or so many on each node."""
    each = segment.value("--npernode", "--ppn", "-N") or ("1" if segment.has("--pernode") else None)
    if each and whole(each) is not None and job.nodes:
        return (whole(each) or 0) * job.nodes
    if (match := re.match(r"(?i)ppr:(\d+):node", segment.value("--map-by") or "")) and job.nodes:
        return int(match[1]) * job.nodes
    if segment.has("--rankfile", "-rf"):
        step.why["ranks"] = "set by its rankfile"
        return None
    if job.total is not None and job.scheduler != "none":
        return job.total
    if job.scheduler == "pbs" and job.per_node and job.nodes:
        return job.per_node * job.nodes
    step.why.setdefault("ranks", NO_COUNT)
    return None


def _of_ibrun(step: Step, job: Job) -> None:
    text = step.value("-n")
    step.ranks = _known(step, "ranks", text) if text else job.total
    step.nodes = job.nodes
    step.per_node = step.ranks // job.nodes if step.ranks and job.nodes and step.ranks % job.nodes == 0 else None


def _of_jsrun(step: Step, job: Job) -> None:
    sets, tasks = step.number("ranks", "-n", "--nrs"), step.number("ranks", "-a", "--tasks_per_rs")
    total = step.number("ranks", "-p", "--np")
    hosts = step.number("nodes", "-r", "--rs_per_host")
    if sets is None and hosts and job.nodes:
        sets = hosts * job.nodes
    step.ranks = total if total is not None else sets * (tasks or 1) if sets is not None else None
    step.nodes = -(-sets // hosts) if sets and hosts else job.nodes
    cpus = step.number("CPUs", "-c", "--cpu_per_rs")
    step.cpus = cpus // (tasks or 1) if cpus else None
    each = step.number("GPUs", "-g", "--gpu_per_rs")
    step.gpus = each * sets if each is not None and sets else None


def _of_aprun(step: Step, job: Job) -> None:
    counts = [_known(step, "ranks", each.value("-n")) or (None if each.value("-n") else 1) for each in step.segments]
    step.ranks = sum(each or 0 for each in counts) if None not in counts else None
    if step.first.has("-B"):  # as the job was asked for
        step.ranks, step.per_node = job.total, job.per_node
    step.per_node = step.per_node or step.number("per node", "-N")
    step.nodes = job.nodes or (-(-step.ranks // step.per_node) if step.ranks and step.per_node else None)
    step.cpus = step.number("CPUs", "-d")


def _of_flux(step: Step, job: Job) -> None:
    nodes = step.value("-N", "--nodes")
    step.nodes = _known(step, "nodes", nodes) if nodes else job.nodes
    tasks, each = step.value("-n", "--ntasks"), step.value("--tasks-per-node")
    step.per_node = _known(step, "per node", each)
    if tasks:
        step.ranks = _known(step, "ranks", tasks)
    elif step.per_node and step.nodes:
        step.ranks = step.per_node * step.nodes
    elif not each:
        step.ranks = step.nodes if nodes else 1
    step.cpus = step.number("CPUs", "-c", "--cores-per-task")
    own = step.number("GPUs", "-g", "--gpus-per-task")
    step.gpus = own * step.ranks if own is not None and step.ranks else None


def _of_charmrun(step: Step, job: Job) -> None:
    total = _known(step, "ranks", step.value("++p", "+p", "++np", "++n") or _behind(step, "++p", "+p", "++np", "++n"))
    threads = step.value("++ppn", "+ppn") or _behind(step, "++ppn", "+ppn")
    each = _known(step, "threads", threads)
    step.ranks = total // each if total and each else total if total and not threads else None
    step.nodes, step.threads = job.nodes, each


def _behind(step: Step, *names: str) -> str | None:
    """Return the value of an option among the program's arguments: charmrun reads its own there too."""
    texts = [word.text for word in step.program]
    return next((value for name, value in pairwise(texts) if name in names), None)


def _of_torchrun(step: Step, job: Job) -> None:
    by_gpu = step.value("--nproc-per-node") in ("gpu", "auto") and job.gpus_of_a_node
    step.ranks = by_gpu or step.number("ranks", "--nproc-per-node")
    step.nodes, step.per_node = 1 if step.ranks else None, step.ranks
    step.gpus = job.gpus_of_a_node


def _gpus_of_workers(workers: int | None, nodes: int | None, job: Job) -> int | None:
    """Return the GPUs of workers that take one each: not more than the job has on their nodes."""
    there = job.gpus_of_a_node
    return workers if workers is None or there is None else min(workers, there * (nodes or 1))


def _of_deepspeed(step: Step, job: Job) -> None:
    each, nodes = step.number("ranks", "--num_gpus"), step.number("nodes", "--num_nodes")
    step.nodes = nodes if nodes is not None else None if step.first.has("-H", "--hostfile") else 1
    step.ranks = each * step.nodes if each is not None and step.nodes else None
    step.per_node, step.gpus = each, _gpus_of_workers(step.ranks, step.nodes, job)
    if step.ranks is None:
        step.why.setdefault("ranks", "set by the launcher's host file or the available GPUs")


def _of_accelerate(step: Step, job: Job) -> None:
    total, machines = step.number("ranks", "--num_processes"), step.number("nodes", "--num_machines")
    step.ranks = total // (machines or 1) if total is not None else None
    step.nodes, step.per_node = 1 if step.ranks else None, step.ranks
    step.gpus = 0 if step.first.has("--cpu") else _gpus_of_workers(step.ranks, step.nodes, job)
    if step.ranks is None:
        step.why.setdefault("ranks", "its configuration file")


def _of_plain(step: Step, job: Job) -> None:
    step.nodes = job.nodes
    step.why["ranks"] = f"lines of {step.launcher} are not predicted"


_COUNTERS = {
    "srun": _of_srun, "ibrun": _of_ibrun, "gerun": _of_ibrun, "jsrun": _of_jsrun, "aprun": _of_aprun, "flux": _of_flux,
    "charmrun": _of_charmrun, "torchrun": _of_torchrun, "deepspeed": _of_deepspeed, "accelerate": _of_accelerate,
    "lrun": _of_plain, "horovodrun": _of_plain,
}  # fmt: skip


def exports(step: Step) -> dict[str, str]:
    """Return the variables that the ranks get: what is exported, and what options give."""
    found = dict(step.launch.variables)
    for option in step.first.options:
        name, equals, value = option.value.partition("=")
        if option.name in ("-x", "--env", "-genv", "-env") and name:
            if equals:
                found[name] = value
        elif option.name in ("export", "-e") and step.launcher in ("srun", "aprun"):
            for part in option.value.split(","):
                key, sign, text = part.partition("=")
                if sign:
                    found[key] = text
    return found


def _threads(step: Step, job: Job) -> None:
    """Set the threads of a rank: as OpenMP is asked, as the program's own option says, as CPUs are asked for."""
    if step.threads is not None:
        return
    own = program_threads(step)
    levels = exports(step).get("OMP_NUM_THREADS", "")
    if own is not None:
        step.threads = own
    elif levels:  # of nested regions, 2,16, each thread of a level starts those of the next
        counts = [_known(step, "threads", level) for level in levels.split(",")]
        step.threads = None if None in counts else prod(count or 1 for count in counts)
    elif re.search(r"(^|/)gmx\w*$", step.program[0].text if step.program else "") and any(
        word.text == "mdrun" for word in step.program[:3]
    ):
        step.why["threads"] = "mdrun decides, as neither -ntomp nor OMP_NUM_THREADS is set"
    elif step.launcher == "srun" and step.cpus is None and (step.value("cpus-per-gpu") or job.value("cpus-per-gpu")):
        step.why["threads"] = "set by --cpus-per-gpu"
    elif step.value("--depth"):
        step.why["threads"] = "OMP_NUM_THREADS is not set; --depth only sets CPUs"
    elif step.cpus is not None:
        step.threads = step.cpus
    elif step.why.get("CPUs"):
        step.why["threads"] = step.why["CPUs"]
    elif (
        job.tasks is not None
        or job.value("ntasks-per-node")
        or step.first.has("ntasks", "-n")
        or job.mpiprocs_said
        or (step.per_node or 0) > 1
    ):
        step.threads = 1
    else:
        step.why["threads"] = "neither OMP_NUM_THREADS nor CPUs per task are given"


def program_threads(step: Step) -> int | None:
    """Return the threads that the program's own options ask for: mdrun -ntomp, NAMD's ++ppn, LAMMPS' -k on t N and -pk omp N."""
    texts = [word.text for word in step.program]
    for at, text in enumerate(texts[:-1]):
        if text in ("-ntomp", "++ppn", "+ppn"):
            return whole(texts[at + 1])
        if text in ("-k", "-kokkos") and texts[at + 1] == "on":
            rest = texts[at + 2 : at + 8]
            found = next((whole(rest[i + 1]) for i, word in enumerate(rest[:-1]) if word in ("t", "threads")), None)
            if found:
                return found
    return None


_GPU_SIGNS = re.compile(
    r"(?i)cuda|rocm|\bhip|nvhpc|gfx90|accel-(amd|nvidia)|nccl|\bgpu|partition/G|MPICH_GPU_SUPPORT|ROCR_|HIP_|\bZE_|torch|gpu_|-gpu\b|gh200|mps-wrapper|--nv\b|\b[ahvp]100\b|dgx|oneapi.*gpu|AFFINITY_MASK|MI\d{3}"
)


def _gpus(step: Step, job: Job, script: Script) -> None:  # noqa: C901, PLR0912 - a case an option
    """Set the GPUs that a step has."""
    if step.gpus is not None:
        return
    first = step.first
    if step.launcher == "srun":
        if (text := first.value("gpus-per-task")) is not None:
            each = directives.gpu_count(text)
            step.gpus = each * step.ranks if each is not None and step.ranks is not None else None
        elif first.has("gpus", "gpus-per-node", "gres"):
            step.gpus = _said_gpus(step)
        elif (ranks := whole(first.value("ntasks-per-gpu") or "")) and step.ranks and step.ranks % ranks == 0:
            step.gpus = step.ranks // ranks
        if step.gpus is not None or first.has("gpus-per-task", "gpus", "gpus-per-node", "gres"):
            return
        if job.gpus_per_task and step.ranks:  # sbatch hands it on as SLURM_GPUS_PER_TASK
            step.gpus = job.gpus_per_task * step.ranks
            return
    total, of_node = job.total_gpus, job.gpus_of_a_node
    if of_node is not None and step.nodes:
        step.gpus = of_node * step.nodes
        return
    if total is not None:
        step.gpus = total
        return
    if job.gpus_per_node or job.gpus_per_task or job.gpus:
        step.why["GPUs"] = "the number of nodes or ranks is unknown"
        return
    signs = [*step.launch.variables, job.value("partition", "constraint", "-q") or ""]
    signs += [shown(word.text) for word in step.launch.words]
    signs += ["gpu" for word in step.launch.words if "gpu" in (word.variable or "").lower()]
    if script.uses_gpus is None:
        texts = [module for module, _ in script.modules] + [path for path, _ in script.sourced]
        texts += script.comments if any("system=" in each.value for each in job.directives) else []
        texts += [shown(word.text) for words, _ in script.commands for word in words[:4]]
        script.uses_gpus = any(_GPU_SIGNS.search(text) for text in texts)
    if script.uses_gpus or any(_GPU_SIGNS.search(sign) for sign in signs):
        whole_nodes = "" if step.launcher == "jsrun" else "unless the job gets whole nodes, "
        asked = "" if job.exclusive else _GPUS_ASKED.get("jsrun" if step.launcher == "jsrun" else job.scheduler, "")
        step.why["GPUs"] = "none requested, but the script seems to use GPUs" + (
            f"; {whole_nodes}request them with {asked}" if asked else ""
        )
    else:
        step.gpus = 0


_GPUS_ASKED = {
    "slurm": "--gpus-per-node=N", "pbs": "ngpus=N in select", "lsf": "-gpu num=N", "flux": "--gpus-per-slot=N", "jsrun": "-g N",
}  # fmt: skip


def _gpus_of_a_node(step: Step, job: Job) -> None:
    """Set the GPUs of each node, which are known where the number of nodes is not."""
    first = step.first
    if step.gpus is not None and step.nodes:
        step.gpus_per_node = step.gpus // step.nodes if step.gpus % step.nodes == 0 else None
    elif step.launcher == "srun" and first.has("gpus-per-node", "gres"):
        text = first.value("gpus-per-node")
        step.gpus_per_node = directives.gpu_count(text) if text else directives.gres(first.value("gres"))
    elif step.gpus is None:
        step.gpus_per_node = job.gpus_of_a_node


_PROGRAMS = re.compile(r"(?i)script|prog|main|exe\b|app\b|file|train|\.py")
"""Names of variables that hold a program rather than options."""


def lists_of(segment: Segment) -> list[Word]:
    """Return the words that nobody knows and that may hold options, before the program or in its place."""
    return [*segment.open, *(word for word in segment.program[:1] if unknown_name(word.text) is not None)]


_AGENTS = re.compile(r"torch|accelerate|deepspeed")
COUNTS_OF_AGENTS = {"torchrun": "--nproc-per-node", "accelerate": "--num_processes", "deepspeed": "--num_gpus"}
"""Programs that start workers themselves, with the option that says how many on a node; of accelerate on all of them."""


def _agents(step: Step, job: Job) -> None:
    """Count what torchrun and its like start behind a launcher: each rank is an agent that starts workers."""
    named = [word.text.rpartition("/")[2] for word in step.program[:3]]
    prints = named[:1] and named[0] in ("echo", "printf", "which", "type")
    at = 0 if prints else next((at for at, name in enumerate(named) if name in COUNTS_OF_AGENTS), 0)  # behind a wrapper
    texts = [shlex.quote(word.text) if word.quoted and " " in word.text else word.text for word in step.program[at:]]
    inside = " ".join(texts)
    if not any(_AGENTS.search(text) for text in (inside, *step.launch.variables.values())):
        return
    found = (
        Follower(as_shell(inside), step.launch.variables, directives.sizes(job), lambda program: program in COUNTS_OF_AGENTS)
        .follow()
        .launches
    )
    if not found or step.launcher.split(" ")[0] in COUNTS_OF_AGENTS:
        return
    agent = found[0].words[0].text.rpartition("/")[2]
    words = found[0].words[1:]
    if agent == "accelerate" and (not words or words[0].text != "launch"):
        return
    segment = walked(words[agent == "accelerate" :], agent, None)
    step.agent = f"{agent} launch" if agent == "accelerate" else agent
    option = COUNTS_OF_AGENTS[agent]
    if not segment.has(option) and agent != "torchrun":
        return
    lists = lists_of(segment)
    if lists and not segment.has(option) and not _PROGRAMS.search(lists[0].text):
        step.ranks, step.per_node, step.threads = None, None, None
        step.why["ranks"] = step.why["threads"] = f"depends on {shown(lists[0].text)}"
        return
    step.agent_count = segment.value(option)
    each = whole(step.agent_count) if segment.has(option) else 1
    if step.agent_count in ("gpu", "auto") and step.per_node == 1:  # one agent on a node has all GPUs that the step has there
        each = (step.gpus_per_node if step.gpus_per_node is not None else job.gpus_of_a_node) or None
    if each is None:
        step.ranks, step.why["ranks"] = None, shown(step.agent_count or f"set by {agent}'s number of processes per node")
        return
    each = each // (whole(segment.value("--num_machines")) or 1) or 1 if agent == "accelerate" else each
    step.workers = each
    step.ranks = step.ranks * each if step.ranks is not None else None
    step.per_node = step.per_node * each if step.per_node is not None else None
    if agent != "deepspeed" and each > 1 and "OMP_NUM_THREADS" not in exports(step):
        step.threads = 1  # as torch sets it for each of several workers


def variants(step: Step, name: str) -> int | list[int] | None:
    """Return a count of a step; of a line in a loop, whose turns differ, each turn's."""
    values = [getattr(each, name) for each in (step, *step.turns)]
    if None in values:
        return None
    plain = list(dict.fromkeys(values))
    return plain[0] if len(plain) == 1 else values
