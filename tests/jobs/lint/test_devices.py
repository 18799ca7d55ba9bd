"""What lint says of variables that choose GPUs and adapters: each warning where it is sure, and silence beside it."""

from advisor.jobs.lint import lint
from advisor.jobs.predict import MEANINGS
from advisor.machine.hardware import Hca, Nic, Port
from advisor.machine.machine import Machine
from tests.jobs.place.samples import machine

ROME = "b-c6525-2x7702-nps4"
OURS = {
    "gpus-hidden-twice",
    "one-mig-instance",
    "tiles-of-flat",
    "no-port",
    "no-such-adapter",
    "nccl-prefix",
    "nic-policy",
    "nic-mapping",
    "misspelt-variable",
}


def told(line: str, one: Machine | None = None) -> list[tuple[str, str]]:
    """Return the warnings about devices, each its name and what will happen."""
    found = lint([line], one or machine(ROME)).warnings
    return [(each.id, each.what) for each in found if each.id in OURS]


def with_adapters(*names: str) -> Machine:
    """Return a machine with these adapters, each with an interface: mlx5_1 has ib1."""
    hcas = tuple(Hca(name=name, ports=(Port(number=1, state="active", netdev=f"ib{name.rpartition('_')[2]}"),)) for name in names)
    return machine(ROME).model_copy(update={"hcas": hcas, "nics": tuple(Nic(name=f"eth{i}") for i in range(11))})


def test_gpus_that_hip_cannot_have_are_named() -> None:
    """ROCm hides first and HIP counts what is left: number 4 of two is none, number 1 is the second."""
    line = "mpirun -np 1 -x ROCR_VISIBLE_DEVICES=4,5 -x HIP_VISIBLE_DEVICES={} ./a"
    what = "HIP_VISIBLE_DEVICES asks for GPU 4, but ROCR_VISIBLE_DEVICES leaves 2, numbered from 0"
    assert told(line.format("4,5")) == [("gpus-hidden-twice", what)]
    assert told(line.format("0,1")) == []


def test_a_process_has_one_mig_instance() -> None:
    """A list of several is used up to the first; one is as it should be."""
    assert told("mpirun -np 1 -x CUDA_VISIBLE_DEVICES=MIG-a,MIG-b ./a") == [
        ("one-mig-instance", "every rank uses only the first MIG instance")
    ]
    assert told("mpirun -np 1 -x CUDA_VISIBLE_DEVICES=MIG-a ./a") == []


def test_tiles_are_named_by_their_cards_with_composite_alone() -> None:
    """With FLAT a tile is a device."""
    line = "ZE_FLAT_DEVICE_HIERARCHY={} ZE_AFFINITY_MASK=0.1 mpiexec -n 1 ./a"
    assert told(line.format("FLAT")) == [("tiles-of-flat", "ZE_AFFINITY_MASK=0.1 names no tile")]
    assert told(line.format("COMPOSITE")) == []


def test_ucx_wants_the_port_of_an_adapter() -> None:
    """A name alone is none of its devices; an interface has no port."""
    one = with_adapters("mlx5_0", "mlx5_1")
    assert told("mpirun -np 2 -x UCX_NET_DEVICES=mlx5_0 ./a", one) == [("no-port", "UCX finds no device mlx5_0")]
    assert told("mpirun -np 2 -x UCX_NET_DEVICES=mlx5_0:1,ib1,eth3 ./a", one) == []


def test_an_adapter_that_is_not_there_is_named() -> None:
    """Where the machine's adapters are known; where it has none nothing is said."""
    line = "mpirun -np 2 -x UCX_NET_DEVICES=mlx5_7:1 ./a"
    assert told(line, with_adapters("mlx5_0")) == [("no-such-adapter", "UCX finds no device mlx5_7:1")]
    assert told(line, machine(ROME).model_copy(update={"hcas": ()})) == []


