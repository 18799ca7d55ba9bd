"""Runs tasks one after the other on an idle machine: repeats what spreads, ends what hangs, keeps what is done; joins runs.

Whether anybody else works on the machine is looked at before and meanwhile. On another node kernels and plan run as one script,
and what comes back is read as if it had run here.
"""

import os
import re
import tarfile
import time
from base64 import encodebytes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from gzip import compress
from hashlib import sha256
from io import BytesIO
from math import inf
from shlex import quote
from statistics import median
from time import monotonic
from typing import Protocol

from advisor.errors import BadInput, CannotWork, one_line
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Machine
from advisor.machine.observer import Progress
from advisor.measure.build import Starter
from advisor.measure.contract import Shapes, argv_with_shapes, learn_shapes, results_of
from advisor.measure.measurement import Conditions, KernelSheet, Measurements, Missing, Result, Task
from advisor.measure.resources import Resources, free_now

MOMENT = 1.0
"""Seconds between the two looks before anything is measured."""
SHARE = 0.08
"""Of all CPUs together: below it, repeated runs of one thing agree to 3 %."""
MOST = 1.0
"""CPUs: on a large machine a single core that streams takes a tenth of a socket's bandwidth."""
LEAST = 0.1
_PROCESS = 0.25
"""Of one CPU: what a daemon takes in passing is less."""
_STEAL = 0.05
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in the flags of /proc/PID/stat."""
_TICKS = 100.0
"""A second, as Linux counts for programs on every architecture that has servers (USER_HZ)."""
_NAMED = 3
Process = tuple[int, int]
"""A process by its number and its start."""


@dataclass(frozen=True)
class ProcessLoad:
    """One process: its program, who it is of, and the CPU seconds that it has used."""

    name: str
    parent: int
    used: float


@dataclass(frozen=True)
class LoadSnapshot:
    """What was seen at one moment; CPU seconds since the machine started."""

    at: float
    busy: float
    steal: float
    cpus: int
    processes: dict[Process, ProcessLoad]


def load_snapshot(host: Host, at: float, cpus: CpuSet) -> LoadSnapshot:
    """Return what the machine shows now."""
    busy, steal, counted = _cpu_times(host, cpus)
    return LoadSnapshot(at, busy, steal, counted, dict(_processes(host)))


def _cpu_times(host: Host, cpus: CpuSet) -> tuple[float, float, int]:
    """Return the busy and the stolen seconds of some CPUs, and how many of them were reported."""
    busy = steal = 0.0
    counted = 0
    for line in (host.read("/proc/stat").text or "").splitlines():
        words = line.split()
        if words and words[0][:3] == "cpu" and words[0][3:].isdecimal() and int(words[0][3:]) in cpus:
            times = [int(word) for word in words[1:9] if word.isdecimal()]
            if len(times) == 8:
                counted += 1
                busy += (sum(times) - times[3] - times[4]) / _TICKS
                steal += times[7] / _TICKS
    return busy, steal, counted


def _processes(host: Host) -> Iterator[tuple[Process, ProcessLoad]]:
    for name in host.list("/proc"):
        if name.isascii() and name.isdecimal():
            found = _process(host.read(f"/proc/{name}/stat").data)
            if found is not None:
                yield (int(name), found[0]), found[1]


def _process(line: bytes) -> tuple[int, ProcessLoad] | None:
    """Return a process's start and what it used; None of a thread of the kernel, or of what has just gone."""
    head, _, tail = line.rpartition(b")")
    words = tail.split()
    if len(words) < 20 or not all(word.lstrip(b"-").isdigit() for word in words[1:20]):
        return None
    if int(words[6]) & _KERNEL_THREAD:
        return None
    name = head.partition(b"(")[2].decode("utf-8", "replace")[:40]
    return int(words[19]), ProcessLoad(name, int(words[1]), (int(words[11]) + int(words[12])) / _TICKS)


Busy = dict[str, float]
"""Who worked beside us, in words, and on how many CPUs."""


def foreign_load(host: Host, before: LoadSnapshot, now: LoadSnapshot, me: int) -> Busy:
    """Return who else worked between two looks: every process but this one and those that it started or was started by."""
    mine = _family(now.processes, me)
    seconds = max(now.at - before.at, 0.05)
    found: Busy = {}
    for process, seen in now.processes.items():
        was = before.processes.get(process)
        used = (seen.used - (was.used if was else 0.0)) / seconds
        if process[0] not in mine and used >= _PROCESS:
            who = f"{_owner(host, process[0])} runs {seen.name}"
            found[who] = found.get(who, 0.0) + used
    return found


