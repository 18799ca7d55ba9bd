"""Running a command on an emulated server from a test, and what that needs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "modprobe": "kmod",
    "apt-get": "apt",
    "lstopo-no-graphics": "hwloc",
}
"""The programs that vm.sh and its guests call, and the Debian packages that have them."""
LIMIT = 600
"""Seconds that a first run, with the boot, may take on a busy machine."""


def lacking() -> str | None:
    """Return why no server can be emulated here, or None if one can."""
    if os.geteuid() != 0:
        return "emulated servers need root: the guest reads all of the host's files"
    absent = [f"{tool} (Debian: {package})" for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if absent:
        return f"emulated servers need {', '.join(absent)}"
    return None if _kernel() else "emulated servers need Debian's kernel, and apt knows no linux-image-amd64 (apt-get update)"


def _kernel() -> bool:
    """Whether the guests' kernel is in the cache, or apt knows where to get it."""
    cache = os.environ.get("VM_CACHE") or Path.home() / ".cache/advisor-vm"
    asked = ["apt-cache", "depends", "linux-image-amd64"]
    return Path(cache, "vmlinux").exists() or b"linux-image" in subprocess.run(asked, capture_output=True, check=False).stdout


def lacking_link() -> str | None:
    """Return why guests cannot reach each other by ssh, or None if they can."""
    needed = {"ssh": "openssh-client", "ssh-keygen": "openssh-client", "dropbear": "dropbear-bin", "dropbearkey": "dropbear-bin"}
    absent = [f"{tool} (Debian: {package})" for tool, package in needed.items() if shutil.which(tool) is None]
    return f"linked guests need {', '.join(absent)}" if absent else None


def on_guest(server: str, script: str, out: Path, *, guests: int = 1, limit: float = LIMIT) -> str:
    """Return what a bash script prints on an emulated server; ``$PYTHON`` runs this Python, /run/vm is ``out``.

    Of several guests it runs on n1, and reaches n2 and the others by ssh.
    """
    environment = os.environ | {"VM_OUT": str(out), "PYTHONPATH": str(ROOT), "VM_TIMEOUT": str(int(limit))}
    command = [str(HERE / "vm.sh"), "-c", str(guests), server, "bash", "-ec", f'PYTHON="{sys.executable}"\n{script}']
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode:
        raise AssertionError(f"{server}: {script!r} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def soft_hca() -> str | None:
    """Build the kernel module that places a soft RDMA device; return why it could not be built, or None if it was."""
    absent = [tool for tool in ("make", "gcc", "rdma") if shutil.which(tool) is None]
    if absent:
        return f"a soft HCA needs {', '.join(absent)}"
    done = subprocess.run(
        ["bash", "-c", '. "$0" && hca_build', str(HERE / "hca.sh")], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    return f"the headers of the guests' kernel cannot be had: {done.stderr.strip()[-500:]}" if done.returncode else None
