"""Runs an experiment: looks whether it can be run, foresees, measures every restart, goes back; says how one stands."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pydantic import TypeAdapter

import advisor
from advisor.advice.judgement import judged
from advisor.advice.know.benchmarks import Bench, Known, expected
from advisor.advice.know.fixes import locate
from advisor.advice.know.vendors import match_vendor, settings, text_written
from advisor.advice.model.plan import BiosPlan, PlannedChange
from advisor.advice.model.sheets import Vendor
from advisor.bios.door import Door
from advisor.bios.experiment_page import answer_sentence
from advisor.bios.experiment_plan import (
    Cell,
    Cost,
    Design,
    ExperimentPlan,
    ExperimentResult,
    Figures,
    Published,
    State,
    Unit,
    can_prove,
    cells,
    columns_of,
    duration,
    least_p,
    needed,
    schedule,
    winner,
)
from advisor.bios.experiment_server import (
    Course,
    Driver,
    Journal,
    Node,
    RealServer,
    Server,
    begin_home,
    begun,
    home_of,
    in_turns,
    read_journal,
    resumed,
    write_plan,
)
from advisor.bios.plan import ground_of
from advisor.bios.reading import BiosReading, reading_of
from advisor.bios.stage import nothing_foreign, restart_server, stage_bios
from advisor.errors import AdvisorError, BadInput, CannotWork
from advisor.machine.hosts.files import FILE, Use, trusted, write_file
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.secrecy import WITHHELD
from advisor.measure.platform import match_platform

_BESIDE = 2
"""Published results of a program: gains over another setting first."""


@dataclass(frozen=True)
class ReadyNode:
    """A server that can take part: its states as plans of BIOS changes, and what is there now."""

    name: str
    door: Door
    plans: tuple[BiosPlan, ...]
    present: Mapping[str, str]
    """Setting -> its present value, in the words of the BIOS or of the kernel."""
    moves: Mapping[str, Any]
    reading: BiosReading | None
    capture: bytes
    """Of the system as it is before anything is changed."""
    scheduler: str = ""

    def keep(self, folder: Path) -> None:
        """Write what brings the server back, its plans, and what it was."""
        write_file(folder / f"before-{self.name}.tar.gz", self.capture, private=True)
        if self.reading is not None and self.plans:
            begin_home(home_of(folder, self.name), self.reading, self.plans, self.moves)
            for number, plan in enumerate(self.plans):
                write_plan(folder / f"plan-{self.name}-{number}.yaml", plan)


def has_firmware(plan: ExperimentPlan) -> bool:
    """Return whether its states differ in the BIOS at all."""
    known = settings()
    return any(known[name].where == "bios" for name in plan.every_state[0].set)


def kernel_of(plan: ExperimentPlan) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of the kernel's settings that are factors."""
    known, names = settings(), plan.every_state[0].set
    files = {name: file for name in names if (file := known[name].kernel_file) is not None}
    return files, {name: known[name].term for name in files}


def kernel_states(plan: ExperimentPlan) -> tuple[dict[str, str], ...]:
    """Return what is written to the kernel in each state."""
    files, _ = kernel_of(plan)
    return tuple({name: text_written(settings()[name], state.set[name]) for name in files} for state in plan.every_state)


def ready(plan: ExperimentPlan, door: Door, *, no_slurm: bool = False, observer: Observer = SILENT) -> ReadyNode:
    """Return a server that can take part in an experiment; refuse any other, in one line that says why."""
    name = door.name
    node = Node(name)
    observer.step("looking at", name)
    if node.boot() is None:
        raise CannotWork(f"{name}: no answer over ssh, which the experiment needs for measuring: ssh {name} true must work")
    with TemporaryDirectory(prefix="advisor-") as folder:
        place = node.capture(Path(folder) / "now.tar.gz")
        machine, captured = read_machine(str(place)), place.read_bytes()
        with door.open() as session:
            reading = reading_of(session)
        own, of_bmc = node.uuid(), (reading.owner.uuid or "").lower()
        if own is not None and of_bmc and own != of_bmc:
            raise CannotWork(
                f"{name} is not the server managed by {reading.bmc}: its UUID is {own}, but the BMC reports {of_bmc}"
            )
        present, files = dict[str, str](), kernel_of(plan)[0]
        for setting, file in files.items():
            present[setting] = node.read(file)
        plans = _plans(plan, reading, machine) if has_firmware(plan) else ()
        moves = dict[str, Any]()
        for state, each in zip(plan.every_state, plans, strict=False):
            moves |= _looked_at(each, state, door, Path(folder) / "plan.yaml")
        if plans:
            nothing_foreign(reading, {}, ground_of(plans[0], reading))
            present |= {change.attribute: str(change.now) for change in plans[0].changes}
    asked = restart_server(door, lambda _: None, node=name, no_slurm=no_slurm, drained=True)
    return ReadyNode(name, door, plans, present, moves, reading, captured, asked.slurm)


