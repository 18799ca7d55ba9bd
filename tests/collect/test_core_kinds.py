import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import CoreKind
from advisor.machine.sources.cpu import CORE_KINDS_PATHS, collect_core_kinds
from advisor.machine.sources.cpu import collect_cpu as cpu
from tests.collect.device_host import Server, uncovered

ARM = "processor\t: {}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: {}\n\n"


def cpuinfo(*parts: str) -> str:
    """Return /proc/cpuinfo of a CPU of each part."""
    return "".join(ARM.format(number, part) for number, part in enumerate(parts))


def test_performance_and_efficient_cores_of_intel() -> None:
    """The devices of the two kinds' counters list their CPUs."""
    server = Server("0-15")
    server.files |= {"/sys/devices/cpu_core/cpus": "0-7\n", "/sys/devices/cpu_atom/cpus": "8-15\n"}
    host = server.host
    found = collect_core_kinds(host).cpu
    assert found is not None
    fast, slow = CpuSet.parse("0-7"), CpuSet.parse("8-15")
    assert found.kinds == (CoreKind(name="P-core", cpus=fast, speed=1), CoreKind(name="E-core", cpus=slow, speed=0))
    assert uncovered(host, CORE_KINDS_PATHS) == []


def test_two_kinds_of_cores_of_arm() -> None:
    """GB10's cores are of two parts, and each is named."""
    server = Server("0-3")
    server.files["/proc/cpuinfo"] = cpuinfo("0xd87", "0xd85", "0xd87", "0xd85")
    found = collect_core_kinds(server.host).cpu
    assert found is not None
    assert found.kinds == (CoreKind(name="Cortex-A725", cpus=CpuSet([0, 2])), CoreKind(name="Cortex-X925", cpus=CpuSet([1, 3])))


@pytest.mark.parametrize(("file", "fast", "slow"), [("cpu_capacity", 1024, 731), ("cpufreq/cpuinfo_max_freq", 3900000, 2808000)])
def test_the_faster_kind_of_arm_comes_first(file: str, fast: int, slow: int) -> None:
    """The kernel's capacity ranks GB10's kinds, and where it gives none the highest clocks do, where they are far apart."""
    server = Server("0-3")
    server.files["/proc/cpuinfo"] = cpuinfo("0xd87", "0xd85", "0xd87", "0xd85")
    server.files |= {f"/sys/devices/system/cpu/cpu{cpu}/{file}": f"{fast if cpu % 2 else slow}\n" for cpu in range(4)}
    found = collect_core_kinds(server.host).cpu
    assert found is not None
    assert [(kind.name, str(kind.cpus), kind.speed) for kind in found.kinds or ()] == [
        ("Cortex-X925", "1,3", 1),
        ("Cortex-A725", "0,2", 0),
    ]
    assert uncovered(server.host, CORE_KINDS_PATHS) == []


def test_clocks_that_are_near_rank_no_kinds() -> None:
    """A part that clocks a tenth higher than another need not be the faster one."""
    server = Server("0-1")
    server.files["/proc/cpuinfo"] = cpuinfo("0xd87", "0xd85")
    server.files |= {
        f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": f"{clock}\n" for cpu, clock in enumerate((3300000, 3000000))
    }
    found = collect_core_kinds(server.host).cpu
    assert found is not None
    assert [kind.speed for kind in found.kinds or ()] == [None, None]


def test_cores_of_one_part_and_several_capacities_are_kinds() -> None:
    """As on an Oryon, whose clusters are of one part: those of less capacity are slower."""
    server = Server("0-3")
    server.files["/proc/cpuinfo"] = cpuinfo("0xd4f", "0xd4f", "0xd4f", "0xd4f")
    capacities = (700, 718, 1000, 1024)
    server.files |= {f"/sys/devices/system/cpu/cpu{cpu}/cpu_capacity": f"{value}\n" for cpu, value in enumerate(capacities)}
    found = collect_core_kinds(server.host).cpu
    assert found is not None
    assert [(kind.name, str(kind.cpus), kind.speed) for kind in found.kinds or ()] == [
        ("core of capacity 1024", "2-3", 1),
        ("core of capacity 718", "0-1", 0),
    ]


def test_cores_that_are_alike_have_no_kinds() -> None:
    """A server of one kind of core is not said to have kinds."""
    server = Server("0-3")
    server.files["/proc/cpuinfo"] = cpuinfo("0xd4f", "0xd4f")
    assert collect_core_kinds(server.host).cpu is None


def test_a_processor_of_arm_is_named_by_implementer_and_part() -> None:
    """The kernel gives numbers alone: 0x41 and 0xd4f are a Neoverse-V2."""
    server = Server("0-3")
    server.files["/proc/cpuinfo"] = cpuinfo("0xd4f", "0xd4f")
    found = cpu(server.host).cpu
    assert found is not None
    assert found.model_name == "Neoverse-V2"


def test_a_part_that_nobody_named_has_no_name() -> None:
    """A number that is in no table gives no name, and its kind goes by the number."""
    server = Server("0-3")
    server.files["/proc/cpuinfo"] = cpuinfo("0xfff", "0xd4f")
    found = collect_core_kinds(server.host).cpu
    assert found is not None
    assert [kind.name for kind in found.kinds or ()] == ["part 0xfff", "Neoverse-V2"]
