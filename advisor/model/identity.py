"""Which machine, cut in which way: what tells whether measurements are of the machine at hand."""

from advisor.model.machine import Machine
from advisor.model.measurement import Identity


def identity_of(machine: Machine) -> Identity:
    """Return what tells a machine, as it is cut now, from others."""
    topology = machine.topology
    return Identity(
        name=machine.name,
        cpu=machine.cpu.model_name if machine.cpu else None,
        cpus=len(topology.pus) if topology else None,
        nodes=tuple(str(node.cpuset) for node in topology.nodes) if topology else (),
    )


def mismatch(measured: Identity, machine: Machine) -> str | None:
    """Return in what the machine that was measured differs from another, in words; None where it is the same."""
    own = identity_of(machine)
    for theirs, ours in ((measured.name, own.name), (measured.cpu, own.cpu)):
        if theirs and ours and theirs != ours:
            return f"measured on {theirs}, and this is {ours}"
    for many, few, what in ((measured.cpus, own.cpus, "CPUs"), (len(measured.nodes), len(own.nodes), "NUMA nodes")):
        if many and few and many != few:
            return f"measured with {many} {what}, and the machine has {few} now"
    if measured.nodes and own.nodes and measured.nodes != own.nodes:
        return "measured with other CPUs in the NUMA nodes than the machine has now"
    return None
