"""Machines made of numbers, for tests that need a shape and nothing else."""

from collections.abc import Callable

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Cpu
from advisor.machine.machine import Kernel, Machine
from advisor.machine.topology import L3, Core, Distances, NumaNode, Package, Topology

NAPLES = Cpu(vendor="AuthenticAMD", family=23, model=1, model_name="AMD EPYC 7601 32-Core Processor")
ROME = Cpu(vendor="AuthenticAMD", family=23, model=49, model_name="AMD EPYC 7702 64-Core Processor")
HASWELL = Cpu(vendor="GenuineIntel", family=6, model=63)
CASCADE_LAKE = Cpu(vendor="GenuineIntel", family=6, model=85, stepping=7)
KNIGHTS_LANDING = Cpu(vendor="GenuineIntel", family=6, model=87)

GIB = 1 << 30


def linear(position: int, count: int) -> int:
    """Return the CPU number of a core: the same as its position."""
    del count
    return position


def shape(
    sockets: int,
    nodes: int,
    l3: int,
    cores: int,
    *,
    threads: int = 1,
    number: Callable[[int, int], int] = linear,
    slit: Callable[[int, int], int] | None = None,
) -> Topology:
    """Return sockets of so many nodes, L3 groups and cores each; ``number`` gives a core's CPU, second threads come last."""
    total = sockets * cores
    sets = [CpuSet(number(i, total) + t * total for t in range(threads)) for i in range(total)]

    def groups(parts: int) -> list[CpuSet]:
        size = total // parts
        return [union(sets[i * size : (i + 1) * size]) for i in range(parts)]

    every = union(sets)
    count = sockets * nodes
    memory = tuple(NumaNode(os_index=i, cpuset=g, near=g, memory=32 * GIB) for i, g in enumerate(groups(count)))
    rows = tuple(tuple((slit or _plain(nodes))(i, j) for j in range(count)) for i in range(count))
    return Topology(
        packages=tuple(Package(os_index=i, cpuset=g) for i, g in enumerate(groups(sockets))),
        nodes=memory,
        l3=tuple(L3(cpuset=g, size=16 << 20) for g in groups(sockets * l3)) if l3 else (),
        cores=tuple(Core(os_index=i, cpuset=s) for i, s in enumerate(sets)),
        pus=every,
        allowed=every,
        allowed_nodes=CpuSet(range(count)),
        distances=Distances(nodes=tuple(range(count)), rows=rows) if count > 1 else None,
    )


def _plain(nodes: int) -> Callable[[int, int], int]:
    return lambda i, j: 10 if i == j else 12 if i // nodes == j // nodes else 32


def machine(topology: Topology, cpu: Cpu | None = None, cmdline: str | None = "quiet") -> Machine:
    """Return a machine of a topology, a processor and a kernel command line of ``key=value`` words (None: not known)."""
    words = None if cmdline is None else tuple(word.partition("=") for word in cmdline.split())
    options = None if words is None else tuple((key, value if sign else None) for key, sign, value in words)
    return Machine(topology=topology, cpu=cpu, kernel=Kernel(cmdline=options))
