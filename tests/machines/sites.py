"""Nodes as sites have them, healthy or with one thing amiss: what is said of them is what somebody who knows them would say.

Processors are of public product pages (cores, L3, memory channels); clocks, PCI buses and firmware are like the project's other
machines of the same kind.
"""

from collections.abc import Iterator
from dataclasses import replace

from tests.machines.layout import Shape, cores, distances
from tests.machines.nodemaps import MILAN, TURIN_9575F, XEON_MAX, cassini, connectx, nvidia
from tests.machines.parts import dell, dimms, intel_nic, nic, port_down
from tests.machines.processors import CASCADE, GENOA, KNIGHTS, SAPPHIRE
from tests.machines.spec import GIB, Cache, Cgroup, Device, Dmi, Kernel, Node, Processor, Spec

SUPERMICRO = Dmi("Supermicro", "AS -2125HS-TNR", "H13DSH", "1.9")
LENOVO = Dmi("Lenovo", "ThinkSystem SR650 V3", "SB27B09240", "ESE124B-3.10")
CLOUD = Dmi("Amazon EC2", "hpc7a.96xlarge", "Not Specified", "1.0")
QEMU = Dmi("QEMU", "Standard PC (Q35 + ICH9, 2009)", "Not Specified", "1.16.3", chassis="1")
NOTEBOOK = Dmi("LENOVO", "20XW005PGE", "20XW005PGE", "N32ET92W (1.68 )", chassis="10")

GENOA_9124 = (replace(GENOA, l3=Cache(32768, 16)), "AMD EPYC 9124 16-Core Processor")
MILAN_7313 = (MILAN, "AMD EPYC 7313 16-Core Processor")
XEON_8480 = (replace(SAPPHIRE, model=143), "Intel(R) Xeon(R) Platinum 8480+")
XEON_8256 = (CASCADE, "Intel(R) Xeon(R) Platinum 8256 CPU @ 3.80GHz")

NPS4 = Shape(((4,),) * 4)
"""EPYC 9124 and 7313: four L3 groups of four cores, one in each node."""
WHOLE_56 = Shape(((56,),))


