"""Nodes of well-known clusters: which GPU and which adapter their sites say are beside which cores.

The facts are of the sites' own pages, each named where it is used; everything else (clocks, DIMMs) is like the project's
other machines of the same processor.
"""

from dataclasses import replace

from tests.machines.layout import Shape, cores, distances
from tests.machines.processors import CASCADE, GENOA, ROME, SAPPHIRE
from tests.machines.spec import GIB, Cache, Device, Dmi, Hca, Kernel, Net, Node, Processor, Spec

MILAN = replace(ROME, family=25, model=1, l3=Cache(32768, 16))
TRENTO = replace(MILAN, model=48)
XEON_MAX = replace(CASCADE, model=143, stepping=8, l3=Cache(115200, 15), l2=Cache(2048, 16))
ICELAKE = replace(CASCADE, model=106, stepping=6, l3=Cache(49152, 12), l2=Cache(1280, 20))
TURIN_9575F = replace(GENOA, family=26, model=2, l3=Cache(32768, 16))

_CRAY = Dmi("HPE", "HPE CRAY EX", "HPE CRAY EX", "1.4.0")


def _spec(name: str, processor: tuple[Processor, str], shape: Shape, nodes: int, devices: tuple[Device, ...]) -> Spec:
    """Return a node with SMT, one root bus for each NUMA node, 32 apart."""
    numbers = range(nodes)
    return Spec(
        host=name,
        processor=processor[0],
        model=processor[1],
        khz=(1500000, 2450000, 3500000),
        cores=cores(shape, threads=2),
        nodes=tuple(Node(number, 128 * GIB) for number in numbers),
        slit=distances(nodes, shape.sockets, 12, 32),
        dmi=_CRAY,
        devices=devices,
        buses={number: 0x20 * number for number in numbers},
        possible=2 * shape.cores,
        kernel=Kernel(release="5.14.21-150500.55.49-default"),
    )


def cassini(node: int, number: int, bus: int | None = None, says: int | None = None) -> Device:
    """Return a Slingshot adapter with its interface and its libfabric name."""
    net = Net(f"hsn{number}", f"02:00:00:00:00:{number:02x}", mtu=9000, mbit=200000)
    card = Device(node, 0x020000, 0x17DB, 0x0501, "cxi_ss1", "16.0 GT/s PCIe", 16, subsystem=(0x17DB, 0), nets=(net,), says=says)
    return replace(card, bus=bus, cxi=f"cxi{number}")


def connectx(node: int, number: int, *, layer: str = "InfiniBand") -> Device:
    """Return a ConnectX-6 of which the port is InfiniBand or Ethernet."""
    lid = f"0x{0x21 + number:x}" if layer == "InfiniBand" else "0x0"
    port = Hca(f"mlx5_{number}", "MT4123", "20.39.3560", "MT_0000000223", "200 Gb/sec (4X HDR)", layer=layer, lid=lid)
    port = replace(port, guid=f"0c42:a103:00aa:cc{number:02x}")
    code = 0x020700 if layer == "InfiniBand" else 0x020000
    return Device(node, code, 0x15B3, 0x101B, "mlx5_core", "16.0 GT/s PCIe", 16, subsystem=(0x15B3, 8), hcas=(port,))


def nvidia(node: int, device: int = 0x20B0) -> Device:
    """Return an NVIDIA GPU, an A100 unless told."""
    return Device(node, 0x030200, 0x10DE, device, "nvidia", "16.0 GT/s PCIe", 16, subsystem=(0x10DE, 0x134F))


def frontier() -> Spec:
    """Return a node of Frontier or LUMI-G: OLCF's Frontier user guide and LUMI's page on distribution and binding.

    Its firmware places no card (numa_node is -1); the buses are those of the published lstopo of Tioga, the same blade.
    """
    beside = {0: (0xD1, 0xD6), 1: (0xC9, 0xCE), 2: (0xD9, 0xDE), 3: (0xC1, 0xC6)}
    adapters = {0: (2, 0xD5), 1: (1, 0xCD), 2: (3, 0xDD), 3: (0, 0xC5)}
    dies = [
        Device(node, 0x038000, 0x1002, 0x7408, "amdgpu", "16.0 GT/s PCIe", 16, subsystem=(0x1002, 0x0B0C), says=-1, bus=bus)
        for node, buses in beside.items()
        for bus in buses
    ]
    nics = [cassini(node, number, bus, says=-1) for node, (number, bus) in adapters.items()]
    shape = Shape(((8, 8),) * 4, sockets=1)
    made = _spec("frontier", (TRENTO, "AMD EPYC 7A53 64-Core Processor"), shape, 4, (*dies, *nics))
    roots = {3: 0xC0, 1: 0xC8, 0: 0xD0, 2: 0xD8}
    return replace(made, buses=roots, dmi=replace(_CRAY, product="HPE_CRAY_EX235A", board="HPE CRAY EX235A"))


def perlmutter() -> Spec:
    """Return a GPU node of Perlmutter: GPU and adapter 0 are on NUMA node 3, and so on downwards (measured locality, public)."""
    cards = [card for node in range(4) for card in (nvidia(node), cassini(node, 3 - node))]
    made = _spec("perlmutter", (MILAN, "AMD EPYC 7763 64-Core Processor"), Shape(((8, 8),) * 4, sockets=1), 4, tuple(cards))
    # GPU 0 has the lowest address and is on the highest node.
    return replace(made, buses={3: 0x00, 2: 0x20, 1: 0x40, 0: 0x60})


