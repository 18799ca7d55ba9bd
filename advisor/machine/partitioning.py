"""How the BIOS partitions sockets into NUMA nodes and uses HBM, inferred from what the operating system shows.

The node count alone says nothing: whatever else makes or hides nodes is ruled out first, and the name given is the
one the processor's own vendor uses.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Cpu, advertised_cores
from advisor.machine.layout import (
    Confidence,
    Cut,
    Layout,
    Smt,
    infer_numbering,
    judge_distances,
    madt_order,
    srat_agreement,
    srat_nodes,
)
from advisor.machine.machine import Machine
from advisor.machine.platform_traits import Scheme, Traits, traits
from advisor.machine.topology import L3, NumaNode, Package, Topology, covered

_AMD_WITHOUT_SHEET = (
    # Opteron.
    ((15, 16, 21), range(256), Scheme.FIXED),
    # The desktop and embedded parts of Zen and Zen+.
    ((23,), range(16), Scheme.DIES),
    # Trento, and models that their generation leaves free.
    ((25,), (*range(8, 16), *range(48, 64)), Scheme.NPS),
    ((26,), (*range(8, 16), *range(80, 96)), Scheme.NPS),
)
"""Families and models (Linux arch/x86/kernel/cpu/amd.c)."""

_INTEL_WITHOUT_SHEET = {
    86: Scheme.COD,  # Broadwell-DE
    **dict.fromkeys((108, 174, 221), Scheme.SNC),  # Ice Lake-D, Granite Rapids-D, Clearwater Forest
    **dict.fromkeys((87, 133), Scheme.KNL),
    # Nehalem to Ivy Bridge servers had one node a socket whatever the BIOS did.
    **dict.fromkeys((26, 30, 37, 44, 46, 47, 45, 62), Scheme.WHOLE),
}
"""Family 6 by model, decimal (Intel SDM volume 4, table 2-1; Linux arch/x86/include/asm/intel-family.h)."""

_E_CORES_WITHOUT_SHEET = (221,)
"""Clearwater Forest: its cores have one thread."""

_A64FX = ("0x46", 1)
"""Its four core memory groups are nodes, whatever the firmware is set to (implementer Fujitsu, part 1)."""

_NAMES_WITHOUT_SHEET = (
    (r"EPYC [37]\w\w1", Scheme.DIES),
    (r"Hygon", Scheme.DIES),
    (r"EPYC (7\w\w[23]|[89]\w\w[45])", Scheme.NPS),  # with those made for one customer: EPYC 9B14
    (r"Opteron\b", Scheme.FIXED),
    (r"Xeon Phi.* 72\d\d", Scheme.KNL),
    (r"Xeon.* E[57]-\d{4}\w? v[34]\b", Scheme.COD),
    (r"Xeon.* (E[57]- ?\d{4}|[ELWX](55|56|65|75)\d\d\b)", Scheme.WHOLE),
    (r"Xeon.* (Platinum|Gold|Silver|Bronze|Max|6\d{3}[EP]) ", Scheme.SNC),
)
"""Marketing names, for files that give no family and model (hwloc before 1.11)."""


def sheet_of(cpu: Cpu | None) -> Traits | None:
    """Return the traits of a platform with such processors, by family and model; what refines it has the same silicon."""
    if cpu is None or cpu.family is None or cpu.model is None:
        return None
    same = [
        each
        for each in traits()
        if (each.match.vendor, each.match.family) == (cpu.vendor, cpu.family) and cpu.model in each.match.models
    ]
    return max(same, key=lambda each: (cpu.stepping in each.match.steppings, not each.match.refines), default=None)


def scheme(cpu: Cpu | None) -> Scheme:
    """Return how the processor can be cut; UNKNOWN where its identity is not known."""
    sheet = sheet_of(cpu)
    return Scheme[sheet.scheme] if sheet else scheme_without_sheet(cpu)


def scheme_without_sheet(cpu: Cpu | None) -> Scheme:
    """Return how a processor can be cut of which there is no platform's sheet."""
    if cpu is None:
        return Scheme.UNKNOWN
    if (cpu.vendor, cpu.model) == _A64FX:
        return Scheme.FIXED
    if cpu.vendor is None or cpu.family is None or cpu.model is None:
        plain = re.sub(r"\([^)]*\)|\bCPU\b(?! Max)", "", cpu.model_name or "")
        bare = " ".join(plain.split())
        named = (each for each in traits() if each.match.family is not None and re.search(rf"\b(?:{each.series})(?!\w)", bare))
        if sheet := next(named, None):
            return Scheme[sheet.scheme]
        return next((found for pattern, found in _NAMES_WITHOUT_SHEET if re.search(pattern, plain, re.ASCII)), Scheme.UNKNOWN)
    if cpu.vendor == "GenuineIntel":
        return _INTEL_WITHOUT_SHEET.get(cpu.model, Scheme.UNKNOWN) if cpu.family == 6 else Scheme.UNKNOWN
    if cpu.vendor == "HygonGenuine":
        return Scheme.DIES
    table = _AMD_WITHOUT_SHEET if cpu.vendor == "AuthenticAMD" else ()
    return next((kind for families, models, kind in table if cpu.family in families and cpu.model in models), Scheme.UNKNOWN)


