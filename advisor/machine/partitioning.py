"""How the BIOS partitions sockets into NUMA nodes and uses HBM, inferred from what the operating system shows.

The node count alone says nothing: whatever else makes or hides nodes is ruled out first, and the name given is the
one the processor's own vendor uses.
"""

import re
from collections.abc import Callable
from itertools import combinations

from advisor.machine.cpu import advertised_cores
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import Cut, Layout, Smt, judge_distances
from advisor.machine.machine import Machine
from advisor.machine.numbering import infer_numbering, madt_order, srat_agreement, srat_nodes
from advisor.machine.partition_names import NAMERS, Socket, View
from advisor.machine.platform_traits import Scheme
from advisor.machine.schemes import known_by_name_only, scheme
from advisor.machine.topology import Package, Topology, covered

_XEON_MAX = re.compile(r"\bMax 94\d\d\b", re.ASCII)


def hbm_mode(machine: Machine) -> str | None:
    """Return flat, cache or only; None where the processor has no HBM or nothing says.

    Knights Landing's firmware reports the mode itself. Flat HBM shows as NUMA nodes without cores, of a Knights Landing in hybrid
    mode, too, and of a Xeon Max as DAX devices where the firmware reserved it; cached DIMMs show as a memory-side cache; and no
    module of DDR5 where HBM is alone.
    """
    told = ((machine.firmware.memory_mode if machine.firmware else None) or "").lower()
    if told in ("flat", "cache"):
        return told
    nodes = machine.topology.nodes if machine.topology else ()
    if any(node.kind == "hbm" and not node.cpuset for node in nodes):
        return "flat"
    if machine.cpu is None or not _XEON_MAX.search(machine.cpu.model_name or ""):
        return None
    if any(each.kind == "reserved" for each in machine.dax or ()):
        return "flat"
    if any(tier.cache for tier in machine.tiers or ()):
        return "cache"
    modules = [slot.kind for slot in (machine.memory.dimms or () if machine.memory else ()) if slot.size]
    return "only" if modules and all((kind or "").startswith("HBM") for kind in modules) else None


_HYPERVISORS = ("qemu", "kvm", "vmware", "virtualbox", "xen", "openstack", "amazon ec2", "google", "bochs", "virtual machine")
"""Words in a system's vendor or product name, or in a CPU's model name, that only virtual machines carry."""


