"""What an anonymised capture keeps of each file and each command: what is named here or by its source, nothing else.

Files below /proc and /sys that are not named hold values which the kernel writes; of them names and addresses are taken out.
Of any other file that is not named, and of any other command, only that there was an answer is kept.
"""

import re
from collections.abc import Callable
from typing import Protocol

from advisor.machine.privacy import allowed_values
from advisor.machine.privacy.pseudonyms import REMOVED
from advisor.machine.secrecy import SLURM_KEYS, boot_options


class Mask(Protocol):
    """What stands others in for names."""

    def text(self, text: str, *, addresses: bool = True) -> str:
        """Return a text without identifiers, serial numbers, addresses and the names that the machine goes by."""
        ...

    def known(self, text: str) -> str:
        """Return a text in which only words of the trade are themselves."""
        ...

    def cgroup(self, path: str) -> str:
        """Return a path of cgroups in which only words of the trade are themselves."""
        ...

    def product(self, text: str) -> str:
        """Return what a vendor calls a product, though a site may have called a machine after it."""
        ...

    def device(self, name: str) -> str:
        """Return what a device is called: as the kernel calls it, or by a number where a site has named it."""
        ...

    def own(self, name: str) -> bool:
        """Tell whether the machine is called so."""
        ...


Keeper = Callable[[Mask, str], str]
"""Takes a text and returns what of it stays."""


def _nothing(mask: Mask, text: str) -> str:
    """Keep that the file is there: of marks that a container leaves nobody reads more."""
    del mask, text
    return ""


def _node(mask: Mask, text: str) -> str:
    del mask, text
    return "node\n"


def _gone(mask: Mask, text: str) -> str:
    del mask, text
    return f"{REMOVED}\n"


def _value(mask: Mask, text: str) -> str:
    """Keep a value that the kernel writes: numbers, masks, and words of the trade."""
    if _MASK.fullmatch(text):
        return text
    return re.sub(r"\S+", lambda match: match[0] if match[0].isdigit() else mask.known(match[0]), mask.text(text))


def _properties(mask: Mask, text: str) -> str:
    """Keep the numbers that the kernel's driver of AMD's GPUs gives for a node; not the card's own, nor that of its fabric."""
    del mask
    kept = re.findall(r"(?m)^([a-z_0-9]{1,40} \d{1,20})$", text)
    return "".join(f"{line}\n" for line in kept if not line.startswith(("unique_id", "hive_id")))


_MASK = re.compile(r"\s*(?:0x)?[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{1,8})*\s*\0*")
_AMOUNTS = re.compile(r"(?m)^(?:Node \d+ )?[A-Za-z_]{1,40}(?:\([a-z_]{1,20}\))?:\s+\d+(?: kB)?$")


def _amounts(mask: Mask, text: str) -> str:
    del mask
    return "".join(f"{line}\n" for line in _AMOUNTS.findall(text))


def _board(mask: Mask, text: str) -> str:
    """Keep the number of a card's kind, such as MT_0000000223: firmware is sorted by it."""
    return mask.text(text) if re.fullmatch(r"\s*[A-Z]{2,4}_?[0-9A-F]{8,12}\s*", text) else f"{REMOVED}\n"


def _product(mask: Mask, text: str) -> str:
    return f"{mask.product(text.strip())}\n" if len(text) < 300 else f"{REMOVED}\n"


def _version(mask: Mask, text: str) -> str:
    """Keep a version of four numbers, which looks like an address, where that is all there is."""
    alone = re.fullmatch(r"\s*[\w.+-]{1,40}\s*", text)
    return mask.known(mask.text(text, addresses=not alone))


def _words(mask: Mask, text: str) -> str:
    return mask.known(mask.text(text))


def _boot(mask: Mask, text: str) -> str:
    return " ".join(_option(mask, option) for option in boot_options(text)) + "\n"


def _option(mask: Mask, option: str) -> str:
    key, equals, value = option.partition("=")
    return f"{key}{equals}{mask.known(mask.text(value))}"


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
    return "".join(f"{mask.known(mask.text(line))}\n" for line in kept)


def _facts(mask: Mask, text: str) -> str:
    """Keep lines of a word, a colon and another word."""
    kept = re.findall(r"(?m)^([a-z_]{1,30}: *)([\w.-]{1,20})$", text)
    return "".join(f"{key}{mask.known(value)}\n" for key, value in kept)


