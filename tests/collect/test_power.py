import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, IdleState
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Machine
from advisor.machine.sources import cpu as power
from tests.collect.os_host import FakeHost, covered

CPU = "/sys/devices/system/cpu"


def intel(cpus: int = 4) -> dict[str, str | Why]:
    """Return the files of an Ice Lake server under intel_pstate."""
    files: dict[str, str | Why] = {
        f"{CPU}/online": f"0-{cpus - 1}\n",
        f"{CPU}/intel_pstate/status": "active\n",
        f"{CPU}/intel_pstate/no_turbo": "0\n",
        f"{CPU}/smt/control": "on\n",
        f"{CPU}/cpuidle/current_driver": "intel_idle\n",
        f"{CPU}/vulnerabilities/l1tf": "Not affected\n",
        f"{CPU}/vulnerabilities/retbleed": "Mitigation: Enhanced IBRS\n",
    }
    for cpu in range(cpus):
        files |= {
            f"{CPU}/cpu{cpu}/cpufreq/scaling_driver": "intel_pstate\n",
            f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n",
            f"{CPU}/cpu{cpu}/cpufreq/scaling_max_freq": "4000000\n",
            f"{CPU}/cpu{cpu}/cpufreq/energy_performance_preference": "balance_performance\n",
            f"{CPU}/cpu{cpu}/cpufreq/base_frequency": "2700000\n",
            f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_min_freq": "1000000\n",
            f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq": "4000000\n",
            f"{CPU}/cpu{cpu}/power/energy_perf_bias": "7\n",
        }
        for state, (name, latency) in enumerate((("POLL", 0), ("C1", 2), ("C6", 133))):
            files |= {
                f"{CPU}/cpu{cpu}/cpuidle/state{state}/name": f"{name}\n",
                f"{CPU}/cpu{cpu}/cpuidle/state{state}/latency": f"{latency}\n",
                f"{CPU}/cpu{cpu}/cpuidle/state{state}/disable": "0\n",
            }
    return files


def read(files: dict[str, str | Why]) -> Cpu:
    """Return the Cpu that the files give; they must give one."""
    cpu = power.collect_power(FakeHost(files)).cpu
    assert cpu is not None
    return cpu


def test_an_intel_server_is_described_whole() -> None:
    """Clocks are in hertz, and every file read is one that a capture keeps."""
    host = FakeHost(intel())
    expected = Cpu(
        base_hz=2_700_000_000,
        min_hz=1_000_000_000,
        max_hz=4_000_000_000,
        boost_headroom=round(4.0 / 2.7 - 1, 4),
        limit_hz=4_000_000_000,
        driver="intel_pstate",
        pstate="active",
        governors=("powersave",),
        epp=("balance_performance",),
        epb=(7,),
        boost=True,
        smt_control="on",
        idle_driver="intel_idle",
        idle_states=(
            IdleState(name="POLL", latency=0, disabled=CpuSet()),
            IdleState(name="C1", latency=2, disabled=CpuSet()),
            IdleState(name="C6", latency=133, disabled=CpuSet()),
        ),
        vulnerabilities={"l1tf": "Not affected", "retbleed": "Mitigation: Enhanced IBRS"},
    )
    machine = power.collect_power(host)
    assert (expected, ()) == (machine.cpu, machine.gaps)
    assert all(covered(path, power.POWER_PATHS) for path in host.asked)


def test_one_cpu_that_differs_is_seen() -> None:
    """A governor, a cap or a sleep state that one CPU has alone is not lost among the others."""
    files = intel() | {
        f"{CPU}/cpu3/cpufreq/scaling_governor": "performance\n",
        f"{CPU}/cpu3/cpufreq/scaling_max_freq": "1200000\n",
        f"{CPU}/cpu3/cpuidle/state2/disable": "1\n",
    }
    cpu = read(files)
    assert cpu.idle_states is not None
    assert (("performance", "powersave"), 1_200_000_000, CpuSet([3])) == (
        cpu.governors,
        cpu.limit_hz,
        cpu.idle_states[2].disabled,
    )


def test_offline_cpus_are_not_asked() -> None:
    """An offline CPU 0 has no cpufreq folder: the first CPU online answers for the machine."""
    files = {path: text for path, text in intel().items() if "/cpu0/" not in path}
    files |= {f"{CPU}/online": "1-3\n", f"{CPU}/cpu0/online": "0\n"}
    expected = ("intel_pstate", ("powersave",))
    assert expected == (read(files).driver, read(files).governors)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({f"{CPU}/intel_pstate/no_turbo": "1\n"}, False),
        ({f"{CPU}/intel_pstate/no_turbo": "0\n"}, True),
        ({f"{CPU}/intel_pstate/no_turbo": Why.FAILED, f"{CPU}/cpufreq/boost": "1\n"}, True),
        ({f"{CPU}/cpufreq/boost": "0\n"}, False),
        ({f"{CPU}/cpu0/cpufreq/boost": "1\n", f"{CPU}/cpu1/cpufreq/boost": "0\n"}, False),
        ({f"{CPU}/smt/control": "off\n"}, None),
    ],
)
def test_boost_has_three_switches(files: dict[str, str | Why], expected: bool | None) -> None:
    """Intel's says no_turbo, cpufreq's says boost, and recent amd-pstate has one for each CPU."""
    assert expected == read(files).boost


