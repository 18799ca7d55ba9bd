"""One BIOS plan and one checklist for each kind of hardware: what differs inside a kind stands beside its nodes."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from advisor.advice.bios_files import BiosInput, bios_for
from advisor.advice.checklist import checklist
from advisor.advice.model.plan import Item
from advisor.bios.plan import PlannedBios, plan_bios
from advisor.errors import AdvisorError, BadInput
from advisor.fleet.audit import AuditedFleet, audit_fleet, file_of_node
from advisor.fleet.fleet import Kind
from advisor.machine.hosts.errands import expanded, folded
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.measure.platform import IntentName, Scope


@dataclass(frozen=True)
class FleetStep:
    """A step of a kind's checklist, and the nodes that need it."""

    item: Item
    nodes: tuple[str, ...]
    of: int

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        kept = ("id", "title", "term", "setting", "now", "wanted", "claim")
        told = {name: getattr(self.item, name) for name in kept}
        steps = [self.item.fix.text] if self.item.fix.text else []
        return {**told, "steps": steps, "nodes": folded(self.nodes), "count": len(self.nodes), "of": self.of}


@dataclass(frozen=True)
class FleetChecklist:
    """What is to be done, kind by kind."""

    kinds: tuple[tuple[Kind, tuple[FleetStep, ...]], ...]

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor checklist FLEET --as json``."""
        kinds = [
            {**kind.model_dump(include={"name", "hardware", "nodes"}), "steps": [step.document() for step in steps]}
            for kind, steps in self.kinds
        ]
        return {"schema": "advisor-fleet-checklist/1", "kinds": kinds}


def fleet_checklist(
    places: Sequence[Path], scope: Scope = "mpi", *, site: Sequence[Path] = (), observer: Observer = SILENT
) -> FleetChecklist:
    """Return one list of steps for each kind, each with the nodes that need it."""
    found = audit_fleet(places, scope, site=site, observer=observer)
    return FleetChecklist(tuple((kind, tuple(_steps(found, kind, scope, site, observer))) for kind in found.fleet.kinds))


def _steps(found: AuditedFleet, kind: Kind, scope: Scope, site: Sequence[Path], observer: Observer) -> Iterator[FleetStep]:
    """Yield the steps of a kind, what most nodes need first; equal nodes are asked once."""
    needed: dict[tuple[str, str, str | None], list[str]] = defaultdict(list)
    items: dict[tuple[str, str, str | None], Item] = {}
    for nodes in _equal(found, kind).values():
        source = str(file_of_node(found.asked, nodes[0]))
        for group in checklist(source, scope, site=site, bios=found.bios_of(nodes[0]), observer=observer).todo().checklist.groups:
            for item in group.items:
                key = (item.id, item.wanted, item.now)
                items.setdefault(key, item)
                needed[key] += nodes
    for key, nodes in sorted(needed.items(), key=lambda each: -len(each[1])):
        yield FleetStep(items[key], tuple(nodes), kind.count)


def _equal(found: AuditedFleet, kind: Kind) -> dict[str, list[str]]:
    """Return the nodes of a kind by what they are: the largest group first."""
    groups: dict[str, list[str]] = defaultdict(list)
    for node in expanded(kind.nodes):
        groups[found.read.records[node].digest or ""].append(node)
    return dict(sorted(groups.items(), key=lambda each: -len(each[1])))


@dataclass(frozen=True)
class FleetPlan:
    """A BIOS plan for each kind that has one, and why the others have none."""

    plans: Mapping[str, PlannedBios] = field(default_factory=dict)
    kinds: tuple[Kind, ...] = ()
    without: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bios plan FLEET --json``."""
        kinds = []
        for kind in self.kinds:
            plan = self.plans.get(kind.name)
            own = {"plan": plan.document() if plan else None, "without": self.without.get(kind.name)}
            kinds.append({**kind.model_dump(include={"name", "hardware", "nodes"}), **own})
        return {"schema": "advisor-fleet-plan/1", "kinds": kinds}


def fleet_plan(
    places: Sequence[Path],
    bios: Sequence[Path] = (),
    scope: Scope = "mpi",
    *,
    intent: IntentName | None = None,
    site: Sequence[Path] = (),
    only: Sequence[str] = (),
    observer: Observer = SILENT,
) -> FleetPlan:
    """Return one BIOS plan for each kind, of the BIOS that its captures or one of the files have."""
    make = partial(plan_bios, scope=scope, intent=intent, site=site, only=only)
    found = audit_fleet(places, scope, site=site, observer=observer)
    plans: dict[str, PlannedBios] = {}
    without: dict[str, str] = {}
    for kind in found.fleet.kinds:
        first = next(iter(_equal(found, kind).values()))[0]
        try:
            plans[kind.name] = _planned(str(file_of_node(found.asked, first)), (*found.bios_of(first), *bios), make)
        except AdvisorError as error:
            without[kind.name] = error.problem if isinstance(error, BadInput) else str(error)
    return FleetPlan(plans, found.fleet.kinds, without)


def _planned(source: str, files: Sequence[Path], make: Callable[[BiosInput, str], PlannedBios]) -> PlannedBios:
    """Return the plan of a kind's most usual node, from its own BIOS or the first file that can be one of its kind."""
    machine = read_machine(source)
    if machine.bios is not None:
        return make(BiosInput(machine.bios), source)
    for file in files:
        try:
            given = bios_for([file], machine)
        except BadInput:
            continue
        return make(given, source)
    raise BadInput(
        "no BIOS attributes next to its captures, and no matching --bios: run advisor bios read -w NODES -o DIR/%h.bios.json"
    )
