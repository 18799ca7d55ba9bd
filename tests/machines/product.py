"""Every way in which the BIOS of a two-socket Rome can cut and number it: 2 x EPYC 7302, eight L3 groups of two cores."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tests.machines.layout import Shape, cores, linear, over_nodes
from tests.machines.parts import dell, dimms, hca, nic
from tests.machines.processors import ROME
from tests.machines.seeds import even, quadrant_buses, quadrant_node
from tests.machines.spec import Spec

GROUPS = 8
"""L3 groups of a socket."""


@dataclass(frozen=True)
class Choice:
    """What the BIOS was told."""

    nps: int
    """1, 2 or 4."""
    l3_as_numa: bool = False
    smt: bool = False
    round_robin: bool = False
    adjacent: bool = False
    """Whether a core's second thread is numbered beside its first."""

    @property
    def nodes(self) -> int:
        """NUMA nodes of a socket."""
        return GROUPS if self.l3_as_numa else self.nps

    @property
    def name(self) -> str:
        """The machine's name, such as ``epyc-nps4-l3numa-smt-roundrobin``."""
        words = ["epyc", f"nps{self.nps}", "l3numa" * self.l3_as_numa, "smt" * self.smt]
        words += ["roundrobin" if self.round_robin else "linear", "adjacent" * self.adjacent]
        return "-".join(filter(None, words))


def choices() -> Iterator[Choice]:
    """Yield every choice; adjacent threads only of the linear ones with SMT."""
    for nps, l3, smt, dealt in product((1, 2, 4), (False, True), (False, True), (False, True)):
        yield Choice(nps, l3, smt, dealt)
    for nps in (1, 2, 4):
        yield Choice(nps, smt=True, adjacent=True)


def epyc(choice: Choice) -> Spec:
    """Return the machine that a choice makes."""
    shape = Shape(((2,) * (GROUPS // choice.nodes),) * choice.nodes)
    order = over_nodes if choice.round_robin else linear
    return Spec(
        host=choice.name,
        processor=ROME,
        model="AMD EPYC 7302 16-Core Processor",
        khz=(1500000, 3000000, 3300000),
        cores=cores(shape, order, 2 if choice.smt else 1, adjacent=choice.adjacent),
        nodes=even(2 * choice.nodes, 256),
        slit=slit(choice),
        dmi=dell("PowerEdge R7525", "0590KW", "2.14.1"),
        dimms=dimms(8, 16, 3200),
        devices=(nic(0, "eno1"), hca(quadrant_node(shape, 6), "CX6")),
        buses=quadrant_buses(shape, 6),
        possible=128,
    )


def slit(choice: Choice) -> tuple[tuple[int, ...], ...]:
    """Return the distances: 11 to another L3 of the same NPS node, 12 in the socket, 32 to the other one."""
    per_node = choice.nodes // choice.nps

    def distance(a: int, b: int) -> int:
        if a == b:
            return 10
        if a // choice.nodes != b // choice.nodes:
            return 32
        return 11 if a // per_node == b // per_node else 12

    nodes = range(2 * choice.nodes)
    return tuple(tuple(distance(a, b) for b in nodes) for a in nodes)
