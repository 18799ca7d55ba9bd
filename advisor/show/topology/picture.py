"""A machine and its layout as a picture, with its captions: the same for a terminal and for a page."""

from collections.abc import Iterator, Sequence

from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology, counts
from advisor.machine.units import binary, count, plain, span
from advisor.show.cpulists import listed, numbered, threads
from advisor.show.topology.blocks import blocks, distance_table
from advisor.show.topology.devices import attach, devices
from advisor.show.topology.elements import Block, Box, Device, Group, Member, Picture, Statement, Store, Table

KINDS = {"hca": "HCA", "gpu": "GPU", "nic": "NIC", "nvme": "NVMe", "accelerator": "accelerator"}

NAMES = 4
"""So many names of alike devices are written out."""

_SECOND = {
    "none": "",
    "unknown": ", second threads ?",
    "adjacent": ", second threads next to the first",
    "offset": ", second threads after all first ones",
    "other": ", second threads in another order",
}
"""Where second threads are numbered."""


def block_title(block: Block) -> str:
    """Return ``Socket 0``, ``Sockets 1-23``, or what stands for one that is not known."""
    if not block.sockets:
        return "No socket known"
    name = "Socket" if len(block.sockets) == 1 else "Sockets"
    own = {number for number in block.ids if number is not None and number >= 0}
    renamed = own and own != set(block.sockets) and len(own) <= NAMES
    title = f"{name} {numbered(block.sockets)}"
    return f"{title} (id {numbered(own)})" if renamed else title


def block_facts(block: Block) -> str:
    """Return what a block holds: ``32 cores, 64 PUs``, of each where it stands for several."""
    each = " each" if block.repeat > 1 else ""
    alike = f"{block.repeat} alike: " if block.repeat > 1 else ""
    dies = f", {count(block.dies, 'die')}" if block.dies > 1 else ""
    return f"{alike}{_size(block.cores // block.repeat, len(block.cpus) // block.repeat)}{dies}{each}"


def block_remarks(block: Block) -> tuple[str, ...]:
    """Return the caches that several nodes of a block share."""
    wide = (group for box in block.boxes for group in box.groups if group.reaches)
    return tuple(dict.fromkeys(f"L3 {binary(group.size)} shared by nodes {listed(CpuSet(group.reaches))}" for group in wide))


def _size(cores: int, pus: int) -> str:
    if cores in (0, pus):
        return count(cores, "core") if cores else count(pus, "PU")
    return f"{count(cores, 'core')}, {count(pus, 'PU')}"


def box_title(box: Box) -> str:
    """Return ``NUMA node 0`` or ``NUMA nodes 1-15``."""
    if not box.nodes:
        return "No NUMA node"
    return f"NUMA node{'s' if len(box.nodes) > 1 else ''} {listed(CpuSet(box.nodes))}"


def box_memory(box: Box) -> str:
    """Return a node's memory, ``15 x 16 GiB`` where it stands for several."""
    if not box.nodes:
        return "no memory of its own"
    kind = f" {plain(box.kind.upper(), 20)}" if box.kind else ""
    many = f"{len(box.nodes)} x " if len(box.nodes) > 1 else ""
    return f"{many}{_memory(box.sizes)}{kind}"


def _memory(sizes: Sequence[int | None]) -> str:
    if all(size == 0 for size in sizes):
        return "NO MEMORY"
    return "memory ?" if None in sizes else span(tuple(sizes))


def box_remarks(box: Box) -> Iterator[str]:
    """Yield what else must be said of a node."""
    if box.denied:
        yield "memory outside your allocation"
    if box.cache:
        yield f"{binary(box.cache)} memory-side cache"


def group_label(group: Group, *, uneven: bool = False) -> str:
    """Return the name of one member: ``L3 16 MiB``, ``8 cores``; the cores of an L3 where others have more or fewer."""
    cores = _cores(group.members[0])
    if not group.cache or group.reaches:
        return cores
    label = f"L3 {binary(group.size)}"
    return f"{label}, {cores}" if uneven else label


