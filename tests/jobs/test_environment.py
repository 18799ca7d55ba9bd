from typing import Any

import pytest

from advisor.errors import BadValue
from advisor.jobs.bind import article, device, openmp, settings, unusable
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape
from advisor.machine.hardware import Gpu, Hca, Locality, PciDevice, Port
from advisor.machine.machine import Machine, Tool
from tests.jobs.place.samples import machine, placed

NAPLES, TWO, SMT = "a-r7425-2x7601-dell", "two-hcas", "b-c6525-2x7702-nps4-smt"


def variables(name: str, **job: Any) -> dict[str, str]:
    """Return the variables of a job on a machine."""
    return dict(settings(placed(name, **job), [machine(name)]).variables)


def with_tools(name: str, *tools: str) -> Machine:
    """Return a machine with programs on it."""
    return machine(name).model_copy(update={"tools": tuple(Tool(name=tool) for tool in tools)})


def test_threads_sit_side_by_side() -> None:
    """Ranks with threads get their number, cores as places and close; with hardware threads counted, these are the places."""
    assert openmp(placed(NAPLES, ranks=8, threads=4)) == {
        "OMP_NUM_THREADS": "4",
        "OMP_PLACES": "cores",
        "OMP_PROC_BIND": "close",
    }
    assert openmp(placed(SMT, ranks=8, threads=8, smt="use"))["OMP_PLACES"] == "threads"


def test_one_thread_needs_nothing() -> None:
    """A rank with one CPU needs no variable; one with a whole core of two threads is told to start one."""
    assert openmp(placed(NAPLES, ranks=8)) == {}
    assert openmp(placed(SMT, ranks=8)) == {"OMP_NUM_THREADS": "1"}


def test_one_host_needs_no_adapter() -> None:
    """On one host no adapter is set, but where somebody asked to be near one."""
    assert variables(NAPLES, ranks=8) == {}
    assert variables(NAPLES, ranks=8, near="mlx5_0") == {"UCX_NET_DEVICES": "mlx5_0:1"}


def test_several_hosts_use_the_adapter() -> None:
    """Over several hosts ranks with one adapter are told its active port."""
    assert variables(NAPLES, ranks=8, hosts=("a", "b")) == {"UCX_NET_DEVICES": "mlx5_0:1"}


def test_two_adapters_are_left_to_each_rank() -> None:
    """With an adapter for each socket no variable is right for all: the plan has them with their ports for the wrapper."""
    made = settings(placed(TWO, ranks=8, hosts=("a", "b"), strategy="per-hca"), [machine(TWO)])
    assert "UCX_NET_DEVICES" not in made.variables
    assert {slot.hca for slot in made.placement.plans[0].slots} == {"mlx5_0:1", "mlx5_1:1"}


def on_port(name: str, number: int) -> Machine:
    """Return a machine with the cable in another port of each adapter."""
    here = machine(name)
    ports = tuple(Port(number=each, state="active" if each == number else "down") for each in (1, 2))
    return here.model_copy(update={"hcas": tuple(hca.model_copy(update={"ports": ports}) for hca in here.hcas or ())})


def test_ranks_with_their_own_adapters_use_the_active_port() -> None:
    """The port is that of the machine, not always the first."""
    made = settings(placed(TWO, ranks=8, hosts=("a", "b"), strategy="per-hca"), [on_port(TWO, 2)])
    assert {slot.hca for slot in made.placement.plans[0].slots} == {"mlx5_0:2", "mlx5_1:2"}


def test_hosts_with_unlike_ports_are_left_alone() -> None:
    """One variable for all ranks cannot name two ports: none is set, and it is said why."""
    made = settings(placed(NAPLES, ranks=8, hosts=("a", "b")), [on_port(NAPLES, 1), on_port(NAPLES, 2)])
    assert made.notes == ("UCX_NET_DEVICES is not set: mlx5_0 uses a different port on some hosts",)
    assert {slot.hca for slot in made.placement.plans[0].slots} == {None}


def test_without_ucx_nothing_is_set() -> None:
    """A machine whose programs are known and hold no UCX gets no variable of UCX, no wrapper for it, and a note."""
    made = settings(placed(TWO, ranks=64, hosts=("a", "b"), strategy="compact"), [with_tools(TWO, "openmpi")])
    assert (dict(made.variables), made.notes) == ({}, ("UCX_NET_DEVICES is not set: UCX is not installed on this machine",))
    assert {slot.hca for slot in made.placement.plans[0].slots} == {None}
    with_ucx = settings(placed(NAPLES, ranks=8, hosts=("a", "b")), [with_tools(NAPLES, "ucx")])
    assert (dict(with_ucx.variables), with_ucx.notes) == ({"UCX_NET_DEVICES": "mlx5_0:1"}, ())


