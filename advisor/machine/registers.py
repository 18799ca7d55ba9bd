"""Registers and messages that show what a BIOS has set: which there are, on which processors, and what was read of them.

The tables are data (rules/registers): nothing is ever asked that does not stand in them, for the processor at hand.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, RootModel

from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import Count, Hertz, Key, Number, Volatile, Watts
from advisor.machine.platform_traits import Numbers
from advisor.machine.value import Value, optional
from advisor.paths import rules
from advisor.sheets import load_sheet


class Processor(NamedTuple):
    """A processor as CPUID names it; ``guest`` where a hypervisor answers in its place."""

    vendor: str
    family: int
    model: int
    guest: bool = False


_LINE = re.compile(r"^(vendor_id|cpu family|model|flags)[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_HEAD = 1 << 14
"""The first CPU's lines of /proc/cpuinfo are within so many characters."""


def processor_of(cpuinfo: str) -> Processor | None:
    """Return the processor of the first CPU in /proc/cpuinfo; None off x86."""
    told: dict[str, str] = {}
    for key, value in _LINE.findall(cpuinfo[:_HEAD]):
        told.setdefault(key, value.strip())
    family, model = told.get("cpu family", ""), told.get("model", "")
    if "vendor_id" not in told or not (family.isdecimal() and model.isdecimal()):
        return None
    return Processor(told["vendor_id"], int(family), int(model), "hypervisor" in told.get("flags", "hypervisor").split())


def _spans(data: Any) -> Any:
    """Return ranges of bits, the highest first, of ``38``, ``6:0`` and a list of single bits."""
    items = data if isinstance(data, list) else [data]
    return tuple(tuple(int(end) for end in f"{item}:{item}".split(":"))[:2] for item in items)


class BitField(Value):
    """What some bits of an answer say."""

    bits: Annotated[tuple[tuple[int, int], ...], BeforeValidator(_spans)]
    """ranges; any of several"""
    word: int = optional(0, ge=0, le=7)
    """word of the answer"""
    on: int | None = optional(ge=0, le=1)
    """the value for on"""
    times: float = optional(1, gt=0)
    """factor to hertz or watts"""
    words: dict[int, str] = optional({})
    """value -> word; other values are unknown"""
    flags: tuple[str, ...] = ()
    """names of the single bits, the lowest first"""
    setting: str | None = None
    """what it is evidence of"""

    def value(self, answer: int) -> bool | int | float | str | tuple[str, ...] | None:
        """Return what an answer says; None of a code that no document names."""
        found = [answer >> low & (1 << high - low + 1) - 1 for high, low in self.bits]
        if self.on is not None:
            return any(each == self.on for each in found)
        if self.flags:
            return tuple(name for at, name in enumerate(self.flags) if found[0] >> at & 1)
        if self.words:
            return self.words.get(found[0])
        return found[0] if self.times == 1 else round(found[0] * self.times, 3)


class _Asked(Value):
    """What registers and messages have in common."""

    title: str = Field(min_length=1)
    """its name in the vendor's documents"""
    vendor: str = "AuthenticAMD"
    """the CPUID vendor"""
    models: dict[int, Numbers]
    """family -> models whose documents list it"""
    source: str
    """publication: its ID in rules/sources.yaml"""
    fields: dict[str, BitField] = Field(min_length=1)
    """name of the fact -> its bits"""

    def serves(self, processor: Processor) -> bool:
        """Return whether the documents of a processor name it; those of a guest's none."""
        here = processor.model in self.models.get(processor.family, ())
        return here and processor.vendor == self.vendor and not processor.guest

    def shows(self, setting: str) -> bool:
        """Return whether one of its fields is a witness of a setting."""
        return any(field.setting == setting for field in self.fields.values())


class Msr(_Asked):
    """A model-specific register."""

    msr: int = Field(ge=0, lt=1 << 32)
    """its number"""
    per: Literal["core", "package"]
    """on one thread of what it is read"""
    writers: str = Field(min_length=1)
    """who may have written it besides the BIOS"""


