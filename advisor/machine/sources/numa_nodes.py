"""NUMA nodes as the kernel shows them: memory, distances, bandwidth and latency (HMAT), tiers, caches, DAX devices."""

import re

from advisor.errors import BadCapture, BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.firmware import Firmware
from advisor.machine.hosts.base import Host
from advisor.machine.machine import Machine
from advisor.machine.memory import DaxDevice, MemoryTier
from advisor.machine.sources.reader import NUMBERS, FactSource, Reader
from advisor.machine.sources.views import memory_total
from advisor.machine.topology import Distances, NumaNode
from advisor.machine.value import number, size

NODES = "/sys/devices/system/node"
GPUS = "/proc/driver/nvidia/gpus"
MOST_NODES = 1024
"""As in Linux, where CONFIG_NODES_SHIFT is 10 at most."""


def numa_nodes(reader: Reader, online: CpuSet) -> tuple[NumaNode, ...]:
    """Return the nodes that have CPUs or memory, by number; () on a kernel without NUMA."""
    found = []
    graphics = _gpu_nodes(reader)
    for index in _numbers(reader):
        if index in graphics:
            why = f"node {index} is the memory of a GPU, and is left out as hwloc leaves it out"
            reader.lacks("topology.nodes", why, "see it with: numactl -H")
            continue
        cpus = _cpus(reader, index) & online
        memory = _memory(reader, index)
        if cpus or memory:
            found.append(NumaNode(os_index=index, cpuset=cpus, near=cpus, memory=memory, kind=None))
    kinds = {**_kinds_by_speed(reader, found), **_dax_kinds(reader)}
    cpus_of = {node.os_index: node.cpuset for node in found}
    return tuple(
        node if node.cpuset else node.model_copy(update={"near": _near(reader, node, cpus_of), "kind": kinds.get(node.os_index)})
        for node in found
    )


def distances(reader: Reader, nodes: tuple[NumaNode, ...]) -> Distances | None:
    """Return the kernel's distance table over the nodes, or None where rows are missing or of the wrong length."""
    numbers = tuple(node.os_index for node in nodes)
    listed = _numbers(reader)
    columns = {number: column for column, number in enumerate(listed)}
    rows = []
    for index in numbers:
        words = (reader.text(f"{NODES}/node{index}/distance") or "").split()
        row = tuple(value for word in words if (value := number(word)) is not None)
        if len(row) != len(listed):
            return None
        rows.append(tuple(row[columns[other]] for other in numbers))
    return Distances(nodes=numbers, rows=tuple(rows)) if len(rows) > 1 else None


def _numbers(reader: Reader) -> tuple[int, ...]:
    names = (re.fullmatch(r"node(\d{1,5})", name, re.ASCII) for name in reader.host.list(NODES))
    found = tuple(sorted({int(match[1]) for match in names if match}))
    if len(found) > MOST_NODES:
        raise BadCapture(f"{len(found)} NUMA nodes, more than the {MOST_NODES} that Linux knows", place=NODES)
    return found


def _gpu_nodes(reader: Reader) -> frozenset[int]:
    """Return the nodes that NVIDIA's driver made of GPU memory (POWER9 with NVLink, Grace Hopper)."""
    texts = (reader.text(f"{GPUS}/{name}/numa_status") or "" for name in reader.host.list(GPUS))
    nodes = (re.search(r"Node:\s*(\d{1,5})\b", text, re.ASCII) for text in texts)
    return frozenset(int(match[1]) for match in nodes if match)


def _cpus(reader: Reader, index: int) -> CpuSet:
    mask = reader.text(f"{NODES}/node{index}/cpumap")
    if mask is None:
        return reader.cpus(f"{NODES}/node{index}/cpulist") or CpuSet()
    try:
        return CpuSet.from_mask(mask)
    except BadInput as error:
        reader.lacks(
            "topology.nodes", f"{NODES}/node{index}/cpumap: {error.problem}", "report it with the output of advisor capture"
        )
        return CpuSet()


def _memory(reader: Reader, index: int) -> int | None:
    return reader.view(f"{NODES}/node{index}/meminfo", memory_total)


def _near(reader: Reader, node: NumaNode, cpus_of: dict[int, CpuSet]) -> CpuSet:
    """Return the CPUs closest to a node of memory alone: its HMAT initiators, else the nodes at the least distance."""
    for access in ("access0", "access1"):
        names = reader.host.list(f"{NODES}/node{node.os_index}/{access}/initiators")
        near = CpuSet()
        for match in (re.fullmatch(r"node(\d{1,5})", name, re.ASCII) for name in names):
            near = near | (cpus_of.get(int(match[1]), CpuSet()) if match else CpuSet())
        if near:
            return near
    return _nearest(reader, node, cpus_of)


