"""What other benchmark programs printed: figures in base units, with what the file says of them and what it does not."""

import re
from typing import Final, Literal

from pydantic import Field

from advisor.machine.value import Value
from advisor.measure.measurement import Unit

HPL_ROW: Final = re.compile(
    r"^\s*(?P<tv>W[RC]\w*)\s+(?P<n>\d+)\s+(?P<nb>\d+)\s+(?P<p>\d+)\s+(?P<q>\d+)\s+(?P<seconds>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?)\s+"
    r"(?P<gflops>\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?|-?(?:nan|inf))(?:\s+\(?\s*[\d.eE+]+\)?)?\s*$",
    re.MULTILINE,
)
"""A row of any HPL: T/V, N, NB, P, Q, seconds, GFLOP/s, and of NVIDIA's the rate of each GPU."""
HPL_CHECK: Final = re.compile(r"^\s*\|\|Ax-b\|\|.*=\s*(?P<value>\S+?)\s*\.+\s*(?P<verdict>PASSED|FAILED)", re.MULTILINE)
"""The line below a row: the residual of its answer, and whether that is small enough."""

Statistic = Literal["one", "best", "mean", "median", "sum"]
"""What the program made of its repeats: the figure of one run, the best, the mean or the median of several."""
Scope = Literal[
    "all threads", "one thread", "each process", "one process", "pair", "all pairs", "all ranks", "all GPUs", "node to node",
    "CPU to CPU",
]  # fmt: skip
"""What a figure is of."""


class ImportedFigure(Value):
    """One number of a table."""

    what: str = Field(description="triad, latency, bandwidth, both ways, message rate, hpl, ...")
    unit: Unit
    value: float
    statistic: Statistic = "one"
    scope: Scope
    size: int | None = Field(default=None, description="bytes of a message or of the working set")
    at: tuple[int, int] | None = Field(
        default=None, description="NUMA node of the cores and of the memory; of CPU to CPU the two positions"
    )


class ImportedRun(Value):
    """One run of one program."""

    format: str = Field(description="the reader: hpl, osu, stream, ...")
    tool: str = Field(description="OSU Micro-Benchmarks, MPI Latency Test")
    version: str | None = Field(default=None, description="as the program says it; None where it does not")
    line: int = Field(description="at which it begins in its file")
    figures: tuple[ImportedFigure, ...] = ()
    conditions: dict[str, str | int | float] = Field(default_factory=dict, description="what the file says: threads, N, device")
    cpus: tuple[int, ...] = Field(default=(), description="on which it ran, where the file says so")
    not_said: tuple[str, ...] = Field(default=(), description="what a verdict needs and the file does not say: host, binding")
    notes: tuple[str, ...] = Field(default=(), description="what to keep in mind: no residual was checked")
    refused: str | None = Field(default=None, description="why none of it is believed")

    @property
    def title(self) -> str:
        """The program, with its version where it says one: STREAM 5.10."""
        return f"{self.tool} {self.version}" if self.version else self.tool
