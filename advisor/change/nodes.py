"""The NUMA nodes after a change: CPUs, memory, and what has no CPUs."""

from collections.abc import Sequence

from advisor.change.cells import Cell
from advisor.change.seats import Cores, Seats
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.topology import NumaNode

Numbers = Sequence[CpuSet]
"""The CPUs of every core."""


def cpus_of(cores: Cores, numbers: Numbers) -> CpuSet:
    """Return the CPUs of some cores."""
    return union(numbers[core] for core in cores)


def kept(seats: Seats, numbers: Numbers) -> tuple[NumaNode, ...]:
    """Return the present nodes with their CPUs numbered anew."""
    return tuple(
        node.model_copy(
            update={
                "cpuset": cpus_of(seats.cores_in(node.cpuset), numbers),
                "near": cpus_of(seats.cores_in(node.near), numbers),
            }
        )
        for node in seats.topology.nodes
    )


def recut(seats: Seats, cells: Sequence[Cell], numbers: Numbers, *, sure: bool) -> tuple[NumaNode, ...]:
    """Return the nodes of a new cut; memory whose split is not ``sure`` is not known."""
    memory = _memory(seats, cells, sure=sure)
    nodes = [
        NumaNode(os_index=at, cpuset=cpus, near=cpus, memory=memory[at])
        for at, cpus in enumerate(cpus_of(cell.cores, numbers) for cell in cells)
    ]
    return (*nodes, *_alone(seats, cells, numbers))


def _memory(seats: Seats, cells: Sequence[Cell], *, sure: bool) -> list[int | None]:
    """Return the memory of each cell: that of the nodes inside it, and even shares of those it divides."""
    total: list[int | None] = [0] * len(cells)
    size = {node.os_index: node.memory for node in seats.topology.cpu_nodes}
    for number, cores in seats.nodes.items():
        over = [at for at, cell in enumerate(cells) if cell.cores & cores]
        whole = size[number]
        for share, at in enumerate(over):
            before = total[at]
            if before is None or whole is None or (len(over) > 1 and not sure):
                total[at] = None
            else:
                total[at] = before + whole // len(over) + (share < whole % len(over))
    return total


def _alone(seats: Seats, cells: Sequence[Cell], numbers: Numbers) -> tuple[NumaNode, ...]:
    """Return the nodes without CPUs, numbered after those with: HBM one for each node of its socket, others as they are."""
    others = [node for node in seats.topology.nodes if not node.cpuset]
    hbm = [node for node in others if node.kind == "hbm"]
    result: list[NumaNode] = []
    for cell in cells if hbm else ():
        beside = [other.cores for other in cells if other.socket == cell.socket]
        own = [node for node in hbm if seats.cores_in(node.near) & frozenset().union(*beside)]
        sizes = [node.memory for node in own]
        each = None if None in sizes else sum(size for size in sizes if size) // len(beside)
        near = cpus_of(cell.cores, numbers)
        result.append(NumaNode(os_index=0, cpuset=CpuSet(), near=near, memory=each, kind="hbm"))
    for node in others:
        if node.kind != "hbm":
            near = union(cpus_of(cell.cores, numbers) for cell in cells if cell.cores & seats.cores_in(node.near))
            result.append(node.model_copy(update={"near": near}))
    return tuple(node.model_copy(update={"os_index": len(cells) + at}) for at, node in enumerate(result))
