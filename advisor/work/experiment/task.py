"""Runs an experiment, goes on with one, takes one back, says how one stands."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

import advisor
from advisor.errors import AdvisorError, BadInput, CannotWork
from advisor.host.journal import FILE
from advisor.model.experiment import ExperimentPlan, ExperimentResult
from advisor.tune.experiment import Unit, schedule
from advisor.work import SILENT, Observer
from advisor.work.bmc.door import Door
from advisor.work.experiment.drive import Course, Driver, Server, in_turns
from advisor.work.experiment.journal import Journal, begun, read_journal, resumed
from advisor.work.experiment.node import Node
from advisor.work.experiment.plan import columns_of
from advisor.work.experiment.prepare import ReadyNode, has_firmware, kernel_of, kernel_states, published_of, ready, same_kind
from advisor.work.experiment.result import Beside, Foreseen, advice_of, foreseen, result_of
from advisor.work.experiment.server import RealServer
from advisor.work.machine import read_machine

_UNSET: Final = "nothing was changed, for nobody said yes"


@dataclass(frozen=True)
class ExperimentOptions:
    """How an experiment is run."""

    doors: Sequence[Door]
    folder: Path
    keep_winner: bool = False
    no_slurm: bool = False
    seed: int | None = None


@dataclass(frozen=True)
class Ran:
    """An experiment as it stands: what it showed, and how each server was left."""

    result: ExperimentResult
    folder: Path
    wrong: tuple[str, ...] = ()
    interrupted: bool = False

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor experiment --json``."""
        return self.result.model_dump(mode="json", by_alias=True)


def logged_in(doors: Sequence[Door]) -> tuple[Door, ...]:
    """Return doors that know who logs in: a person or a file descriptor is asked once, and an experiment opens them often."""
    found: list[Door] = []
    for door in doors:
        login = (found[0] if found else door).login(door.bmc)
        found.append(replace(door, user=None, password_fd=None, login_file=None, given=(login.user, login.password)))
    return tuple(found)


def look(
    plan: ExperimentPlan, doors: Sequence[Door], *, no_slurm: bool = False, observer: Observer = SILENT
) -> tuple[Foreseen, list[ReadyNode]]:
    """Return what an experiment would do; without servers what it would do on one. Changes nothing."""
    nodes = [ready(plan, door, no_slurm=no_slurm, observer=observer) for door in logged_in(doors)]
    observer.end()
    if nodes:
        same_kind(nodes)
    return foreseen(plan, [(each.name, each.present, each.moves, each.scheduler) for each in nodes]), nodes


def run_experiment(
    plan: ExperimentPlan, asked: ExperimentOptions, confirm: Callable[[Foreseen], bool], observer: Observer = SILENT
) -> Ran:
    """Run an experiment: look, ask, measure every restart, go back."""
    if not asked.doors:
        raise CannotWork("which server is not said; give --bmc HOST --node NAME, or -w LIST --bmc-name 'bmc-%h', or --hosts FILE")
    if (asked.folder / FILE).exists():
        raise CannotWork(
            f"{asked.folder} holds an experiment; go on with it by --resume {asked.folder}, or name another --folder"
        )
    about, nodes = look(plan, asked.doors, no_slurm=asked.no_slurm, observer=observer)
    if not confirm(about):
        raise CannotWork(_UNSET)
    for each in nodes:
        _try_programs(plan, each.name, observer)
    head = {
        "advisor": advisor.__version__,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "plan": plan.model_dump(mode="json", exclude_defaults=True),
        "seed": asked.seed if asked.seed is not None else secrets.randbits(32),
        "nodes": [{"node": each.name, "bmc": each.door.bmc} for each in nodes],
        "keep_winner": asked.keep_winner,
        "no_slurm": asked.no_slurm,
    }
    try:
        asked.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CannotWork(f"{asked.folder}: {(error.strerror or 'cannot be made').lower()}; name another --folder") from error
    for each in nodes:
        each.keep(asked.folder)
    begun(asked.folder, head).close()
    return resume_experiment(asked.folder, [each.door for each in nodes], observer=observer)


def _try_programs(plan: ExperimentPlan, name: str, observer: Observer) -> None:
    """Run each program once as the server stands: what gives no figure now would give none after any restart."""
    node, gave, why = Node(name), set[str](), dict[str, str]()
    for column, program, words in columns_of(plan):
        if program.name in gave:
            continue  # a placement of one state need not exist in this one
        observer.step(name, f"trying {column.name}, before anything is changed")
        ran = node.run(program, words)
        if ran.why is None:
            gave.add(program.name)
        else:
            why.setdefault(program.name, ran.why)
    observer.end()
    if bad := [f"{program}: {said}" for program, said in why.items() if program not in gave]:
        raise CannotWork(f"{name}: {'; '.join(bad)}; nothing was changed")


def resume_experiment(folder: Path, doors: Sequence[Door], *, only_back: bool = False, observer: Observer = SILENT) -> Ran:
    """Go on with an experiment from where its journal ends; with ``only_back`` go back to where it began."""
    journal = resumed(folder)
    try:
        plan, order = course_of(journal, folder)
        servers = [_server(each, door, plan, journal, observer) for each, door in _doors(journal, logged_in(doors))]
        return Runner(plan, journal, servers, order, observer).run(only_back=only_back)
    finally:
        journal.close()


