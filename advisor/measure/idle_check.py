"""Whether anybody else works on the machine, and under which conditions is measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host
from advisor.machine.machine import Machine
from advisor.measure.measurement import Conditions
from advisor.measure.resources import free_now

MOMENT: Final = 1.0
"""Seconds between the two looks before anything is measured."""
SHARE: Final = 0.08
"""Of all CPUs together: below it, repeated runs of one thing agree to 3 %."""
MOST: Final = 1.0
"""CPUs: on a large machine a single core that streams takes a tenth of a socket's bandwidth."""
LEAST: Final = 0.1
_PROCESS: Final = 0.25
"""Of one CPU: what a daemon takes in passing is less."""
_STEAL: Final = 0.05
_KERNEL_THREAD: Final = 0x00200000
"""PF_KTHREAD in the flags of /proc/PID/stat."""
_TICKS: Final = 100.0
"""A second, as Linux counts for programs on every architecture that has servers (USER_HZ)."""
_NAMED: Final = 3
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
    return (*words, *((f"{len(worst) - _NAMED} more programs run",) if len(worst) > _NAMED else ()))


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
    return (f"the hypervisor took {share:.0%} of the CPUs",) if share >= _STEAL else ()


def background_load(before: LoadSnapshot, now: LoadSnapshot) -> tuple[str, ...]:
    """Return how busy the CPUs were between two looks in which nothing was measured, where that is too much."""
    seconds = max(now.at - before.at, 0.05)
    busy = (now.busy - before.busy) / seconds
    limit = max(LEAST, min(SHARE * now.cpus, MOST))
    return (f"{busy:.1f} of {now.cpus} CPUs are busy",) if busy > limit else ()


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
