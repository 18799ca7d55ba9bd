"""NUMA nodes, their memory and their distances from /sys/devices/system/node."""

import re

from advisor.collect.reader import Reader
from advisor.errors import BadCapture, BadInput
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.topology import Distances, NumaNode
from advisor.model.quantity import number, size

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
    text = reader.text(f"{NODES}/node{index}/meminfo") or ""
    match = re.search(r"MemTotal:\s*(\d{1,15}\s*kB)", text, re.ASCII)
    return size(match[1]) if match else None


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
    """Return what memory without CPUs is by its bandwidth against that of the nodes with CPUs, where the HMAT tells both."""
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