def doors_of(folder: Path, base: Door) -> tuple[Door, ...]:
    """Return the doors to the BMCs of an experiment."""
    head = read_journal(folder).head
    return tuple(replace(base, bmc=str(each["bmc"]), node=str(each["node"])) for each in head.get("nodes", ()))


def _doors(journal: Journal, doors: Sequence[Door]) -> Iterator[tuple[str, Door]]:
    names = {door.name: door for door in doors}
    for each in journal.head["nodes"]:
        if each["node"] not in names:
            raise CannotWork(f"{each['node']} belongs to the experiment, and its BMC is not named")
        yield each["node"], names[each["node"]]


def course_of(journal: Journal, folder: Path) -> tuple[ExperimentPlan, tuple[tuple[Unit, ...], ...]]:
    """Return the plan of a journal, and the order of its restarts: the same seed gives the same."""
    try:
        plan = ExperimentPlan.model_validate(journal.head["plan"])
        nodes, seed = len(journal.head["nodes"]), int(journal.head["seed"])
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise BadInput("the head of the experiment is damaged", file=str(folder / FILE), place="line 1") from error
    return plan, schedule(len(plan.every_state), plan.restarts, nodes, plan.order, seed)


def _server(name: str, door: Door, plan: ExperimentPlan, journal: Journal, observer: Observer) -> Server:
    programs = {column.name: (program, words) for column, program, words in columns_of(plan)}
    no_slurm = bool(journal.head.get("no_slurm"))
    folder, files = journal.path.parent, kernel_of(plan)[0]
    return RealServer(Node(name), door, folder, programs, files, no_slurm=no_slurm, observer=observer)


class Runner:
    """Drives all servers of an experiment, and brings each back, whatever went wrong."""

    def __init__(
        self,
        plan: ExperimentPlan,
        journal: Journal,
        servers: Sequence[Server],
        order: Sequence[Sequence[Unit]],
        observer: Observer = SILENT,
    ) -> None:
        self._plan, self._journal, self._order, self._observer = plan, journal, order, observer
        self._folder = journal.path.parent
        columns = tuple(column.name for column, _, _ in columns_of(plan))
        course = Course(columns, plan.repeats, plan.settle, plan.restart_minutes * 60, kernel_states(plan), has_firmware(plan))
        self._drivers = [Driver(each, journal, course, observer) for each in servers]

    def run(self, *, only_back: bool = False) -> Ran:
        """Measure what is left, then go back; Ctrl-C goes back at once, a second one leaves it as it is."""
        wrong: list[str] = []
        interrupted = False
        try:
            if not only_back:
                wrong += self._measured()
        except KeyboardInterrupt:
            interrupted = True
            self._observer.say(
                "going back to where it began; Ctrl-C again leaves the servers as they are, for advisor experiment abort"
            )
        wrong += self._back(self._kept() if not (wrong or interrupted or only_back) else None)
        self._observer.end()
        return Ran(
            result_of(self._plan, self._journal, self._order, beside_of(self._plan, self._folder)),
            self._folder,
            tuple(wrong),
            interrupted,
        )

    def _measured(self) -> list[str]:
        for each in self._drivers:
            if each.at.failed is not None:
                self._journal.add(each.server.name, "resumed")
        found = in_turns([each.through(units) for each, units in zip(self._drivers, self._order, strict=True)])
        for driver, error in zip(self._drivers, found, strict=True):
            if error is not None:
                self._journal.add(driver.server.name, "failed", why=str(error))
        return [str(error) for error in found if error is not None]

    def _kept(self) -> int | None:
        """Return the state to stay in, where its keeping was asked for and it is proven better."""
        if not self._journal.head.get("keep_winner"):
            return None
        found = result_of(self._plan, self._journal, self._order, Beside()).winner
        return next((at for at, each in enumerate(self._plan.every_state) if each.name == found), None)

    def _back(self, kept: int | None) -> list[str]:
        unit = max((len(units) for units in self._order), default=0)
        found = in_turns([each.home() if kept is None else each.keep(kept, unit) for each in self._drivers])
        if kept is not None and any(found):
            return [*(str(each) for each in found if each), *self._back(None)]
        for driver, error in zip(self._drivers, found, strict=True):
            if error is not None:
                self._journal.add(driver.server.name, "failed", why=f"not back yet: {error}")
        return [str(each) for each in found if each is not None]


def beside_of(plan: ExperimentPlan, folder: Path) -> Beside:
    """Return what stands beside the figures, by the capture that was taken before anything was changed."""
    capture = next(iter(sorted(folder.glob("before-*.tar.gz"))), None)
    try:
        machine = read_machine(str(capture)) if capture else None
        return Beside(published_of(plan, machine), advice_of(machine) if machine else ())
    except AdvisorError:
        return Beside(plan.published)


def experiment_status(folder: Path) -> Ran:
    """Return how an experiment stands, and what it has shown so far. Looks at its journal alone."""
    journal = read_journal(folder)
    plan, order = course_of(journal, folder)
    wrong = [why for each in journal.head["nodes"] if (why := journal.of(each["node"]).failed)]
    return Ran(result_of(plan, journal, order, beside_of(plan, folder)), folder, tuple(wrong))
