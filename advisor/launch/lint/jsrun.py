"""Where a line of jsrun puts its ranks, by resource sets or by an explicit resource file, as OLCF's guide to Summit has it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from advisor.errors import BadValue
from advisor.launch.launchers.jsrun import blocks
from advisor.launch.launchers.pals import known_words, number, number_in
from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear, bounded
from advisor.launch.lint.spelling import warning
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank, LintWarning

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction
    from advisor.launch.lint.request import Request

_RANK = re.compile(r"rank\s*:\s*(\d{1,7})\s*:\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\s*(?::\s*app\s*\d{1,4})?", re.ASCII)
_SYMBOL = re.compile(r"([a-z][a-z_-]*)\s*:\s*(\S+)", re.ASCII)
_HOST = re.compile(r"host(name)?\s*:\s*([A-Za-z0-9._-]{1,255})", re.ASCII)
_CPU = re.compile(r"cpu\s*:\s*\{([\d,\s-]+)\}", re.ASCII)


@dataclass(frozen=True)
class Sets:
    """The resource sets of a line, and how tasks are bound inside of one."""

    count: int
    tasks: int
    cores: int
    gpus: int
    each: int | None
    """Those of a host, where that is said."""
    bind: str
    whole: bool = False
    """Whether each has all cores of its host."""


def request(line: "Line", told: "Request") -> "Request":
    """Return what a line asks for, beside its variables."""
    count, tasks = (number_in(line.first.value(name)) for name in ("--nrs", "--tasks_per_rs"))
    each = number_in(line.first.value("--rs_per_host"))
    pairs = [said.values[0].partition("=") for said in line.first.options if said.name == "--env"]
    threads = next((number_in(value) for name, _, value in reversed(pairs) if name == "OMP_NUM_THREADS"), told.threads)
    file = line.first.value("--erf_input")
    return replace(
        told,
        ranks=count * (tasks or 1) if count else number_in(line.first.value("--np")),
        per_node=each * (tasks or 1) if each else None,
        hosts=tuple((f"node{at}", None) for at in range(min(-(-count // each), 65536)))
        if count and each and count > each
        else (),
        rankfile=file,
        level="rankfile" if file else None,
        bind="none" if line.first.value("--bind") == "none" else line.first.value("--bind"),
        threads=threads,
    )


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of jsrun; raise Refused or Unclear."""
    line = made.line
    known_words(line, "jsrun")
    if line.first.has("--erf_input"):
        return tuple(_of_file(made))
    return tuple(_of_sets(made, _sets(made)))


def _sets(made: "Prediction") -> Sets:
    line = made.line
    first = line.first
    if first.has("--use_resources"):
        raise Unclear("what a file of -U means, is not documented well enough; --erf_input is read")
    if odd := next((name for name in ("--rs_per_socket", "--exclude_hosts") if first.has(name)), None):
        raise Unclear(f"{odd} is not worked out here")
    if first.has("--np"):
        raise Unclear("how -p puts tasks into resource sets, is not worked out here; -a says it")
    if (first.value("--launch_distribution") or "packed") != "packed":
        raise Unclear(f"-d {(first.value('--launch_distribution') or '')[:40]} is not worked out here")
    if not re.fullmatch(r"gpu-cpu(,[a-z,-]*)?", first.value("--latency_priority") or "gpu-cpu"):
        raise Unclear(
            f"where -l {(first.value('--latency_priority') or '')[:40]} puts resource sets, is not documented well enough"
        )
    whole = (first.value("--cpu_per_rs") or "").upper() == "ALL_CPUS"
    count, tasks = number(line, "--nrs", ""), number(line, "--tasks_per_rs", "")
    if count is None or tasks is None:
        raise Unclear("without -n and -a jsrun starts what its job and site say")
    cores = len(logical_numbering(made.topology).cores) if whole else number(line, "--cpu_per_rs", "") or 1
    gpus = first.value("--gpu_per_rs") or "0"
    if not re.fullmatch(r"\d{1,4}|ALL_GPUS", gpus, re.ASCII | re.IGNORECASE) or (not gpus.isdigit() and not whole):
        raise Unclear(f"-g {gpus[:40]} is not worked out here")
    each = 1 if whole else number(line, "--rs_per_host", "")
    bounded(count * tasks)
    return Sets(count, tasks, cores, int(gpus) if gpus.isdigit() else 0, each, first.value("--bind") or "packed:1", whole)


