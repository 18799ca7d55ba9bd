"""How judging grows with the machine: work is counted, not timed."""

import pytest

from advisor.advice.expression_tree import Fact
from advisor.advice.judgement import judged
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Limits, Machine
from advisor.machine.topology import L3, Core, NumaNode, Package, Topology


def machine(nodes: int) -> Machine:
    """Return a machine of many packages: a NUMA node each, of four L3 groups of eight cores of two threads."""
    whole = [CpuSet(range(64 * n, 64 * n + 64)) for n in range(nodes)]
    cores = [CpuSet((first, first + 1)) for first in range(0, 64 * nodes, 2)]
    groups = [CpuSet(range(16 * n, 16 * n + 16)) for n in range(4 * nodes)]
    pus = CpuSet(range(64 * nodes))
    topology = Topology(
        packages=tuple(Package(os_index=n, cpuset=cpus) for n, cpus in enumerate(whole)),
        nodes=tuple(NumaNode(os_index=n, cpuset=cpus, near=cpus, memory=1 << 34) for n, cpus in enumerate(whole)),
        l3=tuple(L3(cpuset=cpus, size=1 << 25) for cpus in groups),
        cores=tuple(Core(os_index=n, cpuset=cpus) for n, cpus in enumerate(cores)),
        pus=pus,
        allowed=pus,
        allowed_nodes=CpuSet(range(nodes)),
    )
    return Machine(topology=topology, limits=Limits(affinity=pus))


def looks(nodes: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often the rules look at a fact of such a machine."""
    count = 0
    value = Fact.value

    def counted(self: Fact, env: dict[str, object]) -> object:
        nonlocal count
        count += 1
        return value(self, env)

    with monkeypatch.context() as patch:
        patch.setattr(Fact, "value", counted)
        judged(machine(nodes))
    return count


def test_near_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine four times as large takes at most six times as many looks at its facts: little is asked of each pair of nodes."""
    assert looks(64, monkeypatch) <= 6 * looks(16, monkeypatch)
