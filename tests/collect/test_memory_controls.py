import pytest

from advisor.machine.hardware import Memory
from advisor.machine.hosts.base import Why
from advisor.machine.sources.registers import collect_memory_controls
from tests.collect.os_host import FakeHost

TSME, SCRUB = "/sys/bus/pci/devices/0000:{}:00.1/tsme_status", "/sys/devices/system/edac/mc/mc{}/sdram_scrub_rate"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({TSME.format("22"): "1\n", TSME.format("a2"): "1\n"}, Memory(encrypted=True)),
        ({TSME.format("22"): "0\n"}, Memory(encrypted=False)),
        ({TSME.format("22"): "0\n", TSME.format("a2"): "1\n"}, None),
        ({SCRUB.format(0): "98282248\n", SCRUB.format(1): "0\n"}, Memory(scrub_rate=0)),
        ({SCRUB.format(0): "98282248\n"}, Memory(scrub_rate=98_282_248)),
        ({}, None),
    ],
)
def test_the_memory_controllers_say_whether_they_encrypt_and_scrub(files: dict[str, str | Why], expected: Memory | None) -> None:
    """Sockets that disagree say nothing; the slowest controller counts."""
    assert collect_memory_controls(FakeHost(files)).memory == expected
