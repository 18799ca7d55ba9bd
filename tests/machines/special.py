"""Machines on which counting NUMA nodes leads to the wrong answer, or that are limited from within."""

from dataclasses import replace

from tests.machines.layout import Shape, cores, distances
from tests.machines.parts import dell, dimms, gpu, hca, intel_nic, nic
from tests.machines.processors import GENOA, GRANITE, SKYLAKE, TURIN
from tests.machines.product import Choice, epyc
from tests.machines.seeds import c6320, c6525, even, r7425, rome_shape
from tests.machines.spec import GIB, Cgroup, Dmi, Kernel, Node, Spec

NPS4 = Choice(4)


def under(spec: Spec, kernel: Kernel) -> Spec:
    """Return a machine under another kernel."""
    return replace(spec, kernel=kernel)


def one_node(spec: Spec, *, quiet: bool = False) -> Spec:
    """Return a machine whose memory is all one node; a quiet one does not say where its devices are."""
    everything = replace(spec.nodes[0], kib=sum(node.kib for node in spec.nodes))
    devices = tuple(replace(device, node=0, says=-1 if quiet else None) for device in spec.devices)
    return replace(
        spec,
        cores=tuple(replace(core, node=0) for core in spec.cores),
        nodes=(everything,),
        slit=((10,),),
        devices=devices,
        buses={0: min(spec.buses.values())},
    )


def numa_off() -> Spec:
    """Return a Rome in NPS4 whose kernel was told to look away: its firmware's tables still show eight nodes."""
    real = epyc(NPS4)
    return under(replace(one_node(real, quiet=True), firmware=real), Kernel(cmdline="numa=off"))