def _looked_at(plan: BiosPlan, state: State, door: Door, place: Path) -> dict[str, Any]:
    """Return what changes along with a state; refuse one that this BIOS does not take."""
    place.unlink(missing_ok=True)
    write_plan(place, plan)
    try:
        return {name: then for name, (_, then) in stage_bios(place, door, None, lambda _: None).moves.items()}
    except BadInput as error:
        raise BadInput(f"{door.name} does not accept the state {state.name}: {error.problem}", cure=error.cure) from error


def _plans(plan: ExperimentPlan, reading: BiosReading, machine: Machine) -> tuple[BiosPlan, ...]:
    vendor = match_vendor(machine.firmware)
    platform = match_platform(machine)
    if vendor is None:
        raise CannotWork(f"{reading.bmc}: its vendor is unknown, and so are the names of its BIOS settings")
    found = platform.id if platform else None
    return tuple(
        BiosPlan(
            format="advisor-bios-plan/1",
            machine=state.name,
            owner=reading.owner,
            registry=(reading.registry.id if reading.registry else None) or reading.bios.registry,
            vendor=vendor.id,
            platform=found,
            changes=tuple(
                _change(name, level, reading, vendor, found)
                for name, level in state.set.items()
                if settings()[name].where == "bios"
            ),
        )
        for state in plan.every_state
    )


def _change(name: str, level: Any, reading: BiosReading, vendor: Vendor, platform: str | None) -> PlannedChange:
    """Return a setting's attribute and its value on this server; refuse where either is not known, or what stands there now."""
    place = locate(vendor, platform, settings()[name], level, reading.bios)
    if place is None or place.attribute is None or place.vendor_value is None or not place.exact:
        raise CannotWork(f"{reading.bmc}: {vendor.name}'s name for {name}={level} on this server is unknown")
    now = reading.bios.attributes.get(place.attribute)
    if now is None:
        raise CannotWork(
            f"{reading.bmc}: the current value of {place.attribute} ({name}) is unknown, so it could not be restored"
        )
    for attribute, value, because in place.prerequisites:
        if reading.bios.attributes.get(attribute) not in (None, value):
            raise CannotWork(
                f"{reading.bmc}: {name} needs {attribute}={value}: {because}; set it first, or make it a factor with one level"
            )
    return PlannedChange(attribute=place.attribute, value=place.vendor_value, now=now)


def published_of(plan: ExperimentPlan, machine: Machine | None) -> tuple[Published, ...]:
    """Return what was published of the programs on such a platform, beside what the plan itself names."""
    platform = match_platform(machine) if machine else None
    found: list[Published] = []
    kinds = ("gain", "measured", "share", "spread")
    for _, program, _ in columns_of(plan):
        if program.benchmark is not None and machine is not None:
            wanted = tuple((program.benchmark, kind) for kind in kinds)
            known = Known(machine.cpu.model_name if machine.cpu else None, None)
            for each in expected(Bench("", "", wanted), platform, known)[:_BESIDE]:
                text = f"{each.what}: {each.value}" + (f" ({each.conditions})" if each.conditions else "")
                found.append(Published(text=text, source=each.ref))
    return tuple({(each.text, each.source): each for each in (*plan.published, *found)}.values())


def same_kind(nodes: Sequence[ReadyNode]) -> None:
    """Refuse servers that are not alike: as blocks of one experiment they would each measure something else."""
    first = nodes[0].reading
    for each in nodes[1:]:
        one, other = (reading.owner if reading else None for reading in (first, each.reading))
        if one and other and (one.model, one.bios_version) != (other.model, other.bios_version):
            told = f"{other.model} with BIOS {other.bios_version}; {nodes[0].name} is a {one.model} with BIOS {one.bios_version}"
            raise CannotWork(f"the servers are not identical: {each.name} is a {told}")


FORESEEN = "advisor-experiment-plan/1"
_RUN = 60.0
"""Seconds that a run is taken for where the plan does not say."""


