"""Published machines, and the jobs to launch on each: shapes that set the strategies apart, every strategy that fits."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from advisor.errors import AdvisorError, BadValue
from advisor.jobs.launcher import Launch, Lines
from advisor.jobs.place import place
from advisor.jobs.placement import STRATEGIES, JobShape, Placement
from advisor.machine.layout import logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.sources.hwloc import machine_from_xml
from advisor.machine.topology import Topology

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[3] / "shared" / "machines"))
FILES = {file.stem: file for file in sorted(CORPUS.glob("xml/*.xml"))}
TWO = ("n1", "n2")
"""Hosts of one kind; their names are replaced where a launcher has its own."""


@cache
def machine(name: str) -> Machine:
    """Return a published machine as its hwloc XML shows it."""
    return machine_from_xml(FILES[name].read_bytes(), FILES[name].name)


def usable(name: str) -> bool:
    """Whether two ranks can be apart on a machine."""
    try:
        topology = machine(name).topology
    except AdvisorError:
        return False
    return topology is not None and min(len(logical_numbering(topology).cores), len(topology.inside.pus)) > 1


def shapes(topology: Topology) -> Iterator[dict[str, Any]]:
    """Yield the shapes of jobs that leave a strategy the choice: half of the cores, a third, hardware threads by threes."""
    cores = logical_numbering(topology).cores
    yield {"ranks_per_node": max(1, len(cores) // 4), "threads": 2}
    yield {"ranks_per_node": max(2, len(cores) * 3 // 8), "hosts": TWO}
    if any(len(core) > 1 for core in cores):
        yield {"ranks_per_node": max(1, len(cores) // 5), "threads": 3, "smt": "use"}


@dataclass(frozen=True)
class Case:
    """A plan to launch, and the strategies with their shape that all come to it."""

    asked: tuple[str, ...]
    placement: Placement


def cases(name: str, hosts: tuple[str, ...] = TWO, alone: tuple[str, ...] = ()) -> tuple[Case, ...]:
    """Return every plan that fits a machine; no two put the ranks on the same CPUs beside the same devices.

    ``hosts`` are the two of a job on two, ``alone`` the one of a job on one, which needs a name in Slurm only.
    """
    topology = machine(name).topology
    assert topology is not None
    made: dict[tuple[object, ...], Case] = {}
    for shape in shapes(topology):
        named = {**shape, "hosts": hosts if "hosts" in shape else alone}
        for strategy in STRATEGIES:
            try:
                plan = place(JobShape.model_validate({**named, "strategy": strategy}), [machine(name)])
            except BadValue:
                continue
            places = tuple((each.host, each.slot.cpus, each.slot.hca, each.slot.gpu) for each in plan.ranks())
            before = made[places].asked if places in made else ()
            made[places] = Case((*before, f"{strategy} {shape}"), _near(plan))
    return tuple(made.values())


def _near(placement: Placement) -> Placement:
    """Return a plan without memory of other nodes: libnuma looks nodes up in this machine's own /sys."""
    plans = tuple(
        plan.model_copy(update={"slots": tuple(slot.model_copy(update={"memory": slot.nodes}) for slot in plan.slots)})
        for plan in placement.plans
    )
    return placement.model_copy(update={"plans": plans})


def with_gpus(launch: Launch, placement: Placement, folder: Path) -> Launch:
    """Return a launch whose wrapper finds the GPUs of its plan below a folder, in place of this machine's own /sys."""
    gpus = {slot.gpu for plan in placement.plans for slot in plan.slots if slot.gpu}
    if not gpus:
        return launch
    driver = folder / "drivers" / "nvidia"
    for gpu in gpus:
        (driver / gpu).mkdir(parents=True, exist_ok=True)
        (folder / "devices" / gpu).mkdir(parents=True, exist_ok=True)
        (folder / "devices" / gpu / "driver").symlink_to(driver)
    return replace(launch, files={name: _elsewhere(lines, folder) for name, lines in launch.files.items()})


def _elsewhere(lines: Lines, folder: Path) -> Lines:
    return lambda: (line.replace("/sys/bus/pci", str(folder)) for line in lines())
