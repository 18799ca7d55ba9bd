"""What the checks of counters, GPUs, adapters and Slurm look at is in an anonymised capture, and no name beside it."""

import pytest

from advisor.machine.anonymise import AnonymousHost
from advisor.machine.hosts.base import Ran, Reading, Why, second_look
from advisor.machine.hosts.capture import Entry, MemoryStore, TreeHost, record
from advisor.machine.sources import fault_counters
from advisor.machine.sources import gpu as gpu_state
from advisor.machine.sources import network as fabrics
from advisor.machine.sources import scheduler as slurm
from advisor.machine.sources.registry import commands, counters, paths, public, sources
from tests.host.test_capture import opened

PCI = "/sys/bus/pci/devices/0000:61:00.0"
PORT = "/sys/class/infiniband/mlx5_0"
RAPL = "/sys/class/powercap/intel-rapl:0"
FILES: dict[str, Entry] = {
    f"{PCI}/aer_dev_correctable": b"RxErr 4\nBadTLP 0\nTimeout 2\nTOTAL_ERR_COR 6\n",
    f"{PCI}/current_compute_partition": b"SPX\n",
    f"{PCI}/current_memory_partition": b"NPS1\n",
    f"{PCI}/class": b"0x020700\n",
    f"{PCI}/vendor": b"0x15b3\n",
    f"{PCI}/device": b"0x101b\n",
    f"{PORT}/hca_type": b"MT4123\n",
    f"{PORT}/ports/1/counters/link_downed": b"3\n",
    f"{PORT}/ports/1/counters/port_xmit_data": b"123456789012345\n",
    "/sys/bus/dax/devices/dax0.0/size": b"68719476736\n",
    f"{PORT}/ports/1/link_layer": b"InfiniBand\n",
    f"{RAPL}/name": b"package-0\n",
    f"{RAPL}/enabled": b"1\n",
    f"{RAPL}/constraint_0_name": b"long_term\n",
    f"{RAPL}/constraint_0_power_limit_uw": b"165000000\n",
    f"{RAPL}/constraint_0_max_power_uw": b"205000000\n",
    "/sys/devices/system/edac/mc/mc0/ce_count": b"7\n",
    "/sys/module/xpmem/refcnt": b"0\n",
    "/sys/kernel/mm/ksm/run": b"0\n",
    "/sys/module/nvidia/version": b"570.86.15\n",
    "/proc/driver/nvidia/version": b"NVRM version: NVIDIA UNIX Open Kernel Module 570.86.15 (secretbuilder@secrethost)\n",
    "/proc/sys/kernel/yama/ptrace_scope": b"1\n",
    "/proc/sys/kernel/hostname": b"secrethost\n",
    "/sys/class/net/lo/mtu": b"65536\n",
}
OUT = {
    slurm.SLURM: "file=read\nTaskPlugin=task/affinity,task/cgroup\nProctrackType=proctrack/cgroup\n",
    slurm.CGROUP: "",
    slurm.GRES: "file=read\nAutoDetect=nvml\n",
    gpu_state.SETTINGS: "0, 00000000:3B:00.0, Enabled, Enabled, Disabled, 1980, 500.00, 700.00\n",
    gpu_state.ROWS: "00000000:3B:00.0, Yes, No\n",
    gpu_state.NVLINK: "GPU 0: NVIDIA H100 (UUID: GPU-secret)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n",
    fault_counters.THROTTLE_QUERY: "00000000:3B:00.0, 0x0000000000000004, 0, 0\n",
    fabrics.MSTCONFIG: "Device #1:\nName: secret\nPCI device: /dev/mst/mt4123_pciconf0\n   PCI_WR_ORDERING   per_mkey(0)\n",
}


class Node1(TreeHost):
    """A machine with everything that the checks look at."""

    kind = "live"

    def read(self, path: str) -> Reading:
        """Return the file, or that it is absent."""
        reading = super().read(path)
        return Reading(why=Why.ABSENT) if reading.why is Why.NOT_KEPT else reading

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what the table says; sed complains of a file that is closed."""
        del timeout
        if argv not in OUT:
            return Ran(why=Why.ABSENT)
        closed = b"sed: can't read /etc/slurm/cgroup.conf: Permission denied\n" if argv == slurm.CGROUP else b""
        return Ran(out=OUT[argv].encode(), err=closed, status=2 if argv[0] == "sed" else 0, path=f"/usr/bin/{argv[0]}")


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> tuple[Node1, bytes]:
    """Return the machine, and an anonymised capture of it."""
    monkeypatch.setattr("advisor.machine.hosts.base.SECONDS_BETWEEN_LOOKS", 0.0)
    host = Node1(MemoryStore(FILES), "this machine")
    return host, record(AnonymousHost(host, public=public()), paths(), commands(), {}, twice=counters())


def test_an_anonymised_capture_tells_what_the_checks_look_at(data: tuple[Node1, bytes]) -> None:
    """The same facts as on the machine, of every source."""
    host, capture = data[0], opened(data[1])
    asked = {"dax", "gpu_state", "mlxconfig", "modules", "powercap", "slurm"}
    for source in sources():
        if source.name in asked:
            assert source.collect(capture) == source.collect(host), source.name
    seen, here = (fault_counters.watched(each, fault_counters.look(each)) for each in (capture, host))
    assert (seen.ports, seen.devices, seen.memory, seen.gpus) == (here.ports, here.devices, here.memory, here.gpus)
    assert second_look(capture) is not None


def test_no_name_is_left_beside_them(data: tuple[Node1, bytes]) -> None:
    """Who built the driver, what a card is called, which GPU it is."""
    import gzip

    assert b"secret" not in gzip.decompress(data[1]).lower()
