"""The topology and its NUMA nodes as the kernel shows them in /sys: caches, memory, distances, HMAT, tiers, DAX devices."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from advisor.errors import BadCapture, BadInput
from advisor.machine.cpuset import LIMIT, CpuSet, union
from advisor.machine.hardware import DaxDevice, Firmware, MemoryTier
from advisor.machine.hosts.base import Host
from advisor.machine.machine import Machine
from advisor.machine.sources.reader import (
    NUMBERS,
    REPORT_HELP,
    FactSource,
    Reader,
    files,
    memory_total,
    of_family_15h,
    of_knights_landing,
    part,
)
from advisor.machine.sources.system import CPUSET_PATHS, cpuset_allowed
from advisor.machine.topology import L3, Core, Die, Distances, NumaNode, Package, SharedL2, Topology
from advisor.machine.value import number, size

NODES = "/sys/devices/system/node"
GPUS = "/proc/driver/nvidia/gpus"
MOSTNODES = 1024
"""As in Linux, where CONFIGNODES_SHIFT is 10 at most."""


def _numbered(reader: Reader, folder: str, word: str = "node") -> list[int]:
    """Return the numbers of the names in a folder that are a word and a number."""
    names = (re.fullmatch(rf"{word}(\d{{1,6}})", name, re.ASCII) for name in reader.host.list(folder))
    return sorted({int(match[1]) for match in names if match})


def numa_nodes(reader: Reader, online: CpuSet) -> tuple[NumaNode, ...]:
    """Return the nodes that have CPUs or memory, by number; () on a kernel without NUMA."""
    found = []
    texts = (reader.text(f"{GPUS}/{name}/numa_status") or "" for name in reader.host.list(GPUS))
    nodes = (re.search(r"Node:\s*(\d{1,5})\b", text, re.ASCII) for text in texts)
    graphics = frozenset(int(match[1]) for match in nodes if match)
    for index in _numbers(reader):
        if index in graphics:
            why = f"node {index} is GPU memory and is left out, as in hwloc"
            reader.lacks("topology.nodes", why, "run: numactl -H")
            continue
        cpus = _cpus(reader, index) & online
        memory = reader.view(f"{NODES}/node{index}/meminfo", memory_total)
        if cpus or memory:
            found.append(NumaNode(os_index=index, cpuset=cpus, near=cpus, memory=memory, kind=None))
    kinds = _dax_kinds(reader)
    cpus_of = {node.os_index: node.cpuset for node in found}
    return tuple(
        node if node.cpuset else node.but(near=_near(reader, node, cpus_of), kind=kinds.get(node.os_index)) for node in found
    )


def distances(reader: Reader, nodes: tuple[NumaNode, ...]) -> Distances | None:
    """Return the kernel's distance table over the nodes, or None where rows are missing or of the wrong length."""
    numbers = tuple(node.os_index for node in nodes)
    rows = [_row(reader, index) for index in numbers]
    if len(rows) < 2 or any(not row or None in row.values() for row in rows):
        return None
    return Distances(nodes=numbers, rows=tuple(tuple(row[other] or 0 for other in numbers) for row in rows))


def _row(reader: Reader, index: int) -> dict[int, int | None]:
    """Return how far a node is from each; {} where the row is missing or of the wrong length."""
    words = (reader.text(f"{NODES}/node{index}/distance") or "").split()
    listed = _numbers(reader)
    return dict(zip(listed, map(number, words), strict=True)) if len(words) == len(listed) else {}


def _numbers(reader: Reader) -> list[int]:
    found = _numbered(reader, NODES)
    if len(found) > MOSTNODES:
        raise BadCapture(f"{len(found)} NUMA nodes, more than the {MOSTNODES} that Linux supports", place=NODES)
    return found


def _cpus(reader: Reader, index: int) -> CpuSet:
    path = f"{NODES}/node{index}/cpumap"
    mask = reader.text(path)
    if mask is None:
        return reader.cpus(f"{NODES}/node{index}/cpulist") or CpuSet()
    try:
        return CpuSet.from_mask(mask)
    except BadInput as error:
        reader.lacks("topology.nodes", f"{path}: {error.problem}", REPORT_HELP)
        return CpuSet()


def _near(reader: Reader, node: NumaNode, cpus_of: dict[int, CpuSet]) -> CpuSet:
    """Return the CPUs closest to a node of memory alone: its HMAT initiators, else the nodes at the least distance."""
    for access in ("access0", "access1"):
        initiators = _numbered(reader, f"{NODES}/node{node.os_index}/{access}/initiators")
        if near := union(cpus_of.get(index, CpuSet()) for index in initiators):
            return near
    row = _row(reader, node.os_index)
    far = {index: value for index, cpus in cpus_of.items() if cpus and (value := row.get(index)) is not None}
    least = min(far.values(), default=None)
    return union(cpus_of[index] for index, value in far.items() if value == least)


