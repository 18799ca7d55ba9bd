"""What is read of numactl and taskset besides lists: what only the host knows is left open."""

import pytest

from advisor.launch.lint.binders import binder_cpus
from advisor.launch.lint.command_line import read_binder
from advisor.launch.lint.outcome import Unclear
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)


@pytest.mark.parametrize("words", ["-N netdev:hsn0", "-N pci:0000:c1:00.0", "-C +40"])
def test_what_only_the_host_knows_is_left_open(words: str) -> None:
    """The NUMA nodes of a device, and positions beyond the CPUs."""
    line = ["numactl", *words.split(), "./app"]
    with pytest.raises(Unclear):
        binder_cpus(read_binder(line, 0, len(line))[0], ROME.nodes[0].cpuset, ROME)


def test_memory_alone_binds_no_cpus() -> None:
    """Numactl -m sets nothing else."""
    line = ["numactl", "-m", "0", "./app"]
    assert binder_cpus(read_binder(line, 0, len(line))[0], None, ROME) is None
