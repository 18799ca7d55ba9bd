"""A host without what names it: recorded through this, a capture can be given away. What is kept is named here or by its source.

Files below /proc and /sys that are not named hold values which the kernel writes; of them names and addresses are taken out.
Of any other file that is not named, and of any other command, only that there was an answer is kept.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from copy import copy
from itertools import pairwise
from posixpath import normpath
from xml.etree.ElementTree import Element, ParseError, tostring

from advisor.machine.hosts.base import (
    Host,
    HostBehind,
    PathPatterns,
    PublicText,
    Ran,
    Reading,
    RedactedHost,
    SecondLook,
    second_look,
)
from advisor.machine.pseudonyms import REMOVED, Mask, is_known_word, stems
from advisor.machine.secrecy import CMDLINE, SLURM_KEYS, boot_options, keeps_variable, words_of
from advisor.machine.sources.pci import capabilities, extended

Keeper = Callable[[Mask, str], str]
"""Takes a text and returns what of it stays."""

FILL = b"X"

# The strings that may stay, by the offset that names them (SMBIOS 3.7, DSP0134): vendors, products, versions, places.
_STRINGS = {
    0: (0x04, 0x05, 0x08),
    1: (0x04, 0x05, 0x06),
    2: (0x04, 0x05, 0x06),
    3: (0x04,),
    4: (0x04, 0x07, 0x10),
    16: (),
    17: (0x10, 0x11, 0x17, 0x1A),
    127: (),
}
"""Of any other type, the boards' own among them (128 and above), only number, length and handle stay."""
_BYTES = {0: 0x1A, 1: 0x1B, 2: 0x0F, 3: 0x0D, 4: 0x32, 16: 0x17, 17: 0x5C}
"""Bytes of each structure in the specification: a board may append what it likes. In type 3 the vendor's own begin at 0x0D."""
_SYSTEM, _UUID = 1, slice(0x08, 0x18)
_END_OF_TABLE = 127
_SAYS_NOTHING = frozenset(
    b",default string,not specified,none,n/a,unknown,to be filled by o.e.m.,not available,no dimm".split(b",")
)

_CAPABILITIES = {0x01: 8, 0x05: 24, 0x10: 60, 0x11: 12}
"""Capabilities that stay, and their length: power management, MSI, PCI Express, MSI-X (PCI Express Base 6.0, 7.5 and 7.7)."""
_EXTENDED = {
    0x01: 0x48,
    0x02: 0x10,
    0x04: 0x10,
    0x0D: 8,
    0x0E: 8,
    0x0F: 8,
    0x10: 0x40,
    0x13: 8,
    0x15: 0x40,
    0x17: 8,
    0x18: 8,
    0x19: 0x2C,
    0x1B: 8,
    0x1D: 0x5C,
    0x1E: 0x14,
    0x1F: 12,
    0x25: 12,
    0x26: 0x40,
    0x27: 0x48,
    0x2A: 0x40,
}
"""Extended capabilities that stay: errors, channels, power, ACS, ARI, ATS, SR-IOV, latencies, links; not number 3, the serial
number made from a MAC address, and none that vendors define (0x0B, 0x23)."""
_HEADER, _EXTENDED_START = 0x40, 0x100


def blank_smbios(table: bytes, tells: Callable[[str], bool] = lambda _: False) -> bytes:
    """Return a table of SMBIOS structures in which only what is named above stands; lengths and numbers stay.

    A string that ``tells`` who the machine is goes wherever it stands, for vendors repeat such in structures of their own; short
    ones could be anything.
    """
    data, secrets, position = bytearray(table), set[bytes](), 0
    for start, strings, position in _structures(data):  # noqa: B007 - where the last one ends
        secrets |= _blank_structure(data, start, strings, tells)
        if data[start] == _END_OF_TABLE:
            break
    rest = min(position + (4 if position + 4 <= len(data) and data[position] != _END_OF_TABLE else 0), len(data))
    data[rest:] = bytes(len(data) - rest)
    blanked = bytes(data)
    for secret in sorted(secrets, key=len, reverse=True):
        word = secret.strip()
        if len(word) >= 5 and len(set(word)) > 2 and any(48 <= byte <= 57 for byte in word):
            blanked = blanked.replace(word, FILL * len(word))
    return blanked


def smbios_strings(table: bytes) -> set[bytes]:
    """Return the strings of a table that do not stay: what they say may stand elsewhere too."""
    data = bytearray(table)
    return {text for start, strings, _ in _structures(data) for text in _blank_structure(data, start, strings)}


