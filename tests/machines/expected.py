"""What the product must say of a machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tests.machines.spec import Device, Spec


class Counts(NamedTuple):
    """How many of each, as lstopo shows them."""

    packages: int
    numa_nodes: int
    l3: int
    cores: int
    pus: int


@dataclass(frozen=True)
class Expected:
    """The right answer about a machine."""

    counts: Counts
    """Of the whole machine, whatever a cgroup hides."""
    cut: str
    """channel-interleaving, NPS0 to NPS4, L3-as-NUMA, COD, SNC2, SNC4, KNL-SNC4-flat, none or unknown."""
    nodes_per_socket: int | None
    """NUMA nodes with CPUs in each socket; None if it cannot be told."""
    numbering: Literal["linear", "round-robin", "other", "unknown"]
    smt: Literal["on", "off", "unknown"]
    hcas: Mapping[str, tuple[int, ...] | None] = field(default_factory=dict)
    """The CPU nodes each HCA is local to; None if the firmware does not say."""
    inside: Counts | None = None
    """What a cgroup leaves of the machine."""
    old_hwloc: Counts | None = None
    """What an hwloc shows that does not know of numa=fake and keeps one node of each CPU set (open-mpi/hwloc#568)."""
    over: Literal["packages", "nodes"] | None = None
    """What a round-robin deals the numbers to; packages where CPU 1 is in another socket than CPU 0."""
    sure: bool = True
    """Whether the cut can be told without a doubt: high confidence is wrong where it cannot."""
    why: str = ""


def counted(spec: Spec, *, inside: bool = False) -> Counts:
    """Return the counts of a description, of the part that its cgroup allows if asked."""
    group = spec.kernel.cgroup if inside else None
    own = set(spec.core_of) & group.cpus if group else set(spec.core_of)
    cores = [core for core in spec.live if own & set(core.pus)]
    return Counts(
        packages=len({core.package for core in cores}),
        numa_nodes=sum(not group or node.number in group.mems for node in spec.nodes),
        l3=len({(core.package, core.l3) for core in cores if core.l3 is not None}),
        cores=len(cores),
        pus=len(own),
    )


def near(spec: Spec) -> dict[str, tuple[int, ...] | None]:
    """Return the nodes that each HCA of a description is local to: all that show the same CPUs."""
    return {port.name: _local(spec, device) for device in spec.devices for port in device.hcas}


def _local(spec: Spec, device: Device) -> tuple[int, ...] | None:
    if device.says is not None and len(spec.nodes) > 1:
        return None
    own = spec.node_pus[device.node]
    return tuple(node.number for node in spec.nodes if spec.cpus(node) == own)