def polaris() -> Spec:
    """Return a node of Polaris: GPU 0 is on NUMA node 3; one adapter is beside GPU 1, one beside GPU 3 (ALCF's Polaris page)."""
    cards = (*(nvidia(node) for node in range(4)), connectx(0, 0, layer="Ethernet"), connectx(2, 1, layer="Ethernet"))
    made = _spec("polaris", (MILAN, "AMD EPYC 7543P 32-Core Processor"), Shape(((8,),) * 4, sockets=1), 4, cards)
    return replace(made, buses={3: 0x00, 2: 0x20, 1: 0x40, 0: 0x60})


def aurora() -> Spec:
    """Return a node of Aurora: three GPUs for each socket, HBM as nodes 2 and 3 (ALCF's page on running jobs)."""
    cards = tuple(
        Device(node, 0x038000, 0x8086, 0x0BD5, "i915", "32.0 GT/s PCIe", 16, subsystem=(0x8086, 0), tiles=2)
        for node in (0, 1)
        for _ in "012"
    )
    made = _spec("aurora", (XEON_MAX, "Intel(R) Xeon(R) CPU Max 9470C"), Shape(((52,),)), 2, cards)
    hbm = tuple(Node(number, 64 * GIB * 98 // 100, kind="hbm", near=(number - 2,)) for number in (2, 3))
    return replace(made, nodes=(*made.nodes, *hbm), slit=distances(4, 2, 12, 32))


def juwels_booster() -> Spec:
    """Return a node of JUWELS Booster: nvidia-smi topo -mp of a public job script; GPU and adapter share a switch (PIX)."""
    cards = tuple(card for number, node in enumerate((3, 1, 7, 5)) for card in (nvidia(node), connectx(node, number)))
    made = _spec("juwels", (ROME, "AMD EPYC 7402 24-Core Processor"), Shape(((3, 3),) * 4), 8, cards)
    # GPU 0 has the lowest address and is on NUMA node 3.
    return replace(made, buses={3: 0x00, 1: 0x40, 7: 0x80, 5: 0xC0, 0: 0x30, 2: 0x70, 4: 0xB0, 6: 0xF0})


def leonardo() -> Spec:
    """Return a node of Leonardo Booster: 32 cores without SMT in two sub-NUMA clusters, two GPUs and two ports on each.

    (docs.hpc.cineca.it/hpc/leonardo.html; the clusters and the GPUs' addresses: ana.run/blog/subnuma-leonardo. Which port is
    beside which GPU is not published.)
    """
    cards = (*(nvidia(node) for node in (0, 0, 1, 1)), *(connectx(number // 2, number) for number in range(4)))
    shape = Shape(((16,), (16,)), sockets=1, one_l3=True)
    made = _spec("leonardo", (ICELAKE, "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz"), shape, 2, cards)
    return replace(made, cores=cores(shape), possible=64, buses={0: 0x10, 1: 0x80}, dmi=Dmi("BULL", "X2135", "X2135", "1.0"))


def dgx_h100() -> Spec:
    """Return a DGX H100: GPUs 0 to 3 and four adapters on socket 0 (CPUs 0-55,112-167), the others on socket 1.

    (NVIDIA DGX H100 User Guide, table of network modules: the GPU of each adapter and its RDMA name.)
    """
    rails = (0, 3, 4, 5, 6, 9, 10, 11)
    cards = tuple(nvidia(at // 4, 0x2330) for at in range(8))
    nics = tuple(connectx(at // 4, number) for at, number in enumerate(rails))
    made = _spec("dgx", (replace(SAPPHIRE, model=143), "Intel(R) Xeon(R) Platinum 8480C"), Shape(((56,),)), 2, (*cards, *nics))
    return replace(made, buses={0: 0x10, 1: 0x90}, dmi=Dmi("NVIDIA", "DGXH100", "DGXH100", "1.01.03"))


def h200_turin() -> Spec:
    """Return two Turins in NPS2 with four H200, two on each socket, and two adapters, both on the first socket.

    The first socket's GPUs are in the node of one adapter; from the second socket both adapters are equally far.
    """
    cards = (nvidia(0, 0x2335), nvidia(0, 0x2335), nvidia(2, 0x2335), nvidia(2, 0x2335), connectx(0, 0), connectx(1, 1))
    made = _spec("h200", (TURIN_9575F, "AMD EPYC 9575F 64-Core Processor"), Shape(((8,) * 4,) * 2), 4, cards)
    return replace(made, dmi=Dmi("Dell Inc.", "PowerEdge XE7745", "0N7D6X", "1.2.1"))


def mixed() -> Spec:
    """Return a Milan in NPS4 with an Ethernet adapter on its first NUMA node, and an InfiniBand one on its second."""
    cards = (connectx(0, 0, layer="Ethernet"), connectx(1, 1))
    return _spec("mixed", (MILAN, "AMD EPYC 7763 64-Core Processor"), Shape(((8, 8),) * 4, sockets=1), 4, cards)
