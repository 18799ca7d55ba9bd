"""Reads lines of likwid-mpirun back, as they are written here: with no code of the module's own."""

from collections.abc import Mapping, Sequence

from advisor.jobs.launcher import Lines
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.readers import options_before
from tests.jobs.readers.wrapper import table as wrapper_table

HOSTS: list[tuple[str, ...]] = [(), ("a",)]
"""likwid-mpirun wants as many ranks on each host."""
_WORDS = ("-np", "-mpi", "-hostfile", "-e", "-pin")


def parse(
    argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]
) -> dict[int, tuple[str | None, CpuSet | None]]:
    """Return what a line does: each rank's host and CPUs."""
    words = list(argv[1:])
    options = options_before(words, _WORDS)
    hosts: list[str | None] = [line.split()[0] for line in files["hostfile"]()] if "hostfile" in files else list(topologies)
    each = int(options["-np"]) // len(hosts)
    if "-pin" in options:
        lists = [CpuSet.parse(part) for part in options["-pin"].split("_")]
        assert len(lists) == each
        return {rank: (hosts[rank // each], lists[rank % each]) for rank in range(int(options["-np"]))}
    assert words[:7] == ["env", "-u", "LD_PRELOAD", "-u", "LIKWID_PIN", "-u", "KMP_AFFINITY"]
    table = wrapper_table(words[7:], files)
    assert table is not None
    places = ((rank, hosts[rank // each], rank % each) for rank in range(int(options["-np"])))
    return {rank: (host, table.cpus(host, rank, local)) for rank, host, local in places}