def test_names_of_nccl_are_beginnings_of_names() -> None:
    """mlx5_1 takes mlx5_10 along, eth1 eth10; a sign of equality keeps to the name, a prefix that is no name is meant."""
    one = with_adapters("mlx5_0", "mlx5_1", "mlx5_10")
    assert told("mpirun -np 2 -x NCCL_IB_HCA=mlx5_1:1 ./a", one) == [("nccl-prefix", "NCCL_IB_HCA means mlx5_10 too")]
    assert told("mpirun -np 2 -x NCCL_SOCKET_IFNAME=^eth1 ./a", one) == [("nccl-prefix", "NCCL_SOCKET_IFNAME means eth10 too")]
    assert told("mpirun -np 2 -x NCCL_IB_HCA==mlx5_1 -x NCCL_SOCKET_IFNAME=eth ./a", one) == []


def test_the_better_name_of_nccl_is_exact() -> None:
    """It can be pasted: the first sign of equality is the shell's."""
    found = lint(["mpirun -np 2 -x NCCL_IB_HCA=^mlx5_1 ./a"], with_adapters("mlx5_1", "mlx5_10")).warnings
    assert [each.better for each in found if each.id == "nccl-prefix"] == ["NCCL_IB_HCA=^=mlx5_1"]


def test_cray_mpich_ends_where_a_rank_of_the_policy_numa_is_on_two_nodes() -> None:
    """As Frontier's guide prints of rank 0; ranks inside of nodes start."""
    line = "MPICH_OFI_NIC_POLICY=NUMA srun -n 2 --cpu-bind=map_ldom:0,1 ./a"
    assert told(line) == []
    wide = "MPICH_OFI_NIC_POLICY=NUMA srun -n 1 --cpu-bind=mask_cpu:0x1ffff ./a"
    assert told(wide) == [("nic-policy", "Cray MPICH aborts: rank 0 is not inside one NUMA node")]


def test_a_map_of_adapters_counts_with_the_policy_user_alone() -> None:
    """Without it nothing says so; with it every local rank is in the map."""
    line = "{} MPICH_OFI_NIC_MAPPING='0:0,1;1:2' srun -n 4 --cpu-bind=map_cpu:0,1,2,3 ./a"
    assert told(line.format("MPICH_OFI_NIC_POLICY=GPU")) == [("nic-mapping", "MPICH_OFI_NIC_MAPPING has no effect")]
    user = "MPICH_OFI_NIC_POLICY=USER"
    assert told(line.format(user)) == [("nic-mapping", "local rank 3 has no adapter in MPICH_OFI_NIC_MAPPING")]
    assert told(line.format(user).replace("1:2'", "1:2,3'")) == []


def test_a_misspelt_variable_of_libfabric_is_named() -> None:
    """OVFLOW was seen in print (argonne-lcf, tensorflow.md); what is in fi_cxi(7), or like none of it, is let alone."""
    found = lint(["FI_CXI_OVFLOW_BUF_SIZE=8388608 srun -n 1 ./a"], machine(ROME)).warnings
    assert [(each.what, each.better) for each in found if each.id == "misspelt-variable"] == [
        ("FI_CXI_OVFLOW_BUF_SIZE has no effect", "FI_CXI_OFLOW_BUF_SIZE")
    ]
    assert told("FI_CXI_RX_MATCH_MODE=hybrid FI_CXI_BRAND_NEW=1 srun -n 1 ./a") == []


def test_variables_of_devices_are_explained() -> None:
    """Each in one clause that has its value."""
    found = lint(["ROCR_VISIBLE_DEVICES=2 FI_CXI_DEVICE_NAME=cxi0 mpirun -np 1 ./a"], machine(ROME)).options
    assert [each.says for each in found[:2]] == [
        "makes only the GPUs 2 visible to ROCm, renumbered 0, 1, ...",
        "lets libfabric use the Slingshot adapters cxi0",
    ]
    assert all("{0}" in clause for clause in MEANINGS.values())
