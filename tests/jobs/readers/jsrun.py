"""Reads lines of jsrun back, as they are written here: resource sets of cores in order, a resource file, the wrapper."""

import re
from collections.abc import Mapping, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.readers import options_before
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
EVEN = True
"""A line with the wrapper wants as many ranks on each host."""
_WORDS = ("-n", "-r", "-a", "-c", "-g", "-b", "-d", "-E", "--erf_input")
_RANK = re.compile(r"rank: (\d+): \{ host(?:name: (\S+)|: 1); cpu: \{([\d,-]+)\} ; mem: \* \}")


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line does: each rank's host and CPUs."""
    words = list(argv[1:])
    options = options_before(words, _WORDS)
    if "--erf_input" in options:
        return _of_file(list(files[options["--erf_input"]]()))
    hosts, table = list(topologies), wrapper_table(words, files)
    each = int(options["-r"]) * int(options["-a"])
    bindings: Bindings = {}
    for rank in range(int(options["-n"]) * int(options["-a"])):
        host = hosts[rank // each]
        assert table is not None
        own = table.cpus(host, rank, rank % each)
        bindings[rank] = (host, own)
    return bindings


def _of_file(lines: Sequence[str]) -> Bindings:
    if lines[0] != "cpu_index_using: physical":
        raise BadValue("the numbers would be counted without the cores that are kept for the system")
    rows = [_RANK.fullmatch(line) for line in lines[3:]]
    return {int(row[1]): (row[2], CpuSet.parse(row[3])) for row in rows if row}
