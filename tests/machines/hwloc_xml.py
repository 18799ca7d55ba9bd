"""What the installed lstopo makes of a machine's files."""

import os
import shutil
import subprocess
from pathlib import Path

LSTOPO = "lstopo-no-graphics"


def available() -> bool:
    """Whether lstopo is installed."""
    return shutil.which(LSTOPO) is not None


def xml(root: Path, *, disallowed: bool = False) -> str | None:
    """Return a root's topology as hwloc XML, or None without lstopo; what a cgroup hides is shown if asked."""
    if not available():
        return None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HWLOC")}
    environment |= {"HWLOC_FSROOT": str(root), "HWLOC_THISSYSTEM": "0", "HWLOC_COMPONENTS": "linux,stop", "LC_ALL": "C"}
    environment |= {"HWLOC_DUMPED_HWDATA_DIR": "/var/run/hwloc"}
    command = [LSTOPO, "--of", "xml", *(["--disallowed"] if disallowed else []), "-"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    if done.stderr.strip():
        raise RuntimeError(f"{LSTOPO} complained about {root}: {done.stderr.strip()}")
    return done.stdout
