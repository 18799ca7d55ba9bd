"""What the BIOS did to the NUMA nodes, inferred from what the operating system shows.

The node count alone says nothing: whatever else makes or hides nodes is ruled out first, and the name given is the
one the processor's own vendor uses.
"""

import re
from collections.abc import Callable

from advisor.model.cpuset import CpuSet, union
from advisor.model.distances import judge_distances
from advisor.model.generation import Scheme, scheme
from advisor.model.layout import Confidence, Cut, Layout, Smt
from advisor.model.machine import Machine
from advisor.model.numbering import infer_numbering
from advisor.model.schemes import NAMERS, Socket, View
from advisor.model.topology import Topology

_HYPERVISORS = ("qemu", "kvm", "vmware", "virtualbox", "xen", "openstack", "amazon ec2", "google", "bochs", "virtual machine")
"""Words in a system's maker or product name, or in a CPU's model name, that only virtual machines carry."""


def infer_layout(machine: Machine) -> Layout:
    """Return everything that can be said of the firmware's choices, with reasons."""
    topology = machine.topology or Topology()
    kind = scheme(machine.cpu)
    return Layout(
        cut=infer_cut(machine),
        numbering=infer_numbering(topology),
        smt=infer_smt(topology, machine.cpu.smt_control if machine.cpu else None),
        distances=judge_distances(topology, kind),
    )


def infer_smt(topology: Topology, control: str | None) -> Smt:
    """Return whether the cores show more than one thread."""
    threads = max((len(core.cpuset) for core in topology.inside.cores), default=0)
    if not threads:
        return Smt(state="unknown", why=("the input names no cores",))
    if threads > 1:
        return Smt(state="on", threads=threads, why=(f"cores have {threads} threads online",))
    if control in ("off", "forceoff"):
        return Smt(state="off", threads=1, why=(f"one thread a core online; the kernel's smt/control says {control}",))
    return Smt(state="off", threads=1, why=("one thread a core online",))


def infer_cut(machine: Machine) -> Cut:
    """Return the cut's name in the vendor's word, or unknown with what stands in the way."""
    topology = machine.topology
    if topology is None or not topology.pus:
        return _unknown("no topology in this input")
    for test in _OBSTACLES:
        reason = test(machine, topology)
        if reason:
            return _unknown(reason)
    sockets, notes = find_sockets(machine, topology)
    spanning = [node for node in topology.cpu_nodes if not any(node.cpuset <= socket for socket in sockets)]
    if spanning:
        return _interleaved(machine, len(sockets))
    view = View(machine, topology, tuple(_socket(topology, cpus) for cpus in sockets))
    counts = {len(socket.nodes) for socket in view.sockets}
    if len(counts) > 1:
        return _unknown(
            f"sockets differ: {sorted(counts)} NUMA nodes with CPUs; part of the machine may be hidden or without memory"
        )
    cut = NAMERS[scheme(machine.cpu)](view, counts.pop())
    return _weigh(machine, topology, cut, notes)


def find_sockets(machine: Machine, topology: Topology) -> tuple[tuple[CpuSet, ...], tuple[str, ...]]:
    """Return the CPUs of each real socket: old kernels report every die of an EPYC 7001 as a package."""
    packages = tuple(package.cpuset for package in topology.packages if package.cpuset)
    dies = _dies_as_packages(machine, topology, len(packages))
    if dies < 2:
        return packages, ()
    grouped = tuple(union(packages[i : i + dies]) for i in range(0, len(packages), dies))
    return grouped, (f"this kernel reports each of the {dies} dies of a socket as a package",)


def _dies_as_packages(machine: Machine, topology: Topology, packages: int) -> int:
    if machine.memory and machine.memory.processors:
        real = sum(1 for processor in machine.memory.processors if processor.populated)
        if 0 < real < packages and packages % real == 0 and not _virtual(machine):
            return packages // real
    match = re.search(r"\b(\d{1,3})-Core\b", (machine.cpu and machine.cpu.model_name) or "", re.ASCII)
    if not match or scheme(machine.cpu) is not Scheme.DIES or not packages or _virtual(machine):
        return 1
    dies = int(match[1]) * packages // max(1, len(topology.cores))
    return dies if dies in (2, 4) and packages % dies == 0 and len(topology.cores) * dies == int(match[1]) * packages else 1


def _socket(topology: Topology, cpus: CpuSet) -> Socket:
    nodes = topology.nodes_of(cpus)
    return Socket(cpus, nodes, tuple(l3 for l3 in topology.l3 if l3.cpuset & cpus))


