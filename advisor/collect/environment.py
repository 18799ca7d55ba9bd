"""Whether this is real hardware, a virtual machine, or a container."""

import re

from advisor.collect.cpu import CPUINFO, first_cpu
from advisor.collect.reader import CAPTURE_HELP, NOT_IN_INPUT, Reader
from advisor.host.base import Host, Ran
from advisor.model.hardware.machine import Gap, Machine
from advisor.model.hardware.operating_system import Environment

_DMI = "/sys/class/dmi/id"
_DMI_FILES = tuple(f"{_DMI}/{name}" for name in ("sys_vendor", "product_name", "bios_vendor", "board_vendor"))
_HYPERVISOR = "/sys/hypervisor/type"
_XEN = "/proc/xen/capabilities"
_SYSINFO = "/proc/sysinfo"
_CGROUP = "/proc/1/cgroup"
_SYSTEMD = "/run/systemd/container"
_MARKS = {"/.singularity.d/runscript": "apptainer", "/run/.containerenv": "podman", "/.dockerenv": "docker"}
_ASK_VM = ("systemd-detect-virt", "--vm")
_ASK_CONTAINER = ("systemd-detect-virt", "--container")

PATHS = (CPUINFO, *_DMI_FILES, _HYPERVISOR, _XEN, _SYSINFO, _CGROUP, _SYSTEMD, *_MARKS)
COMMANDS = (_ASK_VM, _ASK_CONTAINER)
RANK = 20

_OTHER = "vm-other"
"""systemd's word for a hypervisor without a name."""

_RENAMED = {"microsoft": "hyperv"}

# Makers of machines that are never real. The first names are those of systemd's src/basic/virt.c.
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


def collect(host: Host) -> Machine:
    """Return whether the machine is virtual and whether this is a container."""
    reader = Reader(host)
    environment = Environment(virtual=_virtual(reader), container=_container(reader))
    if environment == Environment():
        return Machine(gaps=(Gap(fact="environment", why=NOT_IN_INPUT, help=CAPTURE_HELP),))
    if environment.virtual is None:
        reader.lacks("environment.virtual", "neither the CPU nor the firmware tells", "install systemd-detect-virt")
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
    """Return whether the CPU says that a hypervisor runs it; None off x86, where no flag tells."""
    flags = first_cpu(reader.text(CPUINFO) or "").get("flags")
    if not flags:
        return None
    privileged = "control_d" in (reader.text(_XEN) or "")
    # The first domain of Xen runs on the real machine and configures it, though Xen shows it the flag.
    return "hypervisor" in flags.split() and not privileged


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
    groups = reader.text(_CGROUP)
    if groups is None:
        return None
    name = next((name for hint, name in _CGROUP_HINTS if hint in groups), None)
    # systemd as the first process of a machine sits in init.scope; a container with its own view sees the root alone.
    if name is None and re.search(r":/init\.scope$", groups, re.MULTILINE):
        name = "none"
    if name:
        reader.found("environment.container", _CGROUP)
    return name
