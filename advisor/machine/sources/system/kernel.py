"""The kernel: its boot options, what was asked of it at run time, and the modules that MPI and GPUs copy with."""

import re

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import Gap, Machine
from advisor.machine.operating_system import Hugepages, Kernel
from advisor.machine.sources.cpu import CPUINFO, first_cpu
from advisor.machine.sources.reader import CAPTURE_HELP, NOT_IN_INPUT, FactSource, Reader, invalid_names
from advisor.machine.value import KIB, is_name, number

_SYS = "/proc/sys"
_THP = "/sys/kernel/mm/transparent_hugepage"
_CLOCK = "/sys/devices/system/clocksource/clocksource0"
_CPU = "/sys/devices/system/cpu"
_VERSION = "/proc/version"
_OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")
_TUNED = "/etc/tuned/active_profile"
_BY_NODE = "/sys/devices/system/node/node*/hugepages/hugepages-*kB/nr_hugepages"
_ALL = "/sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages"
_IRQBALANCE = ("systemctl", "is-active", "irqbalance")
_IRQBALANCE_PID = "/run/irqbalance.pid"
_UNAME = ("uname", "-m")

KERNEL_PATHS = (
    f"{_SYS}/kernel/osrelease",
    f"{_SYS}/kernel/version",
    f"{_SYS}/kernel/hostname",
    f"{_SYS}/kernel/arch",
    f"{_SYS}/kernel/numa_balancing",
    f"{_SYS}/vm/zone_reclaim_mode",
    f"{_SYS}/vm/swappiness",
    f"{_SYS}/vm/overcommit_memory",
    f"{_SYS}/vm/min_free_kbytes",
    f"{_THP}/enabled",
    f"{_THP}/defrag",
    f"{_CLOCK}/current_clocksource",
    f"{_CLOCK}/available_clocksource",
    f"{_CPU}/isolated",
    f"{_CPU}/nohz_full",
    "/proc/cmdline",
    _VERSION,
    *_OS_RELEASE,
    _TUNED,
    _BY_NODE,
    _ALL,
    _IRQBALANCE_PID,
    CPUINFO,
)
KERNEL_COMMANDS = (_IRQBALANCE, _UNAME)


def collect_kernel(host: Host) -> Machine:
    """Return the kernel, the host's name and its architecture."""
    reader = Reader(host)
    kernel = _identity(reader).model_copy(update=_settings(reader))
    if kernel == Kernel():
        return Machine(gaps=(Gap(fact="kernel", why=NOT_IN_INPUT, help=CAPTURE_HELP),))
    name = reader.text(f"{_SYS}/kernel/hostname", "name")
    return Machine(
        name=name if name and is_name(name) else None,
        architecture=_architecture(reader),
        kernel=kernel,
        sources=reader.sources,
        gaps=(*reader.gaps, *(invalid_names("host", [name]) if name and name != "(none)" else ())),
    )


def parse_cmdline(text: str) -> tuple[tuple[str, str | None], ...]:
    r"""Return the boot options in order; quotes keep spaces together and ``--`` ends them, as in the kernel's next_arg().

    >>> parse_cmdline('ro iommu=pt dyndbg="file a.c +p" -- single')
    (('ro', None), ('iommu', 'pt'), ('dyndbg', 'file a.c +p'))
    """
    options = []
    for word in re.findall(r'(?:"[^"]*(?:"|$)|[^\s"])+', text):
        if word == "--":
            break
        key, equals, value = word.replace('"', "").partition("=")
        options.append((key, value if equals else None))
    return tuple(options)


def bracketed(text: str | None) -> str | None:
    """Return the choice that the kernel marks in a line such as ``always [madvise] never``."""
    match = re.search(r"\[([^\]\s]+)\]", text or "")
    return match[1] if match else None