def _dax_kinds(reader: Reader) -> dict[int, str]:
    """Return what each node's memory is where the kernel made it from a DAX device (Documentation/ABI/testing/sysfs-bus-dax)."""
    kinds = {}
    for name in reader.host.list(_ROOT):
        target, kind = reader.number(f"{_ROOT}/{name}/target_node"), _dax_kind(reader, name)
        if target is not None and kind in ("nvdimm", "cxl"):
            kinds[target] = kind
    return kinds


TIERS = "/sys/devices/virtual/memory_tiering"
MCDRAM = 16 << 30
"""As much as any Knights Landing has."""
KNIGHTS = ("/run/hwloc/knl_memoryside_cache", "/var/run/hwloc/knl_memoryside_cache")
"""What hwloc-dump-hwdata wrote for everybody of what root alone may read: Knights Landing's MCDRAM."""
TIERS_PATHS = (
    *KNIGHTS,
    *(f"{NODES}/node*/access*/initiators/{way}_{what}" for way in ("read", "write") for what in ("bandwidth", "latency")),
    f"{NODES}/node*/access*/initiators/node*@",
    f"{NODES}/node*/memory_side_cache/index*/size",
    f"{TIERS}/memory_tier*/nodelist",
)


def collect_tiers(host: Host) -> Machine:
    """Return the tiers of the nodes that the kernel describes; None where it describes none."""
    reader = Reader(host)
    listed = _tiers(reader)
    numbers = _numbered(reader, NODES)
    found = tuple(tier for node in numbers if (tier := _tier(reader, node, listed.get(node))))
    firmware, side = _knights(reader)
    if side:
        known = {tier.node: tier for tier in found}
        beside = [node for node in numbers if reader.cpus(f"{NODES}/node{node}/cpulist")]
        own = {node: known.get(node, MemoryTier(node=node)) for node in beside}
        own = {node: tier if tier.cache else tier.but(cache=side) for node, tier in own.items()}
        found = tuple(tier for _, tier in sorted({**known, **own}.items()))
    if not found:
        reader.lacks(
            "tiers",
            "the firmware has no HMAT, or the kernel does not show it",
            "read the raw table as root, or run advisor measure",
        )
        return reader.machine(firmware=firmware)
    reader.found("tiers", f"{NODES}/node*/access*/initiators")
    return reader.machine(tiers=found, firmware=firmware)


def _tier(reader: Reader, node: int, tier: int | None) -> MemoryTier | None:
    folders = (f"{NODES}/node{node}/{access}/initiators" for access in ("access0", "access1"))
    base = next((folder for folder in folders if reader.host.list(folder)), None)
    cache = _cache(reader, node)
    facts: dict[str, Any] = {"node": node, "tier": tier, "cache": cache}
    if base is not None:
        # Documentation/admin-guide/mm/numaperf.rst: bandwidth in MB/s, latency in nanoseconds; 0 where the HMAT has no entry.
        names = ("read_bandwidth", "write_bandwidth", "read_latency", "write_latency")
        read = {name: reader.number(f"{base}/{name}") or 0 for name in names}
        facts |= {name: value * 10**6 if "bandwidth" in name else value / 1e9 for name, value in read.items() if value > 0}
        facts["initiators"] = tuple(_numbered(reader, base)) or None
    return None if base is None and tier is None and cache is None else MemoryTier(**facts)


def _cache(reader: Reader, node: int) -> int | None:
    folder = f"{NODES}/node{node}/memory_side_cache"
    sizes = [size(reader.text(f"{folder}/{name}/size") or "") for name in reader.host.list(folder) if name.startswith("index")]
    return max((value for value in sizes if value), default=None)


def _knights(reader: Reader) -> tuple[Firmware | None, int | None]:
    """Return the modes of a Knights Landing, and the bytes of MCDRAM that cache each of its nodes with CPUs.

    (hwloc: utils/hwloc/hwloc-dump-hwdata-knl.c; the size is that of one node, the modes are there from version 2 on.)
    """
    path = next((path for path in KNIGHTS if reader.host.read(path).text), None)
    if path is None:
        return None, None
    words = dict(re.findall(r"^(\w{1,20}): *(\S{1,20})$", reader.text(path) or "", re.MULTILINE | re.ASCII))
    modes = {name: words[name] for name in ("cluster_mode", "memory_mode") if name in words}
    for name in modes:
        reader.found(f"firmware.{name}", path)
    side = number(words.get("cache_size"))
    return Firmware(**modes) if modes else None, side if side and 0 < side <= MCDRAM else None


