"""What registers, the management firmware of EPYC and the uncore's driver show of the BIOS, to root and without a restart."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, Memory, UncoreClock
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import NOT_OFFERED, Machine
from advisor.machine.registers import (
    BitField,
    Message,
    Msr,
    Processor,
    RegisterDifference,
    Registers,
    SocketFirmware,
    messages,
    processor_of,
    registers_of,
)
from advisor.machine.sources.reader import NUMBERS, ROOT_HELP, FactSource, Reader

_CPUINFO, _CPUS, _HSMP = "/proc/cpuinfo", "/dev/cpu", "/dev/hsmp"
REGISTER_PATHS = (_CPUINFO, f"{_CPUS}/*/msr/0x*")
HSMP_PATHS = (_CPUINFO, f"{_HSMP}/*/0x*")
_UNCORE = "/sys/devices/system/cpu/intel_uncore_frequency"
_UNCORE_FILES = ("initial_min_freq_khz", "initial_max_freq_khz", "min_freq_khz", "max_freq_khz")
UNCORE_PATHS = tuple(f"{_UNCORE}/*/{name}" for name in _UNCORE_FILES)

LOAD_MSR = "sudo modprobe msr, then sudo advisor audit or capture"
LOAD_HSMP = "sudo modprobe amd_hsmp (or hsmp_acpi); HSMP support must be enabled in the BIOS"
_GUEST = "a hypervisor answers in place of the processor, and its answers say nothing about the BIOS"
_LOCKED = "even as root if the kernel is locked down (Secure Boot)"


def collect_registers(host: Host) -> Machine:
    """Return what the registers say; nothing of a guest, nothing of a processor whose documents name none."""
    reader = Reader(host)
    processor = _processor(reader, "registers")
    offered = tuple(registers_of(processor)) if processor else ()
    if not offered:
        return Machine(gaps=reader.gaps)
    names = {f"{each.msr:#x}" for each in offered}
    answers: dict[str, dict[int, int]] = defaultdict(dict)
    for cpu in _numbers(host, _CPUS, 6):
        for name in names.intersection(host.list(f"{_CPUS}/{cpu}/msr")):
            value = _word(host.read(f"{_CPUS}/{cpu}/msr/{name}").text, 16)
            if value is not None:
                answers[name][cpu] = value
    if not answers:
        _explain(reader, "registers", f"{_CPUS}/0/msr/{offered[0].msr:#x}", LOAD_MSR)
        return Machine(gaps=reader.gaps)
    facts, differing = _facts(offered, answers)
    reader.found("registers", f"{_CPUS}/*/msr")
    return reader.machine(registers=Registers(**facts, differing=differing))


def _numbers(host: Host, folder: str, digits: int) -> list[int]:
    """Return the numbers that a folder's names are."""
    return sorted(int(name) for name in host.list(folder) if name.isdecimal() and name.isascii() and len(name) <= digits)


def _processor(reader: Reader, fact: str) -> Processor | None:
    """Return the processor; None, and why, of a guest."""
    found = reader.view(_CPUINFO, processor_of)
    if found and found.guest:
        reader.lacks(fact, _GUEST, NOT_OFFERED)
        return None
    return found


def _explain(reader: Reader, fact: str, example: str, load: str) -> None:
    """Say why nothing was read: the module is not there, the kernel forbids it, the input does not hold it."""
    why = reader.host.read(example).why or Why.ABSENT
    place = "/".join(example.split("/")[: 3 if example.startswith(_HSMP) else 5])
    if why is Why.ABSENT:
        reader.lacks(fact, f"{place}: not present", load)
    elif why is Why.REFUSED:
        reader.lacks(fact, f"{place}: permission denied, {_LOCKED}", ROOT_HELP)
    else:
        reader.missed(fact, place, why)


def _word(text: str | None, digits: int) -> int | None:
    """Return a word of so many hexadecimal digits."""
    found = (text or "").strip()
    return int(found, 16) if len(found) == digits and all(each in "0123456789abcdef" for each in found) else None


def _facts(
    offered: tuple[Msr, ...], answers: Mapping[str, Mapping[int, int]]
) -> tuple[dict[str, Any], tuple[RegisterDifference, ...]]:
    """Return the facts on which all CPUs agree, and what differs."""
    facts: dict[str, Any] = {}
    differing = []
    for register in offered:
        at = f"{register.msr:#x}"
        for name, field in register.fields.items():
            values = {cpu: field.value(answer) for cpu, answer in answers.get(at, {}).items()}
            (most, _), *others = Counter(values.values()).most_common() or [(None, 0)]
            if values and not others:
                facts[name] = most
            elif values:
                odd = CpuSet(cpu for cpu, value in values.items() if value != most)
                shown, other = _written(most), _written(others[0][0])
                differing.append(RegisterDifference(field=name, msr=f"{at} {register.title}", most=shown, other=other, cpus=odd))
    return facts, tuple(differing)


def _written(value: Any) -> str:
    return {True: "on", False: "off", None: "not known"}.get(value, str(value)) if isinstance(value, bool | None) else str(value)


