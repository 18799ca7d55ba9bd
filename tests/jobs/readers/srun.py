"""Reads lines of srun back, as they are written here."""

from collections.abc import Iterator, Mapping, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Lines
from advisor.jobs.launchers.mpich import objects
from advisor.jobs.launchers.srun import chunks
from advisor.jobs.slurm import natural
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.readers.wrapper import table as wrapper_table

Bindings = dict[int, tuple[str | None, CpuSet | None]]
"""Each rank's host and CPUs; None as CPUs: not bound."""


_WORDS = ("--nodes", "--ntasks", "--ntasks-per-node", "--distribution", "--nodelist", "--cpus-per-task", "--cpu-bind")


def parse(
    argv: Sequence[str],
    environment: Mapping[str, str],
    files: Mapping[str, Lines],
    topologies: Mapping[str | None, Topology],
) -> Bindings:
    """Return what a line of srun's does in a job with whole nodes, these in this order: each rank's host and CPUs."""
    options: dict[str, str] = {}
    words = list(argv[1:])
    while words and words[0].startswith("-"):
        name, equals, value = words.pop(0).partition("=")
        if name not in _WORDS or not (equals or words):
            raise BadValue(f"{name} of srun is not understood here")
        options[name] = value if equals else words.pop(0)
    size = int(options["--ntasks"])
    table = wrapper_table(words, files)
    bindings: Bindings = {}
    local: dict[str | None, int] = {}
    for rank, host in enumerate(_ranks(options, environment, files, list(topologies), size)):
        mine = local[host] = local.get(host, -1) + 1
        cpus = table.cpus(host, rank, mine) if table else bound(options, topologies[host], mine)
        bindings[rank] = (host, cpus)
    return bindings


def _ranks(
    options: Mapping[str, str],
    environment: Mapping[str, str],
    files: Mapping[str, Lines],
    hosts: Sequence[str | None],
    size: int,
) -> Iterator[str | None]:
    """Yield each rank's host."""
    if options.get("--distribution", "").startswith("arbitrary"):
        yield from files[environment["SLURM_HOSTFILE"]]()
        return
    each = int(options.get("--ntasks-per-node", size))
    if size % each:
        raise BadValue(
            f"{size} tasks, at most {each} on a node: how many each node gets is left to Slurm", cure="use -m arbitrary"
        )
    listed = options.get("--nodelist", "").split(",")
    named = [*sorted(listed, key=natural)] if "--nodelist" in options else hosts
    for rank in range(size):
        yield named[rank // each]


def bound(options: Mapping[str, str], topology: Topology, local: int) -> CpuSet | None:
    """Return the CPUs of a local task; refuse what depends on Slurm's configuration."""
    kind, _, entries = options.get("--cpu-bind", "").removeprefix("verbose,").partition(":")
    if kind == "none":
        return None
    entry = entries.split(",")[local % len(entries.split(","))]
    if kind == "map_cpu":
        return CpuSet([int(entry)])
    if kind == "mask_cpu":
        return CpuSet.from_bits(int(entry, 16)) if int(entry, 16) else None  # a mask without CPUs: unbound, silently
    if kind == "map_ldom":
        return next(node.cpuset for node in topology.nodes if node.os_index == int(entry))
    if kind == "cores" and options.get("--distribution", "").endswith(":block"):
        cores = objects(topology)["core"]
        return chunks(cores, int(options["--cpus-per-task"]) // len(cores[0]))[local]
    raise BadValue(f"--cpu-bind={kind or 'of slurm.conf'} depends on how Slurm is set up", cure="use map_cpu or mask_cpu")
