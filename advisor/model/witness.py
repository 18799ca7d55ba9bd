"""What the firmware's own tables say beside the kernel's view: a second witness for the cut and for the numbering."""

from collections.abc import Iterable

from advisor.model.machine import Machine
from advisor.model.topology import Topology


def srat_nodes(machine: Machine) -> int | None:
    """Return how many proximity domains with CPUs the SRAT names; None where it could not be read."""
    cpus = machine.acpi.srat_cpus if machine.acpi else None
    return len({cpu.domain for cpu in cpus if cpu.enabled}) if cpus else None


def second_opinion(machine: Machine, topology: Topology) -> tuple[str, ...]:
    """Return what the SRAT adds to the count of nodes: that it agrees, or that it does not."""
    told, shown = srat_nodes(machine), len(topology.cpu_nodes)
    if told is None:
        return ()
    if told == shown:
        return (f"the firmware's SRAT has the same {told} nodes with CPUs",)
    return (f"the firmware's SRAT has {told} nodes with CPUs, the kernel shows {shown}",)


def madt_order(machine: Machine, topology: Topology) -> tuple[str, ...]:
    """Return whether the kernel numbers the CPUs as the MADT lists them; () where that cannot be told."""
    acpi = machine.acpi
    if acpi is None or not acpi.madt or not acpi.srat_cpus:
        return ()
    domain = {cpu.apic_id: cpu.domain for cpu in acpi.srat_cpus if cpu.enabled}
    listed = [domain.get(entry.apic_id) for entry in acpi.madt if entry.enabled]
    owner = {cpu: node.os_index for node in topology.cpu_nodes for cpu in node.cpuset}
    numbered = [owner.get(cpu) for cpu in topology.pus]
    if len(listed) != len(numbered) or None in listed or None in numbered or len(set(listed)) < 2:
        return ()
    if _pattern(listed) == _pattern(numbered):
        return ("the firmware's MADT lists the processors in the same order",)
    return ("the firmware's MADT lists the processors in another order than the kernel numbers them",)


def _pattern(owners: Iterable[int | None]) -> list[int]:
    """Return a sequence with its members named by their first appearance: nodes and domains need not share numbers."""
    names: dict[int | None, int] = {}
    return [names.setdefault(owner, len(names)) for owner in owners]