@dataclass(frozen=True)
class Foreseen:
    """What an experiment would do."""

    plan: ExperimentPlan
    nodes: Sequence[tuple[str, Mapping[str, str], Mapping[str, Any], str]]
    """Name, what stands there now, what changes along, what the scheduler says."""
    restarts: int
    """Of all servers together, the way back among them."""
    seconds: float
    proves: bool
    least: float
    needed: int
    comparisons: int

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor experiment --dry-run --json``."""
        return {
            "schema": FORESEEN,
            "title": self.plan.title,
            "states": [each.model_dump(mode="json") for each in self.plan.every_state],
            "columns": [each.model_dump(mode="json") for each, _, _ in columns_of(self.plan)],
            "commands": [
                {"column": each.name, "run": program.run.replace("{place}", words)}
                for each, program, words in columns_of(self.plan)
            ],
            "nodes": [
                {"node": name, "now": dict(now), "moves": dict(moves), "scheduler": said} for name, now, moves, said in self.nodes
            ],
            "restarts": self.restarts,
            "seconds": round(self.seconds),
            "comparisons": self.comparisons,
            "proves": self.proves,
            "least_p": self.least,
            "restarts_needed": self.needed,
        }


def foreseen(plan: ExperimentPlan, nodes: Sequence[tuple[str, Mapping[str, str], Mapping[str, Any], str]]) -> Foreseen:
    """Return what a plan would do on some servers, or on one that nobody named yet."""
    many, states, columns = max(1, len(nodes)), len(plan.every_state), columns_of(plan)
    order = schedule(states, plan.restarts, many, plan.order, 0)
    runs = sum((program.takes * 60 if program.takes else _RUN) for _, program, _ in columns) * (plan.repeats + 1)
    comparisons = (states - 1) * len(columns)
    return Foreseen(
        plan,
        nodes,
        sum(len(each) + 1 for each in order),
        duration(order, plan.restart_minutes * 60, plan.settle + runs),
        can_prove(plan.restarts, many, plan.order, comparisons),
        min(1.0, least_p(plan.restarts, many, plan.order) * comparisons),
        needed(many, plan.order, comparisons),
        comparisons,
    )


def figures_of(journal: Journal) -> Figures:
    """Return the figures that count: of restarts that were measured to their end, without the first run."""
    found: dict[tuple[int, int, str], list[float]] = {}
    for number, each in enumerate(journal.head["nodes"]):
        at = journal.of(each["node"])
        for (unit, column, run), figure in sorted(at.runs.items()):
            if unit in at.done and run:
                found.setdefault((number, unit, column), []).extend([figure] if figure is not None else [])
    return found


class Beside(NamedTuple):
    """What stands beside the figures: what others published, what the findings of the server wanted."""

    published: Sequence[Published] = ()
    advice: Sequence[tuple[str, str, str]] = ()


def result_of(plan: ExperimentPlan, journal: Journal, order: Sequence[Sequence[Unit]], beside: Beside) -> ExperimentResult:
    """Return what an experiment showed."""
    columns = tuple(column for column, _, _ in columns_of(plan))
    states, nodes = plan.every_state, [str(each["node"]) for each in journal.head["nodes"]]
    units = [unit for each in order for unit in each]
    names = [state.name for state in states]
    design = Design(names, columns, units, plan.restarts, len(nodes), plan.order, plan.worth / 100)
    done = sum(len(journal.of(node).done) for node in nodes)
    complete = done == len(units)
    found = cells(design, figures_of(journal), complete=complete)
    best = winner(design, found)
    result = ExperimentResult(
        title=plan.title,
        nodes=tuple(nodes),
        states=states,
        columns=columns,
        cells=found,
        restarts=plan.restarts * len(nodes),
        done=done,
        planned=len(units),
        comparisons=design.comparisons,
        least_p=min(1.0, least_p(plan.restarts, len(nodes), plan.order) * design.comparisons),
        worth=plan.worth / 100,
        complete=complete,
        answer="",
        winner=best,
        published=tuple(beside.published),
        costs=costs_of(plan, found, beside.advice),
        notes=tuple(_notes(journal, nodes, units, names)),
        where={node: _where(journal, node) for node in nodes},
    )
    return result.but(answer=answer_sentence(result))


def _where(journal: Journal, node: str) -> str:
    at = journal.of(node)
    if at.home is not None:
        return at.home
    return "not yet back" if at.touched or at.kernel or at.restart else "untouched"


_EVENTS = {"void": "a restart and its measurement were repeated", "busy": "the server was not idle; its figures may be low"}


def _notes(journal: Journal, nodes: Sequence[str], units: Sequence[Unit], names: Sequence[str]) -> list[str]:
    found = list[str]()
    for number, node in enumerate(nodes):
        at = journal.of(node)
        state_of = {unit.number: names[unit.state] for unit in units if unit.node == number}
        beside: dict[tuple[str, str], int] = {}
        for unit, values in at.beside.items():
            for name, value in values.items():
                beside[state_of.get(unit, "?"), f"{name}={value}"] = (
                    beside.get((state_of.get(unit, "?"), f"{name}={value}"), 0) + 1
                )
        found += [
            f"{node}: {state} also had {what}, which is not a factor ({count} restarts)"
            for (state, what), count in beside.items()
        ]
        found += [f"{node}: {at.failed}"] if at.failed else []
        found += [
            f"{node}: {column} produced no figure: {why}" for column, why in {key[1]: why for key, why in at.why.items()}.items()
        ]
        found += [
            f"{node}: {_EVENTS[each['event']]}: {each['why']}"
            for each in journal.events
            if each["node"] == node and each["event"] in _EVENTS
        ]
    return found


Advice = Sequence[tuple[str, str, str]]
"""Rule, setting and value that the findings of a server wanted before."""


def advice_of(machine: Machine) -> Advice:
    """Return what the findings of a server want to be set."""
    audit = judged(machine).audit
    return [(each.id, want.setting, want.value) for each in audit.found for want in each.wants if want.value is not None]


def costs_of(plan: ExperimentPlan, found: Sequence[Cell], advice: Advice) -> tuple[Cost, ...]:
    """Return what findings' advice brought here: of states that differ from the first in that one setting alone."""
    first = plan.every_state[0].set
    changed = {
        each.name: {name: str(value) for name, value in each.set.items() if value != first[name]} for each in plan.every_state
    }
    return tuple(
        Cost(
            rule=rule,
            setting=setting,
            value=value,
            state=cell.state,
            column=cell.column,
            ratio=cell.ratio,
            proven=cell.says in ("better", "worse", "no difference"),
        )
        for rule, setting, value in dict.fromkeys(advice)
        for cell in found
        if changed[cell.state] == {setting: value} and cell.ratio is not None
    )


