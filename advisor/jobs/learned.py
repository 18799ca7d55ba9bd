"""What a race found best, as a file keeps it, and a job that is placed so."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from advisor.errors import BadInput, in_words
from advisor.jobs.race_result import Learned
from advisor.jobs.started.hosts import JobOptions
from advisor.jobs.started.plan_file import read_bytes
from advisor.machine.hosts.trust import Use, trusted
from advisor.machine.machine import Machine
from advisor.machine.units import plain
from advisor.measure.measurement import machine_mismatch

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
