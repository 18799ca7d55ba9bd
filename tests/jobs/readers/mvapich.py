"""Reads lines of mvapich back, as they are written here."""

from collections.abc import Mapping, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.readers import mpich
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
"""Each rank's host and CPUs; None as CPUs: not bound."""


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line does: each rank's host and CPUs."""
    if argv[0] == "mpiexec":
        return _parse_hydra(argv, files, topologies)
    words = list(argv[1:])
    options: dict[str, str] = {}
    while words and words[0].startswith("-"):
        if words[0] not in ("-np", "-hostfile") or len(words) < 2:
            raise BadValue(f"{words[0]} of mpirun_rsh is not understood here")
        options[words[0]] = words[1]
        del words[:2]
    settings: dict[str, str] = {}
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    return _settled(settings.get("MV2_CPU_MAPPING"), _hosts(options, files, topologies), int(options["-np"]), (words, files))


def _hosts(
    options: Mapping[str, str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]
) -> list[tuple[str | None, int]]:
    if "-hostfile" not in options:
        return [(next(iter(topologies)), int(options["-np"]))]
    pairs = (line.partition(":") for line in files[options["-hostfile"]]())
    return [(name, int(count)) for name, _, count in pairs]


def _settled(
    mapping: str | None,
    hosts: Sequence[tuple[str | None, int]],
    size: int,
    command: tuple[Sequence[str], Mapping[str, Lines]],
) -> Bindings:
    table = wrapper_table(*command)
    parts = [CpuSet.parse(part) for part in mapping.split(":")] if mapping else []
    bindings: Bindings = {}
    for name, count in hosts:
        for local in range(min(count, size - len(bindings))):
            rank = len(bindings)
            cpus = table.cpus(name, rank, local) if table else parts[local] if local < len(parts) else None
            bindings[rank] = (name, cpus)
    return bindings


def _parse_hydra(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    seen = mpich.parse(argv, files, topologies)
    words = list(argv)
    if "MVP_CPU_MAPPING" not in words:
        return seen
    parts = [CpuSet.parse(part) for part in words[words.index("MVP_CPU_MAPPING") + 1].split(":")]
    local: dict[str | None, int] = {}
    for rank, (host, _) in seen.items():
        mine = local[host] = local.get(host, -1) + 1
        seen[rank] = (host, parts[mine] if mine < len(parts) else None)
    return seen