def _identity(reader: Reader) -> Kernel:
    release = reader.text(f"{_SYS}/kernel/osrelease")
    version = reader.text(f"{_SYS}/kernel/version")
    banner = re.match(r"Linux version (\S+) .*?(#\d.*)", reader.text(_VERSION) or "")
    where = f"{_SYS}/kernel" if release or version else _VERSION
    if release or version or banner:
        reader.found("kernel.release", where)
    pretty = re.search(r"^PRETTY_NAME=(.*)$", reader.first(_OS_RELEASE, "kernel.os_name") or "", re.MULTILINE)
    cmdline = reader.text("/proc/cmdline", "kernel.cmdline")
    return Kernel(
        release=release or (banner[1] if banner else None),
        version=version or (banner[2] if banner else None),
        os_name=pretty[1].strip().strip("\"'") if pretty else None,
        cmdline=None if cmdline is None else parse_cmdline(cmdline),
    )


def _settings(reader: Reader) -> dict[str, object]:
    free = reader.number(f"{_SYS}/vm/min_free_kbytes", "kernel.min_free")
    clocks = reader.text(f"{_CLOCK}/available_clocksource")
    return {
        "thp": bracketed(reader.text(f"{_THP}/enabled", "kernel.thp")),
        "thp_defrag": bracketed(reader.text(f"{_THP}/defrag", "kernel.thp_defrag")),
        "numa_balancing": reader.number(f"{_SYS}/kernel/numa_balancing", "kernel.numa_balancing"),
        "zone_reclaim_mode": reader.number(f"{_SYS}/vm/zone_reclaim_mode", "kernel.zone_reclaim_mode"),
        "swappiness": reader.number(f"{_SYS}/vm/swappiness", "kernel.swappiness"),
        "overcommit_memory": reader.number(f"{_SYS}/vm/overcommit_memory", "kernel.overcommit_memory"),
        "min_free": None if free is None else free * KIB,
        "hugepages": _hugepages(reader),
        "clocksource": reader.text(f"{_CLOCK}/current_clocksource", "kernel.clocksource") or None,
        "clocksources": tuple(clocks.split()) if clocks else None,
        "isolated": _cpus(reader, "isolated"),
        "nohz_full": _cpus(reader, "nohz_full"),
        "tuned": _tuned(reader),
        "irqbalance": _irqbalance(reader),
    }


def _cpus(reader: Reader, name: str) -> CpuSet | None:
    # Where no CPU was named at boot, nohz_full is a null mask and prints as such.
    if reader.text(f"{_CPU}/{name}") == "(null)":
        reader.found(f"kernel.{name}", f"{_CPU}/{name}")
        return CpuSet()
    return reader.cpus(f"{_CPU}/{name}", f"kernel.{name}")


def _hugepages(reader: Reader) -> tuple[Hugepages, ...] | None:
    for pattern in (_BY_NODE, _ALL):
        found = [pages for path in expand(reader.host, pattern) if (pages := _pages(reader, path))]
        if found:
            reader.found("kernel.hugepages", pattern)
            return tuple(sorted(found, key=lambda pages: (pages.node, pages.page)))
    reader.lacks("kernel.hugepages", f"{_ALL}: not there", "a kernel with hugepages has it")
    return None


def _pages(reader: Reader, path: str) -> Hugepages | None:
    # Without NUMA in the kernel there is one pool, and one node.
    node = re.search(r"/node(\d{1,7})/", path)
    page = re.search(r"/hugepages-(\d{1,12})kB/", path)
    count = reader.number(path)
    if page is None or count is None:
        return None
    return Hugepages(node=int(node[1]) if node else 0, page=int(page[1]) * KIB, count=count)


def _tuned(reader: Reader) -> str | None:
    reading = reader.host.read(_TUNED)
    # Tuned writes the file when a profile starts; an /etc without it is a machine without one.
    if reading.why is Why.ABSENT and reader.host.list("/etc"):
        reader.found("kernel.tuned", f"{_TUNED}: not there")
        return "none"
    profile = reader.text(_TUNED, "kernel.tuned")
    return None if profile is None else profile or "none"


def _irqbalance(reader: Reader) -> bool | None:
    """Return whether the daemon runs; its socket and its threads are named by process number, so the service is asked."""
    state = reader.host.run(_IRQBALANCE)
    answer = state.out.decode("utf-8", "replace").strip()
    if state.why is None and answer == "active":
        reader.found("kernel.irqbalance", " ".join(_IRQBALANCE))
        return True
    if reader.host.read(_IRQBALANCE_PID).why is None:
        reader.found("kernel.irqbalance", _IRQBALANCE_PID)
        return True
    if state.why is None and answer in ("inactive", "failed"):
        reader.found("kernel.irqbalance", " ".join(_IRQBALANCE))
        return False
    reader.lacks("kernel.irqbalance", f"{' '.join(_IRQBALANCE)}: {state.why or 'no answer'}", "ask on a machine run by systemd")
    return None