def _tiers(reader: Reader) -> dict[int, int]:
    """Return the kernel's tier number of each node: 0 would be the fastest, plain DRAM is usually 4."""
    found: dict[int, int] = {}
    for name in reader.host.list(TIERS):
        if match := re.fullmatch(r"memory_tier(\d{1,4})", name, re.ASCII):
            found |= dict.fromkeys(reader.cpus(f"{TIERS}/{name}/nodelist") or (), int(match[1]))
    return found


_ROOT = "/sys/bus/dax/devices"
DAX_PATHS = (f"{_ROOT}/*@", f"{_ROOT}/*/size", f"{_ROOT}/*/target_node", f"{_ROOT}/*/driver@")

_NAME = re.compile(r"dax\d{1,4}\.\d{1,4}", re.ASCII)
# drivers/dax: kmem gives the memory to the system, device_dax leaves it to who opens /dev/daxN.M.
_USES = {"kmem": "system", "device_dax": "device"}
_KINDS = {"/ndbus": "nvdimm", "/cxl": "cxl", "/hmem": "reserved"}


def collect_dax(host: Host) -> Machine:
    """Return the DAX devices; () where the kernel shows none."""
    reader = Reader(host)
    names = reader.matching("dax", _ROOT, _NAME, "dax0.0/size")
    if names is None:
        return Machine(gaps=reader.gaps)
    found = [
        DaxDevice(
            name=name,
            kind=_dax_kind(reader, name),
            size=reader.number(f"{_ROOT}/{name}/size"),
            node=reader.number(f"{_ROOT}/{name}/target_node"),
            use=_USES.get((host.real(f"{_ROOT}/{name}/driver") or "").rpartition("/")[2]),
        )
        for name in names
    ]
    return Machine(dax=tuple(found), sources=reader.sources)


def _dax_kind(reader: Reader, name: str) -> str | None:
    place = reader.host.real(f"{_ROOT}/{name}") or ""
    return next((kind for word, kind in _KINDS.items() if word in place), None)


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
        # An L3 of size 0 is none at all: Knights Landing and Mill list one for want of a name for MCDRAM.
        self._no_l3 = reader.view("/proc/cpuinfo", of_knights_landing)

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
        groups = ((group, self._l3_index(cpu)) for cpu, group in self._groups("l3", self._l3_of))
        return tuple(L3(cpuset=group, size=self._size(index) if index else None) for group, index in groups)

    def shared_l2(self, cores: tuple[Core, ...]) -> tuple[SharedL2, ...]:
        """Return the groups of CPUs that share a level 2 cache and are not just one core's."""
        found: dict[CpuSet, None] = {}
        for core in cores:
            # A pair shares nothing with half of itself.
            for cpu in core.cpuset if len(core.cpuset) > 2 else tuple(core.cpuset)[:1]:
                group = self._sharing(cpu, 2) or CpuSet()
                if len(group) > 1 and group != core.cpuset:
                    found[group] = None
        return tuple(SharedL2(cpuset=group) for group in found)

    def own_caches(self, cores: tuple[Core, ...]) -> tuple[int, ...]:
        """Return the levels of cache, 1 and 2, of which each core has one of its own."""
        levels = (1, 2) if cores else ()
        return tuple(level for level in levels if all(self._sharing(core.cpuset.first, level) == core.cpuset for core in cores))

    def _sharing(self, cpu: int | None, level: int) -> CpuSet | None:
        """Return the CPUs online that share a cache of a CPU, None where there is none."""
        index = self._index(cpu, level) if cpu is not None else None
        mask = self._mask(f"{index}/shared_cpu_map") if index else None
        return None if mask is None else mask & self._online

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
                why = f"CPU {cpu} lists its group as {named}, but those CPUs list another group"
                self._reader.lacks(
                    f"topology.{what}", why, "the kernel's data is inconsistent: update the kernel or the firmware"
                )

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
        return self._reader.value(path, None, lambda text: CpuSet.from_mask(text) if text else None)

    def _id(self, cpu: int, name: str) -> int | None:
        value = self._reader.number(f"{CPU}/cpu{cpu}/topology/{name}")
        return None if value is None or value < 0 else value

    def _l3_index(self, cpu: int) -> str | None:
        index = self._index(cpu, 3)
        return None if index is None or (self._no_l3 and not self._size(index)) else index

    def _index(self, cpu: int, level: int) -> str | None:
        """Return the folder of a CPU's cache of a level; None where there is none, or one of instructions."""
        folder = f"{CPU}/cpu{cpu}/cache"
        for name in self._reader.host.list(folder):
            index = f"{folder}/{name}"
            if name.startswith("index") and self._reader.number(f"{index}/level") == level:
                return index if self._reader.text(f"{index}/type") != "Instruction" else None
        return None

    def _size(self, index: str) -> int | None:
        return size(self._reader.text(f"{index}/size") or "")

    def _l3_of(self, cpu: int) -> CpuSet | None:
        index = self._l3_index(cpu)
        if index is None:
            return None
        shared = self._mask(f"{index}/shared_cpu_map")
        # Itaniums leave the mask empty: the cache is the core's own.
        return shared or self._set(cpu, "core_cpus", "thread_siblings") or CpuSet([cpu])


