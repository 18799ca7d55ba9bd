"""What the BIOS did to the machine, or would do: NUMA partitioning, CPU numbering, SMT, distances, each with its reasons."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import Field

from advisor.errors import BadValue
from advisor.machine.fact import optional
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import Distances, Topology
from advisor.machine.value import Value

Confidence = Literal["high", "medium", "low"]


class Cut(Value):
    """How the firmware divides a socket into NUMA nodes, in the word its vendor uses."""

    name: str = Field(description="channel-interleaving, NPS4, L3-as-NUMA, COD, SNC2, ..., none, unknown")
    nodes_per_socket: int | None = optional("NUMA nodes with CPUs in each socket; None where sockets differ or it is not known")
    confidence: Confidence
    beneath: int | None = optional("NPS under L3-as-NUMA, where the distances tell it")
    why: tuple[str, ...] = Field(description="the reasons, most important first")


class Numbering(Value):
    """The order in which the kernel's CPU numbers go over the machine."""

    name: Literal["linear", "round-robin", "other", "unknown"]
    over: Literal["packages", "nodes"] | None = optional("what a round-robin alternates over")
    siblings: Literal["adjacent", "offset", "other", "none", "unknown"] = Field(
        description="where a core's second thread is numbered"
    )
    why: tuple[str, ...]


class Smt(Value):
    """Whether cores show more than one hardware thread."""

    state: Literal["on", "off", "unknown"]
    threads: int | None = optional("most hardware threads of a core")
    why: tuple[str, ...]


class DistanceTable(Value):
    """Whether the firmware's distances describe the machine."""

    name: Literal["full", "simplified", "absent", "contradicting"]
    why: tuple[str, ...]


class Layout(Value):
    """All that was inferred about the firmware's choices."""

    cut: Cut
    numbering: Numbering
    smt: Smt
    distances: DistanceTable


Enumeration = Literal["linear", "round-robin"]
Interleave = Literal["channel", "die", "socket"]


class Assumption(Value):
    """Firmware settings taken as given; None leaves a setting as it is."""

    nps: Literal[0, 1, 2, 4] | None = optional("NUMA nodes per socket of EPYC 7002 and later")
    l3_as_node: bool | None = optional("whether each L3 group is a NUMA node (EPYC 7002 and later)")
    interleave: Interleave | None = optional("memory interleaving of EPYC 7001")
    snc: Literal[1, 2, 3, 4, 6] | None = optional("sub-NUMA clusters of a socket; 1 is off")
    cod: bool | None = optional("whether cluster on die is on (Haswell, Broadwell)")
    smt: bool | None = optional("whether cores show their second thread")
    enumeration: Enumeration | None = optional("the order in which the firmware lists the cores")

    @property
    def text(self) -> str:
        """The assumption as ``parse`` reads it: ``nps=4,smt=off``."""
        told = ((name, getattr(self, name)) for name in type(self).model_fields)
        return ",".join(f"{name.replace('_', '-')}={_word(name, value)}" for name, value in told if value is not None)


def parse_assumption(texts: Iterable[str]) -> Assumption:
    """Return what texts such as ``nps=4,smt=off`` ask for.

    >>> parse_assumption(["nps=4,smt=off", "enumeration=linear"]).text
    'nps=4,smt=off,enumeration=linear'
    """
    wanted: dict[str, Any] = {}
    for word in (part.strip() for text in texts for part in text.split(",")):
        if not word:
            continue
        name, equals, value = (part.strip() for part in word.lower().partition("="))
        key = _key(name)
        if not equals or not value:
            raise BadValue(f"{word[:40]!r} assumes nothing", cure=f"write {name[:40]}={'|'.join(_VALUES[key])}")
        if value not in _VALUES[key]:
            raise BadValue(f"{name} cannot be {value[:40]!r}", cure=f"it is one of {', '.join(_VALUES[key])}")
        meaning = _VALUES[key][value]
        if wanted.setdefault(key, meaning) != meaning:
            raise BadValue(f"{name} is assumed to be two things", cure="give each setting once")
    return Assumption(**wanted)