def _nearest(reader: Reader, node: NumaNode, cpus_of: dict[int, CpuSet]) -> CpuSet:
    row = [number(word) for word in (reader.text(f"{NODES}/node{node.os_index}/distance") or "").split()]
    listed = _numbers(reader)
    far = {index: row[listed.index(index)] for index, cpus in cpus_of.items() if cpus and len(row) == len(listed)}
    least = min((value for value in far.values() if value is not None), default=None)
    near = CpuSet()
    for index, value in far.items():
        near = near | (cpus_of[index] if least is not None and value == least else CpuSet())
    return near


_FASTER = 1.5
"""Memory this much above or below DRAM's bandwidth in the HMAT is HBM, or CXL: published pairs differ by 2 and more."""


def _kinds_by_speed(reader: Reader, nodes: list[NumaNode]) -> dict[int, str]:
    """Return what memory without CPUs is by its bandwidth against that of the nodes with CPUs, where the HMAT has both."""
    speed = {node.os_index: _bandwidth(reader, node.os_index) for node in nodes}
    plain = min((value for node in nodes if node.cpuset and (value := speed[node.os_index])), default=None)
    kinds = {}
    for node in nodes:
        value = speed[node.os_index]
        if not node.cpuset and plain and value and value >= _FASTER * plain:
            kinds[node.os_index] = "hbm"
        elif not node.cpuset and plain and value and plain >= _FASTER * value:
            kinds[node.os_index] = "cxl"
    return kinds


def _bandwidth(reader: Reader, index: int) -> int | None:
    paths = (f"{NODES}/node{index}/{access}/initiators/read_bandwidth" for access in ("access0", "access1"))
    return next((value for path in paths if (value := reader.number(path))), None)


def _dax_kinds(reader: Reader) -> dict[int, str]:
    """Return what each node's memory is where the kernel made it from a DAX device (Documentation/ABI/testing/sysfs-bus-dax)."""
    kinds = {}
    for name in reader.host.list("/sys/bus/dax/devices"):
        target = reader.number(f"/sys/bus/dax/devices/{name}/target_node")
        path = reader.host.real(f"/sys/bus/dax/devices/{name}") or ""
        kind = next((kind for word, kind in (("/ndbus", "nvdimm"), ("/cxl", "cxl")) if word in path), None)
        if target is not None and kind:
            kinds[target] = kind
    return kinds


_NODES = "/sys/devices/system/node"
TIERS = "/sys/devices/virtual/memory_tiering"
MCDRAM = 16 << 30
"""As much as any Knights Landing has."""
KNIGHTS = ("/run/hwloc/knl_memoryside_cache", "/var/run/hwloc/knl_memoryside_cache")
"""What hwloc-dump-hwdata wrote for everybody of what root alone may read: Knights Landing's MCDRAM."""
TIERS_PATHS = (
    *KNIGHTS,
    *(f"{_NODES}/node*/access*/initiators/{way}_{what}" for way in ("read", "write") for what in ("bandwidth", "latency")),
    f"{_NODES}/node*/access*/initiators/node*@",
    f"{_NODES}/node*/memory_side_cache/index*/size",
    f"{TIERS}/memory_tier*/nodelist",
)


def collect_tiers(host: Host) -> Machine:
    """Return the tiers of the nodes that the kernel describes; None where it describes none."""
    reader = Reader(host)
    listed = _tiers(reader)
    numbers = sorted(int(match[1]) for name in host.list(_NODES) if (match := re.fullmatch(r"node(\d{1,5})", name, re.ASCII)))
    found = tuple(tier for node in numbers if (tier := _tier(reader, node, listed.get(node))))
    firmware, side = _knights(reader)
    if side:
        known = {tier.node: tier for tier in found}
        beside = [node for node in numbers if reader.cpus(f"{_NODES}/node{node}/cpulist")]
        own = {node: known.get(node, MemoryTier(node=node)) for node in beside}
        own = {node: tier if tier.cache else tier.model_copy(update={"cache": side}) for node, tier in own.items()}
        found = tuple(tier for _, tier in sorted({**known, **own}.items()))
    if not found:
        reader.lacks(
            "tiers", "the firmware gives no HMAT, or the kernel does not show it", "read the raw table as root, or measure"
        )
        return Machine(firmware=firmware, sources=reader.sources, gaps=reader.gaps)
    reader.found("tiers", f"{_NODES}/node*/access*/initiators")
    return Machine(tiers=found, firmware=firmware, sources=reader.sources, gaps=reader.gaps)


