"""Reads the wrapper's script, and its line on one host, back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.jobs.launchers.wrapper import FILE
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology

_PLACE = re.compile(r"\s*(\d+):(\d+)\) place (\S+) (\S+) (\S+) (\S+) ;;", re.ASCII)


_HOST = re.compile(r"\s*(\S+)(?: \| \S+)*\) plan=(\d+) (first|each)=(\d+) ;;", re.ASCII)


@dataclass
class Table:
    """What a script says."""

    slots: dict[tuple[int, int], CpuSet] = field(default_factory=dict)
    """CPUs by plan and local rank."""
    hosts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Plan and first rank by host; * for all."""

    def cpus(self, host: str | None, rank: int, local: int | None = None) -> CpuSet:
        """Return the CPUs of a rank; its local rank comes from the table where no launcher sets it."""
        plan, number = self.hosts.get(host or "*") or self.hosts.get("*") or (None, 0)
        if local is None:
            local = rank % number if "*" in self.hosts else rank - number
        if plan is None or (plan, local) not in self.slots:
            raise BadValue(f"the wrapper refuses rank {rank}: it has no place on {host or 'this host'}")
        return self.slots[plan, local]


def table(command: Sequence[str], files: Mapping[str, Lines]) -> Table | None:
    """Return what the wrapper's script says where a command starts with it, None where it does not."""
    if tuple(command[:2]) != ("sh", FILE):
        return None
    found = Table()
    for line in files[FILE]():
        if match := _PLACE.match(line):
            found.slots[int(match[1]), int(match[2])] = CpuSet.parse(match[3])
        elif match := _HOST.match(line):
            found.hosts[match[1]] = (int(match[2]), int(match[4]))
    return found


def parse(
    argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]
) -> dict[int, tuple[str | None, CpuSet | None]]:
    """Return what a line of ``launch`` does on one host: each rank's host and CPUs."""
    read = table(argv[3:], files)
    if read is None or len(topologies) != 1:
        raise BadValue("this is not a line with the wrapper on one host")
    host = next(iter(topologies))
    return {rank: (host, read.cpus(host, rank)) for rank in range(int(argv[2]))}
