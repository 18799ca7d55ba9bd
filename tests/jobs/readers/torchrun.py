"""Reads the lines of torchrun back: those of one host, whose workers bind themselves by a list."""

import re
from collections.abc import Mapping, Sequence

from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology

HOSTS: list[tuple[str, ...]] = [()]
_BOUND = re.compile(r"each\(\) \{ shift \$LOCAL_RANK; echo \$1; \}; exec (?:taskset -c |numactl --localalloc --physcpubind=)")
_LIST = re.compile(r"\$\(each ([\d,\- ]+)\) \"\$@\"$", re.ASCII)


def parse(argv: Sequence[str], topologies: Mapping[str | None, Topology]) -> dict[int, tuple[str | None, CpuSet | None]]:
    """Return the CPUs of each worker."""
    assert list(topologies) == [None]
    assert tuple(argv[:2]) == ("torchrun", "--standalone")
    count = int(argv[2].removeprefix("--nproc-per-node="))
    script = argv[list(argv).index("-c") + 1]
    match = _LIST.search(script)
    assert _BOUND.match(script)
    assert match
    cpus = match[1].split()
    assert len(cpus) == count
    return {rank: (None, CpuSet.parse(each)) for rank, each in enumerate(cpus)}
