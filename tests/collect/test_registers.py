from collections.abc import Mapping

import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Why
from advisor.machine.machine import NOT_OFFERED, Gap
from advisor.machine.registers import RegisterDifference, Registers
from advisor.machine.sources.registers import LOAD_MSR, REGISTER_PATHS, collect_registers
from tests.collect.os_host import FakeHost, covered
from tests.fakenode.devices import cpuinfo

SKYLAKE, ICE_LAKE = cpuinfo("GenuineIntel", 6, 85), cpuinfo("GenuineIntel", 6, 106)
MILAN, ROME = cpuinfo("AuthenticAMD", 25, 1), cpuinfo("AuthenticAMD", 23, 49)


def host(identity: str, values: Mapping[int, Mapping[int, int]]) -> FakeHost:
    """Return a machine whose CPUs have registers of some values."""
    files: dict[str, str | Why] = {"/proc/cpuinfo": identity}
    files |= {f"/dev/cpu/{cpu}/msr/{name:#x}": f"{value:016x}\n" for cpu, own in values.items() for name, value in own.items()}
    return FakeHost(files)


def read(identity: str, values: Mapping[int, int]) -> dict[str, object]:
    """Return what registers of one CPU tell."""
    found = collect_registers(host(identity, {0: values})).registers
    return {} if found is None else found.model_dump(exclude_none=True, exclude={"differing"})


PREFETCHERS = {"l2_stream": True, "l2_adjacent": True, "l1_stream": True, "l1_ip": True}


@pytest.mark.parametrize(
    ("identity", "number", "value", "expected"),
    [
        (SKYLAKE, 0x1A4, 0x0, PREFETCHERS),
        (SKYLAKE, 0x1A4, 0x5, PREFETCHERS | {"l2_stream": False, "l1_stream": False}),
        (SKYLAKE, 0x1FC, 0x0024005F, {"c1e": True}),  # "C1E auto-promotion: ENabled"
        (SKYLAKE, 0x1FC, 0x0004005D, {"c1e": False}),  # "DISabled"
        (SKYLAKE, 0xE2, 0x1E008403, {"package_cstate_limit": "C6R", "package_cstate_locked": True}),  # "locked, limit=3: pc6r"
        (SKYLAKE, 0xE2, 0x1E000001, {"package_cstate_limit": "C2", "package_cstate_locked": False}),  # "UNlocked, limit=1: pc2"
        (SKYLAKE, 0x1AA, 0x00400000, {"firmware_pstates": False}),  # "DISable-OOB"
        (SKYLAKE, 0x1AA, 0x00040000, {"firmware_pstates": True}),
        (SKYLAKE, 0x610, 0x428348001A82A0, {"power_limit_locked": False}),  # turbostat(8)
        (SKYLAKE, 0x1A0, 0x850089, {"turbo": True}),
        (SKYLAKE, 0x1A0, 0x4000850089, {"turbo": False}),
        (SKYLAKE, 0x620, 0x0C18, {"uncore_max": 2_400_000_000, "uncore_min": 1_200_000_000}),
        (SKYLAKE, 0x64B, 0x80000000, {"tdp_level": 0, "tdp_level_locked": True}),
        (ICE_LAKE, 0x982, 0x3, {"memory_encryption": True}),
        (MILAN, 0xC0000108, 0x9,
         {"l1_stream": False, "l1_stride": True, "l1_region": True, "l2_stream": False, "l2_updown": True}),
        (MILAN, 0xC0010015, 0x0B000111, {"turbo": False}),
        (ROME, 0xC0010065, 0x80000000000A02A8, {"pstate1": True}),
        (ROME, 0xC0010066, 0x0, {"pstate2": False}),
        (ROME, 0x1B, 0xFEE00D00, {"x2apic": True}),
    ],
)  # fmt: skip
def test_bits_say_what_their_document_says(identity: str, number: int, value: int, expected: dict[str, object]) -> None:
    """Values and words as public logs of turbostat have them, one of its manual, and of AMD's registers made by their bits."""
    assert read(identity, {number: value}) == expected


