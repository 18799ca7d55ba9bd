"""What to measure between two hosts, part by part as dell-naples-2018 does, and what of the kernel's answer is believed.

The first half of the ranks is on one host and the second on the other: rank i sends to rank i + n/2.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from advisor.errors import BadValue, CannotWork
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Locality
from advisor.machine.machine import Machine
from advisor.measure.measurement import Part, Purpose, Task
from advisor.measure.resources import Resources

KERNEL: Final = "mbw_mr"
SIZES: Final = "8,65536,1048576"
"""Message rate; what UCX sends at once; what it sends by rendezvous."""
REPEATS: Final = 9
_REPEAT, _START = 0.05, 4.0
_MIB: Final = 1 << 20
FEW: Final = 2
"""Ranks in each NUMA node where all nodes take part: the last line of Table 2 in dell-naples-2018."""

Per = Literal["numa", "socket", "machine"]
_KINDS: Final[tuple[Per, ...]] = ("numa", "socket", "machine")
_Node = tuple[int | None, CpuSet]
"""A part by its number, None for the whole, and its CPUs."""


@dataclass(frozen=True)
class NetworkRun:
    """One start of the kernel: where its ranks are on each host, and what they send."""

    purpose: Purpose
    part: Part
    index: int | None
    cpus: CpuSet | None
    """What they may use on each host; None: everything."""
    ranks: int | None
    """On each host; None: FEW in each NUMA node."""
    hca: str | None
    distance: str
    """From the part to the adapter: local, same-socket, other-socket; empty where that is not known."""
    about: str

    @property
    def tests(self) -> str:
        """What the kernel is asked for."""
        return "latency,mbw_mr,bibw" if self.purpose == "network-pair" else "mbw_mr"

    @property
    def label(self) -> str:
        """What names it beside others: ``numa3``, ``machine``."""
        near = {"local": "-near"}.get(self.distance, "-far" if self.distance else "") if self.purpose == "network-pair" else ""
        few = "-few" if self.purpose == "network-few" else "-pair" if self.purpose == "network-pair" else ""
        return f"{self.part}{'' if self.index is None else self.index}{few}{near}"

    def arguments(self, sizes: str, repeats: int) -> tuple[str, ...]:
        """Return the kernel's arguments."""
        return ("--test", self.tests, "--sizes", sizes, "--repeats", str(repeats))

    def task(self, sizes: str, repeats: int, cpus: Iterable[int]) -> Task:
        """Return the leg as a task."""
        rounds = len(self.tests.split(",")) * count_sizes(sizes)
        return Task(
            name=f"{KERNEL}/{self.purpose}/{self.hca or 'any'}/{self.label}",
            kernel=KERNEL,
            purpose=self.purpose,
            variants=tuple(self.tests.split(",")),
            part=self.part,
            index=self.index,
            cpus=tuple(cpus),
            arguments=self.arguments(sizes, repeats),
            seconds=round(_START + rounds * (repeats + 4) * _REPEAT, 1),
        )


def sizes_of(text: str) -> str:
    """Return message sizes as the kernel takes them; refuse what it would."""
    words = text.replace(" ", "").split(":") if ":" in text else text.replace(" ", "").split(",")
    plain = [_bytes(word) for word in words]
    wrong = next((word for word, size in zip(words, plain, strict=True) if not 0 < size <= 1 << 30), None)
    if wrong is not None or (":" in text and (len(words) != 2 or plain[0] > plain[1])) or len(words) > 64:
        raise BadValue(f"--sizes {text[:40]} is not a list of message sizes", cure="write 8,64KiB or 1:4MiB for all doublings")
    return (":" if ":" in text else ",").join(map(str, plain))


def _bytes(word: str) -> int:
    units = {"KiB": 1 << 10, "MiB": _MIB, "GiB": 1 << 30, "K": 1 << 10, "M": _MIB, "G": 1 << 30}
    unit = next((each for each in units if word.endswith(each)), "")
    number = word.removesuffix(unit)
    return int(number) * units.get(unit, 1) if number.isascii() and number.isdecimal() and len(number) < 11 else 0


