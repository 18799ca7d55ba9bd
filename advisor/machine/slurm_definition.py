"""The definition that a node wants in slurm.conf and gres.conf: its line, what the line rests on, what it cannot say."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from advisor.machine.cpuset import CpuSet, union
from advisor.machine.devices import Gpu
from advisor.machine.machine import Machine
from advisor.machine.node_sets import folded
from advisor.machine.slurm_node import PARAMETERS, FoundNode, found_by_slurmd
from advisor.machine.topology import Topology
from advisor.machine.value import MIB

MARGIN: Final = 1024
"""MiB below MemTotal from 64 GiB on: kdump, once it is switched on, takes 512 there (on ARM 576 or 676), a new kernel some more.

Red Hat Enterprise Linux 10, Supported kdump configurations and targets: minimum amount of reserved memory; below 64 GB it is 256.
"""
_LARGE: Final = 64 << 10
"""MiB."""
_ALIKE: Final = 64
"""Captures of nodes alike have the same MemTotal within a 64th."""


@dataclass(frozen=True)
class Gres:
    """GPUs of one model near the same cores."""

    type: str | None
    """a100: a word of the name that Slurm's AutoDetect would find; None where the model is not known."""
    files: tuple[str, ...]
    cores: CpuSet | None
    """By Slurm's numbers; None for all of them, or where it is not known."""

    def line(self, nodes: str) -> str:
        """Return its line of gres.conf."""
        words = [f"NodeName={nodes}", "Name=gpu", f"Type={self.type}" if self.type else "", f"File={_files(self.files)}"]
        return " ".join(filter(None, [*words, f"Cores={self.cores}" if self.cores else ""]))


@dataclass(frozen=True)
class Definition:
    """What slurm.conf and gres.conf want of a node, or of nodes alike."""

    found: FoundNode
    total: int | None = None
    """MiB of MemTotal, as slurmd -C prints it; of several nodes the least that is sure."""
    memory: int | None = None
    """MiB for RealMemory."""
    gpus: tuple[Gres, ...] = ()
    architecture: str | None = None
    not_known: tuple[str, ...] = ()
    other: "tuple[str, Definition] | None" = field(default=None, compare=False)
    """The word of SlurmdParameters that makes sockets of what GPUs are near to, and the definition with it."""

    @property
    def usable(self) -> bool:
        """Whether Slurm can describe the node at all: hwloc's tree may lack sockets or cores."""
        return self.found.described > 0

    @property
    def gres(self) -> str:
        """Return the value of Gres; empty where there is none to write."""
        counts: dict[str | None, int] = {}
        for each in self.gpus:
            counts[each.type] = counts.get(each.type, 0) + len(each.files)
        return ",".join(f"gpu:{kind}:{count}" if kind else f"gpu:{count}" for kind, count in counts.items())

    def line(self, nodes: str) -> str:
        """Return the line of slurm.conf."""
        found = self.found
        words = [
            f"NodeName={nodes} CPUs={found.described} Boards={found.boards} SocketsPerBoard={found.per_board}",
            f"CoresPerSocket={found.cores} ThreadsPerCore={found.threads}",
            f"RealMemory={self.memory}" if self.memory else "",
            f"Gres={self.gres}" if self.gpus else "",
        ]
        return " ".join(filter(None, words))


