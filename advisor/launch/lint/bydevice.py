"""Ranks beside devices: --map-by device= of PRRTE's development branch, whose published test maps are held against this.

Devices are taken in the order of their PCI addresses; ``interleave`` takes one of each socket in turn, ``ndev=2`` gives two to
each rank, and ranks are bound inside the NUMA nodes of their devices.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from advisor.launch.lint.openmpi import Refused, Unclear
from advisor.launch.lint.wanted import Wanted
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import Topology


def adapters(machine: Machine) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name of each HCA and its NUMA nodes."""
    for hca in machine.hcas or ():
        if hca.locality and hca.locality.numa_nodes:
            yield hca.name, hca.locality.numa_nodes


def homes_of_devices(want: Wanted, machine: Machine, topology: Topology) -> tuple[CpuSet, ...]:
    """Return the CPUs beside each device that ranks are dealt over, or beside each group of them; raise Refused or Unclear."""
    name = (want.device or "").lower()
    if name != "gpu":
        places = dict(adapters(machine))
        if want.device not in places:
            raise Unclear(f"where {want.device} is, is not known")
        return (_beside(places[want.device or ""], topology),)
    gpus = sorted(machine.gpus or (), key=lambda gpu: gpu.address)
    if not gpus:
        raise Refused("this machine shows no GPU; nothing starts")
    homes = [_beside(gpu.locality.numa_nodes if gpu.locality else None, topology) for gpu in gpus]
    if "interleave" in want.modifiers:
        homes = _interleaved(homes, topology)
    each = want.devices_each
    if len(homes) % each:
        raise Unclear(f"{len(homes)} GPUs are no multiple of ndev={each}")
    return tuple(union(homes[i : i + each]) for i in range(0, len(homes), each))


def _beside(nodes: Sequence[int] | None, topology: Topology) -> CpuSet:
    cpus = union(node.cpuset for node in topology.inside.cpu_nodes if node.os_index in (nodes or ()))
    if not cpus:
        raise Unclear("on which NUMA node a device is, is not known")
    return cpus


def _interleaved(homes: Sequence[CpuSet], topology: Topology) -> list[CpuSet]:
    sockets = [[home for home in homes if home <= package.cpuset] for package in topology.inside.packages]
    if sum(map(len, sockets)) != len(homes):
        raise Unclear("some devices are beside no single socket")
    return [home for home in chain.from_iterable(zip_longest(*sockets)) if home is not None]
