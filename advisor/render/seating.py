"""The drawing of a node with its ranks in their places: the picture of the machine, with ranks where its CPUs stood."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from advisor.language.units import count
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.partitioning import infer_layout
from advisor.model.placement import Slot
from advisor.render.cpulists import listed, threads
from advisor.render.picture import picture
from advisor.render.shapes import Block, Box, Device, Group, Member, Picture

_DEVICES = ("hca", "gpu")
"""Kinds of devices that ranks are placed by."""

_GLUE = "\u00a0"
"""A blank at which no line is broken (lines.py)."""


def seated(machine: Machine, slots: Sequence[Slot], title: str) -> Picture:
    """Return the picture of a machine with ranks, by their local numbers, in place of its CPUs."""
    seen = picture(machine, infer_layout(machine))
    blocks = tuple(_block(block, slots) for block in seen.blocks)
    drawn = replace(seen, title=title, blocks=blocks, devices=_useful(seen.devices), table=None, statements=(), notes=())
    return drawn if all(slot.cpus <= drawn.cpus for slot in slots) else replace(drawn, notes=("Some CPUs are not drawn.",))


def _useful(devices: Sequence[Device]) -> tuple[Device, ...]:
    return tuple(device for device in devices if device.kind in _DEVICES)


def _block(block: Block, slots: Sequence[Slot]) -> Block:
    return replace(block, boxes=tuple(_box(box, slots) for box in block.boxes), devices=_useful(block.devices))


def _box(box: Box, slots: Sequence[Slot]) -> Box:
    groups = tuple(replace(group, members=tuple(_member(member, slots) for member in group.members)) for group in box.groups)
    return replace(box, groups=_in_order(groups), devices=_useful(box.devices))


def _in_order(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return the groups with each member apart where they are of several kinds, in the order of their CPUs."""
    if len(groups) == 1:
        return tuple(groups)
    apart = [replace(group, members=(member,)) for group in groups for member in group.members]
    return tuple(sorted(apart, key=lambda group: group.members[0].cpus.first or 0))


def _member(member: Member, slots: Sequence[Slot]) -> Member:
    mine = [(local, slot.cpus & member.cpus) for local, slot in enumerate(slots) if slot.cpus & member.cpus]
    marks = tuple(" ".join(f"r{local}" for local, cpus in mine if cpus & core) for core in member.cores)
    idle = member.cpus - member.denied - union(cpus for _, cpus in mine)
    parts = [*_ranks(member, mine), *([f"idle {_cpus(member, idle)}"] if idle else [])]
    parts += [f"({_cpus(member, member.denied)})"] if member.denied else []
    return replace(member, says="; ".join(part.replace(" ", _GLUE) for part in parts), marks=marks)


def _ranks(member: Member, mine: Sequence[tuple[int, CpuSet]]) -> Iterator[str]:
    """Yield each rank with its CPUs; ranks of a core each that follow one another, together."""
    at = 0
    while at < len(mine):
        end = at + 1
        while end < len(mine) and _follows(member, mine[end - 1], mine[end]):
            end += 1
        first, last = mine[at][0], mine[end - 1][0]
        name = f"r{first}" if first == last else f"r{first}-{last}"
        yield f"{name} {_cpus(member, union(cpus for _, cpus in mine[at:end]))}"
        at = end


def _follows(member: Member, one: tuple[int, CpuSet], other: tuple[int, CpuSet]) -> bool:
    """Whether the next rank has the next number and CPU, and both have one core or one thread of one."""
    (a, first), (b, second) = one, other
    single = all(sum(1 for core in member.cores if core & cpus) == 1 for cpus in (first, second))
    return single and b == a + 1 and (first.first or 0) < (second.first or 0) and len(first) == len(second)


def _cpus(member: Member, cpus: CpuSet) -> str:
    cores = [core & cpus for core in member.cores if core & cpus]
    alike = len({len(core) for core in cores}) == 1 and union(cores) == cpus
    return threads(cores) if alike else listed(cpus)


def titled(names: Sequence[str | None], ranks: int) -> str:
    """Return what stands above a drawing: the hosts it is of, and how to read it."""
    first = names[0] or "This node"
    more = f" and {count(len(names) - 1, 'host')} like it" if len(names) > 1 else ""
    which = "local ranks" if len(names) > 1 else "ranks"
    return (
        f"{first}{more}: {which} r0 to r{ranks - 1}, each with its CPUs" if ranks > 1 else f"{first}{more}: rank r0 with its CPUs"
    )