def known_by_name_only(cpu: Cpu | None) -> bool:
    """Return whether the scheme rests on a marketing name."""
    return cpu is not None and cpu.model is None and scheme(cpu) is not Scheme.UNKNOWN


def two_l3_a_die(cpu: Cpu | None) -> bool:
    """Return whether each die of the processor has two L3 groups."""
    sheet = sheet_of(cpu)
    return sheet is not None and sheet.l3_per_die == 2


def has_smt(cpu: Cpu | None) -> bool:
    """Return whether the processor is known to have two threads per core, and a switch for the second."""
    if cpu is None or cpu.vendor not in ("AuthenticAMD", "GenuineIntel", "HygonGenuine"):
        return False
    sheet = sheet_of(cpu)
    one = sheet.core_type == "efficient" if sheet else cpu.vendor == "GenuineIntel" and cpu.model in _E_CORES_WITHOUT_SHEET
    return not one and scheme(cpu) is not Scheme.KNL


@dataclass(frozen=True)
class Socket:
    """A socket with its NUMA nodes that have CPUs, and its L3 groups."""

    cpus: CpuSet
    nodes: tuple[NumaNode, ...]
    l3: tuple[L3, ...]

    @property
    def nodes_are_l3(self) -> bool:
        """Whether each node is exactly one L3 group."""
        return len(self.nodes) > 1 and {node.cpuset for node in self.nodes} == {l3.cpuset for l3 in self.l3}

    @property
    def l3_spans_nodes(self) -> bool:
        """Whether some L3 group reaches over several nodes, as only Intel's clusters leave it."""
        return any(sum(1 for node in self.nodes if node.cpuset & l3.cpuset) > 1 for l3 in self.l3)


@dataclass(frozen=True)
class View:
    """What a namer may look at."""

    machine: Machine
    topology: Topology
    sockets: tuple[Socket, ...]

    @property
    def l3_per_socket(self) -> int | None:
        """L3 groups of each socket; None where sockets differ or none is shown."""
        counts = {len(socket.l3) for socket in self.sockets}
        return counts.pop() or None if len(counts) == 1 else None


def _cut(name: str, nodes: int, confidence: Confidence, *why: str) -> Cut:
    return Cut(name=name, nodes_per_socket=nodes, confidence=confidence, why=why)


def _counted(name: str, nodes: int, confidence: Confidence, *why: str) -> Cut:
    """Return a partitioning whose first reason is the count of nodes."""
    return _cut(name, nodes, confidence, f"{nodes} NUMA node{'s' if nodes > 1 else ''} with CPUs in each socket", *why)


