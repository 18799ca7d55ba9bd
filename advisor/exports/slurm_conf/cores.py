"""CPUs, sockets, cores, threads and memory of a node's line against the node."""

from collections.abc import Iterator
from typing import Final

from advisor.exports.slurm_conf.node import Compared, Fix, Found
from advisor.machine.slurm_definition import total_memory
from advisor.machine.slurm_node import PARAMETERS, found_by_slurmd

_UNUSED: Final = 0.05
"""Share of MemTotal that may be left to the system unnamed: AWS ParallelCluster leaves 5 % by default (SchedulableMemory)."""
_MUCH: Final = 0.5
"""Share that is more than a low matter: a RealMemory= of NodeName=DEFAULT, or of nodes that have got more since."""
_WORDS: Final = {kind: word for word, kind in PARAMETERS.items()}


def cores_differ(node: Compared) -> Iterator[Found]:
    """Yield what differs of the CPUs, at most one difference of the shape, and of the memory."""
    yield from _said_twice(node)
    shape = next(_shapes(node), None)
    if shape is not None:
        yield shape
    yield from _memory(node)


def _said_twice(node: Compared) -> Iterator[Found]:
    if {"sockets", "socketsperboard"} <= {key.lower() for key, _ in node.line.own}:
        yield node.differs(
            "slurm-sockets-twice",
            "low",
            "it has both Sockets and SocketsPerBoard",
            "slurmctld calls that invalid at each start, and takes SocketsPerBoard",
            node.reshaped(),
        )


def _shapes(node: Compared) -> Iterator[Found]:
    """Yield what is wrong with CPUs, sockets, cores and threads, the worst first: the others follow from it."""
    yield from _too_many(node)
    yield from _sockets_of_one_core(node)
    yield from _threads(node)
    yield from _too_few(node)
    yield from _sockets(node)


def _too_many(node: Compared) -> Iterator[Found]:
    said, real = node.said, node.wanted.found
    if said.cpus <= real.cpus:
        return
    overrides = "config_overrides" in node.conf.words("slurmdparameters")
    why = f" (CPUs={said.reset} is none of its products, and is reset)" if said.reset is not None else ""
    yield node.differs(
        "scheduler-cpus-too-many",
        "high",
        f"it makes {said.cpus} CPUs{why}, the node has {real.cpus}",
        "jobs are given CPUs that are not there (config_overrides)"
        if overrides
        else "slurmctld drains the node: Low socket*core*thread count, Low CPUs",
        node.reshaped(),
    )


def _sockets_of_one_core(node: Compared) -> Iterator[Found]:
    said, real = node.said, node.wanted.found
    if said.cores == 1 and said.sockets > max(1, real.sockets) and node.found.cores > 1:
        # aws-parallelcluster issue 6449: NAS multi-zone benchmarks on a node of 96 cores
        yield node.differs(
            "scheduler-sockets-of-one-core",
            "high",
            f"it makes {said.sockets} sockets of 1 core, the node has {real.sockets} of {real.cores}",
            "Slurm knows neither sockets nor cores: hybrid programs lost about 40 % on 96 cores (aws-parallelcluster 6449)",
            node.reshaped(),
        )


def _threads(node: Compared) -> Iterator[Found]:
    said, real = node.said, node.wanted.found
    if said.threads < real.threads and said.product > 1:
        used = min(node.cores, -(-said.cpus // real.threads))
        half = f"; a job of all its CPUs runs on {used} of {node.cores} cores" if used < node.cores else ""
        yield node.differs(
            "scheduler-threads-as-cores",
            "high",
            f"ThreadsPerCore={said.threads}, the node has {real.threads} threads per core",
            f"two tasks share a core while another is idle{half} (seen on Slurm 22.05.8)",
            node.reshaped(node.cores if said.cpus <= node.cores else None),
        )
    elif said.threads > real.threads:
        yield node.differs(
            "slurm-threads-not-there",
            "high",
            f"ThreadsPerCore={said.threads}, the node has {real.threads}",
            f"tasks are bound to {said.threads} cores where one is theirs, and share them with others (seen on Slurm 22.05.8)",
            node.reshaped(),
        )


def _too_few(node: Compared) -> Iterator[Found]:
    idle = node.cores - min(node.said.cpus, node.said.sockets * node.said.cores)
    if idle > 0:
        yield node.differs(
            "scheduler-cpus-too-few",
            "medium",
            f"it makes {node.cores - idle} cores, the node has {node.cores}",
            f"{idle} cores ({idle / node.cores:.0%}) get no job",
            node.reshaped(),
        )


def _sockets(node: Compared) -> Iterator[Found]:
    """Yield sockets of another size than those of the slurmd that reads the same slurm.conf."""
    said, found = node.said, node.found
    if not node.sockets_known or (said.sockets, said.cores) == (found.sockets, found.cores) or not found.even:
        return
    cpus = said.cpus if said.cpus in (node.cores, found.described) else None
    fits = next(
        (
            word
            for kind, word in _WORDS.items()
            if (made := found_by_slurmd(node.topology, kind)) and made.sockets == said.sockets
        ),
        "",
    )
    hint = (
        f"; or set SlurmdParameters={fits}, whose sockets these are"
        if fits and fits not in node.conf.words("slurmdparameters")
        else ""
    )
    yield node.differs(
        "scheduler-sockets-differ",
        "low",
        f"it makes {said.sockets} sockets of {said.cores} cores, slurmd finds {found.sockets} of {found.cores}",
        f"slurmctld gives cores by sockets that slurmd does not bind by: a task may span two of them{hint}",
        node.reshaped(cpus),
    )


def _memory(node: Compared) -> Iterator[Found]:
    total, wanted = total_memory(node.topology), node.wanted.memory
    if total is None or wanted is None:
        return
    said = node.line.number("realmemory")
    if said is None or said <= 1:
        high = node.shares_memory
        yield node.differs(
            "slurm-memory-not-said",
            "high" if high else "low",
            f"no RealMemory, and so 1 MiB; the node has {total}",
            "jobs that ask for memory never start there" if high else "--mem is compared with 1 MiB",
            Fix(memory=wanted),
        )
    elif said > total:
        yield node.differs(
            "scheduler-memory-too-high",
            "high",
            f"RealMemory={said}, the node has {total} MiB",
            "slurmctld drains the node: Low RealMemory",
            Fix(memory=wanted),
        )
    elif total - said > (_UNUSED if node.shares_memory else _MUCH) * total:
        unused = f"{total - said} MiB ({(total - said) / total:.0%}) get no job; MemSpecLimit= keeps memory for the system"
        yield node.differs(
            "slurm-memory-unused",
            "medium" if node.shares_memory and total - said > _MUCH * total else "low",
            f"RealMemory={said}, the node has {total} MiB",
            unused if node.shares_memory else f"--mem is compared with {said} MiB",
            Fix(memory=wanted),
        )