def _architecture(reader: Reader) -> str | None:
    told = reader.text(f"{_SYS}/kernel/arch")
    if told:
        reader.found("architecture", f"{_SYS}/kernel/arch")
        return told
    name = (reader.host.run(_UNAME).text or "").strip()
    if name:
        reader.found("architecture", " ".join(_UNAME))
        return name
    derived = reader.view(CPUINFO, derive_architecture)
    if derived:
        reader.found("architecture", CPUINFO)
    return derived


def derive_architecture(cpuinfo: str) -> str | None:
    """Return the architecture that /proc/cpuinfo betrays by its form, or None."""
    head = first_cpu(cpuinfo)
    if "flags" in head:
        return "x86_64" if "lm" in head["flags"].split() else "i686"
    if head.get("cpu architecture") in ("8", "AArch64"):
        return "aarch64"
    if head.get("isa", "").startswith("rv64"):
        return "riscv64"
    if "loongarch64" in head.get("isa", ""):
        return "loongarch64"
    return "s390x" if head.get("vendor_id") == "IBM/S390" else None


_MODULE = "/sys/module"
_NAMES = ("gdrdrv", "knem", "nv_peer_mem", "nvidia_peermem", "xpmem")
_PTRACE = "/proc/sys/kernel/yama/ptrace_scope"
_NMI = "/proc/sys/kernel/nmi_watchdog"
_KSM = "/sys/kernel/mm/ksm/run"
_NVIDIA = "/proc/driver/nvidia/version"

MODULES_PATHS = (*(f"{_MODULE}/{name}" for name in _NAMES), _PTRACE, _NMI, _KSM, _NVIDIA)


def collect_modules(host: Host) -> Machine:
    """Return which modules are loaded and how the switches stand."""
    reader = Reader(host)
    kernel = Kernel(
        modules=_modules(reader),
        ptrace_scope=_number(reader, _PTRACE, "kernel.ptrace_scope"),
        nmi_watchdog=_number(reader, _NMI, "kernel.nmi_watchdog"),
        ksm=_number(reader, _KSM, "kernel.ksm"),
        nvidia_open=_open(reader),
    )
    return Machine(kernel=None if kernel == Kernel() else kernel, sources=reader.sources, gaps=reader.gaps)


def _modules(reader: Reader) -> tuple[str, ...] | None:
    """Return the loaded ones of a few modules; None where nobody looked for them."""
    paths = {name: f"{_MODULE}/{name}" for name in _NAMES}
    loaded = tuple(name for name, path in paths.items() if reader.host.real(path) is not None)
    unseen = [path for name, path in paths.items() if name not in loaded and reader.host.read(path).why is not Why.ABSENT]
    if unseen:
        reader.missed("kernel.modules", unseen[0], reader.host.read(unseen[0]).why or Why.FAILED)
        return None
    reader.found("kernel.modules", _MODULE)
    return loaded


def _number(reader: Reader, path: str, fact: str) -> int | None:
    """Return a switch; 0 where the kernel was built without what it switches."""
    if reader.host.read(path).why is Why.ABSENT:
        reader.found(fact, f"{path}: not there")
        return 0
    return number(reader.text(path, fact))


def _open(reader: Reader) -> bool | None:
    """Return whether NVIDIA's kernel module is the open one: its version says so; None where there is none."""
    text = reader.text(_NVIDIA)
    if not text or "NVRM" not in text:
        return None
    reader.found("kernel.nvidia_open", _NVIDIA)
    return "Open Kernel Module" in text


SOURCES = (
    FactSource(
        "kernel",
        20,
        "The kernel, its boot options, and what was asked of it at run time.",
        KERNEL_PATHS,
        KERNEL_COMMANDS,
        collect_kernel,
    ),
    FactSource(
        "modules",
        20,
        "Kernel modules that MPI and GPUs copy with, and switches of the kernel that stand in their way or take time.",
        MODULES_PATHS,
        (),
        collect_modules,
    ),
)
