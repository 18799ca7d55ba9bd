"""One thing measured before a change and after it: what both gave, and whether chance alone explains the difference.

Repeats of one start share all that the start happened to get, so what tells are several starts of each setting.
"""

from typing import Final, Literal

from pydantic import Field

from advisor.model.measurement import Unit
from advisor.model.value import Value

SURE: Final = 0.01
"""A p above it shows nothing: of some sizes and adapters at once, one in a hundred is seldom met by chance."""
NOISE: Final = 0.02
"""A smaller part is no difference, however sure: two runs with nothing changed lie as far apart."""

Said = Literal["faster", "slower", "no difference shown"]


class Side(Value):
    """One of the two settings, of one thing."""

    number: int = Field(description="of starts or repeats")
    median: float = Field(description="in the unit of the row")
    low: float = Field(description="the least of them")
    high: float = Field(description="the most of them")


class Contrast(Value):
    """One thing that was measured under both settings."""

    hca: str | None = Field(default=None, description="the adapter; None where the MPI chose")
    what: Literal["message rate", "bandwidth"]
    bytes: int = Field(description="size of a message")
    pairs: int = Field(description="pairs of ranks that sent at once")
    unit: Unit
    before: Side
    after: Side
    ratio: float = Field(description="median after through median before")
    p: float = Field(description="two-sided, rank-sum test of Mann and Whitney over all starts or repeats")
    says: Said = Field(description=f"faster or slower where p is at most {SURE} and the medians differ by {NOISE} or more")


class BeforeAfter(Value):
    """The same experiment under two settings, compared."""

    hosts: str = Field(description="between which hosts: a,b")
    launcher: str
    before: str = Field(description="when the first run of it began")
    after: str = Field(description="when the first run of it began")
    of: Literal["starts", "repeats"] = Field(
        description="what was compared: medians of several starts of each setting, or the repeats of one start"
    )
    rows: tuple[Contrast, ...]
    warnings: tuple[str, ...] = Field(default=(), description="what speaks against believing it")
