import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Gpu, Locality
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.machine import Gap
from advisor.machine.sources.gpu import PATHS, ToolReport, bus_id, collect, nvidia_gpus, rocm_gpus
from advisor.machine.value import MIB
from tests.collect.device_host import CONNECTX, Server, uncovered
from tests.collect.os_host import printed

H200 = {"class": "0x030200", "vendor": "0x10de", "device": "0x2335"}
MI300 = {"class": "0x120000", "vendor": "0x1002", "device": "0x74a1"}
NVIDIA = "0, 00000000:3B:00.0, NVIDIA H200, 143771, 570.86.15\n"
HELP = "install the driver with its tool (nvidia-smi, rocm-smi) and audit again"


def test_nvidia() -> None:
    """The bus says where a GPU is, the maker's tool what it is."""
    server = Server("0-7", "8-15")
    server.plug("pci0000:3a/0000:3a:01.0/0000:3b:00.0", H200, numa_node=1)
    server.runs["nvidia-smi"] = printed(NVIDIA)
    gpu = Gpu(
        address="0000:3b:00.0",
        vendor="nvidia",
        model="NVIDIA H200",
        locality=Locality(numa_nodes=(1,)),
        memory=143771 * MIB,
        driver_version="570.86.15",
        index=0,
    )
    machine = collect(server.host)
    assert (machine.gpus, machine.gaps) == ((gpu,), ())


def test_amd() -> None:
    """What rocm-smi leaves out sysfs adds."""
    server = Server("0-7")
    server.plug("pci0000:0c/0000:0c:00.0", MI300, {"mem_info_vram_total": "206141652992"}, numa_node=0)
    server.files["/sys/module/amdgpu/version"] = "6.10.5\n"
    server.runs["rocm-smi"] = printed('{"card0": {"Card Series": "AMD Instinct MI300X", "PCI Bus": "0000:0C:00.0"}}')
    gpu = Gpu(
        address="0000:0c:00.0",
        vendor="amd",
        model="AMD Instinct MI300X",
        locality=Locality(numa_nodes=(0,)),
        memory=206141652992,
        driver_version="6.10.5",
        index=0,
    )
    assert collect(server.host).gpus == (gpu,)


@pytest.mark.parametrize(
    ("ran", "why"),
    [
        (Ran(why=Why.ABSENT), "nvidia-smi: not present"),
        (Ran(why=Why.TIMEOUT), "nvidia-smi: took too long"),
        (printed("NVIDIA-SMI has failed", status=9), "nvidia-smi: ended with status 9"),
        (printed("No devices were found"), "nvidia-smi printed 'No devices were found'"),
        (printed(""), "the nvidia tool does not list 0000:3b:00.0"),
    ],
)
def test_tool_fails(ran: Ran, why: str) -> None:
    """A tool that is absent or in trouble leaves the GPU without a name, and the gap tells its trouble."""
    server = Server("0-7")
    server.plug("pci0000:3a/0000:3b:00.0", H200, numa_node=0)
    server.runs["nvidia-smi"] = ran
    machine = collect(server.host)
    assert machine.gpus == (Gpu(address="0000:3b:00.0", vendor="nvidia", locality=Locality(numa_nodes=(0,))),)
    assert machine.gaps == (Gap(fact="gpus.model", why=why, help=HELP),)


def test_no_gpu() -> None:
    """A machine with a PCI bus and no GPU has none, and misses no tool."""
    server = Server("0-7")
    server.plug("pci0000:60/0000:61:00.0", CONNECTX)
    machine = collect(server.host)
    assert (machine.gpus, machine.gaps) == ((), ())


def test_no_bus() -> None:
    """Where neither a bus nor a tool can be seen the GPUs are not known."""
    machine = collect(Server(kind="hwloc xml").host)
    gap = Gap(fact="gpus", why="not in this input", help="take a capture on the machine itself: advisor capture")
    assert (machine.gpus, machine.gaps) == (None, (gap,))


def test_tool_without_bus() -> None:
    """A GPU that the tool sees and the bus does not is there, at an unknown place."""
    server = Server("0-7")
    server.runs["nvidia-smi"] = printed(NVIDIA)
    assert [(gpu.address, gpu.locality) for gpu in collect(server.host).gpus or ()] == [("0000:3b:00.0", None)]


def test_nvidia_says_little() -> None:
    """The tool's words for nothing are not taken for values, and a comma may be part of a name."""
    told = nvidia_gpus("1, 00000001:00:00.0, Card, a new one, [N/A], [Not Supported]")
    assert told == ToolReport({"0001:00:00.0": Gpu(address="0001:00:00.0", vendor="nvidia", model="Card, a new one", index=1)})


def test_nvidia_half_strange() -> None:
    """A line that cannot be read spoils no other, and is told."""
    told = nvidia_gpus(NVIDIA + "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n")
    assert (list(told.gpus), told.problem) == (
        ["0000:3b:00.0"],
        "nvidia-smi printed 'WARNING: infoROM is corrupted at gpu 0000:3B:00.0'",
    )


def test_rocm_with_warnings() -> None:
    """Warnings before the JSON, other keys and the memory in use are passed over."""
    cards = {
        "card1": {
            "Card series": "N/A",
            "Card model": "0x740c",
            "PCI Bus": "0000:C1:00.0",
            "VRAM Total Memory (B)": "68702699520",
        },
        "card2": {"Card series": "no bus"},
        "system": {"Driver version": "6.7"},
        "card3": "text",
    }
    told = rocm_gpus("WARNING: AMD GPU device(s) is/are in a low-power state\n" + json.dumps(cards) + "\n")
    gpu = Gpu(address="0000:c1:00.0", vendor="amd", model="0x740c", memory=68702699520, index=1)
    assert told == ToolReport({"0000:c1:00.0": gpu})


