"""Anonymising: what names a machine or a person goes, what describes it stays."""

import pytest

from advisor.machine import anonymise as kept
from advisor.machine.anonymise import AnonymousHost, PublicLines
from advisor.machine.fact import identities
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.hosts.capture import Entry, Link, MemoryStore, TreeHost, record
from advisor.machine.hosts.source import unpack
from advisor.machine.machine import Machine, Tool
from advisor.machine.pseudonyms import Mask, Scrubber, stems
from tests.host.test_capture import opened

MAC, GUID, UUID = "24:8a:07:a1:b2:c4", "248a:0703:00a1:b2c4", "4c4c4544-0044-3510-8058-b7c04f503633"

KEPT = [
    "0-3,8,16-31:2/4",
    "00000000,0000ffff",
    "ffffffff,ffffffff,ffffffff,ffffffff",
    "0xf...f,0x00000001,0x000000ff",
    "0000:61:00.0",
    "10000:e1:00.0 -> 0000:60:01.1",
    "0x00000000e0000000 0x00000000e1ffffff 0x0000000000040200",
    "10 16 16 16 32 32 28 32",
    "4.18.0-553.el8_10.x86_64",
    "MLNX_OFED_LINUX-5.8-2.0.3.0",
    "firmware-version: 214.0.253.1",
    '<info name="FirmwareVersion" value="214.0.253.1"/>',
    "Driver Version: 1.2.3.4",
    "12:34:56 up 3 days",
    "00:00:00:00:00:00",
    "ff:ff:ff:ff:ff:ff",
    "fe80:0000:0000:0000:0000:0000:0000:0000",
    "127.0.0.1 ::1",
    "AMD EPYC 7702 64-Core Processor",
    "BOOT_IMAGE=(hd0,gpt2)/vmlinuz ro iommu=pt isolcpus=1-3 nps=4",
    "Base lid: 0x12",
    "LnkSta: Speed 16GT/s, Width x16",
]


@pytest.mark.parametrize("text", KEPT)
def test_descriptions_stay(text: str) -> None:
    """CPU lists, masks, PCI addresses, versions, times and options are not touched."""
    assert text == Scrubber(("cn017.cluster", "7")).text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{MAC}\n", "02:00:00:00:00:01\n"),
        ("24-8A-07-A1-B2-C4", "02-00-00-00-00-01"),
        ("80:00:02:08:fe:80:00:00:00:00:00:00:24:8a:07:03:00:a1:b2:c4", "02" + ":00" * 18 + ":01"),
        (GUID, "0200:0000:0000:0001"),
        (f"fe80:0000:0000:0000:{GUID}", "fe80:0000:0000:0000:0200:0000:0000:0001"),
        ("Node GUID: 0x248a070300a1b2c4", "Node GUID: 0x0200000000000001"),
        (f"root=UUID={UUID} ro", "root=UUID=00000000-0000-4000-8000-000000000001 ro"),
        (f"GPU-{UUID}", "GPU-00000000-0000-4000-8000-000000000001"),
        ("ip=10.1.2.3::10.1.2.1:255.255.255.0:cn017:eth0", "ip=198.18.0.1::198.18.0.2:255.255.255.0:node:eth0"),
        (
            "nfsroot=10.1.2.3:/x rd.driver.blacklist=nouveau ip=10.1.2.3",
            "nfsroot=198.18.0.1:/x rd.driver.blacklist=nouveau ip=198.18.0.1",
        ),
        ("2001:db8:5::17/64 fe80::1234:5", "2001:db8::1/64 2001:db8::2"),
        ("cn017.example.org cn017 xcn017 cn0170", "node node xcn017 cn0170"),
        ("Serial Number: CZ2034\nPart: 5\n", "Serial Number: removed\nPart: 5\n"),
        ("        Serial Number             : 13202200\n", "        Serial Number             : removed\n"),
        ("\t\t\t[SN] Serial number: MT2019X\n", "\t\t\t[SN] Serial number: removed\n"),
        ("Device Serial Number 24-8a-07-03-00-a1-b2-c4", "Device Serial Number 02-00-00-00-00-00-00-01"),
        ('<info name="HostName" value="other"/>', '<info name="HostName" value="node"/>'),
        ('<info name="DMIProductSerial" value="ABC"/>', '<info name="DMIProductSerial" value="removed"/>'),
        (
            f'<info name="Port1GID0" value="fe80:0000:0000:0000:{GUID}"/>',
            '<info name="Port1GID0" value="fe80:0000:0000:0000:0200:0000:0000:0001"/>',
        ),
        (
            "NodeName=cn017 NodeAddr=cn017 State=DOWN Reason=broken by joe",
            "NodeName=node NodeAddr=node State=DOWN Reason=removed",
        ),
        ("NodeName=gpu003 CPUs=4", "NodeName=node003 CPUs=4"),
    ],
)
def test_names_and_addresses_go(text: str, expected: str) -> None:
    """Addresses, identifiers, serial numbers and host names become others of the same form."""
    assert expected == Scrubber(("cn017.example.org",)).text(text)