def busiest_in_words(busy: Busy) -> tuple[str, ...]:
    """Return who worked in words, the busiest first."""
    worst = sorted(busy.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{who} on {used:.1f} CPUs" for who, used in worst[:_NAMED]]
    return (*words, *((f"{len(worst) - _NAMED} more programs running",) if len(worst) > _NAMED else ()))


def _owner(host: Host, pid: int) -> str:
    """Return the user of a process by name, by number where the name is not in /etc/passwd."""
    status = host.read(f"/proc/{pid}/status").text or ""
    user = next((line.split()[1] for line in status.splitlines() if line.startswith("Uid:") and len(line.split()) > 1), None)
    if user is None:
        return "somebody"
    rows = (line.split(":") for line in (host.read("/etc/passwd").text or "").splitlines())
    return next((f"user {row[0][:32]}" for row in rows if len(row) > 2 and row[2] == user), f"user {user[:12]}")


def _family(processes: dict[Process, ProcessLoad], me: int) -> set[int]:
    """Return this process, those above it, and those below it."""
    parents = {number: seen.parent for (number, _), seen in processes.items()}
    family, at = {me}, me
    while (at := parents.get(at, 0)) not in (0, *family):
        family.add(at)
    below = {me}
    while grown := {child for child, parent in parents.items() if parent in below} - below:
        below |= grown
    return family | below


def steal_share(before: LoadSnapshot, now: LoadSnapshot) -> float:
    """Return the share of the CPUs that a hypervisor took between two looks."""
    seconds = max(now.at - before.at, 0.05)
    return max(0.0, (now.steal - before.steal) / seconds / max(1, now.cpus))


def steal_warning(share: float) -> tuple[str, ...]:
    """Return in words what a hypervisor took, where that is too much."""
    return (f"the hypervisor took {share:.0%} of the CPU time",) if share >= _STEAL else ()


def background_load(before: LoadSnapshot, now: LoadSnapshot) -> tuple[str, ...]:
    """Return how busy the CPUs were between two looks in which nothing was measured, where that is too much."""
    seconds = max(now.at - before.at, 0.05)
    return _too_busy((now.busy - before.busy) / seconds, now.cpus)


def _too_busy(busy: float, cpus: int) -> tuple[str, ...]:
    return (f"{busy:.1f} of {cpus} CPUs are busy",) if busy > max(LEAST, min(SHARE * cpus, MOST)) else ()


def partial_job(machine: Machine, usable: CpuSet) -> tuple[str, ...]:
    """Return that a job has this machine for a part only: other jobs may be on the rest, unseen or not yet."""
    topology, job = machine.topology, machine.allocation
    if topology is None or job is None or topology.pus <= usable:
        return ()
    name = f"{job.scheduler} job {job.job}" if job.job else f"a {job.scheduler} job"
    return (f"{name[:60]} has {len(usable)} of {len(topology.pus)} CPUs",)


def free_memory(host: Host, machine: Machine) -> dict[int, int]:
    """Return the free bytes of each NUMA node."""
    nodes = [node.os_index for node in machine.topology.nodes] if machine.topology else []
    found = free_now({node: host.read(f"/sys/devices/system/node/node{node}/meminfo").text for node in nodes})
    if not found and len(nodes) == 1:
        found = free_now({nodes[0]: _available(host.read("/proc/meminfo").text)})
    return found


def _available(text: str | None) -> str | None:
    """Return a machine's meminfo with what is available called free: a kernel without NUMA has no node's."""
    return (
        None
        if text is None
        else text.replace("MemFree:", "Unused:").replace("MemAvailable:", "MemFree:").replace("Cached:", "-:")
    )


def conditions(
    machine: Machine,
    started: str,
    busy: tuple[str, ...] | None,
    *,
    seconds: float = 0.0,
    compiler: str | None = None,
    flags: str | None = None,
) -> Conditions:
    """Return the conditions of a run; ``busy`` is None where nobody looked."""
    cpu, kernel = machine.cpu, machine.kernel
    return Conditions(
        started=started,
        seconds=round(seconds, 1),
        idle=None if busy is None else not busy,
        busy=busy or (),
        compiler=compiler,
        flags=flags,
        governor=",".join(cpu.governors) if cpu and cpu.governors else None,
        hugepages=kernel.thp if kernel else None,
    )


class BusyWatch:
    """Looks at who else works, again and again."""

    def __init__(self, host: Host, machine: Machine, ground: Resources) -> None:
        self._host, self._cpus = host, ground.inside.pus
        self._last = load_snapshot(host, time.monotonic(), self._cpus)
        self._standing = partial_job(machine, Resources(machine).usable)
        self._busy: Busy = {}
        self._stolen = 0.0

    def must_be_idle(self, *, busy_ok: bool) -> None:
        """Refuse to measure a busy machine, unless that is wished."""
        before = self.before()
        if before and not busy_ok:
            raise CannotWork(f"this machine is not idle: {'; '.join(before)}; wait, or measure anyway with --busy-ok")

    def before(self) -> tuple[str, ...]:
        """Return what speaks against measuring now; takes a moment."""
        first = self._last
        time.sleep(MOMENT)
        self.look()
        crowded = () if self._busy else background_load(first, self._last)
        self._standing = (*self._standing, *crowded)
        return self.words()

    def look(self) -> None:
        """Note who worked since it last looked."""
        last, self._last = self._last, load_snapshot(self._host, time.monotonic(), self._cpus)
        for who, used in foreign_load(self._host, last, self._last, os.getpid()).items():
            self._busy[who] = max(used, self._busy.get(who, 0.0))
        self._stolen = max(self._stolen, steal_share(last, self._last))

    def words(self) -> tuple[str, ...]:
        """Return all that spoke against measuring so far."""
        return (*self._standing, *busiest_in_words(self._busy), *steal_warning(self._stolen))


SPREAD = 0.05
"""Of the median: above it the repeats do not tell the value yet."""
_ROUNDS = 3
_PATIENCE = 8.0
"""Times the estimate, and this much at least beside it, before a kernel counts as hung."""
_LEAST = 30.0
_LARGEST = 64 << 20
_CANNOT = 3
_WRONG = 1
STOPPED = "stopped by Ctrl-C"
LATE = "time limit reached"


class Programs(Protocol):
    """Where the kernels' programs are."""

    def program(self, name: str) -> str:
        """Return the path of a kernel's program."""
        ...


@dataclass
class Outcome:
    """What a run brought, as far as it came."""

    results: list[Result] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    interrupted: bool = False

    def stopped(self, tasks: Iterable[Task]) -> None:
        """Note that Ctrl-C ended the run, and the tasks that it left undone."""
        self.interrupted = True
        done = {result.task for result in self.results} | {each.task for each in self.missing}
        for task in tasks:
            if task.name not in done:
                self.lacks(task, STOPPED)

    def lacks(self, task: Task, why: str) -> None:
        """Note a task without a result."""
        self.missing.append(Missing(task=task.name, why=one_line(why)[:300]))


@dataclass(frozen=True)
class RunContext:
    """What a run needs beside its tasks."""

    host: Starter
    programs: Programs
    report: Callable[[Progress], None]
    look: Callable[[], None]
    """Notes who else worked meanwhile."""
    clock: Callable[[], float] = monotonic
    shapes: Shapes = field(default_factory=dict)
    kernels: Mapping[str, KernelSheet] = field(default_factory=dict)
    """What the kernels say of themselves, and so what they may print."""
    budget: float | None = None
    """Seconds after which no task is begun, and none is repeated when the rest would no longer fit."""


def run(tasks: Sequence[Task], around: RunContext) -> Outcome:
    """Run tasks in order; Ctrl-C ends the one that runs and keeps what is done."""
    outcome, begun = Outcome(), around.clock()
    pace = 1.0
    try:
        for number, task in enumerate(tasks):
            spent, left = around.clock() - begun, sum(each.seconds for each in tasks[number:]) * pace
            if around.budget is not None and spent > around.budget:
                outcome.lacks(task, LATE)
                continue
            around.report(Progress(number + 1, len(tasks), task, left))
            _one(task, around, outcome, inf if around.budget is None else around.budget - spent - left)
            # How much longer than planned it takes makes the time left honest; the first tasks tell little.
            pace = (around.clock() - begun + 5.0) / (sum(each.seconds for each in tasks[: number + 1]) + 5.0)
            around.look()
    except KeyboardInterrupt:
        outcome.stopped(tasks)
    return outcome


def _one(task: Task, around: RunContext, outcome: Outcome, spare: float) -> None:
    """Run a task until its spread is known, three times at most; results of starts that differ in kind are the last's alone."""
    found: tuple[Result, ...] = ()
    for turn in range(_ROUNDS):
        begun = around.clock()
        again = _started(task, around)
        if isinstance(again, str):
            if not found:
                outcome.lacks(task, again)
            break
        kinds = [[(each.variant, each.unit, each.cpus, each.bytes) for each in some] for some in (found, again)]
        if kinds[0] == kinds[1]:
            again = tuple(
                new.but(values=old.values + new.values, details={**new.details, "rounds_run": turn + 1})
                for old, new in zip(found, again, strict=True)
            )
        found, took = again, around.clock() - begun
        spare -= took if turn else 0.0
        # Of many results of one task, whether those of the half lie too far apart.
        if median(result.spread for result in found) <= SPREAD or spare < took:
            break
    outcome.results += found


def _started(task: Task, around: RunContext) -> tuple[Result, ...] | str:
    """Return the results of one start, or in words why there are none."""
    heard: list[bytes] = []

    def hear(data: bytes) -> None:
        if sum(map(len, heard)) <= _LARGEST:
            heard.append(data)

    program = around.programs.program(task.kernel)
    ran = around.host.launch((program, *argv_with_shapes(task, around.shapes)), hear, timeout=limit_of(task))
    text = b"".join(heard)
    if len(text) > _LARGEST:
        return f"{task.kernel} printed endlessly"
    results = taken(task, ran, text, around.kernels.get(task.kernel))
    learn_shapes(around.shapes, () if isinstance(results, str) else results)
    return results


def limit_of(task: Task) -> float:
    """Return the seconds after which a task's kernel counts as hung."""
    return max(_LEAST, _PATIENCE * task.seconds)


def taken(task: Task, ran: Ran, text: bytes, sheet: KernelSheet | None) -> tuple[Result, ...] | str:
    """Return the results of a start, here or on another node, or in words why there are none."""
    lines = [line.strip() for line in ran.err.decode("utf-8", "replace").splitlines() if line.strip()]
    said = f": {lines[-1][:200]}" if lines else ""
    if ran.why is Why.TIMEOUT:
        return f"{task.kernel} hung and was killed after {limit_of(task):.0f} s"
    if ran.why is not None:
        return f"{task.kernel}: {ran.why.value}"
    if ran.status == 0:
        try:
            return results_of(task, text.splitlines(), sheet) or f"{task.kernel} ended without a result"
        except BadInput as error:
            return str(error)
    if ran.status == _WRONG:
        return f"its result was wrong{said}"
    if ran.status == _CANNOT:
        return f"not possible on this machine{said}"
    how = f"was killed by signal {-ran.status}" if ran.status < 0 else f"ended with status {ran.status}"
    return f"{task.kernel} {how}{said}"


_EARLIEST = datetime.min.replace(tzinfo=UTC)


def merge_runs(runs: Sequence[Measurements]) -> Measurements:
    """Return several runs as one, in the order in which they began; of a thing that two of them have, the later run's."""
    if len(runs) == 1:
        return runs[0]
    ordered = sorted(runs, key=started_at)
    latest = {_thing(result): at for at, run in enumerate(ordered) for result in run.results}
    told = {result.task for run in ordered for result in run.results}
    lacking = {each.task: each for run in ordered for each in run.missing if each.task not in told}
    return ordered[0].but(
        conditions=_conditions([run.conditions for run in ordered]),
        kernels=tuple({each.name: each for run in ordered for each in run.kernels}.values()),
        results=tuple(r for at, run in enumerate(ordered) for r in run.results if latest[_thing(r)] == at),
        missing=tuple(lacking.values()),
    )


def started_at(run: Measurements) -> datetime:
    """Return when a run began; what is no time comes before all others."""
    try:
        return datetime.fromisoformat(run.conditions.started).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return _EARLIEST


def _thing(result: Result) -> tuple[object, ...]:
    """Return what was measured: the same thing has the same task in every run; messages go between two hosts."""
    return result.task, result.variant, result.bytes, result.page_kind, result.details.get("hosts_named")


def _conditions(under: Sequence[Conditions]) -> Conditions:
    """Return what holds for all: not idle where one run was not, and what spoke against any of them."""

    def every(words: Iterable[str | None], mark: str) -> str | None:
        return mark.join(dict.fromkeys(word for word in words if word)) or None

    looks = [each.idle for each in under]
    measured = next((each for each in under if not each.imported), under[0])
    return measured.but(
        imported=tuple(dict.fromkeys(name for each in under for name in each.imported)),
        seconds=round(sum(each.seconds for each in under), 1),
        idle=False if False in looks else True if True in looks else None,
        busy=tuple(dict.fromkeys(words for each in under for words in each.busy)),
        compiler=every((each.compiler for each in under), "; "),
        flags=every((each.flags for each in under), "; "),
        governor=every((name for each in under for name in (each.governor or "").split(",")), ","),
        hugepages=every((each.hugepages for each in under), ","),
    )


_LINE = re.compile(rb"(?:idle (\d{1,9}) (\d{1,6})|task (\d{1,4}) (\d{1,3}) (\d{1,9}) (\d{1,5}))\n")
_SIGNALS = 128
END = "advisor-kernels"


@dataclass(frozen=True)
class Recorded:
    """What a node wrote: how busy it was before and after, in CPUs, of how many; and what each kernel printed, by its task."""

    looks: tuple[tuple[float, int], ...]
    runs: Mapping[int, tuple[Ran, bytes]]
    whole: bool

    @property
    def busy(self) -> tuple[str, ...]:
        """Return in words what speaks against the results."""
        return tuple(words for busy, cpus in self.looks for words in _too_busy(busy, cpus))


def template_values(
    tasks: Sequence[Task],
    programs: Mapping[str, bytes],
    *,
    busy_ok: bool,
    sees: str | None = None,
    holds: bytes | None = None,
) -> dict[str, object]:
    """Return what the script is made from: the programs as an archive, the tasks as lines, the limits of the idle gate.

    With ``sees`` it only looks whether the node is idle and has a program at that path, which holds that where it is known.
    """
    lines = [
        " ".join([str(at), str(round(limit_of(task))), *map(quote, (task.kernel, *task.argv))]) for at, task in enumerate(tasks)
    ]
    limits = {"share": round(SHARE * 100), "most": round(MOST * 100), "least": round(LEAST * 100)}
    path = quote(sees) if sees else ""
    return {
        "programs": _archive(programs),
        "tasks": lines,
        "end": END,
        "busy_ok": busy_ok,
        "sees": path,
        "sum": "" if holds is None else sha256(holds).hexdigest(),
        **limits,
    }


def _archive(programs: Mapping[str, bytes]) -> str:
    made = BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in sorted(programs.items()):
            about = tarfile.TarInfo(name)
            about.size, about.mode = len(data), 0o755
            tar.addfile(about, BytesIO(data))
    return encodebytes(compress(made.getvalue(), mtime=0)).decode().rstrip("\n")


def recorded(data: bytes) -> Recorded:
    """Return what a node wrote; what is cut short ends there."""
    looks: list[tuple[float, int]] = []
    runs: dict[int, tuple[Ran, bytes]] = {}
    at = 0
    while match := _LINE.match(data, at):
        at = match.end()
        if match[1] is not None:
            looks.append((int(match[1]) / 100, int(match[2])))
            continue
        index, status, said, complained = (int(each) for each in match.groups()[2:])
        end = at + said + complained
        if end > len(data):
            return Recorded(tuple(looks), runs, whole=False)
        signal = status - _SIGNALS
        runs[index] = (Ran(err=data[at + said : end], status=-signal if signal > 0 else status), data[at : at + said])
        at = end
    return Recorded(tuple(looks), runs, whole=at == len(data))


def results_on_node(tasks: Sequence[Task], found: Recorded, kernels: Mapping[str, KernelSheet]) -> Outcome:
    """Return the results of what a node wrote, held against what the kernels declare as those of a run here are."""
    outcome = Outcome()
    for at, task in enumerate(tasks):
        if at not in found.runs:
            outcome.lacks(task, "not started on the node")
            continue
        ran, text = found.runs[at]
        got = taken(task, ran, text, kernels.get(task.kernel))
        if isinstance(got, str):
            outcome.lacks(task, got)
        else:
            outcome.results += got
    return outcome
