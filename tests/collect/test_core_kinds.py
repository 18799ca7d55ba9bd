from advisor.machine.cpu import CoreKind
from advisor.machine.cpuset import CpuSet
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
    assert found.kinds == (CoreKind(name="P-core", cpus=CpuSet.parse("0-7")), CoreKind(name="E-core", cpus=CpuSet.parse("8-15")))
    assert uncovered(host, CORE_KINDS_PATHS) == []


def test_two_kinds_of_cores_of_arm() -> None:
    """GB10's cores are of two parts, and each is named."""
    server = Server("0-3")
    server.files["/proc/cpuinfo"] = cpuinfo("0xd87", "0xd85", "0xd87", "0xd85")
    found = collect_core_kinds(server.host).cpu
    assert found is not None
    assert found.kinds == (CoreKind(name="Cortex-A725", cpus=CpuSet([0, 2])), CoreKind(name="Cortex-X925", cpus=CpuSet([1, 3])))


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
