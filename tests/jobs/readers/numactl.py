"""Reads the lines of numactl back."""

from collections.abc import Mapping, Sequence

from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology

HOSTS: list[tuple[str, ...]] = [()]
MOST = 1
"""It starts one process."""


def parse(argv: Sequence[str], topologies: Mapping[str | None, Topology]) -> dict[int, tuple[str | None, CpuSet | None]]:
    """Return the CPUs of the one process."""
    assert list(topologies) == [None]
    if argv[0] == "taskset":
        assert (argv[1], argv[3]) == ("-c", "numactl")
        return {0: (None, CpuSet.parse(argv[2]))}
    option, _, cpus = argv[1].partition("=")
    assert (argv[0], option) == ("numactl", "--physcpubind")
    return {0: (None, CpuSet.parse(cpus))}
