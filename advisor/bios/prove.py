"""Proves a plan by three witnesses: the BMC, the operating system's own view, and what was measured before and after."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from advisor.advice.judgement import judged
from advisor.advice.know.fixes import attributes_named, entries_of, neutral_values
from advisor.advice.model.plan import BiosPlan
from advisor.advice.model.sheets import Neutral
from advisor.advice.plan.draft import FirmwareState
from advisor.advice.whatif import before_after
from advisor.bios.door import Door
from advisor.bios.plan import ground_of, load_plan, moves_of
from advisor.bios.reading import BiosReading, Job, job_at, open_jobs, reading_of
from advisor.bios.stage import load_record
from advisor.errors import AdvisorError
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.measure.measurement import BeforeAfter

if TYPE_CHECKING:
    from advisor.bios.session import Session


Says = Literal["holds", "does not hold", "not asked", "cannot tell"]
_BETWEEN = 5.0
"""Seconds between two looks at a job."""


@dataclass(frozen=True)
class Witness:
    """One witness, what it says, and why."""

    name: str
    says: Says
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Proof:
    """Whether what was planned is so."""

    bmc: str
    witnesses: tuple[Witness, ...]
    compared: BeforeAfter | None = None

    @property
    def word(self) -> str:
        """Return it in a word or two, by which many are folded."""
        against = [each.name for each in self.witnesses if each.says == "does not hold"]
        spoke = [each.name for each in self.witnesses if each.says == "holds"]
        by = f"{spoke[0]} only" if len(spoke) == 1 else " and ".join(spoke)
        if self.good:
            return f"proven by {by}"
        return f"not in effect, according to {' and '.join(against)}" if against else "not in effect: no evidence for it"

    @property
    def good(self) -> bool:
        """Return whether no witness speaks against it, and the BMC for it."""
        return self.witnesses[0].says == "holds" and not any(each.says == "does not hold" for each in self.witnesses)

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios prove --json``."""
        said = [{"witness": each.name, "says": each.says, "why": list(each.lines)} for each in self.witnesses]
        compared = self.compared.model_dump(mode="json") if self.compared else None
        return {"schema": "advisor-bios-proof/1", "bmc": self.bmc, "proven": self.good, "witnesses": said, "measured": compared}


def prove_bios(
    plan: Path,
    door: Door,
    source: str | None = None,
    *,
    measured: tuple[Path, Path] | None = None,
    record: Path | None = None,
    wait: float = 0,
    observer: Observer = SILENT,
) -> Proof:
    """Return whether a plan is in effect, by its BMC, by the machine ``source`` as it is now, and by runs before and after."""
    wanted = load_plan(plan)
    with door.open() as session:
        jobs = _ended_jobs(session, record, wait, observer)
        reading = reading_of(session)
    ground = ground_of(wanted, reading)
    bmc = _of_bmc(wanted, reading, ground, jobs)
    system = _of_system(wanted, reading, ground, source, observer)
    figures, compared = _of_figures(measured)
    return Proof(reading.bmc, (bmc, system, figures), compared)


def _ended_jobs(session: "Session", record: Path | None, wait: float, observer: Observer) -> tuple[Job, ...]:
    """Return the jobs that apply it, once they have ended or the time to wait is over: /Bios may show new values before."""
    own, until = load_record(record).job if record else None, time.monotonic() + wait
    while True:
        mine = job_at(session, own) if own else None
        found = {job.link: job for job in (*open_jobs(session), *([mine] if mine else ()))}
        if all(job.ended for job in found.values()) or time.monotonic() >= until:
            return tuple(found.values())
        observer.step("waiting for the BMC's job", next(job.state for job in found.values() if not job.ended))
        session.pause(min(_BETWEEN, max(0.0, until - time.monotonic())))


def _of_bmc(plan: BiosPlan, reading: BiosReading, ground: FirmwareState, jobs: tuple[Job, ...]) -> Witness:
    """Return what the BMC says: every attribute applied, nothing waits, its job ended well, and it is the same server."""
    wrong = list(_against(plan, reading, ground, jobs))
    if wrong:
        said = (f"message on the last applied settings: {text}" for text in reading.raw.last_messages)
        return Witness("the BMC", "does not hold", (*wrong, *said))
    shown = [f"{name}={value} is applied" for name, value in plan.values.items()]
    return Witness("the BMC", "holds", (*shown, "nothing is pending for the next restart"))


