"""How GPUs are set, as their tools and drivers tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.collect.gpu_state import NVLINK, PATHS, ROWS, SETTINGS, Links, collect, nvlinks
from advisor.host.base import Ran, Why
from advisor.model.devices import Gpu
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
        (Ran(why=Why.ABSENT), "nvidia-smi: not there"),
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