def _tier(reader: Reader, node: int, tier: int | None) -> MemoryTier | None:
    access = next((a for a in ("access0", "access1") if reader.host.list(f"{_NODES}/node{node}/{a}/initiators")), None)
    cache = _cache(reader, node)
    if access is None and tier is None and cache is None:
        return None
    if access is None:
        return MemoryTier(node=node, tier=tier, cache=cache)
    base = f"{_NODES}/node{node}/{access}/initiators"
    names = (re.fullmatch(r"node(\d{1,5})", name, re.ASCII) for name in reader.host.list(base))
    # Documentation/admin-guide/mm/numaperf.rst: bandwidth in MB/s, latency in nanoseconds; 0 where the HMAT has no entry.
    return MemoryTier(
        node=node,
        initiators=tuple(sorted(int(match[1]) for match in names if match)) or None,
        read_bandwidth=_scaled(reader, f"{base}/read_bandwidth", 10**6),
        write_bandwidth=_scaled(reader, f"{base}/write_bandwidth", 10**6),
        read_latency=_nanoseconds(reader, f"{base}/read_latency"),
        write_latency=_nanoseconds(reader, f"{base}/write_latency"),
        tier=tier,
        cache=cache,
    )


def _scaled(reader: Reader, path: str, unit: int) -> int | None:
    value = reader.number(path)
    return value * unit if value and value > 0 else None


def _nanoseconds(reader: Reader, path: str) -> float | None:
    value = reader.number(path)
    return value / 1e9 if value and value > 0 else None


def _cache(reader: Reader, node: int) -> int | None:
    folder = f"{_NODES}/node{node}/memory_side_cache"
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
    found = {}
    for name in reader.host.list(TIERS):
        match = re.fullmatch(r"memory_tier(\d{1,4})", name, re.ASCII)
        for node in (reader.cpus(f"{TIERS}/{name}/nodelist") or CpuSet()) if match else ():
            found[node] = int(match[1]) if match else 0
    return found


_ROOT = "/sys/bus/dax/devices"
DAX_PATHS = (f"{_ROOT}/*@", f"{_ROOT}/*/size", f"{_ROOT}/*/target_node", f"{_ROOT}/*/driver@")

_NAME = re.compile(r"dax\d{1,4}\.\d{1,4}", re.ASCII)
# drivers/dax: kmem gives the memory to the system, device_dax leaves it to who opens /dev/daxN.M.
_USES = {"kmem": "system", "device_dax": "device"}
_KINDS = (("/ndbus", "nvdimm"), ("/cxl", "cxl"), ("/hmem", "reserved"))


def collect_dax(host: Host) -> Machine:
    """Return the DAX devices; () where the kernel shows none."""
    reader = Reader(host)
    names = reader.matching("dax", _ROOT, _NAME, "dax0.0/size")
    if names is None:
        return Machine(gaps=reader.gaps)
    return Machine(dax=tuple(_device(reader, name) for name in names), sources=reader.sources)


def _device(reader: Reader, name: str) -> DaxDevice:
    at = f"{_ROOT}/{name}"
    place, driver = reader.host.real(at) or "", reader.host.real(f"{at}/driver") or ""
    return DaxDevice(
        name=name,
        kind=next((kind for word, kind in _KINDS if word in place), None),
        size=reader.number(f"{at}/size"),
        node=reader.number(f"{at}/target_node"),
        use=_USES.get(driver.rpartition("/")[2]),
    )


SOURCES = (
    FactSource(
        "tiers",
        20,
        ("What the kernel says of each node's memory: best initiators, bandwidth and latency (HMAT), tier, memory-side cache."),
        TIERS_PATHS,
        (),
        collect_tiers,
    ),
    FactSource(
        "dax",
        20,
        ("Memory that lies beside the system's: DAX devices of CXL, of NVDIMMs, and of what the firmware reserved (HBM)."),
        DAX_PATHS,
        (),
        collect_dax,
        tuple((f"{_ROOT}/*/{name}", NUMBERS) for name in ("size", "target_node")),
    ),
)
