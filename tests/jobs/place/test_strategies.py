"""The registry of strategies, and what each does with the caches of a node."""

import pytest

from advisor.jobs.place import place
from advisor.jobs.place_cores import WAYS, sentence
from advisor.jobs.placement import STRATEGIES, JobShape, Strategy
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Gpu, Hca, Locality
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from advisor.machine.topology import SharedL2
from tests.fakenode.real import CORPUS
from tests.model.shapes import machine, shape


def test_every_strategy_is_there() -> None:
    """A job may name what the room can do, and nothing else."""
    assert sorted(WAYS) == sorted(STRATEGIES)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sentences(strategy: Strategy) -> None:
    """A strategy's explanation is one sentence."""
    text = sentence(strategy)
    assert (text[0].isupper(), text.endswith("."), text.count(". ")) == (True, True, 0)


def tiles() -> Machine:
    """Return a Knights Landing in miniature: one node, no L3, eight tiles of two cores that share a level 2 cache."""
    topology = shape(1, 1, 0, 16)
    return machine(topology.model_copy(update={"shared_l2": tuple(SharedL2(cpuset=CpuSet([i, i + 1])) for i in range(0, 16, 2))}))


@pytest.mark.parametrize(
    ("ranks", "threads", "expected"),
    [
        (4, 1, ["0", "4", "8", "12"]),
        (8, 1, [str(cpu) for cpu in range(0, 16, 2)]),
        (10, 1, ["0", "1", "2", "4", "6", "8", "9", "10", "12", "14"]),
        (4, 2, ["0-1", "4-5", "8-9", "12-13"]),
        (16, 1, [str(cpu) for cpu in range(16)]),
    ],
)
def test_ranks_have_a_level_2_cache_each_while_one_is_free(ranks: int, threads: int, expected: list[str]) -> None:
    """Two ranks share the L2 of a tile only where every tile has one; threads of a rank share it."""
    made = place(JobShape(ranks=ranks, threads=threads), [tiles()])
    assert [str(rank.slot.cpus) for rank in made.ranks()] == expected


def test_cores_of_a_hybrid_processor_keep_their_order() -> None:
    """Where some cores share an L2 and others have their own, as on a desktop's P-cores, the first cores stay the first."""
    one = tiles()
    assert one.topology is not None
    hybrid = one.topology.model_copy(update={"shared_l2": one.topology.shared_l2[4:]})
    made = place(JobShape(ranks=8), [one.model_copy(update={"topology": hybrid})])
    assert [str(rank.slot.cpus) for rank in made.ranks()] == [str(cpu) for cpu in range(8)]


@pytest.mark.parametrize("strategy", ["gpu-near", "hca-near"])
def test_ranks_near_a_device_have_an_l3_group_each_while_one_of_its_node_is_free(strategy: Strategy) -> None:
    """The cores of a node are equally near to an adapter or a GPU: its ranks are spread over the node's L3 groups."""
    here = Locality(numa_nodes=(0,))
    one = machine(shape(1, 1, 4, 8)).model_copy(
        update={"gpus": (Gpu(address="0000:01:00.0", locality=here),), "hcas": (Hca(name="mlx5_0", locality=here),)}
    )
    made = place(JobShape(ranks=4, strategy=strategy), [one])
    assert [str(rank.slot.cpus) for rank in made.ranks()] == ["0", "2", "4", "6"]


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no published machines (set ADVISOR_CORPUS)")
def test_no_cache_of_sierra_has_two_ranks_while_another_is_free() -> None:
    """On a POWER9 node the ranks beside its GPUs have a pair of cores each, with its L2 and L3."""
    made = place(JobShape(ranks=8), [read_machine(str(CORPUS / "xml" / "fluxcore-sierra.xml"))])
    caches = [slot.l3 for slot in made.plans[0].slots]
    assert (made.strategy, len(set(caches))) == ("gpu-near", 8)
