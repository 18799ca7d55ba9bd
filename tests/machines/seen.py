"""Machines about which the first screen once said something false, or nothing, each by its shape."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tests.machines import sysfs
from tests.machines.layout import Shape, cores, distances
from tests.machines.parts import dell, dimms, hca, intel_nic
from tests.machines.processors import CASCADE, GENOA
from tests.machines.seeds import even
from tests.machines.spec import GIB, Cache, Device, Dmi, Hca, Kernel, Net, Node, Spec
from tests.machines.tiers import hbm_flat, nvdimm
from tests.machines.tree import Tree, texts

_CPU: Final = "sys/devices/system/cpu"


def gb10() -> Tree:
    """Return a DGX Spark: Cortex-A725 of 2.8 GHz and Cortex-X925 of 3.9, the best of which may run 2.7 % above its base."""
    spec = Spec(
        host="spark",
        processor=replace(GENOA, l2=Cache(512, 8), l3=Cache(16384, 16)),
        model="GB10",
        khz=(338000, 2808000, 3900000),
        cores=cores(Shape(((10, 10),), sockets=1)),
        nodes=(Node(0, 120 * GIB),),
        slit=((10,),),
        dmi=Dmi("NVIDIA", "NVIDIA_DGX_Spark", "P4242", "5.36_0ACUM018"),
        buses={0: 0},
        kernel=Kernel(release="6.14.0-1013-nvidia"),
    )
    tree = {path: text for path, text in sysfs.root(spec).items() if not path.startswith(("sys/firmware", "proc/cpuinfo"))}
    infos = []
    for pu in range(20):
        large = pu % 10 >= 5
        clock, level = (3900, 150) if large else (2808, 108)
        infos.append(
            f"processor\t: {pu}\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd sve sve2\nCPU implementer\t: 0x41\n"
            f"CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: {'0xd85' if large else '0xd87'}\nCPU revision\t: 1\n"
        )
        tree |= texts(f"{_CPU}/cpu{pu}/cpufreq", {"cpuinfo_max_freq": 1000 * clock, "scaling_max_freq": 1000 * clock, "boost": 0})
        tree |= texts(f"{_CPU}/cpu{pu}/cpufreq", {"scaling_driver": "cppc_cpufreq"})
        highest = 154 if pu == 19 else level
        tree |= texts(f"{_CPU}/cpu{pu}/acpi_cppc", {"nominal_freq": clock, "nominal_perf": level, "highest_perf": highest})
    architecture = tree["proc/hwloc-nofile-info"]
    assert isinstance(architecture, bytes)
    return (
        tree
        | texts(f"{_CPU}/cpufreq", {"boost": 0})
        | {
            "proc/cpuinfo": "\n".join(infos).encode(),
            "proc/hwloc-nofile-info": architecture.replace(b"x86_64", b"aarch64"),
        }
    )


def x722() -> Tree:
    """Return a server with Optane nodes and an X722, whose driver i40iw gives ports LID 1; as hwloc keeps it: no link layer."""
    ports = tuple(
        Hca(
            f"i40iw{at}",
            "I40IW",
            "5.0",
            "I40IW Board ID",
            "10 Gb/sec (4X SDR)",
            state="1: DOWN",
            physical="3: Disabled",
            lid="0x1",
        )
        for at in range(4)
    )
    nets = tuple(Net(f"enp45s0f{at}", f"a4:bf:01:00:00:{at:02x}", mbit=10000) for at in range(4))
    card = Device(0, 0x020000, 0x8086, 0x37D2, "i40e", "2.5 GT/s PCIe", 1, (0x8086, 0), 4, ports, nets)
    tree = sysfs.root(replace(nvdimm(), host="purley", devices=(card,)))
    return {path: text for path, text in tree.items() if not path.endswith("/link_layer")}


def genoa_unequal() -> Spec:
    """Return two EPYC 9354 at NPS1, one with 128 GiB, one with 192; without root no DIMM is known."""
    return Spec(
        host="genoa",
        processor=replace(GENOA, l3=Cache(32768, 16)),
        model="AMD EPYC 9354 32-Core Processor",
        khz=(1500000, 3250000, 3800000),
        cores=cores(Shape(((4,) * 8,))),
        nodes=(Node(0, 128 * GIB), Node(1, 192 * GIB)),
        slit=distances(2, 2, 12, 32),
        dmi=dell("PowerEdge R7625", "0N7D6X", "1.8.3"),
        devices=(intel_nic(0, "eno1"), hca(1, "CX7")),
        buses={0: 0x00, 1: 0x80},
    )


def held_by_systemd() -> Spec:
    """Return an R740xd with 80 CPUs whose services, slurmd among them, are held to six of them on the kernel command line."""
    return Spec(
        host="r740xd",
        processor=CASCADE,
        model="Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
        khz=(1000000, 2100000, 3900000),
        cores=cores(Shape(((20,),)), threads=2),
        nodes=even(2, 384),
        slit=distances(2, 2, 0, 21),
        dmi=dell("PowerEdge R740xd", "0WGD1N", "2.19.1"),
        dimms=dimms(6, 32, 2933),
        devices=(intel_nic(0, "eno1", "eno2"), hca(0, "CX5")),
        buses={0: 0x17, 1: 0x85},
        possible=80,
        kernel=Kernel(cmdline="systemd.cpu_affinity=0-2,40-42"),
    )


def trees() -> Mapping[str, Tree]:
    """Return the files of each by name."""
    return {
        "gb10": gb10(),
        "x722-optane": x722(),
        "xeon-max-flat": sysfs.root(hbm_flat()),
        "genoa-128-192": sysfs.root(genoa_unequal()),
        "r740xd-systemd-affinity": sysfs.root(held_by_systemd()),
    }
