"""What a race of launch lines found: its document, and what advisor bind takes from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from advisor.errors import BadInput, in_words
from advisor.jobs.placement import JobShape
from advisor.jobs.started.hosts import JobOptions
from advisor.jobs.started.plan_file import read_bytes
from advisor.machine.hosts.trust import Use, trusted
from advisor.machine.machine import Machine
from advisor.machine.units import plain
from advisor.machine.value import Value
from advisor.measure.measurement import Identity, machine_mismatch

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


LEARNED: Final = "learned.json"


def read_learned(file: Path) -> Learned:
    """Return what a race found: of a file, or of a race's folder."""
    name = str(file / LEARNED if file.is_dir() else file)
    trusted(name, Use.NAMED)
    try:
        return Learned.model_validate_json(read_bytes(name, "result of advisor tune"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or None
        raise BadInput(in_words(first["msg"])[:120], file=name, place=place, cure="give learned.json of advisor tune") from error


def with_learned(file: Path, command: Sequence[str], job: JobOptions, machine: Machine) -> tuple[JobOptions, str]:
    """Return a job placed as a race found best for this program on this kind of machine, and a note on it.

    What the user asks for himself stays as it is; of another program or kind of machine nothing is taken.
    """
    found = read_learned(file)
    program = Path(command[0]).name if command else ""
    about = f"advisor tune found {plain(found.name, 60)} on {plain(found.date, 20)}"
    other = machine_mismatch(found.machine.model_copy(update={"name": None}), machine)
    if program != found.program:
        return job, f"not used: {about}, for {plain(found.program, 60)} and not for {plain(program, 60)}"
    if other is not None:
        return job, f"not used: {about}, but it was {other}"
    wanted = found.job
    if job.strategy != "auto" or job.purpose or job.near:
        return job, f"not used: {about}; the options say where ranks go"
    taken = JobOptions(
        ranks=job.ranks or (None if job.ranks_per_node or job.ranks_per else wanted.ranks),
        ranks_per_node=job.ranks_per_node,
        ranks_per=job.ranks_per,
        threads=job.threads or wanted.threads,
        strategy=wanted.strategy,
        near=wanted.near,
        smt=wanted.smt,
        reserve=job.reserve,
        part=job.part,
    )
    why = f"{found.runs} runs, at least {100 * found.faster:.2g} % less time than {plain(found.baseline, 120)}"
    under = f"; then: {'; '.join(plain(each, 100) for each in found.conditions[:2])}" if found.conditions else ""
    return taken, f"{about}: {why}{under}"