def _dies(view: View, nodes: int) -> Cut:
    """EPYC 7001: two L3 groups a die, one memory controller a die."""
    groups = view.l3_per_socket
    dies = groups // 2 if groups and groups % 2 == 0 else None
    if nodes in (2, 4) and all(socket.nodes_are_l3 for socket in view.sockets):
        reason = "each is one L3 group: the other L3 group of its die is disabled"
        return _counted("channel-interleaving", nodes, "medium", reason)
    if dies == 1 and nodes == 1:
        return _cut("none", nodes, "high", "one die per socket, nothing to interleave")
    if nodes == dies or (dies is None and nodes == 4):
        reason = "one node per die, so memory is interleaved over the channels of a die"
        return _counted("channel-interleaving", nodes, "high" if dies else "medium", reason)
    if nodes == 1:
        sure: Confidence = "high" if dies else "medium"
        return _counted("die-interleaving", nodes, sure, "the memory of all its dies is interleaved")
    return _counted("unknown", nodes, "low", f"{dies or 'an unknown number of'} dies per socket: no BIOS setting produces that")


def _nps(view: View, nodes: int) -> Cut:
    """EPYC 7002 and later. Whether L3-as-NUMA is on top of NPS2 or NPS4 shows only in the distances."""
    alike = all(socket.nodes_are_l3 for socket in view.sockets)
    halves = ("a die has two L3 groups, and NPS never divides a die",) if nodes in (2, 4) and _halves_of_dies(view) else ()
    if alike and (nodes not in (2, 4) or halves or _virtual_distance(view)):
        sure: Confidence = "high" if nodes not in (2, 4) or halves else "medium"
        beneath, told = _nps_below(view)
        cut = _cut("L3-as-NUMA", nodes, sure, "every NUMA node is one L3 group", *halves, *told)
        return cut.but(beneath=beneath)
    if nodes not in (1, 2, 4):
        return _counted("unknown", nodes, "low", "this number matches neither an NPS setting nor the number of L3 groups")
    if alike:
        reason = "each NUMA node is also one L3 group, so L3-as-NUMA would look the same"
        return _counted(f"NPS{nodes}", nodes, "medium", reason)
    groups = sorted({len(socket.l3) for socket in view.sockets})
    if groups == [0]:
        return _counted(f"NPS{nodes}", nodes, "medium", "the L3 groups are not visible, so L3-as-NUMA is not ruled out")
    shown = " or ".join(map(str, groups))
    return _counted(f"NPS{nodes}", nodes, "high", f"L3 groups in each: {shown}, so L3-as-NUMA is off")


def _halves_of_dies(view: View) -> bool:
    """Return whether L3 groups are halves of dies: where all cores that the name promises are there, no half is switched off."""
    cpu, cores = view.machine.cpu, len(view.topology.cores)
    return two_l3_a_die(cpu) and cores == (advertised_cores(cpu) or 0) * len(view.sockets)


# AMD's reference BIOS gives nodes that are L3 groups of one quadrant the distance 11 (AGESA "ACPI SLIT virtual distance").
_VIRTUAL = 11


def _virtual_distance(view: View) -> bool:
    table = view.topology.distances
    return table is not None and any(_VIRTUAL in row for row in table.rows)


def _nps_below(view: View) -> tuple[int | None, tuple[str, ...]]:
    """Return the NPS under L3-as-NUMA and how the distances tell it: nodes of one quadrant are 11 apart."""
    table = view.topology.distances
    first = view.sockets[0].nodes
    if table is None or not _virtual_distance(view):
        return None, ("the distances do not show the underlying NPS setting",)
    near = sum(1 for node in first if table.between(first[0].os_index, node.os_index) in (10, _VIRTUAL))
    if not near:
        return None, ()
    nps = len(first) // near
    return nps, (f"distance {_VIRTUAL} groups {near} of {len(first)} nodes: the underlying setting is NPS{nps}",)