def infer_layout(machine: Machine) -> Layout:
    """Return everything that can be said of the firmware's choices, with reasons."""
    topology = machine.topology or Topology()
    kind = scheme(machine.cpu)
    numbering = infer_numbering(_joined(machine, topology))
    return Layout(
        cut=infer_cut(machine),
        numbering=numbering.model_copy(update={"why": numbering.why + madt_order(machine, topology)}),
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
        return Smt(state="off", threads=1, why=(f"one thread per core online; the kernel's smt/control says {control}",))
    return Smt(state="off", threads=1, why=("one thread per core online",))


def infer_cut(machine: Machine) -> Cut:
    """Return the NUMA partitioning's name in the vendor's word, or unknown with what stands in the way."""
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
        return _interleaved(machine, topology, len(sockets))
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
    found = [package for package in _joined(machine, topology).packages if package.cpuset]
    packages = tuple(package.cpuset for package in found)
    dies = _dies_as_packages(machine, topology, len(packages))
    if dies < 2:
        return packages, ()
    if all(package.os_index is not None for package in found):  # a list by CPUs deals the dies of the sockets in turn
        packages = tuple(package.cpuset for package in sorted(found, key=lambda package: package.os_index or 0))
    grouped = tuple(union(packages[i : i + dies]) for i in range(0, len(packages), dies))
    return grouped, (f"this kernel reports each of the {dies} dies of a socket as a package",)


def _joined(machine: Machine, topology: Topology) -> Topology:
    """Return the topology with packages of one number joined: old kernels split them where COD makes two nodes."""
    numbers = [package.os_index for package in topology.packages]
    if None in numbers or len(set(numbers)) == len(numbers) or scheme(machine.cpu) not in (Scheme.COD, Scheme.DIES):
        return topology
    parts = {number: [p for p in topology.packages if p.os_index == number] for number in numbers}
    whole = tuple(Package(os_index=number, cpuset=union(p.cpuset for p in group)) for number, group in parts.items())
    return topology.model_copy(update={"packages": whole})


_L3_OF_A_DIE = 2
"""L3 groups of a die of EPYC 7001."""


def _dies_as_packages(machine: Machine, topology: Topology, packages: int) -> int:
    if machine.memory and machine.memory.processors:
        real = sum(1 for processor in machine.memory.processors if processor.populated)
        if 0 < real < packages and packages % real == 0 and not _virtual(machine):
            return packages // real
    cores = advertised_cores(machine.cpu)
    if cores is None or scheme(machine.cpu) is not Scheme.DIES or not packages or _virtual(machine):
        return 1
    if any(sum(1 for l3 in topology.l3 if l3.cpuset <= package.cpuset) > _L3_OF_A_DIE for package in topology.packages):
        return 1  # cores are switched off, and the package is one
    dies = cores * packages // max(1, len(topology.cores))
    return dies if dies in (2, 4) and packages % dies == 0 and len(topology.cores) * dies == cores * packages else 1


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
    for a, b in combinations((node.os_index for node in topology.cpu_nodes), 2):
        if table and table.between(a, b) == table.between(a, a) == 10:
            return f"nodes {a} and {b} are at distance 10, as only numa=fake makes them"
    return None


def _no_packages(machine: Machine, topology: Topology) -> str | None:
    del machine
    return None if topology.packages else "this input names no packages"


def _hidden_part(machine: Machine, topology: Topology) -> str | None:
    del machine
    homeless = topology.pus - covered(topology)
    if homeless:
        return f"CPUs {homeless} belong to no NUMA node shown: their nodes have no memory or are hidden"
    if topology.missing_nodes and topology.missing:
        return f"CPUs {topology.missing} and NUMA nodes {topology.missing_nodes} are hidden from this input"
    return None


_Test = Callable[[Machine, Topology], str | None]
_OBSTACLES: tuple[_Test, ...] = (_no_numa_information, _numa_option, _no_packages, _hidden_part, _fake_distances)


def _interleaved(machine: Machine, topology: Topology, sockets: int) -> Cut:
    reason = _not_interleaved(machine, topology, sockets)
    if reason:
        return _unknown(reason)
    name = _INTERLEAVED.get(scheme(machine.cpu))
    if name is None or sockets > 2:
        return _unknown("one NUMA node holds several sockets: node interleaving in the BIOS")
    return Cut(
        name=name,
        nodes_per_socket=None,
        confidence="high" if srat_nodes(machine) else "medium",
        why=("one NUMA node holds both sockets, and numa=off was not asked for",),
    )


def _not_interleaved(machine: Machine, topology: Topology, sockets: int) -> str | None:
    """Return what else than the BIOS may have put several sockets into one NUMA node."""
    if sockets < 2:
        return "a NUMA node reaches beyond the packages the kernel reports"
    if _virtual(machine):
        return "a NUMA node holds several sockets of a virtual machine: its hypervisor chose the layout"
    if len(topology.cpu_nodes) > 1:
        return "there are several NUMA nodes, and one holds several packages: the packages shown are not the sockets"
    domains = srat_nodes(machine)
    if domains and domains > 1:
        return f"the firmware's SRAT has {domains} nodes with CPUs and the kernel shows one: memory is missing, or NUMA is off"
    if machine.kernel is None or machine.kernel.cmdline is None:
        return "one NUMA node holds several sockets: interleaved by the BIOS, or numa=off; the kernel command line would tell"
    return None


_INTERLEAVED = {Scheme.NPS: "NPS0", Scheme.DIES: "socket-interleaving"}
"""What AMD calls memory interleaved over both sockets."""


def _weigh(machine: Machine, topology: Topology, cut: Cut, notes: tuple[str, ...]) -> Cut:
    """Return the NUMA partitioning with everything that lowers its certainty or was left out of the count."""
    why = [*cut.why, *notes, *srat_agreement(machine, topology)]
    confidence = cut.confidence
    if _virtual(machine):
        confidence = "low"
        why.append("this is a virtual machine: its hypervisor chose the layout")
    if confidence == "high" and known_by_name_only(machine.cpu):
        confidence = "medium"
        why.append("the input gives the processor's marketing name only, not its family and model")
    first = topology.nodes[0].os_index if topology.nodes else 0
    if first > 0 and topology.cpu_nodes:
        confidence = "low" if confidence == "low" else "medium"
        why.append(f"the node numbers begin at {first}: part of the machine may be hidden")
    alone = [node.os_index for node in topology.nodes if not node.cpuset]
    if alone:
        why.append(f"not counted: {_plural(len(alone), 'node')} of memory without CPUs ({CpuSet(alone)})")
    plain = [node.os_index for node in topology.nodes if not node.cpuset and node.kind in (None, "dram")]
    known = scheme(machine.cpu) is not Scheme.UNKNOWN  # on POWER9 such nodes are GPUs, and CPUs are offline for many reasons
    if known and plain and topology.missing and not _only_second_threads(machine, topology):
        confidence = "low"
        why.append(f"CPUs {topology.missing} are offline or hidden: some of these nodes may be theirs")
    empty = [node.os_index for node in topology.cpu_nodes if node.memory == 0]
    if empty:
        cause = "" if cut.name == "L3-as-NUMA" else ": DIMMs missing"
        why.append(f"{len(empty)} of {_plural(len(topology.cpu_nodes), 'node')} have no memory ({CpuSet(empty)}){cause}")
    return cut.model_copy(update={"why": tuple(why), "confidence": confidence})


def _only_second_threads(machine: Machine, topology: Topology) -> bool:
    """Return whether the CPUs offline are those that SMT would add."""
    control = machine.cpu.smt_control if machine.cpu else None
    return len(topology.missing) == len(topology.pus) if control is None else control in ("off", "forceoff")


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
