"""What of a Machine may change a verdict: equal nodes have equal digests, and each is judged once.

Left out is what names the node and what changes by itself. What a rule asks of such a fact stays: whether a port has a LID, how
many interrupts go to CPUs away from their device, whether Slurm's definition has more memory than the node.
"""

from collections.abc import Iterable
from hashlib import blake2b

from advisor.fleet.fold import OWN_NAME, rounded
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.devices import Hca, Irq, Port
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.operating_system import SlurmNode
from advisor.model.hardware.topology import Topology


def digest_of(machine: Machine) -> str:
    """Return the digest of what may change a verdict."""
    return blake2b(essence(machine).model_dump_json().encode(), digest_size=16).hexdigest()


def essence(machine: Machine) -> Machine:
    """Return a machine without what differs between equal nodes; it is no machine to be judged, only to be compared."""
    bare = machine.model_copy(update={"name": None, "allocation": None, "sources": (), "gaps": ()})
    for without in (_adapters, _definitions, _topology, _kernel, _limits):
        bare = without(bare)
    return bare


def _topology(machine: Machine) -> Machine:
    if machine.topology is None:
        return machine
    nodes = (node.model_copy(update={"memory": rounded(node.memory)}) if node.memory else node for node in machine.topology.nodes)
    return machine.model_copy(update={"topology": machine.topology.model_copy(update={"nodes": tuple(nodes)})})


def _kernel(machine: Machine) -> Machine:
    kernel = machine.kernel
    if kernel is None or kernel.cmdline is None:
        return machine
    masked = tuple((name, value and OWN_NAME.sub("...", value)) for name, value in kernel.cmdline)
    return machine.model_copy(update={"kernel": kernel.model_copy(update={"cmdline": masked})})


def _limits(machine: Machine) -> Machine:
    limits = machine.limits and machine.limits.model_copy(update={"cgroup": None})
    return machine.model_copy(update={"limits": limits})


def _adapters(machine: Machine) -> Machine:
    return machine.model_copy(update={"hcas": machine.hcas and tuple(_adapter(hca, machine.topology) for hca in machine.hcas)})


def _definitions(machine: Machine) -> Machine:
    known = machine.slurm_nodes and tuple(_definition(each, machine.topology) for each in machine.slurm_nodes)
    return machine.model_copy(update={"slurm_nodes": known})


def _adapter(hca: Hca, topology: Topology | None) -> Hca:
    near = hca.locality.numa_nodes if hca.locality else ()
    local = _cpus(topology, near)
    return hca.model_copy(
        update={
            "ports": hca.ports and tuple(_port(port) for port in hca.ports),
            "irqs": hca.irqs and tuple(_irqs(hca.irqs, local)),
        }
    )


def _port(port: Port) -> Port:
    return port.model_copy(update={"lid": port.lid and 1})


def _irqs(irqs: Iterable[Irq], local: CpuSet) -> Iterable[Irq]:
    """Yield as many interrupts, of which as many are far; their numbers, and what a daemon chose, change."""
    told = sorted(0 if not (cpus := irq.effective or irq.cpus) else 1 if cpus & local else 2 for irq in irqs)
    yield from (Irq(number=number, cpus=CpuSet([kind])) for number, kind in enumerate(told))


def _cpus(topology: Topology | None, nodes: Iterable[int]) -> CpuSet:
    wanted = set(nodes)
    return CpuSet(cpu for node in topology.nodes if node.os_index in wanted for cpu in node.cpuset) if topology else CpuSet()


def _definition(defined: SlurmNode, topology: Topology | None) -> SlurmNode:
    if defined.memory is None or topology is None:
        return defined
    more = defined.memory > sum(node.memory or 0 for node in topology.nodes)
    return defined.model_copy(update={"memory": 2 * rounded(defined.memory) + more})
