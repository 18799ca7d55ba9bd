"""How GPUs are set, as their tools and drivers tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Gpu
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.sources.gpu import LIST, NVLINK, ROWS, SETTINGS, Links, nvlinks
from advisor.machine.sources.gpu import STATE_PATHS as PATHS
from advisor.machine.sources.gpu import collect_state as collect
from tests.collect.os_host import FakeHost, covered, printed

H100 = "0, 00000000:3B:00.0, Enabled, Enabled, Enabled, 1980, 500.00, 700.00\n"
SECOND = "1, 00000000:5E:00.0, Disabled, [N/A], [N/A], 1980, [N/A], 700.00\n"
LINKS = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0a1b2c3d-0000-1111-2222-333344445555)
\t Link 0: 26.562 GB/s
\t Link 1: 26.562 GB/s
\t Link 2: <inactive>
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0a1b2c3d-0000-1111-2222-333344445556)
\t Link 0: 26.562 GB/s
"""
ROWS_TEXT = "00000000:3B:00.0, Yes, No\n00000000:5E:00.0, 0, 0\n"
MI300 = "/sys/bus/pci/devices/0000:0c:00.0"


def test_settings_links_and_waiting_rows_of_a_gpu_are_told() -> None:
    """The tool's numbers join its links, its address its rows."""
    host = FakeHost({}, {SETTINGS: printed(H100 + SECOND), NVLINK: printed(LINKS), ROWS: printed(ROWS_TEXT)})
    assert collect(host).gpus == (
        Gpu(
            address="0000:3b:00.0",
            vendor="nvidia",
            persistence=True,
            ecc=True,
            ecc_pending=True,
            max_hz=1_980_000_000,
            power_limit=500.0,
            power_default=700.0,
            nvlinks=3,
            nvlinks_up=2,
            repair_pending=True,
        ),
        Gpu(
            address="0000:5e:00.0",
            vendor="nvidia",
            persistence=False,
            max_hz=1_980_000_000,
            power_default=700.0,
            nvlinks=1,
            nvlinks_up=1,
            repair_pending=False,
        ),
    )


MIG = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-d4c0bd5a-d5b7-2c3f-6b0e-3c8ad9a5c0f1)
  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 1g.5gb+me   Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-d4c0bd5a-d5b7-2c3f-6b0e-3c8ad9a5c0f2)
"""
"""As NVIDIA's MIG user guide prints nvidia-smi -L, "Creating GPU Instances"; the UUIDs are made up."""


def test_mig_instances_are_counted_for_the_gpu_that_they_are_of() -> None:
    """A GPU without one has none to count: programs use it whole."""
    found = collect(FakeHost({}, {SETTINGS: printed(H100 + SECOND), LIST: printed(MIG)})).gpus or ()
    assert [gpu.instances for gpu in found] == [2, None]


def test_a_machine_without_the_tool_has_no_gap_and_no_guess() -> None:
    """Absent and not kept are both no word about GPUs: another source finds them on the bus."""
    for why in (Why.ABSENT, Why.NOT_KEPT):
        found = collect(FakeHost({}, otherwise=why))
        assert (found.gpus, found.gaps) == (None, ())


@pytest.mark.parametrize(
    ("ran", "why"),
    [
        (Ran(why=Why.TIMEOUT), "nvidia-smi: took too long"),
        (Ran(status=2), "nvidia-smi: ended with status 2"),
        (Ran(why=Why.ABSENT), "nvidia-smi: not present"),
        (Ran(why=Why.NOT_KEPT), "not in this input"),
    ],
)
def test_a_gpu_without_an_answer_of_its_tool_says_why(ran: Ran, why: str) -> None:
    """A driver that does not know a word of the question answers nothing of it; where there is no such GPU nothing is missed."""
    card = {f"{MI300}/class": "0x030200", f"{MI300}/vendor": "0x10de", f"{MI300}/device": "0x2330"}
    found, none = collect(FakeHost(card, {SETTINGS: ran})), collect(FakeHost({}, {SETTINGS: ran}))
    assert (found.gpus, [(gap.fact, gap.why) for gap in found.gaps]) == (None, [("gpus.persistence", why)])
    assert none.gaps == ()


def test_partitions_of_an_instinct_are_told_by_its_driver() -> None:
    """MI300A in TPX: words of the kernel, in capitals."""
    files = {f"{MI300}/current_compute_partition": "TPX\n", f"{MI300}/current_memory_partition": "nps1\n"}
    assert collect(FakeHost(files)).gpus == (
        Gpu(address="0000:0c:00.0", vendor="amd", compute_partition="TPX", memory_partition="NPS1"),
    )


