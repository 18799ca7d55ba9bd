from advisor.machine.hardware import Cpu, UncoreClock
from advisor.machine.hosts.base import Why
from advisor.machine.sources.registers import collect_uncore
from tests.collect.os_host import FakeHost

AT = "/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00"


def test_the_limits_are_those_the_driver_found_and_those_that_hold() -> None:
    """The first survive what tools write later: they are the BIOS's."""
    files: dict[str, str | Why] = {
        f"{AT}/initial_min_freq_khz": "2400000\n",
        f"{AT}/initial_max_freq_khz": "2400000\n",
        f"{AT}/min_freq_khz": "800000\n",
        f"{AT}/max_freq_khz": "2400000\n",
    }
    die = UncoreClock(
        name="package_00_die_00", began_min=2_400_000_000, began_max=2_400_000_000, min=800_000_000, max=2_400_000_000
    )
    assert collect_uncore(FakeHost(files)).cpu == Cpu(uncore=(die,))


def test_without_the_driver_nothing_is_said() -> None:
    """The registers may still show the limits."""
    assert collect_uncore(FakeHost({})).cpu is None
