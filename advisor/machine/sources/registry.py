"""Asks every source and joins their answers into one Machine, with what several sources tell together of cards."""

import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final

import advisor.machine.sources
from advisor.errors import AdvisorError, CannotWork
from advisor.machine.cpuset import bounded_sets
from advisor.machine.devices import Gpu, Hca, Locality, Nic, PciDevice, bus_of
from advisor.machine.fact import identities, lists_with
from advisor.machine.hosts.base import Host, PublicText, screened_host
from advisor.machine.machine import Facts, Gap, Machine, merge
from advisor.machine.sources import fault_counters
from advisor.machine.sources.cpu import with_processor_name
from advisor.machine.sources.network import with_link_layers
from advisor.machine.sources.pci import AMD, COHERENT, NVIDIA, partition
from advisor.machine.sources.reader import FactSource
from advisor.machine.topology import NumaNode, Topology, counts

_GIB: Final = 1 << 30

_COHERENT_NAME: Final = re.compile(r"\bG[HB]\d{2,3}\b")
_SXM2: Final = (0x15F9, 0x1DB1, 0x1DB5)
"""P100 SXM2, V100 SXM2 of 16 and of 32 GB; POWER8NVL and POWER9 have NVLinks of their own, x86 processors have none."""
_MI300A: Final = 0x74A0
"""The PCI ID Repository; it shares a package with its cores."""
_MI250X: Final = (0x7408, 0x740C)
"""The same; on an EX235a each die is joined to the processor by Infinity Fabric (OLCF, Crusher quick start guide)."""

_PARTITIONS: Final = {"DPX": 2, "TPX": 3, "QPX": 4}
"""Partitions of a card by the mode's name (AMD GPU driver documentation, GPU partitioning)."""
_DIES: Final = {0x74A0: 6, 0x74A1: 8, 0x74A5: 8}
"""Compute dies of MI300A, MI300X and MI325X: in CPX each is a partition (the same)."""

_EX235A: Final = re.compile(r"EX[ _]?235[aA]")
_BARD_PEAK: Final = {0xC1: 48, 0xC6: 56, 0xC9: 16, 0xCE: 24, 0xD1: 0, 0xD6: 8, 0xD9: 32, 0xDE: 40}
"""The first core of the eight that each GPU's PCI bus is beside: the node diagram of OLCF's Frontier user guide."""
_BARD_PEAK_NICS: Final = {0xC5: 48, 0xCD: 16, 0xD5: 0, 0xDD: 32}
"""The first core of the NUMA node that each adapter is in: the same diagram."""

_XEON_MAX: Final = re.compile(r"\bMax 94\d\d(?!\d)")
_XEON_MAX_HBM: Final = (64 * _GIB, 16 * _GIB)
"""Xeon CPU Max Series configuration guide: 64 GB of HBM2e in a package, a quarter of it in each cluster with SNC4."""
_KNIGHTS: Final = (0x57, 0x85)
_MCDRAM: Final = 16 * _GIB
"""Models of Knights Landing and Knights Mill; of MCDRAM they have so much."""
_GPU_NODES: Final = 240
"""POWER numbers the memories of its GPUs downwards from 255 (arch/powerpc/platforms/powernv)."""


def with_cards(machine: Machine) -> Machine:
    """Return the machine with what its sources tell of cards together."""
    topology = _named_memory(machine)
    machine = _placed(machine.model_copy(update={"topology": topology}))
    pci = machine.pci and tuple(_joined(device, machine) for device in machine.pci)
    places = {device.address: device.locality for device in pci or ()}
    gpus = machine.gpus and tuple(
        gpu if gpu.locality or not gpu.card else gpu.model_copy(update={"locality": places.get(gpu.card)}) for gpu in machine.gpus
    )
    gpus = gpus and tuple(
        part for gpu in gpus for part in _parts(gpu, gpus, {device.address: device.device for device in pci or ()})
    )
    return machine.model_copy(update={"pci": pci, "gpus": gpus})


