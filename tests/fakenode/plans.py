"""Plans to launch for a test machine: every strategy that fits it, with shapes that people ask for."""

import tempfile
from functools import cache
from pathlib import Path

from advisor.errors import BadValue
from advisor.jobs.place import place
from advisor.jobs.placement import STRATEGIES, JobShape, Placement
from advisor.machine.machine import Machine
from advisor.machine.sources.hwloc import machine_from_xml
from tests.machines.catalogue import MACHINES
from tests.machines.read import seen_by_lstopo

SEEDS = tuple(name for name in MACHINES if name[:2] in ("a-", "b-", "c-", "d-"))

SHAPES = (
    {"ranks_per_node": 4, "threads": 2},
    {"per": "numa", "threads": 1},
    {"per": "l3", "threads": 2},
    {"per": "core", "per_count": 1},
    {"per": "numa", "per_count": 2, "threads": 2, "smt": "use"},
    {"ranks_per_node": 3, "threads": 1, "reserve": 2},
)
BRIEF = (SHAPES[0], SHAPES[2], SHAPES[4])


@cache
def file_of(name: str) -> Path:
    """Return a test machine's XML; it goes when the tests end."""
    global _FOLDER  # noqa: PLW0603 - one folder for the run
    _FOLDER = _FOLDER or tempfile.TemporaryDirectory(prefix="advisor-plans-")
    made = Path(_FOLDER.name) / f"{name}.xml"
    text = seen_by_lstopo(name)
    assert text is not None
    made.write_text(text)
    return made


_FOLDER: "tempfile.TemporaryDirectory[str] | None" = None


@cache
def machine_of(name: str) -> Machine:
    """Return a test machine as hwloc shows it."""
    return machine_from_xml(file_of(name).read_bytes(), name)


@cache
def plans(names: tuple[str, ...], hosts: tuple[str, ...] = (), *, brief: bool = False) -> tuple[tuple[str, Placement], ...]:
    """Return every plan that fits some machines, one for each host, with what it is in words; no two alike."""
    machines = [machine_of(name) for name in names]
    made: dict[tuple[object, ...], tuple[str, Placement]] = {}
    for strategy in STRATEGIES:
        for shape in BRIEF if brief else SHAPES:
            try:
                plan = place(JobShape.model_validate({**shape, "strategy": strategy, "hosts": hosts}), machines)
            except BadValue:
                continue
            places = tuple((each.host, each.slot.cpus, each.slot.hca) for each in plan.ranks())
            made.setdefault(places, (f"{strategy} {shape}", plan))
    return tuple(made.values())
