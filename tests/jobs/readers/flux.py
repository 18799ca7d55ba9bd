"""Reads lines of flux run back, as they are written here: its manual's words, and hwloc_distrib as hwloc's helper.h has it."""

from collections.abc import Mapping, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import logical_numbering
from advisor.machine.topology import Topology
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
EVEN = True
"""Flux wants as many ranks on each host."""
_WORDS = ("-N", "-n", "--requires", "--taskmap", "--env", "-o")


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line does: each rank's host and CPUs."""
    words, options = list(argv[2:]), dict[str, str]()
    while words and words[0].startswith("-"):
        name = words.pop(0)
        if name != "-x" and name not in _WORDS:
            raise BadValue(f"{name} is no option of a line written here")
        options[name] = "" if name == "-x" else words.pop(0)
    total, nodes = int(options["-n"]), int(options["-N"])
    listed = list(files["hostfile"]()) if "--taskmap" in options else []
    one: str | None = next(iter(topologies)) if "--requires" not in options else options["--requires"].removeprefix("hosts:")
    hosts: list[str | None] = [*listed] or [one] * total
    affinity = options["-o"].removeprefix("cpu-affinity=")
    table = wrapper_table(words, files)
    if (table is None) == (affinity == "off") or "-x" not in options or len(set(hosts)) != nodes:
        raise BadValue("such a line is not written here")
    bindings, seen = Bindings(), dict[str | None, int]()
    for rank, host in enumerate(hosts):
        local = seen[host] = seen.get(host, -1) + 1
        each = hosts.count(host)
        own = table.cpus(host, rank, local) if table else _cpus(affinity, topologies[host], local, each)
        bindings[rank] = (host, own)
    return bindings


def _cpus(affinity: str, topology: Topology, local: int, each: int) -> CpuSet:
    if affinity.startswith("map:"):
        return CpuSet.parse(affinity.removeprefix("map:").split(";")[local])
    if affinity != "per-task":
        raise BadValue(f"{affinity} is not written here")
    return distributed([list(core) for core in logical_numbering(topology).cores], each)[local]


def distributed(cores: Sequence[Sequence[int]], tasks: int) -> list[CpuSet]:
    """Return the CPUs of each task: a core goes to the task of its first thread, and a task without one shares the core's.

    Thread t of T belongs to the tasks from t * tasks / T on, up to those of the next thread, both rounded up.
    """
    total, first = sum(map(len, cores)), 0
    own: list[set[int]] = []
    for core in cores:
        begin, first = (first * tasks + total - 1) // total, first + len(core)
        end = (first * tasks + total - 1) // total
        own += [set(core) for _ in range(begin, end)]
        if begin == end:
            own[-1].update(core)
    return [CpuSet(cpus) for cpus in own]