def group_summary(group: Group, repeat: int) -> str:
    """Return all members in one line: ``16 x L3 16 MiB, 4 cores each: 0-3 .. 60-63``."""
    number = len(group.members) // repeat
    many = f"{number} x " if number > 1 else ""
    each = " each" if number > 1 else ""
    own = group.cache and not group.reaches
    name = f"{group_label(group)}, {_cores(group.members[0])}" if own else _cores(group.members[0])
    first, last = member_text(group.members[0]), member_text(group.members[-1])
    return f"{many}{name}{each}: {first} .. {last}"


def _cores(member: Member) -> str:
    return count(len(member.cores), "core") if member.cores else count(len(member.cpus), "PU")


def member_text(member: Member) -> str:
    """Return a member's CPUs, or the ranks on them; in brackets those outside the allocation."""
    if member.says is not None:
        return member.says
    mine, others = _part(member, member.cpus - member.denied), _part(member, member.denied)
    return " ".join(text for text in (mine, f"({others})" if others else "") if text)


def _part(member: Member, cpus: CpuSet) -> str:
    by_threads: dict[int, list[CpuSet]] = {}
    rest = cpus
    for core in member.cores:
        mine = core & cpus
        rest -= mine
        if mine:
            by_threads.setdefault(len(core), []).append(mine)
    parts = [_threads(number, cores, named=len(by_threads) > 1) for number, cores in by_threads.items()]
    return ", ".join([*parts, *([listed(rest)] if rest else [])])


def _threads(number: int, cores: Sequence[CpuSet], *, named: bool) -> str:
    text = threads(cores)
    return f"{text} ({count(len(cores), 'core')} x {count(number, 'thread')})" if named else text


def store_text(store: Store, *, here: bool = False) -> str:
    """Return ``NUMA node 8: 16 GiB HBM, no CPUs, near node 0``; drawn in that node, it need not say so."""
    name = f"NUMA node{'s' if len(store.nodes) > 1 else ''} {listed(CpuSet(store.nodes))}"
    kind = f" {plain(store.kind.upper(), 20)}" if store.kind else ""
    each = " each" if len(store.nodes) > 1 else ""
    near = "" if here else f", {store.near}"
    denied = ", outside your allocation" if store.denied else ""
    return f"{name}: {_memory(store.sizes)}{kind}{each}, no CPUs{near}{denied}"


def device_name(device: Device, *, whole: bool = False) -> str:
    """Return the kind and names of devices: ``NIC em1, em2``; a tilde where the place is inferred."""
    names = ", ".join(device.names)
    if len(device.names) > NAMES and not whole:
        names = f"{device.names[0]}, {device.names[1]}, .., {device.names[-1]} ({len(device.names)} alike)"
    return f"{KINDS.get(device.kind, device.kind)} {names}{' ~' if device.guessed else ''}"


def device_facts(device: Device) -> tuple[str, ...]:
    """Return what is known of devices: of themselves, of their link, of what is in its way."""
    return tuple(fact for fact in (*device.facts, device.link, *device.remarks) if fact)


def guesses(picture: Picture) -> tuple[str, ...]:
    """Return the legend of the tilde: why devices are drawn where the firmware does not place them."""
    everywhere = [*picture.devices]
    for block in picture.blocks:
        everywhere += [*block.devices, *(device for box in block.boxes for device in box.devices)]
    reasons = tuple(dict.fromkeys(device.guessed for device in everywhere if device.guessed))
    return (f"~ place inferred, not reported by the firmware: {'; '.join(reasons)}",) if reasons else ()


def picture(machine: Machine, layout: Layout) -> Picture:
    """Return what is drawn of a machine, nothing left out."""
    topology = machine.topology or Topology()
    caches = {tier.node: tier.cache for tier in machine.tiers or () if tier.cache}
    drawn, stores = blocks(topology, caches)
    drawn, loose = attach(drawn, devices(machine))
    distances = distance_table(topology)
    return Picture(
        title=_title(machine),
        processors=_processors(machine, topology),
        counts=_counts(topology, layout),
        blocks=drawn,
        stores=stores,
        devices=loose,
        table=distances,
        statements=statements(layout, distances),
        notes=tuple(_notes(machine, topology)),
    )