def _structures(data: bytearray) -> Iterator[tuple[int, list[slice], int]]:
    """Yield where each structure begins, where its strings lie, and where the next structure begins."""
    position = 0
    while position + 4 <= len(data):
        begin, length = position, data[position + 1]
        if length < 4 or begin + length > len(data):
            return
        strings, position = [], begin + length
        while position < len(data) and data[position]:
            end = data.find(0, position)
            end = len(data) if end < 0 else end
            strings.append(slice(position, end))
            position = end + 1
        position += 1 if strings else 2
        yield begin, strings, position


def _blank_structure(
    data: bytearray, position: int, strings: list[slice], tells: Callable[[str], bool] = lambda _: False
) -> set[bytes]:
    """Blank a structure's bytes and strings but those that may stay; return the strings that went."""
    kind, length = data[position], data[position + 1]
    kept = _BYTES.get(kind, 4)
    named = {data[position + offset] for offset in _STRINGS.get(kind, ()) if offset < length}
    if kind == _SYSTEM and length >= _UUID.stop:
        data[position + _UUID.start : position + _UUID.stop] = FILL * 16
    if length > kept:
        data[position + kept : position + length] = bytes(length - kept)
    gone = set()
    for number, place in enumerate(strings, 1):
        text = bytes(data[place])
        if text.strip().lower() not in _SAYS_NOTHING and (number not in named or tells(text.decode("utf-8", "replace"))):
            gone.add(text)
            data[place] = FILL * len(text)
    return gone


def blank_pci_config(config: bytes) -> bytes:
    """Return a PCI configuration space with its header and the capabilities named above, all else zero.

    Of one that is not named its number and the place of the next stay; each ends where the next one begins.
    """
    kept = bytearray(len(config))
    kept[:_HEADER] = config[:_HEADER]
    sizes = {start: _CAPABILITIES.get(number, 2) for start, number in capabilities(config).items()}
    sizes |= {start: _EXTENDED.get(number, 4) for start, number in extended(config).items()}
    for start, following in pairwise([*sorted(sizes), len(config)]):
        end = min(start + sizes[start], following, _EXTENDED_START if start < _EXTENDED_START else following)
        kept[start:end] = config[start:end]
    return bytes(kept)


def blank_acpi(table: bytes, signature: str) -> bytes:
    """Return an ACPI table without the names of who made it (ACPI 6.4, 5.2.6); its checksum holds if it held."""
    if len(table) < 36 or table[:4] != signature.encode():
        return bytes(len(table))
    data = bytearray(table)
    data[10:36] = b"ADVISR" + b"REMOVED " + bytes(4) + b"ADVR" + bytes(4)
    data[9] = (data[9] + sum(table) - sum(data)) & 0xFF
    return bytes(data)


def open_or_not(mask: Mask, text: str) -> str:
    """Keep whether NVIDIA's kernel module is the open one, not who built it where."""
    del mask
    kind = "Open Kernel Module" if "Open Kernel Module" in text else "Kernel Module"
    return f"NVRM version: NVIDIA UNIX {kind}\n" if "NVRM" in text else ""


class PublicLines:
    """What the sources of facts themselves say may be given away of their files and commands."""

    def __init__(self, public: Collection[PublicText]) -> None:
        self._files = [(PathPatterns((of,)), _lines(lines)) for of, lines in public if isinstance(of, str)]
        self._commands = {of: _lines(lines) for of, lines in public if not isinstance(of, str)}
        self._any = PathPatterns(of for of, _ in public if isinstance(of, str))

    def of_file(self, path: str) -> Keeper | None:
        """Return what is kept of a file; None where no source says it."""
        if not self._any.covers(path):
            return None
        return next((keeper for patterns, keeper in self._files if patterns.covers(path)), None)

    def of_command(self, argv: tuple[str, ...]) -> Keeper | None:
        """Return what is kept of a command's answer; None where no source says it."""
        return self._commands.get(argv)


def _lines(pattern: str) -> Keeper:
    """Return what keeps the lines that match whole; the names that the machine goes by are taken out of them too."""
    allowed = re.compile(pattern, re.ASCII)

    def keep(mask: Mask, text: str) -> str:
        kept = "".join(f"{mask.text(line)}\n" for line in text.splitlines() if allowed.fullmatch(line.strip()))
        return kept or (f"{REMOVED}\n" if text.strip() else "")

    return keep


def _always(text: str) -> Keeper:
    """Keep that the file is there, and of what it holds what is the same of all machines."""
    return lambda _mask, _text: text


_GONE = _always(f"{REMOVED}\n")


def _pieces(pattern: str) -> Keeper:
    """Keep the lines that match: the first of the groups that do as it is, of a second the words of the trade."""
    lines = re.compile(rf"(?m)^(?:{pattern})")

    def keep(mask: Mask, text: str) -> str:
        matches = ([group for group in match.groups() if group is not None] for match in lines.finditer(text))
        return "".join(f"{first}{''.join(map(mask.known, more))}\n" for first, *more in matches)

    return keep


