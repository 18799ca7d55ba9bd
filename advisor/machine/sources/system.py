"""The operating system: the kernel and what was asked of it, where this process runs, and what it may use."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, Ran, Why, cgroups_above, expand
from advisor.machine.machine import Environment, Hugepages, Kernel, Limits, Machine
from advisor.machine.sources.cpu import CPUINFO, first_cpu
from advisor.machine.sources.reader import (
    REPORT_HELP,
    FactSource,
    Reader,
    files,
    invalid_names,
    memory_total,
    part,
    set_in,
    unknown,
)
from advisor.machine.value import KIB, is_name, number

_SYS = "/proc/sys"
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


def bracketed(text: str | None) -> str | None:
    """Return the choice that the kernel marks in a line such as ``always [madvise] never``."""
    match = re.search(r"\[([^\]\s]+)\]", text or "")
    return match[1] if match else None


def _kibibytes(text: str | None) -> int | None:
    value = number(text)
    return None if value is None else value * KIB


def _cpus(text: str | None) -> CpuSet | None:
    # Where no CPU was named at boot, nohz_full is a null mask and prints as such.
    return CpuSet() if text == "(null)" else None if text is None else CpuSet.parse(text)


_FILES: dict[str, tuple[str, Callable[[str | None], Any] | None]] = {
    "min_free": (f"{_SYS}/vm/min_free_kbytes", _kibibytes),
    "thp": ("/sys/kernel/mm/transparent_hugepage/enabled", bracketed),
    "thp_defrag": ("/sys/kernel/mm/transparent_hugepage/defrag", bracketed),
    "numa_balancing": (f"{_SYS}/kernel/numa_balancing", number),
    "zone_reclaim_mode": (f"{_SYS}/vm/zone_reclaim_mode", number),
    "swappiness": (f"{_SYS}/vm/swappiness", number),
    "swap": ("/proc/meminfo", lambda text: memory_total(text or "", "SwapTotal")),
    "overcommit_memory": (f"{_SYS}/vm/overcommit_memory", number),
    "hugepages": (_BY_NODE, None),
    "clocksource": (f"{_CLOCK}/current_clocksource", lambda text: text or None),
    "isolated": (f"{_CPU}/isolated", _cpus),
    "nohz_full": (f"{_CPU}/nohz_full", _cpus),
}
"""Facts of the kernel that one file gives each, and what is read of its text; of hugepages there is one for each size."""

KERNEL_PATHS = (
    *files(f"{_SYS}/kernel", "osrelease version hostname arch"),
    *(path for path, _ in _FILES.values()),
    f"{_CLOCK}/available_clocksource",
    "/proc/cmdline",
    _VERSION,
    *_OS_RELEASE,
    _TUNED,
    _ALL,
    _IRQBALANCE_PID,
    CPUINFO,
)
KERNEL_COMMANDS = (_IRQBALANCE, _UNAME)


def collect_kernel(host: Host) -> Machine:
    """Return the kernel, the host's name and its architecture."""
    reader = Reader(host)
    identity, shared = _identity(reader), reader.takes(part(host, _settings)).kernel or Kernel()
    kernel = identity.but(**{fact: value for fact, value in shared if value is not None})
    if kernel == Kernel():
        return unknown("kernel")
    name = reader.text(f"{_SYS}/kernel/hostname", "name")
    return Machine(
        name=name if name and is_name(name) else None,
        architecture=reader.told("architecture", _architecture(reader)),
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


def _settings(host: Host) -> Machine:
    """Return the settings, which equal nodes share."""
    reader = Reader(host)
    clocks = reader.text(f"{_CLOCK}/available_clocksource")
    facts: dict[str, Any] = {
        fact: reader.value(path, f"kernel.{fact}", read) if read else _hugepages(reader) for fact, (path, read) in _FILES.items()
    }
    facts |= {"clocksources": tuple(clocks.split()) if clocks else None, "tuned": _tuned(reader)}
    return reader.machine(kernel=Kernel(**facts, irqbalance=_irqbalance(reader)))


def _hugepages(reader: Reader) -> tuple[Hugepages, ...] | None:
    for pattern in (_BY_NODE, _ALL):
        found = []
        for path in expand(reader.host, pattern):
            # Without NUMA in the kernel there is one pool, and one node.
            node, page = re.search(r"/node(\d{1,7})/", path), re.search(r"/hugepages-(\d{1,12})kB/", path)
            if page and (count := reader.number(path)) is not None:
                found.append(Hugepages(node=int(node[1]) if node else 0, page=int(page[1]) * KIB, count=count))
        if found:
            reader.found("kernel.hugepages", pattern)
            return tuple(sorted(found, key=lambda pages: (pages.node, pages.page)))
    reader.lacks("kernel.hugepages", f"{_ALL}: not present", "needs a kernel with hugepage support")
    return None


def _tuned(reader: Reader) -> str | None:
    reading = reader.host.read(_TUNED)
    # Tuned writes the file when a profile starts; an /etc without it is a machine without one.
    if reading.why is Why.ABSENT and reader.host.list("/etc"):
        reader.found("kernel.tuned", f"{_TUNED}: not present")
        return "none"
    profile = reader.text(_TUNED, "kernel.tuned")
    return None if profile is None else profile or "none"


def _irqbalance(reader: Reader) -> bool | None:
    """Return whether the daemon runs; its socket and its threads are named by process number, so the service is asked."""
    state = reader.host.run(_IRQBALANCE)
    answer = "" if state.why else state.out.decode("utf-8", "replace").strip()
    asked = " ".join(_IRQBALANCE)
    runs = answer == "active"
    if not runs and reader.host.read(_IRQBALANCE_PID).why is None:
        runs, asked = True, _IRQBALANCE_PID
    if not runs and answer not in ("inactive", "failed"):
        reader.lacks("kernel.irqbalance", f"{asked}: {state.why or 'no answer'}", "run this on a machine that uses systemd")
        return None
    reader.found("kernel.irqbalance", asked)
    return runs


def _architecture(reader: Reader) -> Iterator[tuple[str, str | None]]:
    yield f"{_SYS}/kernel/arch", reader.text(f"{_SYS}/kernel/arch") or None
    yield " ".join(_UNAME), (reader.host.run(_UNAME).text or "").strip() or None
    yield CPUINFO, reader.view(CPUINFO, derive_architecture)


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
_SWITCHES = {
    "ptrace_scope": f"{_SYS}/kernel/yama/ptrace_scope",
    "nmi_watchdog": f"{_SYS}/kernel/nmi_watchdog",
    "ksm": "/sys/kernel/mm/ksm/run",
}
"""0 where the kernel was built without what they switch."""
_NVIDIA = "/proc/driver/nvidia/version"

MODULES_PATHS = (*(f"{_MODULE}/{name}" for name in _NAMES), *_SWITCHES.values(), _NVIDIA)


def collect_modules(host: Host) -> Machine:
    """Return which modules are loaded and how the switches stand."""
    reader = Reader(host)
    modules = _modules(reader)
    switches: dict[str, int | None] = {}
    for fact, path in _SWITCHES.items():
        if host.read(path).why is Why.ABSENT:
            reader.found(f"kernel.{fact}", f"{path}: not present")
            switches[fact] = 0
        else:
            switches[fact] = reader.number(path, f"kernel.{fact}")
    text = reader.text(_NVIDIA) or ""
    if "NVRM" in text:
        reader.found("kernel.nvidia_open", _NVIDIA)
    is_open = "Open Kernel Module" in text if "NVRM" in text else None
    kernel = Kernel(modules=modules, **switches, nvidia_open=is_open)
    return reader.machine(kernel=None if kernel == Kernel() else kernel)


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


# {cgroup} stands for the process's own cgroup and each of its parents: a capture keeps no other cgroup.
CPUSET_PATHS = (
    "/proc/mounts",
    "/proc/self/cgroup",
    "/proc/self/cpuset",
    "/sys/fs/cgroup{cgroup}/cpuset.cpus.effective",
    "/sys/fs/cgroup{cgroup}/cpuset.mems.effective",
    "/sys/fs/cgroup/cpuset{cgroup}/cpuset.cpus",
    "/sys/fs/cgroup/cpuset{cgroup}/cpuset.mems",
    "/dev/cpuset{cgroup}/cpus",
    "/dev/cpuset{cgroup}/mems",
)


def cpuset_allowed(reader: Reader) -> tuple[CpuSet | None, CpuSet | None]:
    """Return the CPUs and the NUMA nodes that the cgroup allows; None where no cpuset controller limits them."""
    cpus = nodes = None
    for folder, suffix in _folders(reader):
        cpus = cpus or set_in(reader.text(f"{folder}/{suffix.format('cpus')}"))
        nodes = nodes or set_in(reader.text(f"{folder}/{suffix.format('mems')}"))
        if cpus and nodes:
            break
    return cpus or None, nodes or None


def _folders(reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield the folders to ask, the process's own first, with how that version names its files."""
    for line in (reader.text("/proc/mounts") or "").splitlines():
        _, point, kind, options, *_ = (*line.split(), *[""] * 4)
        own, suffix = None, "{}"
        if kind == "cgroup2":
            lines = (reader.text("/proc/self/cgroup") or "").splitlines()
            own, suffix = next((line[3:] for line in lines if line.startswith("0::")), None), "cpuset.{}.effective"
        elif kind == "cpuset" or (kind == "cgroup" and "cpuset" in options.split(",")):
            own = reader.text("/proc/self/cpuset")
            suffix = "{}" if kind == "cpuset" or "noprefix" in options.split(",") else "cpuset.{}"
        if options and own and own.startswith("/"):
            yield from ((point + path, suffix) for path in cgroups_above(own))


_LIMITS = "/proc/self/limits"
_STATUS = "/proc/self/status"
_CGROUP = "/proc/self/cgroup"
PROCESS_PATHS = (_LIMITS, _STATUS, _CGROUP)

UNLIMITED = -1


def collect_process(host: Host) -> Machine:
    """Return the limits under which this process runs."""
    reader = Reader(host)
    given = reader.text(_LIMITS, "limits.memlock")
    for fact in ("limits.stack", "limits.files") if given else ():
        reader.found(fact, _LIMITS)
    status = reader.text(_STATUS, "limits.affinity")
    limits = Limits(
        memlock=soft_limit(given, "Max locked memory"),
        stack=soft_limit(given, "Max stack size"),
        files=soft_limit(given, "Max open files"),
        affinity=_status_list(reader, status, "Cpus_allowed_list", "limits.affinity"),
        memory_nodes=_status_list(reader, status, "Mems_allowed_list", "limits.memory_nodes"),
        cgroup=cgroup_path(reader.text(_CGROUP, "limits.cgroup")),
    )
    if limits == Limits():
        return unknown("limits")
    return reader.machine(limits=limits)


def soft_limit(text: str | None, name: str) -> int | None:
    """Return the soft limit of a line of /proc/self/limits, -1 for unlimited, or None.

    >>> soft_limit("Max locked memory         8388608              unlimited            bytes", "Max locked memory")
    8388608
    """
    match = re.search(rf"^{re.escape(name)}\s+(unlimited|[0-9]{{1,20}})\b", text or "", re.MULTILINE)
    if not match:
        return None
    return UNLIMITED if match[1] == "unlimited" else int(match[1])


def cgroup_path(text: str | None) -> str | None:
    r"""Return the path of the cpuset hierarchy (v1) or else of the unified one (v2).

    >>> cgroup_path("4:cpuset:/slurm/job_7\n0::/\n")
    '/slurm/job_7'
    """
    unified = None
    for line in (text or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon and "cpuset" in controllers.split(","):
            return path
        if colon and not controllers and unified is None:
            unified = path
    return unified


def _status_list(reader: Reader, status: str | None, name: str, fact: str) -> CpuSet | None:
    match = re.search(rf"^{name}:[ \t]*(\S*)", status or "", re.MULTILINE)
    if not match:
        return None
    reader.found(fact, _STATUS)
    try:
        return CpuSet.parse(match[1])
    except BadInput as error:
        reader.lacks(fact, f"{_STATUS}: {error.problem}", REPORT_HELP)
        return None


_DMI = "/sys/class/dmi/id"
_DMI_FILES = tuple(f"{_DMI}/{name}" for name in ("sys_vendor", "product_name", "bios_vendor", "board_vendor"))
_HYPERVISOR = "/sys/hypervisor/type"
_XEN = "/proc/xen/capabilities"
_SYSINFO = "/proc/sysinfo"
_CGROUP_OF_INIT = "/proc/1/cgroup"
_SYSTEMD = "/run/systemd/container"
_MARKS = {"/.singularity.d/runscript": "apptainer", "/run/.containerenv": "podman", "/.dockerenv": "docker"}
_ASK_VM = ("systemd-detect-virt", "--vm")
_ASK_CONTAINER = ("systemd-detect-virt", "--container")

ENVIRONMENT_PATHS = (CPUINFO, *_DMI_FILES, _HYPERVISOR, _XEN, _SYSINFO, _CGROUP_OF_INIT, _SYSTEMD, *_MARKS)
ENVIRONMENT_COMMANDS = (_ASK_VM, _ASK_CONTAINER)

_OTHER = "vm-other"
"""systemd's word for a hypervisor without a name."""

_RENAMED = {"microsoft": "hyperv"}

# Vendors of machines that are never real. The first names are those of systemd's src/basic/virt.c.
_MAKERS = (
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "hyperv"),
    ("Virtual Machine", "hyperv"),
)
# Clouds that lend real machines under the same name too: only the CPU's hypervisor flag tells them apart.
_CLOUDS = (("Amazon EC2", "amazon"), ("Google", "google"), ("Alibaba Cloud", "kvm"))

_CGROUP_HINTS = (
    ("docker", "docker"),
    ("libpod", "podman"),
    ("kubepods", "kubernetes"),
    ("/lxc", "lxc"),
    ("machine.slice", "nspawn"),
)


def collect_environment(host: Host) -> Machine:
    """Return whether the machine is virtual and whether this is a container."""
    reader = Reader(host)
    environment = Environment(
        virtual=reader.told("environment.virtual", _virtual(reader)),
        container=reader.told("environment.container", _container(reader)),
    )
    if environment == Environment():
        return unknown("environment")
    if environment.virtual is None:
        reader.lacks(
            "environment.virtual",
            "the CPU and firmware do not show whether the machine is virtual",
            "to detect virtualisation, install systemd-detect-virt",
        )
    if environment.container is None:
        reader.lacks("environment.container", "no evidence either way", "to detect containers, install systemd-detect-virt")
    return reader.machine(environment=environment)


def _virtual(reader: Reader) -> Iterator[tuple[str, str | None]]:
    """Yield the hypervisor's names: systemd asks the CPU itself; then come the flag, the kernel and the firmware's names."""
    flag = _flag(reader)
    asked = _answer(reader.host.run(_ASK_VM))
    yield " ".join(_ASK_VM), None if asked == "none" and flag else asked
    control = re.search(r"^VM00 Control Program: *(z/VM|KVM)", reader.text(_SYSINFO) or "", re.MULTILINE)
    yield _SYSINFO, control and {"z/VM": "zvm", "KVM": "kvm"}[control[1]]
    for path in _DMI_FILES:
        yield path, by_maker(reader.text(path) or "", real_possible=flag is not True)
    yield _HYPERVISOR, (reader.text(_HYPERVISOR) if flag else None) or None
    yield f"flags in {CPUINFO}", None if flag is None else _OTHER if flag else "none"


def _answer(ran: Ran) -> str | None:
    """Return the word systemd-detect-virt printed; its status is 1 with ``none``, which is an answer."""
    word = ran.out.decode("utf-8", "replace").strip() if ran.why is None else ""
    return _RENAMED.get(word, word) if re.fullmatch(r"[a-z0-9-]{1,32}", word) else None


def _flag(reader: Reader) -> bool | None:
    """Return whether the CPU says that a hypervisor runs it; None off x86, where no flag shows it."""
    flags = reader.view(CPUINFO, _flags)
    if not flags:
        return None
    privileged = "control_d" in (reader.text(_XEN) or "")
    # The first domain of Xen runs on the real machine and configures it, though Xen shows it the flag.
    return "hypervisor" in flags.split() and not privileged


def _flags(text: str) -> str | None:
    return first_cpu(text).get("flags")


def by_maker(text: str, *, real_possible: bool) -> str | None:
    """Return the hypervisor that a firmware's vendor or product name gives away, or None."""
    makers = _MAKERS if real_possible else _MAKERS + _CLOUDS
    return next((name for maker, name in makers if text.startswith(maker)), None)


def _container(reader: Reader) -> Iterator[tuple[str, str | None]]:
    for path, name in _MARKS.items():
        yield path, name if reader.host.read(path).why is None else None
    yield " ".join(_ASK_CONTAINER), _answer(reader.host.run(_ASK_CONTAINER))
    yield _SYSTEMD, reader.text(_SYSTEMD) or None
    groups = reader.text(_CGROUP_OF_INIT) or ""
    # systemd as the first process of a machine sits in init.scope; a container with its own view sees the root alone.
    alone = "none" if re.search(r":/init\.scope$", groups, re.MULTILINE) else None
    yield _CGROUP_OF_INIT, next((name for hint, name in _CGROUP_HINTS if hint in groups), alone)


SOURCES = (
    FactSource(
        "kernel",
        "The kernel, its boot options and its run-time settings.",
        collect_kernel,
        KERNEL_PATHS,
        KERNEL_COMMANDS,
    ),
    FactSource(
        "modules",
        "Kernel modules through which MPI and GPUs copy data, and kernel settings that block or slow them.",
        collect_modules,
        MODULES_PATHS,
    ),
    FactSource("process", "What this process may use: limits, affinity, cgroup.", collect_process, PROCESS_PATHS),
    FactSource(
        "environment",
        "Whether this is real hardware, a virtual machine, or a container.",
        collect_environment,
        ENVIRONMENT_PATHS,
        ENVIRONMENT_COMMANDS,
    ),
)
