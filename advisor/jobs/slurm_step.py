"""What a line of srun asks for: tasks, nodes, CPUs and GPUs of a task, distribution and binding, by options or by variables.

Written from what Slurm 22.05.8 was seen to do (tests/jobs/lint/seen_srun.txt).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from advisor.jobs.request import MOST_RANKS, Line, Prediction, Refused, Unclear
from advisor.jobs.slurm import Entity, Step, names_of


def natural(name: str) -> list[tuple[int, str]]:
    """Return what Slurm sorts host names by: their numbers as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


ENTITIES: dict[str, Entity | None] = {"": None, "threads": "threads", "cores": "cores", "sockets": "sockets", "ldoms": "ldoms"}


BY_CORE = ("compute_bound", "memory_bound")


Shaped = tuple[int | None, int | None, int | None]
"""Sockets of a node, cores of a socket and threads of a core, None where they are not said."""


_SPELT = {"no": "none", "mapcpu": "map_cpu", "maskcpu": "mask_cpu", "mapldom": "map_ldom", "maskldom": "mask_ldom"}


_PLAIN = frozenset({"none", "rank", "rank_ldom"})


_LISTS = frozenset({"map_cpu", "mask_cpu", "map_ldom", "mask_ldom"})


_VALUE = re.compile("[0-9].*|[0-9a-fA-F]*")


def number_of(said: Mapping[str, str], option: str) -> int | None:
    """Return the number of an option, None where it is not said."""
    text = said.get(option)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,8}", text, re.ASCII) or not int(text):
        raise Unclear(f"{option} {text[:40]} is not a number")
    return int(text)


