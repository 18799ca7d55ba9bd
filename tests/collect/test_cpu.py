import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Cpu
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Machine
from advisor.machine.sources import cpu
from tests.collect.os_host import FakeHost, covered

EPYC = """processor\t: {n}
vendor_id\t: AuthenticAMD
cpu family\t: 23
model\t\t: 49
model name\t: AMD EPYC 7702 64-Core Processor
stepping\t: {stepping}
microcode\t: {microcode}
cpu MHz\t\t: {n}.000
flags\t\t: fpu vme lm avx2 svm
power management:

"""
NEOVERSE = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: {part}
CPU revision\t: 1

"""
POWER7 = """processor\t: 0
cpu\t\t: POWER7 (architected), altivec supported
clock\t\t: 3864.000000MHz
revision\t: 2.1 (pvr 003f 0201)

timebase\t: 512000000
model\t\t: IBM,9179-MHB
"""
S390 = """vendor_id       : IBM/S390
# processors    : 2
features\t: esan3 zarch stfle
processor 0: version = FF,  identification = 000123,  machine = 2817
processor 1: version = FF,  identification = 100123,  machine = 2817
"""
RISCV = "processor\t: 0\nhart\t\t: 3\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\n"
LOONG = """system type\t\t: generic-loongson-machine

processor\t\t: 0
CPU Family\t\t: Loongson-64bit
Model Name\t\t: Loongson-3A5000
Features\t\t: cpucfg lam

processor\t\t: 1
CPU Family\t\t: Loongson-64bit
Model Name\t\t: Loongson-3A5000
"""


def epyc(count: int, microcode: str = "0x830107a", stepping: int = 0) -> str:
    """Return the cpuinfo of so many CPUs."""
    return "".join(EPYC.format(n=n, microcode=microcode, stepping=stepping) for n in range(count))


def read(text: str) -> Machine:
    """Return what the source makes of a cpuinfo."""
    return cpu.collect_cpu(FakeHost({"/proc/cpuinfo": text}))


def test_an_epyc_is_described_whole() -> None:
    """Every fact of an x86 processor is taken from the first block and checked against the others."""
    expected = Cpu(
        vendor="AuthenticAMD",
        model_name="AMD EPYC 7702 64-Core Processor",
        family=23,
        model=49,
        stepping=0,
        flags=("avx2", "fpu", "lm", "svm", "vme"),
        microcode=("0x830107a",),
    )
    assert expected == read(epyc(3)).cpu


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NEOVERSE.format(part="0xd0c"), Cpu(vendor="0x41", model_name="Neoverse-N1", model=0xD0C, flags=("asimd", "fp", "sve"))),
        (POWER7, Cpu(model_name="POWER7 (architected), altivec supported")),
        (S390, Cpu(vendor="IBM/S390", flags=("esan3", "stfle", "zarch"))),
        (RISCV, Cpu(vendor="0x489", model_name="sifive,u74-mc")),
        (LOONG, Cpu(model_name="Loongson-3A5000", flags=("cpucfg", "lam"))),
    ],
    ids=["arm", "power", "s390", "riscv", "loongarch"],
)
def test_other_architectures_are_read_in_their_own_spelling(text: str, expected: Cpu) -> None:
    """What an architecture does not tell stays None."""
    assert expected == read(text).cpu


def test_several_microcode_revisions_are_all_kept() -> None:
    """A node whose sockets run different microcode shows both revisions."""
    found = read(epyc(2) + epyc(2, microcode="0x8301034")).cpu
    assert found is not None
    expected = ("0x8301034", "0x830107a")
    assert expected == found.microcode


def test_different_processors_share_no_stepping() -> None:
    """Where the CPUs differ the fact is not known, and the gap names both values."""
    machine = read(epyc(1) + epyc(1, stepping=1))
    assert machine.cpu is not None
    expected = (None, [("cpu.stepping", "/proc/cpuinfo: the CPUs differ: 0, 1")])
    assert expected == (
        machine.cpu.stepping,
        [(gap.fact, gap.why) for gap in machine.gaps],
    )


def test_spaces_in_the_name_are_made_one() -> None:
    """Intel's padded names become readable."""
    found = read("processor : 0\nmodel name : Intel(R) Xeon(R) CPU           E5345  @ 2.33GHz\n").cpu
    assert found is not None
    assert found.model_name == "Intel(R) Xeon(R) CPU E5345 @ 2.33GHz"


def test_microcode_comes_from_sysfs_on_old_kernels() -> None:
    """Before Linux 3.2 cpuinfo had no microcode line; sysfs had."""
    text = "processor : 0\nflags : fpu lm\n"
    host = FakeHost({"/proc/cpuinfo": text, "/sys/devices/system/cpu/cpu0/microcode/version": "0x8\n"})
    found = cpu.collect_cpu(host).cpu
    assert found is not None
    expected = ("0x8",)
    assert expected == found.microcode
    assert all(covered(path, cpu.CPU_PATHS) for path in host.asked)


def test_nothing_kept_is_one_gap() -> None:
    """A lone hwloc XML gives one gap for the section."""
    machine = cpu.collect_cpu(FakeHost(otherwise=Why.NOT_KEPT))
    expected = (None, ["cpu"])
    assert expected == (machine.cpu, [gap.fact for gap in machine.gaps])


def test_an_empty_file_is_a_gap() -> None:
    """An empty cpuinfo, as a broken capture may hold, is said to be empty."""
    machine = read("")
    expected = (None, ["/proc/cpuinfo is empty"])
    assert expected == (machine.cpu, [gap.why for gap in machine.gaps])


@given(
    st.text()
    | st.lists(st.sampled_from(["processor", "model", "flags", "\t: ", ":", "\n", "\n\n", "0x", "9" * 30, " "])).map("".join)
)
def test_any_text_is_survived(text: str) -> None:
    """No content of the file stops the source."""
    assert isinstance(read(text), Machine)
