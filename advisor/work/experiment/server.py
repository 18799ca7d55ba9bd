"""A real server of an experiment: its BMC by the laws of docs/bios.md, its system over ssh."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from advisor.errors import BadInput, CannotWork
from advisor.host.files import write_file
from advisor.model.audit.bios_change import BiosPlan
from advisor.model.experiment import Program
from advisor.work import SILENT, Observer
from advisor.work.bmc.door import Door
from advisor.work.bmc.prove import prove_bios
from advisor.work.bmc.read import BiosReading, reading_of
from advisor.work.bmc.record import load_record, save_record
from advisor.work.bmc.restart import restart_server
from advisor.work.bmc.stage import stage_bios
from advisor.work.bmc.undo import undo_bios
from advisor.work.experiment.node import Node, RunOutcome

_WAIT = 900.0
"""Seconds for the BMC's job to end once the system answers."""


class RealServer:
    """One server."""

    def __init__(
        self,
        node: Node,
        door: Door,
        folder: Path,
        programs: Mapping[str, tuple[Program, str]],
        files: Mapping[str, str],
        *,
        no_slurm: bool = False,
        observer: Observer = SILENT,
    ) -> None:
        self.name, self.node, self._door, self._folder = node.name, node, door, folder
        self._programs, self._files, self._no_slurm, self._observer = programs, files, no_slurm, observer

    @property
    def home_record(self) -> Path:
        """Where the record lies with which advisor bios undo goes back, should all else be lost."""
        return home_of(self._folder, self.name)

    def plan_of(self, state: int) -> Path:
        """Where the plan of a state lies."""
        return self._folder / f"plan-{self.name}-{state}.yaml"

    def boot(self) -> str | None:
        """Return which boot runs."""
        return self.node.boot()

    def stage(self, state: int, unit: int) -> None:
        """Stage a state; what brings back the beginning says first what may wait from now on."""
        del unit
        plan = _plan(self.plan_of(state))
        record = load_record(self.home_record)
        kinds = {name: value for name, value in plan.values.items() if isinstance(value, bool | int | float | str)}
        save_record(self.home_record, record.model_copy(update={"asked": {**record.asked, **kinds}, "outcome": "staged"}))
        stage_bios(self.plan_of(state), self._door, self._free("stage"), lambda _: True)

    def _free(self, doing: str) -> Path:
        """Return the name of a record that is not there yet: none is ever written over."""
        numbers = range(1, 100_000)
        return next(path for each in numbers if not (path := self._folder / f"{doing}-{self.name}-{each}.json").exists())

    def restart(self) -> None:
        """Ask for a restart, once: of a drained node, where Slurm is."""
        restart_server(self._door, lambda _: True, node=self.name, no_slurm=self._no_slurm)

    def back(self) -> None:
        """Stage what was there in the beginning."""
        undo_bios(self.home_record, self._door, self._free("undo"), lambda _: True)

    def away(self) -> list[str]:
        """Return what is not as in the beginning, or waits."""
        from advisor.bmc.changes import open_jobs

        with self._door.open() as session:
            reading, jobs = reading_of(session), open_jobs(session)
        record = load_record(self.home_record)
        names = dict.fromkeys((*record.asked, *record.moves))
        differ = [name for name in names if not same(reading, name, reading.raw.applied.get(name), record.applied.get(name))]
        applied = [f"{name} is {reading.raw.applied.get(name)}, and was {record.applied.get(name)}" for name in differ]
        waits = [f"{name}={value} waits for a restart" for name, value in reading.waiting.items()]
        return [*applied, *waits, *(f"a job of the BMC waits or is not over: {job.state}" for job in jobs)]

    def proven(self, state: int, unit: int) -> dict[str, Any]:
        """Prove a state by the BMC and by a capture; return what else is not as in the beginning."""
        capture = self.node.capture(self._folder / f"capture-{self.name}-{unit}.tar.gz")
        proof = prove_bios(self.plan_of(state), self._door, str(capture), wait=_WAIT, observer=self._observer)
        if not proof.good:
            against = [line for each in proof.witnesses if each.says == "does not hold" for line in each.lines]
            raise CannotWork(f"{self.name}: not in the state that was staged: {'; '.join(against[:3])}")
        with self._door.open() as session:
            reading = reading_of(session)
        record, planned = load_record(self.home_record), _plan(self.plan_of(state)).values
        beside = {
            name: value
            for name, value in reading.bios.attributes.items()
            if name not in planned and name in record.applied and not same(reading, name, value, record.applied[name])
        }
        goes_back = {name: value for name, value in beside.items() if _may_be_written(reading, name)}
        save_record(self.home_record, record.model_copy(update={"moves": {**record.moves, **goes_back}}))
        return beside

    def read(self, setting: str) -> str:
        """Return what stands in a setting of the running kernel."""
        return self.node.read(self._files[setting])

    def write(self, setting: str, text: str) -> None:
        """Write a setting of the running kernel."""
        self.node.write(self._files[setting], text)

    def busy(self) -> str | None:
        """Wait until nobody else works there; return who still does."""
        return self.node.busy()

    def run(self, column: str) -> RunOutcome:
        """Run a program once."""
        return self.node.run(*self._programs[column])

    def now(self) -> float:
        """Return the seconds of a clock that only goes forward."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def home_of(folder: Path, name: str) -> Path:
    """Return where the record of a server's beginning lies."""
    return folder / f"home-{name}.json"


def _may_be_written(reading: BiosReading, name: str) -> bool:
    """Return whether the registry lets an attribute be written: what moved though no registry said so goes back as well."""
    known = reading.registry.attributes.get(name) if reading.registry else None
    return known is not None and not {"ReadOnly", "Immutable"} & set(known.flags)


def same(reading: BiosReading, name: str, one: Any, other: Any) -> bool:
    """Return whether two values of an attribute mean the same to this BIOS."""
    known = reading.registry.attributes.get(name) if reading.registry else None
    return bool(one == other or (known is not None and known.named(one) == known.named(other)))


def write_plan(place: Path, plan: BiosPlan) -> None:
    """Write a state's plan, so that it can be read, and staged by hand."""
    write_file(place, (json.dumps(plan.model_dump(mode="json"), indent=1) + "\n").encode(), private=True, durable=True)


def _plan(place: Path) -> BiosPlan:
    from advisor.work.bmc.plan import load_plan

    return load_plan(place)


def begin_home(place: Path, reading: BiosReading, plans: Sequence[BiosPlan], moves: Mapping[str, Any]) -> None:
    """Keep all that a BIOS is, and what may be changed of it: written once, before anything is staged."""
    from advisor.work.bmc.plan import ground_of
    from advisor.work.bmc.record import record_of

    asked = {name: value for plan in plans for name, value in plan.values.items()}
    record = record_of(reading, ground_of(plans[0], reading), asked, moves)
    if place.exists():
        raise BadInput("is there already", file=str(place), cure="name another --folder")
    save_record(place, record, new=True)