def _value(mask: Mask, text: str) -> str:
    """Keep a value that the kernel writes: numbers, masks, and words of the trade."""
    if _MASK.fullmatch(text):
        return text
    return re.sub(r"\S+", lambda match: match[0] if match[0].isdigit() else mask.known(match[0]), mask.text(text))


_MASK = re.compile(r"\s*(?:0x)?[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{1,8})*\s*\0*")


def _board(mask: Mask, text: str) -> str:
    """Keep the number of a card's kind, such as MT_0000000223: firmware is sorted by it."""
    return mask.text(text) if re.fullmatch(r"\s*[A-Z]{2,4}_?[0-9A-F]{8,12}\s*", text) else f"{REMOVED}\n"


def _product(mask: Mask, text: str) -> str:
    return f"{mask.product(text.strip())}\n" if len(text) < 300 else f"{REMOVED}\n"


def _version(mask: Mask, text: str) -> str:
    """Keep a version of four numbers, which looks like an address, where that is all there is."""
    alone = re.fullmatch(r"\s*[\w.+-]{1,40}\s*", text)
    return mask.words(text, addresses=not alone)


def _boot(mask: Mask, text: str) -> str:
    options = (option.partition("=") for option in boot_options(text))
    return " ".join(f"{key}{equals}{mask.words(value)}" for key, equals, value in options) + "\n"


def _lines_of(*keys: str, between: str = r"\s*[:=]", raw: str = "") -> Keeper:
    """Return what keeps the lines that begin with one of the keys; as they are where what the kernel itself wrote must stay."""
    begins, as_it_is = re.compile(rf"(?i)({'|'.join(keys)}){between}"), re.compile(raw or r"(?!)")

    def keep(mask: Mask, text: str) -> str:
        lines = (line for line in text.split("\n")[:-1] if not line or begins.match(line))
        return "".join(f"{line if not line or as_it_is.fullmatch(line) else mask.text(line)}\n" for line in lines)

    return keep


def _known_lines_of(*keys: str) -> Keeper:
    lines = _lines_of(*keys)

    def keep(mask: Mask, text: str) -> str:
        return re.sub(r"(?m)(?<=[=:])[^\n]*$", lambda match: mask.known(match[0]), lines(mask, text))

    return keep


def _banner(mask: Mask, text: str) -> str:
    """Keep the release and the version in /proc/version, not who compiled it where."""
    match = re.match(r"Linux version (\S+) .*?(#\d[^\n]*)", text)
    return mask.known(f"Linux version {match[1]} ({REMOVED}) {match[2]}\n") if match else f"{REMOVED}\n"


def _groups(mask: Mask, text: str) -> str:
    """Keep the cgroups of a process: ``4:cpuset:/slurm/job_7``, or a path alone."""
    lines = (re.fullmatch(r"(\d+:[\w,=.]*:)?(/.*)", line) for line in text.splitlines())
    return "".join(f"{match[1] or ''}{mask.cgroup(match[2])}\n" for match in lines if match)


_MOUNT = re.compile(
    r"(?:rw|ro|nosuid|nodev|noexec|relatime|noatime|nodiratime|(?:size|pagesize|nr_inodes|mode)=\w{1,20}|[a-z_,]{1,40})"
)


def _mounts(mask: Mask, text: str) -> str:
    """Keep where what kind of file system is mounted, not whose it is; of its options those without a value that names."""
    kept = []
    for line in text.splitlines():
        words = line.split(" ")
        if len(words) == 6:
            kinds = ",".join(word for word in words[3].split(",") if _MOUNT.fullmatch(word))
            place = mask.cgroup(words[1])
            kept.append(f"{mask.known(words[2])} {place} {mask.known(words[2])} {mask.known(kinds)} 0 0\n")
    return "".join(kept)


def _tuned(mask: Mask, text: str) -> str:
    """Keep the sections of a tuned profile, what it includes and the latency that it asks for."""
    lines = (line.strip() for line in text.splitlines())
    kept = (line for line in lines if re.fullmatch(r"\[[a-z_]{1,30}\]|(?:include|force_latency)\s*=.{0,200}", line))
    return "".join(f"{mask.words(line)}\n" for line in kept)