def _parts(gpu: Gpu, every: Sequence[Gpu], models: Mapping[str, int]) -> tuple[Gpu, ...]:
    """Return the partitions of a card that is said to be cut, where no source shows them: its runtime will."""
    shown = gpu.card is not None or any(other.card == gpu.address for other in every)
    mode = gpu.compute_partition or ""
    count = _DIES.get(models.get(gpu.address, 0), 1) if mode == "CPX" else _PARTITIONS.get(mode, 1)
    if shown or count < 2:
        return (gpu,)
    update = {"card": gpu.address, "index": None}
    return tuple(gpu.model_copy(update={**update, "address": partition(gpu.address, part)}) for part in range(count))


def _named_memory(machine: Machine) -> Topology | None:
    """Return the topology with the kind of each node of memory alone, where processor, cards and size leave no doubt."""
    topology = machine.topology
    if topology is None or not any(node.kind is None and not node.cpuset for node in topology.nodes):
        return topology
    nodes = tuple(
        node.model_copy(update={"kind": _kind(machine, node)}) if node.kind is None and not node.cpuset and node.memory else node
        for node in topology.nodes
    )
    return topology.model_copy(update={"nodes": nodes})


def _kind(machine: Machine, node: NumaNode) -> str | None:
    cpu, memory = machine.cpu, node.memory or 0
    if cpu and _XEON_MAX.search(cpu.model_name or "") and any(0.9 * size <= memory <= size for size in _XEON_MAX_HBM):
        return "hbm"
    if cpu and (cpu.family, cpu.model) in [(6, model) for model in _KNIGHTS] and memory <= _MCDRAM:
        return "hbm"
    cards = [device for device in machine.pci or () if device.kind == "gpu" and device.vendor == NVIDIA]
    power = (machine.architecture or "").startswith("ppc64") and any(card.device in _SXM2 for card in cards)
    if power and node.os_index >= _GPU_NODES:
        return "gpu"
    return "gpu" if any(_is_coherent(card, machine) for card in cards) else None


def _is_coherent(card: PciDevice, machine: Machine) -> bool:
    """Return whether a GPU shares memory with a Grace processor: by its id, or by the name that its driver gives."""
    names = [card.name or "", *(gpu.model or "" for gpu in machine.gpus or () if gpu.address == card.address)]
    return card.vendor == NVIDIA and (card.device in COHERENT or any(_COHERENT_NAME.search(name) for name in names))


def _joined(device: PciDevice, machine: Machine) -> PciDevice:
    """Return a GPU that has a wider way to its processor than PCIe without the PCIe link, which says nothing of its speed."""
    way = _way(device, machine) if device.kind == "gpu" else None
    if way is None:
        return device
    return device.model_copy(update={"joined": way, "link": None, "card": None, "path": None, "bottleneck": None})


def _way(device: PciDevice, machine: Machine) -> str | None:
    if _is_coherent(device, machine):
        return "NVLink-C2C"
    if device.vendor == NVIDIA and device.device in _SXM2 and (machine.architecture or "").startswith("ppc64"):
        return "NVLink"
    if device.vendor == AMD and (device.device == _MI300A or (device.device in _MI250X and _is_ex235a(machine))):
        return "Infinity Fabric"
    return None


def _is_ex235a(machine: Machine) -> bool:
    return bool(machine.firmware and _EX235A.search(machine.firmware.product or ""))


def _placed(machine: Machine) -> Machine:
    """Return an HPE Cray EX235a with its cards in their places: its firmware reports none, so they seem near to all nodes."""
    topology = machine.topology
    if topology is None or not _is_ex235a(machine) or len(topology.cpu_nodes) != 4:
        return machine

    def home(part: PciDevice | Hca | Gpu | Nic) -> Locality | None:
        known = part.locality
        if known and 0 < len(known.numa_nodes) < len(topology.cpu_nodes):
            return known
        return _beside(topology, bus_of(part.address)) or known

    lists = {name: getattr(machine, name) for name in lists_with(Facts, "locality")}
    moved = {
        name: parts and tuple(part.model_copy(update={"locality": home(part)}) for part in parts) for name, parts in lists.items()
    }
    return machine.model_copy(update=moved)


