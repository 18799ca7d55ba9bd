"""A machine and its layout as a picture: what is drawn, for a terminal and for a page alike."""

from collections.abc import Iterator

from advisor.language.units import binary, count, plain
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.layout import Layout
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import Topology, counts
from advisor.render.attached import attach, devices
from advisor.render.blocks import blocks
from advisor.render.cpulists import listed
from advisor.render.distances import table
from advisor.render.shapes import Picture, Statement, Table


def picture(machine: Machine, layout: Layout) -> Picture:
    """Return what is drawn of a machine, nothing left out."""
    topology = machine.topology or Topology()
    caches = {tier.node: tier.cache for tier in machine.tiers or () if tier.cache}
    drawn, stores = blocks(topology, caches)
    drawn, loose = attach(drawn, devices(machine))
    distances = table(topology)
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
    """Return what was inferred, in words."""
    return (_cut(layout), _numbering(layout), _smt(layout), _distances(layout, distances))


def _title(machine: Machine) -> str:
    firmware = machine.firmware
    maker = (firmware.system_vendor if firmware else None) or ""
    product = (firmware.product if firmware else None) or ""
    known = product if product.lower().startswith(maker.lower()) else f"{maker} {product}"
    named = " · ".join(plain(part, 80) for part in (machine.name or "", known.strip()) if part)
    return named or "Machine"


def _processors(machine: Machine, topology: Topology) -> str:
    name = machine.cpu.model_name if machine.cpu else None
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


def _cut(layout: Layout) -> Statement:
    cut = layout.cut
    nodes = cut.nodes_per_socket
    each = f", {count(nodes, 'NUMA node')} per socket" if nodes is not None else ""
    return Statement("Cut", f"{plain(cut.name)}{each}", cut.confidence, _plain(cut.why))


def _numbering(layout: Layout) -> Statement:
    numbering = layout.numbering
    over = f" over {numbering.over}" if numbering.over else ""
    threads = {
        "none": "",
        "unknown": ", second threads ?",
        "adjacent": ", second threads next to the first",
        "offset": ", second threads after all first ones",
        "other": ", second threads in another order",
    }[numbering.siblings]
    return Statement("Numbering", f"{numbering.name}{over}{threads}", None, _plain(numbering.why))


def _smt(layout: Layout) -> Statement:
    smt = layout.smt
    threads = f" ({smt.threads} threads a core)" if smt.threads and smt.threads > 1 else ""
    return Statement("SMT", f"{smt.state}{threads}", None, _plain(smt.why))


def _distances(layout: Layout, distances: Table | None) -> Statement:
    """Return the values by kind of neighbour; the reason too where the table does not tell everything."""
    told = layout.distances
    values = (", ".join(distances.classes),) if distances else ()
    return Statement("Distances", told.name, None, values if values and told.name == "full" else (*values, *_plain(told.why)))


def _plain(why: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plain(reason) for reason in why)


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
