"""Machines whose memory is not all DRAM beside a CPU: HBM, CXL, NVDIMM, Knights Landing."""

from dataclasses import replace

from tests.machines.layout import Shape, cores, distances
from tests.machines.parts import dell, dimms, hca
from tests.machines.processors import CASCADE, KNIGHTS, SAPPHIRE
from tests.machines.spec import GIB, Access, Dmi, Kernel, Node, Spec

Rows = tuple[tuple[int, ...], ...]

DRAM = Access(latency=110, bandwidth=38400)
HBM = Access(latency=130, bandwidth=204800)
CXL = Access(latency=250, bandwidth=32768)
NVDIMM = Access(latency=350, bandwidth=12288)
MODERN = Kernel(release="6.4.0-150600.23.17-default")


def beyond(rows: Rows, near: int, inside: int, outside: int) -> Rows:
    """Return a SLIT with one memory-only node more for each CPU node: near its own, else inside or outside its socket."""
    count, socket = len(rows), min(set(rows[0]) - {10})

    def cell(a: int, b: int) -> int:
        between = rows[a % count][b % count]
        if a == b or (a < count and b < count):
            return between
        return near if between == 10 else inside if between == socket else outside

    return tuple(tuple(cell(a, b) for b in range(2 * count)) for a in range(2 * count))


def xeon(shape: Shape, nodes: tuple[Node, ...], slit: Rows) -> Spec:
    """Return a two-socket Sapphire Rapids or Xeon Max."""
    return Spec(
        host="spr",
        processor=SAPPHIRE,
        model="Intel(R) Xeon(R) CPU Max 9462",
        khz=(800000, 2700000, 3500000),
        cores=cores(shape),
        nodes=nodes,
        slit=slit,
        dmi=dell("PowerEdge C6620", "0HF25T", "1.5.6"),
        dimms=dimms(8, 32, 4800, kind=0x22),
        devices=(hca(0, "CX7"),),
        buses={0: 0x15, 1: 0x97},
        kernel=MODERN,
    )


def hbm_flat() -> Spec:
    """Return a Xeon Max in SNC4 and flat mode: nodes 8 to 15 are HBM without CPUs."""
    dram = tuple(Node(n, 64 * GIB, access=DRAM) for n in range(8))
    hbm = tuple(Node(n + 8, 16 * GIB, "hbm", near=(n,), access=HBM) for n in range(8))
    slit = beyond(distances(8, 2, 12, 21), 13, 14, 23)
    return xeon(Shape(((8,),) * 4, one_l3=True), (*dram, *hbm), slit)


def hbm_cache() -> Spec:
    """Return a Xeon Max in SNC4 and cache mode: the HBM is a memory-side cache."""
    nodes = tuple(Node(n, 64 * GIB, access=DRAM, side_cache=16 << 30) for n in range(8))
    return xeon(Shape(((8,),) * 4, one_l3=True), nodes, distances(8, 2, 12, 21))


def cxl() -> Spec:
    """Return a Sapphire Rapids with a CXL memory expander near its first socket."""
    dram = tuple(Node(n, 256 * GIB, access=DRAM) for n in range(2))
    expander = Node(2, 128 * GIB, "cxl", near=(0,), access=CXL)
    spec = xeon(Shape(((32,),)), (*dram, expander), ((10, 21, 14), (21, 10, 24), (14, 24, 10)))
    return replace(spec, model="Intel(R) Xeon(R) Gold 6448Y", khz=(800000, 2100000, 4100000))


def nvdimm() -> Spec:
    """Return a Cascade Lake whose Optane modules are nodes 2 and 3."""
    dram = tuple(Node(n, 96 * GIB, access=DRAM) for n in range(2))
    optane = tuple(Node(n + 2, 512 * GIB, "nvdimm", near=(n,), access=NVDIMM) for n in range(2))
    spec = xeon(Shape(((20,),)), (*dram, *optane), beyond(distances(2, 2, 0, 21), 17, 28, 28))
    return replace(
        spec,
        processor=CASCADE,
        model="Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz",
        khz=(1000000, 2500000, 3900000),
        dmi=dell("PowerEdge R640", "0H28RR", "2.19.1"),
        dimms=dimms(6, 16, 2933),
        devices=(hca(0, "CX5"),),
    )


def knights_landing() -> Spec:
    """Return a Xeon Phi in SNC4 and flat mode: no L3, four threads a core, MCDRAM on nodes 4 to 7, no HMAT."""
    dram = tuple(Node(n, 24 * GIB) for n in range(4))
    mcdram = tuple(Node(n + 4, 4 * GIB, "hbm", near=(n,)) for n in range(4))
    plain = cores(Shape(((16,),) * 4, sockets=1), threads=4)
    return Spec(
        host="knl",
        processor=KNIGHTS,
        model="Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz",
        khz=(1000000, 1300000, 1500000),
        cores=tuple(replace(core, l3=None) for core in plain),
        nodes=(*dram, *mcdram),
        slit=beyond(distances(4, 1, 21, 31), 31, 41, 41),
        dmi=Dmi("Intel Corporation", "S7200AP", "S7200AP", "S72C610.86B.01.02.0118"),
        dimms=dimms(6, 16, 2133, sockets=1),
        possible=256,
    )