def _beside(topology: Topology, bus: int | None) -> Locality | None:
    first = _BARD_PEAK.get(bus) if bus is not None else None
    core = _BARD_PEAK_NICS.get(bus) if bus is not None and first is None else first
    node = next((n for n in topology.cpu_nodes if core is not None and core in n.cpuset), None)
    group = next((l3.cpuset for l3 in topology.l3 if first is not None and first in l3.cpuset), None)
    if node is None:
        return None
    cpus = group if group and group < node.cpuset else None
    return Locality(numa_nodes=(node.os_index,), cpus=cpus, inferred="the firmware says nothing; by its bus, as on every EX235a")


@cache
def sources() -> tuple[FactSource, ...]:
    """Return the sources, the most believed first."""
    modules = (
        import_module(info.name) for info in pkgutil.walk_packages(advisor.machine.sources.__path__, "advisor.machine.sources.")
    )
    found = (source for module in modules for source in getattr(module, "SOURCES", ()))
    return tuple(sorted(found, key=lambda source: (source.rank, source.name)))


def paths() -> tuple[str, ...]:
    """Return every pattern of files that some source, or the watch over counters, reads: what a capture keeps."""
    return tuple(sorted({path for source in sources() for path in source.paths} | {*fault_counters.PATHS}))


def commands() -> tuple[tuple[str, ...], ...]:
    """Return every command that some source runs."""
    return tuple(sorted({command for source in sources() for command in source.commands} | {*fault_counters.COMMANDS}))


def public() -> tuple[PublicText, ...]:
    """Return what the sources say may be given away of their files and commands."""
    return (*(text for source in sources() for text in source.public), *fault_counters.PUBLIC)


def identities_of(host: Host) -> tuple[str, ...]:
    """Return the facts of a host that name it; () of one that shows no machine, of which only the files tell."""
    try:
        return tuple(dict.fromkeys(identities(collect_machine(host))))
    except AdvisorError:
        return ()


def counters() -> tuple[str, ...]:
    """Return the patterns of counters, which a capture keeps twice."""
    return fault_counters.TWICE


def asked(source: FactSource, host: Host) -> Machine:
    """Return what a source learns of a host."""
    with bounded_sets():
        return source.collect(screened_host(host))


def collect_machine(
    host: Host, step: Callable[[str], None] = lambda _: None, ask: Callable[[FactSource, Host], Machine] = asked
) -> Machine:
    """Return everything the sources learnt of a host; raise if not even its CPUs are known; ``step`` hears their names."""
    parts, failures = [], []
    for source in sources():
        step(source.name)
        try:
            parts.append(ask(source, host))
        except AdvisorError as error:
            failures.append(error)
            parts.append(Machine(gaps=(Gap(fact=source.name, why=str(error), help="the other sources were still asked"),)))
    merged = with_cards(merge((*_with_exact_links(parts), Machine(gaps=_disagreement(parts)))))
    machine = with_processor_name(with_link_layers(merged))
    if machine.topology is None:
        raise failures[0] if failures else CannotWork(f"{host.name} does not show a single CPU; give a capture or an hwloc XML")
    return machine


def _with_exact_links(parts: Sequence[Machine]) -> Iterator[Machine]:
    """Yield the parts without a link's rate where another part has its speed and lanes: lstopo rounds what it prints."""
    exact = {device.address for part in parts for device in part.pci or () if device.link and device.link.speed}
    for part in parts:
        pci = part.pci and tuple(
            device.model_copy(update={"link": None})
            if device.link and device.link.speed is None and device.address in exact
            else device
            for device in part.pci
        )
        yield part.model_copy(update={"pci": pci})


def _disagreement(parts: list[Machine]) -> tuple[Gap, ...]:
    """Return a gap where two sources count the machine differently: the first one's word is used, and the user knows."""
    found = [counts(part.topology.inside) for part in parts if part.topology]
    if len({*found}) < 2:
        return ()
    words = "; ".join(
        f"{name} {n.packages} packages, {n.numa_nodes} nodes, {n.l3} L3, {n.cores} cores, {n.pus} PUs"
        for name, n in zip(("lstopo", "/sys"), found, strict=False)
    )
    return (Gap(fact="agreement", why=f"two sources count differently: {words}", help="lstopo's word is used; compare by hand"),)
