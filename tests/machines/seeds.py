"""The systems of the articles that the project started from.

Guesses: the C6525's HCA quadrant, the SLIT with L3 as NUMA, the C6320's node order with COD, DelftBlue's HCA nodes and the
clusters of its 24-core dies, the PCI addresses. The rest is as real machines of these kinds report it.
"""

from collections.abc import Mapping
from dataclasses import replace

from tests.machines.layout import Order, Shape, as_dell_naples, cores, distances, linear, over_nodes, over_packages
from tests.machines.parts import dell, dimms, hca, intel_nic, nic, port_down, vga
from tests.machines.processors import CASCADE, HASWELL, HASWELL_COD, NAPLES, ROME, SAPPHIRE
from tests.machines.spec import GIB, Dmi, Node, Spec

NAPLES_SLIT = (
    (10, 16, 16, 16, 28, 28, 22, 28),
    (16, 10, 16, 16, 28, 28, 28, 22),
    (16, 16, 10, 16, 22, 28, 28, 28),
    (16, 16, 16, 10, 28, 22, 28, 28),
    (28, 28, 22, 28, 10, 16, 16, 16),
    (28, 28, 28, 22, 16, 10, 16, 16),
    (22, 28, 28, 28, 16, 16, 10, 16),
    (28, 22, 28, 28, 16, 16, 16, 10),
)
ROME_BUSES = (0x60, 0x40, 0x20, 0x00, 0xE0, 0xC0, 0xA0, 0x80)
"""The root bus of each quadrant of two sockets, as a real two-socket Rome has them."""