def test_a_port_that_is_down_is_not_used() -> None:
    """An adapter without an active port is not set, and it is said why."""
    down = "a-r7425-2x7601-dell-portdown"
    made = settings(placed(down, ranks=8, hosts=("a", "b")), [machine(down)])
    assert (dict(made.variables), made.notes) == ({}, ("UCX_NET_DEVICES is not set: no port of mlx5_0 is active",))


def test_the_active_port() -> None:
    """UCX is given the port that is active, the first where nothing is known."""
    ports = (Port(number=1, state="down"), Port(number=2, state="active"))
    assert device("mlx5_0", [Machine(hcas=(Hca(name="mlx5_0", ports=ports),))]) == "mlx5_0:2"
    assert device("mlx5_0", []) == "mlx5_0:1"


def test_a_hostile_adapter_is_refused() -> None:
    """An adapter whose name a shell or UCX would read is refused, not set."""
    with pytest.raises(BadValue, match="is not an adapter name"):
        device("mlx5_0;reboot", [])


def test_the_article() -> None:
    """Benchmarks between hosts run as in the article: HCOLL off, and the accelerated transport of a Mellanox adapter."""
    assert article("mlx5_0", [machine(NAPLES)]) == {
        "UCX_NET_DEVICES": "mlx5_0:1",
        "UCX_TLS": "rc_x",
        "OMPI_MCA_coll_hcoll_enable": "0",
    }
    assert article("hfi1_0", []) == {"UCX_NET_DEVICES": "hfi1_0:1", "OMPI_MCA_coll_hcoll_enable": "0"}
    assert article(None, []) == {"OMPI_MCA_coll_hcoll_enable": "0"}


def fabric(*names: str, layer: str, nodes: tuple[int, ...] = (0, 4)) -> Machine:
    """Return the Rome of two adapters with those of another network in their place."""
    hcas = tuple(
        Hca(name=name, locality=Locality(numa_nodes=(node,)), ports=(Port(number=1, state="active", link_layer=layer),))
        for name, node in zip(names, nodes, strict=False)
    )
    return machine(TWO).model_copy(update={"hcas": hcas, "gpus": ()})