def _cod(view: View, nodes: int) -> Cut:
    if nodes == 1:
        return _counted("none", nodes, "high", "cluster on die is off")
    if nodes == 2:
        split = view.l3_per_socket == 2
        return _counted(
            "COD",
            nodes,
            "high" if split else "medium",
            "two L3 groups in each socket" if split else "the L3 groups do not appear to be split",
        )
    return _counted("unknown", nodes, "low", "cluster on die gives two nodes per socket")


def _snc(view: View, nodes: int) -> Cut:
    if nodes == 1:
        return _counted("none", nodes, "high", "sub-NUMA clustering is off")
    cpu = view.machine.cpu
    dies = 2 if cpu and cpu.model == 85 and view.l3_per_socket == 2 else None
    if nodes == dies:
        return _counted("none", nodes, "high", "the dies of a Xeon Platinum 9200, each with an L3")
    if dies and nodes == 2 * dies:
        return _counted("SNC2", nodes, "high", "two nodes on each die of a Xeon Platinum 9200")
    if nodes in (2, 3, 4, 6):
        spans = all(socket.l3_spans_nodes for socket in view.sockets)
        return _counted(
            f"SNC{nodes}",
            nodes,
            "high" if spans else "medium",
            *(("one L3 shared by all of them",) if spans else ()),
        )
    return _counted("unknown", nodes, "low", "sub-NUMA clustering gives 2, 3, 4 or 6 nodes per socket")


def _knl(view: View, nodes: int) -> Cut:
    """Knights Landing. SNC modes show in the nodes; all-to-all, hemisphere and quadrant look alike to the system."""
    firmware = view.machine.firmware
    told = (firmware.cluster_mode, firmware.memory_mode) if firmware else (None, None)
    fast = any(not node.cpuset for node in view.topology.nodes)
    cluster = told[0] or (f"SNC{nodes}" if nodes in (2, 4) else None)
    # Its cores share no L3: what is shown as one, or as a memory-side cache, is MCDRAM if it is a quarter of 16 GB or more.
    shown = (*(l3.size for l3 in view.topology.l3), *(tier.cache for tier in view.machine.tiers or ()))
    cached = sum(size or 0 for size in shown) >= 1 << 31
    memory = (told[1] or (("hybrid" if cached else "flat") if fast else "cache")).lower()
    name = "-".join(
        word for word in ("KNL", cluster if not cluster or cluster.startswith("SNC") else cluster.lower(), memory) if word
    )
    reason = "MCDRAM is a separate NUMA node" if fast else "MCDRAM is not a NUMA node, so it is a cache for the DRAM"
    if all(told):
        return _counted(name, nodes, "high", "the firmware's own tables distinguish the modes")
    more = () if cluster else ("quadrant, hemisphere and all-to-all look alike to the operating system",)
    return _counted(name, nodes, "high" if cluster else "medium", reason, *more)


def _fixed(_view: View, nodes: int) -> Cut:
    return _counted("none", nodes, "high", *(["one node per die; the BIOS offers no partitioning"] if nodes > 1 else []))


def _whole(_view: View, nodes: int) -> Cut:
    if nodes == 1:
        return _counted("none", nodes, "high", "this processor has no NUMA partitioning")
    return _counted("unknown", nodes, "low", "this processor is not known to have NUMA partitioning")


def _by_shape(view: View, nodes: int) -> Cut:
    """Without a known processor only the shape speaks."""
    x86 = view.machine.architecture in (None, "x86_64") and (
        view.machine.cpu is None or view.machine.cpu.vendor in (None, "GenuineIntel")
    )
    if nodes == 1:
        return _counted("none", nodes, "medium")
    if x86 and nodes in (2, 3, 4) and all(socket.l3_spans_nodes for socket in view.sockets):
        return _counted(
            f"SNC{nodes}", nodes, "medium", "one L3 shared by all of them, found only with Intel's sub-NUMA clustering"
        )
    return _counted("unknown", nodes, "low", "advisor does not know the NUMA partitioning of this processor")


