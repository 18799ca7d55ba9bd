"""What of a Machine may change a verdict: equal nodes have equal digests, and each is judged once.

Left out is what names the node and what changes by itself. What a rule asks of such a fact stays: whether a port has a LID, how
many interrupts go to CPUs away from their device, whether Slurm's definition has more memory than the node.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from advisor.fleet.fold import OWN_NAME, rounded
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.devices import Hca, Irq, Port
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.operating_system import Kernel, Limits, SlurmNode
from advisor.model.hardware.topology import Topology


def digest_of(machine: Machine) -> str:
    """Return the digest of what may change a verdict."""
    return blake2b(essence(machine).model_dump_json().encode(), digest_size=16).hexdigest()


def essence(machine: Machine) -> Machine:
    """Return a machine without what differs between equal nodes; it is no machine to be judged, only to be compared."""
    topology = machine.topology
    update: dict[str, Any] = {
        "name": None,
        "allocation": None,
        "sources": (),
        "gaps": (),
        "topology": topology and _topology(topology),
        "kernel": machine.kernel and _kernel(machine.kernel),
        "limits": machine.limits and _limits(machine.limits),
        "hcas": machine.hcas and tuple(_adapter(hca, topology) for hca in machine.hcas),
        "slurm_nodes": machine.slurm_nodes and tuple(_definition(each, topology) for each in machine.slurm_nodes),
    }
    return machine.model_copy(update=update)


def _topology(topology: Topology) -> Topology:
    nodes = tuple(node.model_copy(update={"memory": rounded(node.memory)}) if node.memory else node for node in topology.nodes)
    return topology.model_copy(update={"nodes": nodes})


def _kernel(kernel: Kernel) -> Kernel:
    if kernel.cmdline is None:
        return kernel
    masked = tuple((name, value and OWN_NAME.sub("...", value)) for name, value in kernel.cmdline)
    return kernel.model_copy(update={"cmdline": masked})


def _limits(limits: Limits) -> Limits:
    return limits.model_copy(update={"cgroup": None})


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
