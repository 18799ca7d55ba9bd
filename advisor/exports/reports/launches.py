"""The commands that start jobs of the usual shapes of a machine: one rank per core, L3 group, NUMA node, socket, GPU."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from advisor.errors import AdvisorError
from advisor.machine.cpuset import CpuSet

if TYPE_CHECKING:
    from advisor.exports.report.content import LaunchLine
    from advisor.machine.machine import Machine


def launch_lines(machine: "Machine") -> "Iterator[LaunchLine]":
    """Yield the commands for the usual shapes of a machine: one rank per core, L3 group, NUMA node, socket, GPU."""
    seen: set[tuple[str, ...]] = set()
    for shape, options in _shapes(machine):
        made = _launch(machine, shape, options)
        if made is not None and (key := (made.command,)) not in seen:
            seen.add(key)
            yield made


def _shapes(machine: "Machine") -> Iterator[tuple[str, dict[str, Any]]]:
    topology = machine.topology.inside if machine.topology else None
    if topology is None or not topology.cores:
        return
    parts = (
        ("core", [core.cpuset for core in topology.cores]),
        ("l3", [cache.cpuset for cache in topology.l3]),
        ("numa", [node.cpuset for node in topology.nodes if node.cpuset]),
        ("socket", [package.cpuset for package in topology.packages]),
    )
    names = {"core": "core", "l3": "L3 group", "numa": "NUMA node", "socket": "socket"}
    alike: dict[frozenset[CpuSet], list[str]] = {}
    for part, sets in parts:
        alike.setdefault(frozenset(sets), []).append(part)
    for own, kinds in alike.items():
        threads = min((sum(bool(core.cpuset & each) for core in topology.cores) for each in own), default=0)
        if threads:
            shape = " = ".join(names[kind] for kind in kinds)
            yield _named(f"One rank per {shape}", threads), {"ranks_per": (kinds[0], 1), "threads": threads}
    if machine.gpus:
        threads = max(1, len(topology.cores) // len(machine.gpus))
        yield (
            _named("One rank per GPU", threads),
            {"ranks_per_node": len(machine.gpus), "threads": threads, "strategy": "gpu-near"},
        )


def _named(shape: str, threads: int) -> str:
    return shape if threads == 1 else f"{shape}, {threads} threads each"


def _launch(machine: "Machine", shape: str, options: dict[str, Any]) -> "LaunchLine | None":
    """Return one line; None where the machine cannot take such a job."""
    from advisor.exports.report.content import LaunchLine
    from advisor.jobs import bind
    from advisor.jobs.place import place
    from advisor.jobs.registry import title_of
    from advisor.jobs.started.hosts import Allocated, JobHosts, JobOptions, LauncherOptions
    from advisor.jobs.started.hosts import shape as job_shape
    from advisor.show.commandline import word

    hosts, notes = JobHosts(Allocated(), (machine,)), list[str]()
    try:
        placement = place(job_shape(JobOptions(**options), hosts, notes), hosts.machines, None)
        made = bind.carried(hosts, placement, LauncherOptions(), ("./app",), notes).launch
    except AdvisorError:
        return None
    set_first = " ".join(f"{name}={word(value)}" for name, value in sorted(made.environment.items()))
    line = " ".join(map(word, made.argv))
    told = (f"needs {', '.join(made.files)}, which advisor bind -o DIR -- ./app writes",) if made.files else ()
    return LaunchLine(shape, f"{set_first} {line}".strip(), title_of(made.launcher), (*told, *placement.notes))