def statements(layout: Layout, distances: Table | None = None) -> tuple[Statement, ...]:
    """Return what was inferred, in words; of distances the reason too where the table does not tell everything."""
    cut, numbering, smt, far = layout.cut, layout.numbering, layout.smt, layout.distances
    nodes = cut.nodes_per_socket
    each = f", {count(nodes, 'NUMA node')} per socket" if nodes is not None else ""
    over = f" over {numbering.over}" if numbering.over else ""
    threads = f" ({smt.threads} threads per core)" if smt.threads and smt.threads > 1 else ""
    values = (", ".join(distances.classes),) if distances else ()
    why = values if values and far.name == "full" else (*values, *map(plain, far.why))
    return (
        Statement("NUMA", f"{plain(cut.name)}{each}", cut.confidence, tuple(map(plain, cut.why))),
        Statement("Numbering", f"{numbering.name}{over}{_SECOND[numbering.siblings]}", None, tuple(map(plain, numbering.why))),
        Statement("SMT", f"{smt.state}{threads}", None, tuple(map(plain, smt.why))),
        Statement("Distances", far.name, None, why),
    )


def _title(machine: Machine) -> str:
    firmware = machine.firmware
    maker = (firmware.system_vendor or firmware.board_vendor if firmware else None) or ""
    product = (firmware.product or firmware.board if firmware else None) or ""
    known = product if product.lower().startswith(maker.lower()) else f"{maker} {product}"
    named = " · ".join(plain(part, 80) for part in (machine.name or "", known.strip()) if part)
    return named or "Machine"


def _processors(machine: Machine, topology: Topology) -> str:
    name = machine.cpu.model_name if machine.cpu else None
    kinds = (machine.cpu.kinds if machine.cpu else None) or ()
    if not name and kinds:
        numbers = ((sum(bool(core.cpuset & kind.cpus) for core in topology.cores), plain(kind.name, 40)) for kind in kinds)
        return " + ".join(f"{number} x {kind}" for number, kind in numbers)
    if not name:
        return f"processor not known{f' ({plain(machine.architecture, 40)})' if machine.architecture else ''}"
    number = len(topology.packages)
    return f"{number} x {plain(name, 80)}" if number > 1 else plain(name, 80)


def _counts(topology: Topology, layout: Layout) -> str:
    seen = counts(topology)
    known = [node.memory for node in topology.nodes if node.memory is not None]
    parts = [
        count(seen.packages, "socket"),
        count(seen.numa_nodes, "NUMA node"),
        count(seen.l3, "L3 group"),
        count(seen.cores, "core"),
        count(seen.pus, "PU"),
        f"SMT {layout.smt.state}",
        *([binary(sum(known))] if known else []),
    ]
    return ", ".join(parts)


def _notes(machine: Machine, topology: Topology) -> Iterator[str]:
    if machine.topology is None:
        yield "The topology is not known; install hwloc or read a capture of the machine."
    if not topology.numa_known:
        yield "The source has no NUMA information: one node stands for all memory."
    if topology.limited:
        usable = topology.pus & topology.allowed
        nodes = CpuSet(node.os_index for node in topology.nodes) & topology.allowed_nodes
        yield (
            f"Inside your allocation: {len(usable)} of {count(len(topology.pus), 'PU')}: {listed(usable) or 'none'};"
            f" NUMA nodes {listed(nodes) or 'none'}."
        )
    affinity = machine.limits.affinity if machine.limits else None
    if affinity is not None and not topology.pus & topology.allowed <= affinity:
        bound = affinity & topology.pus
        yield f"Bound: this process may run on CPU{'s' if len(bound) > 1 else ''} {listed(bound) or 'none'} only (its affinity)."
    if topology.missing:
        yield f"Offline or hidden: {count(len(topology.missing), 'PU')}: {listed(topology.missing)}"
    if topology.missing_nodes:
        yield f"Hidden NUMA nodes: {listed(topology.missing_nodes)}"