def collect_hsmp(host: Host) -> Machine:
    """Return what the sockets' management firmware says, on the processors that have it."""
    reader = Reader(host)
    processor = _processor(reader, "socket_firmware")
    offered = tuple(each for each in messages() if each.serves(processor)) if processor else ()
    if not offered:
        return Machine()
    found = tuple(one for socket in _numbers(host, _HSMP, 3) if (one := _socket(host, socket, offered)) is not None)
    if not found:
        _explain(reader, "socket_firmware", f"{_HSMP}/0/{offered[0].names[0]}", LOAD_HSMP)
        return Machine(gaps=reader.gaps)
    reader.found("socket_firmware", _HSMP)
    return reader.machine(socket_firmware=found)


def _socket(host: Host, socket: int, offered: tuple[Message, ...]) -> SocketFirmware | None:
    facts: dict[str, Any] = {}
    for message in offered:
        looks = [list(_answers(host, f"{_HSMP}/{socket}/{name}", message)) for name in message.names]
        if not all(looks) or facts.get("protocol", message.protocol) < message.protocol:
            continue
        for name, field in message.fields.items():
            facts |= _of_looks(name, field, message, looks)
    return SocketFirmware(socket=socket, **facts) if facts else None


def _of_looks(name: str, field: BitField, message: Message, looks: list[list[tuple[int, ...]]]) -> dict[str, Any]:
    """Return a fact of one answer, of one for each argument, or the range of several looks."""
    values = [field.value(words[field.word]) for look in looks for words in look]
    if message.samples > 1:
        clocks = [value for value in values if isinstance(value, int | float)]
        lowest = {f"{name}_lowest": min(clocks)} if f"{name}_lowest" in SocketFirmware.model_fields else {}
        return {name: max(clocks), **lowest}
    return {name: tuple(values) if len(message.names) > 1 else values[0]}


def _answers(host: Host, path: str, message: Message) -> Iterator[tuple[int, ...]]:
    for line in (host.read(path).text or "").splitlines()[: message.samples]:
        words = [word for text in line.split() if (word := _word(text, 8)) is not None]
        if len(words) == message.words:
            yield tuple(words)


def collect_uncore(host: Host) -> Machine:
    """Return the limits of the uncore's clock: those the driver found, and those that hold."""
    reader = Reader(host)
    names = [name for name in host.list(_UNCORE) if name.isascii() and name.replace("_", "").isalnum()]
    facts = ("began_min", "began_max", "min", "max")
    read = {
        name: {
            fact: value * 1000
            for file, fact in zip(_UNCORE_FILES, facts, strict=True)
            if (value := reader.number(f"{_UNCORE}/{name}/{file}"))
        }
        for name in names
    }
    found = tuple(UncoreClock(name=name[:40], **clocks) for name, clocks in read.items() if clocks)
    if not found:
        return Machine()
    reader.found("cpu.uncore", _UNCORE)
    return Machine(cpu=Cpu(uncore=found), sources=reader.sources)


_TSME = "/sys/bus/pci/devices/*/tsme_status"
_SCRUB = "/sys/devices/system/edac/mc/mc*/sdram_scrub_rate"


def collect_memory_controls(host: Host) -> Machine:
    """Return whether the firmware encrypts the memory, and how fast it is scrubbed, where drivers show it."""
    reader = Reader(host)
    told = {value for path in expand(host, _TSME) if (value := reader.number(path)) in (0, 1)}
    rates = [value for path in expand(host, _SCRUB) if (value := reader.number(path)) is not None]
    if told:
        reader.found("memory.encrypted", _TSME)
    if rates:
        reader.found("memory.scrub_rate", _SCRUB)
    memory = Memory(encrypted=1 in told if len(told) == 1 else None, scrub_rate=min(rates, default=None))
    return Machine(memory=None if memory == Memory() else memory, sources=reader.sources)


SOURCES = (
    FactSource(
        "registers",
        "Processor registers (MSRs) that show what the BIOS has set: prefetchers, turbo, C1E, power limits.",
        collect_registers,
        REGISTER_PATHS,
        public=((f"{_CPUS}/*/msr/0x*", r"[0-9a-f]{16}"),),
    ),
    FactSource(
        "hsmp",
        "What the management firmware of EPYC sockets reports (HSMP): fabric and memory clocks, power limit, link width.",
        collect_hsmp,
        HSMP_PATHS,
        public=((f"{_HSMP}/*/0x*", r"[0-9a-f]{8}(?: [0-9a-f]{8}){0,7}"),),
    ),
    FactSource(
        "uncore",
        "Xeon uncore clock limits: the driver's initial values and the current ones (intel_uncore_frequency).",
        collect_uncore,
        UNCORE_PATHS,
        public=((f"{_UNCORE}/*/*", NUMBERS),),
    ),
    FactSource(
        "memory_controls",
        "Whether all memory is encrypted (ccp) and how fast it is scrubbed (EDAC).",
        collect_memory_controls,
        (_TSME, _SCRUB),
        public=((_TSME, NUMBERS), (_SCRUB, NUMBERS)),
    ),
)
