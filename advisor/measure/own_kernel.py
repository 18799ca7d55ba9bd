"""Plans a kernel that has no plan of its own: all that it measures, on one part of each kind that its header comment names."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from advisor.errors import BadValue, did_you_mean
from advisor.machine.cpuset import CpuSet
from advisor.measure.ceilings import START_SECONDS, first_touch_seconds
from advisor.measure.contract import most_to_fewest_arrays
from advisor.measure.headers import read_kernels
from advisor.measure.kernel_tasks import Ask, Request, Spot, Tasks
from advisor.measure.measurement import KernelSheet, Task
from advisor.measure.resources import CoreGroup, Memory

_REPEAT: Final = 0.3
"""Seconds of a repeat of a kernel of which nothing else is known."""
_REPEATS: Final = 5


def kernel_called(what: str, others: Sequence[str]) -> KernelSheet:
    """Return what a kernel that one machine can run says of itself; refuse what is none, naming what else can be measured."""
    kernels = read_kernels()
    alone = [name for name, sheet in kernels.sheets.items() if not sheet.mpi]
    if what in alone or what in kernels.wrong:
        return kernels.sheet(what)
    if what in kernels.sheets:
        raise BadValue(f"{what} runs under MPI", cure="advisor measure network and advisor measure hpl start such kernels")
    known = [*others, *(name for name in alone if name not in others)]
    cure = did_you_mean(what, known, f"there are {', '.join(known)}; --list says what each measures")
    raise BadValue(f"there is no measurement {what[:40]}", cure="write --list" if what == "list" else cure)


def kernel_as_it_is(sheet: KernelSheet, tasks: Tasks, wish: Request, groups: Iterable[CoreGroup]) -> Iterator[Task]:
    """Yield the kernel on the CPUs of --cpus, or on those groups of cores that it can run on."""
    if wish.per is not None and wish.per not in sheet.parts:
        raise BadValue(f"{sheet.name} does not run on one {wish.per}", cure=f"it runs on {', '.join(sheet.parts)}")
    if wish.cpus is not None and wish.per is None:
        for group in tasks.ground.pieces("machine"):
            spot = _spot(sheet, tasks, group, wish.memory)
            yield from _task(sheet, tasks, replace(spot, label=f"{spot.label}-cpus-{CpuSet(group.cpus)}"))
        return
    for group in groups:
        if group.part in sheet.parts and wish.per in (None, group.part):
            yield from _task(sheet, tasks, _spot(sheet, tasks, group, wish.memory))


def _spot(sheet: KernelSheet, tasks: Tasks, group: CoreGroup, memory: int | None) -> Spot:
    spot = tasks.spot("kernel", group, memory)
    return spot if any(each.arrays for each in sheet.variants) else replace(spot, memory=Memory(None, None))


def _task(sheet: KernelSheet, tasks: Tasks, spot: Spot) -> Iterator[Task]:
    """Yield one start, which is asked for a size alone; nothing where there is no room for that."""
    variants = tuple(each.name for each in sheet.variants)
    size, repeats = 0, tasks.times(_REPEATS)
    if sheet.takes("--bytes"):
        size = tasks.room_for(sheet.name, spot, "+".join(variants), spot.cpus, most_to_fewest_arrays(sheet.name, variants))
        if not size:
            return
    arguments = (*(("--bytes", str(size)) if size else ()), "--repeats", str(repeats))
    seconds = START_SECONDS + first_touch_seconds(size, len(spot.cpus)) + len(variants) * (repeats + 2) * _REPEAT
    yield tasks.other(sheet.name, spot, Ask(variants, arguments, seconds))
