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

    bits: Annotated[tuple[tuple[int, int], ...], BeforeValidator(_spans)] = Field(description="ranges; any of several")
    word: int = optional("in which word of the answer", 0, ge=0, le=7)
    on: int | None = optional("the value that means on", ge=0, le=1)
    times: float = optional("what the number is multiplied by: to hertz, to watts", 1, gt=0)
    words: dict[int, str] = optional("value -> word; another value is not known", {})
    flags: tuple[str, ...] = optional("names of the single bits, the lowest first", ())
    setting: str | None = optional("what it is a witness of")

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

    title: str = Field(min_length=1, description="its name in the vendor's documents")
    vendor: str = optional("the CPUID vendor", "AuthenticAMD")
    models: dict[int, Numbers] = Field(description="family -> models whose documents name it")
    source: str = Field(description="publication: its ID in rules/sources.yaml")
    fields: dict[str, BitField] = Field(description="name of the fact -> its bits", min_length=1)

    def serves(self, processor: Processor) -> bool:
        """Return whether the documents of a processor name it; those of a guest's none."""
        here = processor.model in self.models.get(processor.family, ())
        return here and processor.vendor == self.vendor and not processor.guest

    def shows(self, setting: str) -> bool:
        """Return whether one of its fields is a witness of a setting."""
        return any(field.setting == setting for field in self.fields.values())


class Msr(_Asked):
    """A model-specific register."""

    msr: int = Field(ge=0, lt=1 << 32, description="its number")
    per: Literal["core", "package"] = Field(description="on one thread of what it is read")
    writers: str = Field(min_length=1, description="who may have written it besides the BIOS")


class Message(_Asked):
    """A message to the management firmware of a socket."""

    message: int = Field(ge=1, lt=0x100, description="its number")
    words: int = Field(ge=1, le=8, description="how many words come back, as the driver's own table has it")
    arguments: tuple[int, ...] = optional("one run for each; () one run without", ())
    protocol: int = optional("the least version of the firmware's interface", 0)
    samples: int = optional("how often it is sent", 1, ge=1, le=20)

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

    field: Key[str] = Field(description="the fact that it would give: l2_stream")
    msr: str = Field(description="0x1a4 MISC_FEATURE_CONTROL")
    most: str = Field(description="what most of the CPUs asked have")
    other: str = Field(description="what the others have")
    cpus: CpuSet = Field(description="the others: one thread of each core was asked")


class Registers(Value):
    """What the registers of the processors say now, where all that were asked say the same."""

    l1_stream: bool | None = optional("whether the L1 stream prefetcher (Intel: DCU) is on")
    l1_ip: bool | None = optional("whether the L1 prefetcher by instruction (Intel: DCU IP) is on")
    l1_stride: bool | None = optional("whether AMD's L1 stride prefetcher is on")
    l1_region: bool | None = optional("whether AMD's L1 region prefetcher is on")
    l2_stream: bool | None = optional("whether the L2 stream prefetcher (the hardware prefetcher) is on")
    l2_adjacent: bool | None = optional("whether the adjacent line prefetcher is on")
    l2_updown: bool | None = optional("whether AMD's L2 up/down prefetcher is on")
    l2_amp: bool | None = optional("whether the AMP prefetcher (Sapphire Rapids and later) is on")
    llc_prefetch: bool | None = optional("whether the LLC prefetcher (Sapphire Rapids and later) is on")
    turbo: bool | None = optional("whether turbo, AMD's core performance boost, is allowed")
    c1e: bool | None = optional("whether C1 is promoted to C1E")
    package_cstate_limit: str | None = optional("deepest state of the package: C0, C2, C6, C6R, none")
    package_cstate_locked: bool | None = optional("whether that limit is locked until the next reset")
    hwp: bool | None = optional("whether the processor chooses its clock itself (HWP, Speed Shift)")
    firmware_pstates: bool | None = optional("whether the firmware chooses the clock (out of band)")
    energy_bias: Number | None = optional("energy and performance bias, 0 performance, 15 power save")
    uncore_max: Hertz | None = optional("the highest clock that the uncore may run at")
    uncore_min: Hertz | None = optional("the lowest clock that the uncore may run at")
    power_limit_locked: bool | None = optional("whether the package's power limits are locked")
    tdp_level: Number | None = optional("which of the configurable TDPs holds; 0 the nominal one")
    tdp_level_locked: bool | None = optional("whether that choice is locked until the next reset")
    x2apic: bool | None = optional("whether the interrupt controllers run in x2APIC mode")
    memory_encryption: bool | None = optional("whether total memory encryption (Intel TME) is on")
    sme: bool | None = optional("whether the system may encrypt pages (AMD SME)")
    pstate1: bool | None = optional("whether P-state 1, the second clock of the cores, is offered")
    pstate2: bool | None = optional("whether P-state 2, the third clock of the cores, is offered")
    differing: tuple[RegisterDifference, ...] | None = optional("registers that are not the same on all cores; () all are")


class SocketFirmware(Value):
    """What the management firmware of an EPYC socket says (HSMP)."""

    socket: Key[Number] = Field(description="position, from 0")
    protocol: Number | None = optional("version of its interface: 5 Genoa, 7 Turin")
    power_limit: Watts | None = optional("the limit that it keeps")
    power_limit_max: Watts | None = optional("the highest that may be set")
    fabric_clock: Volatile[Hertz | None] = optional("clock of the data fabric (FCLK), highest of the looks")
    fabric_clock_lowest: Volatile[Hertz | None] = optional("the lowest of the looks")
    memory_clock: Hertz | None = optional("clock of the memory; transfers are twice as many")
    memory_clock_lowest: Volatile[Hertz | None] = optional("the lowest of the looks")
    busy: Volatile[Count | None] = optional("per cent of the time in which cores were awake (C0)")
    limits: Volatile[tuple[str, ...] | None] = optional("what holds the clock of the cores back now")
    io_clock_lowest: tuple[Number, ...] | None = optional(
        "lowest level of the I/O clock (LCLK) for each of the four NBIOs, 0 to 3"
    )
    io_clock_highest: tuple[Number, ...] | None = optional("the highest levels")
    xgmi_narrowest: str | None = optional("narrowest width that the links between sockets may take")
    xgmi_widest: str | None = optional("the widest")
    fabric_fixed: bool | None = optional("whether the fabric's clock does not follow the load (APB off)")
    fabric_pstate: Number | None = optional("the P-state that it is fixed at")
    power_mode: str | None = optional("performance, efficiency, io or balanced")
    fabric_sleeps: bool | None = optional("whether the fabric has C-states")