_CPUINFO = (
    *("processor", "vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "cpu mhz", "cache size"),
    *("physical id", "siblings", "core id", "cpu cores", "apicid", "initial apicid", "fpu", "fpu_exception", "cpuid level"),
    *("wp", "flags", "vmx flags", "bugs", "bogomips", "tlb size", "clflush size", "cache_alignment", "address sizes"),
    *("power management", "features", "cpu implementer", "cpu architecture", "cpu variant", "cpu part", "cpu revision"),
    *("hart", "isa", "hart isa", "mmu", "uarch", "mvendorid", "marchid", "mimpid", "# processors", "bogomips per cpu"),
    *(
        "max thread id",
        "facilities",
        r"cache\d+",
        "cpu",
        "clock",
        "revision",
        "timebase",
        "platform",
        "machine",
        "core",
        "package",
    ),
    *(
        "system type",
        "global_id",
        "prid",
        "loongarch isa",
        "isa",
        "address space",
        "cpu static mhz",
        "cpu dynamic mhz",
        "cpu number",
    ),
    *("vendor", "archrev", "family", r"version", "cpu type", "ncpus probed", "ncpus active", "type", "fpu", "prom", "d\\$ .*"),
)
_FLAGS = r"(?:flags|vmx flags|bugs|Features|isa|hart isa)\s*: [a-z0-9_ .-]*"
_STATUS = (
    "Cpus_allowed",
    "Cpus_allowed_list",
    "Mems_allowed",
    "Mems_allowed_list",
    "Threads",
    "NoNewPrivs",
    "Seccomp",
    "Cap[A-Z][a-z]+",
)
_OS = ("NAME", "ID", "ID_LIKE", "VERSION", "VERSION_ID", "VERSION_CODENAME", "PRETTY_NAME", "PLATFORM_ID")

FILES: tuple[tuple[re.Pattern[str], Keeper], ...] = tuple(
    (re.compile(pattern), keeper)
    for pattern, keeper in (
        (r"/\.dockerenv|/run/\.containerenv|/\.singularity\.d/runscript", _nothing),
        (r"/etc/os-release|/usr/lib/os-release", _known_lines_of(*_OS)),
        (r"/etc/tuned/active_profile|/run/systemd/container|/run/(?:tuned/tuned|irqbalance)\.pid", _words),
        (r"/(?:etc|usr/lib)/tuned/(?:profiles/)?[^/]+/tuned\.conf", _tuned),
        (r"/etc/slurm/slurm\.conf", _known_lines_of(*(rf"\s*{key}" for key in SLURM_KEYS))),
        (r"/(?:var/)?run/hwloc/knl_memoryside_cache", _facts),
        (r"/proc/(?:sys/kernel/)?hostname|/etc/hostname", _node),
        (r"/proc/cmdline", _boot),
        (r"/proc/cpuinfo", _lines_of(*_CPUINFO, between=r"(?:\s+\d+)?\s*(?:[:=]|$)", raw=_FLAGS)),
        (r"/proc/(?:self|\d+)/status", _lines_of(*_STATUS)),
        (r"/proc/(?:self|\d+)/(?:cgroup|cpuset)", _groups),
        (r"/proc/(?:self/|\d+/)?mounts", _mounts),
        (r"/proc/version", _banner),
        (r"/proc/meminfo|/sys/devices/system/node/node\d+/meminfo", _amounts),
        (
            r"/proc/hwloc-nofile-info",
            _known_lines_of("Architecture", "OSName", "OSRelease", "OSVersion", r"FallbackNbProcessors|CPU\w+"),
        ),
        (r"/sys/.*/kfd/.*/properties", _properties),
        (r"/sys/.*/board_id", _board),
        (r"/proc/driver/nvidia/version", allowed_values.open_or_not),
        (r"/proc/driver/nvidia/gpus/[^/]+/information", _known_lines_of("Device Minor")),
        (r"/proc/sys/kernel/(?:osrelease|version)", _words),
        (r"/proc/sysinfo", _known_lines_of("Manufacturer", "Type", "VM00 Control Program")),
        (
            r"/sys/class/dmi/id/(?:bios_(?:date|vendor|version|release)|(?:board|sys|chassis)_vendor|board_name|product_(?:name|version))",
            _product,
        ),
        (
            r"/sys/(?:class/dmi/id|devices/virtual/dmi/id)/(?!bios_|board_name|board_vendor|sys_vendor|product_(?:name|version)).*",
            _gone,
        ),
        (
            r"/sys/.*/(?:serial(?:_number)?|unique_id|uuid|wwid|nguid|eui|vpd|hostnqn|hostid|phys_switch_id|phys_port_id|ifalias)",
            _gone,
        ),
        (r"/proc/sys/kernel/(?:domainname|random/.*)|/etc/machine-id", _gone),
        (r"/sys/.*/uevent", _lines_of("DRIVER", "PCI_CLASS", "PCI_ID", "PCI_SUBSYS_ID", "PCI_SLOT_NAME", "MODALIAS")),
        (r"/sys/.*/(?:fw_ver|version|hw_rev|[\w-]*(?:version|release))", _version),
        (r"/(?:proc|sys|dev/cpuset)/.*", _value),
    )
)
"""The first that fits a path decides."""


def kept_file(mask: Mask, path: str, data: bytes) -> bytes:
    """Return what of a file stays."""
    if re.search(r"/firmware/dmi/(?:tables/DMI|entries/[^/]+/raw)$", path):
        return allowed_values.blank_smbios(data, lambda text: mask.product(text) != text)
    if re.search(r"/firmware/acpi/tables/", path):
        return allowed_values.blank_acpi(data, path.rpartition("/")[2])
    if path.endswith("/config") and path.startswith("/sys/"):
        return allowed_values.blank_pci_config(data)
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
