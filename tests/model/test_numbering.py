from collections.abc import Callable

import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import infer_numbering
from advisor.machine.topology import Core, NumaNode, Package, Topology
from tests.model.shapes import linear, shape


def dell(position: int, count: int) -> int:
    """Return a number as a PowerEdge R7425 does: sockets in turn, then dies, then the cores of a die."""
    socket, die, core = position // 32, position % 32 // 8, position % 8
    return socket + 2 * die + 8 * core


def by_node(position: int, count: int) -> int:
    """Return a number by dealing cores to the eight nodes."""
    return position // 8 + 8 * (position % 8)


@pytest.mark.parametrize(
    ("number", "name", "over"), [(linear, "linear", None), (dell, "round-robin", "packages"), (by_node, "round-robin", "nodes")]
)
def test_orders(number: Callable[[int, int], int], name: str, over: str | None) -> None:
    """The three orders that servers come with are told apart."""
    got = infer_numbering(shape(2, 4, 8, 32, number=number))
    assert (got.name, got.over) == (name, over)


def test_second_threads_do_not_count() -> None:
    """With SMT the order is that of the first threads, and the siblings' place is named."""
    got = infer_numbering(shape(2, 4, 8, 32, threads=2))
    assert (got.name, got.siblings) == ("linear", "offset")


def test_adjacent_siblings() -> None:
    """Siblings numbered side by side are adjacent, and the cores still linear."""
    cores = tuple(Core(os_index=i, cpuset=CpuSet([2 * i, 2 * i + 1])) for i in range(8))
    packages = (Package(os_index=0, cpuset=CpuSet(range(8))), Package(os_index=1, cpuset=CpuSet(range(8, 16))))
    got = infer_numbering(Topology(packages=packages, cores=cores, pus=CpuSet(range(16))))
    assert (got.name, got.siblings) == ("linear", "adjacent")


def test_unequal_sockets_still_deal() -> None:
    """A round robin over sockets of four and two cores deals until the smaller is full."""
    cores = tuple(Core(os_index=i, cpuset=CpuSet([i])) for i in range(6))
    packages = (Package(os_index=0, cpuset=CpuSet([0, 2, 4, 5])), Package(os_index=1, cpuset=CpuSet([1, 3])))
    assert infer_numbering(Topology(packages=packages, cores=cores, pus=CpuSet(range(6)))).name == "round-robin"


def test_clusters_inside_a_socket_may_interleave() -> None:
    """Numbers linear over the sockets stay linear when the clusters of a socket interleave, and the reason says so."""
    base = shape(2, 1, 1, 4)
    sets = (CpuSet([0, 2]), CpuSet([1, 3]), CpuSet([4, 5]), CpuSet([6, 7]))
    nodes = tuple(NumaNode(os_index=i, cpuset=s, near=s, memory=1) for i, s in enumerate(sets))
    got = infer_numbering(base.model_copy(update={"nodes": nodes}))
    words = "CPU numbers fill one package after another, but inside a package the numbers alternate between its NUMA nodes"
    assert (got.name, got.why) == ("linear", (words,))


def test_neither_order() -> None:
    """Numbers that neither fill nor deal are called other."""
    cores = tuple(Core(os_index=i, cpuset=CpuSet([i])) for i in range(8))
    packages = (Package(os_index=0, cpuset=CpuSet([0, 1, 4, 7])), Package(os_index=1, cpuset=CpuSet([2, 3, 5, 6])))
    assert infer_numbering(Topology(packages=packages, cores=cores, pus=CpuSet(range(8)))).name == "other"


def test_without_packages_it_is_not_known() -> None:
    """An input that names no packages says nothing about the order."""
    assert infer_numbering(Topology(pus=CpuSet([0, 1]))).name == "unknown"
