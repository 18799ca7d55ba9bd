"""What a race of launch lines has shown: the document of ``advisor tune --json``, and what advisor bind may take from it."""

from typing import Annotated, Final, Literal

from pydantic import Field

from advisor.jobs.placement import JobShape
from advisor.machine.value import Value
from advisor.measure.measurement import Identity

SCHEMA: Final = "advisor-tune/1"
LEARNED_SCHEMA: Final = "advisor-learned/1"


class RacedLine(Value):
    """One candidate of a race."""

    name: str
    line: str = Field(description="the command, quoted for a shell")
    median: float | None = Field(description="of its figures: seconds, or what --metric read; null without a run that counts")
    low: float | None = Field(
        description="lower end of the interval of the median, by the paired test; null where the runs are too few for one"
    )
    high: float | None = Field(description="upper end of it")
    runs: int = Field(description="runs that count; the warm-up does not")
    dropped_after: int | None = Field(description="blocks after which it ran no more; null where it ran to the end")


class RaceResult(Value):
    """The result of a race, as it is printed with --json."""

    schema_: Annotated[Literal["advisor-tune/1"], Field(alias="schema")] = SCHEMA
    candidates: tuple[RacedLine, ...]
    winner: str | None = Field(description="the line that is proven faster than the baseline; null where none is")
    baseline: str = Field(description="the line that all are held against: the user's own, or the launcher's default")
    worth: float = Field(description="a gain below this part is no gain")
    runs: int = Field(description="all runs, those of the warm-up too")
    seconds: float


class Learned(Value):
    """What a race found for one program on one kind of machine."""

    schema_: Annotated[Literal["advisor-learned/1"], Field(alias="schema")] = LEARNED_SCHEMA
    program: str = Field(description="the name of the program's file")
    machine: Identity
    job: JobShape
    name: str
    faster: float = Field(description="by so much of the baseline's time at least; the lower end, for winners are flattered")
    baseline: str
    runs: int
    date: str
    conditions: tuple[str, ...] = Field(default=(), description="what has to be known of the machine when it ran")