def told(one: Machine, **job: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables and notes of a job on two such hosts."""
    made = settings(place(JobShape(**({"hosts": ("a", "b")} | job)), [one]), [one])
    assert {slot.hca for plan in made.placement.plans for slot in plan.slots} == {None}, "no launcher needs to tell ranks apart"
    return dict(made.variables), made.notes


def with_gpus(one: Machine) -> Machine:
    """Return a machine with a GPU of NVIDIA's on each of its first two NUMA nodes."""
    gpus = tuple(Gpu(address=f"0000:{i + 1}1:00.0", vendor="nvidia", locality=Locality(numa_nodes=(i,))) for i in range(2))
    return one.model_copy(update={"gpus": gpus})


def nccl(one: Machine, **job: Any) -> dict[str, str]:
    """Return what a job with a GPU for each rank says to NCCL."""
    shape = JobShape(**({"hosts": ("a", "b"), "ranks_per_node": 2, "strategy": "gpu-near"} | job))
    variables = settings(place(shape, [one]), [one]).variables
    return {name: value for name, value in variables.items() if name.startswith("NCCL_")}


def two_networks() -> Machine:
    """Return a machine with two InfiniBand adapters and an Ethernet one for its storage."""
    layers = ("infiniband", "infiniband", "ethernet")
    hcas = tuple(
        Hca(name=f"mlx5_{i}", locality=Locality(numa_nodes=(i % 2,)), ports=(Port(number=1, state="active", link_layer=layer),))
        for i, layer in enumerate(layers)
    )
    return with_gpus(machine(TWO).model_copy(update={"hcas": hcas}))


def test_nccl_is_kept_to_the_network_of_the_plan() -> None:
    """By exact names with ports, where another network is there that it would take along."""
    assert nccl(two_networks()) == {"NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1"}


def test_nccl_is_left_alone_where_it_can_choose_nothing_wrong() -> None:
    """One host, ranks without GPUs, or one network."""
    one = two_networks()
    assert nccl(one, hosts=()) == {}
    assert nccl(one, strategy="spread-numa") == {}
    assert nccl(one.model_copy(update={"hcas": (one.hcas or ())[:2]})) == {}


def test_nccl_is_told_the_interfaces_of_slingshot() -> None:
    """Libfabric finds the adapters; of its sockets NCCL takes those interfaces and no others."""
    ports = [Port(number=1, state="active", link_layer="slingshot", netdev=f"hsn{i}") for i in range(2)]
    hcas = tuple(Hca(name=f"cxi{i}", locality=Locality(numa_nodes=(i,)), ports=(port,)) for i, port in enumerate(ports))
    assert nccl(with_gpus(machine(TWO).model_copy(update={"hcas": hcas}))) == {"NCCL_SOCKET_IFNAME": "=hsn0,hsn1"}


def test_one_slingshot_adapter_is_named_to_libfabric() -> None:
    """UCX does not know Slingshot: libfabric's provider is told the device."""
    assert told(fabric("cxi0", layer="slingshot"), ranks=8) == ({"FI_CXI_DEVICE_NAME": "cxi0"}, ())


def test_several_slingshot_adapters_are_mapped_for_cray_mpich() -> None:
    """One variable for all ranks numbers each adapter's local ranks; other MPIs are named in a note."""
    variables, notes = told(fabric("cxi0", "cxi1", layer="slingshot"), ranks_per_node=4, strategy="spread-numa")
    assert variables == {"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": "0:0,1;1:2,3"}
    assert any("FI_CXI_DEVICE_NAME" in note for note in notes)


def test_slingshot_adapters_of_unknown_numbers_are_left_to_the_policy() -> None:
    """The name of an interface does not tell libfabric's number: Cray MPICH finds the adapter by NUMA node itself."""
    variables, _ = told(fabric("hsi0", "hsi1", layer="slingshot"), ranks_per_node=4, strategy="spread-numa")
    assert variables == {"MPICH_OFI_NIC_POLICY": "NUMA"}
    variables, notes = told(fabric("hsi0", layer="slingshot"), ranks=8)
    assert (variables, len(notes)) == ({}, 1)


def test_the_policy_numa_is_not_given_to_ranks_on_several_nodes() -> None:
    """Cray MPICH ends where a rank with the policy NUMA is not confined to one NUMA node."""
    variables, notes = told(fabric("hsi0", "hsi1", layer="slingshot"), ranks_per_node=2, threads=16)
    assert variables["OMP_NUM_THREADS"] == "16"
    assert "MPICH_OFI_NIC_POLICY" not in variables
    assert notes == ("MPICH_OFI_NIC_POLICY is not set: the NUMA policy does not allow a rank to span several NUMA nodes",)


def test_omni_path_is_told_its_unit() -> None:
    """PSM2 takes the number of /dev/hfi1_1; where ranks would differ it is left alone."""
    variables, _ = told(fabric("hfi1_1", layer="omni-path"), ranks=8)
    assert variables == {"HFI_UNIT": "1"}
    variables, notes = told(fabric("hfi1_0", "hfi1_1", layer="omni-path"), ranks_per_node=4, strategy="spread-numa")
    assert (variables, len(notes)) == ({}, 1)


def test_ucx_is_not_said_to_use_another_network() -> None:
    """What measures messages by UCX is told why it cannot be told the adapter."""
    assert unusable(["cxi0"], [fabric("cxi0", layer="slingshot")]) == "UCX does not use Slingshot"
    assert article("cxi0", [fabric("cxi0", layer="slingshot")]) == {"OMPI_MCA_coll_hcoll_enable": "0"}


def test_amazons_adapter_is_not_named_to_ucx() -> None:
    """An EFA is an Ethernet adapter that MPI uses by libfabric."""
    card = PciDevice(address="0000:c5:00.0", kind="hca", class_code=0x020000, vendor=0x1D0F, device=0xEFA0)
    efa = Hca(
        name="rdmap197s0", address=card.address, locality=Locality(numa_nodes=(0,)), ports=(Port(number=1, state="active"),)
    )
    one = machine(TWO).model_copy(update={"hcas": (efa,), "pci": (card,), "gpus": ()})
    assert told(one, ranks=8) == ({}, ("UCX_NET_DEVICES is not set: the adapter is an EFA, which MPI uses through libfabric",))


def test_the_port_of_the_plans_network_is_named() -> None:
    """Of a card with an Ethernet and an InfiniBand port UCX is told the InfiniBand one."""
    ports = (Port(number=1, state="active", link_layer="ethernet"), Port(number=2, state="active", link_layer="infiniband"))
    assert device("mlx4_0", [Machine(hcas=(Hca(name="mlx4_0", ports=ports),))]) == "mlx4_0:2"
