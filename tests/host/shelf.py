"""A small machine, and archives of it, for the tests of this room."""

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.machine.hosts.capture import Entry, Link

CPUS = 4
PCI = "sys/devices/pci0000:60/0000:60:01.1/0000:61:00.0"

MACHINE: dict[str, Entry] = {
    "proc/meminfo": b"MemTotal: 16 kB\n",
    "proc/self/cgroup": b"0::/system.slice/job 7\n",
    "proc/self/status": b"Cpus_allowed_list:\t0-3\n",
    "proc/mounts": Link("self/mounts"),
    "proc/self/mounts": b"cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "sys/fs/cgroup/system.slice/cpuset.cpus.effective": b"0-1\n",
    "sys/fs/cgroup/system.slice/job 7/cpuset.cpus.effective": b"1\n",
    "sys/fs/cgroup/other.slice/cpuset.cpus.effective": b"2\n",
    "sys/devices/system/cpu/online": b"0-3\n",
    **{f"sys/devices/system/cpu/cpu{cpu}/topology/core_id": b"%d\n" % (cpu // 2) for cpu in range(CPUS)},
    **{f"sys/devices/system/cpu/cpu{cpu}/topology/die_id": b"0\n" for cpu in range(CPUS)},
    **{f"sys/devices/system/cpu/cpu{cpu}/cpufreq": Link(f"../cpufreq/policy{cpu}") for cpu in range(CPUS)},
    **{f"sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor": b"performance\n" for cpu in range(CPUS)},
    "sys/devices/system/cpu/cpufreq/boost": b"",
    f"{PCI}/numa_node": b"3\n",
    f"{PCI}/class": b"0x020700\n",
    f"{PCI}/driver": Link("../../../../bus/pci/drivers/mlx5_core"),
    f"{PCI}/infiniband/mlx5_0/ports/1/rate": b"100 Gb/sec (4X EDR)\n",
    f"{PCI}/infiniband/mlx5_0/device": Link("../.."),
    "sys/bus/pci/drivers/mlx5_core/module name": b"x\n",
    "sys/bus/pci/devices/0000:61:00.0": Link("../../../devices/pci0000:60/0000:60:01.1/0000:61:00.0"),
    "sys/class/infiniband/mlx5_0": Link("../../devices/pci0000:60/0000:60:01.1/0000:61:00.0/infiniband/mlx5_0"),
    "sys/class/infiniband/gone": Link("../../devices/nowhere"),
    "sys/class/net/bonding_masters": b"\n",
}

PATTERNS = (
    "/proc/meminfo",
    "/proc/mounts",
    "/proc/self/status",
    "/proc/self/cgroup",
    "/sys/fs/cgroup{cgroup}/cpuset.cpus.effective",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/offline",
    "/sys/devices/system/cpu/cpu[0-9]*/topology/core_id",
    "/sys/devices/system/cpu/cpu[0-9]*/topology/die_*",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/bus/pci/devices/*@",
    "/sys/bus/pci/devices/*/driver@",
    "/sys/bus/pci/devices/*/numa_node",
    "/sys/bus/pci/devices/*/max_link_width",
    "/sys/class/infiniband/*@",
    "/sys/class/infiniband/*/device@",
    "/sys/class/infiniband/*/ports/*/rate",
    "/sys/class/net/*@",
)


def lay(folder: Path, nodes: Mapping[str, Entry] = MACHINE) -> Path:
    """Write a tree into a folder and return it."""
    for path, node in nodes.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(node, Link):
            place.symlink_to(node.target)
        elif node is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(node)
    return folder


def tar(nodes: Mapping[str, Entry | tarfile.TarInfo], mode: str = "w", form: int = tarfile.GNU_FORMAT) -> bytes:
    """Return a tree as an archive; a TarInfo goes in as it is."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=form) as archive:  # type: ignore[call-overload] # mode is a variable
        for path, node in nodes.items():
            member = node if isinstance(node, tarfile.TarInfo) else tarfile.TarInfo(path)
            if isinstance(node, Link):
                member.type, member.linkname = tarfile.SYMTYPE, node.target
            elif node is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(node, bytes):
                member.size = len(node)
            archive.addfile(member, io.BytesIO(node) if isinstance(node, bytes) else None)
    return buffer.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """Return a member of any kind: a device, a pipe, a hard link."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def is_root() -> bool:
    """Tell whether permissions mean nothing to this process."""
    return os.geteuid() == 0


def shell_in(name: str, folder: Path) -> tuple[list[str], str]:
    """Return how a shell is started, such as "bash as sh", and the PATH for it: "busybox alone" has its own programs only."""
    program = shutil.which(name.split(maxsplit=1)[0])
    if program is None:
        pytest.skip(f"{name} is not installed")
    path = os.environ["PATH"]
    if name.endswith("as sh"):
        (folder / "sh").symlink_to(program)
        return [str(folder / "sh")], path
    if name.endswith("alone"):
        (folder / "applets").mkdir()
        subprocess.run([program, "--install", "-s", str(folder / "applets")], check=True)
        path = str(folder / "applets")
    return [program, *(["sh"] if "busybox" in name else [])], path