_CPUINFO = r"""
processor, vendor_id, cpu family, model, model name, stepping, microcode, cpu mhz, cache size, physical id, siblings,
core id, cpu cores, apicid, initial apicid, fpu, fpu_exception, cpuid level, wp, flags, vmx flags, bugs, bogomips,
tlb size, clflush size, cache_alignment, address sizes, power management, features, cpu implementer,
cpu architecture, cpu variant, cpu part, cpu revision, hart, isa, hart isa, mmu, uarch, mvendorid, marchid, mimpid,
# processors, bogomips per cpu, max thread id, facilities, cache\d+, cpu, clock, revision, timebase, platform,
machine, core, package, system type, global_id, prid, loongarch isa, isa, address space, cpu static mhz,
cpu dynamic mhz, cpu number, vendor, archrev, family, version, cpu type, ncpus probed, ncpus active, type, fpu, prom,
d\$ .*
"""
_FLAGS = r"(?:flags|vmx flags|bugs|Features|isa|hart isa)\s*: [a-z0-9_ .-]*"
_STATUS = words_of("Cpus_allowed Cpus_allowed_list Mems_allowed Mems_allowed_list Threads NoNewPrivs Seccomp Cap[A-Z][a-z]+")
_AMOUNTS = _pieces(r"((?:Node \d+ )?[A-Za-z_]{1,40}(?:\([a-z_]{1,20}\))?:\s+\d+(?: kB)?)$")
_OS = words_of("NAME ID ID_LIKE VERSION VERSION_ID VERSION_CODENAME PRETTY_NAME PLATFORM_ID")
FILES: tuple[tuple[re.Pattern[str], Keeper], ...] = tuple(
    (re.compile(pattern), keeper)
    for pattern, keeper in (
        (r"/\.dockerenv|/run/\.containerenv|/\.singularity\.d/runscript", _always("")),
        (r"/etc/os-release|/usr/lib/os-release", _known_lines_of(*_OS)),
        (r"/etc/tuned/active_profile|/run/systemd/container|/run/(?:tuned/tuned|irqbalance)\.pid", Mask.words),
        (r"/(?:etc|usr/lib)/tuned/(?:profiles/)?[^/]+/tuned\.conf", _tuned),
        (r"/etc/slurm/slurm\.conf", _known_lines_of(*(rf"\s*{key}" for key in SLURM_KEYS))),
        (r"/(?:var/)?run/hwloc/knl_memoryside_cache", _pieces(r"([a-z_]{1,30}: *)([\w.-]{1,20})$")),
        (r"/proc/(?:sys/kernel/)?hostname|/etc/hostname", _always("node\n")),
        (r"/proc/cmdline", _boot),
        (r"/proc/cpuinfo", _lines_of(*re.split(r",\s", _CPUINFO.strip()), between=r"(?:\s+\d+)?\s*(?:[:=]|$)", raw=_FLAGS)),
        (r"/proc/(?:self|\d+)/status", _lines_of(*_STATUS)),
        (r"/proc/(?:self|\d+)/(?:cgroup|cpuset)", _groups),
        (r"/proc/(?:self/|\d+/)?mounts", _mounts),
        (r"/proc/version", _banner),
        (
            r"/proc/meminfo|/sys/devices/system/node/node\d+/meminfo",
            _AMOUNTS,
        ),
        (
            r"/proc/hwloc-nofile-info",
            _known_lines_of("Architecture", "OSName", "OSRelease", "OSVersion", r"FallbackNbProcessors|CPU\w+"),
        ),
        # The numbers that the driver of AMD's GPUs gives for a node; not the card's own, nor that of its fabric.
        (r"/sys/.*/kfd/.*/properties", _pieces(r"((?!unique_id|hive_id)[a-z_0-9]{1,40} \d{1,20})$")),
        (r"/sys/.*/board_id", _board),
        (r"/proc/driver/nvidia/version", open_or_not),
        (r"/proc/driver/nvidia/gpus/[^/]+/information", _known_lines_of("Device Minor")),
        (r"/proc/sys/kernel/(?:osrelease|version)", Mask.words),
        (r"/proc/sysinfo", _known_lines_of("Manufacturer", "Type", "VM00 Control Program")),
        (
            r"/sys/class/dmi/id/(?:bios_(?:date|vendor|version|release)|(?:board|sys|chassis)_vendor|board_name|product_(?:name|version))",
            _product,
        ),
        (
            r"/sys/(?:class/dmi/id|devices/virtual/dmi/id)/(?!bios_|board_name|board_vendor|sys_vendor|product_(?:name|version)).*",
            _GONE,
        ),
        (
            r"/sys/.*/(?:serial(?:_number)?|unique_id|uuid|wwid|nguid|eui|vpd|hostnqn|hostid|phys_switch_id|phys_port_id|ifalias)",
            _GONE,
        ),
        (r"/proc/sys/kernel/(?:domainname|random/.*)|/etc/machine-id", _GONE),
        (r"/sys/.*/uevent", _lines_of("DRIVER", "PCI_CLASS", "PCI_ID", "PCI_SUBSYS_ID", "PCI_SLOT_NAME", "MODALIAS")),
        (r"/sys/.*/(?:fw_ver|version|hw_rev|[\w-]*(?:version|release))", _version),
        (r"/(?:proc|sys|dev/cpuset)/.*", _value),
    )
)
"""The first that fits a path decides."""