def node(name: str, processor: tuple[Processor, str], shape: Shape, dmi: Dmi, *, devices: tuple[Device, ...] = ()) -> Spec:
    """Return a node without SMT, its memory even over its nodes and a full set of DIMMs."""
    count = shape.sockets * len(shape.nodes)
    ddr5 = processor in (GENOA_9124, XEON_8480) or processor[0] in (TURIN_9575F, XEON_MAX)
    channels = 12 if processor == GENOA_9124 or processor[0] == TURIN_9575F else 8 if "EPYC" in processor[1] or ddr5 else 6
    memory = (
        ()
        if shape.sockets > 4
        else dimms(
            channels, 64, 4800 if ddr5 else 3200 if channels == 8 else 2933, sockets=shape.sockets, kind=0x22 if ddr5 else 0x1A
        )
    )
    return Spec(
        host=name,
        processor=processor[0],
        model=processor[1],
        khz=(1500000, 2400000, 3700000),
        cores=cores(shape),
        nodes=tuple(Node(number, channels * 64 * shape.sockets // count * GIB) for number in range(count)),
        slit=distances(count, shape.sockets, 12, 32),
        dmi=dmi,
        dimms=memory,
        devices=devices,
        buses={number: 0x10 * number for number in range(count)},
        possible=4 * shape.cores,
        kernel=Kernel(release="5.14.0-503.el9.x86_64"),
    )


def hdr(at: int, number: int = 0) -> Device:
    """Return a ConnectX-6 at HDR."""
    return connectx(at, number)


def in_job(made: Spec, cpus: frozenset[int]) -> Spec:
    """Return a node of which a job of Slurm has some CPUs and all memories."""
    path = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
    group = Cgroup(2, path, cpus, frozenset(memory.number for memory in made.nodes))
    return replace(made, kernel=replace(made.kernel, cgroup=group))


def genoa(name: str, *devices: Device) -> Spec:
    """Return a Genoa node at NPS4."""
    return node(name, GENOA_9124, NPS4, SUPERMICRO, devices=(nic(0, "eno1"), *devices))


def sites() -> Iterator[Spec]:
    """Yield every node."""
    healthy = genoa("genoa-hdr", hdr(0))
    yield healthy
    yield genoa("roce-only", connectx(0, 0, layer="Ethernet"))
    yield genoa("ethernet-and-infiniband", hdr(0), connectx(4, 1, layer="Ethernet"))
    yield genoa("dual-rail", hdr(0), hdr(4, 1))
    yield genoa("dual-rail-one-down", hdr(0), port_down(hdr(4, 1)))
    yield genoa("slingshot", cassini(0, 0))
    yield genoa("ethernet-only")
    yield replace(in_job(healthy, frozenset((0, 1, 4, 5))), host="job-4-of-32")
    yield replace(in_job(healthy, frozenset(range(4))), host="job-one-l3")
    yield replace(
        healthy,
        host="dimm-missing",
        dmi=dell("PowerEdge R7625", "0WRD4J", "1.9.5"),
        dimms=dimms(12, 64, 4800, kind=0x22, empty=(5,)),
    )
    yield from _cpus(healthy)
    yield from _accelerated()
    yield from _intel()
    yield from _others()


def _cpus(healthy: Spec) -> Iterator[Spec]:
    """Yield what is done to CPUs."""
    threads = cores(NPS4, threads=2)
    seconds = frozenset(core.pus[1] for core in threads)
    smt = replace(healthy, cores=threads, possible=512)
    yield replace(smt, host="smt-on")
    yield replace(smt, host="siblings-offline", kernel=replace(healthy.kernel, offline=seconds, smt_control="on"))
    yield replace(smt, host="smt-off-by-kernel", kernel=replace(healthy.kernel, offline=seconds, smt_control="off"))
    line = "isolcpus=nohz,domain,managed_irq,1-15 nohz_full=1-15"
    yield replace(healthy, host="isolated", kernel=replace(healthy.kernel, isolated=frozenset(range(1, 16)), cmdline=line))


def _accelerated() -> Iterator[Spec]:
    """Yield hosts of GPUs."""
    turin = Shape(((4,) * 8,))
    cards = tuple(nvidia(place, 0x2330) for place in (0, 0, 0, 0, 1, 1, 1, 1))
    rails = tuple(connectx(place, number) for number, place in enumerate((0, 0, 0, 0, 1, 1, 1, 1)))
    yield node("turin-8-h100", (TURIN_9575F, "AMD EPYC 9355 32-Core Processor"), turin, SUPERMICRO, devices=(*cards, *rails))
    mi300 = tuple(Device(place, 0x120000, 0x1002, 0x74A0, "amdgpu", "32.0 GT/s PCIe", 16) for place in range(4))
    zen4 = replace(GENOA, model=144)
    apu = Shape(((8, 8, 8),), sockets=4)
    yield node(
        "mi300a", (zen4, "AMD Instinct MI300A Accelerator"), apu, Dmi("HPE", "HPE Cray EX255a", "EX255a", "1.2"), devices=mi300
    )


def _intel() -> Iterator[Spec]:
    """Yield Xeons."""
    yield node("sapphire-snc-off", XEON_8480, WHOLE_56, LENOVO, devices=(hdr(0),))
    yield replace(node("sapphire-snc4", XEON_8480, Shape(((14,),) * 4, one_l3=True), LENOVO, devices=(hdr(0),)))
    flat = node("xeon-max-flat", (XEON_MAX, "Intel(R) Xeon(R) CPU Max 9480"), WHOLE_56, LENOVO, devices=(hdr(0),))
    hbm = (Node(2, 64 * GIB, "hbm", near=(0,)), Node(3, 64 * GIB, "hbm", near=(1,)))
    yield replace(flat, nodes=(*flat.nodes, *hbm), slit=distances(4, 2, 13, 21))
    yield node("xeon-max-alone", (XEON_MAX, "Intel(R) Xeon(R) CPU Max 9480"), WHOLE_56, LENOVO, devices=(hdr(0),))
    yield node("eight-sockets", XEON_8256, Shape(((4,),), sockets=8), Dmi("HPE", "Superdome Flex 280", "Superdome", "1.40"))
    cxl = node("cxl-memory", XEON_8480, WHOLE_56, LENOVO, devices=(hdr(0),))
    yield replace(cxl, nodes=(*cxl.nodes, Node(2, 256 * GIB, "cxl", near=(0,))), slit=distances(3, 3, 14, 24))
    yield node("knights-landing", (KNIGHTS, "Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz"), Shape(((68,),), sockets=1), LENOVO)


def _others() -> Iterator[Spec]:
    """Yield machines of clouds, a virtual machine and a notebook."""
    guest = node("kvm-guest", MILAN_7313, Shape(((16,),), sockets=1), QEMU)
    yield replace(guest, dimms=(), kernel=replace(guest.kernel, hypervisor=True))
    yield replace(node("cloud-instance", GENOA_9124, NPS4, CLOUD), dimms=())
    yield node("cloud-metal", MILAN_7313, NPS4, Dmi("Amazon EC2", "c6a.metal", "Not Specified", "1.0"))
    tiger = replace(CASCADE, model=140)
    small = node("notebook", (tiger, "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz"), Shape(((4,),), sockets=1), NOTEBOOK)
    yield replace(
        small,
        dimms=(),
        nodes=(Node(0, 16 * GIB),),
        cores=cores(Shape(((4,),), sockets=1), threads=2),
        devices=(intel_nic(0, "eth0"),),
    )
