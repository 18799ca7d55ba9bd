"""Where this process runs (real hardware, virtual machine, container), and what it may use: limits, affinity, cgroup."""

import re
from collections.abc import Iterator

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, Ran, cgroups_above
from advisor.machine.machine import Gap, Machine
from advisor.machine.operating_system import Environment, Limits
from advisor.machine.sources.cpu import CPUINFO, first_cpu
from advisor.machine.sources.reader import CAPTURE_HELP, NOT_IN_INPUT, FactSource, Reader

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
        cpus = cpus or _cpuset_list(reader, f"{folder}/{suffix.format('cpus')}")
        nodes = nodes or _cpuset_list(reader, f"{folder}/{suffix.format('mems')}")
        if cpus and nodes:
            break
    return cpus, nodes


def _folders(reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield the folders to ask, the process's own first, with how that version names its files."""
    mounts = [line.split() for line in (reader.text("/proc/mounts") or "").splitlines()]
    for mount in mounts:
        if len(mount) < 4:
            continue
        point, kind, options = mount[1], mount[2], mount[3].split(",")
        if kind == "cgroup2":
            yield from ((point + path, "cpuset.{}.effective") for path in _above(_version_2(reader)))
        elif kind == "cgroup" and "cpuset" in options:
            suffix = "{}" if "noprefix" in options else "cpuset.{}"
            yield from ((point + path, suffix) for path in _above(reader.text("/proc/self/cpuset")))
        elif kind == "cpuset":
            yield from ((point + path, "{}") for path in _above(reader.text("/proc/self/cpuset")))


def _version_2(reader: Reader) -> str | None:
    lines = (reader.text("/proc/self/cgroup") or "").splitlines()
    return next((line[3:] for line in lines if line.startswith("0::")), None)


def _above(path: str | None) -> Iterator[str]:
    return cgroups_above(path) if path and path.startswith("/") else iter(())


def _cpuset_list(reader: Reader, path: str) -> CpuSet | None:
    text = reader.text(path)
    try:
        return CpuSet.parse(text) or None if text else None
    except BadInput:
        return None


_LIMITS = "/proc/self/limits"
_STATUS = "/proc/self/status"
_CGROUP = "/proc/self/cgroup"
PROCESS_PATHS = (_LIMITS, _STATUS, _CGROUP)

UNLIMITED = -1


def collect_process(host: Host) -> Machine:
    """Return the limits under which this process runs."""
    reader = Reader(host)
    given = reader.text(_LIMITS, "limits.memlock")
    if given:
        reader.found("limits.stack", _LIMITS)
        reader.found("limits.files", _LIMITS)
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
        return Machine(gaps=(Gap(fact="limits", why=NOT_IN_INPUT, help=CAPTURE_HELP),))
    return Machine(limits=limits, sources=reader.sources, gaps=reader.gaps)


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
        reader.lacks(fact, f"{_STATUS}: {error.problem}", "report it with the output of advisor capture")
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
    environment = Environment(virtual=_virtual(reader), container=_container(reader))
    if environment == Environment():
        return Machine(gaps=(Gap(fact="environment", why=NOT_IN_INPUT, help=CAPTURE_HELP),))
    if environment.virtual is None:
        reader.lacks("environment.virtual", "neither the CPU nor the firmware says", "install systemd-detect-virt")
    if environment.container is None:
        reader.lacks("environment.container", "no sign for or against", "install systemd-detect-virt")
    return Machine(environment=environment, sources=reader.sources, gaps=reader.gaps)


def _virtual(reader: Reader) -> str | None:
    """Return the hypervisor's name: systemd asks the CPU itself; then come the flag, the kernel and the firmware's names."""
    flag = _flag(reader)
    asked = _answer(reader.host.run(_ASK_VM))
    if asked and not (asked == "none" and flag):
        reader.found("environment.virtual", " ".join(_ASK_VM))
        return asked
    named = _named(reader, real_possible=flag is not True)
    if named or flag is None:
        return named
    reader.found("environment.virtual", f"flags in {CPUINFO}")
    return _OTHER if flag else "none"


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


def _named(reader: Reader, *, real_possible: bool) -> str | None:
    control = re.search(r"^VM00 Control Program: *(z/VM|KVM)", reader.text(_SYSINFO) or "", re.MULTILINE)
    if control:
        reader.found("environment.virtual", _SYSINFO)
        return "zvm" if control[1] == "z/VM" else "kvm"
    for path in _DMI_FILES:
        name = by_maker(reader.text(path) or "", real_possible=real_possible)
        if name:
            reader.found("environment.virtual", path)
            return name
    kind = reader.text(_HYPERVISOR) if not real_possible else None
    if kind:
        reader.found("environment.virtual", _HYPERVISOR)
    return kind or None


def by_maker(text: str, *, real_possible: bool) -> str | None:
    """Return the hypervisor that a firmware's vendor or product name gives away, or None."""
    makers = _MAKERS if real_possible else _MAKERS + _CLOUDS
    return next((name for maker, name in makers if text.startswith(maker)), None)


def _container(reader: Reader) -> str | None:
    for path, name in _MARKS.items():
        if reader.host.read(path).why is None:
            reader.found("environment.container", path)
            return name
    asked = _answer(reader.host.run(_ASK_CONTAINER))
    if asked:
        reader.found("environment.container", " ".join(_ASK_CONTAINER))
        return asked
    told = reader.text(_SYSTEMD)
    if told:
        reader.found("environment.container", _SYSTEMD)
        return told
    return _of_first_process(reader)


def _of_first_process(reader: Reader) -> str | None:
    groups = reader.text(_CGROUP_OF_INIT)
    if groups is None:
        return None
    name = next((name for hint, name in _CGROUP_HINTS if hint in groups), None)
    # systemd as the first process of a machine sits in init.scope; a container with its own view sees the root alone.
    if name is None and re.search(r":/init\.scope$", groups, re.MULTILINE):
        name = "none"
    if name:
        reader.found("environment.container", _CGROUP_OF_INIT)
    return name


SOURCES = (
    FactSource("process", 20, "What this process may use: limits, affinity, cgroup.", PROCESS_PATHS, (), collect_process),
    FactSource(
        "environment",
        20,
        "Whether this is real hardware, a virtual machine, or a container.",
        ENVIRONMENT_PATHS,
        ENVIRONMENT_COMMANDS,
        collect_environment,
    ),
)
