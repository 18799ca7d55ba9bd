"""The topology as the kernel shows it in /sys, for hosts without hwloc; believed after hwloc where both answer."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from advisor.errors import BadCapture, BadInput
from advisor.machine.cpuset import LIMIT, CpuSet
from advisor.machine.hosts.base import Host
from advisor.machine.machine import Gap, Machine, Source
from advisor.machine.sources.numa_nodes import GPUS, NODES, distances, numa_nodes
from advisor.machine.sources.reader import FactSource, Reader, part
from advisor.machine.sources.system import process
from advisor.machine.sources.views import memory_total, of_family_15h, of_knights_landing
from advisor.machine.topology import L3, Core, Die, NumaNode, Package, SharedL2, Topology
from advisor.machine.value import size

CPU = "/sys/devices/system/cpu"
MOST_CPUS = 1 << 15
"""Four times what the largest Linux kernels are built for (NR_CPUS of x86 is at most 8,192)."""
UNAME = ("uname", "-m")


def online_cpus(reader: Reader) -> CpuSet:
    """Return the CPUs that are online and have a topology; old kernels have no list and show each CPU's own file."""
    named = _named(reader)
    listed = reader.cpus(f"{CPU}/online")
    if listed is not None:
        return (listed & named) or listed
    return CpuSet(
        cpu for cpu in named if reader.text(f"{CPU}/cpu{cpu}/online") != "0" and reader.host.list(f"{CPU}/cpu{cpu}/topology")
    )


