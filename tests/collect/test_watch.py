"""Counters of faults: two looks tell what rose, one tells what stands there, and nothing is made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.fault_counters import ONE_LOOK, Count, DeviceWatch, GpuWatch, MemoryWatch, PackageWatch, Watch
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.machine import Gap
from advisor.machine.sources.fault_counters import COMMANDS, PATHS, THROTTLE_QUERY, look, watched
from tests.collect.device_host import CONNECTX, DeviceHost, Server, uncovered
from tests.collect.os_host import FakeHost, printed

PORT = "/sys/class/infiniband/mlx5_0/ports/1"
CORRECTABLE = (
    "RxErr {0}\nBadTLP 0\nBadDLLP 1\nRollover 0\nTimeout {1}\nNonFatalErr 7\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR {2}\n"
)
OLD_WORDS = "Receiver Error 2\nBad TLP 0\nBad DLLP 3\nRELAY_NUM Rollover 4\nReplay Timer Timeout 5\nTOTAL_ERR_COR 14\n"
MC = "/sys/devices/system/edac/mc"
CPU = "/sys/devices/system/cpu"


def two_looks(before: dict[str, str], after: dict[str, str], seconds: float = 4.0, **more: str | Why) -> Watch:
    """Return what two looks at some files tell, with files that do not change."""
    still = {path.replace("__", "/"): text for path, text in more.items()}
    first, last = FakeHost({**still, **before}), FakeHost({**still, **after})
    return watched(last, look(first), look(last), seconds)


def port(**counters: str) -> dict[str, str]:
    """Return the files of a port."""
    return {f"{PORT}/counters/{name}": text for name, text in counters.items()}


def test_what_rose_between_two_looks_is_told_beside_what_stands_there() -> None:
    """Nine links down since the driver started, two of them now."""
    found = two_looks(port(link_downed="7\n", symbol_error="0\n"), port(link_downed="9\n", symbol_error="0\n"))
    assert found.seconds == 4.0
    assert found.ports is not None
    assert (found.ports[0].name, found.ports[0].link_downs, found.ports[0].symbol_errors) == (
        "mlx5_0 port 1",
        Count(total=9, rose=2),
        Count(total=0, rose=0),
    )


def test_one_look_tells_no_rise_and_says_what_would() -> None:
    """Totals are known, rises are not, and the gap says why."""
    host = FakeHost(port(link_downed="9"))
    found = watched(host, look(host))
    assert found.ports is not None
    assert (found.seconds, found.ports[0].link_downs) == (None, Count(total=9))
    assert ONE_LOOK in found.gaps


def test_a_counter_that_was_reset_or_stands_at_its_end_has_no_rise() -> None:
    """Fewer than before: somebody reset it. 255 of a counter of eight bits: it cannot rise."""
    found = two_looks(port(link_downed="255", symbol_error="9"), port(link_downed="255", symbol_error="2"))
    assert found.ports is not None
    assert (found.ports[0].link_downs, found.ports[0].symbol_errors) == (Count(total=255), Count(total=2))


def test_ports_come_in_the_order_of_their_numbers_with_their_link_layer() -> None:
    """Adapter ten comes after adapter two."""
    names = ("mlx5_10", "mlx5_2")
    files = {f"/sys/class/infiniband/{name}/ports/1/counters/symbol_error": "0" for name in names}
    layers = {f"/sys/class/infiniband/{name}/ports/1/link_layer": "Ethernet\n" for name in names}
    host = FakeHost({**files, **layers})
    assert [(p.name, p.layer) for p in watched(host, look(host)).ports or ()] == [
        ("mlx5_2 port 1", "ethernet"),
        ("mlx5_10 port 1", "ethernet"),
    ]


def test_pcie_counts_the_wire_the_replays_and_the_lost_apart() -> None:
    """Advisory errors, which looking for absent devices makes, are in the total alone."""
    at = "/sys/bus/pci/devices/0000:61:00.0"
    fatal = {f"{at}/aer_dev_fatal": "DLP 0\nTOTAL_ERR_FATAL 0\n", f"{at}/aer_dev_nonfatal": "CmpltTO 1\nTOTAL_ERR_NONFATAL 1\n"}
    found = two_looks(
        {f"{at}/aer_dev_correctable": CORRECTABLE.format(2, 5, 15), **fatal},
        {f"{at}/aer_dev_correctable": CORRECTABLE.format(4, 8, 20), **fatal},
    )
    assert found.devices == (
        DeviceWatch(
            name="0000:61:00.0",
            corrected=Count(total=20, rose=5),
            link=Count(total=5, rose=2),
            replays=Count(total=8, rose=3),
            nonfatal=Count(total=1, rose=0),
            fatal=Count(total=0, rose=0),
        ),
    )


def test_the_words_of_kernels_before_5_8_are_the_same_counters() -> None:
    """Bad TLP of Linux 4.19 is BadTLP of Linux 6."""
    host = FakeHost({"/sys/bus/pci/devices/0000:61:00.0/aer_dev_correctable": OLD_WORDS})
    (device,) = watched(host, look(host)).devices or ()
    assert (device.link, device.replays, device.corrected) == (Count(total=5), Count(total=9), Count(total=14))


def test_memory_errors_name_the_module_that_has_most() -> None:
    """The controller's count rises; the label of the worst module is shown."""
    labels = {
        f"{MC}/mc0/mc_name": "Skylake Socket#0 IMC#0\n",
        f"{MC}/mc0/dimm0/dimm_ce_count": "1\n",
        f"{MC}/mc0/dimm0/dimm_label": "A1\n",
        f"{MC}/mc0/dimm3/dimm_ce_count": "40\n",
        f"{MC}/mc0/dimm3/dimm_label": "CPU_SrcID#0_MC#0_Chan#1_DIMM#1\n",
    }
    first = FakeHost({**labels, f"{MC}/mc0/ce_count": "30", f"{MC}/mc0/ue_count": "0"})
    last = FakeHost({**labels, f"{MC}/mc0/ce_count": "41", f"{MC}/mc0/ue_count": "0"})
    assert watched(last, look(first), look(last), 2.0).memory == (
        MemoryWatch(
            name="mc0",
            controller="Skylake Socket#0 IMC#0",
            corrected=Count(total=41, rose=11),
            uncorrected=Count(total=0, rose=0),
            worst="CPU_SrcID#0_MC#0_Chan#1_DIMM#1",
        ),
    )


