"""Reads the rankfiles and the lines of Open MPI 4 and 5 back."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.jobs.launchers.openmpi import LOCAL, Count, Form, places
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import LogicalNumbering, logical_numbering
from advisor.machine.topology import Topology
from tests.jobs.readers.wrapper import table as table_of

_LINE = re.compile(r"rank\s+(\d{1,9})\s*=\s*([A-Za-z0-9][A-Za-z0-9._-]{0,254})\s+slot\s*=\s*([0-9,-]{1,4096})", re.ASCII)


_COMMENT = re.compile(r"(#|//).*")


@dataclass(frozen=True)
class RankfileEntry:
    """Where a rankfile puts a rank."""

    host: str
    cpus: CpuSet


def parse_rankfile(lines: Iterable[str], topologies: Mapping[str, Topology], count: Count = "core") -> dict[int, RankfileEntry]:
    """Return where each rank sits, in the kernel's CPU numbers; raise BadValue at what either version would get wrong."""
    known = {host: logical_numbering(topology) for host, topology in topologies.items()}
    seats: dict[int, RankfileEntry] = {}
    seen: dict[tuple[str, str], RankfileEntry] = {}
    for position, line in enumerate(lines, 1):
        text = _COMMENT.sub("", line).strip()
        if not text:
            continue
        try:
            host, slots = _entry(text, len(seats), known)
            if (host, slots) not in seen:
                seen[host, slots] = RankfileEntry(host, _cpus(slots, known[host], count))
        except BadValue as error:
            raise BadValue(error.problem, place=f"line {position}", cure=error.cure) from error
        seats[len(seats)] = seen[host, slots]
    return seats


def _entry(text: str, rank: int, known: Mapping[str, LogicalNumbering]) -> tuple[str, str]:
    match = _LINE.fullmatch(text)
    if not match:
        raise BadValue(f"{text[:60]!r} is not a rank", cure="expected such as: rank 0=node01 slot=0-3")
    if int(match[1]) != rank:
        raise BadValue(f"rank {match[1]} where rank {rank} was expected", cure="write ranks in order, each once")
    if match[2] not in known:
        raise BadValue(f"nothing is known of host {match[2]}")
    return match[2], match[3]


def _cpus(slots: str, known: LogicalNumbering, count: Count) -> CpuSet:
    numbers = CpuSet.parse(slots)
    if count == "core":
        return known.cores_cpus(numbers)
    if count == "thread":
        return known.pus_cpus(numbers)
    cores = known.cores_cpus(known.core_numbers(numbers))  # refuses CPUs that are not there
    return cores if count == "os core" else numbers


Bindings = dict[int, tuple[str | None, CpuSet | None]]
"""Each rank's host and CPUs; None as CPUs: not bound."""


_SPELLED = {"--mapby": "--map-by", "--bindto": "--bind-to"}


_WORDS = {
    "-np": 1,
    "--host": 1,
    "--hostfile": 1,
    "--map-by": 1,
    "--cpu-list": 1,
    "--bind-to": 1,
    "--rankfile": 1,
    "--mca": 2,
    "-x": 1,
    "--display": 1,
}


_WORDS |= {"--use-hwthread-cpus": 0, "--report-bindings": 0, "--hetero-nodes": 0}
"""How many words follow each option."""


@dataclass
class Line:
    """What a line says."""

    options: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


def split(argv: Sequence[str]) -> Line:
    """Return the options and the command of an mpirun line; options that are not ours are refused."""
    line = Line()
    words = list(argv[1:])
    while words and words[0].startswith("-"):
        option = _SPELLED.get(words[0], words[0])
        if option not in _WORDS or len(words) <= _WORDS[option]:
            raise BadValue(f"{words[0]} is not an option of a line written here")
        values = words[1 : 1 + _WORDS[option]]
        if option == "--mca":
            line.parameters[values[0]] = values[1]
        else:
            line.options[option] = values[0] if values else ""
        words = words[1 + len(values) :]
    line.command = tuple(words)
    return line


def parse(
    argv: Sequence[str],
    files: Mapping[str, Lines],
    topologies: Mapping[str | None, Topology],
) -> Bindings:
    """Return where a line puts each rank."""
    line = split(argv)
    source = line.options.get("--map-by", "")
    rankfile = line.options.get("--rankfile") or source.removeprefix("rankfile:file=").removesuffix(":hwtcpus")
    if "--rankfile" in line.options or source.startswith("rankfile:"):
        threads = "--use-hwthread-cpus" in line.options or source.endswith(":hwtcpus")
        named = {host or LOCAL: topology for host, topology in topologies.items()}
        seats = parse_rankfile(files[rankfile](), named, _count(line, threads=threads))
        unnamed = LOCAL if None in topologies else ""
        return {rank: (None if seat.host == unnamed else seat.host, seat.cpus) for rank, seat in seats.items()}
    table = table_of(line.command, files)
    bound: Bindings = {}
    made: dict[str | None, tuple[CpuSet, ...]] = {}
    for rank, (host, local) in enumerate(_seats(line, files)):
        if line.options.get("--bind-to") == "none":
            bound[rank] = host, table.cpus(host, rank, local) if table else None
        else:
            if host not in made:
                made[host] = _made(line, topologies[host])
            bound[rank] = host, made[host][local]
    return bound


def _count(line: Line, *, threads: bool) -> Count:
    if line.parameters.get("rmaps_rank_file_physical") == "1":
        return "os" if threads else "os core"
    return "thread" if threads else "core"


def _made(line: Line, topology: Topology) -> tuple[CpuSet, ...]:
    """Return the CPUs of the local ranks of a full node; of a list in order each rank has one core of it."""
    if "--cpu-list" in line.options:
        return tuple(logical_numbering(topology).cores_cpus(CpuSet([core])) for core in CpuSet.parse(line.options["--cpu-list"]))
    return places(Form(line.options["--map-by"], line.options["--bind-to"]), topology)


def _seats(line: Line, files: Mapping[str, Lines]) -> Iterator[tuple[str | None, int]]:
    """Yield the host and the local rank of each rank: hosts are filled in order."""
    left = int(line.options["-np"])
    hosts: list[tuple[str | None, int]] = [(None, left)]
    if "--host" in line.options:
        hosts = [(name, int(slots)) for name, _, slots in (word.partition(":") for word in line.options["--host"].split(","))]
    elif "--hostfile" in line.options:
        words = (row.split(" slots=") for row in files[line.options["--hostfile"]]())
        hosts = [(name, int(slots)) for name, slots in words]
    for name, slots in hosts:
        for local in range(min(slots, left)):
            yield name, local
        left -= min(slots, left)