def numa_fake(each: int = 8) -> Spec:
    """Return a Rome in NPS1 whose kernel splits each node into equal parts that share its CPUs (numa=fake=8U)."""
    real = epyc(Choice(1))
    count = len(real.nodes) * each
    nodes = tuple(Node(n, real.nodes[n // each].kib // each, cpus_of=n // each * each) for n in range(count))
    return replace(
        under(real, Kernel(cmdline=f"numa=fake={each}U")),
        cores=tuple(replace(core, node=core.node * each) for core in real.cores),
        nodes=nodes,
        slit=tuple(tuple(real.slit[a // each][b // each] for b in range(count)) for a in range(count)),
        devices=tuple(replace(device, node=device.node * each) for device in real.devices),
        buses={node * each: bus for node, bus in real.buses.items()},
        firmware=real,
    )


def memoryless() -> Spec:
    """Return a Rome in NPS4 with DIMMs in every other quadrant only."""
    real = epyc(NPS4)
    nodes = tuple(replace(node, kib=0 if node.number % 2 else 2 * node.kib) for node in real.nodes)
    return replace(real, nodes=nodes, dimms=dimms(8, 32, 3200, empty=(2, 3, 6, 7)))


def uneven(*, virtual: bool = False) -> Spec:
    """Return Azure's HBv4: 176 of 192 cores of two Genoa-X are left, so that one L3 group in six has four cores."""
    spec = Spec(
        host="hbv4",
        processor=GENOA,
        model="AMD EPYC 9V33X 96-Core Processor",
        khz=(1500000, 2550000, 3700000),
        cores=cores(Shape(((8, 8, 8, 8, 8, 4),) * 2)),
        nodes=even(4, 768),
        slit=distances(4, 2, 12, 32),
        dmi=Dmi("Microsoft Corporation", "Virtual Machine", "Virtual Machine", "Hyper-V UEFI", "3")
        if virtual
        else dell("PowerEdge R7625", "0N7D6X", "1.8.3"),
        dimms=() if virtual else dimms(12, 32, 4800, kind=0x22),
        devices=(hca(1, "CX7"),),
        buses={node: 0x20 * node for node in range(4)},
        possible=192,
    )
    return under(spec, Kernel(hypervisor=virtual, release="5.14.0-427.el9.x86_64"))


def limited(spec: Spec, version: int, cpus: set[int], mems: set[int]) -> Spec:
    """Return a machine seen from inside a job."""
    path = "/slurm/job1" if version == 2 else "/slurm/uid_1000/job_1"
    return under(spec, Kernel(cgroup=Cgroup(version, path, frozenset(cpus), frozenset(mems))))


def smt_disabled() -> Spec:
    """Return a Rome with SMT on in the BIOS and switched off by the kernel: every second thread is offline."""
    real = epyc(Choice(4, smt=True))
    second = frozenset(pu for core in real.cores for pu in core.pus[1:])
    return under(real, Kernel(offline=second, smt_control="off"))


def dies_as_packages() -> Spec:
    """Return the R7425 under a kernel that takes each die for a package."""
    real = r7425()
    split = tuple(replace(core, package=core.node, core_id=core.core_id % 8, l3=(core.l3 or 0) % 2) for core in real.cores)
    return under(replace(real, cores=split, firmware=real), Kernel(release="3.10.0-514.el7.x86_64"))


def dies() -> Spec:
    """Return the R7425 under a kernel that shows the dies of a package."""
    real = r7425()
    return under(replace(real, cores=tuple(replace(c, die=c.node) for c in real.cores)), Kernel(release="6.1.0-18-amd64"))


def adapters(*nodes: int) -> Spec:
    """Return a Rome in NPS4 with an HCA and a GPU on each of the given nodes."""
    real = epyc(NPS4)
    cards = [hca(node, "CX6", index=index) for index, node in enumerate(nodes)]
    return replace(real, devices=(nic(0, "eno1"), *cards, *(gpu(node) for node in nodes)))


def unplaced() -> Spec:
    """Return a Rome in NPS4 whose firmware does not say where the HCA is."""
    real = epyc(NPS4)
    return replace(real, devices=(nic(0, "eno1"), hca(6, "CX6", says=-1)))


def isolated() -> Spec:
    """Return the C6320 with its last two cores of each socket kept from the scheduler."""
    return under(c6320(), Kernel(isolated=frozenset(range(16, 20)), cmdline="isolcpus=16-19 nohz_full=16-19"))


def offline() -> Spec:
    """Return the C6320 with four CPUs switched off, all on the second socket."""
    return under(c6320(), Kernel(offline=frozenset((13, 15, 17, 19))))


def big() -> Spec:
    """Return 512 CPUs: 2 x 128 cores of Turin with SMT, NPS4."""
    return Spec(
        host="turin",
        processor=TURIN,
        model="AMD EPYC 9755 128-Core Processor",
        khz=(1500000, 2700000, 4121000),
        cores=cores(Shape(((8,) * 4,) * 4), threads=2),
        nodes=even(8, 1536),
        slit=distances(8, 2, 12, 32),
        dmi=dell("PowerEdge R7725", "0KRFPX", "1.1.3"),
        dimms=dimms(12, 64, 6000, kind=0x22),
        devices=(hca(3, "CX7"),),
        buses={node: 0x20 * node for node in range(8)},
        possible=512,
        kernel=Kernel(release="6.12.0-55.el10.x86_64"),
    )


def few_channels() -> Spec:
    """Return a Xeon 6972P with 126 GiB, as kernel test robots have them: its firmware names no DIMM without root."""
    return Spec(
        host="lkp-gnr",
        processor=GRANITE,
        model="Intel(R) Xeon(R) 6972P",
        khz=(800000, 2400000, 3900000),
        cores=cores(Shape(((96,),)), threads=2),
        nodes=even(2, 126),
        slit=distances(2, 2, 0, 21),
        possible=384,
        dmi=Dmi("Intel Corporation", "AvenueCity", "AvenueCity", "BHSDCRB1.IPC.0033.D57.2406240014"),
        dimms=(),
        devices=(intel_nic(0, "eno1", "eno2"),),
        buses={0: 0x15, 1: 0x97},
    )


def two_dies() -> Spec:
    """Return a server with one EPYC 9135: two dies of eight cores before twelve channels."""
    return Spec(
        host="t9135",
        processor=TURIN,
        model="AMD EPYC 9135 16-Core Processor",
        khz=(1500000, 3650000, 4300000),
        cores=cores(Shape(((8, 8),), sockets=1), threads=2),
        nodes=even(1, 384),
        slit=((10,),),
        dmi=dell("PowerEdge R6715", "0K5PXD", "1.1.3"),
        dimms=dimms(12, 32, 6000, sockets=1, kind=0x22),
        devices=(nic(0, "eno1"),),
        buses={0: 0x20},
    )


def gold_6146() -> Spec:
    """Return a blade with two Gold 6146, whose DIMMs are not known without root."""
    return Spec(
        host="dp-cn01",
        processor=SKYLAKE,
        model="Intel(R) Xeon(R) Gold 6146 CPU @ 3.20GHz",
        khz=(1200000, 3200000, 4200000),
        cores=cores(Shape(((12,),)), threads=2),
        nodes=even(2, 192),
        slit=distances(2, 2, 0, 21),
        dmi=Dmi("Intel Corporation", "S2600BPB", "S2600BPB", "SE5C620.86B.02.01.0008"),
        dimms=(),
        devices=(hca(0, "CX5"),),
        buses={0: 0x17, 1: 0x85},
    )


def crux() -> Spec:
    """Return a node with two EPYC 7742, of which an HPL of 3022.7 GFLOP/s is published (alcf-crux-hpl)."""
    return c6525("7742", rome_shape(16, 4, 4), 2250000)


def interleaved() -> Spec:
    """Return the C6320 with node interleaving: its firmware gives no SRAT."""
    return one_node(c6320())


def nps0() -> Spec:
    """Return a Rome in NPS0: one node over both sockets."""
    spec = one_node(epyc(Choice(1)))
    return replace(spec, nodes=(Node(0, 256 * GIB),))