class CpuTree:
    """The groups of CPUs that the kernel names for each CPU, each read once."""

    def __init__(self, reader: Reader, online: CpuSet) -> None:
        self._reader = reader
        self._online = online
        self._shown = online & _named(reader)  # a list may name a million CPUs; only those with a folder say anything
        self._compute_units = _has_compute_units(reader)
        self._no_l3 = _is_knights_landing(reader)

    def packages(self) -> tuple[Package, ...]:
        """Return the packages in the order of their first CPU; () where the kernel names none."""
        groups = self._groups("packages", lambda cpu: self._set(cpu, "package_cpus", "core_siblings"))
        return tuple(Package(os_index=self._id(cpu, "physical_package_id"), cpuset=group) for cpu, group in groups)

    def dies(self, packages: tuple[Package, ...]) -> tuple[Die, ...]:
        """Return the dies of the packages that have more than one."""
        sockets = {package.cpuset for package in packages}
        groups = self._groups("dies", lambda cpu: self._set(cpu, "die_cpus"))
        dies = tuple(Die(os_index=self._id(cpu, "die_id"), cpuset=group) for cpu, group in groups if group not in sockets)
        return tuple(die for die in dies if die.os_index is not None)

    def cores(self) -> tuple[Core, ...]:
        """Return the cores in the order of their first CPU."""
        groups = self._groups("cores", lambda cpu: self._set(cpu, "core_cpus", "thread_siblings"))
        return tuple(core for cpu, group in groups for core in self._split(cpu, group))

    def l3(self) -> tuple[L3, ...]:
        """Return the groups of CPUs that share a level 3 cache."""
        groups = self._groups("l3", self._l3_of)
        return tuple(L3(cpuset=group, size=self._l3_size(cpu)) for cpu, group in groups)

    def shared_l2(self, cores: tuple[Core, ...]) -> tuple[SharedL2, ...]:
        """Return the groups of CPUs that share a level 2 cache and are not just one core's."""
        found: dict[CpuSet, None] = {}
        for core in cores:
            asked = core.cpuset if len(core.cpuset) > 2 else (core.cpuset.first,)  # a pair shares nothing with half of itself
            for cpu in asked:
                index = self._index(cpu, 2) if cpu is not None else None
                mask = self._mask(f"{index}/shared_cpu_map") if index else None
                group = mask & self._online if mask else CpuSet()
                if len(group) > 1 and group != core.cpuset:
                    found[group] = None
        return tuple(SharedL2(cpuset=group) for group in found)

    def own_caches(self, cores: tuple[Core, ...]) -> tuple[int, ...]:
        """Return the levels of cache, 1 and 2, of which each core has one of its own."""
        return tuple(level for level in (1, 2) if cores and all(self._own_cache(core, level) for core in cores))

    def _own_cache(self, core: Core, level: int) -> bool:
        first = core.cpuset.first
        index = self._index(first, level) if first is not None else None
        mask = self._mask(f"{index}/shared_cpu_map") if index else None
        return mask is not None and mask & self._online == core.cpuset

    def _groups(self, what: str, of: Callable[[int], CpuSet | None]) -> Iterator[tuple[int, CpuSet]]:
        """Yield each group once, at its first CPU; a CPU whose group begins elsewhere is left out, as in hwloc."""
        left = self._online
        for cpu in self._shown:
            if cpu not in left:
                continue
            named = of(cpu)
            group = named & self._online if named else CpuSet()
            if group.first == cpu:
                left = left - group
                yield cpu, group
            elif group:
                why = f"CPU {cpu} says its group is {named}, those CPUs do not agree"
                self._reader.lacks(f"topology.{what}", why, "the kernel contradicts itself: update it, or its firmware")

    def _split(self, first: int, group: CpuSet) -> Iterator[Core]:
        """Yield the cores of a group of thread siblings; those of an AMD compute unit (family 15h) keep their own core ids."""
        ids = {cpu: self._id(cpu, "core_id") for cpu in (group if self._compute_units else (first,))}
        if len(group) > 1 and len(set(ids.values())) == len(group):
            yield from (Core(os_index=ids[cpu], cpuset=CpuSet([cpu])) for cpu in group)
        else:
            yield Core(os_index=ids[first], cpuset=group)

    def _set(self, cpu: int, *names: str) -> CpuSet | None:
        # Masks, not lists: hwloc reads these, and where the two differ we want to say what hwloc says.
        sets = (self._mask(f"{CPU}/cpu{cpu}/topology/{name}") for name in names)
        return next((found for found in sets if found is not None), None)

    def _mask(self, path: str) -> CpuSet | None:
        text = self._reader.text(path)
        try:
            return CpuSet.from_mask(text) if text else None
        except BadInput as error:
            self._reader.lacks(path, f"{path}: {error.problem}", "report it with the output of advisor capture")
            return None

    def _id(self, cpu: int, name: str) -> int | None:
        value = self._reader.number(f"{CPU}/cpu{cpu}/topology/{name}")
        return None if value is None or value < 0 else value

    def _l3_index(self, cpu: int) -> str | None:
        index = self._index(cpu, 3)
        return None if index is None or (self._no_l3 and self._is_empty(index)) else index

    def _index(self, cpu: int, level: int) -> str | None:
        """Return the folder of a CPU's cache of a level; None where there is none, or one of instructions."""
        folder = f"{CPU}/cpu{cpu}/cache"
        for name in self._reader.host.list(folder):
            index = f"{folder}/{name}"
            if name.startswith("index") and self._reader.number(f"{index}/level") == level:
                return index if self._reader.text(f"{index}/type") != "Instruction" else None
        return None

    def _is_empty(self, index: str) -> bool:
        return not size(self._reader.text(f"{index}/size") or "")

    def _l3_of(self, cpu: int) -> CpuSet | None:
        index = self._l3_index(cpu)
        if index is None:
            return None
        shared = self._mask(f"{index}/shared_cpu_map")
        # Itaniums leave the mask empty: the cache is the core's own.
        return shared or self._set(cpu, "core_cpus", "thread_siblings") or CpuSet([cpu])

    def _l3_size(self, cpu: int) -> int | None:
        index = self._l3_index(cpu)
        return size(self._reader.text(f"{index}/size") or "") if index else None


def possible_cpus(reader: Reader) -> CpuSet:
    """Return the CPUs that are plugged in, online or not."""
    present = reader.cpus(f"{CPU}/present")
    return _named(reader) if present is None else present


def _named(reader: Reader) -> CpuSet:
    names = (re.fullmatch(r"cpu(\d{1,6})", name, re.ASCII) for name in reader.host.list(CPU))
    named = CpuSet(int(match[1]) for match in names if match and int(match[1]) < LIMIT)
    if len(named) > MOST_CPUS:
        raise BadCapture(f"{len(named)} CPUs, more than the {MOST_CPUS} of the largest machines", place=CPU)
    return named


def _is_knights_landing(reader: Reader) -> bool:
    """Return whether an L3 of size 0 is none at all: Knights Landing and Mill list one for want of a name for MCDRAM."""
    return reader.view("/proc/cpuinfo", of_knights_landing)


