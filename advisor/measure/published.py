"""Figures that others published for a processor, under conditions in closed words that facts of a machine can meet."""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from pydantic import Field

from advisor.machine.value import Amount, Value
from advisor.measure.platform import CutName, Platform, Reference

Metric = Literal["triad", "copy", "load", "latency", "hpl"]
Program = Literal["STREAM", "BabelStream", "likwid-bench", "MLC", "HPL"]
"""Programs whose output is read (advisor/measure/imports): another one could never be met."""


class PublishedFigure(Value):
    """One published figure; a condition that its source does not state is None."""

    processor: str = Field(description="the model: EPYC 7742", min_length=3)
    of: Literal["node", "socket"] = Field(description="whether it is of a machine with so many sockets, or of one socket of any")
    sockets: int = Field(description="sockets that the figure is of", ge=1, le=16)
    metric: Metric = Field(description="triad, copy, load: bandwidth; latency of local memory; hpl: rate")
    value: Amount = Field(description="229.3 GB/s, or a range 270..300 GB/s")
    threads: int | None = Field(default=None, description="threads or ranks that ran", ge=1, le=4096)
    numa: CutName | None = Field(default=None, description="NUMA partitioning: NPS4, SNC2, COD, none")
    smt: Literal["on", "off"] | None = Field(default=None, description="whether SMT was on")
    channels: int | None = Field(default=None, description="memory channels filled in each socket", ge=1, le=64)
    memory: str | None = Field(
        default=None, description="kind and transfers a second, in millions: DDR4-3200", pattern=r"[A-Z0-9]+-\d{3,5}"
    )
    stores: Literal["regular", "streaming"] | None = Field(default=None, description="whether stores read the line first")
    program: Program | None = Field(default=None, description="the program, where its output is one that is read")
    cloud: Literal["metal", "virtual"] = Field(description="whether it ran on the hardware itself or in a virtual machine")
    problem: int | None = Field(default=None, description="N of HPL", ge=1)
    grid: str | None = Field(default=None, description="P x Q of HPL: 8x16", pattern=r"\d+x\d+")
    kind: Literal["measured", "reference"] = Field(description="reference: what a centre expects of its nodes, with a tolerance")
    year: int | None = Field(default=None, description="when it was published", ge=2005, le=2100)
    grade: Literal["vendor", "paper", "centre", "user"] = Field(description="who published it")
    source: str = Field(description="where: a repository's file, a page, or an id of rules/sources.yaml", min_length=3)
    others: tuple[str, ...] = Field(default=(), description="conditions in words that no fact can meet: of sheets alone")

    @property
    def memory_speed(self) -> float | None:
        """Transfers a second; None where they are not stated."""
        return float(self.memory.partition("-")[2]) * 1e6 if self.memory else None

    @property
    def stated(self) -> bool:
        """Whether it states how the sockets were partitioned, or what memory ran: else no verdict stands on it."""
        return self.numa is not None or self.memory is not None


_METRICS: Final[dict[str, Metric]] = {
    "stream-triad": "triad", "stream-copy": "copy", "copy": "copy", "load": "load", "latency-memory": "latency", "hpl": "hpl",
}  # fmt: skip
_VIRTUAL: Final = "virtual machine"
_USUAL: Final = ("all cores", "local memory", "AVX-512", "1 GB", "gcc -O2")
"""Words of a sheet's condition that hold wherever bandwidth is measured."""
_CHOSEN: Final = r"NB \d+"
"""What whoever runs HPL tries out: the best for each library."""


def of_references(platform: Platform | None) -> Iterator[PublishedFigure]:
    """Yield the published figures of a platform's sheet that are of whole machines or sockets."""
    for one in platform.references if platform else ():
        metric = _METRICS.get(one.benchmark)
        if metric and one.kind == "measured" and one.of in ("node", "socket") and one.source != "unverified" and one.value.low:
            for name in one.cpus:
                yield _of_reference(one, metric, name, platform.memory_kind if platform else None)


def _of_reference(one: Reference, metric: Metric, name: str, kind: str | None) -> PublishedFigure:
    words = [part.strip() for part in re.split("[,;]", one.condition or "") if part.strip()]
    found: dict[str, Any] = {}
    others = []
    for word in words:
        if problem := re.fullmatch(r"N (\d+)", word):
            found["problem"] = int(problem[1])
        elif grid := re.fullmatch(r"(\d+) x (\d+) ranks", word):
            found["grid"] = f"{grid[1]}x{grid[2]}"
        elif word not in _USUAL and _VIRTUAL not in word and not re.fullmatch(_CHOSEN, word):
            others.append(word)
    return PublishedFigure(
        processor=name,
        of="node" if one.of == "node" else "socket",
        sockets=one.sockets or 1,
        metric=metric,
        value=one.value,
        threads=one.cores,
        numa=one.cut,
        memory=f"{kind}-{one.memory_speed / 1e6:.0f}" if one.memory_speed and kind else None,
        stores=one.stores,
        cloud="virtual" if _VIRTUAL in (one.condition or "") else "metal",
        kind="measured",
        grade="paper",
        source=one.source,
        others=tuple(others),
        **found,
    )
