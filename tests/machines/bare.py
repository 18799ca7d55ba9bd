"""Servers without a BMC, read by root: files of the catalogue, with registers, messages and PCI configuration."""

import re
import struct
from collections.abc import Mapping
from pathlib import Path

from advisor.machine.registers import Processor, messages, registers_of
from tests.machines.catalogue import write_root

_CPUS = "sys/devices/system/cpu"

# Values as public logs have them: turbostat's of Xeons, the kernel's defaults of EPYC, E-SMI's answers.
INTEL: Mapping[int, int] = {
    0x1A4: 0x0, 0x6D: 0x0, 0x1A0: 0x850089, 0x1FC: 0x2904005F, 0xE2: 0x8000, 0x770: 0x1, 0x1AA: 0x400000, 0x1B0: 0x0,
    0x620: 0x1818, 0x610: 0x8042834800DD82A0, 0x64B: 0x80000000, 0x1B: 0xFEE00D00, 0x982: 0x1,
}  # fmt: skip
AMD: Mapping[int, int] = {
    0xC0000108: 0x0, 0xC0010015: 0x109000010, 0xC0010010: 0xF40000, 0xC0010065: 0x80000000000A02A8,
    0xC0010066: 0x80000000000A02A8, 0x1B: 0xFEE00D00,
}  # fmt: skip
TURIN: Mapping[str, str] = {
    "0x03": "00000007", "0x06": "0007a120", "0x07": "0007a120", "0x0f": "000007d0 00000bb8\n" * 10, "0x11": "00000002",
    **{f"0x13.{nbio:x}": "00000303" for nbio in (0, 0x10000, 0x20000, 0x30000)}, "0x19": "0fa00010",
    "0x0c.80000000": "00000202", "0x0d.80000000": "00000100", "0x21.80000000": "00000000", "0x28.80000000": "00000000",
}  # fmt: skip
MILAN: Mapping[str, str] = {
    "0x03": "00000002", "0x06": "000445c0", "0x07": "000445c0", "0x0f": "00000640 00000640\n" * 10, "0x11": "00000002"
}  # fmt: skip


def rome(root: Path) -> Path:
    """Return a server with two EPYC 7702, NPS4."""
    return _served(_written("b-c6525-2x7702-nps4", root), Processor("AuthenticAMD", 23, 49), AMD)


def turin(root: Path) -> Path:
    """Return a server with two EPYC 9005, whose firmware answers all messages."""
    here = Processor("AuthenticAMD", 26, 2)
    made = _served(_renamed(_written("b-c6525-2x7702-nps4", root), here, "AMD EPYC 9555 64-Core Processor"), here, AMD)
    return _answering(made, TURIN, here)


def milan(root: Path) -> Path:
    """Return a server with two EPYC 7003."""
    here = Processor("AuthenticAMD", 25, 1)
    made = _served(_renamed(_written("b-c6525-2x7702-nps4", root), here, "AMD EPYC 7713 64-Core Processor"), here, AMD)
    return _answering(made, MILAN, here)


def sapphire_rapids(root: Path) -> Path:
    """Return a server with two Xeon of the fourth generation."""
    return _served(_written("d-delftblue-2x6448y", root), Processor("GenuineIntel", 6, 143), INTEL)


def ice_lake(root: Path) -> Path:
    """Return a server with two Xeon of the third generation."""
    here = Processor("GenuineIntel", 6, 106)
    return _served(_renamed(_written("d-delftblue-2x6448y", root), here, "Intel(R) Xeon(R) Gold 6346 CPU @ 3.10GHz"), here, INTEL)


def _written(name: str, root: Path) -> Path:
    return write_root(name, root)


def _renamed(root: Path, here: Processor, model_name: str) -> Path:
    """Return a machine with another processor, as /proc/cpuinfo has it."""
    text = (root / "proc/cpuinfo").read_text()
    for key, value in (("cpu family\t", here.family), ("model\t\t", here.model), ("model name\t", model_name)):
        text = re.sub(rf"(?m)^{key}: .*$", f"{key}: {value}", text)
    (root / "proc/cpuinfo").write_text(text)
    return root


