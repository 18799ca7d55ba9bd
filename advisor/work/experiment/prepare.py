"""Looks whether an experiment can be run: every state legal, every present value known, nothing staged. Changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from advisor.errors import BadInput, CannotWork
from advisor.host.files import write_file
from advisor.know.attributes import locate
from advisor.know.platforms import match_platform
from advisor.know.settings import settings, text_written
from advisor.know.vendors import match_vendor
from advisor.model.audit.bios_change import BiosPlan, PlannedChange
from advisor.model.experiment import ExperimentPlan, Published, State
from advisor.work import SILENT, Observer
from advisor.work.bmc.door import Door
from advisor.work.bmc.plan import ground_of
from advisor.work.bmc.read import BiosReading, reading_of
from advisor.work.bmc.restart import restart_server
from advisor.work.bmc.stage import nothing_foreign, stage_bios
from advisor.work.experiment.node import Node
from advisor.work.experiment.plan import columns_of, kernel_file
from advisor.work.experiment.server import begin_home, home_of, write_plan
from advisor.work.machine import read_machine

if TYPE_CHECKING:
    from advisor.model.audit.vendor import Vendor
    from advisor.model.hardware.machine import Machine


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
    files = {name: file for name in names if (file := kernel_file(known[name])) is not None}
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
        raise CannotWork(f"{name}: it does not answer over ssh; an experiment measures there: ssh {name} true must work")
    with TemporaryDirectory(prefix="advisor-") as folder:
        place = node.capture(Path(folder) / "now.tar.gz")
        machine, captured = read_machine(str(place)), place.read_bytes()
        with door.open() as session:
            reading = reading_of(session)
        _same_server(node, reading)
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
    asked = restart_server(door, lambda _: None, node=name, no_slurm=no_slurm)
    return ReadyNode(name, door, plans, present, moves, reading, captured, asked.slurm)


def _same_server(node: Node, reading: BiosReading) -> None:
    own, told = node.uuid(), (reading.owner.uuid or "").lower()
    if own is not None and told and own != told:
        raise CannotWork(f"{node.name} is not the server of {reading.bmc}: its UUID is {own}, and the BMC's is {told}")


def _looked_at(plan: BiosPlan, state: State, door: Door, place: Path) -> dict[str, Any]:
    """Return what changes along with a state; refuse one that this BIOS does not take."""
    place.unlink(missing_ok=True)
    write_plan(place, plan)
    try:
        return {name: then for name, (_, then) in stage_bios(place, door, None, lambda _: None).moves.items()}
    except BadInput as error:
        raise BadInput(f"{door.name} does not take the state {state.name}: {error.problem}", cure=error.cure) from error


def _plans(plan: ExperimentPlan, reading: BiosReading, machine: "Machine") -> tuple[BiosPlan, ...]:
    vendor = match_vendor(machine.firmware)
    platform = match_platform(machine)
    if vendor is None:
        raise CannotWork(f"{reading.bmc}: whose server it is is not known, and with it the names of its BIOS settings")
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


def _change(name: str, level: Any, reading: BiosReading, vendor: "Vendor", platform: str | None) -> PlannedChange:
    """Return a setting's attribute and its value on this server; refuse where either is not known, or what stands there now."""
    place = locate(vendor, platform, settings()[name], level, reading.bios)
    if place is None or place.attribute is None or place.vendor_value is None or not place.exact:
        raise CannotWork(f"{reading.bmc}: how {vendor.name} calls {name}={level} on this server is not known")
    now = reading.bios.attributes.get(place.attribute)
    if now is None:
        raise CannotWork(
            f"{reading.bmc}: the present value of {place.attribute} ({name}) is not known, so nothing could bring it back"
        )
    for attribute, value, because in place.prerequisites:
        if reading.bios.attributes.get(attribute) not in (None, value):
            raise CannotWork(
                f"{reading.bmc}: {name} needs {attribute}={value}: {because}; set it first, or make it a factor with one level"
            )
    return PlannedChange(attribute=place.attribute, value=place.vendor_value, now=now)


def published_of(plan: ExperimentPlan, machine: "Machine | None") -> tuple[Published, ...]:
    """Return what was published of the programs on such a platform, beside what the plan itself names."""
    from advisor.know.benchmarks import Bench, Known, expected

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
            told = f"{other.model} with BIOS {other.bios_version}, {nodes[0].name} a {one.model} with BIOS {one.bios_version}"
            raise CannotWork(f"not equal servers: {each.name} is a {told}")
