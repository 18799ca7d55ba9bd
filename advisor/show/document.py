"""The value and JSON document of ``advisor topology``, and the parts of it that an audit has too."""

from typing import Any, Final, NamedTuple

from advisor.machine.hardware import Gpu, Hca, Locality
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import read_machine
from advisor.machine.topology import Counts, Topology, counts

TOPOLOGY_SCHEMA: Final = "advisor-topology/1"
"""The number rises when a key changes meaning or goes."""


def topology_document(machine: Machine, layout: Layout) -> dict[str, Any]:
    """Return the document: plain JSON values, base units, the kernel's numbers."""
    whole = machine.topology
    inside = whole.inside if whole else None
    return {
        "schema": TOPOLOGY_SCHEMA,
        "name": machine.name,
        "counts": counts_document(inside),
        "counts_whole": counts_document(whole),
        **layout_document(layout, whole),
        "hcas": None if machine.hcas is None else [_hca(hca) for hca in machine.hcas],
        "gpus": None if machine.gpus is None else [_gpu(gpu) for gpu in machine.gpus],
        **_parts(whole or Topology()),
        "gaps": [gap.model_dump(mode="json") for gap in machine.gaps],
        "machine": machine.model_dump(mode="json"),
    }


def counts_document(topology: Topology | None) -> dict[str, int] | None:
    """Return how many there are of each part; None without a topology."""
    seen: Counts | None = counts(topology) if topology else None
    return seen.model_dump(mode="json") if seen else None


def layout_document(layout: Layout, topology: Topology | None) -> dict[str, Any]:
    """Return how the firmware partitioned the machine, with the whole table of distances."""
    said = layout.model_dump(mode="json")
    table = topology.distances if topology else None
    rows = table.model_dump(mode="json") if table else {"nodes": None, "rows": None}
    return {**said, "distances": {**said["distances"], **rows}}


def _hca(hca: Hca) -> dict[str, Any]:
    keys = {"number", "state", "rate", "rate_name", "link_layer", "netdev"}
    ports = None if hca.ports is None else [port.model_dump(mode="json", include=keys) for port in hca.ports]
    return {"name": hca.name, **_place(hca.locality), "address": hca.address, "firmware": hca.firmware, "ports": ports}


def _gpu(gpu: Gpu) -> dict[str, Any]:
    keys = {"address", "card", "vendor", "model", "memory", "index", "driver_version"}
    return {**gpu.model_dump(mode="json", include=keys), **_place(gpu.locality)}


def _place(locality: Locality | None) -> dict[str, Any]:
    """Return where a device is; null where that is not known, and then why not."""
    if locality is None:
        return {"numa_nodes": None, "inferred": None}
    known = () if locality.one_of else locality.numa_nodes
    return {"numa_nodes": list(known) or None, "inferred": locality.inferred}


def _parts(topology: Topology) -> dict[str, Any]:
    """Every part of the whole topology with its CPUs, and what of it may be used."""
    return {
        "nodes": [
            {
                "os_index": node.os_index,
                "cpus": str(node.cpuset),
                "near": str(node.near),
                "memory": node.memory,
                "kind": node.kind,
                "package": topology.package_of(node.near),
            }
            for node in topology.nodes
        ],
        "packages": [{"os_index": package.os_index, "cpus": str(package.cpuset)} for package in topology.packages],
        "l3": [{"size": cache.size, "cpus": str(cache.cpuset)} for cache in topology.l3],
        "cores": [{"os_index": core.os_index, "cpus": str(core.cpuset)} for core in topology.cores],
        "allowed": {
            "cpus": str(topology.allowed & topology.pus),
            "nodes": str(topology.allowed_nodes),
            "limited": topology.limited,
        },
        "missing": {"cpus": str(topology.missing), "nodes": str(topology.missing_nodes)},
    }


class MachineLayout(NamedTuple):
    """A machine, and what its firmware did: how the sockets are cut into NUMA nodes, how cores are numbered."""

    machine: Machine
    layout: Layout

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor topology --json``."""
        return topology_document(self.machine, self.layout)


def topology(source: str | None = None, observer: Observer = SILENT) -> MachineLayout:
    """Return a machine and its layout: of a capture, an hwloc XML, a Machine JSON or a root; of this machine without any."""
    machine = read_machine(source, observer)
    return MachineLayout(machine, infer_layout(machine))