def test_heat_counts_a_core_once_and_a_package_once() -> None:
    """Both threads of a core repeat its count, and every CPU that of its package."""

    def files(core: int, package: int) -> dict[str, str]:
        found = {}
        for cpu, (place, siblings) in enumerate([(0, "0,2"), (0, "1,3"), (0, "0,2"), (0, "1,3")]):
            found[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = f"{place}\n"
            found[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{siblings}\n"
            found[f"{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count"] = f"{core}\n"
            found[f"{CPU}/cpu{cpu}/thermal_throttle/package_throttle_count"] = f"{package}\n"
        return found

    first, last = FakeHost(files(1, 5)), FakeHost(files(3, 9))
    assert watched(last, look(first), look(last), 2.0).packages == (
        PackageWatch(name="package 0", package=0, packages=Count(total=9, rose=4), cores=Count(total=6, rose=4)),
    )


def test_a_gpu_says_why_its_clocks_are_held_back_now() -> None:
    """The bits of nvml.h, and ECC errors; the tool's words for nothing are no numbers."""
    out = "00000000:3B:00.0, 0x0000000000000048, 2, 0\n00000000:5E:00.0, 0x0000000000000000, [N/A], [N/A]\nno line\n"
    host = FakeHost({"/sys/module/nvidia/version": "570.86.15"}, {THROTTLE_QUERY: printed(out)})
    assert watched(host, look(host)).gpus == (
        GpuWatch(name="0000:3b:00.0", held_back=("hardware slowdown", "thermal (hardware)"), corrected=2, uncorrected=0),
        GpuWatch(name="0000:5e:00.0", held_back=()),
    )


def test_a_machine_that_has_nothing_to_count_is_told_from_one_where_nobody_looked() -> None:
    """No port, no GPU, no counter of heat: there are none. No EDAC: not known. An old capture: not known at all."""
    here, old = FakeHost({}), FakeHost({}, otherwise=Why.NOT_KEPT)
    found = watched(here, look(here))
    assert (found.ports, found.gpus, found.packages, found.memory, found.devices) == ((), (), (), None, None)
    assert [gap.fact for gap in found.gaps] == ["watch.devices", "watch.memory"]
    unknown = watched(old, look(old))
    assert (unknown.ports, unknown.gpus, unknown.packages, unknown.memory, unknown.devices) == (None,) * 5
    assert {gap.why for gap in unknown.gaps} == {"not in this input"}


@pytest.mark.parametrize(("ran", "why"), [(Ran(why=Why.TIMEOUT), "took too long"), (Ran(status=9), "ended with status 9")])
def test_a_tool_in_trouble_leaves_the_gpus_unknown(ran: Ran, why: str) -> None:
    """The driver is there, its tool does not answer."""
    host = FakeHost({"/sys/module/nvidia/version": "570.86.15"}, {THROTTLE_QUERY: ran})
    found = watched(host, look(host))
    help_ = "install the driver with its tool (nvidia-smi) and audit again"
    assert found.gpus is None
    assert Gap(fact="watch.gpus", why=f"nvidia-smi: {why}", help=help_) in found.gaps


@given(st.text(), st.text())
def test_no_content_of_a_counter_makes_the_reader_fail(one: str, other: str) -> None:
    """Whatever stands in the files and comes from the tool, there is a Watch, and no rise is negative."""
    files = [*port(link_downed="", symbol_error=""), "/sys/bus/pci/devices/0000:00:01.0/aer_dev_fatal", f"{MC}/mc0/ce_count"]
    first, last = FakeHost(dict.fromkeys(files, one)), FakeHost(dict.fromkeys(files, other), {THROTTLE_QUERY: printed(one)})
    found = watched(last, look(first), look(last), 1.0)
    rises = [p.link_downs.rose for p in found.ports or () if p.link_downs and p.link_downs.rose is not None]
    assert all(rise >= 0 for rise in rises)


def test_a_name_that_a_shell_would_read_is_no_adapter() -> None:
    """Names stand in commands to be copied; the kernel's are letters, digits and a few signs."""
    host = FakeHost({"/sys/class/infiniband/mlx5_0;reboot/ports/1/counters/link_downed": "9"})
    assert watched(host, look(host)).ports == ()


def test_a_capture_keeps_all_that_is_read() -> None:
    """Every file asked for is among the patterns, links and all."""
    server = Server("0-3")
    place = server.plug("pci0000:60/0000:61:00.0", CONNECTX, {"aer_dev_fatal": "TOTAL_ERR_FATAL 0"})
    server.hca(
        "mlx5_0", place, {1: {"counters/symbol_error": "0", "link_layer": "InfiniBand", "hw_counters/packet_seq_err": "0"}}
    )
    server.files |= {f"{MC}/mc0/ce_count": "1", f"{MC}/mc0/dimm0/dimm_ce_count": "1", f"{MC}/mc0/dimm0/dimm_label": "A1"}
    server.files |= {f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "0", f"{CPU}/cpu0/topology/physical_package_id": "0"}
    host: DeviceHost = server.host
    found = watched(host, look(host))
    assert [len(part or ()) for part in (found.ports, found.devices, found.memory, found.packages)] == [1, 1, 1, 1]
    assert uncovered(host, (*PATHS, "/sys/module/nvidia/version")) == []
    assert COMMANDS == (THROTTLE_QUERY,)


def test_what_probing_absent_devices_leaves_is_no_lost_transaction() -> None:
    """Unsupported requests and ACS violations are in the total, by the words of new kernels and of old; a timeout is counted."""
    at = "/sys/bus/pci/devices/0000:61:00.0"
    new = {f"{at}/aer_dev_nonfatal": "CmpltTO 1\nUnsupReq 4\nACSViol 2\nTOTAL_ERR_NONFATAL 7\n"}
    old = {f"{at}/aer_dev_nonfatal": "Completion Timeout 0\nUnsupported Request 9\nTOTAL_ERR_NONFATAL 9\n"}
    told = [watched(host, look(host)).devices or () for host in (FakeHost(new), FakeHost(old))]
    assert [device.nonfatal for (device,) in told] == [Count(total=1), Count(total=0)]