def kept_file(mask: Mask, path: str, data: bytes) -> bytes:
    """Return what of a file stays."""
    if re.search(r"/firmware/dmi/(?:tables/DMI|entries/[^/]+/raw)$", path):
        return blank_smbios(data, lambda text: mask.product(text) != text)
    if re.search(r"/firmware/acpi/tables/", path):
        return blank_acpi(data, path.rpartition("/")[2])
    if path.endswith("/config") and path.startswith("/sys/"):
        return blank_pci_config(data)
    if path.endswith("/smbios_entry_point"):
        return data[:32]
    if b"\0" in data.rstrip(b"\0"):  # some kernels end a text with one
        return b""
    keeper = file_keeper(path)
    return whole(keeper(mask, text_of(data))) if keeper else f"{REMOVED}\n".encode()


def file_keeper(path: str) -> Keeper | None:
    """Return what is kept of a file, None where nothing is said of it."""
    return next((keeper for pattern, keeper in FILES if pattern.fullmatch(path)), None)


def text_of(data: bytes) -> str:
    """Return bytes as text, without loss."""
    return data.decode("utf-8", "surrogateescape")


def whole(text: str) -> bytes:
    """Return what text_of() took."""
    return text.encode("utf-8", "surrogateescape")


_SAYS_VERSION = re.compile(
    r"(?i)version|mpi|prrte|slurm|flux|pbs|fabric|lstopo|hwloc|hydra|ucx|pals|mvapich|^[\w .-]{0,30}\d+\.\d+[\w.]*$"
)
_SAYS_MORE = re.compile(r"[/@\\'\"]|--|\bCC\b|CXX|FLAGS|(?i:error|cannot|could not|unable|fail|refused|denied|connect|by:)")
_LINES = 40


def _versions(mask: Mask, text: str) -> str:
    """Keep the lines that say a version in words of the trade; not those of paths, options and addresses."""
    lines = (line.rstrip() for line in text.splitlines()[:_LINES] if len(line) < 300)
    kept = [line for line in lines if _SAYS_VERSION.search(line) and not _SAYS_MORE.search(line)]
    if "mvapich" in text.lower() and not any("mvapich" in line.lower() for line in kept):
        kept.append("mvapich")
    return "".join(f"{mask.words(line)}\n" for line in kept)


def _one_word(mask: Mask, text: str) -> str:
    return f"{mask.known(text.strip())}\n" if re.fullmatch(r"\s*[\w-]{1,40}\s*", text) else ""


_NODE = re.compile(
    r"(NodeName|NodeHostName|Arch|CoresPerSocket|CPUAlloc|CPUEfctv|CPUTot|CPUs|Boards|SocketsPerBoard|Sockets|ThreadsPerCore"
    r"|RealMemory|CoreSpecCount|CPUSpecList|MemSpecLimit|Gres|GresUsed|State|Version)=(\S*)"
)


def _slurm_node(mask: Mask, text: str) -> str:
    """Keep this node's line, of it what says how the node is partitioned."""
    kept = []
    for line in text.splitlines():
        words = _NODE.findall(line)
        if any(key in ("NodeName", "NodeHostName") and mask.own(value) for key, value in words):
            shown = (f"{key}={'node' if key in ('NodeName', 'NodeHostName') else mask.words(value)}" for key, value in words)
            kept.append(" ".join(shown) + "\n")
    return "".join(kept)


_SETTING = re.compile(r"\w+")
_SLURM_WORDS = (
    "read yes no off on task affinity cgroup none proctrack linuxproc pgid select linear cons_tres cons_res nvml nvidia rsmi"
    " oneapi slurmdoffspec cores sockets threads autobind verbose all memlock stack nofile infinity loaded"
)
_SETTINGS = frozenset(_SLURM_WORDS.split())


def _keys(mask: Mask, text: str) -> str:
    """Keep the lines ``key=value`` in words that Slurm or systemd knows and in those of the trade, and that a file was closed."""

    def word(match: re.Match[str]) -> str:
        return match[0] if match[0].lower() in _SETTINGS else mask.known(match[0])

    lines = re.findall(r"(?m)^([A-Za-z]{1,40}=)([\w/,.:|\[\]-]{0,200})$", text)
    kept = "".join(f"{key}{_SETTING.sub(word, value)}\n" for key, value in lines if key != "MainPID=")
    return kept + ("Permission denied\n" if "ermission denied" in text else "")


