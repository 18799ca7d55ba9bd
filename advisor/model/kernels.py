"""What a measuring kernel says of itself: its name, what it measures, in which units, at which cost."""

from typing import Annotated, Final, Literal

from pydantic import Field

from advisor.model.value import Value

NAME: Final = r"^[a-z][a-z0-9_]{0,30}$"
UNIT: Final = r"^(seconds|hertz|[a-z][a-z-]{0,30}/s)$"
"""Seconds are better when fewer, hertz are a clock, and something a second is better when more."""

KernelName = Annotated[str, Field(pattern=NAME)]
"""Of a file in kernels/: membw, memlat, gups."""
Unit = Annotated[str, Field(pattern=UNIT)]
KernelPart = Literal["core", "l3", "numa", "socket", "machine"]
"""A part of one machine, on which a kernel can run."""


class Variant(Value):
    """One thing that a kernel can measure, and what one iteration of it costs; None where arguments decide."""

    name: str = Field(description="triad-nt")
    unit: Unit
    arrays: int = Field(description="that it walks in memory; 0 where it has none to speak of")
    read: int | None = Field(description="bytes")
    written: int | None = Field(description="bytes, without the read that a store through the cache makes first")
    flops: int | None = None
    iteration: str = Field(description="what one iteration does: a = b + s*c")

    @property
    def title(self) -> str:
        """What it is called in tables: the iteration up to a comma."""
        return self.iteration.partition(",")[0]


class KernelSheet(Value):
    """What the header comment of a kernel says."""

    name: KernelName
    summary: str = Field(description="what it measures, in a few words")
    arguments: tuple[str, ...] = Field(default=(), description="those that are its own: --bytes SIZE")
    parts: tuple[KernelPart, ...] = Field(default=(), description="on which parts of a machine it runs; none of a kernel of MPI")
    mpi: bool = False
    variants: tuple[Variant, ...]

    def variant(self, name: str) -> Variant | None:
        """Return what it says of a variant."""
        return next((each for each in self.variants if each.name == name), None)

    def takes(self, argument: str) -> bool:
        """Return whether it has an argument, such as ``--bytes``."""
        return any(each.split()[0] == argument for each in self.arguments)
