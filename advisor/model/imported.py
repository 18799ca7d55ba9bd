"""What other benchmark programs printed: figures in base units, with what the file says of them and what it does not."""

from typing import Literal

from pydantic import Field

from advisor.model.measurement import Unit
from advisor.model.value import Value

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
