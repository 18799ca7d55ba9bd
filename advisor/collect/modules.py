"""Kernel modules that MPI and GPUs copy with, and switches of the kernel that stand in their way or take time."""

from advisor.collect.reader import Reader
from advisor.host.base import Host, Why
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.operating_system import Kernel
from advisor.model.quantity import number

_MODULE = "/sys/module"
_NAMES = ("gdrdrv", "knem", "nv_peer_mem", "nvidia_peermem", "xpmem")
_PTRACE = "/proc/sys/kernel/yama/ptrace_scope"
_NMI = "/proc/sys/kernel/nmi_watchdog"
_KSM = "/sys/kernel/mm/ksm/run"
_NVIDIA = "/proc/driver/nvidia/version"

PATHS = (*(f"{_MODULE}/{name}" for name in _NAMES), _PTRACE, _NMI, _KSM, _NVIDIA)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20


def collect(host: Host) -> Machine:
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
