"""Memory as the kernel shows it: sizes of nodes, huge pages, HMAT access, memory-side caches, dax devices."""

from tests.machines.spec import Node, Spec
from tests.machines.tree import Link, Tree, texts

NODE = "sys/devices/system/node"
PAGES = ("hugepages-2048kB", "hugepages-1048576kB")
# Where the kernel hangs the dax device that a memory of each kind comes from.
DAX = {
    "hbm": "sys/devices/platform/hmem.{0}",
    "cxl": "sys/devices/platform/ACPI0017:00/root0/decoder0.0/region{0}/dax_region{0}",
    "nvdimm": "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region{0}/dax{0}.0",
}
# Memory tiers by abstract distance: the smaller, the faster (mm/memory-tiers.c).
TIERS = {"hbm": 2, "dram": 4, "cxl": 10, "nvdimm": 22}


def files(spec: Spec) -> Tree:
    """Return what is not below a node: huge pages, access classes, dax devices, tiers."""
    tree = texts("sys/kernel/mm/transparent_hugepage", {"enabled": "[always] madvise never"})
    tree |= texts("sys/kernel/mm/transparent_hugepage", {"defrag": "always defer defer+madvise [madvise] never"})
    for size in PAGES:
        tree |= texts(f"sys/kernel/mm/hugepages/{size}", {"nr_hugepages": 0, "free_hugepages": 0})
    for node in spec.nodes:
        tree |= _initiators(node)
    special = [node for node in spec.nodes if node.kind != "dram"]
    for count, node in enumerate(special):
        tree |= _dax(node, count)
    return tree | (_tiers(spec) if special else {})


def of_node(folder: str, node: Node) -> Tree:
    """Return the files of one node that speak of its memory."""
    tree: Tree = {f"{folder}/meminfo": meminfo(node).encode()}
    counters = ("numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node")
    tree[f"{folder}/numastat"] = "".join(f"{name} 0\n" for name in counters).encode()
    for size in PAGES:
        tree |= texts(f"{folder}/hugepages/{size}", {"nr_hugepages": 0, "free_hugepages": 0, "surplus_hugepages": 0})
    if node.side_cache:
        values = {"size": node.side_cache, "indexing": 0, "line_size": 64, "write_policy": 0}
        tree |= texts(f"{folder}/memory_side_cache/index1", values)
    return tree


def meminfo(node: Node) -> str:
    """Return a node's meminfo: ``Node 0 MemTotal:       33554432 kB``."""
    free = node.kib * 95 // 100
    sizes = {"MemTotal": node.kib, "MemFree": free, "MemUsed": node.kib - free}
    lines = [f"Node {node.number} {name + ':':<16}{kib:>8} kB\n" for name, kib in sizes.items()]
    return "".join(lines + [f"Node {node.number} HugePages_{name}:     0\n" for name in ("Total", "Free", "Surp")])


def _initiators(node: Node) -> Tree:
    if not node.access:
        return {}
    tree: Tree = {}
    rates = {"read_latency": node.access.latency, "write_latency": node.access.latency}
    rates |= {"read_bandwidth": node.access.bandwidth, "write_bandwidth": node.access.bandwidth}
    for level in ("access0", "access1"):
        folder = f"{NODE}/node{node.number}/{level}/initiators"
        tree |= texts(folder, rates)
        for near in node.near or (node.number,):
            tree[f"{folder}/node{near}"] = Link(f"{NODE}/node{near}")
            tree[f"{NODE}/node{near}/{level}/targets/node{node.number}"] = Link(f"{NODE}/node{node.number}")
    return tree


def _dax(node: Node, count: int) -> Tree:
    name = f"dax{count}.0"
    folder = f"{DAX[node.kind].format(count)}/{name}"
    values = {"target_node": node.number, "numa_node": node.near[0], "size": node.kib * 1024}
    links: Tree = {place: Link(folder) for place in (f"sys/bus/dax/devices/{name}", f"sys/bus/dax/drivers/kmem/{name}")}
    return texts(folder, values) | links


def _tiers(spec: Spec) -> Tree:
    tree: Tree = {}
    for kind, tier in TIERS.items():
        members = ",".join(str(node.number) for node in spec.nodes if node.kind == kind)
        if members:
            tree |= texts(f"sys/devices/virtual/memory_tiering/memory_tier{tier}", {"nodelist": members})
    return tree