def _has_compute_units(reader: Reader) -> bool:
    """Return whether pairs of cores are listed as thread siblings: AMD family 15h (Bulldozer to Excavator) on x86."""
    if not reader.view("/proc/cpuinfo", of_family_15h):
        return False
    # Where a stored tree does not say what architecture it is from, siblings are taken at the kernel's word, as hwloc takes them.
    architecture = (reader.host.run(UNAME).text or "") + (reader.text("/proc/hwloc-nofile-info") or "")
    return "x86_64" in architecture or "i686" in architecture


PATHS = (
    f"{CPU}/online",
    f"{CPU}/present",
    f"{CPU}/cpu*/online",
    *(
        f"{CPU}/cpu*/topology/{name}"
        for name in (
            "physical_package_id",
            "die_id",
            "core_id",
            "package_cpus",
            "core_siblings",
            "die_cpus",
            "core_cpus",
            "thread_siblings",
        )
    ),
    *(f"{CPU}/cpu*/cache/index*/{name}" for name in ("level", "type", "size", "shared_cpu_map")),
    f"{NODES}/online",
    f"{NODES}/node*/cpumap",
    f"{NODES}/node*/cpulist",
    f"{NODES}/node*/distance",
    f"{NODES}/node*/meminfo",
    f"{NODES}/node*/access*/initiators/node*@",
    f"{NODES}/node*/access*/initiators/read_bandwidth",
    f"{GPUS}/*/numa_status",
    "/sys/bus/dax/devices/*@",
    "/sys/bus/dax/devices/*/target_node",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/hwloc-nofile-info",
    *process.CPUSET_PATHS,
)
COMMANDS = (UNAME,)


class _Processors(NamedTuple):
    """What the folders of the CPUs tell: most of the files, and the same on all nodes of a kind."""

    online: CpuSet
    possible: CpuSet = CpuSet()
    packages: tuple[Package, ...] = ()
    dies: tuple[Die, ...] = ()
    cores: tuple[Core, ...] = ()
    l3: tuple[L3, ...] = ()
    shared_l2: tuple[SharedL2, ...] = ()
    own_caches: tuple[int, ...] = ()
    sources: tuple[Source, ...] = ()
    gaps: tuple[Gap, ...] = ()


def _processors(host: Host) -> _Processors:
    reader = Reader(host)
    online = online_cpus(reader)
    if not online:
        if not host.list(CPU):
            reader.lacks("topology", f"no {CPU} in this input", "give a capture, or an XML written by lstopo --of xml")
        return _Processors(online, gaps=reader.gaps)
    tree = CpuTree(reader, online)
    packages, cores = tree.packages(), tree.cores()
    caches = tree.l3(), tree.shared_l2(cores), tree.own_caches(cores)
    found = _Processors(online, possible_cpus(reader), packages, tree.dies(packages), cores, *caches)
    return found._replace(sources=reader.sources, gaps=reader.gaps)


def collect(host: Host) -> Machine:
    """Return the topology of the host's /sys, with the part that the process's cgroup allows."""
    reader = Reader(host)
    cpus = part(host, _processors)
    reader.takes(cpus.sources, cpus.gaps)
    online = cpus.online
    if not online:
        return Machine(gaps=reader.gaps)
    nodes = numa_nodes(reader, online)
    known = nodes or (_whole_machine(reader, online),)
    numbers = CpuSet(node.os_index for node in known)
    allowed, allowed_nodes = process.cpuset_allowed(reader)
    topology = Topology(
        packages=cpus.packages,
        dies=cpus.dies,
        nodes=known,
        l3=cpus.l3,
        shared_l2=cpus.shared_l2,
        cores=cpus.cores,
        own_caches=cpus.own_caches,
        pus=online,
        missing=cpus.possible - online,
        allowed=online if allowed is None else allowed & online,
        allowed_nodes=numbers if allowed_nodes is None else allowed_nodes & numbers,
        distances=distances(reader, known) if nodes else None,
        numa_known=bool(nodes),
    )
    reader.found("topology", "/sys/devices/system")
    return Machine(topology=topology, sources=reader.sources, gaps=reader.gaps)


def _whole_machine(reader: Reader, online: CpuSet) -> NumaNode:
    """Return the one node that stands for a machine without NUMA information."""
    return NumaNode(os_index=0, cpuset=online, near=online, memory=reader.view("/proc/meminfo", memory_total))


SOURCES = (
    FactSource(
        "sysfs",
        50,
        "The topology as the kernel shows it in /sys, for hosts without hwloc; believed after hwloc where both answer.",
        PATHS,
        COMMANDS,
        collect,
    ),
)
