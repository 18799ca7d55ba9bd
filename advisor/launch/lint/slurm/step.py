"""What a line of srun asks for: tasks, nodes, CPUs and GPUs of a task, distribution and binding, by options or by variables."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear
from advisor.launch.lint.slurm.bind_options import BY_CORE, Shaped, cpu_bind, hint, hinted, levels, number_of
from advisor.launch.lint.slurm.gpus import asks, of_gpus
from advisor.launch.lint.slurm.node import names_of
from advisor.launch.lint.slurm.task_affinity import Step

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction


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

_HARMLESS = frozenset(
    f"SLURM_{name}"
    for name in (
        *("ACCOUNT", "DEBUG", "EXPORT_ENV", "JOB_NAME", "KILL_BAD_EXIT", "LABELIO", "MPI_TYPE", "OVERLAP", "PARTITION", "QOS"),
        *("STDERRMODE", "STDINMODE", "STDOUTMODE", "SUBMIT_DIR", "TIMELIMIT", "UNBUFFEREDIO", "WAIT", "WCKEY"),
    )
)
"""Variables of srun(1) that change no placement; others than these leave a line open."""

_UNREAD = frozenset(
    {"--multi-prog", "--jobid", "--relative"}
    | {"--gpus-per-socket", "--core-spec", "--spread-job", "--use-min-nodes", "--mem-per-cpu", "--het-group", "--thread-spec"}
)
"""Options that change which CPUs or nodes a step gets, in ways that are not worked out here."""


@dataclass(frozen=True)
class StepRequest:
    """What a line of srun asks for."""

    total: int
    nodes: tuple[str | None, ...]
    each: int
    per_node: int | None
    outer: str
    plane: int
    bind: str
    entries: tuple[str, ...]
    step: Step
    overcommit: bool
    pack: bool = False
    gpus: bool = False
    """Whether GPUs are asked for: gres.conf may then say which cores a step gets."""
    listed: tuple[str, ...] = ()
    """The host of each rank, where a file has them."""
    by_core: bool = False
    """Whether a --hint makes cores of the CPUs that --cpus-per-task counts."""


def options(line: "Line") -> dict[str, str]:
    """Return the options that count: those of the environment that the line does not have, then its own in their order."""
    found: dict[str, str] = {}
    for said in line.first.options:
        if not said.known:
            raise Unclear(f"srun's option {said.written[0][:40]} is not known here")
        if said.name in _UNREAD:
            raise Unclear(f"what CPUs {said.name} gives, is not worked out here")
        if said.name == "--extra-node-info" and said.name in found:
            raise Unclear("what several -B bind to together, is not worked out here")
        if said.name == "--exclusive" and said.values:
            raise Unclear(f"what --exclusive={said.values[-1][:40]} gives a step, is not worked out here")
        found.pop(said.name, None)  # the order is that of what counts: the last of each
        found[said.name] = said.values[-1] if said.values else ""
    known = {*_VARIABLES, *_HARMLESS, "SLURM_CPUS_PER_TASK", "SLURM_HOSTFILE"}
    if odd := next((name for name in line.words.environment if re.match(r"S(LURM|RUN)_", name) and name not in known), None):
        raise Unclear(f"what {odd[:40]} changes, is not worked out here")
    if "--hint" in found and "SLURM_CPU_BIND" in line.words.environment and "--cpu-bind" not in found:
        raise Unclear("--hint beside SLURM_CPU_BIND is not worked out here")
    variables = ((option, name) for name, option in reversed(_VARIABLES.items()) if option not in found)
    found = {option: line.words.environment[name] for option, name in variables if name in line.words.environment} | found
    _inherited(line, found)
    if not line.first.command:
        raise Refused("no command given to execute")
    _exclude_each_other(found)
    return found


def _exclude_each_other(found: Mapping[str, str]) -> None:
    """Raise Refused where two options are there that srun 22.05 does not take together."""
    beside_pty = tuple(("--pty", option) for option in ("--output", "--error", "--input"))
    for one, other in (("--quiet", "--verbose"), ("--exclusive", "--overlap"), *beside_pty):
        if one in found and other in found:
            raise Refused(f"srun takes one of {one} and {other}; nothing starts")


def _inherited(line: "Line", found: dict[str, str]) -> None:
    """Add what SLURM_CPUS_PER_TASK says where srun reads it: not from 22.05 to 23.02 (there only SRUN_CPUS_PER_TASK)."""
    text = line.words.environment.get("SLURM_CPUS_PER_TASK")
    if text is None or "--cpus-per-task" in found:
        return
    if line.release is None:
        raise Unclear("whether srun reads SLURM_CPUS_PER_TASK depends on its version: 22.05 to 23.02 do not")
    if not (22, 5) <= line.release < (23, 11):
        found["--cpus-per-task"] = text


def step_request(made: "Prediction", said: dict[str, str]) -> StepRequest:
    """Return what some options ask for; raise Refused or Unclear."""
    line = made.line
    outer, plane, inner, pack = _distribution(said.get("--distribution", ""))
    listed = _arbitrary(made) if outer == "arbitrary" else ()
    nodes = tuple(dict.fromkeys(listed)) if listed else _nodes(said)
    per_node, each = number_of(said, "--ntasks-per-node"), number_of(said, "--cpus-per-task")
    by_shape = _shape(said)
    each_node = math.prod(number or 1 for number in by_shape) if None not in by_shape else per_node or 1
    total = number_of(said, "--ntasks") or len(listed) or of_gpus(said, len(nodes))
    if not total and each and not per_node and None in by_shape:
        raise Unclear("srun -c without -n starts as many tasks as its job has CPUs for, and how many it has is not known")
    total = total or each_node * len(nodes)
    if total > MOST_RANKS:
        raise Unclear(f"{total} ranks are more than the {MOST_RANKS} that are worked out one by one")
    if listed and len(listed) != total:
        raise Unclear(f"SLURM_HOSTFILE has {len(listed)} hosts for {total} ranks")
    bind, entries = cpu_bind(said.get("--cpu-bind", ""))
    step = _step(said, inner, line.release or (22, 5, 0))
    asked, (bind, step) = bind, hinted(said, bind, step)
    by_core = not asked and not step.used and not step.per_core and hint(said) in BY_CORE
    gpus = asks(said, line.release)
    if gpus and len(nodes) > 1 and (pack or outer in ("plane", "arbitrary")):
        raise Unclear("how many tasks of each node its GPUs allow, is not known here")
    if outer == "default":
        outer = "cyclic" if total <= len(nodes) else "block"
    where = (total, nodes, each or 1, per_node, outer, plane, bind, entries, step)
    return StepRequest(*where, "--overcommit" in said, pack, gpus, listed, by_core)


def _step(said: Mapping[str, str], inner: str | None, release: tuple[int, ...]) -> Step:
    """Return what each node of a step is asked for, the number of its tasks not yet."""
    each, used = number_of(said, "--cpus-per-task"), _shape(said)[2]
    if each and release < (21, 8) and "--exact" not in said:
        raise Unclear("before Slurm 21.08 another part of the node was given for --cpus-per-task")
    exact = "--exact" in said or "--exclusive" in said or (each is not None and release >= (22, 5))
    per_core, per_socket = number_of(said, "--ntasks-per-core"), number_of(said, "--ntasks-per-socket")
    return Step(1, each or 1, inner, exact, per_core=per_core, per_socket=per_socket, used=used)


def _shape(said: Mapping[str, str]) -> Shaped:
    """Return the sockets, cores and threads that a line names: each of its option or of -B, which unsets those it lacks.

    srun without --ntasks starts a task for each thread of such a node, where all three are said.
    """
    names = ("--sockets-per-node", "--cores-per-socket", "--threads-per-core")
    found: dict[str, int | None] = dict.fromkeys(names)
    for name in said:
        if name == "--extra-node-info":
            found = dict(zip(names, levels(said)[1], strict=True))
        elif name in found:
            found[name] = number_of(said, name)
    return found[names[0]], found[names[1]], found[names[2]]


def _arbitrary(made: "Prediction") -> tuple[str, ...]:
    """Return the host of each rank, as the file of SLURM_HOSTFILE has them."""
    file = made.line.words.environment.get("SLURM_HOSTFILE")
    if file is None or file not in made.files:
        raise Unclear("which rank goes to which host stands in the file of SLURM_HOSTFILE, and it was not read")
    words = tuple(word for word in re.split(r"[\s,]+", made.files[file]) if word)
    if not words or len(words) > MOST_RANKS or any(re.search(r"[\[\]*#]", word) for word in words):
        raise Unclear("the file of SLURM_HOSTFILE is not understood")
    return words


def _nodes(said: dict[str, str]) -> tuple[str | None, ...]:
    listed, count = said.get("--nodelist", ""), said.get("--nodes", "")
    names = _listed(listed)
    if "--exclude" in said:
        if {*names} & {*_listed(said["--exclude"])}:
            raise Refused("a node is in the list and in --exclude; nothing starts")
        raise Unclear("which nodes --exclude leaves of those that the job has, is not known")
    match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", count, re.ASCII)
    if count and (not match or not int(match[1]) or (match[2] and match[2] != match[1])):
        raise Unclear(f"how many nodes --nodes {count[:20]} gives, is left to Slurm")
    number = int(match[1]) if match else max(1, len(names))
    if names and number != len(names):
        raise Unclear(f"--nodes {number} and a list of {len(names)}: which are taken, is left to Slurm")
    if names:
        return tuple(sorted(names, key=_natural))
    return (None,) if number == 1 else tuple(f"node{i}" for i in range(number))


def _listed(text: str) -> tuple[str, ...]:
    """Return the names of a list such as n[1-3,7],login; raise Unclear for a file and for what is no such list."""
    if "[" not in text and "/" not in text:
        return tuple(dict.fromkeys(name for name in text.split(",") if name))
    part = r"[^,\[\]/]+(\[\d{1,8}(-\d{1,8})?(,\d{1,8}(-\d{1,8})?)*\])?"
    if len(text) > MOST_RANKS or not re.fullmatch(rf"{part}(,{part})*", text, re.ASCII):
        raise Unclear("the list of nodes is not taken apart")
    names = names_of(text)
    if not names or len(names) > MOST_RANKS:
        raise Unclear("the list of nodes is empty, or longer than what is worked out one by one")
    return tuple(names)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _distribution(text: str) -> tuple[str, int, str | None, bool]:
    """Return how tasks go over nodes, the size of a plane, how they go over sockets, and whether nodes are filled."""
    levels, _, flag = text.lower().partition(",")
    if levels in ("pack", "nopack") and not flag:
        levels, flag = "*", levels
    words = levels.split(":")
    pack = flag == "pack"
    if flag not in ("", "pack", "nopack") or len(words) > 3:
        raise Refused(f"invalid distribution {text[:40]!a}")
    plane = re.fullmatch(r"plane=(\d{1,6})", words[0], re.ASCII)
    outer = "plane" if plane else {"": "default", "*": "default"}.get(words[0], words[0])
    if outer not in ("plane", "default", "block", "cyclic", "arbitrary"):
        raise Refused(f"invalid distribution {text[:40]!a}")
    # a * that is written is cyclic, whatever CR_CORE_DEFAULT_DIST_BLOCK says (22.05, observed)
    inner = words[1].replace("*", "cyclic") if len(words) > 1 else None
    if inner not in (None, "block", "cyclic", "fcyclic"):
        raise Refused(f"invalid distribution {text[:40]!a}")
    # how cores are placed, the third, changes nothing in 22.05, as was seen of tasks bound to threads and to cores
    if (len(words) > 2 and words[2] not in ("*", "block", "cyclic", "fcyclic")) or (plane and len(words) > 1):
        raise Unclear(f"the distribution {text[:40]!a} is not worked out here")
    return outer, int(plane[1]) if plane else 0, "plane" if plane else inner, pack
