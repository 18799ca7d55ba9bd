"""Reads lines of aprun back, as they are written here."""

from collections.abc import Mapping, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.readers import options_before
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
EVEN = True
"""Every host starts as many ranks."""
_WORDS = ("-n", "-N", "-d", "-j", "-e", "-cc")


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line does in a job with these hosts, in their order: each rank's host and CPUs."""
    words = list(argv[1:])
    options = options_before(words, _WORDS)
    hosts, each, table = list(topologies), int(options["-N"]), wrapper_table(words, files)
    bindings: Bindings = {}
    for rank in range(int(options["-n"])):
        host, local = hosts[rank // each], rank % each
        bindings[rank] = (host, table.cpus(host, rank, local) if table else _cpus(options, topologies[host], local))
    return bindings


def _cpus(options: Mapping[str, str], topology: Topology, local: int) -> CpuSet:
    """Return the CPUs of a local rank: with depth those after the ranks before it, one hardware thread of each core (-j 1)."""
    if options["-cc"] != "depth":
        return CpuSet([int(options["-cc"].split(",")[local])])
    if "-j" in options:
        raise BadValue("in which order -j uses hardware threads is not known")
    depth = int(options["-d"])
    first = sorted(min(core.cpuset) for core in topology.inside.cores if core.cpuset)
    return CpuSet(first[local * depth : (local + 1) * depth])
