"""Which adapters and GPUs a plan uses: one network, each rank's by its GPU, and nothing left out in silence."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadValue
from advisor.jobs.place import place
from advisor.jobs.placement import STRATEGIES, JobShape, Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import CoreKind, Cpu, Gpu, Hca, Locality, PciDevice, Port, fabric_of
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from tests.collect.xmls import cores, document, node
from tests.examples import examples
from tests.jobs.place.nodes import bridge, card, cluster, from_xml
from tests.model import shapes
from tests.test_corpus import CORPUS

LAYERS = ("infiniband", "ethernet", "omni-path", "slingshot")


def adapter(number: int, layer: str | None, node: int = 0, *, state: str | None = "active", slot: int | None = None) -> Hca:
    """Return an adapter with one port."""
    port = Port(number=1, state=state, link_layer=layer, rate=100_000_000_000)
    address = f"0000:{0x20 + number if slot is None else slot:02x}:00.{0 if slot is None else number % 8}"
    return Hca(name=f"a{number}", address=address, locality=Locality(numa_nodes=(node,)), ports=(port,))


def with_hcas(*hcas: Hca, **more: Any) -> Machine:
    """Return two sockets of two nodes with adapters."""
    return shapes.machine(shapes.shape(2, 2, 4, 8)).model_copy(update={"hcas": hcas, **more})


def used(made: Placement) -> set[str | None]:
    """Return the adapters that ranks have."""
    return {rank.slot.hca for rank in made.ranks()}


def planned(one: Machine, **job: Any) -> Placement:
    """Return a plan over two hosts."""
    return place(JobShape(**({"ranks_per_node": 8} | job), hosts=("x", "y")), [one])


@pytest.mark.parametrize("layer", ["infiniband", "omni-path", "slingshot"])
def test_a_port_of_ethernet_beside_a_fabric_goes_out_of_the_plan(layer: str) -> None:
    """Storage and services have the Ethernet: no rank is told to use it, and the plan says why."""
    made = planned(with_hcas(adapter(0, "ethernet", 3), adapter(1, layer, 0)))
    assert used(made) == {"a1"}
    names = {"infiniband": "InfiniBand", "omni-path": "Omni-Path", "slingshot": "Slingshot"}
    assert f"not used: a0 (Ethernet, but the plan uses only one network: {names[layer]})" in made.notes


def test_ethernet_alone_is_used() -> None:
    """A cluster of RoCE has no other network."""
    made = planned(with_hcas(adapter(0, "ethernet", 0), adapter(1, "ethernet", 2)), strategy="per-hca")
    assert used(made) == {"a0", "a1"}


def test_an_adapter_asked_for_is_used_whatever_its_network() -> None:
    """--near names the Ethernet adapter: all ranks have it, and it is not said to be unused."""
    made = planned(with_hcas(adapter(0, "ethernet", 3), adapter(1, "infiniband", 0)), near="a0")
    assert used(made) == {"a0"}
    assert not [note for note in made.notes if note.startswith("not used: a0")]


def test_the_kernels_own_files_tell_the_networks_apart() -> None:
    """As sysfs shows them, the Ethernet adapter of a node goes out, and RoCE on a node without InfiniBand is used."""
    made = planned(cluster("mixed"))
    assert used(made) == {"mlx5_1"}
    assert "not used: mlx5_0 (Ethernet, but the plan uses only one network: InfiniBand)" in made.notes
    assert used(planned(cluster("polaris"))) == {"mlx5_0", "mlx5_1"}


def test_a_fabric_that_is_down_is_not_replaced_by_ethernet() -> None:
    """A cable that is out for a day does not make a plan name the storage network for good."""
    made = planned(with_hcas(adapter(0, "ethernet"), adapter(1, "infiniband", state="down")))
    assert used(made) == {"a1"}
    assert "no port of a1 is active" in made.notes


def test_a_port_never_cabled_of_a_card_on_ethernet_is_no_fabric() -> None:
    """The second port of a card whose first is on Ethernet calls itself InfiniBand until it has a cable."""
    card_of_two = (adapter(0, "ethernet", slot=0x40), adapter(1, "infiniband", state="down", slot=0x40))
    assert fabric_of(card_of_two) == "ethernet"
    assert used(planned(with_hcas(*card_of_two))) == {"a0"}


def test_an_adapter_of_no_known_network_goes_out_beside_a_known_one() -> None:
    """What an adapter is on must be known before ranks use it beside others."""
    made = planned(with_hcas(adapter(0, None), adapter(1, "infiniband")))
    assert used(made) == {"a1"}
    assert "not used: a0 (its network type is unknown; the plan uses InfiniBand)" in made.notes


def test_adapters_of_which_nothing_is_known_are_used() -> None:
    """An old file that tells no link layer of any adapter leaves all of them."""
    assert used(planned(with_hcas(adapter(0, None, 0), adapter(1, None, 2)), strategy="per-hca")) == {"a0", "a1"}


def test_azures_accelerated_networking_goes_out() -> None:
    """On an Azure node mlx5_an0 is Ethernet beside the InfiniBand mlx5_ib0."""
    cards = (
        card("0101:00:00.0", "0207 [15b3:101c] [15b3:0019] 00", ("mlx5_ib0", "3")),
        card("0102:00:02.0", "0200 [15b3:1016] [15b3:0190] 80", ("mlx5_an0", "3")),
    )
    added = from_xml(small(bridge("0101:[00-00]", cards[0]), bridge("0102:[00-00]", cards[1])))
    assert used(planned(added)) == {"mlx5_ib0"}


def small(*inner: str) -> bytes:
    """Return a file of eight cores with devices."""
    return document(node(0, range(8)) + cores(range(8)) + "".join(inner), range(8))


@pytest.mark.parametrize("near", ["hsi0", "0000:c5:00.0"])
def test_near_a_slingshot_adapter(near: str) -> None:
    """--near takes a Slingshot adapter by its interface or address, and ranks fill its NUMA node first."""
    one = from_xml(small(bridge("0000:[c4-c6]", card("0000:c5:00.0", "0200 [17db:0501] [17db:0000] 02", ("hsi0", "2")))))
    made = place(JobShape(ranks=2, near=near), [one])
    assert [(rank.slot.hca, rank.slot.distance) for rank in made.ranks()] == [("hsi0", 10), ("hsi0", 10)]


def test_near_the_interface_of_an_adapter_with_another_name() -> None:
    """--near hsn2 finds the adapter that libfabric calls cxi2."""
    made = place(JobShape(ranks=1, near="hsn2"), [cluster("frontier")])
    assert [(rank.slot.hca, rank.slot.nodes) for rank in made.ranks()] == [("cxi2", (0,))]


def on(node: int, address: str, *above: str, kind: str = "hca") -> PciDevice:
    """Return a card below some bridges."""
    place = Locality(numa_nodes=(node,))
    return PciDevice(address=address, kind=kind, class_code=0x020700, vendor=0x15B3, device=1, locality=place, upstream=above)


def test_of_adapters_equally_near_the_one_under_the_gpus_switch_is_taken() -> None:
    """Both adapters are on the ranks' node; each rank has the one that shares a switch with its GPU."""
    here = Locality(numa_nodes=(0,))
    hcas = (adapter(0, "infiniband"), adapter(1, "infiniband"))
    gpus = tuple(Gpu(address=f"0000:3{i}:00.0", locality=here) for i in range(2))
    pci = (
        on(0, "0000:20:00.0", "pci0000:10", "0000:10:01.1"),
        on(0, "0000:21:00.0", "pci0000:10", "0000:10:03.1"),
        on(0, "0000:30:00.0", "pci0000:10", "0000:10:03.1", kind="gpu"),
        on(0, "0000:31:00.0", "pci0000:10", "0000:10:01.1", kind="gpu"),
    )
    made = place(JobShape(ranks=2, strategy="gpu-near"), [with_hcas(*hcas, gpus=gpus, pci=pci)])
    assert [(rank.slot.gpu, rank.slot.hca) for rank in made.ranks()] == [("0000:30:00.0", "a1"), ("0000:31:00.0", "a0")]


