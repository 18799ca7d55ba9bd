"""The topology as the kernel shows it in /sys, for hosts without hwloc; believed after hwloc where both answer."""

import re

from advisor.collect import cgroup
from advisor.collect.reader import Reader
from advisor.collect.sysfs_cpus import CPU, UNAME, CpuTree, online_cpus, possible_cpus
from advisor.collect.sysfs_nodes import GPUS, NODES, distances, numa_nodes
from advisor.host.base import Host
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import NumaNode, Topology
from advisor.model.quantity import size

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
    *cgroup.PATHS,
)
COMMANDS = (UNAME,)
RANK = 50


def collect(host: Host) -> Machine:
    """Return the topology of the host's /sys, with the part that the process's cgroup allows."""
    reader = Reader(host)
    online = online_cpus(reader)
    if not online:
        if not host.list(CPU):
            reader.lacks("topology", f"no {CPU} in this input", "give a capture, or an XML written by lstopo --of xml")
        return Machine(gaps=reader.gaps)
    cpus = CpuTree(reader, online)
    nodes = numa_nodes(reader, online)
    known = nodes or (_whole_machine(reader, online),)
    numbers = CpuSet(node.os_index for node in known)
    allowed, allowed_nodes = cgroup.allowed(reader)
    packages, cores = cpus.packages(), cpus.cores()
    topology = Topology(
        packages=packages,
        dies=cpus.dies(packages),
        nodes=known,
        l3=cpus.l3(),
        shared_l2=cpus.shared_l2(cores),
        cores=cores,
        own_caches=cpus.own_caches(cores),
        pus=online,
        missing=possible_cpus(reader) - online,
        allowed=online if allowed is None else allowed & online,
        allowed_nodes=numbers if allowed_nodes is None else allowed_nodes & numbers,
        distances=distances(reader, known) if nodes else None,
        numa_known=bool(nodes),
    )
    reader.found("topology", "/sys/devices/system")
    return Machine(topology=topology, sources=reader.sources, gaps=reader.gaps)


def _whole_machine(reader: Reader, online: CpuSet) -> NumaNode:
    """Return the one node that stands for a machine without NUMA information."""
    text = reader.text("/proc/meminfo") or ""
    match = re.search(r"MemTotal:\s*(\d{1,15}\s*kB)", text, re.ASCII)
    return NumaNode(os_index=0, cpuset=online, near=online, memory=size(match[1]) if match else None)