def even(nodes: int, gib: int) -> tuple[Node, ...]:
    """Return nodes that share the memory evenly."""
    return tuple(Node(number, gib * GIB // nodes) for number in range(nodes))


def r7425(order: Order = as_dell_naples, threads: int = 1) -> Spec:
    """Return a Dell PowerEdge R7425: two EPYC 7601 of four dies each."""
    return Spec(
        host="r7425",
        processor=NAPLES,
        model="AMD EPYC 7601 32-Core Processor",
        khz=(1200000, 2200000, 2200000),
        cores=cores(Shape(((4, 4),) * 4), order, threads),
        nodes=tuple(Node(number, 32 * GIB - (8000 if number else 500000)) for number in range(8)),
        slit=NAPLES_SLIT,
        dmi=dell("PowerEdge R7425", "02MJ3T", "1.26.0"),
        dimms=dimms(8, 16, 2666),
        devices=(nic(0, "em1", "em2"), vga(1), hca(6, "CX5")),
        buses={node: 0x20 * node for node in range(8)},
        possible=128,
    )


def quadrant_node(shape: Shape, quadrant: int) -> int:
    """Return the first node of one of the eight quadrants of a two-socket EPYC."""
    socket, inside = divmod(quadrant, 4)
    nodes = len(shape.nodes)
    return socket * nodes + inside * nodes // 4


def quadrant_buses(shape: Shape, hca_quadrant: int) -> Mapping[int, int]:
    """Return the root bus of each node: its first quadrant's, but the HCA's own where the HCA is."""
    buses: dict[int, int] = {}
    for quadrant, bus in enumerate(ROME_BUSES):
        buses.setdefault(quadrant_node(shape, quadrant), bus)
    return buses | {quadrant_node(shape, hca_quadrant): ROME_BUSES[hca_quadrant]}


def rome_shape(groups: int, size: int, nodes: int) -> Shape:
    """Return a socket of L3 groups cut into nodes; every L3 group keeps four core ids."""
    ids = tuple(group * 4 + core for group in range(groups) for core in range(size))
    return Shape(((size,) * (groups // nodes),) * nodes, core_ids=ids)


def c6525(name: str, shape: Shape, nominal: int, threads: int = 1) -> Spec:
    """Return a Dell PowerEdge C6525 with two EPYC 7002, its HCA on quadrant 6."""
    nodes = 2 * len(shape.nodes)
    inside = 11 if nodes == 32 else 12
    return Spec(
        host="c6525",
        processor=ROME,
        model=f"AMD EPYC {name} {shape.cores // 2}-Core Processor",
        khz=(1500000, nominal, 3350000),
        cores=cores(shape, linear, threads),
        nodes=even(nodes, 256),
        slit=distances(nodes, 2, inside, 32),
        dmi=dell("PowerEdge C6525", "04DK47", "2.14.1"),
        dimms=dimms(8, 16, 3200),
        devices=(nic(0, "eno1"), hca(quadrant_node(shape, 6), "CX6")),
        buses=quadrant_buses(shape, 6),
        possible=256,
    )


def c6320(*, cod: bool = False, card: str = "CX4") -> Spec:
    """Return a Dell PowerEdge C6320: two E5-2660 v3, numbers dealt to the sockets, with or without cluster on die."""
    ids = (0, 1, 2, 3, 4, 8, 9, 10, 11, 12)
    far = (10, 21, 31, 31), (21, 10, 31, 31), (31, 31, 10, 21), (31, 31, 21, 10)
    return Spec(
        host="c6320",
        processor=HASWELL_COD if cod else HASWELL,
        model="Intel(R) Xeon(R) CPU E5-2660 v3 @ 2.60GHz",
        khz=(1200000, 2600000, 3300000),
        cores=cores(Shape(((5,), (5,)) if cod else ((10,),), core_ids=ids), over_packages),
        nodes=even(4 if cod else 2, 128),
        slit=far if cod else distances(2, 2, 0, 21),
        dmi=dell("PowerEdge C6320", "082F9M", "2.15.0"),
        dimms=dimms(4, 16, 2133),
        devices=(hca(0, card), intel_nic(0, "em1", "em2"), vga(0)),
        buses={0: 0x00, (2 if cod else 1): 0x80},
    )


def delftblue(*, interleaved: bool) -> Spec:
    """Return a node of DelftBlue's first phase: SNC2, whose two clusters take turns over a die as real ones do."""
    ids = (*range(6), *range(8, 14), *range(16, 22), *range(24, 30))
    first = {0, 1, 2, 3, 7, 8, 9, 13, 14, 15, 19, 20} if interleaved else set(range(12))
    plain = cores(Shape(((12,), (12,)), one_l3=True, core_ids=ids))
    return Spec(
        host="cmp001",
        processor=CASCADE,
        model="Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz",
        khz=(1200000, 3000000, 4000000),
        cores=tuple(replace(core, node=core.package * 2 + (core.pus[0] % 24 not in first)) for core in plain),
        nodes=even(4, 192),
        slit=distances(4, 2, 11, 21),
        dmi=Dmi("FUJITSU", "PRIMERGY CX2550 M5", "D3853-A1", "V5.0.0.14 R1.22.0"),
        dimms=dimms(6, 16, 2933),
        devices=(intel_nic(0, "eno1", "eno2", device=0x37D2, driver="i40e"), hca(1, "CX6")),
        buses={0: 0x00, 1: 0x3A, 2: 0x85, 3: 0xAE},
    )


def delftblue2() -> Spec:
    """Return a node of DelftBlue's second phase: Sapphire Rapids, a node a socket."""
    return Spec(
        host="cmp300",
        processor=SAPPHIRE,
        model="Intel(R) Xeon(R) Gold 6448Y",
        khz=(800000, 2100000, 4100000),
        cores=cores(Shape(((32,),))),
        nodes=even(2, 256),
        slit=distances(2, 2, 0, 21),
        dmi=Dmi("FUJITSU", "PRIMERGY CX2550 M7", "D3983-A1", "V1.0.0.0"),
        dimms=dimms(8, 16, 4800, kind=0x22),
        devices=(intel_nic(0, "eno1", "eno2"), hca(0, "CX6")),
        buses={0: 0x15, 1: 0x97},
    )


def seeds() -> dict[str, Spec]:
    """Return the articles' systems by name."""
    dell_naples = r7425()
    socket = rome_shape
    return {
        "a-r7425-2x7601-dell": dell_naples,
        "a-r7425-2x7601-dell-smt": r7425(threads=2),
        "a-r7425-2x7601-nodeorder": r7425(over_nodes),
        "a-r7425-2x7601-linear": r7425(linear),
        "a-r7425-2x7601-dell-portdown": replace(dell_naples, devices=(*dell_naples.devices[:2], port_down(hca(6, "CX5")))),
        "a-r7425-2x7601-dell-2nodesmem": replace(
            dell_naples,
            nodes=tuple(Node(n, 32 * GIB if n in (1, 5) else 0) for n in range(8)),
            dimms=dimms(8, 16, 2666, empty=(0, 1, 4, 5, 6, 7)),  # a die has two channels
        ),
        **{f"b-c6525-2x7702-nps{n}": c6525("7702", socket(16, 4, n), 2000000) for n in (1, 2, 4)},
        "b-c6525-2x7702-nps4-smt": c6525("7702", socket(16, 4, 4), 2000000, threads=2),
        "b-c6525-2x7702-l3numa": c6525("7702", socket(16, 4, 16), 2000000),
        "b-c6525-2x7502-nps4": c6525("7502", socket(8, 4, 4), 2500000),
        "b-c6525-2x7452-nps4": c6525("7452", socket(8, 4, 4), 2350000),
        "b-c6525-2x7402-nps4": c6525("7402", socket(8, 3, 4), 2800000),
        "b-c6525-2x7402-nps1": c6525("7402", socket(8, 3, 1), 2800000),
        "c-c6320-2x2660v3": c6320(),
        "c-c6320-2x2660v3-cod": c6320(cod=True),
        "c-c6320-2x2660v3-fdr": c6320(card="CX3"),
        "d-delftblue-2x6248r-snc2": delftblue(interleaved=True),
        "d-delftblue-2x6248r-snc2-contiguous": delftblue(interleaved=False),
        "d-delftblue-2x6448y": delftblue2(),
    }
