"""Machines made by hand for what is drawn of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Cpu, Firmware, Gpu, Hca, Link, Locality, Nic, PciDevice, Port
from advisor.machine.layout import Cut, DistanceTable, Layout, Numbering, Smt
from advisor.machine.machine import Gap, Machine
from advisor.machine.topology import L3, Core, Distances, NumaNode, Package, Topology

GIB, MIB = 1 << 30, 1 << 20


@dataclass(frozen=True)
class Shape:
    """How a regular machine is built; dealt numbers the CPUs round-robin over sockets and then nodes."""

    sockets: int = 2
    nodes: int = 4
    l3: int = 2
    cores: int = 4
    threads: int = 1
    memory: int = 32 * GIB
    cache: int = 8 * MIB
    dealt: bool = False

    @property
    def all_cores(self) -> int:
        """How many cores it has."""
        return self.sockets * self.nodes * self.l3 * self.cores

    def core(self, socket: int, node: int, at: int) -> CpuSet:
        """Return the CPUs of one core of a node."""
        per_node = self.l3 * self.cores
        linear = (socket * self.nodes + node) * per_node + at
        first = socket + self.sockets * (node + self.nodes * at) if self.dealt else linear
        return CpuSet(first + thread * self.all_cores for thread in range(self.threads))


def topology(shape: Shape, *, rows: Sequence[Sequence[int]] | None = None) -> Topology:
    """Return the topology of a shape, with the distances of an EPYC where none are given."""
    places = [(socket, node) for socket in range(shape.sockets) for node in range(shape.nodes)]
    cores = {place: [shape.core(*place, at) for at in range(shape.l3 * shape.cores)] for place in places}
    cpus = {place: union(cores[place]) for place in places}
    table = rows or [[10 if a == b else 16 if a[0] == b[0] else 32 for b in places] for a in places]
    pus = union(cpus.values())
    return Topology(
        packages=tuple(
            Package(os_index=socket, cpuset=union(cpus[place] for place in places if place[0] == socket))
            for socket in range(shape.sockets)
        ),
        nodes=tuple(
            NumaNode(os_index=number, cpuset=cpus[place], near=cpus[place], memory=shape.memory)
            for number, place in enumerate(places)
        ),
        l3=tuple(
            L3(cpuset=union(cores[place][at * shape.cores : (at + 1) * shape.cores]), size=shape.cache)
            for place in places
            for at in range(shape.l3)
        ),
        cores=tuple(Core(os_index=at, cpuset=core) for place in places for at, core in enumerate(cores[place])),
        pus=pus,
        allowed=pus,
        allowed_nodes=CpuSet(range(len(places))),
        distances=Distances(nodes=tuple(range(len(places))), rows=tuple(map(tuple, table))),
    )


def layout(name: str = "NPS4", nodes: int | None = 4) -> Layout:
    """Return a layout with reasons."""
    return Layout(
        cut=Cut(name=name, nodes_per_socket=nodes, confidence="high", why=("every socket has as many nodes", "whole L3 groups")),
        numbering=Numbering(name="linear", siblings="none", why=("CPU numbers fill one package after another",)),
        smt=Smt(state="off", threads=1, why=("one thread per core online",)),
        distances=DistanceTable(name="full", why=("same socket 16, other socket 32",)),
    )


def machine(of: Topology | None, **more: object) -> Machine:
    """Return a machine with a name, a processor and the given parts."""
    known = {
        "name": "node001",
        "cpu": Cpu(vendor="AuthenticAMD", model_name="AMD EPYC 7601 32-Core Processor"),
        "firmware": Firmware(system_vendor="Dell Inc.", product="PowerEdge R7425", bios_version="1.26.0", bios_date="2024-01-01"),
    }
    return Machine.model_validate({**known, "topology": of, **more})


def card(address: str, kind: str, node: int | None, *, width: int = 16, could: int = 16) -> PciDevice:
    """Return a PCIe 4 card at a node, on as many lanes as given."""
    return PciDevice(
        address=address,
        kind=kind,
        class_code=0x020700,
        vendor=0x15B3,
        device=0x1017,
        locality=None if node is None else Locality(numa_nodes=(node,)),
        link=Link(speed=16e9, width=width),
        card=Link(speed=16e9, width=could),
    )


def hca(name: str, address: str, node: int | None, *, state: str | None = "active", inferred: str | None = None) -> Hca:
    """Return an InfiniBand adapter with one port."""
    rate = int(100e9) if state == "active" else None
    port = Port(number=1, state=state, rate=rate, rate_name="4X EDR", link_layer="infiniband", netdev="ib0")
    place = None if node is None else Locality(numa_nodes=(node,), inferred=inferred)
    return Hca(name=name, address=address, locality=place, firmware="16.35.4030", ports=(port,))


def naples() -> Machine:
    """Return a R7425: CPUs dealt over sockets and nodes, an HCA at node 6 whose port is down."""
    return machine(
        topology(Shape(dealt=True)),
        pci=(card("0000:c1:00.0", "hca", 6, width=8),),
        hcas=(hca("mlx5_0", "0000:c1:00.0", 6, state="down"),),
        nics=(Nic(name="em1", address="0000:01:00.0", locality=Locality(numa_nodes=(0,)), speed=int(10e9), state="up"),),
        gpus=(),
    )


def rome() -> Machine:
    """Return a 2-socket EPYC with SMT at NPS1: 16 L3 groups in each node, one HCA placed by inference."""
    return machine(
        topology(Shape(nodes=1, l3=16, threads=2, memory=128 * GIB, cache=16 * MIB)),
        pci=(card("0000:a1:00.0", "hca", None),),
        hcas=(hca("mlx5_0", "0000:a1:00.0", 1, inferred="its root bridge is in socket 1"),),
        gaps=(
            Gap(fact="memory.dimms", why="permission denied", help="run as root"),
            Gap(fact="acpi", why="permission denied", help="run as root"),
        ),
    )


def superdome() -> Machine:
    """Return a machine of 24 sockets, with an HCA in one of them."""
    return machine(topology(Shape(sockets=24, nodes=1, l3=1, cores=8, threads=2)), hcas=(hca("mlx4_0", "0006:03:00.0", 6),))


def gpu_memory() -> Machine:
    """Return a POWER9-like machine: two nodes with CPUs, four of GPU memory, four GPUs."""
    base = topology(Shape(nodes=1, l3=2, memory=128 * GIB))
    extra = tuple(
        NumaNode(os_index=number, cpuset=CpuSet(), near=base.packages[number % 2].cpuset, memory=16 * GIB, kind="gpu")
        for number in (252, 253, 254, 255)
    )
    far = tuple((0, 1, 252, 253, 254, 255).index(n) for n in (0, 1, 252, 253, 254, 255))
    rows = tuple(tuple(10 if a == b else 40 if a < 2 and b < 2 else 80 for b in far) for a in far)
    known = base.model_copy(
        update={
            "nodes": base.nodes + extra,
            "allowed_nodes": CpuSet((0, 1, 252, 253, 254, 255)),
            "distances": Distances(nodes=(0, 1, 252, 253, 254, 255), rows=rows),
        }
    )
    gpus = tuple(
        Gpu(address=f"000{at}:04:00.0", model="V100", memory=16 * GIB, index=at, locality=Locality(numa_nodes=(at % 2,)))
        for at in range(4)
    )
    return machine(known, gpus=gpus)


def confined() -> Machine:
    """Return a machine of which a cgroup allows six CPUs, with two more offline and a node without memory."""
    base = topology(Shape(nodes=2, l3=1))
    nodes = (*base.nodes[:3], base.nodes[3].model_copy(update={"memory": 0}))
    limits = {"allowed": CpuSet.span(0, 5), "allowed_nodes": CpuSet((0, 1)), "missing": CpuSet.span(16, 17), "nodes": nodes}
    return machine(base.model_copy(update=limits))
