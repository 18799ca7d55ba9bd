"""Flux's run: a list of CPUs for each local task, or an even division of whole nodes, where all hosts are alike.

After flux-core's manual, its tests and its source (flux-framework/flux-core), and dry runs of 0.88.0.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import (
    Avoided,
    Dialect,
    JobScript,
    Launch,
    Launcher,
    LaunchRequest,
    Lines,
    RankVariables,
    option_table,
)
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import (
    LONGEST,
    LintRank,
    LintWarning,
    Placement,
    Slot,
    assigned,
    host_of_each_rank,
    kinds,
    memory_notes,
    names,
    only_slots,
    runs,
    version_of,
)
from advisor.jobs.request import (
    Line,
    Prediction,
    Refused,
    Request,
    Signs,
    Unclear,
    bounded,
    known_words,
    list_warnings,
    number_of_option,
    seated,
    warning,
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import logical_numbering
from advisor.machine.topology import Topology
from advisor.machine.units import count as counted

NAME = "flux"


RANKS = RankVariables(rank=("FLUX_TASK_RANK",), size=("FLUX_JOB_SIZE",), local=("FLUX_TASK_LOCAL_ID",))


MAP_SINCE = (0, 46)
"""cpu-affinity=map: (NEWS.md of flux-core); older ones bind every task to all cores of the job, silently."""


PER_TASK_SINCE = (0, 43)
"""per-task counts hardware threads rightly (NEWS.md, flux-core#4537)."""


VERBOSE_SINCE = (0, 80)
"""cpu-affinity=verbose and dry-run (NEWS.md)."""


HOSTFILE_SINCE = (0, 61)
"""--taskmap=hostfile:FILE (NEWS.md, flux-core#5844)."""


_DIFFER = Avoided("cpu-affinity=map", "the list is the same on every host, but these hosts differ")


_LONG = Avoided("cpu-affinity=map", f"longer than {LONGEST} characters, the limit for one argument")


_OLD = Avoided("cpu-affinity=map", "flux-core has supported it since 0.46; older versions silently ignore it")


_MPIBIND = "if the mpibind plugin is loaded, as at LLNL, add -o mpibind=off: the plugin sets different CPUs"


_ORDER = "ranks follow Flux's own node order (flux resource list): --taskmap=hostfile needs flux-core 0.61 or later"


_SILENT = "cpu-affinity=verbose, which prints the CPUs of each task, needs flux-core 0.80 or later: left out"


OPTIONS, _ALIASES = option_table("""
    -n --ntasks 1 starts {0} tasks
    -N --nodes 1 on {0} nodes
    -c --cores-per-task 1 allots {0} cores for each task, which all tasks of a node share without cpu-affinity
    -g --gpus-per-task 1 allots {0} GPUs for each task, which all tasks of a node see without gpu-affinity
    --exclusive -x 0 takes whole nodes
    --cores 1 allots {0} cores in total
    --tasks-per-node 1 starts {0} tasks on each node
    --tasks-per-core 1 starts {0} tasks on each core
    --gpus-per-node 1 allots {0} GPUs on each node
    -o --setopt 1 sets the option {0} of the job's shell
    --taskmap 1 assigns tasks to nodes by {0}
    --requires 1 on nodes that match {0}
    --env 1 sets or passes on {0} for all tasks
    --env-remove 1 removes the variables {0}
    --env-file 1 sets the variables of the file {0}
    -q --queue 1 in the queue {0}
    -B --bank 1 charges the bank {0}
    -t --time-limit 1 for at most {0}
    --urgency 1 with the urgency {0}
    --job-name 1 names the job {0}
    -S --setattr 1 sets the job's attribute {0}
    --add-file 1 attaches the file {0}
    --dependency 1 after {0}
    --begin-time 1 not before {0}
    --rlimit 1 passes on the limit {0}
    --input 1 reads {0}
    --output 1 writes output to {0}
    --error 1 writes errors to {0}
    -u --unbuffered 0 does not buffer output
    -l --label-io 0 marks output with the rank
    --cwd 1 starts in the folder {0}
    --flags 1 submits with the flags {0}
    --signal 1 sends {0} before the time is up
    --dry-run 0 starts nothing and prints the job
    --quiet 0 prints no job ID
    -v --verbose 0 prints more messages
    -vv 0 prints more messages
    -vvv 0 prints more messages
    --wait-event 1 waits for {0}
    --wait 0 waits until the job has ended
    --watch 0 shows the job's output
""")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line: tasks divided evenly or a list where hosts are alike, else the wrapper."""
    list(runs(placement))
    slots, version = only_slots(placement), version_of(wish.version)
    affinity = _even(placement, wish) or f"map:{listed(slots or ())}"
    old = bool(version) and version < MAP_SINCE
    avoided = (_OLD,) if old else (_DIFFER,) if slots is None else (_LONG,) if len(affinity) > LONGEST else ()
    if avoided or each_rank.wants_wrapper(placement, wish):
        return _line(placement, wish, "off", avoided)
    speaks = version >= VERBOSE_SINCE
    return _line(placement, wish, f"{'verbose,' if wish.report and speaks else ''}{affinity}", ())


def listed(slots: Sequence[Slot]) -> str:
    """Return the list, one part a local task: ``0-3;4-7``."""
    return ";".join(str(slot.cpus) for slot in slots)


def _even(placement: Placement, wish: LaunchRequest) -> str | None:
    """Return per-task where that divides the cores of every host as planned; None where it does not."""
    version = version_of(wish.version)
    if wish.exact or (version and version < PER_TASK_SINCE):
        return None
    for plan, ranks in kinds(placement).items():
        node = placement.plans[plan]
        slots = [slot.cpus for slot in node.slots[:ranks]]
        if node.topology.limited or ranks < 2 or divided(logical_numbering(node.topology).cores, ranks) != slots:
            return None
    return "per-task"


def divided(cores: Sequence[CpuSet], tasks: int) -> list[CpuSet]:
    """Return what hwloc_distrib makes of cores for so many tasks: it goes by their hardware threads, rounded up."""
    total, seen, parts = sum(map(len, cores)), 0, list[CpuSet]()
    for core in cores:
        chunk = -(-(seen + len(core)) * tasks // total) - -(-seen * tasks // total)
        seen += len(core)
        if chunk:
            parts += [core] * chunk
        else:
            parts[-1] |= core
    return parts


def _line(placement: Placement, wish: LaunchRequest, affinity: str, avoided: tuple[Avoided, ...]) -> Launch:
    """Return the line with what cpu-affinity is to be; off: the wrapper binds."""
    wrap = affinity == "off"
    ordered = not version_of(wish.version) or version_of(wish.version) >= HOSTFILE_SINCE
    where, files = _where(placement, ordered=ordered, own=wish.scheduler == "flux")
    variables = assigned(wish.environment, "--env")
    command = wrapper.wrapped(wish.command) if wrap else each_rank.command(wish, NAME)
    # Each rank names its GPU itself: Flux's own variable would hide it, -1 where its scheduler allots no GPUs.
    gpus = (wrap or wish.each) and any(slot.gpu for plan in placement.plans for slot in plan.slots)
    free = ("-o", "gpu-affinity=off") if gpus else ()
    argv = ("flux", "run", *where, "-x", *variables, *free, "-o", f"cpu-affinity={affinity}", *command)
    silent = (_SILENT,) if wish.report and not wrap and not affinity.startswith("verbose") else ()
    turned = (_ORDER,) if len(names(placement)) > 1 and not ordered else ()
    notes = (_MPIBIND, *turned, *silent, *(wrapper.NOTES if wrap else memory_notes(placement)))
    form = "wrapper" if wrap else "per-task" if affinity.endswith("per-task") else "map"
    made = wrapper.files(placement, RANKS) if wrap else {}
    return Launch(NAME, wish.version, form, argv, {}, {**files, **made}, avoided, notes)


def _where(placement: Placement, *, ordered: bool, own: bool) -> tuple[tuple[str, ...], dict[str, Lines]]:
    """Return the words and the file that give each host its ranks in the plan's order: Flux has an order of its own."""
    hosts = names(placement)
    counts = {host.ranks for host in placement.hosts if host.ranks}
    if len(counts) > 1:
        raise BadValue("Flux starts the same number of ranks on every host", cure="request the same number on each")
    size = ("-N", str(max(1, len(hosts))), "-n", str(placement.size))
    if not hosts or own:  # in a job of its own the hosts are those of the job, in their order
        return size, {}
    required = f"hosts:{','.join(hosts)}"
    named = ("--requires", required) if len(required) <= LONGEST else ()
    if len(hosts) == 1 or not ordered:
        return (*size, *named), {}
    return (*size, *named, "--taskmap", "hostfile:hostfile"), {"hostfile": lambda: host_of_each_rank(placement)}


_PER_TASK = ("-n", "-c", "-g")


_PER_RESOURCE = ("--cores", "--tasks-per-node", "--tasks-per-core", "--gpus-per-node")


_HARMLESS = re.compile(
    r"(?:pmi|pmi-simple|mpi|verbose|exit-timeout|exit-on-error|pty|output|input|signal|stage-in|oom|rlimit|nosetpgrp|"
    r"gpu-affinity|cpu-affinity|mpibind|cray-pals|cray-mpi)(?:\..*)?"
)
"""Options of the job's shell that do not say where tasks go (flux-shell-options(7)), or that are read here."""


_BITMAP = re.compile(r"0x[0-9a-fA-F]{1,4096}")


_LIST = re.compile(r"\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)*", re.ASCII)


Given = tuple[CpuSet | None, ...]


@dataclass(frozen=True)
class Size:
    """How many tasks a line starts, on how many nodes, and what it takes of each."""

    tasks: int
    nodes: int | None
    exclusive: bool
    cores: int | None
    """Cores allotted for each task; None if it is not said by task."""


def shell_options(line: Line) -> dict[str, str]:
    """Return the options of the job's shell; the last of a name counts."""
    return {
        name: value for said in line.first.options if said.name == "-o" for name, _, value in (said.values[0].partition("="),)
    }


def request(line: Line, told: Request) -> Request:
    """Return what a line asks for, beside its variables."""
    try:
        size: Size | None = sized(line)
    except (Refused, Unclear):
        size = None
    affinity = _plain(shell_options(line).get("cpu-affinity", ""))
    each = size.tasks // size.nodes if size and size.nodes and size.tasks % size.nodes == 0 else None
    nodes = size.nodes if size and size.nodes else 1
    return replace(
        told,
        ranks=size.tasks if size else told.ranks,
        per_node=each,
        hosts=tuple((f"node{at}", None) for at in range(min(nodes, 65536))) if nodes > 1 else (),
        hostfile=_hostfile(line),
        level="rankfile" if affinity.startswith("map:") else None,
        bind={"off": "none"}.get(affinity, affinity or None),
    )


def sized(line: Line) -> Size:
    """Return the size of a job; raise Refused of what flux run refuses, or Unclear (flux.cli.base.init_jobspec)."""
    first = line.first
    by_resource = [name for name in _PER_RESOURCE if first.has(name)]
    if by_resource and any(first.has(name) for name in _PER_TASK):
        raise Refused("Per-resource options can't be used with per-task options")
    tasks, nodes, cores = (number_of_option(line, name) for name in ("-n", "-N", "-c"))
    exclusive = first.has("--exclusive")
    if by_resource:
        each = number_of_option(line, "--tasks-per-node")
        if each is None or nodes is None or set(by_resource) - {"--tasks-per-node", "--gpus-per-node"}:
            raise Unclear(f"with {by_resource[0]}, the number of tasks is predicted only if --tasks-per-node and -N are given")
        return Size(bounded(each * nodes), nodes, exclusive=True, cores=None)
    if nodes is not None and tasks is None:
        return Size(bounded(nodes), nodes, exclusive=True, cores=cores or 1)
    if exclusive and nodes is None:
        raise Refused("--exclusive needs --nodes")
    if nodes is not None and tasks is not None and nodes > tasks:
        raise Refused(f"more nodes ({nodes}) than tasks ({tasks})")
    return Size(bounded(tasks or 1), nodes, exclusive=exclusive, cores=cores or 1)


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of flux run; raise Refused or Unclear."""
    line = made.line
    known_words(line, "flux run")
    options = shell_options(line)
    _readable(line, options)
    size = sized(line)
    nodes = size.nodes or (1 if size.tasks == 1 else None)
    if nodes is None:
        raise Unclear("without -N, Flux's scheduler chooses the number of nodes")
    if size.tasks % nodes:
        raise Unclear(f"the spread of {size.tasks} tasks over {nodes} nodes is not predicted")
    each = size.tasks // nodes
    hosts = list(_hosts(made, size.tasks, nodes))
    if "cpu-affinity" not in options and options.get("mpibind") != "off":
        raise Unclear(
            "without cpu-affinity, a task may run on all cores of the job or, if mpibind is loaded, on those mpibind chooses"
        )
    given = _given(made, size, options.get("cpu-affinity", "on"), each)
    return seated(hosts, dict.fromkeys(hosts, given), lambda host: host)


def _readable(line: Line, options: dict[str, str]) -> None:
    """Raise Unclear of what changes where tasks go in a way that is not predicted."""
    odd = next((name for name in options if not _HARMLESS.fullmatch(name) and name != "taskmap"), None)
    if odd is not None:
        raise Unclear(f"the effect of the shell option {odd[:40]} is unknown")
    if "taskmap" in options:
        raise Unclear("-o taskmap= is not supported; use --taskmap")
    if options.get("mpibind", "off") != "off":
        raise Unclear("mpibind chooses the CPUs: its choice is not predicted")
    if line.first.has("--dry-run"):
        raise Refused("--dry-run prints the job and starts nothing")


def _hostfile(line: Line) -> str | None:
    scheme, _, value = (line.first.value("--taskmap") or "").partition(":")
    return value or None if scheme == "hostfile" else None


def _hosts(made: Prediction, total: int, nodes: int) -> Iterator[str | None]:
    """Yield the host of each task: in blocks, in turn, or as a file says; names that Flux gives are not known."""
    line = made.line
    scheme, _, value = (line.first.value("--taskmap") or "block").partition(":")
    if scheme == "hostfile":
        yield from _of_file(made, total, nodes)
        return
    if scheme not in ("block", "cyclic") or value:
        raise Unclear(f"--taskmap {scheme[:40]}{':' * bool(value)}{value[:40]} is not predicted")
    required = (line.first.value("--requires") or "").removeprefix("hosts:").removeprefix("host:")
    named = nodes == 1 and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", required, re.ASCII)
    known = named and required != (line.first.value("--requires") or "")
    for task in range(total):
        node = task % nodes if scheme == "cyclic" else task // (total // nodes)
        yield (required if known else None) if nodes == 1 else f"node{node}"


def _of_file(made: Prediction, total: int, nodes: int) -> Iterator[str]:
    """Yield the hosts of a file in its order, again from the first where it is short (taskmap.hostfile)."""
    name = _hostfile(made.line)
    if name is None or name not in made.files:
        raise Unclear(f"the tasks go to the hosts listed in the file {(name or '')[:80]}, which was not read")
    rows = [row for row in made.files[name].split("\n")[: total + 1] if row]
    if not rows or not all(re.fullmatch(r"[A-Za-z0-9._-]{1,255}", row, re.ASCII) for row in rows):
        raise Unclear(f"the file {name[:80]} has lines that do not name exactly one host")
    order = [rows[task % len(rows)] for task in range(total)]
    if len(set(order)) != nodes or any(order.count(host) != total // nodes for host in set(order)):
        raise Refused(f"the file {name[:80]} does not give each of the {nodes} nodes {total // nodes} tasks")
    yield from order


def _plain(affinity: str) -> str:
    """Return cpu-affinity without the words that only print."""
    return re.sub(r"^(?:verbose|dry-run),?", "", affinity) or ("on" if affinity else "")


def _given(made: Prediction, size: Size, affinity: str, each: int) -> Given:
    """Return the CPUs of the tasks of a node."""
    release = (made.line.release or MAP_SINCE)[:2]
    if affinity.startswith(("verbose", "dry-run")) and made.line.release and release < VERBOSE_SINCE:
        raise Unclear(f"{affinity[:40]} needs flux-core 0.80 or later, but this is {made.line.version}")
    word = _plain(affinity)
    if affinity.startswith("dry-run") or word == "off":
        return (None,) * each
    if word.startswith("map:"):
        if release < MAP_SINCE:
            raise Unclear(f"cpu-affinity=map needs flux-core 0.46 or later, but this is {made.line.version}")
        return mapped(word.removeprefix("map:"), made.topology, each)
    if word not in ("on", "per-task"):
        raise Unclear(f"cpu-affinity={word[:40]} is unknown")
    cores = _whole(made.topology, size, each)
    if word == "on":  # the shell is bound, and its tasks with it
        return (union(cores),) * each
    if release < PER_TASK_SINCE:
        raise Unclear("before flux-core 0.43, per-task counted hardware threads differently")
    return tuple(divided(cores, each))


def _whole(topology: Topology, size: Size, each: int) -> Sequence[CpuSet]:
    """Return the cores of a node where the job has all of them; raise Unclear of a part, which the scheduler chooses."""
    cores = logical_numbering(topology).cores
    if size.cores is not None and size.cores * each > len(cores):
        raise Refused(f"{size.cores * each} cores are requested on a node with {len(cores)}: unsatisfiable request")
    if not size.exclusive and size.cores is not None and size.cores * each < len(cores):
        raise Unclear(f"the job has {size.cores * each} of the {len(cores)} cores of a node; the scheduler chooses which")
    return cores


def entries(listed: str, most: int) -> list[CpuSet]:
    """Return the CPUs of the first entries of a list; raise Refused or Unclear of one that cannot be read."""
    found = []
    for word in islice(filter(None, listed.split(";")), most):
        if not (_BITMAP.fullmatch(word) or _LIST.fullmatch(word)):
            hwloc = re.fullmatch(r"(?:0x[0-9a-fA-F]+,?)+|[\d,-]+-", word, re.ASCII)
            raise (Unclear if hwloc else Refused)(f"cpuset {word[:40]} contains no cores or is invalid")
        try:
            cpus = CpuSet.from_bits(int(word, 16)) if word.startswith("0x") else CpuSet.parse(word)
        except BadValue as error:
            raise Unclear(f"{word[:40]!a} of the list cannot be read: {error.problem}") from error
        if not cpus:
            raise Refused(f"cpuset {word[:40]} contains no cores or is invalid")
        found.append(cpus)
    if not found:
        raise Refused("no cpusets found in affinity list")
    return found


def mapped(listed: str, topology: Topology, each: int) -> Given:
    """Return the CPUs of the tasks by a list, which begins again where it is short."""
    if len(listed) > LONGEST:
        raise Unclear("the list is too long for one command-line argument")
    sets = entries(listed, each)
    if beyond := next((cpus for cpus in sets if not cpus <= topology.inside.pus), None):
        raise Unclear(
            f"this machine lacks some of CPUs {beyond}: the kernel uses only those present, or the task keeps the job's CPUs"
        )
    return tuple(sets[task % len(sets)] for task in range(each))


def warnings(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about what Flux does otherwise than its options sound."""
    options, first = shell_options(case.line), case.line.first
    affinity, each = options.get("cpu-affinity", ""), case.want.per_node or case.want.ranks or 1
    word = _plain(affinity)
    if affinity.startswith("dry-run"):
        why = "dry-run prints each task's CPUs but does not bind the task."
        yield warning("dry-run", "the tasks run unbound", why, f"cpu-affinity={affinity[:60]}", "use verbose instead", bad=True)
    if word.startswith("map:"):
        yield from _list_warnings(word.removeprefix("map:"), each, case.topology)
        yield from _not_allotted(case, each)
    if each > 1 and word in ("", "on") and options.get("mpibind", "off") == "off":
        why = "Flux binds the job, not its tasks: each may run on all the job's cores on the node."
        better = "-o cpu-affinity=per-task"
        yield warning(
            "job-bound", f"{each} tasks on a node share its cores", why, "no cpu-affinity in the line", better, bad=True
        )
    gpus = next((name for name in ("-g", "--gpus-per-node") if first.has(name)), None)
    if gpus and each > 1 and options.get("gpu-affinity", "on") == "on":
        why = (
            f"{gpus} only allots GPUs to the job; without gpu-affinity, every task's CUDA_VISIBLE_DEVICES lists all of them "
            "(flux-core#6239)."
        )
        written = f"{gpus} {first.value(gpus)} in the line, and no gpu-affinity"
        what = "every task on a node sees all of the job's GPUs"
        yield warning("gpus-shared", what, why, written, "-o gpu-affinity=per-task")


def _list_warnings(listed: str, each: int, topology: Topology) -> Iterator[LintWarning]:
    why = "Flux wraps around to the first entry and exits successfully: tasks share that entry's CPUs."
    yield from list_warnings("map", listed, each, Signs(";", "semicolon", why))
    try:
        beyond = next((cpus for cpus in entries(listed, each) if not cpus <= topology.inside.pus), None)
    except (Refused, Unclear):
        return
    if beyond:
        why = "A missing CPU is ignored, and a task left with none keeps all cores of the job; the run exits successfully."
        yield warning("no-such-cpu", f"this machine lacks some of CPUs {beyond}", why, f"map:{listed[:100]}", bad=True)


def _not_allotted(case: Prediction, each: int) -> Iterator[LintWarning]:
    """Yield a warning about a list on a part of a node: which cores the job has, nobody knows beforehand."""
    try:
        size = sized(case.line)
    except (Refused, Unclear):
        return
    allotted, cores = (size.cores or 1) * each, len(logical_numbering(case.topology).cores)
    if not size.exclusive and allotted < cores:
        why = "Flux's scheduler chooses the cores, but tasks are bound to the listed cores, which may belong to another job."
        evidence = f"{allotted} of {counted(cores, 'core')} allotted on each node"
        better = "add -x to -N to request whole nodes"
        yield warning("not-allotted", "the list may name cores outside the job", why, evidence, better)


LAUNCHER = Launcher(
    name=NAME,
    title="Flux",
    order=35,
    launch=launch,
    aliases=("flux-core", "flux-run"),
    # libflux-core:\t\t0.50.0
    tools=("flux",),
    variables=("FLUX_",),
    ranks=RANKS,
    without_binding=("-o", "cpu-affinity=off"),
    job=JobScript(("flux",)),
    dialect=Dialect(
        programs=("flux",),
        options=OPTIONS,
        aliases=_ALIASES,
        verbs=("run", "submit"),
        ranks=ranks,
        request=request,
        lists=warnings,
        glued=re.compile(r"(-[nNcgoqtSB])(=?)(.+)", re.DOTALL),
    ),
)