_UNSET = "nothing was changed: not confirmed"


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
        raise CannotWork("no server given; give --bmc HOST --node NAME, or -w LIST --bmc-name 'bmc-%h', or --hostfile FILE")
    trusted(asked.folder, Use.RUNS)
    if (asked.folder / FILE).exists():
        raise CannotWork(
            f"{asked.folder} contains an experiment; continue it with --resume {asked.folder}, or name another --folder"
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
        if not only_back and WITHHELD in str(journal.head["plan"].get("measure")):
            cure = f"restore with advisor experiment abort {folder}; credentials are best passed in the environment or a file"
            raise BadInput(
                "a program's command line contains a credential, which the journal must not store",
                file=str(folder / FILE),
                cure=cure,
            )
        programs = {column.name: (program, words) for column, program, words in columns_of(plan)}
        files, no_slurm = kernel_of(plan)[0], bool(journal.head.get("no_slurm"))
        servers = [
            RealServer(Node(each), door, folder, programs, files, no_slurm=no_slurm, observer=observer)
            for each, door in _doors(journal, logged_in(doors))
        ]
        return Runner(plan, journal, servers, order, observer).run(only_back=only_back)
    finally:
        journal.close()


def doors_of(folder: Path, base: Door) -> tuple[Door, ...]:
    """Return the doors to the BMCs of an experiment."""
    journal = read_journal(folder, Use.RUNS)  # it says whom a password is sent to
    course_of(journal, folder)  # refuses a head that is damaged
    return tuple(replace(base, bmc=each["bmc"], node=each["node"]) for each in journal.head["nodes"])


def _doors(journal: Journal, doors: Sequence[Door]) -> Iterator[tuple[str, Door]]:
    names = {door.name: door for door in doors}
    for each in journal.head["nodes"]:
        if each["node"] not in names:
            raise CannotWork(f"{each['node']} belongs to the experiment, but no BMC is given for it")
        yield each["node"], names[each["node"]]


_SERVERS = TypeAdapter(tuple[dict[str, str], ...])


def course_of(journal: Journal, folder: Path) -> tuple[ExperimentPlan, tuple[tuple[Unit, ...], ...]]:
    """Return the plan of a journal, and the order of its restarts: the same seed gives the same."""
    try:
        plan = ExperimentPlan.model_validate(journal.head["plan"])
        columns_of(plan)  # every program stands there whole
        seed = int(journal.head["seed"])
        nodes = [(each["node"], each["bmc"]) for each in _SERVERS.validate_python(journal.head["nodes"])]
    except (KeyError, TypeError, ValueError, OverflowError, AssertionError) as error:
        raise BadInput("the first record of the experiment is damaged", file=str(folder / FILE), place="line 1") from error
    return plan, schedule(len(plan.every_state), plan.restarts, len(nodes), plan.order, seed)


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
                "restoring the original settings; another Ctrl-C stops this: then restore them with advisor experiment abort"
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