def possible_cpus(reader: Reader) -> CpuSet:
    """Return the CPUs that are plugged in, online or not."""
    present = reader.cpus(f"{CPU}/present")
    return _named(reader) if present is None else present


def _named(reader: Reader) -> CpuSet:
    named = CpuSet(cpu for cpu in _numbered(reader, CPU, "cpu") if cpu < LIMIT)
    if len(named) > MOST_CPUS:
        raise BadCapture(f"{len(named)} CPUs, more than the {MOST_CPUS} of the largest machines", place=CPU)
    return named


def _has_compute_units(reader: Reader) -> bool:
    """Return whether pairs of cores are listed as thread siblings: AMD family 15h (Bulldozer to Excavator) on x86."""
    if not reader.view("/proc/cpuinfo", of_family_15h):
        return False
    # Where a stored tree does not say what architecture it is from, siblings are taken at the kernel's word, as hwloc takes them.
    architecture = (reader.host.run(UNAME).text or "") + (reader.text("/proc/hwloc-nofile-info") or "")
    return "x86_64" in architecture or "i686" in architecture


PATHS = (
    *files(CPU, "online present cpu*/online"),
    *files(f"{CPU}/cpu*/topology", "physical_package_id die_id core_id"),
    *files(f"{CPU}/cpu*/topology", "package_cpus core_siblings die_cpus core_cpus thread_siblings"),
    *files(f"{CPU}/cpu*/cache/index*", "level type size shared_cpu_map"),
    *files(NODES, "online node*/access*/initiators/node*@"),
    *files(f"{NODES}/node*", "cpumap cpulist distance meminfo"),
    f"{GPUS}/*/numa_status",
    "/sys/bus/dax/devices/*@",
    "/sys/bus/dax/devices/*/target_node",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/hwloc-nofile-info",
    *CPUSET_PATHS,
)
COMMANDS = (UNAME,)


def _processors(host: Host) -> Machine:
    """Return what the folders of the CPUs tell: most of the files, and the same on all nodes of a kind."""
    reader = Reader(host)
    online = online_cpus(reader)
    if not online:
        if not host.list(CPU):
            reader.lacks("topology", f"this input has no {CPU}", "give a capture, or an XML written by lstopo --of xml")
        return reader.machine()
    tree = CpuTree(reader, online)
    packages, cores = tree.packages(), tree.cores()
    topology = Topology(
        packages=packages,
        l3=tree.l3(),
        shared_l2=tree.shared_l2(cores),
        cores=cores,
        own_caches=tree.own_caches(cores),
        pus=online,
        missing=possible_cpus(reader) - online,
        dies=tree.dies(packages),
    )
    return reader.machine(topology=topology)


def collect(host: Host) -> Machine:
    """Return the topology of the host's /sys, with the part that the process's cgroup allows."""
    reader = Reader(host)
    shown = reader.takes(part(host, _processors)).topology
    if shown is None:
        return Machine(gaps=reader.gaps)
    online = shown.pus
    nodes = numa_nodes(reader, online)
    whole = () if nodes else (reader.view("/proc/meminfo", memory_total),)
    known = nodes or tuple(NumaNode(os_index=0, cpuset=online, near=online, memory=memory) for memory in whole)
    numbers = CpuSet(node.os_index for node in known)
    allowed, allowed_nodes = cpuset_allowed(reader)
    topology = shown.but(
        nodes=known,
        allowed=online if allowed is None else allowed & online,
        allowed_nodes=numbers if allowed_nodes is None else allowed_nodes & numbers,
        distances=distances(reader, known) if nodes else None,
        numa_known=bool(nodes),
    )
    reader.found("topology", "/sys/devices/system")
    return reader.machine(topology=topology)


SOURCES = (
    FactSource(
        "tiers",
        "Each node's memory, as the kernel reports it: best initiators, bandwidth and latency (HMAT), tier, memory-side cache.",
        collect_tiers,
        TIERS_PATHS,
    ),
    FactSource(
        "dax",
        "Memory that is not system RAM: DAX devices for CXL, NVDIMMs, and memory that the firmware reserves (HBM).",
        collect_dax,
        DAX_PATHS,
        public=tuple((f"{_ROOT}/*/{name}", NUMBERS) for name in ("size", "target_node")),
    ),
    FactSource(
        "sysfs",
        "The topology as the kernel shows it in /sys, for hosts without hwloc; hwloc takes precedence where both answer.",
        collect,
        PATHS,
        COMMANDS,
        rank=50,
    ),
)