def test_a_partition_that_is_none_is_not_known() -> None:
    """UNKNOWN, and a word that is no partition."""
    files = {f"{MI300}/current_compute_partition": "UNKNOWN\n", f"{MI300}/current_memory_partition": "../../etc\n"}
    assert collect(FakeHost(files)).gpus is None


def test_what_is_no_pci_address_is_no_gpu() -> None:
    """A folder of another name among the devices."""
    assert collect(FakeHost({"/sys/bus/pci/devices/0000:0c:00.0;reboot/current_compute_partition": "SPX"})).gpus is None


def test_links_are_counted_for_the_gpu_they_stand_below() -> None:
    """A link before any GPU belongs to none."""
    assert nvlinks("\t Link 0: 1 GB/s\n" + LINKS) == {"0": Links(3, 2), "1": Links(1, 1)}


@given(st.text())
def test_no_output_of_a_tool_makes_the_reader_fail(text: str) -> None:
    """Whatever comes, no GPU is made of it."""
    host = FakeHost({f"{MI300}/current_compute_partition": text}, dict.fromkeys((SETTINGS, NVLINK, ROWS), printed(text)))
    assert all(gpu.vendor == "amd" for gpu in collect(host).gpus or ())


def test_a_capture_keeps_what_is_read() -> None:
    """Every file asked for is among the patterns."""
    host = FakeHost({f"{MI300}/class": "0x120000"})
    collect(host)
    assert [path for path in host.asked if not covered(path, PATHS)] == []


# The shapes of lines are those that people show in public threads of nvidia_gpu_exporter, DCGM, gpud and open-gpu-kernel-modules.
ROWS_OF_CARDS = {
    "V100": ("0, 00000000:15:00.0, Enabled, Enabled, Enabled, 1530, 300.00, 300.00", (True, True, 1_530_000_000, 300.0)),
    "A100 with MIG": ("0, 00000000:07:00.0, Enabled, Enabled, Enabled, 1410, 400.00, 400.00", (True, True, 1_410_000_000, 400.0)),
    "L40": ("0, 00000000:C1:00.0, Disabled, Enabled, Enabled, 2490, 300.00, 300.00", (False, True, 2_490_000_000, 300.0)),
    "GH200": ("0, 00000009:01:00.0, Enabled, Enabled, Enabled, 1980, 900.00, 900.00", (True, True, 1_980_000_000, 900.0)),
    "GeForce": ("0, 00000000:01:00.0, Disabled, [N/A], [N/A], 2100, 350.00, 350.00", (False, None, 2_100_000_000, 350.0)),
    "GeForce of a notebook": (
        "0, 00000000:01:00.0, Disabled, [N/A], [N/A], 2100, [N/A], [N/A]",
        (False, None, 2_100_000_000, None),
    ),
    "old GeForce": (
        "0, 00000000:01:00.0, Disabled, [Not Supported], [Not Supported], [Not Supported], [Not Supported], [Not Supported]",
        (False, None, None, None),
    ),
    "sick": (
        "0, 00000000:0B:00.0, [Unknown Error], [GPU is lost], [GPU is lost], [Unknown Error], [Unknown Error], [Unknown Error]",
        (None, None, None, None),
    ),
}


@pytest.mark.parametrize("card", ROWS_OF_CARDS)
def test_what_a_card_does_not_say_is_not_known(card: str) -> None:
    """Not supported, not applicable, lost and an unknown error are no value and no fault."""
    line, expected = ROWS_OF_CARDS[card]
    (gpu,) = collect(FakeHost({}, {SETTINGS: printed(line + "\n")})).gpus or ()
    assert (gpu.persistence, gpu.ecc, gpu.max_hz, gpu.power_default) == expected


@pytest.mark.parametrize(
    "text",
    [
        "No devices were found\n",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure it is running.\n",
        "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error\n",
        'Field "clocks.max.sm" is not a valid field to query.\n',
    ],
)
def test_what_the_tool_says_in_place_of_an_answer_is_no_gpu(text: str) -> None:
    """With a status or, as old versions do, without one; the lines go to standard output."""
    for status in (0, 6, 9, 18, 255):
        said = printed(text, status=status)
        assert collect(FakeHost({}, {SETTINGS: said, NVLINK: said, ROWS: said})).gpus is None


def test_a_gpu_none_of_whose_links_is_up_has_none_up() -> None:
    """NVML says so in place of the list, seen on a B200 whose sisters have eighteen."""
    sick = "GPU 2: NVIDIA B200 (UUID: GPU-0)\nNVML: Unable to retrieve NVLink information as all links are inActive\n"
    assert nvlinks(LINKS + sick) == {"0": Links(3, 2), "1": Links(1, 1), "2": Links(None, 0)}