_OPTIONS = _pieces(
    r"((?:PCI )?[Dd]evice:\s+(?:[0-9a-fA-F:.]{4,16}|/dev/mst/mt\d{4,6}_[\w.]{1,30}))$"
    r"|([\s*]*[A-Z][A-Z0-9_]{2,60}\s+)(\S.*)$"
)
"""The options of adapters' firmware below the addresses of the adapters."""
_LINKS = _pieces(r"(GPU \d{1,3}:|[ \t]+MIG [\w.+ ]{3,30} Device +\d{1,2}:)|(\s*Link \d{1,2}: )(\S.{0,40})$")
"""The numbers of GPUs and of their MIG instances, and the rates of their links, not their names."""


_COLUMN = re.compile(
    r"index|count|name|driver_version|gpu_bus_id|remapped_rows[\w.]*|retired_pages[\w.]*|pstate"
    r"|(?:pci|pcie|memory|clocks|power|ecc|mig|temperature|utilization|compute|persistence)[\w.]*"
)


def _columns(mask: Mask, argv: tuple[str, ...], out: str) -> str:
    """Keep the columns of nvidia-smi's answer that name no card; the bits that say why clocks are slow as they are."""
    query = next((word.partition("=")[2] for word in argv if word.startswith("--query-")), "")
    fields = [field.strip() for field in query.split(",")]

    def cell(field: str, text: str) -> str:
        if not _COLUMN.fullmatch(field) or len(text) >= 80:
            return REMOVED
        return text if re.fullmatch(r"0x[0-9a-fA-F]{16}", text) else mask.words(text, addresses=False)

    rows = (line.split(", ") for line in out.splitlines())
    return "".join(f"{', '.join(map(cell, fields, row))}\n" for row in rows if len(row) == len(fields))


_CARD = re.compile(
    r"(?i)card (?:series|model|vendor|sku)|pci bus|vram .*memory.*|gfx version"
    r"|device (?:name|id|rev)|subsystem id|.*partition.*|node id"
)


def _cards(mask: Mask, out: str) -> str:
    """Keep what rocm-smi says of cards but their identity."""
    try:
        told = json.loads(out)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict):
        return ""
    cards = {
        name: {key: mask.words(str(value)) for key, value in facts.items() if _CARD.fullmatch(key)}
        for name, facts in told.items()
        if isinstance(facts, dict) and re.fullmatch(r"(?:card|gpu)\d+|system", name, re.IGNORECASE)
    }
    return json.dumps(cards)


_PROGRAMS: dict[str, Keeper] = {
    **dict.fromkeys(("uname", "systemctl", "systemd-detect-virt"), _one_word),
    **dict.fromkeys(("mpichversion", "mpiname"), _versions),
    **dict.fromkeys(("mlxconfig", "mstconfig"), _OPTIONS),
    "sed": _keys,
    "slurmd": _slurm_node,
    "scontrol": _slurm_node,
}
_VERSION_ASKED = frozenset({"--version", "-v", "-V", "version"})


def command_keeper(argv: tuple[str, ...]) -> Keeper | None:
    """Return what is kept of what a command prints, None where nothing is said of it."""
    if _VERSION_ASKED.intersection(argv[1:2]) and len(argv) == 2:
        return _versions
    if argv[0] == "nvidia-smi" and any(word.startswith("--query-") for word in argv):
        return lambda mask, text: _columns(mask, argv, text)
    if argv[0] == "nvidia-smi" and argv[1:2] in (("nvlink",), ("-L",)):
        return _LINKS
    if argv[:2] == ("systemctl", "show"):
        return _keys
    if argv[0] == "rocm-smi":
        return _cards
    return _PROGRAMS.get(argv[0])


def kept_answer(mask: Mask, argv: tuple[str, ...], ran: Ran) -> Ran:
    """Return what of a command's two outputs stays."""
    keeper = command_keeper(argv)
    if keeper is None:
        return ran._replace(out=b"", err=b"")
    out, err = (whole(keeper(mask, text_of(text))) for text in (ran.out, ran.err))
    return ran._replace(out=out, err=err)