def definition_of(machine: Machine, *, several: bool = False) -> Definition | None:
    """Return what a machine wants; None without its topology. ``several``: it stands for nodes alike, whose memory varies."""
    topology = machine.topology
    found = found_by_slurmd(topology) if topology else None
    if topology is None or found is None:
        return None
    total = total_memory(topology)
    least = total and (total - total // _ALIKE if several else total)
    made = Definition(found, least, least and less_margin(least), architecture=machine.architecture)
    made = _with_gpus(made, machine.gpus, topology)
    hidden = (f"CPUs {topology.missing}: offline, or hidden from this source; slurmd counts those that are online",)
    return replace(
        made,
        other=_other(made, machine.gpus or (), topology),
        not_known=(*(hidden if topology.missing else ()), *made.not_known),
    )


def less_margin(total: int) -> int:
    """Return the RealMemory for a MemTotal, in MiB.

    >>> less_margin(262144), less_margin(24105), less_margin(600)
    (261120, 23593, 300)
    """
    return max(total // 2, total - (MARGIN if total >= _LARGE else MARGIN // 2))


def total_memory(topology: Topology) -> int | None:
    """Return MemTotal in MiB, as slurmd rounds it; None where a NUMA node's is not known."""
    sizes = [node.memory for node in topology.nodes]
    known = [size for size in sizes if size is not None]
    return sum(known) // MIB or None if len(known) == len(sizes) else None


def _with_gpus(made: Definition, gpus: Sequence[Gpu] | None, topology: Topology) -> Definition:
    """Return a definition with its GPUs, where the device file of each is known: without File= Slurm drains the node."""
    if gpus is None:
        return replace(made, not_known=("Gres: GPUs are not known, this source shows no PCI devices",))
    if any(gpu.instances for gpu in gpus):
        return replace(
            made, not_known=("Gres: GPUs are split into MIG instances; AutoDetect=nvml lists those, or MultipleFiles=",)
        )
    if any(gpu.file is None for gpu in gpus):
        return replace(made, not_known=tuple(_unnamed(made, gpus, topology)))
    typed = all(type_of(gpu) for gpu in gpus)
    rows = [(type_of(gpu) if typed else None, near(gpu, made.found, topology), gpu.file or "") for gpu in gpus]
    grouped = groupby(rows, key=lambda row: (row[0], str(row[1] or "")))
    lines = [list(group) for _, group in grouped]
    unplaced = [gpu.address for gpu in gpus if local_cpus(gpu, topology) is None]
    why = (f"Cores: of {', '.join(unplaced)}: nothing shows which NUMA node is near",) if unplaced else ()
    return replace(
        made, gpus=tuple(Gres(group[0][0], tuple(row[2] for row in group), group[0][1]) for group in lines), not_known=why
    )


def _unnamed(made: Definition, gpus: Sequence[Gpu], topology: Topology) -> Iterator[str]:
    yield (
        f"Gres: {len(gpus)} GPUs, whose device files this source does not show, and a gpu without File= drains the node; "
        "export on the node itself, or write AutoDetect=nvml (rsmi, oneapi) where slurmd has the library"
    )
    for kind, cores, where in sorted((type_of(gpu) or "GPU", near(gpu, made.found, topology), gpu.address) for gpu in gpus):
        if cores:
            yield f"  {kind} {where}: Cores={cores}"


def near(gpu: Gpu, found: FoundNode, topology: Topology) -> CpuSet | None:
    """Return Slurm's numbers of the cores near a GPU; None where that is not known, or all are."""
    cpus = local_cpus(gpu, topology)
    if cpus is None or not found.order or not found.even:
        return None
    cores = found.numbers(cpus)
    return cores if cores and len(cores) < len(found.order) else None


def local_cpus(gpu: Gpu, topology: Topology) -> CpuSet | None:
    """Return the CPUs near a GPU, by the kernel's numbers."""
    place = gpu.locality
    if place is None or place.one_of:
        return None
    if place.cpus:
        return place.cpus
    return union(node.near for node in topology.nodes if node.os_index in place.numa_nodes) or None


def type_of(gpu: Gpu) -> str | None:
    """Return a word of a GPU's name for Type=, such as a100, in small letters: part of what AutoDetect calls it.

    >>> [type_of(Gpu(address="0", model=name)) for name in ("NVIDIA A100-SXM4-40GB", "GV100GL [Tesla V100 PCIe 16GB]", None)]
    ['a100', 'v100', None]
    """
    name = (gpu.model or "").lower()
    name = re.sub(r".*\[(.*)\].*", r"\1", name)
    word = re.search(r"(?<![a-z0-9])((?:mi|gh|gb|max )?[a-z]{0,2}\d{2,4}[a-z]?)(?![a-z0-9])", name)
    if word and not word[1][0].isdigit():
        return word[1].replace(" ", "_")
    return re.sub(r"[^a-z0-9_.-]+", "_", name).strip("_") or None


def _other(made: Definition, gpus: Iterable[Gpu], topology: Topology) -> tuple[str, Definition] | None:
    """Return what to make sockets of where GPUs are near to parts of one: NUMA nodes, else L3 groups.

    Not beside x86: slurmd 22.05.8 was seen to stop where hwloc's tree has groups of clusters too.
    """
    cores = [cores for gpu in gpus if (cores := near(gpu, made.found, topology))]
    if not cores or all(map(made.found.whole_sockets, cores)) or made.architecture != "x86_64":
        return None
    for word, kind in sorted(PARAMETERS.items(), reverse=True):
        found = found_by_slurmd(topology, kind)
        fits = found and found.even and found.alike and found.sockets > made.found.sockets and found.order == made.found.order
        if found and fits and all(map(found.whole_sockets, cores)):
            return word, replace(made, found=found)
    return None


def hostlist(names: Iterable[str]) -> str:
    """Return names as slurm.conf takes them: short, folded; one by one where brackets would not stand at the end.

    >>> hostlist(["n2.x.org", "n1"]), hostlist(["n1-ib", "n2-ib"])
    ('n[1-2]', 'n1-ib,n2-ib')
    """
    short = sorted({name.partition(".")[0] for name in names})
    text = folded(short)
    inside = any(part and not part.startswith(",") for part in text.split("]")[1:])
    return ",".join(short) if inside else text


def _files(files: Sequence[str]) -> str:
    """Return device files as gres.conf has them.

    >>> _files(["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia3"]), _files(["/dev/a0", "/dev/b0"])
    ('/dev/nvidia[0-1,3]', '/dev/a0,/dev/b0')
    """
    parts = [re.fullmatch(r"(.*?)(\d{1,5})", file) for file in files]
    stems = {part[1] for part in parts if part}
    if len(files) == 1 or len(stems) != 1 or None in parts:
        return ",".join(files)
    return f"{stems.pop()}[{CpuSet(int(part[2]) for part in parts if part)}]"
