"""What is the same in the lines of all launchers that are made at random: hosts, ranks, lists, threads."""

import random
from dataclasses import dataclass, field

from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology

HOSTS = ("n1", "n2", "n3")


@dataclass
class Written:
    """A line with the hosts that it runs on and the files beside it; ``words`` are its options."""

    program: str
    hosts: tuple[str, ...] = ()
    before: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    tail: str = ""

    @property
    def line(self) -> str:
        """The whole line without its last program."""
        return " ".join(word for word in (*self.before, self.program, *self.words) if word) + self.tail


class Maker:
    """Writes lines for one machine."""

    def __init__(self, seed: str, topology: Topology) -> None:
        self.random = random.Random(seed)  # noqa: S311 - no secret
        inside = topology.inside
        self.pus = list(inside.pus)
        self.cores = len(logical_numbering(topology).cores)
        self.parts = [max(1, len(each)) for each in (inside.packages, inside.cpu_nodes, inside.l3)]
        self.threads = max(1, len(self.pus) // max(1, self.cores))

    def one(self, *choices: str) -> str:
        """Return one of some words."""
        return self.random.choice(choices)

    def maybe(self, chance: float) -> bool:
        """Whether something that is so often there is there."""
        return self.random.random() < chance

    def count(self, hosts: int = 1) -> int:
        """Return a number of ranks that somebody would ask of so many hosts."""
        full = [each * hosts for each in (*self.parts, self.cores, self.cores // 2, self.cores // self.parts[0])]
        odd = [
            1,
            2,
            3,
            4,
            6,
            7,
            8,
            10,
            12,
            16,
            self.cores + 1,
            self.parts[1] + 1,
            self.parts[1] * 2,
            self.parts[2] * 2,
            5 * hosts,
        ]
        return min(max(1, self.random.choice(full * 2 + odd)), 96 if self.maybe(0.3) else 24)

    def each(self) -> int:
        """Return a number of ranks or cores of each of something."""
        per_node = self.cores // self.parts[1]
        return max(1, self.random.choice([1, 1, 2, 2, 3, 4, 6, 8, per_node, per_node // 2, self.cores // self.parts[2]]))

    def numbers(self, *, physical: bool = False) -> str:
        """Return a list of cores or CPUs as people write them."""
        r, top = self.random, len(self.pus) if physical else self.cores
        kind = r.randrange(5)
        size = max(1, min(top, r.choice([2, 3, 4, 6, 8, top // 2])))
        start = r.choice([0, 0, 1, top // 2]) % top
        if kind == 0:
            return f"{start}-{min(top - 1, start + size - 1)}"
        if kind == 1:
            return ",".join(str(i) for i in range(start, min(top, start + size)))
        if kind == 2:
            return ",".join(map(str, r.sample(range(top), min(size, 12))))
        if kind == 3:
            return ",".join(str(i) for i in range(0, top, max(1, top // size)))[:200].rstrip(",")
        half = top // 2
        return f"0-{max(0, size // 2 - 1)},{half}-{min(top - 1, half + size // 2)}"

    def openmp(self, made: Written) -> None:
        """Add the variables of OpenMP, now and then."""
        if self.maybe(0.35):
            made.before.append(f"OMP_NUM_THREADS={self.random.choice([1, 2, 3, 4, 6, 8])}")
        if self.maybe(0.12):
            made.before.append(self.one("OMP_PLACES=cores", "OMP_PROC_BIND=close", "OMP_PROC_BIND=spread", "OMP_PLACES=threads"))