@pytest.mark.parametrize(
    ("files", "expected", "where"),
    [
        ({f"{CPU}/cpu0/cpufreq/base_frequency": "2700000\n"}, 2_700_000_000, f"{CPU}/cpu0/cpufreq/base_frequency"),
        ({f"{CPU}/cpu0/acpi_cppc/nominal_freq": "2250\n"}, 2_250_000_000, f"{CPU}/cpu0/acpi_cppc/nominal_freq"),
        (
            {
                f"{CPU}/cpu0/acpi_cppc/nominal_freq": "0\n",
                "/proc/cpuinfo": "processor : 0\nmodel name : Intel(R) Xeon(R) CPU E5-2660 v3 @ 2.60GHz\n",
            },
            2_600_000_000,
            "model name in /proc/cpuinfo",
        ),
    ],
    ids=["intel_pstate", "cppc", "name"],
)
def test_the_base_clock_has_three_sources(files: dict[str, str | Why], expected: int, where: str) -> None:
    """The source says which one told, for a name is weaker than a table."""
    machine = power.collect_power(FakeHost(files))
    assert machine.cpu is not None
    assert (expected, where) == (machine.cpu.base_hz, {s.fact: s.where for s in machine.sources}["cpu.base_hz"])


def test_a_name_without_a_clock_gives_none() -> None:
    """AMD's names hold no clock."""
    assert power.clock_of_name("AMD EPYC 7702 64-Core Processor") is None


def test_no_idle_driver_means_no_sleep_states() -> None:
    """A kernel that says its driver is none has looked and found none."""
    cpu = read({f"{CPU}/cpuidle/current_driver": "none\n"})
    expected = ("none", ())
    assert expected == (cpu.idle_driver, cpu.idle_states)


def test_old_kernels_do_not_say_which_states_are_off() -> None:
    """Without the disable files it is not known on which CPUs a state is off."""
    files = {path: text for path, text in intel().items() if not path.endswith("disable")}
    states = read(files).idle_states
    assert states is not None
    expected = [None, None, None]
    assert expected == [state.disabled for state in states]


def test_nothing_kept_is_one_gap() -> None:
    """A lone hwloc XML gives one gap, under a fact that no other source knows."""
    machine = power.collect_power(FakeHost(otherwise=Why.NOT_KEPT))
    expected = (None, ["cpu.governors"])
    assert expected == (machine.cpu, [gap.fact for gap in machine.gaps])


@given(st.text(), st.text(), st.text())
def test_any_text_is_survived(governor: str, clock: str, online: str) -> None:
    """No content of the files stops the source."""
    files = intel(2) | {
        f"{CPU}/online": online,
        f"{CPU}/cpu0/cpufreq/scaling_governor": governor,
        f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": clock,
    }
    assert isinstance(power.collect_power(FakeHost(files)), Machine)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("0\n",) * 4, ()),
        (("0\n", "0\n", "50\n", "n/a\n"), (0, 50)),
        ((), None),
    ],
)
def test_wakeup_limits_of_single_cpus_are_read(texts: tuple[str, ...], expected: tuple[int, ...] | None) -> None:
    """PM QoS writes 0 where nothing is limited and n/a where no wake-up is bearable."""
    limits = {f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us": text for cpu, text in enumerate(texts)}
    assert read(intel() | limits).wakeup_limits == expected


def test_the_firmwares_cppc_table_is_read() -> None:
    """A GB10 has 108 for both: there is no clock above its base."""
    table = {f"{CPU}/cpu0/acpi_cppc/highest_perf": "108\n", f"{CPU}/cpu0/acpi_cppc/nominal_perf": "108\n"}
    cpu = read(intel() | table)
    assert (cpu.cppc_highest, cpu.cppc_nominal) == (108, 108)


@pytest.mark.parametrize(("text", "begins"), [("enabled\n", False), ("disabled\n", True), ("?", None), (None, None)])
def test_a_state_that_the_firmware_lacks_began_switched_off(text: str | None, begins: bool | None) -> None:
    """intel_idle lists C6 whatever the BIOS says; only default_status shows whether the firmware's _CST has it."""
    files = intel()
    if text is not None:
        files[f"{CPU}/cpu0/cpuidle/state2/default_status"] = text
    states = read(files).idle_states or ()
    assert [state.off_by_default for state in states] == [None, None, begins]
