"""Reads lines of intelmpi back, as they are written here."""

from collections.abc import Iterator, Mapping, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.jobs.launchers.intelmpi import DOMAINS, MASKS, packed
from advisor.jobs.launchers.mpich import objects
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
"""Each rank's host and CPUs; None as CPUs: not bound."""


_WORDS = {"-hosts": 1, "-ppn": 1, "-machinefile": 1, "-configfile": 1, "-n": 1, "-genv": 2, "-env": 2}


def parse(argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]) -> Bindings:
    """Return what a line of Intel MPI's does: each rank's host and CPUs; refuse what it would silently not do."""
    options: dict[str, str] = {}
    pins: dict[str, str] = {}
    ranks: list[tuple[dict[str, str], tuple[str, ...]]] = []
    for segment in _segments(argv, files):
        own, words = dict(pins), list(segment)
        while words and words[0].startswith("-"):
            name = words[0]
            if name not in _WORDS or len(words) <= _WORDS[name]:
                raise BadValue(f"{name} of mpiexec.hydra is not understood here")
            if name == "-genv":
                pins[words[1]] = own[words[1]] = words[2]
            elif name == "-env":
                own[words[1]] = words[2]
            else:
                options[name] = words[1]
            del words[: 1 + _WORDS[name]]
        ranks += [(own, tuple(words))] * int(options["-n"])
    return _settled(ranks, options, files, topologies)


def _segments(argv: Sequence[str], files: Mapping[str, Lines]) -> Iterator[list[str]]:
    if "-configfile" in argv:
        yield from (line.split() for line in files[argv[argv.index("-configfile") + 1]]())
        return
    words: list[str] = []
    for word in argv[1:]:
        if word == ":":
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _settled(
    ranks: list[tuple[dict[str, str], tuple[str, ...]]],
    options: Mapping[str, str],
    files: Mapping[str, Lines],
    topologies: Mapping[str | None, Topology],
) -> Bindings:
    bindings: Bindings = {}
    for name, count in _hosts(options, files, topologies, len(ranks)):
        here = ranks[len(bindings) : len(bindings) + count]
        if any(other != here[0] for other in here):
            raise BadValue(f"the ranks of {name} are in several segments", cure="give each host one")
        pins, command = here[0]
        read = wrapper_table(command, files)
        sets = [] if read else pinned(pins, topologies[name], len(here))
        for local in range(len(here)):
            rank = len(bindings)
            bindings[rank] = (name, read.cpus(name, rank, local) if read else sets[local])
    return bindings


def _hosts(
    options: Mapping[str, str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology], size: int
) -> Iterator[tuple[str | None, int]]:
    if "-machinefile" in options:
        for line in files[options["-machinefile"]]():
            name, _, count = line.partition(":")
            yield name, int(count)
        return
    for host in options["-hosts"].split(",") if "-hosts" in options else topologies:
        yield host, int(options.get("-ppn", size))


def pinned(pins: Mapping[str, str], topology: Topology, count: int) -> list[CpuSet | None]:
    """Return the CPUs of a host's local ranks; refuse lists whose length makes Intel MPI pin its own way."""
    domain, processors = pins.get("I_MPI_PIN_DOMAIN"), pins.get("I_MPI_PIN_PROCESSOR_LIST")
    if pins.get("I_MPI_PIN") == "0":
        return [None] * count
    if domain and domain.startswith("["):
        entries = domain.strip("[]").split(",")
        if len(entries) != count or not all(entry.startswith("0x") for entry in entries) or count > MASKS:
            raise BadValue(f"{len(entries)} masks for {count} ranks, or masks without 0x: Intel MPI pins its own way, silently")
        return [CpuSet.from_bits(int(entry, 16)) for entry in entries]
    if processors:
        cpus = [CpuSet.parse(entry) for entry in processors.split(",")]
        if len(cpus) != count or any(len(each) != 1 for each in cpus):
            raise BadValue(f"a list of {len(cpus)} entries for {count} ranks is read as a set, its order is lost")
        return list(cpus)
    if domain in DOMAINS and pins.get("I_MPI_PIN_ORDER") == "compact":
        things = objects(topology)[DOMAINS[domain]]
        return [things[i % len(things)] for i in range(count)]
    if domain == "omp" and pins.get("I_MPI_PIN_ORDER") == "compact":
        sets = packed(topology, int(pins["OMP_NUM_THREADS"]))
        return [sets[i % len(sets)] for i in range(count)]
    raise BadValue("what Intel MPI makes of its own defaults is unknown", cure="set I_MPI_PIN_DOMAIN")
