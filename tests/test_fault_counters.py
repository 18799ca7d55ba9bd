"""Two looks at counters, judged: what rose is said with its numbers, what stands there is no more than worth knowing."""

import pytest

from advisor.advice.judgement import judged
from advisor.machine.machine import Machine
from advisor.machine.sources.fault_counters import look, watched
from tests.collect.os_host import FakeHost

PORT = "/sys/class/infiniband/mlx5_0/ports/1/counters"
PCI = "/sys/bus/pci/devices/0000:61:00.0"
MC = "/sys/devices/system/edac/mc/mc0"
CPU = "/sys/devices/system/cpu/cpu0"
FILES = {
    **{f"{PORT}/{name}": "0" for name in ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors")},
    **{f"{PORT}/{name}": "0" for name in ("local_link_integrity_errors", "excessive_buffer_overrun_errors")},
    f"{PORT}/port_xmit_wait": "0",
    f"{PORT}/port_xmit_data": "0",
    f"{PCI}/aer_dev_correctable": "BadTLP 0\nTimeout 0\nTOTAL_ERR_COR 0",
    f"{PCI}/aer_dev_nonfatal": "UnsupReq 0\nTOTAL_ERR_NONFATAL 0",
    f"{PCI}/aer_dev_fatal": "TOTAL_ERR_FATAL 0",
    f"{MC}/ce_count": "0",
    f"{MC}/ue_count": "0",
    f"{CPU}/thermal_throttle/core_throttle_count": "0",
    f"{CPU}/thermal_throttle/package_throttle_count": "0",
    f"{CPU}/topology/physical_package_id": "0",
}


def said(before: dict[str, str], after: dict[str, str], seconds: float = 0.5) -> dict[str, tuple[str, str]]:
    """Return severity and claim of each finding on two looks."""
    first, last = FakeHost({**FILES, **before}), FakeHost({**FILES, **after})
    watch = watched(last, look(first), look(last), seconds)
    found = judged(Machine(), watch=watch).audit.found
    return {f.id: (f.severity, f.claim or "") for f in found if f.id.startswith("errors-")}


def test_where_nothing_stands_and_nothing_rises_nothing_is_said() -> None:
    """Every counter at nought, twice."""
    assert said({}, {}) == {}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (f"{PORT}/link_downed", "254"),
        (f"{PORT}/symbol_error", "65535"),
        (f"{PCI}/aer_dev_nonfatal", "CmpltTO 900\nTOTAL_ERR_NONFATAL 900"),
        (f"{MC}/ce_count", "4294967295"),
        (f"{MC}/ue_count", "70"),
        (f"{CPU}/thermal_throttle/package_throttle_count", "100000"),
    ],
)
def test_what_only_stands_there_is_info_at_most(file: str, text: str) -> None:
    """However much it is, and wherever it stands."""
    assert [severity for severity, _ in said({file: text}, {file: text}).values()] == ["info"]


def test_a_counter_at_its_end_does_not_tell_that_nothing_came_in() -> None:
    """65535 symbol errors of sixteen bits, before and after."""
    full = {f"{PORT}/symbol_error": "65535"}
    assert said(full, full)["errors-port-before"][1].endswith("it is unknown whether the count is still rising")


def test_a_counter_that_was_reset_between_the_looks_is_no_fault() -> None:
    """Nine thousand before, three after: nobody knows how many of them came in."""
    assert said({f"{PORT}/symbol_error": "9000"}, {f"{PORT}/symbol_error": "3"}) == {}


def test_a_huge_rise_in_half_a_second_is_said_with_its_numbers() -> None:
    """Two thousand million corrected errors within 500 ms."""
    assert said({}, {f"{MC}/ce_count": "2147483648"}) == {
        "errors-memory-corrected": ("medium", "mc0: 2147483648 corrected memory errors within 500 ms")
    }


def test_unsupported_requests_that_probing_makes_are_no_fault() -> None:
    """Forty of them between the looks, as lspci leaves on some boards."""
    assert said({}, {f"{PCI}/aer_dev_nonfatal": "UnsupReq 40\nTOTAL_ERR_NONFATAL 40"}) == {}


def test_an_idle_port_is_not_congested() -> None:
    """Twenty words sent and forty ticks waited."""
    assert said({}, {f"{PORT}/port_xmit_wait": "40", f"{PORT}/port_xmit_data": "20"}) == {}
