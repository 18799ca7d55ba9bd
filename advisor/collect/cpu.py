"""Who the processors are: /proc/cpuinfo in the forms of x86, Arm, POWER, RISC-V, LoongArch and s390."""

import re

from advisor.collect.arm_parts import arm_name
from advisor.collect.reader import CAPTURE_HELP, Reader
from advisor.host.base import Host, expand
from advisor.model.hardware.cpu import Cpu
from advisor.model.hardware.machine import Gap, Machine
from advisor.model.quantity import number

CPUINFO = "/proc/cpuinfo"
_MICROCODE = "/sys/devices/system/cpu/cpu*/microcode/version"
PATHS = (CPUINFO, _MICROCODE)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20

# The kernel's show_cpuinfo of each architecture spells the same thing its own way; the first spelling that is there counts.
_KEYS = {
    "vendor": ("vendor_id", "cpu implementer", "vendor", "mvendorid"),
    "model_name": ("model name", "uarch", "cpu"),
    "family": ("cpu family",),
    "model": ("cpu part", "model"),
    "stepping": ("stepping",),
    "flags": ("flags", "features"),
}
_NUMBERS = ("family", "model", "stepping")
_HEAD = 1 << 14
"""The first CPU's lines are within so many characters: a feature list is about two thousand."""


def collect(host: Host) -> Machine:
    """Return the identity that the CPUs share."""
    reader = Reader(host)
    text = reader.text(CPUINFO, "cpu")
    if not text:
        return Machine(gaps=reader.gaps or (Gap(fact="cpu", why=f"{CPUINFO} is empty", help=CAPTURE_HELP),))
    facts = {fact: _shared(reader, text, fact) for fact in _KEYS if fact != "flags"}
    arm = arm_name(number(facts["vendor"]), number(facts["model"])) if "cpu part" in first_cpu(text) else None
    cpu = Cpu(
        vendor=facts["vendor"],
        model_name=" ".join(facts["model_name"].split()) if facts["model_name"] else arm,
        **{fact: number(facts[fact]) for fact in _NUMBERS},
        flags=_flags(text),
        microcode=_microcode(reader, text),
    )
    return Machine(cpu=cpu, sources=reader.sources, gaps=reader.gaps)


def first_cpu(text: str) -> dict[str, str]:
    r"""Return the lines ``key : value`` of the first CPU and of a header before it, keys in lower case.

    >>> first_cpu("system type : x\n\nprocessor : 0\nCPU part : 0xd0c\n\nprocessor : 1\nCPU part : 0xd05\n")["cpu part"]
    '0xd0c'
    """
    found: dict[str, str] = {}
    for line in text[:_HEAD].splitlines():
        key, colon, value = line.partition(":")
        name = key.strip().lower()
        if name == "processor" and name in found:
            break
        if colon:
            found.setdefault(name, value.strip())
    return found


def _shared(reader: Reader, text: str, fact: str) -> str | None:
    head = first_cpu(text)
    key = next((key for key in _KEYS[fact] if head.get(key)), None)
    if key is None:
        return None
    values = sorted(_values(text, key))
    if len(values) > 1:
        reader.lacks(f"cpu.{fact}", f"{CPUINFO}: the CPUs differ: {', '.join(values[:4])}", "the machine mixes processors")
        return None
    return head[key]


def _values(text: str, key: str) -> set[str]:
    """Return the distinct values of a key over all CPUs, without reading each CPU's lines on their own: 512 make a megabyte."""
    spelled = re.search(rf"^{re.escape(key)}[ \t]*:", text[:_HEAD], re.MULTILINE | re.IGNORECASE)
    literal = spelled[0] if spelled else key
    return {value.strip() for value in re.findall(rf"\n{re.escape(literal)}([^\n]*)", "\n" + text)}


def _flags(text: str) -> tuple[str, ...] | None:
    head = first_cpu(text)
    words = next((head[key] for key in _KEYS["flags"] if head.get(key)), None)
    return tuple(sorted(set(words.split()))) if words is not None else None


def _microcode(reader: Reader, text: str) -> tuple[str, ...] | None:
    revisions = _values(text, "microcode") - {""}
    if revisions:
        reader.found("cpu.microcode", CPUINFO)
        return tuple(sorted(revisions))
    if "flags" not in first_cpu(text):
        # Off x86 nothing is loaded into the CPUs, and asking hundreds of them in vain is not free.
        return None
    found = {version for path in expand(reader.host, _MICROCODE) if (version := reader.text(path))}
    if found:
        reader.found("cpu.microcode", _MICROCODE)
    return tuple(sorted(found)) or None