NAMERS: dict[Scheme, Callable[[View, int], Cut]] = {
    Scheme.DIES: _dies,
    Scheme.NPS: _nps,
    Scheme.COD: _cod,
    Scheme.SNC: _snc,
    Scheme.KNL: _knl,
    Scheme.FIXED: _fixed,
    Scheme.WHOLE: _whole,
    Scheme.UNKNOWN: _by_shape,
}
"""A namer for every scheme."""


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
        numbering=numbering.but(why=numbering.why + madt_order(machine, topology)),
        smt=infer_smt(topology, machine.cpu.smt_control if machine.cpu else None),
        distances=judge_distances(topology, kind),
    )


def infer_smt(topology: Topology, control: str | None) -> Smt:
    """Return whether the cores show more than one thread."""
    threads = max((len(core.cpuset) for core in topology.inside.cores), default=0)
    if not threads:
        return Smt(state="unknown", why=("the input lists no cores",))
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
    if reason := _obstacle(machine, topology):
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
    return topology.but(packages=whole)


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


def _obstacle(machine: Machine, topology: Topology) -> str | None:
    """Return what else than the BIOS made or hides nodes, or None."""
    if not topology.numa_known:
        return "this input has no NUMA information; one node represents the whole machine"
    for value in (machine.kernel.option("numa") if machine.kernel else None) or ():
        if value == "off" or value.startswith(("fake", "noacpi")):
            return f"the kernel was started with numa={value}, so its NUMA nodes are not the firmware's"
    if not topology.packages:
        return "this input lists no packages"
    homeless = topology.pus - covered(topology)
    if homeless:
        return f"CPUs {homeless} belong to no NUMA node shown: their nodes have no memory or are hidden"
    if topology.missing_nodes and topology.missing:
        return f"CPUs {topology.missing} and NUMA nodes {topology.missing_nodes} are hidden from this input"
    table = topology.distances
    for a, b in combinations((node.os_index for node in topology.cpu_nodes), 2):
        if table and table.between(a, b) == table.between(a, a) == 10:
            return f"nodes {a} and {b} are at distance 10, which only numa=fake produces"
    return None


def _interleaved(machine: Machine, topology: Topology, sockets: int) -> Cut:
    reason = _not_interleaved(machine, topology, sockets)
    if reason:
        return _unknown(reason)
    name = _INTERLEAVED.get(scheme(machine.cpu))
    if name is None or sockets > 2:
        return _unknown("one NUMA node spans several sockets: node interleaving in the BIOS")
    return Cut(
        name=name,
        nodes_per_socket=None,
        confidence="high" if srat_nodes(machine) else "medium",
        why=("one NUMA node spans both sockets, although numa=off is not set",),
    )