def test_same_thing_same_other_thing() -> None:
    """Relations survive: one address is one other address throughout."""
    scrub = Scrubber()
    first, second = scrub.text(f"{MAC} {GUID}"), scrub.text(f"x {MAC.upper()} {GUID} 24:8a:07:a1:b2:c5")
    assert first.split() == second.split()[1:3]
    assert second.split()[3] == "02:00:00:00:00:02"


def test_names_of_the_trade_stay() -> None:
    """A host called like a word of the trade does not take the description apart."""
    assert Scrubber(("epyc", "cpu", "7", "AMD")).text("AMD EPYC, cpu 7, NUMA node") == "AMD EPYC, cpu 7, NUMA node"


def test_node_lists_keep_their_shape() -> None:
    """How many nodes there are stays, what they are called goes."""
    assert stems("cn[001-004],gpu-rack2,login") == "node[001-004],node2,node"


def structure(kind: int, body: bytes, *strings: bytes) -> bytes:
    """Return an SMBIOS structure."""
    return bytes([kind, 4 + len(body), kind, 0]) + body + (b"".join(text + b"\0" for text in strings) or b"\0") + b"\0"


def test_smbios_is_blanked_in_place() -> None:
    """Serial numbers, asset tags and the UUID go wherever they stand, and all that makers add; lengths stay."""
    system = structure(1, bytes([1, 2, 3, 4]) + bytes(range(16)) + bytes(3), b"Dell Inc.", b"PowerEdge", b"v1", b"7XYZ123")
    board = structure(2, bytes([1, 2, 0, 3, 4]), b"Dell Inc.", b"0H8Y", b".7XYZ123.CN", b"TAG42")
    memory = structure(17, bytes(0x13) + bytes([1, 2, 3, 4]) + bytes(10), b"Samsung", b"D1M2S3", b"", b"M393A")
    maker = structure(0xDA, b"\1", b"service tag 7XYZ123")
    end = structure(127, b"")
    table = system + board + maker + memory + end
    actual = kept.blank_smbios(table)
    assert len(table) == len(actual)
    assert not [secret for secret in (b"7XYZ123", b"TAG42", bytes(range(16))) if secret in actual]
    assert (b"Dell Inc.\0PowerEdge\0v1\0XXXXXXX\0") in actual
    assert bytes([0xDA, 5, 0xDA, 0]) + bytes(1) + b"X" * len("service tag 7XYZ123") in actual


def test_memory_device_serial_is_blanked() -> None:
    """A DIMM's serial number and asset tag are strings 0x18 and 0x19 of type 17."""
    body = bytearray(0x22 - 4)
    body[0x17 - 4 : 0x1B - 4] = bytes([1, 2, 3, 4])
    table = structure(17, bytes(body), b"Samsung", b"D1M2S3", b"ASSET", b"M393A4K40") + structure(127, b"")
    assert b"Samsung\0XXXXXX\0XXXXX\0M393A4K40\0" in kept.blank_smbios(table)


@pytest.mark.parametrize("table", [b"", b"\1", b"\1\xff\0\0", b"\1\3\0\0", structure(1, bytes([0, 0, 0, 9]) + bytes(20))[:-1]])
def test_broken_smbios_keeps_its_length(table: bytes) -> None:
    """A table that ends early is blanked as far as it goes."""
    assert len(table) == len(kept.blank_smbios(table))


def test_pci_serial_number_is_zeroed() -> None:
    """The device serial number capability goes, the one before it stays."""
    config = bytearray(4096)
    config[0x100:0x104] = (0x0001 | 1 << 16 | 0x140 << 20).to_bytes(4, "little")
    config[0x104:0x108] = b"aerX"
    config[0x140:0x14C] = (0x0003 | 1 << 16 | 0x140 << 20).to_bytes(4, "little") + b"12345678"
    actual = kept.blank_pci_config(bytes(config))
    assert (b"aerX", bytes(8), bytes(config[0x140:0x144])) == (actual[0x104:0x108], actual[0x144:0x14C], actual[0x140:0x144])
    assert bytes(64) == kept.blank_pci_config(bytes(64))