def _against(plan: BiosPlan, reading: BiosReading, ground: FirmwareState, jobs: tuple[Job, ...]) -> Iterator[str]:
    then, here = plan.owner, reading.owner
    if then.uuid is not None and then.uuid.lower() != (here.uuid or "").lower():
        yield f"this is another server: UUID {here.uuid or 'not reported'}, but the plan is for {then.uuid}"
    if then.bios_version is not None and then.bios_version != here.bios_version:
        yield f"different BIOS version: {here.bios_version or 'not reported'}, but the plan is for {then.bios_version}"
    for job in jobs:
        if not job.ended:
            yield f"its job is still running: {job.state} ({job.link})"
        elif not job.good:
            yield f"its job ended {job.state}: {'; '.join(job.messages) or 'no reason given'}"
    for name, value in plan.values.items():
        now = reading.raw.applied.get(name)
        if name not in reading.raw.applied:
            yield f"{name} no longer exists"
        elif not ground.same(name, now, value):
            yield f"{name} is {now}, but the plan has {value}"
    if reading.waiting:
        few = ", ".join(f"{name}={value}" for name, value in list(reading.waiting.items())[:5])
        yield f"{few}: the change waits for the next restart"


def _of_system(plan: BiosPlan, reading: BiosReading, ground: FirmwareState, source: str | None, observer: Observer) -> Witness:
    """Return what the operating system shows of the settings that the plan changes."""
    name = "the operating system"
    wanted = _neutral(plan, reading, ground)
    if source is None:
        return Witness(name, "not asked", ("give --from CAPTURE, a capture taken after the restart",))

    standings = {each.name: each for each in judged(read_machine(source, observer)).case.standings or ()}
    lines, says = [], set[Says]()
    for setting, value in wanted.items():
        standing = standings.get(setting)
        seen = standing.seen if standing else None
        if seen is None:
            lines.append(f"{setting}: not reported by the operating system")
        elif seen == str(value):
            says.add("holds")
            lines.append(f"{setting} is {seen}")
        else:
            says.add("does not hold")
            lines.append(f"{setting} is {seen}, but the plan sets it to {value}")
    said: Says = "does not hold" if "does not hold" in says else "holds" if says else "cannot tell"
    return Witness(name, said, tuple(lines) or ("the operating system reports none of these attributes",))


def _neutral(plan: BiosPlan, reading: BiosReading, ground: FirmwareState) -> dict[str, Neutral]:
    """Return the settings that the plan decides, and what moves along with it, in neutral words."""
    along = {name: then for name, (_, then) in moves_of(plan.values, ground).items() if then is not None}
    planned = {**along, **plan.values}
    there = reading.bios.but(attributes={**reading.bios.attributes, **planned}, also={})
    words = neutral_values(ground.vendor, ground.platform, there)
    names = tuple(planned)
    return {
        setting: value
        for setting, value in words.items()
        if any(attributes_named(entry, names) for entry in entries_of(ground.vendor, ground.platform, setting))
    }


def _of_figures(measured: tuple[Path, Path] | None) -> tuple[Witness, BeforeAfter | None]:
    """Return what was measured before and after, with its p."""
    name = "what was measured"
    if measured is None:
        return Witness(name, "not asked", ("give --before FILE and --after FILE, both written by advisor measure",)), None

    try:
        found = before_after(*measured)
    except AdvisorError as error:
        return Witness(name, "cannot tell", (str(error),)), None
    lines = [f"{row.kernel or row.what}: {row.says}, ratio {row.ratio:.3f}, p {row.p:.2g}" for row in found.rows]
    said = {row.says for row in found.rows}
    one_way: dict[frozenset[str], Says] = {frozenset({"faster"}): "holds", frozenset({"slower"}): "does not hold"}
    says = one_way.get(frozenset(said & {"faster", "slower"}), "cannot tell")  # faster here and slower there is for a person
    return Witness(name, says, tuple(lines)), found