@pytest.mark.parametrize("text", ["", "no JSON", "{", '{"card0": ', "[" * 9, "{" * 100_000])
def test_rocm_broken(text: str) -> None:
    """What is no JSON is a problem, not a failure."""
    assert rocm_gpus(text) == ToolReport({}, "rocm-smi printed no JSON")


@given(st.text())
def test_hostile_outputs(text: str) -> None:
    """No output of a tool makes its reader fail."""
    assert nvidia_gpus(text).gpus == {}
    assert rocm_gpus(text).gpus == {}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:C1:00.0", "0000:c1:00.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("3B:00.0", None),
        ("", None),
    ],
)
def test_bus_id(text: str, address: str | None) -> None:
    """The tools' addresses become the kernel's."""
    assert bus_id(text) == address


def test_paths() -> None:
    """A capture keeps every file that the source reads."""
    server = Server("0-7", "8-15")
    server.plug("pci0000:3a/0000:3b:00.0", H200)
    server.plug("pci0000:0c/0000:0c:00.0", MI300)
    host = server.host
    collect(host)
    assert uncovered(host, PATHS) == []


def test_the_device_file_is_what_the_driver_says() -> None:
    """NVIDIA's number of it is another than nvidia-smi's, AMD's is that of its node for rendering; else it is not known."""
    server = Server("0-7")
    for bus in ("3b", "5e"):
        server.plug(f"pci0000:3a/0000:3a:01.0/0000:{bus}:00.0", H200, numa_node=0)
    server.files["/proc/driver/nvidia/gpus/0000:3b:00.0/information"] = (
        "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-aaaaaaaa\nDevice Minor: \t 3\nGPU Excluded:\t No\n"
    )
    server.plug("pci0000:0c/0000:0c:00.0", MI300, numa_node=0)
    server.files["/sys/class/kfd/kfd/topology/nodes/1/properties"] = (
        f"simd_count 304\nlocation_id {0x0C << 8}\ndomain 0\ndrm_render_minor 128\n"
    )
    found = {gpu.address: gpu.file for gpu in collect(server.host).gpus or ()}
    assert found == {"0000:0c:00.0": "/dev/dri/renderD128", "0000:3b:00.0": "/dev/nvidia3", "0000:5e:00.0": None}


def kfd(server: Server, *gpus: tuple[int, int]) -> None:
    """Show a CPU and GPUs, each a PCI domain and a location, as AMD's compute driver does."""
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    server.files[f"{nodes}/0/properties"] = "cpu_cores_count 24\nsimd_count 0\nlocation_id 0\ndomain 0\n"
    for number, (domain, location) in enumerate(gpus, 1):
        text = f"cpu_cores_count 0\nsimd_count 304\nlocation_id {location}\ndomain {domain}\n"
        server.files[f"{nodes}/{number}/properties"] = text


@pytest.mark.parametrize("shift", [28, 0])
def test_partitions_are_counted_as_the_driver_shows_them(shift: int) -> None:
    """Three partitions of a card on one bus are three GPUs, all where the card is; old kernels count them in the function."""
    server = Server("0-7", "8-15")
    server.plug("pci0001:00/0001:00:01.1/0001:02:00.0", MI300, numa_node=1)
    kfd(server, *((1, 0x0200 | part << shift) for part in range(3)))
    host = server.host
    found = [(gpu.address, gpu.card, gpu.index, gpu.locality) for gpu in collect(host).gpus or ()]
    here = Locality(numa_nodes=(1,))
    assert found == [(f"0001:02:00.{part}", "0001:02:00.0", part, here) for part in range(3)]
    assert uncovered(host, PATHS) == []


def test_a_card_in_one_partition_is_itself() -> None:
    """In SPX the driver shows the card, with its number."""
    server = Server("0-7")
    server.plug("pci0001:00/0001:00:01.1/0001:02:00.0", MI300, numa_node=0)
    kfd(server, (1, 0x0200))
    assert [(gpu.address, gpu.card, gpu.index) for gpu in collect(server.host).gpus or ()] == [("0001:02:00.0", None, 0)]


def test_partitions_as_rocm_smi_prints_them_are_where_their_card_is() -> None:
    """rocm-smi gives partitions addresses that no bus shows: the function is the partition."""
    server = Server("0-7", "8-15")
    server.plug("pci0000:00/0000:00:01.1/0000:01:00.0", MI300, numa_node=1)
    cards = {f"card{i}": {"Card Series": "MI300A", "PCI Bus": f"0000:01:00.{i}"} for i in range(3)}
    server.runs["rocm-smi"] = printed(json.dumps(cards))
    found = [(gpu.address, gpu.card, gpu.locality) for gpu in collect(server.host).gpus or ()]
    here = Locality(numa_nodes=(1,))
    assert found[0][0] == "0000:01:00.0"
    assert found[1:] == [(f"0000:01:00.{part}", "0000:01:00.0", here) for part in (1, 2)]


@given(st.lists(st.tuples(st.integers(0, 1 << 34), st.integers(0, 1 << 34)), max_size=5))
def test_whatever_the_driver_prints_is_survived(nodes: list[tuple[int, int]]) -> None:
    """A location that is on no bus of the machine is no GPU of it."""
    server = Server("0-7")
    server.plug("pci0001:00/0001:00:01.1/0001:02:00.0", MI300, numa_node=0)
    kfd(server, *nodes)
    assert {gpu.card or gpu.address for gpu in collect(server.host).gpus or ()} == {"0001:02:00.0"}