class Message(_Asked):
    """A message to the management firmware of a socket."""

    message: int = Field(ge=1, lt=0x100)
    """its number"""
    words: int = Field(ge=1, le=8)
    """how many words come back, as the driver's own table has it"""
    arguments: tuple[int, ...] = ()
    """one run for each; () one run without"""
    protocol: int = 0
    """the least version of the firmware's interface"""
    samples: int = optional(1, ge=1, le=20)
    """how often it is sent"""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names under which its runs are kept: 0x0f, 0x13.10000."""
        return tuple(f"{self.message:#04x}.{argument:x}" for argument in self.arguments) or (f"{self.message:#04x}",)


class _Registers(RootModel[tuple[Msr, ...]]):
    """The sheet of the registers."""


class _Messages(RootModel[tuple[Message, ...]]):
    """The sheet of the messages."""


@cache
def registers() -> tuple[Msr, ...]:
    """Return every register that is ever read."""
    return load_sheet(rules() / "registers" / "msr.yaml", _Registers).root


@cache
def messages() -> tuple[Message, ...]:
    """Return every message that is ever sent."""
    return load_sheet(rules() / "registers" / "hsmp.yaml", _Messages).root


def registers_of(processor: Processor) -> Iterator[Msr]:
    """Yield the registers that the documents of a processor name."""
    return (each for each in registers() if each.serves(processor))


class RegisterDifference(Value):
    """A register that is not the same on all cores."""

    field: Key[str]
    """the fact that it would provide: l2_stream"""
    msr: str
    """0x1a4 MISC_FEATURE_CONTROL"""
    most: str
    """the value on most of the CPUs read"""
    other: str
    """the value on the other CPUs"""
    cpus: CpuSet
    """the CPUs with the other value: one thread per core was read"""


class Registers(Value):
    """The current values of the processors' registers, if all registers that were read agree."""

    l1_stream: bool | None = None
    """whether the L1 stream prefetcher (Intel: DCU) is on"""
    l1_ip: bool | None = None
    """whether the L1 prefetcher by instruction (Intel: DCU IP) is on"""
    l1_stride: bool | None = None
    """whether AMD's L1 stride prefetcher is on"""
    l1_region: bool | None = None
    """whether AMD's L1 region prefetcher is on"""
    l2_stream: bool | None = None
    """whether the L2 stream prefetcher (the hardware prefetcher) is on"""
    l2_adjacent: bool | None = None
    """whether the adjacent line prefetcher is on"""
    l2_updown: bool | None = None
    """whether AMD's L2 up/down prefetcher is on"""
    l2_amp: bool | None = None
    """whether the AMP prefetcher (Sapphire Rapids and later) is on"""
    llc_prefetch: bool | None = None
    """whether the LLC prefetcher (Sapphire Rapids and later) is on"""
    turbo: bool | None = None
    """whether turbo, AMD's core performance boost, is allowed"""
    c1e: bool | None = None
    """whether C1 is promoted to C1E"""
    package_cstate_limit: str | None = None
    """deepest package C-state: C0, C2, C6, C6R, none"""
    package_cstate_locked: bool | None = None
    """whether the package C-state limit is locked until the next reset"""
    hwp: bool | None = None
    """whether the processor chooses its clock itself (HWP, Speed Shift)"""
    firmware_pstates: bool | None = None
    """whether the firmware chooses the clock (out of band)"""
    energy_bias: Number | None = None
    """energy and performance bias: 0 is performance, 15 is power saving"""
    uncore_max: Hertz | None = None
    """the highest clock that the uncore may run at"""
    uncore_min: Hertz | None = None
    """the lowest clock that the uncore may run at"""
    power_limit_locked: bool | None = None
    """whether the package's power limits are locked"""
    tdp_level: Number | None = None
    """the active configurable TDP; 0 is nominal"""
    tdp_level_locked: bool | None = None
    """whether the TDP level is locked until the next reset"""
    x2apic: bool | None = None
    """whether the interrupt controllers run in x2APIC mode"""
    memory_encryption: bool | None = None
    """whether total memory encryption (Intel TME) is on"""
    sme: bool | None = None
    """whether the system may encrypt pages (AMD SME)"""
    pstate1: bool | None = None
    """whether P-state 1, the second clock of the cores, is offered"""
    pstate2: bool | None = None
    """whether P-state 2, the third clock of the cores, is offered"""
    differing: tuple[RegisterDifference, ...] | None = None
    """registers that differ between cores; () if none"""


class SocketFirmware(Value):
    """What the management firmware of an EPYC socket says (HSMP)."""

    socket: Key[Number]
    """position, from 0"""
    protocol: Number | None = None
    """version of its interface: 5 Genoa, 7 Turin"""
    power_limit: Watts | None = None
    """its power limit"""
    power_limit_max: Watts | None = None
    """the highest power limit that may be set"""
    fabric_clock: Volatile[Hertz | None] = None
    """clock of the data fabric (FCLK), highest reading"""
    fabric_clock_lowest: Volatile[Hertz | None] = None
    """the lowest reading"""
    memory_clock: Hertz | None = None
    """clock of the memory; the transfer rate is twice this"""
    memory_clock_lowest: Volatile[Hertz | None] = None
    """the lowest reading"""
    busy: Volatile[Count | None] = None
    """percentage of time that cores were awake (C0)"""
    limits: Volatile[tuple[str, ...] | None] = None
    """what currently limits the core clock"""
    io_clock_lowest: tuple[Number, ...] | None = None
    """lowest level of the I/O clock (LCLK) for each of the four NBIOs, 0 to 3"""
    io_clock_highest: tuple[Number, ...] | None = None
    """the highest levels"""
    xgmi_narrowest: str | None = None
    """narrowest width that the socket links may use"""
    xgmi_widest: str | None = None
    """the widest"""
    fabric_fixed: bool | None = None
    """whether the fabric's clock does not follow the load (APB off)"""
    fabric_pstate: Number | None = None
    """the P-state at which it is fixed"""
    power_mode: str | None = None
    """performance, efficiency, io or balanced"""
    fabric_sleeps: bool | None = None
    """whether the fabric has C-states"""