def _not_interleaved(machine: Machine, topology: Topology, sockets: int) -> str | None:
    """Return what else than the BIOS may have put several sockets into one NUMA node."""
    if sockets < 2:
        return "a NUMA node extends beyond the packages that the kernel reports"
    if _virtual(machine):
        return "a NUMA node spans several sockets of a virtual machine: its hypervisor chose the layout"
    if len(topology.cpu_nodes) > 1:
        return "one of several NUMA nodes spans several packages: the packages shown are not the sockets"
    domains = srat_nodes(machine)
    if domains and domains > 1:
        return f"the firmware's SRAT has {domains} nodes with CPUs, but the kernel shows one: memory is missing, or NUMA is off"
    if machine.kernel is None or machine.kernel.cmdline is None:
        return (
            "one NUMA node spans several sockets: interleaved by the BIOS, or numa=off; the kernel command line would show which"
        )
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
        why.append("the input gives only the processor's marketing name, not its family and model")
    first = topology.nodes[0].os_index if topology.nodes else 0
    if first > 0 and topology.cpu_nodes:
        confidence = "low" if confidence == "low" else "medium"
        why.append(f"the node numbers start at {first}: part of the machine may be hidden")
    alone = [node.os_index for node in topology.nodes if not node.cpuset]
    if alone:
        why.append(f"not counted: {_plural(len(alone), 'memory-only node')} ({CpuSet(alone)})")
    plain = [node.os_index for node in topology.nodes if not node.cpuset and node.kind in (None, "dram")]
    known = scheme(machine.cpu) is not Scheme.UNKNOWN  # on POWER9 such nodes are GPUs, and CPUs are offline for many reasons
    if known and plain and topology.missing and not _only_second_threads(machine, topology):
        confidence = "low"
        why.append(f"CPUs {topology.missing} are offline or hidden: some of the nodes without CPUs may belong to them")
    empty = [node.os_index for node in topology.cpu_nodes if node.memory == 0]
    if empty:
        cause = "" if cut.name == "L3-as-NUMA" else ": DIMMs missing"
        why.append(f"{len(empty)} of {_plural(len(topology.cpu_nodes), 'node')} have no memory ({CpuSet(empty)}){cause}")
    return cut.but(why=tuple(why), confidence=confidence)


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


_HBM_ALONE = re.compile(r"\b(MI300A|A64FX)\b")
"""Processors without DIMMs: AMD Instinct MI300A data sheet (128 GB of HBM3), A64FX data sheet (32 GiB of HBM2)."""

MI300A = 0x74A0
"""Its GPU in the PCI ID Repository; it shares a package with its cores."""
_AMD = 0x1002


@dataclass(frozen=True)
class FastMemory:
    """The HBM of a machine."""

    mode: Literal["flat", "cache", "only"]
    nodes: tuple[NumaNode, ...]
    """The NUMA nodes that are HBM: without CPUs in flat mode, () if it is a cache, all where there is no other memory."""

    def near(self, cpus: CpuSet) -> tuple[int, ...]:
        """Return the nodes that are nearest to some CPUs."""
        return tuple(node.os_index for node in self.nodes if node.near & cpus)


def fast_memory(machine: Machine) -> FastMemory | None:
    """Return the HBM of a machine that its kinds of memory, its firmware or its processor show; None where nothing does."""
    nodes = machine.topology.inside.nodes if machine.topology else ()
    apart = tuple(_placed(machine, node) for node in nodes if node.kind == "hbm" and not node.cpuset and node.memory)
    if apart:
        return FastMemory("flat", apart)
    mode, owners = hbm_mode(machine), tuple(node for node in nodes if node.cpuset and node.memory != 0)
    named = machine.cpu is not None and _HBM_ALONE.search(machine.cpu.model_name or "") is not None
    apu = any((card.vendor, card.device) == (_AMD, MI300A) for card in machine.pci or ())
    if mode == "only" or named or apu or (owners and all(node.kind == "hbm" for node in owners)):
        return FastMemory("only", owners)
    return FastMemory("cache", ()) if mode == "cache" else None


def _placed(machine: Machine, node: NumaNode) -> NumaNode:
    """Return a node with the CPUs that are nearest to it: where no source shows them, those at the least distance, or all."""
    topology = machine.topology
    if node.near or topology is None:
        return node
    owners, table = topology.cpu_nodes, topology.distances
    far = {each.os_index: table.between(each.os_index, node.os_index) for each in owners} if table else {}
    least = min((value for value in far.values() if value is not None), default=None)
    near = union(each.cpuset for each in owners if far.get(each.os_index) == least)
    return node.but(near=near)


def nodes_in_words(numbers: CpuSet) -> str:
    """Return ``NUMA node 1`` or ``NUMA nodes 8-15``."""
    return f"NUMA node{'s' * (len(numbers) > 1)} {numbers}"