def test_equally_near_adapters_share_the_ranks_evenly() -> None:
    """Ranks that have one choice take it; the others take what is least used, not the next in a row."""
    hcas = (adapter(0, "infiniband", 0), adapter(1, "infiniband", 2))
    gpus = tuple(Gpu(address=f"0000:3{i}:00.0", locality=Locality(numa_nodes=(node,))) for i, node in enumerate((1, 0, 2, 3)))
    made = place(JobShape(ranks=4, threads=4, strategy="gpu-near"), [with_hcas(*hcas, gpus=gpus)])
    counts = [sum(1 for rank in made.ranks() if rank.slot.hca == name) for name in ("a0", "a1")]
    assert counts == [2, 2]


def test_ranks_of_gpus_whose_socket_nobody_tells_are_spread() -> None:
    """Old files hang every card on the machine itself: its ranks do not all sit on the first node for that."""
    everywhere = Locality(numa_nodes=(0, 1, 2, 3))
    gpus = tuple(Gpu(address=f"0000:3{i}:00.0", locality=everywhere) for i in range(4))
    made = place(JobShape(ranks=4, strategy="gpu-near"), [with_hcas(gpus=gpus)])
    assert [rank.slot.nodes for rank in made.ranks()] == [(0,), (1,), (2,), (3,)]


def test_ranks_are_given_mig_instances_and_never_the_gpu_that_is_cut_into_them() -> None:
    """Each instance is what CUDA gives one process; a GPU that is not cut is one device as before."""
    one = cluster("perlmutter")
    gpus = one.gpus or ()
    cut = one.model_copy(update={"gpus": (gpus[0].model_copy(update={"instances": 2}), *gpus[1:])})
    made = planned(cut, ranks_per_node=5, strategy="gpu-near")
    addresses = [gpu.address for gpu in gpus]
    expected = [f"{addresses[0]}-mig0", f"{addresses[0]}-mig1", *addresses[1:]]
    assert [slot.gpu for slot in made.plans[0].slots] == expected
    assert [slot.nodes for slot in made.plans[0].slots] == [(3,), (3,), (2,), (1,), (0,)]