def _of_sets(made: "Prediction", sets: Sets) -> Iterator[LintRank]:
    """Yield the ranks: hosts are filled in turn, the tasks of a set follow each other."""
    here = _parts(made, sets)
    each = sets.each or len(here)
    if not each or each > len(here):
        raise Unclear(f"{each} resource sets of {sets.cores} cores and {sets.gpus} GPUs do not fit on this machine")
    several = sets.count > each
    given = [_bound(part, sets, made.topology) for part in here[:each]]
    for rank in range(sets.count * sets.tasks):
        at, task = divmod(rank, sets.tasks)
        yield LintRank(rank=rank, host=f"node{at // each}" if several else None, cpus=given[at % each][task])


def _parts(made: "Prediction", sets: Sets) -> Sequence[CpuSet]:
    """Return the CPUs of all resource sets that a host has room for, in order."""
    cores = logical_numbering(made.topology).cores
    if sets.whole:
        return [union(cores)]
    if sets.gpus:
        return list(_near_gpus(made.machine, made.topology, sets))
    room = sets.each or min(sets.count, len(cores) // sets.cores)
    found = blocks(made.topology, sets.cores, room) if room else []
    if found is None:
        raise Unclear("a resource set would reach over two sockets, and which cores it gets then, is not documented")
    return found


def _near_gpus(machine: Machine, topology: Topology, sets: Sets) -> Iterator[CpuSet]:
    """Yield the CPUs of resource sets with GPUs: cores of the socket that the GPUs are on (-l gpu-cpu, the default)."""
    sockets = [package.cpuset for package in topology.inside.packages]
    nodes = {node.os_index: node.cpuset for node in topology.inside.nodes}
    gpus = sorted(machine.gpus or (), key=lambda gpu: gpu.address or "")
    homes = [union(nodes.get(at, CpuSet()) for at in (gpu.locality.numa_nodes if gpu.locality else ())) for gpu in gpus]
    places = [[at for at, socket in enumerate(sockets) if home and home <= socket] for home in homes]
    if not gpus or not all(len(place) == 1 for place in places):
        raise Unclear("on which socket each GPU of this machine is, is not known: resource sets get cores beside theirs")
    left = [[core for core in logical_numbering(topology).cores if core <= socket] for socket in sockets]
    for at in range(0, len(gpus) - sets.gpus + 1, sets.gpus):
        own = {place[0] for place in places[at : at + sets.gpus]}
        if len(own) > 1:
            raise Unclear("a resource set would have GPUs of two sockets, and which cores it gets then, is not documented")
        mine = left[own.pop()]
        if len(mine) < sets.cores:
            return
        yield union(mine[: sets.cores])
        del mine[: sets.cores]


def _bound(part: CpuSet, sets: Sets, topology: Topology) -> tuple[CpuSet | None, ...]:
    """Return the CPUs of the tasks of a resource set."""
    if sets.bind == "rs":
        return (part,) * sets.tasks
    if sets.bind == "none":
        if not sets.whole:
            raise Unclear("an unbound task may run on its resource set, which is a part of the node")
        return (None,) * sets.tasks
    size = number_in(sets.bind.removeprefix("packed:"))
    if not sets.bind.startswith("packed:") or not size:
        raise Unclear(f"-b {sets.bind[:40]} is not worked out here")
    cores = [core for core in logical_numbering(topology).cores if core <= part]
    if len(cores) == 1:
        return (part,) * sets.tasks
    if size * sets.tasks > len(cores):
        raise Unclear(f"{sets.tasks} tasks of {size} cores are more than the {len(cores)} of their resource set")
    return tuple(union(cores[task * size : (task + 1) * size]) for task in range(sets.tasks))


def _of_file(made: "Prediction") -> Iterator[LintRank]:
    """Yield the ranks of an explicit resource file that has one set of CPUs for each."""
    name = made.line.first.value("--erf_input") or ""
    if name not in made.files:
        raise Unclear(f"the ranks are where the file {name[:80]} has them, and it was not read")
    symbols, rows = _rows(made.files[name])
    index = symbols.get("cpu_index_using", "logical")
    if index not in ("logical", "physical"):
        raise Refused(f"cpu_index_using: {index[:40]} is neither logical nor physical")
    usable = sorted(made.topology.inside.pus)
    found = [LintRank(rank=rank, host=host, cpus=_numbered(text, usable, index)) for rank, host, text in rows]
    if sorted(each.rank for each in found) != list(range(len(found))):
        raise Unclear("the ranks of the file are not one after the other from 0 on")
    yield from sorted(found, key=lambda each: each.rank)


def _rows(text: str) -> tuple[dict[str, str], list[tuple[int, str, str]]]:
    """Return the symbols of a file, and of each rank its number, its host and its CPUs."""
    symbols: dict[str, str] = {}
    rows: list[tuple[int, str, str]] = []
    for line in text.splitlines()[: MOST_RANKS + 64]:
        row = line.partition("#")[0].strip()[:8192]
        if not row or re.match(r"app\s*\d+\s*:", row, re.ASCII):
            continue
        if match := _SYMBOL.fullmatch(row):
            symbols[match[1].replace("-", "_")] = match[2]
            continue
        rank = _RANK.fullmatch(row)
        host, cpus = (_HOST.search(rank[2]), _CPU.findall(rank[2])) if rank else (None, [])
        if rank is None or host is None or len(cpus) != 1:
            raise Unclear(f"{row[:60]!a} of the file is not one rank with one set of CPUs on one host")
        rows.append((int(rank[1]), host[2] if host[1] else f"node{host[2]}", cpus[0]))
    if not rows:
        raise Unclear("the file has no rank")
    return symbols, rows


def _numbered(text: str, usable: Sequence[int], index: str) -> CpuSet:
    """Return CPUs by the kernel's numbers; logical ones count those that the job may use (OLCF's tutorial on ERF)."""
    try:
        numbers = CpuSet.parse("".join(text.split()))
    except BadValue as error:
        raise Unclear(f"{text[:40]!a} cannot be read: {error.problem}") from error
    beyond = len(usable) <= (numbers.last or 0) if index == "logical" else not numbers <= CpuSet(usable)
    if not numbers or beyond:
        raise Unclear(f"CPUs {text[:40]} are not all among those that a job may use here")
    return CpuSet(usable[at] for at in numbers) if index == "logical" else numbers


def warnings(case: "Prediction") -> Iterator[LintWarning]:
    """Yield the warnings about what jsrun does otherwise than its options sound."""
    first = case.line.first
    cores, tasks = (number_in(first.value(name)) or 1 for name in ("--cpu_per_rs", "--tasks_per_rs"))
    if not first.has("--bind", "--erf_input") and cores > tasks:
        why = "Without -b each task is bound to one core (packed:1, as OLCF has it), and its threads share that."
        better = f"-b packed:{cores // tasks}"
        evidence = f"{cores} cores and {tasks} task{'s' * (tasks > 1)} in a resource set"
        yield warning("packed-one", f"{cores - tasks} of {cores} cores stay idle", why, evidence, better, bad=True)
    if re.search(r"[A-Z]", latency := first.value("--latency_priority") or ""):
        why = "In capitals jsrun was seen to take other cores, or to fail (OLCF's known issues)."
        yield warning("latency-capitals", "the cores may be others", why, f"-l {latency[:60]}", f"-l {latency[:60].lower()}")
    if first.has("--use_resources") and first.has("--tasks_per_rs"):
        why = "jsrun passes over -a beside -U (OLCF's known issues)."
        yield warning(
            "rs-file", "-a has no effect", why, f"-U {(first.value('--rs_file') or '')[:60]}", "--erf_input FILE", bad=True
        )