def cpu_bind(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what --cpu-bind says: "", none, rank, an entity, or the name of a list and its entries.

    Of several words the last counts, and an entity only where nothing else says which CPUs.
    """
    entity, other, listed = "", "", ""
    for word in _words(text):
        name, colon, rest = _cut(word)
        name = _SPELT.get(name.lower(), name.lower())
        if name in ("q", "quiet", "v", "verbose", ""):
            continue
        if name == "one_thread":
            raise Unclear("which thread of each core --cpu-bind=one_thread gives, is not worked out here")
        name = f"{name}s" if f"{name}s" in ENTITIES else name
        if name in ENTITIES and not colon:
            entity = name
        elif name in _LISTS or (name in _PLAIN and not colon):
            other, listed = name, rest
        else:
            raise Refused(f"unrecognized --cpu-bind argument {text[:40]!a}")
    return other or entity, tuple(_repeated(listed)) if listed else ()


def _cut(word: str) -> tuple[str, str, str]:
    """Return the name, the sign and the list of a word; = is a sign too."""
    return word.partition(min(":=", key=lambda sign: word.find(sign) % (len(word) + 1)))


def _words(text: str) -> list[str]:
    """Return the words between commas; what looks like a number, or is empty, goes on the word before."""
    found: list[str] = []
    for word in text.split(","):
        if found and _VALUE.fullmatch(word):
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found


def _repeated(listed: str) -> Iterator[str]:
    made = 0
    for word in filter(None, listed.split(",")):
        entry, star, times = word.partition("*")
        if star and not re.fullmatch(r"\d{1,6}", times, re.ASCII):
            raise Refused(f"{word[:40]!a} is not an entry of a list")
        for _ in range(min(int(times) if star else 1, MOST_RANKS)):
            made += 1
            if made > MOST_RANKS:
                return
            yield entry


def hint(said: Mapping[str, str]) -> str:
    """Return the --hint that counts: none beside -B, which says more; of several, nomultithread."""
    if "--extra-node-info" in said:
        return ""
    words = said.get("--hint", "").lower().split(",")
    return "nomultithread" if "nomultithread" in words else words[-1]


def hinted(said: Mapping[str, str], bind: str, step: Step) -> tuple[str, Step]:
    """Return the binding and the step as --hint and -B change them.

    A hint counts only where nothing else is said of threads, and is not even read where it does not count; nor does -B bind
    beside --threads-per-core, even where its own threads are what counts.
    """
    if bind or step.used or "--threads-per-core" in said:
        return bind or "threads", step
    if (word := levels(said)[0] or ("cores" if step.per_core else "")) or "--hint" not in said:
        return word or ("sockets" if step.per_socket else ""), step
    words = said["--hint"].lower().split(",")
    for each in words:
        if each not in ("nomultithread", "multithread", *BY_CORE):
            raise Refused(f"unrecognized --hint argument {each[:40]!a}")
    if len(words) > 1 and "nomultithread" not in words:
        raise Unclear(f"--hint={said['--hint'][:40]} is not worked out here")
    word = hint(said)
    return "cores" if word in BY_CORE else "threads", replace(step, used=1) if word == "nomultithread" else step


def levels(said: Mapping[str, str]) -> tuple[str, Shaped]:
    """Return what -B, --extra-node-info=sockets:cores:threads, binds tasks to, and its numbers.

    In a step of 22.05 its sockets and cores are not asked for: those of the job are what there is. (Observed.)
    """
    text = said.get("--extra-node-info")
    if text is None:
        return "", (None, None, None)
    words = text.split(":")
    if len(words) > 3 or not all(re.fullmatch(r"\d{1,5}|\*", word, re.ASCII) for word in words):
        raise Unclear(f"what --extra-node-info={text[:40]} asks for is not worked out here")
    if "0" in (word.lstrip("0") or "0" for word in words):
        raise Refused(f"--extra-node-info={text[:40]} asks for none of something; nothing starts")
    numbers = [int(word) if word != "*" else None for word in words] + [None, None]
    return ("sockets", "cores", "threads")[len(words) - 1], (numbers[0], numbers[1], numbers[2])


def mem_bind(text: str, tasks: int, nodes: int) -> None:
    """Raise Refused where --mem-bind is not read, or names a NUMA node beyond the last for one of the tasks of a node."""
    plain = re.sub(r"^(?:(?:quiet|q|verbose|v|prefer|p|nosort|sort)(?:,|$))+", "", text.lower())
    kind, colon, listed = plain.partition(":")
    pattern = {"map_mem": r"\d{1,7}", "mask_mem": r"(0x)?[0-9a-f]{1,64}"}.get(kind)
    if (kind not in ("", "none", "no", "n", "local", "rank") or colon) and not (pattern and listed):
        raise Refused(f"unrecognized --mem-bind argument {text[:40]!a}")
    entries = list(_repeated(listed))[:tasks] if pattern else []
    if not all(re.fullmatch(pattern or "", entry, re.ASCII) for entry in entries):
        raise Unclear(f"--mem-bind={text[:40]} is not worked out here")
    if (pattern or kind == "rank") and not nodes:
        raise Unclear("which NUMA nodes the machine has, for --mem-bind, is not known")
    wanted = [int(entry) if kind == "map_mem" else int(entry, 16).bit_length() - 1 for entry in entries]
    if any(number >= nodes for number in (range(tasks) if kind == "rank" else wanted)):
        raise Refused(f"--mem-bind names a NUMA node beyond the last of {nodes}: a task ends before it begins")


_COUNTS = ("--gpus", "--gpus-per-node", "--gpus-per-task")


def asks(said: Mapping[str, str], release: tuple[int, ...] | None) -> bool:
    """Return whether a line asks for GPUs; raise Unclear where what that does to its CPUs was not seen."""
    if "--cpus-per-gpu" in said and (release is None or release[:2] != (22, 5)):
        raise Unclear("--cpus-per-gpu changes nothing in a step of Slurm 22.05; what other versions do was not seen")
    if "--ntasks-per-gpu" in said and "--gpus-per-task" in said:
        raise Refused("--gpus-per-task and --ntasks-per-gpu exclude each other")
    if "--ntasks-per-gpu" in said and "--ntasks" in said:
        raise Unclear("how many GPUs --ntasks-per-gpu asks for beside --ntasks, and whether nodes have them, is not known")
    return any(_count(said, option) for option in _COUNTS) or bool(_gres(said))


def of_gpus(said: Mapping[str, str], nodes: int) -> int | None:
    """Return the tasks that a line without --ntasks starts for its GPUs; None where they are not what it counts by."""
    each = number_of(said, "--ntasks-per-gpu")
    if each is None:
        if "--gpus" in said and "--gpus-per-task" in said:
            raise Unclear("how many tasks --gpus and --gpus-per-task start, depends on whether a job runs already")
        return None
    if "--ntasks-per-node" in said:
        raise Unclear("--ntasks-per-node beside --ntasks-per-gpu is not worked out here")
    total = _count(said, "--gpus")
    if total is None and nodes == 1:
        total = _count(said, "--gpus-per-node") or _gres(said)
    if not total:
        raise Unclear("how many tasks --ntasks-per-gpu starts, is only predicted with --gpus, and of the GPUs of one node")
    return total * each


def _count(said: Mapping[str, str], option: str) -> int | None:
    """Return a number of GPUs; raise Unclear where their kind is named, for whether nodes have it is not known."""
    text = said.get(option)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII):
        raise Unclear(f"whether nodes have the GPUs of {option} {text[:40]}, is not known here")
    return int(text)


def _gres(said: Mapping[str, str]) -> int | None:
    """Return the GPUs of each node that --gres asks for."""
    text = said.get("--gres")
    if text is None or text == "none":
        return None
    match = re.fullmatch(r"gpu(?::(\d{1,5}))?", text, re.ASCII)
    if not match:
        raise Unclear(f"what CPUs --gres={text[:40]} gives, is not worked out here")
    return int(match[1] or 1)


def gpus_of_a_node(said: Mapping[str, str], nodes: int, tasks: int) -> int:
    """Return the GPUs that a line asks of a node with so many tasks; raise Refused where there are more nodes than GPUs."""
    total = _count(said, "--gpus") or 0
    if 0 < total < nodes and said.get("--gres") == "none":
        raise Unclear("--gres=none beside fewer --gpus than nodes is not worked out here")
    if 0 < total < nodes:
        raise Refused(f"--gpus={total} for {nodes} nodes: each takes one; nothing starts")
    whole, each = -(-total // nodes), (_count(said, "--gpus-per-task") or 0) * tasks
    return max(whole, each, _count(said, "--gpus-per-node") or 0, _gres(said) or 0)


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


def options(line: Line) -> dict[str, str]:
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


def _inherited(line: Line, found: dict[str, str]) -> None:
    """Add what SLURM_CPUS_PER_TASK says where srun reads it: not from 22.05 to 23.02 (there only SRUN_CPUS_PER_TASK)."""
    text = line.words.environment.get("SLURM_CPUS_PER_TASK")
    if text is None or "--cpus-per-task" in found:
        return
    if line.release is None:
        raise Unclear("whether srun reads SLURM_CPUS_PER_TASK depends on its version: 22.05 to 23.02 do not")
    if not (22, 5) <= line.release < (23, 11):
        found["--cpus-per-task"] = text


def step_request(made: Prediction, said: dict[str, str]) -> StepRequest:
    """Return what some options ask for; raise Refused or Unclear."""
    line = made.line
    outer, plane, inner, pack = _distribution(said.get("--distribution", ""))
    listed = _arbitrary(made) if outer == "arbitrary" else ()
    nodes = tuple(dict.fromkeys(listed)) if listed else _nodes_of_step(said)
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


def _arbitrary(made: Prediction) -> tuple[str, ...]:
    """Return the host of each rank, as the file of SLURM_HOSTFILE has them."""
    file = made.line.words.environment.get("SLURM_HOSTFILE")
    if file is None or file not in made.files:
        raise Unclear("which rank goes to which host stands in the file of SLURM_HOSTFILE, and it was not read")
    words = tuple(word for word in re.split(r"[\s,]+", made.files[file]) if word)
    if not words or len(words) > MOST_RANKS or any(re.search(r"[\[\]*#]", word) for word in words):
        raise Unclear("the file of SLURM_HOSTFILE is not understood")
    return words


def _nodes_of_step(said: dict[str, str]) -> tuple[str | None, ...]:
    listed, count = said.get("--nodelist", ""), said.get("--nodes", "")
    names = _names_listed(listed)
    if "--exclude" in said:
        if {*names} & {*_names_listed(said["--exclude"])}:
            raise Refused("a node is in the list and in --exclude; nothing starts")
        raise Unclear("which nodes --exclude leaves of those that the job has, is not known")
    match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", count, re.ASCII)
    if count and (not match or not int(match[1]) or (match[2] and match[2] != match[1])):
        raise Unclear(f"how many nodes --nodes {count[:20]} gives, is left to Slurm")
    number = int(match[1]) if match else max(1, len(names))
    if names and number != len(names):
        raise Unclear(f"--nodes {number} and a list of {len(names)}: which are taken, is left to Slurm")
    if names:
        return tuple(sorted(names, key=natural))
    return (None,) if number == 1 else tuple(f"node{i}" for i in range(number))


def _names_listed(text: str) -> tuple[str, ...]:
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
