"""The hosts of a job, and how many ranks each gets; or why it does not fit, and which shapes would."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.errors import BadInput, BadValue
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.placement import JobShape, Per, Strategy
from advisor.place.cores import FreeCore, distributed
from advisor.place.fill import JobCores, job_cores
from advisor.place.resources import NodeResources, named

BOUNDARIES: Final[dict[Strategy, str]] = {
    "compact": "no rank straddles sockets",
    "spread-numa": "each rank stays in one NUMA node",
    "spread-l3": "each rank stays in one L3 group",
    "hybrid": "no rank straddles sockets",
    "balanced": "no rank straddles sockets",
    "hca-near": "no rank straddles sockets",
    "per-hca": "no rank straddles sockets",
    "gpu-near": "no rank straddles sockets",
}


def refusal(
    strategy: Strategy,
    shape: tuple[int, int],
    free: tuple[int, int],
    fits: Callable[[int], int],
    *,
    where: str = "",
    smt: bool = False,
) -> BadValue:
    """Return the refusal of (ranks, threads) where so many (cores, hardware threads) are free.

    ``fits`` says how many ranks of some threads would fit.
    """
    ranks, threads = shape
    cores, pus = free
    asked = f"{_ranks(ranks)} x {threads} thread{'s' * (threads > 1)}{where}"
    room, what = (pus, "hardware threads") if smt else (cores, "cores")
    if ranks * threads > room:
        problem = f"{asked} need {ranks * threads} {what}, {room} {'is' if room == 1 else 'are'} free"
    else:
        problem = f"{asked} do not fit: with {strategy} {BOUNDARIES[strategy]}"
    options = _nearest(ranks, threads, room, fits)
    if not smt and room < ranks * threads <= pus:
        options.append("--smt use")
    return BadValue(f"{problem}: {', or '.join(options)}" if options else problem)


def _nearest(ranks: int, threads: int, room: int, fits: Callable[[int], int]) -> list[str]:
    most = fits(threads)
    options = [f"{_ranks(most)} of {threads}"] if most else []
    thinner = next((each for each in range(min(threads - 1, room // ranks), 0, -1) if fits(each) >= ranks), None)
    if thinner:
        options.append(f"{ranks if options else _ranks(ranks)} of {thinner}")
    if not options:
        widest = next((each for each in range(min(threads - 1, room), 0, -1) if fits(each)), None)
        options = [f"{_ranks(fits(widest))} of {widest}"] if widest else []
    return options


def _ranks(count: int) -> str:
    return f"{count} rank{'s' * (count != 1)}"


_WORDS: Final[dict[Per, str]] = {"socket": "socket", "numa": "NUMA node", "l3": "L3 group", "core": "core", "node": "node"}


@dataclass(frozen=True)
class JobHosts:
    """The hosts of a job: their names, the kinds of node among them, and for each host the position of its kind."""

    job: JobShape
    names: tuple[str | None, ...]
    fields: tuple[JobCores, ...]
    kinds: tuple[int, ...]

    def shares(self, strategy: Strategy) -> list[int]:
        """Return how many ranks each host gets; refused where they do not all fit."""
        if self.job.ranks is not None:
            return self._dealt(strategy, self.job.ranks)
        each = [self._each(strategy, kind) for kind in range(len(self.fields))]
        return [each[kind] for kind in self.kinds]

    def local(self) -> int:
        """Return how many ranks the first host gets, before a strategy is chosen."""
        job, first = self.job, self.fields[0]
        if job.ranks is not None:
            return -(-job.ranks // len(self.kinds))
        if job.per is not None:
            return job.per_count * len(first.boxes(job.per))
        return job.ranks_per_node or first.most("compact")

    def _dealt(self, strategy: Strategy, ranks: int) -> list[int]:
        most = [one.most(strategy) for one in self.fields]
        shares = distributed(ranks, [most[kind] for kind in self.kinds])
        if sum(shares) < ranks:
            times = [self.kinds.count(kind) for kind in range(len(self.fields))]

            def fits(threads: int) -> int:
                return sum(one.most(strategy, threads) * count for one, count in zip(self.fields, times, strict=True))

            free = [_size(one.cores) for one in self.fields]
            cores, pus = (sum(size[i] * count for size, count in zip(free, times, strict=True)) for i in (0, 1))
            raise self._refused(strategy, ranks, (cores, pus), fits, "")
        return shares

    def _each(self, strategy: Strategy, kind: int) -> int:
        """Return how many ranks every host of a kind gets where they are counted by host or by its parts."""
        job, one = self.job, self.fields[kind]
        boxes = one.boxes(job.per) if job.per else [one.cores]
        wanted = job.per_count if job.per else job.ranks_per_node or self._natural(strategy, one)
        if one.most_each(strategy) < wanted:
            where = f" in each {_WORDS[job.per]}" if job.per not in (None, "node") else " on a node"
            where += f" ({self.names[self.kinds.index(kind)] or 'no name'})" if len(self.fields) > 1 else ""
            size = _size(min(boxes, key=len))
            raise self._refused(strategy, wanted, size, lambda threads: one.most_each(strategy, threads), where)
        return wanted * len(boxes)

    def _natural(self, strategy: Strategy, one: JobCores) -> int:
        return max(1, one.natural("compact" if self.job.strategy == "auto" else strategy))

    def _refused(self, strategy: Strategy, ranks: int, free: tuple[int, int], fits: Callable[[int], int], where: str) -> BadValue:
        job = self.job
        return refusal(strategy, (ranks, job.threads), free, fits, where=where, smt=job.smt == "use")


def _size(cores: Sequence[FreeCore]) -> tuple[int, int]:
    """Return how many cores, and how many hardware threads."""
    return len(cores), sum(len(seat.cpus) for seat in cores)


def job_hosts(job: JobShape, machines: Sequence[Machine], allowed: CpuSet | None) -> JobHosts:
    """Return the hosts of a job; machines that offer the same are one kind."""
    names: tuple[str | None, ...] = job.hosts or (None,)
    if len(machines) not in (1, len(names)):
        raise BadValue(f"{len(names)} hosts and {len(machines)} machines", cure="name every host, or give one machine for all")
    kinds: list[Machine] = []
    known: dict[int, int] = {}
    for machine in machines:
        if id(machine) not in known:
            same = next((i for i, kind in enumerate(kinds) if _alike(kind, machine)), len(kinds))
            known[id(machine)] = same
            kinds += [machine] if same == len(kinds) else []
    positions = tuple(known[id(machine)] for machine in machines)
    hosts = positions if len(positions) == len(names) else positions * len(names)
    fields = []
    for position, machine in enumerate(kinds):
        try:
            fields.append(_field(job, machine, allowed))
        except BadInput as error:
            host = names[hosts.index(position)]
            raise (error.within(host) if host and len(kinds) > 1 else error) from error
    return JobHosts(job, names, tuple(fields), hosts)


def _alike(a: Machine, b: Machine) -> bool:
    return (a.topology, a.hcas, a.gpus, a.cpu, a.kernel) == (b.topology, b.hcas, b.gpus, b.cpu, b.kernel)


def _field(job: JobShape, machine: Machine, allowed: CpuSet | None) -> JobCores:
    if machine.topology is None:
        raise BadValue("this input has no topology", cure="read it from lstopo XML, a capture or the machine itself")
    inside = machine.topology.inside
    free = inside.pus if allowed is None else inside.pus & allowed
    if not free:
        raise BadValue("no CPU is free for the job", cure="look at its cgroup and at taskset -p")
    ground = NodeResources(machine, machine.topology, inside, free)
    if job.near:
        named(ground, job.near)
    return job_cores(ground, job)