def test_a_code_that_no_document_names_is_not_known() -> None:
    """The limit of the package has codes without a meaning."""
    assert read(SKYLAKE, {0xE2: 0x5}) == {"package_cstate_locked": False}


@pytest.mark.parametrize(("identity", "number"), [(ROME, 0xC0000108), (ROME, 0x1A4), (SKYLAKE, 0x6D), (SKYLAKE, 0xC0010015)])
def test_a_register_means_nothing_on_a_processor_that_has_it_not(identity: str, number: int) -> None:
    """The prefetchers of AMD have a register from Zen 3 on, that of the LLC is of Sapphire Rapids."""
    assert read(identity, {number: 0x0}) == {}


def test_a_guests_zero_says_nothing() -> None:
    """An emulator answers 0 for every register that it does not know: all prefetchers would be on."""
    guest = cpuinfo("GenuineIntel", 6, 85, "fpu msr hypervisor")
    machine = collect_registers(host(guest, {0: {0x1A4: 0, 0x1A0: 0, 0x1FC: 0}}))
    why = "a hypervisor answers in place of the processor, and its answers say nothing about the BIOS"
    assert (machine.registers, machine.gaps) == (None, (Gap(fact="registers", why=why, help=NOT_OFFERED),))


def test_one_core_that_differs_is_kept_apart() -> None:
    """What the cores do not agree on is no fact; which cores have what is said."""
    values = {cpu: {0x1A4: 0x1 if cpu == 6 else 0x0} for cpu in range(0, 8, 2)}
    found = collect_registers(host(SKYLAKE, values)).registers
    odd = RegisterDifference(field="l2_stream", msr="0x1a4 MISC_FEATURE_CONTROL", most="on", other="off", cpus=CpuSet([6]))
    assert found == Registers(l2_adjacent=True, l1_stream=True, l1_ip=True, differing=(odd,))


@pytest.mark.parametrize(
    ("otherwise", "why", "cure"),
    [
        (Why.ABSENT, "/dev/cpu/0/msr: not present", LOAD_MSR),
        (Why.REFUSED, "/dev/cpu/0/msr: permission denied, even as root if the kernel is locked down (Secure Boot)",
         "run as root: sudo advisor audit, or sudo advisor capture"),
        (Why.NOT_KEPT, "not in this input", "take a capture on the machine itself: advisor capture"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_is_said_with_its_cure(otherwise: Why, why: str, cure: str) -> None:
    """A module that is not loaded is named; a kernel that is locked down is no mistake of the user."""
    machine = collect_registers(FakeHost({"/proc/cpuinfo": SKYLAKE}, otherwise=otherwise))
    assert (machine.registers, machine.gaps) == (None, (Gap(fact="registers", why=why, help=cure),))


def test_a_processor_without_such_registers_lacks_nothing() -> None:
    """Nobody is told to load a module for a processor of which no register is known."""
    arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    assert collect_registers(FakeHost({"/proc/cpuinfo": arm})).gaps == ()


@pytest.mark.parametrize("text", ["", "zz", "0x1", "00", "000000000000000g", "-000000000000001", "00000000000000000"])
def test_what_is_no_register_is_not_read(text: str) -> None:
    """A forged capture holds anything; sixteen digits or nothing."""
    files: dict[str, str | Why] = {"/proc/cpuinfo": SKYLAKE, "/dev/cpu/0/msr/0x1a4": text}
    assert collect_registers(FakeHost(files)).registers is None


def test_what_is_read_is_kept() -> None:
    """Every file asked for is one that a capture keeps."""
    asked = host(SKYLAKE, {0: {0x1A4: 0}, 2: {0x1A4: 0}})
    collect_registers(asked)
    assert [path for path in asked.asked if not covered(path, REGISTER_PATHS)] == []