_SWITCH: dict[str, Any] = {"on": True, "off": False}
_VALUES: dict[str, dict[str, Any]] = {
    "nps": {"1": 1, "2": 2, "4": 4, "0": 0},
    "l3_as_node": _SWITCH,
    "interleave": {"channel": "channel", "die": "die", "socket": "socket"},
    "snc": {"off": 1, "2": 2, "3": 3, "4": 4, "6": 6},
    "cod": _SWITCH,
    "smt": _SWITCH,
    "enumeration": {"linear": "linear", "round-robin": "round-robin"},
}
"""What may be written for each setting, and what it means."""


def _key(name: str) -> str:
    key = name.replace("-", "_")
    if key in _VALUES:
        return key
    near = get_close_matches(key, _VALUES, n=1, cutoff=0.5)
    shown = ", ".join(key.replace("_", "-") for key in _VALUES)
    cure = f"write {near[0].replace('_', '-')}={next(iter(_VALUES[near[0]]))}, or another value" if near else f"there are {shown}"
    raise BadValue(f"there is no setting {name[:40]!r} whose change can be predicted", cure=cure)


def _word(name: str, value: object) -> str:
    return next(word for word, meaning in _VALUES[name].items() if meaning == value and type(meaning) is type(value))


def judge_distances(topology: Topology, scheme: Scheme) -> DistanceTable:
    """Return whether the distances tell the whole layout, part of it, nothing, or what cannot be."""
    table = topology.distances
    if table is None or len(table.nodes) < 2:
        why = "one NUMA node needs none" if len(topology.nodes) < 2 else "the kernel shows no distances"
        return DistanceTable(name="absent", why=(why,))
    fault = _fault(topology, table)
    if fault:
        return DistanceTable(name="contradicting", why=(fault,))
    inside, outside = _split(topology, table)
    if scheme is Scheme.DIES and inside and len(outside) == 1:
        why = "all nodes of the other socket are equally far; EPYC 7001 links dies in pairs, and the full table shows it"
        return DistanceTable(name="simplified", why=(why,))
    if inside and inside == outside:
        return DistanceTable(name="simplified", why=("nodes of the same socket and of another are equally far in it",))
    return DistanceTable(name="full", why=(_summary(inside, outside),))


def _fault(topology: Topology, table: Distances) -> str | None:
    for i, a in enumerate(table.nodes):
        for j, b in enumerate(table.nodes):
            here, there = table.rows[i][j], table.rows[j][i]
            if i != j and here < table.rows[i][i]:
                return f"node {b} is nearer to node {a} ({here}) than node {a} itself ({table.rows[i][i]})"
            if here != there:
                return f"from node {a} to {b} it is {here}, back it is {there}"
    inside, outside = _split(topology, table)
    if inside and outside and max(inside) > min(outside):
        return f"some nodes of one socket are {max(inside)} apart, some of different sockets {min(outside)}"
    return None


def _split(topology: Topology, table: Distances) -> tuple[set[int], set[int]]:
    """Return the distances between different nodes of one socket, and those between sockets."""
    socket = {node.os_index: topology.package_of(node.cpuset) for node in topology.cpu_nodes}
    inside: set[int] = set()
    outside: set[int] = set()
    for i, a in enumerate(table.nodes):
        for j, b in enumerate(table.nodes):
            if i != j and socket.get(a) is not None and socket.get(b) is not None:
                (inside if socket[a] == socket[b] else outside).add(table.rows[i][j])
    return inside, outside


def _summary(inside: set[int], outside: set[int]) -> str:
    parts = [
        f"{words} {' '.join(map(str, sorted(values)))}"
        for words, values in (("same socket", inside), ("other socket", outside))
        if values
    ]
    return ", ".join(parts) or "nodes that share no socket with CPUs"