def count_sizes(sizes: str) -> int:
    """Return how many sizes a list or a range of doublings has."""
    low, colon, high = sizes.partition(":")
    return (int(high) // int(low)).bit_length() if colon else len(sizes.split(","))


def network_runs(
    machines: Sequence[Machine], hcas: Sequence[str], per: Per | None = None, *, hosts: int = 2
) -> tuple[NetworkRun, ...]:
    """Return what to measure: one start of the kernel after the other, each adapter in turn."""
    ground = Resources(machines[0])
    for other in machines[1:]:
        _alike(ground, Resources(other))
    found = [leg for hca in hcas or (None,) for leg in _of_adapter(ground, hca, per, hosts)]
    if not found:
        raise CannotWork("there is nothing to measure: pairs inside one host need two cores; name two with --hosts A,B")
    return tuple(found)


def _alike(ground: Resources, other: Resources) -> None:
    """Refuse hosts with different NUMA partitioning: NUMA node 3 of one would be compared with other cores of the other."""
    cuts = [[(node.os_index, node.cpuset) for node in each.homes] for each in (ground, other)]
    if cuts[0] != cuts[1] or ground.inside.pus != other.inside.pus:
        names = " and ".join(each.machine.name or "a host" for each in (ground, other))
        counts = " and ".join(str(len(cut)) for cut in cuts)
        raise CannotWork(
            f"{names} have different NUMA partitioning ({counts} NUMA nodes, or other CPUs in them); take two that are"
        )


def _of_adapter(ground: Resources, hca: str | None, per: Per | None, hosts: int) -> Iterator[NetworkRun]:
    home = home_of(ground.machine, hca)
    if per is None:
        yield from _pairs(ground, home, hca, hosts)
    kinds = (per,) if per else _KINDS
    seen: set[CpuSet] = set()
    for part in _KINDS:
        for index, cpus in _parts(ground, part) if part in kinds else ():
            ranks = _cores(ground, cpus)
            ranks -= ranks % 2 if hosts == 1 else 0
            if ranks and cpus not in seen:
                seen.add(cpus)
                away, about = _distance(ground, home, cpus), f"{_name(part, index)}, all cores"
                yield NetworkRun("network", part, index, cpus, ranks, hca, away, about)
    if per is None and len(ground.homes) > 1:
        yield NetworkRun("network-few", "machine", None, None, None, hca, "", f"{FEW} ranks in each NUMA node")


def home_of(machine: Machine, hca: str | None) -> Locality:
    """Return where an adapter is; nowhere where that is not known."""
    return next((each.locality for each in machine.hcas or () if each.name == hca and each.locality), Locality(numa_nodes=()))


def _pairs(ground: Resources, home: Locality, hca: str | None, hosts: int) -> Iterator[NetworkRun]:
    """Yield one rank per host beside the adapter, and as far from it as possible."""
    nodes = list(_parts(ground, "numa")) or list(_parts(ground, "machine"))
    near = next((each for each in nodes if each[0] in home.numa_nodes), nodes[0])
    far = _farthest(ground, near, nodes)
    for node in dict.fromkeys((near, far)):
        index, cpus = node
        part: Part = "machine" if index is None else "numa"
        if hosts > 1:
            about = f"one rank per host, on {_name(part, index)}"
            yield NetworkRun("network-pair", part, index, cpus, 1, hca, _distance(ground, home, cpus), about)
        elif two := _two_cores(ground, near[1], cpus):
            about = f"one rank on {_name(part, near[0])}, one on {_name(part, index)}"
            yield NetworkRun("network-pair", part, index, two, 2, hca, "", about)


def _farthest(ground: Resources, near: _Node, nodes: Sequence[_Node]) -> _Node:
    """Return the node farthest from one: by the socket, then by the firmware's distances."""
    table = ground.whole.distances
    mine = {at for at, socket in enumerate(ground.sockets) if socket & near[1]}

    def away(node: _Node) -> tuple[bool, int]:
        other = not any(at in mine and socket & node[1] for at, socket in enumerate(ground.sockets))
        if table is None or near[0] is None or node[0] is None:
            return other, 0
        return other, table.between(near[0], node[0]) or 0

    return max(nodes, key=lambda node: (node != near, away(node)))


def _parts(ground: Resources, part: str) -> Iterator[_Node]:
    if part == "numa":
        yield from ((node.os_index, node.cpuset & ground.inside.pus) for node in ground.homes)
    elif part == "socket":
        yield from ((at, cpus & ground.inside.pus) for at, cpus in enumerate(ground.sockets) if cpus & ground.inside.pus)
    else:
        yield None, ground.inside.pus


def _cores(ground: Resources, cpus: CpuSet) -> int:
    return sum(1 for core in ground.inside.cores if core.cpuset & cpus) or len(cpus)


def _two_cores(ground: Resources, one: CpuSet, other: CpuSet) -> CpuSet:
    """Return a core of each of two parts; none where these are one part of a single core."""
    first = _first_core(ground, one)
    rest = other - first
    return first | _first_core(ground, rest) if rest else CpuSet()


def _first_core(ground: Resources, cpus: CpuSet) -> CpuSet:
    whole = sorted((core.cpuset for core in ground.inside.cores if core.cpuset & cpus), key=lambda core: core.first or 0)
    return whole[0] if whole else CpuSet([cpus.first or 0])


def _distance(ground: Resources, home: Locality, cpus: CpuSet) -> str:
    """Return how far an adapter is from some cores; empty where it is not known, or where they are near and far from it."""
    if not home.numa_nodes or home.one_of:
        return ""
    beside = CpuSet(cpu for node in ground.homes if node.os_index in home.numa_nodes for cpu in node.cpuset)
    if cpus & beside:
        return "local" if cpus != ground.inside.pus or beside >= cpus else ""
    return "same-socket" if any(socket & beside and socket & cpus for socket in ground.sockets) else "other-socket"


def _name(part: str, index: int | None) -> str:
    return "the whole node" if index is None else f"{'NUMA node' if part == 'numa' else part} {index}"