def _no_numa_information(machine: Machine, topology: Topology) -> str | None:
    del machine
    return None if topology.numa_known else "this input has no NUMA information; one node stands for the whole machine"


def _numa_option(machine: Machine, topology: Topology) -> str | None:
    del topology
    for value in (machine.kernel.option("numa") if machine.kernel else None) or ():
        if value == "off" or value.startswith(("fake", "noacpi")):
            return f"the kernel was started with numa={value}, so its NUMA nodes are not the firmware's"
    return None


def _fake_distances(machine: Machine, topology: Topology) -> str | None:
    del machine
    table = topology.distances
    for i, row in enumerate(table.rows if table else ()):
        for j, value in enumerate(row):
            if i != j and table and value == row[i] == 10 and topology.nodes_of(CpuSet(range(1 << 14))):
                return f"nodes {table.nodes[i]} and {table.nodes[j]} are at distance 10, as only numa=fake makes them"
    return None


def _no_packages(machine: Machine, topology: Topology) -> str | None:
    del machine
    return None if topology.packages else "this input names no packages"


def _hidden_part(machine: Machine, topology: Topology) -> str | None:
    del machine
    homeless = topology.pus - union(node.cpuset for node in topology.nodes)
    if homeless:
        return f"CPUs {homeless} belong to no NUMA node shown: their nodes have no memory or are hidden"
    if topology.missing_nodes and topology.missing:
        return f"CPUs {topology.missing} and NUMA nodes {topology.missing_nodes} are hidden from this input"
    return None


_Test = Callable[[Machine, Topology], str | None]
_OBSTACLES: tuple[_Test, ...] = (_no_numa_information, _numa_option, _no_packages, _hidden_part, _fake_distances)


def _interleaved(machine: Machine, sockets: int) -> Cut:
    kind, cmdline = scheme(machine.cpu), machine.kernel.cmdline if machine.kernel else None
    if sockets < 2:
        return _unknown("a NUMA node reaches beyond the packages the kernel reports")
    if cmdline is None:
        return _unknown(
            "one NUMA node holds several sockets: interleaved by the BIOS, or numa=off; the kernel command line would tell"
        )
    if kind is Scheme.NPS:
        confidence: Confidence = "low" if _virtual(machine) else "medium"
        return Cut(
            name="NPS0",
            nodes_per_socket=None,
            confidence=confidence,
            why=("one NUMA node holds both sockets, and numa=off was not asked for",),
        )
    return _unknown("one NUMA node holds several sockets: node interleaving in the BIOS")


def _weigh(machine: Machine, topology: Topology, cut: Cut, notes: tuple[str, ...]) -> Cut:
    """Return the cut with everything that lowers its certainty or was left out of the count."""
    why = [*cut.why, *notes]
    confidence = cut.confidence
    if _virtual(machine):
        confidence = "low"
        why.append("this is a virtual machine: its hypervisor chose the layout")
    first = topology.nodes[0].os_index if topology.nodes else 0
    if first > 0 and topology.cpu_nodes:
        confidence = "low" if confidence == "low" else "medium"
        why.append(f"the node numbers begin at {first}: part of the machine may be hidden")
    alone = [node.os_index for node in topology.nodes if not node.cpuset]
    if alone:
        why.append(f"not counted: {_plural(len(alone), 'node')} of memory without CPUs ({CpuSet(alone)})")
    empty = [node.os_index for node in topology.cpu_nodes if node.memory == 0]
    if empty:
        why.append(f"{len(empty)} of {_plural(len(topology.cpu_nodes), 'node')} have no memory ({CpuSet(empty)}): DIMMs missing")
    return cut.model_copy(update={"why": tuple(why), "confidence": confidence})


def _virtual(machine: Machine) -> bool:
    environment = machine.environment.virtual if machine.environment else None
    if environment is not None:
        return environment != "none"
    firmware = machine.firmware
    if firmware and (firmware.product or "").endswith(".metal"):  # Amazon's bare-metal servers
        return False
    words = [firmware.system_vendor, firmware.product, firmware.bios_vendor] if firmware else []
    text = " ".join(word for word in (*words, machine.cpu.model_name if machine.cpu else None) if word).lower()
    return any(word in text for word in _HYPERVISORS)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _unknown(reason: str) -> Cut:
    return Cut(name="unknown", nodes_per_socket=None, confidence="low", why=(reason,))