class Named(TreeHost):
    """A machine with a name, a network card named by its address, and a job."""

    def __init__(self) -> None:
        nodes: dict[str, Entry] = {
            "/proc/sys/kernel/hostname": b"cn017\n",
            "/proc/cmdline": f"BOOT_IMAGE=/vmlinuz root=UUID={UUID} ro iommu=pt ip=10.0.0.7 host=cn017\n".encode(),
            "/sys/class/dmi/id/product_serial": b"7XYZ123\n",
            "/sys/class/dmi/id/product_name": b"PowerEdge\n",
            "/sys/class/net/enx248a07a1b2c4": Link("../../devices/usb/net/enx248a07a1b2c4"),
            "/sys/devices/usb/net/enx248a07a1b2c4/address": f"{MAC}\n".encode(),
            "/sys/class/infiniband/mlx5_0/node_desc": b"cn017 HCA-1\n",
            "/sys/class/infiniband/mlx5_0/fw_ver": b"2.1.0.1\n",
            "/sys/bus/pci/devices/0000:61:00.0/config": b"\0" * 64,
            "/sys/devices/system/cpu/online": b"0-127\n",
        }
        super().__init__(MemoryStore(nodes), "cn017")

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return one line for each of two commands."""
        del timeout
        if argv[0] == "nvidia-smi":
            return Ran(b"0, A100, 1324, GPU-1\n1, A100, 1325, GPU-2\n")
        return Ran(b"10.1.2.3 cn017\n", b"cn017: warning\n") if argv[0] == "hosts" else Ran(b"Open MPI 1.2.3\n")

    def environment(self) -> dict[str, str]:
        """Return a job's variables."""
        names = {
            "SLURM_JOB_USER": "joe",
            "SLURM_SUBMIT_DIR": "/home/joe",
            "SLURM_JOB_NODELIST": "cn[017,019]",
            "SLURM_JOB_UID": "1000",
        }
        return names | {"SLURM_JOB_CPUS_PER_NODE": "128(x2)", "OMP_PLACES": "cores", "UCX_NET_DEVICES": "mlx5_0:1"}


@pytest.fixture
def anonymous() -> AnonymousHost:
    """Return the named machine behind the mask."""
    return AnonymousHost(Named())


def test_files_are_scrubbed(anonymous: AnonymousHost) -> None:
    """Each file loses what names the machine and keeps the rest."""
    assert anonymous.read("/proc/sys/kernel/hostname").text == "node\n"
    assert anonymous.read("/proc/cmdline").text == "ro iommu=pt\n"
    assert anonymous.read("/sys/class/dmi/id/product_serial").text == "removed\n"
    assert anonymous.read("/sys/class/dmi/id/product_name").text == "PowerEdge\n"
    assert anonymous.read("/sys/class/infiniband/mlx5_0/node_desc").text == "node name1-1\n"
    assert anonymous.read("/sys/class/infiniband/mlx5_0/fw_ver").text == "2.1.0.1\n"
    assert anonymous.read("/sys/devices/system/cpu/online").text == "0-127\n"
    assert anonymous.read("/none").why == Why.NOT_KEPT


def test_addresses_in_names_are_scrubbed_and_found_again(anonymous: AnonymousHost) -> None:
    """A card named by its address is listed under another, and read under that."""
    (name,) = anonymous.list("/sys/class/net")
    assert name == "enx020000000001"
    assert anonymous.read(f"/sys/class/net/{name}/address").text == "02:00:00:00:00:01\n"
    assert f"/sys/devices/usb/net/{name}" == anonymous.real(f"/sys/class/net/{name}")


def test_commands_are_scrubbed(anonymous: AnonymousHost) -> None:
    """Of a command that nobody has thought about nothing stays; versions stay; serial columns go."""
    assert anonymous.run(("hosts",))[:2] == (b"", b"")
    assert anonymous.run(("x", "--version")).out == b"Open MPI 1.2.3\n"
    asked = ("nvidia-smi", "--query-gpu=index,name,serial,uuid", "--format=csv,noheader")
    assert anonymous.run(asked).out == b"0, A100, removed, removed\n1, A100, removed, removed\n"