def _served(root: Path, here: Processor, values: Mapping[int, int]) -> Path:
    """Return a machine with registers, idle states, the uncore's limits and PCI configuration."""
    packages: set[str] = set()
    for folder in (root / _CPUS).glob("cpu[0-9]*"):
        package = (folder / "topology/physical_package_id").read_text()
        per = {"core"} if package in packages else {"core", "package"}
        packages.add(package)
        for each in registers_of(here):
            if each.per in per and each.msr in values:
                put(root, f"dev/cpu/{folder.name[3:]}/msr/{each.msr:#x}", f"{values[each.msr]:016x}\n")
    _idle(root, amd=here.vendor == "AuthenticAMD")
    _adapters(root)
    _iommu(root, "ivhd0" if here.vendor == "AuthenticAMD" else "dmar0")
    if here.vendor == "GenuineIntel":
        for name in ("initial_min_freq_khz", "initial_max_freq_khz", "min_freq_khz", "max_freq_khz"):
            put(root, f"{_CPUS}/intel_uncore_frequency/package_00_die_00/{name}", "2400000\n")
        put(root, f"{_CPUS}/intel_pstate/no_turbo", "0\n")
        put(root, f"{_CPUS}/cpu0/cpufreq/scaling_driver", "intel_pstate\n")
        put(root, f"{_CPUS}/cpu0/power/energy_perf_bias", "0\n")
    else:
        put(root, "sys/bus/pci/devices/0000:22:00.1/tsme_status", "0\n")
        put(root, f"{_CPUS}/cpufreq/boost", "1\n")
        put(root, "sys/devices/system/edac/mc/mc0/sdram_scrub_rate", "98282248\n")
    return root


def _idle(root: Path, *, amd: bool) -> None:
    states = (("POLL", 0), ("C1", 1), ("C2", 18)) if amd else (("POLL", 0), ("C1", 1), ("C1E", 4), ("C6", 170))
    put(root, f"{_CPUS}/cpuidle/current_driver", "acpi_idle\n" if amd else "intel_idle\n")
    for at, (name, latency) in enumerate(states):
        for file, text in (("name", name), ("latency", str(latency)), ("disable", "0"), ("default_status", "enabled")):
            put(root, f"{_CPUS}/cpu0/cpuidle/state{at}/{file}", f"{text}\n")


def _iommu(root: Path, unit: str) -> None:
    put(root, f"sys/class/iommu/{unit}/devices/.keep", "")


def _adapters(root: Path) -> None:
    """Give each adapter capabilities: relaxed ordering and ten-bit tags on, its link awake; and virtual functions."""
    for link in (root / "sys/class/infiniband").iterdir():
        device = (link / "device").resolve()
        space = bytearray(256)
        space[:64] = (device / "config").read_bytes()[:64].ljust(64, b"\0")
        space[0x06] |= 0x10
        space[0x34], space[0x60] = 0x60, 0x10
        for offset, form, value in ((0x08, "<H", 0x5910), (0x0C, "<I", 3 << 10), (0x24, "<I", 1 << 17), (0x28, "<H", 1 << 12)):
            struct.pack_into(form, space, 0x60 + offset, value)
        (device / "config").write_bytes(space)
        (device / "sriov_totalvfs").write_text("8\n")
        (device / "sriov_numvfs").write_text("2\n")


def _answering(root: Path, answers: Mapping[str, str], here: Processor) -> Path:
    """Return a machine whose sockets answer; only messages that the documents of its processor name."""
    named = {name for each in messages() if each.serves(here) for name in each.names}
    for socket in (0, 1):
        for name, text in answers.items():
            if name in named:
                put(root, f"dev/hsmp/{socket}/{name}", f"{text.strip()}\n")
    return root


def put(root: Path, path: str, text: str) -> None:
    """Write a file of a machine."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
