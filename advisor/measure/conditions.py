"""Under which conditions is measured, and what of the machine may be used now."""

from advisor.host.base import Host
from advisor.measure.sizes import free_now
from advisor.model.hardware.machine import Machine
from advisor.model.measurement import Conditions


def free_memory(host: Host, machine: Machine) -> dict[int, int]:
    """Return the free bytes of each NUMA node."""
    nodes = [node.os_index for node in machine.topology.nodes] if machine.topology else []
    found = free_now({node: host.read(f"/sys/devices/system/node/node{node}/meminfo").text for node in nodes})
    if not found and len(nodes) == 1:
        found = free_now({nodes[0]: _available(host.read("/proc/meminfo").text)})
    return found


def _available(text: str | None) -> str | None:
    """Return a machine's meminfo with what is available called free: a kernel without NUMA has no node's."""
    return (
        None
        if text is None
        else text.replace("MemFree:", "Unused:").replace("MemAvailable:", "MemFree:").replace("Cached:", "-:")
    )


def conditions(
    machine: Machine,
    started: str,
    busy: tuple[str, ...] | None,
    *,
    seconds: float = 0.0,
    compiler: str | None = None,
    flags: str | None = None,
) -> Conditions:
    """Return the conditions of a run; ``busy`` is None where nobody looked."""
    cpu, kernel = machine.cpu, machine.kernel
    return Conditions(
        started=started,
        seconds=round(seconds, 1),
        idle=None if busy is None else not busy,
        busy=busy or (),
        compiler=compiler,
        flags=flags,
        governor=",".join(cpu.governors) if cpu and cpu.governors else None,
        hugepages=kernel.thp if kernel else None,
    )