def test_variables_are_scrubbed(anonymous: AnonymousHost) -> None:
    """People and places go, node lists keep their shape, what says how a job is placed stays."""
    expected = {
        "SLURM_JOB_NODELIST": "node[017,019]",
        "SLURM_JOB_CPUS_PER_NODE": "128(x2)",
        "OMP_PLACES": "cores",
        "UCX_NET_DEVICES": "mlx5_0:1",
    }
    assert expected == anonymous.environment()


def test_nothing_is_left_in_a_capture(anonymous: AnonymousHost) -> None:
    """A capture taken through the mask has none of the names in it, in files, names or links."""
    patterns = (
        "/proc/*",
        "/proc/sys/kernel/*",
        "/sys/class/dmi/id/*",
        "/sys/class/net/*@",
        "/sys/class/net/*/address",
        "/sys/class/infiniband/*/*",
    )
    data = record(anonymous, patterns, (("hosts",),), {})
    everything = repr(unpack(data, "x"))
    assert [word for word in ("cn017", "joe", "7XYZ123", MAC, "248a07", UUID, "10.0.0.7") if word in everything] == []
    assert opened(data).read("/sys/class/net/enx020000000001/address").text == "02:00:00:00:00:01\n"


def test_a_gpus_own_number_goes_and_its_sizes_stay() -> None:
    """In the properties that the driver of AMD's GPUs lists."""
    path = "/sys/class/kfd/kfd/topology/nodes/4/properties"
    nodes: dict[str, Entry] = {
        path: b"simd_count 440\nunique_id 12345678901234567\nhive_id 987654321\nlocal_mem_size 68702699520\n"
    }
    kept = AnonymousHost(TreeHost(MemoryStore(nodes), "x")).read(path).text
    assert kept == "simd_count 440\nlocal_mem_size 68702699520\n"


def test_of_what_nvidias_driver_says_of_a_gpu_its_device_file_stays() -> None:
    """Neither its UUID nor anything else."""
    path = "/proc/driver/nvidia/gpus/0000:3b:00.0/information"
    nodes: dict[str, Entry] = {
        path: b"Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-0aa0aaaa\nBlacklisted:\t No\nDevice Minor: \t 3\n"
    }
    assert AnonymousHost(TreeHost(MemoryStore(nodes), "x")).read(path).text == "Device Minor: \t 3\n"


def test_what_a_fact_declares_as_identity_goes_wherever_it_stands() -> None:
    """The values of such facts are handed over, and are in no file and no command, however they are written."""
    nodes: dict[str, Entry] = {
        "/proc/sys/kernel/hostname": b"cn017\n",
        "/sys/class/hwmon/hwmon0/name": b"node ZX81Q7B\n",
        "/sys/class/hwmon/hwmon0/temp1_label": b"Tctl of zx81q7b\n",
    }
    machine = Machine(name="cn017", tools=(Tool(name="ucx", version="1.17"),))
    told = (*identities(machine), "ZX81Q7B")
    kept = AnonymousHost(
        TreeHost(MemoryStore(nodes), "x"), identities=told, public=(("/sys/class/hwmon/*/temp*_label", "Tctl.*"),)
    )
    assert told == ("cn017", "ZX81Q7B")
    assert kept.read("/sys/class/hwmon/hwmon0/name").text == "node removed\n"
    assert kept.read("/sys/class/hwmon/hwmon0/temp1_label").text == "Tctl of removed\n"


def test_what_a_source_declares_public_stays_line_by_line() -> None:
    """Lines that match whole stay as they are; of a file in which none does, only that there was something."""
    nodes: dict[str, Entry] = {"/opt/a": b"fast\nfast of joe\nslow\n", "/opt/b": b"joe\n", "/opt/c": b"", "/opt/d": b"fast\n"}
    public = (("/opt/[a-c]", "fast|slow"), (("tool", "-x"), r"\d+"))
    kept = AnonymousHost(TreeHost(MemoryStore(nodes), "x"), public=public)
    assert [kept.read(f"/opt/{name}").text for name in "abcd"] == ["fast\nslow\n", "removed\n", "", "removed\n"]
    assert PublicLines(public).of_command(("tool",)) is None
    keep = PublicLines(public).of_command(("tool", "-x"))
    assert keep is not None
    assert keep(Mask(), "12\njoe\n7\n") == "12\n7\n"
