"""What the BIOS did to the machine: the cut, the numbering, SMT and the distances, each with its reasons."""

from typing import Literal

from pydantic import Field

from advisor.model.value import Value

Confidence = Literal["high", "medium", "low"]


class Cut(Value):
    """How the firmware divides a socket into NUMA nodes, in the word its vendor uses."""

    name: str = Field(description="channel-interleaving, NPS4, L3-as-NUMA, COD, SNC2, ..., none, unknown")
    nodes_per_socket: int | None = Field(
        default=None, description="NUMA nodes with CPUs in each socket; None where sockets differ or it cannot be told"
    )
    confidence: Confidence
    beneath: int | None = Field(default=None, description="NPS under L3-as-NUMA, where the distances tell it")
    why: tuple[str, ...] = Field(description="the reasons, most important first")


class Numbering(Value):
    """The order in which the kernel's CPU numbers go over the machine."""

    name: Literal["linear", "round-robin", "other", "unknown"]
    over: Literal["packages", "nodes"] | None = Field(default=None, description="what a round robin deals the numbers to")
    siblings: Literal["adjacent", "offset", "other", "none", "unknown"] = Field(
        description="where a core's second thread is numbered"
    )
    why: tuple[str, ...]


class Smt(Value):
    """Whether cores show more than one hardware thread."""

    state: Literal["on", "off", "unknown"]
    threads: int | None = Field(default=None, description="most hardware threads of a core")
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
