"""Nodes of well-known clusters as advisor reads them: from files like /sys, or from a file like lstopo's."""

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from advisor.jobs.placement import RankPlace
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from advisor.machine.sources.registry import collect_machine
from tests.collect.xmls import core, document, info, node, thing
from tests.machines import nodemaps, sysfs
from tests.machines.read import hosted
from tests.machines.tree import packed

GIB = 1 << 30


@cache
def cluster(name: str) -> Machine:
    """Return a node described in tests/machines/nodemaps.py."""
    return collect_machine(hosted(sysfs.root(getattr(nodemaps, name)()), name))


def from_xml(data: bytes) -> Machine:
    """Return a machine as advisor reads it from a file of lstopo's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "node.xml"
        path.write_bytes(data)
        return read_machine(str(path))


def card(address: str, kind: str, *osdevs: tuple[str, str], speed: str = "31.507692", name: str = "") -> str:
    """Return a PCI device with its OS devices, each a name and hwloc's number of its type."""
    inner = "".join(f'<object type="OSDev" gp_index="1" name="{each}" osdev_type="{number}"/>' for each, number in osdevs)
    words = info("PCIDevice", name) if name else ""
    pci = f'pci_busid="{address}" pci_type="{kind}" pci_link_speed="{speed}"'
    return f'<object type="PCIDev" gp_index="1" {pci}>{words}{inner}</object>'


def bridge(root: str, *cards: str) -> str:
    """Return a host bridge, such as 0001:[02-03], with what is below it."""
    return f'<object type="Bridge" gp_index="1" bridge_type="0-1" depth="0" bridge_pci="{root}">{"".join(cards)}</object>'


def slingshot(address: str, number: int, interface: str = "hsn") -> str:
    """Return a Slingshot adapter as hwloc 2.9 shows it."""
    return card(address, "0200 [17db:0501] [17db:0000] 02", (f"{interface}{number}", "2"))


def mi300a(partitions: int = 1, *, told: bool = True) -> bytes:
    """Return a node of El Capitan or of AMD's lab: four APUs of 24 cores, GPU and adapter i on NUMA node i.

    (LLNL's mpibind tutorial, module 4; LLNL/mpibind issue 45: GPU i is PCI 000i:02.) ``partitions`` are those of each GPU.
    """
    packages = ""
    for i in range(4):
        cpus = [*range(24 * i, 24 * i + 24), *range(96 + 24 * i, 96 + 24 * i + 24)]
        names = [(f"rsmi{i * partitions + part}", "1") for part in range(partitions)] if told else []
        cards = bridge(
            f"{i:04x}:[00-02]",
            card(f"{i:04x}:01:00.0", "0200 [17db:0501] [17db:0000] 02", (f"hsn{i}", "2"), (f"cxi{i}", "2")),
            card(f"{i:04x}:02:00.0", "1200 [1002:74a0] [1002:74a0] 00", *names),
        )
        inner = "".join(core(24 * i + c, [24 * i + c, 96 + 24 * i + c], [i]) for c in range(24))
        packages += thing("Package", i, cpus, node(i, cpus, 128 * GIB) + inner + cards, [i])
    return document(packages, range(192), range(4))


def gh200() -> bytes:
    """Return a node of Alps: four Grace of 72 cores, GPU and adapter i beside each, GPU memory as nodes 4, 12, 20, 28.

    (CSCS documentation, running jobs on Alps; the schematic of its GH200 node.)
    """
    packages, graphics = "", (4, 12, 20, 28)
    for i in range(4):
        cpus, own = range(72 * i, 72 * i + 72), [i, graphics[i]]
        cards = bridge(f"{i:04x}:[00-01]", slingshot(f"{i:04x}:01:00.0", i)) + bridge(
            f"{i + 8:04x}:[00-01]",
            card(f"{i + 8:04x}:01:00.0", "0302 [10de:2342] [10de:16eb] a1", (f"nvml{i}", "1"), speed="1.969231"),
        )
        memory = node(i, cpus, 120 * GIB) + node(graphics[i], cpus, 96 * GIB)
        inner = "".join(core(cpu, [cpu], own) for cpu in cpus)
        packages += thing("Package", i, cpus, memory + inner + cards, own)
    return document(info("Architecture", "aarch64") + packages, range(288), [*range(4), *graphics])


GPU_NODES: Final = ("frontier", "perlmutter", "polaris", "aurora", "juwels_booster", "leonardo", "alps", "tuolumne", "dgx_h100")
"""Nodes with GPUs as their centres publish them; LUMI-G's is Frontier's."""


@cache
def gpu_node(name: str) -> bytes:
    """Return the file of one of them: an archive of /sys, or XML of lstopo's where no files like /sys are made here."""
    made = {"alps": gh200, "tuolumne": mi300a}.get(name)
    return made() if made else packed(sysfs.root(getattr(nodemaps, name)()), name)


def gpu_node_file(name: str, folder: Path) -> Path:
    """Write one of them, and return its path."""
    path = folder / f"{name}{'.xml' if gpu_node(name).startswith(b'<?xml') else '.tar.gz'}"
    path.write_bytes(gpu_node(name))
    return path


def told(rank: RankPlace) -> tuple[str, str | None, str | None]:
    """Return the CPUs of a rank, its GPU and its adapter."""
    return str(rank.slot.cpus), rank.slot.gpu, rank.slot.hca


def span(first: int, size: int, second: int = 0) -> str:
    """Return neighbouring CPUs, with their second threads so many numbers on."""
    cpus: Sequence[int] = range(first, first + size)
    return str(CpuSet([*cpus, *((cpu + second for cpu in cpus) if second else ())]))
