"""Several hosts on this machine, each with a name and a network of its own: ``beside(hosts, folder, words, variables)``."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fakenode.lab import AGENT
from tests.fakenode.run import _clean

SCRIPT = AGENT.with_name("netns.sh")
NEW = ("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
AGENTS = {
    "OMPI_MCA_plm_rsh_agent": str(AGENT),
    "PRTE_MCA_plm_ssh_agent": str(AGENT),
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": str(AGENT),
}
"""By these variables a launcher starts its daemons through agent.sh, with its line as it is."""
ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{tail}": "1" for name in ("OMPI", "PRTE") for tail in ("", "_CONFIRM")}


def beside(
    hosts: Sequence[str], folder: Path, words: Sequence[str], variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command where agent.sh reaches the hosts; names, networks and processes are gone when it has ended.

    The folder is the hosts' own; let its path be short, as sockets lie in it.
    """
    folder.mkdir()
    environment = {**_clean(), **AGENTS, **ROOT, "FAKENODE_HOSTS": str(folder), "TMPDIR": str(folder), **variables}
    argv = [*NEW, "sh", str(SCRIPT), str(folder), *hosts, "--", *words]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=180, check=False)


def hindrance(folder: Path) -> str | None:
    """Return why there can be no such hosts here; None where there can."""
    if os.geteuid() != 0:
        return "needs root"
    absent = [name for name in ("ip", "nsenter", "unshare", "mount", "hostname") if shutil.which(name) is None]
    if absent:
        return f"needs {', '.join(absent)}"
    tried = beside(("adv-h1",), folder, ("sh", str(AGENT), "adv-h1", "true"), {})
    return None if tried.returncode == 0 else f"network namespaces are not allowed here: {tried.stderr.strip()[-200:]}"
