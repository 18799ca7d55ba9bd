"""Reads lines of PALS back, as they are written here."""

from collections.abc import Mapping, Sequence

from advisor.jobs.launcher import Lines
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.readers import options_before
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
EVEN = True
"""PALS wants as many ranks on each host."""
_WORDS = ("-n", "-ppn", "--hosts", "--hostfile", "--env", "--cpu-bind", "--mem-bind")


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line does: each rank's host and CPUs."""
    words = list(argv[1:])
    options = options_before(words, _WORDS)
    table = wrapper_table(words, files)
    named = (
        options["--hosts"].split(",") if "--hosts" in options else files["hostfile"]() if "--hostfile" in options else topologies
    )
    hosts: list[str | None] = [*named]
    each = int(options.get("-ppn", options["-n"]))
    parts = [CpuSet.parse(part) for part in options["--cpu-bind"].removeprefix("list:").split(":")] if table is None else []
    bindings: Bindings = {}
    for rank in range(int(options["-n"])):
        host = hosts[rank // each]
        bindings[rank] = (host, table.cpus(host, rank, rank % each) if table else parts[rank % each])
    return bindings
