"""The lab itself: the shim behaves as the kernel does, and nothing is left running."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.jobs.launcher import Launch
from tests.fakenode.compare import at_hosts
from tests.fakenode.lab import workshop
from tests.fakenode.run import LaunchHungError, _marked, available, observe
from tests.machines import hwloc_xml

pytestmark = pytest.mark.skipif(not available("openmpi4"), reason="no compiler, or no Open MPI 4")

NAPLES = "a-r7425-2x7601-dell"


def python(state: Path, code: str) -> str:
    """Return what a Python program prints on a host with CPUs 0 to 3 and 64."""
    environment = {**os.environ, "LD_PRELOAD": str(workshop() / "shim.so"), "FAKEAFF_DIR": str(state), "FAKEHOST": "n7"}
    command = [sys.executable, "-S", "-c", code]
    environment["FAKEAFF_CPUS"] = "0-3,64"
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_process_starts_with_all_cpus_of_its_host(tmp_path: Path) -> None:
    """Not a count of CPUs but the very ones that the machine has, and its name."""
    assert python(tmp_path, "import os; print(sorted(os.sched_getaffinity(0)), os.uname().nodename)") == "[0, 1, 2, 3, 64] n7"


def test_a_mask_is_cut_to_what_the_host_has(tmp_path: Path) -> None:
    """The kernel keeps the part of a mask that exists, without a word."""
    assert python(tmp_path, "import os; os.sched_setaffinity(0, {2, 99}); print(os.sched_getaffinity(0))") == "{2}"


def test_a_mask_of_no_such_cpu_is_refused(tmp_path: Path) -> None:
    """Where nothing is left the kernel says EINVAL."""
    code = "import os\ntry:\n os.sched_setaffinity(0, {63})\nexcept OSError as e:\n print(e.errno)"
    assert python(tmp_path, code) == "22"


def test_children_and_programs_started_inherit_the_mask(tmp_path: Path) -> None:
    """A binding survives fork and exec."""
    code = "import os, subprocess, sys; os.sched_setaffinity(0, {3}); "
    code += "subprocess.run([sys.executable, '-S', '-c', 'import os; print(os.sched_getaffinity(0))'])"
    assert python(tmp_path, code) == "{3}"


def test_a_launcher_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    """Two tries, an error, and no daemon left."""
    if not hwloc_xml.available():
        pytest.skip("hwloc is not installed")
    launch = Launch("openmpi4", None, "core", ("mpirun", "-np", "2", "--host", "n1:1,n2:1", "sleep", "77"))
    with pytest.raises(LaunchHungError):
        observe("openmpi4", launch, at_hosts(("n1", "n2"), (NAPLES,)), timeout=2)
    left = [file for file in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\077" in _text(file)]
    assert not left
    assert list(_marked("no such run")) == []


def _text(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
