"""Reads lines of mpich back, as they are written here."""

import re
from collections.abc import Iterator, Mapping, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.jobs.launchers.mpich import hydra_bound, objects
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.topology import Topology
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
"""Each rank's host and CPUs; None as CPUs: not bound."""

_TURNED = {"-hosts": 1, "-host": 1, "-f": 1, "-n": 1, "-np": 1, "-ppn": 1, "-genv": 2, "-env": 2, "-bind-to": 1, "-map-by": 1}
"""Options and how many words follow them."""


def options(argv: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options of a line by their names, the last of each, and the command after them; refuse others."""
    found: dict[str, str] = {}
    words = list(argv[1:])
    while words and words[0].startswith("-"):
        name = words.pop(0)
        name = name if name in _TURNED else name.removeprefix("-")
        if name not in _TURNED or len(words) < _TURNED[name]:
            raise BadValue(f"{name} of mpiexec is not understood here")
        found[name] = words[_TURNED[name] - 1]
        del words[: _TURNED[name]]
    return found, tuple(words)


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line of Hydra's does: each rank's host and CPUs."""
    found, command = options(argv)
    bind, over = found.get("-bind-to", "none"), found.get("-map-by", found.get("-bind-to", "none"))
    hosts = list(_hosts(found, files, topologies))
    bindings: Bindings = {}
    table = wrapper_table(command, files)
    for name, count, own in hosts:
        sets = _sets(own or bind, own or over, topologies[name], count)
        for local in range(count):
            rank = len(bindings)
            if rank < int(found.get("-n", found.get("-np", "1"))):
                bindings[rank] = (name, table.cpus(name, rank, local) if table else sets[local])
    return bindings


def _hosts(
    found: Mapping[str, str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]
) -> Iterator[tuple[str | None, int, str | None]]:
    """Yield each host's name, how many ranks it takes, and its own binding."""
    if "-f" in found:
        for line in files[found["-f"]]():
            head, _, rest = line.partition(" ")
            name, _, count = head.partition(":")
            yield name, int(count or 1), rest.removeprefix("binding=") or None
    elif "-hosts" in found:
        for each in found["-hosts"].split(","):
            name, _, count = each.partition(":")
            yield name, int(count or found.get("-ppn", "1")), None
    else:
        for host in topologies:
            yield host, int(found.get("-ppn", found.get("-n", "1"))), None


def _sets(bind: str, over: str, topology: Topology, count: int) -> list[CpuSet | None]:
    """Return what the local ranks are bound to, None for those that are not."""
    if bind == "none":
        return [None] * count
    if bind.startswith("user:"):
        listed: list[CpuSet | None] = [CpuSet.parse(entry.replace("+", ",")) for entry in bind[5:].split(",")]
        return (listed + [None] * count)[:count]
    thing, number = _counted(bind)
    have = objects(topology)
    large = [union(have[thing])] if bind == over else have[_counted(over)[0]]
    dealt = hydra_bound(have[thing], large, number)
    return [next(dealt) for _ in range(count)]


def _counted(text: str) -> tuple[str, int]:
    match = re.fullmatch(r"(hwthread|core|l3cache|numa|socket)(?::(\d{1,5}))?", text, re.ASCII)
    if not match:
        raise BadValue(
            f"-bind-to {text} is not understood here", cure="known: user:, none, hwthread, core, l3cache, numa, socket"
        )
    return match[1], int(match[2] or 1)