def kept_variables(mask: Mask, variables: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield what of the variables stays: node lists by their shape, numbers of jobs as 1, words of the trade."""
    for name, value in variables:
        if re.search(r"NODELIST|NODENAME|LSB_(?:MCPU_)?HOSTS", name):
            yield name, stems(re.sub(r"\.[A-Za-z][\w.-]*", "", value))
        elif re.search(r"JOB_?ID$|APID$", name):
            yield name, "1"
        elif re.search(r"MASK|BIND", name) and re.fullmatch(r"[\w:,]{0,40}?:?[0-9A-Fa-fx,:-]{1,4096}", value):
            yield name, re.sub(r"(?<![0-9a-fx])[a-z_]*[g-wyz_][a-z_]*", lambda match: mask.known(match[0]), value)
        elif not re.search(
            r"PARTITION|RESERVATION|ACCOUNT|USER|NAME|QOS|_[UG]ID$|HOST|DIR$|HOME|QUEUE|NODEFILE|NODEID$|ADDR$", name
        ):
            yield mask.known(name), mask.words(value)


_ATTRIBUTES = frozenset(
    words_of(
        """
    version type os_index logical_index gp_index id index depth kind subtype subkind name cpuset complete_cpuset
    online_cpuset allowed_cpuset nodeset complete_nodeset allowed_nodeset local_memory size count cache_size cache_linesize
    cache_associativity cache_type dont_merge bridge_type bridge_pci pci_busid pci_type pci_link_speed osdev_type nbobjs
    length indexing relative_depth latency_base value target_obj_gp_index initiator_cpuset initiator_obj_gp_index flags
    initiator_obj_type target_obj_type forced_efficiency efficiency unit_width levels memory_kb huge_page
    """
    )
)
_INFOS = re.compile(
    r"Architecture|Backend|hwlocVersion|OSName|OSRelease|OSVersion|HostName|LinuxCgroup|MemoryMode|ClusterMode|MemoryTier"
    r"|CPU(?:Vendor|FamilyNumber|ModelNumber|Model|Stepping|Type|Revision|Implementer|Part|Variant|Architecture)"
    r"|DMI(?:Sys|Board|BIOS|Chassis)(?:Vendor|Version|Date|Name|Type)|DMIProduct(?:Name|Version)"
    r"|PCI(?:Vendor|Device|Slot)|GPU(?:Vendor|Model)|Port\d+(?:State|LID|LMC)|Port|Inclusive|Coherent|CoreType|FrequencyMaxMHz"
    r"|FrequencyBaseMHz|DAX(?:Device|Type|Parent)|Type|Vendor|PartNumber|FormFactor|DeviceLocation|BankLocation|Rank|Size"
    r"|(?:CUDA|NVIDIA|AMD|OpenCL|LevelZero)(?:Memory|ComputeUnits|MPs|CoresPerMP|GlobalMemorySize|L2CacheSize|SharedMemorySizePerMP|DeviceType)"
    r"|Synthetic|NVLinkBandwidth|XGMI\w{0,20}|LinuxDeviceID|AddressingMode"
)
_ADDRESSES = re.compile(r"Port\d+GID\d+|NodeGUID|SysImageGUID|Address")
_NUMBERS = re.compile(r"[\w\s.,:+-]*")
_NAMED_BY_SITES = ("2", "3", "16", "32", "48")
"""Networks and InfiniBand as hwloc 2 and 3 number them (HWLOC_OBJ_OSDEV_NETWORK, _OPENFABRICS; in 3 a bit mask)."""
_ELEMENTS = frozenset(
    words_of(
        """
    topology object info page_type distances2 distances2hetero indexes u64values memattr memattr_value cpukind distances
    latency
    """
    )
)


def kept_xml(root: Element, mask: Mask) -> bytes:
    """Return a topology's elements, attributes and infos as far as they are known to name nobody."""
    _keep(root, mask)
    version = root.get("version", "").partition(".")[0]
    body: bytes = tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc%b.dtd">\n%b\n' % (version.encode(), body)


def _keep(element: Element, mask: Mask) -> None:
    for child in tuple(element):
        name = child.get("name", "")
        may_stay = child.tag != "info" or _INFOS.fullmatch(name) or _ADDRESSES.fullmatch(name)
        if child.tag in _ELEMENTS and may_stay:
            _keep(child, mask)
        else:
            element.remove(child)
    numbers = element.tag in ("indexes", "u64values") and _NUMBERS.fullmatch(element.text or "")
    element.text, element.tail = (element.text or None) if numbers else None, "\n"
    if element.tag == "info":
        name, value = element.get("name", ""), element.get("value", "")
        element.attrib = {"name": name, "value": _info(mask, name, value)}
    else:
        kept = {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES}
        element.attrib = {key: _attribute(element, mask, key, value) for key, value in kept.items()}


def _attribute(element: Element, mask: Mask, key: str, value: str) -> str:
    if key == "name" and element.get("osdev_type") in _NAMED_BY_SITES:
        return mask.device(value)
    return mask.words(value) if key in ("name", "subtype") else mask.text(value)


def _info(mask: Mask, name: str, value: str) -> str:
    if name == "HostName":
        return "node"
    if name == "LinuxCgroup":
        return mask.cgroup(value)
    if name in ("OSRelease", "OSVersion", "OSName", "Backend"):
        return mask.words(value)
    if name.startswith("DMI"):
        return mask.product(value)
    return mask.text(value) if len(value) <= 200 else REMOVED


_HOST_NAMES = ("/proc/sys/kernel/hostname", "/etc/hostname")
_NAME_VARIABLES = ("SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "PBS_O_HOST", "LSB_SUB_HOST")
_DMI = "/sys/class/dmi/id"
_IDENTITIES = ["product_serial", "product_uuid", "board_serial", "board_asset_tag", "chassis_serial", "chassis_asset_tag"]
_TABLE = "/sys/firmware/dmi/tables/DMI"
_WHO = re.compile(r"PARTITION|RESERVATION|ACCOUNT|USER|LOGNAME|NAME$|QOS|HOST|QUEUE|CLUSTER|DIR$|HOME|NODELIST")
_LONGEST = 200


class AnonymousHost(HostBehind):
    """Another host's answers without serial numbers, addresses, identifiers and names of machines and people."""

    def __init__(self, host: Host, *, identities: Iterable[str] = (), public: Collection[PublicText] = ()) -> None:
        """``identities`` are facts that name this machine; ``public`` is what their sources say may be given away."""
        super().__init__(RedactedHost(host))
        self._public = PublicLines(public)
        files = ((host.read(path).text or "").strip() for path in _HOST_NAMES)
        variables = host.environment()
        names = tuple(name for name in (*files, *(variables.get(name, "") for name in _NAME_VARIABLES)) if name)
        self._mask = Mask(names, {*_identities(host, names), *identities})
        for kind in ("net", "infiniband"):
            self._mask.learn(host.list(f"/sys/class/{kind}"), kind)

    def read(self, path: str) -> Reading:
        """Return what of a file may be given away."""
        path = self._inward(path)
        reading = self._host.read(path)
        if reading.why:
            return reading
        keep = self._public.of_file(path)
        data = reading.data
        return Reading(whole(keep(self._mask, text_of(data))) if keep else kept_file(self._mask, normpath(path), data))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, scrubbed."""
        path = self._inward(path)
        return tuple(sorted(self._mask.file(f"{path}/{name}").rpartition("/")[2] for name in self._host.list(path)))

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, scrubbed."""
        real = self._host.real(self._inward(path))
        return None if real is None else self._mask.file(real)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what of a command's answer may be given away."""
        ran = self._host.run(argv, timeout)
        ran = ran._replace(path=None if ran.path is None else self._mask.known(ran.path))
        if argv[0].startswith("lstopo") and "xml" in argv:
            return ran._replace(out=self._xml(ran.out), err=b"")
        keep = self._public.of_command(argv)
        return (
            ran._replace(out=whole(keep(self._mask, text_of(ran.out))), err=b"") if keep else kept_answer(self._mask, argv, ran)
        )

    @property
    def again(self) -> SecondLook | None:
        """The second look of a capture, scrubbed; None where there was one."""
        second = second_look(self._host)
        if second is None:
            return None
        masked = copy(self)
        masked._host = RedactedHost(second.host)  # noqa: SLF001 - the same mask over another host: the same names come out
        return second._replace(host=masked)

    def environment(self) -> dict[str, str]:
        """Return the variables; those that name people, places or machines keep at most their shape."""
        return dict(kept_variables(self._mask, self._host.environment().items()))

    def _xml(self, data: bytes) -> bytes:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import fromstring

        try:
            return kept_xml(fromstring(data), self._mask) if data.strip() else b""
        except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError, MemoryError):
            return b""

    def _inward(self, path: str) -> str:
        """Return the path as it is on the host, from one with names taken out."""
        inside = self._mask.inside
        return "/".join(inside.get(part, part) for part in path.split("/")) if inside else path


def _identities(host: Host, names: Iterable[str]) -> set[str]:
    """Return the words of what is not kept: a name may stand in more places than those that are known to hold it.

    Of them those that could name somebody: long enough, none of the trade, no number.
    """
    texts = [(host.read(f"{_DMI}/{name}").text or "") for name in _IDENTITIES]
    texts += [text.decode("utf-8", "replace") for text in smbios_strings(host.read(_TABLE).data)]
    texts += [value for name, value in host.environment().items() if not keeps_variable(name) or _WHO.search(name)]
    cmdline = host.read(CMDLINE).text or ""
    kept = set(boot_options(cmdline))
    texts += [word.partition("=")[2] for word in cmdline.split() if word not in kept]
    for line in (host.read("/proc/mounts").text or "").splitlines():
        texts += line.split(" ")[:2]
    texts += [name.partition(".")[2] for name in names]
    words = {
        word for text in texts for split in (r"[^A-Za-z0-9_]+", r"[^A-Za-z0-9_.-]+") for word in re.split(split, text[:10_000])
    }
    words |= {text.strip() for text in texts if len(text) <= _LONGEST}
    return {
        word
        for word in words
        if 4 <= len(word) <= _LONGEST
        and not word.isdigit()
        and not all(is_known_word(part) or len(part) < 3 for part in re.split(r"[^A-Za-z0-9_]+", word))
    }