def test_gpus_left_out_are_named() -> None:
    """A plan for cores says that the node has GPUs; one for fewer ranks than GPUs names the GPUs that stay idle."""
    gpus = tuple(Gpu(address=f"0000:3{i}:00.0", locality=Locality(numa_nodes=(i,))) for i in range(4))
    one = with_hcas(gpus=gpus)
    plain = place(JobShape(ranks=6), [one])
    assert "no rank gets a GPU: this node has 4; --ranks-per gpu assigns them" in plain.notes
    few = place(JobShape(ranks=3, strategy="gpu-near"), [one])
    assert "1 GPU of 4 assigned to no rank: 0000:33:00.0" in few.notes
    every = place(JobShape(ranks=4), [one])
    assert not [note for note in every.notes if "GPU" in note]


def test_accelerators_that_no_plan_deals_are_named() -> None:
    """A Gaudi is an accelerator, and what numbers it to programs is not known: the plan says that it leaves it out."""
    one = from_xml(small(bridge("0000:[c4-c6]", card("0000:c5:00.0", "1200 [1da3:1020] [1da3:1020] 01"))))
    made = place(JobShape(ranks=2), [one])
    assert "accelerators that plans never assign to ranks: 0000:c5:00.0" in made.notes


def hybrid(**job: Any) -> tuple[str, ...]:
    """Return the notes of a job on two P-cores and six E-cores."""
    topology = shapes.shape(1, 1, 1, 8)
    kinds = (CoreKind(name="P-core", cpus=CpuSet([0, 1])), CoreKind(name="E-core", cpus=CpuSet.parse("2-7")))
    return place(JobShape(**job), [shapes.machine(topology, Cpu(kinds=kinds))]).notes


def test_a_plan_says_which_kinds_of_cores_it_mixes() -> None:
    """Ranks that share out work evenly wait for those on slower cores."""
    expected = (
        "cores of several kinds: 2 ranks on P-cores, 2 ranks on E-cores; the slower ones make the others wait; "
        "this input does not say which are slower"
    )
    assert expected in hybrid(ranks=4, strategy="compact")
    assert "the threads of 1 rank run on cores of several kinds" in hybrid(ranks=1, threads=4)


@st.composite
def fabrics(draw: st.DrawFn) -> Machine:
    """Return a machine with adapters of any networks, and GPUs, anywhere."""
    nodes = st.integers(0, 3)
    layers = draw(
        st.lists(st.tuples(st.sampled_from([*LAYERS, None]), nodes, st.sampled_from(["active", "down", None])), max_size=6)
    )
    places = draw(st.lists(nodes, max_size=6))
    return with_hcas(
        *(adapter(i, layer, node, state=state) for i, (layer, node, state) in enumerate(layers)),
        gpus=tuple(Gpu(address=f"0000:{i:02x}:00.0", locality=Locality(numa_nodes=(node,))) for i, node in enumerate(places)),
    )


@examples(300)
@given(one=fabrics(), ranks=st.integers(1, 32), strategy=st.sampled_from([*STRATEGIES, "auto"]))
def test_every_ranks_adapter_is_of_one_network_and_gpus_are_dealt_evenly(one: Machine, ranks: int, strategy: Any) -> None:
    """Whatever is plugged in, a plan keeps to one link layer, that of the fabric, and no GPU has two ranks more than another."""
    try:
        made = place(JobShape(ranks=ranks, strategy=strategy), [one])
    except BadValue:
        return
    layers = {hca.name: hca.ports[0].link_layer for hca in one.hcas or () if hca.ports}
    found = {layers[rank.slot.hca] for rank in made.ranks() if rank.slot.hca}
    assert found <= {fabric_of(one.hcas or ())}
    counts = [sum(1 for rank in made.ranks() if rank.slot.gpu == gpu.address) for gpu in one.gpus or ()]
    assert not counts or max(counts) - min(counts) <= 1
    assert not one.gpus or any(counts) or any("no rank gets a GPU" in note for note in made.notes)


CORPUS_MIXED = ["mpibind-arm64-ulna-hwloc1", "psmgmt-mel3001"]


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no published machines (set ADVISOR_CORPUS)")
@pytest.mark.parametrize("name", CORPUS_MIXED)
def test_published_machines_with_both_keep_to_infiniband(name: str) -> None:
    """Ports with LID 0 on cards of class 0200 go out, and ranks on their node have InfiniBand."""
    one = read_machine(str(Path(CORPUS) / "xml" / f"{name}.xml"))
    layers = {hca.name: {port.link_layer for port in hca.ports or ()} for hca in one.hcas or ()}
    assert {layer for each in layers.values() for layer in each} == {"infiniband", "ethernet"}
    made = planned(one, strategy="per-hca", ranks_per_node=4)
    assert {layer for hca in used(made) for layer in layers[str(hca)]} == {"infiniband"}
    assert any("Ethernet, but the plan uses only one network: InfiniBand" in note for note in made.notes)
