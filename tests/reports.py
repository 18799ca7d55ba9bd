"""Machines whose reports are looked at: what differs most, some measured, some not. EVERY MEASURED VALUE IS INVENTED."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from advisor.errors import AdvisorError
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from advisor.measure.measurement import Measurements, Result, identity_of
from tests.judge.measuring import World, measured
from tests.judge.sending import Fabric, sent, solved
from tests.machines import sysfs
from tests.machines.catalogue import write_archive
from tests.machines.layout import Shape
from tests.machines.nodemaps import connectx, nvidia
from tests.machines.parts import port_down
from tests.machines.sites import node, sites
from tests.machines.spec import Spec
from tests.machines.tree import archive
from tests.render.measurements import whole

CORPUS: Final = Path(os.environ.get("ADVISOR_CORPUS") or Path(__file__).parents[2] / "shared" / "machines") / "xml"
"""Published machines, which are not always there."""

ROME: Final = World(node=120e9, core=12e9, near=0.9, far=0.7, clock=2.6e9)
NAPLES: Final = World(node=32e9, core=24.5e9, clock=2.5e9, flops=8.0, far=0.45)


def everything(machine: Machine, world: World) -> Measurements:
    """Return what every measurement would give: those of parts by a world, curves as they are drawn, messages and HPL."""
    assert machine.topology is not None
    cores = tuple(core.cpuset.first or 0 for core in machine.topology.cores)
    found = measured(machine, world)
    kinds = ("scaling", "ladder", "loaded", "roofline")
    curves = [each for each in whole(()).results if each.purpose in kinds and max(each.cpus) <= max(cores)]
    parts = [each for kind in ("matrix", "peak", "membw", "c2c") for each in _planned(machine, world, kind)]
    peak = world.flops * world.clock * len(cores)
    bounds: dict[str, Any] = {"peak_base": 0.85 * peak, "peak_load": peak, "dgemm_all": 0.86 * peak, "cores": len(cores)}
    hpl = solved(machine, 0.78 * peak, **bounds)
    every = (*found.results, *curves, *parts, hpl)
    results = {(each.task, each.variant, each.unit, each.bytes, each.cpus, each.values): each for each in every}
    hcas = list(sent(machine, Fabric()).results) if machine.hcas else []
    return found.model_copy(update={"results": (*results.values(), *hcas), "machine": identity_of(machine)})


def _planned(machine: Machine, world: World, what: str) -> tuple[Result, ...]:
    try:
        return measured(machine, world, what).results
    except AdvisorError:
        return ()


def turin_with_gpus() -> Spec:
    """Return two EPYC 9355 with four H100 and two adapters."""
    told = next(spec for spec in sites() if spec.host == "turin-8-h100")
    cards = tuple(nvidia(place, 0x2330) for place in (0, 0, 1, 1))
    rails = (connectx(0, 0), connectx(1, 1))
    return replace(told, host="turin-4-h100", devices=(*cards, *rails))


def faulty() -> Spec:
    """Return a Genoa node with an empty channel on each socket, an adapter at half its lanes and one whose port is down."""
    told = site("dimm-missing")
    return replace(told, host="faulty", devices=(replace(connectx(0, 0), width=8), port_down(connectx(4, 1))))


def dense() -> Spec:
    """Return two processors of 192 cores."""
    told = site("turin-8-h100")
    shape = Shape(((16,) * 12,))
    return node("turin-dense", (told.processor, "AMD EPYC 9965 192-Core Processor"), shape, told.dmi, devices=(connectx(0, 0),))


def site(name: str) -> Spec:
    """Return a node as sites have it."""
    return next(spec for spec in sites() if spec.host == name)


def catalogued(name: str) -> Callable[[Path], str]:
    """Return what writes a machine of the catalogue into a folder."""
    return lambda folder: str(write_archive(name, folder / f"{name}.tar.gz"))


def written(spec: Spec) -> Callable[[Path], str]:
    """Return what writes a machine from its description."""

    def write(folder: Path) -> str:
        file = folder / f"{spec.host}.tar.gz"
        archive(sysfs.root(spec), file, spec.host)
        return str(file)

    return write


def published(name: str) -> Callable[[Path], str]:
    """Return what names a published machine."""
    return lambda _: str(CORPUS / f"{name}.xml")


MACHINES: Final[dict[str, tuple[Callable[[Path], str], World | None]]] = {
    "r7425": (catalogued("a-r7425-2x7601-nodeorder"), NAPLES),
    "rome-nps1": (catalogued("b-c6525-2x7702-nps1"), ROME),
    "turin-4-gpus": (written(turin_with_gpus()), None),
    "knl-snc4": (catalogued("knights-landing"), None),
    "xeon-max": (published("psmgmt-dp-intelmax01"), None),
    "sgi-24-nodes": (published("hwloc-xml-192em64t-24n8c2t"), None),
    "grace-hopper": (published("xmlparser-nvidia-gh-200"), None),
    "laptop": (written(site("notebook")), None),
}
"""Name -> where its file is written or lies, and the world in which it was measured."""

MORE: Final[dict[str, tuple[Callable[[Path], str], World | None]]] = {
    "rome-nps4": (catalogued("b-c6525-2x7702-nps4"), replace(ROME, node=36e9)),
    "faulty": (written(faulty()), None),
}
"""The Rome of rome-nps1 after its one fix, with a fifth more bandwidth; and a node on which much is wrong."""


def source_of(name: str, folder: Path) -> tuple[str, tuple[Path, ...]]:
    """Return the file of a machine, and those of its measurements."""
    make, world = {**MACHINES, **MORE}[name]
    source = make(folder)
    if world is None:
        return source, ()
    file = folder / f"{name}-measured.json"
    file.write_text(everything(read_machine(source), world).model_dump_json(), encoding="utf-8")
    return source, (file,)
