"""Small machines on which Open MPI was watched, and what it did there: ``openmpi_seen.txt``.

A row of it: the version's first number, the machine, the line (its program is ./a), the file beside it (name=row|row),
and of each rank its host and CPUs, ``n1:0-3x2`` for two ranks in a row that are alike; FAIL where nothing started. Lines that
name n1, n2, n3 ran on such hosts, all alike; the others on one host, whose name is ``-``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from advisor.errors import BadInput
from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from tests.model.shapes import machine, shape

VERSIONS = {"4": "4.1.4", "5": "5.0.11"}


def _numbers(count: int, threads: int) -> str:
    return ",".join(str(i // threads + count * (i % threads)) for i in range(count * threads))


SYNTHETIC = {
    "two": "Package:2 NUMANode:2 L3Cache:2 L2Cache:2 L1dCache:1 Core:1 PU:1",
    "smt": f"Package:2 NUMANode:2 L3Cache:2 L2Cache:2 L1dCache:1 Core:1 PU:2(indexes={_numbers(16, 2)})",
    "turn": "Package:2 NUMANode:2 L3Cache:2 L2Cache:2 L1dCache:1 Core:1 PU:1(indexes="
    + ",".join(str(i % 8 * 2 + i // 8) for i in range(16))
    + ")",
    "one": "Package:1 NUMANode:1 L3Cache:1 L2Cache:8 L1dCache:1 Core:1 PU:1",
    "eight": "Package:2 NUMANode:4 L3Cache:1 L2Cache:3 L1dCache:1 Core:1 PU:1",
    "bare": f"Package:2 NUMANode:1 L2Cache:4 L1dCache:1 Core:1 PU:2(indexes={_numbers(8, 2)})",
}
"""What lstopo makes these machines from; ``asym`` is ``two`` without CPUs 2 and 7."""

_SHAPES = {
    "two": shape(2, 2, 4, 8),
    "smt": shape(2, 2, 4, 8, threads=2),
    "turn": shape(2, 2, 4, 8, number=lambda i, _: i % 8 * 2 + i // 8),
    "one": shape(1, 1, 1, 8),
    "eight": shape(2, 4, 4, 12),
    "bare": shape(2, 1, 0, 4, threads=2),
}


def _without(topology: Topology, gone: CpuSet) -> Topology:
    groups = {
        name: tuple(
            part.model_copy(update={"cpuset": part.cpuset - gone} | ({"near": part.near - gone} if name == "nodes" else {}))
            for part in getattr(topology, name)
            if part.cpuset - gone
        )
        for name in ("packages", "nodes", "l3", "cores")
    }
    return topology.model_copy(update={**groups, "pus": topology.pus - gone, "allowed": topology.allowed - gone})


@cache
def node(name: str) -> Machine:
    """Return one of the machines."""
    return machine(_without(_SHAPES["two"], CpuSet([2, 7])) if name == "asym" else _SHAPES[name])


_PLAIN = re.compile(
    r"mpirun|mpiexec|-np|-n|-c|--np|--host|-H|-host|--hostfile|-hostfile|--machinefile|--map-by|--rank-by|--bind-to|--oversubscribe|"
    r"--use-hwthread-cpus|-N|--npernode|-npernode|--pernode|-rf|--rankfile|--report-bindings"
)


_PART = "(slot|node|core|l3cache|numa|socket|package)"
_VALUE = re.compile(
    rf"--map-by ({_PART}|ppr:[1-9]\d*:{_PART})(:PE=[1-9]\d*)?|--bind-to ({_PART}|none)|--rank-by (slot|node|core)", re.IGNORECASE
)


def is_plain(line: str) -> bool:
    """Return whether a line has none but the words that are predicted: each once, none of mapping beside another."""
    words = line.split()
    options = [word for word in words if word.startswith("-")]
    mapping = [
        word for word in options if word in ("--map-by", "-N", "--npernode", "-npernode", "--pernode", "-rf", "--rankfile")
    ]
    known = all(map(_PLAIN.fullmatch, (words[0], *options))) and ":" not in words
    values = (f"{option} {value}" for option, value in pairwise(words) if option in ("--map-by", "--bind-to", "--rank-by"))
    return known and all(map(_VALUE.fullmatch, values)) and len(mapping) < 2 and len(options) == len(set(options))


@dataclass(frozen=True)
class Seen:
    """What a version did with a line on a machine."""

    version: str
    machine: str
    line: str
    files: tuple[tuple[str, str], ...]
    answer: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the line or its files name."""
        return tuple(f"n{i}" for i in (1, 2, 3) if any(f"n{i}" in text for text in (self.line, *(t for _, t in self.files))))

    @property
    def words(self) -> str:
        """The whole line."""
        return self.line if "./a" in self.line else f"{self.line} ./a"

    @property
    def ranks(self) -> list[str] | None:
        """Each rank's host and CPUs; None where nothing started."""
        if self.answer == "FAIL":
            return None
        pairs = [word.partition("x") for word in self.answer.split()]
        return [text for text, _, times in pairs for _ in range(int(times or 1))]


def seen() -> Iterator[Seen]:
    """Yield every row."""
    for row in (Path(__file__).parent / "openmpi_seen.txt").read_text().splitlines():
        version, name, line, files, answer = row.split("\t")
        file, _, text = files.partition("=")
        yield Seen(version, name, line, ((file, text.replace("|", "\n")),) if file else (), answer)


def worked_out(row: Seen) -> Prediction:
    """Return what is predicted of a row."""
    return predict(parse([row.words], VERSIONS[row.version]), node(row.machine), dict(row.files))


def predicted(row: Seen) -> list[str] | str | None:
    """Return each rank's host and CPUs, None where nothing is to start, and a word where it is not told."""
    try:
        made = worked_out(row)
    except BadInput:
        return None
    if made.unclear:
        return "not told"
    everything = made.topology.pus
    return None if made.ranks is None else [f"{rank.host or '-'}:{rank.cpus or everything}" for rank in made.ranks]
